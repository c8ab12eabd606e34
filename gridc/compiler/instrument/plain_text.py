"""Map a response to plain characters, position by position, so that one set of patterns can read every
response.

Every character stays where it is (what is folded away becomes a space), so a span in the folded text is
the same span in the response.
"""

import re
import unicodedata

_QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'}
_BRACKETS = {"【": "(", "「": "(", "『": "(", "《": "(", "〈": "(", "〔": "(",
             "】": ")", "」": ")", "』": ")", "》": ")", "〉": ")", "〕": ")"}  # fmt: skip
_POINTS = {"。": ".", "、": ",", "،": ",", "؛": ";", "؟": "?", "।": ".", "–": "-", "—": "-", "−": "-",
           "‐": "-", "‑": "-", "→": ">", "⇒": ">", "•": "*", "·": "*"}  # fmt: skip


class _Plain(dict[int, str]):
    """Each character as one plain character: full-width and circled forms as ASCII, invisible ones as a
    space. Asked once for each distinct character."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = unicodedata.normalize("NFKC", character)
        if unicodedata.category(character) in ("Cc", "Cf") and character not in "\n\t":
            plain = " "
        self[code] = plain if len(plain) == 1 and plain.isascii() else character
        return self[code]


_PLAIN = _Plain({ord(key): value for key, value in (_QUOTES | _BRACKETS | _POINTS).items()})


def lowered(text: str) -> str:
    """A text in small letters, as words are written in a pattern that ignores case. To such a pattern the
    letter i is the same with a dot and without, in Turkish too, and so is a last sigma."""
    if text.isascii():
        return text.lower()
    return text.replace("ı", "i").replace("İ", "I").lower().replace("ς", "σ")


_ESCAPES = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
_ATTRIBUTES = r"(?:\s++[\w-]++=(?:\"[^\"\n]*+\"|'[^'\n]*+'|[^\s<>]++))*+"
_TAGS = re.compile(
    rf"</[A-Za-z][\w-]*+>|<(?!(?:final_?)?answer\b)(?:[a-z]|[A-Za-z][\w-]++){_ATTRIBUTES}\s*+/?>"
    r"|<\|(?:open|close)\|>\w{1,20}<\|sep\|>|<\|[^<>|\n]{1,40}\|>"
)


_NOT_PLAIN = re.compile(r"[^\n\t -~]++")


def fold(text: str) -> str:
    """The text in plain characters, of the same length: terminal escapes, markup tags and special tokens
    are spaces, quotes and brackets of all scripts are ASCII."""
    for begins, pattern in (("\x1b", _ESCAPES), ("<", _TAGS)):
        if begins in text:
            text = pattern.sub(lambda match: " " * len(match[0]), text)
    return _NOT_PLAIN.sub(lambda match: match[0].translate(_PLAIN), text)


def closing_brace(text: str, start: int) -> int | None:
    """Where the brace that is open at `start` closes; None where it does not."""
    depth = 1
    for brace in _BRACES.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return None


_BRACES = re.compile(r"(?<!\\)[{}]")
