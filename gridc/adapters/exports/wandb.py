"""Scores with their intervals as runs of Weights & Biases, by its own package: one run for each model, in the
project, as one group with the stamp's name."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.reports.exchange.tracked import TrackedRun, not_logged

if TYPE_CHECKING:
    from types import ModuleType


def log(runs: Sequence[TrackedRun], files: Sequence[Path], project: str) -> list[str]:
    """Log each run to the account of WANDB_API_KEY or `wandb login`, or into a folder with
    WANDB_MODE=offline. A second export updates the runs of the first. Gives where each can be seen. Raises
    `UnavailableError` without wandb (GC604), or where W&B refuses (GC624)."""
    try:
        import wandb
        from wandb.errors import Error
    except ImportError:
        message = "this export needs Weights & Biases, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[wandb]'")]) from None
    try:
        return [_log(wandb, run, files, project) for run in runs]
    except (Error, OSError, ValueError) as error:  # a ValueError is a variable of W&B's that it refuses
        help = "`wandb login` or WANDB_API_KEY says who you are; WANDB_MODE=offline needs no server"
        raise not_logged("Weights & Biases", error, help) from None


def _log(wandb: "ModuleType", run: TrackedRun, files: Sequence[Path], project: str) -> str:
    open_run = wandb.init(
        project=project,
        id=run.id,
        name=run.model,
        group=run.tags["gridc.stamp"][:12],
        config={**run.tags, **run.parameters},
        notes=run.note,
        resume="allow",
        settings=wandb.Settings(silent=True),
    )
    with open_run:
        open_run.log(run.metrics)
        report = wandb.Artifact(run.id, "gridc-report")
        for file in files:
            report.add_file(str(file))
        open_run.log_artifact(report)
        if open_run.offline:
            return f"{run.model}: `wandb sync {open_run.settings.sync_dir}` sends it"
        return str(open_run.url)
