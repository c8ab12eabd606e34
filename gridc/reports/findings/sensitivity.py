"""How sensitive each model is to the configuration, over all benchmarks (Safety Under Scaffolding, table
40)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import fmean

from gridc.reports.findings.scores import CellScore
from gridc.schema.canonical import digest
from gridc.schema.scorecard import SensitivityRow
from gridc.statistics.direction import Direction
from gridc.statistics.variance import decompose

CONFIGURATION, BENCHMARK = "configuration", "benchmark"


def sensitivities(
    cells: Sequence[CellScore], directions: Mapping[str, Direction]
) -> dict[str, SensitivityRow]:
    """The profile of each model's complete shared cells, in the order of its cells. Where lower is better a
    rate counts from the other end, so that rates of all benchmarks that have a good end point the same
    way."""
    by_model: dict[str, list[tuple[CellScore, Fraction]]] = {}
    for score in cells:
        if score.cell.shared and score.score is not None:
            rate = 1 - score.score if directions[score.cell.benchmark].lower else score.score
            by_model.setdefault(score.cell.model, []).append((score, rate))
    profiles = {}
    for model, rated in by_model.items():
        rates: dict[str, list[Fraction]] = {}
        for score, rate in rated:
            rates.setdefault(score.cell.benchmark, []).append(rate)
        ranges = {name: max(shares) - min(shares) for name, shares in rates.items()}
        widest = max(ranges, key=lambda name: ranges[name])
        trials = sum(cell_score.trials for cell_score, _ in rated)
        ended = all(directions[name].target is None for name in rates)
        earned = sum(cell_score.trials * rate for cell_score, rate in rated)
        profiles[model] = SensitivityRow(
            cells=len(rated),
            share=_share(rated),
            mean_range=fmean(map(float, ranges.values())),
            max_range=float(ranges[widest]),
            widest=widest,
            rate=float(earned / trials) if ended else None,
            rows=digest([cell_score.rows for cell_score, _ in rated]),
        )
    return profiles


def _share(rated: Sequence[tuple[CellScore, Fraction]]) -> float | None:
    """eta squared of the configuration, after the benchmark and with their interaction; None where an answer
    can earn a part of a point, a benchmark lacks configurations of another, or nothing varies."""
    if any(score.scale != 1 for score, _ in rated):
        return None
    factors = {
        CONFIGURATION: [score.cell.configuration for score, _ in rated],
        BENCHMARK: [score.cell.benchmark for score, _ in rated],
    }
    crossed = {name: levels for name, levels in factors.items() if len(set(levels)) > 1}
    if CONFIGURATION not in crossed:
        return None
    terms: list[tuple[str, ...]] = [(name,) for name in crossed]
    terms += [(CONFIGURATION, BENCHMARK)] if len(crossed) > 1 else []
    decomposition = decompose(
        [float(rate) for _, rate in rated], crossed, "II", terms, [score.trials for score, _ in rated]
    )
    if decomposition is None:
        return None
    return next(term.eta2 for term in decomposition.terms if term.term == (CONFIGURATION,))
