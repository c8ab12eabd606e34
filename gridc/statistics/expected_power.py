"""Power of the tests that decide, known before any data exist.

What the assumptions expect is written down as the totals of a study (`CaseTotals`) and handed to the
functions that decide: their estimate is then the assumed effect, and their covariance the expected one, with
what pairing, several answers to one unit, benchmarks of different sizes and several levels do to it. Wald's
chi-squared of these totals is the noncentrality of the test (Lyles, Lin and Williamson 2007, for a single
outcome each).

Assumed: rates lie about `BASE`; answers under two levels, the item and all else the same, differ for a share
`changing` of the items, and for more where the levels' rates differ; answers to a unit that differ in the
model, another axis or the item correlate `together` times as much as those that do not. Replicates add
nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.betting import log_e_values, p_values, stakes
from gridc.statistics.case_totals import CaseTable, CaseTotals
from gridc.statistics.clustered_logit import NotEstimable, fit, unit, wald
from gridc.statistics.designs import Design, factor, scored, treatment
from gridc.statistics.jackknife import Jackknife
from gridc.statistics.power import POWER, Claim, Side, mcnemar_power

Floats = NDArray[np.float64]

BASE = 0.5
"""The rate about which effects lie."""
STEP = 1e-4
"""How finely effects are told apart: a hundredth of a point."""
LARGEST = 0.9
"""The largest difference that is looked at: one that is larger needs no test."""
SEED, DRAWS = 1, 4_000_000
"""Of the simulation of tests without a closed form, and how many draws it holds at most."""
NODES = 60
"""Points of the quadrature over what several levels share, their reference."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Units of one benchmark: how many answers to each are under every (block, level)."""

    answers: tuple[float, ...]

    @property
    def units(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class Layout:
    """What a hypothesis compares: levels of an axis, the reference first, with doses where they have some;
    `by` other levels inside each unit (models, another axis) that the effect may depend on, or "stratum"."""

    strata: tuple[Stratum, ...]
    levels: int
    by: int | Literal["stratum"] = 1
    doses: tuple[float, ...] = ()

    @property
    def units(self) -> int:
        return sum(each.units for each in self.strata)

    @property
    def blocks(self) -> int:
        return 1 if self.by == "stratum" else self.by


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is assumed of the answers: see the module."""

    changing: float
    together: float


@dataclass(frozen=True, slots=True)
class DecidingTest:
    """What decides a hypothesis, at `alpha`: `interaction` or a claim about levels against the reference. A
    `margin` is a proportion."""

    claim: Claim | Literal["interaction"]
    side: Side
    alpha: float
    margin: float | None = None


@lru_cache(maxsize=4096)
def power(test: DecidingTest, layout: Layout, assumed: Assumed, effect: float) -> float:
    """The probability that `test` decides for the claim (of no effect: against it) where the difference is
    `effect` >= 0 the predicted way. Of an equivalence `effect` is 0. Nothing is found where nothing can be
    estimated."""
    try:
        return _POWER[test.claim](test, layout, assumed, effect)
    except NotEstimable:
        return 0.0


@lru_cache(maxsize=4096)
def smallest(test: DecidingTest, layout: Layout, assumed: Assumed) -> float | None:
    """The smallest difference, a proportion, that is found with probability `POWER`; of equivalence and
    non-inferiority the smallest margin that is shown where there is no difference. None where none is."""
    shown = test.claim in ("equivalence", "noninferiority")

    def reaches(size: float) -> bool:
        one = DecidingTest(test.claim, test.side, test.alpha, size if shown else test.margin)
        return power(one, layout, assumed, 0.0 if shown else size) >= POWER

    # Upwards, since a test of odds loses power again where rates come near 0 and 1.
    low, high, most = 0, 1, round((1.0 if shown else LARGEST) / STEP)
    while not reaches(high * STEP):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle * STEP) else (middle, high)
    return high * STEP


OrderTest = Literal["mcnemar", "bets", "flips"]


class Gap(NamedTuple):
    """The smallest gap that is found, and the Monte Carlo standard error of its power (0: none)."""

    gap: float | None
    error: float


@lru_cache(maxsize=4096)
def smallest_gap(
    kind: OrderTest, tests: int, alpha: float, sizes: tuple[int, ...], changing: float, together: float
) -> Gap:
    """The smallest gap between neighbours of an order at which every one of `tests` (a step in a
    configuration) finds its gap with probability `POWER` at least, however they depend on each other
    (Bonferroni). Units have `sizes` items. Models that are further apart than `changing` differ one way.

    McNemar's power is exact; that of bets and of sign flips (by their normal approximation) is that of a
    seeded simulation."""
    found = partial(order_power, kind, tests, alpha, sizes, changing, together)
    low, high = 0, round(1 / STEP)
    if found(high * STEP)[0] < POWER:
        return Gap(None, 0.0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle * STEP)[0] >= POWER else (middle, high)
    return Gap(high * STEP, found(high * STEP)[1])


def order_power(
    kind: OrderTest,
    tests: int,
    alpha: float,
    sizes: tuple[int, ...],
    changing: float,
    together: float,
    gap: float,
) -> tuple[float, float]:
    """The probability, at least, with which every one of `tests` finds `gap`, as `smallest_gap` has it, and
    its Monte Carlo standard error. It is below 0 where the bound says nothing."""
    share = max(changing, gap)
    toward, away = (share + gap) / 2, (share - gap) / 2
    if kind == "mcnemar":
        power, error = mcnemar_power(alpha, len(sizes), toward, away), 0.0
    else:
        power, error = _simulated(kind, alpha, sizes, _draws(sizes, together), toward, away)
    return 1 - tests * (1 - power), tests * error


@lru_cache(maxsize=2)
def _draws(sizes: tuple[int, ...], together: float) -> Floats:
    """A draw from 0 to 1 for each item of many studies, (studies, items), some shared by a unit's items."""
    random, items = np.random.default_rng(SEED), sum(sizes)
    studies = max(1000, min(10_000, DRAWS // items))
    shared = np.repeat(random.random((studies, len(sizes))), sizes, axis=1)
    own = random.random((studies, items))
    drawn: Floats = np.where(random.random((studies, items)) < sqrt(together), shared, own)
    return drawn


def _simulated(
    kind: OrderTest, alpha: float, sizes: tuple[int, ...], draws: Floats, toward: float, away: float
) -> tuple[float, float]:
    """The share of studies in which a test of units finds the gap, and its standard error."""
    from scipy.special import ndtr

    items = (draws < toward).astype(np.int64) - (draws > 1 - away)
    differences = np.add.reduceat(items, np.r_[0, np.cumsum(sizes)[:-1]], axis=1)
    if kind == "bets":
        p = p_values(log_e_values(differences, max(sizes), stakes(sum(sizes) / len(sizes))))
    else:
        norms = np.sqrt((differences**2).sum(axis=1))
        p = ndtr(-differences.sum(axis=1) / np.maximum(norms, 1e-300))
    share = float((p <= alpha).mean())
    return share, sqrt(share * (1 - share) / len(draws))


def _rates(test: DecidingTest, layout: Layout, effect: float) -> Floats:
    """The rate of each (stratum, block, level). One level moves, or of an interaction one level in one
    part; along doses all of them do."""
    sign = -1 if test.side == "less" else 1
    effect = min(effect, LARGEST)
    low, high = BASE - sign * effect / 2, BASE + sign * effect / 2
    rates = np.full((len(layout.strata), layout.blocks, layout.levels), low)
    if layout.doses:
        dose = (np.array(layout.doses) - layout.doses[0]) / (layout.doses[-1] - layout.doses[0])
        odds = np.log(low / (1 - low)) * (1 - dose) + np.log(high / (1 - high)) * dose
        rates[:] = 1 / (1 + np.exp(-odds))
    elif test.claim != "interaction":
        rates[:, :, -1] = high
    elif layout.by == "stratum":
        rates[min(range(len(layout.strata)), key=lambda at: layout.strata[at].units), :, -1] = high
    else:
        rates[:, -1, -1] = high
    return rates


def _totals(layout: Layout, assumed: Assumed, rates: Floats) -> CaseTotals:
    """What is expected of all units: patterns are (stratum, block, level). Two answers are with some
    probability one draw, right under both rates or under the larger one alone; else they are two."""
    width = layout.blocks * layout.levels
    count = len(layout.strata) * width
    rows, sums = np.zeros(count), np.zeros(count)
    ss, sn, nn = np.zeros((count, count)), np.zeros((count, count)), np.zeros((count, count))
    like = 1 - assumed.changing / (2 * BASE * (1 - BASE))
    levels = like + (1 - like) * np.eye(layout.levels)
    for at, stratum in enumerate(layout.strata):
        here = slice(at * width, (at + 1) * width)
        mean = rates[at].ravel()
        n, squares = sum(stratum.answers), sum(size * size for size in stratum.answers)
        across = assumed.together * squares
        blocks = across + (n + (squares - n) * assumed.together - across) * np.eye(layout.blocks)
        covariance = np.kron(blocks, levels) * (np.minimum.outer(mean, mean) - np.outer(mean, mean))
        rows[here], sums[here] = n, n * mean
        ss[here, here] = covariance + squares * np.outer(mean, mean)
        sn[here, here] = squares * mean[:, None]
        nn[here, here] = squares
    profiles = np.kron(np.eye(len(layout.strata)), np.ones(width)).astype(np.bool_)
    return CaseTotals(rows, sums, ss, sn, nn, profiles, np.array([each.units for each in layout.strata]))


def design_of(test: DecidingTest, layout: Layout) -> Design:
    """Main effects of axis, block and stratum, as the estimator has them; the interaction where it is
    tested."""
    shape = (len(layout.strata), layout.blocks, layout.levels)
    places = [at.ravel() for at in np.indices(shape)]
    named = {
        name: factor(name, [str(each) for each in range(size)], [str(each) for each in place])
        for name, size, place in zip(("stratum", "block", "axis"), shape, places, strict=True)
        if size > 1 or name == "axis"
    }
    if layout.doses:
        others = [each for name, each in named.items() if name != "axis"]
        base = treatment(others or [factor("", [""], [""] * len(places[0]))])
        return scored(base, "dose", np.array(layout.doses)[places[2]])
    by = "stratum" if layout.by == "stratum" else "block"
    return treatment(list(named.values()), [("axis", by)] if test.claim == "interaction" else [])


def coefficients_of(test: DecidingTest, layout: Layout, design: Design) -> list[int]:
    """The coefficients of the design that are tested."""
    by = "stratum" if layout.by == "stratum" else "block"
    names = ("axis", by) if test.claim == "interaction" else ("dose",) if layout.doses else ("axis",)
    return list(design.places(*names))


def _wald(test: DecidingTest, layout: Layout, assumed: Assumed, effect: float) -> float:
    """By the clustered logit: Student's t of one coefficient, Hotelling's T-squared of several, with the
    degrees of freedom that the sizes of units leave. Units that decide nothing find nothing."""
    from scipy.stats import f, ncf, nct, t

    design = design_of(test, layout)
    totals = _totals(layout, assumed, _rates(test, layout, effect))
    columns = coefficients_of(test, layout, design)
    sided = test.side != "two-sided" and test.claim == "effect"
    if sided:  # one of several levels is found at its share of alpha
        level, columns = test.alpha / len(columns), columns[-1:]
    fitted, restriction = fit(design.matrix, totals), unit(columns, len(design.columns))
    found = wald(fitted, restriction)
    df, spread = Jackknife(design.matrix, _cases(layout), fitted.coefficients).known(restriction)
    q, noncentrality, rest = found.df, found.chi2, df - found.df + 1
    if not spread.enough or rest <= 0:
        return 0.0
    if sided:
        return float(nct.sf(t.isf(level, df), df, sqrt(noncentrality)))
    return float(ncf.sf(f.isf(test.alpha, q, rest), q, rest, noncentrality))


def _cases(layout: Layout) -> CaseTable:
    """The units by kind, of which the rows alone are known."""
    width = layout.blocks * layout.levels
    rows, cases = [], []
    for at, stratum in enumerate(layout.strata):
        sizes, counts = np.unique(stratum.answers, return_counts=True)
        place = np.eye(len(layout.strata))[at].repeat(width)
        rows.append(sizes[:, None] * place)
        cases.append(counts)
    every: Floats = np.concatenate(rows)
    return CaseTable(every, np.zeros_like(every), np.concatenate(cases).astype(np.int64))


def _margins(test: DecidingTest, layout: Layout, assumed: Assumed, effect: float) -> float:
    """By resampled differences, whose expanded intervals are those of Student's t: all levels lie within the
    margin, or above minus the margin."""
    from scipy.stats import norm, t

    rates = _rates(test, layout, effect)
    error = _error(layout, _totals(layout, assumed, rates))
    if layout.units < 2 or not test.margin:
        return 0.0
    cut = float(t.isf(test.alpha, layout.units - 1))
    room = test.margin / error - cut
    # Differences of several levels share the reference, and with it half of their variance.
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    others = layout.levels - 1
    own = sqrt(0.5) if others > 1 else 1.0
    shared = nodes * sqrt(1 - own * own)
    below = norm.cdf((room - shared) / own)
    above = norm.cdf((-room - shared) / own) if test.claim == "equivalence" else 0.0
    inside = np.maximum(below - above, 0.0) ** others
    return float(weights @ inside / weights.sum())


def _error(layout: Layout, totals: CaseTotals) -> float:
    """The standard error of the difference of two rates over resamples of units."""
    arms = np.tile(np.eye(layout.levels), (len(totals.rows) // layout.levels, 1))
    rows, sums = totals.rows @ arms, totals.sums @ arms
    rate = sums / rows
    residual = arms.T @ totals.ss @ arms
    mixed = (arms.T @ totals.sn @ arms) * rate[None, :]
    residual = residual - mixed - mixed.T + (arms.T @ totals.nn @ arms) * np.outer(rate, rate)
    covariance = residual / np.outer(rows, rows)
    return sqrt(float(covariance[0, 0] + covariance[-1, -1] - 2 * covariance[0, -1]))


_POWER: dict[str, Callable[[DecidingTest, Layout, Assumed, float], float]] = {
    "effect": _wald,
    "no_effect": _wald,
    "interaction": _wald,
    "equivalence": _margins,
    "noninferiority": _margins,
}
