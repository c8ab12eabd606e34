"""Specification curves as findings: the published ones of the scaffold study, and those of a real store."""

from typing import Any

import pytest

from gridc.reports.findings.curves import CurveFinding, curve_findings
from tests.reports.published_study import ARMS, DATA, published_samples, published_spec

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
