"""The type of a report's statements, and the registry of the functions that make them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from gridc.registry import Registry
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.schema.rows import Tier

DocumentPart = Literal["leading", "rates", "falsification", "variance", "curves", "labels", "limits"]
"""Where in a document a statement stands; each document takes the parts that it shows."""
Backing = Tier | Literal["open", "limit"]
"""How strong the evidence behind a statement is. `open`: it says of a prediction that nothing is decided; a
`limit` says what the others do not show."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a report, or a few that belong together. `about` names what its numbers are of, as the
    certificate has it: a benchmark, a pair of models and their benchmark, a hypothesis, a curve, a sheet;
    nothing where they are of the study. `short` says it as one would to a colleague, without the method;
    empty where `text` is as short."""

    text: str
    backing: Backing = "descriptive"
    about: tuple[str, ...] = ()
    short: str = ""

    @property
    def brief(self) -> str:
        return self.short or self.text


SayOfStudy = Callable[[Findings], Iterator[Statement]]
SayOfBenchmark = Callable[[Findings, BenchmarkFinding], Iterator[Statement]]


@dataclass(frozen=True, slots=True)
class StudyStatement:
    """A row of the shelf: what is said of a study, in `part` of its documents. What is `urgent` stands before
    every number that it is about."""

    name: str
    part: DocumentPart
    say: SayOfStudy
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkStatement:
    """Like `StudyStatement`, for each benchmark. Neighbouring rows finish one benchmark before the next."""

    name: str
    part: DocumentPart
    say: SayOfBenchmark
    urgent: bool = False


ShelfRow = StudyStatement | BenchmarkStatement
SHELF: Registry[ShelfRow] = Registry("gridc.reports.statements")
PARTS: tuple[DocumentPart, ...] = get_args(DocumentPart)


def of_study(
    name: str, part: DocumentPart, place: int, urgent: bool = False
) -> Callable[[SayOfStudy], SayOfStudy]:
    """Puts what makes a statement on the shelf, at a `place` among those of its part."""

    def register(say: SayOfStudy) -> SayOfStudy:
        SHELF.add(name, PARTS.index(part), place)(StudyStatement(name, part, say, urgent))
        return say

    return register


def of_benchmark(
    name: str, part: DocumentPart, place: int, urgent: bool = False
) -> Callable[[SayOfBenchmark], SayOfBenchmark]:
    """Like `of_study`, for what is said about each benchmark."""

    def register(say: SayOfBenchmark) -> SayOfBenchmark:
        SHELF.add(name, PARTS.index(part), place)(BenchmarkStatement(name, part, say, urgent))
        return say

    return register
