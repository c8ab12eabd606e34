"""What is found of a hypothesis about an effect: rates, their differences, the test, and what failed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gridc.reports.findings.observations import Reading
from gridc.schema.hypotheses import PairsRow
from gridc.statistics.jackknife import Spread
from gridc.statistics.risk import NumberNeededEstimate
from gridc.statistics.unit_bootstrap import Ends

FailureCode = Literal[
    "rows", "constant", "collinear", "separated", "saturated", "clusters", "estimator", "not_a_mean",
    "graded", "library", "few_units", "largest_change",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no number: a code, and what happened in words.

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
    """

    code: FailureCode
    words: str


@dataclass(frozen=True, slots=True)
class AtMargin:
    """Two one-sided tests at a margin (`statistics.margins`): p, uncorrected, and whether the difference lies
    inside at the level."""

    pp: float
    p: float
    holds: bool


@dataclass(frozen=True, slots=True)
class RateChange:
    """Two rates on the same items: of a level and of the reference, in a part of the rows (None: in all).

    `samples` count under the level, in `units` groups that are independent of each other. The interval of the
    difference is central, 95 % (`statistics.rate_differences`); None where there is no difference. A rate is
    None where no sample counts. `margins` has the stated margin first, and is empty where the spec states
    none; `limits` are then those of the same tests, each missed with probability alpha, so that they lie
    inside the margin exactly where its p is at most alpha, and `method` is what decides there, unless
    `untested` says why nothing does; `unchanged` is p of the stated one if no answer had changed.
    `no_interval` says why there is no interval. `pairs` says what is left per protocol; None by intention
    to treat.
    """

    part: str | None
    level: str
    reference: str
    samples: int
    units: int
    rate: float | None
    reference_rate: float | None
    difference: float | None
    interval: Ends | None
    margins: tuple[AtMargin, ...] = ()
    limits: Ends | None = None
    no_interval: str = ""
    pairs: PairsRow | None = None
    method: str = ""
    untested: str = ""
    unchanged: float | None = None


@dataclass(frozen=True, slots=True)
class Odds:
    """Log odds of a level against the reference, adjusted for the covariates, with its standard error, z and
    two-sided p; the odds ratio with its 95 % interval. With errors clustered by unit z is compared with
    Student's t of `freedom`, and `spread` says how evenly the units carry it; else both are None. Where no
    unit goes against it, `agrees` is p of Gaffke's test (`statistics.unseen`): `p` is no smaller, and the
    interval no narrower than it allows."""

    log_odds: float
    error: float
    z: float
    p: float
    ratio: float
    interval: Ends
    freedom: float | None = None
    spread: Spread | None = None
    agrees: float | None = None


@dataclass(frozen=True, slots=True)
class Flips:
    """Pairs of answers, under the reference and under the level, that went from 0 to 1, from 1 to 0, or
    stayed. `p` is McNemar's, exact, where no two pairs share a unit; else None."""

    gained: int
    lost: int
    same: int
    p: float | None

    @property
    def churn(self) -> float:
        return (self.gained + self.lost) / (self.gained + self.lost + self.same)


@dataclass(frozen=True, slots=True)
class Recovery:
    """Which share of the change from `control` to the reference a level takes back, and what is left.

    `loss` is the control against the reference and `left` the level against the control, on the items of all
    three. `share` is (level - reference) / (control - reference), None where the interval of the loss holds 0
    or there is none; `interval` is that of the ratio over resamples of units, and `fieller` Fieller's (1954),
    where every unit has as many samples in each arm. Neither is given of fewer effective units than
    `jackknife.FLOOR`, where both are too short (docs/sizes.md); `no_interval` says why there is none.
    """

    control: str
    loss: RateChange
    left: RateChange
    share: float | None
    interval: Ends | None
    fieller: Ends | None
    no_interval: str
    number_needed: NumberNeededEstimate | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """A level against the reference: as the spec reads unreadable answers, and as it does not (`other`).
    `divergence` is the difference by intention to treat less that per protocol."""

    change: RateChange
    other: RateChange | None
    divergence: float | None
    odds: Odds | None
    risk_ratio: float | None
    risk_ratio_interval: Ends | None
    number_needed: NumberNeededEstimate | None
    flips: Flips | None
    parts: tuple[RateChange, ...] = ()
    recovery: Recovery | None = None


@dataclass(frozen=True, slots=True)
class EffectTest:
    """The test of the estimator: `statistic` is z, Box's F of `df` coefficients (an F of `above` and
    `freedom`), or a likelihood ratio; `freedom` and `spread` as in `Odds`, of several coefficients of the
    least even one."""

    name: Literal["wald_z", "box_f", "likelihood_ratio"]
    statistic: float
    df: int
    p: float
    freedom: float | None = None
    spread: Spread | None = None
    above: float | None = None

    @property
    def decides(self) -> bool:
        """Whether there are units enough for a verdict."""
        return self.spread is None or self.spread.enough


@dataclass(frozen=True, slots=True)
class TrendLine:
    """Rates along doses. `isotonic` are the nearest rates that only move in the predicted direction. Page's
    test ranks the levels within each unit; Jonckheere and Terpstra's takes levels as independent groups,
    which they are not where they share their items: the p-values of both are one-sided."""

    doses: tuple[float, ...]
    rates: Mapping[str, float]
    isotonic: Mapping[str, float]
    page_p: float
    jonckheere_terpstra_p: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What the rows say of a hypothesis about an effect. `support` and `refute` are the p-values of this
    hypothesis alone; 1 where nothing is tested. `adjusted_for` are the covariates of the estimator,
    `left_out` the samples without a partner under every compared level, and `rows` the digest of what was
    read."""

    outcome: str
    reading: Reading
    estimator: str
    adjusted_for: tuple[str, ...]
    samples: int
    units: int
    left_out: int
    contrasts: tuple[Contrast, ...]
    test: EffectTest | None
    trend: TrendLine | None
    failure: Failure | None
    support: float
    refute: float
    rows: str

    @property
    def tested(self) -> bool:
        """Whether any test has a p-value below 1, before it is corrected."""
        return min(self.support, self.refute) < 1
