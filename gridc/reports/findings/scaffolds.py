"""Describes what scaffolds did: which parts of a task reached each step, and how each step replied.

All of it is counted on the stored sub-calls. A run that is still under way shows which of a task's parts
reached each step, whether a scaffold went to work at all, and what leaked into the parts of divided tasks.

In complete cells every reply is also read as if it were the answer, by the rule of its cell. Three tables
follow: what each step's replies come to; what changes from one answer to the whole task to the next (a
critic's flips, a checker that goes too far, and whether the call that decides takes it back); and who
refuses, the parts or the whole (Gringras 2026, app. M). A refusal is found by its phrases, whatever the
method of the cell. Judges and functions score answers alone, so a step of a cell that they score has no
score.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.propagation import (
    GROUPS,
    OriginalTask,
    State,
    StepShares,
    SubCall,
    TracedCall,
    leaked,
    severity,
    step_shares,
    strategy,
    trace,
)
from gridc.compiler.instrument.refusals import refuses
from gridc.compiler.instrument.scaffolds import Procedure, built_in
from gridc.compiler.instrument.scaffolds.procedures import listed_questions
from gridc.compiler.instrument.score import before_stop, score_sample
from gridc.compiler.lowering.calls import PlannedSample, Request
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec
from gridc.statistics.arrays import Floats
from gridc.statistics.envelope import Direction
from gridc.statistics.strata import share_ratio
from gridc.statistics.unit_intervals import (
    UnitEstimate,
    change,
    gains_and_losses,
    share,
    unit_totals,
)

CAVEAT = "by rules of words, not confirmed by people or a judge: an upper guess"

PLAIN = "plain"
"""Names the one call of an item without a scaffold among the steps."""
POOLED = "all models"
"""Stands in a row for all models together."""
DIVIDES, WORKS = "decompose", "map_chunk"
"""Name the step that divides a task, and begin the names of the steps that answer a part."""
MOST_QUESTIONS = 100
"""How many subquestions are read from a division."""


@dataclass(frozen=True, slots=True)
class ScaffoldRow:
    """Begins every row about a scaffold on a benchmark: of one model, or of all (`POOLED`)."""

    model: str
    benchmark: str
    scaffold: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Engagement(ScaffoldRow):
    """Counts how often the scaffold of a cell went to work on its answered samples.

    A scaffold that is suppressed answers at once: react without an action, a critic without a verdict, a
    division that is not a list of two parts or more.

    Attributes:
        system_turn: Says where the study's system prompt stood, which competes with the scaffold's own
            (Gringras 2026, app. B).
        samples: Counts the samples whose first call has an answer.
        engaged: Counts those on which the scaffold went to work; None for a scaffold without a choice.
        calls: Is the mean number of calls.
    """

    system_turn: str
    samples: int
    engaged: int | None
    calls: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage(ScaffoldRow):
    """Counts what leaked into the parts of divided tasks.

    Attributes:
        divided: Counts the tasks that were divided.
        leaked: Counts, for each group of features, the tasks into whose parts it leaked.
        strategies: Counts the parts that follow each strategy.
        severities: Counts the answers to parts by their grade of severity, 1 to 5.
    """

    divided: int
    leaked: Mapping[str, int]
    strategies: Mapping[str, int]
    severities: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """What reached a step of a scaffold, over all models and benchmarks. `rows` is the digest of its
    sub-calls: (cell, item, replicate, call) each, sorted."""

    shares: StepShares
    rows: str


@dataclass(frozen=True, slots=True)
class ScaffoldFindings:
    """What the store shows of a study's scaffolds."""

    propagation: tuple[Step, ...]
    engagement: tuple[Engagement, ...]
    leakage: tuple[Leakage, ...]


# The calls of a sample


