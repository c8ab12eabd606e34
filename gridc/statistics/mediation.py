"""How, and on which items, an arm has its effect: exposure, mediated effects, difficulty.

Difficulty: whether an arm changes hard items otherwise than easy ones, with difficulty measured on other
models. An item's pass rate under the reference and its change from there are coupled: the same answers are in
both, so that items which passed by chance fall and those which failed rise, in a study without any effect too
(regression to the mean: the rank correlation is then -.3 to -.4 with six models). Here the models are split:
the pass rate is that of some, the change that of the others, over all ways to split them into halves. Models
err alike on an item, though, and then a chance is on both sides still. So the pass rate is that of both arms
together (Oldham 1962, "A note on the analysis of repeated measurements of the same subjects"): where the arms
of whole units change places in all models at once it stays, and every change turns its sign. Without an
effect the rank correlation is therefore as often above 0 as below, whatever ties the answers of a unit.

Exposure: the odds of a bad answer by what its parts were exposed to, from a logit with fixed effects of
groups. The errors are those of the cluster jackknife (`clustered_logit`), by unit, as of every hypothesis;
where the units are too few for them, or those that hold the rarer answers, or the logit is separated, only
the reason stands.

Mediation: how much of an arm's effect goes through something that the arm takes away, such as a task's
options: with D the change of an outcome from the reference to the arm on one item and G the change of the
mediator (here minus the share that is lost, as the reference loses nothing), the model is linear:

    D = direct + slope x G + error,    through = slope x mean G,    direct = mean D - through.

The slope comes from one of two comparisons. *Between arms*: a second arm differs from the first in the
mediator alone, and the slope is that of the difference of both arms' outcomes on the difference of their
mediators, through the origin, item by item; what is assumed is that the arms differ in nothing else and that
what is lost acts alike whatever else the arm does. *Within the arm*: G differs between items, and the slope
is that of D on G within each group (a model); what is assumed besides is that nothing else makes an item both
lose and change, which no data of one arm can show (VanderWeele 2015, ch. 2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, comb, exp

import numpy as np

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.bounded_ratios import bounded_ratio
from gridc.statistics.case_totals import case_table
from gridc.statistics.clustered_logit import (
    FLOOR,
    Jackknife,
    NotEstimable,
    effective_number,
    enough_cases,
    maximum,
)
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import decimals, digits
from gridc.statistics.unit_intervals import (
    Ends,
    UnitEstimate,
    gains_and_losses,
    share,
    share_limits,
    unit_totals,
)
from gridc.statistics.unit_intervals import change as change_of

STRATA = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0))
"""Of pass rates; the last one has its upper end too."""
SPLITS = 70
"""The most ways in which models are parted: all of eight."""
SWAPS = 99
"""Draws of a study without an effect."""
COMBINED = "the least and the most between the limits of the slope and of the share lost, on their ellipse"
ANGLES = np.array([turn(np.linspace(0, 2 * np.pi, 721)) for turn in (np.cos, np.sin)])
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
    """The mean over the splits. Its interval is by leaving out one group of units after another, and reaches
    at least as far as the mean does in 95 % of swaps of whole units, in which no change turns on difficulty:
    where changes are rare the groups know too little of it."""
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
    half = max(float(stdtrit(groups - 1, (1 + LEVEL) / 2)) * error, _by_swaps(rates, changes, own, random))
    # A swap that reaches just as far as the study is no nearer to 0 for its rounding.
    return RankCorrelation(value, (decimals(max(value - half, -1.0)), decimals(min(value + half, 1.0))))


def _by_swaps(rates: Floats, changes: Floats, own: Whole, random: np.random.Generator) -> float:
    """How far from 0 the mean is in `LEVEL` of the swaps of arms of whole units, the study itself being one:
    the pass rates over both arms stay, and changes turn their sign."""
    signs = random.choice([-1.0, 1.0], size=(SWAPS, int(own.max()) + 1))[:, own.ravel()]
    ranked = _centred_ranks(rates)
    reached = [abs(_mean(rates, changes) or 0.0)]
    for turned in signs:
        moved = _centred_ranks(changes * turned)
        sizes = np.sqrt((ranked**2).sum(axis=1) * (moved**2).sum(axis=1))
        varies = sizes > 0
        found = (ranked * moved).sum(axis=1)[varies] / sizes[varies]
        reached.append(abs(float(found.mean())) if len(found) else 0.0)
    return float(np.sort(reached)[ceil(LEVEL * len(reached)) - 1])


def _centred_ranks(values: Floats) -> Floats:
    """The ranks of every row less their mean, ties with their mean rank."""
    from scipy.stats import rankdata

    ranks = rankdata(np.round(values, 10), axis=1)
    centred: Floats = ranks - ranks.mean(axis=1, keepdims=True)
    return centred


def _mean(rates: Floats, changes: Floats) -> float | None:
    values = [spearman(*sides) for sides in zip(rates, changes, strict=True)]
    defined = [value for value in values if value is not None]
    return digits(float(np.mean(defined))) if defined else None


def _stratum(rates: Floats, changes: Floats, units: Whole, low: float, high: float) -> DifficultyStratum:
    inside = (rates >= low - 1e-9) & ((rates < high - 1e-9) | (high >= 1.0))
    sides = (inside, inside * np.maximum(changes, 0.0), inside * np.maximum(-changes, 0.0))
    totals = unit_totals(units, np.column_stack([side.mean(axis=0) for side in sides]))
    return DifficultyStratum(low, high, float(totals[:, 0].sum()), change_of(totals))


@dataclass(frozen=True, slots=True)
class MediatedEffect:
    """The mean change, the part of it that goes through the mediator and the rest, in units of the outcome;
    `lost` is the mean share lost, and `slope` what losing all of it changes. What goes through is None where
    the mediator does not vary in the comparison that the slope comes from."""

    total: UnitEstimate
    lost: UnitEstimate
    slope: UnitEstimate
    through: UnitEstimate
    rest: UnitEstimate


def between_arms(
    change: Floats, lost: Floats, remedied: Floats, still_lost: Floats, units: Whole
) -> MediatedEffect:
    """From rows of one item each, (N,): the change of the outcome from the reference to the arm and the share
    that the arm loses, the same two of the second arm, and the unit."""
    return _effect(change, lost, units, lost - still_lost, remedied, None)


def within_arm(change: Floats, lost: Floats, groups: Whole, units: Whole) -> MediatedEffect:
    """From rows of one item each, (N,): the change of the outcome, the share lost, the group within which
    rows are compared (numbers from 0), and the unit."""
    size = np.maximum(np.bincount(groups), 1)
    typical = (np.bincount(groups, change) / size)[groups]
    return _effect(change, lost, units, lost - (np.bincount(groups, lost) / size)[groups], typical, typical)


def _around(value: float, ends: Ends, turned: Floats) -> Floats:
    """From a value towards its limits, by shares from -1 to 1 of the way."""
    moved: Floats = value + np.where(turned > 0, ends[1] - value, value - ends[0]) * turned
    return moved


def _effect(
    change: Floats, lost: Floats, units: Whole, apart: Floats, other: Floats, fixed: Floats | None
) -> MediatedEffect:
    """The slope of `change` less `other` on `apart`, through the origin; rows (N,). What other ones are could
    be from -1 to 1 as well, unless they are `fixed`.

    What goes through lies between its least and its most on the ellipse that the limits of the slope and of
    the share lost span: were it a sum, these would be MOVER's limits (Zou & Donner 2008), but at a slope near
    0 it hardly changes with the share, and elsewhere it does. The rest is linear in the changes, given what
    was lost, and has the limits of a mean of what each row adds to it.
    """
    squares, moved = apart**2, apart * (change - other)
    ones, middle = np.ones(len(change)), np.zeros(len(change)) if fixed is None else -apart * fixed
    columns = (ones, lost, moved, squares, middle - np.abs(apart), middle + np.abs(apart))
    count, gone, above, below, least, most = unit_totals(units, np.column_stack(columns)).T
    slope = bounded_ratio(above, below, least, most)
    total = change_of(unit_totals(units, gains_and_losses(change)))
    away = share(np.column_stack([count, gone]))
    if slope.value is None or slope.interval is None or away.value is None:
        return MediatedEffect(total, away, slope, slope, slope)
    by, part = slope.value, away.value
    product = _around(by, slope.interval, ANGLES[0]) * _around(part, share_limits(count, gone), ANGLES[1])
    ends = digits(float(product.min())), digits(float(product.max()))
    weight = float(lost.sum() / squares.sum())
    known = -by * (lost - weight * squares)
    own = change * (1 - weight * apart) + weight * apart * other + known
    known = known - weight * middle
    reach = np.abs(1 - weight * apart) + (weight * np.abs(apart) if fixed is None else 0.0)
    parts = np.column_stack([own, ones, known - reach, known + reach])
    rest = bounded_ratio(*unit_totals(units, parts).T)
    effective = min(slope.effective, rest.effective)
    through = UnitEstimate(digits(by * part), ends, rest.units, effective, "", COMBINED)
    return MediatedEffect(total, away, slope, through, replace(rest, effective=effective))


@dataclass(frozen=True, slots=True)
class ExposureOdds:
    """The odds ratio of a bad answer for one more of an exposure, the others and the group held; `problem`
    says why there is none, or no interval."""

    exposure: str
    ratio: float | None
    interval: Ends | None
    p: float | None
    problem: str


def exposure_odds(
    names: Sequence[str], exposures: Floats, bad: Floats, groups: Whole, units: Whole
) -> tuple[ExposureOdds, ...]:
    """From rows, (N,): the exposures (N, K), how bad the answer is (0 to 1), the group and the unit. An
    exposure that never varies has no odds."""
    varies = [len(np.unique(column)) > 1 for column in exposures.T]
    dummies = (groups[:, None] == np.arange(int(groups.max(initial=-1)) + 1)).astype(np.float64)
    patterns, pattern = np.unique(np.hstack([exposures[:, varies], dummies]), axis=0, return_inverse=True)
    table = case_table(units, pattern.ravel(), bad, len(patterns))
    problem, fitted, rare = "", None, _rarer(bad, units)
    try:
        fitted = Jackknife(patterns, table, maximum(patterns, table)) if any(varies) else None
    except NotEstimable as error:
        problem = str(error)
    found, column = [], 0
    for name, varied in zip(names, varies, strict=True):
        if not varied:
            found.append(ExposureOdds(name, None, None, None, "it never varies"))
        elif fitted is None:
            found.append(ExposureOdds(name, None, None, None, problem))
        else:
            found.append(_odds(name, fitted, column, patterns.shape[1], rare))
        column += varied
    return tuple(found)


def _rarer(bad: Floats, units: Whole) -> float:
    """How many units of one size would hold as much of good or of bad answers, whichever are in fewer."""
    held = unit_totals(units, np.column_stack([bad, 1 - bad])).T
    return min(effective_number(own) if own.any() else 0.0 for own in held)


def _odds(name: str, fitted: Jackknife, column: int, width: int, rare: float) -> ExposureOdds:
    """Without an interval where `rare`, how many units hold the rarer answers, is small: how these vary
    decides the error, and a sample of few does not show it."""
    ratio = exp(float(fitted.coefficients[column]))
    try:
        tested = fitted.combination(np.eye(width)[column])
    except NotEstimable as error:
        return ExposureOdds(name, ratio, None, None, str(error))
    if not tested.spread.enough:
        problem = (
            f"{tested.spread.effective:.1f} units of one size would tell as much: too few for an interval"
        )
        return ExposureOdds(name, ratio, None, None, problem)
    if not enough_cases(rare):
        problem = f"{rare:.1f} units hold the rarer answers, and limits of odds need {FLOOR:g}"
        return ExposureOdds(name, ratio, None, None, problem)
    return ExposureOdds(name, ratio, (exp(tested.low), exp(tested.high)), tested.p, "")
