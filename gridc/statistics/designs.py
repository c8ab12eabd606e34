"""Design matrices of categorical covariates: treatment coding, a column for each level but the reference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridc.statistics.arrays import Floats

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
            parts.append(_is(factor, level))
    for first, second in interactions:
        one, two = by_name[first], by_name[second]
        for a, b in product(one.levels[1:], two.levels[1:]):
            columns.append(((first, a), (second, b)))
            parts.append(_is(one, a) * _is(two, b))
    return DesignMatrix(tuple(columns), np.column_stack(parts))


def scored(design: DesignMatrix, name: str, scores: ArrayLike) -> DesignMatrix:
    """The design with one more column, of numbers: the score of each pattern (a dose), shape (P,)."""
    return DesignMatrix(
        (*design.columns, ((name, ""),)), np.column_stack([design.matrix, np.asarray(scores, float)])
    )


def _is(of: Factor, level: str) -> Floats:
    flags: Floats = (of.codes == of.levels.index(level)).astype(np.float64)
    return flags
