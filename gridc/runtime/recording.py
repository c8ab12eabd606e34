"""Writes logs into a store: those of other packages to look at answers, gridc's own to make reports.

Of other packages gridc asked nothing and stamped nothing. Their document says so under `recorded`, in the
place of a spec, and what needs a spec refuses it (GC613). Logs that gridc exported come with their study.
"""

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gridc.compiler.inputs.logs.records import writable
from gridc.compiler.inputs.questions import QuestionDigests
from gridc.compiler.lowering.calls import CallKind, Prompt
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.runtime.store.events import Event
from gridc.runtime.store.items import cell_rows
from gridc.runtime.store.reader import LOGGED, NO_PROMPT, RECORDED
from gridc.runtime.store.store import Store
from gridc.runtime.store.writable import PlanWriter, WritableStore, stored_json
from gridc.schema.canonical import canonical, digest
from gridc.schema.comparison import AnswerState

FINE = 10_000
"""Parts of a point in which scores are kept that are neither 0 nor 1."""
_ROWS = 10_000
"""Answers that are written at a time."""
MOST_SAMPLES = 50_000_000
"""Samples of a study that are written from its logs: a stranger's spec may ask any number."""
UNKNOWN = "unknown"
BLANK = "(blank)"
"""What is called so that has no name but spaces."""
NO_ANSWER = "(The log does not have the answer.)"
NOT_LOGGED = "the log has no answer to this item, or not so many"
IN_USAGE = {
    "tokens": "completion_tokens",
    "thought_tokens": "reasoning_tokens",
    "read_tokens": "prompt_tokens",
    "cost": "usd",
    "calls": "calls",
}
"""Where a recorded call, which stands for all calls of its answer, has their numbers."""
MOST = 1e9
"""A larger score is not kept, which SQLite could not hold."""


class ImportedSample(NamedTuple):
    """An answer of a log: its item by its place among the benchmark's, its score and how it ended, the texts
    where the log has them, and those of `CALL_NUMBERS` that it says."""

    item: int
    score: float | None
    state: AnswerState
    prompt: str | None
    answer: str | None
    took: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class ImportedCell:
    """One model on one benchmark in one configuration. Answers to one item are its replicates, in order."""

    model: str
    benchmark: str
    configuration: str
    samples: Iterable[ImportedSample]


@dataclass(frozen=True, slots=True)
class ImportedItems:
    """The items of a benchmark: their content as the log's package has it, what the log calls them, their
    units, and what they ask."""

    lower: bool
    keys: Sequence[bytes]
    ids: Sequence[str]
    units: Sequence[str]
    questions: Sequence[QuestionDigests]

    @property
    def names(self) -> list[str]:
        """No two alike: a log may ask two things under one id."""
        return distinct_names(self.ids)


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names as a store can hold them, each once: `a`, `a (2)`, `a (3)`."""
    given = _GivenNames()
    return [given.free(writable(name) if name.strip() else BLANK) for name in names]


class _GivenNames:
    """Names that were given, each once: `a`, `a (2)`, `a (3)`."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._last: defaultdict[str, int] = defaultdict(lambda: 1)

    def free(self, name: str) -> str:
        free = name
        while free in self._given:
            self._last[name] += 1
            free = f"{name} ({self._last[name]})"
        self._given.add(free)
        return free


class RecordedSample(NamedTuple):
    """A sample of a study as an export of it says: what `sample` has of it, the id and kind of its last call,
    which samples may share, how it ended, and its texts; a ranking generated none. `took` as of
    `ImportedSample`. One whose response was `cut` by its limit may be read all the same."""

    cell: str
    item: str
    replicate: int
    choice: int | None
    score: int
    evidence: str | None
    call: str
    kind: CallKind | Literal["recorded"]
    state: AnswerState
    prompt: str | None
    answer: str | None
    took: Mapping[str, float] = {}
    cut: bool = False


def record_run(
    path: Path,
    plan: Plan,
    created: str,
    events: Iterable[Event],
    samples: Iterable[RecordedSample],
    asked: Mapping[str, ImportedItems] | None = None,
) -> None:
    """Write the new store of a study from the events of its run and from what logs say of its samples; what
    they lack has no outcome. Of calls the last of each sample is there. `asked` says by benchmark what items
    of other packages ask, whose texts a plan of logs does not have. Raises `KeyError` or `ValueError` for a
    sample that is not in the plan and for a plan of more than `MOST_SAMPLES`, `sqlite3.Error` for a sample
    that stands twice."""
    with _RunRecorder(path) as writer, writer.all_or_nothing():
        writer.write(plan, created, events, samples)
        for benchmark, items in (asked or {}).items():
            writer.ask(plan.study_digest, benchmark, items)


