"""What each model scores, as a run ends with it. What only a report needs is not imported."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from gridc.numbers import ABSENT, amount, hundredths, interval_words, number
from gridc.reports.findings.conduct import count_endings, cut_off_words
from gridc.reports.findings.run_record import RunRecord
from gridc.reports.findings.summaries import SUMMARIES, StatedStatistic
from gridc.reports.scoreboard import Scoreboard as Scoreboard
from gridc.reports.scoreboard import ScoreboardRow as ScoreboardRow
from gridc.reports.scoreboard import of_record
from gridc.reports.words import units_words
from gridc.runtime.store.store import Store
from gridc.study.notebook import InNotebook
from gridc.study.place import Place


@dataclass(frozen=True, slots=True)
class ScoreboardReport(InNotebook):
    """What each model scores on each benchmark under the anchor. `complete` says whether the run is, and
    `cut_off` of which benchmarks answers ended at their budget, with how many."""

    benchmarks: tuple[Scoreboard, ...]
    complete: bool
    cut_off: tuple[str, ...]
    statistics: tuple[StatedStatistic, ...] = ()

    @property
    def statistic_rows(self) -> list[list[str]]:
        """A row of the statistics' names, then one for each model with its values and intervals: under the
        anchor, or under every configuration, each with a row of its own, where they are `FEW` or less. A cell
        is empty where a statistic is of other configurations."""
        places = list(dict.fromkeys(place for one in self.statistics for place in _shown_under(one)))
        several = len(places) > 1
        names = [_column(one) for one in self.statistics]
        rows = [["model", *(["configuration"] if several else []), *names]]
        for model in self.statistics[0].values if self.statistics else ():
            for place in places if several else [""]:
                shown = [
                    "" if several and place not in _configurations(one)
                    else _shown(one, model, place if several else one.anchor)
                    for one in self.statistics
                ]  # fmt: skip
                rows.append([model, *([place] if several else []), *shown])
        return rows

    @property
    def statistics_left(self) -> str:
        """What the rows leave out, in a sentence; empty where they have everything."""
        more = [one.id for one in self.statistics if len(_configurations(one)) > FEW]
        return f"{', '.join(more)} under the anchor; all configurations: estimates.json" if more else ""

    @property
    def sizes(self) -> tuple[str, ...]:
        """`80 of 120 items, in 11 templates`, of each benchmark."""
        return tuple(
            board.asked
            + ("" if board.unit in ("item", "question") else f", in {units_words(board.unit, board.units)}")
            for board in self.benchmarks
        )

    def as_json(self) -> dict[str, Any]:
        boards = [_score_rows(row) for row in self.benchmarks]
        stated = {"statistics": [asdict(summary) for summary in self.statistics]} if self.statistics else {}
        return {"complete": self.complete, "cut_off": list(self.cut_off), "benchmarks": boards, **stated}


FEW = 6
"""Configurations of a statistic that the terminal shows one by one."""


def _configurations(summary: StatedStatistic) -> list[str]:
    return list(dict.fromkeys(place for values in summary.values.values() for place in values))


def _shown_under(summary: StatedStatistic) -> list[str]:
    places = _configurations(summary)
    return places if len(places) <= FEW else [summary.anchor]


def _column(summary: StatedStatistic) -> str:
    """`f1 %`, `cost (US dollars)`."""
    unit = summary.unit if summary.unit in ("", "%", "pp") else f"({summary.unit})"
    return f"{summary.id} {unit}".strip()


def _shown(summary: StatedStatistic, model: str, place: str) -> str:
    found = summary.values[model].get(place)
    if found is None or found.value is None:
        return ABSENT
    form = hundredths if summary.unit in ("%", "pp") else amount if summary.unit else number
    span = "no interval" if found.interval is None else interval_words(found.interval, form)
    few = found.note if found.interval is not None else ""
    return f"{form(found.value)} ({', '.join(filter(None, (span, few, found.of_answers)))})"


def _score_rows(board: Scoreboard) -> dict[str, Any]:
    """A scoreboard with numbers for fractions, which JSON has none of."""

    def plain(value: Any) -> Any:
        if isinstance(value, Fraction):
            return float(value)
        if isinstance(value, Mapping):
            return {name: plain(part) for name, part in value.items()}
        return [plain(part) for part in value] if isinstance(value, list | tuple) else value

    numbers: dict[str, Any] = plain(asdict(board))
    return numbers


def scoreboard(place: Place) -> ScoreboardReport:
    """What the store shows now of each model under the anchor. Nothing is written."""
    compiled, *_ = place.reconciled()
    with Store.open(place.store(compiled)) as store:
        record = RunRecord(compiled, store)
        models = [model.id for model in record.plan.study.spec.model]
        endings = count_endings(models, store.endings(record.plan.study_digest))
        return ScoreboardReport(of_record(record), record.complete, cut_off_words(endings), record[SUMMARIES])
