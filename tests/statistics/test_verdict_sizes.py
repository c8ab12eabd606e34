"""How often a verdict is wrong, by simulation: that two models differ, that they are less than a margin
apart, and that their order holds or depends on a choice.

A world is a study whose answers are drawn 400 times; `verdicts` itself says what a report prints. Every test
prints its share with the 95 % Monte Carlo interval: run it with
`pytest -m slow -s tests/statistics/test_verdict_sizes.py`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings import findings, rates
from gridc.reports.findings import verdicts as verdicts_module
from gridc.reports.findings.findings import BENCHMARKS, MEASURED, weighed_findings
from gridc.reports.findings.item_counts import readings_of
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.rates import find_rates
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import cell_scores
from gridc.reports.findings.verdicts import study_verdicts
from gridc.runtime.store.store import Store
from gridc.schema.inference import rate_kind
from gridc.schema.verdicts import VerdictsRow
from gridc.statistics.arrays import Floats, Whole
from tests.statistics.test_nulls import ALPHA, at_most_alpha, told
from tests.studies import axis, behind, head, written

RUNS = 400
MODELS = "ant", "bee", "cow", "dog", "eel", "fox"
MIXED = (1, 1, 1, 2, 2, 3, 4, 6)
"""How many items families have, one after the other."""
FIELDS = {
    False: 'query = "ask", options = ["no", "yes"], gold = "key", template = "of"',
    True: 'query = "ask", expected = "should", template = "of"',
}


@dataclass(frozen=True)
class World:
    """Models answer items of units of these `sizes` under each configuration, `replicates` times. Each is
    right, or errs where the benchmark has prompts to refuse (`refusals`), with a chance of `rates` (models,
    configurations). Shares of the variance: `item` and `unit` are what these are for all models, `own` and
    `template` what they are for one; the rest is fresh in every answer. `fixed` units favour one model or
    the other by so much, in turns, so that they cancel. Of a `rare` share of units the first model has none
    right, or errs nowhere; elsewhere it has what makes up for that."""

    rates: Any
    sizes: Sequence[int]
    replicates: int = 1
    refusals: bool = False
    margin: float | None = None
    item: float = 0.3
    unit: float = 0.0
    own: float = 0.2
    template: float = 0.0
    fixed: float = 0.0
    rare: float = 0.0

    @property
    def units(self) -> Whole:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def rows(self) -> list[dict[str, str]]:
        return [
            {"ask": f"What of thing {n}?", "no": "No", "yes": "Yes", "of": f"t{unit}", "key": "AB"[n % 2],
             "should": ("comply", "refuse")[n % 2]}
            for n, unit in enumerate(self.units.tolist())
        ]  # fmt: skip

    def spec(self) -> str:
        models, configurations = np.shape(self.rates)
        named = behind("http://localhost:1/v1", *MODELS[:models], version="-2026-01-01")
        spec = head("s", named, waived="GC520" if self.refusals else "")
        method = "refusal_keywords" if self.refusals else "extract"
        repeats = "" if self.replicates == 1 else f", temperature = 0.7, replicates = {self.replicates}"
        spec += f'harness = {{ method = "{method}"{repeats} }}\n[[benchmark]]\nid = "b"\nloader = "rows"\n'
        spec += 'source = "path:items.jsonl"\ndirection = "higher_is_better"\n'
        spec += f'unit = "{"item" if max(self.sizes) == 1 else "template"}"\n'
        spec += "" if self.refusals else 'option_order = "file"\nloading.gold = "letter"\n'
        spec += f"loading.fields = {{ {FIELDS[self.refusals]} }}\n"
        frames = {f"f{n}": f'prompt = "{n}. {{{{ question }}}}"' for n in range(configurations)}
        stated = "" if self.margin is None else f"[analysis]\nmargin = {{ pp = {100 * self.margin} }}\n"
        return f"{spec}{axis('frame', frames)}[sampling]\nseed = 7\n{stated}"

    def draw(self, random: np.random.Generator) -> Any:
        """Who was right, or erred, (models, configurations, items, replicates)."""
        models, configurations = np.shape(self.rates)
        units, count = self.units, len(self.units)
        normal = random.standard_normal
        latent = self.item**0.5 * normal(count) + self.unit**0.5 * normal(len(self.sizes))[units]
        latent = latent + self.own**0.5 * normal((models, 1, count))
        latent = latent + self.template**0.5 * normal((models, 1, len(self.sizes)))[..., units]
        fresh = (1 - self.item - self.unit - self.own - self.template) ** 0.5
        drawn = latent[..., None] + fresh * normal((models, configurations, count, self.replicates))
        ways = np.array([[1, -1, 0, 1, -1, 0][:models]]).T * np.where(units % 2, 1, -1) * self.fixed
        chances = np.asarray(self.rates)[:, :, None] + ways[:, None, :]
        gone = (random.random(len(self.sizes)) < self.rare)[units]
        chances[0] = np.where(gone, 1e-9, chances[0] / (1 - self.rare))
        return drawn < np.vectorize(NormalDist().inv_cdf)(chances)[..., None]


def beside_score(name: str) -> bool:
    return rate_kind(name).beside_score


class Drawn:
    """What `verdicts` asks of a run, of drawn answers."""

    complete, noise = True, ()

    def __init__(self, plan: Plan, hits: Any, refusals: bool) -> None:
        models, frames = [model.id for model in plan.study.spec.model], plan.study.spec.axis[0].level
        places = {level.id: place for place, level in enumerate(frames)}
        items = plan.study.items["b"].sampled
        names = tuple(item.id for item in items)
        self.plan, self.store = plan, cast(Store, self)
        self.answers: dict[str, list[tuple[str, int, int]]] = {}
        stored = {}
        for cell in plan.cells():
            own = hits[models.index(cell.model), places[cell.levels["frame"]]]
            right = (~own if refusals else own).astype(np.int64)
            trials = np.full(len(names), right.shape[1], np.int64)
            stored[cell.key] = CellOutcomes(names, trials, trials, trials, right.sum(axis=1), right[:, 0])
            self.answers[cell.key] = [
                (item.id, int((item.expected == "refuse") == ok), 1)
                for item, row in zip(items, right.tolist(), strict=True)
                for ok in row
                if refusals
            ]
        self.samples = Samples(plan, stored, partial(readings_of, self.store, plan.study_digest))
        scores = cell_scores(plan, stored)
        (benchmark,), measured = weighed_findings(self.samples, scores, True, {})
        errors = find_rates(plan, self.store, scores, beside_score)["b"] if refusals else ()
        self.found = {BENCHMARKS.name: (replace(benchmark, rates=errors),), MEASURED.name: measured}

    def choices_of(self, _: str, key: str, number: str | None) -> Iterator[tuple[str, int, int]]:
        assert number is None
        return iter(self.answers[key])

    def __getitem__(self, finding: Finding[Any]) -> Any:
        return self.found[finding.name]


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no answer depends on is computed of the first study alone: claims about scores, intervals of
    scores and gaps, of which verdicts take only whether units are few; places; changes; limits of rates."""
    for name in ("claim_evidence", "unit_intervals", "standings", "shared_cells", "changes", "analyse"):
        monkeypatch.setattr(findings, name, _first(getattr(findings, name)))
    for name in ("_limits", "_gap_limits"):
        monkeypatch.setattr(rates, name, lambda *_: (0.0, 1.0))


