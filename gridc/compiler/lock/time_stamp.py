"""RFC 3161 tokens, checked under the roots that the verifier names, or those of the system."""

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gridc.compiler.lock.evidence import beside, misfit, read_evidence
from gridc.compiler.lock.trust import Trust
from gridc.diagnostics.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from rfc3161_client import TimeStampResponse


UNREAD_TIME = "a time that nothing here can read (pip install 'gridc[anchor]')"


def tokens(path: Path, trust: Trust) -> Iterator[tuple[str, str | None, str | None]]:
    """The time that the token beside a file states, and where its authority stands under the verifier's
    roots: the root's name, and that time again. Raises `StampError` (GC406) where the token is not one of the
    file."""
    evidence = beside(path, ".tsr")
    data = read_evidence(evidence)
    if data is None:
        return
    try:
        from rfc3161_client import decode_timestamp_response
    except ImportError:
        yield UNREAD_TIME, None, None
        return
    try:
        response = decode_timestamp_response(data)
        when = response.tst_info.gen_time.isoformat()
        imprint = response.tst_info.message_imprint.message
    except ValueError as error:
        raise misfit(evidence, f"not an RFC 3161 response ({error})", "ask the authority again") from None
    names = {32: "sha256", 48: "sha384", 64: "sha512"}
    if len(imprint) not in names or hashlib.new(names[len(imprint)], path.read_bytes()).digest() != imprint:
        what = path.suffix.removeprefix(".") or "file"
        help = f"ask for a token of {path.name} as it is now, or remove {evidence.name}"
        raise misfit(evidence, f"the token is not one of this {what}", help)
    root = _root(response, path.read_bytes(), trust)
    yield when, root, when if root else None


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
        for der in ssl.create_default_context().get_ca_certs(binary_form=True):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of what an old root has that no new one may
                    root = load_der_x509_certificate(der)
            except ValueError:  # one that this version of cryptography refuses vouches for nothing
                continue
            yield "a root of the system", root
    for path in trust.roots:
        try:
            found = load_pem_x509_certificates(trust.read(path))
        except ValueError as error:
            message = f"there are no root certificates in it ({error})"
            raise UsageError([Diagnostic("GC000", message, str(path))]) from None
        for each in found:
            yield f"a root that the verifier named, {path.name}", each
