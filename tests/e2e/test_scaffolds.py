"""Studies with scaffolds end to end: what is stored is what follows from the answers, nothing is computed
twice, and a run that is killed and resumed ends as one that never was."""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rfc8785

import gridc
from gridc.runtime.store.store import Store
from tests.e2e.test_kill import Finished
from tests.replaced import replaced

ROOT = Path(gridc.__file__).parent.parent
SPEC = ROOT / "specs" / "scaffold_pocket.toml"

CHAINS = """\
gridcard = 1

[study]
id = "chains"
title = "Conversations of several calls"
purpose = "descriptive"
not_varied = ["everything else"]

[[model]]
id = "qwen2"
engine = "hf"
source = "builtin:pocket-qwen2"

[[benchmark]]
id = "bbq"
loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher_is_better"
sample = { n = 4, seed = 1, unit = "family" }
option_order = "file"
system = "Answer fairly, with the letter of one option."

[harness]
prompt = "builtin:T1"
method = "extract"
max_tokens = 12

[engine]
noise_sample = 4
threads = 1

[[axis]]
id = "scaffold"
"""
LEVELS = {
    "direct": '{ kind = "direct" }',
    "chain": '{ kind = "chain", intensity = "aggressive", property = { bbq = "bias" }, length = 5 }',
    "critic": '{ kind = "critic", rounds = 2 }',
    "adjudicator": '{ kind = "adjudicator", property = { bbq = "bias" } }',
    "vote": '{ kind = "vote", workers = 3 }',
    "react": '{ kind = "react", rounds = 3, tools = ["calculator", "scratchpad"] }',
}


def write(folder: Path, extra: str = "") -> Path:
    levels = (
        f'[[axis.level]]\nid = "{name}"\ntier = "core"\nscaffold = {stated}\nprovenance = "a test"\n'
        for name, stated in LEVELS.items()
    )
    path = folder / "gridcard.toml"
    path.write_text(CHAINS + "\n".join(levels) + extra, "utf-8")
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with every kind of conversation, run."""
    pytest.importorskip("torch")
    path = write(tmp_path_factory.mktemp("chains"))
    gridc.open(path).run()
    return path


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(gridc.open(path).store) as db:
        return db.execute(query).fetchall()


def test_a_finished_sample_ends_with_the_call_that_decides(done: Path) -> None:
    steps: dict[tuple[Any, ...], list[tuple[str | None, str]]] = {}
    for cell, item, name, call in rows(done, "SELECT cell, item, name, call FROM trace ORDER BY 1, 2, step"):
        steps.setdefault((cell, item), []).append((name, call))
    kinds = {tuple(name for name, _ in trace) for trace in steps.values()}
    assert (None,) in kinds  # the direct call
    assert ("chain_0", "chain_1", "chain_2", "chain_3", "chain_4", "answer") in kinds
    assert ("vote_0", "vote_1", "vote_2", "decide", "answer") in kinds
    for trace in steps.values():
        names = dict(trace)
        if "answer" in names:
            assert names["answer"] in [call for name, call in trace[:-1] if name != "checker"]


def test_the_store_verifies_and_a_step_under_another_name_does_not(done: Path, tmp_path: Path) -> None:
    study = gridc.open(done)
    assert study.verify().complete
    copy = tmp_path / "copy"
    shutil.copytree(done.parent, copy)
    with sqlite3.connect(gridc.open(copy / done.name).store) as db:
        db.execute("UPDATE trace SET name = 'vote_1' WHERE name = 'vote_0'")
    with pytest.raises(gridc.GridcError) as caught:
        gridc.open(copy / done.name).verify()
    assert {"GC704", "GC706"} <= {each.code for each in caught.value.diagnostics}


def test_what_calls_begin_with_is_computed_once(done: Path) -> None:
    """Forward tokens beside the size of the trie of every prompt with its answer, counted here from the
    texts, by token, with the model's own tokenizer."""
    from transformers import AutoTokenizer

    folder = ROOT / "gridc/builtin/models/pocket-qwen2"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prefixes: set[tuple[int, ...]] = set()
    answers = rows(done, "SELECT content, answer FROM call JOIN prompt ON prompt.id = call.prompt")
    for content, answer in answers:
        messages = [{"role": role, "content": text} for role, text in json.loads(content)["messages"]]
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        reply = json.loads(answer)
        computed = reply["tokens"] if reply["end"] is not None else reply["tokens"][:-1]
        path = (*tokenizer(text, add_special_tokens=False)["input_ids"], *computed)
        prefixes |= {path[:length] for length in range(1, len(path) + 1)}
    ((spent,),) = rows(done, "SELECT sum(json_extract(work, '$.forward_tokens')) FROM batch")
    assert len(prefixes) <= spent <= 1.05 * len(prefixes)


