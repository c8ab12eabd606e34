"""Whether an arm changes hard items otherwise than easy ones, with difficulty measured on other models.

An item's pass rate under the reference and its change from there are coupled: the same answers are in both,
so that items which passed by chance fall and those which failed rise, in a study without any effect too
(regression to the mean: the rank correlation is then -.3 to -.4 with six models). Here the models are parted:
the pass rate is that of some, the change that of the others, over all ways to part them into halves. Models
err alike on an item, though, and then a chance is on both sides still. So the pass rate is that of both arms
together (Oldham 1962, "A note on the analysis of repeated measurements of the same subjects"): where the arms
of whole units change places in all models at once it stays, and every change turns its sign. Without an
effect the rank correlation is therefore as often above 0 as below, whatever ties the answers of a unit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.digits import digits
from gridc.statistics.resample import LEVEL
from gridc.statistics.unit_bootstrap import Ends
from gridc.statistics.unit_intervals import UnitEstimate, unit_totals
from gridc.statistics.unit_intervals import change as change_of

STRATA = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
"""Of pass rates; the last one has its upper end too."""
SPLITS = 70
"""The most ways in which models are parted: all of eight."""
SWAPS = 99
"""Draws of a study without an effect."""
GROUPS = 40
"""Groups of units that are left out for the interval of a rank correlation."""


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's coefficient; None where one side does not vary."""

    value: float | None
    interval: Ends | None


@dataclass(frozen=True, slots=True)
class DifficultyStratum:
    """The items whose pass rate, on the models of one side, lies in a stratum: how many on average over the
    ways to part the models, and their mean change on the other side."""

    low: float
    high: float
    items: float
    change: UnitEstimate


@dataclass(frozen=True, slots=True)
class DifficultyEffect:
    """The rank correlation of pass rate and change over items: `split` across models, the pass rate over both
    arms; `raw` with the pass rate under the reference and the same answers in both, and what that is on
    average where the arms of whole units are swapped at random, `raw_null`."""

    items: int
    models: int
    splits: int
    split: RankCorrelation
    raw: float | None
    raw_null: float | None
    strata: tuple[DifficultyStratum, ...]


def difficulty_effect(reference: Floats, arm: Floats, units: Whole, seed: int) -> DifficultyEffect | None:
    """From scores of every model on every item under the reference and under the arm, (models, items), and
    the unit of each item. None of fewer than two models."""
    models, items = reference.shape
    if models < 2 or not items:
        return None
    change = arm - reference
    sides = list(_splits(models, seed))
    rates = np.stack([(reference + arm)[side].mean(axis=0) / 2 for side in sides])
    changes = np.stack([change[~side].mean(axis=0) for side in sides])
    raw = spearman(reference.mean(axis=0), change.mean(axis=0))
    random = np.random.default_rng(seed)
    _, own = np.unique(units, return_inverse=True)
    drawn = []
    for _ in range(SWAPS):
        swapped = (random.random(int(own.max()) + 1) < 0.5)[own.ravel()]
        drawn.append(spearman(np.where(swapped, arm, reference).mean(axis=0),
                              np.where(swapped, -change, change).mean(axis=0)))  # fmt: skip
    defined = [value for value in drawn if value is not None]
    return DifficultyEffect(
        items,
        models,
        len(sides),
        _mean_correlation(rates, changes, units, random),
        raw,
        digits(float(np.mean(defined))) if defined else None,
        tuple(_stratum(rates, changes, units, *ends) for ends in STRATA),
    )


def spearman(one: Floats, other: Floats) -> float | None:
    """The rank correlation of two lists, ties with their mean rank."""
    from scipy.stats import rankdata

    ranks = [rankdata(np.round(values, 10)) for values in (one, other)]
    left, right = (rank - rank.mean() for rank in ranks)
    size = float(np.sqrt((left @ left) * (right @ right)))
    return digits(float(left @ right) / size) if size > 0 else None


def _splits(models: int, seed: int) -> Iterator[Flags]:
    """Which models measure the difficulty: about half of them, in all ways or in `SPLITS` that are drawn."""
    sizes = sorted({models // 2, models - models // 2})
    if sum(comb(models, size) for size in sizes) <= SPLITS:
        for size in sizes:
            for chosen in combinations(range(models), size):
                yield np.isin(np.arange(models), chosen)
        return
    random = np.random.default_rng([seed, models])
    for number in range(SPLITS):
        yield random.permutation(models) < sizes[number % len(sizes)]


def _mean_correlation(
    rates: Floats, changes: Floats, units: Whole, random: np.random.Generator
) -> RankCorrelation:
    """The mean over the splits, and its interval by leaving out one group of units after another."""
    from scipy.special import stdtrit

    value = _mean(rates, changes)
    _, own = np.unique(units, return_inverse=True)
    count = int(own.max()) + 1
    groups = min(count, GROUPS)
    if value is None or groups < 20:
        return RankCorrelation(value, None)
    group = (random.permutation(count) % groups)[own.ravel()]
    without = [_mean(rates[:, group != at], changes[:, group != at]) for at in range(groups)]
    if None in without:
        return RankCorrelation(value, None)
    left = np.array(without, dtype=np.float64)
    error = float(np.sqrt((groups - 1) / groups * ((left - left.mean()) ** 2).sum()))
    if error < 1e-12:
        return RankCorrelation(value, None)
    half = float(stdtrit(groups - 1, (1 + LEVEL) / 2)) * error
    return RankCorrelation(value, (digits(max(value - half, -1.0)), digits(min(value + half, 1.0))))


def _mean(rates: Floats, changes: Floats) -> float | None:
    values = [spearman(*sides) for sides in zip(rates, changes, strict=True)]
    defined = [value for value in values if value is not None]
    return digits(float(np.mean(defined))) if defined else None


def _stratum(rates: Floats, changes: Floats, units: Whole, low: float, high: float) -> DifficultyStratum:
    inside = (rates >= low - 1e-9) & ((rates < high - 1e-9) | (high >= 1.0))
    sides = (inside, inside * np.maximum(changes, 0.0), inside * np.maximum(-changes, 0.0))
    totals = unit_totals(units, np.column_stack([side.mean(axis=0) for side in sides]))
    return DifficultyStratum(low, high, float(totals[:, 0].sum()), change_of(totals))
