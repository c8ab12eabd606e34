"""Specification curves: one estimate under every combination of analytic choices (Simonsohn et al. 2020).

Every specification is a fit of its own on the totals of the rows that it keeps (`CaseTotals.of_patterns`).
Inference about the whole curve exchanges the two arms that it compares within groups (a case under one
model), under which nothing but the arm's label moves, and refits *all* specifications on the same shuffled
entries, so that a statistic of the curve is compared with itself. An entry moves whole, with what it counts
under every reading of it: an unreadable answer is left out wherever it comes to lie. It is exact where the
arms could be exchanged in every group without changing the distribution of anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridc.statistics.case_totals import CaseTotals
from gridc.statistics.clustered_logit import Combination, NotEstimable, combination, fit, fit_many

Floats = NDArray[np.float64]
Numbers = NDArray[np.float32] | NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

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


class Summary(NamedTuple):
    """Of a curve's log odds: median, quartiles, and which shares are significantly below and above zero."""

    median: float
    low: float
    high: float
    below: float
    above: float


def estimates(
    specifications: Sequence[Specification], rows: Mapping[str, CaseTotals], level: float = 0.95
) -> list[list[Combination] | NotEstimable]:
    """Each specification's contrasts, with errors clustered by case; what fails is its own answer, and
    nothing stands in for it."""
    found: list[list[Combination] | NotEstimable] = []
    for each in specifications:
        try:
            fitted = fit(each.design, rows[each.rows].of_patterns(each.kept))
            found.append([combination(fitted, weights, level) for weights in each.contrasts])
        except NotEstimable as error:
            found.append(error)
    return found


