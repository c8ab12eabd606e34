"""Functions that score, from a stamp to `verify`: what scripted models answer earns what a person counts."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.diagnostics.errors import GridcError
from tests import studies
from tests.e2e.conftest import command
from tools.servers.http import Server

GRADERS = Path(__file__).parent / "graders"
COMMA: dict[str, Any] = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
SHORT: dict[str, Any] = {
    "instruction_id_list": ["length_constraints:number_words", "startend:quotation"],
    "kwargs": [{"num_words": 9, "relation": "less than"}, {}],
}
WAYS: dict[str, tuple[str, dict[str, tuple[float, ...]]]] = {
    # to an item of each kind, by hand: (prompt_strict, inst_strict, prompt_loose, inst_loose)
    "plain": ("Rivers run to the sea", {"comma": (1, 1, 1, 1), "short": (0, 0.5, 0, 0.5)}),
    "quoted": ('"Rivers run to the sea"', {"comma": (1, 1, 1, 1), "short": (1, 1, 1, 1)}),
    "chatty": ("Sure, as asked:\nRivers run to the sea", {"comma": (0, 0, 1, 1), "short": (0, 0.5, 0, 0.5)}),
    "marked": ('**"Rivers run"**', {"comma": (1, 1, 1, 1), "short": (0, 0.5, 1, 1)}),
    "empty": ("", {"comma": (0, 0, 0, 0), "short": (0, 0, 0, 0)}),
}  # fmt: skip
NUMBERS = ("prompt_strict", "inst_strict", "prompt_loose", "inst_loose")
ITEMS = [(f"i{number:02}", "comma" if number % 2 else "short") for number in range(24)]


def way(model: str, item: str) -> str:
    """Each kind of item gets every way, of which the strong model has no empty one."""
    number = int(item[1:]) // 2
    return list(WAYS)[number % 5 if model == "weak" else (number + 1) % 4]


def write(model: str, messages: studies.Messages) -> str:
    """A model answers each item in one of the ways."""
    number = re.search(r"River (\d+)", messages[-1]["content"])
    return WAYS[way(model, f"i{int(number[1]):02}")][0] if number else "Yes."


FIELDS = 'id = "key", query = "prompt", extra = ["instruction_id_list", "kwargs", "perfect", "worst"]'
SPEC = (
    studies.head("rivers", studies.behind("URL", "strong", "weak"), waived="GC507")
    + studies.benchmark("ifeval", FIELDS)
    + """
[harness]
method = "scorer"
scorer = { function = "python:scorers.py:ifeval", score = "prompt_strict" }
max_tokens = 64
"""
    + studies.axis(
        "template",
        {
            "bare": 'prompt = "{{ question }}"',
            "told": "prompt = \"{{ question }} ({{ extra.instruction_id_list | join(', ') }})\"",
        },
        ["told"],
    )
    + """
