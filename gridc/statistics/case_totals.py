"""Rows collapsed to what an analysis by case needs: totals by pattern, and Gram matrices of per-case sums.

The covariates of a study are categorical, so its rows have few distinct covariate patterns (a model, a
benchmark and a level of each axis). An estimate needs the rows and the outcomes of each pattern; standard
errors clustered by case need, of every case, its rows n and its outcomes s by pattern, and these only as
the matrices sum over cases of s s', s n' and n n'. They are exact whole numbers for outcomes of 0 and 1,
they do not grow with the rows, and dropping models, benchmarks or levels is taking rows and columns of
them. They suffice to recompute every Wald test of a study without its items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
    from scipy.sparse import csr_array

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
    some = held > 0
    case, pattern, outcome, held = case[some], pattern[some], outcome[some], held[some]
    _, named = np.unique(case, return_inverse=True)
    shape = (int(named.max()) + 1, count)
    n = csr_array((held, (named, pattern)), shape=shape)
    s = csr_array((outcome, (named, pattern)), shape=shape)
    n.sum_duplicates()
    s.sum_duplicates()
    profiles, members = _profiles(n.indptr, n.indices, count)
    return CaseTotals(
        np.bincount(pattern, held, minlength=count).astype(np.float64),
        np.asarray(s.sum(axis=0), np.float64),
        (s.T @ s).toarray(),
        (s.T @ n).toarray(),
        (n.T @ n).toarray(),
        profiles,
        members,
    )


def nothing(count: int) -> CaseTotals:
    """The totals of no rows, in `count` patterns."""
    none, square = np.zeros(count), np.zeros((count, count))
    return CaseTotals(
        none, none, square, square, square, np.zeros((0, count), np.bool_), np.zeros(0, np.int64)
    )


def _profiles(starts: NDArray[np.int32], places: NDArray[np.int32], count: int) -> tuple[Flags, Whole]:
    """The distinct sets of patterns that cases have rows in, (F, P), and of how many cases each."""
    occupied = np.zeros((len(starts) - 1, count), np.bool_)
    occupied[np.repeat(np.arange(len(starts) - 1), np.diff(starts)), places] = True
    packed = np.packbits(occupied, axis=1)
    _, first, members = np.unique(packed, axis=0, return_index=True, return_counts=True)
    return occupied[first], members.astype(np.int64)


def totals_of_counts(rows: Sequence[int], sums: Sequence[int]) -> CaseTotals:
    """The totals where every row is a case of its own, from counts alone: P patterns with `rows` rows and
    `sums` outcomes of 1. The clustered errors are then those that are robust to misspecification."""
    n, s = np.asarray(rows, np.float64), np.asarray(sums, np.float64)
    if n.shape != s.shape or n.ndim != 1 or (s < 0).any() or (s > n).any():
        raise ValueError("there are not between 0 and `rows` outcomes of 1 in every pattern")
    one = np.eye(len(n), dtype=np.bool_)[n > 0]
    return CaseTotals(n, s, np.diag(s), np.diag(s), np.diag(n), one, n[n > 0].astype(np.int64))
