"""Checks that two runs used one instrument, and pairs the benchmarks that both have, answer by answer."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np

from gridc.compiler.inputs.questions import matching_words
from gridc.compiler.lock.deviations import ABSENT, json_differences, shortened_json
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.outcomes import CellOutcomes
from gridc.reports.comparison.pairing import PairedItems, Renaming, RunItems, RunPairing, by_name
from gridc.reports.comparison.run import FINGERPRINTED, NAMED_FILES, ComparedRun, RunBenchmark
from gridc.reports.comparison.words import setting_name
from gridc.reports.words import DIGEST, level_names
from gridc.schema.comparison import Aspect, InstrumentDifference, InstrumentRow, Policy
from gridc.statistics.arrays import Flags, Whole


@dataclass(frozen=True, eq=False)
class PairedBenchmark:
    """One model on one benchmark in the baselines and in the candidate (`model_b` where it has another name),
    its configurations by their names in every run, the candidate last, and the items that are compared: their
    `places` in every run, -1 where one is absent, with `ids` and `units` by run. All runs have `matched`
    items; the candidate lacks `only_first`, and some baseline `only_second`; `unnamed` are those of the
    benchmark that no run names. Of these `left_out` are not compared. `items` says how they were paired, and
    `matching` how those of different packages were; None where one package asked all."""

    model: str
    model_b: str
    benchmark: str
    firsts: tuple[RunBenchmark, ...]
    second: RunBenchmark
    configurations: tuple[tuple[str, ...], ...]
    places: tuple[Whole, ...]
    ids: tuple[tuple[str, ...], ...]
    units: tuple[tuple[str, ...], ...]
    items: PairedItems
    matched: int
    only_first: int
    only_second: int
    unnamed: int
    left_out: int
    common_only: bool
    matching: str | None = None

    @property
    def runs(self) -> tuple[RunBenchmark, ...]:
        return (*self.firsts, self.second)

    @property
    def count(self) -> int:
        """The items that are compared."""
        return len(self.places[-1])

    @property
    def unit(self) -> str:
        """The coarsest that a run states: a unit of several items is no single item in another run."""
        stated = [one.unit for one in self.runs]
        return next((unit for unit in stated if unit != "item"), "item")

    @cached_property
    def cells(self) -> tuple[tuple[CellOutcomes, ...], ...]:
        """What the compared items came to, by configuration and run."""
        return tuple(
            tuple(
                run.cells[name]
                .at(places, run.unlisted)
                .repeated(0 if self.common_only else run.times.get(name, 0))
                for run, name, places in zip(self.runs, names, self.places, strict=True)
            )
            for names in self.configurations
        )

    @cached_property
    def asked(self) -> Flags:
        """Which items are compared in each configuration, (configurations, items): not those that a study
        plans no answer to there, because levels of an axis draw their own."""
        asked: Flags = np.array(
            [
                np.logical_and.reduce(
                    [cell.trials > 0 for run, cell in zip(self.runs, cells, strict=True) if run.planned]
                    or [np.ones(self.count, np.bool_)]
                )
                for cells in self.cells
            ]
        )
        return asked


def under_one_name(firsts: Sequence[ComparedRun], second: ComparedRun) -> list[ComparedRun]:
    """The baselines, with their only benchmark under its name in the candidate."""
    names = by_name([run.asked.names for run in (*firsts, second)]) if second.benchmarks else {}
    for *others, name in names.values():
        firsts = [
            run if own == name else run.under(Renaming(0, "benchmark", own, name))
            for run, own in zip(firsts, others, strict=True)
        ]
    return list(firsts)


def paired_benchmarks(
    pairing: RunPairing, firsts: Sequence[ComparedRun], second: ComparedRun, policy: Policy
) -> list[PairedBenchmark]:
    """What all runs have, in the order of the candidate; of items that some run lacks those that it failed,
    unless the policy is of common ones alone. Raises `UsageError` (GC766) where a run has more items than the
    policy says."""
    packages = [run.package for run in (*firsts, second)]
    pairs = []
    for place in pairing.places:
        (model, _), (model_b, benchmark) = place.names[0], place.names[-1]
        *several, there = (
            run.benchmarks[name] for run, name in zip((*firsts, second), place.names, strict=True)
        )
        stated = policy.total_of(benchmark)
        most = max(len(run.items) for run in (*several, there))
        if stated is not None:
            if stated < most:
                message = f"{benchmark} has {most:,} items in a run, more than the {stated:,} that are stated"
                raise UsageError([Diagnostic("GC766", message, help=f"write {most} or more, or nothing")])
            there = replace(there, total=stated)
        found = place.items.questions
        runs = [
            _under_keys(run, keys, found is not None)
            for run, keys in zip((*several, there), place.items.keys, strict=True)
        ]
        items, counts = _items((runs[-1], *runs[:-1]), policy.common_only)
        columns = (*range(1, len(runs)), 0)  # the candidate last
        matching = None
        if found is not None:
            alone = [len(run.items) - counts["matched"] for run in runs]
            matching = matching_words(packages, found, counts["matched"], alone)
        pairs.append(
            PairedBenchmark(
                model,
                model_b,
                benchmark,
                tuple(runs[:-1]),
                runs[-1],
                place.configurations,
                tuple(np.array([item.places[column] for item in items], np.int64) for column in columns),
                tuple(tuple(item.ids[column] for item in items) for column in columns),
                tuple(tuple(item.units[column] for item in items) for column in columns),
                place.items,
                counts["matched"],
                counts["only_first"],
                counts["only_second"],
                counts["unnamed"],
                counts["left_out"],
                policy.common_only,
                matching,
            )
        )
    return pairs


def packages_differ(firsts: Sequence[ComparedRun], second: ComparedRun) -> bool:
    """Whether different packages asked."""
    return len({run.package for run in (*firsts, second)}) > 1


def _under_keys(run: RunBenchmark, keys: tuple[str, ...], by_text: bool) -> RunBenchmark:
    """A run whose items have the keys by which they are paired, and its prompts, where runs of different
    packages are compared `by_text`, those of their texts."""
    if by_text and run.prompt_texts is not None:
        texts = run.prompt_texts()
        answers = {name: one.with_prompts(texts) for name, one in run.answers.items()}
        run = replace(run, answers=answers)
    return run if keys == run.items.keys else replace(run, items=replace(run.items, keys=keys))


class _PairedItem(NamedTuple):
    """An item in every run: its place there (-1: absent), and id and unit, of the first run that has it where
    one does not."""

    places: tuple[int, ...]
    ids: tuple[str, ...]
    units: tuple[str, ...]


def _items(runs: Sequence[RunBenchmark], common_only: bool) -> tuple[list[_PairedItem], Counter[str]]:
    """The items that are compared, the candidate being the first of `runs`, and how many there are of each
    kind."""
    named = list(dict.fromkeys(key for run in runs for key in run.items.keys))
    counts = Counter[str]()
    total = max(run.total or 0 for run in runs)
    items = []
    for number in range(max(len(named), total)):
        key = named[number] if number < len(named) else f"unnamed {number}"
        places = tuple(run.items.places.get(key, -1) for run in runs)
        lacking = [run for run, place in zip(runs, places, strict=True) if place < 0 and run.unlisted is None]
        if number < len(named):
            absent = places[0] < 0 and runs[0].unlisted is None
            kind = "matched" if not lacking else "only_first" if absent else "only_second"
            counts[kind] += 1
        else:
            counts["unnamed"] += 1
        if lacking and (common_only or any(run.planned for run in lacking)):
            counts["left_out"] += 1
            continue
        shown = next(
            ((run.items, place) for run, place in zip(runs, places, strict=True) if place >= 0), None
        )
        names = [("", key) if shown is None else _named(*shown)] * len(runs)
        own = [
            _named(run.items, place) if place >= 0 else name
            for run, place, name in zip(runs, places, names, strict=True)
        ]
        items.append(_PairedItem(places, tuple(id for id, _ in own), tuple(unit for _, unit in own)))
    return items, counts


def _named(items: RunItems, place: int) -> tuple[str, str]:
    """Id and unit of an item."""
    return items.ids[place], items.units[place]


def shown_names(pair: PairedBenchmark) -> dict[str, str]:
    """The candidate's configurations as people are told them: a level that is called by a digest, as in
    `task_args=#8bfd8a`, by what differs among the values that the runs have of its axis. Where nothing
    differs it tells nothing, and is left out."""
    levels: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for run in (*pair.firsts, pair.second):
        for configuration in run.answers:
            for part, value in _parts(run, configuration):
                axis, _, label = part.partition("=")
                levels[axis][value] = label
    names = {axis: level_names(values) for axis, values in levels.items()}

    def shown(part: str, value: str) -> str | None:
        axis, _, label = part.partition("=")
        if DIGEST.fullmatch(label) is None:
            return part
        return f"{axis}={names[axis][value]}" if len(names[axis]) > 1 else None

    return {
        configuration: ",".join(filter(None, (shown(*one) for one in _parts(pair.second, configuration))))
        for configuration in pair.second.answers
    }


def _parts(run: RunBenchmark, configuration: str) -> Iterator[tuple[str, str]]:
    """Each `axis=label` of a configuration's name with the value of the axis, where one is recorded."""
    values = {axis: value for (_, axis), value in run.settings.get(configuration, {}).items()}
    for part in configuration.split(","):
        axis = part.partition("=")[0]
        arguments = {
            name: value for path, value in values.items() if (name := path.removeprefix(f"{axis}.")) != path
        }
        value = values.get(axis, arguments or part)
        yield part, value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def renamed(
    facts: Mapping[tuple[Aspect, str], object], names: Mapping[str, str]
) -> dict[tuple[Aspect, str], object]:
    """The facts of a run whose models have other names in the other run."""
    moved = {}
    for (aspect, path), value in facts.items():
        for old, new in names.items():
            path = path.replace(f"model[{old}]", f"model[{new}]")
            path = f"{new}: {path.removeprefix(f'{old}: ')}" if path.startswith(f"{old}: ") else path
        moved[aspect, path] = value
    return moved


