"""Keys that were pasted where they do not belong: no message shows one.

Where nobody knows the key, `masked` knows one by its form, by the name that it is given to, or by its place
in an address. What is masked keeps its first characters and its length, so that a person sees which key is
meant, and a caret its place. The keys that a run sends are known: `KeyScrubber` takes them out of all that
comes from outside, as it comes in, however it is spelled.
"""

import base64
import re
from collections.abc import Iterable, Iterator

_FORMS = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"(?:sk|rk|gsk|xai|pplx|nvapi|tgp|csk|r8)[-_](?=[A-Za-z0-9_\-]*\d[A-Za-z0-9_\-]*\d)[A-Za-z0-9_\-]{16,}"
    r"|(?:hf|gh[pousr]|github_pat|glpat)[-_](?=\w*\d)\w{20,}"
    r"|AIza[A-Za-z0-9_\-]{30,}|A(?:K|S)IA[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}(?:\.[A-Za-z0-9_\-]+)?)"
)
"""As providers write them."""
_GIVEN = re.compile(
    r"""(?i)(?<![A-Za-z0-9])(?:api[-_]?key|token|secret|password|authorization)["']?\s*[=:]\s*["']?(?:bearer\s+)?"""
    r"""(?P<key>[^\s"',}\]]{8,})"""
)
_IN_ADDRESS = re.compile(
    r"""(?<=://)(?P<key>[^/@\s"'`]+)(?=@)|(?i:[?&][\w\-]*(?:key|token|secret|sig)[\w\-]*=)(?P<query>[^&\s"'`]+)"""
)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_WORD = re.compile(r"[A-Za-z0-9_\-]{20,}")
SHOWN = 4
"""Characters of a key that stay."""


def looks_like_key(text: str) -> bool:
    """Whether a text that should name an environment variable is a key itself."""
    if _FORMS.fullmatch(text):
        return True
    digits = sum(character.isdigit() for character in text)
    return bool(_WORD.fullmatch(text)) and digits >= 3 and not _VARIABLE.fullmatch(text)


def masked(text: str) -> str:
    """The text without the keys that stand in it."""
    text = _FORMS.sub(lambda found: _mask(found[0]), text)
    for pattern in (_GIVEN, _IN_ADDRESS):
        text = pattern.sub(_masked_part, text)
    if "key_env" in text:
        text = _WORD.sub(lambda found: _mask(found[0]) if looks_like_key(found[0]) else found[0], text)
    return text


def _masked_part(found: "re.Match[str]") -> str:
    name = next(name for name, value in found.groupdict().items() if value is not None)
    start, end = (place - found.start() for place in found.span(name))
    return f"{found[0][:start]}{_mask(found[name])}{found[0][end:]}"


