"""Finds hazards: settings under which a run would finish without an error and measure something else.

Each hazard has a code, is raised before any call, and can be waived only in the spec, with a reason.
`refuse_hazards` looks at settings alone, whenever a spec is compiled. `prove_hazards` tries the whole
instrument, in `gridc validate --check` and before every run. `require_askable` refuses items that cannot be
asked at all; these cannot be waived.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from gridc.compiler.frontend.checks.aggregates import require_made_one
from gridc.compiler.frontend.checks.inference import require_estimator
from gridc.compiler.frontend.lookup import BUILTIN_MODELS
from gridc.compiler.frontend.references import rubrics
from gridc.compiler.frontend.source import Source
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell, cells_of
from gridc.compiler.inputs.draw import BOOTSTRAP_LEVELS
from gridc.compiler.inputs.questions import question_text
from gridc.compiler.inputs.resolve import Study, show_command
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.matching import COMPARISONS, Unmatchable, right_answers
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.options import NoCandidates, are_letters, item_candidates
from gridc.compiler.instrument.render import (
    PLACEHOLDER,
    SandboxError,
    extra_columns,
    reference_answer,
    render_rubric,
    template_variables,
)
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import hypothesis_hazards
from gridc.compiler.preflight.hazard import Hazard
from gridc.compiler.preflight.oracle_hazards import trial_hazards
from gridc.diagnostics.errors import Diagnostic, HazardError, KeyPath, SpecError
from gridc.schema.jsonschema import toml_value
from gridc.schema.judging import REFERENCE, SECOND
from gridc.schema.models import Model, engine_kind
from gridc.schema.spec import Spec

NOTHING = "builtin:nothing"


def require_askable(study: Study, source: Source) -> None:
    """Raise `SpecError` where a ranking has nothing to rank (GC313), or no response could match a right
    answer (GC345), or a rubric cannot be rendered (GC310), once for each benchmark and way."""
    findings = [
        *_nothing_to_rank(study, source),
        *_unasked_prompt(study, source),
        *_never_matched(study, source),
        *_rubrics_fail(study, source),
    ]
    if findings:
        raise SpecError(findings)


def _nothing_to_rank(study: Study, source: Source) -> Iterator[Diagnostic]:
    seen: set[tuple[object, ...]] = set()
    for cell in cells_of(study.spec):
        setting = cell.setting
        kind = setting.held("candidates")
        ways = (cell.benchmark, kind, setting.items)
        if not setting.ranks or ways in seen or cell.benchmark not in study.items:
            continue
        seen.add(ways)
        wrong: list[NoCandidates] = []
        items = study.items[cell.benchmark].asked(None, setting.items)
        for item in items:
            try:
                item_candidates(kind, item)
            except NoCandidates as error:
                wrong.append(error)
        if wrong:
            where = grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
            path = grid.effect_place(study.spec, "candidates", where) or grid.effect_place(
                study.spec, "method", where
            )
            message = (
                f"`{kind}` cannot be ranked on {len(wrong):,} of the {len(items):,} items of "
                f"`{cell.benchmark}`: {wrong[0]}"
            )
            help = _way_out(study, cell.benchmark, path)
            yield source.diagnose("GC313", path or (), message, help)


def _unasked_prompt(study: Study, source: Source) -> Iterator[Diagnostic]:
    """A prompt that weighed texts do not follow; and a server that would weigh a text without a prefix."""
    seen: set[tuple[str, ...]] = set()
    served = {model.id for model in study.spec.model if model.base_url and model.weights is None}
    for cell in cells_of(study.spec):
        setting, ways = cell.setting, (cell.benchmark, cell.model, cell.setting.prompt, cell.setting.premise)
        if not METHODS[setting.method].weighs or ways in seen or cell.benchmark not in study.items:
            continue
        seen.add(ways)
        items = study.items[cell.benchmark].asked(None, setting.items)
        without_prompt = any(not item.references for item in items)
        where = grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
        if without_prompt and cell.model in served and not setting.premise:
            path = grid.effect_place(study.spec, "method", where) or ()
            message = (
                f"`{cell.model}` cannot weigh a text without a prefix: servers leave its first token out"
            )
            help = 'premise = "\\n": the texts then follow a line break'
            yield source.diagnose("GC636", path, message, help)
        if setting.prompt != NOTHING and without_prompt and (cell.benchmark, setting.prompt) not in seen:
            seen.add((cell.benchmark, setting.prompt))
            path = grid.effect_place(study.spec, "prompt", where) or ()
            message = (
                f"what is asked on `{cell.benchmark}` is the very text that is weighed, without a prompt"
            )
            help = f'prompt = "{NOTHING}"; or `fields.references` names a column of texts to weigh'
            yield source.diagnose("GC313", path, message, help)


def _never_matched(study: Study, source: Source) -> Iterator[Diagnostic]:
    seen: set[tuple[object, ...]] = set()
    for cell in cells_of(study.spec):
        setting, match = cell.setting, cell.setting.match
        ways = (cell.benchmark, match, setting.items, setting.variant)
        if match is None or ways in seen or cell.benchmark not in study.items:
            continue
        if not METHODS[setting.method].reads_answer:
            continue
        seen.add(ways)
        wrong: list[Unmatchable] = []
        items = study.items[cell.benchmark].asked(None, setting.items, setting.variant)
        for item in items:
            try:
                right_answers(match, item)
            except Unmatchable as error:
                wrong.append(error)
        if wrong:
            where = grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
            path = grid.effect_place(study.spec, "match", where) or ()
            message = (
                f"{len(wrong):,} of the {len(items):,} items of `{cell.benchmark}` cannot be matched as "
                f"{match.kind}: {wrong[0]}"
            )
            yield source.diagnose("GC345", path, message, wrong[0].help, at_key=True)


def _rubrics_fail(study: Study, source: Source) -> Iterator[Diagnostic]:
    """Rubrics that print further columns of items, which not every row may have."""
    judged = {cell.benchmark for cell in cells_of(study.spec) if METHODS[cell.setting.method].judged}
    for path, reference in rubrics(study.spec):
        text = study.prompts.get(reference, reference)
        if not any(extra_columns(text)):
            continue
        for benchmark in sorted(judged & study.items.keys()):
            for item in study.items[benchmark].sampled:
                try:
                    render_rubric(text, item)
                except SandboxError as error:
                    message = f"the rubric cannot be rendered for item {item.id} of `{benchmark}`: {error}"
                    yield source.diagnose("GC310", path, message)
                    break


def _way_out(study: Study, benchmark: str, path: tuple[str | int, ...] | None) -> str:
    """An exclusion, where an axis ranks; else what the benchmark itself can say."""
    if path is None or path[0] != "axis":
        return f'state another `method` in [[benchmark]] `{benchmark}`, such as method = "extract"'
    axis = study.spec.axis[int(path[1])]
    level = axis.level[int(path[3])]
    conditions = {"benchmark": f'"{benchmark}"', axis.id: f'"{level.id}"'}
    listed = ", ".join(f"{name} = {value}" for name, value in conditions.items())
    return f"[[exclude]] when = {{ {listed} }} and a `why`"


ENGINE_CODES = frozenset(
    ("GC503", "GC504", "GC505", "GC506", "GC510", "GC512", "GC529", "GC531", "GC541", "GC542")
)
"""Hazards that only an engine can find, because it has the model's tokenizer; `waived_for` tells it which are
waived."""


def refuse_hazards(study: Study, source: Source) -> None:
    """Raise `HazardError` with every hazard that the settings alone show and that is not waived."""
    _refuse(study, setting_hazards(study), source)


def prove_hazards(study: Study, source: Source) -> None:
    """Prove what can be proved before any call: every hazard of settings, hypotheses, items and trials.

    Benchmarks whose items are not here are left out. Raises `HazardError` with what is not waived, and
    `SpecError` for effects that no test decides (GC338), for outcomes that do not go through `aggregate` or
    `all_of` (GC105) and for a waiver that waives nothing (GC317).
    """
    require_estimator(study.spec, source)
    require_made_one(study.spec, source)
    plan = Plan(study)
    hazards = [
        *setting_hazards(study),
        *hypothesis_hazards(plan),
        *unit_hazards(study),
        *item_hazards(plan),
        *trial_hazards(plan),
    ]
    _refuse(study, hazards, source)
    if study.absent:
        return  # a waiver may be for a hazard of items that are not here
    idle = [
        source.diagnose("GC317", ("waive", number, "code"), f"no hazard {waive.code} is found here")
        for number, waive in enumerate(study.spec.waive)
        if waive.code not in ENGINE_CODES and not any(hazard.waived_by(waive) for hazard in hazards)
    ]
    if idle:
        raise SpecError(idle)


SEEN_IN_A_PROMPT = frozenset(("GC501", "GC502", "GC518", "GC519", "GC523"))
"""Hazards that show in every prompt of the cell, so that a message can point to `gridc show`."""

NEVER_ADVISED = frozenset(("GC511", "GC517"))
"""Hazards under which every score is wrong. They can be waived, and no message says so."""


def waived_for(spec: Spec, model: str) -> frozenset[str]:
    """The hazards of an engine that are waived for a model."""
    place = {"model": model}
    return frozenset(waiver.code for waiver in spec.waive if waiver.where.matches(place)) & ENGINE_CODES


def setting_hazards(study: Study) -> Iterator[Hazard]:
    """Hazards that need no items."""
    for path, model in grid.asked_models(study.spec):
        yield from floating_alias(path, model)
    yield from judging_itself(study)
    yield from compared_with_itself(study)
    for cell in cells_of(study.spec):
        template = study.prompts[cell.setting.prompt]
        for check in SETTING_CHECKS:
            for code, key, problem, help_line in check(cell.setting, template):
                yield _hazard_at(study.spec, cell, code, key, problem, help_line)
    yield from keywords_alone(study)
    yield from cut_in_thought(study)


def unit_hazards(study: Study) -> Iterator[Hazard]:
    """Benchmarks whose items are taken as more independent than their data say: by their `unit` (GC534), or
    by the unit of the bootstrap (GC535)."""
    bootstrap = study.spec.analysis.bootstrap
    drawn = None if bootstrap is None else BOOTSTRAP_LEVELS.get(bootstrap.unit)
    for number, benchmark in enumerate(study.spec.benchmark):
        if benchmark.id in study.absent:
            continue
        items, place = study.items[benchmark.id], {"benchmark": benchmark.id}
        level = next(
            (coarser for coarser in reversed(items.coarser) if items.holds(coarser, items.unit)), None
        )
        if level is not None:
            counted = (
                f"{items.groups(items.unit):,} at the level {items.unit}, {items.groups(level):,} at {level}"
            )
            problem = f"the units of {benchmark.id} are finer than its data document: {counted}"
            help = f'leave `unit` out, or say unit = "{level}"'
            yield Hazard("GC534", problem, place, None, help, ("benchmark", number, "unit"))
        if drawn is not None and items.holds(items.unit, drawn):
            problem = f"the bootstrap draws each {drawn} of {benchmark.id}, and its unit is the {items.unit}"
            help = f'leave `unit` out, or say unit = "{items.unit}"'
            yield Hazard("GC535", problem, place, None, help, ("analysis", "bootstrap", "unit"))


def item_hazards(plan: Plan) -> Iterator[Hazard]:
    """Hazards between a cell's items, its exemplars and its stop strings."""
    study = plan.study
    seen: set[object] = set()
    for cell in plan.cells():
        setting = cell.setting
        alike = (
            cell.benchmark,
            setting.ranks,
            setting.options,
            setting.enumerator,
            setting.shots,
            setting.stop,
            setting.option_order,
            setting.items,
            setting.variant,
            METHODS[setting.method].reads_answer and setting.match,
        )
        if alike in seen or cell.benchmark in study.absent:
            continue
        seen.add(alike)
        shown = plan.exemplars(cell)
        # Where each item has exemplars of its own, it is never among them.
        by_item = bool(study.items[cell.benchmark].draws)
        checks = (
            (stops_in_answers, options_asked_for)
            if by_item
            else (shared_exemplars, stops_in_answers, options_asked_for)
        )
        for check in checks:
            for code, key, problem, help_line in check(setting, plan.items(cell), shown):
                yield _hazard_at(study.spec, cell, code, key, problem, help_line)


