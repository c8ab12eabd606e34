"""Runs an engine on a Ray cluster: one copy in an actor for each replica and device. Only this process writes
the store.

Neighbouring tasks share prefixes, so each actor takes a contiguous stretch of them, two at a time; an idle
one takes from the tail of the longest stretch. Ray starts a killed actor again and repeats its task, so a
call may be executed twice, and its answer arrives once. That is why no engine that asks a provider is copied.
"""

import math
import os
import secrets
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from gridc import __version__
from gridc.compiler.inputs.models import ModelIdentity
from gridc.diagnostics.errors import Diagnostic, GridcError, UnavailableError, diagnostics
from gridc.launch import ACCELERATORS, PIPE, passed, python_path, start, surroundings
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.protocol import (
    Admit,
    Answer,
    Answered,
    AnsweredBatch,
    Batch,
    Call,
    Engine,
    PendingBatch,
    Spending,
    answered,
    differing_environments,
    environments_refusal,
    environments_words,
    repetitions,
)
from gridc.schema.spec import EngineSettings, Spec

DEATHS = 3
"""So often may an actor die on one task before the run is given up."""

IN_FLIGHT = 2
"""Tasks that an actor has: one that it does, and the next, so that it never waits for this process."""

START_SECONDS = 120.0
"""How long workers may take to start, before they load a model."""

CONNECT_SECONDS = 5.0

CHECK_SECONDS = 1.0
"""How often a wait for workers looks whether the cluster is still there."""

