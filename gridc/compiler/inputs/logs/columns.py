"""What the columns of a table of scores mean: by their names, and by what the author says of them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gridc.diagnostics.errors import Diagnostic, UsageError

ITEM, CONTENT = ("item", "id", "item_id"), ("question", "input")
READ = frozenset(
    ["model", "benchmark", "score", "unit", "replicate", "seed", "state", "prompt", "answer", "reading", "n"]
).union(ITEM, CONTENT)
NEEDED = frozenset(("model", "score"))
DATA = frozenset([
    "answer_key", "choices", "completion", "correct_answer", "cost", "duration", "elapsed", "expected",
    "expected_answer", "generated_text", "generation", "gold", "gold_answer", "golds", "ground_truth",
    "input_tokens", "inputs", "latency", "latency_ms", "latency_s", "model_answer", "model_output",
    "options", "output", "output_tokens", "outputs", "pred", "prediction", "predictions", "reference",
    "references", "response", "responses", "runtime", "target", "targets", "time", "timestamp", "tokens",
])  # fmt: skip
"""What comes with an answer or an item, and makes no configuration."""


def column_name(header: str) -> str:
    """In lower case; of a name that is known, with `_` between its words."""
    name = header.strip().lower()
    known = re.sub(r"[\s-]+", "_", name)
    return known if known in READ or known in DATA else name


@dataclass(frozen=True, slots=True)
class TableColumns:
    """What the author says of columns: which are `axes` and which are `ignored`, whatever the case; and which
    column or field of an item is its `unit`, a dotted path. `found` gathers the columns without a meaning of
    their own, and those of `DATA`, of every table that is read; `fields` those that can be a unit."""

    axes: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    unit: str | None = None
    found: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)

    @classmethod
    def stated(cls, axes: Iterable[str], ignored: Iterable[str], unit: str | None = None) -> "TableColumns":
        """Raises `UsageError` for a column that is two of these."""
        columns = cls(frozenset(map(column_name, axes)), frozenset(map(column_name, ignored)), unit)
        units = columns.units
        for one, other, what in (
            (columns.axes, columns.ignored, "an axis and ignored"),
            (columns.axes, units, "an axis and the unit"),
            (columns.ignored, units, "ignored and the unit"),
        ):
            for name in sorted(one & other):
                message = f"the column `{name}` is both {what}"
                raise UsageError([Diagnostic("GC000", message, help="leave out one of the two")])
        return columns

    @property
    def units(self) -> frozenset[str]:
        """The column of the unit in a table: its name, or the first part of its path."""
        name = "" if self.unit is None else column_name(self.unit)
        return frozenset(filter(None, (name, name.partition(".")[0])))

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those of some stated columns that no table has, once the tables are read."""
        return [name for name in names if column_name(name) not in self.found]

    def check(self) -> None:
        """Once all logs are read. Raises `UsageError` for a stated column that no table has, and for a unit
        that no item has."""
        for name in self.unknown(sorted(self.axes | self.ignored)):
            message = f"no table has a column `{name}` that can be an axis or be ignored"
            raise UsageError([Diagnostic("GC000", message, help=_known(self.found, "column of the tables"))])
        if self.unit is not None and self.unit not in self.fields:
            message = f"no item has a column or field `{self.unit}` that can be its unit"
            raise UsageError([Diagnostic("GC000", message, help=_known(self.fields, "field of the items"))])

    def unit_of(self, fields: Mapping[str, Any]) -> str | None:
        """What an item was made from, by its fields; None where the author names no unit, or it has none."""
        if self.unit is None:
            return None
        self.fields.update(name for name, value in fields.items() if isinstance(value, str | int))
        value = next((one for one in (_at(fields, name) for name in self._names()) if one is not None), "")
        if value == "":
            return None
        self.fields.add(self.unit)
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)

    def _names(self) -> Iterator[str]:
        """As it is stated, and as a table has it."""
        if self.unit is not None:
            yield self.unit
            yield column_name(self.unit)


def _at(fields: Any, path: str) -> Any:
    """What stands at a dotted path; a name may have a dot itself. None where nothing does."""
    if not isinstance(fields, Mapping):
        return None
    if path in fields:
        return fields[path]
    name, dot, rest = path.partition(".")
    while dot:
        if name in fields:
            return _at(fields[name], rest)
        part, dot, rest = rest.partition(".")
        name = f"{name}.{part}"
    return None


def _known(names: Iterable[str], what: str) -> str:
    known = ", ".join(sorted(names)[:12])
    return f"known: {known}" if known else f"there is no {what} that could be"
