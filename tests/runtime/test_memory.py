"""A model that has no room is refused before it is loaded, and a shortage that comes later is told as one."""

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.hf import memory
from gridc.runtime.engines.hf.memory import GIB, MIB, FreeMemory, MemoryNeed
from gridc.runtime.engines.hf.tensor_files import StoredTensor, stored_tensors
from gridc.schema.spec import EngineSettings

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from transformers import PreTrainedModel

from gridc.runtime.engines.hf import gate, loading
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.loading import Checkpoint

MODELS = Path(gridc.__file__).parent / "builtin" / "models"
POCKET = [MODELS / name for name in ("pocket-llama", "pocket-mistral", "pocket-qwen2")]


def engine(folder: Path = POCKET[0], precision: str = "fp32", kv_mib: int | None = 8) -> HfEngine:
    settings = EngineSettings(device="cpu", threads=1, kv_mib=kv_mib, reuse_proofs=False)
    return HfEngine("small", folder, precision, settings)


# What is free


def system(folder: Path, files: dict[str, str]) -> list[FreeMemory]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return list(memory._free_on_cpu(folder / "proc", folder / "cgroup"))


MEMINFO = "MemTotal: 900 kB\nMemAvailable:   500 kB\nSwapFree: 0 kB\n"
SWAP = MEMINFO.replace("SwapFree: 0", "SwapFree: 100")
V2 = {"proc/self/cgroup": "0::/job/step\n", "cgroup/cgroup.controllers": "memory\n"}
V1 = {"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/job\n"}


def v2(place: str, most: str, used: int, cached: int = 0, swap: str | None = None) -> dict[str, str]:
    given = {"memory.max": most, "memory.current": str(used)}
    given["memory.stat"] = f"anon 5\ninactive_file {cached}\nactive_file {cached}\n"
    if swap is not None:
        given |= {"memory.swap.max": swap, "memory.swap.current": "0"}
    return {f"cgroup{place}/{name}": text for name, text in given.items()}


def v1(place: str, most: int, used: int, cached: int = 0, both: int | None = None) -> dict[str, str]:
    given = {"memory.limit_in_bytes": str(most), "memory.usage_in_bytes": str(used)}
    given["memory.stat"] = f"total_inactive_file {cached}\ntotal_active_file 0\n"
    if both is not None:
        given |= {"memory.memsw.limit_in_bytes": str(both), "memory.memsw.usage_in_bytes": str(used)}
    return {f"cgroup/memory{place}/{name}": text for name, text in given.items()}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"proc/meminfo": MEMINFO}, [500 * 1024]),
        ({"proc/meminfo": SWAP}, [600 * 1024]),
        ({"proc/meminfo": "MemTotal: 900 kB\n"}, []),
        (V2 | v2("/job/step", "1000", 400), [600]),
        (V2 | v2("/job/step", "1000", 400, cached=50), [700]),
        (V2 | v2("/job/step", "max", 400) | v2("/job", "900", 500), [400]),
        (V2 | v2("/job/step", "1000", 400) | v2("/job", "900", 500), [600, 400]),
        (V2 | v2("", "1000", 400), [600]),
        (V2 | v2("/job/step", "100", 400), [0]),
        (V2 | {"proc/meminfo": SWAP} | v2("", "1000", 400), [600 * 1024, 600 + 100 * 1024]),
        (V2 | {"proc/meminfo": SWAP} | v2("", "1000", 400, swap="30"), [600 * 1024, 630]),
        (V2 | {"proc/meminfo": SWAP} | v2("", "1000", 400, swap="max"), [600 * 1024, 600 + 100 * 1024]),
        (V1 | v1("/job", 1000, 400, cached=7), [607]),
        (V1 | v1("/job", 1000, 400) | v1("", 2**63 - 4096, 400), [600, 2**63 - 4096 - 400]),
        (V1 | {"proc/meminfo": SWAP} | v1("/job", 1000, 400, both=1010), [600 * 1024, 610]),
        ({"proc/self/cgroup": "0::/\n"} | v2("", "1000", 400), []),
    ],
)
def test_what_is_free_is_what_each_limit_leaves(
    files: dict[str, str], expected: list[int], tmp_path: Path
) -> None:
    assert [free.bytes for free in system(tmp_path, files)] == expected


def test_an_address_space_leaves_what_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda which: (100 * page, -1))
    (free,) = system(tmp_path, {"proc/self/statm": "60 10 5 1 0 20 0\n"})
    assert free.bytes == 40 * page
    assert "ulimit -v" in free.where


def test_the_least_of_all_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    every = [FreeMemory(5, "a"), FreeMemory(3, "b"), FreeMemory(4, "c")]
    monkeypatch.setattr(memory, "_free_on_cpu", lambda *folders: iter(every))
    assert memory.free_memory("cpu") == every[1]
    monkeypatch.setattr(memory, "_free_on_cpu", lambda *folders: iter(()))
    assert memory.free_memory("cpu") is None


