"""The language: what a GRID card says, as typed, frozen models.

The JSON Schema that editors and `gridc validate` use is generated from these classes, so a field's
description is its documentation. What needs more than one table to decide lives in
`gridc.compiler.frontend.checks`.
"""

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from gridc.schema.base import EVERYWHERE, Contradiction, Declared, Id, One, Selector, Table, Text
from gridc.schema.call_numbers import CALL_NUMBERS
from gridc.schema.effects import NUMBERS, BenchmarkEffects, Effects, Parts, VarName
from gridc.schema.inference import Analysis, AnyHypothesis, Curve, Exclude, Falsification, Family, Fork
from gridc.schema.items import TASK_LOADERS, Exemplars, LoaderName, Loading, Sample, UnitLevel, loader_kind
from gridc.schema.judging import Judge
from gridc.schema.models import Model
from gridc.schema.scores import NamedOutcome, scale_of
from gridc.schema.statistics import Statistic


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


TASK = "task:"
"""What comes before the name of a package's task."""


def _direction_unless_task(schema: dict[str, Any]) -> None:
    task = [
        {"properties": {"source": {"pattern": f"^{TASK}"}}},
        {"properties": {"loader": {"enum": [*TASK_LOADERS]}}},
    ]
    schema |= {"if": {"anyOf": task}, "else": {"required": ["direction"]}}
    del schema["properties"]["direction"]["default"]


class Benchmark(BenchmarkEffects):
    """A set of items and the file format they come in."""

    model_config = ConfigDict(json_schema_extra=_direction_unless_task)

    id: Annotated[Id, Field(description="How the study calls it.")]
    loader: Annotated[
        LoaderName,
        Field(description="The upstream format of the file; plugin:NAME: of an installed package."),
    ]
    source: Annotated[
        str,
        Field(
            pattern=r"^((data|path|builtin):.+"
            r"|hf:[\w.\-]+/[\w.\-]+(@(refs/convert/parquet|[\w.\-]+))?(/.+|\?[^/?]+)|task:[^\s/]+)$",
            description="data:FILE under --data or GRIDC_DATA, path:FILE beside the spec, builtin:FILE, "
            "hf:OWNER/NAME@REVISION/FILE or hf:OWNER/NAME@REVISION?config=NAME&split=NAME; * in the file's "
            "name takes every file that fits, by name. task:NAME, a task or group of the package that the "
            "loader reads; path:FILE.yaml is a task file beside the spec.",
            examples=["data:truthfulqa/v0_mc_task.json", "data:bbq/*.jsonl", "builtin:pocket_bbq.jsonl"],
        ),
    ]
    direction: Annotated[
        DirectionName | Annotated[float, Field(ge=0, le=1)],
        Field(
            description="Which score is the good one: higher_is_better or lower_is_better (also written "
            "higher or lower), or a score from 0 to 1, of which the nearest is best. A task says it itself.",
            examples=["higher", 0.5],
        ),
    ] = "higher_is_better"
    unit: Annotated[
        UnitLevel | None,
        Field(
            description="Which groups of items are taken as independent of each other: item, question (items "
            "that ask the same), family, template or category. Default: the coarsest below category that the "
            "data document."
        ),
    ] = None
    sample: Annotated[Sample | None, Field(description="Default: every item.")] = None
    loading: Annotated[Loading, Field(description="What the loader has to be told.")] = Loading()
    exemplars: Annotated[Exemplars | None, Field(description="Needed where shots > 0.")] = None
    note: Annotated[Text | None, Field(description="Printed beside the benchmark on every report.")] = None
    private: Annotated[
        bool | None,
        Field(
            description="true: no report shows an item of it, or an answer to one. Default: the report page "
            "shows one item with two answers."
        ),
    ] = None
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
    def is_task(self) -> bool:
        """Whether a package says how its items are asked and scored."""
        return self.source.startswith(TASK) or loader_kind(self.loader).task

    @property
    def target(self) -> float | None:
        """The score of which the nearest is best; None where more, or less, is better."""
        return self.direction if isinstance(self.direction, float) else None

    @property
    def lower_is_better(self) -> bool:
        """Whether the lower of two scores is the better one."""
        return self.direction == "lower_is_better"

    @model_validator(mode="after")
    def _direction_stated(self) -> Self:
        if "direction" not in self.model_fields_set and not self.is_task:
            raise ValueError("`direction` is missing")  # the schema says it better
        return self

    @model_validator(mode="after")
    def _fits_task(self) -> Self:
        if self.exemplars is not None and (self.exemplars.pool == "task") is not self.is_task:
            fit = "task" if self.is_task else "rest"
            problem = f'`pool = "{self.exemplars.pool}"` does not go with `loader = "{self.loader}"`'
            raise Contradiction(problem, f'exemplars = {{ pool = "{fit}", seed = {self.exemplars.seed} }}')
        if self.variants is not None and self.is_task:
            raise Contradiction("a task has no `variants`", "name the task in other words as a benchmark")
        return self

    @model_validator(mode="after")
    def _loading_fits(self) -> Self:
        for loading in (
            self.loading,
            *(variant.loading for variant in self.variants or () if variant.loading),
        ):
            loading.check(self.loader)
        return self


