"""The statistics that a spec states: of each model under each configuration, with intervals over units.

A kind says how rows become totals of units, and what is computed of them. Most read what the items of a cell
came to (`Samples`); calibration and spread read responses one by one, and corpus scores read their texts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cells import ONLY, Cell, anchored
from gridc.compiler.instrument.aggregates import conflict_of_statistic
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.thoughts import answer_begins
from gridc.reports.findings.observations import Reading
from gridc.reports.findings.rates import of_response
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.schema.canonical import digest
from gridc.schema.spec import Benchmark
from gridc.schema.statistics import BINS, Statistic, StatisticKind
from gridc.statistics import corpus, totals, win_rates
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.envelope import LEVEL
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import UNDETERMINED
from gridc.statistics.unit_intervals import Ends, UnitEstimate
from gridc.statistics.win_rates import win_rate_limits


@dataclass(frozen=True, slots=True)
class SummaryValue:
    """A statistic of one model under one configuration, over `responses` of those that were `asked`. `note`
    says why it has no value or no interval, or that few units have one; `rows` is the digest of what was
    read. Where a criterion bounds it, `limits` are its one-sided ones at an error of `ERROR`, and `together`
    those at `ERROR` over the number of its values."""

    value: float | None
    interval: Ends | None
    method: str
    responses: int
    asked: int
    rows: str
    note: str
    limits: Ends | None = None
    together: Ends | None = None

    @classmethod
    def of(cls, found: UnitEstimate, responses: int, asked: int, rows: str) -> "SummaryValue":
        note = found.no_interval if found.value is not None else "these responses do not determine it"
        if found.interval is not None and found.few:
            note = FEW
        return cls(found.value, found.interval, found.method, responses, asked, rows, note)

    @classmethod
    def missing(cls, why: str) -> "SummaryValue":
        """Of what was not asked, or is not all answered."""
        return cls(None, None, "", 0, 0, digest([]), why)

    @property
    def of_answers(self) -> str:
        """`of 180 of 200 answers`; empty where all that were asked are in."""
        return "" if self.responses >= self.asked else f"of {self.responses:,} of {self.asked:,} answers"


FEW = "few units"


@dataclass(frozen=True, slots=True)
class StatedStatistic:
    """A statistic that the spec states, by model and configuration; of axes whose levels are taken together a
    configuration names the others. `anchor` is the one that the study's anchor selects, and `by` what a mean
    of means is over."""

    id: str
    kind: StatisticKind
    what: str
    benchmarks: tuple[str, ...]
    anchor: str
    values: Mapping[str, Mapping[str, SummaryValue]]
    by: str | None = None

    @property
    def formula(self) -> str:
        """How it is computed, in words."""
        return _formula(self.kind, self.by)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """What a statistic reads under one configuration, (N,) each: an item in a cell with how many of its
    responses are `counted`, or one response. `model`, `benchmark`, `category` and `opponent` are places among
    those of the scope (0 where it has no categories), and `values` what the counted responses earned, by the
    key that names the outcome."""

    model: Whole
    benchmark: Whole
    category: Whole
    opponent: Whole
    unit: Whole
    item: Whole
    positive: Flags
    counted: Floats
    values: Mapping[str, Floats]
    texts: NDArray[np.object_]
    references: NDArray[np.object_]

    def of(self, rows: Flags) -> "_Rows":
        """Some of the rows, flags of shape (N,)."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        values = {key: values[rows] for key, values in columns.pop("values").items()}
        return _Rows(**{name: column[rows] for name, column in columns.items()}, values=values)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a statistic is of, in order: its models, its benchmarks, and `players`, models and opponents; the
    level of its intervals; and the categories of its benchmark's items, where it is by category."""

    statistic: Statistic
    models: tuple[str, ...]
    benchmarks: tuple[Benchmark, ...]
    players: tuple[str, ...]
    level: float
    categories: tuple[str, ...] = ()


OfModel = Callable[[_Scope, _Rows], UnitEstimate]
OfModels = Callable[[_Scope, _Rows], Sequence[UnitEstimate]]


def _two_classes(rows: _Rows) -> Floats:
    return totals.two_classes(rows.positive, rows.values["predicted"], rows.counted)


def _class_share(points: int, rows: Sequence[int]) -> OfModel:
    """Of one column of the table of two classes as a share of some."""

    def estimate(scope: _Scope, mine: _Rows) -> UnitEstimate:
        table = _two_classes(mine)
        return totals.share(mine.unit, table[:, list(rows)].sum(axis=1), table[:, points], scope.level)

    return estimate


