"""Word problems in free text, from a stamp to a report: solvers that err in known ways earn what is due."""

import re
from hashlib import sha256
from html import unescape

import pytest

from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Server

ITEMS = 40
WAYS = ("right", "right in words", "wrong", "no number", "undecided")
ASKED = re.compile(r"shed (\d+) has (\d+) boxes of (\d+) nails")


def way(model: str, shed: int) -> str:
    """How a model answers about a shed, drawn by a digest: `strong` is right more often."""
    draw = sha256(f"{model} {shed}".encode()).digest()[0] % (12 if model == "strong-2026-01-01" else 6)
    return WAYS[draw] if draw < len(WAYS) else "right"


def response(model: str, messages: studies.Messages) -> str:
    found = ASKED.findall(messages[-1]["content"])
    if not found:
        return "Yes."
    shed, boxes, nails = map(int, found[-1])
    total, written = boxes * nails, f"{boxes * nails:,}"
    return {
        "right": f"Each box has {nails}. {boxes} * {nails} = {total}\nThe answer is {total}.",
        "right in words": f"There are {boxes} boxes.\n\n**The answer is: {written}.00** nails",
        "wrong": f"The answer is {total + 1}, and not {total}.",
        "no number": "The answer is that nobody has counted them.",
        "undecided": f"The answer is {total} or {total + 1}.",
    }[way(model, shed)]


SHEDS = studies.benchmark("sheds", 'id = "id", query = "question", references = ["answer"]')
HARNESS = """
[harness]
prompt = "{{ question }}\\nEnd with: The answer is N."
method = "match"
max_tokens = 64
"""
READ = {
    "stated": 'match = { as = "number", after = "The answer is", gold_after = "####" }',
    "last": 'match = { as = "number", gold_after = "####" }',
}


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    rows = []
    for shed in range(ITEMS):
        boxes, nails = shed + 21, 7 * shed + 13
        question = f"Your shed {shed} has {boxes} boxes of {nails} nails. How many nails are there?"
        answer = f"{boxes} times {nails} is\n#### {boxes * nails}"
        rows.append({"id": f"s{shed:02}", "question": question, "answer": answer})
    with Server(studies.Scripted(response)) as server:
        models = studies.behind(server.url, "strong", "weak", version="-2026-01-01")
        spec = studies.head("sheds", models) + SHEDS + HARNESS + studies.axis("read", READ, ["last"])
        return studies.carried_out(studies.written(tmp_path_factory.mktemp("sheds"), spec, rows))


def expected(model: str) -> tuple[int, int, int]:
    """What a person counts: right, wrong, unreadable. A number that is denied is no answer."""
    ways = [way(f"{model}-2026-01-01", shed) for shed in range(ITEMS)]
    right = sum(one.startswith("right") for one in ways)
    unread = sum(one in ("no number", "undecided") for one in ways)
    wrong = ways.count("wrong")
    return right, wrong, unread


@pytest.mark.parametrize("model", ["strong", "weak"])
@pytest.mark.parametrize("level", ["stated", "last"])
def test_a_solver_earns_what_a_person_counts(solved: studies.Finished, model: str, level: str) -> None:
    rows = solved.rows(
        "SELECT choice, score FROM sample JOIN cell ON cell.id = sample.cell WHERE key = ?",
        [f"{model}/sheds/read={level}"],
    )
    counted = tuple(rows.count(row) for row in ((0, 1), (1, 0), (None, 0)))
    assert sum(counted) == ITEMS
    assert counted == expected(model)


def test_every_way_to_answer_occurs() -> None:
    assert {way("weak-2026-01-01", shed) for shed in range(ITEMS)} == set(WAYS)


def test_what_was_read_is_the_number_that_the_response_gives(solved: studies.Finished) -> None:
    rows = solved.rows(
        """SELECT json_extract(evidence, '$.start'), json_extract(evidence, '$.end'),
                  json_extract(call.answer, '$.text')
           FROM sample JOIN trace USING (cell, item, replicate) JOIN call ON call.id = trace.call
           WHERE choice = 0"""
    )
    assert rows
    for start, end, text in rows:
        number = text[start:end].replace(",", "")
        assert float(number) in {float(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", text)}


def test_the_report_says_how_answers_were_compared_and_what_was_unreadable(solved: studies.Finished) -> None:
    row = solved.row("read=stated")
    for model in ("strong", "weak"):
        right, _, unread = expected(model)
        assert (row[model]["correct"], row[model]["parsed"]) == (right, ITEMS - unread)
    page = unescape((solved.results / "report.html").read_text("utf-8"))
    first = page.partition("<main")[2].partition("May I print this?")[0]
    assert "guess" not in first and 'class="chance"' not in first, "free text has no chance level"
    assert solved.study.verify().complete


def test_a_response_is_shown_with_its_reading(solved: studies.Finished) -> None:
    shown = command("show", "--model", "weak", "--where", "read=stated", cwd=solved.folder)
    assert shown.returncode == 0, shown.stderr
    assert "right" in shown.stdout and "option" not in shown.stdout, shown.stdout