class Budget(Table):
    """Hard caps on one run. Never part of the stamp; reaching one is an observed deviation."""

    usd: Annotated[
        float | None, Field(gt=0, description="Most that API calls may cost, over all runs into the store.")
    ] = None
    calls: Annotated[int | None, Field(ge=1, description="Most calls that are executed.")] = None
    tokens: Annotated[int | None, Field(ge=1, description="Most tokens, asked and generated.")] = None
    wall_s: Annotated[float | None, Field(gt=0, description="Longest time, in seconds.")] = None


TIERS = ("core", "stress")


class StudySection(Table):
    """What is studied, and why."""

    id: Annotated[Id, Field(description="Names the study and its results folder.")]
    title: Annotated[Text, Field(description="One line, as printed on the report.")]
    purpose: Annotated[
        Literal["descriptive", "exploratory", "comparative", "confirmatory"],
        Field(
            description="descriptive: scores are reported; exploratory: what to predict is looked for, and "
            "its verdicts confirm nothing; comparative: models are ranked; confirmatory: hypotheses are "
            "tested."
        ),
    ]
    yes_when: Annotated[
        Literal["order_holds", "order_changes", "models_differ"] | None,
        Field(
            description="When the answer to the title's question is yes. order_holds: every two models keep "
            "their order under every choice; order_changes: some change places; models_differ: they differ "
            "under the reference configuration. Reports then begin with yes or no. Default: the title asks "
            "nothing that can be answered so."
        ),
    ] = None
    not_varied: Annotated[
        tuple[Text, ...],
        Field(description="What was held fixed and could matter; printed as the scope statement."),
    ] = ()
    assumptions: Annotated[
        tuple[Text, ...],
        Field(description="Choices that the study's source leaves open, and how they were made here."),
    ] = ()
    tiers: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=2,
            description="The names of the tiers, from the most common practice to its edge. A configuration "
            "has the last tier that any of its levels has. Default: core, stress.",
            examples=[["core", "plausible", "stress"]],
        ),
    ] = None
    conflict_of_interest: Annotated[
        Text | None, Field(description="Who pays, who is employed by whom; printed on the card.")
    ] = None


class Level(Effects):
    """One value of an axis: what it does to a call, how common it is, and who says so."""

    id: Annotated[Id, Field(description="How selectors name the level.")]
    tier: Annotated[
        Id,
        Field(
            description="core: an anchor of practice; stress: at its edge; or a name of `study.tiers`.",
            examples=["core", "stress"],
        ),
    ]
    provenance: Annotated[Text, Field(description="Where the choice is documented or comes from.")]
    dose: Annotated[
        float | None,
        Field(
            description="How much of it, as a number: a trend then has the distances between its levels. "
            "Default: levels are equally far apart."
        ),
    ] = None


class LevelFile(Table):
    """Levels that stand in a file, one in each row: each key names the column that has it. They are written
    out before anything else is read, so that a stamp covers them as levels."""

    source: Annotated[
        str,
        Field(
            pattern=r"^path:.+\.(csv|jsonl)$",
            description="path:FILE, a CSV or JSONL file beside the spec.",
            examples=["path:paraphrases.csv"],
        ),
    ]
    id: Annotated[Text, Field(description="The column of their ids.", examples=["id"])]
    prompt: Annotated[
        Text | Parts | None, Field(description="The column of templates, or of each named part its column.")
    ] = None
    system: Annotated[
        Text | Parts | None,
        Field(description="The column of system prompts, or of each named part its column."),
    ] = None
    wrapper: Annotated[Text | None, Field(description="The column of templates around the prompt.")] = None
    vars: Annotated[
        dict[VarName, Text] | None,
        Field(
            min_length=1,
            description="For each parameter of the templates the column of its values.",
            examples=[{"instruction": "text"}],
        ),
    ] = None
    tier: Annotated[
        Text | None,
        Field(description="A tier of all of them, or the column of their tiers. Default: the axis's."),
    ] = None
    provenance: Annotated[
        Text | None, Field(description="The column of their provenances. Default: the axis's.")
    ] = None
    benchmark: Annotated[
        Text | None,
        Field(
            description="The column that says of which benchmark a level is one; on others it is excluded. "
            "An empty field: of every one. Default: all are of every one."
        ),
    ] = None


