"""Log files, which may be a stranger's, read within bounds; and what the columns of a table mean.

A log is JSON, lines of JSON, CSV or TSV, as it is or packed by gzip, or such an entry of a zip; a `.zip` with
one entry of JSON is read as that.

Whatever is larger, deeper or other than it may be is a `FileError` with the place; nothing is unpacked to
disk, and no link is followed within a folder.
"""

import codecs
import csv
import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from pydantic_core import from_json

from gridc.diagnostics.errors import Diagnostic, FileError, Span, UsageError
from gridc.files import open_regular

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

T = TypeVar("T")

ITEM, CONTENT = ("item", "id", "item_id"), ("question", "input")
READ = frozenset(
    [
        "model",
        "benchmark",
        "category",
        "score",
        "unit",
        "replicate",
        "seed",
        "state",
        "prompt",
        "answer",
        "reading",
        "n",
    ]
).union(ITEM, CONTENT)
NEEDED = frozenset(("model", "score"))
DATA = frozenset([
    "answer_key", "choices", "completion", "correct_answer", "cost", "duration", "elapsed", "expected",
    "expected_answer", "generated_text", "generation", "gold", "gold_answer", "golds", "ground_truth",
    "input_tokens", "inputs", "latency", "latency_ms", "latency_s", "model_answer", "model_output",
    "options", "output", "output_tokens", "outputs", "pred", "prediction", "predictions", "reference",
    "references", "response", "responses", "runtime", "target", "targets", "time", "timestamp", "tokens",
])  # fmt: skip
"""What comes with an answer or an item, and makes no configuration."""


def column_name(header: str) -> str:
    """In lower case; of a name that is known, with `_` between its words."""
    name = header.strip().lower()
    snake_case = re.sub(r"[\s-]+", "_", name)
    return snake_case if snake_case in READ or snake_case in DATA else name


