"""Turns a call into tokens: its text through the chat template, and the forest members that answer it."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gridc.compiler.instrument.template_limits import Limit
from gridc.compiler.instrument.thoughts import OPENS_THOUGHT, is_mark, unknown_marks
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import Diagnostic, HazardError, UnavailableError
from gridc.runtime.engines.hf.chat_template import AsksForDateError, CompiledTemplate
from gridc.runtime.engines.hf.paths import longest_input
from gridc.runtime.engines.hf.sequences import Member, Tokens, Unit, candidate, common_prefix, generation
from gridc.runtime.engines.hf.tokenizer import Tokenizer
from gridc.runtime.engines.protocol import Call
from gridc.schema.effects import Thinking


@dataclass(frozen=True, slots=True)
class TemplateSwitch:
    """The names by which chat templates are told one thing about thinking, and how a spec asks for it."""

    names: tuple[str, ...]
    asked: str


SWITCHES: Mapping[type, TemplateSwitch] = {
    bool: TemplateSwitch(("enable_thinking", "thinking"), "thinking = true or false"),
    str: TemplateSwitch(("reasoning_effort",), 'thinking = "low", "medium" or "high"'),
    int: TemplateSwitch(("thinking_budget",), "a number of tokens such as thinking = 1024"),
}
"""By what a spec says of thinking: whether (Qwen3, SmolLM3 and GLM; DeepSeek and Granite), how much
(gpt-oss), and at most how long (Seed-OSS)."""

LAST = 16
"""The last tokens of a prompt, in which a tag that opens a thought would stand."""

CUT = "\ufffd"
"""What a character reads as that ends with a later token."""

_OPENED = re.compile(rf"{OPENS_THOUGHT}(?=\s*+\Z)", re.IGNORECASE)

_DATE_HELP = 'give it a fixed one, often chat_template_args = { date_string = "26 Jul 2024" }'

_UNLIKE_HELP = (
    "ask a copy of the model with the tokenizer that `AutoTokenizer.from_pretrained(MODEL)"
    ".save_pretrained(COPY)` writes, or waive this to ask with the tokens of tokenizer.json"
)


@dataclass(frozen=True, slots=True)
class Form:
    """A prompt as it may be asked: its text and tokens, with how many exemplars were left out."""

    prompt: Prompt
    text: str
    ids: tuple[int, ...]
    dropped: int


class NoRoomError(HazardError):
    """A prompt and its answer are longer than the model's context (GC503)."""


_Divided = tuple[tuple[int, ...], tuple[int, ...]]


