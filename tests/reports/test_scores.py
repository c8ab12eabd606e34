"""Cell scores: exact means, who counts in the denominator, and the clustered standard error."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import StoreError
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.scores import CellScore, cell_scores, standard_error, unit_number_of_items

EXTRACT = Cell("m", "b", {"template": "T1"}, Setting(prompt="p", method="extract"))
RANKING = Cell("m", "b", {"template": "T1"}, Setting(prompt="p", method="loglikelihood"))


class Counts(NamedTuple):
    """One item's replicates in a cell, as counts."""

    trials: int
    scored: int
    parsed: int
    correct: int


def stored(items: Mapping[str, Counts]) -> CellOutcomes:
    """What the store gives of a cell, the items sorted as it sorts them."""
    names = tuple(sorted(items))
    trials, scored, parsed, correct = np.array([items[name] for name in names], dtype=np.int64).T
    return CellOutcomes(names, trials, scored, parsed, correct, np.zeros(len(names), dtype=np.int64))


def scored(items: Mapping[str, Counts], cell: Cell = EXTRACT, families: bool = False) -> CellScore:
    """The score of one cell of a plan that asks these items, from a store that holds them."""
    units = {name: name[0] if families else name for name in items}
    replicates = max(each.trials for each in items.values())
    asked = replace(cell, setting=replace(cell.setting, replicates=replicates))
    plan = SimpleNamespace(
        stamp="s",
        study=SimpleNamespace(items={"b": SimpleNamespace(units=units)}),
        cells=lambda: iter([asked]),
    )
    (only,) = cell_scores(cast(Plan, plan), {asked.key: stored(items)})
    return only


def outcomes(trials: int, correct: int, parsed: int | None = None, scored: int | None = None) -> Counts:
    done = trials if scored is None else scored
    return Counts(trials=trials, scored=done, parsed=done if parsed is None else parsed, correct=correct)


def error_of(values: Mapping[str, Fraction], families: Mapping[str, str]) -> float | None:
    """The standard error of item means, put on 60 replicates so that all are whole."""
    names = tuple(values)
    correct = np.array([int(values[name] * 60) for name in names])
    return standard_error(correct, 60, unit_number_of_items(names, families))


def test_a_score_is_the_exact_share_of_gold_answers() -> None:
    found = scored({"a": outcomes(3, 1), "b": outcomes(3, 3), "c": outcomes(3, 0)})
    assert found.score == Fraction(4, 9)
    assert (found.trials, found.scored, found.parsed, found.correct) == (9, 9, 9, 4)


def test_unreadable_answers_stay_in_the_denominator() -> None:
    found = scored({"a": outcomes(1, 1), "b": outcomes(1, 0, parsed=0)})
    assert found.score == Fraction(1, 2)
    assert found.parse_rate == Fraction(1, 2)


def test_a_ranking_has_no_parse_rate() -> None:
    found = scored({"a": outcomes(1, 1), "b": outcomes(1, 0)}, RANKING)
    assert found.parse_rate is None
    assert found.score == Fraction(1, 2)


def test_one_missing_sample_leaves_a_cell_without_score_rate_and_error() -> None:
    found = scored({"a": outcomes(2, 1), "b": outcomes(2, 1, scored=1)})
    assert not found.complete
    assert (found.score, found.parse_rate, found.standard_error) == (None, None, None)


def test_the_digest_of_the_rows_moves_with_every_count_and_not_with_their_order() -> None:
    items = {"a": outcomes(2, 1), "b": outcomes(2, 2, parsed=2)}
    digest = scored(items).rows
    assert digest == scored(dict(reversed(items.items()))).rows
    changed = [
        {**items, "b": items["b"]._replace(correct=1)},
        {**items, "b": items["b"]._replace(parsed=1)},
        {**items, "a": items["a"]._replace(scored=1)},
        {**items, "b": items["b"]._replace(trials=3)},
        {"a": items["b"], "b": items["a"]},
        {"a": items["a"], "c": items["b"]},
    ]
    digests = {digest, scored(items, RANKING_ELSEWHERE).rows, *(scored(each).rows for each in changed)}
    assert len(digests) == len(changed) + 2


