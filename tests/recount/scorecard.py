"""Every number of scorecard.json, computed again by a program of its own from what anybody can export.

It reads three things: the tables of samples and scores as CSV, the lock, and (for the lines about how the
study was carried out) the events and calls of the store, with csv, json, sqlite3, numpy and statsmodels.
Nothing of gridc is imported. `differences` names every leaf that differs, and every number that nobody
recounted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np

from tests.recount.exported import Cell, Export, Json, in_pairs
from tests.recount.study import matches
from tests.recount.unit_limits import limits

LEVEL = 0.95
APART = Fraction(2, 100)
BOTH_READINGS = ("unreadable answers counted", "unreadable answers left out")

NOT_NUMBERS = (
    r"format|study|title|answer|gridc|stamp|registered|results|(.*\.)?rows",
    r"recorded",  # None: gridc asked, and nobody's logs
    r"models\.\d+\.(model|note|reference\..*)|lower_is_better\..*|targets(\..*)?",
    r"models\.\d+\.matrix\.\d+\.(benchmark|configuration|levels\..*)",
    r"methodology\.\d+\.(id|question|said|evidence)",
    r"integrity\.\d+\.(model|benchmark|change\..*|left|right)",
    r"threats\.\d+\.(threat|met|left)|checklist\.\d+\.(id|recommendation|said)",
    r"claims\.\d+\.(id|claim|stated|reach)|deviations\..*|observed\..*|not_varied\..*",
    r"differences\.\d+|warnings\.\d+",  # sentences: `unfounded` looks at their figures
)
"""What is not a number: names, digests, words."""


def recount(export: Export, certificate: Json) -> Json:
    """The scorecard as the exported tables have it. `certificate` is recounted elsewhere: from it come
    the claims that are certified, the falsification tests, the hypotheses' verdicts."""
    return {
        "complete": all(cell.complete for cell in export.cells),
        "level": LEVEL,
        "models": [_model(export, model) for model in export.models],
        "hypotheses": certificate["hypotheses"],
        "curves": [],
        "integrity": list(_integrity(export)),
        "methodology": list(_methodology(export, certificate)),
        "threats": list(_threats(export)),
        "checklist": list(_checklist(export)),
        "claims": list(_claims(export, certificate)),
    }


def _model(export: Export, model: str) -> Json:
    cells = [cell for benchmark in export.benchmarks for cell in export.of(model, benchmark)]
    return {
        "matrix": [_row(export, cell, export.of(model, cell.benchmark)[0]) for cell in cells],
        "sensitivity": _sensitivity([cell for cell in cells if cell.complete]),
    }


def _row(export: Export, cell: Cell, reference: Cell) -> Json:
    """The first cell of a benchmark is its reference: neither study declares an anchor."""
    found: Json = {"trials": cell.trials, "readable": None, "per_protocol": None, "change": None}
    scored = [int(row["score"]) for row in cell.rows if row["score"] != ""]
    found["points"] = sum(scored) / cell.scale
    if not cell.complete:
        return found | {"rate": None, "interval": None}
    interval = list(limits(*cell.by_unit()))
    found |= {"rate": cell.rate, "interval": interval}
    if not cell.ranks:
        found["readable"] = cell.read
        if cell.read:
            scores = [score for of_item in cell.readable().values() for score in of_item]
            found["per_protocol"] = float(sum(scores, Fraction(0)) / len(scores))
    if cell is not reference and reference.complete:
        difference, ends = export.moved(reference, cell)
        read = None if cell.ranks or reference.ranks else export.moved(reference, cell, readable=True)
        found["change"] = {
            "difference": difference,
            "interval": ends,
            "number_needed": _needed(difference, ends, export.spec["analysis"].get("nnh")),
            "per_protocol": None if read is None else read[0],
            "per_protocol_interval": None if read is None else read[1],
        }
    return found


