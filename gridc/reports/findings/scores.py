"""Computes outcomes by item, the exact scores of cells, and intervals over the units of a benchmark."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, compress, groupby, product
from math import lcm, sqrt
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.draw import BOOTSTRAP_LEVELS
from gridc.compiler.inputs.items import Items
from gridc.compiler.instrument.points import Vote
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.outcomes import CellOutcomes
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical_row, digest_bytes
from gridc.schema.certificate import GapRow, PairGapsRow
from gridc.schema.comparison import UNREADABLE
from gridc.schema.items import UnitLevel
from gridc.schema.spec import Spec
from gridc.statistics.arrays import Flags, Floats, Whole
from gridc.statistics.clustered_logit import effective_number, enough_cases
from gridc.statistics.envelope import LEVEL, RESAMPLES
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_intervals import Ends, UnitEstimate, change, share_limits


def item_outcomes(cells: Iterable[Cell], store: Store, stamp: str) -> dict[str, CellOutcomes]:
    """The outcomes of a study by item, by cell key, as `Store.outcomes` has them of the replicates. Where a
    cell aggregates otherwise than by the mean, an item has one outcome: it is there once all its replicates
    have theirs, readable where one of them is, and scored in units of 1 / `Setting.item_scale`. Under
    `all_of` an item has the least of its group, which is unreadable where one of it is. Raises `StoreError`
    (GC605) for scores that no answer can earn."""
    stored = store.outcomes(stamp)
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        if cell.setting.reads_text and cell.key in stored:
            stored[cell.key] = _with_unread(cell, stored[cell.key], store, stamp)
        if cell.setting.aggregate != "mean" and cell.key in stored:
            stored[cell.key] = _aggregated(cell, stored[cell.key], store, stamp)
        level = cell.setting.all_of
        if level is not None and cell.key in stored:
            key = cell.benchmark, level
            if key not in groups:
                groups[key] = store.groups_at(stamp, *key)
            stored[cell.key] = _grouped_outcomes(cell, stored[cell.key], groups[key])
    return stored


def out_of_bounds(cell: Cell) -> StoreError:
    """What is wrong with a cell whose answers earn less than nothing or more than everything."""
    message = f"a score of {cell.key} in the store is not between 0 and 1"
    return StoreError([Diagnostic("GC605", message, help="`gridc verify` says what else is wrong with it")])


def _with_unread(cell: Cell, outcomes: CellOutcomes, store: Store, stamp: str) -> CellOutcomes:
    if (outcomes.parsed == outcomes.scored).all():
        return outcomes
    unread = store.unread(stamp, cell.key)
    return replace(outcomes, unread=np.array([unread.get(item, 0) for item in outcomes.items], np.int64))


def _aggregated(cell: Cell, replicates: CellOutcomes, store: Store, stamp: str) -> CellOutcomes:
    setting, scored = cell.setting, replicates.scored == replicates.trials
    possible = replicates.scored * setting.scale
    if (replicates.correct < 0).any() or (replicates.correct > possible).any():
        raise out_of_bounds(cell)
    by_item = groupby(store.votes_of(stamp, cell.key), itemgetter(0))
    votes = {item: [Vote(answer, score) for _, answer, score, _ in rows] for item, rows in by_item}
    scores = {item: setting.item_score(of_item) for item, of_item in votes.items()}
    earned = np.array([scores.get(item, 0) for item in replicates.items], dtype=np.int64) * scored
    read = scored & (replicates.parsed > 0)
    unread = None if replicates.unread is None else scored & ~read & (replicates.unread > 0)
    return replace(
        replicates,
        trials=np.ones_like(replicates.trials),
        scored=scored.astype(np.int64),
        parsed=read.astype(np.int64),
        correct=earned,
        first=np.where(scored, earned, -1),
        unread=None if unread is None else unread.astype(np.int64),
    )


def _grouped_outcomes(cell: Cell, alone: CellOutcomes, groups: Mapping[str, str]) -> CellOutcomes:
    """What items have that earn together: as many outcomes as before, one of each."""
    setting = cell.setting
    if (alone.correct < 0).any() or (alone.correct > alone.scored * setting.item_scale).any():
        raise out_of_bounds(cell)
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(groups[item], len(numbers)) for item in alone.items], np.int64)

    def least(of: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.full(len(numbers), np.iinfo(np.int64).max)
        np.minimum.at(found, group, of)
        return found[group]

    scored, parsed = least(alone.scored), least(alone.parsed)
    earned = np.where(parsed > 0, least(alone.correct), setting.item_credit) * scored
    # An item that is read stands for nothing where another one of its group is not.
    unread = None if alone.unread is None else np.where(-least(-alone.unread) > 0, scored - parsed, 0)
    return replace(
        alone,
        scored=scored,
        parsed=parsed,
        correct=earned,
        first=np.where(scored > 0, earned, -1),
        unread=unread,
    )


@dataclass(frozen=True, slots=True)
class CellScore:
    """One cell's outcome. Counts are over the outcomes of its items (`Setting.outcomes_of_item`: items x
    replicates, unless these are aggregated); `correct` is the sum of their scores, in units of 1 / `scale`,
    and an unreadable one earned `credit` of it. `unread` of them were read from text and could not be read to
    their end: no call failed, and no provider refused.

    `standard_error` is of the mean over items, robust to the dependence of items of one unit; None while the
    cell is incomplete, has a single unit, or has the same outcome on every item (a spread of zero in the
    sample is no evidence of none). `rows` is the digest of the item outcomes.
    """

    cell: Cell
    trials: int
    scored: int
    parsed: int
    correct: int
    standard_error: float | None
    rows: str
    unread: int = 0

    @property
    def complete(self) -> bool:
        return self.scored == self.trials

    @property
    def score(self) -> Fraction | None:
        """Mean score of all answers, the unreadable ones with what the spec gives them (intention to treat).
        None while a single sample is missing."""
        return Fraction(self.correct, self.trials * self.scale) if self.complete else None

    @property
    def ends(self) -> tuple[Fraction, Fraction] | None:
        """The score where what is unread earned nothing, and where it earned all; None while a single sample
        is missing."""
        if not self.complete:
            return None
        least = self.correct - self.credit * self.unread
        most = least + self.scale * self.unread
        return Fraction(least, self.trials * self.scale), Fraction(most, self.trials * self.scale)

    @property
    def scale(self) -> int:
        return self.cell.setting.item_scale

    @property
    def credit(self) -> int:
        return self.cell.setting.item_credit

    @property
    def points(self) -> Fraction:
        """The sum of the scores."""
        return Fraction(self.correct, self.scale)

    @property
    def readable_points(self) -> Fraction:
        """The sum of the scores of readable answers."""
        return Fraction(self.correct - self.credit * (self.scored - self.parsed), self.scale)

    @property
    def parse_rate(self) -> Fraction | None:
        """Share of readable answers; None where gridc reads no text."""
        if not self.cell.setting.reads_text or not self.complete:
            return None
        return Fraction(self.parsed, self.trials)

    @property
    def nothing_read(self) -> bool:
        """Whether every answer is unreadable. Then the score says nothing of the model: no test takes it."""
        return self.parse_rate == 0

    @property
    def per_protocol(self) -> Fraction | None:
        """Mean score of the readable answers, of which there are `parsed`. None where nothing is read from
        text, while a sample is missing, and when no answer is readable."""
        return self.readable_points / self.parsed if self.parse_rate else None

    @property
    def of_readable(self) -> Fraction | None:
        """The per-protocol score; where nothing is read from text there is nothing to leave out."""
        return self.per_protocol if self.cell.setting.reads_text else self.score


def cell_scores(plan: Plan, stored: Mapping[str, CellOutcomes]) -> list[CellScore]:
    """Every cell of the plan, with what the store has of it (by cell key). Raises `StoreError` (GC605) when
    the store holds another plan under this stamp."""
    units = {name: items.units for name, items in plan.study.items.items()}
    try:
        return [score_cell(cell, stored[cell.key], units[cell.benchmark]) for cell in plan.cells()]
    except KeyError as error:
        message = f"the store holds another plan under this stamp: {error} is in one of the two alone"
        raise StoreError([Diagnostic("GC605", message)]) from None


def cells_by_benchmark(spec: Spec, scores: Sequence[CellScore]) -> dict[str, list[CellScore]]:
    """The cells of each benchmark of the spec, in its order."""
    return {
        benchmark.id: [score for score in scores if score.cell.benchmark == benchmark.id]
        for benchmark in spec.benchmark
    }


def unit_number_of_items(items: tuple[str, ...], units: Mapping[str, str]) -> NDArray[np.int64]:
    """The number of each item's unit, counted from 0 in the order in which units appear."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(units[item], len(numbers)) for item in items], dtype=np.int64)


