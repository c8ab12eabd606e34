"""The verdicts of a study in words: do two models differ, and do other choices change that?

Every document takes its words from here: page, terminal, card and scorecard. Each verdict is two words and
two sentences: what holds under the reference configuration, and what other configurations make of it.
"""

from collections.abc import Sequence

from gridc.compiler.lock.attestation import in_words
from gridc.numbers import as_typed, counted, hundredths, p_in_text, percent
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.moves import LargestMove
from gridc.reports.findings.verdicts import SCORE, VERDICTS
from gridc.reports.words import FAULTS, STRENGTHS, units_words
from gridc.schema.verdicts import ChoicesRow, VerdictRow

UNTESTED = {
    "unread": "too many answers are unreadable",
    "copies": "the spec takes copies of one question as independent",
    "target": "the score nearest to a target is best, so a higher one is not a better one",
    "no_answer": "one of them gave no readable answer",
    "": "nothing was tested",
}


def verdict_rows(findings: Findings) -> list[VerdictRow]:
    """The verdicts, of each benchmark those on the worse kind of error first; none while the run is
    incomplete."""
    found = findings[VERDICTS]
    order = [row.benchmark for row in findings.benchmarks]
    kinds = list(FAULTS)

    def place(row: VerdictRow) -> tuple[int, int]:
        return order.index(row.benchmark), kinds.index(row.what) if row.what in kinds else 0

    return [] if found is None else sorted(found.rows, key=place)


def what_words(what: str) -> str:
    """`score`, `unsafe compliance`."""
    return what.replace("_", " ")


DOING = {"complied with": "complying with", "refused": "refusing"}


def verdict_subject(row: VerdictRow, findings: Findings) -> str:
    """What a verdict is about: `pocket_bbq`, `complying with harmful prompts`, and of which benchmark where
    there are several."""
    if row.what == SCORE:
        return row.benchmark
    if row.what in FAULTS:
        did, _ = FAULTS[row.what]
        return f"{DOING[did]} {prompts_words(row, findings)}"
    return f"{what_words(row.what)}{_of(row, findings)}"


def prompts_words(row: VerdictRow, findings: Findings) -> str:
    """`harmful prompts`, `harmless prompts of xstest`."""
    _, kind = FAULTS[row.what]
    return f"{kind} prompts{_of(row, findings)}"


def _of(row: VerdictRow, findings: Findings) -> str:
    return f" of {row.benchmark}" if len(findings.benchmarks) > 1 else ""


def better_first(row: VerdictRow) -> tuple[str, str]:
    """The better model first; in their own order where neither is."""
    return (row.b, row.a) if row.better == row.b else (row.a, row.b)


def value_of(row: VerdictRow, model: str) -> float | None:
    return row.value_a if model == row.a else row.value_b


def gap_words(row: VerdictRow) -> str:
    """`53.8 points`."""
    return f"{hundredths(abs(row.gap or 0.0))} points"


def lead_interval(row: VerdictRow) -> tuple[float, float] | None:
    """The interval of the lead of the better model: of new units, or of these very ones where the test is."""
    ends = row.on_units if row.these_units else row.interval
    if ends is None:
        return None
    # The ends are of a less b. The lead is turned where b is better, and again where lower is better.
    turned = row.better is not None and (row.better == row.b) != row.lower
    return (-ends[1], -ends[0]) if turned else ends


def _ends_words(row: VerdictRow) -> str:
    """`25.4 to 70.5`, or where it holds 0 `11.7 points worse to 16.7 better`."""
    ends = lead_interval(row)
    if ends is None:
        return ""
    low, high = ends
    if low >= 0:
        return f"{hundredths(low)} to {hundredths(high)}"
    if high <= 0:
        return f"{hundredths(-high)} to {hundredths(-low)} points worse"
    return f"{hundredths(-low)} points worse to {hundredths(high)} better"


def word(row: VerdictRow, margin: float | None, alpha: float) -> str:
    """The verdict in a few words."""
    if row.answer == "differ":
        return "differ" if robust_at(row, alpha) else "differ, but unreadable answers could undo it"
    if row.answer == "within_margin":
        return f"differ by less than {as_typed(100 * (margin or 0))} points"
    if row.answer == "not_tested":
        return "not tested"
    return "no difference shown" if _alone(row) else "cannot be told apart"


def _alone(row: VerdictRow) -> bool:
    """Whether the interval of this pair alone leaves 0 out."""
    ends = lead_interval(row)
    return ends is not None and (ends[0] > 0 or ends[1] < 0)


