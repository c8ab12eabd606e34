"""Copies of a question are no new evidence: with every row repeated a study says what it says without.

The studies are drawn: spec and rows are files, answers are those of models that know each question or do not.
"""

import csv
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.curves import curve_findings
from gridc.reports.findings.findings import weighed_findings
from gridc.reports.findings.hypotheses import decisions
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import cell_scores
from gridc.reports.statements.pairs import beyond
from tests.studies import axis, head, pocket, written

MODELS = ("ant", "bee", "cow")
HYPOTHESES = """
[[hypothesis]]
id = "H1"
kind = "ranking"
order = ["ant", "bee"]

[[hypothesis]]
id = "H2"
kind = "difference"
axis = "frame"
level = "exam"
reference = "plain"

[[hypothesis]]
id = "H3"
kind = "noninferiority"
axis = "frame"
level = "exam"
reference = "plain"
side = "greater"
margin = { pp = 10 }

[[fork]]
id = "who"
category = "data"
levels = ["all", "without_ant"]
default = "all"
binds = "analysis.primary"
[fork.choice.without_ant]
where = { model = { not = "ant" } }

[[curve]]
id = "primary"
forks = ["who"]
declared = "ex_ante"

[analysis]
permutations = 99

[sampling]
seed = 7
"""


def spec_of(more: str = "", order: str = "file", warm: bool = False) -> str:
    prompts = {"plain": 'prompt = "{{ question }}"', "exam": 'prompt = "Exam. {{ question }}"'}
    text = head("s", pocket(**dict.fromkeys(MODELS, "qwen2")))
    text += 'harness = { method = "extract", max_tokens = 8 }\n'
    text += (
        '[[benchmark]]\nid = "b"\nloader = "rows"\nsource = "path:items.csv"\ndirection = "higher"\n'
        f'option_order = "{order}"\nloading = {{ gold = "letter", fields = {{ query = "ask", '
        f'options = ["A", "B", "C"], gold = "key", id = "id" }} }}\n{more}\n'
    )
    text += axis("frame", prompts)
    if warm:
        text += axis("decoding", {"warm": "temperature = 0.7\nreplicates = 2"})
    return text + HYPOTHESES


def question(number: int) -> dict[str, str]:
    """Its options are numbers, so that their order tells nothing."""
    return {"ask": f"How much is {number} plus {number}?", "A": f"{2 * number}", "B": f"{2 * number + 1}",
            "C": f"{3 * number + 2}", "key": "A"}  # fmt: skip


