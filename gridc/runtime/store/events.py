"""The event chain: what happened to a store, each event sealed by the digest of the one before.

`KINDS` has one row per kind of event. A stored event that lacks a key, has one too many, or holds a value of
another type was not written by gridc, and is refused with a finding that names it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from gridc.diagnostics.errors import Diagnostic, StoreError
from gridc.schema.base import Strength
from gridc.schema.canonical import digest, each_key_once
from gridc.schema.deviation import EarlierAnswersRow

GENESIS = "0" * 64


class Body(BaseModel):
    """What an event says about the study with this stamp. Keys with a default were added after the first
    release, and an event may lack them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    kind: ClassVar[str]
    stamp: str

    def as_json(self) -> dict[str, Any]:
        """As it is stored: with every key that was given, and no other."""
        return self.model_dump(mode="json", exclude_unset=True)


class Stamped(Body):
    """The study's plan was written into the store. `registered` is the stamp of its lock, `created` the
    lock's date, `lock` the SHA-256 of its bytes."""

    kind = "stamp"
    registered: str
    created: str
    lock: str


class RunStarted(Body):
    """A run began, with so many calls answered. `tasks` says by benchmark whether its prompts are those of
    the package whose task it is."""

    kind = "start"
    gridc: str
    answered: int
    tasks: dict[str, str] = {}


class Deviated(Body):
    """How the study departs from its lock: `Reconciled.manifest`."""

    kind = "deviation"
    log: list[dict[str, Any]]


class ModelLoaded(Body):
    """A model was loaded. `identity` is its digest in the lock; `proved` says when it was proved how a local
    model is computed, and whether that proof was an earlier run's. What an engine says of itself beyond these
    keys is the engine's own."""

    model_config = ConfigDict(extra="allow")

    kind = "load"
    identity: str
    model: str
    precision: str
    versions: dict[str, str] = Field(default_factory=dict)
    proved: dict[str, Any] = Field(default_factory=dict)

    @property
    def computed(self) -> tuple[str, ...]:
        """How calls were computed, in words: each path with the calls it takes, why no better one does, and
        where a precision rounds, how far that moves logits."""
        stated = self.as_json().get("paths")
        if not isinstance(stated, dict):
            return ()
        return tuple(_path(name, route) for name, route in stated.items() if isinstance(route, dict))

    @property
    def ran(self) -> dict[str, Any]:
        """What was really run. When its path was proved is no part of it."""
        about = ("stamp", "identity", "proved")
        return {key: value for key, value in self.as_json().items() if key not in about}


def _path(name: str, route: dict[str, Any]) -> str:
    reach = f" up to {route['up_to']} tokens" if route.get("up_to") else ""
    why = f" ({route['why']})" if route.get("why") else ""
    if "proof" not in route:
        return f"{name}{reach}{why}"
    moved, own = (f"{route['check'][key]:.2g}" for key in ("deviation", "noise"))
    return f"{name}{reach}{why}, where rounding moves logits by up to {moved} (the model's own: {own})"


class Worked(Body):
    """Every call of a model at a precision has its answer. `least` is the least work that could have given
    them, by name; at first there was only the size of the trie of all sequences, `least_tokens`."""

    kind = "work"
    identity: str
    precision: str
    least_tokens: int | None = None
    least: dict[str, int | float] = Field(default_factory=dict)

    @property
    def least_work(self) -> Mapping[str, float]:
        """What `Spending.work` would have been at least."""
        return self.least if self.least_tokens is None else {"forward_tokens": self.least_tokens}


class ShapeNoise(BaseModel):
    """What changed in one batch shape: texts, outcomes, and log-likelihoods by so many nats at most."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    texts: int
    outcomes: int
    max_moved: float | None


class DrawSpread(BaseModel):
    """Sampled calls were made once more where no seed draws the same again: how many of the texts, and of the
    outcomes that they decide, are other ones. It shows how far draws spread, and no noise."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    texts: int
    texts_changed: int
    outcomes: int
    outcomes_changed: int

    @property
    def words(self) -> str:
        """What a second draw changed."""
        return (
            f"drawn a second time, {self.texts_changed:,} of {self.texts:,} sampled texts and "
            f"{self.outcomes_changed:,} of {self.outcomes:,} outcomes are other ones; no seed is known to "
            "repeat a draw here, so this is the spread of draws and not noise"
        )


class CallsRepeated(Body):
    """A sample of a model's calls was made once more: how many, how many of their texts and of the outcomes
    that they decide changed, and how far log-likelihoods moved (nats)."""

    identity: str
    precision: str
    calls: int
    texts: int
    texts_changed: int
    rankings: int
    loglikelihoods: int
    max_moved: float | None
    mean_moved: float | None
    outcomes: int
    outcomes_changed: int


class NoiseMeasured(CallsRepeated):
    """They were made in another batch `shape`, or in several: what changed in any, and `by_shape`. Sampled
    calls are among them where a seed draws the same again; else `spread` says what a second draw changed.
    `work` is what this took, in the engine's words (`Spending.work`)."""

    kind = "noise"
    shape: str
    by_shape: dict[str, ShapeNoise] | None = None
    spread: DrawSpread | None = None
    work: dict[str, int | float] = {}


