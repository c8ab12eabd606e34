"""Describes what scaffolds did: which parts of a task reached each step, and how each step replied.

Everything is counted on the stored sub-calls: which of a task's parts reached each step, whether a scaffold
went to work at all, and what leaked into the parts of divided tasks.

Every reply is also read as if it were the answer, by the rule of its cell. Three tables follow: what each
step's replies come to; what changes from one answer to the whole task to the next (a critic's flips, a
checker that goes too far, and whether the call that decides takes it back); and who refuses, the parts or the
whole (Gringras 2026, app. M). A refusal is found by its phrases, whatever the method of the cell. Judges and
functions score answers alone, so a step of a cell that they score has no score.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

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
from gridc.compiler.lowering.calls import PlannedSample, Prompt
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


@dataclass(frozen=True, slots=True)
class Engagement:
    """Whether the scaffold of a cell went to work on its samples, as far as they are answered.

    A scaffold that is suppressed answers at once: react without an action, a critic without a verdict, a
    division that is not a list of two parts or more. `system_turn` says where the study's system prompt
    stood, which is what competes with the scaffold's own (Gringras 2026, app. B). `engaged` of `samples` went
    to work; None for a scaffold that has no choice. `calls` is the mean number of calls.
    """

    model: str
    benchmark: str
    scaffold: str
    system_turn: str
    samples: int
    engaged: int | None
    calls: float


@dataclass(frozen=True, slots=True)
class Leakage:
    """What leaked into the parts of divided tasks: on how many of `divided` tasks each group of features did;
    how many parts follow each strategy; how many answers to parts have each grade of severity (1 to 5)."""

    model: str
    benchmark: str
    scaffold: str
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


def scaffold_findings(plan: Plan, store: Store) -> ScaffoldFindings:
    """Read every scaffolded sample of a study. Raises `StoreError` when the store holds no run of it."""
    store.require(plan.study_digest)
    engagement, leakage = [], []
    for cell in _scaffolded(plan):
        name = scaffold_name(plan.study.spec, cell)
        samples = [(sample, _steps(sample, store)) for sample in plan.samples(cell)]
        engagement.append(_engagement(cell, name, [steps for _, steps in samples]))
        procedure = cell_procedure(cell)
        if procedure is not None and procedure.divides:
            leakage.append(_leakage(cell, name, samples))
    return ScaffoldFindings(propagation_steps(plan, store), tuple(engagement), tuple(leakage))


def propagation_steps(plan: Plan, store: Store) -> tuple[Step, ...]:
    """What reached each step of each scaffold, as far as the sub-calls are known; empty of a study without
    scaffolds."""
    traced: list[TracedCall] = []
    rows: dict[tuple[str, str], list[tuple[str, str, int, str]]] = {}
    for cell in _scaffolded(plan):
        name = scaffold_name(plan.study.spec, cell)
        for sample in plan.samples(cell):
            original = original_of(cell, sample)
            for step, request in sample.trace(store.answer_to).calls:
                traced.append(TracedCall(name, str(step), states_of(original, request.prompt)))
                called = (cell.key, sample.item.id, sample.replicate, request.id)
                rows.setdefault((name, str(step)), []).append(called)
    return tuple(
        Step(share, digest(sorted(rows[share.scaffold, share.step]))) for share in step_shares(traced)
    )


def states_of(original: OriginalTask, prompt: Prompt) -> Mapping[str, State]:
    """In which state each part of a task is sent."""
    return _states_of(original, tuple(text for _, text in prompt.messages))


@lru_cache(2**15)
def _states_of(original: OriginalTask, texts: tuple[str, ...]) -> Mapping[str, State]:
    return trace(original, SubCall("", "", texts)).states


def _scaffolded(plan: Plan) -> Iterator[Cell]:
    return (cell for cell in plan.cells() if cell.setting.scaffolding is not None)


def scaffold_name(spec: Spec, cell: Cell) -> str:
    """What the study calls a cell's scaffold: the level that sets it, else its kind."""
    for axis in spec.axis:
        for level in axis.level:
            if level.scaffold is not None and level.id == cell.levels[axis.id]:
                return level.id
    return "direct" if cell.setting.scaffold is None else cell.setting.scaffold.kind


