"""Falsification tests that compute: verdicts on a part of the grid are those of the study stated there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import SpecError
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings import findings as found_of_benchmarks
from gridc.reports.findings.falsification import falsify
from gridc.reports.findings.findings import Findings, all_findings, weighed_findings
from gridc.reports.findings.hypotheses import decisions
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.labels import AuditFinding
from gridc.reports.findings.observations import Samples
from gridc.reports.findings.scores import cell_scores
from gridc.reports.page import page_html
from gridc.reports.statements import statement_texts
from gridc.runtime.store.store import Store
from gridc.schema.base import Selector
from gridc.schema.inference import Criterion, CriterionRule, Falsification, Fork
from gridc.schema.spec import Spec
from gridc.statistics.raters import kappa, leniency
from tests.recount.studies import corners


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("falsified")
    return folder, corners(folder)


@pytest.fixture(scope="module")
def read(study: tuple[Path, Path]) -> tuple[Plan, Any, Findings]:
    """The plan, the outcomes and the findings of the study."""
    compiled = compile_spec(study[0] / "gridcard.toml", None)
    assert compiled.lock is not None
    plan = Plan(compiled.study)
    with Store.open(study[1]) as store:
        return plan, store.outcomes(plan.study_digest), all_findings(compiled, compiled.lock, store)


def stating(spec: Spec, evidence: str = "descriptive", **criterion: Any) -> Spec:
    """The spec with one test, and verdicts of this strength."""
    stated = Criterion.model_validate(criterion)
    test = Falsification(id="t", category="stability", test="a test", criterion=stated)
    analysis = spec.analysis.model_copy(update={"evidence": evidence})
    return spec.model_copy(update={"falsification": (test,), "analysis": analysis})


def with_spec(plan: Plan, spec: Spec) -> Plan:
    """The same study with another spec; its store is the one that was filled."""
    study: Study = replace(plan.study, spec=spec)
    return Plan(study)


def measure(plan: Plan, stored: Any, complete: bool = True) -> MeasuredStudy:
    """What verdicts are decided on. What is found of each benchmark beside it decides none, and takes nine
    tenths of the time: it is left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found_of_benchmarks, "_benchmark", lambda *_: None)
        return weighed_findings(Samples(plan, stored), cell_scores(plan, stored), complete, {})[1]


def on_a_part(plan: Plan, stored: Any, spec: Spec, name: str, where: Any) -> tuple[Any, str, str]:
    """The test, and what its hypothesis comes to in the study and in the study that states it of the part."""
    measured = measure(with_spec(plan, spec), stored)
    whole = list(decisions(measured))
    (test,) = falsify(measured, {}, (), whole)
    part = {"where": Selector.model_validate(where)}
    moved = [stated.model_copy(update=part if stated.id == name else {}) for stated in spec.hypothesis]
    alone = with_spec(plan, spec.model_copy(update={"hypothesis": tuple(moved)}))
    there = decisions(measure(alone, stored))
    before, after = ({row.id: row.verdict for row in rows}[name] for rows in (whole, there))
    return test, before, after


@pytest.mark.parametrize("evidence", ["descriptive", "certified", "supported"])
@pytest.mark.parametrize("where", [{"template": "T1"}, {"decoding": "greedy", "reading": {"not": "line"}}])
def test_a_verdict_on_a_part_is_the_one_of_the_study_stated_there(
    where: Any, evidence: str, read: tuple[Plan, Any, Findings]
) -> None:
    plan, stored, _ = read
    spec = stating(plan.study.spec, evidence, keeps=["H1"], where=where)
    found, before, after = on_a_part(plan, stored, spec, "H1", where)
    assert (found.kept[0].before, found.kept[0].after) == (before, after)
    assert found.result == ("open" if before == "open" else "pass" if before == after else "fail")


@pytest.mark.parametrize(("name", "where"), [("MM", {"template": "T1"}), ("J", {"benchmark": "items"})])
def test_an_effect_is_decided_on_a_part_too(name: str, where: Any, read: tuple[Plan, Any, Findings]) -> None:
    """Of models against one of them, and of an interaction, for which every model stays."""
    plan, stored, _ = read
    spec = stating(plan.study.spec, keeps=[name], where=where)
    found, before, after = on_a_part(plan, stored, spec, name, where)
    assert (found.kept[0].before, found.kept[0].after, found.result) == (before, after, "pass")
    assert after == "supported"


