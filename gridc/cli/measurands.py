"""`gridc measurands`."""

import json
from dataclasses import asdict

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import JSON, print_json
from gridc.study.framings import Measurand


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
            click.echo(click.wrap_text(measurand.title, terminal.text_width(), first, " " * (width + 2)))
    else:
        click.echo(_shown(chosen[0]))


def _shown(shown: Measurand) -> str:
    """A named measurand: whose it is, its effects as they can be written into a spec, and what they leave."""
    lines = [f"{shown.name}: {shown.title}", f"{shown.package}, {shown.task}", f"from {shown.source}", ""]
    lines += [f"    {key} = {json.dumps(value)}" for key, value in shown.effects.items()]
    lines += ["", *(f"differs: {difference}" for difference in shown.differs)]
    if shown.loaders:
        lines.append(f"for items of: {', '.join(shown.loaders)}")
    if shown.prompt_from:
        lines.append(f"its prompt does not ship: {shown.prompt_from}")
    return "\n".join(lines)
