"""Statistics that a spec states, beside other packages and at their edges, and how often their intervals hold
the true value.
"""

import choix
import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef, roc_auc_score

from gridc.statistics import corpus, totals
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.envelope import LEVEL
from gridc.statistics.strata import correlations, of_parts, part
from gridc.statistics.unit_intervals import Ends, UnitEstimate, share_limits
from tests.worlds import stated
from tests.worlds.search import Share, World, simulate


def every(count: int) -> Whole:
    """A unit for each row."""
    return np.arange(count)


def first_of(count: int, ones: int) -> Floats:
    return np.where(np.arange(count) < ones, 1.0, 0.0)


def interval(found: UnitEstimate) -> Ends:
    assert found.interval is not None and found.value is not None
    assert found.interval[0] <= found.value <= found.interval[1]
    return found.interval


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_are_those_of_scikit_learn(seed: int) -> None:
    random = np.random.default_rng(seed)
    positive, says = random.random(50) < 0.4, (random.random(50) < 0.5).astype(float)
    table = totals.two_classes(positive, says, np.ones(50))
    tp, fp, fn, tn = table.sum(axis=0)
    assert (tp + fn, fp + tn) == (positive.sum(), 50 - positive.sum())
    assert totals.f1(every(50), table).estimate().value == pytest.approx(f1_score(positive, says))
    assert totals.matthews(every(50), table).estimate().value == pytest.approx(
        matthews_corrcoef(positive, says)
    )


def test_a_class_without_a_row_has_no_correlation() -> None:
    nobody = totals.two_classes(np.zeros(9, np.bool_), np.ones(9), np.ones(9))
    assert totals.matthews(every(9), nobody).estimate().value is None
    all_alike = totals.two_classes(np.arange(9) < 4, np.ones(9), np.ones(9))
    assert totals.matthews(every(9), all_alike).estimate().value is None, "everybody is called positive"


@pytest.mark.parametrize("seed", range(5))
def test_the_area_under_a_curve_is_that_of_scikit_learn_with_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    positive, values = random.random(60) < 0.3, random.integers(0, 8, 60) / 8
    placed = totals.placements(values, positive)
    assert placed[positive].mean() == pytest.approx(placed[~positive].mean())
    found = totals.area_under_curve(every(60), values, positive, ~positive).estimate()
    assert found.value == pytest.approx(roc_auc_score(positive, values))


def test_an_area_needs_both_classes() -> None:
    both = np.array([True, True])
    assert totals.area_under_curve(every(2), np.array([0.1, 0.9]), both, ~both).estimate().value is None


def test_a_bin_holds_its_upper_end_and_the_first_one_nothing_too() -> None:
    # In one bin the distances of .1 and .2 from 1 and 0 cancel out; in two they do not.
    assert totals.calibration_error(np.array([0.0, 0.1]), np.array([0.1, 0.0]), 10) == pytest.approx(0)
    assert totals.calibration_error(np.array([0.1, 0.10001]), np.ones(2), 10) == pytest.approx(0.899995)
    apart = totals.calibration_error(np.array([0.2, 0.20001]), np.array([0.4, 0.0]), 10)
    assert apart == pytest.approx(0.200005)


def test_calibration_weights_bins_by_their_rows() -> None:
    confidence, right = np.array([0.95, 0.95, 0.95, 0.15]), np.array([1.0, 0.0, 0.0, 0.0])
    expected = 0.75 * (0.95 - 1 / 3) + 0.25 * 0.15
    assert totals.calibration_error(confidence, right, 10) == pytest.approx(expected)


def test_win_rates_count_a_tie_half_and_follow_the_direction() -> None:
    # Two benchmarks, three models; on the second one less is better.
    means = np.array([[0.9, 0.2], [0.5, 0.2], [0.5, 0.4]])
    rates = totals.win_rates(means, [1, -1])
    assert rates.tolist() == pytest.approx([(1 + 0.75) / 2, (0.25 + 0.75) / 2, (0.25 + 0) / 2])


def test_spread_is_told_apart_as_in_an_analysis_of_variance() -> None:
    random = np.random.default_rng(3)
    items, replicates = 4000, 6
    expected = random.uniform(0.3, 0.7, items)
    scores = expected[:, None] + random.uniform(-0.3, 0.3, (items, replicates))
    item = np.repeat(np.arange(items), replicates)
    within = totals.spread_within(item, item, scores.ravel())
    between = totals.spread_between(item, item, scores.ravel())
    assert within.value == pytest.approx(np.sqrt(scores.var(axis=1, ddof=1).mean()))
    for found, true in ((within, 0.3 / np.sqrt(3)), (between, 0.2 / np.sqrt(3))):
        assert found.value == pytest.approx(true, abs=0.005)
        low, high = interval(found)
        assert low < true < high < low + 0.03


