"""Attention over a forest: keys and values that rows share are stored once and read by all.

What a token may see lies in up to three levels: the *trunk* that its whole batch stands on, the *stem* (the
rest of its own prompt), and its own *tips* (the tokens since). Each level is attended to by itself, with the
queries of a group side by side so that nothing is copied per row, and the parts are joined by their
log-sum-exp (Milakov and Gimelshein 2018; as flash attention joins its blocks).

All tokens of a forward pass lie in one packed row without padding. transformers calls `attend` in every
layer, which asks the view of the pass (`viewing`): not every architecture hands keywords on to its layers.

transformers replaces the attention of most architectures by name; older ones compute their scores in modules
of their own. While the forest computes, a method of such a module is replaced by one that hands queries, keys
and values to `attend`. The gate compares the result with the model as it was, so a module that changes is
found out.

ALiBi (Press et al. 2022, section 3) adds slope x position of the key to each score, up to a constant of the
query. That is two more coordinates: the key carries its position, the query its head's slope, so trunk, stems
and tips hold and join them as they do all others. The position is split in 256ths, which bf16 holds exactly.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from transformers import AttentionInterface

NAME = "gridc_forest"


@dataclass(frozen=True, slots=True)
class Softmax:
    """What scores go through: a factor, a cap (`cap * tanh(score / cap)`, Gemma 2), and sinks, a logit for
    each head that takes part in the softmax and mixes in nothing (gpt-oss). A `window` is known here and not
    computed: every sequence of a forest is kept within the windows of its model."""

    scaling: float
    cap: float | None = None
    sinks: torch.Tensor | None = None
    window: int | None = None


PartialAttention = tuple[torch.Tensor, torch.Tensor]
"""What a level gives: mixed values (groups, kv_heads, queries, width), log-sum-exp without width."""


class AttentionMask(Protocol):
    """Who sees what in one forward pass."""

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        """The mixed values (tokens, heads, width) of packed queries (tokens, heads, width), whose own
        keys and values (tokens, kv_heads, width) are stored on the way."""


class UnsupportedAttention(ValueError):
    """A model asks its attention for something that the forest does not compute."""


class OncePerLayer:
    """A view that is asked exactly once by each layer of a pass. A model whose attention is not reached, or
    that attends twice in a layer, mixes in something that the forest does not see."""

    def __init__(self, view: AttentionMask) -> None:
        self._view, self._seen = view, set[int]()

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, softmax: Softmax
    ) -> torch.Tensor:
        if layer in self._seen:
            raise UnsupportedAttention(f"layer {layer} attends more than once")
        self._seen.add(layer)
        return self._view.attend(layer, query, key, value, softmax)

    def require(self, layers: int) -> None:
        """Raise `UnsupportedAttention` unless every layer has attended."""
        if self._seen != set(range(layers)):
            raise UnsupportedAttention(
                f"{len(self._seen)} of {layers} layers attend through transformers' interface"
            )


_INERT = frozenset({"position_ids", "cache_position", "cache_params", "use_cache", "logits_to_keep"})
_VIEW: ContextVar[tuple[AttentionMask, torch.Tensor]] = ContextVar("view")


@contextmanager
def viewing(view: AttentionMask, places: torch.Tensor) -> Iterator[None]:
    """Forward passes inside are seen by this view. `places` are the positions of their packed tokens."""
    token = _VIEW.set((view, places))
    try:
        yield
    finally:
        _VIEW.reset(token)


def positions() -> torch.Tensor:
    """Where the packed tokens (tokens,) of the pass stand in their sequences."""
    return _VIEW.get()[1]


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    sliding_window: int | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls: query (1, heads, tokens, width), and the result (1, tokens, heads, width).

    Raises `UnsupportedAttention` when the model wants something else than softmax attention to what came
    before.
    """
    wanted = [name for name, value in others.items() if name not in _INERT and value is not None]
    wanted = [name for name in wanted if others[name] is not False]
    wanted += ["a mask"] * (attention_mask is not None) + ["dropout"] * bool(dropout)
    wanted += ["what comes later"] * (is_causal is False)
    if wanted:
        raise UnsupportedAttention(f"its attention wants {', '.join(sorted(wanted))}")
    layer: int = module.layer_idx  # type: ignore[assignment]
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    width = value.shape[-1]
    wide = -(-max(width, key.shape[-1]) // WIDTHS) * WIDTHS
    queries, keys, values = (
        torch.nn.functional.pad(part[0].transpose(0, 1), (0, wide - part.shape[-1]))
        for part in (query, key, value)
    )
    view, _ = _VIEW.get()
    mixed = view.attend(layer, queries, keys, values, Softmax(scale, softcap, s_aux, sliding_window))
    return mixed[None, ..., :width].contiguous(), None


def fused(query: torch.Tensor, softmax: Softmax) -> bool:
    """Whether a kernel computes attention without holding its scores: of numbers of half the width on a GPU,
    where those of full width are spelled out so that nothing rounds them on the way."""
    return softmax.cap is None and (_on_cpu(query) or query.dtype.itemsize == 2)


def _on_cpu(query: torch.Tensor) -> bool:
    return query.device.type == "cpu"


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    softmax: Softmax,
    hidden: torch.Tensor | None = None,
    causal: bool = False,
) -> PartialAttention:
    """Softmax attention of query (groups, kv_heads, queries, width) over keys (groups, kv_heads, keys,
    width), with the log-sum-exp that joins it to other parts. `hidden` is added to the scores."""
    if not fused(query, softmax):
        return plain_attention(query, key, value, softmax, hidden, causal)
    if _on_cpu(query):
        part: PartialAttention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, causal, attn_mask=hidden, scale=softmax.scaling
        )
        return part
    if hidden is None and query.shape[-1] <= WIDEST:
        mixed, total = torch.ops.aten._scaled_dot_product_flash_attention(
            query, key, value, 0.0, causal, scale=softmax.scaling
        )[:2]
        return mixed, total
    bias = None if hidden is None else _aligned(hidden.to(query.dtype)).expand(*query.shape[:3], -1)
    mixed, total = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, True, 0.0, causal, scale=softmax.scaling
    )[:2]
    return mixed, total[..., : query.shape[2]]  # the kernel fills up its queries


