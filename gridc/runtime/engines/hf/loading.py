"""Loads a local model from the very bytes that were hashed, at a precision or as shipped, and records how.

Each file is read once: its bytes are hashed, checked against the lock, and parsed, with tensors parsed in the
memory that they keep. Weights for a GPU, which may be more than this machine has memory for, are hashed in
their files and copied from there, and the files must not have changed in between. This module
decides which files are read, and the model's own files do not, so nothing outside its folder can get in.

A checkpoint can be loaded as it is shipped: in the number format that its config.json states, quantised or
not. Some packed formats can be multiplied on some hardware only. They are unpacked when the model is loaded,
so that a model is the same on every machine and no downloaded kernel runs here.
"""

import copy
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from huggingface_hub import snapshot_download
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging as transformers_logging

from gridc.compiler.frontend.checkpoints import ADAPTER, IS_ADAPTER, PATTERNS, known_files
from gridc.compiler.inputs.dataset_hub import endpoint
from gridc.compiler.inputs.models import ModelIdentity
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.files import open_regular, read_regular
from gridc.runtime.engines.hf.gate import Lengths, shape_of
from gridc.runtime.engines.hf.kv_cache import Shape
from gridc.runtime.engines.hf.memory import AS_SHIPPED, is_shortage
from gridc.runtime.engines.hf.tensor_files import MOST_TEXT, read_head, weight_files


def folder_of(name: str, identity: ModelIdentity) -> Path:
    """The folder of a model, downloaded first when it is on the hub. Pickled weights are never fetched.

    Raises `UnavailableError` when the model is not pinned or cannot be downloaded.
    """
    if identity.folder is not None:
        return identity.folder
    if identity.revision is None:
        message = f"`{name}` is not pinned: {identity.unpinned}"
        raise UnavailableError(
            [Diagnostic("GC606", message, help="stamp the study where there is a network")]
        )
    repository = identity.source.removeprefix("hf:")
    try:
        folder = snapshot_download(
            repository, revision=identity.revision, allow_patterns=list(PATTERNS), endpoint=endpoint()
        )
    except Exception as error:  # whatever the hub's client raises: its HTTP library varies
        message = f"`{repository}` at {identity.revision[:12]} cannot be downloaded: {error}"
        raise UnavailableError([Diagnostic("GC606", message)]) from None
    return Path(folder)


class ChangedError(ValueError):
    """A file is not the one that was hashed when the study was compiled."""


