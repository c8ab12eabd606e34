"""The certificate: what a study says about the order of its models and the spread of their scores.

It holds the counts of every cell, so that N+, N-, N0 and all that follows from them can be checked by any
program that can count; `gridc verify` also checks the counts themselves against the store.
"""

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.audit import BenchmarkAuditRow
from gridc.schema.base import Declared, Id, Strength
from gridc.schema.deviation import EarlierAnswersRow
from gridc.schema.effects import AnswerFormName
from gridc.schema.hypotheses import HypothesisRow, Standing
from gridc.schema.inference import CriterionRule
from gridc.schema.items import UnitLevel
from gridc.schema.recorded import RecordedRuns
from gridc.schema.rows import (
    BreakdownRow,
    Count,
    Digest,
    DistinctQuestions,
    EvidenceRow,
    InItsUnit,
    ItemsHeld,
    OrderingClaimRow,
    PairTestsRow,
    Part,
    Ratio,
    Rounded,
    Sentence,
    Share,
    StandingsRow,
    UnreadRow,
)
from gridc.schema.statistics import StatisticKind
from gridc.schema.verdicts import VerdictsRow
from gridc.statistics.reproducibility import Verdict

ScopeKind = Literal["full", "tier", "slice", "measurand", "parse_clean"]


class WitnessRow(Part):
    """A configuration that shows a direction, and both scores as [numerator, denominator]."""

    configuration: str
    a: Ratio
    b: Ratio


class NoiseRow(Part):
    """In how many of N+ and of N- the gap is no larger than the shares of outcomes of both models that batch
    shape alone changes, and where the verdict stands for it: a reversal needs a sign outside the floor in
    each direction, one order needs every sign outside it."""

    plus: Count
    minus: Count
    configurations: Annotated[tuple[str, ...], Field(description="Those counted in plus and minus.")]
    unmeasured: Annotated[Count, Field(description="Signs of models without a measured floor.")]
    standing: Standing


class ReadableRow(Part):
    """The counts of a pair per protocol: an unreadable answer is left out of its model's score. A
    configuration where a model gave no readable answer is not measured."""

    measured: Count
    plus: Count
    minus: Count
    ties: Count
    rho_flip: Share
    d1: bool | None
    d2: bool | None
    words: Sentence
    agrees: Annotated[
        bool, Field(description="Whether the majority, D1 and D2 are those of the intention-to-treat counts.")
    ]


class PairRow(Part):
    """Prop. 1 for one pair of models: a scores higher in N+, lower in N-, the same in N0 of |C|."""

    a: str
    b: str
    size: Annotated[int, Field(ge=1, description="|C|")]
    measured: Annotated[int, Field(ge=0, description="Configurations where both have a score.")]
    plus: Annotated[int, Field(ge=0, description="N+")]
    minus: Annotated[int, Field(ge=0, description="N-")]
    ties: Annotated[int, Field(ge=0, description="N0")]
    rho_flip: Annotated[Share, Field(description="min(N+, N-) / |C|")]
    ceiling: Annotated[Share, Field(description="floor((|C| - N0) / 2) / |C|")]
    disagreement: Annotated[Rounded | None, Field(description="2 N+ N- / (|C| (|C| - 1))")]
    d1: Annotated[
        bool | None, Field(description="No strict reversal; null while the envelope is incomplete.")
    ]
    d2: Annotated[bool | None, Field(description="One sign verdict; null while the envelope is incomplete.")]
    verdicts: Annotated[str, Field(description="The signs that occur.", pattern=r"^-?0?\+?$")]
    words: Annotated[Sentence, Field(description="The verdict of the counts, on these items.")]
    minority_bound: Annotated[
        Count | None,
        Field(
            description="Incomplete and no reversal seen: the most configurations that can go against the "
            "order, had the measured ones been drawn at random (hypergeometric, 95 %)."
        ),
    ]
    until_both: Annotated[
        Rounded | None,
        Field(
            description="Expected number of configurations, asked in random order, until both signs are "
            "seen; null without a reversal or while incomplete."
        ),
    ]
    per_protocol: ReadableRow
    unread: UnreadRow
    noise: NoiseRow
    evidence: EvidenceRow
    witness_plus: WitnessRow | None
    witness_minus: WitnessRow | None
    rows: Annotated[Digest, Field(description="Digest of the cells behind the counts.")]