Found = Iterator[tuple[str, str, str, str]]
"""(code, the effect to blame, problem, way out)."""


def options_unseen(setting: Setting, template: str) -> Found:
    """GC501."""
    shown = setting.options == "lettered" and bool(
        template_variables(template) & {"question", "options", "choices"}
    )
    read = METHODS[setting.method].reads_option and setting.labelled
    if not shown and (setting.ranks_labels or read):
        yield (
            "GC501",
            "prompt",
            f"`{setting.prompt}` shows no lettered options, and the answer is read as a letter",
            'use `question` or `options` in the template, or set options = "none"',
        )


def exemplars_unanswered(setting: Setting, template: str) -> Found:
    """GC502."""
    if setting.shots > 0 and "answer" not in template_variables(template):
        yield (
            "GC502",
            "prompt",
            f"`{setting.prompt}` never prints `answer`, so its exemplars would show none",
            "end the template with {% if answer %} {{ answer }}{% endif %}",
        )


def stops_at_the_cue(setting: Setting, template: str) -> Found:
    """GC508, for a stop string that the prompt ends with: a response that repeats the cue is empty."""
    words = [part.strip() for part in _NOT_WORDS.split(_NO_ANSWER.sub("", template))]
    cue, head = words[-1].splitlines()[-1:], words[0]
    for stop in setting.stop:
        if cue and re.search(r"\w", stop) and stop.strip() in cue[0]:
            other_stops = [other for other in setting.stop if other != stop]
            better = [*other_stops, *([head] if head and head not in (*other_stops, cue[0]) else [])]
            help_line = f"write `stop = {toml_value(better)}` here" if better else "leave `stop` out"
            problem = (
                f"the stop string {stop!r} is the prompt's cue for the answer: a response with it is empty"
            )
            yield "GC508", "stop", problem, help_line
            return


