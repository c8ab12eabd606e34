"""A study's tables, read from its store."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.exchange import tables
from gridc.reports.exchange.table_files import table_suffix, write_table
from gridc.reports.exchange.tables import TableName
from gridc.runtime.store.store import Store
from gridc.schema.certificate import Certificate
from gridc.study.failures import coded
from gridc.study.place import Place
from gridc.study.reporting import findings

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TableName", "dictionary", "export_table", "of_certificate", "reader", "table"]

dictionary = tables.dictionary


def reader(
    place: Place, name: TableName, columns: Sequence[str] | None, size: int = tables.BATCH
) -> "pyarrow.RecordBatchReader":
    """The rows of a table in batches of `size`, read from the store as they are asked for."""
    tables.require_pyarrow()
    import pyarrow as pa

    compiled = place.compiled()
    plan, path = Plan(compiled.study), place.store(compiled)
    chosen = tables.columns_of(name, plan, columns)
    with Store.open(path) as store:
        store.require(plan.study_digest)
        about = tables.table_description(name, plan, store.progress(plan.study_digest))
    schema = tables.schema_of(chosen, about)

    def rows() -> "Iterator[pyarrow.RecordBatch]":
        with coded(), Store.open(path) as store:
            yield from tables.batches(name, plan, store, schema, size)

    return pa.RecordBatchReader.from_batches(schema, rows())


def table(place: Place, name: TableName, columns: Sequence[str] | None) -> "pyarrow.Table":
    """The whole table."""
    return reader(place, name, columns).read_all().unify_dictionaries()


def export_table(
    place: Place, name: str, to: Path | None, force: bool, columns: Sequence[str] | None
) -> Path:
    """Write a table of `TABLES` into a Parquet, CSV or Arrow file, by default beside the results. Its path.

    Raises `UsageError` where the file is there already (unless `force`), its suffix says no kind of file, or
    the table has no such column.
    """
    tables.require_pyarrow()
    target = to
    if target is None:
        results = place.store(place.compiled()).parent
        target = results.with_name(f"{results.name}.{name}.parquet")
    table_suffix(target)
    if target.exists() and not (force and target.is_file()):
        help = "--force overwrites a file; --to names another one"
        raise UsageError([Diagnostic("GC000", "there is something here already", str(target), help=help)])
    if name in OF_CERTIFICATE:
        rows = _chosen(of_certificate(place, name), name, columns).to_reader()
    else:
        rows = reader(place, "scores" if name == "cells" else cast("TableName", name), columns)
    write_table(rows, target)
    return target


def _chosen(table: "pyarrow.Table", name: str, columns: Sequence[str] | None) -> "pyarrow.Table":
    unknown = [column for column in columns or () if column not in table.column_names]
    if unknown:
        message = f"the table `{name}` has no column `{unknown[0]}`"
        raise UsageError([Diagnostic("GC000", message, help=", ".join(table.column_names))])
    return table if columns is None else table.select(list(columns))


OF_CERTIFICATE: "Mapping[str, Callable[[Certificate, Mapping[str, str]], pyarrow.Table]]" = {
    "pairs": tables.pair_table,
    "hypotheses": tables.hypotheses,
    "statistics": tables.statistics,
}
"""What makes a table of rows of the certificate, by the name of the table."""


def of_certificate(place: Place, name: str) -> "pyarrow.Table":
    """One of the tables of the certificate."""
    tables.require_pyarrow()
    report = findings(place)
    about = tables.table_description(name, report.findings.plan, report.findings.progress)
    return OF_CERTIFICATE[name](report.certificate, about)
