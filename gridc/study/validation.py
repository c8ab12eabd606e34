"""Is a spec valid, and with `check`: does the instrument that it describes work?

A spec that was valid is valid while its text, the files that it names and gridc itself are what they were.
So an unchanged spec is answered from the user's cache folder, without reading the language again. Only good
verdicts are kept: findings are always computed again. GRIDC_CACHE names another folder; empty, nothing is
kept.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridc.diagnostics.errors import Diagnostic, GridcError
from gridc.files import cache_folder, write_atomic
from gridc.study.notebook import InNotebook
from gridc.study.place import Place

if TYPE_CHECKING:
    from gridc.compiler.frontend.read import CheckedSpec
    from gridc.runtime.run import Watch


PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class ValidSpec:
    """On a valid spec: what could not be checked, with the reason, and what this version does not execute."""

    unpinned: Mapping[str, str]
    notes: tuple[str, ...]


def kept_verdict(place: Place) -> ValidSpec | None:
    """The verdict on a spec that is known to be valid; None when no verdict holds."""
    path = _place(place)
    try:
        kept = json.loads(path.read_text("utf-8")) if path else None
        if kept is None or any(_state(Path(name)) != state for name, state in kept["files"].items()):
            return None
        verdict = ValidSpec(dict(kept["unpinned"]), tuple(kept["notes"]))
    except (OSError, ValueError, LookupError, AttributeError):
        return None  # a cache that cannot be read is no cache
    return verdict


def keep_verdict(place: Place, checked: "CheckedSpec", verdict: ValidSpec) -> None:
    """Keep the verdict on a valid spec."""
    path = _place(place)
    if path is None or checked.plugins:
        return  # what an installed package does may change without a file of gridc's changing
    files = {str(each): _state(each) for each in _named(checked)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps({"files": files, **asdict(verdict)}))
    except OSError:
        return  # a home that cannot be written keeps nothing, and loses nothing but time


def _place(place: Place) -> Path | None:
    """Where the verdict on this spec would lie: under a digest of all that it depends on but named files."""
    root, spec = cache_folder(), place.spec
    if root is None or not spec.is_file():
        return None
    seen = sha256(spec.read_bytes())
    for each in (*map(_resolved, (spec, place.data, place.models)), sys.version, *_litellm(spec), *_gridc()):
        seen.update(f"{each}\0".encode())
    return root / "verdicts" / f"{seen.hexdigest()}.json"


def _litellm(spec: Path) -> Iterator[str]:
    """Which litellm is here, if the spec may ask it what providers take."""
    if b"api" in spec.read_bytes():
        module = find_spec("litellm")
        yield str(module and module.origin and _state(Path(module.origin)))


def _gridc() -> Iterator[str]:
    """The state of every file of gridc that a verdict can depend on."""
    for folder in ("study", "compiler", "schema", "builtin/measurands", "templates/prompts"):
        for root, _, names in os.walk(PACKAGE / folder):
            yield from (f"{name} {_state(Path(root, name))}" for name in sorted(names) if "." in name)


def _named(checked: "CheckedSpec") -> Iterator[Path]:
    """The files and folders beside the spec, or under the data folder, that the spec names."""
    from gridc.compiler.frontend.checkpoints import checkpoint_folder, known_files
    from gridc.compiler.frontend.references import prompt_references, rubrics

    folder = checked.places.spec_folder
    yield from (base.path for base in checked.source.others)
    for _, reference in (*prompt_references(checked.spec), *rubrics(checked.spec)):
        if reference.startswith("path:") and "\n" not in reference:
            yield folder / reference.removeprefix("path:")
        elif reference.startswith("data:") and "\n" not in reference and checked.places.data_folder:
            yield checked.places.data_folder / reference.removeprefix("data:")
    yield from (folder / stored.name for stored in checked.tasks.values())
    for benchmark in checked.spec.benchmark:
        if benchmark.is_task:
            continue
        if benchmark.source.startswith(("path:", "data:")) and benchmark.id not in checked.references.absent:
            yield from (path for _, path in checked.places.benchmark(benchmark.source))
            for variant in benchmark.variants or ():
                yield from (path for _, path in checked.places.benchmark(variant.source))
    for model in checked.spec.asked_models:
        files = checkpoint_folder(model) or ""
        if files.startswith(("path:", *(("models:",) if checked.places.models_folder else ()))):
            place = checked.places.model(files)
            yield from (place, *known_files(place))


def _resolved(path: Path | None) -> str:
    return str(path and path.resolve())


def _state(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _ignore(*_: object) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class ValidationReport(InNotebook):
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
    from gridc.compiler.frontend import expansion
    from gridc.compiler.frontend.source import read_source

    return expansion.expanded_text(expansion.expanded(read_source(place.spec)))


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
    verdict = kept_verdict(place)
    if verdict is None:
        from gridc.compiler.frontend.checks.aggregates import require_made_one
        from gridc.compiler.frontend.checks.inference import require_estimator
        from gridc.compiler.frontend.lint import lint
        from gridc.compiler.preflight.providers import require_taken
        from gridc.compiler.preflight.task_files import read_with_tasks

        checked = read_with_tasks(place.spec, place.data, place.models)
        require_estimator(checked.spec, checked.source)
        require_made_one(checked.spec, checked.source)
        unchecked = require_taken(checked.spec, checked.source)
        absent = {**checked.references.absent, **unchecked}
        notes = tuple(lint(checked.spec))
        verdict = ValidSpec(absent, notes)
        keep_verdict(place, checked, verdict)
    return verdict


def _proved(place: Place, progress: "Watch") -> ValidationReport:
    """The verdict after everything was tried that can be before a call."""
    from gridc.compiler.frontend.lint import lint
    from gridc.compiler.lowering.plan import Plan
    from gridc.compiler.preflight import falsifiability
    from gridc.compiler.preflight.consent import consent_sentences, missing_keys
    from gridc.compiler.preflight.hazards import prove_hazards
    from gridc.compiler.preflight.providers import require_taken
    from gridc.compiler.preflight.task_files import rendered_again
    from gridc.runtime.run import RunStep, preflight

    progress(RunStep("", 0, 0, "reading the items"))
    compiled = place.compiled()
    unchecked = require_taken(compiled.spec, compiled.source)
    progress(RunStep("", 0, 0, "trying the instrument"))
    prove_hazards(compiled.study, compiled.source)
    preflight(compiled, watch=progress)
    notes = falsifiability.manifest(Plan(compiled.study))["notes"]
    notes = [
        *consent_sentences(compiled.spec, compiled.study.scorers.files.values()),
        *missing_keys(compiled.spec),
        *lint(compiled.spec),
        *notes,
        *rendered_again(place.spec, compiled.checked.tasks),
    ]
    return ValidationReport(place.spec, compiled.study.unpinned() | unchecked, tuple(notes))
