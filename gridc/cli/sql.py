"""`gridc sql`."""

import csv
import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from sqlite3 import complete_statement
from typing import TYPE_CHECKING, Any

import click

from gridc.cli import terminal
from gridc.cli.options import FOLDERS, JSON, OUT, SpecPath, print_json
from gridc.cli.terminal import visible
from gridc.diagnostics.errors import GridcError, json_text, unobeyed
from gridc.numbers import counted

if TYPE_CHECKING:
    from gridc.study.sql import Queries, QueryRows, Relation

LONGEST, AHEAD = 2_000, 200
"""Characters of a cell, and rows that the widths of a table follow."""

GREETING = """{path}, open for reading. Statements end with a semicolon.
.tables lists what there is, .quit ends. The same elsewhere:
  sqlite3 -readonly {path}
  duckdb -c "ATTACH '{path}' AS store (TYPE sqlite, READ_ONLY); SELECT count(*) FROM store.sample"
"""


@click.command()
@click.argument("statement", required=False)
@click.option("--spec", type=SpecPath(), default=Path("gridcard.toml"), help="Default: gridcard.toml.")
@click.option(
    "--store", help="Path of a store, instead of a spec; @ and the stamp of one of its studies may follow."
)
@FOLDERS
@OUT
@click.option("--tables", is_flag=True, help="List the tables and their columns.")
@click.option("--format", "style", type=click.Choice(["table", "csv", "json"]), default="table")
@JSON
def sql(
    statement: str | None,
    spec: Path,
    store: str | None,
    data: Path | None,
    models: Path | None,
    out: Path | None,
    tables: bool,
    style: str,
    as_json: bool,
) -> None:
    """Ask the store in SQL, without being able to change it. Without a STATEMENT it opens a shell.

    \b
    gridc sql "select model, count(*) from samples where not parsed group by model"
    gridc sql "select item, text from samples where not parsed" --format csv > unreadable.csv

    `samples` and `calls` are views with names instead of digests; --tables lists them and the tables. In a
    CSV, text that a spreadsheet would run as a formula is preceded by an apostrophe (gridc docs tables), and
    what a terminal would obey is written as in JSON, such as \\u009b."""
    from gridc.study.place import place_of
    from gridc.study.sql import queries

    style = "json" if as_json else style
    with queries(place_of(spec, data, out, models=models), store) as store_queries:
        if tables:
            _print_relations(store_queries.relations(), style)
        elif statement is not None:
            _print(store_queries.select(statement), style)
        else:
            _shell(store_queries, style)


def _print_relations(relations: "list[Relation]", style: str) -> None:
    if style == "json":
        print_json([relation._asdict() for relation in relations])
        return
    for relation in relations:
        click.echo(f"{relation.name} ({relation.kind}): {relation.description}")
        click.echo(click.wrap_text(visible(", ".join(relation.columns)), 100, "    ", "    "))


def _shell(store_queries: "Queries", style: str) -> None:
    """Statements from standard input, one after another; a wrong one does not end it."""
    talking = sys.stdin.isatty()
    if talking:
        import readline  # noqa: F401  # arrow keys and history

        click.echo(GREETING.format(path=visible(str(store_queries.path))), nl=False)
    for statement in _statements(talking):
        try:
            if statement in (".tables", ".schema"):
                _print_relations(store_queries.relations(), style)
            elif statement.startswith("."):
                click.echo("there is .tables and .quit, and SQL", err=True)
            else:
                _print(store_queries.select(statement), style)
        except GridcError as error:
            if not talking:
                raise
            click.echo(terminal.diagnostic_text(error.diagnostics), err=True)


def _statements(talking: bool) -> Iterator[str]:
    held = ""
    while True:
        try:
            line = input(("   ...> " if held else "gridc> ") if talking else "")
        except EOFError:
            break
        except KeyboardInterrupt:
            click.echo("", err=True)
            break
        if not held and line.strip() in (".quit", ".exit"):
            return
        if not held and line.strip().startswith("."):
            yield line.strip()
            continue
        held = f"{held}\n{line}" if held else line
        if complete_statement(held):
            yield held
            held = ""
        elif not held.strip():
            held = ""
    if held.strip():
        yield held


def _print(selected: "QueryRows", style: str) -> None:
    if style == "csv":
        from gridc.study.sql import escape_formulas

        writer = csv.writer(sys.stdout, lineterminator="\n")
        for row in chain([selected.columns], selected.rows):
            writer.writerow(
                [unobeyed(escape_formulas(value)) if isinstance(value, str) else value for value in row]
            )
    elif style == "json":
        _print_records(selected)
    else:
        _print_table(selected)


def _print_records(selected: "QueryRows") -> None:
    """A JSON list, a record a line, as the rows come."""
    opened = False
    for row in selected.rows:
        record = dict(zip(selected.columns, map(_json_value, row), strict=True))
        click.echo(("," if opened else "[") + "\n" + json_text(record), nl=False)
        opened = True
    click.echo("\n]" if opened else "[]")


def _json_value(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _print_table(selected: "QueryRows") -> None:
    if not selected.columns:
        return
    shown = (tuple(map(_cell, row)) for row in selected.rows)
    first = list(islice(shown, AHEAD))
    head = tuple(_cell(name) for name in selected.columns)
    widths = [max(map(len, column)) for column in zip(head, *first, strict=True)]
    numeric = [all(_is_number(row[at]) for row in first) for at in range(len(head))]
    fits = sum(widths) + 2 * (len(widths) - 1) <= terminal.screen()
    if fits:
        click.echo(_line(head, widths, numeric))
        click.echo("  ".join("-" * width for width in widths))
    count = 0
    for count, row in enumerate(chain(first, shown), 1):
        if fits:
            click.echo(_line(row, widths, numeric))
            continue
        for line in terminal.listed(f"row {count:,}", zip(head, row, strict=True), terminal.screen()):
            click.echo(line)
    if sys.stdout.isatty():
        click.echo(f"({counted(count, 'row')})")


def _line(row: tuple[str, ...], widths: list[int], numeric: list[bool]) -> str:
    cells = zip(row, widths, numeric, strict=True)
    return "  ".join(
        f"{text:>{width}}" if right else f"{text:<{width}}" for text, width, right in cells
    ).rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = visible(value.hex() if isinstance(value, bytes) else str(value))
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}... ({len(text) - LONGEST:,} more characters: --format csv or json)"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "NULL"
    return True
