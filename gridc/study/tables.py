"""A study's tables, read from its store."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gridc.compiler.lowering.plan import Plan
from gridc.reports.exchange import tables
from gridc.reports.exchange.tables import TableName
from gridc.runtime.store.store import Store
from gridc.study.failures import coded
from gridc.study.place import Place
from gridc.study.reporting import findings

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TableName", "hypotheses", "pairs", "reader", "table"]


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
        about = tables.about(name, plan, store.progress(plan.study_digest))
    schema = tables.schema_of(chosen, about)

    def rows() -> "Iterator[pyarrow.RecordBatch]":
        with coded(), Store.open(path) as store:
            yield from tables.batches(name, plan, store, schema, size)

    return pa.RecordBatchReader.from_batches(schema, rows())


def table(place: Place, name: TableName, columns: Sequence[str] | None) -> "pyarrow.Table":
    """The whole table."""
    return reader(place, name, columns).read_all().unify_dictionaries()


def pairs(place: Place) -> "pyarrow.Table":
    """The certificate's pairs."""
    tables.require_pyarrow()
    found = findings(place)
    about = tables.about("pairs", found.findings.plan, found.findings.progress)
    return tables.pairs(found.certificate, about)


def hypotheses(place: Place) -> "pyarrow.Table":
    """The certificate's hypotheses."""
    tables.require_pyarrow()
    found = findings(place)
    about = tables.about("hypotheses", found.findings.plan, found.findings.progress)
    return tables.hypotheses(found.certificate, about)