class Checkpoint:
    """A model's folder, with the files that its lock holds (name and SHA-256; none: whatever is there).

    `files` has the digest of every file that has been read. Use as a context manager: `small` is a folder of
    its own with the files that are not weights, which goes when the context ends.
    """

    def __init__(self, folder: Path, expected: Mapping[str, str]) -> None:
        self._folder, self._expected = folder, expected
        self.files: dict[str, str] = {}
        self.small = Path()
        self._hashed: dict[str, tuple[int, ...]] = {}

    def __enter__(self) -> "Checkpoint":
        self.small = Path(tempfile.mkdtemp(prefix="gridc-"))
        names = {path.name for path in known_files(self._folder)}
        for name in sorted({*names, *self._expected}):
            if name == ADAPTER:  # in a copy of a hub's folder, whose commit was stated and not asked for
                raise ValueError(f"it {IS_ADAPTER}: merge them into one folder")
            if not name.endswith(".safetensors"):
                (self.small / name).write_bytes(self._read(name))
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.small, ignore_errors=True)

    def weights(self, mapped: bool) -> dict[str, torch.Tensor]:
        """Every tensor of the model, by name. Those that are `mapped` lie in the files and take no memory:
        whoever has copied them asks `require_unchanged`. Raises `ValueError` where a file is damaged or not
        its own."""
        tensors: dict[str, torch.Tensor] = {}
        names = weight_files(self._folder, self._read)
        if mapped:
            with ThreadPoolExecutor() as pool:
                list(pool.map(self._hash, names))
        for name in names:
            found = self._mapped_tensors(name) if mapped else self._read_tensors(name)
            twice = min(tensors.keys() & found.keys(), default=None)
            if twice is not None:
                raise ValueError(f"two of its files have a tensor `{twice}`: nothing says which one counts")
            tensors |= found
        return tensors

    @property
    def unread_files(self) -> list[str]:
        """Weights files of the folder that are no part of the model."""
        return sorted({path.name for path in self._folder.glob("*.safetensors")} - self.files.keys())

    def require_unchanged(self) -> None:
        """Raise `ChangedError` where a file is not what it was when it was hashed in its place."""
        for name, state in self._hashed.items():
            if _state((self._folder / name).stat()) != state:
                raise ChangedError(f"`{name}` changed while it was read")

    def _read(self, name: str) -> bytes:
        """The bytes of a file, hashed. Raises `ChangedError`."""
        with open_regular(self._folder / name) as file:
            data = file.read()
        self._admit(name, hashlib.sha256(data).hexdigest())
        return data

    def _mapped_tensors(self, name: str) -> dict[str, torch.Tensor]:
        try:
            return safetensors.torch.load_file(self._folder / name)
        except safetensors.SafetensorError as error:
            raise ValueError(f"`{name}` is damaged: {error}") from None

    def _read_tensors(self, name: str) -> dict[str, torch.Tensor]:
        """The tensors of a file, hashed as they are read, each into the memory that it keeps. Raises
        `ChangedError`, and `ValueError` where the file is damaged."""
        damage: ValueError | None = None
        tensors: dict[str, torch.Tensor] = {}
        with open_regular(self._folder / name) as file:
            hashed = _HashedFile(file)
            try:
                for stored in read_head(hashed.read, os.fstat(file.fileno()).st_size):
                    numbers = torch.empty(stored.bytes, dtype=torch.uint8)
                    hashed.fill(numbers)
                    tensors[stored.name] = numbers.view(_STORED[stored.dtype]).reshape(stored.shape)
            except ValueError as error:  # of a file that changed it says nothing
                tensors, damage = {}, error
            self._admit(name, hashed.digest())
        if damage is not None:
            raise ValueError(f"`{name}` is damaged: {damage}")
        return tensors

    def _hash(self, name: str) -> None:
        """Hash a file where it is. Raises `ChangedError`."""
        with open_regular(self._folder / name) as file:
            self._hashed[name] = _state(os.fstat(file.fileno()))
            self._admit(name, hashlib.file_digest(file, "sha256").hexdigest())

    def _admit(self, name: str, digest: str) -> None:
        expected = self._expected.get(name, None if self._expected else digest)
        if digest != expected or self.files.setdefault(name, digest) != digest:
            raise ChangedError(f"`{name}` is not the file that was hashed")


_STORED: Mapping[str, torch.dtype] = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U64": torch.uint64, "U32": torch.uint32, "U16": torch.uint16, "U8": torch.uint8, "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2": torch.float8_e5m2, "F8_E5M2FNUZ": torch.float8_e5m2fnuz, "C64": torch.complex64,
}  # fmt: skip
"""What torch calls the formats of `tensor_files.STORED_BITS`."""


class _HashedFile:
    """A file that is read once from its beginning, every byte of which is hashed."""

    PIECE = 2**22

    def __init__(self, file: BufferedReader) -> None:
        self._file, self._sha256 = file, hashlib.sha256()

    def read(self, length: int) -> bytes:
        """The next bytes, fewer where the file ends."""
        data = self._file.read(length)
        self._sha256.update(data)
        return data

    def fill(self, numbers: torch.Tensor) -> None:
        """Read the next bytes into `numbers` (bytes,). Raises `ValueError` where the file ends before."""
        memory = numbers.numpy().data
        for start in range(0, len(memory), self.PIECE):
            piece = memory[start : start + self.PIECE]
            if self._file.readinto(piece) != len(piece):
                raise ValueError("it became shorter while it was read")
            self._sha256.update(piece)

    def digest(self) -> str:
        """SHA-256 of the whole file, of which the rest is read."""
        while self.read(self.PIECE):
            pass
        return self._sha256.hexdigest()


