"""What repeating calls finds, and how surely: against simulation, and against forgers who know the code."""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.setting import Setting
from gridc.runtime import rerun
from gridc.runtime.engines.protocol import Answer, Generated, Ranked
from gridc.runtime.rerun import Draw
from gridc.statistics.exact_tests import detection, excess_p, least_detected, least_exceeding
from gridc.statistics.reproducibility import in_drawn_order


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
        drawn_calls = in_drawn_order(calls, int(Draw.of(0.1).seed, 16), "rerun s", str)[:drawn]
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
) -> rerun.RepeatedCalls:
    rows: dict[str, tuple[Any, Any]] = {call: (held.sent, held.content) for call, held in stored.items()}
    return rerun._compare("m", "fp32" if alone is None else "bf16", len(rows), rows, now, alone or {})


def test_a_tie_is_one_of_the_answer_of_now_and_never_one_that_is_stored() -> None:
    now = {"a": answer("a", "yes"), "b": answer("b", "yes", near_ties=1), "c": answer("c", "yes")}
    stored = {"a": answer("a", "no", near_ties=5), "b": answer("b", "no"), "c": answer("c", "yes")}
    found = compared(stored, now)
    assert (found.changed, found.ties, found.differing) == (2, 1, ("a",))


RANKING = Setting(prompt="", method="loglikelihood", normalise="none")
OPTIONS = Item("i", "Which?", ("one", "two", "three"), gold=0)
NOISE = 2e-6


def ranked_answer(call: str, values: list[float | None], ties: tuple[int, int] = (0, 0)) -> Answer:
    content = {"loglikelihoods": values, "tokens": [1] * len(values), "greedy": [False] * len(values)}
    return Answer(call, content, {"prompt_token_digest": call}, {}, 0.0, ties)


def rankings(seed: int, count: int) -> tuple[dict[str, Answer], dict[str, Answer], list[rerun.RankedSample]]:
    """Answers together and alone, of which some are nearly tied, as in a model that cannot tell options."""
    rng = random.Random(seed)
    together, alone = {}, {}
    for number in range(count):
        margin = rng.choice([1.0, 1e-3, 1e-5])
        values = [-1.0 - margin, -1.0, -5.0]
        call = f"{number:04}"
        together[call] = ranked_answer(call, [*values])
        alone[call] = ranked_answer(call, [value + rng.choice([-NOISE, NOISE]) for value in values])
    return together, alone, [rerun.RankedSample(RANKING, OPTIONS, (call,)) for call in together]


def flipped(answer: Answer, step: float) -> Answer:
    """The answer of a forger who lowers the first candidate and raises the second."""
    first, second, *rest = answer.content["loglikelihoods"]
    return ranked_answer(answer.call, [first + step, second - step, *rest])


def test_a_forger_who_moves_what_is_tolerated_changes_no_ranking_that_is_judged() -> None:
    """The tolerance follows from the noise that is measured, and every choice that it can turn is counted."""
    together, alone, uses = rankings(1, 300)
    honest = rerun._compare("m", "fp32", 300, _held(alone), together, alone, uses)
    assert honest.differing == ()
    assert honest.tolerance == pytest.approx(rerun.FACTOR * NOISE, rel=1e-6)
    step = (honest.tolerance or 0.0) * 0.999
    forged = {call: flipped(answer, step) for call, answer in together.items()}
    found = rerun._compare("m", "fp32", 300, _held(forged), together, alone, uses)
    assert found.differing == ()
    assert found.changed > 0
    assert found.changed == found.ties <= found.unjudged < 150
    forged = {call: flipped(answer, 1e-3) for call, answer in together.items()}
    assert len(rerun._compare("m", "fp32", 300, _held(forged), together, alone, uses).differing) == 300


@pytest.mark.parametrize("changed", [3, 12])
def test_a_forger_is_found_at_the_rate_that_is_printed_for_changes_beyond_what_is_tolerated(
    changed: int,
) -> None:
    """The forger turns rankings where that takes least, and every other likelihood moves as is tolerated."""
    total, drawn, rounds = 200, 40, 300
    together, alone, uses = rankings(2, total)
    tolerance = rerun._compare("m", "fp32", total, _held(together), together, alone, uses).tolerance or 0.0
    stored = {call: flipped(answer, tolerance * 0.999) for call, answer in together.items()}
    far = [use.calls[0] for use in uses if not use.is_tie([together[use.calls[0]].content], tolerance)]
    for call in far[:changed]:
        stored[call] = flipped(together[call], 1.1e-3)
    found = 0
    for _ in range(rounds):
        chosen = in_drawn_order(list(together), int(Draw.of(0.2).seed, 16), "rerun s", str)[:drawn]
        some = [{call: answers[call] for call in chosen} for answers in (stored, together, alone)]
        mine = [use for use in uses if use.calls[0] in chosen]
        row = rerun._compare("m", "fp32", total, _held(some[0]), some[1], some[2], mine)
        found += bool(row.differing)
    chance = detection(total, changed, drawn)
    assert abs(found / rounds - chance) <= 4 * (chance * (1 - chance) / rounds) ** 0.5 + 1e-12


