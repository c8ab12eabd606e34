"""Whether everything that a spec names exists where it says, and every template is valid."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from gridc.compiler.frontend.checkpoints import checkpoint_folder, look_into
from gridc.compiler.frontend.checks.envelope import exclusion_help, settings
from gridc.compiler.frontend.lookup import NotFound, ReferenceFolders
from gridc.compiler.frontend.measurands import owner_of
from gridc.compiler.frontend.source import Source, basic_string
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.grid.configurations import (
    LevelByAxis,
    Settings,
    asked_models,
    effect_place,
    effect_tables,
    judge_tables,
)
from gridc.compiler.instrument.points import ScorerFile
from gridc.compiler.instrument.render import (
    COMPOSITE,
    PLACEHOLDER,
    RUBRIC_VARIABLES,
    TEMPLATE_MARK,
    VARIABLES,
    WRAPPER_VARIABLES,
    TemplateProblem,
    check_rubric,
    check_template,
    check_wrapper,
    extra_columns,
    joined,
    template_variables,
)
from gridc.diagnostics.errors import Collector, Diagnostic, KeyPath
from gridc.schema.base import PLUGIN
from gridc.schema.canonical import digest_bytes
from gridc.schema.effects import Var
from gridc.schema.spec import Spec

_FILE_NAME = re.compile(r"(?:file:/?/?)?((?!/)[\w./-]+\.(?:txt|md|jinja2?|j2))")
"""A file's name in the place of a template, as promptfoo and shells write it."""


@dataclass(frozen=True, slots=True)
class References:
    """What a spec names: the text of each template by its reference, by the id of a benchmark or model why
    its files are not here, and the files with scoring functions, by name."""

    prompts: Mapping[str, str]
    absent: Mapping[str, str]
    scorers: Mapping[str, ScorerFile] = field(default_factory=dict)


def find_references(spec: Spec, source: Source, places: ReferenceFolders) -> References:
    """Look up templates, benchmark files and model folders, and read the templates.

    Raises `SpecError` with everything that is missing. Where no data folder is given, what would be looked up
    there may be absent, because cells can be counted without it.
    """
    collector = Collector()
    prompts: dict[str, str] = {}
    given = _parameters(spec)
    tables = [benchmark.loading.fields for benchmark in spec.benchmark if benchmark.loading.fields]
    columns = {column: f"extra.{column}" for fields in tables for column in fields.extra or ()}
    columns |= {fields.query: "query" for fields in tables if isinstance(fields.query, str)}
    for path, reference in rubrics(spec):
        try:
            text = places.prompt(reference)
        except NotFound as error:
            collector.add(source.diagnose(error.code, path, error.problem, error.help))
            continue
        if text != reference:  # one that is written out is in the spec itself
            prompts[reference] = text
        for problem in check_rubric(text):
            place = "" if reference == text else f" (line {problem.line} of `{reference}`)"
            usable = f"it may use {', '.join(f'`{name}`' for name in RUBRIC_VARIABLES)}"
            if "`response`" in problem.message:
                usable = f"leave it out: the response stands below the rubric; {usable}"
            collector.add(source.diagnose("GC310", path, problem.message + place, usable))
    for path, reference in prompt_references(spec):
        try:
            prompts[reference] = places.prompt(reference)
        except NotFound as error:
            owner = owner_of(reference)
            help = owner.prompt_from if owner else error.help
            collector.add(source.diagnose(error.code, path, error.problem, help))
            continue
        if reference.startswith("builtin:"):
            continue  # they ship with gridc, and its tests check them
        owner = owner_of(reference) if reference.startswith("data:") else None
        if owner and digest_bytes(prompts[reference].encode()) != owner.prompt_digest:
            message = f"`{reference}` is not the prompt of {owner.package}"
            collector.add(source.diagnose("GC316", path, message, owner.prompt_from))
        for problem, variables in _problems(path, prompts[reference], given):
            place = "" if reference == prompts[reference] else f" (line {problem.line} of `{reference}`)"
            misspelt = re.search(r"unknown template variable `(\w+)`", problem.message)
            near = get_close_matches(misspelt[1], variables, n=1, cutoff=0.6) if misspelt else []
            single = PLACEHOLDER.search(prompts[reference])
            if single is not None and single[1] in variables:
                help = f"write {{{{ {single[1]} }}}}: Jinja's placeholders have two braces"
            elif misspelt and misspelt[1] in columns:
                help = f"write {{{{ {columns[misspelt[1]]} }}}}"
            elif file := _FILE_NAME.fullmatch(reference):
                help = f'write `{path[-1]} = "path:{file[1]}"` here: other texts are templates themselves'
            elif near:
                help = f"did you mean `{near[0]}`?"
            elif "loops over" in problem.message:
                help = "{% for letter, text in choices %}{{ letter }}. {{ text }}{% endfor %}"
            else:
                help = f"it may use {', '.join(f'`{name}`' for name in variables)}"
                if "question never reaches" in problem.message:
                    help = f"write {{{{ question }}}} where it stands; {help}"
            collector.add(source.diagnose("GC310", path, problem.message + place, help))
    for path, text in said_later(spec):
        for problem in check_template(text, given, part=True) if TEMPLATE_MARK.search(text) else ():
            usable = f"it may use {', '.join(f'`{name}`' for name in (*VARIABLES, *given))}"
            collector.add(source.diagnose("GC310", path, problem.message, usable))
    if not collector.diagnostics:
        templates = [*prompt_references(spec), *said_later(spec), *rubrics(spec)]
        for diagnostic in _columns_there(spec, source, templates, prompts):
            collector.add(diagnostic)
        for diagnostic in _in_cells(spec, source, prompts, given):
            collector.add(diagnostic)
    absent: dict[str, str] = {}
    for number, benchmark in enumerate(spec.benchmark):
        named: list[tuple[KeyPath, str]] = [(("benchmark", number, "source"), benchmark.source)]
        named += [
            (("benchmark", number, "variants", rank, "source"), variant.source)
            for rank, variant in enumerate(benchmark.variants or ())
        ]
        for here, reference in named:
            if reference.startswith("hf:") or benchmark.is_task:
                continue  # the one is looked up when it is needed, the other was
            try:
                places.benchmark(reference)
            except NotFound as error:
                elsewhere = reference.startswith("data:") and places.data_folder is None
                if elsewhere and error.code == "GC309":
                    absent[benchmark.id] = error.problem
                else:
                    collector.add(source.diagnose(error.code, here, error.problem, error.help))
    for path, model in asked_models(spec):
        try:
            look_into(model, places)
        except NotFound as error:
            elsewhere = (checkpoint_folder(model) or "").startswith(
                "models:"
            ) and places.models_folder is None
            if elsewhere and error.code == "GC309":
                absent[model.id] = error.problem
                continue
            key = "source" if model.weights is None else "weights"
            collector.add(source.diagnose(error.code, (*path, key), error.problem, error.help))
    scorers: dict[str, ScorerFile] = {}
    for diagnostic in _functions_there(spec, source, places, scorers):
        collector.add(diagnostic)
    collector.raise_if_any()
    return References(prompts, absent, scorers)


