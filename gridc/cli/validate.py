"""Commands that run nothing: validate, explain, schema, measurands."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from gridc.cli import terminal
from gridc.cli.options import DATA, JSON, SPECS, print_json
from gridc.cli.validation_cache import keep, recall
from gridc.diagnostics.codes import CODES
from gridc.diagnostics.errors import Diagnostic, GridcError, UsageError

SCHEMAS = ("gridcard", "deviations", "certificate", "card")


@click.command()
@SPECS
@DATA
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="sarif is for code scanning.",
)
@JSON
@click.option("--check", is_flag=True, help="Read the data too, and prove that the instrument works.")
def validate(
    specs: tuple[Path, ...], data: Path | None, style: str, as_json: bool, check: bool
) -> None:  # fmt: skip
    """Check specs and that what they name is there. Every finding of a stage is shown at its place.

    A folder stands for the gridcard.toml in it, `-` for standard input.
    """
    found: list[Diagnostic] = []
    rows, code = [], 0
    for spec in specs or (Path("gridcard.toml"),):
        try:
            unpinned, notes = _proved(spec, data) if check else (_read(spec, data), [])
        except GridcError as error:
            found += (each if each.file else replace(each, file=str(spec)) for each in error.diagnostics)
            code = max(code, error.exit_code)
            rows.append({"spec": str(spec), "valid": False, "unpinned": {}, "notes": []})
        else:
            rows.append({"spec": str(spec), "valid": True, "unpinned": unpinned, "notes": notes})
    if style == "sarif":
        from gridc.diagnostics.sarif import repository_root, sarif

        print_json(sarif(found, repository_root(Path())))
    elif as_json or style == "json":
        valid = all(each["valid"] for each in rows)
        diagnostics = [each.as_json() for each in found]
        print_json({"valid": valid, "checked": check, "specs": rows, "diagnostics": diagnostics})
    else:
        _tell(rows, check)
        if found:
            click.echo(terminal.diagnostics(tuple(found)), err=True)
    raise SystemExit(code)


def _read(spec: Path, data: Path | None) -> dict[str, str]:
    """What a spec names and cannot be checked here, with the reason. Raises `GridcError`."""
    known = recall(spec, data)
    if known is None:
        from gridc.compiler.frontend.read import read_spec

        checked = read_spec(spec, data)
        keep(spec, data, checked)
        known = dict(checked.references.absent)
    return known


def _proved(spec: Path, data: Path | None) -> tuple[dict[str, str], list[str]]:
    """The same after everything was tried that can be before a call, with notes on what the design can show.
    Raises `GridcError`."""
    from gridc.compiler.compile import compile_spec
    from gridc.compiler.lowering.plan import Plan
    from gridc.compiler.preflight import falsifiability
    from gridc.compiler.preflight.hazards import prove
    from gridc.runtime.run import preflight

    compiled = compile_spec(spec, data)
    prove(compiled.study, compiled.source)
    preflight(compiled)
    return compiled.study.unpinned(), falsifiability.manifest(Plan(compiled.study))["notes"]


def _tell(rows: Iterable[Mapping[str, Any]], check: bool) -> None:
    hint = "" if check else " (--check reads the items and tries the instrument)"
    for row in rows:
        if row["valid"]:
            click.echo(terminal.visible(f"{row['spec']}: valid{hint}"))
        for name, reason in row["unpinned"].items():
            click.echo(terminal.visible(f"not checked: {name} ({reason})"))
        for note in row["notes"]:
            click.echo(terminal.visible(f"note: {note}"))


@click.command()
@click.argument("code")
def explain(code: str) -> None:
    """Say what a code means and what to do about it."""
    from gridc.diagnostics.explain import text

    if code.upper() not in CODES:
        raise UsageError([Diagnostic("GC000", f"there is no code {code}", help=", ".join(CODES))])
    click.echo(text(code.upper()))


@click.command()
@click.argument(
    "name", default="gridcard", type=click.Choice(["gridcard", "deviations", "certificate", "card"])
)
@click.option("--write", is_flag=True, help="Write NAME.v1.schema.json into this folder.")
def schema(name: str, write: bool) -> None:
    """Print a JSON Schema. NAME is the language, the deviation log, a certificate, or the GRID cards."""
    from gridc.schema import jsonschema

    if write:
        Path(jsonschema.file_name(name)).write_text(jsonschema.text(name), "utf-8")
    else:
        click.echo(jsonschema.text(name), nl=False)


@click.command()
@click.argument("name", required=False)
@JSON
def measurands(name: str | None, as_json: bool) -> None:
    """List the named measurands, or show NAME: its effects, and in what it differs from its source."""
    from gridc.compiler.frontend.measurands import measurands as shipped

    known = shipped()
    if name is not None and name not in known:
        raise UsageError([Diagnostic("GC000", f"there is no measurand {name}", help=", ".join(known))])
    chosen = [each for each in known.values() if name in (None, each.name)]
    if as_json:
        print_json([asdict(each) for each in chosen])
    elif name is None:
        width = max(len(each.name) for each in chosen)
        for each in chosen:
            click.echo(f"{each.name:<{width}}  {each.title}")
    else:
        click.echo(terminal.measurand(chosen[0]))
