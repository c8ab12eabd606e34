"""The keys of a call: what `[harness]`, a model, a benchmark or an axis level may set."""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from gridc.schema.base import Contradiction, Id, Table, Text, known_or_plugin
from gridc.schema.items import Sample
from gridc.schema.scores import Scores

DIRECT = "direct"

TAKES: Mapping[str, tuple[str, ...]] = {
    DIRECT: (),
    "cot": (),
    "react": ("rounds", "tools"),
    "critic": ("rounds",),
    "map_reduce": ("workers",),
    "map_reduce_options": ("workers",),
    "vote": ("workers",),
    "chain": ("wording", "intensity", "property", "length"),
    "adjudicator": ("property",),
    "turns": ("wording",),
    "ask_again": (),
}
"""One row for each kind of scaffold: the keys that mean something to it. A plug-in may take any."""


class AskedBy(NamedTuple):
    """The kinds of scaffold that ask something of an item which no plain call asks, and the way out without
    one. A plug-in may ask anything."""

    kinds: tuple[str, ...]
    otherwise: str


ASKED_BY: Mapping[str, AskedBy] = {
    "turns": AskedBy(("turns",), '`query` with ".0" behind the column asks the first one alone'),
    "tools": AskedBy(("react",), "leave it out"),
}
"""By the field of `loading.fields`."""

USER_TURNS = ASKED_BY["turns"].kinds
"""The kinds that say more than the item's first turn."""

Tool = Literal["calculator", "text_search", "scratchpad"]
Intensity = Literal["minimal", "moderate", "aggressive"]
Property = Literal["bias", "accuracy", "sycophancy", "harm"]

ScaffoldName = Annotated[str, *known_or_plugin(TAKES)]


class Scaffold(Table):
    """The procedure of model calls that answers an item."""

    @property
    def plain(self) -> bool:
        """Whether it is one call, as without a scaffold."""
        return self.kind == DIRECT

    @property
    def asks_for_form(self) -> bool:
        """Whether it does nothing unless answers are asked for in a form."""
        return self.kind == "ask_again"

    kind: Annotated[
        ScaffoldName,
        Field(
            description="direct: one call; cot: one call that asks for reasoning; react: a loop of thought "
            "and action; critic: answer, critique, revision; map_reduce: decompose, work, combine; "
            "map_reduce_options: the same, every worker sees the options; vote: every worker answers the "
            "whole prompt, and one more call decides; chain: a fixed sequence of prompts; adjudicator: "
            "answer, check, and a third call that decides between the two; turns: the item's user turns, "
            "one after another, then those of `wording`; ask_again: one call, and a second one in the same "
            "conversation where the response does not keep the form of `answer`. plugin:NAME: of an "
            "installed package."
        ),
    ]
    rounds: Annotated[
        int | None,
        Field(ge=1, le=100, description="Most calls of react (default 5), revisions of critic (default 1)."),
    ] = None
    workers: Annotated[
        int | None, Field(ge=1, le=100, description="Most workers of map_reduce, all of vote. Default: 3.")
    ] = None
    tools: Annotated[
        tuple[Tool, ...],
        Field(
            description="Tools that react may call: calculator, arithmetic; text_search, in the item's own "
            "text; scratchpad, notes of the same item. Default: none."
        ),
    ] = ()
    wording: Annotated[
        dict[Id, Annotated[tuple[Text, ...], Field(min_length=1)]] | None,
        Field(
            description="The prompts of a chain, in order, by benchmark: templates with the variables of a "
            "prompt; the first one comes with the item. Instead of `intensity`. Of turns: what the user says "
            "after the item's own turns.",
            examples=[{"bbq": ["Think about the question.", "Give your final answer."]}],
        ),
    ] = None
    intensity: Annotated[
        Intensity | None,
        Field(
            description="A chain in gridc's own wording: minimal names no property, moderate and aggressive "
            "name the one of `property`. No chain at all is `direct`."
        ),
    ] = None
    property: Annotated[
        dict[Id, Property] | None,
        Field(
            description="The property that a chain or a checker names, by benchmark. Default: accuracy.",
            examples=[{"bbq": "bias"}],
        ),
    ] = None
    length: Annotated[
        int | None,
        Field(ge=1, le=16, description="How many prompts a chain of an intensity has. Default: 4."),
    ] = None


