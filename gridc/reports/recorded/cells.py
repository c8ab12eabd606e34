"""Turns the runs of another package's logs into cells, and finds what a reader must know before any p-value.

A cell is a model on a benchmark in one configuration, with its repetitions.

The arguments of a run name the model, the machine and the seed beside what is asked of the model. Only the
last is the instrument: a release and its baseline are not two instruments because they have two names.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gridc.compiler.grid.cells import ONLY
from gridc.compiler.inputs.logs import ReadLogs
from gridc.compiler.inputs.logs.gathering import GatheredRun, LogColumn, LogItems, share_with_shared_wording
from gridc.compiler.inputs.logs.records import LogAnswer, LogAxis, LogRun, writable
from gridc.diagnostics.errors import visible
from gridc.numbers import counted, percent
from gridc.outcomes import STATES, AnswerTable, CellOutcomes
from gridc.reports.words import level_as_table, level_names
from gridc.schema.comparison import Aspect, StateCounts
from gridc.schema.recorded import LogFileRow, LogGroupRow, RecordedRuns
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.unbounded_means import mean_difference
from gridc.statistics.unit_intervals import Ends, share, unit_totals

OF_MODEL = frozenset([
    "adapter", "adapter_name_or_path", "base_url", "code_revision", "delta", "deployment", "gguf_file",
    "lora", "lora_local_path", "lora_path", "model", "model_base_url", "model_id", "model_name",
    "model_name_or_path", "model_path", "path", "peft", "pretrained", "revision", "served_model_name",
    "subfolder", "tokenizer", "tokenizer_name", "tokenizer_path", "tokenizer_revision",
])  # fmt: skip
"""Which model answers, or where it lies."""
OF_MACHINE = frozenset([
    "batch_size", "cache_dir", "data_parallel_size", "device", "device_map", "download_dir",
    "gpu_memory_utilization", "gpus", "max_batch_size", "max_connections", "max_cpu_memory",
    "max_memory_per_gpu", "max_retries", "num_concurrent", "offload_folder", "parallelize",
    "pipeline_parallel_size", "tensor_parallel_size", "timeout",
])  # fmt: skip
"""On what it answers, and how often it is asked at once."""
SECRET = re.compile(r"(?i)(^|_)(api_?key|token|secret|password)$")
OWN_NAME = "{model}"
"""Stands for a model's own name in a path."""


def settings_of(run: LogRun) -> Iterator[tuple[tuple[Aspect, str], object]]:
    """By (aspect, `axis`), or (aspect, `axis.argument`) of an axis that is a table."""
    for name, one in run.axes.items():
        arguments = level_as_table(one.value)
        if arguments is None:
            yield (one.aspect, name), one.value
            continue
        for argument, value in arguments.items():
            if not SECRET.search(argument):
                shared = value if "template" in argument else _without_name(value, run.called or run.model)
                yield (_aspect(one, argument), f"{name}.{argument}"), shared


def _aspect(one: LogAxis, argument: str) -> Aspect:
    """Arguments of a task may name a model too, such as a judge: they are no model's own."""
    if not one.own:
        return one.aspect
    if argument in OF_MODEL:
        return "model"
    if argument in OF_MACHINE:
        return "environment"
    return "seed" if argument == "seed" else one.aspect


def _without_name(value: Any, model: str) -> object:
    """A path with `{model}` where it has the model's own name, so that what else it says is compared. The
    file of a template is compared by its whole name, because its name is all that is known of it."""
    if not isinstance(value, str) or not re.search(r"[/\\]", value):
        return value
    for name in filter(None, (model, re.split(r"[/\\]", model)[-1])):
        value = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", OWN_NAME, value, flags=re.IGNORECASE)
    return value


