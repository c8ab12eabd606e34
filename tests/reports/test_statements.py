"""Every statement of the shelf is said in a world where it holds, and in no corner where it does not.

A corner is the world with one thing changed: that which makes the sentence false, or empty. A row of the
shelf without a corner here fails.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lock.lock import Superseded
from gridc.compiler.lowering.asked import DifferingLevels
from gridc.compiler.lowering.judging import Guess
from gridc.compiler.lowering.plan import Plan
from gridc.reports.card import make_cards
from gridc.reports.certificate import certificate_of
from gridc.reports.findings.answers import TEXT_LIKELIHOODS, BitsPerByte, TextLikelihood
from gridc.reports.findings.components import (
    FACTORIAL,
    GENERALIZABILITY,
    MANY_LEVELS,
    Factorial,
    LevelScore,
    ManyLevels,
    ModelOverLevels,
)
from gridc.reports.findings.conduct import REFERENCES, SHARED_DRAWS, ModelReference, cut_words
from gridc.reports.findings.corrected import (
    SCORE,
    BenchmarkAudit,
)
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.labels import (
    AUDITS,
    GUESSES,
    JUDGING,
    AuditFinding,
    JudgeFinding,
    JudgingFinding,
    guess_finding,
)
from gridc.reports.findings.noise import ModelNoise
from gridc.reports.findings.rates import RateFinding, RateValue
from gridc.reports.findings.summaries import SUMMARIES, StatedStatistic, SummaryValue
from gridc.reports.page import page_html
from gridc.reports.statements import choose, claim_scope, statement_texts
from gridc.reports.statements.statement import SHELF
from gridc.runtime.store.events import DrawSpread
from gridc.schema.audit import CorrectedGapRow, CorrectedValueRow, TakenBackRow
from gridc.schema.certificate import DoubtfulRow, EndingsRow, FalsificationRow, FormRow
from gridc.schema.recorded import RecordedRuns
from gridc.statistics.labelled import CorrectedShare, StratumCounts
from gridc.statistics.rank_tests import RangeByChance
from gridc.statistics.raters import kappa, leniency
from gridc.statistics.unit_intervals import UnitEstimate
from gridc.statistics.variance import Decomposition, TermShare
from tests.reports.builders import (
    AXES,
    ITEMS,
    compared_event,
    findings_of,
    having,
    reversing,
    spec_of,
)

TWO = {"ant": None, "bee": None}
THREE = {**TWO, "cat": None}
World = Callable[[], Findings]


def pair(**spec: Any) -> Findings:
    return findings_of(spec_of(TWO, **spec), reversing)


def apart(cell: Cell) -> int:
    return 18 if cell.model == "ant" else 1


def unfinished(cell: Cell) -> int | None:
    return None if cell.levels["shots"] == "5" else 3


def alone() -> Findings:
    return findings_of(spec_of({"ant": None}, hypothesis=[]), reversing)


def benchmark(findings: Findings, **changes: Any) -> Findings:
    """With other facts about the first benchmark."""
    first, *others = findings.benchmarks
    return replace(findings, benchmarks=(replace(first, **changes), *others))


def purpose(name: str) -> Findings:
    return pair(study={"id": "small", "title": "s", "purpose": name, "not_varied": ["items"]})


def ended(**counts: Any) -> EndingsRow:
    none: dict[str, Any] = {"read": 5, "unread": 0, "cut": 0, "refused": 0, "failed": {}, "waiting": 0}
    return EndingsRow(model="ant", **none | counts)


TWO_WAYS = DoubtfulRow(model="ant", configuration="", several=9, items=("q1", "q2"))


def asked(kept: int, kept_again: int = 0) -> FormRow:
    return FormRow(model="ant", configuration="", form="line", responses=50, kept=kept, kept_again=kept_again)


def judged(**changes: Any) -> Findings:
    judge = JudgeFinding("first", "m", "0" * 64, 4, 4, {"refused": 4}, 0, {})
    found = JudgingFinding("judge", (judge,), 4, 4, None, (), None, None, True, {}, "0" * 64)
    return having(pair(), JUDGING, (replace(found, **changes),))


def guessed(*guesses: str) -> Findings:
    arms = ["a", "b"]
    made = [
        Guess(("c", str(n), 0), ("facts", str(n)), "facts", arms[n % 2], guess, "judge")
        for n, guess in enumerate(guesses)
    ]
    return having(pair(), GUESSES, (guess_finding("facts", arms, made),))


def audited(gained: tuple[int, ...] | None) -> Findings:
    lenient = None if gained is None else leniency(gained)
    audit = AuditFinding("sheet", "facts", kappa(["a", "b"], ["b", "a"]), lenient, "0" * 64)
    return having(pair(), AUDITS, (audit,))


def corrected(value: float, taken_back: bool = False) -> Findings:
    """People put the models so many points apart under one configuration, where 40 points were read."""
    findings = pair()
    (first,) = findings.benchmarks
    where = first.models[0].anchor.cell.configuration
    counts = (StratumCounts(20, 10, 5.0),)
    ends = (value - 0.1, value + 0.1)
    score, gap = CorrectedShare(0.6, (0.5, 0.7), (0.4, 0.8)), CorrectedShare(value, ends, ends)
    models = [each.model for each in first.models]
    shared = {"what": SCORE, "configuration": where, "responses": 20, "labelled": 10, "strata": counts}
    audit = BenchmarkAudit(
        benchmark="facts",
        sheets=("audit-1",),
        annotators=1,
        configurations=(where,),
        exempt=(),
        values=tuple(
            CorrectedValueRow.of(model=each, machine=0.5, corrected=score, **shared) for each in models
        ),
        gaps=(
            CorrectedGapRow.of(
                a="ant", b="bee", machine=0.4, corrected=gap, p_plus=0.5, p_minus=0.5, **shared
            ),
        ),
        given=False,
        unreturned=0,
        rows="0" * 64,
    )
    back = (TakenBackRow(a="ant", b="bee", claim="order", first="ant"),) if taken_back else ()
    return benchmark(findings, audit=audit, taken_back=back)


def falsified(*results: Any) -> Findings:
    tests = tuple(
        FalsificationRow.of(
            id=f"F{n}",
            category="data",
            test="t",
            criterion="c",
            result=result,
            kept=(),
            statistic=None,
            value=None,
            at=None,
            rows="0" * 64,
        )
        for n, result in enumerate(results)
    )
    return having(pair(), FALSIFICATIONS, tests)


def left_out(rows: int) -> Findings:
    """With malformed rows in the file of the benchmark."""
    findings = pair()
    study = findings.plan.study
    items = study.items["facts"]
    source = replace(items.source, left_out=tuple(map(str, range(rows))))
    plan = Plan(replace(study, items={"facts": replace(items, source=source)}))
    return replace(findings, plan=plan)


def superseded(stamps: int) -> Findings:
    findings = pair()
    earlier = (Superseded("1" * 64, "2026-01-01T00:00:00Z", {}),) * stamps
    return replace(findings, lock=replace(findings.lock, supersedes=earlier))


def noisy(changed: int, counts: Callable[[Cell], int] = reversing) -> Findings:
    return findings_of(spec_of(TWO), counts, changed={"fp32": changed})


def shared() -> Findings:
    term = TermShare(("model",), 1.0, 1, 0.4, 0.3)
    found = Factorial(Decomposition("II", 100, (term,), 0.6, 98, 1.0, True), (), "0" * 64)
    return having(pair(), FACTORIAL, found)


def weighed(value: float = 1.25) -> Findings:
    bits = BitsPerByte("ant", 30, 900, UnitEstimate(value, (1.0, 1.5), 30, 30.0))
    return having(pair(), TEXT_LIKELIHOODS, (TextLikelihood("facts", "frame=plain", (bits,), (), "0" * 64),))


def summed_up(
    interval: bool = True,
    value: float | None = 0.75,
    asked: int = 40,
    note: str | None = None,
    models: Sequence[str] = ("ant",),
) -> Findings:
    note = ("" if interval else "too few units") if note is None else note
    cell = SummaryValue(value, (0.5, 0.875) if interval else None, "limits", 40, asked, "0" * 64, note)
    values = {model: {"frame=plain": cell, "frame=exam": replace(cell, value=0.5)} for model in models}
    found = StatedStatistic("usable", "f1", "harmonic mean", ("facts",), "frame=plain", values, unit="%")
    return having(pair(), SUMMARIES, (found,))


def levelled() -> Findings:
    low, high = LevelScore("a", Fraction(1, 4)), LevelScore("b", Fraction(3, 4))
    chance = RangeByChance(0.1, 0.2, 0.01, 99)
    model = ModelOverLevels("ant", (low, high), Fraction(1, 2), None, low, high, Fraction(3, 4), chance, None)
    return having(pair(), MANY_LEVELS, (ManyLevels("facts", "frame", 12, 1, 20, (model,), None, "0" * 64),))


def rated(name: str, value: Fraction | None) -> Findings:
    findings = pair()
    (first,) = findings.benchmarks
    here = RateValue(value, {"hits": 1}, None)
    cells = {(model.model, model.anchor.cell.configuration): here for model in first.models}
    return benchmark(findings, rates=(RateFinding(name, "of what", "hits / asked", cells),))


def curved(run: bool) -> Findings:
    """With a curve of a model with and without a term, which is run where there are answers."""
    fork = {
        "id": "order", "category": "model", "levels": ["with", "without"], "default": "with",
        "binds": "analysis.primary", "choice": {"without": {"without_terms": ["model"]}},
    }  # fmt: skip
    frames = {"kind": "difference", "axis": "frame", "level": "exam", "reference": "plain"}
    spec = spec_of(
        TWO, fork=[fork], hypothesis=[{"id": "H", **frames}], analysis={"estimator": "cluster_logit"},
        curve=[{"id": "curve", "forks": ["order"], "declared": "ex_ante", "hypotheses": ["H"]}],
    )  # fmt: skip
    return findings_of(spec, reversing if run else unfinished)


def drawn(configurations: int | None) -> Findings:
    draw = {} if configurations is None else {"draw": {"n": configurations, "seed": 1}}
    return pair(**draw)


def reading(least: float, parsed: int) -> Findings:
    return findings_of(spec_of(TWO, analysis={"parse_clean": least}), lambda cell: 3, parsed=parsed)


def differing_readings() -> Findings:
    """Ant answers little that can be read, and is right where it does."""
    counts = {"ant": 5, "bee": 10}
    return findings_of(
        spec_of(TWO), lambda cell: counts[cell.model], parsed=lambda cell: 6 if cell.model == "ant" else ITEMS
    )


def paying(label: float) -> Findings:
    harness = {"prompt": "{{ question }}", "method": "extract", "scores": {"right": 1, "unknown": label}}
    axes = {"frame": AXES["frame"]}
    return findings_of(spec_of(TWO, axes=axes, harness=harness), reversing)


UNDECIDED = {
    "id": "judge", "category": "judge", "levels": ["one", "two"], "default": "one", "binds": "judge.model",
}  # fmt: skip

SPREAD = DrawSpread(texts=8, texts_changed=6, outcomes=8, outcomes_changed=3)

RUNS = RecordedRuns(packages=("lm-eval 0.4",), files=(), notes=("one file was empty",), unknown=("seeds",))


def of_logs(findings: Findings) -> Findings:
    """The same, as another package's logs have it."""
    return replace(findings, plan=Plan(replace(findings.plan.study, recorded=RUNS)))


