"""Levels: what each does to a call is stated once, completely, and differs from its siblings."""

import os
import re
from collections.abc import Iterator
from math import prod

from gridc.compiler.frontend.source import Source
from gridc.compiler.grid import configurations as grid
from gridc.compiler.instrument.setting import REQUIRED
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.schema.engines import FILES, engine_kind
from gridc.schema.spec import Effects, Spec


def sources(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """An engine runs one kind of source."""
    for number, model in enumerate(spec.model):
        kind, here = engine_kind(model.engine), ("model", number, "source")
        if kind.schemes and not model.source.startswith(kind.schemes):
            message = f"`{model.source}` is not a source of engine `{model.engine}`"
            help = 'hf:REPO, path:FOLDER or builtin:NAME; a provider\'s model needs engine = "api"'
            yield source.diagnose("GC105", here, message, help)
        if kind.provider and model.source.startswith(FILES):
            message = f"`{model.source}` is not a provider's model"
            help = "a litellm name, such as `anthropic/claude-opus-4-6`"
            yield source.diagnose("GC105", here, message, help)
        for key in [key for key in kind.refuses if getattr(model, key) is not None][:1]:
            message = f"the `{key}` cannot be set for a provider's model"
            yield source.diagnose("GC105", ("model", number, key), message, "leave it out", at_key=True)


def disjoint_axes(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    owner: dict[str, str] = {}
    for number, axis in enumerate(spec.axis):
        for rank, level in enumerate(axis.level):
            for key in level.stated():
                if owner.setdefault(key, axis.id) != axis.id:
                    where = ("axis", number, "level", rank, key)
                    message = f"`{key}` is already set by axis `{owner[key]}`"
                    yield source.diagnose("GC304", where, message, "one key belongs to one axis", at_key=True)


def distinct_levels(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    for number, axis in enumerate(spec.axis):
        seen: dict[tuple[tuple[str, str], ...], str] = {}
        for rank, level in enumerate(axis.level):
            effects = level.stated()
            if effects.get("temperature") == 0:
                effects.pop("top_p", None)
            key = tuple(sorted((name, repr(value)) for name, value in effects.items()))
            twin = seen.setdefault(key, level.id)
            if twin != level.id:
                message = f"`{level.id}` has the same effects as `{twin}`"
                help = "make them differ, or remove one"
                yield source.diagnose("GC303", ("axis", number, "level", rank, "id"), message, help)


def held_fixed(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """What the scope statement says was held fixed is varied by no axis."""
    varied: dict[str, str] = {}
    for axis in spec.axis:
        if len(axis.level) > 1:
            keys = [
                key
                for key in Effects.model_fields
                if len({repr(getattr(each, key)) for each in axis.level}) > 1
            ]
            varied |= {_plain(name): axis.id for name in (axis.id, *keys)}
    for number, entry in enumerate(spec.study.not_varied):
        owner = varied.get(_plain(entry))
        if owner is not None:
            message, help = f"`{entry}` is not held fixed", f"remove it: the axis `{owner}` varies it"
            yield source.diagnose("GC105", ("study", "not_varied", number), message, help)


def _plain(name: str) -> str:
    """A name as it reads: whatever its case, its number and what joins its words."""
    return " ".join(re.split(r"[\s_\-]+", name.strip().casefold())).removesuffix("s")


MAX_CELLS = 50_000
"""Cells of a grid before its exclusions, unless whoever runs gridc allows more: `GRIDC_MAX_CELLS`."""


def countable(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The grid is small enough to be walked, which every later check does."""
    allowed = os.environ.get("GRIDC_MAX_CELLS", "")
    if allowed and not allowed.isdecimal():
        raise UsageError([Diagnostic("GC000", f"GRIDC_MAX_CELLS is `{allowed}`", help="give a whole number")])
    most = int(allowed or MAX_CELLS)
    sizes = [len(axis.level) for axis in spec.axis]
    cells = len(spec.model) * len(spec.benchmark) * prod(sizes)
    if cells > most:
        widest = max(range(len(sizes)), key=sizes.__getitem__, default=0)
        product = " x ".join(f"{size:,}" for size in (len(spec.model), len(spec.benchmark), *sizes))
        message = f"the grid has {cells:,} cells ({product}); {most:,} is the most"
        help = f"remove levels; if you mean all of them, set GRIDC_MAX_CELLS={cells}"
        yield source.diagnose("GC318", ("axis", widest), message, help, at_key=True)


def exemplars_from(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Where exemplars are asked for, the benchmark says where they come from."""
    for number, benchmark in enumerate(spec.benchmark):
        needed = grid.most_shots(spec, benchmark)
        if needed and benchmark.exemplars is None:
            message = (
                f"{needed} exemplars are asked for, but `{benchmark.id}` does not say where they come from"
            )
            help = 'exemplars = { pool = "rest", seed = 42 }'
            yield source.diagnose("GC311", ("benchmark", number), message, help, at_key=True)


EXAMPLES = {"prompt": 'prompt = "builtin:T1"', "method": 'method = "extract"'}
"""A value of each required key, as it is written."""


def required_keys(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each call has its required keys. A key that no table sets anywhere is missed once."""
    for key in REQUIRED:
        varied = any(all(getattr(level, key) is not None for level in axis.level) for axis in spec.axis)
        if varied or getattr(spec.harness, key) is not None:
            continue
        nowhere = all(getattr(each.table, key, None) is None for each in grid.effect_tables(spec))
        for number, benchmark in enumerate(spec.benchmark):
            if getattr(benchmark, key) is None:
                whose = "the calls" if nowhere else f"the calls of `{benchmark.id}`"
                message = f"`{key}` is not set for {whose}"
                help = (
                    f"set, for example, `{EXAMPLES[key]}` in [harness] or here, or `{key}` in every level of "
                    "an axis"
                )
                yield source.diagnose("GC302", ("benchmark", number), message, help, at_key=True)
                if nowhere:
                    break
