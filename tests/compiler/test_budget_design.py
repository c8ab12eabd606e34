"""The cheapest design in which hypotheses are decided: by the power and the costs of the plan itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import Compiled
from gridc.compiler.hypotheses import kind_of, strictest_level
from gridc.compiler.hypotheses.kind import PlannedTest
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.budget_design import DesignAnswer, DesignRequest, cheapest_design, lowered_cost
from gridc.compiler.preflight.falsifiability import parts_of, prospects
from gridc.diagnostics.errors import UsageError
from gridc.statistics.expected_power import Assumptions
from tests.compiler.conftest import questions

Make = Callable[..., Compiled]
TESTED = "[analysis]\n", '[analysis]\nestimator = "cluster_logit"\n'
AXES = '[[axis]]\nid = "template"\n'


def stated(*lines: str) -> tuple[str, str]:
    compared = ('axis = "decoding"', 'level = "warm"', 'reference = "greedy"', 'where = { scoring = "read" }')
    hypothesis = ["[[hypothesis]]", 'id = "H"', *(lines or ('kind = "difference"',)), *compared]
    return AXES, "\n".join([*hypothesis, "", AXES])


@pytest.fixture
def study(compiled: Make, small: Path) -> Callable[..., Compiled]:
    (small.parent / "facts.json").write_text(json.dumps(questions(400)), "utf-8")

    def made(*lines: str) -> Compiled:
        return compiled(("n = 4", "n = 300"), stated(*lines), TESTED)

    return made


def asked(compiled: Compiled, limits: dict[Any, float] | None = None, **more: Any) -> DesignAnswer:
    kept: dict[str, Any] = {"power": 0.8, "effects": {"H": 12.0}, "changing": 0.2, **more}
    request = DesignRequest(("H",), limits=limits or {}, **kept)
    return cheapest_design(compiled.study, request, {}, {})


def test_a_design_has_the_power_and_no_more_items_than_it_takes(study: Callable[..., Compiled]) -> None:
    """Two levels that are compared, one template and one answer of two: what the hypothesis needs."""
    compiled = study()
    found = asked(compiled)
    design = found.design
    assert design is not None and design.power["H"] >= 0.8
    assert design.replicates == 1 and found.whole.replicates == 2
    assert design.levels == {"template": ("plain",), "decoding": ("greedy", "warm"), "scoring": ("read",)}
    assert design.cost.tokens < found.whole.cost.tokens
    json.dumps(found.as_json())
    fewer = asked(compiled, {"tokens": 0.95 * design.cost.tokens})
    assert fewer.design is None or fewer.design.cost.tokens <= 0.95 * design.cost.tokens
    (doubled, together) = found.wrong
    assert doubled.power["H"] < design.power["H"]
    assert doubled.cost is None or doubled.cost.tokens > design.cost.tokens
    assert together.what == "all answers to a unit move as one"


def test_a_budget_that_decides_nothing_says_what_each_hypothesis_takes(
    study: Callable[..., Compiled],
) -> None:
    found = asked(study(), {"tokens": 500.0})
    (alone,) = found.alone
    assert found.design is None and not found.wrong
    assert alone.design is not None and alone.design.cost.tokens > 500
    assert alone.power_within < 0.8 <= alone.power_at_most


def test_an_effect_that_no_number_of_these_items_shows(study: Callable[..., Compiled]) -> None:
    (alone,) = asked(study(), effects={"H": 0.5}).alone
    assert alone.design is None and alone.power_at_most < 0.8


def test_what_the_plan_finds_4_times_in_5_a_design_of_all_its_items_decides(
    study: Callable[..., Compiled],
) -> None:
    compiled = study()
    plan, hypothesis = Plan(compiled.study), compiled.spec.hypothesis[0]
    (found,) = prospects(plan)[:1]
    assert found.power.detectable_pp is not None
    least = found.power.detectable_pp["0.1"]
    assert least is not None
    parts = parts_of(compiled.study, hypothesis, plan.survey.hypothesis[0])
    assert parts is not None
    spec, assumed = compiled.spec, Assumptions(0.1, 0.1)
    design = PlannedTest(spec, strictest_level(spec, hypothesis), spec.graded, parts)
    chances = [
        kind_of(hypothesis).power_at(hypothesis, design, (least + more) / 100, assumed)
        for more in (-0.1, 0.0)
    ]
    assert chances[0] < 0.8 <= chances[1]


def test_costs_are_those_of_the_plan(study: Callable[..., Compiled]) -> None:
    compiled = study()
    manifest = Plan(compiled.study).manifest()
    assert manifest.estimates is not None and manifest.counts is not None
    tokens = sum(each.prompt_tokens + each.generated_tokens for each in manifest.estimates.values())
    found = lowered_cost(compiled.study, {}, {})
    assert (found.tokens, found.calls, found.usd) == (tokens, manifest.counts.unique, 0)


@pytest.mark.parametrize(
    ("lines", "limits", "effects", "code"),
    [
        ((), {}, {}, "GC324"),
        ((), {}, {"H": 5.0, "X": 5.0}, "GC324"),
        (('kind = "equivalence"', "margin = { pp = 5 }"), {}, {"H": 5.0}, "GC324"),
        (('kind = "null_control"',), {}, {}, "GC324"),
        ((), {"usd": 5.0}, {"H": 5.0}, "GC325"),
        ((), {"hours": 5.0}, {"H": 5.0}, "GC325"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_a_way_out(
    study: Callable[..., Compiled], lines: tuple[str, ...], limits: Any, effects: Any, code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        asked(study(*lines), limits, effects=effects)
    (told,) = caught.value.diagnostics
    assert told.code == code and told.help


def test_an_equivalence_is_shown_at_its_margin(study: Callable[..., Compiled]) -> None:
    found = asked(study('kind = "equivalence"', "margin = { pp = 15 }"), effects={})
    assert found.effects == {"H": "equivalence within 15 pp"}
    assert found.design is not None and found.design.power["H"] >= 0.8


def test_items_that_are_not_here_are_asked_for(compiled: Make) -> None:
    absent = compiled(TESTED, stated(), ('"path:facts.json"', '"data:facts.json"'))
    with pytest.raises(UsageError, match="GC326"):
        asked(absent)