class OrderingRow(Part):
    """An order of all models, best first, tied models together, and where it is seen."""

    order: tuple[tuple[str, ...], ...]
    configuration: str


class OrderingCounts(Part):
    """How many orders are reachable, counted in three ways."""

    possible: Count
    strict: Annotated[int, Field(ge=0, description="Orders without ties.")]
    weak: Annotated[int, Field(ge=0, description="Orders, ties allowed.")]
    by_name: Annotated[
        int, Field(ge=0, description="Orders after breaking ties by name, as the paper counts.")
    ]
    permutation_rate: Annotated[Share, Field(description="strict / possible")]
    measured: Count
    seen: tuple[OrderingRow, ...]


class ScopeRow(Part):
    """A part of the envelope and what it shows."""

    kind: ScopeKind
    name: str
    declared: Declared
    size: Count
    configurations: tuple[str, ...]
    pairs: tuple[PairRow, ...]
    orderings: OrderingCounts
    mismatch: Annotated[
        Rounded | None, Field(description="Share of pairs of configurations with different total orders.")
    ]
    mismatch_by_name: Annotated[
        Rounded | None, Field(description="The same after breaking ties by name, as the paper counts.")
    ]
    tau_r: Annotated[Rounded | None, Field(description="Mean Kendall tau-b over pairs of configurations.")]
    tau_r_dropped: Annotated[int, Field(ge=0, description="Configurations where all models tie.")]


class ChangeRow(Part):
    """Differences over `cells` pairs of cells, and their size: of two versions right - left, of two models
    a - b."""

    cells: Annotated[int, Field(ge=1)]
    mean: Rounded
    median_absolute: Rounded
    mean_absolute: Rounded
    max_absolute: Rounded
    over_5: Annotated[Count, Field(description="Cells that move by more than 5 points.")]
    over_10: Annotated[Count, Field(description="Cells that move by more than 10 points.")]


class MovedRow(Part):
    """A cell and its score on both sides, as [numerator, denominator]."""

    cell: str
    left: Ratio
    right: Ratio


class ReorderedRow(Part):
    """A configuration whose order of models differs, and the pairs whose strict order is reversed."""

    configuration: str
    left: tuple[tuple[str, ...], ...]
    right: tuple[tuple[str, ...], ...]
    flips: tuple[tuple[str, str], ...]


class PairedRow(Part):
    """The paired report of two precisions, or of two stores (SafetyRepro, app. O). All else is the same."""

    axis: Annotated[str | None, Field(description="Whose levels the sides are; null for two stores.")]
    rows: Annotated[Digest | None, Field(description="Digest of the cells behind it; null for two stores.")]
    left: str
    right: str
    unpaired: Annotated[Count, Field(description="Measured cells without a measured partner.")]
    overall: ChangeRow | None
    by_model: dict[str, ChangeRow]
    largest: tuple[MovedRow, ...]
    orderings: Annotated[Count, Field(description="Configurations in which every model is paired.")]
    same_order: Annotated[Count, Field(description="Of these, with exactly the same order, ties as ties.")]
    flips: Annotated[Count, Field(description="Strict orders of a pair that are reversed.")]
    reordered: tuple[ReorderedRow, ...]


class BetweenRow(Part):
    """Two models, cell by cell, a - b: what a scale probe reads (SafetyRepro, app. Q). A range is max - min
    of a model's scores over the configurations in which both are measured."""

    a: str
    b: str
    rows: Digest
    change: ChangeRow
    range_a: Share
    range_b: Share
    sdi_a: Rounded | None
    sdi_b: Rounded | None


