"""What two runs that are invented have in common. tests/e2e/test_pairing.py holds the commands against each
other on stores."""

from collections.abc import Mapping

from gridc.compiler.inputs.questions import QuestionDigests, text_digest
from gridc.reports.comparison.pairing import (
    NO_CONFIGURATION,
    AskedBenchmark,
    AskedRun,
    RunItems,
    pair_items,
    pair_runs,
)


def items(**texts: str) -> RunItems:
    """Items by id: what each asks. A content has the id in it, as that of a stored item."""
    questions = tuple(QuestionDigests(text_digest(text)) for text in texts.values())
    keys = tuple(f"{id} {text}" for id, text in texts.items())
    return RunItems(keys, tuple(texts), tuple(texts), questions)


ITEMS = items(q1="one", q2="two")


def run(*places: str, package: str = "gridc", **configurations: str) -> AskedRun:
    """Models on benchmarks (`model/benchmark`), asked alike in configurations with these settings."""
    named: Mapping[str, Mapping[str, str]] = {
        name.replace("_", "="): {"prompt": prompt} for name, prompt in (configurations or {"x": "p"}).items()
    }
    asked = AskedBenchmark(ITEMS, named)
    named_places = ((model, name) for model, _, name in (one.partition("/") for one in places))
    return AskedRun(package, dict.fromkeys(named_places, asked))


def test_only_what_is_alone_in_both_stands_under_another_name() -> None:
    found = pair_runs([run("m/b", "m/c")], run("n/b", "n/d"))
    assert [place.names for place in found.places] == [(("m", "b"), ("n", "b"))]
    assert list(found.said()) == ["its only model, m, stands as n"]
    assert found.why(0) == ("the other run has no benchmark c",)
    assert found.why(1) == ("the other run has no benchmark d",)
    found = pair_runs([run("m/b", "o/b")], run("n/b"))
    assert not found.places and list(found.said()) == []
    assert found.why(0) == ("the other run has no model m", "the other run has no model o")


def test_a_model_that_was_not_asked_there_is_told() -> None:
    found = pair_runs([run("m/b", "n/b", "n/c")], run("m/b", "m/c", "n/b"))
    assert found.why(0) == ("the other run did not ask c of n",)
    assert found.why(1) == ("the other run did not ask c of m",)


def test_equal_settings_pair_nothing_where_two_have_them() -> None:
    first = run("m/b", t_1="p", t_2="q", t_3="r")
    (place,) = pair_runs([first], run("m/b", t_1="other", t_4="q", t_5="r", t_6="r")).places
    assert place.configurations == (("t=1", "t=1"), ("t=2", "t=4"))
    found = pair_runs([first], run("m/b", t_1="p", t_4="q", t_5="r", t_6="r"))
    assert [(one.configuration, one.why) for one in found.unpaired] == [
        ("t=3", NO_CONFIGURATION), ("t=5", NO_CONFIGURATION), ("t=6", NO_CONFIGURATION),
    ]  # fmt: skip
    assert list(found.said()) == ["t=2 stands as t=4 (their settings are equal)"]


def test_several_baselines_are_paired_with_one_candidate() -> None:
    found = pair_runs([run("m/b"), run("o/b", y="p"), run("n/b")], run("n/b"))
    (place,) = found.places
    assert [model for model, _ in place.names] == ["m", "o", "n", "n"]
    assert place.configurations == (("x", "y", "x", "x"),)
    assert [(one.run, one.words) for one in found.renamings] == [
        (0, "its only model, m, stands as n"),
        (1, "its only model, o, stands as n"),
        (1, "its only configuration, y, stands as x"),
    ]


def test_what_asks_the_same_is_one_item_though_the_ids_differ() -> None:
    found = pair_items([items(q1="one", q2="two", q3="three"), items(q1="one", a="two", q3="four")])
    assert found.partners == {"q1": "q1", "q2": "a"}
    assert (found.other_question, found.renumbered) == (("q3",), 0)
    assert (found.changed, found.renamed) == (0, 1)
    found = pair_items([items(q1="one", q2="two"), items(q1="two", q2="one")])
    assert found.partners == {"q1": "q2", "q2": "q1"}
    assert (found.other_question, found.renumbered) == ((), 2)


def test_another_content_that_asks_the_same_is_counted() -> None:
    """Of logs the content holds no id: where it differs, something else does."""
    other = RunItems(("q1 longer", "q9 two"), ("q1", "q9"), ("", ""), ITEMS.questions)
    stored, logged = (pair_items([ITEMS, other], stored=stored) for stored in (True, False))
    assert stored.partners == logged.partners == {"q1": "q1", "q2": "q9"}
    assert (stored.changed, stored.renamed) == (1, 1)
    assert (logged.changed, logged.renamed) == (2, 0)


def test_of_copies_each_is_paired_once() -> None:
    copies = RunItems(
        ("k", "k", "l"), ("q1", "q2", "q3"), ("", "", ""), ITEMS.questions + ITEMS.questions[:1]
    )
    assert pair_items([copies, copies]).partners == {"q1": "q1", "q2": "q2", "q3": "q3"}


def test_a_run_that_does_not_say_what_it_asks_is_paired_by_id() -> None:
    """Unless both say the text of a question, and it is another one."""
    silent = RunItems(
        ("", ""), ("q1", "q2"), ("", ""), (QuestionDigests(), QuestionDigests(text_digest("ten")))
    )
    assert pair_items([silent, ITEMS]).partners == {"q1": "q1"}
    assert pair_items([silent, silent]).partners == {"q1": "q1", "q2": "q2"}


def test_packages_are_paired_by_what_is_asked_alone() -> None:
    found = pair_runs([run("m/b", package="helm")], run("m/b"))
    assert found.places[0].items.partners == {"q1": "q1", "q2": "q2"}
    assert pair_items([ITEMS, items(q1="three", q2="one")], crossed=True).partners == {"q1": "q2"}
