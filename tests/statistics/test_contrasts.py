"""Paired differences by axis level, and item subsets."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gridc.reports.findings.analysis import robustness, stratified
from gridc.reports.findings.scores import Outcomes, sum_units
from gridc.statistics.envelope import Direction
from gridc.statistics.paired_runs import by_level, pair_levels, pair_stores, summarise_differences


def cell(model: str, precision: str, template: str, score: str) -> tuple[dict[str, str], Fraction]:
    return {"model": model, "precision": precision, "template": template}, Fraction(score)


CELLS = [
    cell("a", "nf4", "T1", "0.7"), cell("a", "bf16", "T1", "0.5"),
    cell("b", "nf4", "T1", "0.6"), cell("b", "bf16", "T1", "0.6"),
    cell("a", "nf4", "T2", "0.2"), cell("a", "bf16", "T2", "0.3"),
    cell("b", "nf4", "T2", "0.1"),
]  # fmt: skip


def test_cells_are_paired_when_all_else_agrees_and_subtracted_exactly() -> None:
    found = pair_levels(CELLS, "precision", "nf4", "bf16")
    assert [float(each.delta) for each in found.deltas] == [-0.2, 0.0, 0.1]
    assert found.only_before == ({"model": "b", "template": "T2"},)
    assert found.only_after == ()


def test_a_summary_has_the_sample_standard_deviation() -> None:
    found = summarise_differences([Fraction(-1, 5), Fraction(0), Fraction(1, 10)])
    assert found.n == 3
    assert found.mean == pytest.approx(-1 / 30)
    assert found.sd == pytest.approx(np.std([-0.2, 0, 0.1], ddof=1))
    assert found.mean_absolute == pytest.approx(0.1)
    assert found.median_absolute == 0.1
    assert found.max_absolute == 0.2
    assert summarise_differences([Fraction(1)]).sd is None
    with pytest.raises(ValueError, match="no differences"):
        summarise_differences([])


def test_levels_partition_the_pairs_of_every_axis_that_varies() -> None:
    rows = by_level(pair_levels(CELLS, "precision", "nf4", "bf16").deltas)
    assert [(row.axis, row.level, row.summary.n) for row in rows] == [
        ("model", "a", 2), ("model", "b", 1), ("template", "T1", 2), ("template", "T2", 1),
    ]  # fmt: skip


def test_stores_are_paired_by_place_whatever_the_order_of_axes() -> None:
    before = [({"model": "m", "benchmark": "b", "x": "1", "y": "2"}, Fraction(1, 2))]
    after = [({"y": "2", "x": "1", "benchmark": "b", "model": "m"}, Fraction(3, 4))]
    found = pair_stores(before, after)
    assert [each.delta for each in found.deltas] == [Fraction(1, 4)]


def outcomes(correct: np.ndarray[Any, Any], units: list[int]) -> Outcomes:
    models, configurations, items = correct.shape
    return Outcomes(
        tuple("abc"[:models]), tuple(f"c{n}" for n in range(configurations)),
        tuple({"x": str(n)} for n in range(configurations)), np.zeros(configurations, dtype=np.bool_),
        tuple(f"q{n}" for n in range(items)), np.array(units), np.ones(configurations, dtype=np.int64),
        correct, correct, np.ones((models, configurations), dtype=np.bool_),
        np.ones((configurations, items), dtype=np.bool_),
    )  # fmt: skip


def test_a_subset_takes_its_share_of_every_stratum_by_whole_families() -> None:
    units = np.repeat(np.arange(30), 4)
    strata = ["x" if unit < 10 else "y" for unit in units]
    chosen = stratified(units, strata, 0.8, 43)
    kept = set(units[chosen].tolist())
    assert len(chosen) == 4 * len(kept)
    assert sum(unit < 10 for unit in kept) == 8
    assert sum(unit >= 10 for unit in kept) == 16
    assert not np.array_equal(chosen, stratified(units, strata, 0.8, 44))
    with pytest.raises(ValueError, match="a share"):
        stratified(units, strata, 0.0, 1)


def test_robustness_counts_subsets_that_keep_the_order_and_ranges_are_exact() -> None:
    correct = np.array([[[1, 1, 0, 0]], [[1, 0, 0, 0]]])
    (found,) = robustness(
        outcomes(correct, [0, 1, 2, 3]), ["c0"], [np.array([0, 1]), np.array([0, 2])], Direction()
    )
    assert found.full == (("a",), ("b",))
    assert found.orders == ((("a",), ("b",)), (("a", "b"),))
    assert found.kept == 1
    assert found.ranges == {"a": Fraction(1, 2), "b": Fraction(0)}


def test_units_are_summed_wherever_their_items_stand() -> None:
    by_item = np.array([[1, 2, 3, 4], [10, 20, 30, 40]])
    assert sum_units(by_item, np.array([0, 1, 0, 1])).tolist() == [[4, 6], [40, 60]]
    assert sum_units(by_item, np.arange(4)) is by_item
