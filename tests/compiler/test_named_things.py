"""What a spec names (prompts, items, models) and how each thing that is wrong with it is answered."""

import json
from pathlib import Path

import pytest

from gridc.compiler.inputs.resolve import require_files
from gridc.diagnostics.errors import SpecError
from tests.compiler.edits import (
    FACTS,
    FILE,
    INLINE,
    LEFT,
    Compile,
    Edits,
    assert_finding,
    findings,
    under_caret,
)

LONG = f'"path:{"x" * 300}"'
DEEP = f"{{{{ {'(' * 3000}question{')' * 3000} }}}}{{{{ answer }}}}"

GOLDEN: list[tuple[str, Edits, str, str, str]] = [
    (
        "a prompt above, roundabout",
        ((FILE, '"path:prompts/../mine.jinja"'),),
        "GC308",
        '"path:prompts/../mine.jinja"',
        "..",
    ),
    ("an absolute prompt", ((FILE, '"path:/mine.jinja"'),), "GC308", '"path:/mine.jinja"', ""),
    (
        "a prompt with a backslash",
        ((FILE, "'path:prompts\\..\\mine.jinja'"),),
        "GC308",
        "'path:prompts\\..\\mine.jinja'",
        "",
    ),
    ("a builtin prompt elsewhere", ((FILE, '"builtin:../T1"'),), "GC308", '"builtin:../T1"', ""),
    ("items above the folder", ((FACTS, '"path:../facts.json"'),), "GC308", '"path:../facts.json"', ".."),
    ("absolute items", ((FACTS, '"path:/facts.json"'),), "GC308", '"path:/facts.json"', ""),
    ("builtin items elsewhere", ((FACTS, '"builtin:../x.json"'),), "GC308", '"builtin:../x.json"', ""),
    ("data elsewhere", ((FACTS, '"data:../facts.json"'),), "GC308", '"data:../facts.json"', ""),
    ("a model above the folder", ((LEFT, '"path:../left"'),), "GC308", '"path:../left"', ".."),
    ("an absolute model", ((LEFT, '"path:/left"'),), "GC308", '"path:/left"', ""),
    ("no such prompt", ((FILE, '"path:prompts/yours.jinja"'),), "GC309", '"path:prompts/yours.jinja"', ""),
    ("a folder for a prompt", ((FILE, '"path:prompts"'),), "GC309", '"path:prompts"', ""),
    ("no such items", ((FACTS, '"path:facts.jsonl"'),), "GC309", '"path:facts.jsonl"', ""),
    ("no such builtin model", ((LEFT, '"builtin:nobody"'),), "GC309", '"builtin:nobody"', "pocket"),
    ("a name too long for a file", ((FILE, LONG),), "GC309", LONG, ""),
    ("a name too long for items", ((FACTS, LONG),), "GC309", LONG, ""),
    ("a name too long for a model", ((LEFT, LONG),), "GC309", LONG, ""),
    ("a template error", ((INLINE, "{{ question }"),), "GC310", '"{{ question }"', "`answer`"),
    ("an unknown filter", ((INLINE, "{{ question | shout }}"),), "GC310", '"{{ question | shout }}"', ""),
    (
        "no question",
        ((INLINE, "{{ options }}{{ answer }}"),),
        "GC310",
        '"{{ options }}{{ answer }}"',
        "`question`",
    ),
    (
        "out of the sandbox",
        ((INLINE, "{{ question.__class__.__mro__ }}{{ answer }}"),),
        "GC310",
        '"{{ question.__class__.__mro__ }}{{ answer }}"',
        "",
    ),
    (
        "a template that fails",
        ((INLINE, "{{ question.index('nowhere') }}{{ answer }}"),),
        "GC310",
        "\"{{ question.index('nowhere') }}{{ answer }}\"",
        "",
    ),
    (
        "a template of another",
        ((INLINE, "{{ question }}{% include 'x' %}{{ answer }}"),),
        "GC310",
        "\"{{ question }}{% include 'x' %}{{ answer }}\"",
        "",
    ),
    (
        "a template that draws lots",
        ((INLINE, "{{ question }}{{ [1, 2, 3] | random }}{{ answer }}"),),
        "GC310",
        '"{{ question }}{{ [1, 2, 3] | random }}{{ answer }}"',
        "",
    ),
    ("a template nested too deep", ((INLINE, DEEP),), "GC310", f'"{DEEP}"', ""),
    ("too few exemplars", (("shots = 2", "shots = 5"),), "GC311", "{ n = 4, seed = 1 }", ""),
    (
        "an order that is not said",
        (('option_order = "shuffled:1"\n', ""),),
        "GC302",
        "benchmark",
        "option_order =",
    ),
    (
        "an order on an axis that items do not have",
        (
            ('option_order = "shuffled:1"\n', ""),
            ('method = "extract"', 'method = "extract"\noption_order = "file"'),
            ('method = "loglikelihood"', 'method = "loglikelihood"\noption_order = "gold_at:D"'),
        ),
        "GC331",
        '"gold_at:D"',
        "",
    ),
    (
        "items that are none",
        (("shots = 2", 'shots = 2\nitems = { where = { category = "x" } }'),),
        "GC311",
        '{ where = { category = "x" } }',
        "",
    ),
    (
        "items apart from nothing",
        (("n = 4, seed = 1", 'n = 4, seed = 1, disjoint_from = ["fact"]'),),
        "GC202",
        '"fact"',
        "`facts`",
    ),
    (
        "items apart from themselves",
        (("n = 4, seed = 1", 'n = 4, seed = 1, disjoint_from = ["facts"]'),),
        "GC311",
        '{ n = 4, seed = 1, disjoint_from = ["facts"] }',
        "",
    ),
    (
        "items apart from a list that is not there",
        (("n = 4, seed = 1", 'n = 4, seed = 1, disjoint_from = ["path:x.lock"]'),),
        "GC309",
        '{ n = 4, seed = 1, disjoint_from = ["path:x.lock"] }',
        "",
    ),
    (
        "a wrapper without the prompt",
        (("shots = 2", 'shots = 2\nwrapper = "Some text."'),),
        "GC310",
        '"Some text."',
        "`prompt`",
    ),
    (
        "a wrapper with the question",
        (("shots = 2", 'shots = 2\nwrapper = "{{ prompt }} {{ question }}"'),),
        "GC310",
        '"{{ prompt }} {{ question }}"',
        "`prompt`",
    ),
    ("no file that fits", ((FACTS, '"path:*.csv"'),), "GC309", '"path:*.csv"', ""),
    ("a pattern that is none", ((FACTS, '"path:**.csv"'),), "GC309", '"path:**.csv"', ""),
    ("a pattern that leaves", ((FACTS, '"path:../*.json"'),), "GC308", '"path:../*.json"', "without `..`"),
    ("items in another format", (('"truthfulqa_mc1"', '"bbq"'),), "GC312", FACTS, ""),
]


