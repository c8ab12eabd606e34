"""Checks how a spec scores responses: labels and their scores, judges, scoring functions, and scaffolds.

Every label that a response can get needs a score, and every score needs a label that can occur. Every judge
needs a name of its own, every judged response a judge, and every comparison something to compare with.
"""

from collections.abc import Iterator, Sequence

from gridc.compiler.frontend.checks.envelope import exclusion_help, settings
from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import cells_of, rosters
from gridc.compiler.grid.configurations import effect_place, effect_tables, stated_scaffolds
from gridc.compiler.instrument.filters import pattern_problem
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.setting import Setting
from gridc.diagnostics.errors import Diagnostic, KeyPath
from gridc.numbers import counted
from gridc.schema.base import PLUGIN
from gridc.schema.effects import (
    ASKED_BY,
    TAKES,
    USER_TURNS,
    Match,
    MultiChoiceRegexFilter,
    RegexFilter,
    Scaffold,
)
from gridc.schema.items import Fields
from gridc.schema.judging import BACKUP, GUESS, REFERENCE, SECOND, SWAPPED, Judge
from gridc.schema.models import engine_kind
from gridc.schema.scores import OTHER, Scores
from gridc.schema.spec import Benchmark, Spec
from gridc.schema.statistics import Statistic
from gridc.statistics.corpus import METRICS


