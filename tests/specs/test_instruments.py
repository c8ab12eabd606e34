"""No spec of the repository raises a false alarm: its instrument is proved, or its hazards are waived."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.compiler.compile import compile_spec
from gridc.compiler.inputs.addresses import PROVIDERS
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.diagnostics.errors import SpecError

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = os.environ.get("GRIDC_DATA")
STUDIES = [
    REPOSITORY / "gridcard.toml",
    *(path for path in sorted((REPOSITORY / "specs").glob("*.toml")) if "deviations" not in path.name),
]
PAPERS = (
    "safetyrepro_bf16",
    "safetyrepro_scale",
    "scaffold_safety",
    "scaffold_safety_registered",
    "invocation",
    "format_pairs",
)
"""Studies of papers that need no weights here: the command tries all that can be before a call."""


@pytest.mark.skipif(DATA is None, reason="GRIDC_DATA does not say where the benchmarks lie")
@pytest.mark.parametrize("name", PAPERS)
def test_the_instrument_of_a_paper_is_proved_or_its_hazards_are_waived(name: str) -> None:
    keys = {provider.variable: "a key" for provider in PROVIDERS.values()}
    spec = str(REPOSITORY / "specs" / f"{name}.toml")
    done = CliRunner().invoke(main, ["validate", spec, "--check", "--data", DATA or ""], env=keys)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "spec", [path for path in STUDIES if DATA is None or path.stem not in PAPERS], ids=lambda path: path.stem
)
def test_no_spec_of_the_repository_raises_a_false_alarm(spec: Path) -> None:
    try:
        found = compile_spec(spec, Path(DATA) if DATA else None)
    except SpecError as error:
        assert {each.code for each in error.diagnostics} == {"GC309"}  # a folder that has other benchmarks
        found = compile_spec(spec)
    if found.study.absent:
        pytest.skip(f"items are absent: {', '.join(found.study.absent)}; GRIDC_DATA names their folder")
    prove_hazards(found.study, found.source)
