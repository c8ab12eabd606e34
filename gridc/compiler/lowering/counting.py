"""How much a plan asks: every sample, every call, and each distinct call once.

Not every call is made to be counted. A call has parts (`calls.CallParts`): who is asked and how the answer is
drawn, which is the same for all calls of a cell; the words, which are the same in all cells that render items
alike; and of drawn answers the item and the replicate. So the items are rendered once for all cells that say
the same about them (`Asker.words`), and the numbers are products.

Words are told apart by their digest. Each is noted with the number of whoever says it, and counting goes over
the sets of numbers that some words have in common: mostly there is one for each number.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from gridc.compiler.grid.cells import Cell, DistinctCounter
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import CallKind, CallParts, Extent
from gridc.compiler.lowering.requests import Asker

KINDS: tuple[CallKind, ...] = ("generate", "loglikelihood")
GENERATE, RANK = KINDS


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """What one model is asked, each distinct call once.

    `stored` counts the calls whose answer a store already has, null when none was looked at.
    `prompt_characters` and `generated_tokens` are of the distinct calls: characters that are sent, and the
    most tokens that may come back. They are the means over all calls times the number of distinct ones.

    Calls that follow from answers, of scaffolds and all those of judges, are not among them: `later` says how
    many these are, null where there is none. Those that cells share are asked once, which can only lower it.
    """

    calls: int
    prompts: int
    stored: int | None
    prompt_characters: int
    generated_tokens: int
    later: Extent | None = None


@dataclass(frozen=True, slots=True)
class CallCounts:
    """How much is asked. `calls` counts every sample's calls, `unique` each distinct call once. Of a scaffold
    these are the first calls, which are known before the run.

    `shared_draws` says how often a configuration gets an answer that was drawn for another one, because both
    send the same words, by the axes in which the two differ (`differ`).

    A run is one pass over a benchmark's items: a cell times its replicates. Two names of the same model
    files are one model to the calls; they are counted under the name that comes first.
    """

    cells: int
    runs: int
    samples: int
    calls: int
    unique: int
    prompts: int
    by_kind: Mapping[str, int]
    models: Mapping[str, ModelCounts]
    shared_draws: Mapping[str, int]


def differing_axes(first: Cell, other: Cell) -> str:
    """The axes in which two cells differ, `model` where they are of two names of one."""
    axes = [axis for axis, level in first.levels.items() if other.levels[axis] != level]
    axes += ["benchmark"] if first.benchmark != other.benchmark else []
    return ", ".join(axes + (["model"] if first.model != other.model else []))


def shared_words(shared_draws: Mapping[str, int]) -> list[str]:
    """What is said of answers that serve several configurations, by the axes in which these differ. One draw
    that serves four is the answer of another configuration three times."""
    return [
        f"{'1 answer of a configuration is' if number == 1 else f'{number:,} answers of configurations are'} "
        f"taken from another one, which sends the same words and differs in {axes} alone: the two share one "
        "draw"
        for axes, number in shared_draws.items()
    ]


NumberSet = tuple[int, ...]
"""All numbers that some digests are noted with, in order."""


@dataclass(frozen=True, slots=True)
class _Words:
    """What some cells say about their items, each said once: how many samples and calls these are, and how
    many characters."""

    number: int
    samples: int
    calls: int
    characters: int

    def noted(self, drawn: bool) -> int:
        """The number that its digests are noted with: those of words alone, or of words and item, where each
        item draws an answer of its own."""
        return 2 * self.number + drawn


@dataclass(frozen=True, slots=True)
class _DrawingCell:
    """A cell whose answers are drawn, the number of its digests, and how many distinct replicates it has."""

    cell: Cell
    place: int
    number: int
    replicates: int


@dataclass(slots=True)
class _Sender:
    """What asks one model in one way. `repeats` has the most distinct replicates by the number of digests."""

    kind: CallKind
    model: str
    precision: str
    repeats: dict[int, int] = field(default_factory=dict)
    drawing: list[_DrawingCell] = field(default_factory=list)


@dataclass(slots=True)
class _RequestTotals:
    """What is sent to one model, over all calls: sums, to be scaled to the distinct ones."""

    calls: int = 0
    characters: int = 0
    most: int = 0
    later: Extent | None = None

    def add(self, words: _Words, setting: Setting) -> None:
        """The calls of a cell."""
        self.calls += words.calls * setting.replicates
        self.characters += words.characters * setting.replicates
        self.most += words.calls * setting.replicates * (0 if setting.ranks else setting.held("max_tokens"))


class _Sets:
    """How many digests are noted with exactly the same numbers, and by number the sets that it is in."""

    def __init__(self, noted: DistinctCounter) -> None:
        self.sizes: Counter[NumberSet] = Counter()
        for digests in noted.numbers():
            self.sizes.update(tuple(sorted(numbers)) for numbers in digests.values())
        self.of: defaultdict[int, list[NumberSet]] = defaultdict(list)
        for numbers in self.sizes:
            for number in numbers:
                self.of[number].append(numbers)
        self._known: dict[frozenset[tuple[int, int]], int] = {}

    def distinct(self, repeats: Mapping[int, int]) -> int:
        """How many calls there are of the digests of some numbers, each repeated as often as the number of it
        that repeats it most."""
        key = frozenset(repeats.items())
        if key not in self._known:
            most: dict[NumberSet, int] = {}
            for number, times in repeats.items():
                for numbers in self.of[number]:
                    most[numbers] = max(times, most.get(numbers, 0))
            self._known[key] = sum(times * self.sizes[numbers] for numbers, times in most.items())
        return self._known[key]


def count_calls(
    asker: Asker, cells: Iterable[Cell], answered: Iterable[Mapping[str, Any]] | None = None
) -> CallCounts:
    """Go once through the cells of a study. `answered` has the requests that a store has answers to, as JSON;
    each once."""
    models = {name: identity.digest for name, identity in asker.study.models.items()}
    names = {digest: name for name, digest in reversed(list(models.items()))}
    sent = {digest: _RequestTotals() for digest in names}
    totals = {"cells": 0, "runs": 0, "samples": 0, "calls": 0}
    known: dict[Hashable, _Words] = {}
    senders: dict[bytes, _Sender] = {}
    extents = _Extents(asker)
    drawing = 0
    with DistinctCounter() as said, DistinctCounter() as shown, DistinctCounter() as stored:
        for cell in cells:
            setting, model, alike = cell.setting, models[cell.model], asker.words(cell)
            if alike not in known:
                known[alike] = _read(asker, cell, len(known), said, shown)
            words = known[alike]
            totals["cells"] += 1
            totals["runs"] += setting.replicates
            totals["samples"] += words.samples * setting.replicates
            totals["calls"] += words.calls * setting.replicates
            sent[model].add(words, setting)
            identifier = asker.sender(cell)
            if identifier not in senders:
                senders[identifier] = _Sender(RANK if setting.ranks else GENERATE, model, setting.precision)
            sender, drawn = senders[identifier], bool(setting.temperature) and not setting.ranks
            number, replicates = words.noted(drawn), setting.replicates if drawn else 1
            sender.repeats[number] = max(replicates, sender.repeats.get(number, 0))
            if asker.draws(cell):
                sender.drawing.append(_DrawingCell(cell, drawing, number, replicates))
                drawing += 1
            if setting.scaffolding is not None:
                later = extents.of(cell, words.number)
                sent[model].later = (sent[model].later or Extent()) + later
        calls, prompts = _Sets(said), _Sets(shown)
        answers = None if answered is None else _stored(answered, senders, said, stored)
    unique: Counter[tuple[str, CallKind]] = Counter()
    asked: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for sender in senders.values():
        unique[sender.model, sender.kind] += calls.distinct(sender.repeats)
        asked[sender.model, sender.precision] |= {number // 2: 1 for number in sender.repeats}
    shows: Counter[str] = Counter()
    for (model, _), repeats in asked.items():
        shows[model] += prompts.distinct(repeats)
    of_model = {
        name: _model_counts(
            sent[digest],
            sum(unique[digest, kind] for kind in KINDS),
            shows[digest],
            None if answers is None else answers[digest],
        )
        for digest, name in names.items()
    }
    by_kind: dict[str, int] = {
        kind: number for kind in KINDS if (number := sum(unique[digest, kind] for digest in names))
    }
    return CallCounts(
        **totals,
        unique=unique.total(),
        prompts=shows.total(),
        by_kind=by_kind,
        models={name: of_model[name] for name in models if name in of_model},
        shared_draws=_shared_draws(senders.values(), calls),
    )


def _read(asker: Asker, cell: Cell, number: int, said: DistinctCounter, shown: DistinctCounter) -> _Words:
    """What a cell says about its items, noted under a number."""
    samples = calls = characters = 0
    for sample in asker.samples_once(cell):
        samples += 1
        for request in sample.requests:
            words = request.parts.words
            for drawn in (False,) if cell.setting.ranks else (False, True):
                said.add(_digest(words, sample.item.id if drawn else None), 2 * number + drawn)
            shown.add(bytes.fromhex(request.prompt.id), number)
            calls += 1
            characters += request.prompt.characters
            characters += sum(len(text) for text in request.parameters.get("continuations", ()))
    return _Words(number, samples, calls, characters)


def _digest(words: bytes, item: str | None) -> bytes:
    """Of words alone, or of words about an item."""
    return sha256(words if item is None else words + item.encode()).digest()


class _Extents:
    """How much the scaffolds of a cell ask after their first calls. What cells have in common is found once:
    a scaffold on an item asks no more for another model, and its replies are as long as they may be."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._of_items: dict[tuple[int, int], list[Extent]] = {}
        self._of_cells: dict[tuple[str, bytes], Extent] = {}

    def of(self, cell: Cell, words: int) -> Extent:
        """Of all samples of a cell that says these words."""
        alike = cell.benchmark, cell.setting.key
        if alike not in self._of_cells:
            limit = words, cell.setting.held("max_tokens")
            if limit not in self._of_items:
                self._of_items[limit] = [
                    sample.scaffolded.extent()
                    for sample in self._asker.samples_once(cell)
                    if sample.scaffolded is not None
                ]
            total = Extent()
            for extent in self._of_items[limit]:
                for _ in range(cell.setting.replicates):  # a product of floats could be rounded otherwise
                    total += extent
            self._of_cells[alike] = total
        return self._of_cells[alike]


