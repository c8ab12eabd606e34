"""Groups of benchmarks in logs -> one number for each model: the mean over items, and over benchmarks."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gridc.compiler.inputs.logs.records import LogGroup
from gridc.reports.recorded.cells import RecordedAnswers, RecordedBenchmark, RecordedCell, score_limits
from gridc.schema.recorded import LogGroupRow
from gridc.statistics.arrays import Floats, Whole
from gridc.statistics.totals import macro_mean
from gridc.statistics.unit_intervals import Ends

AGREE = 5e-4
"""To which a printed score and what items give are equal: a package may round to three decimals."""
Groups = Mapping[tuple[str, str, str], list["GroupMember"]]
"""The members of a group by its name, model and configuration."""


class GroupMember(NamedTuple):
    """A cell of a benchmark that is of a group, as its log lists it."""

    benchmark: RecordedBenchmark
    cell: RecordedCell
    run: RecordedAnswers
    group: LogGroup

    @property
    def task(self) -> str:
        return self.run.gathered.run.task


def score_groups(benchmarks: Sequence[RecordedBenchmark]) -> Groups:
    """By name, model and configuration."""
    found: defaultdict[tuple[str, str, str], list[GroupMember]] = defaultdict(list)
    for benchmark in benchmarks:
        for (model, configuration), cell in benchmark.cells.items():
            groups = {group.name: (run, group) for run in cell.runs for group in run.gathered.run.groups}
            for name, (run, group) in groups.items():
                found[name, model, configuration].append(GroupMember(benchmark, cell, run, group))
    return found


def group_rows(groups: Groups) -> Iterator[LogGroupRow]:
    """The groups with most tasks first."""
    sizes = {name: max(len(one.group.tasks) for one in members) for (name, *_), members in groups.items()}
    tasks: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for (name, model, _), members in groups.items():
        tasks[name, model] |= {member.task for member in members}
    for name, model, configuration in sorted(groups, key=lambda key: (-sizes[key[0]], key[0])):
        members = groups[name, model, configuration]
        yield _row(name, model, configuration, members, tasks[name, model])


def _row(
    name: str, model: str, configuration: str, members: Sequence[GroupMember], tasks: Collection[str]
) -> LogGroupRow:
    """Of the members that count under one reading, the one that most of them have, in one direction. `tasks`
    are those that the model has in any configuration."""
    reading = Counter(member.run.reading for member in members).most_common(1)[0][0]
    lower = Counter(member.benchmark.lower for member in members).most_common(1)[0][0]
    counting, missing = [], {}
    for member in members:
        why = _why_not(member, reading, lower)
        if why is None:
            counting.append(member)
        else:
            missing[member.task] = why
    there = {member.task for member in members}
    listed = dict.fromkeys(task for member in members for task in member.group.tasks)
    for task in listed:
        if task not in there:
            missing[task] = "another configuration has it" if task in tasks else "no log has it"
    printed = next((one for one in (member.group.printed.get(reading) for member in members) if one), None)
    micro, macro, ends, macro_ends, items = _means(counting)
    stated = None if printed is None else printed.value
    near = [
        what
        for what, value in (("micro", micro), ("macro", macro))
        if stated is not None and value is not None and abs(value - stated) <= AGREE
    ]
    return LogGroupRow(
        group=name,
        model=model,
        configuration=configuration,
        reading=reading,
        micro=micro,
        micro_interval=ends,
        macro=macro,
        macro_interval=macro_ends,
        items=items,
        benchmarks=tuple(dict.fromkeys(member.benchmark.name for member in counting)),
        missing=tuple(f"{task}: {why}" for task, why in missing.items()),
        printed=stated,
        printed_is="both" if len(near) > 1 else near[0] if near else None,  # type: ignore[arg-type]
    )


def _why_not(member: GroupMember, reading: str, lower: bool) -> str | None:
    """Why a member is left out; None of one that counts."""
    if member.run.reading != reading:
        return f"its score is `{member.run.reading}`"
    if member.benchmark.lower is not lower:
        return "less is better there, or here" if lower else "less is better there"
    if not member.cell.itemised:
        return "its log has no items"
    return None if member.cell.bounded else "it has no scores from 0 to 1"


def _means(
    members: Sequence[GroupMember],
) -> tuple[float | None, float | None, Ends | None, Ends | None, int]:
    """The mean over items and over benchmarks, their intervals, and how many items there are."""
    scores: list[Floats] = []
    units: list[Whole] = []
    numbers: dict[str, int] = {}
    for member in members:
        held = ~np.isnan(member.cell.worst)
        named = [_unit(member.benchmark, unit) for unit in np.array(member.benchmark.units)[held].tolist()]
        scores.append(member.cell.worst[held])
        units.append(np.array([numbers.setdefault(unit, len(numbers)) for unit in named], np.int64))
    sizes = [len(some) for some in scores]
    if not sizes or not all(sizes):
        return None, None, None, None, sum(sizes)
    score, unit = np.concatenate(scores), np.concatenate(units)
    mean = float(np.mean([some.mean() for some in scores]))
    place = np.repeat(np.arange(len(sizes)), sizes)
    macro = macro_mean(unit, place, len(sizes), np.ones(len(score)), score).estimate().interval
    return float(score.mean()), mean, score_limits(score, unit), macro, len(score)


def _unit(benchmark: RecordedBenchmark, unit: str) -> str:
    """One question in two benchmarks is one unit; what only has a name there is another one."""
    of_content = not benchmark.items.without_content and not any(benchmark.items.has_unit)
    return unit if of_content else f"{benchmark.name}\0{unit}"
