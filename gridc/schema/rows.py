"""The types that rows of documents are made of: numbers as they are written, counts, digests, and strengths
of evidence.

A number is exact in a row that is passed on, and loses its last digits when the row is written: what is
computed of it is computed of the number itself, and a report is the same file everywhere.

Findings, certificate, card and page share the rows of what the items of a study say of other items. These
have three strengths, never merged. *Descriptive*: a fact about the items that were asked. *Supported*: holds
beyond them if the number of units is large, or the models are exchangeable. *Certified*: holds beyond them if
the units were drawn independently of one another, and under no other assumption.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from gridc.statistics.reproducibility import digits


def _ratio(value: object) -> object:
    return value.as_integer_ratio() if isinstance(value, Fraction) else value


def _number(value: object) -> object:
    return float(value) if isinstance(value, Fraction) else value


def _number_or_infinite(value: object) -> object:
    return inf if value is None else _number(value)


def _ten_decimals(value: float) -> float:
    """A whole number, where a field may hold one, stays whole."""
    return round(value, 10) + 0.0 if isinstance(value, float) else value


def _ten_digits(value: float) -> float:
    return digits(value) if isinstance(value, float) and abs(value) < 1 else _ten_decimals(value)


def in_ten_decimals(value: float | Fraction | None) -> float | None:
    """What a share is written as."""
    return None if value is None else _ten_decimals(float(value) if isinstance(value, Fraction) else value)


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else _ten_decimals(value)


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256, hexadecimal.")]
Count = Annotated[int, Field(ge=0)]
ItemsHeld = Annotated[
    int,
    Field(
        ge=0,
        description="How many items the files hold, asked or not; 0 where an older gridc did not say it.",
    ),
]
DistinctQuestions = Annotated[
    int,
    Field(
        ge=0,
        description="How many different questions the items ask, where some are asked several times; 0 where "
        "none is, or an older gridc did not look.",
    ),
]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_number), PlainSerializer(digits)]
"""Ten digits when it is written, as of a p-value."""
Ratio = Annotated[tuple[int, int], BeforeValidator(_ratio)]
"""An exact score as [numerator, denominator]."""
Rounded = Annotated[float, BeforeValidator(_number), PlainSerializer(_ten_decimals)]
"""Ten decimals when it is written."""
InItsUnit = Annotated[float, BeforeValidator(_number), PlainSerializer(_ten_digits)]
"""Ten decimals when it is written, and ten digits of what is below 1: a cost can be small in its unit."""
Finite = Annotated[float | None, BeforeValidator(_number), PlainSerializer(_finite)]
"""The same; null where it is infinite or not a number: the field says which."""
Unbounded = Annotated[
    float,
    BeforeValidator(_number_or_infinite),
    PlainSerializer(_finite),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "null"}]}),
]
"""The same of what is always there; null where it is infinite."""
T = TypeVar("T")
Unwritten = Annotated[T, SkipJsonSchema(), Field(exclude=True)]
"""What is said of a finding and stands in no file."""


OWN_WORDS = "gridc's own words"
Sentence = Annotated[str, OWN_WORDS]
"""A text that gridc words from what is beside it. It renders evidence and is none: a change of wording is no
change of a document's format, and `verify` compares it only with what the same code writes."""


@dataclass(frozen=True, slots=True)
class SentencesAt:
    """Marks a table of texts in which those under some keys are a `Sentence`."""

    keys: tuple[str, ...]


class Part(BaseModel):
    """A part of a document: closed and frozen. What holds the same names is read as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, defer_build=True)

    @classmethod
    def of(cls, *sources: object, **named: Any) -> Self:
        """This row of a finding: each field from `named`, else from the first source that has an attribute of
        that name."""
        for name in cls.model_fields:
            source = next((candidate for candidate in sources if hasattr(candidate, name)), None)
            if name not in named and source is not None:
                named[name] = getattr(source, name)
        return cls.model_validate(named)

    def as_written(self) -> Self:
        """The same as its file says it: what is printed of a document is what is written."""
        return self.model_validate(self.model_dump())


Tier = Literal["certified", "supported", "descriptive"]
Claimed = Literal["reversal", "order"]
ClaimFamily = Literal["full envelope", "other scopes", "chosen after the data"]
Test = Literal["mcnemar", "betting", "joint_flips", "not_tested"]


class ClaimTestRow(Part):
    """A claim's p-value, alone and after Holm over the study."""

    p: Annotated[Share, Field(description="Of this claim alone; the search for witnesses is paid for.")]
    adjusted: Annotated[Share, Field(description="After Holm over `members`.")]
    members: Annotated[int, Field(ge=1, description="How many claims of the study Holm's method ran over.")]


