"""`gridc verify`."""

from pathlib import Path

import click

from gridc.cli.options import DATA, JSON, OUT, SPEC, Percentage, believes, print_json
from gridc.study import OpenStudy, Trust


@click.command()
@SPEC
@DATA
@OUT
@JSON
@click.option("--rerun", type=Percentage(), help="Make a drawn share of the calls again too, like 1%.")
@believes
def verify(
    spec: Path, data: Path | None, out: Path | None, as_json: bool, rerun: float | None, trust: Trust
) -> None:
    """Recompute everything and name what differs. SPEC may be a bundle's folder.

    It reads the spec, the lock and the store; of a bundle, only what is in it.
    """
    verified = OpenStudy(spec, data, out, trust).verify(rerun)
    if as_json:
        print_json(verified.as_json())
        return
    for line in verified.checked:
        click.echo(f"  {line}")
    click.echo(f"verified: {verified.bundle or verified.stamp}")
