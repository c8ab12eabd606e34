"""What became of a hypothesis: rows of the certificate."""

from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from gridc.schema.inference import Prediction
from gridc.schema.rows import (
    Count,
    Digest,
    Finite,
    InItsUnit,
    Part,
    Rounded,
    Sentence,
    Share,
    Tier,
    Unbounded,
    Unwritten,
)
from gridc.statistics.reproducibility import Verdict

Standing = Literal["outside", "within", "not_measured"]
"""How a verdict compares with the noise floor: outside it, within it, or the floor was not measured."""

FailureCode = Literal[
    "rows", "constant", "collinear", "separated", "saturated", "clusters", "estimator", "not_a_mean",
    "graded", "library", "few_units", "largest_change", "copies",
]  # fmt: skip
"""Why there is no number.

rows         no item is asked under all levels that are compared, all else the same
constant     every outcome is the same
collinear    the covariates do not tell the levels apart
separated    a covariate predicts outcomes without an error: the odds are infinite
saturated    as many coefficients as rows
clusters     too few independent units, or none of them differs in what is tested
estimator    the spec declares none
not_a_mean   the outcome is no mean over items, such as a bias score
graded       the estimator takes outcomes of 0 and 1 alone
library      the library that the estimator needs is not installed
few_units    there is an estimate, of too few or too unequal units to decide by
largest_change  a unit changed by more than the margin of the spec says that one can
copies       the spec takes copies of one question as independent of each other
"""

UnitRange = Annotated[
    tuple[Unbounded, Unbounded] | None,
    Field(description="95 %, over units. A null end is infinite."),
]


class RankingRow(Part):
    """How the configurations spoke to an order of models."""

    order: tuple[str, ...]
    strength: Tier
    observed: Annotated[Verdict, Field(description="By the counts alone, on these items.")]
    agree: Count
    contradict: Count
    tied: Count
    missing: Count
    against: str | None
    standings: Unwritten[tuple[Standing, ...]] = ()
    """Of the steps that carry the verdict: the reversed ones where any is, else all that agree."""
    support: Unwritten[float] = 1.0
    """p of "the order holds in every configuration beyond these items", of this ranking alone."""
    refute: Unwritten[float] = 1.0
    """p of "a step of it is reversed somewhere", of this ranking alone."""
    untested: Unwritten[tuple[str, ...]] = ()
    """The benchmarks whose direction is a target: of distances from a target there is no evidence."""


class StatisticContrastRow(Part):
    """A statistic under a level and under its reference, over the answers that both have in common."""

    statistic: str
    what: Annotated[str, Field(description="How it is computed.")]
    unit: Annotated[str, Field(description="%: shares, as fractions of 1; empty: a plain number.")]
    level: str
    reference: str
    predicts: Prediction
    margin: Annotated[float | None, Field(description="In the unit; of shares a fraction of 1.")]
    value: InItsUnit | None
    reference_value: InItsUnit | None
    difference: InItsUnit | None
    interval: Annotated[tuple[InItsUnit, InItsUnit] | None, Field(description="95 %, over units.")]
    method: Annotated[Sentence, Field(description="How the interval is made.")]
    note: Annotated[Sentence, Field(description="Why there is no difference or interval, or few units.")]
    samples: Annotated[Count, Field(description="Answers under both levels.")]
    rows: Annotated[Digest, Field(description="Digest of what was read.")]
    support: Unwritten[float] = 1.0
    """p of what is predicted, of this hypothesis alone."""
    refute: Unwritten[float] = 1.0
    """p of what refutes it."""


class MarginRow(Part):
    """Two one-sided tests at a margin."""

    pp: Annotated[float, Field(description="The margin, in percentage points.")]
    p: Annotated[Rounded, Field(description="Of: the difference lies inside. Uncorrected.")]
    holds: Annotated[bool, Field(description="Whether that is at most the level of the hypothesis.")]


class PairsRow(Part):
    """What a per-protocol difference is of."""

    compared: Annotated[
        Count,
        Field(
            description="Pairs (an item of a model, all else the same) with a readable answer under every "
            "level that is compared. Only these count, each weighing the same under every level."
        ),
    ]
    asked: Annotated[Count, Field(description="Pairs that were asked.")]
    readable: Annotated[Share, Field(description="Of all answers under the level, the readable share.")]
    reference_readable: Share


class RateChangeRow(Part):
    """Two rates on the same items, under a level and under the reference."""

    part: Annotated[
        str | None, Field(description="Of which benchmark, or level of `by`; null: all together.")
    ]
    level: str
    reference: str
    samples: Annotated[Count, Field(description="That count under the level.")]
    units: Annotated[Count, Field(description="Groups of items that are independent of each other.")]
    rate: Annotated[Finite, Field(description="Under the level; null where no sample counts.")]
    reference_rate: Finite
    difference: Annotated[Finite, Field(description="rate less reference_rate: the risk difference.")]
    interval: UnitRange
    margins: Annotated[tuple[MarginRow, ...], Field(description="The stated one first, then sensitivity.")]
    pairs: Annotated[PairsRow | None, Field(description="Per protocol; null by intention to treat.")] = None
    limits: Annotated[
        tuple[Unbounded, Unbounded] | None,
        Field(
            description="Of the tests at the margins, each missed with probability alpha: inside a margin "
            "exactly where its p is at most alpha. Null without a margin."
        ),
    ] = None
    no_interval: Unwritten[str] = ""
    """Why there is none."""
    method: Unwritten[str] = ""
    """What decides at the margin, unless `untested` says why nothing does."""
    untested: Unwritten[str] = ""
    unchanged: Unwritten[float | None] = None
    """p at the stated margin if no answer had changed."""


