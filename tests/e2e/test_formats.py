"""`gridc validate`: several specs, folders, standard input; answers as text, JSON and SARIF."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main

ROOT = Path(__file__).parents[2]
GOOD = (ROOT / "gridcard.toml").read_text("utf-8")
BAD = GOOD.replace('tier = "stress"', 'tier = "strss"', 1)


def gridc(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=given)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gridcard.toml").write_text(GOOD, "utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "gridcard.toml").write_text(BAD, "utf-8")
    return tmp_path


def test_every_spec_is_checked_and_the_worst_decides() -> None:
    done = gridc("validate", "gridcard.toml", "deep/gridcard.toml", "nowhere.toml")
    assert done.exit_code == 3
    assert done.stdout.startswith("gridcard.toml: valid")
    assert "deep/gridcard.toml" not in done.stdout
    assert "--> deep/gridcard.toml:" in done.stderr
    assert "error[GC002]" in done.stderr


def test_json_lists_every_spec_and_every_finding() -> None:
    for flags in (("--json",), ("--format", "json")):
        done = gridc("validate", *flags, "gridcard.toml", "deep")
        assert done.exit_code == 3
        told = json.loads(done.stdout)
        assert told["valid"] is False
        assert [(each["spec"], each["valid"]) for each in told["specs"]] == [
            ("gridcard.toml", True),
            ("deep/gridcard.toml", False),
        ]
        (found,) = told["diagnostics"]
        assert (found["code"], found["line"]) == ("GC104", 'tier = "strss"')
    assert json.loads(gridc("validate", "--json").stdout)["valid"] is True


def test_sarif_names_files_from_the_root_of_the_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder / "deep")
    done = gridc("validate", "--format", "sarif")
    assert done.exit_code == 3
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "deep/gridcard.toml"
    assert place["region"]["snippet"]["text"] == '"strss"'


def test_standard_input_is_a_spec_in_this_folder() -> None:
    assert gridc("validate", "-", given=GOOD).exit_code == 0
    done = gridc("validate", "-", given=BAD)
    assert done.exit_code == 3
    assert "--> <stdin>:" in done.stderr
    assert '| tier = "strss"' in done.stderr


def test_a_command_that_writes_beside_the_spec_takes_none_from_standard_input() -> None:
    done = gridc("stamp", "-", given=GOOD)
    assert done.exit_code == 2
    assert not Path("-.lock").exists()


def test_a_missing_spec_is_answered_with_the_nearest_one() -> None:
    assert "did you mean `gridcard.toml`?" in gridc("validate", "gridcards.toml").stderr
    Path("empty").mkdir()
    assert "`gridc init` writes a first spec" in gridc("validate", "empty").stderr


@pytest.mark.parametrize("data", [b"title = '\xff'\n", b"gridcard = 1\n# \xe4\n"])
def test_a_byte_that_is_not_utf8_is_shown_in_its_line(data: bytes) -> None:
    Path("gridcard.toml").write_bytes(data)
    done = gridc("validate")
    assert done.exit_code == 3
    assert "error[GC002]: this byte is not UTF-8" in done.stderr
    assert "\ufffd" in done.stderr


# ---- stamp --check


def test_a_lock_is_checked_and_nothing_is_written() -> None:
    missing = gridc("stamp", "--check")
    assert missing.exit_code == 4
    assert "`gridc stamp` creates one" in missing.stderr
    assert not Path("gridcard.lock").exists()
    assert gridc("stamp").exit_code == 0
    written = Path("gridcard.lock").read_bytes()
    current = gridc("stamp", "--check")
    assert (current.exit_code, "gridcard.lock: current" in current.stdout) == (0, True)

    Path("gridcard.toml").write_text(GOOD.replace("seed = 42", "seed = 43", 1), "utf-8")
    stale = gridc("stamp", "--check")
    assert stale.exit_code == 4
    assert "benchmark[pocket_bbq]" in stale.stderr
    assert Path("gridcard.lock").read_bytes() == written


def test_departures_that_are_explained_pass_the_check() -> None:
    assert gridc("stamp").exit_code == 0
    Path("gridcard.toml").write_text(GOOD.replace("Do three", "Do 3", 1), "utf-8")
    assert gridc("stamp", "--check").exit_code == 4
    gridc("deviations", "--write")
    log = Path("deviations.toml")
    log.write_text(log.read_text("utf-8").replace('reason = ""', 'reason = "shorter"'), "utf-8")
    done = gridc("stamp", "--check", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["current"], told["explained"]) == (False, ["study.title"])


def test_data_that_are_not_here_are_not_stale(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRIDC_DATA", raising=False)
    data = folder / "data"
    data.mkdir()
    shipped = ROOT / "gridc" / "builtin" / "benchmarks" / "pocket_bbq.jsonl"
    (data / "items.jsonl").write_bytes(shipped.read_bytes())
    Path("gridcard.toml").write_text(GOOD.replace("builtin:pocket_bbq.jsonl", "data:items.jsonl"), "utf-8")
    assert gridc("stamp", "--data", "data").exit_code == 0
    done = gridc("stamp", "--check")
    assert done.exit_code == 0, done.stderr
    assert "not checked: pocket_bbq" in done.stdout
    (data / "items.jsonl").write_bytes(shipped.read_bytes().replace(b"Who", b"Whom"))
    assert gridc("stamp", "--check", "--data", "data").exit_code == 4


def test_the_runner_feeds_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is read as bytes, whatever the locale thinks it is."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"title = '\xff'"), "latin-1"))
    from gridc.compiler.frontend.source import STDIN, read_source
    from gridc.diagnostics.errors import SpecError

    with pytest.raises(SpecError, match="GC002"):
        read_source(STDIN)
