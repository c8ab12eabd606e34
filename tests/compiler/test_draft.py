"""First specs: what `gridc init` writes is valid, commented and runs by default."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gridc.compiler.compile import compile_spec
from gridc.compiler.draft import BENCHMARKS, MODELS, TITLE, draft
from gridc.compiler.frontend.read import read_spec
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import UsageError


def written(folder: Path, text: str) -> Path:
    path = folder / "gridcard.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_default_draft_compiles_and_can_be_planned(tmp_path: Path) -> None:
    made = draft(Path("my study"), TITLE, MODELS, BENCHMARKS)
    compiled = compile_spec(written(tmp_path, made.text()))
    assert compiled.spec.study.id == "my-study"
    assert compiled.study.unpinned() == {}
    counts = Plan(compiled.study).counts()
    assert counts.cells == 3 * 2 * 6
    assert 0 < counts.unique <= 5000, "small enough to be run at once"


def test_every_table_of_the_draft_is_commented() -> None:
    lines = draft(Path("x"), TITLE, MODELS, BENCHMARKS).text().splitlines()
    assert sum("#" in line for line in lines) > 20
    assert lines[0] == "#:schema ./gridcard.v1.schema.json"


def test_the_example_of_a_hypothesis_is_one(tmp_path: Path) -> None:
    text = draft(Path("x"), TITLE, MODELS, BENCHMARKS).text()
    start = text.index("# [[hypothesis]]")
    end = text.index("\n\n", start)
    example = text[start:end].replace("# ", "")
    spec = read_spec(written(tmp_path, text[:start] + example + text[end:])).spec
    assert [each.kind for each in spec.hypothesis] == ["ranking"]


def test_one_model_is_enough_and_has_no_ranking(tmp_path: Path) -> None:
    text = draft(Path("x"), TITLE, MODELS[:1], BENCHMARKS[:1]).text()
    assert "hypothesis" not in text
    read_spec(written(tmp_path, text))


def test_a_providers_model_is_read_and_not_ranked(tmp_path: Path) -> None:
    made = draft(Path("x"), TITLE, ["anthropic/claude-opus-4-6", "builtin:pocket-llama"], BENCHMARKS)
    assert [(each.id, each.engine) for each in made.models] == [
        ("claude-opus-4-6", "api"),
        ("pocket-llama", "hf"),
    ]
    spec = read_spec(written(tmp_path, made.text())).spec
    assert spec.harness.method == "extract"
    assert [axis.id for axis in spec.axis] == ["template", "decoding"]


@pytest.mark.parametrize(
    ("given", "loader", "name"),
    [
        ("data:bbq/Age.jsonl", "bbq", "age"),
        ("data:truthfulqa/v0_mc_task.json", "truthfulqa_mc1", "v0_mc_task"),
        ("bbq=path:mine.jsonl", "bbq", "mine"),
    ],
)
def test_the_format_of_a_file_is_known_by_its_name_or_given(given: str, loader: str, name: str) -> None:
    (made,) = draft(Path("x"), TITLE, MODELS, [given]).benchmarks
    assert (made.loader, made.id) == (loader, name)


@pytest.mark.parametrize(
    ("title", "benchmarks", "words"),
    [
        (TITLE, ["path:mine.jsonl"], "LOADER=SOURCE"),
        (TITLE, ["bbq.jsonl"], "has no scheme"),
        (TITLE, ["é" * 200], "has no scheme"),
        (TITLE, ["path:" + "é" * 200], "is not known"),
        (" ", BENCHMARKS, "cannot be written"),
        ("\udcff", BENCHMARKS, "cannot be written"),
    ],
)
def test_what_cannot_be_drafted_is_a_usage_error(title: str, benchmarks: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        draft(Path("x"), title, MODELS, benchmarks)
    told = " ".join(f"{each.message} {each.help}" for each in caught.value.diagnostics)
    assert words in told


def test_models_of_one_name_get_ids_of_their_own() -> None:
    made = draft(Path("x"), TITLE, ["hf:a/tiny", "hf:b/tiny", "hf:c/tiny"], BENCHMARKS)
    assert [each.id for each in made.models] == ["tiny", "tiny-2", "tiny-3"]


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
@example("/", "0", "/")
def test_any_text_is_written_as_toml_or_refused(folder: str, title: str, source: str) -> None:
    try:
        made = draft(Path(folder), title, [source], BENCHMARKS)
    except UsageError:
        return
    values = tomllib.loads(made.text())
    if not source.strip("/."):  # a folder that is here: `/`, `.`, `..`
        assert values["model"][0]["source"].startswith("path:")
    else:
        assert values["model"][0]["source"] == source
    assert values["study"]["id"]
