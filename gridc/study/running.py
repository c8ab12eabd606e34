"""Executing a plan, joining the stores of its parts, and how far it is."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.frontend.read import CheckedSpec
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.resolve import require_files
from gridc.compiler.lock.deviations import require_current, require_reconciled
from gridc.compiler.lock.lock import stamp_of
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight import consent
from gridc.compiler.preflight.consent import Ask, Consentable, Consents
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.compiler.preflight.providers import require_taken
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.runtime import adaptive_race
from gridc.runtime import merge as merging
from gridc.runtime import run as executing
from gridc.runtime.adaptive import ChosenSamples
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.protocol import Engine
from gridc.runtime.run import RunResult, RunStep, Watch
from gridc.runtime.stages import Open, Shard
from gridc.runtime.store.events import Witnessed
from gridc.runtime.store.opening import has_tables
from gridc.runtime.store.reader import AnswerWork, ModelPace, Progress
from gridc.runtime.store.store import Store
from gridc.schema.models import engine_kind
from gridc.schema.spec import Spec
from gridc.study.notebook import InNotebook
from gridc.study.place import Place, RayCluster, require_no_bundle
from gridc.study.stamping import make_stamp

__all__ = [
    "AnswerWork",
    "Consentable",
    "RaceReport",
    "RunReport",
    "RunStep",
    "StatusReport",
    "certify_until_decided",
    "merge",
    "run",
    "status",
]

ConsentOf = Callable[[Compiled], Consents]
"""How consent was given to what a compiled study sends and runs."""


def consenting(place: Place, allow: Collection[str], ask: Ask, notify: Callable[[str], None]) -> ConsentOf:
    """Tell `notify` what leaves, and which files' functions run here. For a first run all of it must have
    consent, and every key be there, before any item is read; for one that is resumed before anything is
    asked, unless every call has its answer.

    Raises `SpecError` (GC354), `UnavailableError` (GC631) and `UsageError` (GC643, GC644), now or later.
    """
    checked = place.checked()
    for line in consent.consent_sentences(checked.spec, checked.references.scorers.values()):
        notify(line)
    if has_tables(place.store(checked)):
        return lambda compiled: _resumed(place, compiled, allow, ask)
    given = _required(place, checked, allow, ask)
    return lambda compiled: given


def _resumed(place: Place, compiled: Compiled, allow: Collection[str], ask: Ask) -> Consents:
    digest = stamp_of(compiled.study)
    with Store.open(place.store(compiled)) as store:
        complete = digest in store.stamps() and store.progress(digest).complete
    if complete:
        scorers = compiled.checked.references.scorers.values()
        obtained = consent.obtain(scorers, place.spec.parent, allow, ask)  # its answers are scored again
        return {
            **consent.consents_given(consent.outgoing_data(compiled.spec), place.spec.parent, allow),
            **obtained,
        }
    return _required(place, compiled, allow, ask)


def _required(place: Place, study: CheckedSpec | Compiled, allow: Collection[str], ask: Ask) -> Consents:
    consent.require_known(study.spec, study.source)
    consent.require_keys(study.spec, study.source)
    references = study.references if isinstance(study, CheckedSpec) else study.checked.references
    wanted: tuple[Consentable, ...] = (*consent.outgoing_data(study.spec), *references.scorers.values())
    return consent.obtain(wanted, place.spec.parent, allow, ask)


@dataclass(frozen=True, slots=True)
class RunReport(InNotebook):
    """What a run or a merge came to, and in which store. `models` gives the study's names of its models, by
    digest."""

    finished: RunResult
    store: Path
    models: Mapping[str, str]

    @property
    def results(self) -> str:
        """The results digest."""
        return self.finished.results

    def as_json(self) -> dict[str, Any]:
        spent = [asdict(row) | _named(row.model, self.models) for row in self.finished.spent]
        return asdict(self.finished) | {"spent": spent, "store": str(self.store)}


@dataclass(frozen=True, slots=True)
class StatusReport(InNotebook):
    """How far a run is, model by model, and what it has taken so far. `follows` says that scaffolds or judges
    will ask more as answers come, `judged` that there are judges, who are asked when every response is there;
    `last` is when the last answer was stored (UTC). Before the first run (not `begun`) it has what the plan
    says: `progress.total` is 0 where the items are not here, and `stamped` whether there is a lock."""

    stamp: str
    progress: Progress
    pace: tuple[ModelPace, ...]
    spent: tuple[AnswerWork, ...]
    models: Mapping[str, str]
    last: datetime | None
    follows: bool
    judged: bool
    begun: bool = True
    stamped: bool = True

    @property
    def seconds_left(self) -> float | None:
        """The expected time for the calls that are known, one model after another; None where it is not
        known."""
        left = [pace.seconds_left for pace in self.pace]
        return None if None in left else sum(seconds or 0 for seconds in left)

    def as_json(self) -> dict[str, Any]:
        known = {
            "stamp": self.stamp,
            **asdict(self.progress),
            "complete": self.begun and self.progress.complete,
        }
        known |= {"begun": self.begun, "stamped": self.stamped}
        pace = [
            {**asdict(row), **_named(row.model, self.models), "left": row.left,
             "failed": dict(row.failed), "seconds_left": row.seconds_left}
            for row in self.pace
        ]  # fmt: skip
        return {
            **known,
            "last": None if self.last is None else self.last.isoformat(),
            "seconds_left": self.seconds_left,
            "more_calls_follow": self.follows,
            "models": pace,
            "spent": [asdict(spent) | _named(spent.model, self.models) for spent in self.spent],
        }


def _named(identity: str, names: Mapping[str, str]) -> dict[str, str]:
    """A model by its name in the study, and its digest beside it."""
    return {"model": names.get(identity, identity), "identity": identity}


ENVIRONMENTS = "environments"
"""What can be acknowledged: that answers come from different environments."""

LOST_BATCHES = "lost-batches"
"""What can be acknowledged: that calls of a batch which may have been paid, and cannot be found, are asked
again."""


def run(
    place: Place,
    shard: str | None,
    watch: Watch,
    notify: Callable[[str], None],
    ray: RayCluster | None,
    acknowledge: Collection[str],
    allow: Collection[str],
    ask: Ask,
    references: int | None,
    serve: Mapping[str, str],
    go_on: bool,
) -> RunReport:
    """Execute the plan, or a part of it like `2/3`, into the store, on this machine or a Ray cluster.
    `notify` is told what leaves, and that a study without a lock is stamped. `serve` has the command that
    starts the server of a model. `go_on`: also where most of the first answers cannot be read."""
    part = _shard(shard)
    terms = consenting(place, allow, ask, notify)
    watch(RunStep("", 0, 0, "reading the items"))
    compiled = place.compiled(online=True)
    consents = terms(compiled)
    compiled.study.scorers.allow(consents)
    require_files(compiled.study, compiled.source)
    require_taken(compiled.spec, compiled.source)
    watch(RunStep("", 0, 0, "trying the instrument"))
    prove_hazards(compiled.study, compiled.source)
    lock = compiled.lock
    if lock is None:
        lock, news = make_stamp(compiled, supersede=False)
        notify(f"{news}: {lock.stamp[:12]}, not anchored to anything")
    departures = require_reconciled(lock, compiled.study, place.log)
    path = place.store(compiled)
    with (
        _serving(compiled.spec, serve, path.parent, notify),
        _opener(ray, compiled.spec.engine.threads, ENVIRONMENTS in acknowledge) as open_engine,
    ):
        finished = executing.run_study(
            compiled,
            lock,
            departures,
            path,
            watch,
            part,
            open_engine,
            LOST_BATCHES in acknowledge,
            consents,
            references,
            go_on,
        )
    return RunReport(finished, path, _names(compiled))


def _serving(
    spec: Spec, commands: Mapping[str, str], folder: Path, notify: Callable[[str], None]
) -> AbstractContextManager[None]:
    """The servers that run as long as the run."""
    if not commands:
        return nullcontext()
    from gridc.runtime.engines.api.serving import servers

    return servers(spec, commands, folder, notify)


@contextmanager
def _opener(ray: RayCluster | None, threads: int | None, acknowledged: bool) -> Iterator[Open]:
    """What opens engines: here, or on a Ray cluster. What was opened here is closed, however the run ends."""
    if ray is None:
        with ExitStack() as opened:

            def opens(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
                engine = open_engine(name, identity, precision, spec)
                opened.callback(engine.close)
                return engine

            yield opens
        return
    from gridc.runtime.engines.ray import cluster

    with cluster(ray.address, ray.workers, threads, acknowledged) as joined:
        yield joined.open


def merge(
    place: Place, others: Iterable[Path], acknowledge: Collection[str], notify: Callable[[str], None]
) -> RunReport:
    """Take the answers of other stores of the study into its store."""
    compiled, lock, _ = place.reconciled()
    path = place.store(compiled)
    acknowledged = ENVIRONMENTS in acknowledge
    finished = merging.merge_stores(Plan(compiled.study), lock, path, list(others), acknowledged, notify)
    return RunReport(finished, path, _names(compiled))


def status(place: Place) -> StatusReport:
    """How far the run of the study is."""
    require_no_bundle(place.spec.parent)
    compiled = place.compiled()
    digest = stamp_of(compiled.study)
    if not has_tables(place.store(compiled)):
        return _before_the_run(compiled, digest, place)
    with Store.open(place.store(compiled)) as store:
        if compiled.lock is not None and digest not in store.stamps():
            require_current(compiled.lock, compiled.study, place.log)  # says how it departs, if it does
        store.require(digest)
        progress, providers = (
            store.progress(digest),
            {model.id for model in compiled.spec.asked_models if engine_kind(model.engine).provider},
        )
        names = _names(compiled)
        remote = [identity for identity, name in names.items() if name in providers]
        return StatusReport(
            digest,
            progress,
            tuple(store.pace(digest, remote)),
            tuple(store.spent(digest)),
            names,
            store.last_answer(digest),
            not progress.complete and progress.answered == progress.total,
            bool(compiled.spec.declared_judges),
        )


def _before_the_run(compiled: Compiled, digest: str, place: Place) -> StatusReport:
    """What a run would ask. Raises `StampError` where the lock is of another state of the spec."""
    if compiled.lock is not None:
        require_reconciled(compiled.lock, compiled.study, place.log)
    counts = None if compiled.study.absent else Plan(compiled.study).counts()
    calls, judged = 0 if counts is None else counts.unique, bool(compiled.spec.declared_judges)
    return StatusReport(
        digest, Progress(0, calls, 0), (), (), _names(compiled), None, False, judged,
        begun=False, stamped=compiled.lock is not None,
    )  # fmt: skip


def _names(compiled: Compiled) -> dict[str, str]:
    """What the study calls its models, by identity."""
    return {identity.digest: name for name, identity in compiled.study.asked_models.items()}


def _shard(text: str | None) -> Shard:
    """The part of a run that `2/3` names, or `slurm`: that of this task of a Slurm job array."""
    if text == "slurm":
        return _slurm_shard(os.environ)
    number, slash, of = (text or "1/1").partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        help_line = "--shard 1/3, 2/3 and 3/3 are the parts of a run in three"
        raise UsageError([Diagnostic("GC000", f"`{text}` is not a part of a run", help=help_line)])
    return Shard(int(number), int(of))


def _slurm_shard(environment: Mapping[str, str]) -> Shard:
    """Tasks of an array are counted from its least number, in equal steps. An array with gaps, or of a single
    late task, does not say which part a task is."""
    names = [f"SLURM_ARRAY_TASK_{end}" for end in ("ID", "COUNT", "MIN", "MAX", "STEP")]
    values = [environment.get(name, "") for name in names]
    if not all(value.isdecimal() for value in values):
        message = f"--shard slurm needs {', '.join(names)} in the environment"
        help_line = "`sbatch --array=1-8` sets them; elsewhere --shard K/N"
        raise UsageError([Diagnostic("GC000", message, help=help_line)])
    task, count, least, most, step = map(int, values)
    numbers = range(least, most + 1, max(step, 1))
    if task not in numbers or len(numbers) != count or (count == 1 and task > 1):
        message = f"task {task} of an array of {count} from {least} to {most} is not a part of a run"
        help_line = "submit the whole array again (what is answered is not asked again), or use --shard K/N"
        raise UsageError([Diagnostic("GC000", message, help=help_line)])
    return Shard(numbers.index(task) + 1, count)


WatchRace = Callable[[str, int, int], None]
"""Told the benchmark, how many of its items (or item families) were asked, and how many there are."""


@dataclass(frozen=True, slots=True)
class RaceReport(InNotebook):
    """What the race came to: `document` is what was written to witness.json and recorded in the store,
    `sentences` has a verdict for each pair on each benchmark."""

    document: Mapping[str, Any]
    sentences: tuple[str, ...]
    store: Path
    asked: int
    calls_in_grid: int

    def as_json(self) -> dict[str, Any]:
        return dict(self.document)


def certify_until_decided(
    place: Place, watch: WatchRace, notify: Callable[[str], None], allow: Collection[str], ask: Ask
) -> RaceReport:
    """Ask only what certifies reversals, and stop. `notify` is told what leaves, and what is waited for."""
    terms = consenting(place, allow, ask, notify)
    compiled, lock = place.stamped(online=True)
    consents = terms(compiled)
    compiled.study.scorers.allow(consents)

    def say(model: str, sentence: str) -> None:
        notify(f"{model}: {sentence}")

    if compiled.spec.aggregated:
        key = compiled.spec.makes_one
        message = f"a race reads the first answer to each item, and `{key}` makes one score of several"
        help = "leave `--until-decided` out: a run of the whole study can certify the same"
        raise UsageError([Diagnostic("GC000", message, help=help)])
    departures = require_reconciled(lock, compiled.study, place.log)
    path = place.store(compiled)
    with ChosenSamples(compiled, lock, departures, path, consents, say) as samples:
        races = adaptive_race.race_study(samples.plan, samples.ask, watch)
        document = adaptive_race.document(samples.plan, races)
        document["calls"] = {
            "executed": samples.executed,
            "reused": samples.reused,
            "full_grid": samples.calls_in_grid,
        }
        samples.record(Witnessed(**document))
    from gridc.reports.files import write_json  # the whole report, which a run does not write

    write_json(path.parent / "witness.json", document)
    sentences = tuple(adaptive_race.race_sentence(verdict) for race in races for verdict in race.verdicts)
    return RaceReport(document, sentences, path, samples.executed + samples.reused, samples.calls_in_grid)
