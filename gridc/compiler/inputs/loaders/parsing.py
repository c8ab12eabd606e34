"""Benchmark files: their format, their rows, and rows as items. An error names the number of its row.

A file of anyone's own is CSV, a JSON list, JSONL or Parquet, which its bytes decide. Other formats that
people take for tables, such as Excel workbooks, are refused with the way to one that is read.

Where the format is not what the file's name says, a remark says so; what could be two formats is refused.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gridc.compiler.instrument.item import Item
from gridc.files import csv_records as csv_records_of
from gridc.registry import Registry
from gridc.schema.items import Loading


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row (1-based) that does not follow the format, what is wrong with it, and the way out, where it is
    another than leaving the row out."""

    row: int
    problem: str
    help: str | None = None

    def __str__(self) -> str:
        return f"row {self.row}: {self.problem}"


class BadField(ValueError):
    """A field of a row that cannot be read, with the way out, where it is another than leaving the row
    out."""

    def __init__(self, problem: str, help: str) -> None:
        self.help = help
        super().__init__(problem)


class Malformed(ValueError):
    """The rows of a file that do not follow its format, and the items of those that do.

    `readable` says whether the file could be read to its end, so that the bad rows may be left out, and
    `encoded` whether it is text in another encoding than UTF-8.
    """

    def __init__(
        self,
        rows: Sequence[BadRow],
        items: Sequence["Item"] = (),
        readable: bool = False,
        encoded: bool = False,
    ) -> None:
        self.rows = tuple(rows)
        self.items = tuple(items)
        self.readable = readable
        self.encoded = encoded
        super().__init__("; ".join(str(row) for row in self.rows))


class Misread(ValueError):
    """What a spec says of a file and the file contradicts or leaves open; `path` leads to the key below
    `loading` that is to blame."""

    def __init__(self, code: str, path: tuple[str | int, ...], problem: str, help: str) -> None:
        self.code, self.path, self.problem, self.help = code, path, problem, help
        super().__init__(problem)


PARQUET = b"PAR1"
SHEET = "save the sheet as `CSV UTF-8` (File, Save As), and name that file"
OTHERS = (
    (b"PK\x03\x04", "a ZIP archive", "unpack it, and name the file inside"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", SHEET),
    (b"\x1f\x8b", "compressed with gzip", "gunzip it, and name what comes out"),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "unzstd it, and name what comes out"),
    (b"ARROW1", "an Arrow file", "save it as Parquet: datasets.load_from_disk(FOLDER).to_parquet(FILE)"),
    (
        b"\xff\xff\xff\xff",
        "an Arrow stream",
        "save it as Parquet: datasets.load_from_disk(FOLDER).to_parquet(FILE)",
    ),
    (b"SQLite format 3", "an SQLite database", "export the table as CSV"),
    (b"%PDF", "a PDF", "name the file with the data"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "fetch the data: git lfs pull"),
)
"""How a file begins that is not a table, what it is, and the way to a table."""
WORKBOOK = b"xl/workbook"
PAGES = (b"<!doctype html", b"<html")


def refuse_others(name: str, data: bytes) -> None:
    """Raise `Malformed` where a file is of a kind that is not read, by how it begins."""
    start = data[:64].lstrip().lower()
    if not data.strip():
        raise Malformed([BadRow(1, "the file is empty", "name a file with items")])
    if data.startswith(b"PK\x03\x04") and (WORKBOOK in data or name.lower().endswith(".xlsx")):
        raise Malformed([BadRow(1, "the file is an Excel workbook", SHEET)])
    if start.startswith(PAGES):
        help = "the address was that of a page about the file: download the file itself (`Raw`, or `resolve`)"
        raise Malformed([BadRow(1, "the file is a web page", help)])
    for magic, what, help in OTHERS:
        if data.startswith(magic):
            raise Malformed([BadRow(1, f"the file is {what}", help)])


def is_parquet(data: bytes) -> bool:
    """Whether a file is Parquet, whatever its name."""
    return data.startswith(PARQUET)


def parquet_rows(data: bytes, named_classes: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file, counted from 1. Raises `Malformed`.

    The hub's files hold classes as numbers and their names beside the schema; `named_classes` gives the
    names, as the dataset's own text files have them.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        help = "pip install 'gridc[tables]', or convert the file to JSONL"
        raise Malformed([BadRow(1, "Parquet needs pyarrow, which is not installed", help)]) from None
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(data))
        rows = table.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Malformed([BadRow(1, f"the Parquet file cannot be read: {error}")]) from None
    classes = _classes(table.schema.metadata or {}) if named_classes else {}
    for number, row in enumerate(rows, start=1):
        for column, names in classes.items():
            place = row.get(column)
            if isinstance(place, int) and 0 <= place < len(names):
                row[column] = names[place]
        yield number, row


def _classes(metadata: dict[bytes, bytes]) -> dict[str, list[str]]:
    """The names of the classes of each column that has some."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
        return {
            column: list(map(str, feature["names"]))
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and "names" in feature
        }
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


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
LOADERS: Registry[Loader] = Registry("gridc.compiler.inputs.loaders", "gridc.adapters.benchmarks")
"""By the `loader` of the language; what each has to be told is in `schema.items.LOADER_KINDS`."""


def items_of_rows(rows: Rows, make: Callable[[int, Any], Item], twins: str | None = None) -> list[Item]:
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


def numbered_rows(file: File) -> Iterator[tuple[int, Any]]:
    """The rows of a CSV file, a JSON list or a JSONL file, told apart by the suffix, with their numbers.
    A row that cannot be read is a `BadRow`; a file that cannot be read is `Malformed`."""
    if file.suffix == ".csv":
        return csv_rows(file)
    return json_list(file) if file.suffix == ".json" else json_lines(file)


def _binary_rows(file: File) -> Iterator[tuple[int, Any]] | None:
    """The rows of a Parquet file, as every format is also served; None where the file is text."""
    if is_parquet(file.data):
        return parquet_rows(file.data, named_classes=True)
    refuse_others(file.name, file.data)
    return None


def json_lines(file: File) -> Iterator[tuple[int, Any]]:
    """One JSON value a line; blank lines are passed over and counted."""
    rows = _binary_rows(file)
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
    parquet = _binary_rows(file)
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
    parquet = _binary_rows(file)
    if parquet is not None:
        yield from parquet
        return
    records = csv_lists(file)
    _, header = next(records, (1, []))
    if len(set(header)) < len(header) or not header:
        raise Malformed([BadRow(1, "the first row does not name each column once")])
    for number, record in records:
        if len(record) != len(header):
            yield number, BadRow(number, f"{len(record)} fields, the header has {len(header)}")
        else:
            yield number, dict(zip(header, record, strict=True))


def csv_lists(file: File) -> Iterator[tuple[int, list[str]]]:
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


def required_text(row: Row, name: str) -> str:
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
