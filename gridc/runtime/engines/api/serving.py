"""Servers for the duration of a run: started here, and ended when the run ends, however it does.

A command is never the spec's: whoever wrote that would have a program of theirs executed. It is started in a
process group of its own, because servers start workers, which end with it.
"""

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gridc.compiler.inputs.addresses import is_local
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.files import require_unlinked
from gridc.launch import MODEL_PROGRAMS, PIPE, Child, TimeoutExpired, absolute_words, passed, start
from gridc.runtime.engines.api.client import make_client, response_body
from gridc.runtime.engines.api.wire import RequestError
from gridc.schema.spec import Spec

LOOK = 0.25
"""Seconds between two looks whether a server answers."""

PATIENCE = 3600.0
"""Seconds that a server has until it answers: large weights are read for many minutes."""

MOST_LOOK = 10.0
"""Seconds that one look may take, whatever comes back byte by byte."""

GRACE = 20.0
"""Seconds that a server has to end by itself."""

WATCHDOG = f"trap '' HUP INT TERM; read _; kill -s TERM -- -$0; sleep {GRACE:.0f}; kill -s KILL -- -$0"
"""Ends a process group once nobody holds the other end of its input, as where gridc is killed."""


@dataclass(frozen=True, slots=True)
class StartedServer:
    """The server of a model, at an address of this machine, with the file into which it prints."""

    name: str
    url: str
    log: Path
    process: Child

    def await_end(self) -> None:
        """Give it time to end where it does not answer any more: its port is closed before it has ended."""
        if not _answers(self.url):
            with suppress(TimeoutExpired):
                self.process.wait(GRACE)

    def require_running(self, when: str) -> None:
        """Raise `UnavailableError` (GC649) where it has ended."""
        status = self.process.poll()
        if status is not None:
            printed = _printed(self.log)
            killed = status == -signal.SIGKILL
            help = next((way for signs, way in _WAYS if signs.search(printed)), _MEMORY if killed else None)
            message = f"ended with {status} {when}: {_telling(printed)}"
            raise server_failure(self.name, message, help or f"{self.log} has all that it printed")


def server_failure(name: str, how: str, help: str | None = None) -> UnavailableError:
    """What is raised of a server that did not start, or ended."""
    return UnavailableError([Diagnostic("GC649", f"the server of `{name}` {how}", help=help)])


_MEMORY = (
    "it needs more memory than there is: lower `kv_mib` or `concurrency` in [engine], or use more machine"
)
_WAYS = (
    (re.compile(r"out of memory|OutOfMemory|bad_alloc|annot allocate memory|No available memory"), _MEMORY),
    (
        re.compile(r"CPU Generator does not use offset"),
        "vLLM's CPU build ends on a seeded call whose prompt it reads in chunks: start it with "
        "--max-num-batched-tokens 65536",
    ),
    (
        re.compile(r"Not enough allowed NUMA nodes"),
        "vLLM's CPU build puts each part on a NUMA node of its own, unless [engine] says how many `threads` "
        "it has",
    ),
    (
        re.compile(r"Unsupported CPU attention configuration: head_dim"),
        "vLLM's CPU build has no attention for heads of this size (`head_dim` in config.json): "
        'engine = "hf" runs the model',
    ),
    (
        re.compile(r"can't open file|No such file or directory(?!.*shared object)"),
        "if that is a path of its command: a server starts in an empty folder, so write the path in full, or "
        "begin it with ./",
    ),
)
"""What servers print before they end, and the way out."""


def _printed(log: Path) -> str:
    """The end of what a server printed."""
    return log.read_bytes()[-50_000:].decode("utf-8", "replace")


def _telling(printed: str) -> str:
    """The last lines of it, after the first that names an error: what failed later failed because of that."""
    lines = [_PREFIX.sub("", line).strip()[:300] for line in printed.split("\n")]
    lines = [line for line in lines if line and not _AFTER_ALL.search(line)]
    first = next(([line] for line in lines[:-2] if _NAMED.match(line)), [])
    return " | ".join([*first, *lines[-2:]]) or "it printed nothing"


_PREFIX = re.compile(r"^\(\w+ pid=\d+\) (\w+ \d\d-\d\d [\d:]+ \[[^]]+\])?")
"""What vLLM puts before a line: the process, the level, the time, the place."""
_NAMED = re.compile(r"([a-z_]\w*\.)*[A-Z]\w*(Error|Exception): ")
_AFTER_ALL = re.compile(r"\[shutdown\]|resource_tracker|warnings\.warn")
"""In what is printed while a server ends, whatever made it end."""


