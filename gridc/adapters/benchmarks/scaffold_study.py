"""The item files of *Safety Under Scaffolding*, which wrap four benchmarks in one row format (JSONL).

What the study's own code read wrong is checked here: BBQ's options are not in the prompt, and its
reference is the text of one; every TruthfulQA key is A, so the options must be put in another order; the
sycophantic answer of an opinion is never its reference.
"""

from collections.abc import Callable, Mapping

from gridc.adapters.benchmarks import anthropic_evals
from gridc.adapters.benchmarks.anthropic_evals import question_name
from gridc.adapters.benchmarks.prompts import prompt
from gridc.compiler.inputs.loaders.parsing import (
    LOADERS,
    File,
    Row,
    items_of_rows,
    json_lines,
    one_of,
    required_text,
    tags,
)
from gridc.compiler.instrument.item import LETTERS, Item
from gridc.schema.items import Loading

EXPECTED = {"should_comply": "comply", "should_refuse": "refuse"}


@LOADERS.add("scaffold_study")
def load(file: File, loading: Loading) -> list[Item]:
    """The items in file order, under the study's ids. Raises `Malformed`."""
    return items_of_rows(json_lines(file), lambda _, row: _KINDS[one_of(row, "benchmark", _KINDS)](row))


def _bbq(row: Row) -> Item:
    meta, category = row["metadata"], required_text(row, "category")
    options, gold = tuple(meta["answer_choices"]), meta["correct_label"]
    unknown = anthropic_evals.lettered_option(meta["unknown_answer"], options)
    condition = one_of(meta, "context_condition", ("ambig", "disambig"))
    if options[gold] != row["reference_answer"]:
        raise ValueError("`reference_answer` is not the text of the option that `correct_label` names")
    if (condition == "ambig") != (gold == unknown):
        raise ValueError(f"label {gold} contradicts the {condition} context")
    context, separator, query = required_text(row, "prompt").rpartition("\n\nQuestion: ")
    if not separator:
        raise ValueError("the prompt has no line `Question: ...`")
    return Item(
        id=required_text(row, "id"),
        context=context,
        query=query,
        options=options,
        gold=gold,
        unknown=unknown,
        family=f"{category}-{int(meta['source_index']) // 4}",
        template=f"{category}-{meta['question_index']}",
        category=category,
        tags=tags(
            benchmark="bbq",
            category=category,
            condition=condition,
            polarity=one_of(meta, "question_polarity", ("neg", "nonneg")),
            template=meta["question_index"],
            unknown=options[unknown],
        ),
    )


def _truthfulqa(row: Row) -> Item:
    question, options = anthropic_evals.split(required_text(row, "prompt"))
    if len(options) != row["metadata"]["num_choices"]:
        raise ValueError(f"{len(options)} options, `num_choices` says {row['metadata']['num_choices']}")
    gold = anthropic_evals.lettered_option(required_text(row, "reference_answer"), options)
    named = tags(benchmark="truthfulqa_mc1", category=row["category"])
    return Item(
        required_text(row, "id"),
        question,
        options,
        gold,
        references=(options[gold],),
        tags=named,
        category=required_text(row, "category"),
    )


def _sycophancy(row: Row) -> Item:
    meta = row["metadata"]
    question, options = anthropic_evals.split(required_text(row, "prompt"))
    matching = anthropic_evals.lettered_option(meta["sycophantic_answer"], options)
    if meta["correct_answer"] == meta["sycophantic_answer"] or (
        anthropic_evals.lettered_option(row["reference_answer"], options)
        != LETTERS.index(meta["correct_answer"])
    ):
        raise ValueError("the reference is not the answer that is not sycophantic")
    named = tags(benchmark="sycophancy", category=row["category"])
    return Item(
        required_text(row, "id"),
        question,
        options,
        matching=matching,
        tags=named,
        template=question_name(question, options),
        category=required_text(row, "category"),
    )


def _prompt(row: Row) -> Item:
    expected = EXPECTED[one_of(row, "reference_answer", EXPECTED)]
    if row["metadata"].get("label") not in (None, "safe" if expected == "comply" else "unsafe"):
        raise ValueError("`label` contradicts `reference_answer`")
    category = required_text(row, "category")
    named = tags(benchmark=row["benchmark"], category=category, focus=row["metadata"].get("focus"))
    name, request = required_text(row, "id"), required_text(row, "prompt")
    return prompt(name, request, expected, named, Loading(), category)  # type: ignore[arg-type]


_KINDS: Mapping[str, Callable[[Row], Item]] = {
    "bbq": _bbq,
    "truthfulqa_mc1": _truthfulqa,
    "sycophancy_eval": _sycophancy,
    "xstest": _prompt,
    "or_bench": _prompt,
}
