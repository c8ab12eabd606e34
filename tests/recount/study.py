"""A study as its store has it, read with plain sqlite3: cells, outcomes, units, scopes."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm, sqrt
from pathlib import Path
from typing import Any

import numpy as np

Json = Any
Groups = Callable[[str, str], Mapping[str, str]]
"""The group of each item of a benchmark at a level."""
RANKS = ("loglikelihood", "pair_likelihood")


class Study:
    """What the store says of one study: its document, and its outcomes by cell."""

    def __init__(self, path: Path, stamp: str, groups: Groups) -> None:
        self.db, self.groups = sqlite3.connect(path), groups
        (content,) = self.db.execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
        self.stamp, self.document = stamp, json.loads(content)
        self.recorded = "recorded" in self.document
        self.spec = self.document["spec"]
        self.models = [model["id"] for model in self.spec["model"]]
        self.alpha = self.spec["analysis"].get("alpha") or 0.05
        self.seed = self.spec["sampling"]["seed"]
        columns = ("id", "key", "model", "benchmark", "configuration", "tier", "shared")
        rows = self.db.execute(f"SELECT {', '.join(columns)} FROM cell WHERE stamp = ? ORDER BY id", [stamp])
        self.cells: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in rows]
        for cell in self.cells:
            cell["samples"] = self.db.execute(
                "SELECT item, replicate, choice, score FROM sample WHERE cell = ? ORDER BY item, replicate",
                [cell["id"]],
            ).fetchall()
            parts = [part.split("=", 1) for part in cell["configuration"].split(",") if "=" in part]
            cell["levels"] = dict(parts)

    def effect(self, cell: Mapping[str, Any], key: str, default: Json) -> Json:
        """The value of a key for a cell: of the axis level, else of benchmark, model or study."""
        for axis in self.spec["axis"]:
            level = next(each for each in axis["level"] if each["id"] == cell["levels"][axis["id"]])
            if level.get(key) is not None:
                return level[key]
        for table in (
            *(each for each in self.spec["benchmark"] if each["id"] == cell["benchmark"]),
            *(each for each in self.spec["model"] if each["id"] == cell["model"]),
            self.spec.get("harness") or {},
        ):
            if table.get(key) is not None:
                return table[key]
        return default

    def units(self, benchmark: str, items: Sequence[str], level: str) -> list[int]:
        """The number of each item's unit, in the order in which units first appear."""
        if level == "item":
            return list(range(len(items)))
        group = self.groups(benchmark, level)
        numbers: dict[str, int] = {}
        return [numbers.setdefault(group[item], len(numbers)) for item in items]


def matches(where: Mapping[str, Any], place: Mapping[str, str]) -> bool:
    """Whether a selector takes a place: axis = level, a list of levels, or { not = ... }."""
    for key, wanted in where.items():
        no = isinstance(wanted, Mapping)
        held = wanted["not"] if isinstance(wanted, Mapping) else wanted
        if (place[key] in ([held] if isinstance(held, str) else held)) is no:
            return False
    return True


def values_of(scores: Mapping[str, Any]) -> list[Fraction]:
    """Every score that a table of labels gives."""
    stated = [v for each in scores.values() for v in (each.values() if isinstance(each, dict) else [each])]
    return [Fraction(str(each)) for each in stated]


def tally(cell: Mapping[str, Any], units: Sequence[int], scale: int, credit: int) -> Json:
    """Counts of a cell, and the cluster-robust standard error of its score over items: with x_i the mean of
    item i over replicates, sqrt(G / (G - 1) * sum_g (sum_{i in g} (x_i - mean))^2) / n over G units."""
    scores = [score for *_, score in cell["samples"]]
    scored = [score for score in scores if score is not None]
    by_item = defaultdict(list)
    for item, _, _, score in cell["samples"]:
        by_item[item].append(score)
    error = None
    if len(scored) == len(scores):
        means = [Fraction(sum(each), len(each) * scale) for each in by_item.values()]
        grand = sum(means, Fraction(0)) / len(means)
        sums: dict[int, Fraction] = defaultdict(Fraction)
        for unit, mean in zip(units, means, strict=True):
            sums[unit] += mean - grand
        spread = sum((each * each for each in sums.values()), Fraction(0))
        if len(sums) > 1 and spread:
            error = sqrt(Fraction(len(sums), len(sums) - 1) * spread) / len(means)
    return {
        "trials": len(scores),
        "scored": len(scored),
        "parsed": sum(choice is not None for _, _, choice, _ in cell["samples"]),
        "correct": sum(scored),
        "scale": scale,
        "credit": credit,
        "standard_error": error,
    }


