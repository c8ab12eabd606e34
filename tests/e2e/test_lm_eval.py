"""gridc's framing of lm-evaluation-harness against the harness itself: the same model, files and numbers.

The harness runs in an environment of its own (`make .venv-lm-eval/installed`), with its own task files in
which only the place of the data is changed.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings
from tests.e2e.conftest import command

REPOSITORY = Path(__file__).resolve().parents[2]
HARNESS = REPOSITORY / ".venv-lm-eval"
ITEMS = 60

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (HARNESS / "installed").exists(), reason="no harness here: make .venv-lm-eval/installed"
    ),
    pytest.mark.skipif(
        not os.environ.get("GRIDC_DATA"), reason="GRIDC_DATA does not name a folder with the upstream files"
    ),
]


@dataclass(frozen=True)
class Task:
    """A task of the harness and the gridc framing of it."""

    name: str
    yaml: str
    split: str
    loader: str
    source: str


TASKS = {
    "truthfulqa": Task(
        "truthfulqa_mc1", "truthfulqa/truthfulqa_mc1.yaml", "validation", "truthfulqa_mc1",
        "truthfulqa/v0_mc_task.json",
    ),
    "bbq": Task("bbq", "bbq/bbq_multiple_choice.yaml", "test", "bbq", "bbq/Age.jsonl"),
}  # fmt: skip


# Not pocket-qwen2: `AutoTokenizer`, which the harness uses, takes a class of its own for every model of that
# architecture, whatever its tokenizer.json says, and gives other tokens.
@pytest.mark.parametrize("model", ["pocket-llama", "pocket-mistral"])
@pytest.mark.parametrize("chat", [False, True], ids=["plain", "chat"])
@pytest.mark.parametrize("name", TASKS)
def test_the_harness_and_gridc_measure_the_same(
    name: str, chat: bool, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = TASKS[name]
    rows = _first_items(task, tmp_path)
    theirs, accuracy = _harness(task, rows, model, chat, tmp_path)
    ours = list(_gridc(task, model, chat, tmp_path))
    assert len(ours) == len(theirs) == ITEMS
    assert [len(each) for each, _ in ours] == [len(each) for each in theirs]
    pairs = [
        (a, b)
        for (mine, _), other in zip(ours, theirs, strict=True)
        for a, b in zip(mine, other, strict=True)
    ]
    worst = max(abs(a - b) for a, b in pairs)
    right = sum(points for _, points in ours) / len(ours)
    with capsys.disabled():
        turn = "chat" if chat else "plain"
        print(f"\n{name}, {model}, {turn}: {len(pairs)} candidates of {ITEMS} items, largest difference "
              f"{worst:.1e} nats, accuracy {right:.4f} and {accuracy:.4f}")  # fmt: skip
    assert worst < 1e-3
    assert right == pytest.approx(accuracy, abs=1e-12)


def test_the_logs_of_the_harness_and_a_study_of_gridc_certify_the_same(tmp_path: Path) -> None:
    """The same four cells under the named measurand: scores, orders, p-values and what is certified. Right is
    what one of the models takes for it, so that one order is."""
    task, models, turns = TASKS["truthfulqa"], ("pocket-llama", "pocket-mistral"), {"no": False, "yes": True}
    taken = tmp_path / "taken"
    taken.mkdir()
    _first_items(task, taken)
    likeliest = [ranked.index(max(ranked)) for ranked, _ in _gridc(task, models[0], False, taken)]
    rows = _first_items(task, tmp_path, likeliest)
    folders = []
    for model, (turn, chat) in product(models, turns.items()):
        folders.append(tmp_path / f"{model}-{turn}")
        folders[-1].mkdir()
        _harness(task, rows, model, chat, folders[-1])
    (logged,) = gridc.certify(folders).certificate.benchmarks
    tables = "".join(
        f'[[model]]\nid = "{model}"\nengine = "hf"\nsource = "builtin:{model}"\n\n' for model in models
    )
    levels = "".join(
        f'[[axis.level]]\nid = "{turn}"\ntier = "core"\nprovenance = "the harness"\n'
        f"chat_template = {str(chat).lower()}\n" + ('delimiter = ""\n' if chat else "")
        for turn, chat in turns.items()
    )
    (tmp_path / "gridcard.toml").write_text(SAME.format(models=tables, levels=levels))
    ran = command("run", "--data", str(_preset(tmp_path / "data")), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    asked = command("certify", "--json", "--data", str(tmp_path / "data"), cwd=tmp_path)
    (benchmark,) = json.loads(asked.stdout)["benchmarks"]
    (own,) = benchmark["scopes"][0]["pairs"]
    (pair,) = logged.pairs
    assert (own["a"], own["b"], own["measured"]) == (pair.a, pair.b, pair.configurations)
    assert (own["plus"], own["minus"], own["ties"]) == (pair.a_better, pair.b_better, pair.equal)
    assert own["words"] == pair.verdict
    assert pair.certified == "order"
    means = command("sql", MEANS, "--json", "--data", str(tmp_path / "data"), cwd=tmp_path)
    assert {(score.model, score.configuration): score.score for score in logged.scores} == {
        (row["model"], row["configuration"]): pytest.approx(row["score"]) for row in json.loads(means.stdout)
    }
    for sign in ("plus", "minus"):
        witness = own[f"witness_{sign}"]
        named = getattr(pair, "witness_a" if sign == "plus" else "witness_b")
        assert (witness and witness["configuration"]) == named
    certified = own["evidence"]["certified"]
    assert certified["test"] == pair.test and certified["claim"] == pair.certified
    assert certified["order"]["adjusted"] == pytest.approx(pair.order_p, rel=1e-6)
    assert certified["reversal"]["adjusted"] == pytest.approx(pair.reversal_p, rel=1e-6)


def _first_items(task: Task, folder: Path, right: list[int] | None = None) -> Path:
    """The first items of the real file, as the loader reads them and as the harness has them; `right` says
    which candidate of each is right, and so comes first, in the place of its own."""
    real = Path(os.environ["GRIDC_DATA"]) / task.source
    hosted = folder / "hosted.jsonl"
    if task.loader == "bbq":
        lines = real.read_text("utf-8").splitlines()[:ITEMS]
        (folder / "items").write_text("\n".join(lines) + "\n", "utf-8")
        hosted.write_text("\n".join(lines) + "\n", "utf-8")
        return hosted
    rows = json.loads(real.read_text("utf-8"))[:ITEMS]
    for row, place in zip(rows, right or (), strict=right is not None):
        texts = list(row["mc1_targets"])
        row["mc1_targets"] = {texts.pop(place): 1, **dict.fromkeys(texts, 0)}
    (folder / "items").write_text(json.dumps(rows), "utf-8")
    with hosted.open("w", encoding="utf-8") as file:
        for row in rows:
            targets = row["mc1_targets"]
            choices = {"choices": list(targets), "labels": list(targets.values())}
            file.write(json.dumps({"question": row["question"], "mc1_targets": choices}) + "\n")
    return hosted


def _harness(task: Task, rows: Path, model: str, chat: bool, folder: Path) -> tuple[list[list[float]], float]:
    """The log-likelihoods of every item's candidates and the accuracy, as the harness finds them."""
    (own,) = HARNESS.glob(f"lib/python3*/site-packages/lm_eval/tasks/{task.yaml}")
    tasks = folder / "tasks"
    tasks.mkdir()
    (tasks / "local.yaml").write_text(
        f"include: {own}\ntask: local_{task.name}\ndataset_path: json\ndataset_name: null\n"
        f"dataset_kwargs:\n  data_files:\n    {task.split}: {rows}\n"
    )
    arguments = [
        str(HARNESS / "bin" / "python"), "-m", "lm_eval", "run", "--model", "hf", "--model_args",
        f"pretrained={BUILTIN_MODELS / model},dtype=float32", "--tasks", f"local_{task.name}",
        "--include_path", str(tasks), "--device", "cpu", "--batch_size", "8",
        "--output_path", str(folder / "out"), "--log_samples",
        *(["--apply_chat_template"] if chat else []),
    ]  # fmt: skip
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    done = subprocess.run(
        arguments, env={**os.environ, **offline}, capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (samples,) = (folder / "out").rglob("samples_*.jsonl")
    (results,) = (folder / "out").rglob("results_*.json")
    documents = sorted(
        map(json.loads, samples.read_text("utf-8").splitlines()), key=lambda each: each["doc_id"]
    )
    likelihoods = [[float(each[0][0]) for each in document["resps"]] for document in documents]
    found: dict[str, Any] = json.loads(results.read_text("utf-8"))["results"][f"local_{task.name}"]
    return likelihoods, found["acc,none"]


def _gridc(task: Task, model: str, chat: bool, folder: Path) -> Iterator[tuple[list[float], int]]:
    """The same by gridc: each item's log-likelihoods and its score."""
    from gridc.runtime.engines.hf.engine import HfEngine

    spec = folder / "gridcard.toml"
    # The harness applies a template to the very same prompt, and takes the space before the candidate away.
    turn = 'chat_template = true\ndelimiter = ""' if chat else "chat_template = false"
    spec.write_text(SPEC.format(model=model, loader=task.loader, measurand=f"lm-eval:{task.name}", turn=turn))
    plan = Plan(compile_spec(spec, _preset(folder / "data")).study)
    (cell,) = plan.cells()
    samples = list(plan.samples(cell))
    calls = {
        request.id: Call(request.id, request.kind, request.prompt, request.parameters)
        for sample in samples
        for request in sample.requests
    }
    engine = HfEngine(model, BUILTIN_MODELS / model, "fp32", EngineSettings())
    answers = {
        answer.call: answer.content
        for batch in engine.batches(list(calls.values()))
        for answer in engine.answer(batch, frozenset(batch.calls))[0]
    }
    for sample in samples:
        given = [answers[request.id] for request in sample.requests]
        yield given[0]["loglikelihoods"], score_sample(cell.setting, sample.item, given).score


def _preset(data: Path) -> Path:
    """A data folder with the template that TruthfulQA's framing has from the harness."""
    (own,) = HARNESS.glob("lib/python3*/site-packages/lm_eval/tasks/truthfulqa/truthfulqa_mc1.yaml")
    (data / "lm-eval").mkdir(parents=True)
    text = yaml.safe_load(own.read_text("utf-8"))["doc_to_text"]
    (data / "lm-eval" / "truthfulqa_mc1.jinja").write_text(text, "utf-8")
    return data


MEANS = "select model, configuration, avg(score) as score from samples group by model, configuration"

SAME = """\
gridcard = 1

[study]
id = "same"
title = "The cells of lm-evaluation-harness"
purpose = "comparative"
not_varied = ["everything else"]

{models}
[[benchmark]]
id = "items"
loader = "truthfulqa_mc1"
source = "path:items"
direction = "higher_is_better"
option_order = "file"
measurand = "lm-eval:truthfulqa_mc1"

[[waive]]
code = "GC516"
why = "the harness takes the first of the likeliest candidates"

[[axis]]
id = "chat"
{levels}
"""

SPEC = """\
gridcard = 1

[study]
id = "parity"
title = "lm-evaluation-harness"
purpose = "descriptive"

[[model]]
id = "model"
engine = "hf"
source = "builtin:{model}"

[[benchmark]]
id = "items"
loader = "{loader}"
source = "path:items"
direction = "higher_is_better"
option_order = "file"
measurand = "{measurand}"

[[axis]]
id = "turn"
[[axis.level]]
id = "as_said"
tier = "core"
provenance = "lm-evaluation-harness 0.4.13"
{turn}
"""
