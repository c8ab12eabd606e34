"""The Python API on a finished study: its answers, its tables against plain SQL, its HTML and its errors."""

import json
import re
import sqlite3
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

import gridc
import gridc.study
from gridc.diagnostics.errors import SpecError, StampError, StoreError, UnavailableError, VerificationError
from gridc.runtime.run import RunStep
from gridc.study import OpenStudy, validate_all
from tests.e2e.conftest import command, make_study
from tests.reports.test_notebook import WellFormed

pa = pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def opened(finished: Path) -> OpenStudy:
    return gridc.open(finished)


def plain(opened: OpenStudy) -> sqlite3.Connection:
    return sqlite3.connect(f"{opened.store.as_uri()}?mode=ro", uri=True)


def test_what_the_api_says_is_what_the_command_line_prints(
    finished: Path, opened: OpenStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is free is another number at another time.
    monkeypatch.setattr("gridc.runtime.engines.hf.memory.free_memory", lambda device: None)
    for name, said in (("plan", opened.plan()), ("status", opened.status()), ("certify", opened.certify())):
        printed = json.loads(command(name, "--json", cwd=finished).stdout)
        assert json.loads(json.dumps(said.as_json())) == printed, name


def test_scores_are_those_that_sql_counts(opened: OpenStudy) -> None:
    table = opened.scores()
    counted = plain(opened).execute(
        """SELECT key, count(*), count(score), count(choice), sum(score) FROM cell
           JOIN sample ON sample.cell = cell.id GROUP BY cell.id"""
    )
    expected = {key: counts for key, *counts in counted}
    rows = table.to_pylist()
    assert {row["cell"] for row in rows} == expected.keys()
    for row in rows:
        trials, scored, parsed, correct = expected[row["cell"]]
        assert [row[key] for key in ("trials", "scored", "parsed", "correct")] == [
            trials,
            scored,
            parsed,
            correct,
        ]
        assert row["score"] == correct / trials
        assert row["configuration"] == ",".join(
            f"{axis}={row[f'axis_{axis}']}" for axis in ("template", "decoding", "few_shot", "scoring")
        )
    ranked = [row for row in rows if row["method"] == "loglikelihood"]
    assert ranked
    assert {(row["parse_rate"], row["per_protocol"]) for row in ranked} == {(None, None)}


def test_samples_are_those_of_the_store_with_their_texts(opened: OpenStudy) -> None:
    stored = plain(opened).execute(
        """SELECT key, item, replicate, choice, score, evidence, call,
                  CASE kind WHEN 'generate' THEN json_extract(answer, '$.text') END
           FROM sample JOIN cell ON cell.id = sample.cell JOIN trace USING (cell, item, replicate)
           JOIN call ON call.id = trace.call"""
    )
    expected = {(key, item, replicate): rest for key, item, replicate, *rest in stored}
    rows = opened.samples().to_pylist()
    assert len(rows) == len(expected) == 320
    for row in rows:
        choice, score, evidence, call, text = expected[row["cell"], row["item"], row["replicate"]]
        assert (row["choice"], row["score"], row["evidence"]) == (choice, score, evidence)
        assert (row["calls"], row["text"]) == ([call], text)
        assert row["cell"].startswith(f"{row['model']}/{row['benchmark']}/")


def test_calls_are_those_of_the_store(opened: OpenStudy) -> None:
    stored = plain(opened).execute("SELECT id, kind, answer, answer_digest, finished FROM call ORDER BY id")
    rows = opened.calls().to_pylist()
    for row, (identifier, kind, answer, digest, finished) in zip(rows, stored, strict=True):
        assert (row["call"], row["kind"], row["answer"], row["answer_digest"]) == (
            identifier,
            kind,
            answer,
            digest,
        )
        assert row["finished"].isoformat(timespec="milliseconds") == finished
        given = json.loads(answer)
        assert row["text"] == given.get("text")
        assert row["loglikelihoods"] == given.get("loglikelihoods")
        assert row["model"] in ("qwen2", "llama")
        assert (row["temperature"] is None) == (kind == "loglikelihood")


def test_pairs_and_hypotheses_are_the_certificates(finished: Path, opened: OpenStudy) -> None:
    certificate = json.loads((finished / "results/small/certificate.json").read_text())
    rows = opened.pairs().to_pylist()
    stated = [
        (benchmark["benchmark"], scope["name"], pair)
        for benchmark in certificate["benchmarks"]
        for scope in benchmark["scopes"]
        for pair in scope["pairs"]
    ]
    assert len(rows) == len(stated) > 3
    for row, (benchmark, scope, pair) in zip(rows, stated, strict=True):
        assert (row["benchmark"], row["scope_name"]) == (benchmark, scope)
        for key, value in pair.items():
            if isinstance(value, dict):
                inner = {name: held for name, held in value.items() if f"{key}_{name}" in row}
                assert inner
                assert {name: row[f"{key}_{name}"] for name in inner} == inner
            elif value is None and key not in row:
                assert {row[name] for name in row if name.startswith(f"{key}_")} == {None}
            else:
                assert row[key] == value
    (hypothesis,) = opened.hypotheses().to_pylist()
    (decided,) = certificate["hypotheses"]
    ranking = decided.pop("ranking")
    assert {f"ranking_{key}": value for key, value in ranking.items()}.items() <= hypothesis.items()
    assert decided.pop("effect") is None and hypothesis["effect_outcome"] is None
    assert {key: hypothesis[key] for key in decided} == decided


def test_a_table_can_be_read_in_batches_and_in_part(opened: OpenStudy) -> None:
    whole = opened.samples()
    batches = list(opened.batches("samples", rows=100))
    assert [batch.num_rows for batch in batches[:-1]] == [100] * (len(batches) - 1)
    assert pa.Table.from_batches(batches).to_pylist() == whole.to_pylist()
    some = opened.samples(columns=["item", "score"])
    assert some.equals(whole.select(["item", "score"]))
    with pytest.raises(gridc.GridcError, match="no column `prise`"):
        opened.samples(columns=["prise"])


def test_a_reader_may_be_used_in_another_thread(opened: OpenStudy) -> None:
    """As query engines do."""
    reader, rows = opened.batches("calls", rows=64), []
    rows.append(reader.read_next_batch().num_rows)
    thread = threading.Thread(target=lambda: rows.append(reader.read_all().num_rows))
    thread.start()
    thread.join()
    assert sum(rows) == opened.calls(columns=["call"]).num_rows


def test_every_column_says_what_it_is(opened: OpenStudy) -> None:
    for table in (opened.scores(), opened.samples(), opened.calls()):
        assert all(field.metadata[b"description"] for field in table.schema)
        assert table.schema.metadata[b"gridc.complete"] == b"yes"
        assert table.schema.metadata[b"gridc.stamp"].decode() == opened.status().stamp


def test_an_incomplete_run_has_nulls_and_says_so(study: Path) -> None:
    opened = gridc.open(study)
    with sqlite3.connect(opened.store) as db:
        cell, item, replicate = db.execute("SELECT cell, item, replicate FROM sample").fetchone()
        db.execute(
            "UPDATE sample SET choice = NULL, score = NULL, evidence = NULL"
            " WHERE (cell, item, replicate) = (?, ?, ?)",
            (cell, item, replicate),
        )
    scores = opened.scores()
    assert scores.schema.metadata[b"gridc.complete"] == b"no"
    assert scores["score"].null_count == 1
    assert opened.samples()["score"].null_count == 1
    assert opened.findings().complete is False


def test_tables_without_pyarrow_are_a_coded_error(opened: OpenStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for read in (opened.scores, opened.pairs, opened.hypotheses, lambda: opened.batches("calls")):
        with pytest.raises(UnavailableError, match="GC604") as caught:
            read()
        assert caught.value.diagnostics[0].help == "pip install 'gridc[tables]'"


def test_whatever_goes_wrong_is_a_gridc_error(study: Path) -> None:
    with pytest.raises(SpecError):
        gridc.open(study / "nothing.toml")
    opened = gridc.open(study)
    opened.store.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="GC605"):
        opened.samples()
    (study / "gridcard.lock").unlink()
    with pytest.raises(StampError, match="GC403"):
        opened.findings()
    with pytest.raises(VerificationError, match="GC403"):
        opened.verify()
    with pytest.raises(gridc.GridcError, match="GC607") as caught:
        gridc.open(study, out=study / "gridcard.toml").run()  # a file is no folder
    assert caught.value.exit_code == 6


def test_several_specs_have_a_verdict_each(study: Path) -> None:
    bad = study / "bad.toml"
    bad.write_text("gridcard = 1\n")
    good, wrong = validate_all([study / "gridcard.toml", bad])
    assert (good.valid, good.exit_code, wrong.valid, wrong.exit_code) == (True, 0, False, 3)
    assert all(diagnostic.file == str(bad) for diagnostic in wrong.diagnostics)


def test_the_first_example_goes_from_a_spec_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    _, example, *_ = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text("utf-8"), re.DOTALL
    )
    assert len(example.splitlines()) <= 15
    make_study(tmp_path, items=4)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "python.md", "exec"), {})
    printed = capsys.readouterr().out
    steps = [
        tuple(map(int, step))
        for step in re.findall(r": (\d+) of at most (\d+) tokens", printed.replace(",", ""))
    ]
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] > 0
    assert "pyarrow.Table" in printed
    assert "axis_template" in printed
    study = gridc.open(tmp_path)
    assert study.samples().num_rows == study.plan().manifest.runs * 4
    bundle = study.bundle(tmp_path / "bundle")
    assert gridc.open(bundle).verify().bundle == bundle
    assert gridc.diff(study.store, bundle / "results").equal


