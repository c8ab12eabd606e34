"""Labels: whatever a response can be read to earns a score, and a score is of something that can be read."""

from collections.abc import Iterator, Sequence

from gridc.compiler.frontend.checks.idle import settings
from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import configurations as grid
from gridc.compiler.instrument.methods import METHODS
from gridc.diagnostics.errors import Diagnostic
from gridc.diagnostics.places import KeyPath
from gridc.schema.items import Fields
from gridc.schema.scores import OTHER, Scores
from gridc.schema.spec import Spec


def labels_score(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each label of a judge, each behaviour that phrases show, and right and wrong free answers earn a score;
    each label that has a score is one of these. What options earn is known with the items
    (`inputs.rates.scores_fit`)."""
    reported: set[str] = set()
    for model, benchmark in grid.Settings(spec).representatives():
        for configuration, setting in settings(spec, model, benchmark):
            known = METHODS[setting.method].names(spec.verdicts(setting.judge), setting.scores)
            if not known or (setting.scores is None and not METHODS[setting.method].judged):
                continue
            place = grid.where(configuration.levels, configuration.tier, benchmark, model)
            judge = spec.judge_called(setting.judge)
            own = [(*path, "labels") for path, declared in grid.judge_tables(spec) if declared is judge]
            path = grid.stated_at(spec, "scores", place) or (*own, ("judge",))[0]
            for problem in _problems(source, path, setting.scores, known, benchmark):
                if problem.message not in reported:
                    reported.add(problem.message)
                    yield problem
    for number, outcome in enumerate(spec.outcomes):
        possible = [
            METHODS[setting.method].names(spec.verdicts(setting.judge), setting.scores)
            for model, benchmark in grid.Settings(spec).representatives()
            if benchmark in outcome.benchmarks
            for _, setting in settings(spec, model, benchmark)
        ]
        if outcome.scores is not None and all(possible):  # where options are read, their texts are labels
            known = tuple(dict.fromkeys(label for names in possible for label in names or ()))
            yield from _problems(source, ("outcome", number, "scores"), outcome.scores, known, outcome.id)


def matches_stated(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The method `match` has the key `match`, which no other method reads."""
    reported: set[KeyPath] = set()
    read = False
    for model, benchmark in grid.Settings(spec).representatives():
        for configuration, setting in settings(spec, model, benchmark):
            if not METHODS[setting.method].reads_answer:
                continue
            read = True
            place = grid.where(configuration.levels, configuration.tier, benchmark, model)
            path = grid.stated_at(spec, "method", place) or ("harness",)
            if setting.match is None and path not in reported:
                reported.add(path)
                message = "`match` compares answers, and does not say as what"
                help = 'match = { as = "number" } beside it; or "text", "contains", "exact"'
                yield source.diagnose("GC302", path, message, help)
    for table in grid.effect_tables(spec) if not read else ():
        if getattr(table.table, "match", None) is not None:
            message = "`match` says how free answers are compared, and no `method` compares any"
            help = 'method = "match", or leave `match` out'
            yield source.diagnose("GC105", (*table.path, "match"), message, help, at_key=True)


def scorers_stated(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The method `scorer` has the key `scorer`, which no other method reads; and an outcome of a `number` is
    of benchmarks that a function gives numbers."""
    reported: set[KeyPath] = set()
    numbers: dict[str, bool] = {}
    read = False
    for model, benchmark in grid.Settings(spec).representatives():
        for configuration, setting in settings(spec, model, benchmark):
            named = setting.gives_numbers and setting.scorer is not None and setting.scorer.score is not None
            numbers[benchmark] = numbers.get(benchmark, False) or named
            if not METHODS[setting.method].scored:
                continue
            read = True
            place = grid.where(configuration.levels, configuration.tier, benchmark, model)
            path = grid.stated_at(spec, "method", place) or ("harness",)
            if setting.scorer is None and path not in reported:
                reported.add(path)
                message = "`scorer` is a function, and it is not said which"
                help = 'scorer = { function = "python:scorers.py:NAME" } beside it'
                yield source.diagnose("GC302", path, message, help)
    for table in grid.effect_tables(spec) if not read else ():
        if getattr(table.table, "scorer", None) is not None:
            message = "`scorer` names a function, and no `method` asks for one"
            help = 'method = "scorer", or leave `scorer` out'
            yield source.diagnose("GC105", (*table.path, "scorer"), message, help, at_key=True)
    for number, outcome in enumerate(spec.outcomes):
        without = [name for name in outcome.benchmarks if not numbers.get(name, False)]
        if outcome.number is not None and without:
            message = f"no function gives numbers by name on `{without[0]}`"
            help = (
                'method = "scorer" with scorer.score = "NAME" there and without `scores`; or state `scores`'
            )
            yield source.diagnose("GC361", ("outcome", number, "number"), message, help)


def options_given(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A method that reads or ranks options is of items that have some: a map of columns names them."""
    reported: set[tuple[KeyPath, str]] = set()
    for benchmark in spec.benchmark:
        fields = benchmark.loading and benchmark.loading.fields
        if not fields or fields.options:
            continue
        for model in spec.model:
            for configuration, setting in settings(spec, model.id, benchmark.id):
                method = METHODS[setting.method]
                if method.weighs or not (method.ranks or method.reads_option):
                    continue
                place = grid.where(configuration.levels, configuration.tier, benchmark.id, model.id)
                path = grid.stated_at(spec, "method", place) or ("harness",)
                if (path, benchmark.id) in reported:
                    continue
                reported.add((path, benchmark.id))
                does = "ranks" if setting.ranks else "reads one of"
                message = (
                    f"`{setting.method}` {does} an item's options, and items of `{benchmark.id}` have none"
                )
                help = _without_options(fields)
                yield source.diagnose("GC105", path, message, help)


def _without_options(fields: Fields) -> str:
    """What scores a response to an item without options."""
    if fields.expected is not None:
        return 'method = "refusal_keywords", or method = "judge" with a [judge]'
    named = "options = [...] and gold in `loading.fields` name the columns"
    if fields.references:
        compared = 'method = "match" compares free text, with match = { as = "number" }, "text" or "contains"'
        return f'{compared}; or method = "judge", whose rubric prints `right`; or {named}'
    return f'{named}; or method = "judge" with a [judge]'


def _problems(
    source: Source, path: KeyPath, scores: Scores | None, known: Sequence[str], whose: str
) -> Iterator[Diagnostic]:
    if scores is None:
        wording = ", ".join(f"{label} = ..." for label in known)
        help = f"scores = {{ {wording} }} beside `method`, each from 0 to 1"
        message = f"no label of the judge has a score on `{whose}`"
        yield source.diagnose("GC361", path, message, help, at_key=True)
        return
    for label in scores.labels:
        if label != OTHER and label not in known:
            message = f"no response of `{whose}` can be read as `{label}`"
            yield source.diagnose("GC361", (*path, label), message, did_you_mean(label, known), at_key=True)
    missing = [label for label in known if label not in scores.labels]
    if missing and OTHER not in scores.labels:
        message = f"`{missing[0]}` has no score on `{whose}`"
        yield source.diagnose("GC361", path, message, f"add `{missing[0]}`, or `other`", at_key=True)
