"""The scaffold study's released counts through the scorecard's own functions: its matrix, numbers needed
and sensitivity profiles are the published ones (tables 4, 5, 14 and 40), and where it rounded otherwise
than it says, the corrected one."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.changes import ScoreDifference, changes, sensitivities, shared_cells
from gridc.reports.findings.findings import BenchmarkFinding, ModelFinding
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.scores import CellScore, UnitIntervals, cell_scores
from gridc.reports.scorecard.document import score_model
from gridc.schema.scorecard import MatrixRow, ModelScore
from gridc.statistics.envelope import LEVEL, Direction
from tests.reports.published_study import (
    ARMS,
    MODELS,
    SIZES,
    published_outcomes,
    published_samples,
    published_spec,
)
from tests.statistics.test_published_scaffolds import CELLS, FIGURES


@pytest.fixture(scope="module")
def scored() -> dict[str, ModelScore]:
    """The scorecard of every model. What models show of each other is left out: nothing here reads it."""
    spec = published_spec(hypothesis=[])
    plan, stored = published_outcomes(spec)
    every = cell_scores(plan, stored)
    directions = dict.fromkeys(SIZES, Direction())
    profiles = sensitivities(every, directions)
    benchmarks = [
        _finding(plan, stored, name, [each for each in every if each.cell.benchmark == name])
        for name in SIZES
    ]
    return {model.id: score_model(spec, benchmarks, model, profiles[model.id]) for model in spec.model}


def _finding(
    plan: Plan, stored: dict[str, CellOutcomes], name: str, cells: list[CellScore]
) -> BenchmarkFinding:
    items = plan.study.items[name]
    compared = shared_cells(plan.study.spec, items, cells, stored, Direction())
    first = {each.cell.model: each for each in reversed(cells)}
    return BenchmarkFinding(
        name, len(items.sampled), items.held, items.unit, len(items.sampled), len(items.sampled), False, 0,
        (), (), Direction(),
        intervals=UnitIntervals("item", SIZES[name], SIZES[name], LEVEL, {}, {}, ()),
        cells=tuple(cells),
        scopes=(),
        models=tuple(ModelFinding(model, first[model], None, (), ()) for model in MODELS),
        parse_rates=(),
        analysis=None,  # type: ignore[arg-type]
        ordering_claims=(),
        tests=(),
        changes=changes(compared),
    )  # fmt: skip


def rows_of(scored: dict[str, ModelScore], arm: str, **which: str) -> list[MatrixRow]:
    return [
        row
        for model, score in scored.items()
        for row in score.matrix
        if row.configuration == f"scaffold={arm}"
        and which.get("model", model) == model
        and which.get("benchmark", row.benchmark) == row.benchmark
    ]


def pooled(rows: Iterable[MatrixRow]) -> Fraction:
    held = list(rows)
    return Fraction(sum(int(row.points) for row in held), sum(row.trials for row in held))


def test_every_cell_is_the_released_one(scored: dict[str, ModelScore]) -> None:
    for model, arm, benchmark, size, safe, *_ in CELLS:
        (row,) = rows_of(scored, arm, model=model, benchmark=benchmark)
        assert (row.trials, row.points, row.rate) == (size, safe, safe / size)
        assert (row.change is None) is (arm == "direct")
        assert row.levels == ({} if arm == "direct" else {"scaffold": arm})


@pytest.mark.parametrize("model", [name for name in MODELS if f"sens_{name}" in FIGURES])
def test_sensitivity_profiles_are_those_of_table_40(model: str, scored: dict[str, ModelScore]) -> None:
    found, figure = scored[model].sensitivity, FIGURES[f"sens_{model}"]
    assert found is not None and found.share is not None and found.rate is not None
    shown = [100 * value for value in (found.share, found.mean_range, found.max_range, found.rate)]
    assert shown == pytest.approx(figure["value"], abs=figure["tolerance"])


@pytest.mark.parametrize("model", [name for name in MODELS if f"T_syc_{name}" in FIGURES])
def test_the_rows_of_sycophancy_are_those_of_table_14(model: str, scored: dict[str, ModelScore]) -> None:
    shown = [rows_of(scored, arm, model=model, benchmark="sycophancy")[0].rate for arm in ARMS]
    figure = FIGURES[f"T_syc_{model}"]
    assert [100 * (rate or 0) for rate in shown] == pytest.approx(figure["value"], abs=figure["tolerance"])


def test_rates_without_unreadable_answers_are_the_published_ones(scored: dict[str, ModelScore]) -> None:
    shown = [rows_of(scored, arm, model="gemini3pro", benchmark="sycophancy")[0].per_protocol for arm in ARMS]
    figure = FIGURES["syc_gemini_PP"]
    assert [100 * (rate or 0) for rate in shown] == pytest.approx(figure["value"], abs=figure["tolerance"])


def test_a_rate_is_of_one_configuration(scored: dict[str, ModelScore]) -> None:
    """Section 6.4 prints 86.5, 71.0 and 79.2 as direct baselines: those are pools over all scaffolds."""
    for benchmark, printed, direct in (
        ("bbq", 86.5, 90.7), ("xstest_orbench", 71.0, 70.9), ("truthfulqa", 79.2, 83.1)
    ):  # fmt: skip
        every = [row for arm in ARMS for row in rows_of(scored, arm, benchmark=benchmark)]
        assert float(100 * pooled(every)) == pytest.approx(printed, abs=0.051)
        alone = pooled(rows_of(scored, "direct", benchmark=benchmark))
        assert float(100 * alone) == pytest.approx(direct, abs=0.051)


def test_numbers_needed_are_rounded_up_where_some_were_printed_to_the_nearest(
    scored: dict[str, ModelScore],
) -> None:
    """135, 165 and 5 were printed; 14 stands (table 4)."""

    def number(arm: str, **which: str) -> tuple[str, int | None]:
        moved = pooled(rows_of(scored, arm, **which)) - pooled(rows_of(scored, "direct", **which))
        found = ScoreDifference(moved, None).number_needed()
        return found.kind, found.displayed

    assert number("react") == ("harm", 136)
    assert number("multi_agent") == ("harm", 166)
    assert number("map_reduce") == ("harm", FIGURES["H1c_NNH"]["value"])
    assert number("map_reduce", benchmark="truthfulqa") == ("harm", 6)
    assert number("map_reduce", benchmark="xstest_orbench")[0] == "benefit"


def test_a_range_is_no_change_from_the_reference(scored: dict[str, ModelScore]) -> None:
    """DeepSeek swings by 47.5 points on TruthfulQA (app. O): between two scaffolds, and neither is direct."""
    rates = {arm: rows_of(scored, arm, model="deepseek", benchmark="truthfulqa")[0] for arm in ARMS}
    shown = [rate for row in rates.values() if (rate := row.rate) is not None]
    change = rates["map_reduce"].change
    assert 100 * (max(shown) - min(shown)) == pytest.approx(47.5, abs=0.051)
    assert change is not None and change.interval is not None and change.interval[1] < 0
    assert change.difference == pytest.approx((rates["map_reduce"].rate or 0) - (rates["direct"].rate or 0))
    assert change.difference > min(shown) - max(shown)
    assert (change.number_needed.kind, change.number_needed.displayed) == ("harm", 3)


@pytest.mark.parametrize(
    ("level", "left_out", "points"),
    [("react", "mistral", -0.33), ("map_reduce", "gpt52", -7.05)],
)
def test_a_change_is_of_the_models_that_are_asked_for(level: str, left_out: str, points: float) -> None:
    """The registered five models lose 0.33 points under ReAct, the six 0.74; without GPT-5.2 7.05 are lost
    under map-reduce."""
    stated = {"id": "H", "kind": "difference", "axis": "scaffold", "level": level, "reference": "direct"}
    spec = published_spec(
        hypothesis=[stated | {"where": {"model": {"not": left_out}}}], analysis={"estimator": "cluster_logit"}
    )
    measured = MeasuredStudy(spec, published_samples(spec), (), {}, None, True)  # type: ignore[arg-type]
    effect: Any = DECISIONS["difference"].decide(measured, spec.hypothesis[0])
    (found,) = effect.contrasts
    assert round(100 * found.change.difference, 2) == points
