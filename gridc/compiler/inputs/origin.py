"""How a study was called up, so that a message can name a command that works where it is read."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Origin(NamedTuple):
    """A spec, and the folders of data and models that it was read with."""

    spec: Path
    data: Path | None = None
    models: Path | None = None

    def arguments(self) -> list[str]:
        """As the command line takes them; what is its default, or in the environment, is left out."""
        named = [] if self.spec == Path("gridcard.toml") else [str(self.spec)]
        for option, folder in (("data", self.data), ("models", self.models)):
            if folder is not None and os.environ.get(f"GRIDC_{option.upper()}") != str(folder):
                named += [f"--{option}", str(folder)]
        return named


def show_command(origin: Origin | None, place: Mapping[str, str], item: str | None = None) -> str:
    """The `gridc show` of an item at a place of the grid (dimension -> name), as a shell takes it."""
    words = ["gridc", "show", *(origin.arguments() if origin else [])]
    if item is not None:
        words += [f"--item={item}"] if item.startswith("-") else ["--item", item]
    if place:
        words += ["--where", ",".join(f"{dimension}={name}" for dimension, name in place.items())]
    return shlex.join(words)
