"""`gridc certify`."""

import sys
from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import ALLOW, FOLDERS, JSON, OUT, SPEC, believes, print_json, resumable
from gridc.study import OpenStudy, Trust


@click.command()
@SPEC
@FOLDERS
@OUT
@JSON
@click.option("--until-decided", is_flag=True, help="Ask only what certifies reversals, and stop.")
@ALLOW
@believes
def certify(
    spec: Path,
    data: Path | None,
    models: Path | None,
    out: Path | None,
    as_json: bool,
    until_decided: bool,
    allow: tuple[str, ...],
    trust: Trust,
) -> None:
    """Say which orders and reversals the items certify. With --until-decided, run as little as it takes."""
    study = OpenStudy(spec, data, out, trust, models=models)
    if until_decided:
        _until_decided(study, as_json, allow)
        return
    certified = study.certify()
    if as_json:
        print_json(certified.as_json())
        return
    for statement in certified.certificate.statements:
        click.echo(terminal.bullet(statement))


def _until_decided(study: OpenStudy, as_json: bool, allow: tuple[str, ...]) -> None:
    with resumable():
        raced = study.certify_until_decided(_show, terminal.note, allow, terminal.consent)
    if as_json:
        print_json(raced.as_json())
        return
    for sentence in raced.sentences:
        click.echo(terminal.bullet(sentence))
    share = 100 * raced.asked / max(raced.calls_in_grid, 1)
    text = f"{raced.asked:,} of the grid's {raced.calls_in_grid:,} calls were asked ({share:.1f} %)"
    click.echo(f"\n{text}: {raced.store}")


def _show(benchmark: str, used: int, units: int) -> None:
    """How far a race is; its length is not known in advance."""
    if sys.stderr.isatty():
        click.echo(f"\r{benchmark}: {used} of {units} items", nl=False, err=True)
