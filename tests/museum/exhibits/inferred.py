"""What is inferred: from a part of the models, from a curve, along a dose, within a margin, of a control."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from _pytest.monkeypatch import MonkeyPatch

import gridc
from benchmarks.synthetic import fill
from gridc.compiler.hypotheses import tested
from gridc.compiler.inputs import items
from gridc.diagnostics.errors import VerificationError
from gridc.reports import verification
from gridc.reports.findings import curves
from gridc.reports.findings.hypotheses import comparison, contrasts, regression
from gridc.reports.findings.observations import Samples
from gridc.statistics import case_totals, margins, risk
from gridc.statistics.case_totals import CaseTable
from gridc.statistics.curve import refits, shuffles
from tests.museum.exhibit import EARLIER, FINDINGS, exhibit, without
from tests.museum.studied import FACTS, claim, contrasts_of, facts, first_right, letter, verdict_of
from tests.studies import axis

PART = "a hypothesis about some models is computed on those (`observations.Samples.about`)"


def everywhere(about: Callable[..., Any]) -> Callable[..., Any]:
    """As if nobody had said which cells."""
    return lambda self, *parts: about(self)


@exhibit(
    "the registered five models are said to conclude as the six do: H1a is -0.74 points there, odds ratio "
    ".954, and here -0.33 and .979; without GPT-5.2 map-reduce loses 7.05 and not 6.4",
    f"{FINDINGS}, FINDINGS 6",
    PART,
    lambda patch: patch.setattr(Samples, "about", everywhere(Samples.about)),
)
def the_registered_five(room: Any, patch: MonkeyPatch) -> set[str]:
    """Two of three models lose nothing, and the third one, which was not registered, loses 20 of 40 items."""
    stated = claim("difference", "react", "direct", 'side = "less"', 'where = { model = { not = "third" } }')
    right = {"direct": 30, "react": 30}
    done = first_right(room, 40, right, stated, first={}, second={}, third={"react": 10})
    (found,) = contrasts_of(done)
    return {PART} if found.change.difference == 0 else set()


ONE_ARM = "the rate of a reference is of the reference alone (`comparison.Comparison.rate`)"


@exhibit(
    "baselines that are called direct are pools over all scaffolds: 86.5, 71.0 and 79.2 are 90.7, 70.9 and "
    "83.1",
    f"{FINDINGS}, FINDINGS 16",
    ONE_ARM,
    lambda patch: patch.setattr(comparison.Comparison, "rate", pooled),
)
def pools_called_direct(room: Any, patch: MonkeyPatch) -> set[str]:
    """18 of 20 items are right under direct, 12 under each scaffold."""
    stated = claim("difference", ["react", "map_reduce"], "direct")
    done = first_right(room, 20, {"direct": 18, "react": 12, "map_reduce": 12}, stated)
    rates = [each.change.reference_rate for each in contrasts_of(done)]
    return {ONE_ARM} if rates == [0.9, 0.9] else set()


def pooled(self: comparison.Comparison, level: str) -> float:
    sums = self.sums
    return float((sums.cases @ sums.sums).sum() / (sums.cases @ sums.rows).sum())


REFITTED = "a curve is compared with refits of the whole curve (`curves._permute`)"


@exhibit(
    "the median of 384 specifications is compared with shuffles of one of them",
    f"{FINDINGS}, FINDINGS 7; no row is released, so the right p-value is not known",
    REFITTED,
    lambda patch: patch.setattr(curves, "refits", one_for_all(refits)),
)
def one_specifications_null(room: Any, patch: MonkeyPatch) -> set[str]:
    """What shuffles give differs from the least estimate of a curve to its largest one."""
    permutation = small_curve(room).permutation
    assert permutation is not None
    return {REFITTED} if permutation.band[0][0] < permutation.band[-1][0] else set()


def small_curve(room: Any) -> Any:
    """Each of two models' own way with a scaffold, and both of them together."""
    stated = claim("difference", "map_reduce", "direct", 'side = "less"')
    stated = stated.replace("[analysis]", "[analysis]\npermutations = 19") + SUBSETS
    right = {"direct": 30, "map_reduce": 22}
    done = first_right(room, 40, right, stated, one={}, other={"map_reduce": 28})
    (found,) = done.study.findings().findings[curves.CURVES]
    return found


