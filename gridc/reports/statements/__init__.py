"""The shelf: everything that a report says in sentences, made once, the most important first.

What makes a statement says where it stands: in which part of a document, and where among that part's
(`of_study`, `of_benchmark`); terminal, page, certificate and card choose among the parts. What is said of a
kind of hypothesis stands in the kind's own module (`findings.hypotheses`). The corners in which each must not
be said are in `tests/reports/test_statements.py`, and docs/registries.md lists all in their order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, product

from gridc.reports.findings.findings import Findings
from gridc.reports.statements.pairs import verdicts
from gridc.reports.statements.statement import SHELF, BenchmarkStatement, DocumentPart, ShelfRow, Statement


def choose(findings: Findings, *wanted: DocumentPart) -> Iterator[tuple[ShelfRow, Statement]]:
    """The statements of some parts (none named: of all), each with its row, in the order of the shelf."""
    rows = (row for row in SHELF.values() if not wanted or row.part in wanted)
    for _, neighbours in groupby(rows, key=type):
        of_benchmark = []
        for row in neighbours:
            if isinstance(row, BenchmarkStatement):
                of_benchmark.append(row)
            else:
                yield from ((row, statement) for statement in row.say(findings))
        for benchmark, row in product(findings.benchmarks, of_benchmark) if of_benchmark else ():
            yield from ((row, statement) for statement in row.say(findings, benchmark))


def statement_texts(findings: Findings, *wanted: DocumentPart) -> list[str]:
    """Their texts."""
    return [statement.text for _, statement in choose(findings, *wanted)]


def brief(findings: Findings, *wanted: DocumentPart) -> list[str]:
    """The short forms of the same sentences, in the same order."""
    return [statement.brief for _, statement in choose(findings, *wanted)]


def urgent(findings: Findings) -> list[Statement]:
    """What a reader has to know before any number."""
    return [statement for row, statement in choose(findings) if row.urgent]


@dataclass(frozen=True, slots=True)
class ClaimScope:
    """Everything that a report says, in short form, by how far it is claimed: `supported` for other items of
    the same kind, `suggestive` for these items only, and `not_claimed`: open predictions, limits, and what
    the study does not vary."""

    supported: tuple[str, ...]
    suggestive: tuple[str, ...]
    not_claimed: tuple[str, ...]


def claim_scope(findings: Findings) -> ClaimScope:
    """By the strength of each statement. A verdict of an exploratory study suggests what to predict next."""
    study = findings.plan.study.spec.study
    said: dict[str, list[str]] = {"supported": [], "suggestive": [], "not_claimed": []}
    for row, statement in choose(findings):
        confirms = study.purpose != "exploratory" or row.say is not verdicts
        if statement.backing in ("open", "limit"):
            place = "not_claimed"
        elif statement.backing == "descriptive" or not confirms:
            place = "suggestive"
        else:
            place = "supported"
        said[place].append(statement.brief)
    varied = [f"Not varied: {dimension}." for dimension in study.not_varied]
    return ClaimScope(tuple(said["supported"]), tuple(said["suggestive"]), (*said["not_claimed"], *varied))
