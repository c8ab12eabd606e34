"""A file of weights is read or refused as safetensors does, and loading holds each number once."""

import io
import json
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import safetensors.torch
import torch

from gridc.runtime.engines.hf import tensor_files
from gridc.runtime.engines.hf.loading import _STORED, ChangedError, Checkpoint, _HashedFile


def tensor(dtype: Any = "F32", shape: Any = (1,), offsets: Any = (0, 4), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


def file_of(head: Any, numbers: int = 4, length: int | None = None) -> bytes:
    """A file with this head, which may say another length of itself, and so many bytes of numbers."""
    data = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(data) if length is None else length) + data + bytes(range(numbers))


FILES = {
    "one tensor": file_of({"a": tensor()}),
    "a scalar": file_of({"a": tensor(shape=[])}),
    "no tensor": file_of({}, 0),
    "no number": file_of({"a": tensor(shape=[0, 3], offsets=[0, 0]), "b": tensor()}),
    "no number at the end": file_of({"a": tensor(), "b": tensor(shape=[0], offsets=[4, 4])}),
    "another order": file_of({"a": tensor(offsets=[4, 8]), "b": tensor()}, 8),
    "metadata": file_of({"__metadata__": {"format": "pt"}, "a": tensor()}),
    "metadata of nothing": file_of({"__metadata__": None, "a": tensor()}),
    "metadata that are no texts": file_of({"__metadata__": {"a": 1}, "a": tensor()}),
    "metadata that are no table": file_of({"__metadata__": [1], "a": tensor()}),
    "a key more": file_of({"a": tensor(more=1)}),
    "spaces around": file_of(b"  {}   ", 0),
    "complex": file_of({"a": tensor("C64", offsets=[0, 8])}, 8),
    "booleans": file_of({"a": tensor("BOOL", [4])}),
    "eight bits": file_of({"a": tensor("F8_E4M3", [4])}),
    "half": file_of({"a": tensor("BF16", [2, 1])}),
    "the same name again": file_of(b'{"a":%s,"a":%s}' % ((json.dumps(tensor()).encode(),) * 2)),
    "a hole": file_of({"a": tensor(), "b": tensor(offsets=[8, 12])}, 12),
    "an overlap": file_of({"a": tensor(), "b": tensor(offsets=[2, 6])}, 6),
    "all in one place": file_of({"a": tensor(), "b": tensor()}),
    "outside": file_of({"a": tensor(shape=[2], offsets=[0, 8])}),
    "backwards": file_of({"a": tensor(shape=[0], offsets=[4, 0])}),
    "too few numbers": file_of({"a": tensor(shape=[2])}),
    "too many numbers": file_of({"a": tensor()}, 5),
    "an unknown format": file_of({"a": tensor("Q9")}),
    "a format of four bits": file_of({"a": tensor("F4", [8])}),
    "a format in small letters": file_of({"a": tensor("f32")}),
    "a format that is a list": file_of({"a": tensor(["F32"])}),
    "a negative shape": file_of({"a": tensor(shape=[-1])}),
    "a fraction": file_of({"a": tensor(shape=[1.0])}),
    "true": file_of({"a": tensor(shape=[True])}),
    "a shape that is a number": file_of({"a": tensor(shape=4)}),
    "a shape beyond counting": file_of({"a": tensor(shape=[2**62, 8, 0], offsets=[0, 0])}, 0),
    "no offsets": file_of({"a": {"dtype": "F32", "shape": [1]}}),
    "three offsets": file_of({"a": tensor(offsets=[0, 4, 5])}),
    "a list": file_of(b"[]", 0),
    "a text": file_of(b'"a"', 0),
    "no JSON": file_of(b"{", 0),
    "no UTF-8": file_of(b'{"\xff": 1}', 0),
    "half of a character": file_of(b'{"\\ud800":%s}' % json.dumps(tensor()).encode()),
    "zeros behind": file_of(b"{}\0\0", 0),
    "deep": file_of(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 0),
    "nothing": b"",
    "seven bytes": b"\2\0\0\0\0\0\0",
    "a head that is longer than the file": file_of({"a": tensor()}, length=2**40),
    "a head of more than the format has": struct.pack("<Q", 100_000_001) + b"{}" + b" " * 100_000_000,
}


