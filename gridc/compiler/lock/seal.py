"""Making evidence: a signature by ssh-keygen, a token by an RFC 3161 authority."""

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from gridc.compiler.lock.evidence import beside, misfit
from gridc.compiler.lock.signature import NAMESPACE
from gridc.compiler.lock.time_stamp import decoded, tokens
from gridc.compiler.lock.trust import Trust
from gridc.diagnostics.errors import Diagnostic, StampError, UnavailableError, UsageError
from gridc.files import write_new

_MOST = 1 << 20
SECONDS = 300
"""How long a passphrase or the touch of a hardware key is waited for."""


def sign(path: Path, key: Path) -> None:
    """Sign the file's bytes with an ssh key; ssh-keygen asks for its passphrase. Raises `UnavailableError`
    (GC604) where there is no ssh-keygen or it waits too long, and `StampError` (GC406) where it does not
    sign."""
    try:
        done = subprocess.run(
            ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key.resolve()), "-n", NAMESPACE],
            input=path.read_bytes(), stdout=subprocess.PIPE, check=False, timeout=SECONDS,
        )  # fmt: skip
    except FileNotFoundError:
        message = "signing needs ssh-keygen, which is not here"
        raise UnavailableError([Diagnostic("GC604", message, help="install OpenSSH")]) from None
    except subprocess.TimeoutExpired:
        message = f"ssh-keygen did not end within {SECONDS:g} s"
        help = "it waits for a passphrase, for a touch, or for a file that is none"
        raise UnavailableError([Diagnostic("GC604", message, str(key), help=help)]) from None
    if done.returncode or b"BEGIN SSH SIGNATURE" not in done.stdout:
        message = "ssh-keygen made no signature with this key"
        raise StampError([Diagnostic("GC406", message, str(key), help="name a private ssh key")])
    write_new(beside(path, ".sig"), done.stdout)


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
            data = answer.read(_MOST)
    except (OSError, urllib.error.URLError, ValueError) as error:
        message = f"the time stamping authority does not answer ({error})"
        raise UnavailableError(
            [Diagnostic("GC604", message, url, help="try again, or name another")]
        ) from None
    evidence = beside(path, ".tsr")
    write_new(evidence, data)
    try:
        list(tokens(path, Trust()))
        _require_answer_to(query.nonce, data, evidence)
    except StampError:
        evidence.unlink()
        raise


def _require_answer_to(nonce: int | None, answer: bytes, evidence: Path) -> None:
    """Raise `StampError` (GC406) where an answer lacks the number that was asked with: it may be an old one,
    of the same bytes, sent again by whoever is in between (RFC 3161, 2.4.1)."""
    if decoded(answer).tst_info.nonce != nonce:
        why = "the answer is not to this request: its nonce is another one"
        raise misfit(evidence, why, "ask again, or another authority")
