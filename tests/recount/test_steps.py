"""The tables of scaffolds' steps are recounted from the store by a program that imports nothing of gridc."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.reports.estimates import estimate_document
from gridc.reports.findings.find import find
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.steps import STEPS, StepFindings
from gridc.runtime.store.store import Store
from tests.recount import steps as again
from tests.recount.studies import steps


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Findings, list[again.Sample]]:
    folder = tmp_path_factory.mktemp("steps")
    store = steps(folder)
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    with Store.open(store) as opened:
        return find(compiled, compiled.lock, opened), again.samples(store, folder)


@pytest.fixture(scope="module")
def found(study: tuple[Findings, list[again.Sample]]) -> StepFindings:
    tables = study[0][STEPS]
    assert tables is not None
    return tables


def same(estimate: Any, counted: tuple[float | None, Any]) -> None:
    value, ends = (estimate.value, estimate.interval) if hasattr(estimate, "value") else estimate
    assert value == pytest.approx(counted[0], abs=1e-9)
    assert (ends is None) == (counted[1] is None)
    assert ends is None or ends == pytest.approx(counted[1], abs=1e-8)


def test_what_every_step_comes_to(found: StepFindings, study: tuple[Findings, list[again.Sample]]) -> None:
    counted = dict(again.outcomes(study[1]))
    assert len(counted) == len(found.outcomes) > 100
    assert any(row.readable and row.readable.interval for row in found.outcomes)
    for row in found.outcomes:
        own = counted[row.model, row.benchmark, row.scaffold, row.step, row.replies]
        for estimate, value in zip((row.readable, row.score, row.refusals), own, strict=True):
            same(estimate, value)
        assert row.whole == (row.step in again.WHOLE[row.scaffold])


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
         r.plain_refused): (r.ratio, r.interval)
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
