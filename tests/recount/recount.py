"""Every number of certificate.json, computed again from the store by a program of its own.

Plain sqlite3, numpy and scipy; nothing of gridc is imported. What is computed follows the field descriptions
of the certificate's schema, docs/certificates.md, docs/statistics.md and README.md. `recount` gives the
certificate as it must be, without what is not a number. `differences` walks the real one and names every leaf
that differs, and every leaf that nobody recounted and that is not on the short list of what is not a number.

    python -m tests.recount.recount STORE CERTIFICATE FOLDER     # FOLDER: of the benchmarks' files
"""

import csv
import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import Any

from tests.recount.audit import Audit
from tests.recount.breakdowns import breakdowns
from tests.recount.counts import agreements, between, counts, floors, orders, precisions, rankings
from tests.recount.effects import effects
from tests.recount.evidence import evidence
from tests.recount.falsification import falsifications
from tests.recount.intervals import intervals
from tests.recount.rates import endings, forms, rates, thoughts
from tests.recount.spread import largest_rho, level_gaps, maxima, variance
from tests.recount.standings import standings
from tests.recount.stated import attempts, macro_mean, spreads
from tests.recount.study import Benchmark, Groups, Json, Study
from tests.recount.verdicts import verdicts

NOT_NUMBERS = (
    r"format|study|title|gridc|outcome|models\..*",  # names
    r"recorded(\..*)?",  # which logs: their names and digests
    r"falsifications\.\d+\.(id|category|test|criterion|kept\..*|result)",  # verdicts: test_falsification.py
    r"stamp|registered|supersedes\..*|results|(.*\.)?rows",  # digests: `gridc verify` hashes again
    r"anchor\..*|results_anchor.*",  # of the lock and of git, not of the store
    r"statistics\.\d+\.(id|kind|what|benchmarks\..*)|statistics\..*\.(method|note)",  # names and sentences
    r"estimand|statements\..*|uncomputed\..*|intervals\.(method|assumption)",  # sentences
    r"hypotheses\.\d+\.(id|effect\.failure\.words|kind|claim|family|ranking\.order\..*)|scopes\.\d+\.declared|rates\.\d+\.(what|formula)",
)


def groups_in(folder: Path, spec: Json) -> Groups:
    """The groups of items as the benchmarks' own files state them. BBQ: a template is a category's
    `question_index`, a family four versions of a scenario; TruthfulQA's format: what a row names."""
    sources = {row["id"]: (row["loader"], row["source"].partition(":")[2]) for row in spec["benchmark"]}

    def of(benchmark: str, level: str) -> Mapping[str, str]:
        loader, source = sources[benchmark]
        text = (folder / source).read_text("utf-8")
        if loader == "bbq":
            rows = [json.loads(line) for line in text.splitlines() if line.strip()]
            number = {
                "template": lambda row: row["question_index"],
                "family": lambda row: row["example_id"] // 4,
            }
            return {
                f"{row['category']}-{row['example_id']}": f"{row['category']}-{number[level](row)}"
                for row in rows
            }
        if loader == "rows":
            (fields,) = (row["loading"]["fields"] for row in spec["benchmark"] if row["id"] == benchmark)
            rows = [json.loads(line) for line in text.splitlines()]
            return {f"{benchmark}-{place:05}": row[fields[level]] for place, row in enumerate(rows, 1)}
        return {f"q{place:04}": row[level] for place, row in enumerate(json.loads(text), 1)}

    return of


def groups_of(store: Path, stamp: str) -> Groups:
    """Of logs: the groups that the store has."""

    def of(benchmark: str, level: str) -> Mapping[str, str]:
        rows = sqlite3.connect(store).execute(
            f"SELECT item, {level} FROM item WHERE stamp = ? AND benchmark = ?", [stamp, benchmark]
        )
        return dict(rows.fetchall())

    return of


def rows_in(folder: Path, source: str) -> int:
    """How many rows a benchmark's own file holds: of JSONL its lines, of CSV those below the header."""
    path = folder / source.partition(":")[2]
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        return len(json.loads(text))
    if path.suffix == ".csv":
        return sum(bool(row) for row in csv.reader(text.splitlines(keepends=True))) - 1
    return sum(bool(line.strip()) for line in text.splitlines())


