"""Every part of gridc's own instrument has a version, and none does something else under the same one.

What each part does is committed: the digest of its trace in `tests/golden/stamps/instrument.json`, what it
reads in each response of the corpus in `readings.jsonl` beside it. Whoever changes what a part does raises
its version (`VERSIONS` beside the code), writes a line into CHANGELOG.md that names part and version, runs
this with `--update-golden`, and makes the repository's locks again.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from gridc.compiler.instrument import readers, render, scaffolds
from gridc.compiler.instrument.methods import METHODS
from gridc.compiler.instrument.versions import PARTS
from gridc.schema import effects
from gridc.schema.effects import TAKES, Tool
from tests.instrument.corpus import Readings, readings
from tests.instrument.traced import TRACES, trace

ROOT = Path(__file__).parents[2]
STAMPS = ROOT / "tests" / "golden" / "stamps"
VERSIONS, READINGS = STAMPS / "instrument.json", STAMPS / "readings.jsonl"
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_every_part_that_decides_prompts_or_scores_has_a_version() -> None:
    values = {
        "scaffold": scaffolds.PROCEDURES,
        "tool": [*get_args(Tool), "scripted"],
        "reader": readers.READERS,
        "method": [name for name, method in METHODS.items() if not (method.reads_answer or method.recorded)],
        "answer": get_args(effects.AnswerFormName),
        "match": get_args(effects.MatchKind),
        "candidates": get_args(effects.Candidates),
        "normalise": get_args(effects.Normalise),
        "ties": get_args(effects.Ties),
        "options": get_args(render.OptionStyle),
        "casing": {"upper", "lower", "title"},
        "enumerator": {"A", "a", "1", "I", "i", "bullet"},
        "prompt": {"wrapper", "parts", "messages", "functions"},
        "scores": {"stated"},
        "sanitiser": {"classes"},
        "judge": {"reply", "scale", "counts", "compares", "turns"},
    }
    assert set(PARTS) == {f"{kind}:{name}" for kind, names in values.items() for name in names}
    assert set(PARTS) == {*TRACES, *(f"reader:{name}" for name in readers.READERS)}
    assert set(get_args(effects.Casing)) == {*values["casing"], "as_written"}
    assert set(scaffolds.PROCEDURES) == set(TAKES)


def held_readings() -> dict[str, Readings]:
    rows = map(json.loads, READINGS.read_text("utf-8").splitlines() if READINGS.is_file() else ())
    return {json.dumps(row["asked"], ensure_ascii=False): row["read"] for row in rows}


def moved(
    held: Mapping[str, dict[str, object]], traces: Mapping[str, str | None], read: Mapping[str, Readings]
) -> dict[str, str]:
    """The parts that do something else than is committed, each with a response that it reads otherwise."""
    found = {part: "" for part, row in held.items() if part in traces and row["trace"] != traces[part]}
    for asked, before in held_readings().items():
        now = read.get(asked, {})
        found |= {
            part: f", e.g. {asked[-200:]}: {before[part]} -> {now[part]}"
            for part in before.keys() & now.keys()
            if before[part] != now[part]
        }
    return found


def test_what_a_part_does_moves_only_with_its_version(request: pytest.FixtureRequest) -> None:
    held = json.loads(VERSIONS.read_text("utf-8")) if VERSIONS.is_file() else {}
    traces, read = {part: trace(part) for part in sorted(PARTS)}, readings()
    silent = [
        f"`{part}` does something else as version {PARTS[part]}{example}"
        for part, example in moved(held, traces, read).items()
        if held[part]["version"] == PARTS[part]
    ]
    assert not silent, "\n".join([*silent, "raise their versions, with a line in CHANGELOG.md for each"])
    committed = {part: {"version": PARTS[part], "trace": traces[part]} for part in sorted(PARTS)}
    lines = [
        json.dumps({"asked": json.loads(asked), "read": each}, ensure_ascii=False)
        for asked, each in read.items()
    ]
    if request.config.getoption("--update-golden"):
        VERSIONS.write_text(json.dumps(committed, indent=1) + "\n", "utf-8")
        READINGS.write_text("\n".join(lines) + "\n", "utf-8")
    assert held_readings() == json.loads(json.dumps(read)), "pytest --update-golden rewrites it"
    assert json.loads(VERSIONS.read_text("utf-8")) == committed, "pytest --update-golden rewrites it"


def test_the_corpus_has_at_least_500_responses_and_all_kinds() -> None:
    held = [json.loads(asked) for asked in held_readings()]
    assert len({row["response"] for row in held}) >= 500
    for key in ("options", "match"):
        assert sum(key in row for row in held) >= 100
    assert sum(len(row) == 1 for row in held) >= 50, "responses that comply or refuse"


def test_a_version_that_was_raised_is_in_the_changelog() -> None:
    raised = [f"`{part}` {version}" for part, version in PARTS.items() if version > 1]
    assert [name for name in raised if name not in CHANGELOG] == [], (
        "say what each reads, asks or scores otherwise"
    )
