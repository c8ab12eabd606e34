"""What moves scores: shares of variance of a grid, variance components and generalizability.

Shares of a grid of scores are Type II and Type III sums of squares (SafetyRepro, app. F and H). The model is
the paper's: main effects of the model and of each harness axis, model x axis, and the two-way interactions of
the first axis with the later ones (template x decoding, template x few-shot). On a balanced grid Types I, II
and III are the same numbers; they part only where cells are missing. Type III is defined by sum-to-zero
contrasts on *every* factor: with treatment contrasts on one of them it is another quantity, which is what the
paper's table H shows.

Generalizability is that of scores over models, benchmarks and scaffolds (Brennan 2001; scaffold study, app.
G). Models (p) are measured under every combination of two facets. Mean squares of the complete table give the
variance components; a negative estimate is printed as it is. What enters the coefficient as 0 when negative
is the whole variance of what is generalised to, and each part of the error: with a fixed facet the model's
variance and that over the facet are estimated as one sum.

Which facets are fixed decides the coefficient, and a study has to say it: variance of models over a *fixed*
facet belongs to what is generalised to, over a *random* one to the error. The same mean squares of the
scaffold study give 0 with both facets random and .907 with both fixed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.arrays import Floats

MODEL = "model"
ROUNDING = 1e-12
"""A share below this is a rounding error of a share of 0."""

Term = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TermShare:
    """A term of the decomposition: sum of squares, degrees of freedom, eta^2 = SS / SS_total and Hays'
    omega^2 = max((SS - df MS_res) / (SS_total + MS_res), 0), None without residual degrees of freedom."""

    term: Term
    sum_of_squares: float
    df: int
    eta2: float
    omega2: float | None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Variance shares of one benchmark. `balanced`: every combination of levels occurs equally often."""

    type: Literal["II", "III"]
    n: int
    terms: tuple[TermShare, ...]
    residual: float
    residual_df: int
    total: float
    balanced: bool

    def _share(self, terms: Sequence[TermShare]) -> float:
        return sum(term.eta2 for term in terms)

    @property
    def model(self) -> float:
        """eta^2 of the model."""
        return self._share([term for term in self.terms if term.term == (MODEL,)])

    @property
    def implementation(self) -> float:
        """Sum of eta^2 over the main effects of the harness axes."""
        return self._share([term for term in self.terms if len(term.term) == 1 and term.term != (MODEL,)])

    @property
    def interaction(self) -> float:
        """Sum of eta^2 over the two-way terms."""
        return self._share([term for term in self.terms if len(term.term) == 2])

    @property
    def unexplained(self) -> float:
        """Residual share. With a balanced grid the four shares sum to one."""
        return self.residual / self.total

    @property
    def rho(self) -> float | None:
        """implementation / model; None where the model has no share at all, but for rounding."""
        return self.implementation / self.model if self.model > ROUNDING else None


def paper_terms(axes: Sequence[str]) -> tuple[Term, ...]:
    """The terms of SafetyRepro app. F for these axes, in its order."""
    mains: tuple[Term, ...] = ((MODEL,), *((axis,) for axis in axes))
    crossed = tuple((MODEL, axis) for axis in axes)
    return (*mains, *crossed, *((axes[0], axis) for axis in axes[1:]))


