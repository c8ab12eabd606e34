"""How far a scorecard can be relied on: integrity of the measurement, threats, a checklist, the scope of
claims."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gridc.compiler.grid import configurations as grid
from gridc.compiler.grid.cells import Cell
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.scaffolds import built_in
from gridc.compiler.lowering.asked import differing_words
from gridc.diagnostics.errors import CODES
from gridc.numbers import counted
from gridc.reports.findings.changes import RescoredChange, ScoreChange, ScoreDifference
from gridc.reports.findings.conduct import CONDUCT
from gridc.reports.findings.findings import BenchmarkFinding, Findings, Scope
from gridc.reports.findings.hypotheses import reach
from gridc.reports.findings.scores import CellScore
from gridc.reports.scorecard.methodology import (
    NOT_READ,
    PARTED,
    ChecklistAnswer,
    ChecklistLine,
    no_answer_read,
    nothing_compared,
    one_reading,
    since_when,
)
from gridc.reports.words import PLURAL, units_words
from gridc.schema.models import engine_kind
from gridc.schema.scorecard import CheckRow, ClaimRow, Held, IntegrityRow, Kept, ThreatRow

ITT, PP = "unreadable answers counted", "unreadable answers left out"


def integrity(findings: Findings) -> Iterator[IntegrityRow]:
    """Every change of one level from the reference, as two ways of measuring the same answers see it:
    with unreadable answers and without, and by each two rules that score the same answers."""
    for benchmark in findings.benchmarks:
        for change in benchmark.changes:
            if len(change.levels) == 1 and change.pp is not None and not change.pp.same_as(change.itt):
                yield _integrity(benchmark, change, change.levels, (ITT, PP), (change.itt, change.pp))
        for row in benchmark.reread:
            names = (f"{row.axis} = {row.left}", f"{row.axis} = {row.right}")
            yield _integrity(benchmark, row, row.levels, names, (row.by_left, row.by_right))


def _integrity(
    benchmark: BenchmarkFinding,
    measured: ScoreChange | RescoredChange,
    change: Mapping[str, str],
    names: tuple[str, str],
    moved: tuple[ScoreDifference, ScoreDifference],
) -> IntegrityRow:
    left, right = moved
    return IntegrityRow.of(
        measured,
        benchmark=benchmark.benchmark,
        change=change,
        left=names[0],
        right=names[1],
        by_left=left.difference,
        left_interval=left.interval,
        by_right=right.difference,
        right_interval=right.interval,
        kept=_kept_effect(left, right),
    )


def _kept_effect(left: ScoreDifference, right: ScoreDifference) -> Kept:
    if left.side and right.side:
        return "same" if left.side == right.side else "reversed"
    return "only_left" if left.side else "only_right" if right.side else "neither"


def threats(findings: Findings) -> Iterator[ThreatRow]:
    """What could make the numbers mean something else, as far as the study shows it."""
    if findings.recorded is None:
        yield _unreadable(findings)
        yield _batches(findings)
    yield from _other_items(findings)
    if findings.recorded is None:
        yield from _drift(findings)
    else:
        yield _threat(
            "another package asked, by settings that its logs may not have",
            f"The {counted(len(findings.recorded.files), 'log')} read are named with their digests.",
            "Which runs were left out, and what the logs do not record, is not known.",
            {"logs": len(findings.recorded.files), "unknown": len(findings.recorded.unknown)},
        )
    yield from _dependence(findings)
    for waiver in findings.plan.study.spec.waive:
        where = waiver.where.model_dump_json(by_alias=True) if waiver.where.root else "everywhere"
        yield _threat(
            f"{waiver.code}: {CODES[waiver.code].title}",
            waiver.why,
            f"A hazard that was waived, {where}.",
            {},
        )
    seen = findings[CONDUCT].observed
    if seen:
        met = "Everything of the kind that the run saw is quoted in the deviation log."
        left = f"{len(seen)} observed, each a line there; what this does to the scores is not measured."
        threat = "the run departed from its plan, or answers were cut off at their token limit"
        yield _threat(threat, met, left, {"observed": len(seen)})
    interest = findings.plan.study.spec.study.conflict_of_interest
    if interest:
        yield _threat("a conflict of interest", interest, "It is its author's statement.", {})


def _threat(threat: str, met: str, left: str, counts: dict[str, int]) -> ThreatRow:
    return ThreatRow(threat=threat, met=met, left=left, counts=counts)


def _unreadable(findings: Findings) -> ThreatRow:
    both = [change for row in findings.benchmarks for change in row.changes if change.pp is not None]
    apart = [
        change
        for change in both
        if change.pp is not None and abs(change.itt.difference - change.pp.difference) > PARTED
    ]
    threat, counts = "unreadable answers look like wrong ones", {"changes": len(both), "diverge": len(apart)}
    if not both:
        compared = any(row.changes for row in findings.benchmarks)
        met = one_reading(findings) if compared or no_answer_read(findings) else nothing_compared(findings)
        left = "Nothing to mistake." if no_answer_read(findings) else "Nothing is known of it here."
        return _threat(threat, met, left, counts)
    met = "Each change of configuration is computed with unreadable answers and without them."
    of = counted(len(both), "change")
    left = f"In {len(apart)} of {of} the two differ by more than {100 * float(PARTED):g} pp."
    return _threat(threat, met, left, counts)


def _batches(findings: Findings) -> ThreatRow:
    known = [noise.floor for noise in findings.noise if noise.floor is not None]
    outcomes, changed = sum(floor.outcomes for floor in known), sum(floor.changed for floor in known)
    counts = {
        "models": len(findings.noise), "measured": len(known), "outcomes": outcomes, "changed": changed
    }  # fmt: skip
    of = counted(len(findings.noise), "model")
    met = f"Calls of {len(known)} of {of} (at a precision) were made twice."
    if not known:
        met = "No call was made twice."
    left = f"{changed} of {outcomes} repeated outcomes changed." if known else "Nothing is known of it here."
    return _threat("the same call need not give the same answer", met, left, counts)


def _other_items(findings: Findings) -> Iterator[ThreatRow]:
    """Levels that are compared and do not ask the same items."""
    for row in findings.benchmarks:
        if row.differing:
            yield _threat(
                differing_words(row.benchmark, row.differing),
                "Changes from the reference, hypotheses and curves compare the items in common.",
                "Scores, ranges and counts over configurations are of each configuration's own items.",
                {axis.axis: axis.common for axis in row.differing},
            )


def _drift(findings: Findings) -> Iterator[ThreatRow]:
    """Models whose weights nobody here can name."""
    entries = findings.lock.content["inputs"].get("models", {})
    from_provider = {model.id: engine_kind(model.engine).provider for model in findings.plan.study.spec.model}
    loose = [name for name, entry in entries.items() if "unpinned" in entry]
    for provider in (True, False):
        names = [name for name in loose if from_provider.get(name, False) is provider]
        met = "The name that was asked for and the name that answered are stored with every call."
        left = f"Another model may be behind {', '.join(names)} tomorrow, or did between two calls."
        if not provider:
            met = "The name is stored, and what the engine says that it ran."
            left = f"The stamp does not fix which weights {', '.join(names)} means."
        if names:
            yield _threat("a model changes behind its name", met, left, {"models": len(names)})


def _dependence(findings: Findings) -> Iterator[ThreatRow]:
    """Benchmarks on which the spec takes as independent what its data group."""
    for row in findings.benchmarks:
        if row.coarser:
            met = f"Intervals and tests on {row.benchmark} draw {units_words(row.unit, row.units)}."
            left = (
                f"The data document a coarser level, {', '.join(row.coarser)}: intervals may be too narrow."
            )
            yield _threat("items that depend on each other", met, left, {"units": row.units})


def checklist(findings: Findings) -> Iterator[CheckRow]:
    """The recommendations of Safety Under Scaffolding, sec. 8."""
    measured = any(_measured(row) for row in findings.benchmarks)
    for check in CHECKS:
        answer = check.answer(findings)
        if findings.recorded is not None and check.id != "needed":
            answer = ChecklistAnswer("not_measured", NOT_READ)
        if not measured:
            answer = answer._replace(holds="not_measured", said="No cell is measured yet.")
        yield CheckRow.of(answer, check, recommendation=check.question)


def _measured(row: BenchmarkFinding) -> list[CellScore]:
    return [cell for cell in row.cells if cell.complete]


def _formats(findings: Findings) -> ChecklistAnswer:
    paired = [
        row.benchmark
        for row in findings.benchmarks
        if len({(score.cell.setting.options == "none", _reading(score)) for score in _measured(row)}) > 1
    ]
    counts = {"paired": len(paired), "benchmarks": len(findings.benchmarks)}
    of = counted(len(findings.benchmarks), "benchmark")
    verb = "was" if len(findings.benchmarks) == 1 else "were"
    text = f"{len(paired)} of {of} {verb} measured in more than one response format."
    holds: Held = "yes" if len(paired) == len(findings.benchmarks) else "partly" if paired else "no"
    return ChecklistAnswer(holds, text, counts=counts)


def _reading(score: CellScore) -> str:
    """How an answer is given: as an option, in free words, or as a likelihood."""
    if score.cell.setting.ranks:
        return "likelihood"
    return METHODS[score.cell.setting.method].reads or "words"


def _divided(findings: Findings) -> ChecklistAnswer:
    scaffolds = _scaffolds(findings)
    divided = [kind for kind in scaffolds if (known := built_in(kind)) is not None and known.divides]
    counts = {"divided": len(divided), "scaffolds": len(scaffolds)}
    if not scaffolds:
        return ChecklistAnswer("no", "No scaffold was run.", counts=counts)
    text = (
        f"Of {counted(len(scaffolds), 'kind')} of scaffold, {len(divided)} "
        f"{'divides' if len(divided) == 1 else 'divide'} the task ({', '.join(divided) or 'none'})."
    )
    return ChecklistAnswer("yes" if divided else "no", text, counts=counts)


def _scaffolds(findings: Findings) -> list[str]:
    settings = [score.cell.setting for row in findings.benchmarks for score in _measured(row)]
    kinds = [setting.scaffolding.kind for setting in settings if setting.scaffolding is not None]
    return list(dict.fromkeys(kinds))


def _needed(findings: Findings) -> ChecklistAnswer:
    rows = [change for row in findings.benchmarks for change in row.changes]
    harmed = sum(row.itt.side < 0 for row in rows)
    counts = {"changes": len(rows), "worse": harmed}
    if not rows:
        return ChecklistAnswer("not_measured", nothing_compared(findings), counts=counts)
    every = "the" if len(rows) == 1 else "all"
    text = f"It stands beside {every} {counted(len(rows), 'change')}; in {harmed} the interval shows a loss."
    return ChecklistAnswer("yes", text, counts=counts)


def _system(findings: Findings) -> ChecklistAnswer:
    settings = [score.cell.setting for row in findings.benchmarks for score in _measured(row)]
    turns = sorted({setting.system_turn for setting in settings if setting.system})
    counts = {"cells": len(settings), "with_system": sum(bool(setting.system) for setting in settings)}
    if not turns:
        return ChecklistAnswer("not_applicable", "No cell has a system prompt.", counts=counts)
    if len(turns) > 1:
        return ChecklistAnswer("yes", f"It was asked in the turns {', '.join(turns)}.", counts=counts)
    return ChecklistAnswer("no", f"It stood in the {turns[0]} turn throughout.", counts=counts)


CHECKS: tuple[ChecklistLine, ...] = (
    ChecklistLine("format_paired", "Report every benchmark in more than one response format", _formats),
    ChecklistLine("structure", "Test scaffolds that take the structure of a task apart", _divided),
    ChecklistLine("needed", "Print the number needed to harm beside the score", _needed),
    ChecklistLine("system_prompt", "Vary where the system prompt stands", _system),
)


def claims(findings: Findings) -> Iterator[ClaimRow]:
    """What is claimed: the orders that gridc weighs in every study, each hypothesis, and what was named
    after the data."""
    alpha = f"{findings.alpha:g}"
    for row in findings.benchmarks:
        certified = sum(pair.evidence.certified.claim is not None for pair in row.full.pairs)
        if row.full.pairs:
            yield ClaimRow(
                id=f"pairs/{row.benchmark}",
                claim=f"orders and reversals of models on {row.benchmark}",
                stated="always",
                answer=f"established for {certified} of {counted(len(row.full.pairs), 'pair')}",
                cases=row.items,
                models=len(row.models),
                configurations=len(row.full.scope.configurations),
                reach=f"Of the {certified}: new items of the same kind, with error at most {alpha} over all "
                f"pairs, if {PLURAL[row.unit]} are independent; these configurations and models."
                if certified
                else "These items, configurations and models only: nothing is established beyond them.",
            )
        for scope in row.scopes:
            if scope.scope.declared == "post_hoc" and scope.scope.kind != "full":
                yield _after_the_data(findings, row, scope.scope)
    answers = {finding.id: finding for finding in findings.hypotheses}
    stated = since_when(findings)
    for hypothesis in findings.plan.study.spec.hypothesis:
        about = list(cells_about(findings, hypothesis))
        on = {
            cell.benchmark: [other for other in about if other.benchmark == cell.benchmark] for cell in about
        }
        answer = answers.get(hypothesis.id)
        yield ClaimRow(
            id=hypothesis.id,
            claim=hypothesis.claim or hypothesis.kind,
            stated=stated[hypothesis.id],
            answer="not answered" if answer is None else answer.verdict,
            cases=sum(_cases(findings, hypothesis, name, cells) for name, cells in on.items()),
            models=len({cell.model for cell in about}),
            configurations=len({cell.configuration for cell in about}),
            reach="Not answered by this report." if answer is None else reach(answer),
        )


def _cases(findings: Findings, hypothesis: Any, benchmark: str, cells: Sequence[Cell]) -> int:
    """The items of a benchmark that a hypothesis is about."""
    asked = findings.plan.asked(benchmark).of(cells)
    some = hypothesis.items
    if some is None:
        return len(asked)
    sampled = findings.plan.study.items[benchmark].sampled
    return sum(item.id in asked and some.matches(item.tags) for item in sampled)


def cells_about(findings: Findings, hypothesis: Any) -> Iterator[Cell]:
    """The cells that a hypothesis is about."""
    spec, models = findings.plan.study.spec, kind_of(hypothesis).models(hypothesis)
    for row in findings.benchmarks:
        if not set(models or ()).issubset(finding.model for finding in row.models):
            continue
        for score in row.cells:
            cell = score.cell
            place = grid.place_values(spec, cell.levels, cell.benchmark, cell.model)
            if (
                (models is None or cell.model in models)
                and hypothesis.where.matches(place)
                and spec.analysis.primary.matches(place)
            ):
                yield cell


def _after_the_data(findings: Findings, row: BenchmarkFinding, scope: Scope) -> ClaimRow:
    inside = [score.cell for score in row.cells if score.cell.configuration in scope.configurations]
    return ClaimRow(
        id=f"scope/{row.benchmark}/{scope.name}",
        claim=f"the same in {scope.name} on {row.benchmark}",
        stated="post_hoc",
        answer="named after the data were seen",
        cases=len(findings.plan.asked(row.benchmark).of(inside)),
        models=len(row.models),
        configurations=len(scope.configurations),
        reach="These items only, except for what is established in every one of its configurations over the "
        "whole envelope.",
    )
