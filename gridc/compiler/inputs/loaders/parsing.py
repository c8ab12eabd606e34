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
from gridc.numbers import counted
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


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
ONE_COLUMN = "\x1f"
"""Separates nothing: where the first row of a text file names one column, commas are part of the texts."""
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
    if file.suffix in (".csv", ".tsv"):
        return _csv(text, said, ",")
    if start not in "[{" and file.suffix not in (".json", ".jsonl"):
        return _csv(text, said, ONE_COLUMN)
    if start == "[" or (file.suffix == ".json" and not _is_lines(text)):
        said += [f"`{file.name}` holds one JSON list"] if start == "[" and file.suffix != ".json" else []
        rows, key = _json_list(text)
        return _named(rows, (*said, *([f"the rows are the list `{key}` of the file"] if key else [])))
    said += [f"`{file.name}` holds one JSON value a line"] if file.suffix == ".json" else []
    return _named(tuple(_json_lines(text)), tuple(said))


def _text(file: File) -> tuple[str, list[str]]:
    """The text of the file, and what is unusual about its bytes."""
    try:
        if file.data.startswith(UTF16):
            return file.data.decode("utf-16"), [f"`{file.name}` is UTF-16"]
        text, said = file.data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        raise Malformed([_undecodable(file, error)], encoded=True) from None
    if "\0" in text:
        help = f"save the file as UTF-8, for example: iconv -f UTF-16LE -t UTF-8 {file.name}"
        raise Malformed([BadRow(1, "the file has zero bytes; it may be UTF-16", help)])
    if "\n" not in text and "\r" in text:
        said.append(f"the lines of `{file.name}` end with carriage returns")
        text = text.replace("\r", "\n")
    return text.replace("\r\n", "\n"), said


def undecodable(file: File) -> bool:
    """Whether a file is text in another encoding than UTF-8."""
    try:
        if not is_parquet(file.data):
            refuse_others(file.name, file.data)
            _text(file)
    except Malformed as error:
        return error.encoded
    return False


def _undecodable(file: File, error: UnicodeDecodeError) -> BadRow:
    line = file.data.count(b"\n", 0, error.start) + 1
    around = file.data[max(0, error.start - 12) : error.start + 12]
    shown = around.decode("cp1252", "replace").replace("\n", " ").strip()
    help = (
        f"save the file as UTF-8; if {shown!r} is what it says there, it is Windows-1252: "
        f"iconv -f WINDOWS-1252 -t UTF-8 {file.name} > utf8-{file.stem}{file.suffix}"
    )
    return BadRow(line, f"byte {error.start} of the file is not UTF-8", help)


def _csv(text: str, said: list[str], otherwise: str) -> Records:
    """Records by the names of the first row, which is row 1, as a spreadsheet counts. What separates the
    fields is found out from that row: commas, or else semicolons or tabs, or else it is `otherwise`."""
    first = text.split("\n", 1)[0]
    separator = next((each for each in SEPARATORS if each in first), otherwise)
    if separator not in (",", ONE_COLUMN):
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
                while header and not header[-1].strip():  # `a;b;;;`: columns that a spreadsheet left behind
                    header = header[:-1]
                unnamed = len(record) - len(header)
                if unnamed and header:
                    said = [*said, f"{counted(unnamed, 'column')} at the end without a name are passed over"]
                continue
            if len(record) > len(header) and not any(field.strip() for field in record[len(header) :]):
                record = record[: len(header)]
            if record and len(record) != len(header):
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


def _json_list(text: str) -> tuple[tuple[tuple[int, Any], ...], str | None]:
    """The rows of one JSON value, and the key below which they stand, where they do."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed([BadRow(1, f"not JSON: {error}")]) from None
    if isinstance(rows, list):
        return tuple(enumerate(rows, start=1)), None
    if isinstance(rows, dict) and len(rows) > 1 and _by_column(list(rows.values())):
        help = 'save it row by row; with pandas: df.to_json(FILE, orient="records")'
        raise Malformed([BadRow(1, "the file holds columns, not rows", help)])
    lists = [key for key, value in rows.items() if isinstance(value, list)] if isinstance(rows, dict) else []
    tables = [key for key in lists if rows[key] and all(isinstance(row, dict) for row in rows[key])]
    if len(tables) == 1:  # as `request_states` of HELM, or `data`
        return tuple(enumerate(rows[tables[0]], start=1)), tables[0]
    if len(tables) > 1:
        named = ", ".join(f"`{key}`" for key in tables)
        help = f"save the list `{tables[0]}` alone as the file, or another of them"
        raise Malformed([BadRow(1, f"the file holds several lists of rows: {named}", help)])
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

    In a list a name gives the values of all its tables, and a number one entry: `choices.text`, `turns.0`,
    and `messages.-1.content` of the last one.
    """
    if isinstance(row, list):
        head, dot, rest = name.partition(".")
        if head.removeprefix("-").isdecimal():
            inner = row[int(head)] if -len(row) <= int(head) < len(row) else None
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
