"""Attestations: evidence that a lock existed at a time, or that a person signed it. Makes and checks it.

A lock says what was fixed before there were data. Whether it was made before them is shown by what lies
beside it, and the strongest evidence gives the lock its strength:

    gridcard.lock       committed to git, and unchanged since     git
    gridcard.lock.sig   an ssh signature of the lock's bytes      signed
    gridcard.lock.tsr   an RFC 3161 token for the lock's bytes    timestamped
    gridcard.lock.doi   the DOI of a registry's entry             registered

Evidence is checked each time that a strength is reported, and only against keys, roots and records that the
verifier names (`Trust`): what lies beside the lock was put there by whoever made the lock. Evidence that fits
the lock and that nobody named vouches for is reported, and adds no strength. Evidence that does not fit is an
error (GC406), never a weaker strength.

A registry's record is plain JSON that nobody signed, so one that comes with a study shows nothing. One that
the verifier fetched (`curl https://api.osf.io/v2/registrations/ID/`, or zenodo.org/api/records/ID) is the
registry's word, and whether it holds this study can then be checked offline. docs/stamps.md says what a
record must hold.
"""

import hashlib
import json
import re
import tempfile
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from gridc.compiler.frontend.expansion import spec_files
from gridc.compiler.lock.git import git_repository, is_installed
from gridc.compiler.lock.lock import read_lock
from gridc.compiler.lock.trust import FINGERPRINT, NOBODY, Trust
from gridc.diagnostics.errors import Diagnostic, StampError, UnavailableError, UsageError
from gridc.files import read_regular, write_new
from gridc.launch import CompletedProcess, TimeoutExpired, launch_program, run_within
from gridc.schema.base import Strength
from gridc.schema.canonical import digest_bytes

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from rfc3161_client import TimeStampResponse


_MOST_OF_EVIDENCE = 1 << 20


def evidence_path(path: Path, suffix: str) -> Path:
    """`gridcard.lock` has its signature in `gridcard.lock.sig`."""
    return path.with_name(path.name + suffix)


