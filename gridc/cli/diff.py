"""The command that compares: diff."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gridc.cli import terminal
from gridc.cli.options import JSON, print_json
from gridc.compiler.lock.diff import Difference, brief, compare, read_document
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.certificate import paired_row
from gridc.reports.findings.store_diff import CellDifference, StoreDiff, diff_stores
from gridc.reports.templates import in_configurations
from gridc.schema.certificate import ChangeRow, PairedRow
from gridc.statistics.contrasts import LevelRow

SHOWN = 40


@click.command()
@click.argument("a")
@click.argument("b")
@JSON
def diff(a: str, b: str, as_json: bool) -> None:
    """Say what differs between two specs, two locks, a spec and a lock, or two stores.

    A store may be followed by @STAMP (its first letters); else its newest study is meant. A folder stands
    for the store.sqlite or the gridcard.toml in it. Exits with 0 where nothing differs, else with 1.
    """
    (left, one), (right, other) = _operand(a), _operand(b)
    stores = [_is_store(path) for path in (left, right)]
    if stores[0] != stores[1]:
        message = f"`{a}` and `{b}` are not of one kind"
        raise UsageError([Diagnostic("GC000", message, help="compare a store with a store")])
    if stores[0]:
        comparison = diff_stores(left, right, (one, other))
        equal = comparison.equal
        document: dict[str, Any] = {
            "kind": "store",
            "equal": equal,
            **asdict(comparison),
            "settings": [each.as_json() for each in comparison.settings],
            "paired": paired_row(comparison.paired).model_dump(mode="json"),
        }
        told = _comparison(comparison)
    else:
        found = compare(read_document(left), read_document(right))
        equal = not found
        document = {"kind": "document", "equal": equal, "differences": [each.as_json() for each in found]}
        told = _differences(found)
    if as_json:
        print_json(document)
    else:
        for line in told:
            click.echo(terminal.visible(line))
    raise SystemExit(0 if equal else 1)


def _operand(text: str) -> tuple[Path, str | None]:
    """A path, and behind an `@` the stamp of the study that is meant."""
    name, at, stamp = text.rpartition("@")
    path = Path(name) if at and not Path(text).exists() else Path(text)
    if path.is_dir():
        store = path / "store.sqlite"
        path = store if store.is_file() else path / "gridcard.toml"
    return path, stamp if at and str(path).startswith(name) and name else None


def _is_store(path: Path) -> bool:
    if not path.is_file():
        return path.suffix in (".sqlite", ".db")
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _differences(found: list[Difference] | tuple[Difference, ...]) -> list[str]:
    lines = []
    for each in found:
        loose = "" if each.stamped else "   (outside the stamp)"
        lines.append(f"{each.path}: {brief(each.a)} -> {brief(each.b)}{loose}")
    return lines


def _comparison(found: StoreDiff) -> list[str]:
    lines = [f"a  {found.a.path}  stamp {found.a.stamp[:12]}  results {found.a.results[:12]}"]
    lines.append(f"b  {found.b.path}  stamp {found.b.stamp[:12]}  results {found.b.results[:12]}")
    if found.equal:
        return [*lines, "nothing differs"]
    lines += _section("settings that differ", _differences(found.settings))
    lines += _section("cells that only a has", found.only_a)
    lines += _section("cells that only b has", found.only_b)
    moved = [each for each in found.cells if each.up or each.down or each.difference != 0]
    moved.sort(key=lambda each: -abs(each.difference or 0))
    lines.append("")
    lines.append(f"{len(found.cells):,} cells in both, {len(moved):,} of them with other outcomes or items")
    lines += _section(
        "b - a, widest first (SE: paired, items taken as independent)", [_cell(each) for each in moved]
    )
    if moved:
        lines += _section("b - a by level, over its cells", [_level(each) for each in found.levels])
        lines += _section("b - a in pairs of cells", _paired(paired_row(found.paired)))
    return lines


def _paired(row: PairedRow) -> list[str]:
    """The paired report (SafetyRepro, app. O), as the page has it for two precisions."""
    changes = [("all models", row.overall), *row.by_model.items()]
    lines = [f"{name}: {_change(each)}" for name, each in changes if each is not None]
    if row.unpaired:
        lines.append(f"{row.unpaired:,} measured cells have no measured partner")
    return [*lines, in_configurations(row)]


def _change(row: ChangeRow) -> str:
    sizes = (row.median_absolute, row.mean_absolute, row.max_absolute)
    median, mean, largest = (f"{100 * each:.1f}" for each in sizes)
    return (
        f"{row.cells:,} cells, |b - a| median {median}, mean {mean}, at most {largest} pp; "
        f"{row.over_5:,} over 5, {row.over_10:,} over 10"
    )


def _level(row: LevelRow) -> str:
    found = row.summary
    spread = "" if found.sd is None else f", sd {100 * found.sd:.1f}"
    return (
        f"{row.axis}={row.level}: {100 * found.mean:+.1f} pp in the mean of {found.n:,} cells{spread}; "
        f"in size {100 * found.mean_absolute:.1f}, at most {100 * found.max_absolute:.1f}"
    )


def _section(title: str, rows: list[str] | tuple[str, ...]) -> list[str]:
    if not rows:
        return []
    rest = [f"  {len(rows) - SHOWN:,} more (--json lists all)"] if len(rows) > SHOWN else []
    return ["", f"{title}:", *(f"  {row}" for row in rows[:SHOWN]), *rest]


def _cell(found: CellDifference) -> str:
    if found.difference is None:
        sides = [side for side, score in (("a", found.a), ("b", found.b)) if score is None]
        return f"{found.cell}: not finished in {' and '.join(sides)}"
    error = "no standard error" if found.standard_error is None else f"SE {100 * found.standard_error:.1f}"
    test = "" if found.adjusted is None else f", Holm's p {found.adjusted:.3g}"
    a, b = ("{}/{}".format(*score) if score else "" for score in (found.a, found.b))
    return (
        f"{found.cell}: {a} -> {b}, {100 * found.difference:+.1f} pp ({error}{test}; of {found.items} items "
        f"in both {found.up} up, {found.down} down)"
    )
