"""What is said of effects, and where it would be false."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from gridc.compiler.grid.cells import Cell
from gridc.numbers import p_in_text
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.estimates import estimate_document
from gridc.reports.findings.hypotheses import companions, hypothesis_sentence, reach, verdict_lines
from gridc.reports.findings.hypotheses.contrasts import _needed
from gridc.reports.findings.hypotheses.finding import CORRECTED
from gridc.reports.page import page_html
from gridc.reports.scorecard.document import hypothesis_table
from gridc.schema.hypotheses import RateChangeRow
from gridc.schema.inference import Margin
from gridc.statistics import margins
from tests.reports import builders
from tests.reports.builders import AXES, ITEMS, findings_of, reversing, spec_of
from tests.worlds.games import ANALYSIS, contrast, verdicts
from tests.worlds.studies import bench

FRAMES: dict[str, Any] = {"kind": "difference", "axis": "frame", "level": "exam", "reference": "plain"}


def decided(correct: Any, direction: str = "higher_is_better", models: int = 2, **stated: Any) -> Any:
    names = dict.fromkeys(["ant", "bee"][:models])
    analysis = {"estimator": "cluster_logit", "nnh": {"rounding": "ceil"}, **stated.pop("analysis", {})}
    hypotheses = stated.pop("hypothesis", [{"id": "H", **FRAMES, **stated}])
    return findings_of(
        spec_of(names, direction=direction, hypothesis=hypotheses, analysis=analysis,
                family=stated.pop("family", [])),
        correct,
    )  # fmt: skip


def falls(cell: Cell) -> int:
    """Six items fewer under `exam`, for every model and all else."""
    return 14 - 6 * (cell.levels["frame"] == "exam")


@pytest.mark.parametrize(
    ("direction", "kind"), [("higher_is_better", "harm"), ("lower_is_better", "benefit")]
)
@pytest.mark.parametrize("models", [1, 2])
def test_a_difference_is_found_with_its_sign_and_its_number_needed(
    direction: str, kind: str, models: int
) -> None:
    findings = decided(falls, direction, models)
    (row,) = certificate_of(findings).hypotheses
    assert row.effect is not None and row.verdict == "supported"
    (contrast,) = row.effect.contrasts
    assert contrast.change.difference == pytest.approx(-6 / ITEMS)
    assert contrast.number_needed is not None
    assert (contrast.number_needed.kind, contrast.number_needed.displayed) == (kind, 4)
    assert contrast.flips is not None and (contrast.flips.gained, contrast.flips.lost) == (0, 24 * models)
    assert contrast.flips.p is None, "the answers of an item under several configurations are not independent"
    told = next(each for each in certificate_of(findings).statements if each.startswith("H ("))
    assert f"number needed to {kind} 4" in told and "-30.0 pp" in told and "independent units" in told
    deck = make_cards(findings, "0" * 64)
    assert deck.hypotheses == (told,) and f"number needed to {kind} 4" in as_markdown(deck)
    assert "number needed to " + kind in page_html(findings, certificate_of(findings), deck)
    assert "1 supported (H)" in " ".join(verdict_lines(findings.hypotheses, findings.complete))


def test_odds_without_an_upper_end_are_null_in_the_file_and_infinite_on_the_page() -> None:
    findings = decided(falls)
    (found,) = findings.hypotheses
    (contrast,) = found.effect.contrasts
    odds = contrast.odds.model_copy(update={"interval": (0.125, inf)})
    effect = found.effect.model_copy(
        update={"contrasts": (contrast.model_copy(update={"odds": odds}),), "support": 0.25}
    )
    certificate = certificate_of(replace(findings, hypotheses=(replace(found, effect=effect),)))
    (written,) = certificate.model_dump(mode="json")["hypotheses"]
    assert written["effect"]["contrasts"][0]["odds"]["interval"] == [0.125, None]
    assert "support" not in written["effect"], "p of the hypothesis alone is not written"
    assert "[0.125, ∞]" in page_html(findings, certificate, make_cards(findings, "0" * 64))
    (line,) = hypothesis_table(certificate.hypotheses).rows
    assert line[6] == f"{odds.ratio:.3g}", "no interval is printed without an end"


def test_what_is_found_and_smaller_than_the_margin_is_both() -> None:
    findings = decided(falls, margin={"pp": 90})
    (row,) = certificate_of(findings).hypotheses
    assert row.verdict == "supported" and row.effect is not None
    assert row.effect.contrasts[0].change.margins[0].holds
    assert any("found and smaller than the margin" in each for each in certificate_of(findings).statements)


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [
        ({"side": "less"}, "supported"),
        ({"side": "greater"}, "refuted"),
        ({"kind": "null_control"}, "refuted"),
        ({"kind": "equivalence", "margin": {"pp": 60}}, "supported"),
        ({"kind": "equivalence", "margin": {"pp": 5}}, "open"),
        ({"kind": "noninferiority", "side": "greater", "margin": {"pp": 1}}, "refuted"),
        ({"kind": "noninferiority", "side": "less", "margin": {"pp": 5}}, "supported"),
        ({"analysis": {"estimator": "none"}}, "open"),
        ({"outcome": "bias_ambiguous"}, "open"),
    ],
)
def test_each_kind_is_decided_by_its_rule(stated: dict[str, Any], verdict: str) -> None:
    (row,) = certificate_of(decided(falls, **stated)).hypotheses
    assert row.verdict == verdict


def test_nothing_is_decided_while_the_run_is_incomplete() -> None:
    findings = decided(lambda cell: None if cell.model == "bee" else falls(cell))
    (row,) = certificate_of(findings).hypotheses
    assert (row.verdict, row.support, row.refute) == ("open", None, None)
    assert row.effect is not None and row.effect.samples > 0, "the interim rates are shown"
    assert any("open while the run is incomplete" in each for each in certificate_of(findings).statements)


def test_where_nothing_is_asked_under_both_levels_nothing_is_counted_and_the_reason_is_said() -> None:
    (finding,) = decided(lambda cell: None).hypotheses
    effect = finding.effect
    assert effect is not None and effect.failure is not None and effect.failure.code == "rows"
    assert (effect.samples, effect.units, effect.left_out, effect.contrasts) == (0, 0, 0, ())
    assert (effect.support, effect.refute, effect.tested) == (1, 1, False)


def test_what_never_changes_is_no_test_and_no_number() -> None:
    findings = decided(lambda cell: 10)
    (row,) = certificate_of(findings).hypotheses
    assert row.verdict == "open" and row.effect is not None and row.effect.failure is not None
    assert row.effect.failure.code in ("clusters", "separated", "constant")
    assert row.effect.contrasts[0].odds is None
    ends = row.effect.contrasts[0].change.interval
    assert ends == pytest.approx((0.025 ** (1 / ITEMS) - 1, 1 - 0.025 ** (1 / ITEMS))), "what units allow"
    (none,) = certificate_of(decided(lambda cell: 0)).hypotheses
    assert none.effect is not None and none.effect.failure is not None
    assert none.effect.failure.code == "constant" and none.effect.contrasts[0].risk_ratio is None


def test_a_family_corrects_over_all_its_members() -> None:
    """A member that cannot be tested counts as one whose p is 1."""
    hypotheses = [
        {"id": "H", **FRAMES, "family": "F"},
        {"id": "K", **FRAMES, "family": "F", "outcome": "bias_ambiguous"},
        {"id": "L", **FRAMES},
    ]
    family = [{"id": "F", "correction": "holm", "alpha": 0.01}]
    first, second, alone = certificate_of(decided(falls, hypothesis=hypotheses, family=family)).hypotheses
    assert (first.members, second.members, alone.members) == (2, 2, 1)
    assert (first.alpha, alone.alpha) == (0.01, 0.05)
    assert first.support == pytest.approx(2 * float(alone.support or 0)) and second.support == 1


@pytest.mark.parametrize(("correction", "method"), [("holm", "holm"), ("bh", "fdr_bh"), ("none", None)])
def test_a_ranking_with_a_family_is_corrected_among_its_members(correction: str, method: str | None) -> None:
    """Over the claims of all members, both ways; the rankings without a family share a Holm of their own."""
    orders: list[dict[str, Any]] = [
        {"id": "R", "kind": "ranking", "order": ["ant", "bee"]},
        {"id": "Q", "kind": "ranking", "order": ["bee", "ant"], "where": {"frame": "plain"}},
        {"id": "P", "kind": "ranking", "order": ["ant", "bee"], "where": {"frame": "exam"}},
    ]
    stated = [orders[0], {"id": "H", **FRAMES, "margin": {"pp": 5}}, *orders[1:]]

    def scores(cell: Cell) -> int:
        return falls(cell) + 5 * (cell.model == "ant")

    found = decided(scores, hypothesis=stated)
    raw = {}
    for finding in found.hypotheses:  # alone an order pays for both directions, and the others for themselves
        answer = finding.effect or finding.ranking
        raw[finding.id] = {side: getattr(answer, side) for side in ("support", "refute")}
    members = ["R", "H", "Q"]
    family = [{"id": "F", "correction": correction, "alpha": 0.2}]
    named = [{**each, "family": "F"} if each["id"] in members else each for each in stated]
    found = decided(scores, hypothesis=named, family=family)
    rows = {row.id: row for row in certificate_of(found).hypotheses}
    claims = [(raw[name][side], name, side) for name in members for side in ("support", "refute")]
    if method == "fdr_bh":
        adjusted = multipletests([p for p, *_ in claims], method=method)[1]
        expected = {(name, side): p for (_, name, side), p in zip(claims, adjusted, strict=True)}
    else:
        expected = _step_down(claims) if method else {}
        for name in members if method is None else []:
            expected |= _step_down([claim for claim in claims if claim[1] == name])
    for (name, side), p in expected.items():
        assert getattr(rows[name], side) == pytest.approx(p, rel=1e-5), (name, side)
    shared = {"holm": {5}, "bh": {6}, "none": {1, 2}}[correction]
    assert {rows[name].members for name in members} == shared and rows["R"].alpha == 0.2
    assert (rows["P"].family, rows["P"].correction, rows["P"].members) == (None, "holm", 2)
    own = multipletests([raw["P"]["support"], raw["P"]["refute"]], method="holm")[1]
    assert [rows["P"].support, rows["P"].refute] == pytest.approx(list(own), rel=1e-5)
    assert rows["R"].family == "F"
    words = (
        "Holm over the 2 claims of family F"
        if method is None
        else f"{CORRECTED[rows['R'].correction]} over the {shared.pop()} claims of family F"
    )
    told = hypothesis_sentence(next(each for each in found.hypotheses if each.id == "R"), complete=True)
    assert f"{words} at level 0.2" in told


def _step_down(claims: list[tuple[float, str, str]]) -> dict[tuple[str, str], float]:
    """From the smallest p on, times how many of the claims that are left can be false at once: of an order
    two, of H, which has a margin, one."""
    adjusted, running, left = {}, 0.0, sorted(claims)
    while left:
        p, name, side = left[0]
        count = len({(n, s if n != "H" else "") for _, n, s in left})
        running = max(running, min(1.0, count * p))
        adjusted[name, side] = running
        left.pop(0)
    return adjusted


@pytest.mark.parametrize(
    ("direction", "kind"), [("higher_is_better", "harm"), ("lower_is_better", "benefit")]
)
def test_what_a_level_takes_back_of_a_loss(direction: str, kind: str) -> None:
    """Shares from the counts; Fieller's ends are where a t-test of gain less share times loss gives 5 %."""
    found = _mended(18, 6, 15, direction)
    (contrast,) = found.hypotheses[0].effect.contrasts
    recovery = contrast.recovery
    assert recovery.share == pytest.approx((15 - 6) / (18 - 6)) and recovery.control == "plain"
    assert recovery.left.difference == pytest.approx(-3 / 20) and recovery.loss.difference == pytest.approx(
        0.6
    )
    assert recovery.interval[0] < recovery.share < recovery.interval[1]
    assert (recovery.number_needed.kind, recovery.number_needed.displayed) == (kind, 7)
    right = np.arange(20)
    kept, lost, mended = (np.asarray(right < count, float) for count in (18, 6, 15))
    for end in recovery.fieller:
        assert ttest_1samp(mended - lost - end * (kept - lost), 0).pvalue == pytest.approx(0.05, abs=1e-6)
    random, drawn = np.random.default_rng(1), []
    for _ in range(4000):
        some = random.integers(0, 20, 20)
        drawn.append((mended - lost)[some].sum() / (kept - lost)[some].sum())
    assert recovery.interval == pytest.approx(np.quantile(drawn, [0.02, 0.98]), abs=0.06)
    told = hypothesis_sentence(found.hypotheses[0], complete=True)
    assert "recovery 75 %" in told and "left against plain -15.0 pp" in told
    assert "recovery of plain 75 %" in str(hypothesis_table(certificate_of(found).hypotheses).rows)


