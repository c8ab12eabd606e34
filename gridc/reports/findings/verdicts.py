"""Do two models differ under the reference configuration, and do other choices change that?

A reader asks this of every two models first. Where a score hides which way a model errs (refusal studies),
the question is asked of each kind of error instead. All questions of a study share one family (Holm). Where
units are few, as is known before any answer, they are about new items of these very units. What other
configurations make of a verdict is read from the certified and supported claims of the pair, which have
families of their own; claims about rates are tested here in the same way.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np

from gridc.compiler.grid.cells import Cell
from gridc.compiler.inputs.rates import COUNTED
from gridc.reports.findings.corrected import BenchmarkAudit
from gridc.reports.findings.findings import BENCHMARKS, MEASURED, BenchmarkFinding, PairFinding
from gridc.reports.findings.hypotheses.finding import MeasuredStudy
from gridc.reports.findings.rates import CountedRate, RateFinding, RateGap, counted_rates
from gridc.reports.findings.run_record import Finding, RunRecord
from gridc.reports.findings.scores import CellScore, Outcomes, counts_against, unit_number_of_items
from gridc.reports.findings.standings import MeanScores
from gridc.reports.told import MOST
from gridc.schema.base import ALPHA
from gridc.schema.certificate import GapRow
from gridc.schema.inference import rate_kind
from gridc.schema.rows import Tier
from gridc.schema.verdicts import ChoicesRow, Survival, TurnsRow, VerdictAnswer, VerdictRow, VerdictsRow
from gridc.statistics import exact_tests
from gridc.statistics.arrays import Floats
from gridc.statistics.exact_tests import holm
from gridc.statistics.reproducibility import digits
from gridc.statistics.unit_gaps import GapPValues, gap_p_values

SCORE = "score"


@dataclass(frozen=True, slots=True)
class _Question:
    """A pair and a quantity before Holm: the row but for its family, and the p-values that enter it: as they
    are, and `if_unread` answers all spoke against the claim. Of a rate `everywhere` and `reversal` are those
    of claims about all configurations, which are `exact` where every test is."""

    row: VerdictRow
    tests: GapPValues | None
    if_unread: GapPValues | None = None
    everywhere: float = 1.0
    reversal: float = 1.0
    ahead_everywhere: str | None = None
    exact: bool = False


CountRates = Callable[[str, Sequence[Cell]], Mapping[str, CountedRate]]
"""A rate of this name in some cells, by their keys."""


def study_verdicts(record: RunRecord) -> VerdictsRow | None:
    """The verdicts of a study from its record; None while an answer is missing."""
    count = partial(counted_rates, record.plan, record.store)
    return verdicts_of(record[BENCHMARKS], record[MEASURED], count)


def verdicts_of(
    benchmarks: Sequence[BenchmarkFinding], measured: MeasuredStudy, count: CountRates
) -> VerdictsRow | None:
    """The verdicts on every two models of these benchmarks."""
    if not measured.final:
        return None
    analysis = measured.spec.analysis
    margin = None if analysis.margin is None else analysis.margin.pp / 100
    questions: list[_Question] = []
    untold: list[str] = []
    for benchmark in benchmarks:
        if len(benchmark.full.pairs) > MOST:
            untold.append(benchmark.benchmark)
        else:
            questions += _of_benchmark(benchmark, measured, count, margin)
    alpha = analysis.alpha or ALPHA
    members, rows = _together(questions, alpha)
    return VerdictsRow(alpha=alpha, members=members, margin=margin, rows=tuple(rows), untold=tuple(untold))


def _of_benchmark(
    benchmark: BenchmarkFinding, measured: MeasuredStudy, count: CountRates, margin: float | None
) -> Iterator[_Question]:
    anchors = {(model.model, model.anchor.cell.configuration) for model in benchmark.models}
    faults = [
        rate for rate in benchmark.rates if rate_kind(rate.name).beside_score and anchors & rate.values.keys()
    ]
    if faults:
        for rate in faults:
            yield from _of_rate(benchmark, rate, measured, count, margin)
    else:
        yield from _of_score(benchmark, measured, margin)


def _of_score(
    benchmark: BenchmarkFinding, measured: MeasuredStudy, margin: float | None
) -> Iterator[_Question]:
    outcomes = measured.outcomes[benchmark.benchmark]
    items = {item.id: item for item in measured.samples.plan.study.items[benchmark.benchmark].sampled}
    groups = unit_number_of_items(
        outcomes.items, {name: items[name].at("question") for name in outcomes.items}
    )
    by_question = replace(outcomes, units=groups, designated=None)
    lower = benchmark.direction.lower
    anchors = {model.model: model.anchor for model in benchmark.models}
    gaps = {(row.a, row.b): row.by_configuration for row in benchmark.intervals.gaps}
    for pair in benchmark.full.pairs:
        one, other = anchors[pair.counts.a], anchors[pair.counts.b]
        where = one.cell.configuration
        place = outcomes.configurations.index(where)
        gap = gaps.get((pair.counts.a, pair.counts.b), {}).get(where)
        row = _row(benchmark, SCORE, lower, where, (one, one.score), (other, other.score), gap)
        row = row.model_copy(update={"choices": _score_choices(benchmark, pair)})
        if benchmark.direction.target is not None:
            yield _Question(row.model_copy(update={"why": "target"}), None)
        elif outcomes.copied:
            yield _Question(row.model_copy(update={"why": "copies"}), None)
        elif not outcomes.both(row.a, row.b)[place]:
            yield _Question(row.model_copy(update={"why": "no_answer"}), None)
        else:
            few = gap is not None and gap.on_units is not None
            used, people = by_question if few else outcomes, _by_people(benchmark.audit, SCORE, row)
            tests, if_unread = (
                _checked(MeanScores(each, [place], lower).p_values(row.a, row.b, margin), people, lower)
                for each in (used, _unread_against(used, measured, (one, other), place))
            )
            yield _Question(row.model_copy(update={"these_units": few}), tests, if_unread)


def _unread_against(
    outcomes: Outcomes, measured: MeasuredStudy, cells: Sequence[CellScore], place: int
) -> Outcomes:
    """The outcomes where every unread answer of these cells speaks against whatever is claimed."""
    credited = np.zeros_like(outcomes.correct) if outcomes.credited is None else outcomes.credited.copy()
    columns = {name: column for column, name in enumerate(outcomes.items)}
    for score in cells:
        stored = measured.samples.stored[score.cell.key]
        if stored.unread is None or not score.cell.setting.reads_text:
            continue
        model = outcomes.models.index(score.cell.model)
        for name, unread in zip(stored.items, stored.unread.tolist(), strict=True):
            if unread and name in columns:
                credited[model, place, columns[name]] = unread
    return replace(outcomes, credited=credited)


def _by_people(audit: BenchmarkAudit | None, what: str, row: VerdictRow) -> tuple[float, float]:
    """What people's labels allow for "a has more" and "b has more"; 0 without an audit."""
    return (0.0, 0.0) if audit is None else audit.p_values(row.a, row.b, row.configuration, what)


