"""What a study says to its stated hypotheses: supported, refuted or open."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gridc.compiler.grid.cell import Cell
from gridc.reports.findings.certification import Region
from gridc.reports.findings.hypotheses.contrasts import decide_contrast
from gridc.reports.findings.hypotheses.effects import Effect
from gridc.reports.findings.hypotheses.families import corrected, rate_of
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, Measured, Ranking
from gridc.reports.findings.hypotheses.interaction import decide_interaction
from gridc.reports.findings.hypotheses.ranking import decide_ranking, ranking_regions, ranking_sentence
from gridc.reports.findings.hypotheses.sentences import effect_sentence
from gridc.reports.findings.hypotheses.trend import decide_trend
from gridc.reports.findings.pair_evidence import digits
from gridc.schema.base import ALPHA
from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.exact_tests import holm


def decisions(measured: Measured, asked: Collection[str] | None = None) -> Iterator[HypothesisFinding]:
    """The verdict on every hypothesis, or on those `asked` for by id, in the order of the spec. Beyond these
    items nothing is decided of an interim look."""
    spec, final = measured.spec, measured.final
    needed = _companions(spec, asked)
    found = {
        each.id: DECISIONS[each.kind].decide(measured, each) for each in spec.hypothesis if each.id in needed
    }
    rankings = {name: each for name, each in found.items() if isinstance(each, Ranking)}
    of_rankings = iter(holm([p for each in rankings.values() for p in (each.support, each.refute)]))
    supports = corrected(spec, {name: each.support for name, each in found.items()})
    refutes = corrected(spec, {name: each.refute for name, each in found.items()})
    for hypothesis in spec.hypothesis:
        answer = found.get(hypothesis.id)
        if isinstance(answer, Ranking):
            support, refute = next(of_rankings), next(of_rankings)
            if asked is not None and hypothesis.id not in asked:
                continue
            tested = final and answer.strength != "descriptive"
            yield HypothesisFinding(
                hypothesis,
                None,
                "holm",
                spec.analysis.alpha or ALPHA,
                2 * len(rankings),
                digits(support) if tested else None,
                digits(refute) if tested else None,
                ranking=answer,
            )
        elif answer is not None and (asked is None or hypothesis.id in asked):
            rate = rate_of(spec, hypothesis)
            yield HypothesisFinding(
                hypothesis,
                rate.family,
                rate.correction,
                rate.alpha,
                rate.members,
                digits(supports[hypothesis.id]) if final else None,
                digits(refutes[hypothesis.id]) if final else None,
                effect=answer,
            )


def _companions(spec: Spec, asked: Collection[str] | None) -> set[str]:
    """Those that are asked for and those whose p-values theirs are corrected with: of their families, and all
    rankings."""
    chosen = [each for each in spec.hypothesis if asked is None or each.id in asked]
    families = {each.family for each in chosen if each.family is not None}
    rankings = any(each.kind == "ranking" for each in chosen)
    return {each.id for each in chosen} | {
        each.id
        for each in spec.hypothesis
        if each.family in families or (rankings and each.kind == "ranking")
    }


def regions_of(spec: Spec, cells: Sequence[Cell]) -> list[Region]:
    """The shared configurations that each ranking is about, by benchmark: what is to be weighed."""
    return [
        region
        for hypothesis in spec.hypothesis
        if isinstance(hypothesis, RankingHypothesis)
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