def _needed(difference: Fraction, ends: Json, stated: Json) -> Json:
    """1 / |difference|, rounded up or as stated; of an interval with 0 in it Altman's two numbers."""
    nearest = stated is not None and stated["rounding"] == "round"
    zero = difference == 0
    number = None if zero else 1 / abs(difference)
    clear, through = [None, None], [None, None]
    if ends is not None and (ends[0] > 0 or ends[1] < 0):
        clear = sorted(1 / abs(end) for end in ends)
    elif ends is not None:
        through = [1 / -ends[0] if ends[0] < 0 else None, 1 / ends[1] if ends[1] > 0 else None]
    return {
        "kind": "none" if zero else "benefit" if difference > 0 else "harm",
        "number": number,
        "displayed": None if number is None else round(number) if nearest else ceil(number),
        "low": clear[0],
        "high": clear[1],
        "harm": through[0],
        "benefit": through[1],
    }


def _sensitivity(cells: Sequence[Cell]) -> Json:
    """Table 40: ranges of rates, and eta squared of the configuration by statsmodels on single answers."""
    by_benchmark: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        by_benchmark[cell.benchmark].append(cell.good)
    ranges = {name: max(rates) - min(rates) for name, rates in by_benchmark.items()}
    return {
        "cells": len(cells),
        "share": _eta_squared(cells) if all(cell.scale == 1 for cell in cells) else None,
        "mean_range": float(np.mean(list(ranges.values()))),
        "max_range": max(ranges.values()),
        "widest": max(ranges, key=lambda name: ranges[name]),
        "rate": sum(cell.trials * cell.good for cell in cells) / sum(cell.trials for cell in cells),
    }


def _eta_squared(cells: Sequence[Cell]) -> float:
    import pandas as pd  # type: ignore[import-untyped]
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    frame = pd.DataFrame(
        [
            {
                "y": 1 - int(row["score"]) if cell.lower else int(row["score"]),
                "configuration": cell.configuration,
                "benchmark": cell.benchmark,
            }
            for cell in cells
            for row in cell.rows
        ]
    )
    many = frame["benchmark"].nunique() > 1
    formula = "y ~ C(configuration) * C(benchmark)" if many else "y ~ C(configuration)"
    table = anova_lm(ols(formula, frame).fit(), typ=2)
    total = ((frame["y"] - frame["y"].mean()) ** 2).sum()
    return float(table.loc["C(configuration)", "sum_sq"] / total)


def _changes(export: Export) -> Iterator[tuple[Cell, Cell]]:
    """(reference, cell) of every change of configuration that is measured."""
    for benchmark in export.benchmarks:
        for model in export.models:
            first, *others = export.of(model, benchmark)
            yield from ((first, cell) for cell in others if first.complete and cell.complete)


def _side(ends: Json) -> int:
    return 0 if ends is None else int(ends[0] > 0) - int(ends[1] < 0)


def _kept(left: Json, right: Json) -> str:
    sides = _side(left[1]), _side(right[1])
    if all(sides):
        return "same" if sides[0] == sides[1] else "reversed"
    return "only_left" if sides[0] else "only_right" if sides[1] else "neither"


def _integrity(export: Export) -> Iterator[Json]:
    """By benchmark: unreadable answers counted or not, then each pair of levels that scores the same
    answers: those of an axis on which both readings have the very same texts."""
    for benchmark in export.benchmarks:
        changes = [pair for pair in _changes(export) if pair[0].benchmark == benchmark]
        by_model = sorted(changes, key=lambda pair: export.models.index(pair[0].model))
        for first, second in sorted(by_model, key=lambda pair: _order(export, pair[1])):
            changed = [axis for axis, level in second.levels.items() if first.levels[axis] != level]
            if len(changed) == 1 and not (first.ranks or second.ranks):
                left, right = export.moved(first, second), export.moved(first, second, readable=True)
                if right is not None and not _equal(left, right):
                    yield _both(left, right, first, second)
        yield from _reread(export, benchmark)


def _order(export: Export, cell: Cell) -> int:
    return export.cells.index(cell)


