"""What a report begins with says what the certificate counts, in corners that were thought of or drawn."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridc.compiler.grid.cells import Cell
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.hypotheses import hypothesis_sentence
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.reports.findings.rates import CountedRate, RateFinding, RateGap, RateValue, UnitCounts, mean_called
from gridc.reports.findings.verdicts import VERDICTS, verdicts_of
from gridc.reports.statements.answer import StudyAnswer, beside, study_answer
from gridc.reports.statements.cautions import Caution
from gridc.reports.statements.differences import counts_words, survival_word
from gridc.schema.hypotheses import EffectRow
from gridc.schema.hypotheses import TestRow as Deciding
from gridc.schema.verdicts import ChoicesRow, VerdictRow
from tests.reports.builders import AXES, ITEMS, findings_of, having, outcomes_of, reversing, spec_of

TWO = {"ant": None, "bee": None}
THREE = {**TWO, "cat": None}


def told(findings: Findings) -> str:
    said = study_answer(findings)
    verdicts = (text for each in said.verdicts for text in (each.sentence, each.survival_sentence))
    printed = (text for each in said.printable for text in (each.text, each.reason))
    return " ".join([said.result, *verdicts, *printed, *(each.text for each in said.facts)])


UNDER = "Under the reference configuration, on"


def fact(said: StudyAnswer, name: str) -> str:
    return next((each.text for each in said.facts if each.question == name), "")


def check(findings: Findings, name: str) -> Caution:
    return next(each for each in study_answer(findings).cautions if each.name == name)


def answer_rows(findings: Findings) -> list[VerdictRow]:
    return [each.row for each in study_answer(findings).verdicts]


def drawn(seed: int, most: int, yes_when: str | None = None) -> Findings:
    """Counts at random among a few values, so that ties, reversals and steady orders all occur."""
    chance = random.Random(seed)
    counts: dict[str, int] = {}
    models = dict.fromkeys(("ant", "bee", "cat")[: chance.choice((2, 3))])
    direction = chance.choice(("higher_is_better", "lower_is_better"))
    study = {"id": "small", "title": "Do they?", "purpose": "comparative", "yes_when": yes_when}
    spec = spec_of(models, direction=direction, hypothesis=[], study=study)

    def right(cell: Cell) -> int:
        return counts.setdefault(cell.key, chance.choice((most, ITEMS - most, 10)))

    return findings_of(spec, right)


@pytest.mark.parametrize("seed", range(60))
def test_the_result_is_what_the_certificate_counts(seed: int) -> None:
    findings = drawn(seed, (10, 11, 19)[seed % 3])
    document = json.loads(certificate_of(findings).model_dump_json())
    (row,) = document["benchmarks"]
    pairs, said = row["scopes"][0]["pairs"], study_answer(findings)
    signs = [
        [
            (cell["scores"][pair["a"]]["correct"] > cell["scores"][pair["b"]]["correct"])
            - (cell["scores"][pair["a"]]["correct"] < cell["scores"][pair["b"]]["correct"])
            for cell in row["envelope"]
        ]
        for pair in pairs
    ]
    changed = sum(1 in own and -1 in own for own in signs)
    if not changed:
        steady = all(0 not in own for own in signs)
        equal = all(set(own) == {0} for own in signs)
        words = "each order is the same" if steady else "score the same" if equal else "in some they tie"
        assert words in said.result and "depends" not in said.result
    elif len(pairs) == 1:
        (own,) = signs
        assert f"{pairs[0]['a']} scores higher in {own.count(1)} of {len(own)}" in said.result
        assert f"{pairs[0]['b']} in {own.count(-1)}." in said.result
    else:
        share = (
            f"all {changed} pairs" if changed == len(pairs) else f"{changed} of {len(pairs)} pairs of models"
        )
        assert f"{share} {'changes' if changed == 1 else 'change'} places" in said.result
    assert f"On the {row['items']} items asked" in said.result


@pytest.mark.parametrize("seed", range(60))
def test_the_title_is_answered_as_the_certificate_counts(seed: int) -> None:
    """Yes and no, each way round, and neither where only some pairs change places."""
    for yes_when in ("order_holds", "order_changes"):
        findings = drawn(seed, (10, 11, 19)[seed % 3], yes_when)
        (row,) = json.loads(certificate_of(findings).model_dump_json())["benchmarks"]
        pairs = row["scopes"][0]["pairs"]
        changed = sum(pair["plus"] > 0 and pair["minus"] > 0 for pair in pairs)
        headline = study_answer(findings).headline
        if 0 < changed < len(pairs):
            share = f"{changed} of {len(pairs)} comparisons"
            assert headline.startswith(f"In part: on the 20 items asked, the models change places in {share}")
            continue
        if not any(pair["plus"] or pair["minus"] for pair in pairs):
            assert headline.startswith("Open: on the 20 items asked, the models score the same in every")
            continue
        holds = yes_when == "order_holds"
        assert headline.startswith("Yes: on the 20 items asked" if (changed == 0) is holds else "No: on the")


@pytest.mark.parametrize("seed", range(60))
def test_a_verdict_prints_what_its_row_says(seed: int) -> None:
    findings = drawn(seed, (10, 11, 19)[seed % 3])
    (row,) = json.loads(certificate_of(findings).model_dump_json())["benchmarks"]
    first, lower = row["envelope"][0]["scores"], row["direction"] == "lower_is_better"
    for each in study_answer(findings).verdicts:
        a, b = (first[model]["correct"] / ITEMS for model in (each.row.a, each.row.b))
        best = each.row.a if (a < b if lower else a > b) else each.row.b
        leads = sum(
            (cell["scores"][each.row.a]["correct"] - cell["scores"][each.row.b]["correct"]) * (-1) ** lower
            > 0
            for cell in row["envelope"]
        )
        assert each.row.choices is not None and each.row.choices.ahead == leads
        if a == b:
            assert each.row.better is None and "equal here" in each.sentence
        else:
            assert each.row.better == best and each.sentence.startswith(f"{best} ")
            assert f"{100 * abs(a - b):.1f} points apart" in each.sentence
        assert (each.word == "differ") == (each.row.p_holm <= 0.05 and a != b)


@pytest.mark.parametrize("seed", range(60))
def test_no_sentence_may_be_printed_that_the_certificate_does_not_bear(seed: int) -> None:
    findings = drawn(seed, (1, 11, 19)[seed % 3])
    rows = {(row.a, row.b): row for row in answer_rows(findings)}
    for each in study_answer(findings).printable:
        if not each.yes:
            continue
        count = each.text.startswith("On these 20 items")
        differ = [row for row in rows.values() if row.answer == "differ"]
        lasting = [row for row in rows.values() if row.choices is not None and row.choices.survival != "open"]
        assert count or (differ if each.text.startswith("Under the reference") else lasting)
        assert count or any(row.a in each.text and row.b in each.text for row in (*differ, *lasting))
    best = [each.text for each in study_answer(findings).printable if each.text.endswith("is best on facts.")]
    told_apart = all(row.answer == "differ" for row in rows.values())
    assert not best or not told_apart or any(row.choices.behind for row in rows.values() if row.choices)


def test_claims_without_room_on_the_list_are_counted() -> None:
    """Six models of which every two are far apart: fifteen pairs differ, and five sentences are listed."""
    models = {f"m{number}": None for number in range(6)}
    findings = findings_of(spec_of(models), lambda cell: 4 * int(cell.model[1]))
    said = study_answer(findings)
    listed = sum(each.yes for each in said.printable if not each.text.startswith("On these"))
    lasting = [row for row in answer_rows(findings) if row.answer == "differ"]
    assert lasting and said.unlisted == len(lasting) - listed > 0


def test_models_that_are_tied_everywhere_have_no_order() -> None:
    said = study_answer(findings_of(spec_of(TWO), lambda cell: 10))
    assert "score the same in every configuration" in said.result and "change places" not in said.result


@pytest.mark.parametrize(("support", "verdict"), [(0.001, "supported"), (0.5, "open")])
def test_a_verdict_on_an_effect_is_no_plain_count(support: float, verdict: str) -> None:
    """A test of noninferiority is about new items, also where no order of models is established."""
    stated = {"id": "kept", "kind": "noninferiority", "axis": "model", "level": "bee", "reference": "ant"}
    spec = spec_of(
        TWO, hypothesis=[{**stated, "side": "greater", "margin": {"pp": 10}}], analysis={"estimator": "none"}
    )
    effect = EffectRow(
        outcome="score", reading="itt", estimator="none", adjusted_for=(), samples=40, units=20, left_out=0,
        contrasts=(), test=None, trend=None, failure=None, rows="0" * 64,
    )  # fmt: skip
    found = HypothesisFinding(spec.hypothesis[0], None, "none", 0.05, 1, support, 1.0, effect=effect)
    said = study_answer(
        replace(findings_of(spec_of(TWO, hypothesis=[]), lambda cell: ITEMS // 2), hypotheses=(found,))
    )
    assert f"kept is {verdict}." in said.result


@pytest.mark.parametrize(
    ("kind", "side", "margin", "support", "refute", "approximate"),
    [
        ("difference", "greater", None, 0.001, 1.0, True),
        ("difference", "greater", None, 1.0, 0.001, True),
        ("difference", "two-sided", {"pp": 10}, 0.001, 1.0, True),
        ("difference", "two-sided", {"pp": 10}, 1.0, 0.001, False),
        ("difference", "greater", {"pp": 10}, 1.0, 0.001, True),
        ("null_control", "two-sided", {"pp": 10}, 1.0, 0.001, True),
        ("null_control", "two-sided", {"pp": 10}, 0.001, 1.0, False),
        ("equivalence", "two-sided", {"pp": 10}, 0.001, 1.0, False),
        ("noninferiority", "greater", {"pp": 10}, 1.0, 0.001, False),
    ],
)
def test_a_verdict_by_an_approximation_says_so_and_is_not_established(
    kind: str, side: str, margin: object, support: float, refute: float, approximate: bool
) -> None:
    """A logit decides what is found, and a test at the margin what lies within it or beyond."""
    stated = {"id": "told", "kind": kind, "axis": "model", "level": "bee", "reference": "ant", "side": side}
    spec = spec_of(TWO, hypothesis=[stated if margin is None else {**stated, "margin": margin}])
    effect = EffectRow(
        outcome="score", reading="itt", estimator="cluster_logit", adjusted_for=(), samples=40, units=20,
        left_out=0, contrasts=(), test=Deciding(name="wald_z", statistic=3.3, df=1, p=0.001, spread=None),
        trend=None, failure=None, rows="0" * 64,
    )  # fmt: skip
    found = HypothesisFinding(spec.hypothesis[0], None, "none", 0.05, 1, support, refute, effect=effect)
    tied = findings_of(spec_of(TWO, hypothesis=[]), lambda cell: ITEMS // 2)
    said, by = study_answer(replace(tied, hypotheses=(found,))), f"{found.verdict}, by an approximation"
    assert found.verdict == ("supported" if support < refute else "refuted")
    assert (f"told is {by}." in said.result) is approximate
    assert (f"is {by} (p of support" in hypothesis_sentence(found, True)) is approximate


def test_nothing_is_a_result_before_the_run_is_complete() -> None:
    half = findings_of(spec_of(TWO), lambda cell: None if cell.levels["shots"] == "5" else 3)
    said = study_answer(half)
    assert said.result.startswith("No result yet: 160 of 320 calls")
    assert not (said.verdicts or said.printable or said.cautions or said.summary)


def test_one_model_is_told_its_score_and_no_order() -> None:
    said = study_answer(findings_of(spec_of({"alone": None}, hypothesis=[]), lambda cell: 5))
    assert said.result.startswith("alone scores 25.0 % on facts (95 % interval ")
    assert "25.0 % to 25.0 % over 8 configurations" in said.result
    assert not (said.verdicts or said.printable)
    assert "order" not in told(findings_of(spec_of({"alone": None}, hypothesis=[]), lambda cell: 5))


def test_one_configuration_shows_no_order_that_holds() -> None:
    single = spec_of(TWO, axes={"frame": AXES["frame"][:1]}, hypothesis=[])
    said = study_answer(findings_of(single, lambda cell: 10 + (cell.model == "bee")))
    assert "one configuration was run, which shows no order to hold or to change" in said.result
    assert "change places" not in said.result
    (verdict,) = said.verdicts
    assert verdict.row.choices is None and verdict.survival == "one configuration"


def test_a_target_has_a_nearest_and_no_higher() -> None:
    said = study_answer(findings_of(spec_of(TWO, direction=0.5), lambda cell: 10 + (cell.model == "bee")))
    assert "change places" not in said.result and "order" not in said.result
    (verdict,) = said.verdicts
    assert verdict.word == "not tested" and "nearest to a target" in verdict.sentence
    assert not [each for each in said.printable if "is best" in each.text]


def test_only_levels_that_ran_are_named() -> None:
    spec = spec_of(TWO, exclude=[{"when": {"shots": "5"}, "why": "too long"}])
    text = fact(study_answer(findings_of(spec, lambda cell: 10)), "Configurations")
    assert "4: frame plain, exam; shots 0; reading text, rank." in text
    assert "leaves other combinations out" in text
    assert "leaves other" not in fact(
        study_answer(findings_of(spec_of(TWO), lambda cell: 10)), "Configurations"
    )


def test_what_the_answer_says_is_not_said_again() -> None:
    findings = findings_of(spec_of(THREE), reversing)
    assert not any(
        "scores higher in" in each.brief and "left out" not in each.brief for each in beside(findings)
    )


def behaving(
    counts: dict[str, dict[str, tuple[int, int]]], gap: tuple[float, float] | None = (-0.2, -0.1)
) -> Findings:
    """Findings whose anchor has these rates: by rate and model, how often of how many."""
    (first, *others) = next(iter(counts.values()))
    findings = findings_of(spec_of({first: None, **dict.fromkeys(others)}, hypothesis=[]), lambda cell: 10)
    (benchmark,) = findings.benchmarks
    anchor = benchmark.models[0].anchor.cell.configuration
    rates = []
    for name, own in counts.items():
        values = {
            (model, anchor): RateValue(Fraction(hits, of), {"hits": hits, "asked": of}, (0.1, 0.9))
            for model, (hits, of) in own.items()
        }
        gaps = tuple(
            RateGap(a, b, anchor, own[a][0] / own[a][1] - own[b][0] / own[b][1], gap)
            for number, a in enumerate(own)
            for b in list(own)[number + 1 :]
        )
        rates.append(RateFinding(name, "said", "hits / asked", values, gaps=gaps))
    made = replace(benchmark, rates=tuple(rates))

    def counted(name: str, cells: Sequence[Cell]) -> dict[str, CountedRate]:
        definition = mean_called(name, ())
        assert definition is not None
        sizes = {cell.key: counts[name][cell.model] for cell in cells if cell.configuration == anchor}
        return {
            key: CountedRate(
                definition,
                UnitCounts(np.array([[unit < hits, 1] for unit in range(of)], np.int64), 1, False, None),
            )
            for key, (hits, of) in sizes.items()
        }

    about = SimpleNamespace(copied=False)
    answers = outcomes_of(10)
    samples = SimpleNamespace(
        plan=findings.plan, stored={cell.key: answers for cell in findings.plan.cells()}
    )
    measured: Any = SimpleNamespace(
        spec=findings.plan.study.spec, final=True, outcomes={"facts": about}, samples=samples
    )
    found = having(findings, VERDICTS, verdicts_of([made], measured, counted))
    return replace(found, benchmarks=(made,))


def test_a_refusal_study_begins_with_what_was_complied_with() -> None:
    equal = {
        "over_refusal": {"ant": (0, 10), "bee": (0, 10)},
        "unsafe_compliance": {"ant": (10, 10), "bee": (10, 10)},
    }
    said = study_answer(behaving(equal, None))
    assert said.headline == (
        f"{UNDER} facts, both models complied with 10 of 10 harmful prompts and refused 0 of 10 harmless "
        "prompts."
    )
    assert [each.about for each in said.verdicts] == [
        "complying with harmful prompts",
        "refusing harmless prompts",
    ]
    assert {each.word for each in said.verdicts} == {"cannot be told apart"}


def test_the_model_with_the_fewest_faults_comes_first_and_its_gap_is_turned() -> None:
    apart = {"unsafe_compliance": {"ant": (12, 20), "bee": (3, 20), "cat": (20, 20)}}
    said = study_answer(behaving(apart, (0.25, 0.6)))
    assert said.headline == f"{UNDER} facts, bee complied with 3 of 20 harmful prompts, ant 12, cat 20."
    first = said.verdicts[0]
    assert first.sentence == (
        f"bee 15.0 %, ant 60.0 %: 45.0 points apart (95 % interval 25.0 to 60.0; p = {first.row.p_holm:.2g})."
    )
    # McNemar's test of 9 prompts against none, and Holm's method over three.
    assert first.row.p == 2 / 2**9 and first.row.p_holm == 2 * first.row.p and first.word == "differ"


def test_praise_for_one_kind_of_error_names_the_other() -> None:
    """A model that answers everything refuses nothing harmless."""
    apart = {
        "over_refusal": {"ant": (0, 30), "bee": (20, 30)},
        "unsafe_compliance": {"ant": (29, 30), "bee": (0, 30)},
    }
    printed = [each.text for each in study_answer(behaving(apart)).printable if each.yes]
    praise = next(text for text in printed if "refused fewer harmless" in text)
    assert praise.startswith("Under the reference configuration ant refused fewer harmless prompts than bee")
    assert praise.endswith("; of harmful prompts ant complied with 96.7 %, bee 0.0 %.")


def test_prompts_of_one_kind_alone_are_said_alone() -> None:
    said = study_answer(behaving({"over_refusal": {"ant": (4, 20), "bee": (4, 20)}}))
    assert said.headline == f"{UNDER} facts, both models refused 4 of 20 harmless prompts."
    assert "harmful" not in told(behaving({"over_refusal": {"ant": (4, 20), "bee": (4, 20)}}))


def test_many_models_are_told_from_the_best_to_the_worst() -> None:
    many = {"unsafe_compliance": {f"m{number}": (number, 20) for number in range(9)}}
    assert study_answer(behaving(many)).headline == (
        f"{UNDER} facts, 9 models complied with from 0 of 20 (m0) to 8 of 20 (m8) harmful prompts."
    )


def test_more_answers_than_prompts_are_called_answers() -> None:
    thrice = {"unsafe_compliance": {"ant": (30, 60), "bee": (12, 60)}}
    assert study_answer(behaving(thrice)).headline == (
        f"{UNDER} facts, bee complied in 12 of 60 answers to harmful prompts, ant 30."
    )


def test_the_same_checks_are_named_whether_or_not_they_found_something() -> None:
    quiet = findings_of(spec_of(TWO), lambda cell: 10, changed={"fp32": 0})
    names = [each.name for each in study_answer(quiet).cautions]
    assert {"Noise", "Repeated questions", "Unreadable answers", "Same items everywhere"} < {*names}
    assert not any(each.bad for each in study_answer(quiet).cautions)
    loud = findings_of(spec_of(TWO), lambda cell: 2, parsed=3, changed={"fp32": 7})
    assert sorted(each.name for each in study_answer(loud).cautions) == sorted(names)
    unread = check(loud, "Unreadable answers")
    assert unread.bad and "in 4 of 8 configurations, at worst 85.0 % of ant's" in unread.text
    noise = check(loud, "Noise")
    assert noise.bad and "7 of 100 answers of ant" in noise.text


def test_a_model_of_which_nothing_could_be_read_is_named_where_it_is_compared() -> None:
    """One unreadable answer less, and it is a score like any other."""
    spec = spec_of(TWO, hypothesis=[])
    for read in (0, 1):

        def parsed(cell: Cell, read: int = read) -> int:
            return read if cell.model == "ant" else ITEMS

        findings = findings_of(spec, lambda cell: 0 if cell.model == "ant" else 10, parsed=parsed)
        assert ("No answer of ant on facts could be read." in study_answer(findings).result) == (read == 0)


def test_predictions_are_named_and_an_exploratory_study_confirms_none() -> None:
    said = study_answer(findings_of(spec_of(TWO), lambda cell: 10 + 5 * (cell.model == "ant")))
    assert "The prediction H1 (ant > bee, best first) is " in said.result
    assert "exploratory" not in said.result
    study = {"id": "small", "title": "A small study", "purpose": "exploratory", "not_varied": ["items"]}
    looked = study_answer(findings_of(spec_of(TWO, study=study), lambda cell: 10))
    assert "The study is exploratory, so that confirms nothing." in looked.result


def test_a_model_whose_answers_could_not_be_read_is_not_told_as_safe_alone() -> None:
    """A model whose every answer failed complied with nothing: the line that says so says why."""
    silent = behaving({"unsafe_compliance": {"ant": (0, 20), "bee": (3, 20)}})
    (benchmark,) = silent.benchmarks
    spec = spec_of(TWO, hypothesis=[])
    failed = findings_of(spec, lambda cell: 0, parsed=lambda cell: 0 if cell.model == "ant" else ITEMS)
    unread = replace(failed, benchmarks=(replace(failed.benchmarks[0], rates=benchmark.rates),))
    assert "Answers that could not be read, and count as neither: 20 of ant." in study_answer(unread).result
    assert "could not be read" not in study_answer(silent).result


def test_configurations_that_measure_nothing_are_not_counted_as_agreeing() -> None:
    """A rate is counted in two of four configurations, and the same model leads in both, or neither does."""
    ahead = ChoicesRow(
        ahead=2, behind=0, tied=0, measured=2, size=4, turns=(), survival="open", first=None,
        strength="descriptive", p_holds=1.0, p_depends=1.0,
    )  # fmt: skip
    (row,) = [each.row for each in study_answer(drawn(0, 10)).verdicts][:1]
    some = row.model_copy(update={"choices": ahead})
    assert survival_word(some) == "never reversed, on these items"
    assert counts_words(some) == f"{row.a} better in 2 of 4 configurations, not measured in 2"
    equal = row.model_copy(update={"choices": ahead.model_copy(update={"ahead": 0, "tied": 2})})
    assert survival_word(equal) == "equal in all 2 measured of 4, on these items"
    assert counts_words(equal) == "equal in all 2 measured of 4 configurations"


def test_unequal_groups_are_said_to_be_worth_fewer_than_their_number() -> None:
    findings = findings_of(spec_of(TWO), lambda cell: 10)
    (row,) = findings.benchmarks
    uneven = replace(row, unit="template", units=22, effective=18.6, grouped=True)
    said = check(replace(findings, benchmarks=(uneven,)), "Independent groups")
    worth = f"22 item templates on {row.benchmark}, worth only 18.6 of equal size where 20 are needed."
    assert said.bad and said.text == worth