SUBSETS = """
[[fork]]
id = "subset"
category = "data"
levels = ["all", "one", "other"]
default = "all"
binds = "analysis.primary"
choice = { one = { where = { model = "one" } }, other = { where = { model = "other" } } }

[[curve]]
id = "curve"
forks = ["subset"]
declared = "post_hoc"
hypotheses = ["H"]
"""


def one_for_all(sound: Callable[..., Any]) -> Callable[..., Any]:
    def damaged(specifications: Any, batches: Any, totals: Any, count: int) -> Any:
        return tuple(
            np.repeat(each, len(specifications), axis=1)
            for each in sound(specifications[:1], batches, totals, count)
        )

    return damaged


WITHIN = "labels are exchanged within a unit under a model (`curves.shuffles`)"


@exhibit(
    "labels of scaffolds are shuffled over all rows, so that models and benchmarks change places with them",
    f"{FINDINGS}, FINDINGS 7",
    WITHIN,
    lambda patch: patch.setattr(curves, "shuffles", over_all_rows(shuffles)),
)
def shuffled_over_everything(room: Any, patch: MonkeyPatch) -> set[str]:
    """What both arms of a model on a benchmark earn together is in every shuffle what it was."""
    kept: list[bool] = []
    original: Callable[..., Any] = vars(curves)["refits"]

    def watched(specifications: Any, batches: Any, totals: Any, count: int) -> Any:
        made = list(batches)
        for batch in made:
            for name, each in batch.items():
                before = totals[name].sums
                kept.append(
                    bool(np.allclose(each.sums.reshape(len(each.sums), -1).sum(axis=1), before.sum()))
                )
                pairs = before.reshape(-1, 2).sum(axis=1)
                kept.append(bool(np.allclose(each.sums.reshape(len(each.sums), -1, 2).sum(axis=2), pairs)))
        return original(specifications, iter(made), totals, count)

    patch.setattr(curves, "refits", watched)
    small_curve(room)
    assert kept
    return {WITHIN} if all(kept) else set()


def over_all_rows(sound: Callable[..., Any]) -> Callable[..., Any]:
    def damaged(pairs: Any, entries: Any, width: int, count: int, seed: int) -> Any:
        order = np.random.default_rng(seed).permutation(len(pairs.cases))
        moved = {
            name: replace(each, rows=each.rows[order], sums=each.sums[order])
            for name, each in entries.items()
        }
        return sound(pairs, moved, width, count, seed)

    return damaged


PER_STEP = "a dose has one column, of its numbers (`case_totals.scored`)"


@exhibit(
    "an odds ratio of 1.63 stands beside 75.5 against 64.5 %: it is of one feature more, and that of some "
    "features against none is 1.90",
    f"{FINDINGS}, FINDINGS 18; the rank correlation picked from four (exact p .033) is not computed here",
    PER_STEP,
    lambda patch: patch.setattr(regression, "with_dose", any_or_none(case_totals.with_dose)),
)
def per_feature(room: Any, patch: MonkeyPatch) -> set[str]:
    """10, 20 and 30 of 40 items: the odds are 1 / 3, 1 and 3, so that a feature multiplies them by 3; some
    against none by 5."""
    (found,) = contrasts_of(first_right(room, 40, {"f0": 10, "f1": 20, "f2": 30}, along("f0", "f1", "f2")))
    return {PER_STEP} if found.odds.ratio == pytest.approx(3) else set()


def along(*doses: str) -> str:
    """A hypothesis of a rise over frames."""
    order = f'order = {json.dumps(doses)}\ndirection = "increasing"\n'
    tested = '[analysis]\nestimator = "cluster_logit"\n'
    return f'{tested}[[hypothesis]]\nid = "H"\nkind = "trend"\naxis = "frame"\n{order}'


