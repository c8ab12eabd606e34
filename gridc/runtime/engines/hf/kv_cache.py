"""The three levels of a forest: the trunk, the stems on it, and the tips that grow from the stems.

Each holds keys and values by layer and knows how packed queries read them. What they hold at once is the
memory that the engine bounds; `held` says how many bytes that is.
"""

from bisect import bisect, bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from gridc.runtime.engines.hf.attention import PartialAttention, Softmax, attention
from gridc.runtime.engines.hf.sequences import ROOM, Tokens, shared_length


def places(groups: Sequence[int]) -> tuple[list[int], int]:
    """The place of each row among the rows of its group, and the most places that a group needs. Counted on
    the host, which knows the groups: asking a device for them would wait for all that it still computes."""
    taken: dict[int, int] = {}
    at = []
    for group in groups:
        at.append(taken.get(group, 0))
        taken[group] = at[-1] + 1
    return at, max(taken.values())


SCORES = 2**24
"""Most scores that the attention of a stem holds at once."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Key-value heads and their width, by layer, and the type and place of keys and values. Where values are
    narrower than keys they are stored as wide."""

    layers: tuple[tuple[int, int], ...]
    dtype: torch.dtype
    device: torch.device

    @property
    def position_bytes(self) -> int:
        """Bytes that the keys and values of one token take."""
        return 2 * sum(heads * width for heads, width in self.layers) * self.dtype.itemsize

    def room(self, rows: int, length: int) -> list[torch.Tensor]:
        """Room for keys and values, by layer: (2, rows, kv_heads, length, width)."""
        return [self.layer_room(layer, rows, length) for layer in range(len(self.layers))]

    def layer_room(self, layer: int, rows: int, length: int) -> torch.Tensor:
        """Room for the keys and values of one layer."""
        heads, width = self.layers[layer]
        return torch.empty((2, rows, heads, length, width), dtype=self.dtype, device=self.device)


CachedTensors = Sequence[torch.Tensor]
"""Keys and values of a sequence, by layer: (2, kv_heads, tokens, width)."""


