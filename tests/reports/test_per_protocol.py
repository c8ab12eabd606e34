"""Counts with and without unreadable answers, side by side, and the sentence where they part."""

from fractions import Fraction
from typing import Any

import pytest

from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses import hypothesis_sentence
from gridc.reports.page import page_html
from gridc.reports.statements import statement_texts
from gridc.schema.spec import Spec
from tests.reports.builders import AXES, ITEMS, findings_of, reversing, spec_of

MODELS = {"one": None, "two": None}


def found(correct: Any, parsed: Any) -> Findings:
    return findings_of(spec_of(MODELS), correct, parsed=parsed)


def recounted(findings: Findings) -> tuple[int, int, int]:
    """N+, N-, N0 of the scores over readable answers, from the certificate's tallies."""
    (row,) = certificate_of(findings).benchmarks
    signs = []
    for each in row.envelope:
        share = {
            name: Fraction(cell.correct, cell.trials if each.method == "loglikelihood" else cell.parsed)
            for name, cell in each.scores.items()
        }
        signs.append((share["one"] > share["two"]) - (share["one"] < share["two"]))
    return signs.count(1), signs.count(-1), signs.count(0)


def some_readable(cell: Any) -> int:
    return max(6 + sum(map(ord, cell.key)) % (ITEMS - 6), reversing(cell))


def test_both_counts_stand_side_by_side_and_equal_a_recount() -> None:
    findings = found(reversing, some_readable)
    pair = certificate_of(findings).benchmarks[0].scopes[0].pairs[0]
    told = pair.per_protocol
    assert (told.plus, told.minus, told.ties) == recounted(findings)
    assert (told.plus, told.minus, told.ties) != (pair.plus, pair.minus, pair.ties)
    card = make_cards(findings, "0" * 64)
    first, second = (each.ranking_stability.pairs[0].per_protocol for each in card.cards)
    assert first == (told.plus, told.minus, told.ties) == (second[1], second[0], second[2])
    page = page_html(findings, certificate_of(findings), card)
    assert " / ".join(map(str, first)) in " ".join(page.split())
    assert " / ".join(map(str, first)) in as_markdown(card)


def apart(cell: Any) -> int:
    """One has fewer right in all; of what can be read, where text is read, it has more."""
    return 8 if cell.model == "one" else 10


def half(cell: Any) -> int:
    return 9 if cell.model == "one" else ITEMS


def test_a_leading_sentence_says_where_the_two_part() -> None:
    findings = found(apart, half)
    pair = certificate_of(findings).benchmarks[0].scopes[0].pairs[0]
    assert (pair.plus, pair.minus, pair.ties) == (0, 8, 0) and pair.d1
    assert (pair.per_protocol.plus, pair.per_protocol.minus) == (4, 4) and not pair.per_protocol.agrees
    told = [
        each
        for each in statement_texts(findings, "leading")
        if each.startswith("Whether unreadable answers count")
    ]
    assert len(told) == 1 and "0/8/0" in told[0] and "4/4/0" in told[0]
    assert statement_texts(findings, "leading").index(told[0]) < 3, "it stands above the fold"
    assert "another verdict" in as_markdown(make_cards(findings, "0" * 64))


@pytest.mark.parametrize("parsed", [None, ITEMS])
def test_nothing_is_said_where_everything_was_read(parsed: int | None) -> None:
    findings = found(reversing, parsed)
    pair = certificate_of(findings).benchmarks[0].scopes[0].pairs[0]
    assert pair.per_protocol.agrees
    assert (pair.per_protocol.plus, pair.per_protocol.minus) == (pair.plus, pair.minus)
    assert not [each for each in statement_texts(findings, "leading") if "unreadable answers count" in each]


def test_a_cell_without_a_readable_answer_is_not_measured_per_protocol() -> None:
    findings = found(lambda cell: 0, lambda cell: 0 if cell.model == "one" else ITEMS)
    pair = certificate_of(findings).benchmarks[0].scopes[0].pairs[0]
    assert pair.per_protocol.measured == pair.size // 2
    assert pair.per_protocol.d1 is None


