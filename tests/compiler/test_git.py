"""What is believed of a git repository: objects whose bytes hash to their names, loose and packed."""

import hashlib
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from gridc.compiler.lock.git import Repository, git_repository
from tests.adversary.rooms.clones import shell, store_forged
from tests.authorities import needs_git

pytestmark = needs_git

KINDS = {"commit": 1, "tree": 2, "blob": 3}
HASHES = {"sha1": hashlib.sha1, "sha256": hashlib.sha256}


def commit(folder: Path) -> str:
    shell(folder, "git", "add", "-A")
    shell(folder, "git", "commit", "-qm", "x")
    return shell(folder, "git", "rev-parse", "HEAD")


def opened(folder: Path) -> Repository:
    repository = git_repository(folder)
    assert repository is not None
    return repository


@pytest.fixture(params=HASHES)
def hashing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(tmp_path: Path, hashing: str) -> Path:
    """A committed file in a folder of a repository."""
    shell(tmp_path, "git", "init", "-q", "-b", "main", f"--object-format={hashing}")
    path = tmp_path / "studies" / "one.lock"
    path.parent.mkdir()
    path.write_text("as it was\n")
    commit(tmp_path)
    return path


def content(folder: Path, kind: str, name: str) -> bytes:
    return subprocess.run(
        ["git", "cat-file", kind, name], cwd=folder, capture_output=True, check=True
    ).stdout  # fmt: skip


def pack_forged(folder: Path, hashing: str, name: str, kind: str, data: bytes) -> None:
    """Store the bytes in a pack, with an index that gives them another name. The true object goes."""
    (folder / ".git" / "objects" / name[:2] / name[2:]).unlink()
    size, head = len(data) >> 4, bytearray([KINDS[kind] << 4 | len(data) & 15])
    while size:
        head[-1] |= 128
        head.append(size & 127)
        size >>= 7
    held = bytes(head) + zlib.compress(data)
    body = b"PACK" + struct.pack(">II", 2, 1) + held
    checksum = HASHES[hashing](body).digest()
    fanout = b"".join(struct.pack(">I", int(byte >= int(name[:2], 16))) for byte in range(256))
    index = b"\xfftOc" + struct.pack(">I", 2) + fanout + bytes.fromhex(name)
    index += struct.pack(">II", zlib.crc32(held), 12) + checksum
    packs = folder / ".git" / "objects" / "pack"
    (packs / f"pack-{checksum.hex()}.pack").write_bytes(body + checksum)
    (packs / f"pack-{checksum.hex()}.idx").write_bytes(index + HASHES[hashing](index).digest())


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
@pytest.mark.parametrize("forged", ["commit", "tree", "inner tree", "blob"])
def test_an_object_under_another_objects_name_is_not_believed(
    file: Path, tmp_path: Path, hashing: str, forged: str, packed: bool
) -> None:
    before = opened(tmp_path)
    named = {
        "commit": before.head,
        "tree": shell(tmp_path, "git", "rev-parse", "HEAD:"),
        "inner tree": shell(tmp_path, "git", "rev-parse", "HEAD:studies"),
        "blob": shell(tmp_path, "git", "rev-parse", "HEAD:studies/one.lock"),
    }
    kind = forged.removeprefix("inner ")
    if forged == "blob":  # of this one the file's bytes are hashed anyway
        data = b"another"
    else:
        file.write_text("as it became\n")
        commit(tmp_path)
        place = {"commit": "HEAD", "tree": "HEAD:", "inner tree": "HEAD:studies"}[forged]
        data = content(tmp_path, kind, shell(tmp_path, "git", "rev-parse", place))
        (tmp_path / ".git" / "refs" / "heads" / "main").write_text(before.head + "\n")
    if packed:
        pack_forged(tmp_path, hashing, named[forged], kind, data)
    else:
        store_forged(tmp_path, named[forged], kind, data)
    assert content(tmp_path, kind, named[forged]) == data, "git itself believes it"
    assert opened(tmp_path).head == before.head
    assert not opened(tmp_path).holds(file)
    if forged != "blob":
        assert opened(tmp_path).last_change(file) is None


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_the_last_change_is_the_one_that_git_names(file: Path, tmp_path: Path, packed: bool) -> None:
    """Over a branch that leaves the file alone, one that changes it, and one that takes it away."""

    def check() -> None:
        if packed:
            shell(tmp_path, "git", "gc", "-q")
        for name in ("studies/one.lock", "other", "never"):
            expected = shell(tmp_path, "git", "rev-list", "-1", "HEAD", "--", name) or None
            assert opened(tmp_path).last_change(tmp_path / name) == expected, name

    check()
    shell(tmp_path, "git", "checkout", "-qb", "side")
    (tmp_path / "other").write_text("more")
    commit(tmp_path)
    check()
    shell(tmp_path, "git", "checkout", "-q", "main")
    file.write_text("as it became\n")
    commit(tmp_path)
    shell(tmp_path, "git", "merge", "-q", "side", "-m", "x")
    check()
    assert opened(tmp_path).holds(file)
    file.unlink()
    commit(tmp_path)
    check()
    file.write_text("as it became\n")
    assert not opened(tmp_path).holds(file)
