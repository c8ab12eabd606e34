"""Several judges of one study, and judges that rate with a number: recounted by hand."""

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.instrument.judging import Rubric, read_reply
from gridc.schema.scores import evenly
from tests.e2e.judged import ITEMS, Judging, serving

JUDGES = """
[[judge]]
id = "strict"
source = "judge-2026-01-01"
base_url = "{judge}"
{price}
rubric = '''
Is it the right answer?
Right: {{{{ right }}}}'''
labels = ["true", "untrue", "unclear"]
{more}

[[judge]]
id = "grades"
source = "second-2026-01-01"
base_url = "{second}"
{price}
rubric = "How good is it?"
scale = {{ from = 2, to = 6 }}
{more}
"""
LEVELS = '  { id = "graded", tier = "core", provenance = "ours", method = "judge", judge = "grades" },'
BESIDE = '{ true = 1, untrue = 0, unclear = 0 }, judge = "strict"'


def several(made: Judging, more: str = "") -> Any:
    return made.write(more, judges=JUDGES, levels=LEVELS, scores=BESIDE)


def test_each_judge_labels_its_own_responses_once(tmp_path: Path) -> None:
    with serving(tmp_path / "s") as made:
        study = several(made)
        study.run()
        asked = made.rows(
            """SELECT judge, configuration LIKE '%scoring=graded%', count(*) FROM judgement
               JOIN cell ON cell.id = judgement.cell GROUP BY 1, 2"""
        )
        assert sorted(asked) == [("judge.grades", 1, 4 * ITEMS), ("judge.strict", 0, 4 * ITEMS)]
        texts = made.rows(
            """SELECT count(DISTINCT call) FROM trace JOIN cell ON cell.id = trace.cell
               WHERE configuration LIKE '%scoring=judge%' OR configuration LIKE '%scoring=graded%'"""
        )
        assert texts == [(4 * ITEMS,)], "both judges label the same responses"
        assert not any("How good" in prompt for prompt in made.judge.prompts)
        assert all("How good" in prompt for prompt in made.second.prompts)
        assert study.verify().complete


def test_a_rating_earns_where_it_lies_on_its_scale(tmp_path: Path) -> None:
    """From the text of each response: the script rates A 2, B 3 and so on, up to 6."""
    with serving(tmp_path / "s", {}) as made:
        made.second.shares = {"wrong_label": 0.3}
        study = several(made, "reasks = 0")
        study.run()
        study.report()
        assert study.verify().complete
        estimates = json.loads((made.folder / "results" / "judged" / "estimates.json").read_text())
        card = (made.folder / "results" / "judged" / "gridcard.md").read_text()
        rows = made.rows(
            """SELECT cell.model, configuration, label, failure, choice, score,
                      json_extract(answer, '$.text') FROM sample
               JOIN cell ON cell.id = sample.cell JOIN judgement USING (cell, item, replicate)
               JOIN trace USING (cell, item, replicate) JOIN call ON call.id = trace.call
               WHERE judge = 'judge.grades'"""
        )
    scores = {row["id"]: row["estimate"] for row in estimates["estimates"]}
    earned: dict[str, list[Fraction]] = {}
    failures = Counter(failure for *_, failure, _, _, _ in rows)
    assert failures[None] and failures["other label"] and len(failures) == 2
    for model, configuration, label, failure, choice, score, text in rows:
        rated = min(2 + "ABCDEFG".index(text[-2]), 6)
        assert label == (None if failure else str(rated))
        assert (choice, score) == ((None, 0) if failure else (rated - 2, rated - 2))
        place = f"score/{model}/colours/{configuration}"
        earned.setdefault(place, []).append(Fraction(0 if failure else rated - 2, 4))
    assert len(earned) == 4
    for place, parts in earned.items():
        assert len(parts) == ITEMS and scores[place] == pytest.approx(float(sum(parts) / ITEMS), abs=1e-9)
    given = Counter(label for _, _, label, *_ in rows if label is not None)
    assert f"labelled {given.total()}: {', '.join(f'{n} {given[n]}' for n in sorted(given))}" in card
    assert "where its rating lies between 2" in card and "one number is 25 pp" in card


