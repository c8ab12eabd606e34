"""The command line as a user meets it: exit codes, coded errors in their place, no traceback."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.e2e.conftest import Done, command, process

ROOT = Path(__file__).parents[2]


def gridc(*arguments: str, cwd: Path) -> Done:
    return command(*arguments, cwd=cwd, GRIDC_DATA=None)


def edited(folder: Path, old: str, new: str) -> Path:
    spec = folder / "gridcard.toml"
    text = spec.read_text()
    assert old in text
    spec.write_text(text.replace(old, new, 1))
    return spec


BAD = [
    ("unknown key", 'id = "T4"', 'id = "T4"\ntemprature = 1', "GC101", "temprature = 1"),
    ("wrong type", "temperature = 0.7", 'temperature = "hot"', "GC102", 'temperature = "hot"'),
    (
        "no provenance",
        'prompt = "builtin:T4"\nprovenance = "a test"',
        'prompt = "builtin:T4"',
        "GC103",
        "[[axis.level]]",
    ),
    ("duplicate id", 'id = "T4"', 'id = "T1"', "GC201", 'id = "T1"'),
    (
        "empty grid",
        'when = { scoring = "logprob", decoding = "sampled" }',
        "when = {}",
        "GC301",
        "[[benchmark]]",
    ),
    ("missing file", "path:items.jsonl", "path:nothing.jsonl", "GC309", 'source = "path:nothing.jsonl"'),
    ("outside", "path:items.jsonl", "path:../items.jsonl", "GC308", 'source = "path:../items.jsonl"'),
    ("not a number", "temperature = 0.7", "temperature = nan", "GC003", "temperature = nan"),
    (
        "template",
        "builtin:T4",
        "{{ question }} {{ secret }}",
        "GC310",
        'prompt = "{{ question }} {{ secret }}"',
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"), [each[1:] for each in BAD], ids=[each[0] for each in BAD]
)
def test_bad_input_is_a_coded_error_at_its_line(
    study: Path, old: str, new: str, code: str, line: str
) -> None:
    edited(study, old, new)
    done = gridc("validate", cwd=study)
    assert done.returncode == 3
    assert f"error[{code}]" in done.stderr
    assert "--> gridcard.toml:" in done.stderr
    assert f"| {line}" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_as_json_has_its_place(study: Path) -> None:
    edited(study, 'id = "T4"', 'id = "T1"')
    done = gridc("validate", "--json", cwd=study)
    (found,) = json.loads(done.stdout)["diagnostics"]
    line = (study / "gridcard.toml").read_text().splitlines()[found["span"]["line"] - 1]
    assert found["code"] == "GC201"
    assert line[found["span"]["column"] - 1 :].startswith('"T1"')


def test_a_changed_spec_is_not_run(study: Path) -> None:
    edited(study, "seed = 1", "seed = 2")
    done = process("run", cwd=study)
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    assert "error[GC401]: `benchmark[bbq].sample.seed` was 1 when it was stamped and is 2 now" in done.stderr


def test_superseding_keeps_the_old_stamp(study: Path) -> None:
    old = json.loads((study / "gridcard.lock").read_text())["stamp"]
    edited(study, "title = ", "title = 'Another' #")
    assert gridc("stamp", cwd=study).returncode == 4
    assert gridc("stamp", "--supersede", cwd=study).returncode == 0
    (replaced,) = json.loads((study / "gridcard.lock").read_text())["supersedes"]
    assert replaced["stamp"] == old
    assert replaced["content"]["spec"]["study"]["title"] != "Another"


def test_answers_are_shared_between_stamps(study: Path) -> None:
    """Another title is another stamp, but the same calls: nothing is asked again."""
    edited(study, "title = ", "title = 'Another' #")
    assert "`study.title` was" in gridc("status", cwd=study).stderr, "status says how the study departs"
    warned = gridc("stamp", "--supersede", cwd=study).stderr
    assert "320 answers of its models to its items were there before this stamp was made" in warned
    done = json.loads(gridc("run", "--json", cwd=study).stdout)
    assert (done["executed"], done["reused"]) == (0, 320)
    told = gridc("report", cwd=study).stdout
    assert "320 of 320 calls were answered before the study was stamped" in " ".join(told.split())
    assert gridc("verify", cwd=study).returncode == 0


def forget_an_answer(store: Path) -> None:
    """Make a finished store look as it did before its last call."""
    with sqlite3.connect(store) as db:
        cell, item, replicate, call = db.execute("SELECT cell, item, replicate, call FROM trace").fetchone()
        db.execute(
            "UPDATE sample SET choice = NULL, score = NULL, evidence = NULL"
            " WHERE cell = ? AND item = ? AND replicate = ?",
            [cell, item, replicate],
        )
        db.execute("UPDATE call SET answer = NULL, answer_digest = NULL WHERE id = ?", [call])


def test_a_report_before_the_end_is_marked_and_logged(study: Path) -> None:
    store = study / "results/small/store.sqlite"
    forget_an_answer(store)
    done = gridc("report", cwd=study)
    assert done.returncode == 0
    assert "The run is incomplete: 319 of 320 calls" in done.stdout
    certificate = json.loads((study / "results/small/certificate.json").read_text())
    full = certificate["benchmarks"][0]["scopes"][0]["pairs"][0]
    assert (full["measured"], full["size"]) == (11, 12)
    assert full["d1"] is not True
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT count(*) FROM event WHERE kind = 'interim look'").fetchone() == (1,)


def test_a_second_process_is_refused_and_ctrl_c_leaves_a_store_that_resumes(study: Path) -> None:
    (study / "results/small/store.sqlite").unlink()
    running = subprocess.Popen(
        [sys.executable, "-m", "gridc", "run"],
        cwd=study,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stderr is not None
    while "tokens" not in running.stderr.readline():
        assert running.poll() is None
    running.send_signal(signal.SIGSTOP)  # or it comes to its end while a slow machine starts the second one
    second = gridc("run", cwd=study)
    running.send_signal(signal.SIGINT)  # taken up as it goes on, before a fast machine is at the end
    running.send_signal(signal.SIGCONT)
    assert second.returncode == 6
    assert "error[GC601]" in second.stderr
    for _ in range(3):  # an impatient user
        running.send_signal(signal.SIGINT)
        time.sleep(0.01)
    _, told = running.communicate()
    assert running.returncode == 6
    assert "run the same command to resume" in told
    assert "Traceback" not in told
    assert gridc("report", cwd=study).returncode == 0
    assert gridc("export", "bundle", "--to", "partly", cwd=study).returncode == 0
    checked = gridc("verify", "partly", cwd=study).stdout
    assert "incomplete, nothing differs so far: partly" in checked
    assert gridc("run", cwd=study).returncode == 0


def test_a_file_that_is_no_store_is_refused(study: Path) -> None:
    store = study / "results/small/store.sqlite"
    store.write_bytes(b"this is not a database, but it is long enough to look like one" * 20)
    for name in ("run", "report", "status", "verify"):
        done = gridc(name, cwd=study)
        assert done.returncode == 6, name
        assert "error[GC605]" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_plan_is_printed_as_json(study: Path) -> None:
    plan = json.loads(gridc("plan", "--json", cwd=study).stdout)
    assert plan["counts"]["unique"] == 320


def test_every_code_can_be_explained() -> None:
    done = gridc("explain", "gc103", cwd=ROOT)
    assert done.returncode == 0
    assert "provenance" in done.stdout
    unknown = gridc("explain", "GC999", cwd=ROOT)
    assert unknown.returncode == 2
    assert "error[GC000]" in unknown.stderr


def test_a_store_of_another_study_has_no_report(study: Path) -> None:
    edited(study, "seed = 1", "seed = 2")
    assert gridc("stamp", "--supersede", cwd=study).returncode == 0
    for name in ("status", "report"):
        done = gridc(name, cwd=study)
        assert done.returncode == 6
        assert "error[GC603]" in done.stderr


def test_a_folder_that_cannot_be_written_is_told(study: Path) -> None:
    (study / "taken").write_text("a file where a folder should be")
    done = gridc("run", "--out", "taken/results", cwd=study)
    assert done.returncode == 6
    assert "error[GC607]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("denied", "mode", "name"),
    [
        ("gridcard.lock", 0o000, "status"),
        ("results/study/store.sqlite", 0o000, "status"),
        ("results/study", 0o555, "report"),
    ],
)
def test_what_one_may_not_read_or_write_is_no_damage(study: Path, denied: str, mode: int, name: str) -> None:
    if os.getuid() == 0 and not all(each.stat().st_mode & 0o001 for each in Path(pytest.__file__).parents):
        pytest.skip("only root may read what is installed here")
    for parent in (study, *study.parents):
        if parent.stat().st_uid == os.getuid() and parent.parent != parent:
            parent.chmod(parent.stat().st_mode | 0o755)
    path = next(study.glob(denied.replace("study", "*")))
    path.chmod(mode)
    gridc("status", cwd=study)  # whatever it imports, root may read
    try:
        os.seteuid(os.getuid() or 65534)  # nothing is denied to root
        done = gridc(name, cwd=study)
    finally:
        os.seteuid(os.getuid())
    path.chmod(0o755)
    assert done.returncode == 6
    assert "error[GC607]: Permission denied" in done.stderr
    assert "change the permissions" in done.stderr and "--out" not in done.stderr


def test_the_documents_follow_their_published_schemas(study: Path) -> None:
    files = {"certificate": "certificate.json", "estimates": "estimates.json", "card": "gridcard.json"}
    for name, file in files.items():
        schema = json.loads(gridc("schema", name, cwd=study).stdout)
        Draft202012Validator(schema).validate(json.loads((study / "results/small" / file).read_text()))


def test_a_study_without_scaffolds_says_so(study: Path) -> None:
    done = gridc("scaffolds", cwd=study)
    assert (done.returncode, done.stdout) == (0, "no scaffold runs in this study\n")


def test_two_names_of_one_model_share_its_calls(finished: Path, tmp_path: Path) -> None:
    """They are asked once, under the first name, and tie everywhere."""
    folder = Path(shutil.copytree(finished, tmp_path / "study"))
    shutil.rmtree(folder / "results")
    shutil.rmtree(folder / "models" / "llama")
    shutil.copytree(folder / "models" / "qwen2", folder / "models" / "llama")
    (folder / "gridcard.lock").unlink()
    done = command("run", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    before = json.loads(command("status", "--json", cwd=finished).stdout)["total"]
    assert json.loads(done.stdout)["executed"] == before / 2
    for name in ("report", "verify"):
        assert command(name, cwd=folder).returncode == 0
    (board,) = json.loads(command("report", "--json", cwd=folder).stdout)["scores"]["benchmarks"]
    first, second = board["models"]
    assert {**first, "model": ""} == {**second, "model": ""}


SLOW = {"torch", "transformers", "litellm", "statsmodels", "pandas", "pyarrow", "scipy.stats"}
"""What takes half a second or more to import. scipy alone takes as long as all of the rest of a command."""


@pytest.mark.parametrize(
    ("arguments", "beside"),
    [
        ("--help", {"sqlite_utils", "jinja2"}),
        ("validate", {"sqlite_utils", "scipy"}),
        ("plan", {"scipy"}),
        ("show --item 1", {"scipy"}),
        ("status", {"scipy.optimize", "gridc.reports.findings.findings"}),
        ("run", {"scipy.optimize", "gridc.reports.findings.findings"}),
        ("report", {"rich"}),
        ("certify", {"rich"}),
        ("verify", {"rich"}),
        ("view --export pages --pages 1", {"scipy"}),
        ("compare base.csv candidate.csv --margin 5", set()),
    ],
)
def test_a_command_starts_without_what_it_does_not_need(
    study: Path, arguments: str, beside: set[str]
) -> None:
    """`python -m benchmarks.start` measures the seconds. Every answer is stored here, so `run` asks none."""
    for name, wrong in (("base", 7), ("candidate", 3)):
        rows = (f"m,q{item},{int(item % 10 >= wrong)}" for item in range(60))
        (study / f"{name}.csv").write_text("\n".join(["model,item,score", *rows]), "utf-8")
    lines = (
        "import sys",
        f"sys.argv = ['gridc', *{arguments.split()}]",
        "from gridc.__main__ import main",
        "try: main()",
        "finally: print(*sys.modules, file=sys.stderr)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=study, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert not (SLOW | beside) & loaded
