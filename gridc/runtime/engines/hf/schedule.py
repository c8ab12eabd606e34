"""Which calls are answered together: batches that are a function of the calls and of the memory allowed.

Prompts that share a long prefix stand on one trunk. Those that stand on the same trunk are taken in the
order of their length, so that little is padded, as many at a time as the bound on keys and values
allows. Prompts with much in common beyond the trunk are not parted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from gridc.runtime.engines.hf.paths import PASS_TOKENS
from gridc.runtime.engines.hf.sequences import Member, Unit
from gridc.runtime.engines.hf.trie import Tokens, shared, trunks

TRUNK_WORTH = 512
"""Positions that a trunk must save: below it, a wider batch is worth more."""

_CLUMP = 8
"""Prompts that share so many tokens beyond the trunk stay together."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a batch computes: the trunk, the stretches of it, and the units that stand on it."""

    trunk: Tokens
    cuts: tuple[int, ...]
    units: tuple[Unit, ...]

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(call for unit in self.units for call in unit.calls)

    @property
    def members(self) -> list[Member]:
        return [member for unit in self.units for member in unit.members]

    @property
    def cost(self) -> int:
        """Forward tokens, if no answer ends early and no two agree. The trunk is not counted: it is
        there from the batch before, but for the first batch on it."""
        return sum(unit.positions - len(self.trunk) for unit in self.units)


@dataclass(frozen=True, slots=True)
class Bound:
    """Most positions of keys and values that a batch may hold, and most units."""

    positions: int
    units: int | None = None


class TooLargeError(ValueError):
    """One call alone needs more positions than are allowed. Carries how many it needs."""

    def __init__(self, positions: int) -> None:
        super().__init__(positions)
        self.positions = positions


def schedule(units: Sequence[Unit], bound: Bound) -> Iterator[Work]:
    """The batches of all units, each unit in one of them, or in several when it is too large for one.

    Raises `TooLargeError`.
    """
    if not units:
        return
    parts = sorted(
        (part for unit in units for part in _parts(unit, bound)), key=lambda part: (part.prompt, part.calls)
    )
    for trunk in trunks([part.prompt for part in parts], TRUNK_WORTH):
        members = [parts[place] for place in trunk.members]
        path, cuts = members[0].prompt[: trunk.length], _stretches(trunk.cuts)
        for batch in _cut(members, trunk.length, bound):
            yield Work(path, cuts, tuple(sorted(batch, key=lambda part: (part.prompt, part.calls))))


def _parts(unit: Unit, bound: Bound) -> Iterator[Unit]:
    """The unit, or its calls in several groups that each fit the bound with the prompt."""
    if unit.positions <= bound.positions:
        yield unit
        return
    room = bound.positions - len(unit.prompt)
    by_call: dict[str, list[Member]] = {}
    for member in unit.members:
        by_call.setdefault(member.call, []).append(member)
    group: list[list[Member]] = []
    taken = 0
    for members in by_call.values():
        needed = sum(member.room for member in members)
        if needed > room:
            raise TooLargeError(len(unit.prompt) + needed)
        if taken + needed > room:
            yield Unit.of([member for each in group for member in each])
            group, taken = [], 0
        group.append(members)
        taken += needed
    yield Unit.of([member for each in group for member in each])


def _stretches(cuts: tuple[int, ...]) -> tuple[int, ...]:
    """The cuts of a trunk, with further ones where a stretch is more than one forward pass takes."""
    found: list[int] = []
    for start, end in zip((0, *cuts), cuts, strict=False):
        found += [*range(start + PASS_TOKENS, end, PASS_TOKENS), end]
    return tuple(found)


def _cut(units: Sequence[Unit], trunk: int, bound: Bound) -> Iterator[list[Unit]]:
    """Units on one trunk, clump by clump, the short ones first."""
    clumps = sorted(_clumps(units, trunk), key=lambda clump: max(len(unit.prompt) for unit in clump))
    batch: list[Unit] = []
    longest = tips = 0
    for unit in (unit for clump in clumps for unit in clump):
        stem, own = len(unit.prompt) - trunk, sum(member.room for member in unit.members)
        positions = trunk + (len(batch) + 1) * max(longest, stem) + tips + own
        if batch and (positions > bound.positions or len(batch) == bound.units):
            yield batch
            batch, longest, tips = [], 0, 0
        batch.append(unit)
        longest, tips = max(longest, stem), tips + own
    yield batch


def _clumps(units: Sequence[Unit], trunk: int) -> list[list[Unit]]:
    """Sorted units, in groups whose neighbours share more than the trunk."""
    apart = [shared(left.prompt, right.prompt) - trunk < _CLUMP for left, right in pairwise(units)]
    numbers = accumulate([False, *apart])
    found: dict[int, list[Unit]] = {}
    for unit, number in zip(units, numbers, strict=True):
        found.setdefault(number, []).append(unit)
    return list(found.values())
