"""Tests of a clustered logit for few and unequal cases: the cluster jackknife and its degrees of freedom.

The errors that the paper takes (`clustered_logit`: CR1, compared with Student's t of G - 1) are too small
where cases are few or unequal: where one of 40 cases holds 60 % of the items they find a difference that is
not there in .4 of all studies. Here each case is left out once. With A = X'WX of all rows and A_g, u_g of
case g, all at the maximum, one Newton step from there moves the coefficients by

    d_g = -(A - A_g)^-1 u_g,     V = (G - 1) / G x sum over cases of d_g d_g'

(CV3L of MacKinnon, Nielsen & Webb 2024, "Cluster-robust jackknife and bootstrap inference for logistic
regression models"; one step, so that a logit that is separated without some case still has errors). How well
V is known depends on how equal the cases are. Its degrees of freedom are Satterthwaite's (Bell & McCaffrey
2002; of q combinations Pustejovsky & Tipton's 2018) for cases that differ in what is tested, each in its own
way: the covariance of u_g is proportional to A_g A^-1 A_g. Of equal cases they are G - 1, and where one case
decides about 1. One combination is compared with Student's t of them; the interval is of the same error and
the same t, so that it holds 0 exactly where p is above its level.

Several combinations are tested by the sum of their squares, in the metric in which independent rows would
have the variance 1, over its mean (Brunner, Dette & Munk 1997; Rao & Scott 1984). With D their covariance
there it is taken for Box's F of tr(D)^2 / tr(D^2) and v times as many degrees of freedom: of one combination
the square of t. The inverse of a covariance that few cases show (Hotelling's T-squared) finds 15 interactions
at rates of 2 % among 24 cases without any in a quarter of studies, and has no more power (docs/sizes.md).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats
from gridc.statistics.case_totals import CaseTable, distinct
from gridc.statistics.clustered_logit import NO_VARIANCE, NotEstimable

ALONE = 1e-9
"""What is left, without a case, of the information on a direction that this case alone has: 0 but for
rounding."""
FLOOR = 20.0
"""The effective number of cases below which nothing is decided (docs/sizes.md)."""


def effective_number(sizes: ArrayLike) -> float:
    """How many units of one size would give a mean that is known as well as that of units of these sizes:
    Kish's (sum n)^2 / sum n^2. 0 where there is none."""
    n = np.asarray(sizes, np.float64)
    return float(n.sum() ** 2 / max((n**2).sum(), 1.0))


def enough(effective: float) -> bool:
    """Whether so many cases, by their effective number, are so many that a test holds its level."""
    return effective >= FLOOR * (1 - 1e-9)


@dataclass(frozen=True, slots=True)
class Spread:
    """How evenly cases carry what is tested: their number, the effective number (Carter, Schnepel &
    Steigerwald 2017: that of equal cases whose estimate would be known as well), and the share of the
    information that the largest one has."""

    cases: int
    effective: float
    largest: float

    @property
    def enough(self) -> bool:
        """Whether they are so many that a test holds its level."""
        return enough(self.effective)


@dataclass(frozen=True, slots=True)
class TestedCombination:
    """One combination of coefficients: the estimate in log odds, its error, their ratio, the degrees of
    freedom, the two-sided p-value, the one against values at or below zero, and the interval."""

    estimate: float
    error: float
    ratio: float
    df: float
    p: float
    p_greater: float
    low: float
    high: float
    spread: Spread


@dataclass(frozen=True, slots=True)
class TestedJointly:
    """Whether `q` combinations are all zero: Box's F `value`, its degrees of freedom above and below, and p;
    `spread` of the combination that is carried least evenly."""

    value: float
    q: int
    above: float
    below: float
    p: float
    spread: Spread


def box(gap: Floats, naive: Floats, covariance: Floats) -> tuple[float, float]:
    """The sum of squares of `gap`, (q,), over its mean where nothing is there, and the degrees of freedom of
    its numerator, 1 to q; `naive` is the covariance of q estimates from independent rows, (q, q)."""
    scale = np.linalg.inv(np.linalg.cholesky(naive))
    own, moved = scale @ covariance @ scale.T, scale @ gap
    total = float(np.trace(own))
    return float(moved @ moved) / total, total**2 / float((own * own).sum())


