"""A study of a model behind a server whose weights are known, beside the same weights on this machine."""

import json
import re
import shlex
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.confined import Confined
from gridc.diagnostics.errors import UnavailableError
from gridc.runtime.engines.api import serving
from gridc.runtime.engines.hf import memory
from tests.e2e.conftest import SPEC, Done, command, make_study
from tests.replaced import replaced
from tests.test_confined import CHILD
from tools.servers.http import Asked, Handler, Reply, Server
from tools.servers.programs import STARTED, free_port, programs
from tools.servers.programs import command as server_command
from tools.servers.tokens import TokenServer

ROOT = Path(__file__).parents[2]
HERE = 'engine = "hf"\nsource = "path:models/llama"'
SERVED = 'engine = "api"\nsource = "pocket"\nserver = "{}"\nbase_url = "{}"\nweights = "path:models/qwen2"'


def make_served(folder: Path, url: str, dialect: str = "vllm", *changes: tuple[str, str]) -> Path:
    """The small study whose second model is the first one behind a server."""
    spec = make_study(folder, 4)
    changes = ((HERE, SERVED.format(dialect, url)), ('id = "llama"', 'id = "served"'), *changes)
    sampled = ("noise_sample = 6", "noise_sample = 30")  # of which a fifth are rankings
    changes = (*changes, ("max_tokens = 24", "max_tokens = 6"), sampled)
    text = replaced(SPEC.replace("ITEMS", "4"), *changes, ('"llama"]', '"served"]'))
    spec.write_text(text)
    return spec


def rows(folder: Path, query: str) -> list[Any]:
    with sqlite3.connect(folder / "results" / "small" / "store.sqlite") as db:
        return db.execute(query).fetchall()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, TokenServer, Done]]:
    """A finished study, its server, and what the run said."""
    folder, handler = tmp_path_factory.mktemp("served"), TokenServer("vllm")
    with Server(handler) as server:
        make_served(folder, server.url)
        done = command("run", cwd=folder)
        assert done.returncode == 0, done.stderr
        yield folder, handler, done


def answers(folder: Path, name: str) -> dict[tuple[Any, ...], Any]:
    """The answers of a model, by configuration, item and number of the call."""
    found = rows(
        folder,
        f"""SELECT replace(cell.key, '{name}', ''), item, replicate, step, request, answer FROM trace
            JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call
            WHERE cell.key LIKE '{name}%'""",
    )
    return {tuple(row[:4]): (json.loads(row[4]), json.loads(row[5])) for row in found}


def test_greedy_answers_and_rankings_are_those_of_this_machine(
    sound: tuple[Path, TokenServer, Done],
) -> None:
    here, there = answers(sound[0], "qwen2"), answers(sound[0], "served")
    assert here.keys() == there.keys()
    assert len(here) > 50
    for where, (request, answer) in here.items():
        _, other = there[where]
        if "loglikelihoods" in answer:
            assert other["loglikelihoods"] == pytest.approx(answer["loglikelihoods"], abs=1e-4)
        elif request["temperature"] == 0:
            assert other["text"] == answer["text"]


def test_what_goes_there_is_tokens_and_every_parameter(sound: tuple[Path, TokenServer, Done]) -> None:
    bodies = sound[1].bodies
    neutral = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "n": 1,
               "frequency_penalty": 0.0}  # fmt: skip
    assert all(neutral.items() <= body.items() for body in bodies if body["max_tokens"] == 6)
    sampled = [body for body in bodies if body["temperature"] == 0.7]
    seeds = {(json.dumps(body["prompt"]), body["seed"]) for body in sampled}
    prompts = {prompt for prompt, _ in seeds}
    assert len(seeds) == 3 * len(prompts), "each of the three replicates has a seed of its own"
    assert all(body["top_p"] == 0.9 for body in sampled)
    first = [body["prompt"] for body in bodies if body["max_tokens"] == 6][: len(prompts)]
    shared = sum(a[:20] == b[:20] for a, b in pairwise(first))
    assert shared >= len(first) - 5, "prompts that begin alike are asked side by side"