def write_rows(folder: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with (folder / "items.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["id", *question(0)])
        table.writeheader()
        table.writerows(rows)


def studied(
    folder: Path,
    rows: Sequence[Mapping[str, str]],
    answers: Mapping[tuple[str, str], Mapping[str, Any]],
    spec: str,
) -> Any:
    """What the report finds, where each model earned so much on each row under each level."""
    folder.mkdir(exist_ok=True)
    write_rows(folder, rows)
    written(folder, spec)
    plan = Plan(compile_spec(folder / "gridcard.toml").study)
    stored = {}
    for cell in plan.cells():
        own = answers[cell.model, cell.levels["frame"]]
        names = tuple(sorted(own))
        trials = np.full(len(names), cell.setting.replicates, np.int64)
        correct = np.array([np.sum(own[name]) for name in names], np.int64)
        first = np.array([np.ravel(own[name])[0] for name in names], np.int64)
        stored[cell.key] = CellOutcomes(names, trials, trials, trials, correct, first)
    samples = Samples(plan, stored)
    (benchmark,), measured = weighed_findings(samples, cell_scores(plan, stored), True, {})
    return benchmark, list(decisions(measured)), curve_findings(samples)


COUNTS = {
    "answers_a",
    "answers_b",
    "unread_a",
    "unread_b",
    "rows",
    "n",
    "items",
    "unit",
    "coarser",
    "held",
    "distinct",
    "trials",
    "scored",
    "parsed",
    "correct",
    "cell",
}
"""What says how many rows there were, or which."""


def said(found: Any) -> Any:
    """What a finding says, as plain values, less what counts rows."""
    if isinstance(found, BaseModel):
        return {key: said(value) for key, value in found if key not in COUNTS}
    if is_dataclass(found) and not isinstance(found, type):
        return {
            each.name: said(getattr(found, each.name)) for each in fields(found) if each.name not in COUNTS
        }
    if isinstance(found, Mapping):
        return {str(key): said(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [said(each) for each in found]
    if isinstance(found, np.ndarray):
        return said(found.tolist())
    return f"{found:.9g}" if isinstance(found, float) else str(found)


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            yield from differences(one.get(key), other.get(key), f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{path}[{number}]")
    elif one != other:
        yield f"{path}: {one} is {other}"


def drawn_study(folder: Path, seed: int) -> None:
    """A study with rows once, and with each row several times, greedy and in the order of the file."""
    dice = random.Random(seed)
    count, repeats = dice.randint(6, 40), dice.randint(2, 6)
    once = [{"id": f"q{number:03}", **question(number)} for number in range(count)]
    blocks = [[{**row, "id": f"{row['id']}-{copy}"} for row in once] for copy in range(repeats)]
    appended = [row for block in blocks for row in block]
    several = appended if dice.random() < 0.5 else sorted(appended, key=lambda row: row["id"])
    rate = {model: dice.choice((0.1, 0.5, 0.9, 1.0)) for model in MODELS}
    answers: dict[tuple[str, str], dict[str, int]] = {}
    for model in MODELS:
        for level in ("plain", "exam"):
            shift = dice.choice((0, 0, 0.2))
            answers[model, level] = {row["id"]: int(dice.random() < rate[model] - shift) for row in once}
    copied = {
        key: {row["id"]: own[row["id"].split("-")[0]] for row in several} for key, own in answers.items()
    }
    spec = spec_of()
    alone = studied(folder / "once", once, answers, spec)
    together = studied(folder / "several", several, copied, spec)
    assert (alone[0].unit, together[0].unit) == ("item", "question")
    assert (together[0].items, together[0].distinct, together[0].units) == (count * repeats, count, count)
    found = list(differences(said(alone), said(together)))
    assert not found, (seed, count, repeats, found[:12])


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_are_repeated_change_no_verdict_no_p_and_no_interval(tmp_path: Path, seed: int) -> None:
    drawn_study(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 200))
def test_rows_that_are_repeated_change_nothing_in_two_hundred_studies(tmp_path: Path, seed: int) -> None:
    drawn_study(tmp_path, seed)


SIZES = {
    "one question in twelve copies": [12] + [1] * 19,
    "some twice": [2] * 8 + [1] * 16,
    "halving": [16, 8, 4, 2, 1] * 4,
    "all alike": [8] * 12,
}


def null_plan(folder: Path, sizes: Sequence[int], order: str, warm: bool) -> Plan:
    rows = [
        {"id": f"q{number:03}-{copy}", **question(number)}
        for number, size in enumerate(sizes)
        for copy in range(size)
    ]
    write_rows(folder, rows)
    written(folder, spec_of(order=order, warm=warm))
    return Plan(compile_spec(folder / "gridcard.toml").study)


def null_world(plan: Plan, dice: np.random.Generator, again: float) -> bool:
    """Whether anything is claimed of three models that are right on half of all questions, on average: one
    knows a question or does not, two guess. Of a copy the answer is that of its question with a chance of
    `again`, and else is drawn anew, as with options in another order."""
    items = [item.id for item in plan.study.items["b"].sampled]
    of = np.array([int(name[1:4]) for name in items])
    knows = dice.random(of.max() + 1) < 0.5
    stored = {}
    for cell in plan.cells():
        times = cell.setting.replicates
        luck = np.where(dice.random((times, len(of))) < again, dice.random((1, of.max() + 1))[:, of],
                        dice.random((times, len(of))))  # fmt: skip
        right = knows[of][None].repeat(times, 0) if cell.model == "ant" else luck < 0.5
        right = right.astype(np.int64)
        trials = np.full(len(of), times, np.int64)
        place = np.argsort(items)
        stored[cell.key] = CellOutcomes(
            tuple(sorted(items)), trials, trials, trials, right.sum(axis=0)[place], right[0][place]
        )
    samples = Samples(plan, stored)
    (benchmark,), measured = weighed_findings(samples, cell_scores(plan, stored), True, {})
    effects = [each for each in decisions(measured) if each.hypothesis.id == "H2"]
    claims = [beyond(pair.evidence) for pair in benchmark.full.pairs]
    return any(claims) or any(each.verdict != "open" for each in effects)


def certified_p(benchmark: Any) -> list[tuple[float, float]]:
    (pairs,) = (row for row in benchmark.tests if (row.a, row.b) == ("ant", "bee"))
    return [(row.p_plus, row.p_minus) for row in pairs.configurations]


def test_one_copy_among_many_questions_costs_no_power(tmp_path: Path) -> None:
    """A published file often has a row twice: the exact test is then that of the others."""
    once = [{"id": f"q{number:03}", **question(number)} for number in range(40)]
    rate = {"ant": 30, "bee": 15, "cow": 20}
    answers = {
        (model, level): {row["id"]: int(place < rate[model]) for place, row in enumerate(once)}
        for model in MODELS
        for level in ("plain", "exam")
    }
    twice = [*once, {**once[3], "id": "q003-1", "ask": f"  {once[3]['ask'].upper()}"}]
    both = {key: {**own, "q003-1": 0} for key, own in answers.items()}
    alone = studied(tmp_path / "once", once, answers, spec_of())
    copied = studied(tmp_path / "twice", twice, both, spec_of())
    assert certified_p(alone[0]) == certified_p(copied[0]) and certified_p(alone[0])[0][0] < 1e-4
    assert {row.test for row in copied[0].tests} == {"mcnemar"}


def test_a_direction_that_all_copies_together_do_not_have_is_not_shown(tmp_path: Path) -> None:
    """First copies alone would say that the ant is ahead, and the scores that the bee is."""
    rows = [{"id": f"q{number:03}-{copy}", **question(number)} for number in range(20) for copy in range(4)]
    rows += [{"id": f"q{number:03}-9", **question(number)} for number in range(3)]
    ahead = {"ant": {"0"}, "bee": {"1", "2"}, "cow": set[str]()}
    answers = {
        (model, level): {row["id"]: int(row["id"][-1] in ahead[model]) for row in rows}
        for model in MODELS
        for level in ("plain", "exam")
    }
    benchmark, *_ = studied(tmp_path, rows, answers, spec_of(order="shuffled:1"))
    assert all(p_plus == 1 for p_plus, _ in certified_p(benchmark))


def test_a_spec_that_takes_copies_as_independent_claims_nothing_of_new_items(tmp_path: Path) -> None:
    rows = [{"id": f"q{number:03}-{copy}", **question(number)} for number in range(12) for copy in range(8)]
    answers = {
        (model, level): {row["id"]: int(model == "ant") for row in rows}
        for model in MODELS
        for level in ("plain", "exam")
    }
    declared = 'unit = "item"'
    benchmark, hypotheses, _ = studied(tmp_path, rows, answers, spec_of(declared))
    assert benchmark.coarser == ("question",) and benchmark.units == 96
    assert [pair.evidence.tier for pair in benchmark.full.pairs] == ["descriptive"] * 3
    assert {each.verdict for each in hypotheses} == {"open"}


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize(("order", "warm", "again"), [
    ("file", False, 1.0), ("shuffled:3", False, 0.6), ("file", True, 0.5),
])  # fmt: skip
def test_copies_certify_nothing_that_is_not_there(
    tmp_path: Path, sizes: str, order: str, warm: bool, again: float
) -> None:
    """Two families of claims at .05 each (pairs; a difference): .10 together, and the simulation's error."""
    plan = null_plan(tmp_path, SIZES[sizes], order, warm)
    dice = np.random.default_rng(11)
    studies = 100
    false = sum(null_world(plan, dice, again) for _ in range(studies))
    print(sizes, order, warm, false, "of", studies)
    assert false / studies <= 0.10 + 2 * (0.1 * 0.9 / studies) ** 0.5
