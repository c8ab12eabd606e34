"""All errors that gridc can report: codes, diagnostics, exit codes, and how they are printed.

What is said of a code (what it means, why gridc cares, the way out, and for some an example) stands in the
`codes.toml` of the room that raises it; all of them together are the catalogue. They are data, so that a code
is explained without importing what raises it.

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
    ├── BudgetError     (8)   a cap of [budget] would have been passed
    └── UnreadError    (12)   most of the first answers of a model cannot be read

A diagnostic has a stable code of the catalogue. Codes are never reused for another meaning.
"""

import json
import re
import textwrap
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, Protocol

from gridc.diagnostics.secrets import masked

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Code:
    """A catalogue entry: a one-line title, the long form that `gridc explain` prints, and a part of a spec
    in which what is wrong is marked `# not:` and what is right `# but:`."""

    title: str
    explanation: str
    example: str | None = None


class Catalogue(Mapping[str, Code]):
    """Every code, in order. The rooms are read when the first one is looked up, which most commands never do.

    Raises `ValueError` where two rooms explain one code.
    """

    @cached_property
    def _codes(self) -> dict[str, Code]:
        by_code: dict[str, Code] = {}
        for room in PACKAGE.rglob("codes.toml"):
            for code, stated in tomllib.loads(room.read_text("utf-8")).items():
                if code in by_code:
                    raise ValueError(f"{code} is explained twice, once in {room.relative_to(PACKAGE)}")
                explanation = " ".join(stated["explanation"].split())
                by_code[code] = Code(stated["title"], explanation, stated.get("example"))
        return dict(sorted(by_code.items()))

    def __getitem__(self, code: str) -> Code:
        return self._codes[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


CODES = Catalogue()


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text file: 1-based line and column, and how many characters it covers."""

    line: int
    column: int
    length: int = 1


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what is wrong, where, and the way out. `line` is the text of the line it starts on. Keys
    that stand in any of these are masked."""

    code: str
    message: str
    file: str | None = None
    span: Span | None = None
    help: str | None = None
    line: str | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is not in the catalogue of codes")
        for name in ("message", "file", "help", "line"):
            text = getattr(self, name)
            if text is not None:
                object.__setattr__(self, name, masked(text))

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


class UnreadError(GridcError):
    exit_code = 12


@dataclass(slots=True)
class Collector:
    """Gathers the diagnostics of one stage, so that all of them are reported and not the first."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def raise_if_any(self) -> None:
        if self.diagnostics:
            raise SpecError(self.diagnostics)


WIDTH = 90


def code_text(code: str) -> str:
    """As `gridc explain` prints it."""
    entry = CODES[code]
    paragraphs = [f"{code}: {entry.title}", textwrap.fill(entry.explanation, WIDTH)]
    if entry.example is not None:
        paragraphs.append(textwrap.indent(entry.example.strip("\n"), "    "))
    return "\n\n".join(paragraphs)


def code_markdown(code: str) -> str:
    """The same for code scanning services and documents."""
    entry = CODES[code]
    example = "" if entry.example is None else f"\n\n```toml\n{entry.example.strip()}\n```"
    return f"{entry.explanation}{example}"


KeyPath = tuple[str | int, ...]
"""Where a value lies in the parsed document: `("axis", 0, "level", 2, "id")`."""


DECEIVING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line ends, and those that turn the direction of writing."""


def visible(text: str) -> str:
    """The text on one line, with a picture for each character that would be obeyed."""
    return text if text.isprintable() else "".join(map(_picture, text))


def _picture(character: str) -> str:
    if ord(character) < 32:
        return chr(0x2400 + ord(character))
    return "\ufffd" if DECEIVING.match(character) or character in "\x85\u2028\u2029" else character


_BEYOND_ASCII = re.compile(r"[^\x20-\x7e\n]")
_OBEYED = frozenset(["Cc", "Cf", "Zl", "Zp", "Cs"])
"""Categories of characters that a terminal obeys or that nobody sees."""


def json_text(document: Any, indent: int | None = None) -> str:
    """A document as JSON that reads back the same. Each character that would be obeyed is escaped."""
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return _BEYOND_ASCII.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return json.dumps(character)[1:-1] if unicodedata.category(character) in _OBEYED else character


_BREAKING = re.compile(rf"{DECEIVING.pattern}|[\x85\u2028\u2029]|\r(?!\n)")


def unobeyed(text: str) -> str:
    """The text with its tabs and line ends, and each character that would be obeyed as JSON escapes it. What
    joins letters or emoji stays: no terminal obeys it, and words need it."""
    return _BREAKING.sub(lambda found: json.dumps(found.group())[1:-1], text)


class Paint(Protocol):
    """Colours a text (`fg`, `bold`), where that can be seen."""

    def __call__(self, text: str, **style: Any) -> str: ...


def unpainted(text: str, **style: Any) -> str:
    """The text as it is."""
    return text


def diagnostic(finding: Diagnostic, paint: Paint = unpainted) -> str:
    """One finding. What came from files is shown, never obeyed."""
    code = paint(f"error[{finding.code}]", fg="red", bold=True)
    lines = [f"{code}: {paint(visible(finding.message), bold=True)}"]
    if finding.file is not None:
        lines.append(f"  {paint('-->', fg='blue')} {visible(finding.place)}")
    if finding.line is not None and finding.span is not None:
        number, gap = str(finding.span.line), " " * len(str(finding.span.line))
        room = max(1, len(finding.line) - finding.span.column + 1)
        caret = " " * (finding.span.column - 1) + "^" * min(finding.span.length, room)
        lines += [f"{gap} |", f"{number} | {visible(finding.line)}", f"{gap} | {paint(caret, fg='red')}"]
    if finding.help:
        lines.append(f"   = {paint('help', fg='green')}: {visible(finding.help)}")
    return "\n".join(lines)


def diagnostics(findings: Sequence[Diagnostic], limit: int = 50, paint: Paint = unpainted) -> str:
    """All findings, or the first ones and how many there are of each further code."""
    text = "\n\n".join(diagnostic(finding, paint) for finding in findings[:limit])
    rest = sorted(finding.code for finding in findings[limit:])
    more = ", ".join(f"{len(list(same))} more {code}" for code, same in groupby(rest))
    codes = ", ".join(dict.fromkeys(finding.code for finding in findings))
    closing = f"{more} (--json lists all)" if more else ""
    return "\n\n".join(filter(None, [text, closing, f"`gridc explain CODE` says more about {codes}"]))
