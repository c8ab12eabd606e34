"""Opens a store for reading, finds the study that is meant, and reads its rows."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from sqlite_utils import Database

from gridc.compiler.instrument.thoughts import response_end
from gridc.diagnostics.errors import Diagnostic, GridcError, StoreError
from gridc.runtime.store.digests import keep_only
from gridc.runtime.store.events import B, Event, bodies_of
from gridc.runtime.store.opening import open_to_read
from gridc.schema.canonical import digest, each_key_once
from gridc.schema.spec import Spec

RECORDED: Literal["recorded"] = "recorded"
"""How the scores of imported logs came about, and the key of their study's document that says where from."""

LOGGED, NO_PROMPT = "as the log has it", "(The log does not have the prompt.)"
"""The role of the only message of an imported prompt, and what it says where the log has none."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of a study's distinct calls have an answer, and how many samples have no outcome yet."""

    answered: int
    total: int
    unscored: int

    @property
    def complete(self) -> bool:
        return self.answered == self.total and not self.unscored


class ResponseRow(NamedTuple):
    """One sample that has an outcome, with what is stored of its response: the text that its last call
    generated and its tokens, as the engine or provider counted them, None where there is none; how that call
    ended; and `label`, what one judge said, None without a label that can be read. `asked` says
    whether that judge was asked about it; `numbers` are those that a function gave, by name. Where somebody
    asks for them: `calls`, what its calls took (`Store.call_numbers_of`), and `answer`, what it was read to
    (`Store.votes_of`)."""

    item: str
    choice: int | None
    score: int
    text: str | None
    tokens: int | None
    finish: str
    asked: bool
    label: str | None
    numbers: Mapping[str, int]
    calls: Mapping[str, float | None] = {}
    answer: int | str | None = None

    @property
    def characters(self) -> int | None:
        """How many the text has."""
        return None if self.text is None else len(self.text)


@dataclass(frozen=True, slots=True)
class AnswerWork:
    """What answering a study's calls took, for one model (its identity) at one precision.

    `work` adds up over batches, of `most` the largest of any batch counts; the engine names them. `least` is
    the least work that could have given the answers, as far as the engine knows it, and empty until every
    call has its answer. `repeated` is the work of calls that were made once more for the noise floor. `paths`
    says how the model was computed, in words.
    """

    model: str
    precision: str
    batches: int
    calls: int
    seconds: float
    work: Mapping[str, float]
    least: Mapping[str, float]
    most: Mapping[str, float]
    paths: tuple[str, ...] = ()
    repeated: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelPace:
    """How far the calls of one model (its identity) at one precision are. `failed` counts those that failed
    for good by the kind of failure; `seconds` is how long a call takes, None while nothing shows it; as many
    as `waiting` are in batches at the provider."""

    model: str
    precision: str
    calls: int
    answered: int
    failed: Mapping[str, int]
    seconds: float | None
    waiting: int = 0

    @property
    def left(self) -> int:
        """The calls that have no answer."""
        return self.calls - self.answered

    @property
    def seconds_left(self) -> float | None:
        """The expected time for them."""
        if not self.left:
            return 0.0
        return None if self.seconds is None or self.waiting else self.left * self.seconds


class CheckedCall(NamedTuple):
    """A call with what is checked of it, as it is stored."""

    id: str
    model: str
    precision: str
    kind: str
    prompt: str
    sent: str | None
    answer_digest: str | None
    usage: str | None
    seconds: float | None
    finished: str | None
    batch: int | None
    request: str
    answer: str | None


class PricedRequest(NamedTuple):
    """A request to a model (its identity) that a price was put on, in US dollars, with what that follows
    from: how it ended, whether it went in a batch, whether its call generates, the request (JSON) and the
    bytes of the prompt of its call (None of a probe), the tokens that were counted (JSON), why counts
    were not believed, and what the call counts (JSON) where no other request answered it."""

    model: str
    id: str
    status: str
    batched: bool
    generated: bool | None
    usd: float
    usage: str
    request: str | None
    prompt: int | None
    problems: str | None
    of_call: str | None


class CheckedSample(NamedTuple):
    """A sample with its outcome, its calls in order with their answers (None while there is none), and the
    step of each under a scaffold: the last of these is `answer`, once more the call that decides. `result` is
    what the last call generated, or the option that was chosen."""

    item: str
    replicate: int
    choice: int | None
    score: int | None
    evidence: str | None
    calls: tuple[str, ...]
    steps: tuple[str | None, ...]
    answers: list[str | None]
    result: str | int | None


