"""The tables of a report in LaTeX, for papers: pairs, ranges, tests and the scorecard's."""

from collections.abc import Iterator

from gridc.numbers import number, percent
from gridc.reports.printed import Printed, as_latex
from gridc.reports.scorecard.tables import scorecard_tables
from gridc.schema.card import CardDeck
from gridc.schema.certificate import Certificate
from gridc.schema.scorecard import Scorecard


def as_tex(certificate: Certificate, deck: CardDeck, card: Scorecard) -> str:
    """A file to `\\input`, every table with a label of its own."""
    tables = [*_pairs(certificate), _ranges(deck), _tests(certificate), *scorecard_tables(card)]
    return as_latex(tables, f"Tables of {certificate.study}, stamp {certificate.stamp}")


def _pairs(certificate: Certificate) -> Iterator[Printed]:
    columns = ("a", "b", "N+", "N-", "N0", "|C|", "rho_flip", "certified", "supported", "on these items")
    for row in certificate.benchmarks:
        rows = tuple(
            (
                pair.a,
                pair.b,
                f"{pair.plus}",
                f"{pair.minus}",
                f"{pair.ties}",
                f"{pair.size}",
                f"{'≥ ' if pair.measured < pair.size else ''}{number(pair.rho_flip)}",
                pair.evidence.certified.claim or "nothing",
                pair.evidence.supported.claim or "nothing",
                pair.words,
            )
            for pair in row.scopes[0].pairs
        )
        yield Printed(
            f"pairs-{row.benchmark}", f"Pairs on {row.benchmark}", columns, rows, frozenset(columns[2:7])
        )


def _ranges(deck: CardDeck) -> Printed:
    columns = ("model", "benchmark", "configurations", "min", "mean", "max", "SDI")
    rows = tuple(
        (
            card.model,
            card.benchmark,
            f"{neighbourhood.configurations}",
            percent(neighbourhood.least),
            percent(neighbourhood.mean),
            percent(neighbourhood.greatest),
            percent(neighbourhood.sdi),
        )
        for card in deck.cards
        for neighbourhood in card.score_neighbourhood
        if neighbourhood.kind == "full"
    )
    return Printed("ranges", "Scores over the envelope", columns, rows, frozenset(columns[2:]))


def _tests(certificate: Certificate) -> Printed:
    columns = ("test", "criterion", "result", "worst value")
    rows = tuple(
        (row.test, row.criterion, row.result, "–" if row.value is None else number(row.value))
        for row in certificate.falsifications
    )
    return Printed("falsification", "Falsification tests", columns, rows, frozenset(columns[3:]))
