"""What each model scores on every category of items, and how long its answers are.

They stand beside the order of models: means of what was asked, without tests. The configurations are those
that the order averages, each counting as much as another.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gridc.reports.findings.findings import BENCHMARKS, BenchmarkFinding
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore
from gridc.runtime.recording import NO_ANSWER, NOT_LOGGED
from gridc.schema.rows import BreakdownRow, CategoryRow, ModelBreakdownRow
from gridc.statistics.reproducibility import decimals

FEWEST_MODELS = 3
"""Models from which there is an order to break down."""
MOST_CATEGORIES = 40
"""A field with more values is no category of items."""


class _CellParts(NamedTuple):
    """The mean score of a cell by category (None where it asks no item of it), the answers that are texts,
    how often each, and the items that each was given to."""

    means: Sequence[float | None]
    texts: Counter[str]
    given: Mapping[str, set[str]]


LONG, FEWEST_ITEMS = 40, 5
"""Characters from which an answer is no label or number, and items from which the same one is no chance."""


def repeats_itself(row: ModelBreakdownRow) -> bool:
    """Whether a model gives one and the same long text to half of the items or more."""
    repeated = row.commonest >= FEWEST_ITEMS and 2 * row.commonest >= row.items
    return repeated and row.commonest_length >= LONG


def breakdowns(record: RunRecord) -> tuple[BreakdownRow, ...]:
    """Of each benchmark with an order of three or more models."""
    rows = (_of_benchmark(record, benchmark) for benchmark in record[BENCHMARKS])
    return tuple(row for row in rows if row is not None)


def _of_benchmark(record: RunRecord, benchmark: BenchmarkFinding) -> BreakdownRow | None:
    standings = benchmark.standings
    if standings is None or len(standings.order) < FEWEST_MODELS:
        return None
    sampled = record.plan.study.items[benchmark.benchmark].sampled
    of_item = {item.id: item.category for item in sampled}
    sizes = Counter(of_item.values())
    categories = sorted(sizes) if "" not in sizes and 1 < len(sizes) <= MOST_CATEGORIES else []
    models = []
    for place in standings.order:
        own = [
            _parts(record, score, of_item, categories)
            for score in benchmark.cells
            if score.cell.model == place.model and score.cell.configuration in standings.over
        ]
        texts = sum((parts.texts for parts in own), Counter[str]())
        answers = texts.total()
        # By items: one that is asked again, or in several ways, may well be answered alike.
        given: dict[str, set[str]] = {}
        for parts in own:
            for one, items in parts.given.items():
                given.setdefault(one, set()).update(items)
        # Of several that are as common the shortest, the first by its letters.
        text = min(given, key=lambda one: (-len(given[one]), len(one), one), default="")
        models.append(
            ModelBreakdownRow(
                model=place.model,
                by_category=tuple(_mean([parts.means[at] for parts in own]) for at in range(len(categories))),
                length=decimals(sum(len(one) * times for one, times in texts.items()) / answers)
                if answers
                else None,
                answers=answers,
                items=len(set().union(*given.values())),
                commonest=len(given.get(text, ())),
                commonest_length=len(text),
            )
        )
    if not categories and not any(row.answers for row in models):
        return None
    return BreakdownRow(
        benchmark=benchmark.benchmark,
        categories=tuple(CategoryRow(category=name, items=sizes[name]) for name in categories),
        models=tuple(models),
    )


def _parts(
    record: RunRecord, score: CellScore, of_item: dict[str, str], categories: Sequence[str]
) -> _CellParts:
    earned, asked, texts = Counter[str](), Counter[str](), Counter[str]()
    given: dict[str, set[str]] = {}
    for row in record.store.responses_of(record.plan.study_digest, score.cell.key):
        earned[of_item[row.item]] += row.score
        asked[of_item[row.item]] += 1
        if row.text is not None and row.text not in (NO_ANSWER, NOT_LOGGED):
            texts[row.text] += 1
            given.setdefault(row.text, set()).add(row.item)
    return _CellParts(
        [earned[name] / (score.scale * asked[name]) if asked[name] else None for name in categories],
        texts,
        given,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return decimals(sum(known) / len(known)) if known else None


BREAKDOWNS: Finding[tuple[BreakdownRow, ...]] = Finding(
    "breakdowns",
    breakdowns,
    absent=(),
    about="What each model scores on every category of items, and how long its answers are.",
)
