"""What a response earns: the labels that it is read to, mapped to scores."""

from collections.abc import Sequence
from functools import cached_property
from math import gcd, lcm
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, RootModel, model_validator

from gridc.schema.base import EVERYWHERE, Contradiction, Id, Selector, Table, Text

DIGITS = 4
"""Most decimals of a score, so that sums of scores are whole numbers of a common unit."""
UNIT = 10**DIGITS
"""A number that a function gives is rounded to whole numbers of 1 / UNIT."""
ROLES = ("right", "unknown", "matching")
"""Labels of an option that the item itself gives: see `compiler.instrument.item`."""
OTHER = "other"
"""The label of whatever no other label fits."""
BEHAVIOURS = ("comply", "refuse")
"""Labels of a response to a prompt without options, as phrases of refusal show them."""

SCORED = ("scored",)
"""What an answer is called that a function gives numbers."""

MATCHES = ("right", "wrong")
"""Labels of a free answer that is compared with right ones."""

PREFERENCES = ("loss", "tie", "win")
"""Labels of a response that is compared with another one, the worst first."""


def _short(value: float) -> float:
    if round(value, DIGITS) != value:
        raise Contradiction(f"{value} has more than {DIGITS} decimals", f"write {round(value, DIGITS)}")
    return value


Points = Annotated[float, Field(ge=0, le=1), AfterValidator(_short)]


class ByExpected(Table):
    """Two scores of one label: on prompts to comply with, and on prompts to refuse."""

    comply: Annotated[Points, Field(description="On a prompt to comply with.")]
    refuse: Annotated[Points, Field(description="On a prompt to refuse.")]


def _sorted(labels: dict[str, Points | ByExpected]) -> dict[str, Points | ByExpected]:
    return dict(sorted(labels.items()))


class Scores(
    RootModel[
        Annotated[
            dict[Annotated[str, Field(min_length=1)], Points | ByExpected],
            Field(min_length=1),
            AfterValidator(_sorted),
        ]
    ]
):
    """A score from 0 to 1 for each label that a response can be read to, or one for prompts to comply with
    and one for prompts to refuse. The order of the labels means nothing."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    def __str__(self) -> str:
        return self.model_dump_json()

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.root)

    @cached_property
    def scale(self) -> int:
        """The least whole number that makes every score a whole number of 1 / scale."""
        values = [value for label in self.root.values() for value in _both(label)]
        ratios = [round(value * 10**DIGITS) for value in values]
        return lcm(*(10**DIGITS // gcd(10**DIGITS, ratio) for ratio in ratios))

    def of(self, label: str, expected: str | None) -> int | None:
        """What a label earns in units of 1 / scale. None where it has a score for each kind of prompt and
        the item is of neither."""
        value = self.root[label]
        if isinstance(value, ByExpected):
            if expected is None:
                return None
            value = value.comply if expected == "comply" else value.refuse
        return round(value * self.scale)


class EvenScores(Scores):
    """Scores from 0 to 1 for whole numbers without a gap, evenly far apart whatever decimals they have."""

    @cached_property
    def scale(self) -> int:
        return len(self.root) - 1

    @property
    def ends(self) -> tuple[int, int]:
        """The numbers that earn 0 and 1."""
        numbers = [int(label) for label in self.root]
        return min(numbers), max(numbers)


def evenly(numbers: Sequence[str]) -> EvenScores:
    """What whole numbers without a gap earn by where they lie between the first and the last one."""
    last = len(numbers) - 1
    return EvenScores({label: round(place / last, DIGITS) for place, label in enumerate(numbers)})


def _both(value: float | ByExpected) -> tuple[float, ...]:
    return (value.comply, value.refuse) if isinstance(value, ByExpected) else (value,)


PREFERENCE_SCORES = Scores({"loss": 0.0, "tie": 0.5, "win": 1.0})
"""What a preference earns where a spec does not say: a mean of them is a win rate that counts a tie half."""


class NamedOutcome(Table):
    """One more outcome of the responses, by a name: reported beside the score and never in its place."""

    id: Annotated[Id, Field(description="How hypotheses and reports call it.")]
    benchmark: Annotated[Id | tuple[Id, ...], Field(description="The benchmarks whose responses have it.")]
    scores: Annotated[
        Scores | None,
        Field(
            description="What each label earns, 0 to 1. Needed unless `number` is stated.",
            examples=[{"refuse": 1, "comply": 0}, {"unknown": 0.5, "right": 1, "other": 0}],
        ),
    ] = None
    number: Annotated[
        Id | None,
        Field(
            description="One of the numbers that the function of method `scorer` gives, by its name. "
            "Default: none; labels earn `scores`.",
        ),
    ] = None
    items: Annotated[
        Selector, Field(description="Only items with these tags.", examples=[{"category": "weapons"}])
    ] = EVERYWHERE
    unreadable: Annotated[
        Literal["zero", "one", "leave_out"],
        Field(
            description="What an unreadable answer earns: zero or one; leave_out: it is not counted. "
            "Default: zero."
        ),
    ] = "zero"
    what: Annotated[Text | None, Field(description="What it says, in a phrase; printed beside it.")] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.scores is None) == (self.number is None):
            raise Contradiction(
                "an outcome is of labels (`scores`) or a `number` of a scorer", "state one of both"
            )
        return self

    @property
    def scale(self) -> int:
        """What it is counted in: whole numbers of 1 / scale."""
        return UNIT if self.scores is None else self.scores.scale

    @property
    def benchmarks(self) -> tuple[str, ...]:
        return (self.benchmark,) if isinstance(self.benchmark, str) else self.benchmark


def scale_of(scores: Scores | None) -> int:
    """The unit of scores: 1 where a point is earned or not."""
    return 1 if scores is None else scores.scale
