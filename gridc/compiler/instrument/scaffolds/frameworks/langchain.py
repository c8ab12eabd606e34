"""LangChain and LangGraph: a chat model whose calls are gridc's.

Branches of a graph that could run side by side run one after another, so that a graph asks in one order; the
items of a study still take each step together. Nothing is traced to LangSmith.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from gridc.compiler.instrument.scaffolds.follow import Followed
from gridc.compiler.instrument.scaffolds.frameworks import ASKING, SAMPLING, TOOLS, Driven, driven
from gridc.compiler.instrument.scaffolds.turns import Messages, Task
from gridc.schema.scaffold import Scaffold

PACKAGES = ("langchain-core", "langgraph")
ROLES = {"system": "system", "human": "user", "ai": "assistant"}


def langchain(function: Driven) -> Followed:
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

    return driven(alone, _model, PACKAGES)


def _model() -> Any:
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
            text = replay(_messages(messages), _node(run_manager))
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


def _messages(messages: Sequence[Any]) -> Messages:
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