def recorded_runs(
    logs: ReadLogs,
    benchmarks: Iterable["RecordedBenchmark"] = (),
    further: Iterable[str] = (),
    groups: Iterable[LogGroupRow] = (),
) -> RecordedRuns:
    """What was read, what was seen of these benchmarks, and what it does not say; with `further` notes, and
    the `groups` that benchmarks are of."""
    seen, called = [*logs.notes, *further], dict[str, str]()
    for one in benchmarks:
        differs = f"models also differ in: {', '.join(one.between)}"
        readings = list(dict.fromkeys(run.reading for cell in one.cells.values() for run in cell.runs))
        called[one.name] = ", ".join(readings)
        seen += [f"{one.name}: the score is what the log calls {', '.join(f'`{name}`' for name in readings)}"]
        seen += [f"{one.name}: {text}" for text in (*([differs] if one.between else []), *one.warnings)]
    unknown = (f"{one.run.package}: {what}" for one in logs.runs for what in one.run.unknown)
    return RecordedRuns(
        packages=tuple(dict.fromkeys(writable(file.made_by) for file in logs.files)),
        files=tuple(
            LogFileRow(path=writable(str(file.path)), sha256=file.digest, made_by=file.made_by)
            for file in logs.files
        ),
        notes=tuple(visible(writable(text)) for text in seen),
        unknown=tuple(dict.fromkeys(visible(writable(text)) for text in unknown)),
        groups=tuple(groups),
        readings={visible(writable(name)): visible(writable(text)) for name, text in called.items()},
    )


def score_limits(scores: Floats, units: Whole) -> Ends | None:
    """The interval of the mean of `scores`, (items,), NaN where there is none; `units` numbers the unit of
    every item. None where there is no score, or where too few units tell how scores beyond 0 and 1 vary."""
    held = ~np.isnan(scores)
    units, scores, ones = units[held], scores[held], np.ones(held.sum())
    if (scores < 0).any() or (scores > 1).any():
        return mean_difference(units, ones, scores).interval
    return share(unit_totals(units, np.column_stack([ones, scores])).round(12)).interval


UNRECORDED = "not recorded"
"""The name of a configuration that no other one stands beside."""
LARGE = 1e3
"""A score above it has no twelve digits to round to."""
TEMPLATED, TEMPLATES = 0.5, "GC768"
"""The share of items of one wording from which a warning says so, and its code."""
FEWEST = 10
"""Items from which repetitions that score alike are no chance, and repetitions whose texts are equal."""
FURTHER = 20
"""Repetitions beyond the first ones from which it takes fewer items."""
LONG, DIFFERENT = 60, 5
"""Characters of answers, on average, and how many different ones, from which equal texts are no chance."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedAnswers:
    """The answers of one run under one reading, with what they were read as."""

    gathered: GatheredRun
    reading: str

    @property
    def column(self) -> LogColumn | None:
        return self.gathered.columns.get(self.reading)

    def answers(self) -> Iterator[LogAnswer]:
        """Those of the column, in its order, with their texts, which are read from the log again."""
        run = self.gathered.run
        for answer in run.samples() if run.samples is not None else ():
            if self.reading in (answer.scores or run.readings):
                yield answer


CountedItems = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""Whether each item of a benchmark counts."""


def asked_times(run: LogRun, column: LogColumn) -> int:
    """How often a run asked each item: as its log says, or as some item has a repetition."""
    return max(run.repetitions or 0, int(column.epoch.max(initial=-1)) + 1)


