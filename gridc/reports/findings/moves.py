"""What a single choice moves: how far one model's score or rate goes when one axis alone changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.scores import CellScore
from gridc.reports.findings.verdicts import SCORE
from gridc.schema.inference import rate_kind


def values_of(benchmark: BenchmarkFinding, what: str) -> Mapping[tuple[str, str], Fraction]:
    """The value of each (model, configuration) that is measured."""
    if what == SCORE:
        return {
            (score.cell.model, score.cell.configuration): score.score
            for score in benchmark.cells
            if score.cell.shared and score.score is not None
        }
    rate = next(rate for rate in benchmark.rates if rate.name == what)
    return {place: value.value for place, value in rate.values.items() if value.value is not None}


@dataclass(frozen=True, slots=True)
class LargestMove:
    """How far changing one axis alone moves one model's score or rate, from one configuration to another;
    `unread` is the share of unreadable answers there, and `asked` how many items count."""

    benchmark: str
    what: str
    model: str
    axis: str
    left: str
    right: str
    before: Fraction
    after: Fraction
    unread: Fraction
    asked: int

    @property
    def points(self) -> float:
        return 100 * abs(float(self.after - self.before))


def largest_move(findings: Findings) -> LargestMove | None:
    """The largest one of the study that begins at the reference configuration; None where there is one
    configuration."""
    moves = [
        move
        for benchmark in findings.benchmarks
        for what in _quantities(benchmark)
        for move in _moves(benchmark, what)
    ]
    return max(moves, key=lambda move: move.points, default=None)


def _moves(benchmark: BenchmarkFinding, what: str) -> Iterator[LargestMove]:
    values = values_of(benchmark, what)
    shared = [score for score in benchmark.cells if score.cell.shared]
    levels = {score.cell.configuration: score.cell.levels for score in shared}
    read = {(score.cell.model, score.cell.configuration): score.parse_rate for score in shared}
    for found in benchmark.models:
        model, anchor = found.model, found.anchor.cell
        before = values.get((model, anchor.configuration))
        for where, other in levels.items():
            changed = [axis for axis in anchor.levels if anchor.levels[axis] != other[axis]]
            after = values.get((model, where))
            if len(changed) == 1 and before is not None and after is not None:
                (axis,) = changed
                sides = anchor.levels[axis], other[axis]
                parsed = read[model, where]
                unread = Fraction(0) if parsed is None else 1 - parsed
                change, asked = (axis, *sides, before, after), _asked(benchmark, what, found.anchor)
                yield LargestMove(benchmark.benchmark, what, model, *change, unread, asked)


def _quantities(benchmark: BenchmarkFinding) -> list[str]:
    """The errors that a score hides, or else the score."""
    return [rate.name for rate in benchmark.rates if rate_kind(rate.name).beside_score] or [SCORE]


def _asked(benchmark: BenchmarkFinding, what: str, anchor: CellScore) -> int:
    """How many items a quantity counts for the model of `anchor`."""
    if what == SCORE:
        return anchor.trials // anchor.cell.setting.outcomes_of_item
    rate = next(rate for rate in benchmark.rates if rate.name == what)
    counts = rate.values[anchor.cell.model, anchor.cell.configuration].counts
    return counts["asked"] // (counts.get("scale", 1) * anchor.cell.setting.outcomes_of_item)
