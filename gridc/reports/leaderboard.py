"""The table of places of a page with many models: one line for each model."""

from collections.abc import Iterator
from dataclasses import dataclass

from gridc.reports import figures
from gridc.reports.findings.breakdowns import BREAKDOWNS, repeats_itself
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.verdicts import VERDICTS
from gridc.reports.statements.standings import tie_letters, tied
from gridc.schema.rows import BreakdownRow, MajorityRow, ModelBreakdownRow, PlaceRow, StandingsRow


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """A model with its places: the letters of its tie groups, those it cannot be told apart from, the models
    of a lower mean that do better on most units, and what is known of its answers."""

    place: PlaceRow
    letters: str
    tied: tuple[str, ...]
    majorities: tuple[MajorityRow, ...]
    answers: ModelBreakdownRow | None

    @property
    def length(self) -> float | None:
        return None if self.answers is None else self.answers.length

    @property
    def repeated(self) -> bool:
        """Whether it gives one long answer again and again."""
        return self.answers is not None and repeats_itself(self.answers)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The models of a benchmark in order. `pairs` is the matrix of who is told apart; `parts` the scores by
    category, where items have some."""

    benchmark: BenchmarkFinding
    standings: StandingsRow
    lines: tuple[LeaderboardLine, ...]
    pairs: figures.Figure
    parts: BreakdownRow | None

    @property
    def lengths(self) -> bool:
        """Whether the length of answers is known."""
        return any(line.length is not None for line in self.lines)


def leaderboards(findings: Findings) -> dict[str, Leaderboard]:
    """By benchmark, of those with an order of models."""
    parts = {row.benchmark: row for row in findings[BREAKDOWNS]}
    return {
        benchmark.benchmark: _leaderboard(benchmark, benchmark.standings, parts.get(benchmark.benchmark))
        for benchmark in findings.benchmarks
        if benchmark.standings is not None
    }


def begins_with(findings: Findings) -> Iterator[str]:
    """The benchmarks of which the report begins with the order: those with more pairs than verdicts tell."""
    family = findings[VERDICTS]
    for benchmark in findings.benchmarks:
        if family is not None and benchmark.benchmark in family.untold and benchmark.standings is not None:
            yield benchmark.benchmark


def _leaderboard(
    benchmark: BenchmarkFinding, standings: StandingsRow, parts: BreakdownRow | None
) -> Leaderboard:
    named, others = tie_letters(standings), tied(standings)
    answers = {} if parts is None else {row.model: row for row in parts.models}
    lines = tuple(
        LeaderboardLine(
            place,
            named[place.model],
            tuple(others[place.model]),
            tuple(
                sorted(
                    (row for row in standings.majorities if row.higher == place.model),
                    key=lambda row: -row.units,
                )
            ),
            answers.get(place.model),
        )
        for place in standings.order
    )
    return Leaderboard(
        benchmark,
        standings,
        lines,
        figures.pairs_told_apart(benchmark.benchmark, standings),
        parts if parts is not None and parts.categories else None,
    )
