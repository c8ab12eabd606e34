"""Same instrument? What is equal in two runs but for their scores, what differs, what is not recorded."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from gridc.compiler.lock.diff import ABSENT, brief, differences
from gridc.reports.comparison.pairing import PairedBenchmark, crossed, renamed, shown_names
from gridc.reports.comparison.run import ComparedRun
from gridc.reports.comparison.words import name_of
from gridc.schema.comparison import InstrumentDifference, InstrumentRow
from gridc.schema.policy import Aspect

FactPlace = tuple[Aspect, str]
PROMPTS: FactPlace = ("prompt", "prompts of matched items")
SHOWN = 200
"""Characters of a value that differs."""
WORDS: Mapping[Aspect, str] = {
    "model": "model",
    "prompt": "what shapes prompts",
    "request": "decoding, method and precision",
    "score": "how answers count",
    "code": "the code that asks and scores",
    "environment": "package versions and machine",
    "seed": "seed",
}


def instrument(
    firsts: Sequence[ComparedRun],
    second: ComparedRun,
    pairs: Sequence[PairedBenchmark],
    may_differ: Collection[str],
) -> InstrumentRow:
    """All baselines are held against the candidate; a difference is listed once. What `may_differ` is an
    aspect with all that is of it, or one setting or fact by its name."""
    names = {pair.model_b: pair.model for pair in pairs}
    rows: dict[tuple[Aspect, str], InstrumentDifference] = {}
    compared: set[Aspect] = set()
    crossing = crossed(firsts, second)
    if crossing:
        rows |= {row: _row(row, *made, may_differ) for row, made in _packages(firsts, second)}
    for first in () if crossing else firsts:
        sides = dict(first.facts), renamed(second.facts, names)
        for place, a, b in _compared(*sides, compared):
            rows.setdefault(place, _row(place, a, b, may_differ))
    for pair in () if crossing else pairs:
        for place, a, b in _settings(pair, compared):
            rows.setdefault(place, _row(place, a, b, may_differ))
    equal, recorded = _prompts(pairs)
    if equal < recorded:
        rows[PROMPTS] = InstrumentDifference(
            aspect="prompt",
            path=PROMPTS[1],
            a=None,
            b=f"{recorded - equal:,} of {recorded:,} differ",
            allowed=_may_differ(PROMPTS, may_differ),
        )
    unknown = dict.fromkeys(what for run in (*firsts, second) for what in run.unknown)
    if not recorded:
        unknown["prompts"] = None
    different = {aspect for aspect, _ in rows}
    return InstrumentRow(
        same=all(row.allowed for row in rows.values()),
        equal=tuple(
            WORDS[aspect] for aspect in get_args(Aspect) if aspect in compared and aspect not in different
        ),
        prompts=recorded,
        prompts_equal=equal,
        differences=tuple(sorted(rows.values(), key=lambda row: (row.allowed, row.aspect, row.path))),
        unknown=tuple(unknown),
    )


def _packages(
    firsts: Sequence[ComparedRun], second: ComparedRun
) -> Iterator[tuple[FactPlace, tuple[object, object]]]:
    """Packages say in words of their own what they asked for and how answers count, and each has its own
    code: of these nothing can be held against each other."""
    made = ", ".join(dict.fromkeys(run.made_by for run in firsts)), second.made_by
    yield from (((aspect, "as the package has it"), made) for aspect in ("request", "score", "code"))


def _compared(
    first: Mapping[FactPlace, object], second: Mapping[FactPlace, object], compared: set[Aspect]
) -> Iterator[tuple[FactPlace, object, object]]:
    for place in dict.fromkeys([*first, *second]):
        compared.add(place[0])
        sides = first.get(place, ABSENT), second.get(place, ABSENT)
        for inner, a, b in differences(*sides):
            yield (place[0], f"{place[1]}.{inner}" if inner else place[1]), a, b


def _settings(pair: PairedBenchmark, compared: set[Aspect]) -> Iterator[tuple[FactPlace, object, object]]:
    """A key that differs alike in several configurations is one difference."""
    places: dict[tuple[FactPlace, str], tuple[object, object, list[str]]] = {}
    shown = shown_names(pair)
    for configuration in pair.configurations:
        there = pair.second.settings.get(configuration.second, {})
        for run, name in zip(pair.firsts, configuration.firsts, strict=True):
            for place, a, b in _compared(run.settings.get(name, {}), there, compared):
                same = places.setdefault((place, f"{_shown(a)} {_shown(b)}"), (a, b, []))
                same[2].append(shown[configuration.second])
    for ((aspect, path), _), (a, b, names) in places.items():
        several = dict.fromkeys(names)
        where = f"{len(several):,} configurations" if len(several) > 1 else names[0]
        yield (aspect, f"{path} ({pair.benchmark}{where and f', {where}'})"), a, b


def _prompts(pairs: Sequence[PairedBenchmark]) -> tuple[int, int]:
    """How many first prompts of matched items are equal in every run, of those that all record."""
    equal = recorded = 0
    for pair in pairs:
        for runs in pair.cells:
            for shown in zip(*(cell.prompts for cell in runs if cell.prompts is not None), strict=True):
                if len(shown) == len(runs) and None not in shown:
                    recorded += 1
                    equal += len(set(shown)) == 1
    return equal, recorded


def _row(place: FactPlace, a: object, b: object, may_differ: Collection[str]) -> InstrumentDifference:
    aspect, path = place
    allowed = _may_differ(place, may_differ)
    return InstrumentDifference(aspect=aspect, path=path, a=_shown(a), b=_shown(b), allowed=allowed)


def _may_differ(place: FactPlace, stated: Collection[str]) -> bool:
    aspect, path = place
    return aspect in stated or any(name_of(path) == name or path.startswith(f"{name}.") for name in stated)


def nameable(runs: Iterable[ComparedRun]) -> list[str]:
    """What `may_differ` can name in these runs beside aspects: settings and facts."""
    settings = (
        place
        for run in runs
        for benchmark in run.benchmarks.values()
        for configuration in benchmark.settings.values()
        for place in configuration
    )
    facts = (place for run in runs for place in run.facts)
    return list(dict.fromkeys([PROMPTS[1], *(path for _, path in (*settings, *facts))]))


def unnamed(stated: Iterable[str], known: Sequence[str]) -> list[str]:
    """Those of `stated` that are neither an aspect nor known, whole or in part."""
    return [
        name
        for name in stated
        if name not in get_args(Aspect)
        and not any(f"{one}.".startswith(f"{name}.") or name.startswith(f"{one}.") for one in known)
    ]


def _shown(value: object) -> str | None:
    if value is ABSENT:
        return None
    try:
        return brief(value, SHOWN)
    except TypeError:
        return json.dumps(str(value))[:SHOWN]
