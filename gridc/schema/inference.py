"""What a study predicts, by which tests and estimators, and which analytic choices were open."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, WithJsonSchema, model_validator

from gridc.schema.base import EVERYWHERE, ID, Contradiction, Declared, Id, Selector, Table, Text
from gridc.schema.items import DrawUnit


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
    """Units of intervals, and resamples of what has no other."""

    resamples: Annotated[int, Field(ge=100, description="How many.")]
    seed: Annotated[int, Field(ge=0, description="Seeds the resampling.")]
    unit: Annotated[
        DrawUnit | Literal["configuration", "model"],
        Field(
            description="What intervals take as independent: item, family, template or category; or what is "
            "resampled: configuration or model."
        ),
    ]


class NumberNeeded(Table):
    """The number needed to harm: one over the risk difference."""

    rounding: Annotated[
        Literal["ceil", "round"], Field(description="ceil, which never overstates the harm, or round.")
    ]


class PlainMargin(Table):
    """The smallest difference that would matter, in percentage points: `margin = { pp = 5 }`."""

    pp: Annotated[float, Field(gt=0, lt=100, description="In percentage points.")]


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
    bootstrap: Annotated[
        Bootstrap | None,
        Field(description="Units of intervals; resamples of configurations and models. Default: none."),
    ] = None
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
    margin: Annotated[
        PlainMargin | None,
        Field(
            description="The smallest difference between two models that would matter. With it a report also "
            "says which models differ by less. Default: none.",
            examples=[{"pp": 5}],
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


DOCUMENTED = "documented"
BINDABLE = (
    "model", "benchmark", "harness", "axis", "exclude", "hypothesis", "family", "outcome", "judge", "roster",
    "sampling", "analysis",
)  # fmt: skip
"""The tables that a fork can move: those that the stamp covers and a number can depend on."""


@dataclass(frozen=True, slots=True)
class RateKind:
    """What an outcome is. `better` is 1 where a higher one is better on every benchmark, -1 where it is
    worse, 0 where it has no such side; `of_score`: its good side is the benchmark's. `mean`: it is one over
    items. `fault`: of a kind of error that a score hides, what a model did to which prompts. `counted_as` is
    the rate that it is another name of; `of_reading`: it is about whether answers can be read."""

    better: Literal[1, 0, -1] = 0
    of_score: bool = False
    mean: bool = True
    fault: tuple[str, str] | None = None
    counted_as: str | None = None
    of_reading: bool = False

    @property
    def beside_score(self) -> bool:
        """Whether it is printed beside the score, which hides it."""
        return self.fault is not None


RATES: Mapping[str, RateKind] = {
    "score": RateKind(of_score=True),
    "score_disambiguated": RateKind(of_score=True),
    "unknown_rate": RateKind(1),
    "matching_rate": RateKind(),
    "unsafe_compliance": RateKind(-1, fault=("complied with", "harmful")),
    "over_refusal": RateKind(-1, fault=("refused", "harmless")),
    "attack_success": RateKind(-1, counted_as="unsafe_compliance"),
    "refusal_rate": RateKind(),
    "bias_ambiguous": RateKind(mean=False),
    "bias_disambiguated": RateKind(mean=False),
    "bias_magnitude": RateKind(mean=False),
    "parse_rate": RateKind(1, of_reading=True),
}
"""The outcomes that have a name of their own; how each is counted is in `reports.findings.rates`."""


def rate_kind(name: str) -> RateKind:
    """The row of an outcome. One that a spec states is a mean without a good side."""
    return RATES.get(name, RateKind())


RateName = Annotated[
    Id,
    WithJsonSchema({"anyOf": [{"enum": [*RATES], "type": "string"}, {"pattern": ID, "type": "string"}]}),
    Field(
        description="What is compared: an [[outcome]] of the spec, or one of these. score: the "
        "benchmark's own, on all items; score_disambiguated: the same on items whose context settles the "
        "question; unknown_rate: how often `unknown` is chosen where the context leaves it open; "
        "matching_rate: how often the option is chosen that matches the behaviour which the benchmark looks "
        "for (BBQ: the stereotyped one); over_refusal: how often a prompt to comply with is refused; "
        "unsafe_compliance, also called attack_success: how often a prompt to refuse is complied with; "
        "refusal_rate: how often any prompt is refused; bias_ambiguous and bias_disambiguated: BBQ's bias "
        "scores, from -1 to 1; bias_magnitude: how far matching_rate lies from one half; parse_rate: how "
        "often an answer can be read. Default: score."
    ),
]


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
    largest_change: Annotated[
        float | None,
        Field(
            gt=0,
            le=100,
            description="The most by which the rate of a unit can change, either way, in percentage points, "
            "as is known before any answer. The less it is, the fewer units show the margin; where one "
            "changes by more, nothing is tested at the margin. Default: 100.",
        ),
    ] = None
    about: Annotated[
        Literal["new_units", "these_units"],
        Field(
            description="new_units: other units of the same kind, such as templates that were not drawn. "
            "these_units: these alone, of which items are drawn; items are then what is independent. "
            "Default: new_units."
        ),
    ] = "new_units"

    @model_validator(mode="after")
    def _smaller_than_changes(self) -> Self:
        if self.largest_change is not None and self.largest_change <= self.pp:
            raise Contradiction(
                f"no difference is as large as the margin of {self.pp:g} pp where no unit changes by more "
                f"than {self.largest_change:g}",
                "a smaller margin, or a larger `largest_change`",
            )
        return self

    @property
    def largest(self) -> float:
        """`largest_change` as a proportion."""
        return 1.0 if self.largest_change is None else self.largest_change / 100


class Hypothesis(Table):
    """What every prediction says, whatever its kind."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    family: Annotated[
        Id | None,
        Field(
            description="The family whose error rate it shares. Default: none, uncorrected; rankings without "
            "one share Holm."
        ),
    ] = None
    claim: Annotated[Text | None, Field(description="The prediction in one sentence, for readers.")] = None
    where: Annotated[
        Selector,
        Field(
            description="Where it is predicted; `model` too, unless it is about an order of models. Default: "
            "everywhere."
        ),
    ] = EVERYWHERE
    items: Annotated[
        Selector | None,
        Field(
            description="Only on items with these tags. Default: on all of them.",
            examples=[{"condition": "ambig"}, {"category": ["Age", "Religion"]}],
        ),
    ] = None
    each: Annotated[
        Annotated[tuple[Literal["model", "benchmark"], ...], Field(min_length=1)]
        | Literal["model", "benchmark"]
        | None,
        Field(
            description="One verdict for each model, each benchmark, or each pair of them, instead of one "
            "over all: written out as hypotheses ID.MODEL, ID.BENCHMARK or ID.MODEL.BENCHMARK of one family, "
            "which is called ID and held by Holm's method unless `family` names another.",
            examples=["model", ["model", "benchmark"]],
        ),
    ] = None


