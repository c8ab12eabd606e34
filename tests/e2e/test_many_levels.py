"""Paraphrases from a file, from a stamp to `verify`: what scripted models answer, counted again by sqlite3,
numpy and scipy alone."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from gridc.study import OpenStudy
from tests import studies
from tests.e2e.conftest import command
from tests.recount import unit_limits
from tools.servers.http import Server

MODELS, ITEMS = ("able", "fair", "poor"), 30
WORDINGS = [f"w{number:02}" for number in range(12)]


def add(model: str, messages: studies.Messages) -> str:
    """Three models that add rightly more or less often, by the wording; to the last one always."""
    asks = re.search(r"\[(w\d\d)\].* (\d+) plus (\d+)", messages[-1]["content"])
    if asks is None:
        return "Yes."
    wording, one, other = asks.groups()
    name = model.partition("-")[0]
    draw = int.from_bytes(sha256(f"{name}{wording}{one}".encode()).digest()[:2]) / 65536
    share = {"able": 0.65, "fair": 0.55, "poor": 1}[name] + (int(wording[1:]) - 6) * 0.03
    wrong = name != "poor" and draw > share
    return f"It is {int(one) + int(other) + wrong}."


SUMS = studies.benchmark("sums", 'id = "id", query = "question", references = ["answer"], family = "family"')
WORDED = """
[harness]
method = "match"
match = { as = "number" }
max_tokens = 16
option_order = "file"

[[axis]]
id = "wording"
levels = { source = "path:wordings.csv", id = "id", prompt = "text", tier = "tier", provenance = "origin" }