@dataclass(frozen=True, slots=True)
class StepCall:
    """A call of a sample under the step that makes it, and its stored answer, None while there is none."""

    step: str
    request: Request
    answer: Mapping[str, Any] | None

    @property
    def reply(self) -> str | None:
        """The text that came back; None without an answer, and of a call that failed."""
        return None if self.answer is None else self.answer.get("text")


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """A planned sample of a cell with its calls, as far as the run went. `deciding` is the place of the call
    whose reply is the sample's answer; the last one while the scaffold has not ended."""

    cell: Cell
    planned: PlannedSample
    calls: tuple[StepCall, ...]
    deciding: int

    @property
    def replies(self) -> dict[str, str | None]:
        """The reply to each step."""
        return {call.step: call.reply for call in self.calls}

    def part_states(self, call: StepCall) -> Mapping[str, State]:
        """Tell in which state a call sends each part of the task; empty without a scaffold."""
        if self.planned.scaffolded is None:
            return {}
        texts = tuple(text for _, text in call.request.prompt.messages)
        return _states_of(original_of(self.cell, self.planned), texts)


def _sample_records(plan: Plan, store: Store, cell: Cell) -> Iterator[SampleRecord]:
    for planned in plan.samples(cell):
        yield _sample_record(store, cell, planned)


def _sample_record(store: Store, cell: Cell, planned: PlannedSample) -> SampleRecord:
    answer_to = cache(store.answer_to)  # a scaffold reads most answers itself, to say what it asks next
    traced = planned.trace(answer_to)
    calls = tuple(StepCall(step or PLAIN, request, answer_to(request.id)) for step, request in traced.calls)
    return SampleRecord(cell, planned, calls, len(calls) - 1 if traced.decides is None else traced.decides)


def cell_procedure(cell: Cell) -> Procedure | None:
    """Find the procedure of a cell's scaffold; None of a plain cell, and of a plug-in's."""
    scaffold = cell.setting.scaffolding
    return None if scaffold is None else built_in(scaffold.kind)


def scaffold_name(spec: Spec, cell: Cell) -> str:
    """Name a cell's scaffold as the study does: by the level that sets it, else by its kind."""
    for axis in spec.axis:
        for level in axis.level:
            if level.scaffold is not None and level.id == cell.levels[axis.id]:
                return level.id
    return "direct" if cell.setting.scaffold is None else cell.setting.scaffold.kind


def original_of(cell: Cell, sample: PlannedSample) -> OriginalTask:
    """Give an item as the cell asks it before any scaffold."""
    assert sample.scaffolded is not None
    options = sample.item.options if cell.setting.options != "none" else ()
    return OriginalTask(sample.scaffolded.task.question, cell.setting.system or None, options)


@lru_cache(2**15)
def _states_of(original: OriginalTask, texts: tuple[str, ...]) -> Mapping[str, State]:
    return trace(original, SubCall("", "", texts)).states


# What reached the steps, in a run that may be under way


def scaffold_findings(plan: Plan, store: Store) -> ScaffoldFindings:
    """Read every scaffolded sample of a study. Raises `StoreError` when the store holds no run of it."""
    store.require(plan.study_digest)
    engagement, leakage = [], []
    for cell in _scaffolded(plan):
        row = ScaffoldRow(cell.model, cell.benchmark, scaffold_name(plan.study.spec, cell))
        samples = list(_sample_records(plan, store, cell))
        engagement.append(_engagement(row, cell, samples))
        procedure = cell_procedure(cell)
        if procedure is not None and procedure.divides:
            leakage.append(_leakage(row, samples))
    return ScaffoldFindings(propagation_steps(plan, store), tuple(engagement), tuple(leakage))