_NO_ANSWER = re.compile(r"\{\{-?\s*answer\s*-?\}\}|\{%.*?%\}", re.DOTALL)
_NOT_WORDS = re.compile(r"\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)


def likelihood_in_a_chat(setting: Setting, template: str) -> Found:
    """GC518."""
    if not setting.ranks or not setting.chat_template:
        return
    weighed_alone = METHODS[setting.method].weighs and not template_variables(template) - {"stem"}
    if weighed_alone or setting.candidates == "sentence_pair":
        what = "texts" if weighed_alone else "sentences"
        yield (
            "GC518",
            "method",
            f"{what} are compared as replies in a chat, not as plain text",
            "set chat_template = false",
        )
    elif setting.continuation_delimiter[:1].isspace():
        yield (
            "GC518",
            "delimiter",
            "candidates start the assistant's turn with a space, which no reply does",
            'set delimiter = "", or chat_template = false',
        )


def placeholders_left(setting: Setting, template: str) -> Found:
    """GC519."""
    left = PLACEHOLDER.search(template)
    if left is not None:
        yield (
            "GC519",
            "prompt",
            f"`{setting.prompt}` asks the literal text {left[0]}",
            f"Jinja's placeholders have two braces: {{{{ {left[1]} }}}}",
        )


def wording_unfilled(setting: Setting, template: str) -> Found:
    """GC519, for the texts that a scaffold adds after the prompt."""
    wording = setting.scaffolding and setting.scaffolding.wording
    for benchmark, prompts in (wording or {}).items():
        for prompt in prompts:
            left = PLACEHOLDER.search(prompt)
            if left is not None:
                yield (
                    "GC519",
                    "scaffold",
                    f"a prompt of the scaffold on `{benchmark}` asks the literal text {left[0]}",
                    f"Jinja's placeholders have two braces: {{{{ {left[1]} }}}}",
                )


def letters_asked_for(setting: Setting, template: str) -> Found:
    """GC523."""
    match = _LETTER.search(f"{template}\n{setting.system or ''}")
    marked = METHODS[setting.method].reads_option and setting.options == "lettered"
    if match is not None and marked and not (setting.labelled and are_letters(setting.labels(2))):
        shown = "numbers" if setting.labelled else "bullets"
        yield (
            "GC523",
            "enumerator",
            f"the prompt asks for a letter, and options are shown under {shown}",
            "ask for what the options are marked with, in the words of the template",
        )


_LETTER = re.compile(r"\bletter\b", re.IGNORECASE)


def cue_beside_a_form(setting: Setting, template: str) -> Found:
    """GC549. A letter alone may follow a cue; a line, a box or an object would stand behind two."""
    words = [part.strip() for part in _NOT_WORDS.split(_NO_ANSWER.sub("", template))]
    last = words[-1].splitlines()[-1:]
    if setting.form not in (None, "letter") and last and last[0].endswith(":"):
        problem = (
            f'`{setting.prompt}` ends with the cue {last[0]!r}, and answer = "{setting.form}" asks for '
            "another form: a model that goes on behind the cue does not keep it"
        )
        yield "GC549", "answer", problem, 'prompt = "builtin:plain", or a template of yours without a cue'


SETTING_CHECKS = (
    options_unseen,
    exemplars_unanswered,
    stops_at_the_cue,
    likelihood_in_a_chat,
    placeholders_left,
    wording_unfilled,
    letters_asked_for,
    cue_beside_a_form,
)


def keywords_alone(study: Study) -> Iterator[Hazard]:
    """GC520, unless another cell has a judge score the same responses."""
    cells = list(cells_of(study.spec))
    judged = {_responses(cell) for cell in cells if METHODS[cell.setting.method].judged}
    for cell in cells:
        if METHODS[cell.setting.method].reads_behaviour and _responses(cell) not in judged:
            problem = "refusals are scored by keywords, and no judge scores the same responses"
            help_line = 'have a judge score them too: a level beside it with method = "judge", and [judge]'
            yield _hazard_at(study.spec, cell, "GC520", "method", problem, help_line)


def cut_in_thought(study: Study) -> Iterator[Hazard]:
    """GC548: a model is told to think, and its limit of tokens is that of an answer without a thought. (A
    budget of thought that leaves nothing for the answer is GC105.)"""
    omitting = {model.id for model in study.spec.model if "max_tokens" in (model.omits or ())}
    for cell in cells_of(study.spec):
        setting = cell.setting
        thinking, one_token = setting.effective().thinking, METHODS[setting.method].one_token
        bounded = not isinstance(thinking, bool | str | None)
        if not setting.thinks or setting.ranks or bounded or cell.model in omitting:
            continue
        where = grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
        if one_token:
            limit = f"one token, which is all that `{setting.method}` reads"
            help_line = f"leave `thinking` out where the method is `{setting.method}`"
        elif grid.effect_place(study.spec, "max_tokens", where) is None:
            limit = f"{setting.max_tokens} tokens, the default of `max_tokens`"
            help_line = "max_tokens = 4096, or as many as its thought and its answer take together"
        else:
            continue
        problem = f"thinking = {toml_value(thinking)}, and the model is cut off after {limit}"
        yield _hazard_at(study.spec, cell, "GC548", "thinking", problem, help_line)


def _responses(cell: Cell) -> tuple[str, str, bytes]:
    """Equal for cells whose responses are the same ones."""
    return cell.model, cell.benchmark, cell.setting.asked.key


def judging_itself(study: Study) -> Iterator[Hazard]:
    """GC525: a judge that is one of the candidates. The second judge may be one: it never gets its own
    responses."""
    seconds = {judge.office(SECOND) for judge in study.spec.declared_judges}
    for path, judge in grid.asked_models(study.spec):
        if judge.id not in study.judges or judge.id in seconds:
            continue
        for model in study.spec.model:
            same = study.models[model.id].digest == study.judges[judge.id].digest
            if same or model.source == judge.source:
                problem = f"`{judge.id}` is the candidate `{model.id}`"
                where, help_line = {"model": model.id}, "choose another judge"
                yield Hazard("GC525", problem, where, None, help_line, (*path, "source"))


def compared_with_itself(study: Study) -> Iterator[Hazard]:
    """GC537: a judge that compares a model only with itself, and so never sees two different responses."""
    judged = [cell for cell in cells_of(study.spec) if METHODS[cell.setting.method].judged]
    for path, judge in grid.judge_tables(study.spec):
        against = REFERENCE if judge.compares is None else judge.compares.against
        models = {cell.model for cell in judged if study.spec.judge_called(cell.setting.judge) == judge}
        same = {study.models[model].digest for model in {*models, against} & study.models.keys()}
        if against != REFERENCE and models and len(same) == 1:
            problem = f"`{judge.name}` compares `{against}` with itself alone"
            help_line = "add the model that is compared with it"
            yield Hazard(
                "GC537", problem, {"model": against}, None, help_line, (*path, "compares", "against")
            )


def floating_alias(path: KeyPath, model: Model) -> Iterator[Hazard]:
    """GC507: a provider's model whose name has no date or number of a snapshot, and no `weights` that pin
    it."""
    pinned = model.weights is not None or _SNAPSHOT.search(model.source)
    if engine_kind(model.engine).provider and not pinned:
        problem = f"`{model.source}` may change without notice"
        help_line = "name a dated snapshot"
        if model.source in {folder.name for folder in BUILTIN_MODELS.iterdir()}:
            help_line = (
                f"`builtin:{model.source}` is the model that ships with gridc; for a provider's, {help_line}"
            )
        yield Hazard("GC507", problem, {"model": model.id}, None, help_line, (*path, "source"))


def shared_exemplars(setting: Setting, sampled: Sequence[Item], shown: Sequence[Item]) -> Found:
    """GC509: a question that is asked and also shown with its answer, even under another id or spelling."""
    taken = {question_text(item, ()): item.id for item in sampled} if shown else {}
    for item in shown:
        twin = taken.get(question_text(item, ()))
        if twin is not None:
            problem = f"exemplar {item.id} is the item {twin} that is asked"
            yield "GC509", "shots", problem, "remove one of the two, or draw with another seed"
            return


def stops_in_answers(setting: Setting, sampled: Sequence[Item], shown: Sequence[Item]) -> Found:
    """GC508: a stop string that is part of an answer that has to be read, or that an exemplar shows."""
    for stop in setting.stop:
        for item in sampled:
            names = _what_is_read(setting, item)
            cut = next((name for name in names if stop in name), None)
            if cut is not None:
                problem = f"the stop string {stop!r} cuts the answer {cut!r} of item {item.id}"
                yield "GC508", "stop", problem, "use a stop string that no answer contains"
                break
        for item in shown:
            if stop in reference_answer(item, setting.options, setting.look, setting.ranked_candidates):
                problem = f"the stop string {stop!r} is part of the answer that exemplar {item.id} shows"
                yield "GC508", "stop", problem, "use a stop string that no answer contains"
                break


def _what_is_read(setting: Setting, item: Item) -> Sequence[str]:
    """The texts that a response is searched for."""
    match = setting.match if METHODS[setting.method].reads_answer else None
    if match is not None:
        # Rules that read a response as it is have no fixed text to look for.
        return () if COMPARISONS[match.kind].as_it_is else right_answers(match, item)
    return setting.labels_of(item) or item.options


def options_asked_for(setting: Setting, sampled: Sequence[Item], shown: Sequence[Item]) -> Found:
    """GC524: questions that point at options which are not shown. A ranking compares the options anyway."""
    if setting.options != "none" or setting.ranks:
        return
    pointing = [item for item in sampled if item.options and _POINTS.search(item.open or item.query)]
    if pointing:
        first = pointing[0]
        words = _POINTS.search(first.open or first.query)
        problem = (
            f"{len(pointing):,} of the {len(sampled):,} items ask for options that are not shown: "
            f"{words[0] if words else ''!r} in item {first.id}"
        )
        help_line = (
            "show the options, or give such items a question that needs none (`fields.open` of `rows`)"
        )
        yield "GC524", "options", problem, help_line


_POINTS = re.compile(
    r"\b(?:of|from|among|is|are)\s+(?:all\s+)?the\s+following\b"
    r"|\b(?:which|what|all|each|any|none|one)\s+of\s+these\b"
    r"|\b(?:all|none|any|each)\s+of\s+the\s+(?:above|below)\b"
    r"|\b(?:options?|choices?|alternatives?|answers?)\s+(?:given\s+|listed\s+)?(?:below|above)\b",
    re.IGNORECASE,
)
_SNAPSHOT = re.compile(
    r"\d{4}-\d{2}-\d{2}|(?<!\d)\d{8}(?!\d)|(?<!\d)\d{6}(?!\d)|-\d{4}(?!\d)|-\d{2}-\d{2}(?!\d)"
)


def _hazard_at(spec: Spec, cell: Cell, code: str, key: str, problem: str, help_line: str) -> Hazard:
    where = grid.grid_place(cell.levels, cell.tier, cell.benchmark, cell.model)
    path = grid.effect_place(spec, key, where)
    return Hazard(code, problem, where, cell.key, help_line, path)


def _refuse(study: Study, hazards: Iterable[Hazard], source: Source) -> None:
    """Raise `HazardError` with each hazard once, at the first cell where it is not waived."""
    spec, origin = study.spec, study.origin
    diagnostics: dict[tuple[str, str], Diagnostic] = {}
    for hazard in hazards:
        if hazard.waived(spec) or (hazard.code, hazard.problem) in diagnostics:
            continue
        message = hazard.problem if hazard.cell is None else f"{hazard.problem} (first in {hazard.cell})"
        named = hazard.where.get("hypothesis")
        where = "" if named is None else f', where = {{ hypothesis = "{named}" }}'
        waiver = f'[[waive]] code = "{hazard.code}"{where} and a `why`'
        help = f"{hazard.help}; or {waiver}" if hazard.help else waiver
        if hazard.code in NEVER_ADVISED and hazard.help:
            help = hazard.help
        if hazard.item is not None or hazard.code in SEEN_IN_A_PROMPT:
            # The levels of the axes determine the tier.
            at = {name: value for name, value in hazard.where.items() if name != "tier"}
            help += f"; `{show_command(origin, at, hazard.item)}` shows it"
        if hazard.path is not None:
            shown = source.diagnose(hazard.code, hazard.path, message, help)
        else:
            shown = Diagnostic(hazard.code, message, str(source.path), help=help)
        diagnostics[hazard.code, hazard.problem] = shown
    if diagnostics:
        raise HazardError(diagnostics.values())
