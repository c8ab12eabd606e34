"""`engine = "vllm"`: the server is started, waited for and ended; what goes wrong is told, and resumed."""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import gridc
from gridc.compiler.inputs.models import ModelIdentity, hash_files
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines import open_vllm
from gridc.runtime.engines.vllm import environment
from gridc.runtime.engines.vllm.engine import VllmEngine
from gridc.schema.spec import EngineSettings
from tests.e2e.conftest import Done, command, make_study
from tests.e2e.test_served import CROWD, answers, rows
from tests.replaced import replaced
from tools.servers.model import MODELS

ROOT = Path(__file__).parents[2]
STAND_IN = f"{sys.executable} -m tools.servers.vllm"
HF = 'engine = "hf"\nsource = "path:models/qwen2"'
BY_VLLM = 'engine = "vllm"\nsource = "path:models/qwen2"'


def make_crowd(folder: Path, *changes: tuple[str, str]) -> Path:
    """A study of one model that vLLM runs, with 12 short greedy answers."""
    make_study(folder, 4)
    usual = ("MODEL", BY_VLLM), ("MOST", "8"), ("n = 60", "n = 12")
    (folder / "gridcard.toml").write_text(replaced(CROWD, *usual, *changes))
    return folder


def run(folder: Path, *arguments: str, program: str = STAND_IN, **environ: str) -> Done:
    # gridc does not hand PYTHONPATH to vLLM, whose modules are others
    program = f"env PYTHONPATH={ROOT} {program}" if program == STAND_IN else program
    return command("run", *arguments, cwd=folder, GRIDC_VLLM=program, **environ)


def started_with(notes: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in notes.read_text("utf-8").splitlines()]


def is_gone(process: int) -> bool:
    stat = Path("/proc", str(process), "stat")
    return not stat.exists() or stat.read_text("utf-8").split()[2] == "Z"


def require_gone(process: int, seconds: float = 15.0) -> None:
    until = time.monotonic() + seconds
    while not is_gone(process) and time.monotonic() < until:
        time.sleep(0.1)
    assert is_gone(process)


