"""What the levels of an axis are called: by their label, and where that is a digest by what it stands for."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

LONG = 40
"""Characters of a name that is put together from several values, or that begins a long text."""
SHORT = 24
"""Characters of a value that is shown whole beside its key."""
DIGEST = re.compile(r"#[0-9a-f]{6}")
UNSET = "unset"


def level_names(levels: Mapping[str, str]) -> dict[str, str]:
    """A short name for each value of an axis, no two alike, from its label. What is a table is named by the
    keys in which the values differ, `temperature: 0.7`, and by those keys alone where that is long."""
    told = _told_apart(list(levels))
    names: dict[str, str] = {}
    for value, label in levels.items():
        short = told.get(value, _beginning(value) if DIGEST.fullmatch(label) else label).replace(",", ";")
        number, name = 1, short
        while name in names.values():
            number += 1
            name = f"{short} ({number})"
        names[value] = name
    return names


def table(value: str) -> dict[str, object] | None:
    """A level that is a table as JSON; a column of a stranger's may only look like one."""
    parsed = _parsed(value)
    return parsed if isinstance(parsed, dict) else None


def _parsed(value: str) -> object:
    try:
        return json.loads(value) if value.startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return None


def _told_apart(values: Sequence[str]) -> dict[str, str]:
    """Those that are tables or lists, by what differs among them. What is neither, such as `none`, has no
    key."""
    tables = {
        value: dict(_flat(parsed)) for value in values if isinstance(parsed := _parsed(value), dict | list)
    }
    sides: list[dict[str, object]] = [*tables.values(), *([{}] if len(tables) < len(values) else [])]
    keys = dict.fromkeys(key for side in sides for key in side)
    differing = [
        key for key in keys if len({json.dumps(side[key]) if key in side else None for side in sides}) > 1
    ]
    told = {value: _told(side, differing) for value, side in tables.items()}
    return {value: text for value, text in told.items() if text}


def _told(values: Mapping[str, object], keys: Sequence[str]) -> str:
    shown = {key: "" if values.get(key) is None else str(values[key]) for key in keys}
    parts = [f"{key}: {values.get(key, UNSET)}" if len(text) <= SHORT else key for key, text in shown.items()]
    text = "; ".join(parts)
    if len(text) <= LONG or len(parts) == 1:
        return text
    names = "; ".join(keys)
    return names if len(names) <= LONG else f"{keys[0]} and {len(keys) - 1} more"


def _flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """What is within, by its path; an empty list or table is a value."""
    inner: Iterator[tuple[str, object]] = iter(())
    if isinstance(value, dict):
        inner = ((f"{path}.{key}" if path else key, one) for key, one in value.items())
    elif isinstance(value, list):
        inner = ((f"{path}[{number}]", one) for number, one in enumerate(value))
    leaf = True
    for key, one in inner:
        leaf = False
        yield from _flat(one, key)
    if leaf and path:
        yield path, value


def _beginning(text: str) -> str:
    """Of a long text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONG else f"{line[: LONG - 1]}…"
