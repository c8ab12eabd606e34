"""What packages print of their own logs, beside what the items give: agreement, every cause, and no cause."""

import html
import json
import re
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

import gridc
from gridc.diagnostics.errors import FileError
from gridc.reports.recorded.words import printed_lines
from gridc.schema.recorded import LogPrinted
from tests.e2e.conftest import command
from tests.package_logs import Doc, harness, inspect, sample

LOGS = Path(__file__).resolve().parents[1] / "logs"


def printed(*logs: Path, **options: Any) -> LogPrinted:
    return gridc.certify(*map(str, logs), **options).certificate.printed


def said(*logs: Path, **options: Any) -> list[str]:
    return list(printed_lines(printed(*logs, **options)))


def test_where_all_agree_one_line_says_so() -> None:
    assert said(LOGS / "lm_eval") == ["what the packages print agrees with the items in 12 of 12 numbers"]
    found = printed(LOGS / "lm_eval")
    assert (found.compared, found.agree, found.without_items, found.differences) == (12, 12, 0, ())


FAILED = {"message": "down"}


def failing(path: Path, value: float, scored: bool, **config: Any) -> Path:
    """Ten samples, eight of them right, of which three failed."""
    samples = [
        sample(n, ("C" if n < 8 else "I") if scored or n not in (5, 6, 7) else None)
        | ({"error": FAILED} if n in (5, 6, 7) else {})
        for n in range(10)
    ]
    return inspect(path, samples, {"accuracy": value}, config=config)


def test_failed_samples_that_inspect_scored(tmp_path: Path) -> None:
    log = failing(tmp_path / "a.json", 0.8, scored=True, score_on_error=True)
    assert said(log) == [
        "what the packages print agrees with the items in 0 of 1 number",
        "m, quiz: inspect_ai prints 0.800 for `graded`, the items give 0.500: 3 samples that failed were "
        "scored there (`score_on_error`) and are wrong here",
    ]


def test_failed_samples_that_inspect_left_out(tmp_path: Path) -> None:
    (_, line) = said(failing(tmp_path / "a.json", 5 / 7, scored=False))
    assert line.endswith("the items give 0.500: 3 answers that failed are left out there and wrong here")


def test_a_failed_sample_has_the_scores_of_the_scorers_before(tmp_path: Path) -> None:
    """Where one of two scorers fails, Inspect counts what the other one gave, without `score_on_error`."""
    path = failing(tmp_path / "a.json", 0.8, scored=True)
    with pytest.raises(FileError, match="GC674"):
        gridc.certify(path)
    log = json.loads(path.read_text())
    log["eval"]["scorers"].append({"name": "other"})
    path.write_text(json.dumps(log))
    (_, line) = said(path)
    assert "3 samples that failed were scored there (before another scorer failed)" in line


def test_no_cause_is_made_up(tmp_path: Path) -> None:
    """Where a printed score must be the mean it is refused, edited; what another metric gives is told."""
    path = inspect(tmp_path / "a.json", [sample(n, "C") for n in range(4)], {"accuracy": 0.9})
    with pytest.raises(FileError, match="GC674"):
        gridc.certify(path)
    table = {"pass": {"value": 0.25}}
    log = json.loads(path.read_text())
    log["results"]["scores"][0]["metrics"] = table
    path.write_text(json.dumps(log))
    (row,) = printed(path).differences
    assert (row.printed, row.items) == (0.25, 1.0)
    assert row.cause is not None and "the metric `pass`, which is no mean" in row.cause


def test_a_reducer_over_epochs(tmp_path: Path) -> None:
    samples = [sample(n, "C" if epoch == 1 else "I", epoch) for n in range(6) for epoch in (1, 2, 3)]
    log = inspect(tmp_path / "a.json", samples, {"accuracy": 1.0}, reducer="max", config={"epochs": 3})
    (_, line) = said(log)
    assert line == (
        "m, quiz: inspect_ai prints 1.000 for `graded, max`, the items give 0.333: it prints what `max` "
        "makes of the epochs, which is no mean of the answers' scores"
    )


def test_an_aggregation_that_is_no_mean(tmp_path: Path) -> None:
    docs = [Doc(f"question {n}", float(n % 2)) for n in range(10)]
    config = {"metric_list": [{"metric": "exact_match", "aggregation": "median"}]}
    stated = {"quiz": {"exact_match,none": 1.0}}
    (_, line) = said(harness(tmp_path / "a", "m", {"quiz": docs}, config=config, printed=stated))
    assert "prints 1.000" in line and "give 0.500: it prints the aggregation `median`" in line


def test_a_score_without_items_is_counted(tmp_path: Path) -> None:
    docs = [Doc(f"question {n}", float(n % 2)) for n in range(10)]
    log = harness(tmp_path / "a", "m", {"quiz": docs, "test": docs})
    (log / "samples_test_t.jsonl").unlink()
    assert said(log) == [
        "what the packages print agrees with the items in 2 of 2 numbers",
        "2 printed numbers cannot be compared, because the logs have no items there",
    ]
    (log / "samples_quiz_t.jsonl").unlink()
    assert said(log) == [] and printed(log).without_items == 4