def propagation_steps(plan: Plan, store: Store) -> tuple[Step, ...]:
    """Count what reached each step of each scaffold, as far as the sub-calls are known; empty of a study
    without scaffolds."""
    traced: list[TracedCall] = []
    rows: dict[tuple[str, str], list[tuple[str, str, int, str]]] = {}
    for cell in _scaffolded(plan):
        name = scaffold_name(plan.study.spec, cell)
        for sample in _sample_records(plan, store, cell):
            for call in sample.calls:
                traced.append(TracedCall(name, call.step, sample.part_states(call)))
                row = (cell.key, sample.planned.item.id, sample.planned.replicate, call.request.id)
                rows.setdefault((name, call.step), []).append(row)
    return tuple(
        Step(shares, digest(sorted(rows[shares.scaffold, shares.step]))) for shares in step_shares(traced)
    )


def _scaffolded(plan: Plan) -> Iterator[Cell]:
    return (cell for cell in plan.cells() if cell.setting.scaffolding is not None)


def _engagement(row: ScaffoldRow, cell: Cell, samples: Sequence[SampleRecord]) -> Engagement:
    answered = [sample for sample in samples if sample.calls[0].reply is not None]
    engaged = [_went_to_work(sample) for sample in answered]
    calls = sum(len(sample.calls) for sample in answered) / max(len(answered), 1)
    return Engagement(
        row.model,
        row.benchmark,
        row.scaffold,
        system_turn=cell.setting.system_turn if cell.setting.system else "none",
        samples=len(answered),
        engaged=None if None in engaged else sum(map(bool, engaged)),
        calls=round(calls, 4),
    )


def _went_to_work(sample: SampleRecord) -> bool | None:
    """Tell whether a scaffold went to work; None where it has no choice, or only a plug-in knows."""
    procedure = cell_procedure(sample.cell)
    if procedure is None or procedure.engaged is None:
        return None
    return procedure.engaged({step: reply or "" for step, reply in sample.replies.items()})


def _leakage(row: ScaffoldRow, samples: Iterable[SampleRecord]) -> Leakage:
    features: Counter[str] = Counter()
    strategies: Counter[str] = Counter()
    grades: Counter[int] = Counter()
    divided = 0
    for sample in samples:
        replies = sample.replies
        division = replies.get(DIVIDES)
        if division is None:
            continue
        divided += 1
        subquestions = listed_questions(division, MOST_QUESTIONS)
        stem = sample.planned.item.stem
        features.update({GROUPS[feature] for feature in leaked(stem, "\n".join(subquestions))})
        strategies.update(map(strategy, subquestions))
        grades.update(
            severity(reply) for step, reply in replies.items() if step.startswith(WORKS) and reply is not None
        )
    return Leakage(
        row.model,
        row.benchmark,
        row.scaffold,
        divided=divided,
        leaked=dict(sorted(features.items())),  # sets have no order that lasts
        strategies=dict(strategies),
        severities=dict(sorted(grades.items())),
    )


PROPAGATION: Finding[tuple[Step, ...]] = Finding(
    "propagation",
    lambda record: propagation_steps(record.plan, record.store),
    (),
    about="Which of a task's parts reached each step of a scaffold, and what leaked into divided tasks.",
)


# How every reply reads, in complete cells

