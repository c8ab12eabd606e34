"""What moves the scores of a benchmark: variance shares, paired gaps, sensitivity ranges, item subsets,
scoring rules that agree or do not.

All of it describes the grid that was run. None of it is a test.

Levels of an axis that send the very same calls differ in scoring alone: two readers, two normalisations of a
likelihood, keywords for refusals beside a judge. What they make of each item (replicate 0) is compared within
every other configuration. Configurations share their items, so no error is stated. Kappa is Cohen's over all
of them; there is none where both rules give every item the same score, so that chance explains all.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.setting import KEYS, Setting
from gridc.reports.findings.paired import change_row
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, Outcomes, cells_by_benchmark
from gridc.schema.canonical import digest
from gridc.schema.certificate import AgreementRow, ChangeRow, LevelGapRow, MaximumRow
from gridc.schema.inference import Bootstrap
from gridc.schema.spec import Axis, Spec
from gridc.statistics.arrays import Floats
from gridc.statistics.envelope import (
    RESAMPLES,
    Direction,
    Dispersion,
    Draws,
    Order,
    ResampledStatistic,
    ScoreByModel,
    cfr_interval,
    disperse,
    draws,
    flip_rate,
    goodness,
    max_cfr_interval,
    max_statistic,
    model_order,
    percentiles_of,
    sdi_interval,
    sdi_values,
    tau_interval,
)
from gridc.statistics.paired_runs import Scored, pair_levels
from gridc.statistics.raters import cohen
from gridc.statistics.variance import MODEL, ROUNDING, Decomposition, decompose, resampled_shares


@dataclass(frozen=True, slots=True)
class ConfigurationRobustness:
    """One configuration over the subsets: the order of all models on every subset, and how far each
    model's score moves between them."""

    configuration: str
    full: Order
    orders: tuple[Order, ...]
    ranges: dict[str, Fraction]

    @property
    def kept(self) -> int:
        """On how many subsets the order is that of all items, a tie being another order."""
        return sum(order == self.full for order in self.orders)


