"""`gridc fmt`."""

from pathlib import Path

import click

from gridc.cli.options import JSON, SPEC, print_json
from gridc.cli.terminal import visible
from gridc.study import OpenStudy


@click.command()
@SPEC
@JSON
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the spec is not formatted.")
def fmt(spec: Path, as_json: bool, check: bool) -> None:
    """Format a spec: spaces, line breaks and long arrays. Comments, values and the stamp stay the same."""
    made = OpenStudy(spec).format(check)
    if as_json:
        print_json(made.as_json())
    elif not made.lines:
        click.echo(visible(f"{made.path}: nothing to change"))
    else:
        lines = f"{made.lines:,} line{'s' if made.lines > 1 else ''}"
        click.echo(visible(f"{made.path}: {'would change ' if check else ''}{lines}"))
    if check and made.lines:
        raise SystemExit(1)
