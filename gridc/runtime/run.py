"""Plan -> Store: execute exactly the plan, one model after another, and score what came back.

Batches are a function of the plan, and a batch is stored whole. So a run that was killed and resumed
executes the very batches that were missing, and no finished call twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gridc import __version__
from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.unsupported import require_executable
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.resolve import require_items
from gridc.compiler.instrument.score import score
from gridc.compiler.lock.deviations import Reconciled
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import waived_for
from gridc.diagnostics.errors import BudgetError, Diagnostic
from gridc.runtime.budget import Meter
from gridc.runtime.engines import opener
from gridc.runtime.engines.protocol import Batch, Call, Engine, Task
from gridc.runtime.noise import measure
from gridc.runtime.store import events
from gridc.runtime.store.rows import Spent
from gridc.runtime.store.write import Writer
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class Step:
    """How far a run is: the most tokens of the batches that are done, and of all that were missing."""

    model: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run came to. `executed` counts the calls that this process answered, `reused` those whose
    answer was in the store; `results` is the digest of DESIGN 6.1."""

    stamp: str
    executed: int
    reused: int
    near_ties: int
    spent: tuple[Spent, ...]
    results: str


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of the batches of each model that this run executes: `number` of `of`, from 1."""

    number: int = 1
    of: int = 1

    def share(self, batches: list[Batch]) -> list[Batch]:
        """Neighbours stay together, because they share prefixes."""
        edges = [len(batches) * part // self.of for part in (self.number - 1, self.number)]
        return batches[slice(*edges)]


WHOLE = Shard()


@dataclass(slots=True)
class _Job:
    """One model at one precision: its calls, and the batches that miss an answer with the calls they
    miss."""

    name: str
    identity: str
    precision: str
    engine: Engine
    calls: dict[str, Call]
    tasks: list[Task]


def run(
    compiled: Compiled,
    lock: Lock,
    departures: Reconciled,
    path: Path,
    watch: Callable[[Step], None],
    shard: Shard = WHOLE,
) -> Finished:
    """Execute the plan of a stamped study, or a part of it, into the store at `path`.

    Raises `SpecError` when items are missing, `HazardError` before the first call when a prompt cannot
    be asked as it is, `StoreError` when the store cannot be used and `UnavailableError` when a model cannot.
    """
    require_executable(compiled.spec, compiled.source)
    require_items(compiled.study, compiled.source)
    plan = Plan(compiled.study)
    with Writer(path) as store:
        store.ingest(plan, lock)
        note_deviations(store, plan.study_digest, departures)
        reused = store.progress(plan.study_digest).answered
        jobs = list(_jobs(plan, store, shard))
        if any(job.tasks for job in jobs):
            store.record(events.RunStarted(stamp=plan.study_digest, gridc=__version__, answered=reused))
        _execute(jobs, store, plan, watch)
        return conclude(plan, store, reused)


def conclude(plan: Plan, store: Writer, reused: int) -> Finished:
    """Score what has been answered and record the digests. `reused` calls had their answer before."""
    score_answers(plan, store)
    results = store.results_digest(plan.study_digest)
    progress = store.progress(plan.study_digest)
    finish = events.RunFinished(
        stamp=plan.study_digest,
        results=results,
        answers=store.answers_digest(plan.study_digest),
        records=store.records_digest(plan.study_digest),
        answered=progress.answered,
        total=progress.total,
    )
    if store.conclusion(plan.study_digest) != finish:
        store.record(finish)
    new = progress.answered - reused
    spent = tuple(store.spent(plan.study_digest))
    return Finished(plan.study_digest, new, reused, store.near_ties(plan.study_digest), spent, results)


def _jobs(plan: Plan, store: Writer, shard: Shard) -> Iterator[_Job]:
    """The work that is left, model by model. Every prompt is tokenized before the first call, so that
    one that does not fit is found before anything is spent."""
    spec = plan.study.spec
    measured = {(noise.identity, noise.precision) for noise in store.noise()}
    for name, precision in dict.fromkeys((cell.model, cell.setting.precision) for cell in plan.cells()):
        identity = plan.study.models[name]
        works = list(store.works(plan.study_digest, identity.digest, precision))
        missing = frozenset(call.id for call, answered in works if not answered)
        unmeasured = spec.engine.noise_sample and (identity.digest, precision) not in measured
        if not missing and not unmeasured:
            continue
        engine = open_engine(name, identity, precision, spec)
        batches = shard.share(engine.batches([call for call, _ in works]))
        tasks = [Task(batch, missing.intersection(batch.calls)) for batch in batches]
        left = [task for task in tasks if task.wanted]
        if left or not missing:
            calls = {call.id: call for call, _ in works}
            yield _Job(name, identity.digest, precision, engine, calls, left)


def preflight(compiled: Compiled) -> None:
    """Tokenize every prompt of the local models that are here, load each model and prove how it is computed.

    Raises `HazardError` for a prompt that cannot be asked as it is, and `UnavailableError` where the engine
    or a model cannot be used.
    """
    plan = Plan(compiled.study)
    wanted: dict[tuple[str, str], dict[tuple[object, ...], Call]] = {}
    for cell in plan.cells():
        if plan.study.models[cell.model].folder is None or cell.benchmark in plan.study.absent:
            continue
        calls = wanted.setdefault((cell.model, cell.setting.precision), {})
        for sample in plan.samples(cell):
            for each in sample.requests if sample.replicate == 0 else ():
                # How an answer is drawn is no matter of tokens: one call stands for all on its prompt.
                asked = each.parameters
                texts = tuple(asked.get("continuations", ()))
                key = (each.prompt, texts, asked.get("seam"), asked.get("max_tokens"))
                calls.setdefault(key, Call(str(len(calls)), each.kind, each.prompt, asked))
    for (name, precision), calls in wanted.items():
        engine = open_engine(name, plan.study.models[name], precision, plan.study.spec)
        engine.batches(list(calls.values()))
        engine.effective()
        engine.close()


def note_deviations(store: Writer, stamp: str, departures: Reconciled) -> None:
    """Record how the study departs from its stamp, when that is not what was recorded last."""
    log = departures.manifest()
    noted = store.recorded(events.Deviated, stamp)
    if (noted[-1].log if noted else []) != log:
        store.record(events.Deviated(stamp=stamp, log=log))


def _execute(jobs: list[_Job], store: Writer, plan: Plan, watch: Callable[[Step], None]) -> None:
    meter = Meter(plan.study.spec.budget)
    total = sum(task.batch.cost for job in jobs for task in job.tasks)
    done = 0
    for job in jobs[:0:-1]:  # a model that would be refused is, before any call of another
        job.engine.effective()
        job.engine.close()
    for job in jobs:
        if job.tasks:
            watch(Step(job.name, done, total))
        stamp = plan.study_digest
        store.record(events.ModelLoaded(stamp=stamp, identity=job.identity, **job.engine.effective()))
        for answered in job.engine.answers(job.tasks, meter.admit):
            store.answer(answered.answers, answered.spending)
            done += answered.task.batch.cost
            watch(Step(job.name, done, total))
        if meter.reached is not None:
            _stop(store, stamp, meter.reached)
        answers = dict(store.answers_from(stamp, job.identity, job.precision))
        if len(answers) == len(job.calls):
            least = job.engine.least((call, answers[call.id]) for call in job.calls.values())
            about: dict[str, Any] = {"stamp": stamp, "identity": job.identity, "precision": job.precision}
            store.record(events.Worked(**about, least=dict(least)))
            if plan.study.spec.engine.noise_sample:
                store.record(
                    events.NoiseMeasured(**about, **measure(plan, store, job.engine, job.calls, answers))
                )
        job.engine.close()


def _stop(store: Writer, stamp: str, cap: str) -> NoReturn:
    """Record that a cap was reached, and raise `BudgetError`."""
    progress = store.progress(stamp)
    told = f"[budget] {cap} was reached after {progress.answered:,} of {progress.total:,} calls"
    store.record(events.Observed(stamp=stamp, what="budget", detail=told))
    help = "raise the cap, and run `gridc run` to resume"
    raise BudgetError([Diagnostic("GC611", told, help=help)])


def score_answers(plan: Plan, store: Writer) -> None:
    """Give every sample that has its answers an outcome. Scoring is pure: doing it again changes nothing."""
    for cell in plan.cells():
        items = {item.id: item for item in plan.items(cell)}
        store.score(
            cell.key,
            plan.study_digest,
            [
                (item, replicate, score(cell.setting, items[item], answers))
                for item, replicate, answers in store.answers(plan.study_digest, cell.key)
            ],
        )


def open_engine(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
    """The engine of a model. Raises `UnavailableError` where it is not installed (GC604), or is a plug-in
    that is missing or broken (GC341, GC342)."""
    engine = next(model.engine for model in spec.model if model.id == name)
    return opener(engine)(name, identity, precision, spec.engine, waived_for(spec, name))
