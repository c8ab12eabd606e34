"""Logistic regression with errors clustered by case: the paper's, and the cluster jackknife's.

The logit on categorical covariates is that of the scaffold study's confirmatory tests (sec. 5, Q.3): a safe
answer is regressed on the configuration, with fixed effects of model and benchmark, and the errors allow for
any dependence among the rows of one case. The variance is

    V = A^-1 B A^-1 x G / (G - 1) x (N - 1) / (N - K),   A = X'WX,   B = sum over cases of u u',

with u the score of a case, N rows, G cases and K coefficients: Stata's factor, as statsmodels applies it. The
variance is known from G scores only, so that one combination of coefficients is compared with Student's t of
G - 1 degrees of freedom. What decides takes the errors of the jackknife below.

Everything is computed from `CaseTotals`, whatever the number of rows. Estimates that do not exist
(separation, collinear covariates, one case) are errors: no number comes from a failed fit.

The errors that the paper takes (CR1, compared with Student's t of G - 1) are too small where cases are few or
unequal: where one of 40 cases holds 60 % of the items they find a difference that is not there in .4 of all
studies. Here each case is left out once. With A = X'WX of all rows and A_g, u_g of case g, all at the
maximum, one Newton step from there moves the coefficients by

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats
from gridc.statistics.case_totals import CaseTable, CaseTotals, distinct_rows

STEPS = 50
"""Newton's method doubles its digits each step; a maximum that exists is reached in about ten."""
FLAT = 1e-13
"""The gradient, as a share of the rows, at which the maximum counts as reached."""
FAR = 30.0
"""Log odds beyond which nothing is a rate any more: a maximum that far out lies at infinity."""
NO_VARIANCE = 1e-12
"""A variance between cases, over the one that takes rows as independent, that is zero but for rounding."""
EXTREME = 1e-6
"""A fitted probability this near to 0 or 1, where no row says otherwise, is looked at for separation."""


class NotEstimable(ValueError):
    """A coefficient that these rows do not determine, and why.

    reason   rows (there are none), constant (one outcome only), collinear, separated, saturated (as many
             coefficients as rows), or clusters (too few cases for the errors or the test)
    """

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class LogitFit:
    """Maximum likelihood: K `coefficients`, log odds; their covariance clustered by case, and the `naive` one
    that takes rows as independent, (K, K); the log-likelihood, the number of rows, and that of cases."""

    coefficients: Floats
    covariance: Floats
    naive: Floats
    log_likelihood: float
    observations: int
    clusters: int

    @property
    def errors(self) -> Floats:
        """Standard errors clustered by case, shape (K,); 0 where the cases show no variance."""
        errors: Floats = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return errors


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination of coefficients: its estimate in log odds, standard error, their ratio z, the two-sided
    p-value, the one against values at or below zero, and an interval, all by Student's t."""

    estimate: float
    error: float
    z: float
    p: float
    p_greater: float
    low: float
    high: float


def fit(design: ArrayLike, totals: CaseTotals) -> LogitFit:
    """The logit of the outcomes on `design`, shape (P, K): the covariates of each pattern of `totals`.

    Outcomes between 0 and 1 are allowed (Papke and Wooldridge 1996): the same estimating equations hold, and
    the clustered errors with them; `naive` and the log-likelihood then mean nothing.

    Raises NotEstimable, with its reason, where the maximum does not exist or the errors do not.
    """
    many = fit_many(design, totals, totals.sums[None], totals.ss[None], totals.sn[None])
    used = totals.rows > 0
    value = _log_likelihood(
        totals.rows[used], totals.sums[used], np.asarray(design, float)[used] @ many.coefficients[0]
    )
    return LogitFit(
        many.coefficients[0],
        many.covariances[0],
        many.naive[0],
        float(value),
        totals.observations,
        totals.clusters,
    )


@dataclass(frozen=True, slots=True, eq=False)
class ManyFits:
    """Fits of B outcomes on one design: `coefficients` (B, K), `covariances` and `naive` (B, K, K)."""

    coefficients: Floats
    covariances: Floats
    naive: Floats


