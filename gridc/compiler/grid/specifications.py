"""The specifications of a curve: counted without listing them, and which of them a store can answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from gridc.compiler.hypotheses import kind_of
from gridc.schema.base import Selector
from gridc.schema.inference import DOCUMENTED, AnyHypothesis, Choice, Curve, CurveSample, Fork
from gridc.schema.spec import Spec

MOST = 2_000
"""Specifications of a curve that are run where it states no sample."""

ForkLevels = Mapping[str, str]
"""The level of each fork of a curve."""


@dataclass(frozen=True, slots=True)
class Specifications:
    """How many combinations of a curve's forks there are, and what its exclusions take from them.

    `removed` counts, exclusion by exclusion, the combinations that it matches; one combination may be
    matched by several.
    """

    product: int
    removed: tuple[int, ...]
    size: int


def specifications(curve: Curve, forks: Mapping[str, Fork]) -> Specifications:
    """Count a curve's specifications. Selectors are boxes, so inclusion and exclusion is exact, and a curve
    of 29 forks costs no more than one of two; what costs is exclusions, of which a curve has at most 12."""
    levels = {name: forks[name].levels for name in curve.forks}
    boxes = [_box(selector.when, levels) for selector in curve.exclude]
    every = prod(len(choices) for choices in levels.values())
    excluded = sum(
        (-1) ** (size + 1) * _volume(subset, levels)
        for size in range(1, len(boxes) + 1)
        for subset in combinations(boxes, size)
    )
    return Specifications(every, tuple(_volume([box], levels) for box in boxes), every - excluded)


@dataclass(frozen=True, slots=True)
class UnboundLevel:
    """A level of a fork that no store answers: it needs new data or new scores, and `why` says which."""

    fork: str
    level: str
    why: str


def meaning(spec: Spec, fork: Fork, level: str) -> Choice | UnboundLevel:
    """What an analysis does at a level of a fork: what its `choice` says, else what the level's name says of
    the path that the fork binds. The default is what the study does."""
    if fork.choice is not None and level in fork.choice:
        return fork.choice[level]
    table, _, rest = fork.binds.partition(".")
    axes = {axis.id: [declared.id for declared in axis.level] for axis in spec.axis}
    if fork.binds == "analysis.outcome" and level in ("itt", "pp"):
        return Choice(reading="itt" if level == "itt" else "pp")
    if table == "axis" and level in axes.get(rest, ()):
        return Choice(where=Selector({rest: level}))
    if table == "model" and level in [model.id for model in spec.model]:
        return Choice(where=Selector({"model": level}))
    if level == fork.default:
        return Choice()
    if fork.binds == DOCUMENTED:
        return UnboundLevel(fork.id, level, "needs new data")
    return UnboundLevel(fork.id, level, f"`{fork.binds}` says no more than a name: `choice` is missing")


def unbound(spec: Spec, curve: Curve) -> list[UnboundLevel]:
    """The levels of a curve's forks that are not run, in order."""
    forks = {fork.id: fork for fork in spec.fork}
    meanings = (meaning(spec, forks[name], level) for name in curve.forks for level in forks[name].levels)
    return [meaning for meaning in meanings if isinstance(meaning, UnboundLevel)]


@dataclass(frozen=True, slots=True)
class RunnableSpecifications:
    """The specifications of a curve that are run: `stated` by the spec after its exclusions, `bound` of them
    answered by a store, and those drawn of these, the default one first if it is among them. `sample` says
    how they were drawn, where not all of them are run."""

    stated: int
    bound: int
    drawn: tuple[ForkLevels, ...]
    sample: CurveSample | None

    @property
    def share(self) -> float:
        """Of the stated specifications, those that are run."""
        return len(self.drawn) / self.stated if self.stated else 0.0


def runnable(spec: Spec, curve: Curve) -> RunnableSpecifications:
    """Which specifications of a curve to run. A level that is not bound takes all its specifications away."""
    forks = {fork.id: fork for fork in spec.fork}
    missing = {(missing_choice.fork, missing_choice.level) for missing_choice in unbound(spec, curve)}
    kept = {
        name: tuple(level for level in forks[name].levels if (name, level) not in missing)
        for name in curve.forks
    }
    bound = {name: forks[name].model_copy(update={"levels": levels}) for name, levels in kept.items()}
    stated, size = specifications(curve, forks).size, specifications(curve, bound).size
    sample = curve.sample or CurveSample(n=MOST, seed=spec.sampling.seed)
    if size <= sample.n:
        drawn = [levels for levels in _every(kept) if not _excluded(curve, levels)]
        return RunnableSpecifications(stated, size, tuple(_default_first(drawn, forks)), None)
    return RunnableSpecifications(
        stated, size, tuple(_default_first(_drawn(curve, kept, sample), forks)), sample
    )


@dataclass(frozen=True, slots=True)
class PlannedCurve:
    """How many specifications a curve declares, how many of them the study's data can answer, and how many of
    these are run."""

    declared: int
    answerable: int
    run: int


def planned_curve(spec: Spec, curve: Curve) -> PlannedCurve:
    ran = runnable(spec, curve)
    return PlannedCurve(ran.stated, ran.bound, len(ran.drawn))


def curve_hypotheses(spec: Spec, curve: Curve) -> list[AnyHypothesis]:
    """The hypotheses whose comparisons a curve makes in every specification, in the order of the spec: of two
    levels, or of two models, step by step."""
    return [
        hypothesis
        for hypothesis in spec.hypothesis
        if kind_of(hypothesis).pairs(hypothesis) and hypothesis.id in (curve.hypotheses or (hypothesis.id,))
    ]


def _every(levels: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    return [dict(zip(levels, chosen, strict=True)) for chosen in product(*levels.values())]


def _excluded(curve: Curve, levels: ForkLevels) -> bool:
    return any(selector.when.matches(levels) for selector in curve.exclude)


def _drawn(curve: Curve, levels: Mapping[str, Sequence[str]], sample: CurveSample) -> list[dict[str, str]]:
    """Distinct specifications, each with the same chance: numbers of the whole product, drawn one after the
    other, without those that are excluded or were drawn before."""
    import numpy as np

    generator = np.random.default_rng(sample.seed)
    distinct: dict[tuple[str, ...], None] = {}
    while len(distinct) < sample.n:
        places = [generator.integers(0, len(choices), size=4 * sample.n) for choices in levels.values()]
        for row in zip(*(place.tolist() for place in places), strict=True):
            names = tuple(choices[at] for choices, at in zip(levels.values(), row, strict=True))
            if len(distinct) < sample.n and not _excluded(curve, dict(zip(levels, names, strict=True))):
                distinct.setdefault(names)
    return [dict(zip(levels, names, strict=True)) for names in distinct]


def _default_first(drawn: list[dict[str, str]], forks: Mapping[str, Fork]) -> list[dict[str, str]]:
    return sorted(
        drawn, key=lambda levels: any(forks[name].default != level for name, level in levels.items())
    )


Box = Mapping[str, frozenset[str]]


def _box(selector: Selector, levels: Mapping[str, Sequence[str]]) -> Box:
    return {
        name: frozenset(level for level in levels[name] if Selector({name: choice}).matches({name: level}))
        for name, choice in selector.root.items()
    }


def _volume(boxes: Sequence[Box], levels: Mapping[str, Sequence[str]]) -> int:
    """How many combinations lie in all of the boxes."""
    return prod(
        len(frozenset(choices).intersection(*(box[name] for box in boxes if name in box)))
        for name, choices in levels.items()
    )
