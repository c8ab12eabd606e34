"""Keys and time stamping authorities of our own, for tests of evidence."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")


def shell(folder: Path, *command: str, **environment: str) -> bytes:
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60,
        env={**os.environ, **environment},
    ).stdout  # fmt: skip


def commit(folder: Path, **environment: str) -> None:
    shell(folder, "git", "add", "-A")
    name = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    shell(folder, "git", *name, "commit", "-qm", "x", **environment)


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


def make_chain(authority: Path, names: Sequence[str]) -> Path:
    """An authority whose signing certificate stands under its root by way of these intermediate ones, the
    first under the root. In its folder `all.pem` has all of them and the root."""
    (authority / "serial").write_text("01")
    above = "root"
    for name in (*names, "tsa"):
        new = ("openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-sha256", "-config", "conf")
        shell(authority, *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        sign = ("-CA", f"{above}.pem", "-CAkey", f"{above}.key", "-CAcreateserial", "-days", "2")
        shell(authority, "openssl", "x509", "-req", "-in", f"{name}.csr", *sign, "-out", f"{name}.pem",
              "-extfile", "conf", "-extensions", "tsa_cert" if name == "tsa" else "ca")  # fmt: skip
        above = name
    return authority


def time_stamp(authority: Path, lock: Path, chain: Sequence[str] = ()) -> None:
    """Write a token beside the lock, with these certificates of the authority in it, in this order."""
    query = ("openssl", "ts", "-query", "-data", str(lock), "-sha256", "-cert", "-out", "query")
    shell(authority, *query)
    texts = [(authority / f"{name}.pem").read_text() for name in chain]
    (authority / "chain.pem").write_text("".join(texts))
    shell(authority, "openssl", "ts", "-reply", "-queryfile", "query", "-config", "conf", "-section", "main",
          *(("-chain", "chain.pem") if chain else ()), "-out", f"{lock}.tsr")  # fmt: skip
