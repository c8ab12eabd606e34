"""A spec that is put together: each of its values with the file and the line where it is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.places import KeyPath


@dataclass(frozen=True)
class PlacedValue:
    """A value with the place where it is written: a table's keys, a list's entries, or a plain value. `row`
    says which row of a file holds it, where the spec only names the column."""

    value: Any
    source: Source
    path: KeyPath
    row: str = ""

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, dict):
            return {key: inner.plain() for key, inner in self.value.items()}
        return [inner.plain() for inner in self.value] if isinstance(self.value, list) else self.value


@dataclass(frozen=True)
class Expanded(Source):
    """A spec with its bases and the levels of its axes written out. `path` and `text` are those of the file
    that extends, `files` are all, that one first."""

    files: tuple[Source, ...] = field(repr=False)
    tree: PlacedValue = field(repr=False)

    @cached_property
    def _written(self) -> Mapping[KeyPath, PlacedValue]:
        return dict(_nodes(self.tree, ()))

    def origin(self, path: KeyPath) -> tuple[Source, KeyPath]:
        path = self.as_written(path)
        for length in range(len(path), 0, -1):
            node = self._written.get(path[:length])
            if node is not None:
                return node.source, (*node.path, *path[length:])
        return self, path

    def diagnose(
        self, code: str, path: KeyPath, message: str, help: str | None = None, *, at_key: bool = False
    ) -> Diagnostic:
        meant = self._meant(path) if code == "GC103" else None
        if row := self._row(self.as_written(path)):
            message += f" ({row})"
        return super().diagnose(code, path, message, meant or help, at_key=at_key)

    def _row(self, path: KeyPath) -> str:
        """The row of a file that a value comes from."""
        known = (self._written.get(path[:length]) for length in range(len(path), 0, -1))
        nearest = next((node for node in known if node is not None), None)
        return "" if nearest is None else nearest.row

    def _meant(self, path: KeyPath) -> str | None:
        """For an entry that lacks what it needs: the entry of a base whose id it may have misspelt."""
        node, siblings = self._written.get(path), self._written.get(path[:-1])
        if node is None or siblings is None or entry_id(node) is None or not isinstance(siblings.value, list):
            return None
        others = [
            name
            for sibling in siblings.value
            if sibling.source is not node.source and (name := entry_id(sibling))
        ]
        near = did_you_mean(f"{entry_id(node)}", others) if others else ""
        return f"it is a new entry: {near}" if near.startswith("did you mean") else None

    @property
    def others(self) -> tuple[Source, ...]:
        return self.files[1:]


def placed(value: Any, source: Source, path: KeyPath) -> PlacedValue:
    """A value with the places of all that it holds."""
    if isinstance(value, dict):
        value = {key: placed(inner, source, (*path, key)) for key, inner in value.items()}
    elif isinstance(value, list):
        value = [placed(inner, source, (*path, number)) for number, inner in enumerate(value)]
    return PlacedValue(value, source, path)


def _nodes(node: PlacedValue, path: KeyPath) -> Iterator[tuple[KeyPath, PlacedValue]]:
    """Every part of a tree, by its path in the whole."""
    yield path, node
    if isinstance(node.value, dict):
        for key, inner in node.value.items():
            yield from _nodes(inner, (*path, key))
    elif isinstance(node.value, list):
        for number, inner in enumerate(node.value):
            yield from _nodes(inner, (*path, number))


def entry_id(entry: PlacedValue) -> str | None:
    """The id of an entry; None where it has none that is a text."""
    return text_at(entry, "id")


def text_at(entry: PlacedValue, key: str) -> str | None:
    """The text at a key of a table; None where there is none."""
    node = entry.value.get(key) if isinstance(entry.value, dict) else None
    return node.value if node is not None and isinstance(node.value, str) else None