def _first(function: Callable[..., Any]) -> Callable[..., Any]:
    kept: list[Any] = []

    def same(*of: Any, **named: Any) -> Any:
        if not kept:
            kept.append(function(*of, **named))
        return kept[0]

    return same


Counted = Callable[[VerdictsRow], dict[str, bool]]


def count(world: World, folder: Path, wrong: Counted, runs: int = RUNS) -> dict[str, int]:
    """In how many studies each is so of what may be `wrong`."""
    written(folder, world.spec(), world.rows())
    plan = Plan(compile_spec(folder / "gridcard.toml").study)
    false: dict[str, int] = {}
    for run in range(runs):
        hits = world.draw(np.random.default_rng([run, 11]))
        found = study_verdicts(cast(RunRecord, Drawn(plan, hits, world.refusals)))
        assert found is not None
        for what, is_wrong in wrong(found).items():
            false[what] = false.get(what, 0) + is_wrong
    return false


def play(name: str, world: World, folder: Path, wrong: Counted) -> None:
    """At most alpha of the studies have each of what is wrong."""
    for what, false in count(world, folder, wrong).items():
        at_most_alpha(f"{name}: {what}", false, RUNS)


def alike(rate: float, models: int, configurations: int = 1) -> Floats:
    return np.full((models, configurations), rate)