def _precision(scope: _Scope, rows: _Rows) -> UnitEstimate:
    return totals.precision(rows.unit, _two_classes(rows), scope.level)


def _f1(scope: _Scope, rows: _Rows) -> UnitEstimate:
    return totals.f1(rows.unit, _two_classes(rows), scope.level)


def _matthews(scope: _Scope, rows: _Rows) -> UnitEstimate:
    return totals.matthews(rows.unit, _two_classes(rows), scope.level)


def _auroc(scope: _Scope, rows: _Rows) -> UnitEstimate:
    return totals.area_under_curve(rows.unit, rows.values["predicted"], rows.positive, scope.level)


def _brier(scope: _Scope, rows: _Rows) -> UnitEstimate:
    distance = (rows.values["confidence"] - rows.values["outcome"]) ** 2
    return totals.share(rows.unit, rows.counted, distance, scope.level)


BY_CHANCE = (
    "chance alone puts it above 0, the more the fewer answers a bin holds: no interval allows for that"
)


def _calibration_error(scope: _Scope, rows: _Rows) -> UnitEstimate:
    confidence, right = rows.values["confidence"], rows.values["outcome"]
    value = digits(totals.calibration_error(confidence, right, scope.statistic.bins or BINS))
    return replace(UNDETERMINED, value=value, no_interval=BY_CHANCE)


def _spread(of: Callable[[Whole, Whole, Floats, float], UnitEstimate]) -> OfModel:
    return lambda scope, rows: of(rows.unit, rows.item, rows.values["outcome"], scope.level)


def _corpus(kind: str) -> OfModel:
    def estimate(scope: _Scope, rows: _Rows) -> UnitEstimate:
        return corpus.estimate(kind, rows.unit, rows.texts.tolist(), rows.references.tolist(), scope.level)

    return estimate


def _macro_mean(scope: _Scope, rows: _Rows) -> UnitEstimate:
    earned, by = rows.values["outcome"], scope.statistic.by
    group, groups = (
        (rows.category, scope.categories) if by == "category" else (rows.benchmark, scope.benchmarks)
    )
    return totals.macro_mean(rows.unit, group, len(groups), rows.counted, earned, scope.level)


OTHER_UNITS = "not every model was asked the same of every unit, so no two can be tested unit by unit"


def _win_rates(scope: _Scope, rows: _Rows) -> list[UnitEstimate]:
    signs = [-1.0 if benchmark.lower_is_better else 1.0 for benchmark in scope.benchmarks]
    asked: list[Floats] = []
    earned: list[Floats] = []
    for place in range(len(scope.benchmarks)):
        mine = rows.of(rows.benchmark == place)
        units, unit = np.unique(mine.unit, return_inverse=True)
        for column, values in ((asked, mine.counted), (earned, mine.values["outcome"])):
            column.append(np.zeros((len(scope.models), len(units))))
            np.add.at(column[-1], (mine.model, unit), values)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [own.sum(axis=1) / of.sum(axis=1) for own, of in zip(earned, asked, strict=True)]
    values = totals.win_rates(np.array(means).T, signs).tolist()
    count = sum(of.shape[1] for of in asked)
    alike = all((of == of[0]).all() for of in asked)
    if not all(map(isfinite, values)):
        return [UNDETERMINED] * len(values)
    if not alike:
        return [replace(UNDETERMINED, value=digits(value), no_interval=OTHER_UNITS) for value in values]
    limits = win_rate_limits(earned, [of[0] for of in asked], signs, scope.level)
    return [
        UnitEstimate(digits(value), (digits(low), digits(high)), count, count, method=win_rates.METHOD)
        for value, (low, high) in zip(values, limits.tolist(), strict=True)
    ]


def _strengths(scope: _Scope, rows: _Rows) -> list[UnitEstimate]:
    apart = rows.of(rows.model != rows.opponent)
    found = totals.comparisons(
        apart.unit, apart.model, apart.opponent, apart.counted, apart.values["outcome"],
        len(scope.players), scope.level,
    )  # fmt: skip
    return found[: len(scope.models)]


@dataclass(frozen=True, slots=True)
class SummaryKind:
    """How a kind is computed: of each model alone, or of all that are there together. `formula` says what it
    is, `reads` whether of what items came to, or of responses one by one, or of their texts. `reading`: what
    nobody could compare is no defeat."""

    formula: str
    of_model: OfModel | None = None
    of_models: OfModels | None = None
    reads: Literal["items", "responses", "texts"] = "items"
    reading: Reading = "itt"