def _state(status: os.stat_result) -> tuple[int, ...]:
    """Properties of a file that change when it is written to or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@dataclass(frozen=True, slots=True)
class PackedFormat:
    """How quantised weights are loaded: by these `packages`; `unpacked` into the model's own number format,
    or multiplied as they are, which may take a `gpu`."""

    unpacked: bool
    packages: tuple[str, ...] = ()
    gpu: bool = False

    def require(self, method: str, device: str) -> None:
        """Raise `ValueError` where a package is not installed, or this kind of device does not do."""
        absent = " ".join(name for name in self.packages if not _installed(name))
        needed = [f"the packages of `pip install {absent}`"] if absent else []
        if self.gpu and device != "cuda":
            needed.append("a CUDA GPU")
        if needed:
            raise ValueError(
                f"its weights are in the format {method}, which takes {' and '.join(needed)}; or take an "
                "unquantised model, or serve this one and ask it as an api model with base_url"
            )


_GPTQMODEL = PackedFormat(False, ("gptqmodel", "optimum"), gpu=True)
FORMATS: Mapping[str, PackedFormat] = {
    "mxfp4": PackedFormat(True),
    "fp8": PackedFormat(True),
    "compressed-tensors": PackedFormat(True, ("compressed-tensors",)),
    "bitsandbytes": PackedFormat(False, ("bitsandbytes",)),
    "gptq": _GPTQMODEL,
    "awq": _GPTQMODEL,
}
"""By the name in `quantization_config`. What stands in no row was never tried, and is refused."""


def packed_format(config: Any) -> str | None:
    """The name of the format that a configuration says its weights are packed in. None where they are not."""
    stated = getattr(config, "quantization_config", None)
    if not stated:
        return None
    if stated.get("load_in_4bit") or stated.get("load_in_8bit"):
        return "bitsandbytes"  # older files name no method
    return str(stated.get("quant_method"))


def check_format(config: Any, precision: str, device: str) -> None:
    """Raise `ValueError` where there are no such weights at a precision on a kind of device, with a way
    out."""
    method = packed_format(config)
    if precision != AS_SHIPPED:
        if method is not None:
            raise ValueError(
                f"its config.json says that the weights are quantised ({method}): precision = "
                f'"{AS_SHIPPED}" takes them so; or name the unquantised model'
            )
        return
    if method is None:
        shipped_type(config)
        return
    if method not in FORMATS:
        raise ValueError(
            f"its weights are in the format {method}, and gridc loads {', '.join(FORMATS)}: take an "
            "unquantised model, or serve this one and ask it as an api model with base_url"
        )
    FORMATS[method].require(method, device)
    if method == "compressed-tensors" and config.quantization_config.get("kv_cache_scheme"):
        raise ValueError(
            "its config.json keeps keys and values in fewer bits (`kv_cache_scheme`), and gridc does not: "
            "take a copy without that, or serve this one and ask it as an api model with base_url"
        )


def shipped_type(config: Any) -> torch.dtype:
    """The number format that a configuration states for what is not packed. Raises `ValueError` where it
    states none."""
    stated = getattr(config, "dtype", None) or getattr(config.get_text_config(decoder=True), "dtype", None)
    dtype = getattr(torch, stated, None) if isinstance(stated, str) else stated
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(
            "its config.json states no number format (`dtype`) to take the weights in: name a precision, "
            "such as bf16"
        )
    return dtype


def unpack_shipped(config: Any) -> None:
    """Tell transformers to unpack the weights, where their format is one that gridc loads unpacked."""
    method = packed_format(config)
    if method is not None and FORMATS[method].unpacked:
        config.quantization_config = {**config.quantization_config, "dequantize": True}


def shipped_manifest(config: Any) -> dict[str, Any]:
    """What was shipped and what became of it, and the versions of the packages that this took."""
    method, dtype = packed_format(config), str(shipped_type(config)).removeprefix("torch.")
    if method is None:
        return {AS_SHIPPED: f"{dtype} weights"}
    row = FORMATS[method]
    made = f"unpacked to {dtype}" if row.unpacked else f"multiplied as they are, in {dtype}"
    packages = "".join(f", {name} {version(name)}" for name in row.packages)
    return {AS_SHIPPED: f"{method} weights, {made}{packages}"}


def most_numbers(config: Any, weights: Mapping[str, torch.Tensor]) -> int:
    """How many numbers these weights can stand for: no packed format has fewer than two bits for one."""
    if packed_format(config) is None:
        return sum(weight.numel() for weight in weights.values())
    return sum(weight.nbytes * 4 for weight in weights.values())


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
MOST_LAYERS = 1_000
"""A model is laid out layer by layer before its weights are looked at."""

MOST_NUMBER = 2**53
"""Whole numbers of a configuration lie within plus and minus this: what lies beyond counts nothing, and
libraries in C refuse it each in a way of its own."""

MOST_DEPTH = 100
"""How deep the tables and lists of a configuration may stand in each other."""

SPARE_NUMBERS = 2**28
"""Numbers that a model computes from its configuration and no file holds, such as masks and positions."""

_FOUR_BIT = "4-bit weights, dequantised and multiplied"
_QUANTISED = {"Linear8bitLt": "LLM.int8()", "Linear4bit": _FOUR_BIT, "LinearNF4": _FOUR_BIT}
"""The linear layers of bitsandbytes, and what multiplies their weights."""

_LIBRARIES = ("torch", "numpy", "transformers", "tokenizers", "safetensors", "accelerate", "bitsandbytes")

transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
# It tells of fast kernels that it does not find; `load` leaves them aside wherever they are.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def device_of(asked: str) -> torch.device:
    """The device that `auto`, `cpu` or `cuda` comes to here."""
    if asked == "auto":
        asked = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(asked)


def compute_type(config: Any, precision: str, device: torch.device) -> torch.dtype:
    """The type of activations, keys and values. What is quantised here is multiplied in fp32 on a CPU and in
    bf16 on a GPU; what is shipped, in the format that it states."""
    if precision == AS_SHIPPED:
        return shipped_type(config)
    quantised = torch.float32 if device.type == "cpu" else torch.bfloat16
    return _DTYPES.get(precision, quantised)


def read_config(folder: Path, precision: str, device: str) -> Any:
    """The whole configuration of a model. Raises whatever transformers raises, and `ValueError` where it asks
    for weights that gridc does not load at this precision on
    this kind of device."""
    stated = _plain_json(folder / "config.json")
    # `kernels` downloads and runs what such a name stands for.
    for key, value in stated:
        if key.endswith("_implementation") and not str(value).replace("_", "").isalnum():
            raise ValueError(f"its config.json names code to run (`{key}`)")
    config: Any = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    check_format(config, precision, device)
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None) or 0
    if not 0 <= layers <= MOST_LAYERS:
        raise ValueError(f"its config.json states {layers:,} layers; {MOST_LAYERS:,} is the most")
    if getattr(config, "transformers_weights", None):
        raise ValueError("its config.json names other weights (`transformers_weights`)")
    return config


def _plain_json(path: Path) -> list[tuple[str, Any]]:
    """Every key of a configuration with its value, those of its parts too. Raises `ValueError` for numbers
    and depths that no model has."""
    found: list[tuple[str, Any]] = []
    parts = [("", json.loads(read_regular(path, MOST_TEXT)), 0)]
    while parts:
        key, value, depth = parts.pop()
        if depth > MOST_DEPTH:
            raise ValueError(f"its {path.name} is nested more than {MOST_DEPTH} deep")
        if isinstance(value, int) and abs(value) > MOST_NUMBER:
            raise ValueError(f"its {path.name} states {value:.3g} (`{key}`), which counts nothing")
        if isinstance(value, dict):
            found += value.items()
            parts += [(name, part, depth + 1) for name, part in value.items()]
        elif isinstance(value, list):
            parts += [(key, part, depth + 1) for part in value]
    return found


def read_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of a model, from its own files. Raises whatever transformers raises, and `ValueError`
    where it names others, which may lie anywhere."""
    stated = folder / "tokenizer_config.json"
    if stated.exists() and "fast_tokenizer_files" in json.loads(stated.read_text("utf-8")):
        raise ValueError("its tokenizer_config.json names other tokenizers (`fast_tokenizer_files`)")
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer


def read_automatic(folder: Path) -> Any:
    """What `AutoTokenizer` makes of the files that `read_tokenizer` has read. None where transformers has no
    tokenizer for them, or one without `tokenizer.json`'s rules."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except MemoryError:
        raise
    except Exception:  # whatever the code of a tokenizer raises
        return None
    return tokenizer if hasattr(tokenizer, "backend_tokenizer") else None


def read_generation(folder: Path) -> Any:
    """The generation config that a model comes with, or None. Raises `ValueError` where it cannot be one."""
    path = folder / "generation_config.json"
    if not path.exists():
        return None
    _plain_json(path)
    return GenerationConfig.from_pretrained(folder)


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """What a configuration describes: how keys and values are laid out in each layer (heads, width; see
    `Shape`), how many numbers its weights are and how many it computes beside them. None where it describes
    nothing that can be laid out, with the reason."""

    layers: tuple[tuple[int, int], ...]
    weights: int | None
    computed: int | None
    why: str | None = None

    def require(self, held: int) -> None:
        """Raise `ValueError` unless weights of `held` numbers are most of what it takes: what they lack would
        be made up before anything is compared. Half is enough, since tied weights may be described twice."""
        if self.weights is None or self.computed is None:
            raise ValueError(self.why)
        if self.weights > 2 * held:
            raise ValueError(
                f"its weights lack most of what its config.json describes: they are {held:,} of "
                f"{self.weights:,} numbers"
            )
        if self.computed > 2 * held + SPARE_NUMBERS:
            raise ValueError(f"its config.json asks for {self.computed:,} numbers beside its weights")


def model_layout(config: Any, precision: str, device: str) -> ModelLayout:
    """The layout of a model without its weights, on a kind of device. Where keys and values cannot be seen,
    as many as a transformer of its size has."""
    text = config.get_text_config(decoder=True)
    layers: int = getattr(text, "num_hidden_layers", None) or 1
    width: int = getattr(text, "hidden_size", None) or 1
    dtype, guess = compute_type(config, precision, torch.device(device)), ((1, width),) * layers
    try:
        kind, own = _architecture(config)
        with torch.device("meta"):
            model = kind._from_config(own, dtype=dtype)
    except MemoryError:
        raise
    except Exception as error:  # whatever the code of an architecture raises
        return ModelLayout(guess, None, None, str(error) or type(error).__name__)
    weights, computed = (
        sum(tensor.numel() for tensor in {id(tensor): tensor for tensor in tensors}.values())
        for tensors in (model.parameters(), model.buffers())
    )
    try:
        with torch.device("meta"):
            shape = shape_of(model, Shape((), dtype, torch.device(device)), Lengths.of(text).window)
    except MemoryError:
        raise
    except Exception:  # as above; the gate has the reason
        return ModelLayout(guess, weights, computed)
    return ModelLayout(shape.layers, weights, computed)


def _architecture(config: Any) -> tuple[Any, Any]:
    """The class of a model, and its configuration. Raises `ValueError` where transformers has none."""
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise ValueError(f"transformers has no causal language model of type `{config.model_type}`")
    kind: Any = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    packed = getattr(config, "quantization_config", None)
    if kind.config_class is not type(config):
        config = config.get_text_config(decoder=True)
    own = copy.deepcopy(config)
    if packed:
        own.quantization_config = packed
    return kind, own


def load(
    config: Any, weights: dict[str, torch.Tensor], generation: Any, precision: str, device: torch.device
) -> tuple[Any, dict[str, int]]:
    """The model of a configuration with these weights, without code of its own, and the tensors that nothing
    in it reads (see `_unread`). `weights` is emptied: what a tensor is converted to takes the memory that the
    tensor had. Raises `ValueError` where the weights do not fill it, or are not all of it, besides what
    transformers raises."""
    dimensions = {name: tensor.dim() for name, tensor in weights.items()}
    dtype = compute_type(config, precision, device)
    options: dict[str, Any] = {"dtype": dtype}
    if precision in ("int8", "nf4"):
        options["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_8bit=precision == "int8",
            load_in_4bit=precision == "nf4",
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=dtype,
        )
    kind, own = _architecture(config)
    unpack_shipped(own)
    try:
        # None in place of a folder: transformers then reads no file at all.
        model, report = kind.from_pretrained(
            None,
            config=own,
            state_dict={name: _GivenOnce(weights.pop(name)) for name in dimensions},
            device_map=str(device),
            trust_remote_code=False,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are named below, which its own error does not do
            **options,
        )
    except RuntimeError as error:  # it cannot join the experts of a layer into one tensor
        if is_shortage(error):
            raise
        _require_tensors(_lost_experts(dimensions))
        raise
    unlike = sorted(report["mismatched_keys"])
    _require_tensors(sorted(report["missing_keys"]) or (_lost_experts(dimensions) if unlike else []))
    if unlike:
        name, held, described = unlike[0]
        raise ValueError(
            f"its weights make `{name}` {tuple(held)}, and its config.json describes {tuple(described)}"
        )
    unread = _unread(model, config, dimensions, set(report["unexpected_keys"]))
    if generation is not None:
        model.generation_config = generation
    for module in model.modules():
        # With AVX512-BF16 bitsandbytes repacks 4-bit weights and rounds their scales to bf16, so the same
        # model would answer differently on another CPU. Without it NF4 is the same on every CPU.
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False
        if type(module).__name__ == "Linear8bitLt":
            module.forward = partial(_by_rows, module.forward)
    return model.eval(), unread


class _GivenOnce:
    """A tensor that transformers' loader takes as it takes one that lies in a file: by asking for all of it.
    Nothing holds it here afterwards, and the loader's list of all weights only holds this."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._held = [tensor]
        self._is_floating_point = tensor.is_floating_point()

    def __getitem__(self, every: Any) -> torch.Tensor:
        return self._held.pop()[every]

    def is_floating_point(self) -> bool:
        return self._is_floating_point


