"""What is reported: numbers needed, coefficients with their facets, errors by their name, stamps by
evidence."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest
from _pytest.monkeypatch import MonkeyPatch
from scipy.stats import binomtest

import gridc
from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument import propagation
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.calls import PlannedSample
from gridc.reports.estimates import scores as score_estimates
from gridc.reports.findings import changes, components, falsification, item_counts, rates, scaffolds
from gridc.reports.findings import findings as finding
from gridc.reports.findings.hypotheses import contrasts
from gridc.reports.findings.item_counts import RateCounts
from gridc.reports.quantities import needed_cell, needed_rows
from gridc.reports.scorecard import methodology
from gridc.schema.estimates import EstimateRow
from gridc.schema.hypotheses import NumberNeededRow
from gridc.statistics import clustered_logit, raters, risk, variance
from gridc.statistics.case_totals import CaseTable
from tests import studies
from tests.museum.exhibit import EARLIER, FINDINGS, exhibit
from tests.museum.studied import CHOICES, FACTS, claim, contrasts_of, facts, first_right, letter, shares_of

ROUNDED = "numbers needed are rounded up (`risk.number_needed`)"


@exhibit(
    "numbers needed to harm are rounded to the nearest: 135, 165 and 5 are 136, 166 and 6",
    f"{FINDINGS}, FINDINGS 15",
    ROUNDED,
    lambda patch: patch.setattr(risk, "ceil", round),
)
def rounded_down(room: Any, patch: MonkeyPatch) -> set[str]:
    """3 and 76 of 406 items are lost: 1 in 135.3 and 1 in 5.3."""
    right = {"direct": 400, "react": 397, "map_reduce": 324}
    stated = claim("difference", ["react", "map_reduce"], "direct")
    found = contrasts_of(first_right(room, 406, right, stated))
    assert {each.number_needed.kind for each in found} == {"harm"}
    return {ROUNDED} if [each.number_needed.displayed for each in found] == [136, 6] else set()


SIGNED = "a number needed says whether it is to harm or to benefit (`risk.number_needed`)"


@exhibit(
    "a gain of 25 points has a number needed to harm of 4",
    f"{FINDINGS}, D",
    SIGNED,
    lambda patch: patch.setattr(changes, "number_needed", without_sign(risk.number_needed)),
)
def a_gain_that_harms(room: Any, patch: MonkeyPatch) -> set[str]:
    """10 of 40 items are won."""
    stated = claim("difference", "hint", "none", 'side = "greater"')
    (found,) = contrasts_of(first_right(room, 40, {"none": 20, "hint": 30}, stated))
    return {SIGNED} if needed_cell(found.number_needed).startswith("NNB 4 ") else set()


def without_sign(number_needed: Callable[..., Any]) -> Callable[..., Any]:
    return lambda difference, *rest: number_needed(-abs(difference), *rest)


INFINITE = "an interval with 0 in it runs through infinity (`risk.number_needed`)"


@exhibit(
    "a difference that may be 0 has a number needed to harm of 166 and no interval",
    f"{FINDINGS}, FINDINGS 15, H1b",
    INFINITE,
    lambda patch: patch.setattr(risk.Interval, "holds_zero", property(lambda self: False)),
)
def no_way_through_infinity(room: Any, patch: MonkeyPatch) -> set[str]:
    """3 of 406 items are lost, and the interval of the difference holds 0."""
    stated = claim("difference", "multi_agent", "direct", 'side = "less"')
    done = first_right(room, 406, {"direct": 400, "multi_agent": 397}, stated)
    (found,) = contrasts_of(done)
    low, high = found.change.interval
    either = f"NNH 136, either way (NNH {ceil(-1 / low)} or more, NNB {ceil(1 / high)} or more)"
    return {INFINITE} if needed_cell(found.number_needed) == either else set()


FACETS = "a coefficient is of the facets that are named as fixed (`variance.coefficient`)"


@exhibit(
    "G = 0 is of two random facets, and the text names both as fixed: that is .907",
    f"{FINDINGS}, FINDINGS 2",
    FACETS,
    lambda patch: patch.setattr(components, "coefficient", all_random(variance.coefficient)),
)
def facets_by_another_name(room: Any, patch: MonkeyPatch) -> set[str]:
    """Three models of which the frames change the order, on one set of items under two names."""
    stated = '[analysis]\ngeneralizability = { frame = "fixed", benchmark = "fixed" }\n'
    stated += FACTS.replace('id = "facts"', 'id = "again"')
    counts: dict[str, dict[str, int]] = {
        "one": {},
        "other": {"plain": 16, "exam": 8},
        "third": {"plain": 4, "exam": 6},
    }
    done = first_right(room, 20, {"plain": 10, "exam": 14}, stated, 0, **counts)
    found: Any = done.study.findings().findings[components.GENERALIZABILITY]
    random = dict(found.by_convention)[()]
    return {FACETS} if random < 0.5 < found.coefficient == 1 else set()


def all_random(coefficient: Callable[..., Any]) -> Callable[..., Any]:
    return lambda found, fixed, levels=None: coefficient(found, (), levels)


CLUSTERED = "errors that are called clustered are (`clustered_logit.Jackknife`)"


def of_independent_rows(patch: MonkeyPatch) -> None:
    """Every answer is its own case."""
    sound = clustered_logit.Jackknife.__init__

    def damaged(self: Any, design: Any, table: CaseTable, coefficients: Any) -> None:
        right, held = table.cases @ table.sums, table.cases @ table.rows
        each = np.eye(len(held))
        cases = np.concatenate([right, held - right]).astype(np.int64)
        apart = CaseTable(np.vstack([each, each]), np.vstack([each, 0 * each]), cases)
        sound(self, design, apart, coefficients)

    patch.setattr(clustered_logit.Jackknife, "__init__", damaged)


@exhibit(
    "errors are called clustered and are those of independent rows: a failure was swallowed",
    f"{FINDINGS}, FINDINGS 1: all 27 errors of the curve",
    CLUSTERED,
    of_independent_rows,
)
def naive_errors(room: Any, patch: MonkeyPatch) -> set[str]:
    """The nine items of a family are right or wrong together: 21 of 30 families are right under one frame and
    12 under the other. The error is about three times that of independent rows."""
    frames = {name: f'prompt = "{name}: {{{{ question }}}}\\n{{{{ options }}}}\\nA letter:"' for name in "ab"}
    rows = [{**row, "family": f"f{n // 9}"} for n, row in enumerate(facts(270))]

    def say(cell: Cell, sample: PlannedSample) -> str:
        number = int(sample.item.id.removeprefix("q"))
        family = number // 9
        return letter(number, family < 21 if cell.levels["frame"] == "a" else family % 5 < 2)

    stated = claim("difference", "b", "a", 'side = "less"')
    spec = f'harness = {{ method = "extract" }}\n{FACTS}{studies.axis("frame", frames)}{stated}'
    (found,) = contrasts_of(room.filled(spec, rows, say))
    naive = sum(1 / count for count in (9 * 21, 9 * 9, 9 * 12, 9 * 18)) ** 0.5
    return {CLUSTERED} if found.odds.error > 2 * naive else set()


PAIRED = "a recovery's interval is of the same cases in all arms (`risk.recovery`)"


@exhibit(
    "a recovery's interval resamples one of three arms",
    f"{FINDINGS}, FINDINGS 8",
    PAIRED,
    lambda patch: patch.setattr(contrasts, "recovery", one_arm_alone(risk.recovery)),
)
def arms_apart(room: Any, patch: MonkeyPatch) -> set[str]:
    """The remedy is right exactly where direct is, so that nothing but the loss is uncertain: the recovery is
    1, and known to be."""
    right = {"direct": 180, "map_reduce": 60, "options": 180}
    stated = claim("difference", "options", "map_reduce", 'side = "greater"', 'control = "direct"')
    (found,) = contrasts_of(first_right(room, 200, right, stated))
    assert found.recovery.share == 1
    ends = found.recovery.fieller
    return {PAIRED} if ends is not None and ends[1] - ends[0] < 1e-9 else set()


def one_arm_alone(recovery: Callable[..., Any]) -> Callable[..., Any]:
    """As if the remedy had been given to other cases."""

    def damaged(control: Any, treated: Any, remedy: Any, level: float = 0.95) -> Any:
        return recovery(control, treated, np.random.default_rng(1).permutation(remedy), level)

    return damaged


CHANCE = "Bang's index of four arms has its own chance value, -0.5 (`raters.bang`)"


@exhibit(
    "a blinding index near 0 is called blind, where chance among four arms is -0.5",
    f"{FINDINGS}, FINDINGS 9",
    CHANCE,
    lambda patch: patch.setattr(raters, "bang", of_two_arms(raters.bang)),
)
def half_of_them_known(room: Any, patch: MonkeyPatch) -> set[str]:
    """A judge who guesses by chance, and one who is right half of the time and has an index of 0."""
    blind, half = (raters.bang("react", [at < right for at in range(200)], 4) for right in (50, 100))
    held = blind.chance == blind.index == -0.5 and blind.corrected == 0
    return {CHANCE} if held and half.index == 0 and half.corrected == pytest.approx(1 / 3) else set()


def of_two_arms(bang: Callable[..., Any]) -> Callable[..., Any]:
    return lambda arm, guesses, arms: bang(arm, guesses, 2)


CROSSED = "the shares of two-way terms stand beside those of main effects (`variance.decompose`)"


@exhibit(
    "the scaffold is called the smallest factor, and its term with the model is smaller",
    f"{FINDINGS}, FINDINGS 17",
    CROSSED,
    lambda patch: patch.setattr(components, "decompose", mains_alone(variance.decompose)),
)
def the_smallest_factor(room: Any, patch: MonkeyPatch) -> set[str]:
    """Two models lose alike: 10 of 40 items and 12."""
    right = {"direct": 30, "map_reduce": 20}
    done = first_right(room, 40, right, "", one={}, other={"map_reduce": 18, "direct": 29})
    shares = shares_of(done).shares.terms
    smallest = min(shares, key=lambda term: term.eta2)
    return {CROSSED} if smallest.term == ("model", "frame") else set()


def mains_alone(decompose: Callable[..., Any]) -> Callable[..., Any]:
    def damaged(scores: Any, factors: Any, kind: Any, terms: Any, rows: Any) -> Any:
        return decompose(scores, factors, kind, [term for term in terms if len(term) == 1], rows)

    return damaged


UNRUN = "a line of the stamp is read off what was done (`methodology.LINES`)"


@exhibit(
    "a methodology stamp says that a specification curve was run, because the code says so",
    f"{FINDINGS}, D: `specification_curve=True`",
    UNRUN,
    lambda patch: patch.setattr(
        methodology,
        "LINES",
        tuple(
            line._replace(answer=lambda _: methodology.ChecklistAnswer("yes", "It was.", "the code"))
            for line in methodology.LINES
        ),
    ),
)
def stamped_by_assertion(room: Any, patch: MonkeyPatch) -> set[str]:
    """The study states no curve."""
    study = room.filled(CHOICES, facts(12), lambda *_: "Answer: A").study
    (row,) = (row for row in methodology.methodology(study.findings().findings) if row.id == "curve")
    return {UNRUN} if row.holds == "no" else set()


WORDS = "a system prompt reaches a step where its own sentences do (`propagation.trace`)"


def any_system_prompt(patch: MonkeyPatch) -> None:
    sound = propagation.trace

    def damaged(original: Any, call: propagation.SubCall) -> propagation.TracedCall:
        traced = sound(original, call)
        given = "kept" if len(call.messages) > 1 else traced.states["system_prompt"]
        return replace(traced, states={**traced.states, "system_prompt": given})

    patch.setattr(scaffolds, "trace", damaged)
    scaffolds._states_of.cache_clear()


@exhibit(
    "100 % of a critic's calls are said to have the benchmark's system prompt and 0.67 % its format "
    "instruction, which 60 % of tasks carry: both cannot be of one prompt",
    "Safety Under Scaffolding, released table of propagation",
    WORDS,
    any_system_prompt,
)
def a_prompt_that_is_another(room: Any, patch: MonkeyPatch) -> set[str]:
    """The instruction is a sentence of the prompt: no step has the prompt more often than it."""
    room.change(
        ("n = 48", "n = 2"),
        ('option_order = "shuffled:1"', 'option_order = "shuffled:1"\nsystem = "Answer with one letter."'),
        ('method = "extract"', 'method = "extract"\nmax_tokens = 4\nscaffold = { kind = "critic" }'),
    )
    study = gridc.open(room.spec)
    study.run()
    rows = {row["step"]: row for row in study.scaffolds().propagation.rows()}
    shares = ("system_prompt_propagation", "format_instruction_propagation")
    assert [rows["primary_initial"][share] for share in shares] == [1, 1]
    prompt, instruction = (rows["critic_round_0"][share] for share in shares)
    scaffolds._states_of.cache_clear()
    return {WORDS} if prompt <= instruction else set()


ENDS = "the ends of a number needed that runs through infinity are no interval (`quantities.needed_rows`)"


def as_one_interval(patch: MonkeyPatch) -> None:
    def damaged(name: str, about: str, needed: NumberNeededRow, *rest: Any) -> Iterator[EstimateRow]:
        for row in needed_rows(name, about, needed, *rest):
            yield (
                row
                if needed.low is not None
                else row.model_copy(update={"interval": (needed.harm, needed.benefit)})
            )

    patch.setattr(score_estimates, "needed_rows", damaged)


@exhibit(
    "a number needed has the interval from 4 to 2, which holds neither it nor what it means",
    f"{EARLIER}: estimates.json",
    ENDS,
    as_one_interval,
)
def from_four_to_two(room: Any, patch: MonkeyPatch) -> set[str]:
    stated = claim("difference", "exam", "plain", 'side = "greater"')
    done = first_right(room, 40, {"plain": 20, "exam": 21}, stated)
    held = [row["interval"] for row in done.estimates.values() if row["kind"] == "number_needed"]
    return {ENDS} if all(ends is None or ends[0] <= ends[1] for ends in held) else set()


COUNTED = "a rate is of as many answers as there are, whatever a point is divided into (`rates._outcome`)"


def undivided(patch: MonkeyPatch) -> None:
    sound = rates._outcome
    patch.setattr(rates, "_outcome", lambda outcome: replace(sound(outcome), scale=1))


@exhibit(
    "an outcome that gives a third of a point is said to be of 200,000 answers, which were 20",
    f"{EARLIER}: estimates.json and the card",
    COUNTED,
    undivided,
)
def in_ten_thousandths(room: Any, patch: MonkeyPatch) -> set[str]:
    near = '[[outcome]]\nid = "near"\nbenchmark = "facts"\nscores = { right = 1, other = 0.3333 }\n'
    done = room.filled(CHOICES + near, facts(20), lambda *_: "Answer: A")
    (row,) = (row for row in done.estimates.values() if row["kind"] == "rate")
    return {COUNTED} if row["n"] == 20 else set()


ALONE = "a study without axes has a parse rate (`findings._parse_rates`)"


def by_axes_alone(patch: MonkeyPatch) -> None:
    sound = finding._parse_rates
    patch.setattr(
        finding, "_parse_rates", lambda plan, cells: sound(plan, cells) if plan.study.spec.axis else []
    )


@exhibit(
    "a study that reads every answer from text says that no cell does, because it has no axis",
    f"{EARLIER}: the page",
    ALONE,
    by_axes_alone,
)
def no_cell_reads(room: Any, patch: MonkeyPatch) -> set[str]:
    done = room.filled(CHOICES, facts(12), lambda *_: "Answer: A")
    page = (done.results / "report.html").read_text("utf-8")
    return set() if "No measured cell reads answers from text" in page else {ALONE}


LIMITS = "a share that is called exact has Clopper and Pearson's limits (`rates.share_limits`)"


@exhibit(
    "17 of 20 has an interval to 100 % by resamples, and it is called exact",
    f"{EARLIER}: the scorecard",
    LIMITS,
    lambda patch: patch.setattr(rates, "share_limits", normal_limits),
)
def exact_by_name(room: Any, patch: MonkeyPatch) -> set[str]:
    right = '[[outcome]]\nid = "right"\nbenchmark = "facts"\nscores = { right = 1, other = 0 }\n'
    done = room.filled(CHOICES + right, facts(20), first_seventeen)
    (row,) = (row for row in done.estimates.values() if row["kind"] == "rate")
    assert "Clopper-Pearson" in row["method"] and row["estimate"] == 0.85
    sound = binomtest(17, 20).proportion_ci(0.95, "exact")
    return {LIMITS} if row["interval"] == pytest.approx([sound.low, sound.high], abs=1e-6) else set()


def first_seventeen(cell: Cell, sample: PlannedSample) -> str:
    number = int(sample.item.id.removeprefix("q"))
    return letter(number, number < 17)


def normal_limits(sizes: Any, right: Any, *rest: Any) -> tuple[float, float]:
    share = float(right.sum() / sizes.sum())
    reach = 1.96 * (share * (1 - share) / sizes.sum()) ** 0.5
    return max(share - reach, 0.0), min(share + reach, 1.0)


ATTEMPTS = "a rate is of the attempts that its score is made of (`item_counts.counted_items`)"


def single_answers(setting: Setting, *rest: Any) -> RateCounts:
    return item_counts.counted_items(replace(setting, aggregate="mean", all_of=None), *rest)


@exhibit(
    "one answer of five to each item is wrong, and five attempts are wrong as often as one: 20 %",
    f"{EARLIER}: rates beside `pass_at`",
    ATTEMPTS,
    lambda patch: patch.setattr(rates, "counted_items", single_answers),
)
def attempts_are_one(room: Any, patch: MonkeyPatch) -> set[str]:
    ways = {"one": "replicates = 5", "five": "replicates = 5\naggregate = { pass_at = 5 }"}
    wrong = '[[outcome]]\nid = "wrong"\nbenchmark = "facts"\nscores = { right = 0, other = 1 }\n'
    sampled = CHOICES.replace("[harness]\n", "[harness]\ntemperature = 0.8\n")
    done = room.filled(sampled + studies.axis("attempts", ways) + wrong, facts(20), one_in_five)
    shown = done.rate("wrong")["said"]
    values = [shown[f"attempts={way}"]["value"] for way in ways]
    page = " ".join((done.results / "report.html").read_text("utf-8").split())
    row = page.partition("<strong>wrong</strong>")[2].partition("</tr>")[0]
    return {ATTEMPTS} if values == [0.2, 1.0] and "20.0 %" in row and "100.0 %" in row else set()


def one_in_five(cell: Cell, sample: PlannedSample) -> str:
    number = int(sample.item.id.removeprefix("q"))
    return letter(number, sample.replicate != number % 5)


WITHIN = "a bound is met where a limit is within it, and not a value (`falsification._by_limits`)"


@exhibit(
    "a score of 85 % on 20 items shows that it is 80 % or more",
    f"{EARLIER}: criteria",
    WITHIN,
    lambda patch: patch.setattr(falsification, "share_limits", own_value),
)
def a_value_is_enough(room: Any, patch: MonkeyPatch) -> set[str]:
    bound = 'criterion = { statistic = "score", at_least = 0.8 }'
    test = f'[[falsification]]\nid = "F"\ncategory = "use"\ntest = "80 % are right"\n{bound}\n'
    done = room.filled(CHOICES + test, facts(20), first_seventeen)
    page = " ".join((done.results / "report.html").read_text("utf-8").split())
    low = binomtest(17, 20, alternative="greater").proportion_ci(0.95, "exact").low
    return (
        {WITHIN} if '<td class="strong">open</td>' in page and f"limit {100 * low:.1f} %" in page else set()
    )


def own_value(sizes: Any, right: Any, *_: Any) -> tuple[float, float]:
    return (share := float(right.sum() / sizes.sum())), share