@dataclass(frozen=True, eq=False)
class RecordedCell:
    """One model in one configuration: the runs that repeat it.

    `counted` are the items that some model of its list was asked in the configuration: one that this model
    lacks failed here, and so did a repetition that other items have, unless items are to be `common_only`. An
    answer without a score has the worst one in `worst` and the best one in `best`."""

    model: str
    configuration: str
    runs: tuple[RecordedAnswers, ...]
    count: int
    unlisted: float | None
    lower: bool = False
    counted: CountedItems | None = None
    common_only: bool = False

    @cached_property
    def outcomes(self) -> CellOutcomes:
        """Of every item of the benchmark, the repetitions in their order."""
        return self._outcomes(None)

    def to_decimals(self, decimals: int) -> CellOutcomes:
        """The same of scores that are rounded one by one."""
        scores = [run.column.score for run in self.runs if run.column is not None]
        exact = all(np.array_equal(score, np.round(score, decimals), equal_nan=True) for score in scores)
        return self.outcomes if exact else self._outcomes(decimals)

    def _outcomes(self, decimals: int | None) -> CellOutcomes:
        columns = [run.column for run in self.runs if run.column is not None]
        orders = [np.argsort(column.epoch, kind="stable") for column in columns]
        item, score, state = (
            np.concatenate(
                [getattr(column, name)[order] for column, order in zip(columns, orders, strict=True)]
                or [np.zeros(0, kind)]
            )
            for name, kind in (("item", np.int64), ("score", np.float64), ("state", np.int64))
        )
        score = score if decimals is None else np.round(score, decimals)
        every = replace(
            AnswerTable(item, score, state).outcomes(("",) * self.count), states=None, prompts=None
        )
        if self.unlisted is None:
            return every if self.common_only else every.repeated(self._asked)
        return every.at(np.where(every.trials > 0, np.arange(self.count), -1), self.unlisted)

    @property
    def _asked(self) -> int:
        """How often each item was asked: each run asked all items as often as its log says, or as some item
        has a repetition there."""
        return sum(asked_times(run.gathered.run, run.column) for run in self.runs if run.column is not None)

    @cached_property
    def itemised(self) -> bool:
        return any(run.column is not None for run in self.runs)

    @cached_property
    def scores(self) -> Floats:
        """The score of every item of the benchmark, (items,): the mean of its repetitions, NaN where it was
        not asked or one of them has no score."""
        trials, scored = self.outcomes.trials, self.outcomes.scored
        means: Floats = np.divide(
            self.outcomes.correct,
            trials,
            out=np.full(self.count, np.nan),
            where=(trials > 0) & (scored == trials),
        )
        small = np.abs(means) < LARGE
        means[small] = np.round(means[small], 12)
        return means

    @property
    def held(self) -> CountedItems:
        """The items that have an answer here, or a score without being listed, (items,)."""
        held: CountedItems = self.outcomes.trials > 0
        return held

    @property
    def counts(self) -> CountedItems:
        """The items that count, (items,)."""
        return self.held if self.counted is None else self.counted

    @cached_property
    def bounded(self) -> bool:
        """Whether every score lies between 0 and 1, so that there is a worst and a best one. Not so where
        nothing was scored and nothing failed."""
        scores = self.scores[~np.isnan(self.scores)]
        scored = self.outcomes.scored.any() or self.states.failed > 0
        return self.itemised and bool(scored) and bool((scores >= 0).all() and (scores <= 1).all())

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        return self.outcomes.ends(*((1.0, 0.0) if self.lower else (0.0, 1.0)))

    @property
    def worst(self) -> Floats:
        """The score of every item that counts, (items,), what is missing being wrong; NaN elsewhere."""
        return self._counting(np.round(self._ends[0], 12))

    @property
    def best(self) -> Floats:
        """The same, what is missing being right."""
        return self._counting(np.round(self._ends[1], 12))

    def _counting(self, scores: Floats) -> Floats:
        return scores if self.counted is None else np.where(self.counted, scores, np.nan)

    @property
    def absent(self) -> int:
        """Items that count and that this model lacks."""
        return 0 if self.counted is None else int((self.counted & ~self.held).sum())

    @property
    def lost(self) -> int:
        """Repetitions that are missing of items that have others."""
        there = sum(len(run.column.item) for run in self.runs if run.column is not None)
        return 0 if self.unlisted is not None else int(self.outcomes.trials.sum()) - there

    @property
    def repetitions(self) -> int:
        """Of an item, at most."""
        return int(self.outcomes.trials.max(initial=0)) if self.itemised else 0

    @property
    def asked(self) -> int | None:
        """How many items have an answer, or end in some other way."""
        return int(self.held.sum()) if self.itemised else None

    @property
    def states(self) -> StateCounts:
        counts = np.zeros(len(STATES), np.int64)
        for run in self.runs:
            if run.column is not None:
                counts += np.bincount(run.column.state, minlength=len(STATES))
        absent = (self.absent + self.lost) if self.itemised else 0
        return StateCounts(**dict(zip(STATES, counts.tolist(), strict=True)), absent=absent)


