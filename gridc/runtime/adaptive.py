"""Execute chosen samples of a plan, a few at a time, into the same store that a whole run fills."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gridc.compiler.compile import Compiled
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.resolve import require_files
from gridc.compiler.inputs.scorers import scorer_errors_coded
from gridc.compiler.lock.deviations import Reconciliation
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.judging import is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.consent import NONE_GIVEN, Consents
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.protocol import Call, Engine, PendingBatch, answered
from gridc.runtime.run import Meter, connecting, note_deviations, stop_at_cap
from gridc.runtime.stages import Say, call_of, later_waves
from gridc.runtime.store.events import Body, ModelLoaded
from gridc.runtime.store.write import Writer

ItemsByCell = Iterable[tuple[Cell, frozenset[str]]]
"""Cells, each with the ids of the items that are asked under it."""


def _ignore(model: str, sentence: str) -> None:
    """Nobody listens."""


def _require_rules(plan: Plan) -> None:
    """Raise `UnavailableError` (GC617) where judges label responses: they see none before all are there."""
    judged = next((cell.key for cell in plan.cells() if is_judged(cell)), None)
    if judged is not None:
        help = "`gridc run` asks everything; [[exclude]] what is judged to race over the rest"
        raise UnavailableError([Diagnostic("GC617", f"{judged} is scored by a judge", help=help)])


class ChosenSamples:
    """Answers replicate 0 of chosen items under chosen cells. Use as a context manager; engines stay open
    between blocks. A call whose answer is in the store is not executed again."""

    def __init__(
        self,
        compiled: Compiled,
        lock: Lock,
        departures: Reconciliation,
        path: Path,
        consents: Consents = NONE_GIVEN,
        say: Say = _ignore,
    ) -> None:
        require_files(compiled.study, compiled.source)
        self.plan = Plan(compiled.study)
        _require_rules(self.plan)
        self.executed = self.reused = 0
        self._store = Writer(path)
        self._store.ingest(self.plan, lock)
        note_deviations(self._store, self.plan.study_digest, departures)
        self.calls_in_grid = self._store.progress(self.plan.study_digest).total
        self._store.note_lost()
        self._meter = Meter(self.plan.study.spec.budget, self._store.paid_usd())
        spec = self.plan.study.spec
        self._open = connecting(open_engine, lock, self._store, self._meter, spec, consents, say)
        self._names = {identity.digest: name for name, identity in self.plan.study.models.items()}
        self._engines: dict[tuple[str, str], Engine] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for engine in self._engines.values():
            engine.close()
        self._store.__exit__(kind, error, trace)

    def record(self, body: Body) -> None:
        """Append an event to the store's chain."""
        self._store.record(body)

    def ask(self, wanted: ItemsByCell) -> dict[tuple[str, str], int]:
        """The score of replicate 0 of each item, by cell key and item id. Durable when this returns."""
        samples = list(self._samples(wanted))
        stamp = self.plan.study_digest
        self._answer(call_of(request) for _, sample in samples for request in sample.requests)
        for wave in later_waves(
            self._store, stamp, [sample for sample in samples if sample[1].scaffolded is not None]
        ):
            self._answer(wave.values())
        with scorer_errors_coded():
            return {
                (cell.key, sample.item.id): self.plan.score(cell, sample.item, self._answers(sample)).score
                for cell, sample in samples
            }

    def _answers(self, sample: PlannedSample) -> list[Mapping[str, Any]]:
        """The answers of a sample's calls, in order."""
        answers = (
            self._store.answer_to(request.id) for _, request in sample.trace(self._store.answer_to).rows
        )
        return [answer for answer in answers if answer is not None]

    def _answer(self, calls: Iterable[Call]) -> None:
        """Execute those of the calls that have no answer, each model's together."""
        by_model: dict[tuple[str, str], dict[str, Call]] = {}
        for call in calls:
            key = self._names[call.parameters["model"]], call.parameters["precision"]
            by_model.setdefault(key, {})[call.id] = call
        for (model, precision), mine in by_model.items():
            held = self._store.answers_of(mine)
            self.reused += len(held)
            missing = [call for name, call in sorted(mine.items()) if name not in held]
            if missing:
                self._execute(model, precision, missing)

    def _samples(self, wanted: ItemsByCell) -> Iterator[tuple[Cell, PlannedSample]]:
        for cell, items in wanted:
            for sample in self.plan.samples(cell):
                if sample.replicate == 0 and sample.item.id in items:
                    yield cell, sample

    def _execute(self, model: str, precision: str, missing: Sequence[Call]) -> None:
        identity = self.plan.study.models[model]
        key = model, precision
        if key not in self._engines:
            self._engines[key] = self._open(model, identity, precision, self.plan.study.spec)
            ran = self._engines[key].effective()
            self.record(ModelLoaded(stamp=self.plan.study_digest, identity=identity.digest, **ran))
        engine = self._engines[key]
        tasks = [PendingBatch(batch, frozenset(batch.calls)) for batch in engine.batches(missing)]
        for done in answered(engine, tasks):
            self._store.answer(done.answers, done.spending)
            self.executed += len(done.answers)
        self._store.flush()
        stop_at_cap(self._meter, self._store, self.plan.study_digest)