CONTROL_SECONDS = 30.0
"""How long the control service of a cluster may be away: some clusters restart it. After 60 s without it Ray
ends the process that waits for it."""

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "5",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Nothing is reported to anyone; a cluster that does not let us in is given up within seconds."""

_NEEDS = (*ACCELERATORS, "GRIDC_*", "RAY_*", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
"""Variables that Ray and its workers find."""


class Cluster:
    """Where replicas run: `workers` actors, one to a GPU where there are GPUs, started when they are first
    needed. `acknowledged` says that they may run in environments that differ."""

    def __init__(
        self,
        workers: int,
        cpus: float,
        gpus: float,
        acknowledged: bool,
        listeners: Sequence["_Listener"] = (),
    ) -> None:
        self.workers, self.acknowledged = workers, acknowledged
        self.listeners = listeners
        self._cpus, self._gpus = cpus, gpus
        self._actors: list[Any] = []
        self._ledger: Any = None

    def open(self, name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
        """The engine of a model: replicas of it, or itself where it must not be copied."""
        if identity.folder is not None:  # workers are in another folder
            identity = replace(identity, folder=identity.folder.absolute())
        engine = open_engine(name, identity, precision, spec)
        if not engine.replicable:
            return engine
        needs = self._needs(spec.engine)
        return Replicas(name, f"{identity.digest} {precision}", engine, self, needs)

    def actors(self, needs: Mapping[str, float]) -> list[Any]:
        """The workers, which need so much each. Raises `UnavailableError` (GC650) where there is no room."""
        if self._actors:
            return self._actors
        import ray

        for_ever = {"max_restarts": -1, "max_task_retries": -1}  # by default a killed actor's tasks are lost
        name = f"ledger-{secrets.token_hex(8)}"
        ledger = ray.remote(num_cpus=0, name=name, **for_ever)(_Ledger)
        self._ledger = ledger.remote()  # lives as long as it is held
        worker = ray.remote(**for_ever, **{"num_cpus": 0, **needs})(_Worker)
        self._actors = [worker.remote(name) for _ in range(self.workers)]
        here = [actor.here.remote() for actor in self._actors]
        started = self.wait(here, len(here), START_SECONDS)
        if len(started) < len(here):
            message = f"{len(started)} of {len(here)} workers started within {START_SECONDS:g} s"
            help_line = "the cluster is busy, or has no machine with what one worker needs: fewer --workers"
            raise UnavailableError([Diagnostic("GC650", message, help=help_line)])
        return self._actors

    def wait(self, refs: list[Any], count: int = 1, seconds: float = math.inf) -> list[Any]:
        """The first `count` of `refs` to be there, fewer where the time is over. Raises `UnavailableError`
        (GC651) where the cluster is gone: Ray would end this process, with no message of gridc."""
        import ray

        late = time.monotonic() + seconds
        while True:
            left = max(0.0, late - time.monotonic())
            done: list[Any]
            done, _ = ray.wait(refs, num_returns=count, timeout=min(CHECK_SECONDS, left))
            if len(done) == count or left == 0:
                return done
            for listener in self.listeners:
                listener.require()

    def _needs(self, settings: EngineSettings) -> dict[str, float]:
        """What a worker takes of the cluster. Ray tells OpenMP to use as many threads as it has CPUs."""
        share = max(1, int(self._cpus) // self.workers)
        gpu = self._gpus > 0 and settings.device != "cpu"
        resource, needed, there = (
            ("num_gpus", 1, self._gpus) if gpu else ("num_cpus", settings.threads or share, self._cpus)
        )
        if needed * self.workers > there:
            wanted = f"{needed * self.workers:g} {resource.removeprefix('num_')}"
            message = f"{self.workers} workers need {wanted}, and the cluster has {there:g}"
            help_line = "fewer --workers, or fewer [engine] threads"
            raise UnavailableError([Diagnostic("GC650", message, help=help_line)])
        return {resource: float(needed)}


@contextmanager
def cluster(
    address: str | None, workers: int | None, threads: int | None, acknowledged: bool
) -> Iterator[Cluster]:
    """Join the cluster at `HOST:PORT`, or start one of this machine, which ends with the context.

    `workers` defaults to one for each GPU, or else for each node. Raises `UnavailableError`: GC604 where Ray
    is not installed, GC650 where the cluster cannot be used.
    """
    local = address is None
    _configure(local)
    try:
        import ray
    except ImportError:
        help_line = "pip install 'gridc[ray]'"
        raise UnavailableError([Diagnostic("GC604", "ray is not installed", help=help_line)]) from None
    if address is not None:
        _require_listening(address)
    joined: dict[str, Any] = {"address": address}
    if local:
        cpus = max(os.cpu_count() or 1, (workers or 1) * (threads or 1))
        joined = {"address": "local", "num_cpus": cpus, "include_dashboard": False}
    try:
        # Ray hands this process's folder, path and variables to its workers.
        with surroundings((*_NEEDS, *passed()), {"PYTHONPATH": os.pathsep.join(python_path())}):
            ray.init(**joined, logging_level="ERROR", log_to_driver=False)
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
        ray.shutdown()
        raise _unusable(address, error) from None
    with _last_words(), redirect_stdout(sys.stderr):  # what Ray prints of workers that died is not a result
        try:
            held = ray.cluster_resources()
            nodes = sum(1 for node in ray.nodes() if node["Alive"])
            gpus = held.get("GPU", 0.0)
            count = workers or int(gpus) or nodes
            yield Cluster(count, held.get("CPU", 0.0), gpus, acknowledged, _listeners(local))
        finally:
            ray.shutdown()


@contextmanager
def _last_words() -> Iterator[None]:
    """Where a raylet leaves its cluster, Ray ends this process at once, and nothing here is unwound: a child
    that waits for its end then writes the message."""
    help_line = "run the same command to resume: what was answered is stored"
    ended = [Diagnostic("GC651", "Ray or a signal ended the process of this run", help=help_line)]
    program = "import sys; sys.stdin.read() or sys.stderr.write(sys.argv[1])"
    command = [sys.executable, "-I", "-c", program, diagnostics(ended) + "\n"]
    child = start(command, stdin=PIPE, stderr=None, apart=True)  # Ctrl-C is for this process
    try:
        yield
    finally:
        child.communicate(b"unwound")


@dataclass(frozen=True)
class _Listener:
    """A process that Ray cannot do without: what it is, where it listens (host, port), and for how many
    seconds it may be away."""

    what: str
    address: tuple[str, int]
    seconds: float

    def require(self) -> None:
        """Raises `UnavailableError` (GC651) where nothing listens there, or not again in time."""
        late = time.monotonic() + self.seconds
        while True:
            try:
                socket.create_connection(self.address, CONNECT_SECONDS).close()
                return
            except OSError:
                if time.monotonic() >= late:
                    break
            time.sleep(CHECK_SECONDS)
        message = f"{self.what} ended"
        help_line = "run the same command to resume: what was answered is stored"
        raise UnavailableError([Diagnostic("GC651", message, help=help_line)])


def _listeners(local: bool) -> list[_Listener]:
    """Those of the cluster that this process joined. Nobody restarts those of a `local` one."""
    import ray

    context = ray.get_runtime_context()
    (here,) = [node for node in ray.nodes() if node["NodeID"] == context.get_node_id()]
    raylet = here["NodeManagerAddress"], here["NodeManagerPort"]
    host, _, port = context.gcs_address.rpartition(":")
    control = host.strip("[]"), int(port)
    away = 0.0 if local else CONTROL_SECONDS
    return [
        _Listener("Ray's process on this machine (raylet)", raylet, 0.0),
        _Listener("the control service of the Ray cluster (gcs_server)", control, away),
    ]


class Replicas:
    """An engine that divides tasks among copies of itself, which workers know by `key`. Batches are formed
    here, as without copies."""

    replicable = False

    def __init__(
        self, name: str, key: str, engine: Engine, cluster: Cluster, needs: Mapping[str, float]
    ) -> None:
        self._name, self._key, self._engine = name, key, engine
        self._cluster, self._needs = cluster, needs
        self._copy: Any = None
        self._ran: dict[str, Any] | None = None
        installed: dict[str, Any] = getattr(engine, "installed", dict)()
        self._here = {"gridc": __version__, **installed}

    def effective(self) -> dict[str, Any]:
        """What the first replica says of itself, how many there are, and on what they differ, from each other
        or from the code here. Raises `UnavailableError` (GC652) where that is not acknowledged."""
        copy = self._shared()
        ran = [self._get(ref) for ref in [actor.effective.remote(self._key, copy) for actor in self._actors]]
        unlike = differing_environments([self._here, *ran])
        if unlike and not self._cluster.acknowledged:
            raise UnavailableError([environments_refusal(environments_words(self._name, unlike))])
        self._ran = None if unlike else {"model": self._name, **ran[0]}
        return {**ran[0], "workers": len(ran), **({"unlike": unlike} if unlike else {})}

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        return self._engine.batches(calls)

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        actors, copy = self._actors, self._shared()
        stretches = _stretches(tasks, len(actors))
        flying: dict[Any, tuple[int, PendingBatch]] = {}
        admitted = True

        def feed(number: int) -> None:
            nonlocal admitted
            longest = max(stretches, key=len)
            if not admitted or not longest:
                return
            task = stretches[number].popleft() if stretches[number] else longest.pop()
            admitted = admit(task)
            if admitted:
                ref = actors[number].answer.remote(self._key, copy, task, self._ran)
                flying[ref] = number, task

        for number in (*range(len(actors)),) * IN_FLIGHT:
            feed(number)
        while flying:
            (ref,) = self._cluster.wait(list(flying))
            number, task = flying.pop(ref)
            answers, spending = self._get(ref)
            feed(number)
            yield AnsweredBatch(task, answers, spending)

    def repetitions(self, some: Sequence[Answered], tokens: float) -> tuple[str, list[Batch]]:
        """As the engine that is copied would."""
        return repetitions(self._engine, some, tokens)

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> Mapping[str, float]:
        return self._engine.least(answered)

    def rest(self) -> None:
        for ref in [actor.rest.remote(self._key) for actor in self._actors]:
            self._get(ref)

    def close(self) -> None:
        for ref in [actor.close.remote(self._key) for actor in self._actors]:
            self._get(ref)
        self._copy = None
        self._engine.close()

    @property
    def _actors(self) -> list[Any]:
        return self._cluster.actors(self._needs)

    def _shared(self) -> list[Any]:
        """The engine where every worker can fetch it. In a list, Ray leaves it to the worker when it does."""
        if self._copy is None:
            import ray

            self._copy = ray.put(self._engine)
        return [self._copy]

    def _get(self, ref: Any) -> Any:
        """What an actor returned. Raises what it gave back as a failure, and `UnavailableError` (GC651) where
        it came to none."""
        import ray

        try:
            self._cluster.wait([ref])
            result = ray.get(ref)
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            message = f"a worker of `{self._name}` failed: {_first_line(cause)}"
            raise UnavailableError([Diagnostic("GC651", message)]) from None
        if isinstance(result, GridcError):
            raise result
        return result


class _Ledger:
    """Counts how often a piece of work was begun before it ended: one more than workers died on it."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def begin(self, what: str) -> int:
        self._begun[what] += 1
        return self._begun[what]

    def end(self, what: str) -> None:
        self._begun.pop(what, None)


