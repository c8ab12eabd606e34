"""A file of anyone's own as records: CSV, JSON list, JSONL or Parquet, found out from the file itself.

What was found out and is not what the file's name says is said in words; what could be two things is refused.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gridc.compiler.inputs.loaders.content import is_parquet, parquet_rows, refuse_others
from gridc.compiler.inputs.loaders.errors import BadRow, Malformed
from gridc.compiler.inputs.loaders.files import File

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
UTF16 = (b"\xff\xfe", b"\xfe\xff")
DEEP = 8
"""Tables within tables whose keys are told apart."""


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of a file with their numbers, a `BadRow` where one cannot be read; the names that a field map
    may use, those of nested tables with dots; and what was found out about the file."""

    rows: tuple[tuple[int, Any], ...]
    names: tuple[str, ...]
    said: tuple[str, ...] = ()


def records(file: File) -> Records:
    """The records of a file. Raises `Malformed` where it cannot be read to its end."""
    if is_parquet(file.data):
        return _named(tuple(parquet_rows(file.data)), ())
    refuse_others(file.name, file.data)
    text, said = _text(file)
    start = text.lstrip()[:1]
    if file.suffix in (".csv", ".tsv") or (start not in "[{" and file.suffix not in (".json", ".jsonl")):
        return _csv(text, said)
    if start == "[":
        said += [] if file.suffix == ".json" else [f"`{file.name}` holds one JSON list"]
        return _named(_json_list(text), tuple(said))
    if file.suffix == ".json" and not _is_lines(text):
        return _named(_json_list(text), tuple(said))
    said += [f"`{file.name}` holds one JSON value a line"] if file.suffix == ".json" else []
    return _named(tuple(_json_lines(text)), tuple(said))


def _text(file: File) -> tuple[str, list[str]]:
    """The text of the file, and what is unusual about its bytes."""
    try:
        if file.data.startswith(UTF16):
            return file.data.decode("utf-16"), [f"`{file.name}` is UTF-16"]
        text, said = file.data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        raise Malformed([_undecodable(file, error)]) from None
    if "\0" in text:
        help = f"save the file as UTF-8, for example: iconv -f UTF-16LE -t UTF-8 {file.name}"
        raise Malformed([BadRow(1, "the file has zero bytes; it may be UTF-16", help)])
    if "\n" not in text and "\r" in text:
        said.append(f"the lines of `{file.name}` end with carriage returns")
        text = text.replace("\r", "\n")
    return text.replace("\r\n", "\n"), said


def _undecodable(file: File, error: UnicodeDecodeError) -> BadRow:
    line = file.data.count(b"\n", 0, error.start) + 1
    around = file.data[max(0, error.start - 12) : error.start + 12]
    shown = around.decode("cp1252", "replace").replace("\n", " ").strip()
    help = (
        f"save the file as UTF-8; if {shown!r} is what it says there, it is Windows-1252: "
        f"iconv -f WINDOWS-1252 -t UTF-8 {file.name} > utf8-{file.stem}{file.suffix}"
    )
    return BadRow(line, f"byte {error.start} of the file is not UTF-8", help)


def _csv(text: str, said: list[str]) -> Records:
    """Records by the names of the first row, which is row 1, as a spreadsheet counts. What separates the
    fields is found out from that row: commas, or else semicolons or tabs."""
    first = text.split("\n", 1)[0]
    separator = next((each for each in SEPARATORS if each in first), ",")
    if separator != ",":
        said = [*said, f"the fields are separated by {SEPARATORS[separator]}"]
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)
    rows: list[tuple[int, Any]] = []
    header: list[str] = []
    number = 0
    try:
        for record in reader:
            number += 1
            if not header:
                header = record
            elif record and len(record) != len(header):
                help = "put a text that holds a comma or a line break between double quotes"
                problem = f"{len(record)} fields, the header has {len(header)}"
                rows.append((number, BadRow(number, problem, help)))
            elif record:
                rows.append((number, dict(zip(header, record, strict=True))))
    except csv.Error as error:
        help = 'a quote inside a quoted text is written twice: ""'
        raise Malformed([BadRow(number + 1, str(error), help)]) from None
    twice = next((name for name in header if header.count(name) > 1), None)
    if not header or twice is not None:
        which = f": {twice!r} stands there twice" if twice is not None else ""
        raise Malformed([BadRow(1, f"the first row does not name each column once{which}")])
    return Records(tuple(rows), tuple(header), tuple(said))


def _is_lines(text: str) -> bool:
    """Whether the first line with something in it is a whole JSON value and others follow."""
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        json.loads(lines[0]), json.loads(lines[1])
    except (ValueError, IndexError, RecursionError):
        return False
    return True


def _json_lines(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                yield number, BadRow(number, f"not JSON: {error}")


def _json_list(text: str) -> tuple[tuple[int, Any], ...]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed([BadRow(1, f"not JSON: {error}")]) from None
    if isinstance(rows, list):
        return tuple(enumerate(rows, start=1))
    if isinstance(rows, dict) and len(rows) > 1 and _by_column(list(rows.values())):
        help = 'save it row by row; with pandas: df.to_json(FILE, orient="records")'
        raise Malformed([BadRow(1, "the file holds columns, not rows", help)])
    lists = [key for key, value in rows.items() if isinstance(value, list)] if isinstance(rows, dict) else []
    help = f"save the list `{lists[0]}` alone as the file" if lists else "save the rows as one JSON list"
    raise Malformed([BadRow(1, "the file is not a list of rows", help)])


def _by_column(values: list[Any]) -> bool:
    """Whether the values of a table are columns: lists, or tables, that are all as long."""
    alike = all(isinstance(value, list) for value in values) or all(
        isinstance(value, dict) for value in values
    )
    return alike and len({len(value) for value in values}) == 1


def at(row: Any, name: str) -> Any:
    """A value by its column, or along the dots of its name; None where the row does not have it.

    In a list a name gives the values of all its tables, and a number one entry: `choices.text`, `turns.0`.
    """
    if isinstance(row, list):
        head, dot, rest = name.partition(".")
        if head.isdecimal():
            inner = row[int(head)] if int(head) < len(row) else None
            return at(inner, rest) if dot else inner
        values = [at(entry, name) for entry in row]
        return None if all(value is None for value in values) else values
    if not isinstance(row, dict):
        return None
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    return at(row.get(head), rest) if dot else None


def _named(rows: tuple[tuple[int, Any], ...], said: tuple[str, ...]) -> Records:
    names: dict[str, None] = {}
    for _, row in rows:
        _collect(row, "", names)
    return Records(rows, tuple(names), said)


def _collect(row: Any, above: str, names: dict[str, None]) -> None:
    """The keys of a row and of the tables in it, less deep than a field map would ever go."""
    if isinstance(row, dict) and above.count(".") < DEEP:
        for key, value in row.items():
            names.setdefault(f"{above}{key}")
            _collect(value, f"{above}{key}.", names)
            for entry in value if isinstance(value, list) else ():
                _collect(entry, f"{above}{key}.", names)