CORNERS: Mapping[str, tuple[World, Mapping[str, World]]] = {
    "interim": (lambda: findings_of(spec_of(TWO), unfinished), {"every call has an answer": pair}),
    "predated": (
        lambda: replace(pair(), before_stamp=3),
        {
            "no call is older than the stamp": lambda: replace(pair(), before_stamp=0),
            "the clock was set back: dates show no order": lambda: replace(
                pair(), before_stamp=3, steps_back=(4,)
            ),
        },
    ),
    "recorded": (lambda: of_logs(pair()), {"gridc asked": pair}),
    "notes_of_logs": (lambda: of_logs(pair()), {"gridc asked": pair}),
    "shared_draws": (
        lambda: having(pair(), SHARED_DRAWS, {"frame": 8}),
        {"each configuration drew its own": lambda: having(pair(), SHARED_DRAWS, {})},
    ),
    "strongest_pair": (pair, {"one model has no pair": alone}),
    "other_pairs": (
        lambda: findings_of(spec_of({**TWO, "cat": None}), reversing),
        {"the only pair is the strongest": pair, "one model has no pair": alone},
    ),
    "readings_differ": (differing_readings, {"every answer can be read": pair}),
    "claims": (pair, {"one model has no pair": alone}),
    "hypothesis": (pair, {"none is stated": lambda: pair(hypothesis=[])}),
    "orders": (pair, {"nothing is measured": lambda: findings_of(spec_of(TWO), lambda cell: None)}),
    "rate": (
        lambda: rated("over_refusal", Fraction(1, 2)),
        {
            "a rate that no sentence leads with": lambda: rated("other", Fraction(1, 2)),
            "it is defined nowhere": lambda: rated("over_refusal", None),
            "no rate": pair,
        },
    ),
    "falsification": (lambda: falsified("fail", "pass"), {"no test is computed": falsified}),
    "shares_of_variance": (shared, {"nothing varies": pair}),
    "generalizability": (
        lambda: having(pair(), GENERALIZABILITY, "one model"),
        {"it is not declared": lambda: having(pair(), GENERALIZABILITY, None)},
    ),
    "many_levels": (levelled, {"no axis has many levels": pair}),
    "statistic": (summed_up, {"the spec states none": pair}),
    "beyond_raw": (lambda: weighed(8.44), {"texts are likelier than noise": weighed, "no text": pair}),
    "bits_per_byte": (weighed, {"no text is weighed": pair}),
    "curve": (lambda: curved(True), {"the run is incomplete": lambda: curved(False), "no curve": pair}),
    "guesses": (lambda: guessed("a", "b", "a", "b"), {"the judge was not asked": pair}),
    "people": (lambda: audited((1, 0)), {"nobody labelled": pair}),
    "corrected": (lambda: corrected(0.1), {"nobody labelled": pair}),
    "taken_back": (
        lambda: corrected(-0.05, taken_back=True),
        {"nobody labelled": pair, "labels bear the claim out": lambda: corrected(0.3)},
    ),
    "clock": (lambda: replace(pair(), steps_back=(4,)), {"it was never set back": pair}),
    "within_noise": (
        lambda: noisy(100),
        {"nothing changed": lambda: noisy(0), "the floor is not measured": pair},
    ),
    "exploratory": (
        lambda: purpose("exploratory"),
        {
            "the study compares": lambda: purpose("comparative"),
            "no hypothesis is decided": lambda: replace(purpose("exploratory"), hypotheses=()),
        },
    ),
    "standings": (
        lambda: findings_of(spec_of(THREE), reversing),
        {
            "two models are a pair": pair,
            "the nearest score is best": lambda: findings_of(spec_of(THREE, direction=0.5), reversing),
            "the run is not finished": lambda: findings_of(spec_of(THREE), unfinished),
        },
    ),
    "counts": (pair, {"one model has no pair": alone}),
    "passed_over": (
        lambda: benchmark(pair(), coarser=("template",)),
        {"the unit is what the data document": pair},
    ),
    "few_units": (
        lambda: benchmark(pair(), unit="template", units=3, effective=2.5, grouped=True),
        {
            "items are the units: exact tests need no floor": pair,
            "there are enough": lambda: benchmark(
                pair(), unit="template", items=40, units=30, effective=29.0, grouped=True
            ),
            "one model has no pair": lambda: benchmark(
                alone(), unit="template", units=3, effective=2.5, grouped=True
            ),
        },
    ),
    "differing_items": (
        lambda: benchmark(pair(), differing=(DifferingLevels("frame", {"plain": 6, "exam": 40}, 4),)),
        {"every level asks the same": pair},
    ),
    "left_out": (lambda: left_out(2), {"every row is an item": lambda: left_out(0)}),
    "unreadable": (
        lambda: reading(0.95, 18),
        {"every answer can be read": lambda: reading(0.95, 20), "as many as asked": lambda: reading(0.9, 18)},
    ),
    "open_pairs": (
        differing_readings,
        {"every answer can be read": lambda: reading(0.95, 20)},
    ),
    "failed": (
        lambda: benchmark(pair(), endings=(ended(failed={"timeout": 1}),)),
        {"all were answered, one of them cut off": lambda: benchmark(pair(), endings=(ended(cut=1),))},
    ),
    "cut_off": (
        lambda: benchmark(pair(), endings=(ended(cut=1),)),
        {
            "fewer than one in twenty were cut off": lambda: benchmark(
                pair(), endings=(ended(read=50, cut=1),)
            ),
            "all were read": lambda: benchmark(pair(), endings=(ended(),)),
        },
    ),
    "doubtful": (
        lambda: benchmark(pair(), doubtful=(TWO_WAYS,)),
        {"every response reads in one way": lambda: benchmark(pair())},
    ),
    "forms": (
        lambda: benchmark(pair(), forms=(asked(kept=50), asked(kept=48, kept_again=1))),
        {
            "all keep it": lambda: benchmark(pair(), forms=(asked(kept=50), asked(kept=49, kept_again=1))),
            "nobody asks for one": lambda: benchmark(pair()),
        },
    ),
    "endings": (
        lambda: benchmark(pair(), endings=(ended(read=50, cut=1),)),
        {
            "so many were cut off that it is an alarm": lambda: benchmark(pair(), endings=(ended(cut=1),)),
            "a call that failed was not cut off": lambda: benchmark(
                pair(), endings=(ended(failed={"timeout": 1}),)
            ),
            "all were read": lambda: benchmark(pair(), endings=(ended(),)),
            "an answer that is not read was neither cut off nor declined": lambda: benchmark(
                pair(), endings=(ended(unread=2),)
            ),
        },
    ),
    "drawn": (lambda: drawn(3), {"every combination is run": lambda: drawn(None)}),
    "scoring": (lambda: paying(0.5), {"right answers earn 1 and others 0": pair}),
    "judging": (
        judged,
        {"no judge": pair, "no response was shown to a judge": lambda: judged(judges=())},
    ),
    "superseded": (lambda: superseded(1), {"the first stamp": lambda: superseded(0)}),
    "noise_floor": (
        lambda: noisy(1),
        {"nothing changed": lambda: noisy(0), "no model was run": lambda: replace(pair(), noise=())},
    ),
    "quiet_floor": (
        lambda: noisy(0),
        {"an outcome changed": lambda: noisy(1), "no model was run": lambda: replace(pair(), noise=())},
    ),
    "spread_of_draws": (
        lambda: replace(pair(), noise=(ModelNoise("ant", "as served", None, SPREAD),)),
        {"what is drawn is drawn again by its seed": pair},
    ),
    "reference": (
        lambda: having(pair(), REFERENCES, (ModelReference("ant", "bf16", compared_event(2)),)),
        {"nobody asked for one": pair},
    ),
    "uncomputed": (
        lambda: pair(fork=[UNDECIDED]),
        {"every choice is run": pair},
    ),
}  # fmt: skip
"""By name: a world where it is said, and corners where it must not be, each with the reason."""


