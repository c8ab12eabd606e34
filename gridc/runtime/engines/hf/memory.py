"""Estimates the memory that a local model needs, reads how much there is, and says what to do where that is
too little.

Whoever loads a model asks here first, and so does `gridc plan`, which loads none and imports no torch where
there is no GPU. A model is refused before it is loaded only where it cannot run: where its weights, and the
keys and values of its largest call, are more than what is free. What is missing later is told with the same
code.
"""

import errno
import json
import resource
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.diagnostics.errors import Diagnostic
from gridc.files import read_regular
from gridc.runtime.engines.hf.tensor_files import FLOATS, MOST_TEXT, StoredTensor, stored_tensors

GIB, MIB = 2**30, 2**20

USUAL_KV_MIB = 1024
"""The default of `kv_mib` on a CPU, and for a run in shards, which must all use one value."""

KV_SHARE = 0.5
"""`kv_mib` where nobody states it, on a GPU: the share of what its memory has left beside the weights."""

AS_SHIPPED = "as_shipped"

BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "int8": 1.0, "nf4": 0.5}
"""Bytes of a number of a weight, by precision."""

_QUANTISED_HERE = ("int8", "nf4")
_UNPACKED = {"fp8": 2, "mxfp4": 4, "compressed-tensors": 1}
"""How many times as many bytes packed numbers take when they are unpacked to two bytes each, at least."""

_NOT_LINEAR = ("embed", "lm_head", "wte", "wpe", "embd")
"""In the names of matrices that bitsandbytes leaves as they are."""


def compute_bytes(config: Mapping[str, Any], precision: str, device: str) -> int:
    """Bytes of a number of activations, keys and values, on a kind of device (see `loading.compute_type`)."""
    if precision in _QUANTISED_HERE:
        return 4 if device == "cpu" else 2
    if precision in BYTES:
        return int(BYTES[precision])
    text = config.get("text_config")
    stated = [part.get(key) for part in (config, text or {}) for key in ("dtype", "torch_dtype")]
    return 4 if next((name for name in stated if name), None) == "float32" else 2


def weight_bytes(
    tensors: Sequence[StoredTensor],
    config: Mapping[str, Any],
    precision: str,
    device: str,
    described: int | None = None,
) -> int:
    """Bytes that the weights of some files take at a precision on a kind of device, at least. `described` is
    how many numbers the architecture reads, where that is known: files may hold more."""
    packed = sum(tensor.bytes for tensor in tensors if tensor.dtype not in FLOATS)
    numbers = sum(tensor.numbers for tensor in tensors if tensor.dtype in FLOATS)
    share = min(1.0, described / numbers) if described is not None and numbers and not packed else 1.0
    each = compute_bytes(config, precision, device)
    if precision == AS_SHIPPED:
        method = str((config.get("quantization_config") or {}).get("quant_method"))
        return int(share * numbers * each) + packed * _UNPACKED.get(method, 1)
    if precision not in _QUANTISED_HERE:
        return int(share * numbers * each) + packed
    linear = sum(
        tensor.numbers
        for tensor in tensors
        if tensor.dtype in FLOATS
        and len(tensor.shape) == 2
        and not any(part in tensor.name for part in _NOT_LINEAR)
    )
    return int(share * (linear * BYTES[precision] + (numbers - linear) * each)) + packed


def position_bytes(config: Mapping[str, Any], precision: str, device: str) -> int | None:
    """About the bytes of the keys and values of one token, from what config.json states; None where it states
    too little. The engine itself looks at the model (`gate.shape_of`)."""
    text = config.get("text_config") or config

    def stated(*names: str) -> int | None:
        return next((text[name] for name in names if type(text.get(name)) is int and text[name] > 0), None)

    layers, heads = stated("num_hidden_layers", "n_layer"), stated("num_attention_heads", "n_head")
    hidden = stated("hidden_size", "n_embd")
    if layers is None or heads is None or hidden is None:
        return None
    width = stated("head_dim") or hidden // heads
    rows = stated("num_key_value_heads") or heads
    return 2 * layers * rows * width * compute_bytes(config, precision, device)


def working_bytes(config: Mapping[str, Any]) -> int:
    """About what the engine works with beside weights, keys and values: the logits of the proof and of
    steps, and the libraries."""
    text = config.get("text_config") or config
    vocabulary = text.get("vocab_size")
    return WORK + PROOF_ROWS * 4 * (vocabulary if type(vocabulary) is int else 0)