def test_the_lock_holds_the_files_and_a_check_of_the_bundle_holds(
    sound: tuple[Path, TokenServer, Done], tmp_path: Path
) -> None:
    folder, _, done = sound
    models = json.loads((folder / "gridcard.lock").read_text("utf-8"))["content"]["inputs"]["models"]
    assert models["served"]["weights"] == models["qwen2"]
    for arguments in (("report",), ("verify",), ("export", "bundle", "--to", str(tmp_path / "bundle"))):
        ended = command(*arguments, cwd=folder)
        assert ended.returncode == 0, (arguments, ended.stderr)
    assert command("verify", str(tmp_path / "bundle"), cwd=folder).returncode == 0
    assert "served: asked again, each call alone: 0 of " in done.stderr
    moves = re.findall(r"likelihoods moved by up to (\S+) nats, 0 of ", done.stderr)
    assert moves and max(map(float, moves)) < 1e-4, "sums may have another order"


def test_some_answers_are_held_against_the_files_unless_it_is_left_out(
    sound: tuple[Path, TokenServer, Done], tmp_path: Path
) -> None:
    folder, server, done = sound
    (said,) = (line for line in done.stderr.splitlines() if "beside fp32 on this machine" in line)
    assert re.search(r"served: beside fp32 .*\b0 of \d+ outcomes changed", said)
    assert not re.search(r"\b[1-9]\d* of \d+ greedy texts", said)
    noted = "SELECT json_extract(body, '$.calls') FROM event WHERE kind = 'reference'"
    assert rows(folder, noted) == [(8,)]
    asked = len(server.bodies)
    assert "beside fp32" not in command("run", cwd=folder).stderr, "it is done once"
    assert (rows(folder, noted), len(server.bodies)) == ([(8,)], asked)
    planned = command("plan", cwd=folder)
    assert "reference: 8 greedy calls of served are made once more here in fp32" in planned.stdout
    assert json.loads(command("plan", "--json", cwd=folder).stdout)["references"] == {"served": 8}
    crowd_at(tmp_path, port := free_port())
    with Server(TokenServer("vllm"), port):
        assert command("run", "--reference", "0", cwd=tmp_path).returncode == 0
    assert rows(tmp_path, noted) == []


def test_a_reference_that_finds_no_room_is_left_out_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd_at(tmp_path, port := free_port())
    monkeypatch.setattr(memory, "free_memory", lambda device: memory.FreeMemory(2**20, "a small machine"))
    said: list[str] = []
    with Server(TokenServer("vllm"), port):
        study = gridc.open(tmp_path / "gridcard.toml")
        study.run(progress=lambda step: said.append(str(step)))
    (line,) = (each for each in said if "not compared with fp32" in each)
    assert re.search(
        r"served: .*about [\d.]+ GiB of memory, and 1 MiB of a small machine are free \(`--reference 0`", line
    )
    assert study.status().progress.complete


CROWD = """\
gridcard = 1

[study]
id = "small"
title = "One model, asked many short questions"
purpose = "descriptive"
not_varied = ["everything"]

[[model]]
id = "served"
MODEL

[[benchmark]]
id = "bbq"
loader = "bbq"
source = "path:items.jsonl"
direction = "higher_is_better"
sample = { n = 60, seed = 1, unit = "cluster" }
option_order = "file"

[harness]
prompt = "path:minimal.jinja"
max_tokens = 4
temperature = 0
method = "extract"

[engine]
concurrency = MOST
noise_sample = 8
"""