KINDS: Mapping[StatisticKind, SummaryKind] = {
    "precision": SummaryKind("true positives / all that are called positive", _precision),
    "recall": SummaryKind("true positives / all that are positive", _class_share(0, [0, 2])),
    "specificity": SummaryKind("true negatives / all that are not positive", _class_share(3, [3, 1])),
    "f1": SummaryKind("2 precision recall / (precision + recall)", _f1),
    "matthews": SummaryKind("correlation of what responses say with what items are", _matthews),
    "auroc": SummaryKind(
        "chance that of two items the positive one has the larger number", _auroc, reads="responses"
    ),
    "brier": SummaryKind("mean of (confidence - outcome)^2", _brier, reads="responses"),
    "calibration_error": SummaryKind(
        "mean distance of confidence from outcome over bins; few responses in a bin make it larger",
        _calibration_error,
        reads="responses",
    ),
    "macro_mean": SummaryKind("mean over benchmarks of their means", _macro_mean),
    "win_rate": SummaryKind(
        "share of the other models with a worse mean, a tie half, mean over benchmarks", of_models=_win_rates
    ),
    "spread_within": SummaryKind(
        "standard deviation over an item's replicates", _spread(totals.spread_within), reads="responses"
    ),
    "spread_between": SummaryKind(
        "standard deviation of the items' expected scores",
        _spread(totals.spread_between),
        reads="responses",
    ),
    "strength": SummaryKind(
        "log odds of Bradley and Terry about a mean of 0, a tie half a win, unreadable verdicts left out",
        of_models=_strengths,
        reading="pp",
    ),
    "chrf": SummaryKind(
        "chrF of all texts, 1 where they equal their references", _corpus("chrf"), reads="texts"
    ),
    "bleu": SummaryKind(
        "BLEU of all texts, 1 where they equal their references", _corpus("bleu"), reads="texts"
    ),
}


BY_CATEGORY = "mean over the benchmark's categories of their means"
"""The formula of a macro mean by category."""


def _formula(kind: StatisticKind, by: str | None) -> str:
    return BY_CATEGORY if by == "category" else KINDS[kind].formula


def summaries(record: RunRecord) -> tuple[StatedStatistic, ...]:
    """Every statistic that the spec states."""
    spec = record.plan.study.spec
    bounded = {test.criterion.statistic for test in spec.falsification if test.criterion is not None}
    found = ((stated, _summary(record, stated)) for stated in spec.statistics)
    return tuple(
        _with_limits(record, stated, summary) if stated.id in bounded else summary
        for stated, summary in found
    )


ERROR = 0.05
"""The error of a criterion that is called met, and of one that is called failed."""


def _with_limits(record: RunRecord, statistic: Statistic, summary: StatedStatistic) -> StatedStatistic:
    known = [value for own in summary.values.values() for value in own.values() if value.value is not None]
    alone, together = (
        _summary(record, statistic, 1 - 2 * error).values for error in (ERROR, ERROR / max(len(known), 1))
    )
    values = {
        model: {
            name: replace(value, limits=alone[model][name].interval, together=together[model][name].interval)
            for name, value in own.items()
        }
        for model, own in summary.values.items()
    }
    return replace(summary, values=values)


def _summary(record: RunRecord, statistic: Statistic, level: float = LEVEL) -> StatedStatistic:
    spec, named = record.plan.study.spec, statistic.benchmarks
    benchmarks = tuple(each for each in spec.benchmark if named is None or each.id in named)
    lacking: dict[str, list[str]] = {}
    for place in map(record.plan.envelope, [each.id for each in benchmarks]):
        for model in place.not_asked:
            lacking.setdefault(model, []).append(place.benchmark)
    some = [model.id for model in spec.model if len(lacking.get(model.id, ())) < len(benchmarks)]
    models = tuple(model for model in some if model not in lacking)
    against = [judge.compares.against for judge in spec.declared_judges if judge.compares is not None]
    players = tuple(dict.fromkeys((*models, *against)))
    scope = _Scope(statistic, models, benchmarks, players, level)
    by_configuration = _configurations(record, scope)
    values: dict[str, dict[str, SummaryValue]] = {
        model: {
            name: SummaryValue.missing(f"it was not asked {', '.join(lacking[model])}")
            for name in by_configuration
        }
        if model in lacking
        else {}
        for model in some
    }
    for name, cells in by_configuration.items():
        for model, value in _under(record, scope, cells):
            values[model][name] = value
    what = statistic.what or _formula(statistic.kind, statistic.by)
    chosen = (name for name, cells in by_configuration.items() if any(anchored(spec, cell) for cell in cells))
    names = tuple(each.id for each in benchmarks)
    anchor = next(chosen, "")
    return StatedStatistic(statistic.id, statistic.kind, what, names, anchor, values, statistic.by)


