"""Compares runs under a policy, and writes the result as Markdown, as JUnit and as findings for SARIF."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gridc import __version__
from gridc.compiler.frontend.source import Source
from gridc.diagnostics.errors import DECEIVING, Diagnostic
from gridc.numbers import counted
from gridc.reports.comparison import decision, words
from gridc.reports.comparison.decision import EXIT_CODES, Gate, TestedGate
from gridc.reports.comparison.instrument import PairedBenchmark, instrument, paired_benchmarks, shown_names
from gridc.reports.comparison.pairing import RunPairing, pair_runs
from gridc.reports.comparison.run import READING, ComparedRun, RunBenchmark
from gridc.reports.rendering import render_template
from gridc.reports.shown_text import lines
from gridc.reports.words import joined_names
from gridc.schema.comparison import (
    FORMAT,
    AbsentGate,
    ComparedBenchmark,
    FlippedItem,
    InstrumentRow,
    Policy,
    ReleaseSight,
    ReleaseVerdict,
    RunComparison,
    RunRow,
)
from gridc.statistics.reproducibility import decimals

SHOWN = 12
"""Flips of a benchmark whose texts are kept, of each direction."""
COMPARED = 100
"""Answers of two runs whose texts are compared where all scores are equal."""
LONG = 2_000
"""Characters of a text that is kept."""


def compare_runs(
    firsts: Sequence[ComparedRun],
    second: ComparedRun,
    policy: Policy,
    policy_file: str | None = None,
    exit_codes: str = "gridc",
    texts: bool = True,
) -> RunComparison:
    """The candidate `second` against one baseline or several, whose seeds count as replicates."""
    pairing = pair_runs([run.asked for run in firsts], second.asked)
    pairs = paired_benchmarks(pairing, firsts, second, policy)
    measured = instrument(firsts, second, pairs, policy.may_differ)
    gates = decision.gates(policy, _benchmarks([*firsts, second]))
    weighed, parts = [], []
    for pair in pairs:
        part = _GatedBenchmark(pair, gates[pair.benchmark], policy)
        parts.append(part)
        weighed.append(part.weighed)
    adjusted = decision.holm_p_values(weighed)
    levels = decision.alphas(policy, [row.gate.family for row in weighed if row.gate.decides])
    sizes = {
        family: sum(row.gate.decides and row.gate.family == family for row in weighed) for family in levels
    }
    rows = []
    for part, row, p in zip(parts, weighed, adjusted, strict=True):
        level = levels.get(row.gate.family, policy.alpha) if row.gate.decides else policy.alpha
        each = level / max(sizes.get(row.gate.family, 1), 1) if row.gate.decides else level
        rows.append(part.row(p, level, each, firsts, second, texts))
    absent = list(_absent_benchmarks(firsts, second, pairs, gates, policy.common_only))
    reasons = _incomparable(measured, rows, list(_bare([*firsts, second])))
    gated = [row.regression for row in rows if row.tier == "gate"] + ["cannot tell" for _ in absent]
    verdict = decision.release_verdict(not reasons, gated)
    itself = list(_same_as_baseline(firsts, second, pairs))
    return RunComparison(
        format=FORMAT,
        gridc=__version__,
        verdict=verdict,
        exit_code=EXIT_CODES[exit_codes][verdict],
        reasons=tuple(reasons or _reasons(rows, absent)),
        scope=(*([] if reasons else [*_left_out(rows, policy.common_only), *_in_units(rows)]), *itself),
        a=tuple(map(_run, firsts)),
        b=_run(second),
        instrument=measured,
        warnings=tuple(_warnings(pairing, firsts, second, pairs)),
        alpha=policy.alpha,
        changing=policy.changing,
        common_only=policy.common_only,
        policy=policy_file,
        benchmarks=tuple(rows),
        absent=tuple(absent),
    ).as_written()


class _GatedBenchmark:
    """One benchmark between pairing and verdict."""

    def __init__(self, pair: PairedBenchmark, gate: Gate, policy: Policy) -> None:
        self._pair, self._policy = pair, policy
        self._names = shown_names(pair)
        self._sign = pair.second.direction.sign
        self._scores = decision.item_scores(pair) if pair.configurations and pair.matched else None
        self._units = None if self._scores is None else decision.paired_units(self._scores, self._sign or 1)
        testable = self._units is not None and gate.margin is not None and self._sign != 0
        p_worse, p_not_worse = (
            decision.margin_tests(self._units, gate.margin)
            if testable and self._units is not None and gate.margin is not None
            else (None, None)
        )
        self._states = decision.answer_states(pair)
        self.weighed = TestedGate(p_worse, p_not_worse, gate, self._unshown)

    def row(
        self,
        adjusted: float | None,
        level: float,
        each: float,
        firsts: Sequence[ComparedRun],
        second: ComparedRun,
        texts: bool,
    ) -> ComparedBenchmark:
        pair, scores, gate = self._pair, self._scores, self.weighed.gate
        alpha = self._policy.alpha
        states_a, states_b = self._states
        regressed = decision.regression(adjusted, self.weighed, level, alpha)
        worse, better = decision.by_configuration(pair, self._sign)
        lost, won = ([], []) if scores is None else decision.flipped_items(scores, self._sign)
        score = None if scores is None else decision.score_change(scores, self._sign, alpha)
        tested = self.weighed.p_worse is not None
        return ComparedBenchmark(
            model=pair.model_b,
            benchmark=pair.benchmark,
            reading=_reading(pair),
            tier="gate" if gate.decides else "watch",
            family=gate.family or None,
            unit=pair.unit,
            units=0 if self._units is None else len(self._units.items),
            items=pair.count if scores is None else len(scores.units),
            matched=pair.matched,
            only_a=pair.only_first,
            only_b=pair.only_second,
            unnamed=pair.unnamed,
            left_out=pair.left_out,
            other_question=pair.items.other_question,
            renumbered=pair.items.renumbered,
            configurations=len(pair.configurations),
            configurations_only_a=self._only_a,
            configurations_only_b=len(pair.second.answers) - len(pair.configurations),
            worse_in=worse,
            better_in=better,
            states_a=states_a,
            states_b=states_b,
            direction=_direction(pair),
            score=score,
            anchor=decision.anchor_scores(pair, self._sign),
            improved=decision.improved(score, self._sign),
            baselines=decision.baseline_scores(pair, self._sign),
            lost=len(lost),
            won=len(won),
            readable=None if scores is None else decision.readable(pair, self._sign, alpha),
            p_mcnemar=None if scores is None else decision.mcnemar_p(scores),
            margin=gate.margin,
            p_worse=self.weighed.p_worse,
            p_worse_holm=adjusted,
            p_not_worse=self.weighed.p_not_worse,
            alpha=level if tested else None,
            regression=regressed,
            why=self._why(gate) or self.weighed.unshown,
            sight=self._sight(each, regressed),
            flips=tuple(self._flips(lost, won, firsts, second)) if texts else (),
        )

    def _why(self, gate: Gate) -> str | None:
        if not self._pair.configurations:
            return "the runs have no configuration in common"
        if not self._pair.matched:
            return "the runs have no item in common"
        if self._sign == 0:
            return "its score is best at a target, so that no change is simply worse"
        return "no margin is stated" if gate.margin is None else None

    @property
    def _only_a(self) -> int:
        """How many configurations of a baseline the candidate lacks."""
        return max(len(first.answers) for first in self._pair.firsts) - len(self._pair.configurations)

    @property
    def _unshown(self) -> str | None:
        why = decision.why_not_passing(self._policy.unreadable, *self._states)
        if why is not None:
            return why
        if self._only_a and not self._pair.second.planned and not self._policy.common_only:
            return f"b lacks {self._only_a:,} of a's configurations"
        return None

    def _sight(self, each: float, regressed: str | None) -> ReleaseSight | None:
        if self._units is None or self._sign == 0:
            return None
        margin, policy = self.weighed.gate.margin, self._policy
        undecided = regressed == "cannot tell"
        return decision.what_is_detectable(
            self._units, margin, policy.alpha, each, policy.changing, undecided
        )

    def _flips(
        self, lost: list[int], won: list[int], firsts: Sequence[ComparedRun], second: ComparedRun
    ) -> Iterable[FlippedItem]:
        scored = np.flatnonzero(self._pair.asked.any(axis=0)).tolist()
        for moved, places in (("lost", lost[:SHOWN]), ("won", won[:SHOWN])):
            for place in places:
                yield self._flip("lost" if moved == "lost" else "won", scored[place], firsts[0], second)

    def _flip(self, moved: str, place: int, first: ComparedRun, second: ComparedRun) -> FlippedItem:
        pair = self._pair
        sign = (self._sign or 1) * (-1 if moved == "lost" else 1)
        scores = [
            [decimals(float(runs[number].ends()[0][place])) for number in (0, -1)] for runs in pair.cells
        ]
        # That which shows the change most; the first of several.
        best = max(
            range(len(scores)), key=lambda number: decimals(sign * (scores[number][1] - scores[number][0]))
        )
        names, (score_a, score_b) = pair.configurations[best], scores[best]
        a = first.texts(pair.model, pair.benchmark, names[0], pair.ids[0][place])
        b = second.texts(pair.model_b, pair.benchmark, names[-1], pair.ids[-1][place])
        return FlippedItem(
            item=pair.ids[-1][place],
            configuration=self._names[names[-1]],
            moved="lost" if moved == "lost" else "won",
            a=score_a,
            b=score_b,
            prompt=_cut(b.prompt),
            answer_a=_cut(a.answer),
            answer_b=_cut(b.answer),
        )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONG else f"{text[:LONG]}…"


def _reading(pair: PairedBenchmark) -> str | None:
    """The reading that counts, of a and of b where they differ; None where neither log names one."""
    sides = [
        ", ".join(dict.fromkeys(str(one[READING]) for one in run.settings.values() if READING in one))
        for run in (pair.firsts[0], pair.second)
    ]
    return " | ".join(dict.fromkeys(filter(None, sides))) or None


def _direction(pair: PairedBenchmark) -> str:
    direction = pair.second.direction
    return direction.stated if direction.target is None else f"best at {float(direction.target):g}"


def _run(run: ComparedRun) -> RunRow:
    return RunRow(name=run.name, made_by=run.made_by, models=run.models, finished=run.finished, kept=run.kept)


def _benchmarks(runs: Iterable[ComparedRun]) -> list[str]:
    return list(dict.fromkeys(benchmark for run in runs for _, benchmark in (*run.benchmarks, *run.bare)))


def _absent_benchmarks(
    firsts: Sequence[ComparedRun],
    second: ComparedRun,
    pairs: Sequence[PairedBenchmark],
    gates: dict[str, Gate],
    common_only: bool,
) -> Iterator[AbsentGate]:
    """What some run asked under a gate and another one did not: a benchmark, or a benchmark of one model. A
    model that some run lacks is left out where common items alone are compared."""
    runs = (*firsts, second)
    alone = all(len(run.models) == 1 for run in runs)
    places = dict.fromkeys(
        (second.models[0] if alone else model, benchmark)
        for run in runs
        for model, benchmark in (*run.benchmarks, *run.bare)
    )
    compared = {(pair.model_b, pair.benchmark) for pair in pairs}
    both = {benchmark for _, benchmark in compared}
    told = set()
    for model, benchmark in places:
        of_model = benchmark in both
        name = f"{model}/{benchmark}" if of_model else benchmark
        passed_over = (model, benchmark) in compared or (of_model and common_only) or name in told
        if passed_over or not gates[benchmark].decides:
            continue
        told.add(name)
        lacking = [
            run.name
            for run in runs
            if (benchmark not in _items_of(run) or (of_model and (model, benchmark) not in run.benchmarks))
        ]
        there = [_of_run(run, model, benchmark, alone) for run in runs]
        # One score stands for one model.
        single = of_model or len({one for one, other in places if other == benchmark}) == 1
        yield AbsentGate(
            name=name,
            lacking=tuple(lacking or [second.name]),
            items=max((len(one.items) for one in there if one is not None), default=0),
            a=_score(there[0]) if single and len(firsts) == 1 else None,
            b=_score(there[-1]) if single else None,
        )


def _of_run(run: ComparedRun, model: str, benchmark: str, alone: bool) -> RunBenchmark | None:
    """A model's benchmark in a run; of runs of one model each, whatever it is called there."""
    return run.benchmarks.get((run.models[0] if alone else model, benchmark))


