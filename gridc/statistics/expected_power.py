"""Power of the tests that decide, known before any data exist.

What the assumptions expect is written down as the totals of a study (`CaseTotals`) and handed to the
functions that decide: their estimate is then the assumed effect, and their covariance the expected one, with
what pairing, several answers to one unit, benchmarks of different sizes and several levels do to it. The
statistic of these totals is the noncentrality of the test (Lyles, Lin and Williamson 2007, for a single
outcome each). What a margin needs is counted in simulated studies, which the tests of margins decide.

Assumed: rates lie about `BASE`; answers under two levels, the item and all else the same, differ for a share
`changing` of the items, and for more where the levels' rates differ; answers to a unit that differ in the
model, another axis or the item correlate `together` times as much as those that do not. Replicates add
nothing.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from math import ceil, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from gridc.statistics import margins, sign_flips
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.betting import log_e_values, p_of_e_values, stakes
from gridc.statistics.case_totals import (
    CaseTable,
    CaseTotals,
    DesignMatrix,
    factor,
    merged,
    treatment,
    with_dose,
)
from gridc.statistics.clustered_logit import Jackknife, NotEstimable, box, fit, unit
from gridc.statistics.sign_flips import can_support
from gridc.statistics.verdicts import POWER, Alternative, mcnemar_power

BASE = 0.5
"""The rate about which effects lie."""
STEP = 1e-4
"""How finely effects are told apart: a hundredth of a point."""
LARGEST = 0.9
"""The largest difference that is looked at: one that is larger needs no test."""
SEED, DRAWS = 1, 4_000_000
"""Of the simulation of tests without a closed form, and how many draws it holds at most."""
FLIPPED, FLIPS = 400, 999
"""Studies whose order sign flips decide, and the least number of flips of each."""
CHUNK = 100
"""Such studies that are decided at a time."""
STUDIES = 1000
"""That are simulated to know what is shown of a margin."""
NODES = 60
"""Points of the quadrature over what several levels share, their reference."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Units of one benchmark: how many answers to each are under every (block, level). `numbers` say which
    units of other strata they are one with: those of the same number; without them all are their own."""

    answers: tuple[float, ...]
    numbers: tuple[int, ...] = ()

    @property
    def units(self) -> int:
        return len(self.answers)


@dataclass(frozen=True)
class Layout:
    """What a hypothesis compares: levels of an axis, the reference first, with doses where they have some;
    `by` other levels inside each unit (models, another axis) that the effect may depend on, or "stratum"."""

    strata: tuple[Stratum, ...]
    levels: int
    by: int | Literal["stratum"] = 1
    doses: tuple[float, ...] = ()

    @property
    def units(self) -> int:
        return len(self.by_unit)

    @cached_property  # one layout is asked for the power at many effects
    def by_unit(self) -> Floats:
        """The answers to each unit in each stratum under every (block, level), (units, strata)."""
        answers = [np.array(stratum.answers, np.float64)[:, None] for stratum in self.strata]
        return merged(answers, [stratum.numbers for stratum in self.strata])

    @cached_property
    def kinds(self) -> tuple[Floats, Whole]:
        """The rows of `by_unit` that differ, ascending, and how many units are of each."""
        rows, units = np.unique(self.by_unit, axis=0, return_counts=True)
        return rows, units

    @property
    def blocks(self) -> int:
        return 1 if self.by == "stratum" else self.by


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is assumed of the answers: see the module. Beside those that change either way for no reason, a
    share `lost` of them is lost under the level (claim `beyond`)."""

    changing: float
    together: float
    lost: float = 0.0


ClaimKind = Literal["effect", "no_effect", "crossed", "inside", "above", "beyond"]
"""What a test can show: that levels differ, where a side is predicted on that side (effect) or either way
(no_effect: against it); that their effect differs between blocks or strata (crossed); that it lies inside a
margin, above its worse side, or below that (beyond)."""