def test_a_model_that_is_left_out_leaves_the_order(read: tuple[Plan, Any, Findings]) -> None:
    """By hand: with two models the verdict is whether one is ahead in every cell."""
    plan, stored, _ = read
    spec = stating(plan.study.spec, keeps=["H1"], where={"model": {"not": "mistral"}})
    measured = measure(with_spec(plan, spec), stored)
    whole = list(decisions(measured))
    (found,) = falsify(measured, {}, (), whole)
    lower = {each.id for each in spec.benchmark if each.lower_is_better}
    by = {
        (each.cell.benchmark, each.cell.configuration, each.cell.model): each.score
        for each in measured.scores
    }
    gaps = []
    for (benchmark, configuration, model), score in by.items():
        if model == "qwen2":
            other = by[benchmark, configuration, "llama"]
            assert score is not None and other is not None
            gaps.append((other - score) if benchmark in lower else (score - other))
    expected = "refuted" if min(gaps) < 0 else "open" if 0 in gaps else "supported"
    assert found.kept[0].after == expected
    spec = stating(plan.study.spec, keeps=["H1"], where={"model": "llama"})
    (alone,) = falsify(replace(measured, spec=spec), {}, (), whole)
    assert alone.kept[0].after == "open", "one model has no order"


def test_some_of_several_verdicts_pass_in_part(read: tuple[Plan, Any, Findings]) -> None:
    plan, stored, _ = read
    results = set()
    for where in ({"template": "T1"}, {"template": "T4"}, {"decoding": "greedy"}, {"reading": "line"}):
        spec = stating(plan.study.spec, keeps=["H1", "H2"], where=where)
        measured = measure(with_spec(plan, spec), stored)
        whole = list(decisions(measured))
        (found,) = falsify(measured, {}, (), whole)
        holding = [kept.holds for kept in found.kept]
        decided = all(kept.before != "open" for kept in found.kept)
        wanted = "pass" if all(holding) else "partial" if any(holding) else "fail"
        assert found.result == (wanted if decided else "open")
        results.add(found.result)
    assert results


def test_another_choice_of_the_outcome_is_per_protocol(read: tuple[Plan, Any, Findings]) -> None:
    """Every score over readable answers alone, from the plain counts."""
    plan, stored, _ = read
    spec = stating(plan.study.spec, keeps=["H2"], fork="outcome", level="pp")
    fork = Fork(
        id="outcome", category="scoring", levels=("itt", "pp"), default="itt", binds="analysis.outcome"
    )
    spec = spec.model_copy(update={"fork": (fork,)})
    measured = measure(with_spec(plan, spec), stored)
    whole = list(decisions(measured))
    (found,) = falsify(measured, {}, (), whole)
    signs = []
    for each in measured.scores:
        cell = each.cell
        if (cell.benchmark, cell.levels["decoding"], cell.model) != ("families", "greedy", "llama"):
            continue
        other = stored[cell.key.replace("llama/", "qwen2/", 1)]
        mine = stored[cell.key]
        ratio = [int(found.correct.sum()) / int(found.parsed.sum()) for found in (mine, other)]
        signs.append(ratio[1] - ratio[0])  # lower is better on these items
    expected = "refuted" if min(signs) < 0 else "open" if 0 in signs else "supported"
    assert found.kept[0].after == expected


def test_every_report_says_what_became_of_the_tests(read: tuple[Plan, Any, Findings]) -> None:
    _, _, findings = read
    document = certificate_of(findings)
    deck = make_cards(findings, "0" * 64)
    page, card, said = (
        page_html(findings, document, deck),
        as_markdown(deck),
        " ".join(statement_texts(findings)),
    )
    results = {each.id: each.result for each in document.falsifications}
    assert set(results) == {"rho", "sdi", "range", "flips", "score", "keeps"}
    assert results["range"] == "pass" and results["sdi"] == "fail"
    assert "Of 6 falsification tests that are computed" in said
    assert not [each for each in findings.uncomputed if each.table == "falsification"]
    for name, result in results.items():
        assert f"- {name}, **{result}**" in card
        assert f"<td>{name}</td>" in page


