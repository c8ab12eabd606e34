# ruff: noqa: E501  # a mistake reads as one row
"""Levels that stand in a file, or as values of one key, mean what the same levels mean as tables of their own."""

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.expansion import expanded, expanded_text
from gridc.compiler.frontend.read import read_spec
from gridc.compiler.frontend.source import basic_string, parse_source
from gridc.compiler.frontend.validate import typed
from gridc.compiler.grid import cells
from gridc.compiler.lock.lock import make_lock
from gridc.diagnostics.errors import SpecError
from gridc.schema.canonical import digest, digest_bytes
from gridc.schema.spec import Spec

HEAD = """\
gridcard = 1
study = { id = "s", title = "S", purpose = "comparative", not_varied = ["all else"] }
model = [{ id = "one", engine = "hf", source = "builtin:pocket-qwen2" }]
harness = { method = "extract" }

[[benchmark]]
id = "bbq"
loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher"
option_order = "file"
sample = { n = 4, seed = 1 }
"""
SECOND = HEAD[HEAD.index("\n[[benchmark]]") :].replace('id = "bbq"', 'id = "again"')
LEVELS = (
    'levels = { source = "path:p.csv", id = "id", prompt = "text", tier = "how", provenance = "origin" }\n'
)
AXIS = f'\n[[axis]]\nid = "wording"\n{LEVELS}'

Row = Mapping[str, str]


def rows(count: int) -> list[dict[str, str]]:
    """Paraphrases with what CSV has to quote: commas, quotes, lines, separators that are no line ends."""
    draw = random.Random(count)
    kinds = ("plain", 'a "quoted", one', "two\nlines", "one\u2028line", "ünïcode", "ends in a space ")
    return [
        {
            "id": f"p{number:02}",
            "text": f"{number} {draw.choice(kinds)}: {{{{ question }}}}",
            "how": draw.choice(("core", "stress")),
            "origin": f"person {draw.randrange(5)}",
        }
        for number in range(count)
    ]