class Jackknife:
    """The errors of a fitted logit by leaving out cases: `coefficients` (K,) at the maximum on `design`
    (P, K), of the cases of `table`."""

    def __init__(self, design: ArrayLike, table: CaseTable, coefficients: Floats) -> None:
        from scipy.special import expit

        x = np.asarray(design, np.float64)
        self.coefficients, self.cases = coefficients, int(table.cases.sum())
        mu: Floats = expit(x @ coefficients)
        rows, self._of = distinct(table.rows)
        squares = (x[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        width = x.shape[1]
        information = ((rows * (mu * (1 - mu))) @ squares).reshape(-1, width, width)
        self._many = np.bincount(self._of, table.cases).astype(np.float64)
        whole = np.tensordot(self._many, information, 1)
        # In coordinates in which the information of all rows is 1, so that what is 0 is 0 but for rounding.
        self._root = np.linalg.inv(np.linalg.cholesky(whole))
        self._parts = self._root @ information @ self._root.T
        values, vectors = np.linalg.eigh(self._parts)
        kept = values < 1 - ALONE
        inverse = np.where(kept, 1 / np.where(kept, 1 - values, 1.0), 0.0)
        self._left = (vectors * inverse[:, None, :]) @ vectors.transpose(0, 2, 1)
        self._lost = vectors * np.where(kept, 0.0, 1.0)[:, None, :]
        scores = (table.sums - table.rows * mu) @ x @ self._root.T
        self._moves = np.einsum("fkl,fl->fk", self._left[self._of], scores)
        self._weights = table.cases.astype(np.float64)

    def combination(self, weights: ArrayLike, level: float = 0.95) -> TestedCombination:
        """The combination `weights`, shape (K,). NotEstimable where the cases do not tell."""
        from scipy.special import stdtr, stdtrit

        w = np.asarray(weights, np.float64)
        picked = self._determined(w[None])
        variance = float(self._covariance(picked)[0, 0])
        estimate, df = float(w @ self.coefficients), self._freedom(picked)
        error = float(np.sqrt(variance))
        ratio = estimate / error
        half = float(stdtrit(df, (1 + level) / 2)) * error
        return TestedCombination(
            estimate,
            error,
            ratio,
            df,
            float(2 * stdtr(df, -abs(ratio))),
            float(stdtr(df, -ratio)),
            estimate - half,
            estimate + half,
            self._spread(picked[0]),
        )

    def joint(self, restriction: ArrayLike) -> TestedJointly:
        """Whether all rows of `restriction`, (q, K), times the coefficients are zero. NotEstimable where the
        cases do not tell."""
        from scipy.special import fdtrc

        r = np.atleast_2d(np.asarray(restriction, np.float64))
        picked = self._determined(r)
        value, above = box(r @ self.coefficients, picked @ picked.T, self._covariance(picked))
        below = above * self._freedom(picked)
        spread = min(map(self._spread, picked), key=lambda spread: spread.effective)
        return TestedJointly(value, len(r), above, below, float(fdtrc(above, below, value)), spread)

    def known(self, restriction: ArrayLike) -> tuple[float, Spread]:
        """How well the errors of these combinations, (q, K), are known, whatever the outcomes: the degrees of
        freedom, and the spread of the one that is carried least evenly."""
        picked: Floats = np.atleast_2d(np.asarray(restriction, np.float64)) @ self._root.T
        return self._freedom(picked), min(map(self._spread, picked), key=lambda spread: spread.effective)

    def _determined(self, weights: Floats) -> Floats:
        """Combinations in the coordinates of the jackknife, (q, K)."""
        picked: Floats = weights @ self._root.T
        if self.cases < 2:
            raise NotEstimable("clusters", "one case: there is nothing to estimate errors between cases from")
        alone = np.abs(np.einsum("qk,fkl->fql", picked, self._lost)).max()
        if alone > 1e-6 * np.abs(picked).max():
            raise NotEstimable("clusters", "without one case this combination is not determined any more")
        naive = np.linalg.inv(np.linalg.cholesky(picked @ picked.T))
        least = float(np.linalg.eigvalsh(naive @ self._covariance(picked) @ naive.T)[0])
        if least <= NO_VARIANCE:
            raise NotEstimable("clusters", "the cases show no variance of some combination")
        return picked

    def _covariance(self, picked: Floats) -> Floats:
        moves = self._moves @ picked.T
        covariance: Floats = (moves.T * self._weights) @ moves * ((self.cases - 1) / self.cases)
        return covariance

    def _spread(self, picked: Floats) -> Spread:
        carried = np.einsum("k,fkl,l->f", picked, self._parts, picked) / float(picked @ picked)
        return Spread(self.cases, 1 / float(self._many @ carried**2), float(carried.max()))

    def _freedom(self, picked: Floats) -> float:
        """Degrees of freedom of the covariance of these combinations: see the module. Of a Wishart matrix of
        v degrees and mean 1, (q, q), the variances of all entries add up to q (q + 1) / v."""
        part, many = self._parts, self._many
        own = part @ part  # the covariance of u_g, in coordinates in which A is 1
        total = np.tensordot(many, own, 1)
        a = self._left @ picked.T  # (f, K, q)
        p, s = part @ a, own @ a
        diagonal = np.einsum("fks,fkt->fst", a, s)
        # Between two cases: -s_g' p_h - p_g' s_h + p_g' (sum of own) p_h, a product of rank 3 K.
        left = np.concatenate([s, p, p], axis=1)
        right = np.concatenate([-p, -s, total @ p], axis=1)
        same = diagonal + np.einsum("fks,fkt->fst", left, right)
        mean = np.tensordot(many, same, 1)
        scale = np.linalg.inv(np.linalg.cholesky((mean + mean.T) / 2))
        left, right = left @ scale.T, right @ scale.T
        across = np.einsum("fks,fkt->fst", left, right)
        same = scale @ same @ scale.T
        q = picked.shape[0]
        ll = np.einsum("f,fks,flt->stkl", many, left, left, optimize=True)
        rr = np.einsum("f,fks,flt->stkl", many, right, right, optimize=True)
        between = np.einsum("stkl,stkl->", ll, rr) + np.einsum("stkl,tskl->", ll, rr)
        within = 0.0
        for table, sign in ((same, 1.0), (across, -1.0)):
            square = np.einsum("fss,ftt->f", table, table) + np.einsum("fst,fts->f", table, table)
            within += sign * float(many @ square)
        return min(float(q * (q + 1) / (float(between) + within)), self.cases - 1.0)
