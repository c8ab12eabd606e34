"""`gridc docs`."""

import sys

import click

from gridc.cli import terminal
from gridc.diagnostics.errors import Diagnostic, UsageError


@click.command()
@click.argument("name", required=False)
@click.option("--find", metavar="TEXT", help="List the lines, in all pages, that contain a text.")
def docs(name: str | None, find: str | None) -> None:
    """Read the documentation that came with this version, offline; without a NAME, list its pages."""
    from gridc.study.documentation import lines_with, pages

    if name is not None and find is not None:
        raise UsageError([Diagnostic("GC000", "NAME shows a page, and --find looks through all of them")])
    if find is not None:
        hits = lines_with(find)
        for page, number, line in hits:
            click.echo(terminal.visible(f"{page.name}:{number}: {line}"))
        if not hits:
            click.echo(f"no page has {find!r}", err=True)
            raise SystemExit(1)
        return
    known = pages(name)
    if name is None:
        width = max(len(page.name) for page in known)
        for page in known:
            click.echo(f"{page.name:<{width}}  {page.title}")
        return
    (page,) = known
    if not sys.stdout.isatty():
        click.echo(page.markdown, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(page.markdown))
