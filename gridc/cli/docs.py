"""`gridc docs`."""

import sys
from pathlib import Path

import click

from gridc.cli import terminal
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.study.examples import write_logs


@click.command()
@click.argument("name", required=False)
@click.option("--find", metavar="TEXT", help="List the lines, in all pages, that contain a text.")
@click.option(
    "--examples",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write the logs that pages use as an example into this folder.",
)
def docs(name: str | None, find: str | None, examples: Path | None) -> None:
    """Read the documentation that came with this version, offline; without a NAME, list its pages."""
    from gridc.study.documentation import lines_with, pages

    if sum(given is not None for given in (name, find, examples)) > 1:
        message = "NAME shows a page, --find looks through all of them, and --examples writes files: give one"
        raise UsageError([Diagnostic("GC000", message)])
    if examples is not None:
        for run in write_logs(examples):
            click.echo(f"wrote {run}")
        return
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