def _require_tensors(missing: Sequence[str]) -> None:
    """Raise `ValueError` where tensors are missing."""
    if missing:
        raise ValueError(f"its weights lack {len(missing)} tensors, such as {missing[0]}")


_EXPERT = re.compile(r"(.*\bexperts)\.(\d{1,4})\.(.+)")


def _lost_experts(names: Iterable[str]) -> list[str]:
    """The tensors that experts lack and others of their layer have."""
    layers: dict[str, dict[int, set[str]]] = {}
    for layer, number, part in (found.groups() for found in map(_EXPERT.fullmatch, names) if found):
        layers.setdefault(layer, {}).setdefault(int(number), set()).add(part)
    return sorted(
        f"{layer}.{number}.{part}"
        for layer, experts in layers.items()
        for part in set[str]().union(*experts.values())
        for number in range(max(experts) + 1)
        if part not in experts.get(number, ())
    )


_DRAFT_HEAD = re.compile(r"(^|\.)mtp(_\w+)?\.")
"""In the name of a tensor of a head that drafts further tokens (multi-token prediction). No answer needs
it."""
_CACHE_SCALE = re.compile(r"attn\.(\w+\.)?(q|k|v|kv|prob)_scale$")
"""In the name of a scale for keys and values that a server keeps in eight bits. The cache here has the number
format of the activations, as that of transformers has."""
_POOLER = re.compile(r"(^|\.)(pooler|seq_relationship)\.")
"""Of what an encoder was trained with to judge a text as a whole. No token's likelihood needs it."""
_LAYER = re.compile(r"(^|\.)layers\.(\d+)\.")
_MASK = re.compile(r"(^|\.)(attn|attention)\.(masked_)?bias$")
"""Of a causal mask (1, 1, n, n) and its value () that GPT-J and GPT-Neo once stored."""


