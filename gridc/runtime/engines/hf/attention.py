"""Attention over a forest: keys and values that rows share are stored once and read by all of them.

What a token may see lies in up to three levels: the *trunk* that its whole batch stands on, the *stem*
(the rest of its own prompt), and its own *tips* (the tokens since). Each level is attended to by itself,
with the queries of a group side by side so that nothing is copied per row, and the parts are joined by
their log-sum-exp (Milakov and Gimelshein 2018; as flash attention joins its blocks).

All tokens of a forward pass lie in one packed row without padding. transformers hands the view of the
pass through, from `model(..., forest=view)` to `attend`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from transformers import AttentionInterface

NAME = "gridc_forest"

Part = tuple[torch.Tensor, torch.Tensor]
"""What a level gives: mixed values (groups, kv_heads, queries, width), log-sum-exp without width."""


class View(Protocol):
    """Who sees what in one forward pass."""

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scaling: float
    ) -> torch.Tensor:
        """The mixed values (tokens, heads, width) of packed queries (tokens, heads, width), whose own
        keys and values (tokens, kv_heads, width) are stored on the way."""


class Unsupported(ValueError):
    """A model asks its attention for something that the forest does not compute."""


_INERT = frozenset(
    {"position_ids", "cache_position", "cache_params", "use_cache", "output_attentions", "is_causal"}
)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    forest: View,
    dropout: float = 0.0,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls: query (1, heads, tokens, width), and the result (1, tokens, heads, width).

    Raises `Unsupported` when the model wants more than softmax attention: windows, caps, sinks, biases.
    """
    unknown = {name: each for name, each in others.items() if name not in _INERT and each is not None}
    if attention_mask is not None or dropout or unknown:
        raise Unsupported(f"its attention wants {', '.join(sorted(unknown)) or 'a mask or dropout'}")
    layer: int = module.layer_idx  # type: ignore[assignment]
    queries, keys, values = (each[0].transpose(0, 1) for each in (query, key, value))
    return forest.attend(layer, queries, keys, values, scaling)[None], None


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scaling: float,
    hidden: torch.Tensor | None = None,
    causal: bool = False,
) -> Part:
    """Softmax attention of query (groups, kv_heads, queries, width) over keys (groups, kv_heads, keys,
    width), with the log-sum-exp that joins it to other parts. `hidden` is added to the scores."""
    if query.device.type == "cpu":
        part: Part = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, causal, attn_mask=hidden, scale=scaling
        )
        return part
    return plain_attention(query, key, value, scaling, hidden, causal)


def plain_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scaling: float,
    hidden: torch.Tensor | None = None,
    causal: bool = False,
) -> Part:
    """The same, spelled out in operations that every device has."""
    scores = (query @ key.transpose(-1, -2)).float() * scaling
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    if hidden is not None:
        scores = scores + hidden
    total = torch.logsumexp(scores, dim=-1)
    return torch.exp(scores - total[..., None]).to(value.dtype) @ value, total


def join(parts: Sequence[Part]) -> torch.Tensor:
    """Attention over everything that the parts saw, each (tokens, kv_heads, group, width)."""
    if len(parts) == 1:
        return parts[0][0]
    shares = torch.softmax(torch.stack([total for _, total in parts]), dim=0).unsqueeze(-1)
    mixed = sum(part.float() * share for (part, _), share in zip(parts, shares, strict=True))
    assert isinstance(mixed, torch.Tensor)
    return mixed.to(parts[0][0].dtype)


def by_kv_head(packed: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """(tokens, heads, width) -> (tokens, kv_heads, heads of each, width)."""
    tokens, heads, width = packed.shape
    return packed.view(tokens, kv_heads, heads // kv_heads, width)


AttentionInterface.register(NAME, attend)