# What is needed


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8", "nf4", "as_shipped"])
@pytest.mark.parametrize("folder", POCKET, ids=lambda folder: str(folder.name))
def test_a_model_takes_no_less_than_is_said(folder: Path, precision: str) -> None:
    made = engine(folder, precision)
    held = sum(weight.nbytes for weight in made._load().parameters())
    config, tensors = memory.stated_config(folder), stored_tensors(folder)
    said = memory.weight_bytes(tensors, config, precision, "cpu", made.prompts.tokenizer.layout.weights)
    assert 0.9 * held <= said <= 1.02 * held
    assert memory.position_bytes(config, precision, "cpu") == made._shape.position_bytes


def test_packed_weights_take_what_they_are_unpacked_to() -> None:
    tensors = [StoredTensor("a.weight", "F8_E4M3", (10, 10), 100), StoredTensor("n", "BF16", (10,), 20)]

    def size(method: str | None) -> int:
        packed = {} if method is None else {"quantization_config": {"quant_method": method}}
        return memory.weight_bytes(tensors, {"dtype": "bfloat16", **packed}, "as_shipped", "cpu")

    assert [size("fp8"), size("mxfp4"), size("bitsandbytes"), size(None)] == [220, 420, 120, 120]
    assert memory.weight_bytes(tensors, {"torch_dtype": "float32"}, "as_shipped", "cpu") == 140


def test_numbers_that_no_layer_reads_are_not_converted() -> None:
    tensors = [StoredTensor("a", "BF16", (100,), 200)]
    assert memory.weight_bytes(tensors, {}, "fp32", "cpu", described=60) == 240
    on_cpu = memory.need_of(tensors, {}, "nf4", "cpu", 5, 3)
    assert (on_cpu.weights, on_cpu.least) == (400, 403), "a matrix of one dimension is not quantised"
    matrix = [StoredTensor("a", "BF16", (10, 10), 200)]
    assert memory.need_of(matrix, {}, "nf4", "cpu", 5, 3).weights == 200, "the file's tensors come first"
    assert memory.need_of(matrix, {}, "nf4", "cuda", 5, 3).weights == 50


@pytest.mark.parametrize("text", ["[]", "{", '{"text_config": 3}', "[" * 10**5])
def test_a_strange_configuration_says_nothing(text: str, tmp_path: Path) -> None:
    shutil.copy(POCKET[0] / "model.safetensors", tmp_path)
    (tmp_path / "config.json").write_text(text)
    assert memory.need_of_files(tmp_path, "fp32", "cpu", 0, None) is None


# What is said


def need(weights: int, call: int, stored: int = 0) -> MemoryNeed:
    return MemoryNeed(weights, call, 64 * MIB, GIB, stored)


def test_only_what_cannot_run_is_refused() -> None:
    free = FreeMemory(2 * GIB, "this machine's memory")
    assert memory.lacking("m", "fp32", need(2 * GIB - 5, 5), free) is None
    assert memory.lacking("m", "fp32", None, free) is None
    assert memory.lacking("m", "fp32", need(9 * GIB, 0), None) is None
    found = memory.lacking("m", "fp32", need(2 * GIB - 5, 6), free)
    assert found is not None
    assert found.code == "GC608"


