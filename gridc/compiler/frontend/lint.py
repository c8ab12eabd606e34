"""Advises the author of a spec: about gaps, lines without effect, and predictions that cannot come true.

Nothing here is an error: an author may mean it.
"""

from collections.abc import Iterator
from itertools import combinations

from gridc.compiler.grid.cells import cells_of
from gridc.compiler.grid.configurations import effect_tables
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.instrument.methods import METHODS
from gridc.schema.inference import RATES, AnyHypothesis
from gridc.schema.spec import Spec


def lint(spec: Spec) -> Iterator[str]:
    """Advise whoever validates or stamps a spec, one sentence for each thing to look at."""
    if not spec.study.not_varied:
        yield (
            "`study.not_varied` is empty: the card names what the grid holds fixed, and only you know what "
            "else could matter and was not varied"
        )
    yield from _repeated_models(spec)
    yield from _idle_harness_keys(spec)
    yield from _levels_never_run(spec)
    yield from _opposite_predictions(spec)
    tables = [place.table for place in effect_tables(spec)]
    methods = [method for table in tables if (method := getattr(table, "method", None)) is not None]
    if spec.declared_judges and not any(METHODS[method].judged for method in methods):
        yield '[judge] labels nothing: no `method` is "judge"'
    matches = [match for table in tables if (match := getattr(table, "match", None)) is not None]
    asks_for_form = any(getattr(table, "answer", None) for table in tables)
    if not asks_for_form and any(match.kind in ("text", "exact") and not match.after for match in matches):
        yield (
            "`match` compares whole responses: one that says more than the answer is wrong: ask for a form "
            '(answer = "line"), or read it behind words (`after`) or in the response (as = "contains")'
        )


def _repeated_models(spec: Spec) -> Iterator[str]:
    """Report each model that stands under a second id."""
    ids: dict[str, str] = {}
    for model in spec.model:
        settings = model.model_dump_json(exclude={"id", "note"})
        earlier = ids.setdefault(settings, model.id)
        if earlier != model.id:
            yield (
                f"`{earlier}` and `{model.id}` are one model, `{model.source}`, with the same settings: what "
                "differs is chance; give one of them another source, revision or precision, or leave it out"
            )


def _idle_harness_keys(spec: Spec) -> Iterator[str]:
    """Report keys of [harness] that every level of an axis overrides. Named parts of a key are joined, so
    that none overrides another."""
    for key, value in spec.harness.stated().items():
        for axis in spec.axis:
            levels = [getattr(level, key) for level in axis.level]
            if None not in levels and not any(isinstance(part, dict) for part in (value, *levels)):
                yield f"`{key}` of [harness] says nothing: each level of the axis `{axis.id}` sets it"


def _levels_never_run(spec: Spec) -> Iterator[str]:
    """Report levels that exclusions take out everywhere. An extension may mean it, to narrow its base."""
    # A draw leaves out levels by chance.
    if not spec.exclude or spec.draw is not None:
        return
    run = {choice for cell in cells_of(spec) for choice in cell.levels.items()}
    for axis in spec.axis:
        for level in axis.level:
            if (axis.id, level.id) not in run:
                yield f"`{level.id}` of axis `{axis.id}` is never run: [[exclude]] takes it out everywhere"


def _opposite_predictions(spec: Spec) -> Iterator[str]:
    """Report pairs of hypotheses that cannot both be supported. An author may mean rival predictions."""
    predictions = [(hypothesis, _predicted_orders(hypothesis)) for hypothesis in spec.hypothesis]
    for (a, orders), (b, other_orders) in combinations(predictions, 2):
        reversed_orders = {(rate, dimension, low, high) for rate, dimension, high, low in other_orders}
        if orders & reversed_orders and a.where == b.where:
            yield f"`{a.id}` and `{b.id}` predict opposite orders: at most one of them can be supported"


def _predicted_orders(hypothesis: AnyHypothesis) -> set[tuple[str, str, str, str]]:
    """List every ordered pair that a hypothesis implies, as (rate, dimension, higher, lower)."""
    kind, side = kind_of(hypothesis), getattr(hypothesis, "side", "greater")
    steps = [pair for pair in kind.pairs(hypothesis) if side != "two-sided"]
    orders = {
        (pair.dimension, *((pair.level, pair.reference) if side == "greater" else pair[:0:-1]))
        for pair in steps
    }
    for _ in steps:  # a ranking lists neighbours, and implies every pair of its models
        orders |= {(what, high, low) for what, high, x in orders for _, y, low in orders if x == y}
    return {(kind.rate(hypothesis), *order) for order in orders}


def unreachable_criteria(spec: Spec) -> Iterator[str]:
    """Report criteria that demand a share of exactly 0 or 1, which no confidence limit reaches."""
    shares = {"score", "parse_rate", *RATES, *(outcome.id for outcome in spec.outcomes)}
    shares -= {"bias_ambiguous", "bias_disambiguated"}  # BBQ's bias goes from -1 to 1
    for test in spec.falsification:
        criterion = test.criterion
        if criterion is None or criterion.statistic not in shares:
            continue
        low, high = criterion.at_most, criterion.at_least
        if (low is not None and low <= 0) or (high is not None and high >= 1):
            reachable = "at_most = 0.01" if high is None else "at_least = 0.99"
            yield (
                f"`{test.id}` can never pass: no sample, however large, can show `{criterion}` for unseen "
                f"items; use a reachable bound such as {reachable}"
            )
