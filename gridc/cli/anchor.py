"""`gridc anchor`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, SIGNING_KEY, believes, print_json, study_command
from gridc.study import OpenStudy


@click.command()
@study_command
@JSON
@SIGNING_KEY
@click.option("--tsa", metavar="URL", help="Have this RFC 3161 authority time-stamp it.")
@believes
def anchor(
    study: OpenStudy,
    as_json: bool,
    key: Path | None,
    tsa: str | None,
) -> None:
    """Tie the lock to a time and a key, and the results too once there are some.

    Existing signatures and tokens are left as they are. Without --key and --tsa nothing is created: the
    command lists the ties that exist, and what a registration must contain."""
    made = study.anchor(key, tsa)
    if as_json:
        print_json(made.as_json())
        return
    for line in made.lines:
        click.echo(terminal.visible(line))
    click.echo(f"a registration holds both: stamp {made.stamp}\n{'lock':>31} {made.lock_sha256}")
