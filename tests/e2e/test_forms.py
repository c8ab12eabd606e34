"""A study that asks for its answers in forms, behind a server whose models keep them, ignore them or keep
them when asked again. What it says of compliance and scores is counted again from what the server sent."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

CITIES = {"Norway": "Oslo", "Peru": "Lima", "Kenya": "Nairobi", "Italy": "Rome", "Chile": "Santiago"}
WRONG = ("Bergen", "Cusco")
ROWS = [
    {
        "id": name,
        "ask": f"What is the capital of {name}?",
        "a": city,
        "b": WRONG[0],
        "c": WRONG[1],
        "gold": city,
    }
    for name, city in CITIES.items()
]
FORMS = ("line", "letter", "boxed", "json")
WRITTEN = {"line": "Answer: {}", "letter": "{}", "boxed": "So \\boxed{{{}}}.", "json": '{{"answer": "{}"}}'}
DATED = "-2026-01-01"
AGAIN = "does not have the form"


@dataclass
class Capitals:
    """The server. `keeper` knows every capital and keeps each form. `talker` knows every capital and talks.
    `second` says Bergen, and keeps the form only when it is asked again. `said` holds what was sent, by
    model and user's first message."""

    schemas: bool = True
    said: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        if "response_format" in body and not self.schemas:
            return Reply.json({"error": {"message": "response_format json_schema is not supported"}}, 400)
        model, messages = body["model"].removesuffix(DATED), body["messages"]
        first = messages[0]["content"]
        if not any(name in first for name in CITIES):  # gridc tries what a server honours
            return Reply.json(completion(body, "One two three four.", "stop"))
        self.held.append(body.get("response_format"))
        text = self._reply(
            model, first, again=AGAIN in messages[-1]["content"], held="response_format" in body
        )
        self.said.setdefault((model, first), []).append(text)
        return Reply.json(completion(body, text, "stop"))

    def _reply(self, model: str, prompt: str, again: bool, held: bool) -> str:
        name = next(name for name in CITIES if name in prompt)
        city = CITIES[name] if model != "second" else "Bergen"
        shown = re.search(rf"^([ABC])\. {city}$", prompt, re.MULTILINE)
        assert shown is not None
        if held:
            return json.dumps({"answer": shown[1]})
        if model == "talker" or (model == "second" and not again):
            return f"I would say that it is {city}, as everybody knows."
        form = next((form for form in FORMS if asks_for(form, prompt)), None)
        return f"The answer is {shown[1]}." if form is None else WRITTEN[form].format(shown[1])


def asks_for(form: str, prompt: str) -> bool:
    words = {
        "line": '"Answer: ',
        "letter": "Respond with A, B or C",
        "boxed": "\\boxed{",
        "json": '{"answer": ',
    }
    return words[form] in prompt


def spec_of(
    url: str, levels: Mapping[str, str], models: tuple[str, ...] = ("keeper", "talker", "second")
) -> str:
    fields = 'query = "ask", options = ["a", "b", "c"], gold = "gold", id = "id"'
    return (
        studies.head("forms", studies.behind(url, *models, version=DATED), waived="GC529")
        + studies.benchmark("capitals", fields, 'option_order = "shuffled:7"')
        + '[harness]\nmethod = "extract"\nprompt = "builtin:plain"\nmax_tokens = 64\n'
        + studies.axis("form", levels)
        + "[engine]\nnoise_sample = 0\n"
    )


