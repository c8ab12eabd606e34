"""What a study predicts, by which tests, and which analytic choices were open."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema.base import Declared, Id, Table, Text
from gridc.schema.selector import EVERYWHERE, Selector

DOCUMENTED = "documented"
BINDABLE = (
    "model", "benchmark", "harness", "axis", "exclude", "hypothesis", "family", "judge", "roster", "sampling",
    "analysis",
)  # fmt: skip
"""The tables that a fork can move: those that the stamp covers and a number can depend on."""

Rate = Annotated[
    Literal[
        "score", "score_disambiguated", "unknown_rate", "matching_rate", "over_refusal", "unsafe_compliance",
        "parse_rate",
    ],
    Field(
        description="What is compared. score: the benchmark's own, on all items; score_disambiguated: the "
        "same on items whose context settles the question; unknown_rate: how often `unknown` is chosen "
        "where the context leaves it open; matching_rate: how often the option is chosen that matches the "
        "behaviour which the benchmark looks for (BBQ: the stereotyped one); over_refusal: how often a "
        "prompt to comply with is refused; unsafe_compliance: how often a prompt to refuse is complied "
        "with; parse_rate: how often an answer can be read. Default: score."
    ),
]  # fmt: skip


class Exclude(Table):
    """A part of a grid, or of a curve's specifications, that is left out."""

    when: Annotated[
        Selector,
        Field(
            description="Which part: axis = level, [levels] or { not = ... }; also model, benchmark, tier.",
            examples=[{"scoring": "logprob", "decoding": {"not": "greedy"}}],
        ),
    ]
    why: Annotated[Text, Field(description="Printed wherever the exclusion is.")]


class Margin(Table):
    """The smallest effect that would matter, in percentage points: `margin = { pp = 5 }`."""

    pp: Annotated[float, Field(gt=0, le=100, description="In percentage points of the outcome.")]
    sensitivity_pp: Annotated[
        tuple[float, ...], Field(description="Further margins at which the verdict is reported.")
    ] = ()


class Hypothesis(Table):
    """What every prediction says, whatever its kind."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    family: Annotated[
        Id | None, Field(description="The family whose error rate it shares. Default: none, uncorrected.")
    ] = None
    claim: Annotated[Text | None, Field(description="The prediction in one sentence, for readers.")] = None
    where: Annotated[Selector, Field(description="Where it is predicted. Default: everywhere.")] = EVERYWHERE


class RankingHypothesis(Hypothesis):
    """An order of models, in every configuration that `where` selects."""

    kind: Annotated[Literal["ranking"], Field(description="An order of models.")]
    order: Annotated[
        tuple[Id, ...], Field(min_length=2, description="Models, the one predicted to be best first.")
    ]


class ContrastHypothesis(Hypothesis):
    """Levels of one axis against a reference level."""

    kind: Annotated[
        Literal["difference", "equivalence", "noninferiority", "null_control"],
        Field(
            description="difference: the outcome moves; equivalence: it moves by less than the margin; "
            "noninferiority: it does not fall by the margin; null_control: no effect is expected."
        ),
    ]
    axis: Annotated[Id, Field(description="The axis whose levels are compared.")]
    level: Annotated[
        Id | tuple[Id, ...],
        Field(description="The level under test. Several are tested jointly (an omnibus test)."),
    ]
    reference: Annotated[Id, Field(description="The level it is compared with.")]
    side: Annotated[
        Literal["two-sided", "greater", "less"],
        Field(
            description="greater: the level is predicted to score above the reference; less: below it; "
            "two-sided: to differ. Default: two-sided."
        ),
    ] = "two-sided"
    outcome: Rate = "score"
    margin: Annotated[Margin | None, Field(description="Needed by equivalence and noninferiority.")] = None

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels under test, one or several."""
        return (self.level,) if isinstance(self.level, str) else self.level


class InteractionHypothesis(Hypothesis):
    """An axis whose effect differs between models, benchmarks or the levels of another axis."""

    kind: Annotated[Literal["interaction"], Field(description="The effect of `axis` depends on `by`.")]
    axis: Annotated[Id, Field(description="The axis whose effect is predicted to vary.")]
    by: Annotated[Id, Field(description="`model`, `benchmark` or another axis.")]
    outcome: Rate = "score"


class TrendHypothesis(Hypothesis):
    """An outcome that moves one way along ordered levels."""

    kind: Annotated[Literal["trend"], Field(description="A monotone trend along `order`.")]
    axis: Annotated[Id, Field(description="The axis whose levels are ordered.")]
    order: Annotated[tuple[Id, ...], Field(min_length=3, description="Its levels, coded 0, 1, 2, ...")]
    direction: Annotated[
        Literal["increasing", "decreasing"],
        Field(description="The outcome is predicted to be increasing or decreasing along `order`."),
    ]
    outcome: Rate = "score"


AnyHypothesis = Annotated[
    RankingHypothesis | ContrastHypothesis | InteractionHypothesis | TrendHypothesis,
    Field(discriminator="kind"),
]


class Family(Table):
    """Hypotheses that share one error rate."""

    id: Annotated[Id, Field(description="How hypotheses refer to it.")]
    correction: Annotated[
        Literal["holm", "bh", "none"],
        Field(description="holm: family-wise error; bh: false discovery rate (Benjamini-Hochberg); none."),
    ]
    alpha: Annotated[float, Field(gt=0, lt=1, description="The rate that is held, before correction.")] = 0.05


class Fork(Table):
    """A researcher degree of freedom, with all its defensible levels."""

    id: Annotated[Id, Field(description="How curves refer to it.")]
    category: Annotated[Id, Field(description="Groups forks on the report: scoring, model, data, ...")]
    levels: Annotated[tuple[Id, ...], Field(min_length=2, description="Every defensible choice.")]
    default: Annotated[Id, Field(description="The choice that the study makes.")]
    binds: Annotated[
        str,
        Field(
            pattern=r"^(documented|[a-z_]+(\.[A-Za-z0-9_\-]+)*)$",
            description=f"What it moves, as a path of the spec: a table ({', '.join(BINDABLE)}), then ids "
            "and keys as in the file; `model` alone: which models. documented: other levels need new "
            "data, so they are listed and not computed.",
            examples=[
                "analysis.outcome",
                "axis.template.level.T4.prompt",
                "benchmark.bbq.sample",
                "documented",
            ],
        ),
    ]
    description: Annotated[Text | None, Field(description="The choice in one sentence.")] = None


class Curve(Table):
    """A specification curve: the analysis under every combination of some forks (Simonsohn et al. 2020)."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    forks: Annotated[tuple[Id, ...], Field(min_length=1, description="The forks that vary.")]
    exclude: Annotated[
        tuple[Exclude, ...],
        Field(max_length=12, description="Combinations that are impossible; selectors over forks."),
    ] = ()
    declared: Annotated[
        Declared, Field(description="ex_ante: named before the data were seen; post_hoc: after.")
    ]


class Falsification(Table):
    """A test that could break the study's finding, with its criteria fixed in advance."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    category: Annotated[Id, Field(description="The threat that it addresses.")]
    test: Annotated[Text, Field(description="What is done.")]
    passes: Annotated[Text, Field(description="What counts as the finding surviving.")]
    partial: Annotated[Text | None, Field(description="What counts as weakened but surviving.")] = None
    fails: Annotated[Text, Field(description="What counts as broken.")]
