"""Statistics of attempts in logs, counted again in plain Python from what the logs say."""

import json
import random
from collections.abc import Iterator
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from gridc import certify
from gridc.diagnostics.errors import FileError, UsageError
from gridc.schema.recorded import LogStatisticRow
from tests.package_logs import inspect, sample

ITEMS, EPOCHS = 24, 4
ASKED = ("pass_at_2", "pass_all_2", "tokens", "thought_tokens", "read_tokens", "cost", "seconds", "calls")


def span(id: str, type: str, parent: str | None = None) -> dict[str, Any]:
    return {"event": "span_begin", "id": id, "parent_id": parent, "type": type, "name": type}


def call(usage: dict[str, Any] | None, model: str = "m", **more: Any) -> dict[str, Any]:
    return {"event": "model", "model": model, "output": {"usage": usage, "time": 0.5}, "span_id": "s", **more}


def usage(read: int, written: int, **more: Any) -> dict[str, Any]:
    return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written, **more}


def samples(draw: random.Random) -> Iterator[dict[str, Any]]:
    """Agents with one to three steps; a simulated user, a judge and a helper are no calls of the model."""
    for id in range(ITEMS):
        for epoch in range(1, EPOCHS + 1):
            steps = [
                call(usage(draw.randrange(10, 50), draw.randrange(1, 90), input_tokens_cache_read=7))
                for _ in range(draw.randrange(1, 4))
            ]
            if (id, epoch) == (3, 2):
                steps[0] = call(None)  # it failed at the provider
            if (id, epoch) == (4, 1):
                steps = [call(usage(0, 0))]  # Inspect's default where a provider counts nothing
            events = [
                span("s", "solvers"),
                *steps,
                call(usage(9, 900), role="user"),
                call(usage(1, 999), "h"),
            ]
            judged = [span("j", "scorers"), span("k", "scorer", "j"), call(usage(5, 500), span_id="k")]
            own: dict[str, Any] = {"error": {"message": "tool"}} if (id, epoch) == (5, 3) else {}
            value = None if own else "C" if draw.random() < 0.6 else "I"
            yield sample(id, value, epoch, events=[*events, *judged], **own)


def steps_of(one: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in one["events"] if each.get("span_id") == "s" and each["model"] == "m"
            and "role" not in each]  # fmt: skip


def certified(path: Path, *statistics: str) -> dict[str, LogStatisticRow]:
    rows = certify(path, statistics=statistics).certificate.statistics
    return {row.statistic: row for row in rows}


def logged(folder: Path, several: list[dict[str, Any]], **more: Any) -> Path:
    own: dict[int, list[bool]] = {}
    for one in several:
        if one["scores"]:
            own.setdefault(one["id"], []).append(one["scores"]["graded"]["value"] == "C")
    metrics = {"accuracy": fmean(map(fmean, own.values()))}
    return inspect(folder / "log.json", several, metrics, config={"epochs": EPOCHS}, **more)


def test_attempts_and_what_they_took_are_those_of_the_log(tmp_path: Path) -> None:
    several = list(samples(random.Random(7)))
    found = certified(logged(tmp_path, several), *ASKED, "tokens / score", "each=answers * score / tokens")
    right: dict[int, int] = {}
    tokens, read, success, calls = 0, 0, 0, 0
    counted = []
    for one in several:
        wins = bool(one["scores"]) and one["scores"]["graded"]["value"] == "C"
        right[one["id"]] = right.get(one["id"], 0) + wins
        steps = [step["output"]["usage"] for step in steps_of(one)]
        calls += len(steps)
        if None not in steps and steps[0]["output_tokens"]:
            counted.append(one)
            tokens += sum(step["output_tokens"] for step in steps)
            read += sum(step["input_tokens"] + 7 for step in steps)
            success += wins
    draws = comb(EPOCHS, 2)
    any_of = sum(1 - comb(EPOCHS - c, 2) / draws for c in right.values()) / ITEMS
    assert found["pass_at_2"].value == pytest.approx(any_of)
    assert found["pass_all_2"].value == pytest.approx(sum(comb(c, 2) for c in right.values()) / draws / ITEMS)
    assert found["pass_at_2"].interval is not None and found["pass_at_2"].unit == "%"
    every, some = ITEMS * EPOCHS, len(counted)
    assert some == every - 2
    assert found["tokens"].value == pytest.approx(tokens / some)
    assert (found["tokens"].answers, found["tokens"].asked) == (some, every)
    assert found["tokens"].interval is not None and found["tokens"].unit == "tokens"
    assert found["read_tokens"].value == pytest.approx(read / some)
    assert found["calls"].value == pytest.approx(calls / every)
    assert found["seconds"].value == pytest.approx(calls / every / 2)
    assert found["tokens_per_score"].value == pytest.approx(tokens / success)
    assert found["tokens_per_score"].unit == "tokens per score"
    assert found["each"].value == pytest.approx(some * success / tokens)
    for name in ("thought_tokens", "cost"):
        row = found[name]
        assert (row.value, row.interval, row.answers, row.note) == (None, None, 0, "not reported")


