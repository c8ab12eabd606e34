"""How a prompt is divided from its candidates, and what becomes of one that does not fit."""

from typing import Any

import pytest

from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import HazardError
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings

pytest.importorskip("torch")

from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.hf.sequences import Member


@pytest.fixture(scope="module", params=["pocket-llama", "pocket-qwen2"])
def engine(request: pytest.FixtureRequest) -> HfEngine:
    return HfEngine("pocket", BUILTIN_MODELS / request.param, "fp32", EngineSettings())


def members(engine: HfEngine, prompt: Prompt, **parameters: Any) -> list[Member]:
    kind = "loglikelihood" if "continuations" in parameters else "generate"
    (batch,) = engine.batches([Call("c", kind, prompt, parameters)])
    found: list[Member] = list(batch.work.members)
    return found


def said(text: str, *shorter: str) -> Prompt:
    return Prompt((("user", text),), False, shorter)


def ids(engine: HfEngine, text: str) -> tuple[int, ...]:
    return engine.prompts.tokenizer.encode([text], special=True)[0]


def test_by_its_context_a_candidate_begins_behind_as_many_tokens_as_the_prompt_has(engine: HfEngine) -> None:
    texts = [" the kettle", " a ladder"]
    found = members(engine, said("Which is it? "), continuations=texts, seam="context_length")
    context = ids(engine, "Which is it?")
    for member, text in zip(found, texts, strict=True):
        assert member.prompt == context
        assert member.given == ids(engine, f"Which is it? {text}")[len(context) :]


def test_by_the_shared_prefix_the_whole_text_is_what_is_tokenized(engine: HfEngine) -> None:
    texts = [" the kettle", " a ladder"]
    for member, text in zip(members(engine, said("Which is it?"), continuations=texts), texts, strict=True):
        assert member.given
        assert member.prompt + member.given == ids(engine, f"Which is it?{text}")


@pytest.mark.parametrize("seam", ["shared_prefix", "context_length"])
def test_behind_an_empty_prompt_stands_one_token(engine: HfEngine, seam: str) -> None:
    first = engine.prompts.tokenizer.bos_token_id
    begin = engine.prompts.tokenizer.eos_token_id if first is None else first
    (found, other) = members(engine, said(""), continuations=["They are late.", "We are."], seam=seam)
    assert found.prompt == other.prompt == (begin,)
    assert found.given == ids(engine, "They are late.")


def test_a_candidate_without_a_token_is_refused(engine: HfEngine) -> None:
    with pytest.raises(HazardError) as caught:
        members(engine, said("Which is it?"), continuations=["", " a ladder"], seam="context_length")
    assert [each.code for each in caught.value.diagnostics] == ["GC512"]


LONG = "word " * 3000


def test_a_prompt_that_does_not_fit_is_asked_with_the_most_exemplars_that_do(engine: HfEngine) -> None:
    prompt = said(f"{LONG}{LONG}Who?", f"{LONG}Who?", "One. Who?", "Who?")
    (found,) = members(engine, prompt, max_tokens=4, temperature=0)
    assert (found.prompt, found.dropped) == (ids(engine, "One. Who?"), 2)


def test_one_that_fits_is_asked_whole(engine: HfEngine) -> None:
    (found,) = members(engine, said("One. Who?", "Who?"), max_tokens=4, temperature=0)
    assert (found.prompt, found.dropped) == (ids(engine, "One. Who?"), 0)


@pytest.mark.parametrize("shorter", [(), (f"{LONG}Who?",)])
def test_a_question_that_does_not_fit_is_never_cut(engine: HfEngine, shorter: tuple[str, ...]) -> None:
    with pytest.raises(HazardError) as caught:
        members(engine, said(f"{LONG}{LONG}Who?", *shorter), max_tokens=4, temperature=0)
    assert [each.code for each in caught.value.diagnostics] == ["GC503"]


def test_what_was_dropped_is_stored_with_the_answer(engine: HfEngine) -> None:
    calls = [Call("c", "generate", said(f"{LONG}Who?", "Who?"), {"max_tokens": 2, "temperature": 0})]
    (batch,) = engine.batches(calls)
    ((answer,), _) = engine.answer(batch, frozenset({"c"}))
    assert answer.sent["exemplars_dropped"] == 1


def test_what_fits_does_not_depend_on_the_other_calls_of_the_prompt(engine: HfEngine) -> None:
    prompt = said("word " * 1990 + "Who?", "Who?")
    short = Call("a", "generate", prompt, {"max_tokens": 1, "temperature": 0})
    long = Call("b", "generate", prompt, {"max_tokens": 1500, "temperature": 0})
    assert dropped(engine, short, long) == {**dropped(engine, short), **dropped(engine, long)}


def dropped(engine: HfEngine, *calls: Call) -> dict[str, int]:
    return {member.call: member.dropped for batch in engine.batches(calls) for member in batch.work.members}
