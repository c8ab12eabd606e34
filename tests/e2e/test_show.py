"""`gridc show`: what is shown is what the run stored, byte for byte, and messages point to it."""

import hashlib
import json
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import gridc
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import HazardError, SpecError, UsageError
from gridc.runtime.store.store import Store
from gridc.study import OpenStudy
from gridc.study.showing import SampleDisplay
from tests.e2e.conftest import command, make_study


@pytest.fixture(scope="module")
def opened(finished: Path) -> OpenStudy:
    return gridc.open(finished)


def test_every_call_is_shown_as_it_was_stored(opened: OpenStudy) -> None:
    plan = Plan(opened._place.compiled().study)
    with closing(sqlite3.connect(f"{opened.store.as_uri()}?mode=ro", uri=True)) as plain:
        stored = plain.execute(
            """SELECT key, t.item, t.replicate, call.id, prompt.id, prompt.content, request, answer, choice,
                      score, evidence
               FROM trace t JOIN cell ON cell.id = t.cell JOIN call ON call.id = t.call
               JOIN prompt ON prompt.id = call.prompt
               JOIN sample s ON (s.cell, s.item, s.replicate) = (t.cell, t.item, t.replicate)"""
        ).fetchall()
    rows = {tuple(row[:3]): row[3:] for row in stored}
    seen = 0
    with Store.open(opened.store) as store:
        viewer = SampleDisplay(plan, store, False)
        for cell in plan.cells():
            for item in plan.items(cell):
                for replicate in range(cell.setting.replicates):
                    shown = viewer.sample(cell, item, replicate)
                    (call,) = shown.calls
                    row = rows[cell.key, item.id, replicate]
                    assert (call.call, call.prompt) == row[:2]
                    content = json.loads(row[2])
                    assert [list(message) for message in call.messages] == content["messages"]
                    assert call.chat_template == content["chat_template"]
                    asked = json.loads(row[3])
                    assert {**asked, **call.parameters} == asked
                    assert call.answer == json.loads(row[4])
                    assert shown.outcome is not None
                    assert (shown.outcome.choice, shown.outcome.score) == row[5:7]
                    assert shown.outcome.evidence == json.loads(row[7])
                    assert all(reply.passes for reply in shown.oracles)
                    seen += 1
    assert seen == len(rows) == 320


def test_what_all_items_share_begins_every_prompt(opened: OpenStudy) -> None:
    with closing(sqlite3.connect(f"{opened.store.as_uri()}?mode=ro", uri=True)) as plain:
        for where in ("few_shot=0", "few_shot=3,template=T4"):
            (sample,) = opened.show(where=[where]).samples
            (shared,), ((_, text),) = sample.calls[0].shared or (), sample.calls[0].messages
            prompts = plain.execute(
                """SELECT DISTINCT json_extract(content, '$.messages[0][1]') FROM prompt
                   JOIN call ON call.prompt = prompt.id JOIN trace ON trace.call = call.id
                   JOIN cell ON cell.id = trace.cell WHERE key = ?""",
                [sample.cell],
            ).fetchall()
            assert len(prompts) == 8
            assert all(other.startswith(text[:shared]) for (other,) in prompts)
            assert len({other[: shared + 1] for (other,) in prompts}) > 1


def test_an_item_is_named_by_its_id_or_by_its_number(opened: OpenStudy) -> None:
    ids = [opened.show(item=str(number)).samples[0].item.id for number in (1, 2, 8)]
    assert len(set(ids)) == 3
    assert [opened.show(item=name).samples[0].item.id for name in ids] == ids
    for item in ("9", "0", "no such item", "9" * 5000):
        with pytest.raises(UsageError):
            opened.show(item=item)


def test_the_cells_that_match_and_their_prompts(opened: OpenStudy) -> None:
    found = opened.show(item="2", where=["few_shot=3"])
    assert found.matching == 12
    # Before a ranking of texts the exemplars answer with texts.
    assert found.others == ("scoring=logprob", "template=T4", "template=T4,scoring=logprob")
    every = opened.show(item="2", where=["few_shot=3", "scoring=free_form"], every=True)
    assert [sample.levels["template"] for sample in every.samples] == ["T1", "T4"]
    with pytest.raises(UsageError, match="no planned cell"):
        opened.show(where=["scoring=logprob,decoding=sampled"])
    twice = "template=T1,template=T4"
    for wrong in ("tmplate=T1", "template=T7", "model=gpt", "template", "template=", "=T1", twice):
        with pytest.raises(UsageError):
            opened.show(where=[wrong])