def _checked(tests: GapPValues, by_people: tuple[float, float], lower: bool) -> GapPValues:
    """The p-values of better and worse, no smaller than labels allow. Labels say nothing about a margin."""
    plus, minus = by_people[::-1] if lower else by_people
    audited = any(by_people)
    return replace(
        tests,
        first=max(tests.first, plus),
        second=max(tests.second, minus),
        within=1.0 if audited and tests.within is not None else tests.within,
    )


def _row(
    benchmark: BenchmarkFinding,
    what: str,
    lower: bool,
    where: str,
    one: tuple[CellScore, Fraction | None],
    other: tuple[CellScore, Fraction | None],
    gap: GapRow | RateGap | None,
    unread: tuple[tuple[int, int], tuple[int, int]] | None = None,
) -> VerdictRow:
    """A verdict before its test, from the cells of both models with their values; of a rate with how many
    answers of each are `unread`, of how many."""
    (first, value_a), (second, value_b) = one, other
    apart = None if value_a is None or value_b is None else value_a - value_b
    better = None
    if apart and (what != SCORE or benchmark.direction.target is None):
        better = first.cell.model if (apart < 0) == lower else second.cell.model
    low, high = _unread_ends(first, second, apart, unread)
    return VerdictRow.of(
        benchmark=benchmark.benchmark,
        what=what,
        lower=lower,
        configuration=where,
        a=first.cell.model,
        b=second.cell.model,
        value_a=value_a,
        value_b=value_b,
        gap=apart,
        interval=None if gap is None else gap.interval,
        on_units=None if gap is None else gap.on_units,
        test="not_tested",
        better=better,
        p=1.0,
        p_holm=1.0,
        p_unread_holm=None,
        p_within=None,
        p_within_holm=None,
        answer="not_tested",
        these_units=False,
        unread_low=low,
        unread_high=high,
        choices=None,
    )


