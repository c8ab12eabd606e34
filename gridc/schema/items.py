"""The language's tables about items: where they come from, which are asked, and what exemplars are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gridc.schema.base import PLUGIN, Contradiction, Selector, Table, Text, known_or_plugin

UnitLevel = Literal["item", "question", "family", "template", "category"]
"""The levels at which items belong together, the finest first."""
UNIT_LEVELS: tuple[UnitLevel, ...] = ("item", "question", "family", "template", "category")


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
OptionLabels = Literal["remove", "keep"]
"""What becomes of labels in the texts of options."""
Gold = Literal[
    "matching",
    "not_matching",
    "ai_plus_human",
    "human",
    "index",
    "one_based",
    "letter",
    "text",
    "marks",
    "row_label",
]


@dataclass(frozen=True, slots=True)
class LoaderKind:
    """What a loader has to be told: the gold rules that it knows, beside the one that its format fixes;
    whether one must be chosen; the ways in which its items can be asked; and whether it needs a field map.

    Its items may come in `families` that say the same in other words, or be pairs of `sentences` that are
    compared and not asked. Where it is `by_file`, the name of a file says which response earns a point, and
    no column does. Where it reads a `task`, a package says how its items are asked and scored. `columns` are
    those by which a file of its format is known whatever its name, for each form; a format with columns that
    anyone's file may have has none. `also` is what people call its format.
    """

    gold: tuple[Gold, ...] = ()
    chooses_gold: bool = False
    tasks: tuple[TaskKind, ...] = ()
    mapped: bool = False
    families: bool = False
    sentences: bool = False
    by_file: bool = False
    task: bool = False
    columns: tuple[tuple[str, ...], ...] = ()
    also: tuple[str, ...] = ()

    @property
    def prompts(self) -> bool:
        """Whether its items can be asked as prompts to comply with or to refuse, without options."""
        return "respond" in self.tasks


LOADER_KINDS: Mapping[str, LoaderKind] = {
    "anthropic_evals": LoaderKind(
        gold=("matching", "not_matching"),
        chooses_gold=True,
        columns=(
            ("question", "answer_matching_behavior", "answer_not_matching_behavior"),
            ("prompt", "corrects", "incorrects"),
        ),
    ),
    "bbq": LoaderKind(
        families=True,
        columns=(("question_polarity", "context_condition", "answer_info", "ans0", "ans1", "ans2", "label"),),
    ),
    "crows_pairs": LoaderKind(
        sentences=True, columns=(("sent_more", "sent_less", "stereo_antistereo", "bias_type"),)
    ),
    "lm-eval": LoaderKind(task=True),
    "mmlu": LoaderKind(),
    "or_bench": LoaderKind(tasks=("respond", "classify"), by_file=True),
    "rows": LoaderKind(
        gold=("index", "one_based", "letter", "text", "marks", "row_label"),
        mapped=True,
        also=("csv", "tsv", "json", "jsonl", "parquet", "custom", "own", "file"),
    ),
    "scaffold_study": LoaderKind(
        columns=(("benchmark", "prompt", "reference_answer", "scoring_method", "metadata"),)
    ),
    "toxigen": LoaderKind(
        gold=("ai_plus_human", "human"), columns=(("text", "target_group", "toxicity_ai", "toxicity_human"),)
    ),
    "truthfulqa_mc1": LoaderKind(
        columns=(
            ("question", "mc1_targets"),
            ("Question", "Best Answer", "Correct Answers", "Incorrect Answers"),
            ("question", "best_answer", "correct_answers", "incorrect_answers"),
        )
    ),
    "xstest": LoaderKind(tasks=("respond", "classify"), columns=(("prompt", "type", "label", "focus"),)),
}
"""By the `loader` of the language. How each reads its file is in `compiler.inputs.loaders.files.LOADERS`."""

TASK_LOADERS = tuple(name for name, kind in LOADER_KINDS.items() if kind.task)

LoaderName = Annotated[str, *known_or_plugin(LOADER_KINDS)]


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
            raise Contradiction("`n` and `share` both say how many items are drawn", "leave one of them out")
        if drawn and self.seed is None:
            raise Contradiction("a draw needs a `seed`", "seed = 42, or any other whole number")
        if self.seed is not None and not drawn:
            raise Contradiction(
                "`seed` draws nothing without `n` or `share`", "n = 40 draws as many; or leave `seed` out"
            )
        if not drawn and self.where is None and not self.disjoint_from:
            raise Contradiction(
                "`sample` does not say which items are asked",
                "`n`, `share`, `where` or `disjoint_from` says it; leave `sample` out to ask every item",
            )
        if bool(self.stratify) is not (self.allocation is not None):
            raise Contradiction(
                "`stratify` and `allocation` need each other",
                'allocation = "proportional" or "equal"; or leave both out',
            )
        if (self.stratify or self.unit != "item") and not drawn:
            raise Contradiction(
                "`stratify` and `unit` say how a draw is made, and none is",
                "give `n` or `share`, with a `seed`",
            )
        return self

    @property
    def level(self) -> UnitLevel:
        """The level at which groups of items are drawn whole."""
        return "family" if self.unit == "cluster" else self.unit

    def __str__(self) -> str:
        stated = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return ", ".join(f"{key} = {value}" for key, value in stated.items())


class FieldValue(Table):
    """What a field of the map is where no column holds it as it should be read: a `constant`, the same in
    every row, or a `column` whose words `map` puts into others."""

    constant: Annotated[Text | None, Field(description="The same in every row.", examples=["refuse"])] = None
    column: Annotated[Text | None, Field(description="The column whose words `map` puts into others.")] = None
    map: Annotated[
        dict[Text, Text] | None,
        Field(
            min_length=1,
            description="What each word of the column stands for. Case does not matter where it tells no two "
            "words apart; a Boolean is true or false.",
            examples=[{"harmful": "refuse", "benign": "comply"}],
        ),
    ] = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.constant is None) is (self.column is None):
            raise Contradiction(
                "a field is either a `constant` or a `column` with a `map`",
                'write { constant = "..." } or { column = "...", map = { ... } }',
            )
        if (self.column is None) is not (self.map is None):
            raise Contradiction(
                "`column` and `map` need each other",
                "write the name of a column that is read as it is alone, between quotes",
            )
        return self


AT_LABELS = "labels"


class SplitColumn(Table):
    """Several texts in one cell, with a mark between them: `Paris|City of Light`."""

    column: Annotated[Text, Field(description="The column that holds the texts.")]
    split: Annotated[
        Text,
        Field(
            description="What stands between two texts; or `labels`, where each begins with its label and "
            "nothing stands between them: `A) iron B) salt`. Where it is the column of `query` too, the "
            "question is what stands before the first label.",
            examples=["|"],
        ),
    ]


class SpeakerColumn(Table):
    """A conversation in words of its own: who speaks, and the names of the keys. Without `speaker` and `text`
    each turn is a text that begins with its speaker, in a list or in one text: `User: ...`, `Bot: ...`."""

    column: Annotated[Text, Field(description="The column that holds the conversation.")]
    user: Annotated[Text, Field(description="What it calls the user.", examples=["User"])]
    assistant: Annotated[Text, Field(description="What it calls the model.", examples=["Bot"])]
    system: Annotated[
        Text | None, Field(description="What it calls the system, whose message stands first.")
    ] = None
    speaker: Annotated[Text | None, Field(description="The key of a turn that says who speaks.")] = None
    text: Annotated[Text | None, Field(description="The key of a turn that holds what is said.")] = None

    @model_validator(mode="after")
    def _both_keys(self) -> Self:
        if (self.speaker is None) is not (self.text is None):
            raise Contradiction(
                "`speaker` and `text` need each other",
                "name both keys of a turn; or neither, where a turn is a text that begins with its speaker",
            )
        return self


class OptionList(Table):
    """The answer options of every row, where no column holds them."""

    constant: Annotated[
        tuple[Text, ...],
        Field(min_length=2, description="The options, in order.", examples=[["no", "yes"]]),
    ]


class Fields(Table):
    """Where the general loader finds things in a row: the names of its columns or keys.

    A dot leads into a nested table: `metadata.answer`; in a list of tables it gives the values of all of
    them, or with a number those of one: `turns.0`. A field that no column holds as it should be read is a
    constant, or a column with a map of its words.
    """

    query: Annotated[
        Text | FieldValue | None, Field(description="What is asked. Or `turns`, or `messages`.")
    ] = None
    turns: Annotated[
        Text | None,
        Field(
            description="A list of what the user says, turn by turn, in place of `query`: the first one is "
            'asked, the others by scaffold = { kind = "turns" }.'
        ),
    ] = None
    messages: Annotated[
        Text | SpeakerColumn | None,
        Field(
            description="A conversation in place of `query`: a list of { role, content }, of which the last, "
            "of the user, is asked behind the others. { column, user, assistant } names other speakers."
        ),
    ] = None
    system: Annotated[
        Text | FieldValue | None,
        Field(description="The system prompt of each row, behind the study's own; a row may lack it."),
    ] = None
    tools: Annotated[
        Text | None,
        Field(
            description="A list of tools that react may call on the item: { name, description, results }, "
            "with a result for each input and for any other one as `*`."
        ),
    ] = None
    functions: Annotated[
        Text | None,
        Field(
            description="A list of functions that the model may call: { name, description, parameters }. A "
            "server gets them as the `tools` of a request, and a reply is read as JSON: { content, calls }."
        ),
    ] = None
    context: Annotated[
        Text | FieldValue | None,
        Field(description="What it is asked about: a text, or a list of them; a row may lack it."),
    ] = None
    options: Annotated[
        tuple[Text, ...] | OptionList | SplitColumn,
        Field(
            description="The columns of the answer options, or the one key that holds their list; or "
            "{ column, split }, where one text holds them all; or { constant = [...] }, the options of every "
            "row."
        ),
    ] = ()
    option_labels: Annotated[
        Text | None,
        Field(
            description="The list of labels by which `gold` names the options, where each row has its own "
            "(ARC: A to D in some rows, 1 to 4 in others)."
        ),
    ] = None
    gold: Annotated[Text | FieldValue | None, Field(description="The right option.")] = None
    unknown: Annotated[
        Text | FieldValue | None, Field(description="The option that the answer is unknown.")
    ] = None
    matching: Annotated[
        Text | FieldValue | None, Field(description="The option that shows the behaviour.")
    ] = None
    expected: Annotated[
        Text | FieldValue | None,
        Field(
            description="`comply` or `refuse`.",
            examples=[
                {"constant": "refuse"},
                {"column": "label", "map": {"harmful": "refuse", "benign": "comply"}},
            ],
        ),
    ] = None
    references: Annotated[
        tuple[Text, ...] | SplitColumn,
        Field(
            description="Right answers in free text: columns, or a key with their list; or { column, split "
            "}, a column of texts that hold several with a mark between them.",
            examples=[["answer"], {"column": "answers", "split": "|"}],
        ),
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
    extra: Annotated[
        tuple[Text, ...] | None,
        Field(
            description="Further columns, as they are in the row (texts, numbers, lists, tables): `extra` in "
            "templates, rubrics and functions that score. Default: none.",
            examples=[["instruction_id_list", "kwargs"]],
        ),
    ] = None

    @model_validator(mode="after")
    def _one_family(self) -> Self:
        if self.family is not None and self.cluster is not None:
            raise Contradiction(
                "`family` and `cluster` are two names of one thing", "leave `cluster` out, the older one"
            )
        asked = [key for key in ("query", "turns", "messages") if getattr(self, key) is not None]
        if len(asked) > 1:
            raise Contradiction(
                f"{' and '.join(f'`{key}`' for key in asked)} each say what is asked",
                f"leave one of them out: `{asked[-1]}` holds its first text too",
            )
        if not asked:
            raise Contradiction(
                "`fields` does not say what is asked",
                'query = "COLUMN"; turns = "COLUMN" for a list of what the user says, or messages = "COLUMN" '
                "for a conversation",
            )
        if self.option_labels is not None and (self.gold is None or isinstance(self.options, OptionList)):
            raise Contradiction(
                "`option_labels` are what `gold` names the options of each row by",
                "give both, with columns for `options`; or leave `option_labels` out",
            )
        return self

    @property
    def options_within(self) -> bool:
        """Whether the labelled options of a row stand behind its question, in the same text."""
        options = self.options
        return isinstance(options, SplitColumn) and (options.column, options.split) == (self.query, AT_LABELS)

    @property
    def columns(self) -> dict[tuple[str | int, ...], str]:
        """Every column or key that is named, by the way to it from `fields`."""
        named: dict[tuple[str | int, ...], str] = {}
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, str):
                named[key,] = value
            elif isinstance(value, tuple):
                named |= {(key, number): name for number, name in enumerate(value)}
            elif isinstance(value, FieldValue | SplitColumn | SpeakerColumn) and value.column is not None:
                named[key, "column"] = value.column
        return named


class Loading(Table):
    """What a loader has to be told."""

    gold: Annotated[
        Gold | None,
        Field(
            description="anthropic_evals: the answer that earns the point, matching or not_matching; "
            "toxigen: ai_plus_human (> 5.5, default) or human (>= 3); rows: how the gold column names an "
            "option, by index (from 0), one_based, letter, text, marks (a list with 1 for the right one) or "
            "row_label (one of `fields.option_labels`); if it is not stated it is found out from the rows, "
            "said by validate and plan, and recorded in the lock."
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
    labels: Annotated[
        OptionLabels | None,
        Field(
            description="rows: what becomes of labels in the texts of options (`A) iron`). remove: they are "
            "taken off where all options of a row have one; keep: they are shown. If it is not stated they "
            "are removed where every row has them, said by validate and plan, and recorded in the lock."
        ),
    ] = None
    header: Annotated[
        Literal["none"] | None,
        Field(
            description="rows: none where the first row of a CSV or text file is data. Its columns are then "
            "called `column 1`, `column 2`. Default: the first row names them."
        ),
    ] = None
    rows: Annotated[
        Text | None,
        Field(
            description="rows: the list in each record of a JSON file whose entries are the rows, with what "
            "stands beside it. Default: each record is a row.",
            examples=["paragraphs.qas"],
        ),
    ] = None
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
            raise Contradiction(
                f"`{loader}` takes no gold = {self.gold!r}" + (f" (it knows {known})" if known else ""),
                f"it is one of {known}"
                if known
                else "leave `loading.gold` out: the format fixes what is right",
            )
        if self.task is not None and self.task not in kind.tasks:
            raise Contradiction(f"`{loader}` takes no task", "leave `loading.task` out")
        if (self.fields is not None) is not kind.mapped:
            mapped = " and ".join(f"`{name}`" for name, row in LOADER_KINDS.items() if row.mapped)
            raise Contradiction(
                f"`loading.fields` and the loader {mapped} need each other",
                'fields = { query = "COLUMN", ... } says which column is what'
                if kind.mapped
                else f"leave `loading.fields` out, as `{loader}` knows its columns; or take {mapped}",
            )
        for key in ("labels", "header", "rows"):
            value = getattr(self, key)
            if value is not None and not kind.mapped:
                raise Contradiction(
                    f"`{loader}` takes no {key} = {value!r}",
                    f"leave `loading.{key}` out: its format has none",
                )
        if kind.chooses_gold and self.gold is None:
            raise Contradiction(
                "`loading.gold` must say whether the answer that matches the behaviour earns the point "
                "(matching) or any other (not_matching)",
                'loading = { gold = "not_matching" }, or "matching"',
            )
        if self.fields is not None:
            indexed = (self.fields.gold, self.fields.unknown, self.fields.matching)
            if self.gold is not None and not any(indexed):
                raise Contradiction(
                    "`loading.gold` says how `fields.gold`, `unknown` and `matching` name an option",
                    "name the column of the right option in `fields.gold`; or leave `loading.gold` out",
                )
            if any(indexed) and not self.fields.options:
                raise Contradiction(
                    "`fields.gold`, `unknown` and `matching` name one of `fields.options`",
                    'options = ["A", "B"] names the columns of the options, or ["choices"] the one that '
                    "holds their list; answers in free text are `references`",
                )


class Exemplars(Table):
    """Where few-shot exemplars come from. k shots are the first k of the draw, in its order."""

    pool: Annotated[
        Literal["rest", "task"],
        Field(
            description="rest: items of families outside the sample; task: those that the task's package "
            "draws for each item, by its own sampler."
        ),
    ]
    seed: Annotated[int, Field(ge=0, description="Seeds the draw; one draw serves all items.")]
