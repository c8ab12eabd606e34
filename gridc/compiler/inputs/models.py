"""Which weights and which tokenizer a model is, as digests, without loading either."""

import hashlib
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from gridc.compiler.frontend.checkpoints import (
    WEIGHTS,
    is_checkpoint,
    known_files,
    require_regular,
    require_weights,
)
from gridc.compiler.frontend.lookup import BUILTIN_MODELS, MODELS_FOLDER, NotFound, ReferenceFolders
from gridc.compiler.inputs.dataset_hub import endpoint
from gridc.files import open_regular
from gridc.schema.canonical import digest
from gridc.schema.models import FILES, Model, Server, engine_kind

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What a model is, apart from its name in the study.

    A local model has its folder and the SHA-256 of each file. A hub model has a repository and a commit; its
    files come when it is run. `unpinned` gives the reason when neither is known, as of every provider's
    model, which is known by its name, the address of its server, what that is, and the parameters that it is
    not sent; `key_env` is where its key is, and `batch` how it is asked. `weights` are the files that a
    server is said to run. A local model with a `server` is run by one that gridc starts, at a `base_url` that
    is no part of what it is. `template_args` are what the study gives its chat template: the same files asked
    in another way are another model to the calls.
    """

    source: str
    folder: Path | None = None
    files: tuple[tuple[str, str], ...] = ()
    revision: str | None = None
    unpinned: str | None = None
    template_args: tuple[tuple[str, Any], ...] = ()
    weights: "ModelIdentity | None" = None
    base_url: str | None = None
    server: Server | None = None
    omits: tuple[str, ...] = ()
    key_env: str | None = field(default=None, compare=False)
    batch: bool = field(default=False, compare=False)

    @property
    def manifest(self) -> dict[str, Any]:
        """The identity as it stands in the lock, free of local paths."""
        given: dict[str, Any] = {}
        if self.template_args:
            given["chat_template_args"] = dict(self.template_args)
        if self.unpinned is not None:
            reached = {"base_url": self.base_url, "server": self.server, "omits": list(self.omits) or None}
            stated: dict[str, Any] = {key: value for key, value in reached.items() if value is not None}
            if self.weights is not None:
                stated["weights"] = self.weights.manifest
            return {"source": self.source, "unpinned": self.unpinned, **stated, **given}
        if self.server is not None:
            given["server"] = self.server
        if self.revision is not None:
            return {"source": self.source, "revision": self.revision, **given}
        return {"files": dict(self.files), **given}

    @property
    def served_files(self) -> "ModelIdentity | None":
        """The files that a server runs, as a local model; None where no server does, or nobody knows them."""
        if self.weights is not None:
            return replace(self.weights, template_args=self.template_args)
        return replace(self, server=None) if self.server is not None and self.unpinned is None else None

    @property
    def files_digest(self) -> str:
        """SHA-256 over the names and digests of its files: what a spec may state."""
        return digest(dict(self.files))

    @property
    def digest(self) -> str:
        """Keys the calls of the model: the same files under another name are the same model."""
        return digest(self.manifest)


ASKED = frozenset(["chat_template_args", "server", "omits"])
"""What a manifest says of how a model is asked."""


def without_asking(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a manifest says of the model alone: the same in whatever way it is asked, and whoever runs it
    where its files are known."""
    known: Mapping[str, Any] = manifest.get("weights", manifest)
    return {key: value for key, value in known.items() if key not in ASKED}


def identify(
    model: Model, places: ReferenceFolders, pinned: str | None = None, online: bool = False
) -> ModelIdentity:
    """The identity of a model, whose folder was looked into (`checkpoints.look_into`). `pinned` is the commit
    that a lock recorded for a hub branch; without one the hub is asked, but only when `online` says so.

    Raises `NotFound` when a local folder is missing or has other files than the spec states, and when what
    the hub has is not a model that gridc loads.
    """
    given = tuple(sorted((model.chat_template_args or {}).items()))
    return replace(_weights(model, places, pinned, online), template_args=given)


