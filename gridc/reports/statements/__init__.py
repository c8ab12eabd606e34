"""The shelf: everything that a report says in sentences, made once, the most important first.

A row names a statement, the part of a document where it stands, and what makes it; terminal, page,
certificate and card choose among the parts. What is said of a kind of hypothesis stands in the kind's own
module (`findings.hypotheses`). The corners in which each must not be said are in
`tests/reports/test_statements.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, product

from gridc.reports.findings.findings import Findings
from gridc.reports.statements import (
    components,
    conduct,
    curves,
    hypotheses,
    labels,
    many_levels,
    noise,
    pairs,
    rates,
    readings,
    text_likelihood,
    units,
)
from gridc.reports.statements.statement import DocumentPart, OfBenchmark, OfStudy, Statement

ShelfRow = OfStudy | OfBenchmark

SHELF: tuple[ShelfRow, ...] = (
    OfStudy("interim", "leading", conduct.interim, urgent=True),
    OfStudy("predated", "leading", conduct.predated, urgent=True),
    OfStudy("strongest_pair", "leading", pairs.strongest),
    OfStudy("readings_differ", "leading", pairs.readings_differ),
    OfStudy("claims", "leading", pairs.claims),
    OfStudy("hypothesis", "leading", hypotheses.verdicts),
    OfStudy("orders", "leading", pairs.orders),
    OfStudy("other_pairs", "leading", pairs.others),
    OfStudy("rate", "rates", rates.of_anchor),
    OfStudy("bits_per_byte", "rates", text_likelihood.of_models),
    OfStudy("falsification", "falsification", hypotheses.falsifications),
    OfStudy("shares_of_variance", "variance", components.shares),
    OfStudy("generalizability", "variance", components.generalizability),
    OfStudy("many_levels", "variance", many_levels.ranges),
    OfStudy("curve", "curves", curves.results),
    OfStudy("guesses", "labels", labels.guesses),
    OfStudy("people", "labels", labels.people),
    OfStudy("clock", "limits", conduct.clock, urgent=True),
    OfStudy("within_noise", "limits", noise.within, urgent=True),
    OfStudy("exploratory", "limits", conduct.exploratory),
    OfStudy("counts", "limits", pairs.limits),
    OfBenchmark("passed_over", "limits", units.passed_over),
    OfBenchmark("few_units", "limits", units.few),
    OfBenchmark("left_out", "limits", conduct.left_out, urgent=True),
    OfBenchmark("unreadable", "limits", readings.unreadable),
    OfBenchmark("failed", "limits", conduct.failed, urgent=True),
    OfBenchmark("cut_off", "limits", conduct.cut_off, urgent=True),
    OfBenchmark("endings", "limits", conduct.endings),
    OfStudy("drawn", "limits", conduct.drawn),
    OfStudy("shared_draws", "limits", conduct.shared),
    OfBenchmark("scoring", "limits", readings.scoring),
    OfStudy("judging", "limits", labels.judging),
    OfStudy("superseded", "limits", conduct.superseded),
    OfStudy("noise_floor", "limits", noise.floors),
    OfStudy("spread_of_draws", "limits", noise.spreads),
    OfStudy("reference", "limits", noise.references),
    OfStudy("uncomputed", "limits", conduct.uncomputed),
)


def choose(findings: Findings, *wanted: DocumentPart) -> Iterator[tuple[ShelfRow, Statement]]:
    """The statements of some parts (none named: of all), each with its row, in the order of the shelf."""
    rows = (row for row in SHELF if not wanted or row.part in wanted)
    for _, neighbours in groupby(rows, key=type):
        of_benchmark = []
        for row in neighbours:
            if isinstance(row, OfBenchmark):
                of_benchmark.append(row)
            else:
                yield from ((row, statement) for statement in row.say(findings))
        for benchmark, row in product(findings.benchmarks, of_benchmark) if of_benchmark else ():
            yield from ((row, statement) for statement in row.say(findings, benchmark))


def sentences(findings: Findings, *wanted: DocumentPart) -> list[str]:
    """Their texts."""
    return [statement.text for _, statement in choose(findings, *wanted)]


def brief(findings: Findings, *wanted: DocumentPart) -> list[str]:
    """The same in short, in the same order."""
    return [statement.brief for _, statement in choose(findings, *wanted)]


def urgent(findings: Findings) -> list[Statement]:
    """What has to be known before any number is read."""
    return [statement for row, statement in choose(findings) if row.urgent]


@dataclass(frozen=True, slots=True)
class ClaimScope:
    """Everything that a report says, in short, by how far it is claimed: `supported` for other items of the
    same kind, `suggestive` of these items alone, and `not_claimed`: what is open, what limits the rest, and
    what the study does not vary."""

    supported: tuple[str, ...]
    suggestive: tuple[str, ...]
    not_claimed: tuple[str, ...]


def claim_scope(findings: Findings) -> ClaimScope:
    """By the strength of each statement. A verdict of an exploratory study suggests what to predict next."""
    study = findings.plan.study.spec.study
    said: dict[str, list[str]] = {"supported": [], "suggestive": [], "not_claimed": []}
    for row, statement in choose(findings):
        confirms = study.purpose != "exploratory" or row.say is not hypotheses.verdicts
        if statement.backing in ("open", "limit"):
            place = "not_claimed"
        elif statement.backing == "descriptive" or not confirms:
            place = "suggestive"
        else:
            place = "supported"
        said[place].append(statement.brief)
    varied = [f"Not varied: {dimension}." for dimension in study.not_varied]
    return ClaimScope(tuple(said["supported"]), tuple(said["suggestive"]), (*said["not_claimed"], *varied))
