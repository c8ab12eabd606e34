"""Loading a model at a precision, and the record of what was loaded.

A model is refused when the forest would not compute what the model computes: its own attention is run
beside it once on a few tokens, and the two must agree.
"""

import logging
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig
from transformers.utils import logging as transformers_logging

from gridc.runtime.engines.hf.attention import NAME as FOREST_ATTENTION
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.kv_cache import Shape
from gridc.runtime.engines.hf.sequences import Member

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_STATIC_ROPES = frozenset({"default", "linear", "yarn", "llama3", "proportional"})
_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "accelerate", "bitsandbytes")

transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
# It tells of fast kernels that it does not find; `load` leaves them aside wherever they are.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def device_of(asked: str) -> torch.device:
    """The device that `auto`, `cpu` or `cuda` comes to here."""
    if asked == "auto":
        asked = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(asked)


def compute_type(precision: str, device: torch.device) -> torch.dtype:
    """The type of activations, keys and values. Quantised weights are multiplied in fp32 on a CPU and in
    bf16 on a GPU."""
    quantised = torch.float32 if device.type == "cpu" else torch.bfloat16
    return _DTYPES.get(precision, quantised)


def read_config(folder: Path) -> Any:
    """A model's configuration. Raises `ValueError` when the engine does not compute such a model."""
    config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False).get_text_config()
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    if layers != {"full_attention"} or getattr(config, "sliding_window", None) is not None:
        raise ValueError("it has sliding windows, and the engine computes full attention")
    ropes = set(_rope_types(getattr(config, "rope_parameters", None) or {}))
    if not ropes <= _STATIC_ROPES:
        kinds = ", ".join(sorted(ropes - _STATIC_ROPES))
        raise ValueError(f"its positions are `{kinds}`: they would depend on what shares a batch")
    return config


def _rope_types(parameters: Any) -> list[str]:
    """The rotary embeddings that are declared, for all layers or for each kind of layer."""
    if not isinstance(parameters, dict):
        return []
    named = [str(parameters[key]) for key in ("rope_type", "type") if key in parameters]
    return named + [kind for each in parameters.values() for kind in _rope_types(each)]


def shape_of(config: Any, precision: str, device: torch.device) -> Shape:
    """What keys and values of the model look like."""
    heads: int = config.num_attention_heads
    width: int = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads: int = getattr(config, "num_key_value_heads", None) or heads
    return Shape(config.num_hidden_layers, kv_heads, width, compute_type(precision, device), device)


def load(folder: Path, precision: str, device: torch.device) -> Any:
    """The model of a folder, from safetensors only and without code of its own."""
    dtype = compute_type(precision, device)
    options: dict[str, Any] = {"dtype": dtype}
    if precision in ("int8", "nf4"):
        options["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_8bit=precision == "int8",
            load_in_4bit=precision == "nf4",
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=dtype,
        )
    model: Any = AutoModelForCausalLM.from_pretrained(
        folder,
        attn_implementation=FOREST_ATTENTION,
        use_safetensors=True,
        trust_remote_code=False,
        device_map=str(device),
        **options,
    )
    for module in model.modules():
        # With AVX512-BF16 bitsandbytes repacks 4-bit weights and rounds their scales to bf16, so the same
        # model would answer differently on another CPU. Without it NF4 is the same on every CPU.
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
    return model.eval()


@dataclass(frozen=True, slots=True)
class Agreement:
    """The log-likelihood of one continuation (nats) by the model's own attention and by the forest."""

    own: float
    forest: float

    @property
    def holds(self) -> bool:
        return abs(self.own - self.forest) <= 1e-3 + 0.02 * abs(self.own)


def agreement(model: Any, shape: Shape) -> Agreement:
    """Compute a continuation both ways, in the forest over a trunk, stems and tips."""
    vocabulary: int = model.config.get_text_config().vocab_size
    tokens = tuple(number * 7919 % vocabulary for number in range(1, 17))
    prompt, given = tokens[:10], tokens[10:]
    member = Member("", prompt, len(given), given=given)
    beside = Member("", (*prompt[:8], given[0]), len(given), given=given)
    Forest(model, shape).decode(prompt[:6], (6,), [member, beside], frozenset())
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            ids = torch.tensor([tokens], device=shape.device)
            logits = model(input_ids=ids, use_cache=False).logits[0].float()
    finally:
        model.set_attn_implementation(FOREST_ATTENTION)
    logs = torch.log_softmax(logits, dim=-1)
    own = sum(float(logs[at - 1, tokens[at]]) for at in range(len(prompt), len(tokens)))
    return Agreement(own, member.loglikelihood)


def quantisation(model: Any, precision: str) -> dict[str, Any] | None:
    """Which weights are quantised, how, and what multiplies them. None when none is."""
    if precision not in ("int8", "nf4"):
        return None
    kinds = {"int8": ("Linear8bitLt",), "nf4": ("Linear4bit", "LinearNF4")}[precision]
    layers = [module for module in model.modules() if type(module).__name__ in kinds]
    plain = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module not in layers
    ]
    path = "4-bit weights, dequantised and multiplied" if precision == "nf4" else "LLM.int8()"
    return {
        "library": f"bitsandbytes {version('bitsandbytes')}",
        "path": path,
        "layers": len(layers),
        "not_quantised": plain,
        "multiplied_as": str(compute_type(precision, model.device)).removeprefix("torch."),
        "avx512_bf16": False if precision == "nf4" else None,
    }


def machine(device: torch.device) -> dict[str, Any]:
    """The device and the versions that numbers depend on."""
    cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if cuda else str(device),
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "cuda": torch.version.cuda if cuda else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in _LIBRARIES},
    }


def peak_bytes(device: torch.device) -> int:
    """The most memory that this process has had so far: on the GPU, or resident on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    import resource  # there is none on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _processor() -> str:
    """What the CPU calls itself; `platform` knows on few systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
