"""Small studies that several exhibits are reached from: items with three options, what models say of them,
and tables of scores."""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from gridc.compiler.grid.cells import Cell
from gridc.compiler.lowering.calls import PlannedSample
from gridc.reports.findings.hypotheses.finding import HypothesisFinding
from gridc.study import OpenStudy
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


def first_right(room: Any, items: int, counts: Mapping[str, int], keys: str, families: int = 0) -> Finished:
    """A study of one model under frames, each with so many of the items right, the first of them."""
    frames = {
        name: f'prompt = "{name}: {{{{ question }}}}\\n{{{{ options }}}}\\nAnswer with a letter:"'
        for name in counts
    }

    def say(cell: Cell, sample: PlannedSample) -> str:
        number = int(sample.item.id.removeprefix("q"))
        return letter(number, number < counts[cell.levels["frame"]])

    spec = f'harness = {{ method = "extract" }}\n{FACTS}{studies.axis("frame", frames)}{keys}'
    found: Finished = room.filled(spec, facts(items, families), say)
    return found


def claim(kind: str, level: str, reference: str, *keys: str, estimator: str = "cluster_logit") -> str:
    """A hypothesis about two frames, and the test that decides."""
    stated = [f'kind = "{kind}"', f'level = "{level}"', f'reference = "{reference}"', *keys]
    return "\n".join(
        [
            "[analysis]",
            f'estimator = "{estimator}"',
            "[[hypothesis]]",
            'id = "H"',
            'axis = "frame"',
            *stated,
            "",
        ]
    )


def verdict_of(study: OpenStudy) -> HypothesisFinding:
    """What is found of the only hypothesis."""
    (found,) = study.findings().findings.hypotheses
    return found


def table(path: Path, columns: str, rows: Iterable[Iterable[object]]) -> Path:
    """A table of scores."""
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows), ""]), "utf-8")
    return path
