"""What is said over several studies, in the corners where it would be false."""

from dataclasses import replace
from typing import Any

import pytest

from gridc.compiler.inputs.items import Items
from gridc.compiler.instrument.item import Item
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.conduct import CONDUCT
from gridc.reports.findings.findings import Findings
from gridc.reports.studies import in_short, studies_report
from tests.reports.builders import findings_of, having, reversing, spec_of

MODELS = {"a": None, "b": None}


def study(name: str, **more: Any) -> Findings:
    made = spec_of(MODELS, **more)
    return findings_of(
        made.model_copy(update={"study": made.study.model_copy(update={"id": name})}), reversing
    )


def of_items(findings: Findings, sampled: tuple[Item, ...], exemplars: tuple[Item, ...] = ()) -> Findings:
    """The same study on other items, after other examples."""
    held = findings.plan.study.items["facts"]
    items = {"facts": Items(sampled, exemplars, replace(held.source, every=sampled), seed=held.seed)}
    return replace(findings, plan=Plan(replace(findings.plan.study, items=items)))


def questions(*texts: str, gold: int = 0, options: tuple[str, ...] = ("yes", "no")) -> tuple[Item, ...]:
    return tuple(Item(f"q{number}", text, options, gold, f"q{number}") for number, text in enumerate(texts))


def test_a_family_and_a_hypothesis_of_one_name_have_a_level_each() -> None:
    family = [{"id": "main", "correction": "holm", "alpha": 0.1}]
    order = {"kind": "ranking", "order": ["a", "b"]}
    stated = [{"id": "H1", "family": "main", **order}, {"id": "main", **order}]
    report = studies_report([study("one", family=family, hypothesis=stated), study("two")])
    assert [(line.group, line.alpha) for line in report.budget] == [
        ("family main", 0.1),
        ("hypothesis main", 0.05),
        ("hypothesis H1", 0.05),
    ]
    assert report.declared == pytest.approx(0.2)


def test_questions_asked_twice_and_with_another_answer_key_are_shared() -> None:
    """Eight rows of four questions against the same four with the other answer called right."""
    twice = of_items(study("one"), questions(*(f"{number % 4}?" for number in range(8))))
    turned = of_items(study("two"), questions(*(f"{number}?" for number in range(4)), gold=1))
    (row,) = studies_report([twice, turned]).shared
    assert (row.shared, row.a_items, row.unmatched, row.by) == (4, 20, 0, ("text", "choices"))


@pytest.mark.parametrize(
    ("sampled", "exemplars", "differs"),
    [
        (questions("1?", "2?"), (), []),
        (questions("1?", "2?", options=("no", "yes"), gold=1), (), ["inputs.benchmarks[facts].items"]),
        (questions("1?", "2?"), questions("3?"), ["inputs.benchmarks[facts].exemplars"]),
    ],
    ids=["nothing", "order", "examples"],
)
def test_what_differs_names_options_in_another_order_and_other_examples(
    sampled: tuple[Item, ...], exemplars: tuple[Item, ...], differs: list[str]
) -> None:
    """Both are the same questions, by their ids and by what they ask, and other prompts."""
    one = of_items(study("one"), questions("1?", "2?"))
    (pair,) = studies_report([one, of_items(study("two"), sampled, exemplars)]).pairs
    assert list(pair.differs) == differs


def test_what_was_stated_after_the_data_is_named() -> None:
    one, two = (
        having(found, CONDUCT, replace(found[CONDUCT], stamped=1, started=2))
        for found in (study("one"), study("two"))
    )
    report = studies_report([one, replace(two, before_stamp=3)])
    assert {row.stated for row in report.corrected} == {"before_stamp"}
    assert [row.stamped_first for row in report.studies] == ["yes", "partly"]
    *_, last = in_short(report)
    assert last == "nothing shows that these were fixed before any answer was seen: two/H1"


def test_a_level_that_was_raised_after_the_stamp_is_no_part_of_it() -> None:
    order = {"id": "H1", "kind": "ranking", "order": ["a", "b"], "family": "main"}
    family = [{"id": "main", "correction": "holm", "alpha": 0.05}]
    raised = [{**family[0], "alpha": 0.2}]
    stamped, run = (study("one", family=one, hypothesis=[order]) for one in (family, raised))
    report = studies_report([replace(run, lock=stamped.lock), study("two")])
    assert {row.study: row.stated for row in report.corrected}["one"] == "changed_after"
