"""Designs of five fields and a pair of talks, as the docs have them, whose models are scripts: whoever is
right earns exactly that, and what errs in a known way differs by what it should."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests import studies
from tests.studies import Finished, Messages, Script, Scripted
from tools.servers.http import Server

HEAD = studies.head("design", studies.behind("URL", "sound", "errs"), waived="GC507")


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Finished]:
    def to_its_end(
        spec: str, rows: Sequence[Any], say: Script, program: str = "", **files: Sequence[Any]
    ) -> Finished:
        monkeypatch.setenv("GRIDC_ALLOW", f"sha256:{sha256(program.encode()).hexdigest()}")
        scripted = Scripted(say)
        with Server(scripted) as server:
            spec = (HEAD + spec).replace("URL", server.url)
            study = studies.written(tmp_path, spec, rows, scorers_py=program, **files)
            assert studies.carried_out(study).study.verify().complete
        return Finished(study, scripted.prompts())

    return to_its_end


Design = Callable[..., Finished]


def only(scores: Mapping[str, float]) -> float:
    (score,) = scores.values()
    return score


def rate(done: Finished, benchmark: str, name: str, model: str) -> Any:
    """An outcome of a model, as the certificate prints it."""
    shown = done.rate(name, benchmark)[model]
    return pytest.approx(only({where: found["value"] for where, found in shown.items()}))


FIELDS = 'id = "id", query = "case", references = ["level"], extra = ["level"]'
TRIAGE = (
    studies.benchmark("triage", FIELDS, direction="lower_is_better")  # a cost
    + """
[harness]
prompt = "{{ question }} One of: home, clinic, emergency."
method = "scorer"
scorer = { function = "python:scorers.py:cost", score = "cost" }

[[outcome]]
id = "too_low"
benchmark = "triage"
number = "too_low"
"""
)
COST = """
LEVELS = ["home", "clinic", "emergency"]


def cost(item, response):
    named = [level for level in LEVELS if level in response]
    if len(named) != 1:
        return None
    steps = LEVELS.index(named[0]) - LEVELS.index(item["extra"]["level"])
    return {"cost": -steps / 2 if steps < 0 else steps / 8, "too_low": steps < 0}


def cost_responders(item):  # `worst` earns 0, which is the best of a cost
    level = item["extra"]["level"]
    return {"worst": level, "perfect": "home"} if level == "emergency" else {"worst": level}
"""


def test_triage_where_too_low_costs_four_times_too_high(design: Design) -> None:
    levels = ("home", "clinic", "emergency")
    rows = [{"id": f"c{n}", "case": f"Case {n}.", "level": levels[n % 3]} for n in range(24)]

    def say(model: str, messages: Messages) -> str:
        found = re.search(r"Case (\d+)\.", messages[-1]["content"])
        number = int(found[1]) if found else 0
        return levels[number % 3 if model == "sound" else 1]  # `errs` sends everybody to the clinic

    done = design(TRIAGE, rows, say, COST)
    assert only(done.scores("triage", "sound")) == 0
    assert only(done.scores("triage", "errs")) == pytest.approx((8 * (1 / 8) + 8 * (1 / 2)) / 24, abs=1e-4)
    assert rate(done, "triage", "too_low", "errs") == 8 / 24


HOLDINGS = (
    studies.benchmark("holdings", 'id = "id", query = "facts", extra = ["holding", "authorities"]')
    + """
[harness]
prompt = "{{ question }}\\nGive the holding, A or B, and a case in square brackets."
method = "scorer"
max_tokens = 64
scorer = { function = "python:scorers.py:cited", score = "both" }

[[outcome]]
id = "holding"
benchmark = "holdings"
number = "holding"

[[outcome]]
id = "invented"
benchmark = "holdings"
number = "invented"
"""
)
CITED = """
import re


