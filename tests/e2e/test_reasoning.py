"""A study of reasoning models behind a server that behaves as the known ones do: efforts, budgets, and limits
that come in the thought or in the answer. What it says of them is counted again from the store and from what
the server did."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import studies
from tests.e2e.conftest import command
from tests.e2e.pages.blocks import ROOT, read
from tests.e2e.pages.test_pages import Session
from tests.package_logs import inspect, sample
from tools.servers.http import Asked, Reply, Server

EFFORTS = {"none": 0.0, "low": 0.5, "medium": 1.0, "high": 3.0}
"""How much longer the models think; other efforts are refused."""
ANSWER = 8
"""Tokens of an answer."""
MODELS = ("apart", "hidden", "tags")
"""How each shows its thought: beside the answer and counted; counted alone; in the text and not counted."""
DATED = "-2026-01-01"
ITEMS = [{"id": f"q{n}", "ask": f"How much is {n} and 1?", "sum": str(n + 1)} for n in range(7)]
LEVELS = '[false, "low", "high", 48]'


@dataclass
class Reasoning:
    """The server. `asked` counts the requests by model and end."""

    asked: Counter[tuple[str, str]] = field(default_factory=Counter)

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        effort = body.get("reasoning_effort")
        if effort is not None and effort not in EFFORTS:
            message = (
                f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. "
                "Supported values are: 'none', 'low', 'medium', and 'high'."
            )
            error = {"message": message, "param": "reasoning_effort", "code": "unsupported_value"}
            return Reply.json({"error": error}, 400)
        end, document = reply_to(body)
        self.asked[body["model"], end] += 1
        return Reply.json(document)


def reply_to(body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """How a response ends, and the response."""
    words = body["messages"][-1]["content"].split()
    number = next((int(word) for word in words if word.isdigit()), 0)
    told = body.get("chat_template_kwargs", {}).get("enable_thinking", True)
    share = EFFORTS[body.get("reasoning_effort", "medium")] if told else 0.0
    wished = min(round((20 + 13 * (number % 5)) * share), body.get("thinking_token_budget", 10**9))
    room = body["max_tokens"]
    thought, text = min(wished, room), ""
    end = "answered"
    if wished >= room:
        end = "cut_in_thought"
    elif wished + ANSWER > room:
        end, text = "cut_in_answer", "The answer"
    else:
        text = f"The answer is {number + 1}."
    written = thought + {"answered": ANSWER, "cut_in_answer": room - wished}.get(end, 0)
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    usage: dict[str, Any] = {"prompt_tokens": 9, "completion_tokens": written, "total_tokens": 9 + written}
    model = body["model"].removesuffix(DATED)
    if model == "tags":
        closed = "" if end == "cut_in_thought" else "</think>\n\n"
        message["content"] = f"<think>{'hm ' * thought}{closed}{text}" if thought else text
    else:
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        if model == "apart" and thought:
            message["reasoning_content"] = "hm " * thought
    finish = "stop" if end == "answered" else "length"
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return end, {"model": body["model"], "choices": [choice], "usage": usage}


def spec_of(url: str, levels: str = LEVELS) -> str:
    keys = 'server = "vllm", price = { input = 0, output = 1e6, as_of = "2026-11-01" }'
    models = {
        name: f'engine = "api", source = "{name}{DATED}", base_url = "{url}", {keys}' for name in MODELS
    }
    return (
        studies.head("reasoning", models, waived="GC529")
        + studies.benchmark("sums", 'query = "ask", references = ["sum"], id = "id"')
        + f"""
