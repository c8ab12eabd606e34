"""`gridc status` against plain SQL, and what a run says before its first answer."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import gridc
from gridc.cli.status import duration, pace
from gridc.cli.terminal import plainly
from gridc.runtime.run import RunStep
from tests.e2e.conftest import command

FORGET = """UPDATE call SET answer = NULL, answer_digest = NULL, sent = NULL, usage = NULL, seconds = NULL,
    finished = NULL"""


@pytest.fixture
def partly(study: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """A study of which some calls have no answer, and some have failed for good."""
    store = study / "results" / "small" / "store.sqlite"
    with closing(sqlite3.connect(store)) as plain:
        calls = [row[0] for row in plain.execute("SELECT id FROM call ORDER BY id LIMIT 12")]
        plain.executemany(f"{FORGET} WHERE id = ?", [[call] for call in calls[:5]])
        for number, call in enumerate(calls[5:]):
            answer = json.dumps({"error": {"kind": "timeout" if number < 4 else "refused"}})
            plain.execute("UPDATE call SET answer = ? WHERE id = ?", [answer, call])
        plain.commit()
        yield study, plain


def test_each_model_is_named_with_what_is_left(partly: tuple[Path, sqlite3.Connection]) -> None:
    study, plain = partly
    state = gridc.open(study).status()
    said = json.loads(command("status", "--json", cwd=study).stdout)
    assert said["answered"] == 315
    assert {row["model"] for row in (*said["models"], *said["spent"])} == {"qwen2", "llama"}
    for row in said["models"]:
        counted = plain.execute(
            """SELECT count(*), count(answer), avg(seconds),
                      sum(json_extract(answer, '$.error.kind') = 'timeout'),
                      sum(json_extract(answer, '$.error.kind') = 'refused') FROM call WHERE model = ?""",
            [row["identity"]],
        ).fetchone()
        assert (row["calls"], row["answered"], row["left"]) == (*counted[:2], counted[0] - counted[1])
        assert row["seconds"] == pytest.approx(counted[2])
        assert row["seconds_left"] == pytest.approx(row["left"] * counted[2])
        failed = {"timeout": counted[3], "refused": counted[4]}
        assert row["failed"] == {kind: count for kind, count in failed.items() if count}
    assert said["seconds_left"] == pytest.approx(sum(row["seconds_left"] for row in said["models"]))
    lines = " ".join(pace(state))
    assert "qwen2 at fp32" in lines
    assert "failed for good" in lines
    assert " 5 left" in lines or ("left in about" in lines)
    assert "`gridc run` resumes" in lines


def test_a_run_says_what_it_does_before_the_first_answer(partly: tuple[Path, sqlite3.Connection]) -> None:
    study, plain = partly
    plain.execute(f"{FORGET} WHERE json_extract(answer, '$.error') IS NOT NULL")  # local calls never fail so
    plain.commit()
    waiting = plain.execute("SELECT count(DISTINCT model) FROM call WHERE answer IS NULL").fetchone()[0]
    steps: list[RunStep] = []
    gridc.open(study).run(progress=steps.append)
    before = steps[: next(at for at, step in enumerate(steps) if step.done)]
    doing = [step.doing for step in before if step.doing]
    assert doing[:2] == ["reading the items", "trying the instrument"]
    assert sum("loading" in each for each in doing) >= waiting
    assert {step.model for step in before} >= {""}
    assert str(steps[-1]).endswith(f"{steps[-1].total:,} of at most {steps[-1].total:,} tokens")


def test_numbers_have_no_power_of_ten() -> None:
    said = [plainly(value, 3) for value in (0, 0.0000984, 0.906, 1.8, 1764.2, 12_345_678)]
    assert said == ["0", "0.0000984", "0.906", "1.80", "1,764", "12,345,678"]


def test_times_are_short_words() -> None:
    said = [duration(seconds) for seconds in (0.2, 89, 91, 60 * 89, 60 * 90, 3600 * 35, 3600 * 52)]
    assert said == ["0 s", "89 s", "2 min", "89 min", "1 h 30 min", "35 h 0 min", "2 days 4 h"]