def cited(item, response):
    held = re.search(r"\\b([AB])\\b", response)
    if held is None:
        return None
    cases = re.findall(r"\\[(.+?)\\]", response)
    known = [case for case in cases if case in item["extra"]["authorities"]]
    right = held[1] == item["extra"]["holding"]
    return {"holding": right, "both": right and bool(known), "invented": len(cases) > len(known)}


def cited_responders(item):
    return {"perfect": f'{item["extra"]["holding"]} [{item["extra"]["authorities"][0]}]', "worst": "C"}
"""


def test_holdings_count_with_a_case_that_exists(design: Design) -> None:
    rows = [
        {"id": f"h{n}", "facts": f"Facts {n}.", "holding": "AB"[n % 2], "authorities": [f"Roe v. Doe {n}"]}
        for n in range(24)
    ]

    def say(model: str, messages: Messages) -> str:
        found = re.search(r"Facts (\d+)\.", messages[-1]["content"])
        number = int(found[1]) if found else 0
        invents = model == "errs" and number % 4 == 0
        return f"{'AB'[number % 2]}, as in [{'Poe v. Noe' if invents else f'Roe v. Doe {number}'}]."

    done = design(HOLDINGS, rows, say, CITED)
    assert only(done.scores("holdings", "sound")) == 1
    assert only(done.scores("holdings", "errs")) == 18 / 24
    assert rate(done, "holdings", "holding", "errs") == 1
    assert rate(done, "holdings", "invented", "errs") == 6 / 24


REVIEW = """
[[benchmark]]
id = "review"
loader = "rows"
source = "path:items.jsonl"
direction = "higher_is_better"
option_order = "file"

[benchmark.loading.fields]
id = "id"
query = { constant = "Does this change go in?" }
context = "diff"
options = { constant = ["approve", "request changes"] }
gold = { column = "kind", map = { clean = "approve", buggy = "request changes" } }
tags = ["kind"]

[harness]
prompt = "builtin:T1"
method = "extract"

[[outcome]]
id = "bugs_seen"
benchmark = "review"
items = { kind = "buggy" }
scores = { right = 1, other = 0 }

[[outcome]]
id = "false_alarms"
benchmark = "review"
items = { kind = "clean" }
scores = { right = 0, other = 1 }
"""


def test_reviews_have_bugs_seen_and_false_alarms(design: Design) -> None:
    rows = [{"id": f"r{n}", "diff": f"Change {n}.", "kind": ("clean", "buggy")[n % 2]} for n in range(24)]

    def say(model: str, messages: Messages) -> str:
        found = re.search(r"Change (\d+)\.", messages[-1]["content"])
        number = int(found[1]) if found else 0
        objects = number % 2 == 1 or (model == "errs" and number % 6 == 0)
        return f"Answer: {'B' if objects else 'A'}"

    done = design(REVIEW, rows, say)
    assert only(done.scores("review", "sound")) == 1
    assert only(done.scores("review", "errs")) == 20 / 24
    assert rate(done, "review", "bugs_seen", "errs") == 1
    assert rate(done, "review", "false_alarms", "errs") == 4 / 12


WORDS = 'id = "id", query = "case", options = { constant = ["grant", "refuse"] }, gold = "right"'
TWINS = (
    studies.benchmark(
        "loans", WORDS, 'option_order = "file"', 'variants = [{ id = "she", source = "path:she.jsonl" }]'
    )
    + studies.axis("person", {"he": "", "she": 'variant = "she"'})
    + """
[harness]
prompt = "builtin:T1"
method = "extract"

[[hypothesis]]
id = "same"
each = "model"
kind = "difference"
axis = "person"
level = "she"
reference = "he"
side = "less"

