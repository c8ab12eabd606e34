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
from gridc.compiler.inputs.logs.records import WITHOUT_SCORE, LogRun
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.outcomes import READ, STATES, CellOutcomes, of_answers
from gridc.reports.comparison.run import READING, AnswerTexts, ComparedRun, RunBenchmark, RunItems
from gridc.reports.recorded.cells import recorded
from gridc.reports.recorded.settings import settings_of
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
    answers: defaultdict[str, list[tuple[LogColumn, LogRun]]] = defaultdict(list)
    settings: dict[str, dict[tuple[Aspect, str], object]] = {}
    lower = False
    for gathered in runs:
        run, chosen = gathered.run, selection.of(gathered)
        if chosen is None:
            continue
        lower = lower or chosen in run.lower
        configuration = configuration_of(run)
        settings[configuration] = dict(settings_of(run))
        settings[configuration][READING] = chosen
        answers[configuration].append((gathered.columns[chosen], run))
    every = {name: _outcomes(some, items) for name, some in answers.items()}
    held = np.flatnonzero(np.logical_or.reduce([cell.trials > 0 for cell in every.values()]))
    keys = items.keys
    own = RunItems(
        tuple(keys[number].hex() for number in held),
        tuple(items.ids[number] for number in held),
        tuple(items.units[number] for number in held),
        tuple(items.questions[number] for number in held),
    )
    return RunBenchmark(
        Direction(lower=lower),
        "item" if len(set(own.units)) == len(own) else "unit",
        own,
        {name: cell.at(held) for name, cell in every.items()},
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


def _outcomes(answers: Sequence[tuple[LogColumn, LogRun]], items: LogItems) -> CellOutcomes:
    """The answers of runs of one configuration, one run after the other. A score outside of 0 to 1 is none,
    and an item that a list leaves out has the score of those."""
    parts = []
    for column, run in answers:
        inside = (column.score >= 0) & (column.score <= 1)
        without = np.isin(column.state, [STATES.index(state) for state in WITHOUT_SCORE])
        state = np.where(inside | without, column.state, STATES.index("unscored"))
        prompts = [column.prompt(row) for row in range(len(column.item))]
        parts.append((column.item, np.where(inside, column.score, np.nan), state, prompts))
        if run.unlisted is not None:
            rest = np.setdiff1d(np.arange(len(items.ids)), column.item)
            score = np.full(len(rest), run.unlisted)
            parts.append((rest, score, np.full(len(rest), READ), [None] * len(rest)))
    item, score, state = (np.concatenate([part[at] for part in parts]) for at in range(3))
    prompts = [prompt for part in parts for prompt in part[3]]
    return of_answers(tuple(items.ids), item, score, state, prompts)


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
