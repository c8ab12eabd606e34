"""The envelope: selectors mean something, no axis is idle, nothing is asked twice, something is left."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import cells
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import DistinctCounter, Envelope, anchored, survey
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.instrument.matching import COMPARISONS
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import bare_labels
from gridc.compiler.instrument.readers import FORMS
from gridc.compiler.instrument.setting import DEFAULTS, Setting
from gridc.diagnostics.errors import Diagnostic, KeyPath, UsageError
from gridc.schema.base import Selector
from gridc.schema.effects import Attempts
from gridc.schema.inference import AnyHypothesis
from gridc.schema.spec import Spec

Check = Callable[[Spec, Source], Iterator[Diagnostic]]


def grid_selectors(spec: Spec) -> Iterator[tuple[KeyPath, Selector]]:
    """Every selector over the grid, with its place in the spec."""
    for number, exclude in enumerate(spec.exclude):
        yield ("exclude", number, "when"), exclude.when
    for number, part in enumerate(spec.slice):
        yield ("slice", number, "where"), part.where
    for number, hypothesis in enumerate(spec.hypothesis):
        yield ("hypothesis", number, "where"), hypothesis.where
    for number, waive in enumerate(spec.waive):
        yield ("waive", number, "where"), waive.where
    for number, test in enumerate(spec.falsification):
        if test.criterion is not None:
            yield ("falsification", number, "criterion", "where"), test.criterion.where
    yield ("analysis", "primary"), spec.analysis.primary
    if spec.analysis.anchor is not None:
        yield ("analysis", "anchor"), spec.analysis.anchor
    for number, mark in enumerate(spec.analysis.thresholds):
        if mark.where is not None:
            yield ("analysis", "thresholds", number, "where"), mark.where


MAX_CELLS = 50_000
"""Cells of a grid before its exclusions, unless whoever runs gridc allows more: `GRIDC_MAX_CELLS`."""


def most_cells() -> int:
    """The most cells that a grid, and hypotheses that a spec, may come to. Raises `UsageError` (GC000)."""
    allowed = os.environ.get("GRIDC_MAX_CELLS", "")
    if allowed and not allowed.isdecimal():
        raise UsageError([Diagnostic("GC000", f"GRIDC_MAX_CELLS is `{allowed}`", help="give a whole number")])
    return int(allowed or MAX_CELLS)


IdleLevels = tuple[Mapping[str, str], list[str]]
"""The levels of the other axes, and the idle axis's levels that repeat an earlier one there."""


def way_out(spec: Spec, axis: str, model: str, benchmark: str) -> str | None:
    """The smallest exclusion that covers every place where levels of an axis repeat others on a benchmark:
    under levels of one other axis at most. None where there is none so simple."""
    groups = list(_groups(spec, axis, model, benchmark))
    redundant = next(repeats for _, repeats in groups if repeats)
    for other in (None, *(declared for declared in spec.axis if declared.id != axis)):
        if other is None:
            under = None
            holds = all(repeats == redundant for _, repeats in groups)
        else:
            under = [
                level.id
                for level in other.level
                if (here := [repeats for levels, repeats in groups if levels[other.id] == level.id])
                and all(repeats == redundant for repeats in here)
            ]
            rest = (repeats for levels, repeats in groups if levels[other.id] not in under)
            holds = bool(under) and not any(rest)
        if holds:
            condition = {} if other is None or under is None else {other.id: under}
            place = _place(spec, axis, redundant, condition, model, benchmark)
            names = next(declared for declared in spec.axis if declared.id == axis).level
            kept = [level.id for level in names if level.id not in redundant]
            shown = f"{{ not = {_names(kept)} }}" if len(kept) == 1 else _names(redundant)
            conditions = {name: _names(chosen) for name, chosen in {**place, **condition}.items()}
            if not conditions and len(kept) == 1:
                return f"remove the axis `{axis}`"
            return exclusion_help({**conditions, axis: shown})
    return None


def exclusion_help(conditions: Mapping[str, str]) -> str:
    """The help that writes an exclusion with these conditions, each as TOML."""
    listed = ", ".join(f"{_key(name)} = {value}" for name, value in conditions.items())
    return f"[[exclude]] when = {{ {listed} }} and a `why`"


