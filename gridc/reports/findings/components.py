"""What moves the outcomes of a whole study: variance shares, axes of many levels, attribution.

Shares of variance, and how far models' means generalise, are read from the score of every complete cell of
the primary part, an unreadable answer with its credit. They describe the cells that were run; the
generalizability coefficient also says which facets it takes as fixed, because the same components give
another coefficient under another convention.

The few levels of an axis each have a place in every table. Of many, such as paraphrases of one prompt or
orders of the same options, these are shown: mean, worst, best, how far apart they are beside what levels that
do nothing would show, and whether the models keep their order (Mizrahi et al. 2024).

Attribution says which axis moves the scores, and which the order: TreeSHAP of a boosted surrogate
(SafetyRepro, app. S). It explains a surrogate that was fitted to the whole grid, and nothing more: it tests
nothing, predicts nothing, and its sizes are not shares of variance. It is optional and needs lightgbm, whose
own TreeSHAP is used.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import lcm
from typing import Any

import numpy as np

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.reports.findings.curve_rows import dimension_level
from gridc.reports.findings.observations import Observations, Samples
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import (
    CellScore,
    cells_by_benchmark,
    resampling_of,
    sum_units,
    unit_number_of_items,
)
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec
from gridc.statistics.arrays import Whole
from gridc.statistics.envelope import RESAMPLES, Direction
from gridc.statistics.rank_tests import Concordance, RangeByChance, exchanged_range, kendalls_w
from gridc.statistics.reproducibility import DECIMALS
from gridc.statistics.unit_intervals import Ends, share_limits
from gridc.statistics.variance import (
    FACETS,
    Components,
    Decomposition,
    Term,
    coefficient,
    components,
    decompose,
    resampled,
)

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
    asked = dict.fromkeys((cell.model, cell.benchmark) for cell in seen.cells)
    for model, benchmark in product(*(dict.fromkeys(names) for names in zip(*asked, strict=True))):
        if (model, benchmark) not in asked:
            return f"{model} was not asked {benchmark}, and all models are compared on the same cells"
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
        tuple((i, j, coefficient(variances, fixed, (i, j)).coefficient) for i, j in _planned_sizes(facets)),
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
        sides.append(list(dict.fromkeys(dimension_level(cell, name) for cell in seen.cells)))
    short = [name for name, side in zip(("model", first, second), sides, strict=True) if len(side) < 2]
    if short:
        return f"{short[0]} has fewer than two levels"
    sums, counts = (np.zeros([len(side) for side in sides]) for _ in range(2))
    for cell, mean in zip(seen.cells, _means(seen)[0], strict=True):
        levels = (cell.model, dimension_level(cell, first), dimension_level(cell, second))
        at = tuple(side.index(level) for side, level in zip(sides, levels, strict=True))
        sums[at] += mean
        counts[at] += 1
    if not counts.all():
        at = tuple(int(place[0]) for place in np.nonzero(counts == 0))
        return "no complete cell is of " + ", ".join(side[n] for side, n in zip(sides, at, strict=True))
    return sums / counts


def _planned_sizes(facets: tuple[Facet, Facet]) -> list[tuple[int, int]]:
    """Numbers of levels of each random facet; a fixed one keeps those that were run."""
    one, other = (
        (facet.levels,) if facet.fixed else tuple(sorted({*FUTURE, facet.levels})) for facet in facets
    )
    return [(i, j) for i in one for j in other]


FACTORIAL: Finding[Factorial | None] = Finding(
    "factorial",
    lambda record: factorial(record.samples) if record.complete else None,
    about="The shares of outcome variance that models, axes and their interactions explain.",
)
GENERALIZABILITY: Finding[GeneralizabilityFinding | str | None] = Finding(
    "generalizability",
    lambda record: generalize(record.samples) if record.complete else None,
    about="How far the means of models generalise to other items and configurations.",
)


MANY = 5
"""Levels of an axis from which on they are summed up."""
DRAWS = 1000
"""Random exchanges of levels."""

Levelled = Mapping[str, Mapping[str, tuple[CellScore, ...]]]
"""By model and level the cells that the levels are compared on, in one order."""


@dataclass(frozen=True, slots=True)
class LevelScore:
    """A level, and the mean of its cells."""

    level: str
    score: Fraction


@dataclass(frozen=True, slots=True)
class ModelOverLevels:
    """One model over the levels of an axis. `scores` are in their order; `worst` and `best` follow the
    direction of the benchmark; `range_by_chance` is what levels that do nothing would show; `test` is
    Friedman's over `units`, None where no unit tells two levels apart."""

    model: str
    scores: tuple[LevelScore, ...]
    mean: Fraction
    interval: Ends | None
    worst: LevelScore
    best: LevelScore
    saturation: Fraction
    range_by_chance: RangeByChance
    test: Concordance | None

    @property
    def range(self) -> Fraction:
        """The highest score of a level less the lowest."""
        scores = [level.score for level in self.scores]
        return max(scores) - min(scores)