class _Worker:
    """An actor with copies of engines. Failures are returned, so that they arrive as they are. An actor that
    was killed begins empty, and fetches a copy again. The ledger is looked up by name: where it is handed
    over, Ray says at every start that the actor may be lost with it."""

    def __init__(self, ledger: str) -> None:
        self._ledger_name = ledger
        self._engines: dict[str, Engine] = {}
        self._compared: set[str] = set()

    def here(self) -> None:
        """Returns when the actor has started."""

    def effective(self, key: str, copy: Sequence[Any]) -> dict[str, Any] | GridcError:
        worker = _ray().get_runtime_context().get_actor_id()
        try:
            with self._counted(f"{key} {worker}", "loading the model"):
                self._compared.add(key)
                return {"gridc": __version__, **self._engine(key, copy).effective()}
        except GridcError as error:
            return error

    def answer(
        self, key: str, copy: Sequence[Any], task: PendingBatch, ran: Mapping[str, Any] | None
    ) -> tuple[Sequence[Answer], Spending] | GridcError:
        """The answers to a task. A worker that was started again, perhaps on another machine, first compares
        its environment with that in which the others `ran`, where they are to be alike."""
        call = task.batch.calls[0]
        try:
            with self._counted(call, f"the batch of call {call[:12]}"):
                self._compare(key, self._engine(key, copy), ran)
                (done,) = answered(self._engine(key, copy), [task])
                return done.answers, done.spending
        except GridcError as error:
            return error

    def _compare(self, key: str, engine: Engine, ran: Mapping[str, Any] | None) -> None:
        """Once for each engine. Raises `UnavailableError` (GC652)."""
        if key in self._compared or ran is None:
            return
        unlike = differing_environments([ran, {"gridc": __version__, **engine.effective()}])
        if unlike:
            raise UnavailableError([environments_refusal(environments_words(ran["model"], unlike))])
        self._compared.add(key)

    def rest(self, key: str) -> None:
        if key in self._engines:
            self._engines[key].rest()

    def close(self, key: str) -> None:
        if key in self._engines:
            self._engines.pop(key).close()

    @cached_property
    def _ledger(self) -> Any:
        return _ray().get_actor(self._ledger_name)

    @contextmanager
    def _counted(self, work: str, what: str) -> Iterator[None]:
        """Raises `UnavailableError` (GC651) when `DEATHS` workers died on this work."""
        if _ray().get(self._ledger.begin.remote(work)) > DEATHS:
            raise UnavailableError([Diagnostic("GC651", f"{DEATHS} workers died on {what}")])
        yield
        self._ledger.end.remote(work)

    def _engine(self, key: str, copy: Sequence[Any]) -> Engine:
        if key not in self._engines:
            self._engines[key] = _ray().get(copy[0])
        return self._engines[key]


