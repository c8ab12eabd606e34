"""Judges that compare two responses, by scripts of a known preference: recounted from texts and rows."""

import json
import re
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.plan import Plan
from gridc.diagnostics.errors import SpecError
from tests.e2e.judged import ITEMS, Judging, serving
from tools.servers import faults
from tools.servers.faults import answer_to

JUDGE = """
[judge]
source = "judge-2026-01-01"
base_url = "{judge}"
{price}
rubric = "Which one is better?"
compares = {{ {against}, swap = {swap} }}
{more}

[[outcome]]
id = "ties"
benchmark = "colours"
scores = {{ tie = 1, other = 0 }}
"""


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model answers in its own way."""

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        sound = answer_to(body)
        text = json.dumps([body["model"], body["messages"]])
        letter = "ABC"[sha256(text.encode()).digest()[0] % 3]
        sound["choices"][0]["message"]["content"] = f"The answer is {letter}."
        return sound

    monkeypatch.setattr(faults, "answer_to", reply)


def pairs(
    made: Judging, more: str = "", against: str = 'against = "bee"', swap: str = "true", **stated: Any
) -> Any:
    judges = JUDGE.replace("{against}", against).replace("{swap}", swap)
    return made.write(more, judges=judges, scores="{ loss = 0, tie = 0.5, win = 1 }", **stated)


def estimates(made: Judging) -> dict[str, Any]:
    text = (made.folder / "results" / "judged" / "estimates.json").read_text()
    return {row["id"]: row for row in json.loads(text)["estimates"]}


def texts(made: Judging) -> dict[tuple[str, str, str], str]:
    """What each model said, by model, configuration and item."""
    rows = made.rows(
        """SELECT cell.model, configuration, item, json_extract(answer, '$.text') FROM trace
           JOIN cell ON cell.id = trace.cell JOIN call ON call.id = trace.call
           WHERE configuration LIKE '%scoring=judge%'"""
    )
    return {(model, configuration, item): text for model, configuration, item, text in rows}


def test_a_judge_of_known_preference_gets_exactly_that(tmp_path: Path) -> None:
    """It prefers the earlier letter, wherever it stands."""
    with serving(tmp_path / "s") as made:
        study = pairs(made)
        study.run()
        study.report()
        planned = Plan(compile_spec(made.folder / "gridcard.toml").study).judging()["judge"].later
        assert study.verify().complete
        said, found, card = (
            texts(made),
            estimates(made),
            (made.folder / "results/judged/gridcard.md").read_text(),
        )
        rows = made.rows(
            """SELECT judge, cell.model, configuration, item, label FROM judgement
               JOIN cell ON cell.id = judgement.cell"""
        )
        tied = made.rows(
            """SELECT count(*) FROM sample JOIN cell ON cell.id = sample.cell
               WHERE cell.model = 'bee' AND configuration LIKE '%scoring=judge%' AND choice = 1
               AND json_extract(evidence, '$.by') = 'the same text'"""
        )
        prompts = made.judge.prompts
    assert tied == [(2 * ITEMS,)], "with itself it is a tie"
    expected: dict[str, list[float]] = {}
    asked = Counter[str]()
    for (model, configuration, item), text in said.items():
        other = said["bee", configuration, item]
        sign = (text[-2] < other[-2]) - (text[-2] > other[-2])
        place = f"{model}/colours/{configuration}"
        expected.setdefault(place, []).append((sign + 1) / 2)
        asked["pairs"] += text != other
    assert 0 < asked["pairs"] < 2 * ITEMS
    assert {point for points in expected.values() for point in points} == {0, 0.5, 1}
    for place, points in expected.items():
        assert found[f"score/{place}"]["estimate"] == pytest.approx(sum(points) / len(points))
        low, high = found[f"score/{place}"]["interval"]
        assert low <= sum(points) / len(points) <= high
    assert Counter(name for name, *_ in rows) == {"judge": asked["pairs"], "judge.swapped": asked["pairs"]}
    assert {model for _, model, *_ in rows} == {"ant"}
    assert planned is not None
    assert planned.expected.calls == 2 * 2 * ITEMS >= len(rows), "both orders, and not of bee with itself"
    straight = {row[1:4]: row[4] for row in rows if row[0] == "judge"}
    turned = {row[1:4]: row[4] for row in rows if row[0] == "judge.swapped"}
    mirror = {"A": "B", "B": "A", "tie": "tie"}
    assert {key: mirror[label] for key, label in straight.items()} == turned
    bias, place = found["pairs/judge/swap_inconsistency"], found["pairs/judge/first_place"]
    assert (bias["estimate"], bias["n"]) == (0, asked["pairs"]) and bias["interval"][0] == 0 < bias[
        "interval"
    ][1]
    preferring = sum(label != "tie" for label in (*straight.values(), *turned.values()))
    assert (place["estimate"], place["n"]) == (0.5, preferring)
    assert "compared with those of bee. The same text, such as its own, is a tie" in card
    assert all("<response A" in prompt and "<response B" in prompt for prompt in prompts)


def test_a_judge_that_prefers_a_place_calls_no_winner_and_is_shown(tmp_path: Path) -> None:
    with serving(tmp_path / "s", {"first_place": 1.0}) as made:
        study = pairs(made)
        study.run()
        study.report()
        found = estimates(made)
        assert study.verify().complete
    assert {
        row["estimate"] for name, row in found.items() if name.startswith("score/ant") and "=judge" in name
    } == {0.5}
    for kind in ("swap_inconsistency", "first_place"):
        assert found[f"pairs/judge/{kind}"]["estimate"] == 1
        assert found[f"pairs/judge/{kind}"]["interval"][0] < 1


def test_half_a_bias_is_counted_from_the_rows(tmp_path: Path) -> None:
    with serving(tmp_path / "s", {"first_place": 0.4, "wrong_label": 0.15}) as made:
        study = pairs(made, "reasks = 0\nvalidation = { SECOND, share = 1.0, kappa = 0.5 }")
        study.run()
        study.report()
        assert study.verify().complete
        found = estimates(made)
        certificate = json.loads((made.folder / "results/judged/certificate.json").read_text())
        rates = certificate["benchmarks"][0]["rates"][0]["models"]
        scorecard = (made.folder / "results/judged/scorecard.md").read_text()
        both = made.rows(
            """SELECT a.label || b.label, c.label || d.label, s.choice FROM judgement a
               JOIN judgement b USING (cell, item, replicate) JOIN judgement c USING (cell, item, replicate)
               JOIN judgement d USING (cell, item, replicate) JOIN sample s USING (cell, item, replicate)
               WHERE a.judge = 'judge' AND b.judge = 'judge.swapped'
               AND c.judge = 'judge.validation' AND d.judge = 'judge.validation.swapped'"""
        )
        ties = made.rows(
            """SELECT cell.model, configuration, sum(coalesce(choice = 1, 0)) FROM sample
               JOIN cell ON cell.id = sample.cell WHERE configuration LIKE '%=judge%' GROUP BY 1, 2"""
        )
    comes_to = {"AB": 2, "BA": 0, "tietie": 1}
    read = [(comes_to.get(one, 1), comes_to.get(two, 1), one) for one, two, _ in both if one is not None]
    assert 0 < len(read) < len(both), "a reply without a label leaves the pair out"
    for one, _, choice in both:
        assert choice == (None if one is None else comes_to.get(one, 1))
    inconsistent = sum(one not in comes_to for *_, one in read)
    assert 0 < inconsistent < len(read)
    row = found["pairs/judge/swap_inconsistency"]
    assert row["estimate"] == pytest.approx(inconsistent / len(read)) and row["n"] == len(read)
    letters = [letter for *_, one in read for letter in one.replace("tie", "")]
    row = found["pairs/judge/first_place"]
    assert row["estimate"] == pytest.approx(letters.count("A") / len(letters)) and row["n"] == len(letters)
    for model, configuration, count in ties:
        assert rates[model][configuration]["value"] == pytest.approx(count / ITEMS)
    same = sum(one == two for one, two, _ in read) / len(read)
    lefts, rights = Counter(one for one, *_ in read), Counter(two for _, two, _ in read)
    chance = sum(lefts[label] * rights[label] for label in lefts) / len(read) ** 2
    kappa = (same - chance) / (1 - chance)
    assert found["kappa/the_first_verdict/judge.validation"]["estimate"] == pytest.approx(kappa)
    assert f"Kappa is {kappa:.2f}" in scorecard


def test_a_response_is_compared_with_the_right_answer_once(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        study = pairs(made, against='against = "reference"', swap="false")
        study.run()
        study.report()
        assert study.verify().complete
        card, found = (made.folder / "results/judged/gridcard.md").read_text(), estimates(made)
        named = made.rows("SELECT judge, count(*) FROM judgement GROUP BY 1")
    assert named == [("judge", 4 * ITEMS)]
    assert [name for name in found if name.startswith("pairs/")] == ["pairs/judge/longer"]
    assert "compared with the item's right answer" in card.replace("\\\\", "")
    assert "the effect of its position is not measured" in card
    assert {
        row["estimate"] for name, row in found.items() if name.startswith("score/") and "=judge" in name
    } == {1}


def test_a_panel_of_pairs_is_blinded_decides_by_majority_and_is_merged(tmp_path: Path) -> None:
    more = """verdict = "majority"
