"""The studies of both papers as source: every count that the papers state, derived a second time from the
specs' values by plain loops, and by the compiler."""

import os
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gridc
from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.specifications import specifications
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import prospects
from gridc.schema.inference import ContrastHypothesis, Margin

SPECS = Path(__file__).resolve().parents[2] / "specs"
SAFETYREPRO = ("safetyrepro", "safetyrepro_bf16", "safetyrepro_scale")
SCAFFOLDS = ("scaffold_safety", "scaffold_safety_registered", "invocation", "format_pairs")
DATA = os.environ.get("GRIDC_DATA")

Row = dict[str, dict[str, Any]]
"""A configuration: axis id -> the level's table."""


@cache
def values(name: str) -> dict[str, Any]:
    return tomllib.loads(gridc.open(SPECS / f"{name}.toml").expanded())


@cache
def plan(name: str) -> Plan:
    return Plan(compile_spec(SPECS / f"{name}.toml").study)


@cache
def plan_with_data(name: str) -> Plan:
    return Plan(compile_spec(SPECS / f"{name}.toml", Path(DATA or "")).study)


@cache
def manifest(name: str) -> dict[str, Any]:
    return plan(name).manifest().as_json()


def every(name: str) -> Iterator[Row]:
    axes = [(axis["id"], axis["level"]) for axis in values(name)["axis"]]
    for levels in product(*(levels for _, levels in axes)):
        yield {axis: level for (axis, _), level in zip(axes, levels, strict=True)}


def rows(name: str, benchmark: str) -> list[Row]:
    """The configurations of SafetyRepro by the paper's two rules (app. T), whatever the spec excludes: a
    ranking is not sampled, and CrowS-Pairs is ranked, and ranked as pairs."""
    pairs = benchmark == "crows_pairs"
    return [
        row
        for row in every(name)
        if not (row["scoring"]["method"] != "extract" and row["decoding"]["temperature"] > 0)
        and (row["scoring"]["method"] == "pair_likelihood") is pairs
    ]


@pytest.mark.parametrize("name", (*SAFETYREPRO, *SCAFFOLDS))
def test_a_paper_validates_and_is_counted_without_its_data(name: str) -> None:
    found = CliRunner().invoke(main, ["validate", str(SPECS / f"{name}.toml")])
    assert (found.exit_code, found.output.split("\n")[0].split(" (")[0]) == (0, f"{SPECS / name}.toml: valid")
    counted = manifest(name)
    assert counted["counts"] is None
    assert counted["observations"] is not None
    assert set(counted["unpinned"]) >= {each["id"] for each in values(name)["benchmark"]}


needs_data = pytest.mark.skipif(DATA is None, reason="GRIDC_DATA does not say where the benchmarks lie")


@needs_data
@pytest.mark.parametrize("name", (*SAFETYREPRO, *SCAFFOLDS))
def test_the_data_hold_the_items_that_a_paper_asks(name: str) -> None:
    found = plan_with_data(name)
    assert found.study.absent == {}
    asked = {each["id"]: each["sample"]["n"] for each in values(name)["benchmark"]}
    assert {each: len(found.asked(each).items) for each in asked} == asked


@needs_data
def test_hypotheses_rest_on_the_items_that_have_their_rate() -> None:
    """The released code's BBQ has 401 ambiguous items of 800 (FINDINGS 5); 375 prompts are safe."""

    def items(whole: Plan) -> dict[str, int | None]:
        spec = whole.study.spec
        rates = [each for each in spec.hypothesis if each.id in ("H3-bias", "H3-refusal", "H3-truth")]
        study = replace(whole.study, spec=spec.model_copy(update={"hypothesis": rates}))
        return {prospect.id: prospect.items for prospect in prospects(Plan(study))}

    assert items(plan_with_data("scaffold_safety")) == {"H3-bias": 401, "H3-refusal": 375, "H3-truth": 817}
    assert items(plan("scaffold_safety"))["H3-bias"] is None


