"""The forms in which others read a study, and in which a study reads what others made.

To add a form of export, write it in a module here and a row in `EXPORTS`: the command, its help and the
Python call follow from the row.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled
    from gridc.compiler.lock.lock import Lock


class Export(NamedTuple):
    """A form of export: its help, what the default target adds to the name of the results folder, what to do
    with the result (`{}` is its path), and what writes it, from the results folder to the target."""

    help: str
    suffix: str
    next_step: str
    write: "Callable[[Compiled, Lock, Path, Path], Path]"


def _bundle(compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
    from gridc.reports.exchange.bundle import export

    return export(compiled, lock, results, target)


def _every_eval(compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
    from gridc.reports.exchange.every_eval import export

    return export(compiled, lock, results, target)


def _eval_results(compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
    from gridc.reports.exchange.eval_results import export

    return export(compiled, lock, results, target)


EXPORTS: Mapping[str, Export] = {
    "bundle": Export(
        "One folder with all that `gridc verify FOLDER` needs to check the study offline.",
        ".bundle",
        "`gridc verify {}` checks it with what is in it",
        _bundle,
    ),
    "every-eval-ever": Export(
        "Every score and answer as Every Eval Ever 0.3 has them (docs/sharing.md says what is lost).",
        ".every-eval-ever",
        "`gridc certify --from {}` reads it back",
        _every_eval,
    ),
    "eval-results": Export(
        "Point scores on benchmarks of the Hugging Face hub, as a model's `.eval_results` has them.",
        ".eval-results",
        "copy MODEL.yaml of {} into the `.eval_results` folder of the model's repository",
        _eval_results,
    ),
}
"""By the name that `gridc export` takes."""
