"""What a row has for a field: the texts, words and lists in its cells, by the field map."""

import ast
import json
import re
from typing import Any

from gridc.compiler.inputs.loaders.gold import is_empty, short, spelled
from gridc.compiler.inputs.loaders.parsing import BadField, Row
from gridc.compiler.inputs.loaders.records import at
from gridc.compiler.instrument.item import LETTERS
from gridc.schema.items import AT_LABELS, FieldValue, SpeakerColumn, SplitColumn


def raw_value(row: Any, field: str | FieldValue | SplitColumn | SpeakerColumn) -> Any:
    """The value that a row has for a field, before the field's map is applied."""
    if isinstance(field, FieldValue):
        return field.constant if field.column is None else at(row, field.column)
    return at(row, field if isinstance(field, str) else field.column)


def meaning_of(field: str | FieldValue, value: Any) -> Any:
    """The meaning of a value (not an empty one) by the field's map; None where the map does not list it."""
    single = in_list_of_one(value)
    if isinstance(field, str) or field.map is None:
        return single
    for word in dict.fromkeys((word_of(single), word_of(value))):
        folded = [meaning for mapped, meaning in field.map.items() if mapped.casefold() == word.casefold()]
        if word in field.map or len(folded) == 1:
            return field.map.get(word, folded[0])
    return None


def word_of(value: Any) -> str:
    """A value as a key of a map: true and false are written as in JSON."""
    return json.dumps(value) if isinstance(value, bool) else str(value).strip()


def value_of(row: Row, field: str | FieldValue) -> Any:
    """The value of a field. Raises `ValueError` where the field's map does not list the value."""
    raw = raw_value(row, field)
    if is_empty(in_list_of_one(raw)):
        return in_list_of_one(raw)
    meaning = raw if is_empty(raw) else meaning_of(field, raw)
    if meaning is None and raw is not None:
        raise ValueError(f"`{name_of_field(field)}` is {spelled(word_of(raw))}, which its map does not name")
    return meaning


def in_list_of_one(value: Any) -> Any:
    """The value in a list that holds one, or in lists within it; any other value as it is."""
    while isinstance(value, list) and len(value) == 1:
        (value,) = value
    return value


def name_of_field(field: str | FieldValue) -> str:
    return field if isinstance(field, str) else field.column or "constant"


def text_of(row: Row, field: str | FieldValue) -> str:
    """The text of a field; a list that holds one text is that text."""
    value, name = value_of(row, field), name_of_field(field)
    if is_empty(value):
        raise ValueError(f"`{name}` is empty")
    if isinstance(value, list):
        help = f'turns = "{name}" in place of query asks them in turn; query = "{name}.0" the first alone'
        raise BadField(f"`{name}` holds {len(value)} texts, and one is asked", help)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"`{name}` is not a text")
    return str(value)


def passages_of(row: Row, field: str | FieldValue) -> str:
    """The text of a field that may hold a list of passages: they stand below each other, with an empty line
    between. Empty where it has none."""
    value = in_list_of_one(raw_value(row, field))
    if not isinstance(value, list):
        return "" if is_empty(value) else text_of(row, field)
    name = name_of_field(field)
    passages = [passage for passage in value if not is_empty(passage)]
    if not all(isinstance(passage, str) for passage in passages):
        raise ValueError(f"`{name}` is a list of more than texts")
    return "\n\n".join(passages)


_LABEL = re.compile(r"(?:^|(?<=[\s,;|]))[(\[]?\s?([A-Za-z]|\d{1,2})\s?([)\].:、．])\s*(?=\S)")


def split_text(text: str, mark: str) -> list[str]:
    """The parts of a text between marks; with `labels` what stands behind A), B), C) or 1., 2., 3."""
    if mark != AT_LABELS:
        return [part.strip() for part in text.split(mark)]
    labels: list[re.Match[str]] = []
    for found in _LABEL.finditer(text):
        place = len(labels)
        if found[1].upper() in (LETTERS[place : place + 1], str(place + 1)):
            labels.append(found)
    if not labels or text[: labels[0].start()].strip():
        return [text.strip()]
    return _behind(labels, text)


def _behind(labels: list[re.Match[str]], text: str) -> list[str]:
    ends = [*(label.start() for label in labels[1:]), len(text)]
    return [text[label.end() : end].strip(" \t\r\n,;|") for label, end in zip(labels, ends, strict=True)]


def question_and_options(text: str) -> tuple[str, list[str]]:
    """The question of a text, and the labelled options behind it. Raises `ValueError` where there are none.

    The options are the longest series of labels with one mark, and of several the last: the question may
    begin with a number, or name a vitamin A: before option A)."""
    found = list(_LABEL.finditer(text))
    longest: list[re.Match[str]] = []
    for place, first in enumerate(found):
        series = [LETTERS, "123456789"][first[1].isdecimal()]
        run: list[re.Match[str]] = []
        for label in found[place:]:
            if label[2] == first[2] and label[1].upper() == series[len(run) : len(run) + 1]:
                run.append(label)
        if len(run) >= max(len(longest), 2):
            longest = run
    question = text[: longest[0].start()].strip() if longest else ""
    if not question:
        raise ValueError("the text is no question with labelled options behind it")
    return question, _behind(longest, text)


def listed(row: Row, names: tuple[str, ...], list_last: bool = False) -> tuple[str, ...]:
    """The texts of several columns, or of a list in a single column, without empty ones at the end. With
    `list_last` the last column may hold a list: of wrong options, behind the column of the right one."""
    values, named = [], list[str]()
    for name in names:
        value = at(row, name)
        last = list_last and name == names[-1] and isinstance(value, list)
        texts = list_in(value, name) if len(names) == 1 or last else [value]
        values += texts
        named += [name] * len(texts)
    while values and is_empty(values[-1]):
        values.pop()
    for number, value in enumerate(values):
        where = f"`{named[number]}`"
        if is_empty(value):
            later = LETTERS[number + 1 : number + 2]
            raise ValueError(f"{where}, option {number + 1}, is empty, and option {later} is not")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{where} is not a list of texts")
    return tuple(str(value) for value in values)


def list_in(value: Any, name: str) -> list[Any]:
    """The list in a field: a list, a table with the keys A, B, C, or one of these written in JSON or Python.
    Any other value is a list of one, and an empty value is an empty list."""
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            # Python's str() of a list has single quotes, which JSON refuses.
            try:
                value = ast.literal_eval(value.strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                raise ValueError(f"`{name}` is not a list that can be read: {short(value)!r}") from None
    if isinstance(value, dict):
        if list(value) != list(LETTERS[: len(value)]):
            raise ValueError(f"`{name}` is a table whose keys are not A, B, C in order")
        return list(value.values())
    if isinstance(value, tuple | list):
        return list(value)
    if is_empty(value):
        return []
    return [value]


def json_value(column: str, value: Any) -> Any:
    """A value as JSON holds it. Raises `ValueError` for a value that JSON cannot hold."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ValueError(
            f"`{column}` holds {type(value).__name__}, and no text, number, list or table"
        ) from None
