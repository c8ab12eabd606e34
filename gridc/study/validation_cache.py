"""Verdicts of `gridc validate` that still hold.

A spec that was valid is valid while its text, the files that it names and gridc itself are what they were.
So an unchanged spec is answered from the user's cache folder, without reading the language again. Only good
verdicts are kept: findings are always computed again. GRIDC_CACHE names another folder; empty, nothing is
kept.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gridc.files import cache_folder, write_atomic
from gridc.study.place import Place

if TYPE_CHECKING:
    from gridc.compiler.frontend.read import Checked

PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class ValidSpec:
    """On a valid spec: what could not be checked, with the reason, and what this version does not execute."""

    unpinned: Mapping[str, str]
    notes: tuple[str, ...]


def recall(place: Place) -> ValidSpec | None:
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


def keep(place: Place, checked: "Checked", verdict: ValidSpec) -> None:
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


def _named(checked: "Checked") -> Iterator[Path]:
    """The files and folders beside the spec, or under the data folder, that the spec names."""
    from gridc.compiler.frontend.references import prompt_references, rubrics

    folder = checked.places.spec_folder
    yield from (base.path for base in checked.source.others)
    for _, reference in (*prompt_references(checked.spec), *rubrics(checked.spec)):
        if reference.startswith("path:") and "\n" not in reference:
            yield folder / reference.removeprefix("path:")
        elif reference.startswith("data:") and "\n" not in reference and checked.places.data_folder:
            yield checked.places.data_folder / reference.removeprefix("data:")
    for benchmark in checked.spec.benchmark:
        if benchmark.source.startswith(("path:", "data:")) and benchmark.id not in checked.references.absent:
            yield from (path for _, path in checked.places.benchmark(benchmark.source))
            for variant in benchmark.variants or ():
                yield from (path for _, path in checked.places.benchmark(variant.source))
    for model in checked.spec.asked_models:
        if model.source.startswith(("path:", *(("models:",) if checked.places.models_folder else ()))):
            yield checked.places.model(model.source)


def _resolved(path: Path | None) -> str:
    return str(path and path.resolve())


def _state(path: Path) -> list[int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]
