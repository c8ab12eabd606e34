"""The language's tables about items: where they come from, which are asked, and what exemplars are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gridc.schema.base import PLUGIN, Table, Text, named
from gridc.schema.selector import Selector

UnitLevel = Literal["item", "family", "template", "category"]
"""The levels at which items belong together, the finest first."""
UNIT_LEVELS: tuple[UnitLevel, ...] = ("item", "family", "template", "category")


def _stamped_name(value: object) -> object:
    return "cluster" if value == "family" else value


DrawUnit = Annotated[
    Literal["item", "cluster", "template", "category"],
    BeforeValidator(_stamped_name),
    WithJsonSchema({"enum": ["item", "family", "template", "category", "cluster"], "type": "string"}),
]
"""A level of the items in a draw. A family was called a cluster at first; stamps keep that name, so that
both spellings are one study."""

TaskKind = Literal["respond", "classify"]
Gold = Literal["matching", "not_matching", "ai_plus_human", "human", "index", "one_based", "letter", "text"]


@dataclass(frozen=True, slots=True)
class LoaderKind:
    """What a loader has to be told: the gold rules that it knows, beside the one that its format fixes;
    whether one must be chosen; the ways in which its items can be asked; and whether it needs a field map.

    Its items may come in `families` that say the same in other words, or be pairs of `sentences` that are
    compared and not asked. Where it is `by_file`, the name of a file says which response earns a point, and
    no column does. `also` is what people call its format.
    """

    gold: tuple[Gold, ...] = ()
    chooses_gold: bool = False
    tasks: tuple[TaskKind, ...] = ()
    mapped: bool = False
    families: bool = False
    sentences: bool = False
    by_file: bool = False
    also: tuple[str, ...] = ()

    @property
    def prompts(self) -> bool:
        """Whether its items can be asked as prompts to comply with or to refuse, without options."""
        return "respond" in self.tasks


LOADER_KINDS: Mapping[str, LoaderKind] = {
    "anthropic_evals": LoaderKind(gold=("matching", "not_matching"), chooses_gold=True),
    "bbq": LoaderKind(families=True),
    "crows_pairs": LoaderKind(sentences=True),
    "mmlu": LoaderKind(),
    "or_bench": LoaderKind(tasks=("respond", "classify"), by_file=True),
    "rows": LoaderKind(
        gold=("index", "one_based", "letter", "text"),
        mapped=True,
        also=("csv", "tsv", "json", "jsonl", "parquet", "custom", "own", "file"),
    ),
    "scaffold_study": LoaderKind(),
    "toxigen": LoaderKind(gold=("ai_plus_human", "human")),
    "truthfulqa_mc1": LoaderKind(),
    "xstest": LoaderKind(tasks=("respond", "classify")),
}
"""By the `loader` of the language. How each reads its file is in `compiler.inputs.loaders.LOADERS`."""

LoaderName = Annotated[str, *named(LOADER_KINDS)]


def loader_kind(name: str) -> LoaderKind:
    """The row of a loader. A plug-in says itself what it needs."""
    return LoaderKind() if name.startswith(PLUGIN) else LOADER_KINDS[name]


class Sample(Table):
    """Which items are asked: those that `where` names, or a seeded draw, or a seeded draw among those."""

    n: Annotated[int | None, Field(ge=1, description="How many items.")] = None
    share: Annotated[
        float | None, Field(gt=0, le=1, description="Which part of the items, rounded to whole items.")
    ] = None
    seed: Annotated[int | None, Field(ge=0, description="Seeds the draw, without replacement.")] = None
    unit: Annotated[
        DrawUnit,
        Field(
            description="What is drawn whole: item, family (BBQ's fours; also written cluster), template or "
            "category. Default: item."
        ),
    ] = "item"
    where: Annotated[
        Selector | None,
        Field(description="Only items with these tags.", examples=[{"condition": "ambig"}]),
    ] = None
    stratify: Annotated[
        tuple[Text, ...],
        Field(description="Tags whose combinations are the strata of the draw.", examples=[["category"]]),
    ] = ()
    allocation: Annotated[
        Literal["proportional", "equal"] | None,
        Field(description="proportional: strata as large as in the file; equal: all the same size."),
    ] = None
    disjoint_from: Annotated[
        tuple[Text, ...],
        Field(
            description="No item of these, nor of its family: a benchmark of this spec, or path:FILE beside "
            "it. FILE is the lock of another study, such as a pilot, that asks items of the same files, or "
            "has one item id a line.",
            examples=[["path:pilot/gridcard.lock"]],
        ),
    ] = ()

    @model_validator(mode="after")
    def _one_draw(self) -> Self:
        drawn = self.n is not None or self.share is not None
        if self.n is not None and self.share is not None:
            raise ValueError("`n` and `share` both say how many items are drawn")
        if drawn and self.seed is None:
            raise ValueError("a draw needs a `seed`")
        if self.seed is not None and not drawn:
            raise ValueError("`seed` draws nothing without `n` or `share`")
        if not drawn and self.where is None and not self.disjoint_from:
            raise ValueError("`n`, `share`, `where` or `disjoint_from` says which items are asked")
        if bool(self.stratify) is not (self.allocation is not None):
            raise ValueError("`stratify` and `allocation` need each other")
        if (self.stratify or self.unit != "item") and not drawn:
            raise ValueError("`stratify` and `unit` say how a draw is made: give `n` or `share`")
        return self

    @property
    def level(self) -> UnitLevel:
        """The level at which groups of items are drawn whole."""
        return "family" if self.unit == "cluster" else self.unit

    def __str__(self) -> str:
        stated = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return ", ".join(f"{key} = {value}" for key, value in stated.items())


class Fields(Table):
    """Where the general loader finds things in a row: the names of its columns or keys.

    A dot leads into a nested table: `metadata.answer`.
    """

    query: Annotated[Text, Field(description="What is asked.")]
    context: Annotated[Text | None, Field(description="What it is asked about.")] = None
    options: Annotated[
        tuple[Text, ...],
        Field(description="The columns of the answer options, or the one key that holds their list."),
    ] = ()
    gold: Annotated[Text | None, Field(description="The right option.")] = None
    unknown: Annotated[Text | None, Field(description="The option that the answer is unknown.")] = None
    matching: Annotated[Text | None, Field(description="The option that shows the behaviour.")] = None
    expected: Annotated[Text | None, Field(description="`comply` or `refuse`.")] = None
    references: Annotated[
        tuple[Text, ...], Field(description="Right answers in free text: columns, or a key with their list.")
    ] = ()
    open: Annotated[Text | None, Field(description="The query as it is asked without options.")] = None
    id: Annotated[Text | None, Field(description="Default: the file's name and the row.")] = None
    family: Annotated[
        Text | None, Field(description="Items that say the same in other words. Default: the item alone.")
    ] = None
    template: Annotated[Text | None, Field(description="The pattern that an item was made from.")] = None
    category: Annotated[Text | None, Field(description="The topic of an item.")] = None
    cluster: Annotated[Text | None, Field(description="An older name of `family`.")] = None
    tags: Annotated[tuple[Text, ...], Field(description="What items may be selected and stratified by.")] = ()

    @model_validator(mode="after")
    def _one_family(self) -> Self:
        if self.family is not None and self.cluster is not None:
            raise ValueError("`family` and `cluster` are two names of one thing: give one of them")
        return self


class Loading(Table):
    """What a loader has to be told."""

    gold: Annotated[
        Gold | None,
        Field(
            description="anthropic_evals: the answer that earns the point, matching or not_matching; "
            "toxigen: ai_plus_human (> 5.5, default) or human (>= 3); rows: how the gold column names an "
            "option, by index (from 0), one_based, letter or text; if it is not stated it is found out from "
            "the rows, said by validate and plan, and recorded in the lock."
        ),
    ] = None
    task: Annotated[
        TaskKind | None,
        Field(
            description="xstest and or_bench: respond to the prompt (default), or classify it as safe or "
            "unsafe."
        ),
    ] = None
    malformed: Annotated[
        Literal["error", "leave_out"],
        Field(
            description="What to do with rows that do not follow the format. leave_out: the lock lists each "
            "with the reason, and every report counts them. Default: error."
        ),
    ] = "error"
    fields: Annotated[Fields | None, Field(description="rows: the field map.")] = None

    @property
    def classifies(self) -> bool:
        """Whether prompts are classified, and not responded to."""
        return self.task == "classify"

    def check(self, loader: str) -> None:
        """Raise `ValueError` unless the loader is told what it has to be, and nothing else."""
        if loader.startswith(PLUGIN):
            return  # it says itself what it needs
        kind = LOADER_KINDS[loader]
        if self.gold is not None and self.gold not in kind.gold:
            known = ", ".join(kind.gold)
            raise ValueError(
                f"`{loader}` takes no gold = {self.gold!r}" + (f" (it knows {known})" if known else "")
            )
        if self.task is not None and self.task not in kind.tasks:
            raise ValueError(f"`{loader}` takes no task")
        if (self.fields is not None) is not kind.mapped:
            mapped = " and ".join(f"`{name}`" for name, accepted in LOADER_KINDS.items() if accepted.mapped)
            raise ValueError(f"`loading.fields` and the loader {mapped} need each other")
        if kind.chooses_gold and self.gold is None:
            raise ValueError(
                "`loading.gold` must say whether the answer that matches the behaviour earns the point "
                "(matching) or any other (not_matching)"
            )
        if self.fields is not None:
            indexed = (self.fields.gold, self.fields.unknown, self.fields.matching)
            if self.gold is not None and not any(indexed):
                raise ValueError(
                    "`loading.gold` says how `fields.gold`, `unknown` and `matching` name an option"
                )
            if any(indexed) and not self.fields.options:
                raise ValueError("`fields.gold`, `unknown` and `matching` name one of `fields.options`")


class Exemplars(Table):
    """Where few-shot exemplars come from. k shots are the first k of the draw, in its order."""

    pool: Annotated[Literal["rest"], Field(description="rest: items of families outside the sample.")]
    seed: Annotated[int, Field(ge=0, description="Seeds the draw; one draw serves all items.")]