def stratified(units: NDArray[np.int64], strata: Sequence[str], share: float, seed: int) -> NDArray[np.int64]:
    """Item numbers of a subset: `share` of the families of each stratum, rounded, at least one.

    `units` numbers the family of each item, `strata` names the stratum of each item (a family lies in
    the stratum of its first item). Raises `ValueError` for a share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError("a share lies above 0 and at most at 1")
    random = np.random.default_rng(seed)
    first = {int(unit): strata[number] for number, unit in reversed(list(enumerate(units)))}
    by_stratum: dict[str, list[int]] = {}
    for unit in sorted(first):
        by_stratum.setdefault(first[unit], []).append(unit)
    kept: list[int] = []
    for _, families in sorted(by_stratum.items()):
        n = max(1, round(share * len(families)))
        kept += random.permutation(families)[:n].tolist()
    return np.flatnonzero(np.isin(units, kept))


def robustness(
    outcomes: Outcomes,
    configurations: Sequence[str],
    subsets: Sequence[NDArray[np.int64]],
    direction: Direction,
) -> list[ConfigurationRobustness]:
    """Each configuration that every model has been measured in, on all items and on each subset."""

    def order(row: Mapping[str, Fraction]) -> Order:
        return model_order({model: direction.good(score) for model, score in row.items()})

    results = []
    for name in configurations:
        at = outcomes.configurations.index(name)
        if not outcomes.measured[:, at].all():
            continue
        replicates = int(outcomes.replicates[at]) * outcomes.scale

        def scores(items: NDArray[np.int64], at: int = at, k: int = replicates) -> dict[str, Fraction]:
            sums = outcomes.correct[:, at, items].sum(axis=1)
            return {
                model: Fraction(int(total), k * len(items))
                for model, total in zip(outcomes.models, sums, strict=True)
            }

        planned = np.flatnonzero(outcomes.asked[at])
        rows = [scores(kept) for items in subsets if len(kept := np.intersect1d(items, planned))]
        if not rows:
            continue
        results.append(
            ConfigurationRobustness(
                name,
                order(scores(planned)),
                tuple(order(row) for row in rows),
                {
                    model: max(row[model] for row in rows) - min(row[model] for row in rows)
                    for model in outcomes.models
                },
            )
        )
    return results


def agreements(
    axes: Sequence[Axis], cells: Sequence[CellScore], outcomes: Outcomes
) -> Iterator[AgreementRow]:
    """Every pair of levels that scores the same calls on a benchmark, by axis and model. Of its shared
    cells those without all their outcomes are left out."""
    for axis in axes:
        rows: dict[str, dict[tuple[str, ...], dict[str, CellScore]]] = {}
        for score in cells:
            levels = score.cell.levels
            rest = tuple(level for name, level in levels.items() if name != axis.id)
            rows.setdefault(score.cell.model, {}).setdefault(rest, {})[levels[axis.id]] = score
        for model, places in rows.items():
            for left, right in combinations([level.id for level in axis.level], 2):
                pairs = [
                    (place[left], place[right])
                    for place in places.values()
                    if left in place and right in place and _same_calls(place[left], place[right])
                ]
                if pairs:
                    yield _agreement(model, axis.id, left, right, pairs, outcomes)


def _same_calls(left: CellScore, right: CellScore) -> bool:
    """Whether two rules score the same answers, each alone and with a point or none: kappa is about two
    classes."""
    one, other = left.cell.setting, right.cell.setting
    single = left.scale == right.scale == 1 and one.scored_singly and other.scored_singly
    return single and left.complete and right.complete and one.asked == other.asked


def _table(left: CellScore, right: CellScore, outcomes: Outcomes) -> NDArray[np.int64]:
    """Items by what two rules make of them, shape (2, 2): rows the left rule, columns the right one, a point
    first."""
    model = outcomes.models.index(left.cell.model)
    row, column = (outcomes.configurations.index(score.cell.configuration) for score in (left, right))
    given_to_both = outcomes.asked[row] & outcomes.asked[column]
    one, other = (outcomes.first[model, place, given_to_both] == outcomes.scale for place in (row, column))
    counts = [(one & other).sum(), (one & ~other).sum(), (~one & other).sum(), (~one & ~other).sum()]
    return np.array(counts, dtype=np.int64).reshape(2, 2)


def _agreement(
    model: str,
    axis: str,
    left: str,
    right: str,
    pairs: Sequence[tuple[CellScore, CellScore]],
    outcomes: Outcomes,
) -> AgreementRow:
    tables = [_table(*pair, outcomes) for pair in pairs]
    table: NDArray[np.int64] = np.sum(tables, axis=0)
    single = [value for value in map(cohen, tables) if value is not None]
    both, left_only, right_only, neither = (int(count) for count in table.flat)
    return AgreementRow(
        model=model,
        axis=axis,
        left=left,
        right=right,
        configurations=len(tables),
        both=both,
        left_only=left_only,
        right_only=right_only,
        neither=neither,
        kappa=cohen(table),
        least=min(single, default=None),
        greatest=max(single, default=None),
        rows=digest([score.rows for pair in pairs for score in pair]),
    )


SUBSETS, SHARE = 3, 0.8
"""Item subsets as in SafetyRepro app. X: three, of 80 % of the items."""


@dataclass(frozen=True, slots=True)
class ResampledShares:
    """Type II shares of the model and of all axes, and their ratio, over resamples of the configurations
    (SafetyRepro, app. G)."""

    model: ResampledStatistic
    implementation: ResampledStatistic
    rho: ResampledStatistic


@dataclass(frozen=True, slots=True)
class VarianceShares:
    """The decomposition of one measurand's scores; `clean` restricts it to the parse-clean cells. `third` is
    Type III, which on a balanced grid is the same. `resampled` is None of parse-clean cells, which not every
    model has under the same configurations."""

    measurand: str
    clean: bool
    second: Decomposition
    third: Decomposition
    resampled: ResampledShares | None


@dataclass(frozen=True, slots=True)
class LevelMatrix:
    """What differs between the levels of an axis that changes what is measured, key by key (SafetyRepro, app.
    R): by key the value that a call has under each of `levels`, the first of which is the reference, all
    other axes at one configuration. A key that does not matter under a level has the value None there. `same`
    are the keys with one value throughout."""

    axis: str
    levels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str | None, ...]], ...]
    same: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Two models, cell by cell: the differences a - b, and the dispersion of each over the same
    configurations, exact. What a scale probe reads of a family's two sizes (SafetyRepro, app. Q). `rows` is
    the digest of both models' cells."""

    a: str
    b: str
    rows: str
    change: ChangeRow
    dispersion_a: Dispersion
    dispersion_b: Dispersion


