"""What the scores say to a stated hypothesis: supported, refuted or open."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from gridc.compiler.grid import configurations as grid
from gridc.reports.findings.noise import Floors, Gap, all_must_hold, one_must_hold, standing
from gridc.reports.findings.scores import CellScore
from gridc.schema.certificate import Standing, Verdict
from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class HypothesisFinding:
    """The verdict on a ranking, with the configurations that agree, contradict, tie or lack a score.

    A configuration agrees when every model is strictly better than the next of the order. `standings` are
    those of the steps that carry the verdict: the reversed ones where any is, else all that agree.
    """

    hypothesis: RankingHypothesis
    agree: int
    contradict: int
    tied: int
    missing: int
    against: str | None
    standings: tuple[Standing, ...]

    @property
    def verdict(self) -> Verdict:
        """refuted by one strict reversal, supported when every configuration agrees, else open."""
        if self.contradict:
            return "refuted"
        return "supported" if not self.tied and not self.missing else "open"

    @property
    def noise(self) -> Standing | None:
        """Whether batch shape alone could undo the verdict: support falls with any step, a refutation stands
        with one reversed step. None while open."""
        if self.verdict == "open":
            return None
        holds = all_must_hold if self.verdict == "supported" else one_must_hold
        return holds(self.standings)


def decisions(spec: Spec, scores: Sequence[CellScore], floors: Floors) -> Iterator[HypothesisFinding]:
    """The verdict on every hypothesis whose kind has a decision, in the order of the spec."""
    for hypothesis in spec.hypothesis:
        if hypothesis.kind in DECISIONS:
            yield DECISIONS[hypothesis.kind].decide(spec, hypothesis, scores, floors)


def decide_ranking(
    spec: Spec, hypothesis: RankingHypothesis, scores: Sequence[CellScore], floors: Floors
) -> HypothesisFinding:
    """Read the scores of the primary cells that the hypothesis is about. Descriptive, on these items."""
    directions = {benchmark.id: benchmark.direction for benchmark in spec.benchmark}
    rows: dict[tuple[str, str], dict[str, CellScore]] = {}
    for each in scores:
        cell = each.cell
        place = grid.place(spec, cell.levels, cell.benchmark, cell.model)
        if hypothesis.where.matches(place) and spec.analysis.primary.matches(place):
            rows.setdefault((cell.benchmark, cell.configuration), {})[cell.model] = each
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
    return HypothesisFinding(
        hypothesis, against=against[0] if against else None, standings=tuple(decisive), **counts
    )


def _ranking_sentence(finding: HypothesisFinding, complete: bool) -> str:
    order = " > ".join(finding.hypothesis.order)
    total = finding.agree + finding.contradict + finding.tied + finding.missing
    here = "on these items" if complete else "on these items so far"
    return (
        f"{finding.hypothesis.id} ({order}) is {finding.verdict} {here}: {finding.agree} of {total} "
        f"configurations agree, {finding.contradict} contradict it."
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
    """How the verdict on a kind of hypothesis is reached, and how it is said of a complete run or an
    unfinished one."""

    decide: Callable[[Spec, Any, Sequence[CellScore], Floors], HypothesisFinding]
    sentence: Callable[[HypothesisFinding, bool], str]


DECISIONS: Mapping[str, Decision] = {"ranking": Decision(decide_ranking, _ranking_sentence)}
"""By the `kind` of the language. What the compiler knows about a kind is `grid.hypothesis_kinds.KINDS`."""