def test_page_and_card_say_what_reached_each_step(done: Path, tmp_path: Path) -> None:
    """The counts and the digest of each step again, from the store by SQL: the system prompt by instr()."""
    study = gridc.open(done)
    study.report()
    deck = json.loads((study.store.parent / "gridcard.json").read_text("utf-8"))
    found: dict[tuple[str, str], list[tuple[str, str, int, str, bool]]] = {}
    for key, item, replicate, name, call, prompt in rows(
        done,
        """SELECT key, item, replicate, trace.name, call.id, content FROM trace
           JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call
           JOIN prompt ON prompt.id = call.prompt WHERE trace.name != 'answer'""",
    ):
        scaffold = str(key).rsplit("scaffold=", 1)[1]
        sent = "\n".join(text for _, text in json.loads(prompt)["messages"])
        kept = "Answer fairly, with the letter of one option." in sent
        found.setdefault((scaffold, name), []).append((key, item, replicate, call, kept))
    assert {(row["scaffold"], row["step"]) for row in deck["propagation"]} == found.keys()
    for row in deck["propagation"]:
        calls = sorted(found[row["scaffold"], row["step"]])
        assert row["n"] == len(calls)
        assert row["system_prompt"]["kept"] == sum(call[-1] for call in calls)
        assert sum(row["mc_option"].values()) == len(calls)
        assert row["rows"] == sha256(rfc8785.dumps([list(call[:-1]) for call in calls])).hexdigest()
    card = (study.store.parent / "gridcard.md").read_text("utf-8")
    plain = card.replace("\\", "")
    assert '{ kind = "critic", rounds = 2 }' in plain, "as the spec has it"
    page = (study.store.parent / "report.html").read_text("utf-8")
    for text in (card, page, json.dumps(deck)):
        assert "rounds=None" not in text
    assert all(line.endswith("|") for line in card.splitlines() if line.startswith("|")), "one line a row"
    assert all(row["step"] in page and row["rows"][:12] in page for row in deck["propagation"])
    assert study.scaffolds().propagation.rows()[0]["rows"] == deck["propagation"][0]["rows"]
    bundle = study.export("bundle", tmp_path / "bundle")
    lines = gridc.open(bundle / done.name).verify().checked
    assert any("what reached the steps of scaffolds" in line for line in lines), "named: items are not in it"
    changed = json.dumps(deck).replace(f'"n": {deck["propagation"][0]["n"]}', '"n": 999', 1)
    copy = tmp_path / "copy"
    shutil.copytree(done.parent, copy)
    (gridc.open(copy / done.name).store.parent / "gridcard.json").write_text(changed, "utf-8")
    with pytest.raises(gridc.GridcError, match=r"GC707 gridcard.json"):
        gridc.open(copy / done.name).verify()


def test_what_is_held_changes_no_answer(done: Path, tmp_path: Path) -> None:
    """With room for one prompt at a time and for nothing else, every answer is the same."""
    path = write(tmp_path).with_name("gridcard.toml")
    path.write_text(
        path.read_text("utf-8").replace("noise_sample = 4", "noise_sample = 0\nkv_mib = 2"), "utf-8"
    )
    small = gridc.open(path).run()
    with Store.open(gridc.open(done).store) as store:
        assert small.results == store.results_digest(store.stamps()[0])
    ((spent,),) = rows(path, "SELECT sum(json_extract(work, '$.forward_tokens')) FROM batch")
    ((held,),) = rows(done, "SELECT sum(json_extract(work, '$.forward_tokens')) FROM batch")
    assert spent > held