def _configurations(record: RunRecord, scope: _Scope) -> dict[str, list[Cell]]:
    """The cells of the envelope by configuration, without the axes that are taken together."""
    over, names = scope.statistic.over or (), [benchmark.id for benchmark in scope.benchmarks]
    cells: dict[str, list[Cell]] = {}
    for cell in record.plan.cells():
        if cell.shared and cell.benchmark in names and cell.model in scope.models:
            rest = (f"{axis}={level}" for axis, level in cell.levels.items() if axis not in over)
            cells.setdefault(",".join(rest) or ONLY, []).append(cell)
    return cells


def _under(record: RunRecord, scope: _Scope, cells: Sequence[Cell]) -> Iterator[tuple[str, SummaryValue]]:
    """The values of every model under one configuration, whose cells these are."""
    kind, here = KINDS[scope.statistic.kind], {cell.benchmark for cell in cells}
    stated = record.plan.study.spec.outcomes
    joined = (conflict_of_statistic(cell.setting, scope.statistic, stated) for cell in cells)
    conflict = next((each for each in joined if each is not None), None)
    if conflict is not None:
        yield from ((model, SummaryValue.missing(conflict[0])) for model in scope.models)
        return
    lacking = [benchmark.id for benchmark in scope.benchmarks if benchmark.id not in here]
    done = {cell.key for cell in record.samples.cells}
    waiting = {cell.model for cell in cells if cell.key not in done}
    if waiting and kind.of_models is not None:
        waiting = set(scope.models)
    reason = f"nothing is asked of {', '.join(lacking)}" if lacking else "not every answer is there"
    gone = [benchmark.id for benchmark in scope.benchmarks if benchmark.id in record.plan.study.absent]
    if gone:
        lacking, reason = gone, f"the items of {', '.join(gone)} are not here"
    left = [] if lacking else [model for model in scope.models if model not in waiting]
    yield from ((model, SummaryValue.missing(reason)) for model in scope.models if model not in left)
    if not left:
        return
    if scope.statistic.by == "category":
        scope = replace(scope, categories=_categories(record, scope.benchmarks))
    some = [cell for cell in cells if cell.model in left]
    rows, digests = (_of_items if kind.reads == "items" else _of_responses)(record, scope, some)
    asked = _asked(record, scope, some)
    together = None if kind.of_models is None else kind.of_models(scope, rows)
    for place, model in enumerate(scope.models):
        if model not in left:
            continue
        mine = rows.of(rows.model == place)
        if together is not None:
            found = together[place]
        else:
            found = kind.of_model(scope, mine) if kind.of_model and len(mine.unit) else UNDETERMINED
        yield model, SummaryValue.of(found, int(mine.counted.sum()), asked[place], digests[model])


def _categories(record: RunRecord, benchmarks: Sequence[Benchmark]) -> tuple[str, ...]:
    """The categories of all items that are asked, in order."""
    items = record.plan.study.items
    return tuple(sorted({item.category for each in benchmarks for item in items[each.id].sampled}))


def _asked(record: RunRecord, scope: _Scope, cells: Sequence[Cell]) -> list[int]:
    """Of each model how many answers have a score."""
    scored = record.samples.of("score", cells)
    models = np.array([scope.models.index(cell.model) for cell in scored.cells], np.int64)
    return [int(scored.counted[models[scored.cell] == place].sum()) for place in range(len(scope.models))]


def _of_items(record: RunRecord, scope: _Scope, cells: Sequence[Cell]) -> tuple[_Rows, dict[str, str]]:
    """What the items of cells came to of the one outcome that is read, and the digest of each model's."""
    ((key, outcome),) = scope.statistic.outcomes.items()
    seen = record.samples.of(outcome, cells)
    counted, earned = seen.reading(KINDS[scope.statistic.kind].reading)
    where = [_of_cell(record, scope, cell) for cell in seen.cells]
    items = zip(seen.cell.tolist(), seen.item.tolist(), strict=True)
    names = [(where[at], seen.items[item][1]) for at, item in items]
    positive = np.array([cell.positive[name] for cell, name in names], np.bool_)
    category = np.array([cell.category[name] for cell, name in names], np.int64)
    if key == "predicted" and scope.statistic.predicted is None:
        earned = np.where(positive, earned, counted - earned)
    places = {
        name: np.array([getattr(each, name) for each in where], np.int64)[seen.cell]
        for name in ("model", "benchmark", "opponent")
    }
    nothing = np.full(len(seen), None, np.object_)
    rows = _Rows(
        **places, category=category, unit=seen.unit, item=seen.item, positive=positive,
        counted=counted.astype(np.float64), values={key: earned}, texts=nothing, references=nothing,
    )  # fmt: skip
    own: dict[str, list[str]] = {model: [] for model in scope.models}
    for cell in seen.cells:
        own[cell.model].append(seen.digests[cell.key])
    return rows, {model: digest([key, outcome, *found]) for model, found in own.items()}


