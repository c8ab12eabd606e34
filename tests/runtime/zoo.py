"""Every causal architecture that transformers registers, as a tiny model with decisive weights.

Weights are scaled up until what stands before a token moves its logits by several nats: with weights as they
are initialised attention is worth so little that a wrong one could hide in rounding.
"""

import os
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, MODEL_FOR_CAUSAL_LM_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

import gridc
from gridc.runtime.engines.hf import forest
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.protocol import Answer, Call

DEVICE: Any = os.environ.get("GRIDC_TEST_DEVICE", "cpu")
"""Where models are tried: `GRIDC_TEST_DEVICE=cuda` has the tests of engines run on a GPU."""

TOKENIZER = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
VOCABULARY = 837
KINDS = tuple(sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES))

_SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "embed_dim", "word_embed_proj_dim"), 64),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"), 4),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim", "decoder_ffn_dim", "ffn_hidden_size"), 96),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"), 2048),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 32),
    **dict.fromkeys(("mamba_d_state", "ssm_state_size", "state_size", "qk_rope_head_dim"), 8),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "qk_nope_head_dim", "rotary_dim"), 8),
    **dict.fromkeys(("mamba_n_groups", "n_groups", "n_group", "topk_group", "n_shared_experts"), 1),
    **dict.fromkeys(("time_step_rank", "mamba_dt_rank", "linear_num_value_heads"), 4),
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads"), 8),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim", "attention_head_size", "v_head_dim", "head_dim"), 16),
    **dict.fromkeys(
        ("num_key_value_heads", "num_experts_per_tok", "linear_num_key_heads", "mamba_expand"), 2
    ),
    "vocab_size": VOCABULARY,
    "encoder_layers": 1,
    "image_size": 28,
    "patch_size": 14,
    "out_hidden_size": 64,
    "encoder_hash_byte_group_vocab": 1000,
    "kv_lora_rank": 16,
    "q_lora_rank": 24,
    "mamba_d_ssm": 128,
    "chunk_size": 16,
    "lru_width": 64,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}

