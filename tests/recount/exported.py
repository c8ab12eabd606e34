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

from tests.recount.unit_limits import change

Json = Any
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
            assert all(int(row["score"]) == self.credit for row in rows if row["choice"] == "")

    def _by_unit(self, worth: Any) -> Any:
        sums = np.zeros(self.units, dtype=np.int64)
        for row in self.rows:
            sums[self.unit_of[row["item"]]] += worth(row)
        return sums

    @property
    def rate(self) -> float:
        return float(self.points.sum() / self.most.sum())

    @property
    def exact(self) -> Fraction:
        return Fraction(int(self.points.sum()), int(self.most.sum()))

    def readable(self) -> dict[str, list[Fraction]]:
        """The scores of the readable answers of each item."""
        found: dict[str, list[Fraction]] = defaultdict(list)
        for row in self.rows:
            if row["choice"] != "":
                found[row["item"]].append(Fraction(int(row["score"]), self.scale))
        return found

    @property
    def good(self) -> float:
        return 1 - self.rate if self.lower else self.rate

    def by_item(self) -> dict[str, list[Fraction]]:
        """The scores of all answers of each item."""
        found: dict[str, list[Fraction]] = defaultdict(list)
        for row in self.rows:
            found[row["item"]].append(Fraction(int(row["score"]), self.scale))
        return found

    def by_unit(self) -> tuple[Any, Any]:
        """How many items each unit has, and the sum of their scores."""
        items, points = np.zeros((2, self.units))
        for item, scores in self.by_item().items():
            items[self.unit_of[item]] += 1
            points[self.unit_of[item]] += float(sum(scores) / len(scores))
        return items, points.round(12)


def in_pairs(first: Cell, second: Cell) -> list[tuple[int, list[Fraction], list[Fraction]]]:
    """The unit of each item with a readable answer in both cells, and its scores in each: where the cells do
    not have them in one proportion, as many times the mean as the cell with fewer has answers."""
    one, two = first.readable(), second.readable()
    both = sorted(set(one) & set(two))
    if len({Fraction(len(one[name]), len(two[name])) for name in both}) > 1:
        fewest = {name: min(len(one[name]), len(two[name])) for name in both}
        one, two = (
            {name: [sum(scores[name], Fraction(0)) / len(scores[name])] * fewest[name] for name in both}
            for scores in (one, two)
        )
    return [(first.unit_of[name], one[name], two[name]) for name in both]


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

    def of(self, model: str, benchmark: str) -> list[Cell]:
        return [each for each in self.cells if (each.model, each.benchmark) == (model, benchmark)]

    def moved(self, first: Cell, second: Cell, readable: bool = False) -> Json:
        """(difference, interval) of two cells, upwards for the better; None where it is not defined."""
        sign, difference = -1 if first.lower else 1, second.exact - first.exact
        one, two = first.by_item(), second.by_item()
        rows = [(first.unit_of[name], one[name], two[name]) for name in one]
        if readable:
            rows = in_pairs(first, second)
            if not rows:
                return None
            flat = [
                [score for of_item in side for score in of_item] for side in list(zip(*rows, strict=True))[1:]
            ]
            before, after = (sum(scores, Fraction(0)) / len(scores) for scores in flat)
            difference = after - before
        most = max(len(scores) for _, scores, _ in rows) if readable else 0
        moved = []
        for unit, ones, others in rows:
            weight = len(ones) / most if readable else 1.0
            mean = sum(others, Fraction(0)) / len(others) - sum(ones, Fraction(0)) / len(ones)
            moved.append((str(unit), (weight, weight * sign * round(float(mean), 12))))
        return sign * difference, list(change(moved)[1] or ())

    def events(self, kind: str) -> list[tuple[int, Json]]:
        rows = self.db.execute("SELECT seq, body FROM event WHERE kind = ? ORDER BY seq", [kind])
        return [(seq, json.loads(body)) for seq, body in rows if json.loads(body)["stamp"] == self.stamp]


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
