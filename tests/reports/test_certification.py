"""A study's claims: what is certified, what is supported, and what a choice of scope can not buy."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from gridc.reports.certificate import certificate_of
from gridc.reports.findings import certification
from gridc.reports.findings.certification import CHOSEN, FULL, ClaimEvidence, Region, claim_evidence
from gridc.reports.findings.hypotheses import hypothesis_sentence
from gridc.reports.findings.scores import Outcomes
from gridc.schema.rows import EvidenceRow
from gridc.statistics import betting, exact_tests
from tests.reports.builders import findings_of, spec_of

ALPHA = 0.05


def study(
    outcomes: NDArray[np.int64], units: NDArray[np.int64] | None = None, replicates: int = 1
) -> Outcomes:
    """Models a, b, ... under configurations whose levels are `half` (first, second) and `number`. Replicate 0
    is right where all are."""
    models, configurations, items = outcomes.shape
    return Outcomes(
        tuple("abcdef"[:models]), tuple(f"c{n}" for n in range(configurations)),
        tuple({"half": "second" if 2 * n >= configurations else "first", "number": str(n)}
              for n in range(configurations)),
        np.full(configurations, replicates > 1), tuple(f"q{n}" for n in range(items)),
        np.arange(items) if units is None else units, np.full(configurations, replicates),
        outcomes, outcomes // replicates,
        np.ones((models, configurations), dtype=np.bool_),
        np.ones((configurations, items), dtype=np.bool_),
    )  # fmt: skip


def weighed(found: Outcomes, final: bool = True) -> ClaimEvidence:
    return claim_evidence([Region("b", found.configurations, FULL)], {"b": found}, ALPHA, 0, final, 999)


def only(found: Outcomes, final: bool = True) -> EvidenceRow:
    (row,) = weighed(found, final).pairs.values()
    return row


def clear(configurations: int = 4, items: int = 60) -> Outcomes:
    """a is right on everything in the first half of the configurations, b in the second."""
    outcomes = np.zeros((2, configurations, items), dtype=np.int64)
    outcomes[0, : configurations // 2] = 1
    outcomes[1, configurations // 2 :] = 1
    return study(outcomes)


def test_a_clear_reversal_is_certified_and_names_what_carries_it() -> None:
    row = only(clear())
    exact, flips = row.certified, row.supported
    assert (row.tier, exact.claim, flips.claim) == ("certified", "reversal", "reversal")
    assert (exact.test, flips.test) == ("mcnemar", "joint_flips")
    assert exact.reversal.p == pytest.approx(4 / 2**60)
    assert (exact.reversal.members, exact.order.members, exact.named_among) == (1, 2, 8)
    assert exact.plus is not None
    assert exact.minus is not None
    assert (exact.plus.name, exact.minus.name) == ("c0", "c2")
    assert (exact.named_plus, exact.named_minus) == (("c0", "c1"), ("c2", "c3"))
    assert (row.rho_low, row.rho_high) == (0.5, 0.5)
    assert (flips.levels_plus, flips.levels_minus) == (("half=first",), ("half=second",))
    assert (exact.levels_plus, exact.levels_minus) == ((), ())


def test_one_order_everywhere_is_certified_as_an_order() -> None:
    outcomes = np.zeros((2, 4, 60), dtype=np.int64)
    outcomes[1] = 1
    row = only(study(outcomes))
    assert (row.certified.claim, row.certified.first, row.supported.first) == ("order", "b", "b")
    assert row.certified.reversal.p == 1.0
    assert row.certified.order.adjusted == pytest.approx(2 / 2**60)


def test_an_interim_look_claims_and_names_nothing() -> None:
    found = weighed(clear(), final=False)
    (row,) = found.pairs.values()
    assert (row.tier, row.certified.claim, row.supported.claim) == ("descriptive", None, None)
    assert row.certified.reversal.adjusted < 1e-10
    assert row.certified.named_plus == row.supported.named_plus == row.supported.levels_plus == ()
    assert (row.rho_low, row.rho_high) == (0.0, 0.5)
    assert not any(claim.certified for claim in found.orderings["b"])


def test_what_is_not_measured_claims_nothing() -> None:
    outcomes = clear()
    outcomes.measured[0, 2:] = False
    row = only(outcomes)
    for strength in (row.certified, row.supported):
        assert (strength.claim, strength.minus) == (None, None)
        assert (strength.reversal.p, strength.order.p) == (1.0, 1.0)


def test_units_of_several_items_are_bet_on() -> None:
    """Two families of four that agree: 1 / e of two wins of the mixture, over two configurations."""
    row = only(study(clear(2, 8).correct, np.repeat(np.arange(2), 4)))
    stakes = 1 - (np.arange(1, 40, 2) / 40) ** 2
    e = np.array([((1 + stakes) ** 2).mean(), ((1 - stakes) ** 2).mean()])
    assert (row.certified.test, row.units, row.supported.test) == ("betting", 2, "joint_flips")
    assert row.certified.reversal.p == pytest.approx(1 / e.mean())
    assert row.certified.order.p == 1.0


def test_pairs_that_are_flipped_together_have_the_same_evidence_as_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = study(np.random.default_rng(5).integers(0, 2, size=(4, 3, 50)))
    together = weighed(found).pairs
    monkeypatch.setattr(certification, "HELD", 1)
    assert weighed(found).pairs == together


def test_of_too_many_pairs_nothing_is_flipped_and_the_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = only(clear())
    monkeypatch.setattr(certification, "MOST_FLIPPED", 0)
    row = only(clear())
    assert row.certified == before.certified
    assert (row.supported.test, row.supported.tested, row.supported.claim) == ("not_tested", False, None)
    assert row.supported.named_plus == row.supported.named_minus == ()
    assert row.identical == before.identical


def test_replicates_are_bet_on_and_flipped_but_mcnemar_reads_the_first() -> None:
    outcomes = np.zeros((2, 2, 40), dtype=np.int64)
    outcomes[0] = 2  # of three replicates: the first is not among them
    single = only(study(outcomes, replicates=3))
    assert single.certified.order.p == 1.0
    assert single.supported.order.p < ALPHA
    pairs = only(study(outcomes, np.repeat(np.arange(20), 2), replicates=3))
    assert pairs.certified.order.p < ALPHA
    assert single.same_model.sampled == 2


def test_the_smallest_gap_is_that_of_the_test_that_is_used() -> None:
    """Families of four whose members agree, at the first step of Holm over three configurations."""
    random = np.random.default_rng(4)
    outcomes = np.repeat(random.integers(0, 2, size=(2, 3, 200)), 4, axis=2)
    row = only(study(outcomes, np.repeat(np.arange(200), 4)))
    shares = (outcomes[0] != outcomes[1]).mean(axis=1)
    assert row.discordance == pytest.approx(sorted(shares)[1])
    median = (outcomes[0] - outcomes[1])[np.argsort(shares)[1], ::4]
    assert row.smallest_gap == betting.betting_gap(median, 1, ALPHA / 3, betting.stakes(4))
    single = only(study(outcomes[:, :, ::4]))
    assert single.smallest_gap == exact_tests.mcnemar_gap(200, sorted(shares)[1], ALPHA / 3)


def test_a_scope_chosen_after_the_data_holds_what_the_envelope_names() -> None:
    outcomes = clear()
    regions = [
        Region("b", outcomes.configurations, FULL),
        Region("b", ("c0", "c2"), "other scopes"),
        Region("b", ("c1", "c3"), CHOSEN),
        Region("b", ("c0", "c1"), CHOSEN),
    ]
    pairs = claim_evidence(regions, {"b": outcomes}, ALPHA, 0, True, 999).pairs
    named, mixed = pairs["b", ("c0", "c2"), "a", "b"], pairs["b", ("c1", "c3"), "a", "b"]
    same = pairs["b", ("c0", "c1"), "a", "b"]
    assert (named.configurations, named.certified.reversal.members) == (2, 1)
    assert (mixed.family, mixed.certified.claim, mixed.certified.reversal.members) == (CHOSEN, "reversal", 8)
    # Holm over four configurations at alpha / 2 in each direction; two are as small as this, so 4 * 2 / 2^60.
    assert mixed.certified.reversal.adjusted == pytest.approx(8 / 2**60)
    assert (mixed.certified.named_plus, mixed.certified.named_minus) == (("c1",), ("c3",))
    assert (same.certified.claim, same.certified.first, same.supported.claim) == ("order", "a", "order")


def test_one_configuration_that_is_not_named_spoils_a_chosen_order() -> None:
    """Nine wins in nine are .002 alone, and not enough among 40 configurations."""
    outcomes = np.zeros((2, 40, 60), dtype=np.int64)
    outcomes[0, 0] = 1
    outcomes[0, 1, :9] = 1
    found = study(outcomes)
    regions = [Region("b", found.configurations, FULL), Region("b", ("c0", "c1"), CHOSEN)]
    row = claim_evidence(regions, {"b": found}, ALPHA, 0, True, 999).pairs["b", ("c0", "c1"), "a", "b"]
    assert row.certified.claim is None
    assert row.certified.order.p == pytest.approx(2 * 39 / 2**9, rel=1e-6)
    assert row.certified.named_plus == ("c0",)


def test_names_hold_over_the_study_and_rho_waits_for_the_reversal() -> None:
    """Ten of ten each way: named among 2 configurations, not among 50."""
    outcomes = np.zeros((2, 2, 60), dtype=np.int64)
    outcomes[0, 0, :10] = outcomes[1, 1, :10] = 1
    regions = [Region(name, ("c0", "c1"), FULL) for name in "bcdefghijklmnopqrstuvwxyz"]
    idle = study(np.zeros((2, 2, 60), dtype=np.int64))
    alone = only(study(outcomes))
    crowd = {region.benchmark: idle for region in regions} | {"b": study(outcomes)}
    among = claim_evidence(regions, crowd, ALPHA, 0, True, 999).pairs["b", ("c0", "c1"), "a", "b"]
    assert (alone.certified.named_plus, alone.rho_low) == (("c0",), 0.5)
    assert among.certified.named_among == 100
    assert (among.certified.named_plus, among.certified.claim) == ((), "reversal")
    assert (among.rho_low, among.rho_high) == (0.0, 0.5)


def test_single_configurations_show_their_counts() -> None:
    (rows,) = weighed(clear(items=10)).tests["b"]
    assert [(row.higher, row.lower) for row in rows.configurations] == [(10, 0), (10, 0), (0, 10), (0, 10)]
    assert rows.configurations[0].p_plus == pytest.approx(2**-10, abs=1e-9)
    assert rows.configurations[0].p_minus == 1.0
    assert rows.configurations[0].adjusted_plus == pytest.approx(2 * 4 / 2**10)


def test_the_observed_reversal_is_placed_among_exchanges() -> None:
    row = only(clear(items=61))
    assert row.identical.mean == 0.5
    assert Fraction(row.identical.upper) == Fraction(1, 2)
    assert (row.same_model.sampled, row.same_model.mean, row.same_model.upper) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("evidence", "direction", "order", "gap", "verdict", "observed"),
    [
        (None, "higher_is_better", ["ant", "bee"], 12, "supported", "supported"),
        (None, "higher_is_better", ["bee", "ant"], 12, "refuted", "refuted"),
        (None, "lower_is_better", ["bee", "ant"], 12, "supported", "supported"),
        (None, "higher_is_better", ["ant", "bee"], 2, "open", "supported"),
        (None, "higher_is_better", ["bee", "ant"], 2, "open", "refuted"),
        ("supported", "higher_is_better", ["ant", "bee"], 12, "supported", "supported"),
        ("supported", "lower_is_better", ["ant", "bee"], 12, "refuted", "refuted"),
        ("descriptive", "higher_is_better", ["bee", "ant"], 2, "refuted", "refuted"),
    ],
)
def test_a_ranking_is_decided_by_the_evidence_that_the_spec_asks_for(
    evidence: str | None, direction: str, order: list[str], gap: int, verdict: str, observed: str
) -> None:
    """Every configuration shows the same gap, of twenty items."""
    spec = spec_of(
        {"ant": None, "bee": None},
        direction=direction,
        analysis={} if evidence is None else {"evidence": evidence},
        hypothesis=[{"id": "H1", "kind": "ranking", "order": order}],
    )
    findings = findings_of(spec, lambda cell: 4 + gap * (cell.model == "ant"))
    (row,) = certificate_of(findings).hypotheses
    assert row.ranking is not None
    assert (row.verdict, row.ranking.observed) == (verdict, observed)
    assert ("by an approximation" in hypothesis_sentence(findings.hypotheses[0], True)) is (
        evidence == "supported"
    )
    assert (row.ranking.strength, row.members) == (evidence or "certified", 2)
    assert (row.support is None) == (evidence == "descriptive")


def test_an_unfinished_run_decides_no_ranking_beyond_its_items() -> None:
    spec = spec_of({"ant": None, "bee": None})
    found = findings_of(
        spec, lambda cell: None if cell.levels["shots"] == "5" else 18 * (cell.model == "ant")
    )
    (row,) = certificate_of(found).hypotheses
    assert row.ranking is not None
    assert (row.verdict, row.ranking.observed, row.support, row.refute) == ("open", "open", None, None)


@pytest.mark.parametrize(
    ("last", "here", "rest"),
    [(None, "on these items so far", "4 without a score of every model"), (0, "on these items", "4 tie")],
)
def test_a_descriptive_ranking_says_on_what_and_of_how_much(last: int | None, here: str, rest: str) -> None:
    ranking = [{"id": "R", "kind": "ranking", "order": ["ant", "bee"]}]
    spec = spec_of({"ant": None, "bee": None}, analysis={"evidence": "descriptive"}, hypothesis=ranking)
    (row,) = findings_of(
        spec, lambda cell: last if cell.levels["shots"] == "5" else 18 * (cell.model == "ant")
    ).hypotheses
    counts = "4 of 8 configurations agree, 0 contradict it"
    expected = f"R (ant > bee) is open {here}, by counts alone: {counts}, {rest}."
    assert hypothesis_sentence(row, complete=last is not None) == expected


@pytest.mark.parametrize(("analysis", "claims"), [({}, 0), ({"alpha": 0.2}, 1), ({"alpha": 0.01}, 0)])
def test_what_is_claimed_is_held_to_the_stated_level(analysis: dict[str, float], claims: int) -> None:
    """Both orders at once: 4 of 4 items differ everywhere, 2 x 1/16 of one order."""
    spec = spec_of({"ant": None, "bee": None}, analysis=analysis, hypothesis=[])
    (benchmark,) = findings_of(spec, lambda cell: 4 * (cell.model == "ant")).benchmarks
    row = benchmark.full.pairs[0].evidence
    assert row.alpha == analysis.get("alpha", 0.05)
    assert row.certified.order.adjusted == pytest.approx(2 / 16)
    assert (row.certified.claim is not None) == claims


@pytest.mark.parametrize(("families", "supported"), [(19, None), (20, "order")])
def test_nothing_is_supported_of_few_or_unequal_units(families: int, supported: str | None) -> None:
    """By their effective number: 19 units of two, and 30 of which one holds half of the items."""
    outcomes = np.zeros((2, 2, 2 * families), dtype=np.int64)
    outcomes[1] = 1
    equal = only(study(outcomes, np.repeat(np.arange(families), 2)))
    assert equal.supported.claim == supported
    assert equal.certified.claim == "order"
    one_giant = study(np.repeat(outcomes[:, :, :2], 30, axis=2), np.r_[np.arange(30), np.full(30, 29)])
    assert one_giant.effective_units == pytest.approx(60**2 / (29 + 31**2))
    assert only(one_giant).supported.claim is None
    assert only(one_giant).supported.plus is None
