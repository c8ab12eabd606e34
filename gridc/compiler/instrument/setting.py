"""The setting of a call: every key that determines what is asked and how the answer counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from hashlib import sha256
from operator import attrgetter
from typing import Any, Literal

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import DEFAULT, bare_labels, own_letters
from gridc.compiler.instrument.points import Vote, attempt_scores, item_score
from gridc.compiler.instrument.render import OptionStyle, PromptLayout
from gridc.schema.effects import (
    Aggregate,
    AnswerFormName,
    Attempts,
    Candidates,
    Casing,
    Match,
    Method,
    Normalise,
    Overflow,
    Precision,
    ReaderName,
    Scaffold,
    Scorer,
    Seam,
    Separators,
    Thinking,
    Ties,
    Var,
)
from gridc.schema.items import Sample
from gridc.schema.scores import UNIT, Scores, scale_of


@dataclass(frozen=True, slots=True)
class Setting:
    """Every key of a call with its value; the fields are the language's effects (`schema.Effects`)."""

    prompt: str
    method: Method
    shots: int = 0
    exemplars_as: Literal["text", "turns"] = "text"
    options: OptionStyle = "lettered"
    overflow: Overflow = "error"
    judge: str | None = None
    reader: ReaderName = "last_answer"
    answer: AnswerFormName | None = None
    out_of_form: Literal["unread", "by_phrases"] = "unread"
    match: Match | None = None
    scorer: Scorer | None = None
    scores: Scores | None = None
    unreadable: Literal["zero", "worst"] = "zero"
    stop: tuple[str, ...] = ()
    option_order: str | None = None
    items: Sample | None = None
    variant: str | None = None
    wrapper: str | None = None
    vars: tuple[tuple[str, Var], ...] = ()
    enumerator: str = DEFAULT
    separators: Separators | None = None
    casing: Casing = "as_written"
    candidates: Candidates = "option_text"
    normalise: Normalise = "none"
    premise: str = ""
    ties: Ties = "against_gold"
    seam: Seam = "shared_prefix"
    delimiter: str | None = None
    max_tokens: int = 32
    temperature: float = 0.0
    top_p: float = 1.0
    replicates: int = 1
    precision: Precision | Literal["as served"] = "fp32"
    chat_template: bool = True
    thinking: Thinking | None = None
    system: str | None = None
    system_turn: Literal["system", "user"] = "system"
    scaffold: Scaffold | None = None
    aggregate: Aggregate = "mean"
    all_of: Literal["family", "template", "category"] | None = None

    def effective(self) -> "Setting":
        """The setting with every key that cannot matter at its default: two settings that are equal in
        this form ask and score alike."""
        idle = {key: DEFAULTS.get(key) for key, effect in EFFECTS.items() if effect.idle(self)}
        if self.ranks:
            idle |= {"delimiter": self.continuation_delimiter}
        return replace(self, **idle, **METHODS[self.method].fixes)  # type: ignore[arg-type]

    @property
    def thinks(self) -> bool:
        """Whether the model is told to think before it answers."""
        return self.effective().thinking not in (None, False, "none")

    @property
    def mattering(self) -> tuple[str, ...]:
        """The keys that can matter to what is asked or how it counts, in the order of the language. Of what
        another package asked only how often is known."""
        if self.recorded:
            return ("replicates",) if self.replicates > 1 else ()
        return tuple(key for key in KEYS if not (key in EFFECTS and EFFECTS[key].idle(self)))

    @property
    def shown(self) -> "Setting":
        """The setting with every key at its default that does not shape the prompt: settings that are equal
        in this form show the same prompts. What is ranked shapes the answers that exemplars show, and a
        request for a form says whether an option or an answer in words is wanted."""
        shaping = {key: getattr(self, key) for key in _SHAPING} | {"answer": self.form}
        if not self.shots or not self.ranks:
            return Setting(method=self._asking, **shaping)
        return Setting(method=self.method, candidates=self.candidates, **shaping)

    @property
    def shaping(self) -> tuple[object, ...]:
        """Equal for settings that show the same prompts, where there is no scaffold."""
        exemplars = (self.method, self.candidates) if self.shots and self.ranks else ()
        return (*_shaping(self), self.form, self._asking, *exemplars)

    @property
    def form(self) -> AnswerFormName | None:
        """The form in which answers are asked for; None where nothing is read that could have one."""
        return self.answer if _takes_form(self) else None

    @property
    def _asking(self) -> Method:
        """The method by which prompts that ask for a form are worded; one for all others."""
        return "extract" if self.form is None else self.method

    @property
    def asked(self) -> "Setting":
        """The setting with every key at its default that only scores: settings that are equal in this form
        send the same calls."""
        effective = self.effective()
        scoring = {key: DEFAULTS[key] for key, effect in EFFECTS.items() if effect.changes == "score"}
        if not effective.ranks:
            return replace(effective, method=effective._asking, **scoring)
        twice = effective.normalise == "unconditional"
        return replace(effective, normalise=effective.normalise if twice else "none", **scoring)

    @property
    def scaffolding(self) -> Scaffold | None:
        """The scaffold, where it is more than one plain call."""
        return None if _direct(self) else self.scaffold

    @property
    def in_turns(self) -> bool:
        """Whether exemplars are turns of a chat of their own."""
        return self.exemplars_as != "text" and self.chat_template and self.shots > 0

    @property
    def ranks(self) -> bool:
        """Whether the answer is a ranking of candidates by their likelihood, and nothing is generated."""
        return METHODS[self.method].ranks

    @property
    def recorded(self) -> bool:
        """Whether another package asked and scored, so that how it did is not known."""
        return METHODS[self.method].recorded

    @property
    def reads_text(self) -> bool:
        """Whether gridc reads its answers from text. What another package read, and how, is not known."""
        return not (self.ranks or self.recorded)

    @property
    def ranked_candidates(self) -> Candidates | None:
        """What a ranking compares; None where there is none."""
        return self.held("candidates") if self.ranks else None

    @property
    def ranks_labels(self) -> bool:
        """Whether it is the labels of options whose likelihoods are ranked."""
        return self.ranks and self.candidates == "letter"

    def held(self, key: str) -> Any:
        """The value that a key has: what the method fixes it at, else what is stated."""
        return METHODS[self.method].fixes.get(key, getattr(self, key))

    @property
    def look(self) -> PromptLayout:
        """How its prompts are laid out."""
        stated = (
            {}
            if self.separators is None
            else self.separators.model_dump(exclude_none=True, exclude={"parts"})
        )
        return PromptLayout(self.enumerator, self.casing, vars=self.vars, **stated)

    def labels(self, count: int) -> tuple[str, ...]:
        """What may be answered instead of the text of one of so many options; nothing where they are shown
        under no label."""
        return bare_labels(self.enumerator, count) if self.options == "lettered" else ()

    def labels_of(self, item: Item) -> tuple[str, ...]:
        """The same of an item's options. Letters that stand for what its question lists are answered with
        however options are shown."""
        own = own_letters(item)
        return self.labels(len(item.options)) if own is None else own.labels

    @property
    def labelled(self) -> bool:
        """Whether options are shown under labels that can be answered with."""
        return bool(self.labels(2))

    @property
    def scale(self) -> int:
        """The score of an answer is a whole number of 1 / scale."""
        return UNIT if self.gives_numbers else scale_of(self.scores)

    @property
    def gives_numbers(self) -> bool:
        """Whether each answer earns a number by itself, and nothing is chosen: that of a function, without a
        label, of a likelihood, or of how many right answers it contains."""
        method = METHODS[self.method]
        by_function = method.scored and self.scores is None
        return method.weighs or by_function or method.numbers or self.counts_answers

    @property
    def counts_answers(self) -> bool:
        """Whether a response earns the share of the right answers that it contains."""
        return METHODS[self.method].reads_answer and self.match is not None and bool(self.match.share)

    @property
    def credit(self) -> int:
        """What an unreadable answer earns, in units of 1 / scale. A setting says `worst` only where the
        highest score is the worst (`grid.configurations.Settings`)."""
        return self.scale if self.unreadable == "worst" else 0

    @property
    def scored_singly(self) -> bool:
        """Whether the score of every answer counts by itself, beside no other of its item or its group."""
        return self.aggregate == "mean" and self.all_of is None

    @property
    def outcomes_of_item(self) -> int:
        """How many outcomes an item has: each of its replicates, or the one that is made of them."""
        return self.replicates if self.aggregate == "mean" else 1

    @property
    def item_scale(self) -> int:
        """The score of an item is a whole number of 1 / (outcomes_of_item x item_scale)."""
        if isinstance(self.aggregate, Attempts):
            return attempt_scores(self.aggregate, self.replicates).scale
        return self.scale

    def item_score(self, votes: Sequence[Vote]) -> int:
        """What an item earns by all its answers, in units of 1 / (outcomes_of_item x item_scale)."""
        return item_score(self.aggregate, votes, self.ties, self.credit)

    @property
    def item_credit(self) -> int:
        """What an item earns none of whose answers is readable, in units of 1 / item_scale."""
        return self.item_scale if self.credit else 0

    @property
    def key(self) -> bytes:
        """Equal for settings that ask and score alike, and only for those. 32 bytes."""
        return sha256(repr(_values(self.effective())).encode()).digest()

    @property
    def continuation_delimiter(self) -> str:
        """A candidate opens the assistant's turn in a chat; in plain text a space precedes it."""
        if self.delimiter is not None:
            return self.delimiter
        return "" if self.chat_template or METHODS[self.method].weighs else " "