def _score(run: RunBenchmark | None) -> float | None:
    return None if run is None else decision.run_score(run)


def _items_of(run: ComparedRun) -> set[str]:
    """The benchmarks of which a run has items."""
    return {benchmark for _, benchmark in run.benchmarks}


def _bare(runs: Sequence[ComparedRun]) -> Iterable[str]:
    """What runs have scores of, and no items to compare."""
    for run in runs:
        if run.bare:
            yield f"{run.name} has a score and no items of {', '.join(map('/'.join, run.bare))}"


def _incomparable(
    measured: InstrumentRow, rows: Sequence[ComparedBenchmark], bare: Sequence[str]
) -> list[str]:
    reasons: list[str] = []
    if not rows:
        reasons += bare or ["the runs have no benchmark of one model in common"]
    if not measured.same:
        barred = dict.fromkeys(
            f"{row.aspect}: {words.setting_name(row.path)}" for row in measured.differences if not row.allowed
        )
        more = f", and {len(barred) - SHOWN:,} more" if len(barred) > SHOWN else ""
        named = ", ".join([*barred][:SHOWN])
        reasons.append(f"the runs were not asked alike: they differ in {named}{more}")
    for row in rows:
        if row.other_question:
            named = ", ".join(row.other_question[:3])
            reasons.append(f"{row.name}: {len(row.other_question):,} ids name another question ({named})")
        if not row.configurations or not row.matched:
            reasons.append(f"{row.name}: {row.why}")
    return reasons


