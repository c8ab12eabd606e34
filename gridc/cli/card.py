"""`gridc card attach` and `gridc card check`."""

from pathlib import Path

import click

from gridc.cli import terminal
from gridc.cli.options import study_command
from gridc.study import OpenStudy

README = click.argument("readme", type=click.Path(path_type=Path, exists=True, dir_okay=False))
FROM = click.option(
    "--from",
    "deck",
    type=click.Path(path_type=Path),
    help="A gridcard.json, or a folder or bundle with one; to attach, also what `certify --from LOGS --out` "
    "wrote. Default: the results of SPEC.",
)


@click.group()
def card() -> None:
    """Put a model's GRID cards into its model card, and check them there."""


@card.command()
@README
@study_command
@FROM
@click.option("--model", help="Which model of the study. Needed where it has several.")
@click.option("--link", help="Address of the certificate. Default: its digest, as a urn.")
def attach(
    readme: Path,
    study: OpenStudy,
    deck: Path | None,
    model: str | None,
    link: str | None,
) -> None:
    """Write the cards of one model between markers, and its scores into the model-index."""
    done = study.attach_card(readme, model, link, deck)
    click.echo(f"{readme}: {'attached' if done.changed else 'already up to date'}, {done.model}")


@card.command()
@README
@study_command
@FROM
def check(readme: Path, study: OpenStudy, deck: Path | None) -> None:
    """Say whether the attached cards still match the study."""
    checked = study.check_card(readme, deck)
    cards = checked.cards
    shown = "" if checked.shown_by else "; nothing here shows that these cards say what was measured"
    about = f"`{checked.model}` in the results {cards.results[:12]} of stamp {cards.stamp[:12]}"
    what = "the GRID card and its results in the model-index agree"
    if cards.recorded is not None:  # cards of logs leave the model-index alone, and nothing was stamped
        what, about = "the GRID card agrees", f"`{checked.model}` in the results {cards.results[:12]} of logs"
    click.echo(f"{readme}: {what} with {about}, as the {checked.shown_by or 'file'} says{shown}")
    unchecked = "; ".join([*checked.unchecked, "what else the file says in words"])
    click.echo(terminal.visible(f"not checked: {unchecked}"))
