"""`transformers serve` with a model of gridc's: what it ignores is found, and said before it is asked."""

import importlib.util
import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import gridc
from tests.e2e.test_scaffolds import CHAINS

MODEL = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-qwen2"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(importlib.util.find_spec(name) for name in ("transformers", "torch", "fastapi", "uvicorn")),
        reason="needs `pip install 'gridc[local,dev]'`: transformers serve takes torch, fastapi and uvicorn",
    ),
]
GREEDY = """[[axis.level]]
id = "greedy"
tier = "core"
temperature = 0.0
provenance = "a test"
"""
WARM = GREEDY.replace("greedy", "warm").replace("temperature = 0.0", "temperature = 0.7\nreplicates = 3")
WAIVED = '[[waive]]\ncode = "GC507"\nwhy = "a folder of this machine"\n\n'


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-c", "from transformers.cli.transformers import main; main()",
        "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            for _ in range(240):
                try:
                    httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).raise_for_status()
                    break
                except httpx.HTTPError:
                    assert running.poll() is None, "the server ended"
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            running.kill()


def study(folder: Path, server: str, levels: str) -> Path:
    text = CHAINS.replace(
        'engine = "hf"\nsource = "builtin:pocket-qwen2"',
        f'engine = "api"\nsource = "{MODEL}"\nbase_url = "{server}"\n',
    )
    folder.mkdir()
    path = folder / "gridcard.toml"
    path.write_text(
        text.replace("[[axis]]", f"{WAIVED}[[axis]]").replace("threads = 1\n", "") + levels, "utf-8"
    )
    return path


def gridc_run(path: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gridc", "run", path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True)


def test_what_the_server_ignores_is_said_before_it_is_asked(server: str, tmp_path: Path) -> None:
    path = study(tmp_path / "greedy", server, GREEDY)
    done = gridc_run(path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    (said,) = (
        number
        for number, line in enumerate(lines)
        if "takes and ignores temperature at /chat/completions" in line
    )
    begun = next(number for number, line in enumerate(lines) if " % of at most" in line)
    assert said < begun
    with sqlite3.connect(gridc.open(path).store) as db:
        answers = db.execute(
            "SELECT request, content, answer FROM call JOIN prompt ON prompt.id = prompt"
        ).fetchall()
    assert len(answers) > 1
    assert all(json.loads(answer)["text"] for *_, answer in answers)
    opened = gridc.open(path)
    opened.report()
    said_again = (opened.store.parent / "deviations.md").read_text("utf-8")
    assert "takes and ignores temperature at /chat/completions" in said_again


def test_a_openedthat_samples_is_refused_before_it_is_asked(server: str, tmp_path: Path) -> None:
    path = study(tmp_path / "warm", server, GREEDY + WARM)
    done = gridc_run(path)
    assert done.returncode == 5
    assert "error[GC529]" in done.stderr
    with sqlite3.connect(gridc.open(path).store) as db:
        assert db.execute("SELECT count(answer) FROM call").fetchone() == (0,)


def test_its_greedy_texts_are_those_of_the_model_here(server: str, tmp_path: Path) -> None:
    there = study(tmp_path / "there", server, GREEDY)
    gridc.open(there).run()
    (tmp_path / "here").mkdir()
    here = tmp_path / "here" / "gridcard.toml"
    here.write_text(CHAINS + GREEDY, "utf-8")
    gridc.open(here).run()
    texts = []
    for path in (there, here):
        with sqlite3.connect(gridc.open(path).store) as db:
            found = db.execute(
                """SELECT item, json_extract(answer, '$.text') FROM trace
                   JOIN call ON call.id = call ORDER BY 1"""
            )
            texts.append(found.fetchall())
    assert texts[0] == texts[1]
