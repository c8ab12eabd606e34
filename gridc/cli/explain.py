"""`gridc explain`."""

import click

from gridc.diagnostics.errors import CODES, Diagnostic, UsageError


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Say what a code means and what to do about it; without a CODE, list them all."""
    from gridc.diagnostics.errors import text

    if code is None:
        for known, entry in CODES.items():
            click.echo(f"{known}  {entry.title}")
        return
    if code.upper() not in CODES:
        help = "`gridc explain` without a code lists them all"
        raise UsageError([Diagnostic("GC000", f"there is no code {code}", help=help)])
    click.echo(text(code.upper()))
