"""What scaffolds did with tasks: in a study's own run, and in sub-calls from a file."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.instrument.propagation import (
    COLUMNS,
    OriginalTask,
    StepShares,
    SubCall,
    TracedCall,
    step_shares,
    table_row,
    trace,
)
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.exchange.table_files import escape_formulas
from gridc.reports.findings.scaffolds import CAVEAT, Engagement, Leakage, scaffold_findings
from gridc.runtime.store.store import Store
from gridc.study.notebook import InNotebook
from gridc.study.place import Place

FORMAT = "gridc-scaffolds/1"

ALIASES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "case_id", "case", "id"),
    "scaffold": ("scaffold", "config", "configuration"),
    "step": ("step", "call_type", "subcall", "sub_call", "type", "stage"),
    "system": ("system", "system_prompt"),
    "user": ("user", "user_prompt", "prompt", "input"),
}
"""By what a row of sub-calls holds: the keys that may name it, the first that is there."""


@dataclass(frozen=True, slots=True)
class Propagation(InNotebook):
    """What reached each step, in the order of the steps. `digests` are those of each step's sub-calls, of a
    study's own run."""

    steps: tuple[StepShares, ...]
    digests: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """A record for each step, by the columns of the published table and further ones."""
        rows = [dict(zip(COLUMNS, table_row(step), strict=True)) for step in self.steps]
        if not self.digests:
            return rows
        return [row | {"rows": digest} for row, digest in zip(rows, self.digests, strict=True)]

    def csv(self) -> str:
        """The same as CSV. No spreadsheet runs a cell: a stranger may have named scaffolds and steps."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in map(table_row, self.steps):
            writer.writerow([escape_formulas(value) if isinstance(value, str) else value for value in row])
        return text.getvalue()

    def as_json(self) -> dict[str, Any]:
        """As `gridc scaffolds --calls --json` prints it."""
        return {"format": FORMAT, "propagation": self.rows()}


@dataclass(frozen=True, slots=True)
class ScaffoldReport(InNotebook):
    """What the stored sub-calls of a study show. The leakage is found by rules of words: `caveat`."""

    propagation: Propagation
    engagement: tuple[Engagement, ...]
    leakage: tuple[Leakage, ...]
    caveat: str = CAVEAT

    def as_json(self) -> dict[str, Any]:
        """As `gridc scaffolds --json` prints it."""
        return {
            **self.propagation.as_json(),
            "engagement": [asdict(engagement) for engagement in self.engagement],
            "leakage": [asdict(leakage) for leakage in self.leakage],
            "caveat": self.caveat,
        }


def scaffolds(place: Place) -> ScaffoldReport:
    """Of the run of a study, as far as it is answered."""
    compiled = place.compiled()
    with Store.open(place.store(compiled)) as store:
        found = scaffold_findings(Plan(compiled.study), store)
    steps = found.propagation
    propagation = Propagation(tuple(step.shares for step in steps), tuple(step.rows for step in steps))
    return ScaffoldReport(propagation, found.engagement, found.leakage)


def propagation(calls: Path | Iterable[Mapping[str, Any]], tasks: Path | None = None) -> Propagation:
    """Of sub-calls from a JSONL file, or as records. `tasks` is a JSONL file with the tasks by item.

    Raises `UsageError` (GC000) with the line of the first row that cannot be read.
    """
    known = {} if tasks is None else dict(_tasks(tasks))
    rows = _lines(calls) if isinstance(calls, Path) else enumerate(calls, 1)
    return Propagation(tuple(step_shares(_traced(number, row, known) for number, row in rows)))


def _traced(number: int, row: Mapping[str, Any], tasks: Mapping[str, OriginalTask]) -> TracedCall:
    item = _named(row, "item")
    stated = row.get("task")
    if stated is not None:
        original = _original(number, stated)
    elif item is not None and str(item) in tasks:
        original = tasks[str(item)]
    else:
        raise _unreadable(number, f"there is no `task` in it, and none is given for the item {item!r}")
    step = _named(row, "step")
    if not isinstance(step, str) or not step:
        raise _unreadable(number, f"it has no step ({', '.join(ALIASES['step'])})")
    scaffold = _named(row, "scaffold")
    return trace(original, SubCall(str(scaffold or ""), step, _messages(number, row)))


def _messages(number: int, row: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that were sent: `messages`, or a system prompt and a user's text."""
    listed = row.get("messages")
    if listed is None:
        texts = [text for text in (_named(row, "system"), _named(row, "user")) if text is not None]
    elif isinstance(listed, list):
        texts = [
            _message_text(each.get("content")) if isinstance(each, dict) else _last(each) for each in listed
        ]
    else:
        texts = [None]
    if not texts or not all(isinstance(text, str) for text in texts):
        expected = '`messages` = [{"role": ..., "content": ...}, ...], or `system` and `user`'
        raise _unreadable(number, f"what was sent is not there as {expected}")
    return tuple(texts)


def _message_text(content: Any) -> Any:
    """The text of a message, which may be in blocks."""
    if not isinstance(content, list):
        return content
    texts = [
        block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    return "".join(texts) if len(texts) == len(content) else None


def _last(pair: Any) -> Any:
    return pair[-1] if isinstance(pair, list) and pair else None


def _tasks(path: Path) -> Iterator[tuple[str, OriginalTask]]:
    for number, row in _lines(path):
        item = _named(row, "item")
        if item is None:
            raise _unreadable(number, "the task has no `item`", path)
        yield str(item), _original(number, row)


def _original(number: int, stated: Any) -> OriginalTask:
    """A task: its `question`, and where it has them `system`, `options`, and the instructions."""
    question = stated.get("question", stated.get("prompt")) if isinstance(stated, dict) else None
    if not isinstance(question, str):
        raise _unreadable(number, "a task is a table with a `question`")
    options = stated.get("options")
    lettered = None
    if isinstance(options, dict):
        lettered = sorted(options) == [chr(ord("A") + at) for at in range(len(options))] or None
        options = [options[letter] for letter in sorted(options)]
    system = stated.get("system", stated.get("system_prompt"))
    if not isinstance(system, str | None):
        raise _unreadable(number, "`system` of a task is a text")
    return OriginalTask(
        question,
        system,
        _texts(number, "options", options),
        lettered,
        _texts(number, "format_instruction", stated.get("format_instruction")),
        _texts(number, "safety_instruction", stated.get("safety_instruction")),
    )


def _texts(number: int, key: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise _unreadable(number, f"`{key}` of a task is a list of texts")
    return tuple(texts)


def _named(row: Mapping[str, Any], what: str) -> Any:
    return next((row[key] for key in ALIASES[what] if row.get(key) is not None), None)


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError([Diagnostic("GC000", f"{path} cannot be read: {error}")]) from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _unreadable(number, f"not JSON ({error})", path) from None
        if not isinstance(row, dict):
            raise _unreadable(number, "not a JSON object", path)
        yield number, row


def _unreadable(number: int, problem: str, path: Path | None = None) -> UsageError:
    help = "`gridc docs scaffolds` says what a row of sub-calls holds"
    return UsageError(
        [Diagnostic("GC000", f"row {number}: {problem}", None if path is None else str(path), help=help)]
    )
