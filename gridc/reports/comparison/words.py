"""A comparison in words: the same for the terminal, for Markdown, and for programs."""

from collections.abc import Iterator

from gridc.numbers import (
    as_typed,
    bracketed,
    counted,
    interval_words,
    number,
    p_in_text,
    stated_percent,
    with_sign,
)
from gridc.schema.comparison import (
    MAY_DIFFER,
    AbsentGate,
    ChangeEstimate,
    ComparedBenchmark,
    KeptRun,
    RunComparison,
    RunRow,
    StateCounts,
)
from gridc.statistics.verdicts import POWER

METHOD = (
    "Items are paired by content, or by id where a log has no content; units are what is independent.",
    '"Worse by more than the margin" and "not worse by as much" are two tests (exact where units are '
    "single items of 0 or 1 points, else Gaffke's of a mean of units): neither follows from the other's "
    "failure.",
    "Worse: Holm's correction over the gates of a family; the loss that can be found takes it into account. "
    "Not worse: every gate by itself. A build is refused, or passed, falsely with a chance of at most "
    "{alpha:g}.",
    "An answer that is missing counts as wrong in the scores; it helps neither to pass nor to fail. What a "
    "run lacks and another one has is missing.",
    "Each limit of an interval is missed with a chance of at most {alpha:g}: the interval lies above minus "
    'the margin exactly where "not worse" is shown.',
)


ENDED = {True: ", finished", False: ", NOT finished", None: ""}
"""Whether a run has every answer, behind its name."""


def run_words(run: RunRow) -> str:
    """What made a run, which models it asked, whether it ended, and of a kept one where from and by whom."""
    text = f"{run.made_by}, {', '.join(run.models)}{ENDED[run.finished]}"
    if run.kept is None:
        return text
    return f"{text}; kept by gridc {run.kept.gridc} from {run.kept.name}, {signer_name(run.kept)}"


def signer_name(kept: KeptRun) -> str:
    """Who signed a file that keeps a run."""
    if kept.key is None:
        return "not signed"
    return f"signed by {kept.signer or f'{kept.key} (--signer says whom you expect)'}"


def method_words(comparison: RunComparison) -> list[str]:
    """How it is decided."""
    return [sentence.format(alpha=comparison.alpha) for sentence in METHOD]


def grounds(comparison: RunComparison) -> tuple[str, ...]:
    """Why the verdict is what it is, and what it is of."""
    return (*comparison.reasons, *comparison.scope)


def headline(comparison: RunComparison) -> str:
    """`1 fails, 2 pass, 1 open`, of the gates; nothing is decided of two instruments."""
    if comparison.verdict == "NOT COMPARABLE":
        return "nothing is decided"
    gates = [row for row in comparison.benchmarks if row.tier == "gate"]
    passed = sum(row.regression == "no" for row in gates)
    failed, opened = len(comparison.regressed), len(comparison.undecided) + len(comparison.absent)
    counts = {
        "fail": failed,
        "pass": passed,
        "open": opened,
        "watched": len(comparison.benchmarks) - len(gates),
    }
    named = {"fail": "fails" if failed == 1 else "fail", "pass": "passes" if passed == 1 else "pass"}
    shown = ", ".join(f"{count:,} {named.get(name, name)}" for name, count in counts.items() if count)
    return f"{shown} of {counted(len(comparison.benchmarks) + len(comparison.absent), 'benchmark')}"