def _ray() -> Any:
    import ray

    return ray


def _stretches(tasks: Sequence[PendingBatch], workers: int) -> list[deque[PendingBatch]]:
    edges = [len(tasks) * part // workers for part in range(workers + 1)]
    return [deque(tasks[start:end]) for start, end in pairwise(edges)]


def _configure(local: bool) -> None:
    """Ray reads its settings from the environment. Without a token anyone who reaches a cluster runs code
    there: a cluster of our own gets a token that nobody else has, and none is joined without one."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if sys.modules.get("ray") is not None and "RAY_AUTH_MODE" not in os.environ:
        message = "ray was imported before it was told to use tokens"
        help_line = "set RAY_AUTH_MODE=token in the environment, or import ray later"
        raise UnavailableError([Diagnostic("GC650", message, help=help_line)])
    if os.environ.setdefault("RAY_AUTH_MODE", "token") != "token":
        message = (
            "RAY_AUTH_MODE turns the tokens of Ray off: whoever reaches the cluster could run code on it"
        )
        raise UnavailableError([Diagnostic("GC650", message, help="unset RAY_AUTH_MODE")])
    if local and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _require_listening(address: str) -> None:
    """Ray itself waits for minutes for a cluster that is not there."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        message = f"`{address}` is not the address of a Ray cluster"
        help_line = "HOST:PORT, as `ray start --head` prints it"
        raise UnavailableError([Diagnostic("GC650", message, help=help_line)])
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _unusable(address, error) from None


def _unusable(address: str | None, error: Exception) -> UnavailableError:
    if address is None:
        message = f"no Ray cluster could be started here: {_first_line(error)}"
        return UnavailableError([Diagnostic("GC650", message)])
    message = f"the Ray cluster at {address} cannot be used: {_first_line(error)}"
    help_line = "is it running, of the same version of Ray and Python, and RAY_AUTH_TOKEN its token?"
    return UnavailableError([Diagnostic("GC650", message, help=help_line)])


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
