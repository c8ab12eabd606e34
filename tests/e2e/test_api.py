"""A study of models behind an address: run, killed, resumed, verified, and nowhere a key."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.frontend.read import read_spec
from gridc.compiler.inputs.addresses import origin_of
from gridc.compiler.inputs.prices import prices_of
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.run import RunStep, require_prices
from tests.e2e.conftest import SPEC, command, make_study
from tests.replaced import replaced
from tools.servers.faults import FaultServer
from tools.servers.http import Server

CANARY = "sk-canary-4711-never-write-this"
FAULTS = {"429": 0.05, "500": 0.05, "cut": 0.03, "malformed": 0.03, "redirect": 0.02, "other_model": 0.05}
PRICE = 'price = { input = 1000, output = 2000, as_of = "2026-01-01" }'


def make_api_study(folder: Path, url: str, items: int = 8, price: str = PRICE) -> Path:
    """The small study with its models behind `url`, one of them with a key; likelihoods are left out. The
    person who runs it has consented."""
    os.environ["GRIDC_ALLOW"] = f"{origin_of(url)}:TWO_KEY"
    spec = make_study(folder, items)
    here = f'engine = "api"\nbase_url = "{url}"\n{price}\n'
    text = replaced(
        SPEC.replace("ITEMS", str(items)),
        ('engine = "hf"\nsource = "path:models/qwen2"', f'{here}source = "one-2026-01-01"'),
        (
            'engine = "hf"\nsource = "path:models/llama"',
            f'{here}source = "two-2026-01-01"\nkey_env = "TWO_KEY"',
        ),
        ("kv_mib = 8", "attempts = 12\ntimeout_s = 20"),
    )
    text = re.sub(r'\[\[axis\.level\]\]\nid = "logprob".*?\n\n', "", text, flags=re.DOTALL)
    spec.write_text(re.sub(r"\[\[exclude\]\].*?\n\n", "", text, flags=re.DOTALL))
    return spec


def tables(folder: Path, query: str) -> list[Any]:
    with sqlite3.connect(folder / "results" / "small" / "store.sqlite") as db:
        return db.execute(query).fetchall()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWO_KEY", CANARY)


@pytest.fixture(scope="module")
def faults() -> Iterator[tuple[FaultServer, str]]:
    handler = FaultServer(FAULTS, delay=0.02, retry_after="0.1", seed=5)
    with Server(handler) as server:
        yield handler, server.url


@pytest.mark.slow
@pytest.mark.usefixtures("key")
def test_a_run_is_killed_and_resumed_and_nothing_that_was_answered_is_asked_again(
    tmp_path: Path, faults: tuple[FaultServer, str]
) -> None:
    handler, url = faults
    make_api_study(tmp_path, url)
    assert command("stamp", cwd=tmp_path).returncode == 0
    lock = json.loads((tmp_path / "gridcard.lock").read_text())
    assert lock["prices"]["qwen2"]["input"] == 1000.0
    output = ""
    for _ in range(2):
        run = subprocess.Popen([sys.executable, "-m", "gridc", "run"], cwd=tmp_path, stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=os.environ, text=True)  # fmt: skip
        answered, begun = sum(handler.answered.values()), time.monotonic()
        while sum(handler.answered.values()) < answered + 25 and time.monotonic() < begun + 60:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        output += "".join(run.communicate())
    done = command("run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    output += done.stdout + done.stderr
    assert tables(tmp_path, "SELECT count(*) FROM attempt WHERE status = 'lost'")[0][0] > 0
    assert not tables(tmp_path, "SELECT * FROM attempt WHERE status = 'sent'")
    twice = tables(
        tmp_path,
        """SELECT call FROM attempt WHERE status = 'answered' AND purpose = 'call'
           GROUP BY call HAVING count(*) > 1""",
    )
    assert not twice, "an answered call was asked again"
    ((calls,),) = tables(tmp_path, "SELECT count(*) FROM call")
    assert len(tables(tmp_path, "SELECT 1 FROM call WHERE answer IS NOT NULL")) == calls
    for name in ("report", "verify", "deviations"):
        done = command(name, cwd=tmp_path)
        assert done.returncode == 0, (name, done.stderr)
        output += done.stdout + done.stderr
    observed = json.loads(command("deviations", "--json", cwd=tmp_path).stdout)["observed"]
    assert any("were answered as `somebody-else`" in each for each in observed)
    assert any("may have been paid" in each for each in observed)
    assert command("export", "bundle", cwd=tmp_path).returncode == 0
    assert CANARY not in output
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes(), path
    assert any(CANARY in key for key in handler.keys), "the key was sent"


@pytest.mark.usefixtures("key")
def test_progress_counts_calls_and_cost_as_the_store_does(
    tmp_path: Path, faults: tuple[FaultServer, str]
) -> None:
    """Of both models, then of one of them without a price, where the cost is the least that it can be."""
    for folder, priced in ((tmp_path / "both", True), (tmp_path / "one", False)):
        spec = make_api_study(folder, faults[1], items=4)
        spec.write_text(re.sub(r"noise_sample = \d+", "noise_sample = 0", spec.read_text()))
        if not priced:
            spec.write_text(spec.read_text().replace(f"{PRICE}\n", "", 1))
        steps: list[RunStep] = []
        done = gridc.open(spec).run(progress=steps.append)
        last = [step for step in steps if step.calls][-1]
        ((usd,),) = tables(folder, "SELECT sum(usd) FROM attempt WHERE paid <> 'no'")
        assert last.calls == done.finished.executed
        assert last.cost is not None and last.cost.whole is priced
        assert last.cost.usd == pytest.approx(usd)
        counts = [step.calls for step in steps]
        assert counts == sorted(counts)


@pytest.mark.usefixtures("key")
def test_money_stops_a_run_before_it_is_spent_and_counts_over_runs(
    tmp_path: Path, faults: tuple[FaultServer, str]
) -> None:
    spec = make_api_study(tmp_path, faults[1], items=4)
    spec.write_text(f"{spec.read_text()}\n[budget]\nusd = 5\n")
    for _ in range(2):
        done = command("run", cwd=tmp_path)
        assert done.returncode == 8, done.stderr
        assert "error[GC611]: [budget] usd = 5 was reached" in done.stderr
        ((usd,),) = tables(tmp_path, "SELECT sum(usd) FROM attempt WHERE paid <> 'no'")
        assert 1 < usd <= 5


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    ("price", "code"),
    [("", "GC637"), ('price = { input = 0, output = 0, as_of = "2026-01-01" }', None)],
)
def test_a_budget_in_money_needs_prices(
    tmp_path: Path, faults: tuple[FaultServer, str], price: str, code: str | None
) -> None:
    spec = make_api_study(tmp_path, faults[1], items=4, price=price)
    spec.write_text(f"{spec.read_text()}\n[budget]\nusd = 5\n")
    done = command("run", cwd=tmp_path)
    assert done.returncode == (6 if code else 0), done.stderr
    assert (f"error[{code}]" in done.stderr) is (code is not None)
    if code is None:
        again = command("verify", "--rerun", "5%", cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        assert "llama was asked through a server: no call of it was made again" in again.stdout
        assert "drawn" not in again.stdout, "nothing was"


def test_a_judge_needs_a_price_only_where_it_is_asked() -> None:
    spec = read_spec(Path(__file__).parents[2] / "specs/scaffold_local.toml").spec
    assert spec.judge is not None
    assert spec.budget.usd is not None
    require_prices(spec, prices_of(spec, {}))
    judged = spec.model_copy(update={"harness": spec.harness.model_copy(update={"method": "judge"})})
    with pytest.raises(UnavailableError, match="no price is known of judge"):
        require_prices(judged, prices_of(judged, {}))


def test_a_key_that_is_missing_is_told_before_anything_is_asked(
    tmp_path: Path, faults: tuple[FaultServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TWO_KEY", raising=False)
    make_api_study(tmp_path, faults[1], items=4)
    done = command("run", cwd=tmp_path)
    assert done.returncode == 6
    assert "error[GC631]: `llama` needs a key, and TWO_KEY is not set" in done.stderr
    assert not (tmp_path / "gridcard.lock").exists()
    assert not (tmp_path / "results").exists()
    tried = command("validate", "--check", cwd=tmp_path)
    assert tried.returncode == 0, "whoever reviews a study has no keys of its author"
    assert "missing for a run: TWO_KEY, the key of `llama`, is not set (GC631)" in tried.stdout


@pytest.mark.usefixtures("key")
def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    make_api_study(tmp_path, "http://127.0.0.1:9/v1", items=4)
    done = command("run", cwd=tmp_path)
    assert done.returncode == 6
    assert "error[GC633]" in done.stderr
    assert "Traceback" not in done.stderr
