"""What every kind of hypothesis tells the reports: how it is decided, its sentence, and how far its verdict
reaches.

A kind is a module of its name beside this one: a class that answers everything of `Decision`, and the one
instance of it, `DECISION`. What the compiler knows of the kind is its module in `compiler.hypotheses`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from gridc.compiler.grid.cells import Cell
from gridc.compiler.hypotheses.tested import AboutAnEffect, TestedKind
from gridc.numbers import counted, p_in_text, p_value
from gridc.reports.findings.certification import Region
from gridc.reports.findings.hypotheses.finding import (
    INDEPENDENT,
    HypothesisFinding,
    MeasuredStudy,
    at_margin,
    contrast_words,
    correction_words,
    points_words,
    readable_words,
    readings_words,
)
from gridc.reports.findings.hypotheses.regression import ESTIMATORS
from gridc.reports.words import BY_APPROXIMATION
from gridc.schema.hypotheses import EffectRow, RankingRow, StatisticContrastRow
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec

FoundRow = RankingRow | EffectRow | StatisticContrastRow
"""What was found of a hypothesis, by what it is about."""
H = TypeVar("H", bound=AnyHypothesis, contravariant=True)


class Decision(Protocol[H]):
    """How the verdict on a kind of hypothesis is reached, and what is said of it."""

    @abstractmethod
    def decide(self, measured: MeasuredStudy, hypothesis: H) -> FoundRow:
        """What was found, with the p-values of this hypothesis alone."""

    @abstractmethod
    def regions(self, spec: Spec, hypothesis: H, cells: Sequence[Cell]) -> Sequence[Region]:
        """The shared configurations that are to be weighed before it is decided, one region a benchmark."""

    @abstractmethod
    def sentence(self, finding: HypothesisFinding, complete: bool) -> str:
        """The verdict in a sentence or a few, of a complete run or an unfinished one."""

    @abstractmethod
    def line(self, finding: HypothesisFinding, complete: bool) -> str | None:
        """The verdict in a few words among others; None where counting it says as much."""

    @abstractmethod
    def approximate(self, finding: HypothesisFinding) -> bool:
        """Whether the verdict rests on a test that is an approximation, and holds its level only with many
        units."""

    @abstractmethod
    def reach(self, finding: HypothesisFinding) -> str:
        """How far the verdict goes, as the scorecard says it."""


def reach_words(finding: HypothesisFinding, approximate: bool) -> str:
    """The reach of a verdict on new items; an approximation needs many units."""
    if finding.verdict == "open":
        return "Nothing: it is open."
    by, many = (BY_APPROXIMATION, ", many of them") if approximate else ("", "")
    return (
        f"New items of the same kind{by}, at level {finding.alpha:g}, if there are independent units{many}; "
        "these models and configurations only."
    )


def _left_out_words(samples: int) -> str:
    """What a comparison does not read."""
    verb = "is" if samples == 1 else "are"
    return (
        f"{counted(samples, 'answer')} {verb} not compared: the item is not asked under every level that is "
        "compared, all else the same, or under one of them no answer can be read"
    )


T = TypeVar("T", bound=AboutAnEffect)


class EffectDecision(Decision[T]):
    """A verdict on an effect. What its kind claims, each says itself."""

    @property
    @abstractmethod
    def kind(self) -> TestedKind[T]:
        """What the compiler knows of it."""

    @abstractmethod
    def claimed(self, hypothesis: T) -> str:
        """The margin and the axis of a claim that means nothing without them."""

    def further(self, finding: HypothesisFinding, effect: EffectRow) -> Iterator[str]:
        """What else a reader of the verdict should know, where there is anything."""
        yield from ()

    def regions(self, spec: Spec, hypothesis: T, cells: Sequence[Cell]) -> Sequence[Region]:
        return ()

    def sentence(self, finding: HypothesisFinding, complete: bool) -> str:
        """The verdict on an effect; then every level against the reference."""
        effect = _effect_of(finding)
        shown = [contrast_words(contrast, effect, complete) for contrast in effect.contrasts[:3]]
        if len(effect.contrasts) > 3:
            shown.append(f"{len(effect.contrasts) - 3} further levels stand in the table")
        sentences = [self._verdict_words(finding, effect, complete)]
        if shown:
            sentences.append(f"{'; '.join(shown)}.")
        if effect.left_out and shown:
            sentences.append(f"{_left_out_words(effect.left_out)}.")
        sentences += readable_words(effect)
        sentences += self.further(finding, effect)
        if finding.depends:
            sentences.append(
                "Whether unreadable answers count or are left out decides this verdict: "
                f"{readings_words(finding)}."
            )
        return " ".join(sentences)

    def line(self, finding: HypothesisFinding, complete: bool) -> str:
        effect = _effect_of(finding)
        shown = [
            f"{contrast.change.level} against {contrast.change.reference} {points_words(contrast.change)}"
            for contrast in effect.contrasts[:1]
            if contrast.change.difference is not None
        ]
        more = len(effect.contrasts) - 1
        claimed = self._claimed(finding)
        name = f"{finding.id} ({finding.kind}{claimed})" if claimed else finding.id
        words = ", ".join(
            [f"{name} {finding.verdict}", *shown, *([counted(more, "more level")] if more > 0 else [])]
        )
        if not complete or finding.support is None or finding.refute is None:
            return words
        if effect.failure is not None and not effect.tested:
            return f"{words}, not tested"
        side, p = ("refutation ", finding.refute) if finding.verdict == "refuted" else ("", finding.support)
        return f"{words}, {side}{p_in_text(p)} ({correction_words(finding)})"

    def approximate(self, finding: HypothesisFinding) -> bool:
        """Where the estimator's test decides. Where a margin is stated and no side, the other verdict is that
        of a test at the margin, which holds with any number of units."""
        test = _effect_of(finding).test
        if finding.verdict == "open" or self.kind.at_margin or test is None or not test.decides:
            return False
        stated: Any = finding.hypothesis  # one of this kind
        rule = self.kind.rule(stated, finding.alpha)
        return finding.verdict == self.kind.first or rule.margin is None or rule.side != "two-sided"

    def reach(self, finding: HypothesisFinding) -> str:
        return reach_words(finding, self.approximate(finding))

    def _claimed(self, finding: HypothesisFinding) -> str:
        stated: Any = finding.hypothesis  # one of this kind
        return self.claimed(stated)

    def _verdict_words(self, finding: HypothesisFinding, effect: EffectRow, complete: bool) -> str:
        name = f"{finding.id} ({finding.kind} of {effect.outcome}{self._claimed(finding)})"
        if not complete or finding.support is None or finding.refute is None:
            return f"{name} is open while the run is incomplete."
        failure = effect.failure
        by = BY_APPROXIMATION if self.approximate(finding) else ""
        if failure is not None and not effect.tested:
            return f"{name} is open, because nothing is tested ({failure.code}: {failure.words})."
        return (
            f"{self._unsupportable(finding, effect)}{name} is {finding.verdict}{by} "
            f"(p of support {p_value(finding.support)}, p of refutation {p_value(finding.refute)}, "
            f"{correction_words(finding)} at level {finding.alpha:g}; {self._basis(finding, effect)})."
        )

    def _unsupportable(self, finding: HypothesisFinding, effect: EffectRow) -> str:
        """That the study could not have shown a margin without a change; changes may have refuted it."""
        if finding.verdict != "open" or self.kind.finds_effects:
            return ""
        still = max((contrast.change.unchanged or 0.0 for contrast in effect.contrasts), default=0.0)
        if still <= finding.alpha:
            return ""
        return (
            "This study could not have supported it where nothing changes: if no answer had changed, p of "
            f"support would be {p_value(still)}. "
        )

    def _basis(self, finding: HypothesisFinding, effect: EffectRow) -> str:
        """What the p-values rest on."""
        at = self._at_margin(finding, effect)
        if self.kind.at_margin:
            return at
        test = ESTIMATORS[effect.estimator].assumes
        if effect.failure is not None:
            test = f"the estimator has no test here, {effect.failure.code}: {effect.failure.words}"
        margins = any(contrast.change.margins for contrast in effect.contrasts)
        return f"{test}; at the margin {at}" if margins else test

    def assumes(self, finding: HypothesisFinding) -> tuple[str, str]:
        """What a test at its margin takes for granted that its claim does not say, and what it assumes."""
        return "", INDEPENDENT

    def _at_margin(self, finding: HypothesisFinding, effect: EffectRow) -> str:
        aside, independent = self.assumes(finding)
        return f"{at_margin(effect)}{aside}, {independent}"


def _effect_of(finding: HypothesisFinding) -> EffectRow:
    if finding.effect is None:
        raise ValueError(f"{finding.id} is not about an effect")
    return finding.effect
