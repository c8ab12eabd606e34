"""Turns logs of other packages into a study without a stamp, so that every report of a study can be made from
them.

The names in the logs become models, benchmarks and the levels of one axis, `configuration`. Cells that
cannot be compared with the others of a benchmark are a benchmark of their own. What is missing of the items
that count is wrong in a score, and speaks against every claim.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import compress
from math import isnan, nan
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.lookup import ReferenceFolders
from gridc.compiler.frontend.read import CheckedSpec
from gridc.compiler.frontend.references import References
from gridc.compiler.frontend.source import basic_string, parse_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.grid.cells import ONLY
from gridc.compiler.inputs.logs.records import writable
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lock.attestation import Attestation
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import visible
from gridc.numbers import counted
from gridc.outcomes import STATES
from gridc.reports.exchange.recorded_study import ABSENT, RecordedFiles, RecordedItems, RecordedStudy
from gridc.reports.findings.findings import Findings, all_findings, noted_of_items
from gridc.reports.findings.summaries import SUMMARIES
from gridc.reports.recorded.cells import RecordedBenchmark, RecordedCell
from gridc.reports.recorded.compared import ComparedCells
from gridc.reports.words import LOGGED_AS
from gridc.runtime.recording import (
    BLANK,
    NO_ANSWER,
    NOT_LOGGED,
    ImportedItems,
    RecordedSample,
    distinct_names,
    record_run,
)
from gridc.runtime.store.reader import RECORDED
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.comparison import AnswerState
from gridc.schema.items import UnitLevel
from gridc.schema.recorded import LogGroupRow, LogStatisticRow, RecordedRuns
from gridc.schema.statistics import Statistic
from gridc.statistics.arrays import Flags

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,69}")
NOT_REPORTED = "not reported"
"""Of what no answer's log says."""
MOST_ID = 80
"""Characters of an id."""
LONGEST = 70
"""Characters of a name that its id keeps."""
UNSTAMPED = Attestation("none", "nothing was stamped before these runs")


@dataclass(frozen=True)
class LogStudy:
    """Logs as a study: `keys` has its cells by benchmark, model and configuration as the logs name them, and
    `statistics` the ids of those that are stated, by name and benchmark."""

    compiled: Compiled
    parts: Sequence[ComparedCells]
    keys: Mapping[tuple[str, str, str], str]
    statistics: Mapping[tuple[str, str], str]

    @property
    def lock(self) -> Lock:
        assert self.compiled.lock is not None
        return self.compiled.lock

    def record(self, path: Path, items: Mapping[str, ImportedItems]) -> None:
        """Write its new store, with the texts that the logs have. `items` are those of each benchmark, by its
        name in the logs."""
        plan = Plan(self.compiled.study)
        ids = {name: key.split("/")[1] for (name, *_), key in self.keys.items()}
        asked = {id: items[name] for name, id in ids.items()}
        record_run(path, plan, self.lock.created, (), _samples(self, plan), asked)

    def find(self, path: Path) -> Findings:
        """What the store at `path` shows of it."""
        known = noted_of_items(None)
        del known[SUMMARIES]  # means over benchmarks are of scores alone
        with Store.open(path) as store:
            return all_findings(self.compiled, self.lock, store, tied=[UNSTAMPED], known=known)


def statistic_rows(study: LogStudy, found: Findings) -> Iterator[LogStatisticRow]:
    """The values of the statistics that are stated, under the names of the logs."""
    by_id = {summary.id: summary for summary in found[SUMMARIES]}
    for (name, benchmark), id in study.statistics.items():
        for (of, model, configuration), key in study.keys.items():
            if of == benchmark:
                model_id, _, cell = key.split("/", 2)
                value = by_id[id].values[model_id][cell]
                yield LogStatisticRow(
                    statistic=name,
                    what=by_id[id].what,
                    benchmark=benchmark,
                    model=model,
                    configuration=configuration,
                    value=value.value,
                    interval=value.interval,
                    unit=by_id[id].unit,
                    answers=value.responses,
                    asked=value.asked,
                    note=value.note if value.responses else NOT_REPORTED,
                )


def _title(parts: Sequence[ComparedCells]) -> str:
    """What was measured, and how many models."""
    models = len({name for part in parts for name in part.models})
    names = [part.name for part in parts]
    what = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{what}: {counted(models, 'model')}"