def test_second_judges_guesses_and_panels_are_of_each_judge(tmp_path: Path) -> None:
    more = """validation = { SECOND, share = 0.5, kappa = 0.6 }
blinding = { sanitise = true, seed = 3, guess_share = 0.5, index = "bang" }"""
    with serving(tmp_path / "s", {"other": 0.4}) as made:
        study = several(made, more)
        study.run()
        study.report()
        assert study.verify().complete
        folder = made.folder / "results" / "judged"
        estimates = json.loads((folder / "estimates.json").read_text())["estimates"]
        found = {finding.name: finding for finding in made.findings()}
        for name, finding in found.items():
            pairs = made.rows(
                f"""SELECT a.label, b.label FROM judgement a JOIN judgement b USING (cell, item, replicate)
                    WHERE a.judge = '{name}' AND b.judge = '{name}.validation'"""
            )
            assert len(pairs) == 2 * ITEMS
            same = sum(left == right for left, right in pairs) / len(pairs)
            lefts, rights = (Counter(labels) for labels in zip(*pairs, strict=True))
            chance = sum(lefts[label] * rights[label] for label in lefts) / len(pairs) ** 2
            assert finding.second is not None and finding.second.agreement is not None
            assert finding.second.agreement.kappa == pytest.approx((same - chance) / (1 - chance))
        names = {row["id"] for row in estimates}
        assert {f"blinding/colours/{name}/plain/bang" for name in found} <= names
        kappas = {row["id"]: row["estimate"] for row in estimates if row["id"].startswith("kappa/the_first")}
        assert len(kappas) == 2 and min(kappas.values()) < 0.9 < max(kappas.values())
        (agreed,) = [
            line
            for line in (folder / "scorecard.md").read_text().splitlines()
            if "Kappa" in line or "kappa" in line
        ]
        assert f"lowest kappa of 2 judges and their second ones is {min(kappas.values()):.2f}" in agreed
        guesses = made.rows(
            "SELECT judge, count(*) FROM judgement WHERE judge LIKE '%guess' AND attempt = 0 GROUP BY 1"
        )
        assert guesses == [("judge.grades.guess", 2 * ITEMS), ("judge.strict.guess", 2 * ITEMS)]
        page = (folder / "report.html").read_text()
        assert page.count("Judges: judge.strict") and page.count("Judges: judge.grades")


@pytest.mark.parametrize(
    ("reply", "label", "failure"),
    [
        ('{"label": 7}', "7", None),
        ('{"label": "7"}', "7", None),
        ('{"label": 10}', "10", None),
        ('{"label": 11}', None, "other label"),
        ('{"label": 0}', None, "other label"),
        ('{"label": 7.0}', None, "no label"),
        ('{"label": true}', None, "no label"),
        ('{"label": "07"}', None, "other label"),
        ('{"label": "7/10"}', None, "other label"),
        ("7", None, "prose"),
    ],
)
def test_a_rating_is_a_whole_number_of_the_scale(reply: str, label: str | None, failure: str | None) -> None:
    rubric = Rubric("How good?", tuple(map(str, range(1, 11))), shape="numbers")
    assert "a whole number from 1 to 10" in rubric.form
    read = read_reply(rubric, {"text": reply, "finish": "stop"})
    assert (read.label, read.failure) == (label, failure)
    if reply == '{"label": 7}':
        assert read_reply(replace(rubric, shape="words"), {"text": reply, "finish": "stop"}).label is None


@pytest.mark.parametrize(("least", "most"), [(1, 10), (0, 3), (0, 100), (1, 2)])
def test_what_ratings_earn_is_even_and_exact(least: int, most: int) -> None:
    scores = evenly([str(number) for number in range(least, most + 1)])
    assert scores.scale == most - least
    for number in range(least, most + 1):
        assert scores.of(str(number), None) == number - least
    assert scores.ends == (least, most)
