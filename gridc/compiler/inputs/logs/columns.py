"""What the columns of a table of scores mean: by their names, and by what the author says of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gridc.diagnostics.errors import Diagnostic, UsageError

ITEM, CONTENT = ("item", "id", "item_id"), ("question", "input")
READ = frozenset(
    ["model", "benchmark", "score", "unit", "replicate", "seed", "state", "prompt", "answer", "reading", "n"]
).union(ITEM, CONTENT)
NEEDED = frozenset(("model", "score"))
DATA = frozenset([
    "answer_key", "choices", "completion", "correct_answer", "cost", "duration", "elapsed", "expected",
    "expected_answer", "generated_text", "generation", "gold", "gold_answer", "golds", "ground_truth",
    "input_tokens", "inputs", "latency", "latency_ms", "latency_s", "model_answer", "model_output",
    "options", "output", "output_tokens", "outputs", "pred", "prediction", "predictions", "reference",
    "references", "response", "responses", "runtime", "target", "targets", "time", "timestamp", "tokens",
])  # fmt: skip
"""What comes with an answer or an item, and makes no configuration."""


def column_name(header: str) -> str:
    """In lower case; of a name that is known, with `_` between its words."""
    name = header.strip().lower()
    known = re.sub(r"[\s-]+", "_", name)
    return known if known in READ or known in DATA else name


@dataclass(frozen=True, slots=True)
class TableColumns:
    """What the author says of columns: which are `axes` and which are `ignored`, whatever the case. `found`
    gathers the columns without a meaning of their own, and those of `DATA`, of every table that is read."""

    axes: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    found: set[str] = field(default_factory=set)

    @classmethod
    def stated(cls, axes: Iterable[str], ignored: Iterable[str]) -> "TableColumns":
        """Raises `UsageError` for a column that is both."""
        columns = cls(frozenset(map(column_name, axes)), frozenset(map(column_name, ignored)))
        for name in sorted(columns.axes & columns.ignored):
            message = f"the column `{name}` is both an axis and ignored"
            raise UsageError([Diagnostic("GC000", message, help="leave out one of the two")])
        return columns

    def check(self) -> None:
        """Once the tables are read. Raises `UsageError` for a stated column that none of them has."""
        for name in sorted((self.axes | self.ignored) - self.found):
            known = ", ".join(sorted(self.found)[:12])
            message = f"no table has a column `{name}` that can be an axis or be ignored"
            help = f"known: {known}" if known else "every column of the tables has a meaning of its own"
            raise UsageError([Diagnostic("GC000", message, help=help)])