def test_the_plan_says_what_predictions_can_come_to() -> None:
    """Counted as the spec draws them, without the data that would say which items are of one family."""
    done = CliRunner().invoke(main, ["plan", str(SPECS / "invocation.toml")], env={"GRIDC_DATA": None})
    told = done.output.splitlines()
    start = told.index("  H5a.mistral: equivalence on 300 items, margin 3 pp between levels of invocation")
    test = "the exact test of paired items (Tango's score), at both sides of the margin, at 0.05"
    assert told[start + 1].endswith(test)
    assert told[start + 4 : start + 8] == [
        "      without a difference, shows its margin with probability"
        " 0.01 if 10 % change, 0.00 if 30 % change",
        "      supported if nothing changes",
        "      refuted if 16 of 300 items change, all one way",
        "      open if 4 of 300 items change, all one way",
    ]
    assert "      cannot be refuted" in told
    assert any(each.startswith("note: H5a.opus: its margin of 3 pp is below the 5.6 pp") for each in told)
    assert not any("not computed by this version: hypothesis" in each for each in told)


@needs_data
def test_a_paper_is_counted_alike_with_its_data() -> None:
    found = plan_with_data("safetyrepro_bf16").manifest().as_json()
    assert found["counts"]["samples"] == found["observations"] == manifest("safetyrepro_bf16")["observations"]


@pytest.mark.parametrize(("name", "cells", "runs"), [("safetyrepro", 612, 1764), ("safetyrepro_bf16", 54, 54),
                                                     ("safetyrepro_scale", 72, 72)])  # fmt: skip
def test_safetyrepro_has_the_papers_cells_and_runs(name: str, cells: int, runs: int) -> None:
    spec = values(name)
    models, benchmarks = len(spec["model"]), [each["id"] for each in spec["benchmark"]]
    asked = [row["decoding"].get("replicates", 1) for each in benchmarks for row in rows(name, each)]
    assert (models * len(asked), models * sum(asked)) == (cells, runs)
    assert (manifest(name)["cells"], manifest(name)["runs"]) == (cells, runs)
    items = {each["id"]: each["sample"]["n"] for each in spec["benchmark"]}
    samples = sum(
        models * items[each] * row["decoding"].get("replicates", 1)
        for each in benchmarks
        for row in rows(name, each)
    )
    assert manifest(name)["observations"] == samples


def test_safetyrepro_accounts_for_its_runs_as_the_paper_does() -> None:
    """Sec. 3: 432 free-form and 180 logprob cells; 144 greedy, 1,440 sampled and 180 ranked runs."""
    cells = [(cell.setting.method, cell.setting.temperature, cell.setting.replicates)
             for cell in plan("safetyrepro").cells()]  # fmt: skip
    assert sum(method == "extract" for method, _, _ in cells) == 432
    assert sum(method != "extract" for method, _, _ in cells) == 180
    assert sum(method == "extract" and warmth == 0 for method, warmth, _ in cells) == 144
    assert sum(runs for method, warmth, runs in cells if warmth > 0) == 1440


def test_the_envelopes_of_safetyrepro_are_the_papers() -> None:
    """Tables 2 to 4 and 11."""
    found = {each["benchmark"]: each for each in manifest("safetyrepro")["envelopes"]}
    assert {name: each["items"] for name, each in found.items()} == {
        "truthfulqa": 295,
        "bbq": 292,
        "toxigen": 295,
        "xstest": 295,
        "crows_pairs": 295,
    }
    for name, each in found.items():
        kept = rows("safetyrepro", name)
        core = sum(all(level["tier"] == "core" for level in row.values()) for row in kept)
        assert each["size"] == len(kept) == (12 if name == "crows_pairs" else 48)
        assert each["tiers"] == {"core": core, "stress": len(kept) - core}
        assert core == (9 if name == "crows_pairs" else 27)
        assert each["slices"] == (
            {"free_form": 0, "logprob": 12, "excl_T4": 9, "excl_diverse": 12, "conservative_core": 2}
            if name == "crows_pairs"
            else {"free_form": 36, "logprob": 12, "excl_T4": 36, "excl_diverse": 36, "conservative_core": 4}
        )


