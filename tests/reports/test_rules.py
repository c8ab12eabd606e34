"""The rule of each kind over several levels, on units whose tests at a margin are known."""

from typing import Any, get_args

import numpy as np
import pytest

from gridc.compiler.hypotheses import kind_of
from gridc.compiler.hypotheses.tested import TestedKind
from gridc.schema.base import ALPHA
from gridc.schema.inference import ContrastHypothesis, RankingHypothesis, TrendHypothesis
from gridc.statistics import margins
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.verdicts import Evidence, Tails
from tests.reports.builders import spec_of

MARGIN = 0.02
RIGHT = np.array([[50, 80, 15], [50, 15, 85], [50, 50, 53]], float)
UNITS = CaseTable(np.full((3, 3), 100.0), RIGHT, np.array([9, 7, 40]))
"""Of 56 units, how many of 100 answers are right under the reference and under two levels."""
FOUND = 0.011
SIDES = [(0.023, 0.977), (0.84, 0.16)]
"""p of the joint test, and of each level of: the odds rise, and of: they fall."""


def above(level: int, bound: float) -> float:
    return margins.above(UNITS, level, 0, bound)


def below(level: int, bound: float) -> float:
    return margins.below(UNITS, level, 0, bound)


def inside(level: int) -> float:
    return max(above(level, -MARGIN), below(level, MARGIN))


def outside(level: int) -> float:
    return min(1.0, 2 * min(above(level, MARGIN), below(level, -MARGIN)))


EXPECTED = [
    ("difference", "two-sided", (FOUND, max(inside(1), inside(2)))),
    ("difference", "greater", (2 * 0.023, 2 * min(max(below(1, MARGIN), below(2, MARGIN)), 2 * 0.16))),
    ("difference", "less", (2 * 0.16, 2 * min(max(above(1, -MARGIN), above(2, -MARGIN)), 2 * 0.023))),
    ("equivalence", "two-sided", (max(inside(1), inside(2)), min(1.0, 2 * min(outside(1), outside(2))))),
    ("null_control", "two-sided", (max(inside(1), inside(2)), FOUND)),
    ("noninferiority", "greater", (max(above(1, -MARGIN), above(2, -MARGIN)),
                                   min(1.0, 2 * min(below(1, -MARGIN), below(2, -MARGIN))))),
    ("noninferiority", "less", (max(below(1, MARGIN), below(2, MARGIN)),
                                min(1.0, 2 * min(above(1, MARGIN), above(2, MARGIN))))),
]  # fmt: skip


def p_values(stated: dict[str, Any], found: float, sides: list[Tails]) -> tuple[float, float]:
    hypothesis = ContrastHypothesis.model_validate({"id": "H", "axis": "x", "reference": "r", **stated})
    kind = kind_of(hypothesis)
    assert isinstance(kind, TestedKind)
    evidence = Evidence(UNITS, range(1, 1 + len(sides)), 0, found, sides)
    return kind.rule(hypothesis, ALPHA).p_values(evidence)


def test_every_kind_of_levels_against_a_reference_has_its_rule_here() -> None:
    kinds = get_args(ContrastHypothesis.model_fields["kind"].annotation)
    assert {kind for kind, _, _ in EXPECTED} == {*kinds}


@pytest.mark.parametrize(("kind", "side", "expected"), EXPECTED)
def test_over_several_levels_each_has_its_largest_p_and_some_the_smallest_times_their_number(
    kind: str, side: str, expected: tuple[float, float]
) -> None:
    stated = {"kind": kind, "side": side, "level": ["a", "b"], "margin": {"pp": 100 * MARGIN}}
    assert p_values(stated, FOUND, SIDES) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("direction", "expected"), [("increasing", (0.84, 0.16)), ("decreasing", (0.16, 0.84))]
)
def test_a_trend_is_supported_by_a_slope_its_own_way_and_refuted_by_the_other(
    direction: str, expected: tuple[float, float]
) -> None:
    stated = {"id": "H", "kind": "trend", "axis": "x", "order": ["r", "a", "b"], "direction": direction}
    hypothesis = TrendHypothesis.model_validate(stated)
    kind = kind_of(hypothesis)
    assert isinstance(kind, TestedKind)
    evidence = Evidence(UNITS, range(1, 2), 0, FOUND, [(0.84, 0.16)])
    assert kind.rule(hypothesis, ALPHA).p_values(evidence) == expected


@pytest.mark.parametrize(
    ("doses", "problem"),
    [
        ((None, None, None), None),
        ((0, 1, 2.5), None),
        ((0, 1, None), "`b` has no `dose`, and other levels of the trend `H` have one"),
        ((None, None, 2), "`r` has no `dose`, and other levels of the trend `H` have one"),
        ((0, 2, 2), "the doses of `H` do not rise along its order"),
        ((0, -1, 2), "the doses of `H` do not rise along its order"),
    ],
)
def test_the_doses_of_a_trend_are_all_stated_and_rise_or_there_are_none(
    doses: tuple[float | None, ...], problem: str | None
) -> None:
    levels = [{"id": name, "prompt": name, "dose": dose} for name, dose in zip("rab", doses, strict=True)]
    stated = {"id": "H", "kind": "trend", "axis": "x", "order": ["r", "a", "b"], "direction": "increasing"}
    hypothesis = TrendHypothesis.model_validate(stated)
    spec = spec_of({"one": None}, axes={"x": levels}, hypothesis=[stated])
    assert [misfit.problem for misfit in kind_of(hypothesis).misfits(hypothesis, spec)] == (
        [] if problem is None else [problem]
    )


@pytest.mark.parametrize(
    ("support", "refute", "verdict"),
    [
        (ALPHA, 1, "supported"),
        (1, ALPHA, "refuted"),
        (0.01, 0.02, "supported"),
        (0.02, 0.01, "refuted"),
        (1.01 * ALPHA, 1.01 * ALPHA, "open"),
    ],
)
def test_an_order_is_decided_by_a_p_at_the_level_or_below(
    support: float, refute: float, verdict: str
) -> None:
    hypothesis = RankingHypothesis.model_validate({"id": "H", "kind": "ranking", "order": ["one", "two"]})
    assert kind_of(hypothesis).verdict(support, refute, ALPHA) == verdict


def test_the_values_tell_the_rules_apart() -> None:
    """No two of the p-values that a rule could mix up are the same."""
    tested = [
        test(level, bound) for test in (above, below) for level in (1, 2) for bound in (-MARGIN, MARGIN)
    ]
    assert len({round(p, 6) for p in tested}) == len(tested)
    assert all(0 < p < 1 for p in tested)


def test_without_a_fit_nothing_is_found_and_a_margin_is_still_tested() -> None:
    unknown = [(1.0, 1.0)]
    with_margin = {"kind": "difference", "level": "a", "margin": {"pp": 100 * MARGIN}}
    assert p_values(with_margin, 1.0, unknown) == pytest.approx((1.0, inside(1)))
    sided = {"kind": "difference", "level": "a", "side": "greater"}
    assert p_values(sided, 1.0, unknown) == (1.0, 1.0)
