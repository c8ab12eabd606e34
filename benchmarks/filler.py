"""Filling a store of millions of calls: what `synthetic.fill` writes in three passes over the plan, in one.

Requests, prompts, scoring and digests are the real ones, and `gridc verify` looks at all of them. Only for a
study whose samples are answered by their first calls, in a store of its own.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic import answer_content, level_of
from gridc.compiler.compile import Compiled
from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lowering.calls import PlannedSample, Prompt
from gridc.compiler.lowering.plan import Plan
from gridc.runtime.run import end_of
from gridc.runtime.store.events import RunStarted
from gridc.runtime.store.write import Writer
from gridc.schema.canonical import canonical, digest, digest_bytes

CACHE_KIB = 1024 * 1024
"""Memory for pages: rows are found by digests, which are at random all over the file."""


def fill_at_once(compiled: Compiled, path: Path) -> None:
    """Stamp the study and write a finished store for it at `path`, where there is none."""
    lock = compiled.lock or make_lock(compiled.study, compiled.lock_path.parent)
    write_lock(lock, compiled.lock_path)
    plan = Plan(compiled.study)
    stamp = plan.study_digest
    with Filler(path, plan) as store:
        store.ingest(plan, lock)
        store.record(RunStarted(stamp=stamp, gridc=lock.gridc, answered=0))
        store.record(end_of(plan, store))


class Filler(Writer):
    """A store whose samples are written with their answers and outcomes."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path)
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._cells = plan.cells()
        self._filling: tuple[Any, Cell, np.random.Generator, float] | None = None
        self._answers: dict[str, tuple[str, str]] = {}
        self._outcomes: dict[tuple[str, ...], tuple[int | None, int, str]] = {}

    def _ingest_samples(self, cell: Any, samples: Sequence[PlannedSample]) -> None:
        filling, random, level = self._cell(cell)
        prompts: dict[int, Prompt] = {}
        calls, rows, traces = [], [], []
        for sample in samples:
            contents = []
            for step, request in enumerate(sample.requests):
                prompts[id(request.prompt)] = request.prompt
                content = answer_content(filling, sample, random.random(2), level)
                answer, answer_digest = self._written(content)
                text = canonical(request.as_json())
                call, prompt = digest_bytes(text), request.prompt.id
                calls.append((call, request.model, request.precision, request.kind, prompt, text.decode(),
                              answer, answer_digest))  # fmt: skip
                traces.append((cell, sample.item.id, sample.replicate, step, call))
                contents.append(content)
            rows.append((cell, sample.item.id, sample.replicate, *self._outcome(filling, sample, contents)))
        self._insert(
            "INSERT OR IGNORE INTO prompt VALUES (?, ?)",
            [(prompt.id, canonical(prompt.as_json()).decode()) for prompt in prompts.values()],
        )
        self._insert(
            f"""INSERT INTO call (id, model, precision, kind, prompt, request, answer, answer_digest, sent,
                usage, seconds, finished) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{{"prompt_tokens":9}}',
                '{{"tokens":9}}', 0.0, '{self._now}')""",
            calls,
        )
        self._insert("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._insert("INSERT INTO trace (cell, item, replicate, step, call) VALUES (?, ?, ?, ?, ?)", traces)

    def _cell(self, number: Any) -> tuple[Cell, np.random.Generator, float]:
        """The cell with this number in the store, which comes in the order of the plan."""
        if self._filling is None or self._filling[0] != number:
            cell = next(self._cells)
            random = np.random.default_rng(int(digest(cell.key)[:12], 16))
            self._filling = number, cell, random, level_of(cell)
        return self._filling[1:]

    def _written(self, content: dict[str, Any]) -> tuple[str, str]:
        """The answer as it is stored, and its digest. Few differ."""
        key = repr(content)
        if key not in self._answers:
            text = canonical(content)
            self._answers[key] = text.decode(), digest_bytes(text)
        return self._answers[key]

    def _outcome(
        self, cell: Cell, sample: PlannedSample, contents: list[dict[str, Any]]
    ) -> tuple[int | None, int, str]:
        """What answers score to: the same in every cell of a benchmark that is scored alike."""
        key = (cell.benchmark, cell.setting.method, sample.item.id, repr(contents))
        if key not in self._outcomes:
            found = score_sample(cell.setting, sample.item, contents)
            self._outcomes[key] = found.choice, found.score, canonical(found.evidence).decode()
        return self._outcomes[key]
