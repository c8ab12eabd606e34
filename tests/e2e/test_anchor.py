"""A finished study is signed and time-stamped, lock and results, and a reviewer checks it with roots of their
own."""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from html import unescape
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path

import pytest

from gridc.compiler.lock import attestation
from gridc.diagnostics.errors import StampError, UnavailableError
from tests.authorities import make_authority, needs_openssl, needs_ssh, shell, time_stamp
from tests.e2e.conftest import command

RESULTS = Path("results/small")


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reviewer has: an authority's root and a key, neither of them in the study."""
    folder = tmp_path_factory.mktemp("outside")
    make_authority(folder, "authority")
    shell(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key", "-C", "ada@example.org")
    return folder


@pytest.fixture(scope="module")
def address(outside: Path) -> Iterator[str]:
    """The authority, as it answers over HTTP."""
    place = outside / "authority"

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            (place / "asked").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            made = ("-config", "conf", "-section", "main", "-out", "answer")
            shell(place, "openssl", "ts", "-reply", "-queryfile", "asked", *made)
            self.send_response(200)
            self.end_headers()
            self.wfile.write((place / "answer").read_bytes())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@needs_ssh
@needs_openssl
def test_lock_and_results_are_tied_and_a_reviewer_checks_it(study: Path, outside: Path, address: str) -> None:
    pytest.importorskip("rfc3161_client")
    made = command("anchor", "--key", str(outside / "key"), "--tsa", address, "--json", cwd=study)
    assert made.returncode == 0, made.stderr
    ties = json.loads(made.stdout)["anchors"]
    assert [tie["strength"] for tie in ties["lock"] + ties["results"]] == ["unanchored"] * 5
    for name in ("gridcard.lock", "results/small/finish.json"):
        assert {(study / f"{name}{suffix}").is_file() for suffix in (".sig", ".tsr")} == {True}
    believed = ("--roots", str(outside / "authority/root.pem"), "--signer", str(outside / "key.pub"))
    assert command("report", *believed, cwd=study).returncode == 0
    card = (study / RESULTS / "gridcard.md").read_text()
    assert "(timestamped, as its author checked it)" in card
    certificate = json.loads((study / RESULTS / "certificate.json").read_text())
    assert certificate["results_anchor"]["strength"] == certificate["anchor"]["strength"] == "timestamped"
    assert f"(timestamped: {certificate['results_anchor']['detail']}" in unescape(
        (study / RESULTS / "report.html").read_text()
    )
    assert command("export", "bundle", "--to", "bundle", cwd=study).returncode == 0

    for where in ((), ("bundle",)):
        checked = command("verify", *where, *believed, cwd=study)
        assert checked.returncode == 0, checked.stderr
        assert "the lock is timestamped, as checked here" in checked.stdout
        assert "the results are timestamped, as checked here" in checked.stdout
        assert "not shown here" not in checked.stdout
        told = json.loads(command("verify", *where, *believed, "--json", cwd=study).stdout)["ties"]
        assert [tie["evidence"] for tie in told["lock"]][-2:] == ["signature", "token"]
        for tie in told["lock"][-2:] + told["results"]:
            assert tie["strength"] == {"signature": "signed", "token": "timestamped"}[tie["evidence"]]
    alone = command("verify", "bundle", cwd=study)
    assert alone.returncode == 0, alone.stderr
    assert "the lock is unanchored, as checked here" in alone.stdout
    assert "not shown here: the report says timestamped" in alone.stdout

    shell(outside, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "stranger", "-C", "t")
    wrong = command("verify", "--signer", str(outside / "stranger.pub"), cwd=study)
    assert (wrong.returncode, "GC709" in wrong.stderr) == (7, True)
    for name, code in (
        ("gridcard.lock.tsr", "GC709"),
        ("results/small/finish.json.tsr", "GC709"),
        ("results/small/finish.json.sig", "GC406"),
    ):
        kept = (study / name).read_bytes()
        (study / name).unlink() if code == "GC709" else (study / name).write_bytes(b"garbage")
        refused = command("verify", *believed, cwd=study)
        assert (refused.returncode, code in refused.stderr) == (7, True), name
        (study / name).write_bytes(kept)


@needs_openssl
def test_an_old_answer_that_is_sent_again_is_no_time_stamp(
    study: Path, outside: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same bytes and under the same authority, but asked for earlier: its nonce is another one."""
    pytest.importorskip("rfc3161_client")
    lock = study / "gridcard.lock"
    old = outside / "old"
    shutil.copy(lock, old)
    time_stamp(outside / "authority", old)
    sent = old.with_name("old.tsr").read_bytes()
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: BytesIO(sent))
    with pytest.raises(StampError) as caught:
        attestation.time_stamp(lock, "https://authority.example")
    assert [finding.code for finding in caught.value.diagnostics] == ["GC406"]
    assert "nonce" in caught.value.diagnostics[0].message
    assert not lock.with_name("gridcard.lock.tsr").exists()
    monkeypatch.undo()
    attestation.time_stamp(lock, address)
    assert lock.with_name("gridcard.lock.tsr").is_file()


@needs_ssh
def test_signing_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "key")
    (tmp_path / "gridcard.lock").write_text("x")
    monkeypatch.setattr(attestation, "SECONDS", 0.5)
    with pytest.raises(UnavailableError, match="GC604 ssh-keygen did not end within"):
        attestation.sign(tmp_path / "gridcard.lock", tmp_path / "key")


def test_a_score_that_was_edited_on_the_cards_is_not_attached_and_does_not_pass(
    study: Path, tmp_path: Path
) -> None:
    pytest.importorskip("huggingface_hub")
    readme = study / "README.md"
    readme.write_text("# A model\n")
    attach = ("card", "attach", str(readme), "--model", "llama")
    assert command(*attach, cwd=study).returncode == 0
    honest = command("card", "check", str(readme), cwd=study)
    assert honest.returncode == 0, honest.stderr
    assert "as the store says" in honest.stdout
    file = study / RESULTS / "gridcard.json"
    deck = json.loads(file.read_text())
    for card in deck["cards"]:
        card["point_score"]["score"] = 0.999
    file.write_text(json.dumps(deck))
    for words in (attach, ("card", "check", str(readme))):
        refused = command(*words, cwd=study)
        assert (refused.returncode, "GC707" in refused.stderr) == (7, True), refused.stderr
    lone = tmp_path / "gridcard.json"
    shutil.copy(file, lone)
    assert command(*attach, "--from", str(lone), cwd=study).returncode == 0
    alone = command("card", "check", str(readme), "--from", str(lone), cwd=study)
    assert alone.returncode == 0
    assert "nothing here shows that these cards say what was measured" in alone.stdout