class Prompts:
    """The prompts of one model. `template` is its chat template and `arguments` what the study gives it;
    `begins` says whether plain text gets a BOS."""

    def __init__(
        self,
        name: str,
        folder: Path,
        tokenizer: Tokenizer,
        config: Any,
        arguments: Mapping[str, Any],
        waived: frozenset[str],
    ) -> None:
        self._name, self._folder, self._waived, self._arguments = name, folder, waived, arguments
        self.tokenizer = tokenizer
        self._config = config
        self._vocabulary = getattr(config, "vocab_size", None) or math.inf
        self.template, alone = tokenizer.chat_template, tokenizer.alone
        self.begins = alone[:1] == [tokenizer.bos_token_id]
        self._ends = len(alone) > 1 and alone[-1] == tokenizer.eos_token_id
        self._unknown_marks = unknown_marks(tokenizer.added_texts)
        if "strftime_now" in (self.template or ""):
            self._render([{"role": "user", "content": "x"}])

    def units(self, calls: Iterable[Call], asked: bool = False) -> Iterator[Unit]:
        """The calls by the tokens that they stand on: texts that differ only in what is left to the
        candidates of a ranking are one prompt. Of calls that were `asked` before, no hazard is left to choose
        about."""
        by_text: dict[Prompt, list[Call]] = {}
        for call in calls:
            by_text.setdefault(call.prompt, []).append(call)
        by_tokens: dict[Tokens, list[Member]] = {}
        for prompt, same in by_text.items():
            known = not asked and not all(call.may_fail for call in same)
            forms = [self.form(form, dropped, known) for dropped, form in enumerate(prompt.forms())]
            for call in same:
                members = self.fitting(call, forms)
                by_tokens.setdefault(members[0].prompt, []).extend(members)
        yield from map(Unit.of, by_tokens.values())

    def form(self, prompt: Prompt, dropped: int, known: bool = True) -> Form:
        """A form of a prompt. One that is not `known` before the run follows from answers, in any words: no
        choice about the tokenizer could be asked of the author any more."""
        text = self.as_text(prompt)
        if known:
            self._require_alike([text], prompt)
        (ids,) = self._checked(self._ids([text], prompt), prompt)
        if known:
            self._require_no_special(prompt)
        return Form(prompt, text, ids or self._prefix(), dropped)

    @property
    def room(self) -> float:
        """The most tokens that the model was made for."""
        return longest_input(self._config) or math.inf

    def fitting(self, call: Call, forms: Sequence[Form]) -> list[Member]:
        """The members of a call on the longest form of its prompt that the model has room for. Raises
        `NoRoomError`."""
        longest = 0
        for form in forms:
            members = self._members(call, form)
            longest = max(len(member.prompt) + member.limit for member in members)
            if longest <= self.room:
                return members
        message = f"`{self._name}` has room for {self.room} tokens; a prompt and its answer need {longest}"
        raise NoRoomError([Diagnostic("GC503", message, str(self._folder))])

    def no_room(self, call: Call) -> str | None:
        """Why the model has no room for a call; None where it has."""
        try:
            forms = call.prompt.forms()
            self.fitting(
                call, [self.form(form, dropped, not call.may_fail) for dropped, form in enumerate(forms)]
            )
        except NoRoomError as error:
            return error.diagnostics[0].message
        return None

    def _members(self, call: Call, form: Form) -> list[Member]:
        if not call.ranks:
            self._require_known_marks()
            return [generation(call, form.ids, form.dropped)]
        texts = call.parameters["continuations"]
        by_context = call.parameters.get("seam") == "context_length"
        divide = self._behind_context if by_context else self._behind_shared_prefix
        divided = divide(form, texts)
        for text, (_, given) in zip(texts, divided, strict=True):
            if not given:
                message = f"`{self._name}` has no token for the candidate {text!r} behind its prompt"
                raise HazardError([Diagnostic("GC512", message, str(self._folder))])
        return [candidate(call, prompt, given, form.dropped) for prompt, given in divided]

    def _behind_shared_prefix(self, form: Form, texts: Sequence[str]) -> list[_Divided]:
        """A tokenizer may merge across the seam. What all candidates share with the prompt is given to
        them; every token after it is scored, so that none is scored for one candidate and not for another."""
        whole = self._tokens_with(form, texts)
        seam = min(common_prefix([form.ids, tokens]) for tokens in whole)
        seam = min(seam, *(len(tokens) - 1 for tokens in whole))
        return [(tokens[:seam], tokens[seam:]) for tokens in whole]

    def _behind_context(self, form: Form, texts: Sequence[str]) -> list[_Divided]:
        """lm-evaluation-harness (`_encode_pair`): white space at the prompt's end goes to the candidate,
        and the candidate's tokens are those behind as many as the prompt has alone."""
        context = form.text.rstrip()
        if not context:
            return self._behind_shared_prefix(form, texts)
        (ids,) = self.encode([context], form.prompt)
        return [(ids, tokens[len(ids) :]) for tokens in self._tokens_with(form, texts)]

    def _tokens_with(self, form: Form, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of a prompt with each text behind it."""
        if form.text:
            together = [form.text + text for text in texts]
            self._require_alike(together, form.prompt)
            whole = self._behind_special(form, texts)
            if whole is None:
                whole = self._ids(together, form.prompt)
            return self._checked(whole, form.prompt)
        encoded = self.encode(list(texts), form.prompt)
        return [ids if ids[:1] == form.ids[:1] else (*form.ids, *ids) for ids in encoded]

    def _behind_special(self, form: Form, texts: Sequence[str]) -> list[Tokens] | None:
        """The same where a special token stands in the prompt: the last one parts the text, and what follows
        it is tokenized by itself, once for each text. None where no such token parts it."""
        if not form.prompt.chat_template:
            return None
        at = max((form.text.rfind(text) for text in self.tokenizer.parting), default=-1)
        if at <= 0:
            return None
        rest, *encoded = self._ids([form.text[at:] + text for text in ("", *texts)], form.prompt)
        before, behind = form.ids[: -len(rest)], form.ids[-len(rest) :]
        if rest != behind:
            return None
        return [(*before, *ids) for ids in encoded]

    def _refuse(self, code: str, message: str, help_line: str | None = None) -> None:
        """Raise `HazardError`, unless the study takes this hazard knowingly."""
        if code not in self._waived:
            raise HazardError([Diagnostic(code, message, str(self._folder), help=help_line)])

    def _require_no_special(self, prompt: Prompt) -> None:
        """Refuse a prompt that spells a special token in its own words: the tokenizer reads it as the token,
        such as the end of a turn, and what follows it as another one's words."""
        if self._special is None or "GC542" in self._waived:
            return
        for _, text in prompt.messages:
            found = self._special.search(text)
            if found is not None:
                shown = _beginning(text[max(found.start() - 12, 0) :])
                message = f"a prompt says {shown}, where `{self._name}` reads {found[0]!r} as a special token"
                self._refuse("GC542", message, "take it out of the item or the template, or waive this")

    @cached_property
    def _special(self) -> re.Pattern[str] | None:
        """The special tokens as a text spells them."""
        spelled = [re.escape(text) for text in self.tokenizer.special_texts if text.strip()]
        return re.compile("|".join(spelled)) if spelled else None

    def _require_known_marks(self) -> None:
        """Refuse to generate where marks of a thought are unknown: what the model only weighs would be read
        as its answer."""
        if self._unknown_marks:
            shown = ", ".join(map(repr, self._unknown_marks[:4]))
            message = f"the tokenizer of `{self._name}` has {shown}, which look like marks of a thought"
            self._refuse("GC541", message, "waive this if no answer of the model has them")

    def _prefix(self) -> tuple[int, ...]:
        """What an empty prompt is: a likelihood needs a token to follow (BOS, else the end of text)."""
        first = self.tokenizer.bos_token_id
        begin = self.tokenizer.eos_token_id if first is None else first
        if begin is None:
            message = f"the tokenizer of `{self._name}` has no token that an empty prompt could be"
            raise UnavailableError([Diagnostic("GC606", message, str(self._folder))])
        return (begin,)

    def as_text(self, prompt: Prompt) -> str:
        """What is sent: the chat template's text, or the messages as plain text. Raises `HazardError`."""
        if not prompt.chat_template:
            return prompt.plain
        if self.template is None:
            message = f"`{self._name}` has no chat template"
            help_line = "set chat_template = false for the model"
            raise HazardError([Diagnostic("GC505", message, str(self._folder), help=help_line)])
        messages = [{"role": role, "content": text} for role, text in prompt.messages]
        return self._render(messages, {} if prompt.thinking is None else self._switched(prompt.thinking))

    def text(self, tokens: Sequence[int], stops: Sequence[str] = ()) -> str:
        """What an answer says: up to the first stop string that has a special token, and without special
        tokens but those that tell a thought from the answer."""
        spelled = self._spelled(stops)
        ((said, whole),) = self._read([tokens], bool(spelled))
        ends = [at for stop in spelled if (at := whole.find(stop)) >= 0]
        return self._without_special(whole[: min(ends)]) if ends else said

    def stopped(self, members: Sequence[Member]) -> list[bool]:
        """Which members have come to one of their stop strings with their last token. One may be spelled with
        special tokens. All are decoded together, and what has the same tokens once. Where texts join, what
        was read before is not decoded again: only its end can be part of a stop string."""
        joins = self.tokenizer.joins and not self._marks
        spelled = self._spelled(dict.fromkeys(stop for member in members for stop in member.stops))
        fresh = [tuple(member.tokens[member.read :]) for member in members]
        different = list(dict.fromkeys(fresh))
        texts = dict(zip(different, self._read(different, bool(spelled)), strict=True))
        found = []
        for member, tokens in zip(members, fresh, strict=True):
            said, whole = (before + text for before, text in zip(member.tail, texts[tokens], strict=True))
            found.append(any(stop in said or (stop in spelled and stop in whole) for stop in member.stops))
            if joins and not said.endswith(CUT):  # where `whole` is cut, so is `said`
                most = max(map(len, member.stops))
                member.read, member.tail = len(member.tokens), (said[-most:], whole[-most:])
        return found

    def _read(self, answers: Sequence[Sequence[int]], spelled: bool) -> list[tuple[str, str]]:
        """What each answer says, and its text with all special tokens, empty where neither a stop string is
        `spelled` with one nor any tells a thought from the answer."""
        said = self.tokenizer.decode(answers, skip_special=True)
        needed = spelled or bool(self._marks)
        whole = self.tokenizer.decode(answers) if needed else [""] * len(answers)
        return [
            (self._without_special(text) if any(mark in text for mark in self._marks) else plain, text)
            for plain, text in zip(said, whole, strict=True)
        ]

    @cached_property
    def _marks(self) -> list[str]:
        """The special tokens that tell a thought from the answer."""
        return [special for special in self.tokenizer.special_texts if is_mark(special)]

    def _without_special(self, whole: str) -> str:
        for special in self.tokenizer.special_texts:
            if special not in self._marks:
                whole = whole.replace(special, "")
        return whole

    def _spelled(self, stops: Iterable[str]) -> list[str]:
        """The stop strings that have a special token."""
        return [stop for stop in stops if any(each in stop for each in self.tokenizer.special_texts)]

    def _switched(self, thinking: Thinking) -> dict[str, Thinking]:
        """What a chat template is given so that the model thinks or not, or so much. Raises `HazardError`
        where it has no such switch: asked with another one, or none, it would answer as it always does."""
        has = {
            kind: [name for name in switch.names if name in self._chat.names]
            for kind, switch in SWITCHES.items()
        }
        if fitting := has[type(thinking)]:
            return {fitting[0]: thinking}
        shown = json.dumps(thinking)  # as TOML writes it
        message = f"the chat template of `{self._name}` has no switch for thinking = {shown}"
        ways_out = [f"{SWITCHES[kind].asked}: it has `{names[0]}`" for kind, names in has.items() if names]
        help_line = ", or ".join(ways_out) or "leave `thinking` out for this model"
        raise HazardError([Diagnostic("GC540", message, str(self._folder), help=help_line)])

    def opened(self, tokens: Sequence[int]) -> str:
        """The tag of a thought that a prompt ends with: the response goes on in it."""
        (last,) = self.tokenizer.decode([tokens[-LAST:]])
        opened = _OPENED.search(last)
        return opened[0] if opened else ""

    def _render(
        self, messages: list[dict[str, str]], switched: Mapping[str, Any] = MappingProxyType({})
    ) -> str:
        """A chat as the template prints it. A template that asks for the date is stopped there, because the
        same study would ask something else tomorrow."""
        names = {**self.tokenizer.special_tokens_map, **self._arguments, **switched}
        try:
            return self._chat.render(messages, names)
        except AsksForDateError:
            self._refuse("GC506", f"the chat template of `{self._name}` prints today's date", _DATE_HELP)
        except Exception as error:  # a template is a program: it may fail as any does
            raise self._no_chat(error) from None
        try:
            return self._chat.render(messages, names, dated=True)
        except Exception as error:  # as above
            raise self._no_chat(error) from None

    @cached_property
    def _chat(self) -> CompiledTemplate:
        return CompiledTemplate(self.template or "")

    def _no_chat(self, error: Exception) -> HazardError:
        what = "is no template for a chat" if isinstance(error, Limit) else "refuses the messages"
        message = f"the chat template of `{self._name}` {what}: {str(error) or type(error).__name__}"
        return HazardError([Diagnostic("GC505", message, str(self._folder))])

    def encode(self, texts: list[str], prompt: Prompt) -> list[Tokens]:
        """Token ids. A chat template prints its own special tokens; plain text gets the tokenizer's."""
        self._require_alike(texts, prompt)
        return self._checked(self._ids(texts, prompt), prompt)

    def _ids(self, texts: list[str], prompt: Prompt) -> list[Tokens]:
        return self.tokenizer.encode(texts, special=not prompt.chat_template)

    def _require_alike(self, texts: list[str], prompt: Prompt) -> None:
        """Raise `HazardError` where `AutoTokenizer` makes other tokens of a whole text."""
        if "GC531" in self._waived:
            return
        unlike = self.tokenizer.unlike(texts, special=not prompt.chat_template)
        if unlike is None:
            return
        text, own, automatic = unlike
        start = max(common_prefix([own, automatic]) - 2, 0)
        message = (
            f"`{self._name}`: of {_beginning(text)} its tokenizer.json makes the tokens "
            f"{_token_excerpt(own, start)}, and AutoTokenizer {_token_excerpt(automatic, start)}"
        )
        self._refuse("GC531", message, _UNLIKE_HELP)

    def _checked(self, encoded: list[Tokens], prompt: Prompt) -> list[Tokens]:
        """The tokens of some texts, as the model may be asked them. Raises `HazardError`, and
        `UnavailableError` where they are another model's."""
        bos = self.tokenizer.bos_token_id
        if self._ends and not prompt.chat_template:
            self._refuse("GC530", f"the tokenizer of `{self._name}` ends every plain prompt on its end token")
        for ids in encoded:
            if ids and max(ids) >= self._vocabulary:
                message = (
                    f"the tokenizer of `{self._name}` gives token {max(ids)}, and the model knows "
                    f"{self._vocabulary}: they do not belong together"
                )
                raise UnavailableError([Diagnostic("GC606", message, str(self._folder))])
            if bos is not None and ids[:2] == (bos, bos):
                self._refuse("GC504", f"a prompt of `{self._name}` starts with two BOS tokens")
            if self.begins and ids and ids[0] != bos:
                self._refuse("GC510", f"a prompt of `{self._name}` starts without its BOS token")
        return encoded


def _beginning(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _token_excerpt(tokens: Tokens, start: int) -> str:
    """Tokens from one on, which is two before the first that differs."""
    some = ", ".join(map(str, tokens[start : start + 8]))
    return f"[{'..., ' * bool(start)}{some}{', ...' * (len(tokens) > start + 8)}]"


@dataclass(frozen=True, slots=True)
class Tokenized:
    """`text` is what the model is sent, `pieces` its tokens as text and `ids` as numbers. The first `shared`
    tokens begin the prompts of all items that were compared. `dropped` exemplars were left out for lack of
    room. Of a ranking `seam` is where the candidates begin, and `candidates` has the tokens of each."""

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    shared: int
    dropped: int
    seam: int
    candidates: tuple[tuple[str, ...], ...]


def tokenized(prompts: Prompts, call: Call, others: Iterable[Prompt]) -> Tokenized:
    """The tokens of a call beside the `others` that are asked in its cell. Raises `HazardError` for a prompt
    that cannot be asked as it is."""
    forms = [prompts.form(form, dropped) for dropped, form in enumerate(call.prompt.forms())]
    members = prompts.fitting(call, forms)
    form = forms[members[0].dropped]
    shared = len(form.ids)
    for other in others:
        shared = common_prefix([form.ids[:shared], prompts.form(other, 0).ids])

    def pieces(ids: Iterable[int]) -> tuple[str, ...]:
        return tuple(prompts.tokenizer.decode([[number] for number in ids]))

    return Tokenized(
        form.text,
        form.ids,
        pieces(form.ids),
        shared,
        form.dropped,
        len(members[0].prompt),
        tuple(pieces(member.given) for member in members if member.given is not None),
    )
