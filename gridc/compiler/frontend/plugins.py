"""Plug-ins: loaders, engines, scaffolds, measurands and scoring functions, which other installed packages
offer.

A package offers them as entry points; a spec names one as `plugin:NAME`. Nothing is imported until a spec
names it. The stamp holds the package and the version of each plug-in that is used, because they decide what
is measured, and a digest of its files, which its author may change under the same version.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.configurations import asked_models, effect_tables
from gridc.diagnostics.errors import Collector, KeyPath
from gridc.schema.base import PLUGIN
from gridc.schema.canonical import digest, digest_bytes
from gridc.schema.effects import TAKES
from gridc.schema.items import LOADER_KINDS
from gridc.schema.models import ENGINES
from gridc.schema.spec import Spec

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = {
    "loader": "gridc.loaders",
    "engine": "gridc.engines",
    "scaffold": "gridc.scaffolds",
    "measurand": "gridc.measurands",
    "scorer": "gridc.scorers",
    "task": "gridc.tasks",
}
"""The group of entry points of each kind of plug-in."""

BUILTIN: Mapping[str, frozenset[str]] = {
    "loader": frozenset(LOADER_KINDS),
    "engine": frozenset(ENGINES),
    "scaffold": frozenset(TAKES),
    "measurand": frozenset(),
    "scorer": frozenset(),
    "task": frozenset(name for name, kind in LOADER_KINDS.items() if kind.task),
}
"""Names that no plug-in may have, because gridc has them itself. A measurand of gridc has a colon in its
name, which no plug-in can have."""


class PluginError(Exception):
    """A plug-in that is not here (GC341) or cannot be used (GC342)."""

    def __init__(self, code: str, problem: str, help: str | None = None) -> None:
        self.code, self.problem, self.help = code, problem, help
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of an installed package, by what a spec calls it."""

    kind: str
    name: str
    distribution: str
    version: str
    entry: "EntryPoint"
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def manifest(self) -> dict[str, Any]:
        """What the stamp holds of it."""
        about = {"distribution": self.distribution, "version": self.version, "entry": self.entry.value}
        return {**about, **self.content}

    @property
    def manifest_before(self) -> dict[str, Any]:
        """What stamps held of it before they covered behaviour: of scaffolds alone a digest of the files."""
        about = {"distribution": self.distribution, "version": self.version}
        return {**about, **self.content} if self.kind == "scaffold" else about

    def load(self) -> Any:
        """What the entry point names. Raises `PluginError` where importing it fails."""
        try:
            return self.entry.load()
        except Exception as error:  # importing a package can fail as any program can
            raise self.failed(error) from None

    def failed(self, error: Exception) -> PluginError:
        """What is raised when the plug-in's own code fails."""
        text = f"{type(error).__name__}: {error}"
        problem = (
            f"the {self.kind} `{PLUGIN}{self.name}` of {self.distribution} {self.version} fails ({text})"
        )
        return PluginError("GC342", problem, f"report it to the authors of {self.distribution}")


def find_plugin(kind: str, reference: str) -> Plugin:
    """The plug-in that `plugin:NAME` names. Raises `PluginError`."""
    from importlib.metadata import entry_points

    name = reference.removeprefix(PLUGIN)
    group = GROUPS[kind]
    offered = [entry for entry in entry_points(group=group) if entry.dist is not None]
    named = [entry for entry in offered if entry.name == name]
    if not named:
        known = [f"{PLUGIN}{entry.name}" for entry in offered]
        help = did_you_mean(reference, known) if known else f"no installed package has entry points `{group}`"
        raise PluginError("GC341", f"no installed package offers the {kind} `{reference}`", help)
    if name in BUILTIN[kind]:
        problem = f"{_owner(named[0])} offers a {kind} `{name}`, which is the name of one of gridc's own"
        raise PluginError("GC342", problem, f"write `{name}` for gridc's own")
    owners = sorted({_owner(entry) for entry in named})
    if len(owners) > 1:
        problem = f"{' and '.join(owners)} both offer the {kind} `{name}`"
        raise PluginError("GC342", problem, "uninstall all but one")
    dist = named[0].dist
    assert dist is not None  # offered entries have one
    return Plugin(kind, name, dist.name, dist.version, named[0])