class AgreementRow(Part):
    """The same responses of one model, scored under two levels of an axis (replicate 0 of every item, all
    configurations that the levels share). Descriptive."""

    model: str
    axis: str
    left: str
    right: str
    configurations: Count
    both: Annotated[Count, Field(description="Items x configurations that earn the point under both.")]
    left_only: Count
    right_only: Count
    neither: Count
    kappa: Annotated[
        Rounded | None,
        Field(description="Cohen's; null where both rules give every item the same score."),
    ]
    least: Annotated[Rounded | None, Field(description="Kappa of the configuration where it is least.")]
    greatest: Rounded | None
    rows: Digest


class TermRow(Part):
    """A term of a variance decomposition: a main effect, or a pair of factors for their interaction."""

    term: tuple[str, ...]
    sum_of_squares: Rounded
    df: Count
    eta2: Rounded
    omega2: Annotated[Rounded | None, Field(description="Null without residual degrees of freedom.")]


class DecompositionRow(Part):
    """Variance shares (SafetyRepro, app. F). On a balanced grid the four shares sum to one."""

    type: Literal["II", "III"]
    n: Annotated[Count, Field(description="Scores.")]
    balanced: bool
    terms: tuple[TermRow, ...]
    residual: Rounded
    residual_df: Count
    total: Rounded
    model: Annotated[Rounded, Field(description="eta^2 of the model.")]
    implementation: Annotated[Rounded, Field(description="Sum of eta^2 over the harness axes.")]
    interaction: Annotated[Rounded, Field(description="Sum of eta^2 over the two-way terms.")]
    unexplained: Rounded
    rho: Annotated[Rounded | None, Field(description="implementation / model.")]


class IntervalRow(Part):
    """A statistic and its central 95 % over resamples of the configurations; `dropped` are undefined."""

    point: Rounded | None
    low: Rounded | None
    high: Rounded | None
    dropped: Count


class ResampledSharesRow(Part):
    """Type II shares of the model and of all axes, and their ratio (SafetyRepro, app. G)."""

    model: IntervalRow
    implementation: IntervalRow
    rho: IntervalRow


class VarianceRow(Part):
    """The decomposition of one measurand's scores; `clean`: of its parse-clean cells."""

    measurand: str
    clean: bool
    second: Annotated[DecompositionRow, Field(description="Type II sums of squares.")]
    third: Annotated[DecompositionRow, Field(description="Type III: the same on a balanced grid.")]
    resampled: Annotated[
        ResampledSharesRow | None,
        Field(description="Over resamples of the configurations; null of parse-clean cells."),
    ]


class LevelGapRow(Part):
    """How far one model's score moves from one level of an axis to another, all else the same."""

    axis: str
    before: str
    after: str
    model: str
    change: ChangeRow


class MaximumRow(Part):
    """The largest value of a statistic over models and benchmarks, of rho over measurands and benchmarks
    (SafetyRepro, app. I)."""

    name: str
    slices: Annotated[Count, Field(description="Models x benchmarks, or measurands x benchmarks.")]
    interval: IntervalRow


FORMAT: Literal["gridc-certificate/3"] = "gridc-certificate/3"


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
        Field(description="Of the score, over units: see `intervals` of the benchmark."),
    ]
    on_units: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Where the units are few: of the score on these very units, new items of them."),
    ]
    rows: Annotated[Digest, Field(description="Digest of the item outcomes behind the counts.")]


class GapRow(Part):
    """The score of a minus the score of b, with its interval over units."""

    value: Rounded
    interval: tuple[Rounded, Rounded] | None
    on_units: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Where the units are few: of the gap on these very units, new items of them."),
    ]


class PairGapsRow(Part):
    """The gap of a pair in every configuration that both are measured in, and its mean over those."""

    a: str
    b: str
    mean: GapRow
    by_configuration: dict[str, GapRow]


