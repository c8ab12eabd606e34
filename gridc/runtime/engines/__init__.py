"""Engines: what answers calls. Each imports its heavy libraries only when it is opened.

One more is a module here, a function below that opens it and registers in `OPENERS`, and a row of
`schema.engines.ENGINES`.
"""

import gc
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gridc.compiler.frontend.plugins import Plugin, PluginError, find_plugin, with_content
from gridc.compiler.inputs.finish_reasons import FAILURE, FINISH, end_of_reason
from gridc.compiler.inputs.models import ModelIdentity, ships_with_gridc
from gridc.compiler.preflight.hazards import waived_for
from gridc.confined import importing
from gridc.diagnostics.errors import Diagnostic, GridcError, UnavailableError
from gridc.registry import Registry
from gridc.runtime.engines.protocol import Admit, Answer, AnsweredBatch, Batch, Call, Engine, PendingBatch
from gridc.schema.base import PLUGIN
from gridc.schema.effects import EXACT
from gridc.schema.models import ENGINES
from gridc.schema.spec import EngineSettings, Spec

if TYPE_CHECKING:
    from gridc.runtime.engines.hf.engine import HfEngine

Opener = Callable[[str, ModelIdentity, str, EngineSettings, frozenset[str]], Engine]
"""Opens a model: its name in the study, its identity, the precision, `[engine]`, and the codes of the hazards
that are waived for it. Nothing is loaded yet."""
OPENERS: Registry[Opener] = Registry()
"""By the `engine` of the language: every engine that is executed."""


def open_hf(
    name: str, identity: ModelIdentity, precision: str, settings: EngineSettings, waived: frozenset[str]
) -> "HfEngine":
    """A local model with torch and transformers. Raises `UnavailableError` (GC604) where they are missing."""
    # Threads that spin while they wait make a run many times slower as soon as anything else wants a
    # core. This must be set before torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    absent = [package for package in ENGINES["hf"].packages if find_spec(package) is None]
    if absent:
        message = f"`{name}` is a local model and {absent[0]} is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help=ENGINES["hf"].install)])
    ships = ships_with_gridc(dict(identity.files))
    try:
        with nullcontext() if ships else importing("gridc.runtime.engines.hf.tokenizer"), _many_objects():
            from gridc.runtime.engines.hf.engine import HfEngine
            from gridc.runtime.engines.hf.loading import folder_of
    except (ImportError, OSError, MemoryError) as error:  # they are here: most often for lack of memory
        message = f"`{name}` is a local model and torch or transformers cannot be loaded: {error}"
        help = "they need 2 GiB of address space at least: look at `ulimit -v`, or install them again"
        raise UnavailableError([Diagnostic("GC604", message, help=help)]) from None
    folder, files = folder_of(name, identity), dict(identity.files)
    return HfEngine(name, folder, precision, settings, waived, files, dict(identity.template_args))


OPENERS.add("hf")(open_hf)


@contextmanager
def _many_objects() -> Iterator[None]:
    """torch and transformers make some 700,000 objects that live as long as the process. Looking through
    them for garbage takes a third of the time that they need while they are made, and half a second for each
    model that is closed: they are put aside. Only once, because models that are loaded later are not to stay.
    """
    first, collecting = "torch" not in sys.modules, gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if first:
            gc.freeze()
        if collecting:
            gc.enable()


@OPENERS.add("api")
def open_api(
    name: str, identity: ModelIdentity, precision: str, settings: EngineSettings, waived: frozenset[str]
) -> Engine:
    """A model behind an address. Raises `UnavailableError` (GC604) where httpx is missing."""
    try:
        from gridc.runtime.engines.api.engine import ApiEngine
    except ImportError as error:
        message = f"`{name}` answers over a network and {error.name} is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help=ENGINES["api"].install)]) from None
    files = identity.served_files
    if files is None:
        return ApiEngine(name, identity, settings, waived)
    return ApiEngine(name, identity, settings, waived, lambda: open_hf(name, files, EXACT, settings, waived))


@OPENERS.add("vllm")
def open_vllm(
    name: str, identity: ModelIdentity, precision: str, settings: EngineSettings, waived: frozenset[str]
) -> Engine:
    """A model that a vLLM server runs, which is started when it is first asked. Raises `UnavailableError`
    where httpx or the libraries of local models are missing (GC604), and for a precision that vLLM has not
    (GC606)."""
    try:
        from gridc.runtime.engines.vllm.engine import VllmEngine
    except ImportError as error:
        message = f"`{name}` is asked over HTTP and {error.name} is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help=ENGINES["vllm"].install)]) from None
    files = replace(identity, server=None)
    local = partial(open_hf, name, files, EXACT, settings, waived)
    return VllmEngine(name, identity, precision, settings, waived, local)


