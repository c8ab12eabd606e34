"""The certificate: what a study says of the order of its models, in a form that anyone can recount.

It holds the counts of every cell, so that N+, N-, N0 and all that follows from them can be checked by
any program that can count; `gridc verify` also checks the counts themselves against the store.
"""

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Id, Strength
from gridc.schema.evidence import OrderingClaimRow, PairTestsRow
from gridc.schema.hypotheses import HypothesisRow
from gridc.schema.items import UnitLevel
from gridc.schema.rows import Count, Digest, Part, Rounded, Share
from gridc.schema.scopes import ScopeRow
from gridc.schema.spread import AgreementRow, BetweenRow, LevelGapRow, MaximumRow, PairedRow, VarianceRow
from gridc.statistics.decision import Verdict

FORMAT: Literal["gridc-certificate/1"] = "gridc-certificate/1"


class Tally(Part):
    """A cell's samples: `trials` asked, `scored` with an outcome, of these `parsed` readable, and the sum
    `correct` of their scores. The score is correct / (trials scale), once all are scored."""

    trials: Count
    scored: Count
    parsed: Count
    correct: Count
    scale: Annotated[int, Field(ge=1, description="Scores are whole numbers of 1 / scale.")]
    credit: Annotated[Count, Field(description="What an unreadable answer earned, in the same unit.")]
    standard_error: Annotated[
        Rounded | None,
        Field(description="Of the score, over items, robust to the dependence of items of one unit."),
    ]
    interval: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Of the score, by resampling units: see `intervals` of the benchmark."),
    ]
    rows: Annotated[Digest, Field(description="Digest of the item outcomes behind the counts.")]


class GapRow(Part):
    """The score of a minus the score of b, with its interval; null where no unit differs from another."""

    value: Rounded
    interval: tuple[Rounded, Rounded] | None


class PairGapsRow(Part):
    """The gap of a pair in every configuration that both are measured in, and its mean over those."""

    a: str
    b: str
    mean: GapRow
    by_configuration: dict[str, GapRow]


class IntervalsRow(Part):
    """How the intervals of scores and gaps were made, and the gaps."""

    method: Annotated[str, Field(description="The kind of interval.")]
    assumption: Annotated[str, Field(description="What it rests on.")]
    level: Share
    unit: Annotated[UnitLevel, Field(description="What was drawn, with replacement.")]
    units: Count
    resamples: Count
    seed: Count
    gaps: tuple[PairGapsRow, ...]


class ConfigurationRow(Part):
    """One configuration of the envelope and every model's tally under it."""

    configuration: str
    tier: Id
    slices: tuple[str, ...]
    method: str
    scores: dict[str, Tally]


class Floor(Part):
    """A sample of calls, answered once more: in another batch shape, or as served asked again."""

    outcomes: Annotated[Count, Field(description="Outcomes that were repeated.")]
    changed: Annotated[Count, Field(description="Of these, how many changed.")]
    limit: Annotated[
        Share,
        Field(description="Upper 95 % limit of the share of calls whose outcomes would."),
    ]
    calls: Annotated[Count, Field(description="Calls that were repeated; several outcomes may read one.")]
    texts: Annotated[Count, Field(description="Generated texts that were repeated.")]
    texts_changed: Count
    max_moved: Annotated[
        Rounded | None,
        Field(description="Largest move of a log-likelihood, nats; null where none was repeated."),
    ]

    @property
    def share(self) -> Fraction:
        """The share of outcomes that changed; none when none was repeated."""
        return Fraction(self.changed, self.outcomes) if self.outcomes else Fraction(0)

    @property
    def still(self) -> bool:
        """Whether no outcome and no text changed."""
        return not self.changed and not self.texts_changed


class FloorRow(Part):
    """A model at a precision, and its noise floor; null where no sample was taken."""

    model: str
    precision: str
    floor: Floor | None


class RateCell(Part):
    """A rate in one cell, with the counts that it is made of."""

    value: Annotated[Rounded | None, Field(description="Null where it is not defined: nothing to divide by.")]
    counts: dict[str, Count]
    interval: Annotated[
        tuple[Rounded, Rounded] | None, Field(description="By resampling units, as that of a score.")
    ]


class RateRow(Part):
    """A rate of its own, beside the score: in every complete cell, by model and configuration."""

    name: str
    what: str
    formula: Annotated[str, Field(description="How it follows from the counts.")]
    models: dict[str, dict[str, RateCell]]


class EndingsRow(Part):
    """How the samples of a model on a benchmark ended, over all its cells. All but `waiting` stay in the
    denominator of every score; per protocol only `read` does."""

    model: str
    read: Annotated[Count, Field(description="An answer was read.")]
    unread: Annotated[Count, Field(description="A whole response in which no answer could be read.")]
    cut: Annotated[Count, Field(description="No readable answer, and the response ends at max_tokens.")]
    refused: Annotated[Count, Field(description="No readable answer, and the provider says it declined.")]
    failed: Annotated[
        dict[str, Count], Field(description="A call failed for good, by kind of failure: docs/api.md.")
    ]
    waiting: Annotated[Count, Field(description="Without an outcome yet.")]

    @property
    def samples(self) -> int:
        return self.read + self.unread + self.cut + self.refused + sum(self.failed.values()) + self.waiting


