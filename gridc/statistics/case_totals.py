"""Collapses rows to the totals that an analysis by case needs: by pattern of the design, with Gram matrices
and paired answers.

The covariates of a study are categorical, so its rows have few distinct covariate patterns (a model, a
benchmark and a level of each axis). An estimate needs the rows and the outcomes of each pattern; standard
errors clustered by case need, of every case, its rows n and its outcomes s by pattern, and these only as the
matrices sum over cases of s s', s n' and n n'. They are exact whole numbers for outcomes of 0 and 1, they do
not grow with the rows, and dropping models, benchmarks or levels is taking rows and columns of them. They
suffice to recompute every Wald test of a study without its items.

Answers are compared in pairs: an item counts under all compared levels or under none. Whether an answer can
be read may depend on the level and on the item. Leaving out each unreadable answer by itself then compares
other items under one level than under the other, and finds a difference where there is none. So an item (of
one model, all else the same) is left out as a whole where it has no answer that counts under one of the
levels, and weighs the same under all of them where it has unequally many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.arrays import Flags, Floats, Whole

TOGETHER = 256
"""Cases whose Gram matrices are added up at a time: a table of them stays in a processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class CaseTotals:
    """What P patterns hold: `rows` and the `sums` of outcomes of each, shape (P,); over cases, the Gram
    matrices of the per-case sums of outcomes with each other (`ss`), with rows (`sn`), and of rows (`nn`),
    shape (P, P); sets of patterns that cases have rows in, `profiles` (F, P), and how many, `cases` (F,).
    """

    rows: Floats
    sums: Floats
    ss: Floats
    sn: Floats
    nn: Floats
    profiles: Flags
    cases: Whole

    def of_patterns(self, kept: ArrayLike) -> "CaseTotals":
        """The totals of some patterns alone: their numbers, or a flag for each. Cases without a row there
        are no longer counted."""
        chosen = np.asarray(kept)
        where = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        square = np.ix_(where, where)
        profiles = self.profiles[:, where]
        some = profiles.any(axis=1)
        return CaseTotals(
            self.rows[where],
            self.sums[where],
            self.ss[square],
            self.sn[square],
            self.nn[square],
            profiles[some],
            self.cases[some],
        )

    @property
    def clusters(self) -> int:
        """How many cases have a row."""
        return int(self.cases.sum())

    @property
    def observations(self) -> int:
        """How many rows there are."""
        return int(self.rows.sum())


def collapse(
    cases: ArrayLike, patterns: ArrayLike, outcomes: ArrayLike, count: int, counts: ArrayLike = 1
) -> CaseTotals:
    """The totals of rows: `cases` and `patterns` are whole numbers from 0, `outcomes` lie in [0, 1], all of
    shape (N,); there are `count` patterns. An entry may stand for several rows of its case and pattern:
    `counts` of them, whose outcomes add up to what `outcomes` says. A ValueError names what does not fit."""
    case, pattern = np.asarray(cases, np.int64), np.asarray(patterns, np.int64)
    outcome = np.asarray(outcomes, np.float64)
    held = np.broadcast_to(np.asarray(counts, np.float64), outcome.shape)
    if not (case.shape == pattern.shape == outcome.shape) or case.ndim != 1:
        raise ValueError("cases, patterns and outcomes are not lists of one length")
    if not held.any():
        raise ValueError("there are no rows")
    if case.min() < 0 or pattern.min() < 0 or pattern.max() >= count:
        raise ValueError(f"a case is below 0 or a pattern is not one of {count}")
    if not ((outcome >= 0) & (outcome <= held)).all():
        raise ValueError("an outcome is not between 0 and 1")
    if not held.all():
        some = held > 0
        case, pattern, outcome, held = case[some], pattern[some], outcome[some], held[some]
    case = _alike_together(numbered(case), pattern)
    order = np.argsort(case, kind="stable")
    case, pattern, outcome, held = case[order], pattern[order], outcome[order], held[order]
    ss, sn, nn = (np.zeros((count, count)) for _ in range(3))
    packed: list[NDArray[np.uint8]] = []
    ends = np.searchsorted(case, np.arange(0, int(case[-1]) + 1 + TOGETHER, TOGETHER))
    for start, end in pairwise(ends.tolist()):
        here = slice(start, end)
        own = np.flatnonzero(np.bincount(pattern[here], minlength=count))
        place = np.zeros(count, np.int64)
        place[own] = np.arange(len(own))
        rows, sums = _by_case(
            case[here] - case[start], place[pattern[here]], outcome[here], len(own), held[here]
        )
        square = np.ix_(own, own)
        ss[square] += sums.T @ sums
        sn[square] += sums.T @ rows
        nn[square] += rows.T @ rows
        occupied = np.zeros((len(rows), count), np.bool_)
        occupied[:, own] = rows > 0
        packed.append(np.packbits(occupied, axis=1))
    profiles, of_case = distinct_rows(np.concatenate(packed))
    return CaseTotals(
        np.bincount(pattern, held, minlength=count).astype(np.float64),
        np.bincount(pattern, outcome, minlength=count).astype(np.float64),
        ss,
        sn,
        nn,
        np.unpackbits(profiles, axis=1, count=count).astype(np.bool_),
        np.bincount(of_case),
    )