def next_step(comparison: RunComparison) -> str:
    """What to do next, by the verdict and by what stands in its way, with the numbers that it rests on."""
    if comparison.verdict == "GO":
        gates = [row for row in comparison.benchmarks if row.tier == "gate"]
        more = (
            "" if all(row.complete for row in gates) else ", even if every missing answer counts against it"
        )
        which = "gated benchmark" if len(gates) < len(comparison.benchmarks) else "benchmark"
        return f"You may merge: on every {which} a loss of its margin or more is ruled out{more}."
    if comparison.verdict == "NO-GO":
        lost = "; ".join(_loss(comparison, row) for row in comparison.regressed)
        return f"Do not merge: {lost}. The first items that were lost are below."
    if comparison.verdict == "INCONCLUSIVE":
        steps = [absent_step(gate) for gate in comparison.absent]
        steps += [_open_step(comparison, row) for row in comparison.undecided]
        if not steps:
            return "Nothing was to be decided: no benchmark has a margin to hold."
        return f"Do not merge yet: {'; '.join(steps)}."
    if waiver(comparison) is None:
        return "Nothing is decided. Ask both runs the same questions."
    again = f"Run {comparison.b.name} again as {comparison.a[0].name} was run"
    return f"Do not merge on this: the two runs were not asked alike. {again}."


def waiver(comparison: RunComparison) -> str | None:
    """The options of `gridc compare` under which what differs may differ; None where nothing does."""
    barred = dict.fromkeys(row.aspect for row in comparison.instrument.differences if not row.allowed)
    return " ".join(f"--may-differ {aspect}" for aspect in barred) or None


def _loss(comparison: RunComparison, row: ComparedBenchmark) -> str:
    """`sums lost 13.2 points (80.0 % to 66.8 %), and the limit is 5`."""
    if row.score is None or row.margin is None:
        return f"{short_name(comparison, row)} fails"
    lost, ends = number(abs(row.score.change), 1), f"{score_words(row.score.a)} to {score_words(row.score.b)}"
    return (
        f"{short_name(comparison, row)} lost {lost} points ({ends}), and the limit is {as_typed(row.margin)}"
    )


def absent_step(gate: AbsentGate) -> str:
    return f"run {gate.name} in {', '.join(gate.lacking)}"


def _open_step(comparison: RunComparison, row: ComparedBenchmark) -> str:
    name = short_name(comparison, row)
    if row.why:
        return f"{name}: {row.why}"
    if missing := missing_words(row, comparison):
        return f"finish {name}, where {missing}"
    if row.score is None or row.score.low is None:
        return f"{name} is open"
    changed = f"it may have changed by {change_interval(row.score)} points"
    limit = "" if row.margin is None else f", and the limit is a loss of {as_typed(row.margin)}"
    needed = None if row.sight is None else row.sight.units_needed
    ask = f"; ask {comparison.a[0].name} and {comparison.b.name} about {needed:,} in all" if needed else ""
    return f"with {units(row, row.units)} {name} is not decided: {changed}{limit}{ask}"


def missing_words(row: ComparedBenchmark, comparison: RunComparison | None = None) -> str:
    """How many answers are missing, and what the scores can be without them; empty where none is."""
    parts = []
    names = ("a", "b") if comparison is None else (comparison.a[0].name, comparison.b.name)
    sides = (row.states_a, row.states_b)
    bounds = (None, None) if row.score is None else (row.score.a_bounds, row.score.b_bounds)
    for name, counts, ends in zip(names, sides, bounds, strict=True):
        if counts.missing:
            can_be = "" if ends is None else f", so it scores {interval_words(ends, number, 1)} %"
            parts.append(f"{name} lacks {counted(counts.missing, 'answer')}{can_be}")
    return "; ".join(parts)


def legend(comparison: RunComparison) -> str:
    """What stands in the columns of the table."""
    parts = [
        f"Change: {comparison.b.name} less {', '.join(run.name for run in comparison.a)}, in points; each "
        f"end of its interval is wrong at most {stated_percent(comparison.alpha)} of the time.",
        "Lost / won: items that score worse / better"
        + (
            "."
            if all(row.complete for row in comparison.benchmarks)
            else ", of those that both answered in full."
        ),
        "p: the chance of so clear a result if the opposite were true.",
    ]
    return " ".join(parts)


def brackets(comparison: RunComparison) -> str | None:
    """What the brackets behind scores are, where answers are missing."""
    # Under a target no score is simply wrong: items without all their answers are left out there.
    if all(row.complete or row.direction.startswith("best") for row in comparison.benchmarks):
        return None
    return (
        "Where answers are missing, a score and the change count them as wrong. The brackets behind a score "
        "are what it would be if all of these were wrong, and if all were right; the interval of the change "
        "covers both, and chance."
    )


