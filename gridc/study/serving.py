"""The vLLM that runs the models of `engine = "vllm"`."""

import shlex
from collections.abc import Callable

from gridc.runtime.engines.vllm import environment
from gridc.study.failures import coded

__all__ = ["install_vllm", "vllm_program"]


@coded()
def install_vllm(notify: Callable[[str], None]) -> None:
    """Install vLLM in an environment of its own, unless it is there; `notify` is told each step. Raises
    `UnavailableError` (GC604)."""
    environment.install(notify)


@coded()
def vllm_program() -> str:
    """The command that starts vLLM. Raises `UnavailableError` (GC604) where there is none."""
    return shlex.join(environment.program())