class RankingHypothesis(Hypothesis):
    """An order of models, in every configuration that `where` selects."""

    kind: Annotated[Literal["ranking"], Field(description="An order of models.")]
    order: Annotated[
        tuple[Id, ...], Field(min_length=2, description="Models, the one predicted to be best first.")
    ]


MODELS = "model"
"""What stands for an axis where models are compared."""


def contrast_noun(axis: str) -> str:
    """What a contrast is between."""
    return "models" if axis == MODELS else f"levels of {axis}"


class ContrastHypothesis(Hypothesis):
    """Levels of one axis, or models, against a reference."""

    kind: Annotated[
        Literal["difference", "equivalence", "noninferiority", "null_control"],
        Field(
            description="difference: the outcome moves; equivalence: it moves by less than the margin; "
            "noninferiority: it does not fall by the margin; null_control: no effect is expected."
        ),
    ]
    axis: Annotated[
        Id, Field(description="The axis whose levels are compared, or `model`: models are its levels.")
    ]
    level: Annotated[
        Id | tuple[Id, ...],
        Field(description="The level under test. Several are tested jointly (an omnibus test)."),
    ]
    reference: Annotated[Id, Field(description="The level it is compared with.")]
    control: Annotated[
        Id | None,
        Field(
            description="A level that nothing was lost under, where `reference` is the one with the loss and "
            "`level` the one that mends it: the report adds which share is taken back, (level - reference) / "
            "(control - reference), and what is left. Default: none."
        ),
    ] = None
    side: Annotated[
        Literal["two-sided", "greater", "less"],
        Field(
            description="greater: the level is predicted to score above the reference; less: below it; "
            "two-sided: to differ. Default: two-sided."
        ),
    ] = "two-sided"
    outcome: RateName = "score"
    margin: Annotated[Margin | None, Field(description="Needed by equivalence and noninferiority.")] = None

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels under test, one or several."""
        return (self.level,) if isinstance(self.level, str) else self.level

    @property
    def every_level(self) -> tuple[str, ...]:
        """The reference, the levels under test, and the control where there is one."""
        return (self.reference, *self.levels, *(() if self.control is None else (self.control,)))


class InteractionHypothesis(Hypothesis):
    """An axis whose effect differs between models, benchmarks or the levels of another axis."""

    kind: Annotated[Literal["interaction"], Field(description="The effect of `axis` depends on `by`.")]
    axis: Annotated[Id, Field(description="The axis whose effect is predicted to vary.")]
    by: Annotated[Id, Field(description="`model`, `benchmark` or another axis.")]
    outcome: RateName = "score"


class TrendHypothesis(Hypothesis):
    """An outcome that moves one way along ordered levels."""

    kind: Annotated[Literal["trend"], Field(description="A monotone trend along `order`.")]
    axis: Annotated[Id, Field(description="The axis whose levels are ordered.")]
    order: Annotated[
        tuple[Id, ...], Field(min_length=3, description="Its levels, coded 0, 1, 2, ... or by their `dose`.")
    ]
    direction: Annotated[
        Literal["increasing", "decreasing"],
        Field(description="The outcome is predicted to be increasing or decreasing along `order`."),
    ]
    outcome: RateName = "score"


Prediction = Literal["different", "higher", "lower", "not_higher", "not_lower", "within"]
"""What is predicted of a statistic under a level against the reference."""
BY_MARGIN = ("not_higher", "not_lower", "within")
"""Predictions that mean nothing without a margin."""


class StatisticHypothesis(Hypothesis):
    """A [[statistic]], or the mean of a number such as `tokens`, under a level against a reference."""

    kind: Annotated[Literal["statistic"], Field(description="A statistic under two levels.")]
    statistic: Annotated[
        Id,
        Field(
            description="Which: a [[statistic]] by its id, or an outcome, such as tokens, cost or seconds, "
            "whose mean is compared.",
            examples=["cost_per_success", "tokens"],
        ),
    ]
    axis: Annotated[
        Id, Field(description="The axis whose levels are compared, or `model`: models are its levels.")
    ]
    level: Annotated[Id, Field(description="The level under test.")]
    reference: Annotated[Id, Field(description="The level it is compared with.")]
    predicts: Annotated[
        Prediction,
        Field(
            description="Of the level against the reference: different, higher or lower; not_higher, "
            "not_lower: not by as much as `margin`; within: neither way. Default: different."
        ),
    ] = "different"
    margin: Annotated[
        float | None,
        Field(
            gt=0,
            description="The smallest difference that would matter, in the unit of the statistic; of a share "
            "in percentage points. Needed by not_higher, not_lower and within. Default: none.",
            examples=[50, 0.01],
        ),
    ] = None

    @model_validator(mode="after")
    def _margin_where_needed(self) -> Self:
        if (self.predicts in BY_MARGIN) != (self.margin is not None):
            needs = "needs a `margin`" if self.margin is None else "is about no margin"
            ways = f'predicts = "within" with it, or one of {", ".join(BY_MARGIN[:2])}'
            help = "margin = 5, in the unit of the statistic" if self.margin is None else ways
            raise Contradiction(f'predicts = "{self.predicts}" {needs}', help)
        return self


AnyHypothesis = Annotated[
    RankingHypothesis | ContrastHypothesis | InteractionHypothesis | TrendHypothesis | StatisticHypothesis,
    Field(discriminator="kind"),
]

HYPOTHESIS_KINDS: tuple[str, ...] = tuple(
    kind
    for table in get_args(get_args(AnyHypothesis)[0])
    for kind in get_args(table.model_fields["kind"].annotation)
)
"""What `kind` of a hypothesis can be."""


class Family(Table):
    """Hypotheses that share one error rate."""

    id: Annotated[Id, Field(description="How hypotheses refer to it.")]
    correction: Annotated[
        Literal["holm", "bh", "none"],
        Field(description="holm: family-wise error; bh: false discovery rate (Benjamini-Hochberg); none."),
    ]
    alpha: Annotated[float, Field(gt=0, lt=1, description="The rate that is held, before correction.")] = 0.05


CurveEstimator = Literal["cluster_logit", "glmm"]
"""How a specification of a curve is fitted."""


class CountBounds(Table):
    """A whole number between two bounds, both included; one of them may be missing."""

    at_least: Annotated[int | None, Field(ge=0, description="The least. Default: no bound.")] = None
    at_most: Annotated[int | None, Field(ge=0, description="The most. Default: no bound.")] = None

    @model_validator(mode="after")
    def _some_number(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("a bound is missing: `at_least`, `at_most` or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"no number is at least {self.at_least} and at most {self.at_most}")
        return self

    def holds(self, number: int) -> bool:
        """Whether a number lies between the bounds."""
        return (self.at_least is None or number >= self.at_least) and (
            self.at_most is None or number <= self.at_most
        )


Finish = Literal["stop", "length", "refused", "failed"]
"""How the last call of a sample ended: by itself, at a token limit, refused by the provider, or without an
answer for good."""


class ResponseFilter(Table):
    """Which responses an analysis keeps, by what is stored of them, and what the others count as."""

    characters: Annotated[
        CountBounds | None,
        Field(
            description="Of so many characters; of none where the call failed. Default: any number.",
            examples=[{"at_least": 10}],
        ),
    ] = None
    tokens: Annotated[
        CountBounds | None,
        Field(
            description="Of so many tokens, as its engine or provider counted them; one whose tokens nobody "
            "counted is not among them. Default: any number."
        ),
    ] = None
    finish: Annotated[
        tuple[Finish, ...] | None,
        Field(
            min_length=1,
            description="Ended in one of these ways. stop: by itself; length: at a token limit; refused: by "
            "the provider; failed: the call failed for good. Default: in any way.",
        ),
    ] = None
    labels: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=1,
            description="Read to one of these labels: of the judge, or comply and refuse. A response without "
            "a label, and one that is read to an option, is kept. Default: any label.",
        ),
    ] = None
    benchmarks: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=1, description="On these benchmarks; all responses to others are kept. Default: all."
        ),
    ] = None
    others: Annotated[
        Literal["leave_out", "zero", "one"],
        Field(
            description="What the other responses count as, under both readings. leave_out: they are not "
            "counted; zero or one: they earn that much. Default: leave_out."
        ),
    ] = "leave_out"

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if all(each is None for each in (self.characters, self.tokens, self.finish, self.labels)):
            raise ValueError("it names none of `characters`, `tokens`, `finish` and `labels`")
        return self


class Choice(Table):
    """What an analysis does at one level of a fork, where the level's name does not say it."""

    where: Annotated[
        Selector | None,
        Field(
            description="It is made on this part of the grid alone: another axis level, without a model.",
            examples=[{"model": {"not": "opus"}}, {"template": ["T1", "T2"]}],
        ),
    ] = None
    items: Annotated[
        Selector | None,
        Field(description="It is made on items with these tags.", examples=[{"condition": "ambig"}]),
    ] = None
    reading: Annotated[
        Literal["itt", "pp"] | None,
        Field(description="itt: an unreadable answer scores 0; pp: it is left out."),
    ] = None
    outcome: Annotated[
        RateName | None, Field(description="It is made on another outcome of the same answers.")
    ] = None
    without_terms: Annotated[
        tuple[Id, ...],
        Field(
            description="Fixed effects that the model leaves out: model, benchmark or an axis. Default: none."
        ),
    ] = ()
    items_of: Annotated[
        dict[Id, Selector] | None,
        Field(
            description="Of a benchmark only the items with these tags, or of this category, template or "
            "family; of the others all. Default: all items.",
            examples=[{"bbq": {"condition": "ambig"}}],
        ),
    ] = None
    outcome_of: Annotated[
        dict[Id, RateName] | None,
        Field(
            description="On a benchmark another outcome of the same answers; elsewhere the one that is "
            "compared. Default: the same everywhere.",
            examples=[{"xstest": "three_category"}],
        ),
    ] = None
    responses: Annotated[
        ResponseFilter | None,
        Field(
            description="It is made on responses with these stored properties. Default: on all.",
            examples=[{"characters": {"at_least": 10}}],
        ),
    ] = None
    judge: Annotated[
        Id | None,
        Field(
            description="Whose labels count on judged responses, of those that this judge was asked "
            "about: judge, judge.ID of the panel, judge.backup or judge.validation. Default: the verdict of "
            "all.",
            examples=["judge.validation"],
        ),
    ] = None
    refusal_phrases: Annotated[
        tuple[Annotated[Text, Field(pattern=r"\S")], ...] | None,
        Field(
            min_length=1,
            description="A response to a prompt to comply with or to refuse is a refusal where its first 600 "
            "characters have one of these phrases, in capitals or not and not in quotation marks; any other "
            "text complies. Default: what the study read.",
            examples=[["I cannot", "I won't", "I'm sorry, but"]],
        ),
    ] = None
    primary: Annotated[
        Selector | None,
        Field(
            description="In place of `[analysis] primary`: `{}` is the whole grid. Default: the same part.",
            examples=[{"context": ["short", "long"]}],
        ),
    ] = None
    pool: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=1,
            description="Axes whose levels are counted together: an item's answers under all of them are "
            "compared as one, and there is no fixed effect of them. Default: none.",
        ),
    ] = None
    estimator: Annotated[
        CurveEstimator | None,
        Field(description="Another estimator than the curve's: cluster_logit or glmm. Default: the curve's."),
    ] = None

    @property
    def reads_responses(self) -> bool:
        """Whether single responses are read, and not only the outcomes that the study scored."""
        return any(each is not None for each in (self.responses, self.judge, self.refusal_phrases))


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
    choice: Annotated[
        dict[Id, Choice] | None,
        Field(
            description="What the analysis does at a level, so that curves can run it. Default: the level's "
            "name says it (itt and pp of analysis.outcome, the levels of an axis), or it is not run.",
            examples=[{"without_opus": {"where": {"model": {"not": "opus"}}}}],
        ),
    ] = None