@dataclass(frozen=True, slots=True)
class Ranges:
    """Sensitivity ranges over resamples of the configurations of the full envelope, by model; the flip
    rates are in the order of the spec's pass marks."""

    sdi: Mapping[str, ResampledStatistic]
    flip_rates: Mapping[str, tuple[ResampledStatistic, ...]]
    tau: ResampledStatistic


@dataclass(frozen=True, slots=True)
class BenchmarkAnalysis:
    """What moves the scores of one benchmark, as far as it is measured."""

    variance: tuple[VarianceShares, ...]
    gaps: tuple[LevelGapRow, ...]
    differences: tuple[LevelMatrix, ...]
    between: tuple[ModelComparison, ...]
    ranges: Ranges | None
    robustness: tuple[ConfigurationRobustness, ...]
    agreements: tuple[AgreementRow, ...]


def analyse(spec: Spec, cells: Sequence[CellScore], outcomes: Outcomes) -> BenchmarkAnalysis:
    """The analysis of one benchmark's shared cells."""
    shared = [cell for cell in cells if cell.cell.shared]
    complete = bool(shared) and all(score.complete for score in shared)
    return BenchmarkAnalysis(
        variance=tuple(_variance(spec, shared)) if complete else (),
        gaps=tuple(_gaps(spec, shared)),
        differences=tuple(level_matrices(spec, [score.cell for score in shared])),
        between=tuple(_model_comparisons(spec, shared)),
        ranges=_ranges(spec, shared) if complete else None,
        robustness=tuple(_robustness(spec, shared, outcomes)) if complete else (),
        agreements=tuple(agreements(spec.axis, shared, outcomes)),
    )


def maxima(spec: Spec, benchmarks: Sequence[Sequence[CellScore]]) -> tuple[MaximumRow, ...]:
    """The max-statistic ranges of SDI and of the flip rate at each pass mark, over every model of every
    benchmark (SafetyRepro, app. I). For the SDI the models of a benchmark share the resamples; the flip
    rates are independent across slices, as published, which gives a closed form."""
    lower = {benchmark.id for benchmark in spec.benchmark if benchmark.lower_is_better}
    measured = [
        (scores, cells[0].cell.benchmark)
        for cells in benchmarks
        for scores in _by_model(cells).values()
        if scores and all(score.complete for score in cells if score.cell.shared)
    ]
    if not measured:
        return ()
    ranges = []
    values, points = [], []
    for number, cells in enumerate(benchmarks):
        if not all(cell.complete for cell in cells if cell.cell.shared):
            continue
        for scores in _by_model(cells).values():
            point = sdi_interval(scores, np.zeros((1, len(scores)), dtype=np.int64)).point
            if point is not None:
                values.append(sdi_values(scores, _draws(spec, len(scores), number)))
                points.append(point)
    if values:
        largest = max_statistic(values, points)
        ranges.append(MaximumRow.of(name="SDI", slices=len(values), interval=largest))
    for mark in spec.analysis.thresholds:
        counts = [
            (flip_rate(scores, mark.at, name in lower).passing, len(scores))
            for scores, name in measured
            if len(scores) > 1 and mark in spec.analysis.marks(name)
        ]
        if counts:
            largest = max_cfr_interval(counts)
            ranges.append(MaximumRow.of(name=f"CFR at {mark.at}", slices=len(counts), interval=largest))
    return tuple(ranges)


def largest_rho(spec: Spec, benchmarks: Sequence[Sequence[CellScore]]) -> MaximumRow | None:
    """The same of rho, the axes' share of variance over the model's, over every measurand of every benchmark
    that is measured in full; measurands with equally many configurations share the resamples."""
    ratios, points = [], []
    for number, cells in enumerate(benchmarks):
        shared = [cell for cell in cells if cell.cell.shared]
        if not all(cell.complete for cell in shared):
            continue
        for _, own, clean, second, _ in _decompositions(spec, shared):
            if not clean and second.rho is not None:
                ratios.append(_resampled(spec, own, number)[2])
                points.append(second.rho)
    if not ratios:
        return None
    return MaximumRow.of(name="rho", slices=len(ratios), interval=max_statistic(ratios, points))


def _bootstrap(spec: Spec) -> Bootstrap:
    """How the spec resamples configurations, or how it is done where it does not say."""
    stated = spec.analysis.bootstrap
    if stated is not None and stated.unit == "configuration":
        return stated
    return Bootstrap(resamples=RESAMPLES, seed=spec.sampling.seed, unit="configuration")


