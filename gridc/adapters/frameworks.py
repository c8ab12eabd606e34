"""LangChain and the OpenAI Agents SDK as scaffolds: a model of theirs whose every call is gridc's.

These frameworks drive themselves. An adapter gives one a model object of its own kind, whose every call is a
call of gridc: stored, budgeted, batched across items and resumed by replay.

What a user writes is a function `(scaffold, task, model) -> answer`. The model is one object for the whole
process, so that a graph can be built once; which item asks is kept in a context variable, which frameworks
carry into their threads and tasks.

Branches of a LangGraph that could run side by side run one after another, so that it always asks in one
order; the items of a study still take each step together. Nothing is traced to LangSmith.
"""

from asyncio import new_event_loop, set_event_loop
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import fields
from typing import Any, NoReturn

from gridc.compiler.instrument.scaffolds.turns import (
    AskModel,
    FunctionProcedure,
    Messages,
    Replay,
    Task,
    follow,
)
from gridc.schema.effects import Scaffold

Driven = Callable[[Scaffold, Task, Any], Any]
"""What a user writes: a scaffold, a task and a model of the framework in, the answer out."""

ASKING: ContextVar[Replay] = ContextVar("ASKING")
"""The replay of the item that asks."""

TOOLS = "a call of gridc gives only text: write the tool into the prompts, as gridc's react does"
SAMPLING = "state it in the spec, where it is stamped and holds for every call"


def framework_procedure(
    function: Driven, model: Callable[[], Any], packages: tuple[str, ...]
) -> FunctionProcedure:
    """The procedure of a function that a framework drives. `model` makes the framework's model, once."""
    made: list[Any] = []

    def run(scaffold: Scaffold, task: Task, ask: AskModel) -> str:
        assert isinstance(ask, Replay)
        made[:] = made or [model()]
        token = ASKING.set(ask)
        try:
            return text_of_answer(function(scaffold, task, made[0]))
        finally:
            ASKING.reset(token)

    return follow(run, packages)


def text_of_answer(answer: Any) -> str:
    """The text of an answer: itself, or the `content` of a message. Raises `TypeError`."""
    text = answer if isinstance(answer, str) else getattr(answer, "content", None)
    if not isinstance(text, str):
        raise TypeError(f"it returns {type(answer).__name__}, and not a text or a message")
    return text


LANGCHAIN = ("langchain-core", "langgraph")
ROLES = {"system": "system", "human": "user", "ai": "assistant"}


def langchain(function: Driven) -> FunctionProcedure:
    """The procedure of a function `(scaffold, task, model) -> answer`, where `model` is a chat model for the
    chains, graphs and agents of LangChain and LangGraph. The answer is a text or a message that the model
    gave. A step is called after the node of the graph that asks."""

    def alone(scaffold: Scaffold, task: Task, model: Any) -> Any:
        from langchain_core.runnables.config import var_child_runnable_config
        from langsmith import tracing_context

        token = var_child_runnable_config.set({"max_concurrency": 1})
        try:
            with tracing_context(enabled=False):
                return function(scaffold, task, model)
        finally:
            var_child_runnable_config.reset(token)

    return framework_procedure(alone, _chat_model, LANGCHAIN)


def _chat_model() -> Any:
    """One chat model; which item asks through it is the context's to say."""
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class AskingChatModel(BaseChatModel):  # type: ignore[misc] # the package may not be here
        """Asks gridc."""

        def __hash__(self) -> int:
            return id(self)  # so that a graph can be built once, under `functools.cache`

        @property
        def _llm_type(self) -> str:
            return "gridc"

        def _generate(
            self,
            messages: list[BaseMessage],
            stop: list[str] | None = None,
            run_manager: Any = None,
            **kwargs: Any,
        ) -> ChatResult:
            replay = ASKING.get()
            if stop:
                replay.refuse(f"it asks with stop strings of its own ({stop})", SAMPLING)
            if kwargs:
                replay.refuse(f"it asks with parameters of its own ({', '.join(sorted(kwargs))})", SAMPLING)
            text = replay(_chat_messages(messages), _node(run_manager))
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

        def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> NoReturn:
            ASKING.get().refuse("it gives the model tools to call", TOOLS)

        def with_structured_output(self, schema: Any, **kwargs: Any) -> NoReturn:
            ASKING.get().refuse("it asks for structured output", TOOLS)

    return AskingChatModel(cache=False)


