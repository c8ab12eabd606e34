"""The front end: source text -> Spec, with `each` written out, and whether what it names is there.

`each = "model"` (or `"benchmark"`) asks for a verdict of its own for each of them: the hypothesis is written
out as one for each.

What follows sees only hypotheses with one verdict: they are counted, corrected, stamped and reported by their
own ids, and findings about them point to the hypothesis as it was written. Where it names no family, they
form one that is called by its id.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path

from gridc.compiler.frontend.checks import check_spec
from gridc.compiler.frontend.checks.envelope import most_cells
from gridc.compiler.frontend.expansion import expanded
from gridc.compiler.frontend.lookup import ReferenceFolders
from gridc.compiler.frontend.measurands import expand
from gridc.compiler.frontend.plugins import Plugin, used_plugins
from gridc.compiler.frontend.references import References, find_references
from gridc.compiler.frontend.source import STDIN, Source, read_source
from gridc.compiler.frontend.tasks import StoredTask, TaskRequest, task_requests, with_tasks
from gridc.compiler.frontend.validate import typed
from gridc.compiler.hypotheses import kind_of
from gridc.diagnostics.errors import Collector, Diagnostic, KeyPath
from gridc.schema.base import ALPHA, Not, Selector
from gridc.schema.inference import AnyHypothesis, Family
from gridc.schema.items import TASK_LOADERS
from gridc.schema.spec import TASK, Spec

LONGEST = 80
"""Characters of an id."""


def for_each(spec: Spec, source: Source) -> tuple[Spec, Source]:
    """The spec with one hypothesis for each model or benchmark that one is stated for, and the source that
    knows where each is written. Raises `SpecError` where `each` does not fit its hypothesis."""
    if all(hypothesis.each is None for hypothesis in spec.hypothesis):
        return spec, source
    collector = Collector()
    for diagnostic in _too_many(spec, source):
        collector.add(diagnostic)
    collector.raise_if_any()
    names = {family.id for family in spec.family}
    written: list[AnyHypothesis] = []
    rows: list[int] = []
    ids: dict[str, tuple[str, ...]] = {}
    for number, hypothesis in enumerate(spec.hypothesis):
        for diagnostic in _misfits(hypothesis, names, ("hypothesis", number), source):
            collector.add(diagnostic)
        several = [_in_family(hypothesis, one) for one in _written_out(spec, hypothesis)]
        if not several:
            where = ("hypothesis", number, "where")
            collector.add(
                source.diagnose("GC307", where, f"`{hypothesis.id}` is about no model or benchmark")
            )
        ids[hypothesis.id] = tuple(written_out.id for written_out in several)
        written += several
        rows += [number] * len(several)
    collector.raise_if_any()
    waived = tuple(waiver.model_copy(update={"where": _renamed(waiver.where, ids)}) for waiver in spec.waive)
    tests = []
    for test in spec.falsification:
        criterion = getattr(test, "criterion", None)
        if criterion is not None and criterion.keeps:
            keeps = tuple(name for kept in dict.fromkeys(criterion.keeps) for name in ids.get(kept, (kept,)))
            test = test.model_copy(update={"criterion": criterion.model_copy(update={"keeps": keeps})})
        tests.append(test)
    families = [_own_family(spec, hypothesis) for hypothesis in spec.hypothesis if _makes_family(hypothesis)]
    update = {
        "hypothesis": tuple(written),
        "family": (*spec.family, *families),
        "waive": waived,
        "falsification": tuple(tests),
    }
    return spec.model_copy(update=update), replace(source, rows=tuple(rows))


def _over(hypothesis: AnyHypothesis) -> tuple[str, ...]:
    if hypothesis.each is None:
        return ()
    return (hypothesis.each,) if isinstance(hypothesis.each, str) else hypothesis.each


def _written_out(spec: Spec, hypothesis: AnyHypothesis) -> Iterator[AnyHypothesis]:
    """The hypothesis for each of what it is stated for, in the order of the spec."""
    over = _over(hypothesis)
    if not over:
        yield hypothesis
        return
    names = _names(spec)
    stated = hypothesis.where.restricted(over)
    for combination in product(*(names[dimension] for dimension in over)):
        place = dict(zip(over, combination, strict=True))
        if stated.matches(place):
            where = Selector({**hypothesis.where.root, **place})
            name = ".".join((hypothesis.id, *combination))
            yield hypothesis.model_copy(update={"id": name, "where": where, "each": None})


def _names(spec: Spec) -> Mapping[str, Sequence[str]]:
    return {
        "model": [model.id for model in spec.model],
        "benchmark": [benchmark.id for benchmark in spec.benchmark],
    }


def _too_many(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The hypotheses are few enough to be written out."""
    sizes = {dimension: len(names) for dimension, names in _names(spec).items()}
    counts = [prod(sizes[dimension] for dimension in _over(hypothesis)) for hypothesis in spec.hypothesis]
    if sum(counts) > most_cells():
        largest = max(range(len(counts)), key=counts.__getitem__)
        message = f"`each` makes {sum(counts):,} hypotheses; {most_cells():,} is the most"
        help = f"state fewer; if you mean all of them, set GRIDC_MAX_CELLS={sum(counts)}"
        yield source.diagnose("GC318", ("hypothesis", largest), message, help, at_key=True)


