"""How an answer ended, by the reason that its provider gives: one table for every engine, batch and log.

An answer is `complete`, `cut` off at a token limit, `refused` by the provider, or it `failed` on the way. A
reason that no list here has is `unknown`: nobody can say that the answer is whole. Only what is complete, and
what stands closed before a cut, is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gridc.schema.comparison import AnswerState

AnswerEnd = Literal["complete", "cut", "refused", "failed", "unknown"]
ENDS: tuple[AnswerEnd, ...] = get_args(AnswerEnd)


FINISH: Mapping[AnswerEnd, str] = {"complete": "stop", "cut": "length"}
"""What stands beside a stored answer, by how it ended."""
FAILURE: Mapping[AnswerEnd, str] = {
    "refused": "content_filter",
    "failed": "server_error",
    "unknown": "unknown_end",
}
"""The kind of failure of a call whose answer is not kept, by how it ended."""


@dataclass(frozen=True, slots=True)
class PublishedReasons:
    """The reasons that a provider or a server publishes, as words with spaces between them, by what they say
    of the answer. One that `calls` functions is complete where functions were offered. `source` is where they
    are published, as of November 2026."""

    provider: str
    source: str
    complete: str = ""
    calls: str = ""
    cut: str = ""
    refused: str = ""
    failed: str = ""
    unknown: str = ""

    def by_end(self) -> dict[str, AnswerEnd]:
        """How an answer ended, by each reason in lower case."""
        ends = {end: getattr(self, end).casefold().split() for end in ENDS}
        ends["complete"] += self.calls.casefold().split()
        return {reason: end for end, reasons in ends.items() for reason in reasons}


PUBLISHED: tuple[PublishedReasons, ...] = (
    PublishedReasons(
        "OpenAI, chat", "https://platform.openai.com/docs/api-reference/chat/object",
        complete="stop", calls="tool_calls function_call", cut="length", refused="content_filter",
    ),
    PublishedReasons(
        "OpenAI, completions", "https://platform.openai.com/docs/api-reference/completions/object",
        complete="stop", cut="length", refused="content_filter",
    ),
    PublishedReasons(
        "OpenAI, responses (status and incomplete_details)",
        "https://platform.openai.com/docs/api-reference/responses/object",
        complete="completed", cut="max_output_tokens", refused="content_filter", failed="failed cancelled",
        unknown="in_progress queued incomplete",
    ),
    PublishedReasons(
        "Azure OpenAI", "https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter",
        complete="stop", calls="tool_calls function_call", cut="length", refused="content_filter",
    ),
    PublishedReasons(
        "Anthropic", "https://docs.anthropic.com/en/api/handling-stop-reasons",
        complete="end_turn stop_sequence", calls="tool_use",
        cut="max_tokens model_context_window_exceeded", refused="refusal", failed="pause_turn",
    ),
    PublishedReasons(
        "Google Gemini", "https://ai.google.dev/api/generate-content#FinishReason",
        complete="STOP", cut="MAX_TOKENS",
        refused="SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY "
        "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
        failed="MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE "
        "MALFORMED_RESPONSE NO_IMAGE",
        unknown="FINISH_REASON_UNSPECIFIED OTHER IMAGE_OTHER",
    ),
    PublishedReasons(
        "Google Vertex AI",
        "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse",
        complete="STOP", cut="MAX_TOKENS",
        refused="SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR",
        failed="MALFORMED_FUNCTION_CALL", unknown="FINISH_REASON_UNSPECIFIED OTHER",
    ),
    PublishedReasons(
        "Mistral", "https://docs.mistral.ai/api/",
        complete="stop", calls="tool_calls", cut="length model_length", failed="error",
    ),
    PublishedReasons(
        "Cohere, v2", "https://docs.cohere.com/reference/chat",
        complete="COMPLETE STOP_SEQUENCE", calls="TOOL_CALL", cut="MAX_TOKENS", failed="ERROR TIMEOUT",
    ),
    PublishedReasons(
        "Cohere, v1", "https://docs.cohere.com/v1/reference/chat",
        complete="COMPLETE", cut="MAX_TOKENS ERROR_LIMIT", refused="ERROR_TOXIC", failed="ERROR USER_CANCEL",
    ),
    PublishedReasons(
        "DeepSeek", "https://api-docs.deepseek.com/api/create-chat-completion",
        complete="stop", calls="tool_calls", cut="length", refused="content_filter",
        failed="insufficient_system_resource",
    ),
    PublishedReasons(
        "AWS Bedrock, Converse",
        "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html",
        complete="end_turn stop_sequence", calls="tool_use", cut="max_tokens model_context_window_exceeded",
        refused="guardrail_intervened content_filtered",
        failed="malformed_model_output malformed_tool_use",
    ),
    PublishedReasons(
        "AWS Bedrock, Titan",
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-text.html",
        complete="FINISH FINISHED STOP_CRITERIA_MET", cut="LENGTH", refused="CONTENT_FILTERED",
        failed="RAG_QUERY_WHEN_RAG_DISABLED",
    ),
    PublishedReasons(
        "Together", "https://docs.together.ai/reference/chat-completions-1",
        complete="stop eos", calls="tool_calls function_call", cut="length",
    ),
    PublishedReasons(
        "Groq", "https://console.groq.com/docs/api-reference#chat-create",
        complete="stop", calls="tool_calls function_call", cut="length",
    ),
    PublishedReasons(
        "Fireworks", "https://docs.fireworks.ai/api-reference/post-chatcompletions",
        complete="stop", calls="tool_calls function_call", cut="length",
    ),
    PublishedReasons(
        "xAI", "https://docs.x.ai/docs/api-reference#chat-completions",
        complete="stop end_turn", calls="tool_calls", cut="length",
    ),
    PublishedReasons(
        "OpenRouter (native_finish_reason is the model's own)",
        "https://openrouter.ai/docs/api-reference/overview#finish-reason",
        complete="stop", calls="tool_calls function_call", cut="length", refused="content_filter",
        failed="error",
    ),
    PublishedReasons(
        "IBM watsonx.ai", "https://cloud.ibm.com/apidocs/watsonx-ai#text-generation",
        complete="stop eos_token stop_sequence", calls="tool_calls", cut="length max_tokens token_limit",
        failed="cancelled time_limit error", unknown="not_finished",
    ),
    PublishedReasons(
        "Z.ai (Zhipu GLM)", "https://docs.z.ai/api-reference/llm/chat-completion",
        complete="stop", calls="tool_calls", cut="length model_context_window_exceeded",
        refused="sensitive", failed="network_error",
    ),
    PublishedReasons(
        "Alibaba Model Studio", "https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference",
        complete="stop", calls="tool_calls", cut="length", unknown="null",
    ),
    PublishedReasons(
        "AI21", "https://docs.ai21.com/reference/j2-complete-ref",
        complete="stop endoftext", cut="length",
    ),
    PublishedReasons(
        "Aleph Alpha", "https://docs.aleph-alpha.com/api/complete/",
        complete="end_of_text stop_sequence_reached", cut="maximum_tokens",
    ),
    PublishedReasons(
        "vLLM", "https://github.com/vllm-project/vllm/blob/main/vllm/v1/engine/__init__.py",
        complete="stop", calls="tool_calls", cut="length", failed="abort error repetition",
    ),
    PublishedReasons(
        "SGLang",
        "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/schedule_batch.py",
        complete="stop", calls="tool_calls function_call", cut="length", refused="content_filter",
        failed="abort",
    ),
    PublishedReasons(
        "Text Generation Inference",
        "https://huggingface.co/docs/text-generation-inference/reference/api_reference",
        complete="stop eos_token stop_sequence", calls="tool_calls", cut="length",
    ),
    PublishedReasons(
        "llama.cpp", "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        complete="stop eos word", calls="tool_calls", cut="length limit", unknown="none",
    ),
    PublishedReasons(
        "Ollama", "https://github.com/ollama/ollama/blob/main/docs/api.md",
        complete="stop", calls="tool_calls", cut="length", failed="load unload",
    ),
    PublishedReasons(
        "TensorRT-LLM",
        "https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/executor/result.py",
        complete="stop", calls="tool_calls", cut="length", failed="timeout cancelled", unknown="not_finished",
    ),
    PublishedReasons(
        "Vercel AI SDK", "https://ai-sdk.dev/docs/reference/ai-sdk-core/generate-text",
        complete="stop", calls="tool-calls", cut="length", refused="content-filter", failed="error",
        unknown="other unknown",
    ),
    PublishedReasons(
        "Inspect", "https://inspect.aisi.org.uk/reference/inspect_ai.model.html#stopreason",
        complete="stop", calls="tool_calls", cut="max_tokens model_length", refused="content_filter",
        unknown="unknown",
    ),
)  # fmt: skip

BY_REASON: Mapping[str, AnswerEnd] = {
    reason: end for published in PUBLISHED for reason, end in published.by_end().items()
}
"""How an answer ended, by the reason in lower case."""

CALLING = frozenset(word for published in PUBLISHED for word in published.calls.casefold().split())
"""The reasons that say that functions are called."""

NO_REASON = frozenset({"", "none", "null", "unknown"})
"""What stands in logs in the place of a reason."""


def end_of_reason(reason: str) -> AnswerEnd:
    """How an answer ended that has this reason."""
    return BY_REASON.get(reason.casefold(), "unknown")


def reason_in(document: Mapping[str, Any]) -> tuple[AnswerEnd | None, str]:
    """How the answer in a response of any of these protocols ended, and the reason that it gives; None where
    it gives none. A reason of the model's own, beside one that a broker gives, counts where it says more."""
    feedback = document.get("promptFeedback")
    if isinstance(feedback, Mapping) and feedback.get("blockReason"):
        return "refused", str(feedback["blockReason"])
    choice = _first(document, "choices") or {}
    # vLLM says beside it, as `stop_reason`, which token or text ended the answer: that is no reason.
    stated = (
        _word(choice, "finish_reason")
        or _word(_first(document, "candidates") or {}, "finishReason")
        or _word(document, "stop_reason")
    )
    own = _word(choice, "native_finish_reason")
    if own is not None and stated is not None and end_of_reason(stated) == "complete":
        end = end_of_reason(own)
        if end in ("cut", "refused", "failed"):
            return end, own
    return (None, "") if stated is None else (end_of_reason(stated), stated)


def _first(document: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    listed = document.get(key)
    found = listed[0] if isinstance(listed, list) and listed else None
    return found if isinstance(found, Mapping) else None


def _word(choice: Mapping[str, Any], key: str) -> str | None:
    """A reason as a text; SGLang and HELM have a table around it, with details."""
    found = choice.get(key)
    if isinstance(found, Mapping):
        found = found.get("type") or found.get("reason") or str(dict(found))
    return None if found is None or found == "" else str(found)


def logged_end(reason: object) -> AnswerState:
    """The state of an answer that a log has this reason of; one without a reason is read. As in a run of our
    own, a reason that no list has is a failure."""
    # White space, and characters that nobody sees, say nothing.
    seen = "".join(filter(str.isprintable, "" if reason is None else str(reason))).strip()
    return "read" if seen.casefold() in NO_REASON else _LOGGED[end_of_reason(seen)]


_LOGGED: Mapping[AnswerEnd, AnswerState] = {
    "complete": "read", "cut": "cut", "refused": "refused", "failed": "failed", "unknown": "failed",
}  # fmt: skip
