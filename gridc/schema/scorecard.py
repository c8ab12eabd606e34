"""The scorecard of a study, and several studies reported together.

The scorecard has each model's rates under every configuration, what a change of configuration costs, and how
the study was carried out, line by line with its evidence (Safety Under Scaffolding, app. F). It has no
composite number.

Several studies reported together have one document: which sample each claim rests on, what the studies share,
and one error budget.
"""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Declared, Id
from gridc.schema.certificate import PairedRow
from gridc.schema.deviation import DeviationPaths, EarlierAnswersRow
from gridc.schema.hypotheses import HypothesisRow, NumberNeededRow
from gridc.schema.recorded import RecordedRuns
from gridc.schema.rows import Count, Digest, Part, Rounded, Sentence, Share
from gridc.statistics.reproducibility import Verdict

FORMAT: Literal["gridc-scorecard/2"] = "gridc-scorecard/2"

RoundedEnds = tuple[Rounded, Rounded]
Held = Literal["yes", "partly", "no", "not_measured", "not_applicable"]
"""partly: the evidence shows some of it; not_measured: nothing in store, lock or anchors says;
not_applicable: the study has nothing that the line is about."""
Stated = Literal["before_stamp", "changed_after", "added_after", "post_hoc", "always"]
Kept = Literal["same", "reversed", "only_left", "only_right", "neither"]
"""same: both intervals lie on one side of 0; reversed: on either side of it; only_...: one of them holds 0;
neither: both do."""


class ScoreChangeRow(Part):
    """The difference from the reference, in points of the better direction, with its 95 % interval."""

    difference: Annotated[Rounded, Field(description="Negative: worse than the reference.")]
    interval: RoundedEnds | None
    number_needed: NumberNeededRow
    per_protocol: Annotated[
        Rounded | None,
        Field(description="The difference where unreadable answers are left out of both scores."),
    ]
    per_protocol_interval: RoundedEnds | None
    rows: Digest


class MatrixRow(Part):
    """One cell: a model's rate on a benchmark under a configuration."""

    benchmark: str
    configuration: str
    levels: Annotated[
        dict[str, str],
        Field(description="What differs from the reference, by axis; empty: it is the reference."),
    ]
    points: Annotated[Rounded, Field(description="Sum of the scores.")]
    trials: Count
    rate: Annotated[Share | None, Field(description="points / trials; null while the cell is incomplete.")]
    interval: Annotated[RoundedEnds | None, Field(description="95 %, over units.")]
    readable: Annotated[
        Count | None, Field(description="Readable answers; null where nothing is read from text.")
    ]
    per_protocol: Share | None
    change: Annotated[
        ScoreChangeRow | None,
        Field(description="Null for the reference, where a cell is incomplete, and under a target."),
    ]
    rows: Digest


class SensitivityRow(Part):
    """How sensitive a model is to the configuration, over all benchmarks (table 40)."""

    cells: Count
    share: Annotated[
        Rounded | None,
        Field(
            description="eta squared of the configuration among single answers; null where it is not defined."
        ),
    ]
    mean_range: Annotated[
        Rounded, Field(description="Mean over benchmarks of the greatest rate less the least.")
    ]
    max_range: Rounded
    widest: Annotated[str, Field(description="The benchmark with the widest range.")]
    rate: Annotated[
        Share | None,
        Field(
            description="Share of all its answers that were good ones: it depends on how many items each "
            "benchmark has. Null where a benchmark has a target, under which no answer is good by itself."
        ),
    ]
    rows: Digest


class ModelScore(Part):
    """One model."""

    model: str
    note: str | None
    reference: Annotated[dict[str, str], Field(description="The reference configuration, by benchmark.")]
    matrix: tuple[MatrixRow, ...]
    sensitivity: Annotated[SensitivityRow | None, Field(description="Null while no cell is complete.")]


class MethodRow(Part):
    """One line of the methodology stamp. `counts` are the numbers in `said`; `evidence` says where they
    come from."""

    id: Id
    question: Sentence
    holds: Held
    said: Sentence
    counts: dict[str, Rounded | int | None]
    evidence: Sentence


