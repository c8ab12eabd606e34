"""A table of printed figures, and which of them no whole counts can give (`gridc audit grim`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from gridc.diagnostics.errors import Diagnostic, FileError, Span
from gridc.numbers import percent
from gridc.reports.exchange.table_files import SheetRow, read_sheet
from gridc.statistics.grim import (
    PrintedShare,
    RoundingRule,
    always_possible,
    counts,
    difference_possible,
    interval_methods,
    needed_rules,
)

FigureVerdict = Literal["possible", "impossible", "not explained", "always possible"]
"""`not explained`: an interval that no method that is known here gives; others exist. `always possible`: n is
so large that any figure of this precision would pass."""
LARGEST = 1_000_000
"""The largest denominator: beyond it no figure of a paper has digits enough to be impossible."""
FEWEST = 3
"""Up to so many there are no smaller denominators that are worth naming."""
LONGEST = 100
"""Characters of a printed figure; more are no figure."""
OTHER_SIZES = 8
"""Denominators that are named where the stated one does not fit."""

_WHOLE = re.compile("[0-9]{1,7}")
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_RATE = rf"(?P<{{0}}>{_NUMBER})\s*(?P<{{0}}_unit>%|pp)?"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        _RATE.format("rate"),
        rf"(?P<count>\d+)\s*(?:=\s*|\(\s*){_RATE.format('rate')}\s*\)?",
        rf"{_RATE.format('rate')}\s*\[\s*{_RATE.format('low')}\s*[,;]\s*{_RATE.format('high')}\s*\]",
        rf"{_RATE.format('first')}\s+-\s+{_RATE.format('second')}\s*=\s*{_RATE.format('change')}",
        rf"(?:NNH|NNT)\s+(?P<needed>\d+)\s*=\s*{_RATE.format('change')}",
    )
)
_ENDS = ("low", "high")
"""The parts of an interval, which may lie beyond 0 and 1."""
_HELP = (
    "write `63.6%`, `0.636`, `149 (50.5%)`, `63.6% [57.9, 68.9]`, `+7.2 pp`, `70.8% - 63.6% = 7.2`"
    " or `NNH 14 = 7.2 pp`"
)


@dataclass(frozen=True, slots=True)
class FigureOutcome:
    """What can be said of a figure, why, and of a number needed by which rules of rounding it comes."""

    verdict: FigureVerdict
    reason: str
    rules: tuple[RoundingRule, ...] = ()


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A printed figure with its denominators, `n_other` being the second rate's, and what came of it."""

    line: int
    name: str
    printed: str
    n: int | None
    n_other: int | None
    outcome: FigureOutcome

    @property
    def about(self) -> str:
        """Line, name, figure and denominators."""
        name = f"{self.name}: " if self.name else ""
        sizes = " and ".join(str(size) for size in (self.n, self.n_other) if size is not None)
        return f"line {self.line}: {name}{self.printed}" + (f" of {sizes}" if sizes else "")


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """The rows of a table; and for each denominator with an impossible row, smaller ones that all its rows
    would fit, largest first."""

    rows: tuple[FigureRow, ...]
    fitting: dict[int, tuple[int, ...]]

    def of(self, verdict: FigureVerdict) -> list[FigureRow]:
        return [row for row in self.rows if row.outcome.verdict == verdict]

    @property
    def impossible(self) -> bool:
        """Whether any figure is."""
        return bool(self.of("impossible"))

    @property
    def sentences(self) -> list[str]:
        """What came of it: the figures that are not possible, the denominators that would do, and how many
        figures have each verdict."""
        return list(_sentences(self))

    def as_json(self) -> dict[str, Any]:
        return {"rows": [asdict(row) for row in self.rows], "fitting": self.fitting}


@dataclass(frozen=True, slots=True)
class _PrintedRow:
    """A row as it is read."""

    row: SheetRow
    figures: dict[str, PrintedShare]
    """By the part of its form: rate, low, high, first, second, change."""
    counts: dict[str, int]
    """count and needed, where the form has them."""
    n: int | None
    n_other: int | None