@dataclass(frozen=True, slots=True)
class KeyEffect:
    """What a key of a call changes first: the prompt, the request beside the prompt, or only how answers
    count. That exemplars answer in the form of what is ranked is no change of its own. `idle` says under
    which settings it changes nothing."""

    changes: Literal["prompt", "request", "score"]
    idle: Callable[[Setting], bool] = lambda setting: False


def _ranks(setting: Setting) -> bool:
    return setting.ranks


def _behind_premise(setting: Setting) -> bool:
    """Whether some likelihood is one behind the premise alone."""
    return setting.ranks and (setting.held("normalise") == "unconditional" or METHODS[setting.method].weighs)


def _reads(setting: Setting) -> bool:
    return not setting.ranks


def _takes_form(setting: Setting) -> bool:
    """Whether its answers can be asked for in a form."""
    method = METHODS[setting.method]
    return method.reads_text or method.reads_answer


def _strict(setting: Setting) -> bool:
    """Whether nothing but a form is read."""
    return setting.form is not None and setting.out_of_form == "unread"


def _direct(setting: Setting) -> bool:
    return setting.scaffold is None or setting.scaffold.plain


def _single_outcome(setting: Setting) -> bool:
    """Whether an item is answered once and no more is asked of its answers: its score is that of the
    answer."""
    several = isinstance(setting.aggregate, Attempts) and setting.aggregate.draws > 1
    return not several and (setting.replicates == 1 or setting.temperature == 0)


