"""The simulated pairs of runs of `benchmarks.gate`: they are as they are said to be, and decided as `compare`
decides, and as the definition of its test in numpy and scipy does."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import multinomial

from benchmarks.gate import ALPHA, MISSING, TRUTHS, WORLDS, DrawnRuns, GateWorld
from gridc.reports.comparison.document import compare_runs
from gridc.reports.comparison.run import AnswerTexts, ComparedRun
from gridc.schema.comparison import Policy, StateCounts
from gridc.statistics.arrays import Floats
from gridc.statistics.envelope import Direction
from tests.reports.runs import InventedAnswer, InventedItem, InventedRun

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

MARGIN = 20.0


def shared(world: GateWorld) -> GateWorld:
    return replace(world, share=0.1) if world.ends else world


def written(name: str, ends: Floats, units: Floats, states: StateCounts) -> ComparedRun:
    """A run as a log would give it: an absent item has no line, and of the wrong ones some are unreadable."""
    items, unreadable = {}, states.unreadable
    for number, ((least, most), unit) in enumerate(zip(ends, units, strict=True)):
        if least < most:
            continue
        misread = unreadable > 0 and least == 0
        unreadable -= misread
        answer = InventedAnswer(float(least), "unreadable" if misread else "read")
        items[f"d{number}"] = InventedItem(f"q{number}", f"f{unit:g}", {"": (answer,)})
    benchmark = InventedRun(
        Direction.of("higher_is_better"), "item" if len(set(units)) == len(units) else "family", items
    )
    return ComparedRun(
        name, "gridc 0", True, {("m", "b"): benchmark.table()}, {}, (), lambda *_: AnswerTexts(None, None)
    )


@pytest.mark.parametrize("name", WORLDS)
def test_a_simulated_pair_is_decided_as_compare_decides_two_runs(name: str) -> None:
    world, random, seen = shared(WORLDS[name]), np.random.default_rng(7), set()
    for loss in (0.0, 0.2, 0.5):
        for pair in world.draw(loss, 100, 4, random):
            runs = [
                written("a", pair.scores.first, pair.scores.units, pair.a),
                written("b", pair.scores.second, pair.scores.units, pair.b),
            ]
            found = compare_runs(runs[:1], runs[1], Policy(policy=1, margin=MARGIN), texts=False)
            (row,) = found.benchmarks
            assert (row.states_a, row.states_b) == (pair.a, pair.b)
            assert found.verdict == pair.verdict(MARGIN)
            seen.add(found.verdict)
    assert len(seen) > 1


def test_too_many_unreadable_answers_bar_a_go_and_no_no_go() -> None:
    world, random = replace(WORLDS["unreadable in the candidate, where it is wrong"], share=0.3), 7
    decided = [
        world.decides(loss, MARGIN, 200, 100, np.random.default_rng(random)) for loss in (-0.1, 0.0, 0.5)
    ]
    assert [rates["GO"] for rates in decided] == [0, 0, 0]
    assert decided[2]["NO-GO"] == 1
    readable = replace(world, ends=None, share=0.0)
    assert readable.decides(0.0, MARGIN, 200, 100, np.random.default_rng(random))["GO"] > 0.9


@cache
def ordered(items: int, bound: float) -> tuple[Floats, Floats]:
    """Tango's score of each outcome, [gained, lost], and the p-value of "the difference is above the bound":
    of all outcomes with a score as high, the largest at 600 values of the nuisance. NaN where there is no
    such outcome."""
    gained, lost = np.meshgrid(np.arange(items + 1), np.arange(items + 1), indexing="ij")
    rest = items - gained - lost
    own = rest >= 0
    # The likeliest share of losses: its likelihood falls on both sides of the root, found by halves.
    low, high = np.full(own.shape, max(0.0, -bound)), np.full(own.shape, (1 - bound) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(60):
            share = (low + high) / 2
            slope = gained / (share + bound) + lost / share - 2 * rest / (1 - 2 * share - bound)
            low, high = np.where(slope > 0, share, low), np.where(slope > 0, high, share)
    scores = np.where(own, (gained - lost - items * bound) / (2 * low + bound - bound**2) ** 0.5, np.nan)
    shares = np.linspace(max(0.0, -bound) + 1e-9, (1 - bound) / 2 - 1e-9, 600)
    counts = np.column_stack([gained[own], lost[own], rest[own]])
    likely = multinomial.pmf(
        counts[:, None], items, np.column_stack([shares + bound, shares, 1 - 2 * shares - bound])
    )
    flat = np.round(scores[own], 6)
    order = np.argsort(-flat)
    most = np.cumsum(likely[order], axis=0).max(axis=1)
    last = np.searchsorted(-flat[order], -flat, side="right") - 1
    p = np.full(own.shape, np.nan)
    p[own] = most[last]
    return scores, p


def p_of(differences: Floats, margin: float) -> float:
    """p of "the mean of the differences, each -1, 0 or 1, is above minus the margin"."""
    if differences.mean() <= -margin + 1e-9:
        return 1.0
    gained, lost = int((differences == 1).sum()), int((differences == -1).sum())
    below = (-margin - step * 0.005 for step in range(8))  # p is never smaller than that of a lower bound
    return max(float(ordered(len(differences), round(bound, 9))[1][gained, lost]) for bound in below)


def recomputed(pair: DrawnRuns) -> str:
    """The verdict from the numbers alone: what is missing is filled in against each claim."""
    (a_least, a_most), (b_least, b_most) = pair.scores.first.T, pair.scores.second.T
    if p_of(a_least - b_most, -MARGIN / 100) <= ALPHA:
        return "NO-GO"
    passes = np.mean(b_least != b_most) <= 0.2 and p_of(b_least - a_most, MARGIN / 100) <= ALPHA
    return "GO" if passes else "INCONCLUSIVE"


@pytest.mark.parametrize(
    "name", ["absent in the candidate, at random", "absent in the base, where the base is right"]
)
def test_200_verdicts_are_those_of_the_definition(name: str) -> None:
    world, random = shared(WORLDS[name]), np.random.default_rng(11)
    pairs = [pair for loss in (0.0, 0.1, 0.3, 0.5) for pair in world.draw(loss, 60, 50, random)]
    verdicts = [pair.verdict(MARGIN) for pair in pairs]
    assert verdicts == [recomputed(pair) for pair in pairs]
    assert min(verdicts.count(one) for one in ("GO", "NO-GO", "INCONCLUSIVE")) > 20


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_loses_what_is_said(name: str) -> None:
    """In a run of 200,000 items: the share that lacks its answer, where, and both differences."""
    world = WORLDS[name]
    for share in MISSING if world.ends else (0.0,):
        one = replace(world, share=share)
        for truth in TRUTHS if world.ends == "absent" else TRUTHS[:1]:
            loss = one.loss(truth, MARGIN)
            (pair,) = one.draw(loss, 200_000, 1, np.random.default_rng(3))
            sides = np.stack([pair.scores.first, pair.scores.second])
            states = (pair.a, pair.b)[one.side].model_dump()
            assert states.get(one.ends or "absent", 0) / 200_000 == pytest.approx(share, abs=0.01)
            # Complete data follow from the loss; what is missing is 0 where it counts as failed.
            lost = -100 * (sides[1, :, 0] - sides[0, :, 0]).mean() if truth == "as failed" else 100 * loss
            assert lost == pytest.approx(MARGIN, abs=0.7)
            lacks = sides[one.side, :, 0] < sides[one.side, :, 1]
            other = sides[1 - one.side, lacks, 0]
            if one.ends == "absent" and (one.side, one.place) == (1, "where the base is right"):
                assert other.all()
            if one.ends == "absent" and (one.side, one.place) == (0, "where the candidate is wrong"):
                assert not other.any()


@pytest.mark.parametrize(
    "name", [name for name, world in WORLDS.items() if world.ends == "absent" and not world.families]
)
def test_absence_hides_no_loss(name: str) -> None:
    """The margin is lost in the complete data, whatever is then absent: 1,000 pairs of 60 items."""
    for share in MISSING:
        world = replace(WORLDS[name], share=share)
        rate = world.decides(MARGIN / 100, MARGIN, 60, 1_000, np.random.default_rng(5))
        assert max(rate.values()) <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 1_000) ** 0.5


@pytest.mark.parametrize("pairs", [200, pytest.param(500, marks=pytest.mark.slow)])
def test_families_need_their_unit(pairs: int) -> None:
    """A gate that passes over the unit is the mutant: the second world is decided so."""
    for name, holds in {"families, `--unit`": True, "families, without `--unit`": False}.items():
        rate = WORLDS[name].decides(MARGIN / 100, MARGIN, 200, pairs, np.random.default_rng(5))
        assert (max(rate.values()) <= 0.08) == holds