WORK, PROOF_ROWS = 400 * MIB, 6_000
"""Estimates on the safe side: of the libraries, and of the rows of logits that the proof has at once."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The memory that a model needs, in bytes: for its `weights`, while they are read and after; for the keys
    and values of its largest `call` (None: not known) and of a batch at most (`kv`); and to work with.
    `stored` is what it takes to read the files, whatever the precision."""

    weights: int
    call: int | None
    kv: int
    work: int
    stored: int = 0

    @property
    def least(self) -> int:
        """Without so much it cannot run."""
        return self.weights + (self.call or 0)

    @property
    def peak(self) -> int:
        """About what it comes to, if batches fill what they may."""
        return self.weights + max(self.kv, self.call or 0) + self.work

    @property
    def words(self) -> str:
        parts = [f"{size(self.weights)} for its weights"]
        if self.call is not None:
            parts.append(f"{size(self.call)} for the keys and values of its largest call")
        return " and ".join(parts)


@dataclass(frozen=True, slots=True)
class FreeMemory:
    """How many bytes are free, and `where`, in words."""

    bytes: int
    where: str

    @property
    def words(self) -> str:
        return f"{size(self.bytes)} of {self.where} are free"


def size(number: int) -> str:
    """`3.2 GiB`, or MiB below one."""
    return f"{number / GIB:,.1f} GiB" if number >= GIB else f"{-(-number // MIB):,} MiB"


def need_of(
    tensors: Sequence[StoredTensor],
    config: Mapping[str, Any],
    precision: str,
    device: str,
    kv: int,
    call: int | None,
    described: int | None = None,
) -> MemoryNeed:
    """What a model needs on a kind of device. A CPU's memory holds the files' tensors before they are
    converted."""
    weights = weight_bytes(tensors, config, precision, device, described)
    stored = sum(tensor.bytes for tensor in tensors) if device == "cpu" else 0
    return MemoryNeed(max(weights, stored), call, kv, working_bytes(config), stored)


def need_of_files(
    folder: Path, precision: str, device: str, kv: int, call: int | None, described: int | None = None
) -> MemoryNeed | None:
    """As `need_of`, of the files in a folder; None where they cannot be read, which loading them says."""
    try:
        config = stated_config(folder)
        return need_of(stored_tensors(folder), config, precision, device, kv, call, described)
    except (OSError, ValueError):
        return None


def stated_config(folder: Path) -> dict[str, Any]:
    """What a model's config.json states. Raises `OSError`, and `ValueError` where that is not a table."""
    try:
        stated = json.loads(read_regular(folder / "config.json", MOST_TEXT))
    except RecursionError:
        raise ValueError("its config.json is nested too deep") from None
    if not isinstance(stated, dict):
        raise ValueError("its config.json is not a table")
    for part in ("text_config", "quantization_config"):
        if not isinstance(stated.get(part), dict | None):
            raise ValueError(f"`{part}` of its config.json is not a table")
    return stated


def device_kind(asked: str) -> str:
    """`cpu` or `cuda`: what `auto`, `cpu` or `cuda` comes to here. Only where there is the file of a GPU's
    driver is torch asked, which takes seconds to import."""
    if asked != "auto":
        return asked
    if not any(Path(driver).exists() for driver in _DRIVERS):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


