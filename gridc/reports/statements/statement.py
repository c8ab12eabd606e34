"""What a statement of a report is, and what a row of the shelf that makes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.schema.evidence import Tier

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


@dataclass(frozen=True, slots=True)
class OfStudy:
    """A row of the shelf: what is said of a study, in `part` of its documents. What is `urgent` stands before
    every number that it is about."""

    name: str
    part: DocumentPart
    say: Callable[[Findings], Iterator[Statement]]
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class OfBenchmark:
    """The same of each benchmark. Neighbours on the shelf say all of one benchmark before the next."""

    name: str
    part: DocumentPart
    say: Callable[[Findings, BenchmarkFinding], Iterator[Statement]]
    urgent: bool = False
