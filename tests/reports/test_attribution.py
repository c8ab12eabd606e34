"""Axis attribution: what a surrogate explains, where it is shown, and that it is called no more than that."""

import json
from dataclasses import asdict, replace
from fractions import Fraction

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.diagnostics.errors import IncompleteError
from gridc.reports.card import make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings import components
from gridc.reports.findings.components import ATTRIBUTION
from gridc.reports.findings.findings import Findings
from gridc.reports.page import page_html
from tests.reports.builders import findings_of, having, reversing, spec_of

PLACES = [
    {"t": t, "d": d, "idle": "x"} for t in ("1", "2", "3", "4") for d in ("g", "m", "s") for _ in range(4)
]
BY_T = [Fraction(int(place["t"]), 5) for place in PLACES]


def test_attribution_finds_the_axis_that_moves_the_score() -> None:
    pytest.importorskip("lightgbm")
    found = components.of_scores("b", PLACES, BY_T)
    assert found.axes.keys() == {"t", "d"}
    assert found.axes["t"] > 100 * found.axes["d"]
    assert found.fit > 0.99
    order = components.order_attribution("b", "x", "y", PLACES, [place["d"] == "s" for place in PLACES])
    assert (order.unit, order.subject) == ("log-odds", "x scores higher than y")
    assert order.axes["d"] > 10 * order.axes["t"]
    assert order.fit == 1.0


def test_shap_values_are_those_of_every_order_of_the_axes() -> None:
    """For a score that is a sum over two axes the SHAP value of an axis is its centred effect."""
    pytest.importorskip("lightgbm")
    scores = [Fraction(int(place["t"]), 10) + (place["d"] == "s") * Fraction(1, 10) for place in PLACES]
    found = components.of_scores("b", PLACES, scores)
    assert found.axes["t"] == pytest.approx(0.1, rel=0.05)  # mean |t/10 - 0.25|
    assert found.axes["d"] == pytest.approx(0.4 / 9, rel=0.05)


def study() -> Findings:
    return findings_of(spec_of({"ant": None, "beetle": None}), reversing)


def page_of(findings: Findings) -> str:
    return page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))


def explained(findings: Findings) -> Findings:
    cells = {benchmark.benchmark: benchmark.cells for benchmark in findings.benchmarks}
    return having(findings, ATTRIBUTION, components.attributions(findings.plan.study.spec, cells))


def test_the_section_is_there_when_asked_for_and_says_what_it_is() -> None:
    pytest.importorskip("lightgbm")
    findings = study()
    assert 'id="attribution"' not in page_of(findings)
    found = explained(findings)
    assert [each.subject for each in found[ATTRIBUTION]] == ["score", "ant scores higher than beetle"]
    assert found[ATTRIBUTION][0].axes.keys() == {"model", "frame", "shots", "reading"}
    section = page_of(found).split('id="attribution"')[1].split("</section>")[0]
    assert "explanation of a fitted surrogate, not a test and not a share of variance" in section
    assert "ant scores higher than beetle (log-odds)" in section
    assert certificate_of(found) == certificate_of(findings), "a certificate holds no explanation"


def test_what_was_recorded_makes_the_same_page() -> None:
    pytest.importorskip("lightgbm")
    """Events keep their keys sorted; axes that explain the same amount must not change places for that."""
    findings = explained(study())
    tied = replace(findings[ATTRIBUTION][0], axes={"zeta": 0.0, "yota": 0.5, "beta": 0.0})
    findings = having(findings, ATTRIBUTION, (tied, *findings[ATTRIBUTION]))
    stored = json.loads(json.dumps([asdict(each) for each in findings[ATTRIBUTION]], sort_keys=True))
    again = having(findings, ATTRIBUTION, tuple(components.Attribution(**each) for each in stored))
    assert again[ATTRIBUTION] == findings[ATTRIBUTION]
    certificate = certificate_of(findings)
    deck = make_cards(findings, "0" * 64)
    assert page_html(again, certificate, deck) == page_html(findings, certificate, deck)


def test_what_does_not_vary_has_nothing_to_attribute() -> None:
    def alike(cell: Cell) -> int:
        return 10

    findings = findings_of(spec_of({"ant": None, "beetle": None}), alike)
    assert explained(findings)[ATTRIBUTION] == ()


def test_a_missing_lightgbm_is_a_coded_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(IncompleteError, match="GC604"):
        explained(study())