@dataclass(frozen=True, slots=True)
class DecidingTest:
    """What decides a hypothesis, at `alpha`. A `margin` is a proportion. `binary`: an item has one answer
    under each level, which earns 0 or 1; `largest` is the largest change of a unit."""

    claim: ClaimKind
    side: Alternative
    alpha: float
    margin: float | None = None
    binary: bool = True
    largest: float = 1.0


@lru_cache(maxsize=4096)
def power(test: DecidingTest, layout: Layout, assumed: Assumptions, effect: float) -> float:
    """The probability that `test` decides for the claim (of no effect: against it) where the difference is
    `effect` >= 0 the predicted way; of equivalence and non-inferiority where there is none, whatever `effect`
    says. Nothing is found where nothing can be estimated."""
    try:
        return _POWER[test.claim](test, layout, assumed, effect)
    except NotEstimable:
        return 0.0


@lru_cache(maxsize=4096)
def smallest(test: DecidingTest, layout: Layout, assumed: Assumptions) -> float | None:
    """The smallest difference, a proportion, that is found with probability `POWER`; of equivalence and
    non-inferiority the smallest margin that is shown where there is no difference. None where none is."""
    if test.claim in ("inside", "above"):
        return _smallest_margin(test, layout, assumed)

    def reaches(size: float) -> bool:
        return power(test, layout, assumed, size) >= POWER

    # Upwards, since a test of odds loses power again where rates come near 0 and 1.
    low, high, most = 0, 1, round(LARGEST / STEP)
    while not reaches(high * STEP):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle * STEP) else (middle, high)
    return high * STEP


OrderTest = Literal["mcnemar", "bets", "flips"]


class DetectableGap(NamedTuple):
    """The smallest gap that is found, and the Monte Carlo standard error of its power (0: none)."""

    gap: float | None
    error: float


@lru_cache(maxsize=4096)
def detectable_gap(
    kind: OrderTest, tests: int, alpha: float, sizes: tuple[int, ...], changing: float, together: float
) -> DetectableGap:
    """The smallest gap between neighbours of an order at which every one of `tests` (a step in a
    configuration) finds its gap with probability `POWER` at least, however they depend on each other
    (Bonferroni). Units have `sizes` items. Models that are further apart than `changing` differ one way.

    McNemar's power is exact; that of bets and of sign flips, which are tried to a tenth of a point, is that
    of a seeded simulation."""
    power_at = partial(order_power, kind, tests, alpha, sizes, changing, together)
    step = 10 * STEP if kind == "flips" else STEP
    low, high = 0, round(1 / step)
    if power_at(high * step)[0] < POWER:
        return DetectableGap(None, 0.0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle * step)[0] >= POWER else (middle, high)
    return DetectableGap(high * step, power_at(high * step)[1])