def test_a_run_says_that_it_stamped_and_asks_nothing_twice(study: Path) -> None:
    (study / "gridcard.lock").unlink()
    said: list[str] = []
    steps: list[RunStep] = []
    done = gridc.open(study).run(progress=steps.append, notify=said.append)
    assert said == [f"stamped: {done.finished.stamp[:12]}, not anchored to anything"]
    assert (done.finished.executed, done.finished.reused) == (0, 320)
    assert [step.doing for step in steps] == ["reading the items", "trying the instrument"]


def test_results_show_themselves_in_a_notebook(opened: OpenStudy) -> None:
    for shown in (opened.plan(), opened.findings(), opened.certify()):
        html = shown._repr_html_()
        assert opened.status().stamp[:12] in html
        assert "<table" in html


def test_a_study_shows_its_figures_in_a_notebook(opened: OpenStudy, tmp_path: Path) -> None:
    """As the report page draws them; before there are results it says why there are none."""
    html = opened._repr_html_()
    WellFormed(html)
    made = opened.report(figures=True)
    drawn = {path.read_text("utf-8").split(">", 1)[1] for path in made.figures if path.suffix == ".svg"}
    assert len(drawn) > 3 and all(svg in html for svg in drawn), "each figure, and the same one"
    assert html.count("<svg") == len(drawn) and "<script" not in html
    assert html.index("<svg") < html.index("<details>") < html.rindex("<svg")
    assert opened.status().stamp[:12] in html
    elsewhere = gridc.open(opened.spec, out=tmp_path / "none")
    assert elsewhere._repr_html_().startswith("<p><code>gridc.open(")
    assert "no figures yet, because there is no store here" in elsewhere._repr_html_()


