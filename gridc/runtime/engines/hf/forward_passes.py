"""The three kinds of forward pass: a stretch of trunk, a pack of stems, a step of the tips.

Each is what attention consults (`attention.AttentionMask`): it stores the keys and values of the pass where
they belong and says what each packed token sees.
"""

from collections.abc import Sequence

import torch

from gridc.runtime.engines.hf.attention import Softmax, by_kv_head, fused, join
from gridc.runtime.engines.hf.kv_cache import CachedTensors, StemReads, Stems, Tips, Trunk
from gridc.runtime.engines.hf.trie import Tokens, shared


class Stretch:
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


class Pack:
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
            start, count = shared(before, rest), len(self.tokens)
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
        self._starts = torch.tensor(starts, device=device)

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
            mixed, total = self._stems.attend_many(stored, heads[self._queries], softmax, self._starts)
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