class JudgementRow(NamedTuple):
    """One call of a judge about a sample: who was asked, for the how manieth time (from 0), and what the
    reply was read to; neither label nor failure while there is no reply."""

    cell: str
    item: str
    replicate: int
    judge: str
    attempt: int
    call: str
    label: str | None
    confidence: int | None
    failure: str | None


Labels = dict[str, dict[str, str]]
"""What people said of responses: by UUID, and by the name of who said it, "" where there is none."""


def count_labels(labels: Labels) -> int:
    """How many labels there are, of all people."""
    return sum(map(len, labels.values()))


SampleRow = tuple[str, int, int | None, int | None, str | None, str | None, str | None]
CallRow = tuple[
    str,
    str,
    str,
    str,
    str,
    str,
    str,
    str | None,
    str | None,
    str | None,
    str | None,
    float | None,
    str | None,
]


MOST_NAMED = 5
"""Studies that a message names."""


def stamps_in(db: sqlite3.Connection) -> list[str]:
    """The stamps of the studies in a store, oldest first."""
    return [stamp for (stamp,) in db.execute("SELECT stamp FROM study ORDER BY rowid LIMIT 1000")]


def which_study(db: sqlite3.Connection, path: Path, named: str | None = None) -> str:
    """The stamp of the only study in a store, or of the only one whose stamp begins as `named`. None is taken
    because it is the newest: whoever adds rows to a store would choose what is shown.

    Raises `StoreError`: GC603 where there is none, GC602 where there are several, GC605 where its stamp is
    not the digest of what the store says was stamped, or a table calls another score the better one.
    """
    stamps = [stamp for stamp in stamps_in(db) if stamp.startswith(named or "")]
    if not stamps:
        raise not_here(path, named)
    if len(stamps) > 1:
        first = ", ".join(stamp[:12] for stamp in stamps[:MOST_NAMED])
        more = ", ..." if len(stamps) > MOST_NAMED else ""
        message = (
            f"the store holds {len(stamps)} studies{f' with stamp {named}' if named else ''}: {first}{more}"
        )
        help = f"say which one is meant: `{path}@{stamps[-1][:12]}`"
        raise StoreError([Diagnostic("GC602", message, str(path), help=help)])
    (stamp,) = stamps
    if not is_stamped(db, stamp):
        message = f"the study {stamp[:12]} in the store does not hash to its stamp"
        raise StoreError([Diagnostic("GC605", message, str(path))])
    for benchmark in changed_directions(db, stamp):
        message = (
            f"the table `benchmark` calls another score of {benchmark} the better one than the spec does"
        )
        raise StoreError([Diagnostic("GC605", message, str(path))])
    return stamp


def changed_directions(db: sqlite3.Connection, stamp: str) -> list[str]:
    """The benchmarks of which the table says otherwise than the stamped spec which score is the better one.
    Imported logs have no spec."""
    rows = db.execute(
        """SELECT benchmark FROM study JOIN benchmark USING (stamp), json_each(content, '$.spec.benchmark')
           WHERE stamp = ? AND json_extract(value, '$.id') = benchmark
           AND json_extract(value, '$.direction') <> direction""",
        [stamp],
    )
    return [benchmark for (benchmark,) in rows]


def not_here(path: Path, stamp: str | None) -> StoreError:
    """Of a store that holds no run, or none of the study whose stamp begins so."""
    message = "the store holds no run" + (f" of this study (stamp {stamp[:12]})" if stamp else "")
    return StoreError([Diagnostic("GC603", message, str(path), help="`gridc run` creates it")])


def is_stamped(db: sqlite3.Connection, stamp: str) -> bool:
    """Whether a stamp is the digest of the document that the store holds under it."""
    (content,) = db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
    try:
        return digest(json.loads(content, object_pairs_hook=each_key_once)) == stamp
    except (ArithmeticError, RecursionError, TypeError, ValueError):  # it has no canonical form
        return False


def calls_of(db: sqlite3.Connection, stamp: str) -> tuple[str, list[str]]:
    """A condition on `call` for the calls of a study. Where it is the only one all calls are its own."""
    if stamps_in(db) == [stamp]:
        return "TRUE", []
    text = "SELECT call FROM {0} JOIN cell ON cell.id = {0}.cell WHERE stamp = ?"
    mine = " UNION ALL ".join(text.format(table) for table in ("trace", "judgement"))
    return f"call.id IN ({mine})", [stamp, stamp]


FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading a value of another form raises."""

_DATES = {
    "study": "created",
    "call": "finished",
    "batch": "finished",
    "attempt": "started",
    "submission": "created",
    "event": "at",
}
_OBJECTS = {
    "study": ("content",),
    "call": ("request", "sent", "answer", "usage"),
    "sample": ("evidence",),
    "batch": ("work", "most"),
    "attempt": ("usage",),
    "event": ("body",),
}
_NO_NUMBER = "EXISTS (SELECT 1 FROM json_each({}) WHERE type NOT IN ('integer', 'real'))"
_OTHERWISE = {
    "call": """answer IS NOT NULL AND json_type(answer, '$.error') IS NULL AND CASE kind
        WHEN 'generate' THEN json_type(answer, '$.text') IS NOT 'text'
        WHEN 'recorded' THEN
            coalesce(json_type(answer, '$.text'), json_type(answer, '$.loglikelihoods')) IS NULL
        ELSE json_type(answer, '$.loglikelihoods') IS NOT 'array' END""",
    "sample": """choice < 0 OR choice > 25 OR replicate < 0 OR (replicate > 0
        AND NOT EXISTS (SELECT 1 FROM sample s WHERE s.cell = sample.cell AND s.item = sample.item
                        AND s.replicate = sample.replicate - 1))""",
    "trace": """step < 0 OR (step > 0 AND NOT EXISTS (SELECT 1 FROM trace t WHERE t.cell = trace.cell
        AND t.item = trace.item AND t.replicate = trace.replicate AND t.step = trace.step - 1))""",
    "batch": f"calls < 1 OR seconds < 0 OR {_NO_NUMBER.format('work')} OR {_NO_NUMBER.format('most')}",
    "shown": "CASE WHEN json_valid(points) THEN json_type(points) <> 'array' ELSE 1 END",
}


def misshapen(db: Database) -> Iterator[str]:
    """Each table and column with values that gridc does not write, in words. Every row is looked at."""
    for table, column in _DATES.items():
        dates = db.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
        if not all(_is_date(date) for (date,) in dates):
            yield f"`{column}` of a row of `{table}` is not a date"
    for table, columns in _OBJECTS.items():
        for column in columns:
            wrong = f"CASE WHEN json_valid({column}) THEN json_type({column}) <> 'object' ELSE 1 END"
            rows = db.execute(f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL AND {wrong} LIMIT 1")
            if rows.fetchone():
                yield f"`{column}` of a row of `{table}` is not a JSON object"
                return  # what looks into it fails too
    for table, wrong in _OTHERWISE.items():
        if db.execute(f"SELECT 1 FROM {table} WHERE {wrong} LIMIT 1").fetchone():
            yield f"a row of `{table}` holds what no run writes"
    for table, name in (("study", "stamp"), ("prompt", "id")):
        for identifier, content in db.execute(f"SELECT {name}, content FROM {table}"):
            if _digest_of(content) != identifier:
                yield f"the content of a row of `{table}` does not hash to its name, {identifier[:12]}"
                break
    for (content,) in db.execute("SELECT content FROM study"):
        document = json.loads(content)
        if RECORDED not in document:
            try:
                Spec.model_validate(document["spec"])
            except FAILURES:
                yield "the spec of a study in it is none that this gridc reads"


def _digest_of(content: str) -> str | None:
    try:
        return digest(json.loads(content))
    except FAILURES:
        return None


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


RECORDED_HELP = (
    "`gridc view` and `gridc sql` read it; give `gridc certify --from` and `gridc compare` the logs"
)
CACHE_KIB = 128 * 1024
"""Memory for pages. Calls are looked up by digest, which is at random all over the file."""


def _response_end(answer: str, usage: str | None) -> str:
    return response_end(json.loads(answer), json.loads(usage or "{}"))


class Reader:
    """A store that is open for reading. Use as a context manager."""

    def __init__(self, db: Database, close: Callable[[], None] | None = None) -> None:
        self._db = db
        self._close = close or db.close
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._db.register_function(_response_end, deterministic=True, name="response_end")

    @classmethod
    def open(cls, path: Path, look: bool = True) -> Self:
        """Open the store at `path` as it is at this moment: what a run adds meanwhile is not seen. For `look`
        see `open_to_read`.

        Raises `StoreError` when there is none, it is damaged (GC605) or a newer gridc made it (GC612).
        """
        db, close = open_to_read(path, look)
        db.execute("BEGIN")  # one snapshot for all that is read
        return cls(db, close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object = None, error: BaseException | None = None, *__: object) -> None:
        """Raises `StoreError` (GC605) in place of an error where values in the store are of no form that
        gridc writes: then they are its cause."""
        try:
            if isinstance(error, FAILURES) and not isinstance(error, GridcError):
                self.require_shape()
        finally:
            self._close()

    def require_shape(self) -> None:
        """Raise `StoreError` (GC605) where values in the store are of no form that gridc writes."""
        wrong = list(misshapen(self._db))
        if wrong:
            file, help = str(self.path), "`gridc verify` says what else is wrong with it"
            raise StoreError([Diagnostic("GC605", problem, file, help=help) for problem in wrong]) from None

    @property
    def path(self) -> Path:
        """The file that is read."""
        name = "SELECT CAST(file AS BLOB) FROM pragma_database_list WHERE name = 'main'"
        return Path(os.fsdecode(self._db.execute(name).fetchone()[0]))  # a name need not be UTF-8

    def interrupt(self) -> None:
        """Stop what another thread is asking."""
        self._db.conn.interrupt()

    def copy_to(self, path: Path, stamp: str) -> None:
        """A copy of a study as one file, consistent even while another process writes. Of other studies in
        the store nothing is copied but what the event chain says of them, which is one for all."""
        copy = Database(sqlite3.connect(path))
        try:
            self._db.conn.backup(copy.conn)
            if self.stamps() != [stamp]:
                keep_only(copy, stamp, *self._calls_of(stamp))
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()

    def stamps(self) -> list[str]:
        """The studies in the store, oldest first."""
        return stamps_in(self._db.conn)

    def events(self) -> list[Event]:
        """The event chain. Raises `StoreError` (GC605) for an event that gridc does not write."""
        return [Event.from_row(row) for row in self._db.query("SELECT * FROM event ORDER BY seq")]

    def bodies_of(self, kind: type[B], stamp: str | None = None) -> list[B]:
        """What the events of a kind say, in order; of one study, or of all."""
        return bodies_of(self.events(), kind, stamp)

    def study(self, stamp: str) -> Any:
        """The document that a study's digest is the digest of. Raises `StoreError` (GC613) for imported
        logs."""
        document = self.document(stamp)
        if isinstance(document, dict) and RECORDED in document:
            message = "the store holds imported logs, and no study of gridc"
            raise StoreError([Diagnostic("GC613", message, str(self.path), help=RECORDED_HELP)])
        return document

    def document(self, stamp: str) -> Any:
        """The same, of imported logs too."""
        row = self._db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
        return document_of(row[0])

    @property
    def imported(self) -> bool:
        """Whether all that the store holds are imported logs."""
        contents = self._db.execute("SELECT content FROM study")
        return all(RECORDED in document_of(content) for (content,) in contents)

    def logs(self) -> Any:
        """What imported logs say of themselves; None where the store holds something else."""
        if not self.stamps() or not self.imported:
            return None
        return self.document(self.which())[RECORDED]

    def which(self, named: str | None = None) -> str:
        """The stamp of the study that is meant (`which_study`)."""
        return which_study(self._db.conn, self.path, named)

    def is_stamped(self, stamp: str) -> bool:
        """Whether a stamp is the digest of the document that the store holds under it."""
        return is_stamped(self._db.conn, stamp)

    def require(self, stamp: str) -> None:
        """Raise `StoreError` when the store holds no run of the study with this stamp."""
        if stamp not in self.stamps():
            raise not_here(self.path, stamp)

    def row(self, table: str, identifier: str | int) -> dict[str, Any]:
        """One row as it is stored."""
        fields: dict[str, Any] = self._db.table(table).get(identifier)
        return fields

    def _calls_of(self, stamp: str) -> tuple[str, list[str]]:
        """A condition on `call` for the calls of a study."""
        return calls_of(self._db.conn, stamp)


def document_of(text: str) -> Any:
    """A JSON document that a store holds. Raises `StoreError` (GC605) for what is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError([Diagnostic("GC605", f"a stored document cannot be read: {error}")]) from None


def object_of(text: str) -> dict[str, Any]:
    """The JSON object that a call was sent as or answered with. Raises `StoreError` (GC605) for another."""
    document = document_of(text)
    if not isinstance(document, dict):
        raise StoreError([Diagnostic("GC605", "a stored call or answer is not a JSON object")])
    return document
