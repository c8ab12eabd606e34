"""What people's labels correct, as documents hold it."""

from typing import Annotated

from pydantic import Field

from gridc.schema.rows import Claimed, Count, Digest, Part, Rounded, Share


class StratumRow(Part):
    """Responses of which the machine said the same: how many there are, how many people labelled, and what
    these earn by the labels, in all."""

    rows: Count
    labelled: Count
    points: Rounded


class CorrectedRow(Part):
    """A number that people's labels correct, with 95 % limits."""

    value: Rounded
    here: Annotated[tuple[Rounded, Rounded], Field(description="For the responses of this study.")]
    new: Annotated[tuple[Rounded, Rounded], Field(description="For responses to new items of the same kind.")]


class CorrectedValueRow(Part):
    """The score or a rate of one model in one configuration, as it was read and as labels correct it."""

    what: Annotated[str, Field(description="`score`, or the name of a rate.")]
    model: str
    configuration: str
    machine: Annotated[Rounded, Field(description="As the study's own rule or judge read the responses.")]
    corrected: CorrectedRow
    responses: Count
    labelled: Count
    strata: tuple[StratumRow, ...]


class CorrectedGapRow(Part):
    """The value of a less that of b on the same items. Points of a stratum are (1 + a - b) / 2 an item."""

    what: str
    a: str
    b: str
    configuration: str
    machine: Rounded
    corrected: CorrectedRow
    p_plus: Annotated[Share, Field(description="One-sided: of new items a has no more.")]
    p_minus: Annotated[Share, Field(description="One-sided: of new items b has no more.")]
    responses: Count
    labelled: Count
    strata: tuple[StratumRow, ...]


class TakenBackRow(Part):
    """A claim that the items alone would certify, and that people's labels do not bear."""

    a: str
    b: str
    claim: Claimed
    first: Annotated[str | None, Field(description="The model that scores higher, of an order.")]


class BenchmarkAuditRow(Part):
    """People labelled responses of these configurations. A claim needs the items' test and the corrected gap,
    and reaches no configuration that was not audited."""

    sheets: tuple[str, ...]
    annotators: Count
    configurations: tuple[str, ...]
    exempt: Annotated[
        tuple[str, ...],
        Field(
            description="Configurations that labels do not correct: nothing is read to a label there, or "
            "the score is no mean over responses."
        ),
    ]
    values: tuple[CorrectedValueRow, ...]
    gaps: tuple[CorrectedGapRow, ...]
    taken_back: tuple[TakenBackRow, ...]
    given: Annotated[
        bool,
        Field(
            description="People labelled some of the responses outside of gridc, which are taken as drawn at "
            "random."
        ),
    ]
    unreturned: Annotated[
        Count, Field(description="Sheets with these configurations whose labels were never taken back.")
    ]
    rows: Annotated[Digest, Field(description="Digest of the labels.")]


class LabelledScore(Part):
    """The point score as people's labels correct it, of so many labelled responses."""

    labelled: Count
    corrected: CorrectedRow
