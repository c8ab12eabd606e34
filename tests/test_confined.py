"""A child process ends where it takes more than it may, and says what it is asked otherwise."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from gridc import confined
from gridc.confined import ChildEndedError, Confined


class Child:
    """What a test has done in a child."""

    def __init__(self) -> None:
        self.sum = 0

    def add(self, number: int) -> int:
        self.sum += number
        return self.sum

    def fail(self) -> None:
        raise KeyError("a word")

    def loop(self) -> None:
        while True:
            pass

    def swell(self) -> int:
        return len([bytearray(2**26) for _ in range(1_000)])

    def reach(self, port: int) -> str:
        """Connect to a port of this machine."""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as channel:
                return channel.recv(2).decode()
        except OSError as error:
            return f"refused: {error}"

    def write(self, path: str) -> None:
        Path(path).write_text("x", "utf-8")

    def abort(self) -> None:
        os.abort()

    def much(self) -> str:
        return "x" * 2**24

    def take(self, text: str) -> int:
        return len(text)

    def talk(self) -> str:
        return "x" * (confined.MOST_BYTES + 1)

    def begin(self) -> None:
        """Write a byte of an answer, and wait."""
        _write(b"\1")
        time.sleep(1000)

    def drip(self) -> None:
        """Write an answer of 2**24 bytes, a few in a second."""
        _write(b"\0\0\0\1\0\0\0\0")
        while True:
            _write(b" ")
            time.sleep(0.2)

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def leave(self) -> None:
        """End, and leave the channel to a process that waits."""
        if os.fork():
            os._exit(0)
        time.sleep(30)

    def babble(self) -> None:
        """Write what is not JSON."""
        _write(b"\1\0\0\0\0\0\0\0[")
        time.sleep(1000)

    def number(self) -> int:
        return os.getpid()

    def path(self) -> list[str]:
        return sys.path

    def noted(self) -> str:
        return NOTE

    def found(self) -> dict[str, Any]:
        """What this process finds beside what it imported."""
        gc.collect()
        return {
            "variables": dict(os.environ),
            "of C": subprocess.run(["env"], capture_output=True, text=True, check=True).stdout,
            "at its start": Path("/proc/self/environ").read_text("utf-8"),
            "files": [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()],
            "folder": [each.name for each in Path().iterdir()],
            "handler": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
            "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            "session": os.getsid(0),
            "threads": len(list(Path("/proc/self/task").iterdir())),
        }


NOTE = ""
"""What the process wrote here that a copy is of."""


def _write(data: bytes) -> None:
    """Write on every socket of this process."""
    for each in list(Path("/proc/self/fd").iterdir()):
        if each.is_symlink() and str(each.readlink()).startswith("socket:"):
            os.write(int(each.name), data)


CHILD = "tests.test_confined:Child"


def test_a_child_keeps_what_it_holds_and_says_what_fails() -> None:
    with closing(Confined(CHILD)) as child, closing(Confined(CHILD)) as other:
        assert [child.ask("add", 2), child.ask("add", 3), other.ask("add", 7)] == [2, 5, 7]
        with pytest.raises(ValueError, match="a word"):
            child.ask("fail")
        assert child.ask("add", 1) == 6
        assert len({child.ask("number"), other.ask("number"), os.getpid()}) == 3


def test_a_child_imports_from_where_its_asker_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package is found that came onto the path after the first child, as in a notebook."""
    with closing(Confined(CHILD)) as child:
        assert child.ask("path") == sys.path
    monkeypatch.syspath_prepend(str(tmp_path))
    with closing(Confined(CHILD)) as child:
        assert child.ask("path") == sys.path


@pytest.mark.parametrize(
    ("method", "why"),
    [("loop", "CPU time"), ("swell", "memory"), ("abort", "SIGABRT"), ("talk", "memory")],
)
def test_a_child_that_takes_too_much_is_ended(method: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if method == "loop":  # where pages are slow, filling the memory takes longer than this
        monkeypatch.setattr(confined, "SECONDS", 1.0)
    monkeypatch.setattr(confined, "MEMORY", 2**29)
    with closing(Confined(CHILD)) as child, pytest.raises(ChildEndedError, match=why):
        child.ask(method)


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("begin", "waits for something"), ("drip", "waits for something"), ("stop", "waits for something"),
        ("leave", "waits for something"), ("babble", "not an answer"),
    ],
)  # fmt: skip
def test_a_child_that_does_not_answer_is_ended(
    method: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "PATIENCE", 1.0)
    begun = time.monotonic()
    with closing(Confined(CHILD)) as child, pytest.raises(ChildEndedError, match=why):
        child.ask(method)
    assert time.monotonic() - begun < 90


def test_long_texts_go_there_and_back() -> None:
    with closing(Confined(CHILD)) as child:
        assert len(child.ask("much")) == 2**24
        assert child.ask("take", "x" * 2**24) == 2**24


def test_a_long_text_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "SECONDS", 0.0)
    with closing(Confined(CHILD)) as child:
        assert child.ask("add", 1, seconds=1000.0) == 1


