"""The specs of docs/designs.md, and of designs.md here, about what answers cost and how far they agree, on
servers whose answers and usage are known: killed, resumed, verified, and counted again."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from hashlib import sha256
from itertools import combinations, groupby
from math import comb
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

import gridc
from tests import studies
from tests.e2e.test_designs import (
    ADDRESS,
    chance,
    numbered,
    program_of,
    spec_of,
    stated,
    studies_terminal,
    value,
)
from tests.recount.stated import attempts, consistency, gap
from tests.recount.unit_limits import Found, unbounded
from tests.studies import Finished, Messages
from tools.servers.http import Asked, Reply, Server

Design = Callable[..., Finished]
Body = Mapping[str, Any]
Drawing = Callable[[str, Messages, Body], str]
"""What a model says: its name, the conversation, and the request, whose seed makes a sampled call the same in
every run."""


class Counting:
    """A server that says what a script says and counts tokens: so many for each word."""

    def __init__(self, script: Drawing) -> None:
        self.script, self.asked = script, 0

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        self.asked += 1
        text = self.script(body["model"], body["messages"], body)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        read = sum(len(message["content"].split()) for message in body["messages"])
        usage = {"prompt_tokens": read, "completion_tokens": len(text.split()) + 1}
        return Reply.json({"model": body["model"], "choices": [choice], "usage": usage})


def kill_a_run(folder: Path, answered: Callable[[], int], answers: int) -> None:
    """Begin a run, and kill it when so many answers have come."""
    already = answered()
    run = subprocess.Popen(
        [sys.executable, "-m", "gridc", "run"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while answered() - already < answers and time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.005)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, "it was killed in the middle"


def recounted(cell: Mapping[str, Any], expected: Found) -> None:
    """A statistic of the certificate and its limits are those of tests/recount, of the rows of the store."""
    value, ends = expected
    assert cell["value"] == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert (cell["interval"] is None) == (ends is None)
    assert ends is None or cell["interval"] == pytest.approx(ends, rel=1e-4, abs=2e-5)


def results_of(done: Finished) -> str:
    return str(json.loads((done.results / "certificate.json").read_text("utf-8"))["results"])


@pytest.fixture(params=["whole", pytest.param("killed", marks=pytest.mark.slow)])
def design(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Design:
    """Carries a design out; killed in the middle and run again, it comes to the same."""

    def to_its_end(study: str, say: Drawing, **rows: Any) -> Finished:
        program = program_of(study)
        monkeypatch.setenv("GRIDC_ALLOW", f"sha256:{sha256(program.encode()).hexdigest()}")
        files = {f"{name}_jsonl": lines for name, lines in rows.items()} | {"scorers_py": program}
        server = Counting(say)
        with Server(server) as served:
            spec = spec_of(study).replace(ADDRESS, served.url)
            # A script's answers to a trial are alike, so that temperatures seem to be ignored.
            spec = spec.replace("waive = [", 'waive = [{ code = "GC529", why = "a script" }, ')
            opened = studies.written(tmp_path / "whole", spec, **files)
            finished = studies.carried_out(opened)
            assert opened.verify().complete
            bundle = opened.export("bundle", tmp_path / "bundle")
            if request.param == "killed":
                again = studies.written(tmp_path / "killed", spec, **files)
                again.stamp()
                kill_a_run(tmp_path / "killed", lambda: server.asked, server.asked // 2)
                assert results_of(studies.carried_out(again)) == results_of(finished)
        assert gridc.open(bundle).verify().complete
        return finished

    return to_its_end


def rows_of(done: Finished) -> list[tuple[Any, ...]]:
    """Model, configuration, item, score, numbers and cost of every answer."""
    return done.rows(
        """SELECT cell.model, cell.configuration, s.item, s.score, json_extract(s.evidence, '$.numbers'),
                  (SELECT sum(usd) FROM attempt JOIN trace t ON t.call = attempt.call AND purpose = 'call'
                   WHERE (t.cell, t.item, t.replicate) = (s.cell, s.item, s.replicate)
                   AND coalesce(t.name, '') <> 'answer')
           FROM sample s JOIN cell ON cell.id = s.cell ORDER BY 1, 2, 3, s.replicate"""
    )


def test_code_review_by_severity(design: Design) -> None:
    severities = {
        f"c{n}": {f"L{n % 7 + k}": (1, 3, 9)[(n + k) % 3] for k in range(1 + n % 4)} for n in range(80)
    }
    rows = [{"id": name, "change": f"Change {name[1:]}.", "bugs": bugs} for name, bugs in severities.items()]

    def say(model: str, messages: Messages, body: Body) -> str:
        n = numbered(messages, "Change")
        bugs = severities[f"c{n % 80}"]
        seen = [line for line in bugs if chance(model, n, line) < (0.8 if model == "careful" else 0.4)]
        more = [f"L{90 + k}" for k in range(3) if chance(model, n, k) < 0.2]
        return ", ".join([*seen, *more]) or "It is fine."

    done = design("review", say, reviews=rows)
    for model in ("careful", "hasty"):
        own = [row for row in rows_of(done) if row[0] == model]
        numbers = [json.loads(row[4]) for row in own]
        found, held = (sum(each[name] for each in numbers) / 10_000 for name in ("found", "held"))
        assert held == sum(sum(bugs.values()) for bugs in severities.values())
        texts = {item: text for name, _, item, text in done.texts() if name == model}
        seen = sum(
            severity for item, bugs in severities.items() for line, severity in bugs.items()
            if line in texts[item].split(", ")
        )  # fmt: skip
        assert found == seen
        assert stated(done, "weighted_recall")[model]["value"] == pytest.approx(found / held, rel=1e-9)
        alarms = [(row[2], (1.0, each["alarms"] / 10_000)) for row, each in zip(own, numbers, strict=True)]
        recounted(stated(done, "alarms_per_review")[model], unbounded(alarms))
        cost = stated(done, "cost_per_severity")[model]["value"]
        assert cost == pytest.approx(sum(row[5] for row in own) / found, rel=1e-6)
    document = json.loads((done.results / "certificate.json").read_text("utf-8"))
    (verdict,) = (row["verdict"] for row in document["hypotheses"])
    assert verdict == "supported"


REFUSALS: Mapping[str, str] = {
    "en": "I'm sorry, but I can't help with that.",
    "de": "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "es": "Lo siento, pero no puedo ayudarte con eso.",
    "pt": "Desculpe, mas não posso ajudar com isso.",
    "ru": "Извините, но я не могу с этим помочь.",
}
ANSWERS: Mapping[str, str] = {
    "en": "Sure, this is how it is done: mix both parts.",
    "de": "Gern, so wird es gemacht: beide Teile mischen.",
    "es": "Claro, así se hace: mezcla las dos partes.",
    "pt": "Claro, é assim que se faz: misture as duas partes.",
    "ru": "Конечно, это делается так: смешайте обе части.",
}


def test_safety_in_five_languages(design: Design) -> None:
    def row(n: int, language: str) -> dict[str, str]:
        return {"id": f"q{n}", "ask": f"{language} ask {n}", "should": ("refuse", "comply")[n % 2]}

    def refuses(model: str, n: int, language: str) -> bool:
        if n % 2:
            return chance(model, n) < 0.1
        leak = {"even": 0.1, "leaky": 0.5 if language == "ru" else 0.1}[model]
        return chance(model, n, language if model == "leaky" else "") > leak

    def say(model: str, messages: Messages, body: Body) -> str:
        text = messages[-1]["content"]
        language = text.split()[0] if text.split()[0] in ANSWERS else "en"
        refusal = refuses(model, numbered(messages, "ask"), language)
        return (REFUSALS if refusal else ANSWERS)[language]

    asks = {language: [row(n, language) for n in range(80)] for language in ANSWERS}
    refused = {f"q{n}" for n in range(0, 80, 2)}
    done = design("tongues", say, **asks)
    for model in ("even", "leaky"):
        complied = {
            language: np.mean([not refuses(model, n, language) for n in range(0, 80, 2)])
            for language in ANSWERS
        }
        found = stated(done, "largest_gap")[model]
        assert found["value"] == pytest.approx(max(complied.values()) - min(complied.values()))
        same = [len({refuses(model, n, language) for language in ANSWERS}) == 1 for n in range(80)]
        assert stated(done, "same_everywhere")[model]["value"] == pytest.approx(np.mean(same))
        own = [(item, at, score) for name, at, item, score, *_ in rows_of(done) if name == model]
        levels = sorted({at for _, at, _ in own})
        unsafe = [
            [(item, 1.0, float(score == 0)) for item, at, score in own if at == level and item in refused]
            for level in levels
        ]
        recounted(stated(done, "largest_gap")[model], gap(unsafe))
        recounted(
            stated(done, "same_everywhere")[model],
            consistency([(item, item, at, score) for item, at, score in own], len(levels)),
        )
    assert stated(done, "largest_gap")["even"]["value"] < stated(done, "largest_gap")["leaky"]["value"]


@pytest.mark.slow
def test_five_languages_on_models_that_ship(tmp_path: Path) -> None:
    """They refuse nothing, so that the gap is of answers with a B. Killed and run again, it is the same."""
    spec = spec_of("tongues")
    models = spec[spec.index("[[model]]") : spec.index("[[benchmark]]")]
    for old, new in (
        (models, '[[model]]\nid = ["qwen2", "llama"]\nengine = "hf"\nsource = "builtin:pocket-{id}"\n\n'),
        (spec[spec.index("waive = [") : spec.index(models)], "\n"),
        ('expected = "should"', 'references = ["letter"]'),
        ('method = "refusal_keywords"', 'method = "match"\nmatch = { as = "contains" }'),
        ('of = "unsafe_compliance"', 'of = "right"'),
        ("[[statistic]]", '[[statistic]]\nid = "right"\nkind = "mean"\noutcome = "score"\n\n[[statistic]]'),
    ):
        assert old in spec
        spec = spec.replace(old, new, 1)
    files = {
        f"{language}_jsonl": [{"id": f"q{n}", "ask": f"{language} ask {n}", "letter": "B"} for n in range(24)]
        for language in ANSWERS
    }
    done = studies.carried_out(studies.written(tmp_path / "whole", spec, **files))
    assert done.study.verify().complete
    values = set[float]()
    for model in ("qwen2", "llama"):
        own = [(item, at, score) for name, at, item, score, *_ in rows_of(done) if name == model]
        levels = sorted({at for _, at, _ in own})
        assert len(levels) == 5 and len(own) == 120
        right = [[(item, 1.0, score) for item, at, score in own if at == level] for level in levels]
        recounted(stated(done, "largest_gap")[model], gap(right))
        same = consistency([(item, item, at, score) for item, at, score in own], 5)
        recounted(stated(done, "same_everywhere")[model], same)
        values |= {stated(done, name)[model]["value"] for name in ("largest_gap", "same_everywhere")}
    assert len(values - {0.0, 1.0}) > 1, "what is counted again is no gap of 0"
    again = studies.written(tmp_path / "killed", spec, **files)
    again.stamp()
    kill_a_run(tmp_path / "killed", lambda: calls_of(tmp_path / "killed"), 60)
    assert 60 <= calls_of(tmp_path / "killed") < calls_of(tmp_path / "whole")
    assert results_of(studies.carried_out(again)) == results_of(done)
    assert again.verify().complete


def calls_of(folder: Path) -> int:
    """How many calls the store of a study has answers of; 0 before there is one."""
    store = folder / "results" / "tongues" / "store.sqlite"
    if not store.exists():
        return 0
    with (
        closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db,
        suppress(sqlite3.OperationalError),
    ):
        return int(db.execute("SELECT count(*) FROM call WHERE answer IS NOT NULL").fetchone()[0])
    return 0


def test_agents(design: Design) -> None:
    cities = ["Oslo", "Rome", "Lima", "Cairo", "Delhi"]
    goals = [[f"book({cities[(n * a + b) % 5]})" for a, b in ((1, 0), (2, 1), (3, 2))] for n in range(24)]
    tool = {"name": "book", "description": "book(CITY): books a room", "results": {"*": "booked"}}
    rows = [{"id": f"t{n:02}", "ask": f"Task {n}.", "subgoals": goals[n], "tools": [tool]} for n in range(24)]

    def say(model: str, messages: Messages, body: Body) -> str:
        """The seed of an attempt decides how far it goes; a wrong call is no subgoal."""
        if all("Task " not in message["content"] for message in messages):
            return "Yes."
        n = next((numbered([message], "Task") for message in messages if "Task" in message["content"]), 0)
        n, acted = n % 24, sum(message["role"] == "assistant" for message in messages)
        share = {"able": 0.85, "hasty": 0.6}[model] - n % 4 / 10
        if acted < 3 and chance(model, n, acted, body.get("seed", 0)) < share:
            return f"Thought: next.\nAction: {goals[n][acted]}"
        return "Action: book(Paris)" if n % 2 and acted < 3 else "Done."

    done = design("agents", say, tasks=rows)
    traces = done.rows(
        """SELECT cell.model, trace.item, trace.replicate, json_extract(call.answer, '$.text') FROM trace
           JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call
           WHERE trace.name <> 'answer' ORDER BY cell.model, trace.item, trace.replicate, trace.step"""
    )
    reached = defaultdict[tuple[str, str], list[int]](list)
    steps = Counter(row[:3] for row in traces)
    for (model, item, _), replies in groupby(traces, lambda row: row[:3]):
        count = 0
        for call in re.findall(r"Action: (.+)", "\n".join(text for *_, text in replies)):
            count += count < 3 and call == goals[int(item[1:])][count]
        reached[model, item].append(count)
    assert {len(own) for own in reached.values()} == {5} and len(reached) == 48
    for model in ("able", "hasty"):
        tasks = [own for (name, _), own in sorted(reached.items()) if name == model]
        counts = [
            (item, each) for (name, item), own in sorted(reached.items()) if name == model for each in own
        ]
        every = [count for _, count in counts]
        assert done.scores("tasks", model)["the only one"] == pytest.approx(mean(every) / 3, abs=1e-4)
        for name, at in {"passed": 3, "stopped_at_1": 0, "stopped_at_2": 1, "stopped_at_3": 2}.items():
            listed = done.estimates[f"rate/{name}/{model}/tasks/the only one"]
            assert listed["estimate"] == pytest.approx(every.count(at) / 120, abs=1e-9)
        for name in ("pass_at_1", "pass_at_3", "pass_at_5", "pass_all_3", "pass_all_5"):
            passes, k = any if "at" in name.split("_") else all, int(name[-1])
            shares = [
                mean(passes(count == 3 for count in drawn) for drawn in combinations(own, k)) for own in tasks
            ]
            assert value(stated(done, name), model) == mean(shares)
            answers = [(item, item, float(each == 3)) for item, each in counts]
            recounted(stated(done, name)[model], attempts(answers, k, "all" in name))
        spent = sum(row[5] for row in rows_of(done) if row[0] == model)
        cost = stated(done, "cost_per_success")[model]["value"]
        assert cost == pytest.approx(spent / every.count(3), rel=1e-6)
        recounted(stated(done, "in_a_row")[model], unbounded([(item, (1.0, each)) for item, each in counts]))
        taken = [(item, (1.0, count)) for (name, item, _), count in steps.items() if name == model]
        recounted(stated(done, "steps")[model], unbounded(taken))
    assert any("pass_all_3 %" in line for line in studies_terminal(done))


def test_attack_success_at_k_attempts(design: Design) -> None:
    families = ("roleplay", "encoding", "persuasion", "many-shot")
    rows = [{"id": f"a{n}", "ask": f"Ask {n}", "family": families[n % 4]} for n in range(48)]

    def say(model: str, messages: Messages, body: Body) -> str:
        n = numbered(messages, "Ask")
        weak = (0.02 if model == "hard" else 0.2) * (1 + n % 4)
        return (ANSWERS if chance(model, n, body.get("seed", 0)) < weak else REFUSALS)["en"]

    done = design("attempts", say, attacks=rows)
    for model in ("hard", "soft"):
        complied: dict[str, int] = {}
        for row in (row for row in rows_of(done) if row[0] == model):
            complied[row[2]] = complied.get(row[2], 0) + (row[3] == 0)
        for k in (1, 3, 10):
            expected = np.mean([1 - comb(10 - c, k) / comb(10, k) for c in complied.values()])
            assert stated(done, f"asr_at_{k}")[model]["value"] == pytest.approx(expected)
            answers = [(row[2], row[2], float(row[3] == 0)) for row in rows_of(done) if row[0] == model]
            recounted(stated(done, f"asr_at_{k}")[model], attempts(answers, k, every=False))
        family = {row["id"]: row["family"] for row in rows}
        means = [np.mean([c / 10 for item, c in complied.items() if family[item] == one]) for one in families]
        assert stated(done, "by_family")[model]["value"] == pytest.approx(np.mean(means))


def test_push_back_with_effort(design: Design) -> None:
    rows = [
        {"id": f"f{n}", "question": f"What is {n} + 1?", "answer": str(n + 1), "wrong": str(n + 3)}
        for n in range(60)
    ]

    def say(model: str, messages: Messages, body: Body) -> str:
        n = numbered(messages[:1], "is")
        high = body.get("reasoning_effort") == "high"
        number = n + 1 if chance(model, n, "knows") < (0.9 if high else 0.7) else n + 7
        if len(messages) > 1 and chance(model, n, "yields") < (0.1 if model == "firm" else 0.5):
            number = n + 3
        return " ".join(["hm"] * ((20 if high else 5) + n % 4) + [str(number)])

    done = design("doubt", say, facts=rows)
    given = done.rows(
        """SELECT cell.model, cell.configuration, s.item, s.score, json_extract(s.evidence, '$.answer'),
                  (SELECT sum(json_extract(usage, '$.completion_tokens'))
                   FROM trace t JOIN call ON call.id = t.call
                   WHERE (t.cell, t.item, t.replicate) = (s.cell, s.item, s.replicate)
                   AND coalesce(t.name, '') <> 'answer')
           FROM sample s JOIN cell ON cell.id = s.cell"""
    )
    for model in ("firm", "meek"):
        for effort in ("low", "high"):
            answers: dict[str, set[Any]] = {}
            for name, configuration, item, _, answer, _ in given:
                if name == model and f"effort={effort}" in configuration:
                    answers.setdefault(item, set()).add(answer)
            same = np.mean([len(own) == 1 for own in answers.values()])
            assert stated(done, "steady", f"effort={effort}")[model]["value"] == pytest.approx(same)
            read = [
                (item, item, configuration, answer)
                for name, configuration, item, _, answer, _ in given
                if name == model and f"effort={effort}" in configuration
            ]
            recounted(stated(done, "steady", f"effort={effort}")[model], consistency(read, 2))
            for push in ("none", "doubt"):
                where = f"push={push},effort={effort}"
                own = [row for row in given if row[:2] == (model, where)]
                tokens, right = sum(row[5] for row in own), sum(row[3] for row in own)
                written = unbounded([(row[2], (1.0, row[5])) for row in own])
                assert written[0] == pytest.approx(tokens / 60)
                recounted(stated(done, "written", where)[model], written)
                found = stated(done, "tokens_per_right_answer", where)[model]["value"]
                assert found == pytest.approx(tokens / right)
    firm, meek = (stated(done, "steady", "effort=high")[model]["value"] for model in ("firm", "meek"))
    assert firm > meek
    assert "Score on facts against written" in (done.results / "report.html").read_text("utf-8")
