"""Reads runs for `gridc compare`: what each asked and how its items were scored.

A run comes from a store, from another package's logs or from a file that `gridc baseline` keeps.
"""

import json
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json, to_json

from gridc import __version__
from gridc.compiler.grid.cells import Cell, anchored, cells_of
from gridc.compiler.inputs.logs import ReadLogs, read_logs
from gridc.compiler.inputs.logs.files import TableColumns
from gridc.compiler.inputs.logs.gathering import GatheredRun, LogColumn
from gridc.compiler.inputs.logs.records import WITHOUT_SCORE, LogRun
from gridc.compiler.inputs.questions import NOTHING, QuestionDigests, text_digest
from gridc.compiler.instrument.setting import EFFECTS, Setting
from gridc.compiler.lock.lock import holds_fingerprints
from gridc.diagnostics.errors import Diagnostic, StoreError, UsageError
from gridc.outcomes import READ, STATES, AnswerTable, CellOutcomes
from gridc.reports.comparison.pairing import (
    STORED,
    AskedBenchmark,
    AskedRun,
    AskedSettings,
    ModelBenchmark,
    Renaming,
    RunItems,
)
from gridc.reports.findings.conduct import ran_by
from gridc.reports.recorded.cells import asked_times, recorded_benchmarks, settings_of
from gridc.runtime.store.events import ModelLoaded, RunStarted
from gridc.runtime.store.reader import RECORDED
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.comparison import Aspect, KeptRun
from gridc.schema.spec import Spec
from gridc.statistics.envelope import Direction

READING: tuple[Aspect, str] = ("score", "reading")
"""The setting of a configuration that names the metric, filter or scorer that counts."""
NAMED_FILES: tuple[tuple[Aspect, str], ...] = (("prompt", "prompt"), ("prompt", "wrapper"))
"""Settings that distinguish configurations within a run, but say nothing between runs: a file may have
changed under the same name, so the prompts themselves are compared."""


@dataclass(frozen=True)
class RunBenchmark:
    """One model on one benchmark. `unit` names what is independent: `item`, or what several items were made
    from. `answers` and `settings` are by configuration; a configuration's settings by (aspect, key).
    `prompt_texts` maps the digest that an answer has of its prompt to the digest of the prompt's text, where
    the two differ.

    An item that only the other run has counts as failed here, with two exceptions: this run never `planned`
    more than it has, or its package lists only some items and `unlisted` is the score of the others. `total`
    is how many items the benchmark has, where the run says; `anchor` is the configuration that its report
    leads with. `times` says how often each item was asked, by configuration, where answers may be missing."""

    direction: Direction
    unit: str
    items: RunItems
    answers: Mapping[str, AnswerTable]
    settings: Mapping[str, Mapping[tuple[Aspect, str], object]] = field(default_factory=dict)
    prompt_texts: Callable[[], Mapping[str, str]] | None = None
    planned: bool = False
    unlisted: float | None = None
    total: int | None = None
    anchor: str | None = None
    times: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def cells(self) -> Mapping[str, CellOutcomes]:
        """The outcomes of the items, by configuration."""
        return {name: answers.outcomes(self.items.ids) for name, answers in self.answers.items()}


@dataclass(frozen=True, slots=True)
class AnswerTexts:
    """The prompt and the text of an item's first answer in a configuration; None where there is none."""

    prompt: str | None
    answer: str | None