def check_table(path: Path) -> PrintedTable:
    """Check every row of a CSV with the columns `printed` and `n`, and perhaps `n_other`; other columns name
    the row. Raises `FileError` with everything in it that cannot be read (GC667), each at its line."""
    help = "a CSV in UTF-8 whose first line names the columns `printed` and `n`"
    sheet = read_sheet(path, "figures", "GC667", ("printed", "n"), help)
    read = [_read(row) for row in sheet]
    wrong = [
        Diagnostic("GC667", outcome, str(path), Span(row.line, 1), _HELP)
        for row, outcome in zip(sheet, read, strict=True)
        if isinstance(outcome, str)
    ]
    if wrong or not read:
        raise FileError(wrong or [Diagnostic("GC667", "the table has no rows", str(path), help=help)])
    printed = [row for row in read if isinstance(row, _PrintedRow)]
    rows = tuple(_checked(row) for row in printed)
    misfits = {
        row.n for row in rows if row.outcome.verdict == "impossible" and row.n is not None and row.n > 3
    }
    return PrintedTable(rows, {n: _fitting(printed, n) for n in sorted(misfits)})


def _read(row: SheetRow) -> _PrintedRow | str:
    """The row, or what is wrong with it."""
    text = " ".join(row.cells.get("printed", "").replace("\u2212", "-").replace("\u2013", "-").split())
    form = next((match for match in (form.fullmatch(text) for form in _FORMS) if match), None)
    if form is None or len(text) > LONGEST:
        return f"`{text[:60]}` is not a known form of a figure"
    sizes: dict[str, int | None] = {}
    for column in ("n", "n_other"):
        size = row.cells.get(column, "").replace(",", "")
        if size and not (_WHOLE.fullmatch(size) and 1 <= int(size) <= LARGEST):
            return f"`{size[:20]}` in column `{column}` is not a whole number from 1 to {LARGEST:,}"
        sizes[column] = int(size) if size else None
    parts = form.groupdict()
    percent = any(parts.get(name) for name in parts if name.endswith("_unit"))
    figures = {
        name: _figure(parts[name], percent) for name in parts if f"{name}_unit" in parts and parts[name]
    }
    signed = text.startswith(("+", "-")) or parts.get("rate_unit") == "pp"
    if "rate" in figures and signed:
        figures["change"] = figures.pop("rate")
    if sizes["n"] is None and "needed" not in parts:
        return "the row has no `n`, without which any figure is possible"
    if any(abs(figure.value) > 1 for name, figure in figures.items() if name not in _ENDS):
        return f"`{text}` is above 1; percent have a `%`"
    counts = {name: int(parts[name]) for name in ("count", "needed") if parts.get(name)}
    if counts.get("needed") == 0:
        return "a number needed is at least 1"
    return _PrintedRow(row, figures, counts, sizes["n"], sizes["n_other"])


def _figure(text: str, percent: bool) -> PrintedShare:
    places = len(text.partition(".")[2])
    unit = Fraction(1, 10**places) / (100 if percent else 1)
    return PrintedShare(Fraction(text) / (100 if percent else 1), unit / 2)


def _checked(printed: _PrintedRow) -> FigureRow:
    outcome = _outcome(printed, printed.n)
    name = ", ".join(
        cell
        for column, cell in printed.row.cells.items()
        if cell and column not in ("printed", "n", "n_other")
    )
    shown = printed.row.cells["printed"]
    return FigureRow(printed.row.line, name, shown, printed.n, printed.n_other, outcome)


def _outcome(printed: _PrintedRow, n: int | None) -> FigureOutcome:
    """Of the row if its denominator were n."""
    figures, counts = printed.figures, printed.counts
    if "needed" in counts:
        return _number_needed(counts["needed"], figures["change"], n)
    assert n is not None, "only a number needed may lack it"
    if "change" in figures:
        return _difference(figures, n, printed.n_other or n)
    return _rate(figures, counts.get("count"), n)


def _rate(figures: dict[str, PrintedShare], count: int | None, n: int) -> FigureOutcome:
    rate = figures["rate"]
    possible = counts(rate, n)
    if count is not None:
        if count > n or count not in possible:
            return FigureOutcome("impossible", f"{count} of {n} is {_percent(count, n)}")
        return FigureOutcome("possible", f"{count} of {n}")
    if not possible:
        near = _impossible_counts(rate, n)
        return FigureOutcome("impossible", " and ".join(f"{k} of {n} is {_percent(k, n)}" for k in near))
    if "low" in figures:
        return _interval(figures["low"], figures["high"], possible, n)
    if always_possible(rate, n):
        return FigureOutcome("always possible", f"of {n} any figure of this precision is possible")
    return FigureOutcome("possible", f"{_range_words(possible)} of {n}")