def settings(spec: Spec, model: str, benchmark: str) -> Iterator[tuple[grid.Configuration, Setting]]:
    """The configurations that are run, with their settings."""
    all_settings = grid.Settings(spec)
    for configuration in grid.configurations(spec):
        where = grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
        if grid.excluded_by(spec, where) is None:
            yield configuration, all_settings.of(model, benchmark, configuration)


def _groups(spec: Spec, axis: str, model: str, benchmark: str) -> Iterator[IdleLevels]:
    keys: dict[tuple[str, ...], dict[str, bytes]] = {}
    others = [declared.id for declared in spec.axis if declared.id != axis]
    for configuration, setting in settings(spec, model, benchmark):
        rest = tuple(configuration.levels[name] for name in others)
        keys.setdefault(rest, {})[configuration.levels[axis]] = setting.key
    for rest, by_level in keys.items():
        if len(by_level) > 1:
            values = list(by_level.values())
            repeats = [level for place, level in enumerate(by_level) if values[place] in values[:place]]
            yield dict(zip(others, rest, strict=True)), repeats


def _place(
    spec: Spec,
    axis: str,
    redundant: Sequence[str],
    condition: Mapping[str, Sequence[str]],
    model: str,
    benchmark: str,
) -> dict[str, list[str]]:
    """The benchmark and the model that the exclusion has to name, because the axis matters on others."""
    others = [
        representative
        for representative in grid.Settings(spec).representatives()
        for levels, repeats in _groups(spec, axis, *representative)
        if repeats != redundant and all(levels[name] in chosen for name, chosen in condition.items())
    ]
    conditions: dict[str, list[str]] = {}
    if any(name != benchmark for _, name in others):
        conditions["benchmark"] = [benchmark]
    if any(name == benchmark for _, name in others):
        conditions["model"] = [model]
    return conditions


def _names(names: Sequence[str]) -> str:
    return basic_string(names[0]) if len(names) == 1 else f"[{', '.join(map(basic_string, names))}]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_\-]+", name) else basic_string(name)


