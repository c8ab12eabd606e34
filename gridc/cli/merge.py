"""`gridc merge`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import ACKNOWLEDGE, JSON, print_json, study_command
from gridc.study import OpenStudy


@click.command()
@study_command
@click.argument("others", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="STORE...")
@JSON
@ACKNOWLEDGE
def merge(
    study: OpenStudy,
    others: tuple[Path, ...],
    as_json: bool,
    acknowledge: tuple[str, ...],
) -> None:
    """Copy answers from other stores of the study, such as the shards of a run, into its store."""
    done = study.merge(others, acknowledge, terminal.note)
    if as_json:
        print_json(done.as_json())
        return
    finished = done.finished
    click.echo(f"{finished.executed:,} calls taken, {finished.reused:,} were in the store: {done.store}")
    click.echo(f"results {done.results}")
    left = terminal.left(study.status())
    if left:
        click.echo(f"{left}; `gridc run` asks what is left")
