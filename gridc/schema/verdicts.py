"""Rows of the verdicts that a report begins with: do two models differ, and do other choices change that?"""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.rows import Count, Part, Rounded, Share, Tier

VerdictAnswer = Literal["differ", "within_margin", "not_told_apart", "not_tested"]
Survival = Literal["holds", "depends", "open"]


class TurnsRow(Part):
    """How often changing one axis alone changes which model is ahead."""

    axis: str
    turned: Annotated[Count, Field(description="Sets in which each of the two models is ahead somewhere.")]
    compared: Annotated[
        Count, Field(description="Sets of two configurations or more that differ in this axis alone.")
    ]


class ChoicesRow(Part):
    """What other configurations make of a verdict. The counts are of the items that were asked; `survival`
    says what holds for new ones."""

    ahead: Annotated[Count, Field(description="Configurations in which a has the better value.")]
    behind: Annotated[Count, Field(description="Configurations in which b has.")]
    tied: Count
    measured: Count
    size: Annotated[int, Field(ge=1, description="All configurations.")]
    turns: Annotated[tuple[TurnsRow, ...], Field(description="By axis, the one that turns most first.")]
    survival: Annotated[
        Survival,
        Field(
            description="holds: one model is better in every configuration, on new items too; depends: each "
            "is better in some; open: too few items to show either."
        ),
    ]
    first: Annotated[str | None, Field(description="The better model, where the order holds.")]
    strength: Annotated[Tier, Field(description="How strongly that is shown.")]
    p_holds: Annotated[Share, Field(description="Of the strength that is shown, after Holm.")]
    p_depends: Share


class VerdictRow(Part):
    """Two models under the reference configuration, and what other choices make of it. The test is of new
    units, and where units are few of new items of these very units."""

    benchmark: str
    what: Annotated[str, Field(description="score, or a rate.")]
    lower: Annotated[bool, Field(description="Whether the lower value is the better one.")]
    configuration: str
    a: str
    b: str
    value_a: Rounded | None
    value_b: Rounded | None
    gap: Annotated[Rounded | None, Field(description="Value of a less that of b.")]
    interval: Annotated[tuple[Rounded, Rounded] | None, Field(description="95 %, of this pair alone.")]
    on_units: Annotated[
        tuple[Rounded, Rounded] | None, Field(description="The same on these very units, where they are few.")
    ]
    test: Literal["mcnemar", "gaffke", "not_tested"]
    better: Annotated[str | None, Field(description="The model with the better value; null of equal ones.")]
    p: Annotated[Share, Field(description="Two-sided, of: they differ.")]
    p_holm: Annotated[Share, Field(description="After Holm over `members` of the study.")]
    p_unread_holm: Annotated[
        Share | None,
        Field(
            description="`p_holm` if every unread answer spoke against a difference; null where nothing is "
            "tested, and of a rate."
        ),
    ]
    p_within: Annotated[
        Share | None, Field(description="Of: they differ by less than the margin; null without a margin.")
    ]
    p_within_holm: Share | None
    answer: VerdictAnswer
    these_units: Annotated[
        bool,
        Field(description="Whether the test is of new items of these very units, because these are few."),
    ]
    why: Annotated[
        Literal["", "unread", "copies", "target", "no_answer"],
        Field(description="Why nothing is tested."),
    ] = ""
    unread_low: Annotated[
        Rounded | None,
        Field(description="The least that the gap can be, whatever unread answers would earn."),
    ]
    unread_high: Rounded | None
    choices: Annotated[ChoicesRow | None, Field(description="Null where one configuration was run.")]

    @property
    def unread_decides(self) -> bool:
        """Whether unread answers alone could undo the lead."""
        ends = self.unread_low, self.unread_high
        if not self.gap or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            return False
        return ends[0] <= 0 <= ends[1]


class VerdictsRow(Part):
    """The verdicts of a study, tested together: no `differ` and no `within_margin` is wrong, with a chance of
    at most alpha."""

    alpha: Annotated[float, Field(gt=0, lt=0.5)]
    members: Annotated[Count, Field(description="Tests that Holm's method ran over.")]
    margin: Annotated[
        Share | None, Field(description="The smallest difference that would matter, as the spec states it.")
    ]
    rows: tuple[VerdictRow, ...]
    untold: Annotated[
        tuple[str, ...],
        Field(description="Benchmarks with so many pairs that the order of models says who is told apart."),
    ]
