"""Several studies, reported together: which sample each claim rests on, what they share, and one error
budget."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Id
from gridc.schema.rows import Count, Digest, Part, Share
from gridc.schema.scorecard import ClaimRow, Held, Stated
from gridc.schema.spread import PairedRow
from gridc.statistics.decision import Verdict

FORMAT: Literal["gridc-studies/1"] = "gridc-studies/1"


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