@pytest.mark.parametrize("name", ["safetyrepro_bf16", "safetyrepro_scale"])
def test_the_smaller_studies_are_the_conservative_core_of_the_grid(name: str) -> None:
    core = {
        (cell.benchmark, cell.configuration): cell.setting
        for cell in plan("safetyrepro").cells()
        if "conservative_core" in cell.slices
    }
    here = {(cell.benchmark, cell.configuration): cell.setting for cell in plan(name).cells()}
    assert here.keys() == core.keys()
    precision = "bf16" if name == "safetyrepro_bf16" else "nf4"
    for place, setting in here.items():
        fields = {each: getattr(setting, each) for each in core[place].__slots__}
        paired = {each: getattr(core[place], each) for each in core[place].__slots__}
        assert fields == paired | {"precision": precision}
    drawn = {each["id"]: (each["source"], each["sample"]) for each in values("safetyrepro")["benchmark"]}
    assert {each["id"]: (each["source"], each["sample"]) for each in values(name)["benchmark"]} == drawn


def test_the_bf16_cells_have_one_partner_each_in_the_grid() -> None:
    grid = {cell.key for cell in plan("safetyrepro").cells()}
    assert {cell.key for cell in plan("safetyrepro_bf16").cells()} < grid


def test_the_scaffold_study_has_the_papers_observations() -> None:
    """2,617 cases x 4 configurations x 6 models on the short context, and 13,085 rows a model in all."""
    spec, found = values("scaffold_safety"), manifest("scaffold_safety")
    cases = sum(each["sample"]["n"] for each in spec["benchmark"])
    scaffolds, models = len(spec["axis"][0]["level"]), len(spec["model"])
    assert (cases, scaffolds, models, len(spec["benchmark"])) == (2617, 4, 6, 4)
    assert found["primary"] == {"cells": 96, "observations": cases * scaffolds * models}
    assert found["primary"]["observations"] == 62_808
    assert found["observations"] == models * 13_085
    assert manifest("scaffold_safety_registered")["observations"] == 5 * 13_085


def test_the_invocation_study_has_7200_observations_on_each_benchmark() -> None:
    found = manifest("invocation")
    assert [each["observations"] for each in found["envelopes"]] == [4 * 300 * 6] * 2 == [7200, 7200]
    assert [each["size"] for each in found["envelopes"]] == [4, 4]
    lengths = {
        len(prompts)
        for level in values("invocation")["axis"][0]["level"]
        for prompts in level["scaffold"].get("wording", {}).values()
    }
    assert lengths == {4}


def test_the_format_study_asks_220_pairs_4400_times() -> None:
    pairs = sum(each["sample"]["n"] for each in values("format_pairs")["benchmark"])
    assert pairs == 220
    assert manifest("format_pairs")["observations"] == pairs * 5 * 2 * 2 == 4400
    judged = sum(cell.setting.method == "judge" for cell in plan("format_pairs").cells())
    assert judged * 2 == manifest("format_pairs")["cells"]


def test_the_format_study_lists_eighteen_falsification_tests() -> None:
    """App. N: fifteen passed and three in part."""
    tests = plan("format_pairs").study.spec.falsification
    assert [each.id for each in tests] == [
        *("1a", "1b", "1c", "1d", "1e", "1f", "2a", "2b", "2c", "3a", "3b"),
        *("4a", "4b", "4c", "4d", "4e", "4f", "4g"),
    ]
    assert Counter(each.category for each in tests) == {"scoring": 6, "evasion": 3, "mmlu": 2, "pipeline": 7}
    assert [each.id for each in tests if each.partial] == ["1c", "2c", "3b"]