def summarise(log_odds: Floats, p: Floats, alpha: float) -> Summary:
    """Over all values, whatever their shape."""
    low, median, high = np.quantile(log_odds, [0.25, 0.5, 0.75])
    sure = p <= alpha
    return Summary(
        float(median),
        float(low),
        float(high),
        float((sure & (log_odds < 0)).mean()),
        float((sure & (log_odds > 0)).mean()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Entries of two arms whose labels may be exchanged: N pairs, the case of each and the group of pairs
    that it moves with, (N,), and the patterns of its two entries, (N, 2)."""

    cases: Whole
    groups: Whole
    patterns: Whole


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What the entries of pairs hold under one reading: rows and sums of their outcomes, (N, 2)."""

    rows: Floats
    sums: Floats


class Shuffled(NamedTuple):
    """B shuffles: sums by pattern, (B, P), and Gram matrices of per-case sums with sums and with rows,
    (B, P, P); rows, (B, P), and their Gram matrix too where they moved."""

    sums: Floats
    ss: Floats
    sn: Floats
    rows: Floats | None
    nn: Floats | None

    def only(self, at: int) -> "Shuffled":
        """One of the shuffles."""
        one = slice(at, at + 1)
        rows, nn = (None if each is None else each[one] for each in (self.rows, self.nn))
        return Shuffled(self.sums[one], self.ss[one], self.sn[one], rows, nn)


def shuffles(
    pairs: Pairs,
    entries: Mapping[str, Entries],
    width: int,
    count: int,
    seed: int,
) -> Iterator[dict[str, Shuffled]]:
    """`count` shuffles of rows in `width` patterns, in batches: the arms of each group exchanged or not, at
    random; the same under every reading, by whose name the entries are given. Entries of one case and
    pattern are of one group, or a ValueError says so."""
    generator = np.random.default_rng(seed)
    names, groups = np.unique(pairs.groups, return_inverse=True)
    islands = list(_islands(pairs, groups.ravel(), width))
    tables = {name: [each.tables(held) for each in islands] for name, held in entries.items()}
    moving = {name: bool((held.rows[:, 0] != held.rows[:, 1]).any()) for name, held in entries.items()}
    most = max(1, min(BATCH, NUMBERS // width**2))
    for start in range(0, count, most):
        size = min(most, count - start)
        coins = generator.integers(0, 2, (size, len(names))).astype(np.bool_)
        made = {name: _empty(size, width, moving[name]) for name in entries}
        for name, shuffled in made.items():
            for island, table in zip(islands, tables[name], strict=True):
                at_once = max(1, CACHED // table.sums.size)
                for first in range(0, size, at_once):
                    some = slice(first, first + at_once)
                    _add(shuffled, some, island, table, coins[some])
        yield made


def refits(
    specifications: Sequence[Specification],
    batches: Iterator[dict[str, Shuffled]],
    totals: Mapping[str, CaseTotals],
    count: int,
) -> tuple[Floats, Floats]:
    """Log odds and p-values of every specification on every shuffle, (count, S, C); not a number where a
    specification cannot be fitted to a shuffle."""
    log_odds = np.full((count, len(specifications), len(specifications[0].contrasts)), np.nan)
    p = np.full_like(log_odds, np.nan)
    parts = [np.flatnonzero(each.kept) for each in specifications]
    kept = [totals[each.rows].of_patterns(part) for each, part in zip(specifications, parts, strict=True)]
    at = 0
    for batch in batches:
        size = len(next(iter(batch.values())).sums)
        for place, each in enumerate(specifications):
            here = slice(at, at + size)
            log_odds[here, place], p[here, place] = _refit(each, kept[place], parts[place], batch[each.rows])
        at += size
    return log_odds, p


def permutation_p(observed: float, shuffled: Floats) -> float:
    """(1 + shuffles whose statistic is `observed` or more) / (1 + shuffles); one that is not a number counts
    among them."""
    reached = int((~(shuffled < observed - 1e-12)).sum())
    return (1 + reached) / (1 + len(shuffled))


def _refit(each: Specification, kept: CaseTotals, part: Whole, batch: Shuffled) -> tuple[Floats, Floats]:
    from scipy.special import stdtr

    square = (slice(None), part[:, None], part[None, :])
    rows = None if batch.rows is None else batch.rows[:, part]
    nn = None if batch.nn is None else batch.nn[square]
    given = (batch.sums[:, part], batch.ss[square], batch.sn[square], rows, nn)
    try:
        many = fit_many(each.design, kept, *given)
    except NotEstimable:
        if len(batch.sums) == 1:
            nothing = np.full((1, len(each.contrasts)), np.nan)
            return nothing, nothing
        single = [_refit(each, kept, part, batch.only(at)) for at in range(len(batch.sums))]
        return np.concatenate([one for one, _ in single]), np.concatenate([other for _, other in single])
    value: Floats = many.coefficients @ each.contrasts.T
    variance = np.einsum("ck,bkl,cl->bc", each.contrasts, many.covariances, each.contrasts)
    with np.errstate(divide="ignore", invalid="ignore"):
        p: Floats = 2 * stdtr(kept.clusters - 1, -np.abs(value) / np.sqrt(np.maximum(variance, 0.0)))
    return value, p


class _Tables(NamedTuple):
    """What the cases of an island hold by pattern, (cases, patterns): rows and sums, and what these gain
    where the entry's group is exchanged."""

    rows: Numbers
    more_rows: Numbers
    sums: Numbers
    more_sums: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Island:
    """Cases whose patterns no other cases have: which pairs are theirs, the places of these pairs' entries in
    a table (cases, patterns), laid flat, (n, 2), and the group that each place of the table moves with."""

    patterns: Whole
    pairs: Whole
    places: Whole
    groups: Whole

    def tables(self, held: Entries) -> _Tables:
        """In single precision where whole numbers are so small that it is exact."""
        values = [self._table(each) for own in (held.rows, held.sums) for each in (own, own[:, ::-1] - own)]
        largest = max(float(np.abs(each).max()) for each in values)
        whole = all(bool((each == np.rint(each)).all()) for each in values)
        small = whole and 4 * largest**2 * len(self.groups) < 2**24
        rows, more_rows, sums, more_sums = (each.astype(np.float32) if small else each for each in values)
        return _Tables(rows, more_rows, sums, more_sums)

    def _table(self, values: Floats) -> Floats:
        flat = np.bincount(self.places.ravel(), values[self.pairs].ravel(), self.groups.size)
        table: Floats = flat.astype(np.float64).reshape(self.groups.shape)
        return table


def _islands(pairs: Pairs, groups: Whole, width: int) -> Iterator[_Island]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, case = np.unique(pairs.cases, return_inverse=True)
    count = int(case.max()) + 1
    ends = np.repeat(case.ravel(), 2), count + pairs.patterns.ravel()
    link = csr_array((np.ones(len(ends[0])), ends), shape=(count + width, count + width))
    home = connected_components(link, directed=False)[1][case.ravel()]
    for island in np.unique(home):
        members = np.flatnonzero(home == island)
        patterns, column = np.unique(pairs.patterns[members], return_inverse=True)
        own, row = np.unique(case.ravel()[members], return_inverse=True)
        places = row.ravel()[:, None] * len(patterns) + column.reshape(-1, 2)
        moves_with = np.zeros((len(own), len(patterns)), np.int64)
        moves_with.ravel()[places] = groups[members][:, None]
        if (moves_with.ravel()[places] != groups[members][:, None]).any():
            raise ValueError("entries of one case and pattern move with several groups")
        yield _Island(patterns, members, places, moves_with)


def _empty(size: int, width: int, moving: bool) -> Shuffled:
    def square() -> Floats:
        return np.zeros((size, width, width))

    wide: Floats | None = np.zeros((size, width)) if moving else None
    return Shuffled(np.zeros((size, width)), square(), square(), wide, square() if moving else None)


def _add(made: Shuffled, some: slice, island: _Island, table: _Tables, coins: Flags) -> None:
    """The totals of an island's cases, for some of the shuffles: the coin of each group, (b, groups)."""
    exchanged = coins[:, island.groups]
    s = table.sums + exchanged * table.more_sums
    across = s.transpose(0, 2, 1)
    n = table.rows if made.rows is None else table.rows + exchanged * table.more_rows
    square = (some, island.patterns[:, None], island.patterns[None, :])
    made.sums[some, island.patterns] = s.sum(axis=1)
    made.ss[square] = across @ s
    made.sn[square] = across @ n
    if made.rows is not None and made.nn is not None:
        made.rows[some, island.patterns] = n.sum(axis=1)
        made.nn[square] = n.transpose(0, 2, 1) @ n