def no_texts(*place: str) -> AnswerTexts:
    """The `texts` of a run whose texts are not available."""
    return AnswerTexts(None, None)


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run to compare, which `package` asked and scored. `benchmarks` are by (model, benchmark). `facts` are
    of the whole run, or of a model, by (aspect, path); `unknown` says what it does not record. `finished`
    says whether every answer is there, None where nothing says so; `warnings` are said before any number.
    `texts(model, benchmark, configuration, item id)` reads one. `bare` names what the run has a score and no
    items of, by (model, benchmark). Of logs `files` are those that were read, and `unmatched` the names that
    were to count and are of no run in them. `kept` is said of a run that a file of `gridc baseline` keeps."""

    name: str
    made_by: str
    finished: bool | None
    benchmarks: Mapping[tuple[str, str], RunBenchmark]
    facts: Mapping[tuple[Aspect, str], object]
    unknown: tuple[str, ...]
    texts: Callable[[str, str, str, str], AnswerTexts]
    warnings: tuple[str, ...] = ()
    package: str = STORED
    bare: tuple[tuple[str, str], ...] = ()
    files: tuple[Path, ...] = ()
    unmatched: tuple[str, ...] = ()
    kept: KeptRun | None = None

    @property
    def asked(self) -> AskedRun:
        """What the run asked, without the answers."""
        benchmarks = {
            place: AskedBenchmark(one.items, {name: one.settings.get(name, {}) for name in one.answers})
            for place, one in self.benchmarks.items()
        }
        return AskedRun(self.package, benchmarks, self.bare)

    @property
    def models(self) -> tuple[str, ...]:
        return self.asked.models

    def under(self, renaming: Renaming) -> "ComparedRun":
        """With its only benchmark under the name of the other run's."""
        own, benchmark, texts = renaming.own, renaming.name, self.texts
        return replace(
            self,
            benchmarks={(model, benchmark): run for (model, _), run in self.benchmarks.items()},
            facts={
                (aspect, path.replace(f"].{own}.", f"].{benchmark}.")): value
                for (aspect, path), value in self.facts.items()
            },
            texts=lambda model, _, configuration, item: texts(model, own, configuration, item),
            warnings=(*self.warnings, renaming.words),
        )


ASPECT_OF: Mapping[str, Aspect] = {"prompt": "prompt", "request": "request", "score": "score"}
"""By what an effect changes first (`instrument.setting`)."""
OF_MODEL = (
    "bos",
    "ends",
    "plain_text_gets_bos",
    "architecture",
    "files",
    "unread_files",
    "unread_tensors",
    "parameters",
    "chat_template",
    "generation_config_not_used",
    "identity",
)
"""Facts that an engine reports when it loads a model, and that belong to the model."""
OF_MACHINE = ("paths", "kv_mib", "threads", "model", "precision")
"""Facts that an engine reports of this run alone, or that are recorded elsewhere."""
PLACES = ("source", "base_url")
"""Where a model lies: its digest says whether it is another one."""
UNKNOWN = ("the batch shape of each call",)
FINGERPRINTED = "the versions of gridc's own code (an older gridc kept fingerprints of its files)"


def stored_run(path: Path, stamp: str | None, name: str) -> ComparedRun:
    """The study of a store, or the one whose stamp begins so, as a run to compare.

    Raises `StoreError` when the store cannot be read, or holds no such study (GC603) or several (GC602), or
    an older gridc filled it and it does not say which items are independent (GC754)."""
    with Store.open(path) as store:
        chosen = store.which(stamp)
        content = store.study(chosen)
        spec = Spec.model_validate(content["spec"])
        if spec.aggregated:
            message = (
                f"single answers are compared, and the study makes one score of several (`{spec.makes_one}`)"
            )
            help = "`gridc diff` compares the scores of its cells"
            raise StoreError([Diagnostic("GC754", message, str(path), help=help)])
        if not store.groups(chosen):
            help = "`gridc run` of this version on the same spec fills it in"
            message = "the store does not say which items are independent"
            raise StoreError([Diagnostic("GC754", message, str(path), help=help)])
        started = store.bodies_of(RunStarted, chosen)
        return ComparedRun(
            name,
            f"gridc {', '.join(ran_by(started)) or __version__}",
            store.progress(chosen).complete,
            _benchmarks(store, path, chosen, spec),
            {place: _plain(value) for place, value in _stored_facts(store, chosen, content).items()},
            (*UNKNOWN, *((FINGERPRINTED,) if holds_fingerprints(content) else ())),
            partial(_stored_texts, path, chosen),
        )


