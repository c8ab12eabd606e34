"""Starts every child process: where it works, what it imports, which variables and files it finds.

A study's folder may be a stranger's, and people work in it. So a child works in an empty folder, imports
nothing from where this process happens to work (unless that is installed), finds of the environment only
`PLAIN` and what its caller names, and inherits no open file but its three streams. Keys reach a child only by
their whole name.
"""

import atexit
import ctypes
import gc
import json
import os
import resource
import shlex
import shutil
import signal
import site
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, CompletedProcess, Popen, TimeoutExpired
from typing import IO, NoReturn

__all__ = [
    "ACCELERATORS",
    "MODEL_PROGRAMS",
    "NETWORK",
    "PIPE",
    "Child",
    "CompletedProcess",
    "Copy",
    "TimeoutExpired",
    "absolute_words",
    "bound_time",
    "environment",
    "fork",
    "importable",
    "is_waiting",
    "launch_program",
    "passed",
    "python_path",
    "run_within",
    "start",
    "surroundings",
    "with_path",
]  # fmt: skip

Child = Popen[bytes]

PLAIN = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
    "SYSTEMROOT",
)  # fmt: skip
"""Variables that every child finds. In names a `*` at the end stands for any rest that names no key."""

NETWORK = (
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
)  # fmt: skip
"""What a program needs that downloads something."""

ACCELERATORS = (
    "CUDA_*", "NVIDIA_*", "NCCL_*", "GLOO_*", "HIP_*", "ROCR_*", "ROCM_*", "HSA_*", "GPU_*", "OMP_*",
    "GOMP_*", "KMP_*", "MKL_*", "OPENBLAS_*", "TORCH*", "PYTORCH_*", "TRITON_*", "XDG_CACHE_HOME", "HF_HOME",
    "HF_HUB_*", "LD_PRELOAD",
)  # fmt: skip
"""What decides where and how a model is computed."""

MODEL_PROGRAMS = (*ACCELERATORS, *NETWORK, "VLLM_*", "SGLANG_*", "SGL_*", "LLAMA_*", "GGML_*", "HF_ENDPOINT")
"""What servers of models read."""

PASSED = "GRIDC_PASS"
"""Names further variables, keys too, for the programs that run models: `HF_TOKEN,WANDB_DIR`."""

_KEYS = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE")

PATIENCE = 20.0
"""Seconds after which a program that runs beside this one is looked at: does it wait?"""


def start(
    command: Sequence[str],
    needs: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    *,
    stdin: int | IO[bytes] = DEVNULL,
    stdout: int | IO[bytes] | None = DEVNULL,
    stderr: int | IO[bytes] | None = DEVNULL,
    folder: Path | None = None,
    apart: bool = False,
) -> Child:
    """Start a program.

    Args:
        command: the program and its arguments. A relative path would lead into the empty folder.
        needs: names of variables that it finds beside `PLAIN`, where they are set.
        variables: those that it finds in any case, with their values.
        stdin, stdout, stderr: as for `Popen`; None is this process's own.
        folder: where it works, in place of the empty folder: one that holds nothing of a study.
        apart: in a process group of its own, which no Ctrl-C reaches.

    Raises:
        OSError, ValueError, IndexError: there is no such program.
    """
    return Popen(
        command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=folder or _empty_folder(),
        env=environment(needs, variables), start_new_session=apart,
    )  # fmt: skip


class Copy:
    """A copy of this process that `fork` made, asked as a `Child` is."""

    def __init__(self, number: int) -> None:
        self._number, self._ended = number, False

    def poll(self) -> int | None:
        """None while it runs, else 0."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait until it has ended."""
        return self._wait(0)

    def _wait(self, options: int) -> int | None:
        if not self._ended:
            try:
                self._ended = os.waitpid(self._number, options)[0] != 0
            except ChildProcessError:  # somebody else waited for every child of this process
                self._ended = True
        return 0 if self._ended else None


def fork(
    work: Callable[[], object],
    needs: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    *,
    stdin: int,
) -> Copy:
    """A copy of this process, with all that it has imported, that does some work and ends. It finds what
    a program finds that `start` starts apart: the empty folder, these variables, `stdin` and two streams to
    nowhere, no other file, and no handler of a signal. What this process holds in its memory it holds too.

    Only for a process that has one thread of Python. Raises `OSError` where there can be no copy.
    """
    folder, found = _empty_folder(), environment(needs, variables)
    # A Ctrl-C that reached the copy first would run through all that its callers still mean to do.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        number = os.fork()
        if not number:
            _work_as_copy(work, stdin, folder, found, mask)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return Copy(number)


def _work_as_copy(
    work: Callable[[], object],
    stdin: int,
    folder: Path,
    found: Mapping[str, str],
    mask: Iterable[int],
) -> NoReturn:
    """What a copy does from its beginning to its end. `mask` are the signals that it leaves blocked."""
    try:
        os.setsid()
        for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError):  # those that the C library keeps for itself
                signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.dup2(stdin, 0)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(folder)
        _replace_environment(found)
        gc.freeze()  # what is garbage of the other process is not to be collected here: it may close things
        work()
    finally:
        os._exit(0)  # neither `atexit` nor what the callers above still mean to do


def _replace_environment(found: Mapping[str, str]) -> None:
    """Give this process another environment, and overwrite the one with which it was started, which
    /proc/self/environ shows."""
    os.environ.clear()
    with suppress(OSError):  # what is not Linux has no such file
        place = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
        begin, end = int(place[47]), int(place[48])
        ctypes.memset(begin, 0, end - begin)
    os.environ.update(found)