panel = [{ id = "b", SECOND }, { id = "c", SECOND }]
blinding = { sanitise = true, seed = 3, guess_share = 1.0, index = "bang" }"""
    with serving(tmp_path / "s", {"first_place": 0.5}) as made:
        study = pairs(made, more)
        study.run()
        empty = Path(shutil.copytree(made.folder, tmp_path / "empty"))
        shutil.rmtree(empty / "results")
        merged = gridc.open(empty / "gridcard.toml")
        merged.merge([study.store])
        assert merged.verify().complete
        study.report()
        assert study.verify().complete
        found = estimates(made)
        rows = made.rows("SELECT judge, cell, item, label FROM judgement WHERE label IN ('A', 'B', 'tie')")
        choices = made.rows(
            """SELECT cell, item, choice FROM sample WHERE (cell, item) IN
               (SELECT cell, item FROM judgement WHERE judge = 'judge')"""
        )
        prompts = [*made.judge.prompts, *made.second.prompts]
    comes_to = {"AB": 2, "BA": 0}
    labels = {(judge, cell, item): label for judge, cell, item, label in rows}
    parted = 0
    for cell, item, choice in choices:
        votes = [
            comes_to.get(labels[name, cell, item] + labels[f"{name}.swapped", cell, item], 1)
            for name in ("judge", "judge.b", "judge.c")
        ]
        assert choice == Counter(votes).most_common(1)[0][0], votes
        parted += len(set(votes)) > 1
    assert 0 < parted < len(choices)
    assert {name for name in found if name.startswith("pairs/")} == {
        f"pairs/{judge}/{kind}"
        for judge in ("judge", "judge.b", "judge.c")
        for kind in ("swap_inconsistency", "first_place")
    }
    assert not any(re.search(r"\b(ant|bee)\b", prompt) for prompt in prompts), "no judge sees a model's name"


NO_ANSWERS = """
gridcard = 1
study = { id = "pairs", title = "Pairs", purpose = "descriptive", not_varied = ["all"] }
harness = { method = "judge", prompt = "{{ question }}" }

[[model]]
id = "left"
engine = "hf"
source = "builtin:pocket-qwen2"

[[benchmark]]
id = "prompts"
loader = "rows"
source = "path:rows.jsonl"
direction = "higher_is_better"
loading = { fields = { query = "ask", expected = "does", id = "id" } }

[[axis]]
id = "system"
level = [
  { id = "none", tier = "core", provenance = "ours" },
  { id = "brief", tier = "core", provenance = "ours", system = "Be brief." },
]

[judge]
source = "builtin:pocket-mistral"
rubric = "Which is better?"
compares = { against = "reference", swap = true }
"""


def test_an_item_without_a_right_answer_is_compared_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "gridcard.toml").write_text(NO_ANSWERS)
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "ask": "Who?", "does": "comply"}\n')
    with pytest.raises(SpecError, match="GC105 on `prompts`, `a` has no right answer to compare"):
        compile_spec(tmp_path / "gridcard.toml")
