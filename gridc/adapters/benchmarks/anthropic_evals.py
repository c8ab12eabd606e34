"""Anthropic's model-written evaluations (Perez et al. 2023): the persona, sycophancy and advanced-AI-risk
files (JSONL).

Each row says which answer matches the behaviour that its file is about. That answer is not "correct": on
a sycophancy file it is the one that flatters, on a self-awareness file (asked as AI factual recall) it is
the true one. So a study must say whether the matching answer earns the point (`loading.gold`).
Three row formats: `question` with lettered options; `question` and `statement` answered Yes or No; and the
older political quiz (`prompt`, `corrects`, `incorrects`), where `corrects` is the liberal answer in every
file and the flattering one depends on whose biography the file holds. Some rows of the files that a model
wrote have no question or blank options: the spec must say that they are left out (`loading.malformed`).
"""

import re
from typing import Any

from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    BadField,
    File,
    Row,
    items_of_rows,
    json_lines,
    required_text,
    tags,
)
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.schema.canonical import digest
from gridc.schema.items import Loading

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


def lettered_option(letter: str, options: tuple[str, ...]) -> int:
    """The option that ` (B)` or `B` names. Raises `ValueError` when there is none."""
    name = letter.strip().strip("()")
    if len(name) != 1 or name not in LETTERS[: len(options)]:
        raise ValueError(f"{letter!r} names none of the {len(options)} options")
    return LETTERS.index(name)


YES_NO = ("Yes", "No")
SURVEY = "as of 2022?"
"""Ends the question of the NLP survey; the claim follows it."""


@LOADERS.add("anthropic_evals")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order, named by file and line. Raises `Malformed`."""
    return items_of_rows(json_lines(file), lambda number, row: _item(file, number, row, loading))


def _item(file: File, number: int, row: Row, loading: Loading) -> Item:
    author = re.search(r"(human|lm)_generated_evals", file.name)
    name = f"{file.stem}-{author[1]}-{number:05d}" if author else f"{file.stem}-{number:05d}"
    if "corrects" in row:
        return _quiz(name, file, row, loading)
    matching, others = (
        _answers(row["answer_matching_behavior"]),
        _answers(row["answer_not_matching_behavior"]),
    )
    named = tags(behaviour=file.stem)
    question = required_text(row, "question")
    if {answer.strip() for answer in (*matching, *others)} == set(YES_NO):
        sides = [[YES_NO.index(answer.strip()) for answer in side] for side in (matching, others)]
        return _two_sided_item(name, question, YES_NO, sides, loading, named)
    question, options = split(question)
    sides = [[lettered_option(answer, options) for answer in side] for side in (matching, others)]
    return _two_sided_item(name, question, options, sides, loading, named)


def _quiz(name: str, file: File, row: Row, loading: Loading) -> Item:
    side = re.search(r"bio_(liberal|conservative)", file.stem)
    if side is None:
        raise BadField(
            "the file's name does not say whose biography it holds",
            "name it as upstream does, with bio_liberal or bio_conservative",
        )
    question, options = split(required_text(row, "prompt"))
    sides = [
        [lettered_option(answer, options) for answer in _answers(row[key])]
        for key in ("corrects", "incorrects")
    ]
    if side[1] == "conservative":
        sides.reverse()
    named = tags(behaviour=file.stem, biography=side[1])
    return _two_sided_item(name, question, options, sides, loading, named, question_name(question, options))


def question_name(question: str, options: tuple[str, ...]) -> str:
    """The name of what is asked, whoever asks it: few questions are put behind many invented biographies. The
    political quiz is told apart by its options in any order, the NLP survey by the claim at its end."""
    claim = question.rpartition(SURVEY)[2].strip() if SURVEY in question else sorted(options)
    return f"asked-{digest(claim)[:12]}"


def _two_sided_item(
    name: str,
    question: str,
    options: tuple[str, ...],
    sides: list[list[int]],
    loading: Loading,
    tags: dict[str, str],
    template: str = "",
) -> Item:
    """The item of a question whose `sides` are the options that match the behaviour and those that do not."""
    matching, others = sides
    if len(matching) != 1 or not others or set(matching) & set(others):
        raise ValueError("expected one matching answer, and another that does not match")
    gold = matching[0] if loading.gold == "matching" else None
    category = tags["behaviour"]
    return Item(
        name, question, options, gold, matching=matching[0], tags=tags, template=template, category=category
    )


def _answers(value: Any) -> list[str]:
    """One answer, or the list of them that some files hold."""
    answers = [value] if isinstance(value, str) else list(value)
    if not all(isinstance(answer, str) for answer in answers):
        raise ValueError("an answer is not a text")
    return answers