class _Ids:
    """Ids of the language for the names in logs, each once."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """`names` that are ids already are given to nothing else."""
        self._given = {name: name for name in names if ID.fullmatch(name)}
        self._taken = set(self._given)

    def __call__(self, name: str) -> str:
        if name not in self._given:
            plain = re.sub(r"[^A-Za-z0-9_.\-]+", "-", name).strip("-._")[:LONGEST] or "x"
            free, number = plain, 2
            while free in self._taken:
                free, number = f"{plain}.{number}", number + 1
            self._given[name] = free
            self._taken.add(free)
        return self._given[name]


def as_study(
    runs: RecordedRuns,
    about: Mapping[str, Any],
    parts: Sequence[ComparedCells],
    groups: Sequence[LogGroupRow] = (),
    statistics: Sequence[Statistic] = (),
) -> LogStudy:
    """The study of what logs have of these benchmarks. `about` is what their store says of them. It has the
    `statistics` of each benchmark, and the mean over those of `groups` that it has whole."""
    models = list(dict.fromkeys(name for part in parts for name in part.models))
    model_id, benchmark_id, level_id = _Ids(models), _Ids(part.name for part in parts), _Ids()
    cells = [(part, cell) for part in parts for cell in part.compared_cells.values()]
    levels = list(dict.fromkeys(_level(cell) for _, cell in cells))
    lines = ["gridcard = 1", "[study]", 'id = "logs"', f"title = {_text(_title(parts))}"]
    lines.append('purpose = "descriptive"')
    lines += [f'tiers = ["{RECORDED}", "not-{RECORDED}"]']  # nobody said how common a configuration is
    lines += ["[harness]", 'prompt = "-"', 'method = "as_logged"']
    times = {repetitions for _, repetitions in levels}
    lines += _repeated(max(times)) if len(times) == 1 else []
    lines += ['unreadable = "worst"'] if any(part.benchmark.lower for part in parts) else []
    for name in models:
        lines += ["[[model]]", f'id = "{model_id(name)}"', 'engine = "another_package"']
        lines += [f"source = {_text(name)}", *_note(name, model_id(name))]
    for part in parts:
        name = part.name
        id, direction = benchmark_id(name), "lower" if part.benchmark.lower else "higher"
        lines += ["[[benchmark]]", f'id = "{id}"', 'loader = "rows"', 'source = "path:logs"']
        lines += ['loading = { fields = { query = "question" } }', f'direction = "{direction}"']
        lines += [*([] if _is_binary(part) else ['method = "number_as_logged"']), *_note(name, id)]
    stated = {(one.id, part.name): one for part in parts for one in statistics}
    named = {key: key[0] if len(parts) == 1 else f"{key[0]}.{benchmark_id(key[1])}" for key in stated}
    for key, one in stated.items():
        lines += ["[[statistic]]", *_keys(one, named[key][:MOST_ID]), f'benchmark = "{benchmark_id(key[1])}"']
    of_groups = _Ids(named.values())
    for name, members in _groups(parts, groups):
        lines += ["[[statistic]]", f'id = "{of_groups(name)}"', 'kind = "macro_mean"']
        lines += [f"benchmark = {json.dumps([benchmark_id(one) for one in members])}"]
    if len(levels) > 1:
        lines += ["[[axis]]", 'id = "configuration"']
    names = Counter(name for name, _ in levels)
    called = {level: f"{level[0]} x {level[1]}" if names[level[0]] > 1 else level[0] for level in levels}
    for number, level in enumerate(levels if len(levels) > 1 else ()):
        lines += [
            "[[axis.level]]",
            f'id = "{level_id(called[level])}"',
            f'tier = "{RECORDED}"',
            'provenance = "the logs"',
        ]
        lines += [f"vars = {{ {LOGGED_AS} = {_text(called[level])} }}"]
        lines += _repeated(level[1]) if len(times) > 1 else []
        if any((_asked(part, level) != _asked_somewhere(part)).any() for part in parts):
            lines.append(f'items = {{ where = {{ c{number} = "yes" }} }}')
    for part in parts:
        for level in levels:
            own = part.models if level in _levels(part) else ()
            lacking = [model_id(model) for model in models if model not in own]
            if lacking:
                where = [f'benchmark = "{benchmark_id(part.name)}"']
                where += [f'configuration = "{level_id(called[level])}"'] if len(levels) > 1 else []
                where += [f"model = {json.dumps(lacking)}"] if len(lacking) < len(models) else []
                lines += [
                    "[[exclude]]",
                    f"when = {{ {', '.join(where)} }}",
                    'why = "the logs do not have it"',
                ]
    source = parse_source("\n".join(lines) + "\n", Path("logs.toml"))
    spec = typed(source)
    items = {benchmark_id(part.name): _items(part, levels) for part in parts}
    asked = {
        model_id(name): ModelIdentity(visible(writable(name)), unpinned="asked by another package")
        for name in models
    }
    inputs = {
        "templates": {},
        "models": {name: identity.manifest for name, identity in asked.items()},
        "benchmarks": {name: {"items": {}, "unpinned": "known by its logs"} for name in items},
    }
    content = {RECORDED: {**about}, "spec": spec.stamped(), "inputs": inputs}
    created = datetime.now(UTC).isoformat(timespec="seconds")
    lock = Lock(digest(content), content, created, __version__, None, None)
    checked = CheckedSpec(source, spec, ReferenceFolders(source.path.parent), References({}, {}))
    keys = {
        (part.name, cell.model, cell.configuration): "/".join(
            (
                model_id(cell.model),
                benchmark_id(part.name),
                ONLY if len(levels) == 1 else f"configuration={level_id(called[_level(cell)])}",
            )
        )
        for part, cell in cells
    }
    credited = {
        keys[part.name, cell.model, cell.configuration]: dict(_credited(cell, _names(part.benchmark)))
        for part, cell in cells
        if cell.states.missing
    }
    study = RecordedStudy(spec, {}, items, {}, asked, content, recorded=runs, credited=credited)
    return LogStudy(Compiled(checked, study, lock), parts, keys, named)


def _keys(statistic: Statistic, id: str) -> Iterator[str]:
    """Its keys as a spec has them, under this id."""
    stated = statistic.model_dump(exclude_none=True) | {"id": id}
    yield from (f"{key} = {json.dumps(value)}" for key, value in stated.items())


def _groups(parts: Sequence[ComparedCells], rows: Sequence[LogGroupRow]) -> Iterator[tuple[str, list[str]]]:
    """The groups of which all benchmarks are in the study, in one direction, and some model has them all."""
    known = {part.name: part for part in parts}
    several: dict[str, list[str]] = {}
    for row in rows:
        several.setdefault(row.group, list(row.benchmarks))
    for group, names in several.items():
        own = [known[name] for name in names if name in known]
        models = set.intersection(*(set(part.models) for part in own)) if own else set()
        if len(own) == len(names) > 1 and models and len({part.benchmark.lower for part in own}) == 1:
            yield group, names


def _credited(cell: RecordedCell, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The items that lack scores, and how many."""
    outcomes = cell.outcomes
    missing = np.where(outcomes.trials > 0, outcomes.trials - outcomes.scored, cell.repetitions)
    counts = np.where(cell.counts, missing, 0)
    yield from ((names[place], int(counts[place])) for place in np.flatnonzero(counts).tolist())


