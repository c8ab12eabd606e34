"""A comparison in words: the same for the terminal, for Markdown, and for programs."""

from collections.abc import Iterator

from gridc.numbers import between, bracketed, counted, number, p_in_text, stated, stated_percent, with_sign
from gridc.schema.comparison import MAY_DIFFER, ChangeEstimate, ComparedBenchmark, RunComparison, StateCounts
from gridc.statistics.verdicts import POWER

METHOD = (
    "Items are paired by content, or by id where a log has no content; units are what is independent.",
    '"Worse by more than the margin" and "not worse by as much" are two tests (exact where units are '
    "single items of 0 or 1 points, else Gaffke's of a mean of units): neither follows from the other's "
    "failure.",
    "Worse: Holm over the gates of a family. Not worse: every gate by itself. A build is refused, or passed, "
    "falsely with a chance of at most {alpha:g}.",
    "An answer that is missing counts as wrong in the scores; it helps neither to pass nor to fail. What a "
    "run lacks and another one has is missing.",
    "Each limit of an interval is missed with a chance of at most {alpha:g}: the interval lies above minus "
    'the margin exactly where "not worse" is shown.',
)


def method_words(comparison: RunComparison) -> list[str]:
    """How it is decided."""
    return [sentence.format(alpha=comparison.alpha) for sentence in METHOD]


def headline(comparison: RunComparison) -> str:
    """`1 worse, 0 better, 1 undecided of 2 benchmarks`; nothing is decided of two instruments."""
    if comparison.verdict == "NOT COMPARABLE":
        return "nothing is decided"
    gates = [row for row in comparison.benchmarks if row.tier == "gate"]
    better = sum(row.improved for row in gates)
    watched = len(comparison.benchmarks) - len(gates)
    undecided = len(comparison.undecided) + len(comparison.absent)
    absent = f" ({len(comparison.absent)} absent from a run)" if comparison.absent else ""
    return (
        f"{len(comparison.regressed)} worse, {better} better, {undecided} undecided{absent} of "
        f"{counted(len(gates) + len(comparison.absent), 'benchmark')}"
        + (f", {watched} watched" if watched else "")
    )


NO_ITEMS = "a run has no items of it"


def next_step(comparison: RunComparison) -> str:
    """What to do next, by the verdict and by what stands in its way."""
    gates = [row for row in comparison.benchmarks if row.tier == "gate"]
    if comparison.verdict == "GO":
        missing = any(row.states_a.missing or row.states_b.missing for row in gates)
        more = ", even if every missing answer counts against it" if missing else ""
        return f"You may merge: for every gate a loss of its margin or more is ruled out{more}."
    if comparison.verdict == "NO-GO":
        return "Do not merge. Read the items that were lost: the first are below, the command shows all."
    if comparison.verdict == "INCONCLUSIVE":
        undecided = [row for row in gates if row.regression not in ("yes", "no")]
        if not (undecided or comparison.absent):
            return "Nothing was to be decided: no benchmark has a margin to hold."
        steps = {
            "run the benchmarks that are absent": bool(comparison.absent),
            "finish what is missing": any(row.states_a.missing or row.states_b.missing for row in undecided),
            "mend what the table names": any(row.why for row in undecided),
            "ask more items": any(row.complete and not row.why for row in undecided),
        }
        return (
            f"Not decided. Do not merge yet: {', and '.join(step for step, fits in steps.items() if fits)}."
        )
    barred = dict.fromkeys(row.aspect for row in comparison.instrument.differences if not row.allowed)
    if not barred:
        return "Nothing is decided. Ask both runs the same questions."
    stated = " ".join(f"--may-differ {aspect}" for aspect in barred)
    return (
        f"Nothing is decided. Ask both runs alike; or, where the difference is what you test, add `{stated}`."
    )


def missing_words(row: ComparedBenchmark) -> str:
    """How many answers are missing, and what the scores can be without them; empty where none is."""
    parts = []
    for side, counts, bounds in (
        ("a", row.states_a, None if row.score is None else row.score.a_bounds),
        ("b", row.states_b, None if row.score is None else row.score.b_bounds),
    ):
        if counts.missing:
            can_be = "" if bounds is None else f", so it scores {between(bounds, number, 1)} %"
            have = counted(counts.missing, "answer")
            parts.append(f"{side} lacks {have}{can_be}")
    return "; ".join(parts)


def is_decided(comparison: RunComparison, row: ComparedBenchmark) -> bool:
    """Whether something is shown of the change, so that it can be printed as a result."""
    return comparison.verdict != "NOT COMPARABLE" and (row.regression in ("yes", "no") or row.improved)


def has_bounds(comparison: RunComparison) -> bool:
    """Whether a score stands between what it can be, because answers are missing."""
    return any(not row.complete for row in comparison.benchmarks)


BOUNDS = (
    "A score with brackets counts missing answers as wrong. The brackets are what it would be if all of them "
    "were wrong, and if all were right."
)


def same_instrument(comparison: RunComparison) -> str:
    """`yes: ...` or `NO: ...`, in a line."""
    row = comparison.instrument
    barred = [one for one in row.differences if not one.allowed]
    if barred:
        shown = "; ".join(difference(one.path, one.a, one.b) for one in barred[:3])
        more = f"; {len(barred) - 3:,} more" if len(barred) > 3 else ""
        return f"NO: {shown}{more}"
    parts = list(row.equal)
    if row.prompts:
        parts.insert(0, f"{row.prompts_equal:,} of {row.prompts:,} prompts")
    text = f"yes: {', '.join(parts)} equal" if parts else "as far as is recorded"
    allowed: dict[str, list[str]] = {}
    for one in row.differences:
        allowed.setdefault(one.aspect, []).append(name_of(one.path))
    if allowed:
        text += f"; what differs and may: {', '.join(_aspect_words(*one) for one in allowed.items())}"
    return text