def _draws(spec: Spec, n: int, stream: int) -> Draws:
    chosen = _bootstrap(spec)
    return draws(n, chosen.resamples, chosen.seed + stream)


def _by_model(cells: Sequence[CellScore]) -> dict[str, list[Fraction]]:
    scores: dict[str, list[Fraction]] = {}
    for cell in cells:
        if cell.cell.shared and cell.score is not None:
            scores.setdefault(cell.cell.model, []).append(cell.score)
    return scores


def _variance(spec: Spec, shared: Sequence[CellScore]) -> Iterator[VarianceShares]:
    for measurand, cells, clean, second, third in _decompositions(spec, shared):
        resampled = None
        if not clean:
            points = second.model, second.implementation, second.rho
            resampled = ResampledShares(*map(percentiles_of, points, _resampled(spec, cells, 0)))
        yield VarianceShares(measurand, clean, second, third, resampled)


Decomposed = tuple[str, Sequence[CellScore], bool, Decomposition, Decomposition]
"""A measurand, its cells, whether these are the parse-clean ones alone, and both types of shares."""


def _decompositions(spec: Spec, shared: Sequence[CellScore]) -> Iterator[Decomposed]:
    least = Fraction(str(spec.analysis.parse_clean))
    for measurand in dict.fromkeys(score.cell.setting.method for score in shared):
        inside = [score for score in shared if score.cell.setting.method == measurand]
        clean = [score for score in inside if score.parse_rate is None or score.parse_rate >= least]
        for cells in (inside, clean) if len(clean) < len(inside) else (inside,):
            varied = [
                axis.id for axis in spec.axis if len({score.cell.levels[axis.id] for score in cells}) > 1
            ]
            if not varied or len({score.cell.model for score in shared}) < 2:
                continue
            factors = {MODEL: [score.cell.model for score in cells]}
            factors |= {axis: [score.cell.levels[axis] for score in cells] for axis in varied}
            scores = [float(cell.score or 0) for cell in cells]
            second, third = decompose(scores, factors, "II"), decompose(scores, factors, "III")
            if second is not None and third is not None:
                yield measurand, cells, cells is clean, second, third


def _resampled(spec: Spec, cells: Sequence[CellScore], stream: int) -> tuple[Floats, Floats, Floats]:
    """The shares of the model and of all axes in resamples of the configurations of one measurand, and their
    ratio, (R,) each; not a number where it is not defined."""
    scores = np.array([list(map(float, own)) for own in _by_model(cells).values()])
    first = [score.cell for score in cells if score.cell.model == cells[0].cell.model]
    levels = {axis.id: [cell.levels[axis.id] for cell in first] for axis in spec.axis}
    varied = {name: own for name, own in levels.items() if len(set(own)) > 1}
    model, axes = resampled_shares(scores, varied, _draws(spec, len(first), stream))
    return model, axes, np.divide(axes, model, out=np.full(len(model), np.nan), where=model > ROUNDING)


def _gaps(spec: Spec, shared: Sequence[CellScore]) -> list[LevelGapRow]:
    """For each axis that changes what is measured, every pair of its levels."""
    scored = _places(shared)
    gaps = []
    for axis in spec.axis:
        if not _changes_measurand(axis):
            continue
        names = [level.id for level in axis.level]
        for number, before in enumerate(names):
            for after in names[number + 1 :]:
                deltas = pair_levels(scored, axis.id, before, after).deltas
                for model in (declared.id for declared in spec.model):
                    own = [delta.delta for delta in deltas if delta.place[MODEL] == model]
                    if own:
                        gaps.append(
                            LevelGapRow(
                                axis=axis.id, before=before, after=after, model=model, change=change_row(own)
                            )
                        )
    return gaps


def _model_comparisons(spec: Spec, shared: Sequence[CellScore]) -> list[ModelComparison]:
    scored = _places(shared)
    contrasts = []
    for a, b in combinations([model.id for model in spec.model], 2):
        deltas = pair_levels(scored, MODEL, b, a).deltas
        if deltas:
            contrasts.append(
                ModelComparison(
                    a,
                    b,
                    digest([score.rows for score in shared if score.cell.model in (a, b)]),
                    change_row([delta.delta for delta in deltas]),
                    disperse([delta.after for delta in deltas]),
                    disperse([delta.before for delta in deltas]),
                )
            )
    return contrasts


