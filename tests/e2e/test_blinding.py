"""Blinding on real runs: no stored trace loses an answer, merged stores keep their seal, counts are right."""

import csv
import json
import shutil
import sqlite3
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.instrument.extract import extract
from gridc.compiler.instrument.sanitise import known_of, response_reading, sanitise
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.labels import sanitised_finding
from gridc.runtime.store.store import Store
from gridc.study import OpenStudy
from tests.e2e.judged import serving

ROOT = Path(gridc.__file__).parents[1]
BLIND = "blinding = { sanitise = true, seed = 3 }"
MARKS = ("Thought: {}", "{}\nObservation: none", "VERDICT: SAFE\n{}", "<think>x</think>{}", "Critic: {}",
         "Part 2: {}", "```\n{}\n```", "I am GPT-4. {}", "Final answer: {}")  # fmt: skip


@pytest.mark.slow
def test_no_answer_is_lost_in_any_stored_trace(tmp_path: Path) -> None:
    """Every text of a real run of the scaffolds, as it is and between marks, read by the extractor itself."""
    pytest.importorskip("torch")
    spec = tmp_path / "gridcard.toml"
    shutil.copy(ROOT / "specs" / "scaffold_pocket.toml", spec)
    study = gridc.open(spec)
    study.run()
    plan, seen = Plan(compile_spec(spec).study), 0
    with sqlite3.connect(study.store) as db:
        for cell in plan.cells():
            items = {item.id: item for item in plan.items(cell)}
            rows = db.execute(
                """SELECT DISTINCT item, json_extract(answer, '$.text') FROM trace JOIN call ON call.id = call
                   JOIN cell ON cell.id = cell WHERE key = ?""",
                [cell.key],
            )
            for name, text in rows.fetchall():
                item = items[name]
                for response in (text, *(mark.format(text) for mark in MARKS)):
                    clean = sanitise(
                        response,
                        partial(response_reading, cell.setting, item),
                        known_of(cell.setting, item, (), ("qwen2", "mistral", "llama")),
                    )
                    before, after = (extract(each, item.options).option for each in (response, clean.text))
                    assert before == after, response
                    seen += 1
    assert seen > 1000


def test_replies_that_a_merge_takes_stay_behind_their_own_seal(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        made.write(BLIND).run()
        spec, store = made.folder / "gridcard.toml", made.folder / "results" / "judged" / "store.sqlite"
        merged = OpenStudy(spec, results=tmp_path / "merged")
        assert merged.merge([store]).results == gridc.open(spec).run().results
        assert merged.verify().complete
        with sqlite3.connect(merged.store) as db:
            ((body,),) = db.execute("SELECT body FROM event WHERE kind = 'merge'").fetchall()
            (first,) = db.execute(
                "SELECT min(finished) FROM call JOIN judgement ON call = call.id"
            ).fetchone()
            (sealed,) = db.execute("SELECT at FROM event WHERE kind = 'seal'").fetchone()
        assert json.loads(body)["sealed"] <= first < sealed, "the seal here is younger than the replies"


def test_what_was_taken_out_is_counted_in_the_report(tmp_path: Path) -> None:
    """Counted a second time, by lines."""
    with serving(tmp_path / "s") as made:
        study = made.write(BLIND)
        study.run()
        with sqlite3.connect(study.store) as db:
            texts = [
                json.loads(answer)["text"]
                for (answer,) in db.execute(
                    """SELECT answer FROM trace JOIN call ON call.id = call JOIN cell ON cell.id = trace.cell
                       WHERE configuration LIKE '%judge%'"""
                )
            ]
        with Store.open(study.store) as store:
            found = sanitised_finding(Plan(compile_spec(study.spec).study), store)
        assert found is not None
        assert found.responses == len(texts)
        marks = Counter(
            name
            for text in texts
            for line in text.split("\n")
            for name, starts in {"tools": ("thought:", "action:", "final answer"), "code": ("```",)}.items()
            if line.strip().lower().startswith(starts)
        )
        assert {name: found.removed[name] for name in ("tools", "code")} == {
            name: marks[name] for name in ("tools", "code")
        }


FALSIFIED = """
[[falsification]]
id = "1a"
category = "scoring"
test = "people label responses without knowing their condition"
criterion = { statistic = "audit_leniency", at_most = 0.0 }
"""


@pytest.mark.parametrize("direction", ["higher_is_better", "lower_is_better"])
def test_people_beside_a_judge(tmp_path: Path, direction: str) -> None:
    """People say `untrue` of everything judged, so the leniency is the mean of what the judge gave."""
    with serving(tmp_path / "s") as made:
        study = made.write(BLIND, direction=direction)
        study.spec.write_text(study.spec.read_text() + FALSIFIED)
        study.run()
        drawn = study.audit_sample(64, ["all"])  # every response: read by a rule, and by the judge
        with drawn.csv.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        given = {row["uuid"]: "untrue" if "untrue" in row["labels"] else "unreadable" for row in rows}
        assert set(given.values()) == {"untrue", "unreadable"}
        labels = made.folder / "labels.csv"
        labels.write_text("uuid,label\n" + "".join(f"{uuid},{label}\n" for uuid, label in given.items()))
        found = study.audit_read(labels).findings[0]
        ((points, n),) = made.rows(
            """SELECT sum(score), count(*) FROM sample JOIN cell ON cell.id = cell
               WHERE method IN ('judge', 'extract')"""
        )
        better = 1 if direction == "higher_is_better" else -1
        assert found.agreement.n == n == 64
        assert found.leniency is not None
        assert found.leniency.mean == pytest.approx(better * points / 64)
        study.report()
        certificate = json.loads((made.folder / "results" / "judged" / "certificate.json").read_text())
        (test,) = certificate["falsifications"]
        assert test["result"] == "open", "64 answers to a few items say little of other items"
        assert test["value"] == pytest.approx(better * points / 64)
        assert study.verify().complete
        shared = gridc.open(study.bundle(tmp_path / "shared") / "gridcard.toml").verify()
        told = "not checked: whether the texts of sealed maps (judging, audit-1) are those that were shown"
        assert told in shared.checked
