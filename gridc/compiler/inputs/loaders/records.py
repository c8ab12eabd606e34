"""The records of a file of anyone's own, and the names that a field map may use of them.

A file is CSV, JSON, JSONL, Parquet or Moodle's Aiken format, which its bytes decide. Where the format is not
what the file's name says, or its first rows are no data, a remark says so.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gridc.compiler.inputs.loaders.parsing import (
    BadRow,
    File,
    Malformed,
    Row,
    is_parquet,
    parquet_rows,
    refuse_others,
)
from gridc.numbers import counted
from gridc.schema.items import Loading

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
ONE_COLUMN = "\x1f"
"""Separates nothing: where the first row of a text file names one column, commas are part of the texts."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")
UNNAMED = "column "
"""Begins the name of a column that nobody named; its number follows."""
DEEP = 8
"""Tables within tables whose keys are told apart."""


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of a file with their numbers, a `BadRow` where one cannot be read; the names that a field map
    may use, those of nested tables with dots; and what was found out about the file."""

    rows: tuple[tuple[int, Any], ...]
    names: tuple[str, ...]
    said: tuple[str, ...] = ()


NO_LOADING = Loading()


def records(file: File, loading: Loading = NO_LOADING) -> Records:
    """The records of a file; the entries of `loading.rows` where that is stated. Raises `Malformed` where it
    cannot be read to its end."""
    found = _records(file, loading)
    if loading.rows is None:
        return found
    entries = tuple(_entries(found.rows, loading.rows.split(".")))
    counts = f"{counted(len(found.rows), 'record')} of the file hold {counted(len(entries), 'row')}"
    said = f"{counts}, the entries of `{loading.rows}`"
    return _named(tuple(enumerate(entries, start=1)), (*found.said, said))


def _records(file: File, loading: Loading) -> Records:
    if is_parquet(file.data):
        return _named(tuple(parquet_rows(file.data)), ())
    refuse_others(file.name, file.data)
    text, said = _text(file)
    start = text.lstrip()[:1]
    named = loading.header is None
    if file.suffix in (".csv", ".tsv"):
        return _csv(text, said, ",", named)
    if start not in "[{" and file.suffix not in (".json", ".jsonl"):
        aiken = _aiken(text)
        return _csv(text, said, ONE_COLUMN, named) if aiken is None else _named(aiken, (*said, AIKEN))
    if start == "[" or (file.suffix == ".json" and not _is_lines(text)):
        said += [f"`{file.name}` holds one JSON list"] if start == "[" and file.suffix != ".json" else []
        rows, remark = _json_list(text, loading.rows)
        return _named(rows, (*said, *([remark] if remark else [])))
    said += [f"`{file.name}` holds one JSON value a line"] if file.suffix == ".json" else []
    return _named(tuple(_json_lines(text)), tuple(said))


def _entries(rows: Sequence[tuple[int, Any]], path: Sequence[str]) -> Iterator[Any]:
    """The entries of the list at the end of a path, each with what stands beside the lists on the way. A text
    of a list has the entries of the lists as long beside it."""
    for number, row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        head, *rest = path
        inside = row.get(head) if isinstance(row, dict) else None
        if isinstance(inside, dict):
            inside = [inside]
        if not isinstance(inside, list):
            yield BadRow(number, f"it has no list `{head}`")
            continue
        beside = {key: value for key, value in row.items() if key != head}
        entries = [
            (number, {**beside, **entry} if isinstance(entry, dict) else _beside(row, head, place))
            for place, entry in enumerate(inside)
        ]
        yield from _entries(entries, rest) if rest else (entry for _, entry in entries)


def _beside(row: Row, head: str, place: int) -> Row:
    """A row with one entry of each of its lists that are as long as the list `head`."""
    length = len(row[head])
    return {
        key: value[place] if isinstance(value, list) and len(value) == length else value
        for key, value in row.items()
    }


def whole_document(file: File) -> Any:
    """What a JSON file holds as a whole; None of any other file."""
    try:
        return json.loads(file.data)
    except (ValueError, RecursionError):
        return None


DEEPEST = 4
"""Lists within lists in which questions are looked for."""


def question_lists(record: Any, names: Sequence[str], way: Sequence[str] = ()) -> Iterator[str]:
    """The ways to the lists of a record of which each entry is a question: a table with a key that has one of
    these names, or a text of a list `questions` beside lists that are as long."""
    if not isinstance(record, dict) or len(way) == DEEPEST:
        return
    for key, value in record.items():
        inner = value if isinstance(value, list) else [value]
        if inner and all(isinstance(entry, dict) for entry in inner):
            asks = any(str(name).casefold() in names and isinstance(inner[0][name], str) for name in inner[0])
            if asks and isinstance(value, list):
                yield ".".join((*way, key))
            else:
                yield from question_lists(inner[0], names, (*way, key))
        elif (
            len(inner) > 1 and str(key).casefold() in PLURAL and all(isinstance(each, str) for each in inner)
        ):
            alike = [
                other for other in record.values() if isinstance(other, list) and len(other) == len(inner)
            ]
            if len(alike) > 1:
                yield ".".join((*way, key))


PLURAL = ("questions", "queries", "prompts")
"""Names of lists of which each text is a question."""
AIKEN = "the file is in Moodle's Aiken format: a question, its options, and a line ANSWER"
_ANSWER = re.compile(r"ANSWER:\s*([A-Za-z])\s*")
_OPTION = re.compile(r"([A-Za-z])[.)]\s+(\S.*)")


def _aiken(text: str) -> tuple[tuple[int, Any], ...] | None:
    """The questions of a text in Moodle's Aiken format, by the line that each begins in; None where it is
    another. See docs.moodle.org/en/Aiken_format."""
    if not re.search(rf"^{_ANSWER.pattern}$", text, re.MULTILINE) or "{" in text.split("\n", 1)[0]:
        return None
    rows: list[tuple[int, Any]] = []
    asked, options, begins = list[str](), list[str](), 0
    for number, line in enumerate(map(str.strip, text.split("\n")), start=1):
        answer, option = _ANSWER.fullmatch(line), _OPTION.fullmatch(line)
        if answer is not None:
            whole = {"question": "\n".join(asked), "options": options, "answer": answer[1].upper()}
            rows.append(
                (begins or number, whole if asked and options else BadRow(number, "an answer to nothing"))
            )
            asked, options, begins = [], [], 0
        elif option is not None and asked and option[1].upper() == chr(ord("A") + len(options)):
            options.append(option[2])
        elif line:
            asked, begins = [*asked, line], begins or number
    if asked:
        rows.append((begins, BadRow(begins, "a question without an answer")))
    return tuple(rows)


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


TOP = 30
"""Lines in which the row with the names of the columns is looked for."""
FULL = 3
"""Fields of a row that is more than a title."""


def _names_stand_in(text: str) -> tuple[int, str]:
    """The line that names the columns, counted from 0, and what separates the fields. It is the first, unless
    that holds a title or a remark and most rows below it have more fields."""
    lines = text.split("\n")[:TOP]
    first = next((each for each in SEPARATORS if each in lines[0]), "")
    filled = {each: [_filled(line, each) for line in lines] for each in SEPARATORS}
    if first and filled[first][0] > 1:
        return 0, first
    usual = {
        each: Counter(count for count in counts if count).most_common(1) for each, counts in filled.items()
    }
    fields = {each: counts[0][0] if counts else 0 for each, counts in usual.items()}
    most = max(SEPARATORS, key=lambda each: fields[each])
    if fields[most] < FULL:
        return 0, first
    # A row may lack one of its fields.
    line = next((place for place, count in enumerate(filled[most]) if count >= fields[most] - 1), 0)
    return (line, most) if all(count <= 1 for count in filled[most][:line]) else (0, first)


def _filled(line: str, separator: str) -> int:
    """How many fields of a line hold something."""
    fields = next(csv.reader([line], delimiter=separator), [])
    return sum(bool(field.strip()) for field in fields)


def _reader(text: str, separator: str) -> Iterator[list[str]]:
    """The records of a text. Where quotes are letters, as in many files with tabs, they are read as such."""
    if separator == "\t":
        try:
            for _ in csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator):
                pass
        except csv.Error:
            return csv.reader(io.StringIO(text, newline="\n"), delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(io.StringIO(text, newline="\n"), strict=True, delimiter=separator)


def _csv(text: str, said: list[str], otherwise: str, named: bool) -> Records:
    """Records by the names of the first row, which is row 1, as a spreadsheet counts; or by numbers, where no
    row names the columns. What separates the fields is found out from that row: commas, or else semicolons or
    tabs, or else it is `otherwise`."""
    above, separator = _names_stand_in(text)
    separator = separator or otherwise
    if above:
        said = [*said, f"{counted(above, 'line')} above the names of the columns are passed over"]
        text = text.split("\n", above)[above]
    if separator not in (",", ONE_COLUMN):
        said = [*said, f"the fields are separated by {SEPARATORS[separator]}"]
    reader = _reader(text, separator)
    rows: list[tuple[int, Any]] = []
    header: list[str] = []
    number = above
    try:
        for record in reader:
            number += 1
            if not header and not named:
                header = [f"{UNNAMED}{place}" for place in range(1, len(record) + 1)]
            elif not header:
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


def _json_list(text: str, below: str | None) -> tuple[tuple[tuple[int, Any], ...], str | None]:
    """The rows of one JSON value, and a remark where they stand below a key. The value itself is the
    only one where it is a table, and begins the way `below` to the rows."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed([BadRow(1, f"not JSON: {error}")]) from None
    if isinstance(rows, list):
        return tuple(enumerate(rows, start=1)), None
    if below is None and isinstance(rows, dict) and _is_split(rows):
        table = [dict(zip(rows["columns"], row, strict=True)) for row in rows["data"]]
        return tuple(enumerate(table, start=1)), "`columns` names the columns of the rows in `data`"
    if below is None and isinstance(rows, dict) and len(rows) > 1 and _by_column(list(rows.values())):
        help = 'save it row by row; with pandas: df.to_json(FILE, orient="records")'
        raise Malformed([BadRow(1, "the file holds columns, not rows", help)])
    if isinstance(rows, dict) and {"features", "rows"} <= rows.keys() and _are_served(rows["rows"]):
        return tuple(enumerate((entry["row"] for entry in rows["rows"]), start=1)), _list_of_rows(
            rows, "rows"
        )
    lists = [key for key, value in rows.items() if isinstance(value, list)] if isinstance(rows, dict) else []
    tables = [key for key in lists if rows[key] and all(isinstance(row, dict) for row in rows[key])]
    if below is not None and isinstance(rows, dict) and below.partition(".")[0] in rows:
        return ((1, rows),), None
    if len(tables) == 1:  # as `request_states` of HELM, or `data`
        return tuple(enumerate(rows[tables[0]], start=1)), _list_of_rows(rows, tables[0])
    if len(tables) > 1:
        named = ", ".join(f"`{key}`" for key in tables)
        help = f'loading.rows = "{tables[0]}" reads that list; or name another of them'
        raise Malformed([BadRow(1, f"the file holds several lists of rows: {named}", help)])
    help = f"save the list `{lists[0]}` alone as the file" if lists else "save the rows as one JSON list"
    raise Malformed([BadRow(1, "the file is not a list of rows", help)])