[analysis]
estimator = "cluster_logit"
"""
)


def test_cases_that_differ_in_a_word_are_answered_alike(design: Design) -> None:
    """Counterfactual fairness: how many answers change where only the person does."""
    he, she = (
        [
            {"id": f"k{n}", "case": f"{who} asks for loan {n}.", "right": ("grant", "refuse")[n % 2]}
            for n in range(24)
        ]
        for who in ("He", "She")
    )

    def say(model: str, messages: Messages) -> str:
        found = re.search(r"(He|She) asks for loan (\d+)\.", messages[-1]["content"])
        if found is None:
            return "A"
        turned = model == "errs" and found[1] == "She" and int(found[2]) % 4 == 0
        return f"Answer: {'AB'[turned or int(found[2]) % 2]}"

    done = design(TWINS, he, say, she_jsonl=she)
    assert set(done.scores("loans", "sound").values()) == {1}
    assert done.scores("loans", "errs") == {"person=he": 1, "person=she": 18 / 24}
    estimates = done.estimates
    assert estimates["hypothesis/same.errs/she/answer_changes"]["estimate"] == pytest.approx(6 / 24)
    assert estimates["hypothesis/same.sound/she/answer_changes"]["estimate"] == 0
    texts = {(model, place, item): text for model, place, item, text in done.texts()}
    changed = sum(
        texts["errs", "person=he", f"k{n}"] != texts["errs", "person=she", f"k{n}"] for n in range(24)
    )
    assert changed == 6


TURNS = (
    studies.benchmark("lessons", 'id = "id", turns = "turns", extra = ["solution"]')
    + """
[harness]
prompt = "{{ question }}"
method = "judge"
scaffold = { kind = "turns" }
JUDGED
"""
)
TUTOR = """scores = { guides = 1, tells = 0 }

[judge]
source = "judge"
base_url = "URL"
rubric = "Does the tutor guide, or tell the solution {{ extra.solution }}?"
labels = ["guides", "tells"]
"""
PAIRS = """
[judge]
source = "judge"
base_url = "URL"
rubric = "Whose last answer is better?"
compares = { against = "sound", swap = true }
"""
LESSONS = [
    {"id": f"l{n}", "turns": [f"What is {n} + {n}?", "I am stuck."], "solution": f"= {2 * n}"}
    for n in range(24)
]


def tells(number: int) -> bool:
    return number % 3 == 0


def tutor(model: str, messages: Messages) -> str:
    found = re.search(r"What is (\d+) \+", messages[0]["content"])
    if found is None:
        return "Yes."
    number = int(found[1])
    gives_in = model == "errs" and len(messages) > 1 and tells(number)
    return f"It is = {2 * number}" if gives_in else f"Try to count on from {number}."


def test_a_tutor_is_judged_by_the_whole_talk(design: Design) -> None:
    def say(model: str, messages: Messages) -> str:
        if model != "judge":
            return tutor(model, messages)
        talk = messages[0]["content"].partition("<response")[2]
        return json.dumps({"label": "tells" if "It is =" in talk else "guides", "reason": "a script"})

    done = design(TURNS.replace("JUDGED", TUTOR), LESSONS, say)
    assert only(done.scores("lessons", "sound")) == 1
    assert only(done.scores("lessons", "errs")) == sum(not tells(n) for n in range(24)) / 24


def test_second_turns_are_compared_in_pairs(design: Design) -> None:
    """MT-Bench's pairs on its second turn: the judge sees both talks, in both orders."""

    def say(model: str, messages: Messages) -> str:
        if model != "judge":
            return tutor(model, messages)
        first, _, second = messages[0]["content"].partition("<response B ")
        worse = ["It is =" in part for part in (first.partition("<response A ")[2], second)]
        label = "tie" if worse[0] == worse[1] else "BA"[worse[1]]
        return json.dumps({"label": label, "reason": "a script"})

    done = design(TURNS.replace("JUDGED", PAIRS), LESSONS, say)
    lost = sum(map(tells, range(24)))
    assert only(done.scores("lessons", "sound")) == 0.5, "with itself it is a tie"
    assert only(done.scores("lessons", "errs")) == (24 - lost) * 0.5 / 24
    asked = [prompt for prompt in done.prompts if "<response A" in prompt]
    assert asked and all(prompt.count("I am stuck.") == 2 for prompt in asked), "both talks have two turns"
    assert done.rows("SELECT count(DISTINCT item) FROM sample WHERE score = 0") == [(lost,)]
