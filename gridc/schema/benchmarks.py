"""The table `[[benchmark]]`: which items are asked, and which score is the good one."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gridc.schema.base import Id, Table, Text
from gridc.schema.effects import BenchmarkEffects
from gridc.schema.items import Exemplars, LoaderName, Loading, Sample, UnitLevel


def _in_full(value: object) -> object:
    return f"{value}_is_better" if value in ("higher", "lower") else value


DirectionName = Annotated[
    Literal["higher_is_better", "lower_is_better"],
    BeforeValidator(_in_full),
    WithJsonSchema({"enum": ["higher_is_better", "lower_is_better", "higher", "lower"], "type": "string"}),
]
"""Stamps have the name in full, so that both spellings are one study."""


class Variant(Table):
    """The same items in other words: another language, another wording, another version of the data."""

    id: Annotated[Id, Field(description="How the effect `variant` names it.")]
    source: Annotated[
        str,
        Field(
            pattern=r"^(data|path|builtin):.+$",
            description="Its file, as in [[benchmark]], data:, path: or builtin:. Each of its items has the "
            "id of the item of the benchmark that it stands for.",
            examples=["path:items.de.jsonl"],
        ),
    ]
    loading: Annotated[
        Loading | None, Field(description="What the loader has to be told. Default: as for the benchmark.")
    ] = None
    note: Annotated[Text | None, Field(description="For readers: who translated it, and how.")] = None


class Benchmark(BenchmarkEffects):
    """A set of items and the file format they come in."""

    id: Annotated[Id, Field(description="How the study calls it.")]
    loader: Annotated[
        LoaderName,
        Field(description="The upstream format of the file; plugin:NAME: of an installed package."),
    ]
    source: Annotated[
        str,
        Field(
            pattern=r"^((data|path|builtin):.+"
            r"|hf:[\w.\-]+/[\w.\-]+(@(refs/convert/parquet|[\w.\-]+))?(/.+|\?[^/?]+))$",
            description="data:FILE under --data or GRIDC_DATA, path:FILE beside the spec, builtin:FILE, "
            "hf:OWNER/NAME@REVISION/FILE or hf:OWNER/NAME@REVISION?config=NAME&split=NAME; * in the file's "
            "name takes every file that fits, by name.",
            examples=["data:truthfulqa/v0_mc_task.json", "data:bbq/*.jsonl", "builtin:pocket_bbq.jsonl"],
        ),
    ]
    direction: Annotated[
        DirectionName | Annotated[float, Field(ge=0, le=1)],
        Field(
            description="Which score is the good one: higher_is_better or lower_is_better (also written "
            "higher or lower), or a score from 0 to 1, of which the nearest is best.",
            examples=["higher", 0.5],
        ),
    ]
    unit: Annotated[
        UnitLevel | None,
        Field(
            description="Which groups of items are taken as independent of each other: item, family, "
            "template or category. Default: the coarsest of item, family and template that the data document."
        ),
    ] = None
    sample: Annotated[Sample | None, Field(description="Default: every item.")] = None
    loading: Annotated[Loading, Field(description="What the loader has to be told.")] = Loading()
    exemplars: Annotated[Exemplars | None, Field(description="Needed where shots > 0.")] = None
    note: Annotated[Text | None, Field(description="Printed beside the benchmark on every report.")] = None
    variants: Annotated[
        tuple[Variant, ...] | None,
        Field(
            min_length=1,
            description="The same items in other words, for the effect `variant`. Items pair by id, so that "
            "levels of an axis are compared on the same items. Default: none.",
            examples=[[{"id": "de", "source": "path:items.de.jsonl"}]],
        ),
    ] = None

    @property
    def target(self) -> float | None:
        """The score of which the nearest is best; None where more, or less, is better."""
        return self.direction if isinstance(self.direction, float) else None

    @property
    def lower_is_better(self) -> bool:
        """Whether the lower of two scores is the better one."""
        return self.direction == "lower_is_better"

    @model_validator(mode="after")
    def _loading_fits(self) -> Self:
        for loading in (
            self.loading,
            *(variant.loading for variant in self.variants or () if variant.loading),
        ):
            loading.check(self.loader)
        return self
