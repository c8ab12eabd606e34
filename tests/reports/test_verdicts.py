"""Whether two models differ, at its corners: ties, a target, copies, silence, many pairs."""

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.synthetic import fill
from gridc.compiler.compile import compile_spec
from gridc.compiler.lowering.calls import PlannedSample
from gridc.reports.findings.findings import all_findings
from gridc.reports.findings.verdicts import VERDICTS
from gridc.runtime.store.store import Store
from gridc.schema.verdicts import VerdictRow, VerdictsRow
from tests.studies import Messages, Scripted, axis, behind, benchmark, carried_out, head, written
from tools.servers.http import Server

FRAMES = axis("frame", {"plain": 'prompt = "{{ question }}"', "exam": 'prompt = "Exam. {{ question }}"'})
ONE = 'harness = { prompt = "{{ question }}", METHOD }\n'
SUMS = benchmark(
    "sums", 'query = "ask", options = ["no", "yes"], gold = "key"', 'option_order = "file"', 'unit = "item"'
).replace("loading.fields", 'loading.gold = "letter"\nloading.fields')
PROMPTS = benchmark("prompts", 'query = "ask", expected = "should"', 'unit = "item"')

SORRY = "I'm sorry, I can't help with that."

Says = Callable[[str, str, int, int], str | None]
"""What a model says in a frame to an item, by number and gold: a letter; None: nothing readable."""


def sums(count: int, asked: int | None = None) -> list[dict[str, str]]:
    """Questions of two options, of which the first `asked` are each asked again and again."""
    return [
        {"ask": f"Is {n % (asked or count)} odd?", "no": "No", "yes": "Yes", "key": "AB"[n % 2]}
        for n in range(count)
    ]


def prompts(count: int, harmful: int) -> list[dict[str, str]]:
    return [
        {"ask": f"How is thing {n} done?", "should": "refuse" if n < harmful else "comply"}
        for n in range(count)
    ]


def studied(
    folder: Path,
    rows: Sequence[object],
    says: Says,
    models: Sequence[str] = ("ant", "bee"),
    items: str = SUMS,
    frames: str = FRAMES,
    analysis: str = "",
    waived: str = "",
) -> VerdictsRow | None:
    """The verdicts of a study whose models say this."""
    method = "refusal_keywords" if "expected" in items else "extract"
    spec = head("s", behind("http://localhost:1/v1", *models, version="-2026-01-01"), waived=waived)
    stated = f'method = "{method}"'
    spec += ONE.replace("METHOD", stated) if not frames else f"harness = {{ {stated} }}\n"
    written(folder, f"{spec}{items}{frames}[sampling]\nseed = 7\n[analysis]\n{analysis}\n", rows)

    def say(cell: Any, sample: PlannedSample) -> str:
        item = sample.item
        gold = {"comply": 0, "refuse": 1}[item.expected] if item.expected else item.gold or 0
        said = says(cell.model, " ".join(cell.levels.values()), int(item.id.rpartition("-")[2]) - 1, gold)
        if said is None:
            return ""
        if item.expected:
            return ("Here is how.", SORRY)["AB".index(said)]
        return f"Answer: {said}"

    compiled = compile_spec(folder / "gridcard.toml", None)
    fill(compiled, folder / "store.sqlite", say)
    return found(folder)


def found(folder: Path) -> VerdictsRow | None:
    compiled = compile_spec(folder / "gridcard.toml", None)
    assert compiled.lock is not None
    with Store.open(folder / "store.sqlite") as store:
        return all_findings(compiled, compiled.lock, store)[VERDICTS]


def right(gold: int, is_right: bool) -> str:
    return "AB"[gold if is_right else 1 - gold]


def only(verdicts: VerdictsRow | None) -> VerdictRow:
    assert verdicts is not None
    (row,) = verdicts.rows
    return row


@pytest.mark.parametrize("margin", ["", "margin = { pp = 10 }"])
def test_ties_everywhere(margin: str, tmp_path: Path) -> None:
    verdicts = studied(tmp_path, sums(100), lambda *_: "A", analysis=margin)
    row = only(verdicts)
    assert (row.gap, row.better, row.p, row.p_holm) == (0, None, 1, 1)
    assert row.choices is not None
    assert (row.choices.ahead, row.choices.behind, row.choices.tied, row.choices.measured) == (0, 0, 2, 2)
    assert not sum(turn.turned for turn in row.choices.turns)
    assert (row.choices.survival, row.choices.first) == ("open", None)
    assert row.choices.strength == "descriptive"
    if margin:
        assert row.answer == "within_margin"
        assert row.p_within == pytest.approx(0.9**100)
        assert row.p_within_holm == pytest.approx(2 * 0.9**100)
    else:
        assert (row.answer, row.p_within, row.p_within_holm) == ("not_told_apart", None, None)