class IntegrityRow(Part):
    """A change of configuration measured in two ways on the same answers (table 16)."""

    model: str
    benchmark: str
    change: Annotated[dict[str, str], Field(description="What differs from the reference, by axis.")]
    left: Annotated[Sentence, Field(description="The first way of measuring.")]
    right: Sentence
    by_left: Rounded
    left_interval: RoundedEnds | None
    by_right: Rounded
    right_interval: RoundedEnds | None
    kept: Kept
    rows: Digest
    n: Annotated[Count, Field(description="Samples in those rows.")]


class WithoutRow(Part):
    """The curve, and the study's own specification, without one model (table 18)."""

    model: str
    odds_ratio: Annotated[Rounded | None, Field(description="Of the study's own choices; null: no fit.")]
    interval: RoundedEnds | None
    p: Share | None
    median: Annotated[Rounded | None, Field(description="Median odds ratio of the curve.")]


class CurveRow(Part):
    """A specification curve for one comparison, in odds ratios of `level` against `reference`."""

    curve: str
    declared: Declared
    hypothesis: str
    level: str
    reference: str
    stated: Annotated[int, Field(ge=0, description="Specifications of the full product.")]
    run: Annotated[Count, Field(description="Of these, how many were run; the store answers no others.")]
    fitted: Count
    median: Rounded | None
    quartiles: RoundedEnds | None
    same_side: Annotated[Share | None, Field(description="Share on the median's side of 1.")]
    below: Annotated[Share | None, Field(description="Share that is significantly below 1, each at `alpha`.")]
    above: Share | None
    alpha: float
    permutation_p: Annotated[
        Share | None,
        Field(description="Of a median as far from 1, refitting the whole curve; null: no draws."),
    ]
    without: tuple[WithoutRow, ...]
    rows: Digest


class ThreatRow(Part):
    """A threat to validity: what was done against it, and what the evidence leaves open (table 17)."""

    threat: Sentence
    met: Annotated[Sentence, Field(description="What the study does about it.")]
    left: Annotated[Sentence, Field(description="What remains, as the evidence shows it.")]
    counts: dict[str, int]


class CheckRow(Part):
    """One recommendation for a report on safety (table 19), and whether this study follows it."""

    id: Id
    recommendation: Sentence
    holds: Held
    said: Sentence
    counts: dict[str, int]


class ClaimRow(Part):
    """What is claimed, how far it reaches, and since when it has been stated."""

    id: str
    claim: Sentence
    stated: Annotated[
        Stated,
        Field(
            description="before_stamp: it stands in the lock as it is; changed_after, added_after: the "
            "lock has it "
            "otherwise, or not; post_hoc: the spec says so; always: gridc makes it of every study."
        ),
    ]
    answer: Sentence
    cases: Annotated[Count, Field(description="Items that it rests on.")]
    models: Count
    configurations: Count
    reach: Annotated[Sentence, Field(description="Of what it is claimed, and assuming what.")]


class DeviationWithPhase(DeviationPaths):
    """A deviation, and when it was decided."""

    phase: str | None


class Scorecard(Part):
    """A study's scorecard."""

    format: Literal["gridc-scorecard/2"]
    study: Id
    title: str
    answer: Annotated[Sentence, Field(description="What came of the study, in a sentence or two.")]
    differences: Annotated[
        tuple[Sentence, ...],
        Field(description="Of every two models whether they differ, and what other choices change."),
    ] = ()
    warnings: Annotated[
        tuple[Sentence, ...], Field(description="The checks that speak against the numbers.")
    ] = ()
    gridc: Annotated[str, Field(description="The versions of gridc that ran the study.")]
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    registered: Annotated[Digest, Field(description="The lock's stamp.")]
    recorded: Annotated[
        RecordedRuns | None,
        Field(description="The logs that the answers are read from; null where gridc asked."),
    ]
    results: Digest
    complete: Annotated[bool, Field(description="Whether the run was; before, every number is interim.")]
    level: Annotated[Share, Field(description="Of every interval, each alone.")]
    lower_is_better: Annotated[
        dict[str, bool], Field(description="By benchmark: whether a lower rate is the better one.")
    ]
    targets: Annotated[
        dict[str, Share],
        Field(description="By benchmark: the rate of which the nearest is best; no change is given there."),
    ] = {}  # noqa: RUF012
    methodology: tuple[MethodRow, ...]
    models: tuple[ModelScore, ...]
    hypotheses: Annotated[tuple[HypothesisRow, ...], Field(description="As in the certificate.")]
    curves: tuple[CurveRow, ...]
    integrity: tuple[IntegrityRow, ...]
    threats: tuple[ThreatRow, ...]
    checklist: tuple[CheckRow, ...]
    claims: tuple[ClaimRow, ...]
    deviations: tuple[DeviationWithPhase, ...]
    earlier: Annotated[
        tuple[EarlierAnswersRow, ...], Field(description="Data that came before the study's own.")
    ] = ()
    observed: Annotated[
        tuple[Sentence, ...], Field(description="What the run saw that departs from its plan.")
    ]
    not_varied: tuple[str, ...]


