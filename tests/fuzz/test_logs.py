"""Whatever another package's log holds: a verdict or a coded error, and no score but the one that it has.
`python -m tests.fuzz --target logs` goes on."""

import random
from collections import Counter
from pathlib import Path

import pytest

from gridc.adapters.logs import plain
from tests.fuzz.logs import PLAIN, Logs


def came(folder: Path, first: int, cases: int) -> Counter[str]:
    logs = Logs(folder)
    return Counter(logs.attempt(random.Random(seed)) for seed in range(first, first + cases))


def test_sound_logs_are_read_as_they_are_read_plainly(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    for name, files in logs.seeds.items():
        assert logs.tried(name, files, files, "sound").startswith(f"{name} exit 0 / exit 1")
    assert all(reading(logs.seeds[name]) for name, reading in PLAIN.items())


def test_no_changed_log_ends_otherwise(tmp_path: Path) -> None:
    found = came(tmp_path, 1, 300)
    codes = {code for name in found for code in name.split()}
    assert codes >= {"GC671", "GC672", "GC674", "GC675", "exit"}
    assert {name.split()[0].partition(".")[0] for name in found} >= {
        "helm", "lighteval", "opencompass", "evalplus", "openai_evals", "lm_eval", "inspect", "promptfoo",
        "every_eval", "resolved", "table", "alpaca_eval", "mmlu_pro", "tau_bench", "bbq", "arena_hard",
        "livecodebench",
    }  # fmt: skip


@pytest.mark.parametrize("seed", [1159, 3479, 3684, 5063])
def test_changes_that_ended_otherwise_once(seed: int, tmp_path: Path) -> None:
    """A stop reason that nobody sees, a category that is a list, a row without an id, a text as an epoch."""
    came(tmp_path, seed, 1)


def test_a_reader_that_misreads_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = plain._score

    def misread(*arguments: object) -> float | None:
        score = read(*arguments)  # type: ignore[arg-type]
        return None if score is None else 1 - score

    monkeypatch.setattr(plain, "_score", misread)
    with pytest.raises(AssertionError, match="is printed"):
        came(tmp_path, 1, 300)


def test_a_reader_that_breaks_off_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridc.compiler.inputs.logs.UNFORESEEN", ())
    with pytest.raises((AttributeError, KeyError, TypeError)):
        came(tmp_path, 1, 300)


@pytest.mark.slow
def test_no_changed_log_of_many_ends_otherwise(tmp_path: Path) -> None:
    came(tmp_path, 1000, 20_000)
