"""Runs of logs -> columns: what every answer earned, by item, and how much wording the items share.

The wording that items share shows whether they were written from templates. A phrase is four words in a row,
a number being any number. An item shares its wording where at least half of its phrases stand in another item
too; phrases that most items have, such as an instruction, do not count. Paraphrases that share no phrase are
not found.
"""

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gridc.compiler.inputs.logs.files import TableColumns, log_error
from gridc.compiler.inputs.logs.records import WITHOUT_SCORE, LogAnswer, LogRun
from gridc.compiler.inputs.questions import (
    DIGEST_BYTES,
    Question,
    QuestionDigests,
    matched,
    matching_words,
    text_digest,
)
from gridc.outcomes import STATES
from gridc.statistics.arrays import Floats, Whole

WORDS = 4
WORD = re.compile(r"[^\W\d_]+|\d+")
LONGEST = 4_000
"""Characters of a text that are looked at."""
FEWEST, MOST = 10, 5_000
"""Items from which a share says something, and of which it is taken: the first ones, where families stand
together."""


def phrases(text: str) -> Whole:
    """The different phrases of a text, by numbers that hold within this process."""
    words = ["#" if word.isdecimal() else word for word in WORD.findall(text[:LONGEST].lower())]
    several = set(zip(*(words[start:] for start in range(WORDS)), strict=False))
    return np.fromiter(map(hash, several), np.int64, len(several))


def share_with_shared_wording(items: Sequence[Whole]) -> float:
    """Of items by their phrases: the share of those that share their wording with another one."""
    if len(items) < FEWEST:
        return 0.0
    _, which, counts = np.unique(np.concatenate(items), return_inverse=True, return_counts=True)
    times = counts[which]
    own = times <= len(items) / 2
    of_item = np.repeat(np.arange(len(items)), [len(some) for some in items])
    counted = np.bincount(of_item, own, len(items))
    shared = np.bincount(of_item, own & (times > 1), len(items))
    return float(((shared >= counted / 2) & (counted > 0)).mean())


STATE_CODES = {state: code for code, state in enumerate(STATES)}
NO_PROMPT = bytes(DIGEST_BYTES)
NAN = float("nan")
LARGEST = 1e100
"""A larger score is none, as infinity is none: sums of such scores overflow."""


@dataclass(slots=True)
class LogItems:
    """The items of one benchmark in all logs. An item's number stands for its content, or for its id where no
    log has the content. `other` has the ids that stood for another content before in the same package.
    `packages` and `questions` say of each who wrote it down first, and what it asks, `has_unit` whether a log
    or the author says its unit, `categories` its category (empty: nothing says it), and `phrases` how the
    first ones are worded; `matching` says how the items of several packages were matched."""

    numbers: dict[bytes, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    packages: list[str] = field(default_factory=list)
    questions: list[QuestionDigests] = field(default_factory=list)
    has_unit: list[bool] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    phrases: list[Whole] = field(default_factory=list)
    by_id: dict[tuple[str, str], int] = field(default_factory=dict)
    other: dict[str, set[int]] = field(default_factory=dict)
    without_content: int = 0
    matching: str | None = None

    def number(self, key: bytes, answer: LogAnswer, package: str, alone: str) -> int:
        """The number of an item, which is a unit `alone` as long as nothing says its unit."""
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.ids)
            self.ids.append(answer.id)
            self.units.append(alone)
            self.has_unit.append(False)
            self.categories.append("")
            self.packages.append(package)
            asked = Question() if answer.question is None else answer.question()
            self.questions.append(asked.digests())
            if asked.text and len(self.phrases) < MOST:
                self.phrases.append(phrases(asked.text))
            self.without_content += answer.content is None
        return number

    def is_of(self, number: int, unit: str) -> bool:
        """Take down the unit of an item; False where it is of another one."""
        if not self.has_unit[number]:
            self.units[number], self.has_unit[number] = unit, True
        return self.units[number] == unit

    def named(self, id: str, package: str, number: int) -> int:
        """Remember what an id stands for: every package has ids of its own."""
        first = self.by_id.setdefault((package, id), number)
        if first != number:
            self.other.setdefault(id, {first}).add(number)
        return number

    def match_packages(self) -> Whole | None:
        """Make the items one that several packages ask alike: the number of each from now on, (items,). None
        where one package alone has items."""
        places: dict[str, list[int]] = {}
        for number, package in enumerate(self.packages):
            places.setdefault(package, []).append(number)
        if len(places) < 2:
            return None
        # Of an item's units that of the package with the coarsest stands: it knows what belongs together.
        packages = sorted(places, key=lambda name: _units_an_item(self.units, places[name]))
        found = matched([[self.questions[number] for number in places[name]] for name in packages])
        firsts: dict[bytes, int] = {}
        became = np.arange(len(self.ids))
        for name, keys in zip(packages, found.keys, strict=True):
            for number, key in zip(places[name], keys, strict=True):
                if key is not None:
                    became[number] = firsts.setdefault(key, number)
        times = np.bincount(became, minlength=len(became))
        alone = [int((times[became[places[name]]] == 1).sum()) for name in packages]
        self.matching = matching_words(packages, found, int((times > 1).sum()), alone)
        kept = np.unique(became)
        self._keep(kept.tolist())
        return np.searchsorted(kept, became)

    def _keep(self, kept: list[int]) -> None:
        keys = self.keys
        self.numbers = {keys[number]: place for place, number in enumerate(kept)}
        for name in ("ids", "units", "has_unit", "categories", "packages", "questions"):
            values = getattr(self, name)
            setattr(self, name, [values[number] for number in kept])

    @property
    def keys(self) -> list[bytes]:
        return list(self.numbers)