def test_no_recovery_is_told_of_a_loss_that_may_be_none() -> None:
    found = _mended(7, 6, 15)
    (contrast,) = found.hypotheses[0].effect.contrasts
    assert contrast.recovery.share is None and contrast.recovery.interval is None
    assert "recovery open, as plain against exam may not differ" in hypothesis_sentence(
        found.hypotheses[0], complete=True
    )
    without = decided(falls).hypotheses[0].effect.contrasts[0]
    assert without.recovery is None


def test_a_recovery_of_few_units_has_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "ITEMS", 19)
    found = _mended(17, 6, 14)
    recovery = found.hypotheses[0].effect.contrasts[0].recovery
    assert recovery.share == pytest.approx(8 / 11) and recovery.interval is recovery.fieller is None
    told = hypothesis_sentence(found.hypotheses[0], complete=True)
    assert (
        "73 % (no interval: 19.0 units of one size would tell as much, and that of a recovery needs 20)"
        in told
    )
    (row,) = [each for each in estimate_document(found).estimates if each.id.endswith("/recovery")]
    assert row.method.endswith("and that of a recovery needs 20") and row.interval is None


def test_a_recovery_that_no_resample_changes_says_that_it_has_no_interval_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of the loss is recovered, item by item, and there is a loss in every resample."""
    monkeypatch.setattr(builders, "ITEMS", 200)
    recovery = _mended(180, 60, 180).hypotheses[0].effect.contrasts[0].recovery
    assert (recovery.share, recovery.fieller, recovery.interval) == (1, (1, 1), None)
    assert recovery.no_interval == "the resamples give one share, or are too few"


def _mended(plain: int, exam: int, soft: int, direction: str = "higher_is_better") -> Any:
    counts = {"plain": plain, "exam": exam, "soft": soft}
    frames = [{"id": name, "prompt": f"{name} {{{{ question }}}}"} for name in counts]
    stated = {**FRAMES, "level": "soft", "reference": "exam", "control": "plain"}
    spec = spec_of(
        dict.fromkeys(["ant", "bee"]), axes={**AXES, "frame": frames}, direction=direction,
        hypothesis=[{"id": "H", **stated}],
        analysis={"estimator": "cluster_logit", "nnh": {"rounding": "ceil"}},
    )  # fmt: skip
    return findings_of(spec, lambda cell: counts[cell.levels["frame"]])


def test_a_verdict_without_the_estimators_test_says_so_and_why() -> None:
    """All right under one level: no logit exists, and the margin alone has a p-value."""
    found = decided(lambda cell: 20 - 8 * (cell.levels["frame"] == "exam"), margin={"pp": 40})
    (finding,) = found.hypotheses
    told = hypothesis_sentence(finding, complete=True)
    assert finding.verdict == "open" and finding.effect.failure.code == "separated"
    assert "has no test here, separated: " in told and "clustered" not in told
    lines = list(verdict_lines(found.hypotheses, found.complete))
    assert any(each.startswith("Without the estimator's test: H (separated: ") for each in lines)
    control = decided(lambda cell: 10, kind="null_control", margin={"pp": 30})
    assert control.hypotheses[0].verdict == "supported"
    assert "has no test here, clusters: " in hypothesis_sentence(control.hypotheses[0], complete=True)


def test_a_refuted_effect_is_printed_with_the_p_of_its_refutation() -> None:
    found = decided(falls, side="greater", margin={"pp": 5})
    (finding,) = found.hypotheses
    assert finding.verdict == "refuted" and finding.refute < 0.05 < finding.support
    (line,) = (each for each in verdict_lines(found.hypotheses, found.complete) if each.startswith("Effects"))
    assert f"refutation {p_in_text(finding.refute)}" in line and p_in_text(finding.support) not in line


def test_where_no_unit_changes_there_are_limits_beside_p() -> None:
    """Independent units are enough there: p is (1 - margin) ** units, and the limits are where it is .05."""
    found = decided(lambda cell: 10, kind="equivalence", margin={"pp": 30})
    (finding,) = found.hypotheses
    assert finding.support == pytest.approx(0.7**ITEMS, rel=1e-5)
    assert finding.effect.contrasts[0].change.limits[1] == pytest.approx(1 - 0.05 ** (1 / ITEMS))
    told = hypothesis_sentence(finding, complete=True)
    assert "0.0 pp [-16.8, +16.8]" in told and "Gaffke" in told


def test_a_unit_that_changes_by_more_than_was_said_decides_nothing() -> None:
    """Six items of twenty lose everything: no more than 90 points may be lost by any."""
    told_all = []
    for largest, verdict in ((100, "supported"), (90, "open")):
        margin = {"pp": 70, "largest_change": largest}
        (finding,) = decided(falls, kind="equivalence", margin=margin).hypotheses
        assert finding.verdict == verdict
        told_all.append(hypothesis_sentence(finding, complete=True))
        assert f"if no unit changes by more than {largest} pp" in told_all[-1]
    assert "nothing is tested (largest_change: the unit of item" in told_all[1]
    assert "changed by -100.0 pp under exam, and `largest_change` is 90" in told_all[1]
    (finding,) = decided(falls, kind="difference", margin={"pp": 70, "largest_change": 90}).hypotheses
    assert finding.verdict == "supported"
    assert "not tested at the margin: the unit of item" in hypothesis_sentence(finding, complete=True)


def test_a_largest_change_below_the_margin_is_refused() -> None:
    with pytest.raises(ValueError, match="no difference is as large as the margin of 20 pp"):
        Margin(pp=20, largest_change=15)


def test_on_these_units_items_are_what_is_independent() -> None:
    """12 units of 30 items, nothing changes: .9^12 of new units, and the exact test of 360 items on these."""
    for about, expected in (("new_units", 0.9**12), ("these_units", margins.paired_above(360, 0, 0, -0.1))):
        margin = {"pp": 10, "about": about}
        more = {"hypothesis": [contrast("equivalence", margin=margin)], "analysis": dict(ANALYSIS)}
        study = bench((30,) * 12, 1, 1, 2, repr(more))
        right = np.tile(np.arange(360) % 2, (1, 1, 2, 1))
        (finding,) = verdicts(study, right)
        assert finding.support == pytest.approx(expected, rel=1e-9)
        told = hypothesis_sentence(finding, complete=True)
        assert (", of items: on these units alone" in told) is (about == "these_units")
        where = reach(finding)
        assert ("it says nothing of other units" in where) is (about == "these_units")
        unsupportable = (
            "This study could not have supported it where nothing changes: if no answer had changed, p of "
            "support would be 0.282. "
        )
        assert told.startswith(unsupportable) is (about == "new_units")
        assert finding.verdict == ("supported" if about == "these_units" else "open")


def test_a_constant_difference_is_no_evidence_of_more_than_its_units() -> None:
    """Every unit loses the same: their lack of spread is not taken for knowledge of the rest."""
    stated: dict[str, Any] = {"kind": "noninferiority", "side": "greater", "models": 1}
    spec = {"higher": 20, "lower": 18}

    def constant(cell: Cell) -> int:
        return spec["lower" if cell.levels["frame"] == "exam" else "higher"]

    for margin, verdict in ((12, "open"), (40, "supported")):
        (finding,) = decided(constant, **stated, margin={"pp": margin}).hypotheses
        low, high = finding.effect.contrasts[0].change.limits
        assert finding.verdict == verdict
        assert (finding.support <= 0.05) is (low > -margin / 100) and low < -0.1 < high


def test_what_cancels_out_is_not_told_as_if_nothing_happened() -> None:
    """One model wins under a level what the other loses: equivalent on average, and every answer changed."""

    def swapped(cell: Cell) -> int:
        return 20 * ((cell.levels["frame"] == "plain") is (cell.model == "ant"))

    found = decided(swapped, kind="equivalence", margin={"pp": 30})
    assert found.hypotheses[0].verdict == "supported"
    told = hypothesis_sentence(found.hypotheses[0], complete=True)
    flips = found.hypotheses[0].effect.contrasts[0].flips
    assert flips.gained == flips.lost == flips.same + flips.gained > 0
    assert f"{flips.gained} of {2 * flips.gained} answers gained and {flips.lost} lost" in told


@pytest.mark.parametrize(("side", "verb"), [("greater", "fall"), ("less", "rise")])
def test_non_inferiority_names_what_does_not_happen(side: str, verb: str) -> None:
    """Its side says so, whichever end of the score is the good one."""
    found = decided(falls, "lower_is_better", kind="noninferiority", side=side, margin={"pp": 5})
    told = hypothesis_sentence(found.hypotheses[0], complete=True)
    assert f"that it does not {verb} by 5 pp between levels of frame)" in told


def test_a_tie_is_told_of_a_ranking() -> None:
    order: list[dict[str, Any]] = [{"id": "R", "kind": "ranking", "order": ["ant", "bee"]}]
    found = decided(lambda cell: 10 + (cell.model == "ant") * (cell.levels["shots"] == "0"), hypothesis=order)
    told = hypothesis_sentence(found.hypotheses[0], complete=True)
    assert "4 of 8 configurations agree, 0 contradict it, 4 tie" in told


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (2, "1 of 1 configuration agrees, 0 contradict it."),
        (1, "0 of 1 configuration agrees, 0 contradict it, 1 ties."),
        (0, "0 of 1 configuration agrees, 1 contradicts it."),
    ],
)
def test_one_configuration_agrees_contradicts_or_ties(ahead: int, words: str) -> None:
    order: list[dict[str, Any]] = [{"id": "R", "kind": "ranking", "order": ["ant", "bee"]}]
    axes = {axis: levels[:1] for axis, levels in AXES.items()}
    spec = spec_of({"ant": None, "bee": None}, axes=axes, hypothesis=order)
    found = findings_of(spec, lambda cell: ahead if cell.model == "ant" else 1)
    assert hypothesis_sentence(found.hypotheses[0], complete=True).endswith(words)


@pytest.mark.parametrize(
    ("outcome", "direction", "good"),
    [
        ("score", "higher_is_better", 1),
        ("score", "lower_is_better", -1),
        ("score_disambiguated", "higher_is_better", 1),
        ("score_disambiguated", "lower_is_better", -1),
        ("parse_rate", "lower_is_better", 1),
        ("over_refusal", "higher_is_better", -1),
        ("refusal_rate", "higher_is_better", 0),
        ("score_disambiguated", 0.5, 0),
    ],
)
def test_what_is_a_gain_follows_the_benchmark_where_it_is_a_score(
    outcome: str, direction: str | float, good: int
) -> None:
    change = RateChangeRow(
        part=None,
        level="b",
        reference="a",
        samples=10,
        units=10,
        rate=0.7,
        reference_rate=0.5,
        difference=0.2,
        interval=(0.1, 0.3),
        margins=(),
    )
    spec = spec_of({"ant": None}, direction=direction, analysis={"nnh": {"rounding": "ceil"}})
    found = _needed(spec, outcome, ["facts"], change)
    assert (None if found is None else found.kind) == {1: "benefit", -1: "harm", 0: None}[good]


def test_a_verdict_that_depends_on_the_reading_says_so_wherever_it_stands() -> None:
    """Under `exam` 12 answers cannot be read; all that can be read are right."""
    hypothesis = {"id": "H", **FRAMES, "side": "less"}
    findings = findings_of(
        spec_of(
            {"ant": None, "bee": None},
            axes={name: AXES[name] for name in ("frame", "shots")},
            hypothesis=[hypothesis, {"id": "R", "kind": "ranking", "order": ["ant", "bee"]}],
            analysis={"estimator": "cluster_logit"},
        ),
        lambda cell: 8 if cell.levels["frame"] == "exam" else 14,
        parsed=lambda cell: 8 if cell.levels["frame"] == "exam" else ITEMS,
    )
    certificate = certificate_of(findings)
    row, ranking = certificate.hypotheses
    assert row.verdict == "supported" and row.otherwise in ("open", "refuted") and ranking.otherwise is None
    effect: Any = row.effect
    (contrast,) = effect.contrasts
    pairs = contrast.other.pairs  # 20 items of 2 models under 2 numbers of shots; 8 items can be read
    assert contrast.change.pairs is None, "where every answer counts, every pair is compared"
    assert (pairs.compared, pairs.asked, pairs.readable, pairs.reference_readable) == (32, 80, 0.4, 1)
    said = f"supported where they count, {row.otherwise} where they are left out"
    deck = make_cards(findings, "0" * 64)
    assert said in " ".join(certificate.statements)
    assert said in " ".join(verdict_lines(findings.hypotheses, findings.complete))
    assert said in as_markdown(deck)
    assert f"{row.otherwise} where unreadable answers are left out" in page_html(findings, certificate, deck)
    shown = hypothesis_table(certificate.hypotheses).rows[0]
    assert shown[2] == f"supported, but {row.otherwise} where unreadable answers are left out"


def test_a_verdict_that_does_not_depend_on_the_reading_says_nothing_of_it() -> None:
    (row,) = certificate_of(decided(falls)).hypotheses
    assert row.otherwise is None
    assert "decides" not in " ".join(certificate_of(decided(falls)).statements)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("null_control", "refuted"), ("difference", "supported"), ("equivalence", "supported")],
)
def test_what_is_found_goes_before_what_is_smaller_than_the_margin(kind: str, verdict: str) -> None:
    """Both p-values are small: a difference is found, and it is smaller than the margin. That refutes that
    there is none, and supports that there is one."""
    (finding,) = decided(falls, kind=kind, margin={"pp": 60}).hypotheses
    both = replace(finding, support=0.01, refute=0.02)
    assert both.verdict == verdict and replace(both, refute=0.01).verdict == verdict


def test_a_slope_over_doses_is_adjusted_for_all_else_that_varies() -> None:
    """The odds are those of statsmodels' logit on the stated dose, the model and the shots."""
    doses = {"plain": 0, "calm": 1, "exam": 4}
    frames = [{"id": name, "prompt": f"{name} {{{{ question }}}}", "dose": at} for name, at in doses.items()]

    def right(cell: Cell) -> int:
        return (
            15 - int(doses[cell.levels["frame"]]) - 9 * (cell.model == "bee") + (cell.levels["shots"] == "5")
        )

    stated = {"id": "T", "kind": "trend", "axis": "frame", "order": [*doses], "direction": "decreasing"}
    findings = findings_of(
        spec_of(
            {"ant": None, "bee": None},
            axes={"frame": frames, "shots": AXES["shots"]},
            hypothesis=[stated],
            analysis={"estimator": "cluster_logit"},
        ),
        right,
    )
    effect: Any = findings.hypotheses[0].effect
    cells = [score.cell for score in findings.benchmarks[0].cells]
    counts = np.array([[right(cell), ITEMS - right(cell)] for cell in cells])
    design = np.array(
        [[1, doses[c.levels["frame"]], c.model == "bee", c.levels["shots"] == "5"] for c in cells]
    )
    fit = sm.GLM(counts, design.astype(float), family=sm.families.Binomial()).fit()
    assert effect.contrasts[0].odds.log_odds == pytest.approx(fit.params[1], abs=1e-6)


