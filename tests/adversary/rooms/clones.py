"""Folders that were cloned, unpacked or sent, and that would run a program of theirs here."""

import hashlib
import json
import os
import secrets
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.inputs.models import hash_files
from gridc.compiler.instrument.template_limits import RenderUsage
from gridc.compiler.lock import attestation, git, lock
from gridc.compiler.lock.attestation import attestations
from gridc.compiler.lock.lock import lock_path, make_lock, write_lock
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import GridcError, HazardError
from gridc.schema.spec import EngineSettings
from gridc.study.place import place_of
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.studies import write_study

POCKET = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
UNRUN = "git never sees the repository's configuration (`repository_of`)"
WITHIN = "a draft is opened only where nothing is (`files._draft`)"


class Obedient:
    """How a repository was read before: git runs in it, under its own configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.head = self._git("log", "-1", "--format=%H") or "0" * 40

    def holds(self, path: Path) -> bool:
        return not self._git("status", "--porcelain")

    def last_change(self, path: Path) -> str | None:
        return self._git("log", "-1", "--format=%H %cI", "--", path.name)

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=20,
        )  # fmt: skip
        return done.stdout.strip()


OBEDIENT = instead((attestation, "git_repository", Obedient), (lock, "git_repository", Obedient))


def shell(folder: Path, *command: str, **environment: str) -> str:
    named = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "t"), ("EMAIL", "t@example.org"))
    }
    clean = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **named, **clean, **environment},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=20,
    ).stdout.strip()  # fmt: skip


def committed(folder: Path) -> Path:
    """A committed study in a repository; its spec."""
    spec = write_study(folder)
    shell(folder, "git", "init", "-q")
    shell(folder, "git", "add", "-A")
    shell(folder, "git", "commit", "-qm", "x")
    return spec


def trap(folder: Path, name: str = "trap.sh", end: str = "exec cat") -> tuple[Path, Path]:
    """A program that leaves a mark when it is run, and passes on what it is given."""
    mark, program = folder / "mark", folder / name
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n{end}\n")
    program.chmod(0o755)
    return program, mark


def stamped(spec: Path, mark: Path) -> set[str]:
    """Do what `gridc stamp` does, and say whether the trap stayed shut."""
    compiled = compile_spec(spec)
    write_lock(make_lock(compiled.study, spec), lock_path(spec))
    attestations(lock_path(spec), spec)
    return set() if mark.exists() else {UNRUN}


def configured(*settings: str) -> Callable[[Path, MonkeyPatch], set[str]]:
    """A committed study whose repository sets what `settings` say; TRAP in them is the program."""

    def seen(folder: Path, patch: MonkeyPatch) -> set[str]:
        spec = committed(folder)
        program, mark = trap(folder)
        for each in settings:
            key, _, value = each.partition("=")
            shell(folder, "git", "config", key, value.replace("TRAP", str(program)))
        os.utime(spec, (1, 1))
        return stamped(spec, mark)

    return seen


@attack("whoever hands over a folder", "`core.fsmonitor` names a program", UNRUN, OBEDIENT)
def fsmonitor(folder: Path, patch: MonkeyPatch) -> set[str]:
    return configured("core.fsmonitor=TRAP")(folder, patch)


@attack("whoever hands over a folder", "`core.hooksPath` names a folder with a hook", UNRUN, OBEDIENT)
def hooks_path(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    (folder / "hooks").mkdir()
    _, mark = trap(folder, "hooks/post-index-change")
    shell(folder, "git", "config", "core.hooksPath", str(folder / "hooks"))
    os.utime(spec, (1, 1))
    return stamped(spec, mark)


@attack("whoever hands over a folder", "a hook lies in `.git/hooks`", UNRUN, OBEDIENT)
def hook(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    _, mark = trap(folder, ".git/hooks/post-index-change")
    os.utime(spec, (1, 1))
    return stamped(spec, mark)


@attack("whoever hands over a folder", "a filter driver cleans the spec before it is hashed", UNRUN, OBEDIENT)
def filter_driver(folder: Path, patch: MonkeyPatch) -> set[str]:
    write_study(folder)
    (folder / ".gitattributes").write_text("*.toml filter=evil\n")
    return configured("filter.evil.clean=TRAP")(folder, patch)


@attack("whoever hands over a folder", "`include.path` brings a setting from a tracked file", UNRUN, OBEDIENT)
def included(folder: Path, patch: MonkeyPatch) -> set[str]:
    program = folder / "trap.sh"
    (folder / "settings").write_text(f"[core]\n\tfsmonitor = {program}\n")
    return configured(f"include.path={folder / 'settings'}")(folder, patch)


@attack(
    "whoever hands over a folder",
    "`log.showSignature` runs the `gpg.program` on a signed commit",
    UNRUN,
    OBEDIENT,
)
def gpg_program(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    program, mark = trap(folder)
    body = shell(folder, "git", "cat-file", "commit", "HEAD")
    head, _, message = body.partition("\n\n")
    seal = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    (folder / "commit").write_text(f"{head}\n{seal}\n\n{message}\n")
    made = shell(folder, "git", "hash-object", "-t", "commit", "-w", "--literally", "commit")
    shell(folder, "git", "reset", "-q", "--soft", made)
    for key, value in (("log.showSignature", "true"), ("gpg.program", str(program))):
        shell(folder, "git", "config", key, value)
    return stamped(spec, mark)


@attack("whoever hands over a folder", "a missing object is fetched over `ext::`, a program", UNRUN, OBEDIENT)
def promisor(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    program, mark = trap(folder, end="exit 1")
    for key, value in (
        ("core.repositoryformatversion", "1"), ("extensions.partialClone", "evil"),
        ("remote.evil.url", f"ext::{program}"), ("remote.evil.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ):  # fmt: skip
        shell(folder, "git", "config", key, value)
    tree = shell(folder, "git", "rev-parse", "HEAD^{tree}")
    (folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    return stamped(spec, mark)


@attack(
    "the author of a repository that is cloned",
    "a tracked folder is laid out as a bare repository",
    UNRUN,
    OBEDIENT,
)
def bare_layout(folder: Path, patch: MonkeyPatch) -> set[str]:
    inner = folder / "study"
    (inner / "objects").mkdir(parents=True)
    (inner / "refs").mkdir()
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    program, mark = trap(folder)
    settings = ("repositoryformatversion = 0", "bare = false", "worktree = .", f"fsmonitor = {program}")
    (inner / "config").write_text("[core]\n" + "".join(f"\t{each}\n" for each in settings))
    spec = write_study(inner)
    shell(inner, "git", "--git-dir=.", "--work-tree=.", "-c", "core.fsmonitor=", "add", "gridcard.toml")
    mark.unlink(missing_ok=True)
    return stamped(spec, mark)


@attack(
    "the author of a repository that is cloned",
    "a `.git` file points to a folder of the work tree",
    UNRUN,
    OBEDIENT,
)
def pointing_elsewhere(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    program, mark = trap(folder)
    shell(folder, "git", "config", "core.fsmonitor", str(program))
    (folder / ".git").rename(folder / "store")
    (folder / ".git").write_text("gitdir: store\n")
    return stamped(spec, mark)


@attack(
    "the author of a repository that is cloned",
    "a submodule's own configuration names a program",
    UNRUN,
    OBEDIENT,
)
def submodule(folder: Path, patch: MonkeyPatch) -> set[str]:
    inner = folder / "inner"
    inner.mkdir()
    committed(inner)
    program, mark = trap(folder)
    shell(inner, "git", "config", "core.fsmonitor", str(program))
    spec = committed(folder)
    mark.unlink(missing_ok=True)
    return stamped(spec, mark)


@attack(
    "the author of a repository that is cloned",
    "a tracked link where the lock's draft would be written",
    WITHIN,
    instead((secrets, "token_hex", lambda _: "guessed"), (os, "O_EXCL", 0)),
)
def draft_is_a_link(folder: Path, patch: MonkeyPatch) -> set[str]:
    """The names of drafts were the process's number: a clone can hold a link for each."""
    spec = write_study(folder)
    victim = folder / "victim"
    victim.write_text("mine")
    patch.setattr(secrets, "token_hex", lambda _: "guessed")
    (folder / ".gridcard.lock.guessed.draft").symlink_to(victim)
    try:
        write_lock(make_lock(compile_spec(spec).study, spec), lock_path(spec))
    except FileExistsError:
        return {WITHIN}
    return {WITHIN} if victim.read_text() == "mine" else set()