STUDIES_FORMAT: Literal["gridc-studies/1"] = "gridc-studies/1"


class ReportedStudy(Part):
    """One of the studies. `name` is its id, with the first letters of its stamp where another has that id."""

    name: str
    title: str
    purpose: str
    registered: Annotated[Digest, Field(description="The lock's stamp.")]
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    strength: Annotated[str, Field(description="What ties the lock to a time, as far as it was checked.")]
    stamped_first: Annotated[Held, Field(description="Whether it was stamped before its first call.")]
    results: Annotated[Digest, Field(description="The results digest.")]
    complete: bool


class StudySample(Part):
    """What one study asked of one benchmark, and what rests on it."""

    study: str
    benchmark: str
    items: Count
    unit: Annotated[str, Field(description="What is taken as independent.")]
    units: Count
    models: Count
    configurations: Count
    answers: Annotated[Count, Field(description="Outcomes of items, replicates counted.")]
    claims: Annotated[tuple[str, ...], Field(description="The hypotheses whose `where` selects it, by id.")]


class StudyClaim(ClaimRow):
    """A line of a study's claims (`scorecard.json`)."""

    study: str


class SharedItems(Part):
    """Two samples of different studies: how many questions are in both, by the parts of a question that both
    know, whatever counts as right."""

    a: tuple[str, str]
    b: tuple[str, str]
    a_items: Count
    b_items: Count
    shared: Count
    unmatched: Annotated[Count, Field(description="Items of either that do not say what they ask.")]
    by: tuple[str, ...]


class PairedStudies(Part):
    """Two studies that ran cells of the same names: what differs between them, and by how much scores do.
    `same_items` of the `cells` in both asked the same items; only those are compared."""

    a: str
    b: str
    cells: Count
    same_items: Count
    differs: Annotated[tuple[str, ...], Field(description="Paths of the stamped specs and inputs.")]
    paired: PairedRow | None


class BudgetLine(Part):
    """A level that a study declares: of a family, of one hypothesis, or of all rankings without a family.
    `holds` says of what it is: that some decided verdict is false, or the share of those that are."""

    study: str
    group: str
    correction: str
    alpha: Share
    claims: Count
    holds: Literal["any_false", "share_false"]


class CorrectedClaim(Part):
    """A verdict, as its study has it and as Holm's method over the claims of all studies has it. Null where
    nothing was tested; it counts with p = 1."""

    study: str
    id: Id
    purpose: str
    stated: Annotated[Stated, Field(description="As in the study's claims.")]
    verdict: Verdict
    support: Share | None
    refute: Share | None
    support_over_all: Share | None
    refute_over_all: Share | None
    verdict_over_all: Verdict


class StudiesTogether(Part):
    """Several studies in one report. Nothing is pooled: every number is of one study."""

    format: Literal["gridc-studies/1"]
    gridc: str
    studies: tuple[ReportedStudy, ...]
    samples: tuple[StudySample, ...]
    claims: tuple[StudyClaim, ...]
    shared: tuple[SharedItems, ...]
    pairs: tuple[PairedStudies, ...]
    budget: tuple[BudgetLine, ...]
    declared: Annotated[
        float, Field(description="The sum of the levels: a bound on the chance of any false verdict where "
        "every line holds that.")
    ]  # fmt: skip
    alpha: Annotated[
        Share | None, Field(description="The smallest level of any line, at which all are held together.")
    ]
    corrected: tuple[CorrectedClaim, ...]