def standard_error(correct: NDArray[np.int64], most: int, units: NDArray[np.int64]) -> float | None:
    """Standard error of the mean of correct / most (by item), `most` being all that an item can earn
    (outcomes of an item x scale), items of one unit not being
    independent: sqrt(G / (G - 1) * sum_g (sum_{i in g} (x_i - mean))^2) / n.

    All sums are of whole numbers, so the result does not depend on their order. None with fewer than
    two units, and when no unit differs from another: a spread of zero in the sample is no evidence of
    none.
    """
    items = len(correct)
    sizes = np.bincount(units)
    sums = np.zeros(len(sizes), dtype=np.int64)
    np.add.at(sums, units, correct)
    deviations = items * sums - sizes * int(correct.sum())  # of a unit's sum, times items
    # Squares of points in millionths leave 64 bits with a few hundred items.
    spread = sum(each * each for each in deviations.tolist())
    groups = len(sizes)
    if groups < 2 or spread == 0:
        return None
    return sqrt(Fraction(groups * spread, (groups - 1) * items**4 * most**2))


def score_cell(cell: Cell, outcomes: CellOutcomes, units: Mapping[str, str]) -> CellScore:
    """The score of one cell, of what the store has of it; `units` gives the unit of each item. Raises
    `StoreError` (GC605) for scores that no answer can earn."""
    setting = cell.setting
    if (outcomes.correct < 0).any() or (outcomes.correct > outcomes.scored * setting.item_scale).any():
        raise out_of_bounds(cell)
    counts = (outcomes.trials, outcomes.scored, outcomes.parsed, outcomes.correct)
    trials, scored, parsed, correct = (int(column.sum()) for column in counts)
    columns = (column.tolist() for column in (*counts, outcomes.first))
    rows = canonical_row([cell.key, list(zip(outcomes.items, *columns, strict=True))])
    error = None
    if scored == trials:
        most = setting.outcomes_of_item * setting.item_scale
        error = standard_error(outcomes.correct, most, unit_number_of_items(outcomes.items, units))
    unread = 0 if outcomes.unread is None or not setting.reads_text else int(outcomes.unread.sum())
    return CellScore(cell, trials, scored, parsed, correct, error, digest_bytes(rows), unread)


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Every model's outcomes on the items of one benchmark under its envelope.

    `correct` has shape (models, configurations, items): the sum of an item's scores over its
    replicates, in units of 1 / `scale`. `first` is the score of replicate 0, which was designated before any
    data existed, in the same units. `scale` is 1 where an answer earns a point or none.
    `measured` (models, configurations) says where all are there; elsewhere the numbers mean nothing.
    `asked` (configurations, items) is false where a configuration asks a subset without the item; there
    the outcomes of all models are 0, so that no difference comes of it. `levels` are those of each
    configuration, by axis; `sampled` (configurations,) is false where decoding is greedy.
    `units` (items,) numbers the unit of each item: the groups that are independent of each other, as the spec
    or the benchmark's data say. `replicates` (configurations,) how many outcomes
    an item has: how often it is asked, or the one that is made of these, which is then the first too.
    `designated` (configurations, items) says of which item of a unit replicate 0 was designated: of the first
    copy that is asked, where a unit is a question; None where every item stands for itself. `copied` says
    that the spec takes copies of one question as independent: then nothing is claimed of new items. Of
    `nothing_read`, (model, configuration), every answer is unreadable. `credited` (models, configurations,
    items) are the outcomes that earned `credit`, (models, configurations), and speak against whatever is
    claimed: what has no score in the logs, and what is unread where that is more than `UNREADABLE` of a
    model's answers in a configuration; None where there is none.
    `by_people` has of each pair of models, in their order, the p-values of its corrected gaps in both
    directions, (configurations,) each, where people labelled responses of the benchmark: a claim needs these
    too.
    """

    models: tuple[str, ...]
    configurations: tuple[str, ...]
    levels: tuple[Mapping[str, str], ...]
    sampled: NDArray[np.bool_]
    items: tuple[str, ...]
    units: Whole
    replicates: Whole
    correct: Whole
    first: Whole
    measured: NDArray[np.bool_]
    asked: NDArray[np.bool_]
    scale: int = 1
    designated: NDArray[np.bool_] | None = None
    copied: bool = False
    nothing_read: frozenset[tuple[str, str]] = frozenset()
    credited: Whole | None = None
    credit: Whole | None = None
    by_people: Mapping[tuple[str, str], tuple[Floats, Floats]] | None = None

    @property
    def unit_count(self) -> int:
        return int(self.units.max(initial=-1)) + 1

    @property
    def items_per_unit(self) -> float:
        """How many items a unit holds on average; 1 where there is none."""
        return len(self.items) / max(self.unit_count, 1) if len(self.items) else 1.0

    @property
    def items_of_units(self) -> NDArray[np.int64]:
        """How many items each unit holds, (units,)."""
        return np.bincount(self.units)

    @property
    def effective_units(self) -> float:
        """How many units of one size would give a score that is known as well."""
        return effective_number(self.items_of_units)

    @property
    def unit_is_item(self) -> bool:
        """Whether every unit holds a single item."""
        return self.unit_count == len(self.items)

    @property
    def discordant_or_not(self) -> bool:
        """Whether two models differ on a unit by a whole point or not at all, which is what McNemar's exact
        test is about: each unit is an item or a question, and no answer earns a part of a point."""
        return (self.unit_is_item or self.designated is not None) and self.scale == 1

    def differences(self, a: str, b: str, designated: bool) -> Whole:
        """Score of a minus score of b by configuration and unit, shape (configurations, units): of
        replicate 0 when `designated`, else summed over replicates."""
        return self._by_unit(self.points(a, designated), self.points(b, designated), designated)

    def claimed(self, a: str, b: str, designated: bool) -> Whole:
        """The same as it speaks for a at least: of what is `credited` a earned nothing and b all."""
        if self.credited is None:
            return self.differences(a, b, designated)
        least, most = (self.points(model, designated, earned) for model, earned in ((a, 0), (b, self.scale)))
        return self._by_unit(least, most, designated)

    def whole(self, a: str, b: str) -> Flags:
        """Where no outcome of either model is `credited`, (configurations,)."""
        if self.credited is None:
            return np.ones(len(self.configurations), np.bool_)
        pair = [self.models.index(a), self.models.index(b)]
        whole: Flags = (self.credited[pair] == 0).all(axis=(0, 2))
        return whole

    def points(self, model: str, designated: bool, earned: int | None = None) -> Whole:
        """What a model earned, (configurations, items), of what is `credited` so much. Which repetition
        that is is not known: the first may be it where it earned the credit."""
        at = self.models.index(model)
        rows: Whole = (self.first if designated else self.correct)[at]
        if earned is None or self.credited is None or self.credit is None:
            return rows
        lost, credit = self.credited[at], self.credit[at][:, None]
        if designated:
            return np.where((lost > 0) & (rows == credit), earned, rows)
        points: Whole = rows + (earned - credit) * lost
        return points

    def _by_unit(self, a: Whole, b: Whole, designated: bool) -> Whole:
        by_item = a - b
        if designated and self.designated is not None:
            by_item = by_item * self.designated
        return sum_units(by_item, self.units)

    @property
    def readable(self) -> Flags:
        """Where a model is measured, asked something and gave a readable answer, (models, configurations)."""
        heard = [
            [(model, name) not in self.nothing_read for name in self.configurations] for model in self.models
        ]
        readable: Flags = self.measured & np.array(heard, np.bool_) & self.asked.any(axis=1)
        return readable

    def both(self, a: str, b: str) -> Flags:
        """Where both models are measured and gave a readable answer, shape (configurations,)."""
        readable = self.readable
        both: Flags = readable[self.models.index(a)] & readable[self.models.index(b)]
        return both


def sum_units(by_item: Whole, units: Whole) -> Whole:
    """Sums over the items of each unit, (..., items) -> (..., units)."""
    if len(units) == 0 or np.array_equal(units, np.arange(len(units))):
        return by_item
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(units.max() + 1))
    summed: Whole = np.add.reduceat(by_item[..., order], starts, axis=-1)
    return summed


def gather_outcomes(
    cells: Sequence[Cell],
    stored: Mapping[str, CellOutcomes],
    held: Items,
) -> Outcomes:
    """The outcomes of the shared cells of one benchmark, whose items are these: of its roster. Where each
    question was asked as often as every other, in the same calls, one outcome of each is all that they
    show."""
    shared = [cell for cell in cells if cell.shared]
    models = tuple(dict.fromkeys(cell.model for cell in shared))
    configurations = tuple(dict.fromkeys(cell.configuration for cell in shared))
    places = {cell.configuration: cell for cell in shared}
    items = tuple(sorted({item for cell in shared for item in stored[cell.key].items}))
    shape = (len(models), len(configurations), len(items))
    correct, first = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    measured, planned = np.zeros(shape[:2], dtype=np.bool_), np.zeros(shape[1:], dtype=np.bool_)
    numbers = {name: number for number, name in enumerate(configurations)}
    columns: dict[tuple[str, ...], Whole] = {}
    found = {cell.key: _against(cell, stored[cell.key]) for cell in shared}
    against = {key: counted for key, counted in found.items() if counted is not None}
    credited, credit = np.zeros(shape, dtype=np.int64), np.zeros(shape[:2], dtype=np.int64)
    scale = lcm(*(cell.setting.item_scale for cell in shared))
    for cell in shared:
        outcomes, row = stored[cell.key], numbers[cell.configuration]
        if outcomes.items not in columns:
            columns[outcomes.items] = np.searchsorted(items, outcomes.items)
        model, at = models.index(cell.model), columns[outcomes.items]
        parts = scale // cell.setting.item_scale
        correct[model, row, at], first[model, row, at] = outcomes.correct * parts, outcomes.first * parts
        credit[model, row] = cell.setting.item_credit * parts
        credited[model, row, at] = against.get(cell.key, 0)
        measured[model, row] = bool((outcomes.scored == outcomes.trials).all())
        planned[row, at] = True
    first_copy = held.unit == "question"
    columns_of_items = correct, first, planned, credited
    if held.repeats > 1 and (alone := _one_of_each(held, items, *columns_of_items)) is not None:
        items, first_copy = tuple(compress(items, alone.tolist())), False
        correct, first, planned, credited = (column[..., alone] for column in columns_of_items)
    units = unit_number_of_items(items, held.units)
    return Outcomes(
        models=models,
        configurations=configurations,
        levels=tuple(places[configuration].levels for configuration in configurations),
        sampled=np.array(
            [_may_be_sampled(places[configuration].setting) for configuration in configurations],
            dtype=np.bool_,
        ),
        items=items,
        units=units,
        replicates=np.array(
            [places[configuration].setting.outcomes_of_item for configuration in configurations],
            dtype=np.int64,
        ),
        correct=correct,
        first=first,
        measured=measured,
        asked=planned,
        scale=scale,
        designated=_first_asked(held, items, units, planned) if first_copy else None,
        copied="question" in held.coarser,
        nothing_read=frozenset(
            (cell.model, cell.configuration)
            for cell in shared
            if not cell.setting.ranks and _nothing_read(stored[cell.key])
        ),
        credited=credited if against else None,
        credit=credit,
    )


def counts_against(unread: int, answers: int) -> bool:
    """Whether so many answers of a cell are unread that each speaks against whatever is claimed."""
    return unread > Fraction(str(UNREADABLE)) * answers


def _against(cell: Cell, outcomes: CellOutcomes) -> Whole | None:
    """By item the outcomes that speak against whatever is claimed; None where there is none."""
    if outcomes.credited is not None or outcomes.unread is None or not cell.setting.reads_text:
        return outcomes.credited
    against = counts_against(int(outcomes.unread.sum()), int(outcomes.trials.sum()))
    return outcomes.unread if against else None


def _may_be_sampled(setting: Setting) -> bool:
    """Whether asking again may give another answer. Of what another package asked, decoding is not known."""
    return setting.recorded or setting.temperature > 0


def _nothing_read(outcomes: CellOutcomes) -> bool:
    """Whether all answers are there, and none can be read."""
    complete = bool((outcomes.scored == outcomes.trials).all()) and bool(outcomes.trials.any())
    return complete and not outcomes.parsed.any()


def _one_of_each(held: Items, items: Sequence[str], *columns: NDArray[Any]) -> Flags | None:
    """Which items stand for their questions, (items,), where every copy has what the first one has in all
    columns, (..., items) each; None where one has not, or not all are here."""
    if len(items) != len(held.sampled):
        return None
    places = {name: place for place, name in enumerate(items)}
    of = {item.id: places[item.question] for item in held.sampled}
    first = np.array([of[name] for name in items], np.int64)
    if any((column[..., first] != column).any() for column in columns):
        return None
    alone: Flags = first == np.arange(len(items))
    return alone


def _first_asked(held: Items, items: Sequence[str], units: Whole, asked: Flags) -> Flags:
    """The first copy of each question, in the order of the file, that a configuration asks, (configurations,
    items)."""
    rank = {item.id: place for place, item in enumerate(held.sampled)}
    ranks = np.array([rank[name] for name in items], np.int64)
    designated = np.zeros_like(asked)
    for row, own in enumerate(asked):
        order = np.flatnonzero(own)[np.argsort(ranks[own], kind="stable")]
        _, begins = np.unique(units[order], return_index=True)
        designated[row, order[begins]] = True
    return designated


@dataclass(frozen=True, slots=True)
class UnitIntervals:
    """The intervals of one benchmark at `level` over `units` of the level `unit`, worth `effective` equal
    ones, of scores by (model, configuration), and of gaps. `on_units` has those of scores for these very
    units, of new items of them, where a configuration asks few units that are not items."""

    unit: UnitLevel
    units: int
    effective: float
    level: float
    scores: Mapping[tuple[str, str], Ends | None]
    on_units: Mapping[tuple[str, str], Ends]
    gaps: tuple[PairGapsRow, ...]


class Resampling(NamedTuple):
    """What is drawn as one, how often, and from which seed."""

    unit: UnitLevel
    resamples: int
    seed: int


def resampling_of(spec: Spec, items: Items) -> Resampling:
    """What `[analysis] bootstrap` says of unit, resamples and seed; without a unit of items it is the
    benchmark's."""
    stated = spec.analysis.bootstrap
    if stated is None:
        return Resampling(items.unit, RESAMPLES, spec.sampling.seed)
    return Resampling(BOOTSTRAP_LEVELS.get(stated.unit, items.unit), stated.resamples, stated.seed)


