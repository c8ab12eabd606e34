"""Tasks of lm-evaluation-harness as task files, against the requests that lm_eval itself builds.

lm_eval is no dependency of gridc: where it is not installed, only that is tested which does not need it.
"""

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gridc.adapters.tasks.lm_eval import FORMS, Loader, load
from gridc.schema.canonical import canonical

SEED = 77
ROWS = 12
Row = Callable[[int], Mapping[str, Any]]

pytestmark = pytest.mark.filterwarnings("ignore")  # lm_eval's packages warn of much
needs_lm_eval = pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm_eval is not installed")


@pytest.mark.skipif(find_spec("lm_eval") is not None, reason="lm_eval is installed")
@pytest.mark.parametrize("method", ["read", "files", "dataset"])
def test_without_the_package_a_sentence_says_what_is_missing(tmp_path: Path, method: str) -> None:
    with pytest.raises(
        ValueError, match=r"^the task arc_easy needs the package lm_eval, which is not installed$"
    ):
        getattr(Loader(), method)("arc_easy", str(tmp_path))


def word(number: int) -> str:
    return f"{('alpha', 'beta é', 'gamma', 'delta')[number % 4]}{number}"


def _choices(letters: str) -> Callable[[int], Mapping[str, Any]]:
    return lambda n: {"text": [word(n + place) for place in range(len(letters))], "label": list(letters)}


SHIPPED: Mapping[str, tuple[str, Row]] = {
    "arc_easy": (
        "arc/arc_easy.yaml",
        lambda n: {"question": f"Why {word(n)}?", "choices": _choices("ABC")(n), "answerKey": "ABC"[n % 3]},
    ),
    "process_docs": (
        "hellaswag/hellaswag.yaml",
        lambda n: {
            "ind": n, "activity_label": "Act", "ctx_a": f"A {word(n)}.", "ctx_b": "she",
            "endings": [word(n), word(n + 1), "c", "d"], "label": str(n % 4),
        },
    ),
    "several_inputs": (
        "winogrande/default.yaml",
        lambda n: {
            "sentence": f"The {word(n)} ate _ because it is big.",
            "option1": "cat", "option2": "dog", "answer": str(1 + n % 2),
        },
    ),
    "two_filters": ("gsm8k/gsm8k.yaml", lambda n: {"question": f"How {word(n)}?", "answer": f"So. #### {n}"}),
    "exemplars_in_the_file": (
        "gsm8k/gsm8k-cot.yaml", lambda n: {"question": f"How {word(n)}?", "answer": f"So. #### {n}"}
    ),
    "no_exemplars": (
        "truthfulqa/truthfulqa_mc1.yaml",
        lambda n: {"question": word(n), "mc1_targets": {"choices": ["r", "x", "y"], "labels": [1, 0, 0]}},
    ),
    "several_right_answers": (
        "triviaqa/default.yaml",
        lambda n: {"question": word(n), "answer": {"aliases": [word(n), word(n + 1)], "value": word(n)}},
    ),
    "first_n_and_description": (
        "mmlu/default/mmlu_anatomy.yaml",
        lambda n: {"question": f"Q {word(n)} ", "choices": list("wxyz"), "answer": n % 4},
    ),
    "literal_options": (
        "super_glue/boolq/default.yaml", lambda n: {"passage": word(n), "question": "is it", "label": n % 2}
    ),
    "own_options": (
        "sciq/sciq.yaml",
        lambda n: {
            "question": word(n), "support": f"s {word(n)}", "correct_answer": word(n),
            "distractor1": "d1", "distractor2": "d2", "distractor3": "d3",
        },
    ),
    "generation_prefix": (
        "arc/arc_challenge_chat.yaml",
        lambda n: {"question": f"Why {word(n)}?", "choices": _choices("ABCD")(n), "answerKey": "ABCD"[n % 4]},
    ),
}  # fmt: skip
"""Task files that lm_eval ships, by what is tested of them, with rows of their kind."""


def _shipped(path: str) -> Path:
    spec = find_spec("lm_eval")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "tasks" / path


