"""`gridc audit sample`, `gridc audit read` and `gridc audit grim`."""

from pathlib import Path

import click

from gridc import study as studies
from gridc.cli import terminal
from gridc.cli.options import JSON, of_study, print_json
from gridc.study import OpenStudy

LABELS = click.argument("labels", type=click.Path(path_type=Path, exists=True, dir_okay=False))


@click.group()
def audit() -> None:
    """Have people label responses without knowing their condition; check printed figures."""


@audit.command()
@of_study
@JSON
@click.option(
    "-n",
    "--responses",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many responses to draw, equally many from each cell.",
)
def sample(study: OpenStudy, as_json: bool, responses: int) -> None:
    """Draw a blinded sheet of responses: a CSV, and a page to fill in."""
    drawn = study.audit_sample(responses)
    if as_json:
        print_json(drawn.as_json())
        return
    click.echo(f"{drawn.sheet}: {drawn.responses:,} responses, map sealed as {drawn.seal[:12]}")
    for path in (drawn.csv, drawn.page):
        click.echo(terminal.bullet(str(path)))
    click.echo("hand out either file; `gridc audit read FILE` takes the labels back")


@audit.command()
@LABELS
@of_study
@JSON
def read(labels: Path, study: OpenStudy, as_json: bool) -> None:
    """Read the labels of a filled-in sheet, and say how far they agree with the study's own."""
    if labels.suffix == ".toml":
        raise click.UsageError(
            f"{labels} is not a sheet of labels, which comes first: audit read LABELS SPEC"
        )
    taken = study.audit_read(labels)
    if as_json:
        print_json(taken.as_json())
        return
    for sentence in taken.sentences:
        click.echo(terminal.bullet(sentence))
    click.echo("`gridc report` puts this into the reports")


@audit.command()
@click.argument("table", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@JSON
def grim(table: Path, as_json: bool) -> None:
    """Find printed figures that no whole counts can give (exit 1 if there are any).

    TABLE is a CSV with columns `printed` and `n`; docs/audit.md has the forms of figures."""
    checked = studies.check_figures(table)
    if as_json:
        print_json(checked.as_json())
    else:
        for sentence in checked.sentences:
            click.echo(terminal.bullet(sentence))
        click.echo(f"exit {int(checked.impossible)}   (0 nothing is impossible, 1 something is)")
    raise SystemExit(int(checked.impossible))