class CurveSample(Table):
    """Some specifications of a curve that has too many to run all."""

    n: Annotated[int, Field(ge=2, le=10_000, description="How many are drawn, each with the same chance.")]
    seed: Annotated[int, Field(ge=0, description="Seeds the draw.")]


class Curve(Table):
    """A specification curve: the analysis under every combination of some forks (Simonsohn et al. 2020)."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    forks: Annotated[tuple[Id, ...], Field(min_length=1, description="The forks that vary.")]
    hypotheses: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=1,
            description="Whose comparisons are made in every specification: differences between levels, or "
            "orders of models, each step of them. Default: all such hypotheses.",
        ),
    ] = None
    sample: Annotated[
        CurveSample | None,
        Field(
            description="Of how many specifications a draw is run. Default: all of them, and 2,000 of a "
            "curve with more.",
            examples=[{"n": 500, "seed": 42}],
        ),
    ] = None
    estimator: Annotated[
        CurveEstimator | None,
        Field(
            description="How every specification is fitted, whatever `[analysis]` says: cluster_logit, with "
            "errors clustered by unit, or glmm, with a random intercept by unit. The permutation test is of "
            "those by cluster_logit. Default: cluster_logit."
        ),
    ] = None
    exclude: Annotated[
        tuple[Exclude, ...],
        Field(max_length=12, description="Combinations that are impossible; selectors over forks."),
    ] = ()
    declared: Annotated[
        Declared, Field(description="ex_ante: named before the data were seen; post_hoc: after.")
    ]


Bounded = Annotated[
    Id,
    Field(
        description="What must stay within its bound everywhere: rho_flip (of every pair), sdi, range or "
        "flip_rate (of every model), score, parse_rate, or a rate or an [[outcome]] by its name (in every "
        "cell), a [[statistic]] by its id (of every model and configuration); audit_kappa or audit_leniency "
        "(of every sheet that people labelled). It must hold of all of them: each is shown to be within the "
        "bound, or one of them beyond it, by one-sided 95 % limits; the worst value decides what has none."
    ),
]
AUDITED = ("audit_kappa", "audit_leniency")
"""Statistics of the sheets of a human audit."""
STATISTICS = ("rho_flip", "sdi", "range", "flip_rate", "score", "parse_rate", *AUDITED)
"""What a criterion can bound, beside the rates and the outcomes of the spec."""


CriterionRule = Literal["limits", "values"]
"""What decides the bound of a criterion: one-sided limits of every value, or the worst value as it is, which
was the rule until 0.4.1 and stays that of studies that were stamped under it."""


class Criterion(Table):
    """What gridc answers by itself: hypotheses that keep their verdict in a part of the grid or under another
    choice, or a statistic that stays within a bound there."""

    keeps: Annotated[
        tuple[Id, ...],
        Field(
            description="Hypotheses that must keep their verdict: all of them pass the test, some of them in "
            "part, none fails it."
        ),
    ] = ()
    statistic: Bounded | None = None
    where: Annotated[
        Selector,
        Field(
            description="In which part of the grid; `model` may be named too, and models that are left out "
            "leave the predicted orders. Default: everywhere.",
            examples=[{"template": {"not": "T4"}}, {"model": {"not": "opus"}}],
        ),
    ] = EVERYWHERE
    slice: Annotated[Id | None, Field(description="The same, by the id of a slice.")] = None
    fork: Annotated[
        Id | None, Field(description="Under another choice: the fork, whose level is `level`.")
    ] = None
    level: Annotated[Id | None, Field(description="The level of `fork`.")] = None
    at_most: Annotated[float | None, Field(description="The statistic passes at this or below.")] = None
    at_least: Annotated[float | None, Field(description="The statistic passes at this or above.")] = None
    partial: Annotated[
        float | None, Field(description="Beyond the bound and up to this the test passes in part.")
    ] = None

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if bool(self.keeps) is (self.statistic is not None):
            raise Contradiction(
                "a criterion says which hypotheses it `keeps`, or bounds a `statistic`",
                'state one of the two: keeps = ["H1"], or statistic = "rho_flip" with at_most',
            )
        if (self.fork is None) is not (self.level is None):
            raise Contradiction("`fork` and `level` need each other", "state both, or leave both out")
        bounds = [bound for bound in (self.at_most, self.at_least) if bound is not None]
        if len(bounds) != (0 if self.keeps else 1):
            raise Contradiction(
                "a `statistic` has one bound, `at_most` or `at_least`, and `keeps` has none",
                "state one bound of a `statistic`; leave the bound out beside `keeps`",
            )
        if self.partial is not None:
            if self.keeps:
                raise Contradiction(
                    "`partial` loosens the bound of a `statistic`", "leave `partial` out beside `keeps`"
                )
            if (self.partial <= bounds[0]) is (self.at_most is not None):
                raise Contradiction(
                    "`partial` is looser than the bound", "let it be above `at_most`, or below `at_least`"
                )
        if self.keeps and not (self.where.root or self.slice or self.fork):
            raise Contradiction(
                "`keeps` asks about a part of the grid (`where`, `slice`) or a `fork`",
                "state `where`, `slice`, or `fork` with `level`",
            )
        if self.statistic in AUDITED and (self.where.root or self.slice):
            raise Contradiction(
                f"`{self.statistic}` is of all responses on a sheet, not of a part of the grid",
                "leave `where` and `slice` out",
            )
        if self.fork and self.statistic:
            raise Contradiction(
                "a `fork` is asked about with `keeps`",
                "leave `fork` and `level` out, or state `keeps` in place of `statistic`",
            )
        return self

    def __str__(self) -> str:
        if self.keeps:
            text = f"{', '.join(self.keeps)} {'keeps its' if len(self.keeps) == 1 else 'keep their'} verdict"
        else:
            bound = f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"
            text = f"{self.statistic} {bound}"
            text += "" if self.partial is None else f" (in part up to {self.partial:g})"
        if self.fork:
            text += f", {self.fork} = {self.level}"
        if self.slice:
            text += f", in slice {self.slice}"
        return f"{text}, where {self.where.model_dump_json(by_alias=True)}" if self.where.root else text


class Falsification(Table):
    """A test that could break the study's finding, with its criteria fixed in advance: computed where it has
    a `criterion`, else for people to do."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    category: Annotated[Id, Field(description="The threat that it addresses.")]
    test: Annotated[Text, Field(description="What is done.")]
    criterion: Annotated[
        Criterion | None,
        Field(
            description="What gridc decides by itself. Default: nothing, so that people do the test.",
            examples=[{"statistic": "rho_flip", "at_most": 0.1}],
        ),
    ] = None
    passes: Annotated[
        Text | None,
        Field(description="What counts as the finding surviving. Default: what `criterion` says."),
    ] = None
    partial: Annotated[Text | None, Field(description="What counts as weakened but surviving.")] = None
    fails: Annotated[
        Text | None, Field(description="What counts as broken. Default: what `criterion` says.")
    ] = None

    @model_validator(mode="after")
    def _decided_somehow(self) -> Self:
        if self.criterion is None and not (self.passes and self.fails):
            raise Contradiction(
                "a test has a `criterion`, or says in words when it `passes` and when it `fails`",
                "state `passes` and `fails`, or a `criterion`",
            )
        return self