def _equal(left: Json, right: Json) -> bool:
    """The same to the last digit that is kept."""
    same = abs(left[0] - right[0]) < 1e-9
    ends = (left[1] is None) is (right[1] is None)
    return same and ends and (left[1] is None or np.allclose(left[1], right[1], atol=1e-9))


def _both(left: Json, right: Json, *cells: Any) -> Json:
    return {
        "n": sum(cell.trials for cell in cells),
        "by_left": left[0],
        "left_interval": left[1],
        "by_right": right[0],
        "right_interval": right[1],
        "kept": _kept(left, right),
    }


def _reread(export: Export, benchmark: str) -> Iterator[Json]:
    for axis in export.spec["axis"]:
        for left, right in combinations([level["id"] for level in axis["level"]], 2):
            for model in export.models:
                mine = [cell for cell in export.of(model, benchmark) if cell.complete]
                cells = {tuple(cell.levels.items()): cell for cell in mine}
                if not cells:
                    continue
                start = dict(next(iter(cells)))
                for levels in cells:
                    place = dict(levels)
                    moved = {k: v for k, v in place.items() if k != axis["id"] and start[k] != v}
                    if len(moved) != 1 or place[axis["id"]] != left:
                        continue
                    corner = [
                        cells.get(tuple((start | change | {axis["id"]: rule}).items()))
                        for rule in (left, right)
                        for change in ({}, moved)
                    ]
                    held = [cell for cell in corner if cell is not None]
                    if len(held) < 4 or _texts(held[0]) != _texts(held[2]):
                        continue
                    if _texts(held[1]) == _texts(held[3]):
                        by_left, by_right = export.moved(held[0], held[1]), export.moved(held[2], held[3])
                        yield _both(by_left, by_right, *held)


def _texts(cell: Any) -> list[tuple[str, str, str]]:
    """The calls behind a cell: two rules score the same answers where these are the same."""
    return sorted((row["item"], row["replicate"], row["calls"]) for row in cell.rows)


def _methodology(export: Export, certificate: Json) -> Iterator[Json]:
    """The counts of every line, and its answer."""
    mine = "id IN (SELECT call FROM trace JOIN cell ON cell.id = trace.cell WHERE stamp = ?)"
    ((calls, answered, early),) = export.db.execute(
        f"""SELECT count(*), count(answer), coalesce(sum(julianday(finished) < julianday(?)), 0)
            FROM call WHERE {mine}""",
        [export.lock["created"], export.stamp],
    )
    unscored = sum(row["score"] == "" for cell in export.cells for row in cell.rows)
    complete = answered == calls and not unscored
    (stamped, *_), (started, *_) = export.events("stamp"), export.events("start")
    first = "yes" if not early and stamped[0] < started[0] else "partly" if early < answered else "no"
    ((others,),) = export.db.execute("SELECT count(*) FROM study WHERE stamp <> ?", [export.stamp])
    assert not others and not export.lock["supersedes"], (
        "data under other stamps: see tests/reports/test_earlier.py"
    )
    yield _line("stamped_first", first, calls_before_stamp=early, calls=answered, earlier_stamps=0)
    yield _line("vouched", "no")
    yield _line("registered", "no")
    hypotheses = len(export.spec["hypothesis"])
    left = sum(row["table"] == "hypothesis" for row in certificate.get("uncomputed", ()))
    held = "yes" if hypotheses else "no"
    yield _line("hypotheses", held, hypotheses=hypotheses, stamped=hypotheses, unanswered=left)
    inputs = len(export.models) + len(export.benchmarks)
    yield _line("inputs", "yes", pinned=inputs, inputs=inputs)
    yield _line("deviations", "yes", entries=0, standing=0, paths=0, superseded=0)
    capped = export.db.execute(
        f"SELECT count(*) FROM call WHERE json_extract(answer, '$.finish') = 'length' AND {mine}",
        [export.stamp],
    ).fetchone()[0]
    seen = bool(capped) + len(export.events("observed"))
    yield _line("observed", "no" if seen else "yes", observed=seen)
    yield _line("complete", "yes" if complete else "no", answered=answered, calls=calls, unscored=unscored)
    looks = len(export.events("interim look"))
    yield _line("one_look", "no" if looks else "yes" if complete else "not_measured", looks=looks)
    changes, both, apart = _readings(export)
    yield _line("both_readings", "yes", changes=changes, both=both, diverge=apart)
    run = {(cell.model, cell.levels.get("precision", "fp32")) for cell in export.cells}
    noisy = {(body["identity"], body["precision"]) for _, body in export.events("noise") if body["outcomes"]}
    held = "not_measured" if not noisy else "yes" if len(noisy) == len(run) else "partly"
    yield _line("noise", held, measured=len(noisy), models=len(run))
    for name in ("sealed", "guessed", "agreed"):
        yield _line(name, "not_applicable")
    yield _line("audited", "no", sheets=0)
    yield _line("forks", "no", forks=0, stamped=0, documented=0)
    yield _line("curve", "no", curves=0, run=0, declared=0, specifications=0, failed=0)
    tests = [row["result"] for row in certificate["falsifications"]]
    counts = {word: tests.count(word) for word in ("pass", "partial", "fail", "open")}
    stated = len(export.spec["falsification"])
    decided = len(tests) - counts["open"]
    held = "no" if not stated else "yes" if decided == stated else "partly" if decided else "not_measured"
    yield _line("falsified", held, **counts, tests=stated, undecided=stated - len(tests))
    yield _line("results_tied", "no")


