"""Items of anyone's own: the same known questions, written in the many ways in which people write them.

What is known is the right answer of each question, as a text. However a file says it, the items must have
that answer, or the file must be refused: an item with another answer is never made.
"""

import csv
import io
import json
import random
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from gridc.compiler.inputs.draw import with_questions
from gridc.compiler.inputs.items import Items, LoadedItems
from gridc.compiler.inputs.loaders import complete_loading, load_items
from gridc.compiler.inputs.loaders.parsing import File, Malformed, Misread
from gridc.compiler.instrument.item import Item
from gridc.schema.items import Fields, Loading

COLUMNS = ("a", "b", "c", "d")
Known = tuple[str, tuple[str, ...], int]


def sums(rows: int = 40, options: int = 4, places: Sequence[int] | None = None) -> list[Known]:
    """Questions with their options and the place of the right one."""
    rng = random.Random(7)
    made = []
    for number in range(rows):
        left, right = rng.randint(1, 9), rng.randint(1, 9)
        wrong = [f"it is {each}" for each in rng.sample([n for n in range(2, 19) if n != left + right], 3)]
        place = rng.choice(list(places or range(options)))
        texts = [*wrong[:place], f"it is {left + right}", *wrong[place:]][:options]
        made.append((f"Question {number}: what is {left} plus {right}?", tuple(texts), place))
    return made


SUMS = sums()


def rows(known: Sequence[Known], gold: Callable[[Known], Any]) -> list[dict[str, Any]]:
    return [
        {"question": one[0], **dict(zip(COLUMNS, one[1], strict=False)), "answer": gold(one)} for one in known
    ]


def as_csv(table: Sequence[dict[str, Any]], **how: Any) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]), **how)
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue().encode()


def as_jsonl(table: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table).encode()


def as_parquet(table: Sequence[dict[str, Any]]) -> bytes:
    target = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(table)), target)
    return target.getvalue()


def loading(rule: str | None = None, malformed: str = "error", **more: Any) -> Loading:
    told = {"query": "question", "options": COLUMNS, "gold": "answer", **more}
    return Loading.model_validate({"gold": rule, "malformed": malformed, "fields": Fields(**told)})


def read(name: str, data: bytes, told: Loading) -> tuple[list[Item], tuple[str, ...], dict[str, str]]:
    file = File(name, data)
    completed = complete_loading("rows", [file], told)
    return load_items("rows", file, completed.loading), completed.said, dict(completed.found)


def answers(items: Sequence[Item]) -> list[tuple[str, str]]:
    return [(item.query, item.options[item.gold or 0]) for item in items]