[harness]
prompt = "{{{{ question }}}} Write: The answer is, and the sum."
method = "match"
match = {{ as = "number", after = "The answer is" }}
[[axis]]
id = "thought"
tier = "core"
provenance = "what the models take"
values = {{ thinking = {levels} }}
[[axis]]
id = "room"
tier = "core"
provenance = "what the models take"
values = {{ max_tokens = [100, 400] }}
[engine]
concurrency = 2
"""
    )


@dataclass(frozen=True)
class Recounted:
    """What plain SQL finds of the responses of a model in a configuration."""

    ends: Counter[str]
    written: int
    thought: int | None
    right: int


def recount(store: Path) -> dict[tuple[str, str], Recounted]:
    """By model and configuration, without a line of gridc."""
    with sqlite3.connect(store) as db:
        rows = db.execute(
            """SELECT cell.model, cell.configuration, answer, usage, score FROM sample
               JOIN cell ON cell.id = sample.cell JOIN trace USING (cell, item, replicate)
               JOIN call ON call.id = trace.call"""
        ).fetchall()
    found: dict[tuple[str, str], list[tuple[str, dict[str, Any], int]]] = {}
    for model, configuration, answer, usage, score in rows:
        said, counts = json.loads(answer), json.loads(usage)
        end = "answered"
        if said["finish"] == "length":
            text = said["text"].strip()
            thinking = not text or (text.startswith("<think>") and "</think>" not in text)
            end = "cut_in_thought" if thinking else "cut_in_answer"
        found.setdefault((model, configuration), []).append((end, counts, score))
    return {
        place: Recounted(
            Counter(end for end, _, _ in each),
            sum(counts["completion_tokens"] for _, counts, _ in each),
            None if place[0] == "tags" else sum(counts["reasoning_tokens"] for _, counts, _ in each),
            sum(score > 0 for _, _, score in each),
        )
        for place, each in found.items()
    }


def begun(folder: Path, server: Reasoning, url: str, answers: int) -> None:
    """A run that is killed when so many answers have come."""
    run = subprocess.Popen([sys.executable, "-m", "gridc", "run"], cwd=folder, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env=os.environ)  # fmt: skip
    deadline = time.monotonic() + 60
    while sum(server.asked.values()) < answers and time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL, "it was killed in the middle"


def test_a_study_says_what_was_cut_where_and_a_killed_run_comes_to_the_same(tmp_path: Path) -> None:
    server = Reasoning()
    results, recounted = [], dict[tuple[str, str], Recounted]()
    with Server(server) as served:
        for name in ("whole", "killed"):
            folder = tmp_path / name
            studies.written(folder, spec_of(served.url), ITEMS)
            assert command("stamp", cwd=folder).returncode == 0
            if name == "killed":
                begun(folder, server, served.url, sum(server.asked.values()) + 60)
            for step in ("run", "report", "verify")[: 2 + (name == "killed")]:
                done = command(step, cwd=folder)
                assert done.returncode == 0, done.stdout + done.stderr
            recounted = recount(folder / "results" / "reasoning" / "store.sqlite")
            path = folder / "results" / "reasoning" / "certificate.json"
            certificate = json.loads(path.read_text("utf-8"))
            results.append(certificate["results"])
    assert results[0] == results[1]
    (benchmark,) = certificate["benchmarks"]
    rows = {(row["model"], row["configuration"]): row for row in benchmark["thoughts"]}
    assert rows.keys() == recounted.keys()
    for place, row in rows.items():
        of = recounted[place]
        assert {end: row[end] for end in ("answered", "cut_in_thought", "cut_in_answer")} == {
            end: of.ends[end] for end in ("answered", "cut_in_thought", "cut_in_answer")
        }
        assert (row["written"], row["thought"]) == (of.written, of.thought)
        assert row["counted"] == (0 if place[0] == "tags" else len(ITEMS))
    assert len(rows) == len(MODELS) * 4 * 2
    for model in MODELS:  # an effort raises thought, a budget caps it, and limits cut it
        by_name = {place[1]: each for place, each in recounted.items() if place[0] == model}
        low, high = by_name["thought=low,room=400"], by_name["thought=high,room=400"]
        assert low.written < high.written
        assert by_name["thought=48,room=400"].written <= len(ITEMS) * (48 + ANSWER)
        assert by_name["thought=high,room=400"].ends == {"answered": len(ITEMS)}
        short = by_name["thought=high,room=100"]
        assert short.ends == {"answered": 2, "cut_in_answer": 2, "cut_in_thought": 3}
        assert short.right == short.ends["answered"]
    page = (folder / "results" / "reasoning" / "report.html").read_text("utf-8")
    ended = {row["model"]: row for row in benchmark["endings"]}
    for model in MODELS:
        cut = sum(each.ends["cut_in_thought"] for place, each in recounted.items() if place[0] == model)
        answers = sum(each.ends["cut_in_answer"] for place, each in recounted.items() if place[0] == model)
        assert (ended[model]["cut_in_thought"], ended[model]["cut"]) == (cut, cut + answers)
        words = f"{model} {cut + answers} of 56, {cut} in the thought"
        assert words in " ".join(page.split())
    assert "raise `max_tokens`, or ask for less `thinking`" in " ".join(certificate["statements"])
    assert page.count("not reported") == 8, "of the model whose thoughts nothing counts"


def test_written_tokens_of_thought_are_paid_for(tmp_path: Path) -> None:
    with Server(Reasoning()) as served:
        studies.written(tmp_path, spec_of(served.url, '["high"]'), ITEMS)
        done = command("run", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "results" / "reasoning" / "store.sqlite") as db:
        rows = db.execute(
            "SELECT usd, json_extract(usage, '$.completion_tokens') FROM attempt WHERE purpose = 'call'"
        ).fetchall()
    assert len(rows) == 6 * len(ITEMS)
    assert all(usd == pytest.approx(written) for usd, written in rows)


def test_an_effort_that_the_server_refuses_stops_the_run_and_is_no_wrong_answer(tmp_path: Path) -> None:
    with Server(Reasoning()) as served:
        studies.written(tmp_path, spec_of(served.url, '["low", "minimal"]'), ITEMS)
        done = command("run", cwd=tmp_path)
        told = " ".join(done.stderr.split())
        assert done.returncode == 6
        assert "error[GC653]" in told and "does not support 'minimal'" in told
        assert "state a `thinking` that the message names" in told
        with sqlite3.connect(tmp_path / "results" / "reasoning" / "store.sqlite") as db:
            ((failed,),) = db.execute("SELECT count(*) FROM call WHERE json_extract(answer, '$.error') <> ''")
        assert failed == 0, "no call has failed for good"
        studies.written(tmp_path / "taken", spec_of(served.url, '["low", "none"]'), ITEMS)
        done = command("run", cwd=tmp_path / "taken")
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_budget_that_the_server_does_not_keep_is_told(tmp_path: Path) -> None:
    async def deaf(asked: Asked) -> Reply:
        body = {name: value for name, value in asked.document.items() if name != "thinking_token_budget"}
        return Reply.json(reply_to(body)[1])

    with Server(deaf) as served:
        studies.written(tmp_path, spec_of(served.url, "[48]"), ITEMS)
        done = command("run", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    observed = json.loads(command("deviations", "--json", cwd=tmp_path).stdout)["observed"]
    longer = sum(20 + 13 * (n % 5) > 48 for n in range(len(ITEMS)))
    for model in ("apart", "hidden"):
        assert f"{model}: {2 * longer} thoughts are longer than their budget" in observed


@pytest.mark.parametrize("budget", [100, 101, 4096])
def test_a_budget_leaves_room_for_the_answer(tmp_path: Path, budget: int) -> None:
    studies.written(tmp_path, spec_of("http://127.0.0.1:9/v1", f"[false, {budget}]"), ITEMS)
    done = command("validate", cwd=tmp_path)
    told = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert f"error[GC105]: thinking = {budget} leaves nothing for the answer: `max_tokens` is 100" in told
    assert f"max_tokens = {budget + 1024}" in told


def test_a_plain_server_takes_no_budget(tmp_path: Path) -> None:
    spec = spec_of("http://127.0.0.1:9/v1", "[64]").replace('server = "vllm", ', "")
    studies.written(tmp_path, spec, ITEMS)
    done = command("validate", "--check", cwd=tmp_path)
    told = " ".join(done.stderr.split())
    assert "error[GC351]: nothing tells `apart` thinking = 64" in told
    assert 'server = "vllm", "sglang" or "llama.cpp"' in told


def test_logs_of_inspect_say_where_answers_were_cut(tmp_path: Path) -> None:
    """Of thirty answers three end in a thought that the log has, two in one of which it has the tokens, one
    says nothing and nothing is known of a thought, and two end in the answer."""
    for model in ("ant", "bee"):
        samples = [sample(n, "I" if n < 8 else "C") for n in range(30)]
        for n in range(8):
            said = [{"type": "reasoning", "reasoning": "Hm."}] if n < 3 else ""
            choice = {"stop_reason": "max_tokens", "message": {"role": "assistant", "content": said}}
            usage = {"reasoning_tokens": 400} if n in (3, 4) else {}
            text = "The answer" if n in (6, 7) else ""
            samples[n]["output"] = {"completion": text, "choices": [choice], "usage": usage}
        inspect(tmp_path / f"{model}.json", samples, {"accuracy": 22 / 30}, model=model)
    done = command("certify", "--from", "ant.json", "bee.json", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (benchmark,) = json.loads((tmp_path / "out" / "certificate.json").read_text("utf-8"))["benchmarks"]
    for row in benchmark["thoughts"]:
        assert (row["answered"], row["cut_in_thought"], row["cut_in_answer"]) == (22, 5, 3)
        assert (row["written"], row["thought"], row["counted"]) == (None, None, 0)
    assert [row["model"] for row in benchmark["thoughts"]] == ["ant", "bee"]
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "cut off in thought" in page and "not reported" in page


def test_the_recipe_runs_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands in docs/recipes.md, but for the addresses: thought and answer have room everywhere."""
    (block,) = (block for block in read(ROOT / "docs" / "recipes.md").blocks if 'id = "effort"' in block.text)
    with Server(Reasoning()) as served:
        spec = Session(tmp_path, lambda: tmp_path, monkeypatch).study(block)
        text = spec.read_text("utf-8").replace("http://127.0.0.1:8000/v1", served.url)
        spec.write_text(text.replace("http://127.0.0.1:8001/v1", served.url), "utf-8")
        for step in ("stamp", "run", "report", "verify"):
            done = command(step, cwd=spec.parent)
            assert done.returncode == 0, f"{step}: {done.stdout}{done.stderr}"
    results = spec.parent / "results" / "effort"
    (benchmark,) = json.loads((results / "certificate.json").read_text("utf-8"))["benchmarks"]
    rows = benchmark["thoughts"]
    assert len(rows) == 2 * 4 * 2
    for place, of in recount(results / "store.sqlite").items():
        (row,) = (row for row in rows if (row["model"], row["configuration"]) == place)
        assert of.ends == {"answered": row["answered"]}
        assert (row["written"], row["thought"]) == (of.written, of.thought)