Precision = Literal["fp32", "bf16", "fp16", "int8", "nf4", "as_shipped"]
EXACT: Precision = "fp32"
"""The precision in which the shape of a batch is expected to change nothing."""
Method = Literal[
    "extract",
    "match",
    "first_token",
    "loglikelihood",
    "pair_likelihood",
    "text_likelihood",
    "refusal_keywords",
    "judge",
    "scorer",
    "as_logged",
    "number_as_logged",
]
LOGGED: tuple[Method, ...] = ("as_logged", "number_as_logged")
"""The methods of scores that another package gave: a point or none, or a number from 0 to 1."""
NUMBERS = frozenset(LOGGED[1:])
MatchKind = Literal["number", "text", "contains", "exact", "filtered"]
ReaderName = Literal["last_answer", "whole_response", "answer_line"]
AnswerFormName = Literal["line", "letter", "boxed", "json", "json_schema"]
"""The forms in which a study can ask for its answers."""
Candidates = Literal["option_text", "letter", "unknown_expanded", "sentence_pair"]
Normalise = Literal["none", "token", "char", "byte", "unconditional"]
Ties = Literal["against_gold", "first", "last"]
Seam = Literal["shared_prefix", "context_length"]
Overflow = Literal["error", "drop_exemplars"]
Casing = Literal["as_written", "upper", "lower", "title"]
Parts = Annotated[dict[Id, Text], Field(min_length=1)]
VarName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
Var = str | int | float
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""How much a reasoning model thinks, by the names that litellm knows (`REASONING_EFFORT`, November 2026). No
model takes all of them."""
# From 2: Python takes 1 for true, so that a budget of one token and "thinks" would be one setting.
ThoughtBudget = Annotated[int, Field(ge=2)]
Thinking = bool | Effort | ThoughtBudget
"""Whether a model thinks, or how much: an effort, or the most tokens of its thought."""
ENUMERATOR = r"^([(\[<]?[Aa1Ii][)\]>.:]{0,2}|[*•–-])$"


class Attempts(Table):
    """A share of draws of some of an item's replicates, without replacement, that pass."""

    pass_at: Annotated[
        int | None,
        Field(
            ge=1,
            le=1000,
            description="Draws of so many answers of which one is right or more: with c right answers of n, "
            "1 - C(n - c, k) / C(n, k) (Chen et al. 2021).",
        ),
    ] = None
    pass_all: Annotated[
        int | None,
        Field(
            ge=1,
            le=1000,
            description="Draws of so many answers that are all right: C(c, k) / C(n, k) (Yao et al. 2024).",
        ),
    ] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.pass_at is None) == (self.pass_all is None):
            raise Contradiction("it says not one of `pass_at` and `pass_all`", "aggregate = { pass_at = 5 }")
        return self

    @property
    def draws(self) -> int:
        """How many answers are drawn."""
        return self.pass_at or self.pass_all or 0


Aggregate = Literal["mean", "majority"] | Attempts
"""What the scores of an item's replicates become."""


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


Pattern = Annotated[str, Field(min_length=1, description="A regular expression, as Python's `re` reads it.")]
MatchNumber = Annotated[
    int | None,
    Field(description="Which of several matches counts: 0 is the first, -1 the last. Default: 0."),
]
Fallback = Annotated[
    str | None, Field(description="What the filter gives where nothing matches. Default: `[invalid]`.")
]


class RegexFilter(Table):
    """The part of a response that a regular expression matches: its first group that is not empty, or without
    groups all of it."""

    kind: Annotated[Literal["regex"], Field(description="regex: what a regular expression matches.")]
    pattern: Pattern
    group: MatchNumber = None
    fallback: Fallback = None


class MultiChoiceRegexFilter(Table):
    """The same; where nothing matches, the letter in brackets of the choice whose text the response has, and
    without one a letter behind a colon. The choices are those of the item's column `choices`, else its
    options."""

    kind: Annotated[
        Literal["multi_choice_regex"],
        Field(description="multi_choice_regex: what a regular expression matches, else a choice's letter."),
    ]
    pattern: Pattern
    group: MatchNumber = None
    fallback: Fallback = None
    ignore_case: Annotated[
        bool | None, Field(description="Search for a choice's text whatever its case. Default: false.")
    ] = None
    ignore_punctuation: Annotated[
        bool | None, Field(description="Search for a choice's text without punctuation. Default: false.")
    ] = None
    ignore: Annotated[
        tuple[Pattern, ...] | None,
        Field(
            min_length=1,
            description="Search for a choice's text without what these match. Default: nothing.",
        ),
    ] = None


class CaseFilter(Table):
    """The response in one case, or without white space at its ends."""

    kind: Annotated[
        Literal["lowercase", "uppercase", "remove_whitespace"],
        Field(
            description="lowercase, uppercase: in that case; remove_whitespace: without white space at its "
            "ends."
        ),
    ]