def _beside(folder: Path, path: Path, row: Row) -> dict[str, Any]:
    """Write a task file that reads made-up rows, and give the shipped configuration."""
    from lm_eval.tasks._yaml_loader import load_yaml

    config: dict[str, Any] = load_yaml(path, resolve_func=False)
    keys = ("training_split", "validation_split", "test_split", "fewshot_split")
    splits = {config.get(key) for key in keys} | {(config.get("fewshot_config") or {}).get("split")}
    named = sorted(split for split in splits if split)
    for place, split in enumerate(named):
        rows = [json.dumps(row(number + 100 * place)) for number in range(ROWS)]
        (folder / f"{split}.jsonl").write_text("\n".join(rows), "utf-8")
    files = json.dumps({"data_files": {split: f"{split}.jsonl" for split in named}})
    (folder / "mine.yaml").write_text(
        f"include: {path}\ndataset_path: json\ndataset_name: null\ndataset_kwargs: {files}\n", "utf-8"
    )
    return config


@needs_lm_eval
@pytest.mark.parametrize("kind", SHIPPED)
def test_prompts_are_those_that_lm_eval_builds(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lm_eval.tasks import TaskManager

    config = _beside(tmp_path, _shipped(SHIPPED[kind][0]), SHIPPED[kind][1])
    shots = [0] if config.get("num_fewshot") == 0 else [0, 3]
    document = load("mine.yaml", str(tmp_path), None, shots, SEED)
    json.dumps(document, allow_nan=False)
    assert len(document["items"]) == ROWS
    monkeypatch.chdir(tmp_path)
    compared = 0
    for count in shots:
        for form, (chat, turns) in FORMS.items():
            (task,) = TaskManager(include_defaults=False).load("mine.yaml")["tasks"].values()
            task.set_config("num_fewshot", count)
            task.set_fewshot_seed(seed=SEED)
            with contextlib.redirect_stderr(io.StringIO()):
                task.build_all_requests(
                    apply_chat_template=chat,
                    fewshot_as_multiturn=turns,
                    chat_template=_template if chat else None,
                )
            for item, sent in zip(document["items"], _sent(task.instances), strict=True):
                if not chat:
                    assert _composed(document, item, count) == _contexts(sent)
                if f"{count}{form}" in item["prompts"]:
                    assert item["prompts"][f"{count}{form}"] == hashlib.sha256(canonical(sent)).hexdigest()
                    compared += 1
    left_out = kind == "generation_prefix"
    assert compared == ROWS * len(shots) * (1 if left_out else 3)
    assert any("gen_prefix" in said for said in document["left_out"]) == left_out


def _template(messages: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
    return canonical([[message["role"], message["content"]] for message in messages]).decode()


def _sent(instances: Sequence[Any]) -> list[list[Any]]:
    """The requests of each item."""
    sent: dict[int, list[Any]] = {}
    for instance in instances:
        ranked = instance.request_type == "loglikelihood"
        sent.setdefault(instance.doc_id, []).append(list(instance.args) if ranked else instance.args[0])
    return [sent[place] for place in range(len(sent))]


def _contexts(sent: list[Any]) -> list[str]:
    return list(dict.fromkeys(one if isinstance(one, str) else one[0] for one in sent))


def _composed(document: Mapping[str, Any], item: Mapping[str, Any], count: int) -> list[str]:
    """The plain prompts of an item, from its parts."""
    from jinja2 import Template

    template = Template(document["settings"]["prompt"])
    drawn = [document["exemplars"][place] for place in item["draws"].get(str(count), [])]
    blocks = [template.render(query=one["query"], answer=one["answer"]) for one in drawn]
    between = document["settings"].get("separators", {}).get("blocks", "\n\n")
    asked = item.get("contexts", [item["query"]])
    return [item.get("preamble", "") + between.join([*blocks, template.render(query=one)]) for one in asked]


PLAIN = {
    "task": "mine",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
    "test_split": "test",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
}
FIRST = {"function": "take_first"}
RANKED = PLAIN | {"output_type": "multiple_choice", "doc_to_choice": "{{options}}", "doc_to_target": "answer"}
TWO = [
    {"question": "A?", "options": ["x", "y"], "answer": 1},
    {"question": "B?", "options": ["v", "w"], "answer": 0},
]


def _own(
    folder: Path, config: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] = TWO, **more: Any
) -> None:
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (folder / "mine.yaml").write_text(json.dumps({**config, **more}), "utf-8")


@needs_lm_eval
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"output_type": "loglikelihood"}, "output type loglikelihood, which gridc does not take"),
        ({"output_type": "loglikelihood_rolling"}, "output type loglikelihood_rolling"),
        ({"process_results": "f"}, "scores answers with a function of its own"),
        ({"unsafe_code": True}, "runs code that a model writes"),
        ({"doc_to_image": ["image"]}, "shows images"),
        ({"doc_to_audio": ["audio"]}, "plays audio"),
        ({"use_prompt": "a:b"}, "takes its prompt from promptsource"),
        ({"metric_list": [{"metric": "f1"}]}, r"no metric that gridc computes \(metric f1"),
        ({"metric_list": [{"metric": "acc", "aggregation": "median"}]}, "aggregation is median"),
        ({"num_fewshot": 0}, "sets num_fewshot to 0"),
        ({"colour": "red"}, "cannot take the configuration of mine"),
        ({"doc_to_text": "{{missing}}"}, "cannot open the task mine: UndefinedError"),
        ({"dataset_kwargs": {"data_files": {"test": "gone.jsonl"}}}, "cannot open the task mine"),
    ],
)
def test_what_gridc_does_not_take_is_named(tmp_path: Path, more: Mapping[str, Any], said: str) -> None:
    _own(tmp_path, RANKED, **more)
    with pytest.raises(ValueError, match=said) as refusal:
        load("mine.yaml", str(tmp_path), None, [1] if "num_fewshot" in more else None)
    assert "mine" in str(refusal.value)