def _unread_ends(
    one: CellScore,
    other: CellScore,
    apart: Fraction | None,
    unread: tuple[tuple[int, int], tuple[int, int]] | None,
) -> tuple[Fraction | None, Fraction | None]:
    """The ends of a gap whatever unread answers would earn; of a rate these are its own."""
    if apart is None:
        return None, None
    if unread is not None:
        return apart - Fraction(*unread[1]), apart + Fraction(*unread[0])
    if one.ends is None or other.ends is None:
        return None, None
    return one.ends[0] - other.ends[1], one.ends[1] - other.ends[0]


def _unread_of(measured: MeasuredStudy, score: CellScore, rate: str) -> tuple[int, int]:
    """How many of a cell's answers to the prompts of a rate are unread, and how many there are."""
    counts, _ = COUNTED[rate]
    items = {item.id for item in measured.samples.plan.items(score.cell) if counts(item)}
    outcomes = measured.samples.stored[score.cell.key]
    asked = np.array([name in items for name in outcomes.items], np.bool_)
    unread = 0 if outcomes.unread is None else int(outcomes.unread[asked].sum())
    return unread, max(int(outcomes.trials[asked].sum()), 1)


def _of_rate(
    benchmark: BenchmarkFinding,
    rate: RateFinding,
    measured: MeasuredStudy,
    count: CountRates,
    margin: float | None,
) -> Iterator[_Question]:
    cells = [score for score in benchmark.cells if score.cell.shared]
    counted = count(rate.name, [score.cell for score in cells])
    by_place = {(score.cell.model, score.cell.configuration): score for score in cells}
    unread_of = {
        place: _unread_of(measured, score, rate.name)
        for place, score in by_place.items()
        if score.cell.key in counted
    }
    anchors = {model.model: model.anchor for model in benchmark.models}
    gaps = {(gap.a, gap.b): gap for gap in rate.gaps}
    lower = rate_kind(rate.name).better < 0
    copied = measured.outcomes[benchmark.benchmark].copied
    for a, b in combinations(anchors, 2):
        one, other = anchors[a], anchors[b]
        where = one.cell.configuration
        values = [rate.values.get((model, where)) for model in (a, b)]
        if any(value is None or value.value is None for value in values):
            continue
        value_a, value_b = (None if value is None else value.value for value in values)
        gap = gaps.get((a, b))
        unread = unread_of[a, where], unread_of[b, where]
        row = _row(benchmark, rate.name, lower, where, (one, value_a), (other, value_b), gap, unread)
        tests = {
            name: _rate_tests(by_place, counted, unread_of, (a, b), name, lower, margin)
            for name in dict.fromkeys(configuration for _, configuration in by_place)
        }
        row = row.model_copy(update={"choices": _rate_choices(benchmark, rate, (a, b), lower)})
        if copied:
            yield _Question(row.model_copy(update={"why": "copies"}), None)
        elif tests.get(where) is None:
            why = "no_answer" if one.nothing_read or other.nothing_read else "unread"
            yield _Question(row.model_copy(update={"why": why}), None)
        else:
            audits = {
                name: _by_people(benchmark.audit, rate.name, row.model_copy(update={"configuration": name}))
                for name in tests
            }
            checked = {
                name: None if found is None else _checked(found, audits[name], lower)
                for name, found in tests.items()
            }
            of_questions = _on_questions(counted[one.cell.key], counted[other.cell.key], lower, margin)
            few = of_questions is not None
            yield _Question(
                row.model_copy(update={"these_units": few}),
                checked[where] if of_questions is None else _checked(of_questions, audits[where], lower),
                None,
                *_over_choices(list(checked.values()), (a, b)),
                exact=all(found is not None and found.test == "mcnemar" for found in checked.values()),
            )


def _rate_tests(
    by_place: Mapping[tuple[str, str], CellScore],
    counted: Mapping[str, CountedRate],
    unread: Mapping[tuple[str, str], tuple[int, int]],
    pair: tuple[str, str],
    where: str,
    lower: bool,
    margin: float | None,
) -> GapPValues | None:
    """The tests of a rate in one configuration; None where one is not counted, or too much is unread: of all
    answers, or of those that the rate is about."""
    scores = [by_place.get((model, where)) for model in pair]
    if any(score is None or score.cell.key not in counted for score in scores):
        return None
    found = [score for score in scores if score is not None]
    if any(counts_against(score.unread, score.trials) or score.nothing_read for score in found):
        return None
    if any(counts_against(*unread[model, where]) for model in pair):
        return None
    one, other = (counted[score.cell.key].counted for score in found)
    return _of_points(one.points, other.points, lower, one.drawn or other.drawn, margin)