def said(findings: Findings) -> set[str]:
    return {row.name for row, _ in choose(findings)}


def test_every_statement_has_its_corners() -> None:
    assert set(CORNERS) == set(SHELF), "say here where each must not be said"
    assert all(corners for _, corners in CORNERS.values())


@pytest.mark.parametrize("name", CORNERS)
def test_it_is_said_where_it_holds(name: str) -> None:
    world, _ = CORNERS[name]
    assert name in said(world())


@pytest.mark.parametrize(
    ("name", "corner"), [(name, why) for name, (_, all_) in CORNERS.items() for why in all_]
)
def test_it_is_not_said_in_a_corner(name: str, corner: str) -> None:
    assert name not in said(CORNERS[name][1][corner]())


@pytest.mark.parametrize("counts", [reversing, apart])
def test_a_sentence_is_as_strong_as_its_evidence(counts: Callable[[Cell], int]) -> None:
    """Nothing is called established or likely in a statement whose evidence is less."""
    findings = findings_of(spec_of({**TWO, "cat": None}), counts)
    pairs = [each for row, each in choose(findings) if row.name in ("strongest_pair", "other_pairs")]
    assert len(pairs) == 3
    for statement in pairs:
        certified, supported = (
            words in statement.text for words in ("Established at", "Likely, by an approximation, at")
        )
        assert statement.backing == (
            "certified" if certified else "supported" if supported else "descriptive"
        )