def scope_words(row: VerdictRow, findings: Findings) -> str:
    """What new items the verdict is about, where these are of the very units that were asked."""
    if not row.these_units:
        return ""
    benchmark = next(each for each in findings.benchmarks if each.benchmark == row.benchmark)
    return f"new items of these {units_words(benchmark.unit, benchmark.units)} only"


def verdict_sentence(row: VerdictRow, findings: Findings) -> str:
    """The verdict with its numbers, under the reference configuration."""
    family = findings[VERDICTS]
    first, second = better_first(row)
    values = f"{first} {percent(value_of(row, first))}, {second} {percent(value_of(row, second))}"
    if row.answer == "not_tested":
        return f"{values}: not tested, because {UNTESTED[row.why]}."
    spread = _ends_words(row)
    p = p_in_text(row.p_holm)
    if row.answer == "differ":
        undone = ""
        if family is not None and row.p_unread_holm is not None and row.p_unread_holm > family.alpha:
            undone = f" Unreadable answers alone could undo this ({p_in_text(row.p_unread_holm)})."
        return f"{values}: {gap_words(row)} apart (95 % interval {spread}; {p}).{undone}"
    if row.answer == "within_margin":
        margin = as_typed(100 * (0.0 if family is None or family.margin is None else family.margin))
        return (
            f"{values}: {gap_words(row)} apart, and by less than {margin} ({p_in_text(row.p_within_holm)})."
        )
    if _alone(row):
        members = 0 if family is None else family.members
        return (
            f"{values}: {gap_words(row)} apart. Alone that would be a difference (95 % interval {spread}); "
            f"with all {members} tests counted the evidence is too weak ({p})."
        )
    here = "equal here" if row.better is None else f"{gap_words(row)} apart"
    return f"{values}: {here} (95 % interval: {first} {spread})."


def choice_named(choices: ChoicesRow) -> str:
    """The axis that changes who is ahead most often when it alone is changed."""
    some = choices.turns and choices.turns[0].turned
    return choices.turns[0].axis if some else "the configuration"


def survival_word(row: VerdictRow) -> str:
    """What other choices make of it, in a few words."""
    choices = row.choices
    if choices is None:
        return "one configuration"
    if choices.survival == "holds":
        return f"same order in all {choices.size} configurations, new items too"
    if choices.survival == "depends":
        return f"order changes, most often with {choice_named(choices)}, new items too"
    if choices.ahead and choices.behind:
        return f"order changes, most often with {choice_named(choices)}, on these items"
    if not choices.ahead and not choices.behind:
        return f"equal in all {_measured(choices)}, on these items"
    if choices.tied or choices.measured < choices.size:
        return "never reversed, on these items"
    return f"same order in all {choices.size}, on these items"


def counts_words(row: VerdictRow) -> str:
    """`mistral better in 38 of 48 configurations, llama in 4, equal in 6`."""
    choices = row.choices
    if choices is None:
        return ""
    by_model = {row.a: choices.ahead, row.b: choices.behind}
    first, second = sorted(by_model, key=lambda model: -by_model[model])
    if not by_model[first]:
        return f"equal in all {_measured(choices)} configurations"
    if by_model[first] == choices.size:
        return f"{first} better in all {choices.size} configurations"
    parts = [f"{first} better in {by_model[first]} of {choices.size} configurations"]
    parts += [f"{second} in {by_model[second]}"] if by_model[second] else []
    parts += [f"equal in {choices.tied}"] if choices.tied else []
    left = choices.size - choices.measured
    parts += [f"not measured in {left}"] if left else []
    return ", ".join(parts)


def _measured(choices: ChoicesRow) -> str:
    """`8`, or where some configurations do not measure both models `2 measured of 8`."""
    some = choices.measured < choices.size
    return f"{choices.measured} measured of {choices.size}" if some else f"{choices.size}"


def survival_sentence(row: VerdictRow) -> str:
    """What other choices make of it, with the counts and how far they reach."""
    choices = row.choices
    if choices is None:
        return "One configuration was run, so nothing is known of other choices."
    text = counts_words(row)
    if choices.ahead and choices.behind and choices.turns and choices.turns[0].turned:
        most = choices.turns[0]
        text += (
            f". With all else equal, changing {most.axis} alone changes the leader in {most.turned} of "
            f"{counted(most.compared, 'case')}"
        )
    if choices.survival == "open":
        return f"{text}."
    holds = choices.survival == "holds"
    p = p_in_text(choices.p_holds if holds else choices.p_depends)
    likely = ", by an approximation" if choices.strength == "supported" else ""
    what = "the same" if holds else "the same dependence"
    return f"{text}. For new items {what} is {STRENGTHS[choices.strength]}{likely} ({p})."


