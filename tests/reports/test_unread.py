"""What unread answers leave open of a pair, and what it takes from a claim."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports.card import card_sentences, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.certification import exact_claims
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.scores import Outcomes, counts_against
from gridc.reports.statements import statement_texts
from gridc.reports.statements.answer import study_answer
from gridc.schema.rows import UnreadRow
from tests.reports import builders
from tests.reports.builders import ITEMS, findings_of, spec_of

MODELS = {"ant": None, "bee": None}
ONE = {"frame": [{"id": "plain", "prompt": "{{ question }}"}]}


def found(
    right: dict[str, int], read: dict[str, int], direction: Any = "higher_is_better", **more: Any
) -> Findings:
    """One configuration, in which each model has so many right and so many that can be read, of 20."""
    spec = spec_of(MODELS, axes=ONE, direction=direction, hypothesis=[], **more)

    def of(counts: dict[str, int]) -> Any:
        return lambda cell: counts[cell.model]

    return findings_of(spec, of(right), parsed=of(read))


def unread_of(findings: Findings) -> UnreadRow:
    return findings.benchmarks[0].full.pairs[0].unread


def test_two_models_that_answer_alike_are_not_certified_apart_because_one_is_not_read() -> None:
    """Bee answers as ant does, in a form that nobody reads on 8 of 20 items."""
    findings = found({"ant": 16, "bee": 8}, {"ant": 20, "bee": 12})
    (pair,) = findings.benchmarks[0].full.pairs
    assert pair.evidence.certified.claim is None
    row = pair.unread
    assert (row.unread_a, row.answers_a, row.unread_b, row.answers_b) == (0, 20, 8, 20)
    assert (row.low, row.high, row.agrees) == (0.0, 0.4, False)
    assert row.beyond == ("frame=plain",)
    said = (
        "On facts, 40 % of bee's answers are unreadable or cut off, and at most 20 % may be. By what those "
        "would earn, the mean score of ant less that of bee lies between 0.0 and +40.0 points: who scores "
        "higher is open."
    )
    assert said in statement_texts(findings, "limits")
    assert said in card_sentences(make_cards(findings, "0" * 64))
    check = next(each for each in study_answer(findings).cautions if each.name == "Unreadable answers")
    assert check.bad and "could decide who is ahead for the two models" in check.text
    (told,) = [each.row for each in study_answer(findings).verdicts]
    assert told.answer == "not_told_apart" and (told.unread_low, told.unread_high) == (0.0, 0.4)


def test_what_is_read_keeps_its_claim() -> None:
    """The same scores, where the other answers of bee are wrong."""
    findings = found({"ant": 16, "bee": 8}, {"ant": 20, "bee": 20})
    (pair,) = findings.benchmarks[0].full.pairs
    assert pair.evidence.certified.first == "ant"
    assert pair.unread.agrees and pair.unread.claim is True and not pair.unread.beyond
    assert "unreadable" not in study_answer(findings).result


@pytest.mark.parametrize("share", [4, 5])
def test_the_limit_is_that_of_compare(share: int) -> None:
    """Of 20 answers 4 may be unread. Up to there a claim stands, and its doubt is named."""
    findings = found({"ant": 16, "bee": 8}, {"ant": 20, "bee": 20 - share})
    (pair,) = findings.benchmarks[0].full.pairs
    assert (pair.evidence.certified.claim is None) == (share > 4)
    assert bool(pair.unread.beyond) == (share > 4)
    assert pair.unread.agrees, "ant has 16, and bee at most 13"


def test_what_is_claimed_up_to_the_limit_says_that_unread_answers_could_turn_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 100 answers 18 are unread, and 15 points lie between the two."""
    monkeypatch.setattr(builders, "ITEMS", 100)
    study = {"id": "small", "title": "Do they differ?", "purpose": "comparative", "yes_when": "models_differ"}
    findings = found({"ant": 60, "bee": 45}, {"ant": 100, "bee": 82}, study=study)
    (pair,) = findings.benchmarks[0].full.pairs
    assert pair.evidence.certified.first == "ant" and not pair.unread.beyond
    assert pair.unread.claim is False and (pair.unread.low, pair.unread.high) == (-0.03, 0.15)
    assert (
        "On facts, 18.0 % of bee's answers are unreadable or cut off. By what those would earn, the mean "
        "score of ant less that of bee lies between -3.0 and +15.0 points: who scores higher is open."
    ) in statement_texts(findings, "limits")
    (told,) = study_answer(findings).verdicts
    assert told.row.answer == "differ" and told.row.p_holm < 0.001 and (told.row.p_unread_holm or 0) > 0.5
    assert told.word == "differ, but unreadable answers could undo it"
    assert not [each for each in study_answer(findings).printable if each.yes and "ant scored" in each.text]
    headline = study_answer(findings).headline
    assert headline == "Not shown: unreadable answers alone could undo the only difference found."
    sure = study_answer(found({"ant": 60, "bee": 12}, {"ant": 100, "bee": 82}, study=study)).headline
    assert sure == "Yes: ant and bee differ under the reference configuration."


def test_unread_answers_of_who_is_ahead_take_nothing_from_it() -> None:
    """They earned nothing as it is."""
    findings = found({"ant": 14, "bee": 2}, {"ant": 14, "bee": 20})
    (pair,) = findings.benchmarks[0].full.pairs
    assert pair.unread.beyond and pair.evidence.certified.first == "ant"
    assert pair.unread.claim is True and pair.unread.agrees


