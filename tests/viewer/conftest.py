"""A viewer over small stores, asked as a browser asks it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import httpx
import pytest

from gridc.viewer.pages import Viewer
from gridc.viewer.server import app
from gridc.viewer.view import OpenStore
from tests.viewer.stores import make

pytest.importorskip("starlette")

PORT = 8417
TAGS = {"facts": {f"facts/{number}": {"kind": "odd" if number % 2 else "even"} for number in range(70)}}


class Client:
    """Requests to the application of a viewer, without a network."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer
        self._app = app(viewer, PORT)

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            base = f"http://127.0.0.1:{PORT}"
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                return await client.request(method, path, headers=headers, data=form)

        return anyio.run(ask)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return self.request("GET", path, headers)

    def post(self, path: str, form: Mapping[str, str]) -> httpx.Response:
        """A form as a page of the server sends it."""
        own = {"origin": f"http://127.0.0.1:{PORT}", "sec-fetch-site": "same-origin"}
        return self.request("POST", path, own, form)


@pytest.fixture(scope="session")
def viewer_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _cache(viewer_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each test of the viewer alone: a worker goes on to others, which keep no proofs."""
    monkeypatch.setenv("GRIDC_CACHE", str(viewer_cache))


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("store") / "store.sqlite")


@pytest.fixture(scope="session")
def client(store: Path, viewer_cache: Path) -> Iterator[Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRIDC_CACHE", str(viewer_cache))
        viewer = Viewer([OpenStore(store, TAGS)])
    yield Client(viewer)
    viewer.close()
