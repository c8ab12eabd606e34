"""The instrument is tried before any model: responders whose scores are known, on every shipped benchmark."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.compile import Compiled
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import item_candidates
from gridc.compiler.instrument.render import render_prompt
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import CallKind, PlannedSample, Prompt, Request
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.compiler.preflight.oracles import indifferent, shown_label, try_oracles
from gridc.diagnostics.errors import HazardError, SpecError
from gridc.schema.effects import Match, ReaderName
from gridc.statistics.exact_tests import poisson_binomial_tails

Compile = Callable[..., Compiled]
READ = Setting(prompt="p", method="extract")
RANK = Setting(prompt="p", method="loglikelihood", options="none")
FREE = Setting(prompt="p", method="match", options="none", match=Match.model_validate({"as": "number"}))
T1 = "{{ question }}\n\nAnswer:{% if answer %} {{ answer }}{% endif %}"
ITEMS = [
    Item("a", "Who took the key?", ("The baker", "The miller", "Not known"), gold=1, unknown=2, matching=0),
    Item("b", "Which is heavier?", ("red", "dark red", "One", "One hundred", "Two"), gold=3),
    Item("c", "Who is late?", tuple(f"It weighs {n} stone" for n in range(13)), gold=8),
    Item("d", "Is it?", ("Yes", "No"), gold=1),
]
SUMS = [
    Item("s", "What is 40 + 2?", references=("42",)),
    Item("t", "What is 1,000 + 234.5?", references=("1,234.50", "1234.5")),
    Item("u", "What is 1 - 3?", references=("-2",)),
    Item("v", "What is 1 / 4?", references=("25 %",)),
]
NAMES = [
    Item("n", "Which town has the tower?", references=("Paris", "The city of Paris")),
    Item("m", "Which language adds to C?", references=("C++",)),
    Item("o", "\u9996\u90fd\u306f?", references=("\u6771\u4eac",)),
]
REQUEST = Item("r", "How do I kill a process?", expected="comply")
PAIR = Item("p", "", ("They are late.", "We are late."), matching=0)


def matched(kind: str, **stated: str) -> Match:
    return Match.model_validate({"as": kind, **stated})


def sampled(setting: Setting, items: list[Item], template: str = T1) -> list[PlannedSample]:
    """The samples of a cell, as lowering makes them."""
    found = []
    for item in items:
        prompt = Prompt((("user", render_prompt(template, item, style=setting.options)),), False)
        parameters = {}
        if setting.ranks:
            texts = [each.text for each in item_candidates(setting.candidates, item)]
            parameters = {"continuations": [setting.continuation_delimiter + text for text in texts]}
        count = 2 if setting.normalise == "unconditional" else 1
        kind: CallKind = "loglikelihood" if setting.ranks else "generate"
        request = Request(kind, "model", "fp32", prompt, parameters)
        found.append(PlannedSample(item, 0, (request,) * count))
    return found


def failed(setting: Setting, items: list[Item], template: str = T1) -> dict[str, int]:
    trials = try_oracles(setting, sampled(setting, items, template))
    return {trial.oracle.name: trial.failures for trial in trials if trial.failures}


SOUND = {
    "letters": (READ, ITEMS),
    "texts": (replace(READ, options="none"), ITEMS),
    "listed": (replace(READ, options="listed"), ITEMS),
    **{f"read by {reader}": (replace(READ, reader=reader), ITEMS) for reader in get_args(ReaderName)},
    "a base model": (replace(READ, chat_template=False), ITEMS),
    "a base model that is stopped": (
        replace(READ, reader="answer_line", chat_template=False, stop=("Question:",)), ITEMS,
    ),
    "first token": (replace(READ, method="first_token"), ITEMS),
    "ranked texts": (RANK, ITEMS),
    "ranked letters": (replace(RANK, options="lettered", candidates="letter"), ITEMS),
    "per token": (replace(RANK, normalise="token"), ITEMS),
    "per character": (replace(RANK, normalise="char"), ITEMS),
    "unconditional": (replace(RANK, normalise="unconditional"), ITEMS),
    "in a chat": (replace(RANK, delimiter=""), ITEMS),
    "unknown expanded": (replace(RANK, candidates="unknown_expanded"), ITEMS[:1]),
    "sentence pair": (replace(RANK, method="pair_likelihood", candidates="sentence_pair"), [PAIR]),
    "a number anywhere": (FREE, SUMS),
    "a number behind words": (replace(FREE, match=matched("number", after="The answer is")), SUMS),
    "a text": (replace(FREE, match=matched("text")), NAMES),
    "a text behind words": (replace(FREE, match=matched("text", after="Answer:")), NAMES),
    "a text to the letter": (replace(FREE, match=matched("exact")), NAMES),
    "a text within": (replace(FREE, match=matched("contains")), NAMES),
    "an option's text within": (replace(FREE, match=matched("contains")), ITEMS),
    "refusal keywords": (
        replace(READ, method="refusal_keywords"), [REQUEST, replace(REQUEST, expected="refuse")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_instrument_passes(name: str) -> None:
    setting, items = SOUND[name]
    assert failed(setting, items, "{{ stem }}" if name == "sentence pair" else T1) == {}


BROKEN = {
    "options never reach the prompt": (READ, ITEMS, "{{ stem }}", {"perfect", "reasoning"}),
    "letters are ranked that nobody sees": (
        replace(RANK, candidates="letter"), ITEMS, "{{ stem }}", {"perfect"},
    ),
    "a stop string cuts the reasoning": (
        replace(READ, stop=("\n",)), ITEMS, T1, {"reasoning", "last-line"},
    ),
    "a stop string cuts a correction": (replace(READ, stop=(",",)), ITEMS, T1, {"self-correcting"}),
    "items without options are read": (READ, [replace(ITEMS[0], options=(), gold=None, unknown=None,
                                                      matching=None)], T1, {"perfect", "reasoning"}),
    "a base model's words are read to the last line": (
        replace(READ, reader="answer_line", chat_template=False), ITEMS, T1, {"running-on"},
    ),
    "a base model runs on in words that no reader knows": (
        replace(READ, chat_template=False), ITEMS, "Ticket: {{ question }}\n\nAnswer:", {"running-on"},
    ),
    "a stop string cuts a number": (replace(FREE, stop=("4",)), SUMS, T1, {"perfect"}),
    "a number is cut behind its words": (
        replace(FREE, match=matched("number", after="The answer is"), stop=(" is",)), SUMS, T1, {"perfect"},
    ),
    "two options are the same": (
        READ, [replace(ITEMS[0], options=("The miller", "The miller", "She"))], T1, {"worst"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_instrument_is_found(name: str) -> None:
    setting, items, template, oracles = BROKEN[name]
    assert oracles <= set(failed(setting, items, template))


THINKING = {
    "letters": set[str](),
    "texts": set(),
    "a number anywhere": set(),
    "a number behind words": set(),
    "a text to the letter": set(),
    "a text within": set(),
    "refusal keywords": set(),
    "read by answer_line": {"still-thinking"},
    "read by whole_response": {"thinking"},
    "first token": {"thinking"},
}


@pytest.mark.parametrize("name", THINKING)
def test_where_models_are_told_to_think_the_readers_that_cannot_read_it_are_named(name: str) -> None:
    setting, items = SOUND[name]
    thinking = replace(setting, thinking=True, chat_template=True)
    assert set(failed(thinking, items)) == THINKING[name]
    assert failed(replace(thinking, thinking=False), items) == {}


def test_a_tie_rule_that_favours_the_gold_is_seen() -> None:
    gold_first = [replace(item, gold=0) for item in ITEMS]
    assert indifferent(RANK, sampled(RANK, gold_first)) == 0
    first = replace(RANK, ties="first")
    assert indifferent(first, sampled(first, gold_first)) == len(ITEMS)


@pytest.mark.parametrize(
    ("prompt", "text", "letter"),
    [
        ("Who?\nA. red\nB. dark red\nAnswer:", "red", "A"),
        ("Who?\nA. red\nB. dark red\nAnswer:", "dark red", "B"),
        ("Who?\nA. One\nB. One hundred", "One", "A"),
        ("Who?\nA. One\nB. One hundred", "One hundred", "B"),
        ("Who? (A) the boy (B) the girl", "the boy", "A"),
        ("Who?\nA) the boy\nB) the girl\n", "the girl", "B"),
        ("Q\nA. she\n\nQ\nA. he\nB. she\nAnswer:", "she", "B"),
        ("Who? The boy or the girl", "the girl", None),
        ("Who?", "the girl", None),
        ("Vitamin C. the girl has it", "the girl", None),
    ],
)
def test_an_oracle_sees_the_letter_that_a_model_would(prompt: str, text: str, letter: str | None) -> None:
    assert shown_label(prompt, text) == letter


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=30), st.data())
def test_the_two_tails_share_one_mass(chances: list[float], data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, len(chances)))
    low, high = poisson_binomial_tails(chances, hits)
    below = poisson_binomial_tails(chances, hits - 1)[0] if hits else 0.0
    assert below + high == pytest.approx(1)
    assert low >= below


def test_the_tails_are_the_binomial_where_all_chances_are_one() -> None:
    from scipy.stats import binom

    low, high = poisson_binomial_tails([0.25] * 80, 30)
    assert low == pytest.approx(binom.cdf(30, 80, 0.25))
    assert high == pytest.approx(binom.sf(29, 80, 0.25))


def codes(compiled: Compiled) -> set[str]:
    with pytest.raises(HazardError) as caught:
        prove_hazards(compiled.study, compiled.source)
    return {each.code for each in caught.value.diagnostics}


def lead_with_the_gold(small: Path) -> None:
    """Forty items, and options in the order of the file, which lists the right one first."""
    rows = [
        {"question": f"Which is number {n}?", "mc1_targets": {f"tool {n} {k}": int(k == 0) for k in range(4)}}
        for n in range(44)
    ]
    (small.parent / "facts.json").write_text(json.dumps(rows))


GOLD_FIRST = (('option_order = "shuffled:1"', 'option_order = "file"'), ("n = 4", "n = 40"))


def test_an_answer_key_of_one_letter_is_a_hazard_and_can_be_waived(compiled: Compile, small: Path) -> None:
    lead_with_the_gold(small)
    text = small.read_text()
    assert codes(compiled(*GOLD_FIRST)) == {"GC514"}
    small.write_text(f'{text}\n[[waive]]\ncode = "GC514"\nwhy = "the museum shows it"\n')
    waived = compiled(*GOLD_FIRST)
    prove_hazards(waived.study, waived.source)
    assert waived.study.stamped()["spec"]["waive"][0]["why"] == "the museum shows it"


def test_a_waiver_holds_only_where_it_says(compiled: Compile, small: Path) -> None:
    lead_with_the_gold(small)
    where = 'where = { template = "file" }'
    small.write_text(f'{small.read_text()}\n[[waive]]\ncode = "GC514"\nwhy = "?"\n{where}\n')
    assert codes(compiled(*GOLD_FIRST)) == {"GC514"}


def test_a_waiver_that_waives_nothing_is_refused(compiled: Compile, small: Path) -> None:
    small.write_text(f'{small.read_text()}\n[[waive]]\ncode = "GC514"\nwhy = "?"\n')
    found = compiled()
    with pytest.raises(SpecError) as caught:
        prove_hazards(found.study, found.source)
    assert [each.code for each in caught.value.diagnostics] == ["GC317"]


@pytest.mark.parametrize("code", ["GC599", "GC502x", "GC301"])
def test_only_hazards_can_be_waived(compiled: Compile, small: Path, code: str) -> None:
    small.write_text(f'{small.read_text()}\n[[waive]]\ncode = "{code}"\nwhy = "?"\n')
    with pytest.raises(SpecError):
        compiled()