def _repeated(times: int) -> list[str]:
    return [f"replicates = {times}", "temperature = 1.0"] if times > 1 else []


def _text(name: str) -> str:
    """A name of a log as the language writes a text: in one form of Unicode, with nothing that a terminal
    obeys, and not blank."""
    return basic_string(normalize("NFC", visible(writable(name))) if name.strip() else BLANK)


def _note(name: str, id: str) -> list[str]:
    """The name in the logs, where it is no id of the language."""
    return [] if name == id else [f"note = {_text(name)}"]


def _is_binary(part: ComparedCells) -> bool:
    """Whether each answer earns a point or none."""
    runs = [run for cell in part.compared_cells.values() for run in cell.runs]
    scores = [run.column.score for run in runs if run.column is not None]
    return all(bool(np.isin(score[~np.isnan(score)], (0.0, 1.0)).all()) for score in scores)


def _level(cell: RecordedCell) -> tuple[str, int]:
    """A level of the axis: a configuration, and how often it asks an item."""
    return cell.configuration, cell.repetitions


def _levels(part: ComparedCells) -> set[tuple[str, int]]:
    return {_level(cell) for cell in part.compared_cells.values()}


def _asked(part: ComparedCells, level: tuple[str, int]) -> Flags:
    """The items that a level asks, (items,); all, of one that no model has here."""
    return part.counted_in(level[0]) if level in _levels(part) else _asked_somewhere(part)


