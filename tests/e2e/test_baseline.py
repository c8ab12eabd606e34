"""`gridc baseline`: a run kept as one file is compared as the run itself, and a changed file is refused.

tests/e2e/test_lost_answers.py keeps runs of every format and with every kind of loss.
"""

import gzip
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import FileError, StampError, UsageError
from tests.e2e.conftest import command

GOLDEN = Path(__file__).parents[1] / "golden"
MARGIN = 5


def decided(a: Path | str, b: Path | str, **options: Any) -> list[tuple[Any, ...]]:
    comparison = gridc.compare(a, b, margin=MARGIN, **options).comparison
    return [
        (comparison.verdict, comparison.instrument.same, comparison.instrument.prompts),
        *((row.read_as, row.items, row.score, row.p_worse, row.p_not_worse, row.lost, row.states_a,
           row.states_b) for row in comparison.benchmarks),
    ]  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with the example that ships with gridc: logs/base and logs/candidate."""
    assert command("docs", "--examples", ".", cwd=tmp_path).returncode == 0
    return tmp_path / "logs"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada@x", "-f", path], check=True)
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None], sealed: bool) -> None:
    """Change head and run of a baseline; `sealed`: with the digest that fits."""
    head, run = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    change(head, run)
    body = json.dumps(run, separators=(",", ":"))
    if sealed:
        head["sha256"] = sha256(body.encode()).hexdigest()
    first = json.dumps(head, separators=(",", ":"))
    path.write_bytes(gzip.compress(f"{first}\n{body}\n".encode()))


def a_better_score(head: dict[str, Any], run: dict[str, Any]) -> None:
    run["benchmarks"][0]["answers"][0]["score"][0] = 0.0


def test_a_study_is_kept_with_all_its_configurations(finished: Path, tmp_path: Path) -> None:
    results = finished / "results" / "small"
    written = gridc.baseline(results, tmp_path / "base.gridc")
    assert decided(tmp_path / "base.gridc", results) == decided(results, results)
    assert written.size == (tmp_path / "base.gridc").stat().st_size < 60_000
    again = gridc.baseline(tmp_path / "base.gridc", tmp_path / "again.gridc")
    assert (again.kept, again.path.read_bytes()) == (written.kept, written.path.read_bytes())


def test_the_command_says_what_was_kept_and_how_to_use_it(logs: Path, tmp_path: Path) -> None:
    done = command("baseline", "logs/base", "--to", "base.gridc", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "  example/base/sums_plain: 24 items, 24 answers\n" in done.stdout
    shutil.rmtree(logs / "base")
    done = command(
        "compare", "base.gridc", "logs/candidate", "--margin", "5pp", "--markdown", "said.md", cwd=tmp_path
    )
    assert done.returncode == 10, done.stderr
    assert "kept by gridc" in done.stdout and "from logs/base, not signed" in done.stdout
    assert 'sums_plain lost: 6 "42"' in done.stdout and "gridc view" not in done.stdout
    assert "a: none" not in (tmp_path / "said.md").read_text("utf-8")


def test_certified_logs_that_moved_are_still_compared(logs: Path, tmp_path: Path) -> None:
    certified = tmp_path / "certified"
    assert certified / "baseline.gridc" in gridc.certify(logs / "base").write(certified)
    before = decided(certified, logs / "candidate")
    (logs / "base").rename(logs / "elsewhere")
    assert decided(certified, logs / "candidate") == before
    (warning,) = [
        one
        for one in gridc.compare(certified, logs / "candidate").comparison.warnings
        if "which is not here" in one
    ]
    assert "baseline.gridc beside it is read" in warning
    (certified / "baseline.gridc").unlink()
    with pytest.raises(UsageError, match="which is not here"):
        gridc.compare(certified, logs / "candidate")


@pytest.mark.parametrize(
    ("change", "sealed", "says"),
    [
        (a_better_score, False, "another SHA-256"),
        (lambda head, run: head.update(format="gridc-baseline/2"), True, "a newer gridc wrote"),
        (lambda head, run: run["benchmarks"][0]["answers"][0]["item"].pop(), True, "different lengths"),
        (lambda head, run: run["benchmarks"][0]["answers"][0]["item"].__setitem__(0, 999), True, "not there"),
        (lambda head, run: run["benchmarks"][0]["answers"][0]["score"].__setitem__(0, 7), True, "less than"),
        (lambda head, run: run.pop("facts"), True, "facts"),
    ],
)
def test_a_file_that_cannot_be_is_refused(
    logs: Path, tmp_path: Path, change: Any, sealed: bool, says: str
) -> None:
    base = gridc.baseline(logs / "base", tmp_path / "base.gridc").path
    rewritten(base, change, sealed)
    with pytest.raises(FileError, match="GC755") as refused:
        gridc.compare(base, logs / "candidate")
    assert says in str(refused.value)


def test_a_file_that_breaks_off_is_refused(logs: Path, tmp_path: Path) -> None:
    base = gridc.baseline(logs / "base", tmp_path / "base.gridc").path
    base.write_bytes(base.read_bytes()[:-40])
    with pytest.raises(FileError, match="it breaks off"):
        gridc.compare(base, logs / "candidate")


def test_only_a_signature_shows_who_kept_a_run(logs: Path, key: Path, tmp_path: Path) -> None:
    base = gridc.baseline(logs / "base", tmp_path / "base.gridc", key=key).path
    signed = gridc.compare(base, logs / "candidate", signers=[f"{key}.pub"]).comparison.a[0].kept
    assert signed is not None and signed.signer == "ada@x"
    unknown = gridc.compare(base, logs / "candidate").comparison.a[0].kept
    assert unknown is not None and unknown.signer is None and unknown.key is not None
    # A forger can make the digest fit, and no signature.
    rewritten(base, a_better_score, sealed=True)
    with pytest.raises(StampError, match="the signature is not one of this file"):
        gridc.compare(base, logs / "candidate")
    rewritten(base, lambda head, run: head.update(signature=None), sealed=True)
    assert gridc.compare(base, logs / "candidate").comparison.a[0].kept is not None
    with pytest.raises(StampError, match="nobody signed this baseline"):
        gridc.compare(base, logs / "candidate", signers=[f"{key}.pub"])
    with pytest.raises(StampError, match="this is no file of `gridc baseline`"):
        gridc.compare(logs / "base", logs / "candidate", signers=[f"{key}.pub"])


def test_a_baseline_of_this_version_is_read_by_later_ones(
    logs: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Digests of items, questions and prompts stay what they are, or a kept run finds none of them again."""
    golden = GOLDEN / "baseline.gridc"
    if request.config.getoption("--update-golden") and not golden.exists():
        gridc.baseline(logs / "base", golden)
    assert decided(golden, logs / "candidate") == decided(logs / "base", logs / "candidate")


def test_a_store_of_a_former_version_is_no_other_instrument(tmp_path: Path) -> None:
    """0.1 kept fingerprints of its code where later versions number its parts."""
    for name in ("0.1.0-01b4cafb", "0.4.1-45af8d5c"):
        with tarfile.open(GOLDEN / "before" / f"{name}.tar.xz") as archive:
            archive.extractall(tmp_path, filter="data")
    old, new = (tmp_path / name / "results" for name in ("0.1.0-01b4cafb", "0.4.1-45af8d5c"))
    gridc.baseline(old, tmp_path / "old.gridc")
    for first in (old, tmp_path / "old.gridc"):
        comparison = gridc.compare(first, new, margin=99).comparison
        assert comparison.instrument.same and comparison.instrument.prompts == 882
        assert any("fingerprints" in one for one in comparison.instrument.unknown)
        assert {row.score.change for row in comparison.benchmarks if row.score is not None} == {0.0}