def test_two_configurations_are_compared(opened: OpenStudy, finished: Path) -> None:
    found = opened.show(item="1", diff=["template=T4", "decoding=sampled"])
    difference = found.difference
    assert difference is not None
    assert difference.settings["temperature"] == (None, 0.7)
    assert difference.parameters["temperature"] == (0, 0.7)
    ((role, pieces),) = difference.messages
    for side, sample in zip("ab", found.samples, strict=True):
        text = "".join(piece.text for piece in pieces if piece.side in ("both", side))
        assert (role, text) == sample.calls[0].messages[0]
    printed = command("show", "--item", "1", "--diff", "template=T4", cwd=finished).stdout
    assert "{+" in printed
    assert "prompt: path:minimal.jinja -> builtin:T4" in printed


def test_the_command_prints_what_the_api_says(opened: OpenStudy, finished: Path) -> None:
    said = command("show", "--item", "3", "--model", "llama", "--json", cwd=finished)
    assert json.loads(said.stdout) == json.loads(
        json.dumps(opened.show(item="3", where=["model=llama"]).as_json())
    )


def test_tokens_are_those_that_the_model_was_sent(opened: OpenStudy) -> None:
    found = opened.show(item="2", where=["template=T1"], every=True, tokens=True)
    ranked = opened.show(item="2", where=["template=T1,scoring=logprob"], tokens=True)
    for sample in (*found.samples, *ranked.samples):
        (call,) = sample.calls
        assert call.tokens is not None
        assert call.sent is not None
        seam = call.tokens.ids[: call.tokens.seam]
        digest = hashlib.sha256(json.dumps(list(seam)).encode()).hexdigest()
        assert call.sent["prompt_token_digest"] == digest
    (ranked_call,) = ranked.samples[0].calls
    assert ranked_call.tokens is not None
    assert [len(each) for each in ranked_call.tokens.candidates] == (ranked_call.answer or {})["tokens"]


def test_torch_is_not_loaded(finished: Path) -> None:
    script = (
        "import sys\nfrom gridc.cli import main\nmain(['show', *sys.argv[1:]], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=finished, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def pasted(help: str | None, cwd: Path) -> str:
    """What the command in a help line prints."""
    words = shlex.split((help or "").split("`gridc show", 1)[1].split("`", 1)[0])
    done = command("show", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_template_that_fails_on_an_item_points_to_the_item(tmp_path: Path) -> None:
    spec = make_study(tmp_path)
    # Fails on the items whose question is long, so not on the trial item.
    broken = "{{ question }} {{ answer }}{{ 1 // (0 if 'kitchen' in question else 1) }}"
    (tmp_path / "minimal.jinja").write_text(broken)
    with pytest.raises(SpecError) as failed:
        gridc.open(spec).validate(check=True)
    (found,) = failed.value.diagnostics
    assert found.code == "GC310"
    printed = pasted(found.help, tmp_path)
    assert "ZeroDivisionError" in printed
    assert "<- right" in printed


def test_an_instrument_that_fails_points_to_the_prompt(tmp_path: Path) -> None:
    spec = make_study(tmp_path)
    (tmp_path / "minimal.jinja").write_text(
        "{{ stem }}\n{% if choices %}1) {{ choices[0][1] }}{% endif %} {{ answer }}"
    )
    with pytest.raises(HazardError) as failed:
        gridc.open(spec).validate(check=True)
    found = next(each for each in failed.value.diagnostics if each.code == "GC511")
    printed = pasted(found.help, tmp_path)
    assert "WRONG: must be right" in printed


def test_what_a_model_wrote_is_shown_and_not_obeyed(study: Path) -> None:
    path = study / "results" / "small" / "store.sqlite"
    shown = gridc.open(study).show(item="1")
    (call,) = shown.samples[0].calls
    with closing(sqlite3.connect(path)) as store, store:
        answer = {**(call.answer or {}), "text": "\x1b[31mA\x1b]0;pwned\x07\u202e\nAnswer: B"}
        store.execute("UPDATE call SET answer = ? WHERE id = ?", [json.dumps(answer), call.call])
    printed = command("show", "--item", "1", cwd=study).stdout
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "Answer: »B«" in printed
