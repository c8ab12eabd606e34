"""Mutations of a spec: of its values, guided by the published schema, and of its bytes.

All choices come from one `random.Random`, which hypothesis and atheris can stand in for.
"""

import copy
import json
from collections.abc import Callable
from datetime import date, time
from random import Random
from typing import Any

from gridc.schema import jsonschema

Path = tuple[str | int, ...]

SCHEMA: dict[str, Any] = jsonschema.load()

TEXTS = (
    "", " ", "x", "X" * 200, "é", "e\u0301", "\u2028", "\ufeff", "\U0001f600", "a\nb", "a\tb", "a\x7fb",
    "a/b", "..", "not", "model", "tier", "benchmark", "core", "id", "path:..", "path:x", "path:" + "x" * 400,
    "builtin:", "data:x", "builtin:T1", "hf:x", "hf:a/b@c", "{{ question }}", "{{ question", "1", "true",
    "{{ question.__class__ }}", "{% for a in b %}", "{{ stem }}{{ options }}{{ answer }}", "1979-05-27",
    "GC501",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 3, 64, 100, 101, 1000, 2**31, 2**53 - 1, 2**53, 2**64, 0.0, -0.0, 0.5, 1.0, 1.5, 5e-324,
    1e308,
)  # fmt: skip
BYTES = (
    b'"', b"'", b'"""', b"'''", b"[", b"]", b"[[", b"]]", b"{", b"}", b"=", b".", b",", b"#", b"\n", b"\r",
    b"\x00", b"\xff", b"\xef\xbb\xbf", "é".encode(), "e\u0301".encode(), "\u2028".encode(), b"\\u0000",
    b"\\ud800", b"\\", b"nan", b"-inf", b"1e999", b"0x7fffffffffffffffffff", b"9" * 40, b"true",
    b"1979-05-27", b"07:32:00", b"[]", b"{}", b'""', b"not = 1", b"{ not = { not = 1 } }", b"id = 1\n",
    b"[[axis]]\n", b"[[axis.level]]\n", b"[axis]\n", b"[[model]]\n", b"[study]\n", b"a.b.c = 1\n",
    b"[a.b]\n", b"[[a.b]]\n", b"engine = 1\n", b"prompt = ''\n", b"{{ question", b"path:..", b"builtin:",
    b"data:x", b"temperature = 5\n", b"shots = 64\n",
)  # fmt: skip


def structured(values: dict[str, Any], rng: Random) -> dict[str, Any]:
    """The values after one to three edits; not always a spec, always a TOML document."""
    changed = copy.deepcopy(values)
    for _ in range(rng.randint(1, 3)):
        rng.choice(_EDITS)(changed, rng)
    return changed


def bytewise(data: bytes, rng: Random) -> bytes:
    """The text after one to three edits at any byte."""
    for _ in range(rng.randint(1, 3)):
        place, length = rng.randint(0, len(data)), rng.randint(1, 40)
        end = min(place + length, len(data))
        match rng.randint(0, 4):
            case 0:
                data = data[:place] + rng.choice(BYTES) + data[place:]
            case 1:
                data = data[:place] + data[end:]
            case 2:
                later = data[end : end + length]
                data = data[:place] + later + data[place:end] + data[end + length :]
            case 3:
                data = data[:place] + data[place:end] * 2 + data[end:]
            case _:
                lines = data.split(b"\n")
                lines.insert(rng.randint(0, len(lines)), rng.choice(BYTES))
                data = b"\n".join(lines)
    return data


def invent(schema: Any, rng: Random, depth: int = 0) -> Any:
    """A value that a part of the schema describes, or nearly so."""
    schema = _resolved(schema, rng)
    if rng.random() < 0.03 or depth > 6:
        return rng.choice((*TEXTS, *NUMBERS, True, False))
    for key in ("const", "enum", "examples"):
        if key in schema:
            chosen = schema[key] if key == "const" else rng.choice(schema[key])
            return copy.deepcopy(chosen)  # what is invented is edited later, and the schema is everybody's
    match schema.get("type"):
        case "object":
            return _table(schema, rng, depth)
        case "array":
            least = schema.get("minItems", 0)
            return [invent(schema.get("items", {}), rng, depth + 1) for _ in range(least + rng.randint(0, 2))]
        case "integer" | "number" as kind:
            return _number(schema, rng, kind == "integer")
        case "boolean":
            return rng.random() < 0.5
    return rng.choice(TEXTS)


def toml(values: dict[str, Any]) -> str:
    """The document with a line for each top-level key and all below it inline."""
    return "".join(f"{_quoted(key)} = {_inline(value)}\n" for key, value in values.items())


def _table(schema: dict[str, Any], rng: Random, depth: int) -> dict[str, Any]:
    required = schema.get("required", [])
    made = {
        key: invent(part, rng, depth + 1)
        for key, part in schema.get("properties", {}).items()
        if (rng.random() < 0.97 if key in required else rng.random() < 0.25)
    }
    open_part = schema.get("additionalProperties")
    if isinstance(open_part, dict):
        made |= {rng.choice(TEXTS): invent(open_part, rng, depth + 1) for _ in range(rng.randint(0, 2))}
    return made