class SpreadRow(Part):
    """How evenly units carry an estimate."""

    effective: Annotated[
        Rounded,
        Field(description="How many equal units would tell as much (Carter, Schnepel & Steigerwald 2017)."),
    ]
    largest: Annotated[Rounded, Field(description="Share of the information that one unit has.")]
    enough: Annotated[bool, Field(description="Whether a test of so many decides.")]


class OddsRow(Part):
    """The odds of a level against those of the reference (of a trend: for one dose more), adjusted for the
    covariates."""

    log_odds: Rounded
    error: Annotated[Rounded, Field(description="Standard error of log_odds, by the estimator.")]
    z: Rounded
    p: Annotated[Rounded, Field(description="Two-sided, uncorrected.")]
    ratio: Unbounded
    interval: Annotated[
        tuple[Unbounded, Unbounded],
        Field(description="Of the ratio, 95 %, by the distribution that p is of: without 1 where p <= .05."),
    ]
    freedom: Annotated[
        Finite,
        Field(
            description="Degrees of freedom of Student's t that z is compared with: Satterthwaite's, of "
            "units that react each in its own way. Null for a random intercept, where z is normal."
        ),
    ] = None
    spread: Annotated[SpreadRow | None, Field(description="Null for a random intercept.")] = None
    agrees: Annotated[
        Finite,
        Field(
            description="Where no unit goes against it: one-sided p of Gaffke's test, which has to agree, so "
            "that p is no smaller than twice this and the interval no narrower. Null where some do."
        ),
    ] = None


class NumberNeededRow(Part):
    """How many more answers until one more is worse (harm) or better (benefit)."""

    kind: Literal["harm", "benefit", "none"]
    number: Annotated[Unbounded, Field(description="1 / |difference|; null where it is infinite.")]
    displayed: Annotated[int | None, Field(description="Rounded as `[analysis] nnh` says.")]
    low: Annotated[Finite, Field(description="Of the interval, where that of the difference excludes 0.")]
    high: Annotated[Finite, Field(description="Null with a `low`: infinite.")]
    harm: Annotated[
        Finite,
        Field(
            description="Where the interval of the difference holds 0 (Altman 1998): from this number needed "
            "to harm, through infinity, to `benefit`. Null: infinite, or not of this form."
        ),
    ]
    benefit: Finite


class FlipsRow(Part):
    """How single answers moved from the reference to the level."""

    gained: Annotated[Count, Field(description="From 0 to 1.")]
    lost: Annotated[Count, Field(description="From 1 to 0.")]
    same: Count
    churn: Annotated[Rounded, Field(description="Share that moved either way.")]
    p: Annotated[
        Finite, Field(description="McNemar, exact, two-sided; null where answers of one unit repeat.")
    ]


class RecoveryRow(Part):
    """Which share of the change from `control` to the reference a level takes back, and what is left."""

    control: str
    loss: Annotated[RateChangeRow, Field(description="The control against the reference.")]
    left: Annotated[RateChangeRow, Field(description="The level against the control.")]
    share: Annotated[
        Finite,
        Field(
            description="(level - reference) / (control - reference); null where the interval of the loss "
            "holds 0, or there is none."
        ),
    ]
    interval: UnitRange
    fieller: Annotated[
        UnitRange,
        Field(description="Fieller's (1954); null where units have unequal numbers of samples in the arms."),
    ]
    number_needed: Annotated[
        NumberNeededRow | None, Field(description="Of `left`: the residual number needed to harm.")
    ]
    no_interval: Unwritten[str] = ""
    """Why there is none: below `clustered_logit.FLOOR` effective units both are too short (docs/sizes.md)."""


class ContrastRow(Part):
    """A level against the reference."""

    change: Annotated[RateChangeRow, Field(description="As the spec reads unreadable answers.")]
    other: Annotated[
        RateChangeRow | None,
        Field(description="By the other reading: per protocol, or intention to treat. Null if undefined."),
    ]
    divergence: Annotated[Finite, Field(description="Difference by intention to treat less per protocol.")]
    odds: Annotated[OddsRow | None, Field(description="Null where there is no fit: see `failure`.")]
    risk_ratio: Annotated[Finite, Field(description="Null where a rate is 0.")]
    risk_ratio_interval: UnitRange
    number_needed: Annotated[
        NumberNeededRow | None,
        Field(description="Null unless the spec asks, and the outcome has a good side."),
    ]
    flips: Annotated[
        FlipsRow | None,
        Field(description="Null where an item is asked several times or earns a part of a point."),
    ]
    parts: Annotated[
        tuple[RateChangeRow, ...],
        Field(description="The same on each benchmark, where there are several; of an interaction, in each "
              "part of `by`. Not tests of their own: exploratory."),
    ]  # fmt: skip
    recovery: Annotated[
        RecoveryRow | None, Field(description="Null unless the hypothesis states a `control`.")
    ]