@dataclass(frozen=True, slots=True)
class TableColumns:
    """What the author says of columns: which are `axes` and which are `ignored`, whatever the case; and which
    column or field of an item is its `unit` and which its `category`, dotted paths. `found` gathers
    the columns without a meaning of their own, and those of `DATA`, of every table that is read; `fields`
    those that can be a unit or a category."""

    axes: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    unit: str | None = None
    category: str | None = None
    found: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)

    @classmethod
    def stated(
        cls,
        axes: Iterable[str],
        ignored: Iterable[str],
        unit: str | None = None,
        category: str | None = None,
    ) -> "TableColumns":
        """Raises `UsageError` for a column that is two of these, unless it is unit and category."""
        columns = cls(frozenset(map(column_name, axes)), frozenset(map(column_name, ignored)), unit, category)
        units, categories = _columns_of(unit), _columns_of(category)
        for columns_a, columns_b, what in (
            (columns.axes, columns.ignored, "an axis and ignored"),
            (columns.axes, units, "an axis and the unit"),
            (columns.ignored, units, "ignored and the unit"),
            (columns.axes, categories, "an axis and the category"),
            (columns.ignored, categories, "ignored and the category"),
        ):
            for name in sorted(columns_a & columns_b):
                message = f"the column `{name}` is both {what}"
                raise UsageError([Diagnostic("GC000", message, help="leave out one of the two")])
        return columns

    @property
    def of_items(self) -> frozenset[str]:
        """The columns of a table that say the unit or the category of an item."""
        return _columns_of(self.unit) | _columns_of(self.category)

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those of some stated columns that no table has, once the tables are read."""
        return [name for name in names if column_name(name) not in self.found]

    def check(self) -> None:
        """Once all logs are read. Raises `UsageError` for a stated column that no table has, and for a unit
        or a category that no item has."""
        for name in self.unknown(sorted(self.axes | self.ignored)):
            message = f"no table has a column `{name}` that can be an axis or be ignored"
            raise UsageError([Diagnostic("GC000", message, help=_known(self.found, "column of the tables"))])
        for path, what in ((self.unit, "unit"), (self.category, "category")):
            if path is not None and path not in self.fields:
                message = f"no item has a column or field `{path}` that can be its {what}"
                help = _known(self.fields, "field of the items")
                raise UsageError([Diagnostic("GC000", message, help=help)])

    def unit_of(self, fields: Mapping[str, Any]) -> str | None:
        """What an item was made from, by its fields; None where the author names no unit, or it has none."""
        return self._value(self.unit, fields)

    def category_of(self, fields: Mapping[str, Any]) -> str | None:
        """The same of its category."""
        return self._value(self.category, fields)

    def _value(self, path: str | None, fields: Mapping[str, Any]) -> str | None:
        if path is None:
            return None
        self.fields.update(name for name, value in fields.items() if isinstance(value, str | int))
        # As it is stated, and as a table has it.
        values = (_value_at(fields, name) for name in (path, column_name(path)))
        value = next((candidate for candidate in values if candidate is not None), "")
        if value == "":
            return None
        self.fields.add(path)
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _columns_of(path: str | None) -> frozenset[str]:
    """The columns of a table that a path can mean: its name, or the first part of it."""
    name = "" if path is None else column_name(path)
    return frozenset(filter(None, (name, name.partition(".")[0])))


def _value_at(fields: Any, path: str) -> Any:
    """What stands at a dotted path; a name may have a dot itself. None where nothing does."""
    if not isinstance(fields, Mapping):
        return None
    if path in fields:
        return fields[path]
    name, dot, rest = path.partition(".")
    while dot:
        if name in fields:
            return _value_at(fields[name], rest)
        part, dot, rest = rest.partition(".")
        name = f"{name}.{part}"
    return None


def _known(names: Iterable[str], what: str) -> str:
    listed = ", ".join(sorted(names)[:12])
    return f"known: {listed}" if listed else f"there is no {what} that could be"


MOST_JSON = 512 * 2**20
"""Bytes of a file that is one JSON value, and so has to be read at once."""
MOST_LINE = 64 * 2**20
MOST_ENTRY = 256 * 2**20
"""Bytes of an unpacked zip entry."""
MOST_ENTRIES = 2_000_000
MOST_RATIO = 1_000
"""Bytes unpacked for one that is packed, beyond a megabyte."""
MOST_FIELD = 2**24
"""Characters of a CSV field."""
ZSTD = 93
GZIPPED = (".json", ".jsonl", ".csv", ".tsv")
"""What may have `.gz` after it."""
ZIPPED = ".zip"
BESIDE = ("__MACOSX/", ".DS_Store")
"""How the names of entries begin that an operating system puts into a zip."""
UNFORESEEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What a value of another kind than its format says ends with, wherever a reader meets it."""
HEAD = 2**20
"""Bytes at the beginning of a damaged file that show what it was."""
KEY = re.compile(rb'"([^"\\\n]{1,60})"\s*:')
QUOTED = re.compile(r'"[^"]*"?')


def suffix_of(path: Path) -> str:
    """In lower case; `.csv` of `scores.csv.gz` too."""
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if suffix == ".gz" and inner in GZIPPED else suffix


def log_error(
    code: str, message: str, path: Path, line: int | None = None, help: str | None = None
) -> FileError:
    return FileError(
        [Diagnostic(code, message, str(path), None if line is None else Span(line, 1), help=help)]
    )


def parsed(data: bytes, path: Path, line: int | None = None, where: str = "") -> Any:
    """A JSON value, which may have the literals NaN and Infinity as Python writes them. Depth is bounded."""
    try:
        return from_json(data)
    except ValueError as error:
        message = f"{where + ': ' if where else ''}not JSON, or nested too deeply: {error}"
        raise log_error("GC672", message, path, line) from None


