"""Levels of an axis against a reference level: what difference, equivalence, noninferiority and null_control
have in common."""

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gridc.compiler.hypotheses.kind import Levels, Misfit, PlannedTest, Problem, Reference, comparable_levels
from gridc.compiler.hypotheses.tested import (
    LevelComparison,
    TestedKind,
    outcome_reference,
    run_levels,
    what_to_draw,
)
from gridc.diagnostics.errors import KeyPath
from gridc.schema.inference import MODELS, ContrastHypothesis, Margin, contrast_noun
from gridc.schema.spec import Spec
from gridc.statistics import margins
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.expected_power import ClaimKind, DecidingTest, Layout, Stratum
from gridc.statistics.reproducibility import Verdict
from gridc.statistics.verdicts import Alternative, Evidence, Rule

MARGINS = (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 50)
"""Margins, in percentage points, of which the first that the items can show is proposed."""


MOST_UNITS = 100_000
"""More are not proposed."""


class ContrastKind(TestedKind[ContrastHypothesis]):
    """How each of the four is tested, planned and claimed, it says itself."""

    @staticmethod
    @abstractmethod
    def p_values(evidence: Evidence, side: Alternative, margin: float | None) -> tuple[float, float]:
        """p of what is predicted, and of what refutes it; the margin is a proportion."""

    @property
    @abstractmethod
    def takes_side(self) -> bool:
        """Whether `side` says which way is predicted."""

    @property
    @abstractmethod
    def claim(self) -> ClaimKind:
        """Of the test whose power it has."""

    @abstractmethod
    def claimed(self, hypothesis: ContrastHypothesis) -> str:
        """The margin and the axis of a claim that means nothing without them, behind the name of the kind."""

    compares_levels = True
    interacts = False

    def references(self, hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Reference]:
        axes = comparable_levels(spec)
        yield Reference(("axis",), "axis", hypothesis.axis, axes)
        yield outcome_reference(hypothesis, spec)
        what = "model" if hypothesis.axis == MODELS else "level"
        known = axes.get(hypothesis.axis, (*hypothesis.levels, hypothesis.reference))
        yield Reference(("reference",), what, hypothesis.reference, known)
        if hypothesis.control is not None:
            yield Reference(("control",), what, hypothesis.control, known)
        for rank, name in enumerate(hypothesis.levels):
            key: KeyPath = ("level",) if hypothesis.level == name else ("level", rank)
            yield Reference(key, what, name, known)

    def misfits(self, hypothesis: ContrastHypothesis, spec: Spec) -> Iterator[Misfit]:
        name = hypothesis.id
        if hypothesis.reference in hypothesis.levels:
            known_levels = comparable_levels(spec)[hypothesis.axis]
            others = [level for level in known_levels if level not in hypothesis.levels]
            known = f"`{hypothesis.axis}` also has {', '.join(f'`{level_name}`' for level_name in others)}"
            help = known if others else "name fewer levels, or another reference"
            yield Misfit(
                "GC105", "reference", f"`{name}` compares `{hypothesis.reference}` with itself", help
            )
        if hypothesis.control in (hypothesis.reference, *hypothesis.levels):
            help = "the level that nothing was lost under, beside `reference` and `level`"
            yield Misfit("GC105", "control", f"`{name}` has `{hypothesis.control}` twice", help)

    def why_no_each(self, hypothesis: ContrastHypothesis) -> Mapping[str, Problem]:
        if hypothesis.axis != MODELS:
            return {}
        problem = f"`{hypothesis.id}` compares models, and has no verdict for each of them"
        return {"model": Problem(problem, 'leave `each` out, or each = "benchmark"')}

    def models(self, hypothesis: ContrastHypothesis) -> Sequence[str] | None:
        return hypothesis.every_level if hypothesis.axis == MODELS else None

    def restricted_to(
        self, hypothesis: ContrastHypothesis, models: Collection[str]
    ) -> ContrastHypothesis | None:
        compared = self.models(hypothesis) or ()
        return hypothesis if all(model in models for model in compared) else None

    def margin(self, hypothesis: ContrastHypothesis) -> float | None:
        return None if hypothesis.margin is None else hypothesis.margin.pp

    def axes(self, hypothesis: ContrastHypothesis) -> tuple[str, ...]:
        return (hypothesis.axis,)

    def levels(self, hypothesis: ContrastHypothesis, axis: str, run: Sequence[str]) -> Collection[str]:
        return hypothesis.every_level if axis == hypothesis.axis else ()

    def comparable(self, hypothesis: ContrastHypothesis, spec: Spec, levels: Levels) -> bool:
        return run_levels(levels).issuperset(hypothesis.every_level)

    def contrasts(self, hypothesis: ContrastHypothesis) -> int:
        return len(hypothesis.levels)

    def compared(self, hypothesis: ContrastHypothesis, spec: Spec, levels: Levels) -> LevelComparison:
        return LevelComparison((hypothesis.reference, *hypothesis.levels))

    def rule(self, hypothesis: ContrastHypothesis, level: float) -> Rule:
        margin = None if hypothesis.margin is None else hypothesis.margin.pp / 100
        sided = self.takes_side and hypothesis.side != "two-sided"
        rule = Rule(self.p_values, hypothesis.side, level, margin, sided, self.first)
        stated = hypothesis.margin
        if stated is None:
            return rule
        return replace(rule, largest=stated.largest, of_items=stated.about == "these_units")

    def test(self, hypothesis: ContrastHypothesis, level: float) -> DecidingTest:
        rule = self.rule(hypothesis, level)
        return DecidingTest(self.claim, hypothesis.side, level, rule.margin, largest=rule.largest)

    def unreachable_help(self, hypothesis: ContrastHypothesis, design: PlannedTest, verdict: Verdict) -> str:
        if hypothesis.margin is not None:
            return "no difference is as large as the margin: make it smaller"
        what = "give it a margin below which a difference counts as none: margin = { pp = "
        if design.parts is None:
            return f"{what}2 }}"
        for pp in MARGINS:
            if self.would_reach(hypothesis, design, verdict, margin=Margin(pp=pp)):
                return f"{what}{pp} }} is about the least that these items show"
        return f"{what_to_draw(design)}, and {what}2 }}"

    def at_margin_words(self, hypothesis: ContrastHypothesis, design: PlannedTest, sides: str) -> str:
        """The test of units at the margin, or at both of them."""
        levels = f", all {len(hypothesis.levels)} levels" if len(hypothesis.levels) > 1 else ""
        answers = () if design.empty else self.at_margin_layout(hypothesis, design).by_unit.sum(axis=1)
        test = margins.method_of(answers, design.binary)
        return f"{test}, at {sides} the margin{levels}{assumption_words(hypothesis)}"

    def at_margin_layout(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> Layout:
        layout = self.layout(hypothesis, design)
        if hypothesis.margin is None or hypothesis.margin.about == "new_units":
            return layout
        strata = [
            Stratum((stratum.answers[0] / part.sizes[0],) * part.items)
            for stratum, part in zip(layout.strata, design.known.values(), strict=True)
        ]
        return replace(layout, strata=tuple(strata))

    def way_out(self, hypothesis: ContrastHypothesis, design: PlannedTest, verdict: Verdict) -> str:
        ways = self.what_would_show_margin(hypothesis, design) if verdict == "supported" else None
        return ways or super().way_out(hypothesis, design, verdict)

    def what_would_show_margin(self, hypothesis: ContrastHypothesis, design: PlannedTest) -> str | None:
        if hypothesis.margin is None or self.finds_effects or design.empty:
            return None
        return ", or ".join(self._ways(hypothesis, hypothesis.margin, design)) or None

    def _ways(self, hypothesis: ContrastHypothesis, margin: Margin, design: PlannedTest) -> Iterator[str]:
        """What is the least of each kind that lets the margin be shown where nothing changes; nothing where
        it is shown there already."""

        def shows(count: int | None = None, **stated: object) -> bool:
            wanted = margin.model_copy(update=stated)
            asked = hypothesis.model_copy(update={"margin": wanted})
            answers = np.sort(self.at_margin_layout(asked, design).by_unit.sum(axis=1))
            rows = design.replicates * (answers if count is None else np.resize(answers, count))
            arms, ones = np.column_stack([rows, rows]), np.ones(len(rows), np.int64)
            units = CaseTable(arms, np.zeros_like(arms), ones)
            p = margins.unchanged(units, 1, 0, wanted.pp / 100, wanted.largest)
            return p <= design.level

        def refutes(**stated: object) -> bool:
            asked = hypothesis.model_copy(update={"margin": margin.model_copy(update=stated)})
            return "refuted" in self.reached(asked, design)

        if shows():
            return
        several = any(size > 1 for part in design.known.values() for size in part.sizes)
        held = len(self.at_margin_layout(hypothesis, design).by_unit)
        if count := _least(lambda number: shows(number), held, MOST_UNITS):
            single = all(size == 1 for part in design.known.values() for size in part.sizes)
            more = (
                f"{count:,} items" if single or margin.about == "these_units" else f"items of {count:,} units"
            )
            yield f"draw {more}" if single else f"draw {more} (those of one unit are not independent)"
        most = round(2 * (margin.largest_change or 100)) - 1
        halves = _least(lambda number: shows(pp=number / 2), math.floor(2 * margin.pp), most)
        if halves and refutes(pp=halves / 2):
            yield f"pp = {halves / 2:g}"
        if not several or margin.about == "these_units":
            return
        fives = range(math.floor(margin.pp / 5) + 1, math.ceil((margin.largest_change or 100) / 5))
        largest = next((5 * at for at in reversed(fives) if shows(largest_change=5.0 * at)), None)
        if largest and refutes(largest_change=float(largest)):  # units of few items change by more at once
            yield f"largest_change = {largest}, where it is known that no unit changes by more"
        if shows(about="these_units"):
            yield 'about = "these_units", where nothing is to be said of others'

    def would_reach(
        self, hypothesis: ContrastHypothesis, design: PlannedTest, verdict: Verdict, **stated: object
    ) -> bool:
        """Whether some outcome reaches the verdict with these keys. A key can add a claim, which halves the
        level at most."""
        stricter = replace(design, level=design.level / 2)
        return verdict in self.reached(hypothesis.model_copy(update=stated), stricter)


def _least(holds: Callable[[int], bool], low: int, most: int) -> int | None:
    """The least number above `low` for which it holds, as it does for every larger one; None where it holds
    for none up to `most`."""
    step = 1
    while low + step < most and not holds(low + step):
        step *= 2
    high = min(low + step, most)
    if high <= low or not holds(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def assumption_words(hypothesis: ContrastHypothesis) -> str:
    """What a test at the margin takes for granted, and whom it is about."""
    margin, words = hypothesis.margin, ""
    if margin is not None and margin.largest_change is not None:
        words += f", if no unit changes by more than {margin.largest_change:g} pp"
    if margin is not None and margin.about == "these_units":
        words += ", of items: on these units alone"
    return words


def within_words(hypothesis: ContrastHypothesis) -> str:
    """A claim that the levels do not differ, by no more than the margin where there is one."""
    within = "" if hypothesis.margin is None else f" within {hypothesis.margin.pp:g} pp"
    return f"{within} between {contrast_noun(hypothesis.axis)}{assumption_words(hypothesis)}"


def without_margin(hypothesis: ContrastHypothesis) -> Iterator[Misfit]:
    """For kinds that are tests at a margin."""
    if hypothesis.margin is None:
        help = "margin = { pp = 2 }: the smallest difference that would matter, in percentage points"
        problem = f"`{hypothesis.id}` is a test of {hypothesis.kind} and has no `margin`"
        yield Misfit("GC103", None, problem, help)


def no_effect_to_find(hypothesis: ContrastHypothesis) -> Problem:
    """For kinds that show a margin."""
    help = "its margin says what is to be shown; leave the effect out"
    return Problem(f"`{hypothesis.id}` is a test of {hypothesis.kind} and has no effect to find", help)


def margin_words(hypothesis: ContrastHypothesis) -> str:
    """What a design is to show."""
    assert hypothesis.margin is not None
    return f"{hypothesis.kind} within {hypothesis.margin.pp:g} pp"


def joint_words(hypothesis: ContrastHypothesis) -> str:
    """The test of a difference either way."""
    several = len(hypothesis.levels)
    return f"joint test of {several} levels" if several > 1 else "two-sided test"
