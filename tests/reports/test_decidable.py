"""Whether a hypothesis can be decided is one question: plan, `validate --check` and report answer it alike.

Specs are generated. What the plan and the hazards say of each is compared with the verdicts that the report
reaches on outcomes of every size, which are made here item by item.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import numpy as np
import pytest

from gridc.compiler.preflight.falsifiability import hypothesis_hazards, manifest
from gridc.reports.findings.hypotheses import decisions
from gridc.schema.inference import HYPOTHESIS_KINDS, Analysis
from gridc.statistics.arrays import Whole
from tests.worlds.studies import Bench, bench

# A minute or more of every run: one of the eight parts of `.ci/run` has it.
pytestmark = pytest.mark.slow

VERDICTS = {"supported", "refuted"}
CODES = {"GC521": "supported", "GC522": "refuted"}
ESTIMATORS = get_args(Analysis.model_fields["estimator"].annotation)
DESIGNS = ((1,) * 4, (1,) * 24, (1,) * 60, (3,) * 24, (2,) * 7, (40, *(1,) * 30))
"""Items of each unit: enough of them to decide by, too few, and one that has more than all others."""


def stated(kind: str, random: np.random.Generator, levels: int) -> dict[str, Any]:
    """A hypothesis of the kind, with or without a side and a margin."""
    margin: dict[str, Any] = {"margin": {"pp": int(random.choice([2, 10, 30, 60]))}}
    side: dict[str, Any] = {"side": str(random.choice(["less", "greater"]))}
    perhaps = [{}, side, margin, side | margin][int(random.integers(4))]
    named = [f"l{at}" for at in range(1, levels)]
    contrast = {"axis": "axis", "reference": "l0", "level": named if len(named) > 1 else named[0]}
    more: Mapping[str, dict[str, Any]] = {
        "difference": contrast
        | (side if random.random() < 0.5 else {})
        | (margin if random.random() < 0.5 else {}),
        "null_control": contrast | (margin if "margin" in perhaps else {}),
        "equivalence": contrast | margin,
        "noninferiority": contrast | margin | side,
        "interaction": {"axis": "axis", "by": "model"},
        "trend": {
            "axis": "axis",
            "order": ["l0", *named],
            "direction": str(random.choice(["increasing", "decreasing"])),
        },
        "ranking": {"order": ["a", "b"]},
    }
    return {"id": "H", "kind": kind, **more[kind]}


def study_of(kind: str, estimator: str, seed: int) -> Bench:
    random = np.random.default_rng((seed, *kind.encode()))
    levels = 3 if kind == "trend" else int(random.integers(2, 4))
    models = 2 if kind in ("interaction", "ranking") else int(random.integers(1, 3))
    sizes = DESIGNS[int(random.integers(len(DESIGNS)))]
    alpha = float(random.choice([0.05, 0.01]))
    analysis = {
        "estimator": estimator,
        "alpha": alpha,
        "bootstrap": {"unit": "cluster", "resamples": 100, "seed": 1},
    }
    evidence = {"evidence": str(random.choice(["certified", "supported"]))} if kind == "ranking" else {}
    more = {"hypothesis": [stated(kind, random, levels)], "analysis": analysis | evidence}
    return bench(sizes, 1, models, levels, repr(more))


def planned(study: Bench) -> set[str]:
    (prospect,) = manifest(study.plan)["hypotheses"]
    return set(prospect["outcomes"]) & VERDICTS


def validated(study: Bench) -> set[str]:
    """What neither a hazard nor a note says to be out of reach."""
    hazards = {CODES[hazard.code] for hazard in hypothesis_hazards(study.plan)}
    notes = " ".join(manifest(study.plan)["notes"])
    told = re.search(r"no test can (support or refute|support|refute) H:", notes)
    verbs = {"support": "supported", "refute": "refuted"}
    return VERDICTS - hazards - ({verbs[verb] for verb in told[1].split(" or ")} if told else set())


def outcomes(study: Bench, kind: str) -> Iterator[Whole]:
    """Answers of half right, of which so many change under every level, upwards, downwards or both ways,
    spread over units in proportion to their size: (1, models, levels, items)."""
    units = np.array([int(item.split("-")[0]) for item in study.items])
    sizes = np.bincount(units)
    place = np.arange(len(units)) - (np.cumsum(sizes) - sizes)[units]
    order = np.argsort((place + 0.5) / sizes[units], kind="stable")
    models, levels, items = len(study.spec.model), len(study.levels), len(units)
    for up, down in ((1, 0), (0, 1), (1, 1)):
        for count in range(items // (3 if kind == "interaction" else up + down) + 1):
            right = (items - up * count + down * count) // 2
            start = np.diff(np.arange(items + 1) * right // items).astype(np.int64)[np.argsort(order)]
            answers = np.tile(start, (models, levels, 1))
            for model in range(models):
                for level in range(levels):
                    turned = kind == "interaction" and (model, level) != (models - 1, levels - 1)
                    moves = model == 1 if kind == "ranking" else level > 0
                    if kind == "trend" and level < (levels + 1) // 2:
                        moves = False
                    if moves:
                        ways = (down, up) if turned else (up, down)
                        for before, many in zip((0, 1), ways, strict=True):
                            open_ = order[start[order] == before]
                            own = (
                                0
                                if kind in ("trend", "ranking")
                                else (model * levels + level - 1) * 2 * count
                            )
                            shifted = np.roll(open_, -2 * own * count) if len(open_) else open_
                            answers[model, level, shifted[: many * count]] = 1 - before
            yield answers[None]


def reported(study: Bench, kind: str) -> set[str]:
    """The verdicts that the report reaches on some of these."""
    reached: set[str] = set()
    for answers in outcomes(study, kind):
        (found,) = decisions(study.measured(study.samples(answers), flips=999))
        reached.add(found.verdict)
    return reached & VERDICTS


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", sorted({*HYPOTHESIS_KINDS} - {"statistic"}))  # it reads a store of answers
def test_plan_check_and_report_say_alike_what_can_be_decided(kind: str, estimator: str, seed: int) -> None:
    if estimator == "glmm":
        pytest.importorskip("gpboost")
    study = study_of(kind, estimator, seed)
    assert planned(study) == validated(study) == reported(study, kind)


def test_a_random_intercept_is_reported_and_decides_nothing() -> None:
    """Neither an effect nor its absence, however clear."""
    pytest.importorskip("gpboost")
    random = np.random.default_rng(1)
    contrast = {
        "id": "H",
        "kind": "difference",
        "axis": "axis",
        "level": "l1",
        "reference": "l0",
        "side": "less",
    }
    study = bench((1,) * 200, 1, 2, 2, repr({"hypothesis": [contrast], "analysis": {"estimator": "glmm"}}))
    right = (random.random((1, 2, 2, 200)) < np.array([0.8, 0.3])[:, None]).astype(np.int64)
    (found,) = decisions(study.measured(study.samples(right)))
    assert found.effect is not None and found.effect.test is not None and found.effect.test.p < 1e-6
    assert (found.verdict, found.support, found.refute) == ("open", 1, 1)
    assert found.effect.failure is not None and "decides nothing" in found.effect.failure.words