def test_an_item_that_was_answered_once_has_no_spread() -> None:
    item, values = np.array([4, 4, 7]), np.array([0.0, 1.0, 1.0])
    assert totals.spread_within(item, item, values).value == pytest.approx(np.sqrt(0.5))
    assert totals.spread_within(item[1:], item[1:], values[1:]).value is None
    assert totals.spread_between(item, item, values).value is None


@pytest.mark.parametrize("seed", range(5))
def test_strengths_are_those_of_choix(seed: int) -> None:
    random = np.random.default_rng(seed)
    games = [tuple(random.choice(4, 2, replace=False)) for _ in range(200)]
    wins = np.zeros((4, 4))
    for winner, loser in games:
        wins[winner, loser] += 1
    likeliest = choix.opt_pairwise(4, games)
    found = totals.strengths(wins[None])[0]
    assert found == pytest.approx(likeliest - likeliest.mean(), abs=1e-5)


def test_who_lost_to_nobody_has_no_strength() -> None:
    wins = np.array([[0.0, 3, 2], [0, 0, 1], [0, 1, 0]])
    assert np.isnan(totals.strengths(wins[None])).all()
    chain = np.array([[0.0, 3, 0], [0, 0, 1], [1, 0, 0]])  # each beat one, and nobody all
    assert np.isfinite(totals.strengths(chain[None])).all()


def test_strengths_of_a_lopsided_table_are_found() -> None:
    wins = np.array([[0.0, 1e6], [1, 0]])
    found = totals.strengths(wins[None])[0]
    assert found[0] - found[1] == pytest.approx(np.log(1e6), rel=1e-9)


def games(*met: tuple[int, int, int, int]) -> tuple[Whole, Whole, Whole, Floats]:
    """The unit, the players and what the first one won, of so many wins and defeats of pairs."""
    one, other, won = (
        np.concatenate([np.array(part) for part in parts])
        for parts in zip(
            *(
                ([first] * (wins + lost), [second] * (wins + lost), [1.0] * wins + [0.0] * lost)
                for first, second, wins, lost in met
            ),
            strict=True,
        )
    )
    return np.arange(len(won)), one, other, won


def test_the_strengths_of_two_players_have_the_limits_of_their_share() -> None:
    unit, one, other, won = games((0, 1, 30, 10))
    found = totals.player_strengths(unit, one, other, np.ones(40), won, 2)
    low, high = share_limits(np.ones(40), won)
    assert found[0].value == pytest.approx(np.log(3) / 2)
    assert interval(found[0]) == pytest.approx([np.log(p / (1 - p)) / 2 for p in (low, high)])
    mirrored = totals.player_strengths(unit, other, one, np.ones(40), 1 - won, 2)
    assert mirrored == found
    nobody_lost = totals.player_strengths(unit, one, other, np.ones(40), np.ones(40), 2)
    assert [each.value for each in nobody_lost] == [None, None]


# Limits by parts.


def test_one_part_has_its_own_limits_and_two_are_combined_by_squares() -> None:
    rows = np.ones(50)
    first, second = part(rows, first_of(50, 40)), part(rows, first_of(50, 10))
    alone = of_parts(lambda shares: shares[:, 0], [first])[0]
    assert interval(alone) == share_limits(rows, first_of(50, 40))
    apart = [
        part(np.where(here, 1.0, 0.0), np.where(here & (np.arange(100) % 50 < wins), 1.0, 0.0))
        for here, wins in ((np.arange(100) < 50, 40), (np.arange(100) >= 50, 10))
    ]
    low, high = interval(of_parts(lambda shares: shares[:, 0] - shares[:, 1], apart)[0])
    (l1, u1), (l2, u2) = first.ends, second.ends
    assert low == pytest.approx(0.6 - np.hypot(0.8 - l1, u2 - 0.2))
    assert high == pytest.approx(0.6 + np.hypot(u1 - 0.8, 0.2 - l2))


