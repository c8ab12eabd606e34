"""What a study says to its stated hypotheses: supported, refuted or open."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gridc.compiler.grid.cell import Cell
from gridc.reports.findings.certification import Region
from gridc.reports.findings.hypotheses.contrasts import decide_contrast
from gridc.reports.findings.hypotheses.effects import Contrast, Effect
from gridc.reports.findings.hypotheses.families import corrected, rate_of, without_family
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, Measured, Ranking
from gridc.reports.findings.hypotheses.interaction import decide_interaction
from gridc.reports.findings.hypotheses.ranking import decide_ranking, ranking_regions, ranking_sentence
from gridc.reports.findings.hypotheses.sentences import effect_sentence
from gridc.reports.findings.hypotheses.trend import decide_trend
from gridc.reports.findings.pair_evidence import digits
from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Spec


def decisions(measured: Measured, asked: Collection[str] | None = None) -> Iterator[HypothesisFinding]:
    """The verdict on every hypothesis, or on those `asked` for by id, in the order of the spec. Beyond these
    items nothing is decided of an interim look."""
    spec, final = measured.spec, measured.final
    needed = companions(spec, asked)
    found = {
        each.id: DECISIONS[each.kind].decide(measured, each) for each in spec.hypothesis if each.id in needed
    }
    p_values = _corrected(spec, found)
    others = _read_otherwise(measured, needed, found) if final and asked is None else {}
    p_otherwise = _corrected(spec, {**found, **others})
    for hypothesis in spec.hypothesis:
        if hypothesis.id not in found or (asked is not None and hypothesis.id not in asked):
            continue
        answer, rate = found[hypothesis.id], rate_of(spec, hypothesis)
        support, refute = p_values[hypothesis.id]
        ranking = answer if isinstance(answer, Ranking) else None
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
            effect=None if isinstance(answer, Ranking) else answer,
        )
        if hypothesis.id in others:
            support, refute = p_otherwise[hypothesis.id]
            other = replace(decided, support=digits(support), refute=digits(refute))
            decided = replace(decided, otherwise=other.verdict)
        yield decided


def _corrected(spec: Spec, found: Mapping[str, Ranking | Effect]) -> Mapping[str, tuple[float, float]]:
    return corrected(spec, {name: (each.support, each.refute) for name, each in found.items()})


def _read_otherwise(
    measured: Measured, needed: Collection[str], found: Mapping[str, Ranking | Effect]
) -> dict[str, Effect]:
    """The effects among whose answers are unreadable ones, by the other reading of those."""
    analysis = measured.spec.analysis
    other = analysis.model_copy(update={"outcome": "pp" if analysis.outcome == "itt" else "itt"})
    read = replace(measured, spec=measured.spec.model_copy(update={"analysis": other}))
    effects = {}
    for hypothesis in measured.spec.hypothesis:
        answer = found[hypothesis.id] if hypothesis.id in needed else None
        if isinstance(answer, Effect) and any(map(_unread, answer.contrasts)):
            decided = DECISIONS[hypothesis.kind].decide(read, hypothesis)
            assert isinstance(decided, Effect)
            effects[hypothesis.id] = decided
    return effects


def _unread(contrast: Contrast) -> bool:
    return contrast.other is not None and contrast.other.samples != contrast.change.samples


def companions(spec: Spec, asked: Collection[str] | None) -> set[str]:
    """Those that are asked for and those whose p-values theirs are corrected with: of their families, and of
    rankings without a family all such rankings."""
    chosen = [each for each in spec.hypothesis if asked is None or each.id in asked]
    families = {each.family for each in chosen if each.family is not None}
    rankings = any(without_family(each) for each in chosen)
    return {each.id for each in chosen} | {
        each.id for each in spec.hypothesis if each.family in families or (rankings and without_family(each))
    }


def regions_of(spec: Spec, cells: Sequence[Cell], asked: Collection[str] | None = None) -> list[Region]:
    """The shared configurations of each ranking that the verdicts `asked` for (None: all) take, by benchmark:
    what is to be weighed."""
    needed = companions(spec, asked)
    return [
        region
        for hypothesis in spec.hypothesis
        if isinstance(hypothesis, RankingHypothesis) and hypothesis.id in needed
        for region in ranking_regions(spec, hypothesis, cells).values()
    ]


def sentence(finding: HypothesisFinding, complete: bool) -> str:
    """The verdict in a sentence or a few, of a complete run or an unfinished one."""
    return DECISIONS[finding.kind].sentence(finding, complete)


class Decision(NamedTuple):
    """How the verdict on a kind of hypothesis is reached, and how it is said."""

    decide: Callable[[Measured, Any], Ranking | Effect]
    sentence: Callable[[HypothesisFinding, bool], str]


_CONTRAST = Decision(decide_contrast, effect_sentence)
DECISIONS: Mapping[str, Decision] = {
    "ranking": Decision(decide_ranking, ranking_sentence),
    "difference": _CONTRAST,
    "equivalence": _CONTRAST,
    "noninferiority": _CONTRAST,
    "null_control": _CONTRAST,
    "interaction": Decision(decide_interaction, effect_sentence),
    "trend": Decision(decide_trend, effect_sentence),
}
"""By the `kind` of the language. What the compiler knows about a kind is `grid.hypothesis_kinds.KINDS`."""
