"""One row for each scoring method: what its answers say, and which keys of a call it does not leave open."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gridc.schema.effects import Candidates, Method

Reads = Literal["option", "behaviour", "label"]
"""What a response says: one of the item's options; that the model complies or refuses; a text that a judge
gives a label to."""


@dataclass(frozen=True, slots=True)
class ScoringMethod:
    """How the answers of a sample become its outcome.

    `reads` is what a response says; None where nothing is generated and candidates are ranked by likelihood.
    `candidates` are those that it ranks. `fixes` gives keys of a call the one value that they can have.
    `sampled` says whether an answer may be drawn.
    """

    reads: Reads | None
    candidates: tuple[Candidates, ...] = ()
    fixes: Mapping[str, object] = field(default_factory=dict)
    sampled: bool = True

    @property
    def ranks(self) -> bool:
        """Whether candidates are ranked by their likelihood, and nothing is generated."""
        return self.reads is None

    @property
    def reads_text(self) -> bool:
        """Whether an option is read out of a text that may hold more than the answer."""
        return self.reads == "option" and "max_tokens" not in self.fixes


METHODS: Mapping[Method, ScoringMethod] = {
    "extract": ScoringMethod(reads="option"),
    "first_token": ScoringMethod(
        reads="option", fixes={"max_tokens": 1, "reader": "whole_response", "stop": ()}, sampled=False
    ),
    "loglikelihood": ScoringMethod(
        reads=None, candidates=("option_text", "letter", "unknown_expanded"), sampled=False
    ),
    "pair_likelihood": ScoringMethod(reads=None, candidates=("sentence_pair",), sampled=False),
    "refusal_keywords": ScoringMethod(reads="behaviour"),
    "judge": ScoringMethod(reads="label"),
}
"""By the `method` of the language. How each kind of response is read is in `score.READ`."""
