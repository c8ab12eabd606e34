"""The notebook of the documentation runs from an empty folder, and shows what it has shown before."""

import json
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from tests.conftest import Golden

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
KERNEL = {
    "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "display_name": "Python 3",
    "language": "python",
}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel named python3 of this interpreter: whatever the machine has under that name is not asked."""
    folder = tmp_path / "jupyter"
    (folder / "kernels" / "python3").mkdir(parents=True)
    (folder / "kernels" / "python3" / "kernel.json").write_text(json.dumps(KERNEL))
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(NOTEBOOK.parents[1]))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))


def outputs(cell: NotebookNode) -> list[dict[str, Any]]:
    """What a cell showed, without what differs from run to run."""
    unnumbered = {"execution_count": None}
    return [
        {**output, **(unnumbered if "execution_count" in output else {})}
        for output in cell.outputs
        if output.get("name") != "stderr"
    ]


def test_the_notebook_runs_and_shows_what_it_showed(kernel: None, golden: Golden, tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    folder = tmp_path / "study"
    folder.mkdir()
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata = {}
            cell.execution_count = None
            cell.outputs = outputs(cell)
    notebook.metadata.language_info = {"name": "python"}
    golden.check(NOTEBOOK, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
