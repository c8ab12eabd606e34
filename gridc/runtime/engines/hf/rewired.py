"""Attention that older architectures spell out for themselves, led through `attention.attend`.

transformers replaces the attention of most architectures by name; these compute their scores in modules of
their own. While the forest computes, a method of such a module is another one, which hands queries, keys and
values on. The gate compares what comes of it with the model as it was, so a module that changes is found out.

ALiBi (Press et al. 2022, section 3) adds slope x position of the key to each score, up to a constant of the
query. That is two more coordinates: the key carries its position, the query its head's slope, so trunk, stems
and tips hold and join them as they do all others. The position is split in 256ths, which bf16 holds exactly.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from gridc.runtime.engines.hf.attention import attend, positions


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
