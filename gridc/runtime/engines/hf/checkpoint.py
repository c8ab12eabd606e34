"""The files of a model, loaded from the very bytes that were hashed.

Each file is read once: its bytes are hashed, held against the lock, and parsed. Weights for a GPU, which may
be more than this machine has memory for, are hashed in their files and copied from there, and the files must
not have changed in between. Which files are read is decided here and not by the model's own words, so nothing
outside its folder can be led in.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from huggingface_hub import snapshot_download

from gridc.compiler.inputs.dataset_hub import endpoint
from gridc.compiler.inputs.models import PATTERNS, ModelIdentity
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.files import open_regular


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


_INDEX, _SINGLE = "model.safetensors.index.json", "model.safetensors"
_REFUSED = {
    "adapter_config.json": "it is an adapter, whose base model lies elsewhere: merge them into one folder",
}


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
        names = {path.name for pattern in PATTERNS for path in self._folder.glob(pattern)}
        for name in sorted({*names, *self._expected}):
            if name in _REFUSED:
                raise ValueError(_REFUSED[name])
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
        names = self._shards()
        if mapped:
            with ThreadPoolExecutor() as pool:
                list(pool.map(self._hash, names))
        for name in names:
            try:
                tensors |= (
                    safetensors.torch.load_file(self._folder / name)
                    if mapped
                    else safetensors.torch.load(self._read(name))
                )
            except safetensors.SafetensorError as error:
                raise ValueError(f"`{name}` is damaged: {error}") from None
        return tensors

    def require_unchanged(self) -> None:
        """Raise `ChangedError` where a file is not what it was when it was hashed in its place."""
        for name, state in self._hashed.items():
            if _state((self._folder / name).stat()) != state:
                raise ChangedError(f"`{name}` changed while it was read")

    def _shards(self) -> list[str]:
        index = self._folder / _INDEX
        if not index.exists():
            return [_SINGLE]
        try:
            named: Any = json.loads(self._read(_INDEX))["weight_map"].values()
            names = sorted(set(named))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"`{_INDEX}` has no map of weights") from None
        for name in names:
            if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
                raise ValueError(
                    f"`{_INDEX}` names {name!r}, which is not a weights file of the model's folder"
                )
        return names

    def _read(self, name: str) -> bytes:
        """The bytes of a file, hashed. Raises `ChangedError`."""
        with open_regular(self._folder / name) as file:
            data = file.read()
        self._admit(name, hashlib.sha256(data).hexdigest())
        return data

    def _hash(self, name: str) -> None:
        """Hash a file where it is. Raises `ChangedError`."""
        with open_regular(self._folder / name) as file:
            self._hashed[name] = _state(os.fstat(file.fileno()))
            self._admit(name, hashlib.file_digest(file, "sha256").hexdigest())

    def _admit(self, name: str, digest: str) -> None:
        expected = self._expected.get(name, None if self._expected else digest)
        if digest != expected or self.files.setdefault(name, digest) != digest:
            raise ChangedError(f"`{name}` is not the file that was hashed")


def _state(status: os.stat_result) -> tuple[int, ...]:
    """What moves when a file is written to or another one takes its place."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
