"""What answers take as outcomes, and statistics of them, on a server whose usage is known: counted again from
the store with plain SQL and numpy."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import studies
from tests.studies import Finished
from tools.servers.http import Asked, Reply, Server

SPEC = """
gridcard = 1
study = { id = "cost", title = "What answers take", purpose = "comparative", not_varied = ["the prompt"] }
waive = [
  { code = "GC507", why = "the server names no version of its models" },
  { code = "GC529", why = "a script" },
]

[[model]]
id = ["terse", "wordy"]
engine = "api"
source = "{id}"
base_url = "URL"
price = { input = 1.0, output = 10.0, as_of = "2026-12-01" }

[[benchmark]]
id = "sums"
loader = "rows"
source = "path:items.jsonl"
direction = "higher"
loading.fields = { id = "id", query = "question", references = ["answer"] }

[harness]
method = "scorer"
max_tokens = 64
scorer = { function = "python:scorers.py:solved", score = "right", units = { steps = "steps" } }

[[axis]]
id = "wording"
[[axis.level]]
id = "plain"
tier = "core"
prompt = "Add: {{ question }}"
provenance = "a test"
[[axis.level]]
id = "kind"
tier = "core"
prompt = "Please add: {{ question }}"
provenance = "a test"
[[axis.level]]
id = "loud"
tier = "core"
prompt = "ADD NOW: {{ question }}"
provenance = "a test"

[[outcome]]
id = "brief"
benchmark = "sums"
number = "brief"

[[statistic]]
id = "written"
kind = "mean"
outcome = "tokens"

[[statistic]]
id = "steps_taken"
kind = "mean"
outcome = "steps"

[[statistic]]
id = "cost_per_success"
kind = "ratio"
above = "cost"
below = "score"

[[statistic]]
id = "balance"
kind = "formula"
formula = "sqrt(score * brief) / answers"

[[statistic]]
id = "widest"
kind = "gap"
of = "score"
over = ["wording"]

[[statistic]]
id = "widest_tokens"
kind = "gap"
of = "written"
over = ["wording"]

[[statistic]]
id = "widest_cost"
kind = "gap"
of = "cost_per_success"
over = ["wording"]

[[statistic]]
id = "steady"
kind = "consistency"
over = ["wording"]

[[hypothesis]]
id = "cheaper"
kind = "statistic"
statistic = "cost_per_success"
axis = "wording"
level = "plain"
reference = "loud"
predicts = "lower"

[[hypothesis]]
id = "wordier"
kind = "statistic"
statistic = "tokens"
axis = "model"
level = "wordy"
reference = "terse"
predicts = "not_lower"
margin = 1
"""
SCORER = """
def solved(item, response):
    words = response.split()
    if not words:
        return None
    right = words[-1] == item["references"][0]
    return {"right": float(right), "brief": 1 / len(words), "steps": 3 * len(words)}


def solved_responders(item):
    return {"perfect": item["references"][0], "worst": "no"}
