"""Judges that think aloud or give their label in another form than JSON, from files to the scores."""

from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.instrument.judging import Rubric, read_reply
from gridc.diagnostics.errors import GridcError, IncompleteError
from gridc.schema.judging import PLACES
from tests.e2e.conftest import command
from tests.e2e.judged import JUDGE, Judging, serving
from tools.servers import faults
from tools.servers.faults import answer_to

PAIRS = JUDGE.replace(
    'labels = ["true", "untrue", "unclear"]', 'compares = {{ against = "bee", swap = true }}'
)
RATING = JUDGE.replace('labels = ["true", "untrue", "unclear"]', "scale = {{ from = 1, to = 5 }}")
KINDS = {
    "labels": (JUDGE, "{ true = 1, untrue = 0, unclear = 0 }"),
    "places": (PAIRS, "{ win = 1, tie = 0.5, loss = 0 }"),
    "numbers": (RATING, "{ 1 = 0, 2 = 0.25, 3 = 0.5, 4 = 0.75, 5 = 1 }"),
}


def points(folder: Path, kind: str, turn: str, reply: str) -> dict[str, int]:
    """What each model earns by a judge that always replies in one way."""
    judges, scores = KINDS[kind]
    with serving(folder, turns=[turn]) as made:
        stated = f'reply = "{reply}"' if reply else ""
        study = made.write(f"{stated}\nmax_tokens = 512", judges, scores=scores)
        study.run()
        assert study.verify().complete
        return earned(made)


def earned(made: Judging) -> dict[str, int]:
    return dict(
        made.rows(
            """SELECT cell.model, sum(score) FROM sample JOIN cell ON cell.id = sample.cell
               WHERE configuration LIKE '%scoring=judge%' GROUP BY 1"""
        )
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_thinks_aloud_gives_the_order_of_one_that_does_not(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two models, one of which says A and the other one B, whatever the question is."""

    def reply(content: dict[str, Any]) -> dict[str, Any]:
        sound = answer_to(content)
        letter = "A" if content["model"].startswith("ant") else "B"
        sound["choices"][0]["message"]["content"] = f"The answer is {letter}."
        return sound

    monkeypatch.setattr(faults, "answer_to", reply)
    plain = points(tmp_path / "none", kind, "none", "")
    assert len(plain) == 2 and len(set(plain.values())) == 2, "the models differ"
    assert points(tmp_path / "thinks", kind, "thinks", "") == plain
    for form in ("brackets", "verdict", "last_line"):
        assert points(tmp_path / form, kind, form, form) == plain


@pytest.mark.parametrize(("turn", "why"), [("prose", "prose"), ("endless", "cut off"), ("brackets", "prose")])
def test_a_run_in_which_no_reply_of_a_judge_can_be_read_says_so(tmp_path: Path, turn: str, why: str) -> None:
    with serving(tmp_path / "s", turns=[turn]) as made:
        study = made.write("reasks = 0")
        with pytest.raises(GridcError, match=f"GC622 none of the .* replies of `judge` has a label.*`{why}`"):
            study.run()
        assert set(earned(made).values()) == {0}, "everything is stored and scored"
        again = command("run", cwd=tmp_path / "s")
        assert again.returncode == IncompleteError.exit_code
        assert "GC622" in again.stderr
        assert ("reply = " if why == "prose" else "max_tokens") in again.stderr


@pytest.mark.parametrize(
    ("reply", "shape", "text", "label", "failure"),
    [
        ("brackets", "numbers", "It is good.\n\nRating: [[7]]", "7", None),
        ("brackets", "numbers", "<think>[[2]]</think>Rating: [[7]].", "7", None),
        ("brackets", "numbers", "Rating: [[7.5]]", None, "other label"),
        ("brackets", "numbers", "Rating: 7", None, "no label"),
        ("brackets", "places", "[[A]]", "A", None),
        ("brackets", "places", "Both are good. [[C]]", "tie", None),
        ("brackets", "places", "My final verdict is: [[B>>A]]", "B", None),
        ("brackets", "words", "Not [[good]] but [[Bad]]", "bad", None),
        ("verdict", "places", "Verdict: A>B", "A", None),
        ("verdict", "places", "**Verdict:** **A < B**", "B", None),
        ("verdict", "places", "Verdict: tie", "tie", None),
        ("verdict", "numbers", "Rating: 10\n", "10", None),
        ("verdict", "numbers", "Rating: 7/10", None, "other label"),
        ("verdict", "words", "I say good.", None, "no label"),
        ("last_line", "words", "It says all.\n\n**Good**\n", "good", None),
        ("last_line", "words", "It is good in every way.", None, "other label"),
        ("last_line", "words", "<think>\ngood", None, "cut off"),
        ("last_line", "words", "<think>x</think>\n", None, "empty"),
        ("verdict", "words", "I'm sorry, but I can't help with that.", None, "refused"),
        ("json", "words", '<think>{"label": "bad"}</think>{"label": "good"}', "good", None),
        ("json", "words", 'It is good: {"label": "good"}', None, "prose"),
    ],
)
def test_where_a_label_stands(
    reply: str, shape: str, text: str, label: str | None, failure: str | None
) -> None:
    labels = {"numbers": tuple(map(str, range(1, 11))), "places": PLACES, "words": ("good", "bad")}[shape]
    rubric = Rubric("Which?", labels, shape=shape, reply=reply)  # type: ignore[arg-type]
    read = read_reply(rubric, {"text": text, "finish": "stop"})
    assert (read.label, read.failure) == (label, failure)
    cut = read_reply(rubric, {"text": "It is hard to s", "finish": "length"})
    assert (cut.label, cut.failure) == (None, "other label" if reply == "last_line" else "cut off")


def test_a_reply_with_more_than_a_label_is_json(tmp_path: Path) -> None:
    asked = pytest.raises(GridcError, match="a reply with `confidence` is a JSON object")
    with serving(tmp_path / "s") as made, asked:
        made.write('reply = "brackets"\nconfidence = 5').validate()
