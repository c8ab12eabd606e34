"""`gridc export bundle`."""

from pathlib import Path

import click

from gridc.cli.options import DATA, OUT, SPEC
from gridc.study import OpenStudy


@click.group()
def export() -> None:
    """Write a study in a form that others read."""


@export.command()
@SPEC
@DATA
@OUT
@click.option("--to", type=click.Path(path_type=Path), help="The new folder. Default: beside the results.")
def bundle(spec: Path, data: Path | None, out: Path | None, to: Path | None) -> None:
    """One folder with all that `gridc verify FOLDER` needs to check the study offline."""
    made = OpenStudy(spec, data, out).bundle(to)
    click.echo(f"{made}: `gridc verify {made}` checks it with what is in it")