[[outcome]]
id = "inst_loose"
benchmark = "ifeval"
number = "inst_loose"
"""
)


def rows() -> Iterator[dict[str, Any]]:
    for number, (key, kind) in enumerate(ITEMS):
        asked = COMMA if kind == "comma" else SHORT
        perfect = "No comma" if kind == "comma" else '"So it is"'
        worst = "a, b" if kind == "comma" else "word " * 12
        yield {"key": key, "prompt": f"River {number}?", **asked, "perfect": perfect, "worst": worst}


def written(folder: Path, url: str, scorer: str | None = None, spec: str = SPEC) -> Path:
    text = scorer or (GRADERS / "ifeval.py").read_text("utf-8")
    studies.written(folder, spec.replace("URL", url), rows(), scorers_py=text)
    return folder


def consent(folder: Path) -> str:
    return f"sha256:{sha256((folder / 'scorers.py').read_bytes()).hexdigest()}"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Server(studies.Scripted(write)) as server:
        yield server.url


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, url: str) -> studies.Finished:
    folder = written(tmp_path_factory.mktemp("rivers"), url)
    with MonkeyPatch.context() as patch:
        patch.setenv("GRIDC_ALLOW", consent(folder))
        return studies.carried_out(gridc.open(folder))


def stored(done: studies.Finished) -> list[tuple[str, str, int | None, int, dict[str, Any]]]:
    found = done.rows(
        "SELECT model, item, choice, score, evidence FROM sample JOIN cell ON cell.id = sample.cell"
    )
    return [(*row, json.loads(evidence)) for *row, evidence in found]


def test_each_answer_earns_what_a_person_counts(scored: studies.Finished) -> None:
    seen = set()
    kinds = dict(ITEMS)
    for model, item, choice, score, evidence in stored(scored):
        said = way(model, item)
        wanted = dict(zip(NUMBERS, WAYS[said][1][kinds[item]], strict=True))
        assert choice == 0
        assert Fraction(score, 10_000) == wanted["prompt_strict"], (item, said)
        assert {name: value / 10_000 for name, value in evidence["numbers"].items()} == wanted, (item, said)
        seen.add((said, kinds[item]))
    assert seen == {(said, kind) for said in WAYS for kind in ("comma", "short")}


def test_a_number_of_the_function_is_an_outcome_of_the_certificate(scored: studies.Finished) -> None:
    kinds = dict(ITEMS)
    rate, row = scored.rate("inst_loose"), scored.row("template=bare")
    for model in ("strong", "weak"):
        by_hand = [WAYS[way(model, item)][1][kinds[item]] for item in kinds]
        strict, loose = (sum(Fraction(numbers[place]) for numbers in by_hand) for place in (0, 3))
        assert row[model]["correct"] == strict * 10_000
        counted = rate[model]["template=bare"]
        assert counted["counts"] == {"earned": loose * 10_000, "possible": len(ITEMS) * 10_000}
        assert counted["value"] == pytest.approx(float(loose) / len(ITEMS))


def test_a_scored_study_verifies(scored: studies.Finished, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDC_ALLOW", consent(scored.folder))
    checked = scored.study.verify()
    assert checked.complete
    assert not any("NOT made again" in line for line in checked.checked)


def test_without_consent_verify_recomputes_the_rest_and_says_which_scores_were_not(
    scored: studies.Finished,
) -> None:
    checked = gridc.open(scored.folder).verify()
    assert checked.complete
    (line,) = (line for line in checked.checked if "NOT made again" in line)
    assert "ifeval" in line and consent(scored.folder) in line


def test_without_consent_nothing_runs_and_the_help_is_right(tmp_path: Path, url: str) -> None:
    folder = written(
        tmp_path, url, 'open("ran", "w").close()\ndef ifeval(item, response):\n    return None\n'
    )
    for asked in (["validate", "--check"], ["run"], ["stamp"]):
        done = command(*asked, cwd=folder)
        assert done.returncode == 2, done.stderr
        assert "GC643" in done.stderr and consent(folder) in done.stderr
    assert not (folder / "ran").exists()
    assert command("validate", cwd=folder).returncode == 0
    assert "runs: scorers.py" in command("plan", cwd=folder).stdout.replace("\n", " ")
    (flag,) = set(re.findall(r"--allow (sha256:\w+)", done.stderr.replace("\n", "")) or {consent(folder)})
    assert flag == consent(folder)


SPOILT = ('{"prompt_strict": 0, "inst_loose": 0}', '{"prompt_strict": 1, "inst_loose": 0}')
GOOD = (
    "def ifeval(item, response):\n    return {answer}\n\ndef ifeval_responders(item):\n    return {tried}\n"
)


@pytest.mark.parametrize(
    ("scorer", "code", "words"),
    [
        (GOOD.format(answer='{"prompt_strict": 2}', tried="{}"), "GC668", "not a number from 0 to 1"),
        (GOOD.format(answer="1", tried="{}"), "GC668", "no number called `prompt_strict`"),
        (
            GOOD.format(answer="len(response) / 0", tried="{}"),
            "GC668",
            "ZeroDivisionError: division by zero, line 2",
        ),
        (GOOD.format(answer='"good"', tried="{}"), "GC668", "no `scores` say"),
        (GOOD.format(answer="__import__('os')._exit(1)", tried="{}"), "GC668", "ends the process"),
        (GOOD.format(answer="[0] * 10**10", tried="{}"), "GC668", "memory"),
        (GOOD.format(answer="__import__('os').environ['GRIDC_ALLOW']", tried="{}"), "GC668", "KeyError"),
        (GOOD.format(answer="exit()", tried="{}"), "GC668", "SystemExit"),
        ("import helpers\n" + GOOD.format(answer="1", tried="{}"), "GC668", "No module named 'helpers'"),
        (GOOD.format(answer='{"prompt_strict": 1}', tried="{}"), "GC668", "no number called `inst_loose`"),
        (GOOD.format(answer=SPOILT[1], tried='{"worst": "x"}'), "GC517", "worst answer does not earn 0"),
        (GOOD.format(answer=SPOILT[0], tried='{"perfect": "x"}'), "GC511", "does not earn 1"),
        (GOOD.format(answer=SPOILT[1], tried='{"perfect": "x"}'), "GC513", "an empty response earns as much"),
        (f"def ifeval(item, response):\n    return {SPOILT[0]}\n", "GC538", "nothing says what"),
    ],
)
def test_what_is_wrong_with_a_function_is_told_before_any_call(
    tmp_path: Path, url: str, monkeypatch: MonkeyPatch, scorer: str, code: str, words: str
) -> None:
    folder = written(tmp_path, url, scorer)
    (folder / "helpers.py").write_text("x = 1\n")
    monkeypatch.setenv("GRIDC_ALLOW", consent(folder))
    with pytest.raises(GridcError) as refused:
        gridc.open(folder).validate(check=True)
    assert any(finding.code == code and words in finding.message for finding in refused.value.diagnostics), (
        refused.value
    )


@pytest.mark.parametrize(
    ("function", "code", "help"),
    [
        ("python:scorers.py:ifevl", "GC346", "did you mean `ifeval`?"),
        ("python:scorer.py:ifeval", "GC309", "it is looked up beside the spec"),
        ("python:../scorers.py:ifeval", "GC308", "without `..`"),
        ("plugin:ifeval", "GC341", "no installed package has entry points `gridc.scorers`"),
    ],
)
def test_a_function_that_is_not_there_is_told_without_running_anything(
    tmp_path: Path, url: str, function: str, code: str, help: str
) -> None:
    folder = written(tmp_path, url, spec=SPEC.replace("python:scorers.py:ifeval", function))
    with pytest.raises(GridcError) as refused:
        gridc.open(folder).validate()
    (finding,) = refused.value.diagnostics
    assert finding.code == code and help in str(finding.help)


DRAWN = """\
def ifeval(item, response):
    return {"prompt_strict": hash(response) % 997 / 997 if len(response) > 3 else 0}
