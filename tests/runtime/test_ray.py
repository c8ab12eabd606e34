"""Replicas on a Ray cluster: one results digest for any number of workers, killed or not.

The engine is a plug-in that answers from the call's digest and notes which process answered, so that a test
can see who did what and kill it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.plugin import write_plugin
from gridc import __version__
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.lock.deviations import log_path, require_reconciled
from gridc.compiler.lock.lock import Lock, make_lock
from gridc.diagnostics.errors import BudgetError, GridcError, UnavailableError
from gridc.runtime.engines import open_engine
from gridc.runtime.engines.protocol import Batch, PendingBatch
from gridc.runtime.engines.ray import Cluster, _Listener, _stretches, _Worker, cluster
from gridc.runtime.run import RunResult, RunStep, run_study
from gridc.runtime.stages import Open
from gridc.runtime.store.events import ModelLoaded, Observed, Worked
from gridc.runtime.store.store import Store
from tests.durability.life import SPEC, write_study
from tests.e2e.conftest import make_study

if find_spec("ray") is None:  # not imported here: gridc sets it up before it is
    pytest.skip("ray is not installed", allow_module_level=True)

ENGINE = """
import time

class Engine(ByDigest):
    size = 2
    def __init__(self, name, *rest):
        super().__init__(name, *rest)
        self.replicable = "paid" not in name
    def effective(self):
        return super().effective() | {"threads": os.getpid() if "odd" in self.name else 1}
    def begin(self, batch):
        path = os.environ["GRIDC_TEST_NOTES"]
        with open(path, "a") as notes:
            notes.write(f"{os.getpid()} {batch.calls[0]}\\n")
        while os.path.exists(path + ".held") and len(open(path).readlines()) > 2:
            time.sleep(0.01)
        time.sleep(0.05)
        if "deadly" in self.name and batch.calls[0].startswith("0"):
            os.kill(os.getpid(), 9)
