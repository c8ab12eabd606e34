"""The seam between the engine and what computes: the three ways to carry calls through a model.

*forest* replaces the model's attention, so that what calls share is computed once, in batches of prompts of
any length. *cached* leaves the model as it is and copies its own cache where sequences part. *plain* computes
whole sequences. All three choose tokens by `choosing.branch`, so they differ in what they compute and never
in what an answer means.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from gridc.runtime.engines.hf.attention import NAME as FOREST
from gridc.runtime.engines.hf.choosing import branch
from gridc.runtime.engines.hf.rewired import rewire
from gridc.runtime.engines.hf.sequences import Member, by_prompt
from gridc.runtime.engines.hf.trie import Tokens

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


class Plain:
    """A causal language model as transformers runs it, a whole sequence at a time."""

    name = "plain"

    def __init__(self, model: Any, attention: str, watch: WatchTokens | None = None) -> None:
        self._model, self._attention, self._watch = model, attention, watch

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
