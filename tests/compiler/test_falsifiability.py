"""Whether hypotheses can be supported and refuted by the study that states them."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.hypotheses import kind_of
from gridc.compiler.hypotheses.kind import PlannedTest
from gridc.compiler.hypotheses.ranking import fewest_by_bets, order_outcomes
from gridc.compiler.lock.lock import stamp_of
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.falsifiability import hypothesis_hazards, manifest, parts_of, prospects
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.diagnostics.errors import HazardError, SpecError
from gridc.schema.inference import RankingHypothesis
from gridc.statistics.betting import log_e_values, p_of_e_values, stakes
from gridc.statistics.expected_power import Assumptions, DecidingTest, Layout, Stratum
from tests import studies
from tests.compiler.conftest import make_model, questions
from tests.statistics.test_expected_power import share_shown
from tests.worlds.games import contrast as contrast_of
from tests.worlds.studies import Bench

Make = Callable[..., Compiled]
FORTY = ("n = 4", "n = 40")

ROOT = Path(__file__).parents[2]
AXES = '[[axis]]\nid = "template"\n'
TESTED = "[analysis]\n", '[analysis]\nestimator = "cluster_logit"\n'


@pytest.fixture
def compiled(compiled: Make, small: Path) -> Make:
    """The small study, whose effects are tested unless an edit says what its analysis is."""

    def make(*edits: tuple[str, str]) -> Compiled:
        own = "estimator" in small.read_text("utf-8") or any("[analysis]" in before for before, _ in edits)
        return compiled(*(() if own else (TESTED,)), *edits)

    return make


@pytest.fixture
def roomy(compiled: Make, small: Path) -> Make:
    """The small study with items enough to draw 40."""
    (small.parent / "facts.json").write_text(json.dumps(questions(48)), "utf-8")
    return compiled


def stating(*lines: str) -> tuple[str, str]:
    """An edit of the small study: tables before its axes."""
    return AXES, "\n".join(lines) + "\n\n" + AXES


def contrast(kind: str, *more: str, where: str = '{ scoring = "read" }') -> tuple[str, str]:
    compared = ('axis = "decoding"', 'level = "warm"', 'reference = "greedy"')
    return stating("[[hypothesis]]", 'id = "H"', f'kind = "{kind}"', *compared, f"where = {where}", *more)


def hazards(compiled: Compiled) -> dict[str, str]:
    return {each.code: each.problem for each in hypothesis_hazards(Plan(compiled.study))}


@pytest.mark.parametrize(
    ("edit", "codes"),
    [
        (contrast("difference"), {"GC522"}),
        (contrast("difference", 'side = "less"'), set()),
        (contrast("difference", "margin = { pp = 50 }"), set()),
        (contrast("null_control"), {"GC521"}),
        (contrast("null_control", "margin = { pp = 50 }"), set()),
        (contrast("equivalence", "margin = { pp = 50 }"), set()),
        (contrast("equivalence", "margin = { pp = 100 }"), {"GC522"}),
        (contrast("noninferiority", 'side = "greater"', "margin = { pp = 50 }"), set()),
        (
            stating(
                "[[hypothesis]]",
                'id = "H"',
                'kind = "interaction"',
                'axis = "decoding"',
                'by = "model"',
                'where = { scoring = "read" }',
            ),
            {"GC522"},
        ),
    ],
)
def test_what_each_kind_needs(roomy: Make, edit: tuple[str, str], codes: set[str]) -> None:
    assert set(hazards(roomy(FORTY, edit))) == codes


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("difference", ('side = "greater"', 'side = "less"', "margin = { pp = 10 }")),
        ("null_control", ("margin = { pp = 10 }",)),
    ],
)
def test_what_the_help_names_is_enough(roomy: Make, kind: str, written: tuple[str, ...]) -> None:
    """Of 40 items, none changed: (1 - .1)^40 = .015 is the chance of it if one in 10 did."""
    stated = roomy(FORTY, contrast(kind))
    (help,) = (each.help or "" for each in hypothesis_hazards(Plan(stated.study)))
    spec = stated.source.path.read_text("utf-8")
    for key in written:
        assert key in help
        stated.source.path.write_text(spec.replace(f'kind = "{kind}"', f'kind = "{kind}"\n{key}'), "utf-8")
        assert hazards(compile_spec(stated.source.path)) == {}


def test_an_interaction_is_told_which_differences_to_predict(roomy: Make) -> None:
    stated = ("[[hypothesis]]", 'id = "H"', 'kind = "interaction"', 'axis = "template"')
    plan = Plan(roomy(FORTY, stating(*stated, 'by = "decoding"', 'where = { scoring = "read" }')).study)
    (help,) = (each.help or "" for each in hypothesis_hazards(plan))
    assert 'kind = "difference"' in help and "where = { decoding = ... }" in help


def test_items_are_too_few_for_the_margin(roomy: Make) -> None:
    """Of 40 items, none changed: (1 - .07)^40 = .055 is the chance of it if one in 14 did. With .93^42 = .047
    and .925^40 = .044 they do."""
    narrow = roomy(FORTY, contrast("equivalence", "margin = { pp = 7 }"))
    assert hazards(narrow) == {"GC521": "no outcome of 40 items could support `H`"}
    (help,) = (each.help for each in hypothesis_hazards(Plan(narrow.study)))
    assert help == "draw 42 items, or pp = 7.5"
    assert help in [told["unshown"] for told in manifest(Plan(narrow.study))["hypotheses"]]


@pytest.mark.parametrize(
    ("sizes", "points", "declares"),
    [((32,) * 24, 5, True), ((1,) * 10 + (30,) * 8, 8, False), ((4,) * 20, 9.3, False)],
)
def test_each_way_out_of_an_undecidable_margin_is_enough_and_no_less_is(
    sizes: tuple[int, ...], points: float, declares: bool
) -> None:
    """By what a plan then says of the changed study. What would make it irrefutable is not proposed."""

    def hazards_of(sizes: Sequence[int], **stated: Any) -> list[Any]:
        hypothesis = contrast_of("equivalence", margin={"pp": points} | stated)
        more = {"hypothesis": [hypothesis], "analysis": {"estimator": "none"}}
        return list(hypothesis_hazards(Bench(sizes, 1, 1, 2, more).plan))

    (hazard,) = hazards_of(sizes)

    def named(pattern: str) -> float:
        found = re.search(pattern, hazard.help)
        return float(found[1]) if found else 0.0

    units, pp = round(named(r"of (\d+) units")), named(r"pp = ([\d.]+)")
    less, enough = (np.resize(np.sort(sizes), count).tolist() for count in (units - 1, units))
    assert hazards_of(less) and not hazards_of(enough)
    assert bool(pp) is (sizes[0] > 1)
    if pp:
        assert hazards_of(sizes, pp=pp - 0.5) and not hazards_of(sizes, pp=pp)
    largest = named(r"largest_change = (\d+)")
    assert bool(largest) is declares
    if declares:
        assert hazards_of(sizes, largest_change=largest + 5)
        assert not hazards_of(sizes, largest_change=largest)
    assert 'about = "these_units"' in hazard.help and not hazards_of(sizes, about="these_units")


def test_levels_that_are_never_run_together_support_nothing(compiled: Make) -> None:
    """Rankings are not sampled in this study, so nothing there speaks of sampling."""
    apart = contrast("difference", 'side = "less"', where='{ scoring = "rank" }')
    assert set(hazards(compiled(apart))) == {"GC521", "GC522"}


def test_an_order_of_three_models_needs_two_items(compiled: Make, small: Path) -> None:
    make_model(small.parent / "models" / "third")
    third = '[[model]]\nid = "third"\nengine = "hf"\nsource = "path:models/third"\n\n[[benchmark]]'
    edits = [("[[benchmark]]", third), ('["left", "right"]', '["left", "right", "third"]')]
    assert hazards(compiled(("n = 4", "n = 1"), *edits)) == {
        "GC521": "no outcome of 1 item could support `H1`"
    }
    assert hazards(compiled(("n = 1", "n = 2"))) == {}


def test_the_hazard_points_at_the_hypothesis_and_blocks_a_run(compiled: Make) -> None:
    made = compiled(TESTED, contrast("null_control"))
    with pytest.raises(HazardError) as caught:
        prove_hazards(made.study, made.source)
    found = {each.code: each for each in caught.value.diagnostics}
    assert found["GC521"].line == 'id = "H"'
    assert "margin = { pp = 2 }" in str(found["GC521"].help)
    assert '[[waive]] code = "GC521", where = { hypothesis = "H" } and a `why`' in str(found["GC521"].help)


def test_effects_without_an_estimator_are_refused_before_a_stamp_and_read_ever_after(roomy: Make) -> None:
    """Saying that there is none moves no stamp."""
    silent = roomy(FORTY, contrast("difference", 'side = "less"'), ("[analysis]\n", "[analysis]\n"))
    with pytest.raises(SpecError, match="GC338"):
        prove_hazards(silent.study, silent.source)
    stated = roomy((TESTED[0], '[analysis]\nestimator = "none"\n'))
    prove_hazards(stated.study, stated.source)
    assert stamp_of(stated.study) == stamp_of(silent.study)


def test_what_no_test_is_of_is_promised_no_verdict(roomy: Make) -> None:
    """An outcome that is not a mean over items is measured, and every estimator leaves it open."""
    spec = roomy(FORTY, TESTED, contrast("difference", 'side = "less"')).study.spec
    stated = next(hypothesis for hypothesis in spec.hypothesis if hypothesis.id == "H")
    of_bias = stated.model_copy(update={"outcome": "bias_ambiguous"})
    assert set(kind_of(of_bias).unreachable_verdicts(of_bias, spec)) == {"supported", "refuted"}
    assert not kind_of(stated).unreachable_verdicts(stated, spec)


@pytest.mark.parametrize(("hypothesis", "left"), [("H", set()), ("H1", {"GC521"})])
def test_it_can_be_waived_for_one_hypothesis(compiled: Make, hypothesis: str, left: set[str]) -> None:
    where = f'where = {{ hypothesis = "{hypothesis}" }}'
    waive = ["[[waive]]", 'code = "GC521"', 'why = "a control"', where]
    made = compiled(TESTED, contrast("null_control", *waive))
    with pytest.raises((HazardError, SpecError)) as caught:
        prove_hazards(made.study, made.source)
    assert {each.code for each in caught.value.diagnostics} & {"GC521"} == left


def test_a_waiver_names_a_hypothesis_that_there_is(compiled: Make) -> None:
    waive = ["[[waive]]", 'code = "GC521"', 'why = "a slip"', 'where = { hypothesis = "H2" }']
    with pytest.raises(SpecError, match="`hypothesis` has no `H2`"):
        compiled(stating(*waive))


def test_a_family_asks_for_its_strictest_level(compiled: Make) -> None:
    family = ["[[family]]", 'id = "all"', 'correction = "holm"', "alpha = 0.04"]
    both = contrast("difference", 'side = "less"', 'family = "all"', *family)
    made = compiled(both, ('kind = "ranking"\n', 'kind = "ranking"\nfamily = "all"\n'))
    tested, ranked = prospects(Plan(made.study))
    assert (tested.power.alpha, ranked.power.alpha) == (0.01, None)


def test_only_primary_cells_speak(compiled: Make) -> None:
    primary = ("[analysis]\n", f'{TESTED[1]}primary = {{ decoding = "greedy" }}\n')
    made = compiled(contrast("difference", 'side = "less"'), primary)
    assert set(hazards(made)) == {"GC521", "GC522"}


def test_the_number_of_items_need_not_be_known(compiled: Make) -> None:
    """Items that are absent are counted as the spec says; where it does not, nothing is claimed of them."""
    equivalent = contrast("equivalence", "margin = { pp = 2 }")
    drawn = compiled(equivalent, ('"path:facts.json"', '"data:facts.json"'))
    assert prospects(Plan(drawn.study))[0].items == 4
    whole = prospects(Plan(compiled(("sample = { n = 4, seed = 1 }\n", "")).study))[0]
    assert (whole.items, whole.units, whole.power.detectable_pp) == (None, None, None)
    assert set(whole.outcomes) == {"supported", "refuted", "open"}
    assert not any(letter.isdigit() for told in whole.outcomes.values() for letter in told)


def test_families_of_items_change_as_one(compiled: Make, small: Path) -> None:
    bbq = "builtin:pocket_bbq.jsonl"
    made = compiled(
        ('loader = "truthfulqa_mc1"', 'loader = "bbq"'),
        ('"path:facts.json"', f'"{bbq}"'),
        ("n = 4, seed = 1", 'n = 8, seed = 1, unit = "cluster"'),
        contrast("difference", 'side = "less"'),
    )
    found = prospects(Plan(made.study))[0]
    assert (found.items, found.units) == (8, 2)
    assert set(found.outcomes) == {"open"}


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    "sizes", [(16, 14, 10, 8, 8, 6, 5, 4, 4, 3, 2), (6,) * 30, (4,) + (1,) * 60], ids=str
)
def test_an_order_asks_for_as_few_units_as_its_bets_take(sizes: tuple[int, ...], steps: int) -> None:
    def p(n: int) -> float:
        """Where each step takes its share of the items of the `n` largest units."""
        differences = np.array([[size if at < n else 0 for at, size in enumerate(sizes)]])
        return float(
            p_of_e_values(log_e_values(differences, sizes[0] * steps, stakes(sum(sizes) / len(sizes))))[0]
        )

    least = fewest_by_bets(0.025, sizes, steps)
    if least <= len(sizes):
        assert p(least) <= 0.025 < p(least - 1)
    else:
        assert p(len(sizes)) > 0.025


def test_on_the_items_alone_an_order_takes_items_and_not_units(tmp_path: Path) -> None:
    """One family of 40 items has room for two steps; by descriptive evidence nothing is said of units."""
    text = (ROOT / "gridcard.toml").read_text().replace('evidence = "supported"', 'evidence = "descriptive"')
    path = tmp_path / "gridcard.toml"
    path.write_text(text)
    spec = compile_spec(path).spec
    (hypothesis,) = spec.hypothesis
    assert isinstance(hypothesis, RankingHypothesis)
    found = order_outcomes(hypothesis, PlannedTest(spec, 0.05, False, None), (40,))
    assert found["supported"].endswith("ahead of the next by an item or more")
    assert "supported" not in order_outcomes(hypothesis, PlannedTest(spec, 0.05, False, None), (1,))


def test_steps_share_items_that_are_their_own_unit_and_not_units_of_several(tmp_path: Path) -> None:
    """p is 1/2 to the number of units that all go one way: at 0.001, ten; two steps take other items each."""
    path = tmp_path / "gridcard.toml"
    path.write_text((ROOT / "gridcard.toml").read_text())
    spec = compile_spec(path).spec
    (three,) = spec.hypothesis
    assert isinstance(three, RankingHypothesis) and len(three.order) == 3
    two = three.model_copy(update={"order": three.order[:2]})
    design = PlannedTest(spec, 0.001, False, None)

    def shown(order: RankingHypothesis, size: int) -> list[int]:
        """The fewest units, all of this size, by which an order is supported, and refuted."""
        possible = [order_outcomes(order, design, (size,) * units).keys() for units in range(60)]
        return [
            next(at for at, each in enumerate(possible) if word in each) for word in ("supported", "refuted")
        ]

    assert shown(two, 1) == [10, 10] and shown(three, 1) == [20, 10]
    assert shown(three, 3) == [20, 20], "below 20 units of several items nothing is decided"
    stricter = PlannedTest(spec, 2.0**-24, False, None)
    assert "supported" in order_outcomes(three, stricter, (3,) * 24)
    assert "supported" not in order_outcomes(three, stricter, (3,) * 23)


def test_an_order_is_supported_by_all_benchmarks_and_refuted_by_one(tmp_path: Path) -> None:
    """By bets 11 uneven units are too few and 24 are enough; what each takes is said where it differs."""
    text = (ROOT / "gridcard.toml").read_text().replace('evidence = "supported"', 'evidence = "certified"')
    path = tmp_path / "gridcard.toml"
    path.write_text(text.replace('where = { benchmark = "pocket_truthfulqa" }', ""))
    assert hazards(compile_spec(path)).keys() == {"GC521"}
    path.write_text(text)
    (found,) = prospects(Plan(compile_spec(path).study))
    assert found.outcomes.keys() == {"supported", "refuted", "open"}


def test_an_order_that_too_few_families_of_items_could_show_is_a_hazard(tmp_path: Path) -> None:
    """11 templates, worth 8.3 of one size: too few for bets, and for sign flips."""
    text = (ROOT / "gridcard.toml").read_text().replace('"pocket_truthfulqa" }  #', '"pocket_bbq" }  #')
    for evidence in ("supported", "certified"):
        path = tmp_path / f"{evidence}.toml"
        path.write_text(text.replace('evidence = "supported"', f'evidence = "{evidence}"'))
        found = list(hypothesis_hazards(Plan(compile_spec(path).study)))
        assert [hazard.code for hazard in found] == ["GC521", "GC522"]
        assert all("draw more units" in (hazard.help or "") for hazard in found)


def test_what_is_stated_and_not_computed_is_told(compiled: Make) -> None:
    assert not manifest(Plan(compiled(contrast("difference", 'side = "less"')).study))["uncomputed"]
    keys = 'id = "F"', 'category = "data"', 'levels = ["a", "b"]', 'default = "a"', 'binds = "documented"'
    told = manifest(Plan(compiled(stating("[[fork]]", *keys)).study))["uncomputed"]
    assert [(each["table"], each["id"]) for each in told] == [("fork", "F")]


def test_notes_say_what_the_design_cannot_show(compiled: Make) -> None:
    """Six items under two templates for two models, one answer in ten changes: four answers to each unit."""
    made = compiled(("n = 4", "n = 6"), contrast("equivalence", "margin = { pp = 15 }"))
    told = manifest(Plan(made.study))
    json.dumps(told)
    least = told["hypotheses"][0]["power"]["detectable_pp"]["0.1"]
    test = DecidingTest("inside", "two-sided", 0.05, least / 100)
    share = share_shown(test, Layout((Stratum((4.0,) * 6),), 2), Assumptions(0.1, 0.1))
    assert share == pytest.approx(0.8, abs=0.09)
    assert told["notes"] == [
        "facts: 6 of 8 items are asked (sample: n = 6, seed = 1)",
        f"H: its margin of 15 pp is below the {least} pp that 6 items can show when 10 % of the answers "
        "change",
        "calm of facts: 4 configurations, where rho_flip saturates at 0.50 and shows that a reversal exists, "
        "not how large it is",
    ]


def test_levels_that_draw_items_of_their_own_are_compared_on_those_in_common(tmp_path: Path) -> None:
    """The plan counts what the report compares; before, no level had items enough for the hypothesis."""
    rows = [{"id": f"q{n}", "q": f"Question {n}?", "a": "no", "b": "yes", "gold": n % 2} for n in range(60)]
    fields = 'id = "id", query = "q", options = ["a", "b"], gold = "gold"'
    spec = studies.head("drawn", studies.pocket(one="qwen2", two="llama"))
    spec += 'harness = { prompt = "{{ question }}", method = "extract" }\n'
    spec += studies.benchmark("facts", fields, 'option_order = "file"')
    spec += studies.axis(
        "sample", {"few": "items = { n = 30, seed = 1 }", "many": "items = { n = 40, seed = 2 }"}
    )
    spec += (
        '[[hypothesis]]\nid = "H"\nkind = "difference"\naxis = "sample"\nlevel = "many"\nreference = "few"\n'
    )
    spec += '[analysis]\nestimator = "cluster_logit"\n'
    studies.written(tmp_path, spec, rows)
    plan = Plan(compile_spec(tmp_path / "gridcard.toml").study)
    asked = [{item.id for item in plan.items(cell)} for cell in plan.cells() if cell.model == "one"]
    ((hypothesis, compared),) = zip(plan.study.spec.hypothesis, plan.survey.hypothesis, strict=True)
    parts = parts_of(plan.study, hypothesis, compared)
    assert parts is not None and parts["facts"].items == len(set.intersection(*asked)) > 0
