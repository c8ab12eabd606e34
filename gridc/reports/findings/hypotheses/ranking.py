"""An order of models: in which configurations the scores agree with it, and what that shows about other
items."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import numpy as np

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell, rosters
from gridc.numbers import counted, p_value
from gridc.reports.findings.certification import ASKED, ClaimEvidence, Region, Weight, claim_evidence
from gridc.reports.findings.hypotheses.decision import Decision, reach_words
from gridc.reports.findings.hypotheses.finding import HypothesisFinding, MeasuredStudy, correction_words
from gridc.reports.findings.noise import Floors, GapAndFloors, standing
from gridc.reports.findings.scores import CellScore, gather_outcomes, score_cell
from gridc.reports.words import ASSUMED
from gridc.schema.base import ALPHA, EVERYWHERE
from gridc.schema.hypotheses import RankingRow, Standing
from gridc.schema.inference import RankingHypothesis
from gridc.schema.spec import Spec
from gridc.statistics.envelope import Direction
from gridc.statistics.reproducibility import Verdict


class RankingDecision(Decision[RankingHypothesis]):
    def decide(self, measured: MeasuredStudy, hypothesis: RankingHypothesis) -> RankingRow:
        """Read the scores of the primary cells that the hypothesis is about, and weigh what they say of other
        items. The p-values are of this hypothesis alone."""
        spec = measured.spec
        measured = measured if hypothesis.items is None else on_items(measured, hypothesis)
        directions = {benchmark.id: Direction.of(benchmark.direction) for benchmark in spec.benchmark}
        rows: dict[tuple[str, str], dict[str, CellScore]] = {}
        here = _run_by_all(spec, hypothesis)
        for score in measured.scores:
            if score.cell.benchmark in here and _concerns(spec, hypothesis, score.cell):
                rows.setdefault((score.cell.benchmark, score.cell.configuration), {})[score.cell.model] = (
                    score
                )
        counts = {"agree": 0, "contradict": 0, "tied": 0, "missing": 0}
        against: list[str] = []
        standings: dict[str, list[Standing]] = {"agree": [], "contradict": []}
        for (benchmark, configuration), row in rows.items():
            scores = [row.get(model) for model in hypothesis.order]
            steps = _steps(scores, directions[benchmark], measured.floors)
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
            regions = ranking_regions(spec, hypothesis, [score.cell for score in measured.scores])
            support, refute = ranking_p_values(
                hypothesis.order, regions, directions, measured.weighed, strength
            )
            if sum(len(region.configurations) for region in regions.values()) < len(rows):
                support = 1.0  # a configuration that not every model is asked under
        return RankingRow(
            order=hypothesis.order,
            observed=_observed(**counts),
            against=against[0] if against else None,
            standings=tuple(decisive),
            strength=strength,
            untested=()
            if strength == "descriptive"
            else tuple(
                name
                for name in dict.fromkeys(name for name, _ in rows)
                if directions[name].target is not None
            ),
            support=support,
            refute=refute,
            **counts,
        )

    def regions(self, spec: Spec, hypothesis: RankingHypothesis, cells: Sequence[Cell]) -> Sequence[Region]:
        return [*ranking_regions(spec, hypothesis, cells).values()]

    def sentence(self, finding: HypothesisFinding, complete: bool) -> str:
        ranking = finding.ranking
        if ranking is None:
            raise ValueError(f"{finding.id} is not about an order of models")
        order = " > ".join(ranking.order)
        total = ranking.agree + ranking.contradict + ranking.tied + ranking.missing
        agree, contradict = (
            ("agrees" if total == 1 else "agree"),
            ("contradicts" if ranking.contradict == 1 else "contradict"),
        )
        configurations = counted(total, "configuration")
        counts = f"{ranking.agree} of {configurations} {agree}, {ranking.contradict} {contradict} it"
        if ranking.tied:
            counts += f", {ranking.tied} {'ties' if ranking.tied == 1 else 'tie'}"
        if ranking.missing:
            counts += f", {ranking.missing} without a score of every model"
        name = f"{finding.hypothesis.id} ({order})"
        if ranking.strength == "descriptive":
            here = "on these items" if complete else "on these items so far"
            return f"{name} is {finding.verdict} {here}, by counts alone: {counts}."
        here = "On these items" if complete else "On these items so far"
        if finding.support is None or finding.refute is None:
            return f"{name} is open while the run is incomplete. {here} {counts}."
        needed = {
            "certified": "tests that assume only independent units",
            "supported": f"an approximation that assumes independent units and {ASSUMED}",
        }[ranking.strength]
        return (
            f"{name} is {finding.verdict} beyond these items, by {needed} (p of support "
            f"{p_value(finding.support)}, p of refutation {p_value(finding.refute)}, "
            f"{correction_words(finding)} at level {finding.alpha:g}). {_untested(ranking)}{here} {counts}."
        )

    def line(self, finding: HypothesisFinding, complete: bool) -> None:
        return None

    def approximate(self, finding: HypothesisFinding) -> bool:
        ranking = finding.ranking
        return finding.verdict != "open" and ranking is not None and ranking.strength == "supported"

    def reach(self, finding: HypothesisFinding) -> str:
        strength = None if finding.ranking is None else finding.ranking.strength
        if strength == "descriptive":
            return "These items, models and configurations only."
        return reach_words(finding, self.approximate(finding))


DECISION = RankingDecision()


def ranking_regions(spec: Spec, hypothesis: RankingHypothesis, cells: Sequence[Cell]) -> dict[str, Region]:
    """The shared configurations that a ranking is about, by benchmark."""
    configurations: dict[str, dict[str, None]] = {}
    here = _run_by_all(spec, hypothesis)
    for cell in cells:
        ranked = cell.shared and cell.model in hypothesis.order and cell.benchmark in here
        if ranked and _concerns(spec, hypothesis, cell):
            configurations.setdefault(cell.benchmark, {})[cell.configuration] = None
    return {name: Region(name, tuple(inside), ASKED) for name, inside in configurations.items()}


def _run_by_all(spec: Spec, hypothesis: RankingHypothesis) -> set[str]:
    """The benchmarks that every model of the order runs: on others nothing is said of it."""
    return {name for name, models in rosters(spec).items() if set(hypothesis.order).issubset(models)}


def _concerns(spec: Spec, hypothesis: RankingHypothesis, cell: Cell) -> bool:
    place = grid.place_values(spec, cell.levels, cell.benchmark, cell.model)
    return hypothesis.where.matches(place) and spec.analysis.primary.matches(place)


def _observed(contradict: int, tied: int, missing: int, **_: int) -> Verdict:
    """On these items: refuted by one strict reversal, supported when every configuration agrees, else
    open."""
    if contradict:
        return "refuted"
    return "supported" if not tied and not missing else "open"


def on_items(measured: MeasuredStudy, hypothesis: RankingHypothesis) -> MeasuredStudy:
    """The same on the items that a ranking is about: scores and evidence of those alone."""
    plan, items = measured.samples.plan, hypothesis.items or EVERYWHERE
    tagged = {
        name: frozenset(item.id for item in held.sampled if items.matches(item.tags))
        for name, held in plan.study.items.items()
    }
    keys = {score.cell.key for score in measured.scores}
    cells = [cell for cell in plan.cells() if cell.key in keys]
    stored = {}
    for cell in cells:
        outcomes = measured.samples.stored[cell.key]
        some = np.array([name in tagged[cell.benchmark] for name in outcomes.items])
        if some.any():
            stored[cell.key] = outcomes.of_items(some)
    cells = [cell for cell in cells if cell.key in stored]
    outcomes_by_benchmark = {
        name: gather_outcomes([c for c in cells if c.benchmark == name], stored, held)
        for name, held in plan.study.items.items()
        if any(cell.benchmark == name for cell in cells)
    }
    weighed = claim_evidence(
        [],
        outcomes_by_benchmark,
        measured.spec.analysis.alpha or ALPHA,
        measured.spec.sampling.seed,
        measured.final,
        hypothesis_regions=list(ranking_regions(measured.spec, hypothesis, cells).values()),
    )
    scores = [score_cell(cell, stored[cell.key], plan.study.items[cell.benchmark].units) for cell in cells]
    return replace(measured, scores=scores, weighed=weighed)


def ranking_p_values(
    order: Sequence[str],
    regions: Mapping[str, Region],
    directions: Mapping[str, Direction],
    weighed: ClaimEvidence,
    strength: Literal["certified", "supported"],
) -> tuple[float, float]:
    """p-values of "every step of the order holds in every configuration" (intersection-union: the largest)
    and of "some step is reversed somewhere" (Bonferroni over steps and benchmarks). Evidence is of scores:
    of steps in distance from a target there is none, for or against."""
    holds, reversed_ = [1.0] if not regions else [], [1.0]
    for name, region in regions.items():
        for better, worse in pairwise(order):
            if better == worse or directions[name].target is not None:
                holds.append(1.0)
                continue
            a, b = (better, worse) if (region, better, worse) in weighed.asked else (worse, better)
            if (region, a, b) not in weighed.asked:  # a model is not there
                holds.append(1.0)
                continue
            weight: Weight = getattr(weighed.asked[region, a, b], strength)
            forward = (a == better) == (directions[name].sign > 0)
            toward, away = (weight.plus, weight.minus) if forward else (weight.minus, weight.plus)
            holds.append(toward.everywhere)
            reversed_.append(away.somewhere)
    return max(holds), min(1.0, max(len(holds), 1) * min(reversed_))


def _untested(ranking: RankingRow) -> str:
    if not ranking.untested:
        return ""
    names = ", ".join(ranking.untested)
    return f"No test here is of distances from a target, so {names} can say nothing for or against it. "


def _steps(
    row: Sequence[CellScore | None], direction: Direction, floors: Floors
) -> list[GapAndFloors] | None:
    """Each model against the next of the order, above 0 where it is better; None where a score is missing."""
    scored = [
        (
            direction.good(score.score),
            floors.get((score.cell.model, score.cell.setting.precision)),
        )
        for score in row
        if score is not None and score.score is not None
    ]
    if len(scored) < len(row):
        return None
    return [(better - worse, floor, other) for (better, floor), (worse, other) in pairwise(scored)]


def _verdict(steps: Sequence[GapAndFloors] | None) -> str:
    if steps is None:
        return "missing"
    if any(step < 0 for step, *_ in steps):
        return "contradict"
    return "tied" if any(step == 0 for step, *_ in steps) else "agree"
