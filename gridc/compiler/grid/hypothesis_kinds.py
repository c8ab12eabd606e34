"""One row for each kind of hypothesis: everything that the compiler has to know about it.

The fields of a kind are its class in `schema.inference`; how its verdict is reached and worded is its row in
`reports.findings.hypotheses`. A test compares the three.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from gridc.compiler.grid.configurations import graded
from gridc.diagnostics.places import KeyPath
from gridc.schema.base import ALPHA
from gridc.schema.benchmarks import Benchmark
from gridc.schema.inference import (
    RATES,
    AnyHypothesis,
    ContrastHypothesis,
    InteractionHypothesis,
    RankingHypothesis,
    Rate,
    TrendHypothesis,
)
from gridc.schema.selector import RESERVED_DIMENSIONS
from gridc.schema.spec import Spec
from gridc.statistics.power import Claim, Rule, Side, Verdict

H = TypeVar("H", bound=AnyHypothesis)

OF_SCORE = frozenset(("score", "score_disambiguated"))
"""Rates whose good side is the benchmark's."""
HARMS = frozenset(("over_refusal", "unsafe_compliance", "attack_success"))
GAINS = frozenset(("unknown_rate", "parse_rate"))
"""Rates of which a higher one is worse, or better, on every benchmark. The others have no good side."""

Levels = Collection[tuple[str, ...]]
"""The combinations of levels of a hypothesis's axes that are run, in the order of `axes`."""


Sizes = tuple[int, ...]
"""How many items each unit has."""


class Compared(NamedTuple):
    """What the test of a kind compares: names of levels of its axis, the reference first, with doses where
    they have some; and the parts of `by` that their effect may depend on: how many inside each unit, or the
    benchmarks."""

    levels: tuple[str, ...]
    by: int | Literal["benchmark"] = 1
    doses: tuple[float, ...] = ()


class Reference(NamedTuple):
    """An id that a hypothesis uses for another table: its key, what it names, and the names that exist.
    `listed` ids stand in a list in which none may stand twice."""

    key: KeyPath
    what: str
    name: str
    known: Collection[str]
    listed: bool = False


class Misfit(NamedTuple):
    """Keys of a hypothesis that contradict each other: a code, the key to blame (None for the table), what is
    wrong, and the way out."""

    code: str
    key: str | None
    problem: str
    help: str


@dataclass(frozen=True)
class HypothesisKind(Generic[H]):
    """What the compiler has to know about a kind of hypothesis.

    references    the ids that it uses for other tables
    misfits       keys that contradict each other although each is of its type
    axes          the axes whose levels it compares
    comparable    whether it can be tested on a benchmark that runs these levels
    benchmarks    how many such benchmarks it takes
    pooled        whether the items of its benchmarks add up; otherwise the smallest benchmark counts
    rule          its test, at a level alpha; None where the verdict is read from the configurations
    contrasts     how many comparisons share its level (Bonferroni)
    compared      what the test that decides it compares, where these levels are run
    outcomes      of a kind without a test here: each verdict that units of these sizes allow, in words
    """

    references: Callable[[H, Spec], Iterator[Reference]]
    axes: Callable[[H], tuple[str, ...]]
    comparable: Callable[[H, Spec, Levels], bool]
    rule: Callable[[H, float], Rule] | None
    misfits: Callable[[H, Spec], Iterator[Misfit]] = lambda hypothesis, spec: iter(())
    benchmarks: Callable[[H], int] = lambda hypothesis: 1
    pooled: bool = True
    contrasts: Callable[[H], int] = lambda hypothesis: 1
    compared: Callable[[H, Spec, Levels], Compared] = lambda *_: Compared(())
    outcomes: Callable[[H, Spec, Sizes | None], dict[Verdict, str]] = lambda *_: {}


def kind_of(hypothesis: AnyHypothesis) -> HypothesisKind[Any]:
    """The row of a hypothesis's kind."""
    return KINDS[hypothesis.kind]


def rate_of(hypothesis: AnyHypothesis) -> Rate:
    """The rate that a hypothesis is about. A ranking is one of scores."""
    rate: Rate = getattr(hypothesis, "outcome", "score")
    return rate


