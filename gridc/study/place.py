"""Where a study is stored and run: its spec, its data, its results, and the cluster for its local models."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridc.compiler.lock.trust import NOBODY, Trust

if TYPE_CHECKING:
    from gridc.compiler.compile import Compiled
    from gridc.compiler.frontend.read import CheckedSpec
    from gridc.compiler.lock.deviations import Reconciliation
    from gridc.compiler.lock.lock import Lock


SPEC_NAME = "gridcard.toml"


@dataclass(frozen=True, slots=True)
class Place:
    """`spec` is the path of a spec, `data` the folder of its `data:` sources and `models` of its `models:`
    sources, `results` the folder of its store and reports (None: `results/STUDY` beside the spec), `trust`
    whom the person who asks believes."""

    spec: Path
    data: Path | None = None
    results: Path | None = None
    trust: Trust = NOBODY
    models: Path | None = None

    def compiled(self, online: bool = False) -> "Compiled":
        """The study as its files say it now. Only with `online` is the network used.

        Raises `SpecError`, `StampError` or `HazardError` with all findings of the first stage to fail.
        """
        from gridc.compiler.compile import compile_spec

        return compile_spec(self.spec, self.data, online, self.models)

    def resolved(self) -> "Compiled":
        """The same without looking for hazards, so that what is hazardous can be looked at."""
        from gridc.compiler.compile import resolve_spec

        return resolve_spec(self.spec, self.data, False, self.models)

    def checked(self) -> "CheckedSpec":
        """The spec alone, checked; nothing that it names is read. Raises `SpecError`."""
        from gridc.compiler.preflight.task_files import read_with_tasks

        return read_with_tasks(self.spec, self.data, self.models)

    def store(self, compiled: "CheckedSpec | Compiled") -> Path:
        """The path of the study's store. Raises `StoreError` (GC605) where the results folder is a link:
        whoever made the study would choose where this person's files are written; and `UsageError` (GC000) in
        a bundle, to which nothing is added."""
        if self.results is not None:
            folder, places = self.results, [self.results]
        else:
            require_no_bundle(compiled.source.path.parent)
            folder = compiled.source.path.parent / "results" / compiled.spec.study.id
            places = [folder.parent, folder]
        for place in places:
            if place.is_symlink():
                from gridc.diagnostics.errors import Diagnostic, StoreError

                message = f"{place.name}/ is a symbolic link to {place.readlink()}, and is not followed"
                help = f"`--out {place.resolve()}` says that you mean that folder"
                raise StoreError([Diagnostic("GC605", message, str(place), help=help)])
        return folder / "store.sqlite"

    @property
    def log(self) -> Path:
        """The path of the study's deviation log."""
        from gridc.compiler.lock.deviations import log_path

        return log_path(self.spec)

    def stamped(self, online: bool = False) -> "tuple[Compiled, Lock]":
        """The study and its lock. Raises `StampError` (GC403) when it has none, `UsageError` in a bundle,
        and as `compiled` does."""
        require_no_bundle(self.spec.parent)
        compiled = self.compiled(online)
        return compiled, require_lock(compiled)

    def reconciled(self, online: bool = False) -> "tuple[Compiled, Lock, Reconciliation]":
        """The same, and what departs from the lock. Raises `StampError` too with each departure that the log
        does not explain."""
        from gridc.compiler.lock.deviations import require_reconciled

        compiled, lock = self.stamped(online)
        return compiled, lock, require_reconciled(lock, compiled.study, self.log)


def require_no_bundle(folder: Path) -> None:
    """Raises `UsageError` (GC000) in a bundle: nothing is added to it, and what it holds has been run."""
    from gridc.reports.exchange import is_bundle

    if is_bundle(folder):
        from gridc.diagnostics.errors import Diagnostic, UsageError

        help = (
            f"`gridc verify {folder}` checks it and `gridc view {folder}` shows it; its reports and "
            "deviations are in results/. To go on with the study, copy spec, lock and items elsewhere"
        )
        raise UsageError([Diagnostic("GC000", "this folder is a bundle", str(folder), help=help)])


def place_of(
    spec: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    results: str | os.PathLike[str] | None = None,
    trust: Trust = NOBODY,
    models: str | os.PathLike[str] | None = None,
) -> Place:
    """A place from paths as a person gives them: a folder stands for the gridcard.toml in it, and `data` and
    `models` for what GRIDC_DATA and GRIDC_MODELS say."""
    folder = data if data is not None else os.environ.get("GRIDC_DATA")
    weights = models if models is not None else os.environ.get("GRIDC_MODELS")
    where = Path(results) if results else None
    return Place(
        spec_in(Path(spec)),
        Path(folder) if folder else None,
        where,
        trust,
        Path(weights) if weights else None,
    )


def spec_in(path: Path) -> Path:
    """The spec that a path stands for."""
    return path / SPEC_NAME if path.is_dir() else path


def operand(text: str) -> tuple[Path, str | None]:
    """A path, and behind an `@` the stamp of the study that is meant."""
    name, at, stamp = text.rpartition("@")
    path = Path(name) if at and not Path(text).exists() else Path(text)
    if path.is_dir():
        store = path / "store.sqlite"
        path = store if store.is_file() else spec_in(path)
    return path, stamp if at and str(path).startswith(name) and name else None


def require_lock(compiled: "Compiled") -> "Lock":
    """The study's lock. Raises `StampError` (GC403) when it has none."""
    if compiled.lock is None:
        from gridc.diagnostics.errors import Diagnostic, StampError

        message = "the study has no lock, so it is not known what was fixed"
        help = "`gridc stamp` creates one"
        raise StampError([Diagnostic("GC403", message, str(compiled.lock_path), help=help)])
    return compiled.lock


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A Ray cluster on which each model has `workers` replicas: the one at `address` (HOST:PORT), or one that
    is started on this machine for the run. By default there is a replica for each GPU, or else each node."""

    address: str | None = None
    workers: int | None = None
