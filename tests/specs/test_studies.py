"""Every study of the repository is a source that validates, plans and stamps; what the further ones count is
derived a second time from their values."""

import json
import re
import tomllib
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gridc
from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.unsupported import why_undecidable
from gridc.compiler.grid.configurations import combinations
from gridc.compiler.lock.lock import make_lock
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.analysis import level_matrices

MEASURANDS = Path(gridc.__file__).parent / "builtin" / "measurands"
FRAMINGS = {
    "lm_eval": "lm-eval.bbq", "helm_bbq": "helm.bbq", "inspect_bbq": "inspect.bbq",
    "helm_truthfulqa": "helm.truthful_qa", "inspect_truthfulqa": "inspect.truthfulqa",
}  # fmt: skip
SPECS = Path(__file__).resolve().parents[2] / "specs"
STUDIES = sorted(path for path in SPECS.glob("*.toml") if not path.stem.endswith("deviations"))


@cache
def plan(name: str) -> Plan:
    return Plan(compile_spec(SPECS / f"{name}.toml").study)


@cache
def values(name: str) -> dict[str, Any]:
    return tomllib.loads(gridc.open(SPECS / f"{name}.toml").expanded())


def observations(name: str) -> int:
    found = plan(name).manifest().as_json()["observations"]
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_spec_validates_plans_and_stamps(path: Path) -> None:
    """Without the data, which need not be here; a stamp then says what is unpinned."""
    told = CliRunner().invoke(main, ["validate", str(path)], env={"GRIDC_DATA": None})
    assert told.exit_code == 0, told.output
    planned = plan(path.stem).manifest()
    assert planned.cells > 0
    lock = make_lock(plan(path.stem).study, path)
    assert lock.stamp == plan(path.stem).study_digest


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_level_and_study_says_where_it_comes_from(path: Path) -> None:
    spec = values(path.stem)
    assert all(level["provenance"] for axis in spec["axis"] for level in axis["level"])
    if path.stem not in ("smol", "real_items", "scaffold_pocket"):
        assert spec["study"]["assumptions"], "what the source leaves open"


@pytest.mark.parametrize(
    ("name", "models", "configurations", "items"),
    [
        ("scaffold_factual_recall", 6, 4, 500),  # table 1, sec. 6.3: 24 cells
        ("scaffold_options", 5, 3, 200),  # table 9
        ("scaffold_cot", 5, 3, 200),  # table 10
        ("invocation_pilot", 1, 4, 100),  # app. L: 50 items of each benchmark
        ("invocation_pilot_models", 3, 4, 50),
        ("languages", 3, 6, 20),
        ("personas", 3, 14, 24),
        ("attacks", 3, 4, 400),
        ("format_spread", 3, 10, 570),
    ],
)
def test_a_study_asks_what_it_says(name: str, models: int, configurations: int, items: int) -> None:
    assert observations(name) == models * configurations * items
    assert len(values(name)["model"]) == models


def test_the_item_subsets_are_the_core_and_three_draws_of_four_fifths() -> None:
    """App. X: 3 models x 4 configurations, on all 295 items and on three draws of 236."""
    found = plan("safetyrepro_subsets").manifest().as_json()
    assert found["cells"] == 3 * 4 * 4
    (envelope,) = found["envelopes"]
    assert envelope["slices"] == {"main_grid": 4, "subsamples": 12}
    core = [cell for cell in plan("safetyrepro").cells()
            if cell.benchmark == "truthfulqa" and "conservative_core" in cell.slices]  # fmt: skip
    mine = [cell for cell in plan("safetyrepro_subsets").cells() if cell.levels["subset"] == "all"]
    assert [cell.setting for cell in mine] == [cell.setting for cell in core]
    drawn = {cell.setting.items.seed for cell in plan("safetyrepro_subsets").cells() if cell.setting.items}
    assert drawn == {43, 44, 45}


def test_the_format_grammar_is_as_large_as_its_levels_and_ten_are_drawn() -> None:
    spec = values("format_spread")
    sizes = {axis["id"]: len(axis["level"]) for axis in spec["axis"]}
    assert sizes == {"separator": 14, "space": 14, "casing": 4, "enumerator": 25, "label": 11}
    whole = prod(sizes.values())
    assert combinations(plan("format_spread").study.spec) == whole
    assert f"10 of {whole:,} configurations" in (SPECS / "format_spread.toml").read_text()
    cells = list(plan("format_spread").cells())
    assert len({cell.configuration for cell in cells}) == 10
    multiline = {level["id"] for level in spec["axis"][0]["level"] if "\n" in level["vars"]["separator"]}
    flat = {level["id"] for level in spec["axis"][1]["level"] if "\n" not in level["vars"]["space"]}
    assert not [c for c in cells if c.levels["separator"] in multiline and c.levels["space"] in flat]


