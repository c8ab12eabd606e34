"""The three paths by which the local engine can compute calls. Two of them leave the model's own attention as
it is.

*forest* replaces the model's attention, so that what calls share is computed once, in batches of prompts of
any length. *cached* leaves the model as it is and copies its own cache where sequences part. *plain* computes
whole sequences. All three choose tokens by `sampling.branch`, so they differ in what they compute and never
in what an answer means.

The cached path decodes with the model's own attention and its own cache, whatever that holds: keys and
values, windows of them, or recurrent states. Prompts are taken in sorted order, so that a prefix is computed
once: where prompts part, the cache is copied. The answers of one prompt are rows of one batch, all of the
same length, so nothing is padded; rows are copied where answers part.
"""

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import torch

from gridc.runtime.engines.hf.attention import NAME as FOREST
from gridc.runtime.engines.hf.attention import UnsupportedAttention, rewire
from gridc.runtime.engines.hf.sampling import branch
from gridc.runtime.engines.hf.sequences import Member, Tokens, by_prompt, shared_length

PASS_TOKENS = 2048
"""Most tokens of prompts in one forward pass; it bounds the activations."""

WatchTokens = Callable[[Sequence[int], Sequence[int], torch.Tensor], None]
"""What the gate hands to a path: it is given positions, tokens and logits (tokens, vocabulary) of all that is
computed."""


@dataclass(slots=True)
class ForwardWork:
    """Forward tokens that were computed, the most bytes of keys, values and states that were held at once,
    and the most rows that a step had."""

    tokens: int = 0
    held: int = 0
    rows: int = 0

    def add(self, other: "ForwardWork") -> None:
        """What was computed after this."""
        self.tokens += other.tokens
        self.held, self.rows = max(self.held, other.held), max(self.rows, other.rows)


class ComputePath(Protocol):
    """Carries members to their end. `name` is what reports call it."""

    name: str

    @property
    def standing(self) -> tuple[Tokens, tuple[int, ...]]:
        """The trunk that is there from the call before, and its cuts."""

    def decode(
        self, trunk: Tokens, cuts: tuple[int, ...], members: Sequence[Member], ends: frozenset[int]
    ) -> ForwardWork:
        """Carry every member to its end. Their prompts begin with `trunk`, which is computed in the
        stretches that end at `cuts`. Raises `NotNumbersError`."""


def longest_input(config: Any) -> int | None:
    """The most tokens that a model was made for. None where its configuration names no limit (XLNet: -1)."""
    declared = getattr(config, "max_position_embeddings", None)
    return declared if declared and declared > 0 else None


def own_attention(model: Any) -> str:
    """The implementation that a model came with."""
    if not hasattr(model, "_gridc_own"):
        model._gridc_own = str(model.config._attn_implementation)
    own: str = model._gridc_own
    return own


def use_attention(model: Any, name: str) -> None:
    """Let the layers of a model attend by this implementation."""
    own_attention(model)  # kept before it is changed for the first time
    if getattr(model, "_gridc_attention", None) != name:
        model.set_attn_implementation(name)
        rewire(model, name == FOREST)
        model._gridc_attention = name


class PlainPath:
    """A causal language model as transformers runs it, a whole sequence at a time."""

    name = "plain"

    def __init__(self, model: Any, attention: str, watch: WatchTokens | None = None) -> None:
        self._model, self._attention, self._watch = model, attention, watch

    @property
    def standing(self) -> tuple[Tokens, tuple[int, ...]]:
        """None is ever there."""
        return (), ()

    def decode(
        self, trunk: Tokens, cuts: tuple[int, ...], members: Sequence[Member], ends: frozenset[int]
    ) -> ForwardWork:
        """As `ComputePath.decode`. A trunk saves nothing here."""
        use_attention(self._model, self._attention)
        spent = ForwardWork()
        with torch.inference_mode():
            for prompt, standing in by_prompt(members).items():
                rows, paths = [standing], [list(prompt)]
                while rows:
                    logits = self._logits(paths, spent)
                    sources, tokens, rows = branch(rows, logits, ends)
                    paths = [[*paths[source], token] for source, token in zip(sources, tokens, strict=True)]
        return spent

    def _logits(self, paths: list[list[int]], spent: ForwardWork) -> torch.Tensor:
        """Logits (rows, vocabulary) in fp32 after each path, all of the same length."""
        step = max(1, PASS_TOKENS // len(paths[0]))
        last = []
        for start in range(0, len(paths), step):
            some = paths[start : start + step]
            forget_lengths(self._model)
            ids = torch.tensor(some, device=self._model.device)
            logits = self._model(input_ids=ids, use_cache=False).logits.float()
            spent.tokens += ids.numel()
            spent.rows = max(spent.rows, len(some))
            if self._watch:
                for row, path in zip(logits, some, strict=True):
                    self._watch(range(len(path)), path, row)
            last.append(logits[:, -1])
        return torch.cat(last)


def forget_lengths(model: Any) -> None:
    """Rotary embeddings that follow the length of their input start again: no earlier question may move
    an answer. Copies, because transformers writes into those in use."""
    for module in model.modules():
        for name in [name for name in (*vars(module), *module._buffers) if name.endswith(_ORIGINAL)]:
            kind = name.removesuffix(_ORIGINAL)
            own = getattr(module, f"{kind}inv_freq")
            setattr(module, f"{kind}inv_freq", getattr(module, name).detach().clone().to(own.device))
            if f"{kind}max_seq_len_cached" in vars(module):
                setattr(module, f"{kind}max_seq_len_cached", module.original_max_seq_len)


_ORIGINAL = "original_inv_freq"


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


class CachedPath:
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
            raise UnsupportedAttention("it takes no cache")
        self._handle = handles[0]
        self._last = {"logits_to_keep": 1} if "logits_to_keep" in taken and watch is None else {}
        self._trunk: Tokens = ()
        self._cuts: tuple[int, ...] = ()
        self._base = _State()

    @property
    def standing(self) -> tuple[Tokens, tuple[int, ...]]:
        """As `ComputePath.standing`."""
        return self._trunk, self._cuts

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
        common = [shared_length(left, right) for left, right in pairwise(prompts)]
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
            raise UnsupportedAttention("it gives no cache")
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
