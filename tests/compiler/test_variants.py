"""Variants: the same items in other words, which pair by id whatever the order of the files."""

from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import SpecError
from gridc.runtime.store.items import name_of_option_order, shown_rows
from tests.studies import axis, benchmark, head, pocket, written

FIELDS = 'id = "id", query = "q", options = ["a", "b", "c"], gold = "gold"'
DRAWN = """\
sample = { n = 6, seed = 3 }
exemplars = { pool = "rest", seed = 1 }
option_order = "shuffled:7"
variants = [{ id = "de", source = "path:de.jsonl" }]
loading.gold = "index\""""
SPEC = (
    head("languages", pocket(left="qwen2"))
    + benchmark("people", FIELDS, DRAWN)
    + """
[harness]
prompt = "{{ question }}\\nAnswer:{% if answer %} {{ answer }}{% endif %}"
method = "extract"
shots = 2
"""
    + axis("language", {"en": "", "de": 'variant = "de"'}, by="ours")
)
PEOPLE = (("baker", "Bäcker"), ("miller", "Müller"), ("smith", "Schmied"))


def row(number: int, german: bool) -> dict[str, object]:
    names = [pair[german] for pair in PEOPLE]
    asked = f"Wer fehlt an Tag {number}?" if german else f"Who is missing on day {number}?"
    return {"id": f"d{number}", "q": asked, **dict(zip("abc", names, strict=True)), "gold": number % 3}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    german = [row(number, True) for number in range(20, -1, -1)]
    written(tmp_path, SPEC, [row(number, False) for number in range(12)], de_jsonl=german)
    return Plan(compile_spec(tmp_path / "gridcard.toml").study)


def test_a_cell_asks_its_variant_of_the_same_items_in_the_same_order(plan: Plan) -> None:
    english, german = (list(plan.samples(cell)) for cell in plan.cells())
    assert [each.item.id for each in english] == [each.item.id for each in german]
    translated = dict(PEOPLE)
    for one, other in zip(english, german, strict=True):
        assert [translated[text] for text in one.item.options] == list(other.item.options)
        assert one.item.gold == other.item.gold
        day = one.item.id[1:]
        ((_, shown),) = other.requests[0].prompt.messages
        assert f"Wer fehlt an Tag {day}?" in shown and "Who" not in shown and "baker" not in shown
        assert "Who is missing" in one.requests[0].prompt.messages[0][1]
        assert shown.count("Wer fehlt") == 3  # its exemplars too


def test_items_of_a_variant_belong_to_the_same_units_and_are_stored_apart(plan: Plan) -> None:
    items = plan.study.items["people"]
    for one, other in zip(items.asked(), items.asked(variant="de"), strict=True):
        assert (one.id, one.family, one.category, one.tags) == (
            other.id,
            other.family,
            other.category,
            other.tags,
        )
    rows = [(each.item, each.option_order) for each in shown_rows(plan)]
    assert len(rows) == len(set(rows)) == 12
    assert {name for _, name in rows} == {name_of_option_order(cell) for cell in plan.cells()} == {
        "shuffled:7", "de/shuffled:7"
    }  # fmt: skip


def test_a_variants_words_are_part_of_the_stamp(plan: Plan, tmp_path: Path) -> None:
    stamped = plan.study.inputs()["benchmarks"]["people"]
    path = tmp_path / "de.jsonl"
    path.write_text(path.read_text("utf-8").replace("Bäcker", "Schuster"), "utf-8")
    changed = compile_spec(tmp_path / "gridcard.toml").study.inputs()["benchmarks"]["people"]
    assert {key for key in stamped if stamped[key] != changed[key]} == {"variants"}


def test_positive_items_are_named_in_the_words_of_every_variant(tmp_path: Path) -> None:
    """Else the German baker is no positive item, and who says it raises a false alarm."""
    stated = '\n[[outcome]]\nid = "said"\nbenchmark = "people"\nscores = { right = 1, other = 0 }\n'
    stated += '\n[[statistic]]\nid = "f1"\npredicted = "said"\npositive = { gold = "baker" }\n'
    german = [row(number, True) for number in range(12)]
    written(tmp_path, SPEC + stated, [row(number, False) for number in range(12)], de_jsonl=german)
    with pytest.raises(SpecError) as found:
        compile_spec(tmp_path / "gridcard.toml")
    (problem,) = found.value.diagnostics
    assert "none of 6 of variant `de` is positive" in problem.message
    assert (problem.help or "").startswith(
        "name the words of the variant too, in a list; known here: `Bäcker`"
    )
    path = tmp_path / "gridcard.toml"
    path.write_text(path.read_text("utf-8").replace('gold = "baker"', 'gold = ["baker", "Bäcker"]'), "utf-8")
    compile_spec(path)
