"""What items ask and which options they show, as the prompts of a store have them.

A store holds prompts, and of each question only a digest (docs/store.md, table `question`). So the question
is the part of a prompt that has this digest; where no part has it (a translation, a context that stands
apart), it is what stands before the options, in the last paragraph of the prompt.
"""

from collections.abc import Iterator

from gridc.compiler.inputs.questions import question, text_digest
from gridc.reports.prompt_reading import before_options, options_in_prompt
from gridc.runtime.store.reader import LOGGED, NO_PROMPT
from gridc.viewer.lists import loaded
from gridc.viewer.store import Moment, StoredCell, StoredStudy

MOST_LINES, MOST_CHARACTERS = 24, 6_000
"""At most so much of a message, from its end, is compared with the digest of a question."""

MOST_PROMPTS = 6
"""Configurations whose prompts are looked at for one question."""


class Questions:
    """The questions of one study. What was found once stays: a prompt is never changed."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        self._options: dict[tuple[int, str], tuple[tuple[str, str], ...]] = {}

    def text(self, moment: Moment, study: StoredStudy, benchmark: str, item: str) -> str:
        """What an item asks, with its context; empty where the store has no prompt of it."""
        key = (benchmark, item)
        if key not in self._texts:
            row = moment.row(
                "SELECT text FROM question WHERE (stamp, benchmark, item) = (?, ?, ?)",
                [study.stamp, *key],
            )
            found = _text(_prompts(moment, study, benchmark, item), row[0] if row else None)
            if not found:
                return ""
            self._texts[key] = found
        return self._texts[key]

    def options(
        self, moment: Moment, study: StoredStudy, cell: StoredCell, item: str
    ) -> tuple[tuple[str, str], ...]:
        """The options of an item in the order of a cell, each as its label and its text; empty where no
        prompt in this order shows them. A cell that shows none has them from one that does."""
        key = (cell.id, item)
        if key not in self._options:
            row = moment.row(
                """SELECT options FROM shown
                   WHERE (stamp, benchmark, item, option_order) = (?, ?, ?, ?)""",
                [study.stamp, cell.benchmark, item, cell.option_order],
            )
            count = row[0] if row else 0
            prompts = _prompts(moment, study, cell.benchmark, item, cell) if 1 < count <= 26 else ()
            found = next(filter(None, (options_in_prompt(text, count) for text in prompts)), ())
            if not found and count > 1:
                return ()
            self._options[key] = found
        return self._options[key]


def _prompts(
    moment: Moment, study: StoredStudy, benchmark: str, item: str, like: StoredCell | None = None
) -> Iterator[str]:
    """What users say first in different configurations that ask the item, the last message of a prompt
    first; of the cell that is given, and those with its order of options."""
    cells = [cell for cell in study.cells if cell.benchmark == benchmark]
    if like is not None:
        cells = [like, *(cell for cell in cells if cell.option_order == like.option_order)]
    for configuration in list(dict.fromkeys(cell.configuration for cell in cells))[:MOST_PROMPTS]:
        cell = next(cell for cell in cells if cell.configuration == configuration)
        row = moment.row(
            """SELECT content FROM trace JOIN call ON call.id = trace.call
               JOIN prompt ON prompt.id = call.prompt
               WHERE cell = ? AND item = ? ORDER BY replicate, step LIMIT 1""",
            [cell.id, item],
        )
        document = loaded(row[0]) if row else None
        messages = document.get("messages") if isinstance(document, dict) else None
        for message in reversed(messages) if isinstance(messages, list) else ():
            if isinstance(message, list) and len(message) == 2 and message[0] in ("user", LOGGED):
                yield from [str(message[1])] if message[1] != NO_PROMPT else []


def _text(prompts: Iterator[str], digest: str | None) -> str:
    """The part of a prompt with this digest; without one, what the first prompt says before its options."""
    first = ""
    for prompt in prompts:
        first = first or prompt
        if digest is None:
            break
        for part in _parts(prompt):
            if text_digest(question((part,)).text).hex() == digest:
                return part.strip()
    return before_options(first)


def _parts(prompt: str) -> Iterator[str]:
    """From the beginning of a line, or what follows a heading in it, to the end of a line."""
    text = prompt[-MOST_CHARACTERS:]
    lines = text.split("\n")[-MOST_LINES:]
    for first, line in enumerate(lines):
        _, colon, rest = line.partition(": ")
        for start in (line, rest) if colon else (line,):
            for last in range(first, len(lines)):
                yield "\n".join((start, *lines[first + 1 : last + 1]))
