"""The local engine against lm-eval and a plain loop, side by side in one run: `make bench-engine`.

Prints one line `name: value` per figure. The grid has 48 configurations of one benchmark. By default 12
of lm-eval's 48 evaluations are measured: each of 3 shot counts x 4 kinds (three ways of decoding, and
likelihood ranking) once, the templates in rotation, and 3 of its 48 start-ups. Their sum is scaled, and
the names of such figures end in `_scaled`. `--full` measures all of them. Ratios of CPU seconds stand
beside those of wall-clock seconds: they hold when the machine has other work too.
"""

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import defaults, lm_eval_tasks, plain, radix, study
from benchmarks.lm_eval_tasks import Task
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.hf import loading
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.protocol import Call
from gridc.runtime.store.store import Store
from gridc.schema.spec import EngineSettings
from tools.servers.programs import command, free_port, programs

HARNESS = Path(__file__).parent.parent / ".venv-lm-eval" / "bin"
BATCH_SIZES = (8, 32, 64)


def say(name: str, value: float | int | str) -> None:
    print(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--tokens", type=int, nargs="+", default=[32, 8], help="Answer lengths.")
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--model", choices=list(study.MODELS), default="llama-23m")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sharpness", type=float, default=1.0, help="Factor on the output layer.")
    parser.add_argument("--every", type=int, default=1, help="Of so many calls the plain loop makes one.")
    parser.add_argument("--batch-size", type=int, help="lm-eval's. Default: the fastest of three.")
    parser.add_argument("--full", action="store_true", help="All 48 lm-eval evaluations and start-ups.")
    parser.add_argument("--defaults", action="store_true", help="Five uses at defaults, and nothing else.")
    uses, models = ["grid", *defaults.USES], ["llama-23m", "qwen2-110m"]
    parser.add_argument("--uses", nargs="+", choices=uses, default=uses, help="Of --defaults.")
    parser.add_argument("--models", nargs="+", choices=[*study.MODELS], default=models, help="Of --defaults.")
    parser.add_argument("--parts", nargs="+", default=["harness", "plain", "growth", "lengths"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, value in loading.machine(loading.device_of("cpu")).items():
            say(name, json.dumps(value))
        say("threads_each", asked.threads)
        if asked.defaults:
            for name, value in uses_at_defaults(folder, asked.uses, asked.models, asked.threads):
                say(name, value)
            return
        say("model", asked.model)
        model = study.make_model(folder / "model", asked.sharpness, study.MODELS[asked.model])
        size = study.Size(items=asked.items, threads=asked.threads, replicates=asked.replicates)
        if "harness" in asked.parts:
            best = dict.fromkeys(("logprob", "generate"), asked.batch_size)
            if not asked.batch_size:
                best = best_batch_sizes(folder, replace(size, items=32), model)
            for tokens in asked.tokens:
                against_harness(folder, replace(size, tokens=tokens), model, best, asked.full)
        if "plain" in asked.parts:
            few = replace(size, items=min(4, asked.items), tokens=asked.tokens[0])
            against_plain(folder, few, model, asked.every)
        if "growth" in asked.parts:
            growth(folder, replace(size, items=24, tokens=8), model)
        if "beside" in asked.parts:
            for tokens in asked.tokens:
                beside(folder, replace(size, tokens=tokens), model, asked.batch_size or 8)
        if "lengths" in asked.parts:
            lengths(folder, replace(size, items=min(4, asked.items)), model)


def uses_at_defaults(
    folder: Path, uses: list[str], models: list[str], threads: int
) -> Iterator[tuple[str, float]]:
    """The figures of the uses on each model; of the grid on the first one."""
    for model in models:
        made = study.make_model(folder / model, 1.0, study.MODELS[model])
        for use in uses:
            place = folder / f"{use}_{model}"
            if use != "grid":
                place.mkdir()
                shutil.copytree(made, place / "model")
                spec = defaults.write(place, defaults.USES[use])
            elif model == models[0]:
                spec = study.write(place, study.Size(items=24), made)
                spec.write_text(study.without_engine(spec.read_text()))
            else:
                continue
            yield from defaults.compare(place, f"{use}_{model.replace('-', '_')}", spec, threads)


def against_harness(folder: Path, size: study.Size, model: Path, best: dict[str, int], full: bool) -> None:
    """gridc's whole run against lm-eval once per configuration, and against lm-eval kept loaded."""
    about = f"{size.tokens}_tokens"
    spec = study.write(folder / "study", size, model)
    done = study.run(spec, size.threads)
    report_run(about, done)
    tasks, answers = prepare(spec, folder / "tasks")
    chosen = tasks if full else rotation(tasks)
    kept = evaluate(folder, size, model, chosen, best)
    shares = len(tasks) / len(chosen)
    seconds = shares * sum(each["seconds"] for each in kept.values())
    cpu = shares * sum(each["cpu"] for each in kept.values())
    ending = "" if full else "_scaled"
    say(f"lm_eval_{about}_evaluations_measured", len(chosen))
    for task in chosen:
        say(f"lm_eval_{about}_{task.kind}_{task.shots}_shots_s", kept[task.name]["seconds"])
    say(f"lm_eval_{about}_loaded_s{ending}", seconds)
    say(f"lm_eval_{about}_loaded_cpu_s{ending}", cpu)
    starts = tasks if full else [each for each in chosen if each.shots == 0 and each.kind != "T=0.3"]
    walls = {each.name: invoke(folder, size, model, each, best) for each in starts}
    start_up = mean(walls[each.name][0] - kept[each.name]["seconds"] for each in starts)
    start_up_cpu = mean(walls[each.name][1] - kept[each.name]["cpu"] for each in starts)
    say(f"lm_eval_{about}_start_up_s", start_up)
    say(f"lm_eval_{about}_start_up_cpu_s", start_up_cpu)
    say(f"lm_eval_{about}_start_ups_measured", len(starts))
    whole = sum(wall for wall, _ in walls.values()) if full else seconds + len(tasks) * start_up
    whole_cpu = sum(each for _, each in walls.values()) if full else cpu + len(tasks) * start_up_cpu
    say(f"lm_eval_{about}_invoked_s{ending}", whole)
    say(f"ratio_{about}_against_one_invocation_per_configuration", whole / done["wall"])
    say(f"ratio_{about}_against_invocations_without_start_up", seconds / done["seconds"])
    say(f"ratio_{about}_against_one_process_kept_loaded", seconds / done["wall"])
    say(f"ratio_{about}_cpu_against_one_invocation_per_configuration", whole_cpu / done["cpu"])
    say(f"ratio_{about}_cpu_against_one_process_kept_loaded", cpu / done["cpu"])
    agree(about, chosen, kept, answers)


def report_run(about: str, done: dict[str, Any]) -> None:
    say(f"gridc_{about}_s", done["wall"])
    say(f"gridc_{about}_cpu_s", done["cpu"])
    say(f"gridc_{about}_start_up_s", done["wall"] - done["seconds"])
    say(f"gridc_{about}_forward_tokens", done["forward_tokens"])
    say(f"gridc_{about}_trie_minimum", done["least_forward_tokens"])
    say(f"gridc_{about}_forward_tokens_over_minimum", done["forward_tokens"] / done["least_forward_tokens"])
    say(f"gridc_{about}_tokens_per_second", done["forward_tokens"] / done["seconds"])
    say(f"gridc_{about}_kv_mib", done["kv_bytes"] / 2**20)
    say(f"gridc_{about}_process_mib", done["peak_bytes"] / 2**20)
    say(f"gridc_{about}_calls", done["executed"])


def prepare(spec: Path, folder: Path) -> tuple[list[Task], dict[str, dict[str, Any]]]:
    """The study as lm-eval tasks, and gridc's first answers by task and item number."""
    plan = Plan(compile_spec(spec, None).study)
    engine = HfEngine("bench", spec.parent / "model", "fp32", EngineSettings(device="cpu"))
    shutil.rmtree(folder, ignore_errors=True)
    tasks = lm_eval_tasks.write(plan, engine, folder)
    answers: dict[str, dict[str, Any]] = {}
    with Store.open(spec.parent / "results" / "bench" / "store.sqlite") as store:
        for task in tasks:
            found = {
                item: contents[-1]
                for item, replicate, contents in store.answers(plan.study_digest, task.cell.key)
                if replicate == 0
            }
            items = plan.study.items[task.cell.benchmark].sampled
            answers[task.name] = {str(number): found[item.id] for number, item in enumerate(items)}
    return tasks, answers


def rotation(tasks: list[Task]) -> list[Task]:
    """Each shot count x kind once, the templates in turn."""
    templates = list(dict.fromkeys(task.cell.levels["template"] for task in tasks))
    pairs = list(dict.fromkeys((task.shots, task.kind) for task in tasks))
    wanted = {pair: templates[number % len(templates)] for number, pair in enumerate(pairs)}
    return [task for task in tasks if wanted[task.shots, task.kind] == task.cell.levels["template"]]


def best_batch_sizes(folder: Path, size: study.Size, model: Path) -> dict[str, int]:
    """lm-eval's fastest batch size for rankings and for generation, on 3-shot prompts."""
    plan = Plan(compile_spec(study.write(folder / "trial", size, model), None).study)
    engine = HfEngine("bench", model, "fp32", EngineSettings(device="cpu"))
    tasks = lm_eval_tasks.write(plan, engine, folder / "tasks")
    trial = [next(t for t in tasks if (t.shots, t.kind) == (3, kind)) for kind in ("logprob", "T=0.0")]
    times = {
        number: harness(folder, size, model, [f"{task.name}:16" for task in trial], number)["tasks"]
        for number in BATCH_SIZES
    }
    best = {}
    for place, kind in enumerate(("logprob", "generate")):
        for number in BATCH_SIZES:
            say(f"lm_eval_trial_{kind}_batch_{number}_s", times[number][place]["seconds"])
        best[kind] = min(BATCH_SIZES, key=lambda number: times[number][place]["seconds"])
        say(f"lm_eval_best_batch_{kind}", best[kind])
    return best


def evaluate(
    folder: Path, size: study.Size, model: Path, tasks: list[Task], best: dict[str, int]
) -> dict[str, dict[str, Any]]:
    """Tasks by name as lm-eval answers them in one process, each kind at its best batch size."""
    found: dict[str, dict[str, Any]] = {}
    for number in set(best.values()):
        names = [task.name for task in tasks if batch_size(task, best) == number]
        if names:
            found |= {each["name"]: each for each in harness(folder, size, model, names, number)["tasks"]}
    return found


def batch_size(task: Task, best: dict[str, int]) -> int:
    return best["logprob" if task.kind == "logprob" else "generate"]


def harness(folder: Path, size: study.Size, model: Path, names: list[str], batch: int) -> dict[str, Any]:
    out = folder / "harness.json"
    script = Path(__file__).parent / "harness.py"
    command = [HARNESS / "python", script, model, folder / "tasks", out, str(batch), *names]
    quiet(command, folder, size)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def invoke(
    folder: Path, size: study.Size, model: Path, task: Task, best: dict[str, int]
) -> tuple[float, float]:
    """The seconds and the CPU seconds of one lm-eval invocation, as people make it."""
    command = [
        HARNESS / "lm-eval", "run", "--model", "hf", "--model_args", f"pretrained={model},dtype=float32",
        "--tasks", task.name, "--include_path", folder / "tasks", "--device", "cpu",
        "--batch_size", str(batch_size(task, best)), "--output_path", folder / "out", "--log_samples",
    ]  # fmt: skip
    begun, spent = time.perf_counter(), study.cpu_of_children()
    quiet(command, folder, size)
    return time.perf_counter() - begun, study.cpu_of_children() - spent


def quiet(command: list[Any], folder: Path, size: study.Size) -> None:
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [str(each) for each in command],
        env={**study.environment(size.threads), **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-3000:]}")


def agree(
    about: str, tasks: list[Task], kept: dict[str, dict[str, Any]], answers: dict[str, dict[str, Any]]
) -> None:
    """How far gridc's answers are lm-eval's: log-likelihoods, chosen options, greedy texts."""
    moved: list[float] = []
    chosen = texts = rankings = greedy = 0
    for task in tasks:
        for number, responses in kept[task.name]["responses"].items():
            mine = answers[task.name][number]
            if task.kind == "logprob":
                theirs = [float(each[0][0]) for each in responses]
                moved += [
                    abs(a - b) for a, b in zip(leads(mine["loglikelihoods"]), leads(theirs), strict=True)
                ]
                rankings += 1
                chosen += best_of(mine["loglikelihoods"]) == best_of(theirs)
            elif task.kind == "T=0.0":
                greedy += 1
                texts += mine["text"] == responses[0][0]
    say(f"agreement_{about}_rankings", f"{chosen} of {rankings}")
    say(f"agreement_{about}_log_likelihood_leads_max_difference", max(moved, default=0.0))
    say(f"agreement_{about}_greedy_texts", f"{texts} of {greedy}")


def leads(values: list[float]) -> list[float]:
    """Each log-likelihood over the first one. lm-eval counts the white space that ends a prompt as part
    of every candidate, which moves all of them alike."""
    return [value - values[0] for value in values]


def best_of(values: list[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def against_plain(folder: Path, size: study.Size, model: Path, every: int) -> None:
    """The whole grid on a few items, gridc against `model.generate` and one forward per candidate. Where the
    loop makes only a part of the calls, drawn at random, what it took is scaled."""
    spec = study.write(folder / "study", size, model)
    done = study.run(spec, size.threads)
    loop = plain.run(Plan(compile_spec(spec, None).study), model, size.threads, every)
    scale, ending = loop.of / loop.calls, "" if every == 1 else "_scaled"
    say("plain_loop_items", size.items)
    say("plain_loop_calls_measured", f"{loop.calls} of {loop.of}")
    say(f"plain_loop_s{ending}", scale * loop.seconds)
    say(f"plain_loop_cpu_s{ending}", scale * loop.cpu)
    say(f"plain_loop_forward_tokens{ending}", scale * loop.tokens)
    say("gridc_beside_plain_loop_s", done["seconds"])
    say("gridc_beside_plain_loop_run_cpu_s", done["cpu"])
    say("gridc_beside_plain_loop_forward_tokens", done["forward_tokens"])
    say("gridc_beside_plain_loop_over_minimum", done["forward_tokens"] / done["least_forward_tokens"])
    say(f"ratio_against_plain_loop{ending}", scale * loop.seconds / done["seconds"])
    say(f"ratio_cpu_of_the_whole_run_against_plain_loop{ending}", scale * loop.cpu / done["cpu"])
    ratio = scale * loop.tokens / done["forward_tokens"]
    say(f"ratio_of_forward_tokens_against_plain_loop{ending}", ratio)


def lengths(folder: Path, size: study.Size, model: Path) -> None:
    """How far sharing carries as answers grow longer: the tokens that a plain loop sends through the model
    for the same calls (counted, not run) over those of gridc."""
    for tokens in (8, 32, 128, 256):
        spec = study.write(folder / "study", replace(size, tokens=tokens), model)
        done = study.run(spec, size.threads)
        counted = alone(spec)
        say(f"length_{tokens}_forward_tokens", done["forward_tokens"])
        say(f"length_{tokens}_over_minimum", done["forward_tokens"] / done["least_forward_tokens"])
        say(f"length_{tokens}_plain_loop_forward_tokens", counted)
        say(f"length_{tokens}_ratio_of_forward_tokens", counted / done["forward_tokens"])
        say(f"length_{tokens}_s", done["seconds"])


def beside(folder: Path, size: study.Size, model: Path, batch: int) -> None:
    """The whole grid by every way that is here: gridc, lm-eval, a radix loop, and servers whose programs
    `GRIDC_SERVERS` names. Of each the tokens that went through the model, CPU seconds (of gridc and the loop
    without their start-up), and the share of what this processor's matrix product does in them."""
    about = f"{size.tokens}_tokens"
    spec = study.write(folder / "study", size, model)
    done = study.run(spec, size.threads)
    settings = EngineSettings(device="cpu", threads=size.threads)
    engine = HfEngine("random", spec.parent / "model", "fp32", settings)
    batches = engine.batches(_calls(Plan(compile_spec(spec, None).study)))
    loaded: Any = engine
    architecture = engine.effective()["architecture"]
    weights = multiplied(loaded._model)
    rate = matrix_rate()

    def report(name: str, tokens: float, computing: float) -> None:
        say(f"{name}_{about}_forward_tokens", tokens)
        say(f"{name}_{about}_computing_cpu_s", computing)
        say(f"{name}_{about}_share_of_matrix_rate", 2 * weights * tokens / computing / rate)
        say(f"{name}_{about}_ratio_of_tokens", tokens / done["forward_tokens"])

    say(f"matrix_rate_{about}_gflop_per_cpu_s", rate / 1e9)
    say(f"multiplied_weights_of_{architecture}", weights)
    spent, tokens = time.process_time(), 0.0
    for each in batches:
        tokens += engine.answer(each, frozenset(each.calls))[1].work["forward_tokens"]
    computing = time.process_time() - spent
    report("gridc", tokens, computing)
    say(f"gridc_{about}_run_cpu_s", done["cpu"])
    say(f"gridc_{about}_over_minimum", done["forward_tokens"] / done["least_forward_tokens"])
    members = [member for each in batches for member in each.work.members]
    for member in members:
        member.tokens.clear()
    loop = radix.run(loaded._model, members)
    report("radix_loop", loop.tokens, loop.cpu)
    say(f"radix_loop_{about}_ratio_of_computing_cpu", loop.cpu / computing)
    engine.close()
    if HARNESS.exists():
        tasks, _ = prepare(spec, folder / "tasks")
        chosen = rotation(tasks)
        kept = evaluate(folder, size, model, chosen, dict.fromkeys(("logprob", "generate"), batch))
        scaled = len(tasks) / len(chosen) * sum(each["cpu"] for each in kept.values())
        report("lm_eval_loaded_scaled", alone(spec), scaled)
        say(f"lm_eval_loaded_scaled_{about}_ratio_of_cpu", scaled / done["cpu"])
    for dialect, program in programs().items():
        there = served(study.write(folder / "served", size, model), dialect, program, size.threads)
        report(dialect, there["computed"], there["cpu"])
        say(f"{dialect}_{about}_requests", there["requests"])
        say(f"{dialect}_{about}_ratio_of_cpu", there["cpu"] / done["cpu"])


def _calls(plan: Plan) -> list[Call]:
    requests = (
        request for cell in plan.cells() for sample in plan.samples(cell) for request in sample.requests
    )
    unique = {request.id: request for request in requests}
    return [Call(each.id, each.kind, each.prompt, each.as_json()) for each in unique.values()]


def multiplied(model: Any) -> int:
    """Numbers of the layers' matrices, without the output layer."""
    layers = model.model.layers.modules()
    return sum(layer.weight.numel() for layer in layers if type(layer).__name__ == "Linear")


def matrix_rate() -> float:
    """Floating-point operations in a CPU second of a square product in fp32, the best of some."""
    import torch

    square, best = torch.randn(1024, 1024), 0.0
    for _ in range(10):
        begun = time.process_time()
        for _ in range(5):
            square @ square
        best = max(best, 5 * 2 * 1024**3 / (time.process_time() - begun))
    return best


def served(spec: Path, dialect: str, program: str, threads: int) -> dict[str, Any]:
    """What `gridc run` of the same study takes with a server of the model that is started for it. `computed`
    is what the server says that it read and did not have in its cache, and what it wrote."""
    port = free_port()
    local = 'engine = "hf"\nsource = "path:model"'
    there = f'engine = "api"\nsource = "pocket"\nserver = "{dialect}"\nweights = "path:model"\n'
    there += f'base_url = "http://127.0.0.1:{port}/v1"'
    text = spec.read_text()
    spec.write_text(text.replace(local, there).replace('precision = "fp32"\n', ""))
    started = command(dialect, program, spec.parent / "model", port, threads)
    done = study.run(spec, threads, "--serve", f"random={started}")
    cached = done.get("cached_tokens", 0)
    return {**done, "computed": done["prompt_tokens"] - cached + done["completion_tokens"]}


def alone(spec: Path) -> int:
    """Tokens that the calls of a finished study send through the model where each is made by itself."""
    store = sqlite3.connect(spec.parent / "results" / "bench" / "store.sqlite")
    rows = store.execute("SELECT usage, answer FROM call").fetchall()
    return sum(by_itself(json.loads(usage), json.loads(answer)) for usage, answer in rows)


def by_itself(usage: dict[str, int], content: dict[str, Any]) -> int:
    """Tokens that a call sends through the model by itself: its prompt and all but the last of its answer;
    for a ranking the prompt with each candidate."""
    if "loglikelihoods" in content:
        return sum(usage["prompt_tokens"] + count - 1 for count in content["tokens"])
    return usage["prompt_tokens"] + len(content["tokens"]) - (content.get("end") is None)


def growth(folder: Path, size: study.Size, model: Path) -> None:
    """Forward tokens and seconds as items, configurations and replicates grow."""
    sizes = {
        **{f"items_{items}": replace(size, items=items) for items in (12, 24, 48)},
        **{f"configurations_{12 * number}": replace(size, templates=number) for number in (1, 2, 4)},
        **{f"replicates_{number}": replace(size, replicates=number) for number in (2, 5, 10)},
    }
    for name, each in sizes.items():
        done = study.run(study.write(folder / "study", each, model), size.threads)
        say(f"growth_{name}_forward_tokens", done["forward_tokens"])
        say(f"growth_{name}_over_minimum", done["forward_tokens"] / done["least_forward_tokens"])
        say(f"growth_{name}_s", done["seconds"])
        say(f"growth_{name}_kv_mib", done["kv_bytes"] / 2**20)


if __name__ == "__main__":
    main()
