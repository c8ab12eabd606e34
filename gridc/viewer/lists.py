"""Lists of samples, page by page, by the filters, order and position in an address.

A value that is not one of a filter's own is refused (GC615) and not passed over, so that no link shows more
than it says.

A page begins after the last row of the page before it (keyset paging), and goes cell by cell through the
primary key of `sample`, past cells that hold nothing of what is asked for. It ends when it is full, or when
its time is over: then the list goes on from the place that it reached.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from gridc.reports.page_links import Value
from gridc.viewer.conditions import Condition
from gridc.viewer.store import Moment, StoredCell, StoredItems, StoredStudy, absent

OUTCOMES = {"": "any", "earned": "scored points", "nothing": "scored nothing", "waiting": "not scored yet"}
READ = {"": "any", "readable": "readable", "unreadable": "unreadable"}
SORTS = {"": "by cell", "item": "by item"}
WITHIN = {"": "prompts and responses", "response": "responses", "prompt": "prompts"}
AXIS = "axis."


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of a list of samples; what is empty lets all pass. `levels` by axis. `tag` is `name:value`,
    `item` a part of an item's id, `q` words that the prompt or the response has, `where` a condition."""

    model: str = ""
    benchmark: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    tier: str = ""
    outcome: str = ""
    read: str = ""
    family: str = ""
    category: str = ""
    tag: str = ""
    item: str = ""
    q: str = ""
    within: str = ""
    sort: str = ""
    where: Condition | None = None

    def query(self) -> dict[str, Value]:
        """As an address has them."""
        own = {name: getattr(self, name) for name in _PLAIN}
        where = {} if self.where is None else {"where": self.where.text}
        return {**own, **{f"{AXIS}{axis}": level for axis, level in self.levels.items()}, **where}

    @property
    def by_item(self) -> bool:
        """Whether a filter is about items."""
        return bool(self.family or self.category or self.tag or self.item)

    def cells(self, study: StoredStudy) -> list[StoredCell]:
        """The cells that pass and hold a sample that can pass, in the study's order."""
        return [
            cell
            for cell in study.cells
            if self.model in ("", cell.model)
            and self.benchmark in ("", cell.benchmark)
            and self.tier in ("", cell.tier)
            and all(cell.levels.get(axis) == level for axis, level in self.levels.items())
            and cell.counts.of(self.outcome, self.read)
        ]

    def samples(self, study: StoredStudy) -> int:
        """How many samples pass the filters on cells and outcomes."""
        return sum(cell.counts.of(self.outcome, self.read) for cell in self.cells(study))

    def condition(self) -> str:
        """The same on rows of `sample`, as SQL without values."""
        return f"{_OUTCOME[self.outcome]} AND {_READ[self.read]}"

    def holds(self, cell: StoredCell) -> str:
        """Whether the stated condition holds, as SQL: a value of a row of `sample` of this cell."""
        return "TRUE" if self.where is None else self.where.sql(cell)

    def items(self, items: StoredItems, benchmark: str) -> frozenset[str] | None:
        """The items of a benchmark that pass; None where all do."""
        if not self.by_item:
            return None
        name, _, value = self.tag.partition(":")
        return frozenset(
            item.id
            for item in items.of(benchmark)
            if self.family in ("", item.family)
            and self.category in ("", item.category)
            and self.item.casefold() in item.id.casefold()
            and (not self.tag or item.tags.get(name) == value)
        )

    def but(self, **changes: Any) -> "Filters":
        return replace(self, **changes)


_PLAIN = (
    "model", "benchmark", "tier", "outcome", "read", "family", "category", "tag", "item", "q", "within",
    "sort",
)  # fmt: skip
_OUTCOME = {"": "TRUE", "earned": "score > 0", "nothing": "score <= 0", "waiting": "score IS NULL"}
_READ = {
    "": "TRUE",
    "readable": "(score IS NOT NULL AND choice IS NOT NULL)",
    "unreadable": "(score IS NOT NULL AND choice IS NULL)",
}