@dataclass(frozen=True, slots=True)
class ManyLevels:
    """An axis of many levels on a benchmark; each level's score is the mean over the `contexts`
    configurations of the other axes that all levels and models were run under. `agreement` is of the orders
    of the models under the levels; None of one model, and where every level ties all."""

    benchmark: str
    axis: str
    levels: int
    contexts: int
    units: int
    models: tuple[ModelOverLevels, ...]
    agreement: Concordance | None
    rows: str


def many_levels(record: RunRecord) -> tuple[ManyLevels, ...]:
    """How far scores move over axes with many levels, by benchmark; none while a run is incomplete."""
    return tuple(_findings(record)) if record.complete else ()


def _findings(record: RunRecord) -> Iterator[ManyLevels]:
    spec = record.plan.study.spec
    for benchmark in spec.benchmark:
        cells = [
            score
            for score in record.scores
            if score.cell.benchmark == benchmark.id and score.cell.shared and score.complete
        ]
        for axis in spec.axis:
            levelled = _levelled(record, cells, axis.id)
            if levelled:
                direction = Direction.of(benchmark.direction)
                yield _finding(record, benchmark.id, axis.id, levelled, direction)


def _levelled(record: RunRecord, cells: Sequence[CellScore], axis: str) -> Levelled:
    """The cells under which every level and model was run; empty where the levels are not many, or where they
    ask different items."""
    levels = list(dict.fromkeys(score.cell.levels[axis] for score in cells))
    models = list(dict.fromkeys(score.cell.model for score in cells))
    if len(levels) < MANY:
        return {}
    by_context: dict[tuple[str, ...], dict[tuple[str, str], CellScore]] = {}
    for score in cells:
        context = tuple(level for name, level in score.cell.levels.items() if name != axis)
        by_context.setdefault(context, {})[score.cell.model, score.cell.levels[axis]] = score
    whole = [context for context in by_context.values() if len(context) == len(levels) * len(models)]
    items = {record.samples.stored[score.cell.key].items for context in whole for score in context.values()}
    if len(items) != 1:
        return {}
    return {
        model: {level: tuple(context[model, level] for context in whole) for level in levels}
        for model in models
    }


def _finding(
    record: RunRecord, benchmark: str, axis: str, levelled: Levelled, direction: Direction
) -> ManyLevels:
    items = record.plan.study.items[benchmark]
    scores = {
        model: tuple(LevelScore(level, _mean([cell.score for cell in cells])) for level, cells in own.items())
        for model, own in levelled.items()
    }
    ranked = [[direction.good(level.score) for level in own] for own in scores.values()]
    cells = [cell for own in levelled.values() for some in own.values() for cell in some]
    units = len(set(items.units.values()))
    return ManyLevels(
        benchmark,
        axis,
        len(next(iter(scores.values()))),
        len(next(iter(next(iter(levelled.values())).values()))),
        units,
        tuple(
            _model(record, benchmark, model, own, levelled[model], direction) for model, own in scores.items()
        ),
        kendalls_w(_in_common_units(ranked).T) if len(scores) > 1 else None,
        digest([cell.rows for cell in cells]),
    )


