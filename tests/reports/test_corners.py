"""Sentences in the corners in which they were false: of all that a report prints, nothing may be."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lowering.judging import Guess
from gridc.reports.card import as_markdown, card_sentences, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.exchange.model_card import model_index
from gridc.reports.findings.curves import CURVES
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses import hypothesis_sentence, verdict_lines
from gridc.reports.findings.labels import GUESSES, AuditFinding, guess_finding
from gridc.reports.findings.rates import RateFinding, RateValue
from gridc.reports.page import page_html
from gridc.reports.scorecard.document import make_scorecard
from gridc.reports.statements import statement_texts
from gridc.reports.statements.components import result
from gridc.reports.statements.labels import audit_sentences, guess_sentence
from gridc.schema.hypotheses import ContrastRow
from gridc.statistics.raters import kappa, leniency
from tests.reports.builders import AXES, ITEMS, Counts, findings_of, having, reversing, spec_of

ONE, TWO = {"ant": None}, {"ant": None, "bee": None}
FRAMES: dict[str, Any] = {"kind": "difference", "axis": "frame", "level": "exam", "reference": "plain"}
FRAME = {"frame": AXES["frame"]}


def told(findings: Findings) -> str:
    return " ".join(statement_texts(findings))


def page(findings: Findings) -> str:
    made = page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))
    return re.sub(r"\s+", " ", made)


def held(findings: Findings) -> dict[str, str]:
    card = make_cards(findings, "0" * 64).cards[0]
    return {row.what: row.at for row in card.scope_statement.held}


@pytest.mark.parametrize(("least", "shown"), [(0.995, "99.5 %"), (0.95, "95 %"), (1, "100 %")])
def test_a_share_that_must_be_readable_is_not_rounded(least: float, shown: str) -> None:
    found = findings_of(spec_of(TWO, analysis={"parse_clean": least}), lambda cell: 0, parsed=18)
    assert f"fewer than {shown} of a model's answers could be read" in told(found)
    assert f"every model reaches {shown} in it" in page(found)


def test_what_a_judge_gave_no_label_is_not_said_to_be_unreadable() -> None:
    earns = {"good": 1, "bad": 0}
    spec = spec_of(
        TWO,
        axes=FRAME,
        harness={"prompt": "{{ question }}", "method": "judge", "scores": earns},
        judge={"source": "builtin:none", "rubric": "How good is it?", "labels": ["good", "bad"]},
    )
    found = findings_of(spec, lambda cell: 0, parsed=5)
    assert "fewer than 95 % of a model's answers got a label (" in told(found)
    assert "answers got no label from a judge; each scores 0" in page(found)


def test_orders_of_an_unfinished_run_are_those_that_are_seen_so_far() -> None:
    nothing = told(findings_of(spec_of(TWO), lambda cell: None))
    assert "reachable" not in nothing
    some = told(findings_of(spec_of(TWO), lambda cell: None if cell.levels["shots"] == "5" else 3))
    assert "On facts, 0 of the 2 strict orders of the 2 models are seen so far" in some
    assert "reachable" in told(findings_of(spec_of(TWO), reversing))


def with_rate(findings: Findings, values: dict[tuple[str, str], RateValue]) -> Findings:
    rate = RateFinding("over_refusal", "refused", "hits / asked", values)
    return replace(findings, benchmarks=(replace(findings.benchmarks[0], rates=(rate,)),))


def test_a_rate_stands_under_the_anchor_and_ranges_over_where_it_is_defined() -> None:
    found = findings_of(spec_of(ONE, analysis={"anchor": {"shots": "5", "frame": "exam"}}), reversing)
    cells = [each.cell for each in found.benchmarks[0].cells]
    (model,) = found.benchmarks[0].models
    assert model.anchor.cell.configuration != cells[0].configuration
    values = {
        (cell.model, cell.configuration): RateValue(
            None if number == 0 else Fraction(number, 10), {"hits": number, "asked": 10}, None
        )
        for number, cell in enumerate(cells)
    }
    here = values["ant", model.anchor.cell.configuration].value
    assert here is not None
    found = with_rate(found, values)
    said = next(each for each in statement_texts(found) if each.startswith("Over refusal"))
    assert "first configuration" not in said
    assert f"under the anchor configuration ({model.anchor.cell.configuration})" in said
    assert f"ant {100 * float(here):.1f} %, 10.0 to 70.0 over 7 configurations" in said
    assert "first configuration" not in page(found)


def always(correct: int | None) -> Counts:
    return lambda cell: correct


def test_what_is_not_measured_is_not_said_to_be_absent() -> None:
    """A study of scaffolds and system prompts of which no cell is finished yet."""
    axes = {
        "scaffold": [
            {"id": "direct", "scaffold": {"kind": "direct"}},
            {"id": "split", "scaffold": {"kind": "map_reduce"}, "system": "Be brief."},
        ]
    }
    for correct, holds in ((None, "not_measured"), (5, None)):
        card = make_scorecard(findings_of(spec_of(TWO, axes=axes), always(correct)))
        rows = {row.id: row for row in card.checklist}
        for name in ("format_paired", "structure", "system_prompt"):
            assert (rows[name].holds == "not_measured") is (holds == "not_measured"), name
            assert ("No cell is measured" in rows[name].said) is (holds == "not_measured"), name


def contrast(findings: Findings) -> ContrastRow:
    effect = findings.hypotheses[0].effect
    assert effect is not None
    return effect.contrasts[0]


def test_few_pairs_and_none_that_change_have_the_interval_that_they_allow() -> None:
    """Per protocol, with two pairs that can be read; and of units that never change."""
    spec = spec_of(
        ONE, axes=FRAME, hypothesis=[{"id": "H", **FRAMES}],
        analysis={"estimator": "cluster_logit", "outcome": "pp"},
    )  # fmt: skip
    change = contrast(findings_of(spec, lambda cell: 1 + (cell.levels["frame"] == "exam"), parsed=2)).change
    assert change.difference == pytest.approx(0.5)
    assert change.interval is not None and change.interval[0] < -0.7 and change.interval[1] > 0.95
    still = contrast(findings_of(spec, lambda cell: 5)).change
    assert still.interval == pytest.approx((0.025 ** (1 / still.units) - 1, 1 - 0.025 ** (1 / still.units)))


def test_sampled_answers_are_as_many_as_each_level_asks_for() -> None:
    axes = {
        "decoding": [
            {"id": "greedy", "temperature": 0},
            {"id": "moderate", "temperature": 0.3, "replicates": 3},
            {"id": "diverse", "temperature": 0.7, "replicates": 5},
        ]
    }
    spec = spec_of(ONE, axes=axes)
    assert held(findings_of(spec, lambda cell: 5))["seeds of sampled answers"].startswith(
        "3 or 5 answers each"
    )
    served = spec.model[0].model_copy(update={"engine": "api", "source": "openai/x"})
    found = findings_of(spec.model_copy(update={"model": (served,)}), lambda cell: 5)
    assert "alone" not in held(found)["seeds of sampled answers"]


def test_a_benchmark_without_a_pass_mark_is_measured_all_the_same() -> None:
    mark = {"at": 0.5, "declared": "post_hoc", "source": "nobody"}
    other = findings_of(
        spec_of(ONE, analysis={"thresholds": [mark | {"where": {"benchmark": "x"}}]}), reversing
    )
    assert "No configuration is measured yet" not in page(other)
    assert "No pass mark was stated" in page(other)
    nothing = findings_of(spec_of(ONE, analysis={"thresholds": [mark]}), lambda cell: None)
    assert "No configuration is measured yet" in page(nothing)
    deck = as_markdown(make_cards(nothing, "0" * 64))
    assert "No pass mark was stated" not in deck and "No configuration is measured yet" in deck


def test_one_of_a_thing_is_one() -> None:
    single = spec_of(TWO, axes={"frame": AXES["frame"][:1]})
    apart = told(findings_of(single, lambda cell: 10 + (cell.model == "bee")))
    assert "in all 1" not in apart and "0 of 1 configurations" not in apart
    assert "bee scores higher than ant in the one configuration" in apart
    assert "in all 1" not in told(findings_of(single, lambda cell: 10))
    asks = "Do two models differ"
    assert asks not in page(findings_of(spec_of(ONE), reversing)).split("Main findings")[0]
    assert asks in page(findings_of(spec_of(TWO), reversing)).split("Main findings")[0]


def test_a_card_speaks_of_what_moves_where_something_can() -> None:
    """No score moves; the first benchmark has one configuration, the second two."""
    spec = spec_of(ONE, axes=FRAME)
    source = spec.benchmark[0]
    exclude = {"when": {"benchmark": "facts", "frame": "exam"}, "why": "it cannot be asked so"}
    two = spec_of(
        ONE, axes=FRAME, exclude=[exclude],
        benchmark=[each.model_dump(mode="json", exclude_none=True) for each in
                   (source, source.model_copy(update={"id": "other"}))],
    )  # fmt: skip
    deck = make_cards(findings_of(two, lambda cell: 5), "0" * 64)
    assert "No score moves" in " ".join(card_sentences(deck)) and "under all 2" in " ".join(
        card_sentences(deck)
    )
    nothing = make_cards(findings_of(spec_of(TWO), lambda cell: None), "0" * 64)
    assert "change places" not in " ".join(card_sentences(nothing))
    single = make_cards(
        findings_of(spec_of(TWO, axes={"frame": AXES["frame"][:1]}), lambda cell: 5), "0" * 64
    )
    assert "change places" not in " ".join(card_sentences(single))


def test_a_hypothesis_about_some_items_is_claimed_of_those() -> None:
    hypothesis = {"id": "H", **FRAMES, "items": {"family": "none"}}
    claim = next(
        row
        for row in make_scorecard(
            findings_of(
                spec_of(TWO, hypothesis=[hypothesis], analysis={"estimator": "cluster_logit"}), reversing
            )
        ).claims
        if row.id == "H"
    )
    assert claim.cases == 0 < ITEMS


def exam_less(cell: Cell) -> int:
    return 14 - 6 * (cell.levels["frame"] == "exam")


def test_a_test_names_what_its_statistic_is_compared_with() -> None:
    spec = spec_of(TWO, hypothesis=[{"id": "H", **FRAMES}], analysis={"estimator": "cluster_logit"})
    assert "by Student’s t of the units" in page(findings_of(spec, exam_less))


def test_configurations_that_a_model_was_not_asked_under_are_counted() -> None:
    found = findings_of(spec_of(TWO), lambda cell: None if cell.levels["shots"] == "5" else 3)
    said = hypothesis_sentence(found.hypotheses[0], False)
    assert "0 of 8 configurations agree, 0 contradict it, 4 tie, 4 without a score of every model" in said


@pytest.mark.parametrize(
    ("gained", "words"),
    [((1, -1), "as lenient as people on average"), ((1, 0), "50.0 pp more lenient than people"),
     ((0, -1), "50.0 pp less lenient than people")],
)  # fmt: skip
def test_who_is_as_lenient_as_people_is_not_more_lenient(gained: tuple[int, int], words: str) -> None:
    agreement = kappa(["a", "b"], ["b", "a"])
    (_, said) = audit_sentences(AuditFinding("sheet", "facts", agreement, leniency(gained), "0" * 64))
    assert f"the study is {words} (" in said


def test_two_configurations_without_the_reference_are_two_configurations() -> None:
    found = findings_of(spec_of(ONE), lambda cell: 5 if cell.levels["shots"] == "5" else None)
    card = make_scorecard(found)
    said = [row.said for row in card.methodology] + [row.met for row in card.threats]
    assert sum(cell.complete for cell in found.benchmarks[0].cells) == 4
    assert not any("No two configurations are measured" in each for each in said)
    assert sum("No configuration is measured beside its reference" in each for each in said) == 2


def test_a_p_value_is_never_0() -> None:
    guesses = [
        Guess(("c", str(number), 0), ("facts", str(number)), "facts", arm, arm, "judge")
        for number, arm in enumerate(["a", "b"] * 40)
    ]
    finding = guess_finding("facts", ["a", "b"], guesses)
    assert finding.test.chi2 is not None and finding.test.p < 1e-9
    said = guess_sentence(finding)
    assert "p < 0.0001" in said and "p = 0.000" not in said
    found = having(findings_of(spec_of(TWO), reversing), GUESSES, (finding,))
    assert "p = 0.000" not in page(found) and "freedom, p &lt; 0.0001" in page(found)


def test_a_curve_of_no_difference_lies_on_no_side() -> None:
    """One model gains on other items what the other loses: every odds ratio is 1, but for the last bits."""
    fork = {
        "id": "order", "category": "model", "levels": ["with", "without"], "default": "with",
        "binds": "analysis.primary", "choice": {"without": {"without_terms": ["model"]}},
    }  # fmt: skip
    curve = {"id": "curve", "forks": ["order"], "declared": "ex_ante", "hypotheses": ["H"]}
    spec = spec_of(
        TWO, axes=FRAME, hypothesis=[{"id": "H", **FRAMES}], fork=[fork], curve=[curve],
        analysis={"estimator": "cluster_logit"},
    )  # fmt: skip
    right = {"ant": {"plain": 6, "exam": 8}, "bee": {"plain": 14, "exam": 12}}
    (made,) = findings_of(spec, lambda cell: right[cell.model][cell.levels["frame"]])[CURVES]
    assert len(made.fitted) == 2
    assert all(abs(each.fitted.estimate) < 1e-12 for each in made.fitted if each.fitted)
    said = result(made).text
    assert "median odds ratio is 1 (" in said and "100 % lie at 1 as it does" in said


@pytest.mark.parametrize(
    ("direction", "kind", "name"),
    [("higher_is_better", "accuracy", "share of gold answers"),
     ("lower_is_better", "score", "share of gold answers, lower is better"),
     (0.5, "score", "share of gold answers, nearest to 0.5 is better")],
)  # fmt: skip
def test_what_is_better_lower_is_no_accuracy_on_the_hub(direction: str | float, kind: str, name: str) -> None:
    spec = spec_of(TWO, direction=direction, hypothesis=[], analysis={})
    (row,) = model_index(make_cards(findings_of(spec, reversing), "0" * 64), "ant")[0]["results"]
    (metric,) = row["metrics"]
    assert metric["type"] == kind and metric["name"].startswith(f"{name} under ")


def test_what_was_tested_is_not_said_to_be_untested_for_its_correction() -> None:
    """Nothing moves: at the margin p is .668 (20 units), and over a family of three it is 1."""
    stated = {**FRAMES, "family": "F", "margin": {"pp": 2}}
    hypotheses = [{"id": f"E{number}", **stated, "kind": "equivalence"} for number in range(2)]
    spec = spec_of(
        TWO, axes=FRAME, hypothesis=[*hypotheses, {"id": "D", **stated}],
        family=[{"id": "F", "correction": "holm"}], analysis={"estimator": "cluster_logit"},
    )  # fmt: skip
    found = findings_of(spec, lambda cell: 10)
    for each in found.hypotheses:
        assert each.effect is not None and (each.support, each.refute) == (1, 1)
        assert min(each.effect.support, each.effect.refute) == pytest.approx(0.98**ITEMS)
        assert "nothing is tested" not in hypothesis_sentence(each, True)
    assert "not tested" not in " ".join(verdict_lines(found.hypotheses, found.complete))


def test_an_equivalence_without_answers_is_not_open_for_what_the_estimator_lacks() -> None:
    spec = spec_of(
        TWO, axes=FRAME, hypothesis=[{"id": "E", **FRAMES, "kind": "equivalence", "margin": {"pp": 2}}],
        analysis={"estimator": "cluster_logit", "outcome": "pp"},
    )  # fmt: skip
    found = findings_of(spec, always(0), parsed=lambda cell: 0 if cell.levels["frame"] == "exam" else 4)
    said = hypothesis_sentence(found.hypotheses[0], True)
    assert "constant" not in said
    assert (
        "because nothing is tested (rows: no complete cell asks an item under every level that is compared, "
        "all else the same, with a readable answer under each)" in said
    )


def test_where_all_tie_there_is_no_order_to_certify() -> None:
    said = told(findings_of(spec_of(TWO), always(10)))
    assert "no reversal is established" not in said
    assert (
        "for new ones no order is established (p = 1), and by an approximation none is likely (p = 1)" in said
    )


def test_a_sample_without_an_outcome_may_have_been_asked() -> None:
    said = page(findings_of(spec_of(TWO), always(None)))
    assert f"0/{ITEMS} asked" not in said and f"0/{ITEMS} with an outcome" in said