def record_store(
    path: Path,
    about: Mapping[str, Any],
    binary: bool,
    benchmarks: Mapping[str, ImportedItems],
    cells: Iterable[ImportedCell],
) -> str:
    """Write a store, all or nothing, in the place of one of imported logs, if there is one; the digest of
    what `about` says. Scores are `binary` where all are 0 or 1, and else kept to a ten-thousandth.

    Raises `UsageError` (GC000) where the store of a run is there, `StoreError` for another file."""
    scale = 1 if binary else FINE
    content = {RECORDED: {**about, "scale": scale}}
    stamp = digest(content)
    with new_store(path) as draft, _RecordingWriter(draft) as writer, writer.all_or_nothing():
        writer.begin(stamp, stored_json(content), benchmarks)
        names = {name: items.names for name, items in benchmarks.items()}
        for cell in cells:
            writer.write(stamp, cell, names[cell.benchmark], scale)
    return stamp


@contextmanager
def new_store(path: Path) -> Iterator[Path]:
    """Where to write a store that then takes the place of one of imported logs, if there is one. Raises
    `UsageError` (GC000) where the store of a run is there, `StoreError` for another file."""
    if path.exists():
        with Store.open(path) as there:
            if not there.imported:
                message = "the store of a run is here, and nothing is written over it"
                raise UsageError([Diagnostic("GC000", message, str(path))])
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        yield draft
        # SQLite would read the log of the store that was here into the one that takes its place.
        for log in ("-wal", "-shm"):
            path.with_name(path.name + log).unlink(missing_ok=True)
        os.replace(draft, path)


class _CallWriter(WritableStore):
    """Writes the calls of samples that gridc did not make."""

    def _write_calls(self, rows: Iterable[tuple[tuple[Any, ...], ...]]) -> None:
        """Of every sample its rows of `prompt`, `call` and `trace`. Of a call that samples share the one that
        could not read it says how it ended."""
        prompts, calls, traces = (list(part) for part in zip(*rows, strict=True))
        self._insert("INSERT OR IGNORE INTO prompt VALUES (?, ?)", prompts)
        self._insert(
            """INSERT INTO call (id, model, precision, kind, prompt, request, answer, answer_digest,
                                 usage, seconds)
               VALUES (?, ?, ?, ?, ?, '{}', ?, ?, ?, ?)
               ON CONFLICT DO UPDATE SET answer = excluded.answer, answer_digest = excluded.answer_digest
               WHERE length(excluded.answer) > length(answer)""",
            calls,
        )
        self._insert("INSERT INTO trace (cell, item, replicate, step, call) VALUES (?, ?, ?, 0, ?)", traces)


class _RunRecorder(PlanWriter, _CallWriter):
    def ask(self, stamp: str, benchmark: str, items: ImportedItems) -> None:
        """Say what the items of a benchmark ask, as their log has it."""
        for item, key, asked in zip(items.names, items.keys, items.questions, strict=True):
            digests = (None if part is None else part.hex() for part in asked)
            row = (stamp, benchmark, item)
            self._insert(
                """UPDATE question SET text = ?, choices = ?, target = ?
                   WHERE (stamp, benchmark, item) = (?, ?, ?)""",
                [(*digests, *row)],
            )
            self._insert(
                "UPDATE shown SET digest = ? WHERE (stamp, benchmark, item) = (?, ?, ?)", [(key.hex(), *row)]
            )

    def write(
        self, plan: Plan, created: str, events: Iterable[Event], samples: Iterable[RecordedSample]
    ) -> None:
        self._db.table("event").insert_all(event.row() for event in events)
        content = stored_json(plan.study.stamped())
        self._insert("INSERT INTO study VALUES (?, ?, ?)", [(plan.study_digest, created, content)])
        numbers: dict[str, Any] = {}
        models = {cell.key: cell.model for cell in plan.cells()}
        total = 0
        for cell, row in zip(plan.cells(), cell_rows(plan), strict=True):
            number = numbers[cell.key] = self._db.table("cell").insert(row._asdict()).last_pk
            items = plan.study.items[cell.benchmark].asked(subset=cell.setting.items)
            total += len(items) * cell.setting.replicates
            if total > MOST_SAMPLES:
                raise ValueError(f"it asks more than {MOST_SAMPLES:,} samples")
            places = ((number, item.id, at) for item in items for at in range(cell.setting.replicates))
            self._insert("INSERT INTO sample (cell, item, replicate) VALUES (?, ?, ?)", places)
        self._ingest_items(plan)
        rows = ((one, (numbers[one.cell], one.item, one.replicate)) for one in samples)
        while some := list(islice(rows, _ROWS)):
            done = self._db.conn.executemany(
                """UPDATE sample SET choice = ?, score = ?, evidence = ?
                   WHERE (cell, item, replicate) = (?, ?, ?)""",
                [(one.choice, one.score, one.evidence, *place) for one, place in some],
            )
            if done.rowcount != len(some):
                raise ValueError("an item or a repetition that is not in its plan")
            calls = [(*_call(place, models[one.cell], one), place) for one, place in some]
            self._write_calls((prompt, call, (*place, call[0])) for prompt, call, place in calls)


