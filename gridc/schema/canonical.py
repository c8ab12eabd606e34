"""Canonical JSON (RFC 8785) and SHA-256: one meaning, one sequence of bytes, one digest."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import rfc8785
from pydantic_core import PydanticSerializationError, from_json, to_json


def canonical(value: Any) -> bytes:
    """The RFC 8785 form of a JSON value. Raises `rfc8785.CanonicalizationError` for others."""
    try:
        return to_json(_ordered(value))
    except (_NotPlainError, PydanticSerializationError):  # the latter for half a surrogate pair
        return rfc8785.dumps(value)


@lru_cache(maxsize=1024)  # short answers and records come again and again
def has_one_reading(text: str) -> bool:
    """Whether a JSON text says one thing to every reader, as what gridc writes does. One that names a key
    twice says the first to SQLite and the last to Python."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return to_json(from_json(data, allow_inf_nan=False)) == data or canonical(json.loads(text)) == data
    except (ValueError, TypeError, RecursionError):
        return False


class _NotPlainError(Exception):
    """Only rfc8785 knows the canonical form of a value, or that it has none."""


def _ordered(value: Any) -> Any:
    """The value with its keys in order, if pydantic then writes its canonical form, many times as fast: the
    keys are ASCII, and numbers are such that everybody writes them alike. Raises `_NotPlainError`."""
    kind = type(value)
    if kind is dict:
        ordered = {}
        try:
            for key in sorted(value):
                held = value[key]
                ordered[key] = held if type(held) is str else _ordered(held)
            plain = "".join(ordered).isascii()
        except TypeError:  # a key that is no text
            plain = False
        if not plain:
            raise _NotPlainError
        return ordered
    if kind is list or kind is tuple:
        return [held if type(held) is str else _ordered(held) for held in value]
    if kind is str or kind is bool or value is None:
        return value
    if kind is int and -(2**53) < value < 2**53:
        return value
    if kind is float and abs(value) < 1e15:
        if value.is_integer():
            return int(value)
        if abs(value) >= 1e-4:
            return value
    raise _NotPlainError


def canonical_members(values: Mapping[str, Any]) -> bytes:
    """`canonical` of an object whose names are ASCII and whose members come again and again in others, as
    those of requests do: each text or number is written once and remembered."""
    plain = (str, int, float)
    return b"{%s}" % b",".join(
        [
            (_member if type(values[name]) in plain else _written)(name, values[name])
            for name in sorted(values)
        ]
    )


def _written(name: str, value: Any) -> bytes:
    return canonical({name: value})[1:-1]


_member = lru_cache(maxsize=2**14, typed=True)(_written)  # typed: 1, 1.0 and true are equal in Python


def canonical_row(row: Sequence[Any]) -> bytes:
    """`canonical` of a list of texts, whole numbers (below 2^53) and nulls, nested or not. On these pydantic
    writes the same bytes, fifty times as fast; a study has millions of them."""
    return to_json(row)


_ROW = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


def stored_row(row: Sequence[Any]) -> bytes:
    """The same of a row that holds floats, which are written as Python does. So does pydantic where they need
    no exponent."""
    for held in row:
        if type(held) is float and held and not 1e-4 <= abs(held) < 1e15:
            return _ROW.encode(row).encode()
    return to_json(row)


def each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which every key stands once (as `object_pairs_hook`): where one stands twice,
    readers take one or the other. Raises `ValueError`."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def digest(value: Any) -> str:
    """SHA-256 of the canonical form, in lower-case hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def digest_bytes(data: bytes) -> str:
    """SHA-256 of bytes as they are, in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()
