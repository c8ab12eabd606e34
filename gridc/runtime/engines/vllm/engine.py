"""The engine of one model that a vLLM server runs, which lives as long as the model is asked.

It is the engine of served weights (`api`) at an address that is made up here. What the server is told follows
from the study and `[engine]`; it runs the very files that were hashed.
"""

import asyncio
import json
import math
import shutil
import socket
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gridc.compiler.inputs.models import ModelIdentity, hash_files
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.api.client import make_client, response_body
from gridc.runtime.engines.api.engine import ApiEngine
from gridc.runtime.engines.api.routes import DirectRoute, Provider
from gridc.runtime.engines.api.scoring import PostJson, ranking_members
from gridc.runtime.engines.api.serving import StartedServer, started
from gridc.runtime.engines.api.session import Pace
from gridc.runtime.engines.api.wire import RequestError
from gridc.runtime.engines.hf.memory import USUAL_KV_MIB
from gridc.runtime.engines.protocol import Admit, AnsweredBatch, Call, PendingBatch
from gridc.runtime.engines.vllm.environment import has_gpu, program
from gridc.runtime.engines.vllm.grouping import IN_QUEUE, GroupingRoute
from gridc.schema.spec import EngineSettings

if TYPE_CHECKING:
    from gridc.runtime.engines.hf.engine import HfEngine

DTYPES: Mapping[str, str] = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
"""By the precision of the language: what vLLM calls it."""

ON_CPU = ("--enforce-eager", "--max-num-batched-tokens", "65536")
"""Compiling takes longer than it saves there. vLLM's generator of random numbers for CPUs cannot continue a
prompt that is read in chunks ("CPU Generator does not use offset"): one that is never divided needs not."""

QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
"""Nothing leaves: vLLM reports its use unless it is told not to."""


ENOUGH = 0.5
"""The share of this machine's memory beside which a server that is not asked may stay."""


