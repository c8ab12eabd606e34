"""Benchmark files on the Hugging Face hub: `hf:OWNER/NAME@REVISION/FILE`, pinned to a commit.

The hub's client is imported here, where it is used. Without `online` only its cache is read.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gridc.compiler.frontend.locate import NotFound, fitting, is_pattern

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(r"hf:(?P<repository>[^/]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Hosted:
    """Files of a dataset repository at a commit, as they lie in the hub's cache."""

    commit: str
    files: tuple[tuple[str, Path], ...]


def dataset_files(reference: str, pinned: str | None, online: bool) -> Hosted:
    """The files that a reference names. `pinned` is the commit that a lock recorded for it.

    Raises `NotFound`: the branch cannot be resolved, or the files are neither cached nor on the network.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise NotFound("GC309", f"`{reference}` is not hf:OWNER/NAME@REVISION/FILE")
    repository, revision, name = match["repository"], match["revision"] or "main", match["name"]
    if ".." in PurePosixPath(name).parts:
        raise NotFound("GC308", f"`{name}` leaves its repository")
    commit = revision if _COMMIT.fullmatch(revision) else pinned
    try:
        if commit is None and online:
            commit = _resolve(repository, revision)
        if commit is None:
            raise NotFound("GC309", f"no commit of `{revision}` of {repository} is known here", ONLINE)
        folder = _folder(repository, commit, name, online)
    except NotFound:
        raise
    except Exception as error:  # whatever the hub's client raises: its HTTP library varies
        problem = f"`{reference}` cannot be downloaded: {str(error).splitlines()[0]}"
        raise NotFound("GC309", problem, None if online else ONLINE) from None
    paths = fitting(folder, name) if is_pattern(name) else [folder / name]
    if not paths:
        raise NotFound("GC309", f"{repository} at {commit[:12]} has no file `{name}`")
    return Hosted(commit, tuple((path.relative_to(folder).as_posix(), path) for path in paths))


ONLINE = "`gridc stamp` fetches it where there is a network"


def endpoint() -> str | None:
    """The address of the hub where it is another than the public one: `HF_ENDPOINT`, which the hub's client
    alone would read when it is imported and never again."""
    return os.environ.get("HF_ENDPOINT") or None


def _resolve(repository: str, revision: str) -> str | None:
    from huggingface_hub import HfApi

    return HfApi(endpoint()).dataset_info(repository, revision=revision, timeout=10).sha


def _folder(repository: str, commit: str, name: str, online: bool) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download

    if is_pattern(name):
        return Path(
            snapshot_download(
                repository,
                repo_type="dataset",
                revision=commit,
                allow_patterns=name,
                local_files_only=not online,
                endpoint=endpoint(),
            )
        )
    path = hf_hub_download(
        repository,
        name,
        repo_type="dataset",
        revision=commit,
        local_files_only=not online,
        endpoint=endpoint(),
    )
    return Path(path).parents[len(PurePosixPath(name).parts) - 1]
