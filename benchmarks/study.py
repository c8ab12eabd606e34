"""The study that is measured: one model of 23 million parameters, one benchmark, 48 configurations."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gridc

PACKAGE = Path(gridc.__file__).parent
TOKENIZERS = PACKAGE / "builtin" / "models"
KIND = {"greedy": "temperature = 0.0", "moderate": "temperature = 0.3", "diverse": "temperature = 0.7"}

HEAD = """\
gridcard = 1
[study]
id = "bench"
title = "what the engine is measured on"
purpose = "comparative"
[[model]]
id = "random"
engine = "hf"
source = "path:model"
[[benchmark]]
id = "items"
loader = "truthfulqa_mc1"
source = "builtin:pocket_truthfulqa.json"
direction = "higher_is_better"
sample = {{ n = {items}, seed = 42 }}
option_order = "shuffled:42"
exemplars = {{ pool = "rest", seed = 42 }}
[harness]
max_tokens = {tokens}
precision = "{precision}"
[engine]
device = "{device}"
threads = {threads}
kv_mib = {kv_mib}
noise_sample = 0
[[exclude]]
when = {{ scoring = "logprob", decoding = {{ not = "greedy" }} }}
why = "a ranking is deterministic"
"""


@dataclass(frozen=True)
class Size:
    """What is asked: items, answer length, templates, replicates; and how: threads, memory, precision,
    device."""

    items: int = 100
    tokens: int = 32
    templates: int = 4
    replicates: int = 5
    threads: int = 2
    kv_mib: int = 1024
    precision: str = "fp32"
    device: str = "cpu"


def write(folder: Path, size: Size, model: Path) -> Path:
    """A fresh study in a folder. The path of its spec."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(model, folder / "model")
    levels = {
        "template": [f'prompt = "builtin:T{number}"' for number in range(1, size.templates + 1)],
        "decoding": [
            each if each == KIND["greedy"] else f"{each}\ntop_p = 0.9\nreplicates = {size.replicates}"
            for each in KIND.values()
        ],
        "few_shot": [f"shots = {shots}" for shots in (0, 3, 5)],
        "scoring": ['method = "extract"', 'method = "loglikelihood"\ncandidates = "option_text"'],
    }
    names = {
        "template": [f"T{number}" for number in range(1, size.templates + 1)],
        "decoding": list(KIND),
        "few_shot": ["0", "3", "5"],
        "scoring": ["free_form", "logprob"],
    }
    text = HEAD.format(**asdict(size))
    for axis, effects in levels.items():
        text += f'[[axis]]\nid = "{axis}"\n'
        for name, effect in zip(names[axis], effects, strict=True):
            text += f'[[axis.level]]\nid = "{name}"\ntier = "core"\nprovenance = "a measurement"\n{effect}\n'
    spec = folder / "gridcard.toml"
    spec.write_text(text)
    return spec


def without_engine(text: str) -> str:
    """A study that leaves everything of `[engine]` at its default."""
    before, _, after = text.partition("[engine]\n")
    return before + after[after.index("[[") :]


@dataclass(frozen=True)
class Shape:
    """A model by its sizes. Random weights; `vocabulary` None is that of the shipped tokenizer."""

    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int | None = None
    vocabulary: int | None = None
    kind: str = "llama"
    window: int | None = None


SEVEN_B = Shape(4096, 14336, 32, 32, 8)
MODELS = {
    "llama-23m": Shape(512, 1408, 7, 8),
    "llama-23m-50k": Shape(512, 1408, 7, 8, vocabulary=50_000),
    "llama-23m-150k": Shape(512, 1408, 7, 8, vocabulary=150_000),
    "qwen2-23m": Shape(512, 1408, 7, 8, kind="qwen2"),
    "qwen2-23m-grouped": Shape(512, 1408, 7, 8, 2, kind="qwen2"),
    "qwen2-110m": Shape(768, 2048, 15, 12, kind="qwen2"),
    "llama-100m-50k": Shape(768, 2048, 9, 12, vocabulary=50_000),
    "gemma3-50k": Shape(512, 2048, 6, 8, 2, vocabulary=50_000, kind="gemma3_text", window=512),
    "gemma3-50k-128": Shape(512, 2048, 6, 8, 2, vocabulary=50_000, kind="gemma3_text", window=128),
}
"""What `--model` names. The output layer is the embedding where the vocabulary is a real one. Five of six
layers of the Gemma 3 see 512 tokens back, as those of its 1B model do, or 128, so that two thirds of the
prompts that are measured here are longer."""


def make_model(folder: Path, sharpness: float, shape: Shape, dtype: str = "float32") -> Path:
    """A model with random weights, and a shipped tokenizer with made-up words up to its vocabulary.

    `sharpness` multiplies the output layer. At 1 every token is about as likely as any other, so sampled
    answers part at once and nothing can be merged: the worst case for gridc. What is a part of a character is
    never the likeliest token: llama.cpp's server says nothing of one.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    files = TOKENIZERS / ("pocket-qwen2" if shape.kind == "qwen2" else "pocket-llama")
    tokenizer = json.loads((files / "tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    first = max(words.values()) + 1
    vocabulary = shape.vocabulary or first
    words |= {f"\u0120w{number}": number for number in range(first, vocabulary)}
    values = {
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads or shape.heads,
        "head_dim": shape.hidden // shape.heads,
        "vocab_size": vocabulary,
        "tie_word_embeddings": shape.vocabulary is not None,
        "max_position_embeddings": 4096,
        **({"sliding_window": shape.window} if shape.window else {}),
    }
    ends = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1}
    config = AutoConfig.for_model(shape.kind, **values, **ends)
    make: Any = AutoModelForCausalLM.from_config
    model = make(config, dtype=getattr(torch, dtype))
    model.get_output_embeddings().weight.data.mul_(sharpness)
    config.save_pretrained(folder)
    for path in files.iterdir():
        if path.name not in ("config.json", "model.safetensors", "README.md"):
            shutil.copy(path, folder)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    own = AutoTokenizer.from_pretrained(folder)
    own.save_pretrained(folder)
    parts = [number for number in range(first) if "\ufffd" in own.decode([number])]
    model.get_output_embeddings().weight.data[parts] = 0
    model.save_pretrained(folder)
    return folder


def environment(threads: int) -> dict[str, str]:
    """The same for everything that is measured: equal threads, which sleep while they wait."""
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}


def run(spec: Path, threads: int, *options_of_run: str) -> dict[str, Any]:
    """`gridc stamp` and `gridc run` in processes of their own: what `run` prints, and its `wall` and `cpu`
    seconds, those of a server that it starts included."""
    gridc_ = [sys.executable, "-m", "gridc"]
    options: dict[str, Any] = {"cwd": spec.parent, "env": environment(threads), "check": True}
    subprocess.run([*gridc_, "stamp"], stdout=subprocess.DEVNULL, **options)
    begun, spent = time.perf_counter(), cpu_of_children()
    done = subprocess.run(
        [*gridc_, "run", "--json", *options_of_run],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        **options,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    took = {"wall": time.perf_counter() - begun, "cpu": cpu_of_children() - spent}
    first = found["spent"][0]
    least = {f"least_{name}": value for name, value in first["least"].items()}
    return {**found, **first, **first["work"], **least, **first["most"], **took}


def cpu_of_children() -> float:
    """CPU seconds of all processes that were started from here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