def test_a_table_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("model,item,score\nm,a,1\nm,b,0\n")
    assert said(tmp_path / "t.csv") == []


SCORES = [float(n % 3 > 0) for n in range(24)]
ERROR = stdev(SCORES) / 24**0.5


def clustered() -> float:
    """By hand: the scores come in families of four, each of one score."""
    mean = fmean(score for score in families() for _ in range(4))
    sums = [4 * (score - mean) for score in families()]
    return float((sum(one**2 for one in sums) * 6 / 5) ** 0.5 / 24)


def families() -> list[float]:
    return [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ERROR, None),
        (ERROR * (23 / 24) ** 0.5, "it divides by the number of items, and not by one less"),
        (ERROR / 2, "it would fit 96 items of these scores, and there are 24"),
        (0.0, "the cause is not known"),
    ],
)
def test_standard_errors_of_the_harness(error: float, cause: str | None, tmp_path: Path) -> None:
    docs = [Doc(f"question {n}", score) for n, score in enumerate(SCORES)]
    stated = {"quiz": {"exact_match_stderr,none": error}}
    lines = said(harness(tmp_path / "a", "m", {"quiz": docs}, printed=stated))
    assert len(lines) == (1 if cause is None else 2)
    if cause is not None:
        start = (
            f"m, quiz: lm-eval prints a standard error of {error:.3f} for `exact_match,none`, the items give"
        )
        assert lines[1] == f"{start} {ERROR:.3f}: {cause}"


def test_a_standard_error_of_clusters(tmp_path: Path) -> None:
    scores = [score for score in families() for _ in range(4)]
    samples = [sample(n, score, metadata={"family": str(n // 4)}) for n, score in enumerate(scores)]
    log = inspect(tmp_path / "a.json", samples, {"accuracy": fmean(scores), "stderr": clustered()})
    (_, line) = said(log)
    assert "it would fit" in line
    (_, line) = said(log, unit="family")
    assert line.endswith("its 24 items are clusters of 6 units there")
    document = json.loads(log.read_text())
    document["results"]["scores"][0]["metrics"]["stderr"]["params"] = {"cluster": "family"}
    log.write_text(json.dumps(document))
    (_, line) = said(log)
    assert line.endswith("samples of one `family` are a cluster there (`--unit family` here)")


def test_a_standard_error_of_answers_instead_of_items(tmp_path: Path) -> None:
    scores = [float(n % 2) for n in range(6) for _ in range(5)]
    samples = [sample(n // 5, score, n % 5 + 1) for n, score in enumerate(scores)]
    wrong = stdev(scores) / 30**0.5
    log = inspect(tmp_path / "a.json", samples, {"accuracy": 0.5, "stderr": wrong}, config={"epochs": 5})
    (_, line) = said(log)
    assert line.endswith("it takes 30 answers to 6 items as independent")


@pytest.mark.parametrize(
    ("method", "cause"), [("analytic", "it would fit 20 items"), ("jackknife", "its method is `jackknife`")]
)
def test_a_standard_error_of_every_eval_ever(method: str, cause: str, tmp_path: Path) -> None:
    ids = {"evaluation_id": "e", "model_id": "m", "evaluation_name": "b"}
    rows = [
        {**ids, "schema_version": "0.3.0", "sample_id": str(n), "input": {"raw": f"q{n}", "reference": ["x"]},
         "output": {"raw": "x"}, "evaluation": {"score": float(n % 2), "is_correct": n % 2 == 1}}
        for n in range(10)
    ]  # fmt: skip
    (tmp_path / "u_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    error = stdev(n % 2 for n in range(10)) / 20**0.5
    details = {"score": 0.5, "uncertainty": {"standard_error": {"value": error, "method": method}}}
    aggregate = {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_info": {"id": "m", "name": "m"},
        "evaluation_results": [{"evaluation_name": "b", "score_details": details}],
    }  # fmt: skip
    (tmp_path / "u.json").write_text(json.dumps(aggregate))
    (_, line) = said(tmp_path)
    assert cause in line


def test_every_reader_is_told(tmp_path: Path) -> None:
    log = failing(tmp_path / "a.json", 0.8, scored=True, score_on_error=True)
    done = command("certify", "--from", str(log), "--out", "out", cwd=tmp_path)
    line = "m, quiz: inspect_ai prints 0.800 for `graded`, the items give 0.500: 3 samples that failed"
    assert done.returncode == 0 and line in done.stdout
    assert "inspect\\_ai prints 0.800 for \\`graded\\`" in (tmp_path / "out" / "logs.md").read_text()
    page = html.unescape(re.sub(r"<[^>]+>", "", (tmp_path / "out" / "report.html").read_text()))
    assert (
        "prints 0.800 for" in page and "the items give 0.500: 3 samples that failed were scored there" in page
    )
    (row,) = json.loads((tmp_path / "out" / "logs.json").read_text())["printed"]["differences"]
    assert (row["what"], row["printed"], row["items"]) == ("score", 0.8, 0.5)
