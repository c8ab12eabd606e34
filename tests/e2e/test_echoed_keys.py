"""A study whose server repeats the key everywhere: not a byte that it leaves shows the key in any form."""

import json
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.e2e.conftest import command
from tests.e2e.test_api import make_api_study, tables
from tests.echoes import Echo, traces_in
from tools.servers.http import Server

KEY = "sk-Canary+4711/never~write=THIS:0815"

COMMANDS = (
    "run", "report", "verify", "deviations", "status", "export bundle", "export calls", "export samples",
    "export cells", "export every-eval-ever",
)  # fmt: skip


def bytes_of(path: Path) -> bytes:
    """What a file says, without the compression that would hide it."""
    if path.suffix == ".parquet":
        return repr(pq.read_table(path).to_pylist()).encode()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return b"\n".join(archive.read(name) for name in archive.namelist())
    return path.read_bytes()


def test_not_a_byte_of_a_study_shows_a_key_that_its_server_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two models is asked without a key, and the server tells it that of the other."""
    monkeypatch.setenv("TWO_KEY", KEY)
    echo, printed = Echo(KEY, misleads=150), ""
    with Server(echo) as server:
        make_api_study(tmp_path, server.url, items=4)
        for line in COMMANDS:
            done = command(*line.split(), cwd=tmp_path)
            printed += done.stdout + done.stderr
            assert done.returncode == 0, (line, done.stderr)
    assert set(echo.went) == {*echo.wrongs, "answer"}
    found = {"the terminal": traces_in(printed.encode(), KEY)}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(tmp_path))] = traces_in(bytes_of(path), KEY)
    assert {name: forms for name, forms in found.items() if forms} == {}
    observed = json.loads(command("deviations", "--json", cwd=tmp_path).stdout)["observed"]
    assert any("were answered as `" in each and "[key]" in each for each in observed)
    assert tables(tmp_path, "SELECT count(*) FROM call WHERE answer LIKE '%[key]%'")[0][0] > 10