@pytest.mark.parametrize(
    ("edits", "code", "caret", "help"), [each[1:] for each in GOLDEN], ids=[each[0] for each in GOLDEN]
)
def test_an_edit_is_answered_with_its_finding(
    compiled: Compile, small: Path, edits: Edits, code: str, caret: str, help: str
) -> None:
    assert_finding(findings(compiled, *edits, data=small.parent), code, caret, help)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("prompts/away.jinja", ('"path:prompts/mine.jinja"', '"path:prompts/away.jinja"')),
        ("away.json", ('"path:facts.json"', '"path:away.json"')),
        ("models/away", ('"path:models/left"', '"path:models/away"')),
    ],
)
def test_a_link_that_leads_out_of_the_folder_is_refused(
    compiled: Compile, small: Path, tmp_path_factory: pytest.TempPathFactory, name: str, edit: tuple[str, str]
) -> None:
    source = {"p": "prompts/mine.jinja", "a": "facts.json", "m": "models/left"}[name[0]]
    outside = tmp_path_factory.mktemp("outside") / "target"
    (small.parent / source).rename(outside)
    (small.parent / name).symlink_to(outside)
    found = findings(compiled, edit)
    assert "GC308" in {each.code for each in found}
    assert {each.code for each in found} <= {"GC308", "GC309"}


def test_a_link_that_stays_in_the_folder_is_followed(compiled: Compile, small: Path) -> None:
    (small.parent / "near.json").symlink_to("facts.json")
    assert compiled(('"path:facts.json"', '"path:near.json"')).study.items["facts"].sampled


def test_a_path_out_of_the_data_folder_is_refused_before_there_is_one(compiled: Compile) -> None:
    found = findings(compiled, ('"path:facts.json"', '"data:../facts.json"'))
    assert [each.code for each in found] == ["GC308"]


