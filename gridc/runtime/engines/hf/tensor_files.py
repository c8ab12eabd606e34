"""Which files a model's weights are, and what the head of each says it holds, read without torch.

A safetensors file is the length of its head, the head, a table in JSON, and the numbers of its tensors, one
tensor behind the other with nothing between them.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.files import open_regular, read_regular

MOST_TEXT = 2**24
"""Bytes of a configuration, and of an index."""

MOST_HEAD = 100_000_000
"""Bytes of a head: the format's own limit."""

MOST_DIMENSIONS = 64
"""Of a tensor: torch has no more."""

INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"

STORED_BITS: Mapping[str, int] = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64,
    "U32": 32, "U16": 16, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E4M3FNUZ": 8, "F8_E5M2": 8, "F8_E5M2FNUZ": 8,
    "C64": 64,
}  # fmt: skip
"""How many bits a number takes, by the name of its format in a head: the formats that safetensors makes torch
tensors of."""

FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
"""The formats that loading converts to a precision. Every other one holds packed numbers."""


def weight_files(folder: Path, read: Callable[[str], bytes] | None = None) -> list[str]:
    """The files of a model's weights, by name: those that transformers 5 loads, for which an index counts
    only where `model.safetensors` is missing. `read` gives the bytes of the index. Raises `ValueError` where
    that leads out of the folder."""
    if (folder / _SINGLE).is_file() or not (folder / INDEX).exists():
        return [_SINGLE]
    return indexed_files(folder, read)


def indexed_files(folder: Path, read: Callable[[str], bytes] | None = None) -> list[str]:
    """The files that the index of a folder names. Raises `ValueError`."""
    data = read(INDEX) if read is not None else read_regular(folder / INDEX, MOST_TEXT)
    try:
        names = sorted(set(json.loads(data)["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"`{INDEX}` has no map of weights") from None
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise ValueError(f"`{INDEX}` names {name!r}, which is not a weights file of the model's folder")
        if not (folder / name).exists():
            raise ValueError(f"`{INDEX}` names `{name}`, and there is no such file")
    return names


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as the head of its file describes it: so many `bytes` of numbers in the format `dtype`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def numbers(self) -> int:
        """How many numbers it has; a packed one stands for more."""
        return math.prod(self.shape)


def stored_tensors(folder: Path) -> list[StoredTensor]:
    """Every tensor of a model's files, from their heads. Raises `OSError` and `ValueError` where one cannot
    be read."""
    found: list[StoredTensor] = []
    for name in weight_files(folder):
        with open_regular(folder / name) as file:
            size = file.seek(0, 2)
            file.seek(0)
            found += read_head(file.read, size)
    return found


def read_head(read: Callable[[int], bytes], size: int) -> list[StoredTensor]:
    """The tensors of a file of `size` bytes in the order of their numbers, which stand behind what this
    reads. Raises `ValueError` where the head does not describe the whole file, each byte once."""
    length = int.from_bytes(read(8), "little")
    if size < 8 or length > min(size - 8, MOST_HEAD):
        raise ValueError(f"a head of {length:,} bytes, and the file has {size:,}")
    try:
        head = json.loads(read(length).decode("utf-8"))
        placed = sorted(_placed(head))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"its head cannot be read: {error}") from None
    end = 0
    for (start, stop), name, dtype, shape in placed:
        if start != end or stop < start:
            raise ValueError(f"tensor `{name}` does not begin where the one before it ends")
        if math.prod(shape) * STORED_BITS[dtype] != 8 * (stop - start):
            raise ValueError(f"tensor `{name}` has {stop - start:,} bytes, and its shape is {list(shape)}")
        end = stop
    if 8 + length + end != size:
        raise ValueError(f"its head describes {8 + length + end:,} bytes, and the file has {size:,}")
    return [StoredTensor(name, dtype, shape, stop - start) for (start, stop), name, dtype, shape in placed]


def _placed(head: Mapping[str, Any]) -> Iterator[tuple[tuple[int, int], str, str, tuple[int, ...]]]:
    """Where each tensor stands behind the head, its name, format and shape. Raises `ValueError`, and what
    Python raises where a head has another form."""
    for name, stated in head.items():
        if name == "__metadata__":
            if not all(isinstance(value, str) for value in (stated or {}).values()):
                raise ValueError("its metadata are not texts")
            continue
        name.encode("utf-8")  # no half of a pair of surrogates
        start, stop = stated["data_offsets"]
        dtype, shape = stated["dtype"], tuple(stated["shape"])
        counted = all(type(number) is int and 0 <= number < 2**63 for number in (start, stop, *shape))
        if not counted or len(shape) > MOST_DIMENSIONS or math.prod(max(side, 1) for side in shape) >= 2**63:
            raise ValueError(f"tensor `{name}` has a shape or a place that counts nothing")
        if dtype not in STORED_BITS:
            raise ValueError(f"tensor `{name}` is in the format {dtype!r:.40}, which torch does not have")
        yield (start, stop), name, dtype, shape
