"""ssh signatures, checked by ssh-keygen against those whom the verifier names."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gridc.compiler.lock.evidence import beside, misfit, read_evidence
from gridc.compiler.lock.trust import FINGERPRINT, Trust
from gridc.confined import run_within

NAMESPACE = "gridc"
SECONDS = 30
"""CPU time that ssh-keygen may take."""
UNREAD_KEY = "a key that no ssh-keygen here can read"
_PATTERN = re.compile("[*?]")
_KEY = re.compile(r"(ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/=]+")


def signatures(path: Path, trust: Trust) -> Iterator[tuple[str, str | None]]:
    """The key that signed the file, and who of those whom the verifier named has it. Raises `StampError`
    (GC406) where the signature is not one of the file."""
    evidence = beside(path, ".sig")
    signature = read_evidence(evidence)
    if signature is None:
        return
    data = path.read_bytes()
    with tempfile.TemporaryDirectory(prefix="gridc-sig-") as folder:
        # ssh-keygen reads the very bytes that were read here, under a name that is no option.
        copy = Path(folder) / "signature"
        copy.write_bytes(signature)
        checked = _ssh_keygen(data, "check-novalidate", "-s", str(copy))
        if checked is None:
            yield UNREAD_KEY, None
            return
        key = FINGERPRINT.search(checked.stdout)
        if checked.returncode or key is None:
            what = path.suffix.removeprefix(".") or "file"
            help = f"sign it again, or remove {evidence.name}"
            raise misfit(evidence, f"the signature is not one of this {what}", help)
        yield f"key {key[0]}", _signer(data, copy, key[0], trust)


def _signer(data: bytes, signature: Path, key: str, trust: Trust) -> str | None:
    for name in trust.signers:
        if FINGERPRINT.fullmatch(name):
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
                return f"whoever fits {principal}" if _PATTERN.search(principal) else principal
    return None


def _principals(listed: str) -> list[str]:
    """To whom a key is listed: names before patterns, and none behind a `!`, for whom it is *not*."""
    every = [each.strip() for each in listed.replace(",", "\n").splitlines()]
    kept = [each for each in every if not each.startswith("!")]
    return sorted(kept, key=lambda each: _PATTERN.search(each) is not None)


def _allowed(path: Path, trust: Trust) -> bytes:
    """The lines of an `allowed_signers` file; a public key stands for the person in its comment."""
    lines = []
    for line in trust.read(path).decode("utf-8", "replace").splitlines():
        if _KEY.match(line):
            kind, key, *comment = line.split(maxsplit=2)
            who = comment[0].split()[0] if comment and comment[0].strip() else path.name
            line = f'"{re.sub("[^A-Za-z0-9@._+-]", "_", who)}" namespaces="{NAMESPACE}" {kind} {key}'
        lines.append(line + "\n")
    return "".join(lines).encode()


def _ssh_keygen(data: bytes, *arguments: str) -> "subprocess.CompletedProcess[str] | None":
    try:
        done = run_within(["ssh-keygen", "-Y", *arguments, "-n", NAMESPACE], SECONDS, data)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    texts = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)
