"""Each mistake is answered at its place with a way out, and following the way out gives the right scores.

The scores are held against an oracle that knows nothing of gridc: it adds the numbers in the question.
"""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gridc.cli import main
from gridc.compiler.compile import Compiled, compile_spec
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.preflight.hazards import prove_hazards
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
    prove_hazards(found.study, found.source)
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
                    assert score_sample(cell.setting, sample.item, [answer]).score == (said == truth)
            else:
                shown = dict(re.findall(r"\b([A-D])\. (it is \d+)", request.prompt.messages[-1][1]))
                assert truth in shown.values()
                for letter, text in shown.items():
                    assert score_sample(cell.setting, sample.item, [{"text": letter}]).score == (
                        text == truth
                    )
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


@pytest.mark.parametrize(
    ("first", "second", "gold"),
    [("yes", "no", {"0": "no", "1": "yes"}), ("True", "False", {"0": "False", "1": "True"})],
)
def test_0_and_1_beside_yes_and_no_are_read_as_everyone_does_or_as_the_spec_says(
    first: str, second: str, gold: dict[str, str]
) -> None:
    text = STUDY.replace('["a", "b", "c", "d"]', '["x", "y"]')
    rows = "".join(f"Is {number} odd?,{first},{second},{number % 2}\r\n" for number in range(24))
    files = {"sums.csv": f"question,x,y,answer\r\n{rows}".encode()}
    with pytest.raises(GridcError) as caught:
        compiled(text, files)
    (only,) = caught.value.diagnostics
    assert only.code == "GC334" and only.help is not None and 'gold = "answer"' in (only.line or "")
    mapped, places = only.help.split("; or, if places are meant, ")
    (benchmark,) = compiled(text.replace('gold = "answer"', mapped), files).study.items.values()
    assert {item.query: item.options[item.gold or 0] for item in benchmark.sampled} == {
        f"Is {number} odd?": gold[str(number % 2)] for number in range(24)
    }
    stated = text.replace("[benchmark.loading.fields]", f"[benchmark]\n{places}\n[benchmark.loading.fields]")
    stated = stated.replace("[benchmark]\n", "")
    (benchmark,) = compiled(stated, files).study.items.values()
    assert [item.gold for item in benchmark.sampled] == [number % 2 for number in range(24)]
    other = {
        "sums.csv": files["sums.csv"].replace(f"{first},{second}".encode(), f"{second},{first}".encode())
    }
    assert compiled(text, other).study.items["sums"].sampled[1].best == first


SERVER = 'engine = "api"\nsource = "my-model-2026-01-01"\nbase_url = "{url}"\nkey_env = "MY_KEY"\n'


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("https://llm.example.org/v1/chat/completions", "https://llm.example.org/v1"),
        ("https://llm.example.org/v1/completions", "https://llm.example.org/v1"),
        ("https://llm.example.org/models", "https://llm.example.org"),
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1"),
    ],
)
def test_an_address_at_which_nothing_is_asked_is_answered_with_the_right_one(url: str, right: str) -> None:
    at = 'engine = "hf"\nsource = "builtin:pocket-llama"\n'
    Path("sums.csv").write_bytes(sums())
    SPEC.write_text(STUDY.replace(at, SERVER.format(url=url)))
    code, output = cli("validate")
    assert code == 3 and "error[GC104]" in output
    assert (written := re.search(r'write `(base_url = ".*")` here', output)) is not None
    assert written[1] == f'base_url = "{right}"'
    SPEC.write_text(STUDY.replace(at, SERVER.format(url=right)))
    assert cli("validate")[0] == 0


def test_status_before_the_first_run_says_what_there_is() -> None:
    compiled(STUDY, {})
    code, output = cli("status")
    assert code == 0 and "nothing is run yet; " in output and "not stamped; `gridc stamp`" in output
    planned = json.loads(
        cli("plan", "--json")[1].partition("{")[1] + cli("plan", "--json")[1].partition("{")[2]
    )
    told = json.loads(cli("status", "--json")[1])
    assert told["total"] == planned["counts"]["unique"] == 2 * 2 * 24
    assert (told["begun"], told["stamped"], told["complete"]) == (False, False, False)
    assert cli("stamp")[0] == 0
    code, output = cli("status")
    assert code == 0 and "stamped: " in output and "`gridc run` asks" in output
    SPEC.write_text(STUDY.replace("max_tokens = 8", "max_tokens = 9"))
    assert cli("status")[0] == 4  # what departs from the stamp is told as everywhere


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("replicates", "Independent answers per item"),
        ("harness.max_tokens", "Longest answer, in tokens."),
        ("`temperature`", "0 is greedy decoding."),
        ("[[axis.level]]", "One value of an axis"),
        ("f1", "a value of `kind` of [[statistic]]"),
        ("ranking", "An order of models"),
        ("gc101", "unknown key"),
    ],
)
def test_explain_takes_a_word_of_a_spec(word: str, says: str) -> None:
    code, output = cli("explain", word)
    assert code == 0 and says in output


def test_explain_of_a_misspelt_word_names_the_nearest() -> None:
    code, output = cli("explain", "replicate")
    assert code == 2 and "did you mean `gridc explain replicates`?" in output
    assert "gridc docs reference" in cli("explain", "zzzzzz")[1]


def test_explain_without_a_code_lists_them_all() -> None:
    code, output = cli("explain")
    assert code == 0 and "GC334  how the options are named is not clear" in output
    assert "lists them all" in cli("explain", "GC999")[1]


def test_a_misspelt_spec_is_answered_with_the_one_that_is_there() -> None:
    SPEC.write_text(STUDY)
    code, output = cli("validate", "gridcrad.toml")
    assert code == 3 and "did you mean `gridcard.toml`?" in output
