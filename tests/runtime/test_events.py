"""The event chain: whatever is changed, removed or moved, the first break is named; what is stored is read
strictly."""

import json
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gridc.diagnostics.errors import StoreError
from gridc.runtime.store import events as kinds
from gridc.runtime.store.events import GENESIS, KINDS, Body, Event, first_break, steps_back

WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
BODIES = st.one_of(
    st.builds(kinds.RunStarted, stamp=st.text(max_size=6), gridc=st.text(max_size=6), answered=WHOLE),
    st.builds(kinds.RunFinished, stamp=st.text(max_size=6), results=st.text(), answers=st.text(max_size=6)),
    st.builds(kinds.Worked, stamp=st.text(), identity=st.text(), precision=st.text(), least_tokens=WHOLE),
)


def chain(bodies: list[Body]) -> list[Event]:
    events: list[Event] = []
    for number, body in enumerate(bodies):
        last = events[-1] if events else None
        events.append(Event.after(last, f"2025-01-01T00:00:{number:02d}+00:00", body))
    return events


def started(answered: int = 0) -> Body:
    return kinds.RunStarted(stamp="a", gridc="0.1.0", answered=answered)


FOUR = chain(
    [
        kinds.Stamped(stamp="a", registered="a", created="2025", lock="b"),
        started(),
        kinds.Observed(stamp="a", what="budget", detail="calls"),
        kinds.RunFinished(stamp="a", results="f" * 64, answers="e" * 64),
    ]
)


def test_an_empty_chain_and_a_whole_chain_have_no_break() -> None:
    assert first_break([]) is None
    assert first_break(FOUR) is None


@pytest.mark.parametrize(
    ("dates", "back"),
    [
        (["2026-01-02T00:00:00.500+00:00", "2026-01-02T00:00:01.000+00:00"], []),
        (["2026-01-02T00:00:00.500+00:00", "2026-01-02T00:00:00.400+00:00"], []),
        (["2026-01-02T00:00:05.000+00:00", "2026-01-02T00:00:01.000+00:00"], [2]),
        (["2026-01-01T00:00:00.000+00:00", "2026-01-02T00:00:01.000+00:00"], [1]),
        (["2026-01-02T00:00:00.000+00:00", "yesterday"], [2]),
    ],
    ids=["forward", "within a second", "backward", "before its lock", "no date"],
)
def test_a_clock_that_was_set_back_is_seen(dates: list[str], back: list[int]) -> None:
    stamped = kinds.Stamped(stamp="a", registered="a", created="2026-01-02T00:00:00+00:00", lock="b")
    first = Event.after(None, dates[0], stamped)
    assert steps_back([first, Event.after(first, dates[1], started())]) == back


def test_a_chain_counts_from_one_and_starts_from_nothing() -> None:
    assert [event.seq for event in FOUR] == [1, 2, 3, 4]
    assert FOUR[0].previous == GENESIS
    assert [event.previous for event in FOUR[1:]] == [event.digest for event in FOUR[:-1]]
    assert len({event.digest for event in FOUR}) == len(FOUR)


