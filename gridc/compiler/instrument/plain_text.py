"""Fold a response into plain characters, place by place, so that one set of patterns reads them all.

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

_ESCAPES = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
_ATTRIBUTES = r"(?:\s++[\w-]++=(?:\"[^\"\n]*+\"|'[^'\n]*+'|[^\s<>]++))*+"
_TAGS = re.compile(
    rf"</[A-Za-z][\w-]*+>|<(?!(?:final_?)?answer\b)(?:[a-z]|[A-Za-z][\w-]++){_ATTRIBUTES}\s*+/?>"
    r"|<\|[^<>|\n]{1,40}\|>"
)
_THOUGHT = r"(?:seed:)?(?:think|thinking|thought|reasoning|scratchpad)"
OPENS_THOUGHT = rf"(?:<{_THOUGHT}>|\[THINK\]|◁think▷|<\|channel\|>(?!final))"
"""What a block of reasoning begins with, as models write it; gpt-oss begins every channel but the last so."""
MARKS_THOUGHT = rf"</?{_THOUGHT}>|\[/?THINK\]|◁/?think▷|<\|(?:channel|message)\|>"
"""A token by which a block of reasoning is told from the answer."""
_END_OF_THOUGHT = re.compile(
    rf"</{_THOUGHT}\s?>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE
)
_OPEN_THOUGHT = re.compile(rf"\s*+{OPENS_THOUGHT}", re.IGNORECASE)


def fold(text: str) -> str:
    """The text in plain characters, of the same length: terminal escapes, markup tags and special tokens
    are spaces, quotes and brackets of all scripts are ASCII."""
    for pattern in (_ESCAPES, _TAGS):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text.translate(_PLAIN)


def answer_begins(response: str) -> int | None:
    """Where the answer begins: behind a block of reasoning that the response opens with, else at 0.
    None when that block, or another one behind it, never ends: the answer was not reached."""
    begin = max((match.end() for match in _END_OF_THOUGHT.finditer(response)), default=0)
    return None if _OPEN_THOUGHT.match(response, begin) else begin
