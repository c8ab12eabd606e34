"""What the scores say to a stated hypothesis: supported, refuted or open."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cell import Cell
from gridc.compiler.grid.hypothesis_kinds import is_decided
from gridc.reports.findings.certification import ASKED, Region, Weighed
from gridc.reports.findings.noise import Floors, Gap, all_must_hold, one_must_hold, standing
from gridc.reports.findings.pair_evidence import Weight, digits
from gridc.reports.findings.scores import CellScore
from gridc.reports.words import ASSUMED, p_value
from gridc.schema.base import ALPHA
from gridc.schema.certificate import Standing, Verdict
from gridc.schema.evidence import Tier
from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.exact_tests import holm


@dataclass(frozen=True, slots=True)
class HypothesisFinding:
    """The verdict on a ranking, with the configurations that agree, contradict, tie or lack a score.

    A configuration agrees when every model is strictly better than the next of the order. `standings` are
    those of the steps that carry the verdict: the reversed ones where any is, else all that agree.
    `strength` is the evidence that the spec asks for, at level `alpha`. `support` is the p-value of "the
    order holds in every configuration beyond these items" and `refute` that of "a step of it is reversed
    somewhere", both adjusted (Holm) over `members`, two for each ranking of the study; None where
    descriptive evidence is enough, and while the run is incomplete."""

    hypothesis: RankingHypothesis
    agree: int
    contradict: int
    tied: int
    missing: int
    against: str | None
    standings: tuple[Standing, ...]
    strength: Tier
    alpha: float
    members: int
    support: float | None
    refute: float | None

    @property
    def id(self) -> str:
        return self.hypothesis.id

    @property
    def order(self) -> tuple[str, ...]:
        return self.hypothesis.order

    @property
    def observed(self) -> Verdict:
        """On these items: refuted by one strict reversal, supported when every configuration agrees, else
        open."""
        if self.contradict:
            return "refuted"
        return "supported" if not self.tied and not self.missing else "open"

    @property
    def verdict(self) -> Verdict:
        """By the strength of evidence that the spec asks for."""
        if self.strength == "descriptive":
            return self.observed
        if self.support is None or self.refute is None or min(self.support, self.refute) > self.alpha:
            return "open"
        return "supported" if self.support <= self.refute else "refuted"

    @property
    def noise(self) -> Standing | None:
        """Whether batch shape alone could undo the verdict: support falls with any step, a refutation stands
        with one reversed step. None while open."""
        if self.verdict == "open":
            return None
        holds = all_must_hold if self.verdict == "supported" else one_must_hold
        return holds(self.standings)


def decisions(
    spec: Spec, scores: Sequence[CellScore], floors: Floors, weighed: Weighed, final: bool
) -> Iterator[HypothesisFinding]:
    """The verdict on every hypothesis whose kind has a decision, in the order of the spec. Beyond these items
    nothing is decided of an interim look (`final` false)."""
    found = [
        DECISIONS[hypothesis.kind].decide(spec, hypothesis, scores, floors, weighed)
        for hypothesis in spec.hypothesis
        if hypothesis.kind in DECISIONS and is_decided(hypothesis)
    ]
    alone = [1.0 if p is None else p for each in found for p in (each.support, each.refute)]
    adjusted = iter(holm(alone))
    for each in found:
        support, refute = next(adjusted), next(adjusted)
        if final and each.strength != "descriptive":
            yield replace(each, members=2 * len(found), support=digits(support), refute=digits(refute))
        else:
            yield replace(each, members=2 * len(found), support=None, refute=None)


def regions_of(spec: Spec, cells: Sequence[Cell]) -> list[Region]:
    """The shared configurations that each hypothesis with a decision is about, by benchmark: what is to be
    weighed."""
    return [
        region
        for hypothesis in spec.hypothesis
        if hypothesis.kind in DECISIONS and is_decided(hypothesis)
        for region in DECISIONS[hypothesis.kind].regions(spec, hypothesis, cells).values()
    ]


def _regions(spec: Spec, hypothesis: RankingHypothesis, cells: Sequence[Cell]) -> dict[str, Region]:
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.shared and cell.model in hypothesis.order and _about(spec, hypothesis, cell):
            found.setdefault(cell.benchmark, {})[cell.configuration] = None
    return {name: Region(name, tuple(inside), ASKED) for name, inside in found.items()}


def _about(spec: Spec, hypothesis: RankingHypothesis, cell: Cell) -> bool:
    place = grid.place(spec, cell.levels, cell.benchmark, cell.model)
    return hypothesis.where.matches(place) and spec.analysis.primary.matches(place)


def decide_ranking(
    spec: Spec,
    hypothesis: RankingHypothesis,
    scores: Sequence[CellScore],
    floors: Floors,
    weighed: Weighed,
) -> HypothesisFinding:
    """Read the scores of the primary cells that the hypothesis is about, and weigh what they say of other
    items. The p-values are of this hypothesis alone."""
    directions = {benchmark.id: str(benchmark.direction) for benchmark in spec.benchmark}
    rows: dict[tuple[str, str], dict[str, CellScore]] = {}
    for each in scores:
        if _about(spec, hypothesis, each.cell):
            rows.setdefault((each.cell.benchmark, each.cell.configuration), {})[each.cell.model] = each
    counts = {"agree": 0, "contradict": 0, "tied": 0, "missing": 0}
    against: list[str] = []
    standings: dict[str, list[Standing]] = {"agree": [], "contradict": []}
    for (benchmark, configuration), row in rows.items():
        steps = _steps([row.get(model) for model in hypothesis.order], directions[benchmark], floors)
        verdict = _verdict(steps)
        counts[verdict] += 1
        if verdict == "contradict":
            against.append(f"{benchmark}/{configuration}")
        for step in steps or ():
            if step[0] < 0 or verdict == "agree":
                standings[verdict].append(standing(step))
    decisive = standings["contradict"] if against else standings["agree"]
    strength = spec.analysis.evidence or "certified"
    support, refute = 1.0, 1.0
    if strength != "descriptive":
        regions = _regions(spec, hypothesis, [each.cell for each in scores])
        support, refute = ranking_p_values(hypothesis.order, regions, directions, weighed, strength)
        if sum(len(region.configurations) for region in regions.values()) < len(rows):
            support = 1.0  # a configuration that not every model is asked under
    return HypothesisFinding(
        hypothesis,
        against=against[0] if against else None,
        standings=tuple(decisive),
        strength=strength,
        alpha=spec.analysis.alpha or ALPHA,
        members=2,
        support=support,
        refute=refute,
        **counts,
    )


def ranking_p_values(
    order: Sequence[str],
    regions: Mapping[str, Region],
    directions: Mapping[str, str],
    weighed: Weighed,
    strength: Literal["certified", "supported"],
) -> tuple[float, float]:
    """p-values of "every step of the order holds in every configuration" (intersection-union: the largest)
    and of "some step is reversed somewhere" (Bonferroni over steps and benchmarks)."""
    holds, reversed_ = [1.0] if not regions else [], [1.0]
    for name, region in regions.items():
        for better, worse in pairwise(order):
            if better == worse:
                holds.append(1.0)
                continue
            a, b = (better, worse) if (region, better, worse) in weighed.asked else (worse, better)
            weight: Weight = getattr(weighed.asked[region, a, b], strength)
            forward = (a == better) == (directions[name] == "higher_is_better")
            toward, away = (weight.plus, weight.minus) if forward else (weight.minus, weight.plus)
            holds.append(toward.everywhere)
            reversed_.append(away.somewhere)
    return max(holds), min(1.0, max(len(holds), 1) * min(reversed_))


def _ranking_sentence(finding: HypothesisFinding, complete: bool) -> str:
    order = " > ".join(finding.hypothesis.order)
    total = finding.agree + finding.contradict + finding.tied + finding.missing
    counts = f"{finding.agree} of {total} configurations agree, {finding.contradict} contradict it"
    name = f"{finding.hypothesis.id} ({order})"
    if finding.strength == "descriptive":
        here = "on these items" if complete else "on these items so far"
        return f"{name} is {finding.verdict} {here}, by descriptive evidence: {counts}."
    here = "On these items" if complete else "On these items so far"
    if finding.support is None or finding.refute is None:
        return f"{name} is open while the run is incomplete. {here} {counts}."
    needed = {
        "certified": "certified evidence, which assumes only independent units",
        "supported": f"evidence that assumes independent units and {ASSUMED}",
    }[finding.strength]
    return (
        f"{name} is {finding.verdict} beyond these items, by {needed} (p of support "
        f"{p_value(finding.support)}, p of refutation {p_value(finding.refute)}, Holm over "
        f"{finding.members} at level {finding.alpha:g}). {here} {counts}."
    )


def _steps(row: Sequence[CellScore | None], direction: str, floors: Floors) -> list[Gap] | None:
    """Each model against the next of the order, above 0 where it is better; None where a score is missing."""
    sign = 1 if direction == "higher_is_better" else -1
    found = [
        (each.score, floors.get((each.cell.model, each.cell.setting.precision)))
        for each in row
        if each is not None and each.score is not None
    ]
    if len(found) < len(row):
        return None
    return [(sign * (better - worse), floor, other) for (better, floor), (worse, other) in pairwise(found)]


def _verdict(steps: Sequence[Gap] | None) -> str:
    if steps is None:
        return "missing"
    if any(step < 0 for step, *_ in steps):
        return "contradict"
    return "tied" if any(step == 0 for step, *_ in steps) else "agree"


class Decision(NamedTuple):
    """How the verdict on a kind of hypothesis is reached, how it is said of a complete run or an unfinished
    one, and which shared configurations it is about, by benchmark."""

    decide: Callable[[Spec, Any, Sequence[CellScore], Floors, Weighed], HypothesisFinding]
    sentence: Callable[[HypothesisFinding, bool], str]
    regions: Callable[[Spec, Any, Sequence[Cell]], dict[str, Region]]


DECISIONS: Mapping[str, Decision] = {"ranking": Decision(decide_ranking, _ranking_sentence, _regions)}
"""By the `kind` of the language. What the compiler knows about a kind is `grid.hypothesis_kinds.KINDS`."""
