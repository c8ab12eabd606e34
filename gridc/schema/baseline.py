"""A run that is kept as one file, for later comparisons: what `gridc baseline` writes."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gridc.schema.comparison import AnswerState, Aspect
from gridc.schema.rows import Count, Digest, Part

FORMAT: Literal["gridc-baseline/1"] = "gridc-baseline/1"
FORMAT_BEGINS = "gridc-baseline/"

Hex = Annotated[str, Field(pattern=r"^[0-9a-f]*$")]


class BaselineHead(Part):
    """The first line of the file: what the second one is, and who signed it."""

    format: Annotated[Literal["gridc-baseline/1"], Field(description="Version of the format.")]
    sha256: Annotated[Digest, Field(description="SHA-256 of the second line, without its end.")]
    signature: Annotated[
        str | None,
        Field(
            description="An ssh signature of the second line, in the namespace gridc; null: nobody signed."
        ),
    ] = None


class KeptFact(Part):
    """A setting or a fact of the run."""

    aspect: Annotated[Aspect, Field(description="What it is a fact about.")]
    path: Annotated[str, Field(description="Its name.")]
    value: Annotated[Any, Field(description="Its value.")]


class KeptAnswers(Part):
    """The answers in one configuration, one after the other, the repetitions of an item in their order."""

    configuration: Annotated[str, Field(description="Its name.")]
    settings: Annotated[tuple[KeptFact, ...], Field(description="What shapes prompts, requests and scores.")]
    times: Annotated[Count, Field(description="How often each item was asked; 0: as often as it is here.")]
    item: Annotated[tuple[Count, ...], Field(description="Of each answer the place of its item.")]
    score: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)] | None, ...], Field(description="Its score; null: none.")
    ]
    state: Annotated[tuple[Count, ...], Field(description="How it ended: a place in `states`.")]
    prompt: Annotated[
        tuple[Count | None, ...],
        Field(
            description="The digest of its prompt: a place in `prompts` of the benchmark; null: not known."
        ),
    ]


class KeptItems(Part):
    """The items of a benchmark, one after the other."""

    keys: Annotated[tuple[Hex, ...], Field(description="A digest of all that an item holds.")]
    ids: Annotated[tuple[str, ...], Field(description="Its id.")]
    units: Annotated[tuple[str, ...], Field(description="What it belongs to that is independent.")]
    questions: Annotated[
        tuple[tuple[Hex | None, Hex | None, Hex | None], ...],
        Field(description="Digests of its question, its choices and its right answers."),
    ]


class KeptBenchmark(Part):
    """One model on one benchmark."""

    model: Annotated[str, Field(description="The model.")]
    benchmark: Annotated[str, Field(description="The benchmark.")]
    direction: Annotated[str, Field(description="higher_is_better, lower_is_better, or the best score.")]
    unit: Annotated[str, Field(description="What is independent: `item`, or what items were made from.")]
    items: Annotated[KeptItems, Field(description="Its items.")]
    prompts: Annotated[tuple[str, ...], Field(description="The digests of its prompts.")]
    prompt_texts: Annotated[
        tuple[Hex | None, ...] | None,
        Field(description="The digests of their texts, where the others are of something else."),
    ]
    planned: Annotated[bool, Field(description="Whether a plan chose the items before any answer.")]
    unlisted: Annotated[float | None, Field(description="The score of items that the log leaves out.")]
    total: Annotated[Count | None, Field(description="How many items it has, where the run says.")]
    anchor: Annotated[str | None, Field(description="The configuration that its report leads with.")]
    answers: Annotated[tuple[KeptAnswers, ...], Field(description="By configuration.")]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Every column of a table is as long as the others, and every place is in its list."""
        items = self.items
        if len({len(items.keys), len(items.ids), len(items.units), len(items.questions)}) > 1:
            raise ValueError("the columns of items have different lengths")
        if self.prompt_texts is not None and len(self.prompt_texts) != len(self.prompts):
            raise ValueError("prompts and their texts have different lengths")
        for one in self.answers:
            if len({len(one.item), len(one.score), len(one.state), len(one.prompt)}) > 1:
                raise ValueError("the columns of answers have different lengths")
            if max(one.item, default=-1) >= len(items.keys):
                raise ValueError("an answer is to an item that is not there")
            if max((place for place in one.prompt if place is not None), default=-1) >= len(self.prompts):
                raise ValueError("an answer has a prompt that is not there")
        return self


class BaselineRun(Part):
    """The second line of the file: the run."""

    gridc: Annotated[str, Field(description="The version of gridc that kept it.")]
    name: Annotated[str, Field(description="The run, as it was named then.")]
    made_by: Annotated[str, Field(description="The package that asked, and its version.")]
    package: Annotated[str, Field(description="The package alone.")]
    finished: Annotated[bool | None, Field(description="Whether every answer is there; null: not said.")]
    states: Annotated[tuple[AnswerState, ...], Field(description="How answers end.")]
    facts: Annotated[tuple[KeptFact, ...], Field(description="Of the whole run, or of one model.")]
    unknown: Annotated[tuple[str, ...], Field(description="What the run does not record.")]
    warnings: Annotated[tuple[str, ...], Field(description="What to know before any number.")]
    bare: Annotated[
        tuple[tuple[str, str], ...], Field(description="Model and benchmark with a score and no items.")
    ]
    benchmarks: Annotated[tuple[KeptBenchmark, ...], Field(description="One model on one benchmark each.")]

    @model_validator(mode="after")
    def _ends(self) -> Self:
        for one in self.benchmarks:
            if any(max(answers.state, default=-1) >= len(self.states) for answers in one.answers):
                raise ValueError("an answer ends in a state that is not there")
        return self
