"""The read side of a store: what reports, `status` and `verify` see. It changes nothing."""

from gridc.runtime.store import digests
from gridc.runtime.store.calls import CallReader
from gridc.runtime.store.checks import CheckReader
from gridc.runtime.store.judgements import JudgementReader
from gridc.runtime.store.outcomes import OutcomeReader
from gridc.runtime.store.progress import ProgressReader


class Store(ProgressReader, CallReader, OutcomeReader, JudgementReader, CheckReader):
    """A store that is open for reading. Use as a context manager."""

    def answers_digest(self, stamp: str) -> str:
        """SHA-256 over every call of the study with its answer's digest, by call id."""
        return digests.of_answers(self._db, *self._calls_of(stamp))

    def records_digest(self, stamp: str, calls: digests.CallRecords | None = None) -> str:
        """SHA-256 over every row that the study rests on, with all its columns. Its calls, where they are
        given, are not read again."""
        return digests.of_records(self._db, stamp, *self._calls_of(stamp), calls)

    def results_digest(self, stamp: str, read: digests.CellResults | None = None) -> str:
        """SHA-256 over the sorted (cell, item, replicate, text or chosen option, score). If every
        cell of the study was `read`, none is read again."""
        return digests.of_results(self._db, stamp, read)
