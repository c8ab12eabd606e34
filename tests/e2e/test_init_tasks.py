"""`gridc init` with tasks of lm-evaluation-harness: what it writes, without lm_eval being run."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gridc.schema import jsonschema
from tests.e2e.conftest import Done, command
from tests.task_package import make_package, nothing_installed, package

__all__ = ["nothing_installed", "package"]

pytestmark = pytest.mark.usefixtures("package")


def init(folder: Path, *arguments: str) -> Done:
    return command("init", "--yes", "--force", *arguments, cwd=folder)


def drafted(folder: Path, *arguments: str) -> dict[str, Any]:
    """What was written, which the published schema takes but for the two keys that a task gives itself."""
    done = init(folder, *arguments)
    assert done.returncode == 0, done.stderr
    spec = tomllib.loads((folder / "gridcard.toml").read_text("utf-8"))
    whole = json.loads(json.dumps(spec))
    for benchmark in whole["benchmark"]:
        assert benchmark["loader"] == "lm-eval" and "direction" not in benchmark
        benchmark |= {"loader": "mmlu", "direction": "higher_is_better", "source": "path:items.csv"}
    errors = list(Draft202012Validator(json.loads(jsonschema.schema_text())).iter_errors(whole))
    assert not errors, [error.message for error in errors]
    return spec


def test_a_task_is_a_benchmark_of_two_models_and_an_axis_of_shots(tmp_path: Path) -> None:
    spec = drafted(tmp_path, "--task", "lm-eval:facts_iron")
    assert spec["benchmark"] == [{"id": "facts_iron", "loader": "lm-eval", "source": "task:facts_iron"}]
    assert len(spec["model"]) == 2
    assert "harness" not in spec and spec["study"]["yes_when"] == "order_holds"
    (axis,) = spec["axis"]
    assert axis["id"] == "shots" and [level["shots"] for level in axis["level"]] == [0, 4]


def test_what_was_found_is_said(tmp_path: Path) -> None:
    done = init(tmp_path, "--task", "lm-eval:facts")
    assert "facts is a group of 2 members, from lm_eval/tasks/facts/_facts.yaml" in done.stdout
    assert "not validated yet" in done.stdout
    assert "GC347" in done.stderr, "the package that is made up here renders nothing"
    document = json.loads(init(tmp_path, "--json", "--task", "facts_tin").stdout)
    assert document["seen"][0] == (
        "facts_tin is a task (multiple_choice; acc, acc_norm; 4 exemplars), from "
        "lm_eval/tasks/facts/facts_tin.yaml"
    )


def test_each_task_is_asked_with_the_exemplars_that_it_has(tmp_path: Path) -> None:
    spec = drafted(tmp_path, "--task", "facts_tasks", "--task", "lm-eval:sums")
    assert [level["id"] for level in spec["axis"][0]["level"]] == ["0", "4", "5"]
    assert [each["when"] for each in spec["exclude"]] == [
        {"benchmark": "facts_tasks", "shots": "5"},
        {"benchmark": "sums", "shots": "4"},
    ]


def test_a_task_that_has_no_exemplars_has_no_axis(tmp_path: Path, package: Path) -> None:
    make_package(package.parent, {"tasks/zero.yaml": "task: zero\nnum_fewshot: 0\n"})
    spec = drafted(tmp_path, "--task", "zero")
    assert "axis" not in spec and "exclude" not in spec
    assert spec["study"]["yes_when"] == "models_differ"


def test_a_group_that_lists_itself_or_nothing_known_has_the_usual_shots(
    tmp_path: Path, package: Path
) -> None:
    make_package(package.parent, {"tasks/odd.yaml": "group: odd\ntask: [odd, elsewhere]\n"})
    assert [level["shots"] for level in drafted(tmp_path, "--task", "odd")["axis"][0]["level"]] == [0, 5]


def test_a_task_file_beside_the_spec_is_a_benchmark(tmp_path: Path) -> None:
    (tmp_path / "my task.yaml").write_text("task: mine\nnum_fewshot: 2\ninclude: of_another_machine\n")
    (tmp_path / "all.yml").write_text("group: all_of_mine\ntask: [mine]\n")
    spec = drafted(tmp_path, "--benchmark", "my task.yaml", "--benchmark", "lm-eval=all.yml")
    assert [(each["id"], each["source"]) for each in spec["benchmark"]] == [
        ("mine", "path:my task.yaml"),
        ("all_of_mine", "path:all.yml"),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--task", "lm-eval:facts_irn"],
            ["no task, group or tag `facts_irn`", "did you mean `facts_iron`?"],
        ),
        (["--task", "facts_", "--task", "qqq"], ["there is `facts_tasks`, `facts_iron`", "`qqq`"]),
        (["--task", "own.yaml"], ["--benchmark own.yaml takes a task file"]),
        (["--benchmark", "plain.yaml"], ["`plain.yaml` has no `task` and no `group` at its top level"]),
        (["--task", "sums", "--benchmark", "builtin:pocket_bbq.jsonl"], ["has tasks alone or none"]),
        (["--task", "sums", "--match", "exact"], ["cannot be stated", "leave these options out"]),
        (["--task", "sums", "--leave-out"], ["cannot be stated"]),
        (["--task", "sums", "--title", " "], ["cannot be written as text"]),
    ],
)
def test_what_cannot_be_drafted_is_told_and_nothing_is_written(
    tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    (tmp_path / "plain.yaml").write_text("rows: [1, 2]\n")
    done = init(tmp_path, *arguments)
    assert done.returncode == 2
    assert all(word in " ".join(done.stderr.split()) for word in words), done.stderr
    assert not (tmp_path / "gridcard.toml").exists()


@pytest.mark.usefixtures("nothing_installed")
def test_without_lm_eval_a_name_is_not_known_and_a_file_is(tmp_path: Path) -> None:
    done = init(tmp_path, "--task", "lm-eval:sums")
    assert done.returncode == 6 and "pip install 'gridc[lm-eval]'" in done.stderr
    (tmp_path / "mine.yaml").write_text("task: mine\n")
    shown = init(tmp_path, "--benchmark", "mine.yaml").stdout
    assert "pip install 'gridc[lm-eval]': before tasks can be read" in shown


def test_a_shell_completes_names(tmp_path: Path) -> None:
    for typed, expected in (("lm-eval:su", "lm-eval:sums"), ("su", "sums")):
        words = {
            "_GRIDC_COMPLETE": "zsh_complete",
            "COMP_WORDS": f"gridc init --task {typed}",
            "COMP_CWORD": "3",
        }
        assert expected in command(cwd=tmp_path, **words).stdout.splitlines()
