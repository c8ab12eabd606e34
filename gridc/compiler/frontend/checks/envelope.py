"""The envelope: something is left of the grid, selectors mean something, nothing is asked twice."""

from collections.abc import Iterator, Sequence
from itertools import islice

from gridc.compiler.frontend.checks.idle import exclude, settings, way_out
from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid import passes
from gridc.compiler.grid.cell import anchored
from gridc.compiler.grid.distinct_digests import Distinct
from gridc.compiler.grid.grid_counts import survey
from gridc.compiler.instrument.enumerator import labels
from gridc.compiler.instrument.matching import COMPARISONS
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.readers import FORMS
from gridc.compiler.instrument.setting import DEFAULTS, Setting
from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.places import KeyPath
from gridc.schema.effects import Attempts
from gridc.schema.spec import Spec


def selectors_select(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Every benchmark keeps a configuration, every exclusion, slice and hypothesis matches something."""
    counts = survey(spec)
    for number, envelope in enumerate(counts.envelopes):
        if envelope.size == 0:
            message = f"no configuration of `{envelope.benchmark}` is left after the exclusions"
            help = f"narrow {_excluding(spec, envelope.benchmark)}, or take one of them out"
            yield source.diagnose("GC301", ("benchmark", number), message, help, at_key=True)
    for number, matched in enumerate(counts.exclude):
        if not matched and spec.draw is None:  # what is drawn keeps away from what is excluded
            yield source.diagnose("GC305", ("exclude", number, "when"), "nothing in the grid matches this")
    if not all(envelope.size for envelope in counts.envelopes) or not (spec.draw or all(counts.exclude)):
        return
    for number, matched in enumerate(counts.slice):
        if not matched:
            message = f"no planned configuration matches `{spec.slice[number].id}`"
            yield source.diagnose("GC306", ("slice", number, "where"), message)
    for number, spoken in enumerate(counts.hypothesis):
        if not spoken:
            message = f"no planned cell tests `{spec.hypothesis[number].id}`"
            yield source.diagnose("GC307", ("hypothesis", number, "where"), message)
    for number, test in enumerate(spec.falsification):
        if test.criterion is None:
            continue
        where = [
            test.criterion.where,
            *(part.where for part in spec.slice if part.id == test.criterion.slice),
        ]
        places = (grid.place(spec, cell.levels, cell.benchmark, cell.model) for cell in passes.cells(spec))
        if not any(all(selector.matches(place) for selector in where) for place in places):
            message = f"no planned cell is in the part of the grid that `{test.id}` asks about"
            yield source.diagnose("GC307", ("falsification", number, "criterion"), message)
    for benchmark in _unanchored(spec):
        message = f"no shared configuration of `{benchmark}` matches the anchor"
        help = "widen it: a list names several levels of an axis"
        yield source.diagnose("GC323", ("analysis", "anchor"), message, help)
    if not counts.primary:
        yield source.diagnose("GC307", ("analysis", "primary"), "no planned cell matches this")


def _excluding(spec: Spec, benchmark: str) -> str:
    """The exclusions that leave nothing of a benchmark, by what they name."""
    places = (
        grid.where(configuration.levels, configuration.tier, benchmark, model.id)
        for configuration in grid.configurations(spec)
        for model in spec.model
    )
    rules = dict.fromkeys(rule.when.model_dump_json(by_alias=True) for place in places
                          if (rule := grid.excluded_by(spec, place)) is not None)  # fmt: skip
    return f"the `when` of [[exclude]] {', '.join(rules)}"


def _unanchored(spec: Spec) -> Iterator[str]:
    """The benchmarks on which the anchor selects no configuration that all models share."""
    if spec.analysis.anchor is None:
        return
    held = {cell.benchmark for cell in passes.cells(spec) if cell.shared and anchored(spec, cell)}
    yield from (benchmark.id for benchmark in spec.benchmark if benchmark.id not in held)


def variants_exist(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each benchmark has the variants that its cells ask, and each variant is asked."""
    used: dict[str, set[str]] = {benchmark.id: set() for benchmark in spec.benchmark}
    if not any(benchmark.variants for benchmark in spec.benchmark) and not any(
        getattr(table.table, "variant", None) for table in grid.effect_tables(spec)
    ):
        return
    known = {declared.id: [variant.id for variant in declared.variants or ()] for declared in spec.benchmark}
    for cell in passes.cells(spec):
        name = cell.setting.variant
        if name is not None and name not in used[cell.benchmark]:
            used[cell.benchmark].add(name)
            if name not in known[cell.benchmark]:
                where = grid.stated_at(spec, "variant", {**cell.levels, "benchmark": cell.benchmark})
                message = f"`{cell.benchmark}` has no variant `{name}`"
                help = did_you_mean(name, known[cell.benchmark]) if known[cell.benchmark] else exclude(
                    {"benchmark": basic_string(cell.benchmark), **{
                        axis: basic_string(level) for axis, level in cell.levels.items()
                        if grid.stated_at(spec, "variant", {axis: level})}}
                )  # fmt: skip
                yield source.diagnose("GC202", where or ("axis", 0), message, help)
    for number, benchmark in enumerate(spec.benchmark):
        for rank, name in enumerate(known[benchmark.id]):
            if name not in used[benchmark.id]:
                message = f"no cell asks the variant `{name}` of `{benchmark.id}`"
                help = f'variant = "{name}" in a level of an axis, or leave it out'
                yield source.diagnose("GC336", ("benchmark", number, "variants", rank, "id"), message, help)


def meaningful_configurations(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """No setting contradicts itself; each contradiction is shown once, where it comes first."""
    reported: set[str] = set()
    for model, benchmark in grid.Settings(spec).representatives():
        for configuration, setting in settings(spec, model, benchmark):
            for problem, help in _contradictions(setting):
                if problem not in reported:
                    reported.add(problem)
                    names = ", ".join(f"{axis} = {level}" for axis, level in configuration.levels.items())
                    where = grid.where(configuration.levels, configuration.tier, benchmark, model)
                    paths = [path for key in _SAMPLED if (path := grid.stated_at(spec, key, where))]
                    in_axes = [path for path in paths if path[0] == "axis"]
                    blamed = (*in_axes[:1], *paths[:1], ("axis", 0))[0]
                    way_out = (_EXCLUDE in help and _excluded(spec, in_axes)) or help
                    here = f" ({names})" if names else ""
                    yield source.diagnose("GC313", blamed, f"{problem}{here}", way_out, at_key=True)


_EXCLUDE = "add an [[exclude]] with a reason"
_SAMPLED = ("all_of", "aggregate", "replicates", "temperature", "method")
"""Keys that contradict each other where an answer that is not sampled is asked for several times."""


def _excluded(spec: Spec, paths: Sequence[KeyPath]) -> str | None:
    """The exclusion of a combination of levels of two axes; None where no two axes contradict each other."""
    levels = {int(path[1]): int(path[3]) for path in paths}
    if len(levels) < 2:
        return None
    named = [(spec.axis[axis].id, spec.axis[axis].level[level].id) for axis, level in sorted(levels.items())]
    return exclude({axis: basic_string(level) for axis, level in named})


def distinct_configurations(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """An axis that does nothing under a level of another one counts the same calls several times."""
    for model, benchmark in grid.Settings(spec).representatives():
        with Distinct() as seen:
            for number, (_, setting) in enumerate(settings(spec, model, benchmark)):
                seen.add(setting.key, number)
            twins = min(seen.twins(), default=None)
        if twins is None:
            continue
        first, second = (
            next(islice(settings(spec, model, benchmark), number, None))[0].levels for number in twins
        )
        axes = [axis.id for axis in spec.axis]
        idle = [axis for axis in axes if first[axis] != second[axis]]
        message = f"on `{benchmark}`, {' and '.join(f'`{axis}`' for axis in idle)} changes nothing"
        help = way_out(spec, idle[0], model, benchmark) if len(idle) == 1 else None
        if help is None:  # at least the one that was found
            help = exclude({axis: basic_string(second[axis]) for axis in axes})
        where = ("axis", axes.index(idle[0]), "id")
        yield source.diagnose("GC303", where, message, help)
        return


def _roman(setting: Setting) -> bool:
    return len(setting.labels(2)[1]) > 1


def _contradictions(setting: Setting) -> Iterator[tuple[str, str]]:
    method = METHODS[setting.method]
    if setting.ranks and (setting.temperature > 0 or setting.replicates > 1):
        yield "a likelihood ranking is combined with sampled decoding", _EXCLUDE
    if not setting.ranks and setting.temperature == 0 and setting.replicates > 1:
        yield "a greedy answer has replicates", "greedy replicates are one call: leave `replicates` out"
    if not setting.ranks and not method.sampled and setting.temperature > 0:
        yield "the most likely first token is combined with sampling", _EXCLUDE
    yield from _of_one_answer(setting)
    for key, value in method.fixes.items() if method.weighs else ():
        if getattr(setting, key) not in (value, DEFAULTS[key]):
            yield f"a text is weighed whole, and `{key}` says how candidates are ranked", f"leave `{key}` out"
    if setting.candidates not in method.candidates and not method.weighs:
        yield "`pair_likelihood` and `sentence_pair` are one without the other", "set both or neither"
    by_label = method.reads_text and FORMS[setting.reader].labels_alone
    if by_label and setting.options == "none":
        yield "an answer line gives a letter, and no letters are shown", 'set options = "lettered"'
    elif by_label and not setting.labels(2):
        yield "an answer line gives a label, and options are shown behind bullets", 'set enumerator = "A."'
    if setting.ranks_labels and not labels(setting.enumerator, 2):
        yield "labels are ranked, and options are shown behind bullets", 'set enumerator = "A."'
    if method.one_token and setting.labelled and _roman(setting):
        yield "Roman numbers share their first token", 'set an enumerator of letters, such as "A."'


def _of_one_answer(setting: Setting) -> Iterator[tuple[str, str]]:
    """What an item's replicates cannot become."""
    aggregate, answers = setting.aggregate, setting.replicates
    if setting.all_of is not None and (setting.outcomes_of_item > 1 or isinstance(aggregate, Attempts)):
        help = 'aggregate = "majority", or one answer to an item: leave `replicates` out'
        yield f"one answer of each item of a {setting.all_of} counts, and there are {answers}", help
    if isinstance(aggregate, Attempts):
        name = "pass_at" if aggregate.pass_at else "pass_all"
        if aggregate.draws > answers:
            times = "1 answer" if answers == 1 else f"{answers} answers"
            help = f"replicates = {aggregate.draws} or more, or a smaller `{name}`"
            yield f"{name} = {aggregate.draws} of {times} to an item cannot be estimated", help
        if setting.scale > 1:
            yield f"`{name}` counts right answers, and answers earn parts of a point", 'aggregate = "mean"'
    elif aggregate == "majority" and setting.ranks:
        help = "set `aggregate` where answers are read"
        yield "a likelihood ranking gives one answer, of which there is no majority", help
    elif aggregate == "majority" and setting.gives_numbers:
        help = 'aggregate = "mean", or a function that gives labels and `scores` of them'
        yield "a function gives numbers, of which there is no majority", help
    elif aggregate == "majority" and not _told_apart(setting):
        help = 'match = { as = "text", after = "..." }, or aggregate = { pass_at = ... }'
        yield "wrong answers are not told apart, of which some may be the majority", help
    elif aggregate == "majority" and setting.temperature > 0 and answers == 1:
        yield "one answer to an item has no majority", "replicates = 5, or leave `aggregate` out"


def _told_apart(setting: Setting) -> bool:
    """Whether two answers can be seen to be the same."""
    match = setting.match if METHODS[setting.method].reads_answer else None
    return match is None or COMPARISONS[match.kind].tells_apart