@pytest.mark.parametrize("worst", [False, True])
def test_where_lower_is_better_the_ends_are_those_of_the_score(worst: bool) -> None:
    """An unread answer earns 0 there or, as the spec says, 1; the ends do not depend on it."""
    more: dict[str, Any] = {"unreadable": "worst"} if worst else {}
    harness = {"prompt": "{{ question }}", "method": "extract", **more}
    findings = found({"ant": 10, "bee": 10}, {"ant": 20, "bee": 10}, "lower_is_better", harness=harness)
    row = unread_of(findings)
    (cell,) = [score for score in findings.benchmarks[0].cells if score.cell.model == "bee"]
    # The builder gives no credit: of 10 points all are of read answers, or, with credit, of unread ones.
    ends = (Fraction(0), Fraction(1, 2)) if worst else (Fraction(1, 2), Fraction(1))
    assert cell.ends == ends
    assert (row.low, row.high) == (float(Fraction(1, 2) - ends[1]), float(Fraction(1, 2) - ends[0]))
    estimand = certificate_of(findings).benchmarks[0].estimand
    assert estimand.endswith("counts as wrong" if worst else "earns 0, the better end")


def test_a_likelihood_has_nothing_to_read() -> None:
    harness = {"prompt": "{{ question }}", "method": "loglikelihood"}
    findings = found({"ant": 16, "bee": 8}, {"ant": 20, "bee": 10}, harness=harness)
    row = unread_of(findings)
    assert (row.answers_a, row.unread_b, row.low, row.high) == (0, 0, 0.4, 0.4)
    assert certificate_of(findings).benchmarks[0].estimand.endswith("none is read from text")


@pytest.mark.parametrize("right, read", list(product([(9, 7), (12, 12), (3, 10)], [(20, 14), (15, 15)])))
def test_the_ends_hold_for_every_value_of_what_is_unread(
    right: tuple[int, int], read: tuple[int, int]
) -> None:
    counts, parsed = (dict(zip(MODELS, each, strict=True)) for each in (right, read))
    findings = found(counts, parsed)
    row = unread_of(findings)
    lost = [ITEMS - max(parsed[model], counts[model]) for model in MODELS]
    gaps = {
        Fraction(counts["ant"] + a - counts["bee"] - b, ITEMS)
        for a, b in product(range(lost[0] + 1), range(lost[1] + 1))
    }
    assert (row.low, row.high) == pytest.approx((float(min(gaps)), float(max(gaps))))
    signs = {(gap > 0) - (gap < 0) for gap in gaps}
    assert row.agrees == (len(signs) == 1)
    assert (row.plus, row.minus, row.ties) == tuple(int(signs == {sign}) for sign in (1, -1, 0))


def test_a_reversal_that_the_readable_configurations_show_stays_likely() -> None:
    """One configuration of three in which nobody reads half of what bee says takes no order's place."""
    axes = {"frame": [{"id": name, "prompt": name + " {{ question }}"} for name in ("one", "two", "three")]}

    def right(cell: Cell) -> int:
        ahead = (cell.model == "ant") == (cell.configuration != "frame=two")
        return 19 if ahead else 1

    def read(cell: Cell) -> int:
        return 10 if (cell.model, cell.configuration) == ("bee", "frame=three") else ITEMS

    spec = spec_of(MODELS, axes=axes, hypothesis=[])
    (pair,) = findings_of(spec, right, parsed=read).benchmarks[0].full.pairs
    assert pair.evidence.certified.claim == "reversal" and pair.unread.beyond == ("frame=three",)
    assert pair.evidence.supported.claim == "reversal"
    assert pair.unread.claim is True


@pytest.mark.parametrize(("share", "least", "most"), [(0.15, 0.6, 1.0), (0.28, 0.0, 0.05)])
def test_models_that_answer_alike(share: float, least: float, most: float) -> None:
    """Of 295 items, the answers of one are unread at random: below the limit they are certified apart all
    the same, which docs/certificates.md says."""
    drawn, times, items = np.random.default_rng(1), 60, 295
    claimed = 0
    for _ in range(times):
        ant = (drawn.random(items) < 0.6).astype(np.int64)
        bee = np.where(drawn.random(items) < 0.6, ant, drawn.random(items) < 0.6)
        unread = drawn.random(items) < share
        correct = np.stack([ant, np.where(unread, 0, bee)])[:, None]
        against = np.stack([np.zeros(items, np.int64), unread])[:, None]
        outcomes = Outcomes(
            models=("ant", "bee"),
            configurations=("only",),
            levels=({},),
            sampled=np.zeros(1, np.bool_),
            items=tuple(f"{number:03}" for number in range(items)),
            units=np.arange(items),
            replicates=np.ones(1, np.int64),
            correct=correct,
            first=correct,
            measured=np.ones((2, 1), np.bool_),
            asked=np.ones((1, items), np.bool_),
            credited=against if counts_against(int(unread.sum()), items) else None,
            credit=np.zeros((2, 1), np.int64),
        )
        claimed += exact_claims({"facts": outcomes}, 0.05)["facts", "ant", "bee"].claim is not None
    assert least <= claimed / times <= most
