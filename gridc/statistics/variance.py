"""Variance shares of a grid of scores: Type II and Type III sums of squares (SafetyRepro, app. F and H).

The model is the paper's: main effects of the model and of each harness axis, model x axis, and the
two-way interactions of the first axis with the later ones (template x decoding, template x few-shot).
On a balanced grid Types I, II and III are the same numbers; they part only where cells are missing. Type III
is defined by sum-to-zero contrasts on *every* factor: with treatment contrasts on one of them it is
another quantity, which is what the paper's table H shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from gridc.statistics.arrays import Floats

MODEL = "model"
ROUNDING = 1e-12
"""A share below this is what is left of nothing by floating point."""

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
