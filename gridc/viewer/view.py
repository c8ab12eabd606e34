"""What every page is made from: a store, what was asked, and the study that it is about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gridc.reports.addresses import StoreSide
from gridc.viewer.cells import StoredCell, StoredStudy, Studies, absent
from gridc.viewer.curves import StatedCurves
from gridc.viewer.items import StoredItems, Tags
from gridc.viewer.reader import LiveReader, Moment
from gridc.viewer.search import Index


class OpenStore:
    """One store: its rows, its studies, its search index, and the curves of the study whose spec is known."""

    def __init__(
        self,
        path: Path,
        tags: Tags | None = None,
        curves: StatedCurves | None = None,
        named: str | None = None,
    ) -> None:
        """`named` is how the stamp of the study begins that is shown. Raises `StoreError` where there is no
        store that can be read."""
        self.path = path
        self.reader = LiveReader(path)
        self.studies = Studies(self.reader, named)
        self.curves = curves
        self._tags = tags or {}
        self._items: dict[str, StoredItems] = {}
        with self.reader.moment() as moment:
            first = moment.row("SELECT digest FROM event ORDER BY seq LIMIT 1")
        self.index = Index(path, f"{path.stat().st_ino} {first[0] if first else ''}")

    def items(self, moment: Moment, study: StoredStudy) -> StoredItems:
        if study.stamp not in self._items:
            self._items[study.stamp] = StoredItems(moment, study.stamp, self._tags)
        return self._items[study.stamp].at(moment)

    def close(self) -> None:
        self.index.close()
        self.reader.close()


T = TypeVar("T")

NO_PART = "there is no part `{}`"

Link = Callable[[str], str | None]
"""Where a page is: its address on the server, its file in an export, None where it was left out."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page that is asked for: its query and how it links. `live` is False for a page that is written to a
    file: there is nothing to fill in."""

    page: str
    query: Mapping[str, str]
    to: Link
    live: bool


@dataclass(frozen=True, slots=True)
class View:
    """A study of one store at one moment, and what was asked. `second` is the same of the other store."""

    request: PageRequest
    side: StoreSide
    source: OpenStore
    moment: Moment
    study: StoredStudy
    items: StoredItems
    second: Callable[[], "View"]

    def asked(self, name: str) -> str:
        """A value that the address must have. Raises `StoreError` (GC615) without it."""
        value = self.request.query.get(name, "")
        if not value:
            raise absent(f"the address does not say which `{name}`")
        return value

    def whole(self, name: str, wrong: str, digits: int = 9) -> int:
        """A whole number of the address, 0 where it has none. Raises `StoreError` (GC615) for another text,
        in the words of `wrong`."""
        text = self.request.query.get(name, "0")
        if not text.isascii() or not text.isdigit() or len(text) > digits:
            raise absent(wrong.format(text[:40]))
        return int(text)

    @property
    def replicate(self) -> int:
        return self.whole("replicate", "`{}` is not the number of a replicate")

    def part(self, rows: Sequence[T], size: int) -> tuple[Sequence[T], dict[str, int]]:
        """The rows of the part of the list that the address names, and which one that is of how many."""
        number = self.whole("part", NO_PART)
        if number * size > len(rows):
            raise absent(NO_PART.format(number))
        return rows[number * size : (number + 1) * size], {"part": number, "parts": -(-len(rows) // size)}

    def cell(self, name: str = "cell") -> StoredCell:
        return self.study.cell(self.asked(name))