def test_costs_and_thoughts_count_where_the_log_says_them(tmp_path: Path) -> None:
    several = [
        sample(n, "C", epoch, events=[call(usage(1, 10, reasoning_tokens=n % 3, total_cost=0.25))] * 2)
        for n in range(ITEMS)
        for epoch in range(1, EPOCHS + 1)
    ]
    found = certified(logged(tmp_path, several), "thought_tokens", "cost")
    assert (found["cost"].value, found["cost"].unit) == (0.5, "US dollars")
    assert found["thought_tokens"].value == pytest.approx(2 * sum(n % 3 for n in range(ITEMS)) / ITEMS)


@pytest.mark.parametrize(("scorer", "value"), [("match", 30.0), ("graded", None)])
def test_totals_without_events_count_where_no_scorer_asked_a_model(
    tmp_path: Path, scorer: str, value: float | None
) -> None:
    several = [sample(n, "C", model_usage={"m": usage(5, 30), "judge": usage(5, 900)}) for n in range(ITEMS)]
    path = inspect(tmp_path / "log.json", several, {"accuracy": 1.0}, scorer={"name": scorer})
    log = json.loads(path.read_text())
    log["results"]["scores"][0]["name"] = "graded"
    path.write_text(json.dumps(log))
    found = certified(path, "tokens", "calls")
    assert (found["tokens"].value, found["calls"].value) == (value, None)


def test_steps_of_older_logs_are_no_calls_of_the_model(tmp_path: Path) -> None:
    scored = [{"event": "step", "action": "begin", "type": "scorer", "name": "graded"}]
    ended = [{"event": "step", "action": "end", "type": "scorer", "name": "graded"}]
    events = [call(usage(5, 30)), *scored, call(usage(5, 900)), *ended, call(usage(5, 20))]
    several = [sample(n, "C", events=events) for n in range(ITEMS)]
    found = certified(inspect(tmp_path / "log.json", several, {"accuracy": 1.0}), "tokens", "calls")
    assert (found["tokens"].value, found["calls"].value) == (50.0, 2.0)


def test_statistics_are_of_each_benchmark_and_in_every_document(tmp_path: Path) -> None:
    for task, written in (("one", 10), ("an other", 30)):
        several = [sample(n, "C", events=[call(usage(5, written))]) for n in range(ITEMS)]
        inspect(tmp_path / "logs" / f"{task}.json", several, {"accuracy": 1.0}, task=task)
    report = certify(tmp_path / "logs", statistics=["tokens"])
    assert {row.benchmark: row.value for row in report.certificate.statistics} == {
        "one": 10.0,
        "an other": 30.0,
    }
    report.write(tmp_path / "out")
    assert "tokens, one" in (tmp_path / "out" / "logs.md").read_text()
    assert len(json.loads((tmp_path / "out" / "logs.json").read_text())["statistics"]) == 2
    assert "Statistics of the logs" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("count", [-1, "many", True, float("nan")])
def test_what_is_no_count_is_a_damaged_log(tmp_path: Path, count: Any) -> None:
    several = [sample(0, "C", events=[call(usage(5, 5) | {"output_tokens": count})])]
    with pytest.raises(FileError) as refused:
        certify(inspect(tmp_path / "log.json", several, {"accuracy": 1.0}))
    assert refused.value.diagnostics[0].code == "GC672"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bogus", "do not have the outcome `bogus`"),
        ("pass_at", "does not say `pass_at` whole"),
        ("tokens * score", "has no name"),
        ("tokens +", "is not a formula"),
        ("a name=tokens", "it is no statistic"),
    ],
)
def test_what_is_no_statistic_is_refused(tmp_path: Path, line: str, says: str) -> None:
    path = inspect(tmp_path / "log.json", [sample(0, "C")], {"accuracy": 1.0})
    with pytest.raises(UsageError, match="--statistic") as refused:
        certify(path, statistics=[line])
    assert says in refused.value.diagnostics[0].message


