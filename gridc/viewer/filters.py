"""What a page shows of a study: filters, order and place, read from the query of an address.

A value that is not one of a filter's own is refused (GC615) and not passed over, so that no link shows more
than it says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gridc.reports.addresses import Value
from gridc.viewer.cells import StoredCell, StoredStudy, absent
from gridc.viewer.items import StoredItems

OUTCOMES = {"": "any", "earned": "scored points", "nothing": "scored nothing", "waiting": "not scored yet"}
READ = {"": "any", "readable": "readable", "unreadable": "unreadable"}
SORTS = {"": "by cell", "item": "by item"}
WITHIN = {"": "prompts and responses", "response": "responses", "prompt": "prompts"}
AXIS = "axis."


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of a list of samples; what is empty lets all pass. `levels` by axis. `tag` is `name:value`,
    `item` a part of an item's id, `q` words that the prompt or the response has."""

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

    def query(self) -> dict[str, Value]:
        """As an address has them."""
        own = {name: getattr(self, name) for name in _PLAIN}
        return {**own, **{f"{AXIS}{axis}": level for axis, level in self.levels.items()}}

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


def read_filters(query: Mapping[str, str], study: StoredStudy) -> Filters:
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
        "sort": SORTS,
    }
    for name, values in known.items():
        if name in plain:
            _one_of(plain[name], values, name)
    return Filters(levels=levels, **plain)


def _one_of(value: str, values: Iterable[str], what: str) -> None:
    if value not in values:
        raise absent(f"`{value}` is not a value of `{what}`")
