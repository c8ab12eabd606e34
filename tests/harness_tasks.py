"""Tasks that lm-evaluation-harness ships, with rows made up for them, so that they can be asked offline."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Callable[[int], Mapping[str, Any]]


def word(number: int) -> str:
    """A word or two, with a letter that is no ASCII now and then."""
    return ("river stone", "lamp", "café wind", "green", "paper north", "iron")[number % 6] + f" {number}"


@dataclass(frozen=True)
class HarnessTask:
    """A shipped task file, the splits that it reads, and a row of each. `kind` is what is tried by it, `own`
    what the local file says beside the place of its data, and `until` the stop strings of answers."""

    file: str
    splits: tuple[str, ...]
    row: Row
    kind: str
    own: str = ""
    until: tuple[str, ...] = ()


def _texts(count: int, first: int) -> list[str]:
    return [word(first + place) for place in range(count)]


TASKS: Mapping[str, HarnessTask] = {
    "anatomy": HarnessTask("mmlu/default/mmlu_anatomy.yaml", ("test", "dev"), lambda n: {
        "question": f" What is {word(n)}? ", "choices": _texts(4, n), "answer": n % 4, "subject": "anatomy"},
        "letters"),
    "anli": HarnessTask("anli/anli_r1.yaml", ("train_r1", "dev_r1", "test_r1"), lambda n: {
        "premise": word(n), "hypothesis": word(n + 3), "label": n % 3}, "choice"),
    "boolq": HarnessTask("super_glue/boolq/default.yaml", ("train", "validation"), lambda n: {
        "passage": f"{word(n)}. {word(n + 1)}.", "question": f"is {word(n)}", "label": n % 2}, "choice"),
    "commonsense": HarnessTask("commonsense_qa/default.yaml", ("train", "validation"), lambda n: {
        "question": f"Why {word(n)}?", "choices": {"text": _texts(5, n), "label": list("ABCDE")},
        "answerKey": "ABCDE"[n % 5]}, "letters"),
    "rte": HarnessTask("glue/rte/default.yaml", ("train", "validation"), lambda n: {
        "sentence1": word(n), "sentence2": word(n + 2), "label": n % 2, "idx": n}, "choice"),
    "sst2": HarnessTask("glue/sst2/default.yaml", ("train", "validation"), lambda n: {
        "sentence": f"{word(n)} ", "label": n % 2, "idx": n}, "choice"),
    "qnli": HarnessTask("glue/qnli/default.yaml", ("train", "validation"), lambda n: {
        "question": f"Who {word(n)}?", "sentence": word(n + 1), "label": n % 2}, "choice"),
    "mrpc": HarnessTask("glue/mrpc/default.yaml", ("train", "validation"), lambda n: {
        "sentence1": word(n), "sentence2": word(n + 1), "label": n % 2}, "choice"),
    "winogrande": HarnessTask("winogrande/default.yaml", ("train", "validation"), lambda n: {
        "sentence": f"The {word(n)} met _ because {word(n + 1)}.", "option1": word(n + 2),
        "option2": word(n + 3), "answer": str(1 + n % 2)}, "several inputs"),
    "several_right": HarnessTask("glue/rte/default.yaml", ("train", "validation"), lambda n: {
        "sentence1": word(n), "sentence2": word(n + 2), "right": [n % 3, 3]}, "several right options",
        'doc_to_target: "{{right}}"\ndoc_to_choice: ["stone", "lamp", "wind", "iron"]\n'),
    "arc_easy": HarnessTask("arc/arc_easy.yaml", ("train", "validation", "test"), lambda n: {
        "question": f"Why {word(n)}?", "choices": {"text": _texts(3, n), "label": list("ABC")},
        "answerKey": "ABC"[n % 3]}, "acc_norm"),
    "arc_challenge": HarnessTask("arc/arc_challenge.yaml", ("train", "validation", "test"), lambda n: {
        "question": f"How {word(n)}?", "choices": {"text": _texts(4, 2 * n), "label": list("1234")},
        "answerKey": "1234"[n % 4]}, "acc_norm"),
    "hellaswag": HarnessTask("hellaswag/hellaswag.yaml", ("train", "validation"), lambda n: {
        "ind": n, "activity_label": word(n), "ctx_a": f"{word(n)}.", "ctx_b": "she", "label": str(n % 4),
        "endings": [f"{word(n)} [title] x", word(n + 1), "c  d", "long " * (n % 4 + 1)]}, "process_docs"),
    "openbookqa": HarnessTask("openbookqa/openbookqa.yaml", ("train", "validation", "test"), lambda n: {
        "question_stem": word(n), "choices": {"text": _texts(4, n), "label": list("ABCD")},
        "answerKey": "ABCD"[n % 4]}, "acc_norm"),
    "piqa": HarnessTask("piqa/piqa.yaml", ("train", "validation"), lambda n: {
        "goal": word(n), "sol1": word(n + 1), "sol2": f"{word(n + 2)} {word(n)}", "label": n % 2},
        "acc_norm"),
    "sciq": HarnessTask("sciq/sciq.yaml", ("train", "validation", "test"), lambda n: {
        "question": f"Who {word(n)}?", "support": f" {word(n)}.", "correct_answer": word(n + 1),
        "distractor1": word(n + 2), "distractor2": "d", "distractor3": f"{word(n)} {word(n)}"}, "acc_norm"),
    "swag": HarnessTask("swag/swag.yaml", ("train", "validation"), lambda n: {
        "startphrase": word(n), "label": n % 4,
        **{f"ending{place}": word(n + place) for place in range(4)}}, "acc_norm"),
    "gsm8k": HarnessTask("gsm8k/gsm8k.yaml", ("train", "test"), lambda n: {
        "question": f"How many {word(n)}?", "answer": f"So {n}.\n#### {n}"}, "filters",
        "num_fewshot: 2\n", ("Question:", "</s>")),
    "gsm8k_cot": HarnessTask("gsm8k/gsm8k-cot.yaml", ("train", "test"), lambda n: {
        "question": f"How many {word(n)}?", "answer": f"So {n}.\n#### {n}"}, "filters", until=("Q:", "</s>")),
    "booleans": HarnessTask("bbh/zeroshot/boolean_expressions.yaml", ("test",), lambda n: {
        "input": f"not {word(n)} is", "target": ("True", "False")[n % 2]}, "filters", until=("Q:", "</s>")),
    "mmlu_pro": HarnessTask("mmlu_pro/mmlu_pro_math.yaml", ("test", "validation"), lambda n: {
        "question": f"What {word(n)}?", "options": _texts(5, n), "answer": "ABCDE"[n % 5],
        "answer_index": n % 5, "category": "math", "src": "made up",
        "cot_content": f"A: Let's think. The answer is ({'ABCDE'[n % 5]})."}, "process_docs",
        until=("Question:",)),
    "nq_open": HarnessTask("nq_open/nq_open.yaml", ("train", "validation"), lambda n: {
        "question": f"who {word(n)}", "answer": [word(n), word(n + 1)]}, "until", until=("\n", ".", ",")),
    "triviaqa": HarnessTask("triviaqa/default.yaml", ("train", "validation"), lambda n: {
        "question": f"Which {word(n)}?", "answer": {"aliases": [word(n), "the"], "value": word(n)}},
        "several right answers", until=("\n", ".", ",")),
    "boolq_written": HarnessTask("super_glue/boolq/t5-prompt.yaml", ("train", "validation"), lambda n: {
        "passage": word(n), "question": word(n + 1), "label": n % 2, "idx": n}, "until", until=("</s>",)),
}  # fmt: skip


def write_tasks(folder: Path, package: Path, tokens: int, rows: int = 10) -> None:
    """Write a local task file for each, and a group of three of them; `package` is where lm_eval lies, and
    `tokens` the longest answer of those that generate one."""
    for name, task in TASKS.items():
        for rank, split in enumerate(task.splits):
            lines = (json.dumps(task.row(20 * rank + number)) for number in range(rows))
            (folder / f"{name}-{split}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        files = "".join(f"    {split}: {folder / f'{name}-{split}.jsonl'}\n" for split in task.splits)
        made = folder / f"{name}.yaml"
        made.write_text(
            f"include: {package / 'tasks' / task.file}\ntask: local_{name}\ntag: null\n"
            f"dataset_path: json\ndataset_name: null\ndataset_kwargs:\n  data_files:\n{files}{task.own}",
            "utf-8",
        )
        if task.until:
            _bound(made, tokens, task.until)
    group = "group: local_group\ntask:\n" + "".join(_member(folder, name) for name in GROUPED)
    weights = "aggregate_metric_list:\n  - metric: acc\n    weight_by_size: false\n"
    (folder / "group.yaml").write_text(group + weights, "utf-8")


GROUPED = ("arc_easy", "sciq", "openbookqa")


def _member(folder: Path, name: str) -> str:
    """A shipped task as a member of a group, with rows of ours."""
    files = "".join(f"        {split}: {folder / f'{name}-{split}.jsonl'}\n" for split in TASKS[name].splits)
    return (
        f"  - task: {name}\n    dataset_path: json\n    dataset_name: null\n"
        f"    dataset_kwargs:\n      data_files:\n{files}"
    )


def _bound(path: Path, tokens: int, until: Sequence[str]) -> None:
    """Let answers be short: a pocket model runs on."""
    stated = (
        f"generation_kwargs:\n  until: {json.dumps(until)}\n  max_gen_toks: {tokens}\n  do_sample: false\n"
    )
    path.write_text(path.read_text("utf-8") + stated, "utf-8")