class Claims(NamedTuple):
    """What a verdict on a hypothesis can claim: `sides` that its design can decide for, and how many of these
    claims can be false `at_once`, whatever is true."""

    sides: tuple[Literal["support", "refute"], ...]
    at_once: int


def claims_of(hypothesis: AnyHypothesis) -> Claims:
    """Both claims of most kinds exclude each other's falsehood: a difference that is none is not as large as
    a margin too. Where there is no difference at all, a prediction with a side is false both ways, and so
    is an order."""
    both: tuple[Literal["support", "refute"], ...] = ("support", "refute")
    if isinstance(hypothesis, RankingHypothesis | TrendHypothesis):
        return Claims(both, 2)
    if isinstance(hypothesis, InteractionHypothesis):
        return Claims(("support",), 1)
    if hypothesis.margin is not None:
        return Claims(both, 1)
    if hypothesis.kind == "null_control":
        return Claims(("refute",), 1)
    return Claims(("support",), 1) if hypothesis.side == "two-sided" else Claims(both, 2)


def claims_in(hypotheses: Sequence[AnyHypothesis], correction: str = "holm") -> int:
    """Over how many claims their p-values are corrected at the first step: by Holm's method (Shaffer 1986)
    those that can be false at once, by Benjamini and Hochberg's all."""
    claims = map(claims_of, hypotheses)
    return sum(len(each.sides) if correction == "bh" else each.at_once for each in claims)


def strictest_level(spec: Spec, hypothesis: AnyHypothesis) -> float:
    """The level at which a claim of it is tested when nothing else of its family is found. One level is for
    support and refutation together; rankings without a family share one."""
    family = next((each for each in spec.family if each.id == hypothesis.family), None)
    if family is not None:
        members = [each for each in spec.hypothesis if each.family == family.id]
        alone = family.correction == "none"
        return family.alpha / claims_in([hypothesis] if alone else members, family.correction)
    alpha = spec.analysis.alpha or ALPHA
    if not isinstance(hypothesis, RankingHypothesis):
        return alpha / claims_in([hypothesis])
    return alpha / claims_in(
        [each for each in spec.hypothesis if each.kind == hypothesis.kind and each.family is None]
    )


def _axes(spec: Spec) -> dict[str, list[str]]:
    return {axis.id: [level.id for level in axis.level] for axis in spec.axis}


def _outcome(
    hypothesis: ContrastHypothesis | InteractionHypothesis | TrendHypothesis, spec: Spec
) -> Reference:
    known = (*RATES, *(outcome.id for outcome in spec.outcomes))
    return Reference(("outcome",), "outcome", hypothesis.outcome, known)


# ranking


def _ranking_references(hypothesis: RankingHypothesis, spec: Spec) -> Iterator[Reference]:
    models = [model.id for model in spec.model]
    yield from _listed("model", hypothesis.order, models)


def untested(hypothesis: RankingHypothesis, spec: Spec) -> tuple[str, ...]:
    """The benchmarks on which nothing is evidence of an order beyond the items: those with a target, from
    which distances are not tested. None of them where descriptive evidence is enough."""
    if spec.analysis.evidence == "descriptive":
        return ()
    return tuple(each.id for each in _benchmarks(hypothesis, spec) if each.target is not None)


def _benchmarks(hypothesis: AnyHypothesis, spec: Spec) -> list[Benchmark]:
    about = [each.restricted({"benchmark"}) for each in (hypothesis.where, spec.analysis.primary)]
    return [each for each in spec.benchmark if all(one.matches({"benchmark": each.id}) for one in about)]