def _functions_there(
    spec: Spec, source: Source, places: ReferenceFolders, scorers: dict[str, ScorerFile]
) -> Iterator[Diagnostic]:
    """Each scoring function is in its file, which is read and added to `scorers`. Nothing of it runs."""
    for table in effect_tables(spec):
        scorer, path = getattr(table.table, "scorer", None), (*table.path, "scorer", "function")
        if scorer is None or scorer.file is None:
            continue
        try:
            text = places.prompt(f"path:{scorer.file}")
        except NotFound as error:
            yield source.diagnose(error.code, path, error.problem.replace("`path:", "`"), error.help)
            continue
        scorers[scorer.file] = ScorerFile(scorer.file, text)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            message = f"`{scorer.file}` is not Python{line}: {getattr(error, 'msg', error)}"
            yield source.diagnose("GC346", path, message)
            continue
        known = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if scorer.name not in known:
            message = f"`{scorer.file}` defines no function `{scorer.name}`"
            help = did_you_mean(scorer.name, known) if known else f"def {scorer.name}(item, response): ..."
            yield source.diagnose("GC346", path, message, help)


def prompt_references(spec: Spec) -> Iterator[tuple[KeyPath, str]]:
    """Every template that the spec names, with its place."""
    for path, _, _, table in effect_tables(spec):
        for key in _TEMPLATES:
            reference = getattr(table, key, None)
            if isinstance(reference, dict):
                yield from (((*path, key, part), text) for part, text in reference.items())
            elif reference is not None:
                yield (*path, key), reference


def said_later(spec: Spec) -> Iterator[tuple[KeyPath, str]]:
    """Every text that a scaffold says after the prompt, with its place."""
    for path, _, _, table in effect_tables(spec):
        scaffold = getattr(table, "scaffold", None)
        for benchmark, texts in ((scaffold and scaffold.wording) or {}).items():
            for number, text in enumerate(texts):
                yield (*path, "scaffold", "wording", benchmark, number), text


def rubrics(spec: Spec) -> Iterator[tuple[KeyPath, str]]:
    """What the spec tells its judges, with its place."""
    for path, judge in judge_tables(spec):
        yield (*path, "rubric"), judge.rubric
        for rank, one in enumerate(judge.panel or ()):
            if one.rubric is not None:
                yield (*path, "panel", rank, "rubric"), one.rubric


_TEMPLATES = ("prompt", "wrapper")


