"""The witness-first certificate of a study: the race of `statistics.betting` on every benchmark, and its
results.

The race is a function of the plan, the seed of the stamp and the outcomes of replicate 0. So it can be run
with a model behind it, or again from a finished store, and the two agree: that is how it is verified.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from math import comb, exp, lcm
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.schema.base import ALPHA
from gridc.statistics.betting import DirectionWealth, Duel, Race

FORMAT = "gridc-witness/1"

ScoresOf = Callable[[Iterable[tuple[Cell, frozenset[str]]]], Mapping[tuple[str, str], int]]
"""Scores of replicate 0, by cell key and item id, of items under cells."""


@dataclass(frozen=True, slots=True)
class RacedPair:
    """One pair on one benchmark. `e_plus` and `e_minus` are the mean e-values when it was decided or the
    items ran out (capped at 1e12), `needed` what certifies; `items` counts the units asked for the pair
    until then, and `plus`, `minus` name the configurations with the most evidence each way."""

    benchmark: str
    a: str
    b: str
    outcome: Literal["reversal certified", "undecided"]
    e_plus: float
    e_minus: float
    needed: float
    items: int
    of_items: int
    plus: str
    minus: str


@dataclass(frozen=True, slots=True)
class BenchmarkRace:
    """The race on one benchmark: its verdicts, and its evaluations (item x cell) of those in the full grid of
    replicate 0."""

    benchmark: str
    verdicts: tuple[RacedPair, ...]
    evaluations: int
    of_evaluations: int


def race_study(
    plan: Plan, ask: ScoresOf, watch: Callable[[str, int, int], None] | None = None
) -> list[BenchmarkRace]:
    """Race every pair on every benchmark. `watch` is told benchmark, units used and units there are.

    Raises whatever `ask` raises; what was asked by then is in the store, and the same race resumes from
    there.
    """
    spec = plan.study.spec
    claims = sum(comb(len(envelope.models), 2) for envelope in plan.survey.envelopes)
    watched = []
    for number, benchmark in enumerate(spec.benchmark):
        cells = {
            (cell.model, cell.configuration): cell
            for cell in plan.cells()
            if cell.benchmark == benchmark.id and cell.shared
        }
        models = list(dict.fromkeys(model for model, _ in cells))
        configurations = list(dict.fromkeys(configuration for _, configuration in cells))
        members: dict[str, list[str]] = {}
        for item, unit in plan.study.items[benchmark.id].units.items():
            members.setdefault(unit, []).append(item)
        units = list(members.values())
        scale = lcm(*(cell.setting.scale for cell in cells.values()))
        race = Race(
            models=len(models),
            configurations=len(configurations),
            units=len(units),
            alpha=spec.analysis.alpha or ALPHA,
            claims=max(claims, 1),
            seed=spec.sampling.seed + number,
            span=scale * max(map(len, units), default=1),
        )
        planned = {name: _asked(plan, cell) for name, cell in cells.items()}
        evaluations = 0
        while (block := race.next()) is not None:
            wanted = {
                (m, c): [
                    [name for name in units[u] if name in planned[models[m], configurations[c]]]
                    for u in block.units
                ]
                for m, c in block.cells
            }
            scores = ask(
                (cells[models[m], configurations[c]], frozenset(chain.from_iterable(members)))
                for (m, c), members in wanted.items()
            )
            # A configuration that asks none of a unit's items says nothing of it: a difference of 0.
            race.tell(
                block,
                {
                    (m, c): _sums(cells[models[m], configurations[c]], members, scores, scale)
                    for (m, c), members in wanted.items()
                },
            )
            evaluations += sum(len(names) for members in wanted.values() for names in members)
            if watch is not None:
                watch(benchmark.id, len(units) - len(race.queue), len(units))
        verdicts = tuple(_verdict(race, duel, benchmark.id, models, configurations) for duel in race.duels)
        whole = sum(len(names) for names in planned.values())
        watched.append(BenchmarkRace(benchmark.id, verdicts, evaluations, whole))
    return watched


def _sums(
    cell: Cell, units: Iterable[list[str]], scores: Mapping[tuple[str, str], int], scale: int
) -> NDArray[np.int64]:
    """The sum of each unit's scores under a cell, in units of 1 / `scale`, shape (units,)."""
    parts = scale // cell.setting.scale
    return np.array(
        [parts * sum(scores[cell.key, name] for name in names) for names in units], dtype=np.int64
    )


