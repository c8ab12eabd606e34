"""The local engine on a model of 7B shape with random weights: `python -m benchmarks.large`.

No weights are needed, only the disk and the memory for 14 GB of them. Prints one line `name: value` per
figure. First single passes beside transformers' own `generate`, in the same process and with the same
weights: seconds to read the prompts and for each decoding step, as shares of what the device's matrix product
and memory could do, and how many operations a step takes. Then a study of 48 configurations, for each
precision: tokens per second, forward tokens over the trie minimum, and memory.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM

from benchmarks import study
from benchmarks.engine import report_run, say
from gridc.runtime.engines.hf import loading
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.kv_cache import Shape
from gridc.runtime.engines.hf.paths import own_attention, use_attention
from gridc.runtime.engines.hf.sequences import Member

STEPS = 32
"""Decoding steps over which one is timed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--precisions", nargs="*", default=["bf16", "nf4"])
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--templates", type=int, default=4)
    parser.add_argument("--kv-mib", type=int, default=16384)
    parser.add_argument("--layers", type=int, default=study.SEVEN_B.layers)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 16, 64], help="Prompts at once.")
    parser.add_argument("--prompt", type=int, default=512, help="Tokens of each.")
    parser.add_argument("--scratch", type=Path, help="Folder with room for the weights.")
    asked = parser.parse_args()
    shape, device = replace(study.SEVEN_B, layers=asked.layers), loading.device_of(asked.device)
    with tempfile.TemporaryDirectory(dir=asked.scratch) as scratch:
        with torch.device(device):
            folder = study.make_model(Path(scratch) / "model", 1.0, shape, "bfloat16")
        for name, value in loading.machine(device).items():
            say(name, json.dumps(value))
        if asked.rows:
            passes(folder, shape, device, asked.rows, asked.prompt)
        for precision in asked.precisions:
            size = study.Size(
                items=asked.items,
                tokens=asked.tokens,
                templates=asked.templates,
                kv_mib=asked.kv_mib,
                precision=precision,
                device=asked.device,
            )
            done = study.run(study.write(Path(scratch) / "study", size, folder), size.threads)
            report_run(f"{precision}_{asked.layers}_layers", done)


@dataclass(frozen=True)
class Limits:
    """What the device was measured to do in a second: bytes read and written, operations of bf16 products."""

    bandwidth: float
    matmul: float

    @classmethod
    def of(cls, device: torch.device) -> "Limits":
        large = device.type == "cuda"
        source = torch.empty(2**32 if large else 2**28, dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        side = 8192 if large else 2048
        square = torch.randn(side, side, dtype=torch.bfloat16, device=device)
        return cls(
            2 * source.nbytes / timed(lambda: target.copy_(source), device),
            2 * side**3 / timed(lambda: square @ square, device),
        )


def passes(folder: Path, shape: study.Shape, device: torch.device, rows: list[int], length: int) -> None:
    """Prompts of random tokens that share nothing, read and continued greedily by gridc and by `generate`."""
    limits = Limits.of(device)
    say("bandwidth_gb_s", limits.bandwidth / 1e9)
    say("matmul_tflop_s", limits.matmul / 1e12)
    load: Any = AutoModelForCausalLM.from_pretrained
    model = load(folder, dtype=torch.bfloat16).to(device).eval()
    width = shape.hidden // shape.heads
    held = Shape(((shape.kv_heads or shape.heads, width),) * shape.layers, torch.bfloat16, device)
    weights = (
        sum(parameter.numel() for parameter in model.parameters())
        - model.get_input_embeddings().weight.numel()
    )
    for number in rows:
        prompts = torch.randint(3, 500, (number, length), generator=torch.Generator().manual_seed(number))
        ways = {"gridc": forest(model, held, prompts), "generate": generate(model, prompts.to(device))}
        for name, way in ways.items():
            reading = timed(lambda way=way: way(1), device)  # type: ignore[misc]
            step = (timed(lambda way=way: way(1 + STEPS), device) - reading) / STEPS  # type: ignore[misc]
            moved = 2 * weights + number * (length + STEPS / 2) * held.position_bytes
            about = f"{name}_{number}_rows"
            say(f"{about}_prompts_s", reading)
            say(f"{about}_prompts_share_of_matmul", 2 * weights * prompts.numel() / limits.matmul / reading)
            say(f"{about}_step_s", step)
            say(f"{about}_step_share_of_bandwidth", moved / limits.bandwidth / step)
            say(f"{about}_operations_per_step", (operations(way, 1 + STEPS) - operations(way, 1)) // STEPS)


def forest(model: Any, held: Shape, prompts: torch.Tensor) -> Callable[[int], None]:
    def way(tokens: int) -> None:
        members = [Member(str(number), tuple(row), tokens) for number, row in enumerate(prompts.tolist())]
        Forest(model, held).decode((), (), members, frozenset())

    return way


def generate(model: Any, prompts: torch.Tensor) -> Callable[[int], None]:
    def way(tokens: int) -> None:
        use_attention(model, own_attention(model))
        seen = torch.ones_like(prompts)
        model.generate(
            prompts, attention_mask=seen, min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False
        )

    return way


def timed(work: Callable[[], Any], device: torch.device, times: int = 3) -> float:
    """Seconds of the fastest of some runs, after one that is not timed."""
    took = []
    for _ in range(1 + times):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        begun = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        took.append(time.perf_counter() - begun)
    return min(took[1:])


class _Count(TorchDispatchMode):  # type: ignore[no-untyped-call]
    done: int = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.done += 1
        return func(*args, **(kwargs or {}))


def operations(way: Callable[[int], None], tokens: int) -> int:
    """Operations that torch dispatches, views among them."""
    count = _Count()  # type: ignore[no-untyped-call]
    with count:
        way(tokens)
    return count.done


if __name__ == "__main__":
    main()
