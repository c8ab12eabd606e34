"""What is found of a study, with everything that a report says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, cast

from gridc.compiler.frontend.unsupported import uncomputed
from gridc.compiler.lock.anchor import Anchor, strongest
from gridc.compiler.lock.lock import Lock
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.analysis import BenchmarkAnalysis
from gridc.reports.findings.changes import Reread, ScoreChange
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.reports.findings.intervals import UnitIntervals
from gridc.reports.findings.noise import (
    ModelNoise,
)
from gridc.reports.findings.rates import RateFinding
from gridc.reports.findings.run_record import Finding
from gridc.reports.findings.scores import CellScore
from gridc.runtime.store.rows import Progress
from gridc.schema.base import ALPHA, Declared
from gridc.schema.certificate import EndingsRow, UncomputedRow
from gridc.schema.deviation import DeviationEntry
from gridc.schema.evidence import EvidenceRow, OrderingClaimRow, PairTestsRow
from gridc.schema.items import UnitLevel
from gridc.schema.scopes import NoiseRow, ScopeKind
from gridc.statistics.direction import Direction
from gridc.statistics.dispersion import Dispersion, FlipRate
from gridc.statistics.orderings import Mismatch, Orderings
from gridc.statistics.pairs import PairCounts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of an envelope: all of it, a tier, a slice, a measurand, or the parse-clean part.

    `declared` says whether it was named before the data (`ex_ante`) or after (`post_hoc`).
    """

    kind: ScopeKind
    name: str
    declared: Declared
    configurations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairFinding:
    """A pair's counts, what the items and the noise floor say of them, and the digest of their rows.

    `counts` are intention-to-treat: an unreadable answer scores 0. `readable` are the same counts of
    the per-protocol scores, which leave unreadable answers out.
    """

    counts: PairCounts
    readable: PairCounts
    evidence: EvidenceRow
    noise: NoiseRow
    rows: str

    @property
    def parted(self) -> bool:
        """Whether the two ways of counting disagree on the majority, on D1 or on D2."""
        one, other = self.counts, self.readable
        stated = ((one.d1, other.d1), (one.d2, other.d2))
        return one.majority != other.majority or any(
            None not in both and both[0] != both[1] for both in stated
        )


@dataclass(frozen=True, slots=True)
class ScopeFinding:
    """What a scope shows of the models' order. `tau` is tau_R, `tau_dropped` the configurations in
    which all models tie."""

    scope: Scope
    pairs: tuple[PairFinding, ...]
    orderings: Orderings
    mismatch: Mismatch
    tau: float | None
    tau_dropped: int


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """What one model does on one benchmark: its score under the anchor configuration, and how far it
    moves over the envelope, as far as it is measured. `median_flips` is the flip rate at the median of its
    own scores (SafetyRepro, app. L), of which half pass by construction."""

    model: str
    anchor: CellScore
    dispersion: Dispersion | None
    dispersion_by_scope: tuple[tuple[Scope, Dispersion], ...]
    flip_rates: tuple[FlipRate, ...]
    median_flips: FlipRate | None = None


@dataclass(frozen=True, slots=True)
class ParseRate:
    """Readable answers under one level of an axis, over the cells that read answers from text."""

    axis: str
    level: str
    cells: int
    least: Fraction
    mean: Fraction


@dataclass(frozen=True, slots=True)
class BenchmarkFinding:
    """Everything about one benchmark. The first scope is the full envelope.

    `units` groups of items, at the level `unit`, are taken as independent of each other, and worth
    `effective` ones of one size; `coarser` are the levels above it that the data document and the spec passes
    over.
    """

    benchmark: str
    items: int
    unit: UnitLevel
    units: int
    effective: float
    coarser: tuple[UnitLevel, ...]
    direction: Direction
    intervals: UnitIntervals
    cells: tuple[CellScore, ...]
    scopes: tuple[ScopeFinding, ...]
    models: tuple[ModelFinding, ...]
    parse_rates: tuple[ParseRate, ...]
    analysis: BenchmarkAnalysis
    ordering_claims: tuple[OrderingClaimRow, ...]
    tests: tuple[PairTestsRow, ...]
    rates: tuple[RateFinding, ...] = ()
    endings: tuple[EndingsRow, ...] = ()
    changes: tuple[ScoreChange, ...] = ()
    reread: tuple[Reread, ...] = ()

    @property
    def full(self) -> ScopeFinding:
        return self.scopes[0]


@dataclass(frozen=True, slots=True)
class Findings:
    """A study's findings, with what they rest on. `deviations` is the log;
    `steps_back` are the events at which the clock was set back; `computed` has all else by name
    (`run_record.reported`)."""

    plan: Plan
    lock: Lock
    anchors: tuple[Anchor, ...]
    results_anchors: tuple[Anchor, ...]
    progress: Progress
    results: str
    near_ties: int
    first_call: str | None
    before_stamp: int
    steps_back: tuple[int, ...]
    deviations: tuple[DeviationEntry, ...]
    benchmarks: tuple[BenchmarkFinding, ...]
    hypotheses: tuple[HypothesisFinding, ...]
    noise: tuple[ModelNoise, ...]
    computed: Mapping[str, Any]

    def __getitem__(self, finding: Finding[T]) -> T:
        """What was found; what stands for it where nobody asked."""
        return cast(T, self.computed.get(finding.name, finding.absent))

    @property
    def study(self) -> str:
        """The study's id."""
        return self.plan.study.spec.study.id

    @property
    def title(self) -> str:
        return self.plan.study.spec.study.title

    @property
    def stamp(self) -> str:
        """Of the study as it ran."""
        return self.plan.study_digest

    @property
    def registered(self) -> str:
        """The lock's stamp."""
        return self.lock.stamp

    @property
    def supersedes(self) -> tuple[str, ...]:
        """The stamps that the lock's replaced."""
        return tuple(earlier.stamp for earlier in self.lock.supersedes)

    @property
    def uncomputed(self) -> tuple[UncomputedRow, ...]:
        """What the study states and this version does not compute."""
        return uncomputed(self.plan.study.spec)

    @property
    def alpha(self) -> float:
        """The level of the certificate."""
        return self.plan.study.spec.analysis.alpha or ALPHA

    @property
    def anchor(self) -> Anchor:
        """The strongest tie of the lock."""
        return strongest(self.anchors)

    @property
    def complete(self) -> bool:
        return self.progress.complete


def unused_generation(ran: dict[str, Any]) -> str:
    """What the generation config of a model that was run asks for, beside the tokens that end an answer:
    every call has the study's own values in its place. Empty where it asks for nothing."""
    declared: dict[str, Any] = ran.get("generation_config_not_used") or {}
    return ", ".join(f"{name} = {value}" for name, value in sorted(declared.items()))
