"""Pairs two runs: which of their models, benchmarks, configurations and items are the same.

One rule for `gridc compare`, `gridc diff` and `gridc view --with`; docs/compare.md tells it ("What is
paired"). Models and benchmarks are paired by name, and configurations by their levels in any order. The only
one of every run is paired whatever it is called, and so are configurations that alone have equal settings.
Items are paired by content.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from gridc.compiler.inputs.questions import MatchedQuestions, QuestionDigests, matched
from gridc.numbers import counted

ModelBenchmark = tuple[str, str]
"""A model and a benchmark."""
AskedSettings = Mapping[Any, object]


@dataclass(frozen=True)
class RunItems:
    """The items of a run, one after the other: `keys` by content, a digest of what is asked that is equal in
    two runs where the same is asked by one package, empty where the run does not say it; the `ids` there, the
    `units` that they belong to, and what they ask as every package would have it."""

    keys: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    questions: tuple[QuestionDigests, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each is, by its key."""
        return {key: place for place, key in enumerate(self.keys)}


@dataclass(frozen=True, slots=True)
class AskedBenchmark:
    """What a model was asked on a benchmark: the items, and the settings of each configuration by its name,
    empty where the run does not record them."""

    items: RunItems
    configurations: Mapping[str, AskedSettings]


@dataclass(frozen=True, slots=True, eq=False)
class AskedRun:
    """What a run asked and which `package` did, without the answers. `bare` are places of which it has a
    score and no items."""

    package: str
    benchmarks: Mapping[ModelBenchmark, AskedBenchmark]
    bare: tuple[ModelBenchmark, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model for model, _ in (*self.benchmarks, *self.bare)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the benchmarks that it has items of."""
        return tuple(dict.fromkeys(benchmark for _, benchmark in self.benchmarks))


STORED = "gridc"
"""The package of a study in a store."""
Kind = Literal["model", "benchmark", "configuration"]
NO_CONFIGURATION = "the other run has no configuration with these levels or settings"
SHOWN = 3
"""Configurations with equal settings that a sentence names."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """What is called `own` in the baseline of this number and `name` in the candidate, and is paired because
    it is the `only` one of its kind in every run, or because its settings are equal."""

    run: int
    kind: Kind
    own: str
    name: str
    only: bool = True

    @property
    def words(self) -> str:
        own = f", {self.own}," if self.own else ""  # a log may name no configuration
        return f"its only {self.kind}{own} stands as {self.name or 'the only one'}"


@dataclass(frozen=True)
class PairedItems:
    """The items of a place in every run, the candidate last: their `keys`, equal in all runs where they are
    paired, and their `ids`. `other_question` names ids that stand for a question that only one of the first
    baseline and the candidate has, and `renumbered` counts those that stand for another one of the common
    questions. Of items that are paired though their content differs, `changed` counts those that differ in
    more than the id, and `renamed` those of which that is not known. `questions` says how the items of
    different packages were matched."""

    keys: tuple[tuple[str, ...], ...]
    ids: tuple[tuple[str, ...], ...]
    other_question: tuple[str, ...] = ()
    renumbered: int = 0
    changed: int = 0
    renamed: int = 0
    questions: MatchedQuestions | None = None

    @cached_property
    def partners(self) -> Mapping[str, str]:
        """The id in the candidate by that in the first baseline, of the items that both have."""
        there = dict(zip(self.keys[-1], self.ids[-1], strict=True))
        own = zip(self.keys[0], self.ids[0], strict=True)
        return {id: there[key] for key, id in own if key in there}


@dataclass(frozen=True, slots=True)
class PairedPlace:
    """One model on one benchmark, and its configurations, as every run calls them, the candidate last; and
    the items."""

    names: tuple[ModelBenchmark, ...]
    configurations: tuple[tuple[str, ...], ...]
    items: PairedItems


@dataclass(frozen=True, slots=True)
class Unpaired:
    """What the run of this number alone has, and why it is not paired: a place, or a configuration there."""

    run: int
    place: ModelBenchmark
    configuration: str | None
    why: str


@dataclass(frozen=True, slots=True)
class RunPairing:
    """What is paired in baselines and a candidate, and what is not. `places` are in the candidate's order."""

    places: tuple[PairedPlace, ...]
    renamings: tuple[Renaming, ...]
    unpaired: tuple[Unpaired, ...]

    def said(self) -> Iterator[str]:
        """How the first baseline was paired where names differ, in sentences."""
        yield from (one.words for one in self.renamings if one.run == 0 and one.only)
        yield from self.equal_settings(0)
        for place in {id(place.items): place for place in self.places}.values():
            benchmark, others = place.names[-1][1], len(place.items.other_question)
            if moved := sum(own != name for own, name in place.items.partners.items()):
                ids = "has another id" if moved == 1 else "have other ids"
                yield f"{counted(moved, 'item')} of {benchmark} {ids}: content decides"
            if changed := place.items.changed:
                yield f"{counted(changed, 'item')} of {benchmark} ask the same, and other fields differ"
            if others:
                name = "names" if others == 1 else "name"
                yield f"{counted(others, 'id')} of {benchmark} {name} another question"

    def equal_settings(self, run: int) -> Iterator[str]:
        """Which configurations of a baseline stand under other names, because their settings are equal."""
        equal = [
            f"{one.own} stands as {one.name}" for one in self.renamings if one.run == run and not one.only
        ]
        if equal:
            more = f", and {len(equal) - SHOWN:,} more" if len(equal) > SHOWN else ""
            yield f"{', '.join(equal[:SHOWN])}{more} (their settings are equal)"

    def why(self, run: int) -> tuple[str, ...]:
        """The reasons for which something of a run is not paired, each once."""
        return tuple(dict.fromkeys(one.why for one in self.unpaired if one.run == run))


def pair_runs(firsts: Sequence[AskedRun], second: AskedRun) -> RunPairing:
    """Pair baselines with a candidate."""
    runs = (*firsts, second)
    crossed = len({run.package for run in runs}) > 1
    models, benchmarks = by_name([run.models for run in runs]), by_name([run.names for run in runs])
    renamings = [*_renamed("model", models.values()), *_renamed("benchmark", benchmarks.values())]
    known: dict[tuple[int, ...], PairedItems] = {}  # the models of a stored benchmark share its items
    places = []
    for model, benchmark in second.benchmarks:
        names = tuple(zip(models.get(model, ()), benchmarks.get(benchmark, ()), strict=False))
        found = [run.benchmarks[one] for run, one in zip(runs, names, strict=False) if one in run.benchmarks]
        if len(found) < len(runs):
            continue
        configurations, moved = _configurations([one.configurations for one in found])
        renamings += moved
        items = [one.items for one in found]
        same = tuple(map(id, items))
        if same not in known:
            known[same] = pair_items(items, crossed, second.package == STORED)
        places.append(PairedPlace(names, configurations, known[same]))
    unpaired = [one for number in range(len(runs)) for one in _unpaired(number, runs, places)]
    return RunPairing(tuple(places), tuple(dict.fromkeys(renamings)), tuple(unpaired))


def by_name(names: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Of each name of the last run what stands for it in every run: the same name, or the only one there."""
    if all(len(own) == 1 for own in names):
        return {names[-1][0]: tuple(own[0] for own in names)}
    return {name: (name,) * len(names) for name in names[-1] if all(name in own for own in names)}


def _renamed(kind: Kind, paired: Iterable[tuple[str, ...]], only: bool = True) -> Iterator[Renaming]:
    for *others, name in paired:
        yield from (Renaming(run, kind, own, name, only) for run, own in enumerate(others) if own != name)


def level_set(configuration: str) -> frozenset[str]:
    return frozenset(configuration.split(","))


def _configurations(
    runs: Sequence[Mapping[str, AskedSettings]],
) -> tuple[tuple[tuple[str, ...], ...], list[Renaming]]:
    """Those of the same levels in every run, or the only ones, by their names there and in the order of the
    last; and of the rest those that alone have their settings."""
    same = _same([{name: level_set(name) for name in run} for run in runs])
    if not same and all(len(run) == 1 for run in runs):
        only = tuple(next(iter(run)) for run in runs)
        return (only,), list(_renamed("configuration", [only]))
    taken = {name for names in same for name in names}
    equal = _same(
        [
            {
                name: json.dumps(sorted((str(key), value) for key, value in settings.items()), default=str)
                for name, settings in run.items()
                if settings and name not in taken
            }
            for run in runs
        ]
    )
    pairs = {names[-1]: names for names in (*same, *equal)}
    moved = list(_renamed("configuration", equal, only=False))
    return tuple(pairs[name] for name in runs[-1] if name in pairs), moved


def _same(runs: Sequence[Mapping[str, object]]) -> list[tuple[str, ...]]:
    """What every run calls one thing, from what is known of each by name: that which each run has once."""
    times = [Counter(run.values()) for run in runs]
    names = [{known: name for name, known in run.items()} for run in runs]
    return [
        tuple(run[known] for run in names) for known in names[-1] if all(one[known] == 1 for one in times)
    ]


def pair_items(runs: Sequence[RunItems], crossed: bool = False, stored: bool = True) -> PairedItems:
    """Pair the items of runs, the candidate last: by content, and where no content is the same by what is
    asked. Where `crossed` different packages asked, and only what is asked can be compared; where a run does
    not say what it asks, items that have one id are one, unless their texts are known and differ. The id is
    a part of the content of `stored` items."""
    ids = tuple(run.ids for run in runs)
    if crossed:
        found = matched([run.questions for run in runs])
        return PairedItems(
            tuple(
                tuple(f"{number} {place}" if key is None else key.hex() for place, key in enumerate(own))
                for number, own in enumerate(found.keys)
            ),
            ids,  # every package has ids of its own, so that one id may well name two questions
            questions=found,
        )
    known = all(all(run.keys) for run in runs)
    contents = [_each_once(run.keys) for run in runs] if known else _by_id(runs)
    keys = _by_question(contents, runs) if known else contents
    common, equal = (set.intersection(*map(set, one)) for one in (keys, contents))
    by_key = [dict(zip(own, names, strict=True)) for own, names in zip(keys, ids, strict=True)]
    other_content = common - equal
    renamed = sum(len({run[key] for run in by_key}) > 1 for key in other_content) if stored else 0
    first = dict(zip(ids[0], keys[0], strict=True))
    other = [(id, key) for id, key in zip(ids[-1], keys[-1], strict=True) if first.get(id, key) != key]
    replaced = [id for id, key in other if key not in common or first[id] not in common]
    return PairedItems(
        tuple(keys),
        ids,
        tuple(sorted(replaced)),
        len(other) - len(replaced),
        len(other_content) - renamed,
        renamed,
    )


def _each_once(keys: Sequence[str]) -> tuple[str, ...]:
    """Of several items with one content the first stands for the first in another run, and so on."""
    times = Counter[str]()
    named = []
    for key in keys:
        named.append(f"{key} {times[key]}" if times[key] else key)
        times[key] += 1
    return tuple(named)


def _by_question(keys: Sequence[tuple[str, ...]], runs: Sequence[RunItems]) -> list[tuple[str, ...]]:
    """With one key for items that no other run has the content of and that ask the same, though their ids or
    what else is known of them differ."""
    common = set.intersection(*map(set, keys))
    rest = [[place for place, key in enumerate(own) if key not in common] for own in keys]
    if not all(rest):
        return list(keys)
    found = matched(
        [[run.questions[place] for place in places] for run, places in zip(runs, rest, strict=True)]
    )
    asked = [dict(zip(places, own, strict=True)) for places, own in zip(rest, found.keys, strict=True)]
    both = set.intersection(*(set(own.values()) for own in asked)) - {None}
    return [
        tuple(
            f"question {question.hex()}" if (question := of.get(place)) in both and question else key
            for place, key in enumerate(own)
        )
        for own, of in zip(keys, asked, strict=True)
    ]


def _by_id(runs: Sequence[RunItems]) -> list[tuple[str, ...]]:
    texts: dict[str, set[bytes | None]] = {}
    for run in runs:
        for id, question in zip(run.ids, run.questions, strict=True):
            texts.setdefault(id, set()).add(question.text)
    return [
        tuple(
            f"{id} {question.text.hex()}" if question.text and len(texts[id] - {None}) > 1 else id
            for id, question in zip(run.ids, run.questions, strict=True)
        )
        for run in runs
    ]


def _unpaired(number: int, runs: Sequence[AskedRun], places: Sequence[PairedPlace]) -> Iterator[Unpaired]:
    taken = {place.names[number]: {names[number] for names in place.configurations} for place in places}
    others = [run for other, run in enumerate(runs) if other != number]
    for (model, benchmark), asked in runs[number].benchmarks.items():
        place = model, benchmark
        if place in taken:
            alone = [name for name in asked.configurations if name not in taken[place]]
            yield from (Unpaired(number, place, name, NO_CONFIGURATION) for name in alone)
        elif all(model != own for own, _ in taken) and any(model not in run.models for run in others):
            yield Unpaired(number, place, None, f"the other run has no model {model}")
        elif any(benchmark not in run.names for run in others):
            yield Unpaired(number, place, None, f"the other run has no benchmark {benchmark}")
        else:
            yield Unpaired(number, place, None, f"the other run did not ask {benchmark} of {model}")