def test_the_pairs_of_which_something_is_shown_are_named_one_after_the_other() -> None:
    findings = findings_of(spec_of({**TWO, "cat": None}), lambda cell: 19 if cell.model == "ant" else 2)
    certified = next(each for each in statement_texts(findings) if each.startswith("Established at"))
    assert ": none reverse and 2 (ant and bee on facts; ant and cat on facts) keep one order" in certified
    assert "all 3 comparisons of a pair on a benchmark's full envelope" in certified


JARGON = re.compile(
    r"Holm|McNemar|sign flips|e-value|N[+0−]|rho_flip|intention-to-treat|Bonferroni", re.IGNORECASE
)


@pytest.mark.parametrize("counts", [reversing, apart, lambda _: 10])
def test_a_short_wording_leaves_the_method_out_and_claims_no_more(counts: Callable[[Cell], int]) -> None:
    for row, statement in choose(findings_of(spec_of(TWO), counts)):
        if statement.short:
            assert not JARGON.search(statement.short), row.name
            assert len(statement.short) < len(statement.text), row.name
        beyond = re.search("For new items (it|this) is|on average over a level, this is", statement.short)
        assert not beyond or statement.backing in ("certified", "supported"), row.name
        nothing = "nothing is established" in statement.short
        assert not nothing or statement.backing == "descriptive", row.name


