"""Specification curves as findings: the published ones of the scaffold study, and those of a real store."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.source import read_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.grid.specifications import runnable, unbound
from gridc.reports.findings.curves import CurveFinding, curve_findings
from tests.reports.published_study import ARMS, DATA, published_samples, published_spec
from tests.worlds.studies import Bench

SPECS = Path(__file__).parents[2] / "specs"

SUBSETS: list[dict[str, Any]] = [
    {
        "id": "benchmark_subset",
        "category": "data",
        "levels": ["all4", "exclude_sycophancy", "exclude_xstest"],
        "default": "all4",
        "binds": "analysis.primary",
        "choice": {
            "exclude_sycophancy": {"where": {"benchmark": {"not": "sycophancy"}}},
            "exclude_xstest": {"where": {"benchmark": {"not": "xstest_orbench"}}},
        },
    },
    {
        "id": "model_subset",
        "category": "data",
        "levels": ["all6", "exclude_opus", "exclude_deepseek"],
        "default": "all6",
        "binds": "analysis.primary",
        "choice": {
            "exclude_opus": {"where": {"model": {"not": "opus"}}},
            "exclude_deepseek": {"where": {"model": {"not": "deepseek"}}},
        },
    },
    {
        "id": "reading",
        "category": "data",
        "levels": ["itt", "pp"],
        "default": "itt",
        "binds": "analysis.outcome",
    },
]


def curve(*forks: str, **more: Any) -> dict[str, Any]:
    return {"id": "curve", "forks": list(forks), "declared": "post_hoc", **more}


@pytest.fixture(scope="module")
def eighteen() -> list[CurveFinding]:
    spec = published_spec(fork=SUBSETS, curve=[curve("benchmark_subset", "model_subset", "reading")])
    return list(curve_findings(published_samples(spec)))


def test_the_curve_of_18_is_the_published_one(eighteen: list[CurveFinding]) -> None:
    """Every odds ratio of its 54 fits. The published errors are naive, so that only the estimates agree."""
    assert [each.contrast.level for each in eighteen] == list(ARMS[1:])
    for benchmarks, models, level, log_odds, _ in DATA["curve"]:
        found = next(each for each in eighteen if each.contrast.level == level)
        (one,) = [
            each
            for each in found.specifications
            if each.levels == {"benchmark_subset": benchmarks, "model_subset": models, "reading": "itt"}
        ]
        assert one.fitted is not None
        assert one.fitted.estimate == pytest.approx(log_odds, abs=1e-9)
    for found in eighteen:
        assert (found.ran.stated, found.ran.bound, len(found.specifications)) == (18, 18, 18)
        assert found.ran.sample is None
        assert not found.failed
        assert found.default is not None
        assert set(found.default.levels.values()) == {"all4", "all6", "itt"}


BINARY: list[dict[str, Any]] = [
    {
        "id": f"fork{number}",
        "category": "data",
        "levels": ["a", "b"],
        "default": "a",
        "binds": "analysis.primary",
        "choice": {"b": {"without_terms": ["model"]}},
    }
    for number in range(16)
]


def test_a_curve_that_is_too_large_is_drawn_from_with_its_seed() -> None:
    names = [fork["id"] for fork in BINARY]
    out = {"when": {"fork0": "b", "fork1": "b"}, "why": "both at once have no meaning"}
    stated = curve(*names, sample={"n": 40, "seed": 7}, exclude=[out])
    spec = published_spec(fork=BINARY, curve=[stated])
    ran = runnable(spec, spec.curve[0])
    assert (ran.stated, ran.bound, len(ran.drawn)) == (3 * 2**14, 3 * 2**14, 40)
    assert ran.share == 40 / (3 * 2**14)
    assert len({tuple(levels.items()) for levels in ran.drawn}) == 40
    assert not any(levels["fork0"] == levels["fork1"] == "b" for levels in ran.drawn)
    assert runnable(spec, spec.curve[0]).drawn == ran.drawn
    other = published_spec(fork=BINARY, curve=[stated | {"sample": {"n": 40, "seed": 8}}])
    assert runnable(other, other.curve[0]).drawn != ran.drawn
    whole = published_spec(fork=BINARY[:4], curve=[curve(*names[:4])])
    assert len(runnable(whole, whole.curve[0]).drawn) == 16
    assert runnable(whole, whole.curve[0]).sample is None


def test_every_specification_has_the_same_chance() -> None:
    """Of 12 specifications that are left, 3 are drawn with each of 600 seeds."""
    names = [fork["id"] for fork in BINARY[:4]]
    out = {"when": {"fork0": "b", "fork1": "b"}, "why": "both at once have no meaning"}
    counts: dict[tuple[str, ...], int] = {}
    for seed in range(600):
        stated = curve(*names, sample={"n": 3, "seed": seed}, exclude=[out])
        spec = published_spec(fork=BINARY[:4], curve=[stated])
        for levels in runnable(spec, spec.curve[0]).drawn:
            key = tuple(levels.values())
            counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 12
    assert all(100 < count < 200 for count in counts.values()), counts  # 150 expected, standard error 10.6


RUN_AS_REGISTERED = {
    "judge_model": 2, "score_scale": 2, "partial_compliance": 3, "min_length": 3, "api_errors": 2,
    "no_response": 2, "xstest_scope": 2, "bbq_contexts": 2,
}  # fmt: skip
"""The registered paths whose levels stored answers can say, with how many levels they have."""


def test_the_full_registered_product_is_counted_and_its_unbound_levels_are_named() -> None:
    """29 forks in 5,435,817,984 combinations: eight of them run; of the others every level but the default
    needs new data or new scores."""
    spec = typed(expanded(read_source(SPECS / "scaffold_safety_registered.toml")))
    ran = runnable(spec, spec.curve[0])
    assert ran.stated == 5_435_817_984
    left = unbound(spec, spec.curve[0])
    assert ran.bound == len(ran.drawn) == prod(RUN_AS_REGISTERED.values()) == 576
    others = [fork for fork in spec.fork if fork.id not in RUN_AS_REGISTERED]
    assert [(each.fork, each.level) for each in left] == [
        (fork.id, level) for fork in others for level in fork.levels if level != fork.default
    ]


def test_every_published_specification_of_18_and_384_is_one_that_a_store_can_answer() -> None:
    spec = typed(expanded(read_source(SPECS / "scaffold_safety.toml")))
    for curve, whole in zip(spec.curve, (18, 384), strict=True):
        ran = runnable(spec, curve)
        assert (ran.stated, ran.bound, len(ran.drawn)) == (whole, whole, whole)
        assert unbound(spec, curve) == []


def test_a_model_left_out_leaves_its_rows_out(eighteen: list[CurveFinding]) -> None:
    """The default specification without a model is the specification of the fork that leaves it out."""
    for found in eighteen:
        (without,) = [each for each in found.without if each.model == "opus"]
        (same,) = [
            each
            for each in found.specifications
            if each.levels == {"benchmark_subset": "all4", "model_subset": "exclude_opus", "reading": "itt"}
        ]
        assert without.default is not None
        assert without.default.fitted == same.fitted
        assert len(found.without) == 6


def small_curve(right: list[list[int]], **more: Any) -> CurveFinding:
    """Three models that answer alike on single items, `right` under both levels of an axis, (levels, items);
    a curve over two choices of models."""
    hypothesis = {"id": "H", "kind": "difference", "axis": "axis", "level": "l1", "reference": "l0"}
    models = {
        "id": "models", "category": "data", "levels": ["all", "some"], "default": "all",
        "binds": "analysis.primary", "choice": {"some": {"where": {"model": {"not": "a"}}}},
    }  # fmt: skip
    stated = {
        "hypothesis": [hypothesis | more.pop("hypothesis", {})],
        "analysis": {"estimator": "cluster_logit", "permutations": 199} | more.pop("analysis", {}),
        "fork": [models],
        "curve": [curve("models")],
        "sampling": {"seed": 1},
        **more,
    }
    study = Bench([1] * len(right[0]), 1, 3, 2, stated)
    (found,) = curve_findings(study.samples(np.tile(np.array(right), (1, 3, 1, 1))))
    return found


FIVE_RISE = [[0, 0, 0, 0, 0, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]]


def test_a_unit_changes_places_with_all_that_all_models_answered() -> None:
    """Five items rise, in all three models: five coins, so that all come up the same in 1 of 16. Fifteen
    coins would do so in 1 of 16,384."""
    found = small_curve(FIVE_RISE).permutation
    assert found is not None
    assert found.p_median == pytest.approx(1 / 16, abs=0.05)
    assert found.p_median > 0.02


@pytest.mark.parametrize(
    ("more", "alpha"),
    [
        ({}, 0.05),
        ({"analysis": {"alpha": 0.2}}, 0.2),
        ({"hypothesis": {"family": "F"}, "family": [{"id": "F", "correction": "holm", "alpha": 0.01}]}, 0.01),
    ],
)
def test_a_curve_has_the_level_of_its_hypothesis(more: dict[str, Any], alpha: float) -> None:
    found = small_curve(FIVE_RISE, **more)
    assert found.alpha == alpha
    assert found.summary is not None
    p = [each.fitted.p for each in found.specifications if each.fitted is not None]
    assert found.summary.share == np.mean([each <= alpha for each in p])


def curve_of(answers: np.ndarray) -> CurveFinding:
    """The same of (models, levels, items) that differ between models."""
    hypothesis = {"id": "H", "kind": "difference", "axis": "axis", "level": "l1", "reference": "l0"}
    models = {
        "id": "models", "category": "data", "levels": ["all", "some"], "default": "all",
        "binds": "analysis.primary", "choice": {"some": {"where": {"model": {"not": "c"}}}},
    }  # fmt: skip
    stated = {
        "hypothesis": [hypothesis],
        "analysis": {"estimator": "cluster_logit", "permutations": 19},
        "fork": [models],
        "curve": [curve("models")],
        "sampling": {"seed": 1},
    }
    (found,) = curve_findings(Bench([1] * answers.shape[2], 1, 3, 2, stated).samples(answers[None]))
    return found


@pytest.mark.parametrize("always", [1, 0])
def test_a_model_that_is_always_right_or_wrong_leaves_the_estimate_of_the_others(always: int) -> None:
    """An effect of its own without end explains its answers; statsmodels, without its rows, has the rest."""
    from statsmodels.api import Logit

    answers = np.random.default_rng(3).integers(0, 2, (3, 2, 60))
    answers[1] = always
    answers[:, 1] |= answers[:, 1] | (np.arange(60) % 4 == 0)
    answers[1] = always
    found = curve_of(answers)
    assert not found.failed and len(found.fitted) == 2
    assert found.permutation is not None and found.permutation.unfitted == 0
    for each, models in zip(found.specifications, ([0, 2], [0]), strict=True):
        rows = [
            (answers[model, level, item], level, model, item)
            for model in models
            for level in (0, 1)
            for item in range(60)
        ]
        y, level, model, item = np.array(rows).T
        design = np.column_stack([np.ones(len(y)), level, *([model == 2] if len(models) > 1 else [])])
        fit = Logit(y, design.astype(float)).fit(disp=0, cov_type="cluster", cov_kwds={"groups": item})
        assert each.fitted is not None
        assert each.fitted.estimate == pytest.approx(fit.params[1], abs=1e-7)
        assert each.fitted.error == pytest.approx(fit.bse[1], abs=1e-7)
        assert each.samples == len(rows)
        assert each.constant == ("model = b",)


def test_where_the_comparison_itself_is_without_end_there_is_no_estimate() -> None:
    answers = np.zeros((3, 2, 20), dtype=np.int64)
    answers[:, 1] = 1
    assert {each.failure[0] for each in curve_of(answers).failed if each.failure} == {"separated"}
    assert {each.failure[0] for each in curve_of(answers * 0).failed if each.failure} == {"constant"}
