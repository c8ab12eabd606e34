"""`gridc diff`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from gridc import study
from gridc.cli import terminal
from gridc.cli.options import JSON, print_json
from gridc.numbers import hundredths, in_points, p_in_text
from gridc.schema.certificate import ChangeRow

if TYPE_CHECKING:
    from gridc.study.comparing import CellDifference, LevelSummary, PathDifference, StoreDiff, StudyDiff

SHOWN = 40


@click.command()
@click.argument("a")
@click.argument("b")
@JSON
def diff(a: str, b: str, as_json: bool) -> None:
    """Say what differs between two specs, two locks, a spec and a lock, or two stores.

    Put @STAMP after a store that holds several studies: the first letters of a stamp. A folder stands for
    the store.sqlite or the gridcard.toml in it. Cells and items of two stores are paired as `gridc compare`
    pairs them (docs/compare.md, What is paired). Exits with 0 if nothing differs, else with 1.
    """
    found = study.diff(a, b)
    if as_json:
        print_json(found.as_json())
    else:
        for line in _lines(found):
            click.echo(terminal.visible(line))
    raise SystemExit(0 if found.equal else 1)


def _lines(found: "StudyDiff") -> list[str]:
    if found.stores is None:
        return _differences(found.differences)
    return _comparison(found.stores, found)


def _differences(found: "Iterable[PathDifference]") -> list[str]:
    from gridc.study.comparing import shortened_json

    lines = []
    for difference in found:
        loose = "" if difference.stamped else "   (outside the stamp)"
        where = ", ".join(place for place in difference.places if place)
        change = f"{shortened_json(difference.a)} -> {shortened_json(difference.b)}"
        lines.append(f"{difference.path}: {change}{loose}{where and f'   ({where})'}")
    return lines


def _comparison(found: "StoreDiff", comparison: "StudyDiff") -> list[str]:
    lines = [f"a  {found.a.path}  stamp {found.a.stamp[:12]}  results {found.a.results[:12]}"]
    lines.append(f"b  {found.b.path}  stamp {found.b.stamp[:12]}  results {found.b.results[:12]}")
    if found.equal:
        return [*lines, "nothing differs"]
    lines += _section("a beside b", found.pairing)
    lines += _section("settings that differ", _differences(found.settings))
    for side, cells, why in (("a", found.only_a, found.why_a), ("b", found.only_b, found.why_b)):
        reasons = f" ({'; '.join(why)})" if why else ""
        lines += _section(f"cells that only {side} has{reasons}", cells)
    moved = [cell for cell in found.cells if cell.up or cell.down or cell.difference != 0]
    moved.sort(key=lambda difference: -abs(difference.difference or 0))
    lines.append("")
    lines.append(f"{len(found.cells):,} cells in both, {len(moved):,} of them with other outcomes or items")
    lines += _section(
        "b - a, widest first (SE and p: paired, by unit)",
        [_cell(difference) for difference in moved],
    )
    if moved:
        lines += _section("b - a by level, over its cells", [_level(level) for level in found.levels])
        lines += _section("b - a in pairs of cells", _paired(comparison))
    return lines


def _paired(comparison: "StudyDiff") -> list[str]:
    """The paired report (SafetyRepro, app. O), as the page has it for two precisions."""
    row, orders = comparison.paired, comparison.orders
    if row is None or orders is None:
        return []
    changes = [("all models", row.overall), *row.by_model.items()]
    lines = [f"{name}: {_change(change)}" for name, change in changes if change is not None]
    if row.unpaired:
        lines.append(f"{row.unpaired:,} measured cells have no measured partner")
    return [*lines, orders]


def _change(row: ChangeRow) -> str:
    sizes = (row.median_absolute, row.mean_absolute, row.max_absolute)
    median, mean, largest = (hundredths(size) for size in sizes)
    return (
        f"{row.cells:,} cells, |b - a| median {median}, mean {mean}, at most {largest} pp; "
        f"{row.over_5:,} over 5, {row.over_10:,} over 10"
    )


def _level(row: "LevelSummary") -> str:
    summary = row.summary
    spread = "" if summary.sd is None else f", sd {hundredths(summary.sd)}"
    return (
        f"{row.axis}={row.level}: {in_points(summary.mean)} pp in the mean of {summary.n:,} cells{spread}; "
        f"in size {hundredths(summary.mean_absolute)}, at most {hundredths(summary.max_absolute)}"
    )


def _section(title: str, rows: list[str] | tuple[str, ...]) -> list[str]:
    if not rows:
        return []
    rest = [f"  {len(rows) - SHOWN:,} more (--json lists all)"] if len(rows) > SHOWN else []
    return ["", f"{title}:", *(f"  {row}" for row in rows[:SHOWN]), *rest]


def _cell(found: "CellDifference") -> str:
    if found.difference is None:
        sides = [side for side, score in (("a", found.a), ("b", found.b)) if score is None]
        return f"{found.cell}: not finished in {' and '.join(sides)}"
    error = "no standard error" if found.standard_error is None else f"SE {hundredths(found.standard_error)}"
    test = "" if found.adjusted is None else f", {p_in_text(found.adjusted)} (Holm)"
    units = "" if found.units in (None, found.items) else f", {found.units} units,"
    a, b = ("{}/{}".format(*score) if score else "" for score in (found.a, found.b))
    name = found.cell if found.cell_b is None else f"{found.cell} beside {found.cell_b}"
    return (
        f"{name}: {a} -> {b}, {in_points(found.difference)} pp ({error}{test}; of {found.items} items "
        f"in both{units} {found.up} up, {found.down} down)"
    )