def _reasons(rows: Sequence[ComparedBenchmark], absent: Sequence[AbsentGate]) -> list[str]:
    reasons = [
        f"{row.name} is worse by more than {row.margin:g} pp"
        for row in rows
        if row.tier == "gate" and row.regression == "yes"
    ]
    undecided = [
        f"{row.name} ({why})" if (why := row.why or words.missing_words(row)) else row.name
        for row in rows
        if row.tier == "gate" and row.regression == "cannot tell"
    ]
    if undecided:
        reasons.append(f"undecided: {', '.join(undecided)}")
    if absent:
        reasons += [
            f"{joined_names(gate.lacking)} {'has' if len(gate.lacking) == 1 else 'have'} no items of "
            f"{gate.name}"
            for gate in absent
        ]
    if not any(row.tier == "gate" for row in rows) and not absent:
        reasons.append("no benchmark has a margin to hold: --margin 5pp or --policy FILE states one")
    if not reasons:
        reasons.append("no benchmark is worse by its margin")
    return reasons


def _left_out(rows: Sequence[ComparedBenchmark], common_only: bool) -> Iterable[str]:
    """What the verdict does not cover."""
    why = "the author asked for common items alone" if common_only else "a plan did not have the others"
    for row in rows:
        if row.left_out and row.tier == "gate":
            yield f"{row.name}: {row.items:,} of {row.every:,} items are compared, because {why}"
        if row.configurations_only_a and row.regression == "no" and row.tier == "gate":
            every = row.configurations + row.configurations_only_a
            yield f"{row.name}: {row.configurations:,} of {every:,} configurations are compared: {why}"