WIDEST = 256
"""The widest heads that the flash kernel of a GPU has."""

WIDTHS = 8
"""Heads are filled up with zeros to a multiple of it, because only those have kernels on a GPU. Spelled out
in two bytes the scores of positions (ALiBi) would be rounded to whole nats."""


def _aligned(bias: torch.Tensor) -> torch.Tensor:
    """The same values, each row of them beginning where a kernel of a GPU can read it."""
    keys = bias.shape[-1]
    return torch.nn.functional.pad(bias, (0, -keys % 16))[..., :keys]


def plain_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    softmax: Softmax,
    hidden: torch.Tensor | None = None,
    causal: bool = False,
) -> PartialAttention:
    """The same, spelled out in operations that every device has."""
    scores = (query @ key.transpose(-1, -2)).float() * softmax.scaling
    if softmax.cap is not None:
        scores = softmax.cap * torch.tanh(scores / softmax.cap)
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    if hidden is not None:
        scores = scores + hidden
    total = torch.logsumexp(scores, dim=-1)
    return torch.exp(scores - total[..., None]).to(value.dtype) @ value, total


def join(parts: Sequence[PartialAttention], softmax: Softmax) -> torch.Tensor:
    """Attention over everything that the parts saw, each (tokens, kv_heads, group, width)."""
    if len(parts) == 1 and softmax.sinks is None:
        return parts[0][0]
    totals = [total for _, total in parts]
    if softmax.sinks is not None:
        totals.append(softmax.sinks.float().view(1, *totals[0].shape[1:]).expand_as(totals[0]))
    shares = torch.softmax(torch.stack(totals), dim=0).unsqueeze(-1)
    mixed = sum(part.float() * share for (part, _), share in zip(parts, shares, strict=False))
    assert isinstance(mixed, torch.Tensor)
    return mixed.to(parts[0][0].dtype)