TRUTH = [(query, options[place]) for query, options, place in SUMS]
LETTER = "ABCD"
SPELLINGS: dict[str, tuple[str, Callable[[Known], Any]]] = {
    "index": ("index", lambda one: one[2]),
    "index as text": ("index", lambda one: str(one[2])),
    "index as pandas writes it beside nulls": ("index", lambda one: float(one[2])),
    "from one": ("one_based", lambda one: one[2] + 1),
    "letter": ("letter", lambda one: LETTER[one[2]]),
    "small letter": ("letter", lambda one: LETTER[one[2]].lower()),
    "letter and point": ("letter", lambda one: f"{LETTER[one[2]]}."),
    "letter in brackets": ("letter", lambda one: f" ({LETTER[one[2]]})"),
    "letters of both cases": (
        "letter",
        lambda one: LETTER[one[2]] if len(one[0]) % 2 else LETTER[one[2]].lower(),
    ),
    "text": ("text", lambda one: one[1][one[2]]),
    "text with white space": ("text", lambda one: f"  {one[1][one[2]].replace(' ', '  ')}\n"),
    "text in capitals": ("text", lambda one: one[1][one[2]].upper()),
}
FORMS: dict[str, Callable[[Sequence[dict[str, Any]]], bytes]] = {
    "mine.csv": as_csv,
    "mine.jsonl": as_jsonl,
    "mine.json": lambda table: json.dumps(list(table)).encode(),
    "mine.parquet": as_parquet,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_however_the_right_option_is_named_it_is_found_out_and_said(spelling: str, name: str) -> None:
    rule, gold = SPELLINGS[spelling]
    items, said, found = read(name, FORMS[name](rows(SUMS, gold)), loading())
    assert answers(items) == TRUTH
    assert found == {"gold": rule}
    query, right = TRUTH[0]
    assert f"({rule})" in said[0] and query in said[0] and f"`{right}`" in said[0]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("malformed", ["error", "leave_out"])
@pytest.mark.parametrize("stated", ["index", "one_based", "letter", "text"])
def test_a_rule_that_the_rows_contradict_is_refused_and_the_right_one_is_named(
    spelling: str, malformed: str, stated: str
) -> None:
    rule, gold = SPELLINGS[spelling]
    data = as_csv(rows(SUMS, gold))
    if stated == rule:
        assert answers(read("mine.csv", data, loading(stated, malformed))[0]) == TRUTH
        return
    with pytest.raises(Misread) as caught:
        read("mine.csv", data, loading(stated, malformed))
    assert (caught.value.code, caught.value.path) == ("GC334", ("gold",))
    named = caught.value.help.split('gold = "')[1].split('"')[0]
    assert answers(read("mine.csv", data, loading(named, malformed))[0]) == TRUTH


def test_the_case_of_the_issue_one_based_said_of_rows_that_count_from_0() -> None:
    """Left out, the rows that are 0 hid that every other row was scored against its neighbour."""
    data = as_csv(rows(SUMS, lambda one: one[2]))
    zeros = sum(place == 0 for _, _, place in SUMS)
    with pytest.raises(Misread, match=f"{zeros} rows are 0 and none is 4") as caught:
        read("mine.csv", data, loading("one_based", "leave_out"))
    assert caught.value.help.startswith('did you mean gold = "index"?')


def test_where_counting_from_0_and_from_1_both_fit_nothing_is_chosen() -> None:
    middle = sums(places=(1, 2))
    data = as_csv(rows(middle, lambda one: one[2]))
    with pytest.raises(Misread) as caught:
        read("mine.csv", data, loading())
    assert caught.value.code == "GC334" and "no row is 0 and no row is 4" in caught.value.problem
    first, right = middle[0][0], middle[0][1][middle[0][2]]
    assert f'gold = "index", by which row 2 ({first}) is answered by `{right}`' in caught.value.help
    items, said, _ = read("mine.csv", data, loading("index"))
    assert answers(items) == [(query, options[place]) for query, options, place in middle]
    assert any('"one_based" would fit too' in line for line in said)  # stated, and still said


def test_a_number_that_is_a_place_and_the_text_of_another_option_is_not_guessed() -> None:
    table = [{"question": f"Q{n}", "a": "2", "b": "0", "c": "1", "answer": n % 3} for n in range(9)]
    with pytest.raises(Misread, match="give other answers"):
        read("mine.jsonl", as_jsonl(table), loading(options=("a", "b", "c")))


def test_rows_that_name_options_in_several_ways_are_counted_by_way() -> None:
    table = rows(SUMS, lambda one: one[2] if len(one[0]) % 2 else LETTER[one[2]])
    numbers = sum(isinstance(row["answer"], int) for row in table)
    with pytest.raises(Misread, match=f"{numbers} whole numbers .* {len(table) - numbers} letters"):
        read("mine.jsonl", as_jsonl(table), loading())
    fewer, more = ("letter", "index") if numbers > len(table) - numbers else ("index", "letter")
    with pytest.raises(Misread):
        read("mine.jsonl", as_jsonl(table), loading(fewer, "leave_out"))
    with pytest.raises(Malformed) as caught:
        read("mine.jsonl", as_jsonl(table), loading(more))
    assert len(caught.value.rows) == min(numbers, len(table) - numbers)
    assert set(answers(list(caught.value.items))) < set(TRUTH)


def test_rows_without_an_answer_are_reported_and_the_others_keep_theirs() -> None:
    table = rows(SUMS, lambda one: one[2])
    for number in (3, 8):
        table[number]["answer"] = None
    for name in ("mine.csv", "mine.jsonl", "mine.parquet"):
        with pytest.raises(Malformed) as caught:
            read(name, FORMS[name](table), loading())
        assert [row.problem for row in caught.value.rows] == ["`answer`: it is empty"] * 2
        assert answers(list(caught.value.items)) == [one for n, one in enumerate(TRUTH) if n not in (3, 8)]


OPTIONS_IN_ONE_COLUMN: dict[str, Callable[[Sequence[str]], Any]] = {
    "JSON": lambda options: json.dumps(list(options)),
    "Python, as pandas writes a list into CSV": lambda options: str(list(options)),
    "a table by letter": lambda options: json.dumps(dict(zip(LETTER, options, strict=True))),
}


@pytest.mark.parametrize("form", OPTIONS_IN_ONE_COLUMN)
def test_options_may_stand_in_one_column(form: str) -> None:
    write = OPTIONS_IN_ONE_COLUMN[form]
    table = [{"question": q, "choices": write(o), "answer": LETTER[p]} for q, o, p in SUMS]
    items, _, found = read("mine.csv", as_csv(table), loading(options=("choices",)))
    assert (answers(items), found) == (TRUTH, {"gold": "letter"})


@pytest.mark.parametrize("form", ["p|q|r|s", "['p' 'q']", "[p, q]", '{"D": "p", "A": "q"}'])
def test_options_in_a_form_that_could_be_misread_are_refused(form: str) -> None:
    table = [{"question": "Q", "choices": form, "answer": 1}]
    with pytest.raises((Malformed, Misread)):
        read("mine.csv", as_csv(table), loading("index", options=("choices",)))


def test_nested_columns_are_found_and_a_misspelt_one_is_named() -> None:
    table = [{"q": {"text": q}, "set": {"list": list(o)}, "key": {"at": p}} for q, o, p in SUMS]
    told = loading(query="q.text", options=("set.list",), gold="key.at")
    assert answers(read("mine.jsonl", as_jsonl(table), told)[0]) == TRUTH
    with pytest.raises(Misread) as caught:
        read("mine.jsonl", as_jsonl(table), loading(query="q.text", options=("set.list",), gold="key.att"))
    assert (caught.value.code, caught.value.path) == ("GC333", ("fields", "gold"))
    assert caught.value.help == "did you mean `key.at`?"


@pytest.mark.parametrize("malformed", ["error", "leave_out"])
@pytest.mark.parametrize("key", ["query", "gold", "id", "context"])
def test_a_misspelt_column_is_an_error_whatever_may_be_left_out(key: str, malformed: str) -> None:
    data = as_csv(rows(SUMS, lambda one: one[2]))
    with pytest.raises(Misread) as caught:
        read("mine.csv", data, loading("index", malformed, **{key: "answr"}))
    assert (caught.value.code, caught.value.path) == ("GC333", ("fields", key))
    assert "`answer`" in caught.value.help


def test_a_file_without_a_header_is_recognised() -> None:
    data = as_csv(rows(SUMS, lambda one: one[2])).split(b"\n", 1)[1]
    with pytest.raises(Misread, match=r"no row of `mine\.csv` has a column `question`") as caught:
        read("mine.csv", data, loading("index"))
    assert "look like data" in caught.value.help


ENCODED: dict[str, tuple[Callable[[bytes], bytes], str | None]] = {
    "with a BOM": (lambda data: b"\xef\xbb\xbf" + data, None),
    "with CRLF": (lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), None),
    "UTF-16": (lambda data: data.decode().encode("utf-16"), "UTF-16"),
    "with CR alone": (lambda data: data.replace(b"\r\n", b"\r"), "carriage returns"),
}