def _node(run_manager: Any) -> str:
    """The node of the graph that asks, if any."""
    about = getattr(run_manager, "metadata", None) or {}
    return str(about.get("langgraph_node") or "call")


def _chat_messages(messages: Sequence[Any]) -> Messages:
    return tuple((_role(message), _content(message)) for message in messages)


def _role(message: Any) -> str:
    if message.type not in ROLES:
        ASKING.get().refuse(f"it sends a message of the kind `{message.type}`", TOOLS)
    return ROLES[message.type]


def _content(message: Any) -> str:
    """The text of a message, of one block or several."""
    blocks = [message.content] if isinstance(message.content, str) else message.content
    for block in blocks:
        if not isinstance(block, str) and block.get("type") != "text":
            ASKING.get().refuse(f"it sends a block of the kind `{block.get('type')}`", TOOLS)
    if getattr(message, "tool_calls", None):
        ASKING.get().refuse("it sends a tool call", TOOLS)
    return "".join(block if isinstance(block, str) else block["text"] for block in blocks)


OPENAI_AGENTS = ("openai-agents",)
TEXTS = ("input_text", "output_text", "text")


def openai_agents(function: Driven) -> FunctionProcedure:
    """The procedure of a function `(scaffold, task, model) -> answer`, where `model` is a `Model` for the
    agents of the SDK. The answer is a text that the model gave, such as `final_output` of a run."""

    def apart(scaffold: Scaffold, task: Task, model: Any) -> Any:
        # `Runner.run_sync` takes the event loop of its thread, which must not run, and leaves it open.
        def inside() -> Any:
            loop = new_event_loop()
            set_event_loop(loop)
            try:
                return function(scaffold, task, model)
            finally:
                set_event_loop(None)
                loop.close()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(copy_context().run, inside).result()

    return framework_procedure(apart, _agent_model, OPENAI_AGENTS)


def _agent_model() -> Any:
    """One model; which item asks through it is the context's to say."""
    from agents import ModelResponse, Usage, set_tracing_disabled
    from agents.models.interface import Model
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)

    class Asking(Model):  # type: ignore[misc] # the package may not be here
        """Asks gridc."""

        async def get_response(
            self,
            system_instructions: str | None,
            input: str | list[Any],
            model_settings: Any,
            tools: list[Any],
            output_schema: Any,
            handoffs: list[Any],
            tracing: Any,
            **others: Any,
        ) -> Any:
            replay = ASKING.get()
            if tools or handoffs:
                named = "tools to call" if tools else "agents to hand over to"
                replay.refuse(f"it gives the model {named}", TOOLS)
            if output_schema is not None and not output_schema.is_plain_text():
                replay.refuse("it asks for structured output", TOOLS)
            stated = [*_stated(model_settings), *_given(others)]
            if stated:
                replay.refuse(f"it asks with parameters of its own ({', '.join(stated)})", SAMPLING)
            text = replay(tuple(_agent_messages(system_instructions, input)))
            content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
            message = ResponseOutputMessage(
                id="gridc", content=content, role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *given: Any, **others: Any) -> Any:
            ASKING.get().refuse("it asks for a stream", "run it without streaming")

    return Asking()


def _stated(settings: Any) -> Iterable[str]:
    """The settings that are not left open."""
    return (field.name for field in fields(settings) if getattr(settings, field.name) is not None)


def _given(others: Mapping[str, Any]) -> Iterable[str]:
    return (name for name, value in others.items() if value is not None)


def _agent_messages(system: str | None, given: str | list[Any]) -> Messages:
    listed = [{"role": "user", "content": given}] if isinstance(given, str) else given
    turn = (("system", system),) if system else ()
    return (*turn, *(_message(message) for message in listed))


def _message(item: Any) -> tuple[str, str]:
    entry = item if isinstance(item, Mapping) else item.model_dump()
    if entry.get("type", "message") != "message":
        ASKING.get().refuse(f"it sends an item of the kind `{entry['type']}`", TOOLS)
    content = entry["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block.get("type") not in TEXTS:
            ASKING.get().refuse(f"it sends a block of the kind `{block.get('type')}`", TOOLS)
    role = "system" if entry["role"] == "developer" else entry["role"]
    return role, "".join(block["text"] for block in blocks)
