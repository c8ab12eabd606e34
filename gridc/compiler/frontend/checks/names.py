"""Names: each id is unique, and whatever is referred to exists."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gridc.compiler.frontend.checks.envelope import grid_selectors
from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import configurations as grid
from gridc.compiler.hypotheses import kind_of
from gridc.diagnostics.errors import CODES, Diagnostic, KeyPath
from gridc.schema.base import RESERVED_DIMENSIONS, Selector
from gridc.schema.call_numbers import CALL_NUMBERS
from gridc.schema.effects import Effects
from gridc.schema.inference import AUDITED, RATES, STATISTICS, AnyHypothesis, Criterion
from gridc.schema.spec import Spec
from gridc.schema.statistics import ANSWER, COMPARABLE, MEASURES, Statistic

KINDS = (
    "model", "benchmark", "axis", "slice", "hypothesis", "family", "fork", "curve", "falsification",
    "outcome", "statistic",
)  # fmt: skip


def unique_ids(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    lists: list[tuple[KeyPath, Sequence[str]]] = [
        ((kind,), [row.id for row in getattr(spec, kind) or ()]) for kind in KINDS
    ]
    lists += [
        (("axis", number, "level"), [level.id for level in axis.level])
        for number, axis in enumerate(spec.axis)
    ]
    for path, ids in lists:
        for number, name in _repeated(ids):
            where = (*path, number, "id")
            message = f"`{name}` is already the id of another {path[-1]}"
            yield source.diagnose("GC201", where, message, "give each an id of its own")
    for number, benchmark in enumerate(spec.benchmark):
        names = [variant.id for variant in benchmark.variants or ()]
        for rank, name in _repeated(names):
            where = ("benchmark", number, "variants", rank, "id")
            yield source.diagnose("GC201", where, f"`{name}` is already the id of another variant")
    for number, axis in enumerate(spec.axis):
        if axis.id in RESERVED_DIMENSIONS:
            where = ("axis", number, "id")
            yield source.diagnose(
                "GC201", where, f"`{axis.id}` is a dimension of every grid and cannot be an axis"
            )


def _repeated(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Each name that was there before, with its number."""
    seen = set[str]()
    for number, name in enumerate(names):
        if name in seen:
            yield number, name
        seen.add(name)


