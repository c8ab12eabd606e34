"""Decode by whole sequences, without any cache: the last resort, and what every other path is held against.

Each distribution is that of a pass over exactly the tokens before it, so a model whose positions depend on
how long its input is (dynamic NTK, LongRoPE) is asked what it would be asked by itself.
"""

from collections.abc import Sequence
from typing import Any

import torch

from gridc.runtime.engines.hf.choosing import branch
from gridc.runtime.engines.hf.paths import PASS_TOKENS, ForwardWork, WatchTokens, use_attention
from gridc.runtime.engines.hf.sequences import Member
from gridc.runtime.engines.hf.trie import Tokens


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
        by_prompt: dict[Tokens, list[Member]] = {}
        for member in members:
            by_prompt.setdefault(member.prompt, []).append(member)
        spent = ForwardWork()
        with torch.inference_mode():
            for prompt, standing in sorted(by_prompt.items()):
                rows, paths = [standing], [list(prompt)]
                while rows:
                    logits = self._logits(paths, spent)
                    sources, tokens, rows = branch(rows, logits, ends)
                    paths = [[*paths[source], token] for source, token in zip(sources, tokens, strict=True)]
        return spent

    def _logits(self, paths: list[list[int]], spent: ForwardWork) -> torch.Tensor:
        """Logits (rows, vocabulary) in fp32 after each path, all of the same length."""
        step = max(1, PASS_TOKENS // len(paths[0]))
        found = []
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
            found.append(logits[:, -1])
        return torch.cat(found)


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
