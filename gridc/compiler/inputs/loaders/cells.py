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


_LABEL = re.compile(r"(?:^|(?<=[\s,;|]))[(\[]?\s?([A-Za-z]|\d{1,2})\s?[)\].:、．]\s*(?=\S)")


def split_text(text: str, mark: str) -> list[str]:
    """The parts of a text between marks; with `labels` what stands behind A), B), C) or 1., 2., 3."""
    if mark != AT_LABELS:
        return [part.strip() for part in text.split(mark)]
    before, parts = labelled_parts(text)
    return [text.strip()] if before or not parts else parts


def labelled_parts(text: str) -> tuple[str, list[str]]:
    """What stands before the first label of a text, and the parts behind: a question, and its options."""
    lettered, numbered = list[re.Match[str]](), list[re.Match[str]]()
    for found in _LABEL.finditer(text):
        if found[1].upper() == LETTERS[len(lettered) : len(lettered) + 1]:
            lettered.append(found)
        elif found[1] == str(len(numbered) + 1):
            numbered.append(found)
    # A number may be that of the question, and a letter alone is no series.
    labels = lettered if len(lettered) > 1 or not numbered else numbered
    if not labels:
        return text.strip(), []
    ends = [*(label.start() for label in labels[1:]), len(text)]
    parts = [text[label.end() : end].strip(" \t\r\n,;|") for label, end in zip(labels, ends, strict=True)]
    return text[: labels[0].start()].strip(), parts


def asked_before_options(text: str) -> str:
    """The question of a text that ends with its labelled options. Raises `ValueError` where it has none."""
    before, parts = labelled_parts(text)
    if not before or len(parts) < 2:
        raise ValueError("the text is no question with labelled options behind it")
    return before


def listed(row: Row, names: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of several columns, or of a list in a single column, without empty ones at the end."""
    values, named = [], list[str]()
    for name in names:
        value = at(row, name)
        # Behind the column of the right option may stand a list of the wrong ones. One before a column of
        # another option would change which letter names that.
        last = name == names[-1] and isinstance(value, list)
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