def tiers_known(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each level has a tier that there is, and each tier is named once."""
    for rank, name in _repeated(spec.tiers):
        yield source.diagnose("GC201", ("study", "tiers", rank), f"`{name}` is named twice")
    for number, axis in enumerate(spec.axis):
        for rank, level in enumerate(axis.level):
            if level.tier not in spec.tiers:
                where = ("axis", number, "level", rank, "tier")
                message = f"`axis[{axis.id}].level[{level.id}].tier` cannot be {level.tier!r}"
                yield source.diagnose("GC104", where, message, did_you_mean(level.tier, spec.tiers))


def selector_names(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    known = dimensions(spec)
    hypotheses = [hypothesis.id for hypothesis in spec.hypothesis]
    for path, selector in grid_selectors(spec):
        if path[:2] == ("analysis", "thresholds"):
            known_here = {"benchmark": known["benchmark"]}
            yield from _unknown(spec, source, path, selector, known_here, "dimension of a pass mark")
            continue
        ranks = path[0] == "hypothesis" and _ranks(spec.hypothesis[int(path[1])])
        shared = {"slice": "a slice", "hypothesis": "a comparison of models", "analysis": "an anchor"}
        anchors = path == ("analysis", "anchor")
        if "model" in selector.root and (path[0] == "slice" or ranks or anchors):
            what = shared[str(path[0])]
            message = f"{what} selects configurations, which all models share"
            yield source.diagnose("GC202", (*path, "model"), message, "leave `model` out", at_key=True)
        else:
            named = {"hypothesis": hypotheses, **known} if path[0] == "waive" else known
            yield from _unknown(spec, source, path, selector, named, "axis")
    for number, fork in enumerate(spec.fork):
        for level, choice in (fork.choice or {}).items():
            for key, part in (("where", choice.where), ("primary", choice.primary)):
                if part is not None:
                    here = ("fork", number, "choice", level, key)
                    yield from _unknown(spec, source, here, part, known, "axis")
    for number, curve in enumerate(spec.curve):
        forks = {fork.id: fork.levels for fork in spec.fork if fork.id in curve.forks}
        for rank, exclusion in enumerate(curve.exclude):
            yield from _unknown(
                spec, source, ("curve", number, "exclude", rank, "when"), exclusion.when, forks, "fork"
            )


def _ranks(hypothesis: AnyHypothesis) -> bool:
    return kind_of(hypothesis).models(hypothesis) is not None


def dimensions(spec: Spec) -> Mapping[str, Sequence[str]]:
    """What a selector over the grid may name: each dimension with its names."""
    return {
        "model": [model.id for model in spec.model],
        "benchmark": [benchmark.id for benchmark in spec.benchmark],
        "tier": spec.tiers,
        **{axis.id: [level.id for level in axis.level] for axis in spec.axis},
    }


def _unknown(
    spec: Spec,
    source: Source,
    path: KeyPath,
    selector: Selector,
    known: Mapping[str, Sequence[str]],
    kind: str,
) -> Iterator[Diagnostic]:
    for place, dimension, name in selector.mentions():
        if dimension not in known:
            help = _setting(dimension, spec) or did_you_mean(dimension, known)
            message = f"no {kind} is called `{dimension}`"
            yield source.diagnose("GC202", (*path, dimension), message, help, at_key=True)
            continue
        if name not in known[dimension]:
            help = did_you_mean(name, known[dimension])
            yield source.diagnose("GC202", (*path, *place), f"`{dimension}` has no `{name}`", help)


def references(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Ids that one table uses for another: models, axes, levels, families, forks."""
    forks = [fork.id for fork in spec.fork]
    for number, hypothesis in enumerate(spec.hypothesis):
        here: KeyPath = ("hypothesis", number)
        if hypothesis.family is not None:
            families = [family.id for family in spec.family]
            yield from _refers(source, (*here, "family"), "family", hypothesis.family, families)
        earlier: set[str] = set()
        for key, what, name, known, listed in kind_of(hypothesis).references(hypothesis, spec):
            if name not in known:
                meant = _setting(name, spec) if what == "axis" else _undeclared(name, known, what)
                help = meant or did_you_mean(name, known)
                yield source.diagnose("GC202", (*here, *key), f"no {what} is called `{name}`", help)
            if listed and name in earlier:
                yield source.diagnose("GC201", (*here, *key), f"`{name}` is named twice")
            earlier |= {name} if listed else set()
    for number, outcome in enumerate(spec.outcomes):
        if outcome.id in RATES:
            message = f"`{outcome.id}` is the name of a rate that every study has"
            yield source.diagnose("GC201", ("outcome", number, "id"), message)
        benchmarks = [benchmark.id for benchmark in spec.benchmark]
        for rank, name in enumerate(outcome.benchmarks):
            stated: KeyPath = ("outcome", number, "benchmark")
            path = stated if outcome.benchmark == name else (*stated, rank)
            yield from _refers(source, path, "benchmark", name, benchmarks)
    yield from _numbers_with_units(spec, source)
    for number, statistic in enumerate(spec.statistics):
        yield from _statistic(spec, source, ("statistic", number), statistic)
    for number, test in enumerate(spec.falsification):
        yield from _criterion(spec, source, ("falsification", number, "criterion"), test.criterion)
    for number, fork in enumerate(spec.fork):
        yield from _refers(source, ("fork", number, "default"), "level", fork.default, fork.levels)
        yield from _listed(source, ("fork", number, "levels"), "level", fork.levels, fork.levels)
    facets = ["benchmark", *(axis.id for axis in spec.axis)]
    for facet in spec.analysis.generalizability:
        path = ("analysis", "generalizability", facet)
        yield from _refers(source, path, "facet", facet, facets)
    axes = [axis.id for axis in spec.axis]
    yield from _listed(source, ("sampling", "independent"), "axis", spec.sampling.independent or (), axes)
    for number, curve in enumerate(spec.curve):
        yield from _listed(source, ("curve", number, "forks"), "fork", curve.forks, forks)
        compared = [declared.id for declared in spec.hypothesis if kind_of(declared).pairs(declared)]
        path = ("curve", number, "hypotheses")
        yield from _listed(source, path, "comparison", curve.hypotheses or (), compared)


def _statistic(spec: Spec, source: Source, path: KeyPath, statistic: Statistic) -> Iterator[Diagnostic]:
    """What a statistic is of: benchmarks, outcomes that are means, and axes."""
    outcomes = [outcome.id for outcome in spec.outcomes]
    units = spec.units_of_numbers
    if statistic.id in (*RATES, *STATISTICS, *outcomes):
        message = f"`{statistic.id}` is the name of an outcome, a rate or a statistic already"
        yield source.diagnose("GC201", (*path, "id"), message, "give it a name of its own")
    benchmarks = [benchmark.id for benchmark in spec.benchmark]
    for rank, name in enumerate(statistic.benchmarks or ()):
        stated = (*path, "benchmark")
        yield from _refers(
            source, stated if statistic.benchmark == name else (*stated, rank), "benchmark", name, benchmarks
        )
    means = [*outcomes, *(name for name, rate in RATES.items() if rate.mean)]
    if statistic.kind in MEASURES:
        means += units
    for key, name in statistic.outcomes.items():
        if statistic.formula is not None:
            yield from _refers(source, (*path, "formula"), "outcome that is a mean", name, means)
        elif getattr(statistic, key) is not None and (name, statistic.kind) != (ANSWER, "consistency"):
            yield from _refers(source, (*path, key), "outcome that is a mean", name, means)
    if statistic.of is not None:
        others = [each.id for each in spec.statistics if each.kind in COMPARABLE]
        named = {each.id: each.kind for each in spec.statistics}.get(statistic.of)
        if named is not None and named not in COMPARABLE:
            message = f"no difference of two values of `{statistic.of}` has limits: it is {named}"
            help = f"a statistic of another kind: {', '.join(COMPARABLE)}"
            yield source.diagnose("GC105", (*path, "of"), message, help)
        else:
            known = [*others, *means, *units]
            yield from _refers(
                source, (*path, "of"), "statistic or outcome that is a mean", statistic.of, known
            )
    axes = [axis.id for axis in spec.axis]
    yield from _listed(source, (*path, "over"), "axis", statistic.over or (), axes)


def _numbers_with_units(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A number of a scoring function has one unit wherever it is stated, and a name of its own."""
    stated = grid.scorer_units(spec)
    taken = {*RATES, *CALL_NUMBERS, *(outcome.id for outcome in spec.outcomes)}
    for table in grid.effect_tables(spec):
        scorer = getattr(table.table, "scorer", None)
        for name, unit in (scorer.units or {}).items() if scorer is not None else ():
            path: KeyPath = (*table.path, "scorer", "units", name)
            first, other = stated[name]
            if unit != other:
                message = f"`{name}` is counted in {other} elsewhere, and here in {unit}"
                yield source.diagnose("GC105", path, message, f'{name} = "{other}", or another name')
            elif path == first and name in taken:
                message = f"`{name}` is the name of an outcome already"
                yield source.diagnose("GC201", path, message, "give the number another name")
    for number, outcome in enumerate(spec.outcomes):
        if outcome.number in stated:
            message = f"`{outcome.number}` has a unit of its own, and an [[outcome]] is a share of 1"
            help = f'leave it out: a [[statistic]] reads the number, outcome = "{outcome.number}"'
            yield source.diagnose("GC105", ("outcome", number, "number"), message, help)


def _criterion(
    spec: Spec, source: Source, path: KeyPath, criterion: Criterion | None
) -> Iterator[Diagnostic]:
    """What a criterion asks about: hypotheses, a slice, a fork and its level, a statistic."""
    if criterion is None:
        return
    hypotheses, forks = (
        [hypothesis.id for hypothesis in spec.hypothesis],
        {fork.id: fork for fork in spec.fork},
    )
    yield from _listed(source, (*path, "keeps"), "hypothesis", criterion.keeps, hypotheses)
    if criterion.statistic is not None:
        stated = [*(outcome.id for outcome in spec.outcomes), *(row.id for row in spec.statistics)]
        known = dict.fromkeys((*STATISTICS, *RATES, *stated))
        yield from _refers(source, (*path, "statistic"), "statistic", criterion.statistic, known)
        yield from _out_of_reach(spec, source, path, criterion)
    if criterion.slice is not None:
        slices = [part.id for part in spec.slice]
        yield from _refers(source, (*path, "slice"), "slice", criterion.slice, slices)
    if criterion.fork is not None:
        yield from _refers(source, (*path, "fork"), "fork", criterion.fork, forks)
        if criterion.fork in forks and criterion.level is not None:
            levels = forks[criterion.fork].levels
            yield from _refers(source, (*path, "level"), "level", criterion.level, levels)


def _setting(name: str, spec: Spec) -> str | None:
    """Where an axis is called by the key of a call: the axis that sets it, or how one is made."""
    if name not in Effects.model_fields:
        return None
    owner = next((axis.id for axis in spec.axis if any(name in level.stated() for level in axis.level)), None)
    if owner is not None:
        return f"did you mean `{owner}`? It is the axis that sets `{name}`"
    return f"no axis sets `{name}`: [[axis]] with `id` and `values = {{ {name} = [...] }}` makes one"


def _undeclared(name: str, known: Collection[str], what: str) -> str | None:
    """Of a model that no name comes near: that it can be declared."""
    help = did_you_mean(name, known)
    return None if what != "model" or help.startswith("did") else f"{help}; or declare it as a [[model]]"


def _out_of_reach(spec: Spec, source: Source, path: KeyPath, criterion: Criterion) -> Iterator[Diagnostic]:
    """Bounds of what is a share, which no value could miss or reach."""
    name = criterion.statistic or ""
    kind = next((row.kind for row in spec.statistics if row.id == name), None)
    if name in AUDITED or (name in RATES and not RATES[name].mean) or name in UNBOUNDED or kind in NO_SHARES:
        return
    for key in ("at_most", "at_least", "partial"):
        bound = getattr(criterion, key)
        if bound is not None and not 0 <= bound <= 1:
            message = f"`{name}` is a share from 0 to 1, not {bound:g}"
            help = f"{key} = {bound / 100:g}, if {bound:g} % is meant" if 1 < bound <= 100 else None
            yield source.diagnose("GC104", (*path, key), message, help)


UNBOUNDED = ("sdi",)
NO_SHARES = ("matthews", "spread_within", "spread_between", "strength", "mean", "ratio", "formula", "gap")
"""Kinds of statistics whose values are no shares."""


def disjoint_names(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    benchmarks = [declared.id for declared in spec.benchmark]
    for number, benchmark in enumerate(spec.benchmark):
        apart = benchmark.sample.disjoint_from if benchmark.sample else ()
        for rank, name in enumerate(apart):
            if not name.startswith("path:") and name not in benchmarks:
                where = ("benchmark", number, "sample", "disjoint_from", rank)
                message = f"`{name}` is neither a benchmark nor path:FILE"
                yield source.diagnose("GC202", where, message, did_you_mean(name, benchmarks))


def _listed(
    source: Source, path: KeyPath, kind: str, named: Sequence[str], known: Sequence[str]
) -> Iterator[Diagnostic]:
    for rank, name in enumerate(named):
        yield from _refers(source, (*path, rank), kind, name, known)
        if name in named[:rank]:
            yield source.diagnose("GC201", (*path, rank), f"`{name}` is named twice")


def _refers(
    source: Source, path: KeyPath, kind: str, name: str, known: Collection[str]
) -> Iterator[Diagnostic]:
    if name not in known:
        yield source.diagnose("GC202", path, f"no {kind} is called `{name}`", did_you_mean(name, known))


def waived_codes(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A waiver names a hazard that there is."""
    for number, waive in enumerate(spec.waive):
        if waive.code not in CODES:
            help = did_you_mean(waive.code, [code for code in CODES if code.startswith("GC5")])
            yield source.diagnose(
                "GC202", ("waive", number, "code"), f"no hazard has the code {waive.code}", help
            )