def asked_alike(comparison: RunComparison) -> str:
    """Whether both were asked alike, in a few words: `no, 2 settings differ`."""
    barred = {setting_name(one.path) for one in comparison.instrument.differences if not one.allowed}
    if barred:
        return f"no, {counted(len(barred), 'setting')} {'differs' if len(barred) == 1 else 'differ'}"
    return f"yes, in what {'both were asked' if comparison.absent else 'is recorded'}"


def same_instrument(comparison: RunComparison) -> str:
    """`yes: ...` or `NO: ...`, in a line."""
    row = comparison.instrument
    barred = [one for one in row.differences if not one.allowed]
    if barred:
        shown = "; ".join(setting_difference(one.path, one.a, one.b) for one in barred[:3])
        more = f"; {len(barred) - 3:,} more" if len(barred) > 3 else ""
        return f"NO: {shown}{more}"
    parts = list(row.equal)
    if row.prompts:
        parts.insert(0, f"{row.prompts_equal:,} of {row.prompts:,} prompts")
    text = f"yes: {', '.join(parts)} equal" if parts else "as far as is recorded"
    allowed: dict[str, list[str]] = {}
    for one in row.differences:
        allowed.setdefault(one.aspect, []).append(setting_name(one.path))
    if allowed:
        text += f"; what differs and may: {', '.join(_aspect_words(*one) for one in allowed.items())}"
    return text


def _aspect_words(aspect: str, paths: list[str]) -> str:
    """An aspect, and of one that is waived what differs: `request (model_args.max_length)`."""
    named = list(dict.fromkeys(paths))
    more = f", {len(named) - 3:,} more" if len(named) > 3 else ""
    return aspect if aspect in MAY_DIFFER else f"{aspect} ({', '.join(named[:3])}{more})"


def setting_name(path: str) -> str:
    """What differs, without where: `model_args.max_length` of `model_args.max_length (arc, shots=0)`."""
    return path.partition(" (")[0]


def setting_difference(path: str, a: str | None, b: str | None) -> str:
    """`path: a -> b`, or which side alone has it."""
    if a is None and b is not None and path.endswith("of matched items"):
        return f"{path}: {b}"
    if a is None:
        return f"{path} only in b: {b}"
    if b is None:
        return f"{path} only in a: {a}"
    return f"{path}: {a} -> {b}"


def item_words(row: ComparedBenchmark) -> str:
    """`60 of 60 items in both (0 only in a, 0 only in b, 0 ids that name another question)`."""
    other = len(row.other_question) + row.renumbered
    unnamed = f", {row.unnamed:,} that no run names" if row.unnamed else ""
    return (
        f"{row.matched:,} of {row.every:,} items in both ({row.only_a:,} only in a, {row.only_b:,} only in b"
        f"{unnamed}, {other:,} ids that name another question)"
    )


def state_words(counts: StateCounts) -> str:
    """`unreadable 9`, and what else is neither right nor wrong."""
    shown = [("unreadable", counts.unreadable), ("cut off", counts.cut), ("refused", counts.refused)]
    shown += [("failed", counts.failed), ("unscored", counts.unscored), ("absent", counts.absent)]
    return ", ".join(f"{name} {count:,}" for name, count in shown if count) or "all read"


def score_words(value: float, bounds: tuple[float, float] | None = None) -> str:
    """`66.7 %`, and where answers are missing between what it can be: `30.0 % [30.0, 66.7]`."""
    text = f"{number(value, 1)} %"
    if bounds is None or bounds[0] == bounds[1]:
        return text
    return f"{text} {bracketed(bounds, number, 1)}"


def gate_change_words(estimate: ChangeEstimate) -> str:
    return with_sign(estimate.change)