def test_a_notebook_shows_a_comparison_and_a_study(opened: OpenStudy) -> None:
    """What IPython makes of them, and not only the method that it calls."""
    formatter = pytest.importorskip("IPython.core.formatters").HTMLFormatter()
    assert "<svg" in formatter(opened)
    compared = gridc.compare(opened.store.parent, opened.store.parent, margin=5)
    assert compared.verdict in formatter(compared) and repr(compared).startswith(compared.verdict)


def test_importing_gridc_imports_nothing_else() -> None:
    program = "import sys, gridc; print([name for name in sys.modules if name.startswith('gridc')])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "['gridc']"


def test_a_known_verdict_needs_no_heavy_module(finished: Path, tmp_path: Path) -> None:
    program = (
        "import os, sys, runpy\n"
        f"os.environ['GRIDC_CACHE'] = {str(tmp_path)!r}\n"
        "for _ in range(2):\n"
        f"    sys.argv = ['gridc', 'validate', {str(finished / 'gridcard.toml')!r}]\n"
        "    loaded = set(sys.modules)\n"
        "    if os.fork() == 0:\n"
        "        try: runpy.run_module('gridc', run_name='__main__')\n"
        "        finally:\n"
        "            heavy = {'pydantic', 'numpy', 'pyarrow', 'jinja2', 'sqlite_utils', 'rich'}\n"
        "            print(sorted(heavy & set(sys.modules)), flush=True); os._exit(0)\n"
        "    os.wait()\n"
    )
    printed = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    assert printed[-1] == "[]", "the second time the verdict is known"
    assert "'pydantic'" in printed[-3]


def test_no_call_has_the_name_of_a_module() -> None:
    """Importing `gridc.study.NAME` would put the module in the place of the call."""
    modules = {path.stem for path in Path(gridc.study.__file__).parent.glob("*.py")}
    assert not modules & set(gridc.study.__all__)
    for _ in range(2):
        assert gridc.study.measurands("lm-eval:truthfulqa_mc1")


def test_a_command_is_a_module_of_its_name() -> None:
    from gridc.cli import COMMANDS

    modules = {path.stem for path in (Path(gridc.__file__).parent / "cli").glob("*.py")}
    assert modules == {*COMMANDS, "__init__", "comparison_table", "conversation", "options", "terminal"}
    for name in COMMANDS:
        assert getattr(import_module(f"gridc.cli.{name}"), name).name == name


@pytest.mark.parametrize("name", ["pandas", "polars", "duckdb"])
def test_other_packages_take_the_tables(opened: OpenStudy, name: str) -> None:
    package = pytest.importorskip(name)
    samples = opened.samples()
    if name == "pandas":
        counted = samples.to_pandas().groupby("model", observed=True)["score"].sum().to_dict()
    elif name == "polars":
        frame = package.from_arrow(samples).group_by("model").agg(package.col("score").sum())
        counted = dict(frame.iter_rows())
    else:
        connection = package.connect()
        connection.register("samples", opened.batches("samples", rows=100))
        query = "SELECT model, sum(score) FROM samples GROUP BY model"
        counted = dict(connection.execute(query).fetchall())
    stored = plain(opened).execute(
        "SELECT model, sum(score) FROM sample JOIN cell ON cell.id = sample.cell GROUP BY model"
    )
    assert {str(model): int(score) for model, score in counted.items()} == dict(stored.fetchall())
