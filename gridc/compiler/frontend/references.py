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
from gridc.compiler.instrument.setting import Setting
from gridc.diagnostics.errors import Collector, Diagnostic, KeyPath
from gridc.schema.base import PLUGIN
from gridc.schema.canonical import digest_bytes
from gridc.schema.effects import Var
from gridc.schema.spec import Benchmark, Spec

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
    search = _ReferenceSearch(spec, source, places)
    prompts = {**search.rubric_files(), **search.prompt_texts()}
    search.check_scaffold_texts()
    # A template that is broken or absent would be reported again by each cell that uses it.
    if not search.collector.diagnostics:
        search.check_columns(prompts)
        prompts |= search.prompts_of_cells(prompts)
    absent = {**search.absent_benchmarks(), **search.absent_models()}
    scorers = search.scorer_files()
    search.collector.raise_if_any()
    return References(prompts, absent, scorers)


@dataclass(frozen=True, slots=True)
class _ReferenceSearch:
    """Looks up one kind of reference after another, and collects what is wrong with any of them."""

    spec: Spec
    source: Source
    places: ReferenceFolders
    collector: Collector = field(default_factory=Collector)

    def rubric_files(self) -> dict[str, str]:
        """The rubrics of judges that are not written out in the spec, by reference."""
        texts: dict[str, str] = {}
        for path, reference in rubrics(self.spec):
            text = self._prompt(path, reference)
            if text is None:
                continue
            if text != reference:  # one that is written out is in the spec itself
                texts[reference] = text
            for problem in check_rubric(text):
                place = "" if reference == text else f" (line {problem.line} of `{reference}`)"
                usable = f"it may use {', '.join(f'`{name}`' for name in RUBRIC_VARIABLES)}"
                if "`response`" in problem.message:
                    usable = f"leave it out: the response stands below the rubric; {usable}"
                self._report("GC310", path, problem.message + place, usable)
        return texts

    def prompt_texts(self) -> dict[str, str]:
        """The text of each prompt and wrapper that the spec names, by reference."""
        texts: dict[str, str] = {}
        for path, reference in prompt_references(self.spec):
            text = self._prompt(path, reference)
            if text is None:
                continue
            texts[reference] = text
            # Templates that ship with gridc are checked by its own tests.
            if not reference.startswith("builtin:"):
                self._check_prompt(path, reference, text)
        return texts

    def _prompt(self, path: KeyPath, reference: str) -> str | None:
        """The text of a prompt; None where there is none, which is reported."""
        try:
            return self.places.prompt(reference)
        except NotFound as error:
            owner = owner_of(reference)
            help = owner.prompt_from if owner else error.help
            self._report(error.code, path, error.problem, help)
            return None

    def _check_prompt(self, path: KeyPath, reference: str, text: str) -> None:
        owner = owner_of(reference) if reference.startswith("data:") else None
        if owner and digest_bytes(text.encode()) != owner.prompt_digest:
            message = f"`{reference}` is not the prompt of {owner.package}"
            self._report("GC316", path, message, owner.prompt_from)
        for problem, variables in _problems(path, text, self._given()):
            place = "" if reference == text else f" (line {problem.line} of `{reference}`)"
            help = self._prompt_help(path, reference, text, problem, variables)
            self._report("GC310", path, problem.message + place, help)

    def _prompt_help(
        self, path: KeyPath, reference: str, text: str, problem: TemplateProblem, variables: Sequence[str]
    ) -> str:
        """The way out of a problem with a template, by what its author most likely meant."""
        misspelt = re.search(r"unknown template variable `(\w+)`", problem.message)
        near = get_close_matches(misspelt[1], variables, n=1, cutoff=0.6) if misspelt else []
        single = PLACEHOLDER.search(text)
        columns = self._columns()
        if single is not None and single[1] in variables:
            return f"write {{{{ {single[1]} }}}}: Jinja's placeholders have two braces"
        if misspelt and misspelt[1] in columns:
            return f"write {{{{ {columns[misspelt[1]]} }}}}"
        if file := _FILE_NAME.fullmatch(reference):
            return f'write `{path[-1]} = "path:{file[1]}"` here: other texts are templates themselves'
        if near:
            return f"did you mean `{near[0]}`?"
        if "loops over" in problem.message:
            return "{% for letter, text in choices %}{{ letter }}. {{ text }}{% endfor %}"
        help = f"it may use {', '.join(f'`{name}`' for name in variables)}"
        if "question never reaches" in problem.message:
            help = f"write {{{{ question }}}} where it stands; {help}"
        return help

    def check_scaffold_texts(self) -> None:
        """What scaffolds say after the prompt may be a template too."""
        given = self._given()
        for path, text in said_later(self.spec):
            for problem in check_template(text, given, part=True) if TEMPLATE_MARK.search(text) else ():
                usable = f"it may use {', '.join(f'`{name}`' for name in (*VARIABLES, *given))}"
                self._report("GC310", path, problem.message, usable)

    def check_columns(self, prompts: Mapping[str, str]) -> None:
        """The further columns of items that templates name are columns of some benchmark."""
        templates = [*prompt_references(self.spec), *said_later(self.spec), *rubrics(self.spec)]
        for diagnostic in _columns_there(self.spec, self.source, templates, prompts):
            self.collector.add(diagnostic)

    def prompts_of_cells(self, prompts: Mapping[str, str]) -> dict[str, str]:
        """The prompts that cells join from parts, by their composite reference. Parameters without a value or
        without an effect are reported too: only the cells show them. Each problem is told once."""
        spec, given = self.spec, self._given()
        composed = any(
            isinstance(getattr(table.table, "prompt", None), dict) for table in effect_tables(spec)
        )
        if not composed and not given:
            return {}
        texts = dict(prompts)
        checked = {reference for path, reference in prompt_references(spec) if path[-1] == "prompt"}
        unset: set[str] = set()
        idle_told = False
        for model, benchmark in Settings(spec).representatives():
            by_key: dict[bytes, LevelByAxis] = {}
            for configuration, setting in settings(spec, model, benchmark):
                place = {"model": model, "benchmark": benchmark, **configuration.levels}
                if setting.prompt not in checked:
                    checked.add(setting.prompt)
                    if setting.prompt.startswith(COMPOSITE):
                        texts[setting.prompt] = joined(setting.prompt, texts)
                    for problem in check_template(texts[setting.prompt], given):
                        message = f"{problem.message} ({_cell(configuration.levels)})"
                        self._report("GC310", self._prompt_place(place), message)
                named = _variables_of(setting, benchmark, texts) & given.keys()
                for name in sorted(named - dict(setting.vars).keys() - unset):
                    unset.add(name)
                    message = f"`{name}` has no value on `{benchmark}` ({_cell(configuration.levels)})"
                    help = f"vars = {{ {name} = ... }} in every level of an axis, or in [harness]"
                    self._report("GC322", self._prompt_place(place), message, help)
                used = tuple((name, value) for name, value in setting.vars if name in named)
                twin = by_key.setdefault(replace(setting, vars=used).key, configuration.levels)
                if twin != configuration.levels and not idle_told:
                    idle_told = True
                    unused = [name for name, _ in setting.vars if name not in named]
                    self._report_idle(benchmark, configuration.levels, twin, unused)
        return {reference: text for reference, text in texts.items() if reference not in prompts}

    def _prompt_place(self, place: Mapping[str, str]) -> KeyPath:
        return effect_place(self.spec, "prompt", place) or ("axis", 0)

    def _report_idle(
        self, benchmark: str, levels: LevelByAxis, twin: LevelByAxis, unused: Sequence[str]
    ) -> None:
        """Two configurations send the same, because no template prints what tells them apart."""
        idle = [axis for axis in twin if twin[axis] != levels[axis]]
        message = f"on `{benchmark}`, {' and '.join(f'`{axis}`' for axis in idle)} changes nothing"
        message += ": no template prints its `vars`"
        printed = f"print {{{{ {unused[0]} }}}} in a prompt; or " if unused else ""
        excluded = exclusion_help({axis: basic_string(level) for axis, level in levels.items()})
        path = ("axis", [axis.id for axis in self.spec.axis].index(idle[0]), "id")
        self._report("GC303", path, message, printed + excluded)

    def absent_benchmarks(self) -> dict[str, str]:
        """Why the files of a benchmark are not here, by its id, where no data folder was given."""
        absent: dict[str, str] = {}
        for path, benchmark, reference in _benchmark_references(self.spec):
            # `hf:` is looked up when it is needed, and a task was already.
            if reference.startswith("hf:") or benchmark.is_task:
                continue
            try:
                self.places.benchmark(reference)
            except NotFound as error:
                elsewhere = reference.startswith("data:") and self.places.data_folder is None
                if elsewhere and error.code == "GC309":
                    absent[benchmark.id] = error.problem
                else:
                    self._report(error.code, path, error.problem, error.help)
        return absent

    def absent_models(self) -> dict[str, str]:
        """Why the files of a model are not here, by its id, where no folder of models was given."""
        absent: dict[str, str] = {}
        for path, model in asked_models(self.spec):
            try:
                look_into(model, self.places)
            except NotFound as error:
                folder = checkpoint_folder(model) or ""
                elsewhere = folder.startswith("models:") and self.places.models_folder is None
                if elsewhere and error.code == "GC309":
                    absent[model.id] = error.problem
                else:
                    key = "source" if model.weights is None else "weights"
                    self._report(error.code, (*path, key), error.problem, error.help)
        return absent

    def scorer_files(self) -> dict[str, ScorerFile]:
        """The files with scoring functions, by name. They are read, and nothing of them runs."""
        files: dict[str, ScorerFile] = {}
        for table in effect_tables(self.spec):
            scorer, path = getattr(table.table, "scorer", None), (*table.path, "scorer", "function")
            if scorer is None or scorer.file is None:
                continue
            try:
                text = self.places.prompt(f"path:{scorer.file}")
            except NotFound as error:
                self._report(error.code, path, error.problem.replace("`path:", "`"), error.help)
                continue
            files[scorer.file] = ScorerFile(scorer.file, text)
            self._check_scorer(path, scorer.file, text, scorer.name)
        return files

    def _check_scorer(self, path: KeyPath, file: str, text: str, name: str) -> None:
        try:
            tree = ast.parse(text)
        # A text of a stranger's can be too deep for the parser, or hold a null byte.
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            self._report("GC346", path, f"`{file}` is not Python{line}: {getattr(error, 'msg', error)}")
            return
        known = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if name not in known:
            help = did_you_mean(name, known) if known else f"def {name}(item, response): ..."
            self._report("GC346", path, f"`{file}` defines no function `{name}`", help)

    def _report(self, code: str, path: KeyPath, message: str, help: str | None = None) -> None:
        self.collector.add(self.source.diagnose(code, path, message, help))

    def _given(self) -> dict[str, Var]:
        """A value of each parameter that the spec gives its templates somewhere."""
        tables = (getattr(table.table, "vars", None) or {} for table in effect_tables(self.spec))
        return {name: value for table in tables for name, value in table.items()}

    def _columns(self) -> dict[str, str]:
        """What a template calls each column that benchmarks read."""
        tables = [each.loading.fields for each in self.spec.benchmark if each.loading.fields]
        columns = {column: f"extra.{column}" for fields in tables for column in fields.extra or ()}
        return columns | {fields.query: "query" for fields in tables if isinstance(fields.query, str)}


