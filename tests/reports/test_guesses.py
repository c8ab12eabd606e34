"""The guess test: a planted leak is found, and a judge that sees nothing is accused as often as stated."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.stats import beta, chi2

from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.judging import Guess, JudgingState, Response, benches, is_judged
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.labels import guess_finding
from gridc.reports.statements.labels import guess_sentence
from tests.e2e.judged import serving

ARMS = ["direct", "react", "critic", "map"]


def guessed(truth: list[str], say: Callable[[str], str | None]) -> list[Guess]:
    return [
        Guess(("c", str(at), 0), ("b", str(at)), "b", arm, say(arm), "judge") for at, arm in enumerate(truth)
    ]


def test_the_numbers_are_those_of_their_definitions() -> None:
    random = Random(4)
    truth = [arm for arm in ARMS for _ in range(30)]
    guesses = guessed(truth, lambda arm: arm if random.random() < 0.3 else random.choice([*ARMS, None]))
    found = guess_finding("b", ARMS, guesses)
    for each in found.arms:
        mine = [guess.guessed for guess in guesses if guess.arm == each.arm]
        right, wrong = mine.count(each.arm), sum(x not in (each.arm, None) for x in mine)
        assert each.index == pytest.approx((right - wrong) / 30)
        p, q = right / 30, wrong / 30
        assert each.error == pytest.approx(((p + q - (p - q) ** 2) / 30) ** 0.5)
        assert each.corrected == pytest.approx((4 * p - 1) / 3)
    named = Counter((guess.arm, guess.guessed) for guess in guesses if guess.guessed is not None)
    rows = {arm: sum(count for (true, _), count in named.items() if true == arm) for arm in ARMS}
    columns = {arm: sum(count for (_, told), count in named.items() if told == arm) for arm in ARMS}
    total = sum(named.values())
    statistic = sum((named[r, c] - rows[r] * columns[c] / total) ** 2 / (rows[r] * columns[c] / total)
                    for r in ARMS for c in ARMS)  # fmt: skip
    assert found.test.chi2 == pytest.approx(statistic)
    assert found.test.p == pytest.approx(chi2.sf(statistic, 9))
    assert found.test.least == pytest.approx(min(rows.values()) * min(columns.values()) / total)
    assert (found.low, found.high) == pytest.approx(
        (beta.ppf(0.025, found.right, 121 - found.right), beta.ppf(0.975, found.right + 1, 120 - found.right))
    )


def test_an_index_of_one_has_an_interval() -> None:
    (arm, *_) = guess_finding("b", ["x", "y"], guessed(["x"] * 3 + ["y"] * 3, lambda arm: arm)).arms
    assert (arm.index, arm.high) == (1, 1)
    assert arm.low == pytest.approx(2 * 0.025 ** (1 / 3) - 1)


@pytest.mark.parametrize(("leak", "least", "most"), [(0.0, 0.03, 0.075), (0.25, 0.95, 1.0)])
def test_a_leak_is_found_and_a_blind_judge_is_rarely_accused(leak: float, least: float, most: float) -> None:
    """400 studies, 40 guesses for each of four arms, by a judge with a habit: half of them are react."""
    random = Random(int(100 * leak))
    truth = [arm for arm in ARMS for _ in range(40)]

    def say(arm: str) -> str:
        return arm if random.random() < leak else random.choices(ARMS, [1, 3, 1, 1])[0]

    runs = 400
    found = [guess_finding("b", ARMS, guessed(truth, say)) for _ in range(runs)]
    share = sum(each.found for each in found) / runs
    assert least <= share <= most
    if not leak:
        habit = np.mean([[arm.index for arm in each.arms] for each in found], axis=0)
        assert habit[1] == pytest.approx(0, abs=0.02), "one arm of four looks half known by a habit"
        assert np.mean([[arm.corrected for arm in each.arms] for each in found]) == pytest.approx(0, abs=0.01)


def test_sentences_say_what_was_found_and_no_more() -> None:
    truth = [arm for arm in ARMS for _ in range(10)]
    knows = guess_finding("b", ARMS, guessed(truth, lambda arm: arm))
    habit = guess_finding("b", ARMS, guessed(truth, lambda arm: "react"))
    random = Random(1)
    blind = guess_finding("b", ARMS, guessed(truth, lambda arm: random.choice(ARMS)))
    told = [guess_sentence(finding) for finding in (knows, habit, blind)]
    assert "named the right one in 100.0 %" in told[0]
    assert told[0].endswith("so it was not blind.")
    assert told[1].endswith("so nothing can be tested.")
    assert "does not prove that it was blind" in told[2]
    assert all("chance 25.0 %" in each for each in told)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    with serving(tmp_path_factory.mktemp("guessed") / "s") as made:
        made.write("blinding = { sanitise = true, seed = 3, guess_share = 0.5 }", items=40)
        return Plan(compile_spec(made.folder / "gridcard.toml").study)


def judged(plan: Plan, text: Callable[[str], str], guess: Callable[[str, list[str]], str]) -> JudgingState:
    """The bench on invented responses, whose judge replies by a script."""
    responses = [
        Response(cell, sample.item, sample.replicate, text(cell.levels["frame"]))
        for cell in plan.cells()
        if is_judged(cell)
        for sample in plan.samples(cell)
    ]
    (bench,), replies = benches(plan.study), dict[str, dict[str, str]]()
    first = bench.judged(responses, replies.get)
    assert not first.complete
    assert first.guesses == ()
    for ask in first.asks:
        prompt = ask.request.prompt.messages[0][1]
        label = guess(prompt, ["plain", "please"]) if ask.judge == "judge.guess" else "true"
        replies[ask.request.id] = {"text": json.dumps({"label": label})}
    return bench.judged(responses, replies.get)


def test_the_judge_finds_a_leak_in_the_response_and_nothing_else(plan: Plan) -> None:
    def by_text(prompt: str, arms: list[str]) -> str:
        response = prompt[prompt.index("<response") :]
        return next((arm for arm in arms if arm in response), Random(prompt).choice(arms))

    leaking = judged(plan, lambda arm: f"As {arm} as it gets: D.", by_text)
    cells = Counter(each.key[0] for each in leaking.guesses)
    assert set(cells.values()) == {20}, "half of every cell"
    assert len(cells) == 4
    found = guess_finding("colours", ["plain", "please"], leaking.guesses)
    assert (found.right, found.n, found.found) == (80, 80, True)
    for ask in leaking.asks:
        if ask.judge == "judge.guess":
            assert not {"ant", "bee", "Please answer"} & set(ask.request.prompt.messages[0][1].split())
    mute = judged(plan, lambda arm: "The answer is D.", by_text)
    silent = guess_finding("colours", ["plain", "please"], mute.guesses)
    assert not silent.found, "the same text and item has one reply, whatever made it"


def test_a_study_that_is_run_reports_its_guesses_and_verifies(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made_here:
        study = made_here.write('blinding = { sanitise = true, seed = 3, guess_share = 0.5, index = "bang" }')
        study.run()
        rows = made_here.rows("SELECT label FROM judgement WHERE judge = 'judge.guess'")
        assert len(rows) == 16
        assert {label for (label,) in rows} <= {"plain", "please"}
        events = [kind for (kind,) in made_here.rows("SELECT kind FROM event ORDER BY seq")]
        assert [each for each in events if each in ("seal", "lock", "unblind", "finish")] == [
            "seal", "lock", "unblind", "finish",
        ]  # fmt: skip
        study.report()
        assert study.verify().complete
        page = (made_here.folder / "results" / "judged" / "report.html").read_text()
        assert 'id="blinding"' in page
        certificate = (made_here.folder / "results" / "judged" / "certificate.json").read_text()
        assert "which of 2 configurations made each of 16 responses" in certificate
