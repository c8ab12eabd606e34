"""A study whose models are asked in batches: the results of single calls, whenever it is killed."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gridc.diagnostics.errors import IncompleteError
from gridc.runtime.store.write import Writer
from gridc.study import OpenStudy
from tests.e2e.conftest import command
from tests.e2e.judged import serving
from tests.e2e.test_api import CANARY, make_api_study, tables
from tests.e2e.test_scaffolds import write
from tests.replaced import replaced
from tools.servers.batches import BatchServer
from tools.servers.faults import FaultServer
from tools.servers.http import Server

PRICE = (
    "price = { input = 1000, output = 2000, batch_input = 500, batch_output = 1000, "
    'as_of = "2026-01-01" }\nbatch = true'
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWO_KEY", CANARY)


@pytest.fixture
def server() -> Iterator[tuple[BatchServer, str]]:
    handler = BatchServer(FaultServer(delay=0), delay=0.3)
    with Server(handler) as server:
        yield handler, server.url


def digest(folder: Path) -> str:
    return OpenStudy(folder / "gridcard.toml").run().results


def test_batches_give_the_results_of_single_calls_and_wait_to_be_taken_later(
    tmp_path: Path, server: tuple[BatchServer, str]
) -> None:
    handler, url = server
    spec = make_api_study(tmp_path, url, 4, PRICE)
    batched = spec.read_text()
    spec.write_text(batched.replace("\nbatch = true", ""))
    alone = digest(tmp_path)
    lock = (tmp_path / "gridcard.lock").read_text()
    assert json.loads(lock)["prices"]["qwen2"]["batch"] == {"input": 500, "output": 1000, "cached": 500}
    assert handler.seen["POST chat"]
    assert not handler.batches
    (tmp_path / "results" / "small" / "store.sqlite").unlink()

    spec.write_text(batched.replace("attempts = 12", "attempts = 12\nbatch_wait_s = 0"))
    handler.delay = 4.0
    with pytest.raises(IncompleteError, match=r"GC639.*wait at the provider, in batch_0") as stopped:
        OpenStudy(spec).run()
    assert stopped.value.exit_code == 6
    assert len(handler.batches) == 2, "each model's calls are submitted before the first is waited for"
    status = OpenStudy(spec).status()
    assert [each.waiting for each in status.pace] == [each.left for each in status.pace]
    for state, waits in (("prepared", 0), ("submitted", sum(each.left for each in status.pace))):
        with sqlite3.connect(OpenStudy(spec).store) as db:
            db.execute("UPDATE submission SET state = ?", [state])
        assert sum(each.waiting for each in OpenStudy(spec).status().pace) == waits, "as a kill leaves it"
    assert not any("may have been paid" in each for each in OpenStudy(spec).deviations().observed or ())
    spec.write_text(batched)
    handler.delay = 0.1
    assert digest(tmp_path) == alone
    repeated = tables(tmp_path, "SELECT count(*) FROM attempt WHERE purpose = 'repeat'")[0][0]
    assert sum(handler.accepted.values()) == sum(each.total for each in [status.progress]) + repeated
    assert not tables(tmp_path, "SELECT 1 FROM submission WHERE state <> 'ended'")
    assert not tables(tmp_path, "SELECT 1 FROM attempt WHERE submission IS NULL AND purpose <> 'probe'")
    OpenStudy(spec).verify()
    assert (tmp_path / "gridcard.lock").read_text() == lock, "how calls are sent is not stamped"
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes(), path


class Patient(BatchServer):
    """Carries out its batch `first` when another batch is there, or when none has come in so many seconds."""

    first = "batch_0"
    other: Callable[[], bool]
    patience = 15.0
    alone = False

    async def _carry_out(self, batch: dict[str, Any], lines: list[dict[str, Any]], key: str) -> None:
        until = time.monotonic() + self.patience
        while batch["id"] == self.first and not self.other() and time.monotonic() < until:
            await asyncio.sleep(0.02)
        self.alone = self.alone or (batch["id"] == self.first and not self.other())
        await super()._carry_out(batch, lines, key)


def test_the_noise_of_models_is_measured_side_by_side(tmp_path: Path) -> None:
    """A batch may take a day: no model waits for the noise of another."""
    handler = Patient(FaultServer(delay=0), delay=0)
    handler.first, handler.other = "batch_2", lambda: "batch_3" in handler.batches
    with Server(handler) as server:
        digest(make_api_study(tmp_path, server.url, 4, PRICE).parent)
    assert len(handler.batches) == 4
    assert not handler.alone


def test_what_waits_in_a_store_that_is_merged_is_taken_and_not_asked_again(
    tmp_path: Path, server: tuple[BatchServer, str]
) -> None:
    handler, url = server
    handler.delay = 1.0
    spec = make_api_study(tmp_path, url, 4, PRICE)
    waits = spec.read_text()
    spec.write_text(waits.replace("attempts = 12", "attempts = 12\nbatch_wait_s = 0"))
    with pytest.raises(IncompleteError, match="GC639"):
        OpenStudy(spec).run()
    spec.write_text(waits)
    money = "SELECT count(*), sum(usd) FROM attempt WHERE paid <> 'no' AND purpose <> 'probe'"
    paid = tables(tmp_path, money)
    store = tmp_path / "results" / "small" / "store.sqlite"
    other = store.rename(tmp_path / "other.sqlite")
    assert OpenStudy(spec).merge([other]).finished.executed == 0
    assert tables(tmp_path, money) == paid
    waiting = len(handler.batches)
    OpenStudy(spec).run()
    repeated = tables(tmp_path, "SELECT count(*) FROM attempt WHERE purpose = 'repeat'")[0][0]
    assert sum(handler.accepted.values()) == tables(tmp_path, "SELECT count(*) FROM call")[0][0] + repeated
    assert len(handler.batches) > waiting
    OpenStudy(spec).verify()
    took = tables(tmp_path, money)
    store.rename(tmp_path / "took.sqlite")
    OpenStudy(spec).merge([other])
    OpenStudy(spec).merge([tmp_path / "took.sqlite"])
    assert tables(tmp_path, money) == took, "what waited when it was merged first has ended"
    assert not tables(tmp_path, "SELECT 1 FROM submission WHERE state <> 'ended'")


def test_what_cannot_go_in_batches_is_an_error_before_anything_is_stamped(tmp_path: Path) -> None:
    spec = make_api_study(tmp_path, "http://127.0.0.1:9/v1", 4, 'server = "vllm"\nbatch = true')
    done = command("validate", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.count("error[GC353]") == 2
    assert "`vllm` serves none" in done.stderr
    half = 'price = { input = 1, output = 1, batch_input = 1, as_of = "2026-01-01" }'
    spec.write_text(spec.read_text().replace('server = "vllm"\nbatch = true', half))
    done = command("validate", cwd=tmp_path)
    assert done.returncode == 3
    assert "stated together" in done.stderr


def start(folder: Path) -> "subprocess.Popen[str]":
    """A run that is left to itself."""
    command = [sys.executable, "-m", "gridc", "run"]
    pipe = subprocess.PIPE
    interruptible = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # also of a shell's job
    return subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, env=os.environ, text=True, preexec_fn=interruptible
    )


def test_an_interrupted_run_says_that_it_waits(tmp_path: Path, server: tuple[BatchServer, str]) -> None:
    handler, url = server
    handler.delay = 60.0
    make_api_study(tmp_path, url, 4, PRICE)
    run = start(tmp_path)
    begun = time.monotonic()
    while len(handler.batches) < 2 and time.monotonic() < begun + 120:
        time.sleep(0.05)
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=120)
    assert run.returncode == 6, told
    assert "error[GC639]" in told
    assert "come back later" in told
    assert "Traceback" not in told


@pytest.mark.slow
def test_a_result_whose_answer_was_not_stored_is_taken_again(
    tmp_path: Path, server: tuple[BatchServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, url = server
    study = OpenStudy(make_api_study(tmp_path, url, 4, PRICE))
    store = Writer.answer

    def interrupted(self: Writer, *given: Any) -> None:
        if handler.seen["GET files"] > 1:
            raise KeyboardInterrupt
        store(self, *given)

    monkeypatch.setattr(Writer, "answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.run()
    assert tables(tmp_path, "SELECT count(*) FROM attempt WHERE status = 'sent'")[0][0] > 0
    monkeypatch.setattr(Writer, "answer", store)
    study.run()
    repeats = "SELECT count(*) FROM attempt WHERE purpose = 'repeat'"
    calls = tables(tmp_path, "SELECT count(*) FROM call")[0][0]
    assert sum(handler.accepted.values()) == calls + tables(tmp_path, repeats)[0][0]


INSTANTS = ("POST files", "POST batches", "created", "unanswered", "GET batches", "GET files", "answers")


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_instant_pays_nothing_twice(
    tmp_path: Path, server: tuple[BatchServer, str]
) -> None:
    """Killed when the provider sees a request, before or after it answers, and while answers are stored."""
    handler, url = server
    expected = None
    for number, (instant, late) in enumerate((each, late) for each in INSTANTS for late in (0.0, 0.03)):
        folder = tmp_path / str(number)
        folder.mkdir()
        make_api_study(folder, url, 4, PRICE + "\n")
        handler.accepted.clear()
        handler.faults = ["create_slow"] if instant == "unanswered" else []
        seen, made = dict(handler.seen), len(handler.batches)
        run = start(folder)
        store = folder / "results" / "small" / "store.sqlite"

        def reached(instant: str = instant, made: int = made, seen: Any = seen, folder: Path = folder,
                    store: Path = store) -> bool:  # fmt: skip
            if instant in ("created", "unanswered"):
                return len(handler.batches) > made
            if instant == "answers":
                answered = "SELECT 1 FROM call WHERE answer IS NOT NULL"
                return store.is_file() and bool(_peek(folder, answered))
            before: int = seen.get(instant, 0)
            return handler.seen[instant] > before

        while not reached() and run.poll() is None:
            time.sleep(0.002)
        time.sleep(late)
        run.kill()
        run.communicate()
        study, lost = OpenStudy(folder / "gridcard.toml"), False
        try:
            results = study.run().results
        except IncompleteError as error:
            assert "GC638" in str(error), instant
            lost, results = True, study.run(acknowledge=["lost-batches"]).results
        assert expected in (None, results), instant
        expected = results
        calls = tables(folder, "SELECT count(*) FROM call")[0][0]
        repeats = tables(folder, "SELECT count(*) FROM attempt WHERE purpose = 'repeat'")[0][0]
        possibly = tables(folder, "SELECT count(*) FROM attempt WHERE status = 'lost'")[0][0]
        assert (possibly > 0) == lost
        assert not (lost and instant == "unanswered"), "what was accepted is found in the list"
        assert calls <= sum(handler.accepted.values()) <= calls + repeats + possibly, instant


def _peek(folder: Path, query: str) -> list[Any]:
    try:
        return tables(folder, query)
    except Exception:  # the store is being made
        return []


@pytest.mark.slow
def test_scaffolds_go_in_batches_wave_by_wave(tmp_path: Path) -> None:
    """Conversations with a real model, every wave of all items one batch: the results of single calls."""
    pytest.importorskip("torch")
    from tools.servers.model import ModelServer

    handler = BatchServer(ModelServer("pocket-qwen2"), delay=0.0)
    results = {}
    with Server(handler) as server:
        for name, batch in (("single", "false"), ("batched", "true")):
            folder = tmp_path / name
            folder.mkdir()
            path = write(folder)
            behind = (
                f'engine = "api"\nsource = "qwen2-2026-01-01"\nbase_url = "{server.url}"\nbatch = {batch}'
            )
            local = 'engine = "hf"\nsource = "builtin:pocket-qwen2"'
            path.write_text(replaced(path.read_text(), (local, behind)))
            alone = handler.seen["POST chat"]
            results[name] = OpenStudy(path).run().results
            alone = handler.seen["POST chat"] - alone
            with sqlite3.connect(OpenStudy(path).store) as db:
                probes = db.execute("SELECT count(*) FROM attempt WHERE purpose = 'probe'").fetchone()[0]
                calls = db.execute("SELECT count(*) FROM call").fetchone()[0]
                waves = db.execute("SELECT max(step) FROM trace").fetchone()[0] + 1
            if batch == "true":
                assert alone == probes, "only what finds out what the server honours is asked by itself"
        repeated = 4
        assert sum(handler.accepted.values()) == calls + repeated
        assert 1 < len(handler.batches) <= waves + 1
    assert results["batched"] == results["single"]


def test_judges_of_a_wave_are_asked_side_by_side(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        first, second = Patient(made.judge, delay=0), BatchServer(made.second, delay=0)
        first.other = lambda: bool(second.batches)
        with Server(first) as one, Server(second) as two:
            study = made.write("validation = { SECOND, share = 1.0, kappa = 0.5 }", items=2)
            spec = made.folder / "gridcard.toml"
            urls = [f'base_url = "{made.urls[name]}"' for name in ("judge", "second")]
            news = (f'base_url = "{one.url}"\nbatch = true', f'base_url = "{two.url}", batch = true')
            spec.write_text(replaced(spec.read_text(), *zip(urls, news, strict=True)))
            study.run()
    assert len(first.batches) == len(second.batches) == 1
    assert not first.alone


def test_judges_go_in_batches_wave_by_wave(tmp_path: Path) -> None:
    """Half of the first replies are prose, and are asked again: a batch for each wave, and the labels,
    failures and scores of single calls."""
    found, results = {}, {}
    for name in ("single", "batched"):
        with serving(tmp_path / name, {"prose": 0.5}, relents=True) as made:
            handler = BatchServer(made.judge, delay=0.0)
            with Server(handler) as server:
                study = made.write("reasks = 1", items=4)
                spec = made.folder / "gridcard.toml"
                batch = "true" if name == "batched" else "false"
                behind = f'base_url = "{server.url}"\nbatch = {batch}'
                spec.write_text(replaced(spec.read_text(), (f'base_url = "{made.urls["judge"]}"', behind)))
                results[name] = study.run().results
                study.verify()
            found[name] = made.rows(
                "SELECT cell, item, replicate, attempt, label, failure FROM judgement ORDER BY 1, 2, 3, 4"
            )
            asked = made.rows(
                """SELECT attempt.purpose, attempt.submission IS NOT NULL, count(*) FROM attempt
                   WHERE model = (SELECT model FROM call JOIN judgement ON judgement.call = call.id LIMIT 1)
                   GROUP BY 1, 2"""
            )
            calls = made.rows("SELECT count(DISTINCT call) FROM judgement")[0][0]
        assert len(handler.sizes) == (2 if name == "batched" else 0), "one for each wave"
        assert sum(handler.sizes) == (calls if name == "batched" else 0)
        assert ("call", int(name == "batched"), calls) in asked
    assert found["batched"] == found["single"]
    assert {row[-1] for row in found["single"]} == {None, "prose"}
    assert results["batched"] == results["single"]