def by_kv_head(packed: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """(tokens, heads, width) -> (tokens, kv_heads, heads of each, width)."""
    tokens, heads, width = packed.shape
    return packed.view(tokens, kv_heads, heads // kv_heads, width)


AttentionInterface.register(NAME, attend)


def rewire(model: Any, forest: bool) -> None:
    """Let the modules of a model attend by the forest, or as they did."""
    for module in model.modules():
        if type(module).__name__ in _METHODS:
            name, method = _METHODS[type(module).__name__]
            vars(module).pop(name, None)
            if forest:
                vars(module)[name] = partial(method, module)


def _bloom(module: Any, states: torch.Tensor, residual: torch.Tensor, alibi: torch.Tensor, **_: Any) -> Any:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    query, key, value = module._reshape(module.query_key_value(states))
    slopes = build_alibi_tensor(torch.ones(1, 2, device=states.device), module.num_heads, torch.float32)
    mixed = _linear(module, query, key, value, module.inv_norm_factor, slopes[:, 0, 1])
    return module.dense(mixed) + residual, None


def _mpt(module: Any, states: torch.Tensor, position_bias: torch.Tensor | None = None, **_: Any) -> Any:
    fused = module.Wqkv(states)
    if module.clip_qkv:
        fused = fused.clamp(min=-module.clip_qkv, max=module.clip_qkv)
    query, key, value = (
        part.unflatten(-1, (module.n_heads, module.head_dim)).transpose(1, 2)
        for part in fused.chunk(3, dim=2)
    )
    slopes = None if position_bias is None else position_bias[:, 0, -1] - position_bias[:, 0, -2]
    return module.out_proj(_linear(module, query, key, value, module.softmax_scale, slopes)), None


def _falcon(module: Any, states: torch.Tensor, alibi: Any, *_: Any, **named: Any) -> Any:
    from transformers.models.falcon.modeling_falcon import apply_rotary_pos_emb, build_alibi_tensor

    rotate: Any = apply_rotary_pos_emb
    split = module._split_heads(module.query_key_value(states))
    query, key, value = (part.transpose(1, 2) for part in split)
    scale = module.inv_norm_factor
    if alibi is None:
        query, key = rotate(query, key, *named["position_embeddings"])
        return module.dense(_linear(module, query, key, value, scale, None)), None
    slopes = build_alibi_tensor(torch.ones(1, 2, device=states.device), module.num_heads, torch.float32)
    return module.dense(_linear(module, query, key, value, scale, slopes[:, 0, 1] * scale)), None


def _scaled(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any) -> Any:
    """GPT-J and CodeGen: `_attn` takes and gives (1, heads, tokens, width)."""
    mixed, _nothing = attend(module, query.to(value.dtype), key.to(value.dtype), value, None, _scale(module))
    return mixed.transpose(1, 2), None


def _neo(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *_: Any) -> Any:
    """GPT-Neo: no scale, and every other layer sees a window."""
    module.layer_idx = module.layer_id
    window = module.config.window_size if module.attention_type == "local" else None
    mixed, _nothing = attend(module, query, key, value, None, 1.0, sliding_window=window)
    return mixed.transpose(1, 2), None


def _scale(module: Any) -> float:
    return 1 / float(module.scale_attn)


def _linear(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float,
    slopes: torch.Tensor | None,
) -> torch.Tensor:
    """Attention (1, tokens, heads * width) of (1, heads, tokens, width), with `slopes` (heads,) per position
    of a key."""
    if slopes is not None:
        _, heads, tokens, _ = query.shape
        rises = (slopes.float() / scale).to(query.dtype)[None, :, None, None].expand(1, heads, tokens, 1)
        at = positions().to(key.device)
        place = torch.stack([at // 256, at % 256], dim=-1).to(key.dtype)
        query = torch.cat([query, rises * 256, rises], dim=-1)
        key = torch.cat([key, place.expand(1, heads, tokens, 2)], dim=-1)
    mixed, _ = attend(module, query, key, value, None, scale)
    return mixed.flatten(2)


_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "BloomAttention": ("forward", _bloom),
    "CodeGenAttention": ("_attn", _scaled),
    "FalconAttention": ("forward", _falcon),
    "GPTJAttention": ("_attn", _scaled),
    "GPTNeoSelfAttention": ("_attn", _neo),
    "MptAttention": ("forward", _mpt),
}
"""By the module's class: which method is another one, and which."""