def read_filters(query: Mapping[str, str], study: StoredStudy, sorts: Iterable[str] = SORTS) -> Filters:
    """The filters of an address. Raises `StoreError` (GC615) for a value that the study does not have."""
    axes = study.axes
    levels = {key.removeprefix(AXIS): value for key, value in query.items() if key.startswith(AXIS) and value}
    for axis, level in levels.items():
        _one_of(axis, axes, "axis")
        _one_of(level, axes[axis], f"level of {axis}")
    plain = {name: query[name].strip() for name in _PLAIN if query.get(name)}
    known: dict[str, Iterable[str]] = {
        "model": study.models,
        "benchmark": study.benchmarks,
        "tier": study.tiers,
        "outcome": OUTCOMES,
        "read": READ,
        "within": WITHIN,
        "sort": sorts,
    }
    for name, values in known.items():
        if name in plain:
            _one_of(plain[name], values, name)
    return Filters(levels=levels).but(**plain)


def _one_of(value: str, values: Iterable[str], what: str) -> None:
    if value not in values:
        raise absent(f"`{value}` is not a value of `{what}`")


ROWS = 50
"""Rows of a page."""

LOOK_SECONDS = 0.15
"""How long a page looks for rows."""

EXCERPT = 300
"""Characters of a response that a list shows."""

AT_ONCE = 200
"""Rows of a cell that are passed over before the time is looked at."""

FEW = 400
"""Items that are looked up one by one; of more, the rows of a cell are filtered."""


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A place in a list: a sample, and whether the page ends before it instead of beginning behind it.
    `number` is that of the sample among all in the list, from 1; 0 where nobody counted them."""

    cell: int
    item: str
    replicate: int
    back: bool = False
    number: int = 0

    def text(self) -> str:
        """As an address has it."""
        place = [self.cell, self.replicate, int(self.back), self.number, self.item]
        return json.dumps(place, separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> "ListPosition | None":
        """Raises `StoreError` (GC615) for a text that is not a place."""
        if not text:
            return None
        try:
            cell, replicate, back, number, item = json.loads(text)
            if not all(type(part) is int and abs(part) < 2**63 for part in (cell, replicate, back, number)):
                raise ValueError
            item.encode()
            return cls(cell, str(item), replicate, bool(back), max(number, 0))
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise absent(f"`{text[:40]}` is not a place in a list") from None


@dataclass(frozen=True, slots=True)
class ListedSample:
    """A sample in a list. `response` is what its last answer begins with, None where nothing was generated,
    and `cut` says that it goes on. `margin` is by how many nats the chosen candidate leads."""

    cell: StoredCell
    item: str
    replicate: int
    choice: int | None
    score: int | None
    margin: float | None
    response: str | None
    cut: bool

    @property
    def place(self) -> ListPosition:
        return ListPosition(self.cell.id, self.item, self.replicate)

    @property
    def state(self) -> str:
        return state(self.choice, self.score)


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list, whose first row is number `first` of the list, from 1. `before` and `after` are the
    places of the pages around it, None at an end. `partial` says that the time was over before the page was
    full: the next one begins where this one stopped."""

    rows: tuple[ListedSample, ...]
    first: int
    before: ListPosition | None
    after: ListPosition | None
    partial: bool


def state(choice: int | None, score: int | None) -> str:
    """What became of a sample, in a word."""
    if score is None:
        return "waiting"
    if choice is None:
        return "unreadable"
    return "earned" if score > 0 else "nothing"


FoundSample = tuple[StoredCell, str, int, int | None, int | None, str | None]


