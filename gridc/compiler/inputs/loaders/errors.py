"""What a loader raises when a file is not in its format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridc.compiler.instrument.item import Item


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row (1-based) that does not follow the format, what is wrong with it, and the way out, where it is
    another than leaving the row out."""

    row: int
    problem: str
    help: str | None = None

    def __str__(self) -> str:
        return f"row {self.row}: {self.problem}"


class BadField(ValueError):
    """A field of a row that cannot be read, with the way out, where it is another than leaving the row
    out."""

    def __init__(self, problem: str, help: str) -> None:
        self.help = help
        super().__init__(problem)


class Malformed(ValueError):
    """The rows of a file that do not follow its format, and the items of those that do.

    `readable` says whether the file could be read to its end, so that the bad rows may be left out.
    """

    def __init__(self, rows: Sequence[BadRow], items: Sequence["Item"] = (), readable: bool = False) -> None:
        self.rows = tuple(rows)
        self.items = tuple(items)
        self.readable = readable
        super().__init__("; ".join(str(row) for row in self.rows))


class Misread(ValueError):
    """What a spec says of a file and the file contradicts or leaves open; `path` leads to the key below
    `loading` that is to blame."""

    def __init__(self, code: str, path: tuple[str | int, ...], problem: str, help: str) -> None:
        self.code, self.path, self.problem, self.help = code, path, problem, help
        super().__init__(problem)
