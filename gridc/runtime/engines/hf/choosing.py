"""Every member takes its next token: greedy, sampled, or given. The same for every way to compute logits."""

import math

import torch

from gridc.runtime.engines.hf.sampling import greedy, nucleus
from gridc.runtime.engines.hf.sequences import Member

WORKING = 2**24
"""Most probabilities that are computed at once to sample and to score: 110 rows of a vocabulary of 152k,
which take about 0.5 GiB."""


class NotNumbersError(ArithmeticError):
    """A model gave logits that are not finite: no token can be chosen by them."""


def branch(
    rows: list[list[Member]], logits: torch.Tensor, ends: frozenset[int]
) -> tuple[list[int], list[int], list[list[Member]]]:
    """Let every member take its next token. For each row that goes on: the row it comes from, its token
    and its members. A row stays in its place when it can, so that little has to be moved."""
    _choose(rows, logits, ends)
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


def _choose(rows: list[list[Member]], logits: torch.Tensor, ends: frozenset[int]) -> None:
    best, values, lead = torch.stack([part.double() for part in greedy(logits)]).tolist()  # one transfer
    if not all(map(math.isfinite, values)):
        raise NotNumbersError("its logits are not finite (NaN or infinity)")
    top = [int(token) for token in best]
    given: list[tuple[int, Member]] = []
    sampled: dict[tuple[int, float, float], list[Member]] = {}
    for number, members in enumerate(rows):
        for member in members:
            if member.given is not None:
                member.note(lead[number])  # of whether its next token is the most likely one
                given.append((number, member))
            elif member.temperature > 0:
                sampled.setdefault((number, member.temperature, member.top_p), []).append(member)
            else:
                member.note(lead[number])
                member.take(top[number], ends)
    _follow(given, logits, top, ends)
    _sample(sampled, logits, ends)


def _follow(
    given: list[tuple[int, Member]], logits: torch.Tensor, top: list[int], ends: frozenset[int]
) -> None:
    """Candidates go where they must; what that cost is their log-likelihood."""
    if not given:
        return
    device = logits.device
    tokens = [member.given[len(member.tokens)] for _, member in given if member.given is not None]
    place = {number: at for at, number in enumerate(dict.fromkeys(number for number, _ in given))}
    some, step = torch.tensor(list(place), device=device), _rows_at_once(logits)
    normaliser = torch.cat(
        [torch.logsumexp(logits[some[start : start + step]], dim=-1) for start in range(0, len(some), step)]
    )
    rows, back, at = torch.tensor(
        [(number, place[number], token) for (number, _), token in zip(given, tokens, strict=True)],
        device=device,
    ).unbind(-1)
    chosen = (logits[rows, at] - normaliser[back]).tolist()
    if not all(map(math.isfinite, chosen)):
        raise NotNumbersError("the likelihood of a candidate is not finite (NaN or infinity)")
    for (number, member), token, value in zip(given, tokens, chosen, strict=True):
        member.loglikelihood += value
        member.most_likely &= token == top[number]
        member.take(token, ends)


def _sample(
    sampled: dict[tuple[int, float, float], list[Member]], logits: torch.Tensor, ends: frozenset[int]
) -> None:
    """Members of one row, temperature and top-p share a distribution; each has its own number. So many
    distributions at a time as `WORKING` allows: they come on top of the memory that keys and values have."""
    step, groups = _rows_at_once(logits), list(sampled.items())
    for start in range(0, len(groups), step):
        _draw(dict(groups[start : start + step]), logits, ends)


def _rows_at_once(logits: torch.Tensor) -> int:
    return max(1, WORKING // logits.shape[1])


def _draw(
    sampled: dict[tuple[int, float, float], list[Member]], logits: torch.Tensor, ends: frozenset[int]
) -> None:
    device = logits.device
    rows, temperatures, tops = zip(*sampled, strict=True)
    sets = nucleus(
        logits[torch.tensor(rows, device=device)],
        torch.tensor(temperatures, device=device, dtype=torch.float64),
        torch.tensor(tops, device=device, dtype=torch.float64),
    )
    owners = [(number, member) for number, members in enumerate(sampled.values()) for member in members]
    numbers = [member.numbers[len(member.tokens)] for _, member in owners]
    uniform = torch.tensor(numbers, device=device, dtype=torch.float64)
    drawn = torch.stack(sets.draw([number for number, _ in owners], uniform)).tolist()  # one transfer
    for (_, member), token, margin in zip(owners, *drawn, strict=True):
        member.note(margin)
        member.take(int(token), ends)