def test_parts_of_the_same_units_move_together_as_their_influences_do_or_as_far_as_they_can() -> None:
    rows, points = np.ones(60), first_of(60, 40)
    same = [part(rows, points), part(rows, points)]
    known, most = correlations(same)
    assert known[0, 1] == pytest.approx(1) and most[0, 1] == 0
    alike = of_parts(lambda shares: shares.mean(axis=1), same)[0]
    assert interval(alike) == pytest.approx(share_limits(rows, points))
    rare = [part(rows, np.zeros(60)), part(rows, np.zeros(60))]
    known, most = correlations(rare)
    assert known[0, 1] == 0 and most[0, 1] == 1
    together = of_parts(lambda shares: shares.mean(axis=1), rare)[0]
    assert interval(together) == share_limits(rows, np.zeros(60))
    half = np.where(np.arange(90) < 60, 1.0, 0.0), np.where(np.arange(90) >= 30, 1.0, 0.0)
    _, most = correlations([part(each, np.zeros(90)) for each in half])
    assert most[0, 1] == pytest.approx(0.5)


def test_parts_of_a_point_have_limits_that_know_how_little_they_vary() -> None:
    points = np.random.default_rng(5).beta(8, 3, 120)
    low, high = share_limits(np.ones(120), points)
    error = points.std(ddof=1) / np.sqrt(120)
    assert low < points.mean() - 1.96 * error and points.mean() + 1.96 * error < high
    assert high - low < 1.4 * 2 * 1.96 * error


def test_f1_of_no_hit_allows_for_one_that_was_not_seen() -> None:
    # 0 of 60 positives: a hit is two of its rows, so that the limit is not that of 0 of 60.
    table = totals.two_classes(np.ones(60, np.bool_), np.zeros(60), np.ones(60))
    share = 1 - 0.025 ** (1 / 60)
    assert interval(totals.f1(every(60), table).estimate()) == pytest.approx((0, 2 * share / (1 + share)))


def test_a_class_of_nine_items_is_known_as_well_as_nine_items() -> None:
    says = first_of(300, 9)
    positive = says > 0
    table = totals.two_classes(positive, says, np.ones(300))
    low, high = interval(totals.matthews(every(300), table).estimate())
    assert high == 1 and low < 0.81
    low, high = interval(totals.area_under_curve(every(300), says, positive, ~positive).estimate())
    one, other = 0.025 ** (1 / 9), 0.025 ** (1 / 291)
    assert high == 1 and low == pytest.approx(1 - np.hypot(1 - one, 1 - other))


def test_a_small_benchmark_has_limits_of_its_own() -> None:
    group = np.repeat([0, 1], [20, 500])
    points = np.concatenate([np.ones(20), first_of(500, 350)])
    low, high = interval(totals.macro_mean(every(520), group, 2, np.ones(520), points).estimate())
    assert low < 0.85 - (1 - 0.025 ** (1 / 20)) / 2 and 0.85 + 0.019 < high < 0.875


@pytest.mark.parametrize("groups", [8, pytest.param(57, marks=pytest.mark.slow)])
def test_members_of_unequal_size_weigh_alike_and_are_covered(groups: int) -> None:
    """Members are fixed and their items drawn anew, as of a group of tasks."""
    random = np.random.default_rng(groups)
    covered = 0
    for _ in range(400):
        sizes, rates = random.integers(20, 201, groups), random.uniform(0.1, 0.9, groups)
        group = np.repeat(np.arange(groups), sizes)
        points = (random.random(len(group)) < rates[group]).astype(float)
        found = totals.macro_mean(every(len(group)), group, groups, np.ones(len(group)), points).estimate()
        means = [points[group == place].mean() for place in range(groups)]
        assert found.value == pytest.approx(np.mean(means), abs=1e-9)
        low, high = interval(found)
        covered += low <= rates.mean() <= high
    assert covered >= 375, "95 % of 400, less a standard error"


def test_replicates_and_parts_of_points_are_taken_as_they_are() -> None:
    unit = np.repeat(np.arange(30), 2)
    positive = np.arange(60) % 3 == 0
    says = np.where(positive, 4.0, 1.5)
    table = totals.two_classes(positive, says, np.full(60, 5.0))
    for found in (totals.f1(unit, table).estimate(), totals.matthews(unit, table).estimate()):
        low, high = interval(found)
        assert low < high


def texts(count: int, right: int) -> tuple[list[str], list[list[str]]]:
    said = [f"the {place} cat sat on mat {place % 7}" for place in range(count)]
    return [text if place < right else "zz" for place, text in enumerate(said)], [[text] for text in said]


