"""The samples of a study as arrays: what an analysis of effects, curves or variance reads from a store.

A row is one item in one cell: how many of its samples an outcome counts and what they earned, of all answers
(intention to treat) and of the readable ones (per protocol). A cell says which model, benchmark and levels a
row has, so that a factor of an analysis is a column of whole numbers over cells. Scores come from the
outcomes that a report has read already; other rates are counted in one pass over the stored choices, cell by
cell.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.draw import one_group
from gridc.compiler.inputs.items import Items
from gridc.compiler.instrument.aggregates import conflict_of_outcome
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.points import Unscored, points_earned
from gridc.compiler.instrument.refusals import phrases_of, refusal_keywords
from gridc.compiler.instrument.score import before_stop, earned
from gridc.compiler.lowering.plan import Plan
from gridc.outcomes import CellOutcomes
from gridc.reports.findings.item_counts import ItemReading, counted_items, item_groups, rate_scale
from gridc.reports.findings.rates import BEHAVIOUR, RateDefinition, mean_called
from gridc.reports.findings.scores import resampling_of
from gridc.runtime.store.reader import ResponseRow
from gridc.schema.base import EVERYWHERE, Selector
from gridc.schema.canonical import canonical_row, digest, digest_bytes
from gridc.schema.inference import ResponseFilter
from gridc.schema.items import UnitLevel
from gridc.schema.scores import BEHAVIOURS
from gridc.statistics.arrays import Flags, Floats, Whole

Reading = Literal["itt", "pp"]
"""Intention to treat: every sample counts, an unreadable one with what the spec gives it. Per protocol: the
readable ones alone."""

ItemTotals = NDArray[np.int64]
"""(items, 4): what the answers of each item of a cell earned and how many count, of all and of the
readable."""

Read = tuple[tuple[str, ...], ItemTotals]
"""The items of a cell, sorted, and what each counts."""


ReadingLookup = Callable[[Cell, str | None], Iterable[ItemReading]]
"""What the answers of a cell were read to, or a number that a function gave: as `readings_of` has them."""

ResponseLookup = Callable[[str, str | None], Iterable[ResponseRow]]
"""The samples of a cell by its key, with the labels of one judge: as `Store.responses_of` gives them."""


@dataclass(frozen=True, slots=True)
class ResponseReading:
    """Which stored responses count, and by whose label: all `filters` apply, one after the other, and a
    `judge` speaks on judged responses alone, of those that it labelled. Where there are `refusal_phrases`,
    they say of every response to a prompt whether it refuses."""

    filters: tuple[ResponseFilter, ...] = ()
    judge: str | None = None
    refusal_phrases: tuple[str, ...] = ()

    @property
    def stated(self) -> bool:
        """Whether anything but the outcome of each sample is to be read."""
        return bool(self.filters or self.refusal_phrases) or self.judge is not None

    @property
    def name(self) -> str:
        """Of the rows that are read so; empty where all are, as the study scored them."""
        parts = [each.model_dump_json(exclude_none=True) for each in self.filters]
        parts += [] if self.judge is None else [f"labels of {self.judge}"]
        parts += [canonical_row(["phrases", *self.refusal_phrases]).decode()] if self.refusal_phrases else []
        return " ".join(parts)


AS_SCORED = ResponseReading()
"""Every response, as the study scored it."""


class NotMeanError(ValueError):
    """An outcome that is not a mean over items, such as a bias score: it has no rows of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """One outcome in N rows, each an item in a cell.

    `cells` and `items` (benchmark, id) name what `cell` and `item`, shape (N,), number. `earned` is the sum
    over the samples that count, in units of 1 / `scale`, and `counted` how many count; `read_earned` and
    `read_counted` are those of readable answers. `units` (items,) numbers the unit of each item over all
    benchmarks: the groups that are independent of each other; `drawn` (items,) the groups that a bootstrap
    draws, where the spec says others; `asked` (items,) what is asked, which two benchmarks may have in
    common. `digests` has the digest of the rows of each cell, by its key.
    """

    outcome: str
    cells: tuple[Cell, ...]
    items: tuple[tuple[str, str], ...]
    cell: Whole
    item: Whole
    earned: Whole
    counted: Whole
    read_earned: Whole
    read_counted: Whole
    scale: int
    units: Whole
    drawn: Whole
    asked: Whole
    digests: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def unit(self) -> Whole:
        """The unit of each row, shape (N,): what is independent of each other, over all benchmarks."""
        return self.units[self.item]

    @property
    def rows(self) -> str:
        """The digest of the rows that these are of."""
        return digest([self.outcome, *(self.digests[cell.key] for cell in self.cells)])

    def reading(self, of: Reading) -> tuple[Whole, Floats]:
        """How many samples of each row count, and what they earned, at most 1 each; (N,) both."""
        if of == "itt":
            return self.counted, self.earned / self.scale
        return self.read_counted, self.read_earned / self.scale

    def levels(self, dimension: str) -> list[str]:
        """The level of each cell: of an axis, or its `model` or `benchmark`."""
        if dimension in ("model", "benchmark"):
            return [getattr(cell, dimension) for cell in self.cells]
        return [cell.levels[dimension] for cell in self.cells]

    def codes(self, dimension: str, levels: Sequence[str]) -> Whole:
        """The place in `levels` of each row's level, shape (N,); -1 where it is none of them."""
        place = {level: number for number, level in enumerate(levels)}
        by_cell = np.array([place.get(level, -1) for level in self.levels(dimension)], dtype=np.int64)
        return by_cell[self.cell] if len(by_cell) else np.zeros(0, dtype=np.int64)

    def where(self, rows: Flags) -> "Observations":
        """Some of the rows, flags of shape (N,). Cells without one are left out."""
        used = np.unique(self.cell[rows])
        return replace(
            self,
            cells=tuple(self.cells[number] for number in used),
            cell=np.searchsorted(used, self.cell[rows]),
            item=self.item[rows],
            earned=self.earned[rows],
            counted=self.counted[rows],
            read_earned=self.read_earned[rows],
            read_counted=self.read_counted[rows],
        )


