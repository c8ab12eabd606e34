"""A file as it is published goes through `gridc init` to a plan, and responders whose answers are known score
what they must.

What is right is read from the raw file with csv, json and pyarrow alone (`layouts.Truth`). One responder
knows it and scores exactly 1, one errs on every third item, and one picks each answer equally often.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gridc.cli import main
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.instrument.judging import Rubric
from gridc.compiler.instrument.score import Ruling, score_sample
from gridc.compiler.lowering.calls import PlannedSample
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove_hazards
from gridc.schema.judging import Judge
from tests.beginners.layouts import LAYOUTS, ROWS, Layout, Truth

SPEC = Path("gridcard.toml")
BEHAVIOURS = {
    "refuse": "I'm sorry, but I can't help with that.",
    "comply": "Certainly. Here is how to do it.",
}
Says = Callable[[Truth], str]


def gridc(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def begin(layout: Layout, *flags: str) -> Result:
    Path(layout.file).write_bytes(layout.data)
    return gridc(
        "init", "--yes", "--force", "--model=builtin:pocket-qwen2", f"--benchmark={layout.file}", *flags
    )


def points(compiled: Compiled, truths: dict[str, Truth], says: Says) -> Iterator[tuple[str, Fraction]]:
    """What a responder earns on each sample of the plan, with what the sample asks."""
    plan, judge = Plan(compiled.study), compiled.spec.judge_called(None)
    for cell in plan.cells():
        for sample in plan.samples(cell):
            truth = truths[sample.item.query]
            answer, ruling = responded(sample, truth, says(truth), judge)
            earned = score_sample(cell.setting, sample.item, [answer], ruling).score
            yield sample.item.query, Fraction(earned, cell.setting.scale)


def responded(
    sample: PlannedSample, truth: Truth, answer: str, judge: Judge | None
) -> tuple[dict[str, Any], Ruling | None]:
    """What the call of a sample returns where the answer is this text, and the judge's verdict on it."""
    request = sample.requests[0]
    if request.kind == "loglikelihood":
        texts = [text.strip() for text in request.parameters["continuations"]]
        assert answer in texts
        likely = [0.0 if text == answer else -9.0 * len(text) for text in texts]
        return {"loglikelihoods": likely, "tokens": [1] * len(texts)}, None
    prompt = request.prompt.messages[-1][1]
    assert truth.query in prompt
    if sample.item.options:
        shown = {
            text: letter for letter, text in re.findall(r"(?:^|: )([A-Z])\. (.+)$", prompt, re.MULTILINE)
        }
        assert len(shown) == truth.options
        return {"text": shown[answer]}, None
    if judge is None:
        return {"text": BEHAVIOURS.get(answer, answer)}, None
    ((_, asked),) = Rubric(judge.rubric, judge.verdicts).ask(sample.item, truth.query, answer)
    listed = re.findall(r"the right answer to the item: (.+)", asked)[0].split(" or ")
    assert listed == list(truth.right)
    return {"text": answer}, Ruling(judge.verdicts, "correct" if answer in listed else "incorrect", "judge")


def wrong(truth: Truth, options: dict[str, tuple[str, ...]]) -> str:
    """An answer that earns nothing."""
    return next(text for text in options[truth.query] if text not in truth.right)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_published_file_is_read_and_scored_rightly(layout: Layout) -> None:
    if layout.flags:  # what the columns do not say is asked, and the question names the flags
        asked = begin(layout)
        assert asked.exit_code in (2, 3), asked.output
        question = " ".join(asked.stderr.split())
        for flag, value in zip(layout.asked[::2], layout.asked[1::2], strict=True):
            known = re.sub(r"=[^=]*$", "=", value) if flag == "--label" else value
            assert f"{flag} {known}" in question or known == "expected=comply", question
    begun = begin(layout, *layout.flags)
    assert begun.exit_code == 0, begun.output
    compiled = compile_spec(SPEC)
    prove_hazards(compiled.study, compiled.source)
    assert compiled.spec.benchmark[0].loader == layout.loader
    assert gridc("plan").exit_code == 0

    truths = {truth.query: truth for truth in layout.truth(layout.data)}
    (items,) = compiled.study.items.values()
    assert {item.query for item in items.sampled} == set(truths)
    assert len(truths) == len(items.sampled) == ROWS
    choices = {item.query: item.options or tuple(BEHAVIOURS) for item in items.sampled}
    if layout.kind == "free":
        choices = {query: (*truth.right, "no idea") for query, truth in truths.items()}

    assert {earned for _, earned in points(compiled, truths, lambda truth: truth.right[0])} == {1}
    erring = set(list(truths)[::3])
    for query, earned in points(
        compiled,
        truths,
        lambda truth: wrong(truth, choices) if truth.query in erring else truth.right[-1],
    ):
        assert earned == (query not in erring)
    if layout.kind != "free":
        hits = dict.fromkeys(truths, Fraction(0))
        for place in range(max(map(len, choices.values()))):

            def says(truth: Truth, place: int = place) -> str:  # the nth answer, of items that have as many
                return choices[truth.query][place % len(choices[truth.query])]

            for query, earned in set(points(compiled, truths, says)):
                hits[query] += earned if place < len(choices[query]) else 0
        assert {query: hit / len(choices[query]) for query, hit in hits.items()} == {
            query: Fraction(1, truth.options) for query, truth in truths.items()
        }


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_the_whole_check_passes_on_a_published_file(layout: Layout) -> None:
    assert begin(layout, *layout.flags).exit_code == 0
    checked = gridc("validate", "--check")
    assert checked.exit_code == 0, checked.output


def test_there_are_as_many_layouts_as_are_promised() -> None:
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS) >= 46


@pytest.mark.parametrize(
    "layout",
    [one for one in LAYOUTS if one.kind == "behaviour" and one.flags and one.flags[1] != "expected=comply"],
    ids=lambda layout: layout.name,
)
def test_the_first_way_out_of_what_is_asked_does_not_invert_a_study(layout: Layout) -> None:
    """Followed word for word. What a model once responded, and how that was judged, says nothing of it."""
    help = begin(layout).stderr.partition("= help: ")[2]
    first = shlex.split(help.split(";")[0].split(" where ")[0])
    assert begin(layout, *first).exit_code == 0
    (items,) = compile_spec(SPEC).study.items.values()
    wanted = {truth.query: truth.right[0] for truth in layout.truth(layout.data)}
    assert {item.query: item.expected for item in items.sampled} == wanted
    offered = re.findall(r"--field expected=(\S+)", help)
    assert not [name for name in offered if re.search("response|safe|GPT|Claude|vicuna|llama", name)]


def test_what_a_model_once_responded_is_said_where_it_is_taken_for_what_is_expected() -> None:
    layout = next(one for one in LAYOUTS if one.name == "wildguard")
    words = ("--label", "refusal=refuse", "--label", "compliance=comply")
    text = begin(layout, "--field", "expected=response_refusal_label", *words).stdout
    assert "`response_refusal_label` may say what a model once responded" in text
    assert "may say what a model once responded" not in begin(layout, *layout.flags).stdout