class IntervalsRow(Part):
    """How the intervals of scores and gaps were made, and the gaps."""

    method: Annotated[Sentence, Field(description="The kind of interval.")]
    assumption: Annotated[Sentence, Field(description="What it rests on.")]
    level: Share
    unit: Annotated[UnitLevel, Field(description="What is independent.")]
    units: Count
    effective: Annotated[
        Rounded,
        Field(description="How many units of one size would tell as much; fewer than 20 are few."),
    ]
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
    interval: Annotated[tuple[Rounded, Rounded] | None, Field(description="Over units, as that of a score.")]
    on_units: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Where the units are few: of the rate on these very units, new items of them."),
    ]


class RateGapRow(Part):
    """A rate of model `a` minus that of model `b`, under one configuration."""

    a: str
    b: str
    configuration: str
    value: Rounded
    interval: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Over units, the same for both; null where there is none."),
    ]
    on_units: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(description="Where the units are few: of the gap on these very units, new items of them."),
    ]


class RateRow(Part):
    """A rate of its own, beside the score: in every complete cell, by model and configuration."""

    name: str
    what: Sentence
    formula: Annotated[str, Field(description="How it follows from the counts.")]
    models: dict[str, dict[str, RateCell]]
    gaps: Annotated[
        tuple[RateGapRow, ...], Field(description="Of each pair of models, under the anchor configuration.")
    ]


class EndingsRow(Part):
    """How the samples of a model on a benchmark ended, over all its cells. All but `waiting` stay in the
    denominator of every score; per protocol only `read` does."""

    model: str
    read: Annotated[Count, Field(description="An answer was read.")]
    unread: Annotated[Count, Field(description="A whole response in which no answer could be read.")]
    cut: Annotated[Count, Field(description="No readable answer, and the response ends at a token limit.")]
    cut_in_thought: Annotated[
        Count, Field(description="Of the cut ones those whose thought had not ended: no answer was begun.")
    ] = 0
    refused: Annotated[Count, Field(description="No readable answer, and the provider says it declined.")]
    failed: Annotated[
        dict[str, Count], Field(description="A call failed for good, by kind of failure: docs/api.md.")
    ]
    waiting: Annotated[Count, Field(description="Without an outcome yet.")]

    @property
    def samples(self) -> int:
        return self.read + self.unread + self.cut + self.refused + sum(self.failed.values()) + self.waiting


class ThoughtsRow(Part):
    """How the responses of a model ended in one configuration, and what they took: each that did not fail was
    answered, cut off in its thought or cut off in its answer. A response that was cut off can still be read,
    where its answer was closed before. Of a sample of several calls the last response counts."""

    model: str
    configuration: str
    answered: Annotated[Count, Field(description="Ended by themselves.")]
    cut_in_thought: Annotated[
        Count,
        Field(
            description="Ended at the token limit before the answer: the thought is open in the text, or the "
            "text is empty and its server counts tokens of a thought or shows it apart."
        ),
    ]
    cut_in_answer: Annotated[
        Count, Field(description="Ended at the token limit, and nothing shows that it was in a thought.")
    ]
    written: Annotated[
        int | None,
        Field(
            ge=0, description="Tokens of the responses, thoughts included; null where nothing counts them."
        ),
    ]
    thought: Annotated[
        int | None,
        Field(ge=0, description="Tokens of their thoughts; null where the server does not count them apart."),
    ]
    counted: Annotated[Count, Field(description="Responses whose tokens of thought are counted.")]

    @property
    def responses(self) -> int:
        return self.answered + self.cut_in_thought + self.cut_in_answer