def unit_intervals(spec: Spec, items: Items, outcomes: Outcomes) -> UnitIntervals:
    """The intervals of one benchmark. Those of a configuration are of the units that it asks, so that they
    are the same whatever else is asked."""
    unit = resampling_of(spec, items).unit
    by_unit = _UnitLimits.of(outcomes, items, unit)
    # A question that is asked in several wordings is one item here.
    by_item = None if unit in ("item", "question") else _UnitLimits.of(outcomes, items, "question")
    scores: dict[tuple[str, str], Ends | None] = {}
    on_units: dict[tuple[str, str], Ends] = {}
    for (number, model), (place, name) in product(
        enumerate(outcomes.models), enumerate(outcomes.configurations)
    ):
        measured = bool(outcomes.measured[number, place]) and bool(outcomes.asked[place].any())
        scores[model, name] = by_unit.score(number, place) if measured else None
        if measured and by_item is not None and by_unit.few(place):
            on_units[model, name] = by_item.score(number, place)
    rows = []
    for one, other in combinations(outcomes.models, 2):
        at = np.flatnonzero(outcomes.both(one, other) & outcomes.asked.any(axis=1)).tolist()
        if not at:
            continue
        pair = outcomes.models.index(one), outcomes.models.index(other)
        by_configuration = {
            outcomes.configurations[place]: _gap(pair, [place], by_unit, by_item) for place in at
        }
        # Over one configuration the mean is the gap there.
        only = by_configuration[outcomes.configurations[at[0]]]
        mean = only if len(at) == 1 else _gap(pair, at, by_unit, by_item)
        rows.append(PairGapsRow(a=one, b=other, mean=mean, by_configuration=by_configuration))
    return UnitIntervals(unit, by_unit.count, digits(by_unit.effective), LEVEL, scores, on_units, tuple(rows))


