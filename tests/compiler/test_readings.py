"""What a plan says of readings that nobody has checked."""

from pathlib import Path

import pytest

import gridc
from tests.e2e.conftest import command

ROOT = Path(gridc.__file__).parents[1]


def test_a_benchmark_that_a_judge_reads_has_a_line() -> None:
    spec = ROOT / "specs" / "judged_pocket.toml"
    (line,) = gridc.open(spec).plan().readings
    assert line.startswith(
        "pocket_truthfulqa: claims rest on what judges say, which nobody has checked; people's "
        "labels of 12 answers of each model would find out, with a chance of 0.8, one that is misread in "
    )
    printed = command("plan", str(spec), cwd=ROOT).stdout
    assert f"note: {line} (`gridc audit sample`)" in " ".join(printed.split())


@pytest.mark.parametrize("spec", ["gridcard.toml", "specs/scaffold_pocket.toml"])
def test_one_whose_options_are_read_has_none(spec: str) -> None:
    assert gridc.open(ROOT / spec).plan().readings == ()