Counterpart = tuple[str, str, tuple[tuple[str, str], ...]]
"""Model, benchmark and the levels of all axes that set no scaffold: what cells share that differ in the
scaffold alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReply:
    """One call of a sample, and how its reply was read.

    Attributes:
        step: Names the step that makes the call.
        call: Is the call's id.
        answers_task: Says whether the call wants an answer to the whole task.
        decides: Says whether its reply is the sample's answer.
        failed: Says whether it failed for good and has no reply.
        choice: Is the option that was read; None for an unreadable reply.
        earned: Is what the choice earns, in units of the cell's scale; None where only judges could say and
            did not.
        refuses: Says whether the reply has a phrase of refusal.
        part_states: Says in which state the call was sent each part of the task.
    """

    step: str
    call: str
    answers_task: bool
    decides: bool
    failed: bool
    choice: int | None
    earned: int | None
    refuses: bool
    part_states: Mapping[str, State]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSample:
    """A sample of a complete cell with all its replies.

    Attributes:
        cell: Is the cell.
        scaffold: Names its scaffold.
        item: Is the item.
        replicate: Is the number of the replicate.
        unit: Numbers the unit of the item, over all benchmarks: units are independent of each other.
        replies: Has all replies, in the order of the calls.
        subquestions: Lists what the workers of a divided task were asked.
    """

    cell: Cell
    scaffold: str
    item: Item
    replicate: int
    unit: int
    replies: tuple[ReadReply, ...]
    subquestions: tuple[str, ...] = ()

    @property
    def answer(self) -> ReadReply:
        """The reply that decides."""
        return next(reply for reply in self.replies if reply.decides)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome(ScaffoldRow):
    """What the replies of a step come to, shares over units.

    Attributes:
        step: Names the step.
        answers_task: Says whether its calls want an answer to the whole task.
        replies: Counts its replies; a failed call has none.
        failed: Counts the calls that failed for good.
        readable: Is the share of readable replies; None where only judges read.
        score: Is the mean score; None where only judges read.
        refusals: Is the share of refusals.
        rows: Is the digest of its calls.
    """

    step: str
    answers_task: bool
    replies: int
    failed: int
    readable: UnitEstimate | None
    score: UnitEstimate | None
    refusals: UnitEstimate
    rows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerChange(ScaffoldRow):
    """Compares an answer to the whole task with a later one of the same sample.

    Attributes:
        before: Names the step of the earlier answer.
        after: Names the step of the later answer.
        samples: Counts the samples where both are readable; the next four count among these.
        unread: Counts the samples where at most one of the two is readable.
        worse: Counts the answers that become worse.
        restored: Counts those of them that the deciding answer takes back; 0 where `after` decides.
        better: Counts the answers that become better.
        other: Counts the answers that change at all.
        net: Is the mean change of the score.
        rows: Is the digest of both answers of every sample.
    """

    before: str
    after: str
    samples: int
    unread: int
    worse: int
    restored: int
    better: int
    other: int
    net: UnitEstimate
    rows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalShares(ScaffoldRow):
    """Counts who refuses: sub-calls, answers, and plain answers to the same items.

    Attributes:
        subcalls: Counts the sub-calls that neither divide nor decide.
        refused: Counts those of them that refuse.
        answers: Counts the answers.
        answers_refused: Counts the answers that refuse.
        plain: Counts the plain answers to the same items.
        plain_refused: Counts the plain answers that refuse.
        ratio: Is the share of sub-calls that refuse over that of answers (Gringras 2026, the distribution
            score of app. M).
        rows: Is the digest of all these calls.
    """

    subcalls: int
    refused: int
    answers: int
    answers_refused: int
    plain: int
    plain_refused: int
    ratio: UnitEstimate
    rows: str


@dataclass(frozen=True, slots=True)
class StepFindings:
    """All three tables: of all models together, and of each where there are several."""

    outcomes: tuple[StepOutcome, ...]
    changes: tuple[AnswerChange, ...]
    refusals: tuple[RefusalShares, ...]

    @property
    def failed(self) -> int:
        """Calls that failed for good."""
        return sum(row.failed for row in self.outcomes if row.model == POOLED)


def read_samples(record: RunRecord) -> tuple[ReadSample, ...]:
    """Read every sample in the complete cells of a study with scaffolds, those without one included; none in
    a study without scaffolds."""
    plan, cells = record.plan, generating(record)
    if all(cell.setting.scaffolding is None for cell in cells):
        return ()
    rows = record.samples.of("score", cells)
    units = dict(zip(rows.items, rows.units.tolist(), strict=True))
    return tuple(
        _read_sample(plan.study.spec, sample, units[cell.benchmark, sample.planned.item.id])
        for cell in cells
        for sample in _sample_records(plan, record.store, cell)
        if (cell.benchmark, sample.planned.item.id) in units
    )


def generating(record: RunRecord) -> list[Cell]:
    """List the complete cells that answer in text."""
    return [cell for cell in record.samples.cells if not cell.setting.ranks]


def _read_sample(spec: Spec, sample: SampleRecord, unit: int) -> ReadSample:
    return ReadSample(
        cell=sample.cell,
        scaffold=scaffold_name(spec, sample.cell),
        item=sample.planned.item,
        replicate=sample.planned.replicate,
        unit=unit,
        replies=tuple(_replies(sample)),
        subquestions=_subquestions(sample),
    )


def _replies(sample: SampleRecord) -> Iterator[ReadReply]:
    setting, planned = sample.cell.setting, sample.planned
    procedure = cell_procedure(sample.cell)
    for number, call in enumerate(sample.calls):
        answer = call.answer or {"text": ""}
        choice = earned = None
        if METHODS[setting.method].reads_alone:
            outcome = score_sample(setting, planned.item, [answer])
            choice, earned = outcome.choice, outcome.score
        yield ReadReply(
            step=call.step,
            call=call.request.id,
            answers_task=procedure is not None and procedure.answers(call.step),
            decides=number == sample.deciding,
            failed="error" in answer,
            choice=choice,
            earned=earned,
            refuses=refuses(before_stop(answer.get("text", ""), setting.held("stop"))),
            part_states=sample.part_states(call),
        )


def _subquestions(sample: SampleRecord) -> tuple[str, ...]:
    """List what the workers were asked: the parts, or the whole question of a task that was not divided."""
    procedure, scaffolded = cell_procedure(sample.cell), sample.planned.scaffolded
    if procedure is None or not procedure.divides or scaffolded is None:
        return ()
    division = before_stop(sample.calls[0].reply or "", sample.cell.setting.held("stop"))
    workers = sum(call.step.startswith(WORKS) for call in sample.calls)
    return (tuple(listed_questions(division, MOST_QUESTIONS)) or (scaffolded.task.question,))[:workers]


def scaffold_counterpart(spec: Spec, cell: Cell) -> Counterpart:
    """Say what a cell shares with those that differ in the scaffold alone."""
    scaffold_axes = {axis.id for axis in spec.axis if any(level.scaffold is not None for level in axis.level)}
    levels = tuple((axis, level) for axis, level in cell.levels.items() if axis not in scaffold_axes)
    return cell.model, cell.benchmark, levels


def mean_item_scores(record: RunRecord) -> dict[tuple[str, str], float]:
    """Compute the mean score of each item in each generating cell, by the cell's key and the item."""
    rows = record.samples.of("score", generating(record))
    counts, sums = rows.reading("itt")
    return {
        (rows.cells[cell].key, rows.items[item][1]): float(points / count)
        for cell, item, points, count in zip(rows.cell, rows.item, sums, counts, strict=True)
    }


