"""`gridc measurands`."""

from dataclasses import asdict

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import JSON, print_json


@click.command()
@click.argument("name", required=False)
@JSON
def measurands(name: str | None, as_json: bool) -> None:
    """List the named measurands, or show NAME: its effects, and where it differs from its source."""
    chosen = study.measurands(name)
    if as_json:
        print_json([asdict(measurand) for measurand in chosen])
    elif name is None:
        width = max(len(measurand.name) for measurand in chosen)
        for measurand in chosen:
            first = f"{measurand.name:<{width}}  "
            click.echo(click.wrap_text(measurand.title, terminal.WIDTH, first, " " * (width + 2)))
    else:
        click.echo(terminal.measurand(chosen[0]))