class ReferenceCompared(CallsRepeated):
    """They were made by the model's own weights in fp32 on this machine. Sampled answers are none of them."""

    kind = "reference"

    @property
    def words(self) -> str:
        """What differed."""
        if not self.calls:
            return "no call was compared: every answer is sampled, or failed here or there"
        parts = [f"{self.texts_changed:,} of {self.texts:,} greedy texts are other ones"] * bool(self.texts)
        if self.max_moved is not None and self.mean_moved is not None:
            most, mean = f"{self.max_moved:.2g}", f"{self.mean_moved:.2g}"
            parts.append(f"likelihoods differ by up to {most} nats, {mean} on average")
        return ", ".join([*parts, f"{self.outcomes_changed:,} of {self.outcomes:,} outcomes changed"])


class Observed(Body):
    """Something departed from the plan while it ran: `what` in a word, `detail` in a sentence."""

    kind = "observed"
    what: str
    detail: str


class TableDigest(BaseModel):
    """SHA-256 over these columns of the rows of a table that belong to the study
    (`gridc.runtime.store.digests`)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    columns: list[str]
    sha256: str


class RunFinished(Body):
    """A run came to its end, complete or not, with so many of its calls answered and so many `attempts`: the
    digests of `Store.results_digest`, of each of the `tables`, and (`named`) of the tags, labels and numbers
    of rows that a bundle lists. At first there were `answers` and `records` in place of `tables`
    (`digests.of_records`)."""

    kind = "finish"
    results: str
    answers: str | None = None
    records: str | None = None
    tables: dict[str, TableDigest] | None = None
    answered: int | None = None
    attempts: int | None = None
    total: int | None = None
    named: str | None = None


class Merged(Body):
    """The answers of another store were taken in: how many calls, the digest of the last event there, and
    those of its events that say how they came about (`TAKEN`) with their kind; `sealed` is when the map was
    sealed there under which its judges were asked, and `earlier` what other studies there had answered
    (`runtime.store.earlier`)."""

    kind = "merge"
    calls: int
    last_event: str
    events: list[dict[str, Any]]
    sealed: str | None = None
    earlier: list[EarlierAnswersRow] = Field(default_factory=list)

    @field_validator("events")
    @classmethod
    def _of_known_kinds(cls, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for event in events:
            kind = event.get("kind")
            if kind not in {taken.kind for taken in TAKEN}:
                raise ValueError(f"a merge takes no event of the kind {kind!r}")
            _without_kind(event)
        return events

    @property
    def taken(self) -> list[Body]:
        """The events that were taken over."""
        return [_without_kind(event) for event in self.events]


def _without_kind(event: dict[str, Any]) -> Body:
    return KINDS[event["kind"]].model_validate({key: value for key, value in event.items() if key != "kind"})


TAKEN = (ModelLoaded, NoiseMeasured, ReferenceCompared, Observed)
"""The kinds that a merge takes over from another store."""


class AnchorRecord(BaseModel):
    """An attestation (`gridc.compiler.lock.attestation.Attestation`) that a report stated; `committed` is its
    time. It is a claim: whoever verifies checks the evidence again."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    strength: Strength
    detail: str
    committed: str | None
    evidence: Literal["none", "commit", "signature", "token", "registration"] | None = None
    fact: str = ""
    by: str | None = None


class InterimLook(Body):
    """A report was made before the run was complete: its progress, the lock's strongest tie, all ties of the
    lock and of the results, the attribution, if any, what reached the steps of scaffolds, what else was found
    in the text of items (`recorded`, by name), the SHA-256 of each file that was written, the version of
    gridc that wrote them (0.1.0, where it does not say), and the SHA-256 of its code."""

    kind = "interim look"
    answered: int
    total: int
    unscored: int
    anchor: AnchorRecord
    anchors: list[AnchorRecord] = Field(default_factory=list)
    results_anchors: list[AnchorRecord] = Field(default_factory=list)
    attribution: list[dict[str, Any]] = Field(default_factory=list)
    propagation: list[dict[str, Any]] = Field(default_factory=list)
    recorded: dict[str, Any] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    gridc: Annotated[str, Field(pattern=r"^[0-9A-Za-z.+-]{1,40}$")] = "0.1.0"
    code: Annotated[str | None, Field(pattern=r"^[0-9a-f]{64}$")] = None


class Reported(InterimLook):
    """A report was made of a complete run."""

    kind = "report"


class Witnessed(Body):
    """What `certify --until-decided` came to: `adaptive_race.document`, and the calls that it took."""

    kind = "witness"
    format: Literal["gridc-witness/1"]
    study: str
    alpha: float
    seed: int
    test: str
    benchmarks: list[dict[str, Any]]
    calls: dict[str, int]


