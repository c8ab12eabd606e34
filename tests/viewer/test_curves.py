"""The page of specification curves, as a browser asks for it."""

from collections.abc import Iterator
from contextlib import closing
from math import exp
from pathlib import Path

import pytest

from gridc.reports import page_links
from gridc.reports.estimates.components import curve_estimates
from gridc.reports.findings.curves import CURVES, CurveFinding
from gridc.viewer.figures import StatedCurves
from gridc.viewer.pages import Viewer
from gridc.viewer.server import export_pages
from gridc.viewer.view import OpenStore
from tests.viewer.conftest import Client
from tests.viewer.curves import found, stated
from tests.viewer.stores import STAMP, make


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("curves") / "store.sqlite", items=12, waits=False)


@pytest.fixture(scope="module")
def client(path: Path) -> Iterator[Client]:
    with closing(Viewer([OpenStore(path, curves=stated())])) as viewer:
        yield Client(viewer)


def test_the_study_leads_to_its_curves_and_each_to_the_others(client: Client) -> None:
    address = page_links.curves(STAMP)
    assert f'href="{address}"' in client.get("/").text
    first = client.get(address).text
    others = [page_links.curves(STAMP, curve.name).replace("&", "&amp;") for curve in found()[1:]]
    assert len(others) == 2 and all(f'href="{other}"' in first for other in others)
    assert client.get(page_links.curves(STAMP, "open/H9/none-none")).status_code == 404


def test_each_specification_says_what_it_is(client: Client) -> None:
    """Every column leads to a specification; the numbers and names are those of the document of estimates."""

    rows = {row.id: row for row in curve_estimates({CURVES: found()})}  # type: ignore[arg-type]
    for curve in found():
        page = client.get(page_links.curves(STAMP, curve.name)).text
        assert len(curve.failed) == 4 and len(curve.ranked) == 8
        for number, each in enumerate(curve.ranked, 1):
            section = page.split(f'<section id="s{number}"')[1].split("</section>")[0]
            assert page.count(f'<a href="#s{number}" tabindex="-1">') == 1
            for fork, level in each.levels.items():
                assert f'{fork}</bdi></dt><dd><bdi dir="auto">{level}<' in section
            (name,) = (name for name in rows if f">{name}<" in section)
            row = rows[name]
            assert (row.rows, row.n) == (each.rows, each.samples)
            assert row.rows in section and f"{row.n:,} samples" in section
            assert row.estimate is not None and f"<dd>{exp(row.estimate):.3g}</dd>" in section
            assert "cluster_logit" in section and "clustered by unit" in section
        for each in curve.failed:
            assert each.failure is not None and each.failure[1] in page and each.rows in page
        ranks = [each.fitted.estimate for each in curve.ranked if each.fitted]
        assert ranks == sorted(ranks)


def test_curves_run_once_for_a_state_of_the_store(path: Path) -> None:
    runs: list[int] = []

    def run() -> tuple[CurveFinding, ...]:
        runs.append(1)
        return found()

    curves = StatedCurves(STAMP, run)
    with closing(Viewer([OpenStore(path, curves=curves)])) as viewer:
        client = Client(viewer)
        client.get("/")
        assert not runs
        for curve in found():
            assert client.get(page_links.curves(STAMP, curve.name)).status_code == 200
    assert len(runs) == 1


def test_an_unfinished_study_has_no_curve_yet(store: Path) -> None:
    def run() -> tuple[()]:
        raise AssertionError

    with closing(Viewer([OpenStore(store, curves=StatedCurves(STAMP, run))])) as viewer:
        assert "when every sample has an outcome" in Client(viewer).get(page_links.curves(STAMP)).text


def test_a_store_without_its_spec_has_no_page_of_curves(path: Path) -> None:
    with closing(Viewer([OpenStore(path)])) as viewer:
        client = Client(viewer)
        assert "/curves" not in client.get("/").text
        answer = client.get(page_links.curves(STAMP))
    assert answer.status_code == 404 and "open its spec" in answer.text


def test_an_export_has_the_curves(path: Path, tmp_path: Path) -> None:
    with closing(Viewer([OpenStore(path, curves=stated())])) as viewer:
        done = export_pages(viewer, tmp_path / "pages", 80, lambda pages: None)
    assert len(list(done.folder.glob("curves-*.html"))) == 3