def selectors_select(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Every benchmark keeps a configuration, every model a benchmark, every exclusion, slice and hypothesis
    matches something."""
    counts = survey(spec)
    for number, envelope in enumerate(counts.envelopes):
        if envelope.size == 0:
            message = f"no configuration of `{envelope.benchmark}` is left after the exclusions"
            if envelope.cells:
                every = ", ".join(f"`{model}`" for model in envelope.models)
                message = f"no configuration of `{envelope.benchmark}` is run by all of its models ({every})"
            help = f"narrow {_excluding(spec, envelope.benchmark)}, or take one of them out"
            yield source.diagnose("GC301", ("benchmark", number), message, help, at_key=True)
    idle = [
        number
        for number, model in enumerate(spec.model)
        if not any(model.id in envelope.models for envelope in counts.envelopes)
    ]
    for number in idle if any(envelope.cells for envelope in counts.envelopes) else ():
        message = f"`{spec.model[number].id}` runs no benchmark after the exclusions"
        way_out = "narrow them, or leave the model out"
        yield source.diagnose("GC301", ("model", number), message, way_out, at_key=True)
    for number, matched in enumerate(counts.exclude):
        if not matched and spec.draw is None:  # what is drawn keeps away from what is excluded
            yield source.diagnose("GC305", ("exclude", number, "when"), "nothing in the grid matches this")
    whole = all(envelope.size for envelope in counts.envelopes) and not idle
    if not whole or not (spec.draw or all(counts.exclude)):
        return
    for number, matched in enumerate(counts.slice):
        if not matched:
            message = f"no planned configuration matches `{spec.slice[number].id}`"
            yield source.diagnose("GC306", ("slice", number, "where"), message)
    for number, compared in enumerate(counts.hypothesis):
        if not compared:
            message = f"no planned cell tests `{spec.hypothesis[number].id}`"
            apart = _never_together(spec.hypothesis[number], counts.envelopes)
            yield source.diagnose("GC307", ("hypothesis", number, "where"), message, apart)
    for number, test in enumerate(spec.falsification):
        if test.criterion is None:
            continue
        where = [
            test.criterion.where,
            *(part.where for part in spec.slice if part.id == test.criterion.slice),
        ]
        places = (
            grid.place_values(spec, cell.levels, cell.benchmark, cell.model) for cell in cells.cells_of(spec)
        )
        if not any(all(selector.matches(place) for selector in where) for place in places):
            message = f"no planned cell is in the part of the grid that `{test.id}` asks about"
            yield source.diagnose("GC307", ("falsification", number, "criterion"), message)
    for benchmark in _unanchored(spec):
        message = f"no shared configuration of `{benchmark}` matches the anchor"
        help = "widen it: a list names several levels of an axis"
        yield source.diagnose("GC323", ("analysis", "anchor"), message, help)
    if not counts.primary:
        yield source.diagnose("GC307", ("analysis", "primary"), "no planned cell matches this")


def _never_together(hypothesis: AnyHypothesis, envelopes: Sequence[Envelope]) -> str | None:
    """What to do where the models that a hypothesis compares run no benchmark together; None where they
    do."""
    compared = kind_of(hypothesis).models(hypothesis) or ()
    about = hypothesis.where.restricted({"benchmark"})
    here = [envelope for envelope in envelopes if about.matches({"benchmark": envelope.benchmark})]
    if not compared or not here or any(set(compared) <= {*envelope.models} for envelope in here):
        return None
    names = ", ".join(f"`{model}`" for model in compared)
    return f"no benchmark that it is about is run by all of {names}: compare others, or narrow an [[exclude]]"


def _excluding(spec: Spec, benchmark: str) -> str:
    """The exclusions that leave nothing of a benchmark, by what they name."""
    places = (
        grid.grid_place(configuration.levels, configuration.tier, benchmark, model.id)
        for configuration in grid.configurations(spec)
        for model in spec.model
    )
    rules = dict.fromkeys(rule.when.model_dump_json(by_alias=True) for place in places
                          if (rule := grid.excluded_by(spec, place)) is not None)  # fmt: skip
    return f"the `when` of [[exclude]] {', '.join(rules)}"


def _unanchored(spec: Spec) -> Iterator[str]:
    """The benchmarks on which the anchor selects no configuration that all of its models share."""
    if spec.analysis.anchor is None:
        return
    held = {cell.benchmark for cell in cells.cells_of(spec) if cell.shared and anchored(spec, cell)}
    yield from (benchmark.id for benchmark in spec.benchmark if benchmark.id not in held)


def variants_exist(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each benchmark has the variants that its cells ask, and each variant is asked."""
    used: dict[str, set[str]] = {benchmark.id: set() for benchmark in spec.benchmark}
    if not any(benchmark.variants for benchmark in spec.benchmark) and not any(
        getattr(table.table, "variant", None) for table in grid.effect_tables(spec)
    ):
        return
    known = {declared.id: [variant.id for variant in declared.variants or ()] for declared in spec.benchmark}
    for cell in cells.cells_of(spec):
        name = cell.setting.variant
        if name is not None and name not in used[cell.benchmark]:
            used[cell.benchmark].add(name)
            if name not in known[cell.benchmark]:
                where = grid.effect_place(spec, "variant", {**cell.levels, "benchmark": cell.benchmark})
                message = f"`{cell.benchmark}` has no variant `{name}`"
                help = did_you_mean(name, known[cell.benchmark]) if known[cell.benchmark] else exclusion_help(
                    {"benchmark": basic_string(cell.benchmark), **{
                        axis: basic_string(level) for axis, level in cell.levels.items()
                        if grid.effect_place(spec, "variant", {axis: level})}}
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
                    where = grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
                    paths = [path for key in _SAMPLED if (path := grid.effect_place(spec, key, where))]
                    in_axes = [path for path in paths if path[0] == "axis"]
                    blamed = (*in_axes[:1], *paths[:1], ("axis", 0))[0]
                    way_out = (_EXCLUDE in help and _excluded(spec, in_axes)) or help
                    if help == _GREEDY and in_axes and "replicates" not in in_axes[0]:
                        way_out = "write `replicates = 1` beside it: greedy replicates are one call"
                    here = f" ({names})" if names else ""
                    yield source.diagnose("GC313", blamed, f"{problem}{here}", way_out, at_key=True)


_GREEDY = "greedy replicates are one call: leave `replicates` out, or set a `temperature` above 0"
_EXCLUDE = "add an [[exclude]] with a reason"
_SAMPLED = ("all_of", "aggregate", "replicates", "temperature", "method")
"""Keys that contradict each other where an answer that is not sampled is asked for several times."""


def _excluded(spec: Spec, paths: Sequence[KeyPath]) -> str | None:
    """The exclusion of a combination of levels of two axes; None where no two axes contradict each other."""
    levels = {int(path[1]): int(path[3]) for path in paths}
    if len(levels) < 2:
        return None
    named = [(spec.axis[axis].id, spec.axis[axis].level[level].id) for axis, level in sorted(levels.items())]
    return exclusion_help({axis: basic_string(level) for axis, level in named})


def distinct_configurations(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """An axis that does nothing under a level of another one counts the same calls several times."""
    for model, benchmark in grid.Settings(spec).representatives():
        with DistinctCounter() as seen:
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
            help = exclusion_help({axis: basic_string(second[axis]) for axis in axes})
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
        yield "a greedy answer has replicates", _GREEDY
    if not setting.ranks and not method.sampled and setting.temperature > 0:
        yield "the most likely first token is combined with sampling", _EXCLUDE
    yield from _of_one_answer(setting)
    yield from _of_a_form(setting)
    for key, value in method.fixes.items() if method.weighs else ():
        if getattr(setting, key) not in (value, DEFAULTS[key]):
            yield (
                f"a text is weighed as a whole, and `{key}` says how candidates are ranked",
                f"leave `{key}` out",
            )
    if setting.candidates not in method.candidates and not method.weighs:
        yield "`pair_likelihood` and `sentence_pair` are one without the other", "set both or neither"
    by_label = method.reads_text and FORMS[setting.reader].labels_alone
    if by_label and setting.options == "none":
        yield "an answer line gives a letter, and no letters are shown", 'set options = "lettered"'
    elif by_label and not setting.labels(2):
        yield "an answer line gives a label, and options are shown with bullets", 'set enumerator = "A."'
    if setting.ranks_labels and not bare_labels(setting.enumerator, 2):
        yield "labels are ranked, and options are shown with bullets", 'set enumerator = "A."'
    if method.one_token and setting.labelled and _roman(setting):
        yield "Roman numbers share their first token", 'set an enumerator of letters, such as "A."'


def _of_a_form(setting: Setting) -> Iterator[tuple[str, str]]:
    """What a form of answers excludes."""
    scaffold, match = setting.scaffolding, setting.match
    if setting.form is None:
        if scaffold is not None and scaffold.asks_for_form:
            help = 'answer = "line", or another form; method = "extract" or "match" reads it'
            yield "`ask_again` asks again for a form, and no form is asked for", help
        return
    if not METHODS[setting.method].reads_answer:
        if setting.form == "letter" and not setting.labelled:
            yield "a letter is asked for, and options are shown without letters", 'answer = "line"'
    elif setting.form == "letter":
        yield "a letter is asked for, and an answer in words is compared", 'answer = "line"'
    elif match is not None and match.kind == "filtered":
        problem = "filtered reads the whole response, and `answer` a form in it"
        yield problem, "leave `answer` out: a filter finds the answer itself"
    elif match is not None and (match.after or match.share):
        key = "after" if match.after else "share"
        yield f"`answer` says where an answer stands, and so does `{key}`", f"leave `{key}` out of `match`"
    if setting.form == "json_schema" and scaffold is not None:
        yield "a scaffold's calls have no JSON Schema of the response", 'answer = "json"'
    if setting.form == "json_schema" and not setting.chat_template:
        yield "servers hold only replies in a chat to a JSON Schema", 'answer = "json"'


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
        yield "a likelihood ranking gives one answer, so there is no majority", help
    elif aggregate == "majority" and setting.gives_numbers:
        help = 'aggregate = "mean", or a function that gives labels and `scores` of them'
        yield "a function gives numbers, so there is no majority", help
    elif aggregate == "majority" and not _distinguishable(setting):
        help = 'match = { as = "text", after = "..." }, or aggregate = { pass_at = ... }'
        yield "wrong answers are not told apart, and one of them may be the majority", help
    elif aggregate == "majority" and setting.temperature > 0 and answers == 1:
        yield "one answer to an item has no majority", "replicates = 5, or leave `aggregate` out"


def _distinguishable(setting: Setting) -> bool:
    """Whether two answers can be seen to be the same."""
    match = setting.match if METHODS[setting.method].reads_answer else None
    return match is None or COMPARISONS[match.kind].tells_apart
