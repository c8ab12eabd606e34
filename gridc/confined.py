"""Work on strangers' files in a separate process, with limits on CPU time and memory.

A tokenizer or a configuration can make its parser loop, fill the memory or abort, inside code that holds the
interpreter, where no exception and no clock of this process reaches it. So such files are parsed by a child,
and this process gets plain JSON from it. Time is CPU time: on a loaded machine nothing fails that would do on
an idle one.

Imports cost more than the work. One nursery for each process imports what children need, reads no stranger's
file, and forks a child for every `Confined`; nothing else runs in it, so that forking is safe. It ends its
children and itself when this process ends, however that ends.

Children that only parse, and run nobody's code, may need what this process imports too: torch and
transformers take longer than a small study. Their nursery is forked from this process, so that both share the
imports, where this is a process of gridc's own with one thread (`importing`); elsewhere they come from the
nursery of all.
"""

import atexit
import ctypes
import importlib
import json
import math
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gridc.deferral import is_own
from gridc.launch import PATIENCE, Child, Copy, bound_time, fork, importable, is_waiting, start, with_path

SECONDS = 60.0
"""CPU time that a child may take beyond what its requests bring: far more than loading the largest tokenizers
takes."""

MEMORY = 4 * 2**30
"""Bytes that a child may take beyond what it has at its start."""

MOST_BYTES = 2**26
"""Bytes of a message at most."""

MOST_WORDS = 500
"""Characters of what an exception says at most."""