def _asked(plan: Plan, cell: Cell) -> frozenset[str]:
    """The items that a cell asks: a level may ask a part of the benchmark's."""
    items = plan.study.items[cell.benchmark]
    return frozenset(item.id for item in items.asked(subset=cell.setting.items))


def from_store(stored: Mapping[str, CellOutcomes]) -> ScoresOf:
    """Answers from a store that holds what the race asks. Raises `KeyError` where it does not."""

    def ask(wanted: Iterable[tuple[Cell, frozenset[str]]]) -> dict[tuple[str, str], int]:
        earned = {}
        for cell, items in wanted:
            row = stored[cell.key]
            scores = dict(zip(row.items, row.first.tolist(), strict=True))
            for item in items:
                if scores[item] < 0:
                    raise KeyError(f"{cell.key}, item {item}")
                earned[cell.key, item] = scores[item]
        return earned

    return ask


def document(plan: Plan, races: Iterable[BenchmarkRace]) -> dict[str, Any]:
    """What was decided, as JSON."""
    spec = plan.study.spec
    return {
        "format": FORMAT,
        "study": spec.study.id,
        "stamp": plan.study_digest,
        "alpha": spec.analysis.alpha or ALPHA,
        "seed": spec.sampling.seed,
        "test": "mean over configurations of betting e-processes on fresh items (replicate 0), each "
        "direction at alpha / claims; valid at any stopping time, configurations may depend on each other",
        "benchmarks": [
            {
                "benchmark": race.benchmark,
                "evaluations": race.evaluations,
                "of_evaluations": race.of_evaluations,
                "pairs": [
                    {key: value for key, value in asdict(verdict).items() if key != "benchmark"}
                    for verdict in race.verdicts
                ],
            }
            for race in races
        ],
    }


def race_sentence(verdict: RacedPair) -> str:
    """A verdict in words."""
    where = f"On {verdict.benchmark}, {verdict.a} and {verdict.b}"
    if verdict.outcome == "reversal certified":
        return (
            f"{where} reverse beyond these items, established after {verdict.items} of {verdict.of_items} "
            f"items or units of items: {verdict.a} scores higher under {verdict.plus}, {verdict.b} under "
            f"{verdict.minus} (the configurations with the most evidence; only their existence is "
            "established)."
        )
    return (
        f"{where} are undecided after {verdict.items} of {verdict.of_items} items or units of items "
        f"(e-values {verdict.e_plus:.3g} and {verdict.e_minus:.3g}, needed {verdict.needed:.3g} in both "
        "directions). That is no evidence that they keep one order."
    )


def _verdict(
    race: Race, duel: Duel, benchmark: str, models: list[str], configurations: list[str]
) -> RacedPair:
    def e_value(side: DirectionWealth) -> float:
        return float(f"{min(exp(min(side.log_e, 30.0)), 1e12):.6g}")

    used = race.units - len(race.queue)
    last = max(duel.plus.reached or used, duel.minus.reached or used)
    return RacedPair(
        benchmark=benchmark,
        a=models[duel.a],
        b=models[duel.b],
        outcome="reversal certified" if duel.certified else "undecided",
        e_plus=e_value(duel.plus),
        e_minus=e_value(duel.minus),
        needed=float(f"{exp(race.bar):.6g}"),
        items=last,
        of_items=race.units,
        plus=configurations[duel.plus.best(1)[0]],
        minus=configurations[duel.minus.best(1)[0]],
    )
