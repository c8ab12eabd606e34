"""Choosing the next token: greedy, sampled with numbers that belong to the call, or given.

The random numbers of a call are a function of its digest (a counter-based generator, Philox, keyed by it), so
they do not depend on what shares its batch, on order, on a resume or on another process.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, compress

import numpy as np
import torch

from gridc.runtime.engines.hf.copies import to_device, to_host
from gridc.runtime.engines.hf.kv_cache import places
from gridc.runtime.engines.hf.sequences import Member
from gridc.runtime.engines.protocol import NEAR_TIE

_HEAD = 64


def uniforms(call: str, count: int) -> list[float]:
    """The first `count` random numbers in [0, 1) of the call with this digest (hexadecimal)."""
    generator = np.random.Generator(np.random.Philox(key=int(call[:32], 16)))
    return [float(each) for each in generator.random(count)]


def greedy(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The most likely token of each row of logits (rows, vocabulary), its logit, and its lead over the next.

    Of equally likely tokens the one with the lowest id is taken, as `generate` of transformers does: in bf16
    several per cent of steps are exact ties. A row that has NaN in it has NaN as its largest logit.
    """
    tokens = logits.argmax(dim=-1)  # the first of equal ones, which `topk` does not promise
    first, second = logits.topk(2, dim=-1).values.unbind(-1)
    return tokens, first, first - second


