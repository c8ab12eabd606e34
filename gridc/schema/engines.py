"""One row for each engine: what it runs, and what cannot be set there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from gridc.schema.base import PLUGIN, named


@dataclass(frozen=True, slots=True)
class EngineKind:
    """What the compiler has to know about an engine.

    `what` says what it is. `schemes` begin the sources that it runs; () where any other text names a model.
    A `provider` runs models whose weights are not here: their files cannot be hashed, and their names may
    change what they mean. `refuses` lists the keys of a model that cannot be set there. One that
    `shows_tokens` can say how it divides a prompt. `packages` are what it imports, which the `extra` of gridc
    installs. `also` is what people call it.
    """

    what: str
    schemes: tuple[str, ...] = ()
    provider: bool = False
    refuses: tuple[str, ...] = ()
    shows_tokens: bool = False
    packages: tuple[str, ...] = ()
    extra: str = ""
    also: tuple[str, ...] = ()

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
        packages=("torch", "transformers", "huggingface_hub", "safetensors"),
        extra="local",
        also=("local", "transformers", "huggingface", "torch"),
    ),
    "api": EngineKind(
        "a provider, through litellm, or a server at base_url",
        provider=True,
        refuses=("precision", "revision", "chat_template_args"),
        packages=("httpx", "litellm"),
        extra="api",
        also=("openai", "anthropic", "litellm", "provider", "remote"),
    ),
}
"""By the `engine` of the language. What opens each is in `runtime.engines.OPENERS`."""

FILES = ENGINES["hf"].schemes
"""The schemes of models whose files are known, here or on the hub."""

EngineName = Annotated[str, *named(ENGINES)]

DESCRIPTION = "; ".join(f"{name}: {kind.what}" for name, kind in ENGINES.items())


def engine_for(source: str) -> str:
    """The engine that runs a source where none is named: what has no scheme of a file is a provider's."""
    return "hf" if source.startswith(FILES) else "api"


def engine_kind(name: str) -> EngineKind:
    """The row of an engine. A plug-in takes any source."""
    return EngineKind("of an installed package") if name.startswith(PLUGIN) else ENGINES[name]