def listed_samples(
    moment: Moment,
    study: StoredStudy,
    items: StoredItems,
    filters: Filters,
    place: ListPosition | None,
    cells: Sequence[StoredCell] | None = None,
    most: int = ROWS,
) -> ListPage:
    """A page of at most so many of the samples that pass the filters, of these cells or of all that pass."""
    chosen = filters.cells(study) if cells is None else list(cells)
    walk = _by_item if filters.sort == "item" else _by_cell
    back = place is not None and place.back
    begun = None if place is None else replace(place, number=0)
    deadline = time.monotonic() + LOOK_SECONDS
    steps: list[FoundSample] = []
    reached: ListPosition | None = None
    for step in walk(moment, chosen, items, filters, place, back):
        if isinstance(step, ListPosition):
            if time.monotonic() > deadline and step != begun:
                reached = step
                break
        else:
            steps.append(step)
            if len(steps) > most:
                break
    full = len(steps) > most
    del steps[most:]
    if back:
        steps.reverse()
    rows = tuple(sample_row(moment, found_sample) for found_sample in steps)
    start = 0 if place is None else place.number
    first = max(start - len(rows), 1) if back else start + 1
    ends = (rows[0].place, rows[-1].place) if rows else (place, place)
    onward = (ends[0] if back else ends[1]) if full else reached
    came = None if place is None else (ends[1] if back else ends[0])
    before, after = (onward, came) if back else (came, onward)
    return ListPage(
        rows,
        first,
        None if before is None else replace(before, back=True, number=first),
        None if after is None else replace(after, back=False, number=first + len(rows) - 1),
        reached is not None,
    )


def every_sample(
    moment: Moment,
    study: StoredStudy,
    items: StoredItems,
    filters: Filters,
    cells: Sequence[StoredCell] | None = None,
) -> Iterator[FoundSample]:
    """All samples of a list, in its order."""
    chosen = filters.cells(study) if cells is None else list(cells)
    walk = _by_item if filters.sort == "item" else _by_cell
    return (
        step
        for step in walk(moment, chosen, items, filters, None, False)
        if not isinstance(step, ListPosition)
    )


COUNT_SECONDS = 0.15
"""How long a page goes on to count the rows of its list."""


class CountedSamples(NamedTuple):
    """How many samples of a list were found so far, and the place up to which; None where these are all."""

    found: int = 0
    reached: ListPosition | None = None


def counted_samples(
    moment: Moment,
    study: StoredStudy,
    items: StoredItems,
    filters: Filters,
    so_far: CountedSamples,
) -> CountedSamples:
    """Go on counting the samples that pass the filters, as long as a page has the time for it."""
    if not filters.by_item and filters.where is None:
        return CountedSamples(filters.samples(study))
    deadline, found = time.monotonic() + COUNT_SECONDS, so_far.found
    for step in _by_cell(moment, filters.cells(study), items, filters, so_far.reached, False):
        if not isinstance(step, ListPosition):
            found += 1
        elif time.monotonic() > deadline and step != so_far.reached:
            return CountedSamples(found, step)
    return CountedSamples(found)


def _by_cell(
    moment: Moment,
    cells: Sequence[StoredCell],
    items: StoredItems,
    filters: Filters,
    place: ListPosition | None,
    back: bool,
) -> Iterator[FoundSample | ListPosition]:
    """Cell by cell; behind every cell the place that was reached."""
    sign, order = ("<", "DESC") if back else (">", "ASC")
    for cell in reversed(cells) if back else cells:
        if place is not None and (cell.id > place.cell if back else cell.id < place.cell):
            continue
        wanted = filters.items(items, cell.benchmark)
        here, values = filters.condition(), [cell.id]
        some: list[Any] = values
        if place is not None and cell.id == place.cell:
            here += f" AND (item, replicate) {sign} (?, ?)"
            some = [*values, place.item, place.replicate]
        if wanted is not None and len(wanted) <= FEW:
            here += f" AND item IN ({','.join('?' * len(wanted))})"
            some = [*some, *sorted(wanted)]
        rows = moment.rows(
            f"""SELECT item, replicate, choice, score, evidence, {filters.holds(cell)} FROM sample
                WHERE cell = ? AND {here} ORDER BY item {order}, replicate {order}""",
            some,
        )
        for number, (item, replicate, *outcome, holds) in enumerate(rows, 1):
            if holds and (wanted is None or item in wanted):
                yield (cell, item, replicate, *outcome)
            elif number % AT_ONCE == 0:
                yield ListPosition(cell.id, item, replicate, back)
        yield ListPosition(cell.id, "" if back else _LAST, -1 if back else 2**62, back)


_LAST = "\U0010ffff"
"""Behind the id of every item that a benchmark gives."""


