"""The table `[[model]]`: who is compared, by which engine, at which address, and at what cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from gridc.diagnostics.secrets import looks_like_key
from gridc.schema.base import PLUGIN, Contradiction, Id, Table, Text, known_or_plugin
from gridc.schema.effects import EXACT, ModelEffects, Thinking

Server = Literal["openai", "vllm", "sglang", "llama.cpp"]
TAKE_TOKENS: tuple[Server, ...] = ("vllm", "sglang", "llama.cpp")
"""The servers that take a prompt as its tokens, and say how likely given ones are."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """What the compiler has to know about an engine.

    `what` says what it is. `schemes` begin the sources that it runs; () where any other text names a model.
    A `provider` runs models whose weights are not here: their files cannot be hashed, and their names may
    change what they mean. `refuses` lists the keys of a model that cannot be set there. One that
    `shows_tokens` can say how it divides a prompt. `server` is what gridc starts to run its files, where it
    does not run them itself. `packages` are what it imports, which the `extra` of gridc installs. `also` is
    what people call it. One that is not `asked` has answered before, and its answers are read from logs.
    """

    what: str
    schemes: tuple[str, ...] = ()
    provider: bool = False
    refuses: tuple[str, ...] = ()
    shows_tokens: bool = False
    server: Server | None = None
    packages: tuple[str, ...] = ()
    extra: str = ""
    also: tuple[str, ...] = ()
    asked: bool = True

    @property
    def install(self) -> str:
        """The command that installs what it imports."""
        return f"pip install 'gridc[{self.extra}]'"


ENGINES: Mapping[str, EngineKind] = {
    "hf": EngineKind(
        "torch and transformers, on this machine",
        schemes=("hf:", "path:", "builtin:", "models:"),
        refuses=("base_url", "server", "omits", "key_env", "price", "batch", "weights"),
        shows_tokens=True,
        packages=("torch", "transformers", "accelerate", "bitsandbytes", "huggingface_hub", "safetensors"),
        extra="local",
        also=("local", "transformers", "huggingface", "torch"),
    ),
    "vllm": EngineKind(
        "a vLLM server, which gridc starts on this machine and ends",
        schemes=("hf:", "path:", "builtin:", "models:"),
        refuses=("base_url", "server", "omits", "key_env", "price", "batch", "weights"),
        shows_tokens=True,
        server="vllm",
        packages=("httpx", "torch", "transformers", "huggingface_hub", "safetensors"),
        extra="api,local",
    ),
    "api": EngineKind(
        "a provider, through litellm, or a server at base_url",
        provider=True,
        refuses=("precision", "revision", "chat_template_args"),
        packages=("httpx", "litellm"),
        extra="api",
        also=("openai", "anthropic", "litellm", "provider", "remote"),
    ),
    "another_package": EngineKind(
        "whatever asked before, of which there are logs (only `gridc certify --from` writes it)",
        provider=True,
        asked=False,
    ),
}
"""By the `engine` of the language. What opens each is in `runtime.engines.OPENERS`."""

FILES = ENGINES["hf"].schemes
"""The schemes of models whose files are known, here or on the hub."""

EngineName = Annotated[str, *known_or_plugin(ENGINES)]

ENGINES_DESCRIPTION = "; ".join(f"{name}: {kind.what}" for name, kind in ENGINES.items())


def engine_for(source: str) -> str:
    """The engine that runs a source where none is named: what has no scheme of a file is a provider's."""
    return "hf" if source.startswith(FILES) else "api"


def engine_kind(name: str) -> EngineKind:
    """The row of an engine. A plug-in takes any source."""
    return EngineKind("of an installed package") if name.startswith(PLUGIN) else ENGINES[name]


Parameter = Literal[
    "temperature", "top_p", "seed", "max_tokens", "n", "presence_penalty", "frequency_penalty"
]


def _names_a_variable(value: str | None) -> str | None:
    if value is not None and looks_like_key(value):
        raise Contradiction(
            "this looks like a key, where the name of an environment variable is meant",
            'put the key into a variable, and its name here: key_env = "OPENAI_API_KEY"; replace the key at '
            "the provider, because it has stood in a file",
        )
    return value


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
    def _check_batch_prices(self) -> Self:
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
        AfterValidator(_names_a_variable),
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