class FormRow(Part):
    """How many responses of a model keep the form that one configuration asks for, an option in it where the
    item has options. Of several calls the last response counts. A failed call has no response."""

    model: str
    configuration: str
    form: AnswerFormName
    responses: Count
    kept: Annotated[Count, Field(description="At the first request.")]
    kept_again: Annotated[Count, Field(description="Only when asked again.")] = 0
    by_phrases: Annotated[
        Count, Field(description="Not in the form, and read by phrases as `out_of_form` says.")
    ] = 0

    @property
    def out_of_form(self) -> int:
        """Responses that never kept the form, whether or not anything was read of them."""
        return self.responses - self.kept - self.kept_again


class DoubtfulRow(Part):
    """Responses of a model in one configuration whose first paragraph alone reads as another option than the
    whole, which counts. They are for a person to look at."""

    model: str
    configuration: str
    several: Annotated[Count, Field(description="Responses of several paragraphs that were read.")]
    items: Annotated[tuple[str, ...], Field(description="The items where the two readings differ.")]


class BenchmarkRow(Part):
    """One benchmark: its envelope, configuration by configuration, and its scopes, the full one first."""

    benchmark: str
    items: Count
    held: ItemsHeld = 0
    distinct: DistinctQuestions = 0
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
    estimand: Annotated[
        Sentence, Field(description="What a score is the mean of, and what an unread answer is in it.")
    ]
    intervals: IntervalsRow
    envelope: tuple[ConfigurationRow, ...]
    audit: Annotated[
        BenchmarkAuditRow | None,
        Field(description="Null where people labelled no response of it."),
    ]
    rates: tuple[RateRow, ...]
    endings: tuple[EndingsRow, ...]
    thoughts: Annotated[
        tuple[ThoughtsRow, ...],
        Field(
            description="A row for each model and configuration that was told whether or how much to think, "
            "whose tokens of thought were counted, or of which a response was cut off in its thought."
        ),
    ] = ()
    forms: Annotated[
        tuple[FormRow, ...],
        Field(description="A row for each model and configuration that was asked for a form of answers."),
    ] = ()
    doubtful: Annotated[
        tuple[DoubtfulRow, ...],
        Field(description="A row for each model and configuration with responses that two readings part."),
    ] = ()
    scopes: tuple[ScopeRow, ...]
    tests: tuple[PairTestsRow, ...]
    ordering_claims: tuple[OrderingClaimRow, ...]
    standings: Annotated[
        StandingsRow | None,
        Field(
            description="Null of a single model, where the score nearest to a target is the best one, and "
            "while the run is incomplete."
        ),
    ]
    between: tuple[BetweenRow, ...]
    variance: tuple[VarianceRow, ...]
    gaps: tuple[LevelGapRow, ...]
    agreements: tuple[AgreementRow, ...]


class StatisticCell(Part):
    """A statistic of a model under a configuration, and its interval over units. `note` says why one is null,
    or that few units have the interval."""

    value: InItsUnit | None
    interval: tuple[InItsUnit, InItsUnit] | None
    responses: Annotated[Count, Field(description="Over how many it is taken.")]
    asked: Annotated[Count, Field(description="Of how many; its outcomes leave the others out.")]
    method: Annotated[Sentence, Field(description="How the interval is made.")]
    note: Sentence
    rows: Annotated[Digest, Field(description="Digest of what was read.")]


class StatisticRow(Part):
    """A [[statistic]] of the spec, by model and configuration; of axes that it takes together a configuration
    names the others."""

    id: str
    kind: StatisticKind
    what: str
    benchmarks: tuple[str, ...]
    models: dict[str, dict[str, StatisticCell]]


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
            description="open: the run is not finished, a verdict was open from the start, the statistic is "
            "not defined somewhere, or its limits lie on both sides of the bound."
        ),
    ]
    kept: tuple[KeptRow, ...]
    statistic: str | None
    value: Annotated[Rounded | None, Field(description="The worst value of the statistic.")]
    at: Annotated[str | None, Field(description="Where it is found.")]
    by: Annotated[
        CriterionRule | None,
        Field(
            description="What decided a bound: one-sided 95 % limits; or values, on these items alone, where "
            "some that counts has no limits or the stamp is older than limits. Null of verdicts, and where "
            "something is missing."
        ),
    ] = None
    limit: Annotated[
        Rounded | None,
        Field(
            description="The limit that decides, or leaves it open: the furthest towards the bound and "
            "beyond. Of a failure at 95 % for all values together."
        ),
    ] = None
    limit_at: Annotated[str | None, Field(description="Whose limit it is.")] = None
    rows: Annotated[Digest, Field(description="Digest of the cells that were read.")]


