"""Claims that a lock or results are tied to a time or a person, by whoever made them."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from _pytest.monkeypatch import MonkeyPatch

from gridc.compiler.compile import compile_spec
from gridc.compiler.lock import attestation, lock
from gridc.compiler.lock.attestation import Attestation, attestations, strongest_attestation
from gridc.compiler.lock.lock import lock_path, make_lock, write_lock
from gridc.compiler.lock.trust import NOBODY, Trust
from gridc.diagnostics.errors import StampError
from gridc.files import write_atomic
from gridc.reports import ties
from gridc.reports.ties import anchor_record, check_ties, claimed_of_lock, finish_text
from gridc.runtime.store.events import Event, Reported, RunFinished, RunStarted
from gridc.study import stamping
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.studies import write_study
from tests.authorities import commit, make_authority, make_chain, shell
from tests.authorities import time_stamp as ask_for_token

HOLDER = "whoever hands over a store"
AUTHOR = "the author"
ROOTS = "roots are those that the verifier names (`attestation._roots`)"
SIGNERS = "signers are those whom the verifier names (`attestation._signer`)"
ASSERTED = "a commit's dates are its author's, and no time (`attestation._commit`)"
UNCHECKED = "a DOI is `given, not checked` without the registry's record (`registrations`)"
CHANGED = "a record counts from its last change (`attestation._last`)"
AT = "2026-01-01T00:00:00.000+00:00"
STAMP = "a" * 64


def locked(folder: Path) -> Path:
    """A study with its lock; the spec."""
    spec = write_study(folder)
    write_lock(make_lock(compile_spec(spec).study, spec), lock_path(spec))
    return spec


def reported(*stated: Attestation) -> list[Event]:
    """A chain in which a report states these ties. Whoever holds a store can write it, sealed like any
    other."""
    first = anchor_record(strongest_attestation(stated))
    body = Reported(
        stamp=STAMP,
        answered=1,
        total=1,
        unscored=0,
        anchor=first,
        anchors=[anchor_record(each) for each in stated],
    )
    return [Event.after(None, AT, body)]


def checked(spec: Path, events: list[Event], trust: Trust = NOBODY) -> set[str]:
    shown = check_ties(lock_path(spec), spec, spec.parent, events, STAMP, trust)
    return {each.code for each in shown.findings}


UNBELIEVED = instead((ties, "_against", lambda *_: (None, None)))


@attack(HOLDER, "an event says `timestamped`, and there is no token", "GC709", UNBELIEVED)
def token_by_event(folder: Path, patch: MonkeyPatch) -> set[str]:
    return checked(locked(folder), reported(Attestation("token", AT, "a root of the system", AT)))


@attack(HOLDER, "an event says that the results were timestamped, and there is no token", "GC709", UNBELIEVED)
def results_token_by_event(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    (true,) = reported(*attestations(lock_path(spec), spec))
    assert isinstance(true.body, Reported)
    token = anchor_record(Attestation("token", AT, "a root of the system", AT))
    return checked(spec, [Event.after(None, AT, true.body.model_copy(update={"results_anchors": [token]}))])


@attack(HOLDER, "an event says that it was registered, in the words for no commit", "GC709", UNBELIEVED)
def registered_in_words(folder: Path, patch: MonkeyPatch) -> set[str]:
    return checked(locked(folder), reported(Attestation("none", "pre-registered at OSF, checked")))


@attack(
    HOLDER, "what an event says of a tie carries an escape sequence for the terminal", "GC709", UNBELIEVED
)
def escapes(folder: Path, patch: MonkeyPatch) -> set[str]:
    return checked(locked(folder), reported(Attestation("commit", "\x1b[2K\x1b[1Averified: registered")))


WRITTEN = instead((ties, "_is_written", lambda _: True))


@attack(HOLDER, "an event dates a commit before the first call, as if a third party did", "GC709", WRITTEN)
def commit_dated(folder: Path, patch: MonkeyPatch) -> set[str]:
    return checked(locked(folder), reported(Attestation("commit", "a" * 40, None, AT)))


@attack(HOLDER, "an event dates a lock that nothing ties before the first call", "GC709", WRITTEN)
def nothing_dated(folder: Path, patch: MonkeyPatch) -> set[str]:
    return checked(locked(folder), reported(Attestation("none", attestation.UNCOMMITTED, "DigiCert", AT)))


@attack(HOLDER, "an event names a commit `timestamped 2001 by DigiCert`", "GC709", WRITTEN)
def commit_in_words(folder: Path, patch: MonkeyPatch) -> set[str]:
    return checked(locked(folder), reported(Attestation("commit", "timestamped 2001 by DigiCert")))


DATES = "a time is a date with its zone, or none (`ties._date`)"


@attack(
    HOLDER,
    "an event's time is not a date, so that making the page again fails",
    DATES,
    instead((ties, "_date", lambda text: text)),
)
def time_that_is_none(folder: Path, patch: MonkeyPatch) -> set[str]:
    times = [each.time for text in ("soon", "2020-01-01") for each in claimed_of_lock(dated(text), STAMP)]
    return {DATES} if times == [None, None] else set()


def dated(text: str) -> list[Event]:
    return reported(Attestation("registration", "10.1234/x", "me", text))


@attack(HOLDER, "the signature is deleted after a report said `signed`", "GC709", UNBELIEVED)
def signature_deleted(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    key = signed(spec)
    trust = Trust(signers=(str(key.with_suffix(".pub")),))
    stated = reported(*attestations(lock_path(spec), spec, trust))
    lock_path(spec).with_name("gridcard.lock.sig").unlink()
    return checked(spec, stated)


@attack(
    HOLDER, "the signature is overwritten with bytes of the right form", "GC406",
    instead((attestation, "signatures", lambda *_: [("key SHA256:unread", None)])),
)  # fmt: skip
def signature_overwritten(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    signed(spec)
    path = lock_path(spec).with_name("gridcard.lock.sig")
    lines = path.read_text().splitlines()
    lines[-2] = lines[-2][:8] + ("A" if lines[-2][8] != "A" else "B") + lines[-2][9:]
    path.write_text("\n".join(lines) + "\n")
    return checked(spec, [])


@attack(
    HOLDER, "the record of results that was signed is not the store's", "GC709",
    instead((ties, "finish_differs", nothing)),
)  # fmt: skip
def other_results(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    true = Event.after(None, AT, RunFinished(stamp=STAMP, results="b" * 64, answers="c" * 64))
    better = Event.after(None, AT, RunFinished(stamp=STAMP, results="d" * 64, answers="c" * 64))
    (folder / "finish.json").write_text(finish_text(better))
    return checked(spec, [true])


def signed(spec: Path) -> Path:
    """Sign the lock with a key that its author made; the key."""
    shell(spec.parent, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", "-C", "press@example.org")
    shell(spec.parent, "ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", "gridc", "gridcard.lock")
    return spec.parent / "key"


LISTED = "a pattern in the verifier's list is no name (`attestation._principals`)"


@attack(
    AUTHOR, "a key that the verifier lists for everybody but the press office passes for the press office's",
    LISTED,
    instead((attestation, "_principals", str.splitlines), (attestation, "_PATTERN", re.compile("(?!)"))),
)  # fmt: skip
def signer_excluded(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    public = signed(spec).with_suffix(".pub").read_text()
    named = []
    for whom in ("!press@example.org,*@example.org", "*"):
        (folder / "named").write_text(f"{whom} {public}")
        named.append(
            strongest_attestation(
                attestations(lock_path(spec), spec, Trust(signers=(str(folder / "named"),)))
            ).by
        )
    return {LISTED} if named == ["whoever fits *@example.org", "whoever fits *"] else set()


@attack(
    AUTHOR, "another key of the press office's name signs the lock", "GC709",
    instead((attestation, "_signer", lambda *_: "press@example.org")),
)  # fmt: skip
def other_key_of_the_name(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    signed(spec)
    shell(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "true", "-C", "press@example.org")
    return checked(spec, [], Trust(signers=(str(folder / "true.pub"),)))


@attack(
    AUTHOR, "the signature of another file is put beside the lock", "GC406",
    instead((attestation, "signatures", lambda *_: [("key SHA256:unread", None)])),
)  # fmt: skip
def signature_of_another_file(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    signed(spec)
    shell(folder, "ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", "gridc", spec.name)
    (folder / f"{spec.name}.sig").replace(folder / "gridcard.lock.sig")
    return checked(spec, [])


def by_the_folders_own(data: bytes, path: Path, key: str, trust: Trust) -> str | None:
    """As it was: the `allowed_signers` beside the lock says who it is."""
    listed = next(Path(each) for each in OWN if Path(each).is_file())
    return listed.read_text().split()[0]


OWN: list[str] = []


@attack(
    AUTHOR, "an `allowed_signers` beside the lock says that the author's key is the press office's", SIGNERS,
    instead((attestation, "_signer", by_the_folders_own)),
)  # fmt: skip
def own_signers(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    public = signed(spec).with_suffix(".pub").read_text()
    (folder / "allowed_signers").write_text(f"press@example.org {public}")
    patch.setattr("tests.adversary.rooms.ties.OWN", [str(folder / "allowed_signers")])
    found = strongest_attestation(attestations(lock_path(spec), spec))
    return {SIGNERS} if found.strength == "unanchored" else set()


def roots_beside(trust: Trust) -> Iterator[tuple[str, object]]:
    """As it was: the root certificates beside the lock."""
    from cryptography.x509 import load_pem_x509_certificates

    for path in OWN:
        yield from (("", each) for each in load_pem_x509_certificates(Path(path).read_bytes()))


@attack(
    AUTHOR, "a home-made authority called DigiCert stamps the lock, its root lies beside it", ROOTS,
    instead((attestation, "_roots", roots_beside)),
)  # fmt: skip
def own_authority(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    place = make_authority(folder, "DigiCert Trusted Root G4")
    ask_for_token(place, lock_path(spec))
    patch.setattr("tests.adversary.rooms.ties.OWN", [str(place / "root.pem")])
    found = strongest_attestation(attestations(lock_path(spec), spec))
    return {ROOTS} if found.strength == "unanchored" else set()


@attack(
    AUTHOR, "`GIT_COMMITTER_DATE=2001` dates the commit before the first call", ASSERTED,
    instead((attestation, "_commit", lambda *_: Attestation("commit", "c", None, f"2001{AT[4:]}"))),
)  # fmt: skip
def backdated_commit(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    shell(folder, "git", "init", "-q")
    commit(folder, GIT_COMMITTER_DATE="2001-01-01T00:00:00Z", GIT_AUTHOR_DATE="2001-01-01T00:00:00Z")
    found = strongest_attestation(attestations(lock_path(spec), spec))
    return {ASSERTED} if found.strength == "git" and found.time is None else set()


@attack(
    AUTHOR, "`echo 10.1234/notreal > gridcard.lock.doi`, with a home-made record beside it", UNCHECKED,
    instead((attestation, "registrations", lambda *_: [("10.1234/notreal", "at a registry", AT)])),
)  # fmt: skip
def doi_of_nothing(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    (folder / "gridcard.lock.doi").write_text("10.1234/notreal\n")
    (folder / "gridcard.lock.record.json").write_text('{"doi": "10.1234/notreal"}')
    found = attestations(lock_path(spec), spec)
    return {UNCHECKED} if strongest_attestation(found).strength == "unanchored" else set()


@attack(
    AUTHOR, "a record of 2020 gets the stamp of today as its description", CHANGED,
    instead((attestation, "_last", lambda dates: min(each for each in dates if each))),
)  # fmt: skip
def record_changed_later(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    path = lock_path(spec)
    text = f"{json.loads(path.read_text())['stamp']} {anchor_digest(path)}"
    dates = {"created": "2020-01-01T00:00:00+00:00", "modified": "2026-01-01T00:00:00+00:00"}
    held = {"doi": "10.5281/zenodo.1", "metadata": {"description": text}, **dates}
    fetched = folder / "fetched.json"
    fetched.write_text(json.dumps(held))
    found = strongest_attestation(attestations(path, spec, Trust(records=(fetched,))))
    return {CHANGED} if found.time is not None and found.time.startswith("2026") else set()


def anchor_digest(path: Path) -> str:
    return shell(path.parent, "sha256sum", path.name).decode().split()[0]


def fetched(folder: Path, **said: object) -> set[str]:
    """What a record at Zenodo comes to that holds the stamp and the lock's digest, and says this beside."""
    spec = locked(folder)
    path = lock_path(spec)
    text = f"{json.loads(path.read_text())['stamp']} {anchor_digest(path)}"
    held = {"doi": "10.5281/zenodo.1", "created": "2020-01-01T00:00:00+00:00", "metadata": {"notes": text}}
    (folder / "fetched.json").write_text(json.dumps(held | said))
    try:
        attestations(path, spec, Trust(records=(folder / "fetched.json",)))
    except StampError as error:
        return {each.code for each in error.diagnostics}
    return set()


