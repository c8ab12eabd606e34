"""The scorecard: each model's rates under every configuration, what a change of configuration costs, and
how the study was carried out, line by line with its evidence (Safety Under Scaffolding, app. F). It has
no composite number."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Declared, Id
from gridc.schema.hypotheses import HypothesisRow, NumberNeededRow
from gridc.schema.rows import Count, Digest, Part, Rounded, Share

FORMAT: Literal["gridc-scorecard/1"] = "gridc-scorecard/1"

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
    question: str
    holds: Held
    said: str
    counts: dict[str, Rounded | int | None]
    evidence: str


class IntegrityRow(Part):
    """A change of configuration measured in two ways on the same answers (table 16)."""

    model: str
    benchmark: str
    change: Annotated[dict[str, str], Field(description="What differs from the reference, by axis.")]
    left: Annotated[str, Field(description="The first way of measuring.")]
    right: str
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

    threat: str
    met: Annotated[str, Field(description="What the study does about it.")]
    left: Annotated[str, Field(description="What remains, as the evidence shows it.")]
    counts: dict[str, int]


class CheckRow(Part):
    """One recommendation for a report on safety (table 19), and whether this study follows it."""

    id: Id
    recommendation: str
    holds: Held
    said: str
    counts: dict[str, int]


class ClaimRow(Part):
    """What is claimed, how far it reaches, and since when it has been stated."""

    id: str
    claim: str
    stated: Annotated[
        Stated,
        Field(
            description="before_stamp: it stands in the lock as it is; changed_after, added_after: the "
            "lock has it "
            "otherwise, or not; post_hoc: the spec says so; always: gridc makes it of every study."
        ),
    ]
    answer: str
    cases: Annotated[Count, Field(description="Items that it rests on.")]
    models: Count
    configurations: Count
    reach: Annotated[str, Field(description="Of what it is claimed, and assuming what.")]


class DeviationLine(Part):
    """An entry of the deviation log."""

    id: str
    element: str
    reason: str
    phase: str | None
    impact: str | None
    resolved: bool
    paths: tuple[str, ...]


class Scorecard(Part):
    """A study's scorecard."""

    format: Literal["gridc-scorecard/1"]
    study: Id
    title: str
    gridc: str
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    registered: Annotated[Digest, Field(description="The lock's stamp.")]
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
    deviations: tuple[DeviationLine, ...]
    observed: Annotated[tuple[str, ...], Field(description="What the run saw that departs from its plan.")]
    not_varied: tuple[str, ...]