def test_data_that_are_not_where_they_were_said_to_be_are_an_error(compiled: Compile, small: Path) -> None:
    with pytest.raises(SpecError) as caught:
        compiled(('"path:facts.json"', '"data:fact.json"'), data=small.parent)
    (only,) = caught.value.diagnostics
    assert (only.code, under_caret(only)) == ("GC309", '"data:fact.json"')
    assert "did you mean `data:facts.json`?" in (only.help or "")


def test_data_that_are_not_here_leave_a_study_without_items(compiled: Compile) -> None:
    result = compiled(('"path:facts.json"', '"data:none.json"'))
    assert list(result.study.absent) == ["facts"]
    with pytest.raises(SpecError) as caught:
        require_files(result.study, result.source)
    (only,) = caught.value.diagnostics
    assert only.code == "GC309"
    assert under_caret(only) == '"data:none.json"'


def test_data_are_found_under_the_folder_that_is_given(compiled: Compile, small: Path) -> None:
    result = compiled(('"path:facts.json"', '"data:facts.json"'), data=small.parent)
    assert len(result.study.items["facts"].sampled) == 4
    require_files(result.study, result.source)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model.safetensors": None, "pytorch_model.bin": b"x"}, "pickled weights (pytorch_model.bin)"),
        ({"model.safetensors": None, "weights.pt": b"x"}, "pickled weights (weights.pt)"),
        ({"model.safetensors": None, "weights.pth": b"x"}, "pickled weights (weights.pth)"),
        ({"model.safetensors": None}, "no *.safetensors"),
        ({"config.json": None}, "no config.json"),
        ({"tokenizer.json": None}, "no tokenizer.json"),
        ({"tokenizer.json": None, "vocab.txt": b"x"}, "no tokenizer.json"),
        ({"config.json": b"{"}, "not JSON"),
        ({"config.json": b"\xff\xfe\xff"}, "not JSON"),
        ({"config.json": b"[" * 100_000}, "config.json"),
    ],
)
def test_a_folder_that_is_not_a_usable_model_is_refused(
    compiled: Compile, small: Path, change: dict[str, bytes | None], words: str
) -> None:
    for name, content in change.items():
        path = small.parent / "models" / "left" / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
    (only,) = findings(compiled)
    assert only.code == "GC314"
    assert under_caret(only) == '"path:models/left"'
    assert words in only.message
    if "weights" in words:
        assert ("AutoModelForCausalLM as T" in str(only.help)) is ("pytorch_model" in words)
    elif "tokenizer" in words:
        assert ("AutoTokenizer as T" in str(only.help)) is ("vocab.txt" in change)


def test_pickled_weights_beside_safetensors_are_left_alone(compiled: Compile, small: Path) -> None:
    (small.parent / "models" / "left" / "pytorch_model.bin").write_bytes(b"x")
    assert "pytorch_model.bin" not in dict(compiled().study.models["left"].files)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"[1]", b"\xff", b"[" * 100_000, b'[{"question": "?"}]',
        b'[{"question": "?", "mc1_targets": {"a": 1, "b": 1}}]',
        b'[{"question": "?", "mc1_targets": {"a": 1}}]',
    ],
    ids=["empty", "a table", "a number", "not UTF-8", "deep", "no options", "two true", "one option"],
)  # fmt: skip
def test_a_malformed_benchmark_is_refused(compiled: Compile, small: Path, data: bytes) -> None:
    (small.parent / "facts.json").write_bytes(data)
    (only,) = findings(compiled)
    assert only.code == "GC312"
    assert under_caret(only) == '"path:facts.json"'
    assert "row 1" in only.message


def test_a_malformed_row_is_named(compiled: Compile, small: Path) -> None:
    rows = json.loads((small.parent / "facts.json").read_text())
    del rows[2]["question"]
    (small.parent / "facts.json").write_text(json.dumps(rows))
    (only,) = findings(compiled)
    assert "row 3" in only.message


@pytest.mark.parametrize("data", [b"\xff\xfe", b"{{ question }}\xff"])
def test_a_template_that_is_not_utf8_is_a_finding(compiled: Compile, small: Path, data: bytes) -> None:
    (small.parent / "prompts" / "mine.jinja").write_bytes(data)
    (only,) = findings(compiled)
    assert only.code in ("GC309", "GC310")
    assert under_caret(only) == '"path:prompts/mine.jinja"'


def test_a_problem_in_a_template_file_names_its_line(compiled: Compile, small: Path) -> None:
    (small.parent / "prompts" / "mine.jinja").write_text("{{ stem }}\n\n{{ on }}\n")
    (only,) = findings(compiled)
    assert "line 3 of `path:prompts/mine.jinja`" in only.message
