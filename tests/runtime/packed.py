"""Tiny checkpoints in the formats in which large models are published, packed here by hand.

Each comes with its dense weights: what the packed numbers stand for, computed from the formats' definitions.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

Packed = tuple[dict[str, torch.Tensor], torch.Tensor]
"""The tensors of one weight as they are shipped, by name, and the weight that they stand for."""

BLOCK, LARGEST_FP8 = 128, 448.0
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FP4 = torch.cat([FP4, -FP4])
_CHANNELS = {"strategy": "channel", "symmetric": True, "dynamic": False}
_GROUPS = {"strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False}


def _fp8_blocks(name: str, weight: torch.Tensor) -> Packed:
    """E4M3 numbers with a scale for each block of 128 by 128."""
    rows, columns = (-(-size // BLOCK) for size in weight.shape)
    scales, packed, dense = torch.zeros(rows, columns), torch.zeros_like(weight), torch.zeros_like(weight)
    for row in range(rows):
        for column in range(columns):
            part = (slice(row * BLOCK, (row + 1) * BLOCK), slice(column * BLOCK, (column + 1) * BLOCK))
            scales[row, column] = weight[part].abs().max() / LARGEST_FP8
            packed[part] = weight[part] / scales[row, column]
            dense[part] = packed[part].to(torch.float8_e4m3fn).float() * scales[row, column]
    return {name: packed.to(torch.float8_e4m3fn), f"{name}_scale_inv": scales}, dense


def _fp8_channels(name: str, weight: torch.Tensor) -> Packed:
    """E4M3 numbers with a scale for each row."""
    scale = weight.abs().amax(1, keepdim=True) / LARGEST_FP8
    packed = (weight / scale).to(torch.float8_e4m3fn)
    return {name: packed, f"{name}_scale": scale}, packed.float() * scale


def _int4_groups(name: str, weight: torch.Tensor) -> Packed:
    """Whole numbers from -8 to 7, eight in each 32 bits, with a scale for 32 of a row."""
    rows, columns = weight.shape
    groups = weight.reshape(rows, -1, 32)
    scale = groups.abs().amax(2) / 7
    whole = (groups / scale[..., None]).round().clamp(-8, 7)
    bits = (whole.reshape(rows, -1, 8) + 8).long() << torch.arange(0, 32, 4)
    packed = bits.sum(2)
    stem = name.removesuffix(".weight")
    return {
        f"{stem}.weight_packed": torch.where(packed >= 2**31, packed - 2**32, packed).to(torch.int32),
        f"{stem}.weight_scale": scale,
        f"{stem}.weight_shape": torch.tensor([rows, columns]),
    }, (whole * scale[..., None]).reshape(rows, columns)


def _mxfp4(name: str, weight: torch.Tensor) -> Packed:
    """E2M1 numbers, two in a byte, with a power of two for 32 of a column, of experts (experts, in, out)."""
    blocks = weight.transpose(1, 2).reshape(len(weight), weight.shape[2], -1, 32)
    power = torch.floor(torch.log2(blocks.abs().amax(-1).clamp(min=1e-20))) - 1
    scaled = blocks / torch.exp2(power)[..., None]
    codes = (scaled[..., None] - FP4).abs().argmin(-1)
    dense = (FP4[codes] * torch.exp2(power)[..., None]).flatten(2).transpose(1, 2)
    pairs = (codes[..., 0::2] | (codes[..., 1::2] << 4)).to(torch.uint8)
    return {f"{name}_blocks": pairs, f"{name}_scales": (power + 127).to(torch.uint8)}, dense


def _compressed(form: str, weights: dict[str, Any]) -> dict[str, Any]:
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": ["lm_head"],
    }


FORMS: Mapping[str, tuple[str, Callable[[str, torch.Tensor], Packed], dict[str, Any]]] = {
    "fp8": (
        "proj.weight",
        _fp8_blocks,
        {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK], "activation_scheme": "dynamic"},
    ),
    "mxfp4": ("experts.", _mxfp4, {"quant_method": "mxfp4"}),
    "compressed-tensors fp8": (
        "proj.weight",
        _fp8_channels,
        _compressed("float-quantized", {"num_bits": 8, "type": "float", **_CHANNELS}),
    ),
    "compressed-tensors int4": (
        "proj.weight",
        _int4_groups,
        _compressed("pack-quantized", {"num_bits": 4, "type": "int", **_GROUPS}),
    ),
}
"""The part of a weight's name that says that it is packed, how, and what config.json says of it."""


def pack(folder: Path, form: str) -> dict[str, torch.Tensor]:
    """Pack the weights of a model's folder. Gives the dense weights that they stand for."""
    part, packed_as, stated = FORMS[form]
    path = folder / "model.safetensors"
    shipped: dict[str, torch.Tensor] = {}
    dense: dict[str, torch.Tensor] = {}
    for name, weight in load_file(path).items():
        if part in name and not name.endswith("bias"):
            tensors, dense[name] = packed_as(name, weight.float())
            shipped |= tensors
        else:
            shipped[name] = dense[name] = weight
    save_file({name: tensor.contiguous() for name, tensor in shipped.items()}, path, {"format": "pt"})
    state(folder, quantization_config=stated)
    return dense


def state(folder: Path, **values: Any) -> None:
    """Write values into a model's config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")