def ifeval_responders(item):
    return {}
"""
COUNTED = """\
calls = []
def ifeval(item, response):
    calls.append(response)
    return {"prompt_strict": len(calls) / 5000 if len(response) > 3 else 0}
def ifeval_responders(item):
    return {}
"""


@pytest.mark.parametrize("scorer", [DRAWN, COUNTED], ids=["hash", "memory"])
def test_a_function_that_gives_two_scores_is_an_error_and_no_score(
    tmp_path: Path, url: str, monkeypatch: MonkeyPatch, scorer: str
) -> None:
    folder = written(tmp_path, url, scorer, SPEC.partition("[[outcome]]")[0])
    monkeypatch.setenv("GRIDC_ALLOW", consent(folder))
    study = gridc.open(folder)
    with pytest.raises(GridcError, match="GC669"):
        study.run()
    assert studies.Finished(study).rows("SELECT count(score) FROM sample") == [(0,)]
    assert studies.Finished(study).rows("SELECT 1 FROM call WHERE answer IS NOT NULL")


def test_a_changed_file_is_another_study(tmp_path: Path, url: str, monkeypatch: MonkeyPatch) -> None:
    folder = written(tmp_path, url)
    monkeypatch.setenv("GRIDC_ALLOW", consent(folder))
    study = gridc.open(folder)
    study.stamp()
    (folder / "scorers.py").write_text((folder / "scorers.py").read_text("utf-8") + "# more\n", "utf-8")
    monkeypatch.setenv("GRIDC_ALLOW", consent(folder))
    with pytest.raises(GridcError, match=r"GC405.*inputs\.scorers\[scorers\.py\]"):
        gridc.open(folder).run()


LABELS = """\
def kind(item, response):
    if not response.strip():
        return None
    return "refused" if "cannot" in response else "several lines" if "\\n" in response else "one line"
