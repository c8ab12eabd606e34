"""Code that decides prompts and scores, and that no spec shows: gridc's own, and that of plug-ins."""

import py_compile
import sys
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path
from types import SimpleNamespace

from _pytest.monkeypatch import MonkeyPatch

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend import plugins
from gridc.compiler.instrument import versions
from gridc.compiler.lock import deviations, lock
from gridc.compiler.lock.deviations import log_path, require_current
from gridc.compiler.lock.lock import lock_path, make_lock, read_lock, write_lock
from gridc.diagnostics.errors import GridcError, StampError
from gridc.runtime.engines import open_engine, protocol
from gridc.runtime.engines.ray import Cluster, Replicas
from gridc.schema.canonical import digest
from tests.adversary.attack import attack, instead, nothing
from tests.adversary.studies import write_study
from tests.plugins import install
from tests.replaced import replaced

AUTHOR = "the author"
MAKER = "the author of a plug-in"
PLUGGED = ('engine = "hf"\nsource = "builtin:pocket-llama"', 'engine = "plugin:always"\nsource = "a:b"')
UNTRACED = instead((deviations, "_behaviour", nothing))


def stamped(folder: Path, patch: MonkeyPatch, *edits: tuple[str, str]) -> Path:
    """A study with its lock."""
    spec = write_study(folder)
    spec.write_text(replaced(spec.read_text("utf-8"), *edits), "utf-8")
    write_lock(make_lock(compile_spec(spec).study, spec), lock_path(spec))
    return spec


def departed(spec: Path) -> set[str]:
    compiled = compile_spec(spec)
    assert compiled.lock is not None
    try:
        require_current(compiled.lock, compiled.study, log_path(spec))
    except StampError as error:
        return {each.code for each in error.diagnostics}
    return set()


@attack(
    AUTHOR,
    "another version of gridc, with another `cot`, runs the stamped study",
    "GC409",
    UNTRACED,
)
def changed_scaffold(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = stamped(folder, patch, ("[harness]\n", '[harness]\nscaffold = { kind = "cot" }\n'))
    patch.setattr(versions, "PARTS", {**versions.PARTS, "scaffold:cot": 2})
    return departed(spec)


@attack(
    AUTHOR,
    "a lock is stamped without the version of a scaffold, and another difference is explained",
    "GC409",
    instead((deviations, "parts_lacking", nothing)),
)
def version_left_out(folder: Path, patch: MonkeyPatch) -> set[str]:
    cot = ("[harness]\n", '[harness]\nscaffold = { kind = "cot" }\n')
    spec = stamped(folder, patch, cot)
    made = read_lock(lock_path(spec))
    assert made is not None
    fewer = {part: value for part, value in made.content["behaviour"].items() if part != "scaffold:cot"}
    content = {**made.content, "behaviour": fewer}
    write_lock(replace(made, content=content, stamp=digest(content)), lock_path(spec))
    spec.write_text(
        replaced(spec.read_text("utf-8"), ("[harness]\n", "[harness]\nmax_tokens = 9\n")), "utf-8"
    )
    return departed(spec)


@attack(
    AUTHOR,
    "a lock says that it holds versions of gridc's own code, and holds `null`",
    "GC403",
    instead((lock, "_require_tables", nothing)),
)
def versions_null(folder: Path, patch: MonkeyPatch) -> set[str]:
    spec = stamped(folder, patch)
    made = read_lock(lock_path(spec))
    assert made is not None
    content = {**made.content, "behaviour": None}
    write_lock(replace(made, content=content, stamp=digest(content)), lock_path(spec))
    try:
        return departed(spec)
    except StampError as error:
        return {each.code for each in error.diagnostics}


@attack(
    MAKER,
    "the code of an engine changes under the version that was stamped",
    "GC405",
    instead((plugins, "_content", lambda *_: {})),
)
def changed_engine(folder: Path, patch: MonkeyPatch) -> set[str]:
    packages = folder / "packages"
    install(packages, patch)
    spec = stamped(folder, patch, PLUGGED)
    code = packages / "acme_gridc.py"
    code.write_text(code.read_text().replace('"text": "A"', '"text": "B"'))
    patch.delitem(sys.modules, "acme_gridc")
    return departed(spec)


@attack(
    MAKER,
    "the code of an engine lies in a second package of its distribution, and changes there",
    "GC405",
    instead((plugins, "_installed_with", nothing)),
)
def changed_second_package(folder: Path, patch: MonkeyPatch) -> set[str]:
    packages = folder / "packages"
    install(packages, patch)
    core = packages / "acme_core" / "answers.py"
    core.parent.mkdir()
    core.write_text('ANSWER = "A"\n')
    info = packages / "acme_gridc-1.2.dist-info"
    (info / "RECORD").write_text("acme_gridc.py,,\nacme_core/answers.py,,\n")
    spec = stamped(folder, patch, PLUGGED)
    core.write_text('ANSWER = "B"\n')
    return departed(spec)


@attack(
    MAKER,
    "a compiled file is laid beside the code of an engine, and Python runs it without a look at the code",
    "GC405",
    instead((plugins, "_compiled", lambda _: {})),
)
def compiled_engine(folder: Path, patch: MonkeyPatch) -> set[str]:
    """With the hash of a source that is not checked (PEP 552)."""
    packages = folder / "packages"
    install(packages, patch)
    spec = stamped(folder, patch, PLUGGED)
    code, other = packages / "acme_gridc.py", folder / "other.py"
    other.write_text(code.read_text().replace('"text": "A"', '"text": "B"'))
    how = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(other), cache_from_source(str(code)), invalidation_mode=how)
    patch.delitem(sys.modules, "acme_gridc")
    return departed(spec)