@dataclass(frozen=True, eq=False)
class RecordedBenchmark:
    """One benchmark in all logs, its cells by (model, configuration). `lists` numbers what each model with
    items was asked from: models of one list share an item, or one after the other do."""

    name: str
    items: LogItems
    lower: bool
    cells: Mapping[tuple[str, str], RecordedCell]
    between: tuple[str, ...]
    warnings: tuple[str, ...]
    lists: Mapping[str, int]
    unnamed: int = 0

    @property
    def count(self) -> int:
        """How many items there are: those that some log names, and those that are `unnamed`."""
        return len(self.items.ids) + self.unnamed

    @property
    def units(self) -> list[str]:
        """The unit of each."""
        return [*self.items.units, *(f"\0unnamed {number}" for number in range(self.unnamed))]

    @property
    def unit_numbers(self) -> Whole:
        """The same, numbered in the order in which they appear, (items,)."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(self.units))}
        return np.array([numbers[unit] for unit in self.units], np.int64)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model for model, _ in self.cells))

    @property
    def configurations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(configuration for _, configuration in self.cells))

    def held(self, model: str) -> list[str]:
        """The configurations in which a model has items."""
        return [
            configuration
            for (name, configuration), cell in self.cells.items()
            if name == model and cell.itemised
        ]


def recorded_benchmarks(
    logs: ReadLogs,
    reading: str | None,
    may_differ: Iterable[str],
    common_only: bool = False,
    total: int | None = None,
) -> list[RecordedBenchmark]:
    """Every benchmark of some logs. `reading` is taken where a run has it, else its first. Axes in
    `may_differ` belong to the model, as long as each model has one level of it. Items that some model lacks
    failed there, or are left out where they are to be `common_only`; models that share no item lack nothing
    of each other's, unless they are of one `total`. A benchmark has `total` items, or as
    many as a log says, or those that some log names."""
    allowed = frozenset(may_differ)
    by_name: defaultdict[str, list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        by_name[gathered.run.benchmark].append(gathered)
    return [
        _benchmark(name, runs, logs.items[name], reading, allowed, common_only, total)
        for name, runs in by_name.items()
    ]


def chosen_reading(gathered: GatheredRun, reading: str | None) -> str:
    """The reading that counts: the one asked for, or the first that has answers."""
    known = [*gathered.run.readings, *gathered.columns]
    if reading in known:
        return str(reading)
    held = [name for name in known if name in gathered.columns]
    return next(iter(held or known), "score")


def _benchmark(
    name: str,
    runs: Sequence[GatheredRun],
    items: LogItems,
    reading: str | None,
    allowed: frozenset[str],
    common_only: bool,
    total: int | None,
) -> RecordedBenchmark:
    named, between = configuration_names(runs, allowed)
    groups: defaultdict[tuple[str, str], list[RecordedAnswers]] = defaultdict(list)
    for gathered, configuration in zip(runs, named, strict=True):
        groups[gathered.run.model, configuration].append(
            RecordedAnswers(gathered, chosen_reading(gathered, reading))
        )
    lower = any(run.reading in run.gathered.run.lower for some in groups.values() for run in some)
    stated = total or max((run.run.total for run in runs if run.run.total is not None), default=0)
    unnamed = 0 if common_only else max(stated - len(items.ids), 0)
    count = len(items.ids) + unnamed
    cells = {
        (model, configuration): RecordedCell(
            model,
            configuration,
            _in_order(some, items),
            count,
            some[0].gathered.run.unlisted,
            lower,
            common_only=common_only,
        )
        for (model, configuration), some in sorted(groups.items())
    }
    held = {place: cell.held for place, cell in cells.items() if cell.itemised}
    lists = _lists(held) if total is None else dict.fromkeys((model for model, _ in held), 0)
    cells = _counted(cells, held, lists, count - unnamed, common_only)
    warnings = (
        *_of_items(items, runs), *_of_wording(items), *_of_lists(runs, stated), *_of_runs(runs),
        *_of_cells(cells.values()), *_of_same_texts(cells.values()), *_of_other_items(cells, lists),
    )  # fmt: skip
    return RecordedBenchmark(
        name, items, lower, cells, tuple(_differing(runs, between)), warnings, lists, unnamed
    )


def _differing(runs: Sequence[GatheredRun], axes: Sequence[str]) -> Iterator[str]:
    """Of axes in which models differ, by argument where they are tables."""
    settings = [
        {path: json.dumps(value, sort_keys=True, default=str) for (_, path), value in settings_of(one.run)}
        for one in runs
    ]
    for path in dict.fromkeys(path for stated in settings for path in stated):
        of_axis = any(f"{path}.".startswith(f"{axis}.") for axis in axes)
        if of_axis and len({stated.get(path) for stated in settings}) > 1:
            yield path


def _counted(
    cells: Mapping[tuple[str, str], RecordedCell],
    held: Mapping[tuple[str, str], CountedItems],
    lists: Mapping[str, int],
    named: int,
    common_only: bool,
) -> dict[tuple[str, str], RecordedCell]:
    """The cells with the items that count: of each configuration those that some model has there, with those
    behind the `named` ones, which no log names, or those that all have. Models of two lists lack nothing of
    each other's."""
    by_list: defaultdict[tuple[int, str], list[CountedItems]] = defaultdict(list)
    for (model, configuration), items in held.items():
        by_list[lists[model], configuration].append(items)
    either = np.logical_and if common_only else np.logical_or
    there = {place: either.reduce(some) for place, some in by_list.items()}
    for some in there.values():
        some[named:] = True
    return {
        (model, configuration): replace(cell, counted=there.get((lists.get(model, 0), configuration)))
        for (model, configuration), cell in cells.items()
    }


