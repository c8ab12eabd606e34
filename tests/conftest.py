"""What all tests share: how threads wait, the flag that rewrites golden files, how long tests take."""

import gc
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from itertools import compress
from pathlib import Path

import pytest
from hypothesis import settings

from tools import slow

# A machine with other work to do is slow, and no property here is about time.
# Elsewhere each run draws examples of its own; where a build is judged, the same ones every time.
settings.register_profile("gridc", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("gridc")

# Threads that spin while they wait are many times slower beside other work. Set before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# What a person's cache holds decides no test, and none keeps proofs of code that it changed in memory.
os.environ["GRIDC_CACHE"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files; then read the diff")
    parser.addoption("--slow-part", metavar="K/N", help="the K-th of N parts of `-m slow` (tools/slow.py)")
    parser.addoption("--within", metavar="S", type=float, help="skip what is not done in S seconds, by name")
    parser.addoption("--update-seconds", action="store_true", help="keep what each test took")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Mark what takes too long for every day; of what `-m slow` has chosen, keep one part."""
    unmarked = [item for item in items if item.get_closest_marker("slow") is None]
    long = slow.too_long([item.nodeid for item in unmarked], slow.known())
    for item in compress(unmarked, long):
        item.add_marker("slow")
    yield
    if (asked := config.getoption("--slow-part")) is None:
        return
    number, count = map(int, asked.split("/"))
    places = slow.parts([item.nodeid for item in items], slow.known(), count)
    kept = [item for item, place in zip(items, places, strict=True) if place == number]
    left = [item for item, place in zip(items, places, strict=True) if place != number]
    config.hook.pytest_deselected(items=left)
    # Each turn of all the parts begins elsewhere: time is not always short for the same tests.
    at = int(time.time() / 86400 / count) * 3 % 8 * len(kept) // 8
    items[:] = kept[at:] + kept[:at]


def pytest_collection_finish() -> None:
    """What is loaded stays until the end: a model that is put away has all else looked through for cycles."""
    gc.freeze()


_BEGUN = time.monotonic()
_KNOWN = slow.known()


@contextmanager
def _within(item: pytest.Item) -> Generator[None]:
    """End a test as skipped when the time is up."""
    if (seconds := item.config.getoption("--within")) is None:
        yield
        return

    def ended(*_: object) -> None:
        # What it leaves open is no failure of the run.
        sys.unraisablehook = lambda _: None
        threading.excepthook = lambda _: None
        # No Exception: a test or the code that it tries cannot take it for a failure of its own.
        pytest.skip(f"ended when the time was up: {slow.function(item.nodeid)}")

    before = signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, max(_BEGUN + seconds - time.monotonic(), 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    seconds, name = item.config.getoption("--within"), slow.function(item.nodeid)
    if seconds is not None and time.monotonic() + _KNOWN.get(name, 0) > _BEGUN + seconds:
        pytest.skip(f"not begun, for want of time: {name}")
    with _within(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with _within(item):
        return (yield)


_seconds: defaultdict[str, float] = defaultdict(float)
_passed: dict[str, bool] = {}
"""The cases that passed, and whether they are slow."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration
    if report.when == "call" and report.passed:
        _passed[report.nodeid] = "slow" in report.keywords


def pytest_sessionfinish(session: pytest.Session) -> None:
    """After a run of the whole suite, keep how many seconds each file took: `tools/touched.py` reads it."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    if config.getoption("--update-seconds"):
        slow.keep({test: _seconds[test] for test in _passed}, [*compress(_passed, _passed.values())])
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and config.option.markexpr == "not slow"
    if whole and not config.option.keyword and config.pluginmanager.hasplugin("cacheprovider"):
        files: defaultdict[str, float] = defaultdict(float)
        for test, took in _seconds.items():
            files[test.partition("::")[0]] += took
        config.cache.set("gridc/seconds", dict(files))


class Golden:
    """Compares text with a file, or rewrites the file."""

    def __init__(self, update: bool) -> None:
        self.update = update

    def check(self, path: Path, text: str) -> None:
        if self.update:
            path.write_text(text, "utf-8")
        assert path.is_file(), f"{path} is missing: pytest --update-golden writes it"
        assert text == path.read_text("utf-8"), "pytest --update-golden rewrites it"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def no_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test starts with consents of the person or of the test before it."""
    monkeypatch.delenv("GRIDC_ALLOW", raising=False)
