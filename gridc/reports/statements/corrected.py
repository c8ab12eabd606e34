"""Sentences about what people's labels correct, and about readings that nobody has checked."""

from collections.abc import Iterator

from gridc.compiler.instrument.methods import METHODS
from gridc.numbers import counted, in_points, interval_words, percent
from gridc.reports.findings.corrected import INFERRED, SCORE
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.statements.statement import Statement, of_benchmark
from gridc.reports.words import FAULTS, joined_names
from gridc.schema.audit import CorrectedValueRow, TakenBackRow

MANY_INFERRED = 0.2
"""The share of readable answers from which it is said that readings are inferred."""
LABELS = 100
"""Labels a model that would show how well answers are read: within 6 points where one in ten is misread."""
FEW = 3


@of_benchmark("taken_back", "leading", 15)
def taken_back(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Claims that the items alone would establish, and that people's labels do not bear."""
    text = taken_back_words(benchmark)
    if text is not None:
        yield Statement(text, "limit", (benchmark.benchmark,))


def taken_back_words(benchmark: BenchmarkFinding) -> str | None:
    """Such claims of a benchmark, and what the labels say; None where there is none."""
    rows = benchmark.taken_back
    if not rows:
        return None
    if len(rows) > 1:
        told = "; ".join(f"{_claim_in_short(row)} ({_by_labels(benchmark, row)})" for row in rows[:FEW])
        more = f"; and {len(rows) - FEW:,} more" if len(rows) > FEW else ""
        return (
            f"On {benchmark.benchmark} the answers as they were read would establish {len(rows):,} claims "
            f"that people's labels do not: {told}{more}."
        )
    (row,) = rows
    claim = (
        f"{row.a} and {row.b} change places"
        if row.first is None
        else f"{row.first} scores higher than {_other(row)} in every configuration"
    )
    return (
        f"On {benchmark.benchmark} the answers as they were read would establish that {claim}; people's "
        f"labels do not: {_by_labels(benchmark, row)}."
    )


def _other(row: TakenBackRow) -> str:
    """The model that scores lower by such an order."""
    return row.b if row.first == row.a else row.a


def _claim_in_short(row: TakenBackRow) -> str:
    return f"{row.a} and {row.b} in turn" if row.first is None else f"{row.first} above {_other(row)}"


def _by_labels(benchmark: BenchmarkFinding, row: TakenBackRow) -> str:
    """How far the labels reach, and where they do the gap that speaks most against the claim."""
    audit, asked = benchmark.audit, benchmark.full.scope.configurations
    assert audit is not None
    reached = [name for name in asked if name in (*audit.configurations, *audit.exempt)]
    if len(reached) < len(asked):
        return f"responses were labelled in {len(reached)} of {counted(len(asked), 'configuration')}"
    sign = -1 if row.first == row.b else 1
    gaps = [gap for name in asked if (gap := audit.score_gap(row.a, row.b, name)) is not None]
    if not gaps:
        return "no response of both was labelled"
    worst = min(
        gaps, key=lambda gap: abs(gap.corrected.value) if row.first is None else sign * gap.corrected.value
    )
    ends = sorted(sign * end for end in worst.corrected.new)
    where = f" under {worst.configuration}" if len(asked) > 1 else ""
    return (
        f"the gap{where} is {in_points(sign * worst.machine)} points as read and "
        f"{in_points(sign * worst.corrected.value)} by their labels, 95 % interval for new items "
        f"{interval_words(ends, in_points)}"
    )


@of_benchmark("corrected", "labels", 30)
def corrected_scores(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Scores as people's labels correct them, of each configuration that was audited."""
    audit = benchmark.audit
    for configuration in audit.configurations if audit is not None else ():
        yield Statement(corrected_words(benchmark, configuration), about=(benchmark.benchmark, configuration))


def corrected_words(benchmark: BenchmarkFinding, configuration: str) -> str:
    """The scores of one configuration as they were read, and by labels."""
    audit = benchmark.audit
    assert audit is not None
    values = [value for value in audit.scores() if value.configuration == configuration]
    least, most = min(value.labelled for value in values), max(value.labelled for value in values)
    of = max(value.responses for value in values)
    size = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    under = f" under {configuration}" if len(benchmark.full.scope.configurations) > 1 else ""
    who = "People" if audit.annotators < 2 else f"{audit.annotators} people"
    head = f"{who} labelled {size} of {of:,} responses of each model to {benchmark.benchmark}{under}."
    told = "; ".join(map(value_words, values[:FEW]))
    more = f"; {len(values) - FEW:,} more models are in the table" if len(values) > FEW else ""
    chosen = (
        " Which responses they labelled was decided outside of gridc, and is taken as a draw at random."
        if audit.given
        else ""
    )
    if audit.unreturned:
        chosen += f" The labels of {counted(audit.unreturned, 'further sheet')} never came back."
    return f"{head} By their labels {told}{more}.{chosen}"


def value_words(value: CorrectedValueRow) -> str:
    """A score or a rate of one model by people's labels, beside the one that was read."""
    found = value.corrected
    head = (
        f"{value.model} scores {percent(found.value)}"
        if value.what == SCORE
        else f"{value.what.replace('_', ' ')} of {value.model} is {percent(found.value)}"
    )
    return (
        f"{head} where {percent(value.machine)} was read (95 % interval: these responses "
        f"{interval_words(found.here, percent)}, new items {interval_words(found.new, percent)})"
    )


def at_anchor(benchmark: BenchmarkFinding) -> list[CorrectedValueRow]:
    """What is corrected under the anchor: what was complied with and refused, the largest corrections first;
    elsewhere the scores."""
    anchor = {model.model: model.anchor.cell.configuration for model in benchmark.models}
    here = [
        value
        for value in (() if benchmark.audit is None else benchmark.audit.values)
        if value.configuration == anchor.get(value.model)
    ]
    faults = [value for value in here if value.what in FAULTS]
    if faults:
        return sorted(faults, key=lambda value: -abs(value.corrected.value - value.machine))
    return [value for value in here if value.what == SCORE]


def unchecked(findings: Findings) -> Iterator[str]:
    """Which benchmarks are scored by a reading that people have not checked, and what labels would show."""
    found = []
    for benchmark in findings.benchmarks:
        how = None if benchmark.audit is not None else _reading(findings, benchmark)
        if how is not None:
            found.append(f"of {benchmark.benchmark} {how}")
    if found and findings.complete:
        sample = LABELS * sum(len(each.models) for each in findings.benchmarks)
        yield (
            f"No person has checked how answers were read: those {joined_names(found[:FEW])}. Labels for up "
            f"to {LABELS} answers of each model would show how many are misread "
            f"(`gridc audit sample -n {sample}`)."
        )


def _reading(findings: Findings, benchmark: BenchmarkFinding) -> str | None:
    """How the answers of a benchmark are read, where that can well be wrong."""
    cells = [score.cell for score in benchmark.cells if score.cell.shared]
    methods = [METHODS[cell.setting.method] for cell in cells]
    if any(method.reads_behaviour for method in methods):
        return "by phrases of refusal"
    if any(method.judged for method in methods):
        return "by a judge" if all(method.judged for method in methods) else "in part by a judge"
    counts = [found for cell in cells if (found := findings[INFERRED].get(cell.key)) is not None]
    readable, inferred = sum(count[0] for count in counts), sum(count[1] for count in counts)
    if readable and inferred / readable >= MANY_INFERRED:
        return f"by what they leave standing, in {percent(inferred / readable, 0)} of cases"
    return None
