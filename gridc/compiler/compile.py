"""Compiles a spec: from its path to a study that can be stamped, planned and run."""

from dataclasses import dataclass
from pathlib import Path

from gridc.compiler.frontend.read import CheckedSpec
from gridc.compiler.frontend.source import Source
from gridc.compiler.inputs.resolve import Study, decides_by, resolve
from gridc.compiler.lock.lock import Lock, lock_path, read_lock
from gridc.compiler.preflight.consent import consents_given
from gridc.compiler.preflight.hazards import refuse_hazards, require_askable
from gridc.compiler.preflight.task_files import read_with_tasks
from gridc.schema.inference import CriterionRule
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class Compiled:
    """A spec that passed every stage, with its text, the study it describes and its lock, if any."""

    checked: CheckedSpec
    study: Study
    lock: Lock | None

    @property
    def source(self) -> Source:
        return self.checked.source

    @property
    def spec(self) -> Spec:
        return self.checked.spec

    @property
    def lock_path(self) -> Path:
        return lock_path(self.source.path)


def resolve_spec(
    path: Path, data_folder: Path | None = None, online: bool = False, models_folder: Path | None = None
) -> Compiled:
    """Read, validate, check and resolve. Only with `online` is the network used. Whether the items can be
    asked, and which hazards there are, is not looked at.

    Raises `SpecError` or `StampError` with all findings of the first stage to fail.
    """
    checked = read_with_tasks(path, data_folder, models_folder)
    lock = read_lock(lock_path(path))
    covers_behaviour = lock is None or lock.covers_behaviour
    rule: CriterionRule = "limits" if lock is None else decides_by(lock.content)
    study = resolve(checked, lock.pins() if lock else {}, online, covers_behaviour, rule)
    study.scorers.allow(consents_given(study.scorers.files.values(), path.parent))
    return Compiled(checked, study, lock)


def compile_spec(
    path: Path, data_folder: Path | None = None, online: bool = False, models_folder: Path | None = None
) -> Compiled:
    """The same, and look for what cannot be asked and for hazards.

    Raises `SpecError`, `StampError` or `HazardError` with all findings of the first stage to fail.
    """
    compiled = resolve_spec(path, data_folder, online, models_folder)
    require_askable(compiled.study, compiled.source)
    refuse_hazards(compiled.study, compiled.source)
    return compiled
