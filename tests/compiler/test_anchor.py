"""Ties of a lock to a time or a person: real commits, real ssh signatures, real time stamp tokens."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gridc.compiler.compile import Compiled
from gridc.compiler.lock.anchor import anchor, anchors
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.diagnostics.errors import StampError

Compile = Callable[..., Compiled]

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")


@pytest.fixture
def spec(compiled: Compile, small: Path) -> Path:
    """A small spec with its lock."""
    write_lock(make_lock(compiled().study, small), small.with_suffix(".lock"))
    return small


def tie(spec: Path) -> tuple[str, str]:
    found = anchor(spec.with_suffix(".lock"), spec)
    return found.strength, found.detail


def shell(folder: Path, *command: str, given: bytes = b"") -> bytes:
    return subprocess.run(command, cwd=folder, input=given, capture_output=True, check=True).stdout


def commit(folder: Path) -> None:
    shell(folder, "git", "add", "-A")
    name = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    shell(folder, "git", *name, "commit", "-qm", "x")


def misfit(spec: Path) -> str:
    with pytest.raises(StampError) as caught:
        anchors(spec.with_suffix(".lock"), spec)
    (only,) = caught.value.diagnostics
    assert only.code == "GC406"
    assert only.help
    return only.message


@needs_git
def test_a_lock_is_tied_by_the_commit_that_holds_it_while_nothing_has_changed(spec: Path) -> None:
    assert tie(spec) == ("unanchored", "the lock is not committed")
    shell(spec.parent, "git", "init", "-q")
    assert tie(spec)[0] == "unanchored"
    commit(spec.parent)
    head = shell(spec.parent, "git", "rev-parse", "HEAD").decode().strip()
    assert tie(spec) == ("git", head)
    spec.write_text(spec.read_text() + "\n# later\n")
    assert tie(spec) == ("unanchored", "the spec or the lock differs from what is committed")


@needs_ssh
def test_a_signature_names_its_key_and_its_signer(spec: Path) -> None:
    folder, lock = spec.parent, spec.with_suffix(".lock").name
    shell(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", "-C", "t")
    shell(folder, "ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", "gridc", lock)
    strength, detail = tie(spec)
    assert strength == "signed"
    assert "SHA256:" in detail
    assert "no `allowed_signers` file" in detail
    public = (folder / "key.pub").read_text()
    (folder / "allowed_signers").write_text(f"ada@example.org {public}")
    assert tie(spec)[1].startswith("by ada@example.org (key SHA256:")
    (folder / lock).write_text((folder / lock).read_text() + " ")
    assert misfit(spec) == "the signature is not one of this lock"


@needs_ssh
def test_a_signature_made_for_another_purpose_is_none(spec: Path) -> None:
    folder, lock = spec.parent, spec.with_suffix(".lock").name
    shell(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", "-C", "t")
    shell(folder, "ssh-keygen", "-q", "-Y", "sign", "-f", "key", "-n", "git", lock)
    assert misfit(spec) == "the signature is not one of this lock"


AUTHORITY = """
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[tsa_cert]
basicConstraints = CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
[tsa]
default_tsa = main
[main]
serial = ./serial
crypto_device = builtin
signer_cert = ./tsa.pem
signer_key = ./tsa.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
accuracy = secs:1
tsa_name = yes
ess_cert_id_alg = sha256
"""


def make_authority(folder: Path, name: str) -> Path:
    """A time stamping authority of our own: its folder holds a root and a signing certificate."""
    place = folder / name
    place.mkdir()
    (place / "conf").write_text(AUTHORITY)
    (place / "serial").write_text("01")
    new = ("openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-sha256")
    root = ("-x509", "-days", "2", "-subj", f"/CN={name} root", "-keyout", "root.key", "-out", "root.pem")
    shell(place, *new, *root, "-config", "conf", "-extensions", "ca")
    shell(place, *new, "-subj", f"/CN={name} tsa", "-keyout", "tsa.key", "-out", "tsa.csr", "-config", "conf")
    sign = ("-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", "2", "-out", "tsa.pem")
    shell(place, "openssl", "x509", "-req", "-in", "tsa.csr", *sign, "-extfile", "conf", "-extensions",
          "tsa_cert")  # fmt: skip
    return place


def time_stamp(authority: Path, lock: Path) -> None:
    query = ("openssl", "ts", "-query", "-data", str(lock), "-sha256", "-cert", "-out", "query")
    shell(authority, *query)
    shell(authority, "openssl", "ts", "-reply", "-queryfile", "query", "-config", "conf", "-section", "main",
          "-out", f"{lock}.tsr")  # fmt: skip


@needs_openssl
def test_a_token_ties_to_a_time_when_its_authority_is_known(
    spec: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("rfc3161_client")
    lock = spec.with_suffix(".lock")
    folder = tmp_path_factory.mktemp("authorities")
    ours, other = make_authority(folder, "ours"), make_authority(folder, "other")
    time_stamp(ours, lock)
    (_, token) = anchors(lock, spec)
    assert token.strength == "unanchored"
    assert "is not checked without the root certificates in gridcard.lock.roots.pem" in token.detail
    roots = lock.with_name("gridcard.lock.roots.pem")
    roots.write_bytes((ours / "root.pem").read_bytes())
    found = anchor(lock, spec)
    assert found.strength == "timestamped"
    assert found.committed is not None
    assert found.committed.startswith("20")
    roots.write_bytes((other / "root.pem").read_bytes())
    assert misfit(spec).startswith("the token cannot be verified")
    roots.write_bytes((ours / "root.pem").read_bytes())
    lock.write_text(lock.read_text() + " ")
    assert misfit(spec) == "the token is not one of this lock"
    lock.with_name("gridcard.lock.tsr").write_bytes(b"not a token")
    assert misfit(spec).startswith("not an RFC 3161 response")


@pytest.mark.parametrize("text", ["10.17605/OSF.IO/AB123\n", "https://doi.org/10.17605/OSF.IO/AB123"])
def test_a_doi_makes_it_registered(spec: Path, text: str) -> None:
    spec.with_name("gridcard.lock.doi").write_text(text)
    assert tie(spec) == ("registered", "https://doi.org/10.17605/OSF.IO/AB123, which must show this stamp")


def test_what_is_no_doi_registers_nothing(spec: Path) -> None:
    spec.with_name("gridcard.lock.doi").write_text("soon")
    assert misfit(spec) == "'soon' is not a DOI"