@needs_lm_eval
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"generation_kwargs": {"top_k": 5}}, "generates with top_k, which gridc does not have"),
        ({"generation_kwargs": {"until": [3]}}, "stops at something that is not a text"),
        (
            {"filter_list": [{"name": "maj", "filter": [{"function": "majority_vote"}, FIRST]}]},
            "filter maj: gridc does not have majority_vote",
        ),
        (
            {"filter_list": [{"name": "k", "filter": [{"function": "take_first_k", "k": 2}]}]},
            "filter k: gridc does not have take_first_k",
        ),
        (
            {"filter_list": [{"name": "late", "filter": [FIRST, {"function": "lowercase"}]}]},
            "take_first is not its last step",
        ),
        ({"metric_list": [{"metric": "exact_match", "ignore": True}]}, "a parameter ignore"),
    ],
)  # fmt: skip
def test_generation_that_gridc_does_not_have_is_named(
    tmp_path: Path, more: Mapping[str, Any], said: str
) -> None:
    _own(tmp_path, PLAIN, **more)
    with pytest.raises(ValueError, match=said):
        load("mine.yaml", str(tmp_path))


@needs_lm_eval
@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"answer": -1}, "item mine-1 has no right option among its 2: it says -1"),
        ({"answer": 2}, "item mine-1 has no right option among its 2"),
        ({"options": ["", "w"]}, "item mine-1 has an option that is empty"),
    ],
)
def test_an_item_without_a_right_option_is_refused(
    tmp_path: Path, second: Mapping[str, Any], said: str
) -> None:
    _own(tmp_path, RANKED, [TWO[0], {**TWO[1], **second}])
    with pytest.raises(ValueError, match=said):
        load("mine.yaml", str(tmp_path))


