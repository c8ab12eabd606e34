"""MMLU (Hendrycks et al. 2021): four options, of which one is right.

Three forms: with a header (`question,choice0,...,choice3,answer`, the answer an index from 0; further
columns `subject` and `row` say where a collected file took a row from), the original files without
one, whose answer is a letter, and the hub's Parquet (`question`, `subject`, `choices`, `answer`, a class).
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    BadRow,
    File,
    Row,
    csv_lists,
    csv_rows,
    is_parquet,
    items_of_rows,
    one_of,
    parquet_rows,
    required_text,
    tags,
)
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading

CHOICES = ("choice0", "choice1", "choice2", "choice3")
COLUMNS = ("question", *CHOICES, "answer")


@LOADERS.add("mmlu")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order, named by their subject (or the file's name) and their 0-based row there.

    Raises `Malformed`.
    """
    if is_parquet(file.data):
        return items_of_rows(parquet_rows(file.data), lambda number, row: _hosted(file, number - 1, row))
    _, first = next(csv_lists(file), (1, []))
    if "question" in first and "answer" in first:
        return items_of_rows(csv_rows(file), lambda number, row: _item(file, number - 2, row, "0123"))
    return items_of_rows(_unheaded(file), lambda number, row: _item(file, number - 1, row, "ABCD"))


def _unheaded(file: File) -> Iterator[tuple[int, Row | BadRow]]:
    for number, record in csv_lists(file):
        if len(record) != len(COLUMNS):
            yield number, BadRow(number, f"{len(record)} fields, expected {len(COLUMNS)}")
        else:
            yield number, dict(zip(COLUMNS, record, strict=True))


def _hosted(file: File, place: int, row: Row) -> Item:
    """An item of the hub's form, named by subject, split and 0-based row."""
    subject = row.get("subject") or PurePosixPath(file.name).parent.name or file.stem
    choices, answer = row["choices"], row["answer"]
    if not isinstance(choices, list) or len(choices) != len(CHOICES):
        raise ValueError(f"`choices` is not a list of {len(CHOICES)} texts")
    if type(answer) is not int or not 0 <= answer < len(choices):
        raise ValueError(f"`answer` is {answer!r}, expected 0 to {len(choices) - 1}")
    split = file.stem.removesuffix("-00000-of-00001")
    return Item(
        id=f"{subject}-{split}-{place}",
        query=required_text(row, "question"),
        options=tuple(choices),
        gold=answer,
        tags=tags(subject=subject),
        category=subject,
    )


def _item(file: File, place: int, row: Row, answers: str) -> Item:
    subject = row.get("subject") or re.sub(r"_(dev|val|test)$", "", file.stem)
    name = f"{subject}-{int(row['row'])}" if "row" in row else f"{file.stem}-{place}"
    return Item(
        id=name,
        query=required_text(row, "question"),
        options=tuple(required_text(row, choice) for choice in CHOICES),
        gold=answers.index(one_of(row, "answer", answers)),
        tags=tags(subject=subject),
        category=subject,
    )