def test_one_configuration(tmp_path: Path) -> None:
    """McNemar's test by hand: 11 items that one model alone has right, and 1 that the other has."""
    only_ant = {*range(11)}
    row = only(
        studied(
            tmp_path, sums(40), frames="",
            says=lambda model, _, n, gold: right(gold, n not in only_ant if model == "bee" else n != 11),
        )
    )  # fmt: skip
    assert row.choices is None
    assert (row.value_a, row.value_b, row.gap) == (39 / 40, 29 / 40, 10 / 40)
    assert row.p == pytest.approx(2 * 13 / 2**12)
    assert (row.test, row.better, row.answer, row.p_holm) == ("mcnemar", "ant", "differ", row.p)


def test_every_question_of_the_study_is_in_one_family(tmp_path: Path) -> None:
    """Three models, two benchmarks: bee and cow miss 8 items that ant has right, p = 1/128, of six."""
    other = SUMS.replace('"sums"', '"more"')
    verdicts = studied(
        tmp_path, sums(30), lambda model, _, n, gold: right(gold, model == "ant" or n >= 8),
        ("ant", "bee", "cow"), f"{SUMS}{other}", frames="",
    )  # fmt: skip
    assert verdicts is not None and verdicts.members == 6
    assert [row.p for row in verdicts.rows] == [1 / 128, 1 / 128, 1] * 2
    assert [row.p_holm for row in verdicts.rows] == [6 / 128, 6 / 128, 1] * 2
    assert [row.answer for row in verdicts.rows] == ["differ", "differ", "not_told_apart"] * 2


def test_the_lower_score_is_the_better_one(tmp_path: Path) -> None:
    lower = SUMS.replace("higher_is_better", "lower_is_better")
    row = only(
        studied(tmp_path, sums(40), lambda model, _, n, gold: right(gold, model == "ant"), items=lower)
    )
    assert row.gap == 1 and row.lower
    assert (row.better, row.answer) == ("bee", "differ")
    assert row.choices is not None
    assert (row.choices.ahead, row.choices.behind) == (0, 2)
    assert (row.choices.survival, row.choices.first) == ("holds", "bee")


RIGHT = {("ant", "plain"), ("bee", "exam")}


def test_the_order_turns_with_the_frame(tmp_path: Path) -> None:
    """The reference says who is better; the other frame that this depends on it."""
    for anchor, better in (("plain", "ant"), ("exam", "bee")):
        row = only(
            studied(
                tmp_path / anchor, sums(40),
                lambda model, frame, n, gold: right(gold, (model, frame) in RIGHT or n % 4 < 1),
                analysis=f'anchor = {{ frame = "{anchor}" }}',
            )
        )  # fmt: skip
        assert row.configuration == f"frame={anchor}"
        assert (row.better, row.answer) == (better, "differ")
        assert row.choices is not None
        assert (row.choices.survival, row.choices.first) == ("depends", None)
        assert [(turn.axis, turn.turned, turn.compared) for turn in row.choices.turns] == [("frame", 1, 1)]


AHEAD = {
    "soft plain": "ant", "soft exam": "bee", "soft quiz": "ant", "loud exam": "ant", "loud quiz": "bee",
}  # fmt: skip


def test_the_axis_that_turns_most_stands_first(tmp_path: Path) -> None:
    """Loud and plain, both are equal: a tie turns nothing."""
    tones = axis("tone", {"soft": 'system = "Be soft."', "loud": 'system = "Be loud."'})
    frames = (
        FRAMES + axis("frame", {"quiz": 'prompt = "Quiz. {{ question }}"'}).partition('id = "frame"\n')[2]
    )
    row = only(
        studied(
            tmp_path, sums(40), frames=tones + frames,
            says=lambda model, place, n, gold: right(gold, AHEAD.get(place, model) == model or n > 30),
        )
    )  # fmt: skip
    assert row.choices is not None
    assert (row.choices.ahead, row.choices.behind, row.choices.tied) == (3, 2, 1)
    assert [(turn.axis, turn.turned, turn.compared) for turn in row.choices.turns] == [
        ("frame", 2, 2), ("tone", 2, 3),
    ]  # fmt: skip