@pytest.mark.parametrize(("alpha", "verdict"), [(0.2, "supported"), (0.01, "open")])
def test_the_level_is_the_stated_one(alpha: float, verdict: str) -> None:
    """p lies between both levels, and so does the margin that holds and the limit."""
    (finding,) = decided(falls, kind="equivalence", margin={"pp": 50}, analysis={"alpha": alpha}).hypotheses
    change = finding.effect.contrasts[0].change
    assert 0.01 < finding.support < 0.2 and finding.verdict == verdict
    assert change.margins[0].holds is (verdict == "supported") is (change.limits[0] > -0.5)


def test_one_level_covers_both_verdicts_of_a_prediction_with_a_side() -> None:
    """Without a difference a rise and a fall are both false, so that each has half of the level; with a
    margin, or without a side, only one of the claims can be false."""
    one_sided = decided(falls, side="less").hypotheses[0]
    two_sided = decided(falls).hypotheses[0]
    with_margin = decided(falls, side="less", margin={"pp": 5}).hypotheses[0]
    assert (one_sided.members, two_sided.members, with_margin.members) == (2, 1, 1)
    assert one_sided.support == pytest.approx(two_sided.support)
    assert with_margin.support == pytest.approx(two_sided.support / 2)
    assert "Holm over 2 claims" in hypothesis_sentence(one_sided, complete=True)


