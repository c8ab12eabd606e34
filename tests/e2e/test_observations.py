"""The rows that an analysis reads of a real store, against plain SQL."""

import sqlite3
from collections import defaultdict
from pathlib import Path

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.item_counts import readings_of
from gridc.reports.findings.observations import NotMeanError, Samples
from gridc.runtime.store.store import Store
from gridc.schema.base import Selector

STORE = "results/small/store.sqlite"
SAMPLES = """SELECT key, item, score, choice FROM cell JOIN sample ON sample.cell = cell.id"""


@pytest.fixture(scope="module")
def samples(finished: Path) -> Samples:
    plan = Plan(compile_spec(finished / "gridcard.toml").study)
    with Store.open(finished / STORE) as store:
        read = {cell.key: list(readings_of(store, plan.study_digest, cell, None)) for cell in plan.cells()}
        return Samples(plan, store.outcomes(plan.study_digest), lambda cell, _: read[cell.key])


def rows_of(
    samples: Samples, outcome: str, items: dict[str, str] | None = None
) -> dict[tuple[str, str], list[int]]:
    seen = samples.of(outcome, samples.about(), Selector.model_validate(items or {}))
    columns = seen.counted, seen.earned, seen.read_counted, seen.read_earned
    assert seen.scale == 1
    return {
        (seen.cells[cell].key, seen.items[item][1]): [int(column[at]) for column in columns]
        for at, (cell, item) in enumerate(zip(seen.cell, seen.item, strict=True))
    }


def test_scores_and_readable_answers_are_those_of_the_store(samples: Samples, finished: Path) -> None:
    expected: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    read: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for key, item, score, choice in sqlite3.connect(finished / STORE).execute(SAMPLES):
        readable = choice is not None
        adds = 1, score, int(readable), score * readable
        expected[key, item] = [a + b for a, b in zip(expected[key, item], adds, strict=True)]
        if "free_form" in key:
            adds = 1, int(readable), int(readable), int(readable)
            read[key, item] = [a + b for a, b in zip(read[key, item], adds, strict=True)]
    assert any(row[2] < row[0] for row in expected.values()), "something is unreadable"
    assert rows_of(samples, "score") == expected
    assert rows_of(samples, "parse_rate") == read


def test_a_rate_counts_its_items_alone_and_tags_choose_among_them(samples: Samples, finished: Path) -> None:
    items = {item.id: item for item in samples.plan.study.items["bbq"].sampled}
    wanted = {name for name, item in items.items() if item.unknown == item.gold}
    got = rows_of(samples, "unknown_rate")
    assert {name for _, name in got} == wanted
    for key, item, _, choice in sqlite3.connect(finished / STORE).execute(SAMPLES):
        if item in wanted:
            got[key, item][1] -= choice is not None and choice == items[item].unknown
    assert all(row[1] == 0 for row in got.values())
    tags = {"condition": "disambig"}
    tagged = {name for name, item in items.items() if item.tags["condition"] == "disambig"}
    assert 0 < len(tagged) < len(items)
    assert {name for _, name in rows_of(samples, "score", tags)} == tagged
    assert rows_of(samples, "unknown_rate", tags) == {}


def test_some_of_the_rows_are_rows_of_their_own(samples: Samples) -> None:
    seen = samples.of("score", samples.about(Selector.model_validate({"scoring": "free_form"})))
    assert set(seen.codes("decoding", ["sampled"]).tolist()) == {0, -1}
    some = seen.where(seen.codes("decoding", ["sampled"]) == 0)
    assert {cell.levels["decoding"] for cell in some.cells} == {"sampled"}
    assert some.rows != seen.rows


def test_a_bias_score_has_no_rows(samples: Samples) -> None:
    with pytest.raises(NotMeanError):
        samples.of("bias_ambiguous", samples.about())