def stored_asked(store: Store, stamp: str) -> AskedRun:
    """What a stored study asked, or what imported logs did, without the answers. The settings of logs are not
    in a store, nor are those of a spec that this gridc cannot read."""
    content = store.document(stamp)
    logs = content.get(RECORDED)
    settings: dict[str, AskedSettings] = {}
    # Another gridc may have written a spec that this one cannot read; its items can still be compared.
    with suppress(LookupError, TypeError, ValueError):
        cells = cells_of(Spec.model_validate(content["spec"]))
        settings = {cell.key: _setting(cell.setting) for cell in cells}
    items = _stored_items(store, stamp)
    names: defaultdict[ModelBenchmark, dict[str, AskedSettings]] = defaultdict(dict)
    for key, model, benchmark, configuration in store.cells(stamp):
        names[model, benchmark][configuration] = settings.get(key, {})
    benchmarks = {place: AskedBenchmark(items.get(place[1], RunItems()), own) for place, own in names.items()}
    return AskedRun(STORED if logs is None else str(logs.get("package", "")), benchmarks)


def _stored_items(store: Store, stamp: str) -> dict[str, RunItems]:
    """All items of a study, by benchmark."""
    questions = {
        (benchmark, item): QuestionDigests(*(None if part is None else bytes.fromhex(part) for part in parts))
        for benchmark, item, *parts in store.questions(stamp)
    }
    content: defaultdict[ModelBenchmark, dict[str, str]] = defaultdict(dict)
    for benchmark, item, order, shown, *_ in store.shown(stamp):
        content[benchmark, item][order] = shown
    items: defaultdict[str, list[tuple[str, str, str, QuestionDigests]]] = defaultdict(list)
    for benchmark, item, unit in store.asked(stamp):
        place = benchmark, item
        key = digest(content[place]) if place in content else ""
        items[benchmark].append((key, item, unit, questions.get(place, NOTHING)))
    return {benchmark: RunItems(*zip(*rows, strict=True)) for benchmark, rows in items.items()}


def _benchmarks(store: Store, path: Path, stamp: str, spec: Spec) -> dict[ModelBenchmark, RunBenchmark]:
    every, units = _stored_items(store, stamp), store.units(stamp)
    places = {name: {item: place for place, item in enumerate(items.ids)} for name, items in every.items()}
    directions = {benchmark.id: Direction.of(str(benchmark.direction)) for benchmark in spec.benchmark}
    cells: defaultdict[ModelBenchmark, list[Cell]] = defaultdict(list)
    for cell in cells_of(spec):
        cells[cell.model, cell.benchmark].append(cell)
    run = {}
    for (model, benchmark), some in cells.items():
        if benchmark not in units:
            continue
        answers = {}
        for cell in some:
            samples = list(store.ended_samples(stamp, cell.key))
            if samples:
                scale = cell.setting.scale if spec.graded else 1
                answers[cell.configuration] = _stored_answers(samples, places[benchmark], scale)
        if answers:
            run[model, benchmark] = _benchmark(
                directions[benchmark],
                units[benchmark],
                every[benchmark],
                answers,
                {cell.configuration: _setting(cell.setting) for cell in some},
                prompt_texts=partial(_prompt_texts, path),
                planned=True,
                anchor=next((one.configuration for one in some if one.shared and anchored(spec, one)), None),
            )
    return run


def _benchmark(
    direction: Direction,
    unit: str,
    every: RunItems,
    answers: Mapping[str, AnswerTable],
    settings: Mapping[str, Mapping[tuple[Aspect, str], object]],
    **more: Any,
) -> RunBenchmark:
    """A benchmark of those among `every` item that have an answer. Where each `unit` holds a single item, the
    unit is called `item`."""
    held = np.unique(np.concatenate([one.item for one in answers.values()]))
    items = every
    if len(held) < len(every):
        columns = (every.keys, every.ids, every.units, every.questions)
        items = RunItems(*(tuple(column[place] for place in held.tolist()) for column in columns))
        answers = {name: replace(one, item=np.searchsorted(held, one.item)) for name, one in answers.items()}
    alone = len(set(items.units)) == len(items)
    return RunBenchmark(direction, "item" if alone else unit, items, answers, settings, **more)


def _stored_answers(samples: Sequence[tuple[Any, ...]], places: Mapping[str, int], scale: int) -> AnswerTable:
    """The samples of a cell, rows of `Store.ended_samples`."""
    return AnswerTable(
        np.array([places[item] for item, *_ in samples], np.int64),
        np.array(
            [
                np.nan if score is None or ended in WITHOUT_SCORE else score / scale
                for _, score, ended, _ in samples
            ]
        ),
        np.array([STATES.index(ended) for _, _, ended, _ in samples], np.int64),
        [prompt for *_, prompt in samples],
    )