@pytest.mark.parametrize(
    ("precision", "needed", "ways"),
    [
        ("fp32", need(3 * GIB, 5), {"precision"}),
        ("fp32", need(3 * GIB, 5, stored=3 * GIB), set()),
        ("nf4", need(3 * GIB, 5), set()),
        ("nf4", need(GIB, 2 * GIB), {"max_tokens"}),
        ("bf16", need(GIB, 2 * GIB), {"precision", "max_tokens"}),
    ],
)
def test_the_ways_out_are_those_that_help(precision: str, needed: MemoryNeed, ways: set[str]) -> None:
    found = memory.lacking("m", precision, needed, FreeMemory(2 * GIB, "this machine's memory"))
    assert found is not None
    assert found.help is not None
    assert {word for word in ("precision", "max_tokens") if word in found.help} == ways
    assert "base_url" in found.help


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("any words"), True),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"), True),
        (RuntimeError("unable to mmap 9 bytes from file <x>: Cannot allocate memory (12)"), True),
        (RuntimeError("can't start new thread"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOENT, "no such file"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_a_shortage_is_known_by_what_it_says(error: Exception, short: bool) -> None:
    assert memory.is_shortage(error) is short


# What the engine does

SHORTAGE = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")


def fails(*_: object, **__: object) -> Any:
    raise SHORTAGE


def test_a_model_without_room_is_refused_before_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine()
    monkeypatch.setattr(Checkpoint, "weights", fails)
    needed = made._need(8)
    assert needed is not None
    monkeypatch.setattr(memory, "free_memory", lambda kind: FreeMemory(needed.least - 1, "a small machine"))
    with pytest.raises(UnavailableError, match=r"GC608.*needs .* for its weights and .* are free"):
        made.effective()


def test_a_model_with_just_enough_room_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    made = engine()
    needed = made._need(8)
    assert needed is not None
    monkeypatch.setattr(memory, "free_memory", lambda kind: FreeMemory(needed.least, "a small machine"))
    assert made.effective()["kv_mib"] == 8


def test_models_at_rest_are_closed_before_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = engine(), engine(POCKET[2])
    first.effective()
    monkeypatch.setattr("gridc.runtime.engines.hf.loading.free_share", lambda device: 1.0)
    first.rest()
    assert first._model is not None

    def free(kind: str) -> FreeMemory:
        return FreeMemory(0 if first._model is not None else GIB, "a machine for one")

    monkeypatch.setattr(memory, "free_memory", free)
    second.effective()
    assert first._model is None
    second.close()
    first.effective()


@pytest.mark.parametrize("place", ["weights", "load", "proof", "reference", "record"])
def test_a_shortage_while_a_model_is_made_ready_is_told_as_one(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the proof too: another path, which takes less memory, may give other bits."""
    made = engine()
    targets: dict[str, tuple[Any, str]] = {
        "weights": (Checkpoint, "weights"),
        "load": (PreTrainedModel, "from_pretrained"),
        "proof": (Forest, "decode"),
        "record": (loading, "machine"),
    }
    if place == "reference":
        whole: Callable[..., torch.Tensor] = gate._logits
        once = iter([whole, whole])
        monkeypatch.setattr(gate, "_logits", lambda *given: next(once, fails)(*given))
    else:
        monkeypatch.setattr(*targets[place], fails)
    with pytest.raises(UnavailableError, match=r"GC608.*found no more memory.*can't allocate memory"):
        made.effective()
    assert made._model is None, "its memory is free for what comes next"


# How much keys and values may take where nobody says


def test_on_a_cpu_it_is_the_usual_number() -> None:
    assert engine(kv_mib=None).effective()["kv_mib"] == memory.USUAL_KV_MIB == 1024


def test_on_a_gpu_it_is_half_of_what_the_weights_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda kind: FreeMemory(80 * GIB, "the GPU's memory"))
    assert memory.usual_kv_mib("cuda", 16 * GIB) == 32 * 1024
    assert memory.usual_kv_mib("cuda", 99 * GIB) == 1
    assert memory.usual_kv_mib("cpu", 16 * GIB) == 1024
    monkeypatch.setattr(memory, "free_memory", lambda kind: None)
    assert memory.usual_kv_mib("cuda", 16 * GIB) == 1024


def test_it_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = iter([3, 7])
    monkeypatch.setattr(memory, "usual_kv_mib", lambda *given: next(chosen))
    made = engine(kv_mib=None)
    assert [made.effective()["kv_mib"], made._kv_mib] == [3, 3]
    opened_with, _ = made.__reduce__()[1]
    assert opened_with[3].kv_mib == 3, "a copy on another machine forms the same batches"


# Under a limit of the system

LOADS = """
import sys
from pathlib import Path
from gridc.diagnostics.errors import GridcError
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.hf.memory import MIB
from gridc.schema.spec import EngineSettings
import resource
settings = EngineSettings(device="cpu", threads=2, kv_mib=8, reuse_proofs=False)
made = HfEngine("large", Path(sys.argv[1]), "fp32", settings)
need = made._need(8)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = int(taken + float(sys.argv[2]) * need.least)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    made.effective()
    print("loaded")
except GridcError as error:
    print(error.diagnostics[0].code)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / need.least)
"""


def limited(folder: Path, share: float) -> tuple[str, float]:
    """What becomes of a model in an address space of so many times what it needs, and the share of that need
    which it took."""
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(folder), str(share)],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome, took = done.stdout.split()
    return outcome, float(took)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from benchmarks.study import Shape, make_model

    return make_model(tmp_path_factory.mktemp("m") / "m", 1.0, Shape(1024, 2816, 8, 16), "bfloat16")


def test_under_a_limit_it_is_refused_at_once(larger: Path) -> None:
    outcome, took = limited(larger, 0.8)
    assert outcome == "GC608"
    assert took < 0.1, "it is refused before the weights are read"


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.95, 1.01, 1.05, 1.1, 1.2, 1.3, 1.5])
def test_under_any_limit_it_runs_or_is_refused(larger: Path, share: float) -> None:
    outcome, _ = limited(larger, share)
    assert outcome in ("loaded", "GC608")
    assert outcome == "GC608" or share > 1


@pytest.mark.slow
def test_under_a_limit_with_room_it_runs(larger: Path) -> None:
    assert limited(larger, 4.0)[0] == "loaded"