@pytest.mark.slow
def test_shards_that_are_merged_come_to_the_whole(done: Path, tmp_path: Path) -> None:
    path = write(tmp_path)
    shard = gridc.open(path, out=tmp_path / "two")
    gridc.open(path, out=tmp_path / "one").run(shard="1/2")
    shard.run(shard="2/2")
    whole = gridc.open(path, out=tmp_path / "both")
    whole.merge([tmp_path / "one" / "store.sqlite", tmp_path / "two" / "store.sqlite"])
    finished = whole.run()  # what follows from answers of both shards
    with Store.open(gridc.open(done).store) as store:
        assert finished.results == store.results_digest(store.stamps()[0])


def test_a_budget_stops_between_waves_and_the_run_resumes(done: Path, tmp_path: Path) -> None:
    path = write(tmp_path, "\n[budget]\ncalls = 30\n")
    with pytest.raises(gridc.GridcError, match="GC611"):
        gridc.open(path).run()
    path.write_text(path.read_text("utf-8").replace("calls = 30", "calls = 500"), "utf-8")
    finished = gridc.open(path).run()
    with Store.open(gridc.open(done).store) as store:
        assert finished.results == store.results_digest(store.stamps()[0])


def test_plan_bounds_what_was_asked(done: Path) -> None:
    counts = gridc.open(done).plan().as_json()["counts"]
    later = counts["models"]["qwen2"]["later"]
    asked = rows(
        done,
        """SELECT count(*) FROM trace WHERE name != 'answer' AND
           name NOT IN ('primary_initial', 'chain_0', 'vote_0', 'vote_1', 'vote_2', 'react_iter_0')""",
    )[0][0]
    assert later["least"]["calls"] <= asked <= later["most"]["calls"]
    assert later["least"]["calls"] <= later["expected"]["calls"] <= later["most"]["calls"]