def _benchmark_references(spec: Spec) -> Iterator[tuple[KeyPath, Benchmark, str]]:
    """The source of each benchmark and of its variants, with its place."""
    for number, benchmark in enumerate(spec.benchmark):
        yield ("benchmark", number, "source"), benchmark, benchmark.source
        for rank, variant in enumerate(benchmark.variants or ()):
            yield ("benchmark", number, "variants", rank, "source"), benchmark, variant.source


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


def _problems(
    path: KeyPath, text: str, given: Mapping[str, Var]
) -> Iterator[tuple[TemplateProblem, Sequence[str]]]:
    """What is wrong with a template or a part of one, and the variables that it may use."""
    if "wrapper" in path[-2:]:
        yield from ((problem, (*WRAPPER_VARIABLES, *given)) for problem in check_wrapper(text, given))
    else:
        part = path[-1] != "prompt"
        yield from ((problem, (*VARIABLES, *given)) for problem in check_template(text, given, part))


def _variables_of(setting: Setting, benchmark: str, prompts: Mapping[str, str]) -> set[str]:
    """The variables of all templates that a setting fills on a benchmark."""
    texts = [prompts[setting.prompt], *([prompts[setting.wrapper]] if setting.wrapper else [])]
    wording = (setting.scaffolding and setting.scaffolding.wording) or {}
    texts += [text for text in wording.get(benchmark, ()) if TEMPLATE_MARK.search(text)]
    return {name for text in texts for name in template_variables(text)}


def _cell(levels: LevelByAxis) -> str:
    return ", ".join(f"{axis} = {level}" for axis, level in levels.items())
