"""A table that people keep in a spreadsheet: CSV in UTF-8, by commas, semicolons or tabs."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, FileError, Span
from gridc.files import read_regular

MOST = 2**26
"""Bytes of such a file."""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that is not empty, its line in the file, and its cells by column, stripped of blanks."""

    line: int
    cells: dict[str, str]


def read_sheet(path: Path, what: str, code: str, needed: Sequence[str], help: str) -> list[SheetRow]:
    """The rows below the first line, which names the columns, `needed` once each. Names are compared without
    case. Raises `FileError` with the code, what the file is (in the plural) and the help where it is none."""
    try:
        text = read_regular(path, MOST).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        message = f"the {what} cannot be read: {why}"
        raise FileError([Diagnostic(code, message, str(path), help=help)]) from None
    first = text.split("\n", 1)[0]
    separator = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        message = f"line {reader.line_num} is no CSV ({error})"
        raise FileError([Diagnostic(code, message, str(path), Span(reader.line_num, 1), help)]) from None
    head = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    missing = [name for name in needed if head.count(name) != 1]
    if missing:
        message = f"the first line names no column `{missing[0]}`, or several"
        raise FileError([Diagnostic(code, message, str(path), Span(1, 1), help)])
    return [SheetRow(line, _cells(head, row)) for line, row in rows[1:]]


def _cells(head: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    """By column; of columns that stand twice the first counts, and a row may be short."""
    cells: dict[str, str] = {}
    for name, cell in zip(head, row, strict=False):
        cells.setdefault(name, cell.strip())
    return cells