def test_that_nothing_is_established_cannot_be_read_as_established() -> None:
    tied = findings_of(spec_of(TWO), lambda _: 10)
    said, rest = [statement for row, statement in choose(tied) if row.name == "claims"]
    assert said.text.startswith("Neither a reversal nor one order throughout is established, or likely by an")
    assert said.short.startswith("At 5 % these items do not show, for any pair, that it would keep its order")
    assert said.backing == "limit"
    assert rest.text.startswith("Every other count is a fact about the items that were asked")


def test_of_pairs_that_unreadable_answers_decide_the_one_whose_lead_turns_is_shown() -> None:
    def right(cell: Cell) -> int:
        as_good = cell.levels["reading"] == "rank"
        return {"ant": 5, "bee": 10, "cow": 5 if as_good else 6}[cell.model]

    three = spec_of({"ant": None, "bee": None, "cow": None})
    found = findings_of(three, right, parsed=lambda cell: 5 if cell.model == "ant" else ITEMS)
    (statement,) = (said for row, said in choose(found) if row.name == "readings_differ")
    assert statement.short == (
        "ant and cow compare differently on facts without their unreadable answers. Counted (an unreadable "
        "answer scores 0), cow scores higher in 4 configurations, ant in 0 (4 ties); left out, ant scores "
        "higher in 4 configurations, cow in 0 (4 ties). The same goes for 1 other pair."
    )


