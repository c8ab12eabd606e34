"""What leaves is said first, and allowed once: on a terminal, for a command, for a program."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.frontend.read import read_spec
from gridc.compiler.inputs.addresses import PROVIDERS, is_local, origin_of, proxy_of, without_password
from gridc.compiler.preflight import consent
from gridc.diagnostics.errors import GridcError, SpecError, UsageError
from tests.adversary.rooms.leaks import SECRET, VARIABLE, asking, listening, remember, run
from tests.e2e.conftest import command


@pytest.mark.parametrize(
    ("url", "origin", "local"),
    [
        ("https://api.openai.com/v1", "api.openai.com", False),
        ("https://API.openai.com:443/v1", "api.openai.com", False),
        ("http://api.openai.com/v1", "http://api.openai.com", False),
        ("http://api.openai.com:443/v1", "http://api.openai.com:443", False),
        ("https://api.openai.com:80/v1", "api.openai.com:80", False),
        ("https://api.openai.com:8443", "api.openai.com:8443", False),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000", True),
        ("http://localhost/v1", "http://localhost", True),
        ("http://[::1]:8000/v1", "http://[::1]:8000", True),
        ("http://127.0.0.1.nip.io/v1", "http://127.0.0.1.nip.io", False),
        ("http://0.0.0.0/v1", "http://0.0.0.0", False),
    ],
)
def test_an_origin(url: str, origin: str, local: bool) -> None:
    assert (origin_of(url), is_local(url)) == (origin, local)
    assert consent._pair(f"{origin}:A_KEY") == f"{origin}:A_KEY"
    assert consent._pair(origin) == origin
    assert consent._pair(url.rpartition("/v1")[0] or url) == origin, "as it is written in a spec"


@pytest.mark.parametrize(
    "text", ["", ":KEY", "host:", "ftp://host:KEY", "a b:KEY", "host:KEY=1", "host:1:2:K",
             "host:99999:KEY", "[::::]:KEY", "https://me@host:KEY"],
)  # fmt: skip
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        consent._pair(text)
    assert caught.value.diagnostics[0].code == "GC000"


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com\\@evil.example/v1", "https://\u0430pi.openai.com/v1", "https://host:99999/v1",
        "https://host:port/v1", "https://user@host/v1", "https://[::::]/v1", "https://h\u200bost/v1", "https://host#/v1",
    ],
)  # fmt: skip
def test_an_address_that_people_and_programs_read_differently(url: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        read_spec(asking(tmp_path, url, None))


def test_a_proxy_is_named_without_its_password(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@proxy.example:3128")
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv("NO_PROXY", "inner.example")
    through = proxy_of("https://api.openai.com/v1")
    assert through is not None
    assert without_password(through) == "http://proxy.example:3128"
    assert proxy_of("https://inner.example/v1") is None
    assert proxy_of("https://127.0.0.1:8000/v1") is None


def test_a_provider_that_is_not_known(tmp_path: Path) -> None:
    spec = asking(tmp_path, "http://127.0.0.1:9/v1", None)
    text = spec.read_text("utf-8").replace('base_url = "http://127.0.0.1:9/v1"\n', "")
    spec.write_text(text.replace("m-2026-01-01", "vertex_ai/gemini-3-pro-2026-01-01"), "utf-8")
    assert run(spec) == {"GC354"}


def test_a_server_on_this_machine_without_a_key_needs_no_consent(
    tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    with listening(monkeypatch, tmp_path) as (listener, url):
        assert run(asking(tmp_path / "study", url, None)) == set()
        assert listener.got


def test_consent_for_a_command_and_for_a_program(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    with listening(monkeypatch, tmp_path) as (listener, url):
        spec, pair = asking(tmp_path / "study", url, VARIABLE), f"{origin_of(url)}:{VARIABLE}"
        done = command("run", cwd=spec.parent)
        assert done.returncode == 2
        assert f"--allow {pair}" in done.stderr
        assert not (spec.parent / "gridcard.lock").exists()
        assert run(spec, pair.replace(VARIABLE, "OTHER")) == {"GC643"}
        assert not listener.got
        done = command("run", cwd=spec.parent, GRIDC_ALLOW=f"other.example, {pair}")
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(f"leaves: {origin_of(url)} (this machine) gets the prompts of pocket")
        assert listener.secrets
        listener.got.clear()
        gridc.open(spec).run()  # every call has its answer: nothing leaves, and nobody is asked
        assert not listener.got
        gridc.open(spec).report()
    card = (spec.parent / "results" / "exhibit" / "gridcard.md").read_text("utf-8")
    page = (spec.parent / "results" / "exhibit" / "report.html").read_text("utf-8")
    for text in (card, page):
        assert f"prompts and {VARIABLE}, to {origin_of(url)}" in text
        assert "GRIDC_ALLOW" in text
    assert SECRET not in card + page


def on_terminal(folder: Path, answer: str) -> "tuple[int, str]":
    """Run a study where a person answers."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gridc", "run"], cwd=folder, stdin=theirs, stdout=subprocess.DEVNULL,
        stderr=theirs, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, answer.encode() + b"\n")
    output = b""
    try:
        while part := os.read(ours, 65_536):
            output += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return process.wait(timeout=120), output.decode("utf-8", "replace")


