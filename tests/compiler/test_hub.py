"""Benchmarks on the Hugging Face hub: a local server that answers as the hub does, and its cache."""

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from click.testing import CliRunner
from huggingface_hub import close_session

from gridc.cli import main
from gridc.schema.canonical import digest_bytes
from tests.compiler.conftest import questions

COMMIT = "c" * 40
OTHER = "d" * 40
REPOSITORY = "makers/tools"
SOURCE = '"path:facts.json"'


class Hub(BaseHTTPRequestHandler):
    """The part of the hub's API that a pinned download uses. `log` keeps what was asked."""

    files: ClassVar[dict[str, bytes]] = {}
    head: ClassVar[str] = COMMIT
    log: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        Hub.log.append(self.path)
        api, raw = f"/api/datasets/{REPOSITORY}/", f"/datasets/{REPOSITORY}/resolve/"
        path = self.path.partition("?")[0]
        if path.startswith(f"{api}revision/"):
            siblings = [{"rfilename": name} for name in Hub.files]
            self._send(json.dumps({"id": REPOSITORY, "sha": Hub.head, "siblings": siblings}).encode(), body)
        elif path.startswith(f"{api}tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": digest_bytes(data)[:40]}
                for name, data in Hub.files.items()
            ]
            self._send(json.dumps(tree).encode(), body)
        elif path.startswith(raw):
            commit, _, name = path.removeprefix(raw).partition("/")
            data = Hub.files.get(name)
            if data is None or commit not in (COMMIT, OTHER):
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.end_headers()
            else:
                self._send(data, body, {"X-Repo-Commit": commit})
        else:
            self.send_error(404)

    def _send(self, data: bytes, body: bool, more: dict[str, str] | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub() -> Iterator[str]:
    Hub.files = {"data/facts.json": json.dumps(questions(8)).encode()}
    Hub.head, Hub.log = COMMIT, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def own_cache(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's client keeps what it fetches beside the study, and asks this machine without a proxy."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(small.parent / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    close_session()


def gridc(spec: Path, endpoint: str, *command: str) -> tuple[int, str]:
    """Run gridc with the hub at this address."""
    done = CliRunner().invoke(main, [*command, str(spec)], env={"HF_ENDPOINT": endpoint})
    return done.exit_code, done.output


def hosted(small: Path, source: str) -> Path:
    text = small.read_text("utf-8")
    assert text.count(SOURCE) == 1
    small.write_text(text.replace(SOURCE, f'"{source}"'))
    return small


def locked(spec: Path) -> dict[str, dict[str, object]]:
    content = json.loads(spec.with_suffix(".lock").read_text())["content"]
    found: dict[str, dict[str, object]] = content["inputs"]["benchmarks"]
    return found


def test_a_pinned_file_is_fetched_once_and_found_without_a_network_afterwards(small: Path, hub: str) -> None:
    spec = hosted(small, f"hf:{REPOSITORY}@{COMMIT}/data/facts.json")
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    facts = locked(spec)["facts"]
    assert facts["hub"] == {"source": f"hf:{REPOSITORY}@{COMMIT}/data/facts.json", "revision": COMMIT}
    assert facts["files"] == {"data/facts.json": digest_bytes(Hub.files["data/facts.json"])}
    assert any(path.startswith(f"/datasets/{REPOSITORY}/resolve/{COMMIT}/") for path in Hub.log)

    asked = len(Hub.log)
    code, output = gridc(spec, "http://127.0.0.1:9", "plan", "--json")
    assert code == 0, output
    assert json.loads(output)["envelopes"][0]["items"] == 4
    assert len(Hub.log) == asked


def test_a_branch_is_resolved_to_a_commit_that_the_lock_keeps(small: Path, hub: str) -> None:
    spec = hosted(small, f"hf:{REPOSITORY}/data/facts.json")
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    assert locked(spec)["facts"]["hub"] == {"source": f"hf:{REPOSITORY}/data/facts.json", "revision": COMMIT}
    stamp = json.loads(spec.with_suffix(".lock").read_text())["stamp"]

    Hub.head = OTHER
    Hub.files = {"data/facts.json": json.dumps(questions(9)).encode()}
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    assert json.loads(spec.with_suffix(".lock").read_text())["stamp"] == stamp
    assert not any(OTHER in path for path in Hub.log)


def test_a_pattern_fetches_every_file_that_fits(small: Path, hub: str) -> None:
    rows = questions(8)
    fields = '{ query = "question", options = ["names"], gold = "key" }'
    Hub.files = {
        f"data/{name}.jsonl": "".join(
            json.dumps(
                {"question": f"{name}: {row['question']}", "names": list(row["mc1_targets"]), "key": 0}
            )
            + "\n"
            for row in rows
        ).encode()
        for name in ("one", "two")
    } | {"data/readme.md": b"no items"}
    spec = hosted(small, f"hf:{REPOSITORY}@{COMMIT}/data/*.jsonl")
    text = spec.read_text().replace(
        '"truthfulqa_mc1"', f'"rows"\nloading = {{ gold = "index", fields = {fields} }}'
    )
    spec.write_text(text)
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    assert list(locked(spec)["facts"]["files"]) == ["data/one.jsonl", "data/two.jsonl"]  # type: ignore[call-overload]
    assert not any("readme" in path for path in Hub.log if "resolve" in path)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (f"hf:{REPOSITORY}@{COMMIT}/data/other.json", "cannot be downloaded"),
        ("hf:makers/nothing/data/facts.json", "cannot be downloaded"),
    ],
)
def test_what_the_hub_does_not_have_leaves_the_study_without_items(
    small: Path, hub: str, source: str, words: str
) -> None:
    spec = hosted(small, source)
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    assert words in str(locked(spec)["facts"]["unpinned"])
    assert "Traceback" not in output
    code, output = gridc(spec, hub, "run")
    assert code == 3
    assert "GC309" in output
    assert "where there is a network" in output


