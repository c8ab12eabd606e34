"""Files of published benchmarks under any name: the columns say the format, and it is said."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gridc.compiler.draft import MODELS, TITLE, ColumnStatement, DraftBenchmark, draft
from gridc.diagnostics.errors import UsageError
from gridc.schema import items
from tests.compiler.test_formats import CROWS, QUESTION, QUIZ, STATEMENT, TOXIC, TRUTHFUL, XSTEST, jsonl
from tests.compiler.test_loaders import question, scenario

DATA = os.environ.get("GRIDC_DATA")
FILES = {
    "bbq": ("items.jsonl", jsonl(scenario(example_id=1), scenario(example_id=2)), 2),
    "toxigen": ("items.csv", TOXIC, 4),
    "xstest": ("items.csv", XSTEST, 2),
    "truthfulqa_mc1": ("items.csv", TRUTHFUL, 1),
}


def drafted(name: str, gold: str | None = None, *stated: ColumnStatement) -> DraftBenchmark:
    (made,) = draft(Path(), TITLE, MODELS, [name], stated, gold, match="contains").benchmarks
    return made


def refusal(name: str, gold: str | None = None) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        drafted(name, gold)
    (found,) = caught.value.diagnostics
    return found.message, found.help or ""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("loader", FILES)
def test_a_file_with_the_columns_of_a_format_is_read_as_that_and_said(loader: str, folder: Path) -> None:
    name, text, count = FILES[loader]
    (folder / name).write_text(text, "utf-8")
    made = drafted(name)
    assert (made.loader, made.rows, made.fields) == (loader, count, None)
    assert f"has the columns of {loader}, and is read as that" in (made.said or "")


def test_plain_rows_are_one_prefix_away_as_it_is_said(folder: Path) -> None:
    (folder / "Age.jsonl").write_text(FILES["bbq"][1], "utf-8")
    assert "`--benchmark rows=Age.jsonl` reads it as plain rows" in (drafted("Age.jsonl").said or "")
    assert drafted("rows=Age.jsonl").loader == "rows"
    assert drafted("Age.jsonl", None, ColumnStatement("field", None, "query", "question")).loader == "rows"
    assert drafted("Age.jsonl", "index").loader == "rows"  # how a gold column names an option


def test_what_a_file_holds_is_not_what_its_name_says(folder: Path) -> None:
    (folder / "xstest.jsonl").write_text(FILES["bbq"][1], "utf-8")
    assert drafted("xstest.jsonl").loader == "bbq"


@pytest.mark.parametrize("row", [QUESTION, STATEMENT])
def test_which_answer_earns_the_point_of_a_behaviour_is_asked(row: dict[str, str], folder: Path) -> None:
    (folder / "items.jsonl").write_text(jsonl(row), "utf-8")
    for name in ("items.jsonl", "anthropic_evals=items.jsonl"):
        message, help = refusal(name)
        assert "which answer matches a behaviour, and not which is right" in message
        assert help.startswith("--gold not_matching where") and "--gold matching where" in help
        for gold in ("matching", "not_matching"):
            assert drafted(name, gold).loading == f'{{ gold = "{gold}" }}'


def test_a_rule_for_gold_is_written_for_the_format_that_has_it_and_refused_for_another(folder: Path) -> None:
    (folder / "items.csv").write_text(TOXIC, "utf-8")
    assert drafted("items.csv", "human").loading == '{ gold = "human" }'
    assert drafted("items.csv").loading is None
    (folder / "Age.jsonl").write_text(FILES["bbq"][1], "utf-8")
    assert refusal("Age.jsonl", "human") == ("bbq cannot be told `--gold human`", "leave it out")


def test_a_row_that_does_not_follow_the_format_does_not_make_it_another(folder: Path) -> None:
    """Plain rows would take the contradiction for an answer."""
    wrong = scenario(example_id=2, context_condition="ambig")
    (folder / "items.jsonl").write_text(jsonl(scenario(example_id=1), wrong), "utf-8")
    assert (drafted("items.jsonl").loader, drafted("items.jsonl").rows) == ("bbq", 1)


def test_columns_without_a_row_that_the_format_reads_are_plain_rows_and_why_is_said(folder: Path) -> None:
    """As of a copy in which the nested table is a text."""
    flat = {**scenario(), "answer_info": json.dumps(scenario()["answer_info"])}
    (folder / "items.jsonl").write_text(jsonl(flat, flat), "utf-8")
    made = drafted("items.jsonl")
    assert made.loader == "rows"
    assert "has the columns of bbq, and is not read as that (`gridc docs benchmarks` says" in (
        made.said or ""
    )


def test_a_quiz_whose_name_does_not_say_whose_biography_it_holds_is_not_taken_for_prompts(
    folder: Path,
) -> None:
    (folder / "items.jsonl").write_text(jsonl(QUIZ), "utf-8")
    message, help = refusal("items.jsonl", "not_matching")
    assert "name it as upstream does, with bio_liberal or bio_conservative" in message
    assert help.startswith("correct that; or, as plain rows: ")


def test_pairs_of_sentences_are_not_asked(folder: Path) -> None:
    (folder / "items.csv").write_text(CROWS, "utf-8")
    assert refusal("items.csv")[0].startswith("pairs of sentences are compared, not asked")


def test_a_file_with_the_columns_of_two_formats_is_asked_about(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {**question(), **scenario()}
    (folder / "items.json").write_text(jsonl(both, {**both, "example_id": 6}), "utf-8")
    two = {"mmlu": replace(items.LOADER_KINDS["mmlu"], columns=(("question",),))}
    assert drafted("items.json").loader == "bbq"  # of the two forms it is JSONL
    monkeypatch.setattr("gridc.compiler.draft.LOADER_KINDS", {**items.LOADER_KINDS, **two})
    monkeypatch.setattr("gridc.compiler.draft._read_as", lambda loader, files: (1, None))
    message, help = refusal("items.json")
    assert "has the columns of bbq and of mmlu and of truthfulqa_mc1" in message
    assert "--benchmark bbq=path:items.json, or --benchmark mmlu=path:items.json" in help


@pytest.mark.skipif(not DATA, reason="GRIDC_DATA does not name a folder with the upstream files")
def test_every_upstream_file_is_taken_for_what_it_is_under_a_name_that_says_nothing(folder: Path) -> None:
    wanted = {
        "bbq": "bbq",
        "scaffold_study": "scaffold_study",
        "toxigen": "toxigen",
        "truthfulqa": "truthfulqa_mc1",
        "xstest": "xstest",
        "mmlu": "rows",  # anyone's file may have its columns, and rows give the same right options
    }
    seen = set()
    for path in sorted(Path(DATA or "").rglob("*.*")):
        kind = path.relative_to(DATA or "").parts[0]
        if path.suffix not in (".csv", ".json", ".jsonl") or kind not in wanted:
            continue
        name = f"items{path.suffix}"
        shutil.copy(path, folder / name)
        assert drafted(name).loader == wanted[kind], path
        seen.add(kind)
    assert seen
