"""The forms in which others read a study, and in which a study reads what others made.

One more form of export is a module here, and a function that registers and imports it: the command, its help
and the Python call follow.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gridc.registry import Registry

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled
    from gridc.compiler.lock.lock import Lock

    Write = Callable[[Compiled, Lock, Path, Path], Path]


class Export(NamedTuple):
    """A form of export: its help, what the default target adds to the name of the results folder, what to do
    with the result (`{}` is its path), and what writes it, from the results folder to the target."""

    help: str
    suffix: str
    next_step: str
    write: "Write"


EXPORTS: Registry[Export] = Registry()
"""By the name that `gridc export` takes. What writes a form is imported when it is asked for."""


def _form(name: str, help: str, suffix: str, next_step: str) -> "Callable[[Write], Write]":
    """Registers what writes a form of export."""

    def register(write: "Write") -> "Write":
        EXPORTS.add(name)(Export(help, suffix, next_step, write))
        return write

    return register


@_form(
    "bundle",
    "One folder with all that `gridc verify FOLDER` needs to check the study offline.",
    ".bundle",
    "`gridc verify {}` checks it with what is in it",
)
def _bundle(compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
    from gridc.reports.exchange.bundle import export

    return export(compiled, lock, results, target)


@_form(
    "every-eval-ever",
    "Every score and answer as Every Eval Ever 0.3 has them (docs/sharing.md says what is lost).",
    ".every-eval-ever",
    "`gridc certify --from {}` reads it back",
)
def _every_eval(compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
    from gridc.reports.exchange.every_eval import export

    return export(compiled, lock, results, target)


@_form(
    "eval-results",
    "Point scores on benchmarks of the Hugging Face hub, as a model's `.eval_results` has them.",
    ".eval-results",
    "copy MODEL.yaml of {} into the `.eval_results` folder of the model's repository",
)
def _eval_results(compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
    from gridc.reports.exchange.eval_results import export

    return export(compiled, lock, results, target)
