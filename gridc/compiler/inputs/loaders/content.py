"""What the bytes of a benchmark file are, where they are no text: Parquet, which is read, and what people
take for a table and is none, which is refused with the way to one."""

import io
import json
from collections.abc import Iterator
from typing import Any

from gridc.compiler.inputs.loaders.errors import BadRow, Malformed

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
"""How a file begins that is no table, what it is, and the way to a table."""
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