def original_of(cell: Cell, sample: PlannedSample) -> OriginalTask:
    """An item as the cell asks it before any scaffold."""
    assert sample.scaffolded is not None
    options = sample.item.options if cell.setting.options != "none" else ()
    return OriginalTask(sample.scaffolded.task.question, cell.setting.system or None, options)


SampleSteps = list[tuple[str, str | None]]
"""The steps of a sample: the name, and the reply, None where there is none."""


def _steps(sample: PlannedSample, store: Store) -> SampleSteps:
    steps: SampleSteps = []
    for step, request in sample.trace(store.answer_to).calls:
        answer = store.answer_to(request.id) or {}
        steps.append((str(step), answer.get("text")))
    return steps


def _engagement(cell: Cell, name: str, samples: list[SampleSteps]) -> Engagement:
    answered = [steps for steps in samples if steps[0][1] is not None]
    went = [_went_to_work(cell, {step: reply or "" for step, reply in steps}) for steps in answered]
    engaged = None if None in went else sum(map(bool, went))
    turn = cell.setting.system_turn if cell.setting.system else "none"
    calls = sum(map(len, answered)) / max(len(answered), 1)
    return Engagement(cell.model, cell.benchmark, name, turn, len(answered), engaged, round(calls, 4))


def _went_to_work(cell: Cell, replies: Mapping[str, str]) -> bool | None:
    """Whether a scaffold went to work; None where it has no choice, or only a plug-in knows."""
    procedure = cell_procedure(cell)
    return None if procedure is None or procedure.engaged is None else procedure.engaged(replies)


def _leakage(cell: Cell, name: str, samples: list[tuple[PlannedSample, SampleSteps]]) -> Leakage:
    features: Counter[str] = Counter()
    strategies: Counter[str] = Counter()
    grades: Counter[int] = Counter()
    divided = 0
    for sample, steps in samples:
        replies = dict(steps)
        if replies.get(DIVIDES) is None:
            continue
        divided += 1
        subquestions = listed_questions(replies[DIVIDES] or "", 100)
        features.update({GROUPS[feature] for feature in leaked(sample.item.stem, "\n".join(subquestions))})
        strategies.update(map(strategy, subquestions))
        grades.update(
            severity(reply) for step, reply in replies.items() if step.startswith(WORKS) and reply is not None
        )
    return Leakage(
        cell.model,
        cell.benchmark,
        name,
        divided,
        dict(features),
        dict(strategies),
        dict(sorted(grades.items())),
    )


PROPAGATION: Finding[tuple[Step, ...]] = Finding(
    "propagation",
    lambda record: propagation_steps(record.plan, record.store),
    (),
    about="Which of a task's parts reached each step of a scaffold, and what leaked into divided tasks.",
)


PLAIN = "plain"
"""What the one call of an item without a scaffold is called among the steps."""
POOLED = "all models"

Counterpart = tuple[str, str, tuple[tuple[str, str], ...]]
"""Model, benchmark and the levels of all axes that set no scaffold: what cells share that differ in the
scaffold alone."""


@dataclass(frozen=True, slots=True)
class ReadReply:
    """One call of a sample, and how its reply was read.

    `answers_task`: it is asked for an answer to the whole task. `decides`: its answer is the sample's answer.
    `failed`: it failed for good and has no reply. `choice` is the option that was read, None where none could
    be. `earned` is what that earns, in units of the cell's scale; None where only judges could say and did
    not. `kept` says in which state each part of the task was sent.
    """

    step: str
    call: str
    answers_task: bool
    decides: bool
    failed: bool
    choice: int | None
    earned: int | None
    refuses: bool
    kept: Mapping[str, State]


