"""`gridc verify`."""

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, Percentage, Seed, believes, of_study, print_json
from gridc.diagnostics.errors import IncompleteError
from gridc.study import OpenStudy


@click.command()
@of_study
@JSON
@click.option("--rerun", type=Percentage(), help="Also repeat a random share of the calls, such as 1%.")
@click.option("--rerun-seed", type=Seed(), help="Repeat the draw of an earlier rerun.")
@believes
def verify(
    study: OpenStudy,
    as_json: bool,
    rerun: float | None,
    rerun_seed: str | None,
) -> None:
    """Recompute everything and name what differs. SPEC may be a bundle's folder.

    It reads the spec, the lock and the store, or only what is in a bundle.
    """
    verified = study.verify(rerun, rerun_seed)
    if as_json:
        print_json(verified.as_json())
    else:
        for line in verified.checked:
            click.echo(f"  {terminal.visible(line)}")
        state = "verified" if verified.complete else "incomplete, nothing differs so far"
        click.echo(f"{state}: {verified.bundle or verified.stamp}")
    if not verified.complete:
        raise SystemExit(IncompleteError.exit_code)