GROWING = """{% set ns = namespace(x='A') %}
{% for i in range(24) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}"""


@attack(
    "the author of a model",
    "its chat template doubles a text until memory ends",
    "GC505",
    instead((RenderUsage, "spend", nothing)),
)
def chat_that_grows(folder: Path, patch: MonkeyPatch) -> set[str]:
    pytest.importorskip("transformers")
    from gridc.runtime.engines.hf.engine import HfEngine

    shutil.copytree(POCKET, folder, dirs_exist_ok=True)
    (folder / "chat_template.jinja").write_text(GROWING)
    engine = HfEngine("m", folder, "fp32", EngineSettings(device="cpu", threads=1))
    try:
        engine.prompts.as_text(Prompt((("user", "Who sang?"),), chat_template=True))
    except HazardError as error:
        return {each.code for each in error.diagnostics}
    return set()


def any_tokenizer(patch: MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    from transformers import PreTrainedTokenizerFast

    from gridc.runtime.engines.hf import loading, tokenizer

    patch.setattr(loading, "read_tokenizer", PreTrainedTokenizerFast.from_pretrained)
    patch.setattr(tokenizer, "ships_with_gridc", lambda files: True)  # a child is not patched


@attack(
    "the author of a model",
    "`fast_tokenizer_files` leads to a tokenizer that was not hashed",
    "GC606",
    any_tokenizer,
)
def tokenizer_elsewhere(folder: Path, patch: MonkeyPatch) -> set[str]:
    pytest.importorskip("transformers")
    from gridc.runtime.engines.hf.engine import HfEngine

    model = Path(shutil.copytree(POCKET, folder / "model"))
    other = folder / "tokenizer.4.0.0.json"
    swapped = json.loads((model / "tokenizer.json").read_text())
    swapped["normalizer"] = {"type": "Replace", "pattern": {"String": "B"}, "content": "A"}
    other.write_text(json.dumps(swapped))
    config = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps({**config, "fast_tokenizer_files": [str(other)]}))
    try:
        engine = HfEngine(
            "m", model, "fp32", EngineSettings(device="cpu", threads=1), files=dict(hash_files(model))
        )
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    b, a = engine.prompts.tokenizer.encode(["B", "A"], special=False)
    assert a == b
    return set()