@contextmanager
def servers(
    spec: Spec, commands: Mapping[str, str], folder: Path, notify: Callable[[str], None]
) -> Iterator[None]:
    """Start the server of each model by its command, with what it prints in a file of `folder`, and wait
    until it answers. Each is ended afterwards. Raises `UsageError` where a model is not behind an address of
    this machine, and `UnavailableError` (GC649) where a server ends before it answers or does not answer
    within `PATIENCE`, or another is there.
    """
    models = {name: _served(spec, name) for name in commands}
    with ExitStack() as running:
        for name, command in commands.items():
            url, key = models[name]
            if _answers(url, loading=True):
                message = f"something answers at {url} before the server of `{name}` is started"
                help = "end it, or leave --serve out to ask it"
                raise UnavailableError([Diagnostic("GC649", message, help=help)])
            try:
                words = absolute_words(command)
            except ValueError as error:
                raise server_failure(name, f"cannot be started: {error}") from None
            log = folder / f"server-{name}.log"
            running.enter_context(started(name, words, url, log, notify, key))
        yield


def _served(spec: Spec, name: str) -> tuple[str, tuple[str, ...]]:
    """The address of a model's server, and the variable of the key that it is asked with, if any."""
    model = next((model for model in spec.asked_models if model.id == name), None)
    if model is None or model.base_url is None or not is_local(model.base_url):
        message = f"`{name}` names no model whose base_url is an address of this machine"
        help = "--serve MODEL=COMMAND, for such a model"
        if model is not None and model.engine == "vllm":
            help = "gridc starts the server of this model by itself; GRIDC_VLLM names the program"
        raise UsageError([Diagnostic("GC000", message, help=help)])
    return model.base_url, () if model.key_env is None else (model.key_env,)


@contextmanager
def started(
    name: str,
    command: Sequence[str],
    url: str,
    log: Path,
    notify: Callable[[str], None],
    needs: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Iterator[StartedServer]:
    """Start the server of a model and wait until it answers at `url`; afterwards end it, with all that it
    started. It prints into the file `log`, and `needs` variables beside those of every server (see
    `launch.start`). Raises `UnavailableError` (GC649) where it ends before it
    answers, or does not answer within `PATIENCE`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    require_unlinked(log)
    notify(f"{name}: starting its server, which prints into {log}")
    # Not the folder that other children share: what a server writes there, they would find.
    with TemporaryDirectory(prefix="gridc-", ignore_cleanup_errors=True) as own:
        with log.open("wb") as printed:
            try:
                process = start(
                    command, (*MODEL_PROGRAMS, *passed(), *needs), variables,
                    stdout=printed, stderr=printed, folder=Path(own), apart=True,
                )  # fmt: skip
            except (OSError, ValueError, IndexError) as error:
                raise server_failure(name, f"cannot be started: {error}") from None
        try:
            with _ended_with_us(process.pid):
                server = StartedServer(name, url, log, process)
                _wait(server, notify)
                yield server
        finally:
            _end(process)


@contextmanager
def _ended_with_us(group: int) -> Iterator[None]:
    """End a process group where this process is killed meanwhile."""
    watchdog = start(["/bin/sh", "-c", WATCHDOG, str(group)], stdin=PIPE, apart=True)
    try:
        yield
    finally:
        watchdog.kill()
        watchdog.communicate()


def _wait(server: StartedServer, notify: Callable[[str], None]) -> None:
    begun = time.monotonic()
    while not _answers(server.url):
        server.require_running("before it answered")
        if time.monotonic() - begun > PATIENCE:
            how = f"has not answered at {server.url} for {PATIENCE:,.0f} s"
            help = (
                f"{server.log} has what it printed; a server that needs longer is started first, and asked "
            )
            raise server_failure(server.name, how, help + 'as a model of engine = "api"')
        time.sleep(LOOK)
    status = server.process.poll()
    if status is not None:
        raise server_failure(server.name, f"ended with {status}, and something else answers at {server.url}")
    notify(f"{server.name}: its server answers after {time.monotonic() - begun:,.0f} s")


def _answers(url: str, loading: bool = False) -> bool:
    """Whether a server is there and ready: one that loads says so with a status of 5xx, and counts where
    `loading` does."""
    absent = (
        ("unreachable", "timeout", "cut") if loading else ("unreachable", "server_error", "timeout", "cut")
    )

    async def look() -> bool:
        async with make_client(url) as client:
            try:
                async with asyncio.timeout(MOST_LOOK):
                    await response_body(client, client.build_request("GET", f"{url}/models", timeout=5.0))
            except RequestError as error:
                return error.kind not in absent
            except TimeoutError:
                return False
            return True

    return asyncio.run(look())


def _end(process: Child) -> None:
    """End a server and whatever it started."""
    for sign, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except TimeoutExpired:
            continue
    process.wait()
