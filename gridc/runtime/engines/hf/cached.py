"""Decode with the model's own attention and its own cache, whatever that holds: keys and values, windows of
them, or recurrent states.

Prompts are taken in sorted order, so that a prefix is computed once: where prompts part, the cache is copied.
The answers of one prompt are rows of one batch, all of the same length, so nothing is padded; rows are copied
where answers part.
"""

import copy
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from gridc.runtime.engines.hf.attention import Unsupported
from gridc.runtime.engines.hf.choosing import branch
from gridc.runtime.engines.hf.paths import PASS_TOKENS, ForwardWork, WatchTokens, use_attention
from gridc.runtime.engines.hf.sequences import Member, by_prompt
from gridc.runtime.engines.hf.trie import Tokens, shared

_HANDLES = ("past_key_values", "cache_params", "state")
"""What models call the cache that they take and give."""

_HOLDERS = re.compile("Cache|Layer|State")
"""What the classes are called that hold a cache's tensors."""

_WORTH = 8
"""Tokens that two prompts must share beyond what is held for a copy of the cache to be kept."""


@dataclass(slots=True)
class _State:
    """What a model remembers of so many tokens: its cache, None before the first."""

    length: int = 0
    cache: Any = None

    def copy(self) -> "_State":
        return _State(self.length, copy.deepcopy(self.cache))

    @property
    def held(self) -> int:
        """Bytes."""
        return sum(tensor.nbytes for tensor in _tensors(self.cache))


