"""What is sent, and what a response says, against documents written by hand."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from gridc.compiler.lowering.calls import Prompt
from gridc.runtime.engines.api import wire
from gridc.runtime.engines.api.wire import RequestError, failure_of_status, retry_seconds
from gridc.schema.canonical import digest

THINKS = {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}
CHAT = Prompt((("system", "Be brief."), ("user", "Why?")), True)
USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 7,
    "total_tokens": 19,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


def response(**changes: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Because.", **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **changes.pop("choice", {})}
    return {"model": "m-1", "system_fingerprint": "fp", "choices": [choice], "usage": USAGE, **changes}


def test_every_sampling_parameter_is_sent() -> None:
    call = "00ff" * 16
    asked = wire.asked_parameters(
        call,
        CHAT,
        {"max_tokens": 9, "temperature": 0.7, "top_p": 0.9, "seed": 5, "item": "i", "replicate": 2},
        None,
    )
    path, body = wire.generation_body("m", CHAT, asked, "openai", frozenset())
    assert path == "/chat/completions"
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "max_tokens": 9,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 0x00FF00FF,
        "n": 1,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
    }
    _, vllm = wire.generation_body("m", CHAT, asked, "vllm", frozenset({"seed", "n"}))
    assert vllm["top_k"] == -1
    assert vllm["repetition_penalty"] == 1.0
    assert not {"seed", "n"} & vllm.keys()


def test_functions_are_sent_as_the_protocol_has_them_and_counted() -> None:
    functions = '[{"name": "add", "parameters": {"properties": {"b": {}, "a": {}}}}]'
    given = replace(CHAT, functions=functions)
    _, body = wire.generation_body("m", given, {}, "openai", frozenset())
    (tool,) = body["tools"]
    assert tool == {
        "type": "function",
        "function": {"name": "add", "parameters": {"properties": {"b": {}, "a": {}}}},
    }
    assert list(tool["function"]["parameters"]["properties"]) == ["b", "a"]
    assert wire.most_tokens(given, 5)[0] > wire.most_tokens(CHAT, 5)[0] + len(functions)
    assert given.id != CHAT.id and given.saying("What?").functions == functions
    assert given.characters == CHAT.characters + len(functions)


def called(*calls: Any) -> dict[str, Any]:
    listed = [{"id": "c", "type": "function", "function": call} for call in calls]
    return {"message": {"content": None, "tool_calls": listed}, "choice": {"finish_reason": "tool_calls"}}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (called({"name": "f", "arguments": '{"a": [1, "ü"]}'}),
         '{"content": "", "calls": [{"name": "f", "arguments": {"a": [1, "ü"]}}]}'),
        (called({"name": "f", "arguments": '{"a": 1'}, {"name": "g", "arguments": {"a": 1}}),
         '{"content": "", "calls": [{"name": "f", "arguments": "{\\"a\\": 1"}, '
         '{"name": "g", "arguments": {"a": 1}}]}'),
        (called({"name": "f", "arguments": '{"a": 1, "a": 2}'}),
         '{"content": "", "calls": [{"name": "f", "arguments": "{\\"a\\": 1, \\"a\\": 2}"}]}'),
        (called({"name": "f", "arguments": '{"a": NaN}'}),
         '{"content": "", "calls": [{"name": "f", "arguments": "{\\"a\\": NaN}"}]}'),
        (called({"name": "f", "arguments": "[1]"}),
         '{"content": "", "calls": [{"name": "f", "arguments": "[1]"}]}'),
        (called({"name": "f"}), '{"content": "", "calls": [{"name": "f", "arguments": null}]}'),
        ({}, '{"content": "Because.", "calls": []}'),
        ({"message": {"content": '{"calls": 1}', "tool_calls": None}},
         '{"content": "{\\"calls\\": 1}", "calls": []}'),
        ({"message": {"content": None}, "choice": {"finish_reason": "length"}},
         '{"content": "", "calls": []}'),
    ],
)  # fmt: skip
def test_a_reply_with_functions_is_json_of_its_content_and_calls(changes: dict[str, Any], text: str) -> None:
    assert wire.read_completion(response(**changes), True, calls=True).text == text


@pytest.mark.parametrize(
    "calls",
    [[{"function": {"arguments": "{}"}}], [{"type": "function"}], ["f"], "f", 7, [{"function": None}]],
)
def test_a_call_without_a_function_is_no_answer(calls: Any) -> None:
    document = response(message={"content": None, "tool_calls": calls})
    with pytest.raises(RequestError) as raised:
        wire.read_completion(document, True, calls=True)
    assert raised.value.kind == "unreadable"


def test_calls_that_nobody_offered_are_no_answer() -> None:
    with pytest.raises(RequestError, match="none was offered"):
        wire.read_completion(response(**called({"name": "f", "arguments": "{}"})), True)


@pytest.mark.parametrize(
    ("thinking", "server", "said"),
    [
        (None, "vllm", {}),
        (True, "vllm", {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}),
        (False, "llama.cpp", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
        ("low", "sglang", {"reasoning_effort": "low"}),
        ("high", "openai", {"reasoning_effort": "high"}),
        ("medium", None, {"reasoning_effort": "medium"}),
        (False, None, {"reasoning_effort": "none"}),
        ("xhigh", "openai", {"reasoning_effort": "xhigh"}),
        (512, "vllm", {**THINKS, "thinking_token_budget": 512}),
        (512, "sglang", {**THINKS, "custom_params": {"thinking_budget": 512}}),
        (512, "llama.cpp", {**THINKS, "thinking_budget_tokens": 512}),
        (512, None, {"thinking": {"type": "enabled", "budget_tokens": 512}}),
    ],
)
def test_whether_a_model_thinks_is_said_as_who_answers_takes_it(
    thinking: Any, server: Any, said: dict[str, Any]
) -> None:
    greedy = {"max_tokens": 9, "temperature": 0.0}
    prompt = replace(CHAT, thinking=thinking)
    assert wire.asked_parameters("0" * 64, prompt, greedy, server) == {**greedy, **said}
    assert prompt.saying("Why not?").thinking == thinking
    assert (prompt.id == CHAT.id) is (thinking is None)


def test_neighbouring_replicates_have_seeds_that_are_no_neighbours() -> None:
    seeds = sorted(
        wire.asked_parameters(digest(["call", n]), CHAT, {"temperature": 1.0, "seed": 1}, None)["seed"]
        for n in range(500)
    )
    assert len(set(seeds)) == 500
    assert min(b - a for a, b in pairwise(seeds)) > 1
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_plain_prompt_goes_to_completions() -> None:
    path, body = wire.generation_body(
        "m", Prompt((("user", "Once"),), False), {"max_tokens": 3}, "openai", frozenset()
    )
    assert (path, body["prompt"]) == ("/completions", "Once")


def test_a_response_is_read_whole() -> None:
    reply = wire.read_completion(response(), chat=True)
    assert (reply.text, reply.end, reply.model, reply.fingerprint) == ("Because.", "complete", "m-1", "fp")
    assert reply.usage == {
        "prompt_tokens": 12, "completion_tokens": 7, "cached_tokens": 4, "reasoning_tokens": 3,
    }  # fmt: skip
    assert not reply.problems


def test_an_empty_answer_is_an_answer_and_a_refusal_is_told_apart() -> None:
    assert wire.read_completion(response(message={"content": ""}), chat=True).text == ""
    refused = wire.read_completion(response(message={"content": None, "refusal": "I can't."}), chat=True)
    assert (refused.text, refused.refused) == ("I can't.", True)
    cut = wire.read_completion(
        response(message={"content": None}, choice={"finish_reason": "length"}), chat=True
    )
    assert (cut.text, cut.end, cut.thought) == ("", "cut", 0)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize(("finish", "end"), [("length", "cut"), ("stop", "complete")])
def test_a_thought_apart_from_the_answer_is_counted_and_is_no_answer(
    name: str, finish: str, end: str
) -> None:
    said = response(message={"content": None, name: "Well, now."}, choice={"finish_reason": finish})
    reply = wire.read_completion(said, chat=True)
    assert (reply.text, reply.end, reply.thought) == ("", end, 10)


@pytest.mark.parametrize(
    ("counted", "thought", "known"),
    [
        ({"completion_tokens_details": {"reasoning_tokens": 3}}, "Well.", 3),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, "", 0),
        ({"completion_tokens_details": {"reasoning_tokens": 0}}, "Well.", None),
        ({"completion_tokens_details": None, "reasoning_tokens": 3}, "Well.", 3),
        ({"completion_tokens_details": None, "reasoning_tokens": 0}, "Well.", None),
        ({"completion_tokens_details": None}, "Well.", None),
    ],
)
def test_tokens_of_a_thought_are_those_that_the_server_counts(
    counted: dict[str, Any], thought: str, known: int | None
) -> None:
    said = response(message={"reasoning_content": thought}, usage={**USAGE, **counted})
    assert wire.read_completion(said, chat=True).usage.get("reasoning_tokens") == known


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        ({"input_tokens": 3, "output_tokens": 9}, None),
        ({"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 3}}, 3),
        ({"completion_tokens_details": {"reasoning_tokens": 3}}, 3),
    ],
)
def test_what_a_library_counts_of_a_thought_is_not_what_its_provider_does(
    usage: dict[str, Any], known: int | None
) -> None:
    original = {"stop_reason": "end_turn", "usage": usage}
    assert (
        wire.read_completion(response(), chat=True, original=original).usage.get("reasoning_tokens") == known
    )
    gemini = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"thoughtsTokenCount": 3}}
    assert wire.read_completion(response(), chat=True, original=gemini).usage["reasoning_tokens"] == 3


def test_providers_with_a_form_of_their_own() -> None:
    budget, off = replace(CHAT, thinking=512), replace(CHAT, thinking=False)
    said = wire.asked_parameters("0" * 64, budget, {}, None, "openrouter/qwen/qwen3-32b")
    assert said == {"reasoning": {"max_tokens": 512}}
    said = wire.asked_parameters("0" * 64, off, {}, None, "anthropic/claude-sonnet-4-5")
    assert said == {"thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({}, "unreadable"),
        ({"choices": []}, "unreadable"),
        ({"choices": "no"}, "unreadable"),
        (response(message={"content": None}), "unreadable"),
        (response(message={"content": 5}), "unreadable"),
        (response(choice={"finish_reason": "content_filter"}), "content_filter"),
        ({"error": {"message": "overloaded"}}, "server_error"),
    ],
)
def test_what_is_no_answer_is_a_typed_failure(document: dict[str, Any], kind: str) -> None:
    with pytest.raises(RequestError) as caught:
        wire.read_completion(document, chat=True)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": 1, "completion_tokens": "two"},
        {"prompt_tokens": True, "completion_tokens": 2},
        {**USAGE, "total_tokens": 3},
    ],
)
def test_counts_that_cannot_be_right_are_told(usage: Any) -> None:
    counts, problems = wire.counted_tokens(usage)
    assert problems
    assert all(type(value) is int and value >= 0 for value in counts.values())


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (307, "", "redirect"),
        (400, '{"error": {"message": "x", "code": "context_length_exceeded"}}', "context_length"),
        (400, '{"error": {"message": "prompt is too long: 9 tokens"}}', "context_length"),
        (400, '{"error": {"code": "content_filter"}}', "content_filter"),
        (400, '{"error": {"message": "temperature is not supported"}}', "bad_request"),
        (400, """{"message": "'reasoning_effort' does not support 'minimal' with this model"}""", "thinking"),
        (400, """{"loc": ["body", "reasoning_effort"], "msg": "Input should be 'low'"}""", "thinking"),
        (400, '{"error": {"message": "thinking.enabled.budget_tokens: at least 1024"}}', "thinking"),
        (422, '{"detail": "thinking_token_budget is set but reasoning_config is not"}', "thinking"),
        (500, '{"error": {"message": "reasoning_effort"}}', "server_error"),
        (401, "", "key"),
        (402, "", "quota"),
        (403, "", "key"),
        (404, '{"error": {"message": "no such model"}}', "no_model"),
        (400, '{"error": {"message": "The model `x` does not exist"}}', "no_model"),
        (408, "", "timeout"),
        (413, "", "context_length"),
        (429, "", "rate_limit"),
        (429, '{"error": {"code": "insufficient_quota"}}', "quota"),
        (500, "", "server_error"),
        (529, "", "server_error"),
    ],
)
def test_a_status_is_one_kind_of_failure(status: int, body: str, kind: str) -> None:
    assert failure_of_status(status, {}, body).kind == kind


@pytest.mark.parametrize(
    ("header", "wait"),
    [(None, None), ("3", 3.0), ("0.5", 0.5), ("-5", 0.0), ("soon", None), ("nan", None), ("1e9", 1e9),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("Wed, 21 Oct 2015 07:28:00 +9999999999999", None)],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(header: str | None, wait: float | None) -> None:
    assert retry_seconds(header) == wait


def test_a_date_without_a_zone_says_nothing() -> None:
    assert retry_seconds("Wed, 21 Oct 2015 07:28:00") is None