def _model(
    record: RunRecord,
    benchmark: str,
    model: str,
    scores: tuple[LevelScore, ...],
    cells: Mapping[str, Sequence[CellScore]],
    direction: Direction,
) -> ModelOverLevels:
    spec, items = record.plan.study.spec, record.plan.study.items[benchmark]
    best = max(scores, key=lambda level: direction.good(level.score))
    worst = min(scores, key=lambda level: direction.good(level.score))
    goodness = _mean([direction.good(level.score) for level in scores])
    names, points, most = _points(record, list(cells.values()))
    sums = sum_units(points.T, unit_number_of_items(names, items.units)).T
    unit = resampling_of(spec, items).unit
    drawn = unit_number_of_items(names, {item.id: item.at(unit) for item in items.sampled})
    earned = np.bincount(drawn, points.sum(axis=1) / (most * len(scores)))
    return ModelOverLevels(
        model,
        scores,
        _mean([level.score for level in scores]),
        share_limits(np.bincount(drawn), earned),
        worst,
        best,
        1 - (direction.good(best.score) - goodness),
        exchanged_range(sums, most * len(names), DRAWS, spec.sampling.seed),
        kendalls_w(sums),
    )


def _points(record: RunRecord, by_level: Sequence[Sequence[CellScore]]) -> tuple[tuple[str, ...], Whole, int]:
    """What each item earned under each level, (items, levels), in units of which it can earn so many."""
    stored = record.samples.stored
    names = stored[by_level[0][0].cell.key].items
    asked = [cell.cell.setting for cells in by_level for cell in cells]
    most = lcm(*(setting.outcomes_of_item * setting.item_scale for setting in asked))
    columns = []
    for cells in by_level:
        column = np.zeros(len(names), dtype=np.int64)
        for cell in cells:
            own, setting = stored[cell.cell.key], cell.cell.setting
            column += own.correct * (most // (setting.outcomes_of_item * setting.item_scale))
        columns.append(column)
    return names, np.stack(columns, axis=1), most * len(by_level[0])


def _mean(values: Sequence[Fraction | None]) -> Fraction:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) / len(known)


def _in_common_units(rows: Sequence[Sequence[Fraction]]) -> Whole:
    """Fractions as whole numbers of one unit: what is equal stays so."""
    unit = lcm(*(value.denominator for row in rows for value in row))
    return np.array([[int(value * unit) for value in row] for row in rows], dtype=np.int64)


MANY_LEVELS: Finding[tuple[ManyLevels, ...]] = Finding("many_levels", many_levels, ())


LABEL = "explanation of a fitted surrogate, not a test and not a share of variance"

ROUNDS = 300

