"""Specification curves: one estimate under every combination of analytic choices (Simonsohn et al. 2020).

Every specification is a fit of its own on the totals of the rows that it keeps (`CaseTotals.of_patterns`).
Inference about the whole curve exchanges the two arms that it compares within each case: all that the case
answered changes places together, over models, items, specifications and readings, so that whatever ties its
answers is kept. *All* specifications are fitted again to the same shuffled entries, and a statistic of the
curve is compared with itself. It is exact where, under no effect, the arms could be exchanged within every
case without changing the distribution of anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.case_totals import CaseTotals
from gridc.statistics.clustered_logit import Combination, NotEstimable, combination, fit, fit_many

Numbers = NDArray[np.float32] | NDArray[np.float64]

BATCH = 100
"""Shuffles that are fitted together."""
NUMBERS = 4_000_000
"""Numbers of one Gram matrix that a batch holds at most, bounding memory."""
CACHED = 100_000
"""Numbers of the tables by case that are shuffled at a time: what stays in a processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Specification:
    """A way to analyse: which of the P patterns it keeps (flags), its design on those, (kept, K), and the
    contrasts it reads, (C, K). `rows` names the rows it is about, where specifications differ in them: the
    reading of unreadable answers."""

    kept: Flags
    design: Floats
    contrasts: Floats
    rows: str = ""


class CurveSummary(NamedTuple):
    """Of a curve's log odds: median, quartiles, and which shares are significantly below and above zero."""

    median: float
    low: float
    high: float
    below: float
    above: float

    @property
    def share(self) -> float:
        """The larger of both shares."""
        return max(self.below, self.above)


def estimates(
    specifications: Sequence[Specification], rows: Mapping[str, CaseTotals], level: float = 0.95
) -> list[list[Combination] | NotEstimable]:
    """Each specification's contrasts, with errors clustered by case; what fails is its own answer, and
    nothing stands in for it."""
    combinations: list[list[Combination] | NotEstimable] = []
    for specification in specifications:
        try:
            fitted = fit(specification.design, rows[specification.rows].of_patterns(specification.kept))
            combinations.append([combination(fitted, weights, level) for weights in specification.contrasts])
        except NotEstimable as error:
            combinations.append(error)
    return combinations


