"""Questions by variants: a row is an item, a column a cell, and rows are in the order of their scores."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from gridc.reports.page_links import Value
from gridc.statistics.envelope import Direction
from gridc.viewer.lists import AXIS, Filters, read_filters
from gridc.viewer.store import StoredCell, StoredStudy, absent
from gridc.viewer.view import View

ORDERS = {"": "most different first", "hard": "hardest first", "item": "by id"}

COLUMNS, SAMPLES = 24, 200_000
"""At most so many columns are shown, with at most so many samples in them, or the first alone."""

ROWS = 50

_FILTERS = ("model", "tier", "family", "category", "tag", "item", "sort")


@dataclass(frozen=True, slots=True)
class QuestionScore:
    """An item. `good` says how good its scores are on average (`Direction.good`), `spread` how far they are
    apart, between models or between configurations of the only one. Both are None where a sample is not
    scored."""

    item: str
    good: Fraction | None
    spread: Fraction | None


@dataclass(frozen=True, slots=True)
class QuestionMatrix:
    """The rows of a benchmark that pass the filters. `more` counts the columns that are not shown."""

    benchmark: str
    filters: Filters
    columns: tuple[StoredCell, ...]
    more: int
    rows: tuple[QuestionScore, ...]

    @property
    def within(self) -> dict[str, Value]:
        """How an address says which rows these are and in which order, beside their benchmark."""
        return {key: value for key, value in self.filters.query().items() if key not in ("benchmark", "item")}

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
    cells = filters.cells(study)
    sizes = accumulate(cell.counts.trials for cell in cells)
    columns = tuple(cell for cell, size in zip(cells, sizes, strict=True) if size <= SAMPLES)[:most]
    columns = columns or tuple(cells[:1])
    chosen = filters.items(view.items, benchmark)
    scores = _scores(view, benchmark, columns)
    rows = [row for row in scores if chosen is None or row.item in chosen]
    if filters.sort != "item":
        rows.sort(key=_hardest if filters.sort == "hard" else _most_different)
    return QuestionMatrix(benchmark, filters, columns, len(cells) - len(columns), tuple(rows))


def _hardest(row: QuestionScore) -> tuple[bool, Fraction]:
    return row.good is None, row.good or Fraction()


def _most_different(row: QuestionScore) -> tuple[bool, Fraction, Fraction]:
    return row.spread is None, -(row.spread or Fraction()), row.good or Fraction()


def default_query(study: StoredStudy, benchmark: str) -> dict[str, str]:
    """The models of a benchmark under its first configuration."""
    first = next(cell for cell in study.cells if cell.benchmark == benchmark)
    varied = {axis for axis, levels in study.axes.items() if len(levels) > 1}
    levels = {f"{AXIS}{axis}": level for axis, level in first.levels.items() if axis in varied}
    return {"benchmark": benchmark, **levels}


def _scores(view: View, benchmark: str, columns: Sequence[StoredCell]) -> list[QuestionScore]:
    """Of every item that the columns ask, in the order of ids. The score of a cell is the mean over
    replicates, or what is made of them, that of a model the mean over cells."""
    models = len({cell.model for cell in columns}) > 1
    direction = view.study.directions.get(benchmark, Direction())
    sums: defaultdict[str, defaultdict[str, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    waiting: set[str] = set()
    for cell in columns:
        group = cell.model if models else cell.configuration
        for item, asked, scored, points in view.moment.rows(
            "SELECT item, count(*), count(score), sum(score) FROM sample WHERE cell = ? GROUP BY item",
            [cell.id],
        ):
            if scored < asked:
                waiting.add(item)
            made = None if cell.made is None else cell.made.get(item)
            sums[item][group].append(
                (points or 0, asked * cell.scale) if made is None else made.as_integer_ratio()
            )
    return [
        QuestionScore(item, None, None) if item in waiting else _score(item, by_group.values(), direction)
        for item, by_group in sorted(sums.items())
    ]


def _score(item: str, groups: Iterable[list[tuple[int, int]]], direction: Direction) -> QuestionScore:
    means = []
    for cells in groups:
        wholes = {whole for _, whole in cells}
        if len(wholes) == 1:  # nearly always, and much faster than a sum of fractions
            means.append(Fraction(sum(points for points, _ in cells), wholes.pop() * len(cells)))
        else:
            means.append(sum((Fraction(*cell) for cell in cells), Fraction()) / len(cells))
    good = sum(map(direction.good, means), Fraction()) / len(means)
    return QuestionScore(item, good, max(means) - min(means))
