"""The whole `gridc run` with the settings that people get, beside the best loop and lm-eval:
`python -m benchmarks.engine --defaults`.

Five ordinary uses: a grid of 48 configurations, multiple choice, grade-school problems that are solved at
length, questions on one long passage, and the last three again on a larger model. Nothing is set: the noise
floor is measured, the model is proved, threads are the machine's. Everything is a process of its own, from
its start to its end, and the model is one that does not ship with gridc.

The loops are those of `benchmarks.radix`, of which the faster one counts. They are given the tokens and the
calls, each once, and store nothing. lm-eval is started once for a configuration, at
the faster of two batch sizes; of the 48 configurations a twelfth is measured and scaled.
"""

import json
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import lm_eval_tasks, radix, study
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.stages import call_of
from gridc.schema.spec import EngineSettings

HARNESS = Path(__file__).parent.parent / ".venv-lm-eval" / "bin"
BATCH_SIZES = (1, 16)

HEAD = """\
gridcard = 1
[study]
id = "bench"
title = "what the defaults are measured on"
purpose = "descriptive"
[[model]]
id = "random"
engine = "hf"
source = "path:model"
[[benchmark]]
id = "items"
loader = "rows"
source = "path:items.jsonl"
loading = {{ gold = "index", fields = {{ query = "q", options = ["a", "b", "c", "d"], gold = "gold" }} }}
direction = "higher_is_better"
option_order = "file"
exemplars = {{ pool = "rest", seed = 42 }}
sample = {{ n = {items}, seed = 42 }}
[harness]
prompt = "builtin:T1"
{harness}
"""


@dataclass(frozen=True)
class Use:
    """An ordinary use: how many items, words of a question, words that all questions begin with, and what the
    harness is."""

    items: int
    words: int
    passage: int
    harness: str


USES = {
    "multiple_choice": Use(120, 40, 0, 'method = "loglikelihood"\ncandidates = "letter"\nshots = 5'),
    "solved_at_length": Use(24, 40, 0, 'method = "extract"\nshots = 8\nmax_tokens = 128'),
    "long_passage": Use(20, 10, 1250, 'method = "extract"\nmax_tokens = 16'),
}


def words(number: int, seed: int) -> str:
    """So many made-up words."""
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("bdfgklmnprst", k=2)) + draw.choice("aeiou") for _ in range(number))


def write(folder: Path, use: Use) -> Path:
    """A study of a use, in a folder with the model. The path of its spec."""
    passage = words(use.passage, 0)
    rows = (
        {
            "q": f"{passage} {words(use.words, number)}?".strip(),
            **{key: words(2, 10_000 * place + number) for place, key in enumerate("abcd", 1)},
            "gold": number % 4,
        }
        for number in range(1, use.items + 12)
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = folder / "gridcard.toml"
    spec.write_text(HEAD.format(items=use.items, harness=use.harness))
    return spec


def compare(folder: Path, about: str, spec: Path, threads: int) -> Iterator[tuple[str, float]]:
    """The figures of a study: what gridc, the loop and lm-eval take."""
    done = study.run(spec, threads)
    computed, repeated = done["forward_tokens"], done["repeated"].get("forward_tokens", 0)
    yield f"{about}_gridc_cpu_s", done["cpu"]
    yield f"{about}_gridc_s", done["wall"]
    yield f"{about}_gridc_answering_s", done["seconds"]
    yield f"{about}_forward_tokens", computed
    yield f"{about}_forward_tokens_of_the_noise_floor", repeated
    yield f"{about}_share_of_the_noise_floor", repeated / computed
    plan = Plan(compile_spec(spec, None).study)
    engine = HfEngine("random", spec.parent / "model", "fp32", EngineSettings(device="cpu"))
    samples = (sample for cell in plan.cells() for sample in plan.samples(cell))
    requests = {request.id: request for sample in samples for request in sample.requests}
    batches = engine.batches([call_of(request) for request in requests.values()])
    members = [member for each in batches for member in each.work.members]
    calls = folder / "members.pickle"
    calls.write_bytes(pickle.dumps(members))
    script = [sys.executable, "-m", "benchmarks.defaults", str(spec.parent / "model"), str(calls)]
    ways = ["radix", *(["4", "8"] if all(len(member.given or ()) == 1 for member in members) else [])]
    loop = min(measured([*script, way], threads) for way in ways)
    yield f"{about}_loop_cpu_s", loop
    yield f"{about}_loop_over_gridc", loop / done["cpu"]
    if not HARNESS.exists():
        return
    tasks = lm_eval_tasks.write(plan, engine, folder / "tasks")
    chosen = tasks[:: 13 if len(tasks) > 12 else 1]
    harness = sum(invoked(folder, spec.parent / "model", task.name, threads) for task in chosen)
    harness *= len(tasks) / len(chosen)
    yield f"{about}_lm_eval_cpu_s", harness
    yield f"{about}_lm_eval_over_gridc", harness / done["cpu"]


def invoked(folder: Path, model: Path, task: str, threads: int) -> float:
    """The CPU seconds of one invocation of lm-eval, at the faster batch size."""
    return min(
        measured(
            [
                str(HARNESS / "lm-eval"), "run", "--model", "hf", "--model_args",
                f"pretrained={model},dtype=float32", "--tasks", task, "--include_path", str(folder / "tasks"),
                "--device", "cpu", "--batch_size", str(size), "--output_path", str(folder / "out"),
                "--log_samples",
            ],
            threads, HF_HUB_OFFLINE="1", HF_DATASETS_CACHE=str(folder / "cache"),
        )
        for size in BATCH_SIZES
    )  # fmt: skip


def measured(command: list[str], threads: int, **variables: str) -> float:
    """The CPU seconds of a process."""
    spent = study.cpu_of_children()
    done = subprocess.run(
        command, env={**study.environment(threads), **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-3000:]}")
    return study.cpu_of_children() - spent


def loop(model: str, calls: str, way: str) -> None:
    """A loop as a script: load the model and answer, one prompt after another or so many at a time."""
    from transformers import AutoModelForCausalLM

    made: Any = AutoModelForCausalLM.from_pretrained(model)
    members = pickle.loads(Path(calls).read_bytes())
    for member in members:
        member.tokens.clear()
    made.eval()
    print(radix.run(made, members) if way == "radix" else radix.padded(made, members, int(way)))


if __name__ == "__main__":
    loop(*sys.argv[1:])
