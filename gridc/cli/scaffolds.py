"""`gridc scaffolds`."""

from pathlib import Path

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SPEC, print_json
from gridc.study import OpenStudy

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
@click.option("--calls", type=FILE, help="Trace the sub-calls of this JSONL file, not those of a study.")
@click.option("--tasks", type=FILE, help="The tasks of these sub-calls by item, as JSONL.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the steps as CSV.")
def scaffolds(
    spec: Path,
    data: Path | None,
    models: Path | None,
    out: Path | None,
    as_json: bool,
    calls: Path | None,
    tasks: Path | None,
    as_csv: bool,
) -> None:
    """Show which parts of a task reached each step of the scaffolds, and what the scaffolds did."""
    if calls is not None:
        propagation, report = study.propagation(calls, tasks), None
    else:
        report = OpenStudy(spec, data, out, models=models).scaffolds()
        propagation = report.propagation
    if as_csv:
        click.echo(propagation.csv(), nl=False)
    elif as_json:
        print_json(propagation.as_json() if report is None else report.as_json())
    elif not propagation.steps:
        click.echo("there is no sub-call in it" if report is None else "no scaffold runs in this study")
    else:
        for line in (
            *terminal.propagation(propagation.rows()),
            *(terminal.scaffold_work(report) if report else ()),
        ):
            click.echo(line)
