"""Units: what items document, the default, what a spec may say, and what a stamp holds of it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.inputs.draw import (
    UndocumentedUnit,
    documented,
    draw_sample,
    joined_at,
    one_group,
    unit_level,
    with_questions,
)
from gridc.compiler.inputs.loaders.parsing import LOADERS, File
from gridc.compiler.instrument.item import Item
from gridc.diagnostics.errors import SpecError
from gridc.schema.items import Loading, Sample, UnitLevel
from tests.studies import benchmark, head, pocket, written

BUILTIN = Path(__file__).parents[2] / "gridc" / "builtin" / "benchmarks"

FIELDS = 'query = "ask", options = ["x", "y"], gold = "key"'


def compiled(folder: Path, levels: dict[str, str], extra: str = "", crossed: bool = False) -> Any:
    rows = [
        {"ask": f"Question {n}?", "x": "yes", "y": "no", "key": n % 2, "fam": f"f{n // 2}",
         "tem": f"t{n % 3 if crossed else n // 6}", "cat": f"c{n // 12}"}
        for n in range(24)
    ]  # fmt: skip
    fields = ", ".join([FIELDS, *(f'{level} = "{column}"' for level, column in levels.items())])
    spec = head("s", pocket(qwen2="qwen2")) + 'harness = { prompt = "builtin:T1", method = "extract" }\n'
    spec += benchmark("b", fields, 'option_order = "file"', 'loading.gold = "index"', extra)
    written(folder, spec, rows)
    return compile_spec(folder / "gridcard.toml")


ALL = {"family": "fam", "template": "tem", "category": "cat"}


@pytest.mark.parametrize(
    ("levels", "extra", "unit", "count"),
    [
        (ALL, "", "template", 4),
        ({"family": "fam", "category": "cat"}, "", "family", 12),
        ({"cluster": "fam"}, "", "family", 12),
        ({"category": "cat"}, "", "item", 24),
        ({}, "", "item", 24),
        (ALL, 'unit = "item"', "item", 24),
        (ALL, 'unit = "family"', "family", 12),
        (ALL, 'unit = "category"', "category", 2),
    ],
)
def test_the_unit_is_the_stated_one_or_the_coarsest_that_is_documented(
    tmp_path: Path, levels: dict[str, str], extra: str, unit: UnitLevel, count: int
) -> None:
    items = compiled(tmp_path, levels, extra).study.items["b"]
    assert (items.unit, len(set(items.units.values()))) == (unit, count)


def test_a_coarser_level_that_is_passed_over_is_named(tmp_path: Path) -> None:
    assert compiled(tmp_path, ALL, 'unit = "family"').study.items["b"].coarser == ("template",)
    assert compiled(tmp_path, ALL).study.items["b"].coarser == ()


@pytest.mark.parametrize(
    ("levels", "extra", "words"),
    [({"category": "cat"}, 'unit = "family"', '"item", "category"'), ({}, 'unit = "category"', '"item"')],
)
def test_a_unit_that_no_item_documents_is_refused_with_those_there_are(
    tmp_path: Path, levels: dict[str, str], extra: str, words: str
) -> None:
    with pytest.raises(SpecError) as refused:
        compiled(tmp_path, levels, extra)
    (found,) = refused.value.diagnostics
    assert found.code == "GC332" and found.help is not None and words in found.help
    assert found.line is not None and "unit" in found.line


def test_a_family_in_two_templates_is_refused_unless_the_unit_is_the_family(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        compiled(tmp_path, ALL, crossed=True)
    (found,) = refused.value.diagnostics
    assert found.code == "GC332" and "family `f0` lies in more than one template" in found.message
    assert compiled(tmp_path, ALL, 'unit = "family"', crossed=True).study.items["b"].unit == "family"


def test_only_a_unit_that_items_do_not_name_themselves_enters_the_stamp(tmp_path: Path) -> None:
    def manifest(levels: dict[str, str], extra: str = "") -> dict[str, Any]:
        return dict(compiled(tmp_path, levels, extra).study.items["b"].manifest)

    plain, family, template = manifest({}), manifest({"family": "fam"}), manifest(ALL)
    assert "units" not in plain and "units" not in family
    assert template["units"]["level"] == "template"
    assert template["items"] == family["items"], "what is asked does not change with a coarser level"
    other = manifest({"family": "fam", "template": "cat"})
    assert other["units"]["digest"] != template["units"]["digest"]


@pytest.mark.parametrize("unit", ["family", "template", "category", "cluster"])
def test_whole_groups_are_drawn_at_every_level(unit: str) -> None:
    items = [
        Item(f"i{n}", "?", ("x", "y"), 0, f"f{n // 2}", template=f"t{n // 6}", category=f"c{n // 12}")
        for n in range(24)
    ]
    sample = Sample.model_validate({"n": 12, "seed": 3, "unit": unit})
    drawn = draw_sample(items, sample)
    sizes = Counter(item.at(sample.level) for item in items)
    assert Counter(item.at(sample.level) for item in drawn).items() <= sizes.items()
    assert len(drawn) == 12


def test_both_spellings_of_a_family_are_one_study() -> None:
    one, other = (Sample.model_validate({"n": 4, "seed": 1, "unit": name}) for name in ("family", "cluster"))
    assert one == other and one.model_dump()["unit"] == "cluster"


def test_an_item_without_a_level_stands_alone_there_and_in_nobody_elses_group() -> None:
    alone = Item("t1", "?", ("x", "y"), 0)
    filled = Item("i", "?", ("x", "y"), 0, template="t1")
    assert alone.at("template") != filled.at("template") == "t1"
    assert unit_level([alone, filled], None) == "template"


def load(loader: str, path: Path, **loading: Any) -> list[Item]:
    return LOADERS[loader](File(path.name, path.read_bytes()), Loading(**loading))


def test_the_shipped_items_document_their_templates() -> None:
    bbq = load("bbq", BUILTIN / "pocket_bbq.jsonl")
    facts = load("truthfulqa_mc1", BUILTIN / "pocket_truthfulqa.json")
    assert unit_level(bbq, None) == unit_level(facts, None) == "template"
    assert all(len({item.query.split()[0] for item in bbq if item.template == name}) == 1
               for name in {item.template for item in bbq})  # fmt: skip
    by_template: dict[str, set[str]] = {}
    for item in facts:
        by_template.setdefault(item.template, set()).add(item.options[item.gold or 0])
    assert all(len(answers) == 1 for answers in by_template.values()), "one template has one true answer"


def test_undocumented_levels_are_refused_by_name() -> None:
    with pytest.raises(UndocumentedUnit, match="which template"):
        unit_level([Item("a", "?", ("x", "y"), 0)], "template")
    assert documented([Item("a", "?", ("x", "y"), 0, category="c")]) == ("item", "category")


def test_the_same_item_in_two_benchmarks_makes_their_units_one() -> None:
    """By what is asked, whatever its id, and through a third benchmark too."""

    def item(name: str, query: str, family: str) -> Item:
        return Item(name, query, ("yes", "no"), 0, family=family)

    items = {
        "a": [item("1", "x", "f"), item("2", "y", "f"), item("3", "z", "g")],
        "b": [item("1", "other", "h"), item("9", "y", "h"), item("8", "new", "i")],
        "c": [item("5", "new", "j"), item("6", "other", "j"), item("7", "last", "k")],
    }
    found = one_group(items, dict.fromkeys(items, "family"))
    groups: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for group, first in found.items():
        groups.setdefault(first, set()).add(group)
    assert sorted(map(sorted, groups.values())) == [
        [("a", "f"), ("b", "h"), ("b", "i"), ("c", "j")],
        [("a", "g")],
        [("c", "k")],
    ]


SPELLED: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "title": str.title,
    "spaces": lambda text: f"  {text} ",
    "lines": lambda text: text.replace(" ", "\n"),
    "marks": lambda text: f"{text}?!",
    "ellipsis": lambda text: f"{text}\u2026",
    "full width": lambda text: text.translate({n: n + 0xFEE0 for n in range(33, 127)}),
}


@pytest.mark.parametrize("spelling", SPELLED)
def test_a_question_is_the_same_however_it_is_spelled(spelling: str) -> None:
    """Its options stand in another order too."""
    spelled = SPELLED[spelling]
    one = Item("a", "Which metal melts in a warm hand", ("gallium", "tin"), 0, context="Of the metals")
    options = spelled("tin"), spelled("gallium")
    other = Item("b", spelled(one.query), options, 1, context=spelled(one.context))
    third = Item("c", "Which metal melts in a cold hand", ("gallium", "tin"), 0, context="Of the metals")
    assert [item.question for item in with_questions([one, other, third])] == ["a", "a", ""]


@pytest.mark.parametrize(("one", "other"), [
    (("3!", ()), ("3", ())), (("Is it 10?", ()), ("Is it 1 0?", ())), (("x", ("a", "b")), ("x", ("a", "c"))),
    (("What is a?", ()), ("What is b?", ())),
])  # fmt: skip
def test_other_questions_are_others(one: Any, other: Any) -> None:
    items = [Item(name, query, options) for name, (query, options) in (("a", one), ("b", other))]
    assert [item.question for item in with_questions(items)] == ["", ""]


def test_a_question_that_lists_its_options_may_list_them_in_any_order() -> None:
    """As lm-evaluation-harness's documents do, with the letters alone as options."""
    lists = ("A. tin\nB. lead\nC. zinc", "A. zinc\nB. tin\nC. lead", "(a) lead\n(b) zinc\n(c) tin")
    items = [Item(f"{n}", f"Which?\n{each}\nAnswer:", ("A", "B", "C"), 0) for n, each in enumerate(lists)]
    assert {item.question for item in with_questions(items)} == {"0"}


def test_units_that_share_a_question_are_one() -> None:
    items = [
        Item(f"{n}", query, family=family)
        for n, (query, family) in enumerate((("x", "f"), ("y", "f"), ("x", "g"), ("z", "h")))
    ]
    joined = joined_at(with_questions(items), "family")
    assert [item.family for item in joined] == ["f", "f", "f", "h"]
    assert unit_level(joined, None) == "family"
