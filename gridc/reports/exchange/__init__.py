"""The forms in which others read a study, and in which a study reads what others made.

One more form of export is a module of `gridc.adapters.exports` and a row of `EXPORTS`: the command, its help
and the Python call follow from the row. It stands here, and not in the module, because help must not wait for
what that imports. An experiment tracker is a row of `TRACKERS` in the same way.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gridc.diagnostics.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled
    from gridc.compiler.lock.lock import Lock
    from gridc.schema.card import CardDeck


class Export(NamedTuple):
    """A form of export: its help, what the default target adds to the name of the results folder, what to do
    with the result (`{}` is its path), the module of gridc that writes it with its function `export`, and
    whether the form names who publishes it."""

    help: str
    suffix: str
    next_step: str
    module: str
    names_producer: bool = False

    def write(self, compiled: "Compiled", lock: "Lock", results: Path, target: Path, *producer: str) -> Path:
        """From the results folder to the target. What writes it is imported now, since it takes long."""
        path: Path = import_module(f"gridc.{self.module}").export(compiled, lock, results, target, *producer)
        return path


EXPORTS: Mapping[str, Export] = {
    "bundle": Export(
        "One folder with all that `gridc verify FOLDER` needs to check the study offline.",
        ".bundle",
        "`gridc verify {}` checks it with what is in it",
        "reports.exchange.bundle",
    ),
    "every-eval-ever": Export(
        "Every score and answer as Every Eval Ever 0.3 has them (docs/sharing.md says what is lost).",
        ".every-eval-ever",
        "`gridc certify --from {}` reads it back",
        "adapters.exports.every_eval",
    ),
    "eval-results": Export(
        "Point scores on benchmarks of the Hugging Face hub, as a model's `.eval_results` has them.",
        ".eval-results",
        "copy MODEL.yaml of {} into the `.eval_results` folder of the model's repository",
        "adapters.exports.eval_results",
    ),
    "prml": Export(
        "Hypotheses and criteria with a threshold as manifests of PRML 0.1 (docs/prml.md).",
        ".prml",
        "publish it before the run; `gridc verify` compares the manifests with the stamp",
        "reports.exchange.prml",
        names_producer=True,
    ),
}
"""By the name that `gridc export` takes."""


class Tracker(NamedTuple):
    """An experiment tracker: its help, and the module of gridc that logs runs with its function `log`."""

    help: str
    module: str

    def log(self, deck: "CardDeck", results: Path, project: str) -> list[str]:
        """Log one run for each model, with certificate and cards. Where each can be seen."""
        from gridc.reports.exchange.tracked import files_of, tracked_runs

        places: list[str] = import_module(f"gridc.{self.module}").log(
            tracked_runs(deck), files_of(results), project
        )
        return places


TRACKERS: Mapping[str, Tracker] = {
    "mlflow": Tracker(
        "Scores with their intervals as runs of MLflow, where MLFLOW_TRACKING_URI says.",
        "adapters.exports.mlflow",
    ),
    "wandb": Tracker(
        "Scores with their intervals as runs of Weights & Biases; WANDB_MODE=offline sends nothing.",
        "adapters.exports.wandb",
    ),
}
"""By the name that `gridc export` takes."""


MANIFEST = "manifest-sha256.txt"
"""The file of a bundle that lists the others."""


def is_bundle(folder: Path) -> bool:
    """Whether a folder says that it is a bundle."""
    return (folder / MANIFEST).is_file()


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A draft that becomes the folder when the context ends well, and of which nothing is left when it does
    not. Raises `UsageError` (GC000) where there is something already."""
    if target.exists():
        message = "the folder exists already, and nothing is written over"
        raise UsageError([Diagnostic("GC000", message, str(target))])
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield draft
        draft.chmod(0o755)
        os.replace(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