def test_a_random_intercept_is_of_whole_points() -> None:
    """Where an answer can earn half of one there is no such logit, and the reason is named."""
    harness = {"prompt": "{{ question }}", "method": "extract", "scores": {"right": 1, "unknown": 0.5}}
    spec = spec_of(
        {"ant": None, "bee": None}, axes={"frame": AXES["frame"]}, harness=harness,
        hypothesis=[{"id": "H", **FRAMES}], analysis={"estimator": "glmm"},
    )  # fmt: skip
    (finding,) = findings_of(spec, reversing).hypotheses
    assert finding.effect is not None and finding.effect.failure is not None
    assert finding.effect.failure.code == "graded"


def test_a_verdict_that_is_asked_for_takes_its_whole_family_and_no_other() -> None:
    """Its p-values are corrected with theirs."""
    stated = [
        {"id": name, **FRAMES, "family": family} for name, family in (("A", "f"), ("B", "f"), ("C", "g"))
    ]
    families = [{"id": name, "correction": "bh"} for name in ("f", "g")]
    spec = spec_of(
        {"ant": None}, hypothesis=[*stated, {"id": "D", **FRAMES}], family=families,
        analysis={"estimator": "cluster_logit"},
    )  # fmt: skip
    assert companions(spec, ["A"]) == {"A", "B"}
    assert companions(spec, ["C"]) == {"C"}
    assert companions(spec, ["D"]) == {"D"}
    assert companions(spec, None) == {"A", "B", "C", "D"}


