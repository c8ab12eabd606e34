"""The read side of a store against plain loops over its rows, with one study and with two."""

import hashlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from benchmarks.synthetic import fill, make
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.reports.verification import looked_at
from gridc.runtime.store import checks
from gridc.runtime.store.store import Store
from gridc.schema.canonical import canonical

ITEMS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic study: every cell of the 612, two items a benchmark."""
    return make(tmp_path_factory.mktemp("synthetic"), ITEMS).parent


@pytest.fixture(scope="module")
def stamp(folder: Path) -> str:
    return Plan(compile_spec(folder / "gridcard.toml", None).study).study_digest


@pytest.fixture
def store(folder: Path) -> Store:
    return Store.open(folder / "results" / "synthetic" / "store.sqlite")


def test_the_grid_is_the_papers(folder: Path) -> None:
    plan = Plan(compile_spec(folder / "gridcard.toml", None).study)
    assert sum(1 for _ in plan.cells()) == 612
    assert sum(cell.setting.replicates for cell in plan.cells()) == 1764
    assert [plan.envelope(name).size for name in ("bbq", "crows_pairs")] == [48, 12]


def test_outcomes_are_the_counts_of_the_samples(store: Store, stamp: str, folder: Path) -> None:
    rows: dict[str, dict[str, list[tuple[int, int | None, int | None]]]] = {}
    with sqlite3.connect(folder / "results" / "synthetic" / "store.sqlite") as plain:
        columns = "key, item, replicate, choice, score"
        stored = plain.execute(f"SELECT {columns} FROM sample JOIN cell ON cell.id = cell ORDER BY 2, 3")
        for key, item, replicate, choice, score in stored:
            rows.setdefault(key, {}).setdefault(item, []).append((replicate, choice, score))
    found = store.outcomes(stamp)
    assert found.keys() == rows.keys()
    for cell, items in rows.items():
        assert found[cell].items == tuple(sorted(items))
        for at, item in enumerate(sorted(items)):
            samples = items[item]
            assert found[cell].trials[at] == len(samples)
            assert found[cell].scored[at] == sum(score is not None for _, _, score in samples)
            assert found[cell].parsed[at] == sum(choice is not None for _, choice, _ in samples)
            assert found[cell].correct[at] == sum(score or 0 for _, _, score in samples)
            assert found[cell].first[at] == next(score for replicate, _, score in samples if replicate == 0)


def test_the_results_digest_is_that_of_the_sorted_rows(store: Store, stamp: str, folder: Path) -> None:
    db = sqlite3.connect(folder / "results" / "synthetic" / "store.sqlite")
    rows = db.execute(
        """SELECT key, s.item, s.replicate,
                  CASE kind WHEN 'generate' THEN json_extract(answer, '$.text') ELSE choice END, score
           FROM sample s JOIN cell ON cell.id = s.cell JOIN trace t USING (cell, item, replicate)
           JOIN call ON call.id = call"""
    ).fetchall()
    db.close()
    total = hashlib.sha256()
    for row in sorted(rows, key=lambda row: row[:3]):
        total.update(canonical(list(row)) + b"\n")
    assert store.results_digest(stamp) == total.hexdigest()


SAMPLES = """SELECT s.item, s.replicate, choice, score, evidence, call, answer,
       CASE kind WHEN 'generate' THEN json_extract(answer, '$.text') ELSE choice END
    FROM sample s JOIN cell ON cell.id = s.cell JOIN trace t USING (cell, item, replicate)
    JOIN call ON call.id = call WHERE stamp = ? AND key = ? ORDER BY s.item, s.replicate"""


@pytest.mark.parametrize("most", [0, 2**15])
@pytest.mark.parametrize("order", ["rowid", "random()"])
def test_the_samples_to_check_are_those_of_a_plain_join(
    folder: Path, stamp: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, order: str
) -> None:
    """However the calls of a cell lie in the file, and whether they are read in one sweep or each alone."""
    monkeypatch.setattr(checks, "_MOST_AT_ONCE", most)
    path = tmp_path / "store.sqlite"
    shutil.copy(folder / "results" / "synthetic" / "store.sqlite", path)
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA foreign_keys = OFF")
    rows = plain.execute(f"SELECT * FROM call ORDER BY {order}").fetchall()
    plain.execute("DELETE FROM call")
    plain.executemany(f"INSERT INTO call VALUES ({', '.join('?' * len(rows[0]))})", rows)
    plain.commit()
    with Store.open(path) as store:
        for cell in sorted(row["key"] for row in store.rows_of("cell", stamp))[::60]:
            found = [
                (*row[:5], *row.calls, *row.answers, row.result) for row in store.samples_of(stamp, cell)
            ]
            assert found == plain.execute(SAMPLES, [stamp, cell]).fetchall()
    plain.close()


def test_a_store_that_only_its_reader_has_is_looked_at_all_the_same(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    shutil.copy(folder / "results" / "synthetic" / "store.sqlite", path)
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA journal_mode = DELETE")
    plain.execute("DELETE FROM prompt WHERE id = (SELECT min(id) FROM prompt)")
    plain.commit()
    plain.close()
    for gone in (False, True):
        with Store.open(path) as store:
            if gone:
                path.unlink()
            with looked_at(store) as sound:
                (lost,) = sound()
            assert lost.message.endswith("name a `prompt` that is not there")


def test_a_second_study_in_the_store_changes_nothing_of_the_first(
    folder: Path, stamp: str, tmp_path: Path
) -> None:
    path = folder / "results" / "synthetic" / "store.sqlite"
    with Store.open(path) as alone:
        before = _all(alone, stamp)
    other = compile_spec(make(tmp_path, 1), None)
    fill(other, path)
    with Store.open(path) as both:
        assert len(both.stamps()) == 2
        assert _all(both, stamp) == before
        assert _all(both, Plan(other.study).study_digest) != before


def _all(store: Store, stamp: str) -> tuple[object, ...]:
    calls = [row[0] for row in store.call_rows(stamp)]
    digests = store.results_digest(stamp), store.answers_digest(stamp)
    return store.progress(stamp), list(store.finished(stamp)), store.near_ties(stamp), calls, digests


def test_a_sample_with_answers_and_no_outcome_awaits_scoring(
    folder: Path, stamp: str, tmp_path: Path
) -> None:
    copy = tmp_path / "store.sqlite"
    source = sqlite3.connect(folder / "results" / "synthetic" / "store.sqlite")
    target = sqlite3.connect(copy)
    source.backup(target)
    source.close()
    with Store.open(copy) as store:
        assert not store.awaits_scoring(stamp)
    target.execute("UPDATE sample SET score = NULL WHERE cell = 1 AND item = (SELECT max(item) FROM sample)")
    target.commit()
    with Store.open(copy) as store:
        assert store.awaits_scoring(stamp)
    target.execute(
        """UPDATE call SET answer = NULL, answer_digest = NULL
           WHERE id IN (SELECT call FROM trace JOIN sample USING (cell, item, replicate)
                        WHERE score IS NULL)"""
    )
    target.commit()
    target.close()
    with Store.open(copy) as store:
        assert not store.awaits_scoring(stamp)
        assert not store.progress(stamp).complete