def unread(cell: Any) -> int:
    """No answer of one can be read where text is read."""
    return 0 if cell.model == "one" and cell.levels.get("reading") != "rank" else ITEMS


def test_no_order_is_claimed_where_one_model_gave_no_readable_answer() -> None:
    """One is wrong throughout, as far as is known: without readable answers that is nothing of the model."""
    findings = found(lambda cell: 0 if cell.model == "one" else ITEMS, unread)
    (pair,) = (
        scope.pairs[0] for scope in certificate_of(findings).benchmarks[0].scopes if scope.kind == "full"
    )
    assert (pair.plus, pair.minus) == (0, 8), "a fact of the grid"
    for strength in (pair.evidence.certified, pair.evidence.supported):
        assert strength.claim is None and strength.order.p == 1
    read = found(lambda cell: 0 if cell.model == "one" else ITEMS, ITEMS)
    (known,) = (scope.pairs[0] for scope in certificate_of(read).benchmarks[0].scopes if scope.kind == "full")
    assert known.evidence.certified.claim == "order"
    told = " ".join(certificate_of(findings).statements)
    assert "In 4 configurations one or two gave no readable answer, which are in no test." in told
    assert "Where one gave no readable answer at all, the score says nothing of the model" in told
    assert "gave no readable answer" not in " ".join(certificate_of(read).statements)


def test_no_reversal_is_claimed_by_scores_that_nothing_was_read_for() -> None:
    """One leads by likelihoods; by text it has nothing readable, and two would lead."""

    def correct(cell: Any) -> int:
        ahead = "one" if cell.levels["reading"] == "rank" else "two"
        return ITEMS if cell.model == ahead else 0

    findings = found(correct, unread)
    (pair,) = (
        scope.pairs[0] for scope in certificate_of(findings).benchmarks[0].scopes if scope.kind == "full"
    )
    assert pair.plus and pair.minus
    assert pair.evidence.certified.claim is None and pair.evidence.supported.claim is None
    assert pair.evidence.certified.named_minus == ()


def of_two_models(outcome: str) -> Spec:
    """A difference of an outcome between the models."""
    stated = {"kind": "difference", "axis": "model", "level": "two", "reference": "one", "outcome": outcome}
    return spec_of(
        MODELS,
        axes={name: AXES[name] for name in ("frame", "shots")},
        hypothesis=[{"id": "D", **stated}],
        analysis={"estimator": "cluster_logit"},
    )


@pytest.mark.parametrize("outcome", ["score", "parse_rate"])
def test_hypotheses_do_not_compare_cells_without_a_readable_answer(outcome: str) -> None:
    """But for the one about whether answers can be read."""
    spec = of_two_models(outcome)
    findings = findings_of(
        spec,
        lambda cell: 0 if cell.model == "one" else 19,
        parsed=lambda cell: 0 if cell.model == "one" else 19,
    )
    (row,) = certificate_of(findings).hypotheses
    said = hypothesis_sentence(findings.hypotheses[0], True)
    if outcome == "score":
        assert row.verdict == "open" and "with a readable answer under each" in said
    else:
        assert row.effect is not None and row.effect.contrasts[0].change.difference == pytest.approx(0.95)


def test_what_can_be_read_is_compared_and_the_rest_is_named() -> None:
    spec = of_two_models("score")

    def silent(cell: Any) -> bool:
        return bool(cell.model == "one" and cell.levels["frame"] == "exam")

    findings = findings_of(
        spec,
        lambda cell: 0 if silent(cell) else 5 if cell.model == "one" else 10,
        parsed=lambda cell: 0 if silent(cell) else ITEMS,
    )
    (row,) = certificate_of(findings).hypotheses
    assert row.effect is not None
    assert row.effect.left_out == 2 * ITEMS, "those of two under `exam`"
    assert row.effect.contrasts[0].change.samples == 2 * ITEMS
    assert "or under one of them no answer can be read" in hypothesis_sentence(findings.hypotheses[0], True)