def _aspect_words(aspect: str, paths: list[str]) -> str:
    """An aspect, and of one that is waived what differs: `request (model_args.max_length)`."""
    named = list(dict.fromkeys(paths))
    more = f", {len(named) - 3:,} more" if len(named) > 3 else ""
    return aspect if aspect in MAY_DIFFER else f"{aspect} ({', '.join(named[:3])}{more})"


def name_of(path: str) -> str:
    """What differs, without where: `model_args.max_length` of `model_args.max_length (arc, shots=0)`."""
    return path.partition(" (")[0]


def difference(path: str, a: str | None, b: str | None) -> str:
    """`path: a -> b`, or which side alone has it."""
    if a is None and b is not None and path.startswith("prompts"):
        return f"{path}: {b}"
    if a is None:
        return f"{path} only in b: {b}"
    if b is None:
        return f"{path} only in a: {a}"
    return f"{path}: {a} -> {b}"


def items(row: ComparedBenchmark) -> str:
    """`60 of 60 items in both (0 only in a, 0 only in b, 0 ids that name another question)`."""
    other = len(row.other_question) + row.renumbered
    unnamed = f", {row.unnamed:,} that no run names" if row.unnamed else ""
    return (
        f"{row.matched:,} of {row.every:,} items in both ({row.only_a:,} only in a, {row.only_b:,} only in b"
        f"{unnamed}, {other:,} ids that name another question)"
    )


def states(counts: StateCounts) -> str:
    """`unreadable 9`, and what else is neither right nor wrong."""
    shown = [("unreadable", counts.unreadable), ("cut off", counts.cut), ("refused", counts.refused)]
    shown += [("failed", counts.failed), ("unscored", counts.unscored), ("absent", counts.absent)]
    return ", ".join(f"{name} {count:,}" for name, count in shown if count) or "all read"


def score(value: float, bounds: tuple[float, float] | None = None) -> str:
    """`66.7 %`, and where answers are missing between what it can be: `30.0 % [30.0, 66.7]`."""
    text = f"{number(value, 1)} %"
    if bounds is None or bounds[0] == bounds[1]:
        return text
    return f"{text} {bracketed(bounds, number, 1)}"


def change_words(estimate: ChangeEstimate) -> str:
    return with_sign(estimate.change)


def interval(estimate: ChangeEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "none"
    return between((estimate.low, estimate.high), with_sign)


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


def answer(row: ComparedBenchmark) -> str:
    """Whether it is worse by more than the margin, and why nothing is said."""
    if row.regression is None:
        return row.why or "no margin"
    if row.regression == "yes":
        return f"yes (shown, {p_in_text(row.p_worse_holm)}, Holm)"
    if row.regression == "no":
        return f"no (shown, {p_in_text(row.p_not_worse)})"
    needed = row.sight.units_needed if row.sight is not None and row.complete else None
    if row.why:
        return f"cannot tell: {row.why}"
    more = (
        f": too few. If nothing changed, about {units(row, needed)} in total would show it" if needed else ""
    )
    return f"cannot tell{more if needed and needed > row.units else ''}"


def decided_words(comparison: RunComparison, row: ComparedBenchmark) -> str:
    """The same with the margin; of two instruments that nothing is decided."""
    if comparison.verdict == "NOT COMPARABLE":
        return "not comparable"
    margin = "" if row.margin is None else f"{stated(row.margin)} pp: "
    return f"{margin}{answer(row)}"


def sight(row: ComparedBenchmark, changing: float) -> str | None:
    """What so many units can see, in a sentence."""
    if row.sight is None:
        return None
    parts = []
    count = units(row, row.units)
    if row.margin is not None:
        loss = row.sight.loss
        parts.append(
            f"no loss would be found to be over {stated(row.margin)} pp"
            if loss is None
            else f"a true loss of {number(loss, 1)} pp would be found to be over {stated(row.margin)} pp"
        )
    if row.sight.margin is not None:
        parts.append(f"no change would be shown to be within {number(row.sight.margin, 1)} pp")
    if not parts:
        return f"{count} can show nothing"
    often = (
        f"{stated_percent(POWER)} of the time, if {stated_percent(changing)} of answers change for no reason"
    )
    if not row.complete:
        often += " and none is missing"
    return f"with {count} {', and '.join(parts)}, {often}"


def notes(row: ComparedBenchmark) -> Iterator[str]:
    """What stands below a benchmark's line."""
    if row.regression == "cannot tell" and row.complete and not row.why and not row.lost and not row.won:
        yield f'no flip in {units(row, row.units)} is not "no change"'
    if row.readable is not None:
        one = row.readable
        yield (
            f"of the {one.items:,} items that were read in both: {score(one.a)} and {score(one.b)}, "
            f"{change_words(one)} ({interval(one)}); this decides nothing"
        )
    if row.configurations > 1:
        same = row.configurations - row.worse_in - row.better_in
        anchor = ""
        if row.anchor is not None:
            both = " and ".join(map(score, row.anchor))
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
            f"{len(row.baselines)} baselines score {score(low)} to {score(high)}: b lies "
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
