"""Which calls the local engine answers together, and in what batches it makes some of them once more.

Batches are a function of the calls and of the memory allowed. Prompts that share a long prefix stand on one
trunk. Those that stand on the same trunk are taken in the order of their length, so that little is padded, as
many at a time as the bound on keys and values allows. Prompts with much in common beyond the trunk are kept
together.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from gridc.runtime.engines.hf.paths import PASS_TOKENS
from gridc.runtime.engines.hf.sequences import Member, Tokens, Unit, shared_length, trunks

TRUNK_WORTH = 512
"""Positions that a trunk must save: below it, a wider batch is worth more."""

_CLUMP = 8
"""Prompts that share so many tokens beyond the trunk stay together."""


@dataclass(frozen=True, slots=True)
class BatchWork:
    """What a batch computes: the trunk, the stretches of it, and the units that stand on it. `anew`: nothing
    is taken from sequences that were kept for later calls."""

    trunk: Tokens
    cuts: tuple[int, ...]
    units: tuple[Unit, ...]
    anew: bool = False

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


def schedule(units: Sequence[Unit], bound: Bound, anew: bool = False) -> Iterator[BatchWork]:
    """The batches of all units, each unit in one of them, or in several when it is too large for one. What is
    computed `anew`, to compare it, is so in shorter stretches.

    Raises `TooLargeError`.
    """
    if not units:
        return
    parts = sorted(
        (part for unit in units for part in _parts(unit, bound)), key=lambda part: (part.prompt, part.calls)
    )
    for trunk in trunks([part.prompt for part in parts], TRUNK_WORTH):
        members = [parts[place] for place in trunk.members]
        path, cuts = members[0].prompt[: trunk.length], _stretches(trunk.cuts, anew)
        for batch in _unit_batches(members, trunk.length, bound):
            taken = tuple(sorted(batch, key=lambda part: (part.prompt, part.calls)))
            yield BatchWork(path, cuts, taken, anew)


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


def _stretches(cuts: tuple[int, ...], halved: bool) -> tuple[int, ...]:
    """The cuts of a trunk, with further ones where a stretch is more than one forward pass takes, or more
    than half of what it would take."""
    found: list[int] = []
    for start, end in zip((0, *cuts), cuts, strict=False):
        step = min(PASS_TOKENS, end - start)
        step = -(-step // 2) if halved else step
        found += [*range(start + step, end, step), end]
    return tuple(found)


def _unit_batches(units: Sequence[Unit], trunk: int, bound: Bound) -> Iterator[list[Unit]]:
    """Units on one trunk, clump by clump, the short ones first."""
    clumps = sorted(_unit_groups(units, trunk), key=lambda clump: max(len(unit.prompt) for unit in clump))
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


def _unit_groups(units: Sequence[Unit], trunk: int) -> list[list[Unit]]:
    """Sorted units, in groups whose neighbours share more than the trunk."""
    apart = [shared_length(left.prompt, right.prompt) - trunk < _CLUMP for left, right in pairwise(units)]
    numbers = accumulate([False, *apart])
    found: dict[int, list[Unit]] = {}
    for unit, number in zip(units, numbers, strict=True):
        found.setdefault(number, []).append(unit)
    return list(found.values())


FEW = 4
"""Prompts in a batch of calls that are made once more. So many are made again whatever they take."""

SOME_ALONE, ON_THE_TRUNK = "few at a time, some alone", "few at a time, on the trunk of the run"
"""Shapes in which calls are made once more."""


def repeat_batches(
    calls: Sequence[Sequence[Member]],
    lengths: Sequence[int],
    tokens: float,
    bound: Bound,
    standing: Iterable[tuple[Tokens, tuple[int, ...]]],
) -> tuple[str, list[BatchWork]]:
    """Batches in which the first of some calls are made once more within so many tokens, and their shape.

    Up to a fourth of the calls are made alone, for a fourth of the tokens; the others a few at a time, on
    trunks that are computed anew. Where that is too much for a single call, those are made again that stand
    on a trunk that is there; where none does, the first few.

    Args:
        calls: the members of each call.
        lengths: how many tokens are computed for each answer.
        standing: the trunks that are there, with their cuts.
    """
    whole = [len(members[0].prompt) + length for members, length in zip(calls, lengths, strict=True)]
    alone = _affordable(whole[: len(calls) // 4], tokens / 4)
    works = [BatchWork((), (), (Unit.of(members),), anew=True) for members in calls[:alone]]
    rest, left = calls[alone:], tokens - sum(whole[:alone])

    def together(number: int) -> list[BatchWork]:
        by_prompt: dict[Tokens, list[Member]] = {}
        for members in rest[:number]:
            by_prompt.setdefault(members[0].prompt, []).extend(members)
        return list(schedule([Unit.of(same) for same in by_prompt.values()], bound, anew=True))

    def cost(number: int) -> int:
        return _prompt_tokens(together(number)) + sum(lengths[alone : alone + number])

    taken = bisect_right(range(1, len(rest) + 1), left, key=cost)
    if works or taken:
        return SOME_ALONE, [*works, *together(taken)]
    for trunk, cuts in standing:
        there = [
            (Unit.of(members), len(members[0].prompt) - len(trunk) + length)
            for members, length in zip(calls, lengths, strict=True)
            if trunk and len(members[0].prompt) > len(trunk) and members[0].prompt[: len(trunk)] == trunk
        ]
        units = [unit for unit, _ in there[: max(_affordable([cost for _, cost in there], tokens), 1)]]
        if units:
            parts = (units[start : start + FEW] for start in range(0, len(units), FEW))
            return ON_THE_TRUNK, [BatchWork(trunk, cuts, tuple(part), anew=True) for part in parts]
    return SOME_ALONE, together(FEW)


def _prompt_tokens(works: Sequence[BatchWork]) -> int:
    """The tokens of prompts that batches compute; those that prompts share beyond their trunk count for
    each."""
    trunks_there = {work.trunk: len(work.trunk) for work in works}
    beyond = (len(unit.prompt) - len(work.trunk) for work in works for unit in work.units)
    return sum(trunks_there.values()) + sum(beyond)


def _affordable(costs: Sequence[float], most: float) -> int:
    """How many of the first cost no more than so much together."""
    return bisect_right(list(accumulate(costs)), most)
