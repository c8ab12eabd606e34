"""Files are written whole or not at all, where they should be, and a stranger's file is read only if it is
one."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gridc.files import STALE, read_regular, write_atomic, write_new


def test_a_crashed_writers_drafts_are_removed_and_a_running_ones_are_not(tmp_path: Path) -> None:
    left, running = tmp_path / ".lock.aa.draft", tmp_path / ".lock.bb.draft"
    for path in (left, running):
        path.write_text("half")
    long_ago = time.time() - 2 * STALE
    os.utime(left, (long_ago, long_ago))
    write_atomic(tmp_path / "lock", "whole")
    assert {each.name for each in tmp_path.iterdir()} == {"lock", running.name}


def test_what_cannot_be_written_leaves_the_old_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    write_atomic(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (write_atomic, write_new):
        with pytest.raises(OSError, match="No space"):
            write(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["lock"]


def test_a_new_file_is_written_once_even_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    for name in ("linked", "copied"):
        write_new(tmp_path / name, "first")
        with pytest.raises(FileExistsError):
            write_new(tmp_path / name, "second")
        assert (tmp_path / name).read_text() == "first"
        monkeypatch.setattr(os, "link", none)
    assert {each.name for each in tmp_path.iterdir()} == {"linked", "copied"}


def test_of_processes_that_write_at_once_one_wins_and_its_file_is_whole(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from gridc.files import write_new\n"
        "try: write_new(pathlib.Path('lock'), sys.argv[1] * 100_000); print('wrote')\n"
        "except FileExistsError: print('late')"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, letter], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        for letter in "abcde"
    ]
    said = [writer.communicate()[0].strip() for writer in writers]
    assert sorted(said) == ["late"] * 4 + ["wrote"]
    assert (tmp_path / "lock").read_text() == "abcde"[said.index("wrote")] * 100_000


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1234")
    assert read_regular(tmp_path / "file", 4) == b"1234"
    with pytest.raises(ValueError, match="more than 3 bytes"):
        read_regular(tmp_path / "file", 3)
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError):
            read_regular(path, 4)
