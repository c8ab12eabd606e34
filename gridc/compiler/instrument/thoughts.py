"""Blocks of reasoning that models write before they answer, and where the answer begins.

The marks are those that vLLM's reasoning parsers know (`vllm/reasoning`, November 2026).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

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


def _any(patterns: Iterable[str]) -> str:
    return rf"(?:{'|'.join(patterns)})"


OPENS_THOUGHT = _any(marks.opens for marks in THOUGHTS.values())


_OPEN = re.compile(rf"\s*+{OPENS_THOUGHT}", re.IGNORECASE)


_OPENS = re.compile(OPENS_THOUGHT, re.IGNORECASE)


_END = re.compile(_any(marks.ends for marks in THOUGHTS.values()), re.IGNORECASE)


_TOKEN = re.compile(_any(marks.tokens for marks in THOUGHTS.values()), re.IGNORECASE)


_ALIKE = re.compile(r"think|thought|reason|scratchpad|deliberat|reflect", re.IGNORECASE)


def answer_begins(response: str) -> int | None:
    """Where the answer begins: behind a block of reasoning that the response opens with, else at 0.
    None when that block, or another one behind it, never ends: the answer was not reached."""
    begin = max((match.end() for match in _ends(response)), default=0)
    return None if _OPEN.match(response, begin) else begin


ResponseEnd = Literal["answered", "cut_in_thought", "cut_in_answer"]
RESPONSE_ENDS: tuple[ResponseEnd, ...] = get_args(ResponseEnd)


def response_end(answer: Mapping[str, Any], usage: Mapping[str, Any]) -> ResponseEnd:
    """How a response that did not fail ended, from what is stored of it. One that its token limit cut was cut
    in its thought where that is still open, or where nothing was said and a thought is known of: by its
    tokens, or by the characters that the server kept apart. Everything else that was cut, was cut in the
    answer."""
    if answer.get("finish") != "length":
        return "answered"
    text = str(answer["text"])
    apart = answer.get("thought") or usage.get("reasoning_tokens")
    thinking = answer_begins(text) is None or (bool(apart) and text.strip() in NOTHING)
    return "cut_in_thought" if thinking else "cut_in_answer"


NOTHING = ("", '{"content": "", "calls": []}')
"""Texts that say nothing; where a model may call functions, the text is JSON of what it says and calls."""


def thoughts(response: str) -> list[tuple[int, int]]:
    """The spans of the blocks of reasoning that end. One that the prompt opened begins where the last one
    ended."""
    opens = [match.start() for match in _OPENS.finditer(response)]
    spans = list[tuple[int, int]]()
    for ends in _ends(response):
        after = spans[-1][1] if spans else 0
        place = bisect_left(opens, after)
        opened = place < len(opens) and opens[place] < ends.start()
        spans.append((opens[place] if opened else after, ends.end()))
    return spans


def _ends(response: str) -> Iterator[re.Match[str]]:
    # Most responses have nothing that an end of a thought is never without, and the pattern takes its time.
    if any(character in response for character in "<[◁") or "response:" in response.lower():
        yield from _END.finditer(response)


def is_mark(token: str) -> bool:
    """Whether a block of reasoning is told from the answer by this token of a tokenizer."""
    return _TOKEN.fullmatch(token) is not None


def unknown_marks(tokens: Iterable[str]) -> list[str]:
    """Those tokens that look like marks of a thought, and that no family in `THOUGHTS` has."""
    return [token for token in tokens if _ALIKE.search(token) and not is_mark(token)]
