"""Logs of other packages -> a store, for all who look at answers: a recorded study.

gridc asked none of its calls and stamped nothing. Its document says so under `recorded`, in the place of a
spec, and what needs a spec refuses it (GC613).
"""

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.records import writable
from gridc.compiler.inputs.questions import QuestionDigests
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.runtime.store.rows import RECORDED
from gridc.runtime.store.store import Store
from gridc.runtime.store.writable import Writable, text_of
from gridc.schema.canonical import canonical, digest
from gridc.schema.comparison import AnswerState

FINE = 10_000
"""Parts of a point in which scores are kept that are neither 0 nor 1."""
_ROWS = 10_000
"""Answers that are written at a time."""
UNKNOWN = "unknown"
MOST = 1e9
"""A larger score is not kept, which SQLite could not hold."""


class ImportedSample(NamedTuple):
    """An answer of a log: its item by its place among the benchmark's, its score and how it ended, and the
    texts where the log has them."""

    item: int
    score: float | None
    state: AnswerState
    prompt: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class ImportedCell:
    """One model on one benchmark in one configuration. Answers to one item are its replicates, in order."""

    model: str
    benchmark: str
    configuration: str
    samples: Iterable[ImportedSample]


@dataclass(frozen=True, slots=True)
class ImportedItems:
    """The items of a benchmark: what their log calls them, their units, and what they ask."""

    lower: bool
    ids: Sequence[str]
    units: Sequence[str]
    questions: Sequence[QuestionDigests]

    @property
    def names(self) -> list[str]:
        """No two alike: a log may ask two things under one id."""
        given = _GivenNames()
        return [given.free(writable(id)) for id in self.ids]


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


def record(
    path: Path,
    about: Mapping[str, Any],
    whole: bool,
    benchmarks: Mapping[str, ImportedItems],
    cells: Iterable[ImportedCell],
) -> str:
    """Write a store, all or nothing, in the place of one of imported logs, if there is one; the digest of
    what `about` says. Scores are `whole` where all are 0 or 1, and else kept to a ten-thousandth.

    Raises `UsageError` (GC000) where the store of a run is there, `StoreError` for another file."""
    if path.exists():
        with Store.open(path) as there:
            if not there.imported:
                message = "the store of a run is here, and nothing is written over it"
                raise UsageError([Diagnostic("GC000", message, str(path))])
    scale = 1 if whole else FINE
    content = {RECORDED: {**about, "scale": scale}}
    stamp = digest(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        draft = Path(folder) / path.name
        with _RecordingWriter(draft) as writer, writer.all_or_nothing():
            writer.begin(stamp, text_of(content), benchmarks)
            names = {name: items.names for name, items in benchmarks.items()}
            for cell in cells:
                writer.write(stamp, cell, names[cell.benchmark], scale)
        os.replace(draft, path)
    return stamp


class _RecordingWriter(Writable):
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
            rows = zip(items.names, items.units, items.questions, strict=True)
            for item, unit, asked in rows:
                self._insert(
                    "INSERT INTO item VALUES (?, ?, ?, ?, ?, NULL, NULL)", [(stamp, name, item, unit, unit)]
                )
                digests = (None if part is None else part.hex() for part in asked)
                self._insert(
                    "INSERT INTO question VALUES (?, ?, ?, ?, ?, ?)", [(stamp, name, item, *digests)]
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
            samples, prompts, calls, traces = (list(part) for part in zip(*some, strict=True))
            self._insert(
                """INSERT INTO sample (cell, item, replicate, choice, score, evidence)
                   VALUES (?, ?, ?, ?, ?, ?)""",
                samples,
            )
            self._insert("INSERT OR IGNORE INTO prompt VALUES (?, ?)", prompts)
            self._insert(
                """INSERT INTO call (id, model, precision, kind, prompt, request, answer, answer_digest)
                   VALUES (?, ?, ?, ?, ?, '{}', ?, ?)""",
                calls,
            )
            self._insert(
                "INSERT INTO trace (cell, item, replicate, step, call) VALUES (?, ?, ?, 0, ?)", traces
            )


def _rows(
    number: Any, key: str, cell: ImportedCell, names: Sequence[str], scale: int
) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Of every answer its rows of `sample`, `prompt`, `call` and `trace`."""
    replicates: defaultdict[int, int] = defaultdict(int)
    for one in cell.samples:
        item, replicate = names[one.item], replicates[one.item]
        replicates[one.item] += 1
        asked = writable(one.prompt or "(The log does not have the prompt.)")
        content = canonical(Prompt((("as the log has it", asked),), chat_template=False).as_json())
        answer = canonical(_answer(one))
        call = sha256(f"{key}\n{item}\n{replicate}".encode()).hexdigest()
        held = one.score is not None and abs(one.score) < MOST
        score = round(one.score * scale) if held and one.score is not None else None
        choice = 0 if one.state == "read" else None
        yield (
            (number, item, replicate, choice, score, f'{{"state":"{one.state}"}}'),
            (sha256(content).hexdigest(), content.decode()),
            (call, cell.model, UNKNOWN, RECORDED, sha256(content).hexdigest(), answer.decode(),
             sha256(answer).hexdigest()),
            (number, item, replicate, call),
        )  # fmt: skip


def _answer(one: ImportedSample) -> dict[str, Any]:
    if one.state == "failed":
        return {"error": {"kind": "failed", "message": "as the log says"}}
    text = "(The log does not have the answer.)" if one.answer is None else writable(one.answer)
    ended: Mapping[str, Any] = {"cut": {"finish": "length"}, "refused": {"refused": True}}
    return {"text": text, **ended.get(one.state, {})}
