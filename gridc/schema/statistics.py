"""Statistics: numbers over many responses beside their scores, such as F1, a win rate or cost per success."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gridc.schema.base import ID, Contradiction, Id, Selector, Table, Text
from gridc.schema.formulas import ANSWERS, Formula

StatisticKind = Literal[
    "precision", "recall", "specificity", "f1", "matthews", "auroc", "brier", "calibration_error",
    "macro_mean", "win_rate", "spread_within", "spread_between", "strength", "chrf", "bleu",
    "mean", "ratio", "formula", "gap", "consistency",
    "pass_at", "pass_all",
]  # fmt: skip

CLASSIFIES = ("precision", "recall", "specificity", "f1", "matthews")
"""Of a table of responses that are positive or not on items that are positive or not."""
ATTEMPTS = ("pass_at", "pass_all")
"""Of `k` of an item's answers. An id such as `pass_at_3` says kind and `k`."""
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
    "mean": (("outcome",), ()),
    "ratio": (("above", "below"), ()),
    "formula": (("formula",), ()),
    "gap": (("of", "over"), ()),
    "consistency": (("over",), ("outcome",)),
    **dict.fromkeys(ATTEMPTS, (("k",), ("outcome",))),
}
"""Of each kind the keys that it needs and the others that it reads, beside those of every statistic."""
OWN = ("positive", "predicted", "confidence", "outcome", "bins", "by", "above", "below", "formula", "of", "k")
READ = ("predicted", "confidence", "outcome", "above", "below")
"""Keys that name an outcome."""
MEASURES = ("mean", "ratio", "formula", "gap")
"""Kinds that read numbers in any unit; the others read shares."""
COMPARABLE = (*CLASSIFIES, "auroc", "brier", "macro_mean", "mean", "ratio", "formula")
"""Kinds of which two values can be compared: their difference has limits."""
ANSWER = "answer"
"""What consistency can be of beside outcomes: what responses were read to, whatever they earn."""
BINS = 10
NAMED_ATTEMPTS = rf"^({'|'.join(ATTEMPTS)})_([1-9][0-9]{{0,3}})$"


def kind_of_id(name: str) -> dict[str, str | int]:
    """What an id says of a statistic that does not say its kind: the kind, and of attempts the `k`."""
    if name in KEYS:
        return {"kind": name}
    attempts = re.match(NAMED_ATTEMPTS, name)
    return {} if attempts is None else {"kind": attempts[1], "k": int(attempts[2])}


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
            "Bradley and Terry, where judges compare models; mean: of an outcome, such as the tokens or the "
            "cost of an answer; ratio: one total over another, such as cost over score; formula: of totals; "
            "gap: the largest value less the smallest over the levels of an axis; consistency: the share of "
            "items with one outcome under all of them; "
            "chrf, bleu: of all texts against their references (sacrebleu); pass_at, pass_all: the chance "
            "that of `k` answers to an item one is right or more, or every one, mean over items. An `id` "
            "that is one of these names says it, too, as does `pass_at_3`, with k = 3."
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
            description="What counts of the responses: a rate, an [[outcome]], a number in `units` of a "
            "scorer, or what a response took: tokens, thought_tokens, read_tokens, cost, seconds, calls; of "
            "consistency also `answer`, what it was read to. Default: score."
        ),
    ] = None
    above: Annotated[
        Id | None, Field(description="Of ratio: the outcome whose total is divided.", examples=["cost"])
    ] = None
    below: Annotated[
        Id | None,
        Field(description="Of ratio: the outcome whose total it is divided by.", examples=["score"]),
    ] = None
    formula: Annotated[
        Text | None,
        Field(
            description="Numbers, totals of outcomes by name, `answers` (how many there are), + - * / **, "
            "brackets, and sqrt, log, exp, min, max. Each response adds to the totals what it earns.",
            examples=["5 * hits / (5 * hits + 4 * missed + alarms)", "sqrt(score * polite) / answers"],
        ),
    ] = None
    of: Annotated[
        Id | None,
        Field(
            description="Of gap: the [[statistic]] or outcome whose largest and smallest value it compares.",
            examples=["score", "f1"],
        ),
    ] = None
    k: Annotated[
        int | None,
        Field(
            ge=1,
            le=1000,
            description="Of pass_at and pass_all: of how many answers, of the `replicates` of an item: with "
            "c of n that count, 1 - C(n - c, k) / C(n, k) (Chen et al. 2021) and C(c, k) / C(n, k) (Yao et "
            "al. 2024), unbiased for k new answers.",
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
            description="Axes whose levels are taken together, or compared by gap and consistency; of "
            "strength those that say who is the opponent. Default: none, so that each configuration has its "
            "own.",
        ),
    ] = None
    what: Annotated[Text | None, Field(description="What it says, in a phrase; printed beside it.")] = None

    @model_validator(mode="after")
    def _keys_of_its_kind(self) -> Self:
        needed, others = KEYS[self.kind]
        for key in needed:
            if getattr(self, key) is None:
                raise Contradiction(f"`{self.kind}` needs `{key}`", WAYS_OUT[key])
        if self.formula is not None:
            Formula(self.formula)
        if self.kind == "gap" and len(self.over or ()) > 1:
            raise Contradiction(
                "a gap is over the levels of one axis", f'over = ["{(self.over or ("",))[0]}"]'
            )
        for key in OWN:
            if getattr(self, key) is not None and key not in (*needed, *others):
                raise Contradiction(f"`{self.kind}` does not read `{key}`", f"leave `{key}` out")
        return self

    @model_validator(mode="after")
    def _k_of_its_name(self) -> Self:
        named = kind_of_id(self.id) if self.kind in ATTEMPTS else {}
        if named and (named["kind"], named.get("k", self.k)) != (self.kind, self.k):
            raise Contradiction(
                f"`{self.id}` is called after another kind or `k` than it has",
                f'id = "{self.kind}_{self.k}", or a name that says neither',
            )
        return self

    @property
    def benchmarks(self) -> tuple[str, ...] | None:
        """None: every one."""
        return (self.benchmark,) if isinstance(self.benchmark, str) else self.benchmark

    @property
    def compares_levels(self) -> bool:
        """Whether `over` names what it compares, and not what it takes together."""
        return self.kind in ("gap", "consistency")

    @property
    def outcomes(self) -> Mapping[str, str]:
        """The outcomes that it reads, by key: the score where none is named. Of a formula each is its own
        key."""
        if self.formula is not None:
            return {name: name for name in Formula(self.formula).names}
        keys = [key for part in KEYS[self.kind] for key in part if key in READ]
        return {key: getattr(self, key) or "score" for key in keys or ("outcome",)}