def recount(store: Path, certificate: Json, folder: Path) -> Json:
    """The certificate as the store has it. From the given one only the stamp and each benchmark's level of
    units are taken; `folder` holds the benchmarks' files."""
    stamp = certificate["stamp"]
    (content,) = (
        sqlite3.connect(store).execute("SELECT content FROM study WHERE stamp = ?", [stamp]).fetchone()
    )
    document = json.loads(content)
    groups = groups_of(store, stamp) if "recorded" in document else groups_in(folder, document["spec"])
    study = Study(store, stamp, groups)
    units = {row["benchmark"]: row["unit"] for row in certificate["benchmarks"]}
    benchmarks = {row["id"]: Benchmark(study, row["id"], units[row["id"]]) for row in study.spec["benchmark"]}
    mine = "id IN (SELECT call FROM trace JOIN cell ON cell.id = trace.cell WHERE stamp = ?)"
    ((calls, answered, near),) = study.db.execute(
        f"""SELECT count(*), count(answer), coalesce(sum(json_extract(answer, '$.near_ties')), 0)
            FROM call WHERE {mine}""",
        [study.stamp],
    )
    ((close,),) = study.db.execute(
        """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell
           WHERE stamp = ? AND json_extract(evidence, '$.margin') < 1e-4""",
        [study.stamp],
    )
    created = [
        json.loads(body)["created"]
        for (body,) in study.db.execute("SELECT body FROM event WHERE kind = 'stamp' ORDER BY seq")
        if json.loads(body)["stamp"] == study.stamp
    ]
    ((early,),) = study.db.execute(
        f"SELECT count(*) FROM call WHERE julianday(finished) < julianday(?) AND {mine}",
        [(created or [None])[-1], study.stamp],
    )
    unscored = sum(score is None for cell in study.cells for *_, score in cell["samples"])
    complete = answered == calls and not unscored
    rows, measured = floors(study)
    audits = {name: Audit(benchmark) for name, benchmark in benchmarks.items()}
    audited = any(audit.configurations for audit in audits.values())
    as_read = evidence(study, list(benchmarks.values()), complete, {}) if audited else {}
    for name, audit in audits.items():
        benchmarks[name].audited = frozenset(audit.configurations)
    weighed = evidence(study, list(benchmarks.values()), complete, audits)
    as_read = as_read or weighed
    kinds = [each["kind"] for each in study.spec["hypothesis"]]
    hypotheses = effects(study, benchmarks, complete, weighed["rankings"])
    of_rankings = [row for kind, row in zip(kinds, hypotheses, strict=True) if kind == "ranking"]
    ranked = rankings(study, benchmarks, measured, of_rankings)
    hypotheses = [
        next(ranked) if kind == "ranking" else row for kind, row in zip(kinds, hypotheses, strict=True)
    ]
    benchmark_rows = [
        benchmark_row(
            benchmark,
            weighed,
            measured,
            len(benchmark.items) if study.recorded else rows_in(folder, benchmark.row["source"]),
        )
        | {
            "standings": standings(benchmark, complete, audits[benchmark.name]),
            "audit": audits[benchmark.name].document(_taken_back(benchmark, as_read, weighed)),
        }
        for benchmark in benchmarks.values()
    ]
    # What is read of a part of a response no other program reads: tests/reports/test_doubtful.py.
    for row, shown in zip(benchmark_rows, certificate["benchmarks"], strict=True):
        row["doubtful"] = shown["doubtful"]
    return {
        "complete": complete,
        "answered": answered,
        "calls": calls,
        "near_ties": near + close,
        "calls_before_stamp": early,
        "noise_floors": [] if study.recorded else rows,
        "hypotheses": hypotheses,
        "falsifications": list(falsifications(study, list(benchmarks.values()))),
        "statistics": [statistic(row, study, benchmarks) for row in study.spec.get("statistic") or ()],
        "maxima": list(maxima(study, list(benchmarks.values()))),
        "largest_rho": largest_rho(study, list(benchmarks.values())),
        "precisions": list(precisions(study, benchmarks)),
        "verdicts": verdicts(study, benchmarks, benchmark_rows, complete, audits),
        "breakdowns": breakdowns(study, benchmarks, benchmark_rows),
        "benchmarks": benchmark_rows,
    }


