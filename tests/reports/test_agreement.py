"""Two scorings of the same responses: which cells are compared, and Cohen's kappa by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.setting import Setting
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.analysis import agreements
from gridc.reports.findings.scores import CellScore, gather_outcomes
from gridc.schema.certificate import AgreementRow
from gridc.schema.spec import Axis
from gridc.statistics.raters import cohen
from tests.reports.builders import held

ONE, OTHER = "101100101011", "100100111010"
"""What two rules make of twelve items."""

READ = Setting("builtin:T1", "extract")
LINE = replace(READ, reader="answer_line")


def axis(name: str, *levels: str) -> Axis:
    named = [{"id": each, "tier": "core", "provenance": "ours"} for each in levels]
    return Axis.model_validate({"id": name, "level": named})


AXES = (axis("template", "T1", "T2"), axis("reader", "last", "line"))


def found(second: Setting = LINE, missing: int = 0) -> list[AgreementRow]:
    """Two readers of the answers to two templates; of the second one's first cell some items are missing."""
    points, readers = (ONE, OTHER, ONE, ONE), {"last": READ, "line": second}
    scores, stored = [], {}
    for number, (template, reader) in enumerate(product(("T1", "T2"), readers)):
        setting = replace(readers[reader], prompt=f"builtin:{template}")
        cell = Cell("m", "b", {"template": template, "reader": reader}, setting)
        first = np.array([int(each) for each in points[number]], dtype=np.int64)
        once = np.ones_like(first)
        scored = once - (np.arange(12) < (missing if number == 1 else 0))
        items = tuple(f"i{place:02}" for place in range(12))
        stored[cell.key] = CellOutcomes(items, once, scored, once, first, first)
        scores.append(CellScore(cell, 12, int(scored.sum()), 12, int(first.sum()), None, cell.key))
    outcomes = gather_outcomes(
        [each.cell for each in scores], stored, held(**dict(zip(items, items, strict=True)))
    )
    return list(agreements(AXES, scores, outcomes))


def test_two_readers_of_the_same_responses_are_compared() -> None:
    (one,) = found()
    assert (one.axis, one.left, one.right, one.configurations) == ("reader", "last", "line", 2)
    pairs = [*zip(ONE, OTHER, strict=True), *zip(ONE, ONE, strict=True)]
    expected = tuple(pairs.count((a, b)) for a, b in product("10", repeat=2))
    assert (one.both, one.left_only, one.right_only, one.neither) == expected
    both, left, right, neither = expected
    rows, columns = (both + left) / 24, (both + right) / 24
    chance = rows * columns + (1 - rows) * (1 - columns)
    assert one.kappa == pytest.approx(((both + neither) / 24 - chance) / (1 - chance))
    assert one.greatest == 1.0
    assert one.least is not None
    assert one.least < 0.8


@pytest.mark.parametrize(
    "other",
    [
        replace(LINE, max_tokens=8),
        replace(LINE, temperature=0.7),
        replace(LINE, shots=2),
        replace(LINE, system="x"),
    ],
)
def test_answers_to_other_calls_are_not_compared(other: Setting) -> None:
    assert found(other) == []


def test_a_stop_string_ends_the_generation_so_the_responses_are_others() -> None:
    assert found(replace(LINE, stop=("\n",))) == []
    assert len(found(replace(LINE, reader="whole_response"))) == 1


def test_rankings_that_differ_in_normalisation_or_ties_send_the_same_calls() -> None:
    ranked = Setting("builtin:T1", "loglikelihood")
    assert ranked.asked == replace(ranked, normalise="char", ties="first").asked
    assert ranked.asked != replace(ranked, normalise="unconditional").asked
    assert ranked.asked != replace(ranked, candidates="letter").asked


def test_incomplete_cells_are_left_out() -> None:
    (one,) = found(missing=1)
    assert one.configurations == 1


def test_rules_that_never_differ_have_no_kappa() -> None:
    assert cohen(np.array([[5, 0], [0, 0]])) is None
    assert cohen(np.array([[0, 0], [0, 5]])) is None
    assert cohen(np.array([[0, 5], [0, 0]])) == pytest.approx(0.0)
    assert cohen(np.array([[5, 3], [0, 0]])) == pytest.approx(0.0)