def _orders(hypothesis: RankingHypothesis, spec: Spec, sizes: Sizes | None) -> dict[Verdict, str]:
    """What an order needs: by descriptive evidence an item a step; else, in every configuration, as many
    units as the test of the verdict takes where all go one way, at `strictest_level`. A model can be ahead of
    the next only on other items than that one is of its next, so that the steps share the items."""
    steps, evidence = len(hypothesis.order) - 1, spec.analysis.evidence
    of_items = sizes is None or len(sizes) == sum(sizes)
    bets = (not of_items or graded(spec)) and evidence != "supported"
    level = strictest_level(spec, hypothesis)
    held = None if sizes is None else len(sizes)
    if evidence == "descriptive":
        held = None if sizes is None else sum(sizes)
        least, most = steps, 1
        ahead = behind = "by an item or more"
    elif bets:
        least, most = _fewest_by_bets(level, sizes, steps), _fewest_by_bets(level, sizes, 1)
        share = "all items" if steps == 1 else f"1/{steps} of the items"
        largest = ", if these are the largest," if len({*(sizes or ())}) > 1 else ""
        ahead = f"on {share} of {least:,} units or more{largest} and behind on none"
        behind = f"on all items of {most:,} units or more{largest} and ahead on none"
    else:
        fewest = next(n for n in range(1, 1100) if 0.5**n <= level)
        least, most = fewest * (steps if of_items else 1), fewest
        on = f"on {fewest:,} items or more" if of_items else f"on items of {fewest:,} units or more"
        ahead, behind = f"{on}, and behind on none", f"{on}, and ahead on none"
    possible: dict[Verdict, str] = {}
    here, without = _benchmarks(hypothesis, spec), untested(hypothesis, spec)
    if not without and (held is None or held >= least):
        possible["supported"] = f"in every configuration each model is ahead of the next {ahead}"
    if len(without) < len(here) and (held is None or held >= most):
        possible["refuted"] = f"in one configuration a model is behind the next {behind}"
    if held is None or held:
        possible["open"] = "two of them tie in a configuration and none is behind"
    return possible


def _fewest_by_bets(level: float, sizes: Sizes | None, steps: int) -> int:
    """The fewest units by which a bettor reaches 1 / level in each of so many steps that share their items.
    It stakes on each unit in proportion to its items; the largest come first, and where all of them are too
    few there are more of these."""
    import numpy as np

    from gridc.statistics.betting import stakes

    ordered = sorted(sizes or (1,), reverse=True)
    staked, n = stakes(sum(ordered) / len(ordered)), 0
    wealth = np.ones(len(staked))
    while wealth.mean() * level < 1:
        wealth *= 1 + staked * ordered[n if n < len(ordered) else 0] / ordered[0] / steps
        n += 1
    return n


# contrasts: levels of an axis against a reference level


def _contrast_references(hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Reference]:
    axes = _axes(spec)
    yield Reference(("axis",), "axis", hypothesis.axis, axes)
    yield _outcome(hypothesis, spec)
    known = axes.get(hypothesis.axis, (*hypothesis.levels, hypothesis.reference))
    yield Reference(("reference",), "level", hypothesis.reference, known)
    if hypothesis.control is not None:
        yield Reference(("control",), "level", hypothesis.control, known)
    for rank, name in enumerate(hypothesis.levels):
        key: KeyPath = ("level",) if hypothesis.level == name else ("level", rank)
        yield Reference(key, "level", name, known)