FactPlace = tuple[Aspect, str]
PROMPTS: FactPlace = ("prompt", "prompts of matched items")
FIELDS: FactPlace = ("score", "other fields of matched items")
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


def _facts_of(run: ComparedRun, both: Collection[tuple[str, str]]) -> dict[tuple[Aspect, str], object]:
    """The facts of a run, but for those of benchmarks that are not in `both`: what one run alone asked is
    absent from the other, and makes no other instrument of it."""
    places = sorted((*run.benchmarks, *run.bare), key=lambda place: -len(place[1]))  # `a.b` before `a`

    def owner(path: str) -> tuple[str, str] | None:
        return next((place for place in places if path.startswith(f"model[{place[0]}].{place[1]}.")), None)

    of = {place: owner(place[1]) for place in run.facts}
    return {place: value for place, value in run.facts.items() if of[place] is None or of[place] in both}


def _without_code(facts: Mapping[FactPlace, object]) -> dict[FactPlace, object]:
    return {place: value for place, value in facts.items() if place[0] != "code"}


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
    crossing = packages_differ(firsts, second)
    if crossing:
        rows |= {row: _row(row, *made, may_differ) for row, made in _packages(firsts, second)}
    there = _facts_of(second, {(pair.model_b, pair.benchmark) for pair in pairs})
    for first in () if crossing else firsts:
        here = {(names.get(model, model), benchmark) for model, benchmark in second.benchmarks}
        sides = _facts_of(first, here & first.benchmarks.keys()), renamed(there, names)
        if any(FINGERPRINTED in run.unknown for run in (first, second)):
            sides = _without_code(sides[0]), _without_code(sides[1])
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
    if changed := sum(pair.items.changed for pair in pairs):
        rows[FIELDS] = InstrumentDifference(
            aspect="score",
            path=FIELDS[1],
            a=None,
            b=f"{changed:,} of {sum(pair.matched for pair in pairs):,} differ",
            allowed=_may_differ(FIELDS, may_differ),
        )
    unknown = dict.fromkeys(what for run in (*firsts, second) for what in run.unknown)
    if any(pair.items.renamed for pair in pairs):
        unknown["other fields of items whose ids differ"] = None
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
        for inner, a, b in json_differences(*sides):
            yield (place[0], f"{place[1]}.{inner}" if inner else place[1]), a, b


