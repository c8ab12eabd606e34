"""Labels that options bring along: taken off their texts where all rows have them, and kept in their order
where the options are nothing else."""

import json
import string
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridc.compiler.inputs.loaders import complete_loading, load_items
from gridc.compiler.inputs.loaders.parsing import File, Misread
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import (
    arranged,
    carried_labels,
    item_candidates,
    own_letters,
    spoken_options,
)
from gridc.compiler.instrument.readers import last_answer
from gridc.compiler.instrument.render import reference_answer, render_prompt
from gridc.compiler.instrument.setting import Setting
from gridc.schema.items import Loading
from gridc.statistics.reproducibility import DrawError

FIELDS = {"query": "q", "options": ["o"], "gold": "g"}
METALS = ("iron", "tin", "zinc", "lead")


def read(rows: Sequence[tuple[Sequence[str], object]], **loading: object) -> tuple[list[Item], Loading, str]:
    """The items of rows of options and gold, how they were read, and what is said of it."""
    lines = ({"q": f"Which {n}?", "o": list(o), "g": g} for n, (o, g) in enumerate(rows))
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    file = File("items.jsonl", text.encode())
    stated = Loading.model_validate_json(json.dumps({"fields": FIELDS, **loading}))
    completed = complete_loading("rows", [file], stated)
    items = load_items("rows", file, completed.loading)
    return items, completed.loading, "\n".join(completed.said)


def best(items: Sequence[Item]) -> list[str | None]:
    return [item.best for item in items]


@pytest.mark.parametrize(
    "forms",
    ["A) {}", "(A) {}", "[A] {}", "A. {}", "A: {}", "a) {}", "(a) {}", "1. {}", "1) {}", "i) {}", "I. {}",
     "A、{}", "（A）{}", "A){}"],
)  # fmt: skip
def test_labels_of_all_rows_are_removed(forms: str) -> None:
    series = {
        "A": "ABCD",
        "a": "abcd",
        "1": "1234",
        "i": ["i", "ii", "iii", "iv"],
        "I": ["I", "II", "III", "IV"],
    }
    (token,) = (token for token in series if token in forms)
    marked = [
        forms.replace(token, label).format(metal) for label, metal in zip(series[token], METALS, strict=True)
    ]
    for golds in (["A", "C", "D"], [marked[0], marked[2], marked[3]], ["iron", "zinc", "lead"], [0, 2, 3]):
        items, loading, said = read([(marked, gold) for gold in golds])
        assert [item.options for item in items] == [METALS] * 3
        assert best(items) == ["iron", "zinc", "lead"]
        assert loading.labels == "remove"
        assert f"{marked[0]!r} is asked as 'iron'" in said


def test_a_letter_names_the_option_that_bears_it() -> None:
    rows = [(["b) tin", "c) zinc", "a) iron"], "a"), (["c) zinc", "a) iron", "b) tin"], "c")]
    items, _, _ = read(rows)
    assert best(items) == ["iron", "zinc"]
    assert best(read([(options, f"({gold})") for options, gold in rows])[0]) == ["iron", "zinc"]
    numbered = [(["2) tin", "3) zinc", "1) iron"], 3), (["3) zinc", "1) iron", "2) tin"], 1)]
    assert best(read(numbered, gold="one_based")[0]) == ["zinc", "iron"]


@pytest.mark.parametrize(
    "options",
    [
        ("I. Newton", "A. Einstein", "N. Bohr"),
        ("1. FC Köln", "1. FC Nürnberg"),
        ("3.5", "4.5", "5.5"),
        ("1:30", "2:30"),
        ("A minor", "B minor", "C major"),
        ("A-C", "B-C"),
        ("(R)-butanol", "(S)-butanol"),
        ("2,4-D", "2,4-T"),
        ("I only", "II only", "III only"),
        ("A) iron", "B) tin", "D) zinc"),
        ("A) iron", "B. tin"),
        ("A) iron", "B) tin", "zinc"),
        ("A", "B", "AB", "O"),
        ("A", "C", "D", "K"),
    ],
)
def test_what_only_looks_like_a_label_is_no_label(options: tuple[str, ...]) -> None:
    assert carried_labels(options) is None
    items, loading, _ = read([(options, options[-1])] * 5, gold="text")
    assert {item.options for item in items} == {options}
    assert loading.labels is None


def test_initials_among_other_options_are_kept() -> None:
    names = ["A. Lincoln", "B. Obama"]
    items, loading, _ = read([(METALS, "A"), (names, "B"), (METALS, "C")])
    assert items[1].options == tuple(names)
    assert (items[1].best, loading.labels) == ("B. Obama", None)
    alone, _, _ = read([(names, "B")])
    assert alone[0].options == tuple(names)


def test_a_file_with_some_labels_is_refused_and_both_ways_out_work() -> None:
    marked = ["A) iron", "B) tin"]
    rows = [(marked, "A"), (marked, "B"), (["iron", "tin"], "A")]
    with pytest.raises(
        Misread, match=r"2 rows have labels .*row 1: 'A\) iron'.* 1 row has none.*row 3: 'iron'"
    ) as found:
        read(rows)
    assert (found.value.code, found.value.path) == ("GC334", ("fields", "options"))
    removed, _, _ = read(rows, labels="remove")
    assert {item.options for item in removed} == {("iron", "tin")}
    kept, _, _ = read(rows, labels="keep")
    assert [item.options for item in kept] == [tuple(marked), tuple(marked), ("iron", "tin")]


