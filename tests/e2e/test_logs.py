"""`gridc certify --from` and `gridc compare` of logs: planted differences, recounted by other libraries."""

import json
import sqlite3
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy.stats import binom, binomtest
from statsmodels.stats.multitest import multipletests

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.lookup import BUILTIN_BENCHMARKS
from gridc.schema import jsonschema
from gridc.schema.recorded import LogBenchmarkRow
from gridc.schema.rows import StandingsRow
from tests.e2e.conftest import command
from tests.recount import unit_limits

LOGS = Path(__file__).resolve().parents[1] / "logs"


def table(path: Path, rates: dict[tuple[str, str], float], items: int = 400, seed: int = 3) -> Path:
    """Models in settings with scores of 0 and 1 drawn by item: a hard item is hard for all."""
    rng = np.random.default_rng(seed)
    hard = rng.random(items)
    lines = ["model,benchmark,item,framing,score"]
    for (model, framing), rate in rates.items():
        right = 0.5 * hard + 0.5 * rng.random(items) < rate
        lines += [f"{model},b,{number},{framing},{int(one)}" for number, one in enumerate(right)]
    path.write_text("\n".join(lines) + "\n")
    return path


def placed(row: LogBenchmarkRow) -> StandingsRow:
    assert row.standings is not None
    return row.standings


def test_neighbours_are_those_of_scipy_and_statsmodels(tmp_path: Path) -> None:
    rates = {(f"m{number}", "x"): 0.4 + 0.05 * number for number in range(6)}
    path = table(tmp_path / "t.csv", rates)
    (row,) = gridc.certify(path).certificate.benchmarks
    matrix = {model: np.zeros(400, int) for model, _ in rates}
    for line in path.read_text().splitlines()[1:]:
        model, _, item, _, score = line.split(",")
        matrix[model][int(item)] = int(score)
    order = sorted(matrix, key=lambda model: (-matrix[model].mean(), model))
    assert [place.model for place in placed(row).order] == order

    def p(a: str, b: str) -> float:
        ahead, behind = int((matrix[a] > matrix[b]).sum()), int((matrix[a] < matrix[b]).sum())
        return float(binomtest(ahead, ahead + behind).pvalue)

    raw = [p(a, b) for a, b in pairwise(order)]
    assert [test.p for test in placed(row).neighbours] == pytest.approx(raw)
    adjusted = multipletests(raw, method="holm")[1]
    assert [test.p_holm for test in placed(row).neighbours] == pytest.approx(adjusted)
    pairs = list(combinations(order, 2))
    one_sided = [p(a, b) / 2 for a, b in pairs] + [1.0] * len(pairs)
    apart = {
        pair
        for pair, reject in zip(pairs, multipletests(one_sided, method="holm")[0], strict=False)
        if reject
    }
    for place in placed(row).order:
        assert place.best == 1 + sum(b == place.model for _, b in apart)
        assert place.worst == len(order) - sum(a == place.model for a, _ in apart)
    assert apart and placed(row).tie_groups
    for group in placed(row).tie_groups:
        assert not any(pair in apart for pair in combinations(group, 2))


def test_a_planted_reversal_is_certified_and_an_order_too(tmp_path: Path) -> None:
    rates = {
        ("up", "x"): 0.7, ("up", "y"): 0.4, ("down", "x"): 0.45, ("down", "y"): 0.65,
        ("low", "x"): 0.2, ("low", "y"): 0.2,
    }  # fmt: skip
    (row,) = gridc.certify(table(tmp_path / "t.csv", rates), axes=["framing"]).certificate.benchmarks
    pairs = {(pair.a, pair.b): pair for pair in row.pairs}
    assert pairs["down", "up"].certified == "reversal"
    assert {pairs["down", "up"].witness_a, pairs["down", "up"].witness_b} == {"framing=y", "framing=x"}
    assert (pairs["low", "up"].certified, pairs["low", "up"].first) == ("order", "up")
    assert pairs["down", "up"].configurations == 2
    equal = table(tmp_path / "e.csv", dict.fromkeys(rates, 0.5))
    assert {
        pair.certified for pair in gridc.certify(equal, axes=["framing"]).certificate.benchmarks[0].pairs
    } == {None}


@pytest.mark.parametrize("seeds", [("1", "2"), ("", "")], ids=["seeds", "answers"])
def test_who_names_the_files_does_not_choose_which_repetition_is_tested(
    tmp_path: Path, seeds: tuple[str, str]
) -> None:
    """One run in which a is better in both templates, and one in which nothing is: by either the same p."""
    draws = [np.random.default_rng(1), np.random.default_rng(2)]
    runs = [
        [
            f"b,{model},i{item},{int(draw.random() < rate)},{template},{seed}"
            for model, rate in rates.items()
            for template in "xy"
            for item in range(60)
        ]
        for draw, rates, seed in zip(draws, ({"a": 0.8, "m": 0.3}, {"a": 0.5, "m": 0.5}), seeds, strict=True)
    ]
    certified = []
    for names in (("1.csv", "2.csv"), ("2.csv", "1.csv")):
        folder = tmp_path / names[0][0]
        folder.mkdir()
        for name, rows in zip(names, runs, strict=True):
            text = "\n".join(["benchmark,model,item,score,template,seed", *rows])
            (folder / name).write_text(text, "utf-8")
        (row,) = gridc.certify(folder, axes=["template"], counting=["all"]).certificate.benchmarks
        (pair,) = row.pairs
        assert row.scores[0].repetitions == 2
        certified.append((pair.certified, pair.order_p, pair.reversal_p))
    assert certified[0] == certified[1]