class BenchmarkRow(Part):
    """One benchmark: its envelope, configuration by configuration, and its scopes, the full one first."""

    benchmark: str
    items: Count
    unit: Annotated[
        UnitLevel,
        Field(description="Which groups of items are taken as independent: the assumption of every test."),
    ]
    units: Annotated[Count, Field(description="How many such groups were asked.")]
    left_out: Annotated[
        Count, Field(description="Rows of its files that do not follow the format: no item was made of them.")
    ] = 0
    direction: Annotated[
        Literal["higher_is_better", "lower_is_better", "nearest_is_best"],
        Field(
            description="Which score is the good one; nearest_is_best: the one nearest to the spec's target. "
            "N+ and N- count scores; orders and passes follow it."
        ),
    ]
    target: Annotated[
        Share | None, Field(description="The score of which the nearest is best; null where there is none.")
    ]
    intervals: IntervalsRow
    envelope: tuple[ConfigurationRow, ...]
    rates: tuple[RateRow, ...]
    endings: tuple[EndingsRow, ...]
    scopes: tuple[ScopeRow, ...]
    tests: tuple[PairTestsRow, ...]
    ordering_claims: tuple[OrderingClaimRow, ...]
    between: tuple[BetweenRow, ...]
    variance: tuple[VarianceRow, ...]
    gaps: tuple[LevelGapRow, ...]
    agreements: tuple[AgreementRow, ...]


FalsificationResult = Literal["pass", "partial", "fail", "open"]


class KeptRow(Part):
    """A hypothesis's verdict in the study, and where a falsification test looks."""

    hypothesis: str
    before: Verdict
    after: Verdict

    @property
    def holds(self) -> bool:
        return self.before == self.after


class FalsificationRow(Part):
    """What became of a falsification test that gridc decides: a bound on a statistic's worst value, or
    hypotheses that must keep their verdict."""

    id: str
    category: str
    test: str
    criterion: str
    result: Annotated[
        FalsificationResult,
        Field(
            description="open: the run is not finished, a verdict was open from the start, or the statistic "
            "is not defined anywhere."
        ),
    ]
    kept: tuple[KeptRow, ...]
    statistic: str | None
    value: Annotated[Rounded | None, Field(description="The worst value of the statistic.")]
    at: Annotated[str | None, Field(description="Where it is found.")]
    rows: Annotated[Digest, Field(description="Digest of the cells that were read.")]


class UncomputedRow(Part):
    """What the spec states and this version of gridc does not compute."""

    table: Annotated[str, Field(description="Of the spec: hypothesis, family, fork, curve, ...")]
    id: Annotated[str, Field(description="Its id; in `analysis`, its key.")]
    what: str


class AnchorRow(Part):
    """How strongly the stamp is tied to a time or a person, from evidence that was checked where it was made,
    against whom its maker named."""

    strength: Strength
    detail: str
    before_first_call: Annotated[
        bool | None,
        Field(description="Whether a third party dates it before the first call that the store records."),
    ]


class ResultsAnchorRow(Part):
    """How strongly the record of a finished run's results is tied to a time or a person, as `AnchorRow`."""

    strength: Strength
    detail: str


class Certificate(Part):
    """A study's certificate. All of it is intention-to-treat: an unreadable answer scores 0, or `credit`. The
    counts of a tally also give the per-protocol score: (correct - credit (trials - parsed)) / (parsed scale).
    """

    format: Literal["gridc-certificate/1"]
    study: str
    title: str
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    registered: Annotated[
        Digest, Field(description="The lock's stamp: another one where the study departs from it.")
    ]
    supersedes: Annotated[tuple[Digest, ...], Field(description="Stamps that the lock's replaced.")]
    anchor: Annotated[AnchorRow, Field(description="Of the lock.")]
    results_anchor: Annotated[
        ResultsAnchorRow | None, Field(description="Of the results; null where nothing ties them.")
    ]
    gridc: str
    models: dict[str, str | None]
    complete: bool
    answered: Count
    calls: Count
    results: Annotated[Digest, Field(description="The results digest.")]
    near_ties: Annotated[int, Field(ge=0, description="Token choices that a tiny change would alter.")]
    calls_before_stamp: Annotated[
        int, Field(ge=0, description="Calls that were answered before the stamp was made.")
    ]
    outcome: Annotated[Literal["itt"], Field(description="Intention-to-treat.")]
    statements: tuple[str, ...]
    noise_floors: tuple[FloorRow, ...]
    benchmarks: tuple[BenchmarkRow, ...]
    hypotheses: tuple[HypothesisRow, ...]
    falsifications: tuple[FalsificationRow, ...]
    maxima: tuple[MaximumRow, ...]
    precisions: tuple[PairedRow, ...]
    uncomputed: tuple[UncomputedRow, ...]