def order_power(
    kind: OrderTest,
    tests: int,
    alpha: float,
    sizes: tuple[int, ...],
    changing: float,
    together: float,
    gap: float,
) -> tuple[float, float]:
    """The probability, at least, with which every one of `tests` finds `gap`, as `detectable_gap` has it, and
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
    draws = draws[: FLIPPED if kind == "flips" else len(draws)]
    items = (draws < toward).astype(np.int64) - (draws > 1 - away)
    differences = np.add.reduceat(items, np.r_[0, np.cumsum(sizes)[:-1]], axis=1)
    if kind == "bets":
        p = p_of_e_values(log_e_values(differences, max(sizes), stakes(sum(sizes) / len(sizes))))
    else:
        p = _flipped(differences, alpha, max(sizes)) if can_support(sizes) else np.ones(len(differences))
    share = float((p <= alpha).mean())
    return share, sqrt(share * (1 - share) / len(draws))


def _flipped(differences: Whole, alpha: float, span: int) -> Floats:
    """p of each study's configuration by itself, (studies,), as the report has it: each study stands here for
    a configuration, whose own p does not depend on the others."""
    signs = sign_flips.random_signs(differences.shape[1], max(FLIPS, ceil(10 / alpha)), SEED)
    p_parts = []
    for at in range(0, len(differences), CHUNK):
        some = differences[at : at + CHUNK]
        alone = np.eye(len(some), dtype=np.int64)
        found = sign_flips.max_t_alone(some, alone, signs)
        p_parts.append(sign_flips.where_seen(found, some, alone, span).plus_alone)
    return np.concatenate(p_parts)


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
    elif test.claim != "crossed":
        rates[:, :, -1] = high
    elif layout.by == "stratum":
        rates[min(range(len(layout.strata)), key=lambda at: layout.strata[at].units), :, -1] = high
    else:
        rates[:, -1, -1] = high
    return rates


def _totals(layout: Layout, assumed: Assumptions, rates: Floats) -> CaseTotals:
    """What is expected of all units: patterns are (stratum, block, level). Answers under two levels are one
    draw, right under both rates or under the larger one alone, but for a share that changes either way; those
    that differ in more are so with the probability `together`, else they are two."""
    width = layout.blocks * layout.levels
    answers, mean = layout.by_unit, rates.ravel()
    both = answers.T @ answers
    squares: Floats = both.repeat(width, axis=0).repeat(width, axis=1)
    own = np.kron(np.diag(answers.sum(axis=0) * (1 - assumed.together)), np.eye(layout.blocks))
    answered = own + assumed.together * np.kron(both, np.ones((layout.blocks,) * 2))
    pairs = np.kron(answered, np.ones((layout.levels,) * 2))
    # Answers under two levels differ as often as the rates make them and, beside it, for a share `changing`.
    apart = np.tile(1 - np.eye(layout.levels), (len(mean) // layout.levels,) * 2) * assumed.changing / 2
    alike = np.minimum.outer(mean, mean) - np.outer(mean, mean)
    covariance = pairs * np.where(apart > 0, np.maximum(alike - apart, 0), alike)
    rows = answers.sum(axis=0).repeat(width)
    kinds, counts = layout.kinds
    profiles, of_kind = np.unique(kinds > 0, axis=0, return_inverse=True)
    units = np.bincount(of_kind.ravel(), counts).astype(np.int64)
    return CaseTotals(
        rows,
        rows * mean,
        covariance + squares * np.outer(mean, mean),
        squares * mean[:, None],
        squares,
        profiles.repeat(width, axis=1),
        units,
    )


def assumed_design(test: DecidingTest, layout: Layout) -> DesignMatrix:
    """Main effects of axis, block and stratum, as the estimator has them; the interaction where it is
    tested."""
    shape = (len(layout.strata), layout.blocks, layout.levels)
    places = [at.ravel() for at in np.indices(shape)]
    named = {
        name: factor(name, [str(number) for number in range(size)], [str(number) for number in place])
        for name, size, place in zip(("stratum", "block", "axis"), shape, places, strict=True)
        if size > 1 or name == "axis"
    }
    if layout.doses:
        others = [column for name, column in named.items() if name != "axis"]
        base = treatment(others or [factor("", [""], [""] * len(places[0]))])
        return with_dose(base, "dose", np.array(layout.doses)[places[2]])
    by = "stratum" if layout.by == "stratum" else "block"
    return treatment(list(named.values()), [("axis", by)] if test.claim == "crossed" else [])


def coefficients_of(test: DecidingTest, layout: Layout, design: DesignMatrix) -> list[int]:
    """The coefficients of the design that are tested."""
    by = "stratum" if layout.by == "stratum" else "block"
    names = ("axis", by) if test.claim == "crossed" else ("dose",) if layout.doses else ("axis",)
    return list(design.places(*names))


def _wald(test: DecidingTest, layout: Layout, assumed: Assumptions, effect: float) -> float:
    """By the clustered logit: Student's t of one coefficient, Box's F of several, with the degrees of freedom
    that the sizes of units leave. Units that decide nothing find nothing."""
    from scipy.stats import f, ncf, nct, t

    design = assumed_design(test, layout)
    totals = _totals(layout, assumed, _rates(test, layout, effect))
    columns = coefficients_of(test, layout, design)
    sided = test.side != "two-sided" and test.claim == "effect"
    if sided:  # one of several levels is found at its share of alpha
        level, columns = test.alpha / len(columns), columns[-1:]
    fitted, restriction = fit(design.matrix, totals), unit(columns, len(design.columns))
    df, spread = Jackknife(design.matrix, _cases(layout), fitted.coefficients).known(restriction)
    if not spread.enough:
        return 0.0
    naive, covariance = (restriction @ each @ restriction.T for each in (fitted.naive, fitted.covariance))
    value, above = box(restriction @ fitted.coefficients, naive, covariance)
    noncentrality, below = above * value, above * df
    if sided:
        return float(nct.sf(t.isf(level, df), df, sqrt(noncentrality)))
    # What the units of one study show of D: its trace squared adds to tr(D^2), divided by their freedom.
    shown = max(1.0, 1 / (1 / above + 1 / df))
    return float(ncf.sf(f.isf(test.alpha, shown, shown * df), above, below, noncentrality))


def _cases(layout: Layout) -> CaseTable:
    """The units by kind, of which the rows alone are known."""
    kinds, cases = layout.kinds
    rows = kinds.repeat(layout.blocks * layout.levels, axis=1)
    return CaseTable(rows, np.zeros_like(rows), cases.astype(np.int64))


class _SimulatedStudies(NamedTuple):
    """Kinds of units by arm (reference, level), `rows` and `sums` (F, 2), and how many of each kind each of
    `STUDIES` has, sparse, (studies, F)."""

    rows: Floats
    sums: Floats
    studies: Any

    def shown(self, test: DecidingTest, margin: float, some: Whole) -> Flags:
        """Which of some studies show the margin, by the test that decides."""
        if not len(some):
            return np.zeros(0, np.bool_)

        def above(level: int, bound: float) -> Flags:
            return margins.above_in_each(
                self.rows, self.sums, of, level, 1 - level, bound, test.alpha, test.binary, test.largest
            )

        of = self.studies[some]
        if test.claim == "beyond":
            return above(0, margin)
        flags = above(1, -margin)
        return flags & above(0, -margin) if test.claim == "inside" else flags


def _studies(layout: Layout, assumed: Assumptions) -> _SimulatedStudies:
    sizes = np.rint(layout.by_unit.sum(axis=1)).astype(np.int64)
    return _simulated_units(tuple(sorted(sizes[sizes > 0].tolist())), assumed)


@lru_cache(maxsize=32)
def _simulated_units(sizes: tuple[int, ...], assumed: Assumptions) -> _SimulatedStudies:
    """Studies in which a level changes nothing on average but for what is `lost`, of units with `sizes`
    answers under each arm."""
    from scipy.sparse import csr_matrix, hstack

    random, kinds, moved, studies = np.random.default_rng(SEED), [], [], []
    for size, units in sorted(Counter(sizes).items()):
        shares = _difference(size, assumed)
        if units < len(shares):
            ends = np.cumsum(shares)[:-1]
            places = np.searchsorted(ends, random.random(STUDIES * units), side="right")
            entries = np.arange(STUDIES).repeat(units), places
            studies.append(csr_matrix((np.ones(len(places)), entries), shape=(STUDIES, len(shares))))
        else:
            studies.append(csr_matrix(random.multinomial(units, shares, size=STUDIES).astype(np.float64)))
        kinds.append(np.full(len(shares), float(size)))
        moved.append(np.arange(-size, size + 1.0))
    of_size, difference = np.concatenate(kinds), np.concatenate(moved)
    sums = np.column_stack([np.maximum(-difference, 0), np.maximum(difference, 0)])
    return _SimulatedStudies(np.column_stack([of_size, of_size]), sums, hstack(studies).tocsr())


def _difference(size: int, assumed: Assumptions) -> Floats:
    """How probable each difference of a unit is, -size to size: each of its answers takes, with the root of
    `together`, what the unit draws for all of them, else a draw of its own; a draw rises as often as it
    falls, but for what is `lost`. By the inverse of its characteristic function."""
    angles = 2 * np.pi * np.arange(2 * size + 1) / (2 * size + 1)
    shared, changing = sqrt(assumed.together), assumed.changing
    lost, turn = assumed.lost, np.exp(1j * angles)
    own = (1 - shared) * (1 - changing - lost + changing * np.cos(angles) + lost * turn)
    still, falls, rises = ((shared * way + own) ** size for way in (1.0, turn, turn.conj()))
    moved = (1 - changing - lost) * still + (changing / 2 + lost) * falls + changing / 2 * rises
    shares = np.fft.fftshift(np.fft.ifft(moved).real)
    probabilities: Floats = np.maximum(shares, 0) / np.maximum(shares, 0).sum()
    return probabilities


def _margins(test: DecidingTest, layout: Layout, assumed: Assumptions, _: float) -> float:
    """The share of simulated studies without a difference that show the margin."""
    if layout.units < 2 or not test.margin:
        return 0.0
    simulated = _studies(layout, assumed)
    share = float(simulated.shown(test, test.margin, np.arange(STUDIES)).mean())
    return _of_all_levels(test, layout.levels - 1, share)


def _losses(test: DecidingTest, layout: Layout, assumed: Assumptions, effect: float) -> float:
    """The share of simulated studies that lose `effect` and show a loss beyond the margin."""
    if layout.units < 2 or effect <= (test.margin or 0.0) or assumed.changing + effect > 1:
        return 0.0
    simulated = _studies(layout, replace(assumed, lost=effect))
    return float(simulated.shown(test, test.margin or 0.0, np.arange(STUDIES)).mean())


@lru_cache(maxsize=4096)
def _smallest_margin(test: DecidingTest, layout: Layout, assumed: Assumptions) -> float | None:
    """By halves: a study that shows a margin shows every larger one, and is not asked again."""
    if layout.units < 2:
        return None
    simulated, rest, low, high = _studies(layout, assumed), np.arange(STUDIES), 0, round(1 / STEP)
    needed, known = _studies_needed(test, layout.levels - 1), 0
    while high - low > 1:
        middle = (low + high) // 2
        shown = simulated.shown(test, middle * STEP, rest)
        enough = known + int(shown.sum()) >= needed
        known += 0 if enough else int(shown.sum())
        rest = rest[shown == enough]
        low, high = (low, middle) if enough else (middle, high)
    return high * STEP if high * STEP < 1 else None


def margin_error(test: DecidingTest, layout: Layout) -> float:
    """The Monte Carlo standard error of a power of `POWER` of a margin."""
    share = _studies_needed(test, layout.levels - 1) / STUDIES
    error = sqrt(share * (1 - share) / STUDIES)
    return _of_all_levels(test, layout.levels - 1, share) - _of_all_levels(
        test, layout.levels - 1, share - error
    )


@lru_cache(maxsize=64)
def _studies_needed(test: DecidingTest, others: int) -> int:
    """How many studies must show one level's margin."""
    low, high = 0, STUDIES
    while high - low > 1:
        middle = (low + high) // 2
        enough = _of_all_levels(test, others, middle / STUDIES) >= POWER
        low, high = (low, middle) if enough else (middle, high)
    return high


def _of_all_levels(test: DecidingTest, others: int, share: float) -> float:
    """The probability that all of some levels show what one does with this one, of normal differences:
    they share the reference, and with it half of their variance."""
    from scipy.special import ndtr, ndtri

    if others == 1:
        return share
    two_sided = test.claim == "inside"
    room = float(ndtri((1 + share) / 2 if two_sided else share))
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    shared, own = nodes * sqrt(0.5), sqrt(0.5)
    inside = ndtr((room - shared) / own) - (ndtr((-room - shared) / own) if two_sided else 0.0)
    return float(weights @ inside**others / weights.sum())


_POWER: dict[str, Callable[[DecidingTest, Layout, Assumptions, float], float]] = {
    "effect": _wald,
    "no_effect": _wald,
    "crossed": _wald,
    "inside": _margins,
    "above": _margins,
    "beyond": _losses,
}