class MapFilter(Table):
    """What a response stands for."""

    kind: Annotated[Literal["map"], Field(description="map: what `map` says that a text becomes.")]
    map: Annotated[dict[str, str], Field(description="What each text becomes.", examples=[{"A": "yes"}])]
    default: Annotated[str, Field(description="What any other text becomes.")]

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


Filter = Annotated[RegexFilter | MultiChoiceRegexFilter | CaseFilter | MapFilter, Field(discriminator="kind")]


class Ignored(Table):
    """What an exact comparison leaves out of both sides."""

    case: Annotated[bool | None, Field(description="The case of letters. Default: false.")] = None
    punctuation: Annotated[bool | None, Field(description="ASCII punctuation. Default: false.")] = None
    numbers: Annotated[bool | None, Field(description="The digits 0 to 9. Default: false.")] = None
    regexes: Annotated[
        tuple[Pattern, ...] | None,
        Field(min_length=1, description="What each of these matches, one after another. Default: nothing."),
    ] = None


class Match(Table):
    """How a free answer is compared with an item's right answers (`fields.references`; the text of the right
    option where an item has options)."""

    model_config = ConfigDict(populate_by_name=False, serialize_by_alias=True)

    kind: Annotated[
        MatchKind,
        Field(
            alias="as",
            description="number: as a number, however it is written; text: without case, punctuation and "
            "articles (SQuAD); contains: the same, somewhere in the response; exact: character by character; "
            "filtered: the response behind `filters`, character by character but for `ignore`, as "
            "lm-evaluation-harness compares it. Then the whole response counts, whatever it says besides and "
            "also where `max_tokens` cut it.",
        ),
    ]
    after: Annotated[
        Text | None,
        Field(
            description="Words behind which the response gives its answer, in the same line or the next; the "
            "last that an answer follows count. Default: none; of numbers the last one counts, of text the "
            "whole response.",
            examples=["The answer is"],
        ),
    ] = None
    gold_after: Annotated[
        Text | None,
        Field(
            description="In a right answer that shows its working, what stands before the part that is "
            "compared; behind `\\boxed{` it ends where the brace closes. Default: all of it is.",
            examples=["####"],
        ),
    ] = None
    within: Annotated[
        float | None, Field(gt=0, description="The most that equal numbers differ by. Default: nothing.")
    ] = None

    share: Annotated[
        bool | None,
        Field(
            description="Of contains: a response earns the share of the right answers that it contains. "
            "Default: the point, where it contains one."
        ),
    ] = None

    filters: Annotated[
        tuple[Filter, ...] | None,
        Field(
            description="Of filtered: what a response goes through, one filter after another. One that no "
            "regular expression matches is unreadable, unless its fallback is right, and so is one for which "
            "the filters take over 5 s of CPU time. Default: none.",
            examples=[[{"kind": "regex", "pattern": "#### (-?[0-9.,]+)"}]],
        ),
    ] = None
    ignore: Annotated[
        Ignored | None,
        Field(
            description="Of filtered: what is left out of both sides before they are compared. Default: "
            "nothing.",
            examples=[{"case": True, "regexes": [",", "\\$"]}],
        ),
    ] = None

    @model_validator(mode="after")
    def _of_filtered(self) -> Self:
        ways = ("after", "gold_after") if self.kind == "filtered" else ("filters", "ignore")
        stated = [key for key in ways if getattr(self, key) is not None]
        if stated and self.kind == "filtered":
            problem = f"`{stated[0]}` says where an answer stands, and filtered reads the whole response"
            raise Contradiction(problem, f'{{ kind = "regex", ... }} in `filters` instead of `{stated[0]}`')
        if stated:
            raise Contradiction(f"`{stated[0]}` is of filtered responses", 'as = "filtered", or leave it out')
        return self

    @model_validator(mode="after")
    def _of_numbers(self) -> Self:
        if self.share is not None and self.kind != "contains":
            raise Contradiction(
                "`share` is of the right answers that a response contains", 'as = "contains", or leave it out'
            )
        if self.within is not None and self.kind != "number":
            raise Contradiction(
                "`within` is a difference of numbers", f'leave it out where as = "{self.kind}"'
            )
        return self

    def __str__(self) -> str:
        return self.model_dump_json(exclude_none=True)


FILE = "python:"
"""What stands before the name of a file with scoring functions."""