def _settings(pair: PairedBenchmark, compared: set[Aspect]) -> Iterator[tuple[FactPlace, object, object]]:
    """A key that differs alike in several configurations is one difference."""
    places: dict[tuple[FactPlace, str], tuple[object, object, list[str]]] = {}
    shown = shown_names(pair)
    for configuration in pair.configurations:
        settings = [run.settings.get(name, {}) for run, name in zip(pair.runs, configuration, strict=True)]
        for here in settings[:-1]:
            for place, a, b in _compared(here, settings[-1], compared):
                if place in NAMED_FILES:
                    continue
                same = places.setdefault((place, f"{_shown(a)} {_shown(b)}"), (a, b, []))
                same[2].append(shown[configuration[-1]])
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
    return aspect in stated or any(
        setting_name(path) == name or path.startswith(f"{name}.") for name in stated
    )


def nameable(runs: Iterable[ComparedRun]) -> list[str]:
    """What `may_differ` can name in these runs beside aspects: settings and facts."""
    settings = (
        place
        for run in runs
        for benchmark in run.benchmarks.values()
        for configuration in benchmark.settings.values()
        for place in configuration
        if place not in NAMED_FILES
    )
    facts = (place for run in runs for place in run.facts)
    return list(dict.fromkeys([PROMPTS[1], FIELDS[1], *(path for _, path in (*settings, *facts))]))


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
        return shortened_json(value, SHOWN)
    except TypeError:
        return json.dumps(str(value))[:SHOWN]