def called(name: str, stated: Sequence[Statistic]) -> Statistic:
    """The statistic of this name, of those that a spec has `stated`; of an outcome its mean."""
    own = next((each for each in stated if each.id == name), None)
    return Statistic(id=name, kind="mean", outcome=name) if own is None else own


RATIO = re.compile(r"([A-Za-z_]\w*)\s*/\s*([A-Za-z_]\w*)")


def in_short(line: str) -> Statistic:
    """The statistic that a line states: `tokens`, the mean of an outcome; `pass_at_3`; `tokens / score`, a
    ratio; another formula of totals, with a name: `NAME=FORMULA`. Raises `Contradiction` for anything
    else, and pydantic's `ValidationError` for a name that is none."""
    name, _, what = (part.strip() for part in line.rpartition("="))
    ratio = RATIO.fullmatch(what)
    if kind := kind_of_id(what):
        if "k" not in kind:
            raise Contradiction(
                f"a line does not say `{what}` whole", "such as pass_at_3, tokens, cost / score"
            )
        return Statistic.model_validate({"id": name or what, **kind})
    if ratio is not None and ANSWERS not in ratio.groups():
        above, below = ratio.groups()
        return Statistic(id=name or f"{above}_per_{below}", kind="ratio", above=above, below=below)
    if re.fullmatch(ID, what):
        return Statistic(id=name or what, kind="mean", outcome=what)
    Formula(what)
    if not name:
        raise Contradiction(f"the formula `{what}` has no name", f"NAME={what}")
    return Statistic(id=name, kind="formula", formula=what)


def gap_statistic(statistic: Statistic, stated: Sequence[Statistic]) -> Statistic:
    """The statistic whose values a gap compares. Of other kinds it is the statistic itself."""
    if statistic.of is None:
        return statistic
    own = called(statistic.of, stated)
    return own.model_copy(update={"benchmark": statistic.benchmark or own.benchmark, "over": None})


WAYS_OUT: Mapping[str, str] = {
    "positive": 'positive = { label = "unsafe" }, a tag of the items: tags = ["label"] in loading.fields',
    "predicted": "predicted = the id of an [[outcome]] that is a number from 0 to 1",
    "confidence": "confidence = the id of an [[outcome]] that is a number from 0 to 1",
    "k": "k = 3, or fewer than an item has answers; an id such as `pass_at_3` says it, too",
    "over": 'over = ["AXIS"], an axis of the spec',
    "outcome": 'outcome = "tokens", or another outcome by its name',
    "above": 'above = "cost", the outcome whose total is divided',
    "below": 'below = "score", the outcome whose total it is divided by',
    "formula": 'formula = "score / tokens", of totals of outcomes',
    "of": 'of = "score", an outcome or a [[statistic]] by its id',
}
"""How a key that is missing is stated."""
