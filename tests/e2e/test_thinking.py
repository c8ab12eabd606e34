"""Reasoning models: thinking as an axis, a thought that the budget cut, and who cannot be told to think."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests import studies
from tests.e2e.conftest import PACKAGE, command

pytest.importorskip("torch")
pytest.importorskip("transformers")

MODEL = {"qwen": 'engine = "hf", source = "path:qwen"'}
SPEC = (
    studies.head("thoughts", MODEL)
    + """
[[benchmark]]
id = "items"
loader = "bbq"
source = "path:items.jsonl"
direction = "higher_is_better"
sample = { n = 6, seed = 1 }
option_order = "file"
[harness]
max_tokens = 3
prompt = "builtin:T1"
method = "extract"
[[axis]]
id = "thinking"
tier = "core"
provenance = "the two modes of the model"
values = { thinking = [true, false] }
"""
)
ASKED = "add_generation_prompt and enable_thinking is defined and enable_thinking"
SWITCH = f"{{% if {ASKED} %}}<think>\n{{% endif %}}"
API = 'engine = "api", source = "m-2026-01-01", base_url = "http://127.0.0.1:9/v1"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE / "builtin" / "models" / "pocket-llama", tmp_path / "qwen")
    shutil.copy(PACKAGE / "builtin" / "benchmarks" / "pocket_bbq.jsonl", tmp_path / "items.jsonl")
    template = tmp_path / "qwen" / "chat_template.jinja"
    template.write_text(template.read_text("utf-8") + SWITCH, "utf-8")
    (tmp_path / "gridcard.toml").write_text(SPEC, "utf-8")
    return tmp_path


def test_an_answer_that_the_budget_cut_in_its_thought_is_cut_off_and_not_unreadable(folder: Path) -> None:
    said = {}
    for step in ("stamp", "run", "report", "verify"):
        done = command(step, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        said[step] = done.stdout
    with sqlite3.connect(folder / "results" / "thoughts" / "store.sqlite") as db:
        calls = db.execute(
            "SELECT json_extract(prompt.content, '$.thinking'), call.answer FROM call"
            " JOIN prompt ON prompt.id = call.prompt"
        ).fetchall()
    assert len(calls) == 12
    thought = [json.loads(answer) for thinking, answer in calls if thinking]
    assert len(thought) == 6
    assert all(answer["text"].startswith("<think>") and answer["finish"] == "length" for answer in thought)
    assert not any("<think>" in json.loads(answer)["text"] for thinking, answer in calls if not thinking)
    certificate = json.loads((folder / "results" / "thoughts" / "certificate.json").read_text("utf-8"))
    (endings,) = certificate["benchmarks"][0]["endings"]
    assert endings["unread"] == 0
    assert endings["cut"] >= len(thought)
    assert endings["cut"] + endings["read"] == len(calls)
    cut = endings["cut"]
    words = (
        f"On items, {cut} of 12 answers cannot be read: cut off at a token limit (qwen {cut} of 12, 6 in the "
        "thought): raise `max_tokens`, or ask for less `thinking`"
    )
    assert endings["cut_in_thought"] == len(thought)
    counted = {row["configuration"]: row for row in certificate["benchmarks"][0]["thoughts"]}
    assert counted["thinking=true"]["cut_in_thought"] == 6
    assert counted["thinking=true"]["thought"] is None
    assert said["run"].splitlines()[0] == words
    assert words in " ".join(said["report"].split())
    for name in ("report.html", "gridcard.md", "scorecard.html"):
        text = (folder / "results" / "thoughts" / name).read_text("utf-8")
        assert f"{cut} of 12 answers cannot be read: cut off" in text, name


@pytest.mark.parametrize(
    ("template", "asked", "way_out"),
    [
        ("", "true", "leave `thinking` out for this model"),
        ("{{ reasoning_effort }}", "true", 'thinking = "low", "medium" or "high": it has `reasoning_effort`'),
        ("{{ thinking }}", '"low"', "thinking = true or false: it has `thinking`"),
        ("{{ thinking }}", "2", "thinking = true or false: it has `thinking`"),
        (
            "{{ thinking_budget }}",
            '"high"',
            "a number of tokens such as thinking = 1024: it has `thinking_budget`",
        ),
        (
            "{{ thinking }}{{ reasoning_effort }}",
            "2",
            'false: it has `thinking`, or thinking = "low", "medium"',
        ),
    ],
)
def test_a_template_without_the_switch_is_an_error_before_any_answer(
    folder: Path, template: str, asked: str, way_out: str
) -> None:
    path = folder / "qwen" / "chat_template.jinja"
    path.write_text(path.read_text("utf-8").removesuffix(SWITCH) + template, "utf-8")
    (folder / "gridcard.toml").write_text(SPEC.replace("[true, false]", f"[{asked}]"), "utf-8")
    done = command("validate", "--check", cwd=folder)
    assert done.returncode != 0
    assert "GC540" in done.stderr
    assert way_out in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("server", "values", "accepted"),
    [
        ("", "[true, false]", False),
        ("", '["low", "high"]', True),
        (', server = "vllm"', "[true, false]", True),
    ],
)
def test_a_server_is_told_only_what_its_protocol_says(
    folder: Path, server: str, values: str, accepted: bool
) -> None:
    spec = SPEC.replace("[true, false]", values).replace(MODEL["qwen"], API + server)
    (folder / "gridcard.toml").write_text(spec, "utf-8")
    done = command("validate", "--check", cwd=folder)
    told = done.stderr.replace("\n", " ")
    assert ("GC351" in told) is not accepted
    assert ("nothing tells `qwen` thinking = true (first in qwen/items" in told) is not accepted


@pytest.mark.parametrize(
    ("reading", "code"),
    [('reader = "answer_line"', "GC513"), ('reader = "whole_response"', "GC515"), ("", None)],
)
def test_a_reader_that_cannot_read_behind_a_thought_is_named_before_any_answer(
    folder: Path, reading: str, code: str | None
) -> None:
    spec = SPEC.replace('method = "extract"\n', f'method = "extract"\n{reading}\n')
    (folder / "gridcard.toml").write_text(spec, "utf-8")
    done = command("validate", "--check", cwd=folder)
    if code is None:
        assert done.returncode == 0, done.stderr
        return
    assert f"error[{code}]" in done.stderr
    assert '`reader = "last_answer"` reads only what comes after a thought' in done.stderr
