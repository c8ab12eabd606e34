"""Reads what a git repository has committed, without running any program that the repository names.

A repository's own configuration names programs (fsmonitor, filters, hooks, gpg, remotes), and a folder that
was cloned or unpacked is somebody else's. So git never sees it: gridc finds the object store and the commit
of HEAD itself, and runs git in a new, empty repository that borrows this store. The new repository configures
nothing. Git only prints objects, packed or loose; gridc hashes each of them and reads it itself.
"""

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from gridc.files import read_regular
from gridc.launch import PIPE, Child, bound_time, start

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"refs/(?!.*\.\.)[\w./+@-]+")
_MOST = 16 << 20
"""The most bytes of a file inside .git that are read here. `packed-refs` of a very large repository has a few
million."""

MOST_MEMORY = "256m"
"""Memory that git may take for one object: a few packed kilobytes can unpack to gigabytes."""

_MOST_STORES = 32
"""Object stores that one repository may borrow from."""


SECONDS = 60
"""CPU time that git may take for one question: a stranger's repository has no known end."""
PATIENCE = 600
"""Seconds after which git is ended, whatever it does: waiting takes no CPU time, so `SECONDS` does not end
it."""


class _UnsoundError(ValueError):
    """An object that is missing, is of another kind, or does not hash to its name."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A work tree's top folder, the object store of its repository, and the commit that is checked out.

    An object's bytes must hash to its name: git checks that only in `git fsck`, and a stranger can write any
    bytes under any name.
    """

    top: Path
    objects: Path
    head: str
    shallow: bytes | None

    def holds(self, path: Path) -> bool:
        """Whether the commit holds the file with exactly these bytes, or with these lines where line ends are
        CRLF in the work tree."""
        name = self._name(path)
        if not name:
            return False
        data = path.read_bytes()
        with suppress(OSError, _UnsoundError), self._opened() as objects:
            stored = objects.entry(objects.commit(self.head)[0], name)
            for written in (data, data.replace(b"\r\n", b"\n")):
                if stored == ("blob", hashed(self.head, "blob", written)):
                    return objects.read(stored[1], "blob", len(written)) == written
        return False

    def last_change(self, path: Path) -> str | None:
        """The last commit that changed the file; None where there is none. Of a merge's parents it follows
        the first that has the same file, as `git log` does."""
        name = self._name(path)
        if not name:
            return None
        # A shallow clone names parents that it does not have; its oldest commits count as the first.
        cut = set((self.shallow or b"").decode("ascii", "replace").split())
        with suppress(OSError, _UnsoundError), self._opened() as objects:
            commit = self.head
            tree, parents = objects.commit(commit)
            stored = objects.entry(tree, name)
            while parents and commit not in cut:
                for parent in parents:
                    tree_before, parents_before = objects.commit(parent)
                    if tree_before == tree or objects.entry(tree_before, name) == stored:
                        commit, tree, parents = parent, tree_before, parents_before
                        break
                else:
                    return commit
            return None if stored is None else commit
        return None

    def _name(self, path: Path) -> bytes | None:
        with suppress(OSError, ValueError):
            return os.fsencode(path.resolve().relative_to(self.top.resolve()).as_posix())
        return None

    @contextmanager
    def _opened(self) -> "Iterator[_Objects]":
        """The objects of the repository, as git shows them from an empty one. Raises `OSError` where there is
        no git."""
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
            with start(
                ["git", "--no-pager", "cat-file", "--batch"],
                variables=_variables(folder, self.objects), stdin=PIPE, stdout=PIPE, folder=folder,
            ) as git:  # fmt: skip
                bound_time(git.pid, SECONDS)
                late = threading.Timer(PATIENCE, git.kill)
                late.daemon = True
                late.start()
                try:
                    yield _Objects(git, self.head)
                finally:
                    late.cancel()
                    git.kill()