def decompose(
    scores: Sequence[float],
    factors: Mapping[str, Sequence[str]],
    kind: Literal["II", "III"] = "II",
    terms: Sequence[Term] | None = None,
    rows: Sequence[int] | None = None,
) -> Decomposition | None:
    """Variance shares of `scores`, with the level of each factor for each score.

    `factors` holds `model` and the axes that vary, in order. Type II: each term after all terms that do
    not contain it (Langsrud 2003). Type III: each term after all others, sum-to-zero contrasts. With `rows`,
    each score is the mean of so many outcomes of 0 or 1, and their variance is shared out. None when the
    scores do not vary, when a factor has one level, or when cells are missing so that a term cannot be
    estimated. Raises `ValueError` for lengths that differ.
    """
    values = np.asarray(scores, dtype=np.float64)
    if any(len(levels) != len(values) for levels in (*factors.values(), *([] if rows is None else [rows]))):
        raise ValueError("every factor needs one level for each score")
    weights = np.ones(len(values)) if rows is None else np.asarray(rows, dtype=np.float64)
    count = len(values) if rows is None else int(weights.sum())
    within = 0.0 if rows is None else float(weights @ (values * (1 - values)))
    chosen = (
        tuple(terms) if terms is not None else paper_terms([factor for factor in factors if factor != MODEL])
    )
    if len(values) < 2 or any(len(set(levels)) < 2 for levels in factors.values()):
        return None
    blocks: dict[Term, Floats] = {(name,): _contrasts(levels) for name, levels in factors.items()}
    for term in chosen:
        if len(term) == 2:
            blocks[term] = _product(blocks[term[:1]], blocks[term[1:]])
    centred = values - np.average(values, weights=weights)
    total = float(weights @ centred**2) + within
    if total <= 1e-24 * count:
        return None
    between, rank = _residual(values, [blocks[term] for term in chosen], weights)
    residual = between + within
    width = 1 + sum(blocks[term].shape[1] for term in chosen)
    if rank < width:
        return None
    residual_df = count - rank
    mean_square = residual / residual_df if residual_df else None
    shares = []
    for term in chosen:
        without = [other for other in chosen if other != term]
        if kind == "II":
            without = [other for other in without if not set(term) < set(other)]
        smaller, _ = _residual(values, [blocks[other] for other in without], weights)
        larger, _ = _residual(values, [blocks[other] for other in (*without, term)], weights)
        squares, df = max(smaller - larger, 0.0), blocks[term].shape[1]
        omega = None
        if mean_square is not None:
            omega = max((squares - df * mean_square) / (total + mean_square), 0.0)
        shares.append(TermShare(term, squares, df, squares / total, omega))
    balanced = _balanced(factors) and len(set(weights.tolist())) == 1
    return Decomposition(kind, count, tuple(shares), residual, residual_df, total, balanced)


