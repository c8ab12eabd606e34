"""Cells: model x benchmark x configuration, the passes from the grid to them, and how many there are.

This is the first half of lowering, as named passes with one signature. Each pass takes the stream of cells
and gives a stream of cells, so a plan of any size is lowered in constant memory.

Distinct digests are counted in bounded memory too. They are spread over partitions by their first byte. A
partition's records are kept in memory until all partitions together reach the limit, and then appended to its
temporary file. Partitions are disjoint, so each is counted by itself: time is linear, and what is held at
once is the limit and the distinct digests of one partition, about a byte for each digest that there is to
count.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import IO, Self

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.configurations import LevelByAxis
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.instrument.setting import Setting
from gridc.schema.base import Selector
from gridc.schema.inference import MODELS
from gridc.schema.items import Sample
from gridc.schema.spec import Spec

ONLY = "the only one"
"""The name of a configuration where nothing is varied."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Model x benchmark x configuration: one score of the study.

    `shared` says that every model of the benchmark's roster runs the configuration, so that it belongs to the
    envelope.
    """

    model: str
    benchmark: str
    levels: LevelByAxis
    setting: Setting
    tier: str = ""
    shared: bool = True
    slices: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        """`template=T1,decoding=greedy`: the configuration's name everywhere."""
        return ",".join(f"{axis}={level}" for axis, level in self.levels.items()) or ONLY

    @property
    def key(self) -> str:
        """The cell's name everywhere."""
        return f"{self.model}/{self.benchmark}/{self.configuration}"


def anchored(spec: Spec, cell: Cell) -> bool:
    """Whether a cell is one that the anchor of the study selects: every cell, where none is declared."""
    anchor = spec.analysis.anchor
    place = {**cell.levels, "benchmark": cell.benchmark, "tier": cell.tier}
    return anchor is None or anchor.matches(place)


Pass = Callable[[Spec, Iterator[Cell]], Iterator[Cell]]


def enumerate_grid(spec: Spec) -> Iterator[Cell]:
    """Every model x benchmark x configuration, with tier and setting; benchmarks outermost."""
    settings = grid.Settings(spec)
    for benchmark in spec.benchmark:
        for model in spec.model:
            for configuration in grid.configurations(spec):
                setting = settings.of(model.id, benchmark.id, configuration)
                yield Cell(model.id, benchmark.id, configuration.levels, setting, configuration.tier)


def without_excluded(spec: Spec, cells: Iterator[Cell]) -> Iterator[Cell]:
    """Drop the cells that an exclusion covers."""
    for cell in cells:
        if (
            grid.excluded_by(spec, grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model))
            is None
        ):
            yield cell


def rosters(spec: Spec) -> dict[str, tuple[str, ...]]:
    """By benchmark its roster: the models that run it in at least one configuration."""

    def runs(model: str, benchmark: str) -> bool:
        places = (
            grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
            for configuration in grid.configurations(spec)
        )
        return any(grid.excluded_by(spec, place) is None for place in places)

    return {
        benchmark.id: tuple(model.id for model in spec.model if runs(model.id, benchmark.id))
        for benchmark in spec.benchmark
    }


def mark_shared(spec: Spec, cells: Iterator[Cell]) -> Iterator[Cell]:
    """A configuration that an exclusion takes from any model of the roster is outside the envelope."""
    one_by_one = [exclusion for exclusion in spec.exclude if "model" in exclusion.when.root]
    if not one_by_one:
        yield from cells
        return
    models = rosters(spec)
    for cell in cells:
        roster = models[cell.benchmark]
        places = [grid.grid_place(cell.levels, cell.tier, cell.benchmark, model) for model in roster]
        lost = any(exclusion.when.matches(where) for exclusion in one_by_one for where in places)
        yield replace(cell, shared=not lost)


def mark_slices(spec: Spec, cells: Iterator[Cell]) -> Iterator[Cell]:
    """The named sub-envelopes that hold the cell's configuration."""
    for cell in cells:
        where = grid.grid_place(cell.levels, cell.tier, cell.benchmark)
        yield replace(cell, slices=tuple(part.id for part in spec.slice if part.where.matches(where)))


PASSES: tuple[Pass, ...] = (without_excluded, mark_shared, mark_slices)


def cells_of(spec: Spec) -> Iterator[Cell]:
    """The cells of a study, in the order of the spec."""
    stream = enumerate_grid(spec)
    for grid_pass in PASSES:
        stream = grid_pass(spec, stream)
    return stream