@needs_lm_eval
def test_rows_are_plain_json_or_refused(tmp_path: Path) -> None:
    from datasets import Dataset

    _own(tmp_path, PLAIN)
    row = {"question": "A?", "answer": "x", "raw": b"x", "odd": float("nan"), "large": 2**53}

    def told(*names: str) -> dict[str, Any]:
        data = Dataset.from_list([{name: row[name] for name in ("question", "answer", *names)}])
        return load("mine.yaml", str(tmp_path), {"custom_dataset": lambda **_: {"test": data}})

    assert told("odd", "large")["items"][0]["extra"]["odd"] == "nan"
    assert told("odd", "large")["items"][0]["extra"]["large"] == str(2**53)
    with pytest.raises(ValueError, match="the task mine has rows that hold bytes"):
        told("raw")


@needs_lm_eval
def test_a_folder_can_be_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "study").mkdir()
    _own(tmp_path / "study", RANKED)
    monkeypatch.chdir(tmp_path)
    assert load("mine.yaml", "study") == load("mine.yaml", str(tmp_path / "study"))


@needs_lm_eval
def test_metrics_and_filters_are_choices_and_the_rest_is_said(tmp_path: Path) -> None:
    metrics = [{"metric": name} for name in ("acc_norm", "f1", "acc", "acc_mutual_info", "acc_bytes")]
    _own(tmp_path, RANKED, metric_list=metrics, target_delimiter="\n", fewshot_delimiter="\n")
    document = load("mine.yaml", str(tmp_path))
    assert document["choices"] == {
        "metric": {
            "acc_norm": {"normalise": "char"},
            "acc": {"normalise": "none"},
            "acc_mutual_info": {"normalise": "unconditional", "premise": ""},
            "acc_bytes": {"normalise": "byte"},
        }
    }
    assert document["settings"]["normalise"] == "char"
    assert document["settings"]["delimiter"] == "\n"
    assert document["settings"]["separators"] == {"blocks": "\n"}
    assert "metric f1: gridc does not compute it" in document["left_out"]
    assert [item["gold"] for item in document["items"]] == [[1], [0]]
    assert document["data"]["test"]["rows"] == 2

    strict = {"function": "regex", "regex_pattern": r"#### (\d+)", "group_select": -1}
    loose = {"function": "multi_choice_regex", "ignore_case": True}
    listed = [
        {"name": "strict", "filter": [strict, FIRST]},
        {"name": "loose", "filter": [{"function": "lowercase"}, loose, FIRST]},
        {"name": "maj", "filter": [{"function": "majority_vote"}, FIRST]},
    ]
    exact = [{"metric": "exact_match", "ignore_case": True, "regexes_to_ignore": [","]}]
    decoding = {"until": ["Q:"], "do_sample": True, "temperature": 0.5, "top_p": 0.9, "max_new_tokens": 9}
    _own(
        tmp_path, PLAIN, [{"question": "A?", "answer": "7", "choices": ["7", "8"]}],
        filter_list=listed, metric_list=exact, generation_kwargs=decoding,
    )  # fmt: skip
    document = load("mine.yaml", str(tmp_path))
    ignore = {"case": True, "regexes": [","]}
    assert document["settings"]["match"] == {
        "as": "filtered",
        "filters": [{"kind": "regex", "pattern": r"#### (\d+)", "group": -1, "fallback": "[invalid]"}],
        "ignore": ignore,
    }
    assert list(document["choices"]["filter"]) == ["strict", "loose"]
    assert document["left_out"] == ["filter maj: gridc does not have majority_vote"]
    shown = {"stop": ["Q:"], "temperature": 0.5, "top_p": 0.9, "max_tokens": 9}
    assert {key: document["settings"][key] for key in shown} == shown
    assert document["items"][0]["extra"]["choices"] == ["7", "8"]
    assert document["items"][0]["references"] == ["7"]