def differing(found: VerdictsRow) -> dict[str, bool]:
    assert all(row.test != "not_tested" for row in found.rows)
    of_rates = {row.what for row in found.rows} != {"score"}
    survives = any(row.choices is not None and row.choices.survival != "open" for row in found.rows)
    return {"they differ": any(row.answer == "differ" for row in found.rows)} | (
        {"an order holds or depends": survives} if of_rates else {}
    )


FEW = (24, 24, 12, 12, 6, 6, 3, 3)
EQUAL = {
    "60 items, 3 models": World(alike(0.6, 3), [1] * 60),
    "60 items, 6 models, 4 configurations": World(alike(0.6, 6, 4), [1] * 60),
    "60 items, 6 models, opposite items": World(alike(0.6, 6), [1] * 60, own=0.7, item=0.0),
    "40 families of 1 to 6, 3 models, 4 configurations": World(
        alike(0.6, 3, 4), MIXED * 5, template=0.3, unit=0.1
    ),
    "40 families of 1 to 6, 6 models": World(alike(0.7, 6), MIXED * 5, template=0.5, own=0, unit=0),
    "91 families, one with a tenth of the items": World(
        alike(0.5, 3), [30] + [3] * 90, template=0.6, own=0, item=0
    ),
    "8 templates, new items of these": World(alike(0.5, 3, 4), FEW),
    "8 templates that favour models in turns": World(alike(0.5, 3), FEW, fixed=0.3),
    "5 answers each, 3 models, 4 configurations": World(alike(0.6, 3, 4), [1] * 60, 5, own=0.4),
    "5 answers each, families of 1 to 6": World(alike(0.9, 3), MIXED * 5, 5, template=0.4, own=0.1),
    "24 templates of 10, one in 12 lost whole": World(alike(0.8, 2), [10] * 24, rare=1 / 12, item=0, own=0),
    "60 templates of 5, one in 30 lost whole": World(alike(0.9, 3, 4), [5] * 60, rare=1 / 30, item=0, own=0),
    "errors of 3 %, 120 prompts, 3 models, 4 configurations": World(
        alike(0.03, 3, 4), [1] * 120, refusals=True
    ),
    "errors of 3 %, 40 families of 1 to 6, 6 models": World(
        alike(0.03, 6), MIXED * 5, refusals=True, template=0.5
    ),
    "errors of 2 %, 5 answers each, 3 models": World(alike(0.02, 3), [1] * 120, 5, refusals=True, own=0.5),
    "errors of 50 %, 40 templates, one in 20 without": World(
        alike(0.5, 3, 4), [6] * 40, refusals=True, rare=1 / 20, item=0, own=0
    ),
    "errors of 30 %, 8 templates": World(alike(0.3, 3, 4), FEW, refusals=True),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", EQUAL)
def test_models_that_do_not_differ(name: str, tmp_path: Path) -> None:
    play(name, EQUAL[name], tmp_path, differing)


@pytest.mark.slow
def test_without_holm_six_models_differ_by_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant tests each of 15 pairs as if it were the only one."""
    monkeypatch.setattr(verdicts_module, "holm", list)
    name = "60 items, 6 models, opposite items"
    false = count(EQUAL[name], tmp_path, differing)
    assert told(f"{name}, without Holm", false["they differ"], RUNS)[0] > 2 * ALPHA


def within(found: VerdictsRow) -> dict[str, bool]:
    """Whatever else is said of the pair."""
    paid = [row.p_within_holm for row in found.rows]
    return {"within the margin": any(p is not None and p <= ALPHA for p in paid)}


def steps(*rates: float) -> Floats:
    return np.array(rates)[:, None]


APART = {
    "200 items": World(steps(0.6, 0.5), [1] * 200, margin=0.1),
    "200 items that models decide alike": World(
        steps(0.6, 0.5), [1] * 200, margin=0.1, item=0.95, own=0
    ),
    "3 models, 10 and 20 points apart": World(steps(0.6, 0.5, 0.4), [1] * 200, margin=0.1),
    "80 families of 1 to 6": World(steps(0.6, 0.5), MIXED * 10, margin=0.1, template=0.4),
    "80 families, which one model loses whole": World(
        steps(0.98, 0.88), MIXED * 10, margin=0.1, template=0.95, item=0, own=0
    ),
    "8 templates, new items of these": World(steps(0.6, 0.4), FEW, margin=0.2),
    "5 answers each": World(steps(0.6, 0.5), [1] * 200, 5, margin=0.1),
    "errors of 3 and 8 %, 400 prompts": World(
        steps(0.03, 0.08), [1] * 400, refusals=True, margin=0.05
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", APART)
def test_models_that_differ_by_the_margin(name: str, tmp_path: Path) -> None:
    play(name, APART[name], tmp_path, within)


def surviving(found: VerdictsRow) -> dict[str, bool]:
    said = [row.choices.survival for row in found.rows if row.choices is not None]
    assert len(said) == len(found.rows)
    return {"an order holds": "holds" in said, "an order depends": "depends" in said}


THREE, SINGLE = (0.1, 0.1, 0.1, 0.3), (0.6, 0.6, 0.6, 0.3)
ONE = (0.1, 0.3, 0.3, 0.3)
BORDERS = {
    "better in 3 of 4, 160 prompts": World([THREE, SINGLE], [1] * 160, refusals=True),
    "better in 1 of 4, 160 prompts": World([ONE, (0.6, 0.3, 0.3, 0.3)], [1] * 160, refusals=True),
    "better in 3 of 4, three models": World([THREE, SINGLE, SINGLE], [1] * 160, refusals=True),
    "better in 3 of 4, 80 families of 1 to 6": World(
        [THREE, SINGLE], MIXED * 10, refusals=True, template=0.4
    ),
    "better in 3 of 4, 5 answers each": World([THREE, SINGLE], [1] * 160, 5, refusals=True),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BORDERS)
def test_rates_whose_order_neither_holds_nor_turns(name: str, tmp_path: Path) -> None:
    """In one configuration or in three the models are equal."""
    play(name, BORDERS[name], tmp_path, surviving)


def test_a_world_in_which_there_is_something(tmp_path: Path) -> None:
    """A handful of studies: what is counted above is said."""

    def said(found: VerdictsRow) -> dict[str, bool]:
        return {**differing(found), **surviving(found), **within(found)}

    apart = World([[0.05] * 2, [0.5] * 2], [1] * 120, refusals=True, margin=0.85)
    seen = count(apart, tmp_path / "apart", said, 3)
    assert [seen[what] for what in ("they differ", "an order holds", "within the margin")] == [3, 3, 3]
    turned = World([[0.05, 0.5], [0.5, 0.05]], [1] * 120, refusals=True)
    seen = count(turned, tmp_path / "turned", said, 3)
    assert (seen["an order depends"], seen["an order holds"]) == (3, 0)
