"""Responses that two readings part are counted, and no others. What is expected of each is by hand."""

import json
from pathlib import Path

import pytest

from gridc.reports.findings.doubtful import DOUBTFUL, first_paragraph
from gridc.schema.certificate import DoubtfulRow
from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

DATED = "-2026-01-01"
SAID = {
    "one": ("The answer is A.", False),
    "both": ("The answer is A.\n\nOn reflection, the answer is B.", True),
    "same": ("The answer is A.\n\nSo the answer is A.", False),
    "open": ("Let me think of both.\n\nThe answer is B.", False),
    "thought": ("<think>The answer is A.\n\nNo.</think>\n\nThe answer is B.", False),
}
ROWS = [{"id": name, "ask": f"Which is it, {name}?", "a": "x", "b": "y", "gold": "a"} for name in SAID]
FIELDS = 'query = "ask", options = ["a", "b"], gold = "gold", id = "id"'


@pytest.mark.parametrize(
    ("response", "first"),
    [
        ("A.", None),
        ("A.\n\nB.", "A."),
        ("A.\n\n  \n", None),
        ("<think>x\n\ny</think>A.\n\nB", "A."),
        ("<think>A\n\nB", None),
    ],
)
def test_the_first_paragraph_is_that_of_the_answer(response: str, first: str | None) -> None:
    assert first_paragraph(response) == first


def test_responses_that_two_readings_part_are_counted_and_named(tmp_path: Path) -> None:
    async def respond(asked: Asked) -> Reply:
        prompt = asked.document["messages"][-1]["content"]
        name = next((name for name in SAID if f"it, {name}?" in prompt), "one")
        return Reply.json(completion(asked.document, SAID[name][0], "stop"))

    with Server(respond) as served:
        spec = (
            studies.head("two", studies.behind(served.url, "m", version=DATED), "descriptive", waived="GC529")
            + studies.benchmark("b", FIELDS, 'option_order = "file"')
            + '[harness]\nmethod = "extract"\nmax_tokens = 64\n[engine]\nnoise_sample = 0\n'
            + studies.axis("reader", {
                "phrases": 'prompt = "builtin:T1"',
                "strict": 'prompt = "builtin:T2"\nreader = "whole_response"',
            })
        )  # fmt: skip
        studies.written(tmp_path, spec, ROWS)
        for step in ("stamp", "run", "report", "verify"):
            done = command(step, cwd=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results" / "two"
    (benchmark,) = json.loads((results / "certificate.json").read_text("utf-8"))["benchmarks"]
    assert benchmark["doubtful"] == [
        {"model": "m", "configuration": "reader=phrases", "several": 3,
         "items": [name for name, (_, parted) in SAID.items() if parted]}
    ]  # fmt: skip
    page = (results / "report.html").read_text("utf-8")
    assert "reads as another option than the whole, which counts: m 1." in page
    assert "item=both" in page


def test_what_is_recorded_is_read_back() -> None:
    """A bundle has no texts of items, and takes these rows from the report's event."""
    rows = {"b": (DoubtfulRow(model="m", configuration="", several=3, items=("both",)),)}
    assert DOUBTFUL.from_json(DOUBTFUL.as_json(rows)) == rows
