"""Characters that a terminal or a page obeys instead of showing."""

import re

DECEIVING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line ends, and those that turn the direction of writing."""


def visible(text: str) -> str:
    """The text on one line, with a picture for each character that would be obeyed."""
    return text if text.isprintable() else "".join(map(_picture, text))


def _picture(character: str) -> str:
    if ord(character) < 32:
        return chr(0x2400 + ord(character))
    return "\ufffd" if DECEIVING.match(character) or character in "\x85\u2028\u2029" else character