@dataclass(frozen=True, slots=True, eq=False)
class CaseTable:
    """Kinds of cases: their `rows` and the `sums` of their outcomes by pattern, (F, P), and of how many
    `cases` each kind is, (F,). What leaving out one case after the other takes (`clustered_logit`)."""

    rows: Floats
    sums: Floats
    cases: Whole


def case_table(
    cases: ArrayLike, patterns: ArrayLike, outcomes: ArrayLike, count: int, counts: ArrayLike = 1
) -> CaseTable:
    """The kinds of cases of rows, given as to `collapse`. Cases without a row that counts are left out."""
    case, pattern = np.asarray(cases, np.int64), np.asarray(patterns, np.int64)
    outcome = np.asarray(outcomes, np.float64)
    held = np.broadcast_to(np.asarray(counts, np.float64), outcome.shape)
    some = held > 0
    rows, sums = _by_case(numbered(case[some]), pattern[some], outcome[some], count, held[some])
    kinds, of_case = distinct_rows(np.hstack([rows, sums]))
    return CaseTable(kinds[:, :count], kinds[:, count:], np.bincount(of_case))


def no_rows(count: int) -> CaseTotals:
    """The totals of no rows, in `count` patterns."""
    none, square = np.zeros(count), np.zeros((count, count))
    return CaseTotals(
        none, none, square, square, square, np.zeros((0, count), np.bool_), np.zeros(0, np.int64)
    )


def merged(parts: Sequence[Floats], numbers: Sequence[Sequence[int]]) -> Floats:
    """Rows of units, (units of the part, width), side by side, (units, parts x width), where those of one
    number are one unit. A part without numbers has units of its own."""
    named = [
        list(own) if own else [(at, place) for place in range(len(part))]
        for at, (part, own) in enumerate(zip(parts, numbers, strict=True))
    ]
    places = {name: place for place, name in enumerate(dict.fromkeys(chain.from_iterable(named)))}
    width = [part.shape[1] for part in parts]
    totals = np.zeros((len(places), sum(width)))
    for first, part, names in zip(accumulate(width, initial=0), parts, named, strict=False):
        totals[[places[name] for name in names], first : first + part.shape[1]] = part
    return totals


def numbered(names: Whole) -> Whole:
    """The place of each name, shape (N,), among all that occur: whole numbers from 0, none left out. `names`
    are whole numbers from 0; where they are not far apart, nothing is sorted."""
    largest = int(names.max(initial=-1))
    if largest > 8 * len(names):
        return np.unique(names, return_inverse=True)[1].ravel()
    occurs = np.zeros(largest + 1, np.int64)
    occurs[names] = 1
    places: Whole = (np.cumsum(occurs) - 1)[names]
    return places


def distinct_rows(table: NDArray[Any]) -> tuple[NDArray[Any], Whole]:
    """The rows of a table (N, K) that differ, in the order in which they come first, (F, K), and which of
    them each row is, (N,)."""
    rows = np.ascontiguousarray(table)
    keys = rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel().tolist()
    kinds: dict[bytes, int] = {}
    of_row = np.array([kinds.setdefault(key, len(kinds)) for key in keys], np.int64)
    return table[np.unique(of_row, return_index=True)[1]], of_row


def _alike_together(case: Whole, pattern: Whole) -> Whole:
    """Other numbers for cases, by which those that share a pattern lie near each other."""
    some = np.zeros(int(case.max()) + 1, np.int64)
    some[case] = pattern
    place = np.empty_like(some)
    place[np.argsort(some, kind="stable")] = np.arange(len(some))
    renumbered: Whole = place[case]
    return renumbered