"""


ENDED = r"error\[GC651\]: Ray or a signal ended the process of this run"


@dataclass(frozen=True)
class Home:
    """A folder with the study, the notes of its engine, and a cluster of two workers."""

    folder: Path
    notes: Path
    cluster: Cluster

    def compiled(self, name: str = "one", budget: str = "") -> tuple[Compiled, Lock]:
        """The study on one model, whose name decides how the engine behaves."""
        head, _, tail = SPEC.partition("[[model]]")
        rest = tail.partition("[[benchmark]]")[2]
        model = f'\nid = "{name}"\nengine = "plugin:steady"\nsource = "steady://{name}"\n\n'
        spec = self.folder / "gridcard.toml"
        rest = rest.replace("[engine]\n", "[engine]\nthreads = 1\n")
        spec.write_text(f"{head}[[model]]{model}[[benchmark]]{rest}\n{budget}")
        compiled = compile_spec(spec, None)
        return compiled, make_lock(compiled.study, spec)

    def run(
        self,
        store: Path,
        opened: Open = open_engine,
        name: str = "one",
        budget: str = "",
        watch: Callable[[RunStep], None] = lambda step: None,
    ) -> RunResult:
        compiled, lock = self.compiled(name, budget)
        self.notes.write_text("")
        departures = require_reconciled(lock, compiled.study, log_path(self.folder / "gridcard.toml"))
        return run_study(compiled, lock, departures, store, watch, open_engine=opened)

    def noted(self) -> list[tuple[int, str]]:
        """Which process began which batch, in order."""
        rows = (line.split() for line in self.notes.read_text().splitlines())
        return [(int(process), call) for process, call in rows]

    @property
    def held(self) -> Path:
        """While this file is there, the third batch and those after it are begun and not answered."""
        return self.notes.with_name(self.notes.name + ".held")

    def kill_one(self) -> tuple[int, str]:
        """Kill the process that began a batch last, while it is held there; who it was, and the batch."""
        late = time.monotonic() + 10
        while len(self.noted()) < 3:
            assert time.monotonic() < late, "no third batch was begun"
            time.sleep(0.01)
        process, call = self.noted()[-1]
        os.kill(process, signal.SIGKILL)
        self.held.unlink()
        return process, call


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("ray")
    package = folder / "package"
    write_plugin(package, "steady", ENGINE)
    write_study(folder / "study", items=12)
    notes = folder / "notes"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(package))
        path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
        patch.setenv("PYTHONPATH", path)
        patch.setenv("GRIDC_TEST_NOTES", str(notes))
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            patch.delenv(name, raising=False)
        with cluster(None, 2, threads=2, acknowledged=False) as joined:
            yield Home(folder / "study", notes, joined)


@pytest.fixture(scope="module")
def alone(home: Home, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return home.run(tmp_path_factory.mktemp("alone") / "store.sqlite")


def events(path: Path, kind: type[Any]) -> list[Any]:
    with Store.open(path) as store:
        return store.bodies_of(kind)


def test_two_workers_and_a_kill_come_to_the_digest_of_one_process(
    home: Home, alone: RunResult, tmp_path: Path
) -> None:
    killed: list[tuple[int, str]] = []

    def kill(step: RunStep) -> None:
        if step.done and not killed:
            killed.append(home.kill_one())

    path = tmp_path / "store.sqlite"
    home.held.touch()
    try:
        done = home.run(path, home.cluster.open, watch=kill)
    finally:
        home.held.unlink(missing_ok=True)
    assert (done.results, done.executed) == (alone.results, alone.executed)
    with Store.open(path) as store:
        batches = store._db.execute("SELECT count(*), sum(calls) FROM batch").fetchone()
    begun = home.noted()
    processes = {process for process, _ in begun}
    assert len(processes) == 3, "two workers, and the one that took the place of the killed one"
    assert os.getpid() not in processes
    assert batches == (alone.executed / 2, alone.executed), "each answer is stored once"
    assert len(begun) > batches[0], "what the killed worker had begun was begun again"
    ((lost, unanswered),) = killed
    assert {process for process, call in begun if call == unanswered} > {lost}
    (load,) = events(path, ModelLoaded)
    assert load.ran["workers"] == 2
    assert [work.least for work in events(path, Worked)] == [{"calls": done.executed}]


def test_workers_in_other_environments_are_refused_unless_acknowledged(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with pytest.raises(UnavailableError, match=r"GC652 `odd` is answered in .*: threads \d+ and \d+"):
        home.run(path, home.cluster.open, "odd")
    assert home.noted() == []
    home.cluster.acknowledged = True
    try:
        home.run(path, home.cluster.open, "odd")
    finally:
        home.cluster.acknowledged = False
    (observed,) = events(path, Observed)
    assert observed.what == "environments"
    assert "threads" in observed.detail


def test_a_worker_that_was_started_again_elsewhere_answers_nothing() -> None:
    """It compares itself with those that began, once, and only where they are to be alike."""

    class Loaded:
        asked = 0

        def effective(self) -> dict[str, Any]:
            self.asked += 1
            return {"instructions": "AVX2", "versions": {"numpy": "2"}}

    engine: Any = Loaded()
    worker = _Worker("ledger")
    began = {"model": "m", "gridc": __version__, "instructions": "AVX2", "versions": {"numpy": "2"}}
    worker._compare("other", engine, None)
    assert engine.asked == 0
    for unlike in ({"instructions": "AVX512"}, {"versions": {"numpy": "1"}}):
        with pytest.raises(UnavailableError, match="GC652"):
            worker._compare("key", engine, began | unlike)
    worker._compare("key", engine, began)
    asked = engine.asked
    worker._compare("key", engine, began)
    assert engine.asked == asked


def test_what_may_be_paid_for_is_asked_by_this_process_alone(home: Home, tmp_path: Path) -> None:
    home.run(tmp_path / "store.sqlite", home.cluster.open, "paid")
    assert {process for process, _ in home.noted()} == {os.getpid()}


def test_a_budget_is_not_passed_however_many_workers_there_are(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with pytest.raises(BudgetError, match="calls = 21 was reached after 20 of"):
        home.run(path, home.cluster.open, budget="[budget]\ncalls = 21\n")
    assert len(home.noted()) == 10


def test_more_workers_than_the_cluster_has_room_for_are_refused(home: Home) -> None:
    crowded = Cluster(10_000, 2.0, 0.0, acknowledged=False)
    compiled, _ = home.compiled()
    with pytest.raises(UnavailableError, match="GC650 10000 workers need 10000 cpus, and the cluster has 2"):
        crowded.open("one", compiled.study.models["one"], "fp32", compiled.spec)


def test_neighbours_stay_together(home: Home) -> None:
    tasks = [PendingBatch(Batch((str(n),), 1, None), frozenset(str(n))) for n in range(11)]
    stretches = _stretches(tasks, 3)
    assert [task for stretch in stretches for task in stretch] == tasks
    assert [len(stretch) for stretch in stretches] == [3, 4, 4]


def test_a_cluster_that_is_not_there_is_a_finding(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    addresses = {"127.0.0.1:1": "refused", "nowhere": "not the address", "ray://a:1": "not the address"}
    for address, said in addresses.items():
        with pytest.raises(UnavailableError, match=f"GC650 .*{said}"), cluster(address, 1, 1, False):
            pass
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(UnavailableError, match="GC650 RAY_AUTH_MODE turns the tokens of Ray off"):
        cluster(None, 1, 1, False).__enter__()


def test_what_ray_cannot_do_without_ends_a_wait(home: Home) -> None:
    import ray

    waiting = ray.remote(num_cpus=0)(lambda: time.sleep(60)).remote()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    gone = [_Listener("the raylet", address, 0.0)]
    assert len(home.cluster.listeners) == 2
    try:
        for listener in home.cluster.listeners:
            listener.require()
        with pytest.raises(UnavailableError, match="GC651 the raylet ended"):
            Cluster(1, 1.0, 0.0, acknowledged=False, listeners=gone).wait([waiting])
    finally:
        ray.cancel(waiting, force=True)


def test_what_is_back_in_time_ends_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
    again = threading.Timer(0.5, lambda: servers.append(socket.create_server(address)))
    servers: list[socket.socket] = []
    again.start()
    _Listener("the control service", address, 20.0).require()
    again.join()
    servers.pop().close()


@pytest.mark.parametrize(("end", "told"), [("os._exit(1)", 1), ("pass", 0)])
def test_a_process_that_is_not_unwound_has_its_last_words(end: str, told: int) -> None:
    program = f"import os; from gridc.runtime.engines import ray\nwith ray._last_words(): {end}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, len(re.findall(ENDED, done.stderr))) == (told, told), done.stderr


def test_the_count_of_deaths_may_die(home: Home, alone: RunResult, tmp_path: Path) -> None:
    import ray

    killed: list[int] = []

    def kill(step: RunStep) -> None:
        if step.done and not killed:
            counting = home.cluster._ledger.__ray_call__.remote(lambda ledger: os.getpid())
            killed.append(ray.get(counting))
            os.kill(killed[0], signal.SIGKILL)

    done = home.run(tmp_path / "store.sqlite", home.cluster.open, watch=kill)
    assert killed
    assert (done.results, done.executed) == (alone.results, alone.executed)


def test_ray_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(GridcError, match="GC604 ray is not installed"), cluster(None, 1, 1, False):
        pass


def test_a_batch_that_kills_three_workers_is_given_up(home: Home, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"GC651 3 workers died on the batch of call 0"):
        home.run(tmp_path / "store.sqlite", home.cluster.open, "deadly")
    begun = Counter(call for _, call in home.noted())
    assert max(begun.values()) == 3
    assert all(call.startswith("0") for call, times in begun.items() if times == 3)


def command(home: Home, out: Path, *arguments: str) -> list[str]:
    home.compiled()
    return [sys.executable, "-m", "gridc", "run", "--out", str(out), *arguments]


@pytest.mark.slow
def test_a_cluster_is_joined_with_its_token_alone(home: Home, tmp_path: Path) -> None:
    import ray

    address = ray.get_runtime_context().gcs_address
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64
    join = command(home, tmp_path, "--engine", "ray", "--address", address, "--workers", "1")
    options: dict[str, Any] = {"cwd": home.folder, "capture_output": True, "text": True, "check": False}
    wrong = subprocess.run(join, env={**os.environ, "RAY_AUTH_TOKEN": "0" * 64}, **options)
    assert (wrong.returncode, "error[GC650]" in wrong.stderr) == (6, True), wrong.stderr
    assert "RAY_AUTH_TOKEN its token?" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    right = subprocess.run([*join, "--json"], **options)
    assert right.returncode == 0, right.stderr
    assert json.loads(right.stdout)["executed"]


@pytest.mark.slow
def test_ctrl_c_leaves_a_store_that_resumes(home: Home, alone: RunResult, tmp_path: Path) -> None:
    running = subprocess.Popen(
        command(home, tmp_path, "--engine", "ray", "--workers", "2"),
        cwd=home.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stderr is not None
    while not re.search(r"\b[1-7]\d %", running.stderr.readline()):
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, told = running.communicate()
    assert running.returncode == 6
    assert "run the same command to resume" in told
    assert "Traceback" not in told
    require_resumed(home, alone, tmp_path)


def require_resumed(home: Home, alone: RunResult, out: Path) -> None:
    """In one process, a run that was stopped comes to the results of one that was not."""
    resume = command(home, out, "--json")
    done = json.loads(subprocess.run(resume, cwd=home.folder, capture_output=True, check=True).stdout)
    assert done["results"] == alone.results
    assert 0 < done["reused"] < alone.executed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("killed", "by", "code", "said"),
    [
        (
            "raylet/raylet",
            signal.SIGKILL,
            6,
            r"error\[GC651\]: Ray's process on this machine \(raylet\) ended",
        ),
        ("gcs/gcs_server", signal.SIGKILL, 6, r"error\[GC651\]: the control service .* \(gcs_server\) ended"),
        ("raylet/raylet", signal.SIGTERM, 1, ENDED),
        ("", signal.SIGKILL, -signal.SIGKILL, ENDED),
    ],
    ids=["raylet", "control service", "raylet that takes its leave", "the run itself"],
)
def test_a_process_that_ray_cannot_do_without_is_killed(
    killed: str, by: int, code: int, said: str, home: Home, alone: RunResult, tmp_path: Path
) -> None:
    run_it = command(home, tmp_path, "--engine", "ray", "--workers", "2")
    home.notes.write_text("")
    home.held.touch()
    try:
        running = subprocess.Popen(
            run_it, cwd=home.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        while len(home.noted()) < 4:
            assert running.poll() is None
            time.sleep(0.05)
        _kill(running.pid, killed, by)
        _, told = running.communicate(timeout=60)
    finally:
        home.held.unlink()
    assert (running.returncode, bool(re.search(said, told))) == (code, True), told
    assert "Traceback" not in told
    assert told.count("error[GC651]") == 1
    assert "constructor arguments" not in told, "Ray warns at every start"
    require_resumed(home, alone, tmp_path)


def _kill(process: int, program: str, by: int) -> None:
    """Kill the child of a process that runs the program, or without one the process."""
    if program:
        found = ["pgrep", "--parent", str(process), "--full", rf"^\S*{program} "]
        process = int(subprocess.run(found, capture_output=True, check=True).stdout)
    os.kill(process, by)


@pytest.mark.slow
def test_four_workers_and_eight_kills_of_a_real_model(tmp_path: Path) -> None:
    """One digest, in a process of its own: the cluster of the other tests has the tokens of theirs."""
    spec = make_study(tmp_path / "study", items=8)
    text = spec.read_text().replace("max_tokens = 24", "max_tokens = 10")
    spec.write_text(text.replace("threads = 2", "threads = 1\nbatch_prompts = 1"))
    program = [sys.executable, str(Path(__file__).with_name("ray_kills.py")), str(spec)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kills"] == 8
    assert len({row["results"] for row in found["runs"]}) == 1
    assert len({row["executed"] for row in found["runs"]}) == 1
