"""The grid that a spec spans: its configurations, their tiers, and the setting of every call, which model,
benchmark and levels of axes state over each other, named parts joined in their order."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.render import BLANK_LINE, composite
from gridc.compiler.instrument.setting import KEYS, Setting
from gridc.diagnostics.errors import KeyPath
from gridc.schema.effects import BenchmarkEffects, ModelEffects, Scaffold, Separators
from gridc.schema.inference import Exclude
from gridc.schema.items import Sample
from gridc.schema.judging import BACKUP, SECOND, Judge
from gridc.schema.models import SERVED, Model, engine_kind
from gridc.schema.spec import Benchmark, Level, Spec

T = TypeVar("T", bound=BenchmarkEffects)

LevelByAxis = Mapping[str, str]
"""A configuration: axis id -> level id, in the spec's order of axes."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """An assignment to all harness axes. `tier` is the last, in the order of `Spec.tiers`, of its levels'."""

    levels: LevelByAxis
    chosen: tuple[Level, ...]
    tier: str


def configurations(spec: Spec) -> Iterator[Configuration]:
    """Every combination of levels, the last axis varying fastest, or those that `[draw]` drew of them, in the
    same order. Nothing is excluded yet, but what an exclusion over axes covers is not drawn."""
    names = [axis.id for axis in spec.axis]
    for chosen in product(*(axis.level for axis in spec.axis)) if spec.draw is None else drawn_levels(spec):
        levels = {name: level.id for name, level in zip(names, chosen, strict=True)}
        yield Configuration(levels, chosen, _last_tier(spec, chosen))


def combinations(spec: Spec) -> int:
    """How many combinations of levels there are, drawn or not."""
    return prod(len(axis.level) for axis in spec.axis)


ATTEMPTS = 10_000, 20
"""How often a draw is tried, in all and besides for each configuration that is wanted, before it has to do
with fewer: a spec from a stranger must not keep a machine busy."""


def drawn_levels(spec: Spec) -> tuple[tuple[Level, ...], ...]:
    """The levels of each drawn configuration. Draw k is SHA-256 of seed and k, modulo the number of
    combinations, so that it is the same everywhere and no grid is too large for it."""
    wanted = spec.draw
    if wanted is None:
        return ()
    total, places = combinations(spec), {0}
    over_axes = [
        selector for selector in spec.exclude if not {"model", "benchmark"} & selector.when.root.keys()
    ]
    for attempt in range(ATTEMPTS[0] + ATTEMPTS[1] * wanted.n):
        if len(places) == min(wanted.n, total):
            break
        place = int.from_bytes(sha256(f"{wanted.seed}:{attempt}".encode()).digest(), "big") % total
        levels = _levels_at(spec, place)
        at = {axis.id: level.id for axis, level in zip(spec.axis, levels, strict=True)}
        at["tier"] = _last_tier(spec, levels)
        if not any(exclusion.when.matches(at) for exclusion in over_axes):
            places.add(place)
    return tuple(_levels_at(spec, place) for place in sorted(places))


def _levels_at(spec: Spec, place: int) -> tuple[Level, ...]:
    """The levels of a combination by its number, the last axis varying fastest."""
    chosen = []
    for axis in reversed(spec.axis):
        place, rank = divmod(place, len(axis.level))
        chosen.append(axis.level[rank])
    return tuple(reversed(chosen))


def drawn_words(spec: Spec) -> str | None:
    """That the envelope is a draw, in a sentence; None where it is every combination of levels."""
    if spec.draw is None:
        return None
    return (
        f"The envelope is {spec.draw.n:,} of {combinations(spec):,} combinations of levels, the first of "
        f"every axis and others drawn with seed {spec.draw.seed}: counts, orders and ranges are of those."
    )


def tier(spec: Spec, levels: LevelByAxis) -> str:
    """The tier of the configuration with these levels."""
    chosen = [level for axis in spec.axis for level in axis.level if level.id == levels[axis.id]]
    return _last_tier(spec, chosen)


def _last_tier(spec: Spec, chosen: Iterable[Level]) -> str:
    """The last tier of the levels; the first of the study where nothing is varied."""
    return spec.tiers[max((spec.tiers.index(level.tier) for level in chosen), default=0)]


def place_values(spec: Spec, levels: LevelByAxis, benchmark: str, model: str | None = None) -> dict[str, str]:
    """What a selector is matched against. Without a model it is a configuration of a benchmark."""
    return grid_place(levels, tier(spec, levels), benchmark, model)


def grid_place(levels: LevelByAxis, tier: str, benchmark: str, model: str | None = None) -> dict[str, str]:
    """A place of the grid whose tier is known."""
    ids = {**levels, "benchmark": benchmark, "tier": tier}
    return ids if model is None else {**ids, "model": model}


def excluded_by(spec: Spec, where: Mapping[str, str]) -> Exclude | None:
    """The first exclusion that covers a place."""
    return next((selector for selector in spec.exclude if selector.when.matches(where)), None)


def replicates(spec: Spec, configuration: Configuration) -> int:
    """How often each item is asked. Only axes and `[harness]` can say so."""
    stated = [level.replicates for level in configuration.chosen if level.replicates is not None]
    return stated[0] if stated else spec.harness.replicates or 1


def subset(spec: Spec, benchmark: Benchmark, configuration: Configuration) -> Sample | None:
    """Which of a benchmark's items a configuration asks; None for all. Axes come before the benchmark."""
    stated = [level.items for level in configuration.chosen if level.items is not None]
    return stated[0] if stated else benchmark.items or spec.harness.items


