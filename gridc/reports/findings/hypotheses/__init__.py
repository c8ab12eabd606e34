"""What a study says to its stated hypotheses: supported, refuted or open."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gridc.compiler.grid.cells import Cell
from gridc.compiler.hypotheses import KINDS, of_kind, sharing_level
from gridc.numbers import counted
from gridc.reports.findings.certification import Region
from gridc.reports.findings.hypotheses.contrasts import ContrastDecision
from gridc.reports.findings.hypotheses.decision import Decision, FoundRow
from gridc.reports.findings.hypotheses.finding import (
    HypothesisFinding,
    MeasuredStudy,
    corrected_p_values,
    rate_of,
    readings_words,
)
from gridc.reports.words import KINDS as KINDS_OF_UNITS
from gridc.schema.hypotheses import ContrastRow, EffectRow, FailureRow, RankingRow, StatisticContrastRow
from gridc.schema.spec import Spec
from gridc.statistics.reproducibility import digits


def decisions(measured: MeasuredStudy, ids: Collection[str] | None = None) -> Iterator[HypothesisFinding]:
    """The verdict on every hypothesis, or on those of these `ids`, in the order of the spec. Beyond these
    items nothing is decided of an interim look."""
    spec, final = measured.spec, measured.final
    needed = companions(spec, ids)
    answers = {
        declared.id: DECISIONS[declared.kind].decide(measured, declared)
        for declared in spec.hypothesis
        if declared.id in needed
    }
    p_values = _corrected(spec, answers)
    others = _read_otherwise(measured, needed, answers) if final and ids is None else {}
    p_otherwise = _corrected(spec, {**answers, **others})
    for hypothesis in spec.hypothesis:
        if hypothesis.id not in answers or (ids is not None and hypothesis.id not in ids):
            continue
        answer, rate = answers[hypothesis.id], rate_of(spec, hypothesis)
        support, refute = p_values[hypothesis.id]
        ranking = answer if isinstance(answer, RankingRow) else None
        tested = final and (ranking is None or ranking.strength != "descriptive")
        decided = HypothesisFinding(
            hypothesis,
            rate.family,
            rate.correction,
            rate.alpha,
            rate.members,
            digits(support) if tested else None,
            digits(refute) if tested else None,
            ranking=ranking,
            effect=answer if isinstance(answer, EffectRow) else None,
            statistic=answer if isinstance(answer, StatisticContrastRow) else None,
        )
        if hypothesis.id in others:
            support, refute = p_otherwise[hypothesis.id]
            other = replace(decided, support=digits(support), refute=digits(refute))
            decided = replace(decided, otherwise=other.verdict)
        yield decided


def _corrected(spec: Spec, answers: Mapping[str, FoundRow]) -> Mapping[str, tuple[float, float]]:
    return corrected_p_values(
        spec, {name: (answer.support, answer.refute) for name, answer in answers.items()}
    )


def _read_otherwise(
    measured: MeasuredStudy, needed: Collection[str], answers: Mapping[str, FoundRow]
) -> dict[str, EffectRow]:
    """The effects among whose answers are unreadable ones, by the other reading of those."""
    analysis = measured.spec.analysis
    other = analysis.model_copy(update={"outcome": "pp" if analysis.outcome == "itt" else "itt"})
    read = replace(measured, spec=measured.spec.model_copy(update={"analysis": other}))
    effects = {}
    for hypothesis in measured.spec.hypothesis:
        answer = answers[hypothesis.id] if hypothesis.id in needed else None
        if isinstance(answer, EffectRow) and any(map(_unread, answer.contrasts)):
            decided = DECISIONS[hypothesis.kind].decide(read, hypothesis)
            assert isinstance(decided, EffectRow)
            effects[hypothesis.id] = decided
    return effects


def _unread(contrast: ContrastRow) -> bool:
    return contrast.other is not None and contrast.other.samples != contrast.change.samples


def companions(spec: Spec, ids: Collection[str] | None) -> set[str]:
    """Those that are asked for and those whose p-values theirs are corrected with: of their families, and
    without one those that share a level all the same."""
    chosen = [hypothesis for hypothesis in spec.hypothesis if ids is None or hypothesis.id in ids]
    families = {hypothesis.family for hypothesis in chosen if hypothesis.family is not None}
    return {member.id for hypothesis in chosen for member in sharing_level(spec, hypothesis)} | {
        hypothesis.id for hypothesis in spec.hypothesis if hypothesis.family in families
    }


def regions_of(spec: Spec, cells: Sequence[Cell], ids: Collection[str] | None = None) -> list[Region]:
    """The shared configurations that the verdicts of these `ids` (None: all) take, by hypothesis and
    benchmark: what is to be weighed."""
    needed = companions(spec, ids)
    return [
        region
        for hypothesis in spec.hypothesis
        if hypothesis.id in needed
        for region in DECISIONS[hypothesis.kind].regions(spec, hypothesis, cells)
    ]


def hypothesis_sentence(finding: HypothesisFinding, complete: bool) -> str:
    """The verdict in a sentence or a few, of a complete run or an unfinished one."""
    return DECISIONS[finding.kind].sentence(finding, complete)


def approximate(finding: HypothesisFinding) -> bool:
    """Whether its verdict rests on a test that is an approximation."""
    return DECISIONS[finding.kind].approximate(finding)


def reach(finding: HypothesisFinding) -> str:
    """How far a verdict goes."""
    return DECISIONS[finding.kind].reach(finding)


def verdict_lines(hypotheses: Sequence[HypothesisFinding], complete: bool) -> Iterator[str]:
    """How many hypotheses met which end, and each effect in one line."""
    ends = {
        verdict: [finding.id for finding in hypotheses if finding.verdict == verdict]
        for verdict in ("supported", "refuted", "open")
    }
    counts = [f"{len(names)} {verdict} ({', '.join(names)})" for verdict, names in ends.items() if names]
    if counts:
        so_far = (
            "" if complete else " so far, and beyond these items none is decided before the run is complete"
        )
        rough = [finding.id for finding in hypotheses if approximate(finding)]
        by = f"; by an approximation: {', '.join(rough)}" if rough else ""
        yield f"Of {counted(len(hypotheses), 'hypothesis', 'hypotheses')}, {', '.join(counts)}{so_far}{by}."
    parted = [f"{finding.id}: {readings_words(finding)}" for finding in hypotheses if finding.depends]
    if parted:
        about = "; ".join(parted)
        yield f"Whether unreadable answers count or are left out decides a verdict ({about})."
    lines = [
        line
        for finding in hypotheses
        if (line := DECISIONS[finding.kind].line(finding, complete)) is not None
    ]
    if lines:
        assumed = f"intervals and p-values assume independent units, {KINDS_OF_UNITS}"
        yield f"Effects ({assumed}): {'; '.join(lines)}."
    untested: dict[FailureRow, list[str]] = {}
    for hypothesis in hypotheses:
        if complete and hypothesis.effect is not None and hypothesis.effect.failure is not None:
            untested.setdefault(hypothesis.effect.failure, []).append(hypothesis.id)
    if untested:
        why = (f"{', '.join(names)} ({failure.code}: {failure.words})" for failure, names in untested.items())
        yield f"Without the estimator's test: {'; '.join(why)}."


def _decision(name: str, kind: Any) -> Decision[Any]:
    own: Decision[Any] = (
        ContrastDecision(kind) if kind.compares_levels else of_kind(__name__, name, "DECISION")
    )
    return own


DECISIONS: Mapping[str, Decision[Any]] = {name: _decision(name, kind) for name, kind in KINDS.items()}
"""By the `kind` of the language. Whatever compares levels with a reference is decided in one way, by what its
kind says of itself; another has a module of its name here."""
