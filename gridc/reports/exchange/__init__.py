"""The forms in which others read a study, and in which a study reads what others made.

One more form of export is a module here and a row of `EXPORTS`: the command, its help and the Python call
follow from the row. It stands here, and not in the module, because help must not wait for what it imports.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled
    from gridc.compiler.lock.lock import Lock


class Export(NamedTuple):
    """A form of export: its help, what the default target adds to the name of the results folder, what to do
    with the result (`{}` is its path), and the module here that writes it with its function `export`."""

    help: str
    suffix: str
    next_step: str
    module: str

    def write(self, compiled: "Compiled", lock: "Lock", results: Path, target: Path) -> Path:
        """From the results folder to the target. What writes it is imported now, since it takes long."""
        path: Path = import_module(f"{__name__}.{self.module}").export(compiled, lock, results, target)
        return path


EXPORTS: Mapping[str, Export] = {
    "bundle": Export(
        "One folder with all that `gridc verify FOLDER` needs to check the study offline.",
        ".bundle",
        "`gridc verify {}` checks it with what is in it",
        "bundle",
    ),
    "every-eval-ever": Export(
        "Every score and answer as Every Eval Ever 0.3 has them (docs/sharing.md says what is lost).",
        ".every-eval-ever",
        "`gridc certify --from {}` reads it back",
        "every_eval",
    ),
    "eval-results": Export(
        "Point scores on benchmarks of the Hugging Face hub, as a model's `.eval_results` has them.",
        ".eval-results",
        "copy MODEL.yaml of {} into the `.eval_results` folder of the model's repository",
        "eval_results",
    ),
}
"""By the name that `gridc export` takes."""
