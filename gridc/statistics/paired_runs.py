"""Two versions of the same cells: paired differences, and whether the second is worse.

The versions are two levels of an axis, two models or two stores. One mechanism serves the scoring-path gap,
the precision report, the comparison of two models (a scale probe) and `gridc diff`: cells that agree in
everything else are paired, and their scores are subtracted exactly.

That the second run is worse by more than a margin is one test, and that it is not is another: neither follows
from the failure of the other. Both are tests at a margin (`margins`), of units of one item or several, scores
of 0 and 1 or between.

An answer that is missing on one side is no evidence: in each test it is filled in against the claim. So both
hold whatever made it missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import median

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics import margins
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.exact_tests import mcnemar_two_sided
from gridc.statistics.expected_power import Assumptions, DecidingTest, Layout, Stratum, power, smallest
from gridc.statistics.margins import outside
from gridc.statistics.verdicts import POWER

GridPoint = Mapping[str, str]
"""Where a cell lies: model, benchmark, and the level of every axis."""

Scored = tuple[GridPoint, Fraction]


@dataclass(frozen=True, slots=True)
class Delta:
    """One pair of cells: what they share, the score of each, and after - before."""

    place: GridPoint
    before: Fraction
    after: Fraction

    @property
    def delta(self) -> Fraction:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Summary:
    """Differences over n pairs, as shares. `sd` is the sample standard deviation (n - 1), None for n = 1;
    `over_5` and `over_10` count the pairs that differ by more than 5 and 10 points."""

    n: int
    mean: float
    sd: float | None
    mean_absolute: float
    median_absolute: float
    max_absolute: float
    over_5: int
    over_10: int


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """The differences of the cells at one level of one axis."""

    axis: str
    level: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs, and the places that only one side has."""

    deltas: tuple[Delta, ...]
    only_before: tuple[GridPoint, ...]
    only_after: tuple[GridPoint, ...]


def pair_levels(cells: Iterable[Scored], axis: str, before: str, after: str) -> Pairing:
    """Pair the cells at two levels of an axis that agree in everything else (the axis may be `model`)."""
    sides: dict[str, dict[tuple[tuple[str, str], ...], Fraction]] = {before: {}, after: {}}
    for place, score in cells:
        if place[axis] in sides:
            rest = tuple((key, name) for key, name in place.items() if key != axis)
            sides[place[axis]][rest] = score
    return _match(sides[before], sides[after])


def pair_stores(before: Iterable[Scored], after: Iterable[Scored]) -> Pairing:
    """Subtract the scores of two studies wherever both have a cell at one place."""
    return _match(
        {tuple(sorted(place.items())): score for place, score in before},
        {tuple(sorted(place.items())): score for place, score in after},
    )


def summarise_differences(deltas: Sequence[Fraction]) -> Summary:
    """Mean, spread and size of at least one difference. Raises `ValueError` when there is none."""
    if not deltas:
        raise ValueError("no differences")
    n = len(deltas)
    mean = sum(deltas, Fraction(0)) / n
    spread = sum(((delta - mean) ** 2 for delta in deltas), Fraction(0))
    sizes = [abs(delta) for delta in deltas]
    return Summary(
        n,
        float(mean),
        sqrt(spread / (n - 1)) if n > 1 else None,
        float(sum(sizes, Fraction(0)) / n),
        float(median(sizes)),
        float(max(sizes)),
        sum(size > Fraction(5, 100) for size in sizes),
        sum(size > Fraction(10, 100) for size in sizes),
    )


def by_level(deltas: Sequence[Delta]) -> list[LevelSummary]:
    """SafetyRepro app. N's table: the differences by level of every axis, model and benchmark that occurs
    with more than one level, in the order of the cells; axes with one level say nothing apart."""
    axes: dict[str, dict[str, list[Fraction]]] = {}
    for delta in deltas:
        for axis, level in delta.place.items():
            axes.setdefault(axis, {}).setdefault(level, []).append(delta.delta)
    return [
        LevelSummary(axis, level, summarise_differences(changes))
        for axis, levels in axes.items()
        if len(levels) > 1
        for level, changes in levels.items()
    ]


def unit_test(before: Whole, after: Whole, units: Whole) -> float:
    """Two-sided p of any change in one cell's items, (n,), each 0 or 1 on both sides, which belong to these
    independent `units`, (n,): exact McNemar where every item is one, else Gaffke's test in both directions.
    1 where nothing changed."""
    gained, lost = int((after > before).sum()), int((after < before).sum())
    if not gained and not lost:
        return 1.0
    _, of_item, sizes = np.unique(units, return_inverse=True, return_counts=True)
    if sizes.max() == 1:
        return mcnemar_two_sided(gained, lost)
    points = (side.astype(np.float64) for side in (before, after))
    sums = np.column_stack([np.bincount(of_item, side, len(sizes)).astype(np.float64) for side in points])
    rows = np.column_stack([sizes, sizes]).astype(np.float64)
    table = CaseTable(rows, sums, np.ones(len(sizes), np.int64))
    return outside(table, 1, 0, 0.0)


def _match(
    before: Mapping[tuple[tuple[str, str], ...], Fraction],
    after: Mapping[tuple[tuple[str, str], ...], Fraction],
) -> Pairing:
    return Pairing(
        tuple(Delta(dict(key), score, after[key]) for key, score in before.items() if key in after),
        tuple(dict(key) for key in before if key not in after),
        tuple(dict(key) for key in after if key not in before),
    )


