"""A viewer over small stores, asked as a browser asks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from gridc.viewer.pages import Viewer
from gridc.viewer.server import app
from gridc.viewer.view import Source
from tests.viewer.stores import make

PORT = 8417
TAGS = {"facts": {f"facts/{number}": {"kind": "odd" if number % 2 else "even"} for number in range(70)}}


def client_of(viewer: Viewer) -> TestClient:
    return TestClient(app(viewer, PORT), base_url=f"http://127.0.0.1:{PORT}")


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDC_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("store") / "store.sqlite")


@pytest.fixture(scope="session")
def client(store: Path) -> Iterator[TestClient]:
    viewer = Viewer([Source(store, TAGS)])
    with client_of(viewer) as client:
        yield client
    viewer.close()