def _taken_back(benchmark: Benchmark, as_read: Mapping[Any, Json], weighed: Mapping[Any, Json]) -> list[Json]:
    """Claims that are certified without the labels, and not with them."""
    found = []
    for a, b in combinations(benchmark.models, 2):
        alone, both = (
            rows[benchmark.name, tuple(benchmark.configurations), a, b]["certified"]
            for rows in (as_read, weighed)
        )
        if alone["claim"] and not both["claim"]:
            found.append({"a": a, "b": b, "claim": alone["claim"], "first": alone["first"]})
    return found


def statistic(row: Json, study: Study, benchmarks: Mapping[str, Benchmark]) -> Json:
    """Means of means and spreads, of benchmarks that share their configurations, and of several no item. Of
    the other kinds tests/e2e/test_designs.py knows the values, and test_stated.py the limits."""
    stated = row.get("benchmark") or list(benchmarks)
    named = [stated] if isinstance(stated, str) else list(stated)
    models: dict[str, Json] = {model: {} for model in benchmarks[named[0]].models}
    for model, configuration in benchmarks[named[0]].at:
        parts = [_scored(benchmarks[name], (model, configuration)) for name in named]
        if row["kind"] == "macro_mean":
            groups: dict[str, list[tuple[str, float, float]]] = {}
            for name, part in zip(named, parts, strict=True):
                category_of = _categories(study, benchmarks[name]) if row.get("by") == "category" else {}
                groups |= {f"{name} {category}": [] for category in (category_of or {"": ""}).values()}
                for unit, item, y in part:
                    groups[f"{name} {category_of.get(item, '')}"].append((f"{name} {unit}", 1.0, y))
            value, interval = macro_mean(list(groups.values()))
        elif row["kind"] in ("pass_at", "pass_all"):
            (part,) = parts
            value, interval = attempts(part, row["k"], row["kind"] == "pass_all")
        else:
            (part,) = parts
            value, interval = spreads(part)[row["kind"] == "spread_between"]
        asked = sum(map(len, parts))
        known = None if isnan(value) else value
        counts_of = {"responses": asked, "asked": asked}
        models[model][configuration] = {"value": known, "interval": interval, **counts_of}
    return {"models": models}


def _categories(study: Study, benchmark: Benchmark) -> dict[str, str]:
    """The category of each item, as the store lists it."""
    listed = study.db.execute(
        "SELECT item, category FROM item WHERE stamp = ? AND benchmark = ?", [study.stamp, benchmark.name]
    )
    return {str(item): category for item, category in listed}


def _scored(benchmark: Benchmark, place: tuple[str, str]) -> list[tuple[str, str, float]]:
    """The unit, the item and the score of each response that has one."""
    scale = benchmark.scales[place]
    return [
        (str(benchmark.unit_of[item]), str(item), score / scale)
        for item, _, _, score in benchmark.at[place]["samples"]
        if score is not None
    ]


def benchmark_row(
    benchmark: Benchmark, weighed: Mapping[Any, Json], measured: Mapping[Any, Json], rows: int
) -> Json:
    models = benchmark.models
    pairs = list(combinations(models, 2))
    spread, ends = intervals(benchmark)
    scopes = []
    for kind, name, _, inside in benchmark.scopes():
        pair_rows = []
        for a, b in pairs:
            row = counts(benchmark, a, b, inside, measured)
            shown = weighed[benchmark.name, tuple(inside), a, b]
            row["unread"]["claim"] = claim_stands(shown, row["unread"], a, len(inside))
            pair_rows.append(row | {"evidence": shown})
        scopes.append(
            {
                "kind": kind,
                "name": name,
                "size": len(inside),
                "configurations": inside,
                "pairs": pair_rows,
                **orders(benchmark, inside),
            }
        )
    return {
        "benchmark": benchmark.name,
        "items": len(benchmark.items),
        "distinct": benchmark.distinct,
        "held": rows - benchmark.left_out,
        "unit": benchmark.unit,
        "units": benchmark.G,
        "left_out": benchmark.left_out,
        "direction": "nearest_is_best" if benchmark.target is not None else benchmark.row["direction"],
        "target": benchmark.target,
        "envelope": [
            {
                "configuration": c,
                "tier": cell["tier"],
                "slices": benchmark.slices(cell),
                "method": method,
                "scores": {
                    model: {**benchmark.tallies[model, c], "interval": interval, "on_units": on_units}
                    for model in models
                    for interval, on_units in [ends.get((model, c), (None, None))]
                },
            }
            for c, cell, method in zip(
                benchmark.configurations, benchmark.first, benchmark.method, strict=True
            )
        ],
        "rates": list(rates(benchmark)),
        "thoughts": list(thoughts(benchmark)),
        "forms": list(forms(benchmark)),
        "endings": [] if benchmark.study.recorded else list(endings(benchmark)),
        "intervals": spread,
        "scopes": scopes,
        "tests": [weighed[benchmark.name, "tests", a, b] for a, b in pairs],
        "ordering_claims": [] if benchmark.target is not None else weighed["orderings"][benchmark.name],
        "between": [row for a, b in pairs if (row := between(benchmark, a, b)) is not None],
        "agreements": list(agreements(benchmark)),
        "variance": list(variance(benchmark)),
        "gaps": list(level_gaps(benchmark)),
    }


