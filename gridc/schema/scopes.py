"""Rows of the certificate: what a part of an envelope shows of each pair of models, and of their orders."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Declared
from gridc.schema.evidence import EvidenceRow
from gridc.schema.hypotheses import Standing
from gridc.schema.rows import Count, Digest, Part, Ratio, Rounded, Share

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
    words: str
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
    words: Annotated[str, Field(description="The verdict of the counts, on these items.")]
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
