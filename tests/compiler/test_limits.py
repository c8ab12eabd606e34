"""A spec from a stranger cannot keep a machine busy, and what is not a file is not read."""

import os
import time
from pathlib import Path

import pytest

from gridc.compiler.frontend.read import read_spec
from gridc.compiler.frontend.source import MAX_KEY_PARTS, parse_source, read_source
from gridc.compiler.lock.lock import read_lock
from gridc.diagnostics.errors import GridcError, SpecError, StampError, UsageError

HEAD = """\
gridcard = 1
study = { id = "wide", title = "Wide", purpose = "descriptive" }
model = [{ id = "m", engine = "hf", source = "builtin:pocket-llama" }]
[harness]
prompt = "{{ question }}"
method = "extract"
[[benchmark]]
id = "b"
loader = "bbq"
source = "builtin:pocket_bbq.jsonl"
direction = "higher_is_better"
"""
EFFECTS = ("max_tokens = {}", "temperature = 0.{}1", "top_p = 0.{}1", "replicates = {}", "shots = {}")


def grid(levels: int) -> str:
    """Five axes of so many levels."""
    lines = [HEAD]
    for axis, effect in enumerate(EFFECTS):
        lines.append(f'[[axis]]\nid = "a{axis}"')
        for level in range(1, levels + 1):
            made = f'id = "l{level}"\ntier = "core"\nprovenance = "made"'
            lines.append(f"[[axis.level]]\n{made}\n{effect.format(level)}")
    return "\n".join(lines)


def codes(path: Path) -> list[str]:
    with pytest.raises(GridcError) as caught:
        read_spec(path)
    return [finding.code for finding in caught.value.diagnostics]


def test_a_grid_that_nobody_could_walk_is_refused_at_once(tmp_path: Path) -> None:
    spec = tmp_path / "gridcard.toml"
    spec.write_text(grid(levels=9))
    start = time.process_time()
    assert codes(spec) == ["GC318"]
    assert time.process_time() - start < 5


def test_who_runs_gridc_may_allow_more_and_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tmp_path / "gridcard.toml"
    spec.write_text(grid(levels=1))
    monkeypatch.setenv("GRIDC_MAX_CELLS", "0")
    assert codes(spec) == ["GC318"]
    monkeypatch.setenv("GRIDC_MAX_CELLS", "many")
    with pytest.raises(UsageError):
        read_spec(spec)


EACH = """
[[hypothesis]]
id = "H{0}"
family = "f"
kind = "difference"
axis = "{1}"
level = "l1"
reference = "l2"
each = ["model", "benchmark"]
"""
FAMILY = '[[family]]\nid = "f"\ncorrection = "holm"\nalpha = 0.05\n'


def test_hypotheses_that_nobody_could_walk_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "gridcard.toml"
    text = grid(levels=2)
    axis = "a0"
    spec.write_text(f"{text}\n{FAMILY}" + "".join(EACH.format(number, axis) for number in range(2_000)))
    start = time.process_time()
    monkeypatch.setenv("GRIDC_MAX_CELLS", "1999")
    with pytest.raises(GridcError, match=r"GC318 `each` makes 2,000 hypotheses; 1,999 is the most"):
        read_spec(spec)
    monkeypatch.setenv("GRIDC_MAX_CELLS", "2000")
    with pytest.raises(GridcError, match=r"GC318 2,\d+ hypotheses, slices and other selectors are put to"):
        read_spec(spec)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("wrapped", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}"])
def test_a_key_of_many_parts_is_refused_before_it_costs_memory(wrapped: str) -> None:
    start = time.process_time()
    with pytest.raises(SpecError, match="GC001 a key of more than"):
        parse_source(wrapped.format("a." * 100_000 + "b"), Path("gridcard.toml"))
    assert time.process_time() - start < 5


def test_what_looks_like_a_long_key_inside_a_text_is_a_text() -> None:
    text = "a." * 200 + "b"
    assert parse_source(f'x = "{text}"\ny = """\n{text}\n"""', Path("gridcard.toml")).values["x"] == text
    fitting = ".".join(["a"] * MAX_KEY_PARTS)
    assert parse_source(f"{fitting} = 1", Path("gridcard.toml")).values


def test_a_fifo_is_neither_a_spec_nor_a_lock(tmp_path: Path) -> None:
    for name in ("gridcard.toml", "gridcard.lock"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(SpecError, match="GC002"):
        read_source(tmp_path / "gridcard.toml")
    with pytest.raises(StampError, match="GC403"):
        read_lock(tmp_path / "gridcard.lock")
