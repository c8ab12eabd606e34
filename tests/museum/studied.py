"""Small studies that several exhibits are reached from: items with three options, what models say of them,
and tables of scores."""

import json
from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lowering.calls import PlannedSample
from gridc.reports.findings.components import FACTORIAL
from tests import studies
from tests.studies import Finished, Messages

FACTS = studies.benchmark(
    "facts",
    'id = "id", query = "q", options = ["a", "b", "c"], gold = "gold", family = "family"',
    'option_order = "file"',
)
EXTRACT = '[harness]\nprompt = "{{ question }}\\n{{ options }}\\nAnswer with a letter:"\nmethod = "extract"\n'
CHOICES = FACTS + EXTRACT


def facts(count: int, families: int = 0) -> list[dict[str, Any]]:
    """Items whose right option is the first, the second, the third in turn, each its own family or one of
    some in turn."""
    return [
        {
            "id": f"q{n}",
            "q": f"Question {n}?",
            "a": f"plane {n}",
            "b": f"chisel {n}",
            "c": f"mallet {n}",
            "gold": n % 3,
            "family": f"f{n % (families or count)}",
        }
        for n in range(count)
    ]


def asked_number(messages: Messages) -> int:
    """Which question a conversation ends with; 0 where it has none."""
    behind = messages[-1]["content"].rpartition("Question ")[2]
    return int("".join(takewhile(str.isdigit, behind)) or 0)


def letter(number: int, right: bool) -> str:
    return "ABC"[(number + (not right)) % 3]


def first_right(
    room: Any,
    items: int,
    counts: Mapping[str, int],
    keys: str,
    families: int = 0,
    **models: Mapping[str, int],
) -> Finished:
    """A study under frames of a model that has so many of the items right under each, the first of them; or
    of several models, of which each may have other counts."""
    frames = {
        name: f'prompt = "{name}: {{{{ question }}}}\\n{{{{ options }}}}\\nAnswer with a letter:"'
        for name in counts
    }

    def say(cell: Cell, sample: PlannedSample) -> str:
        number, frame = int(sample.item.id.removeprefix("q")), cell.levels["frame"]
        return letter(number, number < models.get(cell.model, counts).get(frame, counts[frame]))

    spec = f'harness = {{ method = "extract" }}\n{FACTS}{studies.axis("frame", frames)}{keys}'
    found: Finished = room.filled(spec, facts(items, families), say, *models)
    return found


def claim(
    kind: str, level: str | list[str], reference: str, *keys: str, estimator: str = "cluster_logit"
) -> str:
    """A hypothesis about frames, and the test that decides."""
    stated = [f'kind = "{kind}"', f"level = {json.dumps(level)}", f'reference = "{reference}"', *keys]
    tested = ["[analysis]", f'estimator = "{estimator}"', 'nnh = { rounding = "ceil" }']
    return "\n".join([*tested, "[[hypothesis]]", 'id = "H"', 'axis = "frame"', *stated, ""])


def verdict_of(done: Finished) -> Any:
    """What is found of the only hypothesis."""
    (found,) = done.study.findings().findings.hypotheses
    return found


def contrasts_of(done: Finished) -> Any:
    """What is found of its levels."""
    return verdict_of(done).effect.contrasts


def shares_of(done: Finished) -> Any:
    """The shares of variance."""
    return done.study.findings().findings[FACTORIAL]


def table(path: Path, columns: str, rows: Iterable[Iterable[object]]) -> Path:
    """A table of scores."""
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows), ""]), "utf-8")
    return path
