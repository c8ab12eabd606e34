"""Intervals over units: recounted, coverage by simulation, labels that say what was done."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, t

from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.instrument.item import Item
from gridc.reports.card import as_markdown, make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.scores import Outcomes, unit_intervals
from gridc.reports.page import page_html
from gridc.reports.recorded.cells import score_limits
from gridc.schema.items import UnitLevel
from gridc.schema.spec import Spec
from gridc.statistics.unit_intervals import at_bound, change, gains_and_losses, share_limits
from tests.recount import unit_limits
from tests.reports.builders import findings_of, reversing, spec_of

MODELS = {"one": None, "two": None}


def outcomes_of(units: list[int], replicates: list[int], seed: int = 3) -> Outcomes:
    """Two models, two configurations; the second asks the first half of the items."""
    random, n = np.random.default_rng(seed), len(units)
    asked = np.ones((2, n), dtype=np.bool_)
    asked[1, n // 2 :] = False
    correct = np.stack([[random.binomial(k, 0.6, n) for k in replicates] for _ in MODELS]) * asked
    return Outcomes(
        models=tuple(MODELS),
        configurations=("c0", "c1"),
        levels=({}, {}),
        sampled=np.zeros(2, dtype=np.bool_),
        items=tuple(f"q{k:02d}" for k in range(n)),
        units=np.array(units),
        replicates=np.array(replicates),
        correct=correct,
        first=np.minimum(correct, 1),
        measured=np.ones((2, 2), dtype=np.bool_),
        asked=asked,
    )


@pytest.mark.parametrize(("stated", "level"), [(None, "template"), ("item", "item"), ("cluster", "family")])
def test_intervals_are_those_of_the_units_that_a_configuration_asks(
    stated: str | None, level: UnitLevel
) -> None:
    """Against the recount's own code."""
    n = 24
    items = tuple(
        Item(f"q{k:02d}", "?", ("x", "y"), 0, f"f{k // 2}", template=f"t{k // 4}") for k in range(n)
    )
    spec = spec_of(
        MODELS, analysis={"bootstrap": {"unit": stated, "resamples": 100, "seed": 1}} if stated else {}
    )
    outcomes = outcomes_of([k // 4 for k in range(n)], [1, 3])
    found = unit_intervals(spec, Items(items, (), LoadedItems(items, {}), unit="template"), outcomes)
    size = {"item": 1, "family": 2, "template": 4}[level]
    assert (found.unit, found.units, found.effective) == (level, n // size, n // size)

    (pair,) = found.gaps
    for place, name in enumerate(("c0", "c1")):
        asked = int(outcomes.asked[place].sum())
        means = outcomes.correct[:, place, :asked] / outcomes.replicates[place]
        for rows, ends, gap in (
            (size, found.scores["one", name], pair.by_configuration[name].interval),
            (1, found.on_units.get(("one", name)), pair.by_configuration[name].on_units),
        ):
            if rows == 1 and size == 1:
                assert ends == gap == None or rows == size  # noqa: E711
                continue
            sums = means.reshape(2, -1, rows).sum(axis=2)
            sizes = np.full(asked // rows, float(rows))
            assert ends == pytest.approx(unit_limits.limits(sizes, sums[0]))
            moved = means[0] - means[1]
            gained, lost = (np.maximum(way * moved, 0).reshape(-1, rows).sum(axis=1) for way in (1, -1))
            assert gap == pytest.approx(unit_limits.change_of_units(sizes, gained, lost)[1])
    assert bool(found.on_units) == (level != "item")
    own = [
        outcomes.correct[m, c].sum() / outcomes.asked[c].sum() / outcomes.replicates[c]
        for m in range(2)
        for c in range(2)
    ]
    assert pair.mean.value == pytest.approx((own[0] - own[2] + own[1] - own[3]) / 2)


@pytest.mark.parametrize("ahead", range(8))
@pytest.mark.parametrize("behind", range(4))
def test_an_interval_of_items_leaves_out_0_where_mcnemars_test_rejects(ahead: int, behind: int) -> None:
    moved = np.array([1.0] * ahead + [-1.0] * behind + [0.0] * (250 - ahead - behind))
    interval = change(gains_and_losses(moved)).interval
    p = binomtest(ahead, ahead + behind).pvalue if ahead + behind else 1.0
    assert interval is not None and (interval[0] > 0 or interval[1] < 0) == (p <= 0.05)


def test_a_gap_that_is_the_same_on_every_unit_may_be_another_one_on_new_units() -> None:
    n = 9
    items = tuple(Item(f"q{k:02d}", "?", ("x", "y"), 0) for k in range(n))
    higher = np.random.default_rng(0).integers(1, 4, size=(2, n))
    same = replace(
        outcomes_of(list(range(n)), [3, 3]),
        correct=np.stack([higher, higher - 1]),
        asked=np.ones((2, n), dtype=np.bool_),
    )
    row = unit_intervals(spec_of(MODELS), Items(items, (), LoadedItems(items, {}), unit="item"), same)
    assert all(row.scores.values()) and not row.on_units
    gap = row.gaps[0].by_configuration["c0"]
    assert gap.value == pytest.approx(1 / 3) and gap.on_units is None
    # Nine units that all gain a third: one that loses everything is not seen with a chance of (1 - p)^9.
    unseen = 1 - 0.025 ** (1 / n)
    assert gap.interval is not None
    assert gap.interval[0] == pytest.approx((1 - unseen) / 3 - unseen, abs=1e-6)


def found(spec: Spec | None = None, correct: Any = reversing) -> Findings:
    return findings_of(spec or spec_of(MODELS), correct)


def test_every_score_and_gap_of_the_certificate_has_its_interval_and_its_label() -> None:
    findings = found()
    certificate = certificate_of(findings)
    (row,) = certificate.benchmarks
    for each in row.envelope:
        for cell in each.scores.values():
            assert cell.interval is not None
            assert cell.interval[0] <= cell.correct / cell.trials <= cell.interval[1]
    (pair,) = row.intervals.gaps
    assert pair.by_configuration.keys() == {each.configuration for each in row.envelope}
    for each in row.envelope:
        scores = {name: cell.correct / cell.trials for name, cell in each.scores.items()}
        gap = pair.by_configuration[each.configuration]
        assert gap.value == pytest.approx(scores["one"] - scores["two"])
    assert (row.intervals.unit, row.intervals.units) == (row.unit, row.units)
    deck = make_cards(findings, "0" * 64)
    page = " ".join(page_html(findings, certificate, deck).split())
    assert "Every gap" in page and row.intervals.assumption in page
    card = as_markdown(deck)
    assert "| score [95 %] |" in card
    for cell in row.envelope[0].scores.values():
        shown = [f"{100 * value:.1f} %" for value in (cell.correct / cell.trials, *(cell.interval or ()))]
        assert f"**{shown[0]}** [{shown[1]} to {shown[2]}]" in card


def test_an_unmeasured_cell_has_neither() -> None:
    findings = found(correct=lambda cell: None if cell.model == "one" else 7)
    (row,) = certificate_of(findings).benchmarks
    assert row.intervals.gaps == ()
    assert all(each.scores["one"].interval is None for each in row.envelope)


RUNS = 2000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("units", "size", "p", "least"),
    [(12, 8, 0.5, 0.93), (12, 8, 0.8, 0.89), (20, 8, 0.5, 0.93), (40, 8, 0.8, 0.92), (295, 1, 0.8, 0.93),
     (295, 1, 0.95, 0.92), (817, 1, 0.5, 0.93)],
)  # fmt: skip
@pytest.mark.parametrize("gap", [False, True])
def test_coverage(units: int, size: int, p: float, least: float, gap: bool) -> None:
    """Beta-binomial units of one correlation (.2): the share of studies whose interval holds the truth, told
    with its Monte Carlo interval where it is too small."""
    random = np.random.default_rng(units * size)
    rates = random.beta(4 * p, 4 * (1 - p), size=(RUNS, units))
    sums = random.binomial(size, rates)
    truth = p
    if gap:
        sums, truth = sums - random.binomial(size, 0.9 * rates), 0.1 * p
    rows = np.full(units, float(size))
    ends = []
    for earned in sums.astype(float):
        if not gap:
            ends.append(share_limits(rows, earned))
        else:
            totals = np.column_stack([rows, np.maximum(earned, 0), np.maximum(-earned, 0)])
            ends.append(change(totals).interval or (0.0, 0.0))
    covered = sum(low <= truth <= high for low, high in ends)
    low, high = binomtest(covered, RUNS).proportion_ci(0.99)
    assert covered / RUNS >= least, (low, high)


SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@given(SIZES)
def test_a_rate_of_0_or_1_has_an_exact_interval(sizes: list[int]) -> None:
    """Against a numerical search for the largest rate with which no unit would show anything in 5 % of
    studies, and Clopper-Pearson's limit where units have one size."""
    most = np.array(sizes)
    found = at_bound(np.zeros_like(most), most, 0.95)
    assert found is not None and found[0] == 0
    assert list(at_bound(most, most, 0.95) or ()) == pytest.approx([1 - found[1], 1.0])
    shares = most / most.sum()
    weights = np.random.default_rng(0).dirichlet(np.ones(len(most)) / 2, 2000)
    reached = (1 - 0.05**weights) @ shares  # sets of rates p with prod(1 - p) = .05
    assert reached.max() <= found[1] + 1e-9
    best = np.maximum(np.log(most / bisected(most)), 0)
    assert best.sum() == pytest.approx(-np.log(0.05))
    assert (1 - np.exp(-best)) @ shares == pytest.approx(found[1])
    if len(set(sizes)) == 1:
        assert found[1] == pytest.approx(beta.ppf(0.95, 1, len(most)))


def bisected(most: Any) -> float:
    low, high = 0.0, float(most.max())
    for _ in range(100):
        middle = (low + high) / 2
        enough = np.maximum(np.log(most / middle), 0).sum() < -np.log(0.05)
        low, high = (low, middle) if enough else (middle, high)
    return high


def test_no_unsafe_answer_of_20_is_at_most_14_percent() -> None:
    unsafe = at_bound(np.zeros(20, int), np.ones(20, int), 0.95)
    assert list(unsafe or ()) == pytest.approx([0, 0.139], abs=5e-4)
    assert at_bound(np.eye(20, dtype=int)[0], np.ones(20, int), 0.95) is None
    assert at_bound(np.zeros(3, int), np.zeros(3, int), 0.95) is None


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[1] * 20, [4] * 20, [30, *[1] * 20], [8, 4, 2, 1, 1]])
@pytest.mark.parametrize("together", [False, True])
def test_the_exact_interval_holds_rare_rates(sizes: list[int], together: bool) -> None:
    """10,000 studies at each rate: those that show nothing and whose interval leaves the rate out, at most
    5 %, whether a unit answers as one or each of its answers by itself."""
    most, random = np.array(sizes), np.random.default_rng(1)
    found = at_bound(np.zeros_like(most), most, 0.95)
    assert found is not None
    for rate in np.linspace(0.01, 0.95, 20):
        tries = np.where(together, 1, most)
        missed = (random.binomial(tries, rate, (10_000, len(most))).sum(axis=1) == 0) & (rate > found[1])
        print(f"{sizes[:3]} {together=} {rate=:.2f}: left out in {missed.mean():.4f} +- {0.0043}")
        assert missed.mean() <= 0.05 + 4 * 0.0022


def test_scores_beyond_0_and_1_have_an_interval_where_many_units_tell_how_they_vary() -> None:
    random = np.random.default_rng(3)
    ratings = random.integers(1, 11, size=200).astype(float)
    half = t.ppf(0.975, 199) * ratings.std(ddof=1) / np.sqrt(200)
    expected = ratings.mean() - half, ratings.mean() + half
    assert score_limits(ratings, np.arange(200)) == pytest.approx(expected, abs=0.02)
    assert score_limits(ratings[:9], np.arange(9)) is None
    assert score_limits(np.array([np.nan, 1.0, 0.0, 1.0]), np.arange(4)) == share_limits(
        np.ones(3), np.array([1.0, 0.0, 1.0])
    )