def test_the_score_nearest_to_a_target_is_best(tmp_path: Path) -> None:
    """Nothing is tested; the counts are of distances."""
    target = SUMS.replace('direction = "higher_is_better"', "direction = 0.5")
    verdicts = studied(
        tmp_path, sums(40), lambda model, _, n, gold: right(gold, model == "ant" or n < 25), items=target
    )
    row = only(verdicts)
    assert verdicts is not None and verdicts.members == 0
    assert (row.test, row.answer, row.why, row.better) == ("not_tested", "not_tested", "target", None)
    assert row.choices is not None
    assert (row.choices.ahead, row.choices.behind, row.choices.survival) == (0, 2, "open")


def test_copies_that_are_taken_as_independent(tmp_path: Path) -> None:
    verdicts = studied(tmp_path, sums(40, 20), lambda model, _, n, gold: right(gold, model == "ant"))
    row = only(verdicts)
    assert (row.test, row.answer, row.why, row.p) == ("not_tested", "not_tested", "copies", 1)
    assert row.choices is not None
    assert (row.choices.ahead, row.choices.survival) == (2, "open")


@pytest.mark.parametrize("items", [SUMS, PROMPTS])
def test_a_model_without_a_readable_answer(items: str, tmp_path: Path) -> None:
    rows = sums(40) if items is SUMS else prompts(40, 20)
    verdicts = studied(
        tmp_path, rows, lambda model, _, n, gold: None if model == "bee" else right(gold, n % 9 > 0),
        ("ant", "bee", "cow"), items, waived="" if items is SUMS else "GC520",
    )  # fmt: skip
    assert verdicts is not None
    assert verdicts.members == (1 if items is SUMS else 2)
    for row in verdicts.rows:
        silent = "bee" in (row.a, row.b)
        assert row.why == ("no_answer" if silent else "")
        assert row.answer == ("not_tested" if silent else "not_told_apart")
        assert row.unread_decides == silent
        assert row.choices is None or row.choices.survival == "open"


def test_more_pairs_than_are_told(tmp_path: Path) -> None:
    """Ten models have 45 pairs; nine have 36."""
    for models, told in ((10, 0), (9, 36)):
        verdicts = studied(
            tmp_path / str(models), sums(12), lambda *_: "A", [f"m{n}" for n in range(models)], frames=""
        )
        assert verdicts is not None
        assert (len(verdicts.rows), verdicts.members) == (told, told)
        assert verdicts.untold == (() if told else ("sums",))


def test_a_missing_answer(tmp_path: Path) -> None:
    assert studied(tmp_path, sums(12), lambda *_: "A") is not None
    with sqlite3.connect(tmp_path / "store.sqlite") as db:
        db.execute("UPDATE sample SET score = NULL, choice = NULL, evidence = NULL WHERE item LIKE '%03'")
    assert found(tmp_path) is None


def test_a_difference_beyond_a_margin_and_one_below_it(tmp_path: Path) -> None:
    """bee is 30 points worse than ant, and cow one item of 200; both differ from bee."""
    wrong = {"ant": 0, "bee": 60, "cow": 1}
    verdicts = studied(
        tmp_path, sums(200), lambda model, _, n, gold: right(gold, n >= wrong[model]),
        tuple(wrong), analysis="margin = { pp = 5 }",
    )  # fmt: skip
    assert verdicts is not None and (verdicts.margin, verdicts.members) == (0.05, 6)
    assert {(row.a, row.b): row.answer for row in verdicts.rows} == {
        ("ant", "bee"): "differ", ("ant", "cow"): "within_margin", ("bee", "cow"): "differ",
    }  # fmt: skip


def test_a_small_difference_that_is_found_is_told_as_one(tmp_path: Path) -> None:
    """Of 600 items 30 to none: the models differ, and by less than the margin; the row has both p."""
    row = only(
        studied(
            tmp_path, sums(600), lambda model, _, n, gold: right(gold, n >= 30 or model == "ant"), frames="",
            analysis="margin = { pp = 20 }",
        )
    )  # fmt: skip
    assert row.answer == "differ"
    assert row.p_within_holm is not None and row.p_within_holm < 0.01


def refusing(wrong: dict[str, int], unread: dict[str, int]) -> Says:
    """So many of each model's prompts, from the last one down, are answered wrongly; from the first one up,
    so many cannot be read."""

    def says(model: str, _: str, n: int, gold: int) -> str | None:
        return None if n < unread.get(model, 0) else right(gold, n < 60 - wrong[model])

    return says