def digest_of(done: Done) -> str:
    (found,) = re.findall(r"^results ([0-9a-f]{64})$", done.stdout, re.M)
    return str(found)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A finished run, and what it said."""
    folder = make_crowd(tmp_path_factory.mktemp("vllm"))
    done = run(folder, VLLM_STAND_IN=str(folder / "notes"))
    assert done.returncode == 0, done.stderr
    return folder, done


def test_the_server_runs_the_files_as_the_study_says_and_ends_with_the_run(sound: tuple[Path, Done]) -> None:
    folder, done = sound
    (server,) = started_with(folder / "notes")
    words = server["arguments"]
    said = dict(zip(words[2::2], words[3::2], strict=False))
    assert words[:2] == ["serve", str(folder / "models" / "qwen2")]
    told = {"--host": "127.0.0.1", "--dtype": "float32", "--max-num-seqs": "8",
            "--served-model-name": "path:models/qwen2", "--kv-cache-memory-bytes": str(2**30)}  # fmt: skip
    assert told.items() <= said.items()
    assert "--enable-prefix-caching" in words
    assert is_gone(server["pid"])
    assert (folder / "results" / "small" / "server-served-fp32.log").is_file()
    assert "served: beside fp32 on this machine: 0 of 8 greedy texts are other ones" in done.stderr


def test_what_is_asked_is_tokens_and_nothing_depends_on_the_port(sound: tuple[Path, Done]) -> None:
    folder, _ = sound
    sent = [json.loads(row) for (row,) in rows(folder, "SELECT sent FROM call")]
    assert all(each["body"]["prompt"].keys() == {"tokens", "sha256"} for each in sent)
    ((load,),) = rows(folder, "SELECT body FROM event WHERE kind = 'load'")
    ran = json.loads(load)
    assert (ran["precision"], ran["dtype"], ran["prompts"]) == ("fp32", "float32", "tokens")
    assert "127.0.0.1" not in load
    models = json.loads((folder / "gridcard.lock").read_text("utf-8"))["content"]["inputs"]["models"]
    assert models["served"]["server"] == "vllm", "what vLLM answers is not what the local engine answered"


def test_a_rerun_leaves_it_out(sound: tuple[Path, Done]) -> None:
    done = command("verify", "--rerun", "100%", cwd=sound[0], GRIDC_VLLM="")
    assert "GC708" not in done.stderr
    assert "GC604" not in done.stderr


def test_the_same_files_give_the_same_answers_as_the_local_engine(tmp_path: Path) -> None:
    make_crowd(tmp_path, ("[[benchmark]]", f'[[model]]\nid = "here"\n{HF}\n\n[[benchmark]]'))
    assert run(tmp_path).returncode == 0
    here, there = answers(tmp_path, "here"), answers(tmp_path, "served")
    assert len(here) == 12
    assert {at: answer["text"] for at, (_, answer) in here.items()} == {
        at: answer["text"] for at, (_, answer) in there.items()
    }


def test_a_server_that_dies_is_told_and_the_run_resumed(sound: tuple[Path, Done], tmp_path: Path) -> None:
    make_crowd(tmp_path, ("concurrency = 8", "concurrency = 1"))  # requests of four, one after another
    done = run(tmp_path, VLLM_DIES_AFTER="13", VLLM_STAND_IN=str(tmp_path / "notes"))
    assert done.returncode == 6
    assert "error[GC649]: the server of `served` ended with 3 while it was asked" in done.stderr
    assert ": ValueError: no room for the keys and values | another line | the end\n" in done.stderr
    assert "server-served-fp32.log has all that it printed" in done.stderr
    ((some,),) = rows(tmp_path, "SELECT count(*) FROM call WHERE answer IS NOT NULL")
    assert 0 < some < 12
    resumed = run(tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert f"{12 - some} calls executed, {some} were in the store" in resumed.stdout
    assert digest_of(resumed) == digest_of(sound[1])


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("", "GC604", "vLLM is not installed for gridc"),
        ("'", "GC604", "GRIDC_VLLM is no command"),
        ("/no/such/vllm", "GC649", "cannot be started"),
        ("sh -c 'echo torch.OutOfMemoryError: 3 GiB; exit 1'", "GC649", "lower `kv_mib` or `concurrency`"),
        ("sh -c 'kill -KILL $$'", "GC649", "lower `kv_mib` or `concurrency`"),
        (
            "sh -c 'echo RuntimeError: Unsupported CPU attention configuration: head_dim=16; exit 1'",
            "GC649",
            'engine = "hf" runs the model',
        ),
        ("sh -c 'echo AssertionError: Not enough allowed NUMA nodes; exit 1'", "GC649", "how many `threads`"),
        ("sh -c 'echo CPU Generator does not use offset; exit 1'", "GC649", "--max-num-batched-tokens 65536"),
    ],
)
def test_a_server_that_cannot_be_started(program: str, code: str, said: str, tmp_path: Path) -> None:
    make_crowd(tmp_path)
    done = run(tmp_path, program=program, GRIDC_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 6, done.stderr
    assert f"error[{code}]" in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_server_ends_with_gridc_however_that_ends(sign: signal.Signals, tmp_path: Path) -> None:
    make_crowd(tmp_path, ("max_tokens = 4", "max_tokens = 300"))
    notes = tmp_path / "notes"
    environ = os.environ | {"GRIDC_VLLM": f"env PYTHONPATH={ROOT} {STAND_IN}", "VLLM_STAND_IN": str(notes)}
    words = [sys.executable, "-m", "gridc", "run"]
    with subprocess.Popen(words, cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL) as gridc:
        until = time.monotonic() + 60
        while not (notes.exists() and notes.read_text("utf-8")) and time.monotonic() < until:
            time.sleep(0.1)
        (server,) = started_with(notes)
        gridc.send_signal(sign)
    require_gone(server["pid"])


def further(*names: str) -> str:
    """Models of a spec, by vLLM, that ship with gridc."""
    stated = '[[model]]\nid = "{0}"\nengine = "vllm"\nsource = "builtin:pocket-{0}"\n\n'
    return "".join(stated.format(name) for name in names)


@pytest.mark.parametrize(("free", "starts"), [(0.5, 2), (0.49, 3)])
def test_a_server_starts_once_where_memory_permits(
    free: float, starts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = ("n = 12", "n = 4"), ("noise_sample = 8", "noise_sample = 0")
    make_crowd(tmp_path, ("[[benchmark]]", further("llama") + "[[benchmark]]"), *fewer)
    monkeypatch.setattr("gridc.runtime.engines.hf.loading.free_share", lambda device: free)
    monkeypatch.setattr("gridc.runtime.engines.vllm.engine.has_gpu", lambda: False)
    monkeypatch.setenv("GRIDC_VLLM", f"env PYTHONPATH={ROOT} {STAND_IN}")
    monkeypatch.setenv("VLLM_STAND_IN", str(tmp_path / "notes"))
    assert gridc.open(tmp_path / "gridcard.toml").run(references=0).finished.executed == 8
    started = started_with(tmp_path / "notes")
    assert len(started) == starts
    assert all(is_gone(server["pid"]) for server in started)


def test_servers_end_where_another_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_crowd(tmp_path, ("[[benchmark]]", further("llama", "mistral") + "[[benchmark]]"))
    monkeypatch.setattr("gridc.runtime.engines.hf.loading.free_share", lambda device: 1.0)
    monkeypatch.setattr("gridc.runtime.engines.vllm.engine.has_gpu", lambda: False)
    monkeypatch.setenv("GRIDC_VLLM", f"env PYTHONPATH={ROOT} {STAND_IN}")
    monkeypatch.setenv("VLLM_STAND_IN", str(tmp_path / "notes"))
    effective, kept = VllmEngine.effective, list[VllmEngine]()

    def refusing(engine: VllmEngine) -> dict[str, Any]:
        kept.append(engine)  # so that no server ends because nobody knows of it any more
        if engine._name == "llama":
            raise UnavailableError([Diagnostic("GC606", "refused")])
        return effective(engine)

    monkeypatch.setattr(VllmEngine, "effective", refusing)
    with pytest.raises(UnavailableError, match="GC606"):
        gridc.open(tmp_path / "gridcard.toml").run()
    (server,) = started_with(tmp_path / "notes")
    assert is_gone(server["pid"])


def test_precisions_that_vllm_has_not(tmp_path: Path) -> None:
    make_crowd(tmp_path, ("temperature = 0", 'temperature = 0\nprecision = "nf4"'))
    done = run(tmp_path)
    assert done.returncode == 6
    assert "error[GC606]: `served` at nf4" in done.stderr


def test_a_call_that_its_memory_does_not_hold_is_refused(tmp_path: Path) -> None:
    make_crowd(tmp_path)
    done = run(tmp_path, VLLM_ROOM="32")
    assert done.returncode == 6
    (needed,) = re.findall(
        r"GC608\]: one call of `served` has (\d+) tokens, and 1024 MiB hold 32", done.stderr
    )
    assert f"help: [engine] kv_mib = {1024 * int(needed) // 32}" in done.stderr
    assert rows(tmp_path, "SELECT count(*) FROM call WHERE answer IS NOT NULL") == [(0,)]


def test_other_files_than_those_that_were_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDC_VLLM", "true")
    folder = MODELS / "pocket-qwen2"
    files = tuple((name, "0" * 64 if name == "config.json" else sha) for name, sha in hash_files(folder))
    identity = ModelIdentity("builtin:pocket-qwen2", folder, files, server="vllm")
    engine = open_vllm("served", identity, "fp32", EngineSettings(), frozenset())
    with pytest.raises(UnavailableError, match="GC642"):
        engine.effective()


def test_gguf_files_are_for_another_server(tmp_path: Path) -> None:
    make_crowd(tmp_path)
    weights = tmp_path / "models" / "qwen2" / "model.safetensors"
    weights.rename(weights.with_suffix(".gguf"))
    done = command("validate", "--check", cwd=tmp_path)
    assert "error[GC314]: `path:models/qwen2` has only GGUF weights (model.gguf)" in done.stderr
    assert 'server = "llama.cpp"' in done.stderr


def test_an_installation_that_fails_is_no_installation(tmp_path: Path) -> None:
    environ = {"GRIDC_CACHE": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "GRIDC_VLLM": ""}
    done = command("serve", "--install", cwd=tmp_path, PIP_CONFIG_FILE=os.devnull, **environ)
    assert done.returncode == 6
    assert "error[GC604]: vLLM cannot be installed: " in done.stderr
    assert "No matching distribution found" in done.stderr
    (folder,) = tmp_path.iterdir()
    assert not (folder / environment.READY).exists()
    assert "error[GC604]: vLLM is not installed" in command("serve", cwd=tmp_path, **environ).stderr


MANY = """\
gridcard = 1

