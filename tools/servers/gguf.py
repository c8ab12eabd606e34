"""A checkpoint that ships with gridc as a GGUF file in fp32, as llama.cpp's server reads it.

The format has a head (what the model is, and its tokenizer) and the tensors behind it, each aligned; numbers
are little-endian. Only what Qwen2 needs is written.
"""

import json
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

WHOLE, REAL, YES, TEXT, MANY = 4, 6, 7, 8, 9
"""Types of a value: uint32, float32, bool, a string, an array."""
ALIGNED = 32

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""What a tensor of a checkpoint is called there."""


def write_gguf(folder: Path, file: Path) -> None:
    """Write the model in a folder as one file."""
    tensors = {_named(name): array for name, array in load_file(folder / "model.safetensors").items()}
    values = _about(folder)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(values))
    head += b"".join(_text(name) + struct.pack("<I", kind) + data for name, (kind, data) in values.items())
    place = 0
    for name, array in tensors.items():
        shape = array.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, place)
        place += _padded(array.nbytes)
    with file.open("wb") as out:
        out.write(head.ljust(_padded(len(head)), b"\0"))
        for array in tensors.values():
            data = np.ascontiguousarray(array, np.float32).tobytes()
            out.write(data.ljust(_padded(len(data)), b"\0"))


def _padded(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _named(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    parts = stem.split(".", 3)
    if "layers" in parts:
        return f"blk.{parts[2]}.{NAMES[parts[3]]}.{kind}"
    return f"{NAMES[stem]}.{kind}"


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _whole(value: int) -> tuple[int, bytes]:
    return WHOLE, struct.pack("<I", value)


def _real(value: float) -> tuple[int, bytes]:
    return REAL, struct.pack("<f", value)


def _texts(values: list[str]) -> tuple[int, bytes]:
    return MANY, struct.pack("<IQ", TEXT, len(values)) + b"".join(map(_text, values))


def _about(folder: Path) -> dict[str, tuple[int, bytes]]:
    config: Mapping[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
    tokenizer: Mapping[str, Any] = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    vocabulary: Mapping[str, int] = tokenizer["model"]["vocab"]
    special = {token["id"] for token in tokenizer["added_tokens"]}
    kinds = [3 if number in special else 1 for number in range(len(vocabulary))]
    return {
        "general.architecture": (TEXT, _text(config["model_type"])),
        "qwen2.context_length": _whole(config["max_position_embeddings"]),
        "qwen2.embedding_length": _whole(config["hidden_size"]),
        "qwen2.block_count": _whole(config["num_hidden_layers"]),
        "qwen2.feed_forward_length": _whole(config["intermediate_size"]),
        "qwen2.attention.head_count": _whole(config["num_attention_heads"]),
        "qwen2.attention.head_count_kv": _whole(config["num_key_value_heads"]),
        "qwen2.attention.layer_norm_rms_epsilon": _real(config["rms_norm_eps"]),
        "qwen2.rope.freq_base": _real(config["rope_parameters"]["rope_theta"]),
        "tokenizer.ggml.model": (TEXT, _text("gpt2")),
        "tokenizer.ggml.pre": (TEXT, _text("default")),
        "tokenizer.ggml.tokens": _texts(sorted(vocabulary, key=lambda name: vocabulary[name])),
        "tokenizer.ggml.token_type": (MANY, struct.pack(f"<IQ{len(kinds)}i", 5, len(kinds), *kinds)),
        "tokenizer.ggml.merges": _texts([" ".join(pair) for pair in tokenizer["model"]["merges"]]),
        "tokenizer.ggml.eos_token_id": _whole(config["eos_token_id"]),
        "tokenizer.ggml.padding_token_id": _whole(config["pad_token_id"]),
        "tokenizer.ggml.add_bos_token": (YES, b"\0"),
        "tokenizer.chat_template": (TEXT, _text((folder / "chat_template.jinja").read_text("utf-8"))),
    }


if __name__ == "__main__":
    write_gguf(Path(sys.argv[1]), Path(sys.argv[2]))