class _RecordingWriter(_CallWriter):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._keys = _GivenNames()  # `a/b` on `c` and `a` on `b/c` read alike

    def begin(self, stamp: str, content: str, benchmarks: Mapping[str, ImportedItems]) -> None:
        created = datetime.now(UTC).isoformat(timespec="seconds")
        self._insert("INSERT INTO study VALUES (?, ?, ?)", [(stamp, created, content)])
        for name, items in benchmarks.items():
            alone = len(set(items.units)) == len(items.units)
            direction = f"{'lower' if items.lower else 'higher'}_is_better"
            row = (stamp, name, direction, "item" if alone else "family")
            self._insert("INSERT INTO benchmark VALUES (?, ?, ?, ?)", [row])
            rows = zip(items.names, items.keys, items.units, items.questions, strict=True)
            for item, key, unit, asked in rows:
                self._insert(
                    "INSERT INTO item VALUES (?, ?, ?, ?, ?, NULL, NULL)", [(stamp, name, item, unit, unit)]
                )
                digests = (None if part is None else part.hex() for part in asked)
                self._insert(
                    "INSERT INTO question VALUES (?, ?, ?, ?, ?, ?)", [(stamp, name, item, *digests)]
                )
                self._insert(
                    "INSERT INTO shown VALUES (?, ?, ?, '', ?, 0, '[]', NULL, NULL, NULL, NULL)",
                    [(stamp, name, item, key.hex())],
                )

    def write(self, stamp: str, cell: ImportedCell, names: Sequence[str], scale: int) -> None:
        key = self._keys.free(f"{cell.model}/{cell.benchmark}/{cell.configuration}")
        row = {
            "stamp": stamp, "key": key, "model": cell.model, "benchmark": cell.benchmark,
            "configuration": cell.configuration, "tier": RECORDED, "shared": 1, "method": RECORDED,
        }  # fmt: skip
        number = self._db.table("cell").insert(row).last_pk
        rows = _rows(number, key, cell, names, scale)
        while some := list(islice(rows, _ROWS)):
            self._insert(
                """INSERT INTO sample (cell, item, replicate, choice, score, evidence)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                [sample for sample, *_ in some],
            )
            self._write_calls((prompt, call, step) for _, prompt, call, step in some)


def _rows(
    number: Any, key: str, cell: ImportedCell, names: Sequence[str], scale: int
) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Of every answer its rows of `sample`, `prompt`, `call` and `trace`."""
    replicates: defaultdict[int, int] = defaultdict(int)
    for one in cell.samples:
        item, replicate = names[one.item], replicates[one.item]
        replicates[one.item] += 1
        prompt, call = _call((key, item, replicate), cell.model, one)
        held = one.score is not None and abs(one.score) < MOST
        score = round(one.score * scale) if held and one.score is not None else None
        choice = 0 if one.state == "read" else None
        yield (
            (number, item, replicate, choice, score, f'{{"state":"{one.state}"}}'),
            prompt,
            call,
            (number, item, replicate, call[0]),
        )


def _call(
    place: tuple[Any, ...], model: str, one: ImportedSample | RecordedSample
) -> tuple[tuple[str, str], tuple[Any, ...]]:
    """The rows of `prompt` and `call` of a sample."""
    asked = writable(one.prompt or NO_PROMPT)
    content = canonical(Prompt(((LOGGED, asked),), chat_template=False).as_json())
    answer = canonical(_answer(one))
    prompt = sha256(content).hexdigest()
    if isinstance(one, RecordedSample):
        call, kind = one.call, str(one.kind)
    else:
        call, kind = sha256("\n".join(map(str, place)).encode()).hexdigest(), RECORDED
    usage = {IN_USAGE[name]: value for name, value in one.took.items() if name in IN_USAGE}
    took = (stored_json(usage) if usage else None, one.took.get("seconds"))
    row = (call, model, UNKNOWN, kind, prompt, answer.decode(), sha256(answer).hexdigest(), *took)
    return (prompt, content.decode()), row


def _answer(one: ImportedSample | RecordedSample) -> dict[str, Any]:
    if one.state == "failed":
        why = "as the log says" if one.answer in (None, NO_ANSWER) else one.answer
        return {"error": {"kind": "failed", "message": why}}
    if isinstance(one, RecordedSample) and one.answer is None:
        return {"loglikelihoods": []}
    text = NO_ANSWER if one.answer is None else writable(one.answer)
    refused = {"refused": True} if one.state == "refused" else {}
    cut = {"finish": "length"} if one.state == "cut" or (isinstance(one, RecordedSample) and one.cut) else {}
    return {"text": text, **cut, **refused}