REPLICATES = 2**32
"""A stored call has the number of its sender times this, and its replicate."""


def _stored(
    answered: Iterable[Mapping[str, Any]],
    senders: Mapping[bytes, _Sender],
    said: DistinctCounter,
    stored: DistinctCounter,
) -> Counter[str]:
    """How many calls of the plan are answered, by model."""
    places = {identifier: place for place, identifier in enumerate(senders)}
    for request in answered:
        try:
            parts = CallParts.of(request)
        except ValueError:  # it has no canonical form, which each call of a plan has
            continue
        place, replicate = places.get(parts.sender), 0 if parts.replicate is None else parts.replicate
        drawn = (parts.item, parts.replicate) != (None, None)
        if place is None or (drawn and not (type(parts.item) is str and type(replicate) is int)):
            continue
        if 0 <= replicate < REPLICATES:
            stored.add(_digest(parts.words, parts.item), place * REPLICATES + replicate)
    found: Counter[str] = Counter()
    by_place = list(senders.values())
    for ours, theirs in zip(said.numbers(), stored.numbers(), strict=True):
        for digest in ours.keys() & theirs.keys():
            for place, replicate in (divmod(number, REPLICATES) for number in theirs[digest]):
                most = max(by_place[place].repeats.get(number, 0) for number in ours[digest])
                found[by_place[place].model] += replicate < most
    return found