class CarrierRow(Part):
    """A configuration, or all that share a level of an axis, whose average shows a direction."""

    kind: Literal["configuration", "level"]
    name: Annotated[str, Field(description="The configuration, or axis=level.")]
    p: Annotated[
        Share,
        Field(description="One-sided. Certified: alone; supported: adjusted for the search in the pair."),
    ]


class StrengthRow(Part):
    """What one strength of evidence says of a pair in a scope."""

    claim: Annotated[
        Claimed | None,
        Field(
            description="reversal: each model scores higher somewhere; order: `first` scores higher "
            "everywhere. Null where neither holds at alpha, and while the run is incomplete."
        ),
    ]
    first: Annotated[str | None, Field(description="The model that scores higher, of an order.")]
    test: Annotated[
        Test,
        Field(
            description="mcnemar: exact, on replicate 0. betting: e-values on units of several items. "
            "joint_flips: max-T over configurations and levels, whole units flipped. not_tested: of so many "
            "pairs and units joint flips are not made, and every p is 1."
        ),
    ]
    reversal: ClaimTestRow
    order: ClaimTestRow
    plus: Annotated[CarrierRow | None, Field(description="The strongest sign of a > b.")]
    minus: Annotated[CarrierRow | None, Field(description="The strongest sign of b > a.")]
    named_plus: Annotated[
        tuple[str, ...],
        Field(
            description="Configurations where a > b, named one by one: no name of the study is wrong, with "
            "error at most alpha."
        ),
    ]
    named_minus: tuple[str, ...]
    levels_plus: Annotated[
        tuple[str, ...],
        Field(description="axis=level where a > b on average, named in the same way. Supported only."),
    ]
    levels_minus: tuple[str, ...]
    named_among: Annotated[int, Field(ge=1, description="How many names could have been given.")]

    @property
    def tested(self) -> bool:
        """Whether the test of this strength was made."""
        return self.test != "not_tested"


class IdenticalRow(Part):
    """rho_flip of models that agree on average and differ as often as these: the outcomes of both are
    exchanged at random, unit by unit, the same exchange in all configurations. The observed discordance is
    kept."""

    exchanges: Count
    mean: Share
    upper: Annotated[Share, Field(description="95 % of the exchanges show at most this.")]
    at_least: Annotated[Share, Field(description="Share of exchanges with at least the observed rho_flip.")]


class SameModelRow(Part):
    """rho_flip of a model against itself: 0 under greedy decoding, where its answers are the same; in the
    configurations whose decoding is sampled the sign is a coin at most."""

    sampled: Annotated[Count, Field(description="Configurations of the scope whose decoding is sampled.")]
    mean: Share
    upper: Annotated[Share, Field(description="95 % of cases show at most this.")]


class EvidenceRow(Part):
    """What the items of this study say of other items, for one pair in one scope."""

    tier: Annotated[Tier, Field(description="The strongest evidence for a claim.")]
    alpha: Annotated[float, Field(gt=0, lt=0.5)]
    family: Annotated[
        ClaimFamily,
        Field(
            description="The claims that share alpha: every pair on every benchmark, and scope. What was "
            "chosen after the data holds only through the configurations named in the full envelope."
        ),
    ]
    units: Annotated[Count, Field(description="Of the benchmark: what is drawn independently.")]
    configurations: Annotated[int, Field(ge=1, description="In the scope; witnesses are sought in all.")]
    certified: StrengthRow
    supported: StrengthRow
    rho_low: Annotated[
        Share,
        Field(
            description="rho_flip beyond these items, from the certified names; 0 unless the reversal itself "
            "is certified."
        ),
    ]
    rho_high: Share
    identical: IdenticalRow
    same_model: SameModelRow
    smallest_gap: Annotated[
        Rounded | None,
        Field(
            description="The smallest gap in one configuration that could certify a direction here, by the "
            "certified test, at the median share of units that differ."
        ),
    ]
    discordance: Annotated[Share, Field(description="Median share of units that differ, for smallest_gap.")]


