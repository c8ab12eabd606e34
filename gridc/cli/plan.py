"""`gridc plan`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SPEC, print_json
from gridc.study import OpenStudy


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
@click.option("--against", "earlier", metavar="STAMP", help="Compare with a stamp or lock file.")
def plan(
    spec: Path, data: Path | None, models: Path | None, out: Path | None, as_json: bool, earlier: str | None
) -> None:
    """Show the cells, envelopes and calls that a run would execute, and what they would cost."""
    manifest = OpenStudy(spec, data, out, models=models).plan(earlier).as_json()
    if as_json:
        print_json(manifest)
    else:
        terminal.plan_table(manifest)
