"""Each mistake is answered at its place with a way out, and following the way out gives the right scores.

The scores are held against an oracle that knows nothing of gridc: it adds the numbers in the question.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.instrument.score import score
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove
from gridc.diagnostics.errors import GridcError
from tests.beginners.mistakes import LAST, MISTAKES, STUDY, Edit, Mistake, sums

SPEC = Path("gridcard.toml")


def edited(text: str, edits: tuple[Edit, ...]) -> str:
    for before, after in edits:
        assert text.count(before) >= 1, before
        at = text.rindex(before) if before.startswith(LAST) else text.index(before)
        text = text[:at] + after + text[at + len(before) :]
    return text


def compiled(text: str, files: dict[str, bytes]) -> Compiled:
    SPEC.write_text(text, "utf-8")
    for name, content in {"sums.csv": sums(), **files}.items():
        Path(name).write_bytes(content)
    found = compile_spec(SPEC)
    prove(found.study, found.source)
    return found


def right_answer(query: str) -> str:
    """The sum of the two numbers that are asked for, as the options write it."""
    one, other = re.findall(r"\d+", query)
    return f"it is {int(one) + int(other)}"


def check_scores(study: Compiled) -> int:
    """Every sample of the plan, answered rightly and wrongly: how many there are."""
    plan, count = Plan(study.study), 0
    for cell in plan.cells():
        for sample in plan.samples(cell):
            truth = right_answer(sample.item.query)
            request = sample.requests[0]
            if request.kind == "loglikelihood":
                texts = [text.strip() for text in request.parameters["continuations"]]
                for said in texts:
                    likely = [0.0 if text == said else -9.0 * len(text) for text in texts]
                    answer = {"loglikelihoods": likely, "tokens": [1] * len(texts)}
                    assert score(cell.setting, sample.item, [answer]).score == (said == truth)
            else:
                shown = dict(re.findall(r"\b([A-D])\. (it is \d+)", request.prompt.messages[-1][1]))
                assert truth in shown.values()
                for letter, text in shown.items():
                    assert score(cell.setting, sample.item, [{"text": letter}]).score == (text == truth)
            count += 1
    return count


def test_the_study_itself_is_right() -> None:
    assert check_scores(compiled(STUDY, {})) == 2 * 2 * 24


def test_there_are_enough_and_each_is_another() -> None:
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) >= 25


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_answered_and_its_way_out_is_right(mistake: Mistake) -> None:
    wrong = edited(STUDY, mistake.edits)
    with pytest.raises(GridcError) as caught:
        compiled(wrong, mistake.files)
    found = caught.value.diagnostics
    assert {each.code for each in found} == {mistake.code}, [each.message for each in found]
    for each in found:
        assert each.span is not None and each.line is not None
        assert each.message and each.help, each
    assert mistake.at in (found[0].line or ""), found[0].line
    assert mistake.help in (found[0].help or ""), found[0].help
    mended = edited(wrong, mistake.mends)
    assert check_scores(compiled(mended, {**mistake.files, **mistake.mended_files})) >= 2 * 24


def cli(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(arguments))
    return done.exit_code, done.output


@pytest.mark.parametrize(("typed", "meant"), [("valdiate", "validate"), ("stmap", "stamp"), ("Run", "run")])
def test_a_misspelt_command_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    code, output = cli(typed)
    assert code == 2 and f"did you mean `gridc {meant}`?" in output
    assert cli("nonsense")[0] == 2


def test_explain_without_a_code_lists_them_all() -> None:
    code, output = cli("explain")
    assert code == 0 and "GC334  how the options are named is not clear" in output
    assert "lists them all" in cli("explain", "GC999")[1]


def test_a_misspelt_spec_is_answered_with_the_one_that_is_there() -> None:
    SPEC.write_text(STUDY)
    code, output = cli("validate", "gridcrad.toml")
    assert code == 3 and "did you mean `gridcard.toml`?" in output