def as_csv(paraphrases: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, list(dict.fromkeys(name for row in paraphrases for name in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(paraphrases)
    return text.getvalue()


def by_hand(paraphrases: Sequence[Row], axis: str = "wording") -> str:
    """The same levels as a person types them."""
    tables = [f'\n[[axis]]\nid = "{axis}"\n']
    for row in paraphrases:
        tables.append(
            f'\n[[axis.level]]\nid = {basic_string(row["id"])}\ntier = "{row["how"]}"\n'
            f"prompt = {basic_string(row['text'])}\nprovenance = {basic_string(row['origin'])}\n"
        )
    return "".join(tables)


def spec_of(folder: Path, text: str, **files: str) -> Spec:
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content, "utf-8", newline="")
    (folder / "gridcard.toml").write_text(text, "utf-8", newline="")
    return read_spec(folder / "gridcard.toml").spec


def stamp(spec: Spec) -> str:
    return digest(spec.stamped())


def refused(folder: Path, text: str, **files: str) -> list[tuple[str, str, str]]:
    """Code, message and help of each finding, which has a place."""
    with pytest.raises(SpecError) as caught:
        spec_of(folder, text, **files)
    assert all(finding.span and finding.line and finding.help for finding in caught.value.diagnostics)
    return [(finding.code, finding.message, finding.help or "") for finding in caught.value.diagnostics]


@pytest.mark.parametrize("count", [1, 2, 60])
def test_levels_from_a_file_are_the_study_of_levels_typed_by_hand(tmp_path: Path, count: int) -> None:
    paraphrases = rows(count)
    typed_out = stamp(spec_of(tmp_path, HEAD + by_hand(paraphrases)))
    assert stamp(spec_of(tmp_path, HEAD + AXIS, p_csv=as_csv(paraphrases))) == typed_out
    windows = "\ufeff" + as_csv([{**row, "more": "unread"} for row in paraphrases])
    assert stamp(spec_of(tmp_path, HEAD + AXIS, p_csv=windows)) == typed_out
    lines = "\n\n".join(json.dumps(row) for row in paraphrases)
    assert stamp(spec_of(tmp_path, HEAD + AXIS.replace("p.csv", "p.jsonl"), p_jsonl=lines)) == typed_out
    changed = as_csv([{**paraphrases[0], "text": "Else: {{ question }}"}, *paraphrases[1:]])
    assert stamp(spec_of(tmp_path, HEAD + AXIS, p_csv=changed)) != typed_out


def test_the_expanded_spec_and_the_lock_hold_the_levels_and_the_digest_of_the_file(tmp_path: Path) -> None:
    text = as_csv(rows(3))
    stamped = stamp(spec_of(tmp_path, HEAD + AXIS, p_csv=text))
    compiled = compile_spec(tmp_path / "gridcard.toml")
    alone = parse_source(expanded_text(compiled.source), tmp_path / "alone.toml")
    assert "levels" not in alone.values["axis"][0] and stamp(typed(alone)) == stamped
    files = make_lock(compiled.study, tmp_path / "gridcard.toml").files
    assert files["p.csv"] == digest_bytes(text.encode())


def test_levels_of_one_benchmark_are_asked_on_it_alone(tmp_path: Path) -> None:
    paraphrases = [{**row, "of": of} for row, of in zip(rows(4), ("", "bbq", "again", "bbq"), strict=True)]
    axis = AXIS.replace(" }", ', benchmark = "of" }')
    spec = spec_of(tmp_path, HEAD + SECOND + axis, p_csv=as_csv(paraphrases))
    asked = {(cell.benchmark, cell.levels["wording"]) for cell in cells.cells_of(spec)}
    assert asked == {("bbq", "p00"), ("bbq", "p01"), ("bbq", "p03"), ("again", "p00"), ("again", "p02")}
    alone = [{**row, "of": "bbq"} for row in rows(4)]
    assert spec_of(tmp_path, HEAD + axis, p_csv=as_csv(alone)).exclude == (), "there is no other benchmark"
    assert refused(tmp_path, HEAD + SECOND + axis, p_csv=as_csv(alone)) == [
        (
            "GC301",
            "no level of `axis[wording]` is one of `again`",
            "an empty field: a level of every benchmark",
        )
    ]


def test_values_of_a_key_are_levels_that_name_themselves(tmp_path: Path) -> None:
    prompt = HEAD.replace('"extract"', '"extract", prompt = "builtin:T1"')
    shared = '\ntier = "core"\nprovenance = "ours"\n'
    axis = f'\n[[axis]]\nid = "warmth"\nvalues = {{ temperature = [0.0, 0.70, 1e0] }}{shared}'
    spec = spec_of(tmp_path, prompt + axis)
    assert [(level.id, level.temperature) for level in spec.levels] == [("0", 0), ("0.7", 0.7), ("1", 1)]
    assert {(level.tier, level.provenance) for level in spec.levels} == {("core", "ours")}
    again = spec_of(tmp_path, prompt + axis.replace("0.0, 0.70, 1e0", "0, 0.7, 1.0"))
    assert stamp(again) == stamp(spec), "how a number is written is no choice of the study"
    named = '[[axis]]\nid = "c"\nvalues = { casing = { plain = "as_written", loud = "upper" } }' + shared
    assert [level.id for level in spec_of(tmp_path, prompt + named).levels] == ["plain", "loud"]
    text = '[[axis]]\nid = "o"\nvalues = { option_order = ["shuffled:1", "reversed"] }' + shared
    assert [level.id for level in spec_of(tmp_path, prompt + text).levels] == ["shuffled-1", "reversed"]
    part = f'[[axis]]\nid = "v"\nvalues = {{ vars = {{ loud = [1, 2] }} }}{shared}'
    said = HEAD.replace('"extract"', '"extract", prompt = "{{ question }}{{ loud }}"')
    assert [(level.id, level.vars) for level in spec_of(tmp_path, said + part).levels] == [
        ("1", {"loud": 1}),
        ("2", {"loud": 2}),
    ]
    by_name = part.replace("loud = [1, 2]", '"1" = { loud = 1 }, "2" = { loud = 2 }')
    assert stamp(spec_of(tmp_path, said + by_name)) == stamp(spec_of(tmp_path, said + part))
    stops = f'[[axis]]\nid = "s"\nvalues = {{ stop = {{ line = ["."] }} }}{shared}'
    assert [level.stop for level in spec_of(tmp_path, prompt + stops).levels] == [(".",)]


def test_a_base_may_hold_values_and_levels_of_a_file_stand_behind_those_of_tables(tmp_path: Path) -> None:
    paraphrases = rows(3)
    table = by_hand(paraphrases[:1]).replace('id = "wording"\n', f'id = "wording"\n{LEVELS}', 1)
    both = stamp(spec_of(tmp_path, HEAD + table, p_csv=as_csv(paraphrases[1:])))
    assert both == stamp(spec_of(tmp_path, HEAD + by_hand(paraphrases)))
    extension = 'gridcard = 1\nextends = "base.toml"\n[study]\ntitle = "S"\n'
    assert both == stamp(spec_of(tmp_path, extension, base_toml=HEAD + table))


def test_one_table_stands_for_each_of_its_ids(tmp_path: Path) -> None:
    several = HEAD.replace('{ id = "one", engine', '{ id = ["one", "two"], engine')
    several = several.replace('"builtin:pocket-qwen2"', '"builtin:pocket-qwen2", note = "{id}, not {{id}}"')
    spec = typed(expanded(parse_source(several, tmp_path / "gridcard.toml")))
    assert [model.id for model in spec.model] == ["one", "two"]
    assert [model.note for model in spec.model] == ["one, not {{id}}", "two, not {{id}}"]


def test_one_table_stands_for_no_more_than_a_spec_may_hold(tmp_path: Path) -> None:
    names = json.dumps([f"m{number}" for number in range(20_000)])
    hostile = HEAD.replace('id = "one", engine', f'id = {names}, note = "{"{id}" * 100}", engine')
    with pytest.raises(SpecError) as refused:
        expanded(parse_source(hostile, tmp_path / "gridcard.toml"))
    assert [each.code for each in refused.value.diagnostics] == ["GC104"]


def test_levels_have_the_tier_and_provenance_of_their_axis_where_they_state_none(tmp_path: Path) -> None:
    shared = """
[[axis]]
id = "shots"
tier = "core"
provenance = "everywhere"
level = [{ id = "a", shots = 0 }, { id = "b", shots = 1, tier = "stress", provenance = "here" }]
"""
    (axis,) = typed(expanded(parse_source(HEAD + shared, tmp_path / "gridcard.toml"))).axis
    assert [(level.tier, level.provenance) for level in axis.level] == [
        ("core", "everywhere"),
        ("stress", "here"),
    ]


@pytest.mark.parametrize(
    ("edit", "code", "message", "help"),
    [
        (('"text"', '"txt"'), "GC202", "`p.csv` has no column `txt`", "did you mean `text`?"),
        (('tier = "how"', 'tier = "cor"'), "GC202", "no column `cor`", "did you mean `core`?"),
        (('"path:p.csv"', '"path:q.csv"'), "GC309", "`path:q.csv` is not a file", "beside the spec"),
        (('"path:p.csv"', '"path:../p.csv"'), "GC308", "leaves its folder", "without `..`"),
        (('"path:p.csv"', '"p.csv"'), "GC104", "cannot be 'p.csv'", 'did you mean "path:p.csv"?'),
        ((', tier = "how"', ""), "GC103", "levels of `axis[wording]` lack `tier`", 'write tier = "core" in the axis'),
        (('id = "id", ', ""), "GC103", "lacks `id`", "The column of their ids"),
        (('id = "id"', 'id = "how"'), "GC201", "already the id of another level (p.csv, row 3)", "of its own"),
        ((LEVELS, ""), "GC105", "an axis needs levels", "values = { KEY = [...] }"),
        ((LEVELS, 'values = { shot = [1] }\ntier = "core"\nprovenance = "x"\n'), "GC101", "unknown key `shot`", "`shots = [1]`"),
        ((LEVELS, 'values = { shots = 1 }\ntier = "core"\nprovenance = "x"\n'), "GC102", "must be a list", "shots = [1]"),
        ((LEVELS, 'values = { shots = [] }\ntier = "core"\nprovenance = "x"\n'), "GC104", "has none", "[harness]"),
        ((LEVELS, 'values = { top_p = [1.0, 1] }\ntier = "core"\nprovenance = "x"\n'), "GC201", "called `1`", "leave one out"),
        ((LEVELS, 'values = { vars = { a = [1], b = [2] } }\ntier = "core"\nprovenance = "x"\n'), "GC104", "several parts of `vars` vary", "an axis for each"),
        ((LEVELS, 'values = { shots = [0], top_p = [1] }\n'), "GC104", "", "The values of one effect key"),
        (
            (LEVELS, 'values = { match = [{ as = "text" }] }\ntier = "core"\nprovenance = "x"\n'),
            "GC104", "no short name", "values = { match = { NAME = ..., OTHER = ... } }",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_axis_is_said_at_its_place(
    tmp_path: Path, edit: tuple[str, str], code: str, message: str, help: str
) -> None:
    assert AXIS.count(edit[0]) == 1
    same = [{**row, "how": "core"} for row in rows(2)]
    findings = refused(tmp_path, HEAD + AXIS.replace(*edit), p_csv=as_csv(same))
    assert [finding[0] for finding in findings] == [code], findings
    assert message in findings[0][1] and help in findings[0][2], findings


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "GC356", "row 1: it does not name each column once"),
        ("id,text,how,origin\n", "GC356", "row 1: no row holds a level"),
        ("id,id\n", "GC356", "row 1: it does not name each column once"),
        ("id,text,how,origin\na,b,core\n", "GC356", "row 2: 3 fields, the header has 4"),
        ('id,text,how,origin\na,"b"c,core,x\n', "GC356", "row 2: "),
        ("id,text,how,origin\na,{{ question }},core,x\n\nb,{{ qestion }},core,x\n", "GC310",
         "unknown template variable `qestion` (p.csv, row 4)"),
        ("id,text,how,origin\na,{{ question }},cor,x\n", "GC104", "level[a].tier` cannot be 'cor' (p.csv, row 2)"),
        ("id,text,how,origin\na,{{ question }},core,\n", "GC103", "level[a]` lacks `provenance` (p.csv, row 2)"),
        ("id,text,how,origin\na b,{{ question }},core,x\n", "GC104", "id` cannot be 'a b' (p.csv, row 2)"),
        ("id,text,how,origin\na,{{ question }},core,x\nb,{{ question }},core,x\n", "GC303",
         "`b` has the same effects as `a` (p.csv, row 3)"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_row_is_said_with_its_number(
    tmp_path: Path, text: str, code: str, message: str
) -> None:
    findings = refused(tmp_path, HEAD + AXIS, p_csv=text)
    assert [finding[0] for finding in findings] == [code], findings
    assert message in findings[0][1], findings


@pytest.mark.parametrize("line", ["[1]", "{", '"text"'])
def test_a_line_that_is_no_object_is_said_with_its_number(tmp_path: Path, line: str) -> None:
    good = json.dumps(rows(1)[0])
    findings = refused(tmp_path, HEAD + AXIS.replace("p.csv", "p.jsonl"), p_jsonl=f"{good}\n{line}\n")
    assert findings[0][0] == "GC356" and "p.jsonl, row 2: " in findings[0][1]


def test_bytes_that_are_no_text_and_a_benchmark_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes(b"id,text\n\xff")
    assert refused(tmp_path, HEAD + AXIS)[0][:2] == ("GC356", "p.csv: byte 8 is not UTF-8")
    axis = AXIS.replace(" }", ', benchmark = "of" }')
    tied = as_csv([{**rows(1)[0], "of": "bqb"}])
    assert refused(tmp_path, HEAD + axis, p_csv=tied) == [
        ("GC202", "no benchmark is called `bqb` (p.csv, row 2)", "did you mean `bbq`?")
    ]


@pytest.mark.parametrize("key", ["tier", "provenance"])
def test_what_no_level_takes_of_its_axis_may_not_be_empty_either(key: str, tmp_path: Path) -> None:
    level = '[[axis.level]]\nid = "a"\ntier = "core"\nprovenance = "ours"\ntemperature = 0.0\n'
    path = tmp_path / "gridcard.toml"
    path.write_text(f'{HEAD}\n[[axis]]\nid = "decoding"\n{key} = ""\n\n{level}')
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    (found,) = caught.value.diagnostics
    assert found.code == "GC104" and f"`{key}` of `axis[decoding]` is empty" in found.message