def _setting(setting: Setting) -> dict[tuple[Aspect, str], object]:
    """Every key that can matter, with its value."""
    effective = setting.effective()
    keys = [one.name for one in fields(Setting)]
    return {(ASPECT_OF[EFFECTS[key].changes], key): _plain(getattr(effective, key)) for key in keys}


def _plain(value: object) -> object:
    """A value as JSON has it: so it is the same in a run and in the file that keeps the run."""
    plain: object = from_json(to_json(value, fallback=str, inf_nan_mode="constants"))
    return plain


def _stored_facts(store: Store, stamp: str, content: Mapping[str, Any]) -> dict[tuple[Aspect, str], object]:
    facts: dict[tuple[Aspect, str], object] = {}
    for model in content["spec"]["model"]:
        for key, value in model.items():
            if key not in ("id", *PLACES):
                facts["model", f"model[{model['id']}].{key}"] = value
    for model, identity in content["inputs"].get("models", {}).items():
        for key, value in identity.items():
            files = value.items() if key == "files" and isinstance(value, dict) else [("", value)]
            for file, sha256 in files:
                facts["model", f"model[{model}].{file or key}"] = sha256
    if not holds_fingerprints(content):  # a fingerprint says nothing about a version
        for part, version in content.get("behaviour", {}).items():
            facts["code", f"behaviour[{part}]"] = version
    facts["seed", "sampling.seed"] = content["spec"].get("sampling", {}).get("seed")
    for loaded in store.bodies_of(ModelLoaded, stamp):
        for key, value in loaded.ran.items():
            if key in OF_MODEL or key in OF_MACHINE:
                continue
            named = value.items() if key == "versions" and isinstance(value, dict) else [(key, value)]
            for part, stated in named:
                facts["environment", f"{loaded.model}: {part}"] = stated
    return facts


def _stored_texts(
    path: Path, stamp: str, model: str, benchmark: str, configuration: str, item: str
) -> AnswerTexts:
    with Store.open(path) as store:
        prompt, answer = store.first_texts(stamp, f"{model}/{benchmark}/{configuration}", item)
    return AnswerTexts(None if prompt is None else prompt_text(prompt), answer)


def _prompt_texts(path: Path) -> dict[str, str]:
    """The digest of the text of every prompt in a store, by the prompt's id."""
    with Store.open(path) as store:
        return {id: text_digest(prompt_text(content)).hex() for id, content in store.prompts()}


def prompt_text(content: str) -> str:
    """A stored prompt as it reads: one message alone, several under their roles."""
    messages = json.loads(content)["messages"]
    if len(messages) == 1:
        return str(messages[0][1])
    return "\n\n".join(f"[{role}]\n{text}" for role, text in messages)


NAMED = ("prompt", "request", "score")
"""What two configurations of a run differ in by name; the rest is a fact about the run."""


@dataclass(frozen=True, slots=True)
class LogSelection:
    """What a comparison takes from logs. `reading` counts wherever a log has it, `readings` has one for
    single benchmarks. `tasks` and `models` map the names in the logs to those used here. `columns` says what
    the columns of tables are, and `counting` which files count where several hold runs of the same thing."""

    reading: str | None = None
    readings: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    columns: TableColumns = field(default_factory=TableColumns)
    counting: Sequence[str] = ()

    def read(self, paths: Sequence[Path]) -> ReadLogs:
        """Logs, or folders of them. Raises `FileError` for what is wrong in one."""
        return read_logs(paths, self.tasks, self.models, self.columns, self.counting)

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