class TestRow(Part):
    """The test of the estimator. With errors by leaving out units, `wald_z` is compared with Student's t of
    `freedom`, and `box_f`, of `df` coefficients, with an F of `above` and `freedom`; of a random intercept z
    with a normal and the likelihood ratio with chi-squared. Where the odds of a level name `agrees`, p is no
    smaller than their checks allow."""

    name: Literal["wald_z", "box_f", "likelihood_ratio"]
    statistic: Rounded
    df: Annotated[int, Field(ge=1)]
    p: Annotated[Rounded, Field(description="Two-sided, uncorrected.")]
    freedom: Finite = None
    spread: Annotated[
        SpreadRow | None,
        Field(description="Of several coefficients, of the one that is carried least evenly."),
    ]
    above: Annotated[Finite, Field(description="Of `box_f`: the degrees of freedom of its numerator.")] = None

    @property
    def decides(self) -> bool:
        """Whether there are units enough for a verdict."""
        return self.spread is None or self.spread.enough


class TrendRow(Part):
    """Rates along doses, and the tests by rank."""

    doses: tuple[float, ...]
    rates: dict[str, Rounded]
    isotonic: Annotated[
        dict[str, Rounded], Field(description="The nearest rates that move only as predicted.")
    ]
    page_p: Annotated[Rounded, Field(description="One-sided; levels are ranked within each unit.")]
    jonckheere_terpstra_p: Annotated[
        Rounded, Field(description="One-sided; takes levels as independent groups, which they are not.")
    ]


class FailureRow(Part):
    """Why there is no estimate."""

    code: Annotated[FailureCode, WithJsonSchema({"type": "string"})]
    words: Sentence


class EffectRow(Part):
    """What the rows say of an effect."""

    outcome: Annotated[str, Field(description="The rate that is compared.")]
    reading: Annotated[
        Literal["itt", "pp"], Field(description="itt: unreadable answers count; pp: they are left out.")
    ]
    estimator: Literal["none", "cluster_logit", "glmm"]
    adjusted_for: Annotated[tuple[str, ...], Field(description="Covariates of the estimator: main effects.")]
    samples: Annotated[Count, Field(description="That count, under every level of the axis that is fitted.")]
    units: Count
    left_out: Annotated[
        Count,
        Field(description="Samples whose item is not asked under every compared level, all else the same."),
    ]
    contrasts: tuple[ContrastRow, ...]
    test: TestRow | None
    trend: TrendRow | None
    failure: FailureRow | None
    rows: Annotated[Digest, Field(description="Digest of the rows that were read.")]
    support: Unwritten[float] = 1.0
    """p of what this hypothesis predicts, alone; 1 where nothing is tested."""
    refute: Unwritten[float] = 1.0
    """p of what refutes it, alone."""

    @property
    def tested(self) -> bool:
        """Whether any test has a p-value below 1, before it is corrected."""
        return min(self.support, self.refute) < 1


class HypothesisRow(Part):
    """A hypothesis and its verdict."""

    id: str
    kind: str
    claim: str | None
    family: str | None
    correction: Annotated[
        Literal["holm", "bh", "none"], Field(description="How the p-values are corrected over `members`.")
    ]
    alpha: Annotated[float, Field(description="The level that a corrected p-value is compared with.")]
    members: Annotated[
        int,
        Field(
            ge=1,
            description="Claims, for and against, that can be false at once (bh: all of them): of its "
            "family, of all rankings without one, else its own.",
        ),
    ]
    verdict: Annotated[
        Verdict,
        Field(description="By the rule of its kind, or the strength of evidence that the spec asks for."),
    ]
    otherwise: Annotated[
        Verdict | None,
        Field(
            description="Of an effect, by the other reading of unreadable answers. Null for a ranking, where "
            "every answer is readable, and while the run is incomplete."
        ),
    ]
    support: Annotated[
        Share | None,
        Field(
            description="p of what it predicts, corrected. Null while the run is incomplete, and where "
            "descriptive evidence is enough for a ranking."
        ),
    ]
    refute: Annotated[Share | None, Field(description="p of what refutes it, corrected.")]
    noise: Annotated[
        Standing | None, Field(description="Of a ranking with a verdict: whether batch shape could undo it.")
    ]
    ranking: Annotated[RankingRow | None, Field(description="Null for an effect.")]
    effect: Annotated[EffectRow | None, Field(description="Null for a ranking.")]
    statistic: Annotated[
        StatisticContrastRow | None,
        Field(description="Of a hypothesis about a statistic alone.", exclude_if=lambda row: row is None),
    ] = None
