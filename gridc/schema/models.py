"""The table `[[model]]`: who is compared."""

from typing import Annotated, Literal

from pydantic import Field

from gridc.schema import engines
from gridc.schema.base import Id, Text
from gridc.schema.effects import EXACT, ModelEffects
from gridc.schema.provider import Endpoint

SERVED: Literal["as served"] = "as served"
"""The precision of a provider's model: whoever serves it knows."""


class Model(ModelEffects, Endpoint):
    """A model that is compared."""

    id: Annotated[Id, Field(description="How the study calls it.")]
    engine: Annotated[
        engines.EngineName,
        Field(description=f"{engines.DESCRIPTION}; plugin:NAME: of an installed package."),
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
        return SERVED if engines.engine_kind(self.engine).provider else self.precision or EXACT
