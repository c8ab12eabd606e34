"""The documents say what the code does."""

import re
import tomllib
from pathlib import Path

import pytest

from gridc.compiler.inputs.loaders import LOADERS
from gridc.schema.spec import Axis, Benchmark

BENCHMARKS = (Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md").read_text("utf-8")


def test_every_loader_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` (?:\|[^|\n]+){4}\|$", BENCHMARKS, re.MULTILINE)
    assert sorted(rows) == sorted(LOADERS)


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", BENCHMARKS, re.DOTALL))
def test_the_examples_are_of_the_language(block: str) -> None:
    tables = tomllib.loads(block)
    read = [Benchmark.model_validate(each) for each in tables.get("benchmark", [])]
    assert [*read, *(Axis.model_validate(each) for each in tables.get("axis", []))]