def claim_stands(evidence: Json, unread: Json, a: str, size: int) -> bool | None:
    """Whether the strongest claim has its signs whatever is unread."""
    held = next((evidence[tier] for tier in ("certified", "supported") if evidence[tier]["claim"]), None)
    if held is None:
        return None
    if held["claim"] == "reversal":
        return bool(unread["plus"] and unread["minus"])
    return bool(unread["plus" if held["first"] == a else "minus"] == size)


def differences(certificate: Json, expected: Json, path: str = "") -> Iterator[str]:
    """Every leaf that is not what was recounted, and every leaf that was not recounted and is no name."""
    if path.endswith("ordering_claims"):  # sorted by p; equal ones stand in any order
        certificate, expected = (
            sorted(rows, key=lambda row: row["order"]) for rows in (certificate, expected)
        )
    if (
        isinstance(certificate, dict)
        and isinstance(expected, dict | type(None))
        and (expected is not None or certificate)
    ):
        for key, value in certificate.items():
            here = f"{path}.{key}" if path else key
            if isinstance(expected, dict) and key in expected:
                yield from differences(value, expected[key], here)
            else:
                yield from unnamed(value, here)
        for key in (expected or {}).keys() - certificate.keys():
            yield f"{path}.{key}: recounted, but not there"
    elif isinstance(certificate, list | tuple) and isinstance(expected, list | tuple):
        if len(certificate) != len(expected):
            yield f"{path}: {len(certificate)} entries, recounted {len(expected)}"
        for number, (value, other) in enumerate(zip(certificate, expected, strict=False)):
            yield from differences(value, other, f"{path}.{number}")
    elif not same(certificate, expected) and not ("number_needed" in path and inverse(certificate, expected)):
        yield f"{path}: {certificate!r}, recounted {expected!r}"


def same(value: Json, other: Json) -> bool:
    if isinstance(value, float | int) and not isinstance(value, bool) and other is not None:
        return bool(abs(value - other) <= 1e-9 + 2e-9 * abs(value))
    return bool(value == other) and (value is None) == (other is None)


def inverse(value: Json, other: Json) -> bool:
    """Whether numbers are as equal as the differences that they are 1 over."""
    numbers = all(isinstance(each, float | int) and each for each in (value, other))
    return numbers and same(1 / value, 1 / other)


def unnamed(value: Json, path: str) -> Iterator[str]:
    """The leaves below a place that nobody recounted, without those that are no numbers."""
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in inside:
            yield from unnamed(each, f"{path}.{key}")
    elif not any(re.fullmatch(rf"(?:benchmarks\.\d+\.)?(?:{pattern})", path) for pattern in NOT_NUMBERS):
        yield f"{path}: {value!r} was not recounted"


def leaves(value: Json) -> int:
    if isinstance(value, dict | list | tuple):
        return sum(leaves(each) for each in (value.values() if isinstance(value, dict) else value))
    return 1


if __name__ == "__main__":
    document = json.loads(Path(sys.argv[2]).read_text())
    again = json.loads(json.dumps(recount(Path(sys.argv[1]), document, Path(sys.argv[3])), default=float))
    found = list(differences(document, again))
    print("\n".join(found) or f"{leaves(again):,} values recounted, none differs")
    sys.exit(bool(found))
