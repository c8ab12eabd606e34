"""What all tests share: how threads wait, the flag that rewrites golden files, how long each file takes."""

import gc
import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

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


def pytest_collection_finish() -> None:
    """What is loaded stays until the end: a model that is put away has all else looked through for cycles."""
    gc.freeze()


_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.partition("::")[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """After a run of the whole suite, keep how many seconds each file took: `tools/touched.py` reads it."""
    whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if whole and not session.config.option.keyword and not hasattr(session.config, "workerinput"):
        session.config.cache.set("gridc/seconds", dict(_seconds))


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
