"""How options are marked where they are shown: `A.`, `(b)`, `1)`, `iv.`, `-`; and what may then be answered.

The labels of letters, numbers and Roman numbers can be answered with. Bullets label nothing, so that an
answer can only name an option's text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from gridc.compiler.instrument.item import LETTERS

DEFAULT = "A."
VERSIONS = {
    "enumerator:A": 1,
    "enumerator:a": 1,
    "enumerator:1": 1,
    "enumerator:I": 1,
    "enumerator:i": 1,
    "enumerator:bullet": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""
_ROMAN = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_TOKEN = re.compile(r"[Aa1Ii]")


@lru_cache(maxsize=256)
def labels(enumerator: str, count: int) -> tuple[str, ...]:
    """The labels of so many options, without what surrounds them; none where bullets mark them."""
    token = _TOKEN.search(enumerator)
    if token is None:
        return ()
    kinds = {
        "A": lambda place: LETTERS[place],
        "a": lambda place: LETTERS[place].lower(),
        "1": lambda place: str(place + 1),
        "I": lambda place: _roman(place + 1).upper(),
        "i": lambda place: _roman(place + 1),
    }
    return tuple(kinds[token[0]](place) for place in range(count))


def marks(enumerator: str, count: int) -> tuple[str, ...]:
    """The same with what surrounds them, as they are shown; so many times the bullet."""
    token = _TOKEN.search(enumerator)
    if token is None:
        return (enumerator,) * count
    before, after = enumerator[: token.start()], enumerator[token.end() :]
    return tuple(f"{before}{label}{after}" for label in labels(enumerator, count))


def are_letters(names: Sequence[str]) -> bool:
    """Whether labels are letters of the alphabet in order, in either case."""
    return [name.upper() for name in names] == list(LETTERS[: len(names)])


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text, number = text + letters, number - value
    return text