class PrefixCache:
    """Keeps the keys and values of token sequences that later calls may begin with. A sequence that begins a
    longer one is kept as a part of it. Where room runs out the oldest are dropped, and computed again when
    they are needed."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: dict[Tokens, CachedTensors] = {}
        self._sorted: list[Tokens] = []
        self.bytes = 0

    def keep(self, tokens: Tokens, layers: CachedTensors) -> None:
        """Hold a sequence."""
        length, _ = self.longest(tokens)
        if length == len(tokens):
            return
        if length and tokens[:length] in self._held:
            self._forget(tokens[:length])
        self._held[tokens] = layers
        insort(self._sorted, tokens)
        self.bytes += sum(layer.nbytes for layer in layers)
        while self.bytes > self._room:
            self._forget(next(iter(self._held)))

    def longest(self, tokens: Tokens) -> tuple[int, CachedTensors]:
        """How many of the first tokens of a sequence are held, and where."""
        place = bisect(self._sorted, tokens)
        near = self._sorted[max(place - 1, 0) : place + 1]
        best = max(near, key=lambda each: shared_length(each, tokens), default=())
        return shared_length(best, tokens), self._held.get(best, ())

    def _forget(self, tokens: Tokens) -> None:
        self.bytes -= sum(layer.nbytes for layer in self._held.pop(tokens))
        del self._sorted[bisect_left(self._sorted, tokens)]


class Trunk:
    """One path of tokens, computed stretch by stretch and kept while batches stand on it."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._layers = shape.room(1, 0)
        self.cuts: tuple[int, ...] = ()
        self.tokens: Tokens = ()

    @property
    def held(self) -> int:
        """Bytes."""
        return sum(layer.nbytes for layer in self._layers)

    def rewind(self, tokens: Tokens, cuts: tuple[int, ...]) -> list[Tokens]:
        """Keep the stretches that a path begins with; the stretches that are still to be computed."""
        common, kept = shared_length(self.tokens, tokens), 0
        for old, new in zip(self.cuts, cuts, strict=False):
            if old != new or new > common:
                break
            kept += 1
        self.cuts = cuts[:kept]
        self.tokens = tokens[: cuts[kept - 1] if kept else 0]
        self._resize(len(tokens))
        edges = [len(self.tokens), *cuts[kept:]]
        return [tokens[start:end] for start, end in pairwise(edges)]

    def grow(self, stretch: Tokens) -> None:
        """The stretch has been stored in every layer."""
        self.tokens += stretch
        self.cuts = (*self.cuts, len(self.tokens))

    def load(self, held: CachedTensors, end: int) -> None:
        """Take what follows the trunk, up to a position, from a sequence that begins as it does."""
        start = len(self.tokens)
        for layer, source in enumerate(held):
            self._layers[layer][:, 0, :, start:end] = source[:, :, start:end]

    def keys_and_values(self, layer: int) -> torch.Tensor:
        """Of the whole trunk: (2, kv_heads, tokens, width)."""
        return self._layers[layer][:, 0, :, : len(self.tokens)]

    def store(self, layer: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """Keys and values (tokens, kv_heads, width) that follow the trunk as it is."""
        start, end = len(self.tokens), len(self.tokens) + key.shape[0]
        self._layers[layer][0, 0, :, start:end] = key.transpose(0, 1)
        self._layers[layer][1, 0, :, start:end] = value.transpose(0, 1)

    def attend(self, layer: int, query: torch.Tensor, softmax: Softmax) -> list[PartialAttention]:
        """Every query (tokens, kv_heads, group, width) sees the whole trunk."""
        if not self.tokens:
            return []
        keys, values = self._layers[layer][:, :, :, : len(self.tokens)]
        tokens, kv_heads, group, width = query.shape
        beside = query.transpose(0, 1).reshape(1, kv_heads, tokens * group, width)
        mixed, total = attention(beside, keys, values, softmax)
        mixed = mixed.view(kv_heads, tokens, group, width).transpose(0, 1)
        return [(mixed, total.view(kv_heads, tokens, group).transpose(0, 1))]

    @staticmethod
    def attend_causally(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> PartialAttention:
        """Each query (tokens, heads, width) sees the keys (tokens, kv_heads, width) up to its own."""
        tokens, heads, width = query.shape
        queries, keys, values = (
            part.transpose(0, 1).repeat_interleave(heads // part.shape[1], dim=0)[None]
            for part in (query, key, value)
        )
        mixed, total = attention(queries, keys, values, softmax, causal=True)
        shape = (tokens, key.shape[1], heads // key.shape[1])
        return mixed[0].transpose(0, 1).reshape(*shape, width), total[0].transpose(0, 1).reshape(shape)

    def _resize(self, length: int) -> None:
        stored = len(self.tokens)
        for layer, old in enumerate(self._layers):
            if old.shape[3] != length:
                self._layers[layer] = self._shape.layer_room(layer, 1, length)
                self._layers[layer][:, :, :, :stored] = old[:, :, :, :stored]


class Stems:
    """What each prompt has beyond the trunk, a row each, padded to the longest at the end."""

    def __init__(self, shape: Shape, lengths: Sequence[int]) -> None:
        self.longest, self.device = max(lengths), shape.device
        self._layers = shape.room(len(lengths), self.longest)
        column = torch.arange(self.longest, device=shape.device)
        missing = column >= torch.tensor(lengths, device=shape.device)[:, None]
        self._hidden = mask_bias(missing)[:, None, None] if bool(missing.any()) else None

    @property
    def held(self) -> int:
        """Bytes."""
        return sum(layer.nbytes for layer in self._layers)

    def rows(self, layer: int, first: int, last: int) -> torch.Tensor:
        """Keys and values (2, rows, kv_heads, longest, width) of some rows, to be filled and read."""
        return self._layers[layer][:, first:last]

    def keys_and_values(self, layer: int, row: int, length: int) -> torch.Tensor:
        """Of the first tokens of a row: (2, kv_heads, length, width)."""
        return self._layers[layer][:, row, :, :length]

    @staticmethod
    def attend_many(
        stored: torch.Tensor, query: torch.Tensor, softmax: Softmax, first: torch.Tensor, latest: int
    ) -> PartialAttention:
        """The queries (rows, queries, kv_heads, group, width) of a row stand at its position `first` (rows,)
        and those that follow, and each sees its row's keys up to its own. `latest` is the last of the first
        positions. Some at a time: scores of a long stem would take the square of its length."""
        rows, queries, kv_heads, group, width = query.shape
        step = max(1, SCORES // (rows * kv_heads * group * stored.shape[3]))
        parts = []
        for start in range(0, queries, step):
            end = min(start + step, queries)
            seen = min(latest + end, stored.shape[3])
            position = first[:, None] + torch.arange(start, end, device=first.device)
            later = torch.arange(seen, device=first.device) > position[:, :, None]
            beside = query[:, start:end].permute(0, 2, 3, 1, 4).reshape(rows, kv_heads, -1, width)
            keys, values = stored[:, :, :, :seen]
            hidden = mask_bias(later)[:, None].repeat(1, 1, group, 1)
            mixed, total = attention(beside, keys, values, softmax, hidden)
            mixed = mixed.view(rows, kv_heads, group, end - start, width).permute(0, 3, 1, 2, 4)
            parts.append((mixed, total.view(rows, kv_heads, group, end - start).permute(0, 3, 1, 2)))
        return torch.cat([part for part, _ in parts], 1), torch.cat([total for _, total in parts], 1)

    def keep(self, rows: torch.Tensor) -> None:
        """Forget the stems that no continuation stands on any more."""
        for layer, old in enumerate(self._layers):
            self._layers[layer] = old[:, rows]
        self._hidden = None if self._hidden is None else self._hidden[rows]

    def attend(
        self, layer: int, query: torch.Tensor, softmax: Softmax, reading: "StemReads"
    ) -> PartialAttention:
        """Each query (rows, kv_heads, group, width) sees the stem that it reads."""
        keys, values = self._layers[layer]
        _, kv_heads, group, width = query.shape
        beside = query.new_zeros(keys.shape[0], reading.most, kv_heads, group, width)
        beside[reading.stem, reading.place] = query
        beside = beside.transpose(1, 2).reshape(keys.shape[0], kv_heads, reading.most * group, width)
        mixed, total = attention(beside, keys, values, softmax, self._hidden)
        mixed = mixed.view(keys.shape[0], kv_heads, reading.most, group, width).transpose(1, 2)
        total = total.view(keys.shape[0], kv_heads, reading.most, group).transpose(1, 2)
        return mixed[reading.stem, reading.place], total[reading.stem, reading.place]


@dataclass(frozen=True, slots=True)
class StemReads:
    """Which stem each row reads (rows,), its place (rows,) beside the others that read the same, and the most
    that read one."""

    stem: torch.Tensor
    place: torch.Tensor
    most: int


class Tips:
    """The tokens that each row has of its own, all of the same number.

    `lengths` says how many positions each member may need. A row that is longer than a member's is none of
    that member's, so never more is held than the sum of the rooms that members are scheduled with. Within it
    room is doubled where it is full: what is held is then copied few times, however long answers are.
    """

    def __init__(self, shape: Shape, lengths: Sequence[int]) -> None:
        self._shape, self._lengths, self._most = shape, lengths, sum(map(_room, lengths))
        self._layers = shape.room(0, 0)
        self.length = 0

    @property
    def held(self) -> int:
        """Bytes."""
        return sum(layer.nbytes for layer in self._layers)

    def keys_and_values(self, layer: int, row: int) -> torch.Tensor:
        """Of the tokens of a row: (2, kv_heads, tokens, width)."""
        return self._layers[layer][:, row, :, : self.length]

    def take(self, rows: int, moved: torch.Tensor, sources: torch.Tensor) -> None:
        """There are so many rows, with room for one more token of each. A row that is `moved` becomes what
        the row of `sources` (both of the same shape) was, the others stay."""
        rows_held = self._layers[0].shape[1]
        if rows > rows_held:
            rows_held = max(rows, rows_held * 5 // 4)
            self._resize(rows_held)
        if len(moved) and self.length:
            for layer in self._layers:
                layer[:, moved, :, : self.length] = layer[:, sources, :, : self.length]
        if self.length == self._layers[0].shape[3]:
            self._resize(rows_held)

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> PartialAttention:
        """Each query (rows, kv_heads, group, width) sees its row's tokens and its own key and value
        (rows, kv_heads, width), which are stored."""
        rows, end = key.shape[0], self.length + 1
        self._layers[layer][0, :rows, :, self.length] = key
        self._layers[layer][1, :rows, :, self.length] = value
        keys, values = self._layers[layer][:, :rows, :, :end]
        return attention(query, keys, values, softmax)

    def _resize(self, rows: int) -> None:
        rows = min(rows, sum(length > self.length for length in self._lengths))
        tokens = max(_room(self.length + 1), min(2 * self.length, self._most // rows))
        tokens = min(tokens, max(self._lengths))
        for layer, old in enumerate(self._layers):
            kept = min(old.shape[1], rows)
            self._layers[layer] = self._shape.layer_room(layer, rows, tokens)
            self._layers[layer][:, :kept, :, : self.length] = old[:, :kept, :, : self.length]


def _room(length: int) -> int:
    """Positions that are kept for so many."""
    return -(-length // ROOM) * ROOM


def mask_bias(mask: torch.Tensor) -> torch.Tensor:
    """What is added to scores so that the marked keys are not seen."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill(mask, -torch.inf)
