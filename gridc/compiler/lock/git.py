"""What a git repository holds, read without running anything that the repository names.

A repository's own configuration names programs (fsmonitor, filters, hooks, gpg, remotes), and a folder that
was cloned or unpacked is somebody else's. So git never sees it: gridc finds the objects and the commit of
HEAD itself, and runs git in a new, empty repository whose object store is theirs. There is nothing in that
one to obey, and only commands that read objects are used.
"""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gridc.files import read_regular

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"refs/(?!.*\.\.)[\w./+@-]+")
_MOST = 16 << 20
"""Bytes of a file inside .git that is read here. `packed-refs` of a very large repository has a few
million."""

MOST_MEMORY = "256m"
"""What git may take for one object: a few kilobytes of a tree may stand for gigabytes."""

_MOST_STORES = 32
"""Object stores that one repository may borrow from."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree's top folder, the object store of its repository, and the commit that is checked out."""

    top: Path
    objects: Path
    head: str
    shallow: bytes | None

    def holds(self, path: Path) -> bool:
        """Whether the commit holds the file with exactly these bytes, or with these lines where line ends are
        CRLF in the work tree."""
        name = self._name(path)
        stored = self._git("rev-parse", "--verify", "--quiet", f"{self.head}:{name}") if name else None
        if not stored:
            return False
        data = path.read_bytes()
        return stored in (self._blob(data), self._blob(data.replace(b"\r\n", b"\n")))

    def last_change(self, path: Path) -> str | None:
        """The last commit that changed the file; None where there is none."""
        name = self._name(path)
        return (self._git("rev-list", "-1", self.head, "--", f":(literal){name}") or None) if name else None

    def _name(self, path: Path) -> str | None:
        with suppress(OSError, ValueError):
            return path.resolve().relative_to(self.top.resolve()).as_posix()
        return None

    def _blob(self, data: bytes) -> str:
        kind = hashlib.sha1 if len(self.head) == 40 else hashlib.sha256
        return kind(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def _git(self, *arguments: str) -> str | None:
        with tempfile.TemporaryDirectory(prefix="gridc-git-") as empty:
            folder = Path(empty)
            for name in ("objects", "refs"):
                (folder / name).mkdir()
            (folder / "HEAD").write_text("ref: refs/heads/none\n")
            kind = "" if len(self.head) == 40 else "[extensions]\n\tobjectformat = sha256\n"
            version = 1 if kind else 0
            (folder / "config").write_text(
                f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{kind}"
            )
            if self.shallow is not None:
                (folder / "shallow").write_bytes(self.shallow)
            try:
                done = subprocess.run(
                    ["git", "--no-pager", "-c", "core.commitGraph=false", *arguments], cwd=folder,
                    env=_environment(folder, self.objects), stdin=subprocess.DEVNULL, capture_output=True,
                    text=True, timeout=10, check=True,
                )  # fmt: skip
            except (OSError, ValueError, subprocess.SubprocessError):
                return None
            return done.stdout.strip()


def repository_of(folder: Path) -> Repository | None:
    """The repository whose work tree holds the folder. None where there is none, where nothing is committed,
    or where it cannot be read without git's own configuration (a bare repository, refs in a reftable)."""
    top = folder.resolve()
    while not os.path.lexists(top / ".git"):
        if top == top.parent:
            return None
        top = top.parent
    try:
        private = _private_folder(top)
        common = private
        with suppress(FileNotFoundError):
            common = private / read_regular(private / "commondir", 4096).decode().strip()
        head = _commit(private, common)
        if head is None or not _is_plain(common / "objects"):
            return None
        shallow = None
        with suppress(FileNotFoundError):
            shallow = read_regular(common / "shallow", _MOST)
    except (OSError, ValueError):
        return None
    return Repository(top, (common / "objects").resolve(), head, shallow)


def _is_plain(objects: Path) -> bool:
    """Whether an object store, and each that it borrows from, is a folder of nothing but files and folders:
    git would wait for ever on a pipe. Raises `OSError` where it cannot be listed, and `ValueError` where the
    list of lenders is too long."""
    stores, seen = [objects], set[Path]()
    while stores:
        store = stores.pop()
        if store in seen or not store.is_dir():
            continue
        seen.add(store)
        if len(seen) > _MOST_STORES:
            return False
        folders = [store]
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif entry.is_dir():
                        stores.append(Path(entry.path).resolve())
                    elif not entry.is_file():
                        return False
        with suppress(FileNotFoundError):
            lenders = os.fsdecode(read_regular(store / "info" / "alternates", _MOST)).splitlines()
            stores += [store / lender for lender in lenders if lender and not lender.startswith("#")]
    return True


def _private_folder(top: Path) -> Path:
    """`.git`, or what it points to in a submodule or a second work tree."""
    place = top / ".git"
    if place.is_dir():
        return place
    text = read_regular(place, 4096).decode()
    if not text.startswith("gitdir: "):
        raise ValueError("not a .git file")
    return top / text.removeprefix("gitdir: ").strip()


def _commit(private: Path, common: Path) -> str | None:
    head = read_regular(private / "HEAD", 4096).decode().strip()
    if COMMIT.fullmatch(head):
        return head
    name = head.removeprefix("ref: ")
    if not _REF.fullmatch(name):
        return None
    for found in _values(common, name):
        if COMMIT.fullmatch(found):
            return found
    return None


def _values(common: Path, name: str) -> Iterator[str]:
    with suppress(FileNotFoundError, NotADirectoryError):
        yield read_regular(common / name, 4096).decode().strip()
    with suppress(FileNotFoundError):
        for line in read_regular(common / "packed-refs", _MOST).decode().splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name:
                yield commit


def _environment(folder: Path, objects: Path) -> dict[str, str]:
    """Nothing of the caller's environment but where programs are: every GIT_* is another way to configure."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ}
    return kept | {
        "LC_ALL": "C",
        "HOME": str(folder),
        "GIT_DIR": str(folder),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOC_LIMIT": MOST_MEMORY,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
    }
