"""Each effect key changes what its row says it changes, and nothing where its row says so.

The settings are tried on real items and prompts, with a value for each key that the language itself gives:
its choices, its bounds or its examples. A key that the schema knows and nothing reads is found here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import TypeAdapter

from gridc.compiler.compile import compile_spec
from gridc.compiler.grid.cells import Cell
from gridc.compiler.grid.configurations import ORDERS, setting_fields
from gridc.compiler.inputs.items import VariantItems
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import Unmatchable
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import NoCandidates
from gridc.compiler.instrument.points import ScorerError, Vote
from gridc.compiler.instrument.score import READ, score_sample
from gridc.compiler.instrument.setting import EFFECTS, KEYS, Setting
from gridc.compiler.lowering.calls import PlannedSample, Request
from gridc.compiler.lowering.requests import Asker
from gridc.diagnostics.errors import SpecError
from gridc.schema.effects import Effects, Match, Method, Scorer
from gridc.schema.items import UnitLevel

PROMPT = "{{ question }}{{ tone | default('') }}\nAnswer:{{ answer }}"
SAME = Match.model_validate({"as": "exact"})
LENGTH = Scorer(function="python:scorers.py:length")
REPLIES = (
    "A",
    "The answer is B.\n\nANSWER: C",
    "I'm sorry, but I cannot help with that.",
    "Certainly.\n\nThe answer is A.",
    "ANSWER: B",
)


UNASKED = ("label", "logged")
"""What a setting alone says nothing of: judges are asked, and logs of other packages are read."""


def scored(scorer: Scorer, item: Item, response: str, replies: Sequence[str]) -> float:
    """What a function gives: each name stands for another one."""
    return round((len(scorer.function) * len(response) % 17) / 17, 4)


def unwrapped(annotation: Any) -> Any:
    """What a key holds when it is set."""
    return next((each for each in get_args(annotation) if each is not type(None)), annotation)


def values(key: str) -> Iterator[Any]:
    """Values of a key as a setting holds them, from the language: examples, choices, or bounds."""
    for value in _stated(key):
        value = value.model_dump(exclude_none=True) if key == "separators" else value
        yield setting_fields({key: value})[key]


def _stated(key: str) -> Iterator[Any]:
    field = Effects.model_fields[key]
    kind: Any = field.annotation
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    while get_origin(kind) is not Literal and len(get_args(kind)):
        kind = unwrapped(kind)
    if field.examples:
        yield from (adapter.validate_python(each) for each in field.examples)
    elif get_origin(kind) is Literal:
        yield from get_args(kind)
    elif kind is bool:
        yield from (True, False)
    elif kind in (int, float):
        bounds = TypeAdapter(Effects).json_schema()["properties"][key]["anyOf"][0]
        low, high = (bounds.get(name, 1) for name in ("minimum", "maximum"))
        yield from (kind(low), kind(low + 1)) if kind is int else (kind(high) / 2, kind(high))
    else:
        pytest.fail(f"give `{key}` an example in the schema")


def bases() -> list[Setting]:
    """Settings to try a key in: every method, with and without what other keys depend on."""
    executed = [method for method, row in METHODS.items() if row.reads not in UNASKED]
    made = []
    for method, options, shots, temperature, system, normalise in product(
        executed, ("lettered", "none"), (0, 2), (0.0, 0.7), (None, "Be brief."), ("none", "unconditional")
    ):
        if (METHODS[method].ranks and temperature) or (METHODS[method].reads and normalise != "none"):
            continue
        for candidates in METHODS[method].candidates if METHODS[method].ranks else ("option_text",):
            stated: dict[str, Any] = {"options": options, "normalise": normalise, "candidates": candidates}
            stated |= {"shots": shots, "temperature": temperature, "system": system}
            stated |= {"replicates": len(REPLIES) if temperature and not METHODS[method].ranks else 1}
            made.append(
                Setting(
                    prompt=PROMPT, method=method, option_order="file", match=SAME, scorer=LENGTH, **stated
                )
            )
    return Random(1).sample(made, len(made))


class Bench:
    """The calls and the outcomes of a setting on the small study's items."""

    def __init__(self, path: Path) -> None:
        study = compile_spec(path).study
        texts = dict.fromkeys(values("prompt"), "Say it. {{ question }}")
        texts |= {text: text for text in (PROMPT, *values("wrapper"))}
        facts = study.items["facts"]
        german = {each.id: replace(each, query=f"Also: {each.query}") for each in facts.source.every}
        paired = tuple(replace(each, family=f"{n // 2}") for n, each in enumerate(facts.sampled))
        variants = {name: VariantItems(german, {}) for name in values("variant")}
        facts = replace(facts, sampled=paired, variants=variants)
        items = {**study.items, "facts": facts}
        self.study: Study = replace(study, prompts={**study.prompts, **texts}, items=items)
        self._asker = Asker(self.study)

    def of(self, setting: Setting) -> tuple[Any, Any, Any] | None:
        """Prompts, distinct calls, and outcomes of the same answers; None where the setting
        cannot be asked of these items."""
        if METHODS[setting.method].reads in UNASKED:
            return None
        cell = Cell("left", "facts", {}, setting)
        try:
            samples = list(self._asker.samples(cell))
            outcomes = {sample.item.id: list(self.outcomes(setting, sample)) for sample in samples}
        except (SpecError, NoCandidates, Unmatchable, ScorerError):
            return None
        if setting.all_of is not None:
            outcomes = self.together(setting.all_of, samples, outcomes)
        prompts = {each.item.id: each.requests[0].prompt.as_json() for each in samples}
        requests = {self.unordered(request) for each in samples for request in each.requests}
        return prompts, requests, outcomes

    @staticmethod
    def together(level: UnitLevel, samples: Sequence[PlannedSample], outcomes: dict[str, Any]) -> Any:
        """The least of each group's outcomes, in place of those of its items."""
        groups: dict[str, list[Any]] = {}
        for sample in samples:
            groups.setdefault(sample.item.at(level), []).append(outcomes[sample.item.id])
        return {sample.item.id: min(groups[sample.item.at(level)], key=repr) for sample in samples}

    @staticmethod
    def unordered(request: Request) -> str:
        """A call; candidates are ranked each by itself, so that their order is no part of it."""
        stated = request.as_json()
        return repr({**stated, "continuations": sorted(stated.get("continuations", ()))})

    @staticmethod
    def outcomes(setting: Setting, sample: PlannedSample) -> Iterator[Any]:
        """What the same answers come to."""
        item = sample.item
        turn = sum(item.id.encode()) % len(REPLIES)  # so that items do not all fare alike
        answers: list[list[dict[str, Any]]] = [
            [{"text": reply}] for reply in (*REPLIES[turn:], *REPLIES[:turn])
        ]
        if setting.ranks:
            texts = [request.parameters["continuations"] for request in sample.requests]
            answers = [
                [
                    {
                        "loglikelihoods": [-1.0 - (len(text) * seed) % 3 for text in row],
                        "tokens": [1 + len(text.split()) for text in row],
                    }
                    for row in texts
                ]
                for seed in range(1, 5)
            ]
        votes = []
        for answer in answers:
            found = score_sample(setting, item, answer, scorers=scored)
            votes.append(Vote(found.choice, found.score))
            if METHODS[setting.method].reads not in (None, "option", "scored"):  # items here have options
                yield found.choice
            else:  # which of several tied options is named is no part of it
                yield found.choice is None, found.score
        asked = setting.effective()
        graded = METHODS[setting.method].reads in (None, "option", "free_text")  # by what the items state
        if graded and not setting.gives_numbers:
            earned = asked.item_score(votes[: asked.replicates])
            yield Fraction(earned, asked.outcomes_of_item * asked.item_scale)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    from tests.compiler.conftest import make_study

    return Bench(make_study(tmp_path_factory.mktemp("effects")))


