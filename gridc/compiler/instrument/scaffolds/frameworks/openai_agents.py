"""The OpenAI Agents SDK: a model whose calls are gridc's. Nothing is traced to OpenAI."""

from asyncio import new_event_loop, set_event_loop
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import fields
from typing import Any

from gridc.compiler.instrument.scaffolds.follow import Followed
from gridc.compiler.instrument.scaffolds.frameworks import ASKING, SAMPLING, TOOLS, Driven, driven
from gridc.compiler.instrument.scaffolds.turns import Messages, Task
from gridc.schema.scaffold import Scaffold

PACKAGES = ("openai-agents",)
TEXTS = ("input_text", "output_text", "text")


def openai_agents(function: Driven) -> Followed:
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

    return driven(apart, _model, PACKAGES)


def _model() -> Any:
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
            text = replay(tuple(_messages(system_instructions, input)))
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


def _messages(system: str | None, given: str | list[Any]) -> Messages:
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