class Sealed(Body):
    """The map from UUIDs to cells was sealed (`runtime.blinding.Blind.seal`), of so many responses, `about`
    the judging or a sheet for people. Nothing of them has been labelled before."""

    kind = "seal"
    about: str
    seal: str
    responses: int
    rows: int | None = None
    configurations: list[str] | None = None


class Locked(Body):
    """No label is added or changed any more: the digest of the judgements and their number."""

    kind = "lock"
    about: str
    judgements: str
    count: int


class Unblinded(Body):
    """The map was opened: the secret from which everybody can make it again."""

    kind = "unblind"
    about: str
    seal: str
    nonce: str


KINDS: dict[str, type[Body]] = {
    body.kind: body
    for body in (
        Stamped, RunStarted, Deviated, ModelLoaded, Worked, NoiseMeasured, ReferenceCompared, Observed,
        RunFinished, Merged,
        InterimLook, Reported, Witnessed, Sealed, Locked, Unblinded,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """`seq` counts from 1, `at` is UTC in ISO 8601, `text` the body as JSON as it is stored, `previous` the
    digest of the event before."""

    seq: int
    at: str
    body: Body
    text: str
    previous: str
    digest: str

    @classmethod
    def after(cls, last: Self | None, at: str, body: Body) -> Self:
        """The event that follows `last`."""
        seq, previous = (last.seq + 1, last.digest) if last else (1, GENESIS)
        content = body.as_json()
        text = json.dumps(content, sort_keys=True)
        return cls(seq, at, body, text, previous, _seal(seq, at, body.kind, content, previous))

    @property
    def kind(self) -> str:
        return self.body.kind

    def row(self) -> dict[str, Any]:
        """As the store holds it."""
        row = {"seq": self.seq, "at": self.at, "kind": self.kind, "body": self.text}
        return {**row, "previous": self.previous, "digest": self.digest}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """Raises `StoreError` (GC605) for an event that gridc does not write."""
        body = _parse(row["seq"], row["kind"], row["body"])
        return cls(row["seq"], row["at"], body, row["body"], row["previous"], row["digest"])


def first_break(events: Iterable[Event]) -> int | None:
    """The number of the first event that does not follow from the one before it, or None."""
    seq, previous = 1, GENESIS
    for event in events:
        try:
            body = json.loads(event.text, object_pairs_hook=each_key_once)  # SQLite reads the first of two
            sealed = _seal(seq, event.at, event.kind, body, previous)
        except (ValueError, TypeError, RecursionError):  # without a canonical form: gridc never wrote it
            return event.seq
        if (event.seq, event.previous, event.digest) != (seq, previous, sealed):
            return event.seq
        seq, previous = seq + 1, event.digest
    return None


def steps_back(events: Iterable[Event]) -> list[int]:
    """The numbers of the events whose date is before that of the event before them, or before that of the
    lock which they record: there the clock was set back, so that dates around it are no order."""
    backward = []
    last = ""
    for event in events:
        made = event.body.created if isinstance(event.body, Stamped) else ""
        if any(date and to_the_second(event.at) < to_the_second(date) for date in (last, made)):
            backward.append(event.seq)
        last = event.at
    return backward


def before_reports(events: Sequence[Event]) -> Sequence[Event]:
    """The events up to the last one that is no report. What a report states follows from these: its own date
    comes after it, and making it again must give the same."""
    end = len(events)
    while end and isinstance(events[end - 1].body, InterimLook):
        end -= 1
    return events[:end]


def to_the_second(text: str) -> datetime:
    """A date to the second, as a lock has it. What is not a date is before all others."""
    try:
        moment = datetime.fromisoformat(text).replace(microsecond=0)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse(seq: int, kind: str, text: str) -> Body:
    if kind not in KINDS:
        known = "a newer gridc may have written it"
        raise _unreadable(seq, kind, "this gridc knows no such kind", known)
    try:
        return KINDS[kind].model_validate(json.loads(text))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _unreadable(seq, kind, f"{where}: {first['msg']}" if where else first["msg"]) from None
    except (ValueError, RecursionError) as error:
        raise _unreadable(seq, kind, f"not JSON ({error})") from None


def _unreadable(seq: int, kind: str, problem: str, help: str | None = None) -> StoreError:
    return StoreError([Diagnostic("GC605", f"event {seq} (`{kind}`) cannot be read: {problem}", help=help)])


def _seal(seq: int, at: str, kind: str, body: dict[str, Any], previous: str) -> str:
    return digest({"seq": seq, "at": at, "kind": kind, "body": body, "previous": previous})


B = TypeVar("B", bound=Body)


def bodies_of(events: Iterable[Event], kind: type[B], stamp: str | None = None) -> list[B]:
    """What the events of a kind say, in order; of one study, or of all. Those that a merge took count."""
    bodies = (body for event in events for body in ([event.body] if kind is Merged else _bodies(event.body)))
    return [
        body
        for body in bodies
        if isinstance(body, kind) and body.kind == kind.kind and stamp in (None, body.stamp)
    ]


def _bodies(body: Body) -> list[Body]:
    return body.taken if isinstance(body, Merged) else [body]