def _mask(key: str) -> str:
    kept = min(SHOWN, len(key) // 3)
    return f"{key[:kept]}{'*' * (len(key) - kept)}"


HIDDEN = "[key]"
"""What stands in the place of a known key."""

SHORTEST = 8
"""Characters that a key has at least: fewer are a word."""

_ORDINARY = re.compile(r"(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)(?:[-_ .](?:[a-z]+|[A-Z][a-z]*|[A-Z]+))*|[0-9]+")
"""What stands where a server wants a key and checks none: `EMPTY`, `not-needed`, a number."""
ORDINARY = 16
"""From so many characters on, such words are a key all the same."""

_NESTED = 8
"""Backslashes before an escape at most: JSON in JSON in JSON in JSON."""


def is_ordinary(key: str) -> bool:
    """Whether a key is too short, or too much of a word, to be told from what an answer says."""
    return len(key) < SHORTEST or (len(key) < ORDINARY and _ORDINARY.fullmatch(key) is not None)


class KeyScrubber:
    """Takes keys out of what comes from outside: the key itself in any letter case, its characters as URLs
    and JSON escape them, in any mixture, and its base64 forms, at whichever place of a longer text they
    stand. A key that `is_ordinary` is left in answers, which it would mask."""

    def __init__(self, keys: Iterable[str]) -> None:
        known = sorted(set(keys), key=len, reverse=True)
        secret = [key for key in known if not is_ordinary(key)]
        forms = [form for key in secret for form in _forms(key)]
        self._pattern = re.compile("|".join(forms).encode()) if forms else None
        self._words = [key for key in known if is_ordinary(key) and len(key) >= SHOWN]
        self._seen = _seen(secret)
        self.longest = max((_LONGEST * (4 * len(key.encode()) // 3 + 4) for key in secret), default=0)
        """Bytes that a key takes at most, however it is spelled."""

    def of_bytes(self, data: bytes) -> bytes:
        """The bytes without any of the keys."""
        if self._pattern is None or not self._may_hold(data):
            return data
        return self._pattern.sub(HIDDEN.encode(), data)

    def of_text(self, text: str) -> str:
        """The text without any of the keys."""
        if self._pattern is None:
            return text
        return self.of_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def of_message(self, text: str) -> str:
        """A message about a failure, which nobody scores, without any of the keys and without ordinary words
        that are used as one."""
        text = self.of_text(text)
        for word in self._words:
            text = text.replace(word, HIDDEN)
        return text

    def of_chunks(self, held: bytes) -> tuple[bytes, bytes]:
        """What is whole of the bytes that came so far, without any of the keys, and the rest, in which one
        may have begun."""
        end = max(len(held) - self.longest, 0)
        if self._pattern is not None and self._may_hold(held):
            for found in self._pattern.finditer(held):
                if found.start() < end < found.end():
                    end = found.end()
        return self.of_bytes(held[:end]), held[end:]

    def _may_hold(self, data: bytes) -> bool:
        """Whether a key may be in it: the pattern of every form takes a hundred times as long to look."""
        if self._seen is None:
            return True
        if b"%" in data or b"\\" in data:
            data = _ESCAPE.sub(lambda found: bytes([int(found[found.lastindex or 1], 16)]), data)
        data = data.lower().replace(b"-", b"+").replace(b"_", b"/").replace(b"\\", b"")
        return any(part in data for part in self._seen)


_ESCAPE = re.compile(rb"(?i)%(?:25)*([0-9a-f]{2})|\\+u00([0-9a-f]{2})")


def _seen(keys: Iterable[str]) -> list[bytes] | None:
    """What is in plain sight where any form of a key is: in lower case, without escapes, in one alphabet of
    base64. None where a key has characters that escapes are made of."""
    parts = []
    for key in keys:
        if not key.isascii() or set(key) & set("%\\"):
            return None
        parts += [key, *_base64_of(key)]
    return [part.lower().replace("-", "+").replace("_", "/").encode() for part in parts]


_LONGEST = _NESTED + 5
"""Bytes that a character takes at most: `\\u0041` behind all its backslashes."""


def _forms(key: str) -> Iterator[str]:
    """Patterns of every form of a key."""
    yield f"(?i:{''.join(map(_spelled, key))})"
    yield from ("".join(map(_spelled_base64, coded)) for coded in _base64_of(key))


def _base64_of(key: str) -> Iterator[str]:
    """The characters of base64 that a key alone decides, by where in a group of three bytes it begins."""
    data = key.encode()
    for before in range(3):
        coded = base64.b64encode(bytes(before) + data).decode()
        yield coded[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]


def _spelled(character: str) -> str:
    """A pattern of a character in a text, a URL or JSON."""
    either = {character, character.lower(), character.upper()}
    percent = ("".join(f"%(?:25){{0,2}}{byte:02x}" for byte in one.encode()) for one in either)
    json = (f"{_BACKSLASHES}u{ord(one):04x}" for one in either if len(one) == 1)
    return f"(?:{'|'.join((*sorted(map(_plain, either)), *sorted(percent), *sorted(json)))})"


def _spelled_base64(character: str) -> str:
    """A pattern of a character of base64, in either alphabet."""
    other = {"+": "-", "/": "_"}.get(character)
    return character if other is None else f"(?i:{_spelled(character)}|{other})"


_BACKSLASHES = rf"\\{{1,{_NESTED}}}"


def _plain(character: str) -> str:
    escaped = character in '"\\/'
    return f"\\\\{{0,{_NESTED}}}{re.escape(character)}" if escaped else re.escape(character)