def read_evidence(path: Path) -> bytes | None:
    """A file of evidence; None where there is none. Raises `StampError` (GC406) for what cannot be one."""
    try:
        return read_regular(path, _MOST_OF_EVIDENCE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise misfit_error(path, f"it cannot be read ({error})", "remove it") from None


def misfit_error(path: Path, problem: str, help: str) -> StampError:
    """GC406: a file of evidence that does not belong to what it lies beside."""
    return StampError([Diagnostic("GC406", problem, str(path), help=help)])


NAMESPACE = "gridc"
KEYGEN_SECONDS = 30
"""CPU time that ssh-keygen may take."""
UNREAD_KEY = "a key that no ssh-keygen here can read"
_PATTERN = re.compile("[*?]")
_KEY = re.compile(r"(ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/=]+")


def signatures(path: Path, trust: Trust) -> Iterator[tuple[str, str | None]]:
    """(key, signer) of the signature beside the file, if there is one. The signer is None where nobody whom
    the verifier named has the key. Raises `StampError` (GC406) where the file was not what was signed."""
    evidence = evidence_path(path, ".sig")
    signature = read_evidence(evidence)
    if signature is not None:
        what = path.suffix.removeprefix(".") or "file"
        help = f"sign it again, or remove {evidence.name}"
        yield signer_of(path.read_bytes(), signature, evidence, trust, what, help)


def signer_of(
    data: bytes,
    signature: bytes,
    place: Path,
    trust: Trust,
    what: str = "file",
    help: str = "take the file from where it was signed, or sign it again",
) -> tuple[str, str | None]:
    """(key, signer) of a signature of these bytes; the signer is None where nobody whom the verifier named
    has the key. `what` says in messages what the bytes are. Raises `StampError` (GC406) at `place` where the
    signature is of other bytes."""
    with tempfile.TemporaryDirectory(prefix="gridc-sig-") as folder:
        # ssh-keygen must see the bytes that were checked, not a file that may change meanwhile, and under a
        # name that it cannot take for an option.
        copy = Path(folder) / "signature"
        copy.write_bytes(signature)
        checked = _ssh_keygen(data, "check-novalidate", "-s", str(copy))
        if checked is None:
            # Without ssh-keygen nobody can tell a good signature from a bad one, so it is no error either.
            return UNREAD_KEY, None
        key = FINGERPRINT.search(checked.stdout)
        if checked.returncode or key is None:
            raise misfit_error(place, f"the signature is not one of this {what}", help)
        return f"key {key[0]}", _signer(data, copy, key[0], trust)


def _signer(data: bytes, signature: Path, key: str, trust: Trust) -> str | None:
    for name in trust.signers:
        if FINGERPRINT.fullmatch(name):
            # ssh-keygen writes fingerprints without the padding of base64, other tools with it.
            if name.rstrip("=") == key.rstrip("="):
                return "the key that the verifier named"
            continue
        allowed = signature.with_name("allowed")
        allowed.write_bytes(_allowed(Path(name), trust))
        listed = _ssh_keygen(data, "find-principals", "-s", str(signature), "-f", str(allowed))
        for principal in _principals(listed.stdout) if listed is not None and listed.returncode == 0 else ():
            options = ("-f", str(allowed), "-I", principal, "-s", str(signature))
            verified = _ssh_keygen(data, "verify", *options)
            if verified is not None and verified.returncode == 0:
                # A pattern such as *@example.org names nobody in particular, and must not read as if it did.
                return f"whoever fits {principal}" if _PATTERN.search(principal) else principal
    return None


def _principals(listed: str) -> list[str]:
    """To whom a key belongs by a list of ssh-keygen: names first, then patterns. An entry that begins with
    `!` says to whom it does *not* belong."""
    entries = [entry.strip() for entry in listed.replace(",", "\n").splitlines()]
    principals = [entry for entry in entries if not entry.startswith("!")]
    return sorted(principals, key=lambda principal: _PATTERN.search(principal) is not None)


def _allowed(path: Path, trust: Trust) -> bytes:
    """The lines of an `allowed_signers` file; a public key stands for the person in its comment."""
    lines = []
    for line in trust.read(path).decode("utf-8", "replace").splitlines():
        if _KEY.match(line):
            kind, key, *comment = line.split(maxsplit=2)
            who = comment[0].split()[0] if comment and comment[0].strip() else path.name
            # A comment is free text: spaces or quotes in it would make options of the line.
            line = f'"{re.sub("[^A-Za-z0-9@._+-]", "_", who)}" namespaces="{NAMESPACE}" {kind} {key}'
        lines.append(line + "\n")
    return "".join(lines).encode()


def _ssh_keygen(data: bytes, *arguments: str) -> "CompletedProcess[str] | None":
    try:
        done = run_within(["ssh-keygen", "-Y", *arguments, "-n", NAMESPACE], KEYGEN_SECONDS, data)
    except (FileNotFoundError, TimeoutExpired):
        return None
    texts = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    return CompletedProcess(done.args, done.returncode, *texts)


UNREAD_TIME = "a time that nothing here can read (pip install 'gridc[anchor]')"


def tokens(path: Path, trust: Trust) -> Iterator[tuple[str, str | None, str | None]]:
    """(stated time, root, vouched time) of the token beside the file, if there is one. The last two are None
    where its authority stands under no root that the verifier believes. Raises `StampError` (GC406) where the
    token is of other bytes."""
    evidence = evidence_path(path, ".tsr")
    data = read_evidence(evidence)
    if data is None:
        return
    try:
        response = decoded(data)
        when = response.tst_info.gen_time.isoformat()
        imprint = response.tst_info.message_imprint.message
    except ImportError:
        yield UNREAD_TIME, None, None
        return
    except ValueError as error:
        raise misfit_error(
            evidence, f"not an RFC 3161 response ({error})", "ask the authority again"
        ) from None
    names = {32: "sha256", 48: "sha384", 64: "sha512"}
    if len(imprint) not in names or hashlib.new(names[len(imprint)], path.read_bytes()).digest() != imprint:
        what = path.suffix.removeprefix(".") or "file"
        help = f"ask for a token of {path.name} as it is now, or remove {evidence.name}"
        raise misfit_error(evidence, f"the token is not one of this {what}", help)
    root = _root(response, path.read_bytes(), trust)
    yield when, root, when if root else None


def decoded(data: bytes) -> "TimeStampResponse":
    """An authority's answer. Raises `ValueError` where the bytes are not one, and `ImportError` where
    rfc3161-client is not installed."""
    from rfc3161_client import decode_timestamp_response

    return decode_timestamp_response(_ordered(data))


def _ordered(response: bytes) -> bytes:
    """An RFC 3161 response with its certificates and revocation lists in the order of DER (X.690, 11.6).

    openssl writes them in the order of its files, and readers of strict DER refuse that. No signature covers
    the order (RFC 5652, 5.1). Other bytes are given back unchanged.
    """
    try:
        (answer,) = _parts(response, 0, len(response))
        _, token = _parts(response, *answer[2:])[:2]
        _, wrapped = _parts(response, *token[2:])[:2]
        (signed,) = _parts(response, *wrapped[2:])
        fields = _parts(response, *signed[2:])
    except (ValueError, IndexError):
        return response
    ordered = bytearray(response)
    for tag, _, begin, end in fields:
        if tag in _SETS:
            with suppress(ValueError, IndexError):
                elements = sorted(response[at:stop] for _, at, _, stop in _parts(response, begin, end))
                ordered[begin:end] = b"".join(elements)
    return bytes(ordered)


_SETS = (0xA0, 0xA1)
"""Tags of the certificates and of the revocation lists in signed data."""


def _parts(data: bytes, place: int, end: int) -> list[tuple[int, int, int, int]]:
    """The values in a part of a DER text, in order: each as (tag, its beginning, the beginning of its
    content, its end). Raises `ValueError` or `IndexError` where it is not DER."""
    parts = []
    while place < end:
        tag, size, begin = data[place], data[place + 1], place + 2
        if tag & 0x1F == 0x1F or size == 0x80:
            raise ValueError("a long tag or no stated length")
        if size > 0x80:
            begin += size - 0x80
            size = int.from_bytes(data[place + 2 : begin], "big")
        if begin + size > end:
            raise ValueError("longer than what holds it")
        parts.append((tag, place, begin, begin + size))
        place = begin + size
    return parts


def _root(response: "TimeStampResponse", data: bytes, trust: Trust) -> str | None:
    """The root under which the authority stands, and where it was found; None where there is none."""
    from rfc3161_client import VerificationError, VerifierBuilder

    for where, root in _roots(trust):
        try:
            VerifierBuilder().add_root_certificate(root).build().verify_message(response, data)
        except (VerificationError, ValueError):
            continue
        return f"`{root.subject.rfc4514_string()}` ({where})"
    return None


def _roots(trust: Trust) -> "Iterator[tuple[str, Certificate]]":
    import ssl

    from cryptography.x509 import load_der_x509_certificate, load_pem_x509_certificates

    if not trust.roots:
        # A system's own roots are believed only where the verifier names none: who names one means that one.
        for der in ssl.create_default_context().get_ca_certs(binary_form=True):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about old roots that break newer rules
                    root = load_der_x509_certificate(der)
            except ValueError:  # a root that this version of cryptography refuses vouches for nothing
                continue
            yield "a root of the system", root
    for path in trust.roots:
        try:
            certificates = load_pem_x509_certificates(trust.read(path))
        except ValueError as error:
            message = f"there are no root certificates in it ({error})"
            raise UsageError([Diagnostic("GC000", message, str(path))]) from None
        for certificate in certificates:
            yield f"a root that the verifier named, {path.name}", certificate


_MOST_OF_TOKEN = 1 << 20
SECONDS = 300
"""How long a passphrase or the touch of a hardware key is waited for."""
_AGENT = (
    "SSH_AUTH_SOCK", "SSH_SK_PROVIDER", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY",
    "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TERM",
)  # fmt: skip
"""Variables by which ssh-keygen finds an agent, and asks for a passphrase."""


def sign(path: Path, key: Path) -> None:
    """Sign the file's bytes with an ssh key, and write the signature beside it."""
    write_new(evidence_path(path, ".sig"), signature_of(path.read_bytes(), key))


def signature_of(data: bytes, key: Path) -> bytes:
    """The signature of these bytes with an ssh key; ssh-keygen asks for its passphrase. Raises
    `UnavailableError` (GC604) where there is no ssh-keygen or it waits too long, and `StampError` (GC406)
    where it does not sign."""
    try:
        command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key.resolve()), "-n", NAMESPACE]
        done = launch_program(command, _AGENT, data, SECONDS, told=True)
    except FileNotFoundError:
        message = "signing needs ssh-keygen, which is not here"
        raise UnavailableError([Diagnostic("GC604", message, help="install OpenSSH")]) from None
    except TimeoutExpired:
        message = f"ssh-keygen did not end within {SECONDS:g} s"
        help = "it waits for a passphrase, for a touch, or for a file that is not a regular one"
        raise UnavailableError([Diagnostic("GC604", message, str(key), help=help)]) from None
    if done.returncode or b"BEGIN SSH SIGNATURE" not in done.stdout:
        message = "ssh-keygen made no signature with this key"
        raise StampError([Diagnostic("GC406", message, str(key), help="name a private ssh key")])
    return done.stdout