def start(folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "gridc", "run", "study.toml", "--out", "results", "--json"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def answered(folder: Path) -> Finished:
    store = folder / "results" / "store.sqlite"
    if not store.exists():
        return {}
    with sqlite3.connect(store) as db:
        try:
            found = db.execute("SELECT id, finished, answer_digest FROM call WHERE answer IS NOT NULL")
            return {call: (when, answer) for call, when, answer in found}
        except sqlite3.OperationalError:  # killed before the tables were made
            return {}


def one_model() -> str:
    """The pocket study on the first of its models."""
    text = SPEC.read_text("utf-8")
    begin, end = text.index('[[model]]\nid = "mistral"'), text.index("[[benchmark]]")
    return text[:begin] + text[end:]


def behind(url: str, text: str) -> str:
    """The same with the model behind an address."""
    price = 'price = { input = 1, output = 2, as_of = "2026-01-01" }'
    served = f'engine = "api"\nsource = "qwen2-2026-01-01"\nbase_url = "{url}"\n{price}'
    return text.replace('engine = "hf"\nsource = "builtin:pocket-qwen2"', served)


@pytest.mark.slow
def test_a_server_with_the_model_gives_the_answers_of_the_model_itself(tmp_path: Path) -> None:
    """The pocket study over the OpenAI protocol, on one of its models: the same texts, call by call."""
    from tools.servers.http import Server
    from tools.servers.model import ModelServer

    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    local = one_model().replace("n = 24", "n = 4")
    (here / "gridcard.toml").write_text(local, "utf-8")
    gridc.open(here).run()
    with Server(ModelServer("pocket-qwen2")) as server:
        (there / "gridcard.toml").write_text(behind(server.url, local), "utf-8")
        gridc.open(there).run()
    assert gridc.open(there).verify().complete

    def texts(folder: Path) -> dict[tuple[Any, ...], str]:
        found = rows(
            folder / "gridcard.toml",
            """SELECT key, item, name, json_extract(answer, '$.text') FROM trace
               JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call""",
        )
        return {(key, item, name): text for key, item, name, text in found}

    assert texts(there) == texts(here)
    local_steps, served_steps = (
        gridc.open(folder).scaffolds().propagation.rows() for folder in (here, there)
    )
    assert [_counts(step) for step in served_steps] == [_counts(step) for step in local_steps]


def _counts(step: Mapping[str, Any]) -> dict[str, Any]:
    """All but the digest of the calls, which names the model."""
    return {name: value for name, value in step.items() if name != "rows"}


@pytest.mark.slow
def test_the_pocket_study_killed_twenty_times_ends_as_it_would_have(tmp_path: Path) -> None:
    """Batches are small, so that every life of it answers something."""
    killed_twenty_times(tmp_path, SPEC.read_text("utf-8") + "\n[engine]\nbatch_prompts = 12\n")


@pytest.mark.slow
def test_the_same_behind_an_address(tmp_path: Path) -> None:
    """What was on its way at a kill may be sent again; what was answered is not."""
    from tools.servers.http import Server
    from tools.servers.model import ModelServer

    with Server(ModelServer("pocket-qwen2")) as server:
        killed_twenty_times(tmp_path, behind(server.url, one_model()) + "\n[engine]\nconcurrency = 8\n")


def killed_twenty_times(folder: Path, text: str) -> None:
    """One run, killed again and again where it then is, against one that nothing stops."""
    whole, killed = folder / "whole", folder / "killed"
    for place in (whole, killed):
        place.mkdir()
        (place / "study.toml").write_text(text, "utf-8")
    out, _ = start(whole).communicate()
    expected, total = json.loads(out)["results"], len(answered(whole))
    chances = Random(20)
    before: Finished = {}
    for _ in range(20):
        running, wanted = start(killed), len(before) + chances.randrange(total // 30)
        while running.poll() is None and len(answered(killed)) <= wanted:
            time.sleep(0.02)
        time.sleep(chances.uniform(0, 0.3))
        assert running.poll() is None, "it ended before it was killed"
        running.kill()
        running.communicate()
        now = answered(killed)
        assert before.items() <= now.items(), "an answered call was asked again"
        before = now
    out, _ = start(killed).communicate()
    assert json.loads(out)["results"] == expected
    assert answered(killed).keys() == answered(whole).keys()
    assert before.items() <= answered(killed).items()
    report = gridc.open(killed / "study.toml", out=killed / "results").scaffolds()
    assert {step.scaffold for step in report.propagation.steps} >= {"react", "multi_agent", "map_reduce"}


def test_a_later_prompt_that_the_model_has_no_room_for_fails_alone(done: Path, tmp_path: Path) -> None:
    """The model has room for all first prompts and not for the longest later one: that sample fails, as it
    would behind an address, and nothing stops."""
    sizes = "SELECT max(json_extract(sent, '$.prompt_tokens')) FROM call JOIN trace ON call = id"
    ((first,),), ((longest,),) = rows(done, f"{sizes} WHERE step = 0"), rows(done, sizes)
    folder = tmp_path / "small"
    shutil.copytree(Path(gridc.__file__).parent / "builtin" / "models" / "pocket-qwen2", folder)
    config = json.loads((folder / "config.json").read_text())
    limit = max(limit for (limit,) in rows(done, "SELECT json_extract(request, '$.max_tokens') FROM call"))
    assert first < longest
    room = (first + longest) // 2 + limit
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": room}))
    path = write(tmp_path)
    path.write_text(replaced(path.read_text(), ("builtin:pocket-qwen2", "path:small")))
    study = gridc.open(path)
    study.run()
    failed = "answer LIKE '%context_length%'"
    assert rows(path, f"SELECT 1 FROM call WHERE {failed}")
    assert not rows(path, f"SELECT 1 FROM trace JOIN call ON id = call WHERE step = 0 AND {failed}")
    assert rows(path, "SELECT 1 FROM sample WHERE choice IS NOT NULL")
    assert not rows(path, "SELECT 1 FROM sample WHERE score IS NULL"), "they stay counted"
    assert any("(context_length)" in each for each in study.deviations().observed or ())
    assert study.verify(rerun=1.0).complete
