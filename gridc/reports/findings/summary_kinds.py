"""How each kind of statistic is computed from rows, for each model or for all models together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import isfinite
from typing import Literal

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.reports.findings.observations import Reading
from gridc.reports.findings.summary_rows import (
    StatisticRows,
    StatisticScope,
    StatisticSource,
    level_of,
    of_items,
    of_responses,
)
from gridc.reports.quantities import in_percent
from gridc.schema.formulas import ANSWERS, Formula
from gridc.schema.spec import Benchmark, Spec
from gridc.schema.statistics import BINS, Statistic, StatisticKind, gap_statistic
from gridc.statistics import corpus, total_ratios, totals, unbounded_means, win_rates
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.of_totals import of_totals
from gridc.statistics.reproducibility import digits
from gridc.statistics.strata import UNDETERMINED, PartsStatistic
from gridc.statistics.unit_intervals import Ends, UnitEstimate
from gridc.statistics.widest_gap import METHOD, widest_gap
from gridc.statistics.win_rates import win_rate_limits

OfModel = Callable[[StatisticScope, StatisticRows], UnitEstimate]
OfModels = Callable[[StatisticScope, StatisticRows], Sequence[UnitEstimate]]
OfParts = Callable[[StatisticScope, StatisticRows], PartsStatistic | None]
"""A statistic of parts; None where what it reads has none."""
DifferenceOf = Callable[[StatisticScope, StatisticRows, Flags, Flags], UnitEstimate]
"""The value of some rows less that of others of the same units."""


def _two_classes(rows: StatisticRows) -> Floats:
    return totals.two_classes(rows.positive, rows.values["predicted"], rows.counted)


def _class_share(points: int, rows: Sequence[int]) -> OfParts:
    """Of one column of the table of two classes as a share of some."""

    def of_parts(scope: StatisticScope, mine: StatisticRows) -> PartsStatistic:
        table = _two_classes(mine)
        return totals.share_of_rows(
            mine.unit, table[:, list(rows)].sum(axis=1), table[:, points], scope.confidence
        )

    return of_parts


def _of_table(of: Callable[[Whole, Floats, float], PartsStatistic]) -> OfParts:
    return lambda scope, rows: of(rows.unit, _two_classes(rows), scope.confidence)


def _auroc(scope: StatisticScope, rows: StatisticRows) -> PartsStatistic:
    some = rows.counted > 0
    classes = rows.positive & some, ~rows.positive & some
    return totals.area_under_curve(rows.unit, rows.values["predicted"], *classes, scope.confidence)


def _brier(scope: StatisticScope, rows: StatisticRows) -> PartsStatistic:
    distance = (rows.values["confidence"] - rows.values["outcome"]) ** 2
    return totals.share_of_rows(rows.unit, rows.counted, distance, scope.confidence)


BY_CHANCE = (
    "chance alone puts it above 0, the more the fewer answers a bin holds: no interval allows for that"
)


def _calibration_error(scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
    confidence, right = rows.values["confidence"], rows.values["outcome"]
    value = digits(totals.calibration_error(confidence, right, scope.statistic.bins or BINS))
    return replace(UNDETERMINED, value=value, no_interval=BY_CHANCE)


def _spread(of: Callable[[Whole, Whole, Floats, float], UnitEstimate]) -> OfModel:
    return lambda scope, rows: of(rows.unit, rows.item, rows.values["outcome"], scope.confidence)


def _attempts(every: bool) -> OfModel:
    def estimate(scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
        k = scope.statistic.k or 1
        return totals.attempts(rows.unit, rows.item, rows.values["outcome"], k, every, scope.confidence)

    return estimate


def _corpus(kind: str) -> OfModel:
    def estimate(scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
        texts, references = rows.texts.tolist(), rows.references.tolist()
        return corpus.corpus_score(kind, rows.unit, texts, references, scope.confidence)

    return estimate


def _macro_mean(scope: StatisticScope, rows: StatisticRows) -> PartsStatistic:
    earned, by = rows.values["outcome"], scope.statistic.by
    group, groups = (
        (rows.category, scope.categories) if by == "category" else (rows.benchmark, scope.benchmarks)
    )
    return totals.macro_mean(rows.unit, group, len(groups), rows.counted, earned, scope.confidence)


OTHER_UNITS = "not every model was asked the same of every unit, so no two can be tested unit by unit"


def _win_rates(scope: StatisticScope, rows: StatisticRows) -> list[UnitEstimate]:
    signs = [-1.0 if benchmark.lower_is_better else 1.0 for benchmark in scope.benchmarks]
    asked: list[Floats] = []
    earned: list[Floats] = []
    for place in range(len(scope.benchmarks)):
        mine = rows.of(rows.benchmark == place)
        units, unit = np.unique(mine.unit, return_inverse=True)
        for column, values in ((asked, mine.counted), (earned, mine.values["outcome"])):
            column.append(np.zeros((len(scope.models), len(units))))
            np.add.at(column[-1], (mine.model, unit), values)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [own.sum(axis=1) / of.sum(axis=1) for own, of in zip(earned, asked, strict=True)]
    values = totals.win_rates(np.array(means).T, signs).tolist()
    count = sum(of.shape[1] for of in asked)
    alike = all((of == of[0]).all() for of in asked)
    if not all(map(isfinite, values)):
        return [UNDETERMINED] * len(values)
    if not alike:
        return [replace(UNDETERMINED, value=digits(value), no_interval=OTHER_UNITS) for value in values]
    limits = win_rate_limits(earned, [of[0] for of in asked], signs, scope.confidence)
    return [
        UnitEstimate(digits(value), (digits(low), digits(high)), count, count, method=win_rates.METHOD)
        for value, (low, high) in zip(values, limits.tolist(), strict=True)
    ]


def _strengths(scope: StatisticScope, rows: StatisticRows) -> list[UnitEstimate]:
    apart = rows.of(rows.model != rows.opponent)
    found = totals.player_strengths(
        apart.unit, apart.model, apart.opponent, apart.counted, apart.values["outcome"],
        len(scope.players), scope.confidence,
    )  # fmt: skip
    return found[: len(scope.models)]


def _mean_share(scope: StatisticScope, rows: StatisticRows) -> PartsStatistic | None:
    if scope.statistic.outcome in scope.units:
        return None
    return totals.share_of_rows(rows.unit, rows.counted, rows.values["outcome"], scope.confidence)


def _mean(scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
    return unbounded_means.mean(rows.unit, rows.counted, rows.values["outcome"], scope.confidence)


def _mean_difference(scope: StatisticScope, rows: StatisticRows, one: Flags, other: Flags) -> UnitEstimate:
    own, others = rows.totals(["outcome"], one), rows.totals(["outcome"], other)
    if not np.array_equal(own[:, 1], others[:, 1]):
        return _total_difference(_quotient, scope, own, others)
    asked = own[:, 1] > 0
    moved = (own[:, 0] - others[:, 0])[asked]
    return unbounded_means.mean_difference(np.arange(len(moved)), own[asked, 1], moved, scope.confidence)


def _quotient(sums: Floats) -> Floats:
    """The first column over the second one, not a number where that is 0."""
    value: Floats = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    return value


def _total_difference(
    of: Callable[[Floats], Floats], scope: StatisticScope, own: Floats, others: Floats
) -> UnitEstimate:
    size = own.shape[1]
    both = np.column_stack([own, others])
    return of_totals(lambda sums: of(sums[:, :size]) - of(sums[:, size:]), both, scope.confidence)


def _ratio(scope: StatisticScope, rows: StatisticRows) -> PartsStatistic:
    above, below = rows.values["above"], rows.values["below"]
    # Two numbers in one unit of the author's, such as severity found of severity, are a part and its whole.
    counted_in = {scope.units.get(name, name) for name in scope.statistic.outcomes.values()}
    part_of = len(counted_in) == 1 and bool((above <= below).all())
    return total_ratios.ratio(rows.unit, above, below, rows.counted, scope.confidence, part_of=part_of)


FUNCTIONS: Mapping[str, Callable[..., Floats]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}


def _of_formula(statistic: Statistic) -> tuple[list[str], Callable[[Floats], Floats]]:
    """The outcomes whose totals a formula reads, and its value of such totals and of how many answers they
    are, (B, K + 1) -> (B,)."""
    formula = Formula(statistic.formula or "")
    names = list(formula.names)

    def value(sums: Floats) -> Floats:
        stated = dict(zip([*names, ANSWERS], sums.T, strict=True))
        try:
            with np.errstate(all="ignore"):
                found = formula.value(stated, FUNCTIONS)
        except ArithmeticError:  # of the numbers that it states, which are Python's
            found = np.nan
        given: Floats = np.broadcast_to(np.asarray(found, np.float64), len(sums)).copy()
        given[~np.isfinite(given)] = np.nan
        return given

    return names, value


def _formula(scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
    names, value = _of_formula(scope.statistic)
    return of_totals(value, rows.totals(names, rows.counted > 0), scope.confidence)


def _formula_difference(scope: StatisticScope, rows: StatisticRows, one: Flags, other: Flags) -> UnitEstimate:
    names, value = _of_formula(scope.statistic)
    return _total_difference(value, scope, rows.totals(names, one), rows.totals(names, other))


NOT_DETERMINED = "the difference of two levels is not determined"
SOME_LEVELS = "not every level has answers that count"


def gap_over_levels(kind: "SummaryKind", scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
    """The largest value less the smallest of a statistic of this kind over the levels of the scope."""
    here = [rows.level == place for place in range(len(scope.levels))]
    if not all(some.any() for some in here):
        return replace(UNDETERMINED, no_interval=SOME_LEVELS)
    found = [kind.of(scope, rows.only(some)) for some in here]
    values = [each.value for each in found if each.value is not None]
    if len(values) < len(here):
        return replace(UNDETERMINED, no_interval=SOME_LEVELS)
    lacking: list[str] = []

    def limits(one: int, other: int, confidence: float) -> Ends | None:
        apart = kind.difference(replace(scope, confidence=confidence), rows, here[one], here[other])
        if apart.interval is None:
            lacking.append(apart.no_interval or NOT_DETERMINED)
        return apart.interval

    value, ends = widest_gap(values, limits, scope.confidence)
    fewest = min(found, key=lambda each: each.effective)
    reason = lacking[0] if lacking else ""
    return UnitEstimate(value, ends, fewest.units, fewest.effective, reason, METHOD)


def _consistency(scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
    """Of the items with an answer under every level, the share whose outcomes are all the same. An answer
    that cannot be read is like no other."""
    _, first, place = np.unique(rows.item, return_index=True, return_inverse=True)
    value = rows.values["outcome"]
    seen = np.zeros((len(first), len(scope.levels)), np.bool_)
    seen[place, rows.level] = True
    alike = np.ones(len(first), np.bool_)
    np.logical_and.at(alike, place, (value == value[first][place]) & (value >= 0))
    every = seen.all(axis=1)
    unit = rows.unit[first][every]
    return totals.share_of_rows(
        unit, np.ones(len(unit)), alike[every].astype(np.float64), scope.confidence
    ).estimate()


@dataclass(frozen=True, slots=True)
class SummaryKind:
    """How a kind is computed: of shares of parts, of each model alone, or of all that are there together.
    `formula` says what it is, `reads` whether of what items came to, or of responses one by one, or of their
    texts; where `reads_shares`, shares are of what items came to. `reading`: what nobody could compare is no
    defeat. `apart` is the difference of two values, where
    it is no statistic of shares."""

    formula: str
    of_parts: OfParts | None = None
    of_model: OfModel | None = None
    of_models: OfModels | None = None
    apart: DifferenceOf | None = None
    reads: Literal["items", "responses", "texts"] = "items"
    reads_shares: bool = False
    reading: Reading = "itt"

    def of(self, scope: StatisticScope, rows: StatisticRows) -> UnitEstimate:
        """The value of the rows of one model."""
        shares = None if self.of_parts is None else self.of_parts(scope, rows)
        if shares is not None:
            return shares.estimate()
        some = rows.of(rows.counted > 0)
        return self.of_model(scope, some) if self.of_model and len(some.unit) else UNDETERMINED

    def difference(
        self, scope: StatisticScope, rows: StatisticRows, one: Flags, other: Flags
    ) -> UnitEstimate:
        """The value of some rows less that of others. Not determined where the kind has none."""
        sides = [self.of_parts and self.of_parts(scope, rows.only(each)) for each in (one, other)]
        if sides[0] is not None and sides[1] is not None:
            return sides[0].minus(sides[1], scope.confidence)
        return UNDETERMINED if self.apart is None else self.apart(scope, rows, one, other)


KINDS: Mapping[StatisticKind, SummaryKind] = {
    "precision": SummaryKind("true positives / all that are called positive", _of_table(totals.precision)),
    "recall": SummaryKind("true positives / all that are positive", _class_share(0, [0, 2])),
    "specificity": SummaryKind("true negatives / all that are not positive", _class_share(3, [3, 1])),
    "f1": SummaryKind("2 precision recall / (precision + recall)", _of_table(totals.f1)),
    "matthews": SummaryKind(
        "correlation of what responses say with what items are", _of_table(totals.matthews)
    ),
    "auroc": SummaryKind(
        "chance that of two items the positive one has the larger number", _auroc, reads="responses"
    ),
    "brier": SummaryKind("mean of (confidence - outcome)^2", _brier, reads="responses"),
    "calibration_error": SummaryKind(
        "mean distance of confidence from outcome over bins; few responses in a bin make it larger",
        of_model=_calibration_error,
        reads="responses",
    ),
    "macro_mean": SummaryKind("mean over benchmarks of their means", _macro_mean),
    "win_rate": SummaryKind(
        "share of the other models with a worse mean, a tie half, mean over benchmarks", of_models=_win_rates
    ),
    "spread_within": SummaryKind(
        "standard deviation over an item's replicates",
        of_model=_spread(totals.spread_within),
        reads="responses",
    ),
    "spread_between": SummaryKind(
        "standard deviation of the items' expected scores",
        of_model=_spread(totals.spread_between),
        reads="responses",
    ),
    "strength": SummaryKind(
        "log odds of Bradley and Terry about a mean of 0, a tie half a win, unreadable verdicts left out",
        of_models=_strengths,
        reading="pp",
    ),
    "chrf": SummaryKind(
        "chrF of all texts, 1 where they equal their references", of_model=_corpus("chrf"), reads="texts"
    ),
    "bleu": SummaryKind(
        "BLEU of all texts, 1 where they equal their references", of_model=_corpus("bleu"), reads="texts"
    ),
    "pass_at": SummaryKind(
        "chance that of {k} answers to an item one or more count: 1 - C(n - c, k) / C(n, k), mean over items",
        of_model=_attempts(every=False),
        reads="responses",
    ),
    "pass_all": SummaryKind(
        "chance that {k} answers to an item all count: C(c, k) / C(n, k), mean over items",
        of_model=_attempts(every=True),
        reads="responses",
    ),
    "mean": SummaryKind(
        "mean over answers",
        _mean_share,
        of_model=_mean,
        apart=_mean_difference,
        reads="responses",
        reads_shares=True,
    ),
    "ratio": SummaryKind("one total over another one", _ratio, reads="responses"),
    "formula": SummaryKind(
        "a formula of totals", of_model=_formula, apart=_formula_difference, reads="responses"
    ),
    "gap": SummaryKind("largest value less the smallest over the levels of an axis"),
    "consistency": SummaryKind(
        "share of items with the same outcome under every level", of_model=_consistency, reads="responses"
    ),
}


BY_CATEGORY = "mean over the benchmark's categories of their means"
"""The formula of a macro mean by category."""


def formula_words(kind: StatisticKind, by: str | None = None, k: int | None = None) -> str:
    """How a kind is computed, in words."""
    return BY_CATEGORY if by == "category" else KINDS[kind].formula.replace("{k}", str(k))


def what_is(statistic: Statistic) -> str:
    """What a statistic is, in words that name what it reads."""
    read = statistic.outcomes
    if statistic.kind == "mean":
        return f"mean {read['outcome']} of an answer"
    if statistic.kind == "ratio":
        return f"total {read['above']} / total {read['below']}"
    if statistic.kind == "gap":
        return f"largest {statistic.of} less the smallest, over {', '.join(statistic.over or ())}"
    if statistic.kind == "consistency":
        return f"share of items with the same {read['outcome']} under every {', '.join(statistic.over or ())}"
    return statistic.formula or formula_words(statistic.kind, statistic.by, statistic.k)


def statistic_unit(spec: Spec, statistic: Statistic) -> str:
    """What the values of a statistic are counted in: `%`, `pp`, a unit such as `tokens` or `US dollars per
    score`; empty of plain numbers."""
    units, outcomes = spec.units_of_numbers, statistic.outcomes
    if statistic.kind == "gap":
        unit = statistic_unit(spec, gap_statistic(statistic, spec.statistics))
        return "pp" if unit == "%" else unit
    if statistic.kind == "mean":
        return units.get(outcomes["outcome"], "%")
    if statistic.kind == "ratio":
        above, below = (units.get(outcomes[key], outcomes[key]) for key in ("above", "below"))
        return "" if above == below else f"{above} per {_one(below)}"
    return "%" if in_percent(statistic.kind) else ""


def _one(unit: str) -> str:
    """`score` of a score, `answer` of what is right, one of what is counted: `calls` as `call`."""
    return "US dollar" if unit == "US dollars" else unit.removesuffix("s") if unit.islower() else unit


def rows_of_statistic(
    record: StatisticSource, scope: StatisticScope, cells: Sequence[Cell]
) -> tuple[StatisticScope, StatisticRows, dict[str, str]]:
    """The rows that a statistic reads of some cells, the digest of each model's, and the scope with the
    categories and levels that they number."""
    kind = KINDS[scope.statistic.kind]
    if scope.statistic.by == "category":
        scope = replace(scope, categories=_categories(record, scope.benchmarks))
    if scope.axes and not scope.levels:
        scope = replace(scope, levels=tuple(dict.fromkeys(level_of(cell, scope.axes) for cell in cells)))
    if kind.reads == "items" or (kind.reads_shares and scope.of_shares):
        return scope, *of_items(record, scope, cells, kind.reading)
    return scope, *of_responses(record, scope, cells)


def _categories(record: StatisticSource, benchmarks: Sequence[Benchmark]) -> tuple[str, ...]:
    """The categories of all items that are asked, in order."""
    items = record.plan.study.items
    return tuple(sorted({item.category for each in benchmarks for item in items[each.id].sampled}))
