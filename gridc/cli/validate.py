"""`gridc validate`."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, SPECS, print_json
from gridc.study import open as open_study
from gridc.study import validate_all

if TYPE_CHECKING:
    from gridc.study.validation import ValidationReport


@click.command()
@SPECS
@FOLDERS
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="sarif is for code scanning.",
)
@JSON
@click.option("--check", is_flag=True, help="Also read the data, and prove that the instrument works.")
@click.option("--expanded", is_flag=True, help="Print one spec, with everything it extends written out.")
def validate(
    specs: tuple[Path, ...],
    data: Path | None,
    models: Path | None,
    style: str,
    as_json: bool,
    check: bool,
    expanded: bool,
) -> None:
    """Check specs, and that everything they name exists. All problems of a stage are shown, each at its
    place.

    A folder stands for the gridcard.toml in it, `-` for standard input. With `--expanded`, standard output
    has only the expanded text, and problems go to standard error."""
    if expanded:
        _expand(specs or (Path("gridcard.toml"),), data, models)
    named = specs or (Path("gridcard.toml"),)
    if check:
        with terminal.progress() as watch:
            rows = list(validate_all(named, data, check, models, watch))
    else:
        rows = list(validate_all(named, data, check, models))
    wrong = tuple(diagnostic for row in rows for diagnostic in row.diagnostics)
    if style == "sarif":
        from gridc.diagnostics.sarif import repository_root, sarif

        print_json(sarif(wrong, repository_root(Path())))
    elif as_json or style == "json":
        specs_json, diagnostics = (
            [row.as_json() for row in rows],
            [diagnostic.as_json() for diagnostic in wrong],
        )
        valid = all(row.valid for row in rows)
        print_json({"valid": valid, "checked": check, "specs": specs_json, "diagnostics": diagnostics})
    else:
        _print(rows, check)
        if wrong:
            click.echo(terminal.diagnostic_text(wrong), err=True)
    raise SystemExit(max(row.exit_code for row in rows))


def _expand(specs: tuple[Path, ...], data: Path | None, models: Path | None) -> None:
    if len(specs) > 1 or specs[0] == Path("-"):
        raise click.UsageError("--expanded takes the path of one spec")
    click.echo(open_study(specs[0], data, models=models).expanded(), nl=False)
    (row,) = validate_all(specs, data, models=models)
    if row.diagnostics:
        click.echo(terminal.diagnostic_text(row.diagnostics), err=True)
    raise SystemExit(row.exit_code)


def _print(rows: "Iterable[ValidationReport]", check: bool) -> None:
    hint = "" if check else " (--check reads the items and tries the instrument)"
    for row in rows:
        if row.valid:
            click.echo(terminal.visible(f"{row.spec}: valid{hint}"))
        for name, reason in row.unpinned.items():
            click.echo(terminal.visible(f"not checked: {name} ({reason})"))
        for note in row.notes:
            click.echo(terminal.visible(f"note: {note}"))