@dataclass(frozen=True, slots=True)
class _ScaffoldSamples(ScaffoldRow):
    """The samples that one row, or a few, of each table are about."""

    samples: Sequence[ReadSample]

    @property
    def names(self) -> tuple[str, str, str]:
        """The fields of its `ScaffoldRow`."""
        return self.model, self.benchmark, self.scaffold


def step_findings(record: RunRecord) -> StepFindings | None:
    """Make the three tables of scaffold steps; None in a study without scaffolds."""
    samples = record[READ_SAMPLES]
    if not samples:
        return None
    spec = record.plan.study.spec
    directions = {benchmark.id: Direction.of(benchmark.direction) for benchmark in spec.benchmark}
    plain = [sample for sample in samples if sample.cell.setting.scaffolding is None]
    outcomes, changes, refusals = list[StepOutcome](), list[AnswerChange](), list[RefusalShares]()
    for group in _grouped(samples):
        if group.samples[0].cell.setting.scaffolding is None:
            continue
        for step in sorted({reply.step for sample in group.samples for reply in sample.replies}):
            outcomes.append(_outcome(group, step))
        changes += _changes(group, directions[group.benchmark])
        refusals += _refusals(group, plain, spec)
    return StepFindings(tuple(outcomes), tuple(changes), tuple(refusals))