[study]
id = "small"
title = "48 configurations of two models, each run twice"
purpose = "descriptive"
not_varied = ["everything else"]

MODELS
[[benchmark]]
id = "bbq"
loader = "bbq"
source = "path:items.jsonl"
direction = "higher_is_better"
sample = { n = 6, seed = 1 }
option_order = "file"
exemplars = { pool = "rest", seed = 1 }

[harness]
max_tokens = 8
temperature = 0

AXES
[engine]
noise_sample = 4
"""
AXES = {
    "wording": [f'prompt = "builtin:T{number}"' for number in (1, 2, 3, 4)],
    "few_shot": ["shots = 0", "shots = 2"],
    "order": [f'option_order = "{order}"' for order in ("reversed", "shuffled:1", "shuffled:2")],
    "scoring": ['method = "extract"', 'method = "loglikelihood"'],
}


def make_many(folder: Path) -> Path:
    """A study of 48 configurations of two models, by the local engine and by vLLM. The second is the first
    with noise in its weights: vLLM's CPU build cannot run the other models that ship with gridc."""
    folder.mkdir()
    make_study(folder, 4)
    worse = shutil.copytree(folder / "models" / "qwen2", folder / "models" / "worse") / "model.safetensors"
    noise = np.random.default_rng(1)
    tensors = {
        name: weights + noise.normal(0, 0.4 * weights.std(), weights.shape).astype(weights.dtype)
        for name, weights in load_file(worse).items()
    }
    save_file(tensors, worse, {"format": "pt"})
    models = [
        f'[[model]]\nid = "{engine}-{model}"\nengine = "{engine}"\nsource = "path:models/{model}"\n'
        for engine in ("hf", "vllm")
        for model in ("qwen2", "worse")
    ]
    axes = [
        f'[[axis]]\nid = "{axis}"\n'
        + "".join(
            f'[[axis.level]]\nid = "{axis}-{number}"\ntier = "core"\nprovenance = "a test"\n{level}\n'
            for number, level in enumerate(levels)
        )
        for axis, levels in AXES.items()
    ]
    text = replaced(MANY, ("MODELS", "\n".join(models)), ("AXES", "\n".join(axes)))
    (folder / "gridcard.toml").write_text(text)
    return folder