def _shared_draws(senders: Iterable[_Sender], calls: _Sets) -> dict[str, int]:
    """How often a cell gets an answer that was drawn for an earlier one, by the axes in which the two differ,
    most often first."""
    often: Counter[str] = Counter()
    met: dict[str, tuple[int, int]] = {}
    for sender in senders:
        for first, later, number in _twins(sender.drawing, calls):
            axes = differing_axes(first.cell, later.cell)
            often[axes] += number
            met[axes] = min(met.get(axes, (later.place, first.place)), (later.place, first.place))
    return {axes: often[axes] for axes in sorted(often, key=lambda axes: (-often[axes], met[axes]))}


def _twins(drawing: list[_DrawingCell], calls: _Sets) -> Iterator[tuple[_DrawingCell, _DrawingCell, int]]:
    """(the first cell that makes some calls, a later one that makes them too, how many these are)."""
    together: defaultdict[NumberSet, list[_DrawingCell]] = defaultdict(list)
    for one in drawing if len(drawing) > 1 else ():
        for numbers in calls.of[one.number]:
            together[numbers].append(one)
    for numbers, cells in together.items():
        below = 0
        for replicates in sorted({one.replicates for one in cells}):
            # Replicates from `below` on are first asked by the first cell that has so many.
            first, *others = (one for one in cells if one.replicates >= replicates)
            yield from ((first, later, (replicates - below) * calls.sizes[numbers]) for later in others)
            below = replicates


def _model_counts(sent: _RequestTotals, calls: int, prompts: int, stored: int | None) -> ModelCounts:
    share = calls / sent.calls if sent.calls else 0.0
    characters, generated = round(sent.characters * share), round(sent.most * share)
    later = None if sent.later is None else sent.later.rounded()
    return ModelCounts(calls, prompts, stored, characters, generated, later)