class UncomputedRow(Part):
    """What the spec states and this version of gridc does not compute."""

    table: Annotated[str, Field(description="Of the spec: hypothesis, family, fork, curve, ...")]
    id: Annotated[str, Field(description="Its id; in `analysis`, its key.")]
    what: Sentence


class AnchorRow(Part):
    """How strongly the stamp is tied to a time or a person, from evidence that was checked where it was made,
    against whom its maker named."""

    strength: Strength
    detail: Sentence
    before_first_call: Annotated[
        bool | None,
        Field(
            description="Whether a third party dates it before the first answer of the study's models to its "
            "items that is known from the store, under whatever stamp."
        ),
    ]


class ResultsAnchorRow(Part):
    """How strongly the record of a finished run's results is tied to a time or a person, as `AnchorRow`."""

    strength: Strength
    detail: Sentence


class Certificate(Part):
    """A study's certificate. All of it is intention-to-treat: an unreadable answer scores 0, or `credit`. The
    counts of a tally also give the per-protocol score: (correct - credit (trials - parsed)) / (parsed scale).
    """

    format: Literal["gridc-certificate/3"]
    study: str
    title: str
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    registered: Annotated[
        Digest, Field(description="The lock's stamp: another one where the study departs from it.")
    ]
    supersedes: Annotated[tuple[Digest, ...], Field(description="Stamps that the lock's replaced.")]
    recorded: Annotated[
        RecordedRuns | None,
        Field(description="The logs that the answers are read from; null where gridc asked."),
    ]
    anchor: Annotated[AnchorRow, Field(description="Of the lock.")]
    results_anchor: Annotated[
        ResultsAnchorRow | None, Field(description="Of the results; null where nothing ties them.")
    ]
    gridc: Annotated[str, Field(description="The versions of gridc that ran the study.")]
    models: dict[str, str | None]
    complete: bool
    answered: Count
    calls: Count
    results: Annotated[Digest, Field(description="The results digest.")]
    near_ties: Annotated[int, Field(ge=0, description="Token choices that a tiny change would alter.")]
    calls_before_stamp: Annotated[
        int, Field(ge=0, description="Calls that were answered before the stamp was made.")
    ]
    earlier: Annotated[
        tuple[EarlierAnswersRow, ...], Field(description="Data that came before the study's own.")
    ] = ()
    outcome: Annotated[Literal["itt"], Field(description="Intention-to-treat.")]
    statements: tuple[Sentence, ...]
    verdicts: Annotated[
        VerdictsRow | None,
        Field(description="Null while the run is incomplete, and where an older gridc gave none."),
    ] = None
    noise_floors: tuple[FloorRow, ...]
    benchmarks: tuple[BenchmarkRow, ...]
    breakdowns: Annotated[
        tuple[BreakdownRow, ...],
        Field(description="Scores by category of items and lengths of answers, of three models or more."),
    ] = ()
    statistics: tuple[StatisticRow, ...] = ()
    hypotheses: tuple[HypothesisRow, ...]
    falsifications: tuple[FalsificationRow, ...]
    maxima: tuple[MaximumRow, ...]
    largest_rho: Annotated[
        MaximumRow | None, Field(description="Of every measurand; null where none has a rho.")
    ] = None
    precisions: tuple[PairedRow, ...]
    uncomputed: tuple[UncomputedRow, ...]