def _by_case(case: Whole, pattern: Whole, outcome: Floats, count: int, held: Floats) -> tuple[Floats, Floats]:
    """Rows and sums of outcomes by case and pattern, (cases, `count`) both."""
    cases = int(case.max(initial=-1)) + 1
    place = case * count + pattern
    rows, sums = (
        np.bincount(place, values, cases * count).reshape(cases, count) for values in (held, outcome)
    )
    return rows.astype(np.float64), sums.astype(np.float64)


ColumnName = tuple[tuple[str, str], ...]
"""What a column stands for: no level (the intercept), one (factor, level), or two of an interaction."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A covariate: its levels, the first of them the reference, and the level of each pattern, shape (P,)."""

    name: str
    levels: tuple[str, ...]
    codes: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DesignMatrix:
    """A matrix (P, K) whose columns are named."""

    columns: tuple[ColumnName, ...]
    matrix: Floats

    def places(self, *factors: str) -> list[int]:
        """The columns of one factor's main effect, or of the interaction of two, in the order of levels."""
        return [at for at, column in enumerate(self.columns) if tuple(name for name, _ in column) == factors]

    def contrast(self, factor: str, level: str, reference: str) -> Floats:
        """Weights of the coefficients that compare two levels of a factor's main effect, shape (K,)."""
        weights = np.zeros(len(self.columns))
        for sign, name in ((1, level), (-1, reference)):
            if ((factor, name),) in self.columns:
                weights[self.columns.index(((factor, name),))] += sign
        return weights


def factor(name: str, levels: Sequence[str], of_patterns: Sequence[str]) -> Factor:
    """A covariate from the level of each pattern. Levels that no pattern has are left out."""
    known = [level for level in levels if level in set(of_patterns)]
    return Factor(name, tuple(known), np.array([known.index(level) for level in of_patterns], np.int64))


def treatment(factors: Sequence[Factor], interactions: Sequence[tuple[str, str]] = ()) -> DesignMatrix:
    """Intercept, main effects of all factors, and the interactions of pairs of them."""
    by_name: Mapping[str, Factor] = {declared.name: declared for declared in factors}
    columns: list[ColumnName] = [()]
    parts: list[Floats] = [np.ones(len(factors[0].codes))]
    for factor in factors:
        for level in factor.levels[1:]:
            columns.append(((factor.name, level),))
            parts.append(_is_level(factor, level))
    for first, second in interactions:
        one, two = by_name[first], by_name[second]
        for a, b in product(one.levels[1:], two.levels[1:]):
            columns.append(((first, a), (second, b)))
            parts.append(_is_level(one, a) * _is_level(two, b))
    return DesignMatrix(tuple(columns), np.column_stack(parts))


def with_dose(design: DesignMatrix, name: str, scores: ArrayLike) -> DesignMatrix:
    """The design with one more column, of numbers: the score of each pattern (a dose), shape (P,)."""
    return DesignMatrix(
        (*design.columns, ((name, ""),)), np.column_stack([design.matrix, np.asarray(scores, float)])
    )


def _is_level(of: Factor, level: str) -> Floats:
    flags: Floats = (of.codes == of.levels.index(level)).astype(np.float64)
    return flags


def paired_totals(counts: Whole, earned: Floats) -> tuple[Whole, Floats]:
    """What counts of B items under A levels, (B, A): how many answers, and what they earned, at most 1 each.

    Items without an answer under one of the levels have none left. Where the others have not the same
    numbers of answers throughout (in one proportion: one level may be asked three times as often as another),
    each weighs as many answers as it has under the level with the fewest, with its mean under every level.
    """
    least = counts.min(axis=1, initial=np.iinfo(np.int64).max)
    whole = least > 0
    if not whole.any():
        return np.zeros_like(counts), np.zeros_like(earned)
    first = counts[whole][0]
    if (counts[whole] * first[0] == counts[whole][:, :1] * first).all():
        return np.where(whole[:, None], counts, 0), np.where(whole[:, None], earned, 0.0)
    weights = np.where(whole[:, None], least[:, None], 0) + np.zeros_like(counts)
    means: Floats = np.divide(earned * weights, counts, out=np.zeros_like(earned), where=weights > 0)
    return weights, means