def _contrast_misfits(hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
    name, kind = hypothesis.id, hypothesis.kind
    if kind in ("equivalence", "noninferiority") and hypothesis.margin is None:
        help = "margin = { pp = 2 }: the smallest difference that would matter, in percentage points"
        yield Misfit("GC103", None, f"`{name}` is a test of {kind} and has no `margin`", help)
    if hypothesis.reference in hypothesis.levels:
        others = [level for level in _axes(spec)[hypothesis.axis] if level not in hypothesis.levels]
        known = f"`{hypothesis.axis}` also has {', '.join(f'`{each}`' for each in others)}"
        help = known if others else "name fewer levels, or another reference"
        yield Misfit("GC105", "reference", f"`{name}` compares `{hypothesis.reference}` with itself", help)
    if hypothesis.control in (hypothesis.reference, *hypothesis.levels):
        help = "the level that nothing was lost under, beside `reference` and `level`"
        yield Misfit("GC105", "control", f"`{name}` has `{hypothesis.control}` twice", help)
    if kind == "noninferiority" and hypothesis.side == "two-sided":
        help = 'side = "greater" when a higher outcome is better, else "less"'
        yield Misfit("GC105", None, f"`{name}` is a test of noninferiority, which has a side", help)
    yield from _worse_side(hypothesis, spec)


def _worse_side(hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
    """A test of noninferiority on the worse side of its outcome: a level that is much worse supports it."""
    side, outcome = hypothesis.side, hypothesis.outcome
    if hypothesis.kind != "noninferiority" or side == "two-sided":
        return
    other, good, worse = (
        ("less", "higher_is_better", "lower_is_better")
        if side == "greater"
        else ("greater", "lower_is_better", "higher_is_better")
    )
    help = f'side = "{other}"'
    if outcome in (HARMS if side == "greater" else GAINS):
        better = "lower" if side == "greater" else "higher"
        problem = f"`{hypothesis.id}` would be supported by what is worse: a {better} `{outcome}` is better"
        yield Misfit("GC105", "side", problem, help)
    wrong = [each.id for each in _benchmarks(hypothesis, spec) if each.direction == worse]
    if outcome not in OF_SCORE or not wrong:
        return
    written = [each for each in spec.hypothesis if _of_one(each, hypothesis)]
    right = dict.fromkeys(
        each.id for one in written for each in _benchmarks(one, spec) if each.direction == good
    )
    places = ", ".join(f"`{each}`" for each in wrong)
    problem = f'`{hypothesis.id}` would be supported by what is worse: {places} has direction = "{worse}"'
    if right:
        alone = ", ".join(f'"{each}"' for each in right)
        help = f"where = {{ benchmark = [{alone}] }}, and another hypothesis with {help} for the rest"
    yield Misfit("GC105", "side", problem, help)


def _of_one(one: AnyHypothesis, other: AnyHypothesis) -> bool:
    """Whether two hypotheses are one of the spec, which is stated for `each` of several benchmarks."""
    same = other.model_copy(update={"id": one.id, "where": one.where})
    return one == same and one.id.split(".")[0] == other.id.split(".")[0]


def _control(hypothesis: ContrastHypothesis) -> tuple[str, ...]:
    return () if hypothesis.control is None else (hypothesis.control,)


def _contrast(claim: Claim) -> HypothesisKind[ContrastHypothesis]:
    def rule(hypothesis: ContrastHypothesis, alpha: float) -> Rule:
        margin = None if hypothesis.margin is None else hypothesis.margin.pp / 100
        return Rule(claim, hypothesis.side, alpha, margin)

    return HypothesisKind(
        references=_contrast_references,
        misfits=_contrast_misfits,
        axes=lambda hypothesis: (hypothesis.axis,),
        comparable=lambda hypothesis, spec, levels: (
            _first(levels) >= {*hypothesis.levels, hypothesis.reference, *_control(hypothesis)}
        ),
        rule=rule,
        contrasts=lambda hypothesis: len(hypothesis.levels),
        compared=lambda hypothesis, spec, levels: Compared((hypothesis.reference, *hypothesis.levels)),
    )


# interaction


def _interaction_references(hypothesis: InteractionHypothesis, spec: Spec) -> Iterator[Reference]:
    axes = _axes(spec)
    yield Reference(("axis",), "axis", hypothesis.axis, axes)
    yield _outcome(hypothesis, spec)
    yield Reference(("by",), "axis", hypothesis.by, ["model", "benchmark", *axes])


def _interaction_misfits(hypothesis: InteractionHypothesis, spec: Spec) -> Iterator[Misfit]:
    if hypothesis.by == hypothesis.axis:
        problem = f"`{hypothesis.id}` says that `{hypothesis.axis}` interacts with itself"
        yield Misfit("GC105", "by", problem, "`by` is `model`, `benchmark` or another axis")


def _interacts(hypothesis: InteractionHypothesis, spec: Spec, levels: Levels) -> bool:
    whom = hypothesis.where.restricted({"model"})
    models = sum(whom.matches({"model": model.id}) for model in spec.model)
    by = {"model": models, "benchmark": len(spec.benchmark)}
    others = by.get(hypothesis.by, len({combination[-1] for combination in levels}))
    return len(_first(levels)) > 1 and others > 1


def _interacting(hypothesis: InteractionHypothesis, spec: Spec, levels: Levels) -> Compared:
    names = [name for name in _axes(spec)[hypothesis.axis] if name in _first(levels)]
    if hypothesis.by == "benchmark":
        return Compared(tuple(names), "benchmark")
    whom = hypothesis.where.restricted({"model"})
    models = sum(whom.matches({"model": model.id}) for model in spec.model)
    others = len({combination[-1] for combination in levels})
    return Compared(tuple(names), models if hypothesis.by == "model" else others)


# trend


def _trend_references(hypothesis: TrendHypothesis, spec: Spec) -> Iterator[Reference]:
    axes = _axes(spec)
    yield Reference(("axis",), "axis", hypothesis.axis, axes)
    yield _outcome(hypothesis, spec)
    yield from _listed("level", hypothesis.order, axes.get(hypothesis.axis, hypothesis.order))


def _trend_misfits(hypothesis: TrendHypothesis, spec: Spec) -> Iterator[Misfit]:
    levels = {level.id: level for axis in spec.axis if axis.id == hypothesis.axis for level in axis.level}
    doses = [levels[name].dose for name in hypothesis.order if name in levels]
    if all(dose is None for dose in doses):
        return
    if None in doses:
        lacking = next(name for name in hypothesis.order if levels[name].dose is None)
        problem = f"`{lacking}` has no `dose`, and other levels of the trend `{hypothesis.id}` have one"
        yield Misfit("GC105", "order", problem, "give every level of the order a dose, or none")
    elif any(later <= earlier for earlier, later in pairwise(dose for dose in doses if dose is not None)):
        problem = f"the doses of `{hypothesis.id}` do not rise along its order"
        yield Misfit("GC105", "order", problem, "name the levels from the smallest dose to the largest")


def doses_of(spec: Spec, hypothesis: TrendHypothesis) -> dict[str, float]:
    """The dose of each level of the order: as the spec says, or 0, 1, 2, ..."""
    stated = {
        level.id: level.dose for axis in spec.axis if axis.id == hypothesis.axis for level in axis.level
    }
    known = {name: stated[name] for name in hypothesis.order}
    return {
        name: float(place) if dose is None else float(dose)
        for place, (name, dose) in enumerate(known.items())
    }


_SIDES: Mapping[str, Side] = {"increasing": "greater", "decreasing": "less"}


def _listed(what: str, names: Sequence[str], known: Collection[str]) -> Iterator[Reference]:
    yield from (Reference(("order", rank), what, name, known, True) for rank, name in enumerate(names))


def _first(levels: Levels) -> set[str]:
    """The levels of the first axis that are run."""
    return {combination[0] for combination in levels if combination}


KINDS: Mapping[str, HypothesisKind[Any]] = {
    "ranking": HypothesisKind[RankingHypothesis](
        references=_ranking_references,
        axes=lambda hypothesis: (),
        comparable=lambda hypothesis, spec, levels: bool(levels),
        rule=None,
        outcomes=_orders,
        pooled=False,
    ),
    "difference": _contrast("effect"),
    "equivalence": _contrast("equivalence"),
    "noninferiority": _contrast("noninferiority"),
    "null_control": _contrast("no_effect"),
    "interaction": HypothesisKind[InteractionHypothesis](
        references=_interaction_references,
        misfits=_interaction_misfits,
        axes=lambda hypothesis: (
            (hypothesis.axis,) if hypothesis.by in RESERVED_DIMENSIONS else (hypothesis.axis, hypothesis.by)
        ),
        comparable=_interacts,
        benchmarks=lambda hypothesis: 2 if hypothesis.by == "benchmark" else 1,
        rule=lambda hypothesis, alpha: Rule("effect", "two-sided", alpha, None),
        compared=_interacting,
    ),
    "trend": HypothesisKind[TrendHypothesis](
        references=_trend_references,
        misfits=_trend_misfits,
        axes=lambda hypothesis: (hypothesis.axis,),
        comparable=lambda hypothesis, spec, levels: _first(levels) >= set(hypothesis.order),
        rule=lambda hypothesis, alpha: Rule("effect", _SIDES[hypothesis.direction], alpha, None),
        compared=lambda hypothesis, spec, levels: Compared(
            hypothesis.order, doses=tuple(doses_of(spec, hypothesis).values())
        ),
    ),
}
"""By the `kind` of the language."""
