"""A folder that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gridc.diagnostics.errors import Diagnostic, UsageError


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A draft that becomes the folder when the context ends well, and of which nothing is left when it does
    not. Raises `UsageError` (GC000) where there is something already."""
    if target.exists():
        message = "the folder exists already, and nothing is written over"
        raise UsageError([Diagnostic("GC000", message, str(target))])
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield draft
        draft.chmod(0o755)
        os.replace(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