CHANGES: dict[str, Any] = {
    "seq": 9,
    "at": "2025-01-01T00:00:59+00:00",
    "body": kinds.Worked(stamp="a", identity="b", precision="fp32", least_tokens=4),
    "text": '{"stamp": "b"}',
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
def test_a_reordered_chain_is_broken(bodies: list[Body], random: Random) -> None:
    events = chain(bodies)
    shuffled = random.sample(events, len(events))
    assume(shuffled != events)
    assert first_break(shuffled) is not None


@given(st.lists(BODIES, min_size=1, max_size=5), st.integers(0, 4), BODIES)
def test_resealing_a_changed_event_breaks_the_chain_at_the_next_one(
    bodies: list[Body], place: int, body: Body
) -> None:
    events = chain([*bodies, started()])
    place %= len(bodies)
    old = events[place]
    assume(body != old.body)
    forged = Event.after(events[place - 1] if place else None, old.at, body)
    assert first_break([*events[:place], forged, *events[place + 1 :]]) == events[place + 1].seq


@given(st.lists(BODIES, max_size=4))
def test_a_chain_comes_back_from_its_rows(bodies: list[Body]) -> None:
    events = chain(bodies)
    again = [Event.from_row(event.row()) for event in events]
    assert again == events
    assert first_break(again) is None


def test_the_seal_does_not_depend_on_the_order_of_a_bodys_keys() -> None:
    event = FOUR[1]
    backwards = dict(reversed(json.loads(event.text).items()))
    assert first_break([FOUR[0], replace(event, text=json.dumps(backwards)), *FOUR[2:]]) is None


@pytest.mark.parametrize("text", ['{"x": NaN}', '{"x": Infinity}', '{"x": 9007199254740993}', "[" * 10**5])
def test_a_body_that_cannot_be_sealed_is_a_break(text: str) -> None:
    assert first_break([FOUR[0], replace(FOUR[1], text=text), *FOUR[2:]]) == 2


EXAMPLES: dict[str, dict[str, Any]] = {
    "stamp": {"stamp": "a", "registered": "a", "created": "2025", "lock": "b"},
    "start": {"stamp": "a", "gridc": "0.1.0", "answered": 0},
    "deviation": {"stamp": "a", "log": [{"id": "D-001"}]},
    "load": {"stamp": "a", "identity": "b", "model": "m", "precision": "fp32", "versions": {"torch": "2"}},
    "work": {"stamp": "a", "identity": "b", "precision": "fp32", "least": {"forward_tokens": 3}},
    "noise": {
        "stamp": "a", "identity": "b", "precision": "fp32", "shape": "alone", "calls": 1, "texts": 1,
        "texts_changed": 0, "rankings": 0, "loglikelihoods": 0, "max_moved": None, "mean_moved": None,
        "outcomes": 1, "outcomes_changed": 0,
    },
    "reference": {
        "stamp": "a", "identity": "b", "precision": "as served", "calls": 1, "texts": 1, "texts_changed": 0,
        "rankings": 0, "loglikelihoods": 0, "max_moved": None, "mean_moved": None, "outcomes": 1,
        "outcomes_changed": 0,
    },
    "observed": {"stamp": "a", "what": "budget", "detail": "calls"},
    "finish": {"stamp": "a", "results": "b", "answers": "c"},
    "merge": {"stamp": "a", "calls": 1, "last_event": "b", "events": [], "sealed": "2026"},
    "interim look": {
        "stamp": "a", "answered": 1, "total": 2, "unscored": 1,
        "anchor": {"strength": "git", "detail": "d", "committed": None},
    },
    "report": {
        "stamp": "a", "answered": 2, "total": 2, "unscored": 0,
        "anchor": {"strength": "git", "detail": "d", "committed": None},
    },
    "witness": {
        "stamp": "a", "format": "gridc-witness/1", "study": "s", "alpha": 0.05, "seed": 1, "test": "t",
        "benchmarks": [], "calls": {"executed": 1},
    },
    "seal": {"stamp": "a", "about": "judging", "seal": "b", "responses": 2},
    "lock": {"stamp": "a", "about": "judging", "judgements": "b", "count": 2},
    "unblind": {"stamp": "a", "about": "judging", "seal": "b", "nonce": "c"},
}  # fmt: skip


def test_every_kind_of_event_has_an_example() -> None:
    assert EXAMPLES.keys() == KINDS.keys()


def read(kind: str, body: dict[str, Any]) -> Event:
    row = {"seq": 1, "at": "t", "kind": kind, "body": json.dumps(body), "previous": GENESIS, "digest": "d"}
    return Event.from_row(row)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_what_is_stored_is_read_and_comes_back_as_it_was(kind: str) -> None:
    event = read(kind, EXAMPLES[kind])
    assert (event.kind, event.body.as_json()) == (kind, EXAMPLES[kind])


OPTIONAL = {("load", "versions"), ("work", "least"), ("merge", "sealed"), ("finish", "answers")}


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in EXAMPLES for key in EXAMPLES[kind]])
def test_a_missing_key_and_a_value_of_another_type_are_coded_findings(kind: str, key: str) -> None:
    less = {name: value for name, value in EXAMPLES[kind].items() if name != key}
    if (kind, key) not in OPTIONAL:
        with pytest.raises(StoreError, match=f"event 1 .* cannot be read: {key}") as caught:
            read(kind, less)
        assert [finding.code for finding in caught.value.diagnostics] == ["GC605"]
    with pytest.raises(StoreError, match=f"cannot be read: {key}"):
        read(kind, {**less, key: {"of": ["another", "type"]} if key != "calls" else "many"})


@pytest.mark.parametrize("kind", sorted(EXAMPLES.keys() - {"load"}))
def test_an_extra_key_is_a_coded_finding(kind: str) -> None:
    with pytest.raises(StoreError, match="cannot be read: surplus"):
        read(kind, {**EXAMPLES[kind], "surplus": 1})


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"stamp": "a"', "[" * 10**5, "\x00"])
def test_a_body_that_is_no_json_object_is_a_coded_finding(text: str) -> None:
    row = {"seq": 1, "at": "t", "kind": "start", "body": text, "previous": GENESIS, "digest": "d"}
    with pytest.raises(StoreError, match="cannot be read"):
        Event.from_row(row)


def test_a_kind_of_the_future_is_a_coded_finding() -> None:
    with pytest.raises(StoreError, match="no such kind"):
        read("foresee", {"stamp": "a"})


def test_a_merge_keeps_only_events_that_describe_engines() -> None:
    merge = EXAMPLES["merge"]
    kept = [{"kind": "load", **EXAMPLES["load"]}, {"kind": "noise", **EXAMPLES["noise"]}]
    assert read("merge", {**merge, "events": kept}).body.as_json()["events"] == kept
    for wrong in ({"kind": "finish", **EXAMPLES["finish"]}, {"kind": "noise", "stamp": "a"}, {}):
        with pytest.raises(StoreError, match="cannot be read: events"):
            read("merge", {**merge, "events": [wrong]})