BOUNDED = "git gets little memory for an object (`git.MOST_MEMORY`)"


@attack(
    "whoever hands over a folder",
    "a tree of a megabyte in `.git` stands for gigabytes of names, which git takes into memory",
    BOUNDED,
    instead((git, "MOST_MEMORY", "2g")),
)
def tree_that_swells(folder: Path, patch: MonkeyPatch) -> set[str]:
    """280 MB do for an exhibit: more than git may take, and less than harms."""
    spec = committed(folder)
    objects = folder / ".git" / "objects"
    blob = bytes.fromhex(shell(folder, "git", "rev-parse", f"HEAD:{spec.name}"))
    other, own = (b"100644 %s\0" % name + blob for name in (b"a" * 4000, spec.name.encode()))
    body = other * (280 * 2**20 // len(other)) + own
    head = b"tree %d\0" % len(body)
    name = hashlib.sha1(head + body, usedforsecurity=False).hexdigest()
    (objects / name[:2]).mkdir(exist_ok=True)
    (objects / name[:2] / name[2:]).write_bytes(zlib.compress(head + body, 1))
    commit = shell(folder, "git", "commit-tree", name, "-m", "x")
    (folder / ".git" / (folder / ".git" / "HEAD").read_text().split()[1]).write_text(commit + "\n")
    repository = git.git_repository(folder)
    assert repository is not None and repository.head == commit
    return set() if repository.holds(spec) else {BOUNDED}


HASHED = "every object that is read hashes to its name (`git._require_own`)"


@attack(
    "whoever hands over a folder",
    "a tree that names the lock of today lies under the name of the tree of an old commit",
    HASHED,
    instead((git, "_require_own", nothing)),
)
def object_of_another_name(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    published = shell(folder, "git", "rev-parse", "HEAD:")
    spec.write_text(spec.read_text() + "\n# written after the commit was published\n")
    store_forged(folder, published, "tree", tree_of(spec, folder))
    repository = git.git_repository(folder)
    assert repository is not None
    return set() if repository.holds(spec) else {HASHED}


def tree_of(file: Path, folder: Path) -> bytes:
    """The bytes of a tree that names the file as it is now."""
    blob = shell(folder, "git", "hash-object", "-w", file.name)
    return b"100644 %s\0" % file.name.encode() + bytes.fromhex(blob)


def store_forged(folder: Path, name: str, kind: str, data: bytes) -> None:
    """Store the bytes as a loose object under a name that is not theirs."""
    place = folder / ".git" / "objects" / name[:2] / name[2:]
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data))


