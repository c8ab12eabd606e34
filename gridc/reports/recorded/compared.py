"""Logs -> a run to compare, as `gridc compare` takes stores."""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gridc.compiler.inputs.logs import read_logs
from gridc.compiler.inputs.logs.columns import TableColumns
from gridc.compiler.inputs.logs.gathering import GatheredRun, LogColumn, LogItems
from gridc.compiler.inputs.logs.records import LOG_STATES, WITHOUT_SCORE, LogRun
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.comparison.run import READING, AnswerTexts, ComparedRun, RunAnswer, RunBenchmark, RunItem
from gridc.reports.recorded.cells import recorded
from gridc.reports.recorded.settings import settings_of
from gridc.schema.comparison import AnswerState
from gridc.schema.policy import Aspect
from gridc.statistics.direction import Direction

NAMED = ("prompt", "request", "score")
"""What two configurations of a run differ in by name; the rest is a fact about the run."""


@dataclass(frozen=True, slots=True)
class LogSelection:
    """What counts in logs: a `reading` wherever a log has it, or one of a benchmark (`readings`); and what
    tasks (`tasks`) and models (`models`) are called here, by what the logs call them; and what the `columns`
    of tables are."""

    reading: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    columns: TableColumns = field(default_factory=TableColumns)

    def of(self, run: GatheredRun) -> str | None:
        """The reading that counts in a run: the one that is stated, whole (`acc,none`) or by its metric
        (`acc`), or its only one; None where it has no answers. Raises `ValueError` where it has several and
        none of them, or more than one, is stated."""
        stated = self.readings.get(run.run.benchmark)
        if stated is None and len(run.columns) < 2:
            return next(iter(run.columns), None)
        wanted = self.reading if stated is None else stated
        (found,) = [name for name in run.columns if name == wanted] or [
            name for name in run.columns if name.partition(",")[0] == wanted
        ]
        return found


