"""Benchmarks whose best score is a target: nothing there may ask for a good side of the score."""

from collections.abc import Iterator

from gridc.compiler.frontend.checks.idle import settings
from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.grid import configurations as grid
from gridc.compiler.hypotheses import kind_of
from gridc.diagnostics.errors import Diagnostic
from gridc.schema.benchmarks import Benchmark
from gridc.schema.inference import rate_kind
from gridc.schema.spec import Spec


def sides(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Pass marks, tests of noninferiority and a worst score each need a side."""
    for benchmark in spec.benchmark:
        if benchmark.target is not None:
            yield from _marks(spec, source, benchmark)
            yield from _sided(spec, source, benchmark)
            yield from _worst(spec, source, benchmark)


def _marks(spec: Spec, source: Source, benchmark: Benchmark) -> Iterator[Diagnostic]:
    for number, mark in enumerate(spec.analysis.thresholds):
        if mark in spec.analysis.marks(benchmark.id):
            message = f"{mark.at:g} is a pass mark on `{benchmark.id}`, {_nearest(benchmark)}"
            help = _elsewhere(spec, "leave the mark out")
            yield source.diagnose("GC337", ("analysis", "thresholds", number, "at"), message, help)


def _sided(spec: Spec, source: Source, benchmark: Benchmark) -> Iterator[Diagnostic]:
    for number, hypothesis in enumerate(spec.hypothesis):
        kind = kind_of(hypothesis)
        if not kind.needs_good_side:
            continue
        place = {"benchmark": benchmark.id}
        about = [selector.restricted(place.keys()) for selector in (hypothesis.where, spec.analysis.primary)]
        if rate_kind(kind.rate(hypothesis)).of_score and all(selector.matches(place) for selector in about):
            message = f"`{hypothesis.id}` tests {hypothesis.kind} on `{benchmark.id}`, {_nearest(benchmark)}"
            help = _elsewhere(spec, 'kind = "equivalence" says how near the two scores are')
            yield source.diagnose("GC337", ("hypothesis", number, "kind"), message, help)


def _worst(spec: Spec, source: Source, benchmark: Benchmark) -> Iterator[Diagnostic]:
    reported = set()
    stated = grid.Settings(spec)
    for model in spec.model:
        for configuration, _ in settings(spec, model.id, benchmark.id):
            if stated.stated(model.id, benchmark.id, configuration).get("unreadable") != "worst":
                continue
            place = grid.where(configuration.levels, configuration.tier, benchmark.id, model.id)
            path = grid.stated_at(spec, "unreadable", place)
            if path is not None and path not in reported:
                reported.add(path)
                message = f"no score is the worst one on `{benchmark.id}`, {_nearest(benchmark)}"
                help = f'unreadable = "zero" in [[benchmark]] `{benchmark.id}`, or leave it out'
                if path[0] == "axis":
                    help = 'unreadable = "zero" there, or exclude the benchmark there'
                yield source.diagnose("GC337", path, message, help)


def _nearest(benchmark: Benchmark) -> str:
    return f"where the score nearest to {benchmark.target:.10g} is best"


def _elsewhere(spec: Spec, otherwise: str) -> str:
    """The way out: on the benchmarks that have a good side alone, where there are any."""
    sided = [benchmark.id for benchmark in spec.benchmark if benchmark.target is None]
    if not sided:
        return otherwise
    names = ", ".join(map(basic_string, sided))
    return f"{otherwise}, or where = {{ benchmark = [{names}] }}"
