"""Picks an example for each benchmark: the item on which two models differ most, with both responses.

They come from the store alone (prompts and responses), so that a bundle without the items shows the same. The
pair is the one whose verdict says most: one that differs, then the largest gap. Where no two models differ on
an item under the reference configuration, the first item shows what is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.rates import COUNTED
from gridc.reports.findings.findings import BENCHMARKS, BenchmarkFinding
from gridc.reports.findings.read_answers import (
    Options,
    ReadAnswers,
    asked_item_of,
    items_that_differ,
    read_answers,
    read_as,
)
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.verdicts import SCORE, VERDICTS
from gridc.schema.inference import RATES
from gridc.schema.verdicts import VerdictRow

LONGEST_QUESTION, LONGEST_ANSWER = 700, 500
"""Characters that are shown; what is longer is cut, and says so."""


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """A response of one model: its text (`cut` where it is longer than what is shown), what it was read as,
    and what share of a point it earned."""

    model: str
    text: str
    cut: bool
    read: str
    earned: float | None


@dataclass(frozen=True, slots=True)
class AnswerExample:
    """An item under the reference configuration with two answers, or one where a single model was asked. The
    models differ on `differing` of the `asked` items. `harmful` says that it is a prompt to refuse."""

    benchmark: str
    configuration: str
    item: str
    question: str
    options: tuple[tuple[str, str], ...]
    answers: tuple[ShownAnswer, ...]
    differing: int
    asked: int
    harmful: bool


def examples(record: RunRecord) -> tuple[AnswerExample, ...]:
    """One for each benchmark that is not private; none while the run is incomplete."""
    if not record.complete:
        return ()
    private = {row.id for row in record.plan.study.spec.benchmark if row.private}
    shown = (_example(record, row) for row in record[BENCHMARKS] if row.benchmark not in private)
    return tuple(each for each in shown if each is not None)


def _example(record: RunRecord, benchmark: BenchmarkFinding) -> AnswerExample | None:
    anchors = {model.model: model.anchor.cell for model in benchmark.models}
    verdicts = record[VERDICTS]
    rows = [] if verdicts is None else [row for row in verdicts.rows if row.benchmark == benchmark.benchmark]
    rows = sorted(rows, key=_says_most, reverse=True)
    pairs = [(row.a, row.b, row.what) for row in rows]
    if not pairs:
        names = list(anchors)[:2]
        pairs = [(names[0], names[-1], "score")] if names else []
    read: dict[str, Mapping[str, ReadAnswers]] = {}
    held = {item.id: item for cell in anchors.values() for item in record.plan.items(cell)}
    first = None
    for a, b, what in pairs:
        for model in (a, b):
            if model not in read:
                read[model] = read_answers(record.store, record.plan, anchors[model])
        both = [name for name in read[a] if name in read[b]]
        counts = COUNTED[what][0] if what != SCORE else None
        items = [name for name in both if counts is None or counts(held[name])]
        apart = items_that_differ(read[a], read[b], items)
        if apart:
            return _shown(record, anchors, read, (a, b), apart[0], len(apart), len(items))
        first = first or ((a, b), items)
    if first is None or not first[1]:
        return None
    return _shown(record, anchors, read, first[0], first[1][0], 0, len(first[1]))


def _says_most(row: VerdictRow) -> tuple[bool, bool, float]:
    kind = RATES.get(row.what)
    return row.answer == "differ", kind is not None and kind.fault is not None, abs(row.gap or 0.0)


def _shown(
    record: RunRecord,
    anchors: Mapping[str, Cell],
    read: Mapping[str, Mapping[str, ReadAnswers]],
    pair: tuple[str, str],
    item: str,
    differing: int,
    count: int,
) -> AnswerExample:
    cell = anchors[pair[0]]
    held = next(each for each in record.plan.items(cell) if each.id == item)
    shown = asked_item_of(record.store, record.plan, cell, held)
    models = dict.fromkeys(pair)
    return AnswerExample(
        cell.benchmark,
        cell.configuration,
        item,
        _tail(shown.question),
        shown.options,
        tuple(_answer(record, anchors[model], read[model][item], shown.options) for model in models),
        differing,
        count,
        held.expected == "refuse",
    )


def _answer(record: RunRecord, cell: Cell, read: ReadAnswers, options: Options) -> ShownAnswer:
    said = read_as(record.plan, cell, read.first.choice, options)
    text = (read.first.text or "").strip()
    earned = None if read.share is None else float(read.share)
    return ShownAnswer(cell.model, text[:LONGEST_ANSWER], len(text) > LONGEST_ANSWER, said, earned)


def _tail(text: str) -> str:
    """The end of a long text: what is asked stands last."""
    return text if len(text) <= LONGEST_QUESTION else f"… {text[-LONGEST_QUESTION:]}"


EXAMPLES: Finding[tuple[AnswerExample, ...]] = Finding(
    "examples",
    examples,
    (),
    about="Of each benchmark the item on which two models differ most, with both answers.",
)