def _of_points(
    one: Floats, other: Floats, lower: bool, drawn: bool, margin: float | None
) -> GapPValues | None:
    """Of what units count, (units, 2): hits of those asked; `drawn` are shares of draws. None where both were
    not asked alike."""
    rows = one[:, 1]
    if not rows.any() or not np.array_equal(rows, other[:, 1]):
        return None
    mine, theirs = (rows - hits if lower else hits for hits in (one[:, 0], other[:, 0]))
    single = not drawn and bool(np.isin(rows, (0.0, 1.0)).all())
    return gap_p_values((mine, mine), (theirs, theirs), rows, single, margin)


def _on_questions(
    one: CountedRate, other: CountedRate, lower: bool, margin: float | None
) -> GapPValues | None:
    """The same test for new items of these very units, where the units are few."""
    mine, theirs = one.counted.by_question, other.counted.by_question
    if mine is None or theirs is None:
        return None
    return _of_points(mine, theirs, lower, one.counted.drawn or other.counted.drawn, margin)


def _over_choices(tests: Sequence[GapPValues | None], pair: tuple[str, str]) -> tuple[float, float, str]:
    """p of: one model is better in every configuration; of: each is in some; and which one the first is
    about."""
    better = np.array([1.0 if found is None else found.first for found in tests])
    worse = np.array([1.0 if found is None else found.second for found in tests])
    everywhere = [exact_tests.everywhere(p) for p in (better, worse)]
    somewhere = [exact_tests.somewhere(p, "mcnemar", len(p)) for p in (better, worse)]
    return min(everywhere), max(somewhere), pair[everywhere[0] > everywhere[1]]


def _score_choices(benchmark: BenchmarkFinding, pair: PairFinding) -> ChoicesRow | None:
    """What the claims of a pair say, with the counts turned to which model is better."""
    counts, evidence = pair.counts, pair.evidence
    if counts.size < 2:
        return None
    strength: Tier = "certified" if evidence.certified.claim else "supported"
    shown = evidence.certified if evidence.certified.claim else evidence.supported
    survival: Survival = "open"
    first = None
    if benchmark.direction.target is None and shown.claim is not None:
        survival = "holds" if shown.claim == "order" else "depends"
        if shown.claim == "order" and shown.first is not None:
            other = counts.b if shown.first == counts.a else counts.a
            first = other if benchmark.direction.lower else shown.first
    sides = (counts.minus, counts.plus) if benchmark.direction.lower else (counts.plus, counts.minus)
    good = benchmark.direction.good
    by_place = {
        (score.cell.model, score.cell.configuration): good(score.score)
        for score in benchmark.cells
        if score.cell.shared and score.score is not None
    }
    if benchmark.direction.target is not None:
        signs = _signs(by_place, counts.a, counts.b)
        sides = sum(sign > 0 for sign in signs.values()), sum(sign < 0 for sign in signs.values())
    return ChoicesRow(
        ahead=sides[0],
        behind=sides[1],
        tied=counts.measured - sum(sides),
        measured=counts.measured,
        size=counts.size,
        turns=_turns(benchmark, _signs(by_place, counts.a, counts.b)),
        survival=survival,
        first=first,
        strength="descriptive" if survival == "open" else strength,
        p_holds=shown.order.adjusted,
        p_depends=shown.reversal.adjusted,
    )


def _rate_choices(
    benchmark: BenchmarkFinding, rate: RateFinding, pair: tuple[str, str], lower: bool
) -> ChoicesRow | None:
    """The counts of a rate; what holds of new items waits for the family."""
    size = len(benchmark.full.scope.configurations)
    if size < 2:
        return None
    by_place = {
        place: -value.value if lower else value.value
        for place, value in rate.values.items()
        if value.value is not None
    }
    signs = _signs(by_place, *pair)
    ahead, behind = sum(sign > 0 for sign in signs.values()), sum(sign < 0 for sign in signs.values())
    return ChoicesRow(
        ahead=ahead,
        behind=behind,
        tied=len(signs) - ahead - behind,
        measured=len(signs),
        size=size,
        turns=_turns(benchmark, signs),
        survival="open",
        first=None,
        strength="descriptive",
        p_holds=1.0,
        p_depends=1.0,
    )


def _signs(by_place: Mapping[tuple[str, str], Fraction], a: str, b: str) -> dict[str, int]:
    """By configuration: 1 where a has more, -1 where b has, 0 where they are equal."""
    return {
        where: (value > by_place[b, where]) - (value < by_place[b, where])
        for (model, where), value in by_place.items()
        if model == a and (b, where) in by_place
    }