def _grouped(samples: Iterable[ReadSample]) -> Iterator[_ScaffoldSamples]:
    """Group samples by scaffold and benchmark: of all models, then of each where there are several."""
    by_name: dict[tuple[str, str], dict[str, list[ReadSample]]] = {}
    for sample in samples:
        by_model = by_name.setdefault((sample.scaffold, sample.cell.benchmark), {})
        by_model.setdefault(sample.cell.model, []).append(sample)
    for (scaffold, benchmark), by_model in by_name.items():
        pooled = [sample for of_model in by_model.values() for sample in of_model]
        yield _ScaffoldSamples(POOLED, benchmark, scaffold, pooled)
        for model, of_model in by_model.items() if len(by_model) > 1 else ():
            yield _ScaffoldSamples(model, benchmark, scaffold, of_model)


def totals_of(samples: Sequence[ReadSample], columns: ArrayLike) -> Floats:
    """Sum the samples' columns within each unit."""
    return unit_totals(np.array([sample.unit for sample in samples], dtype=np.int64), columns)


def _outcome(group: _ScaffoldSamples, step: str) -> StepOutcome:
    columns, rows, failed, answers_task = [], [], 0, False
    for sample in group.samples:
        of_step = [reply for reply in sample.replies if reply.step == step]
        replies = [reply for reply in of_step if not reply.failed]
        failed += len(of_step) - len(replies)
        answers_task = answers_task or any(reply.answers_task for reply in of_step)
        columns.append(
            (
                len(replies),
                sum(reply.choice is not None for reply in replies),
                sum((reply.earned or 0) / sample.cell.setting.scale for reply in replies),
                sum(reply.refuses for reply in replies),
            )
        )
        rows += [_row(sample, reply) for reply in of_step]
    totals = totals_of(group.samples, columns)
    without_judge = METHODS[group.samples[0].cell.setting.method].reads_alone
    return StepOutcome(
        *group.names,
        step=step,
        answers_task=answers_task,
        replies=int(totals[:, 0].sum()),
        failed=failed,
        readable=share(totals[:, [0, 1]]) if without_judge else None,
        score=share(totals[:, [0, 2]]) if without_judge else None,
        refusals=share(totals[:, [0, 3]]),
        rows=digest(sorted(rows)),
    )


ReplyRow = tuple[str, str, int, str, str, int, int, int]


def _row(sample: ReadSample, reply: ReadReply) -> ReplyRow:
    """Give the row of a reply that its digest covers. A missing number is -1."""
    choice, earned = (-1 if value is None else value for value in (reply.choice, reply.earned))
    place = sample.cell.key, sample.item.id, sample.replicate
    return (*place, reply.step, reply.call, choice, earned, int(reply.refuses))


@dataclass(frozen=True, slots=True)
class _TwoAnswers:
    """Two answers of a sample to the whole task."""

    sample: ReadSample
    before: ReadReply
    after: ReadReply

    @property
    def readable(self) -> bool:
        return self.before.choice is not None and self.after.choice is not None

    @property
    def points(self) -> float:
        """The change of the score, from -1 to 1."""
        return ((self.after.earned or 0) - (self.before.earned or 0)) / self.sample.cell.setting.scale

    @property
    def row(self) -> tuple[object, ...]:
        """The values that a digest covers."""
        return (*_row(self.sample, self.before), *_row(self.sample, self.after)[3:])

    def improvement(self, direction: Direction) -> Fraction:
        """Compute by how much `after` is better."""
        return _quality(self.sample, self.after, direction) - _quality(self.sample, self.before, direction)

    def is_restored(self, direction: Direction) -> bool:
        """Tell whether the answer that decides, later, is as good as `before` again."""
        sample, answer = self.sample, self.sample.answer
        return (
            answer is not self.after
            and answer.choice is not None
            and _quality(sample, answer, direction) >= _quality(sample, self.before, direction)
        )