def test_a_person_types_the_name_of_an_unusual_variable_once(
    tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    with listening(monkeypatch, tmp_path) as (listener, url):
        spec, pair = asking(tmp_path / "study", url, VARIABLE), f"{origin_of(url)}:{VARIABLE}"
        for answer in ("y", "yes", "AWS_SECRET", ""):
            code, output = on_terminal(spec.parent, answer)
            assert code == 2, output
            assert "Type the name of the variable" in output
        assert not listener.got
        code, output = on_terminal(spec.parent, VARIABLE)
        assert code == 0, output
        assert listener.secrets
        kept = tmp_path / "person" / "gridc" / "consent.json"
        assert [entry["pair"] for entry in json.loads(kept.read_text())["allowed"]] == [pair]
        assert kept.stat().st_mode & 0o777 == 0o600
        again = asking(tmp_path / "again", url, VARIABLE)
        assert run(again) == set(), "given once"


@pytest.mark.parametrize("damage", ["", "[]", '{"format": "gridc-consent/2", "allowed": []}', "[" * 100_000])
def test_a_damaged_file_of_consents(damage: str, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    with listening(monkeypatch, tmp_path) as (_, url):
        remember(tmp_path / "person")
        (tmp_path / "person" / "gridc" / "consent.json").write_text(damage)
        assert run(asking(tmp_path / "study", url, VARIABLE)) == {"GC644"}


def test_a_relative_configuration_folder_does_not_count(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", ".config")
    assert consent.consent_file() == Path.home() / ".config" / "gridc" / "consent.json"


@pytest.mark.slow
def test_the_addresses_of_providers_are_those_that_litellm_has(monkeypatch: MonkeyPatch) -> None:
    litellm = pytest.importorskip("litellm")
    for name in [name for name in os.environ if name.endswith(("_BASE", "_URL"))]:
        monkeypatch.delenv(name)
    for name, own in PROVIDERS.items():
        _, provider, _, base = litellm.get_llm_provider(f"{name}/some-model")
        assert provider == name
        assert base in (own.base, None)
        missing = litellm.validate_environment(f"{name}/some-model")["missing_keys"]
        assert own.variable in missing or os.environ.get(own.variable)


def test_a_store_of_answers_from_elsewhere_says_so(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    import sqlite3

    with listening(monkeypatch, tmp_path) as (_, url):
        spec = asking(tmp_path / "study", url, None)
        assert run(spec) == set()
    store = spec.parent / "results" / "exhibit" / "store.sqlite"
    with sqlite3.connect(store) as db:
        db.execute("UPDATE call SET sent = json_set(sent, '$.endpoint', 'http://thief.example/v1')")
    observed = gridc.open(spec).deviations().observed
    assert observed is not None
    assert any(
        "were answered at http://thief.example/v1, not by http://127.0.0.1:" in sentence
        for sentence in observed
    )
    with pytest.raises(GridcError) as caught:
        gridc.open(spec).verify()
    assert "GC706" in {diagnostic.code for diagnostic in caught.value.diagnostics}
