"""gridc commands in forked children of a process that has imported everything, so that they start at once."""

import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code (negative: the signal), what it printed, how long it took (s)."""

    code: int
    text: str
    seconds: float

    @property
    def traced(self) -> bool:
        """Whether a user saw a traceback."""
        return "Traceback (most recent call last)" in self.text


def warm(commands: Iterable[Sequence[str]], folder: Path) -> None:
    """Run the commands in this process: its children begin with all imported and every template read."""
    from click.testing import CliRunner

    from gridc.cli import main

    before = Path.cwd()
    os.chdir(folder)
    try:
        for arguments in commands:
            done = CliRunner().invoke(main, list(arguments), prog_name="gridc")
            assert done.exit_code == 0, (arguments, done.output)
    finally:
        os.chdir(before)
    gc.collect()
    gc.freeze()


def command(
    arguments: Sequence[str], folder: Path, kill_after: float | None = None, strace: Sequence[str] = ()
) -> Ended:
    """Run `gridc ARGUMENTS` in a folder. It is killed after so many seconds if it still runs, and with
    `strace` its system calls are traced with these options."""
    printed = folder.parent / f".printed-{os.getpid()}"
    printed.touch()
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(arguments, folder, printed, bool(strace))
    if strace:
        _trace(child, strace)
    if kill_after is not None:
        _wait(
            lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, kill_after
        )
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - begun
    text = printed.read_text("utf-8", "replace")
    printed.unlink()
    return Ended(os.waitstatus_to_exitcode(status), text, seconds)


def _trace(child: int, options: Sequence[str]) -> None:
    """Attach strace to a child that has stopped itself, and let it go on."""
    os.waitpid(child, os.WUNTRACED)
    subprocess.Popen(["strace", "-f", "-qq", *options, "-p", str(child)], stderr=subprocess.DEVNULL)
    status = Path(f"/proc/{child}/status")
    _wait(lambda: "TracerPid:\t0\n" not in status.read_text(), 10)
    os.kill(child, signal.SIGCONT)


def _wait(done: Callable[[], bool], most: float) -> None:
    end = time.monotonic() + most
    while time.monotonic() < end and not done():
        time.sleep(min(0.002, max(end - time.monotonic(), 0)))


def _become(arguments: Sequence[str], folder: Path, printed: Path, traced: bool) -> None:
    """The child: what a shell would start. It never returns."""
    code = 70
    try:
        if traced:
            os.kill(os.getpid(), signal.SIGSTOP)
        output = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(folder)
        sys.argv = ["gridc", *arguments]
        from gridc.cli import main

        main(args=list(arguments), prog_name="gridc")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