def test_personas_and_instructions_write_one_system_prompt() -> None:
    found = {cell.configuration: cell.setting.system for cell in plan("personas").cells()}
    parts = {axis["id"]: {level["id"]: level.get("system", {}) for level in axis["level"]}
             for axis in values("personas")["axis"]}  # fmt: skip
    for configuration, system in found.items():
        names = dict(part.split("=") for part in configuration.split(","))
        said = [parts["persona"][names["persona"]].get("persona"),
                parts["instruction"][names["instruction"]]["instruction"]]  # fmt: skip
        assert system == "\n\n".join(each for each in said if each)


def test_languages_pair_their_items_by_id() -> None:
    asked: dict[str, list[tuple[str, int | None]]] = {}
    texts: dict[str, set[str]] = {}
    for cell in plan("languages").cells():
        items = plan("languages").items(cell)
        asked[cell.configuration] = [(item.id, item.gold) for item in items]
        texts.setdefault(cell.levels["language"], set()).update(item.query for item in items)
    assert len({json.dumps(each) for each in asked.values()}) == 1
    assert len(texts) == 3 and not set.intersection(*texts.values())


def test_attack_success_is_defined_by_the_spec() -> None:
    spec = plan("attacks").study.spec
    (judge,) = spec.declared_judges
    for scores in (spec.benchmark[0].scores, *(outcome.scores for outcome in spec.outcomes)):
        assert scores is not None
        labels = set(scores.labels)
        assert labels == set(judge.verdicts) or "other" in labels
    assert spec.benchmark[0].unreadable == "worst" and spec.benchmark[0].lower_is_better


def test_a_criterion_is_computed_where_its_hypotheses_are() -> None:
    """Where a criterion names hypotheses, models that are left out, or bounds of a statistic."""
    for name, computed in (("languages", 2), ("personas", 2), ("format_spread", 2), ("attacks", 1),
                           ("scaffold_sensitivity", 3)):  # fmt: skip
        spec = plan(name).study.spec
        assert sum(why_undecidable(spec, test) is None for test in spec.falsification) == computed


def test_every_table_and_figure_of_both_papers_has_a_row_that_says_what_gives_it() -> None:
    """Whether it does is tried by tests/e2e/test_paper_tables.py."""
    page = (SPECS.parent / "docs" / "studies.md").read_text("utf-8")
    part = page.split("## Every table and figure of both papers")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith(("| sus", "| sr"))]
    names = {path.stem for path in STUDIES}
    for row in rows:
        assert len(row) == 3 and all(row), row
        named = re.findall(r"`([a-z0-9_]+)`", row[1])
        assert named and set(named) <= names, row
        assert re.search(r"`gridc [^`]+`[^`]*\*\*", row[2]), row
    for paper, letters in (("sus", "CDEGHIJLMNOPQ"), ("sr", "DEGHILNOR")):
        about = " ".join(row[0] for row in rows if row[0].startswith(paper))
        assert all(re.search(rf"app\. (\w, )*{letter}\b", about) for letter in letters), paper


def test_the_same_items_are_asked_under_each_package() -> None:
    assert observations("cross_package") == 3 * 120 + 2 * 100
    assert len({cell.key for cell in plan("cross_package").cells()}) == 3 + 2
    for benchmark in ("pocket_bbq", "pocket_truthfulqa"):
        cells = [cell for cell in plan("cross_package").cells() if cell.benchmark == benchmark]
        (matrix,) = level_matrices(plan("cross_package").study.spec, cells)
        shown = dict(matrix.rows)
        for place, cell in enumerate(cells):
            framing = tomllib.loads(
                (MEASURANDS / f"{FRAMINGS[matrix.levels[place]]}.toml").read_text("utf-8")
            )
            for key, value in framing["effects"].items():
                if key not in shown:
                    assert getattr(cell.setting, key) == value, f"{key} is the same under all"
                    assert key in matrix.same
                elif shown[key][place] is not None:
                    assert shown[key][place] in (value, json.dumps(value)), (matrix.levels[place], key)
        assert "max_tokens" in shown, "what no framing states is compared too"
