"""`gridc deviations`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, print_json, study_command
from gridc.cli.terminal import visible
from gridc.diagnostics.errors import StampError
from gridc.study import OpenStudy

if TYPE_CHECKING:
    from gridc.study.stamping import StampDeviations


@click.command()
@study_command
@JSON
@click.option("--write", is_flag=True, help="Add what is missing to the log, and fill in its values.")
@click.option(
    "--registered",
    type=click.Path(path_type=Path, exists=True),
    help="Compare with the stamp of this spec, or with what it says where it has none. Default: the study's "
    "own lock.",
)
def deviations(study: OpenStudy, as_json: bool, write: bool, registered: Path | None) -> None:
    """List how the study differs from its stamp, path by path, and what the log says of each difference."""
    result = study.deviations(write, registered)
    if as_json:
        print_json(result.as_json())
        raise SystemExit(StampError.exit_code if result.reconciled.findings else 0)
    if result.added is not None:
        entries = f"{result.added} entries added" if result.added else "nothing to add"
        click.echo(f"{result.log}: {entries}")
    _print(result)
    result.require_explained()


def _print(shown: "StampDeviations") -> None:
    """Print the deviation log, each entry with what was stamped and what is run, and what a run observed."""
    from gridc.study.stamping import shortened_json

    result = shown.reconciled
    if not result.departures and not result.log.deviation:
        click.echo("the study is the one that was stamped")
    for entry, departures in result.entries():
        state = " (resolved)" if entry.resolved else ""
        click.echo(visible(f"{entry.id}  {entry.element}{state}"))
        for departure in departures:
            click.echo(
                visible(
                    f"    {departure.path}: {shortened_json(departure.registered)} -> "
                    f"{shortened_json(departure.implemented)}"
                )
            )
        click.echo(
            click.wrap_text(visible(entry.reason or "no reason yet"), terminal.text_width(), "    ", "    ")
        )
    for row in shown.earlier:
        if row.before_stamp:
            click.echo(click.wrap_text(visible(f"{row.words}: data predate it."), terminal.text_width()))
    if shown.uncovered:
        click.echo(f"note: {shown.uncovered}")
    if shown.unstamped:
        click.echo(visible(f"note: {shown.unstamped} has no lock, so nothing shows since when it says this"))
    for sentence in shown.observed or ():
        click.echo(visible(f"observed: {sentence}"))
    if shown.observed is None:
        click.echo("observed: nothing; the study as it is now has not been run")