def _misfits(
    hypothesis: AnyHypothesis, families: Collection[str], here: KeyPath, source: Source
) -> Iterator[Diagnostic]:
    over = _over(hypothesis)
    if not over:
        return
    if len(set(over)) < len(over):
        yield source.diagnose("GC201", (*here, "each"), f"`{over[0]}` is named twice")
    if _makes_family(hypothesis) and hypothesis.id in families:
        help = f'family = "{hypothesis.id}", if its verdicts are of that family; or another id'
        message = f"`{hypothesis.id}` makes a family of its verdicts, and there is one of that name"
        yield source.diagnose("GC201", (*here, "id"), message, help)
    for dimension, (problem, help) in kind_of(hypothesis).why_no_each(hypothesis).items():
        if dimension in over:
            yield source.diagnose("GC105", (*here, "each"), problem, help)


def _makes_family(hypothesis: AnyHypothesis) -> bool:
    """Whether its verdicts are a family that nobody states. Those of a kind that shares one level have one
    already."""
    return bool(_over(hypothesis)) and hypothesis.family is None and not kind_of(hypothesis).shares_level


def _own_family(spec: Spec, hypothesis: AnyHypothesis) -> Family:
    """Holm's, at the level of the study."""
    return Family(id=hypothesis.id, correction="holm", alpha=spec.analysis.alpha or ALPHA)


def _in_family(stated: AnyHypothesis, written_out: AnyHypothesis) -> AnyHypothesis:
    return written_out.model_copy(update={"family": stated.id}) if _makes_family(stated) else written_out


def _renamed(selector: Selector, ids: Mapping[str, tuple[str, ...]]) -> Selector:
    """A waiver of a hypothesis is one of each that it is written out as."""
    choice = selector.root.get("hypothesis")
    if choice is None:
        return selector
    names = choice.not_ if isinstance(choice, Not) else choice
    listed = (names,) if isinstance(names, str) else names
    every = tuple(name for written in dict.fromkeys(listed) for name in ids.get(written, (written,)))
    if every == listed:
        return selector
    return Selector({**selector.root, "hypothesis": Not(not_=every) if isinstance(choice, Not) else every})


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A spec in which nothing is wrong that can be seen without reading its data."""

    source: Source
    spec: Spec
    places: ReferenceFolders
    references: References
    plugins: Mapping[str, Plugin] = field(default_factory=dict)
    tasks: Mapping[str, StoredTask] = field(default_factory=dict)


def read_spec(path: Path, data_folder: Path | None = None, models_folder: Path | None = None) -> CheckedSpec:
    """Read and validate a spec, write out what it extends, its measurands and its hypotheses for each model,
    check it, and look up what it names.

    Raises `SpecError` with all findings of the first stage to fail.
    """
    source = expanded(read_source(path))
    written = typed(source)
    plugins = used_plugins(written, source)
    spec, tasks = with_tasks(expand(written, source), source)
    spec, source = for_each(spec, source)
    check_spec(spec, source)
    places = ReferenceFolders(path.parent, data_folder, models_folder)
    return CheckedSpec(source, spec, places, find_references(spec, source, places), plugins, tasks)


def asked_tasks(path: Path) -> Mapping[str, TaskRequest]:
    """The tasks that a spec asks for, by benchmark, whether or not their files are here. Of one on standard
    input, which can be read once, it names none. Raises `SpecError`."""
    if path == STDIN:
        return {}
    source = expanded(read_source(path))
    return task_requests(expand(typed(source), source)) if _may_ask(source) else {}


def _may_ask(source: Source) -> bool:
    """Whether it can ask for a task at all; most specs do not, and need not be read twice."""
    listed = source.values.get("benchmark")
    tables = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return any(
        each.get("loader") in TASK_LOADERS or str(each.get("source", "")).startswith(TASK) for each in tables
    )
