"""The slow tests in parts that take about as long as each other: `.ci/run` runs another part each day.

`tests/slow_seconds.json` holds how many seconds one case of each slow test takes. The tests are laid end to
end in the order in which pytest finds them, and the line is cut into equal pieces: tests that share what
their module prepares mostly stay together, and a new test moves the cuts a little.
`pytest -m slow PATHS --update-seconds` writes what the tests of these paths take.
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = Path(__file__).resolve().parents[1] / "tests" / "slow_seconds.json"
UNKNOWN = 15.0
"""How many seconds a case is taken to need that nobody has timed yet."""


def known() -> dict[str, float]:
    """What one case of each slow test takes, in seconds, by `path::function`."""
    return dict(json.loads(SECONDS.read_text("utf-8")))


def function(test: str) -> str:
    """The test of a case: its name without its parameters."""
    return test.partition("[")[0]


def parts(tests: Sequence[str], seconds: Mapping[str, float], count: int) -> list[int]:
    """In which part each case is, 1 to `count`: the piece of the line that holds its middle."""
    takes = [seconds.get(function(test), UNKNOWN) for test in tests]
    whole = math.fsum(takes)
    found, start = [], 0.0
    for took in takes:
        found.append(min(count, 1 + int(count * (start + took / 2) / whole)))
        start += took
    return found


def keep(took: Mapping[str, float]) -> None:
    """Write what cases took, in seconds, over what is known of their tests."""
    cases: defaultdict[str, list[float]] = defaultdict(list)
    for test, seconds in took.items():
        cases[function(test)].append(seconds)
    # More digits would change in every run.
    means = {test: max(0.1, round(math.fsum(each) / len(each), 1)) for test, each in cases.items()}
    SECONDS.write_text(json.dumps(known() | means, indent=1, sort_keys=True) + "\n", "utf-8")
