"""`gridc run`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SPEC, print_json, resumable
from gridc.study import OpenStudy


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
@click.option("--shard", metavar="K/N", help="Run only part K of N. `gridc merge` joins their stores.")
def run(
    spec: Path, data: Path | None, models: Path | None, out: Path | None, as_json: bool, shard: str | None
) -> None:
    """Execute the plan into the store. Run it again to resume a run that was stopped."""
    study = OpenStudy(spec, data, out, models=models)
    with resumable(), terminal.progress() as watch:
        done = study.run(shard, watch, lambda text: click.echo(text, err=True))
    if as_json:
        print_json(done.as_json())
        return
    finished = done.finished
    click.echo(f"{finished.executed:,} calls executed, {finished.reused:,} were in the store: {done.store}")
    for line in terminal.spent(finished.spent, done.models):
        click.echo(line)
    click.echo(f"results {done.results}")
