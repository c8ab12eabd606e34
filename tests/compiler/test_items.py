"""What a study asks of its items: subsets and orders as axes, pilots kept apart, several files, bad rows."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import Compiled
from gridc.compiler.grid.cells import Cell
from gridc.compiler.lock.lock import make_lock, write_lock
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import SpecError
from gridc.schema.canonical import digest

Compile = Callable[..., Compiled]

SAMPLE = "sample = { n = 4, seed = 1 }\n"
ORDER = 'option_order = "shuffled:1"\n'
EXEMPLARS = 'exemplars = { pool = "rest", seed = 1 }\n'
LAST = '[[exclude]]\nwhen = { scoring = "rank"'


def level(name: str, effects: str) -> str:
    return f'[[axis.level]]\nid = "{name}"\ntier = "core"\n{effects}\nprovenance = "ours"\n\n'


def axis(name: str, *levels: tuple[str, str]) -> tuple[str, str]:
    """The edit that adds an axis to the small spec."""
    return LAST, f'[[axis]]\nid = "{name}"\n\n{"".join(level(*each) for each in levels)}{LAST}'


def asked(plan: Plan, cell: Cell) -> list[str]:
    return [sample.item.id for sample in plan.samples(cell) if sample.replicate == 0]


def cells(plan: Plan, **levels: str) -> list[Cell]:
    return [cell for cell in plan.cells() if levels.items() <= dict(cell.levels).items()]


def prompt_of(plan: Plan, cell: Cell, item: str) -> str:
    (sample,) = [each for each in plan.samples(cell) if each.item.id == item and each.replicate == 0]
    return sample.requests[0].prompt.messages[-1][1]


def stated(found: pytest.ExceptionInfo[SpecError]) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in found.value.diagnostics]


ORDERS = axis("order", ("file", 'option_order = "file"'), ("back", 'option_order = "reversed"'))


def test_the_order_of_the_options_can_be_an_axis(compiled: Compile) -> None:
    plan = Plan(compiled((ORDER, ""), ORDERS).study)
    (front,) = cells(plan, template="plain", decoding="greedy", scoring="read", order="file")[:1]
    (back,) = cells(plan, template="plain", decoding="greedy", scoring="read", order="back")[:1]
    assert asked(plan, front) == asked(plan, back)
    for one, other in zip(plan.items(front), plan.items(back), strict=True):
        assert one.gold == 0
        assert other.options == one.options[::-1]
        assert other.options[other.gold or 0] == one.options[0]
    name = asked(plan, front)[0]
    letters = [re.findall(r"Answer:(\w)", prompt_of(plan, cell, name)) for cell in (front, back)]
    assert letters[0] == ["A", "A"]
    assert "A" not in letters[1]


def test_the_lock_has_the_digest_of_every_item_in_every_order(compiled: Compile) -> None:
    study = compiled((ORDER, ""), ORDERS).study
    manifest = study.inputs()["benchmarks"]["facts"]
    items = study.items["facts"]
    assert set(manifest["items"]) == set(manifest["exemplars"]) == {"file", "reversed"}
    for order in ("file", "reversed"):
        assert manifest["items"][order] == {item.id: digest(item.as_json()) for item in items.asked(order)}
        assert len(manifest["exemplars"][order]) == 2
    assert manifest["items"]["file"] != manifest["items"]["reversed"]


def test_an_order_of_options_that_are_not_shown_is_no_choice(compiled: Compile) -> None:
    with pytest.raises(SpecError, match="`order` changes nothing") as found:
        compiled((ORDER, ""), ("shots = 2", 'shots = 2\noptions = "none"'), ORDERS)
    assert [code for code, _ in stated(found)] == ["GC303"]


def test_an_axis_overrides_the_benchmarks_own_order(compiled: Compile) -> None:
    plan = Plan(compiled(ORDERS).study)
    assert set(plan.study.items["facts"].orders) == {"file", "reversed"}


def test_exemplars_never_give_the_place_of_the_right_answer_away(compiled: Compile, small: Path) -> None:
    rows = [
        {"question": f"Number {n}?", "mc1_targets": {f"{n} {word}": int(word == "one") for word in WORDS}}
        for n in range(40)
    ]
    (small.parent / "facts.json").write_text(json.dumps(rows))
    plan = Plan(compiled((ORDER, 'option_order = "gold_at:B"\n'), ("shots = 2", "shots = 12")).study)
    items = plan.study.items["facts"]
    assert {item.gold for item in items.asked("gold_at:B")} == {1}
    assert len({item.gold for item in items.shown("gold_at:B")}) > 1


WORDS = ("one", "two", "three")


SUBSETS = axis(
    "part",
    ("all", ""),
    ("half", "items = { share = 0.5, seed = 3 }"),
    ("other", "items = { n = 3, seed = 4 }"),
)


def test_an_axis_can_select_items(compiled: Compile) -> None:
    plan = Plan(compiled(SUBSETS).study)
    (whole,), (half,), (other,) = (
        cells(plan, template="plain", decoding="warm", scoring="read", part=part)[:1]
        for part in ("all", "half", "other")
    )
    assert [len(asked(plan, cell)) for cell in (whole, half, other)] == [4, 2, 3]
    assert set(asked(plan, half)) < set(asked(plan, whole))
    assert len(list(plan.samples(half))) == 4
    subsets = plan.study.inputs()["benchmarks"]["facts"]["subsets"]
    assert subsets == {
        "share = 0.5, seed = 3": digest(asked(plan, half)),
        "n = 3, seed = 4": digest(asked(plan, other)),
    }


def test_a_prompt_is_the_same_call_whichever_subset_asks_it(compiled: Compile) -> None:
    plan = Plan(compiled(SUBSETS).study)
    (whole, half) = (
        cells(plan, template="plain", decoding="greedy", scoring="read", part=part)[0]
        for part in ("all", "half")
    )
    ids = [{sample.requests[0].id for sample in plan.samples(cell)} for cell in (whole, half)]
    assert ids[1] < ids[0]


def test_items_are_selected_by_their_tags(compiled: Compile, small: Path) -> None:
    rows = "".join(
        json.dumps(
            {
                "ask": f"Number {n}?",
                "a": "yes",
                "b": "no",
                "key": "A",
                "kind": "even" if n % 2 == 0 else "odd",
            }
        )
        + "\n"
        for n in range(10)
    )
    (small.parent / "mine.jsonl").write_text(rows)
    fields = '{ query = "ask", options = ["a", "b"], gold = "key", tags = ["kind"] }'
    result = compiled(
        ('"truthfulqa_mc1"', '"rows"'),
        ('"path:facts.json"', '"path:mine.jsonl"'),
        (
            SAMPLE,
            f'sample.where = {{ kind = "even" }}\nloading = {{ gold = "letter", fields = {fields} }}\n',
        ),
    )
    assert [item.query for item in result.study.items["facts"].sampled] == [
        f"Number {n}?" for n in (0, 2, 4, 6, 8)
    ]


PAIR = axis("format", ("mc", 'options = "lettered"'), ("open", 'options = "none"'))


def test_an_item_is_asked_with_its_options_and_open_ended_as_a_pair(compiled: Compile, small: Path) -> None:
    rows = [
        {"ask": "Which of these is number 1?", "free": "What is number 1?", "all": ["one", "two"], "key": 0},
        {"ask": "Which is number 2?", "free": "What is number 2?", "all": ["one", "two"], "key": 1},
    ]
    (small.parent / "mine.json").write_text(json.dumps(rows))
    fields = '{ query = "ask", open = "free", options = ["all"], gold = "key" }'
    plan = Plan(
        compiled(
            ('"truthfulqa_mc1"', '"rows"'),
            ('"path:facts.json"', '"path:mine.json"'),
            (SAMPLE, f'loading = {{ gold = "index", fields = {fields} }}\n'),
            (ORDER, 'option_order = "file"\n'),
            ("shots = 2", "shots = 0"),
            PAIR,
        ).study
    )
    (mc,), (free,) = (
        cells(plan, template="plain", decoding="greedy", scoring="read", format=name)[:1]
        for name in ("mc", "open")
    )
    assert asked(plan, mc) == asked(plan, free)
    name = asked(plan, mc)[0]
    assert prompt_of(plan, mc, name) == "Which of these is number 1?\nA. one\nB. two\nAnswer:"
    assert prompt_of(plan, free, name) == "What is number 1?\nAnswer:"


def test_a_wrapper_puts_text_around_the_whole_prompt(compiled: Compile, small: Path) -> None:
    (small.parent / "long.jinja").write_text("A long document.\n\n{{ prompt }}\n\nIt ends.")
    wrapping = axis("context", ("short", 'wrapper = "{{ prompt }}"'), ("long", 'wrapper = "path:long.jinja"'))
    plan = Plan(compiled(wrapping).study)
    (short,), (long,) = (
        cells(plan, template="plain", decoding="greedy", scoring="read", context=name)[:1]
        for name in ("short", "long")
    )
    name = asked(plan, short)[0]
    plain = prompt_of(plan, short, name)
    assert plain.count("Answer:") == 3
    assert prompt_of(plan, long, name) == f"A long document.\n\n{plain}\n\nIt ends."
    assert "path:long.jinja" in plan.study.inputs()["templates"]


def twin(name: str, sample: str) -> tuple[str, str]:
    """The edit that adds a second benchmark on the same file."""
    table = f'id = "{name}"\nloader = "truthfulqa_mc1"\nsource = "path:facts.json"\n{ORDER}{EXEMPLARS}'
    return (
        "[harness]",
        f'[[benchmark]]\n{table}direction = "higher_is_better"\nsample = {sample}\n\n[harness]',
    )


def test_a_sample_is_kept_apart_from_another_benchmark(compiled: Compile) -> None:
    study = compiled(
        twin("pilot", "{ n = 3, seed = 1 }"),
        (SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["pilot"] }\n'),
        ("shots = 2", "shots = 1"),
    ).study
    pilot, main = ({item.id for item in study.items[name].sampled} for name in ("pilot", "facts"))
    assert (len(pilot), len(main), pilot & main) == (3, 4, set())


def test_a_circle_of_disjoint_samples_is_refused(compiled: Compile) -> None:
    with pytest.raises(SpecError) as found:
        compiled(
            twin("pilot", '{ n = 3, seed = 1, disjoint_from = ["facts"] }'),
            (SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["pilot"] }\n'),
        )
    assert ("GC311", "`disjoint_from` is circular: facts -> pilot -> facts") in stated(found)


def test_a_sample_is_kept_apart_from_the_lock_of_a_pilot(compiled: Compile, small: Path) -> None:
    pilot = compiled(("shots = 2", "shots = 0"))
    write_lock(make_lock(pilot.study, small), small.parent / "pilot.lock")
    main = compiled((SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["path:pilot.lock"] }\n'))
    before, after = ({item.id for item in each.study.items["facts"].sampled} for each in (pilot, main))
    assert len(before) == len(after) == 4
    assert not before & after


def test_a_sample_is_kept_apart_from_a_list_of_items(compiled: Compile, small: Path) -> None:
    (small.parent / "pilot.txt").write_text("q0001\nq0005\n\n")
    study = compiled(
        (SAMPLE, 'sample = { disjoint_from = ["path:pilot.txt"] }\n'), ("shots = 2", "shots = 0")
    ).study
    names = [item.id for item in study.items["facts"].sampled]
    assert names == ["q0002", "q0003", "q0004", "q0006", "q0007", "q0008"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("q0001\nq9999\n", "`q9999`, which is not an item"),
        ("\n\n", "names no item"),
        ("{", "neither a lock nor a list"),
        ("{}", "neither a lock nor a list"),
        ('{"content": {"inputs": {"benchmarks": {}}}}', "a study on other files"),
        ('{"content": {"inputs": {"benchmarks": {"x": {"unpinned": "no"}}}}}', "a study on other files"),
        ('{"content": {"inputs": {"benchmarks": {"x": 3}}}}', "neither a lock nor a list"),
    ],
)
def test_a_list_that_names_no_items_of_the_file_is_refused(
    compiled: Compile, small: Path, text: str, words: str
) -> None:
    (small.parent / "pilot.txt").write_text(text)
    with pytest.raises(SpecError, match=words) as found:
        compiled((SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["path:pilot.txt"] }\n'))
    assert [code for code, _ in stated(found)] == ["GC311"]


def test_the_spec_of_a_pilot_is_no_list_of_its_items(compiled: Compile, small: Path) -> None:
    (small.parent / "pilot.toml").write_text(small.read_text("utf-8"), "utf-8")
    with pytest.raises(SpecError, match="in its lock") as found:
        compiled((SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["path:pilot.toml"] }\n'))
    assert [code for code, _ in stated(found)] == ["GC311"]


def test_a_list_cannot_lie_outside_the_folder(compiled: Compile) -> None:
    with pytest.raises(SpecError) as found:
        compiled((SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["path:../pilot.lock"] }\n'))
    assert [code for code, _ in stated(found)] == ["GC308"]


def test_what_must_be_kept_apart_from_absent_items_is_absent(compiled: Compile) -> None:
    absent = twin("pilot", "{ n = 3, seed = 1 }")
    study = compiled(
        (absent[0], absent[1].replace("path:facts.json", "data:nothing.json")),
        (SAMPLE, 'sample = { n = 4, seed = 1, disjoint_from = ["pilot"] }\n'),
    ).study
    assert set(study.absent) == {"facts", "pilot"}
    assert "`pilot`" in study.absent["facts"]


def trade(number: int, **changes: Any) -> dict[str, Any]:
    kind = "ambig" if number % 2 == 0 else "disambig"
    row = {
        "example_id": number, "question_index": "1",
        "question_polarity": "neg" if number % 4 < 2 else "nonneg",
        "context_condition": kind, "category": "Trade", "context": f"Potter {number} met a tanner.",
        "question": "Who was late?", "ans0": "The potter", "ans1": "Unknown", "ans2": "The tanner",
        "answer_info": {"ans0": ["a", "hill"], "ans1": ["b", "unknown"], "ans2": ["c", "vale"]},
        "additional_metadata": {"stereotyped_groups": ["hill"]}, "label": 1 if kind == "ambig" else 2,
    }  # fmt: skip
    return {**row, **changes}


def write_trades(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


BBQ = (('"truthfulqa_mc1"', '"bbq"'), ("shots = 2", "shots = 0"))


def test_a_pattern_takes_every_file_that_fits_by_name(compiled: Compile, small: Path) -> None:
    write_trades(small.parent / "bbq", "B.jsonl", [trade(n, category="B") for n in range(8)])
    write_trades(small.parent / "bbq", "A.jsonl", [trade(n, category="A") for n in range(4)])
    study = compiled(*BBQ, ('"path:facts.json"', '"path:bbq/*.jsonl"'), (SAMPLE, "")).study
    names = [item.id for item in study.items["facts"].sampled]
    assert names == [*(f"A-{n}" for n in range(4)), *(f"B-{n}" for n in range(8))]
    assert list(study.inputs()["benchmarks"]["facts"]["files"]) == ["bbq/A.jsonl", "bbq/B.jsonl"]


def test_categories_in_several_files_are_strata_of_one_sample(compiled: Compile, small: Path) -> None:
    write_trades(small.parent / "bbq", "A.jsonl", [trade(n, category="A") for n in range(40)])
    write_trades(small.parent / "bbq", "B.jsonl", [trade(n, category="B") for n in range(16)])
    sample = '{ n = 16, seed = 1, stratify = ["category", "condition"], allocation = "equal" }'
    study = compiled(
        *BBQ, ('"path:facts.json"', '"path:bbq/*.jsonl"'), (SAMPLE, f"sample = {sample}\n")
    ).study
    drawn = study.items["facts"].sampled
    for category in "AB":
        for condition in ("ambig", "disambig"):
            tags = [
                item
                for item in drawn
                if (item.tags["category"], item.tags["condition"]) == (category, condition)
            ]
            assert len(tags) == 4


def test_a_bad_row_is_named_with_its_file(compiled: Compile, small: Path) -> None:
    write_trades(small.parent / "bbq", "A.jsonl", [trade(n, category="A") for n in range(4)])
    write_trades(
        small.parent / "bbq", "B.jsonl", [trade(0), trade(1, label=1), trade(2), trade(3, label=0, ans0="")]
    )
    with pytest.raises(SpecError) as found:
        compiled(*BBQ, ('"path:facts.json"', '"path:bbq/*.jsonl"'), (SAMPLE, ""))
    assert [code for code, _ in stated(found)] == ["GC312", "GC312"]
    assert [message.split(":")[0] for _, message in stated(found)] == [
        "bbq/B.jsonl, row 2",
        "bbq/B.jsonl, row 4",
    ]
    assert "leave_out" in (found.value.diagnostics[0].help or "")


def test_an_item_that_two_files_hold_is_refused(compiled: Compile, small: Path) -> None:
    for name in ("A.jsonl", "B.jsonl"):
        write_trades(small.parent / "bbq", name, [trade(n) for n in range(4)])
    with pytest.raises(SpecError, match="item of an earlier file"):
        compiled(*BBQ, ('"path:facts.json"', '"path:bbq/*.jsonl"'), (SAMPLE, ""))


def test_many_bad_rows_are_told_in_a_few_findings(compiled: Compile, small: Path) -> None:
    write_trades(small.parent, "bad.jsonl", [trade(n, label=7) for n in range(40)])
    with pytest.raises(SpecError) as found:
        compiled(*BBQ, ('"path:facts.json"', '"path:bad.jsonl"'), (SAMPLE, ""))
    assert len(stated(found)) == 5
    assert stated(found)[-1][1].endswith("(and 35 more rows)")


def test_bad_rows_are_left_out_only_where_the_spec_says_so_and_the_lock_lists_them(
    compiled: Compile, small: Path
) -> None:
    write_trades(small.parent, "some.jsonl", [trade(0), trade(1, label=1), trade(2)])
    study = compiled(
        *BBQ,
        ('"path:facts.json"', '"path:some.jsonl"'),
        (SAMPLE, 'loading = { malformed = "leave_out" }\n'),
    ).study
    assert [item.id for item in study.items["facts"].sampled] == ["Trade-0", "Trade-2"]
    (left_out,) = study.inputs()["benchmarks"]["facts"]["left_out"]
    assert study.left_out() == {"facts": (left_out,)}
    assert left_out == "some.jsonl, row 2: label 1 contradicts the disambig context"


def test_a_file_that_cannot_be_read_to_its_end_is_never_left_out(compiled: Compile, small: Path) -> None:
    (small.parent / "facts.json").write_text("[{")
    with pytest.raises(SpecError) as found:
        compiled((SAMPLE, 'loading = { malformed = "leave_out" }\n'))
    assert [code for code, _ in stated(found)] == ["GC312"]


def test_parquet_that_is_none_is_refused_in_words(compiled: Compile, small: Path) -> None:
    (small.parent / "facts.json").write_bytes(b"PAR1\x15\x04")
    with pytest.raises(SpecError) as found:
        compiled()
    assert [code for code, _ in stated(found)] == ["GC312"]
    assert "the Parquet file cannot be read" in stated(found)[0][1]


def test_opinions_are_no_exemplars(compiled: Compile, small: Path) -> None:
    row = {
        "question": "Is it so?\n (A) Yes\n (B) No",
        "answer_matching_behavior": " (A)",
        "answer_not_matching_behavior": " (B)",
    }
    (small.parent / "views.jsonl").write_text(f"{json.dumps(row)}\n" * 9)
    edits = (
        ('"truthfulqa_mc1"', '"anthropic_evals"'),
        ('"path:facts.json"', '"path:views.jsonl"'),
        (SAMPLE, SAMPLE + 'loading = { gold = "not_matching" }\n'),
    )
    with pytest.raises(SpecError, match="0 items with an answer to show"):
        compiled(*edits)
    compiled(('"not_matching"', '"matching"'))