class UnreadRow(Part):
    """What the answers that nobody could read leave open of a pair: who scores higher, whatever they would
    have earned. Unread is what is read from text and is unreadable or cut off at a token limit; a call that
    failed and a refusal of the provider are not. The ends are the scores where all that is unread of a earned
    nothing and of b everything, and the reverse."""

    unread_a: Annotated[Count, Field(description="Of a's answers in the scope.")]
    answers_a: Annotated[Count, Field(description="Of a in the scope, read from text.")]
    unread_b: Count
    answers_b: Count
    judged: Annotated[bool, Field(description="Whether judges read all of them: unread has no label.")]
    measured: Annotated[Count, Field(description="Configurations where both have a score.")]
    low: Annotated[
        Rounded | None,
        Field(description="The least that the mean gap, a - b, can be over the measured configurations."),
    ]
    high: Annotated[Rounded | None, Field(description="The most that it can be.")]
    plus: Annotated[Count, Field(description="Configurations where a scores higher all the same.")]
    minus: Annotated[Count, Field(description="Where it scores lower all the same.")]
    ties: Annotated[Count, Field(description="Where both score the same all the same.")]
    agrees: Annotated[
        bool, Field(description="Whether the majority, D1 and D2 are those of the pair all the same.")
    ]
    claim: Annotated[
        bool | None,
        Field(
            description="Whether what is certified, or else supported, has its signs all the same; null "
            "where nothing is."
        ),
    ]
    beyond: Annotated[
        tuple[str, ...],
        Field(
            description="Configurations in which so much of a model's answers is unread that each counts "
            "against whatever is claimed: more than a fifth, as in `gridc compare`."
        ),
    ]

    @property
    def shares(self) -> tuple[float, float]:
        """What is unread of each model's answers that are read from text."""
        return self.unread_a / max(self.answers_a, 1), self.unread_b / max(self.answers_b, 1)

    @property
    def turned(self) -> "UnreadRow":
        """The same of b and a."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        sides = {"unread_a": self.unread_b, "unread_b": self.unread_a, "plus": self.minus, "minus": self.plus}
        answers = {"answers_a": self.answers_b, "answers_b": self.answers_a}
        return self.model_copy(update={**sides, **answers, "low": low, "high": high})


class OrderingClaimRow(Part):
    """A strict order of all models, best first, and whether some configuration is certified to show it."""

    order: tuple[str, ...]
    p: Share
    adjusted: Annotated[Share, Field(description="After Holm over `members`.")]
    members: Annotated[int, Field(ge=1, description="All orders of all benchmarks.")]
    certified: bool


class ConfigurationTestRow(Part):
    """One configuration: in how many units a scores higher (b of McNemar's test), in how many lower (c)."""

    configuration: str
    higher: Count
    lower: Count
    p_plus: Annotated[Share, Field(description="Against the hypothesis that a does not score higher.")]
    p_minus: Annotated[Share, Field(description="Against the hypothesis that b does not score higher.")]
    adjusted_plus: Annotated[
        Share,
        Field(description="Twice the value after Holm over the study's configurations, in this direction."),
    ]
    adjusted_minus: Share


class PairTestsRow(Part):
    """The certified tests of a pair, configuration by configuration of the full envelope."""

    a: str
    b: str
    test: Test
    configurations: tuple[ConfigurationTestRow, ...]


class PlaceRow(Part):
    """A model in the order of scores, and where else it can stand."""

    model: str
    place: Annotated[int, Field(ge=1, description="In the order of scores, best first.")]
    best: Annotated[int, Field(ge=1, description="One more than the models that are told apart as better.")]
    worst: Annotated[int, Field(ge=1, description="The last place that no model told apart as worse has.")]
    score: Annotated[Rounded, Field(description="Mean over the configurations that the order averages.")]
    interval: Annotated[
        tuple[Rounded, Rounded] | None, Field(description="95 %, over units: Gaffke's limits.")
    ]
    bounds: Annotated[
        tuple[Rounded, Rounded] | None,
        Field(
            description="The least and the most that the score can be, whatever missing answers would earn; "
            "null where none counts against a claim."
        ),
    ] = None
    constant: Annotated[
        bool,
        Field(description="Whether every unit has the same part of a point, as in a draw with itself."),
    ] = False

    @property
    def can_be(self) -> str:
        """`3` or `2 to 5`."""
        return f"{self.best}" if self.best == self.worst else f"{self.best} to {self.worst}"


class NeighbourRow(Part):
    """Two models that follow each other in the order; a is the better one."""

    a: str
    b: str
    gap: Annotated[Rounded, Field(description="Score of a less that of b.")]
    a_ahead: Annotated[Count, Field(description="Units on which a is better, what has no score being wrong.")]
    b_ahead: Count
    p: Annotated[Share, Field(description="Two-sided.")]
    p_holm: Annotated[Share, Field(description="Holm's over the neighbours of the benchmark.")]
    apart: Annotated[bool, Field(description="Whether `p_holm` is at most alpha.")]


class MajorityRow(Part):
    """Two models of which the one with the higher mean does worse on most units."""

    higher: Annotated[str, Field(description="The model with the better mean score.")]
    ahead_on_most: Annotated[str, Field(description="The model that does better on most units.")]
    units: Annotated[Count, Field(description="On how many: more than half of all.")]


class CategoryRow(Part):
    """A category of items, as the data name it."""

    category: str
    items: Count


class ModelBreakdownRow(Part):
    """A model's score on each category, and how long its answers are."""

    model: str
    by_category: Annotated[
        tuple[Rounded | None, ...],
        Field(description="In the order of `categories`; null where no configuration asks an item of it."),
    ]
    length: Annotated[
        Rounded | None, Field(description="Mean characters of its answers; null without texts.")
    ]
    answers: Annotated[Count, Field(description="How many answers that is the mean of.")]
    items: Annotated[Count, Field(description="Items that it gave a text to.")]
    commonest: Annotated[
        Count, Field(description="To how many of these it gives the text that it gives to most items.")
    ]
    commonest_length: Annotated[Count, Field(description="Characters of that text.")]


class BreakdownRow(Part):
    """The scores of a benchmark by category of items. They describe the items that were asked: nothing is
    tested. The configurations are those that the order of models averages."""

    benchmark: str
    categories: Annotated[
        tuple[CategoryRow, ...],
        Field(description="Empty where items have no categories, or more than 40."),
    ]
    models: Annotated[tuple[ModelBreakdownRow, ...], Field(description="In the order of models.")]


class StandingsRow(Part):
    """The models of a benchmark in order, and which of them can be told apart on new items. Every two models
    are tested on their mean scores; what has no score speaks against the better one. With a chance of at
    least 1 - alpha, all sets of places (`best` to `worst`) hold together."""

    over: Annotated[
        tuple[str, ...],
        Field(description="The configurations that are averaged: all models have them."),
    ]
    test: Annotated[
        Literal["mcnemar", "gaffke"],
        Field(
            description="mcnemar: exact, of items that earn a point or none. gaffke: Gaffke's test of a mean "
            "of units."
        ),
    ]
    units: Annotated[Count, Field(description="Independent units that the tests count.")] = 0
    grouped: Annotated[bool, Field(description="Whether a unit is a group of items.")] = False
    order: tuple[PlaceRow, ...]
    neighbours: tuple[NeighbourRow, ...]
    tie_groups: Annotated[
        tuple[tuple[str, ...], ...],
        Field(
            description="Sets of models of which no two can be told apart (all pairs, both directions, "
            "Holm). Every two that cannot be told apart are in one of them."
        ),
    ]
    majorities: Annotated[
        tuple[MajorityRow, ...],
        Field(description="Every two models whose means and counts of units disagree."),
    ] = ()
    unplaced: Annotated[
        tuple[str, ...], Field(description="Models without a readable answer in a configuration that counts.")
    ]
    left_out: Annotated[
        tuple[str, ...],
        Field(description="Configurations in which a model of the order gave no readable answer."),
    ]