def test_a_statistic_stands_once(tmp_path: Path) -> None:
    path = inspect(tmp_path / "log.json", [sample(0, "C")], {"accuracy": 1.0})
    with pytest.raises(UsageError, match="stated twice"):
        certify(path, statistics=["tokens", "tokens"])


def test_shares_of_what_stopped_attempts_are_those_of_the_log(tmp_path: Path) -> None:
    draw = random.Random(3)
    ends: list[dict[str, Any]] = [
        {}, {"limit": {"type": "message", "limit": 7}}, {"limit": {"type": "operator", "limit": 1}},
        {"limit": {"type": "custom", "limit": 1}}, {"error": {"message": "tool"}},
    ]  # fmt: skip
    several = []
    for id in range(ITEMS):
        for epoch in range(1, EPOCHS + 1):
            end = draw.choice(ends)
            several.append(sample(id, None if "error" in end else "I", epoch, **end))
    row = certify(logged(tmp_path, several)).certificate.benchmarks[0].scores[0]
    named = {"message limit": ends[1], "operator": ends[2], "custom limit": ends[3], "error": ends[4]}
    assert {stop.what for stop in row.stops} == set(named)
    for stop in row.stops:
        count = sum(named[stop.what].items() <= one.items() for one in several)
        assert stop.answers == count
        assert stop.share == pytest.approx(count / len(several))
        assert stop.interval is not None and stop.interval[0] < stop.share < stop.interval[1]
    assert sum(stop.answers for stop in row.stops) == row.states.cut + row.states.failed


def test_each_metric_of_a_score_is_a_reading(tmp_path: Path) -> None:
    several = [sample(n, None) for n in range(ITEMS)]
    for n, one in enumerate(several):
        one["scores"] = {"graded": {"value": {"steps": n % 3 / 2, "polite": float(n % 2)}}}
    path = inspect(tmp_path / "log.json", several, {})
    log = json.loads(path.read_text())
    log["results"]["scores"] = [
        {"name": name, "scorer": "graded", "metrics": {"mean": {"name": "mean", "value": 0.5}}}
        for name in ("steps", "polite")
    ]
    path.write_text(json.dumps(log))
    for reading in ("steps", "polite"):
        report = certify(path, reading, statistics=["score", "pass_at_1"])
        score, attempts = report.certificate.statistics
        assert (score.value, score.unit) == (0.5, "%")
        assert attempts.value == (None if reading == "steps" else 0.5)


def table(path: Path, *rows: str, header: str = "model,item,replicate,score,tokens,cost") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("start", [0, 1])
def test_a_table_says_what_answers_took(tmp_path: Path, start: int) -> None:
    rows = [
        f"m,q{n},{start + at},{n % 2},{10 * n + at},{'' if n else 0.5}" for n in range(30) for at in range(2)
    ]
    report = certify(
        table(tmp_path / "t.csv", *rows),
        statistics=["tokens", "cost", "calls", "pass_all_2", "tokens / score"],
    )
    found = {row.statistic: row for row in report.certificate.statistics}
    assert found["tokens"].value == sum(10 * n + at for n in range(30) for at in range(2)) / 60
    assert (found["cost"].value, found["cost"].answers, found["cost"].asked) == (0.5, 2, 60)
    assert found["calls"].note == "not reported"
    assert found["pass_all_2"].value == 0.5
    assert report.certificate.benchmarks[0].scores[0].states.absent == 0


def test_the_author_says_that_a_column_is_no_count(tmp_path: Path) -> None:
    rows = [f"m,q{n},0,1,{budget},1" for n in range(4) for budget in ("low", "high")]
    report = certify(table(tmp_path / "t.csv", *rows), axes=["tokens"], ignore=["cost"])
    assert len(report.certificate.benchmarks[0].configurations) == 2
    with pytest.raises(FileError) as refused:
        certify(table(tmp_path / "t.csv", *rows))
    assert refused.value.diagnostics[0].code == "GC672"
