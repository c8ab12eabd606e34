"""Whatever is done to a spec, it compiles or is refused with findings. `python -m tests.fuzz` goes on."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridc.schema import jsonschema
from tests.fuzz import corpus, mutate
from tests.fuzz.__main__ import mutated
from tests.fuzz.attempt import attempt, codes

SEEDS = corpus.whole()
SMALL = corpus.small()
RANDOM = st.randoms(use_true_random=False)


@pytest.fixture(scope="session")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    corpus.write_items(folder)
    return folder / "gridcard.toml"


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SEEDS), RANDOM)
def test_a_mutated_spec_compiles_or_is_refused_with_findings(
    case: Path, data: bytes, rng: random.Random
) -> None:
    attempt(case, mutated(data, rng))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(RANDOM)
def test_a_spec_made_from_the_schema_compiles_or_is_refused_with_findings(
    case: Path, rng: random.Random
) -> None:
    made = mutate.invent(jsonschema.load(), rng)
    if isinstance(made, dict):
        attempt(case, mutate.toml(made).encode())


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda each: each.encode("utf-8", "replace")))
def test_any_bytes_at_all_are_refused_with_findings(case: Path, data: bytes) -> None:
    assert attempt(case, data)


def test_small_specs_come_to_what_is_written_over_them(case: Path) -> None:
    came = [(codes(attempt(case, data)), data) for data in SMALL]
    assert came == corpus.written()
    assert len({name for name, _ in came}) > 35


def test_the_specs_themselves_are_accepted_or_refused_as_they_should_be(case: Path) -> None:
    came = [codes(attempt(case, data)) for data in SEEDS]
    assert came.count("accepted") >= 4
    assert len(set(came)) > 25, "the golden specs reach most codes"


def test_the_mutations_reach_far_into_the_compiler(case: Path) -> None:
    """Most mutated specs die in the parser or the schema; if all did, it would prove little."""
    rng = random.Random(1)
    came = [codes(attempt(case, mutated(rng.choice(SEEDS), rng))) for _ in range(250)]
    seen = {code for each in came for code in each.split()}
    assert "accepted" in seen
    assert {code[:3] for code in seen} >= {"GC0", "GC1", "GC2", "GC3"}


def fuzz(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.fuzz", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "0 kinds of failure" in done.stdout


def test_a_thousand_mutations_of_small_specs(tmp_path: Path) -> None:
    fuzz("--cases", "1000", "--seed", "1", "--failures", str(tmp_path))


@pytest.mark.slow
def test_a_hundred_thousand_mutations_of_specs(tmp_path: Path) -> None:
    fuzz("--cases", "100000", "--failures", str(tmp_path))