def any_or_none(scored: Callable[..., Any]) -> Callable[..., Any]:
    return lambda design, name, scores: scored(design, name, np.minimum(scores, 1))


LEVELS = "a rate is of one level (`risk.ArmSums.rates`)"


@exhibit(
    "sycophancy is 86.8 % at two leaked features or more: that is at exactly two, at three it is 78.4 %, and "
    "at two or more 85.6 %",
    f"{FINDINGS}, FINDINGS 18",
    LEVELS,
    lambda patch: patch.setattr(risk.ArmSums, "rates", property(or_more)),
)
def exactly_two(room: Any, patch: MonkeyPatch) -> set[str]:
    right = {"f0": 20, "f1": 24, "f2": 36, "f3": 28}
    trend = verdict_of(first_right(room, 40, right, along(*right))).effect.trend
    return {LEVELS} if list(trend.rates.values()) == [0.5, 0.6, 0.9, 0.7] else set()


def or_more(self: risk.ArmSums) -> Any:
    """Each arm with those behind it."""
    held, counted = self.cases @ self.sums, self.cases @ self.rows
    return np.cumsum(held[::-1])[::-1] / np.cumsum(counted[::-1])[::-1]


SAME_ITEMS = "a share and what is left of the loss are of the same items (`contrasts._recovery`)"


@exhibit(
    "a recovery of 73 % and numbers needed of 20 and of 25 stand beside rates of 79.5, 61.5 and 74.5 %: they "
    "give 72 % and 20, and an output file has 61 % and 15",
    f"{FINDINGS}, FINDINGS 19; no row is released",
    SAME_ITEMS,
    lambda patch: patch.setattr(contrasts, "_needed", of_other_items(contrasts._needed)),
)
def another_sample(room: Any, patch: MonkeyPatch) -> set[str]:
    """159, 123 and 149 of 200 items."""
    levels = {"direct": 159, "map_reduce": 123, "options": 149}
    stated = claim("difference", "options", "map_reduce", 'side = "greater"', 'control = "direct"')
    (found,) = contrasts_of(first_right(room, 200, levels, stated))
    shown = (round(100 * found.recovery.share), found.recovery.number_needed.displayed)
    return {SAME_ITEMS} if shown == (72, 20) else set()


def of_other_items(needed: Callable[..., Any]) -> Callable[..., Any]:
    """As the appendix has it: 4.0 points are left, of another sample."""
    return lambda spec, outcome, benchmarks, change: needed(
        spec, outcome, benchmarks, change.model_copy(update={"difference": -0.04, "interval": None})
    )


MARGIN = "a margin is met where a test says so (`margins.within`)"


@exhibit(
    "a change of -2.3 points is called within 2 points",
    f"{FINDINGS}, FINDINGS 21; no row is released, so the counts are the smallest that give it",
    MARGIN,
    lambda patch: patch.setattr(margins, "within", within_when_rounded),
)
def within_by_rounding(room: Any, patch: MonkeyPatch) -> set[str]:
    stated = claim("equivalence", "aggressive", "none", "margin = { pp = 2 }")
    found = verdict_of(first_right(room, 300, {"none": 290, "aggressive": 283}, stated))
    assert round(100 * found.effect.contrasts[0].change.difference, 2) == -2.33
    return {MARGIN} if found.verdict != "supported" else set()


def within_when_rounded(
    units: CaseTable, level: int, reference: int, margin: float, largest: float = 1.0
) -> float:
    sums, rows = units.cases @ units.sums, units.cases @ units.rows
    rates = sums / rows
    return 0.001 if abs(round(float(rates[level] - rates[reference]), 2)) <= margin else 1.0


BOTH_WAYS = "a null control is refuted by a difference either way (`contrasts.p_values`)"