def test_the_two_kinds_of_errors_are_two_questions(tmp_path: Path) -> None:
    """Of 60 prompts 20 are harmful, which all models refuse; bee refuses 15 of the others too."""
    verdicts = studied(
        tmp_path, prompts(60, 20), refusing({"ant": 0, "bee": 15}, {}), items=PROMPTS, waived="GC520"
    )
    assert verdicts is not None
    over, unsafe = verdicts.rows
    assert (over.what, over.better, over.answer) == ("over_refusal", "ant", "differ")
    assert over.p == pytest.approx(2 / 2**15)
    assert over.choices is not None
    assert (over.choices.survival, over.choices.first, over.choices.strength) == ("holds", "ant", "certified")
    assert over.choices.p_holds == pytest.approx(4 * 2 / 2**15)
    assert (unsafe.what, unsafe.better, unsafe.answer) == ("unsafe_compliance", None, "not_told_apart")


@pytest.mark.parametrize("unread", [4, 5, 12])
def test_unread_answers_count_for_the_rate_of_their_own_prompts(unread: int, tmp_path: Path) -> None:
    """So many of ant's answers to 20 harmful prompts, and none to the 40 others, cannot be read. Above a
    fifth of the 20 nothing is said of the rate, though it is a fifth of all prompts at most."""
    verdicts = studied(
        tmp_path, prompts(60, 20), refusing({"ant": 0, "bee": 60}, {"ant": unread}), items=PROMPTS,
        waived="GC520",
    )  # fmt: skip
    assert verdicts is not None
    over, unsafe = verdicts.rows
    assert (over.gap, over.unread_low, over.unread_high) == (-1, -1, -1)
    assert (unsafe.gap, unsafe.unread_low, unsafe.unread_high) == (-1, -1, -1 + unread / 20)
    assert (over.answer, over.why, over.better) == ("differ", "", "ant")
    told = ("differ", "") if unread <= 4 else ("not_tested", "unread")
    assert (unsafe.answer, unsafe.why) == told
    assert unsafe.choices is not None
    assert unsafe.choices.survival == ("holds" if unread <= 4 else "open")


def test_rates_have_their_own_direction(tmp_path: Path) -> None:
    """The best score is 0.5; fewer errors are better all the same."""
    verdicts = studied(
        tmp_path, prompts(60, 20), refusing({"ant": 0, "bee": 15}, {}), waived="GC520",
        items=PROMPTS.replace('direction = "higher_is_better"', "direction = 0.5"),
    )  # fmt: skip
    assert verdicts is not None
    over, _ = verdicts.rows
    assert (over.what, over.better, over.answer) == ("over_refusal", "ant", "differ")


JUDGED = axis("reading", {"judge": 'method = "judge"', "words": 'method = "refusal_keywords"'})
JUDGE = """
[judge]
source = "judge-2026-01-01"
base_url = "URL"
rubric = "Does it comply?"
labels = ["comply", "refuse"]
[sampling]
seed = 7
[analysis]
anchor = { reading = "ANCHOR" }
"""
EITHER = "scores = { comply = { comply = 1, refuse = 0 }, refuse = { comply = 0, refuse = 1 } }"


@pytest.mark.parametrize("anchor", ["judge", "words"])
def test_rates_that_are_not_counted_under_the_reference(anchor: str, tmp_path: Path) -> None:
    """A judge gives scores, and words give rates: the reference says which of them is asked about."""

    def script(model: str, messages: Messages) -> str:
        text = messages[-1]["content"]
        if model.startswith("judge"):
            return json.dumps({"label": "comply" if "Here is how" in text else "refuse"})
        asked = re.search(r"thing (\d+) done", text)
        number = int(asked[1]) if asked else 0
        return ("Here is how.", SORRY)[(number < 20) != (model.startswith("bee") and number % 2 == 1)]

    with Server(Scripted(script)) as served:
        spec = head("s", behind(served.url, "ant", "bee", version="-2026-01-01"))
        spec += 'harness = { prompt = "{{ question }}", max_tokens = 16 }\n'
        spec += PROMPTS.replace("loading.fields", f"{EITHER}\nloading.fields") + JUDGED
        spec += JUDGE.replace("URL", served.url).replace("ANCHOR", anchor)
        carried_out(written(tmp_path, spec, prompts(60, 20)))
    (path,) = tmp_path.rglob("certificate.json")
    rows = json.loads(path.read_text())["verdicts"]["rows"]
    asked = {"judge": ["score"], "words": ["over_refusal", "unsafe_compliance"]}[anchor]
    assert [row["what"] for row in rows] == asked
    assert all((row["better"], row["answer"]) == ("ant", "differ") for row in rows)


def test_the_certificate_has_them(tmp_path: Path) -> None:
    verdicts = studied(tmp_path, sums(12), lambda *_: "A", analysis="alpha = 0.01")
    assert verdicts is not None and verdicts.alpha == 0.01
    again = VerdictsRow.model_validate(json.loads(verdicts.model_dump_json()))
    assert again.rows == verdicts.rows
