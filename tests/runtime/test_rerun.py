"""What repeating calls finds, and how surely: against simulation, and against forgers who know the code."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gridc.runtime import rerun
from gridc.runtime.engines.protocol import Answer
from gridc.runtime.rerun import Draw
from gridc.statistics.detection import detection, exceeds, least_detected, least_exceeding
from gridc.statistics.seeded import ranked


@pytest.mark.parametrize(
    ("total", "changed", "drawn"), [(200, 2, 20), (200, 20, 10), (50, 1, 5), (40, 40, 1)]
)
def test_the_rate_of_finding_is_that_of_a_simulated_forger(total: int, changed: int, drawn: int) -> None:
    """The forger changes calls of their choice; the verifier draws as `rerun` does, with fresh seeds."""
    calls = [f"{number:064x}" for number in range(total)]
    forged = set(calls[:changed])
    rounds = 1500
    found = 0
    for _ in range(rounds):
        drawn_calls = ranked(calls, int(Draw.of(0.1).seed, 16), "rerun s", str)[:drawn]
        found += not forged.isdisjoint(drawn_calls)
    chance = detection(total, changed, drawn)
    spread = 4 * (chance * (1 - chance) / rounds) ** 0.5
    assert abs(found / rounds - chance) <= spread + 1e-12


@pytest.mark.parametrize(("total", "drawn"), [(160, 8), (519_084, 5_191), (10, 10), (10, 1), (1, 1)])
def test_the_least_that_is_found_is_the_least(total: int, drawn: int) -> None:
    least = least_detected(total, drawn)
    assert detection(total, least, drawn) >= 0.95
    assert least == 0 or detection(total, least - 1, drawn) < 0.95


def test_draws_are_fresh_unless_a_seed_is_given() -> None:
    seeds = {Draw.of(0.01).seed for _ in range(50)}
    assert len(seeds) == 50
    assert all(Draw.of(0.01).fresh for _ in range(3))
    assert Draw.of(0.01, "ab") == Draw(0.01, "ab", False)


def answer(call: str, text: str, near_ties: int = 0) -> Answer:
    content = {"text": text, "tokens": [ord(letter) for letter in text], "finish": "stop"}
    return Answer(call, {**content, "near_ties": near_ties}, {"prompt_token_digest": call}, {}, 0.0)


def compared(
    stored: Mapping[str, Answer], now: Mapping[str, Answer], alone: Mapping[str, Answer] | None = None
) -> rerun.Repeated:
    rows: dict[str, tuple[Any, Any]] = {call: (held.sent, held.content) for call, held in stored.items()}
    return rerun._compare("m", "fp32" if alone is None else "bf16", len(rows), rows, now, alone)


def test_a_tie_is_one_of_the_answer_of_now_and_never_one_that_is_stored() -> None:
    now = {"a": answer("a", "yes"), "b": answer("b", "yes", near_ties=1), "c": answer("c", "yes")}
    stored = {"a": answer("a", "no", near_ties=5), "b": answer("b", "no"), "c": answer("c", "yes")}
    found = compared(stored, now)
    assert (found.changed, found.ties, found.differing) == (2, 1, ("a",))


def reduced(share: float, noise: float, seed: int, count: int = 120) -> rerun.Repeated:
    """Answers in a precision in which batch shape changes some, and of which a forger changed a share."""
    rng = random.Random(seed)
    calls = [str(number) for number in range(count)]

    def shaped() -> dict[str, Answer]:
        return {call: answer(call, "other" if rng.random() < noise else "own") for call in calls}

    stored = shaped()
    for call in rng.sample(calls, round(share * count)):
        stored[call] = answer(call, "forged")
    return compared(stored, shaped(), shaped())


def test_in_reduced_precision_honest_answers_are_not_accused() -> None:
    accused = sum(bool(reduced(0, 0.05, seed).differing) for seed in range(300))
    assert accused <= 3, "the level is one in a thousand"


def test_in_reduced_precision_more_change_than_batch_shape_makes_is_found() -> None:
    found = [reduced(0.3, 0.05, seed) for seed in range(50)]
    assert all(row.differing for row in found)
    assert all(row.floor is not None for row in found)


@pytest.mark.parametrize("changed", [20, 60, 100])
def test_in_reduced_precision_a_forger_is_found_at_the_rate_that_is_printed(changed: int) -> None:
    """A single changed answer is no proof there: so many must be drawn that Fisher's test fails."""
    total, drawn, rounds = 400, 80, 300
    calls = [f"{number:03}" for number in range(total)]
    own = {call: answer(call, "own") for call in calls}
    stored = own | {call: answer(call, "forged") for call in calls[:changed]}
    found = 0
    for _ in range(rounds):
        chosen = ranked(calls, int(Draw.of(0.2).seed, 16), "rerun s", str)[:drawn]
        held = {call: (stored[call].sent, stored[call].content) for call in chosen}
        now = {call: own[call] for call in chosen}
        row = rerun._compare("m", "bf16", total, held, now, now)
        found += bool(row.differing)
    assert row.needed > 1
    chance = detection(total, changed, drawn, row.needed)
    assert row.found_95 == next(k for k in range(total) if detection(total, k, drawn, row.needed) >= 0.95)
    assert abs(found / rounds - chance) <= 4 * (chance * (1 - chance) / rounds) ** 0.5 + 1e-12


@pytest.mark.parametrize(("floor", "of"), [(0, 5), (0, 80), (3, 80), (80, 80), (2, 12)])
def test_the_least_that_exceeds_a_floor_is_the_least(floor: int, of: int) -> None:
    least = least_exceeding(floor, of, 0.001)
    exceeding = [changed for changed in range(of + 1) if exceeds(changed, floor, of) < 0.001]
    assert least == (exceeding[0] if exceeding else of + 1)


def test_exemplars_that_were_left_out_cannot_be_taken_out_of_the_record() -> None:
    now = answer("a", "yes")
    shortened = Answer(now.call, now.content, {**now.sent, "exemplars_dropped": 2}, {}, 0.0)
    assert compared({"a": now}, {"a": shortened}).differing == ("a",)
    assert compared({"a": shortened}, {"a": shortened}).differing == ()


def test_calls_at_a_near_tie_are_counted_whether_they_changed_or_not() -> None:
    now = {"a": answer("a", "yes", near_ties=1), "b": answer("b", "yes")}
    assert compared(now, now).unjudged == 1


def test_the_test_of_a_floor_is_fishers() -> None:
    assert exceeds(0, 0, 10) == 1
    assert exceeds(10, 0, 10) == pytest.approx(1 / 184756)  # 1 / C(20, 10)


def test_the_page_states_the_rates_of_the_formula() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "verification.md").read_text("utf-8")
    total = 10_000
    for drawn, percent in ((50, "0.5"), (100, "1"), (500, "5")):
        rates = " | ".join(f"{detection(total, changed, drawn):.3f}" for changed in (10, 100, 500))
        assert f"| {percent} % | {rates} | {least_detected(total, drawn)} or more |" in text
    stated = re.search(r"(\d+) of 100 drawn must differ, and of fewer than (\d+) drawn calls none", text)
    assert stated is not None
    many, none = stated.groups()
    assert least_exceeding(0, 100, rerun.FLOOR_ALPHA) == int(many)
    assert all((least_exceeding(0, n, rerun.FLOOR_ALPHA) > n) == (n < int(none)) for n in range(1, 30))
