"""The items on which two models differ under the reference configuration, with both answers: what the report
page with answers has beyond the report page.

An item has a place of its own, which is the same in every report of the study, so that a link to it stays
right. Of each pair at most so many items are shown, those with the largest difference first.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from gridc.compiler.grid.cells import ONLY, Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.read_answers import (
    AskedItem,
    OneAnswer,
    Options,
    ReadAnswers,
    asked_item_of,
    items_that_differ,
    read_answers,
    read_as,
)
from gridc.reports.told import told, untold
from gridc.runtime.recording import NO_ANSWER
from gridc.runtime.store.store import Store
from gridc.schema.base import ID
from gridc.schema.canonical import digest

MOST_ITEMS = 200
"""Items of a pair that are shown, unless somebody asks for more."""

LARGEST_MOST = 10**9 - 1
"""The largest number of items that can be asked for."""

LONGEST = 10_000
"""Characters of a question or a response that are shown; how many more there are is said."""

PLACE = "answers"
"""How every place of the section begins."""


@dataclass(frozen=True, slots=True)
class CutText:
    """A text, and how many of its characters are left out."""

    text: str
    left: int


@dataclass(frozen=True, slots=True)
class DifferingAnswer:
    """What a model said to an item (None: no text, as where options are `ranked` by likelihood), what that
    was read as (empty where another package read it), and what share of a point all its `count` answers
    earned, of which `number` is shown."""

    model: str
    text: CutText | None
    read: str
    share: float
    number: int
    count: int
    ranked: bool


@dataclass(frozen=True, slots=True)
class DifferingItem:
    """An item on which two models differ. The question is empty where the store has no prompt."""

    place: str
    item: str
    question: CutText
    options: Options
    expected: str | None
    answers: tuple[DifferingAnswer, DifferingAnswer]

    @property
    def higher(self) -> str:
        """The model with the higher score."""
        return max(self.answers, key=lambda answer: answer.share).model

    @property
    def harmful(self) -> bool:
        """Whether the prompt is one to refuse."""
        return self.expected == "refuse"


@dataclass(frozen=True, slots=True)
class DifferingPair:
    """Two models that were asked `asked` items: on how many they differ, on how many each is ahead in score,
    the same by what is expected of a prompt (kind, differing, asked), and the items that are shown."""

    place: str
    a: str
    b: str
    asked: int
    differing: int
    higher: tuple[int, int]
    expected: tuple[tuple[str, int, int], ...]
    items: tuple[DifferingItem, ...]

    @property
    def left(self) -> int:
        """How many items that differ are not shown."""
        return self.differing - len(self.items)


@dataclass(frozen=True, slots=True)
class BenchmarkAnswers:
    """The pairs of models of a benchmark; none where it is `private`, where one model was asked, or while the
    run is incomplete. `untold` says how many more pairs there are."""

    benchmark: str
    configuration: str
    private: bool
    models: int
    pairs: tuple[DifferingPair, ...]
    untold: str


@dataclass(frozen=True)
class DifferingAnswers:
    """All of them, at most `most` items of a pair."""

    benchmarks: tuple[BenchmarkAnswers, ...]
    most: int

    @property
    def pairs(self) -> list[tuple[str, DifferingPair]]:
        """Every pair that differs on an item, with its benchmark."""
        return [(each.benchmark, pair) for each in self.benchmarks for pair in each.pairs if pair.differing]

    @cached_property
    def _places(self) -> Mapping[tuple[str, frozenset[str]], str]:
        return {(name, frozenset((pair.a, pair.b))): f"#{pair.place}" for name, pair in self.pairs}

    def at(self, benchmark: str, a: str, b: str) -> str | None:
        """The address within the page of the items on which two models differ; None where none are."""
        return self._places.get((benchmark, frozenset((a, b))))


def differing_answers(findings: Findings, store: Store, most: int = MOST_ITEMS) -> DifferingAnswers:
    """The items on which models differ, as the store has them. Raises `UsageError` (GC000) for too many
    items or none."""
    if not 1 <= most <= LARGEST_MOST:
        message = f"a page with answers cannot show {most:,} items of two models"
        raise UsageError([Diagnostic("GC000", message, help=f"1 to {LARGEST_MOST:,}")])
    private = {row.id for row in findings.plan.study.spec.benchmark if row.private}
    return DifferingAnswers(
        tuple(
            _of_benchmark(findings, store, benchmark, benchmark.benchmark in private, most)
            for benchmark in findings.benchmarks
        ),
        most,
    )


def _of_benchmark(
    findings: Findings, store: Store, benchmark: BenchmarkFinding, private: bool, most: int
) -> BenchmarkAnswers:
    anchors = {model.model: model.anchor.cell for model in benchmark.models}
    pairs: tuple[DifferingPair, ...] = ()
    if findings.complete and not private:
        counts = [benchmark.full.pairs[place].counts for place in sorted(told(benchmark))]
        compared = [(pair.a, pair.b) for pair in counts]
        read = _Benchmark(findings.plan, store, anchors, {model for pair in compared for model in pair})
        pairs = tuple(read.pair(a, b, most) for a, b in compared)
    return BenchmarkAnswers(
        benchmark.benchmark,
        " · ".join(next(iter(anchors.values())).levels.values()) or ONLY,
        private,
        len(anchors),
        pairs,
        untold(benchmark.benchmark, benchmark.full.pairs) if pairs else "",
    )


class _Benchmark:
    """What the store has of a benchmark under the reference configuration. Every prompt is read once."""

    def __init__(
        self, plan: Plan, store: Store, anchors: Mapping[str, Cell], models: Collection[str]
    ) -> None:
        self.plan, self.store, self.anchors = plan, store, anchors
        self.read = {model: read_answers(store, plan, anchors[model]) for model in models}
        self.items = {model: {item.id: item for item in plan.items(anchors[model])} for model in models}
        self.prompts: dict[tuple[str, str], AskedItem] = {}

    def pair(self, a: str, b: str, most: int) -> DifferingPair:
        one, other, held = self.read[a], self.read[b], self.items[a]
        both = [item for item in one if item in other and item in held]
        apart = items_that_differ(one, other, both)
        ahead = sum(_share(one[item]) > _share(other[item]) for item in apart)
        return DifferingPair(
            pair_place(self.anchors[a].benchmark, a, b),
            a,
            b,
            len(both),
            len(apart),
            (ahead, len(apart) - ahead),
            tuple(_by_expected(held, apart, both)),
            tuple(self._item(a, b, item) for item in apart[:most]),
        )

    def _item(self, a: str, b: str, name: str) -> DifferingItem:
        item = self.items[a][name]
        if (a, name) not in self.prompts:
            self.prompts[a, name] = asked_item_of(self.store, self.plan, self.anchors[a], item)
        shown = self.prompts[a, name]
        number = _telling(self.read[a][name].answers, self.read[b][name].answers)
        return DifferingItem(
            item_place(self.anchors[a].benchmark, a, b, name),
            name,
            _end(shown.question),
            shown.options,
            item.expected,
            (self._answer(a, name, number, shown.options), self._answer(b, name, number, shown.options)),
        )

    def _answer(self, model: str, item: str, number: int, options: Options) -> DifferingAnswer:
        own, cell = self.read[model][item], self.anchors[model]
        chosen, method = own.answers[number], METHODS[cell.setting.method]
        told = chosen.text is not None and not (method.recorded and chosen.text == NO_ANSWER)
        return DifferingAnswer(
            model,
            _response(chosen.text or "") if told else None,
            "" if method.recorded else read_as(self.plan, cell, chosen.choice, options),
            float(_share(own)),
            number + 1,
            len(own.answers),
            method.reads is None,
        )


def _share(read: ReadAnswers) -> Fraction:
    return read.share or Fraction(0)


def _telling(one: Sequence[OneAnswer], other: Sequence[OneAnswer]) -> int:
    """The first repetition on whose scores two models differ, or else on whose choices; 0 where on none."""
    both = list(zip(one, other, strict=False))
    scores = (number for number, (a, b) in enumerate(both) if a.score != b.score)
    choices = (number for number, (a, b) in enumerate(both) if a.choice != b.choice)
    return next(scores, next(choices, 0))


def _by_expected(
    held: Mapping[str, Item], apart: Sequence[str], both: Sequence[str]
) -> Iterator[tuple[str, int, int]]:
    """By what is expected of prompts, where that is stated: on how many models differ, of how many."""
    for kind in ("refuse", "comply"):
        count = sum(held[item].expected == kind for item in both)
        if count:
            yield kind, sum(held[item].expected == kind for item in apart), count


def _response(stored: str) -> CutText:
    """The beginning of a response."""
    text = stored.strip()
    return CutText(text[:LONGEST], max(len(text) - LONGEST, 0))


def _end(text: str) -> CutText:
    """The end of a question: what is asked stands last."""
    return CutText(text[-LONGEST:], max(len(text) - LONGEST, 0))


def pair_place(benchmark: str, a: str, b: str) -> str:
    """The place of a pair on the page."""
    return f"{PLACE}/{benchmark}/{a}/{b}"


def item_place(benchmark: str, a: str, b: str, item: str) -> str:
    """The place of an item of a pair: with its id, or with a digest of one that an address cannot hold."""
    name = item if _NAMES.fullmatch(item) and len(item) <= 80 else digest(item)[:12]
    return f"{pair_place(benchmark, a, b)}/{name}"


_NAMES = re.compile(ID)


def most_stated(path: Path) -> int:
    """How many items of a pair a page with answers says that it shows at most; `MOST_ITEMS` where it is no
    such page."""
    if path.is_symlink() or not path.is_file():
        return MOST_ITEMS
    with path.open("rb") as file:
        stated = _STATED.search(file.read(4096))
    return MOST_ITEMS if stated is None else int(stated[1])


_STATED = re.compile(rb'<meta name="items-of-a-pair" content="([1-9][0-9]{0,8})">')