_DRIVERS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""What Linux has where there is an NVIDIA or AMD GPU, or, in WSL, either."""


def free_memory(device: str) -> FreeMemory | None:
    """What is free on a kind of device; None where the system does not say."""
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            return None
        return FreeMemory(torch.cuda.mem_get_info()[0], "the GPU's memory")
    return min(_free_on_cpu(Path("/proc"), Path("/sys/fs/cgroup")), key=lambda free: free.bytes, default=None)


def usual_kv_mib(device: str, weights: int) -> int:
    """`kv_mib` where nobody states it, for a model whose weights take so many bytes."""
    if device != "cuda" or (free := free_memory(device)) is None:
        return USUAL_KV_MIB
    return max(1, int((free.bytes - weights) * KV_SHARE) // MIB)


def _free_on_cpu(proc: Path, cgroups: Path) -> Iterator[FreeMemory]:
    """What each limit leaves to this process. What the system can drop or swap out counts as free."""
    known = _table(proc / "meminfo", ":")
    swap = known.get("SwapFree", 0) * 1024
    if "MemAvailable" in known:
        yield FreeMemory(known["MemAvailable"] * 1024 + swap, "this machine's memory")
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        try:
            taken = int((proc / "self/statm").read_text("utf-8").split()[0]) * resource.getpagesize()
        except (OSError, ValueError, IndexError):
            taken = 0
        yield FreeMemory(max(0, most - taken), "the address space that `ulimit -v` allows")
    for free in _free_in_groups(proc, cgroups, swap):
        yield FreeMemory(max(0, free), "the memory that its container or control group allows")


def _free_in_groups(proc: Path, root: Path, swap: int) -> Iterator[int]:
    """What the control groups of this process leave, each with those above it, in either version. In a
    container the path may be the host's: then the root is this container's own."""
    for line in _lines(proc / "self/cgroup"):
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0" and not names:
            folders = [base for base in (root, root / "unified") if (base / "cgroup.controllers").exists()]
            free = _free_in_v2
        elif "memory" in names.split(","):
            folders, free = [root / "memory"], _free_in_v1
        else:
            continue
        for base in folders:
            inner = base / path.lstrip("/")
            for folder in (inner, *inner.parents):
                if (found := free(folder, swap)) is not None:
                    yield found
                if folder == base:
                    break


def _free_in_v2(folder: Path, swap: int) -> int | None:
    most, used = _number(folder / "memory.max"), _number(folder / "memory.current")
    if most is None or used is None:
        return None
    swap_most = _number(folder / "memory.swap.max")
    swap_left = (
        swap if swap_most is None else min(swap, swap_most - (_number(folder / "memory.swap.current") or 0))
    )
    stat = _table(folder / "memory.stat", " ")
    return most - used + stat.get("inactive_file", 0) + stat.get("active_file", 0) + max(0, swap_left)


def _free_in_v1(folder: Path, swap: int) -> int | None:
    most, used = _number(folder / "memory.limit_in_bytes"), _number(folder / "memory.usage_in_bytes")
    if most is None or used is None:
        return None
    stat = _table(folder / "memory.stat", " ")
    cached = stat.get("total_inactive_file", 0) + stat.get("total_active_file", 0)
    free = most - used + cached + swap
    both, both_used = (_number(folder / f"memory.memsw.{name}_in_bytes") for name in ("limit", "usage"))
    return free if both is None or both_used is None else min(free, both - both_used + cached)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none, such as `max`."""
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdecimal() else None


def _table(path: Path, mark: str) -> dict[str, int]:
    """The numbers of a file with a name in each line."""
    parted = (line.partition(mark) for line in _lines(path))
    found = {name: value.split() for name, _, value in parted}
    return {name: int(value[0]) for name, value in found.items() if value and value[0].isdecimal()}


def lacking(name: str, precision: str, need: MemoryNeed | None, free: FreeMemory | None) -> Diagnostic | None:
    """What is said of a model that cannot run in what is free (GC608), with the ways out. None where it may,
    or nobody knows."""
    if need is None or free is None or need.least <= free.bytes:
        return None
    message = f"`{name}` at {precision} needs {need.words}, and {free.words}"
    shorter = ["ask for fewer `max_tokens`, or shorter prompts"] if need.weights <= free.bytes else []
    smaller = _smaller(precision) if need.weights > need.stored else []
    return Diagnostic("GC608", message, help="; or ".join([*shorter, *smaller, *_ELSEWHERE]))


def ran_out(name: str, precision: str, error: BaseException, kv_mib: int) -> Diagnostic:
    """What is said of a shortage (`is_shortage`) that a model met while it was loaded, proved or asked."""
    text = str(error).strip().partition("\n")[0][:200] or type(error).__name__
    ways = [f"lower `kv_mib` ({kv_mib:,}) or `batch_prompts` in [engine], or `max_tokens`"]
    if BYTES.get(precision) == 4:  # below what the files hold, loading takes no less
        ways += _smaller(precision)
    message = f"`{name}` at {precision} found no more memory: {text}"
    return Diagnostic("GC608", message, help="; or ".join([*ways, *_ELSEWHERE]))


_ELSEWHERE = (
    "take a machine with more memory",
    'have a server run it elsewhere: engine = "api" with base_url',
)


def _smaller(precision: str) -> list[str]:
    """Precisions that take less, none where this takes least."""
    quantised = '"int8" or "nf4"'
    less = {"fp32": '"bf16" or "as_shipped"', "int8": '"nf4"'}
    less |= dict.fromkeys(("bf16", "fp16", AS_SHIPPED), quantised)
    return [f"`precision` {less[precision]}, which is another measurement"] if precision in less else []


_SHORTAGES = (
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "unable to mmap",
    "out of memory",
    "can't start new thread",
    "std::bad_alloc",
    "failed to map segment",
    "alloc_failed",
    "could not create a primitive",  # oneDNN, of its scratch memory
)
"""What torch and the libraries under it say, in small letters, where there was no memory."""


def is_shortage(error: BaseException) -> bool:
    """Whether an error says that there was no memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # the latter is torch's
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    spoken = isinstance(error, RuntimeError | ImportError | SystemError)
    return spoken and any(words in str(error).lower() for words in _SHORTAGES)