def graded(spec: Spec) -> bool:
    """Whether an item can earn a part of a point, so that no test of right and wrong is of its score."""
    return spec.graded or (spec.aggregated and any(cell.setting.item_scale > 1 for cell in cells_of(spec)))


BenchmarkSample = tuple[str, Sample | None]

ComparedLevels = Mapping[BenchmarkSample, Mapping[tuple[str, ...], int]]
"""By (benchmark, subset of its items): the levels that are run of the axes that a hypothesis compares, and in
how many cells each combination of them is."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A benchmark's part of the grid.

    `models` is its roster, and `not_asked` has every other model with the reason. `size` counts the
    configurations that all models of the roster share, `tiers` and `slices` those of them in each tier and
    slice; `cells` counts models x configurations that are run, `runs` those times their replicates;
    `excluded` counts, by reason, the cells of the roster that are not.
    """

    benchmark: str
    models: tuple[str, ...]
    not_asked: dict[str, str]
    cells: int
    runs: int
    size: int
    tiers: dict[str, int]
    slices: dict[str, int]
    excluded: dict[str, int]


@dataclass(frozen=True, slots=True)
class Survey:
    """The envelopes of all benchmarks, in order, and how often each selector matches.

    `exclude` counts places of the whole grid, `slice` configurations that are run, once a benchmark;
    `hypothesis` has the primary configurations that each hypothesis selects, where all models that it names
    run the benchmark; `primary` counts the cells that
    tests are made on. `asked` and `tested` count runs, all and the primary ones, by (benchmark, the subset
    of its items that they ask), and `levels` has the levels of these runs by axis.
    """

    envelopes: tuple[Envelope, ...]
    exclude: tuple[int, ...]
    slice: tuple[int, ...]
    hypothesis: tuple[ComparedLevels, ...]
    primary: int
    asked: Mapping[BenchmarkSample, int]
    tested: Mapping[BenchmarkSample, int]
    levels: Mapping[BenchmarkSample, Mapping[str, Collection[str]]]

    @property
    def cells(self) -> int:
        return sum(envelope.cells for envelope in self.envelopes)

    @property
    def runs(self) -> int:
        return sum(envelope.runs for envelope in self.envelopes)


def survey(spec: Spec) -> Survey:
    """Walk every place of the grid once. Nothing of its size is held."""
    models = [model.id for model in spec.model]
    exclude = [0] * len(spec.exclude)
    hypothesis: list[dict[BenchmarkSample, Counter[tuple[str, ...]]]] = [{} for _ in spec.hypothesis]
    compared = [kind_of(declared).axes(declared) for declared in spec.hypothesis]
    named = [frozenset(kind_of(declared).models(declared) or ()) for declared in spec.hypothesis]
    slices = [0] * len(spec.slice)
    primary = 0
    runs_of_all: Counter[BenchmarkSample] = Counter()
    tested: Counter[BenchmarkSample] = Counter()
    levels_of: dict[BenchmarkSample, dict[str, dict[str, None]]] = {}
    envelopes = []
    for benchmark, roster in zip(spec.benchmark, rosters(spec).values(), strict=True):
        cells = runs = size = 0
        tiers = dict.fromkeys(spec.tiers, 0)
        held = dict.fromkeys((declared.id for declared in spec.slice), 0)
        excluded: Counter[str] = Counter()
        reasons: dict[str, dict[str, None]] = {}
        for configuration in grid.configurations(spec):
            replicates = grid.replicates(spec, configuration)
            on = (benchmark.id, grid.subset(spec, benchmark, configuration))
            kept = 0
            principal: list[str] = []
            for model in models:
                where = grid.grid_place(configuration.levels, configuration.tier, benchmark.id, model)
                hits = [
                    number for number, exclusion in enumerate(spec.exclude) if exclusion.when.matches(where)
                ]
                for number in hits:
                    exclude[number] += 1
                if hits:
                    if model in roster:
                        excluded[spec.exclude[hits[0]].why] += 1
                    else:
                        whys = (spec.exclude[n].why for n in hits if "model" in spec.exclude[n].when.root)
                        reasons.setdefault(model, {}).update(dict.fromkeys(whys))
                    continue
                kept += 1
                if spec.analysis.primary.matches(where):
                    principal.append(model)
                    tested[on] += replicates
            cells += kept
            runs += kept * replicates
            if not kept:
                continue
            runs_of_all[on] += kept * replicates
            for axis, level in configuration.levels.items():
                levels_of.setdefault(on, {}).setdefault(axis, {})[level] = None
            primary += len(principal)
            where = grid.grid_place(configuration.levels, configuration.tier, benchmark.id)
            for number, stated in enumerate(spec.hypothesis if principal else ()):
                if not named[number].issubset(roster):
                    continue
                asked = [model for model in principal if model in (named[number] or principal)]
                for levels, about in _about(stated.where, compared[number], where, asked):
                    hypothesis[number].setdefault(on, Counter())[levels] += about
            if kept < len(roster):
                continue
            size += 1
            tiers[configuration.tier] += 1
            for number, part in enumerate(spec.slice):
                if part.where.matches(where):
                    slices[number] += 1
                    held[part.id] += 1
        not_asked = {model: "; ".join(own) for model, own in reasons.items()}
        envelopes.append(
            Envelope(benchmark.id, roster, not_asked, cells, runs, size, tiers, held, dict(excluded))
        )
    return Survey(
        tuple(envelopes),
        tuple(exclude),
        tuple(slices),
        tuple(hypothesis),
        primary,
        runs_of_all,
        tested,
        levels_of,
    )


