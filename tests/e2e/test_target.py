"""A study of which the score nearest to a target is best: run, reported and verified, against plain SQL."""

import json
import shutil
import sqlite3
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import gridc

AIM = Fraction(1, 5)


def test_a_target_is_run_reported_and_verified(study: Path) -> None:
    """A lock of its own has a store of its own."""
    spec = study / "gridcard.toml"
    stated = spec.read_text().replace('direction = "higher_is_better"', f"direction = {float(AIM)}")
    stated = stated.replace('[[statistic]]\nid = "mean_score"\nkind = "macro_mean"\n', "")
    spec.write_text("".join(line for line in stated.splitlines(True) if not line.startswith("thresholds")))
    (study / "gridcard.lock").unlink()
    shutil.rmtree(study / "results")
    opened = gridc.open(spec)
    opened.stamp()
    opened.run()
    opened.report()
    assert opened.verify().complete
    (results,) = (path.parent for path in (study / "results").glob("*/certificate.json"))
    certificate = json.loads((results / "certificate.json").read_text())
    (row,) = certificate["benchmarks"]
    assert (row["direction"], row["target"]) == ("nearest_is_best", float(AIM))

    far = distances(results / "store.sqlite", certificate["stamp"])
    for seen in row["scopes"][0]["orderings"]["seen"]:
        values = [{far[seen["configuration"]][model] for model in group} for group in seen["order"]]
        assert all(len(group) == 1 for group in values) and sorted(values, key=min) == values
    orders = {tuple(sorted(each, key=lambda model: each[model])) for each in far.values() if distinct(each)}
    assert row["scopes"][0]["orderings"]["strict"] == len(orders)
    (ranking,) = certificate["hypotheses"]
    ahead = [each["llama"] - each["qwen2"] for each in far.values()]
    told = ranking["ranking"]
    assert (told["agree"], told["contradict"]) == (sum(x > 0 for x in ahead), sum(x < 0 for x in ahead))
    assert ranking["verdict"] == ("refuted" if min(ahead) < 0 else "open" if 0 in ahead else "supported")

    scorecard = json.loads((results / "scorecard.json").read_text())
    assert scorecard["targets"] == {"bbq": float(AIM)}
    assert {line["change"] for model in scorecard["models"] for line in model["matrix"]} == {None}
    page = (results / "report.html").read_text()
    assert "nearest to 0.2 is better" in page and "lower is better" not in page
    with sqlite3.connect(results / "store.sqlite") as db:
        stored = db.execute("SELECT direction FROM benchmark WHERE stamp = ?", [certificate["stamp"]])
        assert stored.fetchall() == [("0.2",)]


def distinct(row: dict[str, Fraction]) -> bool:
    return all(a != b for a, b in combinations(row.values(), 2))


def distances(store: Path, stamp: str) -> dict[str, dict[str, Fraction]]:
    """How far each model's score is from the target, by configuration, of the samples alone."""
    far: dict[str, dict[str, Fraction]] = {}
    with sqlite3.connect(store) as db:
        counted: list[Any] = db.execute(
            """SELECT configuration, model, sum(score), count(*)
               FROM sample JOIN cell ON cell.id = sample.cell
               WHERE cell.stamp = ? AND shared GROUP BY cell.id""",
            [stamp],
        ).fetchall()
    for configuration, model, points, trials in counted:
        far.setdefault(configuration, {})[model] = abs(Fraction(points, trials) - AIM)
    return far
