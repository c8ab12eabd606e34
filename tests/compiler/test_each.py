"""`each`: one hypothesis for each model or benchmark, written out under ids of their own; and `items`: on
some of the items only."""

import tomllib
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.unsupported import uncomputed_rows
from gridc.compiler.lock.deviations import path_differences, read_document
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import hypothesis_hazards, prospects
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.diagnostics.errors import HazardError

BASE = (Path(__file__).parents[1] / "golden" / "diagnostics" / "base.toml").read_text("utf-8")
STATED = """
[[family]]
id = "templates"
correction = "holm"
alpha = 0.04

[[hypothesis]]
id = "H1"
kind = "difference"
family = "templates"
{each}
axis = "template"
level = "T4"
reference = "T1"
side = "less"

[analysis]
estimator = "cluster_logit"
"""
WAIVED = """
[[waive]]
code = "GC521"
where = { hypothesis = "H1" }
why = "eight items are few"

[[waive]]
code = "GC522"
where = { hypothesis = ["H1.left", "H1.right"] }
why = "eight items are few"
"""


def study(folder: Path, each: str, more: str = "") -> Plan:
    (folder / "gridcard.toml").write_text(BASE + STATED.replace("{each}", each) + more)
    return Plan(compile_spec(folder / "gridcard.toml").study)


def test_each_model_has_a_verdict_and_all_share_the_familys_error_rate(tmp_path: Path) -> None:
    one, several = (prospects(study(tmp_path, each)) for each in ("", 'each = "model"'))
    assert [each.id for each in one] == ["H1"]
    assert [each.id for each in several] == ["H1.left", "H1.right"]
    assert [each.power.alpha for each in one] == [0.02]
    assert [each.power.alpha for each in several] == [0.01, 0.01]
    assert {each.items for each in several} == {8}


def test_without_a_family_its_verdicts_are_one(tmp_path: Path) -> None:
    """As if it were written out: a family of its name, by Holm's method, at the study's level."""
    alone = BASE + STATED.replace("{each}", 'each = "model"').replace('family = "templates"\n', "")
    alone = alone.partition("[[family]]")[0] + "[[hypothesis]]" + alone.partition("[[hypothesis]]")[2]
    stated = (
        alone.replace('each = "model"', 'each = "model"\nfamily = "H1"')
        .replace(
            "[[hypothesis]]", '[[family]]\nid = "H1"\ncorrection = "holm"\nalpha = 0.1\n\n[[hypothesis]]'
        )
        .replace('id = "H1"\nkind', 'id = "H2"\nkind')
    )
    (tmp_path / "gridcard.toml").write_text(alone + "alpha = 0.1\n")
    implicit = Plan(compile_spec(tmp_path / "gridcard.toml").study)
    (tmp_path / "gridcard.toml").write_text(stated + "alpha = 0.1\n")
    explicit = Plan(compile_spec(tmp_path / "gridcard.toml").study)
    assert implicit.study.spec.family == explicit.study.spec.family
    assert [each.power.alpha for each in prospects(implicit)] == [0.025, 0.025]
    assert [each.power for each in prospects(implicit)] == [each.power for each in prospects(explicit)]


def test_a_ranking_for_each_benchmark_shares_the_level_of_all_rankings(tmp_path: Path) -> None:
    ranking = '[[hypothesis]]\nid = "R"\nkind = "ranking"\neach = "benchmark"\norder = ["left", "right"]\n'
    (tmp_path / "gridcard.toml").write_text(BASE + ranking)
    spec = compile_spec(tmp_path / "gridcard.toml").study.spec
    assert [(one.id, one.family) for one in spec.hypothesis] == [("R.bbq", None)]
    assert spec.family == ()


def test_a_combination_that_where_leaves_out_has_no_hypothesis(tmp_path: Path) -> None:
    plan = study(tmp_path, 'each = ["model", "benchmark"]\nwhere = { model = { not = "left" } }')
    (hypothesis,) = plan.study.spec.hypothesis
    assert hypothesis.id == "H1.right.bbq"
    assert hypothesis.where.matches({"model": "right", "benchmark": "bbq"})
    assert not hypothesis.where.matches({"model": "left", "benchmark": "bbq"})


def test_what_is_stamped_says_each_hypothesis_and_a_lock_agrees_with_its_spec(tmp_path: Path) -> None:
    plan = study(tmp_path, 'each = "model"')
    stamped = plan.study.stamped()["spec"]["hypothesis"]
    assert [each["id"] for each in stamped] == ["H1.left", "H1.right"]
    assert [each["where"] for each in stamped] == [{"model": "left"}, {"model": "right"}]
    assert all("each" not in each for each in stamped)
    path = tmp_path / "gridcard.toml"
    write_lock(make_lock(plan.study, path), path.with_suffix(".lock"))
    assert path_differences(read_document(path), read_document(path.with_suffix(".lock"))) == []


def test_a_waiver_of_the_hypothesis_is_one_of_each_and_each_can_be_named_alone(tmp_path: Path) -> None:
    plan = study(tmp_path, 'each = "model"')
    codes = {hazard.code for hazard in hypothesis_hazards(plan)}
    assert codes  # eight items in two units can show nothing
    study(tmp_path, 'each = "model"', WAIVED)
    compiled = compile_spec(tmp_path / "gridcard.toml")
    assert {tuple(each.where.root["hypothesis"]) for each in compiled.spec.waive} == {("H1.left", "H1.right")}
    try:
        prove_hazards(compiled.study, compiled.source)
    except HazardError as error:
        pytest.fail(str(error))
    except Exception as error:
        assert "GC317" in str(error)  # where one of the two hazards is not there to waive


def test_a_finding_about_one_of_them_stands_where_it_is_written(tmp_path: Path) -> None:
    plan = study(tmp_path, 'each = "model"')
    compiled = compile_spec(tmp_path / "gridcard.toml")
    with pytest.raises(HazardError) as error:
        prove_hazards(plan.study, compiled.source)
    line = (tmp_path / "gridcard.toml").read_text().split("\n").index('id = "H1"') + 1
    assert {each.span.line for each in error.value.diagnostics if each.span} == {line}
    assert any("`H1.right`" in each.message for each in error.value.diagnostics)


def test_only_the_items_with_the_tags_count(tmp_path: Path) -> None:
    plan = study(tmp_path, 'items = { condition = "ambig" }')
    (prospect,) = prospects(plan)
    tagged = [item for item in plan.study.items["bbq"].sampled if item.tags["condition"] == "ambig"]
    assert 0 < len(tagged) < 8
    assert prospect.items == len(tagged)


def test_a_ranking_on_some_of_the_items_is_computed(tmp_path: Path) -> None:
    ranking = '[[hypothesis]]\nid = "R"\nkind = "ranking"\norder = ["left", "right"]\n'
    path = tmp_path / "gridcard.toml"
    for items in ("", 'items = { condition = "ambig" }\n'):
        path.write_text(BASE + "\n" + ranking + items)
        assert uncomputed_rows(compile_spec(path).spec) == ()
    assert tomllib.loads(path.read_text())["hypothesis"][0]["items"] == {"condition": "ambig"}


def test_an_interaction_between_models_needs_two_of_them(tmp_path: Path) -> None:
    stated = '[[hypothesis]]\nid = "I"\nkind = "interaction"\naxis = "template"\nby = "model"\n'
    for where, items in (("", 8), ('where = { model = "left" }\n', 0)):
        (tmp_path / "gridcard.toml").write_text(BASE + "\n" + stated + where)
        (prospect,) = prospects(Plan(compile_spec(tmp_path / "gridcard.toml").study))
        assert prospect.items == items
