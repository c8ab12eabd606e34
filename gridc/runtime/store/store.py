"""The read side of a store: what reports, `status` and `verify` see. It changes nothing."""

from collections.abc import Iterator, Mapping, Sequence

from gridc.runtime.store import digests
from gridc.runtime.store.calls import CallReader
from gridc.runtime.store.checks import CheckReader
from gridc.runtime.store.events import RunFinished
from gridc.runtime.store.judgements import JudgementReader
from gridc.runtime.store.outcomes import OutcomeReader
from gridc.runtime.store.progress import ProgressReader


class Store(ProgressReader, CallReader, OutcomeReader, JudgementReader, CheckReader):
    """A store that is open for reading. Use as a context manager."""

    def answers_digest(self, stamp: str) -> str:
        """SHA-256 over every call of the study with its answer's digest, by call id."""
        return digests.of_answers(self._db, *self._calls_of(stamp))

    def records_digest(self, stamp: str, calls: digests.CallRecords | None = None) -> str:
        """What runs recorded of all rows before there was a digest for each table. Calls, where they are
        given, are not read again."""
        return digests.of_records(self._db, stamp, *self._calls_of(stamp), calls)

    def covered(self) -> dict[str, list[str]]:
        """The tables and columns that `table_digests` are of at the end of a run."""
        return digests.covered(self._db)

    def uncovered(self, recorded: Mapping[str, Sequence[str]]) -> list[str]:
        """What is `covered` now and was not when a run recorded these columns, by table."""
        return digests.uncovered(self._db, recorded)

    def table_digests(
        self,
        stamp: str,
        columns: Mapping[str, Sequence[str]] | None = None,
        calls: digests.CallRecords | None = None,
    ) -> dict[str, str | None]:
        """SHA-256 over these columns (or those that are `covered`) of each table's rows that belong to the
        study; None where there is no such column. Calls, where they are given, are not read again."""
        return digests.of_tables(
            self._db, stamp, *self._calls_of(stamp), self.covered() if columns is None else columns, calls
        )

    def results_digest(self, stamp: str, read: digests.CellResults | None = None) -> str:
        """SHA-256 over the sorted (cell, item, replicate, text or chosen option, score). If every
        cell of the study was `read`, none is read again."""
        return digests.of_results(self._db, stamp, read)

    def departures(
        self, finish: RunFinished, results: str, calls: digests.CallRecords | None = None
    ) -> Iterator[str]:
        """What is not as a run recorded it at its end, a sentence each. `results` is the results digest as it
        is now. Calls, where they are given, are not read again."""
        actual: dict[str, tuple[str | None, str]] = {"results": (results, finish.results)}
        if finish.answers is not None:
            actual["answers"] = self.answers_digest(finish.stamp), finish.answers
        if finish.records is not None:
            actual["records"] = self.records_digest(finish.stamp, calls), finish.records
        tables = finish.tables or {}
        columns = {name: digest.columns for name, digest in tables.items()}
        for name, value in self.table_digests(finish.stamp, columns, calls).items():
            actual[f"rows of `{name}`"] = value, tables[name].sha256
        for what, (value, noted) in actual.items():
            if value is None:
                yield f"the run recorded a digest of {what} with a column that is not there"
            elif value != noted:
                yield f"the {what} hash to {value[:12]}, recorded is {noted[:12]}"
