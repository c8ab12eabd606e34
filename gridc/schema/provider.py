"""Where a model behind an address is reached, what it takes, and what it costs."""

from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from gridc.schema.base import Contradiction, Table
from gridc.schema.effects import Thinking

Server = Literal["openai", "vllm", "sglang", "llama.cpp"]
TAKE_TOKENS: tuple[Server, ...] = ("vllm", "sglang", "llama.cpp")
"""The servers that take a prompt as its tokens, and say how likely given ones are."""

Parameter = Literal[
    "temperature", "top_p", "seed", "max_tokens", "n", "presence_penalty", "frequency_penalty"
]


class Price(Table):
    """What a model costs, in US dollars for a million tokens."""

    input: Annotated[float, Field(ge=0, description="A million tokens that are read.")]
    output: Annotated[float, Field(ge=0, description="A million tokens that are written.")]
    cached: Annotated[
        float | None,
        Field(ge=0, description="A million tokens that are read from a cache. Default: as input."),
    ] = None
    batch_input: Annotated[
        float | None, Field(ge=0, description="A million tokens that are read in a batch.")
    ] = None
    batch_output: Annotated[
        float | None, Field(ge=0, description="A million tokens that are written in a batch.")
    ] = None
    as_of: Annotated[
        str,
        Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="The day on which the price was read, YYYY-MM-DD."),
    ]

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.batch_input is None) != (self.batch_output is None):
            raise Contradiction(
                "`batch_input` and `batch_output` are stated together", "add the other, or leave both out"
            )
        return self


def _splits(address: str) -> str:
    """An address that has a host and, if any, a port. Raises `ValueError`."""
    _ = urlsplit(address).port
    return address


class Endpoint(Table):
    """Keys of a model that answers over a network."""

    base_url: Annotated[
        str | None,
        Field(
            pattern=r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[!\"$->A-~]*[!\"$-.0->A-~])?$",
            description="Address of an OpenAI-compatible server, without a slash at its end. Default: the "
            "provider, through litellm.",
            examples=["http://127.0.0.1:8000/v1"],
        ),
        AfterValidator(_splits),
    ] = None
    server: Annotated[
        Server | None,
        Field(
            description="What answers at base_url: openai, vllm, sglang or llama.cpp; the last three are "
            "told further sampling parameters that they would take from the model. Default: openai."
        ),
    ] = None
    omits: Annotated[
        tuple[Parameter, ...] | None,
        Field(
            description="Parameters that are not sent, because the provider does not take them.",
            examples=[["seed"]],
        ),
    ] = None
    key_env: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
            description="Environment variable that holds the key; not stamped. Default: with base_url none, "
            "else the provider's usual one.",
            examples=["OPENAI_API_KEY"],
        ),
    ] = None
    price: Annotated[
        Price | None,
        Field(
            description="What tokens cost; not stamped. Default: litellm's table.",
            examples=[{"input": 0.5, "output": 1.5, "as_of": "2026-11-01"}],
        ),
    ] = None
    batch: Annotated[
        bool | None,
        Field(
            description="Calls go to the provider's batch endpoint, which answers within a day for less "
            "money; not stamped. Default: false."
        ),
    ] = None


def switched(thinking: Thinking | None, server: Server | None) -> dict[str, Any] | None:
    """What a request says so that a model thinks or not, or so much: to a `server` or, where there is none,
    to litellm. None where nothing says it: OpenAI's protocol knows only how much."""
    if thinking is None:
        return {}
    if isinstance(thinking, str):
        return {"reasoning_effort": thinking}
    if server is None:
        return None if thinking else {"reasoning_effort": "none"}
    if server == "openai":
        return None
    return {"chat_template_kwargs": {"enable_thinking": thinking, "thinking": thinking}}
