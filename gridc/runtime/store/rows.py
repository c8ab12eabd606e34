"""What is read of a store, row by row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

RECORDED = "recorded"
"""How the scores of imported logs came about, and the key of their study's document that says where from."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of a study's distinct calls have an answer, and how many samples have no outcome yet."""

    answered: int
    total: int
    unscored: int

    @property
    def complete(self) -> bool:
        return self.answered == self.total and not self.unscored


class ResponseRow(NamedTuple):
    """One sample that has an outcome, with what is stored of its response: the characters of the text that
    its last call generated and its tokens, as the engine or provider counted them, None where there is none;
    how that call ended; and `label`, what one judge said, None without a label that can be read. `asked` says
    whether that judge was asked about it; `numbers` are those that a function gave, by name."""

    item: str
    choice: int | None
    score: int
    characters: int | None
    tokens: int | None
    finish: str
    asked: bool
    label: str | None
    numbers: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Spent:
    """What answering a study's calls took, for one model (its identity) at one precision.

    `work` adds up over batches, of `most` the largest of any batch counts; the engine names them. `least` is
    the least work that could have given the answers, as far as the engine knows it, and empty until every
    call has its answer. `paths` says how the model was computed, in words.
    """

    model: str
    precision: str
    batches: int
    calls: int
    seconds: float
    work: Mapping[str, float]
    least: Mapping[str, float]
    most: Mapping[str, float]
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelPace:
    """How far the calls of one model (its identity) at one precision are. `failed` counts those that failed
    for good by the kind of failure; `seconds` is how long a call takes, None while nothing shows it; as many
    as `waiting` are in batches at the provider."""

    model: str
    precision: str
    calls: int
    answered: int
    failed: Mapping[str, int]
    seconds: float | None
    waiting: int = 0

    @property
    def left(self) -> int:
        """The calls that have no answer."""
        return self.calls - self.answered

    @property
    def seconds_left(self) -> float | None:
        """The expected time for them."""
        if not self.left:
            return 0.0
        return None if self.seconds is None or self.waiting else self.left * self.seconds


class CheckedCall(NamedTuple):
    """A call with what is checked of it, as it is stored."""

    id: str
    model: str
    precision: str
    kind: str
    prompt: str
    sent: str | None
    answer_digest: str | None
    usage: str | None
    seconds: float | None
    finished: str | None
    batch: int | None
    request: str
    answer: str | None


class PricedRequest(NamedTuple):
    """A request to a model (its identity) that a price was put on, in US dollars, with what that follows
    from: how it ended, whether it went in a batch, whether its call generates, the request (JSON) and the
    bytes of the prompt of its call (None of a probe), the tokens that were counted (JSON), why counts
    were not believed, and what the call counts (JSON) where no other request answered it."""

    model: str
    id: str
    status: str
    batched: bool
    generated: bool | None
    usd: float
    usage: str
    request: str | None
    prompt: int | None
    problems: str | None
    of_call: str | None


class CheckedSample(NamedTuple):
    """A sample with its outcome, its calls in order with their answers (None while there is none), and the
    step of each under a scaffold: the last of these is `answer`, once more the call that decides. `result` is
    what the last call generated, or the option that was chosen."""

    item: str
    replicate: int
    choice: int | None
    score: int | None
    evidence: str | None
    calls: tuple[str, ...]
    steps: tuple[str | None, ...]
    answers: list[str | None]
    result: str | int | None


class JudgementRow(NamedTuple):
    """One call of a judge about a sample: who was asked, for the how manieth time (from 0), and what the
    reply was read to; neither label nor failure while there is no reply."""

    cell: str
    item: str
    replicate: int
    judge: str
    attempt: int
    call: str
    label: str | None
    confidence: int | None
    failure: str | None


SampleRow = tuple[str, int, int | None, int | None, str | None, str | None, str | None]
CallRow = tuple[
    str,
    str,
    str,
    str,
    str,
    str,
    str,
    str | None,
    str | None,
    str | None,
    str | None,
    float | None,
    str | None,
]