class Benchmark:
    """One benchmark's outcomes as arrays, and everything that the certificate says of it."""

    def __init__(self, study: Study, name: str, unit: str) -> None:
        self.study, self.name, self.unit = study, name, unit
        self.audited: frozenset[str] = frozenset()
        self.row = next(each for each in study.spec["benchmark"] if each["id"] == name)
        self.lower = self.row["direction"] == "lower_is_better"
        self.target = None if isinstance(self.row["direction"], str) else self.row["direction"]
        self.left_out = len(study.document["inputs"]["benchmarks"][name].get("left_out", ()))
        self.cells = [cell for cell in study.cells if cell["benchmark"] == name and cell["shared"]]
        self.models = list(dict.fromkeys(cell["model"] for cell in self.cells))
        self.configurations = list(dict.fromkeys(cell["configuration"] for cell in self.cells))
        self.at = {(cell["model"], cell["configuration"]): cell for cell in self.cells}
        every = [cell for cell in study.cells if cell["benchmark"] == name]
        self.items = sorted({item for cell in every for item, *_ in cell["samples"]})
        self.units = study.units(name, self.items, unit)
        self.unit_of = dict(zip(self.items, self.units, strict=True))
        self.G = len(set(self.units))
        asked = study.db.execute(
            "SELECT item, text, choices FROM question WHERE stamp = ? AND benchmark = ?", [study.stamp, name]
        )
        questions = {(text, choices) for item, text, choices in asked if item in self.unit_of}
        several = 0 < len(questions) < len(self.items) and not study.recorded
        self.distinct = len(questions) if several else 0
        self.first = [self.at[self.models[0], configuration] for configuration in self.configurations]
        self.levels = [cell["levels"] for cell in self.first]
        stated = study.spec["analysis"].get("anchor") or {}
        places = ({**cell["levels"], "benchmark": name, "tier": cell["tier"]} for cell in self.first)
        self.anchor = next(
            c for c, place in zip(self.configurations, places, strict=True) if matches(stated, place)
        )
        self.method = [study.effect(cell, "method", "extract") for cell in self.first]
        self.replicates = [
            1 + max(replicate for _, replicate, _, _ in cell["samples"]) for cell in self.first
        ]
        self.sampled = (
            [True] * len(self.first)
            if study.recorded
            else [
                study.effect(cell, "temperature", 0.0) > 0 and method not in RANKS
                for cell, method in zip(self.first, self.method, strict=True)
            ]
        )
        self.scales = {key: self.scale_of(cell) for key, cell in self.at.items()}
        self.scale = lcm(*self.scales.values())
        self.tallies = {
            key: tally(
                cell,
                [self.unit_of[item] for item in dict.fromkeys(item for item, *_ in cell["samples"])],
                self.scales[key],
                self.scales[key] * (self.lower and study.effect(cell, "unreadable", "zero") == "worst"),
            )
            for key, cell in self.at.items()
        }

    def scale_of(self, cell: Mapping[str, Any]) -> int:
        """The common denominator of what an answer can earn in a cell; in logs 1, or 10,000."""
        if self.study.recorded:
            return 10**4 if self.study.effect(cell, "method", "") == "number_as_logged" else 1
        return lcm(*(each.denominator for each in values_of(self.study.effect(cell, "scores", {}))))

    def score(self, model: str, configuration: str) -> Fraction | None:
        found = self.tallies[model, configuration]
        whole = found["trials"] * found["scale"]
        return Fraction(found["correct"], whole) if found["scored"] == found["trials"] else None

    def heard(self, model: str, configuration: str) -> bool:
        """Whether all answers are there, and one of them at least can be read; a ranking always can."""
        found = self.tallies[model, configuration]
        ranks = self.method[self.configurations.index(configuration)] in RANKS
        return bool(found["scored"] == found["trials"] and (ranks or found["parsed"]))

    def readable(self, model: str, configuration: str) -> Fraction | None:
        """The score over the answers that can be read; a ranking has nothing to read."""
        found, ranks = (
            self.tallies[model, configuration],
            self.method[self.configurations.index(configuration)] in RANKS,
        )
        if ranks or found["scored"] < found["trials"]:
            return self.score(model, configuration)
        read = found["correct"] - found["credit"] * (found["trials"] - found["parsed"])
        return Fraction(read, found["parsed"] * found["scale"]) if found["parsed"] else None

    def reads(self, configuration: str) -> bool:
        """Whether a configuration's answers are read from text."""
        return not self.study.recorded and self.method[self.configurations.index(configuration)] not in RANKS

    def unread(self, model: str, configuration: str) -> set[tuple[str, int]]:
        """The samples, by item and replicate, that were answered and could not be read: no call of theirs
        failed, and the provider did not decline the last one."""
        if not self.reads(configuration):
            return set()
        cell = self.at[model, configuration]
        found = {
            (item, replicate)
            for item, replicate, choice, score in cell["samples"]
            if choice is None and score is not None
        }
        last: dict[tuple[str, int], Json] = {}
        for item, replicate, answer in self.study.db.execute(
            """SELECT item, replicate, answer FROM trace JOIN call ON call.id = trace.call
               WHERE trace.cell = ? ORDER BY step""",
            [cell["id"]],
        ):
            last[item, replicate] = given = json.loads(answer or "{}")
            if "error" in given:
                found.discard((item, replicate))
        return {place for place in found if not last.get(place, {}).get("refused")}

    def ends(self, model: str, configuration: str) -> tuple[Fraction, Fraction] | None:
        """The score where what is unread earned nothing, and where it earned a point each."""
        score = self.score(model, configuration)
        if score is None:
            return None
        found, unread = self.tallies[model, configuration], len(self.unread(model, configuration))
        share = Fraction(unread, found["trials"])
        least = score - share * Fraction(found["credit"], found["scale"])
        return least, least + share

    def too_many(self, model: str, configuration: str) -> bool:
        """Whether more than a fifth of the answers are unread, which is where `gridc compare` shows none."""
        trials = self.tallies[model, configuration]["trials"]
        return 5 * len(self.unread(model, configuration)) > int(trials)

    def lost(self, model: str, configuration: str) -> set[tuple[str, int]]:
        """The samples, by item and replicate, that count against a claim: those without a score in the logs,
        and those that are unread where they are too many."""
        if configuration in self.audited:
            return set()  # what unread answers are worth is known from people's labels
        if not self.study.recorded:
            return self.unread(model, configuration) if self.too_many(model, configuration) else set()
        rows = self.study.db.execute(
            """SELECT item, replicate FROM trace JOIN call ON call.id = trace.call
               WHERE trace.cell = ? AND json_extract(answer, '$.error') IS NOT NULL""",
            [self.at[model, configuration]["id"]],
        )
        return set(rows)

    def by_unit(self, model: str, configuration: str, designated: bool, lost_as: int | None = None) -> Any:
        """Outcomes summed over the items of each unit, in units of 1 / the benchmark's scale: of replicate 0,
        or over replicates. What is lost earns `lost_as`, and so does the first replicate of an item of which
        any is lost, where it has what an unreadable answer earns."""
        parts = self.scale // self.scales[model, configuration]
        lost = self.lost(model, configuration) if lost_as is not None else set()
        items, credit = {item for item, _ in lost}, self.tallies[model, configuration]["credit"]
        sums = np.zeros(self.G, dtype=np.int64)
        for item, replicate, _, score in self.at[model, configuration]["samples"]:
            if score is not None and (replicate == 0 or not designated):
                gone = item in items and score == credit if designated else (item, replicate) in lost
                sums[self.unit_of[item]] += (lost_as or 0) if gone else parts * score
        return sums

    def scopes(self) -> list[tuple[str, str, bool, list[str]]]:
        """Kind, name, whether named before the data, configurations."""
        spec, all_of = self.study.spec, self.configurations
        if self.study.recorded:  # nobody said before the data what is compared
            return [("full", "full envelope", True, all_of)]
        found = [("full", "full envelope", True, all_of)]
        for tier in ("core", "stress"):
            found.append(
                ("tier", tier, True, [cell["configuration"] for cell in self.first if cell["tier"] == tier])
            )
        for part in spec["slice"]:
            inside = [cell["configuration"] for cell in self.first if part["id"] in self.slices(cell)]
            found.append(("slice", part["id"], part["declared"] == "ex_ante", inside))
        for method in dict.fromkeys(self.method):
            inside = [each for each, own in zip(all_of, self.method, strict=True) if own == method]
            found.append(("measurand", method, True, inside))
        mark = Fraction(str(spec["analysis"]["parse_clean"]))
        complete = all(each["scored"] == each["trials"] for each in self.tallies.values())
        clean = [
            each
            for each, method in zip(all_of, self.method, strict=True)
            if method in RANKS
            or all(
                Fraction(self.tallies[model, each]["parsed"], self.tallies[model, each]["trials"]) >= mark
                for model in self.models
            )
        ]
        found.append(("parse_clean", "parse-clean", False, clean if complete else []))
        return [scope for scope in found if scope[3]]

    def slices(self, cell: Mapping[str, Any]) -> list[str]:
        place = {
            **cell["levels"],
            "benchmark": cell["benchmark"],
            "model": cell["model"],
            "tier": cell["tier"],
        }
        return [part["id"] for part in self.study.spec["slice"] if matches(part["where"], place)]
