"""What every kind of hypothesis tells the compiler: what it names, what it cannot mean, which test it plans
and with what power, and which verdict its p-values make.

A kind is a module of its name beside this one: a class that answers everything of `HypothesisKind`, and the
one instance of it, `KIND`. A kind that leaves an answer out cannot be made, so importing it fails. The fields
of a kind are its class in `schema.inference`; its module in `reports.findings.hypotheses` computes the
p-values and words the verdict.

Its power is the power of the test that will decide it, at the planned items and at the strictest level of its
family. `ASSUMED` says once what is assumed of the answers. A benchmark enters with its number of units, not
of items.
"""

import math
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple, Protocol, TypeVar

from gridc.diagnostics.errors import KeyPath
from gridc.numbers import percent
from gridc.schema.inference import MODELS, AnyHypothesis, RateName
from gridc.schema.spec import Benchmark, Spec
from gridc.statistics.expected_power import BASE, Assumptions
from gridc.statistics.reproducibility import Verdict

CHANGING = (0.1, 0.3)
"""Shares of items whose answers differ between two levels, or two models, for which power is given."""
TOGETHER = 0.1
"""The correlation of answers to a unit that differ in more than the level, over that of those that do not."""


def assumed_words(*changing: float) -> str:
    """What a power assumes, where so large a share of the items changes."""
    return (
        f"rates near {percent(BASE, 0)}; answers under two levels, the item and all else the same, differ on "
        f"{' or '.join(percent(share, 0) for share in changing)} of the items beside what the effect moves; "
        f"answers to a unit that differ in more (model, other axes, item) correlate {TOGETHER:g} times as "
        "much; of several levels or parts one differs; every answer is readable, and replicates add nothing"
    )


ASSUMED = assumed_words(*CHANGING)
"""What the powers of a plan assume."""


@dataclass(frozen=True, slots=True)
class BenchmarkUnits:
    """What a hypothesis is tested on in one benchmark: how many items each unit has, each counted once, and
    in how many cells each combination of compared levels is. `names` are those of the units where benchmarks
    share some (`inputs.draw.one_group`): the same name is the same unit."""

    sizes: tuple[int, ...]
    cells: Mapping[tuple[str, ...], int]
    names: tuple[tuple[str, str], ...] = ()

    @property
    def items(self) -> int:
        return sum(self.sizes)

    @property
    def units(self) -> int:
        return len(self.sizes)


def numbers_of(parts: Collection[BenchmarkUnits]) -> tuple[tuple[int, ...], ...]:
    """The number of each unit of each part; without them where no two parts share a unit."""
    names = list(chain.from_iterable(part.names for part in parts))
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(number) == len(names):
        return tuple(() for _ in parts)
    return tuple(tuple(number[name] for name in part.names) for part in parts)


def replicates_of(spec: Spec) -> int:
    """The most answers to an item in a cell."""
    stated = [level.replicates for level in spec.levels if level.replicates is not None]
    return max([*stated, spec.harness.replicates or 1])


def units_in_all(parts: Collection[BenchmarkUnits]) -> int:
    """How many units several parts have."""
    unnamed = sum(part.units for part in parts if not part.names)
    return len({*chain.from_iterable(part.names for part in parts)}) + unnamed


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """What a hypothesis is tested on, at a `level`: the cells of `spec`, in `parts` by benchmark (None where
    the number of items is not known; then `many` are assumed, to see what is possible at all). `graded` says
    whether a response of the study can earn a part of a point."""

    spec: Spec
    level: float
    graded: bool
    parts: Mapping[str, BenchmarkUnits] | None
    many: Mapping[str, BenchmarkUnits] = field(default_factory=dict)

    @property
    def known(self) -> Mapping[str, BenchmarkUnits]:
        return self.many if self.parts is None else self.parts

    @property
    def replicates(self) -> int:
        """How many answers an item has at most that count as answers of their own."""
        return 1 if self.spec.aggregated else replicates_of(self.spec)

    @property
    def binary(self) -> bool:
        """Whether an item has one such answer in every cell, which earns 0 or 1."""
        return self.replicates == 1 and not self.graded

    @property
    def empty(self) -> bool:
        """Whether some benchmark has no unit, or no number of them is known."""
        return not self.parts or min(part.units for part in self.parts.values()) == 0


