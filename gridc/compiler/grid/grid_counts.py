"""What a grid holds, counted in one walk: cells, envelopes, and what each selector finds."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gridc.compiler.grid import configurations as grid
from gridc.compiler.hypotheses import kind_of
from gridc.schema.inference import MODELS
from gridc.schema.items import Sample
from gridc.schema.selector import Selector
from gridc.schema.spec import Spec

BenchmarkSample = tuple[str, Sample | None]

Spoken = Mapping[BenchmarkSample, Mapping[tuple[str, ...], int]]
"""By (benchmark, subset of its items): the levels that are run of the axes that a hypothesis compares, and in
how many cells each combination of them is."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A benchmark's part of the grid.

    `size` counts the configurations that all models share, `tiers` and `slices` those of them in each tier
    and slice; `cells` counts models x configurations that are run, `runs` those times their replicates;
    `excluded` counts, by reason, the cells that are not.
    """

    benchmark: str
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
    `hypothesis` has the primary configurations that each hypothesis selects; `primary` counts the cells that
    tests are made on. `asked` and `tested` count runs, all and the primary ones, by (benchmark, the subset
    of its items that they ask).
    """

    envelopes: tuple[Envelope, ...]
    exclude: tuple[int, ...]
    slice: tuple[int, ...]
    hypothesis: tuple[Spoken, ...]
    primary: int
    asked: Mapping[BenchmarkSample, int]
    tested: Mapping[BenchmarkSample, int]

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
    slices = [0] * len(spec.slice)
    primary = 0
    runs_of_all: Counter[BenchmarkSample] = Counter()
    tested: Counter[BenchmarkSample] = Counter()
    envelopes = []
    for benchmark in spec.benchmark:
        cells = runs = size = 0
        tiers = dict.fromkeys(spec.tiers, 0)
        held = dict.fromkeys((declared.id for declared in spec.slice), 0)
        excluded: Counter[str] = Counter()
        for configuration in grid.configurations(spec):
            replicates = grid.replicates(spec, configuration)
            on = (benchmark.id, grid.subset(spec, benchmark, configuration))
            kept = 0
            principal: list[str] = []
            for model in models:
                where = grid.where(configuration.levels, configuration.tier, benchmark.id, model)
                hits = [
                    number for number, exclusion in enumerate(spec.exclude) if exclusion.when.matches(where)
                ]
                for number in hits:
                    exclude[number] += 1
                if hits:
                    excluded[spec.exclude[hits[0]].why] += 1
                    continue
                kept += 1
                if spec.analysis.primary.matches(where):
                    principal.append(model)
                    tested[on] += replicates
            cells += kept
            runs += kept * replicates
            runs_of_all[on] += kept * replicates
            if not kept:
                continue
            primary += len(principal)
            where = grid.where(configuration.levels, configuration.tier, benchmark.id)
            for number, stated in enumerate(spec.hypothesis if principal else ()):
                for levels, about in _about(stated.where, compared[number], where, principal):
                    hypothesis[number].setdefault(on, Counter())[levels] += about
            if kept < len(models):
                continue
            size += 1
            tiers[configuration.tier] += 1
            for number, part in enumerate(spec.slice):
                if part.where.matches(where):
                    slices[number] += 1
                    held[part.id] += 1
        envelopes.append(Envelope(benchmark.id, cells, runs, size, tiers, held, dict(excluded)))
    return Survey(
        tuple(envelopes), tuple(exclude), tuple(slices), tuple(hypothesis), primary, runs_of_all, tested
    )


def _about(
    selector: Selector, compared: tuple[str, ...], where: Mapping[str, str], models: list[str]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The levels that a hypothesis compares at a place, and of how many models. One model is asked for all
    where it neither selects nor compares them."""
    alike = "model" not in selector.root and MODELS not in compared
    for model in models[:1] if alike else models:
        place = {**where, MODELS: model}
        if selector.matches(place):
            yield tuple(place[axis] for axis in compared), len(models) if alike else 1
