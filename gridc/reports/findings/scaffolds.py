"""What scaffolds did: which of a task's parts reached each step, whether a scaffold went to work at all, and
what leaked into the parts of divided tasks. Everything is counted on the stored sub-calls."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.propagation import (
    Original,
    State,
    StepShares,
    SubCall,
    Traced,
    shares,
    trace,
)
from gridc.compiler.instrument.scaffolds import Procedure, built_in
from gridc.compiler.instrument.scaffolds.procedures import parts
from gridc.compiler.instrument.subquestions import GROUPS, leaked, severity, strategy
from gridc.compiler.lowering.calls import PlannedSample, Prompt
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.spec import Spec

CAVEAT = "by rules of words, not confirmed by people or a judge: an upper guess"


@dataclass(frozen=True, slots=True)
class Engagement:
    """Whether the scaffold of a cell went to work on its samples, as far as they are answered.

    A scaffold that is suppressed answers at once: react without an action, a critic without a verdict, a
    division that is no list of two parts or more. `system_turn` says where the study's system prompt stood,
    which is what competes with the scaffold's own (Gringras 2026, app. B). `engaged` of `samples` went to
    work; None for a scaffold that has no choice. `calls` is the mean number of calls.
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
        procedure = _procedure(cell)
        if procedure is not None and procedure.divides:
            leakage.append(_leakage(cell, name, samples))
    return ScaffoldFindings(propagation(plan, store), tuple(engagement), tuple(leakage))


def propagation(plan: Plan, store: Store) -> tuple[Step, ...]:
    """What reached each step of each scaffold, as far as the sub-calls are known; empty of a study without
    scaffolds."""
    traced: list[Traced] = []
    rows: dict[tuple[str, str], list[tuple[str, str, int, str]]] = {}
    for cell in _scaffolded(plan):
        name = scaffold_name(plan.study.spec, cell)
        for sample in plan.samples(cell):
            original = original_of(cell, sample)
            for step, request in sample.trace(store.answer_to).calls:
                traced.append(Traced(name, str(step), states_of(original, request.prompt)))
                called = (cell.key, sample.item.id, sample.replicate, request.id)
                rows.setdefault((name, str(step)), []).append(called)
    return tuple(Step(share, digest(sorted(rows[share.scaffold, share.step]))) for share in shares(traced))


def states_of(original: Original, prompt: Prompt) -> Mapping[str, State]:
    """In which state each part of a task is sent."""
    return _states_of(original, tuple(text for _, text in prompt.messages))


@lru_cache(2**15)
def _states_of(original: Original, texts: tuple[str, ...]) -> Mapping[str, State]:
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


def original_of(cell: Cell, sample: PlannedSample) -> Original:
    """An item as the cell asks it before any scaffold."""
    assert sample.scaffolded is not None
    options = sample.item.options if cell.setting.options != "none" else ()
    return Original(sample.scaffolded.task.question, cell.setting.system or None, options)


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
    went = [_went(cell, {step: reply or "" for step, reply in steps}) for steps in answered]
    engaged = None if None in went else sum(map(bool, went))
    turn = cell.setting.system_turn if cell.setting.system else "none"
    calls = sum(map(len, answered)) / max(len(answered), 1)
    return Engagement(cell.model, cell.benchmark, name, turn, len(answered), engaged, round(calls, 4))


def _procedure(cell: Cell) -> Procedure | None:
    assert cell.setting.scaffolding is not None
    return built_in(cell.setting.scaffolding.kind)


def _went(cell: Cell, replies: Mapping[str, str]) -> bool | None:
    """Whether a scaffold went to work; None where it has no choice, or only a plug-in knows."""
    procedure = _procedure(cell)
    return None if procedure is None or procedure.engaged is None else procedure.engaged(replies)


def _leakage(cell: Cell, name: str, samples: list[tuple[PlannedSample, SampleSteps]]) -> Leakage:
    features: Counter[str] = Counter()
    strategies: Counter[str] = Counter()
    grades: Counter[int] = Counter()
    divided = 0
    for sample, steps in samples:
        replies = dict(steps)
        if replies.get("decompose") is None:
            continue
        divided += 1
        subquestions = parts(replies["decompose"] or "", 100)
        features.update({GROUPS[feature] for feature in leaked(sample.item.stem, "\n".join(subquestions))})
        strategies.update(map(strategy, subquestions))
        grades.update(
            severity(reply)
            for step, reply in replies.items()
            if step.startswith("map_chunk") and reply is not None
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
    "propagation", lambda record: propagation(record.plan, record.store), ()
)