def _orderless(setting: Setting) -> bool:
    """Whether the order of the options neither shows nor decides anything."""
    by_place = setting.ranks and setting.ties != "against_gold"
    return setting.options == "none" and not setting.ranks_labels and not by_place


def _unmarked(setting: Setting) -> bool:
    """Whether options are neither shown under a mark nor ranked by it."""
    return setting.options == "none" and not setting.ranks_labels


EFFECTS: Mapping[str, KeyEffect] = {
    "prompt": KeyEffect("prompt"),
    "method": KeyEffect("request"),
    "shots": KeyEffect("prompt"),
    "exemplars_as": KeyEffect("prompt", lambda setting: setting.shots == 0 or not setting.chat_template),
    "options": KeyEffect("prompt"),
    "overflow": KeyEffect("prompt", lambda setting: setting.shots == 0),
    "judge": KeyEffect("score", lambda setting: not METHODS[setting.method].judged),
    "reader": KeyEffect(
        "score", lambda setting: not METHODS[setting.method].reads_option or _strict(setting)
    ),
    "answer": KeyEffect("prompt", lambda setting: setting.form is None),
    "out_of_form": KeyEffect("score", lambda setting: setting.form is None),
    "match": KeyEffect("score", lambda setting: not METHODS[setting.method].reads_answer),
    "scorer": KeyEffect("score", lambda setting: not METHODS[setting.method].scored),
    "scores": KeyEffect("score"),
    "unreadable": KeyEffect("score"),
    "stop": KeyEffect("request", _ranks),
    "option_order": KeyEffect("prompt", _orderless),
    "items": KeyEffect("prompt"),
    "variant": KeyEffect("prompt"),
    "wrapper": KeyEffect("prompt"),
    "vars": KeyEffect("prompt"),
    "enumerator": KeyEffect("prompt", _unmarked),
    "separators": KeyEffect("prompt"),
    "casing": KeyEffect("prompt"),
    "candidates": KeyEffect("request", _reads),
    "normalise": KeyEffect("request", _reads),
    "premise": KeyEffect("request", lambda setting: not _behind_premise(setting)),
    "ties": KeyEffect("score", lambda setting: _reads(setting) and setting.aggregate != "majority"),
    "seam": KeyEffect("request", _reads),
    "delimiter": KeyEffect("request", _reads),
    "max_tokens": KeyEffect("request", _ranks),
    "temperature": KeyEffect("request"),
    "top_p": KeyEffect("request", lambda setting: setting.temperature == 0),
    "replicates": KeyEffect("request", lambda setting: setting.temperature == 0),
    "precision": KeyEffect("request"),
    "chat_template": KeyEffect("prompt"),
    "thinking": KeyEffect("prompt", lambda setting: not setting.chat_template),
    "system": KeyEffect("prompt", lambda setting: not setting.system),
    "system_turn": KeyEffect("prompt", lambda setting: not setting.system),
    "scaffold": KeyEffect("prompt", _direct),
    "aggregate": KeyEffect("score", _single_outcome),
    "all_of": KeyEffect("score"),
}
"""By key of the language: a row for every effect, in the order of `Setting`."""

KEYS = tuple(field.name for field in fields(Setting))
REQUIRED = tuple(field.name for field in fields(Setting) if field.default is MISSING)
DEFAULTS = {field.name: field.default for field in fields(Setting) if field.default is not MISSING}

_SHAPING = tuple(key for key, effect in EFFECTS.items() if effect.changes == "prompt")
_shaping = attrgetter(*(key for key in _SHAPING if key not in ("scaffold", "answer")))
_values = attrgetter(*KEYS)
