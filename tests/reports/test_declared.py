"""What a study declares of itself shows in its reports: tiers by name, the anchor, whose pass marks are
whose, and that it explores."""

from typing import Any

import pytest

from gridc.reports.card import make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import Findings
from gridc.reports.page import page_html
from gridc.reports.statements import statement_texts
from tests.reports.builders import AXES, findings_of, reversing, spec_of

MODELS = {"one": None, "two": None}
AXES_OF_THREE_TIERS = {
    axis: [{**level, "tier": tier} for level, tier in zip(levels, tiers, strict=True)]
    for (axis, levels), tiers in zip(
        AXES.items(), (("usual", "usual"), ("usual", "edge"), ("usual", "rare")), strict=True
    )
}
STUDY = {"id": "small", "title": "A small study", "purpose": "comparative"}


def found(**more: Any) -> Findings:
    return findings_of(spec_of(MODELS, **more), reversing)


@pytest.fixture(scope="module")
def tiered() -> Findings:
    return found(axes=AXES_OF_THREE_TIERS, study={**STUDY, "tiers": ["usual", "rare", "edge"]})


def test_each_tier_has_its_part_of_the_envelope_and_the_last_of_its_levels_counts(tiered: Findings) -> None:
    (row,) = certificate_of(tiered).benchmarks
    parts = {scope.name: scope.size for scope in row.scopes if scope.kind == "tier"}
    assert parts == {"usual": 2, "rare": 2, "edge": 4}
    assert {each.configuration: each.tier for each in row.envelope} == {
        each.configuration: "edge" if "shots=5" in each.configuration
        else "rare" if "reading=rank" in each.configuration else "usual"
        for each in row.envelope
    }  # fmt: skip


def test_sentences_and_page_speak_of_the_studys_own_tiers(tiered: Findings) -> None:
    page = page_html(tiered, certificate_of(tiered), make_cards(tiered, "0" * 64))
    assert "of them in the usual tier" in " ".join(statement_texts(tiered))
    text = " ".join(page.split())
    assert "asterisk marks a level of the edge tier" in text
    assert "5*" in text and "core tier" not in text


def test_the_point_score_is_the_one_under_the_declared_anchor() -> None:
    plain, declared = found(), found(analysis={"anchor": {"frame": "exam", "reading": "rank", "shots": "5"}})
    wanted = "frame=exam,shots=5,reading=rank"
    for model in ("one", "two"):
        (first,) = (each.anchor for each in plain.benchmarks[0].models if each.model == model)
        (anchor,) = (each.anchor for each in declared.benchmarks[0].models if each.model == model)
        assert first.cell.configuration == "frame=plain,shots=0,reading=text"
        assert anchor.cell.configuration == wanted
        (card,) = (each for each in make_cards(declared, "0" * 64).cards if each.model == model)
        assert card.point_score.score == float(anchor.score or 0) == reversing(anchor.cell) / anchor.trials


def test_a_pass_mark_counts_on_the_benchmarks_that_it_names() -> None:
    marks = [
        {"at": at, "declared": "ex_ante", "source": "a test", "where": {"benchmark": where}}
        for at, where in ((0.3, "other"), (0.5, "facts"), (0.6, {"not": "facts"}), (0.7, {"not": "other"}))
    ]
    findings = found(analysis={"thresholds": marks})
    (card, _) = make_cards(findings, "0" * 64).cards
    assert [each.threshold for each in card.verdict_stability] == [0.5, 0.7]
    assert all(len(each.flip_rates) == 2 for each in findings.benchmarks[0].models)


def test_an_exploratory_study_says_that_it_confirms_nothing() -> None:
    said = "its verdicts say what to predict next, and confirm nothing"
    assert said not in " ".join(statement_texts(found()))
    assert said in " ".join(statement_texts(found(study={**STUDY, "purpose": "exploratory"})))