@attack(
    AUTHOR, "a draft at a registry, which is changed as one likes, holds the stamp", "GC406",
    instead((attestation, "_require_none", nothing)),
)  # fmt: skip
def record_of_a_draft(folder: Path, patch: MonkeyPatch) -> set[str]:
    return fetched(folder, is_draft=True)


@attack(
    AUTHOR, "a registry's record of another stamp is given for this one", "GC406",
    instead((attestation, "_checked", lambda path, *_: attestation._read(json.loads(path.read_bytes())))),
)  # fmt: skip
def record_of_another_stamp(folder: Path, patch: MonkeyPatch) -> set[str]:
    return fetched(folder, metadata={"notes": "a stamp and a lock: " + "b" * 64})


@attack(
    AUTHOR, "a record's DOI carries an escape sequence for the terminal", "GC406",
    instead((attestation, "_DOI", re.compile("(?s).*"))),
)  # fmt: skip
def record_that_escapes(folder: Path, patch: MonkeyPatch) -> set[str]:
    return fetched(folder, doi="10.5281/\x1b[2K\x1b[1Averified")


IN_ORDER = "certificates in a token are put in the order of DER (`attestation._ordered`)"


@attack(
    "nobody: an authority sends its chain", "a sound token is refused for the order of its certificates",
    IN_ORDER, instead((attestation, "_ordered", lambda response: response)),
)  # fmt: skip
def token_with_its_chain(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    place = make_chain(make_authority(folder, "authority"), ("one",))
    for order in (("root", "one"), ("one", "root")):
        ask_for_token(place, lock_path(spec), order)
        try:
            found = strongest_attestation(
                attestations(lock_path(spec), spec, Trust(roots=(place / "root.pem",)))
            )
        except StampError:
            return set()
        assert found.strength == "timestamped"
    return {IN_ORDER}


CLOCK = "backward dates are told (`events.steps_back`)"


@attack(
    "the host",
    "the clock is set back during the run, and dates of calls lie before the stamp",
    CLOCK,
    instead((ties, "steps_back", nothing)),
)
def clock_set_back(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    first = Event.after(None, "2026-01-02T00:00:00.000+00:00", RunStarted(stamp=STAMP, gridc="0", answered=0))
    then = Event.after(first, "2020-01-01T00:00:00.000+00:00", RunStarted(stamp=STAMP, gridc="0", answered=1))
    shown = check_ties(lock_path(spec), spec, folder, [first, then], STAMP, NOBODY)
    return {CLOCK} if any("the clock was set back at event 2" in line for line in shown.lines) else set()


ONCE = "a first lock is created once (`files.write_new`)"


@attack(
    "nobody: three first runs start at once",
    "the lock that is left is not the one that the store began under",
    ONCE,
    instead((lock, "write_new", write_atomic)),
)
def two_first_locks(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = write_study(folder)
    study = compile_spec(spec).study
    mine = make_lock(study, spec)
    begun = lock.create_lock(mine, lock_path(spec))
    lock.create_lock(replace(mine, created="2030-01-01T00:00:00+00:00"), lock_path(spec))
    return {ONCE} if lock_path(spec).read_text() == begun.text() else set()


@attack(
    "nobody: two processes supersede at once",
    "one of the new stamps vanishes from the lock's chain",
    "GC401",
    instead((stamping, "read_lock", lambda _: HELD[0])),
)
def two_superseding_locks(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = locked(folder)
    spec.write_text(spec.read_text().replace("n = 48", "n = 40"))
    compiled = compile_spec(spec)
    patch.setattr("tests.adversary.rooms.ties.HELD", [compiled.lock])
    write_lock(make_lock(replace(compiled.study), spec, compiled.lock), lock_path(spec))
    try:
        stamping.make_stamp(compiled, supersede=True)
    except StampError as error:
        return {each.code for each in error.diagnostics}
    return set()


HELD: list[object] = []