def _turns(benchmark: BenchmarkFinding, signs: Mapping[str, int]) -> tuple[TurnsRow, ...]:
    """How often changing one axis alone changes which model is ahead, for each axis of several levels."""
    levels = {score.cell.configuration: score.cell.levels for score in benchmark.cells if score.cell.shared}
    axes = dict.fromkeys(axis for own in levels.values() for axis in own)
    rows = []
    for axis in axes:
        sets: dict[tuple[tuple[str, str], ...], set[int]] = {}
        sizes: dict[tuple[tuple[str, str], ...], int] = {}
        for where, sign in signs.items():
            rest = tuple((name, level) for name, level in levels[where].items() if name != axis)
            sets.setdefault(rest, set()).add(sign)
            sizes[rest] = sizes.get(rest, 0) + 1
        several = [own for rest, own in sets.items() if sizes[rest] > 1]
        turned = sum({1, -1} <= own for own in several)
        if several:
            rows.append(TurnsRow(axis=axis, turned=turned, compared=len(several)))
    return tuple(sorted(rows, key=lambda row: -Fraction(row.turned, row.compared)))


def _together(questions: Sequence[_Question], alpha: float) -> tuple[int, Iterator[VerdictRow]]:
    """How many tests there are, and the verdicts after Holm over all of them."""
    family: dict[tuple[int, str], float] = {}
    against: dict[tuple[int, str], float] = {}
    choices: dict[tuple[int, str], float] = {}
    for number, question in enumerate(questions):
        if question.tests is not None:
            family[number, "p"] = question.tests.two_sided
            if question.tests.within is not None:
                family[number, "p_within"] = question.tests.within
        if question.if_unread is not None:
            against[number, "p"] = question.if_unread.two_sided
        if question.row.what != SCORE and question.row.choices is not None:
            # One model in every configuration, in either direction, and a reversal: three claims.
            choices[number, "p_holds"] = min(1.0, 2 * question.everywhere)
            choices[number, "p_depends"] = question.reversal
    paid = dict(zip(family, map(digits, holm(list(family.values()))), strict=True))
    harshly = dict(zip(family, map(digits, holm(list((family | against).values()))), strict=True))
    unread = {place: harshly[place] for place in against}
    survived = dict(zip(choices, map(digits, holm(list(choices.values()))), strict=True))
    rows = (
        _decided(question, number, family, paid, unread, survived, alpha)
        for number, question in enumerate(questions)
    )
    return len(family), rows


def _decided(
    question: _Question,
    number: int,
    alone: Mapping[tuple[int, str], float],
    paid: Mapping[tuple[int, str], float],
    unread: Mapping[tuple[int, str], float],
    survived: Mapping[tuple[int, str], float],
    alpha: float,
) -> VerdictRow:
    row = question.row
    if (number, "p_holds") in survived and row.choices is not None:
        row = row.model_copy(update={"choices": _survived(question, number, survived, alpha)})
    if question.tests is None:
        return row
    p, within = paid[number, "p"], paid.get((number, "p_within"))
    answer: VerdictAnswer = "not_told_apart"
    if p <= alpha and row.better is not None:
        answer = "differ"
    elif within is not None and within <= alpha:
        answer = "within_margin"
    return row.model_copy(
        update={
            "test": question.tests.test,
            "p": alone[number, "p"],
            "p_holm": p,
            "p_unread_holm": unread.get((number, "p")),
            "p_within": alone.get((number, "p_within")),
            "p_within_holm": within,
            "answer": answer,
        }
    )


def _survived(
    question: _Question, number: int, survived: Mapping[tuple[int, str], float], alpha: float
) -> ChoicesRow:
    choices = question.row.choices
    assert choices is not None
    holds, depends = survived[number, "p_holds"], survived[number, "p_depends"]
    survival: Survival = "open"
    if min(holds, depends) <= alpha:
        survival = "depends" if depends <= holds else "holds"
    shown: Tier = "certified" if question.exact else "supported"
    return choices.model_copy(
        update={
            "survival": survival,
            "first": question.ahead_everywhere if survival == "holds" else None,
            "strength": "descriptive" if survival == "open" else shown,
            "p_holds": holds,
            "p_depends": depends,
        }
    )


VERDICTS: Finding[VerdictsRow | None] = Finding(
    "verdicts",
    study_verdicts,
    about="Whether every two models differ under the reference configuration, and whether that survives the "
    "other choices.",
)