@dataclass(frozen=True, slots=True)
class DesignPower:
    """What a hypothesis's own test can show.

    `test` says which it is, `alpha` at which level (None: a ranking that is not tested). `detectable_pp` is
    the smallest effect that is found 4 times in 5, in percentage points rounded up to a tenth, by the share
    of `CHANGING`; of equivalence and noninferiority the smallest margin that is shown where there is no
    difference.
    `together_pp` is the same where all answers to a unit that differ in more than the level move as one; None
    where each unit has one such answer. `power_at_margin` is the probability of finding a difference of the
    stated margin, or of showing the margin where there is none. Of a ranking all of these are at least so
    large, however its configurations depend on each other. None: not at all, or not known. `error` is the
    largest Monte Carlo standard error of the power 0.8, where it is simulated.
    """

    test: str
    alpha: float | None
    detectable_pp: Mapping[str, float | None] | None = None
    together_pp: Mapping[str, float | None] | None = None
    power_at_margin: Mapping[str, float] | None = None
    error: float | None = None


def points_rounded_up(difference: float | None) -> float | None:
    """A proportion in percentage points, rounded up."""
    return None if difference is None else rounded_up(100 * difference)


def rounded_up(points: float) -> float:
    """Percentage points to a tenth, never fewer than are needed."""
    return math.ceil(round(10 * points, 3)) / 10


H = TypeVar("H", bound=AnyHypothesis)

Levels = Collection[tuple[str, ...]]
"""The combinations of levels of a hypothesis's axes that are run, in the order of `axes`."""


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


class Problem(NamedTuple):
    """What is wrong, and the way out."""

    problem: str
    help: str


class Claims(NamedTuple):
    """What a verdict on a hypothesis can claim: `sides` that its design can decide for, and how many of these
    claims can be false `at_once`, whatever is true."""

    sides: tuple[Literal["support", "refute"], ...]
    at_once: int


BOTH: tuple[Literal["support", "refute"], ...] = ("support", "refute")


class Pair(NamedTuple):
    """Two models, or two levels of an axis, that are compared: the `dimension`, and a level with its
    reference."""

    dimension: str
    level: str
    reference: str


