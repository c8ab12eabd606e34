"""Scores with their intervals as runs of MLflow, by its own client: one run for each model, in the experiment
that is called like the project."""

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.reports.exchange.tracked import TrackedRun, cut_to, not_logged

if TYPE_CHECKING:
    from mlflow import MlflowClient

PARAMETERS = 100
"""Most parameters that one request may have."""
CHARACTERS = 6000
"""Most characters of a parameter's value."""
NOTE = "mlflow.note.content"
"""The tag that MLflow shows as a run's description."""


def log(runs: Sequence[TrackedRun], files: Sequence[Path], project: str) -> list[str]:
    """Log each run where MLFLOW_TRACKING_URI says, or to MLflow's default. A second export updates the runs
    of the first. Gives where each can be seen. Raises `UnavailableError` without MLflow (GC604) or
    its server (GC624)."""
    try:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    except ImportError:
        message = "this export needs MLflow, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[mlflow]'")]) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # packages of MLflow's warn of one another
            client = MlflowClient()
            found = client.get_experiment_by_name(project)
            experiment = found.experiment_id if found else client.create_experiment(project)
            return [_log(client, experiment, run, files) for run in runs]
    except (MlflowException, OSError, ImportError) as error:  # a file as a store needs packages of its own
        help = "MLFLOW_TRACKING_URI names the server, or a file as sqlite:///mlflow.db"
        raise not_logged("MLflow", error, help) from None


def _log(client: "MlflowClient", experiment: str, run: TrackedRun, files: Sequence[Path]) -> str:
    from mlflow.entities import Metric, Param

    same = f"tags.`gridc.stamp` = '{run.tags['gridc.stamp']}' AND tags.`gridc.model` = '{run.model}'"
    earlier = client.search_runs([experiment], same, max_results=1)
    made = earlier[0] if earlier else client.create_run(experiment, tags=run.tags, run_name=run.model)
    id, now = made.info.run_id, int(time.time() * 1000)
    for name, value in {**run.tags, NOTE: run.note}.items():
        client.set_tag(id, name, value)
    # MLflow lets no parameter change, and under one stamp none does.
    new = [
        Param(name, cut_to(value, CHARACTERS))
        for name, value in run.parameters.items()
        if name not in made.data.params
    ]
    for start in range(0, len(new), PARAMETERS):
        client.log_batch(id, params=new[start : start + PARAMETERS])
    client.log_batch(id, metrics=[Metric(name, value, now, 0) for name, value in run.metrics.items()])
    for file in files:
        client.log_artifact(id, str(file))
    client.update_run(id, status="FINISHED")  # `set_terminated` prints the addresses too
    server = client.tracking_uri
    if server.startswith("http"):
        return f"{server.rstrip('/')}/#/experiments/{experiment}/runs/{id}"
    return f"{run.model}: run {id} in {server}"
