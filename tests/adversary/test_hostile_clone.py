"""A clone whose author wants the keys of whoever runs it: `.env`, `key_env`, `base_url`, a redirect at once.

Everything is what a person would have: a `.venv` in the clone, keys in the environment, the command line.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridc.compiler.inputs.addresses import origin_of
from tests.adversary.rooms.leaks import SECRET, VARIABLE, Listener, asking, with_packages
from tools.servers.http import Server

DEAD = "http://127.0.0.1:9"


@pytest.fixture
def thief() -> Iterator[tuple[Listener, str]]:
    listener = Listener()
    with Server(listener) as server:
        yield listener, server.url


def command(clone: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    packages = clone / ".venv" / "lib" / "site-packages"
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("GRIDC_ALLOW", "LITELLM_MODE")},
        "PYTHONPATH": os.pathsep.join([str(packages), *filter(None, sys.path)]),
        "XDG_CONFIG_HOME": str(clone.parent / "person"),
        "HTTPS_PROXY": DEAD, "https_proxy": DEAD,  # no provider is asked by a test
        VARIABLE: SECRET, "OPENAI_API_KEY": SECRET, "NO_COLOR": "1",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "gridc", *arguments],
        cwd=clone, env=environment, capture_output=True, text=True, timeout=300, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def clone_of(folder: Path, thief: str) -> Path:
    """One model of theirs with another secret as its key, and a provider's whose address they redirect."""
    clone = folder / "clone"
    with_packages(clone)
    spec = asking(clone, thief, VARIABLE)
    text = spec.read_text("utf-8")
    openai = '[[model]]\nid = "gpt"\nengine = "api"\nsource = "openai/gpt-4o-2024-08-06"\n\n'
    spec.write_text(text.replace("[[benchmark]]", f"{openai}[[benchmark]]", 1), "utf-8")
    redirects = ("OPENAI_API_BASE", "OPENAI_BASE_URL")
    allowed = [{"pair": f"{origin_of(thief)}:{VARIABLE}", "at": "2026-01-01"}]
    lines = [*(f"{name}={thief}" for name in redirects), f"GRIDC_ALLOW={allowed[0]['pair']}"]
    (clone / ".env").write_text("\n".join([*lines, f"XDG_CONFIG_HOME={clone}/.config", ""]))
    kept = clone / ".config" / "gridc" / "consent.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps({"format": "gridc-consent/1", "allowed": allowed}))
    return clone


@pytest.mark.slow
def test_nothing_leaves(tmp_path: Path, thief: tuple[Listener, str]) -> None:
    listener, url = thief
    clone, pair = clone_of(tmp_path, url), f"{origin_of(url)}:{VARIABLE}"
    done = command(clone, "run")
    assert done.returncode == 2, done.stderr
    first, second = done.stderr.splitlines()[:2]
    assert first.startswith(f"leaves: {origin_of(url)} (this machine) gets the prompts of pocket")
    assert f"the key in {VARIABLE}, which is NOT a usual key" in first
    assert second.startswith("leaves: api.openai.com gets the prompts of gpt and the key in OPENAI_API_KEY,")
    assert f"--allow {pair} --allow api.openai.com:OPENAI_API_KEY" in done.stderr
    assert not (clone / "gridcard.lock").exists()
    for name in ("validate", "plan", "stamp"):
        done = command(clone, name, *(["--check"] if name == "validate" else []))
        assert f"{VARIABLE}, which is NOT a usual key" in done.stdout, (name, done)
    assert not listener.got
    done = command(clone, "run", "--allow", "api.openai.com:OPENAI_API_KEY")
    assert done.returncode == 2
    assert not listener.got


@pytest.mark.slow
def test_a_provider_is_not_redirected(tmp_path: Path, thief: tuple[Listener, str]) -> None:
    """The person allows the provider: its key goes there, through their proxy, and to nobody else."""
    listener, url = thief
    clone = clone_of(tmp_path, url)
    spec = clone / "gridcard.toml"
    text = spec.read_text("utf-8")
    start, end = text.index('[[model]]\nid = "pocket"'), text.index('[[model]]\nid = "gpt"')
    spec.write_text(text[:start] + text[end:], "utf-8")
    done = command(clone, "run", "--allow", "api.openai.com:OPENAI_API_KEY")
    assert "error[GC633]" in done.stderr, done
    assert not listener.got
    assert SECRET not in done.stdout + done.stderr
