"""One row for each scoring method: what its answers are, and which keys of a call it fixes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, assert_never

from gridc.schema.effects import LOGGED, NUMBERS, Candidates, Method
from gridc.schema.scores import BEHAVIOURS, MATCHES, SCORED, Scores

WHOLE_TEXT = "whole_text"
"""In the place of candidates: the one text that is weighed, which no spec states."""
Reads = Literal["option", "free_text", "behaviour", "label", "scored", "logged"]
"""What a response says: one of the item's options; an answer in its own words, which is right or wrong; that
the model complies or refuses; a text that a judge gives a label to, or a function a label or numbers; or what
another package recorded of it, by rules that are not here."""


@dataclass(frozen=True, slots=True)
class ScoringMethod:
    """How the answers of a sample become its outcome.

    `reads` is what a response says; None where nothing is generated and candidates are ranked by likelihood.
    `candidates` are those that may be stated beside it, and that it ranks where it does. `fixes` gives keys
    of a call the one value that they can have. `sampled` says whether an answer may be drawn, and `weighs`
    whether there is a single candidate, of which the likelihood itself is the outcome. A recorded score has
    `numbers` where it is any number from 0 to 1, and else is a point or none.
    """

    reads: Reads | None
    candidates: tuple[Candidates, ...] = ("option_text", "letter", "unknown_expanded")
    fixes: Mapping[str, object] = field(default_factory=dict)
    sampled: bool = True
    weighs: bool = False
    numbers: bool = False

    @property
    def ranks(self) -> bool:
        """Whether candidates are ranked by their likelihood, and nothing is generated."""
        return self.reads is None

    @property
    def one_token(self) -> bool:
        """Whether the answer is one token."""
        return "max_tokens" in self.fixes

    @property
    def reads_option(self) -> bool:
        """Whether one of the item's options is read out of what is generated."""
        return self.reads == "option"

    @property
    def reads_text(self) -> bool:
        """Whether an option is read out of a text that may hold more than the answer."""
        return self.reads_option and not self.one_token

    @property
    def reads_answer(self) -> bool:
        """Whether an answer in the model's own words is compared with the item's right ones."""
        return self.reads == "free_text"

    @property
    def reads_behaviour(self) -> bool:
        """Whether the response's own phrases say that the model complies or refuses."""
        return self.reads == "behaviour"

    @property
    def judged(self) -> bool:
        """Whether judges label what is generated."""
        return self.reads == "label"

    @property
    def scored(self) -> bool:
        """Whether a function says what a response earns."""
        return self.reads == "scored"

    @property
    def recorded(self) -> bool:
        """Whether another package asked and scored: then nothing of a call is known but its score."""
        return self.reads == "logged"

    @property
    def reads_alone(self) -> bool:
        """Whether each text can be read by itself, with no judge and no function."""
        return not (self.judged or self.scored or self.recorded)

    def names(self, judged: Sequence[str], scores: Scores | None) -> Sequence[str] | None:
        """The names of what a response can be read to, which a choice counts; None where it counts the item's
        options. `judged` are the labels of the study's judge, `scores` what the spec says that labels
        earn."""
        match self.reads:
            case None | "option":
                return None
            case "free_text":
                return MATCHES
            case "behaviour":
                return BEHAVIOURS
            case "label":
                return judged
            case "scored":
                return SCORED if scores is None else scores.labels
            case "logged":
                return ("read",)
        assert_never(self.reads)


METHODS: Mapping[Method, ScoringMethod] = {
    "extract": ScoringMethod(reads="option"),
    "match": ScoringMethod(reads="free_text"),
    "first_token": ScoringMethod(
        reads="option", fixes={"max_tokens": 1, "reader": "whole_response", "stop": ()}, sampled=False
    ),
    "loglikelihood": ScoringMethod(reads=None, sampled=False),
    "pair_likelihood": ScoringMethod(reads=None, candidates=("sentence_pair",), sampled=False),
    "text_likelihood": ScoringMethod(
        reads=None,
        candidates=("option_text",),
        fixes={"candidates": WHOLE_TEXT, "normalise": "none", "ties": "against_gold"},
        sampled=False,
        weighs=True,
    ),
    "refusal_keywords": ScoringMethod(reads="behaviour"),
    "judge": ScoringMethod(reads="label"),
    "scorer": ScoringMethod(reads="scored"),
    **{name: ScoringMethod(reads="logged", candidates=(), numbers=name in NUMBERS) for name in LOGGED},
}
"""By the `method` of the language. How each kind of response is read is in `score.READ`."""
VERSIONS = {
    "method:extract": 4,
    "method:first_token": 1,
    "method:loglikelihood": 1,
    "method:pair_likelihood": 1,
    "method:text_likelihood": 1,
    "method:refusal_keywords": 3,
    "method:judge": 3,
    "method:scorer": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""
