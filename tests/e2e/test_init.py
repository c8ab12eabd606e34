"""`gridc init` as a new user meets it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.schema import jsonschema
from tests.e2e.conftest import PACKAGE

TAPLO = Path(sys.executable).with_name("taplo")


def gridc(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=given)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "my study"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def test_the_defaults_validate_plan_and_stamp() -> None:
    done = gridc("init", "--yes")
    assert done.exit_code == 0, done.output
    assert "valid. Next" in done.stdout
    for command in (("validate", "--check"), ("plan",), ("stamp",), ("stamp", "--check")):
        done = gridc(*command)
        assert done.exit_code == 0, (command, done.output)


def test_the_schema_line_leads_to_the_schema(folder: Path) -> None:
    gridc("init", "--yes")
    first = (folder / "gridcard.toml").read_text("utf-8").splitlines()[0]
    schema = folder / first.removeprefix("#:schema ")
    assert json.loads(schema.read_text("utf-8")) == jsonschema.load()


def test_an_editors_language_server_takes_the_spec_and_finds_what_is_wrong(folder: Path) -> None:
    """taplo is the language server of the TOML extensions of VS Code, Zed, Neovim and others."""
    gridc("init", "--yes")
    spec = folder / "gridcard.toml"

    def lint() -> "subprocess.CompletedProcess[str]":
        return subprocess.run([TAPLO, "lint", spec], capture_output=True, text=True, check=False)

    assert lint().returncode == 0, lint().stderr
    spec.write_text(spec.read_text("utf-8").replace('method = "extract"', 'method = "extrakt"'), "utf-8")
    wrong = lint()
    assert wrong.returncode != 0
    assert "first_token" in wrong.stderr
    assert "refusal_keywords" in wrong.stderr


def test_questions_have_defaults_and_take_answers(folder: Path) -> None:
    done = gridc("init", given="Two of them\nbuiltin:pocket-llama, builtin:pocket-qwen2\n\n")
    assert done.exit_code == 0, done.output
    text = (folder / "gridcard.toml").read_text("utf-8")
    assert 'title = "Two of them"' in text
    assert text.count("[[model]]") == 2
    assert text.count("[[benchmark]]") == 2


def test_what_is_given_is_not_asked() -> None:
    done = gridc(
        "init", "--title", "T", "--model", "builtin:pocket-llama", "--benchmark", "builtin:pocket_bbq.jsonl"
    )
    assert done.exit_code == 0, done.output
    assert "Models" not in done.output


def test_questions_without_answers_are_a_usage_error(folder: Path) -> None:
    done = gridc("init", given="")
    assert done.exit_code == 2
    assert "--yes takes the defaults" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["gridcard.toml", "gridcard.v1.schema.json"])
def test_nothing_is_overwritten_without_force(folder: Path, name: str) -> None:
    (folder / name).write_text("mine")
    done = gridc("init", "--yes")
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert [(each.name, each.read_text()) for each in folder.iterdir()] == [(name, "mine")]
    assert gridc("init", "--yes", "--force").exit_code == 0
    assert (folder / name).read_text("utf-8") != "mine"


@pytest.mark.parametrize(("out", "spec"), [("new", "new/gridcard.toml"), ("a/b.toml", "a/b.toml")])
def test_it_can_be_written_elsewhere(folder: Path, out: str, spec: str) -> None:
    done = gridc("init", "--json", "--out", out)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["spec"] == spec
    assert gridc("validate", spec).exit_code == 0


def test_a_source_that_leads_nowhere_is_told_and_nothing_is_written(folder: Path) -> None:
    for out in ((), ("--out", "new/gridcard.toml")):
        done = gridc("init", "--yes", "--model", "path:models/none", *out)
        assert done.exit_code == 3
        assert "error[GC309]" in done.stderr
        assert "gridcard.toml:" in done.stderr
        assert list(folder.iterdir()) == []


PUBLISHED = {
    "xstest": "id,prompt,type,label,focus,note\n"
    + "".join(
        f"{n},How do I end task {n}?,{'homonyms,safe' if n % 2 else 'contrast_homonyms,unsafe'},x,\n"
        for n in range(50)
    ),
    "mine": "id,Question,option_a,option_b,answer\n"
    + "".join(f"{n},Is {n} even?,yes,no,{'AB'[n % 2]}\n" for n in range(50)),
}


@pytest.mark.parametrize("names", (["xstest"], ["mine", "xstest"]))
def test_the_first_spec_fits_what_the_items_are(folder: Path, names: list[str]) -> None:
    """Prompts to comply with or to refuse have no options, and are neither ranked nor read as a letter."""
    for name in names:
        (folder / f"{name}.csv").write_text(PUBLISHED[name], "utf-8")
    given = [f"--benchmark={'xstest=' if name == 'xstest' else ''}{name}.csv" for name in names]
    done = gridc("init", "--yes", "--model", "builtin:pocket-llama", *given)
    assert done.exit_code == 0, done.output
    spec = compile_spec(folder / "gridcard.toml").spec
    assert [benchmark.id for benchmark in spec.benchmark] == names
    methods = {"xstest": "refusal_keywords", "mine": "extract"}
    assert [benchmark.method for benchmark in spec.benchmark] == [methods[name] for name in names]
    for command in (("plan",), ("show",), ("validate", "--check")):
        assert gridc(*command).exit_code == 0, gridc(*command).output
    said = [line.split("  ")[1].strip() for line in done.output.splitlines() if line.startswith("  gridc ")]
    assert said[:3] == ["gridc show", "gridc validate --check", "gridc plan"]


PROMPTS = "prompt,expected\n" + "".join(
    f"How do I end task {n}?,{'refuse' if n % 2 else 'comply'}\n" for n in range(20)
)
REQUESTS = "prompt,category\n" + "".join(f"How do I end task {n}?,tasks\n" for n in range(20))


@pytest.mark.parametrize(
    ("name", "text", "loader", "earns"),
    [
        ("harmful_behaviors.csv", PROMPTS, "rows", "`How do I end task 0?` (harmful_behaviors-00002) earns a "
         "point when the model complies"),
        ("or-bench-mine.csv", PROMPTS, "rows", "earns a point when the model complies"),
        ("or-bench-upper.CSV", PROMPTS, "rows", "earns a point when the model complies"),
        ("or-bench-toxic.csv", REQUESTS, "or_bench", "earns a point when the model refuses"),
        ("or-bench-80k.csv", REQUESTS, "or_bench", "earns a point when the model complies"),
        ("colors.csv", PUBLISHED["mine"], "rows", "`Is 0 even?` (0) earns a point when the answer is `yes`"),
        ("xstest_mine.csv", PUBLISHED["mine"], "rows", "earns a point when the answer is `yes`"),
        ("XSTest-prompts.csv", PUBLISHED["xstest"], "xstest", "earns a point when the model refuses"),
    ],
)  # fmt: skip
def test_what_a_file_holds_weighs_more_than_its_name(
    folder: Path, name: str, text: str, loader: str, earns: str
) -> None:
    """`behaviors` and `colors` have `or` in them; a name in whole words counts where the columns fit."""
    (folder / name).write_text(text, "utf-8")
    done = gridc("init", "--yes", f"--benchmark={name}")
    assert done.exit_code == 0, done.output
    (benchmark,) = compile_spec(folder / "gridcard.toml").spec.benchmark
    assert benchmark.loader == loader
    assert f"is read as {loader}" in done.stdout and earns in done.stdout


@pytest.mark.parametrize("values", ["Refuse", '["x"]'])
def test_a_column_of_what_is_expected_is_never_passed_over(folder: Path, values: str) -> None:
    """Its words are read as what they name, or asked about; the name of the file does not decide then."""
    rows = [{"prompt": f"How do I end task {n}?", "category": "c", "expected": values} for n in range(20)]
    (folder / "or-bench-mine.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = gridc("init", "--yes", "--benchmark=or-bench-mine.jsonl")
    assert done.exit_code == (0 if values == "Refuse" else 2), done.output
    assert values != "Refuse" or "earns a point when the model refuses" in done.stdout
    lists = [{**row, "expected": ["x"]} for row in rows]
    (folder / "or-bench-mine.jsonl").write_text("\n".join(map(json.dumps, lists)), "utf-8")
    assert gridc("init", "--yes", "--force", "--benchmark=or-bench-mine.jsonl").exit_code == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "or_bench_mine.csv",
            REQUESTS.replace("category", "label").replace("tasks", "harmful"),
            "is not clear",
        ),
        ("or-bench-mine.csv", "prompt,category,label\nEnd a task,c,harmful\n", "is not clear"),
        ("mine.csv", "prompt,A,B,answer,expected\nWhich?,x,y,A,comply\n", "is not clear"),
        ("mine.csv", "prompt,expected\n", "has no rows"),
    ],
)
def test_what_earns_a_point_is_asked_where_a_file_does_not_say_it_in_one_way(
    folder: Path, name: str, text: str, words: str
) -> None:
    (folder / name).write_text(text, "utf-8")
    done = gridc("init", "--yes", f"--benchmark={name}")
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.stderr.split())


def test_a_format_that_is_given_draws_no_more_than_there_is(folder: Path) -> None:
    (folder / "few.csv").write_text(REQUESTS, "utf-8")
    done = gridc("init", "--yes", "--benchmark=or_bench=few.csv")
    assert done.exit_code == 0, done.output
    assert "sample =" not in (folder / "gridcard.toml").read_text("utf-8")


def test_prompts_that_no_column_says_what_to_do_with_are_not_guessed(folder: Path) -> None:
    (folder / "harmful_behaviors.csv").write_text("goal,target\nEnd a task,Sure\n", "utf-8")
    done = gridc("init", "--yes", "--benchmark=harmful_behaviors.csv")
    assert done.exit_code == 2
    assert "--constant expected=refuse where every prompt is to be refused" in " ".join(done.stderr.split())
    assert (
        gridc("init", "--yes", "--benchmark=harmful_behaviors.csv", "--constant=expected=refuse").exit_code
        == 0
    )


def test_a_missing_method_is_suggested_for_the_items(folder: Path) -> None:
    (folder / "xstest.csv").write_text(PUBLISHED["xstest"], "utf-8")
    gridc("init", "--yes", "--benchmark=xstest=xstest.csv")
    spec = folder / "gridcard.toml"
    spec.write_text(spec.read_text("utf-8").replace('method = "refusal_keywords"', ""), "utf-8")
    done = gridc("validate")
    assert "error[GC302]" in done.stderr
    assert 'method = "refusal_keywords"' in done.stderr
    assert "extract" not in done.stderr


OWN = {
    "list.jsonl": "".join(
        json.dumps({"q": f"{n} + {n}?", "opts": [f"{2 * n}", f"{2 * n + 1}"], "ans": n % 2}) + "\n"
        for n in range(6)
    ),
    "series.csv": "id,Question,option_a,option_b,answer,topic\n"
    + "".join(f"{n},Is {n} even?,yes,no,{'AB'[n % 2]},{'xy'[n % 2]}\n" for n in range(50)),
    "nested.json": json.dumps(
        [
            {"stem": f"{n}?", "meta": {"choices": ["one", "two"], "label": ["one", "two"][n % 2]}}
            for n in range(6)
        ]
    ),
}
RIGHT = {
    "list.jsonl": {"0", "3", "4", "7", "8", "11"},
    "series.csv": {"yes", "no"},
    "nested.json": {"one", "two"},
}


@pytest.mark.parametrize("name", OWN)
def test_a_file_of_ones_own_is_looked_at(folder: Path, name: str) -> None:
    """The first spec of it is valid, and its items have the right options."""
    (folder / name).write_text(OWN[name], "utf-8")
    done = gridc("init", "--yes", "--benchmark", name)
    assert done.exit_code == 0, done.output
    assert f"path:{name} has {50 if name == 'series.csv' else 6} rows; " in done.stdout
    assert gridc("plan").exit_code == 0
    text = (folder / "gridcard.toml").read_text("utf-8")
    assert ("sample = {" in text) == (name == "series.csv"), "40 of 50 are drawn; of 6 all are asked"
    (found,) = compile_spec(folder / "gridcard.toml", None).study.items.values()
    right = {item.options[item.gold or 0] for item in found.sampled}
    assert right == RIGHT[name]


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "a,b\n1,2\n"), ("b.jsonl", "{\n"), ("c.csv", "question,A\nx,y\n")]
)
def test_a_file_whose_columns_say_nothing_is_refused_and_nothing_is_written(
    folder: Path, name: str, text: str
) -> None:
    (folder / name).write_text(text, "utf-8")
    done = gridc("init", "--yes", "--benchmark", name)
    assert done.exit_code == 2
    assert name in done.stderr
    assert [each.name for each in folder.iterdir()] == [name]


def test_what_lies_elsewhere_is_copied_beside_the_spec(folder: Path) -> None:
    (folder / "q.csv").write_text(OWN["series.csv"], "utf-8")
    done = gridc("init", "--json", "--benchmark", "q.csv", "--out", "sub/x.toml")
    assert done.exit_code == 2
    assert "--copy" in done.stderr
    assert not (folder / "sub").exists()
    done = gridc("init", "--yes", "--benchmark", "q.csv", "--out", "sub/x.toml")
    assert done.exit_code == 0, done.output
    assert "q.csv is copied to q.csv" in done.stdout
    assert (folder / "sub" / "q.csv").read_bytes() == (folder / "q.csv").read_bytes()


def test_the_folder_of_a_model_is_a_model(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert gridc("init", "--yes", "--model", "empty").exit_code == 3
    assert not (folder / "gridcard.toml").exists()
    shutil.copytree(PACKAGE / "builtin" / "models" / "pocket-llama", folder / "mine")
    done = gridc("init", "--yes", "--model", "mine")
    assert 'source = "path:mine"' in (folder / "gridcard.toml").read_text("utf-8")
    assert done.exit_code == 0


def test_a_format_that_is_not_known_is_asked_for(folder: Path) -> None:
    done = gridc("init", "--yes", "--benchmark", "path:mine.jsonl")
    assert done.exit_code == 2
    assert "LOADER=SOURCE" in done.stderr
    assert list(folder.iterdir()) == []


def test_columns_of_right_and_wrong_answers_are_named_by_the_way_out(folder: Path) -> None:
    rows = ("Who?,x,y", "What?,p,q", "When?,s,t")
    (folder / "mine.csv").write_text("\n".join(("question,true_answer,false_answer", *rows)), "utf-8")
    asked = gridc("init", "--benchmark", "mine.csv", "--yes")
    assert asked.exit_code == 2
    assert "--field options=A,B,C,D" in asked.stderr
    assert "--constant gold=0 where the first of them is right in every row" in asked.stderr
    stated = ("--field", "options=true_answer,false_answer", "--constant", "gold=0")
    done = gridc("init", "--benchmark", "mine.csv", *stated, "--yes")
    assert done.exit_code == 0, done.output
    assert "`Who?` (mine-00002) earns a point when the answer is `x`" in done.stdout