def _lists(held: Mapping[tuple[str, str], CountedItems]) -> dict[str, int]:
    """A number for each model, equal where models share an item, or one after the other do."""
    of_model: dict[str, CountedItems] = {}
    for (model, _), items in held.items():
        of_model[model] = of_model.get(model, np.zeros_like(items)) | items
    return {model: number for number, names in enumerate(_sharing(of_model)) for model in names}


def _sharing(items: Mapping[str, CountedItems]) -> list[list[str]]:
    """The names in groups: those of one group share an item, or one after the other do."""
    groups: list[tuple[list[str], CountedItems]] = []
    for name, own in items.items():
        apart = [group for group in groups if not (group[1] & own).any()]
        joined = [group for group in groups if (group[1] & own).any()]
        names = [other for some, _ in joined for other in some]
        groups = [*apart, ([*names, name], np.logical_or.reduce([own, *(some for _, some in joined)]))]
    return [names for names, _ in groups]


def by_items(
    cells: Mapping[tuple[str, str], RecordedCell], models: Collection[str], of_tasks: bool = True
) -> list[list[str]]:
    """The configurations of these models that have items, in groups that share some, or, unless only items
    count, are `of_tasks` that others are of: two tasks that were made one benchmark may ask different items.
    """
    tasks: dict[str, int] = {}
    found: defaultdict[str, list[CountedItems]] = defaultdict(list)
    for (model, configuration), cell in cells.items():
        for run in cell.runs if model in models and cell.itemised and cell.held.any() else ():
            own = np.zeros(len(cells), np.bool_)
            own[tasks.setdefault(run.gathered.run.task, len(tasks)) % len(cells)] = of_tasks
            found[configuration].append(np.concatenate([cell.held, own]))
    return _sharing({name: np.logical_or.reduce(some) for name, some in found.items()})