class Axis(Table):
    """One harness choice, with every value that it takes in the study. Its levels are those of `level`, then
    those of `values`, then those of the file."""

    id: Annotated[Id, Field(description="How selectors name the axis.")]
    level: Annotated[tuple[Level, ...], Field(description="Its values, in order.")] = ()
    values: Annotated[
        dict[Text, tuple[Any, ...] | dict[Id, Any]] | None,
        Field(
            min_length=1,
            max_length=1,
            description="The values of one effect key or of one part of it, which name themselves, or by "
            "names. Levels of several keys are [[axis.level]] tables. Default: none.",
            examples=[
                {"temperature": [0.0, 0.7]},
                {"system": {"nobody": "", "nurse": "You are a nurse."}},
                {"vars": {"sentences": [4, 8]}},
            ],
        ),
    ] = None
    levels: Annotated[
        LevelFile | None,
        Field(
            description="A file that has levels, one in each row. Default: none.",
            examples=[
                {
                    "source": "path:paraphrases.csv",
                    "id": "id",
                    "prompt": "text",
                    "tier": "core",
                    "provenance": "origin",
                }
            ],
        ),
    ] = None
    tier: Annotated[Id | None, Field(description="Of its levels that state none.")] = None
    provenance: Annotated[Text | None, Field(description="Of its levels that state none.")] = None

    @model_validator(mode="after")
    def _has_levels(self) -> Self:
        if not self.level:
            raise Contradiction(
                "an axis needs levels", "[[axis.level]], `values = { KEY = [...] }` or `levels`"
            )
        return self


class ConfigurationDraw(Table):
    """Not every combination of levels, but some of them, drawn with a seed: for grids that are too large to
    run, such as a grammar of prompt formats."""

    n: Annotated[
        int,
        Field(
            ge=2,
            description="How many configurations: the first level of every axis, and n - 1 others, drawn "
            "without replacement from those that no [[exclude]] over axes covers.",
        ),
    ]
    seed: Annotated[int, Field(ge=0, description="Seeds the draw.")]


class Slice(Table):
    """A named sub-envelope, reported beside the whole."""

    id: Annotated[Id, Field(description="How the report calls it.")]
    declared: Annotated[
        Declared, Field(description="ex_ante: named before the data were seen; post_hoc: after.")
    ]
    where: Annotated[
        Selector, Field(description="Which configurations it holds.", examples=[{"decoding": "greedy"}])
    ]


class Waive(Table):
    """A hazard that the study takes knowingly. It is printed on the card."""

    code: Annotated[str, Field(pattern=r"^GC5\d\d$", description="The hazard, as `gridc explain` knows it.")]
    why: Annotated[Text, Field(description="Printed wherever the waiver is.")]
    where: Annotated[
        Selector, Field(description="In which cells, or for which `hypothesis`. Default: everywhere.")
    ] = EVERYWHERE


class Roster(Table):
    """Who is compared."""

    inclusion: Annotated[Text, Field(description="The rule by which models entered the study.")]


class Sampling(Table):
    """How sampled answers are drawn."""

    seed: Annotated[
        int, Field(ge=0, description="Replicate r of a call is a function of seed, item, call and r.")
    ]
    independent: Annotated[
        tuple[Id, ...] | None,
        Field(
            min_length=1,
            description="Axes whose levels draw apart. Without it two configurations that send the same "
            "words share one answer. Matters where answers are sampled or a provider gives them. "
            "Default: none.",
            examples=[["scaffold"]],
        ),
    ] = None


