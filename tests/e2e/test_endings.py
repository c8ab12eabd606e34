"""How samples ended, as a server saw it and as certificate, page and sentences say it."""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import command
from tests.e2e.test_api import make_api_study, tables
from tools.servers.faults import answer_to
from tools.servers.http import Asked, Reply, Server

ENDS = ("read", "unread", "cut", "refused", "context_length", "content_filter", "unknown_end")


def end_of(messages: Any) -> str:
    """What becomes of a prompt: most are read, and so is what only finds out what the server honours."""
    if len(messages[-1]["content"]) < 100:
        return "read"
    return (*ENDS, "read")[sha256(json.dumps(messages).encode()).digest()[0] % 8]


async def handler(asked: Asked) -> Reply:
    body = asked.document
    end = end_of(body["messages"])
    if end in ("context_length", "content_filter"):
        code = "context_length_exceeded" if end == "context_length" else end
        return Reply.json({"error": {"message": "x", "code": code}}, 400)
    answer = answer_to(body)
    choice = answer["choices"][0]
    if end in ("unread", "cut", "refused"):
        choice["message"]["content"] = "Well, well."
    if end == "cut":
        choice["finish_reason"] = "length"
    if end == "unknown_end":
        choice["finish_reason"] = "something_new"
    if end == "refused":
        choice["message"]["refusal"] = "I will not."
    return Reply.json(answer)


def test_every_sample_is_counted_under_the_end_that_the_server_gave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TWO_KEY", "none")
    with Server(handler) as server:
        make_api_study(tmp_path, server.url, items=8)
        done = command("run", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = command("report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.replace("•", "").split())
    rows = tables(
        tmp_path,
        """SELECT cell.model, benchmark, content FROM sample JOIN cell ON cell.id = sample.cell
           JOIN trace USING (cell, item, replicate) JOIN call ON call.id = trace.call
           JOIN prompt ON prompt.id = call.prompt""",
    )
    expected: dict[tuple[str, str], Counter[str]] = {}
    for model, benchmark, content in rows:
        messages = [{"role": role, "content": text} for role, text in json.loads(content)["messages"]]
        expected.setdefault((model, benchmark), Counter())[end_of(messages)] += 1
    certificate = json.loads((tmp_path / "results/small/certificate.json").read_text())
    said = " ".join(certificate["statements"])
    seen: Counter[str] = Counter()
    for row in certificate["benchmarks"]:
        for ends in row["endings"]:
            counted = {name: ends[name] for name in ("read", "unread", "cut", "refused")} | ends["failed"]
            seen.update(counted)
            assert {name: n for name, n in counted.items() if n} == expected[ends["model"], row["benchmark"]]
            assert ends["waiting"] == 0
            failed = sum(ends["failed"].values())
            total = sum(counted.values())
            assert not failed or f"{ends['model']} {failed} of {total} (" in printed
            assert not ends["cut"] or f"{ends['model']} {ends['cut']} of {total}" in said
    assert all(seen[end] for end in ENDS), "every end was met"
    assert "the provider says that it declined, and no answer can be read" in said
    assert "stay in the denominator" in printed


@pytest.mark.parametrize("apart", [False, True])
def test_answers_that_serve_several_configurations_are_counted_or_each_draws_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: bool
) -> None:
    """Three readers of the same words, before a server that never answers twice alike."""
    monkeypatch.setenv("TWO_KEY", "none")
    given: Counter[str] = Counter()

    async def another_each_time(asked: Asked) -> Reply:
        given["answers"] += 1
        reply = answer_to(asked.document)
        reply["choices"][0]["message"]["content"] += f" ({given['answers']})"
        return Reply.json(reply)

    with Server(another_each_time) as server:
        spec = make_api_study(tmp_path, server.url, items=4)
        level = '[[axis.level]]\nid = "line"\ntier = "core"\nmethod = "extract"\nreader = "answer_line"\n'
        level += 'provenance = "a test"\n\n'
        level += level.replace('"line"', '"whole"').replace("answer_line", "whole_response")
        text = spec.read_text().replace("[[hypothesis]]", f"{level}[[hypothesis]]", 1)
        text += '\n[sampling]\nseed = 1\nindependent = ["scoring"]\n' if apart else ""
        spec.write_text(text)
        done = command("run", "--go-on", cwd=tmp_path)  # strict readers, on purpose
        assert done.returncode == 0, done.stderr
    planned = json.loads(command("plan", "--json", cwd=tmp_path).stdout)["counts"]["shared_draws"]
    done = command("report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    texts: dict[tuple[str, str, str, int], list[str]] = {}
    for key, item, replicate, answer in tables(
        tmp_path,
        """SELECT cell.key, item, replicate, answer FROM trace JOIN cell ON cell.id = cell
           JOIN call ON call.id = call""",
    ):
        model, _, levels = key.split("/")
        text = json.loads(answer)["text"]
        texts.setdefault((model, levels.rpartition(",")[0], item, replicate), []).append(text)
    uses = sum(len(answers) - len(set(answers)) for answers in texts.values())
    certificate = json.loads((tmp_path / "results/small/certificate.json").read_text())
    sentences = [text for text in certificate["statements"] if "share one draw" in text]
    if apart:
        assert not planned and not sentences and not uses
    else:
        assert planned == {"scoring": uses} and uses > 80
        (sentence,) = sentences
        assert sentence.startswith(f"{uses} answers of configurations are taken from another one")


def test_a_server_that_never_says_why_an_answer_ends_is_told_once_and_read_by_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every fourth of its answers or so uses all 24 tokens that it may have."""
    monkeypatch.setenv("TWO_KEY", "none")

    async def without_reasons(asked: Asked) -> Reply:
        answer = answer_to(asked.document)
        del answer["choices"][0]["finish_reason"]
        if asked.document["max_tokens"] == 24 and sha256(asked.body).digest()[0] % 4 == 0:
            answer["choices"][0]["message"]["content"] = "Well, the answer is B"
            answer["usage"] |= {"completion_tokens": 24, "total_tokens": 10**4}
        return Reply.json(answer)

    with Server(without_reasons) as server:
        make_api_study(tmp_path, server.url, items=4)
        done = command("run", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    said = "the server never says why an answer ends at /chat/completions, found by a probe"
    assert (done.stdout + done.stderr).count(said) == 2, "once for each of the two models"
    done = command("report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    results = tmp_path / "results" / "small"
    for name in ("report.html", "scorecard.md", "deviations.json"):
        assert said in (results / name).read_text(), name
    certificate = json.loads((results / "certificate.json").read_text())
    ends = [row for benchmark in certificate["benchmarks"] for row in benchmark["endings"]]
    assert sum(row["read"] for row in ends) > sum(row["cut"] for row in ends) > 0
    assert not any(row["failed"] or row["unread"] for row in ends)