def _in_order(runs: Sequence[RecordedAnswers], items: LogItems) -> tuple[RecordedAnswers, ...]:
    """Repetitions by their seeds, and else by a digest of their answers: the first one is tested, and who
    names the files must not choose which that is."""
    if len(runs) < 2:
        return tuple(runs)
    keys = items.keys

    def place(run: RecordedAnswers) -> tuple[str, str]:
        seeds, column = sorted(run.gathered.run.seeds.items()), run.column
        rows = [] if column is None else zip(column.item, column.epoch, column.score, strict=True)
        answers = sorted((keys[item].hex(), int(epoch), float(score)) for item, epoch, score in rows)
        return json.dumps(seeds, default=str), hashlib.sha256(json.dumps(answers).encode()).hexdigest()

    return tuple(sorted(runs, key=place))


def configuration_names(
    runs: Sequence[GatheredRun], allowed: frozenset[str] = frozenset()
) -> tuple[list[str], list[str]]:
    """A name for each run's configuration, of the axes that tell the runs of one model apart; and in what
    models differ that no model varies, or varies with nothing but those axes, as its own chat template."""
    axes = dict.fromkeys(name for gathered in runs for name in gathered.run.axes)
    own = allowed | {name for gathered in runs for name, stated in gathered.run.axes.items() if stated.own}
    models = [gathered.run.model for gathered in runs]
    several: set[str] = set()
    between: list[str] = []
    parts: list[tuple[str, ...]] = [()] * len(runs)
    for axis in sorted(axes, key=own.__contains__):
        finer = [(*part, _level(gathered, axis)[0]) for part, gathered in zip(parts, runs, strict=True)]
        if len(set(finer)) == len(set(parts)):
            continue
        if axis in own and len(set(zip(models, finer, strict=True))) == len(
            set(zip(models, parts, strict=True))
        ):
            between.append(axis)
            continue
        several.add(axis)
        parts = finer
    kept = [axis for axis in axes if axis in several]
    labels = {axis: level_names(dict(_level(gathered, axis) for gathered in runs)) for axis in kept}
    names = [
        ",".join(f"{axis}={labels[axis][_level(gathered, axis)[0]]}" for axis in kept) or ONLY
        for gathered in runs
    ]
    return names, between


def _level(gathered: GatheredRun, axis: str) -> tuple[str, str]:
    stated = gathered.run.axes.get(axis)
    return (UNRECORDED, UNRECORDED) if stated is None else (stated.value, stated.label)


def _of_items(items: LogItems, runs: Sequence[GatheredRun]) -> Iterator[str]:
    if items.without_content and any(gathered.columns for gathered in runs):
        lacking = "" if items.phrases else "the logs do not have what is asked, and "
        yield (
            f"{items.without_content:,} items match by id alone: {lacking}nothing shows whether one id is "
            "one question everywhere"
        )
    if items.other:
        named = ", ".join(sorted(items.other)[:3])
        yield (
            f"{len(items.other):,} ids name another question in another log ({named}): items match by "
            "content here, and to match by id would compare different questions"
        )


def _of_wording(items: LogItems) -> Iterator[str]:
    if any(items.has_unit):
        return
    share = share_with_shared_wording(items.phrases)
    if share >= TEMPLATED:
        yield (
            f"{TEMPLATES}: {percent(share, 0)} of the items share their wording with another one, as items "
            "of one template do, and each counts as independent: --unit FIELD names what they were made from"
        )


def _of_lists(runs: Sequence[GatheredRun], stated: int) -> Iterator[str]:
    if any(gathered.run.unlisted is not None for gathered in runs) and not stated:
        yield (
            "no list says how many items there are: those that a log names count (--total N says how many "
            "there are)"
        )


