"""`gridc explain`."""

import click

from gridc.diagnostics.errors import CODES


@click.command()
@click.argument("word", required=False, metavar="[CODE|KEY]")
def explain(word: str | None) -> None:
    """Say what a code means and what to do about it, or what a key, a table or a value of a spec means;
    without one, list all codes."""
    from gridc.study.explaining import explained

    if word is None:
        for known, entry in CODES.items():
            click.echo(f"{known}  {entry.title}")
        return
    click.echo(explained(word))