_VARIABLES = {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
"""One thread each: children are many, and threads would count as memory."""

CACHES = ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE", "XDG_CACHE_HOME")
"""Where a child finds data that were fetched before."""

_SIZE = struct.Struct("<Q")


class ChildEndedError(Exception):
    """A child took more than it may, or crashed. The message says which, as a sentence without its subject,
    which is the file that the child read."""


class Confined:
    """An object of the class `target` (`module:name`) in a child process. `ask` calls its methods, with JSON
    in and out. `each` is the CPU time in seconds that a request may take, where requests are many and short;
    a child that is `apart` comes from a nursery of its own, so that Python hashes texts otherwise in it, and
    one that is `offline` reaches no network. Raises `ChildEndedError` where there can be no child."""

    def __init__(
        self, target: str, each: float | None = None, apart: bool = False, offline: bool = False
    ) -> None:
        self._lock, self._limits = threading.Lock(), _limits()
        if offline:
            self._limits["offline"] = True
        if each is not None:
            self._limits["each"] = each
        self._own = _Nursery(_started) if apart else None
        self._nursery = self._own or _nursery_of(target)
        self._channel, there = socket.socketpair()
        try:
            self._child = self._nursery.fork(target, self._limits, there)
        except BaseException:
            self._channel.close()
            raise
        finally:
            there.close()

    def ask(self, method: str, *arguments: Any, seconds: float = 0.0) -> Any:
        """What the method gives. `seconds` of CPU time are added to what the child may take in all.

        Raises `ValueError` where the method raised anything, with its words, and `ChildEndedError`.
        """
        with self._lock:
            try:
                patience = _Patience(self._child)
                _send(self._channel, [method, arguments, seconds], patience)
                reply = _receive(self._channel, patience)
                if not isinstance(reply, dict):
                    raise ValueError
            except _StalledError:
                raise self._ended("waits for something that does not come") from None
            except (ValueError, RecursionError):  # code of a stranger in the child can write what it likes
                raise self._ended("answers with something that is not an answer") from None
            except (OSError, EOFError):
                # Ended before the channel is: a child that sees it closed ends by itself, and says nothing.
                ended_by = self._nursery.end(self._child)
                self._channel.close()
                raise ChildEndedError(_cause(ended_by, self._limits)) from None
        if "failed" in reply:
            raise ValueError(reply["failed"])
        if "gave" not in reply:
            raise ChildEndedError(_too_much_memory(self._limits))
        return reply["gave"]

    def _ended(self, why: str) -> ChildEndedError:
        self._nursery.end(self._child)
        self._channel.close()
        return ChildEndedError(why)

    def close(self) -> None:
        """End the child."""
        if self._channel.fileno() >= 0:
            self._channel.close()
            if self._nursery.alive:
                self._nursery.end(self._child)
        if self._own is not None and self._own.alive:
            self._own.close()

    __del__ = close


@contextmanager
def importing(module: str) -> Iterator[None]:
    """Around the first import of a module here, whose classes are made in children too. Where this process
    can be forked, it is when the module is there. Elsewhere the nursery imports the module meanwhile."""
    if module in _copies and _copies[module].alive:
        yield
        return
    if module in sys.modules or not _can_be_forked():
        with suppress(OSError):
            _nursery().prepare(module)
        yield
        return
    yield
    if _can_be_forked():  # an import may begin a thread
        with suppress(OSError):
            _copies[module] = _Nursery(_forked)


def _can_be_forked() -> bool:
    """Whether a copy of this process works: no thread of Python holds a lock that nobody would release in
    the copy, and nobody else's package runs here. Those threads that numpy's BLAS begins wait, and it begins
    them anew in a copy. Not on macOS, whose own libraries are not made for it."""
    return sys.platform == "linux" and is_own() and threading.active_count() == 1


class _StalledError(Exception):
    """A child waits for something that does not come."""


class _Patience:
    """How long a child is waited for in one request, however many bytes come meanwhile."""

    def __init__(self, child: int) -> None:
        self._child, self._look = child, time.monotonic() + PATIENCE

    def wait(self, channel: socket.socket, writing: bool = False) -> None:
        """Return when a byte can be read or written. Raises `_StalledError`."""
        sides = ([], [channel]) if writing else ([channel], [])
        while not any(select.select(*sides, [], max(0.0, self._look - time.monotonic()))):
            if is_waiting(self._child):
                raise _StalledError
            self._look = time.monotonic() + PATIENCE


def _limits() -> dict[str, float]:
    """What a child may take."""
    return {"seconds": SECONDS, "memory": MEMORY}


def _cause(ended_by: int, limits: Mapping[str, float]) -> str:
    """How a child ended, by the signal that ended it."""
    if ended_by == signal.SIGXCPU and "each" in limits:
        return f"takes more CPU time than it may ({limits['each']:g} s)"
    if ended_by == signal.SIGXCPU:
        return f"takes more CPU time than it may ({limits['seconds']:g} s, and more for long texts)"
    if ended_by == signal.SIGKILL:
        return _too_much_memory(limits)
    name = signal.Signals(ended_by).name if ended_by in set(signal.Signals) else "no signal"
    return f"ends the process that reads it ({name}), as a crash does, or more than {_memory(limits)}"


def _too_much_memory(limits: Mapping[str, float]) -> str:
    return f"takes more memory than it may ({_memory(limits)})"


def _memory(limits: Mapping[str, float]) -> str:
    return f"{limits['memory'] / 2**30:g} GiB"


def _started(channel: int) -> Child:
    """A nursery that imports for itself."""
    command = with_path("from gridc.confined import _nurse; _nurse()")
    return start(command, CACHES, _VARIABLES, stdin=channel, apart=True)


def _forked(channel: int) -> Copy:
    """A nursery that has what this process imported."""
    return fork(_nurse, CACHES, _VARIABLES, stdin=channel)


class _Nursery:
    """The process that forks children, as this process sees it. `begin` begins it, with a channel on its
    standard input. Raises `OSError` where it does not begin."""

    def __init__(self, begin: Callable[[int], Child | Copy]) -> None:
        self.process, self._lock = os.getpid(), threading.Lock()
        self._channel, there = socket.socketpair()
        with there:
            self._running = begin(there.fileno())

    @property
    def alive(self) -> bool:
        return self.process == os.getpid() and self._running.poll() is None

    def fork(self, target: str, limits: Mapping[str, float], channel: socket.socket) -> int:
        """The number of a child that answers over the channel. Raises `ChildEndedError`."""
        try:
            child = self._ask(["fork", target, limits, importable()], channel)
        except (OSError, EOFError):
            self.close()
            child = "most often for lack of memory"
        if isinstance(child, int):
            return child
        raise ChildEndedError(f"cannot be read, because no process can be started for it: {child}")

    def end(self, child: int) -> int:
        """End a child; the signal that ended it, 0 where none did."""
        try:
            number: int = self._ask(["end", child])
            return number
        except (OSError, EOFError):
            return signal.SIGKILL

    def prepare(self, module: str) -> None:
        with self._lock:
            _send(self._channel, ["import", module])

    def close(self) -> None:
        self._channel.close()
        self._running.wait()

    def _ask(self, request: list[Any], channel: socket.socket | None = None) -> Any:
        with self._lock:
            _send(self._channel, request)
            if channel is not None:
                socket.send_fds(self._channel, [b"+"], [channel.fileno()])
            return _receive(self._channel)


_current: _Nursery | None = None
_copies: dict[str, _Nursery] = {}
"""The nurseries that were forked from this process, by the module whose classes their children make."""


def _nursery_of(target: str) -> _Nursery:
    """The nursery for children of a class."""
    copy = _copies.get(target.partition(":")[0])
    return copy if copy is not None and copy.alive else _nursery()


def _nursery() -> _Nursery:
    """The nursery of this process."""
    global _current
    if _current is None or not _current.alive:
        _current = _Nursery(_started)
    return _current


@atexit.register
def _close() -> None:
    for nursery in (_current, *_copies.values()):
        if nursery is not None and nursery.alive:
            nursery.close()


def _send(channel: socket.socket, message: Any, patience: _Patience | None = None) -> None:
    data = json.dumps(message).encode()
    left = memoryview(_SIZE.pack(len(data)) + data)
    while left:
        if patience is not None:
            patience.wait(channel, writing=True)
        left = left[channel.send(left, 0 if patience is None else socket.MSG_DONTWAIT) :]


def _receive(channel: socket.socket, patience: _Patience | None = None) -> Any:
    """The next message. Raises `EOFError` where there is none, or one that is too long, and `ValueError` for
    what is none."""
    (size,) = _SIZE.unpack(_exactly(channel, _SIZE.size, patience))
    if size > MOST_BYTES:
        raise EOFError
    return json.loads(_exactly(channel, size, patience))


def _exactly(channel: socket.socket, size: int, patience: _Patience | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        if patience is not None:
            patience.wait(channel)
        part = channel.recv(min(size - len(data), 2**20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _nurse() -> None:
    """The nursery: import, fork, and say how children ended, until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = socket.socket(fileno=os.dup(0))
    children: set[int] = set()
    with suppress(EOFError, OSError):
        while True:
            request, *about = _receive(channel)
            if request == "import":
                with suppress(Exception):  # whoever asks for a child is told
                    importlib.import_module(*about)
            elif request == "end":
                (child,) = about
                children.discard(child)
                _send(channel, _end(child))
            else:
                _, (handle,), _, _ = socket.recv_fds(channel, 1, 1)
                with socket.socket(fileno=handle) as own:
                    try:
                        target, limits, path = about
                        child = _fork(target, limits, path, own, channel)
                    except Exception as error:  # whatever an import or a fork comes to
                        _send(channel, str(error) or type(error).__name__)
                        continue
                children.add(child)
                _send(channel, child)
    for child in children:
        with suppress(OSError):
            _end(child)


def _end(child: int) -> int:
    """The signal that ended a child; one that is still there is ended."""
    os.kill(child, signal.SIGKILL)  # which changes nothing for one that ends already
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _fork(
    target: str, limits: Mapping[str, float], path: list[str], own: socket.socket, nursery: socket.socket
) -> int:
    """The number of a child that answers over a channel of its own, and imports from where its asker does."""
    module, _, name = target.partition(":")
    maker = getattr(importlib.import_module(module), name)
    child = os.fork()
    if child:
        return child
    try:
        nursery.close()
        os.close(0)
        sys.path[:] = path
        _answer(own, maker, limits)
    finally:
        os._exit(0)


def _answer(channel: socket.socket, maker: Callable[[], Any], limits: Mapping[str, float]) -> None:
    """The child: call methods, one after another, until the other side is gone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "offline" in limits:
        _leave_network()
    _bound_memory(int(limits["memory"]))
    made, allowed = maker(), limits["seconds"]
    while True:
        method, arguments, seconds = _receive(channel)
        allowed += seconds
        most = allowed if "each" not in limits else time.process_time() + limits["each"]
        bound_time(0, math.ceil(most))
        try:
            _send(channel, {"gave": getattr(made, method)(*arguments)})
        except (EOFError, BrokenPipeError):
            raise
        except MemoryError:
            _send(channel, {})
        except BaseException as error:  # a panic of Rust is no `Exception`
            words = str(error).strip() or type(error).__name__
            _send(channel, {"failed": words[:MOST_WORDS]})


def _leave_network() -> None:
    """Reach no network from here on: in a network of this process alone, where the system lets it have one.
    Else Python's own sockets refuse, which stops mistakes and no attack."""
    user, group = os.getuid(), os.getgid()
    library = ctypes.CDLL(None)
    if hasattr(library, "unshare") and library.unshare(_NEW_USER | _NEW_NETWORK) == 0:
        # Files that it makes have an owner only where its own user is one of the new space's.
        for name, said in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with suppress(OSError):
                Path(f"/proc/self/{name}").write_text(said, "ascii")
        return

    def refuse(*_: object) -> None:
        raise OSError("there is no network here")

    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, refuse)


_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
"""CLONE_NEWUSER and CLONE_NEWNET of Linux."""


def _bound_memory(more: int) -> None:
    """Let this process take so much more memory than it has, or what it may take already if that is less."""
    with suppress(OSError):  # what is not Linux has no such file, and no bound
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        least = pages * resource.getpagesize() + more
        least = least if most == resource.RLIM_INFINITY else min(least, most)
        resource.setrlimit(resource.RLIMIT_AS, (least, least))
