"""What a level does to single answers: how many change from the reference, and how far likelihoods move.

A score can stay while answers change: as many become right as become wrong, and wrong ones become other wrong
ones. Of two quantisations that is what is asked (Dutta et al. 2024, "Accuracy is not all you need").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.hypotheses.kind import Pair
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.setting import Setting
from gridc.reports.findings.findings import HYPOTHESES
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.schema.base import EVERYWHERE
from gridc.schema.canonical import digest
from gridc.schema.inference import MODELS, AnyHypothesis
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.paired_runs import divergence, mean_move
from gridc.statistics.unbounded_means import mean, mean_difference
from gridc.statistics.unit_intervals import UnitEstimate, share, unit_totals


@dataclass(frozen=True, slots=True)
class AnswerShift:
    """The answers to the same items under a level and under the reference of a hypothesis, all else the same.
    `compared` pairs are readable on both sides, `unread` are not; `changed` is the share of other answers,
    right or wrong. Of the `ranked` pairs with likelihoods `shift` is the mean distance of a candidate's
    log-likelihood, and `divergence` the mean of D(reference || level) of the candidates' shares, in nats;
    None without such."""

    hypothesis: str
    axis: str
    level: str
    reference: str
    compared: int
    unread: int
    changed: UnitEstimate
    ranked: int
    shift: UnitEstimate | None
    divergence: UnitEstimate | None
    rows: str


def answer_shifts(record: RunRecord) -> tuple[AnswerShift, ...]:
    """Answers that change under every level that a hypothesis compares with a reference; none while a run is
    incomplete."""
    return tuple(_shifts(record)) if record.complete else ()


def _shifts(record: RunRecord) -> Iterator[AnswerShift]:
    primary = record.plan.study.spec.analysis.primary
    for finding in record[HYPOTHESES]:
        hypothesis = finding.hypothesis
        for contrast in () if finding.effect is None else finding.effect.contrasts:
            axis, *_ = kind_of(hypothesis).axes(hypothesis)
            compared = Pair(axis, contrast.change.level, contrast.change.reference)
            cells = list(_pairs(record.samples.about(hypothesis.where, primary), compared))
            if cells and (shift := _shift(record, hypothesis, compared, cells)) is not None:
                yield shift


def _pairs(cells: Sequence[Cell], compared: Pair) -> Iterator[tuple[Cell, Cell]]:
    """Cells of the reference and of the level, all else the same, whose answers can be compared."""

    def level(cell: Cell) -> str:
        return {MODELS: cell.model, **cell.levels}[compared.dimension]

    def rest(cell: Cell) -> tuple[str, ...]:
        levels = {MODELS: cell.model, **cell.levels, "": cell.benchmark}
        return tuple(value for name, value in levels.items() if name != compared.dimension)

    references = {rest(cell): cell for cell in cells if level(cell) == compared.reference}
    for cell in cells:
        against = references.get(rest(cell)) if level(cell) == compared.level else None
        if against is not None and same_choices(against.setting, cell.setting):
            yield against, cell


def same_choices(one: Setting, other: Setting) -> bool:
    """Whether a choice of one is the same answer as that choice of the other, of items asked once."""
    methods = METHODS[one.method], METHODS[other.method]
    options = all(method.ranks or method.reads_option for method in methods)
    alike = one.match == other.match and one.judge == other.judge and methods[0].reads == methods[1].reads
    return (
        one.replicates == other.replicates == 1
        and not (one.gives_numbers or other.gives_numbers)
        and one.option_order == other.option_order
        and (options or alike)
    )


ComparedItem = tuple[str, str, tuple[float, ...]]
"""Benchmark, item, and what it adds to each total, of which the first counts it."""


def _shift(
    record: RunRecord, hypothesis: AnyHypothesis, compared: Pair, pairs: Sequence[tuple[Cell, Cell]]
) -> AnswerShift | None:
    cells = [cell for pair in pairs for cell in pair]
    seen = record.samples.of("score", cells, hypothesis.items or EVERYWHERE)
    units = dict(zip(seen.items, seen.units.tolist(), strict=True))
    read = [row for pair in pairs for row in _read(record, *pair) if row[:2] in units]
    ranked = [row for pair in pairs for row in _ranked(record, *pair) if row[:2] in units]
    answers = [row for row in read if row[2]]
    if not answers:
        return None

    def columns(rows: Sequence[ComparedItem]) -> tuple[Whole, Floats]:
        return np.array([units[row[:2]] for row in rows], np.int64), np.array([row[2] for row in rows])

    places, moved = columns(ranked)
    return AnswerShift(
        hypothesis.id,
        compared.dimension,
        compared.level,
        compared.reference,
        len(answers),
        len(read) - len(answers),
        share(unit_totals(*columns(answers))),
        len(ranked),
        mean(places, moved[:, 0], moved[:, 1]) if ranked else None,
        mean(places, moved[:, 0], moved[:, 2]) if ranked else None,
        digest([seen.rows, sorted(read), sorted(ranked)]),
    )


def _read(record: RunRecord, against: Cell, cell: Cell) -> Iterator[ComparedItem]:
    """Whether an item's answer is another one; an empty row where one of the two cannot be read."""
    before, after = (
        {item: answer for item, answer, *_ in record.store.votes_of(record.plan.study_digest, side.key)}
        for side in (against, cell)
    )
    for item in sorted(before.keys() & after.keys()):
        both = before[item], after[item]
        yield cell.benchmark, item, () if None in both else (1.0, float(both[0] != both[1]))


def _ranked(record: RunRecord, against: Cell, cell: Cell) -> Iterator[ComparedItem]:
    """How far an item's likelihoods move, of the same candidates."""
    settings = against.setting, cell.setting
    kinds = {setting.held("candidates") for setting in settings if setting.ranks}
    if len(kinds) != 1 or not all(setting.ranks for setting in settings):
        return
    before, after = (
        {item: answers[0].get("loglikelihoods") for item, _, answers in record.store.answers(stamp, side.key)}
        for stamp in (record.plan.study_digest,)
        for side in (against, cell)
    )
    for item in sorted(before.keys() & after.keys()):
        one, other = before[item], after[item]
        if one and other and None not in (*one, *other):
            yield cell.benchmark, item, (1.0, mean_move(one, other), divergence(one, other))


ANSWER_SHIFTS: Finding[tuple[AnswerShift, ...]] = Finding("answer_shifts", answer_shifts, ())


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
    """Bits per byte in every configuration that measures the likelihood of texts, over texts that have one so
    far."""
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
                mean(*_columns(units, {item: (size, bits) for item, (bits, size) in texts.items()})),
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
                gaps.append(BitsGap(a, b, len(both), mean_difference(*_columns(units, both))))
        rows = digest([[model, sorted(texts.items())] for model, texts in weighed.items()])
        if models:
            yield TextLikelihood(benchmark, configuration, models, tuple(gaps), rows)


def _columns(
    units: Mapping[str, str], columns: Mapping[str, tuple[float, float]]
) -> tuple[Whole, Floats, Floats]:
    """The unit of each text, and its columns."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(units[item], len(numbers)) for item in columns], dtype=np.int64)
    sizes, values = np.array(list(columns.values())).T
    return places, sizes, values


TEXT_LIKELIHOODS: Finding[tuple[TextLikelihood, ...]] = Finding("text_likelihoods", text_likelihoods, ())