WRONG = {
    "keeps and a statistic": {"keeps": ["H1"], "statistic": "sdi", "where": {"template": "T1"}},
    "neither": {"where": {"template": "T1"}},
    "no bound": {"statistic": "sdi"},
    "two bounds": {"statistic": "sdi", "at_most": 1, "at_least": 0},
    "a tighter partial": {"statistic": "sdi", "at_most": 0.5, "partial": 0.2},
    "keeps everywhere": {"keeps": ["H1"]},
    "a fork without its level": {"keeps": ["H1"], "fork": "outcome"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_criterion_that_asks_nothing_or_two_things_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        Criterion.model_validate(WRONG[name])


@pytest.mark.parametrize(
    ("written", "code", "help"),
    [
        ('keeps = ["H9"], where = { template = "T1" }', "GC202", "known here: `H1`"),
        ('statistic = "rho_flop", at_most = 0.1', "GC202", "did you mean `rho_flip`?"),
        ('statistic = "sdi", at_most = 0.1, slice = "nmaed"', "GC202", "did you mean `named`?"),
        ('statistic = "sdi", at_most = 0.1, where = { template = "T9" }', "GC202", "known here: `T1`"),
        ('statistic = "sdi", at_most = 0.1, where = { decoding = "greedy", model = "gpt" }', "GC202", ""),
    ],
)
def test_what_a_criterion_names_exists(
    written: str, code: str, help: str, study: tuple[Path, Path], tmp_path: Path
) -> None:
    text = (study[0] / "gridcard.toml").read_text()
    test = f'[[falsification]]\nid = "x"\ncategory = "y"\ntest = "z"\ncriterion = {{ {written} }}\n'
    (tmp_path / "gridcard.toml").write_text(text.replace("[sampling]", f"{test}[sampling]"))
    for name in ("pocket_bbq.jsonl", "pocket_truthfulqa.json"):
        (tmp_path / name).write_bytes((study[0] / name).read_bytes())
    with pytest.raises(SpecError) as caught:
        compile_spec(tmp_path / "gridcard.toml", None)
    found = caught.value.diagnostics
    assert [each.code for each in found] == [code]
    assert help in (found[0].help or "")


def audited(people: list[str], study: list[str], benchmark: str = "all") -> AuditFinding:
    pairs = zip(study, people, strict=True)
    gained = [float(theirs == "unsafe") - float(ours == "unsafe") for ours, theirs in pairs]
    return AuditFinding("audit-1", benchmark, kappa(study, people), leniency(gained), "0" * 64)


STUDY = ["safe", "unsafe"] * 5
PEOPLE: dict[str, tuple[dict[str, Any], list[str], str, str]] = {
    "all agree": ({"statistic": "audit_kappa", "at_least": 0.6}, STUDY, "pass", "pass"),
    "by chance": (
        {"statistic": "audit_kappa", "at_least": 0.6}, ["safe"] * 6 + ["unsafe"] * 4, "fail", "fail",
    ),
    "exactly the looser bound": (
        {"statistic": "audit_kappa", "at_least": 0.9, "partial": 0.6},
        ["safe", "unsafe"] * 4 + ["unsafe", "safe"],
        "partial",
        "open",
    ),
    "exactly the bound": (
        {"statistic": "audit_leniency", "at_most": 0.1},
        ["safe", "unsafe"] * 4 + ["unsafe"] * 2,
        "pass",
        "open",
    ),
    "lenient": ({"statistic": "audit_leniency", "at_most": 0.1}, ["unsafe"] * 10, "fail", "fail"),
}  # fmt: skip
"""A criterion, what people say of ten responses, and the result by the value and, of 400 like them, by
limits."""


@pytest.mark.parametrize("name", PEOPLE)
@pytest.mark.parametrize("rule", ["values", "limits"])
def test_people_decide(name: str, rule: CriterionRule, read: tuple[Plan, Any, Findings]) -> None:
    criterion, people, by_value, by_limits = PEOPLE[name]
    plan, stored, _ = read
    here = with_spec(plan, stating(plan.study.spec, **criterion))
    stated = Plan(replace(here.study, decides_by=rule))

    measured = measure(stated, stored)

    def found(audits: list[AuditFinding], complete: bool = True) -> str:
        (test,) = falsify(replace(measured, final=complete), {}, (), [], audits)
        return test.result

    times = 40 if rule == "limits" else 1
    everyone = audited(people * times, STUDY * times)
    agreeing = audited(["safe", "unsafe"] * times, ["safe", "unsafe"] * times)
    result = by_limits if rule == "limits" else by_value
    assert found([everyone]) == result
    assert found([agreeing, everyone]) == result, "the worst decides"
    assert found([]) == found([everyone], complete=False) == "open"
    if criterion["statistic"] == "audit_kappa":
        undefined = audited(["safe"] * 3, ["safe"] * 3)
        failed = rule == "limits" and result == "fail"
        assert found([everyone, undefined]) == ("fail" if failed else "open"), "one kappa is not defined"
    if rule == "limits":
        assert found([audited(people, STUDY)]) in ("open", result), "ten responses show little"


def test_a_sheet_is_of_no_part_of_the_grid() -> None:
    with pytest.raises(ValueError, match="all responses on a sheet"):
        Criterion.model_validate({"statistic": "audit_kappa", "at_least": 0.6, "where": {"template": "T1"}})