def _about(
    selector: Selector, compared: tuple[str, ...], where: Mapping[str, str], models: list[str]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The levels that a hypothesis compares at a place, and for how many models. Where it neither selects nor
    compares models, one model is looked at and counts for all."""
    alike = "model" not in selector.root and MODELS not in compared
    for model in models[:1] if alike else models:
        place = {**where, MODELS: model}
        if selector.matches(place):
            yield tuple(place[axis] for axis in compared), len(models) if alike else 1


PARTITIONS = 128
DIGEST = 32
RECORD = DIGEST + 8
"""Bytes of a record: a SHA-256 digest, and a number that says what it belongs to."""
CHUNK = 1024 * RECORD
"""Bytes that are read at once. One digest that comes a million times fills one partition."""


class DistinctCounter:
    """Takes (digest, number) in any order. `limit` bounds the bytes of records that are held in memory."""

    def __init__(self, limit: int = 1024 * 1024) -> None:
        self._limit = limit
        self._held = 0
        self._buffers = [bytearray() for _ in range(PARTITIONS)]
        self._files: list[IO[bytes]] = []
        self._open = ExitStack()

    def add(self, digest: bytes, number: int = 0) -> None:
        """Note a 32-byte digest."""
        self._buffers[digest[0] % PARTITIONS] += digest + number.to_bytes(8, "big")
        self._held += RECORD
        if self._held >= self._limit:
            self._spill()

    def numbers(self) -> Iterator[Mapping[bytes, Collection[int]]]:
        """All numbers that each digest came with, partition by partition. A digest is in the partition of the
        same place in every counter."""
        for part in range(PARTITIONS):
            numbers: dict[bytes, dict[int, None]] = {}
            for digest, number in self._records(part):
                numbers.setdefault(digest, {})[number] = None
            yield numbers

    def twins(self) -> Iterator[tuple[int, int]]:
        """(number of the first, number of a later one) for each digest that comes again."""
        for part in range(PARTITIONS):
            first: dict[bytes, int] = {}
            for digest, number in self._records(part):
                earlier = first.setdefault(digest, number)
                if earlier != number:
                    yield earlier, number

    def _records(self, part: int) -> Iterator[tuple[bytes, int]]:
        for chunk in self._chunks(part):
            for start in range(0, len(chunk), RECORD):
                end = start + DIGEST
                yield chunk[start:end], int.from_bytes(chunk[end : start + RECORD], "big")

    def _chunks(self, part: int) -> Iterator[bytes]:
        if self._files:
            self._files[part].seek(0)
            yield from iter(lambda: self._files[part].read(CHUNK), b"")
        for start in range(0, len(self._buffers[part]), CHUNK):
            yield bytes(self._buffers[part][start : start + CHUNK])

    def _spill(self) -> None:
        if not self._files:
            # Whole buffers are written and read, so a file needs hardly one of its own.
            enter, temporary = self._open.enter_context, tempfile.TemporaryFile
            self._files = [enter(temporary(buffering=512)) for _ in self._buffers]
        for buffer, file in zip(self._buffers, self._files, strict=True):
            file.seek(0, 2)
            file.write(buffer)
            buffer.clear()
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
