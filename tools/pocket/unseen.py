"""The check that the benchmarks are held out: none of their questions is in any training text."""

from pathlib import Path

from gridc.compiler.inputs.loaders.parsing import LOADERS, File
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Loading

BENCHMARKS = Path(__file__).resolve().parents[2] / "gridc" / "builtin" / "benchmarks"
FILES = {"pocket_bbq.jsonl": "bbq", "pocket_truthfulqa.json": "truthfulqa_mc1"}
"""Each benchmark file, and the gridc loader that reads it."""


class Leak(ValueError):
    """A question of a benchmark is about to be taught."""


def items_of(file: str) -> list[Item]:
    """A benchmark's items, as gridc reads them."""
    return LOADERS[FILES[file]](File(file, (BENCHMARKS / file).read_bytes()), Loading())


class Guard:
    """Lets only those texts pass that hold no item's stem."""

    def __init__(self) -> None:
        self._stems = sorted({item.stem for file in FILES for item in items_of(file)})

    def passed(self, text: str) -> str:
        """The text itself. Raises `Leak`."""
        for stem in self._stems:
            if stem in text:
                raise Leak(stem)
        return text
