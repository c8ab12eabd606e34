"""What the logs of other packages say, in one format: runs, each with its answers in order."""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, Protocol, cast

from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.questions import Question, text_digest
from gridc.registry import Registry
from gridc.schema.comparison import AnswerState, Aspect

DESCRIPTION = "gridc"
"""The name of the folder beside the logs that gridc exported which describes their study."""
OWN = "gridc_"
"""Before the name of what only an export of gridc says of an answer."""
AXIS = f"{OWN}axis_"
MOST_ITEMS = 2_000_000
"""Items that a benchmark is said to have: those that no log names take memory too."""
WITHOUT_SCORE: frozenset[AnswerState] = frozenset({"failed", "unscored"})


def describes(folder: Path) -> bool:
    """Whether a folder describes a study, so that it holds no logs: a name alone says nothing."""
    return folder.name == DESCRIPTION and all(
        (folder / name).is_file() for name in ("gridcard.toml", "gridcard.lock", "manifests/study.json")
    )


def _check(what: str, value: object, kind: type | UnionType) -> None:
    """A stranger's file may have anything anywhere."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {str(value)[:40]}")


def _check_count(what: str, value: int | None) -> None:
    _check(what, value, int | None)
    if value is not None and value < 0:
        raise ValueError(f"{what} is {str(value)[:40]}")


@dataclass(frozen=True, slots=True)
class LogAxis:
    """What a run was made with, in one respect. Two runs differ in it where `value` does; `label` is its
    short name for people. What is the model's `own` (its precision, its provider's arguments) belongs to the
    model as long as that has one value alone."""

    aspect: Aspect
    value: str
    label: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class PrintedScore:
    """What the package itself prints of a reading: the score, its standard error, and of how many items.
    `mean` says that it is the mean over items of the scores that their samples have, so that the two must
    agree. What is no such mean is made `how` it says, such as by a reducer, and an error that is none of
    independent items `error_how`. `failed_by` says why samples that failed may be in it."""

    value: float | None
    items: int | None
    mean: bool = False
    error: float | None = None
    how: str = ""
    error_how: str = ""
    failed_by: str = ""

    def __post_init__(self) -> None:
        _check("a printed score", self.value, float | int | None)
        _check("a printed standard error", self.error, float | int | None)
        _check_count("a number of items", self.items)


@dataclass(frozen=True, slots=True)
class LogGroup:
    """Tasks that a package puts together under a name, as far as the log lists them, and what it prints of
    them by reading."""

    name: str
    tasks: tuple[str, ...]
    printed: Mapping[str, PrintedScore]


class LogAnswer(NamedTuple):
    """One answer to an item: its id in the log, the digest of what is asked (None where the log does not have
    it), the repetition, the score under each reading that the row has (None: it has no score), how the answer
    ended, and the texts where the log has them. `unit` is what the item was made from, where the log says;
    `question` gives what is asked as every package would have it; `unread` names those of several readings
    that read nothing in an answer that is there, and `ungraded` those of a judge that gave no grade. `heard`
    are all texts where the log has several under one score, and `chosen` says that the answer is one of the
    texts that the model compared, and not its own. `fields` are the item's own, of which the author may name
    one as its unit; `category` is the kind of item that it is, where the log says. `took` has those of
    `CALL_NUMBERS` that the log says of all calls of the answer, and no other. `stopped` is what ended it
    before its answer, in words (a limit, an error), where the log names it."""

    id: str
    content: bytes | None
    epoch: int
    scores: Mapping[str, float | None]
    state: AnswerState
    prompt: str | None = None
    answer: str | None = None
    unit: str | None = None
    question: Callable[[], Question] | None = None
    unread: Collection[str] = ()
    fields: Mapping[str, Any] | None = None
    ungraded: Collection[str] = ()
    heard: Sequence[str] = ()
    chosen: bool = False
    category: str | None = None
    took: Mapping[str, float] = {}
    stopped: str = ""


def logged_number(what: str, value: Any) -> float | None:
    """A number that a log says an answer took; None where it says none. Raises `TypeError` for what is none,
    and for less than 0."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise TypeError(f"{what} is {str(value)[:40]}")
    return value