"""
ROWS = [{"id": f"q{n}", "question": f"{n} and {2 * n}", "answer": str(3 * n)} for n in range(60)]


def said(model: str, prompt: str) -> str:
    """Right on some questions, with more words from one model and under one wording."""
    found = [int(word) for word in prompt.replace(":", " ").split() if word.isdigit()]
    n = found[0] if found else 0
    harder = {"Add": 7, "Please": 5, "ADD": 2}[prompt.split(":")[0].split()[0]] if found else 7
    right = (n * 31 + len(model)) % 10 < harder
    words = ["word"] * (n % (3 if model == "terse" else 9))
    return " ".join([*words, str(3 * n if right else n)])


async def answer(asked: Asked) -> Reply:
    body = asked.document
    text = said(body["model"], body["messages"][-1]["content"])
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 2 + len(text.split())}
    return Reply.json({"model": body["model"], "choices": [choice], "usage": usage})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    from hashlib import sha256

    folder: Path = tmp_path_factory.mktemp("cost")
    with Server(answer) as served, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDC_ALLOW", f"sha256:{sha256(SCORER.encode()).hexdigest()}")
        opened = studies.written(folder, SPEC.replace("URL", f"{served.url}/v1"), ROWS, scorers_py=SCORER)
        finished = studies.carried_out(opened)
        assert opened.verify().complete
    return finished


def stated(done: Finished, name: str) -> Mapping[str, Mapping[str, Any]]:
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    (row,) = (row for row in document["statistics"] if row["id"] == name)
    return dict(row["models"])


def answers(done: Finished) -> dict[tuple[str, str], np.ndarray]:
    """Of each model and wording: score, tokens, cost, steps and brevity of every answer, by item."""
    rows = done.rows(
        """SELECT cell.model, cell.configuration, s.item, s.score,
                  json_extract(call.usage, '$.completion_tokens'),
                  (SELECT sum(usd) FROM attempt WHERE attempt.call = call.id AND purpose = 'call'),
                  json_extract(s.evidence, '$.numbers.steps'), json_extract(s.evidence, '$.numbers.brief')
           FROM sample s JOIN cell ON cell.id = s.cell JOIN trace USING (cell, item, replicate)
           JOIN call ON call.id = trace.call ORDER BY 1, 2, 3"""
    )
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for model, configuration, _, *numbers in rows:
        found[model, configuration].append(numbers)
    return {place: np.array(values, float) for place, values in found.items()}


MODELS, WORDINGS = ("terse", "wordy"), ("wording=plain", "wording=kind", "wording=loud")


def test_means_and_ratios_are_those_of_the_store(done: Finished) -> None:
    rows = answers(done)
    for model in MODELS:
        for wording in WORDINGS:
            score, tokens, cost, steps, brief = rows[model, wording].T
            expected = {
                "written": tokens.mean(),
                "steps_taken": steps.mean() / 10_000,
                "cost_per_success": cost.sum() / (score.sum() / 10_000),
                "balance": np.sqrt(score.sum() * brief.sum()) / 10_000 / len(score),
            }
            for name, value in expected.items():
                found = stated(done, name)[model][wording]
                assert found["value"] == pytest.approx(value, rel=1e-6), (name, model, wording)
                assert found["interval"][0] <= value <= found["interval"][1]
                assert (found["responses"], found["asked"]) == (60, 60)


def test_gaps_and_consistency_are_over_the_levels(done: Finished) -> None:
    rows = answers(done)
    for model in MODELS:
        by_level = [rows[model, wording] for wording in WORDINGS]
        scores = [values[:, 0].mean() / 10_000 for values in by_level]
        tokens = [values[:, 1].mean() for values in by_level]
        costs = [values[:, 2].sum() / (values[:, 0].sum() / 10_000) for values in by_level]
        same = np.mean([len(set(item)) == 1 for item in np.array([each[:, 0] for each in by_level]).T])
        for name, value in (
            ("widest", max(scores) - min(scores)),
            ("widest_tokens", max(tokens) - min(tokens)),
            ("widest_cost", max(costs) - min(costs)),
            ("steady", same),
        ):
            (found,) = stated(done, name)[model].values()
            assert found["value"] == pytest.approx(value, rel=1e-6), name


def test_hypotheses_about_statistics_compare_two_levels(done: Finished) -> None:
    rows = answers(done)
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    by_id = {row["id"]: row for row in document["hypotheses"]}

    def pooled(places: list[tuple[str, str]]) -> np.ndarray:
        return np.concatenate([rows[place] for place in places])

    plain, loud = (pooled([(model, f"wording={level}") for model in MODELS]) for level in ("plain", "loud"))
    costs = [side[:, 2].sum() / (side[:, 0].sum() / 10_000) for side in (plain, loud)]
    found = by_id["cheaper"]["statistic"]
    assert [found["value"], found["reference_value"]] == pytest.approx(costs, rel=1e-6)
    assert found["difference"] == pytest.approx(costs[0] - costs[1], rel=1e-6)
    assert (found["samples"], by_id["cheaper"]["verdict"]) == (240, "supported")
    wordy, terse = (pooled([(model, wording) for wording in WORDINGS]) for model in ("wordy", "terse"))
    found = by_id["wordier"]["statistic"]
    assert found["difference"] == pytest.approx(wordy[:, 1].mean() - terse[:, 1].mean())
    assert (found["samples"], by_id["wordier"]["verdict"]) == (360, "supported")
    listed = done.estimates["hypothesis/wordier/statistic_difference"]
    assert (listed["estimate"], listed["interval"]) == (found["difference"], found["interval"])


def test_values_are_printed_in_their_units(done: Finished) -> None:
    page = (done.results / "report.html").read_text("utf-8")
    assert "Score on sums against written" in page and "Score on sums against steps_taken" in page
    assert "tokens" in page and "US dollars per score" in page
    steps = stated(done, "steps_taken")["wordy"]["wording=plain"]["value"]
    assert f"{steps:.1f} steps" in page
