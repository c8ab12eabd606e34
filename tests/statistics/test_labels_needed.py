"""How many labels a gap needs, against audits that are drawn and corrected."""

import numpy as np
import pytest

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.labelled import LabelledRows, corrected_gap
from gridc.statistics.labels_needed import (
    POWER,
    as_audited,
    chance_of_gap,
    error_found,
    labels_needed,
    with_errors,
)

Pair = tuple[LabelledRows, LabelledRows]


def as_read(rows: int, scores: tuple[float, float], alike: float, unit: int, seed: int) -> Pair:
    """What the machine gives two models on the same items, in units of so many."""
    random = np.random.default_rng(seed)
    hard, same = np.repeat(random.random(rows // unit), unit), random.random(rows) < alike
    one, other = ((np.where(same, hard, random.random(rows)) < score).astype(np.float64) for score in scores)
    nobody, units = np.zeros(rows, np.bool_), np.arange(rows) // unit
    return labelled(one, one, nobody, units), labelled(other, other, nobody, units)


def labelled(earned: Floats, points: Floats, drawn: Flags, units: Whole) -> LabelledRows:
    return LabelledRows(earned.astype(np.int64), earned, units, drawn, points)


def share_found(models: Pair, wrong: float, labels: int, draws: int, seed: int = 5) -> float:
    """How often a corrected gap of the right sign leaves out 0, of audits of so many rows."""
    random, size = np.random.default_rng(seed), len(models[0].said)
    found = 0
    for _ in range(draws):
        drawn = np.zeros(size, np.bool_)
        drawn[random.permutation(size)[:labels]] = True
        one, other = (
            labelled(
                rows.earned,
                np.where(random.random(size) < wrong, 1 - rows.earned, rows.earned),
                drawn,
                rows.units,
            )
            for rows in models
        )
        found += corrected_gap(one.less(other)).new[0] > 0
    return found / draws


WORLDS = [
    (1000, (0.8, 0.65), 0.5, 1, 0.05),
    (1000, (0.8, 0.65), 0.5, 1, 0.2),
    (1000, (0.9, 0.8), 0.8, 1, 0.1),
    (400, (0.7, 0.45), 0.3, 1, 0.1),
    (1000, (0.97, 0.9), 0.5, 1, 0.05),
    (1000, (0.8, 0.55), 0.5, 4, 0.1),
]
"""Rows, scores, how many rows both models find alike, rows of a unit, and the share that is read wrongly."""


def test_so_many_labels_show_the_gap_as_often_as_is_said() -> None:
    models = as_read(400, (0.7, 0.45), 0.3, 1, seed=1)
    needed = labels_needed(with_errors(*models, 0.1))
    assert needed is not None and 50 < needed < 150
    assert share_found(models, 0.1, needed, 100) == pytest.approx(POWER, abs=0.05 + 2 * 0.04)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "scores", "alike", "unit", "wrong"), WORLDS)
def test_they_do_in_every_world(
    rows: int, scores: tuple[float, float], alike: float, unit: int, wrong: float
) -> None:
    models = as_read(rows, scores, alike, unit, seed=1)
    needed = labels_needed(with_errors(*models, wrong))
    assert needed is not None
    assert share_found(models, wrong, needed, 600) == pytest.approx(POWER, abs=0.05 + 2 * 0.016)


def test_errors_are_as_many_as_was_said() -> None:
    one, other = as_read(1000, (0.8, 0.65), 0.5, 1, seed=1)
    world = with_errors(one, other, 0.1)
    gap = float(one.earned.mean() - other.earned.mean())
    assert float(2 * world.points.mean() - 1) == pytest.approx(0.8 * gap, abs=0.005)
    assert float((world.points != world.earned).mean()) == pytest.approx(1 - 0.9**2, abs=0.02)
    assert (with_errors(one, other, 0.0).points == one.less(other).earned).all()


def test_more_errors_and_smaller_gaps_need_more_labels() -> None:
    models = as_read(1000, (0.8, 0.65), 0.5, 1, seed=1)
    few, many = (labels_needed(with_errors(*models, wrong)) for wrong in (0.05, 0.15))
    assert few is not None and many is not None and few < many
    world = with_errors(*models, 0.1)
    chances = [chance_of_gap(world, labels) for labels in (50, 150, 400, 1000)]
    assert chances == sorted(chances)
    alike = as_read(1000, (0.7, 0.69), 0.5, 1, seed=1)
    assert labels_needed(with_errors(*alike, 0.1)) is None
    assert labels_needed(with_errors(*as_read(8, (0.9, 0.1), 0.0, 1, seed=1), 0.0)) in (None, 8)


def test_an_audit_says_how_people_would_label_the_rest() -> None:
    models, random = as_read(1000, (0.8, 0.6), 0.5, 1, seed=2), np.random.default_rng(3)
    drawn = np.zeros(1000, np.bool_)
    drawn[random.permutation(1000)[:300]] = True
    one, other = (
        labelled(rows.earned, np.where(random.random(1000) < 0.1, 1 - rows.earned, rows.earned), drawn,
                 rows.units)
        for rows in models
    )  # fmt: skip
    pair = one.less(other)
    world = as_audited(pair)
    assert world.labelled.all()
    assert float(world.points.mean()) == pytest.approx(pair.value, abs=0.005)
    for rows in pair.strata:
        seen = pair.points[rows[pair.labelled[rows]]]
        assert float(world.points[rows].std()) == pytest.approx(float(seen.std()), abs=0.02)
    shown, assumed = labels_needed(world), labels_needed(with_errors(*models, 0.1))
    assert shown is not None and assumed is not None and assumed / 2 < shown < 2 * assumed


def test_the_least_error_that_labels_find() -> None:
    """Two models that the machine gives the same; one of them earns less than it says."""
    found = error_found(np.arange(400), 100)
    assert found is not None and 0.05 < found < 0.15
    random, hits = np.random.default_rng(8), 0
    for _ in range(60):
        drawn, wrong = np.zeros(400, np.bool_), random.random(400) < found
        drawn[random.permutation(400)[:100]] = True
        right, units = np.ones(400), np.arange(400)
        one, other = (labelled(right, points, drawn, units) for points in (right, right - wrong))
        hits += corrected_gap(one.less(other)).new[0] > 0
    assert hits / 60 == pytest.approx(POWER, abs=0.05 + 2 * 0.052)
    few, alike = error_found(np.arange(40), 40), error_found(np.arange(4), 4)
    assert few is not None and few > found and alike is None
    assert (error_found(np.arange(400) // 4, 100) or 1) > found
