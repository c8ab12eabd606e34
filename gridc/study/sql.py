"""A study's store, asked in SQL."""

from dataclasses import dataclass
from typing import Any

from gridc.compiler.lock.lock import stamp_of
from gridc.reports.exchange.table_files import escape_formulas
from gridc.runtime.store.queries import Queries, QueryRows, Relation
from gridc.study.place import Place, operand

__all__ = ["Queries", "QueryResult", "QueryRows", "Relation", "escape_formulas", "queries", "sql"]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The columns and the rows that a statement selects."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def as_json(self) -> list[dict[str, Any]]:
        """A record for each row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def queries(place: Place, store: str | None = None) -> Queries:
    """What takes statements for the store of a study, or of this path, which `@` and the first letters of a
    stamp follow where it holds several studies. Use as a context manager."""
    if store is not None:
        return Queries(*operand(store))
    compiled = place.resolved()
    return Queries(place.store(compiled), stamp_of(compiled.study))


def sql(place: Place, statement: str) -> QueryResult:
    """All that a statement selects."""
    with queries(place) as asked:
        selected = asked.select(statement)
        return QueryResult(selected.columns, tuple(selected.rows))
