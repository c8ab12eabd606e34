"""A twin of a model: a smaller one that runs the same code in fp32, on which a path can be proved exactly.

It is of the same class and configuration, with as many of the first layers as show every kind of layer, with
feed-forward parts and a vocabulary of a few numbers, and with heads, windows and positions as they are. Its
weights are random, and such that attention is decisive.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from gridc.runtime.engines.hf.paths import own_attention, use_attention

WORDS, NARROW = 512, 32
"""Words of a twin, and how wide its feed-forward parts are."""

FEWEST = 13
"""Words of a twin at least, though its model has fewer: a trial has so many texts (`gate.MANY`)."""

SPREAD, LOGITS = 1.2, 3.0
"""Standard deviation of what a matrix makes of numbers with deviation 1, and of the logits."""

SMALL, SHARE = 2**28, 8
"""Most numbers that a twin may have, or one for so many of the model's where that is more."""

_DEPTHS = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64)
_WIDE, _NUMBER = re.compile("intermediate|ffn|n_inner"), frozenset({"layer_idx", "layer_id", "training"})


class NoTwinError(ValueError):
    """No smaller model runs the code of this one."""


def code_path(model: Any) -> frozenset[tuple[Any, ...]]:
    """What decides which code a model runs: the classes of its modules; of those that know which layer they
    are of, and of rotary embeddings, each switch, count and name that they hold; and the implementation of
    attention. Fractions are left out: they are numbers that all code takes. So is what a twin has less of."""
    facts: set[tuple[Any, ...]] = {("attention", own_attention(model))}
    for module in model.modules():
        # bitsandbytes puts classes of its own in the place of linear ones.
        name = "Linear" if isinstance(module, torch.nn.Linear) else type(module).__name__
        facts.add((name,))
        if hasattr(module, "layer_idx") or hasattr(module, "layer_id") or hasattr(module, "inv_freq"):
            facts.add((name, *_switches(module)))
    return frozenset(facts)


def _switches(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(module).items()):
        private = name.startswith("_") or name in _NUMBER or "max_seq_len" in name
        if not private and not _WIDE.search(name) and (value is None or isinstance(value, bool | int | str)):
            yield name, value


def twin_of(model: Any, seed: int) -> Any:
    """A twin of a model, on its device. Raises `NoTwinError`."""
    wanted, own = code_path(model), own_attention(model)
    most = max(SMALL, sum(weight.numel() for weight in model.parameters()) // SHARE)
    why = "none of its layers could be left out"
    for config in _smaller(model.config, own):
        try:
            with torch.device("meta"):
                sketch = type(model)._from_config(copy.deepcopy(config), dtype=torch.float32)
        except MemoryError:
            raise
        except Exception as error:  # whatever the code of an architecture raises
            why = str(error).strip().partition("\n")[0][:120] or type(error).__name__
            continue
        if not wanted <= code_path(sketch):
            continue
        numbers = sum(weight.numel() for weight in sketch.parameters())
        if numbers > most:
            raise NoTwinError(f"it would have {numbers:,} numbers, where {most:,} may be")
        return _decisive(type(model), config, model.device, seed)
    raise NoTwinError(why)


def _smaller(config: Any, own: str) -> Iterator[Any]:
    """Configurations with less of everything, from the least on: first narrow ones, then as wide as it is."""
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None) or 1
    depths = sorted({min(depth, layers) for depth in _DEPTHS} | {layers})
    for narrow in (True, False):
        for depth in depths:
            smaller = copy.deepcopy(config)
            smaller._attn_implementation = own
            for name in ("quantization_config", "_pre_quantization_dtype"):
                vars(smaller).pop(name, None)
            text = smaller.get_text_config(decoder=True)
            _shorten(text, layers, depth)
            if narrow:
                _narrow(text)
                for name in getattr(type(smaller), "sub_configs", ()):
                    part = getattr(smaller, name, None)
                    if part is not None and part is not text:
                        _shorten(part, getattr(part, "num_hidden_layers", None) or 0, 1)
            yield smaller


def _shorten(config: Any, layers: int, depth: int) -> None:
    """Leave the first layers, and of what is listed layer by layer as much."""
    if depth >= layers:
        return
    config.num_hidden_layers = depth
    for name, value in list(vars(config).items()):
        if isinstance(value, list | tuple) and len(value) == layers:
            vars(config)[name] = value[:depth]
        elif type(value) is int and value == layers and "layer" in name:
            vars(config)[name] = depth  # what a decoder has of its own, beside `num_hidden_layers`


def _narrow(config: Any) -> None:
    for name, value in list(vars(config).items()):
        if "vocab_size" in name and type(value) is int:
            vars(config)[name] = max(min(value, WORDS), FEWEST)
        elif _WIDE.search(name) and type(value) is int:
            vars(config)[name] = min(value, NARROW)
        elif name == "n_inner" and value is None:
            vars(config)[name] = NARROW
        elif name.endswith("token_id") and _outside_vocabulary(value):
            vars(config)[name] = None


def _outside_vocabulary(tokens: Any) -> bool:
    every = tokens if isinstance(tokens, list) else [tokens]
    return any(isinstance(token, int) and token >= WORDS for token in every)


def _decisive(kind: Any, config: Any, device: torch.device, seed: int) -> Any:
    """A model with random weights of which each makes a difference."""
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(seed)
        model = kind._from_config(config, dtype=torch.float32).eval()
        ids = torch.randint(3, min(WORDS, config.get_text_config(decoder=True).vocab_size), (1, 64))
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    with torch.no_grad():
        for module in model.modules():
            if module is head:
                continue
            if isinstance(module, torch.nn.Linear | Conv1D):
                inputs = module.weight.shape[0 if isinstance(module, Conv1D) else 1]
                _spread(module.weight, SPREAD / inputs**0.5)
            elif not isinstance(module, torch.nn.Embedding):
                for weight in module.parameters(recurse=False):
                    if weight.dim() == 3 and min(weight.shape[1:]) > 4:  # the experts of a layer
                        _spread(weight, SPREAD / max(weight.shape[1:]) ** 0.5)
        if head is not None:
            use_attention(model, own_attention(model))
            spread = float(model(input_ids=ids, use_cache=False).logits.float().std())
            tied = head.weight is getattr(embedding, "weight", None)
            if spread > 0:
                head.weight.mul_((LOGITS / spread) ** (0.5 if tied else 1.0))
    return model


def _spread(weight: torch.Tensor, wanted: float) -> None:
    """Give a matrix a standard deviation, unless it is constant."""
    found = float(weight.std()) if weight.numel() > 1 else 0.0
    if found > 0:
        weight.mul_(wanted / found)