@needs_lm_eval
def test_files_and_data_sets_are_said_without_running_code(tmp_path: Path) -> None:
    _own(tmp_path, PLAIN)
    (tmp_path / "helpers.py").write_text("raise SystemExit('it ran')\n", "utf-8")
    (tmp_path / "base.yaml").write_text((tmp_path / "mine.yaml").read_text("utf-8"), "utf-8")
    (tmp_path / "mine.yaml").write_text("include: base.yaml\nprocess_docs: !function helpers.rows\n", "utf-8")
    told = Loader().files("mine.yaml", str(tmp_path))
    assert told["code"] == ["base.yaml", "helpers.py", "mine.yaml"] == sorted(told["files"])
    data = (tmp_path / "helpers.py").read_bytes()
    assert told["files"]["helpers.py"] == hashlib.sha256(data).hexdigest()
    assert Loader().dataset("mine.yaml", str(tmp_path)) == [
        {"path": "json", "name": None, "kwargs": {"data_files": {"test": "rows.jsonl"}}}
    ]


@needs_lm_eval
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task: mine\nprocess_docs: !function os.remove\n", "os.remove lies in no file beside"),
        ("dataset_path: json\n", "names no task and no group"),
        ("task: [", "cannot read the task file mine.yaml"),
        ("group: mine\ntask: [no_such_task]\n", "names no_such_task, which lm_eval does not have"),
        ("group: mine\n", "the group mine.yaml has no tasks"),
    ],
)
def test_a_task_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=said):
        Loader().files("mine.yaml", str(tmp_path))


@needs_lm_eval
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("../mine.yaml", "lies outside the folder of the spec"),
        ("gone.yaml", "there is no task file gone.yaml"),
        ("no_such_task", "lm_eval has no task, group or tag no_such_task"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, source: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Loader().files(source, str(tmp_path))


@needs_lm_eval
def test_a_group_is_one_document_and_its_members_are_alike(tmp_path: Path) -> None:
    row = SHIPPED["first_n_and_description"][1]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row(n)) for n in range(ROWS)), "utf-8")
    files = {"test": "rows.jsonl", "dev": "rows.jsonl"}
    data = {"dataset_path": "json", "dataset_name": None, "dataset_kwargs": {"data_files": files}}
    loader = Loader()
    length = loader.read("mmlu_stem", str(tmp_path), data, [2], SEED)
    document = json.loads("".join(loader.part(start, 1000) for start in range(0, length, 1000)))
    members = [member["name"] for member in document["members"]]
    assert len(members) == 19 and "mmlu_astronomy" in members
    assert {item["member"] for item in document["items"]} == set(members)
    assert len({item["preamble"] for item in document["items"]}) == 19
    assert len({one["id"] for one in document["exemplars"]}) == len(document["exemplars"])
    for item in document["items"]:
        assert {document["exemplars"][place]["member"] for place in item["draws"]["2"]} == {item["member"]}
    assert document["data"]["test"]["rows"] == 19 * ROWS
    assert not any(name.startswith(os.sep) for name in document["files"])

    two = {"group": "mine", "task": ["mmlu_anatomy", {"task": "mmlu_astronomy", "target_delimiter": ""}]}
    (tmp_path / "mine.yaml").write_text(json.dumps(two | data), "utf-8")
    with pytest.raises(ValueError, match="mmlu_anatomy and mmlu_astronomy in delimiter, prompt"):
        load("mine.yaml", str(tmp_path))


@pytest.mark.slow  # it reads 13,000 task files
@needs_lm_eval
def test_the_count_of_shipped_tasks_makes_rows_up_and_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    from tools.lm_eval_tasks import main

    assert main(["--sample", "3", "--seed", "2"]) == 0
    cells = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    counts = {
        cell[0]: int(cell[1].replace(",", "")) for cell in cells if len(cell) == 2 and cell[1][:1].isdigit()
    }
    parts = [counts[name] for name in ("... taken", "... refused", "... not tried: no rows could be made up")]
    assert sum(parts) == counts["opened"] == 3
    kinds = ("a Python class: refused", "with functions of their own: not opened here", "without functions")
    assert sum(counts[name] for name in kinds) == counts["tasks that lm_eval ships"] > 13_000


@pytest.mark.skipif(find_spec("lm_eval") is not None, reason="lm_eval is installed")
def test_the_count_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    from tools.lm_eval_tasks import main

    assert main([]) == 1
    assert capsys.readouterr().err == "the package lm_eval is not installed\n"