def _gap(
    pair: tuple[int, int], at: Sequence[int], by_unit: "_UnitLimits", by_item: "_UnitLimits | None"
) -> GapRow:
    found = by_unit.gap(pair, at)
    on_units = by_item.gap(pair, at).interval if by_item is not None and found.few else None
    return GapRow(value=digits(found.value or 0.0), interval=found.interval, on_units=on_units)


@dataclass(frozen=True, slots=True, eq=False)
class _UnitLimits:
    """What the units of one level earned: `groups` (items,) numbers the unit of each item."""

    outcomes: Outcomes
    groups: Whole
    count: int

    @classmethod
    def of(cls, outcomes: Outcomes, items: Items, level: UnitLevel) -> "_UnitLimits":
        groups = unit_number_of_items(outcomes.items, {item.id: item.at(level) for item in items.sampled})
        return cls(outcomes, groups, int(groups.max(initial=-1)) + 1)

    @property
    def effective(self) -> float:
        """How many units of one size would tell as much, of all items."""
        return effective_number(np.bincount(self.groups)) if self.count else 0.0

    def few(self, place: int) -> bool:
        """Whether a configuration asks few units."""
        return not enough_cases(effective_number(self._summed(self.outcomes.asked[place])))

    def score(self, model: int, place: int) -> Ends:
        """Of a model under the configuration at this place."""
        most = int(self.outcomes.replicates[place]) * self.outcomes.scale
        points = self._summed(self.outcomes.correct[model, place]) / most
        return share_limits(self._summed(self.outcomes.asked[place]), points)

    def gap(self, pair: tuple[int, int], at: Sequence[int]) -> UnitEstimate:
        """Of two models, the mean over these configurations; each counts as much as another, however many
        items it asks."""
        outcomes = self.outcomes
        asked = outcomes.asked[at].astype(np.float64)
        weights = asked.sum() / len(at) / asked.sum(axis=1, keepdims=True)
        most = (outcomes.replicates[at] * outcomes.scale)[:, None]
        moved = outcomes.correct[pair[0]][at] - outcomes.correct[pair[1]][at]
        by_item = (moved / most * weights).mean(axis=0)
        columns = (asked * weights).mean(axis=0), np.maximum(by_item, 0.0), np.maximum(-by_item, 0.0)
        return change(np.column_stack([self._summed(column) for column in columns]).round(12))

    def _summed(self, by_item: NDArray[Any]) -> Floats:
        """Sums over the items of each unit, (units,)."""
        return np.bincount(self.groups, by_item, self.count).astype(np.float64)
