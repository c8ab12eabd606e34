"""The language: what a GRID card says, as typed, frozen models.

The JSON Schema that editors and `gridc validate` use is generated from these classes, so a field's
description is its documentation. What needs more than one table to decide lives in
`gridc.compiler.frontend.checks`.
"""

from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from gridc.schema import engines
from gridc.schema.analysis import Analysis
from gridc.schema.base import Declared, Id, One, Table, Text
from gridc.schema.budget import Budget
from gridc.schema.inference import AnyHypothesis, Curve, Exclude, Falsification, Family, Fork
from gridc.schema.items import Exemplars, LoaderName, Loading, Sample, UnitLevel
from gridc.schema.judging import Judge
from gridc.schema.provider import Endpoint
from gridc.schema.scaffold import Scaffold
from gridc.schema.scores import NamedOutcome, Scores
from gridc.schema.selector import EVERYWHERE, Selector

TIERS = ("core", "stress")
Precision = Literal["fp32", "bf16", "fp16", "int8", "nf4"]
EXACT: Precision = "fp32"
"""The precision in which the shape of a batch is expected to change nothing."""
SERVED: Literal["as served"] = "as served"
"""The precision of a provider's model: whoever serves it knows."""
Method = Literal["extract", "first_token", "loglikelihood", "pair_likelihood", "refusal_keywords", "judge"]
Reader = Literal["last_answer", "whole_response", "answer_line"]
Candidates = Literal["option_text", "letter", "unknown_expanded", "sentence_pair"]
Normalise = Literal["none", "token", "char", "unconditional"]
Ties = Literal["against_gold", "first", "last"]
Seam = Literal["shared_prefix", "context_length"]
Overflow = Literal["error", "drop_exemplars"]


Casing = Literal["as_written", "upper", "lower", "title"]
Parts = Annotated[dict[Id, Text], Field(min_length=1)]
VarName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Var = str | int | float
ENUMERATOR = r"^([(\[<]?[Aa1Ii][)\]>.:]{0,2}|[*•–-])$"


def _in_full(value: object) -> object:
    return f"{value}_is_better" if value in ("higher", "lower") else value


Direction = Annotated[
    Literal["higher_is_better", "lower_is_better"],
    BeforeValidator(_in_full),
    WithJsonSchema({"enum": ["higher_is_better", "lower_is_better", "higher", "lower"], "type": "string"}),
]
"""Stamps have the name in full, so that both spellings are one study."""


class Separators(Table):
    """What stands between the parts of a prompt."""

    label: Annotated[
        str | None, Field(description="Between an option's label and its text. Default: a space.")
    ] = None
    options: Annotated[
        str | None,
        Field(description="Between options. Default: a line break; ` or ` where they are listed."),
    ] = None
    question: Annotated[
        str | None, Field(description="Between the stem and its options. Default: a line break.")
    ] = None
    blocks: Annotated[
        str | None,
        Field(description="Between exemplars, and before the item. Default: a blank line."),
    ] = None
    parts: Annotated[
        str | None,
        Field(description="Between the named parts of a prompt or a system prompt. Default: a blank line."),
    ] = None


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


ChatTemplate = Annotated[
    bool | None, Field(description="Wrap the prompt in the model's chat template. Default: true.")
]
SystemPrompt = Annotated[
    str | Parts | None,
    Field(
        description="System prompt: text, or named parts, of which each axis may set its own and which are "
        "joined in `system_order`. Default: none.",
        examples=["You are a careful assistant.", {"persona": "You are a nurse."}],
    ),
]
SystemOrder = Annotated[
    tuple[Id, ...] | None,
    Field(
        description="The order in which the named parts of `system` are joined. A part that nothing sets is "
        "left out. Needed where there are several.",
        examples=[["persona", "instruction"]],
    ),
]


class ModelEffects(Table):
    """Keys of a call that a model may set for itself and an axis may override."""

    precision: Annotated[
        Precision | None,
        Field(description="Number format of the weights: fp32, bf16, fp16, int8 or nf4. Default: fp32."),
    ] = None
    chat_template: ChatTemplate = None
    system: SystemPrompt = None
    system_order: SystemOrder = None
    system_turn: Annotated[
        Literal["system", "user"] | None,
        Field(description="Where the system prompt stands: its own turn, or ahead of the user's text."),
    ] = None