def test_one_failed_answer_counts_as_wrong(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", {("a", "x"): 0.6, ("b", "x"): 0.5, ("c", "x"): 0.4}, items=50)
    lines = path.read_text().splitlines()
    for number in (1, 106):  # item 0 of a, and item 5 of c
        lines[number] = lines[number].rpartition(",")[0] + ","
    path.write_text("\n".join(lines) + "\n")
    (row,) = gridc.certify(path).certificate.benchmarks
    assert {(score.model, score.items, score.asked) for score in row.scores} == {
        ("a", 50, 50), ("b", 50, 50), ("c", 50, 50),
    }  # fmt: skip
    assert {pair.items for pair in row.pairs} == {50}


def test_models_of_one_list_are_compared(tmp_path: Path) -> None:
    """Of models that share items, one after the other; what one lacks failed there."""
    path = tmp_path / "t.csv"
    asked = {"a": (0, 3), "b": (3, 6), "c": (1, 5)}
    rows = [f"{model},b,{n},x,{n % 2}" for model, ends in asked.items() for n in range(*ends)]
    path.write_text("\n".join(["model,benchmark,item,framing,score", *rows]) + "\n")
    report = gridc.certify(path)
    (row,) = report.certificate.benchmarks
    assert len(placed(row).order) == 3 and row.not_compared == ()
    path.write_text("\n".join(line for line in path.read_text().splitlines() if line[0] != "c") + "\n")
    row, other = gridc.certify(path).certificate.benchmarks
    assert row.standings is None and row.pairs == () and [score.model for score in row.scores] == ["a"]
    assert other.benchmark == "b (2)" and "share no item" in other.not_compared[0]
    rows = [f"m{number},b,{n},{'xy'[n > 2]},1" for number in (0, 1) for n in range(6)]
    path.write_text("\n".join(["model,benchmark,item,framing,score", *rows]) + "\n")
    (row,) = gridc.certify(path, axes=["framing"]).certificate.benchmarks
    assert [place.score for place in placed(row).order] == [1, 1]


def test_a_configuration_is_named_by_what_differs(tmp_path: Path) -> None:
    log = {"version": 2, "status": "success", "plan": {}, "results": {"total_samples": 1, "scores": []},
           "samples": [{"id": 1, "input": "?", "target": "a", "scores": {"s": {"value": "C"}}}]}  # fmt: skip
    for number in (0, 1):
        stated = {"framing": "plain" if number else "system", "an_argument_that_is_the_same": "x" * 30}
        made = {"model": "m", "task": "t", "eval_id": f"{number}", "task_args": stated}
        (tmp_path / f"{number}.json").write_text(json.dumps({**log, "eval": made}))
    (row,) = gridc.certify(tmp_path).certificate.benchmarks
    assert row.configurations == ("task_args=framing: plain", "task_args=framing: system")


def test_compare_says_what_the_digest_of_a_level_stands_for(tmp_path: Path) -> None:
    """In what differs and in what flipped: by the keys that differ, with short values."""
    for number, framing in enumerate(("plain", "polite")):
        stated = {"framing": framing, "an_argument_that_is_the_same": "x" * 30}
        sample = {"id": 1, "input": "?", "target": "a", "scores": {"s": {"value": "IC"[number]}}}
        made = {"model": "m", "task": "t", "eval_id": f"{number}", "task_args": stated}
        log = {
            "version": 2,
            "status": "success",
            "plan": {},
            "results": {},
            "eval": made,
            "samples": [sample],
        }
        (tmp_path / f"{number}.json").write_text(json.dumps(log))
    compared = gridc.compare(tmp_path / "0.json", tmp_path / "1.json", margin=5, may_differ=["prompt"])
    (difference,) = compared.comparison.instrument.differences
    assert difference.path.startswith("task_args.framing (t, task=t,task_args=framing: polite,")
    assert (difference.a, difference.b) == ('"plain"', '"polite"')
    (flip,) = compared.comparison.benchmarks[0].flips
    named = "task=t,task_args=framing: polite,solver=none,decoding=provider's default,limits=none,scoring=[]"
    assert flip.configuration == named
    # What both have alike is left out where its label is a digest.
    alike = {"steps": [{"solver": "generate", "params": {"attempts": 1, "argument": "x" * 30}}]}
    for path in tmp_path.glob("*.json"):
        log = json.loads(path.read_text())
        scorer = {"name": "s", "options": {"argument": "x" * 30}}
        path.write_text(json.dumps(log | {"plan": alike, "eval": log["eval"] | {"scorers": [scorer]}}))
    compared = gridc.compare(tmp_path / "0.json", tmp_path / "1.json", margin=5, may_differ=["prompt"])
    (flip,) = compared.comparison.benchmarks[0].flips
    assert flip.configuration == named.replace("solver=none", "solver=generate").removesuffix(",scoring=[]")


def test_stray_files_are_lines_of_both_commands(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    table(folder / "t.csv", {("a", "x"): 0.6}, items=20)
    (folder / "notes.json").write_text("{}")
    (folder / "Task.json").write_text('{"mteb_version": "2", "scores": {}}')
    for arguments in (["certify", "--from", "logs"], ["compare", "logs", "logs", "--margin", "5pp"]):
        done = command(*arguments, cwd=tmp_path)
        said = " ".join(done.stdout.split())
        assert "not read: logs/notes.json: no log of a known format" in said, done.stderr
        assert "not read: logs/Task.json: results of MTEB: one aggregate for each split" in said
    (folder / "t.csv").unlink()
    for arguments in (["certify", "--from", "logs"], ["compare", "logs", "logs", "--margin", "5pp"]):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 6 and "GC671" in done.stderr and "MTEB" in done.stderr


def test_what_a_list_leaves_out_it_did_not_resolve(tmp_path: Path) -> None:
    for agent, resolved in (("one", ["x-1", "x-2", "x-3"]), ("two", ["x-3", "x-4"])):
        folder = tmp_path / "verified" / agent / "results"
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps({"resolved": resolved}))
    (row,) = gridc.certify(tmp_path).certificate.benchmarks
    assert {(score.model, score.score, score.items) for score in row.scores} == {
        ("one", 0.75, 4),
        ("two", 0.5, 4),
    }
    (test,) = placed(row).neighbours
    assert (test.a_ahead, test.b_ahead, test.p) == (2, 1, 1.0)
    assert any("by id alone" in warning for warning in row.warnings)


def test_framings_that_differ_by_model_are_refused_unless_asked_for(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", {("a", "x"): 0.6, ("b", "y"): 0.3})
    row, other = gridc.certify(path).certificate.benchmarks
    assert not row.pairs and row.standings is None
    assert "non-equivalent" in other.not_compared[0]
    (row,) = gridc.certify(path, may_differ=["framing"]).certificate.benchmarks
    assert row.between_models == ("framing",) and len(row.pairs) == 1
    with pytest.raises(gridc.GridcError, match="no log has the axis"):
        gridc.certify(path, may_differ=["shots"])


def test_logs_without_items_are_described(tmp_path: Path) -> None:
    path = tmp_path / "means.csv"
    path.write_text("model,benchmark,score,n\na,b,0.71,100\nb,b,0.62,100\n")
    done = command("certify", "--from", str(path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no items: scores are described, and nothing can be tested" in done.stdout
    assert "not compared: a: the log lists no items, so the score is reported but not tested" in done.stdout
    (row,) = gridc.certify(path).certificate.benchmarks
    assert [score.score for score in row.scores] == [0.71, 0.62]


def test_the_command_says_where_numbers_come_from(tmp_path: Path) -> None:
    merged = ["--benchmark", "sums=arith_mc,arith_mc_b"]
    done = command("certify", "--from", str(LOGS / "lm_eval"), str(LOGS / "inspect"), *merged, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    begin = "imported from lm-eval 0.4.13, inspect_ai 0.3.285 logs, not pre-registered; prompts as the log"
    assert begin in " ".join(done.stdout.split())
    assert "seed 5 went out with every request" in done.stdout
    assert "was not finished; it has 5 of 10 samples" in done.stdout
    assert done.stdout.index("warning:") < done.stdout.index("can be told apart")
    assert "task=arith_mc_b" in done.stdout
    for words in ("stamped is what", "What was run"):
        assert words not in done.stdout
    out = tmp_path / "out"
    done = command("certify", "--from", str(LOGS / "lm_eval"), "--out", str(out), "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    Draft202012Validator(jsonschema.load("logs")).validate(document)
    assert json.loads((out / "logs.json").read_text()) == document
    assert (out / "logs.md").read_text().startswith("# What these logs certify")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--from", "nowhere"], 6, "GC671"),
        (["--from", str(LOGS / "lm_eval"), "--reading", "f1"], 2, "no log has the reading `f1`"),
        (["--from", str(LOGS / "lm_eval"), "--benchmark", "x"], 2, "NAME=BENCHMARK,..."),
    ],
)
def test_what_cannot_be_certified(tmp_path: Path, arguments: list[str], code: int, says: str) -> None:
    done = command("certify", *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert says in done.stderr


def test_two_logs_are_compared_like_two_stores(tmp_path: Path) -> None:
    a = table(tmp_path / "a.csv", {("m", "x"): 0.6}, items=600)
    worse = tmp_path / "worse.csv"
    lines = a.read_text().splitlines()
    worse.write_text(
        "\n".join([lines[0], *(f"{line[:-1]}0" if n % 3 else line for n, line in enumerate(lines[1:]))])
    )
    lost = sum(line.endswith("1") for n, line in enumerate(lines[1:]) if n % 3)
    report = gridc.compare(a, worse, margin=5)
    assert (report.verdict, report.exit_code) == ("NO-GO", 1)
    (row,) = report.comparison.benchmarks
    assert (row.matched, row.lost, row.won) == (600, lost, 0)
    assert gridc.compare(a, a, margin=5).verdict == "GO"
    assert any("by id alone" in warning for warning in report.comparison.warnings)
    runs = LOGS / "lm_eval" / "llama-zero", LOGS / "lm_eval" / "qwen2-zero"
    real = gridc.compare(*runs, margin=5, reading={"arith_mc": "acc", "arith_gen": "exact_match,loose"})
    assert "model" not in real.comparison.instrument.equal, "the names are others"
    assert real.comparison.instrument.prompts == real.comparison.instrument.prompts_equal == 24
    assert real.comparison.instrument.same
    flip = real.comparison.benchmarks[0].flips[0]
    assert flip.prompt and flip.prompt.startswith("Q: What is") and flip.answer_a != flip.answer_b


def test_a_run_that_is_compared_with_itself_is_said(tmp_path: Path) -> None:
    """The same files, and a copy; one other score, or one other text beside equal scores, is another run."""
    a = table(tmp_path / "a.csv", {("m", "x"): 0.6}, items=60)
    lines = a.read_text().splitlines()

    def itself(other: str, *words: str) -> str:
        done = command("compare", "a.csv", other, "--margin", "20pp", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said = " ".join(done.stdout.split())
        report = gridc.compare(a, tmp_path / other, margin=20)
        assert any("than itself" in reason for reason in report.comparison.scope) == bool(words)
        assert all(said.count(word) == 1 for word in words), "beside the verdict, and nowhere else"
        return said

    itself("a.csv", "a and b are one run, a.csv: it cannot be worse than itself")
    (tmp_path / "b.csv").write_text("\n".join(lines))
    itself("b.csv", "b.csv has the scores of a.csv one by one, without texts")
    first = f"{lines[1][:-1]}{1 - int(lines[1][-1])}"
    (tmp_path / "c.csv").write_text("\n".join([lines[0], first, *lines[2:]]))
    assert "itself" not in itself("c.csv")

    def texts(path: Path, last: str) -> None:
        said = [f"{line},said {number}" for number, line in enumerate(lines[1:])]
        path.write_text("\n".join([f"{lines[0]},answer", *said[:-1], f"{lines[-1]},{last}"]))

    texts(a, "the end")
    texts(tmp_path / "b.csv", "the end")
    itself("b.csv", "b.csv has the answers of a.csv one by one (every score, and the texts of 60)")
    texts(tmp_path / "b.csv", "another end")
    assert "itself" not in itself("b.csv")


def test_models_that_share_no_item_are_not_compared(tmp_path: Path) -> None:
    rows = [f"{model},b,{n},1" for model, ends in {"a": (0, 9), "b": (9, 18)}.items() for n in range(*ends)]
    (tmp_path / "t.csv").write_text("\n".join(["model,benchmark,item,score", *rows]))
    row, _ = gridc.certify(tmp_path / "t.csv").certificate.benchmarks
    assert row.standings is None
    done = command("certify", "--from", "t.csv", cwd=tmp_path)
    assert (
        "not compared: with b: these models share no item with those" in done.stdout
        and "tie groups" not in done.stdout
    )
    both = [f"b,b,{n},1" for n in range(9)]
    (tmp_path / "t.csv").write_text("\n".join(["model,benchmark,item,score", *rows, *both]))
    (row,) = gridc.certify(tmp_path / "t.csv").certificate.benchmarks
    assert placed(row).tie_groups == (("b", "a"),)


def test_a_store_and_a_log_share_no_item(finished: Path) -> None:
    log = LOGS / "lm_eval" / "llama-zero"
    readings = {"arith_mc": "acc", "arith_gen": "exact_match,loose"}
    report = gridc.compare(finished / "results" / "small", log, margin=5, reading=readings)
    assert report.verdict == "NOT COMPARABLE"


def test_intervals_are_those_of_the_recount(tmp_path: Path) -> None:
    """Units of two items each."""
    rng = np.random.default_rng(8)
    lines, sums = ["model,benchmark,item,unit,score"], []
    for unit in range(60):
        scores = (rng.random(2) < rng.beta(2, 2)).astype(int)
        sums.append(scores.sum())
        lines += [f"a,b,{unit}-{number},u{unit},{score}" for number, score in enumerate(scores)]
        lines += [f"none,b,{unit}-{number},u{unit},0" for number in range(2)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    (row,) = gridc.certify(path).certificate.benchmarks
    ends = {score.model: score.interval for score in row.scores}
    rows = np.full(60, 2.0)
    assert ends["a"] == pytest.approx(unit_limits.limits(rows, np.array(sums, float)), abs=1e-8)
    assert ends["none"] == pytest.approx((0.0, 1 - 0.025 ** (1 / 60)))
    assert {place.model: place.interval for place in placed(row).order} == ends


def test_a_model_that_lacks_configurations_costs_the_others_none(tmp_path: Path) -> None:
    """What is compared are as many pairs in as many configurations as can be; the rest is described."""
    rates = {(f"m{number}", framing): 0.3 + 0.06 * number for number in range(4) for framing in "xyz"}
    path = table(tmp_path / "t.csv", rates | {("late", "x"): 0.5})
    report = gridc.certify(path, axes=["framing"])
    row, late = report.certificate.benchmarks
    assert (len(placed(row).over), len(placed(row).order), len(row.pairs)) == (3, 4, 6)
    assert "these models lack a configuration that is compared there" in late.not_compared[0]
    assert [score.model for score in late.scores] == ["late"]
    path = table(tmp_path / "t.csv", {place: rate for place, rate in rates.items() if place != ("m0", "z")})
    row, rest = gridc.certify(path, axes=["framing"]).certificate.benchmarks
    assert (len(placed(row).over), len(placed(row).order)) == (2, 4) and row.not_compared == ()
    assert (len(placed(rest).over), len(placed(rest).order)) == (1, 3)
    report = gridc.certify(path, axes=["framing"])
    paths = {path.name for path in report.write(tmp_path / "out")}
    assert {"report.html", "certificate.json", "gridcard.json"} <= paths and report.left_out == ()
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["benchmarks"][0]["standings"]["over"] == [
        f"configuration=framing-{framing}" for framing in "xy"
    ]


def test_neighbours_apart_that_all_pairs_tie_are_said(tmp_path: Path) -> None:
    rng, lines = np.random.default_rng(3), ["model,benchmark,item,score"]
    hard = rng.random(300)
    for model in range(9):
        right = 0.5 * hard + 0.5 * rng.random(300) < 0.35 + 0.04 * model
        lines += [f"m{model},b,{number},{int(one)}" for number, one in enumerate(right)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    report = gridc.certify(path)
    (row,) = report.certificate.benchmarks
    tied = [
        test
        for test in placed(row).neighbours
        if test.apart and any(test.a in group and test.b in group for group in placed(row).tie_groups)
    ]
    assert bool(tied) == ("told apart as neighbours and yet tied" in report.markdown())
    assert tied, "the world has such a pair"


def test_two_levels_of_one_name_are_counted(tmp_path: Path) -> None:
    """Two prompts that their author called alike are told apart by a number, from 2 on."""
    rows = [
        {"promptIdx": place, "testIdx": 0, "provider": {"id": "p", "label": "p"}, "vars": {"a": "1"},
         "prompt": {"raw": f"{place} 1?", "label": "one"}, "success": True, "score": 1,
         "response": {"output": str(place)}}
        for place in (0, 1, 2)
    ]  # fmt: skip
    prompts = [{"raw": f"{place} {{{{a}}}}?", "label": "one"} for place in (0, 1, 2)]
    document = {"evalId": "e", "config": {}, "results": {"results": rows, "prompts": prompts}}
    (tmp_path / "a.json").write_text(json.dumps(document))
    (row,) = gridc.certify(tmp_path).certificate.benchmarks
    assert row.configurations == ("prompt=one", "prompt=one (2)", "prompt=one (3)")


def test_an_item_that_a_model_lacks_failed_there(tmp_path: Path) -> None:
    """`few` was asked easy items alone: it does not stand first, unless common items alone count."""
    lines = ["model,benchmark,item,score"]
    lines += [f"few,b,{number},{int(number > 2)}" for number in range(10)]
    lines += [f"all,b,{number},{int(number < 7)}" for number in range(30)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    (row,) = gridc.certify(path).certificate.benchmarks
    few = next(score for score in row.scores if score.model == "few")
    assert few.score == pytest.approx(7 / 30)
    assert few.bounds == pytest.approx((7 / 30, 27 / 30))
    assert (few.items, few.asked, few.states.absent) == (30, 10, 20)
    assert "30 of 10" not in gridc.certify(path).markdown()
    (test,) = placed(row).neighbours
    assert (row.items, test.gap, test.apart) == (30, 0.0, False)
    assert "few: 20 answers have no score (20 absent); they count as wrong" in " ".join(row.warnings)
    (common,) = gridc.certify(path, common_only=True).certificate.benchmarks
    assert [(score.model, score.score, score.items) for score in common.scores] == [
        ("all", 0.7, 10), ("few", 0.7, 10),
    ]  # fmt: skip
    assert (row.left_out, common.left_out, common.items) == (0, 20, 30)
    done = command("certify", "--from", path.name, "--common-only", cwd=tmp_path)
    assert (
        "only items that all models have count, because the author asked for common items alone"
        in done.stdout
    )
    assert "b: 30 items, of which 20 are left out because some model lacks them" in done.stdout
    assert "left out because" not in command("certify", "--from", path.name, cwd=tmp_path).stdout


def test_models_that_share_no_item_lack_nothing_of_each_others(tmp_path: Path) -> None:
    """Nothing shows that `left` and `right` were asked from one list; `both` shows it where it has items of
    either. Of a benchmark that is said to have 20 items all count."""

    def rows(model: str, items: range) -> list[str]:
        return [f"{model},b,{number},{int(number % 2)}" for number in items]

    def scores(*lines: str, **stated: Any) -> dict[str, tuple[float | None, int]]:
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["model,benchmark,item,score", *lines]) + "\n")
        parts = gridc.certify(path, **stated).certificate.benchmarks
        return {one.model: (one.score, one.states.absent) for row in parts for one in row.scores}

    apart = [*rows("left", range(10)), *rows("right", range(10, 20))]
    assert scores(*apart) == {"left": (0.5, 0), "right": (0.5, 0)}
    assert scores(*apart, total=20) == {"left": (0.25, 10), "right": (0.25, 10)}
    assert scores(*apart, *rows("both", range(8, 12))) == {
        "left": (0.25, 10), "right": (0.25, 10), "both": (0.1, 16),
    }  # fmt: skip
    assert scores(*apart, *rows("other", range(9, 19)), common_only=True)["other"] == (None, 0)


def test_where_no_item_is_common_to_all_no_score_has_bounds(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,item,score\na,1,1\nb,2,1\nboth,1,\nboth,2,1\n")
    (row,) = gridc.certify(path, common_only=True).certificate.benchmarks
    assert {(one.score, one.bounds) for one in row.scores} == {(None, None)}


def test_files_that_name_no_benchmark_are_one_where_each_has_a_model_of_its_own(tmp_path: Path) -> None:
    """As `gridc compare` takes them, so that what one of them lacks is absent."""
    cases = Path(__file__).resolve().parents[1] / "cases" / "compare"
    base, candidate = cases / "absent_base.csv", cases / "absent_candidate.csv"
    report = gridc.certify([base, candidate])
    (row,) = report.certificate.benchmarks
    assert {one.model: one.states.absent for one in row.scores} == {"m": 0, "m2": 40}
    assert [one.score for one in row.scores] == pytest.approx([80 / 120, 40 / 120])
    assert any("they are one benchmark, absent_base" in note for note in report.certificate.notes)
    (compared,) = gridc.compare(base, candidate, margin=5).comparison.benchmarks
    assert compared.score is not None and compared.score.b == pytest.approx(100 / 3)
    for other in (
        {"benchmarks": {"first": ["absent_base"]}},
        {"models": {"m": ["m2"]}},
    ):
        rows = gridc.certify([base, candidate], **other).certificate.benchmarks  # type: ignore[arg-type]
        assert len(rows) == 2, "a name, or a model of both, says that they are two"
    text = candidate.read_text().splitlines()
    (tmp_path / "else.csv").write_text("\n".join([text[0], *(f"m2,other-{n},1" for n in range(9))]) + "\n")
    report = gridc.certify([base, tmp_path / "else.csv"])
    assert len(report.certificate.benchmarks) == 2
    assert any("share no item: each is a benchmark of its own" in note for note in report.certificate.notes)


def test_a_model_that_fails_is_not_ahead_of_one_that_answers(tmp_path: Path) -> None:
    """28 right and 22 failed of 50 is 56 %, and a model with 66 % stands before it."""
    lines = ["model,item,score"]
    lines += [f"flaky,q{n:03},{'1' if n % 25 < 14 else ''}" for n in range(50)]
    lines += [f"steady,q{n:03},{int(n % 50 < 33)}" for n in range(50)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    report = gridc.certify(path)
    (row,) = report.certificate.benchmarks
    assert [(place.model, place.score) for place in placed(row).order] == [("steady", 0.66), ("flaky", 0.56)]
    (test,) = placed(row).neighbours
    steady = [n < 33 for n in range(50)]
    flaky = [n % 25 < 14 for n in range(50)]
    ahead = sum(a > b for a, b in zip(steady, flaky, strict=True))
    assert (test.a_ahead, test.b_ahead) == (ahead, ahead - 5), "as the gap of 5 items has it"
    assert test.gap == pytest.approx(0.1) and not test.apart
    assert "0.560 [0.413, 0.700], at most 1.000" in report.markdown().replace("\\", "")


def test_lists_of_what_was_resolved_have_one_denominator(tmp_path: Path) -> None:
    """29 of 40, said by the list itself, by the author, or by the other lists: alone and in a folder."""
    for name, count in (("one", 29), ("two", 40)):
        (tmp_path / name).mkdir()
        ids = [f"task-{n:03}" for n in range(count)]
        (tmp_path / name / "results.json").write_text(json.dumps({"resolved": ids}))

    def score(*paths: Path, total: int | None = None) -> float | None:
        (row,) = gridc.certify(list(paths), total=total).certificate.benchmarks
        return next(one.score for one in row.scores if one.model == "one")

    assert score(tmp_path / "one", total=40) == 0.725
    assert score(tmp_path / "one", tmp_path / "two") == 0.725
    alone = gridc.certify(tmp_path / "one").certificate.benchmarks[0]
    assert "no list says how many items there are" in " ".join(alone.warnings)


MISSING: dict[str, Callable[[np.random.Generator, Any], Any]] = {
    "at random": lambda rng, right: rng.random(40) < 0.3,
    "where it is wrong": lambda rng, right: ~right[1] & (rng.random(40) < 0.7),
    "where the other is right": lambda rng, right: right[0] & (rng.random(40) < 0.7),
}


@pytest.mark.parametrize("missing", MISSING)
def test_what_is_missing_makes_no_claim(missing: str, tmp_path: Path) -> None:
    """Two models of one true rate, of which one lacks answers: each claim is tested by the sign test with
    what is missing filled in against it, here by scipy, and one is made in at most 5 of 100 draws."""
    rng, claims = np.random.default_rng(1), 0
    for draw in range(2000):
        right = rng.random((2, 40)) < 0.6
        gone = MISSING[missing](rng, right)
        least, most = (right[0], right[1] & ~gone), (right[0], right[1] | gone)
        sides = [
            (int((least[a] & ~most[b]).sum()), int((~least[a] & most[b]).sum())) for a, b in ((0, 1), (1, 0))
        ]
        p = min(1.0, 2 * min(float(binom.sf(ahead - 1, ahead + behind, 0.5)) for ahead, behind in sides))
        claims += p <= 0.05
        if draw < 8:
            asked = [(m, n) for m in (0, 1) for n in range(40) if m == 0 or not gone[n]]
            rows = [f"{'ab'[m]},{n},{int(right[m, n])}" for m, n in asked]
            path = tmp_path / f"{draw}.csv"
            path.write_text("\n".join(["model,item,score", *rows]) + "\n")
            (row,) = gridc.certify(path).certificate.benchmarks
            assert placed(row).neighbours[0].p == pytest.approx(p)
    assert claims / 2000 <= 0.05


def harness_log(folder: Path, rows: list[dict[str, object]], scores: list[int], model: str = "m") -> None:
    """A run of lm-evaluation-harness over documents of a data set."""
    folder.mkdir()
    samples = [
        {"doc_id": number, "doc": row, "target": str(row.get("label", 0)), "filter": "none",
         "metrics": ["acc"], "acc": float(score),
         "arguments": {"gen_args_0": {"arg_0": f"Q: {row['question']}", "arg_1": " x"}},
         "resps": [[["-1.0", "False"]]], "filtered_resps": [["-1.0", "False"]]}
        for number, (row, score) in enumerate(zip(rows, scores, strict=True))
    ]  # fmt: skip
    (folder / "samples_quiz_t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    results = {
        "results": {"quiz": {"acc,none": sum(scores) / len(scores)}}, "configs": {"quiz": {}}, "n-shot": {},
        "n-samples": {"quiz": {"effective": len(rows)}}, "lm_eval_version": "0.4.13", "model_name": model,
    }  # fmt: skip
    (folder / "results_t.json").write_text(json.dumps(results))


def test_a_template_of_its_own_makes_no_configuration_of_its_own(tmp_path: Path) -> None:
    """Every model has another chat template: it is on or off in both, and the runs pair."""
    rows: list[dict[str, object]] = [{"question": f"Question {number}?"} for number in range(8)]
    for model in ("one", "two"):
        for chat in (None, f"template of {model}"):
            folder = tmp_path / f"{model}-{'chat' if chat else 'plain'}"
            harness_log(folder, rows, [int(model == "one")] * 8, model)
            results = json.loads((folder / "results_t.json").read_text())
            (folder / "results_t.json").write_text(json.dumps({**results, "chat_template_sha": chat}))
    (row,) = gridc.certify(tmp_path).certificate.benchmarks
    assert row.configurations == ("chat=no", "chat=yes") and "chat_template" in row.between_models
    (pair,) = row.pairs
    assert (pair.configurations, pair.a_better, pair.b_better, pair.equal) == (2, 2, 0, 0)
    # Two templates of one model are two framings.
    harness_log(tmp_path / "other", rows, [1] * 8, "one")
    results = json.loads((tmp_path / "other" / "results_t.json").read_text())
    other = {**results, "chat_template_sha": "another one"}
    (tmp_path / "other" / "results_t.json").write_text(json.dumps(other))
    parts = gridc.certify(tmp_path).certificate.benchmarks
    assert len({name for row in parts for name in row.configurations}) == 4
    assert "chat_template" not in parts[0].between_models


def test_items_of_two_packages_match_by_what_is_asked(tmp_path: Path) -> None:
    """One word is written in two ways of Unicode, line ends and the order of choices differ, targets are an
    index and a letter; one question has another choice, and two documents ask alike of unknown articles."""
    questions = ["Cafe\u0301 or tea?", "One\r\nor two? ", "Other choice?", "Title?", "Title?"]
    rows: list[dict[str, object]] = [
        {"question": text, "choices": ["yes", "no"], "answer": 0, "text": f"article {number}"}
        for number, text in enumerate(questions)
    ]
    harness_log(tmp_path / "lm", rows, [1, 0, 1, 1, 0])
    asked = ["Caf\u00e9 or tea?", "One\nor two?", "Other choice?", "Title?"]
    choices = [["no", "yes"], ["yes", "no"], ["yes", "never"], ["yes", "no"]]
    log = {
        "version": 2, "status": "success", "plan": {}, "results": {"total_samples": 4, "scores": []},
        "eval": {"model": "other", "task": "quiz", "task_version": 0},
        "samples": [
            {"id": number, "epoch": 1, "input": text, "choices": some, "target": "BAAA"[number],
             "scores": {"choice": {"value": "C"}}}
            for number, (text, some) in enumerate(zip(asked, choices, strict=True))
        ],
    }  # fmt: skip
    (tmp_path / "inspect.json").write_text(json.dumps(log))
    row, other = gridc.certify(tmp_path).certificate.benchmarks
    assert {row.items, other.items} == {5, 4}
    assert row.matching is not None
    assert "2 items match by text, choices, target" in row.matching
    assert "2 of inspect_ai and 3 of lm-eval have no match" in row.matching
    assert "2 of lm-eval because their own log asks the same more than once" in row.matching
    assert not any("another question" in warning for warning in row.warnings), "each package has its own ids"
    rows_of_one = gridc.certify(tmp_path, models={"one": ["m", "other"]}).certificate.benchmarks
    assert {score.model for row in rows_of_one for score in row.scores} == {"one"}


def test_a_store_and_a_log_match_by_what_is_asked(finished: Path, tmp_path: Path) -> None:
    """The items of a study, written as another package has them."""
    with sqlite3.connect(finished / "results" / "small" / "store.sqlite") as db:
        ids = [item for (item,) in db.execute("SELECT item FROM question ORDER BY item")]
        (model,) = db.execute("SELECT min(model) FROM cell").fetchone()
    rows = {
        f"{row['category']}-{row['example_id']}": row
        for row in map(json.loads, (BUILTIN_BENCHMARKS / "pocket_bbq.jsonl").read_text("utf-8").splitlines())
    }
    assert set(ids) <= rows.keys()
    harness_log(tmp_path / "lm", [rows[item] for item in ids], [1] * len(ids), model)
    store = finished / "results" / "small"
    report = gridc.compare(tmp_path / "lm", store, margin=5)
    assert report.verdict == "NOT COMPARABLE", "decoding, scoring and code are the packages' own"
    assert any(
        f"{len(ids)} items match by text, choices, target; 0 of lm-eval and 0 of gridc" in warning
        for warning in report.comparison.warnings
    )
    assert {row.aspect for row in report.comparison.instrument.differences if not row.allowed} >= {
        "request", "score", "code",
    }  # fmt: skip


def test_a_study_written_as_a_table_has_its_places(finished: Path, tmp_path: Path) -> None:
    """What gridc ran, as another package might have kept it: the same order, tests, places and tie groups."""
    results = finished / "results" / "small"
    certificate = json.loads((results / "certificate.json").read_text())
    with sqlite3.connect(results / "store.sqlite") as db:
        rows = db.execute(
            "SELECT cell.model, cell.benchmark, configuration, item, replicate, score FROM sample "
            "JOIN cell ON cell.id = cell"
        ).fetchall()
    study = compile_spec(finished / "gridcard.toml", None).study
    units = {name: held.units for name, held in study.items.items()}
    lines = ["model,benchmark,framing,item,replicate,score,unit"]
    lines += [",".join(f'"{value}"' for value in (*row, units[row[1]][row[3]])) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    report = gridc.certify(tmp_path / "t.csv", axes=["framing"], unit="unit")
    logs = {row.benchmark: row for row in report.certificate.benchmarks}
    for row in certificate["benchmarks"]:
        mine, theirs = row["standings"], placed(logs[row["benchmark"]]).model_dump(mode="json")
        assert len(mine["over"]) == len(theirs["over"]) and mine["test"] == theirs["test"]
        assert mine["tie_groups"] == theirs["tie_groups"]
        for part in ("order", "neighbours"):
            for one, other in zip(mine[part], theirs[part], strict=True):
                assert one.pop("interval", []) == pytest.approx(other.pop("interval", []))
                names = {key: one.pop(key) for key in ("model", "a", "b") if key in one}
                assert names == {key: other.pop(key) for key in names}
                assert one == pytest.approx(other)
