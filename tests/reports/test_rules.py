"""The rule of each kind over several levels, from p-values that are given: docs/statistics.md."""

from dataclasses import dataclass
from typing import Any

import pytest

from gridc.reports.findings.hypotheses.contrasts import p_values
from gridc.reports.findings.hypotheses.effects import EffectTest, Odds
from gridc.schema.inference import ContrastHypothesis

MARGIN = 0.02


@dataclass(frozen=True)
class Given:
    """p of each level: inside the margin, outside of it, and above or below each end of it."""

    inside: dict[str, float]
    outside: dict[str, float]
    over: dict[tuple[str, float], float]
    under: dict[tuple[str, float], float]

    def within(self, level: str, reference: str, margin: float) -> float:
        assert (reference, margin) == ("r", MARGIN)
        return self.inside[level]

    def beyond(self, level: str, reference: str, margin: float) -> float:
        assert (reference, margin) == ("r", MARGIN)
        return self.outside[level]

    def above(self, level: str, reference: str, bound: float) -> float:
        return self.over[level, bound]

    def below(self, level: str, reference: str, bound: float) -> float:
        return self.under[level, bound]


GIVEN = Given(
    {"a": 0.01, "b": 0.03},
    {"a": 0.2, "b": 0.3},
    {("a", -MARGIN): 0.04, ("b", -MARGIN): 0.05, ("a", MARGIN): 0.11, ("b", MARGIN): 0.12},
    {("a", -MARGIN): 0.21, ("b", -MARGIN): 0.22, ("a", MARGIN): 0.06, ("b", MARGIN): 0.07},
)
TEST = EffectTest("wald_chi2", 9.0, 2, 0.011)


def odds(z: float, p: float) -> Odds:
    return Odds(0.0, 1.0, z, p, 1.0, (0.0, 1.0))


RISING = [odds(2.0, 0.046), odds(-1.0, 0.32)]


@pytest.mark.parametrize(
    ("kind", "side", "expected"),
    [
        ("difference", "two-sided", (0.011, 0.03)),  # one joint test; each level inside the margin
        ("difference", "greater", (2 * 0.023, min(0.07, 2 * 0.16))),
        ("difference", "less", (2 * 0.16, min(0.05, 2 * 0.023))),
        ("equivalence", "two-sided", (0.03, 2 * 0.2)),
        ("null_control", "two-sided", (0.03, 0.011)),
        ("noninferiority", "greater", (0.05, 2 * 0.21)),
        ("noninferiority", "less", (0.07, 2 * 0.11)),
    ],
)
def test_over_several_levels_each_has_its_largest_p_and_some_the_smallest_times_their_number(
    kind: str, side: str, expected: tuple[float, float]
) -> None:
    stated: dict[str, Any] = {"id": "H", "kind": kind, "axis": "x", "level": ["a", "b"], "reference": "r"}
    hypothesis = ContrastHypothesis.model_validate({**stated, "side": side, "margin": {"pp": 2}})
    assert p_values(GIVEN, hypothesis, RISING, TEST) == pytest.approx(expected)  # type: ignore[arg-type]


def test_without_a_fit_nothing_is_found_and_a_margin_is_still_tested() -> None:
    stated: dict[str, Any] = {"id": "H", "kind": "difference", "axis": "x", "level": "a", "reference": "r"}
    hypothesis = ContrastHypothesis.model_validate({**stated, "margin": {"pp": 2}})
    assert p_values(GIVEN, hypothesis, [None], None) == (1.0, 0.01)  # type: ignore[arg-type]
    sided = ContrastHypothesis.model_validate({**stated, "side": "greater"})
    assert p_values(GIVEN, sided, [None], None) == (1.0, 1.0)  # type: ignore[arg-type]


def test_a_fall_is_refuted_by_what_is_not_low_enough() -> None:
    stated: dict[str, Any] = {"id": "H", "kind": "difference", "axis": "x", "reference": "r", "side": "less"}
    hypothesis = ContrastHypothesis.model_validate({**stated, "level": ["a", "b"], "margin": {"pp": 2}})
    falling = [odds(-2.0, 0.046), odds(1.0, 0.32)]
    assert p_values(GIVEN, hypothesis, falling, TEST) == pytest.approx((0.046, 0.05))  # type: ignore[arg-type]
