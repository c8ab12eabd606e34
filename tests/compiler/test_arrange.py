"""The order of the options: what points at an option follows its text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import arranged
from gridc.statistics.reproducibility import DrawError

ORDERS = ["file", "reversed", "shuffled:7", "rotated:1", "rotated:5", "gold_at:A", "gold_at:C"]
FOUR = Item("q", "?", ("t", "u", "v", "w"), 1, matching=3, unknown=0)


def shuffled(item: Item, seed: int) -> Item:
    return arranged(item, f"shuffled:{seed}")


@pytest.mark.parametrize(
    ("order", "options", "gold"),
    [
        ("file", "tuvw", 1),
        ("reversed", "wvut", 2),
        ("rotated:1", "uvwt", 0),
        ("rotated:6", "vwtu", 3),
        ("gold_at:A", "utvw", 0),
        ("gold_at:B", "tuvw", 1),
        ("gold_at:D", "tvwu", 3),
        (None, "tuvw", 1),
    ],
)
def test_orders(order: str | None, options: str, gold: int) -> None:
    assert "".join(arranged(FOUR, order).options) == options
    assert arranged(FOUR, order).gold == gold


@given(st.integers(3, 13), st.data(), st.sampled_from(ORDERS))
def test_an_order_keeps_what_points_at_an_option_on_its_text(
    count: int, data: st.DataObject, order: str
) -> None:
    gold, matching, unknown = (data.draw(st.integers(0, count - 1)) for _ in range(3))
    item = Item(
        "q1", "?", tuple(f"option {n}" for n in range(count)), gold, matching=matching, unknown=unknown
    )
    turned = arranged(item, order)
    assert sorted(turned.options) == sorted(item.options)
    for role in ("gold", "matching", "unknown"):
        assert turned.options[getattr(turned, role)] == item.options[getattr(item, role)]
    assert {turned.options[place] for place in turned.right} == {item.options[gold]}


def test_an_opinion_keeps_its_right_answers() -> None:
    item = Item("q", "?", ("x", "y", "z"), matching=1)
    for order in ("reversed", "rotated:1", "shuffled:3"):
        turned = arranged(item, order)
        assert {turned.options[place] for place in turned.right} == {"x", "z"}


@pytest.mark.parametrize("order", ORDERS)
def test_an_item_without_options_has_one_order(order: str) -> None:
    item = Item("q", "Say it.", expected="comply")
    assert arranged(item, order) == item


def test_gold_has_no_place_where_there_are_too_few_options_or_none_is_right() -> None:
    with pytest.raises(DrawError, match="2 options and no C"):
        arranged(Item("q", "?", ("x", "y"), 0), "gold_at:C")
    with pytest.raises(DrawError, match="no right option"):
        arranged(Item("q", "?", ("x", "y"), matching=0), "gold_at:A")


@given(st.integers(2, 13), st.data(), st.integers(0, 50))
def test_a_shuffle_keeps_the_options_and_the_gold_text(count: int, data: st.DataObject, seed: int) -> None:
    gold = data.draw(st.integers(0, count - 1))
    item = Item("q1", "?", tuple(f"option {n}" for n in range(count)), gold, "q1", {"kept": "yes"})
    turned = shuffled(item, seed)
    assert sorted(turned.options) == sorted(item.options)
    assert turned.gold is not None
    assert turned.options[turned.gold] == item.options[gold]
    assert (turned.id, turned.stem, turned.family, turned.tags) == (item.id, "?", "q1", item.tags)
    assert shuffled(item, seed) == turned


def test_a_shuffle_of_equal_texts_keeps_count_of_the_gold_one() -> None:
    for seed in range(30):
        item = Item("q", "?", ("same", "same", "other"), 1, "q")
        turned = shuffled(item, seed)
        assert [turned.options[place] for place in turned.right] == ["same"]


def test_a_shuffle_is_its_own_for_each_item_and_seed() -> None:
    options = tuple("stuvwxyz")
    orders = {
        shuffled(Item(f"q{n}", "?", options, 0, "c"), seed).options for n in range(10) for seed in range(10)
    }
    assert len(orders) == 100


def test_the_gold_answer_lands_everywhere_about_equally_often() -> None:
    items = [Item(f"q{n}", "?", ("t", "u", "v", "w"), 0, f"q{n}") for n in range(800)]
    places = Counter(shuffled(item, 42).gold for item in items)
    assert all(150 <= places[place] <= 250 for place in range(4))
