"""Tables as files: Parquet, CSV (no cell of which a spreadsheet runs) and Arrow, by the file's suffix.
Batches are written as they come.

A spreadsheet runs a cell of a CSV that begins like a formula, and what models write is anybody's. So a text
that begins with `=`, `+`, `-`, `@`, a tab or a line end, with or without apostrophes before it, gets one more
apostrophe in front; numbers stay numbers. So does what begins with `=`, `+`, `-` or `@` after a semicolon, a
tab or a line end within the text, with or without quotes before it: spreadsheets of many countries begin
another cell there, whatever the quotes around the text say. `original` undoes it.

A table that people keep in a spreadsheet is read back as CSV in UTF-8, by commas, semicolons or tabs.
"""

import csv
import io
import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridc.diagnostics.errors import Diagnostic, FileError, Span, UsageError
from gridc.files import read_regular
from gridc.schema.canonical import each_key_once

if TYPE_CHECKING:
    import pyarrow


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
    text = _text_of(path, what, code, help)
    first = text.split("\n", 1)[0]
    separator = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        message = f"line {reader.line_num} is not CSV ({error})"
        raise FileError([Diagnostic(code, message, str(path), Span(reader.line_num, 1), help)]) from None
    head = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    missing = [name for name in needed if head.count(name) != 1]
    if missing:
        message = f"the first line names no column `{missing[0]}`, or several"
        raise FileError([Diagnostic(code, message, str(path), Span(1, 1), help)])
    return [SheetRow(line, _fields_of(head, row)) for line, row in rows[1:]]


def _text_of(path: Path, what: str, code: str, help: str) -> str:
    try:
        return read_regular(path, MOST).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        message = f"the {what} cannot be read: {why}"
        raise FileError([Diagnostic(code, message, str(path), help=help)]) from None


def read_json_lines(path: Path, what: str, code: str, needed: Sequence[str], help: str) -> list[SheetRow]:
    """The same of a file with a JSON object on each line, whose values are texts, whole numbers or null."""
    lines = _text_of(path, what, code, help).split("\n")
    found: list[SheetRow] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            cells = _cells_of(json.loads(line, object_pairs_hook=each_key_once), needed)
        except (ValueError, RecursionError) as error:
            message = f"line {number} is not an object of JSON with a label ({error})"
            raise FileError([Diagnostic(code, message, str(path), Span(number, 1), help)]) from None
        found.append(SheetRow(number, cells))
    return found


def _cells_of(document: Any, needed: Sequence[str]) -> dict[str, str]:
    """Only texts and whole numbers have a column. Raises `ValueError`."""
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    cells = {
        name.strip().lower(): str(value).strip()
        for name, value in document.items()
        if isinstance(value, str) or type(value) is int
    }
    missing = [name for name in needed if name not in cells]
    if missing:
        raise ValueError(f"`{missing[0]}` is neither a text nor a whole number")
    return cells


def _fields_of(head: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    """By column; of columns that stand twice the first counts, and a row may be short."""
    cells: dict[str, str] = {}
    for name, cell in zip(head, row, strict=False):
        cells.setdefault(name, cell.strip())
    return cells


SIGN = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
"""What spreadsheets take for the begin of a formula, in full-width forms too."""
_AT_SIGN = rf"(?<=[;\t\r\n]){{}}(?=[\"']*{SIGN})"
_AT_START = rf"^{{}}(?='*(?:{SIGN}|[\t\r\n]))"
_FORMULA = re.compile(f"{_AT_START.format('')}|{_AT_SIGN.format('')}")
_QUOTED = re.compile(f"{_AT_START.format(chr(39))}|{_AT_SIGN.format(chr(39))}")


def escape_formulas(text: str) -> str:
    """The text as a cell of a CSV of which no spreadsheet runs a part."""
    return _FORMULA.sub("'", text)


def original(cell: str) -> str:
    """The text of a cell: `original(escape_formulas(text)) == text`."""
    return _QUOTED.sub("", cell)


def table_suffix(target: Path) -> str:
    """The suffix that says how a table is written. Raises `UsageError` for another one."""
    if target.suffix.lower() not in WRITERS:
        message = f"`{target.name}` does not say which kind of file it is to be"
        raise UsageError([Diagnostic("GC000", message, help=f"it ends on {', '.join(WRITERS)}")])
    return target.suffix.lower()


def write_table(reader: "pyarrow.RecordBatchReader", target: Path) -> int:
    """Write the rows of a reader to a file, whole or not at all, and count them. Raises `UsageError` for an
    unknown suffix, and `OSError`."""
    write = WRITERS[table_suffix(target)]
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.draft")
    counted = _Counted(reader)
    try:
        write(reader.schema, counted.batches(), draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return counted.rows


class _Counted:
    def __init__(self, reader: "pyarrow.RecordBatchReader") -> None:
        self._reader, self.rows = reader, 0

    def batches(self) -> "Iterator[pyarrow.RecordBatch]":
        for batch in self._reader:
            self.rows += batch.num_rows
            yield batch


def _parquet(schema: Any, batches: "Iterator[pyarrow.RecordBatch]", path: Path) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _arrow(schema: Any, batches: "Iterator[pyarrow.RecordBatch]", path: Path) -> None:
    """An Arrow file. A file holds one dictionary of a column, and batches bring their own, so names are
    written as the texts that they are."""
    import pyarrow as pa

    plain = _plain(schema)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, plain) as writer:
        for batch in batches:
            writer.write_batch(batch.cast(plain))


def _csv(schema: Any, batches: "Iterator[pyarrow.RecordBatch]", path: Path) -> None:
    """Texts are quoted and an empty cell is null; a list is JSON."""
    import pyarrow as pa
    from pyarrow import csv

    flat = pa.schema([pa.field(column.name, _flat(column.type)) for column in schema])
    with csv.CSVWriter(path, flat, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for batch in batches:
            columns = [_cells(column, kind) for column, kind in zip(batch.columns, flat.types, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=flat))


def _cells(column: Any, kind: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_string(kind):
        return column
    values = column.to_pylist()
    texts = (json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for value in values)
    return pa.array([None if text is None else escape_formulas(text) for text in texts], kind)


def _plain(schema: Any) -> Any:
    import pyarrow as pa

    fields = [
        column.with_type(pa.string()) if pa.types.is_dictionary(column.type) else column for column in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)


def _flat(kind: Any) -> Any:
    import pyarrow as pa

    return pa.string() if pa.types.is_dictionary(kind) or pa.types.is_list(kind) else kind


WRITERS: Mapping[str, Callable[[Any, Any, Path], None]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".arrow": _arrow,
}
"""By suffix."""
