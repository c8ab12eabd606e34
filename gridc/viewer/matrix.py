"""Questions by variants: a row is an item, a column a cell, and rows are in the order of their scores."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any, NamedTuple

from gridc.reports.page_links import Value
from gridc.statistics.envelope import Direction
from gridc.viewer.lists import AXIS, Filters, read_filters
from gridc.viewer.store import StoredCell, StoredStudy, absent
from gridc.viewer.view import NO_PART, PageExtent, View

ORDERS = {"": "most different first", "hard": "hardest first", "item": "by id"}

COLUMNS, SAMPLES = 24, 200_000
"""A part has at most so many columns, with at most so many samples in them, or one alone."""

ROWS = 50

_FILTERS = ("model", "tier", "family", "category", "tag", "item", "sort")


class QuestionScore(NamedTuple):
    """An item. `good` says how good its scores are on average (`Direction.good`), `spread` how far they are
    apart, between models or between configurations of the only one. Both are None where a sample is not
    scored."""

    item: str
    good: Fraction | None
    spread: Fraction | None


@dataclass(frozen=True, slots=True)
class QuestionMatrix:
    """The rows of a benchmark that pass the filters. `columns` are part `window` of `windows`, and `variants`
    says which of all that pass."""

    benchmark: str
    filters: Filters
    columns: tuple[StoredCell, ...]
    window: int
    windows: int
    variants: PageExtent
    rows: tuple[QuestionScore, ...]

    @property
    def within(self) -> dict[str, Value]:
        """How an address says which rows these are and in which order, beside their benchmark."""
        own = {key: value for key, value in self.filters.query().items() if key not in ("benchmark", "item")}
        return {**own, "variants": self.window or None}

    def neighbours(self, item: str) -> tuple[str | None, str | None]:
        """The items before and behind one; None at an end, or where it is not among the rows."""
        items = [row.item for row in self.rows]
        if item not in items:
            return None, None
        place = items.index(item)
        return (items[place - 1] if place else None), (items[place + 1] if place + 1 < len(items) else None)


def read_matrix(view: View, query: Mapping[str, str], most: int = COLUMNS) -> QuestionMatrix:
    """The matrix that an address means. Raises `StoreError` (GC615) for what the study does not have."""
    study = view.study
    benchmark = query.get("benchmark") or next(iter(study.benchmarks), "")
    if benchmark not in study.benchmarks:
        raise absent(f"the study has no benchmark `{benchmark}`")
    known = {name: query[name] for name in _FILTERS if name in query}
    axes = {name: value for name, value in query.items() if name.startswith(AXIS)}
    filters = read_filters({**known, **axes, "benchmark": benchmark}, study, ORDERS)
    windows = _windows(filters.cells(study), most)
    number = view.integer("variants", NO_PART)
    if number >= len(windows):
        raise absent(NO_PART.format(number))
    columns = windows[number]
    before = sum(map(len, windows[:number]))
    variants = PageExtent(before + bool(columns), before + len(columns), sum(map(len, windows)))
    chosen = filters.items(view.items, benchmark)
    outcomes = _outcomes(view, benchmark, columns)
    if chosen is not None:
        outcomes = {item: own for item, own in outcomes.items() if item in chosen}
    rows = _rows(outcomes, view.study.directions.get(benchmark, Direction()), filters.sort)
    return QuestionMatrix(benchmark, filters, columns, number, len(windows), variants, rows)


def _windows(cells: Sequence[StoredCell], most: int) -> list[tuple[StoredCell, ...]]:
    """The columns in parts, of which each is shown by itself; at least one part."""
    parts: list[list[StoredCell]] = [[]]
    size = 0
    for cell in cells:
        size += cell.counts.trials
        if parts[-1] and (len(parts[-1]) == most or size > SAMPLES):
            parts.append([])
            size = cell.counts.trials
        parts[-1].append(cell)
    return [tuple(part) for part in parts]


ItemOutcomes = tuple[tuple[int, int, int], ...]
"""(group of columns, points, points of all right) of an item in each column that asks it; empty where a
sample is not scored. Few are distinct: fractions are made and compared once for each, not for each item."""


def default_query(study: StoredStudy, benchmark: str) -> dict[str, str]:
    """The models of a benchmark under its first configuration."""
    first = next(cell for cell in study.cells if cell.benchmark == benchmark)
    varied = {axis for axis, levels in study.axes.items() if len(levels) > 1}
    levels = {f"{AXIS}{axis}": level for axis, level in first.levels.items() if axis in varied}
    return {"benchmark": benchmark, **levels}


_REPEATED = "SELECT item, count(*), count(score), sum(score) FROM sample WHERE cell = ? GROUP BY item"
_ONCE = "SELECT item, 1, score IS NOT NULL, score FROM sample WHERE cell = ?"
"""The same where no item has a second replicate, in half the time."""


def _outcomes(view: View, benchmark: str, columns: Sequence[StoredCell]) -> dict[str, ItemOutcomes]:
    """Of every item that the columns ask. Columns of a model are a group; those of the only one are each by
    itself."""
    models = len({cell.model for cell in columns}) > 1
    groups: dict[str, int] = {}
    found: dict[str, ItemOutcomes] = {}
    waiting: set[str] = set()
    for cell in columns:
        group = groups.setdefault(cell.model if models else cell.configuration, len(groups))
        made, scale = cell.made or {}, cell.scale
        longer: dict[
            tuple[object, ...], ItemOutcomes
        ] = {}  # what was found before, and here: one tuple for all
        repeated = view.moment.row(
            "SELECT 1 FROM sample WHERE cell = ? AND replicate <> 0 LIMIT 1", [cell.id]
        )
        for item, asked, scored, points in view.moment.rows(_REPEATED if repeated else _ONCE, [cell.id]):
            if scored < asked:
                waiting.add(item)
            before, score = found.get(item, ()), made.get(item)
            key = (before, asked, points, score)
            own = longer.get(key)
            if own is None:
                part = (points or 0, asked * scale) if score is None else score.as_integer_ratio()
                own = longer[key] = (*before, (group, *part))
            found[item] = own
    return found | dict.fromkeys(waiting, ())


def _rows(outcomes: Mapping[str, ItemOutcomes], direction: Direction, sort: str) -> tuple[QuestionScore, ...]:
    """A row for each item, in an order of `ORDERS`; equal ones in the order of ids."""
    alike: defaultdict[ItemOutcomes, list[str]] = defaultdict(list)
    for item, own in outcomes.items():
        alike[own].append(item)
    places: defaultdict[tuple[Any, ...], list[QuestionScore]] = defaultdict(list)
    for own, items in alike.items():
        good, spread = _score(own, direction)
        place: tuple[Any, ...] = ()
        if sort != "item":
            place = _hardest(good) if sort == "hard" else _most_different(good, spread)
        places[place] += [QuestionScore(item, good, spread) for item in items]
    return tuple(row for place in sorted(places) for row in sorted(places[place], key=itemgetter(0)))


def _hardest(good: Fraction | None) -> tuple[bool, Fraction]:
    return good is None, good or Fraction()


def _most_different(good: Fraction | None, spread: Fraction | None) -> tuple[bool, Fraction, Fraction]:
    return spread is None, -(spread or Fraction()), good or Fraction()


def _score(outcomes: ItemOutcomes, direction: Direction) -> tuple[Fraction | None, Fraction | None]:
    """`good` and `spread` of an item (`QuestionScore`). The score of a cell is the mean over replicates, or
    what is made of them, that of a model the mean over cells."""
    if not outcomes:
        return None, None
    by_group: defaultdict[int, list[Fraction]] = defaultdict(list)
    for group, points, whole in outcomes:
        by_group[group].append(Fraction(points, whole))
    means = [sum(scores, Fraction()) / len(scores) for scores in by_group.values()]
    return sum(map(direction.good, means), Fraction()) / len(means), max(means) - min(means)