def logged_run(logs: ReadLogs, name: str, selection: LogSelection) -> ComparedRun:
    """Logs as a run to compare. Raises `UsageError` where a benchmark is read in several ways and none is
    chosen (GC767).

    A score outside of 0 to 1 has no test at a margin, and counts as unscored here."""
    _require_one_reading(logs.runs, selection, name)
    groups: defaultdict[tuple[str, str], list[GatheredRun]] = defaultdict(list)
    for gathered in logs.runs:
        groups[gathered.run.model, gathered.run.benchmark].append(gathered)
    runs = [gathered.run for gathered in logs.runs]
    items = {
        name: RunItems(
            tuple(key.hex() for key in one.keys), tuple(one.ids), tuple(one.units), tuple(one.questions)
        )
        for name, one in logs.items.items()
    }
    warnings = [
        f"{benchmark.name}: {warning}"
        for benchmark in recorded_benchmarks(logs, selection.reading, ())
        for warning in benchmark.warnings
    ]
    return ComparedRun(
        name,
        ", ".join(dict.fromkeys(run.made_by for run in runs)) + " logs, not pre-registered",
        _all_finished([run.finished for run in runs]),
        {
            (model, benchmark): _logged_benchmark(some, items[benchmark], selection)
            for (model, benchmark), some in groups.items()
            if any(gathered.columns for gathered in some)
        },
        {place: _plain(value) for run in runs for place, value in _logged_facts(run)},
        tuple(dict.fromkeys(what for run in runs for what in run.unknown)),
        _Texts(logs.runs),
        (*logs.notes, *warnings),
        package_of(logs),
        tuple(place for place, some in groups.items() if not any(gathered.columns for gathered in some)),
        tuple(file.path for file in logs.files),
        tuple(logs.unmatched),
    )


def package_of(logs: ReadLogs) -> str:
    """The packages that asked the runs of these logs, as one name."""
    return ", ".join(sorted({gathered.run.package for gathered in logs.runs}))


def _all_finished(finished: Sequence[bool | None]) -> bool | None:
    """Whether every run finished; None where none is known to have ended early and some do not say."""
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


def _logged_benchmark(runs: list[GatheredRun], items: RunItems, selection: LogSelection) -> RunBenchmark:
    answers: defaultdict[str, list[tuple[LogColumn, LogRun]]] = defaultdict(list)
    settings: dict[str, dict[tuple[Aspect, str], object]] = {}
    lower = False
    for gathered in runs:
        run, chosen = gathered.run, selection.of(gathered)
        if chosen is None:
            continue
        lower = lower or chosen in run.lower
        configuration = configuration_of(run)
        settings[configuration] = {place: _plain(value) for place, value in settings_of(run)}
        settings[configuration][READING] = chosen
        answers[configuration].append((gathered.columns[chosen], run))
    return _benchmark(
        Direction(lower=lower),
        "unit",
        items,
        {name: _logged_answers(some, len(items)) for name, some in answers.items()},
        settings,
        unlisted=next((one.run.unlisted for one in runs if one.run.unlisted is not None), None),
        total=max((one.run.total for one in runs if one.run.total is not None), default=None),
        times={
            name: sum(asked_times(run, column) for column, run in some if run.unlisted is None)
            for name, some in answers.items()
        },
    )


def configuration_of(run: LogRun) -> str:
    """What shapes prompts and requests, by axis; what belongs to the model is not in the name."""
    parts = (
        f"{name}={one.label.replace(',', ';')}"
        for name, one in run.axes.items()
        if one.aspect in NAMED and not one.own
    )
    return ",".join(parts)


def _logged_answers(answers: Sequence[tuple[LogColumn, LogRun]], items: int) -> AnswerTable:
    """The answers of runs of one configuration, one run after the other. A score outside of 0 to 1 counts as
    unscored. Where a log lists only some of its `items`, the others have the run's `unlisted` score."""
    parts = []
    for column, run in answers:
        inside = (column.score >= 0) & (column.score <= 1)
        without = np.isin(column.state, [STATES.index(state) for state in WITHOUT_SCORE])
        state = np.where(inside | without, column.state, STATES.index("unscored"))
        prompts = [column.prompt(row) for row in range(len(column.item))]
        parts.append((column.item, np.where(inside, column.score, np.nan), state, prompts))
        if run.unlisted is not None:
            rest = np.setdiff1d(np.arange(items), column.item)
            score = np.full(len(rest), run.unlisted)
            parts.append((rest, score, np.full(len(rest), READ), [None] * len(rest)))
    item, score, state = (np.concatenate([part[at] for part in parts]) for at in range(3))
    prompts = [prompt for part in parts for prompt in part[3]]
    return AnswerTable(item, score, state, prompts)


def _logged_facts(run: LogRun) -> Iterator[tuple[tuple[Aspect, str], object]]:
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
