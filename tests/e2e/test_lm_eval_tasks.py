"""Tasks of lm-evaluation-harness as studies of gridc, against the harness itself.

The harness runs in an environment of its own (`make .venv-lm-eval/installed`), where gridc is installed too
and renders the tasks. Everything else runs where lm_eval is not installed.
"""

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from transformers import AutoTokenizer

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.lowering.task_prompts import prompt_proofs
from tests.e2e.conftest import command
from tests.harness_tasks import TASKS, write_tasks

REPOSITORY = Path(__file__).resolve().parents[2]
HARNESS = REPOSITORY / ".venv-lm-eval"
MODEL = "pocket-llama"
TOKENS, ROWS = 24, 10

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (HARNESS / "installed").exists(), reason="no harness here: make .venv-lm-eval/installed"
    ),
]

RANKED = [name for name, task in TASKS.items() if task.kind in ("letters", "choice", "several inputs")]
SEVERAL = ["several_right"]  # lm_eval shows no exemplar with several right options
NORMED = [name for name, task in TASKS.items() if task.kind == "acc_norm" or name == "hellaswag"]
WRITTEN = [name for name in TASKS if name not in (*RANKED, *NORMED, *SEVERAL)]
CHAT = ["anatomy", "arc_easy", "gsm8k", "triviaqa"]

SPEC = """\
gridcard = 1
study = {{ id = "{id}", title = "Tasks", purpose = "descriptive", not_varied = ["all else"] }}
model = [{{ id = "pocket", engine = "hf", source = "builtin:{model}" }}]
{harness}
[[benchmark]]
id = [{names}]
loader = "lm-eval"
source = "path:{{id}}.yaml"
{axes}"""
AXIS = '\n[[axis]]\nid = "{id}"\nvalues = {{ {values} }}\ntier = "core"\nprovenance = "the harness"\n'
SHOTS = AXIS.format(id="shots", values="shots = [0, 2]")
METRICS = AXIS.format(id="metric", values='measurand = ["task:acc", "task:acc_norm"]')
FILTERS = AXIS.format(id="filter", values='measurand = ["task:strict-match", "task:flexible-extract"]')

