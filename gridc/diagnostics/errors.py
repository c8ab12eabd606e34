"""Everything that gridc can say is wrong, and the exit code each kind of failure has.

    GridcError                a failure a user can act on; carries diagnostics
    ├── UsageError      (2)   the command line asks for something that does not exist
    ├── SpecError       (3)   the spec, or a file it names, is invalid
    ├── StampError      (4)   the lock is missing, damaged, or not what the spec says
    ├── HazardError     (5)   the instrument would not measure what it is said to measure
    ├── IncompleteError (6)   what was asked for could not be finished here
    │   ├── StoreError        a store is absent, damaged, in use, or holds no such run
    │   ├── UnavailableError  a package, a model, memory or a feature that the run needs is not there
    │   └── FileError         a model card, a card or another file cannot be read or written as it is
    ├── VerificationError (7) a recomputed value is not the recorded one
    └── BudgetError     (8)   a cap of [budget] would have been passed

A diagnostic has a stable code from `gridc.diagnostics.codes`. Codes are never reused for another meaning.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import ClassVar

from gridc.diagnostics.codes import CODES


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text file: 1-based line and column, and how many characters it covers."""

    line: int
    column: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and the way out. `line` is the text of the line it starts on."""

    code: str
    message: str
    file: str | None = None
    span: Span | None = None
    help: str | None = None
    line: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is not in the catalogue of codes")

    @property
    def place(self) -> str:
        """`file:line:column`, as editors and terminals link it."""
        if self.file is None:
            return ""
        return self.file if self.span is None else f"{self.file}:{self.span.line}:{self.span.column}"

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"title": CODES[self.code].title}


class GridcError(Exception):
    """Base of all failures that are reported to the user as diagnostics."""

    exit_code: ClassVar[int] = 1

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(
            "; ".join(f"{diagnostic.code} {diagnostic.message}" for diagnostic in self.diagnostics)
        )

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the diagnostics, as the command line prints them. (IPython asks for it.)"""
        from gridc.diagnostics.printed import diagnostics

        return diagnostics(self.diagnostics).split("\n")

    def __reduce__(self) -> tuple[type["GridcError"], tuple[tuple[Diagnostic, ...]]]:
        """A failure may come from another process."""
        return type(self), (self.diagnostics,)


class UsageError(GridcError):
    exit_code = 2


class SpecError(GridcError):
    exit_code = 3


class StampError(GridcError):
    exit_code = 4


class HazardError(GridcError):
    exit_code = 5


class IncompleteError(GridcError):
    exit_code = 6


class StoreError(IncompleteError):
    pass


class UnavailableError(IncompleteError):
    pass


class FileError(IncompleteError):
    pass


class VerificationError(GridcError):
    exit_code = 7


class BudgetError(GridcError):
    exit_code = 8


@dataclass(slots=True)
class Collector:
    """Gathers the diagnostics of one stage, so that all of them are reported and not the first."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def raise_if_any(self) -> None:
        if self.diagnostics:
            raise SpecError(self.diagnostics)