class EngineSettings(Table):
    """How to run. Never part of the stamp, because it may not move a result."""

    kv_mib: Annotated[
        int | None,
        Field(
            ge=1,
            description="Most memory for the keys and values of one batch, in MiB. Default: 1024 on a CPU, "
            "half of what a GPU has free beside the weights.",
        ),
    ] = None
    batch_prompts: Annotated[
        int | None, Field(ge=1, description="Most prompts in one batch. Default: as many as fit kv_mib.")
    ] = None
    noise_sample: Annotated[
        int | None,
        Field(
            ge=0,
            description="How many calls of each model and precision are answered once more in another "
            "batch shape, to measure the noise floor. Default: as many as a tenth of the run's tokens "
            "allows, at most 32, or 8 in fp32.",
        ),
    ] = None
    threads: Annotated[int | None, Field(ge=1, description="CPU threads. Default: all cores.")] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"], Field(description="auto: cuda where there is one, else cpu.")
    ] = "auto"
    reuse_proofs: Annotated[
        bool,
        Field(
            description="Whether an earlier proof of how a local model is computed is taken, where nothing "
            "changed that it depends on; false: it is proved anew."
        ),
    ] = True
    concurrency: Annotated[
        int,
        Field(
            ge=1,
            le=1024,
            description="Most requests to one api model that are open at once, or answers that vLLM writes.",
        ),
    ] = 64
    tensor_parallel: Annotated[
        int, Field(ge=1, description="Parts into which a vllm model is divided, each on a GPU of its own.")
    ] = 1
    data_parallel: Annotated[
        int, Field(ge=1, description="Copies of a vllm model that one server runs side by side.")
    ] = 1
    attempts: Annotated[
        int, Field(ge=1, le=100, description="Most times that a call to an api model is asked.")
    ] = 6
    timeout_s: Annotated[
        float, Field(gt=0, description="Longest time of one request to an api model, in seconds.")
    ] = 600.0
    batch_wait_s: Annotated[
        float | None,
        Field(
            ge=0,
            description="Longest time that a run waits for batches of providers, in seconds; it is resumed "
            "by the same command. Default: until they are done.",
        ),
    ] = None


