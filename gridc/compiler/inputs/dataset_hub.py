"""Benchmark files on the Hugging Face hub: `hf:OWNER/NAME@REVISION/FILE`, or `?config=NAME&split=NAME` in
place of the file, pinned to a commit.

The hub's client is imported here, where it is used. Without `online` only its cache is read.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gridc.compiler.frontend.lookup import NotFound, fitting, is_pattern
from gridc.compiler.frontend.validate import did_you_mean

_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(
    r"hf:(?P<repository>[^/]+/[^/@?]+)(?:@(?P<revision>refs/convert/parquet|[^/?]+))?"
    r"(?:/(?P<name>.+)|\?(?P<table>[^/?]+))"
)
_SHARD = re.compile(r"(.*-)(\d{5})-of-(\d{5})(\.[A-Za-z0-9.]+)?")
CARD = "README.md"
TABLES = ("parquet", "jsonl", "json", "csv", "tsv")
"""Endings of files that hold rows."""


@dataclass(frozen=True, slots=True)
class HubFiles:
    """Files of a dataset repository at a commit, as they lie in the hub's cache. `said` is what a person
    should know of how the commit was found."""

    commit: str
    files: tuple[tuple[str, Path], ...]
    said: tuple[str, ...] = ()


def hub_repository(reference: str) -> tuple[str, str | None] | None:
    """The repository that a reference names, and the commit if it is pinned to one; None for another kind of
    reference."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    revision = match["revision"]
    return match["repository"], revision if revision and _COMMIT.fullmatch(revision) else None


def dataset_files(reference: str, pinned: str | None, online: bool) -> HubFiles:
    """The files that a reference names. `pinned` is the commit that a lock recorded for it.

    Raises `NotFound`: the branch cannot be resolved, or the files are neither cached nor on the network.
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise NotFound(
            "GC309", f"`{reference}` is not hf:OWNER/NAME@REVISION/FILE or ?config=NAME&split=NAME"
        )
    repository, revision, name = match["repository"], match["revision"] or "main", match["name"]
    if name is not None and ".." in PurePosixPath(name).parts:
        raise NotFound("GC308", f"`{name}` leaves its repository")
    commit = revision if _COMMIT.fullmatch(revision) else pinned
    said: tuple[str, ...] = ()
    try:
        if commit is None:
            commit, said = _commit(repository, revision, online)
            online = online and not said  # where the network does not answer, the cache does
        if commit is None:
            raise NotFound("GC309", f"no commit of `{revision}` of {repository} is known here", ONLINE)
        if name is None:
            folder, paths = _split(repository, commit, match["table"], online)
        else:
            folder = _folder(repository, commit, name, online)
            paths = fitting(folder, name) if is_pattern(name) else [folder / name]
    except NotFound:
        raise
    except Exception as error:  # whatever the hub's client raises: its HTTP library varies
        problem = f"`{reference}` cannot be downloaded: {str(error).splitlines()[0]}"
        raise NotFound("GC309", problem, None if online else ONLINE) from None
    if not paths:
        raise NotFound("GC309", f"{repository} at {commit[:12]} has no file `{name}`")
    if name is None or is_pattern(name):
        _require_whole(repository, [path.relative_to(folder).as_posix() for path in paths])
    return HubFiles(commit, tuple((path.relative_to(folder).as_posix(), path) for path in paths), said)


def _require_whole(repository: str, names: Sequence[str]) -> None:
    """Raise `NotFound` where a table is one of several parts, and only some of them are here."""
    parts: dict[tuple[str, str, str], set[str]] = {}
    for match in filter(None, map(_SHARD.fullmatch, names)):
        parts.setdefault((match[1], match[3], match[4] or ""), set()).add(match[2])
    for (stem, count, ending), here in parts.items():
        if len(here) < int(count):
            problem = f"{len(here)} of the {int(count)} parts of `{stem}*{ending}` of {repository} are here"
            raise NotFound("GC309", problem, ONLINE)


def _split(repository: str, commit: str, stated: str, online: bool) -> tuple[Path, list[Path]]:
    """The files of a config and split, by the dataset's card; where it names none, by how the hub names
    files. Raises `NotFound`."""
    asked = dict(pair.partition("=")[::2] for pair in stated.split("&"))
    config, split = asked.get("config"), asked.get("split")
    if not split or set(asked) - {"config", "split"}:
        raise NotFound(
            "GC309", f"`?{stated}` names no split", "?config=NAME&split=NAME, or ?split=NAME alone"
        )
    configs = _configs(repository, commit, online)
    known = [str(entry.get("config_name", "default")) for entry in configs]
    if config is None and len(configs) > 1:
        help = f"?config=NAME&split={split}, where NAME is one of {', '.join(known)}"
        raise NotFound("GC309", f"{repository} has several configs", help, anywhere=True)
    if configs and config is not None and config not in known:
        raise NotFound("GC309", f"{repository} has no config `{config}`", did_you_mean(config, known), True)
    entry = next(
        (entry for entry in configs if config in (None, str(entry.get("config_name", "default")))), None
    )
    patterns = _default_patterns(config, split) if entry is None else _declared(entry, split)
    if not patterns:
        splits = sorted({str(part.get("split", "train")) for part in _parts(entry or {})})
        raise NotFound("GC309", f"{repository} has no split `{split}`", did_you_mean(split, splits), True)
    folder = _fetched(repository, commit, patterns, online)
    paths = dict.fromkeys(path for pattern in patterns for path in fitting(folder, pattern))
    if not paths:
        table = f"config `{config or 'default'}` and split `{split}`"
        problem = f"{repository} at {commit[:12]} has no file for {table}"
        raise NotFound("GC309", problem, None if online else ONLINE)
    return folder, list(paths)


def _configs(repository: str, commit: str, online: bool) -> list[dict[str, Any]]:
    """What the dataset's card says of its configs; nothing where it has none, or is not here."""
    from huggingface_hub import hf_hub_download, metadata_load
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        card = hf_hub_download(
            repository, CARD, repo_type="dataset", revision=commit, local_files_only=not online,
            endpoint=endpoint(),
        )  # fmt: skip
    except (EntryNotFoundError, LocalEntryNotFoundError):  # it has none, or none is here
        return []
    configs = (metadata_load(card) or {}).get("configs") or []
    return [entry for entry in configs if isinstance(entry, dict) and "data_files" in entry]


