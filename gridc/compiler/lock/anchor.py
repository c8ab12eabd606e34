"""How strongly a lock is tied to a time or a person, from the evidence that lies beside it.

    gridcard.lock       committed to git, and unchanged since     git
    gridcard.lock.sig   an ssh signature of the lock's bytes      signed
    gridcard.lock.tsr   an RFC 3161 token for the lock's bytes    timestamped
    gridcard.lock.doi   the DOI of a registry's entry             registered

A signature or token that does not fit the lock is an error (GC406), never a weaker anchor.
"""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from gridc.compiler.lock.git import repository_of
from gridc.diagnostics.errors import Diagnostic, StampError
from gridc.schema.base import Strength

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

STRENGTHS: tuple[Strength, ...] = get_args(Strength)
NAMESPACE = "gridc"
SIGNERS = "allowed_signers"
_DOI = re.compile(r"10\.\d{4,9}/\S+")


@dataclass(frozen=True, slots=True)
class Anchor:
    """One tie of a lock. `committed` is the time that it proves, ISO 8601, where it proves one."""

    strength: Strength
    detail: str
    committed: str | None = None


def anchor(lock_path: Path, spec_path: Path) -> Anchor:
    """The strongest tie that the lock has now. Raises `StampError` when evidence does not fit the lock."""
    return max(anchors(lock_path, spec_path), key=lambda each: STRENGTHS.index(each.strength))


def anchors(lock_path: Path, spec_path: Path) -> list[Anchor]:
    """Every tie that the lock has, and `unanchored` with the reason when it has no commit."""
    return [_git(lock_path, spec_path), *_signature(lock_path), *_token(lock_path), *_registration(lock_path)]


def _git(lock_path: Path, spec_path: Path) -> Anchor:
    repository = repository_of(lock_path.parent)
    commit = repository.last_change(lock_path) if repository else None
    if repository is None or commit is None:
        return Anchor("unanchored", "the lock is not committed")
    if not repository.holds(lock_path) or not repository.holds(spec_path):
        return Anchor("unanchored", "the spec or the lock differs from what is committed")
    return Anchor("git", commit)


def _signature(lock_path: Path) -> Iterator[Anchor]:
    path = _beside(lock_path, ".sig")
    if not path.is_file():
        return
    checked = _ssh_keygen(lock_path, "check-novalidate", "-s", str(path))
    if checked is None:
        yield Anchor("unanchored", "the lock has a signature; there is no ssh-keygen here to check it")
        return
    key = re.search(r"SHA256:\S+", checked.stdout)
    if checked.returncode or key is None:
        raise _misfit(path, "the signature is not one of this lock", "sign the lock again, or remove it")
    signers = lock_path.with_name(SIGNERS)
    who = f"key {key[0]}, which no `{SIGNERS}` file beside the lock names"
    if signers.is_file():
        found = _ssh_keygen(lock_path, "find-principals", "-s", str(path), "-f", str(signers))
        if found is not None and found.returncode == 0:
            who = f"{found.stdout.split()[0]} (key {key[0]})"
    yield Anchor("signed", f"by {who}")


def _token(lock_path: Path) -> Iterator[Anchor]:
    path = _beside(lock_path, ".tsr")
    if not path.is_file():
        return
    try:
        from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response
    except ImportError:
        help = "pip install 'gridc[anchor]' checks it"
        yield Anchor("unanchored", f"the lock has an RFC 3161 token that is not checked here: {help}")
        return
    try:
        response = decode_timestamp_response(path.read_bytes())
    except ValueError as error:
        raise _misfit(path, f"not an RFC 3161 response ({error})", "ask the authority again") from None
    _require_imprint(response, lock_path, path)
    when = response.tst_info.gen_time.isoformat()
    roots = _beside(lock_path, ".roots.pem")
    if not roots.is_file():
        reason = f"its authority is not checked without the root certificates in {roots.name}"
        yield Anchor("unanchored", f"the lock has a token of {when}; {reason}")
        return
    from cryptography.x509 import load_pem_x509_certificates

    try:
        builder = VerifierBuilder()
        for certificate in load_pem_x509_certificates(roots.read_bytes()):
            builder = builder.add_root_certificate(certificate)
        builder.build().verify_message(response, lock_path.read_bytes())
    except (VerificationError, ValueError) as error:
        help = f"{roots.name} must hold the root of the authority that made the token"
        raise _misfit(path, f"the token cannot be verified: {error}", help) from None
    yield Anchor("timestamped", f"by an authority under {roots.name}", when)


def _require_imprint(response: "TimeStampResponse", lock_path: Path, path: Path) -> None:
    imprint = response.tst_info.message_imprint.message
    names = {32: "sha256", 48: "sha384", 64: "sha512"}
    data = lock_path.read_bytes()
    if len(imprint) not in names or hashlib.new(names[len(imprint)], data).digest() != imprint:
        raise _misfit(path, "the token is not one of this lock", "ask for a token of the lock as it is now")


def _registration(lock_path: Path) -> Iterator[Anchor]:
    path = _beside(lock_path, ".doi")
    if not path.is_file():
        return
    doi = path.read_text("utf-8", "replace").strip().removeprefix("https://doi.org/")
    if not _DOI.fullmatch(doi):
        raise _misfit(
            path, f"{doi[:40]!r} is not a DOI", "write the DOI alone, such as 10.17605/OSF.IO/AB123"
        )
    yield Anchor("registered", f"https://doi.org/{doi}, which must show this stamp")


def _beside(lock_path: Path, suffix: str) -> Path:
    return lock_path.with_name(lock_path.name + suffix)


def _misfit(path: Path, problem: str, help: str) -> StampError:
    return StampError([Diagnostic("GC406", problem, str(path), help=help)])


def _ssh_keygen(lock_path: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    try:
        with lock_path.open("rb") as lock:
            return subprocess.run(
                ["ssh-keygen", "-Y", *arguments, "-n", NAMESPACE],
                stdin=lock, capture_output=True, text=True, timeout=30, check=False,
            )  # fmt: skip
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