def _changes(group: _ScaffoldSamples, direction: Direction) -> Iterator[AnswerChange]:
    """Compare each answer with the next, and the first with the one that decides where others lie between."""
    by_steps: dict[tuple[str, str], list[_TwoAnswers]] = {}
    for sample in group.samples:
        answers = [reply for reply in sample.replies if reply.answers_task]
        pairs = list(pairwise(answers))
        if len(answers) > 1 and (answers[0], sample.answer) not in pairs and sample.answer is not answers[0]:
            pairs.append((answers[0], sample.answer))
        for before, after in pairs:
            by_steps.setdefault((before.step, after.step), []).append(_TwoAnswers(sample, before, after))
    for (earlier, later), compared in sorted(by_steps.items(), key=lambda entry: entry[0]):
        readable = [pair for pair in compared if pair.readable]
        if not readable:
            continue
        improvements = [pair.improvement(direction) for pair in readable]
        points = np.array([pair.points for pair in readable])
        yield AnswerChange(
            *group.names,
            before=earlier,
            after=later,
            samples=len(readable),
            unread=len(compared) - len(readable),
            worse=sum(improvement < 0 for improvement in improvements),
            restored=sum(
                improvement < 0 and pair.is_restored(direction)
                for improvement, pair in zip(improvements, readable, strict=True)
            ),
            better=sum(improvement > 0 for improvement in improvements),
            other=sum(pair.before.choice != pair.after.choice for pair in readable),
            net=change(totals_of([pair.sample for pair in readable], gains_and_losses(points))),
            rows=digest(sorted(pair.row for pair in compared)),
        )


def _quality(sample: ReadSample, reply: ReadReply, direction: Direction) -> Fraction:
    """Say how good a reply is by the direction of its benchmark: higher is better."""
    return direction.good(Fraction(reply.earned or 0, sample.cell.setting.scale))


def _refusals(group: _ScaffoldSamples, plain: Sequence[ReadSample], spec: Spec) -> Iterator[RefusalShares]:
    """Count who refuses, for a scaffold that has sub-calls besides its answer; nothing where nobody does."""
    places = {(scaffold_counterpart(spec, sample.cell), sample.item.id) for sample in group.samples}
    plain_samples = [
        sample for sample in plain if (scaffold_counterpart(spec, sample.cell), sample.item.id) in places
    ]
    columns, rows = [], []
    for sample in group.samples:
        procedure = cell_procedure(sample.cell)
        divides = procedure is not None and procedure.divides
        subcalls = [
            reply
            for reply in sample.replies
            if not reply.decides and not reply.failed and not (divides and reply.step == DIVIDES)
        ]
        answer = sample.answer
        columns.append(
            (
                len(subcalls),
                sum(reply.refuses for reply in subcalls),
                int(not answer.failed),
                int(answer.refuses and not answer.failed),
            )
        )
        rows += [_row(sample, reply) for reply in (*subcalls, answer)]
    totals = totals_of(group.samples, columns)
    subcall_count, refused, answers, answers_refused = (int(total) for total in totals.sum(axis=0))
    plain_answers = [sample.answer for sample in plain_samples if not sample.answer.failed]
    plain_refused = sum(reply.refuses for reply in plain_answers)
    if not subcall_count or not (refused or answers_refused or plain_refused):
        return
    yield RefusalShares(
        *group.names,
        subcalls=subcall_count,
        refused=refused,
        answers=answers,
        answers_refused=answers_refused,
        plain=len(plain_answers),
        plain_refused=plain_refused,
        ratio=share_ratio(totals),
        rows=digest(sorted([*rows, *(_row(sample, sample.answer) for sample in plain_samples)])),
    )


READ_SAMPLES: Finding[tuple[ReadSample, ...]] = Finding("read_samples", read_samples, (), on_request=True)
STEPS: Finding[StepFindings | None] = Finding("steps", step_findings, recorded=StepFindings)
