"""What differs between two specs, two locks, a spec and a lock, or two stores."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.lock.deviations import PathDifference, path_differences, read_document, shortened_json
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.findings.store_diff import CellDifference, StoreDiff, diff_stores
from gridc.reports.rendering import in_configurations
from gridc.schema.certificate import PairedRow
from gridc.statistics.paired_runs import LevelSummary
from gridc.study.notebook import InNotebook
from gridc.study.place import operand

__all__ = [
    "CellDifference",
    "LevelSummary",
    "PathDifference",
    "StoreDiff",
    "StudyDiff",
    "diff",
    "shortened_json",
]


@dataclass(frozen=True, slots=True)
class StudyDiff(InNotebook):
    """Two sides, compared: `differences` of documents path by path, or `stores` cell by cell."""

    differences: tuple[PathDifference, ...] = ()
    stores: StoreDiff | None = None

    @property
    def equal(self) -> bool:
        return not self.differences if self.stores is None else self.stores.equal

    @property
    def paired(self) -> PairedRow | None:
        """The paired report of two stores (SafetyRepro, app. O)."""
        return None if self.stores is None else self.stores.paired.as_written()

    @property
    def orders(self) -> str | None:
        """What it says of the models' orders, in a sentence."""
        return None if self.paired is None else in_configurations(self.paired)

    def as_json(self) -> dict[str, Any]:
        if self.stores is None or self.paired is None:
            differences = [difference.as_json() for difference in self.differences]
            return {"kind": "document", "equal": self.equal, "differences": differences}
        return {
            "kind": "store",
            "equal": self.equal,
            **asdict(self.stores),
            "settings": [setting.as_json() for setting in self.stores.settings],
            "paired": self.paired.model_dump(mode="json"),
        }


def diff(a: str, b: str) -> StudyDiff:
    """Compare two paths. A store that holds several studies is followed by @STAMP, the first letters of one;
    a folder stands for the store.sqlite or the gridcard.toml in it."""
    (left, one), (right, other) = operand(a), operand(b)
    stores = [_is_store(path) for path in (left, right)]
    if stores[0] != stores[1]:
        message = f"`{a}` and `{b}` cannot be compared: only one is a store"
        raise UsageError([Diagnostic("GC000", message, help="compare a store with a store")])
    if stores[0]:
        return StudyDiff(stores=diff_stores(left, right, (one, other)))
    return StudyDiff(tuple(path_differences(read_document(left), read_document(right))))


def _is_store(path: Path) -> bool:
    if not path.is_file():
        return path.suffix in (".sqlite", ".db")
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"