@pytest.mark.parametrize("how", ENCODED)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_is_the_same_whatever_program_saved_it(how: str, separator: str) -> None:
    change, said_of_it = ENCODED[how]
    data = change(as_csv(rows(SUMS, lambda one: LETTER[one[2]]), delimiter=separator))
    items, said, _ = read("mine.csv", data, loading())
    assert answers(items) == TRUTH
    assert said_of_it is None or any(said_of_it in line for line in said)
    assert separator == "," or any("separated by" in line for line in said)


def test_bytes_that_are_not_utf8_are_refused_at_their_line_with_a_command() -> None:
    table = rows([*SUMS[:2], ("Où est le café?", ("à côté", "là"), 0)], lambda one: one[2])
    data = as_csv(table).decode().encode("cp1252")
    with pytest.raises(Malformed) as caught:
        read("mine.csv", data, loading("index"))
    (row,) = caught.value.rows
    assert row.row == 4 and "Où est" in (row.help or "") and "iconv -f WINDOWS-1252" in (row.help or "")


def test_a_question_over_several_lines_with_quotes_and_commas_stays_whole() -> None:
    known = [('He said: "one,\ntwo",\r\nand left. Who?', ("a, b", 'the "c"', "d\ne"), 1)]
    for name in FORMS:
        table = rows(known, lambda one: one[2])
        (item,), _, _ = read(name, FORMS[name](table), loading("index", options=("a", "b", "c")))
        wanted = known[0][0].replace("\r\n", "\n") if name.endswith("csv") else known[0][0]
        assert (item.query, item.options, item.gold) == (wanted, known[0][1], 1)