def _asked_somewhere(part: ComparedCells) -> Flags:
    """The items that count in some configuration, (items,)."""
    asked: Flags = np.logical_or.reduce([cell.counts for cell in part.compared_cells.values()])
    return asked


def _items(part: ComparedCells, levels: Sequence[tuple[str, int]]) -> RecordedItems:
    one = part.benchmark
    asked = [_asked(part, level) for level in levels]
    names, somewhere = _names(one), _asked_somewhere(part)
    units = [*one.items.units, *names[len(one.items.units) :]]
    counted = list(compress(zip(names, units, strict=True), somewhere.tolist()))
    alone = len({unit for _, unit in counted}) == len(counted)
    tags = {
        name: {f"c{number}": "yes" for number, here in enumerate(asked) if here[place]}
        for place, name in enumerate(names)
    }
    named = (visible(writable(category))[:LONGEST].strip() for category in one.items.categories)
    categories = dict(zip(names, named, strict=False))
    questions = dict(zip(names, _questions(one, names), strict=True))
    sampled = tuple(
        Item(
            name,
            questions[name],
            family=name if alone else unit.strip() or BLANK,
            tags=tags[name],
            category=categories.get(name, ""),
        )
        for name, unit in counted
    )
    unit: UnitLevel = "item" if alone else "family"
    return RecordedItems(sampled, (), RecordedFiles((), {}, (), recorded_rows=len(sampled)), unit=unit)


def _questions(one: RecordedBenchmark, names: Sequence[str]) -> Iterator[str]:
    """In place of what is asked: equal of two benchmarks where both ask it, and not because of one name."""
    keys = one.items.keys
    for place, name in enumerate(names):
        known = place < len(keys) and not one.items.without_content
        yield f"{ABSENT} {keys[place].hex() if known else f'{name} of {one.name}'}"


def _names(one: RecordedBenchmark) -> list[str]:
    """What the items are called, no two alike; those that no log names last."""
    ids = [*one.items.ids, *(f"unnamed {number}" for number in range(1, one.unnamed + 1))]
    return distinct_names(ids)


def _samples(study: LogStudy, plan: Plan) -> Iterator[RecordedSample]:
    settings = {cell.key: cell.setting for cell in plan.cells()}
    for part in study.parts:
        names = _names(part.benchmark)
        for (model, configuration), cell in part.compared_cells.items():
            key = study.keys[part.name, model, configuration]
            yield from _samples_of(cell, key, settings[key], names, _asked(part, _level(cell)))


def _samples_of(
    cell: RecordedCell, key: str, setting: Setting, names: Sequence[str], asked: Flags
) -> Iterator[RecordedSample]:
    """Every answer of a cell to the items that count, its repetitions in the order of their epochs; what is
    missing failed, or has the score of what its list leaves out."""
    given: Counter[int] = Counter()

    def sample(
        item: int,
        state: AnswerState,
        score: float,
        prompt: str | None,
        answer: str | None,
        took: Mapping[str, float],
    ) -> RecordedSample:
        replicate, known = given[item], not isnan(score)
        points = round(score * setting.scale) if known else setting.credit
        given[item] += 1
        return RecordedSample(
            key,
            names[item],
            replicate,
            # What earned something was read, whatever its log says of the answer's end.
            0 if known and (state == "read" or points != setting.credit) else None,
            points,
            None,
            sha256(f"{key}\n{names[item]}\n{replicate}".encode()).hexdigest(),
            RECORDED,
            state if known or state in ("unreadable", "cut", "refused") else "failed",
            prompt,
            NO_ANSWER if answer is None else answer,
            took,
        )

    for run in cell.runs:
        if (column := run.column) is None:
            continue
        texts = list(run.answers())
        for row in np.argsort(column.epoch, kind="stable").tolist():
            if asked[column.item[row]]:
                one = texts[row] if texts else None
                said = (None, None, {}) if one is None else (one.prompt, one.answer, one.took)
                state, score = STATES[column.state[row]], float(column.score[row])
                yield sample(int(column.item[row]), state, score, *said)
    absent = nan if cell.unlisted is None else cell.unlisted
    for item in np.flatnonzero(asked).tolist():
        for _ in range(given[item], cell.repetitions):
            yield sample(item, "read", absent, None, NOT_LOGGED if isnan(absent) else None, {})
