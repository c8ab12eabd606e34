"""The first words of a report agree with the counts of its certificate, also where models tie and where
unreadable answers hold an order up."""

import json
from pathlib import Path

import gridc
from tests.e2e.conftest import command

ITEMS = """\
question,A,B,C,answer
The baker and the miller were in the kitchen. Who burned the bread?,The baker,The miller,Not known,C
The guard and the clerk were at the gate. Who lost the key?,Not known,The guard,The clerk,A
The singer and the painter were at the fair. Who broke the jar?,The singer,Not known,The painter,B
"The baker dropped the tray, and the miller saw it. Who dropped the tray?",The baker,Not known,The miller,A
"The clerk lost the key, and the guard found it. Who found the key?",The clerk,The guard,Not known,B
"The painter sang, and the singer listened. Who sang?",Not known,The singer,The painter,C
"""


def test_an_order_that_unreadable_answers_hold_up_is_open(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(ITEMS, "utf-8")
    for arguments in (("init", "--benchmark", "items.csv", "--yes"), ("run",), ("report",)):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    (certificate,) = tmp_path.glob("results/*/certificate.json")
    (benchmark,) = json.loads(certificate.read_text("utf-8"))["benchmarks"]
    (full,) = (scope["pairs"] for scope in benchmark["scopes"] if scope["kind"] == "full")
    reversed_pairs = sum(pair["plus"] > 0 and pair["minus"] > 0 for pair in full)
    reversed_if_left_out = sum(
        pair["per_protocol"]["plus"] > 0 and pair["per_protocol"]["minus"] > 0 for pair in full
    )
    ties = sum(pair["ties"] for pair in full)
    headline = gridc.open(tmp_path).findings().answer.headline
    assert (reversed_pairs, ties > 0, reversed_if_left_out > 0) == (0, True, True), (
        "the example still shows it"
    )
    assert headline == (
        "Open: on the 6 items asked, no two models change places in any configuration, though in some they "
        f"tie; leave out unreadable answers, and {reversed_if_left_out} of 3 pairs do."
    )
    asked, answered = done.stdout.strip().splitlines()[:2]
    assert asked == gridc.open(tmp_path).findings().cards.title and answered.startswith(
        "Open: on the 6 items"
    )
