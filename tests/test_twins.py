"""Types that share most of their fields are listed here, each with the reason why they are two."""

import ast
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

GRIDC = Path(__file__).resolve().parents[1] / "gridc"
FEWEST, SHARE = 3, 0.6
"""Fields that two types have in common, and which share of the larger one's, to be twins."""
TWINS: dict[str, tuple[str, ...]] = {
    "statistics is arithmetic, and does not know the documents that print its results": (
        "CorrectedShare CorrectedRow",
        "IdenticalModels IdenticalRow",
        "NumberNeededEstimate NumberNeededRow",
        "ResampledStatistic IntervalRow",
        "SameModel SameModelRow",
        "StratumCounts StratumRow",
        "Summary ChangeRow",
        "TermShare TermRow",
        "Witness WitnessRow",
    ),
    "a finding holds more than the row that a document prints of it": (
        "BenchmarkFinding BenchmarkRow",
        "BenchmarkAuditRow BenchmarkAudit",
        "Bootstrap Resampling",
        "CheckRow ChecklistAnswer",
        "FloorRow ModelNoise",
        "GapRow RateValue",
        "HypothesisRow HypothesisFinding",
        "IntervalsRow UnitIntervals",
        "MethodRow ChecklistAnswer",
        "RateCell RateValue",
        "RateGapRow RateGap",
        "RateRow RateFinding",
        "ResampledSharesRow ResampledShares",
        "StatisticCell SummaryValue",
        "Tally CellScore",
        "VarianceRow VarianceShares",
    ),
    "a document or a table of the spec, and what a run makes of it": (
        "BaselineRun ComparedRun",
        "BenchmarkEffects Setting",
        "Change Departure",
        "ChangedPath Change",
        "ChangedPath Departure",
        "DeviationReason Deviation",
        "Fields Item",
        "ImportedItems RunItems",
        "Judgement JudgementRow",
        "KeptBenchmark RunBenchmark",
        "KeptItems ImportedItems",
        "KeptItems RunItems",
        "Price TokenPrice",
        "Prompt PromptView",
        "Waive Waiver",
    ),
    "kinds of one thing that share keys": (
        "BenchmarkStatement StudyStatement",
        "CheckRow MethodRow",
        "CorrectedGapRow CorrectedValueRow",
        "DifficultyFinding MediationFinding",
        "ItemDose DividedItem",
        "ListPage DifferencePage",
        "OrderingClaimRow ClaimTestRow",
        "PairTotal Surface",
        "RateCell GapRow",
        "ScaffoldDose DoseRow",
        "StatisticHypothesis ContrastHypothesis",
        "TestedCombination Combination",
        "TrendHypothesis InteractionHypothesis",
        "_ColumnBuilder LogColumn",
        "_Match WrittenNumber",
    ),
    "alike by chance: they are about different things": (
        "ArmSums CaseTable",
        "BlindedResponse Sanitised",
        "Budget Cost",
        "CellPair AbsentGate",
        "InstrumentDifference PathDifference",
        "LaterCalls Extent",
        "Layout LevelComparison",
        "LogReadingRow DoubtfulRow",
        "ListPosition Response",
        "ListPosition SamplePlace",
        "Model Assessor",
        "PairTotal Duel",
        "Place Origin",
        "Question QuestionDigests",
        "Reply FailedSample",
        "Response SamplePlace",
        "ScaffoldReport ScaffoldFindings",
        "SamplePlace Response",
        "ScorerProblem Misfit",
        "ShownReply Reply",
        "_Cue _Token",
        "_Sender Request",
    ),
}


def fields_of(tree: ast.Module) -> Iterator[tuple[str, frozenset[str]]]:
    """The classes of a module, each with the names of the fields that it declares itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            declared = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            names = [each.target.id for each in declared if isinstance(each.target, ast.Name)]
            if len(names) >= FEWEST:
                yield node.name, frozenset(names)


def twins(types: dict[str, frozenset[str]]) -> set[frozenset[str]]:
    """The pairs of types that share most fields of the larger one."""
    return {
        frozenset((a, b))
        for (a, fields), (b, others) in combinations(types.items(), 2)
        if len(shared := fields & others) >= max(FEWEST, SHARE * max(len(fields), len(others))) and shared
    }


def test_types_that_share_most_fields_have_a_reason() -> None:
    types = dict(
        each for path in GRIDC.rglob("*.py") for each in fields_of(ast.parse(path.read_text("utf-8")))
    )
    assert len(types) > 500
    listed = {frozenset(pair.split()) for pairs in TWINS.values() for pair in pairs}
    found = twins(types)
    assert not found - listed, "make them one type, or say here why they are two"
    assert not listed - found, "these are no twins any more: take them off the list"


def test_twins_are_seen() -> None:
    source = "class A:\n    a: int\n    b: int\n    c: int\nclass B:\n    a: int\n    b: int\n    c: str\n"
    types = dict(fields_of(ast.parse(source + "class C:\n    a: int\n    b: int\n    x: int\n")))
    assert twins(types) == {frozenset("AB")}
