"""What the scores say to a stated hypothesis: supported, refuted or open."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gridc.compiler import grid
from gridc.reports.scores import CellScore
from gridc.schema.certificate import Verdict
from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class HypothesisFinding:
    """The verdict on a ranking, with the configurations that agree, contradict, tie or lack a score.

    A configuration agrees when every model is strictly better than the next of the order.
    """

    hypothesis: RankingHypothesis
    agree: int
    contradict: int
    tied: int
    missing: int
    against: str | None

    @property
    def verdict(self) -> Verdict:
        """refuted by one strict reversal, supported when every configuration agrees, else open."""
        if self.contradict:
            return "refuted"
        return "supported" if not self.tied and not self.missing else "open"


def judge(spec: Spec, hypothesis: RankingHypothesis, scores: Sequence[CellScore]) -> HypothesisFinding:
    """Read the scores of the primary cells that the hypothesis is about. Descriptive, on these items."""
    directions = {benchmark.id: benchmark.direction for benchmark in spec.benchmark}
    rows: dict[tuple[str, str], dict[str, CellScore]] = {}
    for each in scores:
        cell = each.cell
        place = grid.place(spec, cell.levels, cell.benchmark, cell.model)
        if hypothesis.where.matches(place) and spec.analysis.primary.matches(place):
            rows.setdefault((cell.benchmark, cell.configuration), {})[cell.model] = each
    counts = {"agree": 0, "contradict": 0, "tied": 0, "missing": 0}
    against = None
    for (benchmark, configuration), row in rows.items():
        verdict = _compare([row.get(model) for model in hypothesis.order], directions[benchmark])
        counts[verdict] += 1
        if verdict == "contradict" and against is None:
            against = f"{benchmark}/{configuration}"
    return HypothesisFinding(hypothesis, against=against, **counts)


def _compare(row: Sequence[CellScore | None], direction: str) -> str:
    values = [each.score for each in row if each is not None and each.score is not None]
    if len(values) < len(row):
        return "missing"
    sign = 1 if direction == "higher_is_better" else -1
    steps = [sign * (better - worse) for better, worse in pairwise(values)]
    if any(step < 0 for step in steps):
        return "contradict"
    return "tied" if any(step == 0 for step in steps) else "agree"