class HypothesisKind(Protocol[H]):
    """A kind of hypothesis: what it names, what it compares, what it claims, and what a design can show."""

    compares_levels: bool = False
    """Whether it is about levels of an axis against a reference, which are decided in one way."""

    @abstractmethod
    def references(self, hypothesis: H, spec: Spec) -> Iterator[Reference]:
        """The ids that it uses for other tables."""

    @abstractmethod
    def misfits(self, hypothesis: H, spec: Spec) -> Iterator[Misfit]:
        """Keys that contradict each other although each is of its type."""

    @abstractmethod
    def why_no_each(self, hypothesis: H) -> Mapping[str, Problem]:
        """Why it has no verdict `each` of a dimension, for those of which it has none."""

    @property
    @abstractmethod
    def needs_good_side(self) -> bool:
        """Whether it says nothing of scores of which the one nearest to a target is best."""

    @abstractmethod
    def rate(self, hypothesis: H) -> RateName:
        """The outcome that it is about."""

    @abstractmethod
    def margin(self, hypothesis: H) -> float | None:
        """The stated margin, in percentage points."""

    @abstractmethod
    def models(self, hypothesis: H) -> Sequence[str] | None:
        """The models that it is about, of which `where` says nothing then; None where `where` says it."""

    @abstractmethod
    def restricted_to(self, hypothesis: H, models: Collection[str]) -> H | None:
        """What it says of these models alone; None where that is nothing."""

    @abstractmethod
    def axes(self, hypothesis: H) -> tuple[str, ...]:
        """The axes whose levels it compares; `model` where it compares models."""

    @abstractmethod
    def levels(self, hypothesis: H, axis: str, run: Sequence[str]) -> Collection[str]:
        """The levels of an axis that it needs of those that are `run`; none where any one will do."""

    @abstractmethod
    def comparable(self, hypothesis: H, spec: Spec, levels: Levels) -> bool:
        """Whether it can be tested on a benchmark that runs these levels."""

    @abstractmethod
    def benchmarks(self, hypothesis: H) -> int:
        """How many such benchmarks it takes."""

    @property
    @abstractmethod
    def pooled(self) -> bool:
        """Whether the items of its benchmarks add up; otherwise the smallest benchmark counts."""

    @abstractmethod
    def contrasts(self, hypothesis: H) -> int:
        """How many comparisons share its level (Bonferroni)."""

    @abstractmethod
    def pairs(self, hypothesis: H) -> Sequence[Pair]:
        """What a curve compares in every specification; empty where it runs none for this kind."""

    @abstractmethod
    def claims(self, hypothesis: H) -> Claims:
        """What its verdict can claim."""

    @property
    @abstractmethod
    def shares_level(self) -> bool:
        """Whether those of the kind without a family share one level."""

    @abstractmethod
    def verdict(self, support: float, refute: float, alpha: float) -> Verdict:
        """By p of what it predicts and of what refutes it, both corrected."""

    @abstractmethod
    def needs_estimator(self, hypothesis: H) -> bool:
        """Whether `[analysis] estimator` names the test that decides it."""

    @abstractmethod
    def unreachable_verdicts(self, hypothesis: H, spec: Spec) -> Collection[Verdict]:
        """The verdicts that nothing can reach: no test is of the outcome, or no estimator is named."""

    @abstractmethod
    def why_no_test(self, hypothesis: H, spec: Spec) -> str | None:
        """Why no test decides it; None where one does."""

    @abstractmethod
    def possible_outcomes(self, hypothesis: H, design: PlannedTest) -> Mapping[Verdict, str]:
        """An outcome, in words, for each verdict that some outcome of its benchmarks reaches."""

    @abstractmethod
    def way_out(self, hypothesis: H, design: PlannedTest, verdict: Verdict) -> str:
        """What makes a verdict possible that no outcome reaches."""

    def what_would_show_margin(self, hypothesis: H, design: PlannedTest) -> str | None:
        """What would let its margin be shown where nothing changes; None where it is, or there is none."""
        return None

    @abstractmethod
    def power(self, hypothesis: H, design: PlannedTest) -> DesignPower:
        """What its test can show; where no units are known the test alone is named."""

    @abstractmethod
    def power_at(self, hypothesis: H, design: PlannedTest, effect: float, assumed: Assumptions) -> float:
        """The probability that it is decided where it is true; of a kind that finds effects, that it finds
        one of `effect`, a proportion."""

    @property
    @abstractmethod
    def finds_effects(self) -> bool:
        """Whether a design needs to know how large a difference is to be found."""

    @property
    @abstractmethod
    def shows_margins(self) -> bool:
        """Whether its power is that of showing a margin where there is no difference."""

    @abstractmethod
    def why_no_design(self, hypothesis: H, effect: float | None) -> Problem | None:
        """Why no design can be looked for, where an effect is stated in percentage points or is not."""

    @abstractmethod
    def target(self, hypothesis: H, effect: float) -> str:
        """What a design is to decide: `difference of 5 pp`, `equivalence within 2 pp`."""


def benchmarks_of(hypothesis: AnyHypothesis, spec: Spec) -> list[Benchmark]:
    """The benchmarks that it is about."""
    about = [selector.restricted({"benchmark"}) for selector in (hypothesis.where, spec.analysis.primary)]
    return [
        benchmark
        for benchmark in spec.benchmark
        if all(one.matches({"benchmark": benchmark.id}) for one in about)
    ]


def levels_by_axis(spec: Spec) -> dict[str, list[str]]:
    """The levels of each axis, in the order of the spec."""
    return {axis.id: [level.id for level in axis.level] for axis in spec.axis}


def comparable_levels(spec: Spec) -> dict[str, list[str]]:
    """What can be compared all else the same: the levels of each axis, and models."""
    return {**levels_by_axis(spec), MODELS: [model.id for model in spec.model]}


def order_references(what: str, names: Sequence[str], known: Collection[str]) -> Iterator[Reference]:
    """The names of an `order`."""
    yield from (Reference(("order", rank), what, name, known, True) for rank, name in enumerate(names))


def unstated_effect(hypothesis: AnyHypothesis, margin: float | None, effect: float | None) -> Problem | None:
    """What a kind that finds effects needs: a margin, or an effect."""
    if margin is not None or effect is not None:
        return None
    name = hypothesis.id
    help = f"--effect {name}=5 says that 5 percentage points are to be found"
    return Problem(f"`{name}` does not say how large a difference is to be found", help)
