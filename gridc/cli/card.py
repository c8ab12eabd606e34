"""Commands on a GRID card in a model card: attach, check."""

from pathlib import Path

import click

from gridc.cli.options import DATA, OUT, SPEC, store_path
from gridc.compiler.compile import compile_spec
from gridc.diagnostics.errors import VerificationError
from gridc.reports.exchange import model_card as attaching
from gridc.reports.files import read_deck

README = click.argument("readme", type=click.Path(path_type=Path, exists=True, dir_okay=False))
FROM = click.option(
    "--from",
    "deck",
    type=click.Path(path_type=Path),
    help="A gridcard.json, or a folder or bundle with one. Default: the results of SPEC.",
)


@click.group()
def card() -> None:
    """Put a model's GRID cards into its model card, and check them there."""


@card.command()
@README
@SPEC
@DATA
@OUT
@FROM
@click.option("--model", help="Which model of the study. Needed where it has several.")
@click.option("--link", help="Where the certificate can be had. Default: its digest, as a urn.")
def attach(
    readme: Path,
    spec: Path,
    data: Path | None,
    out: Path | None,
    deck: Path | None,
    model: str | None,
    link: str | None,
) -> None:
    """Write the cards of one model between markers, and its scores into the model-index."""
    found = read_deck(deck or store_path(compile_spec(spec, data), out).parent)
    chosen = attaching.model_of(found, model)
    changed = attaching.attach(readme, found, chosen, link)
    click.echo(f"{readme}: {'attached' if changed else 'already up to date'}, {chosen}")


@card.command()
@README
@SPEC
@DATA
@OUT
@FROM
def check(readme: Path, spec: Path, data: Path | None, out: Path | None, deck: Path | None) -> None:
    """Say whether the attached cards are still what the study says."""
    found = read_deck(deck or store_path(compile_spec(spec, data), out).parent)
    differs = attaching.check(readme, found)
    if differs:
        raise VerificationError(differs)
    click.echo(f"{readme}: agrees with results {found.results[:12]} of stamp {found.stamp[:12]}")