def resampled_shares(
    scores: Floats, axes: Mapping[str, Sequence[str]], chosen: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Type II eta^2 of the model, and of all axes together, in resamples of the configurations (SafetyRepro,
    app. G): two arrays of shape (R,), not a number where a resample's scores do not vary.

    `scores` are of M models in C configurations, (M, C); `axes` has the level of each configuration, (C,);
    `chosen` are numbers of configurations, (R, C), and a configuration comes with the scores of all models.
    So the model is orthogonal to everything that varies between configurations, whose sums of squares are
    those of the configurations' means. A sum of squares is a reduction of the residual, which exists where
    a combination of levels was not drawn too.
    """
    models, count = scores.shape
    weights: Floats = np.stack([np.bincount(row, minlength=count) for row in chosen]).astype(np.float64)
    centred = scores - scores.mean()
    drawn = weights @ centred.T / count
    grand = drawn.mean(axis=1)
    total = weights @ (centred**2).sum(axis=0) - models * count * grand**2
    of_model = count * ((drawn - grand[:, None]) ** 2).sum(axis=1)
    means = centred.mean(axis=0)
    terms = [term for term in paper_terms(list(axes)) if MODEL not in term]
    blocks: dict[Term, Floats] = {(name,): _contrasts(levels) for name, levels in axes.items()}
    for term in terms:
        if len(term) == 2:
            blocks[term] = _product(blocks[term[:1]], blocks[term[1:]])
    of_axes = np.zeros(len(chosen))
    for term in terms[: len(axes)]:
        rest = [blocks[other] for other in terms if not set(term) <= set(other)]
        of_axes += _explained(means, [*rest, blocks[term]], weights) - _explained(means, rest, weights)
    shares = [np.full(len(chosen), np.nan) for _ in range(2)]
    for share, squares in zip(shares, (of_model, models * of_axes), strict=True):
        np.divide(np.maximum(squares, 0.0), total, out=share, where=total > 1e-24 * models * count)
    return shares[0], shares[1]


def _explained(values: Floats, blocks: Sequence[Floats], weights: Floats) -> Floats:
    """What an intercept and these columns explain of values, (C,), under weights, (R, C): weighted sums of
    squares, (R,)."""
    design = np.hstack([np.ones((len(values), 1)), *blocks])
    width = design.shape[1]
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(values), -1)
    grams = (weights @ squares).reshape(-1, width, width)
    along = (weights * values) @ design
    inverse = np.linalg.pinv(grams, rcond=1e-10, hermitian=True)
    explained: Floats = np.einsum("ri,rij,rj->r", along, inverse, along)
    return explained


def _contrasts(levels: Sequence[str]) -> Floats:
    """Sum-to-zero coding: one column for each level but the last, whose rows are -1 throughout."""
    names = list(dict.fromkeys(levels))
    codes = np.array([names.index(level) for level in levels])
    columns: Floats = (codes[:, None] == np.arange(len(names) - 1)).astype(np.float64)
    columns[codes == len(names) - 1] = -1.0
    return columns


def _product(left: Floats, right: Floats) -> Floats:
    crossed: Floats = (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
    return crossed


def _residual(values: Floats, blocks: Sequence[Floats], weights: Floats) -> tuple[float, int]:
    """Residual sum of squares and rank of the weighted regression on an intercept and these columns."""
    root = np.sqrt(weights)
    design = np.hstack([np.ones((len(values), 1)), *blocks]) * root[:, None]
    coefficients, _, rank, _ = np.linalg.lstsq(design, values * root, rcond=None)
    rest = values * root - design @ coefficients
    return float(rest @ rest), int(rank)


def _balanced(factors: Mapping[str, Sequence[str]]) -> bool:
    """Whether every pair of factors is crossed with equal counts, which makes their effects orthogonal."""
    for one, other in combinations(factors.values(), 2):
        pairs = list(zip(one, other, strict=True))
        counts = {pairs.count((a, b)) for a in set(one) for b in set(other)}
        if len(counts) > 1:
            return False
    return True


FACETS = ("first", "second")


@dataclass(frozen=True, slots=True)
class Components:
    """Mean squares and variance components of a table of models x first x second facet, one score a cell.

    models, with_first, with_second: of models and of their interactions; rest: of the three together, which
    one score a cell cannot tell from error.
    """

    models: float
    with_first: float
    with_second: float
    rest: float
    levels: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Generalizability:
    """A coefficient and the facets that were taken as fixed. None where models do not vary at all."""

    coefficient: float | None
    fixed: tuple[str, ...]


def components(scores: ArrayLike) -> Components:
    """From a complete table, shape (models, first, second), at least two levels each."""
    x = np.asarray(scores, np.float64)
    if x.ndim != 3 or min(x.shape) < 2 or np.isnan(x).any():
        raise ValueError("the table is not complete, or a side of it has fewer than two levels")
    p, i, j = x.shape
    effects = _effects(x)
    ms = {
        names: float((effect**2).sum() * x.size / effect.size / df) for names, (effect, df) in effects.items()
    }
    return Components(
        (ms["p"] - ms["pi"] - ms["pj"] + ms["pij"]) / (i * j),
        (ms["pi"] - ms["pij"]) / j,
        (ms["pj"] - ms["pij"]) / i,
        ms["pij"],
        (p, i, j),
    )


def _effects(x: Floats) -> dict[str, tuple[Floats, int]]:
    """The model's effects of a complete table, each with its degrees of freedom."""
    p, i, j = x.shape
    grand = x.mean()
    of_p, of_i, of_j = (x.mean(axis=axes) - grand for axes in ((1, 2), (0, 2), (0, 1)))
    pi = x.mean(axis=2) - grand - of_p[:, None] - of_i[None, :]
    pj = x.mean(axis=1) - grand - of_p[:, None] - of_j[None, :]
    ij = x.mean(axis=0) - grand - of_i[:, None] - of_j[None, :]
    mains = grand + of_p[:, None, None] + of_i[None, :, None] + of_j[None, None, :]
    rest = x - mains - pi[:, :, None] - pj[:, None, :] - ij[None, :, :]
    return {
        "p": (of_p, p - 1),
        "pi": (pi, (p - 1) * (i - 1)),
        "pj": (pj, (p - 1) * (j - 1)),
        "pij": (rest, (p - 1) * (i - 1) * (j - 1)),
    }


def coefficient(
    variances: Components, fixed: Collection[str], levels: Sequence[int] | None = None
) -> Generalizability:
    """Share of the variance of models' means that is of models: `fixed` names facets of FACETS. `levels` are
    how many of the first and second facet a future study would use (a D-study); those of this one without."""
    i, j = levels if levels is not None else variances.levels[1:]
    parts = {"first": variances.with_first / i, "second": variances.with_second / j}
    universe = max(variances.models + sum(parts[name] for name in FACETS if name in fixed), 0.0)
    error = sum(max(parts[name], 0.0) for name in FACETS if name not in fixed) + max(variances.rest, 0.0) / (
        i * j
    )
    total = universe + error
    return Generalizability(universe / total if total > ROUNDING else None, tuple(sorted(fixed)))


def resampled(scores: ArrayLike, fixed: Collection[str], resamples: int, seed: int) -> Floats:
    """The coefficient over resamples of the models, shape (resamples,); not a number where the models drawn
    do not vary. With few models it piles up at 0: print that share beside an interval."""
    x = np.asarray(scores, np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(x), size=(resamples, len(x)))
    values = [coefficient(components(x[rows]), fixed).coefficient for rows in drawn]
    return np.array([np.nan if value is None else value for value in values])
