"""What a run asks of an engine, what it gets back, and whether it was computed in one environment."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Any, Protocol, TypedDict

from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import Diagnostic

KEYS = (
    "gridc", "plugin", "versions", "device", "cuda", "instructions", "threads", "blas", "precision", "dtype",
    "quantisation", "as_shipped",
)  # fmt: skip
"""What of `Engine.effective` arithmetic depends on."""


def differing_environments(environments: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The keys on which environments differ, with every value, in order of appearance. What one of them does
    not state is not compared."""
    values: dict[str, dict[str, Any]] = {}
    for environment in environments:
        for key, value in _stated(environment):
            values.setdefault(key, {})[json.dumps(value, sort_keys=True)] = value
    return {key: list(found.values()) for key, found in values.items() if len(found) > 1}


def _stated(environment: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What it says of each key, and of each entry where that is a table: `versions.torch`."""
    for key in KEYS:
        value = environment.get(key)
        if isinstance(value, dict):
            yield from ((f"{key}.{name}", entry) for name, entry in value.items())
        elif key in environment:
            yield key, value


def environments_words(model: str, unlike: Mapping[str, Iterable[Any]]) -> str:
    """The difference in a sentence."""
    keys = "; ".join(f"{key} {_listed(values)}" for key, values in unlike.items())
    return f"`{model}` is answered in environments that differ: {keys}"


def environments_refusal(sentence: str) -> Diagnostic:
    """What is said where they are not acknowledged."""
    help_line = (
        "use equal machines, or --acknowledge environments, which is recorded as an observed deviation"
    )
    return Diagnostic("GC652", sentence, help=help_line)


def _listed(values: Iterable[Any]) -> str:
    texts = (value if isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values)
    return " and ".join(text if len(text) <= 60 else f"{text[:57]}..." for text in texts)


NEAR_TIE = 1e-4
"""A choice that a change of this size in a logit (greedy) or in a probability (sampled) would alter."""


@dataclass(frozen=True, slots=True)
class Call:
    """A stored request: its id, its kind, its prompt, and all its parameters. `continued` says that later
    calls may begin with it and its answer, as those of a scaffold do. One `may_fail` whose prompt holds
    what a model said: where the model that is asked has no room for it, its answer is an `error` of kind
    `context_length`; elsewhere that is a hazard."""

    id: str
    kind: str
    prompt: Prompt
    parameters: Mapping[str, Any]
    continued: bool = False
    may_fail: bool = False

    @property
    def ranks(self) -> bool:
        """Whether given candidates are ranked, and nothing is generated."""
        return self.kind == "loglikelihood"


class Generated(TypedDict, total=False):
    """The answer to a generation: token ids, why it ended (stop or length) and on which token, and how many
    choices a change of 1e-4 would alter. `refused` is what a provider says of it, and `thought` how many
    characters of a thought it sent apart from the text."""

    text: str
    tokens: list[int]
    finish: str | None
    end: int | None
    near_ties: int
    refused: bool
    thought: int


class Ranked(TypedDict, total=False):
    """The answer to a ranking, by candidate: log-likelihoods (nats; None for an impossible one), how many
    tokens it has, and whether each of these was the most likely one."""

    loglikelihoods: list[float | None]
    tokens: list[int]
    greedy: list[bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call.

    `content` is the raw answer: the fields of `Generated` or of `Ranked`, or an `error`. `sent` is what the
    model was given, `usage` what it cost, `seconds` the call's share of its batch. `ties` is not stored: how
    many choices are near ties by half the margin, and by twice; None where the engine does not say.
    """

    call: str
    content: dict[str, Any]
    sent: dict[str, Any]
    usage: dict[str, Any]
    seconds: float
    ties: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Spending:
    """What a batch took, in numbers whose names are the engine's own: `work` adds up over batches (tokens,
    money), of `most` the largest of any batch counts (memory in bytes, rows side by side)."""

    seconds: float
    work: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that are answered together. `cost` is the most tokens that this takes, for progress, time left
    and the cap on tokens; `work` is the engine's own, and can be pickled."""

    calls: tuple[str, ...]
    cost: int
    work: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class PendingBatch:
    """A batch and those of its calls that have no answer yet."""

    batch: Batch
    unanswered: frozenset[str]


@dataclass(frozen=True, slots=True)
class AnsweredBatch:
    """A task with an answer to each call that had none, and what that took."""

    task: PendingBatch
    answers: Sequence[Answer]
    spending: Spending


Admit = Callable[[PendingBatch], bool]
"""Asked once for each task before it begins. False: a cap is reached, and no further task may begin."""


class Engine(Protocol):
    """Answers the calls of one model at one precision.

    One that is `replicable` may be copied to other machines by pickling it before its model is loaded, and
    answering a call a second time there costs nothing but time.
    """

    @property
    def replicable(self) -> bool: ...

    def effective(self) -> dict[str, Any]:
        """What is really run: digests, versions, dtype, device. Loads the model."""

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        """A division of the calls that depends on the calls and the settings alone, so that a run that is
        interrupted and resumed forms the same batches. Raises `HazardError` before any call is
        made, and `UnavailableError` when a call does not fit the memory that is allowed."""

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        """Answer the tasks that are admitted, in any order and as many at a time as the engine can; each is
        given back as soon as it is done. Tasks that have begun are finished. One without answers says that
        the engine waits for somebody else, and another may have its turn."""

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> Mapping[str, float]:
        """The least `work` that could have given these calls their answers (contents), for those of its
        numbers of which the engine knows it."""

    def rest(self) -> None:
        """Others are loaded before this one is asked again: free the model where its memory may be wanted."""

    def close(self) -> None:
        """Free the model. The engine may be used again, which loads it again, and may be closed twice."""


Answered = tuple[Call, dict[str, Any]]
"""A call and the content of its answer."""


def repetitions(engine: Engine, some: Sequence[Answered], tokens: float) -> tuple[str, list[Batch]]:
    """In what shape an engine makes calls once more, and the batches: of these calls the first, as many as so
    many tokens allow, but never none. An engine that knows how to make it cheap has a method `repetitions`;
    of another each call is made alone."""
    own = getattr(engine, "repetitions", None)
    if own is not None:
        found: tuple[str, list[Batch]] = own(some, tokens)
        return found
    alone = [batch for call, _ in some for batch in engine.batches([call])]
    costs = accumulate(batch.cost for batch in alone)
    affordable = sum(1 for _ in takewhile(lambda cost: cost <= tokens, costs))
    return ALONE, alone[: max(affordable, 1)]


ALONE = "each call alone"


def answered(engine: Engine, tasks: Sequence[PendingBatch]) -> Iterator[AnsweredBatch]:
    """The tasks, done, without a cap on them."""
    return (done for done in engine.answers(tasks, lambda task: True) if done.answers)
