"""Two readings of the same responses: who is compared, and Cohen's kappa by hand."""

from dataclasses import replace

import numpy as np
import pytest

from gridc.compiler.calls import Cell
from gridc.compiler.grid import Setting
from gridc.reports.agreement import agreements, cohen
from gridc.runtime.store import CellOutcomes

ONE, OTHER = "101100101011", "100100111010"
"""What two rules make of twelve items."""


def outcomes(points: str) -> CellOutcomes:
    first = np.array([int(each) for each in points], dtype=np.int64)
    each = np.ones_like(first)
    return CellOutcomes(tuple(f"i{n}" for n in range(len(points))), each, each, each, first, first)


def cell(reader: str, template: str, setting: Setting) -> Cell:
    levels = {"template": template, "reader": reader}
    return Cell("m", "b", levels, setting)


READ = Setting("builtin:T1", "extract")
AXES = {"template": ["T1", "T2"], "reader": ["last", "line"]}


def study(**changes: object) -> tuple[list[Cell], dict[str, CellOutcomes]]:
    """Two readers of the answers to two templates."""
    line = replace(READ, **{"reader": "answer_line", **changes})  # type: ignore[arg-type]
    cells = [
        cell(reader, template, replace(setting, prompt=f"builtin:{template}"))
        for template in ("T1", "T2")
        for reader, setting in (("last", READ), ("line", line))
    ]
    points = [ONE, OTHER, ONE, ONE]
    return cells, {each.key: outcomes(found) for each, found in zip(cells, points, strict=True)}


def test_two_readers_of_the_same_responses_are_compared() -> None:
    cells, stored = study()
    (found,) = agreements(cells, AXES, stored)
    assert (found.axis, found.left, found.right, found.configurations) == ("reader", "last", "line", 2)
    both = sum(a == b == "1" for a, b in zip(ONE, OTHER, strict=True)) + ONE.count("1")
    left = sum((a, b) == ("1", "0") for a, b in zip(ONE, OTHER, strict=True))
    right = sum((a, b) == ("0", "1") for a, b in zip(ONE, OTHER, strict=True))
    assert found.table == (both, left, right, 24 - both - left - right)
    observed = found.agreeing
    rows, columns = (both + left) / 24, (both + right) / 24
    chance = rows * columns + (1 - rows) * (1 - columns)
    assert found.kappa == pytest.approx((observed - chance) / (1 - chance))
    assert found.greatest == 1.0
    assert found.least is not None and found.kappa is not None
    assert found.least < found.kappa


@pytest.mark.parametrize("change", [{"max_tokens": 8}, {"temperature": 0.7}, {"shots": 2}, {"system": "x"}])
def test_answers_to_other_calls_are_not_compared(change: dict[str, object]) -> None:
    cells, stored = study(**change)
    assert not list(agreements(cells, AXES, stored))


def test_rankings_that_differ_in_normalisation_or_ties_send_the_same_calls() -> None:
    ranked = Setting("builtin:T1", "loglikelihood")
    assert ranked.asked == replace(ranked, normalise="char", ties="first").asked
    assert ranked.asked != replace(ranked, normalise="unconditional").asked
    assert ranked.asked != replace(ranked, candidates="letter").asked


def test_incomplete_cells_are_left_out() -> None:
    cells, stored = study()
    some = stored[cells[1].key]
    stored[cells[1].key] = replace(some, scored=some.scored - np.eye(12, dtype=np.int64)[0])
    (found,) = agreements(cells, AXES, stored)
    assert found.configurations == 1


def test_a_rule_that_never_differs_has_no_kappa() -> None:
    assert cohen(np.array([[5, 0], [0, 0]])) is None
    assert cohen(np.array([[5, 3], [0, 0]])) == pytest.approx(0.0)
