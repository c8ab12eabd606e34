"""Advises the author of a spec: what it leaves unsaid, says without effect, or cannot reach.

None of it is an error: the spec means something, and may mean just that.
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
    """What only the author can say and the spec does not, for who validates or stamps."""
    if not spec.study.not_varied:
        yield (
            "`study.not_varied` is empty: the card names what the grid holds fixed, and only you know what "
            "else could matter and was not varied"
        )
    yield from _twins(spec)
    yield from _overridden(spec)
    yield from _never_run(spec)
    yield from _opposed(spec)
    tables = [place.table for place in effect_tables(spec)]
    methods = [method for table in tables if (method := getattr(table, "method", None)) is not None]
    if spec.declared_judges and not any(METHODS[method].judged for method in methods):
        yield '[judge] labels nothing: no `method` is "judge"'
    matches = [match for table in tables if (match := getattr(table, "match", None)) is not None]
    if any(match.kind in ("text", "exact") and not match.after for match in matches):
        yield (
            "`match` compares whole responses: one that says more than the answer is wrong: ask for the "
            'answer alone, or read it behind words (`after`) or in the response (as = "contains")'
        )


def _twins(spec: Spec) -> Iterator[str]:
    """Models that are one model under two ids, each named once."""
    first: dict[str, str] = {}
    for model in spec.model:
        stated = model.model_dump_json(exclude={"id", "note"})
        twin = first.setdefault(stated, model.id)
        if twin != model.id:
            yield (
                f"`{twin}` and `{model.id}` are one model, `{model.source}`, with the same settings: what "
                "differs is chance; give one of them another source, revision or precision, or leave it out"
            )


def _overridden(spec: Spec) -> Iterator[str]:
    """Keys of [harness] that no call has. Named parts of a key are joined, and none stands alone."""
    for key, value in spec.harness.stated().items():
        for axis in spec.axis:
            levels = [getattr(level, key) for level in axis.level]
            if None not in levels and not any(isinstance(part, dict) for part in (value, *levels)):
                yield f"`{key}` of [harness] says nothing: each level of the axis `{axis.id}` sets it"


def _never_run(spec: Spec) -> Iterator[str]:
    """Levels that exclusions take out everywhere. It is how an extension narrows its base, so that it may be
    meant. A draw leaves out some by chance."""
    if not spec.exclude or spec.draw is not None:
        return
    run = {choice for cell in cells_of(spec) for choice in cell.levels.items()}
    for axis in spec.axis:
        for level in axis.level:
            if (axis.id, level.id) not in run:
                yield f"`{level.id}` of axis `{axis.id}` is never run: [[exclude]] takes it out everywhere"


def _opposed(spec: Spec) -> Iterator[str]:
    """Pairs of hypotheses that cannot both be supported. Rival predictions may be meant."""
    stated = [(hypothesis, _predicted(hypothesis)) for hypothesis in spec.hypothesis]
    for (one, predicted), (other, against) in combinations(stated, 2):
        reversed_ = {(rate, dimension, below, above) for rate, dimension, above, below in against}
        if predicted & reversed_ and one.where == other.where:
            yield f"`{one.id}` and `{other.id}` predict opposite orders: at most one of them can be supported"


def unreachable_criteria(spec: Spec) -> Iterator[str]:
    """Criteria that demand a share of exactly 0 or 1, which no confidence limit reaches."""
    shares = {"score", "parse_rate", *RATES, *(outcome.id for outcome in spec.outcomes)}
    for test in spec.falsification:
        asks = test.criterion
        if asks is None or asks.statistic not in shares - {"bias_ambiguous", "bias_disambiguated"}:
            continue
        low, high = asks.at_most, asks.at_least
        if (low is not None and low <= 0) or (high is not None and high >= 1):
            near = "at_most = 0.01" if high is None else "at_least = 0.99"
            yield (
                f"`{test.id}` can never pass: no number of items shows that `{asks}` holds for other items; "
                f"a bound that can be shown is, for example, {near}"
            )


def _predicted(hypothesis: AnyHypothesis) -> set[tuple[str, str, str, str]]:
    """Every ordered pair that a hypothesis implies, as (rate, dimension, higher, lower)."""
    kind, side = kind_of(hypothesis), getattr(hypothesis, "side", "greater")
    steps = [pair for pair in kind.pairs(hypothesis) if side != "two-sided"]
    above = {
        (pair.dimension, *((pair.level, pair.reference) if side == "greater" else pair[:0:-1]))
        for pair in steps
    }
    for _ in steps:  # an order is one of all, and its steps are those of neighbours
        above |= {(what, high, low) for what, high, x in above for _, y, low in above if x == y}
    return {(kind.rate(hypothesis), *order) for order in above}
