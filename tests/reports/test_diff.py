"""Differences of two runs: exact counts, tests of the items, and a standard error only where there is one."""

from math import sqrt

import numpy as np
import pytest

from gridc.cli.diff import _cell
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.store_diff import PairedCells, cell_difference, cell_differences, place_of_key

CELL = "m/b/template=T1,decoding=greedy"


def items(*correct: int, trials: int = 1, start: int = 0, missing: int = 0) -> CellOutcomes:
    right, asked = np.array(correct), np.full(len(correct), trials)
    scored = asked - np.array([missing, *[0] * (len(correct) - 1)])
    return CellOutcomes(
        tuple(f"q{start + n}" for n in range(len(correct))), asked, scored, scored, right, right
    )


def test_a_cell_is_compared_item_by_item() -> None:
    found = cell_difference(CELL, items(1, 1, 0, 0, 1), items(1, 0, 0, 0, 0))
    moves = [0, -1, 0, 0, -1]
    mean = sum(moves) / 5
    error = sqrt(sum((each - mean) ** 2 for each in moves) / (5 * 4))
    assert (found.a, found.b, found.items, found.up, found.down) == ((3, 5), (1, 5), 5, 0, 2)
    assert found.difference == pytest.approx(-0.4)
    assert found.standard_error == pytest.approx(error)


def test_replicates_are_shares_of_an_item() -> None:
    found = cell_difference(CELL, items(1, 2, trials=3), items(2, 2, trials=3))
    assert (found.a, found.b) == ((3, 6), (4, 6))
    assert found.difference == pytest.approx(1 / 6)
    assert found.standard_error == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("a", "b"), [(items(1, 0), items(1, 0)), (items(1), items(0)), (items(0, 0), items(1, 1))]
)
def test_no_spread_gives_no_standard_error(a: CellOutcomes, b: CellOutcomes) -> None:
    assert cell_difference(CELL, a, b).standard_error is None


def test_other_items_give_a_difference_without_standard_error() -> None:
    found = cell_difference(CELL, items(1, 0, 1), items(1, 1, 1, start=1))
    assert (found.items, found.up, found.down) == (2, 1, 0)
    assert found.difference == pytest.approx(1 / 3)
    assert found.standard_error is None


def test_an_unfinished_cell_has_no_score() -> None:
    found = cell_difference(CELL, items(0, 1, missing=1), items(1, 0))
    assert (found.a, found.b, found.difference, found.standard_error) == (None, (1, 2), None, None)


def test_a_place_is_read_from_a_key() -> None:
    assert place_of_key("m-1/b.2/template=T1,few_shot=0") == {
        "model": "m-1", "benchmark": "b.2", "template": "T1", "few_shot": "0",
    }  # fmt: skip


def test_cells_are_tested_with_holm_over_all() -> None:
    zeros, ones = items(*[0] * 12), items(*[1] * 12)
    names = ("m/b/x=1,y=1", "m/b/y=1,x=1"), ("m/b/x=2,y=1", "m/b/x=2,y=1")
    same = {name: name for name in ones.items}
    pairs = [PairedCells(names[0], zeros, ones, same), PairedCells(names[1], ones, ones, same)]
    first, second = cell_differences(pairs)
    assert (first.cell, first.up, first.down) == ("m/b/x=1,y=1", 12, 0)
    assert (first.cell_b, second.cell_b) == ("m/b/y=1,x=1", None)
    assert first.p == pytest.approx(2 / 2**12)
    assert first.adjusted == pytest.approx(4 / 2**12)
    assert (second.p, second.adjusted) == (1.0, 1.0)


def test_other_items_and_unfinished_cells_are_not_tested() -> None:
    assert cell_difference(CELL, items(1, 0), items(1, 0, start=1)).p is None
    assert cell_difference(CELL, items(1, 0, missing=1), items(1, 0)).p is None


def test_a_difference_that_rounds_to_nothing_has_no_minus() -> None:
    n = 4000
    told = _cell(cell_difference(CELL, items(*[1] * n), items(0, *[1] * (n - 1))))
    assert "4000/4000 -> 3999/4000, 0.0 pp" in told


def test_items_of_one_unit_count_once() -> None:
    """Six items of two units: the standard error is of the units' sums, the p of the units."""
    a, b = items(1, 1, 1, 1, 1, 1), items(0, 0, 0, 1, 1, 0)
    units = {("b", f"q{number}"): f"u{number // 3}" for number in range(6)}
    alone, together = cell_difference(CELL, a, b), cell_difference(CELL, a, b, units)
    assert (alone.units, together.units) == (None, 2)
    mean = -4 / 6
    sums = [-3 - 3 * mean, -1 - 3 * mean]
    assert together.standard_error == pytest.approx(sqrt(2 / 1 * sum(one**2 for one in sums)) / 6)
    assert alone.p == pytest.approx(2 / 2**4)
    assert together.p is not None and together.p > 0.2
    assert "2 units" in _cell(together)


def test_items_whose_unit_only_one_store_knows_have_it() -> None:
    one = {("b", "q0"): "u", ("b", "q1"): "u"}
    assert cell_difference(CELL, items(1, 1), items(0, 1), one).units == 1
    assert cell_difference(CELL, items(1, 1, 1), items(0, 1, 1), one).units is None
