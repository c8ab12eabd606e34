"""A made-up lm_eval package: a few task files in each way of writing them, and code that must not run."""

import sys
from pathlib import Path

import pytest

FILES = {
    "__init__.py": "raise RuntimeError('the package was imported')\n",
    "tasks/__init__.py": "raise RuntimeError('the package was imported')\n",
    "tasks/facts/_default_yaml": (
        "tag: facts_tasks\noutput_type: multiple_choice\ndataset_path: nobody/facts\n"
        "num_fewshot: 4  # as published\n"
        "metric_list:\n  - metric: acc\n    aggregation: mean\n  - metric: acc_norm\n    aggregation: mean\n"
    ),
    "tasks/facts/facts_iron.yaml": 'include: _default_yaml\ntask: "facts_iron"\ntask_alias: iron\n',
    "tasks/facts/facts_tin.yaml": (
        '"include": "_default_yaml"\n"task": facts_tin # a comment\n"tag":\n- metals\n- \'facts_tasks\'\n'
    ),
    "tasks/facts/_facts.yaml": (
        "group: facts\ntask:\n  # both\n  - facts_iron\n  - task: facts_tin\n    num_fewshot: 0\n"
    ),
    "tasks/sums.yaml": (
        'task: sums\ntag: [maths, "short"]\noutput_type: generate_until\n'
        "description: |\n  task: none\n  tag: none\nprocess_results: !function utils.score\n"
        "metric_list:\n- metric: !function utils.exact\n- metric: exact_match\n"
    ),
    "tasks/own.yaml": "task: own_class\nclass: !function task.Own\n",
    "tasks/twice.yaml": "task: sums\noutput_type: loglikelihood\n",
    "tasks/template.yaml": "output_type: generate_until\n",
    "tasks/broken.yaml": "include: nowhere_yaml\ntask: broken\n",
    "tasks/latin.yaml": "task: caf\u00e9\n",
    "tasks/__pycache__/cached.yaml": "task: cached\n",
}


def make_package(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Write the package into a folder; the path of the package."""
    for name, text in (FILES if files is None else files).items():
        path = folder / "lm_eval" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1" if "latin" in name else "utf-8"))
    return folder / "lm_eval"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up lm_eval that Python finds before any other one."""
    made = make_package(tmp_path / "installed")
    monkeypatch.setattr(sys, "path", [str(made.parent), *sys.path])
    return made


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lm_eval."""
    monkeypatch.setattr("gridc.compiler.inputs.task_index.PACKAGE", "lm_eval_that_is_not_there")
