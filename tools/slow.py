"""Which tests are slow, and the slow tests in parts: `.ci/run` runs another part each day.

`tests/seconds.json` holds how many seconds one case of a test takes, for each test that is marked `slow` or
takes half a second. The cases of one test may take `DAILY` seconds of `make test` together: of a longer
table as many as fit are quick, and the others are slow. The slow tests are laid end to end in the order in
which pytest finds them, and the line is cut into parts that take equally long: tests that share what their
module prepares mostly stay together, and a new test moves the cuts a little.
`pytest -m "slow or not slow" PATHS --update-seconds` writes what the tests of these paths take.
"""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

SECONDS = Path(__file__).resolve().parents[1] / "tests" / "seconds.json"
DAILY = 3.0
"""How many seconds of `make test` the cases of one test may take together."""
UNKNOWN = 15.0
"""How many seconds a slow case is taken to need that nobody has timed yet."""
KEPT = 0.5
"""A test is kept in the file if a case takes this many seconds, or if it is slow."""


def known() -> dict[str, float]:
    """What one case of a test takes, in seconds, by `path::function`."""
    return dict(json.loads(SECONDS.read_text("utf-8")))


def function(test: str) -> str:
    """The test of a case: its name without its parameters."""
    return test.partition("[")[0]


def too_long(tests: Sequence[str], seconds: Mapping[str, float]) -> list[bool]:
    """Of tests that no one has marked, which cases `make test` leaves to the slow ones.

    A file keeps its quickest test: a change that breaks all of it is seen the same day.
    """
    cases: defaultdict[str, list[int]] = defaultdict(list)
    for place, test in enumerate(tests):
        cases[function(test)].append(place)
    quick: set[int] = set()
    for name, places in cases.items():
        fit = int(DAILY / seconds.get(name, DAILY / len(places)) + 1e-9)
        if fit < len(places):
            # Spread over the table: cases beside each other are often alike.
            places = [place for at, place in enumerate(places) if at * fit % len(places) < fit]
        quick.update(places)
    files = {tests[place].partition("::")[0] for place in quick}
    for name in sorted(cases, key=lambda name: seconds.get(name, 0)):
        if (file := name.partition("::")[0]) not in files:
            files.add(file)
            quick.add(cases[name][0])
    return [place not in quick for place in range(len(tests))]


def parts(tests: Sequence[str], seconds: Mapping[str, float], count: int) -> list[int]:
    """In which part each case is, 1 to `count`: the piece of the line that holds its middle."""
    takes = [seconds.get(function(test), UNKNOWN) for test in tests]
    whole = math.fsum(takes)
    found, start = [], 0.0
    for took in takes:
        found.append(min(count, 1 + int(count * (start + took / 2) / whole)))
        start += took
    return found


def keep(took: Mapping[str, float], slow: Collection[str]) -> None:
    """Write what cases took, in seconds, over what is known of their tests; `slow` are the slow cases."""
    cases: defaultdict[str, list[float]] = defaultdict(list)
    for test, seconds in took.items():
        cases[function(test)].append(seconds)
    # More digits would change in every run.
    means = {test: max(0.1, round(math.fsum(each) / len(each), 1)) for test, each in cases.items()}
    short = {test for test, mean in means.items() if mean < KEPT} - {function(test) for test in slow}
    found = {test: mean for test, mean in (known() | means).items() if test not in short}
    SECONDS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
