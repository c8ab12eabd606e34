"""Generalizability of scores over models, benchmarks and scaffolds (Brennan 2001; scaffold study, app. G).

Models (p) are measured under every combination of two facets. Mean squares of the complete table give the
variance components; a negative estimate is printed as it is. What enters the coefficient as 0 when negative
is the whole variance of what is generalised to, and each part of the error: with a fixed facet the model's
variance and that over the facet are estimated as one sum.

Which facets are fixed decides the coefficient, and a study has to say it: variance of models over a *fixed*
facet belongs to what is generalised to, over a *random* one to the error. The same mean squares of the
scaffold study give 0 with both facets random and .907 with both fixed.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from gridc.statistics.arrays import Floats
from gridc.statistics.variance import ROUNDING

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
