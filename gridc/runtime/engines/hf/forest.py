"""Decode a batch of prompts as a forest, so that what its members share is computed once.

The trunk of the batch is computed unless the batch before left it here. The rest of each prompt is a
stem. From there members branch: those whose tokens so far coincide share a row, so the greedy answer, its
sampled replicates and the candidates of a ranking cost one forward token for every token in which they
agree.
"""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from gridc.runtime.engines.hf.attention import (
    NAME,
    AttentionMask,
    OncePerLayer,
    Softmax,
    by_kv_head,
    fused,
    join,
    viewing,
)
from gridc.runtime.engines.hf.copies import to_device
from gridc.runtime.engines.hf.kv_cache import (
    CachedTensors,
    PrefixCache,
    Shape,
    StemReads,
    Stems,
    Tips,
    Trunk,
    places,
)
from gridc.runtime.engines.hf.paths import PASS_TOKENS, ForwardWork, WatchTokens, use_attention
from gridc.runtime.engines.hf.sampling import branch
from gridc.runtime.engines.hf.sequences import Member, Tokens, by_prompt, shared_length


class TrunkPass:
    """A pass that continues the trunk: each token sees the trunk and the tokens before it."""

    def __init__(self, trunk: Trunk) -> None:
        self._trunk = trunk

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        self._trunk.store(layer, key, value)
        heads = by_kv_head(query, key.shape[1])
        own = self._trunk.attend_causally(query, key, value, softmax)
        return join([*self._trunk.attend(layer, heads, softmax), own], softmax).reshape(query.shape)


class StemPass:
    """A pass that computes stems: the sorted rests of some prompts, each shared token once.

    Of every rest only what it does not share with the one before it, and what is not `banked` (how many of
    its tokens, in which sequence), is in the pass. `tokens` are those, `positions` theirs from the trunk on,
    and `last` says at which of them each rest ends.
    """

    def __init__(
        self,
        trunk: Trunk,
        stems: Stems,
        first: int,
        rests: Sequence[Tokens],
        banked: Sequence[tuple[int, CachedTensors]],
    ) -> None:
        self._trunk, self._stems, self._first, self._end = trunk, stems, first, first + len(rests)
        self.tokens: list[int] = []
        self.positions: list[int] = []
        paths: list[list[int]] = []
        starts: list[int] = []
        self._taken: list[tuple[CachedTensors, int, int]] = []
        taken = 0
        for before, rest, (known, held) in zip(((), *rests), rests, banked, strict=False):
            start, count = shared_length(before, rest), len(self.tokens)
            path = [*paths[-1][:start]] if paths else []
            if known > start:  # negative until it is known how many are computed
                begun = len(trunk.tokens)
                self._taken.append((held, begun + start, begun + known))
                path += [-1 - taken - place for place in range(known - start)]
                taken, start = taken + known - start, known
            paths.append([*path, *range(count, count + len(rest) - start)])
            starts.append(start)
            self.tokens += rest[start:]
            self.positions += range(start, len(rest))
        self.last = [path[-1] for path in paths]
        paths = [[slot if slot >= 0 else len(self.tokens) - 1 - slot for slot in path] for path in paths]
        device = stems.device
        self._paths = _rectangle(paths, device)
        self._queries = _rectangle([path[start:] for path, start in zip(paths, starts, strict=True)], device)
        counts = torch.tensor([len(path) for path in paths]) - torch.tensor(starts)
        rows = torch.arange(len(rests)).repeat_interleave(counts)
        before_row = (counts.cumsum(0) - counts)[rows]
        self._row = rows.to(device)
        self._slot = (torch.arange(len(rows)) - before_row).to(device)
        self._starts, self._latest = torch.tensor(starts, device=device), max(starts)

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        heads = by_kv_head(query, key.shape[1])
        stored = self._stems.rows(layer, self._first, self._end)
        length = self._paths.shape[1]
        for place, part in ((0, key), (1, value)):
            banked = (held[layer][place, :, start:end].transpose(0, 1) for held, start, end in self._taken)
            stored[place, :, :, :length] = torch.cat([part, *banked])[self._paths].transpose(1, 2)
        stored[:, :, :, length:] = 0
        if len(self.last) == 1 and not self._taken and fused(query, softmax):
            own = Trunk.attend_causally(query, key, value, softmax)
        else:
            queries = heads[self._queries]
            mixed, total = self._stems.attend_many(stored, queries, softmax, self._starts, self._latest)
            own = mixed[self._row, self._slot], total[self._row, self._slot]
        return join([*self._trunk.attend(layer, heads, softmax), own], softmax).reshape(query.shape)