def _by_item(
    moment: Moment,
    cells: Sequence[StoredCell],
    items: StoredItems,
    filters: Filters,
    place: ListPosition | None,
    back: bool,
) -> Iterator[FoundSample | ListPosition]:
    """Item by item, benchmark by benchmark, and for each item cell by cell."""
    by_benchmark: dict[str, list[StoredCell]] = {}
    for cell in cells:
        by_benchmark.setdefault(cell.benchmark, []).append(cell)
    names = list(by_benchmark)
    start = None if place is None else next((c.benchmark for c in cells if c.id == place.cell), None)
    if place is not None and start is None:
        raise absent("the list does not go through the place of this address any more")
    for name in reversed(names) if back else names:
        if start is not None and name != start:
            continue
        wanted = filters.items(items, name)
        ids = [item.id for item in items.of(name) if wanted is None or item.id in wanted]
        for item in reversed(ids) if back else ids:
            passed = place is not None and (item > place.item if back else item < place.item)
            if passed:
                continue
            yield from _of_item(moment, by_benchmark[name], item, filters, place, back)
            last = by_benchmark[name][0 if back else -1]
            yield ListPosition(last.id, item, -1 if back else 2**62, back)
        start = None
        place = None


def _of_item(
    moment: Moment,
    cells: Sequence[StoredCell],
    item: str,
    filters: Filters,
    place: ListPosition | None,
    back: bool,
) -> Iterator[FoundSample]:
    order = "DESC" if back else "ASC"
    for cell in reversed(cells) if back else cells:
        same = place is not None and place.item == item
        if same and place is not None and (cell.id > place.cell if back else cell.id < place.cell):
            continue
        rows = moment.rows(
            f"""SELECT item, replicate, choice, score, evidence, {filters.holds(cell)} FROM sample
                WHERE cell = ? AND item = ? AND {filters.condition()} ORDER BY replicate {order}""",
            [cell.id, item],
        )
        for _, replicate, *outcome, holds in rows:
            here = place is not None and same and cell.id == place.cell
            passed = place is not None and (
                replicate >= place.replicate if back else replicate <= place.replicate
            )
            if holds and not (here and passed):
                yield (cell, item, replicate, *outcome)


def sample_row(moment: Moment, found_sample: FoundSample) -> ListedSample:
    """A sample as a list shows it."""
    cell, item, replicate, choice, score, evidence = found_sample
    text = response(moment, cell.id, item, replicate)
    return ListedSample(
        cell, item, replicate, choice, score, read_margin(evidence),
        None if text is None else text[:EXCERPT], text is not None and len(text) > EXCERPT,
    )  # fmt: skip


def outcomes(moment: Moment, cell: StoredCell, item: str) -> tuple[tuple[int, int | None, int | None], ...]:
    """(replicate, choice, score) of an item in a cell."""
    rows = moment.rows(
        "SELECT replicate, choice, score FROM sample WHERE cell = ? AND item = ? ORDER BY replicate",
        [cell.id, item],
    )
    return tuple(rows)


def response(moment: Moment, cell: int, item: str, replicate: int) -> str | None:
    """What the last call of a sample generated; None where nothing was generated yet, or nothing is."""
    row = moment.row(
        """SELECT answer FROM trace JOIN call ON call.id = trace.call
           WHERE cell = ? AND item = ? AND replicate = ? ORDER BY step DESC LIMIT 1""",
        [cell, item, replicate],
    )
    return generated(row[0]) if row else None


def generated(answer: str | None) -> str | None:
    """The text of a stored answer; None where there is none."""
    document = loaded(answer) if answer is not None else None
    text = document.get("text") if isinstance(document, dict) else None
    return text if isinstance(text, str) else None


def read_margin(evidence: str | None) -> float | None:
    """By how many nats the chosen candidate leads, from stored evidence; None where nothing was ranked."""
    document = loaded(evidence) if evidence is not None else None
    margin = document.get("margin") if isinstance(document, dict) else None
    return float(margin) if isinstance(margin, (int, float)) else None


def loaded(text: str) -> Any:
    """A stored document; None where it is not JSON, so that a page shows it as the text that it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
