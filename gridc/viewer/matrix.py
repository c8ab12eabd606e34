"""Questions by variants: a row is an item, a column a cell, and rows are in the order of their scores."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from gridc.reports.page_links import Value
from gridc.statistics.envelope import Direction
from gridc.viewer.lists import AXIS, Filters, read_filters
from gridc.viewer.store import Moment, StoredCell, StoredStudy, absent
from gridc.viewer.view import View

ORDERS = {"": "most different first", "hard": "hardest first", "item": "by id"}

COLUMNS, SAMPLES = 24, 200_000
"""At most so many columns are shown, with at most so many samples in them, or the first alone."""

ROWS = 50

_FILTERS = ("model", "tier", "family", "category", "tag", "item", "sort")

ItemOutcome = tuple[int, int | None, int | None]
"""(replicate, choice, score)."""


@dataclass(frozen=True, slots=True)
class QuestionOutcomes:
    """An item with its outcomes by the number of a cell. `good` says how good its scores are on average
    (`Direction.good`), `spread` how far they are apart, between models or between configurations of the only
    one. Both are None where a sample is not scored."""

    item: str
    outcomes: Mapping[int, tuple[ItemOutcome, ...]]
    good: Fraction | None
    spread: Fraction | None


@dataclass(frozen=True, slots=True)
class QuestionMatrix:
    """The rows of a benchmark that pass the filters. `more` counts the columns that are not shown."""

    benchmark: str
    filters: Filters
    columns: tuple[StoredCell, ...]
    more: int
    rows: tuple[QuestionOutcomes, ...]

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
    rows = [
        _row(study, item, columns, outcomes)
        for item, outcomes in sorted(_outcomes(view.moment, columns).items())
        if chosen is None or item in chosen
    ]
    if filters.sort != "item":
        rows.sort(key=_hardest if filters.sort == "hard" else _most_different)
    return QuestionMatrix(benchmark, filters, columns, len(cells) - len(columns), tuple(rows))


def _hardest(row: QuestionOutcomes) -> tuple[bool, Fraction]:
    return row.good is None, row.good or Fraction()


def _most_different(row: QuestionOutcomes) -> tuple[bool, Fraction, Fraction]:
    return row.spread is None, -(row.spread or Fraction()), row.good or Fraction()


def default_query(study: StoredStudy, benchmark: str) -> dict[str, str]:
    """The models of a benchmark under its first configuration."""
    first = next(cell for cell in study.cells if cell.benchmark == benchmark)
    varied = {axis for axis, levels in study.axes.items() if len(levels) > 1}
    levels = {f"{AXIS}{axis}": level for axis, level in first.levels.items() if axis in varied}
    return {"benchmark": benchmark, **levels}


def _outcomes(moment: Moment, columns: Sequence[StoredCell]) -> dict[str, dict[int, tuple[ItemOutcome, ...]]]:
    found: defaultdict[str, defaultdict[int, list[ItemOutcome]]] = defaultdict(lambda: defaultdict(list))
    for cell in columns:
        rows = moment.rows(
            "SELECT item, replicate, choice, score FROM sample WHERE cell = ? ORDER BY item, replicate",
            [cell.id],
        )
        for item, *outcome in rows:
            found[item][cell.id].append(tuple(outcome))
    return {
        item: {cell: tuple(outcomes) for cell, outcomes in by_cell.items()} for item, by_cell in found.items()
    }


def _row(
    study: StoredStudy,
    item: str,
    columns: Sequence[StoredCell],
    outcomes: Mapping[int, tuple[ItemOutcome, ...]],
) -> QuestionOutcomes:
    models = len({cell.model for cell in columns}) > 1
    direction = study.directions.get(columns[0].benchmark, Direction())
    groups: defaultdict[str, list[Fraction]] = defaultdict(list)
    for cell in columns:
        here = outcomes.get(cell.id, ())
        scores = [score for _, _, score in here if score is not None]
        if len(scores) < len(here):
            return QuestionOutcomes(item, outcomes, None, None)
        if scores:
            mean = Fraction(sum(scores), len(scores) * cell.scale)
            groups[cell.model if models else cell.configuration].append(mean)
    means = [sum(values, Fraction()) / len(values) for values in groups.values()]
    if not means:
        return QuestionOutcomes(item, outcomes, None, None)
    good = sum(map(direction.good, means), Fraction()) / len(means)
    return QuestionOutcomes(item, outcomes, good, max(means) - min(means))