class DecodingStep:
    """A pass that takes every row one token further."""

    def __init__(self, trunk: Trunk, stems: Stems, tips: Tips, reading: StemReads) -> None:
        self._trunk, self._stems, self._tips, self._reading = trunk, stems, tips, reading

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        heads = by_kv_head(query, key.shape[1])
        parts = [
            *self._trunk.attend(layer, heads, softmax),
            self._stems.attend(layer, heads, softmax, self._reading),
            self._tips.attend(layer, heads, key, value, softmax),
        ]
        return join(parts, softmax).reshape(query.shape)


def _rectangle(rows: Sequence[Sequence[int]], device: torch.device) -> torch.Tensor:
    """Rows of numbers, filled up with zeros at the end."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)


class Forest:
    """A causal language model that uses forest attention, with the trunk that it stands on."""

    name = "forest"

    def __init__(self, model: Any, shape: Shape, watch: WatchTokens | None = None) -> None:
        self._model, self._shape, self._watch = model, shape, watch
        self._keeps = watch is None and "logits_to_keep" in inspect.signature(model.forward).parameters
        self._trunk = Trunk(shape)
        self.bank: PrefixCache | None = None

    @property
    def standing(self) -> tuple[Tokens, tuple[int, ...]]:
        """As `ComputePath.standing`."""
        return self._trunk.tokens, self._trunk.cuts

    def decode(
        self, trunk: Tokens, cuts: tuple[int, ...], members: Sequence[Member], ends: frozenset[int]
    ) -> ForwardWork:
        """Carry every member to its end. Their prompts begin with `trunk`, which is computed in the
        stretches that end at `cuts`."""
        use_attention(self._model, NAME)
        standing = by_prompt(members)
        prompts = list(standing)
        spent = ForwardWork()
        with torch.inference_mode():
            self._reach(trunk, cuts, spent)
            stems, logits = self._stems([prompt[len(trunk) :] for prompt in prompts], spent)
            rows = list(standing.values())
            self._grow(stems, [len(prompt) for prompt in prompts], rows, logits, ends, spent)
        return spent

    def _reach(self, trunk: Tokens, cuts: tuple[int, ...], spent: ForwardWork) -> None:
        known, held = self.bank.longest(trunk) if self.bank else (0, ())
        for stretch in self._trunk.rewind(trunk, cuts):
            view, start = TrunkPass(self._trunk), len(self._trunk.tokens)
            if known >= start + len(stretch):
                self._trunk.load(held, start + len(stretch))
                self._trunk.grow(stretch)
                continue
            tokens, standing = to_device(self._shape.device, stretch, range(start, start + len(stretch)))
            self._pass(view, tokens, standing, spent, slice(-1, None))
            self._trunk.grow(stretch)

    def _stems(self, rests: list[Tokens], spent: ForwardWork) -> tuple[Stems, torch.Tensor]:
        """The stems, and the logits (prompts, vocabulary) after each prompt."""
        stems = Stems(self._shape, [len(rest) for rest in rests])
        spent.held = self._trunk.held + stems.held
        start, logits = len(self._trunk.tokens), []
        for first, some in _passes(rests):
            pack = StemPass(self._trunk, stems, first, some, self._banked(some))
            positions = [start + position for position in pack.positions]
            tokens, standing, last = to_device(self._shape.device, pack.tokens, positions, pack.last)
            logits.append(self._pass(pack, tokens, standing, spent, last))
        return stems, torch.cat(logits)

    def _banked(self, rests: list[Tokens]) -> list[tuple[int, CachedTensors]]:
        """How many tokens of each rest are in the bank, and where; the last one is computed in any case."""
        if self.bank is None:
            return [(0, ())] * len(rests)
        start, banked = len(self._trunk.tokens), []
        for rest in rests:
            known, held = self.bank.longest(self._trunk.tokens + rest)
            banked.append((max(min(known - start, len(rest) - 1), 0), held))
        return banked

    def _keep(
        self, members: list[Member], length: int, stems: Stems, stem: int, tips: Tips, row: int
    ) -> None:
        """Put what a row has computed, on a prompt of this length, into the bank if its ended members may be
        continued."""
        ended = [member for member in members if member.finish is not None and member.continued]
        if self.bank is None or not ended:
            return
        begun = length - len(self._trunk.tokens)
        layers = []
        for layer in range(len(self._shape.layers)):
            parts = [self._trunk.keys_and_values(layer), stems.keys_and_values(layer, stem, begun)]
            if tips.length:  # else the answer ended with its first token, before there are rows
                parts.append(tips.keys_and_values(layer, row))
            layers.append(torch.cat(parts, dim=2))
        self.bank.keep(ended[0].prompt + tuple(ended[0].tokens[: tips.length]), layers)

    def _grow(
        self,
        stems: Stems,
        lengths: list[int],
        rows: list[list[Member]],
        logits: torch.Tensor,
        ends: frozenset[int],
        spent: ForwardWork,
    ) -> None:
        tips = Tips(self._shape, [member.limit - 1 for members in rows for member in members])
        standing = list(range(len(rows)))
        while True:
            before = rows
            sources, chosen, rows = branch(rows, logits, ends)
            for row, members in enumerate(before):
                self._keep(members, lengths[standing[row]], stems, standing[row], tips, row)
            if not rows:
                return
            standing = [standing[source] for source in sources]
            live, fewer = sorted(set(standing)), list[int]()
            if 2 * len(live) <= len(lengths):
                fewer = live
                number = {stem: number for number, stem in enumerate(live)}
                standing = [number[stem] for stem in standing]
                lengths = [lengths[stem] for stem in live]
            beside, most = places(standing)
            ahead = [lengths[stem] + tips.length for stem in standing]
            moved = [row for row, source in enumerate(sources) if row != source]
            origins = [sources[row] for row in moved]
            tokens, positions, stem, place, kept, *moves = to_device(
                self._shape.device, chosen, ahead, standing, beside, fewer, moved, origins
            )
            if fewer:
                stems.keep(kept)
            tips.take(len(rows), *moves)
            spent.held = max(spent.held, self._trunk.held + stems.held + tips.held)
            spent.rows = max(spent.rows, len(rows))
            view = DecodingStep(self._trunk, stems, tips, StemReads(stem, place, most))
            logits = self._pass(view, tokens, positions, spent, slice(None))
            tips.length += 1

    def _pass(
        self,
        view: AttentionMask,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        spent: ForwardWork,
        kept: Any,
    ) -> torch.Tensor:
        """One forward pass over packed tokens (tokens,) at their positions. Logits (kept, vocabulary) in
        fp32."""
        spent.tokens += len(tokens)
        once = OncePerLayer(view)
        some = (
            {"logits_to_keep": torch.arange(len(tokens), device=tokens.device)[kept]} if self._keeps else {}
        )
        with viewing(once, positions):
            out = self._model(input_ids=tokens[None], position_ids=positions[None], use_cache=False, **some)
        once.require(len(self._shape.layers))
        logits: torch.Tensor = out.logits[0].float()
        if self._watch:
            self._watch(positions.tolist(), tokens.tolist(), logits)
        return logits if some else logits[kept]


def _passes(rests: list[Tokens]) -> Iterator[tuple[int, list[Tokens]]]:
    """Sorted rests, as many at a time as a forward pass takes, and the number of the first."""
    first, tokens = 0, 0
    for number, rest in enumerate(rests):
        if tokens and tokens + len(rest) > PASS_TOKENS:
            yield first, rests[first:number]
            first, tokens = number, 0
        tokens += len(rest)
    yield first, rests[first:]