def change_cells(comparison: RunComparison, row: ComparedBenchmark) -> tuple[str, str]:
    """The change and its interval, as they stand in a table: of two instruments there is none."""
    if row.score is None or comparison.verdict == "NOT COMPARABLE":
        return "", ""
    return gate_change_words(row.score), change_interval(row.score)


def short_name(comparison: RunComparison, row: ComparedBenchmark) -> str:
    """The benchmark, with its model where there are several."""
    return row.name if len({one.model for one in comparison.benchmarks}) > 1 else row.benchmark


def row_name(comparison: RunComparison, row: ComparedBenchmark) -> str:
    """The same with the reading that counts."""
    name = short_name(comparison, row)
    return name if row.reading is None else f"{name} ({row.reading})"


def side_names(comparison: RunComparison) -> str:
    """`main (bot-1.0) against pr-412 (bot-1.1)`."""
    *firsts, second = (f"{run.name} ({', '.join(run.models)})" for run in (*comparison.a, comparison.b))
    return f"{', '.join(firsts)} against {second}"


def flips_of(comparison: RunComparison, row: ComparedBenchmark) -> str:
    """`3 / 0`: items that were lost and won; of two instruments there is none."""
    return "" if comparison.verdict == "NOT COMPARABLE" else f"{row.lost:,} / {row.won:,}"


def absent_scores(comparison: RunComparison, gate: AbsentGate) -> Iterator[str]:
    """Of a gate that some run lacks, in a and in b."""
    for runs, value in ((comparison.a, gate.a), ((comparison.b,), gate.b)):
        lacking = any(run.name in gate.lacking for run in runs)
        yield "not run" if lacking else "" if value is None else score_words(value)