def test_what_is_urgent_stands_before_the_scores_of_a_page() -> None:
    page = page_html(*(lambda found: (found, certificate_of(found), make_cards(found, "0" * 64)))(noisy(20)))
    assert page.index("WITHIN NOISE") < page.index('class="facts"') < page.index('class="chart"')


def test_certificate_and_page_have_the_statements_in_one_order() -> None:
    findings = findings_of(spec_of({**TWO, "cat": None}), reversing)
    assert certificate_of(findings).statements == tuple(statement_texts(findings))
    parts: list[Any] = list(dict.fromkeys(row.part for row in SHELF.values()))
    assert [text for part in parts for text in statement_texts(findings, part)] == statement_texts(findings)


def test_what_is_said_of_benchmarks_is_said_of_one_before_the_next() -> None:
    stated = {
        "loader": "truthfulqa_mc1",
        "source": "builtin:none",
        "option_order": "file",
        "direction": "higher_is_better",
    }
    two = pair(benchmark=[{"id": name, **stated} for name in ("facts", "others")])
    changed: dict[str, Any] = {"coarser": ("template",), "endings": (ended(read=50, cut=1),)}
    both = replace(two, benchmarks=tuple(replace(each, **changed) for each in two.benchmarks))
    names = {"passed_over", "endings"}
    order = [(row.name, statement.about) for row, statement in choose(both) if row.name in names]
    assert order == [
        ("passed_over", ("facts",)), ("endings", ("facts",)),
        ("passed_over", ("others",)), ("endings", ("others",)),
    ]  # fmt: skip


