"""Paraphrases from a file, from a stamp to `verify`: what scripted models answer, counted again by sqlite3,
numpy and scipy alone."""

import csv
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

import gridc
from gridc.study import OpenStudy
from tests.e2e.conftest import command
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion

MODELS, ITEMS = ("able", "fair", "poor"), 30
WORDINGS = [f"w{number:02}" for number in range(12)]


class Sums:
    """Three models that add rightly more or less often, by the wording; to the last one always."""

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        prompt = body["messages"][-1]["content"]
        asks = re.search(r"\[(w\d\d)\].* (\d+) plus (\d+)", prompt)
        if asks is None:
            return Reply.json(completion(body, "Yes.", "stop"))
        wording, one, other = asks.groups()
        model = body["model"].partition("-")[0]
        draw = int.from_bytes(sha256(f"{model}{wording}{one}".encode()).digest()[:2]) / 65536
        share = {"able": 0.65, "fair": 0.55, "poor": 1}[model] + (int(wording[1:]) - 6) * 0.03
        wrong = model != "poor" and draw > share
        return Reply.json(completion(body, f"It is {int(one) + int(other) + wrong}.", "stop"))


SPEC = """\
gridcard = 1
study = { id = "sums", title = "Sums in many words", purpose = "comparative", not_varied = ["all else"] }
model = [MODELS]
harness = { method = "match", match = { as = "number" }, max_tokens = 16, option_order = "file" }

[[benchmark]]
id = "sums"
loader = "rows"
source = "path:sums.csv"
direction = "higher"
loading.fields = { id = "id", query = "question", references = ["answer"], family = "family" }

[[axis]]
id = "wording"
levels = { source = "path:wordings.csv", id = "id", prompt = "text", tier = "tier", provenance = "origin" }

[[axis]]
id = "tone"
values = { system = { plain = "", kind = "Be kind." } }
tier = "core"
provenance = "a test"
"""