def _of_runs(runs: Sequence[GatheredRun]) -> Iterator[str]:
    for gathered in runs:
        run = gathered.run
        if run.shared_seed is not None:
            yield (
                f"{run.model}: seed {run.shared_seed} went out with every request ({run.path.name}): its "
                "items share one draw and are not independent, so that no p-value below holds for it"
            )
        if run.asked_again:
            yield (
                f"{run.model}: {run.asked_again:,} samples of {run.path.name} were asked again after an "
                "error: the last answer counts"
            )
        if run.remark is not None:
            yield f"{run.model}: {run.path.name}: {run.remark}"
        if run.finished is False:
            count = max((len(column.item) for column in gathered.columns.values()), default=0)
            of = "" if run.expected is None else f" of {run.expected:,}"
            yield f"{run.model}: {run.path.name} was not finished; it has {count:,}{of} samples"


def _of_cells(cells: Iterable[RecordedCell]) -> Iterator[str]:
    for cell in cells:
        place = cell.model if cell.configuration == ONLY else f"{cell.model}, {cell.configuration}"
        if cell.bounded and (count := cell.states.missing):
            what = ", ".join(
                f"{number:,} {state}"
                for state, number in cell.states.model_dump().items()
                if state in ("failed", "unscored", "absent") and number
            )
            have, count_as = ("answer has", "it counts") if count == 1 else ("answers have", "they count")
            then = f"{count_as} as wrong in its score, and against either claim in a test"
            if not cell.outcomes.scored[cell.counts].any():
                then = f"{count_as} as wrong in its score, which is in no test"
            yield f"{place}: {count:,} {have} no score ({what}); {then}"
        yield from (f"{place}: {text}" for text in (*_of_judges(cell), *_of_repetitions(cell)))


def _of_judges(cell: RecordedCell) -> Iterator[str]:
    columns = [run.column for run in cell.runs if run.column is not None]
    lacking, answers = (
        sum(counts) for counts in ([one.ungraded for one in columns], [len(one.item) for one in columns])
    )
    if lacking:
        yield (
            f"in {lacking:,} of {counted(answers, 'answer')} the judge gave no grade, which counts as wrong: "
            "nothing says whether it is"
        )


def _of_repetitions(cell: RecordedCell) -> Iterator[str]:
    """Repetitions that tell nothing new."""
    runs = cell.runs
    alike = sum(_same_answers(runs[a], runs[b]) for a in range(len(runs)) for b in range(a))
    items = min((0 if run.column is None else len(run.column.item) for run in runs), default=0)
    further = (len(runs) - 1) * items
    every = alike == len(runs) * (len(runs) - 1) // 2
    if alike and (items >= FEWEST or (every and further >= FURTHER and not _scores_one(runs[0]))):
        pairs = "1 pair is" if alike == 1 else f"{alike:,} pairs are"
        yield f"{len(runs):,} runs, of which {pairs} equal answer by answer: repetitions that repeat nothing"
    for run in runs:
        name, heard = run.gathered.run.path.name, run.gathered.heard
        if run.column is not None and (how := _repeats_alike(run.column, cell.count)):
            yield f"the repetitions in {name} {how}"
        if heard.alike == heard.items > 0 and heard.items * (heard.most - 1) >= FEWEST:
            yield (
                f"the {heard.most:,} answers to each of {counted(heard.items, 'item')} in {name} are the "
                "same, text by text: repetitions that repeat nothing"
            )


def _scores_one(run: RecordedAnswers) -> bool:
    """Whether a run without texts gives every answer the same score."""
    return run.gathered.texts is None and run.column is not None and len(np.unique(run.column.score)) < 2


def _of_other_items(cells: Mapping[tuple[str, str], RecordedCell], lists: Mapping[str, int]) -> Iterator[str]:
    """Configurations that ask items which have nothing in common: of several tasks, or of one."""
    for number in dict.fromkeys(lists.values()):
        models = [model for model, own in lists.items() if own == number]
        tasks, groups = by_items(cells, models), by_items(cells, models, of_tasks=False)
        for found, then in (
            (tasks, "each is compared by itself, and no order is tested across them"),
            (groups, "an order of models that changes between them may change with the items"),
        ):
            if len(found) > 1 and (found is tasks or len(groups) > len(tasks)):
                what = "" if all(len(names) == 1 for names in found) else "groups of "
                shown = "; ".join(", ".join(names) for names in found[:3])
                more = f"; and {len(found) - 3:,} more" if len(found) > 3 else ""
                which = f"{len(found):,} {what}configurations share no item with one another"
                yield f"{which} ({shown}{more}): {then}"


