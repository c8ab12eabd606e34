"""Axes that do nothing in a part of the grid, and the exclusion that says so."""

import re
from collections.abc import Iterator, Mapping, Sequence

from gridc.compiler.frontend.source import basic_string
from gridc.compiler.grid import configurations as grid
from gridc.compiler.instrument.setting import Setting
from gridc.schema.spec import Spec

IdleLevels = tuple[Mapping[str, str], list[str]]
"""The levels of the other axes, and the idle axis's levels that repeat an earlier one there."""


def way_out(spec: Spec, axis: str, model: str, benchmark: str) -> str | None:
    """The smallest exclusion that covers every place where levels of an axis repeat others on a benchmark:
    under levels of one other axis at most. None where there is none so simple."""
    groups = list(_groups(spec, axis, model, benchmark))
    redundant = next(repeats for _, repeats in groups if repeats)
    for other in (None, *(declared for declared in spec.axis if declared.id != axis)):
        if other is None:
            under = None
            holds = all(repeats == redundant for _, repeats in groups)
        else:
            under = [
                level.id
                for level in other.level
                if (here := [repeats for levels, repeats in groups if levels[other.id] == level.id])
                and all(repeats == redundant for repeats in here)
            ]
            rest = (repeats for levels, repeats in groups if levels[other.id] not in under)
            holds = bool(under) and not any(rest)
        if holds:
            condition = {} if other is None or under is None else {other.id: under}
            place = _place(spec, axis, redundant, condition, model, benchmark)
            names = next(declared for declared in spec.axis if declared.id == axis).level
            kept = [level.id for level in names if level.id not in redundant]
            shown = f"{{ not = {_names(kept)} }}" if len(kept) == 1 else _names(redundant)
            conditions = {name: _names(chosen) for name, chosen in {**place, **condition}.items()}
            if not conditions and len(kept) == 1:
                return f"remove the axis `{axis}`"
            return exclude({**conditions, axis: shown})
    return None


def exclude(conditions: Mapping[str, str]) -> str:
    """The help that writes an exclusion with these conditions, each as TOML."""
    listed = ", ".join(f"{_key(name)} = {value}" for name, value in conditions.items())
    return f"[[exclude]] when = {{ {listed} }} and a `why`"


def settings(spec: Spec, model: str, benchmark: str) -> Iterator[tuple[grid.Configuration, Setting]]:
    """The configurations that are run, with their settings."""
    all_settings = grid.Settings(spec)
    for configuration in grid.configurations(spec):
        where = grid.where(configuration.levels, configuration.tier, benchmark, model)
        if grid.excluded_by(spec, where) is None:
            yield configuration, all_settings.of(model, benchmark, configuration)


def _groups(spec: Spec, axis: str, model: str, benchmark: str) -> Iterator[IdleLevels]:
    keys: dict[tuple[str, ...], dict[str, bytes]] = {}
    others = [declared.id for declared in spec.axis if declared.id != axis]
    for configuration, setting in settings(spec, model, benchmark):
        rest = tuple(configuration.levels[name] for name in others)
        keys.setdefault(rest, {})[configuration.levels[axis]] = setting.key
    for rest, by_level in keys.items():
        if len(by_level) > 1:
            values = list(by_level.values())
            repeats = [level for place, level in enumerate(by_level) if values[place] in values[:place]]
            yield dict(zip(others, rest, strict=True)), repeats


def _place(
    spec: Spec,
    axis: str,
    redundant: Sequence[str],
    condition: Mapping[str, Sequence[str]],
    model: str,
    benchmark: str,
) -> dict[str, list[str]]:
    """The benchmark and the model that the exclusion has to name, because the axis matters on others."""
    others = [
        representative
        for representative in grid.Settings(spec).representatives()
        for levels, repeats in _groups(spec, axis, *representative)
        if repeats != redundant and all(levels[name] in chosen for name, chosen in condition.items())
    ]
    conditions: dict[str, list[str]] = {}
    if any(name != benchmark for _, name in others):
        conditions["benchmark"] = [benchmark]
    if any(name == benchmark for _, name in others):
        conditions["model"] = [model]
    return conditions


def _names(names: Sequence[str]) -> str:
    return basic_string(names[0]) if len(names) == 1 else f"[{', '.join(map(basic_string, names))}]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_\-]+", name) else basic_string(name)