def judges_declared(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Where responses are judged there is a judge, and every judge has a name of its own."""
    for path, _, _, table in grid.effect_tables(spec):
        method = getattr(table, "method", None)
        if method is not None and METHODS[method].judged and not spec.declared_judges:
            help = "[judge] with `source` (a model that is no candidate), `rubric` and `labels`"
            message = "there is no [judge] to assess the responses"
            yield source.diagnose("GC103", (*path, "method"), message, help)
    several = not isinstance(spec.judge, Judge)
    for path, judge in grid.judge_tables(spec):
        if several and judge.id is None:
            help = "an id, by which the key `judge` of a call names it"
            yield source.diagnose("GC103", path, "one of several judges has no `id`", help, at_key=True)
    taken: list[str] = []
    for path, judge in grid.judge_tables(spec):
        if judge.name in taken and not (several and judge.id is None):
            message = f"`{judge.id}` is already the id of another judge"
            yield source.diagnose("GC201", (*path, "id"), message)
        taken += [judge.name, *(judge.office(office) for office in (BACKUP, SECOND, GUESS))]
        taken += [f"{name}.{SWAPPED}" for name in taken[-4:]]
        for rank, panelist in enumerate(judge.panel or ()):
            if judge.office(panelist.id) in taken:
                where = (*path, "panel", rank, "id")
                yield source.diagnose("GC201", where, f"`{panelist.id}` is already the id of another judge")
            taken.append(judge.office(panelist.id))
        if bool(judge.panel) is not (judge.verdict is not None):
            message = "`panel` and `verdict` need each other: one says who judges too, one how they agree"
            help = 'verdict = "majority"' if judge.panel else "leave `verdict` out, or name a `panel`"
            yield source.diagnose("GC105", path, message, help, at_key=True)
    for number, model in enumerate(spec.model):
        if model.id in taken:
            yield source.diagnose("GC201", ("model", number, "id"), f"`{model.id}` is the name of a judge")
    yield from _blinded_alike(spec, source)
    yield from _references(spec, source)


def _blinded_alike(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Every judge is blinded as the first one is: a study has one map that hides its responses, in one
    order."""
    tables = list(grid.judge_tables(spec))
    for path, judge in tables[1:]:
        first = tables[0][1]
        blinding, first_blinding = judge.blinding, first.blinding
        if blinding is None and first_blinding is None:
            continue
        if (
            blinding is None
            or first_blinding is None
            or (blinding.sanitise, blinding.seed) != (first_blinding.sanitise, first_blinding.seed)
        ):
            message = f"`{judge.id}` is not blinded as `{first.id}` is"
            help = "the same `sanitise` and `seed` in the `blinding` of every judge, or of none"
            yield source.diagnose("GC105", path, message, help, at_key=True)


def _references(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A judge compares with a model that exists, and calls name a judge that does."""
    models, ids = [model.id for model in spec.model], [judge.id or "" for judge in spec.declared_judges]
    for path, judge in grid.judge_tables(spec):
        against = judge.compares.against if judge.compares is not None else REFERENCE
        if against not in (*models, REFERENCE):
            help = did_you_mean(against, [*models, REFERENCE])
            yield source.diagnose(
                "GC202", (*path, "compares", "against"), f"no model is called `{against}`", help
            )
        elif judge.compares is not None and against == REFERENCE and REFERENCE in models:
            message = f"`{REFERENCE}` is what a judge calls the text of an item"
            yield source.diagnose("GC201", ("model", models.index(REFERENCE), "id"), message)
    for path, _, _, table in grid.effect_tables(spec):
        named = getattr(table, "judge", None)
        if named is not None and named not in ids:
            help = (
                did_you_mean(named, [name for name in ids if name])
                if any(ids)
                else "leave it out: [judge] has no id"
            )
            yield source.diagnose("GC202", (*path, "judge"), f"no judge is called `{named}`", help)


def judges_asked(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Every judged response has a judge and, where that compares, a response to compare with; and every judge
    has responses to label."""
    reported: set[tuple[KeyPath, str]] = set()
    asked: set[str | None] = set()
    for model, benchmark in ((model.id, other.id) for model in spec.model for other in spec.benchmark):
        for configuration, setting in settings(spec, model, benchmark):
            if not METHODS[setting.method].judged:
                continue
            place = grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
            judge = spec.judge_called(setting.judge)
            problem: tuple[KeyPath, str, str] | None
            if judge is None:
                path = grid.effect_place(spec, "method", place) or ("harness",)
                message = "it is not stated which of the judges labels the responses"
                help = "beside it: " + " or ".join(f'judge = "{one.id}"' for one in spec.declared_judges)
                problem = path, message, help
            else:
                asked.add(judge.id)
                problem = _without_other(spec, judge, place) or _worse(spec, judge, place)
            if problem is not None and problem[:2] not in reported:
                reported.add(problem[:2])
                yield source.diagnose("GC105" if judge is not None else "GC302", *problem, at_key=True)
    stating = [path for path, _, _, table in grid.effect_tables(spec) if getattr(table, "judge", None)]
    for path in stating if not asked else ():
        message = "`judge` says who labels responses, and no `method` has any labelled"
        yield source.diagnose("GC105", (*path, "judge"), message, 'method = "judge"', at_key=True)
    for path, judge in grid.judge_tables(spec) if asked and not reported else ():
        if judge.id is not None and judge.id not in asked:
            message = f"no response is labelled by `{judge.id}`"
            help = f'method = "judge" and judge = "{judge.id}" where it is to, or leave it out'
            yield source.diagnose("GC105", path, message, help, at_key=True)


def _without_other(spec: Spec, judge: Judge, place: dict[str, str]) -> tuple[KeyPath, str, str] | None:
    """The exclusion that leaves a judge without the responses that it compares with; None where there is
    none."""
    if judge.compares is None or judge.compares.against == REFERENCE:
        return None
    against = judge.compares.against
    exclusion = grid.excluded_by(spec, {**place, "model": against})
    if exclusion is None:
        return None
    path = ("exclude", spec.exclude.index(exclusion), "when")
    message = f"`{judge.name}` compares with `{against}`, which is not asked there"
    return path, message, f"leave `{against}` in: with itself it is a tie, and nobody is asked"


def _worse(spec: Spec, judge: Judge, place: dict[str, str]) -> tuple[KeyPath, str, str] | None:
    """The direction of a benchmark under which a judge's win would count as the worst; None where there is
    none."""
    number = next(at for at, benchmark in enumerate(spec.benchmark) if benchmark.id == place["benchmark"])
    scores_path = grid.effect_place(spec, "scores", place)
    if judge.compares is None or scores_path is not None or not spec.benchmark[number].lower_is_better:
        return None
    message = f"a win on `{place['benchmark']}` earns 1, and lower is better"
    return ("benchmark", number, "direction"), message, 'direction = "higher_is_better"; or say `scores`'


def labels_score(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Each label of a judge, each behaviour that phrases show, and right and wrong free answers earn a score;
    each label that has a score is one of these. What options earn is known with the items
    (`inputs.rates.scores_fit`)."""
    reported: set[str] = set()
    for model, benchmark in grid.Settings(spec).representatives():
        for configuration, setting in settings(spec, model, benchmark):
            labels = METHODS[setting.method].names(spec.verdicts(setting.judge), setting.scores)
            if not labels or (setting.scores is None and not METHODS[setting.method].judged):
                continue
            place = grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
            judge = spec.judge_called(setting.judge)
            judge_paths = [
                (*path, "labels") for path, declared in grid.judge_tables(spec) if declared is judge
            ]
            path = grid.effect_place(spec, "scores", place) or (*judge_paths, ("judge",))[0]
            for problem in _problems(source, path, setting.scores, labels, benchmark):
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
        # Where options are read, their texts are the labels, and these are known only with the items.
        if outcome.scores is not None and all(possible):
            labels = tuple(dict.fromkeys(label for names in possible for label in names or ()))
            yield from _problems(source, ("outcome", number, "scores"), outcome.scores, labels, outcome.id)


def statistics_measure(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A statistic has what it is computed from: enough models that run all its benchmarks, and responses that
    are compared, drawn more than once, or texts, as its kind needs. Benchmarks that are taken together agree
    on which score is better."""
    run = rosters(spec)
    for number, statistic in enumerate(spec.statistics if all(run.values()) else ()):
        named = [
            benchmark
            for benchmark in spec.benchmark
            if statistic.benchmarks is None or benchmark.id in statistic.benchmarks
        ]
        asked = [
            setting
            for model in spec.model
            for benchmark in named
            for _, setting in settings(spec, model.id, benchmark.id)
        ]
        path: KeyPath = ("statistic", number, "kind")
        models = [model for model in spec.model if all(model.id in run[benchmark.id] for benchmark in named)]
        for message, help in _unmeasured(spec, statistic, named, len(models), asked):
            yield source.diagnose("GC105", path, message, help)


def _unmeasured(
    spec: Spec, statistic: Statistic, benchmarks: Sequence[Benchmark], models: int, asked: Sequence[Setting]
) -> Iterator[tuple[str, str]]:
    kind = statistic.kind
    if kind in ("macro_mean", "win_rate") and any(benchmark.target is not None for benchmark in benchmarks):
        yield f"`{kind}` needs benchmarks where more, or less, is better", "name others in `benchmark`"
    if kind == "macro_mean" and len({benchmark.direction for benchmark in benchmarks}) > 1:
        message = "a mean of scores says nothing where higher is better on one benchmark and lower on another"
        help = (
            'kind = "win_rate" takes both; or name benchmarks of one direction in `benchmark`; or turn the '
        )
        yield message, f'{help}others: direction = "higher" with scores = {{ right = 0, wrong = 1 }}'
    if statistic.by == "category" and len(benchmarks) > 1:
        message = 'a mean by = "category" is over the categories of one benchmark'
        yield message, f'benchmark = "{benchmarks[0].id}", and a statistic of each other one'
    scores = any(setting.scores is not None for setting in asked)
    if statistic.positive is not None and statistic.predicted is None and scores:
        message = "`scores` say what a response earns, and not whether it says that its item is positive"
        yield message, "predicted = an [[outcome]] that is 1 where a response says so"
    if not models:
        yield "no model runs all the benchmarks that it is of", "name fewer in `benchmark`"
    elif kind == "win_rate" and models < 2:
        help = "two [[model]] tables or more that run the same benchmarks"
        yield "a win rate is of one model against others", help
    if kind == "strength" and not all(_compares(spec, setting) for setting in asked):
        message = "strengths are of responses that a judge compares with those of other models"
        yield message, 'method = "judge", and a [[judge]] with `compares` for each opponent'
    if kind in ("spread_within", "spread_between") and all(setting.replicates < 2 for setting in asked):
        message = "spread is over replicates, and every item is answered once"
        yield (
            message,
            "replicates = 5 wherever `temperature` is above 0: in [harness], or in an [[axis.level]]",
        )
    if statistic.k is not None and not statistic.over:
        most = max((setting.replicates for setting in asked), default=statistic.k)
        if most < statistic.k:
            message = f"k = {statistic.k}, and an item has {counted(most, 'answer')}"
            help = f"replicates = {statistic.k} or more where `temperature` is above 0, or a smaller `k`"
            yield message, help
    if statistic.k is not None:
        outcome = next((declared for declared in spec.outcomes if declared.id == statistic.outcome), None)
        parts = any(setting.scale > 1 and not setting.gives_numbers for setting in asked)
        if parts if outcome is None else outcome.number is None and outcome.scale > 1:
            yield (
                f"`{kind}` counts answers, and `{statistic.outcome or 'score'}` has parts of a point",
                "outcome = an [[outcome]] that is 1 or 0, such as a `number` of the scorer",
            )
    if kind in METRICS and any(METHODS[setting.method].ranks for setting in asked):
        yield f"`{kind}` compares texts, and some answers are ranked", "name other benchmarks in `benchmark`"


def _compares(spec: Spec, setting: Setting) -> bool:
    judge = spec.judge_called(setting.judge) if METHODS[setting.method].judged else None
    return judge is not None and judge.compares is not None


def matches_stated(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The method `match` has the key `match`, which no other method reads."""
    reported: set[KeyPath] = set()
    read = False
    for model, benchmark in grid.Settings(spec).representatives():
        for configuration, setting in settings(spec, model, benchmark):
            if not METHODS[setting.method].reads_answer:
                continue
            read = True
            place = grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
            path = grid.effect_place(spec, "method", place) or ("harness",)
            if setting.match is None and path not in reported:
                reported.add(path)
                message = "`match` compares answers, and does not say how (`as`)"
                help = 'match = { as = "number" } beside it; or "text", "contains", "exact", "filtered"'
                yield source.diagnose("GC302", path, message, help)
    for table in grid.effect_tables(spec) if not read else ():
        if getattr(table.table, "match", None) is not None:
            message = "`match` says how free answers are compared, and no `method` compares any"
            help = 'method = "match", or leave `match` out'
            yield source.diagnose("GC105", (*table.path, "match"), message, help, at_key=True)


def patterns_compile(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The regular expressions of filters can be compiled."""
    for table in grid.effect_tables(spec):
        match: Match | None = getattr(table.table, "match", None)
        for path, pattern in _patterns(match) if match is not None else ():
            problem = pattern_problem(pattern)
            if problem is not None:
                message = f"{pattern!r} cannot be read as a regular expression: {problem}"
                help = "Python's `re` reads it; in TOML a pattern stands best in single quotes"
                yield source.diagnose("GC104", (*table.path, "match", *path), message, help)


def _patterns(match: Match) -> Iterator[tuple[KeyPath, str]]:
    """Each regular expression and its place in the table."""
    for number, step in enumerate(match.filters or ()):
        if isinstance(step, RegexFilter | MultiChoiceRegexFilter):
            yield ("filters", number, "pattern"), step.pattern
        if isinstance(step, MultiChoiceRegexFilter):
            yield from (
                (("filters", number, "ignore", at), pattern) for at, pattern in enumerate(step.ignore or ())
            )
    for at, pattern in enumerate((match.ignore and match.ignore.regexes) or ()):
        yield ("ignore", "regexes", at), pattern


def scorers_stated(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """The method `scorer` has the key `scorer`, which no other method reads; and an outcome with a `number`
    has only benchmarks on which a function gives numbers."""
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
            place = grid.grid_place(configuration.levels, configuration.tier, benchmark, model)
            path = grid.effect_place(spec, "method", place) or ("harness",)
            if setting.scorer is None and path not in reported:
                reported.add(path)
                message = "`scorer` is a function, and it is not stated which"
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
    """A method that reads or ranks options needs items with options, which the map of columns has to name."""
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
                place = grid.grid_place(configuration.levels, configuration.tier, benchmark.id, model.id)
                path = grid.effect_place(spec, "method", place) or ("harness",)
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
    source: Source, path: KeyPath, scores: Scores | None, labels: Sequence[str], whose: str
) -> Iterator[Diagnostic]:
    if scores is None:
        wording = ", ".join(f"{label} = ..." for label in labels)
        help = f"scores = {{ {wording} }} beside `method`, each from 0 to 1"
        message = f"no label of the judge has a score on `{whose}`"
        yield source.diagnose("GC361", path, message, help, at_key=True)
        return
    for label in scores.labels:
        if label != OTHER and label not in labels:
            message = f"no response of `{whose}` can be read as `{label}`"
            yield source.diagnose("GC361", (*path, label), message, did_you_mean(label, labels), at_key=True)
    missing = [label for label in labels if label not in scores.labels]
    if missing and OTHER not in scores.labels:
        message = f"`{missing[0]}` has no score on `{whose}`"
        yield source.diagnose("GC361", path, message, f"add `{missing[0]}`, or `other`", at_key=True)


def functions_sent(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Functions that items declare go only to servers with the chat protocol, in a plain call, and a scoring
    function reads the reply: nothing else understands a function call."""
    for number, benchmark in enumerate(spec.benchmark):
        fields = benchmark.loading.fields
        if not fields or not fields.functions:
            continue
        path = ("benchmark", number, "loading", "fields", "functions")
        for model in spec.model:
            served = (
                engine_kind(model.engine).provider and model.base_url is not None and model.weights is None
            )
            problems = [] if served else [f"`{model.id}` is not asked by a protocol that has them"]
            ways = 'engine = "api" with base_url, and without `weights`'
            for _, setting in settings(spec, model.id, benchmark.id) if served else ():
                if setting.scaffolding is not None or not setting.chat_template or setting.held("stop"):
                    problems.append(
                        f"`{model.id}` is asked with a scaffold, `stop` or without a chat template"
                    )
                    ways = "leave out `scaffold`, `stop` and `chat_template`"
                elif not METHODS[setting.method].scored:
                    problems.append(f"`{setting.method}` reads no calls")
                    ways = 'method = "scorer", whose function reads the JSON text of a reply'
            if problems:
                message = f"the functions of `{benchmark.id}` cannot be called: {problems[0]}"
                help = f'{ways}; or print them in the prompt: extra = ["{fields.functions}"]'
                yield source.diagnose("GC105", path, message, help, at_key=True)
                break


def schemas_sent(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Only servers and providers hold a response to a JSON Schema."""
    for number, model in enumerate(spec.model):
        if engine_kind(model.engine).provider and model.weights is None:
            continue
        for benchmark in spec.benchmark:
            if any(setting.form == "json_schema" for _, setting in settings(spec, model.id, benchmark.id)):
                message = (
                    f"`{model.id}` is not asked in a chat by a server, which alone holds to a JSON Schema"
                )
                help = 'answer = "json" asks for the same form; or engine = "api" with base_url'
                yield source.diagnose("GC105", ("model", number, "engine"), message, help, at_key=True)
                break


def scaffolds(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A scaffold has the keys of its kind, names benchmarks that exist, and a chain knows its prompts."""
    for place, _, _, table in effect_tables(spec):
        scaffold: Scaffold | None = getattr(table, "scaffold", None)
        if scaffold is None:
            continue
        path, takes = (*place, "scaffold"), TAKES.get(scaffold.kind, tuple(Scaffold.model_fields))
        for key in Scaffold.model_fields:
            if key != "kind" and getattr(scaffold, key) and key not in takes:
                message = f"`{key}` does not apply to the scaffold `{scaffold.kind}`"
                takers = [kind for kind, keys in TAKES.items() if key in keys]
                help = f"leave it out; it is a key of {' and '.join(f'`{kind}`' for kind in takers)}"
                yield source.diagnose("GC105", (*path, key), message, help, at_key=True)
        yield from _benchmarks(spec, source, path, scaffold)
        if "intensity" in TAKES.get(scaffold.kind, ()):  # a plug-in knows its own prompts
            yield from _chain(spec, source, path, scaffold)


def _benchmarks(spec: Spec, source: Source, path: KeyPath, scaffold: Scaffold) -> Iterator[Diagnostic]:
    benchmarks = [benchmark.id for benchmark in spec.benchmark]
    for key in ("wording", "property"):
        for name in getattr(scaffold, key) or {}:
            if name not in benchmarks:
                message, help = f"no benchmark is called `{name}`", did_you_mean(name, benchmarks)
                yield source.diagnose("GC202", (*path, key, name), message, help, at_key=True)


def _chain(spec: Spec, source: Source, path: KeyPath, scaffold: Scaffold) -> Iterator[Diagnostic]:
    """A chain has prompts of its own on every benchmark, or gridc's at an intensity."""
    if scaffold.intensity is not None:
        if scaffold.wording is not None:
            message = "a chain has its own wording or an intensity, not both"
            yield source.diagnose("GC105", (*path, "intensity"), message, "remove one", at_key=True)
        return
    for key in ("property", "length"):
        if getattr(scaffold, key):
            message = f"`{key}` needs an intensity: a chain of its own wording says it in its prompts"
            yield source.diagnose("GC105", (*path, key), message, 'intensity = "moderate"', at_key=True)
    for benchmark in spec.benchmark:
        if benchmark.id not in (scaffold.wording or {}):
            message = f"the chain has no prompts for `{benchmark.id}`"
            help = f'wording = {{ {benchmark.id} = ["..."] }}, or intensity = "minimal"'
            yield source.diagnose("GC103", path, message, help, at_key=True)


def items_asked_whole(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Parts of items that only a scaffold asks (turns, tools) are asked by some cell; and a scaffold that
    asks turns has items with turns."""
    fields = [benchmark.loading.fields for benchmark in spec.benchmark]
    says_more = any(scaffold.kind in USER_TURNS for scaffold in stated_scaffolds(spec))
    if not says_more and not any(
        asked_fields and (asked_fields.turns or asked_fields.tools or asked_fields.messages)
        for asked_fields in fields
    ):
        return
    kinds: dict[str, set[str]] = {benchmark.id: set() for benchmark in spec.benchmark}
    for cell in cells_of(spec):
        scaffold, number = cell.setting.scaffold, list(kinds).index(cell.benchmark)
        kinds[cell.benchmark].add("" if scaffold is None else scaffold.kind)
        place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
        item_fields = fields[number]
        if scaffold is not None and scaffold.kind in USER_TURNS:
            follows = (item_fields is not None and item_fields.turns) or cell.benchmark in (
                scaffold.wording or {}
            )
            if not follows:
                path = effect_place(spec, "scaffold", place) or ("harness",)
                message = f"on `{cell.benchmark}` nothing is said after the first reply"
                help = (
                    f'turns = "COLUMN" in place of `query` in its `loading.fields`, or wording = {{ '
                    f'{cell.benchmark} = ["Are you sure?"] }}'
                )
                yield source.diagnose("GC105", path, message, help)
                return
        if cell.setting.shots and item_fields is not None and item_fields.messages:
            path = effect_place(spec, "shots", place) or ("harness",)
            message = f"exemplars are questions with answers, and items of `{cell.benchmark}` conversations"
            yield source.diagnose("GC105", path, message, "shots = 0")
            return
    for number, benchmark in enumerate(spec.benchmark):
        for key, (who, otherwise) in ASKED_BY.items():
            asked = any(kind in who or kind.startswith(PLUGIN) for kind in kinds[benchmark.id])
            if getattr(fields[number], key, None) and not asked:
                path = ("benchmark", number, "loading", "fields", key)
                message = f"no configuration asks the `{key}` of `{benchmark.id}`"
                help = (
                    f'scaffold = {{ kind = "{who[0]}" }} in [harness] or a level of an axis; or {otherwise}'
                )
                yield source.diagnose("GC105", path, message, help, at_key=True)


def exemplars_dropped(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Exemplars that are turns of a chat are asked in full: none of them is dropped where the prompt is too
    long."""
    reported: set[KeyPath] = set()
    turned = any(getattr(table.table, "exemplars_as", None) for table in effect_tables(spec))
    for cell in cells_of(spec) if turned else ():
        place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
        path = effect_place(spec, "overflow", place)
        if cell.setting.in_turns and cell.setting.overflow == "drop_exemplars" and path not in reported:
            reported.add(path or ())
            message = "exemplars that are turns of a chat cannot be dropped one by one"
            help = 'overflow = "error" here, or exemplars_as = "text"'
            yield source.diagnose("GC105", path or ("harness",), message, help)


def thoughts_end(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """A budget of thought leaves tokens for the answer: every server counts both in `max_tokens`."""
    omitting = {model.id for model in spec.model if "max_tokens" in (model.omits or ())}
    reported: set[KeyPath] = set()
    budgets = [getattr(table.table, "thinking", None) for table in effect_tables(spec)]
    bounded = any(not isinstance(thinking, bool | str | None) for thinking in budgets)
    for cell in cells_of(spec) if bounded else ():
        setting = cell.setting.effective()
        budget, most = setting.thinking, setting.held("max_tokens")
        if isinstance(budget, bool | str | None) or setting.ranks or cell.model in omitting or budget < most:
            continue
        place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
        path = effect_place(spec, "thinking", place) or ("harness",)
        if path not in reported:
            reported.add(path)
            message = (
                f"thinking = {budget} leaves nothing for the answer: `max_tokens` is {most} (first in "
                f"{cell.key})"
            )
            help = f"max_tokens = {budget + ANSWER}, or a smaller budget: thought and answer count together"
            if METHODS[setting.method].one_token:
                help = f"leave `thinking` out where the method is `{setting.method}`, which reads one token"
            yield source.diagnose("GC105", path, message, help)


ANSWER = 1024
"""Tokens that an answer with some words around it takes."""


def texts_to_read(spec: Spec, source: Source) -> Iterator[Diagnostic]:
    """Under a scaffold the method reads text, and prompts are asked in full."""
    reported: set[KeyPath] = set()
    for cell in cells_of(spec) if not all(scaffold.plain for scaffold in stated_scaffolds(spec)) else ():
        setting, scaffold = cell.setting, cell.setting.scaffolding
        if scaffold is None:
            continue
        place = {**cell.levels, "benchmark": cell.benchmark, "model": cell.model}
        if setting.ranks or METHODS[setting.method].one_token:
            key = "method"
            message = f"`{scaffold.kind}` answers in text, which the method `{setting.method}` does not read"
        elif setting.shots and setting.overflow == "drop_exemplars":
            key, message = (
                "overflow",
                "the prompts of a scaffold are asked in full: no exemplar can be dropped",
            )
        else:
            continue
        path = effect_place(spec, key, place) or ("harness",)
        if path not in reported:
            reported.add(path)
            causes = [path, effect_place(spec, "scaffold", place) or ("harness",)]
            axes = sorted({spec.axis[int(where[1])].id for where in causes if where[0] == "axis"})
            excluded = exclusion_help({axis: basic_string(cell.levels[axis]) for axis in axes})
            help = f"{excluded if axes else 'leave `scaffold` out'}; or set another `{key}`"
            yield source.diagnose("GC105", path, message, help)