@dataclass(frozen=True, slots=True)
class LogRun:
    """One model's answers to one benchmark in one configuration, as one log has them.

    `readings` name the ways in which the answers count (a metric under a filter, a scorer): the first is the
    one that the package prints first. `samples` streams the answers, and is None where the log has scores and
    no items. `unlisted` is the score of an item that another run has and this one does not list. `total` is
    how many items the log says there are to ask, `expected` how many answers it says it has. `groups` are
    those that its task is of. `attempt_of` is what several attempts have in common where a package asks again
    what failed, of which the last begun has what the others had; `asked_again` counts the answers that the
    log holds in the place of earlier ones. `repetitions` is how often each item was asked, where it says.
    `shared_seed` is a seed that went out with every request of a sampled run, so that all items share one
    draw. `finished` is None where the log does not say. `called` is the model's name in the log where `model`
    is one that the author gave, and `task` the benchmark's; `named` says whether the log names its benchmark,
    which else has the name of the file. `unknown` is what the log does not record, and `not_read` what it has
    that is not read, by name; `remark` is what to know of it before any number.
    """

    path: Path
    package: str
    version: str
    digest: str
    model: str
    benchmark: str
    axes: Mapping[str, LogAxis]
    readings: tuple[str, ...]
    samples: Callable[[], Iterator[LogAnswer]] | None
    id: str = ""
    facts: Mapping[tuple[Aspect, str], object] = field(default_factory=dict)
    seeds: Mapping[str, object] = field(default_factory=dict)
    shared_seed: str | None = None
    lower: frozenset[str] = frozenset()
    printed: Mapping[str, PrintedScore] = field(default_factory=dict)
    groups: Sequence[LogGroup] = ()
    expected: int | None = None
    attempt_of: str = ""
    begun: str = ""
    asked_again: int = 0
    repetitions: int | None = None
    finished: bool | None = True
    unlisted: float | None = None
    total: int | None = None
    called: str = ""
    task: str = ""
    named: bool = True
    unknown: tuple[str, ...] = ()
    not_read: Sequence[str] = ()
    remark: str | None = None

    def __post_init__(self) -> None:
        for name in ("version", "model", "benchmark", "id", "attempt_of", "begun"):
            _check(name, getattr(self, name), str)
        _check_count("a number of answers", self.expected)
        _check_count("a number of items", self.total)
        _check_count("a number of repetitions", self.repetitions)
        for reading in self.readings:
            _check("a reading", reading, str)

    @property
    def made_by(self) -> str:
        return f"{self.package} {self.version}".rstrip()


_SORTED = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def writable(text: str) -> str:
    """A text that a file can hold: half a surrogate pair, as in a name of a file that is not a text, is
    none."""
    return text.encode("utf-8", "replace").decode()


def content_digest(value: Any) -> bytes:
    """Of a JSON value, whatever the order of its keys."""
    return text_digest(_SORTED.encode(value))


def log_axis(aspect: Aspect, value: Any, label: str | None = None, own: bool = False) -> LogAxis:
    """An axis by a JSON value; its label is the value where that is short."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    short = text if len(text) <= 24 else f"#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"
    return LogAxis(aspect, text, label or short, own)


class LogReader(Protocol):
    """A format. `claims` says by a file's name and keys whether it is one, `belongs` whether it is a part of
    one that is read from another file; `runs` gives what it has, and raises `FileError` for what is wrong.
    A file that cannot be parsed is a damaged log if it has one of the `NAMES`, or two keys of one of the
    `SHAPES`."""

    PACKAGE: str
    NAMES: tuple[str, ...]
    SHAPES: tuple[frozenset[str], ...]

    def claims(self, file: LogFile) -> bool: ...

    def belongs(self, file: LogFile) -> bool: ...

    def runs(self, file: LogFile) -> Iterator[LogRun]: ...


LOG_READERS: Registry[LogReader] = Registry("gridc.adapters.logs")
"""By the name of the module."""


def log_reader(module: str, place: int) -> None:
    """Registers a module that reads a format. The one with the smaller `place` is asked first whether a file
    is its own."""
    LOG_READERS.add(module.rpartition(".")[2], place)(cast(LogReader, sys.modules[module]))