@dataclass(frozen=True, slots=True)
class ReadSample:
    """A sample of a complete cell with all its replies. `unit` numbers what is independent of each other,
    over all benchmarks; `parts` are what the workers of a divided task are asked."""

    cell: Cell
    scaffold: str
    item: Item
    replicate: int
    unit: int
    replies: tuple[ReadReply, ...]
    parts: tuple[str, ...] = ()

    @property
    def answer(self) -> ReadReply:
        return next(reply for reply in self.replies if reply.decides)


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What the replies of a step come to: of `replies` (a failed call has none), how many are readable, and
    the shares, over units. `score` and `readable` are None where only judges read."""

    model: str
    benchmark: str
    scaffold: str
    step: str
    answers_task: bool
    replies: int
    failed: int
    readable: UnitEstimate | None
    score: UnitEstimate | None
    refusals: UnitEstimate
    rows: str


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """From one answer to the whole task to a later one, of the `samples` where both are readable: how many
    become `worse`, of these how many `restored` by an answer that decides later (0 where the later one does),
    how many become `better`, and how many are `other` answers. `net` is the mean change of the score;
    `unread` counts the samples where only one of the two can be read, or none."""

    model: str
    benchmark: str
    scaffold: str
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


@dataclass(frozen=True, slots=True)
class RefusalShares:
    """Who refuses: of the sub-calls that neither divide nor decide, of the answers, and of the plain answers
    to the same items (None without such). `ratio` is the first share over the second (Gringras 2026, the
    distribution score of app. M)."""

    model: str
    benchmark: str
    scaffold: str
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
    """All three tables: of each model where there are several, and of all of them."""

    outcomes: tuple[StepOutcome, ...]
    changes: tuple[AnswerChange, ...]
    refusals: tuple[RefusalShares, ...]

    @property
    def failed(self) -> int:
        """Calls that failed for good."""
        return sum(row.failed for row in self.outcomes if row.model == POOLED)


def read_samples(record: RunRecord) -> tuple[ReadSample, ...]:
    """Every sample in the complete cells of a study with scaffolds, including cells without one; none in a
    study without scaffolds."""
    plan, cells = record.plan, generating(record)
    if all(cell.setting.scaffolding is None for cell in cells):
        return ()
    rows = record.samples.of("score", cells)
    units = dict(zip(rows.items, rows.units.tolist(), strict=True))
    return tuple(
        ReadSample(
            cell,
            scaffold_name(plan.study.spec, cell),
            sample.item,
            sample.replicate,
            units[cell.benchmark, sample.item.id],
            tuple(_replies(record, cell, sample)),
            _parts(record, cell, sample),
        )
        for cell in cells
        for sample in plan.samples(cell)
        if (cell.benchmark, sample.item.id) in units
    )


def generating(record: RunRecord) -> list[Cell]:
    """The complete cells that answer in text."""
    return [cell for cell in record.samples.cells if not cell.setting.ranks]


def _replies(record: RunRecord, cell: Cell, sample: PlannedSample) -> Iterator[ReadReply]:
    found = sample.trace(record.store.answer_to)
    procedure = cell_procedure(cell)
    decides = len(found.calls) - 1 if found.decides is None else found.decides
    original = None if sample.scaffolded is None else original_of(cell, sample)
    for at, (step, request) in enumerate(found.calls):
        answer = record.store.answer_to(request.id) or {"text": ""}
        text = before_stop(answer.get("text", ""), cell.setting.held("stop"))
        choice = earned = None
        if METHODS[cell.setting.method].reads_alone:
            outcome = score_sample(cell.setting, sample.item, [answer])
            choice, earned = outcome.choice, outcome.score
        yield ReadReply(
            step or PLAIN,
            request.id,
            procedure is not None and procedure.answers(str(step)),
            at == decides,
            "error" in answer,
            choice,
            earned,
            refuses(text),
            {} if original is None else states_of(original, request.prompt),
        )


def _parts(record: RunRecord, cell: Cell, sample: PlannedSample) -> tuple[str, ...]:
    """What is asked of the workers: the parts, or the whole question where the task was not divided."""
    procedure = cell_procedure(cell)
    if procedure is None or not procedure.divides or sample.scaffolded is None:
        return ()
    calls = sample.trace(record.store.answer_to).calls
    answer = record.store.answer_to(calls[0][1].id) or {}
    text = before_stop(answer.get("text", ""), cell.setting.held("stop"))
    asked = sum(str(step).startswith(WORKS) for step, _ in calls)
    return (tuple(listed_questions(text, 100)) or (sample.scaffolded.task.question,))[:asked]


def cell_procedure(cell: Cell) -> Procedure | None:
    """The row of a cell's scaffold; None of a plain cell, and of a plug-in's."""
    scaffold = cell.setting.scaffolding
    return None if scaffold is None else built_in(scaffold.kind)


def scaffold_counterpart(spec: Spec, cell: Cell) -> Counterpart:
    """What a cell shares with those that differ in the scaffold alone."""
    free = {axis.id for axis in spec.axis if any(level.scaffold is not None for level in axis.level)}
    return cell.model, cell.benchmark, tuple((a, level) for a, level in cell.levels.items() if a not in free)


def mean_item_scores(record: RunRecord) -> dict[tuple[str, str], float]:
    """The mean score of each item in each of these cells, by the cell's key and the item."""
    rows = record.samples.of("score", generating(record))
    counted, earned = rows.reading("itt")
    return {
        (rows.cells[cell].key, rows.items[item][1]): float(points / count)
        for cell, item, points, count in zip(rows.cell, rows.item, earned, counted, strict=True)
    }