def used_plugins(spec: Spec, source: Source) -> dict[str, Plugin]:
    """The plug-ins that a spec names, by `GROUP:NAME`, each imported once. Raises `SpecError` at the place of
    each that is missing or broken."""
    collector = Collector()
    used: dict[str, Plugin] = {}
    for path, kind, reference in _references(spec):
        try:
            plugin = find_plugin(kind, reference)
            if f"{GROUPS[kind]}:{plugin.name}" not in used:
                used[f"{GROUPS[kind]}:{plugin.name}"] = with_content(plugin)
        except PluginError as error:
            collector.add(source.diagnose(error.code, path, error.problem, error.help))
    collector.raise_if_any()
    return used


def with_content(plugin: Plugin) -> Plugin:
    """A plug-in with what the stamp holds of its files, as they are here now. Raises `PluginError`."""
    return replace(plugin, content=_content(plugin, plugin.load()))


def _references(spec: Spec) -> Iterator[tuple[KeyPath, str, str]]:
    stated: list[tuple[KeyPath, str, str | None]] = [
        (("benchmark", number, "loader"), "task" if benchmark.is_task else "loader", benchmark.loader)
        for number, benchmark in enumerate(spec.benchmark)
    ]
    stated += [((*path, "engine"), "engine", model.engine) for path, model in asked_models(spec)]
    for path, _, _, table in effect_tables(spec):
        scaffold, scorer = getattr(table, "scaffold", None), getattr(table, "scorer", None)
        stated.append(((*path, "measurand"), "measurand", getattr(table, "measurand", None)))
        stated.append(((*path, "scaffold", "kind"), "scaffold", None if scaffold is None else scaffold.kind))
        stated.append(((*path, "scorer", "function"), "scorer", None if scorer is None else scorer.function))
    for path, kind, reference in stated:
        if reference is not None and reference.startswith(PLUGIN):
            yield path, kind, reference


def _content(plugin: Plugin, loaded: Any) -> dict[str, Any]:
    """What decides beside a version what a plug-in does: its code, with whatever lies in the same package and
    was installed with it, and of a scaffold the frameworks that drive it."""
    from importlib.metadata import PackageNotFoundError, version

    module = sys.modules[plugin.entry.module.partition(".")[0]]
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    files = {path.relative_to(folder): path for folder in folders for path in folder.rglob("*")}
    if not folders and module.__file__ is not None:
        files = {Path(Path(module.__file__).name): Path(module.__file__)}
    code = {
        name.as_posix(): digest_bytes(path.read_bytes())
        for name, path in files.items()
        if path.is_file() and "__pycache__" not in name.parts and not name.name.startswith(".")
    }
    others = dict(_installed_with(plugin, module))
    code |= {f"/{name}": digest_bytes(path.read_bytes()) for name, path in others.items()}
    code |= _compiled([*files.values(), *others.values()])
    packages = {}
    for name in getattr(loaded, "packages", ()):
        with suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {"code": digest(code), **({"packages": packages} if packages else {})}


def _compiled(sources: Iterable[Path]) -> dict[str, str]:
    """The digests of compiled files that Python runs without a look at their sources (PEP 552)."""
    from importlib.util import cache_from_source

    digests = {}
    for path in sources:
        cache = Path(cache_from_source(str(path)))
        data = cache.read_bytes() if path.suffix == ".py" and cache.is_file() else b""
        if int.from_bytes(data[4:8], "little") == _UNCHECKED_HASH:
            digests[f"//{path.name} {digest_bytes(path.read_bytes())}"] = digest_bytes(data)
    return digests


_UNCHECKED_HASH = 1
"""The flags of such a file."""


def _installed_with(plugin: Plugin, module: ModuleType) -> Iterator[tuple[str, Path]]:
    """The other files of a plug-in's distribution, as its record names them. That of an editable install
    names none, only where its folder is on this machine."""
    dist = plugin.entry.dist
    for file in (None if dist is None else dist.files) or ():
        top, path = file.parts[0], Path(str(file.locate()))
        own = top.partition(".")[0] == module.__name__ and not file.name.startswith(".")
        script = top == ".." and not {"bin", "Scripts"}.isdisjoint(file.parts)  # it names its interpreter
        about = top.endswith((".dist-info", ".egg-info", ".pth")) or top.startswith("__editable__")
        if not (own or script or about or "__pycache__" in file.parts) and path.is_file():
            yield file.as_posix(), path


def _owner(entry: "EntryPoint") -> str:
    return "a package" if entry.dist is None else entry.dist.name