def time_stamp(path: Path, url: str) -> None:
    """Have an authority time-stamp the file's bytes. Only their SHA-256 is sent. Raises `UsageError` (GC000)
    for no address, `UnavailableError` (GC604) without an answer, `StampError` (GC406) for a token of
    something else."""
    if not url.startswith(("https://", "http://")):
        raise UsageError([Diagnostic("GC000", f"{url} is not the address of a time stamping authority")])
    try:
        from rfc3161_client import HashAlgorithm, TimestampRequestBuilder
    except ImportError:
        message = "time stamps need rfc3161-client, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[anchor]'")]) from None
    builder = TimestampRequestBuilder().data(path.read_bytes()).hash_algorithm(HashAlgorithm.SHA256)
    query = builder.nonce(nonce=True).cert_request(cert_request=True).build()
    request = urllib.request.Request(url, query.as_bytes(), {"Content-Type": "application/timestamp-query"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            data = answer.read(_MOST_OF_TOKEN)
    except (OSError, urllib.error.URLError, ValueError) as error:
        message = f"the time stamping authority does not answer ({error})"
        raise UnavailableError(
            [Diagnostic("GC604", message, url, help="try again, or name another")]
        ) from None
    evidence = evidence_path(path, ".tsr")
    # Written first because `tokens` checks the file beside the lock, as every later reader will.
    write_new(evidence, data)
    try:
        list(tokens(path, Trust()))
        _require_answer_to(query.nonce, data, evidence)
    except StampError:
        evidence.unlink()
        raise


def _require_answer_to(nonce: int | None, answer: bytes, evidence: Path) -> None:
    """Raise `StampError` (GC406) where an answer lacks the nonce of its request. It may be an old answer
    about the same bytes, sent again by somebody in between (RFC 3161, 2.4.1)."""
    if decoded(answer).tst_info.nonce != nonce:
        why = "the answer does not belong to this request: its nonce differs"
        raise misfit_error(evidence, why, "ask again, or another authority")


_DOI = re.compile(r"10\.\d{4,9}/[\w.()/:;+-]+")


@dataclass(frozen=True, slots=True)
class Record:
    """A registry's record. `time` is its last change, not its first: the stamp may have been added then."""

    registry: str
    doi: str
    time: str


def registrations(lock_path: Path, trust: Trust) -> Iterator[tuple[str, str | None, str | None]]:
    """(DOI, who vouches for it, time of the record's last change) of each record that the verifier named, and
    of the DOI beside the lock, for which nobody vouches. Raises `StampError` (GC406) where a named record is
    not of this lock."""
    path = evidence_path(lock_path, ".doi")
    given = read_evidence(path)
    claimed = None if given is None else given.decode("utf-8", "replace").strip()
    if claimed is not None:
        claimed = claimed.removeprefix("https://doi.org/")
        if not _DOI.fullmatch(claimed):
            help = "write the DOI alone, such as 10.17605/OSF.IO/AB123"
            raise misfit_error(path, f"{claimed[:40]!r} is not a DOI", help)
    records = [_checked(download, lock_path, trust) for download in trust.records]
    for record in records:
        yield record.doi, f"at {record.registry}, last changed {record.time},", record.time
    if claimed is not None and claimed.lower() not in {record.doi.lower() for record in records}:
        yield claimed, None, None


def _checked(path: Path, lock_path: Path, trust: Trust) -> Record:
    """The record, when it holds the stamp and the digest of the lock's bytes."""
    help = "fetch it from the registry as `gridc docs stamps` says"
    data = trust.read(path)
    try:
        document = json.loads(data)
        record = _read(document)
        if not _DOI.fullmatch(record.doi):
            raise ValueError(f"{record.doi[:40]!r} is not a DOI")
        # The registries have no field for a digest, so it may stand in any: title, description or a file's.
        text = json.dumps(document, ensure_ascii=False)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise misfit_error(path, f"not a registry's record ({type(error).__name__}: {error})", help) from None
    lock = read_lock(lock_path)
    wanted = {
        "stamp": lock.stamp if lock else "",
        "SHA-256 of the lock": digest_bytes(lock_path.read_bytes()),
    }
    for what, value in wanted.items():
        if not value or value not in text:
            raise misfit_error(path, f"the record does not hold the {what} ({value[:12]}...)", help)
    return record


def _read(document: Mapping[str, Any]) -> Record:
    """A record of OSF's API (v2) or of Zenodo's. Raises `ValueError` for anything else."""
    data = document.get("data")
    if isinstance(data, dict) and data.get("type") == "registrations":
        attributes = data["attributes"]
        _require_none(attributes, "withdrawn", "pending_registration_approval", "archiving")
        dates = [attributes["date_registered"], attributes.get("date_modified")]
        return Record("OSF", f"10.17605/OSF.IO/{str(data['id']).upper()}", _last(dates))
    if "created" in document and "doi" in document and "metadata" in document:
        if document.get("state", "done") != "done" or document.get("status", "published") != "published":
            raise ValueError("the record is not published")
        _require_none(document, "is_draft")
        dates = [document["created"], document.get("modified"), document.get("updated")]
        return Record("Zenodo", str(document["doi"]), _last(dates))
    raise ValueError("neither OSF's registration nor Zenodo's record")


def _require_none(attributes: Mapping[str, Any], *states: str) -> None:
    """Raise `ValueError` where a record is in one of these states: it registers nothing yet, or no more."""
    for state in states:
        if attributes.get(state):
            raise ValueError(
                f"it is not a registration that is in force: its `{state}` is {attributes[state]!r}"
            )


def _last(dates: list[str | None]) -> str:
    times = [datetime.fromisoformat(date) for date in dates if date]
    aware = [time if time.tzinfo else time.replace(tzinfo=UTC) for time in times]
    return max(aware).isoformat(timespec="seconds")


STRENGTHS: tuple[Strength, ...] = get_args(Strength)
AttestationEvidence = Literal["none", "commit", "signature", "token", "registration"]
REACH: dict[AttestationEvidence, Strength] = {
    "none": "unanchored",
    "commit": "git",
    "signature": "signed",
    "token": "timestamped",
    "registration": "registered",
}
UNCOMMITTED = "the lock is not committed"
NO_GIT = "git is not installed here, so whether the lock is committed was not looked at"
CHANGED = "the spec or the lock differs from what is committed"
NO_COMMIT = (UNCOMMITTED, NO_GIT, CHANGED)
"""Why a lock has no commit, in words."""
SUFFIXES = (".sig", ".tsr", ".doi")
"""Endings of the files of evidence beside a lock or a record of results."""


@dataclass(frozen=True, slots=True)
class Attestation:
    """One piece of evidence about a file. `fact` is what it says by itself: a commit, a key, a token's time,
    a DOI. `by` says who vouches for it among those whom the verifier named; without one it adds no strength.
    `time` is the date that a third party vouches for, ISO 8601."""

    evidence: AttestationEvidence
    fact: str
    by: str | None = None
    time: str | None = None

    @property
    def strength(self) -> Strength:
        # A commit needs nobody to vouch for it: git shows it, and its strength claims no date.
        return REACH[self.evidence] if self.by is not None or self.evidence == "commit" else "unanchored"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"strength": self.strength, "detail": self.detail}

    @property
    def detail(self) -> str:
        """The attestation in words."""
        if self.evidence == "none":
            return self.fact
        if self.evidence == "commit":
            return f"commit {self.fact}, whose dates are its author's word"
        if self.by is None:
            return {
                "signature": f"a signature by {self.fact} is given; whose key it is was not checked",
                "token": f"a token of {self.fact} is given; its authority was not checked",
                "registration": f"DOI {self.fact} given, not checked",
            }[self.evidence]
        return {
            "signature": f"by {self.by}, {self.fact}",
            "token": f"{self.fact}, by an authority under {self.by}",
            "registration": f"https://doi.org/{self.fact}, whose record {self.by} holds the stamp",
        }[self.evidence]


def attestations(lock_path: Path, spec_path: Path, trust: Trust = NOBODY) -> list[Attestation]:
    """Every attestation of the lock; the first is its commit, or the reason why it has none. Raises
    `StampError` (GC406) where evidence does not fit the lock."""
    registered = (
        Attestation("registration", *registration) for registration in registrations(lock_path, trust)
    )
    return [_commit(lock_path, spec_path), *attestations_beside(lock_path, trust), *registered]


def attestations_beside(path: Path, trust: Trust = NOBODY) -> list[Attestation]:
    """The signature and the token beside a file. Raises `StampError` (GC406) where one does not fit it."""
    signed = (Attestation("signature", *signature) for signature in signatures(path, trust))
    return [*signed, *(Attestation("token", *token) for token in tokens(path, trust))]


def strongest_attestation(shown: Sequence[Attestation]) -> Attestation:
    """The strongest attestation, and the first of several that are equally strong."""
    return max(shown, key=lambda attestation: STRENGTHS.index(attestation.strength))


def in_words(shown: Sequence[Attestation]) -> str:
    """The strongest attestation, and what else is given and was not checked."""
    first = strongest_attestation(shown)
    unchecked = [
        attestation.detail
        for attestation in shown
        if attestation is not first and attestation.strength == "unanchored"
    ]
    given = [text for text in unchecked if text not in NO_COMMIT]
    return "; ".join([first.detail, *given])


def _commit(lock_path: Path, spec_path: Path) -> Attestation:
    repository = git_repository(lock_path.parent)
    if repository is not None and not is_installed():
        return Attestation("none", NO_GIT)
    commit = repository.last_change(lock_path) if repository else None
    if repository is None or commit is None:
        return Attestation("none", UNCOMMITTED)
    # Bases that a spec extends count too: a committed lock beside a changed base shows nothing.
    if not all(map(repository.holds, (lock_path, spec_path, *spec_files(spec_path)))):
        return Attestation("none", CHANGED)
    return Attestation("commit", commit)