class _Objects:
    """The objects that a running `git cat-file --batch` shows, each hashed. Raises `_UnsoundError`."""

    def __init__(self, git: Child, head: str) -> None:
        self._git = git
        self._head = head
        self._folders: dict[tuple[str, bytes], tuple[str, str] | None] = {}

    def read(self, name: str, kind: str, size: int | None = None) -> bytes:
        """The bytes of an object of a kind, and of a size where one is given."""
        assert self._git.stdin is not None and self._git.stdout is not None
        if not re.fullmatch(rf"[0-9a-f]{{{len(self._head)}}}", name):
            raise _UnsoundError("not an object's name")
        try:
            self._git.stdin.write(name.encode() + b"\n")
            self._git.stdin.flush()
            shown = self._git.stdout.readline(200).split()
        except BrokenPipeError:
            raise _UnsoundError("git has ended") from None
        if len(shown) != 3 or shown[1] != kind.encode() or size not in (None, int(shown[2])):
            raise _UnsoundError(f"no such {kind}")
        data = self._git.stdout.read(int(shown[2]))
        if self._git.stdout.read(1) != b"\n":
            raise _UnsoundError("git has ended")
        _require_own(name, kind, data)
        return data

    def commit(self, name: str) -> tuple[str, tuple[str, ...]]:
        """The tree of a commit, and its parents."""
        lines = self.read(name, "commit").partition(b"\n\n")[0].decode("latin-1").split("\n")
        parents = tuple(
            line.removeprefix("parent ")
            for line in takewhile(lambda line: line.startswith("parent "), lines[1:])
        )
        return lines[0].removeprefix("tree "), parents

    def entry(self, tree: str, path: bytes) -> tuple[str, str] | None:
        """The kind (`blob`, `tree`, or other) and the name of what a tree has at a path; None where there is
        nothing."""
        if (tree, path) not in self._folders:
            first, _, rest = path.partition(b"/")
            rows = [row for row in self._rows(tree) if row[0] == first]
            if len(rows) > 1:
                raise _UnsoundError("a tree has two entries of one name")
            entry = rows[0][1:] if rows else None
            if rest and entry is not None:
                entry = self.entry(entry[1], rest) if entry[0] == "tree" else None
            self._folders[tree, path] = entry
        return self._folders[tree, path]

    def _rows(self, tree: str) -> Iterator[tuple[bytes, str, str]]:
        """The entries of a tree: name, kind, and the object's name."""
        data, place, size = self.read(tree, "tree"), 0, len(self._head) // 2
        while place < len(data):
            space, end = data.find(b" ", place), data.find(b"\0", place)
            if not place < space < end <= len(data) - size - 1:
                raise _UnsoundError("not a tree")
            mode, name = data[place:space], data[space + 1 : end]
            place = end + 1 + size
            yield name, _KINDS.get(mode, "other"), data[end + 1 : place].hex()


_KINDS = {b"40000": "tree", b"100644": "blob", b"100755": "blob"}
"""What an entry of a tree is, by its mode. A link's blob is where it leads, not what is there."""


def _require_own(name: str, kind: str, data: bytes) -> None:
    """Raise `_UnsoundError` where the bytes of an object are not those that its name is the hash of."""
    if hashed(name, kind, data) != name:
        raise _UnsoundError(f"the bytes of the {kind} {name} are not its own")


def hashed(like: str, kind: str, data: bytes) -> str:
    """The name of an object with these bytes, by the hash that made the name `like`."""
    function = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return function(b"%s %d\0" % (kind.encode(), len(data)) + data, usedforsecurity=False).hexdigest()


def is_installed() -> bool:
    """Whether git is here to read a repository's objects."""
    return shutil.which("git") is not None


def git_repository(folder: Path) -> Repository | None:
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
    for commit in _values(common, name):
        if COMMIT.fullmatch(commit):
            return commit
    return None


def _values(common: Path, name: str) -> Iterator[str]:
    """What a ref says; where it has a file of its own, no packed one counts, as for git."""
    with suppress(FileNotFoundError, NotADirectoryError):
        yield read_regular(common / name, 4096).decode().strip()
        return
    with suppress(FileNotFoundError):
        for line in read_regular(common / "packed-refs", _MOST).decode().splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name:
                yield commit


def _variables(folder: Path, objects: Path) -> dict[str, str]:
    """What git is told. It finds no GIT_* of the caller's: every one is another way to configure."""
    return {
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