@given(
    st.permutations(range(5)),
    st.sampled_from("Aa1iI"),
    st.sampled_from(["{}) ", "({}) ", "{}. ", "{}: "]),
    st.lists(st.text(string.ascii_letters + " éß東", min_size=3).filter(str.strip), min_size=5, max_size=5),
)
def test_labels_come_off_whatever_the_texts_and_their_order(
    order: list[int], token: str, form: str, texts: list[str]
) -> None:
    series = {"A": "ABCDE", "a": "abcde", "1": "12345", "i": ["i", "ii", "iii", "iv", "v"],
              "I": ["I", "II", "III", "IV", "V"]}[token]  # fmt: skip
    found = carried_labels(tuple(form.format(series[place]) + texts[place] for place in order))
    assert found is not None
    assert list(found.places) == order
    assert [text.split() for text in found.texts] == [texts[place].split() for place in order]


LISTED = Item("q", "Which melts?\nA. iron\nB. gallium\nC. tin\nAnswer:", ("A", "B", "C"), gold=1)
PROSE = Item("p", "Is answer A or answer B better?", ("A", "B"), gold=1)
VITAMIN = Item("v", "Which vitamin does the skin make?", ("A", "B", "C", "D"), gold=3)


def test_letters_of_the_question_keep_their_order_and_get_no_second_ones() -> None:
    for order in ("reversed", "shuffled:1", "rotated:2"):
        assert arranged(LISTED, order) == LISTED
    with pytest.raises(DrawError, match="keep their order"):
        arranged(LISTED, "gold_at:A")
    template = "{{ question }}|{{ options }}|{% for a, b in choices %}{{ a }}{{ b }}{% endfor %}"
    for style in ("lettered", "listed", "none"):
        assert render_prompt(template, LISTED, style=style) == f"{LISTED.query}||"
        assert Setting("p", "extract", options=style).labels_of(LISTED) == ("A", "B", "C")
        assert reference_answer(LISTED, style) == "B"
    small = Item("s", "Which melts? (a) iron (b) gallium", ("A", "B"), gold=1)
    assert render_prompt("{{ question }}", small) == small.query
    assert spoken_options(small) == ("iron", "gallium")
    assert spoken_options(LISTED) == ("iron", "gallium", "tin")
    assert render_prompt("{{ question }}", PROSE) == PROSE.query
    assert render_prompt("{{ question }}", VITAMIN) == f"{VITAMIN.query}\nA\nB\nC\nD"


def test_letters_are_ranked_as_labels_and_as_texts() -> None:
    for kind in ("letter", "option_text"):
        ranked = item_candidates(kind, LISTED, "1)")
        assert [(one.text, one.option) for one in ranked] == [("A", 0), ("B", 1), ("C", 2)]
    bracketed = Item("q", "Which? (a) iron (b) tin", ("(a)", "(b)"), gold=0)
    assert [one.text for one in item_candidates("letter", bracketed)] == ["a", "b"]
    assert [one.text for one in item_candidates("option_text", bracketed)] == ["(a)", "(b)"]


def test_numbers_are_labels_only_where_the_question_lists_something() -> None:
    assert own_letters(Item("n", "How many are prime?", ("1", "2", "3", "4"))) is None
    listed = own_letters(Item("n", "Which?\n1. iron\n2) tin\n3: zinc", ("1", "2", "3")))
    assert listed is not None
    assert listed.texts == ("iron", "tin", "zinc")
    assert arranged(Item("n", "How many are prime?", ("1", "2", "3")), "reversed").options == ("3", "2", "1")


def test_exemplars_answer_in_the_form_of_what_is_ranked() -> None:
    item = Item("q", "Which?", METALS, gold=2)
    assert reference_answer(item, "lettered") == "C"
    assert reference_answer(item, "lettered", candidates="option_text") == "zinc"
    assert reference_answer(item, "lettered", candidates="unknown_expanded") == "zinc"
    assert reference_answer(item, "none", candidates="letter") == "C"
    assert reference_answer(item, "none") == "zinc"


@pytest.mark.parametrize("letters", ["АБВГ", "абвг"])
def test_cyrillic_labels_are_labels(letters: str) -> None:
    """The third letter there looks like the second one of the Latin alphabet."""
    marked = tuple(f"{letter}) {metal}" for letter, metal in zip(letters, METALS, strict=True))
    carried = carried_labels(marked)
    assert carried is not None and (carried.labels, carried.texts) == (tuple(letters), METALS)
    own = own_letters(Item("q", "Which?\n" + "\n".join(marked), options=tuple(letters)))
    assert own is not None and own.texts == METALS
    assert last_answer(f"Ответ: {letters[2]}", own.texts, own.labels, "").option == 2
    assert last_answer("Ответ: В", METALS, "ABCD", "").option is None
