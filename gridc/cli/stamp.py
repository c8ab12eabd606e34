"""`gridc stamp`."""

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, believes, print_json, spec_command
from gridc.study import OpenStudy


@click.command()
@spec_command
@JSON
@click.option("--supersede", is_flag=True, help="Replace a stamp that the spec no longer matches.")
@click.option("--check", is_flag=True, help="Write nothing; say whether the lock matches the spec.")
@believes
def stamp(
    study: OpenStudy,
    as_json: bool,
    supersede: bool,
    check: bool,
) -> None:
    """Fix the spec and every input under one digest, in a lock file beside the spec."""
    if check:
        _check(study, as_json)
        return
    with terminal.progress() as watch:
        made = study.stamp(supersede, watch)
    for row in made.earlier:
        if row.before_stamp:
            text = f"{row.words}; every report will say so"
            advice = "A log of deviations (`gridc deviations`) would keep the stamp" * row.superseded
            click.echo(f"{text}. {advice}".rstrip(), err=True)
    if as_json:
        print_json(made.as_json())
        return
    click.echo(f"{made.news}: {made.stamp}\nin {made.lock}")
    for tie in made.anchors:
        click.echo(terminal.visible(f"{tie.strength}: {tie.detail}"))
    for name, reason in made.unpinned.items():
        click.echo(terminal.visible(f"unpinned: {name} ({reason})"))
    for note in made.notes:
        click.echo(terminal.visible(f"note: {note}"))


def _check(study: OpenStudy, as_json: bool) -> None:
    checked = study.check_stamp()
    if as_json:
        print_json(checked.as_json())
        return
    count = len(checked.explained)
    departures = "1 departure" if count == 1 else f"{count} departures"
    click.echo(
        terminal.visible(
            f"{checked.lock}: {'current' if checked.current else f'{departures}, explained in {checked.log}'}"
        )
    )
    click.echo(f"stamp {checked.stamp}")
    if checked.uncovered:
        click.echo(f"note: {checked.uncovered}")
    for name, reason in checked.unchecked.items():
        click.echo(terminal.visible(f"not checked: {name} ({reason})"))
