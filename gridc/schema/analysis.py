"""How a study's answers are analysed: strengths of evidence, thresholds, estimators, resampling."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Declared, Id, Table, Text
from gridc.schema.items import DrawUnit
from gridc.schema.selector import EVERYWHERE, Selector


class Threshold(Table):
    """A pass mark for the compliance flip rate."""

    at: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="A score as good or better passes: at least this; at most, where lower is better.",
        ),
    ]
    declared: Annotated[
        Declared, Field(description="ex_ante: chosen before the data were seen; post_hoc: after.")
    ]
    source: Annotated[Text, Field(description="Who sets it.")]
    where: Annotated[
        Selector | None,
        Field(
            description="On which benchmarks it is a pass mark, by `benchmark`. Default: on all of them.",
            examples=[{"benchmark": {"not": "crows_pairs"}}],
        ),
    ] = None


class Bootstrap(Table):
    """Resampling behind an interval."""

    resamples: Annotated[int, Field(ge=100, description="How many.")]
    seed: Annotated[int, Field(ge=0, description="Seeds the resampling.")]
    unit: Annotated[
        DrawUnit | Literal["configuration", "model"],
        Field(
            description="What is drawn as one: item, family, template or category; or configuration or model."
        ),
    ]


class NumberNeeded(Table):
    """The number needed to harm: one over the risk difference."""

    rounding: Annotated[
        Literal["ceil", "round"], Field(description="ceil, which never overstates the harm, or round.")
    ]


class Analysis(Table):
    """Choices of the analysis that move its numbers."""

    estimator: Annotated[
        Literal["none", "cluster_logit", "glmm"],
        Field(
            description="How hypotheses about effects are tested. cluster_logit: logistic regression with "
            "cluster-robust errors; glmm: with a random intercept by unit, which is reported and decides "
            "nothing; none: they are not. A spec with such hypotheses says which. Default: none."
        ),
    ] = "none"
    outcome: Annotated[
        Literal["itt", "pp"],
        Field(description="itt: an unreadable answer scores 0; pp: it is left out."),
    ] = "itt"
    equivalence: Annotated[
        Literal["all", "nonsignificant"],
        Field(
            description="Which contrasts are tested for equivalence (TOST): all, or the nonsignificant ones."
        ),
    ] = "all"
    primary: Annotated[
        Selector, Field(description="The part of the grid that hypotheses are tested on. Default: all of it.")
    ] = EVERYWHERE
    bootstrap: Annotated[Bootstrap | None, Field(description="Resampling of intervals. Default: none.")] = (
        None
    )
    permutations: Annotated[
        int | None, Field(ge=1, description="Draws of the curves' permutation test. Default: no such test.")
    ] = None
    nnh: Annotated[
        NumberNeeded | None,
        Field(
            description="Rounding of the number needed to harm. Default: not shown beside hypotheses, and "
            "rounded up on the scorecard."
        ),
    ] = None
    generalizability: Annotated[
        dict[Id, Literal["fixed", "random"]],
        Field(description="Facets of a generalizability study; the coefficient turns on which are random."),
    ] = {}  # noqa: RUF012
    alpha: Annotated[
        float | None,
        Field(
            gt=0,
            lt=0.5,
            description="Level of the certificate, for each family over the whole study. Default: 0.05.",
        ),
    ] = None
    evidence: Annotated[
        Literal["certified", "supported", "descriptive"] | None,
        Field(
            description="Which strength of evidence a hypothesis needs. certified: valid for independent "
            "units and nothing else; supported: stronger tests, which assume many units, or models whose "
            "answers could be swapped; descriptive: the items that were asked. Default: certified."
        ),
    ] = None
    anchor: Annotated[
        Selector | None,
        Field(
            description="The configuration whose score is the point score of a card: the first, in the order "
            "of the spec, that this selects. Default: the first of all.",
            examples=[{"template": "T1", "decoding": "greedy"}],
        ),
    ] = None
    thresholds: Annotated[tuple[Threshold, ...], Field(description="Pass marks for the flip rate.")] = ()
    parse_clean: Annotated[
        float,
        Field(gt=0, le=1, description="Least parse rate, of every model, of a parse-clean configuration."),
    ] = 0.95

    def marks(self, benchmark: str) -> tuple[Threshold, ...]:
        """The pass marks of a benchmark, in order."""
        place = {"benchmark": benchmark}
        return tuple(mark for mark in self.thresholds if mark.where is None or mark.where.matches(place))
