"""What a likelihood ranking compares: each candidate's text, and the option that choosing it means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gridc.compiler.instrument.enumerator import DEFAULT, labels
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import WHOLE_TEXT
from gridc.schema.effects import Candidates

UNKNOWN_PHRASINGS = (
    "Unknown",
    "Cannot answer",
    "Can't be determined",
    "Cannot be determined",
    "Can't answer",
    "Not known",
    "Not enough info",
    "Not enough information",
    "Not answerable",
    "Undetermined",
)
"""The ten ways in which BBQ's items say that the answer is unknown (Parrish et al. 2022, app. A)."""
VERSIONS = {
    "candidates:option_text": 1,
    "candidates:letter": 1,
    "candidates:unknown_expanded": 1,
    "candidates:sentence_pair": 1,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


class NoCandidates(ValueError):
    """The item lacks what the candidates are made of."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that is ranked, and the index of the option that it stands for."""

    text: str
    option: int


def candidates(
    kind: Candidates | Literal["whole_text"], item: Item, enumerator: str = DEFAULT
) -> Sequence[Candidate]:
    """The candidates of an item, in the order that a tie rule counts them in.

    `unknown_expanded` puts the ten phrasings of unknown in the place of the item's own, behind the other
    options, as lm-evaluation-harness and HELM do. Letters are the labels of the enumerator. `whole_text` is
    the first right answer in free text, or without one what is asked. Raises `NoCandidates`.
    """
    if kind == WHOLE_TEXT:
        return [Candidate(item.references[0] if item.references else item.query, 0)]
    if not item.options:
        raise NoCandidates(f"item {item.id} has no options to rank")
    if kind == "sentence_pair" and (len(item.options) != 2 or item.stem):
        raise NoCandidates(f"item {item.id} is not a pair of sentences")
    if kind == "letter":
        names = labels(enumerator, len(item.options))
        if not names:
            raise NoCandidates(f"item {item.id} has its options behind bullets, and no label to rank")
        return [Candidate(name, option) for option, name in enumerate(names)]
    if kind != "unknown_expanded":
        return [Candidate(text, option) for option, text in enumerate(item.options)]
    if item.unknown is None:
        raise NoCandidates(f"item {item.id} has no option that says the answer is unknown")
    if item.options[item.unknown] not in UNKNOWN_PHRASINGS:
        raise NoCandidates(
            f"item {item.id} calls unknown {item.options[item.unknown]!r}, a phrasing not known"
        )
    others = [Candidate(text, option) for option, text in enumerate(item.options) if option != item.unknown]
    return [*others, *(Candidate(text, item.unknown) for text in UNKNOWN_PHRASINGS)]