def _held(answers: Mapping[str, Answer]) -> dict[str, tuple[Any, Any]]:
    return {call: (answer.sent, answer.content) for call, answer in answers.items()}


def test_every_field_of_an_answer_is_compared_or_has_a_reason() -> None:
    fields = {**get_type_hints(Generated), **get_type_hints(Ranked)}
    assert fields.keys() == rerun.FIELDS.keys()
    compared_how = {"same", "near ties", "within the tolerance"}
    changes = {"text": "no", "tokens": [1], "finish": "length", "end": 9, "near_ties": 280,
               "loglikelihoods": [-1.0, -2.0, -2.9], "greedy": [True, False, False]}  # fmt: skip
    assert {name for name, how in rerun.FIELDS.items() if how in compared_how} == changes.keys()
    text, ranking = answer("a", "yes"), ranked_answer("a", [-1.0, -2.0, -3.0])
    text.content["end"] = 2
    for whole in (text, ranking):
        for name in whole.content:
            lacking = {key: value for key, value in whole.content.items() if key != name}
            for content in ({**whole.content, name: changes[name]}, lacking, {**whole.content, "more": 1}):
                stored = Answer("a", content, whole.sent, {}, 0.0)
                assert compared({"a": stored}, {"a": whole}).differing == ("a",), (name, content)


def test_a_count_of_near_ties_may_differ_only_by_choices_at_the_edge_of_one() -> None:
    now = Answer("a", answer("a", "yes", 1).content, {"prompt_token_digest": "a"}, {}, 0.0, (1, 2))
    for stored, differing in ((1, False), (2, False), (0, True), (3, True), (280, True), (1.5, True)):
        held = Answer("a", {**now.content, "near_ties": stored}, now.sent, {}, 0.0)
        assert bool(compared({"a": held}, {"a": now}).differing) == differing
    assert compared({"a": now}, {"a": now}).unjudged == 1


def reduced(share: float, noise: float, seed: int, count: int = 120) -> rerun.RepeatedCalls:
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
        chosen = in_drawn_order(calls, int(Draw.of(0.2).seed, 16), "rerun s", str)[:drawn]
        held = {call: (stored[call].sent, stored[call].content) for call in chosen}
        now = {call: own[call] for call in chosen}
        row = rerun._compare("m", "bf16", total, held, now, now)
        found += bool(row.differing)
    assert row.needed > 1
    chance = detection(total, changed, drawn, row.needed)
    assert row.found_95 == next(k for k in range(total) if detection(total, k, drawn, row.needed) >= 0.95)
    # A few are found by chance where hardly any are: there the normal approximation is no bound.
    assert abs(found / rounds - chance) <= 4 * (chance * (1 - chance) / rounds) ** 0.5 + 3 / rounds


def test_in_reduced_precision_honest_rankings_are_not_accused() -> None:
    """Batch shape turns those that are nearly tied, here and in the run alike."""
    rng = random.Random(7)

    def shaped(values: list[float]) -> list[float | None]:
        return [value + rng.gauss(0, 0.05) for value in values]

    accused = 0
    for _ in range(100):
        own = {f"{number:02}": [-1.0 - rng.choice([0.0, 1.0]), -1.0, -5.0] for number in range(60)}
        stored, together, alone = (
            {call: ranked_answer(call, shaped(values)) for call, values in own.items()} for _ in range(3)
        )
        uses = [rerun.RankedSample(RANKING, OPTIONS, (call,)) for call in own]
        row = rerun._compare("m", "bf16", 60, _held(stored), together, alone, uses)
        accused += bool(row.differing)
        assert row.changed > 0
        assert row.floor
    assert accused <= 2, "the level is one in a thousand"


@pytest.mark.parametrize(("floor", "of"), [(0, 5), (0, 80), (3, 80), (80, 80), (2, 12)])
def test_the_least_that_exceeds_a_floor_is_the_least(floor: int, of: int) -> None:
    least = least_exceeding(floor, of, 0.001)
    exceeding = [changed for changed in range(of + 1) if excess_p(changed, floor, of) < 0.001]
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
    assert excess_p(0, 0, 10) == 1
    assert excess_p(10, 0, 10) == pytest.approx(1 / 184756)  # 1 / C(20, 10)


def test_the_page_states_the_rates_of_the_formula() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "verification.md").read_text("utf-8")
    total = 10_000
    for drawn, percent in ((50, "0.5"), (100, "1"), (500, "5")):
        rates = " | ".join(f"{detection(total, changed, drawn):.3f}" for changed in (10, 100, 500))
        assert f"| {percent} % | {rates} | {least_detected(total, drawn)} or more |" in text
    words = r"(\d+) of 100 drawn calls must differ, and with fewer than (\d+) drawn calls the check cannot"
    stated = re.search(words, " ".join(text.split()))
    assert stated is not None
    many, none = stated.groups()
    assert least_exceeding(0, 100, rerun.FLOOR_ALPHA) == int(many)
    assert all((least_exceeding(0, n, rerun.FLOOR_ALPHA) > n) == (n < int(none)) for n in range(1, 30))