def test_an_option_that_is_empty_between_others_is_refused_and_one_at_the_end_is_not_there() -> None:
    table = rows(SUMS[:6], lambda one: min(one[2], 2))
    table[2]["d"] = ""
    asked = held(table, loading("index"))
    assert len(asked.sampled[2].options) == 3 and "1 with 3, 5 with 4" in next(asked.oddities)
    table[3]["b"] = " "
    with pytest.raises(Malformed, match="row 5: `b`, option 2, is empty, and option C is not"):
        read("mine.csv", as_csv(table), loading("index"))


def test_two_rows_of_one_id_are_refused_with_a_way_out_that_keeps_both() -> None:
    table = [{**row, "name": number // 2} for number, row in enumerate(rows(SUMS, lambda one: one[2]))]
    with pytest.raises(Malformed) as caught:
        read("mine.csv", as_csv(table), loading("index", id="name"))
    assert len(caught.value.rows) == len(SUMS) // 2
    assert all("leave `fields.id` out" in (row.help or "") for row in caught.value.rows)
    assert answers(read("mine.csv", as_csv(table), loading("index"))[0]) == TRUTH


def test_twin_options_and_padding_are_said() -> None:
    table = rows(SUMS[:4], lambda one: one[2])
    table[1]["c"] = table[1]["d"] = " same "
    table[1]["answer"] = 0
    said = "\n".join(held(table, loading("index")).oddities)
    assert "1 item has an option twice" in said and "1 item has an option that begins" in said


def test_remarks_count_the_rows_that_are_asked() -> None:
    table = [{**row, "label": row["answer"], "answers": "x"} for row in rows(SUMS[:4], lambda one: one[2])]
    table[1]["c"] = table[1]["d"] = " same "
    table[1]["label"] = (table[1]["answer"] + 1) % 4
    table[2]["label"] = (table[2]["answer"] + 1) % 4
    table[1]["question"] = ""
    told, file = loading("index", "leave_out"), File("mine.csv", as_csv(table))
    assert "`label` is not read, and names another option than `answer` in 1 row" in (
        complete_loading("rows", [file], told).said
    )
    asked = tuple(items_left(file, told))
    assert len(asked) == 3 and not list(Items(asked, (), LoadedItems(asked, {})).oddities)


def items_left(file: File, told: Loading) -> Sequence[Item]:
    """The items of the rows that follow the format."""
    with pytest.raises(Malformed) as caught:
        load_items("rows", file, told)
    return caught.value.items


def held(table: list[dict[str, Any]], told: Loading, printed: tuple[str, ...] = ()) -> Items:
    """The items of a file, of which templates print some further columns."""
    items = with_questions(read("mine.csv", as_csv(table), told)[0], printed)
    return Items(items, (), LoadedItems(items, {}))


@pytest.mark.parametrize("field", ["context", "open", "extra"])
def test_rows_with_one_question_and_other_texts_beside_it_do_not_ask_the_same(field: str) -> None:
    table = rows([SUMS[0]] * 3, lambda one: one[2])
    for place, row in enumerate(table):
        row["beside"] = ("one text", "another text", "One text.")[place]
    beside: Any = ("beside",) if field == "extra" else "beside"
    found = held(table, loading("index", **{field: beside}), ("beside",))
    assert (found.distinct, len(found.copies)) == (2, 1)


def test_a_further_column_that_no_template_prints_makes_no_question_of_its_own() -> None:
    table = [
        {**row, "line": f"{number}"} for number, row in enumerate(rows([SUMS[0]] * 3, lambda one: one[2]))
    ]
    assert held(table, loading("index", extra=("line",))).distinct == 1
    assert held(table, loading("index", extra=("line",)), ("line",)).distinct == 0  # nothing is asked twice


@pytest.mark.parametrize("options", [COLUMNS, ()])
def test_rows_that_ask_the_same_and_have_other_right_answers_are_counted(options: tuple[str, ...]) -> None:
    table = rows([SUMS[0]] * 4, lambda one: one[2])
    table[1]["answer"] = table[3]["answer"] = SUMS[0][2] + 1
    free: dict[str, Any] = {"gold": None, "references": ("answer",)}
    told = loading("index") if options else loading(options=(), **free)
    found = held(table, told)
    assert (found.distinct, len(found.copies), found.contradicting) == (1, 3, 2)


@pytest.mark.parametrize(("name", "data"), [
    ("mine.json", as_jsonl(rows(SUMS, lambda one: one[2]))),
    ("mine.jsonl", json.dumps(rows(SUMS, lambda one: one[2])).encode()),
    ("mine.txt", as_csv(rows(SUMS, lambda one: one[2]))),
    ("mine.jsonl", as_parquet(rows(SUMS, lambda one: one[2]))),
])  # fmt: skip
def test_what_a_file_is_is_seen_from_what_it_holds(name: str, data: bytes) -> None:
    assert answers(read(name, data, loading())[0]) == TRUTH


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"data": [{"question": "Q"}]}', b"PAR1xx", b"[1, 2"])
@pytest.mark.parametrize("name", ["mine.csv", "mine.json", "mine.jsonl", "mine.parquet"])
def test_a_file_without_rows_is_a_finding(name: str, data: bytes) -> None:
    try:
        items, _, _ = read(name, data, loading())
    except (Malformed, Misread):
        return
    assert items == []


def test_columns_that_name_options_in_two_ways_are_told_apart() -> None:
    """Each column has one way: no row is wrong, and none is to be corrected."""
    made = [
        {**row, "lure": options[right - 1]}
        for row, (_, options, right) in zip(rows(SUMS, lambda one: "ABCD"[one[2]]), SUMS, strict=True)
    ]
    stated = {"query": "question", "options": list(COLUMNS), "gold": "answer", "matching": "lure"}
    with pytest.raises(Misread) as caught:
        read("mine.csv", as_csv(made), Loading.model_validate({"fields": stated}))
    assert (caught.value.code, caught.value.path) == ("GC334", ("fields", "matching"))
    assert caught.value.problem.startswith("`gold` names each option by its letter and `matching` names each")
    assert "by its text" in caught.value.problem


ALIASES = [
    {"question": "Capital of France?", "answer": "Paris | City of Light|"},
    {"question": "Capital of Norway?", "answer": "Oslo|Christiania"},
    {"question": "Capital of Peru?", "answer": "Lima"},
]


def test_several_right_answers_in_one_text_are_split_where_the_spec_says_so() -> None:
    fields = {"query": "question", "references": ("answer",)}
    items, said, _ = read("aliases.csv", as_csv(ALIASES), Loading(fields=Fields.model_validate(fields)))
    assert [item.references for item in items] == [(row["answer"],) for row in ALIASES]
    (remark,) = said
    assert "`answer` has '|' in 2 rows" in remark
    stated = tomllib.loads(remark.partition("right answer: ")[2].removesuffix(" reads several"))
    split, said, _ = read(
        "aliases.csv", as_csv(ALIASES), Loading(fields=Fields.model_validate({**fields, **stated}))
    )
    assert [item.references for item in split] == [
        ("Paris", "City of Light"), ("Oslo", "Christiania"), ("Lima",),
    ]  # fmt: skip
    assert said == ()


@pytest.mark.parametrize(
    "texts", [["AC|DC", *["ABBA"] * 9], ["a; b", *["c"] * 9], ["x", "y"], ["one|", "two|"]]
)
def test_a_mark_that_few_answers_have_is_part_of_them(texts: Sequence[str]) -> None:
    told = Loading(fields=Fields.model_validate({"query": "question", "references": ("answer",)}))
    table = [{"question": f"{number}?", "answer": text} for number, text in enumerate(texts)]
    items, said, _ = read("bands.csv", as_csv(table), told)
    assert [item.references for item in items] == [(text,) for text in texts]
    assert said == ()