def test_the_language_the_setting_and_the_tables_name_the_same() -> None:
    assert list(EFFECTS) == list(KEYS)
    assert set(KEYS) == Effects.model_fields.keys() - {"measurand", *ORDERS.values()}
    assert METHODS.keys() == set(get_args(Method))
    assert {row.reads for row in METHODS.values() if not row.ranks} == {*READ, *UNASKED, "scored"}
    assert all(row.fixes.keys() <= EFFECTS.keys() for row in METHODS.values())
    assert all(
        (row.names(("good",), None) is None) is (row.ranks or row.reads_option) for row in METHODS.values()
    )


@pytest.mark.parametrize("key", EFFECTS)
def test_a_key_changes_what_its_row_says(key: str, bench: Bench) -> None:
    changed: set[str] = set()
    ranked = key in (
        "method",
        "candidates",
    )  # the answers that exemplars show are in the form of what is ranked
    tried = [base for base in bases() if not (ranked and base.shots)][:25]
    for base, value in product(tried, values(key)):
        before, after = bench.of(base), bench.of(replace(base, **{key: value}))
        if before is not None and after is not None:
            parts = zip(("prompt", "request", "score"), before, after, strict=True)
            changed.add(next((part for part, old, new in parts if old != new), "nothing"))
    order = ("prompt", "request", "score", "nothing")
    acts = any(  # what is of judges alone is tried end to end
        not EFFECTS[key].idle(replace(base, **{key: value})) for base in bases() for value in values(key)
    )
    assert min(changed, key=order.index) == (EFFECTS[key].changes if acts else "nothing")


def test_what_is_idle_changes_nothing_and_what_only_scores_sends_the_same_calls(bench: Bench) -> None:
    equal = 0
    every = [(key, value) for key in EFFECTS for value in values(key) if key not in ("scaffold", "method")]
    for base in bases()[:20]:
        before = bench.of(base)
        for key, value in every:
            other = replace(base, **{key: value})
            idle, same_calls = other.effective() == base.effective(), other.asked == base.asked
            if other == base or not (idle or same_calls):
                continue
            after = bench.of(other)
            if before is None or after is None:
                continue
            equal += 1
            assert before[:2] == after[:2], (base, key, value)
            if idle:
                assert before[2] == after[2], (base, key, value)
    assert equal > 100