OWN_REF = "a ref with a file of its own is not read among the packed ones (`git._values`)"


def packed_too(common: Path, name: str) -> Iterator[str]:
    """Reading of refs that goes on to the packed ones, whatever a ref says."""
    yield from values(common, name)
    for line in (common / "packed-refs").read_text().splitlines():
        if line.endswith(f" {name}"):
            yield line.split()[0]


values = git._values


@attack(
    "whoever hands over a folder",
    "HEAD leads through two branches to a commit, and a packed ref of the first names one with the spec",
    OWN_REF,
    instead((git, "_values", packed_too)),
)
def branch_of_a_branch(folder: Path, _: MonkeyPatch) -> set[str]:
    spec = committed(folder)
    shell(folder, "git", "branch", "other")
    branch = shell(folder, "git", "symbolic-ref", "HEAD")
    shell(folder, "git", "pack-refs", "--all")
    spec.write_text(f"{spec.read_text()}\n# an earlier state\n")
    shell(folder, "git", "commit", "-qam", "y")
    later = shell(folder, "git", "rev-parse", "HEAD")
    shell(folder, "git", "update-ref", "refs/heads/other", later)
    spec.write_text(spec.read_text().removesuffix("\n# an earlier state\n"))
    (folder / ".git" / branch).write_text("ref: refs/heads/other\n")
    assert shell(folder, "git", "rev-parse", "HEAD") == later
    repository = git.git_repository(folder)
    return {OWN_REF} if repository is None or not repository.holds(spec) else set()


PLAIN = "an object store with a pipe in it is not read (`git._is_plain`)"


@attack(
    "whoever hands over a folder",
    "a pipe lies among git's objects, or among those that it borrows, and git waits for it",
    PLAIN,
    instead((git, "_is_plain", lambda _: True)),
)
def pipe_among_objects(folder: Path, patch: MonkeyPatch) -> set[str]:
    read = []
    for lent in (False, True):
        place = folder / str(lent)
        place.mkdir()
        committed(place)
        objects, others = place / ".git" / "objects", place / "others"
        others.mkdir()
        if lent:
            (objects / "info" / "alternates").write_text(f"{others}\n")
        os.mkfifo((others if lent else objects / "pack") / "pack-1.idx")
        read.append(git.git_repository(place) is not None)
    return set() if any(read) else {PLAIN}


@attack(
    "whoever hands over a folder",
    "the results folder is a link, and a run would write where it leads",
    "GC605",
    instead((Path, "is_symlink", lambda _: False)),
)
def results_elsewhere(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = write_study(folder)
    (folder / "elsewhere").mkdir()
    (folder / "results").symlink_to("elsewhere")
    try:
        place_of(spec).store(compile_spec(spec))
    except GridcError as error:
        return {finding.code for finding in error.diagnostics}
    return set()
