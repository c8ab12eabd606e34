"""The setting of a call: every key that determines what is asked and how the answer counts."""

from dataclasses import dataclass, fields, replace
from hashlib import sha256
from operator import attrgetter
from typing import Literal

from gridc.compiler.instrument.render import OptionStyle
from gridc.schema.items import Sample
from gridc.schema.scaffold import Scaffold
from gridc.schema.spec import Candidates, Method, Normalise, Overflow, Precision, Reader, Seam, Ties


@dataclass(frozen=True, slots=True)
class Setting:
    """Every key of a call with its value; the fields are the language's effects (`schema.Effects`)."""

    prompt: str
    method: Method
    shots: int = 0
    options: OptionStyle = "lettered"
    overflow: Overflow = "error"
    reader: Reader = "last_answer"
    stop: tuple[str, ...] = ()
    option_order: str | None = None
    items: Sample | None = None
    wrapper: str | None = None
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
    precision: Precision = "fp32"
    chat_template: bool = True
    system: str | None = None
    system_turn: Literal["system", "user"] = "system"
    scaffold: Scaffold | None = None

    def effective(self) -> "Setting":
        """The setting with every key that cannot matter at its default: two settings that are equal in
        this form ask and score alike."""
        inert: dict[str, object] = {}
        by_letter = self.method == "loglikelihood" and self.candidates == "letter"
        by_place = self.ranks and self.ties != "against_gold"
        if self.options == "none" and not by_letter and not by_place:
            inert |= {"option_order": None}
        if self.temperature == 0:
            inert |= {"top_p": 1.0, "replicates": 1}
        if self.shots == 0:
            inert |= {"overflow": "error"}
        if not self.system:
            inert |= {"system": None, "system_turn": "system"}
        if self.scaffold is not None and self.scaffold.kind == "direct":
            inert |= {"scaffold": None}
        if self.ranks:
            inert |= {"max_tokens": 32, "reader": "last_answer", "stop": (),
                      "delimiter": self.continuation_delimiter}  # fmt: skip
            if self.normalise != "unconditional":
                inert |= {"premise": ""}
        else:
            inert |= {"candidates": "option_text", "normalise": "none", "premise": "", "ties": "against_gold",
                      "seam": "shared_prefix", "delimiter": None}  # fmt: skip
        if self.method == "first_token":
            inert |= {"max_tokens": 1, "reader": "whole_response", "stop": ()}
        elif self.method in ("refusal_keywords", "judge"):
            inert |= {"reader": "last_answer"}
        return replace(self, **inert)  # type: ignore[arg-type]

    @property
    def shown(self) -> "Setting":
        """The setting with every key at its default that does not shape the prompt: settings that are equal
        in this form show the same prompts."""
        return Setting(method="extract", **{key: getattr(self, key) for key in _SHAPING})

    @property
    def asked(self) -> "Setting":
        """The setting with every key at its default that only scores: settings that are equal in this form
        send the same calls."""
        found = self.effective()
        if found.ranks:
            twice = found.normalise == "unconditional"
            return replace(found, ties="against_gold", normalise=found.normalise if twice else "none")
        return replace(found, method="extract", reader="last_answer", stop=())

    @property
    def ranks(self) -> bool:
        """Whether the answer is a ranking of candidates by their likelihood, and nothing is generated."""
        return self.method in ("loglikelihood", "pair_likelihood")

    @property
    def key(self) -> bytes:
        """Equal for settings that ask and score alike, and only for those. 32 bytes."""
        return sha256(repr(_values(self.effective())).encode()).digest()

    @property
    def continuation_delimiter(self) -> str:
        """A candidate opens the assistant's turn in a chat; in plain text a space precedes it."""
        if self.delimiter is not None:
            return self.delimiter
        return "" if self.chat_template else " "


REQUIRED = tuple(field.name for field in fields(Setting) if field.name in ("prompt", "method"))

KEYS = tuple(field.name for field in fields(Setting))

_SHAPING = ("prompt", "shots", "options", "option_order", "items", "wrapper", "overflow", "system",
            "system_turn", "chat_template")  # fmt: skip
_values = attrgetter(*KEYS)