def fit_many(
    design: ArrayLike,
    totals: CaseTotals,
    sums: Floats,
    ss: Floats,
    sn: Floats,
    rows: Floats | None = None,
    nn: Floats | None = None,
) -> ManyFits:
    """`fit` for B outcomes of the same cases at once, such as permutations: their `sums`, (B, P), and Gram
    matrices `ss` and `sn`, (B, P, P), in place of those of `totals`; where rows moved too, `rows`, (B, P),
    and `nn`, (B, P, P)."""
    used = totals.rows > 0
    x, s = _on_patterns(design, len(used))[used], sums[:, used]
    n = np.broadcast_to(totals.rows if rows is None else rows, sums.shape)[:, used]
    _refuse_undetermined(x, n, s, totals.clusters)
    beta = _maximise(x, n, s)
    mu = _means(beta @ x.T)
    bread = np.linalg.inv(_information(x, n, mu))
    nn = totals.nn[None] if nn is None else nn
    if not used.all():
        square = (slice(None), used.nonzero()[0][:, None], used.nonzero()[0][None, :])
        ss, sn, nn = ss[square], sn[square], nn[square]
    gram = sn * mu[:, None, :]
    gram = ss - gram - gram.transpose(0, 2, 1)
    gram += nn * mu[:, :, None] * mu[:, None, :]
    clusters, count, width = totals.clusters, n.sum(axis=1)[:, None, None], x.shape[1]
    factor = clusters / (clusters - 1) * (count - 1) / (count - width)
    covariance = bread @ (x.T @ gram @ x) @ bread * factor
    symmetric: Floats = (covariance + covariance.transpose(0, 2, 1)) / 2
    return ManyFits(beta, symmetric, np.asarray(bread, np.float64))


def maximum(design: ArrayLike, table: CaseTable) -> Floats:
    """The coefficients of `fit` alone, (K,), of the cases of `table`: what `Jackknife` starts from."""
    rows, sums = table.cases @ table.rows, table.cases @ table.sums
    used = rows > 0
    x, n, s = _on_patterns(design, len(used))[used], rows[None, used], sums[None, used]
    _refuse_undetermined(x, n, s, int(table.cases.sum()))
    beta: Floats = _maximise(x, n, s)[0]
    return beta


def combination(fitted: LogitFit, weights: ArrayLike, level: float = 0.95) -> Combination:
    """The combination `weights`, shape (K,), of the coefficients."""
    from scipy.special import stdtr, stdtrit

    w = np.asarray(weights, np.float64)
    estimate, variance = float(w @ fitted.coefficients), float(w @ fitted.covariance @ w)
    if variance <= NO_VARIANCE * float(w @ fitted.naive @ w):
        raise NotEstimable("clusters", "the cases show no variance of this combination")
    error = float(np.sqrt(variance))
    z, free = estimate / error, fitted.clusters - 1
    p, greater = float(2 * stdtr(free, -abs(z))), float(stdtr(free, -z))
    half = float(stdtrit(free, (1 + level) / 2)) * error
    return Combination(estimate, error, z, p, greater, estimate - half, estimate + half)


def unit(place: int | Sequence[int], width: int) -> Floats:
    """Weights that pick one coefficient of `width`, shape (width,), or several, (q, width)."""
    picked: Floats = np.eye(width)[place]
    return picked


def _on_patterns(design: ArrayLike, patterns: int) -> Floats:
    every = np.asarray(design, np.float64)
    if every.ndim != 2 or len(every) != patterns:
        raise ValueError(f"the design has shape {every.shape}, for {patterns} patterns")
    return every


def _refuse_undetermined(x: Floats, n: Floats, s: Floats, clusters: int) -> None:
    if not len(x):
        raise NotEstimable("rows", "there is no row")
    total, rows = s.sum(axis=1), n.sum(axis=1)
    if (total <= 0).any() or (total >= rows).any():
        only = 0 if (total <= 0).any() else 1
        raise NotEstimable("constant", f"all {int(rows[0]):,} outcomes are {only}")
    rank = int(np.linalg.matrix_rank(x))
    if rank < x.shape[1]:
        raise NotEstimable("collinear", f"{x.shape[1]} coefficients on covariates of rank {rank}")
    if rows.min() <= x.shape[1]:
        raise NotEstimable("saturated", f"{int(rows.min())} rows for {x.shape[1]} coefficients")
    if clusters < 2:
        raise NotEstimable("clusters", "one case: there is nothing to estimate errors between cases from")


def _means(eta: Floats) -> Floats:
    from scipy.special import expit

    mean: Floats = expit(eta)
    return mean


def _log_likelihood(n: Floats, s: Floats, eta: Floats) -> Floats:
    value: Floats = (s * eta - n * np.logaddexp(0, eta)).sum(axis=-1)
    return value


