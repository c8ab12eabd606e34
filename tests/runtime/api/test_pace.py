"""How many requests are open at once, against the rule written out by hand."""

import random

import pytest

from gridc.runtime.engines.api.session import Pace


def full_round(pace: Pace, now: float) -> None:
    """A round in which every place is taken and every response is sound."""
    places = int(pace.limit)
    assert pace.room(0, 10_000, now) == places
    for _ in range(places):
        pace.answered()


def test_it_doubles_until_the_first_refusal_and_then_grows_by_a_twentieth() -> None:
    pace = Pace(most=10_000)
    for expected in (10, 20, 40, 80, 160):
        assert int(pace.limit) == expected
        full_round(pace, 0.0)
    assert pace.limit == 320
    pace.refused(sent=0.0, now=1.0, retry_after=2.0)
    assert pace.limit == pytest.approx(256)
    assert pace.room(0, 9, 2.9) == 0, "nothing is sent in the pause"
    assert pace.opens_at(2.9) == 3.0
    full_round(pace, 3.1)
    assert pace.limit == pytest.approx(256 * 1.05)


def test_an_episode_of_refusals_shrinks_it_once() -> None:
    pace = Pace(most=100, limit=100)
    for at in (1.0, 1.1, 1.2):
        pace.refused(sent=0.5, now=at, retry_after=1.0)
    assert pace.limit == 80
    assert pace.opens_at(2.1) == pytest.approx(2.2), "the latest pause counts"
    pace.refused(sent=2.3, now=2.4, retry_after=None)
    assert pace.limit == pytest.approx(64)


def test_a_server_error_pauses_growth_for_a_round() -> None:
    pace = Pace(most=1_000)
    pace.room(0, 10, 0.0)
    pace.broke()
    for _ in range(9):
        pace.answered()
    assert pace.limit == 10
    full_round(pace, 0.0)
    assert pace.limit == 20


def test_it_does_not_grow_where_nobody_waits_for_a_place() -> None:
    pace = Pace(most=1_000)
    for _ in range(100):
        assert pace.room(3, 6, 0.0) == 6
        pace.answered()
    assert pace.limit == 10


@pytest.mark.parametrize("seed", range(20))
def test_it_stays_between_one_and_the_most(seed: int) -> None:
    draw, pace, now = random.Random(seed), Pace(most=37), 0.0
    for _ in range(2_000):
        now += draw.random()
        pace.room(draw.randrange(40), draw.randrange(40), now)
        choice = draw.random()
        if choice < 0.2:
            pace.refused(now - draw.random(), now, draw.choice([None, 0.0, 3.0]))
        elif choice < 0.3:
            pace.broke()
        else:
            pace.answered()
        assert 1 <= pace.limit <= 37
        assert 0 <= pace.room(0, 100, now) <= 37