@pytest.mark.parametrize("kind", ["chrf", "bleu"])
def test_equal_texts_do_not_show_that_all_texts_are_equal(kind: str) -> None:
    same = corpus.corpus_score(kind, every(60), *texts(60, 60))
    low, high = interval(same)
    assert same.value == high == 1 and 0.9 < low < 0.96
    low, high = interval(corpus.corpus_score(kind, every(60), *texts(60, 50)))
    assert low < high < 1
    few = corpus.corpus_score(kind, every(8), *texts(8, 5))
    assert few.interval is None and "8.0 equal units" in few.no_interval


# How often intervals miss, of those that are printed: in worlds where a jackknife behind a gate
# of what varied printed mostly those that did.

CLASSES = {"items": 1, "inside": 0, "odd": 0, "whole": 0}
GUARD = {**CLASSES, "positive": 0.4, "found": 0.8, "cleared": 0.8}
BINARY = "an AUROC of a binary number"
BENCHMARKS = {"tied": 0, "of_large": 0.7, "large": 500}
WORLDS: list[tuple[str, World]] = [
    ("F1", {**GUARD, "units": 80}),
    ("F1", {**CLASSES, "units": 60, "positive": 1, "found": 0.031, "cleared": 1}),
    ("Matthews' correlation", {**GUARD, "units": 80}),
    ("Matthews' correlation", {**CLASSES, "units": 100, "positive": 0.1, "found": 0.8, "cleared": 0.95}),
    (BINARY, {**CLASSES, "units": 300, "positive": 0.03, "found": 0.9, "cleared": 0.9}),
    (BINARY, {**CLASSES, "units": 200, "positive": 0.1, "found": 0.95, "cleared": 0.8}),
    ("an AUROC", {**GUARD, "units": 80, "ahead": 1, "spread": 1}),
    ("a macro mean", {**BENCHMARKS, "small": 20, "of_small": 0.9, "others": 1}),
    ("a macro mean", {**BENCHMARKS, "small": 30, "of_small": 0.95, "others": 2}),
    ("a macro mean", {**BENCHMARKS, "small": 30, "of_small": 0.95, "others": 2, "tied": 1}),
    ("a Brier score", {**CLASSES, "units": 100, "right": 0.97, "sure": 0.9}),
    ("the spread within items", {"units": 100, "items": 1, "inside": 0, "replicates": 5, "base": 0.99,
                                 "other": 0.5, "others": 0.02, "least": 0}),
    ("the spread between items", {"units": 100, "items": 1, "inside": 0, "replicates": 5, "base": 0.95,
                                  "other": 0, "others": 0.02, "least": 0}),
    ("a strength", {"units": 60, "players": 3, "apart": 0.7, "meet": 1, "inside": 0}),
    ("chrF", {"units": 100, "lengths": 0.5, "odd": 0.02}),
    ("BLEU", {"units": 100, "lengths": 0.5, "odd": 0.02}),
]  # fmt: skip


GAMES = {game.name: game for game in stated.STATED}
QUICK = [each for each in WORLDS if each[0] not in ("chrF", "BLEU", "an AUROC")]


def misses(kind: str, world: World, studies: int, seed: int) -> Share:
    return simulate(GAMES[f"the interval of {kind} misses"], world, range(studies), seed)


@pytest.mark.parametrize(("kind", "world"), QUICK)
def test_printed_intervals_hold_the_true_value(kind: str, world: World) -> None:
    share = misses(kind, world, 40, 1)
    assert share.printed > 0.9 * share.studies and share.of_printed < 0.15


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "world"), WORLDS)
def test_printed_intervals_miss_no_more_often_than_they_may(kind: str, world: World) -> None:
    share = misses(kind, world, 600, 2)
    assert share.printed > 0.9 * share.studies and share.of_printed < 0.08


@pytest.mark.parametrize(("kind", "world"), [
    ("an AUROC", {**GUARD, "units": 300, "ahead": 1, "spread": 1}),
    ("Matthews' correlation", {**GUARD, "units": 300}),
    ("a macro mean", {**BENCHMARKS, "small": 300, "of_small": 0.7, "others": 1}),
])  # fmt: skip
def test_intervals_of_many_single_items_are_about_as_wide_as_the_value_varies(
    kind: str, world: World
) -> None:
    (study,) = (each for name, _, each in stated.STUDIES if name == kind)
    found = [study(world, np.random.default_rng((3, place)), LEVEL)[0] for place in range(60)]
    values = np.array([each.value for each in found], float)
    widths = [high - low for low, high in map(interval, found)]
    assert np.mean(widths) < 1.3 * 2 * 1.96 * values.std(ddof=1)
