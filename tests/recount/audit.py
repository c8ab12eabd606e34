"""What people's labels correct: docs/audit.md, "What labels correct". For answers that are letters, of single
items."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations
from typing import Any
from uuid import UUID

import numpy as np

from tests.recount.study import Benchmark, Json
from tests.recount.unit_limits import limits

FEWEST = 10
"""Labelled responses that a stratum is expected to have, or it is pooled."""
TRIED = [0.5 * (1e-9 / 0.5) ** (step / 174) for step in range(175)]


class Strata:
    """Responses with what was said of each, what it earned, and people's points where they labelled it."""

    def __init__(self, said: Any, earned: Any, seen: Any, points: Any) -> None:
        self.earned, self.seen, self.points = earned, seen, points
        left, self.groups = np.ones(len(said), dtype=bool), []
        for of in (said, earned):
            for value in sorted(set(of[left].tolist())):
                inside = left & (of == value)
                if inside.sum() * seen.mean() >= FEWEST:
                    self.groups.append(inside)
                    left = left & ~inside
        self.groups += [left] if left.any() else []
        self.sizes = np.array([group.mean() for group in self.groups])
        self.rates = np.array(
            [points[g & seen].mean() if (g & seen).any() else earned[g].mean() for g in self.groups]
        )
        self.value = float(self.sizes @ self.rates)

    def strata(self) -> list[Json]:
        return [
            {
                "rows": int(group.sum()),
                "labelled": int((group & self.seen).sum()),
                "points": float(self.points[group & self.seen].sum()),
            }
            for group in self.groups
        ]

    def ends(self, error: float, new: bool) -> tuple[float, float]:
        """Each one-sided at an error."""
        moves = []
        for group, size, rate in zip(self.groups, self.sizes, self.rates, strict=True):
            inside = group & self.seen
            low, high = (0.0, 1.0)
            if inside.any():
                low, high = limits(np.ones(int(inside.sum())), self.points[inside], error)
            rows, left = int(group.sum()), int(group.sum() - inside.sum())
            # Of these responses only the unlabelled ones are open, and four more.
            part = 1.0 if new else np.sqrt(min(1.0, (left + 4) / rows)) if left else 0.0
            moves.append((size * part * (rate - low), size * part * (high - rate)))
        least, most = self.rates.min(), self.rates.max()
        if new and most > least:
            scaled = (np.select(self.groups, list(self.rates)) - least) / (most - least)
            low, high = limits(np.ones(len(scaled)), scaled, error)
            moves.append(
                (float(most - least) * (scaled.mean() - low), float(most - least) * (high - scaled.mean()))
            )
        down, up = np.sqrt((np.array(moves) ** 2).sum(axis=0))
        if new:
            return max(self.value - down, 0.0), min(self.value + up, 1.0)
        known = self.points[self.seen].sum() / len(self.seen)
        return max(self.value - down, known), min(self.value + up, known + (~self.seen).mean())

    def p(self) -> float:
        """Of "more than one half": the smallest error tried at which the lower limit is."""
        low, high = 0, len(TRIED)
        while low < high:
            middle = (low + high) // 2
            holds = self.ends(TRIED[middle], True)[0] > 0.5
            low, high = (middle + 1, high) if holds else (low, middle)
        return TRIED[low - 1] if low else 1.0