"""


def test_labels_of_a_function_earn_scores_and_outcomes(
    tmp_path: Path, url: str, monkeypatch: MonkeyPatch
) -> None:
    spec = SPEC.replace(
        'scorer = { function = "python:scorers.py:ifeval", score = "prompt_strict" }',
        'scorer = { function = "python:scorers.py:kind", examples = [\n'
        '    { item = "i00", response = "One.", gives = "one line" }, { item = "i01", response = " " }] }\n'
        'scores = { "one line" = 1, "several lines" = 0.5, refused = 0 }',
    ).replace(
        'number = "inst_loose"', 'scores = { "several lines" = 1, other = 0 }\nunreadable = "leave_out"'
    )
    folder = written(tmp_path, url, LABELS, spec)
    monkeypatch.setenv("GRIDC_ALLOW", consent(folder))
    study = gridc.open(folder)
    study.validate(check=True)
    study.run()
    for model, item, choice, score, evidence in stored(studies.Finished(study)):
        said = way(model, item)
        label = {"chatty": "several lines", "empty": None}.get(said, "one line")
        assert evidence.get("label") == label
        assert (choice is None) == (label is None)
        assert score == {"one line": 2, "several lines": 1, None: 0}[label]
    study.report()
    assert study.verify().complete


def test_an_example_that_the_function_does_not_give_is_a_hazard(
    tmp_path: Path, url: str, monkeypatch: MonkeyPatch
) -> None:
    spec = SPEC.replace(
        'score = "prompt_strict"',
        'score = "prompt_strict", examples = [\n'
        '    { item = "i01", response = "a, b", gives = { prompt_strict = 1 } }]',
    )
    folder = written(tmp_path, url, spec=spec)
    monkeypatch.setenv("GRIDC_ALLOW", consent(folder))
    with pytest.raises(GridcError, match="GC539 of item i01, 'a, b' gives prompt_strict = 0"):
        gridc.open(folder).validate(check=True)


def test_a_package_may_be_installed_from_where_somebody_works(tmp_path: Path) -> None:
    """`pip install -e .` in the folder of the study: the plug-in is found there, and no file's import is."""
    (tmp_path / "acme_here.py").write_text("def brief(item, response):\n    return 1\n", "utf-8")
    program = """
import sys
sys.path.append(FOLDER)
from gridc.compiler.inputs.children import Host
try:
    Host().load_file("scorers.py", "import acme_here", FOLDER)
except ValueError as error:
    print("refused" if "ModuleNotFoundError" in str(error) else error)
sys.path.append(FOLDER)
host = Host()
host.load_plugin("brief", "acme_here", "brief")
print(host.score("brief", {}, "", ()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program.replace("FOLDER", repr(str(tmp_path)))],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["refused", "1.0"], done.stdout + done.stderr
