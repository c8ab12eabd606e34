"""`gridc status`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SPEC, print_json
from gridc.cli.score_table import score_table
from gridc.study import OpenStudy


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
def status(spec: Path, data: Path | None, models: Path | None, out: Path | None, as_json: bool) -> None:
    """Say how far the run is: what is left, how fast it goes, what failed, what it took."""
    study = OpenStudy(spec, data, out, models=models)
    state = study.status()
    if as_json:
        print_json(state.as_json())
        return
    progress = state.progress
    share = 100 * progress.answered / max(progress.total, 1)
    click.echo(f"{progress.answered:,} of {progress.total:,} calls answered ({share:.1f} %)")
    for line in terminal.pace(state):
        click.echo(line)
    for line in terminal.spent(state.spent, state.models):
        click.echo(line)
    if progress.complete:
        click.echo()
        for line in score_table(study.scoreboard()):
            click.echo(line)