def _unread(model: Any, config: Any, dimensions: Mapping[str, int], unexpected: set[str]) -> dict[str, int]:
    """How many tensors of a checkpoint nothing reads, by their names, in which `*` stands for numbers.
    `dimensions` has all its tensors; `unexpected` are those that transformers does not expect to be left.

    Raises `ValueError` unless the others are buffers, which are computed, heads that only draft, poolers,
    scales of a cache in eight bits, or parts of a larger model whose text model was loaded: what somebody
    else's program may well read is another model.
    """
    ignored = [
        *(model._keys_to_ignore_on_load_unexpected or ()),
        r"rotary_emb\.inv_freq",
        r"(^|\.)position_ids$",
    ]
    left = re.compile("|".join(f"({pattern})" for pattern in ignored))
    prefix = f"{model.base_model_prefix}."
    read = {name.removeprefix(prefix) for name in model.state_dict()}
    ignored_names = {
        name for name in dimensions if left.search(name) and name.removeprefix(prefix) not in read
    }
    masks = {name for name in unexpected if _MASK.search(name) and dimensions.get(name) in (0, 4)}
    strange = sorted(unexpected - masks - _needless(model, config, unexpected))
    if strange:
        raise ValueError(
            f"nothing in a {type(model).__name__} reads {len(strange):,} of its tensors, such as "
            f"{strange[0]}: take the config.json that describes them, or a copy of the model without them"
        )
    return dict(sorted(Counter(re.sub(r"\d+", "*", name) for name in ignored_names | unexpected).items()))


