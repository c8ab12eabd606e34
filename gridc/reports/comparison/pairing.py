"""Which benchmarks, configurations and items of two runs are the same ones."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gridc.compiler.inputs.questions import MatchedQuestions, matched, matching_words
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.comparison.run import ComparedRun, RunAnswer, RunBenchmark, RunItem
from gridc.reports.levels import DIGEST, level_names
from gridc.schema.policy import Aspect, Policy


@dataclass(frozen=True, slots=True)
class PairedConfiguration:
    """A configuration by its name in each baseline and in the candidate."""

    firsts: tuple[str, ...]
    second: str


@dataclass(frozen=True, slots=True)
class PairedItem:
    """An item in every run, by content. It has no answer where it is absent."""

    firsts: tuple[RunItem, ...]
    second: RunItem


@dataclass(frozen=True, slots=True)
class PairedBenchmark:
    """One model on one benchmark in the baselines and in the candidate (`model_b` where it has another name),
    and the items that are compared. All of them have `matched` items; the candidate lacks `only_first`, and
    some baseline `only_second`; `unnamed` are those of the benchmark that no run names. Of these `left_out`
    are not compared. `other_question` names ids that stand for a question that only one of them has, and
    `renumbered` counts those that stand for another one of the common questions. `matching` says how the
    items of different packages were matched; None where one package asked all."""

    model: str
    model_b: str
    benchmark: str
    firsts: tuple[RunBenchmark, ...]
    second: RunBenchmark
    configurations: tuple[PairedConfiguration, ...]
    items: tuple[PairedItem, ...]
    matched: int
    only_first: int
    only_second: int
    unnamed: int
    left_out: int
    other_question: tuple[str, ...]
    renumbered: int
    matching: str | None = None

    @property
    def unit(self) -> str:
        """The coarsest that a run states: a unit of several items is no single item in another run."""
        stated = [one.unit for one in (*self.firsts, self.second)]
        return next((unit for unit in stated if unit != "item"), "item")


def paired(firsts: Sequence[ComparedRun], second: ComparedRun, policy: Policy) -> list[PairedBenchmark]:
    """What all runs have, in the order of the candidate; of items that some run lacks those that it failed,
    unless the policy is of common ones alone. A run's only model is compared with another run's only model,
    whatever their names. Raises `UsageError` (GC766) where a run has more items than the policy says."""
    names = _names(firsts, second)
    packages = [run.package for run in (*firsts, second)]
    crossing = crossed(firsts, second)
    pairs = []
    for (model_b, benchmark), there in second.benchmarks.items():
        here = names.get(model_b)
        if here is None or any(
            (one, benchmark) not in run.benchmarks for one, run in zip(here, firsts, strict=True)
        ):
            continue
        several = tuple(run.benchmarks[one, benchmark] for one, run in zip(here, firsts, strict=True))
        stated = policy.total_of(benchmark)
        most = max(len(run.items) for run in (*several, there))
        if stated is not None:
            if stated < most:
                message = f"{benchmark} has {most:,} items in a run, more than the {stated:,} that are stated"
                raise UsageError([Diagnostic("GC766", message, help=f"write {most} or more, or nothing")])
            there = replace(there, total=stated)
        if crossing:
            runs = [*several, there]
            found = matched([[item.question for item in run.items.values()] for run in runs])
            *others, candidate = _by_question(runs, found)
            pair = _benchmark(here[0], model_b, benchmark, tuple(others), candidate, policy.common_only)
            alone = [len(run.items) - pair.matched for run in runs]
            words = matching_words(packages, found, pair.matched, alone)
            # Every package has ids of its own, so that one id may well name two questions.
            pairs.append(replace(pair, other_question=(), renumbered=0, matching=words))
            continue
        pairs.append(_benchmark(here[0], model_b, benchmark, several, there, policy.common_only))
    return pairs


def crossed(firsts: Sequence[ComparedRun], second: ComparedRun) -> bool:
    """Whether different packages asked."""
    return len({run.package for run in (*firsts, second)}) > 1


def _by_question(runs: Sequence[RunBenchmark], found: MatchedQuestions) -> list[RunBenchmark]:
    """Runs of different packages, items keyed by what is asked and prompts by their texts."""
    rekeyed = []
    for number, (run, keys) in enumerate(zip(runs, found.keys, strict=True)):
        texts = None if run.prompt_texts is None else run.prompt_texts()
        items = {
            f"{number} {own}" if key is None else key.hex(): replace(
                item,
                answers={
                    name: tuple(_with_text(answer, texts) for answer in answers)
                    for name, answers in item.answers.items()
                },
            )
            for (own, item), key in zip(run.items.items(), keys, strict=True)
        }
        rekeyed.append(replace(run, items=items))
    return rekeyed


def _with_text(answer: RunAnswer, texts: Mapping[str, str] | None) -> RunAnswer:
    if texts is None or answer.prompt is None:
        return answer
    return replace(answer, prompt=texts.get(answer.prompt))


def _names(firsts: Sequence[ComparedRun], second: ComparedRun) -> dict[str, tuple[str, ...]]:
    """Of each model of the candidate its name in each baseline."""
    if len(second.models) == 1 and all(len(run.models) == 1 for run in firsts):
        return {second.models[0]: tuple(run.models[0] for run in firsts)}
    return {
        model: (model,) * len(firsts) for model in second.models if all(model in run.models for run in firsts)
    }


def _benchmark(
    model: str,
    model_b: str,
    benchmark: str,
    firsts: tuple[RunBenchmark, ...],
    second: RunBenchmark,
    common_only: bool,
) -> PairedBenchmark:
    common = [key for key in second.items if all(key in one.items for one in firsts)]
    ids = {item.id: key for key, item in firsts[0].items.items()}
    other = [(item.id, key) for key, item in second.items.items() if ids.get(item.id, key) != key]
    both = set(common)
    replaced = [id for id, key in other if key not in both or ids[id] not in both]
    items, counts = _items((second, *firsts), common_only)
    return PairedBenchmark(
        model,
        model_b,
        benchmark,
        firsts,
        second,
        _configurations(firsts, second),
        tuple(items),
        counts["matched"],
        counts["only_first"],
        counts["only_second"],
        counts["unnamed"],
        counts["left_out"],
        tuple(sorted(replaced)),
        len(other) - len(replaced),
    )


def _items(runs: Sequence[RunBenchmark], common_only: bool) -> tuple[list[PairedItem], Counter[str]]:
    """The items that are compared, the candidate being the first of `runs`, and how many there are of each
    kind."""
    named = dict.fromkeys(key for run in runs for key in run.items)
    every = {key: next(run.items[key] for run in runs if key in run.items) for key in named}
    counts = Counter[str]()
    for number in range(len(every), max(run.total or 0 for run in runs)):
        every[f"unnamed {number}"] = RunItem("", f"unnamed {number}", {})
        counts["unnamed"] += 1
    items = []
    for key, shown in every.items():
        sides = [_side(run, key, shown) for run in runs]
        lacking = [run for run, side in zip(runs, sides, strict=True) if side is None]
        if key in named:
            kind = "matched" if not lacking else "only_first" if sides[0] is None else "only_second"
            counts[kind] += 1
        if lacking and (common_only or any(run.planned for run in lacking)):
            counts["left_out"] += 1
            continue
        absent = RunItem(shown.id, shown.unit, {})
        second, *firsts = (side or absent for side in sides)
        items.append(PairedItem(tuple(firsts), second))
    return items, counts


def _side(run: RunBenchmark, key: str, shown: RunItem) -> RunItem | None:
    """An item in a run; None where it is absent."""
    if key in run.items or run.unlisted is None:
        return run.items.get(key)
    return RunItem(shown.id, shown.unit, dict.fromkeys(asked(run), (RunAnswer(run.unlisted, "read"),)))


def _configurations(
    firsts: tuple[RunBenchmark, ...], second: RunBenchmark
) -> tuple[PairedConfiguration, ...]:
    """Matched by level, whatever the order of axes; two single ones are the same measurement."""
    by_levels = [{levels_of(name): name for name in asked(one)} for one in firsts]
    names = asked(second)
    if len(names) == 1 and all(len(one) == 1 for one in by_levels):
        return (PairedConfiguration(tuple(next(iter(one.values())) for one in by_levels), names[0]),)
    return tuple(
        PairedConfiguration(tuple(one[levels_of(name)] for one in by_levels), name)
        for name in names
        if all(levels_of(name) in one for one in by_levels)
    )


def asked(run: RunBenchmark) -> list[str]:
    """The configurations that some item was asked in."""
    return list(dict.fromkeys(name for item in run.items.values() for name in item.answers))


def shown_names(pair: PairedBenchmark) -> dict[str, str]:
    """The candidate's configurations as people are told them: a level that is called by a digest, as in
    `task_args=#8bfd8a`, by what differs among the values that the runs have of its axis. Where nothing
    differs it tells nothing, and is left out."""
    levels: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for run in (*pair.firsts, pair.second):
        for configuration in asked(run):
            for part, value in _parts(run, configuration):
                axis, _, label = part.partition("=")
                levels[axis][value] = label
    names = {axis: level_names(values) for axis, values in levels.items()}

    def shown(part: str, value: str) -> str | None:
        axis, _, label = part.partition("=")
        if DIGEST.fullmatch(label) is None:
            return part
        return f"{axis}={names[axis][value]}" if len(names[axis]) > 1 else None

    return {
        configuration: ",".join(filter(None, (shown(*one) for one in _parts(pair.second, configuration))))
        for configuration in asked(pair.second)
    }


def _parts(run: RunBenchmark, configuration: str) -> Iterator[tuple[str, str]]:
    """Each `axis=label` of a configuration's name with the value of the axis, where one is recorded."""
    values = {axis: value for (_, axis), value in run.settings.get(configuration, {}).items()}
    for part in configuration.split(","):
        axis = part.partition("=")[0]
        arguments = {
            name: value for path, value in values.items() if (name := path.removeprefix(f"{axis}.")) != path
        }
        value = values.get(axis, arguments or part)
        yield part, value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def levels_of(configuration: str) -> frozenset[str]:
    return frozenset(configuration.split(","))


def renamed(
    facts: Mapping[tuple[Aspect, str], object], names: Mapping[str, str]
) -> dict[tuple[Aspect, str], object]:
    """The facts of a run whose models have other names in the other run."""
    moved = {}
    for (aspect, path), value in facts.items():
        for old, new in names.items():
            path = path.replace(f"model[{old}]", f"model[{new}]")
            path = f"{new}: {path.removeprefix(f'{old}: ')}" if path.startswith(f"{old}: ") else path
        moved[aspect, path] = value
    return moved