def _columns_there(
    spec: Spec, source: Source, references: Iterable[tuple[KeyPath, str]], prompts: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """The further columns of items that templates name are those of some benchmark. Of a benchmark that has
    others the prompt of its first item says so; a plug-in's loader gives what it gives."""
    if any(benchmark.loader.startswith(PLUGIN) or benchmark.is_task for benchmark in spec.benchmark):
        return
    known = [
        name for each in spec.benchmark if each.loading.fields for name in each.loading.fields.extra or ()
    ]
    for path, reference in references:
        for line, column in extra_columns(prompts.get(reference, reference)):
            if column not in known:
                place = f" (line {line} of `{reference}`)" if reference in prompts else ""
                help = did_you_mean(column, known) if known else None
                help = help or f'extra = ["{column}"] in `loading.fields` of a benchmark whose rows have it'
                message = f"no benchmark has the column `{column}` among its `extra`{place}"
                yield source.diagnose("GC310", path, message, help)


def _parameters(spec: Spec) -> dict[str, Var]:
    """A value of each parameter that the spec gives its templates somewhere."""
    stated = (getattr(table.table, "vars", None) or {} for table in effect_tables(spec))
    return {name: value for table in stated for name, value in table.items()}


def _problems(
    path: KeyPath, text: str, given: Mapping[str, Var]
) -> Iterator[tuple[TemplateProblem, Sequence[str]]]:
    """What is wrong with a template or a part of one, and the variables that it may use."""
    if "wrapper" in path[-2:]:
        yield from ((problem, (*WRAPPER_VARIABLES, *given)) for problem in check_wrapper(text, given))
    else:
        part = path[-1] != "prompt"
        yield from ((problem, (*VARIABLES, *given)) for problem in check_template(text, given, part))


def _in_cells(
    spec: Spec, source: Source, prompts: dict[str, str], given: Mapping[str, Var]
) -> Iterator[Diagnostic]:
    """Prompts that are joined from parts, which are added to the others, and parameters without a value or an
    effect: what only the cells show. Each problem is told once."""
    composed = any(isinstance(getattr(table.table, "prompt", None), dict) for table in effect_tables(spec))
    if not composed and not given:
        return
    reported: set[object] = set()
    whole = {reference for path, reference in prompt_references(spec) if path[-1] == "prompt"}
    for model, benchmark in Settings(spec).representatives():
        seen: dict[bytes, LevelByAxis] = {}
        for configuration, setting in settings(spec, model, benchmark):
            place = {"model": model, "benchmark": benchmark, **configuration.levels}
            if setting.prompt not in whole:
                whole.add(setting.prompt)
                if setting.prompt.startswith(COMPOSITE):
                    prompts[setting.prompt] = joined(setting.prompt, prompts)
                for problem in check_template(prompts[setting.prompt], given):
                    where = effect_place(spec, "prompt", place) or ("axis", 0)
                    message = f"{problem.message} ({_cell(configuration.levels)})"
                    yield source.diagnose("GC310", where, message)
            texts = [prompts[setting.prompt], *([prompts[setting.wrapper]] if setting.wrapper else [])]
            said = (setting.scaffolding and setting.scaffolding.wording) or {}
            texts += [text for text in said.get(benchmark, ()) if TEMPLATE_MARK.search(text)]
            named = {name for text in texts for name in template_variables(text)} & given.keys()
            for name in sorted(named - dict(setting.vars).keys() - reported):
                reported.add(name)
                where = effect_place(spec, "prompt", place) or ("axis", 0)
                message = f"`{name}` has no value on `{benchmark}` ({_cell(configuration.levels)})"
                help = f"vars = {{ {name} = ... }} in every level of an axis, or in [harness]"
                yield source.diagnose("GC322", where, message, help)
            used = tuple((name, value) for name, value in setting.vars if name in named)
            twin = seen.setdefault(replace(setting, vars=used).key, configuration.levels)
            if twin != configuration.levels and "twin" not in reported:
                reported.add("twin")
                idle = [axis for axis in twin if twin[axis] != configuration.levels[axis]]
                message = f"on `{benchmark}`, {' and '.join(f'`{axis}`' for axis in idle)} changes nothing"
                levels = {axis: basic_string(level) for axis, level in configuration.levels.items()}
                where = ("axis", [axis.id for axis in spec.axis].index(idle[0]), "id")
                message += ": no template prints its `vars`"
                unused = [name for name, _ in setting.vars if name not in named]
                printed = f"print {{{{ {unused[0]} }}}} in a prompt; or " if unused else ""
                yield source.diagnose("GC303", where, message, printed + exclusion_help(levels))


def _cell(levels: LevelByAxis) -> str:
    return ", ".join(f"{axis} = {level}" for axis, level in levels.items())
