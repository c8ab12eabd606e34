"""Decode a batch of prompts as a forest, so that what its members share is computed once.

The trunk of the batch is computed unless the batch before left it here. The rest of each prompt is a
stem. From there members branch: those whose tokens so far coincide share a row, so the greedy answer, its
sampled replicates and the candidates of a ranking cost one forward token for every token in which they
agree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gridc.runtime.engines.hf.attention import View
from gridc.runtime.engines.hf.forward_passes import Pack, Step, Stretch
from gridc.runtime.engines.hf.kv_cache import Reading, Shape, Stems, Tips, Trunk
from gridc.runtime.engines.hf.sampling import NEAR_TIE, greedy, nucleus
from gridc.runtime.engines.hf.sequences import Member
from gridc.runtime.engines.hf.trie import Tokens

PASS_TOKENS = 2048
"""Most tokens of prompts in one forward pass; it bounds the activations."""


@dataclass(slots=True)
class Spent:
    """Forward tokens that were computed, the most bytes of keys and values that were held at once, and
    the most rows that a step had."""

    tokens: int = 0
    held: int = 0
    rows: int = 0


class Forest:
    """A causal language model that uses forest attention, with the trunk that it stands on."""

    def __init__(self, model: Any, shape: Shape) -> None:
        self._model, self._shape = model, shape
        self._trunk = Trunk(shape)

    def decode(
        self, trunk: Tokens, cuts: tuple[int, ...], members: Sequence[Member], ends: frozenset[int]
    ) -> Spent:
        """Carry every member to its end. Their prompts begin with `trunk`, which is computed in the
        stretches that end at `cuts`."""
        by_prompt: dict[Tokens, list[Member]] = {}
        for member in members:
            by_prompt.setdefault(member.prompt, []).append(member)
        prompts = sorted(by_prompt)
        spent = Spent()
        with torch.inference_mode():
            self._reach(trunk, cuts, spent)
            stems, logits = self._stems([prompt[len(trunk) :] for prompt in prompts], spent)
            rows = [by_prompt[prompt] for prompt in prompts]
            self._grow(stems, [len(prompt) for prompt in prompts], rows, logits, ends, spent)
        return spent

    def _reach(self, trunk: Tokens, cuts: tuple[int, ...], spent: Spent) -> None:
        for stretch in self._trunk.rewind(trunk, cuts):
            view, start = Stretch(self._trunk), len(self._trunk.tokens)
            self._pass(view, stretch, range(start, start + len(stretch)), spent, slice(-1, None))
            self._trunk.grow(stretch)

    def _stems(self, rests: list[Tokens], spent: Spent) -> tuple[Stems, torch.Tensor]:
        """The stems, and the logits (prompts, vocabulary) after each prompt."""
        stems = Stems(self._shape, [len(rest) for rest in rests])
        spent.held = self._trunk.held + stems.held
        start, found = len(self._trunk.tokens), []
        for first, some in _passes(rests):
            pack = Pack(self._trunk, stems, first, some)
            positions = [start + each for each in pack.positions]
            last = torch.tensor(pack.last, device=self._shape.device)
            found.append(self._pass(pack, pack.tokens, positions, spent, last))
        return stems, torch.cat(found)

    def _grow(
        self,
        stems: Stems,
        lengths: list[int],
        rows: list[list[Member]],
        logits: torch.Tensor,
        ends: frozenset[int],
        spent: Spent,
    ) -> None:
        tips = Tips(self._shape, [member.limit - 1 for members in rows for member in members])
        standing = list(range(len(rows)))
        while True:
            sources, tokens, rows = _branch(rows, logits, ends)
            if not rows:
                return
            standing = [standing[source] for source in sources]
            live = sorted(set(standing))
            if 2 * len(live) <= len(lengths):
                stems.keep(torch.tensor(live, device=self._shape.device))
                place = {stem: number for number, stem in enumerate(live)}
                standing = [place[stem] for stem in standing]
                lengths = [lengths[stem] for stem in live]
            tips.take(sources)
            reading = Reading(torch.tensor(standing, device=self._shape.device), len(lengths))
            positions = [lengths[stem] + tips.length for stem in standing]
            spent.held = max(spent.held, self._trunk.held + stems.held + tips.held)
            spent.rows = max(spent.rows, len(rows))
            view = Step(self._trunk, stems, tips, reading)
            logits = self._pass(view, tokens, positions, spent, slice(None))
            tips.length += 1

    def _pass(
        self, view: View, tokens: Sequence[int], positions: Sequence[int], spent: Spent, kept: Any
    ) -> torch.Tensor:
        """One forward pass over packed tokens. Logits (kept, vocabulary) in fp32."""
        spent.tokens += len(tokens)
        device = self._shape.device
        out = self._model(
            input_ids=torch.tensor([list(tokens)], device=device),
            position_ids=torch.tensor([list(positions)], device=device),
            use_cache=False,
            logits_to_keep=torch.arange(len(tokens), device=device)[kept],
            forest=view,
        )
        logits: torch.Tensor = out.logits[0].float()
        return logits


def _passes(rests: list[Tokens]) -> Iterator[tuple[int, list[Tokens]]]:
    """Sorted rests, as many at a time as a forward pass takes, and the number of the first."""
    first, tokens = 0, 0
    for number, rest in enumerate(rests):
        if tokens and tokens + len(rest) > PASS_TOKENS:
            yield first, rests[first:number]
            first, tokens = number, 0
        tokens += len(rest)
    yield first, rests[first:]


def _branch(
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
    top, lead = (each.tolist() for each in greedy(logits))
    given: list[tuple[int, Member]] = []
    sampled: dict[tuple[int, float, float], list[Member]] = {}
    for number, members in enumerate(rows):
        for member in members:
            if member.given is not None:
                given.append((number, member))
            elif member.temperature > 0:
                sampled.setdefault((number, member.temperature, member.top_p), []).append(member)
            else:
                member.near_ties += lead[number] < NEAR_TIE
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
    rows = torch.tensor([number for number, _ in given], device=device)
    tokens = [member.given[len(member.tokens)] for _, member in given if member.given is not None]
    which, back = torch.unique(rows, return_inverse=True)
    normaliser = torch.logsumexp(logits[which], dim=-1)[back]
    chosen = logits[rows, torch.tensor(tokens, device=device)] - normaliser
    for (number, member), token, value in zip(given, tokens, chosen.tolist(), strict=True):
        member.loglikelihood += value
        member.most_likely &= token == top[number]
        member.take(token, ends)


def _sample(
    sampled: dict[tuple[int, float, float], list[Member]], logits: torch.Tensor, ends: frozenset[int]
) -> None:
    """Members of one row, temperature and top-p share a distribution; each has its own number."""
    if not sampled:
        return
    device = logits.device
    rows, temperatures, tops = zip(*sampled, strict=True)
    sets = nucleus(
        logits[torch.tensor(rows, device=device)],
        torch.tensor(temperatures, device=device, dtype=torch.float64),
        torch.tensor(tops, device=device, dtype=torch.float64),
    )
    owners = [(number, member) for number, members in enumerate(sampled.values()) for member in members]
    numbers = [member.numbers[len(member.tokens)] for _, member in owners]
    which = torch.tensor([number for number, _ in owners], device=device)
    tokens, margins = sets.draw(which, torch.tensor(numbers, device=device, dtype=torch.float64))
    for (_, member), token, margin in zip(owners, tokens.tolist(), margins.tolist(), strict=True):
        member.near_ties += margin < NEAR_TIE
        member.take(token, ends)