class Samples:
    """The complete cells of a study's envelope, and their samples by outcome.

    `readings` reads what each answer of a cell was read to, once for each outcome that is neither `score` nor
    `parse_rate`; `responses` reads the samples of a cell one by one, for analyses of some of them. None where
    there is no store to ask. An incomplete cell has no rows.
    """

    def __init__(
        self,
        plan: Plan,
        stored: Mapping[str, CellOutcomes],
        readings: ReadingLookup | None = None,
        responses: ResponseLookup | None = None,
    ) -> None:
        self.plan, self.stored, self._readings, self._responses = plan, stored, readings, responses
        self._counted: dict[str, dict[str, Read]] = {}
        self.cells = tuple(cell for cell in plan.cells() if cell.shared and self._complete(cell))

    def about(self, *parts: Selector) -> list[Cell]:
        """The complete cells of the envelope that every selector matches."""
        spec = self.plan.study.spec
        places = (
            (cell, grid.place_values(spec, cell.levels, cell.benchmark, cell.model)) for cell in self.cells
        )
        return [cell for cell, place in places if all(part.matches(place) for part in parts)]

    def of(
        self,
        outcome: str,
        cells: Sequence[Cell],
        items: Selector = EVERYWHERE,
        responses: ResponseReading = AS_SCORED,
    ) -> Observations:
        """The rows of an outcome in some complete cells, on the items with these tags, of these `responses`.

        A cell whose method has no such outcome, and an item that the outcome is not about, have no row. Where
        each question was asked as often as every other, in the same calls, it has one row.
        Raises `NotMeanError` for a rate that is not a mean over items.
        """
        counted = self._read_again(outcome, cells, responses) if responses.stated else self._count(outcome)
        scale = self._scale(outcome, cells)
        numbers = _Numbers(self.plan, items)
        read_cells: list[tuple[Cell, Read]] = []
        for cell in cells:
            read = self._read(outcome, cell) if counted is None else counted.get(cell.key)
            if read is None:
                continue
            names, parts = read
            here = numbers.tagged(cell.benchmark, names) & (parts[:, 1] > 0)
            if here.any():
                units_of_scale = np.array([scale // self._scale(outcome, [cell]), 1])
                parts = parts[here] * np.tile(units_of_scale, 2)
                read_cells.append((cell, (tuple(itertools.compress(names, here.tolist())), parts)))
        columns: list[tuple[int, Whole, ItemTotals]] = []
        kept, digests = list[Cell](), dict[str, str]()
        for cell, (names, parts) in self._once_each(read_cells):
            digests[cell.key] = digest_bytes(
                canonical_row([cell.key, list(zip(names, *parts.T.tolist(), strict=True))])
            )
            columns.append((len(kept), numbers.of(cell.benchmark, names), parts))
            kept.append(cell)
        every = np.concatenate([parts for *_, parts in columns]) if columns else np.zeros((0, 4), np.int64)
        return Observations(
            outcome,
            tuple(kept),
            tuple(numbers.items),
            np.repeat(np.arange(len(columns)), [len(own) for _, own, _ in columns]),
            np.concatenate([own for _, own, _ in columns]) if columns else np.zeros(0, np.int64),
            every[:, 0],
            every[:, 1],
            every[:, 2],
            every[:, 3],
            scale,
            np.array(numbers.units, dtype=np.int64),
            np.array(numbers.drawn, dtype=np.int64),
            np.array(numbers.asked, dtype=np.int64),
            digests,
        )

    def _once_each(self, read: list[tuple[Cell, Read]]) -> list[tuple[Cell, Read]]:
        """The same with one row for each question of a benchmark, where its copies have equal rows in every
        cell."""
        study = self.plan.study
        for benchmark in {cell.benchmark for cell, _ in read}:
            held = study.items[benchmark]
            own = [of for cell, of in read if cell.benchmark == benchmark]
            if held.repeats == 1:
                continue
            questions = {item.id: item.question for item in held.sampled}
            alone = [_alone(of, questions, held.repeats) for of in own]
            if all(each is not None for each in alone):
                once = iter(alone)
                read = [(cell, next(once) or of) if cell.benchmark == benchmark else (cell, of)
                        for cell, of in read]  # fmt: skip
        return read

    def _complete(self, cell: Cell) -> bool:
        outcomes = self.stored[cell.key]
        return bool((outcomes.scored == outcomes.trials).all())

    def _scale(self, outcome: str, cells: Sequence[Cell]) -> int:
        if outcome == "score":
            return lcm(*(cell.setting.item_scale for cell in cells))
        if outcome == "parse_rate":
            return 1
        stated = self.plan.study.spec.outcomes
        own = next((declared.scale for declared in stated if declared.id == outcome), 1)
        return lcm(*(rate_scale(cell.setting, own) for cell in cells))

    def _read(self, outcome: str, cell: Cell) -> Read | None:
        outcomes = self.stored[cell.key]
        if outcome == "score":
            readable = outcomes.correct - cell.setting.item_credit * (outcomes.scored - outcomes.parsed)
            return outcomes.items, np.column_stack(
                [outcomes.correct, outcomes.trials, readable, outcomes.parsed]
            )
        if cell.setting.ranks:
            return None  # a ranking has nothing to read
        return outcomes.items, np.column_stack(
            [outcomes.parsed, outcomes.trials, outcomes.parsed, outcomes.parsed]
        )

    def _read_again(self, outcome: str, cells: Sequence[Cell], responses: ResponseReading) -> dict[str, Read]:
        """What some of the stored responses count of an outcome, by cell key. Raises `NotMeanError`."""
        assert self._responses is not None, "responses are read from a store"
        rate = None if outcome in ("score", "parse_rate") else self._mean(outcome)
        read = {}
        for cell in cells:
            if rate is not None and cell.key not in self._counting(outcome, rate, responses):
                continue
            if outcome == "parse_rate" and cell.setting.ranks:
                continue
            scale = self._scale(outcome, [cell])
            sample = _SampleValue(self.plan, cell, outcome, rate, responses, scale)
            counts = sample.of(self._responses(cell.key, responses.judge))
            if counts is not None:
                read[cell.key] = counts
        return read

    def _mean(self, outcome: str) -> RateDefinition:
        rate = mean_called(outcome, self.plan.study.spec.outcomes)
        if rate is None:
            raise NotMeanError(f"`{outcome}` is not a mean over items")
        return rate

    def _counting(
        self, outcome: str, rate: RateDefinition, responses: ResponseReading = AS_SCORED
    ) -> dict[str, Cell]:
        """The complete cells whose readings a rate can count, and whose setting it fits, by key: as they were
        scored, or of generated responses by phrases."""
        stated = self.plan.study.spec.outcomes
        own = next((each.benchmarks for each in stated if each.id == outcome), None)
        return {
            cell.key: cell
            for cell in self.cells
            if (
                METHODS[cell.setting.method].reads in rate.of
                or (responses.refusal_phrases and rate.of & BEHAVIOUR and not cell.setting.ranks)
            )
            and cell.benchmark not in self.plan.study.absent
            and (own is None or cell.benchmark in own)
            and conflict_of_outcome(cell.setting, outcome, stated) is None
        }

    def _count(self, outcome: str) -> dict[str, Read] | None:
        """What the stored choices count of a rate, by cell key; None for what is read from the scores."""
        if outcome in ("score", "parse_rate"):
            return None
        if outcome not in self._counted:
            rate = self._mean(outcome)
            cells = self._counting(outcome, rate) if self._readings is not None else {}
            counted = (
                (key, _counts(self.plan, rate, cell, self._readings(cell, rate.number)))
                for key, cell in cells.items()
                if self._readings is not None
            )
            self._counted[outcome] = {key: read for key, read in counted if read is not None}
        return self._counted[outcome]


def _alone(read: Read, questions: Mapping[str, str], repeats: int) -> Read | None:
    """One row for each question; None where one has fewer rows than it is repeated, or unequal ones."""
    names, parts = read
    place = {name: number for number, name in enumerate(names)}
    first = np.array([place.get(questions[name], -1) for name in names], np.int64)
    if (first < 0).any() or (np.bincount(first)[np.unique(first)] != repeats).any():
        return None
    alone = first == np.arange(len(names))
    if (parts[first] != parts).any():
        return None
    return tuple(itertools.compress(names, alone.tolist())), parts[alone]


class _Numbers:
    """Numbers for the items of several benchmarks and for their units, in the order in which they come."""

    def __init__(self, plan: Plan, tags: Selector) -> None:
        self._plan, self._tags = plan, tags
        self.items: dict[tuple[str, str], int] = {}
        self.units: list[int] = []
        self.drawn: list[int] = []
        self.asked: list[int] = []
        self._groups: dict[tuple[int, tuple[str, str]], int] = {}
        study = plan.study
        here = {name: items for name, items in study.items.items() if name not in study.absent}
        texts = {name: items.sampled for name, items in here.items()}
        self._one = (
            one_group(texts, {name: items.unit for name, items in here.items()}),
            one_group(texts, {name: resampling_of(study.spec, items).unit for name, items in here.items()}),
            one_group(texts, {name: _asked_once(items) for name, items in here.items()}),
        )
        self._known: dict[tuple[str, tuple[str, ...]], Whole] = {}
        self._tagged: dict[tuple[str, tuple[str, ...]], Flags] = {}

    def tagged(self, benchmark: str, names: tuple[str, ...]) -> Flags:
        """Which of these items have the tags, (items,)."""
        if (benchmark, names) not in self._tagged:
            items = {item.id: item for item in self._plan.study.items[benchmark].sampled}
            flags = [self._tags.matches(items[name].tags) for name in names]
            self._tagged[benchmark, names] = np.array(flags, dtype=np.bool_)
        return self._tagged[benchmark, names]

    def of(self, benchmark: str, names: tuple[str, ...]) -> Whole:
        """The numbers of these items."""
        if (benchmark, names) not in self._known:
            study = self._plan.study
            sampled = study.items[benchmark]
            items = {item.id: item for item in sampled.sampled}
            levels: tuple[UnitLevel, ...] = (
                sampled.unit,
                resampling_of(study.spec, sampled).unit,
                _asked_once(sampled),
            )
            for name in names:
                if (benchmark, name) not in self.items:
                    self.items[benchmark, name] = len(self.items)
                    own = [(benchmark, items[name].at(level)) for level in levels]
                    numbers = (
                        self._groups.setdefault((which, one.get(group, group)), len(self._groups))
                        for which, (one, group) in enumerate(zip(self._one, own, strict=True))
                    )
                    for known, number in zip((self.units, self.drawn, self.asked), numbers, strict=True):
                        known.append(number)
            numbered = [self.items[benchmark, name] for name in names]
            self._known[benchmark, names] = np.array(numbered, dtype=np.int64)
        return self._known[benchmark, names]


def _asked_once(items: Items) -> UnitLevel:
    """The level of what is asked: the question, or each item where the spec takes copies as independent."""
    return "item" if items.unit == "item" else "question"


def _counts(plan: Plan, rate: RateDefinition, cell: Cell, readings: Iterable[ItemReading]) -> Read | None:
    """What a cell's answers count of a rate, by item; None where its readings have no such outcome, or there
    are none."""
    labels = METHODS[cell.setting.method].names(
        plan.study.spec.verdicts(cell.setting.judge), cell.setting.scores
    )
    items = {item.id: item for item in plan.items(cell)}

    def parts(name: str, choice: int | None) -> tuple[int, ...]:
        return rate.parts(items[name], choice, labels)

    try:
        rows = counted_items(cell.setting, readings, parts, item_groups(cell.setting, items))
    except Unscored:
        return None
    if not rows.items:
        return None
    earned, possible = rows.counts.T
    counted = possible // rate_scale(cell.setting, rate.scale)
    names, place = np.unique(rows.items, return_inverse=True)
    totals = np.zeros((len(names), 4), dtype=np.int64)
    np.add.at(totals, place, np.column_stack([earned, counted, earned * rows.read, counted * rows.read]))
    return tuple(names.tolist()), totals


class _SampleValue:
    """What single samples of a cell count of an outcome, read as a choice of the analysis says."""

    def __init__(
        self,
        plan: Plan,
        cell: Cell,
        outcome: str,
        rate: RateDefinition | None,
        responses: ResponseReading,
        scale: int,
    ) -> None:
        self._cell, self._outcome, self._rate, self._scale = cell, outcome, rate, scale
        self._labels = plan.study.spec.verdicts(cell.setting.judge)
        self._method = METHODS[cell.setting.method]
        self._names = self._method.names(self._labels, cell.setting.scores)
        self._items = {item.id: item for item in plan.items(cell)}
        self._filters = [
            each for each in responses.filters if cell.benchmark in (each.benchmarks or (cell.benchmark,))
        ]
        self._judge = responses.judge if self._method.judged else None
        stated = () if cell.setting.ranks else responses.refusal_phrases
        self._phrases = phrases_of(stated) if stated else None

    def of(self, rows: Iterable[ResponseRow]) -> Read | None:
        """The totals by item, or None where the cell's readings have no such outcome."""
        totals: dict[str, ItemTotals] = {}
        try:
            for row in rows:
                parts = self._parts(row)
                if parts is not None:
                    totals.setdefault(row.item, np.zeros(4, dtype=np.int64))
                    totals[row.item] += np.array(parts, dtype=np.int64)
        except Unscored:
            return None
        return (names := tuple(sorted(totals))), np.array([totals[name] for name in names]).reshape(-1, 4)

    def _parts(self, row: ResponseRow) -> tuple[int, int, int, int] | None:
        """What one sample earned and whether it counts, of all and of the readable; None where it is left
        out."""
        if self._judge is not None and not row.asked:
            return None
        choice = self._choice(row)
        others = next((each.others for each in self._filters if not self._keeps(each, row, choice)), None)
        if others == "leave_out":
            return None
        if others is not None:
            counted = self._counts(row.item)
            coded = self._scale * counted if others == "one" else 0
            return coded, counted, coded, counted
        earned, counted = self._earned(row, choice)
        readable = int(choice is not None)
        return earned, counted, earned * readable, counted * readable

    def _counts(self, item: str) -> int:
        """1 where the outcome is about an item, however a response to it is read."""
        if self._rate is None:
            return 1
        names = self._names_on(item)
        return int(any(self._rate.parts(self._items[item], choice, names)[1] for choice in (None, 0)))

    def _by_phrases(self, item: str) -> bool:
        """Whether phrases say if a response to an item refuses: of prompts to comply with or to refuse."""
        return self._phrases is not None and self._items[item].expected is not None

    def _names_on(self, item: str) -> Sequence[str] | None:
        """The names of what a response to an item can be read to."""
        return BEHAVIOURS if self._by_phrases(item) else self._names

    def _choice(self, row: ResponseRow) -> int | None:
        if self._phrases is not None and self._by_phrases(row.item):
            text = before_stop(row.text or "", self._cell.setting.held("stop"))
            return None if row.finish == "failed" else refusal_keywords(text, self._phrases).option
        if self._judge is None:
            return row.choice
        return None if row.label is None else self._labels.index(row.label)

    def _earned(self, row: ResponseRow, choice: int | None) -> tuple[int, int]:
        setting = self._cell.setting
        if self._rate is not None:
            if self._rate.number is not None:
                choice = row.numbers.get(self._rate.number)
            earned, counted = self._rate.parts(self._items[row.item], choice, self._names_on(row.item))
            return earned, int(counted > 0)
        if self._outcome == "parse_rate":
            return int(choice is not None), 1
        if self._by_phrases(row.item):
            return setting.credit if choice is None else self._behaved(self._items[row.item], choice), 1
        if self._judge is None:
            return row.score, 1
        if choice is None or setting.scores is None:
            return setting.credit, 1
        return points_earned(setting.scores, self._items[row.item], choice, self._names), 1

    def _behaved(self, item: Item, choice: int) -> int:
        """What a behaviour earns: by the benchmark's scores where these are of behaviours, else the point for
        what the prompt expects."""
        if self._method.reads_behaviour:
            return earned(self._cell.setting, item, choice)
        return self._scale * int(BEHAVIOURS[choice] == item.expected)

    def _keeps(self, stated: ResponseFilter, row: ResponseRow, choice: int | None) -> bool:
        """Whether a response has the properties. What is ranked generates none, and is kept."""
        if self._cell.setting.ranks:
            return True
        if stated.characters is not None and not stated.characters.holds(len(row.text or "")):
            return False
        if stated.tokens is not None and (row.tokens is None or not stated.tokens.holds(row.tokens)):
            return False
        if stated.finish is not None and row.finish not in stated.finish:
            return False
        names = self._names_on(row.item)
        if stated.labels is None or choice is None or names is None:
            return True
        return names[choice] in stated.labels