MODELS: dict[str, Any] = {"kind": "difference", "axis": "model", "level": "bee", "reference": "ant"}


def worse(cell: Cell) -> int:
    """Six items fewer for the one model, whatever the configuration."""
    return 14 - 6 * (cell.model == "bee")


def test_models_are_compared_as_levels_of_an_axis_are() -> None:
    """The same counts, with the places of models and frames changed: every number is the same."""
    (by_axis,) = certificate_of(decided(falls, margin={"pp": 5})).hypotheses
    (by_model,) = certificate_of(decided(worse, **MODELS, margin={"pp": 5})).hypotheses
    assert by_axis.effect is not None and by_model.effect is not None
    assert by_model.verdict == by_axis.verdict == "supported"
    assert (by_model.support, by_model.refute) == (by_axis.support, by_axis.refute)
    (between_levels,), (between_models,) = by_axis.effect.contrasts, by_model.effect.contrasts
    for field in ("samples", "units", "difference", "interval", "margins", "limits"):
        assert getattr(between_models.change, field) == getattr(between_levels.change, field), field
    assert between_models.odds == between_levels.odds
    assert between_models.flips == between_levels.flips


@pytest.mark.parametrize(
    ("kind", "stated", "verdict"),
    [
        ("noninferiority", {"side": "greater", "margin": {"pp": 5}}, "refuted"),
        ("noninferiority", {"side": "less", "margin": {"pp": 5}}, "supported"),
        ("equivalence", {"margin": {"pp": 60}}, "supported"),
        ("null_control", {}, "refuted"),
    ],
)
def test_each_kind_decides_between_models(kind: str, stated: dict[str, Any], verdict: str) -> None:
    findings = decided(worse, **{**MODELS, "kind": kind}, **stated)
    (row,) = certificate_of(findings).hypotheses
    assert row.verdict == verdict
    assert not any("levels of model" in statement for statement in certificate_of(findings).statements)


def test_only_configurations_that_both_models_have_are_compared() -> None:
    """What one model alone was asked says nothing of the other."""

    def missing(cell: Cell) -> int | None:
        return None if cell.model == "bee" and cell.levels["shots"] == "5" else worse(cell)

    (row,) = certificate_of(decided(missing, **MODELS)).hypotheses
    assert row.effect is not None
    assert row.effect.left_out == 4 * ITEMS, "the four cells of `ant` with five exemplars"
    (contrast,) = row.effect.contrasts
    assert contrast.change.samples == 4 * ITEMS