class EffectTable(NamedTuple):
    """A table that sets keys of a call: its place, its name, the part of the grid that it is about (dimension
    -> name), and itself."""

    path: KeyPath
    name: str
    where: Mapping[str, str]
    table: ModelEffects | BenchmarkEffects


def effect_tables(spec: Spec) -> Iterator[EffectTable]:
    """Every table that says how a call is made or scored. Later ones override earlier ones."""
    yield EffectTable(("harness",), "harness", {}, spec.harness)
    for number, benchmark in enumerate(spec.benchmark):
        yield EffectTable(("benchmark", number), benchmark.id, {"benchmark": benchmark.id}, benchmark)
    for number, model in enumerate(spec.model):
        yield EffectTable(("model", number), model.id, {"model": model.id}, model)
    for number, axis in enumerate(spec.axis):
        for rank, level in enumerate(axis.level):
            name = f"{axis.id} = {level.id}"
            yield EffectTable(("axis", number, "level", rank), name, {axis.id: level.id}, level)


def asked_models(spec: Spec) -> Iterator[tuple[KeyPath, Model]]:
    """Every model that is asked something, with its place: those that are compared, and those that judge."""
    yield from ((("model", number), model) for number, model in enumerate(spec.model))
    places: dict[str, KeyPath] = {}
    for path, judge in judge_tables(spec):
        places |= {judge.name: path, judge.office(BACKUP): (*path, "backup")}
        places |= {judge.office(SECOND): (*path, "validation")}
        places |= {judge.office(one.id): (*path, "panel", rank) for rank, one in enumerate(judge.panel or ())}
    yield from ((places[model.id], model) for model in spec.judges)


def judge_tables(spec: Spec) -> Iterator[tuple[KeyPath, Judge]]:
    """Every judge that the spec declares, with its place."""
    if isinstance(spec.judge, Judge):
        yield ("judge",), spec.judge
    else:
        yield from ((("judge", rank), judge) for rank, judge in enumerate(spec.judge or ()))


def has_judged(spec: Spec) -> bool:
    """Whether something says that a judge labels responses. A judge that is declared may label none."""
    stated = (getattr(table.table, "method", None) for table in effect_tables(spec))
    return any(METHODS[method].judged for method in stated if method is not None)


def stated_scaffolds(spec: Spec) -> Iterator[Scaffold]:
    """The scaffolds that the spec states."""
    stated = (getattr(table.table, "scaffold", None) for table in effect_tables(spec))
    return (scaffold for scaffold in stated if scaffold is not None)


def most_shots(spec: Spec, benchmark: Benchmark) -> int:
    """The most exemplars that a call of a benchmark may show."""
    tables = (
        table for table in effect_tables(spec) if table.where.get("benchmark", benchmark.id) == benchmark.id
    )
    return max(getattr(table.table, "shots", None) or 0 for table in tables)


def states_scores(spec: Spec) -> bool:
    """Whether any table maps labels to scores."""
    return any(getattr(table.table, "scores", None) is not None for table in effect_tables(spec))


def scorer_units(spec: Spec) -> dict[str, tuple[KeyPath, str]]:
    """The numbers of scoring functions that have a unit of their own, with where each is stated first."""
    units: dict[str, tuple[KeyPath, str]] = {}
    for table in effect_tables(spec):
        scorer = getattr(table.table, "scorer", None)
        for name, unit in (scorer.units or {}).items() if scorer is not None else ():
            units.setdefault(name, ((*table.path, "scorer", "units", name), unit))
    return units


def effect_place(spec: Spec, key: str, place: Mapping[str, str]) -> KeyPath | None:
    """Where the spec gives an effect to the calls of a place of the grid; None where nothing states it."""
    stating = [
        table.path
        for table in effect_tables(spec)
        if table.where.items() <= place.items() and getattr(table.table, key, None) is not None
    ]
    return (*stating[-1], key) if stating else None


class ReplaceTable(Protocol):
    """Another table for the one at a place."""

    def __call__(self, table: T, path: KeyPath, /) -> T: ...


