"""gridc's own wording of each scaffold: TOML files in gridc/builtin/scaffolds, with their digests."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from gridc.schema.canonical import digest_bytes

Wording = Mapping[str, Any]


@cache
def wording(name: str) -> Wording:
    """The texts of one file, by key."""
    return tomllib.loads(_data(name).decode())


@cache
def wording_digest(name: str) -> str:
    """SHA-256 of the file."""
    return digest_bytes(_data(name))


def _data(name: str) -> bytes:
    return (files("gridc.builtin") / "scaffolds" / f"{name}.toml").read_bytes()