def _places(shared: Sequence[CellScore]) -> list[Scored]:
    """Model and levels of every measured cell of one benchmark, with its score."""
    return [
        ({MODEL: score.cell.model, **score.cell.levels}, score.score)
        for score in shared
        if score.score is not None
    ]


def level_matrices(spec: Spec, cells: Sequence[Cell]) -> Iterator[LevelMatrix]:
    """Of each axis that changes what is measured, as the cells of one benchmark have it: the setting of the
    first model at the first configuration of the reference, and of those that differ from it in this axis
    alone."""
    for axis in spec.axis:
        settings: dict[str, Setting] = {}
        first: Cell | None = None
        for cell in cells:
            first = cell if first is None else first
            rest = [dict(one.levels) | {axis.id: ""} for one in (first, cell)]
            if cell.model == first.model and rest[0] == rest[1]:
                settings.setdefault(cell.levels[axis.id], cell.setting)
        if not _changes_measurand(axis) or len(settings) < 2:
            continue
        by_key = {key: tuple(_matters(setting, key) for setting in settings.values()) for key in KEYS}
        yield LevelMatrix(
            axis.id,
            tuple(settings),
            tuple((key, values) for key, values in by_key.items() if len(set(values)) > 1),
            tuple(key for key, values in by_key.items() if len(set(values)) == 1 and values[0] is not None),
        )


def _matters(setting: Setting, key: str) -> str | None:
    """The value that a call has, as JSON or a plain word; None where it cannot matter."""
    if key not in setting.mattering:
        return None
    value = setting.held(key)
    if isinstance(value, str) and value and value == value.strip():
        return value
    plain = value.model_dump(mode="json", exclude_defaults=True) if isinstance(value, BaseModel) else value
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)


def _changes_measurand(axis: Axis) -> bool:
    keys = {"method", "candidates", "normalise"}
    return any(keys & level.stated().keys() for level in axis.level)


def _ranges(spec: Spec, shared: Sequence[CellScore]) -> Ranges:
    by_model = _by_model(shared)
    name = shared[0].cell.benchmark
    direction = _direction(spec, name)
    n = len(next(iter(by_model.values())))
    chosen = _draws(spec, n, 0)
    scores: dict[str, ScoreByModel] = {
        model: {score.cell.configuration: score.score for score in shared if score.cell.model == model}
        for model in by_model
    }
    return Ranges(
        sdi={model: sdi_interval(values, chosen) for model, values in by_model.items()},
        flip_rates={
            model: tuple(
                cfr_interval(flip_rate(values, mark.at, direction.lower).passing, n)
                for mark in spec.analysis.marks(name)
            )
            for model, values in by_model.items()
        },
        tau=tau_interval(goodness(scores, direction), seed=_bootstrap(spec).seed),
    )


def _direction(spec: Spec, benchmark: str) -> Direction:
    return Direction.of(next(declared.direction for declared in spec.benchmark if declared.id == benchmark))


def _robustness(spec: Spec, shared: Sequence[CellScore], outcomes: Outcomes) -> list[ConfigurationRobustness]:
    if len(outcomes.models) < 2 or len(set(outcomes.units.tolist())) < 2:
        return []
    seed = _bootstrap(spec).seed
    strata = [""] * len(outcomes.items)
    subsets = [stratified(outcomes.units, strata, SHARE, seed + 1 + number) for number in range(SUBSETS)]
    direction = _direction(spec, shared[0].cell.benchmark)
    return robustness(outcomes, outcomes.configurations, subsets, direction)


def _maxima(record: RunRecord) -> tuple[MaximumRow, ...]:
    """The largest SDI and flip rates of all models, with intervals."""
    spec = record.plan.study.spec
    return maxima(spec, [*cells_by_benchmark(spec, record.scores).values()])


MAXIMA: Finding[tuple[MaximumRow, ...]] = Finding("maxima", _maxima, ())


def _largest_rho(record: RunRecord) -> MaximumRow | None:
    """The largest rho of all measurands, with its interval."""
    spec = record.plan.study.spec
    return largest_rho(spec, [*cells_by_benchmark(spec, record.scores).values()])


LARGEST_RHO: Finding[MaximumRow | None] = Finding("largest_rho", _largest_rho, None)
