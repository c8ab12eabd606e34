"""`gridc tasks`: what an installed lm_eval has, read as text."""

import json
import sys
from pathlib import Path

import pytest

from gridc.compiler.inputs.task_index import TaskEntry, own_task, read_tasks
from tests.e2e.conftest import command
from tests.task_package import FILES, make_package, nothing_installed, package

__all__ = ["nothing_installed", "package"]


def test_each_name_has_what_its_file_says(tmp_path: Path) -> None:
    index = read_tasks(make_package(tmp_path))
    assert list(index.entries.values()) == [
        TaskEntry("facts", "group", "lm_eval/tasks/facts/_facts.yaml", members=("facts_iron", "facts_tin")),
        TaskEntry("facts_tasks", "tag", members=("facts_iron", "facts_tin")),
        TaskEntry("maths", "tag", members=("sums",)),
        TaskEntry("metals", "tag", members=("facts_tin",)),
        TaskEntry("short", "tag", members=("sums",)),
        TaskEntry(
            "facts_iron",
            "task",
            "lm_eval/tasks/facts/facts_iron.yaml",
            "multiple_choice",
            ("acc", "acc_norm"),
            4,
        ),
        TaskEntry(
            "facts_tin",
            "task",
            "lm_eval/tasks/facts/facts_tin.yaml",
            "multiple_choice",
            ("acc", "acc_norm"),
            4,
        ),
        TaskEntry("own_class", "task", "lm_eval/tasks/own.yaml"),
        TaskEntry("sums", "task", "lm_eval/tasks/sums.yaml", "generate_until", ("exact", "exact_match")),
    ]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert read_tasks(make_package(tmp_path)).unread == (
        "lm_eval/tasks/broken.yaml: nowhere_yaml: No such file or directory",
        "lm_eval/tasks/latin.yaml: it is not UTF-8",
    )


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    files = {"tasks/a.yaml": "include: b.yaml\ntask: a\n", "tasks/b.yaml": "include: a.yaml\ntask: b\n"}
    index = read_tasks(make_package(tmp_path, files))
    assert not index.entries
    assert [text.rpartition(": ")[2] for text in index.unread] == ["it includes itself"] * 2


def test_a_list_of_tables_counts_each_member(tmp_path: Path) -> None:
    text = (
        "group: prompts\ntask:\n  - dataset_path: a/b\n    metric_list:\n      - metric: acc\n"
        "  - group: inner\n    task:\n      - x\n"
    )
    (entry,) = read_tasks(make_package(tmp_path, {"tasks/a.yaml": text})).entries.values()
    assert entry.members == ("a/b", "inner")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("task: mine\n", "mine"),
        ("# mine\r\ngroup: 'all of mine'\r\ntask: [a, b]\r\n", "all of mine"),
        ("rows:\n  task: inner\n", None),
        ("task: null\n", None),
        ("include: of_another_machine\ntask: mine\n", "mine"),
        ("", None),
    ],
)
def test_the_name_in_a_file_of_ones_own(text: str, name: str | None, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_bytes(text.encode())
    entry = own_task(str(tmp_path / "own.yaml"))
    assert (entry and entry.name) == name


def test_words_and_patterns(package: Path, tmp_path: Path) -> None:
    done = command("tasks", "FACTS", "iron", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "name        what it is  output type      metrics        file",
        "facts_iron  task        multiple_choice  acc, acc_norm  lm_eval/tasks/facts/facts_iron.yaml",
        "1 of 9 names; `gridc init --task lm-eval:facts_iron` begins a study of one",
    ]
    assert "not read: lm_eval/tasks/broken.yaml: nowhere_yaml: No such file or directory" in done.stderr
    shown = command("tasks", "facts", cwd=tmp_path).stdout
    assert "group of 2" in shown and "tag of 2" in shown
    found = json.loads(command("tasks", "facts_*", "--json", cwd=tmp_path).stdout)["found"]
    assert [entry["name"] for entry in found] == ["facts_tasks", "facts_iron", "facts_tin"]
    assert "lm_eval" not in sys.modules


def test_the_name_that_was_asked_for_stands_first(package: Path, tmp_path: Path) -> None:
    make_package(package.parent, {"tasks/x.yaml": "group: more_sums\ntask: [sums]\n"})
    found = json.loads(command("tasks", "sums", "--json", cwd=tmp_path).stdout)["found"]
    assert [entry["name"] for entry in found] == ["sums", "more_sums"]


def test_without_a_word_it_counts(package: Path, tmp_path: Path) -> None:
    done = command("tasks", cwd=tmp_path)
    assert done.stdout == (
        "9 names: 1 group, 4 tags and 4 tasks. `gridc tasks WORD` lists those with WORD in them\n"
    )
    assert len(json.loads(command("tasks", "--json", cwd=tmp_path).stdout)["found"]) == 9


def test_a_near_name_is_offered(package: Path, tmp_path: Path) -> None:
    done = command("tasks", "facts_irno", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "no name in lm_eval has `facts_irno` in it" in done.stderr
        and "did you mean `facts_iron`?" in done.stderr
    )
    assert "`gridc tasks WORD` lists names" in command("tasks", "qqqq", cwd=tmp_path).stderr


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_package_it_says_how_to_install_it(tmp_path: Path) -> None:
    done = command("tasks", "mmlu", cwd=tmp_path)
    assert done.returncode == 6
    assert "GC604" in done.stderr and "pip install 'gridc[lm-eval]'" in done.stderr


def test_a_shell_completes_names(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = {"_GRIDC_COMPLETE": "bash_complete", "COMP_WORDS": "gridc tasks facts_", "COMP_CWORD": "2"}
    assert command(cwd=tmp_path, **typed).stdout == "plain,facts_tasks\nplain,facts_iron\nplain,facts_tin\n"
    monkeypatch.setattr("gridc.compiler.inputs.task_index.PACKAGE", "lm_eval_that_is_not_there")
    assert command(cwd=tmp_path, **typed).stdout.strip() == ""


def test_the_package_would_say_if_it_were_run() -> None:
    assert "RuntimeError" in FILES["__init__.py"] and "RuntimeError" in FILES["tasks/__init__.py"]