RANKING_ELSEWHERE = replace(EXTRACT, levels={"template": "T2"})


def test_a_store_without_the_cell_is_refused() -> None:
    plan: Any = SimpleNamespace(stamp="s", study=SimpleNamespace(items={}), cells=lambda: iter([EXTRACT]))
    with pytest.raises(StoreError, match="another plan"):
        cell_scores(plan, {})


ONE, NONE = Fraction(1), Fraction(0)


def test_the_standard_error_of_single_items_is_the_textbook_one() -> None:
    values = {"a": ONE, "b": NONE, "c": ONE, "d": ONE}
    expected = sqrt(sum((x - 0.75) ** 2 for x in map(float, values.values())) / 3) / sqrt(4)
    assert error_of(values, {name: name for name in values}) == pytest.approx(expected)


def test_two_families_of_copies_count_as_two_observations() -> None:
    values = {"a1": ONE, "a2": ONE, "a3": ONE, "b1": NONE, "b2": NONE, "b3": NONE}
    clustered = error_of(values, {name: name[0] for name in values})
    two = error_of({"a": ONE, "b": NONE}, {"a": "a", "b": "b"})
    assert clustered == pytest.approx(two)
    assert clustered == pytest.approx(0.5)


@pytest.mark.parametrize("values", [{"a": ONE}, {"a1": ONE, "a2": NONE}])
def test_a_single_family_has_no_standard_error(values: dict[str, Fraction]) -> None:
    assert error_of(values, {name: name[0] for name in values}) is None


def test_the_families_of_the_items_reach_the_standard_error_of_a_cell() -> None:
    items = {"a1": outcomes(1, 1), "a2": outcomes(1, 1), "b1": outcomes(1, 0), "b2": outcomes(1, 0)}
    assert scored(items, families=True).standard_error == pytest.approx(0.5)
    assert scored(items).standard_error == pytest.approx(sqrt(1 / 3) / 2)


def test_replicates_enter_the_standard_error_as_their_mean() -> None:
    found = scored({"a": outcomes(4, 3), "b": outcomes(4, 1)})
    assert found.standard_error == pytest.approx(
        error_of({"a": Fraction(3, 4), "b": Fraction(1, 4)}, {"a": "a", "b": "b"})
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.fractions(0, 1, max_denominator=4)), min_size=2, max_size=20))
def test_the_clustered_standard_error_is_the_double_sum_over_each_family(
    rows: list[tuple[int, Fraction]],
) -> None:
    values = {f"i{n}": value for n, (_, value) in enumerate(rows)}
    families = {f"i{n}": str(family) for n, (family, _) in enumerate(rows)}
    found = error_of(values, families)
    groups = len(set(families.values()))
    mean = sum(values.values()) / len(values)
    within = sum(
        (values[i] - mean) * (values[j] - mean) for i in values for j in values if families[i] == families[j]
    )
    if groups < 2 or within == 0:
        assert found is None
        return
    expected = sqrt(within * groups / (groups - 1)) / len(values)
    assert found == pytest.approx(expected)


def test_families_that_all_score_alike_have_no_standard_error() -> None:
    """An answer that is always "unknown" is right on exactly half of every BBQ family."""
    values = {f"{family}{number}": Fraction(number % 2) for family in "abc" for number in range(4)}
    assert error_of(values, {name: name[0] for name in values}) is None


def test_the_standard_error_of_parts_of_a_point_needs_more_than_64_bits() -> None:
    """12,032 items whose scores are millionths: sums of squares of whole numbers beyond 2^63."""
    rng = np.random.default_rng(6)
    points = rng.integers(0, 1_000_001, 12_032)
    found = standard_error(points, 1_000_000, np.arange(len(points)))
    assert found == pytest.approx(np.std(points / 1e6, ddof=1) / np.sqrt(len(points)))