def _list_of_rows(document: Mapping[str, Any], key: str) -> str:
    """The remark about the list that holds the rows, with the texts beside it: an instruction may be one."""
    texts = [
        name for name, value in document.items() if isinstance(value, str) and len(value.split()) >= FEW_WORDS
    ]
    said = f"the rows are the list `{key}` of the file"
    if not texts:
        return said
    named = ", ".join(f"`{name}`" for name in texts[:FEW_WORDS])
    stands = "stands" if len(texts) == 1 else "stand"
    return f'{said}; {named} {stands} beside it: loading.rows = "{key}" makes it a column (--rows {key})'


FEW_WORDS = 4
"""Words of a text that may be an instruction; and as many such texts are named."""


def _are_served(entries: Any) -> bool:
    """Whether they are rows as the hub's dataset server gives them: each below `row`, with its number."""
    return isinstance(entries, list) and all(
        isinstance(entry, dict) and "row_idx" in entry and isinstance(entry.get("row"), dict)
        for entry in entries
    )


def _is_split(document: Mapping[str, Any]) -> bool:
    """Whether it is a table as Weights & Biases and pandas (`orient="split"`) write it: names and rows."""
    names, rows = document.get("columns"), document.get("data")
    return (
        isinstance(names, list)
        and isinstance(rows, list)
        and len(rows) > 0
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == len(names)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    )


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