def _line(name: str, holds: str, **counts: int) -> Json:
    return {"id": name, "holds": holds, "counts": counts}


def _readings(export: Export) -> tuple[int, int, int]:
    """Changes, those with both readings, and those in which the two are more than two points apart."""
    changes = both = apart = 0
    for first, second in _changes(export):
        changes += 1
        if first.ranks or second.ranks or not in_pairs(first, second):
            continue
        both += 1
        itt, read = (export.moved(first, second, way)[0] for way in (False, True))
        apart += abs(itt - read) > APART
    return changes, both, apart


def _threats(export: Export) -> Iterator[Json]:
    _, both, apart = _readings(export)
    yield {"counts": {"changes": both, "diverge": apart}}
    run = {(cell.model, cell.levels.get("precision", "fp32")) for cell in export.cells}
    bodies = [body for _, body in export.events("noise") if body["outcomes"]]
    yield {
        "counts": {
            "models": len(run),
            "measured": len({(body["identity"], body["precision"]) for body in bodies}),
            "outcomes": sum(body["outcomes"] for body in bodies),
            "changed": sum(body["outcomes_changed"] for body in bodies),
        }
    }
    for benchmark in export.spec["benchmark"]:
        if benchmark["loader"] == "bbq" or benchmark.get("unit") == "item":
            cell = export.of(export.models[0], benchmark["id"])[0]
            yield {"counts": {"units": cell.units}}
    for _ in export.spec.get("waive", ()):
        yield {"counts": {}}


def _checklist(export: Export) -> Iterator[Json]:
    paired = 0
    for benchmark in export.benchmarks:
        cells = [cell for cell in export.cells if cell.benchmark == benchmark and cell.complete]
        ways = {(cell.ranks, cell.method == "refusal_keywords") for cell in cells}
        paired += len(ways) > 1
    held = "yes" if paired == len(export.benchmarks) else "partly" if paired else "no"
    yield {"holds": held, "counts": {"paired": paired, "benchmarks": len(export.benchmarks)}}
    yield {"holds": "no", "counts": {"divided": 0, "scaffolds": 0}}
    moved = [_side(export.moved(*pair)[1]) for pair in _changes(export)]
    held = "yes" if moved else "not_measured"
    yield {"holds": held, "counts": {"changes": len(moved), "worse": moved.count(-1)}}
    done = sum(cell.complete for cell in export.cells)
    yield {"holds": "not_applicable", "counts": {"cells": done, "with_system": 0}}