def step_findings(record: RunRecord) -> StepFindings | None:
    """The three tables of scaffold steps; None in a study without scaffolds."""
    samples = record[READ]
    if not samples:
        return None
    spec = record.plan.study.spec
    directions = {benchmark.id: Direction.of(benchmark.direction) for benchmark in spec.benchmark}
    plain = [sample for sample in samples if sample.cell.setting.scaffolding is None]
    outcomes, changes, refusals = list[StepOutcome](), list[AnswerChange](), list[RefusalShares]()
    for (model, benchmark, scaffold), some in _parted(samples):
        if some[0].cell.setting.scaffolding is None:
            continue
        name = model, benchmark, scaffold
        for step in sorted({reply.step for sample in some for reply in sample.replies}):
            outcomes.append(_outcome(name, step, some))
        changes += _changes(name, some, directions[benchmark])
        refusals += _refusals(name, some, plain, spec)
    return StepFindings(tuple(outcomes), tuple(changes), tuple(refusals))


def _parted(
    samples: Iterable[ReadSample],
) -> Iterator[tuple[tuple[str, str, str], list[ReadSample]]]:
    """The samples of each scaffold on each benchmark: of all models, then of each where there are several."""
    by_name: dict[tuple[str, str], dict[str, list[ReadSample]]] = {}
    for sample in samples:
        of = by_name.setdefault((sample.scaffold, sample.cell.benchmark), {})
        of.setdefault(sample.cell.model, []).append(sample)
    for (scaffold, benchmark), models in by_name.items():
        yield (POOLED, benchmark, scaffold), [sample for some in models.values() for sample in some]
        for model, some in models.items() if len(models) > 1 else ():
            yield (model, benchmark, scaffold), some


def totals_of(samples: Sequence[ReadSample], columns: ArrayLike) -> Floats:
    """The sums of the samples' columns within each unit."""
    return unit_totals(np.array([sample.unit for sample in samples], dtype=np.int64), columns)


def _outcome(name: tuple[str, str, str], step: str, samples: Sequence[ReadSample]) -> StepOutcome:
    columns, rows, failed, answers_task = [], [], 0, False
    read = METHODS[samples[0].cell.setting.method].reads_alone
    for sample in samples:
        scale = sample.cell.setting.scale
        own = [reply for reply in sample.replies if reply.step == step]
        replies = [reply for reply in own if not reply.failed]
        failed += len(own) - len(replies)
        answers_task = answers_task or any(reply.answers_task for reply in own)
        columns.append(
            (
                len(replies),
                sum(reply.choice is not None for reply in replies),
                sum((reply.earned or 0) / scale for reply in replies),
                sum(reply.refuses for reply in replies),
            )
        )
        rows += [_row(sample, reply) for reply in own]
    totals = totals_of(samples, columns)
    return StepOutcome(
        *name,
        step,
        answers_task,
        int(totals[:, 0].sum()),
        failed,
        share(totals[:, [0, 1]]) if read else None,
        share(totals[:, [0, 2]]) if read else None,
        share(totals[:, [0, 3]]),
        digest(sorted(rows)),
    )


ReplyRow = tuple[str, str, int, str, str, int, int, int]


def _row(sample: ReadSample, reply: ReadReply) -> ReplyRow:
    """The row of a reply that its digest covers. A missing number is -1."""
    choice, earned = (-1 if value is None else value for value in (reply.choice, reply.earned))
    place = sample.cell.key, sample.item.id, sample.replicate
    return (*place, reply.step, reply.call, choice, earned, int(reply.refuses))