def mean_move(reference: ArrayLike, other: ArrayLike) -> float:
    """The mean distance of a candidate's log-likelihood, in nats."""
    return float(np.abs(np.asarray(other, np.float64) - np.asarray(reference, np.float64)).mean())


def divergence(reference: ArrayLike, other: ArrayLike) -> float:
    """Kullback and Leibler's D(reference || other), in nats, of the shares that the candidates have of their
    likelihood; 0 where those are the same, whatever all candidates lost or gained alike."""
    one, two = _log_shares(reference), _log_shares(other)
    return max(float((np.exp(one) * (one - two)).sum()), 0.0)


def _log_shares(loglikelihoods: ArrayLike) -> Floats:
    values = np.asarray(loglikelihoods, np.float64)
    shifted: Floats = values - values.max()
    log_shares: Floats = shifted - np.log(np.exp(shifted).sum())
    return log_shares


FIRST, SECOND = 0, 1
"""The arms of a table of units."""
MOST_UNITS = 1_000_000
"""More are not said to be needed: no benchmark has them."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedUnits:
    """U units: how many items each has, (U,), and the points, higher being better, that these earned in the
    first and in the second run, (U, 2): at least and at most, which differ where answers are missing."""

    items: Whole
    first: Floats
    second: Floats

    def table(self, first: int, second: int) -> CaseTable:
        """As the tests of margins take them: each arm with what it earned at least (0) or at most (1)."""
        sums = np.column_stack([self.first[:, first], self.second[:, second]])
        return CaseTable(
            np.column_stack([self.items, self.items]).astype(np.float64),
            np.round(sums, 12),
            np.ones(len(self.items), np.int64),
        )

    @property
    def binary(self) -> bool:
        """Whether a unit of one item earns 0 or 1, whatever is missing."""
        return bool(np.isin([self.first, self.second], (0.0, 1.0)).all())

    @property
    def favourable(self) -> CaseTable:
        """What is missing is filled in for the second run."""
        return self.table(0, 1)

    @property
    def adverse(self) -> CaseTable:
        """It is filled in for the first."""
        return self.table(1, 0)


def p_worse(units: PairedUnits, margin: float) -> float:
    """p of: the second run is worse by more than the margin, a proportion."""
    return margins.below(units.favourable, SECOND, FIRST, -margin)


def p_not_worse(units: PairedUnits, margin: float) -> float:
    """p of: it is not worse by as much as the margin."""
    return margins.above(units.adverse, SECOND, FIRST, -margin)


def paired_change_limits(units: PairedUnits, alpha: float) -> tuple[float, float] | None:
    """The limits of the change, each missed with probability `alpha` at most: above minus a margin or below
    it exactly where the tests at `alpha` say so. None without a unit."""
    low = margins.difference_limits(units.adverse, SECOND, FIRST, alpha)
    complete = np.array_equal(units.first[:, 0], units.first[:, 1]) and np.array_equal(
        units.second[:, 0], units.second[:, 1]
    )
    high = low if complete else margins.difference_limits(units.favourable, SECOND, FIRST, alpha)
    return None if low is None or high is None else (low[0], high[1])


@dataclass(frozen=True, slots=True)
class DetectableLoss:
    """What so many units can show, before any answer: the smallest true `loss` that is found to be beyond the
    margin, and the smallest `margin` that is shown where nothing changed, each with probability `POWER`; None
    where none is."""

    loss: float | None
    margin: float | None


def detectable(
    sizes: Sequence[int],
    margin: float | None,
    alpha: float,
    each: float,
    changing: float,
    together: float,
    binary: bool = True,
) -> DetectableLoss:
    """Of units with so many items, where a share `changing` of the answers changes for no reason; what units
    hold changes `together` (`expected_power`). A loss is tested at `each` (of several benchmarks), its
    absence at `alpha`; `binary` as `PairedUnits` has it."""
    layout = _layout(sizes)
    assumed = Assumptions(changing, together)
    beyond = None
    if margin is not None:
        beyond = smallest(DecidingTest("beyond", "less", each, margin, binary), layout, assumed)
    shown = DecidingTest("above", "greater", alpha, binary=binary)
    return DetectableLoss(beyond, smallest(shown, layout, assumed))


def units_needed(
    sizes: Sequence[int],
    margin: float,
    alpha: float,
    changing: float,
    together: float,
    binary: bool = True,
) -> int | None:
    """About how many units like these show the margin where nothing changed, with probability `POWER`: to two
    digits. None where a million do not."""
    if not sizes or margin <= 0:
        return None
    test = DecidingTest("above", "greater", alpha, margin, binary)
    assumed = Assumptions(changing, together)

    def enough(count: int) -> bool:
        layout = _layout(np.resize(np.sort(sizes), count).tolist())
        return power(test, layout, assumed, 0.0) >= POWER

    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_UNITS:
            return None
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    unit: int = 10 ** max(0, len(str(high)) - 2)
    return -(-high // unit) * unit


def _layout(sizes: Sequence[int]) -> Layout:
    return Layout((Stratum(tuple(sorted(map(float, sizes)))),), 2)