def _impossible_counts(rate: PrintedShare, n: int) -> list[int]:
    """The counts around a rate that no count gives."""
    below = int(rate.value * n)
    return [k for k in (below, below + 1) if 0 <= k <= n]


def _interval(low: PrintedShare, high: PrintedShare, possible: Sequence[int], n: int) -> FigureOutcome:
    if low.value > high.value:
        return FigureOutcome("impossible", "the interval ends before it begins")
    methods = list(interval_methods(low, high, possible, n))
    if not methods:
        return FigureOutcome("not explained", "no method that is known here gives these ends")
    return FigureOutcome("possible", f"its ends: {', '.join(methods)}")


def _difference(figures: dict[str, PrintedShare], n: int, m: int) -> FigureOutcome:
    change = figures["change"]
    rates = [(figures[name], size) for name, size in (("first", n), ("second", m)) if name in figures]
    for rate, size in rates:
        if not counts(rate, size):
            return _rate({"rate": rate}, None, size)
    first, second = [counts(*rate) for rate in rates] or [range(n + 1), range(m + 1)]
    if not difference_possible(change, first, n, second, m):
        among = "these rates" if rates else "two rates"
        sizes = str(n) if m == n else f"{n} and {m}"
        return FigureOutcome("impossible", f"no counts of {sizes} with {among} give it")
    if not rates and n == m and always_possible(change, n):
        return FigureOutcome("always possible", "any figure of this precision is possible")
    if "low" in figures:
        return FigureOutcome("not explained", "intervals of differences are not tried here")
    return FigureOutcome("possible", "a difference of whole counts")


def _number_needed(needed: int, change: PrintedShare, n: int | None) -> FigureOutcome:
    if n is not None and not difference_possible(change, range(n + 1), n, range(n + 1), n):
        return FigureOutcome("impossible", f"no difference of {n} pairs is printed so")
    rules = tuple(needed_rules(needed, change, n))
    if not rules:
        return FigureOutcome("impossible", "it is not one over the difference, however it is rounded")
    return FigureOutcome("possible", f"rounded {' or '.join(rules)}", rules)


def _fitting(printed: Sequence[_PrintedRow], n: int) -> tuple[int, ...]:
    """The largest denominators from half of n with which no row is impossible that has n."""
    same = [
        replace(row, figures={name: row.figures[name] for name in row.figures if name not in _ENDS})
        for row in printed
        if row.n == n and row.n_other is None
    ]
    smaller = (size for size in range(n - 1, n // 2, -1) if _all_fit(same, size))
    return tuple(islice(smaller, OTHER_SIZES)) if same else ()


def _all_fit(rows: Sequence[_PrintedRow], size: int) -> bool:
    return all(_outcome(row, size).verdict != "impossible" for row in rows)


def _sentences(table: PrintedTable) -> Iterator[str]:
    for row in (*table.of("impossible"), *table.of("not explained")):
        yield f"{row.about} is {row.outcome.verdict}: {row.outcome.reason}"
    for n, sizes in table.fitting.items():
        named = ", ".join(str(size) for size in sizes) or "none"
        more = ", …" if len(sizes) == OTHER_SIZES else ""
        yield f"denominators from {n // 2 + 1} to {n - 1} that all rows of {n} fit: {named}{more}"
    needed = [row.outcome.rules for row in table.rows if row.outcome.rules]
    if needed and not set(needed[0]).intersection(*needed):
        yield "no one rule of rounding gives all numbers needed"
    totals = [f"{len(table.of(verdict))} {verdict}" for verdict in _ORDER if table.of(verdict)]
    yield f"{len(table.rows)} printed figures: {', '.join(totals)}"


_ORDER: tuple[FigureVerdict, ...] = ("possible", "impossible", "not explained", "always possible")


def _percent(count: int, n: int) -> str:
    return percent(count / n, 2)


def _range_words(possible: range) -> str:
    if len(possible) == 1:
        return str(possible[0])
    return f"{possible[0]} to {possible[-1]}"