def summarise_curve(log_odds: Floats, p: Floats, alpha: float) -> CurveSummary:
    """Over all values, whatever their shape."""
    low, median, high = np.quantile(log_odds, [0.25, 0.5, 0.75])
    sure = p <= alpha
    return CurveSummary(
        float(median),
        float(low),
        float(high),
        float((sure & (log_odds < 0)).mean()),
        float((sure & (log_odds > 0)).mean()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ArmPairs:
    """Entries of two arms: N pairs, the case of each, (N,), and the patterns of its two entries, (N, 2)."""

    cases: Whole
    patterns: Whole


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What the entries of pairs hold under one reading: rows and sums of their outcomes, (N, 2)."""

    rows: Floats
    sums: Floats


class ShuffledSums(NamedTuple):
    """B shuffles: sums by pattern, (B, P), and Gram matrices of per-case sums with sums and with rows,
    (B, P, P)."""

    sums: Floats
    ss: Floats
    sn: Floats

    def only(self, at: int) -> "ShuffledSums":
        """One of the shuffles."""
        one = slice(at, at + 1)
        return ShuffledSums(self.sums[one], self.ss[one], self.sn[one])


def shuffles(
    pairs: ArmPairs,
    entries: Mapping[str, Entries],
    width: int,
    count: int,
    seed: int,
) -> Iterator[dict[str, ShuffledSums]]:
    """`count` shuffles of rows in `width` patterns, in batches: the arms of each case exchanged or not, at
    random; the same under every reading, by whose name the entries are given. ValueError where a pair has not
    as many rows in one arm as in the other: its labels cannot be exchanged."""
    if any((held.rows[:, 0] != held.rows[:, 1]).any() for held in entries.values()):
        raise ValueError("some pair has other numbers of rows in its two arms")
    generator = np.random.default_rng(seed)
    names, case = np.unique(pairs.cases, return_inverse=True)
    islands = list(_islands(case.ravel(), pairs.patterns, width))
    tables = {name: [piece.tables(held) for piece in islands] for name, held in entries.items()}
    most = max(1, min(BATCH, NUMBERS // width**2))
    for start in range(0, count, most):
        size = min(most, count - start)
        coins = generator.integers(0, 2, (size, len(names))).astype(np.bool_)
        made = {name: _empty(size, width) for name in entries}
        for name, shuffled in made.items():
            for island, table in zip(islands, tables[name], strict=True):
                at_once = max(1, CACHED // table.sums.size)
                for first in range(0, size, at_once):
                    some = slice(first, first + at_once)
                    _add(shuffled, some, island, table, coins[some])
        yield made


def refits(
    specifications: Sequence[Specification],
    batches: Iterator[dict[str, ShuffledSums]],
    totals: Mapping[str, CaseTotals],
    count: int,
) -> tuple[Floats, Floats]:
    """Log odds and p-values of every specification on every shuffle, (count, S, C); not a number where a
    specification cannot be fitted to a shuffle."""
    log_odds = np.full((count, len(specifications), len(specifications[0].contrasts)), np.nan)
    p = np.full_like(log_odds, np.nan)
    parts = [np.flatnonzero(specification.kept) for specification in specifications]
    kept = [
        totals[specification.rows].of_patterns(part)
        for specification, part in zip(specifications, parts, strict=True)
    ]
    at = 0
    for batch in batches:
        size = len(next(iter(batch.values())).sums)
        for place, refitted in enumerate(specifications):
            here = slice(at, at + size)
            log_odds[here, place], p[here, place] = _refit(
                refitted, kept[place], parts[place], batch[refitted.rows]
            )
        at += size
    return log_odds, p


def extremes(log_odds: Floats, p: Floats, alpha: float) -> tuple[Floats, Floats]:
    """What the test of a curve compares, over the specifications on the last axis: how far their median lies
    from zero, and the larger of the shares that are significantly below and above it. Not a number where an
    estimate is none."""
    with np.errstate(invalid="ignore"):
        sure = p <= alpha
        below, above = ((sure & side).mean(axis=-1) for side in (log_odds < 0, log_odds > 0))
    sound = ~np.isnan(log_odds).any(axis=-1)
    median: Floats = np.where(sound, np.abs(np.median(log_odds, axis=-1)), np.nan)
    share: Floats = np.where(sound, np.maximum(below, above), np.nan)
    return median, share


def permutation_p(observed: float, shuffled: Floats) -> float:
    """(1 + shuffles whose statistic is `observed` or more, to nine decimals) / (1 + shuffles); one that is
    not a number counts among them."""
    reached = int((~(shuffled < observed - 1e-9)).sum())
    return (1 + reached) / (1 + len(shuffled))


def _refit(
    specification: Specification, kept: CaseTotals, part: Whole, batch: ShuffledSums
) -> tuple[Floats, Floats]:
    from scipy.special import stdtr

    square = (slice(None), part[:, None], part[None, :])
    try:
        many = fit_many(specification.design, kept, batch.sums[:, part], batch.ss[square], batch.sn[square])
    except NotEstimable:
        if len(batch.sums) == 1:
            nothing = np.full((1, len(specification.contrasts)), np.nan)
            return nothing, nothing
        single = [_refit(specification, kept, part, batch.only(at)) for at in range(len(batch.sums))]
        return np.concatenate([one for one, _ in single]), np.concatenate([other for _, other in single])
    value: Floats = many.coefficients @ specification.contrasts.T
    variance = np.einsum("ck,bkl,cl->bc", specification.contrasts, many.covariances, specification.contrasts)
    with np.errstate(divide="ignore", invalid="ignore"):
        p: Floats = 2 * stdtr(kept.clusters - 1, -np.abs(value) / np.sqrt(np.maximum(variance, 0.0)))
    return value, p


class _Tables(NamedTuple):
    """What the cases of an island hold by pattern, (cases, patterns): rows and sums, and what the sums gain
    where the case is exchanged."""

    rows: Numbers
    sums: Numbers
    more: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Island:
    """Cases whose patterns no other cases have: their numbers, which pairs are theirs, and the places of
    these pairs' entries in a table (cases, patterns), laid flat, (n, 2)."""

    cases: Whole
    patterns: Whole
    pairs: Whole
    places: Whole

    def tables(self, held: Entries) -> _Tables:
        """In single precision where whole numbers are so small that it is exact."""
        values = [self._table(totals) for totals in (held.rows, held.sums, held.sums[:, ::-1] - held.sums)]
        largest = max(float(np.abs(value).max()) for value in values)
        whole = all(bool((table == np.rint(table)).all()) for table in values)
        small = whole and 4 * largest**2 * len(self.cases) < 2**24
        return _Tables(*(table.astype(np.float32) if small else table for table in values))

    def _table(self, values: Floats) -> Floats:
        shape = len(self.cases), len(self.patterns)
        flat = np.bincount(self.places.ravel(), values[self.pairs].ravel(), shape[0] * shape[1])
        table: Floats = flat.astype(np.float64).reshape(shape)
        return table


def _islands(case: Whole, patterns: Whole, width: int) -> Iterator[_Island]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count = int(case.max()) + 1
    ends = np.repeat(case, 2), count + patterns.ravel()
    link = csr_array((np.ones(len(ends[0])), ends), shape=(count + width, count + width))
    home = connected_components(link, directed=False)[1][case]
    for island in np.unique(home):
        members = np.flatnonzero(home == island)
        here, column = np.unique(patterns[members], return_inverse=True)
        own, row = np.unique(case[members], return_inverse=True)
        yield _Island(own, here, members, row.ravel()[:, None] * len(here) + column.reshape(-1, 2))


def _empty(size: int, width: int) -> ShuffledSums:
    def square() -> Floats:
        return np.zeros((size, width, width))

    return ShuffledSums(np.zeros((size, width)), square(), square())


def _add(made: ShuffledSums, some: slice, island: _Island, table: _Tables, coins: Flags) -> None:
    """The totals of an island's cases, for some of the shuffles: the coin of each case, (b, cases)."""
    s = table.sums + coins[:, island.cases, None] * table.more
    across = s.transpose(0, 2, 1)
    square = (some, island.patterns[:, None], island.patterns[None, :])
    made.sums[some, island.patterns] = s.sum(axis=1)
    made.ss[square] = across @ s
    made.sn[square] = across @ table.rows