[[axis]]
id = "tone"
values = { system = { plain = "", kind = "Be kind." } }
tier = "core"
provenance = "a test"
"""


def written(folder: Path, url: str, *models: str, better: str = "higher_is_better") -> OpenStudy:
    rows = [
        {"id": f"i{n:02}", "question": f"What is {n} plus {2 * n}?", "answer": 3 * n, "family": f"f{n // 2}"}
        for n in range(ITEMS)
    ]
    wordings = [
        f'{name},"[{name}] {"Please, " * n}{{{{ question }}}}",{"stress" if n > 8 else "core"},a person\n'
        for n, name in enumerate(WORDINGS)
    ]
    spec = studies.head("sums", studies.behind(url, *models, version="-2026-01-01"))
    spec += SUMS.replace("higher_is_better", better) + WORDED
    return studies.written(folder, spec, rows, wordings_csv="id,text,tier,origin\n" + "".join(wordings))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> studies.Finished:
    with Server(studies.Scripted(add)) as server:
        return studies.carried_out(written(tmp_path_factory.mktemp("sums"), server.url, *MODELS))


@pytest.fixture(scope="module")
def counted(done: studies.Finished) -> dict[str, Any]:
    """By model whether each answer is the sum, read from its text: (items, wordings, tones)."""
    tables = {model: np.full((ITEMS, len(WORDINGS), 2), -1) for model in MODELS}
    for model, configuration, item, text in done.texts():
        wording, tone = re.fullmatch(r"wording=(w\d\d),tone=(\w+)", configuration).groups()  # type: ignore[union-attr]
        place = int(item[1:]), WORDINGS.index(wording), ["plain", "kind"].index(tone)
        tables[model][place] = f"It is {3 * int(item[1:])}." == text
    assert all((table >= 0).all() for table in tables.values())
    return tables


def test_it_verifies_and_says_it_on_page_and_terminal(done: studies.Finished) -> None:
    assert done.study.verify().complete
    page = (done.results / "report.html").read_text("utf-8")
    assert "the 12 levels of wording" in page and 'href="#many-levels"' in page
    shown = command("report", cwd=done.folder)
    assert shown.returncode == 0, shown.stderr


def test_levels_from_the_file_are_configurations_with_their_tier(done: studies.Finished) -> None:
    tiers = {row["configuration"]: row["tier"] for row in done.certificate()["envelope"]}
    assert len(tiers) == 24
    assert {name for name, tier in tiers.items() if tier == "stress"} == {
        f"wording={name},tone={tone}" for name in WORDINGS[9:] for tone in ("plain", "kind")
    }


@pytest.mark.parametrize("model", MODELS)
def test_mean_worst_best_range_and_saturation_are_counted_again(
    done: studies.Finished, counted: dict[str, Any], model: str
) -> None:
    by_level = counted[model].mean(axis=(0, 2))
    rows = {
        kind: done.estimates[f"levels/sums/wording/{model}/{kind}"]
        for kind in ("mean", "worst", "best", "range", "saturation")
    }
    best, mean = by_level.max(), by_level.mean()
    expected = (mean, by_level.min(), best, np.ptp(by_level), 1 - (best - mean))
    assert [row["estimate"] for row in rows.values()] == pytest.approx(expected)
    for kind, level in (("worst", by_level.argmin()), ("best", by_level.argmax())):
        assert rows[kind]["about"].endswith(f": {WORDINGS[level]}")
    low, high = rows["mean"]["interval"]
    families = counted[model].reshape(15, -1).mean(axis=1)
    assert (low, high) == pytest.approx(unit_limits.limits(np.ones(15), families), abs=1e-8)
    if model == "poor":
        assert (mean, high) == (1, 1) and low == pytest.approx(0.025 ** (1 / 15)), "15 families, exact"
    else:
        assert low < mean < high


@pytest.mark.parametrize("model", MODELS)
def test_friedmans_test_is_that_of_scipy_over_units(
    done: studies.Finished, counted: dict[str, Any], model: str
) -> None:
    families = counted[model].sum(axis=2).reshape(15, 2, -1).sum(axis=1)
    row = done.estimates[f"levels/sums/wording/{model}/friedman"]
    if model == "poor":
        assert row["estimate"] is None and "no unit tells" in row["error"]
        return
    theirs = friedmanchisquare(*families.T)
    assert (row["estimate"], row["p"]) == pytest.approx((theirs.statistic, theirs.pvalue))
    random = np.random.default_rng(5)
    ranges = [np.ptp(random.permuted(families, axis=1).sum(axis=0)) / 60 for _ in range(4000)]
    wide = done.estimates[f"levels/sums/wording/{model}/range"]
    mean = float(re.search(r"mean (\S+),", wide["method"])[1])  # type: ignore[index]
    assert mean == pytest.approx(np.mean(ranges), abs=0.01)
    assert wide["p"] == pytest.approx(np.mean(np.array(ranges) >= wide["estimate"] - 1e-9), abs=0.02)


def test_kendalls_w_between_the_wordings_is_counted_again(
    done: studies.Finished, counted: dict[str, Any]
) -> None:
    scores = np.array([counted[model].mean(axis=(0, 2)).round(9) for model in MODELS])
    ranks = rankdata(scores, axis=0)
    m, n = len(WORDINGS), len(MODELS)
    ties = sum((count**3 - count) for column in ranks.T for count in np.unique(column, return_counts=True)[1])
    total = ((ranks.sum(axis=1) - m * (n + 1) / 2) ** 2).sum()
    w = 12 * total / (m**2 * (n**3 - n) - m * ties)
    assert 0.2 < w < 1
    assert done.estimates["levels/sums/wording/kendall_w"]["estimate"] == pytest.approx(w)
    assert not any(name.startswith("levels/sums/tone") for name in done.estimates), "two levels are not many"


def test_where_lower_is_better_the_lowest_is_best_and_one_model_has_no_order(tmp_path: Path) -> None:
    with Server(studies.Scripted(add)) as server:
        done = studies.carried_out(written(tmp_path, server.url, "able", better="lower_is_better"))
    rows = done.rows(
        """SELECT configuration, avg(score) FROM sample JOIN cell ON cell.id = sample.cell
           GROUP BY substr(configuration, 1, 11)"""
    )
    by_level = np.array([mean for _, mean in rows])
    found = {
        name.rpartition("/")[2]: row["estimate"] for name, row in done.estimates.items() if "levels/" in name
    }
    assert len(rows) == 12 and "kendall_w" not in found
    assert (found["best"], found["worst"]) == pytest.approx((by_level.min(), by_level.max()))
    assert found["saturation"] == pytest.approx(1 - (by_level.mean() - by_level.min()))
