"""`gridc view`."""

from pathlib import Path

import click

from gridc.cli.options import FOLDERS, OUT, reads_logs
from gridc.study import LogOptions, view_pages
from gridc.study import view as show

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("path", type=PATH, default=Path(), metavar="[SPEC|STORE|BUNDLE|LOGS]")
@click.option("--with", "other", type=PATH, help="What to compare with: another store, bundle, spec or logs.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8417,
    show_default=True,
    help="Port to listen on; 0: any free one.",
)
@click.option("--export", "folder", type=PATH, help="Write the pages as files into this new folder instead.")
@click.option(
    "--pages",
    type=click.IntRange(1),
    default=5_000,
    show_default=True,
    help="The largest number of pages that `--export` writes.",
)
@FOLDERS
@OUT
@reads_logs
def view(
    path: Path,
    other: Path | None,
    port: int,
    folder: Path | None,
    pages: int,
    data: Path | None,
    models: Path | None,
    out: Path | None,
    how: LogOptions,
) -> None:
    """Browse prompts and responses: from the flip surface to the items on which two models differ, to both
    responses side by side.

    It changes nothing in the store, even while a run writes to it. Put @STAMP after a store that holds
    several studies: the first letters of a stamp. It listens on 127.0.0.1 only, until Ctrl-C."""
    if folder is None:
        show(path, other, port, _ready, data, out, models, how)
        click.echo("stopped", err=True)
        return
    written = view_pages(folder, path, other, pages, _written, data, out, models, how)
    click.echo(f"{written.folder / 'index.html'}: {written.pages:,} pages")
    if written.left_out:
        click.echo(
            f"{written.left_out:,} further pages are linked from these and were left out; --pages takes more"
        )


def _ready(address: str) -> None:
    click.echo(f"{address}  (Ctrl-C ends it)")


def _written(pages: int) -> None:
    if pages % 1000 == 0:
        click.echo(f"{pages:,} pages", err=True)
