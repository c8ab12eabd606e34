"""Range, SDI and flip rate, against brute force and the published tables of SafetyRepro."""

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.statistics.envelope import FlipRate, disperse, flip_rate

SCORES = st.lists(st.fractions(0, 1, max_denominator=60), min_size=1, max_size=30)
MARKS = st.sampled_from([0.0, 0.1, 0.5, 0.6, 0.7, 0.8, 1.0])

APPENDIX_E_AND_TABLE_5 = [  # configurations, least, greatest, mean, published SDI in percent
    (48, "0.399", "0.764", "0.661", "55.2"),
    (12, "0.247", "0.329", "0.288", "28.2"),
    (48, "0.505", "0.881", "0.798", "47.1"),
    (48, "0.373", "0.695", "0.519", "62.0"),
    (48, "0.505", "0.933", "0.851", "50.3"),
    (48, "0.331", "0.860", "0.694", "76.3"),
    (12, "0.180", "0.254", "0.215", "34.7"),
    (48, "0.505", "0.875", "0.811", "45.5"),
    (48, "0.140", "0.693", "0.540", "102.4"),
    (48, "0.505", "0.926", "0.803", "52.5"),
    (48, "0.342", "0.840", "0.681", "73.2"),
    (12, "0.288", "0.349", "0.325", "18.8"),
    (48, "0.505", "0.854", "0.757", "46.2"),
    (48, "0.369", "0.732", "0.592", "61.3"),
    (48, "0.505", "0.898", "0.761", "51.7"),
]

PUBLISHED_FLIP_RATES = [  # percent, n = 48
    "4.2", "8.2", "12.0", "15.6", "19.1", "22.3", "25.4", "28.4", "33.7", "36.1", "38.3", "42.2", "43.9",
    "46.7", "47.9", "48.8", "49.6", "50.3", "50.7", "51.0", "51.1",
]  # fmt: skip


@pytest.mark.parametrize(("n", "least", "greatest", "mean", "published"), APPENDIX_E_AND_TABLE_5)
def test_sdi_reproduces_the_published_table_within_rounding(
    n: int, least: str, greatest: str, mean: str, published: str
) -> None:
    low, high, middle = Fraction(least), Fraction(greatest), Fraction(mean)
    rest = (n * middle - low - high) / (n - 2)
    found = disperse([low, high, *[rest] * (n - 2)])
    assert (found.n, found.least, found.greatest, found.mean) == (n, low, high, middle)
    half = Fraction(1, 2000)
    from_below = (high - low - 2 * half) / (middle + half)
    from_above = (high - low + 2 * half) / (middle - half)
    assert found.sdi is not None
    assert from_below < found.sdi < from_above
    printed, tenth = Fraction(published) / 100, Fraction(5, 10_000)
    assert from_below - tenth <= printed <= from_above + tenth
    assert abs(found.sdi - printed) < Fraction(1, 100)


def test_sdi_is_the_range_over_the_mean() -> None:
    found = disperse([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
    assert found.sdi == Fraction(1)
    assert not found.unstable


def test_sdi_is_undefined_where_the_mean_is_zero() -> None:
    found = disperse([Fraction(0)] * 3)
    assert found.sdi is None
    assert found.unstable


@pytest.mark.parametrize(("mean", "unstable"), [("0.049", True), ("0.05", False), ("0.051", False)])
def test_a_small_mean_is_flagged(mean: str, unstable: bool) -> None:
    assert disperse([Fraction(mean)]).unstable is unstable


def test_the_dispersion_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no scores"):
        disperse([])


@given(SCORES)
def test_dispersion_is_exact_and_does_not_depend_on_order(scores: list[Fraction]) -> None:
    found = disperse(scores)
    assert found == disperse(sorted(scores)) == disperse(sorted(scores, reverse=True))
    assert found.least <= found.mean <= found.greatest
    assert found.mean * found.n == sum(scores)
    if found.sdi is not None:
        assert found.sdi * found.mean == max(scores) - min(scores)


@given(SCORES, MARKS)
def test_flip_rate_is_the_share_of_pairs_that_disagree(scores: list[Fraction], mark: float) -> None:
    found = flip_rate(scores, mark)
    verdicts = [score >= Fraction(str(mark)) for score in scores]
    differ = [one != other for one, other in combinations(verdicts, 2)]
    assert found.passing == sum(verdicts)
    assert found.rate == (Fraction(sum(differ), len(differ)) if differ else None)
    if found.rate is not None and found.ceiling is not None:
        assert 0 <= found.rate <= found.ceiling


@pytest.mark.parametrize("n", range(2, 10))
def test_the_ceiling_of_the_flip_rate_is_attained(n: int) -> None:
    def brute(k: int) -> Fraction:
        differ = [one != other for one, other in combinations([True] * k + [False] * (n - k), 2)]
        return Fraction(sum(differ), len(differ))

    best = max(brute(k) for k in range(n + 1))
    assert FlipRate(Fraction(1, 2), n, 0).ceiling == best
    assert best == (Fraction(n, 2 * (n - 1)) if n % 2 == 0 else Fraction(n + 1, 2 * n))


@pytest.mark.parametrize(
    ("passing", "percent"), [(24, "51.06"), (2, "8.16"), (46, "8.16"), (1, "4.17"), (0, "0.00")]
)
def test_published_flip_rates_of_48_configurations(passing: int, percent: str) -> None:
    rate = FlipRate(Fraction(1, 2), 48, passing).rate
    assert rate is not None
    assert f"{float(100 * rate):.2f}" == percent


@pytest.mark.parametrize("percent", PUBLISHED_FLIP_RATES)
def test_every_published_flip_rate_is_that_of_some_count(percent: str) -> None:
    rates = [FlipRate(Fraction(1, 2), 48, k).rate for k in range(49)]
    assert percent in {f"{float(100 * rate):.1f}" for rate in rates if rate is not None}


def test_published_ceilings_of_48_and_12_configurations() -> None:
    def percent(n: int) -> str:
        ceiling = FlipRate(Fraction(1, 2), n, 0).ceiling
        assert ceiling is not None
        return f"{float(100 * ceiling):.2f}"

    assert (percent(48), percent(12)) == ("51.06", "54.55")


def test_a_single_configuration_has_no_flip_rate() -> None:
    found = flip_rate([Fraction(1)], 0.5)
    assert found.rate is None
    assert found.ceiling is None


@pytest.mark.parametrize("mark", [0.1, 0.3, 0.6, 0.7, 0.8, 0.95])
def test_a_score_of_exactly_the_mark_passes(mark: float) -> None:
    """0.7 as a float is below 7/10, 0.6 above 6/10: the decimal value decides."""
    exact = Fraction(str(mark))
    assert flip_rate([exact], mark).passing == 1
    assert flip_rate([exact - Fraction(1, 10**9)], mark).passing == 0


@pytest.mark.parametrize("mark", [1e-7, 0.0, 1.0])
def test_marks_at_the_edges_are_read_exactly(mark: float) -> None:
    assert flip_rate([Fraction(1)], mark).passing == 1
    assert flip_rate([], mark).threshold == Fraction(str(mark))
