"""RFC 3161 tokens, checked under the roots that the verifier names, or those of the system."""

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import suppress
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
        response = decoded(data)
        when = response.tst_info.gen_time.isoformat()
        imprint = response.tst_info.message_imprint.message
    except ImportError:
        yield UNREAD_TIME, None, None
        return
    except ValueError as error:
        raise misfit(evidence, f"not an RFC 3161 response ({error})", "ask the authority again") from None
    names = {32: "sha256", 48: "sha384", 64: "sha512"}
    if len(imprint) not in names or hashlib.new(names[len(imprint)], path.read_bytes()).digest() != imprint:
        what = path.suffix.removeprefix(".") or "file"
        help = f"ask for a token of {path.name} as it is now, or remove {evidence.name}"
        raise misfit(evidence, f"the token is not one of this {what}", help)
    root = _root(response, path.read_bytes(), trust)
    yield when, root, when if root else None


def decoded(data: bytes) -> "TimeStampResponse":
    """An authority's answer. Raises `ValueError` where the bytes are none, and `ImportError` where nothing
    here reads one."""
    from rfc3161_client import decode_timestamp_response

    return decode_timestamp_response(_ordered(data))


def _ordered(response: bytes) -> bytes:
    """An RFC 3161 response with its certificates and revocation lists in the order of DER (X.690, 11.6).

    openssl writes them in the order of its files, and readers of strict DER refuse that. No signature covers
    the order (RFC 5652, 5.1). What is no such response is given back as it is.
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
                held = sorted(response[at:stop] for _, at, _, stop in _parts(response, begin, end))
                ordered[begin:end] = b"".join(held)
    return bytes(ordered)


_SETS = (0xA0, 0xA1)
"""Tags of the certificates and of the revocation lists in signed data."""


def _parts(data: bytes, place: int, end: int) -> list[tuple[int, int, int, int]]:
    """The values that stand one after another in a part of a DER text: of each its tag, where it begins,
    and where its content begins and ends. Raises `ValueError` or `IndexError` where it is no DER."""
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
            certificates = load_pem_x509_certificates(trust.read(path))
        except ValueError as error:
            message = f"there are no root certificates in it ({error})"
            raise UsageError([Diagnostic("GC000", message, str(path))]) from None
        for certificate in certificates:
            yield f"a root that the verifier named, {path.name}", certificate