@pytest.mark.parametrize(("fall", "backing"), [(0, "open"), (8, "supported")])
def test_an_open_hypothesis_is_open_and_a_decided_one_as_strong_as_its_test(fall: int, backing: str) -> None:
    frames = {"kind": "difference", "axis": "frame", "level": "exam", "reference": "plain"}
    spec = spec_of(TWO, hypothesis=[{"id": "H", **frames}], analysis={"estimator": "cluster_logit"})
    findings = findings_of(spec, lambda cell: 14 - fall * (cell.levels["frame"] == "exam"))
    (statement,) = (each for row, each in choose(findings) if row.name == "hypothesis")
    assert (statement.backing, statement.about) == (backing, ("H",))
    scope = claim_scope(findings)
    assert (statement.brief in scope.not_claimed, statement.brief in scope.supported) == (
        backing == "open",
        backing == "supported",
    )
    looked = spec_of(TWO, hypothesis=[{"id": "H", **frames}], analysis={"estimator": "cluster_logit"})
    looked = looked.model_copy(update={"study": looked.study.model_copy(update={"purpose": "exploratory"})})
    exploring = claim_scope(findings_of(looked, lambda cell: 14 - fall * (cell.levels["frame"] == "exam")))
    assert not any(text.startswith("H (") for text in exploring.supported), "it confirms nothing"