@OPENERS.add("another_package")
def open_recorded(
    name: str, identity: ModelIdentity, precision: str, settings: EngineSettings, waived: frozenset[str]
) -> Engine:
    """Nothing opens what another package asked: always raises `UnavailableError` (GC613)."""
    message = f"another package asked `{name}`, and gridc asks nothing of it"
    raise UnavailableError([Diagnostic("GC613", message, help="name an engine that runs the model")])


def open_engine(name: str, identity: ModelIdentity, precision: str, spec: Spec) -> Engine:
    """The engine of a model. Raises `UnavailableError` where it is not installed (GC604), or is a plug-in
    that is missing or broken (GC341, GC342)."""
    engine = next(model.engine for model in spec.asked_models if model.id == name)
    return opener(engine)(name, identity, precision, spec.engine, waived_for(spec, name))


def proving(spec: Spec) -> Spec:
    """The spec, by which how its local models are computed is proved again."""
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"reuse_proofs": False})})


def opener(engine: str) -> Opener:
    """What opens the models of an engine. Raises `UnavailableError` (GC341, GC342) where it is a plug-in that
    is missing or broken."""
    if not engine.startswith(PLUGIN):
        return OPENERS[engine]
    try:
        plugin = find_plugin("engine", engine)
        opens: Opener = plugin.load()
    except PluginError as error:
        raise _unavailable(error) from None

    def guarded(
        name: str, identity: ModelIdentity, precision: str, settings: EngineSettings, waived: frozenset[str]
    ) -> Engine:
        with _coded(plugin):
            opened = opens(name, identity, precision, settings, waived)
        return _PluginEngine(opened, plugin, {"model": name, "precision": precision})

    return guarded


class _PluginEngine:
    """An engine of a plug-in: its own failures, and answers that are none, are told as its."""

    def __init__(self, engine: Engine, plugin: Plugin, about: Mapping[str, str]) -> None:
        self._engine, self._plugin, self._about = engine, plugin, about

    @property
    def replicable(self) -> bool:
        """Only where the plug-in says so: what asks a provider would be paid twice."""
        return bool(getattr(self._engine, "replicable", False))

    def installed(self) -> dict[str, Any]:
        """The plug-in as it is where this is asked: a worker may have other files of it."""
        try:
            return {"plugin": with_content(find_plugin("engine", self._plugin.name)).manifest}
        except PluginError as error:
            raise _unavailable(error) from None

    def effective(self) -> dict[str, Any]:
        with _coded(self._plugin):
            stated: dict[str, Any] = json.loads(json.dumps(self._engine.effective()))
            return {**self._about, **stated, **self.installed()}

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        candidates = {call.id: len(call.parameters.get("continuations", ())) for call in calls}
        with _coded(self._plugin):
            return [
                Batch(batch.calls, batch.cost, (batch, {call: candidates[call] for call in batch.calls}))
                for batch in self._engine.batches(calls)
            ]

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        given = {task.batch.calls: task for task in tasks}
        own = [PendingBatch(task.batch.work[0], task.unanswered) for task in tasks]
        with _coded(self._plugin):
            for done in self._engine.answers(own, lambda task: admit(given[task.batch.calls])):
                task = given[done.task.batch.calls]
                _, continuations = task.batch.work
                for answer in done.answers:
                    _require_answer(answer.content, continuations[answer.call])
                yield AnsweredBatch(task, list(map(_by_its_end, done.answers)), done.spending)

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> Mapping[str, float]:
        with _coded(self._plugin):
            return self._engine.least(answered)

    def rest(self) -> None:
        with _coded(self._plugin):
            self._engine.rest()

    def close(self) -> None:
        with _coded(self._plugin):
            self._engine.close()


def _require_answer(content: Mapping[str, Any], continuations: int) -> None:
    """Raise `TypeError` where an answer lacks what scoring reads of it: a text, or of a ranking a likelihood
    for each continuation."""
    if continuations:
        complete = all(len(content.get(key, ())) == continuations for key in ("loglikelihoods", "tokens"))
    else:
        complete = isinstance(content.get("text"), str)
    if not complete:
        raise TypeError("an answer lacks its text or its likelihoods")


def _by_its_end(answer: Answer) -> Answer:
    """An answer with the word that gridc has for how it ended, or the failure that it is."""
    reason = answer.content.get("finish")
    if not isinstance(reason, str):
        return answer
    end = end_of_reason(reason)
    if end in FINISH:
        return replace(answer, content={**answer.content, "finish": FINISH[end]})
    message = f"the answer ended by `{reason[:80]}`"
    return replace(answer, content={"error": {"kind": FAILURE[end], "http": None, "message": message}})


@contextmanager
def _coded(plugin: Plugin) -> Iterator[None]:
    try:
        yield
    except GridcError:
        raise
    except Exception as error:  # a plug-in can fail as any program can
        raise _unavailable(plugin.failed(error)) from None


def _unavailable(error: PluginError) -> UnavailableError:
    return UnavailableError([Diagnostic(error.code, error.problem, help=error.help)])