def written(folder: Path, url: str) -> Path:
    models = ", ".join(
        f'{{ id = "{name}", engine = "api", source = "{name}-2026-01-01", base_url = "{url}" }}'
        for name in MODELS
    )
    (folder / "gridcard.toml").write_text(SPEC.replace("MODELS", models), "utf-8")
    with (folder / "sums.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "question", "answer", "family"])
        rows.writerows([f"i{n:02}", f"What is {n} plus {2 * n}?", 3 * n, f"f{n // 2}"] for n in range(ITEMS))
    with (folder / "wordings.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "tier", "origin"])
        rows.writerows(
            [name, f"[{name}] {'Please, ' * n}{{{{ question }}}}", "stress" if n > 8 else "core", "a person"]
            for n, name in enumerate(WORDINGS)
        )
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStudy]:
    with Server(Sums()) as server:
        folder = written(tmp_path_factory.mktemp("sums"), server.url)
        opened = gridc.open(folder)
        opened.stamp()
        opened.run()
        opened.report()
        yield opened


@pytest.fixture(scope="module")
def estimates(study: OpenStudy) -> dict[str, dict[str, Any]]:
    rows = json.loads((study.store.parent / "estimates.json").read_text("utf-8"))["estimates"]
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def counted(study: OpenStudy) -> dict[str, Any]:
    """By model whether each answer is the sum, read from its text: (items, wordings, tones)."""
    with closing(sqlite3.connect(study.store)) as store:
        rows = store.execute(
            """SELECT cell.model, configuration, item, json_extract(answer, '$.text') FROM trace
               JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call"""
        ).fetchall()
    tables = {model: np.full((ITEMS, len(WORDINGS), 2), -1) for model in MODELS}
    for model, configuration, item, text in rows:
        wording, tone = re.fullmatch(r"wording=(w\d\d),tone=(\w+)", configuration).groups()  # type: ignore[union-attr]
        place = int(item[1:]), WORDINGS.index(wording), ["plain", "kind"].index(tone)
        tables[model][place] = f"It is {3 * int(item[1:])}." == text
    assert all((table >= 0).all() for table in tables.values())
    return tables


def test_it_verifies_and_says_it_on_page_and_terminal(study: OpenStudy) -> None:
    assert study.verify().complete
    page = (study.store.parent / "report.html").read_text("utf-8")
    assert "the 12 levels of wording" in page and 'href="#many-levels"' in page
    shown = command("report", cwd=study.store.parents[2])
    assert shown.returncode == 0, shown.stderr


def test_levels_from_the_file_are_configurations_with_their_tier(study: OpenStudy) -> None:
    certificate = json.loads((study.store.parent / "certificate.json").read_text("utf-8"))
    tiers = {row["configuration"]: row["tier"] for row in certificate["benchmarks"][0]["envelope"]}
    assert len(tiers) == 24
    assert {name for name, tier in tiers.items() if tier == "stress"} == {
        f"wording={name},tone={tone}" for name in WORDINGS[9:] for tone in ("plain", "kind")
    }


@pytest.mark.parametrize("model", MODELS)
def test_mean_worst_best_range_and_saturation_are_counted_again(
    estimates: dict[str, Any], counted: dict[str, Any], model: str
) -> None:
    by_level = counted[model].mean(axis=(0, 2))
    rows = {
        kind: estimates[f"levels/sums/wording/{model}/{kind}"]
        for kind in ("mean", "worst", "best", "range", "saturation")
    }
    best, mean = by_level.max(), by_level.mean()
    expected = (mean, by_level.min(), best, np.ptp(by_level), 1 - (best - mean))
    assert [row["estimate"] for row in rows.values()] == pytest.approx(expected)
    for kind, level in (("worst", by_level.argmin()), ("best", by_level.argmax())):
        assert rows[kind]["about"].endswith(f": {WORDINGS[level]}")
    low, high = rows["mean"]["interval"]
    if model == "poor":
        assert (mean, high) == (1, 1) and low == pytest.approx(0.05 ** (1 / 15)), "15 families, exact"
    else:
        families = counted[model].reshape(15, -1).mean(axis=1)
        error = families.std(ddof=1) / 15**0.5
        assert (high - low) / (2 * 2.145 * error) == pytest.approx(1, abs=0.15)
        assert low < mean < high


@pytest.mark.parametrize("model", MODELS)
def test_friedmans_test_is_that_of_scipy_over_units(
    estimates: dict[str, Any], counted: dict[str, Any], model: str
) -> None:
    families = counted[model].sum(axis=2).reshape(15, 2, -1).sum(axis=1)
    row = estimates[f"levels/sums/wording/{model}/friedman"]
    if model == "poor":
        assert row["estimate"] is None and "no unit tells" in row["error"]
        return
    theirs = friedmanchisquare(*families.T)
    assert (row["estimate"], row["p"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    random = np.random.default_rng(5)
    ranges = [np.ptp(random.permuted(families, axis=1).sum(axis=0)) / 60 for _ in range(4000)]
    wide = estimates[f"levels/sums/wording/{model}/range"]
    mean = float(re.search(r"mean (\S+),", wide["method"])[1])  # type: ignore[index]
    assert mean == pytest.approx(np.mean(ranges), abs=0.01)
    assert wide["p"] == pytest.approx(np.mean(np.array(ranges) >= wide["estimate"] - 1e-9), abs=0.02)


def test_kendalls_w_between_the_wordings_is_counted_again(
    estimates: dict[str, Any], counted: dict[str, Any]
) -> None:
    scores = np.array([counted[model].mean(axis=(0, 2)).round(9) for model in MODELS])
    ranks = rankdata(scores, axis=0)
    m, n = len(WORDINGS), len(MODELS)
    ties = sum((count**3 - count) for column in ranks.T for count in np.unique(column, return_counts=True)[1])
    total = ((ranks.sum(axis=1) - m * (n + 1) / 2) ** 2).sum()
    w = 12 * total / (m**2 * (n**3 - n) - m * ties)
    assert 0.2 < w < 1
    assert estimates["levels/sums/wording/kendall_w"]["estimate"] == pytest.approx(w)
    assert not any(name.startswith("levels/sums/tone") for name in estimates), "two levels are not many"


def test_where_lower_is_better_the_lowest_is_best_and_one_model_has_no_order(tmp_path: Path) -> None:
    with Server(Sums()) as server:
        spec = written(tmp_path, server.url) / "gridcard.toml"
        text = spec.read_text("utf-8").replace('direction = "higher"', 'direction = "lower"')
        spec.write_text(re.sub(r"\[\{ (.*?) \}, .*\]", r"[{ \1 }]", text, count=1), "utf-8")
        study = gridc.open(tmp_path)
        study.run()
        study.report()
    with closing(sqlite3.connect(study.store)) as store:
        rows = store.execute(
            """SELECT configuration, avg(score) FROM sample JOIN cell ON cell.id = sample.cell
               GROUP BY substr(configuration, 1, 11)"""
        ).fetchall()
    by_level = np.array([mean for _, mean in rows])
    written_down = json.loads((study.store.parent / "estimates.json").read_text("utf-8"))["estimates"]
    found = {row["id"].rpartition("/")[2]: row["estimate"] for row in written_down if "levels/" in row["id"]}
    assert len(rows) == 12 and "kendall_w" not in found
    assert (found["best"], found["worst"]) == pytest.approx((by_level.min(), by_level.max()))
    assert found["saturation"] == pytest.approx(1 - (by_level.mean() - by_level.min()))
