"""Where the files of a model lie on this machine: its own folder, or the hub's cache."""

from pathlib import Path

from huggingface_hub import snapshot_download

from gridc.compiler.inputs.dataset_hub import endpoint
from gridc.compiler.inputs.models import PATTERNS, ModelIdentity
from gridc.diagnostics.errors import Diagnostic, UnavailableError


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
