"""The configurations that are compared, by trying all; and the corners of an order of models."""

from itertools import combinations

import numpy as np
import pytest

from gridc.reports.findings.standings import most_compared, tie_groups
from gridc.reports.statements.standings import first_words, tie_letters, tied, top_words
from gridc.schema.rows import PlaceRow, StandingsRow


@pytest.mark.parametrize("seed", range(40))
def test_no_other_configurations_give_more_comparisons(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.random((rng.integers(1, 8), rng.integers(1, 7))) < rng.choice([0.2, 0.6, 0.9])
    most = 0
    for size in range(1, held.shape[1] + 1):
        for over in combinations(range(held.shape[1]), size):
            models = int(held[:, over].all(axis=1).sum())
            most = max(most, models * (models - 1) * size)
    over_found, places = most_compared(held)
    assert held[np.ix_(places, over_found)].all()
    assert len(places) * (len(places) - 1) * len(over_found) == most
    assert bool(places) is bool(held.any())


def an_order(models: int, apart: set[tuple[int, int]]) -> StandingsRow:
    """Models m0, m1, ... of which these are told apart, by their places."""
    order = [f"m{place}" for place in range(models)]
    pairs = {(order[a], order[b]) for a, b in apart}
    return StandingsRow.of(
        over=("only",),
        test="mcnemar",
        units=10,
        order=tuple(
            PlaceRow(
                model=model,
                place=place + 1,
                best=1 + sum((other, model) in pairs for other in order),
                worst=models - sum((model, other) in pairs for other in order),
                score=1 - place / 100,
                interval=None,
            )
            for place, model in enumerate(order)
        ),
        neighbours=(),
        tie_groups=tuple(tie_groups(order, pairs)),
        unplaced=(),
        left_out=(),
    )


@pytest.mark.parametrize("seed", range(60))
def test_two_models_share_a_letter_where_and_only_where_they_are_not_told_apart(seed: int) -> None:
    """Whatever pairs are told apart, also where a model between two others is apart from one alone."""
    rng = np.random.default_rng(seed)
    models = int(rng.integers(1, 12))
    every = list(combinations(range(models), 2))
    apart = {pair for pair in every if rng.random() < rng.choice([0.1, 0.5, 0.9])}
    row = an_order(models, apart)
    others = tied(row)
    for a, b in every:
        assert (f"m{b}" in others[f"m{a}"]) is (f"m{a}" in others[f"m{b}"]) is ((a, b) not in apart)
    assert all(len(group) > 1 for group in row.tie_groups)
    assert not any(set(one) < set(other) for one in row.tie_groups for other in row.tie_groups)
    named = tie_letters(row)
    assert [model for model, own in named.items() if not own] == [
        model for model, own in others.items() if not own
    ]


def test_letters_that_follow_each_other_are_a_range_and_go_on_after_z() -> None:
    every = set(combinations(range(40), 2))
    row = an_order(40, {(a, b) for a, b in every if b - a > 4})
    named = tie_letters(row)
    assert (named["m0"], named["m1"], named["m2"], named["m4"]) == ("a", "a, b", "a-c", "a-e")
    assert named["m39"] == "aj" and named["m30"] == "aa-ae"


def test_who_can_be_first_is_said_with_as_many_names_as_are_read() -> None:
    alone = an_order(6, {(0, other) for other in range(1, 6)})
    assert first_words(alone) == "m0 is first, on new items too"
    assert list(top_words(alone)) == [
        "m0 is among the first three, on new items too; 5 others may be too",
    ]
    two = an_order(6, {(a, b) for a in (0, 1) for b in range(2, 6)})
    assert first_words(two) == "m0 or m1 is first: with all 15 pairs tested, these items do not show which"
    none = an_order(6, set())
    assert first_words(none) == "m0 has the best score, and any of 6 models can be first on new items"
    assert list(top_words(none)) == ["which models are among the first three is not shown: 6 models can be"]
    assert list(top_words(an_order(5, set()))) == []
