"""Hypotheses, curves and forks: what each kind needs, what each fork moves, which side is good."""

from collections.abc import Collection, Iterator, Mapping
from inspect import isclass
from typing import get_args

from gridc.compiler.frontend.checks.envelope import settings
from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.specifications import curve_hypotheses, meaning, specifications
from gridc.compiler.hypotheses import kind_of
from gridc.diagnostics.errors import Diagnostic, KeyPath, SpecError
from gridc.schema.base import Table
from gridc.schema.inference import BINDABLE, DOCUMENTED, RATES, Choice, Curve, rate_kind
from gridc.schema.scores import BEHAVIOURS
from gridc.schema.spec import Benchmark, Spec


def needed_keys(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Keys that a kind needs, and keys that contradict each other."""
    for number, hypothesis in enumerate(spec.hypothesis):
        for misfit in kind_of(hypothesis).misfits(hypothesis, spec):
            here: KeyPath = ("hypothesis", number)
            path = here if misfit.key is None else (*here, misfit.key)
            yield source.diagnose(misfit.code, path, misfit.problem, misfit.help, at_key=misfit.key is None)


def require_estimator(spec: Spec, source: Source) -> None:
    """Raise `SpecError` (GC338) where the spec does not say which test decides its effects, or that none
    does. It is asked before a stamp and a run, and never of results: what was run without one stays readable.
    """
    if "estimator" in spec.analysis.model_fields_set:
        return
    for number, hypothesis in enumerate(spec.hypothesis):
        if kind_of(hypothesis).needs_estimator(hypothesis):
            message = f"no test decides `{hypothesis.id}`: [analysis] names no `estimator`"
            help = (
                'estimator = "cluster_logit" takes any scores and assumes only that units are independent; '
                'estimator = "none" leaves effects untested'
            )
            raise SpecError([source.diagnose("GC338", ("hypothesis", number, "kind"), message, help)])


def curves_hold_something(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each exclusion of a curve removes something, and something is left."""
    forks = {fork.id: fork for fork in spec.fork}
    for number, curve in enumerate(spec.curve):
        counted = specifications(curve, forks)
        for rank, removed in enumerate(counted.removed):
            if removed == 0:
                where = ("curve", number, "exclude", rank, "when")
                yield source.diagnose("GC305", where, "no combination of the curve's forks matches this")
        if counted.size == 0:
            message = f"no specification of `{curve.id}` is left after its exclusions"
            help = "narrow the `when` of one of its exclusions, or take one out"
            yield source.diagnose("GC301", ("curve", number), message, help, at_key=True)


def forks_bind(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A fork binds a part of the spec, or says that it is only documented."""
    for number, fork in enumerate(spec.fork):
        if fork.binds == DOCUMENTED:
            continue
        before, rest = "", fork.binds
        here: object = _fork_tables(spec)
        while rest:
            parts = _parts(here)
            # An id may hold dots, so the longest name that fits is the one that is meant.
            fits = [name for name in parts if rest == name or rest.startswith(f"{name}.")]
            if not fits:
                wrong = rest.partition(".")[0]
                known = parts if before else (*parts, DOCUMENTED)
                where = f"`{before}`" if before else "what a fork can move"
                message = f"`{fork.id}` binds `{fork.binds}`, and {where} has no `{wrong}`"
                yield source.diagnose("GC202", ("fork", number, "binds"), message, did_you_mean(wrong, known))
                break
            name = max(fits, key=len)
            before, rest, here = f"{before}.{name}".lstrip("."), rest[len(name) + 1 :], parts[name]


def choices_change(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """What a fork's levels change is named once in a curve, and needs no new data."""
    for number, fork in enumerate(spec.fork):
        choices = fork.choice or {}
        if choices and fork.binds == DOCUMENTED:
            message = f"`{fork.id}` is only documented, and says what its levels change"
            yield source.diagnose("GC319", ("fork", number, "binds"), message, "name what it moves")
        for level, choice in choices.items():
            here = ("fork", number, "choice", level)
            if level not in fork.levels:
                help = did_you_mean(level, fork.levels)
                yield source.diagnose("GC202", here, f"`{fork.id}` has no level `{level}`", help, at_key=True)
            for path, what, name, known in _choice_names(spec, choice):
                if name not in known:
                    message, help = f"no {what} is called `{name}`", did_you_mean(name, known)
                    at_key = path[0] in BY_BENCHMARK and path[-1] == name
                    yield source.diagnose("GC202", (*here, *path), message, help, at_key=at_key)
            pairs = [name for judge in spec.declared_judges if judge.compares for name in judge.assessors]
            if choice.judge in pairs:
                message = f"`{choice.judge}` says A or B of two responses, which is not a label of one"
                help = "leave the level out, or have the judge label responses"
                yield source.diagnose("GC319", (*here, "judge"), message, help)
            if choice.judge is not None and choice.refusal_phrases is not None:
                message = f"`judge` and `refusal_phrases` both label the responses at `{level}`"
                yield source.diagnose("GC319", (*here, "refusal_phrases"), message, "leave one of them out")
    for number, curve in enumerate(spec.curve):
        yield from _set_twice(spec, curve, source, ("curve", number, "forks"))
        yield from _pooled_arms(spec, curve, source, ("curve", number, "forks"))
        yield from _of_replicates(spec, curve, source, ("curve", number, "forks"))


BY_BENCHMARK = ("items_of", "outcome_of")
"""Keys of a choice that are tables by benchmark."""
SET_ONCE = {
    "reading": "the reading", "outcome": "the outcome", "primary": "the primary part",
    "judge": "the labels of responses", "refusal_phrases": "the labels of responses",
    "estimator": "the estimator",
}  # fmt: skip
"""What one specification can have one of, as keys of a choice and in words."""


def _choice_names(spec: Spec, choice: Choice) -> Iterator[tuple[KeyPath, str, str, Collection[str]]]:
    """The names in a choice, each with its path, what it is a name of, and those that there are."""
    rates = [*RATES, *(outcome.id for outcome in spec.outcomes)]
    axes = [axis.id for axis in spec.axis]
    benchmarks = [benchmark.id for benchmark in spec.benchmark]
    if choice.outcome is not None:
        yield ("outcome",), "outcome", choice.outcome, rates
    for rank, term in enumerate(choice.without_terms):
        yield ("without_terms", rank), "fixed effect", term, ["model", "benchmark", *axes]
    for rank, axis in enumerate(choice.pool or ()):
        yield ("pool", rank), "axis", axis, axes
    for benchmark in choice.items_of or {}:
        yield ("items_of", benchmark), "benchmark", benchmark, benchmarks
    for benchmark, outcome in (choice.outcome_of or {}).items():
        yield ("outcome_of", benchmark), "benchmark", benchmark, benchmarks
        yield ("outcome_of", benchmark), "outcome", outcome, rates
    if choice.judge is not None:
        judges = [name for judge in spec.declared_judges for name in judge.assessors]
        yield ("judge",), "judge", choice.judge, judges
    if choice.responses is not None:
        for rank, benchmark in enumerate(choice.responses.benchmarks or ()):
            yield ("responses", "benchmarks", rank), "benchmark", benchmark, benchmarks
        labels = [label for judge in spec.declared_judges for label in judge.verdicts]
        for rank, label in enumerate(choice.responses.labels or ()):
            yield ("responses", "labels", rank), "label", label, [*labels, *BEHAVIOURS]


def _set_twice(spec: Spec, curve: Curve, source: Source, here: KeyPath) -> Iterator[Diagnostic]:
    """Two forks of a curve that both set what one specification can have one of."""
    sets: dict[str, str] = {}
    for fork in (each for each in spec.fork if each.id in curve.forks):
        found = [meaning(spec, fork, level) for level in fork.levels]
        choices = [each for each in found if isinstance(each, Choice)]
        words = {
            text for key, text in SET_ONCE.items() if any(getattr(each, key) is not None for each in choices)
        }
        words |= {f"the outcome on {name}" for each in choices for name in each.outcome_of or ()}
        for text in sorted(words):
            if text in sets:
                message = f"`{sets[text]}` and `{fork.id}` both set {text} of one specification"
                help = "one fork with a level for each combination says which of them holds"
                yield source.diagnose("GC319", here, message, help)
            sets[text] = fork.id


def _of_replicates(spec: Spec, curve: Curve, source: Source, here: KeyPath) -> Iterator[Diagnostic]:
    """A choice among single responses, where several of them make one score."""
    for fork in (each for each in spec.fork if each.id in curve.forks and spec.aggregated):
        choices = (fork.choice or {}).values()
        if any(choice.reads_responses for choice in choices):
            key = f"`{spec.makes_one}`"
            message = f"`{fork.id}` chooses among responses, and {key} makes one score of several"
            yield source.diagnose("GC319", here, message, f"leave the fork out, or {key}")


def _pooled_arms(spec: Spec, curve: Curve, source: Source, here: KeyPath) -> Iterator[Diagnostic]:
    """An axis whose levels are counted together and compared with each other in the same curve."""
    compared = {
        kind_of(hypothesis).pairs(hypothesis)[0][0]: hypothesis.id
        for hypothesis in curve_hypotheses(spec, curve)
    }
    for fork in (each for each in spec.fork if each.id in curve.forks):
        for choice in (fork.choice or {}).values():
            for axis in choice.pool or ():
                if axis in compared:
                    message = f"`{fork.id}` pools `{axis}`, whose levels `{compared[axis]}` compares"
                    help = "leave the axis out of `pool`, or the hypothesis out of the curve's `hypotheses`"
                    yield source.diagnose("GC319", here, message, help)


def _fork_tables(spec: Spec) -> dict[str, object]:
    """The tables that a fork can move, less those that the spec does not contain."""
    return {name: table for name in BINDABLE if (table := getattr(spec, name)) is not None}


def _parts(here: object) -> Mapping[str, object]:
    """What a path can name in a part of the spec: the ids of a list, the keys of a table, stated or not."""
    if isinstance(here, dict):
        return here
    if isinstance(here, tuple):
        return {row.id: row for row in here if hasattr(row, "id")}
    table = here if isclass(here) else type(here)
    if not issubclass(table, Table):
        return {}
    parts: dict[str, object] = {}
    for key, field in table.model_fields.items():
        value = getattr(here, key, None) if isinstance(here, Table) else None
        if value is None:
            kinds = (kind for kind in get_args(field.annotation) if isclass(kind) and issubclass(kind, Table))
            value = next(kinds, None)
        parts[key] = value
    parts.pop("id", None)
    return parts


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
            help = _way_out(spec, "leave the mark out")
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
            help = _way_out(spec, 'kind = "equivalence" says how near the two scores are')
            yield source.diagnose("GC337", ("hypothesis", number, "kind"), message, help)


def _worst(spec: Spec, source: Source, benchmark: Benchmark) -> Iterator[Diagnostic]:
    reported = set()
    stated = grid.Settings(spec)
    for model in spec.model:
        for configuration, _ in settings(spec, model.id, benchmark.id):
            if stated.stated(model.id, benchmark.id, configuration).get("unreadable") != "worst":
                continue
            place = grid.grid_place(configuration.levels, configuration.tier, benchmark.id, model.id)
            path = grid.effect_place(spec, "unreadable", place)
            if path is not None and path not in reported:
                reported.add(path)
                message = f"no score is the worst one on `{benchmark.id}`, {_nearest(benchmark)}"
                help = f'unreadable = "zero" in [[benchmark]] `{benchmark.id}`, or leave it out'
                if path[0] == "axis":
                    help = 'unreadable = "zero" there, or exclude the benchmark there'
                yield source.diagnose("GC337", path, message, help)


def _nearest(benchmark: Benchmark) -> str:
    return f"where the score nearest to {benchmark.target:.10g} is best"


def _way_out(spec: Spec, otherwise: str) -> str:
    """The way out: on the benchmarks that have a good side alone, where there are any."""
    sided = [benchmark.id for benchmark in spec.benchmark if benchmark.target is None]
    if not sided:
        return otherwise
    names = ", ".join(map(basic_string, sided))
    return f"{otherwise}, or where = {{ benchmark = [{names}] }}"