Scores = dict[tuple[str, str, str], float]
"""By benchmark, what is varied, and the item, by its number in its task."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tasks")
    (package,) = HARNESS.glob("lib/python3*/site-packages/lm_eval")
    write_tasks(made, package, TOKENS, ROWS)
    return made


def test_there_are_enough_of_them() -> None:
    kinds = Counter(task.kind for task in TASKS.values())
    assert len(TASKS) >= 24 and len(kinds) >= 8, "with groups and chats there are two kinds more"


def test_rankings_are_those_of_the_harness(folder: Path) -> None:
    ours = study(folder, "ranked", RANKED, SHOTS)
    prompts = asked(folder / "ranked.toml")
    for shots in (0, 2):
        theirs = harness(folder, RANKED, f"ranked{shots}", "--num_fewshot", str(shots))
        assert theirs["acc"] == picked(ours, f"shots={shots}")
        assert logged(folder / f"ranked{shots}") == picked(prompts, f"shots={shots}")


def test_several_options_can_be_right(folder: Path) -> None:
    ours = study(folder, "several", SEVERAL, "")
    found = checked(folder / "several.toml")
    assert found == ["several_right: tasks/several_right.json is what lm_eval 0.4.13"]
    assert harness(folder, SEVERAL, "several")["acc"] == picked(ours, "")
    assert 0 < sum(ours.values()) < len(ours)


def test_normalised_rankings_are_those_of_the_harness(folder: Path) -> None:
    ours = study(folder, "normed", NORMED, SHOTS + METRICS)
    prompts = asked(folder / "normed.toml")
    for shots in (0, 2):
        theirs = harness(folder, NORMED, f"normed{shots}", "--num_fewshot", str(shots))
        assert logged(folder / f"normed{shots}") == picked(prompts, f"shots={shots},metric=task-acc")
        for metric in ("acc", "acc_norm"):
            assert theirs[metric] == picked(ours, f"shots={shots},metric=task-{metric}"), metric


def test_written_answers_are_read_as_the_harness_reads_them(folder: Path) -> None:
    theirs = harness(folder, WRITTEN, "written")
    ours = study(folder, "written", WRITTEN, "")
    assert logged(folder / "written") == picked(asked(folder / "written.toml"), "")
    assert theirs["exact_match"] == picked(ours, "")
    by_filter = study(folder, "filters", ["gsm8k"], FILTERS)
    for name in ("strict-match", "flexible-extract"):
        filtered = {key: value for key, value in theirs[name].items() if key[0] == "gsm8k"}
        assert filtered == picked(by_filter, f"filter=task-{name}")


OWN = "{{ query }}{% if answer %} {{ answer }}{% endif %}"
MINE = "Q: {{ extra.question }}\\nA:{% if answer %} {{ answer }}{% endif %}"
WHY = 'tier = "core", provenance = "both are used"'
BRIEF = f"""\
gridcard = 1
study = {{ id = "brief", title = "A task, twice", purpose = "descriptive", not_varied = ["all else"] }}
model = [{{ id = ["pocket-llama", "pocket-mistral"], engine = "hf", source = "builtin:{{id}}" }}]
axis = [
  {{ id = "shots", values = {{ shots = [0, 2] }}, {WHY} }},
  {{ id = "prompt", values = {{ prompt = {{ own = "{OWN}", mine = "{MINE}" }} }}, {WHY} }},
]
[[benchmark]]
id = "arc_easy"
loader = "lm-eval"
source = "path:arc_easy.yaml"
"""


def test_a_study_of_twelve_lines_verifies_where_the_package_is_not(folder: Path) -> None:
    assert len(BRIEF.splitlines()) <= 12
    spec = folder / "brief.toml"
    spec.write_text(BRIEF, "utf-8")
    planned = rendered(spec, asked_for(rendered(spec, "")))
    said = " ".join(planned.stdout.split())
    equal = "20 of 20 prompts are lm_eval 0.4.13's to the byte, as tasks/arc_easy.shots-0-2.json has them"
    assert f"{equal}, in 2 configurations; 2 configurations ask otherwise" in said, planned.stderr
    for arguments in (["run", spec.name], ["report", spec.name], ["verify", spec.name]):
        done = command(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert command("export", "bundle", spec.name, "--to", "bundle", cwd=folder).returncode == 0
    away = folder.parent / "elsewhere"
    away.mkdir()
    (folder / "bundle").rename(away / "bundle")
    verified = command("verify", "bundle", cwd=away)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    (card,) = (away / "bundle").rglob("gridcard.json")
    assert "to the byte" in card.read_text("utf-8")


def test_a_chat_is_asked_as_the_harness_asks_it(folder: Path) -> None:
    said = "Answer in one word."
    chat = f'harness = {{ chat_template = true, system = "{said}", exemplars_as = "turns", shots = 2 }}'
    ours = study(folder, "chat", CHAT, "", chat)
    theirs = harness(
        folder, CHAT, "chat", "--num_fewshot", "2", "--apply_chat_template", "--system_instruction", said
    )
    assert {**theirs["acc"], **theirs["exact_match"]} == picked(ours, "")
    assert logged(folder / "chat") == picked(asked(folder / "chat.toml"), "")


def test_a_group_is_one_benchmark_with_both_means(folder: Path) -> None:
    statistic = '\n[[statistic]]\nid = "macro"\nkind = "macro_mean"\nby = "category"\n'
    ours = study(folder, "grouped", ["group"], statistic)
    theirs = harness(folder, ["group"], "grouped")
    assert len(ours) == 3 * ROWS
    members = {f"{name}-{number}".removeprefix("samples_"): score
               for (name, _, number), score in theirs["acc"].items()}  # fmt: skip
    assert members == {item: score for (_, _, item), score in ours.items()}
    (results,) = (folder / "grouped").rglob("results_*.json")
    printed = json.loads(results.read_text("utf-8"))["groups"]["local_group"]["acc,none"]
    made = command("report", "grouped.toml", "--json", cwd=folder)
    assert made.returncode == 0, made.stderr
    (estimates,) = (folder / "results" / "grouped").glob("estimates.json")
    listed = json.loads(estimates.read_text("utf-8"))["estimates"]
    (macro,) = (each["estimate"] for each in listed if each["kind"] == "macro_mean")
    assert macro == pytest.approx(printed, abs=1e-9)


def study(folder: Path, id: str, names: Sequence[str], axes: str, harness: str = "") -> Scores:
    """Render the tasks where lm_eval is, then run and verify without it; the score of each item."""
    listed = ", ".join(json.dumps(name) for name in names)
    spec = folder / f"{id}.toml"
    spec.write_text(SPEC.format(id=id, model=MODEL, harness=harness, names=listed, axes=axes), "utf-8")
    pairs = asked_for(rendered(spec, ""))
    (folder / "allowed").write_text(pairs, "utf-8")
    made = rendered(spec, pairs)
    assert made.returncode == 0, made.stderr
    ran = command("run", spec.name, "--json", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert command("report", spec.name, cwd=folder).returncode == 0
    verified = command("verify", spec.name, cwd=folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    for proof in prompt_proofs(Plan(compile_spec(spec).study)):
        if not harness:  # what the study's own system prompt says is none of the task's
            assert proof.compared and proof.equal == proof.compared and not proof.others, proof
    asked = (
        "select benchmark, configuration, item, score from samples order by benchmark, configuration, item"
    )
    rows = json.loads(command("sql", asked, "--spec", spec.name, "--json", cwd=folder).stdout)
    return {
        (row["benchmark"], row["configuration"] or "", of_task(row["item"])): row["score"] for row in rows
    }


def asked_for(refused: subprocess.CompletedProcess[str]) -> str:
    """The consents that a study lacks; none where its task files are made already."""
    if refused.returncode == 0:
        return ""
    assert "GC643" in refused.stderr
    return refused.stderr.partition("GRIDC_ALLOW=")[2].split()[0]


def of_task(item: str) -> str:
    """`3` of `local_rte-3`, and of a group `sciq-3`."""
    return item.rpartition("-")[2] if item.startswith("local_") else item


def asked(spec: Path) -> dict[tuple[str, str, str], list[list[str]]]:
    """What gridc sends for each item: each text with what is ranked behind it, chats by the tokenizer's own
    template."""
    tokenizer = AutoTokenizer.from_pretrained(BUILTIN_MODELS / MODEL)
    plan, sent = Plan(compile_spec(spec).study), dict[tuple[str, str, str], list[list[str]]]()
    for cell in plan.cells():
        configuration = ",".join(f"{axis}={level}" for axis, level in cell.levels.items())
        for sample in plan.samples(cell):
            rows: list[list[str]] = []
            for request in sample.requests:
                messages = [{"role": role, "content": text} for role, text in request.prompt.messages]
                text = request.prompt.plain
                if request.prompt.chat_template:
                    text = str(
                        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
                    )
                behind = request.parameters.get("continuations")
                rows += [[text]] if behind is None else [[text, each] for each in behind]
            sent[cell.benchmark, configuration, of_task(sample.item.id)] = rows
    return sent


def logged(out: Path) -> dict[tuple[str, str, str], list[list[str]]]:
    """What the harness logs that it sent."""
    sent = {}
    for path in out.rglob("samples_*.jsonl"):
        name = path.name.removeprefix("samples_local_").rpartition("_")[0]
        for document in map(json.loads, path.read_text("utf-8").splitlines()):
            rows = sorted(document["arguments"].items(), key=lambda each: int(each[0].rpartition("_")[2]))
            texts = [[text for text in row.values() if isinstance(text, str)] for _, row in rows]
            sent[name, "", str(document["doc_id"])] = texts
    return sent


def checked(spec: Path) -> list[str]:
    """What `gridc validate --check` says of task files where the harness is, in its first words."""
    asking = rendered(spec, "", "validate", "--check")
    pairs = re.search(r"sha256:[0-9a-f]{64}", (spec.parent / "allowed").read_text("utf-8"))
    assert asking.returncode == 0 and "was not rendered again here" in asking.stdout, asking.stderr
    assert pairs is not None
    said = " ".join(rendered(spec, pairs[0], "validate", "--check").stdout.split())
    return re.findall(r"\w+: tasks/\S+ is what \w+ [0-9.]+(?= renders here)", said)


Kept = TypeVar("Kept")


def picked(
    scores: Mapping[tuple[str, str, str], Kept], configuration: str
) -> dict[tuple[str, str, str], Kept]:
    """What is of one configuration, or of the only one, with nothing in its place."""
    return {
        (benchmark, "", number): score
        for (benchmark, varied, number), score in scores.items()
        if configuration in ("", varied)
    }


def rendered(spec: Path, allow: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HF_HOME": str(spec.parent / "hf"), "GRIDC_ALLOW": allow}
    arguments = [str(HARNESS / "bin" / "gridc"), *(words or ("plan",)), spec.name]
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, cwd=spec.parent, check=False
    )


def harness(folder: Path, names: Sequence[str], out: str, *more: str) -> dict[str, Scores]:
    """What the harness logs of each document, by metric and by filter."""
    arguments = [
        str(HARNESS / "bin" / "python"), "-m", "lm_eval", "run", "--model", "hf", "--model_args",
        f"pretrained={BUILTIN_MODELS / MODEL},dtype=float32", "--tasks",
        ",".join(f"local_{name}" for name in names), "--include_path", str(folder), "--device", "cpu",
        "--batch_size", "8", "--output_path", str(folder / out), "--log_samples", *more,
    ]  # fmt: skip
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    done = subprocess.run(
        arguments, env={**os.environ, **offline}, capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    scores: dict[str, Scores] = {}
    for path in (folder / out).rglob("samples_*.jsonl"):
        name = path.name.removeprefix("samples_local_").rpartition("_")[0]
        first: str | None = None
        for line in path.read_text("utf-8").splitlines():
            document: dict[str, Any] = json.loads(line)
            first = first or document["filter"]
            key = (name, "", str(document["doc_id"]))
            for metric in document["metrics"]:
                if document["filter"] == first:
                    scores.setdefault(metric, {})[key] = document[metric]
                scores.setdefault(document["filter"], {})[key] = document[metric]
    return scores