_WINDOW: dict[str, Any] = {"sliding_window": 40}
_WINDOWED = (
    "mistral",
    "phi3",
    "starcoder2",
    "olmo3",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gpt_oss",
    "cohere2",
    "exaone4",
)
_CAUSAL: dict[str, Any] = {"is_decoder": True}
_ENCODERS = ("electra", "ernie", "rembert", "roberta", "roformer", "camembert", "data2vec-text")
_SPARSE: dict[str, Any] = {
    "num_key_value_heads": 4,
    "index_topk": 32,
    "index_head_dim": 16,
    "index_n_heads": 16,
}
_SPARSE_ATTENTION = ("axk2", "deepseek_v32", "glm_moe_dsa")
_GEMMA4: dict[str, Any] = {
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "sliding_window": 40,
    "head_dim": 16,
    "global_head_dim": 32,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
    "top_k_experts": None,
    "num_experts": None,
    "moe_intermediate_size": None,
}
_GEMMA4_KINDS = ("gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text")
_OWN: dict[str, dict[str, Any]] = {
    "falcon": {"head_dim": None},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "window_size": 40},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 2},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "bamba": {"attn_layer_indices": [1, 3]},
    "mamba2": {"num_heads": 8, "head_dim": 16},
    "ministral": {"head_dim": 16, "sliding_window": 40},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "llama4": {"attention_chunk_size": 40},
    "llama4_text": {"attention_chunk_size": 40},
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4},
        "ffn_config": {"hidden_size": 64, "ffn_hidden_size": 96, "moe_num_experts": 4, "moe_top_k": 2},
    },
    "longcat_flash": {
        "num_layers": 2,
        "num_key_value_heads": 4,
        "head_dim": 8,
        "moe_topk": 2,
        "zero_expert_num": 2,
        "expert_ffn_hidden_size": 32,
    },
    "kimi_linear": {
        "layer_types": ["linear_attention", "full_attention"] * 2,
        "num_key_value_heads": 4,
        "linear_head_dim": 16,
        "linear_num_heads": 4,
    },
    "bailing_hybrid": {
        "layer_types": ["linear_attention", "full_attention"] * 2,
        "mlp_layer_types": ["dense", "sparse", "dense", "sparse"],
        "num_key_value_heads": 4,
    },
    "prophetnet": {
        "num_hidden_layers": None,
        "num_decoder_layers": 4,
        "num_decoder_attention_heads": 4,
        "is_decoder": True,
    },
    "reformer": {
        "is_decoder": True,
        "axial_pos_shape": [32, 64],
        "axial_pos_embds_dim": [16, 48],
        "feed_forward_size": 96,
    },
    "xlnet": {"max_position_embeddings": None, "d_head": 16, "d_inner": 96},
    "xlstm": {"v_head_dim": None, "hidden_size": 64, "num_heads": 4, "chunk_size": 16, "num_blocks": 4},
    "xmod": {"is_decoder": True, "default_language": "en_XX"},
    "zamba": {"layers_block_type": ["linear_attention", "hybrid"] * 2, "num_key_value_heads": 4},
    "zamba2": {
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
        "num_key_value_heads": 4,
        "num_mem_blocks": 2,
    },
    "zaya": {"num_experts_per_tok": 1, "head_dim": 16, "router_hidden_size": 16},
    "gemma3n": {
        "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "sliding_window": 40,
        "vocab_size_per_layer_input": VOCABULARY,
        "hidden_size_per_layer_input": 8,
        "laurel_rank": 8,
    },
    "dots3_note": {
        "num_key_value_heads": 4,
        "layer_types": ["sliding_attention", "indexed_attention"] * 2,
        "sliding_window": 40,
        "head_dim": 24,
        "index_topk": 32,
        "index_head_dim": 16,
        "index_n_heads": 16,
        "n_group": 1,
        "shared_experts_intermediate_size": 32,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "swa_q_lora_rank": 24,
        "swa_kv_lora_rank": 16,
        "swa_head_dim": 16,
        "swa_qk_nope_head_dim": 8,
        "swa_v_head_dim": 16,
    },
    "cohere_compass_text": {
        "sliding_window": 40,
        "rope_parameters": {
            "full_attention": None,
            "sliding_attention": {
                "rope_type": "default",
                "rope_theta": 10000.0,
                "mrope_section": [4, 2, 2],
            },
        },
    },
    "qwen4_exp": {
        "layer_types": ["linear_attention", "indexed_attention"] * 2,
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 16,
        "indexer_budget": 32,
        "indexer_compress_ratio": 4,
        "hc_lowrank": 16,
    },
    **dict.fromkeys(_GEMMA4_KINDS, _GEMMA4),
    **dict.fromkeys(_SPARSE_ATTENTION, _SPARSE),
    **dict.fromkeys(_WINDOWED, _WINDOW),
    **dict.fromkeys(_ENCODERS, _CAUSAL),
}
_OWN |= {f"{kind}_text": _OWN[kind] for kind in ("dots3_note", "gemma3n", "qwen4_exp")}
"""What an architecture needs besides: windows that the prompts of the tests reach beyond, and for encoders
that they are causal (BERT is left as it comes)."""


def _of(config: Any, name: str) -> Any:
    """A value of a configuration, "by layer" where it differs between layers."""
    try:
        return getattr(config, name, None)
    except (AttributeError, NotImplementedError, RuntimeError, ValueError):
        return "by layer"


def _has(config: Any, name: str) -> bool:
    """Whether a configuration has a key."""
    return _of(config, name) is not None or name in vars(config)


_PARTS: dict[str, dict[str, Any]] = {
    "dots3_note": {
        "vision_config": {"pyramid_num_routed": [-1] * 4, "adapter_in_dim": 64, "adapter_out_dim": 64},
        "audio_config": {"adapter_input_size": 64, "adapter_out_dim": 64},
    },
    "blt": {
        "patcher_config": {"head_dim": None},
        "encoder_config": {"hidden_size_global": 64, "head_dim": None},
        "decoder_config": {"hidden_size_global": 64, "head_dim": None},
        "global_config": {"head_dim": None},
    },
    "phi4_multimodal": {
        "audio_config": {"num_blocks": 1, "ext_pw_out_channel": 64, "nemo_conv_channels": 32}
    },
}
"""What the other parts of a model that also sees or hears need. No test shows them anything."""

