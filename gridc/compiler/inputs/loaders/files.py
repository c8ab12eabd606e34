"""Benchmark files as rows, and rows as items. Whatever is wrong with a row is told by its number."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gridc.compiler.inputs.loaders.content import is_parquet, parquet_rows, refuse_others
from gridc.compiler.inputs.loaders.errors import BadRow, Malformed
from gridc.compiler.instrument.item import Item
from gridc.files import csv_records as csv_records_of
from gridc.registry import Registry
from gridc.schema.items import Loading

Row = dict[str, Any]
Rows = Iterable[tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class File:
    """A benchmark file: its name as the source gives it, and its bytes."""

    name: str
    data: bytes

    @property
    def stem(self) -> str:
        """The name without folders and suffix; it stands in the ids of items that have none."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()


Loader = Callable[[File, Loading], list[Item]]
LOADERS: Registry[Loader] = Registry("gridc.compiler.inputs.loaders")
"""By the `loader` of the language; what each has to be told is in `schema.items.LOADER_KINDS`."""


def items(rows: Rows, make: Callable[[int, Any], Item], twins: str | None = None) -> list[Item]:
    """The items of the rows. Raises `Malformed` with every row that does not follow the format, or whose
    item is already there, for which `twins` is the way out."""
    made: dict[str, Item] = {}
    bad: list[BadRow] = []
    first: Row | None = None
    lacking = ""
    for number, row in rows:
        first = row if first is None and isinstance(row, dict) else first
        if isinstance(row, BadRow):
            bad.append(row)
            continue
        try:
            item = make(number, row)
            if item.id in made:
                bad.append(BadRow(number, f"`{item.id}` is already an item", twins))
            else:
                made[item.id] = item
        except KeyError as error:
            lacking = f"no field {error}"
            bad.append(BadRow(number, lacking))
        except _MALFORMED as error:
            bad.append(BadRow(number, str(error) or type(error).__name__, getattr(error, "help", None)))
    if first is not None and not made and {row.problem for row in bad} == {lacking}:
        columns = ", ".join(f"`{name}`" for name in list(first)[:12])
        help = f'its columns are {columns}; loader = "rows" with `loading.fields` reads any columns'
        raise Malformed([BadRow(bad[0].row, bad[0].problem, help)])  # leaving rows out would leave none
    if bad:
        raise Malformed(bad, list(made.values()), readable=True)
    return list(made.values())


def table(file: File) -> Iterator[tuple[int, Any]]:
    """The rows of a CSV file, a JSON list or a JSONL file, told apart by the suffix, with their numbers.
    A row that cannot be read is a `BadRow`; a file that cannot be read is `Malformed`."""
    if file.suffix == ".csv":
        return csv_rows(file)
    return json_list(file) if file.suffix == ".json" else json_lines(file)


def _other_than_text(file: File) -> Iterator[tuple[int, Any]] | None:
    """The rows of a Parquet file, as every format is also served; None where the file is text."""
    if is_parquet(file.data):
        return parquet_rows(file.data, named_classes=True)
    refuse_others(file.name, file.data)
    return None


def json_lines(file: File) -> Iterator[tuple[int, Any]]:
    """One JSON value a line; blank lines are passed over and counted."""
    rows = _other_than_text(file)
    if rows is not None:
        yield from rows
        return
    for number, line in enumerate(file.data.split(b"\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line.decode())
            except (ValueError, RecursionError) as error:
                yield number, BadRow(number, f"not JSON: {error}")


def json_list(file: File) -> Iterator[tuple[int, Any]]:
    """The entries of a file that is one JSON list, counted from 1."""
    parquet = _other_than_text(file)
    if parquet is not None:
        yield from parquet
        return
    try:
        rows = json.loads(file.data)
    except (ValueError, RecursionError) as error:
        raise Malformed([BadRow(1, f"not JSON: {error}")]) from None
    if not isinstance(rows, list):
        raise Malformed([BadRow(1, "the file is not a list")])
    yield from enumerate(rows, start=1)


def csv_rows(file: File) -> Iterator[tuple[int, Any]]:
    """The records of a CSV file by column; the header is row 1, as a spreadsheet counts."""
    parquet = _other_than_text(file)
    if parquet is not None:
        yield from parquet
        return
    records = csv_records(file)
    _, header = next(records, (1, []))
    if len(set(header)) < len(header) or not header:
        raise Malformed([BadRow(1, "the first row does not name each column once")])
    for number, record in records:
        if len(record) != len(header):
            yield number, BadRow(number, f"{len(record)} fields, the header has {len(header)}")
        else:
            yield number, dict(zip(header, record, strict=True))


def csv_records(file: File) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file as lists, counted from 1. Blank lines are passed over."""
    refuse_others(file.name, file.data)
    if file.suffix in (".json", ".jsonl") and file.data.lstrip()[:1] in (b"{", b"["):
        help = 'loader = "rows" with `loading.fields` reads any JSON'
        raise Malformed([BadRow(1, "the file is JSON, where CSV or Parquet is expected", help)])
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed([BadRow(1, f"byte {error.start} is not UTF-8")]) from None
    number = 0
    try:
        for record in csv_records_of(text):
            number += 1
            if record:
                yield number, record
    except csv.Error as error:
        raise Malformed([BadRow(number + 1, str(error))]) from None


def text(row: Row, name: str) -> str:
    """A field that must be a text with something in it."""
    value = row[name]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{name}` is not a text")
    return value


def tags(**values: object) -> dict[str, str]:
    """Tags of those values that are there, as text."""
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


def one_of(row: Row, name: str, known: Iterable[str]) -> str:
    """A field that must have one of the known values."""
    value, known = row[name], tuple(known)
    if value not in known:
        raise ValueError(f"`{name}` is {value!r}, expected {' or '.join(known)}")
    return str(value)


_MALFORMED = (ArithmeticError, AttributeError, IndexError, RecursionError, TypeError, ValueError)