@pytest.mark.parametrize("name", ["scaffold_safety", "scaffold_safety_registered"])
def test_the_hypotheses_stand_in_the_papers_families(name: str) -> None:
    """Table 43, and the omnibus test that stands alone."""
    spec = plan(name).study.spec
    members = Counter(each.family for each in spec.hypothesis)
    families = {None: 1, "primary": 3, "all_pairs": 6, "secondary": 3, "H3_sub": 4}
    assert members == families | {"equivalence": 3 * 4}  # app. Q.3.4: each scaffold on each benchmark
    corrections = {each.id: each.correction for each in spec.family}
    stated = {"primary": "holm", "all_pairs": "holm", "secondary": "bh", "H3_sub": "holm"}
    assert corrections == stated | {"equivalence": "none"}
    contrasts = [each for each in spec.hypothesis if isinstance(each, ContrastHypothesis)]
    assert [(each.id, each.kind, len(each.levels)) for each in contrasts if each.family is None] == [
        ("H1", "difference", 3)
    ]
    margins = [each.margin for each in contrasts if each.family == "primary"]
    assert margins == [Margin(pp=2, sensitivity_pp=(1, 3, 5))] * 3


@pytest.mark.parametrize("name", ["scaffold_safety", "scaffold_safety_registered"])
def test_the_29_forking_paths_have_the_papers_levels(name: str) -> None:
    """Table 22, in its order, and the full product of their levels."""
    forks = plan(name).study.spec.fork[:29]
    levels = [2, 2, 3, 2, 2, 4, *[2] * 7, 3, *[2] * 5, *[2] * 5, 3, 2, 3, 2, 2]
    assert [len(each.levels) for each in forks] == levels
    assert Counter(each.category for each in forks) == {
        "scoring": 6,
        "model": 7,
        "data": 6,
        "sanitising": 5,
        "configuration": 5,
    }
    whole = 1
    for number in levels:
        whole *= number
    assert whole == 5_435_817_984


@pytest.mark.parametrize(
    ("name", "curve", "forks", "whole", "size"),
    [
        ("scaffold_safety", "primary", 3, 18, 18),
        ("scaffold_safety", "exploratory", 9, 768, 384),
        ("scaffold_safety_registered", "primary", 29, 5_435_817_984, 5_435_817_984),
    ],
)
def test_the_curves_have_the_papers_specifications(
    name: str, curve: str, forks: int, whole: int, size: int
) -> None:
    spec = plan(name).study.spec
    (found,) = [each for each in spec.curve if each.id == curve]
    counted = specifications(found, {each.id: each for each in spec.fork})
    assert (len(found.forks), counted.product, counted.size) == (forks, whole, size)


def test_the_exploratory_curve_loses_128_of_512_combinations() -> None:
    """Of those by phrases of refusal, as the paper's was made: what the study's judge says is in none."""
    spec = values("scaffold_safety")
    (curve,) = [each for each in spec["curve"] if each["id"] == "exploratory"]
    levels = {each["id"]: each["levels"] for each in spec["fork"]}
    combinations = [dict(zip(curve["forks"], each, strict=True))
                    for each in product(*(levels[name] for name in curve["forks"]))]  # fmt: skip
    phrases = [each for each in combinations if each["refusal_markers"] != "judged"]
    possible = [each for each in phrases if each["map_reduce"] == "in" or each["long_context"] == "out"]
    assert (len(phrases), len(possible)) == (512, 384)
    assert sum(each["map_reduce"] == "in" for each in possible) == 256


@pytest.mark.parametrize("name", (*SAFETYREPRO, *SCAFFOLDS))
def test_every_level_says_where_it_comes_from_in_the_paper(name: str) -> None:
    for axis in values(name)["axis"]:
        for level in axis["level"]:
            assert "app." in level["provenance"] or "sec." in level["provenance"], level["id"]