_TREES: dict[str, Any] = {
    "learning_rate": 0.05,
    "max_depth": 5,
    "min_data_in_leaf": 1,  # the default of 20 allows no split at all on a pair's 48 rows
    "min_data_per_group": 1,
    "cat_smooth": 0.0,
    "cat_l2": 0.0,
    "seed": 42,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


@dataclass(frozen=True, slots=True)
class Attribution:
    """Mean absolute SHAP value of each axis (and of `model`, where its scores are explained).

    `subject` is `score` or, in `log-odds`, the verdict `a scores higher than b`. `fit` is R^2 of the scores,
    or the share of configurations whose verdict the surrogate gives: how much of what it explains it has
    caught, on the `rows` that it was fitted to.
    """

    benchmark: str
    subject: str
    unit: str
    rows: int
    fit: float
    axes: Mapping[str, float]


def attributions_of(
    benchmark: str, models: Sequence[str], cells: Sequence[CellScore]
) -> Iterator[Attribution]:
    """What moves the scores of a benchmark's shared cells, and the verdict on every pair of models, as far as
    they are measured. What is the same everywhere has nothing to explain. Raises `UnavailableError` (GC604)
    where lightgbm is not installed."""
    scored = {
        (score.cell.configuration, score.cell.model): score
        for score in cells
        if score.cell.shared and score.score is not None
    }
    places = [{"model": score.cell.model, **score.cell.levels} for score in scored.values()]
    scores = [score.score for score in scored.values() if score.score is not None]
    if len(set(scores)) > 1:
        yield of_scores(benchmark, places, scores)
    for a, b in combinations(models, 2):
        both = [
            (one.cell.levels, one.score > other.score)
            for (configuration, model), one in scored.items()
            if model == a
            and (other := scored.get((configuration, b))) is not None
            and one.score is not None
            and other.score is not None
        ]
        if len({higher for _, higher in both}) > 1:
            yield order_attribution(
                benchmark, a, b, [place for place, _ in both], [higher for _, higher in both]
            )


def of_scores(benchmark: str, places: Sequence[Mapping[str, str]], scores: Sequence[Fraction]) -> Attribution:
    """What moves the score, over cells at these places (model and axes), whose scores differ."""
    target = np.array([float(score) for score in scores])
    axes, codes = _codes(places)
    booster = _fit("regression", codes, target)
    rest = target - booster.predict(codes)
    fit = 1 - float(rest @ rest) / float(((target - target.mean()) ** 2).sum())
    return Attribution(benchmark, "score", "score", len(target), fit, _mean_shap(booster, codes, axes))


def order_attribution(
    benchmark: str, a: str, b: str, places: Sequence[Mapping[str, str]], higher: Sequence[bool]
) -> Attribution:
    """What moves the verdict "a scores higher than b", over configurations, in log-odds; it differs."""
    axes, codes = _codes(places)
    target = np.array(higher, dtype=np.float64)
    booster = _fit("binary", codes, target)
    fit = float(((booster.predict(codes) > 0.5) == (target > 0.5)).mean())
    subject = f"{a} scores higher than {b}"
    return Attribution(benchmark, subject, "log-odds", len(target), fit, _mean_shap(booster, codes, axes))


def _fit(objective: str, codes: Any, target: Any) -> Any:
    lightgbm = _lightgbm()
    data = lightgbm.Dataset(codes, target, categorical_feature=list(range(codes.shape[1])))
    return lightgbm.train({**_TREES, "objective": objective}, data, num_boost_round=ROUNDS)


def _codes(places: Sequence[Mapping[str, str]]) -> tuple[list[str], Any]:
    """Level numbers, shape (rows, axes), for the axes that vary."""
    axes = [axis for axis in places[0] if len({place[axis] for place in places}) > 1]
    columns = []
    for axis in axes:
        names = list(dict.fromkeys(place[axis] for place in places))
        columns.append([names.index(place[axis]) for place in places])
    return axes, np.array(columns, dtype=np.int32).T


def _mean_shap(booster: Any, codes: Any, axes: Sequence[str]) -> dict[str, float]:
    contributions = booster.predict(codes, pred_contrib=True)[:, :-1]
    return dict(zip(axes, np.abs(contributions).mean(axis=0).tolist(), strict=True))


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError:
        message = "axis attribution needs lightgbm, which is not installed"
        help_line = "pip install 'gridc[explain]'"
        raise UnavailableError([Diagnostic("GC604", message, help=help_line)]) from None
    return lightgbm


def attributions(spec: Spec, cells: Mapping[str, Sequence[CellScore]]) -> tuple[Attribution, ...]:
    """What moves scores and order on every benchmark, whose cells are given by its name."""
    models = [model.id for model in spec.model]
    return tuple(row for name, scores in cells.items() for row in attributions_of(name, models, scores))


def _attribution(record: RunRecord) -> tuple[Attribution, ...]:
    spec = record.plan.study.spec
    return attributions(spec, cells_by_benchmark(spec, record.scores))


ATTRIBUTION: Finding[tuple[Attribution, ...]] = Finding(
    "attribution",
    _attribution,
    (),
    on_request=True,
    about=(
        "Which axes move scores, and which move their order: TreeSHAP on a surrogate model "
        "(SafetyRepro, app. S)."
    ),
)
"""Needs lightgbm."""