def test_only_stamp_and_run_use_the_network(small: Path, hub: str) -> None:
    spec = hosted(small, f"hf:{REPOSITORY}@{COMMIT}/data/facts.json")
    for command in ("validate", "plan"):
        code, output = gridc(spec, hub, command)
        assert code == 0, output
    assert Hub.log == []
    assert "cannot be downloaded" in output


def test_without_a_network_or_a_cache_a_branch_is_unknown(small: Path) -> None:
    spec = hosted(small, f"hf:{REPOSITORY}@main/data/facts.json")
    code, output = gridc(spec, "http://127.0.0.1:9", "plan")
    assert code == 0, output
    assert "no commit of `main`" in output


@pytest.mark.parametrize("source", ["hf:tools", "hf:makers/tools", "hf:makers/tools@main", "hf:/x/y"])
def test_a_source_that_names_no_file_is_refused(small: Path, source: str) -> None:
    code, output = gridc(hosted(small, source), "http://127.0.0.1:9", "validate")
    assert code == 3
    assert "GC104" in output


def test_a_name_that_leaves_its_repository_is_refused(small: Path) -> None:
    spec = hosted(small, f"hf:{REPOSITORY}@{COMMIT}/../../etc/passwd")
    code, output = gridc(spec, "http://127.0.0.1:9", "plan")
    assert code == 3
    assert "GC308" in output


def cached(small: Path, files: dict[str, bytes], branch: str | None = "main") -> None:
    """The hub's cache as its client leaves it behind: a snapshot, and the commit of the branch."""
    repository = small.parent / "hub" / f"datasets--{REPOSITORY.replace('/', '--')}"
    for name, data in files.items():
        path = repository / "snapshots" / COMMIT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if branch is not None:
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs" / branch).write_text(COMMIT)


NOWHERE = "http://127.0.0.1:9"
CARD = """---
configs:
- config_name: easy
  data_files:
  - split: test
    path: easy/test-*
- config_name: hard
  data_files:
  - split: train
    path: hard/train.json
  - split: test
    path: [hard/test.json]
---
Facts.
"""