OPENROUTER, ANTHROPIC = "openrouter/", "anthropic/"
"""How the litellm names of models begin whose provider has a form of its own, for a budget or for none."""


def switched(thinking: Thinking | None, server: Server | None, source: str = "") -> Mapping[str, Any] | None:
    """What a request says so that a model thinks or not, or so much: to a `server` or, where there is none,
    to litellm, which knows the model as `source`. None where nothing says it: OpenAI's protocol knows an
    effort, and neither a switch nor a budget.

    vLLM: docs/features/reasoning_outputs.md. SGLang: docs/advanced_features/thinking_budget.md, "strict
    thinking". llama.cpp: tools/server/README.md. OpenRouter: docs/use-cases/reasoning-tokens. As of November
    2026.
    """
    if thinking is None:
        return {}
    if isinstance(thinking, str):
        return {"reasoning_effort": thinking}
    budget = None if isinstance(thinking, bool) else thinking
    if server is None:
        if thinking is False:
            # litellm leaves the effort "none" out where Anthropic answers: a level that says nothing.
            off = {"thinking": {"type": "disabled"}}
            return off if source.startswith(ANTHROPIC) else {"reasoning_effort": "none"}
        if budget is None:
            return None
        if source.startswith(OPENROUTER):
            return {"reasoning": {"max_tokens": budget}}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    if server == "openai":
        return None
    # Some templates do not think unless they are told to, and then there is nothing to bound.
    switch = {"chat_template_kwargs": {"enable_thinking": bool(thinking), "thinking": bool(thinking)}}
    return switch if budget is None else {**switch, **BUDGETS[server](budget)}


BUDGETS: Mapping[Server, Callable[[int], Mapping[str, Any]]] = {
    "vllm": lambda budget: {"thinking_token_budget": budget},
    "sglang": lambda budget: {"custom_params": {"thinking_budget": budget}},
    "llama.cpp": lambda budget: {"thinking_budget_tokens": budget},
}
"""What each server is told of the most tokens of a thought."""


SERVED: Literal["as served"] = "as served"
"""The precision of a provider's model: whoever serves it knows."""


class Model(ModelEffects, Endpoint):
    """A model that is compared."""

    id: Annotated[Id, Field(description="How the study calls it.")]
    engine: Annotated[
        EngineName,
        Field(description=f"{ENGINES_DESCRIPTION}; plugin:NAME: of an installed package."),
    ]
    source: Annotated[
        Text,
        Field(
            description="hf:REPO, path:FOLDER beside the spec, models:FOLDER under --models or GRIDC_MODELS, "
            "or builtin:NAME; of an api model, its litellm name, or with base_url the name that the server "
            "knows it by.",
            examples=["hf:Qwen/Qwen2.5-7B-Instruct", "builtin:pocket-qwen2", "anthropic/claude-opus-4-6"],
        ),
    ]
    revision: Annotated[
        Text | None,
        Field(description="Commit of an hf: source. A branch is resolved to a commit in the lock."),
    ] = None
    digest: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9a-f]{64}$",
            description="SHA-256 over the names and digests of a path: or models: folder's files, as `gridc "
            "validate --check` says it: a folder of that name with other files is refused.",
        ),
    ] = None
    chat_template_args: Annotated[
        dict[str, bool | int | float | str] | None,
        Field(
            description="What the model's chat template is given besides the messages.",
            examples=[{"enable_thinking": False}, {"date_string": "26 Jul 2024"}],
        ),
    ] = None
    weights: Annotated[
        Text | None,
        Field(
            description="The files that the server at base_url runs, as a local model's `source`: prompts go "
            "there as their tokens, and `gridc run --reference` computes answers here once more.",
            examples=["hf:Qwen/Qwen2.5-7B-Instruct", "path:FOLDER"],
        ),
    ] = None
    note: Annotated[Text | None, Field(description="Printed beside the model on every report.")] = None

    @property
    def own_precision(self) -> str:
        """The precision of its calls where neither the harness nor an axis sets one."""
        return SERVED if engine_kind(self.engine).provider else self.precision or EXACT
