"""Keys: read from the environment when a model is opened, sent in a header, and written nowhere."""

import os
from collections.abc import Iterable

HIDDEN = "[key]"


def key_of(variable: str | None) -> str | None:
    """What the variable holds, without the white space that copying adds; None where it holds nothing."""
    return (os.environ.get(variable) or "").strip() or None if variable else None


def scrub(text: str, keys: Iterable[str]) -> str:
    """The text without any of the keys, in case a server or a library repeats one."""
    for key in keys:
        if len(key) >= 4:
            text = text.replace(key, HIDDEN)
    return text
