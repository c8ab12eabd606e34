"""Scores by category and the length of answers, by plain SQL: docs/statistics.md, "Places and tie groups"."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from tests.recount.study import Benchmark, Json, Study

MISSING = ("(The log does not have the answer.)", "the log has no answer to this item, or not so many")


def breakdowns(study: Study, benchmarks: Mapping[str, Benchmark], rows: Sequence[Json]) -> list[Json]:
    """Of benchmarks with an order of three models or more, over the configurations that it averages."""
    found = []
    for row in rows:
        if (order := row["standings"]) is None or len(order["order"]) < 3:
            continue
        benchmark = benchmarks[row["benchmark"]]
        groups = dict(
            study.db.execute(
                "SELECT item, category FROM item WHERE stamp = ? AND benchmark = ?",
                [study.stamp, row["benchmark"]],
            )
        )
        sizes = Counter(groups.values())
        parted = all(sizes) and 2 <= len(sizes) <= 40
        names = sorted(sizes) if parted else []
        models = [
            _of_model(study, benchmark, one["model"], order["over"], groups, names) for one in order["order"]
        ]
        if names or any(model["answers"] for model in models):
            found.append(
                {
                    "benchmark": row["benchmark"],
                    "categories": [{"category": name, "items": sizes[name]} for name in names],
                    "models": models,
                }
            )
    return found


def _of_model(
    study: Study,
    benchmark: Benchmark,
    model: str,
    over: Sequence[str],
    groups: Mapping[str, str],
    names: Sequence[str],
) -> Json:
    means, said = defaultdict(list), list[tuple[str, str]]()
    for configuration in over:
        cell = benchmark.at[model, configuration]
        scores = defaultdict(list)
        for item, _, _, score in cell["samples"]:
            scores[groups[item]].append(score / benchmark.scales[model, configuration])
        for name in names:
            if scores[name]:
                means[name].append(fmean(scores[name]))
        texts = study.db.execute(
            """SELECT json_extract(answer, '$.text'), item, max(step)
               FROM trace JOIN call ON call.id = trace.call WHERE cell = ? GROUP BY item, replicate""",
            [cell["id"]],
        )
        said += [(text, item) for text, item, _ in texts if text is not None and text not in MISSING]
    given = defaultdict(set)
    for text, item in said:
        given[text].add(item)
    most = min(given, key=lambda text: (-len(given[text]), len(text), text), default="")
    return {
        "model": model,
        "by_category": [fmean(means[name]) if means[name] else None for name in names],
        "length": fmean(len(text) for text, _ in said) if said else None,
        "answers": len(said),
        "items": len({item for _, item in said}),
        "commonest": len(given[most]) if said else 0,
        "commonest_length": len(most),
    }
