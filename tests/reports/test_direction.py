"""Where a lower score is the better one: orders, passes, verdicts and words, against counts of their own."""

from fractions import Fraction
from itertools import combinations, pairwise, permutations
from typing import Any

import pytest
from scipy.stats import kendalltau

from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.analysis import MAXIMA
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.paired import paired_row
from gridc.reports.page import benchmark_sections, page_html
from gridc.reports.scorecard.document import make_scorecard
from gridc.reports.scorecard.document import scorecard_html as scorecard_html
from gridc.reports.statements import statement_texts
from gridc.statistics.envelope import Direction
from gridc.statistics.paired_runs import pair_levels
from tests.reports.builders import AXES, ITEMS, findings_of, reversing, spec_of

MODELS = {"one": None, "two": None, "three": None}
MARKS = [
    {"at": at, "declared": "ex_ante", "source": "a test"} for at in (0.0, 0.25, 0.3, 0.5, 0.55, 0.8, 1.0)
]


def found(lower: bool, count: Any = reversing) -> Findings:
    direction = "lower_is_better" if lower else "higher_is_better"
    order = ["three", "one", "two"]
    return findings_of(
        spec_of(
            MODELS,
            direction=direction,
            analysis={"thresholds": MARKS},
            hypothesis=[{"id": "H1", "kind": "ranking", "order": order}],
        ),
        count,
    )


def table(findings: Findings) -> dict[str, dict[str, Fraction]]:
    """Every score by configuration and model, from the counts in the certificate alone."""
    (row,) = certificate_of(findings).benchmarks
    return {
        each.configuration: {name: Fraction(cell.correct, cell.trials) for name, cell in each.scores.items()}
        for each in row.envelope
    }


@pytest.mark.parametrize("lower", [False, True])
def test_an_unreadable_answer_is_said_to_help_where_lower_is_better(lower: bool) -> None:
    direction = "lower_is_better" if lower else "higher_is_better"
    findings = findings_of(spec_of(MODELS, direction=direction), lambda cell: 2, parsed=3)
    (told,) = (each for each in statement_texts(findings) if "could be read" in each)
    assert ("scores 0, which is the better end there." if lower else "scores 0.") in told
    page = page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))
    assert ("as wrong" in " ".join(page.split())) == (not lower), "where it scores 0 it is not wrong"


