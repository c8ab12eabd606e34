"""The read side of a store: what reports, `status` and `verify` see. It changes nothing."""

from collections.abc import Mapping, Sequence

from gridc.runtime.store import digests, recorded_before
from gridc.runtime.store.calls import CallReader
from gridc.runtime.store.checks import CheckReader
from gridc.runtime.store.judgements import JudgementReader
from gridc.runtime.store.outcomes import OutcomeReader
from gridc.runtime.store.progress import ProgressReader


class Store(ProgressReader, CallReader, OutcomeReader, JudgementReader, CheckReader):
    """A store that is open for reading. Use as a context manager."""

    def answers_digest(self, stamp: str) -> str:
        """SHA-256 over every call of the study with its answer's digest, by call id."""
        return recorded_before.of_answers(self._db, *self._calls_of(stamp))

    def records_digest(self, stamp: str, calls: digests.CallRecords | None = None) -> str:
        """What runs recorded of all rows before there was a digest for each table. Calls, where they are
        given, are not read again."""
        return recorded_before.of_records(self._db, stamp, *self._calls_of(stamp), calls)

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
