"""The front end: source text -> Spec, and whether what it names is there. No data is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gridc.compiler.frontend.checks import check
from gridc.compiler.frontend.each import for_each
from gridc.compiler.frontend.extends import expanded
from gridc.compiler.frontend.locate import Places
from gridc.compiler.frontend.measurands import expand
from gridc.compiler.frontend.plugins import Plugin, used_plugins
from gridc.compiler.frontend.references import References, find_references
from gridc.compiler.frontend.source import Source, read
from gridc.compiler.frontend.validate import typed
from gridc.schema.spec import Spec


@dataclass(frozen=True, slots=True)
class Checked:
    """A spec in which nothing is wrong that can be seen without reading its data."""

    source: Source
    spec: Spec
    places: Places
    references: References
    plugins: Mapping[str, Plugin] = field(default_factory=dict)


def read_spec(path: Path, data_folder: Path | None = None, models_folder: Path | None = None) -> Checked:
    """Read and validate a spec, write out what it extends, its measurands and its hypotheses for each model,
    check it, and look up what it names.

    Raises `SpecError` with all findings of the first stage to fail.
    """
    source = expanded(read(path))
    written = typed(source)
    plugins = used_plugins(written, source)
    spec, source = for_each(expand(written, source), source)
    check(spec, source)
    places = Places(path.parent, data_folder, models_folder)
    return Checked(source, spec, places, find_references(spec, source, places), plugins)
