"""What moves the outcomes of a whole study: shares of their variance, and how far models' means generalise.

Both read the score of every complete cell of the primary part, an unreadable answer with its credit. They
describe the cells that were run; the generalizability coefficient also says which facets it takes as fixed,
because the same components give another coefficient under another convention.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gridc.reports.findings.curve_rows import level_of
from gridc.reports.findings.observations import Observations, Samples
from gridc.reports.findings.run_record import Finding
from gridc.statistics.digits import DECIMALS
from gridc.statistics.generalizability import FACETS, Components, coefficient, components, resampled
from gridc.statistics.resample import RESAMPLES
from gridc.statistics.variance import Decomposition, Term, decompose

FUTURE = (1, 2, 4, 8, 16)
"""How many levels of a facet a future study might have."""


@dataclass(frozen=True, slots=True)
class Factorial:
    """Type II shares of the variance of single outcomes: every main effect, and every pair of factors whose
    combinations were all run; `left_out` are the pairs that were not."""

    shares: Decomposition
    left_out: tuple[Term, ...]
    rows: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet of a generalizability study: how many levels were run, and the declared convention."""

    name: str
    levels: int
    fixed: bool


@dataclass(frozen=True, slots=True)
class GeneralizabilityFinding:
    """Models over two facets. `by_convention` has the coefficient under each set of fixed facets; `future`
    under the declared one, for studies with other numbers of levels: (of the first, of the second, it).
    `interval` is the central 95 % over resamples of the models, of which `at_zero` is the share at 0."""

    facets: tuple[Facet, Facet]
    components: Components
    coefficient: float | None
    interval: tuple[float, float] | None
    at_zero: float | None
    resamples: int
    seed: int
    by_convention: tuple[tuple[tuple[str, ...], float | None], ...]
    future: tuple[tuple[int, int, float | None], ...]
    rows: str

    @property
    def convention(self) -> str:
        """`scaffold fixed, benchmark random`."""
        return ", ".join(f"{facet.name} {'fixed' if facet.fixed else 'random'}" for facet in self.facets)


def factorial(samples: Samples) -> Factorial | None:
    """The shares over all varied factors. None where an answer can earn a part of a point (the variance of
    single outcomes is then not that of 0 and 1), with fewer than two factors, and where nothing varies."""
    seen = _scores(samples)
    if seen is None or seen.scale != 1:
        return None
    levels = {name: seen.levels(name) for name in ("model", "benchmark", *seen.cells[0].levels)}
    factors = {name: of for name, of in levels.items() if len(set(of)) > 1}
    if len(factors) < 2:
        return None
    mains: list[Term] = [(name,) for name in factors]
    pairs: list[Term] = list(combinations(factors, 2))
    crossed = [pair for pair in pairs if _crossed(factors[pair[0]], factors[pair[1]])]
    means, counts = _means(seen)
    shares = decompose(means, factors, "II", (*mains, *crossed), counts)
    if shares is None:
        return None
    return Factorial(shares, tuple(pair for pair in pairs if pair not in crossed), seen.rows)


def generalize(samples: Samples) -> GeneralizabilityFinding | str | None:
    """The declared generalizability study, or why there is none, in words; None where none is declared."""
    spec = samples.plan.study.spec
    declared = spec.analysis.generalizability
    if not declared:
        return None
    if len(declared) != 2:
        return f"{len(declared)} facets are declared, and the study of models is over two"
    seen = _scores(samples)
    if seen is None:
        return "no cell is complete"
    first, second = declared
    table = _table(seen, [model.id for model in spec.model], first, second)
    if isinstance(table, str):
        return table
    variances = components(table)
    fixed = [place for place, name in zip(FACETS, declared, strict=True) if declared[name] == "fixed"]
    sizes = table.shape[1:]
    facets = (
        Facet(first, sizes[0], declared[first] == "fixed"),
        Facet(second, sizes[1], declared[second] == "fixed"),
    )
    bootstrap = spec.analysis.bootstrap
    chosen = bootstrap if bootstrap is not None and bootstrap.unit == "model" else None
    resamples = RESAMPLES if chosen is None else chosen.resamples
    seed = spec.sampling.seed if chosen is None else chosen.seed
    drawn = resampled(table, fixed, resamples, seed)
    drawn = drawn[~np.isnan(drawn)]
    names = dict(zip(FACETS, declared, strict=True))
    conventions = [[], ["first"], ["second"], ["first", "second"]]
    return GeneralizabilityFinding(
        facets,
        variances,
        coefficient(variances, fixed).coefficient,
        tuple(np.quantile(drawn, [0.025, 0.975]).tolist()) if len(drawn) else None,
        float((np.round(drawn, DECIMALS) == 0).mean()) if len(drawn) else None,
        resamples,
        seed,
        tuple(
            (tuple(names[facet] for facet in convention), coefficient(variances, convention).coefficient)
            for convention in conventions
        ),
        tuple((i, j, coefficient(variances, fixed, (i, j)).coefficient) for i, j in _future(facets)),
        seen.rows,
    )


def _scores(samples: Samples) -> Observations | None:
    seen = samples.of("score", samples.about(samples.plan.study.spec.analysis.primary))
    return seen if len(seen) else None


def _means(seen: Observations) -> tuple[list[float], list[int]]:
    counts = np.bincount(seen.cell, seen.counted, len(seen.cells))
    earned = np.bincount(seen.cell, seen.earned, len(seen.cells))
    return (earned / counts / seen.scale).tolist(), [int(count) for count in counts]


def _crossed(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) * len(set(other))


def _table(seen: Observations, models: Sequence[str], first: str, second: str) -> np.ndarray | str:
    """Mean score of the cells of each model and pair of levels, (models, first, second); or what is wrong."""
    sides: list[list[str]] = [list(models)]
    for name in (first, second):
        sides.append(list(dict.fromkeys(level_of(cell, name) for cell in seen.cells)))
    short = [name for name, side in zip(("model", first, second), sides, strict=True) if len(side) < 2]
    if short:
        return f"{short[0]} has fewer than two levels"
    sums, counts = (np.zeros([len(side) for side in sides]) for _ in range(2))
    for cell, mean in zip(seen.cells, _means(seen)[0], strict=True):
        levels = (cell.model, level_of(cell, first), level_of(cell, second))
        at = tuple(side.index(level) for side, level in zip(sides, levels, strict=True))
        sums[at] += mean
        counts[at] += 1
    if not counts.all():
        at = tuple(int(place[0]) for place in np.nonzero(counts == 0))
        return "no complete cell is of " + ", ".join(side[n] for side, n in zip(sides, at, strict=True))
    return sums / counts


def _future(facets: tuple[Facet, Facet]) -> list[tuple[int, int]]:
    """Numbers of levels of each random facet; a fixed one keeps those that were run."""
    one, other = (
        (facet.levels,) if facet.fixed else tuple(sorted({*FUTURE, facet.levels})) for facet in facets
    )
    return [(i, j) for i in one for j in other]


FACTORIAL: Finding[Factorial | None] = Finding(
    "factorial", lambda record: factorial(record.samples) if record.complete else None
)
GENERALIZABILITY: Finding[GeneralizabilityFinding | str | None] = Finding(
    "generalizability", lambda record: generalize(record.samples) if record.complete else None
)
