"""Task files: what they add to a spec, how items are asked, and whether the prompts are the package's."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.compile import compile_spec
from gridc.compiler.frontend.tasks import read_task
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import arranged
from gridc.compiler.instrument.score import score_sample
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.lowering.plan import Plan
from gridc.compiler.lowering.task_prompts import prompt_proofs
from gridc.compiler.preflight import task_files
from gridc.diagnostics.errors import GridcError
from gridc.schema.canonical import canonical

SPEC = """\
gridcard = 1
study = { id = "t", title = "A task", purpose = "descriptive", not_varied = ["all else"] }
model = [{ id = "pocket", engine = "hf", source = "builtin:pocket-llama" }]
HARNESS
[[benchmark]]
id = "quiz"
loader = "lm-eval"
source = "task:quiz"
AXES"""
AXIS = '[[axis]]\nid = "x"\nvalues = { VALUES }\ntier = "core"\nprovenance = "a test"\n'
TEMPLATE = '{{ query }}{% if answer %}{{ " " }}{{ answer }}{% endif %}'


def question(number: int) -> str:
    return f"What is {number} and {number}?\nAnswer:"


EXEMPLARS = [(question(number), ("four", "six")[number % 2]) for number in range(10, 14)]
DRAWS = [[0, 2], [3, 1], [2, 3]]
OPTIONS = ["four", "six", "ten"]


def plain(number: int, draws: list[int], preamble: str) -> str:
    """A prompt as lm_eval writes it, in plain Python."""
    shown = "".join(f"{asked} {answer}\n\n" for asked, answer in (EXEMPLARS[place] for place in draws))
    return preamble + shown + question(number)


def chat(number: int, draws: list[int], preamble: str, turns: bool) -> str:
    """The same as messages of a chat."""
    system = [["system", preamble]] if preamble else []
    if turns:
        said = [[role, text] for place in draws
                for role, text in zip(("user", "assistant"), EXEMPLARS[place], strict=True)]  # fmt: skip
        return canonical([*system, *said, ["user", question(number)]]).decode()
    return canonical([*system, ["user", plain(number, draws, "")]]).decode()


def digest(context: str, delimiter: str) -> str:
    return sha256(canonical([[context, delimiter + option] for option in OPTIONS])).hexdigest()


def item(number: int, preamble: str = "") -> dict[str, Any]:
    prompts = {}
    for shots, draws in ((0, []), (2, DRAWS[number])):
        prompts[f"{shots}"] = digest(plain(number, draws, preamble), " ")
        prompts[f"{shots}:chat"] = digest(chat(number, draws, preamble, False), "")
        prompts[f"{shots}:turns"] = digest(chat(number, draws, preamble, True), "")
    return {
        "id": f"quiz-{number}", "member": "quiz", "query": question(number), "options": OPTIONS,
        "gold": [number], "extra": {"number": number}, "draws": {"2": DRAWS[number]}, "prompts": prompts,
        **({"preamble": preamble} if preamble else {}),
    }  # fmt: skip


def task(preamble: str = "", **more: Any) -> dict[str, Any]:
    return {
        "format": "gridc-task/1", "package": "lm_eval", "version": "0.4.13", "task": "quiz", "title": "Quiz",
        "seed": 1234, "shots": [0, 2], "direction": "higher_is_better",
        "settings": {
            "method": "loglikelihood", "prompt": TEMPLATE, "shots": 0, "options": "none",
            "option_order": "file", "seam": "context_length", "ties": "first", "normalise": "none",
        },
        "choices": {"metric": {"acc": {"normalise": "none"}, "acc_norm": {"normalise": "char"}}},
        "members": [{"name": "quiz", "items": 3}],
        "exemplars": [
            {"id": f"quiz-dev-{place}", "member": "quiz", "split": "dev", "query": asked, "answer": answer}
            for place, (asked, answer) in enumerate(EXEMPLARS)
        ],
        "items": [item(number, preamble) for number in range(3)],
        **more,
    }  # fmt: skip


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(content: Mapping[str, Any], axes: str = "", harness: str = "", name: str = "quiz") -> Path:
        (tmp_path / "tasks").mkdir(exist_ok=True)
        (tmp_path / "tasks" / f"{name}.json").write_text(json.dumps(content), "utf-8")
        spec = tmp_path / "gridcard.toml"
        spec.write_text(SPEC.replace("AXES", axes).replace("HARNESS", harness), "utf-8")
        return spec

    return written


SHOTS = AXIS.replace("VALUES", "shots = [0, 2]")


@pytest.mark.parametrize("preamble", ["", "Answer these.\n\n"])
@pytest.mark.parametrize(
    "harness",
    [
        "",
        "harness = { chat_template = true }",
        'harness = { chat_template = true, exemplars_as = "turns" }',
    ],
)
def test_prompts_are_those_of_the_package(write: Write, harness: str, preamble: str) -> None:
    study = compile_spec(write(task(preamble), SHOTS, harness, "quiz.shots-0-2")).study
    (proof,) = prompt_proofs(Plan(study))
    assert (proof.equal, proof.compared, proof.configurations, proof.others) == (6, 6, 2, 0)
    assert f"{proof}" == (
        "6 of 6 prompts are lm_eval 0.4.13's to the byte, as tasks/quiz.shots-0-2.json has them, in 2 "
        "configurations"
    )


def test_a_prompt_that_differs_is_named(write: Write) -> None:
    content = task()
    content["items"][1]["prompts"]["0"] = "0" * 64
    study = compile_spec(write(content)).study
    (proof,) = prompt_proofs(Plan(study))
    assert (proof.equal, proof.compared, proof.first) == (2, 3, "quiz-1")
    assert "(another is that of quiz-1)" in f"{proof}"


def test_a_prompt_of_ones_own_is_counted_apart(write: Write) -> None:
    values = 'prompt = { own = "{{ query }}{% if answer %} {{ answer }}{% endif %}", mine = "{{ query }}!" }'
    study = compile_spec(write(task(), AXIS.replace("VALUES", values))).study
    (proof,) = prompt_proofs(Plan(study))
    assert (proof.equal, proof.compared, proof.configurations, proof.others) == (3, 3, 1, 1)


def test_what_the_study_states_stands_and_the_rest_is_the_tasks(write: Write) -> None:
    (benchmark,) = compile_spec(write(task(), 'ties = "last"\ndirection = "lower"\n')).spec.benchmark
    assert (benchmark.ties, benchmark.method, benchmark.chat_template) == ("last", "loglikelihood", False)
    assert benchmark.direction == "lower_is_better"
    (benchmark,) = compile_spec(write(task(direction="lower_is_better"))).spec.benchmark
    assert benchmark.direction == "lower_is_better"


def test_the_names_of_a_task_stand_for_its_ways_to_score(write: Write) -> None:
    axes = AXIS.replace("VALUES", 'measurand = ["task:acc", "task:acc_norm"]')
    levels = compile_spec(write(task(), axes)).spec.axis[0].level
    assert [(level.measurand, level.normalise) for level in levels] == [(None, "none"), (None, "char")]
    with pytest.raises(GridcError) as raised:
        compile_spec(write(task(), axes.replace("acc_norm", "acc_nrom")))
    (found,) = raised.value.diagnostics
    assert (found.code, found.help) == ("GC202", "did you mean `task:acc_norm`?")


def test_several_options_can_be_right_in_any_order() -> None:
    asked = Item("i", "Which?", ("a", "b", "c", "d"), gold=2, golds=(0,))
    turned = arranged(asked, "reversed")
    assert asked.right == {0, 2} and {turned.options[place] for place in turned.right} == {"a", "c"}
    setting = Setting(prompt="{{ query }}", method="loglikelihood", ties="first")
    earned = [
        score_sample(setting, asked, [{"loglikelihoods": [-5.0 + 4 * (place == best) for place in range(4)],
                                "tokens": [1] * 4}]).score
        for best in range(4)
    ]  # fmt: skip
    assert earned == [1, 0, 1, 0]
    with pytest.raises(ValueError, match="are not different ones of its own"):
        Item("i", "Which?", ("a", "b"), gold=1, golds=(1,))


def test_each_option_can_have_a_context_of_its_own(write: Write) -> None:
    content = task()
    for number, held in enumerate(content["items"]):
        contexts = [f"The {option} is" for option in OPTIONS]
        sent = [[context, " here."] for context in contexts]
        held |= {"query": contexts[0], "contexts": contexts, "references": ["here."], "gold": [number]}
        held |= {"prompts": {"0": sha256(canonical(sent)).hexdigest()}}
    study = compile_spec(write(content)).study
    (proof,) = prompt_proofs(Plan(study))
    assert proof.equal == proof.compared == 3
    asked = study.items["quiz"].sampled[1]
    setting = Setting(prompt=TEMPLATE, method="loglikelihood", ties="first", normalise="char")
    answers = [{"loglikelihoods": [value], "tokens": [2]} for value in (-4.0, -3.0, -2.5)]
    assert score_sample(setting, asked, answers).choice == 2  # -4 / 4, -3 / 3 and -2.5 / 3
    harness = (
        'axis = [{ id = "n", values = { normalise = ["unconditional"] }, tier = "core", provenance = "x" }]'
    )
    with pytest.raises(GridcError) as raised:
        list(prompt_proofs(Plan(compile_spec(write(content, "", harness)).study)))
    (found,) = raised.value.diagnostics
    assert found.code == "GC313" and found.help == 'normalise = "none", "char" or "byte"'
    assert (
        score_sample(setting, asked, [*answers[:2], {"loglikelihoods": [None], "tokens": [2]}]).choice is None
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "gridc-task/2"}, "tasks/quiz.json cannot be used: `format`: Input should be"),
        ({"settings": {"method": "guess"}}, "`settings.method`: Input should be"),
        ({"settings": {"measurand": "lm-eval:bbq"}}, "effects of a task are written out"),
        ({"choices": {"metric": {"acc": {"normalise": "x"}}}}, "`choices.metric.acc.normalise`"),
        ({"items": []}, "`items`"),
        ({"task": "other"}, "tasks/quiz.json is of the task `other`, and not of `quiz`"),
        ({"seed": 7}, "was made with seed 7, and not 1234"),
        ({"items": [item(0), item(0), item(1)]}, "two of the items have one id"),
        ({"members": [{"name": "quiz", "items": 9}]}, "do not have as many items as they say"),
        ({"exemplars": []}, "item quiz-0 does not show 2 of the 0 exemplars"),
        ({"shots": [0, 3]}, "item quiz-0 does not show 3 of the 4 exemplars"),
    ],
)
def test_a_task_file_that_cannot_be_used_is_said(write: Write, change: Mapping[str, Any], said: str) -> None:
    with pytest.raises(GridcError) as raised:
        compile_spec(write(task(**change)))
    (found,) = raised.value.diagnostics
    assert found.code == "GC347" and said in found.message
    assert "\n" not in found.message


def test_a_number_of_exemplars_that_a_file_does_not_have_is_said(write: Write) -> None:
    with pytest.raises(GridcError) as raised:
        compile_spec(write(task(shots=[0]), SHOTS, name="quiz.shots-0-2"))
    assert "was not made for 2 exemplars" in raised.value.diagnostics[0].message


def test_a_task_file_outside_of_the_folder_is_not_read(write: Write, tmp_path: Path) -> None:
    spec = write(task())
    away = tmp_path / "study"
    away.mkdir()
    (away / "gridcard.toml").write_bytes(spec.read_bytes())
    (away / "tasks").symlink_to(tmp_path / "tasks")
    with pytest.raises(GridcError) as raised:
        compile_spec(away / "gridcard.toml")
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("GC308", "`tasks/quiz.json` leads outside the spec's folder")


def test_a_task_beside_the_spec_that_changed_is_not_taken_for_the_old_one(
    write: Write, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text("task: mine\n", "utf-8")
    held = sha256(b"task: mine\n").hexdigest()
    spec = write(task(task="mine.yaml", files={"mine.yaml": held, "lm_eval/x.yaml": held}), name="mine")
    spec.write_text(spec.read_text("utf-8").replace("task:quiz", "path:mine.yaml"), "utf-8")
    assert compile_spec(spec).study.items["quiz"].sampled
    (tmp_path / "mine.yaml").write_text("task: mine\nnum_fewshot: 3\n", "utf-8")
    with pytest.raises(GridcError) as raised:
        compile_spec(spec)
    (found,) = raised.value.diagnostics
    assert found.message == "mine.yaml has changed since tasks/mine.json was made of it"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ('variants = [{ id = "de", source = "path:x.jsonl" }]\n', "GC105"),
        ('exemplars = { pool = "rest", seed = 1 }\n', "GC105"),
    ],
)
def test_what_a_task_does_not_have_is_refused(write: Write, more: str, code: str) -> None:
    with pytest.raises(GridcError) as raised:
        compile_spec(write(task(), more))
    assert [each.code for each in raised.value.diagnostics] == [code]


def test_an_item_is_shown_with_its_own_exemplars(write: Write) -> None:
    plan = Plan(compile_spec(write(task(), SHOTS, name="quiz.shots-0-2")).study)
    cell = next(cell for cell in plan.cells() if cell.setting.shots == 2)
    for held, draws in zip(plan.items(cell), DRAWS, strict=True):
        assert [each.id for each in plan.exemplars_of(cell, held)] == [f"quiz-dev-{place}" for place in draws]
    assert len(plan.exemplars(cell)) == 4


def test_what_is_said_before_an_item_is_said_under_a_scaffold_too(write: Write) -> None:
    content = task("Answer these.\n\n")
    content["settings"] |= {"method": "extract"}
    harness = (
        'harness = { chat_template = true, exemplars_as = "turns", shots = 2, options = "lettered", '
        'scaffold = { kind = "critic" } }'
    )
    plan = Plan(compile_spec(write(content, "", harness, "quiz.shots-2")).study)
    (cell,) = plan.cells()
    asked = next(iter(plan.samples(cell))).requests[0].prompt.messages
    assert [role for role, _ in asked] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert asked[0][1].startswith("Answer these.") and asked[2][1] == "four"


def test_an_item_that_cannot_be_asked_is_said(write: Write) -> None:
    content = task()
    content["items"][2] |= {"options": ["alone"], "gold": [0]}
    with pytest.raises(GridcError) as raised:
        compile_spec(write(content))
    assert [each.code for each in raised.value.diagnostics] == ["GC347"]
    assert "item quiz-2: 1 options" in raised.value.diagnostics[0].message


def test_exemplars_that_are_turns_are_not_dropped(write: Write) -> None:
    harness = 'harness = { chat_template = true, exemplars_as = "turns", overflow = "drop_exemplars" }'
    with pytest.raises(GridcError) as raised:
        compile_spec(write(task(), SHOTS, harness, "quiz.shots-0-2"))
    (found,) = raised.value.diagnostics
    assert (found.code, found.help) == ("GC105", 'overflow = "error" here, or exemplars_as = "text"')
    compile_spec(write(task(), SHOTS, harness.replace("turns", "text"), "quiz.shots-0-2"))


def test_a_task_whose_package_is_not_here_says_how_to_install_it(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_files, "find_spec", lambda name: None)
    spec = write(task(), SHOTS)  # the file is of another name, as it is for no exemplars
    with pytest.raises(GridcError) as raised:
        compile_spec(spec)
    (found,) = raised.value.diagnostics
    assert (found.code, found.help) == ("GC347", "pip install 'gridc[lm-eval]'")


def test_a_task_file_is_stamped_by_content(write: Write) -> None:
    path = write(task(), SHOTS, name="quiz.shots-0-2")
    held = compile_spec(path).study.items["quiz"].manifest
    file = path.parent / "tasks" / "quiz.shots-0-2.json"
    assert held["files"] == {"tasks/quiz.shots-0-2.json": sha256(file.read_bytes()).hexdigest()}
    assert held["task"]["package"] == "lm_eval 0.4.13" and set(held["draws"]) == {"2"}
    assert read_task(file, "x").task.items[0].draws == {"2": (0, 2)}
    content = task()
    content["items"][0]["draws"]["2"] = [1, 2]
    changed = compile_spec(write(content, SHOTS, name="quiz.shots-0-2")).study.items["quiz"].manifest
    assert changed["draws"] != held["draws"] and changed["items"] == held["items"]
