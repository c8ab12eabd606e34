"""Whether every item has what its calls are made of. Known as soon as the items are, so before a stamp."""

from collections.abc import Iterator

from gridc.compiler.frontend.references import rubrics
from gridc.compiler.frontend.source import Source
from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid import passes
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.instrument.candidates import NoCandidates, candidates
from gridc.compiler.instrument.matching import Unmatchable, right_answers
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.render import SandboxError, extra_columns, render_rubric
from gridc.diagnostics.errors import Diagnostic, SpecError

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
    for cell in passes.cells(study.spec):
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
                candidates(kind, item)
            except NoCandidates as error:
                wrong.append(error)
        if wrong:
            where = grid.where(cell.levels, cell.tier, cell.benchmark, cell.model)
            path = grid.stated_at(study.spec, "candidates", where) or grid.stated_at(
                study.spec, "method", where
            )
            message = (
                f"`{kind}` cannot be ranked on {len(wrong):,} of the {len(items):,} items of "
                f"`{cell.benchmark}`: {wrong[0]}"
            )
            help = _way_out(study, cell.benchmark, path)
            yield source.diagnose("GC313", path or (), message, help)


def _unasked_prompt(study: Study, source: Source) -> Iterator[Diagnostic]:
    """A prompt beside texts that stand behind none; and a server that would weigh a text behind nothing."""
    seen: set[tuple[str, ...]] = set()
    served = {model.id for model in study.spec.model if model.base_url and model.weights is None}
    for cell in passes.cells(study.spec):
        setting, ways = cell.setting, (cell.benchmark, cell.model, cell.setting.prompt, cell.setting.premise)
        if not METHODS[setting.method].weighs or ways in seen or cell.benchmark not in study.items:
            continue
        seen.add(ways)
        items = study.items[cell.benchmark].asked(None, setting.items)
        alone = any(not item.references for item in items)
        where = grid.where(cell.levels, cell.tier, cell.benchmark, cell.model)
        if alone and cell.model in served and not setting.premise:
            path = grid.stated_at(study.spec, "method", where) or ()
            message = f"`{cell.model}` cannot weigh a text behind nothing: servers leave its first token out"
            help = 'premise = "\\n": the texts then stand behind a line break'
            yield source.diagnose("GC636", path, message, help)
        if setting.prompt != NOTHING and alone and (cell.benchmark, setting.prompt) not in seen:
            seen.add((cell.benchmark, setting.prompt))
            path = grid.stated_at(study.spec, "prompt", where) or ()
            message = (
                f"what is asked on `{cell.benchmark}` is the very text that is weighed, behind no prompt"
            )
            help = (
                f'prompt = "{NOTHING}"; or `fields.references` names the column of a text behind the prompt'
            )
            yield source.diagnose("GC313", path, message, help)


def _never_matched(study: Study, source: Source) -> Iterator[Diagnostic]:
    seen: set[tuple[object, ...]] = set()
    for cell in passes.cells(study.spec):
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
            where = grid.where(cell.levels, cell.tier, cell.benchmark, cell.model)
            path = grid.stated_at(study.spec, "match", where) or ()
            message = (
                f"{len(wrong):,} of the {len(items):,} items of `{cell.benchmark}` cannot be matched as "
                f"{match.kind}: {wrong[0]}"
            )
            yield source.diagnose("GC345", path, message, wrong[0].help, at_key=True)


def _rubrics_fail(study: Study, source: Source) -> Iterator[Diagnostic]:
    """Rubrics that print further columns of items, which not every row may have."""
    judged = {cell.benchmark for cell in passes.cells(study.spec) if METHODS[cell.setting.method].judged}
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