def run_crowd(folder: Path, handler: TokenServer, most: int) -> tuple[Done, dict[str, Any]]:
    """What a run with so many requests at once says, and the noise that it stores."""
    make_study(folder, 4)
    with Server(handler) as server:
        model = SERVED.format("vllm", server.url)
        (folder / "gridcard.toml").write_text(replaced(CROWD, ("MODEL", model), ("MOST", str(most))))
        done = command("run", cwd=folder)
    assert done.returncode == 0, done.stderr
    ((body,),) = rows(folder, "SELECT body FROM event WHERE kind = 'noise'")
    return done, json.loads(body)


def test_what_moves_when_many_are_answered_at_once_is_seen_at_that_concurrency(tmp_path: Path) -> None:
    done, noise = run_crowd(tmp_path, handler := TokenServer("vllm", crowd=44, delay=0.3), 64)
    assert handler.most > 44
    alone, among = noise["by_shape"]["each call alone"], noise["by_shape"]["among 60 at once"]
    assert noise["texts_changed"] == max(alone["texts"], among["texts"]) > 0
    assert f"served: asked again, each call alone: {alone['texts']} of 8 texts are other ones" in done.stderr
    assert f"served: asked again, among 60 at once: {among['texts']} of 8 texts" in done.stderr


def test_it_is_not_seen_where_few_are_asked_at_once(tmp_path: Path) -> None:
    done, noise = run_crowd(tmp_path, handler := TokenServer("vllm", crowd=44), 8)
    assert handler.most <= 8
    assert noise["by_shape"]["among 8 at once"]["texts"] == noise["texts_changed"] == 0
    assert "served: asked again, among 8 at once: 0 of 8 texts are other ones, 0 of 8 outcomes" in done.stderr


def test_what_moves_with_what_shares_the_batch_is_seen(tmp_path: Path) -> None:
    _, noise = run_crowd(tmp_path, TokenServer("vllm", mates=1.5), 8)
    assert noise["by_shape"]["among 8 at once"]["texts"] > 0, "asked again with others, as many at once"