def launch_program(
    command: Sequence[str],
    needs: Sequence[str] = (),
    input: bytes = b"",
    seconds: float | None = None,
    told: bool = False,
) -> CompletedProcess[bytes]:
    """What a program prints, which may take so many seconds. What it says on stderr goes to the terminal
    where it is `told`. Raises `OSError`, and `TimeoutExpired` once it was ended."""
    with start(command, needs, stdin=PIPE, stdout=PIPE, stderr=None if told else PIPE) as running:
        try:
            out, errors = running.communicate(input, seconds)
        except BaseException:
            running.kill()
            raise
        return CompletedProcess(command, running.returncode, out, errors)


def run_within(command: Sequence[str], seconds: int, input: bytes = b"") -> CompletedProcess[bytes]:
    """What a program gives, which may take so many seconds of CPU time. One that waits for something that
    does not come is ended too. Raises `OSError` and `TimeoutExpired`."""
    with start(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as running:
        with suppress(OSError):  # it may have ended
            bound_time(running.pid, seconds)
        while True:
            try:
                out, errors = running.communicate(input, timeout=PATIENCE)
                return CompletedProcess(command, running.returncode, out, errors)
            except BaseException as error:
                if isinstance(error, TimeoutExpired) and not is_waiting(running.pid):
                    continue
                running.kill()
                raise


def bound_time(process: int, seconds: int) -> None:
    """Let a process (0: this one) take so much CPU time in all, or what it may take already if that is
    less."""
    if hasattr(resource, "prlimit"):  # Linux
        most = resource.prlimit(process, resource.RLIMIT_CPU)[1]
        least = seconds if most == resource.RLIM_INFINITY else min(seconds, most)
        resource.prlimit(process, resource.RLIMIT_CPU, (least, most))


def is_waiting(process: int) -> bool:
    """Whether a process does something else than compute or read a disk: it sleeps, is stopped, or has ended
    and left its end of a pipe to a process of its own."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True  # what is not Linux does not say
    return state not in ("R", "D")


def environment(needs: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child that needs these variables, with those that are given."""
    names = (*PLAIN, *needs)
    return {name: value for name, value in os.environ.items() if _is_named(name, names)} | dict(
        variables or {}
    )


def _is_named(name: str, names: Sequence[str]) -> bool:
    if name in names:
        return True
    begun = any(each.endswith("*") and name.startswith(each[:-1]) for each in names)
    return begun and not any(part in name.upper() for part in _KEYS)


def passed() -> tuple[str, ...]:
    """The variables that the person names for programs that run models."""
    return tuple(name.strip() for name in os.environ.get(PASSED, "").split(",") if name.strip())


def with_path(program: str, *arguments: str) -> list[str]:
    """The command of a Python program in a text, which imports from where this process does. -I keeps the
    person's PYTHON* variables and their own packages out until `sys.path` is set."""
    boot = f"import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); {program}"
    return [sys.executable, "-I", "-c", boot, json.dumps(importable()), *arguments]


def importable() -> list[str]:
    """Where a child imports from: `sys.path` without the folder in which this process works, unless that is
    installed, or PYTHONPATH names it in full."""
    try:
        here = str(Path.cwd())
    except OSError:  # it was deleted
        here = ""
    named = python_path()
    return [
        folder
        for folder in sys.path
        if folder and (os.path.realpath(folder) != here or folder in named or _is_installed(folder))
    ]


def python_path() -> list[str]:
    """The folders that PYTHONPATH names in full: an empty or relative one is wherever somebody works."""
    return [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(each).is_absolute()]


def _is_installed(folder: str) -> bool:
    """Whether a folder is a package's that was installed in place (`pip install -e`): a .pth file has it."""
    for place in (*site.getsitepackages(), site.getusersitepackages()):
        for file in Path(place).glob("*.pth"):
            with suppress(OSError, UnicodeDecodeError):
                if folder in file.read_text("utf-8").splitlines():
                    return True
    return False


def absolute_words(command: str) -> list[str]:
    """The words of a command that a person typed. A program's path, and words that begin with ./ or ../, are
    of the folder where it was typed. Raises `ValueError` where it is no command."""
    words = shlex.split(command)
    return [
        str(Path(word).absolute()) if word.startswith(("./", "../")) or (not at and "/" in word) else word
        for at, word in enumerate(words)
    ]


@contextmanager
def surroundings(needs: Sequence[str], variables: Mapping[str, str]) -> Iterator[None]:
    """What a child finds (working folder, `sys.path`, environment) is what this process has meanwhile: for a
    library that starts processes by itself, and lets them inherit all of it."""
    found, path, whole = environment(needs, variables), list(sys.path), dict(os.environ)
    changed = {name: value for name, value in whole.items() if found.get(name) != value}
    here = os.open(".", os.O_RDONLY)
    try:
        sys.path[:] = importable()
        os.chdir(_empty_folder())
        for name in changed:
            del os.environ[name]
        os.environ.update(found)
        yield
    finally:
        for name in variables.keys() - whole.keys():
            os.environ.pop(name, None)
        os.environ.update(changed)
        os.fchdir(here)
        os.close(here)
        sys.path[:] = path


_empty: Path | None = None


def _empty_folder() -> Path:
    """A folder of this process with nothing in it."""
    global _empty
    if _empty is None or not _empty.is_dir() or any(_empty.iterdir()):
        _empty = Path(tempfile.mkdtemp(prefix="gridc-"))
        atexit.register(shutil.rmtree, _empty, ignore_errors=True)
    return _empty