def _weights(model: Model, places: ReferenceFolders, pinned: str | None, online: bool) -> ModelIdentity:
    if engine_kind(model.engine).provider:
        return ModelIdentity(
            model.source,
            unpinned="the provider decides which weights this name means",
            weights=None if model.weights is None else _files(model.weights, model, places, pinned, online),
            base_url=model.base_url,
            server=model.server,
            omits=tuple(sorted(set(model.omits or ()))),
            key_env=model.key_env,
            batch=bool(model.batch),
        )
    if not model.source.startswith(FILES):
        return ModelIdentity(model.source, unpinned=f"`{model.engine}` knows what this name means")
    files = _files(model.source, model, places, pinned, online)
    return replace(files, server=engine_kind(model.engine).server)


def _files(
    source: str, model: Model, places: ReferenceFolders, pinned: str | None, online: bool
) -> ModelIdentity:
    if source.startswith("models:") and places.models_folder is None:
        return ModelIdentity(source, unpinned=f"`{source}` is not here: {MODELS_FOLDER}")
    if not source.startswith("hf:"):
        folder = places.model(source)
        identity = ModelIdentity(source, folder, _files_of(source, model, folder))
        if model.digest not in (None, identity.files_digest):
            problem = f"the files of `{source}` have the digest {identity.files_digest}"
            raise NotFound("GC314", problem, f"put the files there whose digest is {model.digest}")
        return identity
    revision = model.revision or "main"
    if _COMMIT.fullmatch(revision):
        return ModelIdentity(source, revision=revision)
    if pinned is not None:
        return ModelIdentity(source, revision=pinned)
    commit = _ask_hub(source, revision) if online else None
    if commit is None:
        return ModelIdentity(source, unpinned=f"no commit of `{revision}` is known here")
    return ModelIdentity(source, revision=commit)


def _files_of(source: str, model: Model, folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and SHA-256 of the files that a model is. What a plug-in runs need be no checkpoint: then it is
    every file of its folder."""
    if is_checkpoint(model, folder):
        return hash_files(folder)
    found = [path for path in sorted(folder.rglob("*")) if not path.is_dir() or path.is_symlink()]
    if not found:
        raise NotFound("GC314", f"`{source}` has no file")
    require_regular(found, source)
    return tuple((path.relative_to(folder).as_posix(), _hash_file(path)) for path in found)


def hash_files(folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and SHA-256 of each file that can move an answer, by name."""
    files = known_files(folder)
    with ThreadPoolExecutor() as pool:
        return tuple(zip((file.name for file in files), pool.map(_hash_file, files), strict=True))


def ships_with_gridc(files: Mapping[str, str]) -> bool:
    """Whether a model's files but for its weights, by name and SHA-256, are those of one that ships with
    gridc."""
    return frozenset((name, sha) for name, sha in files.items() if not name.endswith(WEIGHTS)) in _shipped()


@cache
def _shipped() -> frozenset[frozenset[tuple[str, str]]]:
    return frozenset(
        frozenset((path.name, _hash_file(path)) for path in known_files(folder) if path.suffix != WEIGHTS)
        for folder in BUILTIN_MODELS.iterdir()
        if folder.is_dir()
    )


def _hash_file(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _ask_hub(source: str, revision: str) -> str | None:
    """The commit that a branch of a hub repository points at now, or None when the hub does not say.

    Raises `NotFound` (GC314) where its files there are no weights that gridc loads.
    """
    try:
        from huggingface_hub import HfApi

        found = HfApi(endpoint()).model_info(source.removeprefix("hf:"), revision=revision, timeout=10)
    except Exception:  # no client, no network, no such repository: the model stays unpinned, and says so
        return None
    if found.siblings is not None:
        require_weights([file.rfilename for file in found.siblings], source)
    return found.sha