def _in_units(rows: Sequence[ComparedBenchmark]) -> Iterable[str]:
    """How the verdict counts units where items are not independent."""
    for row in rows:
        if row.tier == "gate" and 0 < row.units < row.items:
            yield f"{row.name}: {counted(row.items, 'item')} in {words.units(row, row.units)}"


def _warnings(
    pairing: RunPairing,
    firsts: Sequence[ComparedRun],
    second: ComparedRun,
    pairs: Sequence[PairedBenchmark],
) -> Iterable[str]:
    yield from _bare([*firsts, second])
    for number, run in enumerate(firsts):  # its models and its only configuration are named elsewhere
        yield from (f"{run.name}: {words}" for words in pairing.equal_settings(number))
    for run in (*firsts, second):
        yield from (f"{run.name}: {warning}" for warning in run.warnings)
        if run.finished is False:
            yield f"{run.name} is not finished: what is missing helps neither to pass nor to fail"
    for number, run in ((len(firsts), second), *enumerate(firsts)):
        alone = [one for one in pairing.unpaired if one.run == number and one.configuration is None]
        if alone and (run is second or len(firsts) == 1):
            yield f"only in {run.name}: {', '.join('/'.join(one.place) for one in alone)}"
    for pair in pairs:
        if pair.matching is not None:
            yield f"{pair.benchmark}: {pair.matching}"
        runs = (*pair.firsts, pair.second)
        if any(run.unlisted is not None for run in runs) and not any(run.total for run in runs):
            yield (
                f"{pair.benchmark}: no list says how many items there are: those that a run names count "
                "(--total N says how many there are)"
            )
        if pair.items.renumbered:
            ids = f"{pair.items.renumbered:,} ids name another common question"
            yield f"{pair.benchmark}: {ids}: content decides"
    if len(firsts) > 1:
        yield from _copied_baselines(firsts, pairs)


