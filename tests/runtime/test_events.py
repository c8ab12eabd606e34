"""The event chain: whatever is changed, removed or moved, the first break is named."""

import json
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridc.runtime.store.events import GENESIS, Event, first_break

KINDS = ("stamp", "start", "resume", "score", "seal")
BODIES = st.dictionaries(
    st.text(max_size=6),
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=6)
    | st.lists(st.integers(0, 9), max_size=3),
    max_size=3,
)  # fmt: skip


def chain(bodies: list[dict[str, Any]]) -> list[Event]:
    events: list[Event] = []
    for number, body in enumerate(bodies):
        last = events[-1] if events else None
        at = f"2025-01-01T00:00:{number:02d}+00:00"
        events.append(Event.after(last, at, KINDS[number % len(KINDS)], body))
    return events


FOUR = chain([{"spec": "a"}, {"calls": 3}, {}, {"digest": "f" * 64}])


def test_an_empty_chain_and_a_whole_chain_have_no_break() -> None:
    assert first_break([]) is None
    assert first_break(FOUR) is None


def test_a_chain_counts_from_one_and_starts_from_nothing() -> None:
    assert [event.seq for event in FOUR] == [1, 2, 3, 4]
    assert FOUR[0].previous == GENESIS
    assert [event.previous for event in FOUR[1:]] == [event.digest for event in FOUR[:-1]]
    assert len({event.digest for event in FOUR}) == len(FOUR)


CHANGES: dict[str, Any] = {
    "seq": 9,
    "at": "2025-01-01T00:00:59+00:00",
    "kind": "unblind",
    "body": {"calls": 4},
    "previous": "0" * 63 + "1",
    "digest": "0" * 63 + "2",
}


def test_every_field_of_an_event_is_among_the_changes() -> None:
    assert CHANGES.keys() == {field.name for field in fields(Event)}


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_field_breaks_the_chain_at_its_event(name: str, place: int) -> None:
    forged = replace(FOUR[place], **{name: CHANGES[name]})
    assert forged != FOUR[place]
    found = first_break([*FOUR[:place], forged, *FOUR[place + 1 :]])
    assert found == (CHANGES["seq"] if name == "seq" else FOUR[place].seq)


@pytest.mark.parametrize("place", range(3))
def test_a_removed_event_breaks_the_chain_at_its_successor(place: int) -> None:
    assert first_break(FOUR[:place] + FOUR[place + 1 :]) == FOUR[place + 1].seq


@pytest.mark.parametrize("place", range(4))
def test_a_doubled_event_breaks_the_chain(place: int) -> None:
    assert first_break([*FOUR[: place + 1], *FOUR[place:]]) == FOUR[place].seq


@given(st.lists(BODIES, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_a_reordered_chain_is_broken(bodies: list[dict[str, Any]], random: Random) -> None:
    events = chain(bodies)
    shuffled = random.sample(events, len(events))
    assume(shuffled != events)
    assert first_break(shuffled) is not None


@given(st.lists(BODIES, min_size=1, max_size=5), st.integers(0, 4), BODIES)
def test_resealing_a_changed_event_breaks_the_chain_at_the_next_one(
    bodies: list[dict[str, Any]], place: int, body: dict[str, Any]
) -> None:
    events = chain([*bodies, {}])
    place %= len(bodies)
    old = events[place]
    assume(json.dumps(body, sort_keys=True) != json.dumps(old.body, sort_keys=True))
    forged = Event.after(events[place - 1] if place else None, old.at, old.kind, body)
    assert first_break([*events[:place], forged, *events[place + 1 :]]) == events[place + 1].seq


@given(st.lists(BODIES, max_size=4))
def test_a_chain_comes_back_from_its_rows(bodies: list[dict[str, Any]]) -> None:
    events = chain(bodies)
    again = [Event.from_row(event.row()) for event in events]
    assert again == events
    assert first_break(again) is None


def test_the_seal_does_not_depend_on_the_order_of_a_bodys_keys() -> None:
    one = Event.after(None, "t", "start", {"a": 1, "b": 2})
    other = Event.after(None, "t", "start", {"b": 2, "a": 1})
    assert one.digest == other.digest


@pytest.mark.parametrize("body", ['{"x": NaN}', '{"x": Infinity}', '{"x": 9007199254740993}'])
def test_a_body_forged_with_a_number_that_cannot_be_sealed_is_a_break(body: str) -> None:
    forged = Event.from_row(FOUR[1].row() | {"body": body})
    assert first_break([FOUR[0], forged, *FOUR[2:]]) == 2