@dataclass(frozen=True, slots=True)
class Nucleus:
    """The smallest sets of tokens that hold the mass `top_p`, one for each row.

    `tokens` (rows, width) are in the order of their ids, so that a tiny change of a logit cannot reorder
    them; `cumulative` (rows, width) is their running mass, which stands still where a set has ended.
    `stake` (rows,) is the mass that a near tie at the edge of the set would take from it or give it.
    """

    tokens: torch.Tensor
    cumulative: torch.Tensor
    stake: torch.Tensor

    def draw(
        self, row: torch.Tensor, place: torch.Tensor, most: int, uniform: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The token that each uniform number (draws,) falls on in its row (draws,), and how far it is
        from being another one: the distance to the nearest edge, less what is at stake in the set. `place`
        (draws,) is that beside the others of the same row, of which there are `most` at most."""
        width = self.cumulative.shape[1]
        total = self.cumulative[:, -1]
        targets = self.cumulative.new_zeros(len(total), most)
        targets[row, place] = uniform * total[row]
        found = torch.searchsorted(self.cumulative, targets, right=True).clamp(max=width - 1)
        at, target = found[row, place], targets[row, place]
        lower = torch.where(at > 0, self.cumulative[row, (at - 1).clamp(min=0)], 0.0)
        margin = torch.minimum(target - lower, self.cumulative[row, at] - target) - self.stake[row]
        return self.tokens[row, at], margin / total[row]

    def put(self, rows: torch.Tensor, other: "Nucleus") -> "Nucleus":
        """The same sets, but for these rows those of another."""
        width = max(self.tokens.shape[1], other.tokens.shape[1])
        return Nucleus(
            _wide(self.tokens, width).index_copy(0, rows, _wide(other.tokens, width)),
            _wide(self.cumulative, width).index_copy(0, rows, _wide(other.cumulative, width)),
            self.stake.index_copy(0, rows, other.stake),
        )


def nucleus(logits: torch.Tensor, temperature: torch.Tensor, top_p: torch.Tensor | None) -> Nucleus:
    """The nuclei of logits (rows, vocabulary) at a temperature and a top-p below 1 (rows,) each.

    Of equally likely tokens those with the lowest ids are taken, so that a set does not depend on how a
    sort breaks ties. Without a top-p every token belongs to the set, and nothing is sorted.
    """
    if top_p is None:
        return _full_nucleus(logits, temperature)
    return _cut_nucleus(logits, temperature, top_p)


def _full_nucleus(logits: torch.Tensor, temperature: torch.Tensor) -> Nucleus:
    """All tokens in the order of their ids: no edge, so nothing is at stake there."""
    scaled = logits / temperature[:, None].to(logits.dtype)
    cumulative = torch.softmax(scaled.double(), dim=-1).cumsum(-1)
    tokens = torch.arange(logits.shape[1], device=logits.device).expand(len(logits), -1)
    return Nucleus(tokens, cumulative, cumulative.new_zeros(len(logits)))


def _cut_nucleus(logits: torch.Tensor, temperature: torch.Tensor, top_p: torch.Tensor) -> Nucleus:
    scaled = logits / temperature[:, None].to(logits.dtype)
    most = scaled.amax(-1)
    normaliser = most.double() + (scaled - most[:, None]).exp().sum(-1, dtype=torch.float64).log()
    tokens = scaled.topk(min(_HEAD, scaled.shape[-1]), dim=-1).indices.sort(dim=-1).values
    values = scaled.gather(1, tokens)
    nucleus, whole = _sets(values, tokens, normaliser, top_p)
    if values.shape[-1] == scaled.shape[-1]:
        return nucleus
    rest = torch.nonzero(~whole)[:, 0]
    if len(rest):  # The few most likely tokens nearly always hold the mass; these rows are sorted in full.
        ids = torch.arange(scaled.shape[-1], device=logits.device).expand(len(rest), -1)
        nucleus = nucleus.put(rest, _sets(scaled[rest], ids, normaliser[rest], top_p[rest])[0])
    return nucleus


def _sets(
    values: torch.Tensor, tokens: torch.Tensor, normaliser: torch.Tensor, top_p: torch.Tensor
) -> tuple[Nucleus, torch.Tensor]:
    """The nuclei among these tokens (rows, width), which are in the order of their ids, and whether no token
    outside could belong to them."""
    values, order = values.sort(dim=-1, descending=True, stable=True)
    tokens = tokens.gather(1, order)
    mass = torch.exp(values.double() - normaliser[:, None])
    reached = mass.cumsum(-1)
    size = (reached - mass < top_p[:, None]).sum(-1, keepdim=True).clamp(min=1)
    last = mass.gather(1, size - 1)
    whole = (last * (1 - NEAR_TIE) > mass[:, -1:])[:, 0]
    # What a near tie at the edge would move: tokens swapped for equally likely ones, the last one out,
    # the next one in.
    place = torch.arange(mass.shape[1], device=values.device)
    level = (mass - last).abs() < NEAR_TIE * last
    inside = (level & (place < size)).sum(-1, keepdim=True)
    swapped = torch.minimum(inside, level.sum(-1, keepdim=True) - inside)
    following = torch.where(size < mass.shape[1], mass.gather(1, size.clamp(max=mass.shape[1] - 1)), 0.0)
    over = reached.gather(1, size - 1) - top_p[:, None]
    leaves, enters = last - over < NEAR_TIE, (over >= 0) & (over < NEAR_TIE)
    stake = (swapped + leaves) * last + enters * following
    width = int(size.max()) if mass.shape[1] > _HEAD else mass.shape[1]
    kept = torch.arange(width, device=values.device) < size
    highest = torch.where(kept, tokens[:, :width], -1).amax(-1, keepdim=True)
    ids, order = torch.where(kept, tokens[:, :width], torch.iinfo(tokens.dtype).max).sort(dim=-1)
    cumulative = torch.where(kept, mass[:, :width], 0.0).gather(1, order).cumsum(-1)
    return Nucleus(torch.minimum(ids, highest), cumulative, stake[:, 0]), whole


def _wide(sets: torch.Tensor, width: int) -> torch.Tensor:
    """The sets, with their last value repeated up to a width."""
    return torch.cat([sets, sets[:, -1:].expand(-1, width - sets.shape[1])], dim=-1)


WORKING = 2**24
"""Most probabilities that are computed at once to sample and to score: 110 rows of a vocabulary of 152k,
which take about 0.5 GiB."""


Distributions = dict[tuple[int, float, float], list[Member]]
"""By row, temperature and top-p: members that share a distribution. Each draws with its own number."""


class NonFiniteLogitsError(ArithmeticError):
    """A model gave logits that are not finite: no token can be chosen by them."""


def branch(
    rows: list[list[Member]], logits: torch.Tensor, ends: frozenset[int]
) -> tuple[list[int], list[int], list[list[Member]]]:
    """Let every member take its next token. For each row that goes on: the row it comes from, its token
    and its members. A row stays in its place when it can, so that little has to be moved."""
    _choose(rows, logits, ends)
    _stop(rows)
    onward: list[tuple[int, int, list[Member]]] = []
    staying: dict[int, tuple[int, int, list[Member]]] = {}
    for number, members in enumerate(rows):
        branches: dict[int, list[Member]] = {}
        for member in members:
            if member.finish is None:
                branches.setdefault(member.tokens[-1], []).append(member)
        for token, branch in branches.items():
            if number in staying:
                onward.append((number, token, branch))
            else:
                staying[number] = (number, token, branch)
    total = len(staying) + len(onward)
    onward += [staying.pop(number) for number in list(staying) if number >= total]
    moving = iter(onward)
    placed = [staying[number] if number in staying else next(moving) for number in range(total)]
    return [each[0] for each in placed], [each[1] for each in placed], [each[2] for each in placed]


def _stop(rows: list[list[Member]]) -> None:
    """End the members that have come to a stop string: the tokenizer is asked once for all of them."""
    reading = [member for members in rows for member in members if member.stopped and member.end is None]
    if reading and (stopped := reading[0].stopped):
        for member in compress(reading, stopped(reading)):
            member.finish = "stop"


def _choose(rows: list[list[Member]], logits: torch.Tensor, ends: frozenset[int]) -> None:
    """Let every member take its next token. What all choices depend on comes from the device at once."""
    given: list[tuple[int, Member]] = []
    greedily: list[tuple[int, Member]] = []
    sampled = Distributions(), Distributions()  # from every token, and from a nucleus
    for number, members in enumerate(rows):
        for member in members:
            if member.given is not None:
                given.append((number, member))
            elif member.temperature > 0:
                distribution = number, member.temperature, member.top_p
                sampled[member.top_p < 1].setdefault(distribution, []).append(member)
            else:
                greedily.append((number, member))
    top, values, lead, likely, tokens, margins = to_host(
        *greedy(logits), _log_likelihoods(given, logits), *_draws(sampled, logits)
    )
    if not all(map(math.isfinite, values)):
        raise NonFiniteLogitsError("its logits are not finite (NaN or infinity)")
    if not all(map(math.isfinite, likely)):
        raise NonFiniteLogitsError("the likelihood of a candidate is not finite (NaN or infinity)")
    for number, member in greedily:
        member.note(lead[number])
        member.take(int(top[number]), ends)
    for (number, member), value in zip(given, likely, strict=True):
        token = _next_given(member)
        member.note(lead[number])  # of whether its next token is the most likely one
        member.loglikelihood += value
        member.most_likely &= token == top[number]
        member.take(token, ends)
    drawing = chain(*(sharing for each in sampled for sharing in each.values()))
    for member, drawn, margin in zip(drawing, tokens, margins, strict=True):
        member.note(margin)
        member.take(int(drawn), ends)


def _next_given(member: Member) -> int:
    assert member.given is not None
    return member.given[len(member.tokens)]


def _log_likelihoods(given: list[tuple[int, Member]], logits: torch.Tensor) -> torch.Tensor:
    """What it costs each candidate (given,) to go where it must."""
    if not given:
        return logits.new_empty(0)
    numbers = [number for number, _ in given]
    place = {number: at for at, number in enumerate(dict.fromkeys(numbers))}
    backs, tokens = [place[number] for number in numbers], [_next_given(member) for _, member in given]
    some, rows, back, at = to_device(logits.device, list(place), numbers, backs, tokens)
    step = _rows_at_once(logits)
    normaliser = torch.cat(
        [torch.logsumexp(logits[some[start : start + step]], dim=-1) for start in range(0, len(some), step)]
    )
    return logits[rows, at] - normaliser[back]


def _draws(sampled: Sequence[Distributions], logits: torch.Tensor) -> list[torch.Tensor]:
    """The tokens and the margins (draws,) of these members in their order. So many distributions at a time
    as `WORKING` allows: they come on top of the memory that keys and values have."""
    nothing, step = logits.new_empty(0, dtype=torch.float64), _rows_at_once(logits)
    drawn = [(nothing, nothing)]
    for each in sampled:
        groups = list(each.items())
        drawn += [_draw(dict(groups[start : start + step]), logits) for start in range(0, len(groups), step)]
    return [torch.cat(parts) for parts in zip(*drawn, strict=True)]


def _rows_at_once(logits: torch.Tensor) -> int:
    return max(1, WORKING // logits.shape[1])


def _draw(sampled: Distributions, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, temperatures, tops = zip(*sampled, strict=True)
    owners = [number for number, members in enumerate(sampled.values()) for _ in members]
    beside, most = places(owners)
    numbers = [member.numbers[len(member.tokens)] for member in chain(*sampled.values())]
    copied = to_device(logits.device, rows, owners, beside, temperatures, tops, numbers, dtype=torch.float64)
    row, owner, place = (each.long() for each in copied[:3])
    temperature, top_p, uniform = copied[3:]
    sets = nucleus(logits[row], temperature, top_p if tops[0] < 1 else None)
    return sets.draw(owner, place, most, uniform)