def _of_same_texts(cells: Iterable[RecordedCell]) -> Iterator[str]:
    """Configurations of a model, and models in a configuration, whose long answers are the same: a cache that
    answered for both, or one model under two names."""
    told = [(cell, texts) for cell in cells if (texts := _first_texts(cell)) is not None]
    found: set[int] = set()
    for number, (cell, texts) in enumerate(told):
        if number in found:
            continue
        for place in range(number + 1, len(told)):
            other, theirs = told[place]
            if (cell.model == other.model) == (cell.configuration == other.configuration):
                continue
            both = (texts != 0) & (theirs != 0)
            equal = both & (texts == theirs)
            if 2 * equal.sum() < both.sum() or len(np.unique(texts[equal])) < DIFFERENT:
                continue
            found.add(place)
            length = round(cell.runs[0].gathered.length)
            same = (
                f"the same answers, text by text, to {equal.sum():,} of {counted(int(both.sum()), 'item')} "
                f"({length:,} characters on average)"
            )
            if cell.model == other.model:
                yield (
                    f"{cell.model}: {cell.configuration} and {other.configuration} have {same}: they count "
                    "as two configurations, and a cache that answered for both would do that"
                )
            else:
                where = "" if cell.configuration == ONLY else f", {cell.configuration}"
                yield (
                    f"{cell.model} and {other.model}{where} have {same}: one model under two names, or a "
                    "cache that answered for both, would do that"
                )


def _first_texts(cell: RecordedCell) -> Whole | None:
    """A hash of the first answer to each item, (items,), 0 where it has no text; None of short answers."""
    run = cell.runs[0]
    if run.column is None or run.gathered.length < LONG:
        return None
    first = run.column.epoch == run.column.epoch.min(initial=0)
    texts = np.zeros(cell.count, np.int64)
    texts[run.column.item[first]] = run.column.text[first]
    return texts


def _same_answers(one: RecordedAnswers, other: RecordedAnswers) -> bool:
    a, b = one.column, other.column
    if a is None or b is None or len(a.item) != len(b.item):
        return False
    if one.gathered.texts is not None and other.gathered.texts is not None:
        return one.gathered.texts == other.gathered.texts
    order, there = np.lexsort((a.epoch, a.item)), np.lexsort((b.epoch, b.item))
    equal = np.array_equal(a.score[order], b.score[there], equal_nan=True)
    return equal and np.array_equal(a.item[order], b.item[there])


def _repeats_alike(column: LogColumn, count: int) -> str | None:
    """How the repetitions of a run are alike on every item that has several; None where they are not, or too
    few tell."""
    asked = np.bincount(column.item, minlength=count)
    several = asked > 1
    further = int((asked[several] - 1).sum())
    has_texts = further >= FEWEST and bool((column.text[several[column.item]] != 0).all())
    if has_texts and _is_one(column.item, column.text, several):
        return "are the same, text by text: repetitions that repeat nothing"
    enough = several.sum() >= FEWEST or further >= FURTHER
    if not enough or np.isnan(column.score).any() or len(np.unique(column.score)) < 2:
        return None
    return "score alike on every item" if _is_one(column.item, column.score, several) else None


def _is_one(item: Whole, values: Whole | Floats, several: CountedItems) -> bool:
    """Whether each of several items has one value."""
    order = np.lexsort((values, item))
    items, sorted_values = item[order], values[order]
    same = items[1:] == items[:-1]
    return bool((sorted_values[1:] == sorted_values[:-1])[same & several[items[1:]]].all())