def by_safetensors(data: bytes) -> dict[str, torch.Tensor] | None:
    try:
        return dict(safetensors.torch.load(data))
    except (safetensors.SafetensorError, KeyError):  # a format that torch does not have is a `KeyError`
        return None


def read(folder: Path, data: bytes) -> dict[str, torch.Tensor] | None:
    """The tensors of a file, None where it is damaged."""
    (folder / "model.safetensors").write_bytes(data)
    try:
        return Checkpoint(folder, {}).weights(mapped=False)
    except ValueError as error:
        assert str(error).startswith("`model.safetensors` is damaged: ")
        return None


def alike(one: dict[str, torch.Tensor] | None, other: dict[str, torch.Tensor] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(
        (one[name].dtype, one[name].shape) == (other[name].dtype, other[name].shape)
        and bytes(one[name].reshape(-1).view(torch.uint8).numpy())
        == bytes(other[name].reshape(-1).view(torch.uint8).numpy())
        for name in one
    )


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_as_safetensors_reads_it(name: str, tmp_path: Path) -> None:
    assert alike(read(tmp_path, FILES[name]), by_safetensors(FILES[name]))


def test_damaged_heads_are_those_that_safetensors_refuses(tmp_path: Path) -> None:
    """Bytes of a small head are replaced by others that stand in heads."""
    draw = random.Random(75)
    whole = file_of({"a": tensor(), "b": tensor("BF16", [2], [4, 8]), "c": tensor("U8", [0], [8, 8])}, 8)
    refused = 0
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(draw.choice([1, 1, 2])):
            data[draw.randrange(8, len(data) - 8)] = draw.choice(b'0123456789[]{}",: abFU')
        expected = by_safetensors(bytes(data))
        refused += expected is None
        assert alike(read(tmp_path, bytes(data)), expected), bytes(data)
    assert 300 < refused < 1490


def test_every_format_that_is_known_has_as_many_bits_in_torch() -> None:
    bits = {name: 8 * torch.empty(1, dtype=dtype).element_size() for name, dtype in _STORED.items()}
    assert bits == tensor_files.STORED_BITS


def test_a_file_that_ends_early_leaves_no_memory_unread() -> None:
    file = _HashedFile(io.BufferedReader(io.BytesIO(b"123")))
    with pytest.raises(ValueError, match="shorter"):
        file.fill(torch.empty(4, dtype=torch.uint8))


def test_a_damaged_file_that_is_not_the_one_that_was_hashed_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(FILES["a hole"])
    with pytest.raises(ChangedError):
        Checkpoint(tmp_path, {"model.safetensors": "0" * 64}).weights(mapped=False)


LOADS = """
import sys
from pathlib import Path
from benchmarks.loading import load
load("gridc", Path(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize(
    ("stored", "precision", "most"),
    [
        ("bfloat16", "bf16", 1.3),
        pytest.param("bfloat16", "fp32", 2.5, marks=pytest.mark.slow),
        pytest.param("float32", "bf16", 1.3, marks=pytest.mark.slow),
    ],
)
def test_loading_holds_each_number_once(stored: str, precision: str, most: float, tmp_path: Path) -> None:
    """The memory that a larger model takes beyond a smaller one, as a multiple of what its file is larger."""
    pytest.importorskip("numpy")
    from benchmarks.study import Shape, make_model

    took, sizes = [], []
    for layers in (1, 9):
        folder = make_model(tmp_path / str(layers), 1.0, Shape(1024, 2816, layers, 16), stored)
        done = subprocess.run(
            [sys.executable, "-c", LOADS, str(folder), precision], capture_output=True, check=True, text=True
        )
        took.append(json.loads(done.stdout)["mib"])
        sizes.append((folder / "model.safetensors").stat().st_size / 2**20)
        shutil.rmtree(folder)
    assert took[1] - took[0] < most * (sizes[1] - sizes[0])
