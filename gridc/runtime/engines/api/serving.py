"""Servers for the duration of a run: started by the user's commands, and stopped when the run ends.

A command is never the spec's: whoever wrote that would have a program of theirs executed. It is started in a
process group of its own, because servers start workers, which end with it.
"""

import asyncio
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gridc.compiler.inputs.addresses import is_local
from gridc.diagnostics.errors import Diagnostic, UnavailableError, UsageError
from gridc.files import require_unlinked
from gridc.runtime.engines.api.client import body_of, make_client
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


@contextmanager
def servers(
    spec: Spec, commands: Mapping[str, str], folder: Path, notify: Callable[[str], None]
) -> Iterator[None]:
    """Start the server of each model by its command, with what it prints in a file of `folder`, and wait
    until it answers. Each is ended afterwards. Raises `UsageError` where a model is not behind an address of
    this machine, and `UnavailableError` (GC649) where a server ends before it answers or does not answer
    within `PATIENCE`, or another is there.
    """
    addresses = {name: _address(spec, name) for name in commands}
    with ExitStack() as running:
        for name, command in commands.items():
            running.enter_context(_server(name, command, addresses[name], folder, notify))
        yield


def _address(spec: Spec, name: str) -> str:
    url = next((model.base_url for model in spec.asked_models if model.id == name), None)
    if url is None or not is_local(url):
        message = f"`{name}` names no model whose base_url is an address of this machine"
        raise UsageError([Diagnostic("GC000", message, help="--serve MODEL=COMMAND, for such a model")])
    return url


@contextmanager
def _server(name: str, command: str, url: str, folder: Path, notify: Callable[[str], None]) -> Iterator[None]:
    if _answers(url, loading=True):
        message = f"something answers at {url} before the server of `{name}` is started"
        help = "end it, or leave --serve out to ask it"
        raise UnavailableError([Diagnostic("GC649", message, help=help)])
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"server-{name}.log"
    require_unlinked(log)
    notify(f"{name}: starting its server, which prints into {log}")
    with log.open("wb") as printed:
        try:
            process = subprocess.Popen(
                shlex.split(command), stdin=subprocess.DEVNULL, stdout=printed, stderr=printed,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError, IndexError) as error:
            raise _failed(name, f"cannot be started: {error}") from None
    try:
        begun = time.monotonic()
        while not _answers(url):
            if process.poll() is not None:
                raise _failed(name, f"ended with {process.returncode} before it answered: {_last(log)}")
            if time.monotonic() - begun > PATIENCE:
                how = f"has not answered at {url} for {PATIENCE:,.0f} s"
                help = f"{log} has what it printed; if it needs longer, start it first and leave --serve out"
                raise _failed(name, how, help)
            time.sleep(LOOK)
        if process.poll() is not None:
            raise _failed(name, f"ended with {process.returncode}, and something else answers at {url}")
        notify(f"{name}: its server answers after {time.monotonic() - begun:,.0f} s")
        yield
    finally:
        _end(process)


def _failed(name: str, how: str, help: str | None = None) -> UnavailableError:
    return UnavailableError([Diagnostic("GC649", f"the server of `{name}` {how}", help=help)])


def _last(log: Path) -> str:
    lines = log.read_bytes()[-2_000:].decode("utf-8", "replace").split("\n")
    return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "it printed nothing")


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
                    await body_of(client, client.build_request("GET", f"{url}/models", timeout=5.0))
            except RequestError as error:
                return error.kind not in absent
            except TimeoutError:
                return False
            return True

    return asyncio.run(look())


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a server and whatever it started."""
    for sign, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
