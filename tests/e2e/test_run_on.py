"""A base model that answers and runs on with other questions, from files to the order of the models."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gridc
from gridc.diagnostics.errors import HazardError
from tools.servers.http import Asked, Reply, Server

ITEMS = 120
SPEC = """\
gridcard = 1
study = {{ id = "sums", title = "Two models on sums", purpose = "comparative", not_varied = ["all else"] }}
harness = {{ {harness}, chat_template = false, max_tokens = 64 }}

[[model]]
id = "better"
engine = "api"
source = "better-2026-01-01"
base_url = "{url}"
price = {{ input = 1, output = 1, as_of = "2026-01-01" }}

[[model]]
id = "worse"
engine = "api"
source = "worse-2026-01-01"
base_url = "{url}"
price = {{ input = 1, output = 1, as_of = "2026-01-01" }}

[[benchmark]]
id = "sums"
loader = "rows"
source = "path:sums.csv"
direction = "higher"
loading.fields = {fields}
"""
CHOICE = (
    'method = "extract", option_order = "shuffled:42", '
    'prompt = "Question: {{ question }}\\n\\nAnswer:{% if answer %} {{ answer }}{% endif %}"',
    '{ query = "question", options = ["a", "b", "c", "d"], gold = "answer" }',
)
NUMBER = (
    'method = "match", match = { as = "number" }, options = "none", '
    'prompt = "Q: {{ question }}\\nA:{% if answer %} {{ answer }}{% endif %}"',
    '{ query = "question", references = ["sum"] }',
)


async def base_models(asked: Asked) -> Reply:
    """Text completions: the better model is right on three of four sums and runs on, the worse one on half
    of them and stops."""
    body = asked.document
    prompt, model = str(body["prompt"]), str(body["model"])
    found = re.search(r"What is (\d+) plus (\d+)\?", prompt)
    one, other = map(int, found.groups()) if found else (0, 0)
    good = one % 4 < (3 if model.startswith("better") else 2)
    said = one + other if good else one + other + 1
    listed = re.search(rf"^([A-D])\. {said}$", prompt, re.MULTILINE)
    answer = listed[1] if listed else str(said)
    text, finish = f" {answer}", "stop"
    if model.startswith("better"):
        finish = "length"
        cue, reply = ("Question:", "Answer:") if listed else ("Q:", "A:")
        text += f"\n\n{cue} What is 7 plus {one}?\n{reply} {'D' if listed else 99}\n\n{cue} What is 3 plus"
    choice = {"index": 0, "text": text, "finish_reason": finish}
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": min(8, body["max_tokens"])}
    usage["total_tokens"] = sum(usage.values())
    return Reply.json({"object": "text_completion", "model": model, "choices": [choice], "usage": usage})


@pytest.fixture
def url() -> Iterator[str]:
    with Server(base_models) as server:
        yield server.url


def study(folder: Path, url: str, harness: str, fields: str) -> gridc.OpenStudy:
    rows = ["question,a,b,c,d,answer,sum"]
    for one in range(ITEMS):
        total = one + 20
        rows.append(f"What is {one} plus 20?,{total},{total + 1},{total + 2},{total + 3},A,{total}")
    (folder / "sums.csv").write_text("\n".join(rows) + "\n", "utf-8")
    (folder / "gridcard.toml").write_text(SPEC.format(harness=harness, fields=fields, url=url), "utf-8")
    return gridc.open(folder / "gridcard.toml")


def scores(made: gridc.OpenStudy, folder: Path) -> dict[str, float]:
    """What each model's mean score is by the study's report."""
    made.run()
    made.report()
    rows = json.loads((folder / "results" / "sums" / "estimates.json").read_text("utf-8"))["estimates"]
    return {row["id"].split("/")[1]: row["estimate"] for row in rows if row["id"].startswith("score/")}


@pytest.mark.parametrize(("harness", "fields"), [CHOICE, NUMBER], ids=["choices", "numbers"])
def test_the_order_is_right_where_the_better_model_runs_on(
    url: str, tmp_path: Path, harness: str, fields: str
) -> None:
    made = study(tmp_path, url, harness, fields)
    notes = made.plan().as_json()["notes"]
    cue = "Question:" if fields == CHOICE[1] else "Q:"
    assert any("better" in note and f'stop = ["{cue}"] in [harness]' in note for note in notes), notes
    assert scores(made, tmp_path) == {"better": pytest.approx(0.75), "worse": pytest.approx(0.5)}
    assert made.verify().complete


def test_the_stop_that_the_plan_names_gives_the_same(url: str, tmp_path: Path) -> None:
    made = study(tmp_path, url, CHOICE[0] + ', stop = ["Question:"]', CHOICE[1])
    assert not any("no chat template" in note for note in made.plan().as_json()["notes"])
    assert scores(made, tmp_path) == {"better": pytest.approx(0.75), "worse": pytest.approx(0.5)}


def test_a_reader_that_reads_on_is_a_hazard_for_a_base_model(url: str, tmp_path: Path) -> None:
    made = study(tmp_path, url, CHOICE[0] + ', reader = "answer_line"', CHOICE[1])
    with pytest.raises(HazardError, match=r"GC515.*running-on") as failed:
        made.validate(check=True)
    assert 'stop = ["Question:"]' in str(failed.value.diagnostics)
