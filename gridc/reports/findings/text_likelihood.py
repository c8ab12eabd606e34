"""How likely texts are: bits per byte of each model, and the gaps between models on the same texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gridc.compiler.grid.cell import Cell
from gridc.compiler.instrument.methods import METHODS
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.schema.canonical import digest
from gridc.statistics.arrays import Floats
from gridc.statistics.unit_intervals import UnitEstimate, mean, ratio, smooth, unit_totals

BitsByItem = Mapping[str, tuple[float, int]]
"""By item its bits and bytes."""


@dataclass(frozen=True, slots=True)
class BitsPerByte:
    """A model's bits over all `texts` of a cell, and their `size` in bytes (UTF-8)."""

    model: str
    texts: int
    size: int
    value: UnitEstimate


@dataclass(frozen=True, slots=True)
class BitsGap:
    """Bits per byte of `a` less those of `b`, on the `texts` that both have a likelihood for."""

    a: str
    b: str
    texts: int
    value: UnitEstimate


@dataclass(frozen=True, slots=True)
class TextLikelihood:
    """A configuration of a benchmark in which texts are weighed; fewer bits are better."""

    benchmark: str
    configuration: str
    models: tuple[BitsPerByte, ...]
    gaps: tuple[BitsGap, ...]
    rows: str


def text_likelihoods(record: RunRecord) -> tuple[TextLikelihood, ...]:
    """Of every configuration that weighs texts, on those that have a likelihood so far."""
    by_place: dict[tuple[str, str], list[Cell]] = {}
    for cell in record.samples.cells:
        if METHODS[cell.setting.method].weighs:
            by_place.setdefault((cell.benchmark, cell.configuration), []).append(cell)
    return tuple(_findings(record, by_place))


def _findings(
    record: RunRecord, by_place: Mapping[tuple[str, str], Sequence[Cell]]
) -> Iterator[TextLikelihood]:
    for (benchmark, configuration), cells in by_place.items():
        units = record.plan.study.items[benchmark].units
        weighed: dict[str, BitsByItem] = {
            cell.model: {
                item: (bits, size)
                for item, bits, size in record.store.bits_of(record.plan.study_digest, cell.key)
            }
            for cell in cells
        }
        weighed = {model: texts for model, texts in weighed.items() if texts}
        models = tuple(
            BitsPerByte(
                model,
                len(texts),
                sum(size for _, size in texts.values()),
                mean(_totals(units, {item: (size, bits) for item, (bits, size) in texts.items()})),
            )
            for model, texts in weighed.items()
        )
        gaps = []
        for a, b in combinations(weighed, 2):
            both = {
                item: (size, bits - weighed[b][item][0])
                for item, (bits, size) in weighed[a].items()
                if item in weighed[b]
            }
            if both:
                gaps.append(BitsGap(a, b, len(both), smooth(_totals(units, both), ratio(1, 0))))
        rows = digest([[model, sorted(texts.items())] for model, texts in weighed.items()])
        if models:
            yield TextLikelihood(benchmark, configuration, models, tuple(gaps), rows)


def _totals(units: Mapping[str, str], columns: Mapping[str, tuple[float, float]]) -> Floats:
    """Both columns by unit."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(units[item], len(numbers)) for item in columns], dtype=np.int64)
    return unit_totals(places, list(columns.values()))


TEXT_LIKELIHOODS: Finding[tuple[TextLikelihood, ...]] = Finding("text_likelihoods", text_likelihoods, ())