def _claims(export: Export, certificate: Json) -> Iterator[Json]:
    answers = {row["id"]: row["verdict"] for row in certificate["hypotheses"]}
    for row in certificate["benchmarks"]:
        cells = [cell for cell in export.cells if cell.benchmark == row["benchmark"]]
        items = len({each["item"] for cell in cells for each in cell.rows})
        pairs = row["scopes"][0]["pairs"]
        certified = sum(pair["evidence"]["certified"]["claim"] is not None for pair in pairs)
        shared: Json = {"cases": items, "models": len({cell.model for cell in cells})}
        if pairs:
            yield shared | {
                "answer": f"established for {certified} of {len(pairs)} pair{'s' * (len(pairs) > 1)}",
                "configurations": len({cell.configuration for cell in cells}),
            }
        for scope in row["scopes"]:
            if scope["declared"] == "post_hoc":
                yield shared | {"answer": "named after the data were seen", "configurations": scope["size"]}
    for hypothesis in export.spec["hypothesis"]:
        about = [
            cell
            for cell in export.cells
            if cell.model in compared_models(hypothesis, [cell.model])
            and matches(hypothesis.get("where", {}), _place(cell))
        ]
        yield {
            "answer": answers[hypothesis["id"]],
            "cases": len({(cell.benchmark, row["item"]) for cell in about for row in cell.rows}),
            "models": len({cell.model for cell in about}),
            "configurations": len({cell.configuration for cell in about}),
        }


def _place(cell: Cell) -> dict[str, str]:
    return {**cell.levels, "model": cell.model, "benchmark": cell.benchmark}


def differences(card: Json, expected: Json, path: str = "") -> Iterator[str]:
    """Every leaf that is not what was recounted, and every number that was not recounted."""
    if isinstance(card, dict):
        known = expected if isinstance(expected, dict) else {}
        for key in card.keys() | known.keys():
            here = f"{path}.{key}" if path else key
            if key not in card:
                yield f"{here}: recounted, but not there"
            elif key in known:
                yield from differences(card[key], known[key], here)
            else:
                yield from differences(card[key], ..., here)
        if expected is None:
            yield f"{path}: recounted as nothing"
    elif isinstance(card, list):
        others = expected if isinstance(expected, list) else [...] * len(card)
        if len(others) != len(card):
            yield f"{path}: {len(card)} entries, recounted {len(others)}"
        for number, (value, other) in enumerate(zip(card, others, strict=False)):
            yield from differences(value, other, f"{path}.{number}")
    elif expected is ...:
        if not any(re.fullmatch(pattern, path) for pattern in NOT_NUMBERS):
            yield f"{path}: {card!r} was not recounted"
    elif isinstance(card, float | int) and isinstance(expected, float | int) and not isinstance(card, bool):
        if abs(card - expected) > 1e-9 + 2e-9 * abs(card):
            yield f"{path}: {card!r}, recounted {expected!r}"
    elif card != expected:
        yield f"{path}: {card!r}, recounted {expected!r}"


def unfounded(card: Json, certificate: Json) -> Iterator[str]:
    """Every percentage in the sentences on differences that no verdict of its pair has."""
    for line in card["differences"]:
        held = {
            f"{100 * abs(value):.1f}"
            for row in certificate["verdicts"]["rows"]
            if line.startswith(f"{row['a']} and {row['b']}, ")
            for ends in (row["interval"], row["on_units"], (row["unread_low"], row["unread_high"]))
            for value in (row["value_a"], row["value_b"], row["gap"], *(ends or ()))
            if value is not None
        }
        yield from (f"{told} in {line!r}" for told in re.findall(r"\d+\.\d\b", line) if told not in held)


def compared_models(hypothesis: Json, else_: Sequence[str]) -> Sequence[str]:
    """The models that a hypothesis compares; `else_` where it compares something else."""
    if hypothesis["kind"] == "ranking":
        return list(hypothesis["order"])
    if hypothesis.get("axis") != "model":
        return else_
    level = hypothesis["level"]
    return [hypothesis["reference"], *([level] if isinstance(level, str) else level)]
