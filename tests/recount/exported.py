"""What was exported of a study: tables as CSV, the lock, the store's events and calls."""

import csv
import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.recount.intervals import percentiles

Json = Any
RESAMPLES = 2000
RANKS = ("loglikelihood", "pair_likelihood")


class Cell:
    """One cell of the exported samples: points and answers by unit, of all answers and of readable ones."""

    def __init__(self, rows: Sequence[Mapping[str, str]], table: Mapping[str, str], spec: Json) -> None:
        self.model, self.benchmark = rows[0]["model"], rows[0]["benchmark"]
        self.configuration = rows[0]["configuration"]
        self.levels = dict(part.split("=", 1) for part in self.configuration.split(","))
        self.scale, self.ranks = int(table["scale"]), table["method"] in RANKS
        self.method = table["method"]
        self.rows = rows
        own = next(each for each in spec["benchmark"] if each["id"] == self.benchmark)
        self.lower = own["direction"] == "lower_is_better"
        self.credit = self.scale if self.lower and own.get("unreadable") == "worst" else 0
        self.complete = all(row["score"] != "" for row in rows)
        by_family = own.get("unit") == "family"
        items = sorted({row["item"] for row in rows})
        family = {row["item"]: row["family"] for row in rows}
        names = [family[item] if by_family else item for item in items]
        order = list(dict.fromkeys(names))
        self.unit_of = {item: order.index(name) for item, name in zip(items, names, strict=True)}
        self.units = len(set(names))
        self.trials = len(rows)
        self.read = sum(row["choice"] != "" for row in rows)
        if self.complete:
            self.points = self._by_unit(lambda row: int(row["score"]))
            self.most = self._by_unit(lambda row: self.scale)
            self.read_points = self._by_unit(lambda row: int(row["score"]) if row["choice"] != "" else 0)
            self.read_most = self._by_unit(lambda row: self.scale * (row["choice"] != ""))
            assert all(int(row["score"]) == self.credit for row in rows if row["choice"] == "")

    def _by_unit(self, worth: Any) -> Any:
        sums = np.zeros(self.units, dtype=np.int64)
        for row in self.rows:
            sums[self.unit_of[row["item"]]] += worth(row)
        return sums

    @property
    def rate(self) -> float:
        return float(self.points.sum() / self.most.sum())

    def exact(self, readable: bool) -> Fraction:
        points, most = (self.read_points, self.read_most) if readable else (self.points, self.most)
        return Fraction(int(points.sum()), int(most.sum()))

    @property
    def good(self) -> float:
        return 1 - self.rate if self.lower else self.rate

    def mean_of(self, drawn: Any, readable: bool) -> Any:
        points, most = (self.read_points, self.read_most) if readable else (self.points, self.most)
        with np.errstate(invalid="ignore", divide="ignore"):
            return points[drawn].sum(axis=1) / most[drawn].sum(axis=1)


class Export:
    """What was exported of a study: tables as CSV, the lock, the store's events and calls."""

    def __init__(self, folder: Path, lock: Path, store: Path, stamp: str) -> None:
        self.lock = json.loads(lock.read_text("utf-8"))
        self.spec = self.lock["content"]["spec"]
        self.models = [model["id"] for model in self.spec["model"]]
        tables = {name: _read(folder / f"{name}.csv") for name in ("samples", "scores")}
        scores = {row["cell"]: row for row in tables["scores"]}
        grouped: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        for row in tables["samples"]:
            grouped[row["cell"]].append(row)
        self.cells = [Cell(rows, scores[key], self.spec) for key, rows in grouped.items()]
        self.benchmarks = [each["id"] for each in self.spec["benchmark"]]
        self.db, self.stamp = sqlite3.connect(store), stamp
        self.draws: dict[str, Any] = {}

    def of(self, model: str, benchmark: str) -> list[Cell]:
        return [each for each in self.cells if (each.model, each.benchmark) == (model, benchmark)]

    def drawn(self, cell: Cell) -> Any:
        """The units of each resample: the same for every cell of a benchmark."""
        if cell.benchmark not in self.draws:
            random = np.random.default_rng(self.spec["sampling"]["seed"])
            self.draws[cell.benchmark] = random.integers(0, cell.units, size=(RESAMPLES, cell.units))
        return self.draws[cell.benchmark]

    def moved(self, first: Cell, second: Cell, readable: bool = False) -> Json:
        """(difference, interval) of two cells, upwards for the better; None where it is not defined."""
        for cell in (first, second):
            if readable and not cell.read_most.sum():
                return None
        sign = -1 if first.lower else 1
        own = [cell.exact(readable) for cell in (first, second)]
        values = second.mean_of(self.drawn(second), readable) - first.mean_of(self.drawn(first), readable)
        return sign * (own[1] - own[0]), percentiles(np.round(sign * values, 12), first.units)

    def events(self, kind: str) -> list[tuple[int, Json]]:
        rows = self.db.execute("SELECT seq, body FROM event WHERE kind = ? ORDER BY seq", [kind])
        return [(seq, json.loads(body)) for seq, body in rows if json.loads(body)["stamp"] == self.stamp]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
