"""Is a spec valid, and with `check`: does the instrument that it describes work?"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridc.diagnostics.errors import Diagnostic, GridcError
from gridc.study.place import Place
from gridc.study.validation_cache import ValidSpec, keep, recall

if TYPE_CHECKING:
    from gridc.runtime.run import Watch


def _ignore(*_: object) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What was found out about one spec.

    `unpinned` names what could not be checked here, with the reason; `notes` say what this version does not
    execute, how the items were read, and what the design can show.
    `diagnostics` is empty for a valid spec, and `exit_code` 0.
    """

    spec: Path
    unpinned: Mapping[str, str]
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    exit_code: int = 0

    @property
    def valid(self) -> bool:
        return not self.diagnostics

    def as_json(self) -> dict[str, Any]:
        return {
            "spec": str(self.spec),
            "valid": self.valid,
            "unpinned": dict(self.unpinned),
            "notes": list(self.notes),
        }


def validate(place: Place, check: bool = False, progress: "Watch" = _ignore) -> ValidationReport:
    """A valid spec. With `check` its data are read and the instrument is tried. Raises `GridcError` with
    every finding of the first stage to fail."""
    if check:
        return _proved(place, progress)
    verdict = _read(place)
    return ValidationReport(place.spec, verdict.unpinned, verdict.notes)


def expanded(place: Place) -> str:
    """The spec as one text, with what it extends written out. Raises `SpecError` where a file of it cannot be
    read."""
    from gridc.compiler.frontend import extends
    from gridc.compiler.frontend.source import read

    return extends.expanded_text(extends.expanded(read(place.spec)))


def validate_all(
    places: Iterable[Place], check: bool = False, progress: "Watch" = _ignore
) -> Iterator[ValidationReport]:
    """The same for several specs; what is wrong with one is in its `diagnostics`, and nothing is raised."""
    for place in places:
        try:
            yield validate(place, check, progress)
        except GridcError as error:
            wrong = tuple(
                diagnostic if diagnostic.file else replace(diagnostic, file=str(place.spec))
                for diagnostic in error.diagnostics
            )
            yield ValidationReport(place.spec, {}, (), wrong, error.exit_code)


def _read(place: Place) -> ValidSpec:
    """The verdict on a spec whose data are not read."""
    verdict = recall(place)
    if verdict is None:
        from gridc.compiler.frontend.checks.inference import require_estimator
        from gridc.compiler.frontend.read import read_spec
        from gridc.compiler.frontend.unsupported import unsaid
        from gridc.compiler.preflight.providers import require_taken

        checked = read_spec(place.spec, place.data, place.models)
        require_estimator(checked.spec, checked.source)
        unchecked = require_taken(checked.spec, checked.source)
        absent = {**checked.references.absent, **unchecked}
        notes = tuple(unsaid(checked.spec))
        verdict = ValidSpec(absent, notes)
        keep(place, checked, verdict)
    return verdict


def _proved(place: Place, progress: "Watch") -> ValidationReport:
    """The verdict after everything was tried that can be before a call."""
    from gridc.compiler.frontend.unsupported import unsaid
    from gridc.compiler.lowering.plan import Plan
    from gridc.compiler.preflight import falsifiability
    from gridc.compiler.preflight.consent import missing_keys, sentences
    from gridc.compiler.preflight.hazards import prove
    from gridc.compiler.preflight.providers import require_taken
    from gridc.runtime.run import RunStep, preflight

    progress(RunStep("", 0, 0, "reading the items"))
    compiled = place.compiled()
    unchecked = require_taken(compiled.spec, compiled.source)
    progress(RunStep("", 0, 0, "trying the instrument"))
    prove(compiled.study, compiled.source)
    preflight(compiled, watch=progress)
    notes = falsifiability.manifest(Plan(compiled.study))["notes"]
    notes = [
        *sentences(compiled.spec, compiled.study.scorers.files.values()),
        *missing_keys(compiled.spec),
        *unsaid(compiled.spec),
        *notes,
    ]
    return ValidationReport(place.spec, compiled.study.unpinned() | unchecked, tuple(notes))