@pytest.mark.parametrize("counts", [reversing, apart, lambda _: 10])
def test_the_scope_of_the_claims_holds_every_statement_once(counts: Callable[[Cell], int]) -> None:
    """Nothing is left out, nothing stands twice, and what is not varied is not claimed."""
    findings = findings_of(spec_of({**TWO, "cat": None}), counts)
    scope, study = claim_scope(findings), findings.plan.study.spec.study
    every = [*scope.supported, *scope.suggestive, *scope.not_claimed]
    varied = [f"Not varied: {dimension}." for dimension in study.not_varied]
    assert sorted(every) == sorted([*(statement.brief for _, statement in choose(findings)), *varied])
    assert varied == list(scope.not_claimed[len(scope.not_claimed) - len(varied) :])
    beyond = [statement.brief for _, statement in choose(findings) if statement.backing == "certified"]
    assert set(beyond) <= set(scope.supported)
    page = page_html(findings, certificate_of(findings), make_cards(findings, "0" * 64))
    part = page[page.index('id="claim-scope"') : page.index('id="hypotheses"')]
    assert part.count("<tr>") == 1 + sum(
        max(1, len(said)) for said in (scope.supported, scope.suggestive, scope.not_claimed)
    )


@pytest.mark.parametrize(
    ("world", "says"),
    [
        (summed_up, "ant 75.0 % [50.0 %, 87.5 %], 50.0 % to 75.0 % over 2 configurations."),
        (lambda: summed_up(interval=False), "ant 75.0 % (too few units), 50.0 % to 75.0 % over"),
        (lambda: summed_up(interval=False, models=("ant", "bee")),
         "ant 75.0 %, 50.0 % to 75.0 % over 2 configurations; bee 75.0 %, 50.0 % to 75.0 % over 2 "
         "configurations. No interval: too few units."),
        (lambda: summed_up(interval=False, value=None), "ant none (too few units)."),
        (lambda: summed_up(note="few units"), "ant 75.0 % [50.0 %, 87.5 %] (few units), 50.0 % to 75.0 %"),
        (lambda: summed_up(asked=50), "ant 75.0 % [50.0 %, 87.5 %] (of 40 of 50 answers), 50.0 % to 75.0 %"),
    ],
)  # fmt: skip
def test_a_statistic_says_why_it_has_no_interval_and_no_value(
    world: Callable[[], Findings], says: str
) -> None:
    (said,) = [
        text for text in statement_texts(world(), "rates") if text.startswith("usable on facts (harmonic")
    ]
    assert says in said


def test_bits_per_byte_say_where_a_text_has_no_likelihood() -> None:
    """An impossible text is in no mean of bits: without the number the model looks good."""
    (found,) = weighed()[TEXT_LIKELIHOODS]
    fewer = replace(found, models=(replace(found.models[0], texts=15),))
    (whole,) = statement_texts(weighed(), "rates")[-1:]
    (part,) = statement_texts(having(weighed(), TEXT_LIKELIHOODS, (fewer,)), "rates")[-1:]
    assert "(on " not in whole
    assert part.endswith("ant 1.2500 [1.0000, 1.5000] (on 15 of 20 texts).")


def test_a_reference_that_compared_nothing_does_not_say_that_all_was_sampled() -> None:
    """Greedy calls that failed here or there are compared with nothing too."""
    nothing = compared_event(0).model_copy(update={"calls": 0, "texts": 0, "rankings": 0, "outcomes": 0})
    assert nothing.words == "no call was compared: every answer is sampled, or failed here or there"


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"cut": 2}, "2 of 7 answers cannot be read: cut off at a token limit (ant 2 of 7)"),
        (
            {"cut": 1, "unread": 2},
            "3 of 8 answers cannot be read, 1 of them cut off at a token limit (ant 1 of 8)",
        ),
        (
            {"cut": 1, "unread": 1, "failed": {"timeout": 3}},
            "2 of 10 answers cannot be read, 1 of them cut off at a token limit (ant 1 of 10)",
        ),
        ({"cut": 1, "waiting": 4}, "1 of 10 answers cannot be read: cut off at a token limit (ant 1 of 10)"),
    ],
)
def test_the_budget_is_no_cause_of_what_it_did_not_cut(counts: dict[str, int], words: str) -> None:
    assert cut_words("facts", [ended(**counts)]) == f"On facts, {words}"