class BenchmarkEffects(Table):
    """Keys of a call that a benchmark may set for itself and an axis may override."""

    measurand: Annotated[
        Text | None,
        Field(
            description="Named set of effects, written out in its place; `gridc measurands` lists them. "
            "plugin:NAME: of an installed package.",
            examples=["lm-eval:truthfulqa_mc1"],
        ),
    ] = None
    chat_template: ChatTemplate = None
    system: SystemPrompt = None
    system_order: SystemOrder = None
    prompt: Annotated[
        Text | Parts | None,
        Field(
            description="Template: builtin:NAME, path:FILE, data:FILE, or the Jinja text itself; or named "
            "parts that are templates, of which each axis may set its own and which are joined in "
            "`prompt_order`.",
            examples=["builtin:T1", "path:prompts/mine.jinja", {"task": "Be exact.", "item": "builtin:T1"}],
        ),
    ] = None
    prompt_order: Annotated[
        tuple[Id, ...] | None,
        Field(
            description="The order in which the named parts of `prompt` are joined. A part that nothing sets "
            "is left out. Needed where there are several.",
            examples=[["task", "item"]],
        ),
    ] = None
    vars: Annotated[
        dict[VarName, Var] | None,
        Field(
            description="Parameters of the templates of `prompt` and `wrapper`, which print them by name; "
            "each axis may set its own. Default: none.",
            examples=[{"tone": "formal"}],
        ),
    ] = None
    enumerator: Annotated[
        str | None,
        Field(
            pattern=ENUMERATOR,
            description="How lettered options are marked, by the mark of the first one: a letter (A or a), a "
            "number (1) or a Roman number (I or i), with what surrounds it; or a bullet, behind which an "
            "answer can only name an option's text. Default: A. with its point.",
            examples=["(A)", "1.", "i)", "-"],
        ),
    ] = None
    separators: Annotated[
        Separators | None,
        Field(description="What stands between the parts of a prompt.", examples=[{"options": "; "}]),
    ] = None
    casing: Annotated[
        Casing | None,
        Field(
            description="The case of the prompt template's own words, as_written, upper, lower or title. The "
            "item's text and what the template computes keep theirs. Default: as_written."
        ),
    ] = None
    shots: Annotated[
        int | None, Field(ge=0, le=64, description="How many exemplars precede the item. Default: 0.")
    ] = None
    options: Annotated[
        Literal["lettered", "listed", "none"] | None,
        Field(
            description="How `question` shows the options: lettered, one a line; listed, `Yes or No`, "
            "answered by their text; none. Default: lettered."
        ),
    ] = None
    option_order: Annotated[
        str | None,
        Field(
            pattern=r"^(file|reversed|shuffled:\d{1,15}|rotated:\d{1,2}|gold_at:[A-Z])$",
            description="file, reversed, shuffled:SEED (item by item), rotated:K (the first K go last) or "
            "gold_at:LETTER (the right one there). TruthfulQA's files list the right one first.",
            examples=["shuffled:42", "gold_at:B"],
        ),
    ] = None
    items: Annotated[
        Sample | None,
        Field(
            description="Ask only these of the benchmark's sampled items. Default: all.",
            examples=[{"n": 2, "seed": 1}],
        ),
    ] = None
    wrapper: Annotated[
        Text | None,
        Field(
            description="Template around the whole prompt, printing `prompt`: path:FILE or Jinja text.",
            examples=["{{ prompt }}\nThink first."],
        ),
    ] = None
    method: Annotated[
        Method | None,
        Field(
            description="extract: read the answer from free text; first_token: the most likely first token "
            "is the answer; loglikelihood: rank candidates; pair_likelihood: which of two sentences is more "
            "likely; refusal_keywords: search the response for phrases of refusal; judge: a model assesses "
            "the response, see [judge]."
        ),
    ] = None
    reader: Annotated[
        Reader | None,
        Field(
            description="How extract reads: last_answer, the last valid marker; whole_response, the response "
            "is exactly an answer; answer_line, the last line `ANSWER: X`. Default: last_answer."
        ),
    ] = None
    scores: Annotated[
        Scores | None,
        Field(
            description="What each label earns, 0 to 1, or `{ comply = .., refuse = .. }` by what the prompt "
            "expects. Labels: an option's text, or right, unknown, matching; comply and refuse of "
            "refusal_keywords; a judge's own; other for the rest. Default: 1 for a right option or what is "
            "expected, else 0; a judge's labels have no default.",
            examples=[{"right": 1, "unknown": 0.5, "other": 0}],
        ),
    ] = None
    unreadable: Annotated[
        Literal["zero", "worst"] | None,
        Field(
            description="What an unreadable answer earns: zero, or worst, which is 1 where lower is better. "
            "Default: zero."
        ),
    ] = None
    stop: Annotated[
        tuple[Text, ...] | None,
        Field(
            max_length=16,
            description="The answer ends before the first of these. They cut what is read, not what is "
            "generated. Default: none.",
            examples=[["\n\n"]],
        ),
    ] = None
    candidates: Annotated[
        Candidates | None,
        Field(
            description="What is ranked: option_text; letter; unknown_expanded, the texts with all ten of "
            "BBQ's unknown phrasings; sentence_pair, for pair_likelihood. Default: option_text."
        ),
    ] = None
    normalise: Annotated[
        Normalise | None,
        Field(
            description="token, char: divide a candidate's log-likelihood by its length; unconditional: "
            "subtract its log-likelihood behind `premise` alone. Default: none."
        ),
    ] = None
    premise: Annotated[
        str | None,
        Field(
            description="What stands for the prompt in the unconditional likelihood. Default: nothing.",
            examples=["Answer:"],
        ),
    ] = None
    ties: Annotated[
        Ties | None,
        Field(
            description="Which of equally likely candidates is chosen: against_gold, one that earns no "
            "point; first or last in the order of the candidates. Default: against_gold."
        ),
    ] = None
    seam: Annotated[
        Seam | None,
        Field(
            description="Where a candidate's tokens begin: shared_prefix, behind the tokens that the prompt "
            "and all candidates share; context_length, behind as many tokens as the prompt has alone, its "
            "trailing space going to the candidate (lm-evaluation-harness). Default: shared_prefix."
        ),
    ] = None
    overflow: Annotated[
        Overflow | None,
        Field(
            description="What happens to a prompt that the model has no room for: error, or drop_exemplars, "
            "the last ones first. The question is never cut. Default: error."
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        Field(
            description="Between prompt and candidate. Default: none in a chat, else one space.",
            examples=["\n"],
        ),
    ] = None
    max_tokens: Annotated[
        int | None, Field(ge=1, le=8192, description="Longest answer, in tokens. Default: 32.")
    ] = None


class Effects(ModelEffects, BenchmarkEffects):
    """Every key of a call that an axis level or `[harness]` may set."""

    temperature: Annotated[
        float | None, Field(ge=0, le=5, description="0 is greedy decoding. Default: 0.")
    ] = None
    top_p: Annotated[float | None, Field(gt=0, le=1, description="Nucleus sampling mass. Default: 1.")] = None
    variant: Annotated[
        Id | None,
        Field(
            description="Which of a benchmark's `variants` is asked. Default: its own items.", examples=["de"]
        ),
    ] = None
    scaffold: Annotated[
        Scaffold | None,
        Field(
            description="The procedure of calls that answers an item. Default: direct.",
            examples=[{"kind": "react", "rounds": 5}],
        ),
    ] = None
    replicates: Annotated[
        int | None,
        Field(
            ge=1, le=1000, description="Independent answers per item; the score is their mean. Default: 1."
        ),
    ] = None

    def stated(self) -> dict[str, object]:
        """The effects that are set here, by key."""
        return {key: value for key in Effects.model_fields if (value := getattr(self, key, None)) is not None}


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
    note: Annotated[Text | None, Field(description="Printed beside the model on every report.")] = None

    @property
    def own_precision(self) -> str:
        """The precision of its calls where neither the harness nor an axis sets one."""
        return SERVED if engines.engine_kind(self.engine).provider else self.precision or EXACT


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
            pattern=r"^((data|path|builtin):.+|hf:[\w.\-]+/[\w.\-]+(@[\w.\-]+)?/.+)$",
            description="data:FILE under --data or GRIDC_DATA, path:FILE beside the spec, builtin:FILE, or "
            "hf:OWNER/NAME@REVISION/FILE; * in the file's name takes every file that fits, by name.",
            examples=["data:truthfulqa/v0_mc_task.json", "data:bbq/*.jsonl", "builtin:pocket_bbq.jsonl"],
        ),
    ]
    direction: Annotated[
        Direction | Annotated[float, Field(ge=0, le=1)],
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
        for loading in (self.loading, *(each.loading for each in self.variants or () if each.loading)):
            loading.check(self.loader)
        return self


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


class Axis(Table):
    """One harness choice, with every value that it takes in the study."""

    id: Annotated[Id, Field(description="How selectors name the axis.")]
    level: Annotated[tuple[Level, ...], Field(min_length=1, description="Its values, in order.")]


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


class Engine(Table):
    """How to run. Never part of the stamp, because it may not move a result."""

    kv_mib: Annotated[
        int, Field(ge=1, description="Most memory for the keys and values of one batch, in MiB.")
    ] = 1024
    batch_prompts: Annotated[
        int | None, Field(ge=1, description="Most prompts in one batch. Default: as many as fit kv_mib.")
    ] = None
    noise_sample: Annotated[
        int,
        Field(
            ge=0,
            description="How many calls of each model and precision are answered once more in another "
            "batch shape, to measure the noise floor.",
        ),
    ] = 32
    threads: Annotated[int | None, Field(ge=1, description="CPU threads. Default: all cores.")] = None
    device: Annotated[
        Literal["auto", "cpu", "cuda"], Field(description="auto: cuda where there is one, else cpu.")
    ] = "auto"
    concurrency: Annotated[
        int, Field(ge=1, le=1024, description="Most requests to one api model that are open at once.")
    ] = 64
    attempts: Annotated[
        int, Field(ge=1, le=100, description="Most times that a call to an api model is asked.")
    ] = 6
    timeout_s: Annotated[
        float, Field(gt=0, description="Longest time of one request to an api model, in seconds.")
    ] = 600.0


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
    axis: Annotated[tuple[Axis, ...], Field(min_length=1, description="The harness choices that vary.")]
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
    judge: Judge | None = None
    waive: Annotated[tuple[Waive, ...], Field(description="Hazards that are taken knowingly.")] = ()
    roster: Roster | None = None
    sampling: Sampling = Field(default_factory=lambda: Sampling(seed=0))
    analysis: Analysis = Field(default_factory=Analysis)
    budget: Budget = Field(default_factory=Budget)
    engine: Engine = Field(default_factory=Engine)

    @property
    def tiers(self) -> tuple[str, ...]:
        """The names of the tiers, the most common practice first."""
        return self.study.tiers or TIERS

    @property
    def outcomes(self) -> tuple[NamedOutcome, ...]:
        """The further outcomes of responses, in order."""
        return self.outcome or ()

    @cached_property
    def judges(self) -> tuple[Model, ...]:
        """The models that judge, each under the name of its office."""
        assessors = {} if self.judge is None else self.judge.assessors
        return tuple(Model(**assessor.as_model(name)) for name, assessor in assessors.items())

    @property
    def asked_models(self) -> tuple[Model, ...]:
        """Every model that is asked something: those that are compared, and those that judge."""
        return (*self.model, *self.judges)

    def stamped(self) -> dict[str, object]:
        """The part that a stamp covers, as plain JSON with every default written out.

        Keys that have no value are left out, so that a key which the language gains later does not change
        the stamps of studies that do not use it.
        """
        access: Any = {"key_env": True, "price": True}
        judges = {**access, "backup": access, "validation": access, "panel": {"__all__": access}}
        unstamped: Any = {"budget": True, "engine": True, "model": {"__all__": access}, "judge": judges}
        return self.model_dump(mode="json", by_alias=True, exclude=unstamped, exclude_none=True)