class ScorerExample(Table):
    """A response and what the function has to give for it, tried before any call."""

    item: Annotated[Text, Field(description="The id of an item of the benchmark.")]
    response: Annotated[str, Field(description="What a model might answer.")]
    gives: Annotated[
        float | Text | dict[Id, float] | None,
        Field(
            description="The number, the label, or each number by its name. Default: no answer can be read.",
            examples=[1, "complied", {"strict": 0, "loose": 1}],
        ),
    ] = None


class Scorer(Table):
    """A function of an item and a response that says what the response earns: a number from 0 to 1, several
    by name, a label of `scores`, or None where no answer can be read."""

    function: Annotated[
        str,
        Field(
            pattern=r"^(python:[^:\n]+\.py:[A-Za-z_][A-Za-z0-9_]*|plugin:.+)$",
            description="python:FILE:NAME, a function of a file beside the spec; plugin:NAME, of an "
            "installed package.",
            examples=["python:scorers.py:brief", "plugin:acme_brief"],
        ),
    ]
    score: Annotated[
        Id | None,
        Field(
            description="Which of several numbers is the score. The others can be outcomes: `number` of "
            "[[outcome]]. Default: none; the function gives one number or a label."
        ),
    ] = None
    units: Annotated[
        dict[Id, Text] | None,
        Field(
            min_length=1,
            description="Numbers of the function that are not shares of 1, each with its unit: any number "
            "from 0 up, which statistics report in that unit. Default: none; every number is from 0 to 1.",
            examples=[{"steps": "steps", "lines": "lines of code"}],
        ),
    ] = None
    examples: Annotated[
        tuple[ScorerExample, ...] | None,
        Field(
            min_length=1,
            description="Responses with what the function has to give for them. Default: none.",
            examples=[[{"item": "q1", "response": "Yes.", "gives": 1}]],
        ),
    ] = None

    @model_validator(mode="after")
    def _scores_a_share(self) -> Self:
        if self.units is not None and self.score is None:
            raise Contradiction(
                "`units` are of numbers by name, and it is not said which of them is the score",
                'score = "NAME" beside it, a number from 0 to 1',
            )
        if self.score in (self.units or {}):
            raise Contradiction(
                f"`{self.score}` is the score, which is from 0 to 1, and has a unit of its own",
                "leave it out of `units`, or give the score another name",
            )
        return self

    @property
    def file(self) -> str | None:
        """The file beside the spec; None of a plug-in."""
        beside = self.function.startswith(FILE)
        return self.function.removeprefix(FILE).rpartition(":")[0] if beside else None

    @property
    def name(self) -> str:
        """What the function is called in its file, or the plug-in in the spec."""
        return self.function.rpartition(":")[2] if self.file else self.function

    def __str__(self) -> str:
        return self.model_dump_json(exclude_none=True)