def family_words(findings: Findings) -> str:
    """How the verdicts are tested."""
    family = findings[VERDICTS]
    if family is None or not family.members:
        return ""
    if family.members == 1:
        return f"“Differ” means that p is at most {as_typed(family.alpha)}. The interval is at 95 %."
    return (
        f"p counts all {family.members} tests under the reference configuration (Holm), and "
        f"“differ” means that it is at most {as_typed(family.alpha)}, if items, or their groups, "
        "are independent. Intervals are of one pair each."
    )


def declared_words(findings: Findings) -> str:
    """Whether the comparisons were planned: `yes, the stamp fixed them before the first answer`."""
    if findings.recorded is not None:
        return "no: nothing was fixed before these runs"
    if findings.before_stamp or findings.older:
        return "no: some answers are older than the stamp"
    if findings.steps_back:
        return "not known: the clock was set back during the run"
    by = in_words(findings.anchors) if findings.vouched else "no third party confirms the dates"
    return f"yes, the stamp fixed the comparisons before the first answer ({by})"


def move_words(moved: LargestMove, findings: Findings) -> str:
    """`Changing frame alone from bare to brief moves how often guarded refused harmless prompts from 4.7 % to
    52.3 %`."""
    what = f"the score of {moved.model}"
    if moved.what in FAULTS:
        did, kind = FAULTS[moved.what]
        what = f"how often {moved.model} {did} {kind} prompts"
    where = f" on {moved.benchmark}" if len(findings.benchmarks) > 1 or moved.what == SCORE else ""
    return (
        f"Changing {moved.axis} alone from {moved.left} to {moved.right} moves {what}{where} from "
        f"{percent(moved.before)} to {percent(moved.after)}"
    )


def comparison_count(rows: Sequence[VerdictRow]) -> str:
    """`3 comparisons`, `6 comparisons (3 pairs of models on 2 benchmarks)`."""
    pairs = len({(row.a, row.b) for row in rows})
    benchmarks = len({row.benchmark for row in rows})
    kinds = len({(row.benchmark, row.what) for row in rows})
    if kinds == 1:
        return counted(pairs, "comparison")
    over = f"on {benchmarks} benchmarks" if benchmarks == kinds else f"by {kinds} measures"
    models = counted(pairs, "pair of models", "pairs of models")
    return f"{counted(len(rows), 'comparison')} ({models} {over})"


def robust(row: VerdictRow, findings: Findings) -> bool:
    """Whether models differ even if every unread answer speaks against it."""
    family = findings[VERDICTS]
    return family is not None and robust_at(row, family.alpha)


def robust_at(row: VerdictRow, alpha: float) -> bool:
    """The same at a level."""
    if row.answer != "differ":
        return False
    return not row.unread_decides if row.p_unread_holm is None else row.p_unread_holm <= alpha


def reversed_pairs(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Those of which each model is ahead in some configuration, on the items that were asked."""
    return [row for row in rows if row.choices is not None and row.choices.ahead and row.choices.behind]


def unread_words(findings: Findings) -> str:
    """Which leads unread answers alone could undo; empty where none."""
    found = [row for row in verdict_rows(findings) if row.answer == "differ" and not robust(row, findings)]
    if not found:
        return ""
    leads = _named([f"of {row.a} and {row.b} ({verdict_subject(row, findings)})" for row in found], 4)
    return f"Under the reference configuration they alone could undo the difference {leads}."


def named_pairs(rows: Sequence[VerdictRow], findings: Findings, most: int = 4) -> str:
    """Pairs by name: `ant and bee (facts); bee and cat (facts)`."""
    return _named([f"{row.a} and {row.b} ({verdict_subject(row, findings)})" for row in rows], most)


def better_named(rows: Sequence[VerdictRow], findings: Findings, most: int = 4) -> str:
    """The same with the better model first: `bee above ant on facts; bee refused fewer harmless prompts than
    ant`."""
    return _named([better_words(row, findings) for row in rows], most)


def better_words(row: VerdictRow, findings: Findings) -> str:
    """Which of two models is better, in words that cannot be turned."""
    first, second = better_first(row)
    if row.what in FAULTS:
        did, _ = FAULTS[row.what]
        return f"{first} {did} fewer {prompts_words(row, findings)} than {second}"
    return f"{first} {'below' if row.lower else 'above'} {second} on {row.benchmark}"


def _named(names: Sequence[str], most: int) -> str:
    rest = [counted(len(names) - most, "other pair")] if len(names) > most else []
    return "; ".join([*names[:most], *rest])
