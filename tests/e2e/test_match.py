"""Word problems in free text, from a stamp to a report: solvers that err in known ways earn what is due."""

import json
import re
import sqlite3
from contextlib import closing
from hashlib import sha256
from html import unescape

import pytest

import gridc
from gridc.study import OpenStudy
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

ITEMS = 40
WAYS = ("right", "right in words", "wrong", "no number", "undecided")
ASKED = re.compile(r"shed (\d+) has (\d+) boxes of (\d+) nails")


def way(model: str, shed: int) -> str:
    """How a model answers about a shed, drawn by a digest: `strong` is right more often."""
    draw = sha256(f"{model} {shed}".encode()).digest()[0] % (12 if model == "strong-2026-01-01" else 6)
    return WAYS[draw] if draw < len(WAYS) else "right"


def response(model: str, prompt: str) -> str:
    shed, boxes, nails = map(int, ASKED.findall(prompt)[-1])
    total, written = boxes * nails, f"{boxes * nails:,}"
    return {
        "right": f"Each box has {nails}. {boxes} * {nails} = {total}\nThe answer is {total}.",
        "right in words": f"There are {boxes} boxes.\n\n**The answer is: {written}.00** nails",
        "wrong": f"The answer is {total + 1}, and not {total}.",
        "no number": "The answer is that nobody has counted them.",
        "undecided": f"The answer is {total} or {total + 1}.",
    }[way(model, shed)]


class Solver:
    """A server of two models that answer as `response` says."""

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        prompt = body["messages"][-1]["content"]
        text = response(body["model"], prompt) if ASKED.search(prompt) else "Yes."
        return Reply.json(completion(body, text, "stop"))


SPEC = """\
gridcard = 1

[study]
id = "sheds"
title = "Nails in sheds"
purpose = "comparative"
not_varied = ["everything else"]

[[model]]
id = "strong"
engine = "api"
source = "strong-2026-01-01"
base_url = "URL"

[[model]]
id = "weak"
engine = "api"
source = "weak-2026-01-01"
base_url = "URL"

[[benchmark]]
id = "sheds"
loader = "rows"
source = "path:sheds.jsonl"
direction = "higher_is_better"
loading = { fields = { id = "id", query = "question", references = ["answer"] } }

[harness]
method = "match"
max_tokens = 64

[[axis]]
id = "read"

[[axis.level]]
id = "stated"
tier = "core"
prompt = "{{ question }}\\nEnd with: The answer is N."
match = { as = "number", after = "The answer is", gold_after = "####" }
provenance = "a test"

[[axis.level]]
id = "last"
tier = "stress"
prompt = "{{ question }}\\nEnd with: The answer is N."
match = { as = "number", gold_after = "####" }
provenance = "a test"
"""


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> OpenStudy:
    folder = tmp_path_factory.mktemp("sheds")
    rows = []
    for shed in range(ITEMS):
        boxes, nails = shed + 21, 7 * shed + 13
        question = f"Your shed {shed} has {boxes} boxes of {nails} nails. How many nails are there?"
        answer = f"{boxes} times {nails} is\n#### {boxes * nails}"
        rows.append({"id": f"s{shed:02}", "question": question, "answer": answer})
    (folder / "sheds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with Server(Solver()) as server:
        (folder / "gridcard.toml").write_text(SPEC.replace("URL", server.url), "utf-8")
        study = gridc.open(folder)
        study.stamp()
        study.run()
    study.report()
    return study


def expected(model: str, level: str) -> tuple[int, int, int]:
    """What a person counts: right, wrong, unreadable. Behind the words the first number of their sentence
    counts; without them the last of the response."""
    ways = [way(f"{model}-2026-01-01", shed) for shed in range(ITEMS)]
    right = sum(one.startswith("right") for one in ways)
    unread = sum(one in ("no number", "undecided") for one in ways)
    wrong = ways.count("wrong")
    return (right, wrong, unread) if level == "stated" else (right + wrong, 0, unread)


@pytest.mark.parametrize("model", ["strong", "weak"])
@pytest.mark.parametrize("level", ["stated", "last"])
def test_a_solver_earns_what_a_person_counts(solved: OpenStudy, model: str, level: str) -> None:
    with closing(sqlite3.connect(solved.store)) as store:
        rows = store.execute(
            "SELECT choice, score FROM sample JOIN cell ON cell.id = sample.cell WHERE key = ?",
            [f"{model}/sheds/read={level}"],
        ).fetchall()
    counted = tuple(rows.count(row) for row in ((0, 1), (1, 0), (None, 0)))
    assert sum(counted) == ITEMS
    assert counted == expected(model, level)


def test_every_way_to_answer_occurs() -> None:
    assert {way("weak-2026-01-01", shed) for shed in range(ITEMS)} == set(WAYS)


def test_what_was_read_is_the_number_that_the_response_gives(solved: OpenStudy) -> None:
    with closing(sqlite3.connect(solved.store)) as store:
        rows = store.execute(
            """SELECT json_extract(evidence, '$.start'), json_extract(evidence, '$.end'),
                      json_extract(call.answer, '$.text')
               FROM sample JOIN trace USING (cell, item, replicate) JOIN call ON call.id = trace.call
               WHERE choice = 0"""
        ).fetchall()
    assert rows
    for start, end, text in rows:
        number = text[start:end].replace(",", "")
        assert float(number) in {float(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", text)}


def test_the_report_says_how_answers_were_compared_and_what_was_unreadable(solved: OpenStudy) -> None:
    results = solved.store.parent
    certificate = json.loads((results / "certificate.json").read_text("utf-8"))
    envelope = certificate["benchmarks"][0]["envelope"]
    (row,) = (row for row in envelope if row["configuration"] == "read=stated")
    for model in ("strong", "weak"):
        right, _, unread = expected(model, "stated")
        assert row["scores"][model]["correct"] == right
        assert row["scores"][model]["parsed"] == ITEMS - unread
    page = unescape((results / "report.html").read_text("utf-8"))
    assert "chance" not in page.partition("</table>")[0], "free text has no chance level"
    assert solved.verify().complete


def test_a_response_is_shown_with_its_reading(solved: OpenStudy) -> None:
    folder = solved.store.parents[2]
    shown = command("show", "--model", "weak", "--where", "read=stated", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "right" in shown.stdout and "option" not in shown.stdout, shown.stdout
