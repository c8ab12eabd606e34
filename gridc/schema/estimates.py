"""The estimates of a study: every number that its page and scorecard estimate, in one document.

One row type for all of them, so that a program that reads one estimate reads every one. Counts that
estimate nothing (cells, N+ and N-, orders) are in the certificate.
"""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Id
from gridc.schema.rows import Count, Digest, InItsUnit, Part, Sentence, Share

FORMAT: Literal["gridc-estimates/2"] = "gridc-estimates/2"


class EstimateRow(Part):
    """One estimate: what it is of, its value and uncertainty, how it was reached, and from which rows."""

    id: Annotated[
        str,
        Field(
            min_length=1,
            description="Names it within the document: `/` between its parts, such as "
            "hypothesis/H1c/risk_difference or score/MODEL/BENCHMARK/CONFIGURATION.",
        ),
    ]
    kind: Annotated[
        str,
        Field(
            pattern=r"^[a-z][a-z0-9_]*$",
            description="Which quantity: score, risk_difference, log_odds, odds_ratio, eta2, ...",
        ),
    ]
    about: Annotated[Sentence, Field(min_length=1, description="What it is an estimate of, in words.")]
    estimate: Annotated[
        InItsUnit | None, Field(description="Its value; null where these rows do not determine it.")
    ]
    interval: Annotated[
        tuple[InItsUnit | None, InItsUnit | None] | None,
        Field(description="A null end is infinite. Null where there is no interval."),
    ]
    level: Annotated[Share | None, Field(description="Of the interval.")]
    p: Annotated[Share | None, Field(description="Of this test alone.")]
    corrected_p: Annotated[
        Share | None, Field(description="After the correction of its family; `method` names both.")
    ]
    method: Annotated[
        Sentence, Field(min_length=1, description="Estimator, errors, interval and correction.")
    ]
    assumption: Annotated[Sentence, Field(description="What must hold for interval and p to be right.")]
    rows: Annotated[Digest, Field(description="Digest of the rows behind it.")]
    n: Annotated[Count, Field(description="How many rows those are.")]
    error: Annotated[
        Sentence | None,
        Field(pattern=r"^[a-z_]+: ", description="Where there is no value: the kind of reason, and why."),
    ]


class Estimates(Part):
    """Every estimate of a study, in the order of the page. A later look replaces it: `results` says of which
    state of the store it is."""

    format: Literal["gridc-estimates/2"]
    study: Id
    stamp: Annotated[Digest, Field(description="Of the study as it ran.")]
    results: Annotated[Digest, Field(description="The results digest.")]
    complete: Annotated[bool, Field(description="Whether the run was; before, every estimate is interim.")]
    estimates: tuple[EstimateRow, ...]