class VllmEngine(ApiEngine):
    """Answers the calls of one model at one precision by a server of its own."""

    direct = GroupingRoute

    def __init__(
        self,
        name: str,
        identity: ModelIdentity,
        precision: str,
        settings: EngineSettings,
        waived: frozenset[str],
        local: "Callable[[], HfEngine]",
    ) -> None:
        """`local` opens the model on this machine, for its tokens. Raises `UnavailableError` (GC606) for a
        precision that vLLM has not."""
        patient = settings.model_copy(update={"timeout_s": IN_QUEUE * settings.timeout_s})
        super().__init__(name, identity, patient, waived, local)
        self._precision = precision
        most = IN_QUEUE * settings.concurrency
        self.pace = Pace(most, most)
        self._running_server = ExitStack()
        self._started: StartedServer | None = None
        if precision not in (*DTYPES, "as_shipped"):
            message = f"`{name}` at {precision}: vLLM has no weights in {precision} but those of a checkpoint"
            help = f"one of {', '.join(DTYPES)}; or a checkpoint that is quantised, at as_shipped"
            raise UnavailableError([Diagnostic("GC606", message, help=help)])

    def effective(self) -> dict[str, Any]:
        """What is really asked, and by what server it is answered. Starts that."""
        facts = super().effective()
        assert self._started is not None
        about = server_statement(f"{self._started.url.removesuffix('/v1')}/version")
        facts["versions"]["vllm"] = str(about.get("version", "not stated"))
        self._require_room(self._calls)
        facts |= {"precision": self._precision, "dtype": self._dtype(), "endpoint": "a server of this run"}
        for of_an_address in ("address", "leaves", "consent"):
            del facts[of_an_address]
        return facts

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        """As those of a model behind an address. Raises `UnavailableError` where the server ends (GC649), or
        has no memory for a call (GC608)."""
        with self._told():
            self._open()
            self._require_room([task.batch.work for task in tasks if task.unanswered])
            for done in super().answers(tasks, admit):
                yield done
                self._require_running()

    def rest(self) -> None:
        """End the server where another model may want its memory: where less than half of that is free, or on
        a GPU, of which a vLLM starts only with nearly all."""
        import torch

        from gridc.runtime.engines.hf.loading import free_share

        if has_gpu() or free_share(torch.device("cpu")) < ENOUGH:
            self.close()

    def close(self) -> None:
        """Close every connection, and end the server."""
        super().close()
        self._started = None
        self._running_server.close()

    def _open(self) -> DirectRoute | Provider:
        if self._started is None:
            url = f"http://127.0.0.1:{_free_port()}/v1"
            folder = self._terms.folder
            command = self._command(url)
            if folder is None:
                folder = Path(tempfile.mkdtemp(prefix="gridc-"))  # stays where the server does not start
            log = folder / f"server-{self._name}-{self._precision}.log"  # both precisions may run at once
            server = started(self._name, command, url, log, _nobody, variables=self._variables())
            self._started = self._running_server.enter_context(server)
            if self._terms.folder is None:
                self._running_server.callback(shutil.rmtree, folder, ignore_errors=True)
            self._identity = replace(self._identity, base_url=url)
        return super()._open()

    def _require_room(self, calls: Sequence[Call]) -> None:
        """Raise `UnavailableError` (GC608) where a call needs more keys and values than the server has memory
        for, although the model has room for it. vLLM then shortens the context (`--max-model-len auto`)."""
        assert self._started is not None and self._prompts is not None
        model = (server_statement(f"{self._started.url}/models").get("data") or [{}])[0]
        room = model.get("max_model_len")
        if not isinstance(room, int) or room >= self._prompts.room:
            return
        for call in calls:
            members = () if call.may_fail else ranking_members(self._prompts, call)
            needed = max((len(one.prompt) + one.limit + call.ranks for one in members), default=0)
            if needed > room:
                mib = _kv_mib(self._settings)
                held = "what the GPU has left holds" if mib is None else f"{mib} MiB hold"
                message = f"one call of `{self._name}` has {needed} tokens, and {held} {room}"
                help = "ask for fewer `max_tokens`, or shorter prompts"
                if mib is not None:
                    help = f"[engine] kv_mib = {math.ceil(mib * needed / room)}"
                raise UnavailableError([Diagnostic("GC608", message, help=help)])

    def _through(self, route: DirectRoute, work: Callable[[PostJson], Awaitable[Any]]) -> Any:
        with self._told():
            return super()._through(route, work)

    def _command(self, url: str) -> list[str]:
        """What starts the server of this model at an address. Raises `UnavailableError` where vLLM is not
        installed (GC604), would run another model than the local engine (GC606), or files are not those that
        were hashed (GC642)."""
        from gridc.runtime.engines.hf.loading import folder_of

        begin = program()
        folder = folder_of(self._name, self._identity)
        if self._identity.files and hash_files(folder) != self._identity.files:
            message = f"`{self._name}`: its files are not those that were hashed when the study was compiled"
            raise UnavailableError([Diagnostic("GC642", message, str(folder))])
        try:
            unlike = next(unlike_transformers(folder), None)
        except (OSError, ValueError) as error:
            unlike = str(error), None
        if unlike is not None:
            problem, help = unlike
            raise UnavailableError(
                [Diagnostic("GC606", f"`{self._name}`: {problem}", str(folder), help=help)]
            )
        return [*begin, *arguments(self._identity.source, folder, self._dtype(), url, self._settings)]

    def _dtype(self) -> str:
        """The number format that vLLM is told. Raises `UnavailableError` (GC606) where the checkpoint is
        quantised and another precision is wanted."""
        from gridc.runtime.engines.hf.loading import folder_of

        config = json.loads((folder_of(self._name, self._identity) / "config.json").read_text("utf-8"))
        if self._precision == "as_shipped":
            return str(config.get("dtype") or config.get("torch_dtype") or "auto")
        if config.get("quantization_config"):
            message = (
                f"`{self._name}` at {self._precision}: its config.json says that the weights are quantised"
            )
            help = 'precision = "as_shipped" takes them so; or name the unquantised model'
            raise UnavailableError([Diagnostic("GC606", message, help=help)])
        return DTYPES[self._precision]

    def _variables(self) -> dict[str, str]:
        threads = self._settings.threads
        bound = {"OMP_NUM_THREADS": str(threads), "VLLM_CPU_OMP_THREADS_BIND": "nobind"} if threads else {}
        return QUIET | bound

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Where the server has ended, that is what went wrong."""
        try:
            yield
        except UnavailableError:
            if self._started is not None:
                self._started.await_end()
            self._require_running()
            raise

    def _require_running(self) -> None:
        if self._started is not None:
            self._started.require_running("while it was asked; `gridc run` resumes")


def arguments(source: str, folder: Path, dtype: str, url: str, settings: EngineSettings) -> list[str]:
    """What vLLM is told: to serve the files of a folder at an address of this machine, under the name
    `source`. Which tokens end an answer it reads in generation_config.json, as the local engine does; of what
    else that says nothing counts, because every request states all of it."""
    kv_mib = _kv_mib(settings)
    told = {
        "host": "127.0.0.1",
        "port": urlsplit(url).port,
        "served-model-name": source,
        "dtype": dtype,
        "config-format": "hf",
        "load-format": "safetensors",
        "max-model-len": "auto",
        "max-num-seqs": settings.concurrency,
        "kv-cache-memory-bytes": None if kv_mib is None else kv_mib * 2**20,
        "tensor-parallel-size": settings.tensor_parallel,
        "data-parallel-size": settings.data_parallel,
    }
    stated = {name: value for name, value in told.items() if value is not None}
    words = [word for name, value in stated.items() for word in (f"--{name}", str(value))]
    on_cpu = () if has_gpu() else ON_CPU
    return ["serve", str(folder.absolute()), *words, "--enable-prefix-caching", *on_cpu]


def _kv_mib(settings: EngineSettings) -> int | None:
    """The bound on keys and values; None where nobody states it and vLLM finds one itself, on a GPU, of which
    it takes what is free."""
    return settings.kv_mib if settings.kv_mib is not None or has_gpu() else USUAL_KV_MIB


def unlike_transformers(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Why vLLM 0.32 would run another model than transformers from the same folder, each with the way out.
    Raises `ValueError` where the folder's index cannot be followed.

    See `maybe_override_with_speculators` and `get_config` in vllm/transformers_utils/config.py, and
    `_prepare_weights` in vllm/model_executor/model_loader/default_loader.py.
    """
    from gridc.runtime.engines.hf.tensor_files import INDEX, indexed_files, weight_files

    config = json.loads((folder / "config.json").read_text("utf-8"))
    if not isinstance(config, dict):
        raise ValueError("its config.json is not a table")
    if config.get("speculators_config") is not None:
        yield (
            "its config.json has `speculators_config`, for which vLLM loads the model that is named there",
            "name that model as `source`: this one only drafts for it",
        )
    if not config.get("quantization_config") and (folder / "hf_quant_config.json").exists():
        yield (
            "vLLM takes its weights as quantised, because hf_quant_config.json says so",
            "name the unquantised model, or state `quantization_config` in its config.json and take it "
            "`as_shipped`",
        )
    kind = str(config.get("model_type"))
    for name in map(str, config.get("architectures") or ()):
        if not _is_of(name, kind):
            yield (
                f"vLLM runs the class that `architectures` of its config.json names, {name}, and that is not "
                f"one of the model_type {kind}",
                'engine = "hf" runs the class of its model_type',
            )
    ours = set(weight_files(folder))
    if (folder / INDEX).exists():
        theirs = set(indexed_files(folder))
    else:
        theirs = {path.name for path in folder.glob("*.safetensors")}
    if ours != theirs:
        yield (
            f"vLLM loads {', '.join(sorted(theirs))}, and transformers {', '.join(sorted(ours))}",
            "leave in its folder the weights files of one of them",
        )


def _is_of(name: str, kind: str) -> bool:
    """Whether a class is of a model_type: the one that transformers has under the name, or where it has none
    (internlm3 is a Llama there), one whose name says so."""
    import transformers

    known = None
    with suppress(ImportError, RuntimeError):  # of a class for which a package is missing
        known = getattr(transformers, name, None)
    if known is not None:
        return getattr(getattr(known, "config_class", None), "model_type", None) == kind
    plain = kind.replace("_", "").replace("-", "").lower()
    return name.lower() in (f"{plain}forcausallm", f"{plain}forconditionalgeneration")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def server_statement(url: str) -> dict[str, Any]:
    """What a server says of itself at an address, in JSON; nothing where it says nothing."""

    async def ask() -> dict[str, Any]:
        async with make_client(url) as client:
            try:
                said = json.loads(await response_body(client, client.build_request("GET", url, timeout=5.0)))
            except (RequestError, ValueError):
                return {}
            return said if isinstance(said, dict) else {}

    return asyncio.run(ask())


def _nobody(sentence: str) -> None:
    """Nobody listens: the run says itself what it waits for."""