def with_effects(spec: Spec, change: ReplaceTable) -> Spec:
    """The spec with a change made to `[harness]`, every benchmark and every level."""
    axes = tuple(
        axis.model_copy(
            update={
                "level": tuple(
                    change(level, ("axis", number, "level", rank)) for rank, level in enumerate(axis.level)
                )
            }
        )
        for number, axis in enumerate(spec.axis)
    )
    benchmarks = tuple(
        change(benchmark, ("benchmark", number)) for number, benchmark in enumerate(spec.benchmark)
    )
    harness = change(spec.harness, ("harness",))
    return spec.model_copy(update={"axis": axes, "benchmark": benchmarks, "harness": harness})


class Settings:
    """The setting of every cell. Later sources override earlier ones: harness, benchmark, model, axes.

    No two axes set the same key (GC304), so their order cannot matter.
    """

    def __init__(self, spec: Spec) -> None:
        self._exclude = spec.exclude
        self._levels = {(axis.id, level.id): _stated(level) for axis in spec.axis for level in axis.level}
        self._served = {model.id for model in spec.model if engine_kind(model.engine).provider}
        self._judged = {judge.id: judge.scores for judge in spec.declared_judges}
        if len(self._judged) == 1:
            self._judged[None] = next(iter(self._judged.values()))
        self._lower = {benchmark.id for benchmark in spec.benchmark if benchmark.lower_is_better}
        self._bases = {
            (model.id, benchmark.id): _merged_tables(
                _stated(spec.harness), _stated(benchmark), _stated(model)
            )
            for model in spec.model
            for benchmark in spec.benchmark
        }

    def stated(self, model: str, benchmark: str, configuration: Configuration) -> dict[str, Any]:
        """What is stated of a cell's calls, as the language has it."""
        levels = (self._levels[level] for level in configuration.levels.items())
        return _merged_tables(self._bases[model, benchmark], *levels)

    def of(self, model: str, benchmark: str, configuration: Configuration) -> Setting:
        """The full setting of a cell. Raises `TypeError` when a required key is unset (GC302)."""
        stated = self.stated(model, benchmark, configuration)
        if benchmark not in self._lower:  # there the worst score is zero
            stated.pop("unreadable", None)
        if model in self._served:
            stated["precision"] = SERVED
        if "method" in stated and METHODS[stated["method"]].judged:
            stated.setdefault("scores", self._judged.get(stated.get("judge")))
        return Setting(**setting_fields(stated))

    def representatives(self) -> list[tuple[str, str]]:
        """One (model, benchmark) of all that start alike and lose the same configurations to exclusions:
        what holds for its settings holds for theirs."""
        groups: dict[str, tuple[str, str]] = {}
        for (model, benchmark), base in self._bases.items():
            fixed = {"model": model, "benchmark": benchmark}
            cut = [selector.when.restricted(fixed.keys()).matches(fixed) for selector in self._exclude]
            kind = benchmark in self._lower, model in self._served
            alike = sorted(base.items(), key=itemgetter(0)), cut, kind
            groups.setdefault(repr(alike), (model, benchmark))
        return list(groups.values())


SHARED = ("vars", "separators", "system", "prompt")
"""Keys that hold named parts, of which every table may set its own."""
ORDERS: Mapping[str, str] = {"system": "system_order", "prompt": "prompt_order"}


def _stated(source: ModelEffects | BenchmarkEffects) -> dict[str, Any]:
    """The keys of a call that a table sets."""
    effects = {key: value for key in _keys(type(source)) if (value := getattr(source, key)) is not None}
    if "separators" in effects:
        effects["separators"] = effects["separators"].model_dump(exclude_none=True)
    return effects


@cache
def _keys(table: type[ModelEffects | BenchmarkEffects]) -> tuple[str, ...]:
    """The keys of a call that a kind of table may set."""
    return tuple(key for key in (*KEYS, *ORDERS.values()) if key in table.model_fields)


def named_parts(table: ModelEffects | BenchmarkEffects) -> Iterator[tuple[str, str | None]]:
    """The keys of a call that a table sets, as (key, part): each part of a shared key, None for a whole."""
    for key, value in _stated(table).items():
        if isinstance(value, dict):
            yield from ((key, part) for part in value)
        else:
            yield key, None


def _merged_tables(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables, each written over those before it; a shared key part by part."""
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            parts = key in SHARED and isinstance(value, dict) and isinstance(merged.get(key), dict)
            merged[key] = {**merged[key], **value} if parts else value
    return merged


def setting_fields(stated: Mapping[str, Any]) -> dict[str, Any]:
    """What is stated of a call, as fields of its setting: named parts joined in their order."""
    fields = {key: value for key, value in stated.items() if key not in ORDERS.values()}
    joint = fields.get("separators", {}).get("parts", BLANK_LINE)
    for key, named in ORDERS.items():
        if isinstance(fields.get(key), dict):
            order = stated.get(named) or tuple(fields[key])
            texts = [fields[key][name] for name in order if name in fields[key]]
            fields[key] = joint.join(texts) if key == "system" else composite(joint, texts)
    if "vars" in fields:
        fields["vars"] = tuple(sorted(fields["vars"].items()))
    if "separators" in fields:
        fields["separators"] = Separators(**fields["separators"])
    return fields