def _changes(
    name: tuple[str, str, str], samples: Sequence[ReadSample], direction: Direction
) -> Iterator[AnswerChange]:
    """From each answer to the next, and from the first to the one that decides where others lie between."""
    pairs: dict[tuple[str, str], list[tuple[ReadSample, ReadReply, ReadReply]]] = {}
    for sample in samples:
        answers = [reply for reply in sample.replies if reply.answers_task]
        steps = list(pairwise(answers))
        if len(answers) > 1 and (answers[0], sample.answer) not in steps and sample.answer is not answers[0]:
            steps.append((answers[0], sample.answer))
        for before, after in steps:
            pairs.setdefault((before.step, after.step), []).append((sample, before, after))
    for (earlier, later), some in sorted(pairs.items()):
        both = [pair for pair in some if None not in (pair[1].choice, pair[2].choice)]
        if not both:
            continue
        moved = [_quality(pair[0], pair[2], direction) - _quality(*pair[:2], direction) for pair in both]
        restored = sum(
            change < 0
            and sample.answer is not after
            and sample.answer.choice is not None
            and _quality(sample, sample.answer, direction) >= _quality(sample, before, direction)
            for change, (sample, before, after) in zip(moved, both, strict=True)
        )
        points = [
            ((after.earned or 0) - (before.earned or 0)) / sample.cell.setting.scale
            for sample, before, after in both
        ]
        totals = totals_of([sample for sample, *_ in both], gains_and_losses(np.array(points)))
        rows = sorted((*_row(sample, before), *_row(sample, after)[3:]) for sample, before, after in some)
        yield AnswerChange(
            *name,
            earlier,
            later,
            len(both),
            len(some) - len(both),
            sum(change < 0 for change in moved),
            restored,
            sum(change > 0 for change in moved),
            sum(before.choice != after.choice for _, before, after in both),
            change(totals),
            digest(rows),
        )


def _quality(sample: ReadSample, reply: ReadReply, direction: Direction) -> Fraction:
    """How good a reply is by the direction of its benchmark: higher is better."""
    return direction.good(Fraction(reply.earned or 0, sample.cell.setting.scale))


def _refusals(
    name: tuple[str, str, str], samples: Sequence[ReadSample], plain: Sequence[ReadSample], spec: Spec
) -> Iterator[RefusalShares]:
    """Of a scaffold that has sub-calls besides its answer; nothing where nobody refuses."""
    places = {(scaffold_counterpart(spec, sample.cell), sample.item.id) for sample in samples}
    beside = [
        sample for sample in plain if (scaffold_counterpart(spec, sample.cell), sample.item.id) in places
    ]
    columns, rows = [], []
    for sample in samples:
        procedure = cell_procedure(sample.cell)
        dividing = procedure is not None and procedure.divides
        own = [
            reply
            for reply in sample.replies
            if not reply.decides and not reply.failed and not (dividing and reply.step == DIVIDES)
        ]
        answer = sample.answer
        columns.append(
            (
                len(own),
                sum(reply.refuses for reply in own),
                int(not answer.failed),
                int(answer.refuses and not answer.failed),
            )
        )
        rows += [_row(sample, reply) for reply in (*own, answer)]
    totals = totals_of(samples, columns)
    subcalls, refused, answers, answers_refused = (int(total) for total in totals.sum(axis=0))
    asked = [sample.answer for sample in beside if not sample.answer.failed]
    plain_refused = sum(reply.refuses for reply in asked)
    if not subcalls or not (refused or answers_refused or plain_refused):
        return
    yield RefusalShares(
        *name,
        subcalls,
        refused,
        answers,
        answers_refused,
        len(asked),
        plain_refused,
        share_ratio(totals),
        digest(sorted([*rows, *(_row(sample, sample.answer) for sample in beside)])),
    )


DIVIDES, WORKS = "decompose", "map_chunk"
"""The steps of a scaffold that divides: the one that does, and how those begin that answer a part."""


READ: Finding[tuple[ReadSample, ...]] = Finding("read_samples", read_samples, (), on_request=True)
STEPS: Finding[StepFindings | None] = Finding("steps", step_findings, recorded=StepFindings)