@dataclass(frozen=True, slots=True)
class _OfCell:
    """What all rows of a cell have in common, and by item its category and whether it is positive."""

    model: int
    benchmark: int
    opponent: int
    items: Mapping[str, Item]
    positive: Mapping[str, bool]
    category: Mapping[str, int]


def _of_cell(record: RunRecord, scope: _Scope, cell: Cell) -> _OfCell:
    spec, statistic = record.plan.study.spec, scope.statistic
    items = {item.id: item for item in record.plan.items(cell)}
    judge = spec.judge_called(cell.setting.judge)
    against = cell.model if judge is None or judge.compares is None else judge.compares.against
    chosen = statistic.positive
    places = {category: place for place, category in enumerate(scope.categories)}
    return _OfCell(
        scope.models.index(cell.model),
        [benchmark.id for benchmark in scope.benchmarks].index(cell.benchmark),
        scope.players.index(against),
        items,
        {name: chosen is not None and chosen.matches(item.classes) for name, item in items.items()},
        {name: places.get(item.category, 0) for name, item in items.items()},
    )


def _of_responses(record: RunRecord, scope: _Scope, cells: Sequence[Cell]) -> tuple[_Rows, dict[str, str]]:
    """The responses of cells one by one. One that an outcome leaves out has no row."""
    spec, outcomes = record.plan.study.spec, scope.statistic.outcomes
    seen = record.samples.of("score", cells)
    units, numbers = (
        dict(zip(seen.items, seen.units.tolist(), strict=True)),
        dict[tuple[str, str, str], int](),
    )
    earned_of = {key: of_response(name, spec.outcomes) for key, name in outcomes.items()}
    columns: dict[str, list[Any]] = {each.name: [] for each in fields(_Rows)}
    values: dict[str, list[float]] = {key: [] for key in outcomes}
    read: dict[str, list[object]] = {model: [sorted(outcomes.items())] for model in scope.models}
    for cell in cells:
        where = _of_cell(record, scope, cell)
        labels = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), cell.setting.scores)
        for row in record.store.responses_of(record.plan.study_digest, cell.key, None):
            item = where.items[row.item]
            earned = {key: of(row, item, labels, cell.setting) for key, of in earned_of.items()}
            if None in earned.values():
                continue
            of_row = {
                "model": where.model,
                "benchmark": where.benchmark,
                "category": where.category[row.item],
                "opponent": where.opponent,
                "unit": units[cell.benchmark, row.item],
                "item": numbers.setdefault((cell.model, cell.benchmark, row.item), len(numbers)),
                "positive": where.positive[row.item],
                "counted": 1.0,
                "texts": _answer(row.text),
                "references": item.references,
            }
            for name, value in of_row.items():
                columns[name].append(value)
            for key, value in earned.items():
                values[key].append(value or 0.0)
            read[cell.model].append([cell.key, row.item, *earned.values(), of_row["texts"]])
    arrays = {name: _array(name, column) for name, column in columns.items() if name != "values"}
    rows = _Rows(**arrays, values={key: np.array(column, np.float64) for key, column in values.items()})
    return rows, {model: digest(found) for model, found in read.items()}


def _array(name: str, column: list[Any]) -> NDArray[Any]:
    if name in ("texts", "references"):
        found = np.empty(len(column), np.object_)
        found[:] = column
        return found
    kinds: Mapping[str, Any] = {"positive": np.bool_, "counted": np.float64}
    return np.array(column, kinds.get(name, np.int64))


def _answer(text: str | None) -> str:
    """The answer in a response, behind its reasoning; empty where there is none."""
    begins = None if text is None else answer_begins(text)
    return "" if text is None or begins is None else text[begins:].strip()


SUMMARIES: Finding[tuple[StatedStatistic, ...]] = Finding(
    "summaries", summaries, (), tuple[StatedStatistic, ...], about="The statistics that the spec states."
)