def logged_run(paths: Sequence[Path], name: str, selection: LogSelection) -> ComparedRun:
    """Logs, or folders of them, as a run to compare. Raises `FileError` for what is wrong in one, and
    `UsageError` where a benchmark is read in several ways and none is chosen (GC767).

    A score outside of 0 to 1 has no test at a margin, and counts as unscored here."""
    logs = read_logs(paths, selection.tasks, selection.models, selection.columns)
    _require_one_reading(logs.runs, selection, name)
    groups: defaultdict[tuple[str, str], list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        groups[gathered.run.model, gathered.run.benchmark].append(gathered)
    runs = [gathered.run for gathered in logs.runs]
    warnings = [
        warning for benchmark in recorded(logs, selection.reading, ()) for warning in benchmark.warnings
    ]
    return ComparedRun(
        name,
        ", ".join(dict.fromkeys(run.made_by for run in runs)) + " logs, not pre-registered",
        _all_finished([run.finished for run in runs]),
        {
            (model, benchmark): _benchmark(some, logs.items[benchmark], selection)
            for (model, benchmark), some in groups.items()
            if any(gathered.columns for gathered in some)
        },
        dict(fact for run in runs for fact in _facts(run)),
        tuple(dict.fromkeys(what for run in runs for what in run.unknown)),
        _Texts(logs.runs),
        (*logs.notes, *warnings),
        ", ".join(sorted({run.package for run in runs})),
        tuple(place for place, some in groups.items() if not any(gathered.columns for gathered in some)),
    )


def _all_finished(finished: Sequence[bool | None]) -> bool | None:
    """None where no run is known to have ended early, and of some nothing is known."""
    return False if False in finished else None if None in finished else True


def _require_one_reading(runs: Sequence[GatheredRun], selection: LogSelection, name: str) -> None:
    ways: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for run in runs:
        try:
            selection.of(run)
        except ValueError:
            ways[run.run.benchmark] |= dict.fromkeys(run.columns)
    found = []
    for benchmark, readings in ways.items():
        stated = selection.readings.get(benchmark)
        what = "is read in several ways" if stated is None else f"has no reading `{stated}`"
        help = "choose one: " + " | ".join(
            f"--reading {shlex.quote(f'{benchmark}={reading}')}" for reading in readings
        )
        message = f"{benchmark} {what}: {', '.join(readings)}"
        found.append(Diagnostic("GC767", message, name, help=f"{help}; or `reading` in a policy"))
    if found:
        raise UsageError(found)


def _benchmark(runs: list[GatheredRun], items: LogItems, selection: LogSelection) -> RunBenchmark:
    answers: dict[int, dict[str, list[RunAnswer]]] = {}
    settings: dict[str, dict[tuple[Aspect, str], object]] = {}
    lower = False
    for gathered in runs:
        run, chosen = gathered.run, selection.of(gathered)
        if chosen is None:
            continue
        column = gathered.columns[chosen]
        lower = lower or chosen in run.lower
        configuration = configuration_of(run)
        settings[configuration] = dict(settings_of(run))
        settings[configuration][READING] = chosen
        for number, answer in _answers(column, run, len(items.ids)):
            answers.setdefault(number, {}).setdefault(configuration, []).append(answer)
    keys = items.keys
    held = {
        keys[number].hex(): RunItem(
            items.ids[number],
            items.units[number],
            {name: tuple(replicates) for name, replicates in by_configuration.items()},
            items.questions[number],
        )
        for number, by_configuration in sorted(answers.items())
    }
    alone = len({item.unit for item in held.values()}) == len(held)
    return RunBenchmark(
        Direction(lower=lower),
        "item" if alone else "unit",
        held,
        settings,
        unlisted=next((one.run.unlisted for one in runs if one.run.unlisted is not None), None),
        total=max((one.run.total for one in runs if one.run.total is not None), default=None),
    )


def configuration_of(run: LogRun) -> str:
    """What shapes prompts and requests, by axis; what belongs to the model is not in the name."""
    parts = (
        f"{name}={one.label.replace(',', ';')}"
        for name, one in run.axes.items()
        if one.aspect in NAMED and not one.own
    )
    return ",".join(parts)


def _answers(column: LogColumn, run: LogRun, count: int) -> Iterator[tuple[int, RunAnswer]]:
    for row, (number, state, score) in enumerate(
        zip(column.item.tolist(), column.state.tolist(), column.score.tolist(), strict=True)
    ):
        scored = 0 <= score <= 1
        name = LOG_STATES[state]
        ended: AnswerState = name if scored or name in WITHOUT_SCORE else "unscored"
        yield number, RunAnswer(score if scored else None, ended, column.prompt(row))
    if run.unlisted is not None:
        for number in np.setdiff1d(np.arange(count), column.item).tolist():
            yield number, RunAnswer(run.unlisted, "read")


def _facts(run: LogRun) -> Iterator[tuple[tuple[Aspect, str], object]]:
    """By model and benchmark, in the words of `gridc compare`. A model is another one by its name, if the log
    has nothing else to tell models apart."""
    yield ("model", f"model[{run.model}].{run.benchmark}.name"), run.model
    for (aspect, path), value in run.facts.items():
        yield (aspect, f"model[{run.model}].{run.benchmark}.{path}"), value
    for name, value in run.seeds.items():
        yield ("seed", f"model[{run.model}].{run.benchmark}.{name}"), value


class _Texts:
    """The texts of an item's first answer, read from the log again when one is asked for."""

    def __init__(self, runs: list[GatheredRun]) -> None:
        self._runs = [gathered.run for gathered in runs]
        self._held: dict[int, Mapping[str, AnswerTexts]] = {}

    def __call__(self, model: str, benchmark: str, configuration: str, item: str) -> AnswerTexts:
        for number, run in enumerate(self._runs):
            if (run.model, run.benchmark) == (model, benchmark) and configuration_of(run) == configuration:
                if number not in self._held:
                    self._held[number] = dict(_first_texts(run))
                return self._held[number].get(item, AnswerTexts(None, None))
        return AnswerTexts(None, None)


MOST_TEXTS, LONG = 20_000, 2_001
"""Answers of a run whose texts are kept once one is shown, and characters of each."""


def _first_texts(run: LogRun) -> Iterator[tuple[str, AnswerTexts]]:
    seen: set[str] = set()
    for answer in run.samples() if run.samples is not None else ():
        if answer.id in seen:
            continue
        seen.add(answer.id)
        yield answer.id, AnswerTexts(_cut(answer.prompt), _cut(answer.answer))
        if len(seen) == MOST_TEXTS:
            return


def _cut(text: str | None) -> str | None:
    return text if text is None else text[:LONG]