def scores(folder: Path) -> dict[str, dict[str, float]]:
    """The mean score of each model, of those with an answer that can be read, by configuration."""
    found: dict[str, dict[str, float]] = {}
    query = "SELECT key, total(score) FROM sample JOIN cell ON cell.id = cell GROUP BY key"
    for key, score in rows(folder, query):
        model, _, configuration = key.partition("/")
        found.setdefault(configuration, {})[model] = score
    return found


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A real vLLM: the one of GRIDC_VLLM, else its CPU build from the registry, which is kept."""
    if stated := os.environ.get("GRIDC_VLLM"):
        return stated
    try:
        environment.install(print)
    except UnavailableError as error:
        pytest.skip(f"vLLM cannot be installed here: {error}")
    return shlex.join(environment.program())


def kill_server(folder: Path, answered: int) -> None:
    """Kill vLLM's server with its workers once so many of its calls have their answer."""
    log = folder / "results" / "small" / "server-vllm-qwen2-fp32.log"
    store = folder / "results" / "small" / "store.sqlite"
    count = "SELECT count(*) FROM call WHERE answer IS NOT NULL AND json_extract(sent, '$.endpoint') NOT NULL"
    while True:
        time.sleep(0.2)
        with suppress(sqlite3.Error), sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True) as db:
            if db.execute(count).fetchone()[0] >= answered:
                break
    (process,) = set(re.findall(r"APIServer pid=(\d+)", log.read_text("utf-8")))
    os.killpg(int(process), signal.SIGKILL)


@pytest.mark.slow
def test_a_real_vllm_ranks_as_the_local_engine_and_is_resumed(vllm: str, tmp_path: Path) -> None:
    folder = make_many(tmp_path / "whole")
    done = run(folder, program=vllm)
    assert done.returncode == 0, done.stderr
    found = scores(folder)
    assert len(found) == 48
    assert len({tuple(models.values()) for models in found.values()}) > 8, "configurations differ"
    for models in found.values():
        for model in ("qwen2", "worse"):
            assert models[f"vllm-{model}"] == models[f"hf-{model}"]
    for model in ("qwen2", "worse"):
        here, there = answers(folder, f"hf-{model}"), answers(folder, f"vllm-{model}")
        assert here.keys() == there.keys()
        for at, (_, answer) in here.items():
            _, other = there[at]
            if "loglikelihoods" in answer:
                assert other["loglikelihoods"] == pytest.approx(answer["loglikelihoods"], abs=1e-4)
            else:
                assert other["text"] == answer["text"]
        assert f"vllm-{model}: beside fp32 on this machine: 0 of " in done.stderr

    again = make_many(tmp_path / "killed")
    killer = threading.Thread(target=kill_server, args=(again, 60), daemon=True)
    killer.start()
    stopped = run(again, program=vllm)
    assert stopped.returncode == 6, stopped.stderr
    assert "error[GC649]: the server of `vllm-qwen2` ended with -9 while it was asked" in stopped.stderr
    resumed = run(again, program=vllm)
    assert resumed.returncode == 0, resumed.stderr
    assert digest_of(resumed) == digest_of(done)