@pytest.mark.parametrize("somewhere", [False, True])
def test_nothing_says_that_an_unreadable_answer_scores_0_where_it_scores_the_worst(somewhere: bool) -> None:
    """The counts are those of cells whose unreadable answers earned 1; with `somewhere`, in half of them."""
    worst = {"unreadable": "worst"}
    axes = {**AXES, "shots": [{"id": "0", "shots": 0, **worst}, {"id": "5", "shots": 5}]}
    spec = spec_of(
        MODELS,
        direction="lower_is_better",
        axes=axes if somewhere else AXES,
        harness={"prompt": "{{ question }}", "method": "extract", **({} if somewhere else worst)},
    )
    findings = findings_of(spec, lambda cell: 5 * ITEMS // 8, parsed=3)
    deck = make_cards(findings, "0" * 64)
    page = " ".join(page_html(findings, certificate_of(findings), deck).split())
    told = " ".join(statement_texts(findings))
    assert "better end there" not in told
    expected = (
        "scores 0, or 1 where the spec gives it the worst score" if somewhere else "scores 1, the worst"
    )
    assert expected in told
    assert page.count(f"nreadable answer {expected}") >= 4, "sentence, pairs, parse rates, methods"
    scores_0 = "answer scores 0" if not somewhere else "answer scores 0 "
    assert scores_0 not in page
    assert "an unreadable answer scores 0, except as said here. On facts" in as_markdown(deck)


@pytest.mark.parametrize("lower", [False, True])
def test_passes_follow_the_direction(lower: bool) -> None:
    findings = found(lower)
    scores = table(findings)
    deck = make_cards(findings, "0" * 64)
    for card in deck.cards:
        assert card.lower_is_better is lower
        for stated in card.verdict_stability:
            mark = Fraction(str(stated.threshold))
            own = [row[card.model] for row in scores.values()]
            assert stated.passing == sum(score <= mark if lower else score >= mark for score in own)
            pairs = list(combinations([score <= mark if lower else score >= mark for score in own], 2))
            assert stated.flip_rate == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    at_least = {
        f"CFR at {mark['at']}": max(
            Fraction(2 * k * (n - k), n * (n - 1))
            for model in MODELS
            for n in [len(scores)]
            for k in [
                sum(
                    row[model] <= Fraction(str(mark["at"]))
                    if lower
                    else row[model] >= Fraction(str(mark["at"]))
                    for row in scores.values()
                )
            ]
        )
        for mark in MARKS
    }
    told = {each.name: each.interval.point for each in findings[MAXIMA] if each.name.startswith("CFR")}
    assert told == pytest.approx({name: float(value) for name, value in at_least.items()})


@pytest.mark.parametrize("lower", [False, True])
def test_orders_have_the_best_model_first(lower: bool) -> None:
    findings = found(lower)
    scores = table(findings)
    (row,) = certificate_of(findings).benchmarks
    assert row.direction == ("lower_is_better" if lower else "higher_is_better")
    sign = -1 if lower else 1
    for seen in row.scopes[0].orderings.seen:
        values = scores[seen.configuration]
        flat = [[sign * values[model] for model in group] for group in seen.order]
        assert all(len(set(group)) == 1 for group in flat)
        assert all(before[0] > after[0] for before, after in pairwise(flat))
    strict = {
        order for order in permutations(MODELS) for values in scores.values()
        if all(sign * values[a] > sign * values[b] for a, b in pairwise(order))
    }  # fmt: skip
    assert {tuple(g for (g,) in seen.order) for seen in row.scopes[0].orderings.seen
            if len(seen.order) == len(MODELS)} == strict  # fmt: skip
    shown = benchmark_sections(findings, certificate_of(findings), make_cards(findings, "0" * 64))[0].orders
    assert {tuple(model for (model,) in order) for order, _ in shown if len(order) == len(MODELS)} == strict


def test_a_certified_order_that_is_reachable_has_the_lowest_first() -> None:
    def apart(cell: Any) -> int:
        return {"one": 20, "two": 10, "three": 0}[cell.model]

    for lower, best in ((False, ("one", "two", "three")), (True, ("three", "two", "one"))):
        claims = certificate_of(found(lower, apart)).benchmarks[0].ordering_claims
        assert min(claims, key=lambda claim: claim.p).order == best


@pytest.mark.parametrize("lower", [False, True])
def test_a_ranking_is_judged_by_the_direction(lower: bool) -> None:
    findings = found(lower)
    sign = -1 if lower else 1
    agree = contradict = 0
    for row in table(findings).values():
        steps = [sign * (row[a] - row[b]) for a, b in (("three", "one"), ("one", "two"))]
        contradict += any(step < 0 for step in steps)
        agree += all(step > 0 for step in steps)
    (told,) = certificate_of(findings).hypotheses
    assert told.ranking is not None
    assert (told.ranking.agree, told.ranking.contradict) == (agree, contradict)


def test_counts_are_of_scores_and_the_words_say_which_is_better() -> None:
    high, low = found(False), found(True)
    for one, other in zip(high.benchmarks[0].full.pairs, low.benchmarks[0].full.pairs, strict=True):
        assert one.counts == other.counts
    told = [each for each in statement_texts(low) if "scores higher" in each]
    assert told and all("a lower score is the better one" in each for each in told)
    assert not any("lower score is the better" in each for each in statement_texts(high))
    deck, certificate = make_cards(low, "0" * 64), certificate_of(low)
    assert "A lower score is the better one" in as_markdown(deck)
    page = page_html(low, certificate, deck)
    assert page.count("lower score is the better one") >= 2
    for claim in ("is better in every", "is better everywhere", "each is better", "is better under"):
        assert claim not in page, "who scores higher is the worse one here"


def test_a_paired_report_orders_by_the_direction_of_its_benchmark() -> None:
    scored = [
        ({"model": model, "benchmark": name, "p": level}, Fraction(score))
        for name in ("up", "down")
        for model, scores in {"x": ("1/2", "1/4"), "y": ("1/4", "1/2")}.items()
        for level, score in zip(("a", "b"), scores, strict=True)
    ]
    reordered = paired_row(
        pair_levels(scored, "p", "a", "b"), "a", "b", directions={"down": Direction(lower=True)}
    ).reordered
    told = {each.configuration.partition("/")[0]: each.left for each in reordered}
    assert told == {"up": (("x",), ("y",)), "down": (("y",), ("x",))}


AIM = Fraction(11, 20)


def aimed(strength: str | None = None, count: Any = reversing, aim: Fraction = AIM) -> Findings:
    """Findings of a benchmark on which the score nearest to `aim` is best."""
    return findings_of(
        spec_of(
            MODELS,
            direction=float(aim),
            analysis={"evidence": strength, "nnh": {"rounding": "ceil"}},
            hypothesis=[{"id": "H1", "kind": "ranking", "order": ["three", "one", "two"]}],
        ),
        count,
    )


def distances(findings: Findings, aim: Fraction = AIM) -> dict[str, dict[str, Fraction]]:
    return {
        where: {model: max(score, aim) - min(score, aim) for model, score in row.items()}
        for where, row in table(findings).items()
    }


def test_under_a_target_the_nearest_model_stands_first() -> None:
    findings = aimed()
    far = distances(findings)
    (row,) = certificate_of(findings).benchmarks
    assert (row.direction, row.target, row.ordering_claims) == ("nearest_is_best", 0.55, ())
    strict = {
        order for order in permutations(MODELS) for values in far.values()
        if all(values[a] < values[b] for a, b in pairwise(order))
    }  # fmt: skip
    by_score = {
        order for order in permutations(MODELS) for values in table(findings).values()
        if all(values[a] > values[b] for a, b in pairwise(order))
    }  # fmt: skip
    assert strict not in (by_score, {order[::-1] for order in by_score}), "distances are no scores here"
    seen = row.scopes[0].orderings.seen
    assert {tuple(g for (g,) in each.order) for each in seen if len(each.order) == len(MODELS)} == strict
    for each in seen:
        values = far[each.configuration]
        flat = [{values[model] for model in group} for group in each.order]
        assert all(len(group) == 1 for group in flat)
        assert all(max(before) < min(after) for before, after in pairwise(flat))
    shown = benchmark_sections(findings, certificate_of(findings), make_cards(findings, "0" * 64))[0].orders
    assert {tuple(model for (model,) in order) for order, _ in shown if len(order) == len(MODELS)} == strict
    taus = [
        kendalltau([one[model] for model in MODELS], [other[model] for model in MODELS]).statistic
        for one, other in combinations([{m: float(v) for m, v in row.items()} for row in far.values()], 2)
        if len(set(one.values())) > 1 and len(set(other.values())) > 1
    ]
    assert row.scopes[0].tau_r == pytest.approx(sum(taus) / len(taus))


def test_counts_of_pairs_stay_counts_of_scores_and_say_so_under_a_target() -> None:
    pairs, plain = aimed().benchmarks[0].full.pairs, found(False).benchmarks[0].full.pairs
    assert [each.counts for each in pairs] == [each.counts for each in plain]
    told = [each for each in statement_texts(aimed()) if "scores higher" in each]
    assert told and all("the score nearest to 0.55 is best" in each for each in told)


@pytest.mark.parametrize("strength", ["descriptive", None])
def test_a_ranking_under_a_target_is_decided_by_distance_or_left_open(strength: str | None) -> None:
    def apart(cell: Any) -> int:
        return {"three": 11, "one": 14, "two": 20}[cell.model]  # distances 0, 3/20, 9/20

    def behind(cell: Any) -> int:
        return {"three": 20, "one": 14, "two": 11}[cell.model]  # best by scores, and farthest

    for count, verdict, observed in ((apart, "supported", (8, 0)), (behind, "refuted", (0, 8))):
        (told,) = certificate_of(findings := aimed(strength, count)).hypotheses
        assert told.ranking is not None
        assert (told.ranking.agree, told.ranking.contradict) == observed
        assert told.verdict == (verdict if strength else "open")
        (sentence,) = (each for each in statement_texts(findings) if each.startswith("H1"))
        assert ("No test here is of distances from a target" in sentence) is (strength is None)


def test_nothing_is_said_to_be_better_or_worse_by_a_side_under_a_target() -> None:
    findings = aimed()
    deck, certificate, card = (
        make_cards(findings, "0" * 64),
        certificate_of(findings),
        make_scorecard(findings),
    )
    page, scored = page_html(findings, certificate, deck), scorecard_html(card)
    assert "nearest to 0.55 is better" in as_markdown(deck)
    assert page.count("nearest to 0.55") >= 3 and "nearest to 0.55" in scored
    for text in (page, as_markdown(deck), scored, *statement_texts(findings)):
        assert "lower score is the better one" not in text and "lower is better" not in text
    assert all(row.change is None for model in card.models for row in model.matrix)
    assert all(model.sensitivity is not None and model.sensitivity.rate is None for model in card.models)
    assert not card.integrity and card.targets == {"facts": 0.55}


def test_a_paired_report_orders_by_distance_from_a_target() -> None:
    scored = [
        ({"model": model, "benchmark": "aim", "p": level}, Fraction(score))
        for model, scores in {"x": ("9/10", "6/10"), "y": ("1/2", "1/10")}.items()
        for level, score in zip(("a", "b"), scores, strict=True)
    ]
    moved, aims = pair_levels(scored, "p", "a", "b"), {"aim": Direction.of(0.5)}
    (one,) = paired_row(moved, "a", "b", directions=aims).reordered
    assert (one.left, one.right, one.flips) == ((("y",), ("x",)), (("x",), ("y",)), (("x", "y"),))
    assert not paired_row(moved, "a", "b").reordered


@pytest.mark.parametrize(
    ("aim", "told"), [(Fraction(0), "the better end there."), (AIM, "nearer to 0.55, the best one there.")]
)
def test_an_unreadable_answer_is_said_to_help_where_it_can(aim: Fraction, told: str) -> None:
    spec = spec_of(MODELS, direction=float(aim), analysis={})
    (said,) = (
        each
        for each in statement_texts(findings_of(spec, lambda cell: 2, parsed=3))
        if "could be read" in each
    )
    assert said.endswith(told)
