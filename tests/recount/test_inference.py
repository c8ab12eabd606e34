"""Curves, variance components and corrected p-values, recounted from exported samples on single rows."""

import json
import re
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridc
from gridc.compiler.grid.cells import Cell
from gridc.reports.exchange.table_files import write_table
from tests.e2e.test_published_counts import SAFE, UNREADABLE, UNSAFE, imported, write
from tests.recount.inference import corrected, expected, read, samples
from tests.statistics.test_published_scaffolds import ARMS

MORE = """\
[[family]]
id = "F"
correction = "holm"
alpha = 0.1
[[family]]
id = "B"
correction = "bh"
alpha = 0.05
[[fork]]
id = "benchmark_subset"
category = "data"
levels = ["all", "without_two"]
default = "all"
binds = "analysis.primary"
[fork.choice]
without_two = { where = { benchmark = { not = "two" } } }
[[fork]]
id = "reading"
category = "data"
levels = ["itt", "pp"]
default = "itt"
binds = "analysis.outcome"
[[fork]]
id = "effects"
category = "model"
levels = ["with", "without"]
default = "with"
binds = "analysis.primary"
[fork.choice]
without = { without_terms = ["model"] }
[[hypothesis]]
id = "any"
kind = "difference"
axis = "scaffold"
level = ["react", "multi_agent", "map_reduce"]
reference = "direct"
margin = { pp = 2 }
family = "B"
[[curve]]
id = "curve"
forks = ["benchmark_subset", "reading", "effects"]
declared = "ex_ante"
hypotheses = ["H1b", "H1c"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Three models, two benchmarks of different sizes; map_reduce is worse, some answers are unreadable."""
    folder = tmp_path_factory.mktemp("inference")
    spec = write(folder, ["ant", "bee", "cat"], {"one": 40, "two": 25}, MORE)
    text = re.sub(
        r'(id = "H1([abc])"\n)', lambda m: f'{m[1]}family = "{"BFF"["abc".index(m[2])]}"\n', spec.read_text()
    )
    spec.write_text(text)
    random = np.random.default_rng(2)
    hard = random.normal(0.8, 1.0, 100)

    def said(cell: Cell, number: int) -> str:
        place = number + 50 * (cell.benchmark == "two")
        push = 0.4 * ["ant", "bee", "cat"].index(cell.model) - 1.1 * (cell.levels["scaffold"] == ARMS[3])
        if random.random() < 0.08:
            return UNREADABLE
        return SAFE if random.random() < 1 / (1 + np.exp(-hard[place] - push)) else UNSAFE

    documents = imported(spec, said)
    write_table(gridc.open(spec, out=folder / "out").batches("samples"), folder / "samples.csv")
    return folder, documents


def test_every_number_of_curves_and_components_is_that_of_single_rows(study: tuple[Path, Any]) -> None:
    folder, documents = study
    spec, rows = read(folder / "gridcard.toml"), samples(folder / "samples.csv")
    assert len(rows) == 3 * 4 * 65
    shown = {row["id"]: row for row in documents["estimates"]["estimates"]}
    recounted = dict(expected(spec, rows))
    for name, row in recounted.items():
        given = shown.pop(name)
        assert given["estimate"] == pytest.approx(row["estimate"], abs=1e-8), name
        if "low" in row:
            assert given["interval"] == pytest.approx([row["low"], row["high"]], abs=1e-7), name
            assert given["p"] == pytest.approx(row["p"], rel=1e-6), name
            assert given["n"] == row["n"], name
    assert sum("/specification/" in name for name in recounted) == 2 * 8
    left = [name for name in shown if name.startswith(("curve/", "variance/", "generalizability/component"))]
    assert [name for name in left if not name.endswith("share_significant")] == []


def test_corrected_p_values_are_those_of_single_rows(study: tuple[Path, Any]) -> None:
    folder, documents = study
    found = corrected(read(folder / "gridcard.toml"), samples(folder / "samples.csv"))
    rows = {row["id"]: row for row in documents["certificate"]["hypotheses"]}
    assert set(found) == set(rows) == {"H1a", "H1b", "H1c", "any"}
    for name, (raw, support, refute) in found.items():
        assert rows[name]["effect"]["test"]["p"] == pytest.approx(raw, rel=1e-6, abs=1e-9)
        assert rows[name]["support"] == pytest.approx(support, rel=1e-6, abs=1e-9)
        assert rows[name]["refute"] == pytest.approx(refute, rel=1e-6, abs=1e-9)
    assert len({row["family"] for row in rows.values()}) == 2
    assert json.dumps(rows["H1c"]["effect"]["test"]["name"]) == '"wald_z"'


def test_the_viewer_shows_every_specification_of_the_report(study: tuple[Path, Any]) -> None:
    folder, documents = study
    gridc.view_pages(folder / "pages", folder / "gridcard.toml", pages=120, out=folder / "out")
    pages = "".join(path.read_text() for path in (folder / "pages").glob("curves-*.html"))
    rows = [row for row in documents["estimates"]["estimates"] if "/specification/" in row["id"]]
    assert len(rows) == 2 * 8
    for row in rows:
        section = next(part for part in pages.split("<section ") if f">{row['id']}<" in part)
        assert row["rows"] in section and f"{row['n']:,} samples" in section
        assert f"{exp(row['estimate']):.3g}</dd>" in section