class Audit:
    """The labels of one benchmark."""

    def __init__(self, benchmark: Benchmark) -> None:
        self.benchmark, study = benchmark, benchmark.study
        bodies = [
            json.loads(body)
            for (body,) in study.db.execute("SELECT body FROM event WHERE kind = 'seal' ORDER BY seq")
        ]
        labelled = {
            about for (about,) in study.db.execute("SELECT about FROM label WHERE stamp = ?", [study.stamp])
        }
        drawn = [body for body in bodies if body["about"] in labelled and body.get("configurations")]
        self._tested: dict[tuple[str, str, str], tuple[float, float]] = {}
        self.out = [
            body
            for body in bodies
            if body["about"] not in labelled
            and set(body.get("configurations") or ()) & set(benchmark.configurations)
        ]
        # All sheets with a configuration count together.
        self.sheets: dict[str, list[str]] = {}
        for body in drawn:
            for c in body["configurations"]:
                if c in benchmark.configurations:
                    self.sheets.setdefault(c, []).append(body["about"])
        self.configurations = [c for c in benchmark.configurations if c in self.sheets]

    @cached_property
    def labels(self) -> dict[str, list[tuple[str, str]]]:
        """By UUID the names and labels of people."""
        found: dict[str, list[tuple[str, str]]] = {}
        for uuid, name, label in self.benchmark.study.db.execute("SELECT uuid, annotator, label FROM label"):
            found.setdefault(uuid, []).append((name, label))
        return found

    def strata(self, model: str, configuration: str) -> tuple[Any, Any, Any, Any]:
        """By response what was said, what it earned, whether people labelled it, and its points."""
        study, cell = self.benchmark.study, self.benchmark.at[model, configuration]
        nonces = dict(study.db.execute("SELECT about, nonce FROM blinding"))
        gold = dict(study.db.execute("SELECT item, gold FROM shown WHERE benchmark = ?", [cell["benchmark"]]))
        rows = study.db.execute(
            """SELECT item, replicate, choice, score, json_extract(evidence, '$.confidence') FROM sample
               WHERE cell = ? ORDER BY item, replicate""",
            [cell["id"]],
        ).fetchall()
        numbers: dict[Any, int] = {}
        said: list[int] = []
        earned: list[float] = []
        seen: list[bool] = []
        points: list[float] = []
        for item, replicate, choice, score, confidence in rows:
            given = []
            for about in self.sheets[configuration]:
                place = json.dumps([study.stamp, about, cell["key"], item, replicate], separators=(",", ":"))
                code = hmac.new(bytes.fromhex(nonces[about]), place.encode(), hashlib.sha256).digest()[:16]
                given += self.labels.get(str(UUID(bytes=code, version=4)), [])
            state = score, "unread" if choice is None else confidence
            said.append(numbers.setdefault(state, len(numbers)))
            earned.append(float(score))
            seen.append(bool(given))
            points.append(float(np.mean([label == "ABCD"[gold[item]] for _, label in given] or [False])))
        return np.array(said), np.array(earned), np.array(seen), np.array(points)

    def document(self, taken_back: list[Json]) -> Json | None:
        if not self.configurations:
            return None
        return {
            "sheets": list(dict.fromkeys(name for c in self.configurations for name in self.sheets[c])),
            "annotators": len({name for given in self.labels.values() for name, _ in given}),
            "configurations": self.configurations,
            "exempt": [],
            "values": list(self._values()),
            "gaps": list(self._gaps()),
            "taken_back": taken_back,
            "given": False,
            "unreturned": len(self.out),
        }

    def _values(self) -> Iterator[Json]:
        for configuration in self.configurations:
            for model in self.benchmark.models:
                columns = self.strata(model, configuration)
                found = Strata(*columns)
                yield {
                    "what": "score",
                    "model": model,
                    "configuration": configuration,
                    "machine": float(columns[1].mean()),
                    "corrected": {
                        "value": found.value,
                        "here": found.ends(0.025, False),
                        "new": found.ends(0.025, True),
                    },
                    "responses": len(columns[1]),
                    "labelled": int(columns[2].sum()),
                    "strata": found.strata(),
                }

    def pair(self, a: str, b: str, configuration: str) -> Strata:
        """Of both models on the same items, (1 + a - b) / 2."""
        (said, earned, seen, points), (other, theirs, both, people) = (
            self.strata(model, configuration) for model in (a, b)
        )
        joint = said * (int(other.max()) + 1) + other
        return Strata(joint, (1 + earned - theirs) / 2, seen & both, (1 + points - people) / 2)

    def p_values(self, a: str, b: str, configuration: str) -> tuple[float, float]:
        key = a, b, configuration
        if key not in self._tested:
            self._tested[key] = self._p_values(*key)
        return self._tested[key]

    def _p_values(self, a: str, b: str, configuration: str) -> tuple[float, float]:
        if configuration not in self.configurations:
            return 1.0, 1.0
        found = self.pair(a, b, configuration)
        turned = self.pair(b, a, configuration)
        # Strata of the turned pair are numbered otherwise, and hold the same.
        return found.p(), turned.p()

    def _gaps(self) -> Iterator[Json]:
        for configuration in self.configurations:
            for a, b in combinations(self.benchmark.models, 2):
                found = self.pair(a, b, configuration)
                plus, minus = self.p_values(a, b, configuration)
                here, new = ([2 * end - 1 for end in found.ends(0.025, further)] for further in (False, True))
                yield {
                    "what": "score",
                    "a": a,
                    "b": b,
                    "configuration": configuration,
                    "machine": float(2 * found.earned.mean() - 1),
                    "corrected": {"value": 2 * found.value - 1, "here": here, "new": new},
                    "p_plus": plus,
                    "p_minus": minus,
                    "responses": len(found.seen),
                    "labelled": int(found.seen.sum()),
                    "strata": found.strata(),
                }