class Spec(Table):
    """A GRID card: the source of one evaluation study."""

    gridcard: Annotated[One, Field(description="Version of the language; this gridc reads 1.")]
    study: StudySection
    model: Annotated[tuple[Model, ...], Field(min_length=1, description="The models, in roster order.")]
    benchmark: Annotated[tuple[Benchmark, ...], Field(min_length=1, description="The benchmarks.")]
    harness: Effects = Field(
        default_factory=Effects,
        description="What every call has unless a benchmark, model or axis says otherwise.",
    )
    axis: Annotated[tuple[Axis, ...], Field(description="The harness choices that vary.")] = ()
    draw: Annotated[
        ConfigurationDraw | None,
        Field(description="A draw of the configurations. Default: every combination of levels."),
    ] = None
    exclude: Annotated[tuple[Exclude, ...], Field(description="What is not run, and why.")] = ()
    slice: Annotated[tuple[Slice, ...], Field(description="Named sub-envelopes.")] = ()
    hypothesis: Annotated[tuple[AnyHypothesis, ...], Field(description="What is predicted.")] = ()
    family: Annotated[tuple[Family, ...], Field(description="Which hypotheses share an error rate.")] = ()
    fork: Annotated[tuple[Fork, ...], Field(description="Analytic choices that were open.")] = ()
    curve: Annotated[tuple[Curve, ...], Field(description="Specification curves over forks.")] = ()
    falsification: Annotated[
        tuple[Falsification, ...], Field(description="Tests that could break the finding.")
    ] = ()
    outcome: Annotated[
        tuple[NamedOutcome, ...] | None, Field(min_length=1, description="Further outcomes of responses.")
    ] = None
    statistic: Annotated[
        tuple[Statistic, ...] | None,
        Field(min_length=1, description="Numbers over many responses that are no means of scores."),
    ] = None
    judge: Annotated[
        Judge | tuple[Judge, ...] | None,
        Field(
            description="Who assesses responses that no rule can score: [judge], or several as [[judge]], "
            "each with an `id`, of which the key `judge` of a call names one. Default: nobody."
        ),
    ] = None
    waive: Annotated[tuple[Waive, ...], Field(description="Hazards that are taken knowingly.")] = ()
    roster: Roster | None = None
    sampling: Sampling = Field(default_factory=lambda: Sampling(seed=0))
    analysis: Analysis = Field(default_factory=Analysis)
    budget: Budget = Field(default_factory=Budget)
    engine: EngineSettings = Field(default_factory=EngineSettings)

    @property
    def tiers(self) -> tuple[str, ...]:
        """The names of the tiers, the most common practice first."""
        return self.study.tiers or TIERS

    @property
    def outcomes(self) -> tuple[NamedOutcome, ...]:
        """The further outcomes of responses, in order."""
        return self.outcome or ()

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """The numbers over many responses, in order."""
        return self.statistic or ()

    @cached_property
    def units_of_numbers(self) -> dict[str, str]:
        """What outcomes that are no shares are counted in, by name: those of calls, and of scoring functions.
        A name that the spec gives to an [[outcome]] is that."""
        units = {name: each.unit for name, each in CALL_NUMBERS.items()}
        for table in (self.harness, *self.benchmark, *self.levels):
            units |= (table.scorer.units or {}) if table.scorer is not None else {}
        others = {outcome.id for outcome in self.outcomes}
        return {name: unit for name, unit in units.items() if name not in others}

    @cached_property
    def judges(self) -> tuple[Model, ...]:
        """The models that judge, each under the name of its office."""
        return tuple(
            Model(**assessor.as_model(name))
            for judge in self.declared_judges
            for name, assessor in judge.assessors.items()
        )

    @property
    def declared_judges(self) -> tuple[Judge, ...]:
        """Every [[judge]], or the one [judge]."""
        if isinstance(self.judge, Judge):
            return (self.judge,)
        return self.judge or ()

    def judge_called(self, name: str | None) -> Judge | None:
        """The judge that a call names; the only one, where it names none."""
        declared = self.declared_judges
        if name is None:
            return declared[0] if len(declared) == 1 else None
        return next((judge for judge in declared if judge.id == name), None)

    def verdicts(self, name: str | None) -> tuple[str, ...]:
        """The labels of the judge that a call names; nothing where nobody judges."""
        judge = self.judge_called(name)
        return () if judge is None else judge.verdicts

    @property
    def asked_models(self) -> tuple[Model, ...]:
        """Every model that is asked something: those that are compared, and those that judge."""
        return (*self.model, *self.judges)

    @property
    def graded(self) -> bool:
        """Whether a response can earn a part of a point."""
        tables = (self.harness, *self.benchmark, *self.levels)
        numbers = any(table.scorer is not None and table.scores is None for table in tables)
        numbers |= any(table.method in NUMBERS for table in tables)
        numbers |= any(table.match is not None and bool(table.match.share) for table in tables)
        stated = (table.scores for table in tables)
        judged = (judge.scores for judge in self.declared_judges)
        return numbers or any(scale_of(scores) > 1 for scores in (*stated, *judged))

    @property
    def scored(self) -> bool:
        """Whether a function scores some responses."""
        return any(table.scorer is not None for table in (self.harness, *self.benchmark, *self.levels))

    @property
    def makes_one(self) -> str | None:
        """The key by which one score is made of several, other than as a mean: of an item's replicates, or of
        a group's items."""
        tables = (self.harness, *self.levels)
        if any(table.aggregate not in (None, "mean") for table in tables):
            return "aggregate"
        return "all_of" if any(table.all_of is not None for table in tables) else None

    @property
    def aggregated(self) -> bool:
        """Whether one score is made of several, other than as a mean."""
        return self.makes_one is not None

    @property
    def bounds(self) -> bool:
        """Whether a criterion bounds a statistic."""
        criteria = (test.criterion for test in self.falsification)
        return any(asks is not None and asks.statistic is not None for asks in criteria)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of every axis, in order."""
        return tuple(level for axis in self.axis for level in axis.level)

    def stamped(self) -> dict[str, object]:
        """The part that a stamp covers, as plain JSON with every default written out.

        Keys that have no value are left out, so that a key which the language gains later does not change
        the stamps of studies that do not use it.
        """
        access: Any = {"key_env": True, "price": True, "batch": True}
        judges: Any = {**access, "backup": access, "validation": access, "panel": {"__all__": access}}
        judges = judges if isinstance(self.judge, Judge) else {"__all__": judges}
        unstamped: Any = {"budget": True, "engine": True, "model": {"__all__": access}, "judge": judges}
        return self.model_dump(mode="json", by_alias=True, exclude=unstamped, exclude_none=True)