def without_entry(plugin: plugins.Plugin) -> dict[str, object]:
    return {"distribution": plugin.distribution, "version": plugin.version, **plugin.content}


@attack(
    MAKER,
    "the entry point of an engine names another class of the same files",
    "GC405",
    instead((plugins.Plugin, "manifest", property(without_entry))),
)
def other_entry(folder: Path, patch: MonkeyPatch) -> set[str]:
    packages = folder / "packages"
    install(packages, patch)
    code = packages / "acme_gridc.py"
    code.write_text(code.read_text() + "\nclass Other(Always):\n    pass\n")
    spec = stamped(folder, patch, PLUGGED)
    offers = packages / "acme_gridc-1.2.dist-info" / "entry_points.txt"
    offers.write_text(replaced(offers.read_text(), ("acme_gridc:Always", "acme_gridc:Other")))
    return departed(spec)


@attack(
    MAKER,
    "what an engine answers lies in a hidden file of its package",
    "GC405",
    instead((plugins, "_installed_with", nothing)),
)
def hidden_answers(folder: Path, patch: MonkeyPatch) -> set[str]:
    packages = folder / "packages"
    install(packages, patch)
    code, hidden = packages / "acme_gridc", packages / "acme_gridc" / ".answers"
    code.mkdir()
    (packages / "acme_gridc.py").rename(code / "__init__.py")
    hidden.write_text("A")
    record = packages / "acme_gridc-1.2.dist-info" / "RECORD"
    record.write_text("acme_gridc/__init__.py,,\nacme_gridc/.answers,,\n")
    spec = stamped(folder, patch, PLUGGED)
    hidden.write_text("B")
    return departed(spec)


@attack(
    "whoever has a machine of a Ray cluster",
    "its worker has other code of an engine, under the version that was stamped",
    "GC652",
    instead((protocol, "KEYS", ("gridc", "versions"))),
)
def other_code_on_a_worker(folder: Path, patch: MonkeyPatch) -> set[str]:
    """All workers have it, and none differs from another; here they are this process."""
    packages = folder / "packages"
    install(packages, patch)
    compiled = compile_spec(stamped(folder, patch, PLUGGED))
    ((name, identity),) = compiled.study.models.items()
    engine = open_engine(name, identity, "fp32", compiled.spec)
    worker = SimpleNamespace(effective=SimpleNamespace(remote=lambda *_: engine.effective()))
    patch.setattr(Replicas, "_actors", [worker])
    patch.setattr(Replicas, "_shared", lambda _: [])
    patch.setattr(Replicas, "_get", lambda _, given: given)
    replicas = Replicas(name, "key", engine, Cluster(1, 1.0, 0.0, acknowledged=False), {})
    code = packages / "acme_gridc.py"
    code.write_text(replaced(code.read_text(), ('"text": "A"', '"text": "B"')))
    patch.delitem(sys.modules, "acme_gridc")
    try:
        replicas.effective()
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()
