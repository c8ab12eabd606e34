"""`gridc explain`."""

import click

from gridc.diagnostics.errors import CODES


@click.command()
@click.argument("words", nargs=-1, metavar="[CODE|KEY|TERM]")
def explain(words: tuple[str, ...]) -> None:
    """Say what a code means and what to do about it, or what a key, a table or a value of a spec means, or a
    term such as `cannot be told apart`; without one, list all codes."""
    from gridc.study.explaining import explained

    if not words:
        for known, entry in CODES.items():
            click.echo(f"{known}  {entry.title}")
        return
    click.echo(explained(" ".join(words)))