def _units_an_item(units: Sequence[str], numbers: Sequence[int]) -> float:
    return len({units[number] for number in numbers}) / len(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class LogColumn:
    """The answers of a run under one reading, (N,): number of the item, repetition, state by its place in
    `STATES`, score (NaN: none), and a hash of the model's own text that holds within this process (0: none);
    and the digests of the prompts, one after the other. `logged` has the scores that the log gives to answers
    that failed too. `ungraded` counts the answers to which a judge gave no grade. `stopped` has the rows of
    those that something ended before their answer, by what that was."""

    item: Whole
    epoch: Whole
    state: Whole
    score: Floats
    prompts: bytes
    text: Whole
    ungraded: int
    logged: Floats
    stopped: Mapping[str, Whole]

    def prompt(self, row: int) -> str | None:
        """The digest of an answer's prompt; None where the log does not have the text."""
        digest = self.prompts[row * DIGEST_BYTES : (row + 1) * DIGEST_BYTES]
        return None if digest == NO_PROMPT else digest.hex()


@dataclass(frozen=True, slots=True, eq=False)
class GatheredRun:
    """A run and its answers by reading; no column where the log has no items. `texts` is a hash of every
    answer's text with what is asked, whatever their order and within this process; None without any.
    `length` is the mean number of characters that the model wrote, and `heard` says of items with several
    texts under one score how they are."""

    run: LogRun
    columns: Mapping[str, LogColumn]
    texts: int | None
    length: float
    heard: "SeveralTexts"


@dataclass(slots=True)
class SeveralTexts:
    """How many items have several texts under one score, of how many these are all the same, and how many
    texts an item has at most."""

    items: int = 0
    alike: int = 0
    most: int = 0

    def add(self, texts: Sequence[str]) -> None:
        if len(texts) > 1:
            self.items += 1
            self.alike += len(set(texts)) == 1
            self.most = max(self.most, len(texts))


def renumbered(gathered: GatheredRun, became: Whole) -> GatheredRun:
    """With the items' numbers from now on, (items,)."""
    columns = {
        reading: replace(column, item=became[column.item]) for reading, column in gathered.columns.items()
    }
    return replace(gathered, columns=columns)


@dataclass(slots=True)
class _ColumnBuilder:
    item: "array[int]" = field(default_factory=lambda: array("i"))
    epoch: "array[int]" = field(default_factory=lambda: array("i"))
    state: "array[int]" = field(default_factory=lambda: array("b"))
    score: "array[float]" = field(default_factory=lambda: array("d"))
    prompts: bytearray = field(default_factory=bytearray)
    text: "array[int]" = field(default_factory=lambda: array("q"))
    ungraded: int = 0
    stopped: dict[str, list[int]] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def finished(self) -> LogColumn:
        logged, state = np.array(self.score), np.array(self.state, np.int64)
        without = np.isin(state, [STATE_CODES[one] for one in WITHOUT_SCORE])
        score = np.where(without, NAN, logged) if (without & ~np.isnan(logged)).any() else logged
        return LogColumn(
            np.array(self.item, np.int64),
            np.array(self.epoch, np.int64),
            state,
            score,
            bytes(self.prompts),
            np.array(self.text, np.int64),
            self.ungraded,
            logged,
            {what: np.array(rows, np.int64) for what, rows in self.stopped.items()},
        )


def gather_run(run: LogRun, items: LogItems, author: TableColumns) -> GatheredRun:
    """Read a run's answers once. Raises `FileError` for a sample that stands twice (GC675), a count that the
    answers contradict (GC674), or an item that is of two units (GC677)."""
    columns: dict[str, _ColumnBuilder] = {}
    here: dict[int, str] = {}
    texts, counted, length, heard = 0, 0, 0, SeveralTexts()
    for answer in run.samples() if run.samples is not None else ():
        number = _number(answer, run.package, items, here)
        by_author = author.unit is not None and isinstance(answer.fields, Mapping)
        unit = author.unit_of(answer.fields or {}) if by_author else answer.unit
        if unit is not None and not items.is_of(number, unit):
            message = f"item {answer.id} is of {unit[:40]} and of {items.units[number][:40]}"
            help = "correct the logs, or name another column or field with --unit"
            raise log_error("GC677", f"{run.benchmark}: {message}", run.path, help=help)
        stated = author.category_of(answer.fields or {}) if author.category is not None else None
        # The first log that says it stands: a category describes, and decides nothing.
        items.categories[number] = items.categories[number] or stated or answer.category or ""
        scores: Mapping[str, float | None] = answer.scores or dict.fromkeys(run.readings)
        prompt = NO_PROMPT if answer.prompt is None else text_digest(answer.prompt)
        if answer.answer is not None and not isinstance(answer.answer, str):
            raise TypeError("an answer that is not a text")
        for reading, score in scores.items():
            column = columns.setdefault(reading, _ColumnBuilder())
            _append(column, run, answer, number, reading, score, prompt)
        heard.add(answer.heard)
        if answer.answer is not None:
            counted, length = counted + 1, length + (0 if answer.chosen else len(answer.answer))
            texts += hash((answer.content or answer.id, answer.epoch, answer.answer))
    for reading, column in columns.items():
        if run.finished is not False and run.expected is not None and len(column.item) != run.expected:
            message = f"{run.model}, {run.benchmark}, {reading}: {len(column.item):,} samples"
            help = "a log is read whole or not at all: copy it again, or leave it out"
            raise log_error("GC674", f"{message} where the log counts {run.expected:,}", run.path, help=help)
    read_columns = {reading: column.finished() for reading, column in columns.items()}
    for reading, read in read_columns.items():
        _require_printed(run, reading, read)
    return GatheredRun(run, read_columns, texts if counted else None, length / max(counted, 1), heard)


AGREE = 5e-4
"""To which a printed score and the mean of its samples are equal: a package may round to three decimals."""


def _require_printed(run: LogRun, reading: str, column: LogColumn) -> None:
    """Raise `FileError` (GC674) where a log prints another score than its samples have, with those that
    failed or without them."""
    printed = run.printed.get(reading)
    if printed is None or printed.value is None or not printed.mean or run.finished is False:
        return
    means = [item_means(column.item, scores) for scores in (column.logged, column.score)]
    found = [float(of_items.mean()) for of_items in means if len(of_items)]
    if found and all(abs(mean - printed.value) > AGREE for mean in found):
        message = (
            f"{run.model}, {run.benchmark}, {reading}: the log prints {printed.value:.3f}, and its "
            f"{len(means[0]):,} samples with a score give {found[0]:.3f}"
        )
        help = "one of the two was changed: use the log that the package wrote, or leave it out"
        raise log_error("GC674", message, run.path, help=help)


def item_means(item: Whole, scores: Floats) -> Floats:
    """The mean score of each item that has one, in the order of the items' numbers."""
    scored = ~np.isnan(scores)
    counts = np.bincount(item[scored])
    means: Floats = np.bincount(item[scored], scores[scored])[counts > 0] / counts[counts > 0]
    return means


def _append(
    column: _ColumnBuilder,
    run: LogRun,
    answer: LogAnswer,
    number: int,
    reading: str,
    score: float | None,
    prompt: bytes,
) -> None:
    place = number << 32 | answer.epoch & 0xFFFFFFFF
    if place in column.seen:
        message = (
            f"{run.model}, {run.benchmark}: sample {answer.id} (repetition {answer.epoch + 1}) occurs twice"
        )
        raise log_error("GC675", message, run.path)
    column.seen.add(place)
    if score is not None and abs(score) > LARGEST:
        score = None
    state = answer.state if score is not None or answer.state in WITHOUT_SCORE else "unscored"
    if state == "read" and (reading in answer.unread or reading in answer.ungraded):
        state = "unreadable"
    column.ungraded += reading in answer.ungraded
    if answer.stopped:
        column.stopped.setdefault(answer.stopped, []).append(len(column.item))
    column.item.append(number)
    column.epoch.append(answer.epoch)
    column.state.append(STATE_CODES[state])
    column.score.append(NAN if score is None else score)
    column.prompts += prompt
    column.text.append(0 if answer.answer is None or answer.chosen else hash(answer.answer))


def _number(answer: LogAnswer, package: str, items: LogItems, here: dict[int, str]) -> int:
    """The item of an answer. A dataset may ask one thing under two ids: these are two items of one unit."""
    if answer.content is None:
        return items.number(text_digest(f"id {answer.id}"), answer, package, answer.id)
    alone, key, occurrence = answer.content.hex(), answer.content, 0
    number = items.number(key, answer, package, alone)
    while here.setdefault(number, answer.id) != answer.id:
        occurrence += 1
        key = text_digest(f"{answer.content.hex()} {occurrence}")
        number = items.number(key, answer, package, alone)
    return items.named(answer.id, package, number)
