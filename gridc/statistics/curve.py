"""Specification curves: one estimate under every combination of analytic choices (Simonsohn et al. 2020).

Every specification is a fit of its own on the totals of the rows that it keeps (`CaseTotals.of_patterns`).
Inference about the whole curve shuffles the arms within each (model, case), under which nothing but the arm's
label moves, and refits *all* specifications on the same shuffled rows, so that a statistic of the curve is
compared with itself. It is exact under the sharp null: the arm changes no single outcome.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.case_totals import CaseTotals
from gridc.statistics.clustered_logit import Combination, combination, fit, fit_many

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

BATCH = 100
"""Shuffles that are fitted together."""


@dataclass(frozen=True, slots=True, eq=False)
class Specification:
    """A way to analyse: which of the P patterns it keeps (flags), its design on those, (kept, K), and the
    contrasts it reads, (C, K). `rows` names the rows it is about, where specifications differ in them: the
    reading of unreadable answers."""

    kept: NDArray[np.bool_]
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
    specifications: Sequence[Specification], rows: dict[str, CaseTotals]
) -> list[list[Combination]]:
    """Each specification's contrasts, with errors clustered by case. NotEstimable where one has none: a
    curve does not skip what fails."""
    found = []
    for each in specifications:
        fitted = fit(each.design, rows[each.rows].of_patterns(each.kept))
        found.append([combination(fitted, weights) for weights in each.contrasts])
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
class Blocks:
    """Rows that may be shuffled: a block has an outcome for each of A arms, or none (not a number), (N, A);
    its case, (N,), and the pattern of its first arm, (N,), that of arm a lying a further."""

    outcomes: Floats
    cases: Whole
    first: Whole


def shuffles(
    blocks: Blocks, totals: CaseTotals, count: int, seed: int
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """`count` shuffles of the arms within blocks, in batches: sums (B, P), and Gram matrices of sums with
    sums and with rows, (B, P, P). `totals` are those of the same rows, unshuffled."""
    generator = np.random.default_rng(seed)
    islands = list(_islands(blocks, totals))
    width = len(totals.rows)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        sums, ss, sn = (np.zeros((size, *shape)) for shape in ((width,), (width, width), (width, width)))
        for at in range(size):
            outcomes = _shuffled(blocks.outcomes, generator)
            for island in islands:
                s = island.sums(outcomes)
                place = np.ix_(island.patterns, island.patterns)
                sums[at, island.patterns] = s.sum(axis=0)
                ss[at][place] = s.T @ s
                sn[at][place] = s.T @ island.rows
        yield sums, ss, sn


def permutation_p(
    specifications: Sequence[Specification],
    shuffled: dict[str, Callable[[], Iterator[tuple[Floats, Floats, Floats]]]],
    rows: dict[str, CaseTotals],
    statistic: Callable[[Floats, Floats], float],
    observed: float,
    count: int,
) -> float:
    """(1 + shuffles whose `statistic` of log odds and p-values, (S, C), is `observed` or more) / (1 + count).
    `shuffled` starts the same shuffles anew for each way to read the rows."""
    from scipy.stats import norm

    log_odds = np.empty((count, len(specifications), len(specifications[0].contrasts)))
    p = np.empty_like(log_odds)
    for name, start in shuffled.items():
        at = 0
        for sums, ss, sn in start():
            for place, each in enumerate(specifications):
                if each.rows != name:
                    continue
                kept = np.flatnonzero(each.kept)
                square = (slice(None), kept[:, None], kept[None, :])
                many = fit_many(
                    each.design, rows[name].of_patterns(kept), sums[:, kept], ss[square], sn[square]
                )
                value = many.coefficients @ each.contrasts.T
                error = np.sqrt(np.einsum("ck,bkl,cl->bc", each.contrasts, many.covariances, each.contrasts))
                log_odds[at : at + len(sums), place] = value
                p[at : at + len(sums), place] = 2 * norm.sf(np.abs(value / error))
            at += len(sums)
    reached = sum(statistic(log_odds[draw], p[draw]) >= observed - 1e-12 for draw in range(count))
    return (1 + reached) / (1 + count)


@dataclass(frozen=True, slots=True, eq=False)
class _Island:
    """Cases whose patterns no other cases have: their blocks' places in a table (cases, patterns)."""

    patterns: Whole
    blocks: Whole
    flat: Whole
    held: NDArray[np.bool_]
    shape: tuple[int, int]
    rows: Floats

    def sums(self, outcomes: Floats) -> Floats:
        values = outcomes[self.blocks][self.held]
        sums: Floats = np.zeros(self.shape)
        np.add.at(sums.reshape(-1), self.flat, values)
        return sums


def _islands(blocks: Blocks, totals: CaseTotals) -> Iterator[_Island]:
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(totals.nn > 0, directed=False)
    arms = np.arange(blocks.outcomes.shape[1])
    where = blocks.first[:, None] + arms
    some = ~np.isnan(blocks.outcomes)
    home = label[np.where(some, where, blocks.first[:, None])].max(axis=1)
    for island in range(count):
        patterns, members = np.flatnonzero(label == island), np.flatnonzero(home == island)
        if not len(members):
            continue
        _, case = np.unique(blocks.cases[members], return_inverse=True)
        column = np.full(len(label), -1)
        column[patterns] = np.arange(len(patterns))
        shape = (int(case.max()) + 1, len(patterns))
        held = some[members]
        flat = (case[:, None] * shape[1] + column[where[members]])[held]
        rows = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
        yield _Island(patterns, members, flat, held, shape, rows)


def _shuffled(outcomes: Floats, generator: np.random.Generator) -> Floats:
    """Each row's outcomes in a random order among the arms that it has."""
    shuffled = outcomes.copy()
    for size in np.unique(held := (~np.isnan(outcomes)).sum(axis=1)):
        rows = np.flatnonzero(held == size)
        present = ~np.isnan(outcomes[rows])
        values = outcomes[rows][present].reshape(len(rows), size)
        shuffled[rows[:, None], present.nonzero()[1].reshape(len(rows), size)] = generator.permuted(
            values, axis=1
        )
    return shuffled


def blocks_of(cases: ArrayLike, bases: ArrayLike, arms: ArrayLike, outcomes: ArrayLike, count: int) -> Blocks:
    """Blocks from rows: those with one case and one base pattern are a block, with an outcome for each of
    `count` arms. ValueError where a block has two rows of one arm."""
    case, base, arm = (np.asarray(values, np.int64) for values in (cases, bases, arms))
    pairs, block = np.unique(np.column_stack([case, base]), axis=0, return_inverse=True)
    place = block.ravel() * count + arm
    if len(np.unique(place)) < len(place):
        raise ValueError("two rows of one case, base and arm: replicates are averaged before a shuffle")
    table = np.full(len(pairs) * count, np.nan)
    table[place] = np.asarray(outcomes, np.float64)
    return Blocks(table.reshape(-1, count), pairs[:, 0], pairs[:, 1] * count)
