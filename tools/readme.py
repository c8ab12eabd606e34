"""The README as a package index shows it, where there is no docs/: hatchling calls this."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)")
"""A picture or a link to a file of this repository."""


class AbsoluteLinks(MetadataHookInterface):
    """Links of the README lead to the repository as it is at the tag of this version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Raises `KeyError` where pyproject.toml does not say where the repository is."""
        repository, version = metadata["urls"]["Repository"], metadata["version"]

        def absolute(link: re.Match[str]) -> str:
            picture, words, path = link.groups()
            return f"{picture}{words}({repository}/{'raw' if picture else 'blob'}/v{version}/{path})"

        text = LINK.sub(absolute, (Path(self.root) / "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
