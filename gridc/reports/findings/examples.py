"""Two answers to look at: of each benchmark the item on which two models differ most, with both responses.

They come from the store alone (prompts and responses), so that a bundle without the items shows the same. The
pair is the one whose verdict says most: one that differs, then the largest gap. Where no two models differ on
an item under the reference configuration, the first item shows what is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.methods import METHODS
from gridc.reports.findings.findings import BENCHMARKS, BenchmarkFinding
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.verdicts import VERDICTS
from gridc.reports.prompt_reading import question_in, shown_options
from gridc.runtime.store.reader import LOGGED, NO_PROMPT
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
    read: dict[str, dict[str, _Read]] = {}
    expected = {item.id: item.expected for cell in anchors.values() for item in record.plan.items(cell)}
    first = None
    for a, b, what in pairs:
        for model in (a, b):
            if model not in read:
                read[model] = dict(_readings(record, anchors[model]))
        both = [name for name in read[a] if name in read[b]]
        items = [name for name in both if EXPECTED.get(what) in (None, expected[name])]
        apart = {name: abs(_share(read[a][name]) - _share(read[b][name])) for name in items}
        differing = [name for name in items if apart[name] > 0]
        if differing:
            # Of equal differences those that both models' answers show, then the first.
            best = max(differing, key=lambda name: (apart[name], _both_read(read[a][name], read[b][name])))
            return _shown(record, anchors, read, (a, b), best, len(differing), len(items))
        first = first or ((a, b), items)
    if first is None or not first[1]:
        return None
    return _shown(record, anchors, read, first[0], first[1][0], 0, len(first[1]))


def _says_most(row: VerdictRow) -> tuple[bool, bool, float]:
    kind = RATES.get(row.what)
    return row.answer == "differ", kind is not None and kind.fault is not None, abs(row.gap or 0.0)


@dataclass(frozen=True, slots=True)
class _Read:
    """Of an item: what its first answer was read to, what it generated, and what all of its answers earned of
    what they could."""

    choice: int | None
    text: str | None
    earned: int
    possible: int


def _share(read: _Read) -> float:
    return read.earned / max(read.possible, 1)


def _both_read(one: _Read, other: _Read) -> bool:
    return one.choice is not None and other.choice is not None


def _readings(record: RunRecord, cell: Cell) -> Iterator[tuple[str, _Read]]:
    rows = record.store.sample_rows(record.plan.study_digest, cell.key)
    for item, samples in groupby(rows, itemgetter(0)):
        own = list(samples)
        scored = [score for _, _, _, score, *_ in own if score is not None]
        _, _, choice, *_, text = own[0]
        yield item, _Read(choice, text, sum(scored), len(scored) * cell.setting.scale)


EXPECTED = {"unsafe_compliance": "refuse", "over_refusal": "comply"}
"""Which prompts can show a kind of error."""


def _shown(
    record: RunRecord,
    anchors: Mapping[str, Cell],
    read: Mapping[str, Mapping[str, _Read]],
    pair: tuple[str, str],
    item: str,
    differing: int,
    asked: int,
) -> AnswerExample:
    cell = anchors[pair[0]]
    held = next(each for each in record.plan.items(cell) if each.id == item)
    prompt = _last_message(record, cell, item)
    options = shown_options(prompt, len(held.options)) if len(held.options) > 1 else ()
    question = question_in(prompt, bool(options))
    return AnswerExample(
        cell.benchmark,
        cell.configuration,
        item,
        _tail(question),
        options,
        tuple(_answer(record, anchors[model], read[model][item], options) for model in dict.fromkeys(pair)),
        differing,
        asked,
        held.expected == "refuse",
    )


def _answer(record: RunRecord, cell: Cell, read: _Read, options: Sequence[tuple[str, str]]) -> ShownAnswer:
    spec = record.plan.study.spec
    names = METHODS[cell.setting.method].names(spec.verdicts(cell.setting.judge), cell.setting.scores)
    if read.choice is None:
        said = "unreadable"
    elif names is not None:
        said = names[read.choice] if 0 <= read.choice < len(names) else f"label {read.choice + 1}"
    elif 0 <= read.choice < len(options):
        said = ". ".join(options[read.choice])
    else:
        said = f"option {read.choice + 1}"
    text = (read.text or "").strip()
    earned = _share(read) if read.possible else None
    return ShownAnswer(cell.model, text[:LONGEST_ANSWER], len(text) > LONGEST_ANSWER, said, earned)


def _last_message(record: RunRecord, cell: Cell, item: str) -> str:
    """What the user says last in the first prompt of an item; empty where the store has no prompt."""
    messages = record.store.first_messages(record.plan.study_digest, cell.key, item)
    said = [text for role, text in messages if role in ("user", LOGGED) and text != NO_PROMPT]
    return said[-1] if said else ""


def _tail(text: str) -> str:
    """The end of a long text: what is asked stands last."""
    return text if len(text) <= LONGEST_QUESTION else f"… {text[-LONGEST_QUESTION:]}"


EXAMPLES: Finding[tuple[AnswerExample, ...]] = Finding(
    "examples",
    examples,
    (),
    about="Of each benchmark the item on which two models differ most, with both answers.",
)