def test_a_branch_is_the_commit_of_the_cache_where_there_is_no_network(small: Path) -> None:
    cached(small, {"data/facts.json": json.dumps(questions(8)).encode()})
    spec = hosted(small, f"hf:{REPOSITORY}@main/data/facts.json")
    code, output = gridc(spec, NOWHERE, "plan", "--json")
    assert code == 0 and json.loads(output)["envelopes"][0]["items"] == 4, output
    said = " ".join(gridc(spec, NOWHERE, "plan")[1].split())
    assert f"`main` of {REPOSITORY} is {COMMIT[:12]}, as the hub's cache here has it" in said
    code, output = gridc(spec, NOWHERE, "stamp")
    assert code == 0, output
    assert locked(spec)["facts"]["hub"]["revision"] == COMMIT  # type: ignore[index]


def test_what_the_hub_says_of_a_branch_comes_before_the_cache(small: Path, hub: str) -> None:
    cached(small, {"data/facts.json": json.dumps(questions(8)).encode()})
    Hub.head, Hub.files = OTHER, {"data/facts.json": json.dumps(questions(9)).encode()}
    spec = hosted(small, f"hf:{REPOSITORY}@main/data/facts.json")
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    assert locked(spec)["facts"]["hub"]["revision"] == OTHER  # type: ignore[index]


@pytest.mark.parametrize(
    ("table", "name", "rows"),
    [
        ("config=easy&split=test", "easy/test-00000-of-00001.json", 8),
        ("config=hard&split=test", "hard/test.json", 9),
    ],
)
def test_a_config_and_a_split_are_the_files_that_the_card_names(
    small: Path, hub: str, table: str, name: str, rows: int
) -> None:
    Hub.files = {
        "README.md": CARD.encode(),
        "easy/test-00000-of-00001.json": json.dumps(questions(8)).encode(),
        "hard/test.json": json.dumps(questions(9)).encode(),
        "hard/train.json": json.dumps(questions(7)).encode(),
    }
    spec = hosted(small, f"hf:{REPOSITORY}?{table}")
    code, output = gridc(spec, hub, "stamp")
    assert code == 0, output
    assert locked(spec)["facts"]["files"] == {name: digest_bytes(Hub.files[name])}
    assert not any("train" in path for path in Hub.log if "resolve" in path)
    code, output = gridc(spec, NOWHERE, "plan")
    assert code == 0 and "no commit" not in output, output


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("split=test", "?config=NAME&split=test, where NAME is one of easy, hard"),
        ("config=hrad&split=test", "did you mean `hard`?"),
        ("config=hard&split=tests", "did you mean `test`?"),
        ("config=hard", "names no split"),
    ],
)
def test_a_config_or_split_that_there_is_not_is_answered_with_those_there_are(
    small: Path, table: str, words: str
) -> None:
    cached(small, {"README.md": CARD.encode(), "hard/test.json": json.dumps(questions(9)).encode()})
    spec = hosted(small, f"hf:{REPOSITORY}?{table}")
    code, output = gridc(spec, NOWHERE, "run")
    assert code == 3 and words in " ".join(output.split()), output


def test_without_a_card_a_split_is_found_by_the_names_that_the_hub_gives(small: Path) -> None:
    cached(
        small, {"data/test-00000-of-00001.json": json.dumps(questions(8)).encode(), "data/train.json": b"[]"}
    )
    spec = hosted(small, f"hf:{REPOSITORY}@main?split=test")
    code, output = gridc(spec, NOWHERE, "plan", "--json")
    assert code == 0 and json.loads(output)["envelopes"][0]["items"] == 4, output


@pytest.mark.parametrize("source", ["/data/*.json", "?split=test"])
def test_a_table_of_which_a_part_is_missing_is_not_read(small: Path, source: str) -> None:
    cached(small, {"data/test-00000-of-00002.json": json.dumps(questions(8)).encode()})
    spec = hosted(small, f"hf:{REPOSITORY}@main{source}")
    code, output = gridc(spec, NOWHERE, "run")
    assert code == 3 and "1 of the 2 parts" in " ".join(output.split()), output
