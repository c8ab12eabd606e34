"""Statistics: numbers over many responses that no mean of single scores is, such as F1 or a win rate."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gridc.schema.base import Contradiction, Id, Selector, Table, Text

StatisticKind = Literal[
    "precision", "recall", "specificity", "f1", "matthews", "auroc", "brier", "calibration_error",
    "macro_mean", "win_rate", "spread_within", "spread_between", "strength", "chrf", "bleu",
]  # fmt: skip

CLASSIFIES = ("precision", "recall", "specificity", "f1", "matthews")
"""Of a table of responses that are positive or not on items that are positive or not."""
KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(CLASSIFIES, (("positive",), ("predicted",))),
    "auroc": (("positive", "predicted"), ()),
    "brier": (("confidence",), ("outcome",)),
    "calibration_error": (("confidence",), ("outcome", "bins")),
    "macro_mean": ((), ("outcome", "by")),
    "win_rate": ((), ("outcome",)),
    **dict.fromkeys(("spread_within", "spread_between"), ((), ())),
    "strength": (("over",), ()),
    **dict.fromkeys(("chrf", "bleu"), ((), ())),
}
"""Of each kind the keys that it needs and the others that it reads, beside those of every statistic."""
OWN = ("positive", "predicted", "confidence", "outcome", "bins", "by")
BINS = 10


class Statistic(Table):
    """A number over the responses of a model under a configuration, beside its scores: one that is no mean of
    what single responses earn. It has an interval over units where one is known to hold, and a criterion can
    bound it."""

    id: Annotated[Id, Field(description="How criteria and reports call it.")]
    kind: Annotated[
        StatisticKind,
        Field(
            description="precision, recall, specificity, f1, matthews (correlation): of the items that are "
            "`positive` and the responses that say so; auroc: how well a number tells positive items; brier, "
            "calibration_error: a stated `confidence` against what was right; macro_mean: mean of the "
            "benchmarks' means, or by category of those of one benchmark's categories; win_rate: the share "
            "of the other models that a model beats, mean over benchmarks; spread_within, spread_between: "
            "standard deviation of scores over the replicates of an item, and of items' means; strength: of "
            "Bradley and Terry, where judges compare models; "
            "chrf, bleu: of all texts against their references (sacrebleu). An `id` that is one of these "
            "names says it, too."
        ),
    ]
    benchmark: Annotated[
        Id | tuple[Id, ...] | None,
        Field(description="The benchmarks whose responses it takes together. Default: every benchmark."),
    ] = None
    positive: Annotated[
        Selector | None,
        Field(
            description="Which items are positive, by their tags, or by `expected` (comply, refuse) or "
            "`gold` (the text of the right option).",
            examples=[{"label": "unsafe"}, {"expected": "refuse"}],
        ),
    ] = None
    predicted: Annotated[
        Id | None,
        Field(
            description="An [[outcome]] that is 1 where a response says that its item is positive; of auroc "
            "one that says how likely. Default: a response is as positive as its item where it is right, and "
            "the other one where it is wrong."
        ),
    ] = None
    confidence: Annotated[
        Id | None, Field(description="An [[outcome]]: how sure of itself a response says it is, 0 to 1.")
    ] = None
    outcome: Annotated[
        Id | None,
        Field(
            description="What counts of the responses: a rate or an [[outcome]] by its name. Default: score."
        ),
    ] = None
    bins: Annotated[
        int | None,
        Field(ge=2, le=100, description="Of calibration_error: how many bins of equal width. Default: 10."),
    ] = None
    by: Annotated[
        Literal["benchmark", "category"] | None,
        Field(
            description="Of macro_mean: whose means are averaged, each with the same weight. category: those "
            "of the categories of one benchmark, such as the members of a group of tasks. Default: benchmark."
        ),
    ] = None
    over: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=1,
            description="Axes whose levels are taken together; of strength those that say who is the "
            "opponent. Default: none, so that each configuration has its own.",
        ),
    ] = None
    what: Annotated[Text | None, Field(description="What it says, in a phrase; printed beside it.")] = None

    @model_validator(mode="after")
    def _keys_of_its_kind(self) -> Self:
        needed, others = KEYS[self.kind]
        for key in needed:
            if getattr(self, key) is None:
                raise Contradiction(f"`{self.kind}` needs `{key}`", WAYS_OUT[key])
        for key in OWN:
            if getattr(self, key) is not None and key not in (*needed, *others):
                raise Contradiction(f"`{self.kind}` does not read `{key}`", f"leave `{key}` out")
        return self

    @property
    def benchmarks(self) -> tuple[str, ...] | None:
        """None: every one."""
        return (self.benchmark,) if isinstance(self.benchmark, str) else self.benchmark

    @property
    def outcomes(self) -> Mapping[str, str]:
        """The outcomes that it reads, by key: the score where none is named."""
        keys = [
            key for part in KEYS[self.kind] for key in part if key in ("predicted", "confidence", "outcome")
        ]
        return {key: getattr(self, key) or "score" for key in keys or ("outcome",)}


WAYS_OUT: Mapping[str, str] = {
    "positive": 'positive = { label = "unsafe" }, a tag of the items: tags = ["label"] in loading.fields',
    "predicted": "predicted = the id of an [[outcome]] that is a number from 0 to 1",
    "confidence": "confidence = the id of an [[outcome]] that is a number from 0 to 1",
    "over": 'over = ["opponent"], the axis whose levels name judges that compare with other models',
}
"""How a key that is missing is stated."""