class Cached:
    """A causal language model as transformers runs it.

    `room` bounds the bytes of the rows of one prompt. With `prefixes` off a prompt is computed in one piece,
    for models whose cache goes on by one token at a time only.
    """

    name = "cached"

    def __init__(
        self, model: Any, attention: str, room: int, prefixes: bool = True, watch: WatchTokens | None = None
    ) -> None:
        self._model, self._attention, self._room = model, attention, room
        self.prefixes, self._watch = prefixes, watch
        taken = inspect.signature(model.forward).parameters
        handles = [name for name in _HANDLES if name in taken]
        if not handles:
            raise Unsupported("it takes no cache")
        self._handle = handles[0]
        self._last = {"logits_to_keep": 1} if "logits_to_keep" in taken and watch is None else {}
        self._trunk: Tokens = ()
        self._cuts: tuple[int, ...] = ()
        self._base = _State()

    def decode(
        self, trunk: Tokens, cuts: tuple[int, ...], members: Sequence[Member], ends: frozenset[int]
    ) -> ForwardWork:
        """As `ComputePath.decode`."""
        use_attention(self._model, self._attention)
        standing = by_prompt(members)
        spent = ForwardWork()
        with torch.inference_mode():
            self._reach(*((trunk, cuts) if self.prefixes else ((), ())), spent)
            for prompt, state, logits, held in self._walk(list(standing), spent):
                for group, own in self._groups(standing[prompt], state):
                    self._grow(own, group, logits, ends, spent, held)
        return spent

    def _reach(self, trunk: Tokens, cuts: tuple[int, ...], spent: ForwardWork) -> None:
        """Stand on a trunk, from the one before where that is its beginning."""
        kept = len(self._cuts)
        if self._cuts != cuts[:kept] or self._trunk != trunk[: len(self._trunk)]:
            self._base, kept = _State(), 0
        for end in cuts[kept:]:
            self._pass([list(trunk[self._base.length : end])], self._base, spent)
        self._trunk, self._cuts = trunk, cuts

    def _walk(
        self, prompts: list[Tokens], spent: ForwardWork
    ) -> Iterator[tuple[Tokens, _State, torch.Tensor, int]]:
        """Each prompt with its state, the logits behind it, and the bytes that are held for others."""
        common = [shared(left, right) for left, right in pairwise(prompts)]
        stack = [self._base]
        for number, prompt in enumerate(prompts):
            while len(stack) > 1 and stack[-1].length > common[number - 1]:
                stack.pop()
            state = stack[-1].copy()
            logits = torch.empty(0)
            for mark in self._marks(common[number:], state.length):
                logits = self._extend(state, prompt[:mark], spent)
                stack.append(state.copy())
            if len(prompt) > state.length:
                logits = self._extend(state, prompt, spent)
            yield prompt, state, logits, sum(earlier.held for earlier in stack)

    def _marks(self, common: Sequence[int], reached: int) -> list[int]:
        """The lengths at which later prompts leave this one, beyond what is held."""
        marks: list[int] = []
        for length in common if self.prefixes else ():
            length = min(length, *marks[-1:] or [length])
            if length < reached + _WORTH:
                break
            if not marks or length <= marks[-1] - _WORTH:
                marks.append(length)
        return marks[::-1]

    def _extend(self, state: _State, prompt: Tokens, spent: ForwardWork) -> torch.Tensor:
        step = PASS_TOKENS if self.prefixes else len(prompt)
        logits = torch.empty(0)
        for start in range(state.length, len(prompt), step):
            logits = self._pass([list(prompt[start : start + step])], state, spent)
        return logits

    def _groups(self, members: list[Member], state: _State) -> Iterator[tuple[list[Member], _State]]:
        """As many members at a time as the room allows, each group with a state of its own."""
        most = max(state.length + member.limit for member in members)
        size = max(1, self._room * state.length // max(1, state.held * most))
        for start in range(0, len(members), size):
            last = start + size >= len(members)
            yield members[start : start + size], state if last else state.copy()

    def _grow(
        self,
        state: _State,
        members: list[Member],
        logits: torch.Tensor,
        ends: frozenset[int],
        spent: ForwardWork,
        held: int,
    ) -> None:
        rows, number = [members], 1
        while True:
            sources, tokens, rows = branch(rows, logits, ends)
            if not rows:
                return
            if sources != list(range(number)):
                moved = torch.tensor(sources, device=self._model.device)
                state.cache = _select(state.cache, moved, number, {})
            number = len(rows)
            logits = self._pass([[token] for token in tokens], state, spent)
            spent.held = max(spent.held, held + state.held)
            spent.rows = max(spent.rows, number)

    def _pass(self, tokens: list[list[int]], state: _State, spent: ForwardWork) -> torch.Tensor:
        """Take every row on by its tokens (rows, tokens). Logits (rows, vocabulary) in fp32 behind them."""
        spent.tokens += len(tokens) * len(tokens[0])
        before = {} if state.cache is None else {self._handle: state.cache}
        ids = torch.tensor(tokens, device=self._model.device)
        out = self._model(input_ids=ids, use_cache=True, **before, **self._last)
        state.cache = getattr(out, self._handle, None)
        if state.cache is None:
            raise Unsupported("it gives no cache")
        if self._watch:
            positions = range(state.length, state.length + len(tokens[0]))
            for row, logits in zip(tokens, out.logits.float(), strict=True):
                self._watch(positions, row, logits)
        state.length += len(tokens[0])
        last: torch.Tensor = out.logits[:, -1].float()
        return last


def _select(part: Any, rows: torch.Tensor, before: int, done: dict[int, torch.Tensor]) -> Any:
    """A cache of `before` rows whose row i becomes row `rows[i]` of this one. The method that transformers
    has for it leaves out what some caches add; here every tensor with a row for each sequence is taken.
    `done` holds tensors that were taken already, because layers may share them."""
    if isinstance(part, torch.Tensor):
        if not part.dim() or part.shape[0] != before:
            return part
        if id(part) not in done:
            done[id(part)] = part.index_select(0, rows)
        return done[id(part)]
    if isinstance(part, list | tuple):
        return type(part)([_select(inner, rows, before, done) for inner in part])
    if isinstance(part, dict):
        return {key: _select(inner, rows, before, done) for key, inner in part.items()}
    if _HOLDERS.search(type(part).__name__):
        for name, inner in vars(part).items():
            setattr(part, name, _select(inner, rows, before, done))
    return part


def _tensors(part: Any) -> Iterator[torch.Tensor]:
    """The tensors that a cache is made of."""
    if isinstance(part, torch.Tensor):
        yield part
        return
    inside: Iterable[Any] = ()
    if isinstance(part, list | tuple):
        inside = part
    elif isinstance(part, dict):
        inside = part.values()
    elif _HOLDERS.search(type(part).__name__):
        inside = vars(part).values()
    for inner in inside:
        yield from _tensors(inner)