def _needless(model: Any, config: Any, names: Iterable[str]) -> set[str]:
    """The tensors that a text model needs for no answer."""
    text = config.get_text_config(decoder=True)
    layers = getattr(text, "num_hidden_layers", None) or 0
    drafting = range(layers, layers + (getattr(text, "num_nextn_predict_layers", None) or 0))
    buffers = tuple(f".{name}" for name, _ in model.named_buffers())
    elsewhere = () if type(model.config) is type(config) else tuple(f".{name}" for name in _whole(config))

    def is_needless(name: str) -> bool:
        layer = _LAYER.search(name)
        return bool(
            any(part.search(name) for part in (_DRAFT_HEAD, _CACHE_SCALE, _POOLER))
            or (layer and int(layer[2]) in drafting)
            or any(known.endswith(f".{name}") for known in (*buffers, *elsewhere))
        )

    return {name for name in names if is_needless(name)}


def _whole(config: Any) -> list[str]:
    """The names of all parts of a model of which only the text model is loaded."""
    for kinds in (MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING, MODEL_MAPPING):
        if type(config) in kinds:
            kind: Any = kinds[type(config)]
            with torch.device("meta"):
                return list(kind._from_config(copy.deepcopy(config)).state_dict())
    return []


def _by_rows(multiply: Callable[[torch.Tensor], torch.Tensor], states: torch.Tensor) -> torch.Tensor:
    """bitsandbytes takes states of two or three dimensions; the attention of DeepSeek gives four."""
    if states.dim() <= 3:
        return multiply(states)
    product = multiply(states.flatten(0, -2))
    return product.view(*states.shape[:-1], -1)


def quantisation(model: Any, precision: str) -> dict[str, Any] | None:
    """Which weights bitsandbytes multiplies quantised, how, and in which format. None when none are."""
    layers = [module for module in model.modules() if type(module).__name__ in _QUANTISED]
    if not layers:
        return None
    path = _QUANTISED[type(layers[0]).__name__]
    plain = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and type(module).__name__ not in _QUANTISED
    ]
    # Experts that transformers keeps as one tensor of three dimensions.
    plain += [name for name, weight in model.named_parameters() if weight.dim() == 3 and "experts" in name]
    return {
        "library": f"bitsandbytes {version('bitsandbytes')}",
        "path": path,
        "layers": len(layers),
        "not_quantised": plain,
        "multiplied_as": str(compute_type(model.config, precision, model.device)).removeprefix("torch."),
        "avx512_bf16": False if path == _FOUR_BIT else None,
    }


def machine(device: torch.device) -> dict[str, Any]:
    """The device and the versions that numbers depend on."""
    cuda = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if cuda else str(device),
        "processor": _processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "blas": _blas(),
        "cuda": torch.version.cuda if cuda else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in _LIBRARIES},
    }


def _blas() -> list[str]:
    """The libraries that multiply matrices on a CPU, as torch was built with them."""
    lines = (line.removeprefix("  - ") for line in torch.__config__.show().splitlines())
    return [line for line in lines if line.startswith(("Intel(R)", "OpenBLAS", "ARM", "oneDNN"))]


def peak_bytes(device: torch.device) -> int:
    """The most memory that this process has had so far: on the GPU, or resident on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    import resource  # there is none on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def free_share(device: torch.device) -> float:
    """How much of the device's memory is free, from 0 to 1; 0 where the system does not say."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return free / total
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
    except OSError:
        return 0.0
    kib = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}
    return kib.get("MemAvailable", 0) / kib["MemTotal"]


def _processor() -> str:
    """The CPU's name for itself, else its architecture. `platform.processor` would start a program."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