def _parts(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The splits of a config with their paths. What names no split is `train`, as for the hub."""
    files = entry.get("data_files") or []
    parts = files if isinstance(files, list) else [files]
    return [part if isinstance(part, dict) else {"split": "train", "path": part} for part in parts]


def _declared(entry: Mapping[str, Any], split: str) -> list[str]:
    """The patterns of the files of a split."""
    paths = [part.get("path") for part in _parts(entry) if str(part.get("split", "train")) == split]
    flat = [name for path in paths for name in (path if isinstance(path, list) else [path])]
    below = entry.get("data_dir")
    return [f"{below}/{name}" if below else str(name) for name in flat if name]


def _default_patterns(config: str | None, split: str) -> list[str]:
    """Where the files of a split lie in a repository whose card does not say."""
    folders = [f"{config}/"] if config not in (None, "default") else ["", "data/"]
    return [
        f"{folder}{split}{form}.{ending}"
        for folder in folders
        for form in ("", "-*", "/*")
        for ending in TABLES
    ]


def _fetched(repository: str, commit: str, patterns: Sequence[str], online: bool) -> Path:
    """The folder of a commit in the hub's cache, with the files that fit one of the patterns."""
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            repository,
            repo_type="dataset",
            revision=commit,
            allow_patterns=list(patterns),
            local_files_only=not online,
            endpoint=endpoint(),
        )
    )


ONLINE = "`gridc stamp` fetches it where there is a network"


def endpoint() -> str | None:
    """The address of the hub where it is another than the public one: `HF_ENDPOINT`, which the hub's client
    alone would read when it is imported and never again."""
    return os.environ.get("HF_ENDPOINT") or None


def _commit(repository: str, revision: str, online: bool) -> tuple[str | None, tuple[str, ...]]:
    """The commit of a branch: as the network has it, else as the hub's cache had it last, which is said."""
    from huggingface_hub.errors import HfHubHTTPError

    failure: Exception | None = None
    if online:
        try:
            return _resolve(repository, revision), ()
        except HfHubHTTPError:
            raise  # the hub has answered: there is no such branch, or it is not for everyone
        except Exception as error:  # no network
            failure = error
    commit = _cached(repository, revision)
    if commit is None and failure is not None:
        raise failure
    if commit is None:
        return None, ()
    return commit, (f"`{revision}` of {repository} is {commit[:12]}, as the hub's cache here has it",)


def _cached(repository: str, revision: str) -> str | None:
    """The commit that a branch had when it was last fetched; None where it never was."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    refs = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repository, repo_type="dataset") / "refs"
    try:
        commit = (refs / revision).read_text("utf-8").strip()
    except OSError:
        return None
    return commit if _COMMIT.fullmatch(commit) else None


def _resolve(repository: str, revision: str) -> str | None:
    from huggingface_hub import HfApi

    return HfApi(endpoint()).dataset_info(repository, revision=revision, timeout=10).sha


def _folder(repository: str, commit: str, name: str, online: bool) -> Path:
    from huggingface_hub import hf_hub_download

    if is_pattern(name):
        return _fetched(repository, commit, [name], online)
    path = hf_hub_download(
        repository,
        name,
        repo_type="dataset",
        revision=commit,
        local_files_only=not online,
        endpoint=endpoint(),
    )
    return Path(path).parents[len(PurePosixPath(name).parts) - 1]
