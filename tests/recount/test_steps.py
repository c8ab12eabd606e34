"""The tables of scaffolds are recounted from the store by a program that imports nothing of gridc."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.reports.estimates import estimate_document
from gridc.reports.findings.exposure import DIFFICULTIES, DOSES, EXPOSURES, MEDIATIONS
from gridc.reports.findings.findings import Findings, all_findings
from gridc.reports.findings.scaffolds import PROPAGATION, STEPS, StepFindings
from gridc.runtime.store.store import Store
from tests.recount import doses, exposure
from tests.recount import steps as again
from tests.recount.studies import steps


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Findings, list[again.Sample]]:
    folder = tmp_path_factory.mktemp("steps")
    store = steps(folder)
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    with Store.open(store) as opened:
        return all_findings(compiled, compiled.lock, opened), again.samples(store, folder)


@pytest.fixture(scope="module")
def found(study: tuple[Findings, list[again.Sample]]) -> StepFindings:
    tables = study[0][STEPS]
    assert tables is not None
    return tables


def same(estimate: Any, counted: tuple[float | None, Any], digits: float = 1e-7) -> None:
    value, ends = (estimate.value, estimate.interval) if hasattr(estimate, "value") else estimate
    assert value == pytest.approx(counted[0], abs=1e-9)
    assert (ends is None) == (counted[1] is None)
    assert ends is None or ends == pytest.approx(counted[1], rel=digits, abs=digits / 10)


def test_what_every_step_comes_to(found: StepFindings, study: tuple[Findings, list[again.Sample]]) -> None:
    counted = dict(again.outcomes(study[1]))
    assert len(counted) == len(found.outcomes) > 100
    assert any(row.readable and row.readable.interval for row in found.outcomes)
    for row in found.outcomes:
        own = counted[row.model, row.benchmark, row.scaffold, row.step, row.replies]
        for estimate, value in zip((row.readable, row.score, row.refusals), own, strict=True):
            same(estimate, value)
        assert row.answers_task == (row.step in again.WHOLE[row.scaffold])


def test_every_reply_to_a_step_and_its_options_are_in_what_reached_the_step(
    study: tuple[Findings, list[again.Sample]],
) -> None:
    replies = [
        (each.scaffold, reply.step, bool(each.options) and all(map(reply.everything.count, each.options)))
        for each in study[1]
        for reply in each.replies
        if each.scaffold != "plain"
    ]
    steps = {(step.shares.scaffold, step.shares.step): step.shares for step in study[0][PROPAGATION]}
    assert {name: step.n for name, step in steps.items()} == Counter(reply[:2] for reply in replies)
    kept = {name: step.counts["mc_option"].get("kept", 0) for name, step in steps.items()}
    assert Counter(kept) == Counter(reply[:2] for reply in replies if reply[2])


def test_from_one_answer_to_the_next(found: StepFindings, study: tuple[Findings, list[again.Sample]]) -> None:
    counted = dict(again.changes(study[1]))
    rows = {
        (r.model, r.benchmark, r.scaffold, r.before, r.after, r.samples, r.unread, r.worse, r.restored,
         r.better, r.other): r.net
        for r in found.changes
    }  # fmt: skip
    assert rows.keys() == counted.keys()
    assert {name[2] for name in rows} == {"critic", "adjudicator", "vote"}
    assert any(name[8] for name in rows if name[2] == "adjudicator"), "some checks are taken back"
    for name, net in rows.items():
        same(net, counted[name])


def test_who_refuses(found: StepFindings, study: tuple[Findings, list[again.Sample]]) -> None:
    counted = dict(again.refusals(study[1]))
    rows = {
        (r.model, r.benchmark, r.scaffold, r.subcalls, r.refused, r.answers, r.answers_refused, r.plain,
         r.plain_refused): r.ratio
        for r in found.refusals
    }  # fmt: skip
    assert rows.keys() == counted.keys()
    for name, ratio in rows.items():
        same(ratio, counted[name])


def test_the_document_of_estimates_has_every_number(
    found: StepFindings, study: tuple[Findings, list[again.Sample]]
) -> None:
    findings = study[0]
    document = json.loads(estimate_document(findings).model_dump_json())
    rows: Mapping[str, Any] = {row["id"]: row for row in document["estimates"]}
    for row in found.outcomes:
        base = f"step/{row.model}/{row.benchmark}/{row.scaffold}/{row.step}".replace(" ", "_")
        assert rows[f"{base}/refusals"]["estimate"] == pytest.approx(row.refusals.value, abs=1e-8)
    for change in found.changes:
        base = f"{change.model}/{change.benchmark}/{change.scaffold}/{change.before}/{change.after}"
        assert rows[f"change/{base}".replace(" ", "_")]["estimate"] == pytest.approx(
            change.net.value, abs=1e-8
        )


def test_leakage_as_exposure(study: tuple[Findings, list[again.Sample]]) -> None:
    found = study[0][EXPOSURES]
    assert [(row.benchmark, row.scaffold) for row in found] == [("personas", "divided"), ("personas", "kept")]
    for finding in found:
        rows = list(exposure.divided(study[1], finding.benchmark, finding.scaffold).values())
        for row, (model, items, leaked, values, gap) in zip(
            finding.leakage, exposure.leakage(rows), strict=True
        ):
            assert (row.model, row.items, row.leaked) == (model, items, leaked)
            for estimate, value in zip((row.plain, row.clean, row.exposed), values, strict=True):
                same(estimate, value)
            same(row.gap, gap)
        for dose, (items, value) in zip(finding.doses, exposure.doses(rows), strict=True):
            assert dose.items == items
            if items:
                same(dose.score, value)
        assert [each.ratio for each in finding.odds] == pytest.approx(exposure.odds(rows), rel=1e-6)
        for flip, (counts, p, change) in zip(finding.flips, exposure.flips(rows), strict=True):
            assert (flip.exposed, flip.items, flip.less, flip.more) == counts
            assert flip.p == (p if p is None else pytest.approx(p))
            same(flip.change, change)


def test_what_goes_through_the_options(study: tuple[Findings, list[again.Sample]]) -> None:
    found = study[0][MEDIATIONS]
    assert [(row.benchmark, row.scaffold, row.by) for row in found] == [
        (benchmark, "divided", by) for benchmark in ("families", "personas") for by in ("kept", None)
    ]
    for row in found:
        own = exposure.divided(study[1], row.benchmark, row.scaffold)
        beside = exposure.divided(study[1], row.benchmark, row.by) if row.by else None
        items, total, lost, slope, through, rest = exposure.mediation(own, beside)
        assert row.items == items
        assert row.effect.total.value == pytest.approx(total)
        assert row.effect.lost.value == pytest.approx(lost)
        if row.benchmark == "families" and row.by is None:
            assert row.effect.through.value is None, "every part loses all options"
        else:
            same(row.effect.slope, slope, 1e-4)
            same(row.effect.through, through, 1e-4)
            same(row.effect.rest, rest, 1e-4)


def test_measured_doses(study: tuple[Findings, list[again.Sample]]) -> None:
    assert [row.benchmark for row in study[0][DOSES]] == ["families", "personas"]
    for finding in study[0][DOSES]:
        means, slope, pairs, reverse = doses.doses(study[1], finding.benchmark)
        assert len(means) == len(finding.scaffolds) == 6
        for row in finding.scaffolds:
            assert (row.dose, row.score.value) == pytest.approx(means[row.scaffold])
        ordered = [row.dose for row in finding.scaffolds]
        assert ordered == sorted(ordered)
        same(finding.slope, slope, 1e-4)
        assert (finding.pairs, finding.reversed) == (pairs, reverse)


def test_difficulty_across_models(study: tuple[Findings, list[again.Sample]]) -> None:
    assert len(study[0][DIFFICULTIES]) == 10
    for finding in study[0][DIFFICULTIES]:
        raw, across = doses.difficulty(study[1], finding.benchmark, finding.scaffold)
        assert finding.effect.raw == pytest.approx(raw)
        assert finding.effect.split.value == pytest.approx(across)
        assert raw < across, "the same answers on both sides are coupled"