_DRAFT = "it drafts for another model and takes that one's keys and values: alone it answers nothing"
_SOUND = "it continues sound, several codes at a time, and no text"
_NOT_BUILT = {
    "gemma3n": "the part that sees is a model of the package timm; its text model is `gemma3n_text`",
    "gemma4_assistant": _DRAFT,
    "gemma4_unified_assistant": _DRAFT,
    "musicgen": _SOUND,
    "musicgen_melody": _SOUND,
}
"""Why no tiny model of an architecture can be made here."""


def config_of(kind: str, **values: Any) -> Any:
    """The configuration of a tiny model, whole: with the parts that see and hear, where it has any. Raises
    whatever transformers raises where that cannot be built."""
    if kind in _NOT_BUILT:
        raise ValueError(_NOT_BUILT[kind])
    kinds: Any = CONFIG_MAPPING[kind]
    default, own = kinds(), _OWN.get(kind, {}) | values
    parts = {name: part for name in kinds.sub_configs if (part := getattr(default, name)) is not None}
    text = next((name for name in ("text_config", "decoder") if name in parts), None)
    made = {
        name: _tiny(type(part), _PARTS.get(kind, {}).get(name, {})).to_dict()
        for name, part in parts.items()
        if name != text
    }
    if text is None:
        return _tiny(kinds, made | own)
    return kinds(**made, **{text: _tiny(type(parts[text]), own).to_dict()})


def _tiny(kind: Any, own: dict[str, Any]) -> Any:
    """A configuration of a class at the sizes that it has among `_SIZES`, with values of its own."""
    default = kind()
    wanted = {name: value for name, value in _SIZES.items() if _has(default, name)}
    if _of(default, "head_dim") is None or _has(default, "qk_rope_head_dim"):
        wanted.pop("head_dim", None)
    return kind(**{name: value for name, value in (wanted | own).items() if value is not None})


def build(kind: str, **values: Any) -> Any:
    """A tiny model with decisive weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        whole = config_of(kind, **values)
        make: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(whole)]
        config = whole if make.config_class is type(whole) else whole.get_text_config(decoder=True)
        model = make._from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            spread = float(weight.std()) if weight.dim() >= 2 and weight.numel() > 1 else 0.0
            if 0 < spread < 0.05 and "embed" not in name and "norm" not in name:
                weight.mul_(0.15 / spread)
        head = model.get_output_embeddings()
        if head is not None:
            ids = torch.randint(3, VOCABULARY, (1, 64), generator=torch.Generator().manual_seed(1))
            spread = float(model(input_ids=ids, use_cache=False).logits.std())
            tied = head.weight is getattr(model.get_input_embeddings(), "weight", None)
            head.weight.mul_((3.0 / max(spread, 1e-6)) ** (0.5 if tied else 1.0))
    model._gridc_whole = whole
    return model


def save(kind: str, folder: Path, **values: Any) -> Path:
    """A folder that the engine loads: weights, configuration, and the tokenizer of a pocket model."""
    model = build(kind, **values)
    model.save_pretrained(folder)
    if type(model.config) is not type(model._gridc_whole):
        model._gridc_whole.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(TOKENIZER / name, folder / name)
    return folder


def answers(engine: HfEngine, calls: Sequence[Call]) -> dict[str, Answer]:
    """What an engine answers to these calls, by call."""
    found: dict[str, Answer] = {}
    for batch in engine.batches(calls):
        found |= {each.call: each for each in engine.answer(batch, frozenset(batch.calls))[0]}
    return found


def late_stems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each token of a stem sees the one after it too."""
    made = forest.StemPass.__init__

    def later(self: Any, *values: Any) -> None:
        made(self, *values)
        self._starts = self._starts + 1

    monkeypatch.setattr(forest.StemPass, "__init__", later)