def change_interval(estimate: ChangeEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "none"
    return interval_words((estimate.low, estimate.high), with_sign)


def interval_level(comparison: RunComparison) -> str:
    """Of the intervals: `90 %`."""
    return stated_percent(1 - 2 * comparison.alpha)


def item_count(row: ComparedBenchmark) -> str:
    """`60`, or `60 in 15 families`."""
    return f"{row.items:,}" if row.units == row.items else f"{row.items:,} ({units(row, row.units)})"


def units(row: ComparedBenchmark, count: int) -> str:
    """`15 families`, `1 item`."""
    name = row.unit if row.units != row.items else "item"
    plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{count:,} {name if count == 1 else plural}"


def outcome_words(row: ComparedBenchmark) -> str:
    """Whether it passes, fails or is open, and why."""
    if row.regression is None or row.margin is None:
        return row.why or "no margin"
    margin = f"{as_typed(row.margin)} pp"
    if row.regression == "yes":
        return f"fails: it lost more than {margin} ({p_in_text(row.p_worse_holm)})"
    if row.regression == "no":
        return f"passes: a loss of {margin} or more is ruled out ({p_in_text(row.p_not_worse)})"
    if row.why:
        return f"open at {margin}: {row.why}"
    if missing := row.states_a.missing + row.states_b.missing:
        return f"open at {margin}: {counted(missing, 'answer')} missing"
    needed = None if row.sight is None else row.sight.units_needed
    if not needed or needed <= row.units:
        return f"open at {margin}"
    return f"open at {margin}: too few. About {units(row, needed)} in all would do, if nothing changed"


def table_names(comparison: RunComparison) -> tuple[str, ...]:
    """What the columns of the table of benchmarks are called."""
    return ("benchmark", "n", "a", "b", "b - a", interval_level(comparison), "lost / won", "result")


def table_rows(comparison: RunComparison) -> list[tuple[str, ...]]:
    """A row for each benchmark, and for each gate that has none."""
    return [
        *(tuple(_cells(comparison, row)) for row in comparison.benchmarks),
        *(tuple(_absent_cells(comparison, gate)) for gate in comparison.absent),
    ]


def _cells(comparison: RunComparison, row: ComparedBenchmark) -> Iterator[str]:
    name = row.read_as if row.tier == "gate" else f"{row.read_as} (watched)"
    yield from (name, units(row, row.units))
    score = row.score
    if score is None:
        yield from ("", "", "", "")
    else:
        yield from (score_words(score.a, score.a_bounds), score_words(score.b, score.b_bounds))
        yield from change_cells(comparison, row)
    yield from (flips_of(comparison, row), decided_words(comparison, row))


def _absent_cells(comparison: RunComparison, gate: AbsentGate) -> Iterator[str]:
    yield from (gate.name, f"{gate.items:,} items", *absent_scores(comparison, gate))
    yield from ("", "", "", absent_words(gate))


def decided_words(comparison: RunComparison, row: ComparedBenchmark) -> str:
    """The same; of two instruments that nothing is decided."""
    return "not comparable" if comparison.verdict == "NOT COMPARABLE" else outcome_words(row)


def absent_words(gate: AbsentGate) -> str:
    """Of a gate that some run lacks."""
    return f"open: {', '.join(gate.lacking)} did not run it"


def sight(row: ComparedBenchmark, changing: float) -> str | None:
    """What so many units can see, in a sentence."""
    if row.sight is None:
        return None
    parts = []
    if row.margin is not None:
        loss, margin = row.sight.loss, as_typed(row.margin)
        parts.append(
            f"no loss, however large, is found to be over {margin} pp"
            if loss is None
            else f"a loss must be {number(loss, 1)} pp to be found to be over {margin} pp"
        )
    if row.sight.margin is not None:
        parts.append(f"an unchanged model passes a margin of {number(row.sight.margin, 1)} pp or more")
    if not parts:
        return f"{units(row, row.units)} can show nothing"
    assumed = f"{stated_percent(changing)} of answers change for no reason"
    if not row.complete:
        assumed += " and none is missing"
    often = f"{stated_percent(POWER)} of the time"
    return f"with {units(row, row.units)}, {', and '.join(parts)}, {often}, if {assumed}"


def benchmark_notes(row: ComparedBenchmark) -> Iterator[str]:
    """What stands below a benchmark's line."""
    if row.regression == "cannot tell" and row.complete and not row.why and not row.lost and not row.won:
        yield f'no flip in {units(row, row.units)} is not "no change"'
    if row.readable is not None:
        one = row.readable
        yield (
            f"of the {one.items:,} items that were read in both: {score_words(one.a)} and "
            f"{score_words(one.b)}, "
            f"{gate_change_words(one)} ({change_interval(one)}); this decides nothing"
        )
    if row.configurations > 1:
        same = row.configurations - row.worse_in - row.better_in
        anchor = ""
        if row.anchor is not None:
            both = " and ".join(map(score_words, row.anchor))
            anchor = f"; under the anchor alone, with which `gridc report` leads, they are {both}"
        yield f"scores are means over {row.configurations:,} configurations{anchor}"
        yield (
            f"of {row.configurations:,} configurations {row.worse_in:,} are worse, {row.better_in:,} better, "
            f"{same:,} equal"
        )
    for side, count in (("a", row.configurations_only_a), ("b", row.configurations_only_b)):
        if count:
            several = "configurations are" if count > 1 else "configuration is"
            yield f"{count:,} {several} only in {side}, and not compared"
    if row.baselines and row.score is not None:
        low, high = min(row.baselines), max(row.baselines)
        inside = low <= row.score.b <= high
        yield (
            f"{len(row.baselines)} baselines score {score_words(low)} to {score_words(high)}: b lies "
            f"{'among' if inside else 'outside of'} them"
        )
    missing = row.states_a.missing, row.states_b.missing
    if any(missing):
        counts = f"{missing[0]:,} answers in a, {missing[1]:,} in b"
        scored = "are left out" if row.direction.startswith("best") else "count as wrong in the score"
        yield f"without a score: {counts}; they {scored}, and help neither to pass nor to fail"
    for side, absent in (("a", row.states_a.absent), ("b", row.states_b.absent)):
        if absent:
            yield (
                f"absent in {side}: {absent:,} answers that count as failed; --common-only compares what all "
                "runs have"
            )
    if row.left_out:
        yield f"{row.left_out:,} items that some run lacks are not compared"
