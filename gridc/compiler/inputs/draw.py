"""Draws: a benchmark's sample and exemplars, and the units whose items are independent of each other.

Items that were made together (versions of a scenario, fillings of one template) rise and fall together, and a
test that takes each for an independent witness is wrong about its own error rate: with 25 templates and a
correlation of .02 within them, BBQ's families of four certify falsely in .118 of studies of 800 items. So the
unit is the coarsest level that the data document. A category is a topic that was chosen, not drawn from many,
so it is a unit only where a spec says so.

Items that ask the same are one question (`questions.asked`), whatever their ids: twelve questions in eight
copies each are twelve units. Groups of a coarser level that share a question are one.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Generic, TypeVar

from gridc.compiler.inputs.questions import QuestionDigests, of_item, plain_question, question_text, words_of
from gridc.compiler.instrument.item import Item
from gridc.schema.items import UNIT_LEVELS, Sample, UnitLevel
from gridc.statistics.reproducibility import DrawError, in_drawn_order


def draw_sample(items: Sequence[Item], sample: Sample, barred: Collection[str] = ()) -> list[Item]:
    """The sampled items in file order; `barred` names families that are kept out.

    Raises `DrawError` when there are not exactly as many as the sample asks for, or none at all.
    """
    pool = [item for item in items if item.family not in barred and _has_tags(item, sample)]
    if not pool:
        raise DrawError(f"none of the {len(items)} items {_lacks(items, sample)}")
    if sample.seed is None:
        return pool
    wanted = sample.n or round(Fraction(str(sample.share)) * len(pool))
    chosen = _first(_units(pool, sample), wanted)
    if len(chosen) < wanted or not chosen:
        whole = {"item": "", "family": " in whole families", "template": " in whole templates"}.get(
            sample.level, " in whole categories"
        )
        raise DrawError(
            f"{len(chosen)} of the {len(pool)} items can be drawn{whole}, {wanted} were asked for"
        )
    drawn = [item for item in pool if item.id in chosen]
    if sample.allocation == "equal":
        _require_equal(drawn, pool, sample)
    return drawn


def draw_at_most(items: Sequence[Item], sample: Sample, wanted: int) -> list[Item]:
    """What `sample` draws of the items where it asks for as many whole units as `wanted` items hold, in
    file order. Raises `DrawError` where there is nothing to draw."""
    pool = [item for item in items if _has_tags(item, sample)]
    chosen = _first(_units(pool, sample), wanted)
    return [item for item in pool if item.id in chosen]


def draw_exemplars(items: Sequence[Item], sampled: Sequence[Item], seed: int) -> list[Item]:
    """Every item that has an answer to show and shares no family with the sample, in the order in which
    shots take them.

    A sentence pair has no right answer, so its exemplar shows one of its sentences: the more and the less
    stereotypical one by turns, and which comes first is drawn. An opinion is never an exemplar.
    """
    taken = {item.family for item in sampled}
    rest = [item for item in items if item.family not in taken and _answerable(item)]
    order = in_drawn_order(rest, seed, "exemplars", lambda item: item.id)
    first, second = in_drawn_order((0, 1), seed, "sentences", str)
    return [_showing(item, second if turn % 2 else first) for turn, item in enumerate(order)]


def _answerable(item: Item) -> bool:
    return item.gold is not None or bool(item.references) or _is_pair(item)


def _is_pair(item: Item) -> bool:
    return bool(item.options) and item.stem == ""


def _showing(item: Item, sentence: int) -> Item:
    return replace(item, references=(item.options[sentence],)) if _is_pair(item) else item


def families_of(items: Sequence[Item], stems: Collection[str]) -> set[str]:
    """The families in which any item asks one of these stems: what a disjoint sample must leave out."""
    barred = {plain_question(stem) for stem in stems}
    return {item.family for item in items if plain_question(item.stem) in barred}


def _has_tags(item: Item, sample: Sample) -> bool:
    return sample.where is None or sample.where.matches(item.tags)


def _lacks(items: Sequence[Item], sample: Sample) -> str:
    """Why no item is left: a tag that none has, or a value."""
    for _, tag, value in sample.where.mentions() if sample.where else ():
        values = sorted({item.tags[tag] for item in items if tag in item.tags})
        if value not in values:
            known = values or sorted({name for item in items for name in item.tags})
            what = f"has {tag} = {value!r}" if values else f"has a tag `{tag}`"
            return f"{what} (there is {', '.join(known[:8]) or 'no tag'})"
    return "is left to ask"


def _units(pool: Sequence[Item], sample: Sample) -> list[list[str]]:
    """What is drawn as one, items or whole groups, as lists of item ids in the order of the draw.

    Strata take turns. Under proportional allocation the j-th unit of a stratum of N stands at
    (j + 1/2) / N, so that every beginning of the order has each stratum in its proportion (the divisor
    method of Webster and Sainte-Lague); under equal allocation the j-th units of all strata stand together.
    """
    members: dict[str, list[Item]] = {}
    for item in pool:
        members.setdefault(item.at(sample.level), []).append(item)
    strata = {name: _stratum(group, sample) for name, group in members.items()}
    sizes = Counter(strata.values())
    seen: Counter[str] = Counter()
    order: list[tuple[Fraction, str]] = []
    for name in in_drawn_order(members, sample.seed or 0, "sample", str):
        stratum = strata[name]
        turn = Fraction(
            2 * seen[stratum] + 1, 2 * sizes[stratum] if sample.allocation == "proportional" else 2
        )
        seen[stratum] += 1
        order.append((turn, name))
    if sample.stratify:
        order.sort(key=lambda pair: pair[0])
    return [[item.id for item in members[name]] for _, name in order]


def _stratum(group: Sequence[Item], sample: Sample) -> str:
    names = {_combination(item, sample.stratify) for item in group}
    if len(names) > 1:
        raise DrawError(
            f"{sample.level} `{group[0].at(sample.level)}` lies in {len(names)} strata of `{sample.stratify}`"
        )
    return names.pop()


def _combination(item: Item, tags: Sequence[str]) -> str:
    missing = [tag for tag in tags if tag not in item.tags]
    if missing:
        raise DrawError(
            f"item `{item.id}` has no tag `{missing[0]}` (it has {', '.join(item.tags) or 'none'})"
        )
    return "\0".join(item.tags[tag] for tag in tags)


def _first(units: Sequence[Sequence[str]], wanted: int) -> set[str]:
    """As many units from the beginning as fit into what is wanted."""
    chosen: set[str] = set()
    for unit in units:
        if len(chosen) + len(unit) <= wanted:
            chosen.update(unit)
    return chosen


def _require_equal(drawn: Sequence[Item], pool: Sequence[Item], sample: Sample) -> None:
    counts: Mapping[str, int] = {
        stratum: sum(_combination(item, sample.stratify) == stratum for item in drawn)
        for stratum in {_combination(item, sample.stratify) for item in pool}
    }
    most, least = max(counts.values()), min(counts.values())
    size = max(Counter(item.at(sample.level) for item in drawn).values())
    if most - least > size:
        small = next(stratum for stratum, count in counts.items() if count == least).replace("\0", ", ")
        raise DrawError(f"stratum `{small}` has only {least} items where others give {most}")


BOOTSTRAP_LEVELS: Mapping[str, UnitLevel] = {
    "item": "item",
    "cluster": "family",
    "template": "template",
    "category": "category",
}
"""The level of items that `[analysis] bootstrap` draws, by its `unit`; of the others it draws none."""


def with_questions(items: Sequence[Item], columns: Collection[str] | None = None) -> tuple[Item, ...]:
    """The items, each with the first one that asks the same as its `question`, where several do. `columns`
    are the further columns that reach a prompt."""
    words = [words_of(item) for item in items]
    alike = Counter(words)  # most items share their words with no other, and need no comparison
    keys = [
        question_text(item, columns) if alike[own] > 1 else None
        for item, own in zip(items, words, strict=True)
    ]
    several, first = Counter(keys), dict[str, str]()
    return tuple(
        item if key is None or several[key] < 2 else replace(item, question=first.setdefault(key, item.id))
        for item, key in zip(items, keys, strict=True)
    )


def joined_at(items: Sequence[Item], level: UnitLevel) -> tuple[Item, ...]:
    """The items, with one name for groups of a level that share a question."""
    if level in ("item", "question"):
        return tuple(items)
    groups, holder = _Joined[str](), dict[str, str]()
    for item in items:
        if item.question:
            groups.join(holder.setdefault(item.question, item.at(level)), item.at(level))
    renamed: list[Item] = []
    for item in items:
        name = groups.first(item.at(level))
        renamed.append(item if name == item.at(level) else _named(item, level, name))
    return tuple(renamed)


def _named(item: Item, level: UnitLevel, name: str) -> Item:
    if level == "family":
        return replace(item, family=name)
    return replace(item, template=name) if level == "template" else replace(item, category=name)


T = TypeVar("T")


class _Joined(Generic[T]):
    """Groups that are one with others, by the first of them."""

    def __init__(self) -> None:
        self._next: dict[T, T] = {}

    def first(self, group: T) -> T:
        while self._next.setdefault(group, group) != group:
            group = self._next[group]
        return group

    def join(self, group: T, other: T) -> None:
        self._next[self.first(other)] = self.first(group)

    def __iter__(self) -> Iterator[T]:
        return iter(self._next)


class UndocumentedUnit(ValueError):
    """No item says to which group of the level it belongs; `known` are the levels at which some do."""

    def __init__(self, level: UnitLevel, known: Sequence[UnitLevel]) -> None:
        self.level, self.known = level, tuple(known)
        super().__init__(f"no item says which {level} it belongs to")


def documented(items: Sequence[Item]) -> tuple[UnitLevel, ...]:
    """The levels at which some item says where it belongs, the finest first; the item is one always."""
    return tuple(level for level in UNIT_LEVELS if any(item.documents(level) for item in items))


def unit_level(items: Sequence[Item], stated: UnitLevel | None) -> UnitLevel:
    """The level whose groups are independent: the stated one, or the coarsest below `category`.

    Raises `UndocumentedUnit`; and `ValueError` where a group of a finer level lies in several units, which
    are then not independent of each other.
    """
    known = documented(items)
    if stated is not None and stated not in ("question", *known) and items:
        raise UndocumentedUnit(stated, known)  # where no question is asked twice, each item is one
    unit = stated or [level for level in known if level != "category"][-1]
    for finer in known[1 : known.index(unit)] if unit in known else ():
        if finer == "question":
            continue  # units that share one are joined
        holder: dict[str, str] = {}
        for item in items:
            if item.documents(finer) and holder.setdefault(item.at(finer), item.at(unit)) != item.at(unit):
                raise ValueError(f"{finer} `{item.at(finer)}` lies in more than one {unit}")
    return unit


Group = tuple[str, str]
"""A benchmark, and the name of a group of its items."""


def one_group(items: Mapping[str, Sequence[Item]], levels: Mapping[str, UnitLevel]) -> dict[Group, Group]:
    """The groups of several benchmarks at a level of each, by the first group that each is one with: those of
    two benchmarks that hold the same item, by its text and choices and not by its id, are not independent."""
    one = _Joined[Group]()
    holders: dict[QuestionDigests, Group] = {}
    for benchmark, sampled in items.items():
        own: dict[QuestionDigests, Group] = {}
        for item in sampled:
            group = benchmark, item.at(levels[benchmark])
            content = of_item(item)._replace(target=None)
            if content in holders:
                one.join(holders[content], group)
            own.setdefault(content, group)
            one.first(group)
        holders = own | holders
    return {group: one.first(group) for group in list(one)}