def _number(schema: dict[str, Any], rng: Random, whole: bool) -> float:
    limits = [
        schema[key] for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if key in schema
    ]
    near = [limit + step for limit in limits for step in (-1, 0, 1, 0.5)]
    chosen = rng.choice((*near, *NUMBERS))
    return int(chosen) if whole and rng.random() < 0.9 else chosen


def _resolved(schema: Any, rng: Random) -> dict[str, Any]:
    """The schema behind references, one branch of it where there are several."""
    found: dict[str, Any] = schema if isinstance(schema, dict) else {}
    while True:
        if "$ref" in found:
            found = SCHEMA["$defs"][found["$ref"].rpartition("/")[2]]
        elif "anyOf" in found or "oneOf" in found:
            found = rng.choice(found.get("anyOf") or found["oneOf"])
        else:
            return found


def _schema_at(path: Path, rng: Random) -> dict[str, Any]:
    """The part of the schema that a place of the document is under."""
    found = _resolved(SCHEMA, rng)
    for part in path:
        if isinstance(part, int):
            found = _resolved(found.get("items", {}), rng)
        else:
            found = _resolved(found.get("properties", {}).get(part, found.get("additionalProperties")), rng)
    return found


def places(value: Any, path: Path = ()) -> list[Path]:
    """Every place of a document, the whole first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def place_kind(path: Path) -> Path:
    """The place without the numbers of rows."""
    return tuple(0 if isinstance(part, int) else part for part in path)


def value_at(document: Any, path: Path) -> Any:
    for part in path:
        document = document[part]
    return document


def _somewhere(document: dict[str, Any], rng: Random) -> Path:
    """A place below the top. Top-level keys first, so that long axes do not crowd out the rest."""
    if not document:
        document["gridcard"] = 1
    key = rng.choice(sorted(document))
    return (key, *rng.choice(places(document[key])))


def _put(document: dict[str, Any], path: Path, value: Any) -> None:
    value_at(document, path[:-1])[path[-1]] = value


def _delete(document: dict[str, Any], rng: Random) -> None:
    path = _somewhere(document, rng)
    del value_at(document, path[:-1])[path[-1]]


def _retype(document: dict[str, Any], rng: Random) -> None:
    _put(
        document,
        _somewhere(document, rng),
        rng.choice((*TEXTS, *NUMBERS, True, False, [], {}, [[]], [{}], {"not": "x"})),
    )


def _reinvent(document: dict[str, Any], rng: Random) -> None:
    path = _somewhere(document, rng)
    _put(document, path, invent(_schema_at(path, rng), rng))


def _add(document: dict[str, Any], rng: Random) -> None:
    """A key or a row that the schema has here."""
    tables = [
        (),
        *(path for path in places(document) if path and isinstance(value_at(document, path), dict | list)),
    ]
    path = rng.choice(tables)
    here, schema = value_at(document, path), _schema_at(path, rng)
    if isinstance(here, list):
        here.insert(rng.randint(0, len(here)), invent(schema.get("items", {}), rng))
    elif schema.get("properties"):
        key = rng.choice(sorted(schema["properties"]))
        here[key] = invent(schema["properties"][key], rng)
    else:
        here[rng.choice(TEXTS)] = invent(schema.get("additionalProperties"), rng)


def _double(document: dict[str, Any], rng: Random) -> None:
    """A row again, under another id or the same one."""
    lists = [
        path
        for path in places(document)
        if isinstance(value_at(document, path), list) and value_at(document, path)
    ]
    if not lists:
        return
    rows = value_at(document, rng.choice(lists))
    row = copy.deepcopy(rng.choice(rows))
    if isinstance(row, dict) and "id" in row and rng.random() < 0.7:
        row["id"] = f"{row['id']}{rng.randint(0, 9)}"
    rows.insert(rng.randint(0, len(rows)), row)


def _swap(document: dict[str, Any], rng: Random) -> None:
    one, other = _somewhere(document, rng), _somewhere(document, rng)
    if one[: len(other)] != other and other[: len(one)] != one:
        left, right = value_at(document, one), value_at(document, other)
        _put(document, one, right)
        _put(document, other, left)


def _rename(document: dict[str, Any], rng: Random) -> None:
    path = _somewhere(document, rng)
    table = value_at(document, path[:-1])
    if isinstance(table, dict):
        table[rng.choice((*TEXTS, f"{path[-1]}s"))] = table.pop(path[-1])


def _tweak(document: dict[str, Any], rng: Random) -> None:
    """A text with a letter more or less, a number one off."""
    path = _somewhere(document, rng)
    value = value_at(document, path)
    if isinstance(value, str):
        place = rng.randint(0, len(value))
        _put(document, path, value[:place] + rng.choice(TEXTS)[:3] + value[place + rng.randint(0, 1) :])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _put(document, path, rng.choice((value + 1, value - 1, -value, value * 10, float(value), value / 3)))


_EDITS: tuple[Callable[[dict[str, Any], Random], None], ...] = (
    _delete, _retype, _reinvent, _reinvent, _add, _add, _double, _swap, _rename, _tweak, _tweak,
)  # fmt: skip


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_inline(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, date | time):
        return value.isoformat()
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
