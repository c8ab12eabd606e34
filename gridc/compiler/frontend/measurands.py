"""Named measurands: the framings of evaluation packages and papers, as sets of effects.

A study names one with `measurand = "lm-eval:bbq"` beside its other keys. Compiling writes its effects out
in that place, so that the stamp holds what is measured and not a name whose meaning could change.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gridc.compiler.frontend.lookup import BUILTIN_MEASURANDS
from gridc.compiler.frontend.plugins import PluginError, find_plugin
from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.configurations import T, with_effects
from gridc.compiler.instrument.setting import Setting
from gridc.diagnostics.errors import Collector, Diagnostic, KeyPath
from gridc.schema.base import PLUGIN
from gridc.schema.effects import BenchmarkEffects
from gridc.schema.spec import TASK, Benchmark, Spec


@dataclass(frozen=True, slots=True)
class Measurand:
    """A framing: the effects that make it, whose it is (`package`, `task`, `source`), for which loaders it
    is meant (all, if none is named), and in what it differs from the original whatever the effects say.

    The prompt of some is a text of others that does not ship: `prompt_digest` is its SHA-256, and
    `prompt_from` says where the user has it from.
    """

    name: str
    title: str
    package: str
    task: str
    source: str
    loaders: tuple[str, ...]
    differs: tuple[str, ...]
    effects: Mapping[str, Any]
    prompt_digest: str | None
    prompt_from: str | None

    def is_setting(self, setting: Setting) -> bool:
        """Whether a cell with this setting is measured in this framing."""
        stated = {
            key: tuple(value) if isinstance(value, list) else value for key, value in self.effects.items()
        }
        return all(getattr(setting, key) == value for key, value in stated.items())


@lru_cache(maxsize=1)
def measurands() -> Mapping[str, Measurand]:
    """Every measurand that ships, by name."""
    by_name = {}
    for path in sorted(BUILTIN_MEASURANDS.glob("*.toml")):
        name = path.stem.replace(".", ":", 1)
        by_name[name] = _measurand(name, tomllib.loads(path.read_text("utf-8")))
    return by_name


def _measurand(name: str, values: Mapping[str, Any]) -> Measurand:
    effects = BenchmarkEffects.model_validate(values["effects"])
    return Measurand(
        name=name,
        title=values["title"],
        package=values["package"],
        task=values["task"],
        source=values["source"],
        loaders=tuple(values["loaders"]),
        differs=tuple(values["differs"]),
        effects={key: getattr(effects, key) for key in values["effects"]},
        prompt_digest=values.get("prompt", {}).get("sha256"),
        prompt_from=values.get("prompt", {}).get("from"),
    )


def measurand_of(name: str) -> Measurand:
    """The measurand of this name. A plug-in is a table like the files that ship. Raises `KeyError`, and
    `PluginError` where a plug-in is missing or broken."""
    if not name.startswith(PLUGIN):
        return measurands()[name]
    plugin = find_plugin("measurand", name)
    values = plugin.load()
    try:
        return _measurand(name, values)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise plugin.failed(error) from None


def measurand_names(setting: Setting) -> tuple[str, ...]:
    """The measurands that a setting is. Those of packages state their prompt, those of papers need not. What
    another package recorded is not known to be one."""
    if setting.recorded:
        return ()
    return tuple(name for name, measurand in measurands().items() if measurand.is_setting(setting))


def owner_of(prompt: str) -> Measurand | None:
    """The measurand whose prompt, which does not ship, has this reference."""
    return next(
        (
            measurand
            for measurand in measurands().values()
            if measurand.prompt_digest and measurand.effects["prompt"] == prompt
        ),
        None,
    )


def expand(spec: Spec, source: Source) -> Spec:
    """The spec with the effects of each named measurand written out and the names left out.

    Raises `SpecError` where a name is unknown, where a key beside it says something else, and where the
    benchmark's items are not those it is meant for.
    """
    collector = Collector()

    def written(table: T, where: KeyPath, /) -> T:
        if table.measurand is None or table.measurand.startswith(TASK):
            return table  # what a task calls its ways to score is written out with the task
        problems = list(_misfits(table, where, source))
        for problem in problems:
            collector.add(problem)
        if problems:
            return table
        return table.model_copy(update={**measurand_of(table.measurand).effects, "measurand": None})

    expanded = with_effects(spec, written)
    collector.raise_if_any()
    return expanded


def _misfits(table: BenchmarkEffects, where: KeyPath, source: Source) -> Iterator[Diagnostic]:
    name = table.measurand or ""
    here = (*where, "measurand")
    try:
        measurand = measurand_of(name)
    except KeyError:
        help = did_you_mean(name, measurands())
        yield source.diagnose("GC202", here, f"no measurand is called `{name}`", help)
        return
    except PluginError as error:
        yield source.diagnose(error.code, here, error.problem, error.help)
        return
    for key, value in measurand.effects.items():
        stated = getattr(table, key)
        if stated is not None and stated != value:
            message = f"`{key}` is {value!r} in `{name}`, not {stated!r}"
            help = "leave it out, or write the effects out: `gridc measurands` shows them"
            yield source.diagnose("GC316", (*where, key), message, help)
    if isinstance(table, Benchmark) and measurand.loaders and table.loader not in measurand.loaders:
        message = f"`{name}` is a framing of {' and '.join(measurand.loaders)} items, not of {table.loader}"
        yield source.diagnose("GC316", here, message)
