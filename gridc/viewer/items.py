"""The items of a stored study, with their groups; and their tags, where the study's files or a bundle say
them: a store has none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridc.viewer.reader import Moment

Tags = Mapping[str, Mapping[str, Mapping[str, str]]]
"""The tags of items: name to value, by item, by benchmark."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item by its id in the benchmark. `template` and `category` are empty where the data do not say."""

    id: str
    unit: str
    family: str
    template: str
    category: str
    tags: Mapping[str, str] = field(default_factory=dict)


class StoredItems:
    """The items of one study. Those of a benchmark are read once, and stay."""

    def __init__(self, moment: Moment, stamp: str, tags: Tags) -> None:
        self._moment, self._stamp, self._tags = moment, stamp, tags
        self._read: dict[str, dict[str, StoredItem]] = {}

    def at(self, moment: Moment) -> "StoredItems":
        """The same items, to be read at another moment: they are never changed."""
        self._moment = moment
        return self

    def of(self, benchmark: str) -> list[StoredItem]:
        """Those of a benchmark, by id; none in a store that an older gridc filled."""
        return list(self._by_id(benchmark).values())

    def item(self, benchmark: str, item: str) -> StoredItem | None:
        return self._by_id(benchmark).get(item)

    def families(self, benchmark: str) -> int:
        """How many families there are."""
        return len({item.family for item in self.of(benchmark)})

    def categories(self, benchmarks: list[str]) -> list[str]:
        """Every category of these benchmarks."""
        return sorted({item.category for name in benchmarks for item in self.of(name)} - {""})

    def tags(self, benchmarks: list[str]) -> list[str]:
        """Every tag of these benchmarks, as `name:value`, of names with few values."""
        values: dict[str, set[str]] = {}
        for benchmark in benchmarks:
            for item in self.of(benchmark):
                for name, value in item.tags.items():
                    values.setdefault(name, set()).add(value)
        return [
            f"{name}:{value}"
            for name, held in sorted(values.items())
            if len(held) <= MOST_VALUES
            for value in sorted(held)
        ]

    def _by_id(self, benchmark: str) -> dict[str, StoredItem]:
        if benchmark not in self._read:
            tags = self._tags.get(benchmark, {})
            rows = self._moment.rows(
                """SELECT item, unit, family, template, category FROM item
                   WHERE stamp = ? AND benchmark = ? ORDER BY item""",
                [self._stamp, benchmark],
            )
            self._read[benchmark] = {
                item: StoredItem(item, unit, family, template or "", category or "", tags.get(item, {}))
                for item, unit, family, template, category in rows
            }
        return self._read[benchmark]


MOST_VALUES = 40
"""A tag with more values is a text, and no list to choose from; an address may still name one."""
