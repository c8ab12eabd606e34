"""The map from UUIDs to responses: the same on resume, another under another secret, and sealed whole."""

import hmac
from collections import Counter
from hashlib import sha256
from uuid import UUID

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from gridc.runtime.blinding import JUDGING, BlindedResponse, blind, blinded_name
from gridc.runtime.judging import fresh_secret

PLACES = st.tuples(st.text(max_size=12), st.text(max_size=6), st.integers(0, 9))
NONCE = "5a" * 32


def responses(places: list[tuple[str, str, int]]) -> list[BlindedResponse]:
    return [BlindedResponse(place, "bbq", f"text of {place}", {}) for place in places]


@given(st.lists(PLACES, unique=True, max_size=12), st.integers(0, 99))
def test_a_uuid_is_the_hmac_of_the_place(places: list[tuple[str, str, int]], seed: int) -> None:
    made = blind("stamp", JUDGING, seed, NONCE, responses(places))
    assert sorted(made.places.values()) == sorted(places)
    for uuid, place in made.places.items():
        mac = bytearray(
            hmac.new(bytes.fromhex(NONCE), rfc8785.dumps(["stamp", JUDGING, *place]), sha256).digest()
        )
        mac[6], mac[8] = mac[6] & 0x0F | 0x40, mac[8] & 0x3F | 0x80
        assert uuid == str(UUID(bytes=bytes(mac[:16])))
    order = sorted(made.places, key=lambda uuid: sha256(f"{seed}\0{JUDGING}\0{uuid}".encode()).digest())
    assert [each.uuid for each in made.responses] == order
    assert [each.order for each in made.responses] == list(range(len(places)))
    assert {each.uuid: each.text for each in made.responses} == {
        uuid: f"text of {place}" for uuid, place in made.places.items()
    }


def test_the_seal_is_of_the_secret_the_order_and_every_text() -> None:
    places = [("a/b/c=1", "i", 0), ("a/b/c=2", "i", 0)]
    made = blind("stamp", JUDGING, 1, NONCE, responses(places))
    assert made.seal == blind("stamp", JUDGING, 1, NONCE, responses(places[::-1])).seal
    other = [BlindedResponse(places[0], "bbq", "another text", {}), *responses(places[1:])]
    seals = {
        made.seal,
        blind("stamp", JUDGING, 1, "5b" * 32, responses(places)).seal,
        blind("other", JUDGING, 1, NONCE, responses(places)).seal,
        blind("stamp", JUDGING, 2, NONCE, responses(places)).seal,
        blind("stamp", JUDGING, 1, NONCE, responses(places[:1])).seal,
        blind("stamp", JUDGING, 1, NONCE, other).seal,
    }
    assert len(seals) == 6


def test_a_response_cannot_be_given_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        blind("stamp", JUDGING, 1, NONCE, responses([("a", "i", 0)] * 2))


def test_neither_a_uuid_nor_the_order_tells_the_condition() -> None:
    """Over many secrets every condition stands in every part of the order alike, and in every first digit."""
    places = [(f"m/b/scaffold={arm}", str(item), 0) for arm in "abcd" for item in range(8)]
    early: Counter[str] = Counter()
    digits: Counter[str] = Counter()
    rounds = 400
    for _ in range(rounds):
        made = blind("stamp", JUDGING, 42, fresh_secret(), responses(places))
        early.update(made.places[each.uuid][0] for each in made.responses[:8])
        digits.update(blinded_name(made.nonce, "stamp", JUDGING, places[0])[0])
    expected = rounds * 8 / 4
    assert sum((early[cell] - expected) ** 2 / expected for cell in early) < 30  # 3 df: p < 1e-6
    assert sum((digits[each] - rounds / 16) ** 2 * 16 / rounds for each in digits) < 60  # 15 df