def test_a_reference_in_fp32_says_how_answers_differ(tmp_path: Path) -> None:
    """The server moves all logits while the study is run."""
    handler = TokenServer("llama.cpp", crowd=0)
    with Server(handler) as server:
        make_served(tmp_path, server.url, "llama.cpp", ("replicates = 3", "replicates = 1"))
        done = command("run", "--reference", "40", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (said,) = (line for line in done.stderr.splitlines() if "beside fp32" in line)
    ((body,),) = rows(tmp_path, "SELECT body FROM event WHERE kind = 'reference'")
    noted = json.loads(body)
    here, there = answers(tmp_path, "qwen2"), answers(tmp_path, "served")
    moves, texts, other = [], 0, 0
    for where, (request, answer) in here.items():
        _, apart = there[where]
        if "loglikelihoods" in answer:
            pairs = zip(answer["loglikelihoods"], apart["loglikelihoods"], strict=True)
            moves += [abs(a - b) for a, b in pairs]
        elif request["temperature"] == 0:
            texts, other = texts + 1, other + (answer["text"] != apart["text"])
    outcomes = {
        (key, item): rest
        for key, item, *rest in rows(
            tmp_path,
            """SELECT key, item, choice, score FROM sample JOIN cell ON cell.id = cell
               WHERE key LIKE '%greedy%'""",
        )
    }
    ours = {where: rest for where, rest in outcomes.items() if where[0].startswith("qwen2")}
    turned = [rest != outcomes[key.replace("qwen2", "served", 1), item] for (key, item), rest in ours.items()]
    assert (noted["outcomes"], noted["outcomes_changed"]) == (len(turned), sum(turned))
    assert (noted["texts"], noted["texts_changed"]) == (texts, other)
    differ = f"{other} of {texts} greedy texts are other ones, likelihoods differ by up to "
    assert f"served: beside fp32 on this machine: {differ}" in said
    assert command("report", cwd=tmp_path).returncode == 0
    page = (tmp_path / "results" / "small" / "report.html").read_text("utf-8")
    assert f"its weights in fp32 on the machine of the run: {differ}" in page
    assert noted["loglikelihoods"] == len(moves)
    assert noted["max_moved"] == pytest.approx(max(moves), abs=1e-4)
    assert noted["mean_moved"] == pytest.approx(sum(moves) / len(moves), abs=1e-4)


def crowd_at(folder: Path, port: int, dialect: str = "vllm") -> None:
    make_study(folder, 4)
    model = SERVED.format(dialect, f"http://127.0.0.1:{port}/v1")
    text = replaced(CROWD, ("MODEL", model), ("MOST", "8"), ("n = 60", "n = 12"))
    (folder / "gridcard.toml").write_text(text)


def test_a_server_runs_as_long_as_the_run(tmp_path: Path) -> None:
    crowd_at(tmp_path, port := free_port())
    own = f"{sys.executable} -m tools.servers.tokens vllm --port {port}"
    started = f"sh -c 'sleep 600 & echo $! > {tmp_path / 'worker'}; exec {own}'"  # it works elsewhere
    done = command("run", "--serve", f"served={started}", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert "served: its server answers after" in done.stderr
    assert (tmp_path / "results" / "small" / "server-served.log").is_file()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass
    worker = Path("/proc", (tmp_path / "worker").read_text("utf-8").strip(), "stat")
    assert not worker.exists() or worker.read_text("utf-8").split()[2] == "Z", "what it started ended with it"


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        (
            "served=false",
            6,
            "error[GC649]: the server of `served` ended with 1 before it answered: it printed",
        ),
        (
            "served=sh -c 'echo no such model; exit 3'",
            6,
            "`served` ended with 3 before it answered: no such mo",
        ),
        ("served=/no/such/program", 6, "error[GC649]: the server of `served` cannot be started"),
        ("other=true", 2, "error[GC000]: `other` names no model whose base_url is an address of this"),
        ("served", 2, "--serve MODEL=COMMAND"),
    ],
)
def test_a_server_that_cannot_be_started(given: str, status: int, said: str, tmp_path: Path) -> None:
    crowd_at(tmp_path, free_port())
    done = command("run", "--serve", given, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr


DRIPPING = """
import socket, time
with socket.create_server(("127.0.0.1", {})) as server:
    open("ready", "w")
    while True:
        peer, _ = server.accept()
        try:
            while True:
                peer.sendall(b"H")
                time.sleep(0.1)
        except OSError:
            pass
"""


@pytest.mark.parametrize("program", ["import time; time.sleep(600)", DRIPPING], ids=["mute", "dripping"])
def test_a_server_that_never_answers_is_not_waited_for_for_ever(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serving, "PATIENCE", 2.0)
    monkeypatch.setattr(serving, "MOST_LOOK", 1.0)
    crowd_at(tmp_path, port := free_port())
    server = shlex.join([sys.executable, "-c", program.format(port)])
    with pytest.raises(UnavailableError, match="GC649") as caught:
        gridc.open(tmp_path).run(serve={"served": server})
    (said,) = caught.value.diagnostics
    assert "has not answered at" in said.message
    assert str(tmp_path / "results" / "small" / "server-served.log") in str(said.help)
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


def test_what_a_server_writes_no_later_child_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Confined(CHILD)) as child:
        assert child.ask("found")["folder"] == []
    test_a_server_that_never_answers_is_not_waited_for_for_ever(DRIPPING, tmp_path, monkeypatch)
    with closing(Confined(CHILD)) as child:
        assert child.ask("found")["folder"] == []


async def loading(_: Asked) -> Reply:
    return Reply.json({"error": "loading the model"}, 503)


@pytest.mark.parametrize("there", [TokenServer("vllm"), loading], ids=["ready", "loading"])
def test_a_server_that_is_there_already_is_not_taken_for_the_one_that_is_started(
    tmp_path: Path, there: Handler
) -> None:
    with Server(there) as server:
        crowd_at(tmp_path, server.port)
        done = command("run", "--serve", "served=sleep 60", cwd=tmp_path)
    assert done.returncode == 6
    assert f"error[GC649]: something answers at http://127.0.0.1:{server.port}/v1 before" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("dialect", STARTED)