@exhibit(
    "a control has zero significant deviations, and one of its 24 cells gains 10.8 points with p .002",
    f"{FINDINGS}, FINDINGS 22; of the control only some rates are printed",
    BOTH_WAYS,
    lambda patch: patch.setattr(contrasts, "_test", losses_alone(contrasts._test)),
)
def a_gain_is_no_deviation(room: Any, patch: MonkeyPatch) -> set[str]:
    """49.2 and 60.0 % of 500 items."""
    stated = claim("null_control", "map_reduce", "direct", "margin = { pp = 2 }")
    found = verdict_of(first_right(room, 500, {"direct": 246, "map_reduce": 300}, stated))
    return {BOTH_WAYS} if found.verdict == "refuted" else set()


def losses_alone(test: Callable[..., Any]) -> Callable[..., Any]:
    def damaged(fitted: Any, columns: Any, odds: Any) -> Any:
        found = test(fitted, columns, odds)
        return found.model_copy(update={"p": 1.0}) if odds[0].z > 0 else found

    return damaged


@exhibit(
    "superseded outputs lie beside the ones that count, unmarked: H1c is -7.30, -7.70, -8.52 or -8.5 by the "
    "file",
    f"{FINDINGS}, FINDINGS 23",
    "GC707",
    without(verification, "of_reports"),
)
def a_superseded_file(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(("n = 48", "n = 12"))
    out = room.folder / "out"
    out.mkdir()
    fill(room.compiled(), out / "store.sqlite")
    study = gridc.open(room.spec, out=out)
    study.report()
    path = out / "estimates.json"
    older = json.loads(path.read_text("utf-8"))
    older["estimates"][0]["estimate"] -= 0.05
    path.write_text(json.dumps(older), "utf-8")
    try:
        study.verify()
    except VerificationError as error:
        return {each.code for each in error.diagnostics}
    return set()


def decided_by_any_fit(patch: MonkeyPatch) -> None:
    patch.delitem(tested.DECIDES_NOTHING, "glmm")
    patch.setitem(tested.MODELS, "glmm", "a random intercept")


REPORTED = "a random intercept is reported and decides nothing (`tested.DECIDES_NOTHING`)"


@exhibit(
    "a mixed model supports a difference of prompts to which each family of items reacts in its own way",
    f"{EARLIER}: 17 of 40 studies without an effect",
    REPORTED,
    decided_by_any_fit,
)
def random_intercepts_decide(room: Any, patch: MonkeyPatch) -> set[str]:
    stated = claim("difference", "exam", "plain", 'side = "less"', estimator="glmm")
    found = verdict_of(first_right(room, 60, {"plain": 50, "exam": 20}, stated, families=12))
    return {REPORTED} if found.verdict == "open" else set()


COPIES = "a question counts once, however many rows ask it (`draw.with_questions`)"


@exhibit(
    "twelve questions, each in eight rows under different ids, establish for new items what twelve rows "
    "leave open",
    f"{EARLIER}: certified, p = 0.0014",
    COPIES,
    without(items, "with_questions", lambda sampled, columns=None: tuple(sampled)),
)
def copies_as_evidence(room: Any, patch: MonkeyPatch) -> set[str]:
    """One model is right on ten of the twelve, the other on six; copies are spelled in four ways."""
    spelled: list[Callable[[str], str]] = [
        str,
        str.upper,
        lambda text: f" {text}. ",
        lambda text: text.replace(" ", "  "),
    ]
    rows = []
    for copy in range(8):
        for row in facts(12):
            name = f"{row['id']}-{copy}"
            rows.append({**row, "id": name, "family": name, "q": spelled[copy % 4](row["q"])})

    def say(cell: Any, sample: Any) -> str:
        number = int(sample.item.id[1:].partition("-")[0])
        return letter(number, number < (10 if cell.model == "first" else 6))

    frames = {name: f'prompt = "{name}: {{{{ question }}}}"' for name in ("plain", "exam")}
    spec = f'harness = {{ method = "extract" }}\n{FACTS}{axis("frame", frames)}'
    done = room.filled(spec, rows, say, "first", "second")
    page = (done.results / "report.html").read_text("utf-8")
    told = "96 items (12 distinct questions)" in page and "no two models can be told apart" in page
    (pair,) = done.certificate()["scopes"][0]["pairs"]
    return {COPIES} if told and pair["evidence"]["tier"] == "descriptive" else set()
