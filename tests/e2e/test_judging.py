"""Judges end to end: what they are asked, what hostile replies come to, and that a run resumes."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chi2_contingency

import gridc
from gridc.diagnostics.errors import GridcError
from gridc.runtime.engines.protocol import Answer, Spending
from gridc.runtime.store.write import Writer
from gridc.schema.canonical import canonical, digest
from tests.e2e.conftest import command
from tests.e2e.judged import ITEMS, PRICE, Judging, serving
from tests.replaced import replaced
from tools.servers import faults
from tools.servers.faults import answer_to
from tools.servers.judges import verdict

RESPONSES = 2 * 2 * ITEMS
"""Models x frames x items."""

FAILS = {
    "prose": "prose",
    "wrong_label": "other label",
    "no_label": "no label",
    "nothing": "empty",
    "refusal": "refused",
    "cut": "cut off",
    "twice": "prose",
    "filtered": "no answer",
}


def scores(made: Judging, level: str) -> list[tuple[int | None, int | None]]:
    return made.rows(
        f"""SELECT choice, score FROM sample JOIN cell ON cell.id = sample.cell
            WHERE configuration LIKE '%scoring={level}%' ORDER BY key, item"""
    )


def test_a_sound_judge_labels_every_response_and_its_labels_are_the_scores(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        study = made.write()
        study.run()
        rows = made.rows("SELECT judge, attempt, label, failure FROM judgement")
        assert Counter(row[:2] for row in rows) == {("judge", 0): RESPONSES}
        told = Counter(map(verdict, made.judge.prompts))
        distinct = len({row[0] for row in made.rows("SELECT call FROM judgement")})
        assert sum(told.values()) == distinct, "one request for each distinct response"
        points = scores(made, "judge")
        labels = [row[2] for row in made.rows("SELECT * FROM judgement") if row]
        assert len(points) == len(labels) == RESPONSES
        expected = {0: 1, 1: 0, 2: 0}
        assert all(score == expected[choice] for choice, score in points if choice is not None)
        assert sum(score or 0 for _, score in points) == sum(row[2] == "true" for row in rows) > 0
        for prompt in made.judge.prompts:
            assert "Please answer" not in prompt, "the template would show the configuration"
        assert study.verify().complete


def test_every_hostile_reply_is_typed_and_its_response_stays_in_the_denominator(tmp_path: Path) -> None:
    with serving(tmp_path / "s", turns=list(FAILS)) as made:
        study = made.write("reasks = 1", scores="{ true = 1, untrue = 0, unclear = 0 }")
        with pytest.raises(GridcError, match="GC622"):
            study.run()
        rows = made.rows("SELECT attempt, label, failure FROM judgement")
        assert {failure for *_, failure in rows} == set(FAILS.values())
        attempts = Counter(attempt for attempt, *_ in rows)
        failed = Counter(failure for attempt, _, failure in rows if not attempt)
        assert attempts == {0: RESPONSES, 1: RESPONSES - failed["no answer"]}, (
            "what failed for good is not asked"
        )
        assert scores(made, "judge") == [(None, 0)] * RESPONSES
        unread = made.rows(
            """SELECT json_extract(s.evidence, '$.unread'), failure FROM sample s
               JOIN judgement j USING (cell, item, replicate)"""
        )
        assert all(why == f"no verdict: {failure}" for why, failure in unread)
        assert study.verify().complete


def test_responses_that_changed_under_a_seal_are_not_judged(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        study = made.write("blinding = { sanitise = true, seed = 3 }")
        study.run()
        with sqlite3.connect(made.folder / "results" / "judged" / "store.sqlite") as db:
            (call,) = db.execute("SELECT call FROM trace LIMIT 1").fetchone()
            content = json.loads(db.execute("SELECT answer FROM call WHERE id = ?", [call]).fetchone()[0])
            content["text"] = "The answer is D."
            changed = canonical(content).decode(), digest(content), call
            db.execute("UPDATE call SET answer = ?, answer_digest = ? WHERE id = ?", changed)
        db.close()
        with pytest.raises(GridcError, match="GC614"):
            study.run()


@pytest.mark.parametrize("misdeed", ["429", "500"])
def test_a_storm_of_errors_gives_no_call_up(tmp_path: Path, misdeed: str) -> None:
    with serving(tmp_path / "s", {misdeed: 1.0}) as made:
        study = made.write("reasks = 1")
        with pytest.raises(GridcError, match="GC635"):
            study.run()
        assert made.rows("SELECT count(*) FROM judgement WHERE failure IS NOT NULL") == [(0,)]
        assert set(scores(made, "judge")) == {(None, None)}, "nothing is scored before it is judged"
        made.judge.shares = {}
        study.run()
        assert made.rows("SELECT failure, count(*) FROM judgement GROUP BY failure") == [(None, RESPONSES)]
        assert all(score is not None for _, score in scores(made, "judge"))
        assert study.verify().complete


def test_a_judge_that_relents_is_heard_and_one_that_does_not_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path / "relents", {"prose": 0.5}, relents=True) as made:
        made.write().run()
        failed = made.rows("SELECT count(*) FROM judgement WHERE failure IS NOT NULL AND attempt = 0")[0][0]
        assert 0 < failed < RESPONSES
        assert made.rows("SELECT count(*) FROM judgement WHERE label IS NOT NULL")[0][0] == RESPONSES
        assert made.rows("SELECT max(attempt) FROM judgement") == [(1,)]
    with serving(tmp_path / "backup", {"prose": 0.5}) as made:
        made.write("backup = { SECOND }").run()
        labels = made.rows("SELECT judge, count(*) FROM judgement WHERE label IS NOT NULL GROUP BY judge")
        assert sum(count for _, count in labels) == RESPONSES
        assert {name for name, _ in labels} == {"judge", "judge.backup"}
        assert all(choice is not None for choice, _ in scores(made, "judge"))
        named = made.rows("SELECT DISTINCT json_extract(evidence, '$.by') FROM sample")
        assert {"judge", "judge.backup"} <= {name for (name,) in named}


def test_an_unreadable_verdict_scores_what_the_spec_says(tmp_path: Path) -> None:
    with serving(tmp_path / "s", {"wrong_label": 1.0}) as made:
        harm = "{ true = 1, untrue = 0, unclear = 0 }, unreadable = 'worst'"
        with pytest.raises(GridcError, match="GC622"):
            made.write("reasks = 0", scores=harm, direction="lower_is_better").run()
        assert scores(made, "judge") == [(None, 1)] * RESPONSES


def test_a_run_that_stops_at_its_budget_is_resumed_to_the_same_results(tmp_path: Path) -> None:
    hostile = {"prose": 0.2, "cut": 0.1}
    more = "validation = { SECOND, share = 0.3, kappa = 0.6 }\nblinding = { sanitise = true, seed = 3 }"
    with serving(tmp_path / "whole", hostile) as made:
        whole = made.write(more).run().results
    with serving(tmp_path / "parts", hostile) as made:
        for calls in (10, 30, 7):
            spec = made.folder / "gridcard.toml"
            made.write(more)
            spec.write_text(f"{spec.read_text()}\n[budget]\ncalls = {calls}\n")
            assert command("run", cwd=made.folder).returncode == 8
        study = made.write(more)
        assert study.run().results == whole
        answered = made.rows(
            """SELECT max(n) FROM (SELECT count(*) AS n FROM attempt
               WHERE status = 'answered' AND purpose = 'call' GROUP BY call)"""
        )
        assert answered == [(1,)]
        assert made.rows("SELECT count(*) FROM event WHERE kind = 'seal'") == [(1,)]
        assert study.verify().complete


def answered(made: Judging) -> dict[str, tuple[str, str]]:
    """When each answered call was finished and with what, straight from SQLite."""
    store = made.folder / "results" / "judged" / "store.sqlite"
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT id, finished, answer_digest FROM call WHERE answer IS NOT NULL")
        return {call: (when, answer) for call, when, answer in rows}


def run_until_killed(made: Judging, requests: int, after: float) -> int | None:
    """The exit status of a run that is killed that many seconds after the judges were asked that often; None
    where the kill came."""
    begun = len(made.judge.prompts) + len(made.second.prompts)
    running = subprocess.Popen(
        [sys.executable, "-m", "gridc", "run"],
        cwd=made.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while running.poll() is None:
        if len(made.judge.prompts) + len(made.second.prompts) >= begun + requests:
            time.sleep(after)
            os.kill(running.pid, signal.SIGKILL)
            status = running.wait()
            return None if status == -signal.SIGKILL else status
        time.sleep(0.002)
    return running.returncode


@pytest.mark.slow
def test_a_run_that_is_killed_in_the_waves_of_judges_ends_as_one_that_never_was(tmp_path: Path) -> None:
    hostile = {"prose": 0.2, "cut": 0.1}
    more = """confidence = 5
        validation = { SECOND, share = 0.3, kappa = 0.6 }
        backup = { SECOND }
        blinding = { sanitise = true, seed = 3, guess_share = 0.3, index = "bang" }"""
    with serving(tmp_path / "whole", hostile) as made:
        whole = made.write(more).run().results
    rng = random.Random(5)
    with serving(tmp_path / "killed", hostile, delay=0.05) as made:
        made.second.delay = 0.05
        study = made.write(more)
        study.stamp()
        kills, before = 0, dict[str, tuple[str, str]]()
        while (status := run_until_killed(made, rng.randint(3, 9), rng.uniform(0, 0.12))) is None:
            kills += 1
            now = answered(made)
            assert before.items() <= now.items(), "an answered call was asked again"
            before = now
        assert status == 0
        assert before.items() <= answered(made).items()
        assert kills >= 5
        assert study.run().results == whole
        twice = made.rows(
            """SELECT call FROM attempt WHERE status = 'answered' AND purpose = 'call'
               GROUP BY call HAVING count(*) > 1"""
        )
        assert not twice
        steps = made.rows("SELECT kind FROM event WHERE kind IN ('seal', 'lock', 'unblind') ORDER BY seq")
        assert steps == [("seal",), ("lock",), ("unblind",)]
        assert study.verify().complete


def test_the_second_judge_labels_its_share_and_its_agreement_is_recounted(tmp_path: Path) -> None:
    more = "validation = { SECOND, share = 0.5, kappa = 0.9 }\nconfidence = 5"
    with serving(tmp_path / "s", {"other": 0.4}) as made:
        study = made.write(more)
        study.run()
        pairs = made.rows(
            """SELECT a.label, b.label FROM judgement a JOIN judgement b USING (cell, item, replicate)
               WHERE a.judge = 'judge' AND b.judge = 'judge.validation'"""
        )
        assert len(pairs) == RESPONSES // 2
        same = sum(left == right for left, right in pairs) / len(pairs)
        chance = (
            sum(
                sum(left == label for left, _ in pairs) * sum(right == label for _, right in pairs)
                for label in ("true", "untrue", "unclear")
            )
            / len(pairs) ** 2
        )
        kappa = (same - chance) / (1 - chance)
        judging = made.finding()
        assert judging.second is not None
        assert judging.second.agreement is not None
        assert judging.second.agreement.kappa == pytest.approx(kappa)
        assert judging.second.passes is (kappa >= 0.9)
        assert not judging.second.rescored
        study.report()
        told = (made.folder / "results" / "judged" / "gridcard.md").read_text()
        assert f"kappa {kappa:.3f}" in told
        assert judging.judges[0].rubric[:12] in told


def test_too_little_agreement_has_the_second_judge_label_everything_it_may(tmp_path: Path) -> None:
    more = 'validation = { SECOND, share = 0.2, kappa = 0.9, below = "rescore" }'
    with serving(tmp_path / "s", {"other": 0.6}) as made:
        study = made.write(more)
        study.run()
        named = made.rows("SELECT json_extract(evidence, '$.by'), count(*) FROM sample GROUP BY 1")
        assert dict(named)["judge.validation"] == RESPONSES
        assert study.verify().complete
    with serving(tmp_path / "own", {"other": 0.6}) as made:
        ant = f'source = "ant-2026-01-01", base_url = "{made.urls["candidates"]}", {PRICE}'
        made.write(more.replace("SECOND", ant)).run()
        cells = made.rows(
            """SELECT DISTINCT model FROM judgement JOIN cell ON cell.id = judgement.cell
               WHERE judge = 'judge.validation'"""
        )
        assert cells == [("bee",)], "a second judge does not see what it said itself"


def test_a_panel_decides_as_the_spec_says(tmp_path: Path) -> None:
    panel = '[[judge.panel]]\nid = "{0}"\nsource = "{0}-2026-01-01"\nbase_url = "{1}"\n'
    labels = {}
    for how in ("majority", "unanimous"):
        with serving(tmp_path / how, {"other": 0.5}) as made:
            two = "\n".join(panel.format(name, made.urls["second"]) + PRICE for name in ("b", "c"))
            made.write(f'verdict = "{how}"\n{two}').run()
            rows = made.rows("SELECT cell, item, judge, label FROM judgement ORDER BY 1, 2, 3")
            given: dict[tuple[int, str], list[str]] = {}
            for cell, item, _, label in rows:
                given.setdefault((cell, item), []).append(label)
            assert {len(each) for each in given.values()} == {3}
            most = {key: max(set(each), key=each.count) for key, each in given.items()}
            whole = {key: label if len(set(given[key])) == 1 else None for key, label in most.items()}
            names = ["true", "untrue", "unclear"]
            stored = made.rows(
                """SELECT s.cell, s.item, choice FROM sample s JOIN cell c ON c.id = s.cell
                   WHERE method = 'judge'"""
            )
            labels[how] = {(cell, item): None if n is None else names[n] for cell, item, n in stored}
            assert labels[how] == (most if how == "majority" else whole)
    assert labels["majority"] != labels["unanimous"]


@pytest.mark.parametrize("leaks", [True, False])
def test_the_guess_test_finds_a_leak_in_the_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaks: bool
) -> None:
    def reply(body: dict[str, Any]) -> dict[str, Any]:
        sound = answer_to(body)
        if leaks:
            frame = "please" if "Please answer" in json.dumps(body) else "plain"
            sound["choices"][0]["message"]["content"] += f" ({frame})"
        return sound

    monkeypatch.setattr(faults, "answer_to", reply)
    with serving(tmp_path / "s") as made:
        made.write('blinding = { sanitise = true, seed = 3, guess_share = 1.0, index = "bang" }').run()
        guesses = Counter(
            made.rows(
                """SELECT CASE WHEN configuration LIKE '%frame=please%' THEN 'please' ELSE 'plain' END, label
                   FROM judgement JOIN cell ON cell.id = cell WHERE judge = 'judge.guess'"""
            )
        )
        arms = ("plain", "please")
        assert sum(guesses.values()) == RESPONSES
        table = [[guesses[arm, said] for said in arms] for arm in arms]
        expected = chi2_contingency(table, correction=False)
        assert bool(expected.pvalue < 0.05) is leaks, table
        study = gridc.open(made.folder / "gridcard.toml")
        study.report()
        certificate = json.loads((made.folder / "results" / "judged" / "certificate.json").read_text())
        assert ("so it was not blind" in " ".join(certificate["statements"])) is leaks


def test_of_a_target_the_nearest_score_is_best(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        made.write()
        spec = made.folder / "gridcard.toml"
        spec.write_text(spec.read_text().replace('direction = "higher_is_better"', "direction = 0.5"))
        study = gridc.open(spec)
        study.run()
        study.report()
        certificate = json.loads((made.folder / "results" / "judged" / "certificate.json").read_text())
        (row,) = certificate["benchmarks"]
        assert row["direction"] == "nearest_is_best"
        scores = {
            (each["configuration"], model): score["correct"] / score["scored"]
            for each in row["envelope"]
            for model, score in each["scores"].items()
        }
        assert "the score nearest to 0.5 is best" in " ".join(certificate["statements"])
        seen_orders = row["scopes"][0]["orderings"]["seen"]
        assert seen_orders
        for seen in seen_orders:
            far = [abs(scores[seen["configuration"], place[0]] - 0.5) for place in seen["order"]]
            assert far == sorted(far)
        assert study.verify().complete


def test_a_race_does_not_score_what_judges_label(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        study = made.write()
        study.stamp()
        with pytest.raises(GridcError, match="GC617"):
            study.certify_until_decided()


def test_a_part_of_a_judged_run_says_that_judging_is_left(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        made.write()
        for part in ("1/2", "2/2"):
            done = command("run", "--shard", part, "--out", part[0], cwd=made.folder)
            assert done.returncode == 0, done.stderr
            answered = done.stdout.splitlines()[-1]
            assert "judges are asked when every response is there" in answered and "gridc merge" in answered
        assert not made.judge.prompts, "a part asks no judge"
        stores = [f"{number}/store.sqlite" for number in (1, 2)]
        merged = command("merge", "gridcard.toml", *stores, "--out", "whole", cwd=made.folder)
        assert "judges are asked" in merged.stdout and "`gridc run` asks" in merged.stdout
        whole = command("run", "--out", "whole", cwd=made.folder)
        assert whole.returncode == 0 and made.judge.prompts and "calls answered so far" not in whole.stdout


def with_local_judge(made: Judging, room: int, more: str = "") -> gridc.OpenStudy:
    """The study, judged by a pocket model whose context has room for so many tokens."""
    study = made.write(more, items=4)
    folder = made.folder / "small"
    folder.mkdir()
    for file in (Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": room}))
    spec = made.folder / "gridcard.toml"
    before, _, after = spec.read_text().partition("[judge]\n")
    rest = after.partition("rubric =")[2]
    spec.write_text(f'{before}[judge]\nsource = "path:small"\nmax_tokens = 4\nrubric ={rest}')
    return study


def test_a_prompt_that_a_local_judge_has_no_room_for_fails_alone(tmp_path: Path) -> None:
    """The median prompt just fits: the longer half are failures of their judgement, and nothing stops."""
    pytest.importorskip("torch")
    with serving(tmp_path / "roomy") as made:
        with pytest.raises(GridcError, match="GC622"):  # a pocket model gives no label
            with_local_judge(made, 2048, "reasks = 0").run()
        sizes = made.rows(
            """SELECT json_extract(sent, '$.prompt_tokens') FROM call
               WHERE id IN (SELECT call FROM judgement) ORDER BY 1"""
        )
    room = sizes[len(sizes) // 2][0] + 4
    long = sum(size + 4 > room for (size,) in sizes)
    assert 0 < long < len(sizes)
    with serving(tmp_path / "small") as made:
        study = with_local_judge(made, room, "reasks = 0\nbackup = { SECOND }")
        study.run()
        failed = made.rows(
            "SELECT json_extract(answer, '$.error.kind'), count(*) FROM call WHERE answer LIKE '%error%'"
        )
        assert failed == [("context_length", long)]
        asked = made.rows(
            """SELECT call, judge, attempt, failure FROM judgement
               WHERE call IN (SELECT id FROM call WHERE answer LIKE '%error%')"""
        )
        assert {row[1:] for row in asked} == {("judge", 0, "no answer")}
        assert made.rows("SELECT count(*) FROM judgement WHERE judge = 'judge.backup'") == [(16,)]
        assert all(choice is not None for choice, _ in scores(made, "judge")), "the backup judge reads all"
        assert any(
            f"{long} calls failed for good (context_length)" in each
            for each in study.deviations().observed or ()
        )
        assert study.verify(rerun=1.0).complete
    with serving(tmp_path / "alone") as made:
        study = with_local_judge(made, room, "reasks = 0")
        with pytest.raises(GridcError, match="GC622"):
            study.run()
        read = scores(made, "judge")
        assert len(read) == 16 and all(score is not None for _, score in read), "they stay counted"
        study.verify()


def test_a_candidate_that_judges_too_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped while it judges: what it has no room for fails as before, and is asked as a judge."""
    pytest.importorskip("torch")
    with serving(tmp_path) as made:
        study = with_local_judge(made, 170, "reasks = 0")
        spec = made.folder / "gridcard.toml"
        behind = f'engine = "api"\nsource = "ant-2026-01-01"\nbase_url = "{made.urls["candidates"]}"\n{PRICE}'
        waived = '[[waive]]\ncode = "GC525"\nwhy = "a test"\n\n[[benchmark]]'
        here = 'engine = "hf"\nsource = "path:small"'
        spec.write_text(replaced(spec.read_text(), (behind, here), ("[[benchmark]]", waived)))
        store = Writer.answer

        def stopped(self: Writer, answers: Sequence[Answer], spending: Spending | None = None) -> None:
            if any("error" in each.content for each in answers):
                raise KeyboardInterrupt
            store(self, answers, spending)

        monkeypatch.setattr(Writer, "answer", stopped)
        with pytest.raises(KeyboardInterrupt):
            study.run()
        monkeypatch.setattr(Writer, "answer", store)
        assert made.rows("SELECT 1 FROM judgement JOIN call ON id = call WHERE answer IS NULL")
        study.run()
        assert made.rows("SELECT 1 FROM call WHERE answer LIKE '%context_length%'")
        assert all(score is not None for _, score in scores(made, "judge"))
        study.verify()


def test_status_knows_that_a_judge_behind_an_address_is_asked_many_times_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        study = made.write("reasks = 0", items=2)
        study.run()
        with sqlite3.connect(study.store) as db:
            db.execute("UPDATE call SET seconds = 1000.0")
        pace = study.status().pace
        assert len(pace) == 3
        assert all(each.seconds is not None and each.seconds < 100 for each in pace)
