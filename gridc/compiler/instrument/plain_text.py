"""A response before it is read: folded into plain characters, and where its answer begins.

A response is folded into plain characters, so that one set of patterns reads every response. Every character
keeps its place (what is folded away becomes a space), so a span in the folded text is the same span in the
response.

The answer begins after the block of reasoning that some models write first. The marks of these blocks are
those that vLLM's reasoning parsers know (`vllm/reasoning`, November 2026).
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

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
    r"|<\|(?:open|close)\|>\w{1,20}<\|sep\|>|<\|[^<>|\n]{1,40}\|>"
)


def fold(text: str) -> str:
    """The text in plain characters, of the same length: terminal escapes, markup tags and special tokens
    are spaces, quotes and brackets of all scripts are ASCII."""
    for pattern in (_ESCAPES, _TAGS):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return text.translate(_PLAIN)


_NEVER = r"(?!)"


@dataclass(frozen=True, slots=True)
class ThoughtMarks:
    """Patterns of what opens a block of reasoning, of what ends it, and of the tokens that make either."""

    opens: str
    ends: str
    tokens: str = _NEVER


_TAG = (
    r"(?:seed:|mm:|longcat_|ifm\|)?(?:think|thinking|thought|reasoning|scratchpad)(?:_fast(?:er)?)?"
    r"(?::\w{1,16})?"
)

THOUGHTS = {
    "tags": ThoughtMarks(rf"<{_TAG}>", rf"</{_TAG}\s?>", rf"</?{_TAG}>"),
    "apertus": ThoughtMarks(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>", r"<\|inner_(?:pre|suf)fix\|>"),
    "command_a": ThoughtMarks(
        r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", r"<\|(?:START|END)_THINKING\|>"
    ),
    "gemma4": ThoughtMarks(r"<\|channel>", r"<channel\|>", r"<\|channel>|<channel\|>|<\|think\|>"),
    "gpt_oss": ThoughtMarks(
        r"<\|channel\|>(?!final)", r"<\|channel\|>final<\|message\|>", r"<\|(?:channel|message)\|>"
    ),
    "granite": ThoughtMarks(_NEVER, r"\bhere(?:['’]s|\s+is)\s+my\s+response:"),
    "kimi_k2": ThoughtMarks("◁think▷", "◁/think▷", "◁/?think▷"),
    "kimi_k3": ThoughtMarks(
        r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>", r"<\|(?:open|close|sep)\|>"
    ),
    "mistral": ThoughtMarks(r"\[THINK\]", r"\[/THINK\]", r"\[/?THINK\]"),
    "pangu": ThoughtMarks(r"\[unused16\]", r"\[unused17\]", r"\[unused1[67]\]"),
    "solar": ThoughtMarks(r"<\|think:start\|>", r"<\|think:end\|>", r"<\|think:(?:start|end)\|>"),
}
"""By the family of models. Tags: DeepSeek, Qwen, GLM, Seed, MiniMax-M3 (`mm:`), LongCat, K2 Horizon
(`ifm|`) and Hunyuan V3 (`think:SUFFIX`), among others. gpt-oss opens every channel but the last as reasoning.
Granite opens its thought with a sentence ("Here is my thought process:") that other models write above an
answer."""


def _any_pattern(patterns: Iterable[str]) -> str:
    return rf"(?:{'|'.join(patterns)})"


OPENS_THOUGHT = _any_pattern(marks.opens for marks in THOUGHTS.values())
_OPEN = re.compile(rf"\s*+{OPENS_THOUGHT}", re.IGNORECASE)
_END = re.compile(_any_pattern(marks.ends for marks in THOUGHTS.values()), re.IGNORECASE)
_TOKEN = re.compile(_any_pattern(marks.tokens for marks in THOUGHTS.values()), re.IGNORECASE)
_ALIKE = re.compile(r"think|thought|reason|scratchpad|deliberat|reflect", re.IGNORECASE)


def answer_begins(response: str) -> int | None:
    """Where the answer begins: behind a block of reasoning that the response opens with, else at 0.
    None when that block, or another one behind it, never ends: the answer was not reached."""
    begin = max((match.end() for match in _END.finditer(response)), default=0)
    return None if _OPEN.match(response, begin) else begin


def is_mark(token: str) -> bool:
    """Whether a block of reasoning is told from the answer by this token of a tokenizer."""
    return _TOKEN.fullmatch(token) is not None


def unknown_marks(tokens: Iterable[str]) -> list[str]:
    """Those tokens that look like marks of a thought, and that no family in `THOUGHTS` has."""
    return [token for token in tokens if _ALIKE.search(token) and not is_mark(token)]