def _same_as_baseline(
    firsts: Sequence[ComparedRun], second: ComparedRun, pairs: Sequence[PairedBenchmark]
) -> Iterable[str]:
    """A baseline that is the candidate: the same files, or the same answers one by one."""
    places = [
        (pair, names, place)
        for pair in pairs
        for names in pair.configurations
        for place in range(min(pair.count, COMPARED))
    ]
    for number, first in enumerate(firsts):
        if not places or not all(runs[number].equals(runs[-1]) for pair in pairs for runs in pair.cells):
            continue
        texts = [
            (
                first.texts(pair.model, pair.benchmark, names[number], pair.ids[number][place]).answer,
                second.texts(pair.model_b, pair.benchmark, names[-1], pair.ids[-1][place]).answer,
            )
            for pair, names, place in places[:COMPARED]
        ]
        if first.name == second.name:
            yield f"a and b are one run, {first.name}: it cannot be worse than itself"
        elif all(a is b is None for a, b in texts):
            scores = f"{second.name} has the scores of {first.name} one by one, without texts"
            yield f"{scores}: if both are one run, it cannot be worse than itself"
        elif all(a == b for a, b in texts):
            answers = f"{second.name} has the answers of {first.name} one by one"
            read = f"every score, and the texts of {len(texts):,}"
            yield f"{answers} ({read}): a run cannot be worse than itself"


def _copied_baselines(firsts: Sequence[ComparedRun], pairs: Sequence[PairedBenchmark]) -> Iterable[str]:
    """Baselines that are one run, or another one's copy, are no replicates."""
    for number, run in enumerate(firsts):
        for other in range(number):
            if pairs and all(runs[number].equals(runs[other]) for pair in pairs for runs in pair.cells):
                yield f"{run.name} and {firsts[other].name} are equal answer by answer: that is one baseline"


MARKS: Mapping[ReleaseVerdict, str] = {
    "GO": "🟢",
    "NO-GO": "🔴",
    "INCONCLUSIVE": "⚪",
    "NOT COMPARABLE": "⛔",
}
LONGEST = 400
"""Characters of a prompt or an answer in Markdown: a comment on a pull request takes 65,536."""
TOO_LONG = 60_000
_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def comparison_markdown(comparison: RunComparison, view: str | None = None) -> str:
    """For a comment on a pull request, with the command that shows all answers. Where the texts of flips make
    it too long, they are left out."""
    text = _markdown(comparison, view)
    if len(text) <= TOO_LONG:
        return text
    rows = [row.model_copy(update={"flips": ()}) for row in comparison.benchmarks]
    return _markdown(comparison.model_copy(update={"benchmarks": tuple(rows)}), view)


def comparison_html(comparison: RunComparison, view: str | None = None) -> str:
    """For a notebook: the verdict, the table, what it rests on, and below it what changed."""
    said = {**_sayings(), "view": view, "shown": lambda text: lines(text[-LONGEST:])}
    html = render_template("notebook/comparison.html.jinja", comparison=comparison, **said)
    return DECEIVING.sub("�", html)


def _sayings() -> dict[str, Any]:
    """The functions that put a comparison in words, by their names."""
    return {
        name: value
        for name, value in vars(words).items()
        if callable(value) and getattr(value, "__module__", None) == words.__name__
    }


def _markdown(comparison: RunComparison, view: str | None) -> str:
    said = {**_sayings(), "mark": MARKS, "sign": _sign, "fenced": fenced, "view": view}
    text = render_template("comparison.md.jinja", comparison=comparison, **said)
    return re.sub(r"\n{3,}", "\n\n", DECEIVING.sub("�", text))


def _sign(comparison: RunComparison, row: ComparedBenchmark) -> str:
    if comparison.verdict == "NOT COMPARABLE":
        return MARKS["NOT COMPARABLE"]
    if row.tier == "watch" or row.regression is None:
        return "👁"
    return {"yes": "🔴", "no": "🟢", "cannot tell": "⚪"}[row.regression]