class LogFile:
    """A file of a folder of logs, and what its reader says of the columns of tables. What is asked of it is
    read once and kept as long as the object."""

    def __init__(self, path: Path, columns: TableColumns | None = None) -> None:
        self.path = path
        self.columns = columns or TableColumns()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def suffix(self) -> str:
        """In lower case, without what packed it; `.json` of a zip that holds one such file."""
        return suffix_of(self.path) if self._packed is None else ".json"

    @cached_property
    def _packed(self) -> str | None:
        """The one entry of JSON in a zip."""
        if suffix_of(self.path) != ZIPPED:
            return None
        try:
            return ZipLog(self).only_json
        except FileError:  # which whoever reads it raises again
            return None

    @cached_property
    def stem(self) -> str:
        packed = suffix_of(self.path) != self.path.suffix.lower()
        return Path(self.path.stem).stem if packed else self.path.stem

    def sibling(self, name: str) -> "LogFile | None":
        """Another file of its folder, as it is or packed by gzip; None where there is neither."""
        paths = self.path.with_name(name), self.path.with_name(f"{name}.gz")
        return next((LogFile(path) for path in paths if path.is_file()), None)

    def open(self) -> BufferedReader:
        """Unpacked where gzip packed it."""
        opened = self._open()
        if suffix_of(self.path) == self.path.suffix.lower():
            return opened
        return BufferedReader(_Unzipped(opened, self.path))

    def _open(self) -> BufferedReader:
        try:
            return open_regular(self.path)
        except OSError as error:
            raise log_error("GC672", f"cannot be read: {error.strerror or error}", self.path) from None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its bytes."""
        with self._open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @cached_property
    def document(self) -> Any:
        """Of a file that is one JSON value, or a zip of one such file; None of another zip."""
        if suffix_of(self.path) == ZIPPED:
            archive = ZipLog(self)
            return None if self._packed is None else archive.json(self._packed)
        with self.open() as file:
            data = file.read(MOST_JSON + 1)
        if len(data) > MOST_JSON:
            message = f"more than {MOST_JSON >> 20} MB of JSON in one value"
            help = (
                "promptfoo and Inspect also write .jsonl and .eval, which have no such bound; of another log "
                "write the scores as a table in .jsonl (docs/logs.md)"
            )
            raise log_error("GC673", message, self.path, help=help)
        return parsed(data.removeprefix(codecs.BOM_UTF8), self.path)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of a JSON file, or of the first row of a JSON array or a JSONL file; the columns of a CSV,
        TSV or Parquet file."""
        if self.suffix in (".json", ZIPPED):
            document = self.document
            first = next(iter(document), None) if isinstance(document, list) else document
            return frozenset(first) if isinstance(first, dict) else frozenset()
        if self.suffix == ".jsonl":
            first = next(self.lines(), (0, None))[1]
            return frozenset(first) if isinstance(first, dict) else frozenset()
        if self.suffix in (".csv", ".tsv"):
            return frozenset(next(self.records(), (0, []))[1])
        if self.suffix == ".parquet":
            with self._parquet() as parquet:
                return frozenset(parquet.schema_arrow.names)
        return frozenset()

    @property
    def head_keys(self) -> frozenset[str]:
        """What looks like a key, or like a column, at the beginning of a file that cannot be parsed."""
        with self.open() as file:
            head = file.read(HEAD)
        if self.suffix in (".csv", ".tsv"):
            first = head.partition(b"\n")[0].decode("utf-8-sig", "replace")
            return frozenset(name.strip('" \r') for name in re.split("[,;\t]", first))
        return frozenset(key.decode("utf-8", "replace") for key in KEY.findall(head))

    def parquet(self) -> Iterator[dict[str, Any]]:
        """The rows of a Parquet file."""
        with self._parquet() as parquet:
            for batch in parquet.iter_batches(10_000):
                yield from batch.to_pylist()

    @contextmanager
    def _parquet(self) -> Iterator[Any]:
        """Raises `FileError` where pyarrow is not here (GC671), or for what is not Parquet."""
        try:
            import pyarrow.lib
            import pyarrow.parquet
        except ImportError:
            help = 'pip install "gridc[tables]"'
            raise log_error("GC671", "Parquet needs pyarrow", self.path, help=help) from None
        try:
            with self.open() as opened:
                yield pyarrow.parquet.ParquetFile(opened)
        except (pyarrow.lib.ArrowException, OSError) as error:
            raise log_error("GC672", f"not Parquet: {error}", self.path) from None

    def lines(self) -> Iterator[tuple[int, Any]]:
        """The values of a JSONL file with the numbers of their lines; blank lines are passed over."""
        with self.open() as file:
            number = 0
            while line := file.readline(MOST_LINE + 1):
                number += 1
                if len(line) > MOST_LINE:
                    raise log_error("GC673", f"a line of more than {MOST_LINE >> 20} MB", self.path, number)
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if line and not line.isspace():
                    yield number, parsed(line, self.path, number)

    def rows(self) -> Iterator[tuple[str, Any]]:
        """The values of a JSON array, or of a JSONL file, each with its place in words."""
        if self.suffix == ".jsonl":
            yield from ((f"line {line:,}", row) for line, row in self.lines())
        else:
            yield from ((f"row {number:,}", row) for number, row in enumerate(self.document, start=1))

    def read_rows(
        self,
        package: str,
        read: Callable[[Mapping[str, Any]], T],
        skipped: Callable[[Any], bool] | None = None,
    ) -> Iterator[T]:
        """What `read` makes of each row, except for those that are `skipped`. Raises `FileError` (GC672) with
        the place for a row that is not an object, and for one that `read` cannot read."""
        for place, row in self.rows():
            if skipped is not None and skipped(row):
                continue
            try:
                if not isinstance(row, dict):
                    raise TypeError(f"`{str(row)[:40]}` is not an object")
                value = read(row)
            except UNFORESEEN as error:
                what = f"{type(error).__name__} {str(error)[:200]}"
                raise log_error("GC672", f"{place}: not a row of {package}: {what}", self.path) from None
            yield value

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The records of a CSV or TSV file, the header being the first. The first separator (a comma, a
        semicolon or a tab) of a header's line that is not within quotes separates all."""
        csv.field_size_limit(MOST_FIELD)
        with io.TextIOWrapper(self.open(), "utf-8-sig", newline="") as text:
            number = 0
            try:
                first = text.readline(MOST_LINE + 1)
                separator = re.search("[,;\t]", QUOTED.sub("", first))
                reader = csv.reader(
                    self._lines(first, text),
                    strict=True,
                    delimiter=separator[0] if separator is not None else ",",
                )
                for record in reader:
                    number = reader.line_num
                    if record:
                        yield number, record
            except (csv.Error, UnicodeDecodeError) as error:
                raise log_error("GC672", f"not CSV: {error}", self.path, number + 1) from None

    def _lines(self, first: str, text: io.TextIOWrapper) -> Iterator[str]:
        line, number = first, 1
        while line:
            if len(line) > MOST_LINE:
                raise log_error("GC673", f"a line of more than {MOST_LINE >> 20} MB", self.path, number)
            yield line
            line, number = text.readline(MOST_LINE + 1), number + 1

    def table(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows of a CSV or TSV file by column. Every row has as many fields as the header, whose names
        differ."""
        records = self.records()
        _, header = next(records, (1, []))
        if len(set(header)) < len(header):
            raise log_error("GC672", "the first row names a column twice", self.path, 1)
        for number, record in records:
            if len(record) != len(header):
                message = f"{len(record)} fields where the header has {len(header)}"
                raise log_error("GC672", message, self.path, number)
            yield number, dict(zip(header, record, strict=True))


class _Unzipped(io.RawIOBase):
    """What gzip packed, as bytes that are read one after the other."""

    def __init__(self, packed: BufferedReader, path: Path) -> None:
        self._packed, self._path = packed, path
        self._file = gzip.GzipFile(fileobj=packed)
        self._most, self._read = max(2**20, path.stat().st_size * MOST_RATIO), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        try:
            data = self._file.read(len(view))
        except (OSError, EOFError, zlib.error) as error:
            raise log_error("GC672", f"not what gzip packs: {error}", self._path) from None
        self._read += len(data)
        if self._read > self._most:
            raise log_error("GC673", f"unpacks to more than {self._most:,} bytes", self._path)
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._packed.close()
        super().close()


class ZipLog:
    """The entries of a zip whose members may be packed with zstd, which Python itself reads from 3.14 on.
    Of a name in `repeated` the last entry stands, as for every reader of zip files."""

    def __init__(self, file: LogFile) -> None:
        self._file = file
        try:
            with file.open() as opened, zipfile.ZipFile(opened) as archive:
                self.entries = {entry.filename: entry for entry in archive.infolist()}
                names = Counter(entry.filename for entry in archive.infolist())
        except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError) as error:
            raise log_error("GC672", f"not a zip file: {error}", file.path) from None
        self.repeated = tuple(name for name, count in names.items() if count > 1)
        if names.total() > MOST_ENTRIES:
            raise log_error("GC673", f"more than {MOST_ENTRIES:,} entries", file.path)

    @property
    def only_json(self) -> str | None:
        """The one entry of JSON; None where there is none, or another file beside it."""
        names = [name for name in self.entries if not name.endswith("/") and not name.startswith(BESIDE)]
        return names[0] if len(names) == 1 and names[0].lower().endswith(".json") else None

    def read(self, name: str) -> bytes:
        """An entry's bytes, unpacked within bounds."""
        with self._file.open() as opened:
            return self._unpacked(opened, self.entries[name])

    def json(self, name: str) -> Any:
        return parsed(self.read(name), self._file.path, where=name)

    def each_json(self, names: list[str]) -> Iterator[Any]:
        """Of several entries, with the file opened once."""
        with self._file.open() as opened:
            for name in names:
                data = self._unpacked(opened, self.entries[name])
                yield parsed(data, self._file.path, where=name)

    def _unpacked(self, opened: BinaryIO, entry: zipfile.ZipInfo) -> bytes:
        opened.seek(entry.header_offset)
        header = opened.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04" or entry.flag_bits & 1:
            raise self._refused("GC672", entry, "no such entry, or an encrypted one")
        name, extra = struct.unpack("<HH", header[26:30])
        opened.seek(name + extra, io.SEEK_CUR)
        packed = opened.read(min(entry.compress_size, MOST_ENTRY + 1))
        most = MOST_ENTRY if len(packed) * MOST_RATIO > MOST_ENTRY else max(2**20, len(packed) * MOST_RATIO)
        try:
            data = _unpack(entry.compress_type, packed, most + 1)
        except ValueError as error:
            raise self._refused("GC672", entry, str(error)) from None
        if len(data) > most:
            raise self._refused("GC673", entry, f"unpacks to more than {most:,} bytes")
        if zlib.crc32(data) != entry.CRC:
            raise self._refused("GC672", entry, "its checksum does not match: the file is damaged")
        return data

    def _refused(self, code: str, entry: zipfile.ZipInfo, message: str) -> FileError:
        return log_error(code, f"{entry.filename[:120]}: {message}", self._file.path)


def _unpack(method: int, packed: bytes, most: int) -> bytes:
    """At most `most` bytes. Raises `ValueError`."""
    if method == zipfile.ZIP_STORED:
        return packed[:most]
    if method == zipfile.ZIP_DEFLATED:
        try:
            return zlib.decompressobj(-15).decompress(packed, most)
        except zlib.error as error:
            raise ValueError(str(error)) from None
    if method == ZSTD:
        import zstandard

        try:
            with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed) as stream:
                return _filled(stream.read, most)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
    raise ValueError(f"packed by method {method}, which is not read")


def _filled(read: Callable[[int], bytes], most: int) -> bytes:
    parts, size = [], 0
    while size < most and (part := read(min(2**20, most - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