def run(folder: Path, spec: str) -> None:
    studies.written(folder, spec, ROWS)
    for step in ("stamp", "run", "report", "verify"):
        done = command(step, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr


LEVELS = {
    "phrases": "",
    **{form: f'answer = "{form}"' for form in FORMS},
    "fallback": 'answer = "boxed"\nout_of_form = "by_phrases"',
    "again": 'answer = "line"\nscaffold = { kind = "ask_again" }',
    "held": 'answer = "json_schema"',
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Capitals]:
    folder, capitals = tmp_path_factory.mktemp("forms"), Capitals()
    with Server(capitals) as served:
        run(folder, spec_of(served.url, LEVELS))
    return folder, capitals


def certificate(folder: Path) -> dict[str, Any]:
    text = (folder / "results" / "forms" / "certificate.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def test_reports_count_who_keeps_the_form(done: tuple[Path, Capitals]) -> None:
    folder, _ = done
    (benchmark,) = certificate(folder)["benchmarks"]
    counted = {(row["model"], row["configuration"].removeprefix("form=")): row for row in benchmark["forms"]}
    assert {level for _, level in counted} == set(LEVELS) - {"phrases"}
    every = len(ROWS)
    for (model, level), row in counted.items():
        keeps = every if model == "keeper" or level == "held" else 0
        again = every if (model, level) == ("second", "again") else 0
        phrases = every - keeps if level == "fallback" else 0
        assert (row["responses"], row["kept"], row["kept_again"], row["by_phrases"]) == (
            every, keeps, again, phrases,
        ), (model, level)  # fmt: skip
    page = (folder / "results" / "forms" / "report.html").read_text("utf-8")
    out = sum(row["responses"] - row["kept"] - row["kept_again"] for row in counted.values())
    total = sum(row["responses"] for row in counted.values())
    assert f"On capitals, {out} of {total} responses do not keep the form asked for" in page


def test_scores_are_those_of_plain_python(done: tuple[Path, Capitals]) -> None:
    """keeper and talker are right wherever they are read; second is wrong wherever it is."""
    folder, _ = done
    (benchmark,) = certificate(folder)["benchmarks"]
    for row in benchmark["envelope"]:
        level = row["configuration"].removeprefix("form=")
        for model, score in row["scores"].items():
            read = model == "keeper" or level in ("phrases", "fallback", "held")
            right = 1 if read and model != "second" else 0
            assert Fraction(score["correct"], score["trials"]) == right, (model, level, score)


def test_a_form_is_asked_again_only_where_it_was_not_kept(done: tuple[Path, Capitals]) -> None:
    folder, capitals = done
    with sqlite3.connect(folder / "results" / "forms" / "store.sqlite") as db:
        steps = Counter(
            db.execute(
                "SELECT cell.model, trace.name FROM trace JOIN cell ON cell.id = trace.cell "
                "WHERE configuration = 'form=again' AND trace.name <> 'answer'"
            ).fetchall()
        )
    every = len(ROWS)
    assert steps == {
        ("keeper", "direct"): every,
        ("talker", "direct"): every, ("talker", "again"): every,
        ("second", "direct"): every, ("second", "again"): every,
    }  # fmt: skip
    assert any(
        texts[-1].startswith("Answer: ") for (model, _), texts in capitals.said.items() if model == "second"
    )


def test_a_schema_names_the_labels_and_no_other_call_has_one(done: tuple[Path, Capitals]) -> None:
    _, capitals = done
    held = [each for each in capitals.held if each is not None]
    assert len(held) == 3 * len(ROWS)
    for each in held:
        answer = each["json_schema"]["schema"]["properties"]["answer"]
        assert answer == {"type": "string", "enum": ["A", "B", "C"]}


def test_a_server_without_structured_output_stops_the_run(tmp_path: Path) -> None:
    with Server(Capitals(schemas=False)) as served:
        levels = {"plain": 'answer = "json"', "held": 'answer = "json_schema"'}
        studies.written(tmp_path, spec_of(served.url, levels, ("keeper", "talker")), ROWS)
        assert command("stamp", cwd=tmp_path).returncode == 0
        ran = command("run", cwd=tmp_path)
    assert ran.returncode == 6
    assert "GC655" in ran.stderr and 'answer = "json"' in ran.stderr


def test_a_form_of_free_answers(tmp_path: Path) -> None:
    """Numbers in a box: the number in the box counts, whatever numbers stand before it."""
    said = {
        "1": "3 and 9 give \\boxed{12}.",
        "2": "It is 12.",
        "3": "\\boxed{\\text{1,200}}",
        "4": "\\boxed{x}",
    }

    async def respond(asked: Asked) -> Reply:
        prompt = asked.document["messages"][-1]["content"]
        if "number" not in prompt:
            return Reply.json(completion(asked.document, "One two three four.", "stop"))
        assert "End your response with \\boxed{TEXT}, where TEXT is your final answer alone." in prompt
        number = re.search(r"number (\d)", prompt)
        assert number is not None
        return Reply.json(completion(asked.document, said[number[1]], "stop"))

    rows = [{"id": n, "ask": f"What is number {n}?", "gold": gold} for n, gold in
            {"1": "12", "2": "12", "3": "1200", "4": "7"}.items()]  # fmt: skip
    with Server(respond) as served:
        spec = (
            studies.head(
                "forms", studies.behind(served.url, "keeper", version=DATED), "descriptive", waived="GC529"
            )
            + studies.benchmark("sums", 'query = "ask", references = ["gold"], id = "id"')
            + '[harness]\nmethod = "match"\nmatch = { as = "number" }\nprompt = "builtin:plain"\n'
            + studies.axis(
                "form",
                {"boxed": 'answer = "boxed"', "phrases": 'answer = "boxed"\nout_of_form = "by_phrases"'},
            )
        )
        studies.written(tmp_path, spec, rows)
        for step in ("stamp", "run", "report"):
            ran = command(step, cwd=tmp_path)
            assert ran.returncode == 0, ran.stdout + ran.stderr
    with sqlite3.connect(tmp_path / "results" / "forms" / "store.sqlite") as db:
        read = {
            (level, item): (choice, json.loads(evidence).get("unread"))
            for level, item, choice, evidence in db.execute(
                "SELECT configuration, item, choice, evidence FROM sample JOIN cell ON cell.id = sample.cell"
            )
        }
    right, unread = (0, None), (None, "not in the form")
    assert read["form=boxed", "1"] == right and read["form=boxed", "3"] == right
    assert read["form=boxed", "2"] == unread and read["form=boxed", "4"][0] is None
    assert read["form=phrases", "2"] == right
    (benchmark,) = certificate(tmp_path)["benchmarks"]
    # The box with an x in it keeps the form, though x is no number.
    assert [(row["kept"], row["by_phrases"]) for row in benchmark["forms"]] == [(3, 0), (3, 1)]
    assert "On sums, 2 of 8 responses do not keep the form asked for" in " ".join(
        certificate(tmp_path)["statements"]
    ) + (tmp_path / "results" / "forms" / "report.html").read_text("utf-8")


def test_pocket_models_are_counted_as_plain_python_counts_them(tmp_path: Path) -> None:
    """Three forms and phrases on models that run here: who keeps the form is counted from the texts alone."""
    pytest.importorskip("torch")
    forms = {
        "line": re.compile(r"Answer: ([ABC])\s*"),
        "letter": re.compile(r"\W*([ABC])\W*"),
        "boxed": re.compile(r".*\\boxed\{([ABC])\}.*", re.DOTALL),
    }
    levels = {"phrases": "", **{form: f'answer = "{form}"' for form in forms}}
    fields = 'query = "ask", options = ["a", "b", "c"], gold = "gold", id = "id"'
    spec = (
        studies.head("forms", studies.pocket(qwen="qwen2", llama="llama"))
        + studies.benchmark("capitals", fields, 'option_order = "file"')
        + '[harness]\nmethod = "extract"\nprompt = "{{ question }}"\nmax_tokens = 12\n'
        + studies.axis("form", levels)
    )
    run(tmp_path, spec)
    counted: dict[tuple[str, str], list[int]] = {}
    with sqlite3.connect(tmp_path / "results" / "forms" / "store.sqlite") as db:
        rows = db.execute(
            """SELECT cell.model, configuration, s.item, score, json_extract(answer, '$.text'),
                      json_extract(answer, '$.finish')
               FROM sample s JOIN cell ON cell.id = s.cell
               JOIN trace t ON t.cell = s.cell AND t.item = s.item JOIN call ON call.id = t.call
               WHERE configuration <> 'form=phrases'"""
        ).fetchall()
    right = {row["id"]: "ABC"[[row["a"], row["b"], row["c"]].index(row["gold"])] for row in ROWS}
    for model, configuration, item, score, text, finish in rows:
        kept = forms[configuration.removeprefix("form=")].fullmatch(text.strip())
        kept = None if finish == "length" and configuration == "form=line" else kept
        sums = counted.setdefault((model, configuration), [0, 0])
        sums[0] += 1
        sums[1] += kept is not None
        assert score == (kept is not None and kept[1] == right[item]), (configuration, text)
    assert sum(kept for _, kept in counted.values()), "some are kept, or nothing is tried"
    (benchmark,) = certificate(tmp_path)["benchmarks"]
    assert {
        (row["model"], row["configuration"]): [row["responses"], row["kept"]] for row in benchmark["forms"]
    } == counted