OWN = "from gridc import deferral; deferral.put_off()"
SHARED = f"""
import os, signal
from gridc.confined import Confined, _copies, importing
with importing("tests.test_confined"):
    import tests.test_confined
    tests.test_confined.NOTE = "of this process"
child = Confined({CHILD!r})
"""


def _said(code: str, **variables: str) -> str:
    """What a program prints, with these variables beside those of here."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **variables}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="no process is copied elsewhere")
@pytest.mark.parametrize(
    ("before", "note"),
    [
        (OWN, "of this process"),
        ("", ""),
        (
            f"{OWN}; import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
            "",
        ),
        (f"{OWN}; import tests.test_confined", ""),
        (f"{OWN}; import sys; sys.platform = 'darwin'", ""),
    ],
    ids=["own", "notebook", "threads", "imported", "macos"],
)
def test_imports_are_shared_where_a_process_can_be_copied(before: str, note: str) -> None:
    assert _said(f"{before}\n{SHARED}\nprint(child.ask('noted'), child.ask('add', 2))") == f"{note} 2\n"


@pytest.mark.skipif(sys.platform != "linux", reason="no process is copied elsewhere")
def test_a_copy_finds_no_more_than_a_program_that_is_started(tmp_path: Path) -> None:
    open_file = tmp_path / "the store"
    code = f"""{OWN}
import atexit, gc, json, os, signal
kept = open({str(open_file)!r}, "w")
kept.write("once")
os.environ["LATER_API_KEY"] = "a later secret"
signal.signal(signal.SIGTERM, lambda *_: None)
atexit.register(lambda: print(f" {{os.getpid()}}", end="", file=kept, flush=True))

class Garbage:
    def __del__(self):
        open(f"{tmp_path}/deleted by {{os.getpid()}}", "w")

gc.disable()
garbage = Garbage()
garbage.itself = garbage
del garbage
{SHARED}
print(os.getpid(), json.dumps(child.ask("found")))
"""
    number, _, found = _said(code, OPENAI_API_KEY="a secret").partition(" ")
    copy = json.loads(found)
    with closing(Confined(CHILD)) as child:
        program = child.ask("found")
    # torch sets it where it is imported: in this process by an earlier test, in the one that is copied not.
    others = program["variables"].keys() - {"TORCHINDUCTOR_CACHE_DIR"}
    assert copy["variables"].keys() == others and "PATH" in copy["of C"]
    assert "secret" not in str(copy) and "the store" not in str(copy)
    assert len(copy["files"]) == len(program["files"])
    same = ("folder", "handler", "threads", "blocked")
    assert [copy[each] for each in same] == [program[each] for each in same] == [[], True, 1, 0]
    assert copy["session"] != os.getsid(0), "no Ctrl-C reaches it"
    assert open_file.read_text() == f"once {number}", "and a copy writes nothing when it ends"
    deleted = {each.name for each in tmp_path.glob("deleted*")}
    assert deleted <= {f"deleted by {number}"}, "nor when it looks for garbage"


@pytest.mark.skipif(sys.platform != "linux", reason="no process is copied elsewhere")
def test_where_a_copy_ended_children_come_from_elsewhere() -> None:
    code = f"""{OWN}\n{SHARED}
(copy,) = _copies.values()
os.kill(copy._running._number, signal.SIGKILL)
os.waitpid(copy._running._number, 0)
print([Confined({CHILD!r}).ask("noted")])
"""
    assert _said(code) == "['']\n"


@pytest.mark.parametrize("begun", [f"from gridc.confined import Confined; child = Confined({CHILD!r})",
                                   f"{OWN}\n{SHARED}"], ids=["started", "copied"])  # fmt: skip
def test_children_end_with_the_process_that_began_them(begun: str) -> None:
    code = f"{begun}\nprint(child.ask('number'), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.kill()
    for _ in range(10_000):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("a child outlived its parent")


def _server() -> socket.socket:
    """A port of this machine that greets whoever comes."""
    server = socket.create_server(("127.0.0.1", 0))

    def greet() -> None:
        with suppress(OSError):
            while True:
                with server.accept()[0] as channel:
                    channel.sendall(b"hi")

    threading.Thread(target=greet, daemon=True).start()
    return server


def test_an_offline_child_reaches_no_network() -> None:
    with _server() as server:
        port = server.getsockname()[1]
        with closing(Confined(CHILD)) as child:
            assert child.ask("reach", port) == "hi"
        with closing(Confined(CHILD, offline=True)) as child:
            assert child.ask("reach", port).startswith("refused: ")


def test_where_no_process_can_leave_the_network_its_sockets_refuse() -> None:
    code = (
        "import ctypes, socket, sys; ctypes.CDLL = lambda name: None; from gridc import confined; "
        "confined._leave_network(); socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
    )
    with _server() as server:
        port = str(server.getsockname()[1])
        done = subprocess.run([sys.executable, "-c", code, port], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "OSError: there is no network here" in done.stderr


def test_an_offline_child_writes_files_that_are_its_users(tmp_path: Path) -> None:
    with closing(Confined(CHILD, offline=True)) as child:
        child.ask("write", str(tmp_path / "made"))
    assert (tmp_path / "made").stat().st_uid == os.getuid()