def test_a_server_that_people_use(dialect: str, tmp_path: Path) -> None:
    if dialect not in programs():
        pytest.skip(f"GRIDC_SERVERS does not name a program of {dialect}")
    make_served(tmp_path, f"http://127.0.0.1:{(port := free_port())}/v1", dialect)
    started = server_command(dialect, programs()[dialect], tmp_path / "models" / "qwen2", port, 1)
    done = command("run", "--serve", f"served={started}", "--reference", "60", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    here, there = answers(tmp_path, "qwen2"), answers(tmp_path, "served")
    for where, (request, answer) in here.items():
        _, other = there[where]
        if "loglikelihoods" in answer:
            assert other["loglikelihoods"] == pytest.approx(answer["loglikelihoods"], abs=5e-3)
        elif request["temperature"] == 0:
            assert other["text"] == answer["text"]
    assert "served: beside fp32 on this machine: 0 of " in done.stderr
    assert "served: asked again, each call alone: 0 of " in done.stderr
    sampled = [answer["text"] for request, answer in there.values() if request.get("temperature")]
    assert len(set(sampled)) > len(sampled) / 3, "each replicate has a seed of its own"


def run_sampled(folder: Path, handler: TokenServer) -> tuple[Done, dict[str, Any]]:
    """A study that draws every answer, two of each item, and the noise that it stores."""
    make_study(folder, 4)
    with Server(handler) as server:
        changes = (
            ("MODEL", SERVED.format("vllm", server.url)), ("MOST", "8"), ("n = 60", "n = 12"),
            ("temperature = 0", "temperature = 0.7\nreplicates = 2\ntop_p = 1.0"),
        )  # fmt: skip
        (folder / "gridcard.toml").write_text(replaced(CROWD, *changes))
        done = command("run", cwd=folder)
    assert done.returncode == 0, done.stderr
    ((body,),) = rows(folder, "SELECT body FROM event WHERE kind = 'noise'")
    assert command("report", cwd=folder).returncode == 0
    return done, json.loads(body)


def test_what_is_drawn_anew_is_the_spread_of_draws_and_no_noise(tmp_path: Path) -> None:
    done, noise = run_sampled(tmp_path, TokenServer("vllm", faults={"/completions": "seedless"}))
    assert (noise["calls"], noise["texts"], noise["outcomes"], noise["outcomes_changed"]) == (0, 0, 0, 0)
    spread = noise["spread"]
    assert spread["texts"] == 8
    assert spread["texts_changed"] > 0
    assert rows(tmp_path, "SELECT count(*) FROM attempt WHERE purpose = 'repeat'") == [(8,)]
    words = f"drawn a second time, {spread['texts_changed']} of 8 sampled texts and "
    words += f"{spread['outcomes_changed']} of {spread['outcomes']} outcomes are other ones; no seed is known"
    assert f"served: {words}" in done.stderr
    assert "served: the server takes and ignores seed at /completions, found by a probe" in done.stderr
    assert "asked again" not in done.stderr
    folder = tmp_path / "results" / "small"
    certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
    assert [row["floor"] for row in certificate["noise_floors"]] == [None]
    assert any(words in each for each in certificate["statements"])
    assert "Noise floor not measured: served" in " ".join(certificate["statements"])
    assert words in (folder / "report.html").read_text("utf-8")


def test_what_a_seed_draws_again_is_measured_as_noise(tmp_path: Path) -> None:
    done, noise = run_sampled(tmp_path, TokenServer("vllm"))
    assert (noise["texts"], noise["texts_changed"], "spread" in noise) == (8, 0, False)
    assert "drawn a second time" not in done.stderr
