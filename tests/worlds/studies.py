"""Studies of a world: the answers that it makes, and gridc's own plan and samples of them."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, logit

from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.models import ModelIdentity
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.certification import claim_evidence
from gridc.reports.findings.hypotheses import regions_of
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import Outcomes, cell_scores, gather_outcomes
from gridc.schema.spec import Spec
from gridc.statistics.arrays import Floats, Whole
from tests.worlds.search import Range, World

SHARE, FLAG = Range(0, 1), Range(0, 1, whole=True)
MOST = 600
"""Items of a study at most, where its world does not say `most`, and units of it at most as many."""
UNITS: Mapping[str, Range] = {
    "units": Range(10, 120, logarithmic=True, whole=True),
    "items": Range(1, 32, logarithmic=True, whole=True),
    "pareto": Range(0, 1, plain=0.5),
    "giant": Range(0, 0.6, plain=0.5),
}
"""How many units, how many items an ordinary one has, how unequal they are (sizes fall with the rank to minus
this power), and which share of all items one more unit has."""
ANSWERS: Mapping[str, Range] = {
    "base": Range(0.04, 0.96),
    "spread": Range(0, 2),
    "odd": Range(0.3, 40, logarithmic=True),
    "depth": SHARE,
    "mirror": FLAG,
    "turned": FLAG,
    "alike": SHARE,
    "inside": SHARE,
    "even": SHARE,
    "tied": SHARE,
    "repeats": Range(1, 3, whole=True),
    "again": SHARE,
}
"""The rate of the reference and how it differs between units (standard deviation of log odds). So many `odd`
units, on average, lose a share `depth` of their rate, and the others gain what makes up for it; with `mirror`
losses and gains change places, with `turned` the levels. Of how many units the reaction and the luck are
`alike` in all models, the luck is one for all answers (`inside`) or spread as evenly over them as can be, and
one for all levels (`tied`). How often each item is asked, and which share of the repetitions says the same
`again`."""


def sizes_of(world: World) -> Whole:
    """The items of each unit."""
    units = int(world["units"])
    most = world.get("most", MOST)
    sizes = np.ceil(world["items"] * ((np.arange(units) + 0.5) / units) ** -world["pareto"]).clip(1, most / 3)
    giant = round(world["giant"] / (1 - world["giant"]) * sizes.sum())
    sizes = np.append(sizes, giant) if giant else sizes
    sizes = np.ceil(sizes * min(1.0, most / sizes.sum()))
    found: Whole = sizes.astype(np.int64)
    return found


def answers(
    world: World, random: np.random.Generator, sizes: Whole, shift: Floats, up: bool | None = None
) -> Whole:
    """Whether each answer is right, (repeats, blocks, levels, items). In expectation the rate of a block
    differs from that of its first level by `shift`, (blocks, levels), 0 or less; with `up` by as much above
    it (None: `turned` says which of two levels is which)."""
    units, (blocks, levels) = len(sizes), shift.shape
    of = np.repeat(np.arange(units), sizes)
    place = np.arange(len(of)) - (np.cumsum(sizes) - sizes)[of]
    base = expit(logit(world["base"]) + world["spread"] * random.standard_normal(units))
    base = base.clip(-shift.min(), 1)
    moved, rare = shift[:, :, None], min(0.5, world["odd"] / units)
    alike, inside, even, tied = (
        (random.random(units) < world[name])[of] for name in ("alike", "inside", "even", "tied")
    )
    draw = random.random((blocks, levels, units))
    draw = np.where(alike[np.cumsum(sizes) - 1], draw[:1, -1:], draw)
    most = np.minimum(world["depth"] * base, ((1 - base) * (1 - rare) - moved) / rare)
    loss = np.minimum(np.maximum(-moved, most), base)
    reaction = np.where(draw < rare, -loss, (moved + rare * loss) / (1 - rare))
    reaction[:, 0] = 0
    rate = np.clip(base + reaction, 0, 1)[:, :, of]

    def luck() -> Floats:
        own, unit = random.random((blocks, levels, len(of))), random.random((blocks, levels, units))[:, :, of]
        own = np.where(even, (place + unit) / sizes[of], np.where(inside, unit, own))
        own = np.where(tied, own[:, :1], own)
        return np.where(alike, own[:1], own)

    first = luck()
    drawn = [first]
    for _ in range(int(world["repeats"]) - 1):
        drawn.append(np.where(random.random(len(of)) < world["again"], first, luck()))
    mirror = bool(world["mirror"])
    right = (np.stack(drawn) < rate) != mirror
    turn = levels == 2 and (bool(world["turned"]) if up is None else up != mirror)
    found: Whole = (right[:, :, ::-1] if turn else right).astype(np.int64)
    return found


def outcomes_of(
    models: Sequence[str], axes: Mapping[str, Mapping[str, str]], right: Whole, sizes: Whole
) -> Outcomes:
    """What a report gathers of answers, (repeats, models, configurations, items); `axes` are the levels of
    each configuration."""
    repeats, _, configurations, items = right.shape
    asked = np.full(configurations, repeats)
    return Outcomes(
        tuple(models), tuple(axes), tuple(axes.values()), asked > 1, item_names(sizes),
        np.repeat(np.arange(len(sizes)), sizes), asked, right.sum(axis=0), right[0],
        np.ones((len(models), configurations), np.bool_), np.ones((configurations, items), np.bool_),
    )  # fmt: skip


def item_names(sizes: Whole | Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{unit:04}-{at:04}" for unit, size in enumerate(sizes) for at in range(size))


class Bench:
    """A study that is asked again and again: models x levels of one axis, on items in units of these
    sizes."""

    def __init__(
        self, sizes: Sequence[int], repeats: int, models: int, levels: int, more: Mapping[str, Any]
    ) -> None:
        names = [chr(ord("a") + at) for at in range(models)]
        self.levels = [f"l{at}" for at in range(levels)]
        self.spec = Spec.model_validate(
            {
                "gridcard": 1,
                "study": {"id": "w", "title": "A world", "purpose": "comparative", "not_varied": ["x"]},
                "model": [{"id": name, "engine": "hf", "source": "builtin:none"} for name in names],
                "benchmark": [
                    {
                        "id": "b",
                        "loader": "truthfulqa_mc1",
                        "source": "builtin:none",
                        "direction": "higher_is_better",
                        "option_order": "file",
                    }
                ],
                "harness": {"prompt": "{{ question }}", "method": "extract", "replicates": repeats},
                "axis": [
                    {
                        "id": "axis",
                        "level": [
                            {
                                "id": each, "tier": "core", "provenance": "a world",
                                "prompt": f"{each} {{{{ question }}}}",
                            }
                            for each in self.levels
                        ],
                    }
                ],
                **more,
            }
        )  # fmt: skip
        self.items = item_names(sizes)
        items = tuple(Item(name, f"{name}?", ("yes", "no"), 0, name[:4]) for name in self.items)
        study = Study(
            self.spec,
            prompts={},
            items={"b": Items(items, (), LoadedItems(items, {"items": "0" * 64}))},
            absent={},
            models={name: ModelIdentity("builtin:none", files=(("weights", "0" * 64),)) for name in names},
        )
        self.plan = Plan(study)
        self.places = {
            cell.key: (names.index(cell.model), self.levels.index(cell.levels["axis"]))
            for cell in self.plan.cells()
        }

    @cached_property
    def regions(self) -> list[Any]:
        return regions_of(self.spec, list(self.plan.cells()))

    def samples(self, right: Whole, read: Whole | None = None) -> Samples:
        """The samples of a study, right or not: (repeats, models, levels, items). `read` says of which an
        answer can be read, where not of all."""
        asked = np.full(len(self.items), len(right))
        earned = right if read is None else right * read
        stored = {
            key: CellOutcomes(
                self.items, asked, asked, asked if read is None else read[:, *place].sum(axis=0),
                earned[:, *place].sum(axis=0), earned[0, *place],
            )
            for key, place in self.places.items()
        }  # fmt: skip
        return Samples(self.plan, stored)

    def measured(self, samples: Samples, flips: int = 199) -> MeasuredStudy:
        """What the report decides hypotheses on."""
        alpha, cells = self.spec.analysis.alpha or 0.05, list(self.plan.cells())
        outcomes, scores = {}, []
        if self.regions:
            outcomes = {"b": gather_outcomes(cells, samples.stored, self.plan.study.items["b"])}
            scores = cell_scores(self.plan, samples.stored)
        weighed = claim_evidence([], outcomes, alpha, self.spec.sampling.seed, True, flips, self.regions)
        return MeasuredStudy(self.spec, samples, scores, {}, weighed, True)


@lru_cache(maxsize=64)
def bench(sizes: tuple[int, ...], repeats: int, models: int, levels: int, more: str) -> Bench:
    """The bench of a world, kept for its next study. `more` is Python for what its spec adds."""
    import ast

    return Bench(sizes, repeats, models, levels, ast.literal_eval(more))
