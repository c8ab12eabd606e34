"""`gridc deviations`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SPEC, print_json
from gridc.diagnostics.errors import StampError
from gridc.study import OpenStudy


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
@click.option("--write", is_flag=True, help="Add what is missing to the log, and fill in its values.")
def deviations(
    spec: Path, data: Path | None, models: Path | None, out: Path | None, as_json: bool, write: bool
) -> None:
    """Compare the study with its stamp, path by path, and with the log that explains the difference."""
    result = OpenStudy(spec, data, out, models=models).deviations(write)
    if as_json:
        print_json(result.as_json())
        raise SystemExit(StampError.exit_code if result.reconciled.findings else 0)
    if result.added is not None:
        entries = f"{result.added} entries added" if result.added else "nothing to add"
        click.echo(f"{result.log}: {entries}")
    terminal.deviations(result)
    result.require_explained()
