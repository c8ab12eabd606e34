"""`gridc diff` of specs and locks: path by path, and silent where nothing differs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main
from gridc.compiler.compile import Compiled
from gridc.compiler.lock.deviations import ABSENT, path_differences, read_document
from gridc.compiler.lock.lock import make_lock, write_lock

Compile = Callable[..., Compiled]


def gridc(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def other(small: Path) -> Path:
    """The small spec with a change in and one outside what a stamp covers."""
    path = small.with_name("other.toml")
    text = small.read_text("utf-8").replace("temperature = 0.7", "temperature = 0.3")
    path.write_text(f"{text}\n[engine]\nthreads = 2\n", "utf-8")
    return path


def test_two_specs_differ_by_path(small: Path, other: Path) -> None:
    found = path_differences(read_document(small), read_document(other))
    assert [(each.path, each.a, each.b, each.stamped) for each in found] == [
        ("axis[decoding].level[warm].temperature", 0.7, 0.3, True),
        ("engine.threads", ABSENT, 2, False),
    ]
    assert found[1].as_json() == {"path": "engine.threads", "b": 2, "stamped": False}


def test_formatting_is_no_difference(small: Path) -> None:
    again = small.with_name("again.toml")
    again.write_text("# other\n" + small.read_text("utf-8").replace(" = ", "="), "utf-8")
    assert path_differences(read_document(small), read_document(again)) == []


def test_a_spec_and_its_lock_do_not_differ_and_another_one_does(
    compiled: Compile, small: Path, other: Path
) -> None:
    lock = small.with_suffix(".lock")
    write_lock(make_lock(compiled().study, small), lock)
    assert path_differences(read_document(small), read_document(lock)) == []
    paths = [each.path for each in path_differences(read_document(lock), read_document(other))]
    assert paths == ["axis[decoding].level[warm].temperature"]


def test_two_locks_differ_in_their_inputs_too(compiled: Compile, small: Path) -> None:
    write_lock(make_lock(compiled().study, small), small.with_name("a.lock"))
    (small.parent / "models" / "left" / "config.json").write_text("{}")
    write_lock(make_lock(compiled().study, small), small.with_name("b.lock"))
    found = path_differences(*(read_document(small.with_name(name)) for name in ("a.lock", "b.lock")))
    assert [each.path for each in found] == ["inputs.models.left.files.config.json"]


def test_the_command_exits_like_diff(small: Path, other: Path) -> None:
    same = gridc("diff", str(small), str(small))
    assert (same.exit_code, same.stdout) == (0, "")
    differs = gridc("diff", str(small), str(other))
    assert differs.exit_code == 1
    assert differs.stdout.splitlines() == [
        "axis[decoding].level[warm].temperature: 0.7 -> 0.3",
        "engine.threads: absent -> 2   (outside the stamp)",
    ]
    told = json.loads(gridc("diff", "--json", str(small), str(other)).stdout)
    assert told["equal"] is False
    assert [each["path"] for each in told["differences"]] == [
        "axis[decoding].level[warm].temperature",
        "engine.threads",
    ]


def test_a_folder_stands_for_the_spec_in_it(small: Path) -> None:
    assert gridc("diff", str(small.parent), str(small)).exit_code == 0


def test_what_cannot_be_read_is_told(small: Path) -> None:
    small.with_name("bad.toml").write_text("gridcard = 2", "utf-8")
    assert gridc("diff", str(small), str(small.with_name("bad.toml"))).exit_code == 3
    assert gridc("diff", str(small), str(small.with_name("none.lock"))).exit_code == 4
    assert gridc("diff", str(small), str(small.with_name("none.toml"))).exit_code == 3