def _information(x: Floats, n: Floats, mu: Floats) -> Floats:
    """X'WX of each outcome, (B, K, K)."""
    width = x.shape[1]
    squares = (x[:, :, None] * x[:, None, :]).reshape(len(x), width * width)
    information: Floats = ((n * mu * (1 - mu)) @ squares).reshape(-1, width, width)
    return information


def _maximise(x: Floats, n: Floats, s: Floats) -> Floats:
    """Newton's method with halved steps, for every row of `s`; (B, K). A maximum at infinity is walked to
    until a fitted probability is near 0 or 1, and is then decided exactly."""
    beta, flat = np.zeros((len(s), x.shape[1])), FLAT * n.sum(axis=1)
    going = np.arange(len(s))
    for _ in range(STEPS):
        eta = beta[going] @ x.T
        mu = _means(eta)
        gradient = (s[going] - n[going] * mu) @ x
        moving = (np.abs(gradient).max(axis=1) > flat[going]) & (np.abs(eta).max(axis=1) < FAR)
        going = going[moving]
        if not len(going):
            break
        information = _information(x, n[going], mu[moving])
        try:
            step = np.linalg.solve(information, gradient[moving][..., None])[..., 0]
        except np.linalg.LinAlgError:
            raise NotEstimable("collinear", "a covariate has no row left") from None
        beta[going] = _halved_step(x, n[going], s[going], beta[going], step, eta[moving])
    mu = _means(beta @ x.T)
    resting = np.abs((s - n * mu) @ x).max(axis=1) <= flat
    near = (((s <= 0) & (mu < EXTREME)) | ((s >= n) & (mu > 1 - EXTREME))).any(axis=1)
    for row in np.flatnonzero(near | ~resting):
        some = n[row] > 0
        if separated(x[some], n[row, some], s[row, some]):
            words = "a combination of covariates predicts outcomes without an error: odds are infinite"
            raise NotEstimable("separated", words)
    if not resting.all():
        raise NotEstimable("collinear", "covariates are so nearly collinear that no maximum was found")
    return beta


def _halved_step(x: Floats, n: Floats, s: Floats, beta: Floats, step: Floats, eta: Floats) -> Floats:
    """`beta` + `step`, each step halved until it does not lower the likelihood."""
    floor = _log_likelihood(n, s, eta)
    floor = floor - 1e-12 * np.abs(floor)
    for _ in range(STEPS):
        lower = _log_likelihood(n, s, (beta + step) @ x.T) < floor
        if not lower.any():
            break
        step = np.where(lower[:, None], step / 2, step)
    return beta + step


def separated(x: Floats, n: Floats, s: Floats) -> bool:
    """Whether some direction of the coefficients predicts every pattern of one outcome rightly, a pattern of
    both outcomes not at all, and one of them strictly, so that no maximum exists (Albert and Anderson 1984;
    Konis 2007). A linear programme decides it exactly."""
    from scipy.optimize import linprog

    none, all_ = s <= 0, s >= n
    signs = np.where(all_, 1.0, -1.0)[none | all_]
    ahead = x[none | all_] * signs[:, None]
    both = x[~(none | all_)]
    if not len(ahead):
        return False
    answer = linprog(
        -ahead.sum(axis=0),
        A_ub=-ahead,
        b_ub=np.zeros(len(ahead)),
        A_eq=both if len(both) else None,
        b_eq=np.zeros(len(both)) if len(both) else None,
        bounds=(-1, 1),
        method="highs",
    )
    return bool(-answer.fun > 1e-7)


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


def enough_cases(effective: float) -> bool:
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
        return enough_cases(self.effective)


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
class JointTest:
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
        rows, self._of = distinct_rows(table.rows)
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

    def joint(self, restriction: ArrayLike) -> JointTest:
        """Whether all rows of `restriction`, (q, K), times the coefficients are zero. NotEstimable where the
        cases do not tell."""
        from scipy.special import fdtrc

        r = np.atleast_2d(np.asarray(restriction, np.float64))
        picked = self._determined(r)
        value, above = box(r @ self.coefficients, picked @ picked.T, self._covariance(picked))
        below = above * self._freedom(picked)
        spread = min(map(self._spread, picked), key=lambda spread: spread.effective)
        return JointTest(value, len(r), above, below, float(fdtrc(above, below, value)), spread)

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