def fenced(name: str, text: str | None) -> str:
    """A stranger's text as a block that it cannot leave; of a long one the end, where the question stands."""
    if text is None:
        return f"{name}: none\n"
    short = text if len(text) <= LONGEST else f"…{text[-LONGEST:]}"
    longest = max((len(run) for run in re.findall(r"`+", short)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{name}:\n{fence}text\n{short}\n{fence}\n"


def junit(comparison: RunComparison) -> str:
    """One test case for the instrument and one for each gate. Worse is a failure, not comparable an error,
    and what cannot be told is skipped: a skipped test is not a passed one."""
    gates = [row for row in comparison.benchmarks if row.tier == "gate"]
    suite = ET.Element("testsuite", name="gridc compare")
    barred = comparison.verdict == "NOT COMPARABLE"
    instrument = ET.SubElement(suite, "testcase", classname="gridc.compare", name="same instrument")
    if barred:
        _outcome(instrument, "error", "NOT COMPARABLE", "; ".join(words.grounds(comparison)))
    for row in gates:
        case = ET.SubElement(
            suite, "testcase", classname=f"gridc.compare.{_clean(row.model)}", name=_clean(row.benchmark)
        )
        told = f"{benchmark_sentence(row)}; {words.item_words(row)}"
        if barred:
            _outcome(case, "skipped", "NOT COMPARABLE", told)
        elif row.regression == "yes":
            _outcome(case, "failure", "worse", told)
        elif row.regression == "cannot tell":
            _outcome(case, "skipped", "open", told)
        ET.SubElement(case, "system-out").text = _clean(told)
    for gate in comparison.absent:
        case = ET.SubElement(suite, "testcase", classname="gridc.compare", name=_clean(gate.name))
        _outcome(case, "skipped", "open", f"{gate.name}: {words.absent_words(gate)}")
    undecided = None if comparison.absent else _not_in_a_row(comparison)
    if undecided:
        case = ET.SubElement(suite, "testcase", classname="gridc.compare", name="every gate")
        _outcome(case, "skipped", "open", undecided)
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
        "skipped": len(suite.findall("testcase/skipped")),
    }
    suite.attrib.update({name: str(count) for name, count in counts.items()})
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def _outcome(case: ET.Element, kind: str, name: str, text: str) -> None:
    attributes = {"message": _clean(text)} if kind == "skipped" else {"message": _clean(text), "type": name}
    ET.SubElement(case, kind, attributes).text = _clean(text)


def _clean(text: str) -> str:
    return _XML.sub("�", text)


def benchmark_sentence(row: ComparedBenchmark) -> str:
    """One line about a benchmark."""
    if row.score is None:
        return f"{row.name}: {row.why or 'no item has a score in both runs'}"
    limits = f" ({words.change_interval(row.score)})" if row.score.low is not None else ""
    margin = "" if row.margin is None else f"; {words.outcome_words(row)}"
    return (
        f"{row.read_as}: {words.score_words(row.score.a, row.score.a_bounds)} -> "
        f"{words.score_words(row.score.b, row.score.b_bounds)}, {words.gate_change_words(row.score)} pp"
        f"{limits}, {row.lost} lost and {row.won} won of {words.item_count(row)}{margin}"
    )


def gate_diagnostics(comparison: RunComparison, policy: Source | None) -> Iterator[Diagnostic]:
    """What is worse (GC751), undecided (GC752) or not comparable (GC753), at its place in the policy."""
    if comparison.verdict == "NOT COMPARABLE":
        message = "; ".join(words.grounds(comparison))
        yield _diagnostic_at(
            policy, None, "GC753", message, "what you compare stands in `may_differ` of a policy"
        )
        return
    for row in comparison.regressed:
        yield _diagnostic_at(
            policy, row, "GC751", benchmark_sentence(row), "the comparison lists the items that were lost"
        )
    if undecided := _not_in_a_row(comparison):
        yield _diagnostic_at(policy, None, "GC752", undecided, None)
    for row in comparison.undecided:
        yield _diagnostic_at(
            policy, row, "GC752", benchmark_sentence(row), words.sight(row, comparison.changing)
        )


def _not_in_a_row(comparison: RunComparison) -> str | None:
    """Why there is no GO, where no benchmark that was compared says it."""
    decided = comparison.verdict != "INCONCLUSIVE" or comparison.undecided
    return None if decided else "; ".join(words.grounds(comparison))


def _diagnostic_at(
    policy: Source | None, row: ComparedBenchmark | None, code: str, message: str, help: str | None
) -> Diagnostic:
    if policy is None:
        return Diagnostic(code, message, help=help)
    stated = policy.values.get("benchmark", ())
    place = next(
        (number for number, one in enumerate(stated) if row is not None and one.get("id") == row.benchmark),
        None,
    )
    if place is not None:
        return policy.diagnose(code, ("benchmark", place, "id"), message, help)
    return policy.diagnose(code, ("may_differ",) if code == "GC753" else ("margin",), message, help)
