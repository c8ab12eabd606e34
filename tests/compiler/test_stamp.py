"""The stamp: what moves it, what does not, what a lock refuses, and how two studies differ."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.frontend.source import parse_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.inputs.resolve import Study
from gridc.compiler.lock.deviations import ABSENT, json_differences
from gridc.compiler.lock.lock import make_lock, read_lock, stamp_of, write_lock
from gridc.diagnostics.errors import SpecError, StampError
from gridc.schema.canonical import digest
from tests.replaced import replaced

Compile = Callable[..., Compiled]


def stamped(text: str) -> dict[str, object]:
    return typed(parse_source(text, Path("gridcard.toml"))).stamped()


SAME: list[tuple[str, Callable[[str], str]]] = [
    ("a comment", lambda text: "# a comment, é\n" + text),
    ("comments at every line", lambda text: text.replace("\n", " # note\n")),
    ("blank lines", lambda text: text.replace("\n", "\n\n")),
    ("indentation", lambda text: text.replace("\n", "\n   ")),
    ("windows lines", lambda text: text.replace("\n", "\r\n")),
    ("spaces around =", lambda text: text.replace(" = ", "\t=   ")),
    ("no spaces around =", lambda text: text.replace(" = ", "=")),
    ("single quotes", lambda text: text.replace('"greedy"', "'greedy'")),
    ("an escape", lambda text: text.replace('"greedy"', '"gree\\u0064y"')),
    ("quoted keys", lambda text: text.replace("\nid = ", '\n"id" = ')),
    ("a number written otherwise", lambda text: text.replace("temperature = 0.7", "temperature = 7e-1")),
    ("hexadecimal", lambda text: text.replace("seed = 7", "seed = 0x7")),
    ("a default written out", lambda text: text.replace("n = 4,", 'n = 4, unit = "item",')),
    ("how to run", lambda text: text + '\n[engine]\ndevice = "cpu"\nthreads = 3\n'),
    ("how to run otherwise", lambda text: text + "\n[engine]\nkv_mib = 512\n"),
    ("key order in a table", lambda text: text.replace(
        'id = "small"\ntitle = "Two models on invented items"',
        'title = "Two models on invented items"\nid = "small"',
    )),
    ("key order inline", lambda text: text.replace("{ n = 4, seed = 1 }", "{ seed = 1, n = 4 }")),
    ("order of tables", lambda text: "gridcard = 1\n[sampling]\nseed = 7\n" + text.replace(
        "gridcard = 1\n", "").replace("[sampling]\nseed = 7\n", "")),
    ("a table instead of an inline one", lambda text: text.replace(
        "sample = { n = 4, seed = 1 }\n", "sample.n = 4\nsample.seed = 1\n")),
]  # fmt: skip


@pytest.mark.parametrize("change", [each[1] for each in SAME], ids=[each[0] for each in SAME])
def test_what_means_the_same_is_stamped_the_same(small_text: str, change: Callable[[str], str]) -> None:
    changed = change(small_text)
    assert changed != small_text
    assert stamped(changed) == stamped(small_text)
    assert digest(stamped(changed)) == digest(stamped(small_text))


MEANT = [
    ('id = "small"', 'id = "smaller"'),
    ("Two models", "Three models"),
    ('"comparative"', '"descriptive"'),
    ('purpose = "comparative"', 'purpose = "comparative"\nnot_varied = ["x"]'),
    ('purpose = "comparative"', 'purpose = "comparative"\nassumptions = ["x"]'),
    ('id = "right"\nengine', 'id = "wrong"\nengine'),
    ('"path:models/right"', '"path:models/other"'),
    ('source = "path:models/left"', 'source = "path:models/left"\nprecision = "bf16"'),
    ('source = "path:models/left"', 'source = "path:models/left"\nnote = "x"'),
    ('source = "path:models/left"', 'source = "path:models/left"\nchat_template = false'),
    ('source = "path:models/left"', 'source = "path:models/left"\nsystem = "Be brief."'),
    ('"path:facts.json"', '"path:facts2.json"'),
    ('"higher_is_better"', '"lower_is_better"'),
    ("n = 4", "n = 5"),
    ("n = 4, seed = 1", "n = 4, seed = 2"),
    ("n = 4, seed = 1", 'n = 4, seed = 1, unit = "cluster"'),
    ("n = 4, seed = 1", "n = 4, seed = 1, where = {}"),
    ("n = 4, seed = 1", "share = 0.5, seed = 1"),
    ('"shuffled:1"', '"shuffled:2"'),
    ('"shuffled:1"', '"file"'),
    ('"shuffled:1"', '"gold_at:A"'),
    ("shots = 2", 'shots = 2\nwrapper = "Before. {{ prompt }}"'),
    ("shots = 2", "shots = 2\nitems = { n = 3, seed = 1 }"),
    ('pool = "rest", seed = 1', 'pool = "rest", seed = 2'),
    ("shots = 2", "shots = 3"),
    ("shots = 2", "shots = 2\nmax_tokens = 33"),
    ("shots = 2", 'shots = 2\noptions = "none"'),
    ("shots = 2", 'shots = 2\ndelimiter = " "'),
    ("shots = 2", 'shots = 2\ndelimiter = ""'),
    ('tier = "stress"', 'tier = "core"'),
    ("Answer:{{", "Answer: {{"),
    ("temperature = 0.7", "temperature = 0.70001"),
    ("temperature = 0.7", "temperature = 0.7\ntop_p = 0.9"),
    ("replicates = 2", "replicates = 3"),
    (
        'provenance = "ours"\n[[axis.level]]\nid = "file"',
        'provenance = "theirs"\n[[axis.level]]\nid = "file"',
    ),
    ('method = "loglikelihood"', 'method = "loglikelihood"\nnormalise = "token"'),
    ('{ not = "greedy" }', '"warm"'),
    ('{ decoding = "greedy" }', '{ decoding = ["greedy"] }'),
    ('{ decoding = "greedy" }', '{ decoding = "greedy", tier = "core" }'),
    ("a ranking is not sampled", "a ranking is never sampled"),
    ('"ex_ante"\nwhere', '"post_hoc"\nwhere'),
    ('["left", "right"]', '["right", "left"]'),
    ('where = { benchmark = "facts" }\n', ""),
    ("seed = 7", "seed = 8"),
    ("at = 0.5", "at = 0.50001"),
    ('declared = "ex_ante", source', 'declared = "post_hoc", source'),
    ("[analysis]\n", "[analysis]\nparse_clean = 0.9\n"),
    ("[sampling]", '[roster]\ninclusion = "all"\n[sampling]'),
]


@pytest.mark.parametrize(("old", "new"), MEANT)
def test_what_means_something_else_is_stamped_otherwise(small_text: str, old: str, new: str) -> None:
    one, other = stamped(small_text), stamped(replaced(small_text, (old, new)))
    assert digest(one) != digest(other)
    assert json_differences(one, other)


def test_all_those_changes_have_stamps_of_their_own(small_text: str) -> None:
    digests = {digest(stamped(small_text.replace(old, new))) for old, new in MEANT}
    assert len(digests) == len(MEANT)


LINES = st.lists(
    st.tuples(st.integers(0, 400), st.sampled_from(["", "# é", "\t", "   # [[axis]]"])), max_size=8
)


@settings(max_examples=40)
@given(LINES, st.integers(1, 9999))
def test_comments_and_blank_lines_anywhere_in_the_card_do_not_move_its_stamp(
    card: Path, added: list[tuple[int, str]], batch: int
) -> None:
    """Between the lines only: the card has arrays over several lines, and no text over several lines."""
    text = card.read_text("utf-8")
    lines = text.splitlines()
    for place, line in added:
        lines.insert(place % (len(lines) + 1), line)
    changed = "\n".join(lines) + f"\n[engine]\nkv_mib = {batch + 1}\n"
    assert digest(stamped(changed)) == digest(stamped(text))


@settings(max_examples=150)
@given(st.data())
def test_any_word_or_number_that_is_changed_in_the_card_moves_its_stamp(
    card: Path, data: st.DataObject
) -> None:
    """A digit or letter of a value becomes another one; where the card stays valid its stamp is another."""
    text = card.read_text("utf-8")
    places = [
        place
        for start, line in line_starts(text)
        for place in range(start + (line.find("=") + 1), start + len(uncommented(line)))
        if "=" in line and text[place].isalnum() and text[place].isascii()
    ]
    place = data.draw(st.sampled_from(places))
    letter = data.draw(st.sampled_from("abkz019").filter(lambda each: each != text[place]))
    changed = text[:place] + letter + text[place + 1 :]
    try:
        other = stamped(changed)
    except SpecError:
        return
    if parse_source(changed, card).values == parse_source(text, card).values:
        return  # 0.0 and 00, inside a comment, ...
    assert digest(other) != digest(stamped(text))
    assert json_differences(stamped(text), other)


def line_starts(text: str) -> list[tuple[int, str]]:
    found, start = [], 0
    for line in text.split("\n"):
        found.append((start, line))
        start += len(line) + 1
    return found


def uncommented(line: str) -> str:
    return line if line.count('"') and line.rstrip().endswith('"') else line.split("#")[0]


# ---- the resolved study


def test_inputs_are_part_of_the_stamp(compiled: Compile, small: Path) -> None:
    before = compiled().study
    stamps = [stamp_of(before)]
    folder = small.parent
    for name, content in (
        ("prompts/mine.jinja", b"{{ stem }}\n{{ options }}\nThen: {{ answer }}"),
        ("models/left/model.safetensors", b"other weights"),
        ("models/right/tokenizer.json", b'{"other": 1}'),
        ("models/right/chat_template.jinja", b"new"),
        ("facts.json", (folder / "facts.json").read_bytes() + b"\n"),
        ("facts.json", (folder / "facts.json").read_bytes().replace(b"tool", b"thing")),
    ):
        (folder / name).write_bytes(content)
        stamps.append(stamp_of(compiled().study))
    assert len(set(stamps)) == len(stamps)


def test_files_that_cannot_move_an_answer_and_the_folder_do_not_move_the_stamp(
    compiled: Compile, small: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = stamp_of(compiled().study)
    (small.parent / "models" / "left" / "README.md").write_text("words")
    (small.parent / "notes.txt").write_text("words")
    assert stamp_of(compiled().study) == before
    moved = tmp_path_factory.mktemp("elsewhere") / "study"
    small.parent.rename(moved)
    assert stamp_of(compile_spec(moved / "gridcard.toml").study) == before


# ---- locks


def test_a_lock_comes_back_as_it_was_written(compiled: Compile, small: Path) -> None:
    study: Study = compiled().study
    first = make_lock(compiled(("temperature = 0.7", "temperature = 0.6")).study, small)
    lock = make_lock(study, small, first)
    assert [each.stamp for each in lock.supersedes] == [first.stamp]
    assert [each.stamp for each in lock.chain] == [first.stamp, lock.stamp]
    compiled(("temperature = 0.6", "temperature = 0.7"))
    write_lock(lock, small.with_suffix(".lock"))
    assert read_lock(small.with_suffix(".lock")) == lock
    assert lock.stamp == stamp_of(study)
    again = compile_spec(small)
    assert again.lock == lock
    assert again.lock_path == small.with_suffix(".lock")
    assert [path.name for path in small.parent.iterdir() if "lock" in path.name] == ["gridcard.lock"]


def test_there_may_be_no_lock(small: Path) -> None:
    assert read_lock(small.with_suffix(".lock")) is None
    assert compile_spec(small).lock is None


def spoiled(document: dict[str, Any], **changes: Any) -> str:
    return json.dumps({**document, **changes})


DAMAGES: list[tuple[str, Callable[[dict[str, Any]], str | bytes], str]] = [
    ("empty", lambda lock: "", "GC403"),
    ("not JSON", lambda lock: "{", "GC403"),
    ("not UTF-8", lambda lock: b"\xff", "GC403"),
    ("a list", lambda lock: "[]", "GC403"),
    ("a number", lambda lock: "5", "GC403"),
    ("null", lambda lock: "null", "GC403"),
    ("deep", lambda lock: "[" * 100_000, "GC403"),
    ("no format", lambda lock: json.dumps({k: v for k, v in lock.items() if k != "format"}), "GC403"),
    ("no stamp", lambda lock: json.dumps({k: v for k, v in lock.items() if k != "stamp"}), "GC403"),
    ("a stamp is a number", lambda lock: json.dumps({**lock, "stamp": 1}), "GC403"),
    ("no content", lambda lock: json.dumps({k: v for k, v in lock.items() if k != "content"}), "GC403"),
    ("another format", lambda lock: spoiled(lock, format="gridc-lock/9"), "GC404"),
    ("an older format", lambda lock: spoiled(lock, format="gridc-lock/0"), "GC404"),
    ("another stamp", lambda lock: spoiled(lock, stamp="0" * 64), "GC403"),
    ("other content", lambda lock: spoiled(lock, content={**lock["content"], "more": 1}), "GC403"),
    ("content that is text", lambda lock: spoiled(lock, content="x", stamp=digest("x")), "GC403"),
    ("content without inputs", lambda lock: spoiled(lock, content={}, stamp=digest({})), "GC403"),
    ("nan in the content", lambda lock: spoiled(lock, content={"x": float("nan")}), "GC403"),
    ("a huge number", lambda lock: spoiled(lock, content={"x": 2**60}), "GC403"),
    ("a surrogate", lambda lock: spoiled(lock, content={"x": "\ud800"}), "GC403"),
    ("git as text", lambda lock: spoiled(lock, git="x"), "GC403"),
    (
        "a superseded stamp that was changed",
        lambda lock: spoiled(lock, supersedes=[{"stamp": "0" * 64, "created": "", "content": {}}]),
        "GC403",
    ),
    ("git a text", lambda lock: spoiled(lock, git=""), "GC403"),
    ("more than gridc writes", lambda lock: spoiled(lock, signed="by everybody"), "GC403"),
    ("a key twice", lambda lock: spoiled(lock).replace("{", '{"git": {"commit": "0"}, ', 1), "GC403"),
    ("supersedes a number", lambda lock: spoiled(lock, supersedes=5), "GC403"),
]


@pytest.mark.parametrize(
    ("damage", "code"), [each[1:] for each in DAMAGES], ids=[each[0] for each in DAMAGES]
)
def test_a_damaged_lock_is_refused(
    compiled: Compile, small: Path, damage: Callable[[dict[str, Any]], str | bytes], code: str
) -> None:
    document = json.loads(make_lock(compiled().study, small).text())
    bad = damage(document)
    small.with_suffix(".lock").write_bytes(bad if isinstance(bad, bytes) else bad.encode())
    with pytest.raises(StampError) as caught:
        compile_spec(small)
    (only,) = caught.value.diagnostics
    assert only.code == code
    assert only.file == str(small.with_suffix(".lock"))


@pytest.mark.parametrize(
    ("version", "way_out"), [("0", "older gridc"), ("1", "older gridc"), ("9", "newer gridc")]
)
def test_a_lock_of_another_format_is_refused_with_the_way_out(
    compiled: Compile, small: Path, version: str, way_out: str
) -> None:
    document = json.loads(make_lock(compiled().study, small).text())
    small.with_suffix(".lock").write_text(spoiled(document, format=f"gridc-lock/{version}"))
    with pytest.raises(StampError) as caught:
        compile_spec(small)
    assert way_out in (caught.value.diagnostics[0].help or "")


def test_every_key_of_the_content_is_under_the_stamp(compiled: Compile, small: Path) -> None:
    lock = make_lock(compiled().study, small)
    path = small.with_suffix(".lock")

    def places(node: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        return [at, *(each for key, value in inner for each in places(value, (*at, key)))]

    chosen = [place for place in places(lock.content) if place]
    for place in chosen[:: max(1, len(chosen) // 40)]:
        content = json.loads(json.dumps(lock.content))
        node = content
        for key in place[:-1]:
            node = node[key]
        node[place[-1]] = "forged"
        write_lock(replace(lock, content=content), path)
        with pytest.raises(StampError):
            read_lock(path)


# ---- differences


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("a.c", 2, 3)]),
        ({"a": 1}, {"a": 1, "b": 2}, [("b", ABSENT, 2)]),
        ({"a": 1, "b": 2}, {"a": 1}, [("b", 2, ABSENT)]),
        ({"z": 1, "a": 1}, {"z": 2, "a": 2}, [("a", 1, 2), ("z", 1, 2)]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [("a", [1, 2], [1, 3])]),
        ({"a": {"b": 1}}, {"a": 5}, [("a", {"b": 1}, 5)]),
        (
            {"m": [{"id": "x", "v": 1}, {"id": "y", "v": 2}]},
            {"m": [{"id": "x", "v": 1}, {"id": "y", "v": 3}]},
            [("m[y].v", 2, 3)],
        ),
        (
            {"m": [{"id": "x"}, {"id": "y"}]},
            {"m": [{"id": "new"}, {"id": "x"}, {"id": "y"}]},
            [("m[new]", ABSENT, {"id": "new"})],
        ),
        ({"m": [{"id": "x"}, {"id": "y"}]}, {"m": [{"id": "y"}]}, [("m[x]", {"id": "x"}, ABSENT)]),
        (
            {"m": [{"id": "x"}, {"id": "y"}]},
            {"m": [{"id": "y"}, {"id": "x"}]},
            [("m (order)", ["x", "y"], ["y", "x"])],
        ),
        ({"m": []}, {"m": [{"id": "x"}]}, [("m[x]", ABSENT, {"id": "x"})]),
        (
            {"a": [{"id": "p", "level": [{"id": "q", "t": 0.7}]}]},
            {"a": [{"id": "p", "level": [{"id": "q", "t": 0.3}]}]},
            [("a[p].level[q].t", 0.7, 0.3)],
        ),
    ],
)
def test_differences_are_named_by_their_paths(before: Any, after: Any, expected: list[Any]) -> None:
    assert json_differences(before, after) == expected


DOCUMENTS = st.recursive(
    st.integers(0, 2) | st.sampled_from(["x", "y"]),
    lambda each: st.one_of(
        st.lists(each, max_size=2),
        st.dictionaries(st.sampled_from("ab"), each, max_size=2),
        st.lists(st.sampled_from("pq"), unique=True, max_size=2).flatmap(
            lambda names: st.tuples(
                *[st.fixed_dictionaries({"id": st.just(name), "v": each}) for name in names]
            )
        ).map(list),
    ),
    max_leaves=6,
)  # fmt: skip


@given(DOCUMENTS, DOCUMENTS)
def test_there_are_differences_exactly_where_the_digests_differ(before: Any, after: Any) -> None:
    assert bool(json_differences(before, after)) is (digest(before) != digest(after))
    assert json_differences(before, before) == []


def test_the_differences_of_an_edited_study_name_what_was_edited(compiled: Compile, small: Path) -> None:
    before = compiled().study.stamped()
    (small.parent / "models" / "left" / "config.json").write_text("{}")
    after = compiled(("temperature = 0.7", "temperature = 0.3")).study.stamped()
    paths = [path for path, _, _ in json_differences(before, after)]
    assert len(paths) == 2
    assert any(path.endswith("axis[decoding].level[warm].temperature") for path in paths)
    assert any(path.endswith("left.files.config.json") for path in paths)
