"""`gridc explain`."""

import click

from gridc.diagnostics.codes import CODES
from gridc.diagnostics.errors import Diagnostic, UsageError


@click.command()
@click.argument("code")
def explain(code: str) -> None:
    """Say what a code means and what to do about it."""
    from gridc.diagnostics.explain import text

    if code.upper() not in CODES:
        raise UsageError([Diagnostic("GC000", f"there is no code {code}", help=", ".join(CODES))])
    click.echo(text(code.upper()))
