"""Options that a file holds inside the question's text, each on a line: ` (A) first`, ` (B) second`."""

import re

from gridc.compiler.instrument.item import LETTERS

_OPTION = re.compile(r"\s*\(([A-Z])\)\s*(.*)")
_HEADING = re.compile(r"\W*(?:choices?|answers?|options?|responses?)\W*", re.IGNORECASE)
_CUE = re.compile(r"\s*Answer:\s*\Z")


def split(text: str) -> tuple[str, tuple[str, ...]]:
    """The question and its options, without the cue (`Answer:`) and the heading (`Choices:`).

    A line without a letter goes on with the option before it. Raises `ValueError` when there are not two
    or more options lettered in order, when they stand twice, or when no question stands before them.
    """
    lines = _CUE.sub("", text).split("\n")
    starts = [number for number, line in enumerate(lines) if re.match(r"\s*\(A\)", line)]
    if len(starts) != 1:
        raise ValueError(f"the text holds {len(starts)} options (A), expected one")
    options: list[str] = []
    for line in lines[starts[0] :]:
        match = _OPTION.fullmatch(line)
        if match is None:
            options[-1] = f"{options[-1]}\n{line}".rstrip()
            continue
        if match[1] != LETTERS[len(options)]:
            raise ValueError(f"option ({match[1]}) stands where ({LETTERS[len(options)]}) is expected")
        options.append(match[2].strip())
    if len(options) < 2:
        raise ValueError("the text holds only one option")
    question = "\n".join(lines[: starts[0]]).rstrip()
    head, _, last = question.rpartition("\n")
    if _HEADING.fullmatch(last):
        question = head.rstrip()
    if not question.strip():
        raise ValueError("the text holds no question before its options")
    return question, tuple(options)


def place(letter: str, options: tuple[str, ...]) -> int:
    """The option that ` (B)` or `B` names. Raises `ValueError` when there is none."""
    name = letter.strip().strip("()")
    if len(name) != 1 or name not in LETTERS[: len(options)]:
        raise ValueError(f"{letter!r} names none of the {len(options)} options")
    return LETTERS.index(name)
