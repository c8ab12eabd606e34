"""Every causal architecture that transformers registers, as a tiny model with decisive weights.

Weights are scaled up until what stands before a token moves its logits by several nats: with weights as they
are initialised attention is worth so little that a wrong one could hide in rounding.
"""

import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

import gridc

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
    "gemma3_text",
    "gpt_oss",
    "cohere2",
    "exaone4",
)
_CAUSAL: dict[str, Any] = {"is_decoder": True}
_ENCODERS = ("electra", "ernie", "rembert", "roberta", "roformer", "camembert", "data2vec-text", "reformer")
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
    "llama4_text": {"attention_chunk_size": 40},
    **dict.fromkeys(_WINDOWED, _WINDOW),
    **dict.fromkeys(_ENCODERS, _CAUSAL),
}
"""What an architecture needs besides: windows that the prompts of the tests reach beyond, and for encoders
that they are causal (BERT is left as it comes)."""


_SLOW = ("bailing_hybrid", "blt", "kimi_linear", "phi4_multimodal")


def config_of(kind: str, **values: Any) -> Any:
    """The configuration of a tiny model. Raises whatever transformers raises where that cannot be built."""
    if kind in _SLOW:
        raise ValueError("minutes a pass: its parts have no tiny form, or no fast code without a GPU")
    whole = type(AutoConfig.for_model(kind))()
    text = whole.get_text_config(decoder=True)
    wanted = {name: value for name, value in _SIZES.items() if hasattr(text, name)}
    if getattr(text, "head_dim", None) is None or hasattr(text, "qk_rope_head_dim"):
        wanted.pop("head_dim", None)
    wanted |= _OWN.get(kind, {}) | values
    return type(text)(**{name: value for name, value in wanted.items() if value is not None})


def build(kind: str, **values: Any) -> Any:
    """A tiny model with decisive weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        make: Any = AutoModelForCausalLM.from_config
        model = make(config_of(kind, **values), dtype=torch.float32).eval()
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
    return model


def save(kind: str, folder: Path, **values: Any) -> Path:
    """A folder that the engine loads: weights, configuration, and the tokenizer of a pocket model."""
    model = build(kind, **values)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(TOKENIZER / name, folder / name)
    return folder