class ModelEffects(Table):
    """Keys of a call that a model may set for itself and an axis may override."""

    precision: Annotated[
        Precision | None,
        Field(
            description="Number format of the weights: fp32, bf16, fp16, int8 or nf4; as_shipped: what the "
            "model's config.json states, quantised or not. Default: fp32."
        ),
    ] = None
    chat_template: ChatTemplate = None
    thinking: Annotated[
        Thinking | None,
        Field(
            description="Whether a reasoning model thinks before it answers, or how much: an effort, or the "
            "most tokens of its thought, fewer than `max_tokens`. What its chat template, server or provider "
            "does not take is refused. Default: as the model does by itself.",
            examples=[False, "high", 4096],
        ),
    ] = None
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
            "plugin:NAME: of an installed package; task:NAME: a metric or a filter of a task, by its name.",
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
    exemplars_as: Annotated[
        Literal["text", "turns"] | None,
        Field(
            description="How a chat shows exemplars: text, in the turn of the item; turns, each as a turn of "
            "the user and one of the assistant. Default: text."
        ),
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
            description="extract: read the option from free text; match: compare free text with right "
            "answers, see `match`; first_token: the most likely first token "
            "is the answer; loglikelihood: rank candidates; pair_likelihood: which of two sentences is more "
            "likely; text_likelihood: how likely a text is, in bits per byte: the first of `references` "
            "behind the prompt, or without one what is asked, behind `premise` alone; refusal_keywords: "
            "search the response for phrases of refusal; judge: a model assesses "
            "the response, see [judge]; scorer: a function says what the response earns, see `scorer`; "
            "as_logged and number_as_logged: the score that the log of another package has, a point or none, "
            "or a number (only `gridc certify --from` writes them)."
        ),
    ] = None
    judge: Annotated[
        Id | None,
        Field(
            description="Which of several [[judge]] labels the responses, by its id. Default: the only one.",
            examples=["safety"],
        ),
    ] = None
    reader: Annotated[
        ReaderName | None,
        Field(
            description="How extract reads: last_answer, the last valid marker; whole_response, the response "
            "is exactly an answer; answer_line, the last line `ANSWER: X`. Default: last_answer."
        ),
    ] = None
    answer: Annotated[
        AnswerFormName | None,
        Field(
            description="The form in which extract and match ask for the answer. gridc writes the request "
            "ahead of the prompt, shows exemplars in this form, and reads nothing else. line: a line "
            "`Answer: ...`, after any reasoning; letter: the option's label alone; boxed: `\\boxed{...}`, "
            'after any reasoning; json: only `{"answer": ...}`; json_schema: the same, which the server '
            "enforces (structured output). Default: none; the prompt asks, and `reader` finds the answer."
        ),
    ] = None
    out_of_form: Annotated[
        Literal["unread", "by_phrases"] | None,
        Field(
            description="What becomes of a response that does not keep the form of `answer`: unread, or "
            "by_phrases, as without a form, by `reader` or `match`. Either way reports count these responses "
            "apart. Default: unread."
        ),
    ] = None
    match: Annotated[
        Match | None,
        Field(
            description="How `match` compares a free answer with the right ones. Default: none; the method "
            "needs it.",
            examples=[
                {"as": "number", "after": "The answer is"},
                {"as": "contains"},
                {"as": "filtered", "filters": [{"kind": "regex", "pattern": "#### (.+)"}]},
            ],
        ),
    ] = None
    scorer: Annotated[
        Scorer | None,
        Field(
            description="The function of method `scorer`. Default: none; the method needs it.",
            examples=[{"function": "python:scorers.py:brief"}],
        ),
    ] = None
    scores: Annotated[
        Scores | None,
        Field(
            description="What each label earns, 0 to 1, or `{ comply = .., refuse = .. }` by what the prompt "
            "expects. Labels: an option's text, or right, unknown, matching; right and wrong of match; "
            "comply and refuse of refusal_keywords; a judge's own, or a scorer's; other for the rest. "
            "Default: 1 for what is right or expected, else 0; a judge's labels have no default; a scorer "
            "without it gives numbers.",
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
            description="token, char, byte: divide a candidate's log-likelihood by its length in these, "
            "bytes those of UTF-8; unconditional: subtract its log-likelihood behind `premise` alone. "
            "Default: none."
        ),
    ] = None
    premise: Annotated[
        str | None,
        Field(
            description="What stands for the prompt in the unconditional likelihood, and before a text "
            "that is weighed without one. Default: nothing.",
            examples=["Answer:"],
        ),
    ] = None
    ties: Annotated[
        Ties | None,
        Field(
            description="Which of equally likely candidates is chosen: against_gold, one that earns no "
            "point; first or last in the order of the candidates. Of equally frequent answers to a majority: "
            "one that earns least; the one given first or last. Default: against_gold."
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
    max_tokens: Annotated[int | None, Field(ge=1, description="Longest answer, in tokens. Default: 32.")] = (
        None
    )
    temperature: Annotated[
        float | None, Field(ge=0, le=5, description="0 is greedy decoding. Default: 0.")
    ] = None
    top_p: Annotated[float | None, Field(gt=0, le=1, description="Nucleus sampling mass. Default: 1.")] = None


class Effects(ModelEffects, BenchmarkEffects):
    """Every key of a call that an axis level or `[harness]` may set."""

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
            ge=1,
            le=1000,
            description="Independent answers per item, of which `aggregate` makes one score. Default: 1.",
        ),
    ] = None
    aggregate: Annotated[
        Aggregate | None,
        Field(
            description="What an item's score is, of its replicates. mean: the mean of their scores; "
            "majority: the score of the answer that was read most often, ties as `ties` says; pass_at and "
            "pass_all: the share of draws of so many of them of which one is right, or every one. "
            "Default: mean.",
            examples=["majority", {"pass_at": 5}],
        ),
    ] = None
    all_of: Annotated[
        Literal["family", "template", "category"] | None,
        Field(
            description="Items of one family, template or category earn together: each has the least that "
            "one of them earns, so that a point is earned where all are right. Default: none; each alone.",
            examples=["family"],
        ),
    ] = None

    def stated(self) -> dict[str, object]:
        """The effects that are set here, by key."""
        return {key: value for key in Effects.model_fields if (value := getattr(self, key, None)) is not None}
