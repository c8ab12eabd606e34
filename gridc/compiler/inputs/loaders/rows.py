"""The general loader: JSONL, a JSON list or CSV, with a map from columns to the parts of an item."""

from typing import Any

from gridc.compiler.inputs.loaders import lettered
from gridc.compiler.inputs.loaders.files import File, Row, items, table
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Fields, Loading


def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order. Raises `Malformed`."""
    fields = loading.fields
    if fields is None:
        raise ValueError("the loader `rows` needs a field map")
    return items(table(file), lambda number, row: _item(f"{file.stem}-{number:05d}", row, fields, loading))


def _item(name: str, row: Row, fields: Fields, loading: Loading) -> Item:
    options = _listed(row, fields.options)

    def place(field: str | None) -> int | None:
        return None if field is None else _place(_at(row, field), options, loading.gold or "index")

    def word(field: str | None) -> str | None:
        return None if field is None else _text(row, field)

    named = {tag: str(value) for tag in fields.tags if (value := _at(row, tag)) not in (None, "")}
    name = word(fields.id) or name
    return Item(
        id=name,
        query=_text(row, fields.query),
        options=options,
        gold=place(fields.gold),
        family=word(fields.family or fields.cluster) or name,
        tags=named,
        context=word(fields.context) or "",
        unknown=place(fields.unknown),
        matching=place(fields.matching),
        expected=word(fields.expected),  # type: ignore[arg-type]  # Item says what it may be
        references=_listed(row, fields.references),
        open=word(fields.open),
        template=word(fields.template) or "",
        category=word(fields.category) or "",
    )


def _at(row: Any, name: str) -> Any:
    """A value by its column, or along the dots of its name."""
    if isinstance(row, dict) and name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    if not dot:
        raise KeyError(name)
    return _at(row[head], rest)


def _text(row: Row, name: str) -> str:
    value = _at(row, name)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise ValueError(f"`{name}` is not a text")
    return str(value)


def _listed(row: Row, names: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of several columns, less empty ones at the end; or of the one list that a key holds."""
    values = [_at(row, name) for name in names]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]
    while values and values[-1] in (None, ""):
        values.pop()
    if not all(isinstance(value, str | int | float) for value in values):
        raise ValueError(f"`{names[0]}` is not a list of texts")
    return tuple(str(value) for value in values)


def _place(value: Any, options: tuple[str, ...], rule: str) -> int:
    if rule == "letter":
        return lettered.place(str(value), options)
    if rule == "text":
        if options.count(value) != 1:
            raise ValueError(f"{value!r} is the text of {options.count(value)} options, expected one")
        return options.index(value)
    if isinstance(value, bool) or int(value) != float(value):
        raise ValueError(f"{value!r} is not a whole number")
    place = int(value) - (rule == "one_based")
    if not 0 <= place < len(options):
        raise ValueError(f"{value!r} names none of the {len(options)} options")
    return place
