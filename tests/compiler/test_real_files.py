"""The upstream files themselves, where GRIDC_DATA has them: counts and right answers against what their
sources state, and against a second reading of the file that shares no code with the loader."""

import ast
import csv
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gridc.compiler.inputs.draw import unit_level
from gridc.compiler.inputs.loaders.parsing import LOADERS, File, Malformed
from gridc.compiler.inputs.logs.gathering import MOST, phrases, share_with_shared_wording
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import arranged
from gridc.schema.items import Loading

DATA = os.environ.get("GRIDC_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="GRIDC_DATA does not name a folder with the upstream files")

BBQ = {
    "Age": 3680,
    "Disability_status": 1556,
    "Nationality": 3080,
    "Physical_appearance": 1576,
    "Religion": 1200,
    "Sexual_orientation": 864,
}
PHRASINGS = {
    "unknown", "cannot answer", "can't be determined", "cannot be determined", "can't answer", "not known",
    "not enough info", "not enough information", "not answerable", "undetermined",
}  # fmt: skip
HUMAN = "anthropic_evals/advanced-ai-risk/human_generated_evals"
LM = "anthropic_evals/advanced-ai-risk/lm_generated_evals"
FACTS = {
    f"{HUMAN}/self-awareness-general-ai.jsonl": 300,
    f"{HUMAN}/self-awareness-good-text-model.jsonl": 600,
    f"{HUMAN}/self-awareness-text-model.jsonl": 300,
    f"{HUMAN}/self-awareness-training-architecture.jsonl": 300,
    f"{HUMAN}/self-awareness-web-gpt.jsonl": 300,
}
INCOMPLETE = {
    f"{LM}/self-awareness-training-architecture.jsonl": (1000, [152, 420, 541, 658, 689, 780]),
    f"{LM}/self-awareness-training-nn-architecture.jsonl": (
        998, [16, 25, 28, 33, 75, 207, 335, 382, 504, 600, 654, 672, 795, 848, 895],
    ),
}  # fmt: skip


def path_of(name: str) -> Path:
    path = Path(DATA or "") / name
    if not path.is_file():
        pytest.skip(f"{name} is not there")
    return path


def load(loader: str, name: str, **loading: Any) -> list[Item]:
    return LOADERS[loader](File(name, path_of(name).read_bytes()), Loading(**loading))


def raw_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path_of(name).read_bytes().splitlines()]


def raw_csv(name: str) -> list[dict[str, str]]:
    with path_of(name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_truthfulqa_v0_has_the_true_option_first_until_the_options_are_put_in_order() -> None:
    name = "truthfulqa/v0_mc_task.json"
    items, rows = load("truthfulqa_mc1", name), json.loads(path_of(name).read_text("utf-8"))
    assert len(items) == len(rows) == 817
    assert {item.gold for item in items} == {0}
    assert {len(item.options) for item in items} <= set(range(2, 14))
    for item, row in zip(items, rows, strict=True):
        assert dict.fromkeys(item.options) == dict.fromkeys(row["mc1_targets"])
        assert {item.options[place] for place in item.right} == {
            k for k, v in row["mc1_targets"].items() if v
        }
        assert set(item.references) == {k for k, v in row["mc2_targets"].items() if v}
    shuffled = [arranged(item, "shuffled:42") for item in items]
    chance = sum(1 / len(item.options) for item in items) / len(items)
    assert round(chance, 3) == 0.226
    assert abs(sum(item.gold == 0 for item in shuffled) / len(items) - chance) < 0.05
    longest = sum(max(item.options, key=len) == item.options[0] for item in items)
    assert round(longest / 817, 3) == 0.401


def test_truthfulqa_v1_has_the_best_answer_and_the_incorrect_ones() -> None:
    name = "truthfulqa/v1_TruthfulQA.csv"
    items, rows = load("truthfulqa_mc1", name), raw_csv(name)
    assert len(items) == len(rows) == 817
    assert Counter(item.tags["type"] for item in items) == {"Adversarial": 437, "Non-Adversarial": 380}
    repeated = 0
    for item, row in zip(items, rows, strict=True):
        wrong = [each.strip() for each in row["Incorrect Answers"].split(";") if each.strip()]
        assert item.options[0] == row["Best Answer"].strip()
        assert item.right == {0}
        assert set(item.options[1:]) == set(wrong)
        repeated += len(wrong) - len(item.options[1:])
    assert repeated == 1


@pytest.mark.parametrize("category", BBQ)
def test_bbq_has_its_gold_its_unknown_option_and_its_stereotyped_answer(category: str) -> None:
    name = f"bbq/{category}.jsonl"
    items, rows = load("bbq", name), raw_lines(name)
    assert len(items) == len(rows) == len({item.id for item in items}) == BBQ[category]
    assert len({item.family for item in items}) == BBQ[category] / 4
    for item, row in zip(items, rows, strict=True):
        options = [row["ans0"], row["ans1"], row["ans2"]]
        assert item.options == tuple(options)
        assert item.stem == f"{row['context']}\n{row['question']}"
        assert item.gold == row["label"]
        (unknown,) = [n for n, text in enumerate(options) if text.casefold().rstrip(".") in PHRASINGS]
        assert item.unknown == unknown
        assert (row["label"] == unknown) is (row["context_condition"] == "ambig")
        groups = set(row["additional_metadata"]["stereotyped_groups"])
        (target,) = [n for n in range(3) if groups & set(row["answer_info"][f"ans{n}"])]
        (other,) = {0, 1, 2} - {unknown, target}
        assert item.matching == (target if row["question_polarity"] == "neg" else other)
    order = [("neg", "ambig"), ("neg", "disambig"), ("nonneg", "ambig"), ("nonneg", "disambig")]
    assert [(item.tags["polarity"], item.tags["condition"]) for item in items] == order * (len(items) // 4)


def test_bbq_golds_lie_on_every_letter() -> None:
    golds = Counter(item.gold for category in BBQ for item in load("bbq", f"bbq/{category}.jsonl"))
    assert sum(golds.values()) == 11_956
    assert all(0.3 < golds[place] / 11_956 < 0.37 for place in range(3))


def test_crows_pairs_has_the_more_stereotypical_sentence_first() -> None:
    name = "crows_pairs/crows_pairs_anonymized.csv"
    items, rows = load("crows_pairs", name), raw_csv(name)
    assert len(items) == len(rows) == 1508
    assert Counter(item.tags["direction"] for item in items) == {"stereo": 1290, "antistereo": 218}
    assert len({item.options for item in items}) == 1507
    for item, row in zip(items, rows, strict=True):
        assert item.options == (row["sent_more"], row["sent_less"])
        assert item.matching == 0
        assert item.gold is None


def test_toxigen_is_hateful_by_score() -> None:
    name = "toxigen/toxigen_annotated_train.csv"
    items, rows = load("toxigen", name), raw_csv(name)
    assert len(items) == len(rows) == 8960
    hateful = [float(row["toxicity_ai"]) + float(row["toxicity_human"]) > 5.5 for row in rows]
    assert [item.options[item.gold or 0] == "Yes" for item in items] == hateful
    assert sum(hateful) == 3368
    other = load("toxigen", name, gold="human")
    assert sum(item.options[item.gold or 0] == "Yes" for item in other) == 3383
    assert sum((item.tags["prompt_label"] == "hate") is not (item.gold == 1) for item in items) == 1830
    assert Counter(item.tags["prompt_label"] for item in items) == {"hate": 4462, "neutral": 4498}
    groups = Counter(item.tags["target_group"] for item in items)
    assert (len(groups), min(groups.values()), max(groups.values())) == (13, 554, 717)
    assert items[0].context == ast.literal_eval(rows[0]["text"]).decode("utf-8")


def test_xstest_asks_to_comply_with_safe_prompts_and_to_refuse_their_contrasts() -> None:
    name = "xstest/xstest_prompts.csv"
    items, rows = load("xstest", name), raw_csv(name)
    assert Counter(item.expected for item in items) == {"comply": 250, "refuse": 200}
    types = Counter(item.tags["type"] for item in items)
    assert len(types) == 18
    assert set(types.values()) == {25}
    for item, row in zip(items, rows, strict=True):
        assert item.query == row["prompt"]
        assert item.options == ()
        assert (item.expected == "refuse") is (row["label"] == "unsafe")
    classified = load("xstest", name, task="classify")
    assert Counter(item.options[item.gold or 0] for item in classified) == {"safe": 250, "unsafe": 200}


@pytest.mark.parametrize("name", FACTS)
def test_self_awareness_is_factual_recall_with_the_matching_answer_right(name: str) -> None:
    items, rows = load("anthropic_evals", name, gold="matching"), raw_lines(name)
    assert len(items) == len(rows) == FACTS[name]
    assert Counter(item.gold for item in items) == {0: FACTS[name] / 2, 1: FACTS[name] / 2}
    _agree(items, rows)


@pytest.mark.parametrize("name", INCOMPLETE)
def test_rows_that_a_model_wrote_without_a_question_or_an_option_are_reported(name: str) -> None:
    count, incomplete = INCOMPLETE[name]
    with pytest.raises(Malformed) as caught:
        load("anthropic_evals", name, gold="matching")
    assert [each.row for each in caught.value.rows] == incomplete
    assert caught.value.readable
    assert len(caught.value.items) == count - len(incomplete)
    kept = [row for number, row in enumerate(raw_lines(name), start=1) if number not in incomplete]
    _agree(list(caught.value.items), kept)


def _agree(items: list[Item], rows: list[dict[str, Any]]) -> None:
    """The gold option stands in its row after the matching letter, and the question before the options."""
    for item, row in zip(items, rows, strict=True):
        letter = row["answer_matching_behavior"].strip()
        after = re.search(rf"^\s*{re.escape(letter)}\s*(.*)", row["question"], re.MULTILINE)
        assert after is not None
        assert item.gold is not None
        assert item.options[item.gold] == after[1].strip()
        assert row["question"].lstrip().startswith(item.query.strip())
        assert "\n (A)" not in item.query
        assert len(item.options) == 2


def test_a_persona_opinion_has_no_gold() -> None:
    name = "anthropic_evals/persona/okay-with-deceiving-a-user-to-help-them.jsonl"
    items, rows = load("anthropic_evals", name, gold="not_matching"), raw_lines(name)
    assert len(items) == len(rows) == 1000
    assert {item.gold for item in items} == {None}
    for item, row in zip(items, rows, strict=True):
        (right,) = (item.options[place] for place in item.right)
        assert right == row["answer_not_matching_behavior"].strip()


@pytest.mark.parametrize(("side", "key"), [("liberal", "corrects"), ("conservative", "incorrects")])
def test_sycophancy_flatters_the_biography(side: str, key: str) -> None:
    name = f"anthropic_evals/sycophancy/political_typology_quiz_bio_{side}.sample1000.jsonl"
    items, rows = load("anthropic_evals", name, gold="not_matching"), raw_lines(name)
    assert len(items) == len(rows) == 1000
    for item, row in zip(items, rows, strict=True):
        assert item.matching is not None
        assert row[key] == [f" ({item.letters[item.matching]})"]
        assert f"{row[key][0]} {item.options[item.matching]}\n" in row["prompt"]
        assert item.right == {0, 1} - {item.matching}


def test_the_political_polarity_is_that_of_the_scaffold_study() -> None:
    """The study's 166 politics items state their sycophantic letter; where the same biography and question
    is in a sampled file, its flattering option is that one."""
    study = load("scaffold_study", "anthropic_evals/sycophancy/sus_sycophancy_eval_exp4.jsonl")
    stated = {
        (item.query, item.options): item.matching for item in study if item.tags["category"] == "politics"
    }
    assert len(stated) == 166
    found = 0
    for side in ("liberal", "conservative"):
        name = f"anthropic_evals/sycophancy/political_typology_quiz_bio_{side}.sample1000.jsonl"
        for item in load("anthropic_evals", name, gold="not_matching"):
            if (item.query, item.options) in stated:
                found += 1
                assert item.matching == stated[item.query, item.options]
    assert found > 20


def test_mmlu_test_rows_have_the_answer_that_their_index_names() -> None:
    items, rows = load("mmlu", "mmlu/test_sample.csv"), raw_csv("mmlu/test_sample.csv")
    assert len(items) == len(rows) == 570
    assert Counter(item.tags["subject"] for item in items) == Counter(row["subject"] for row in rows)
    assert len({item.tags["subject"] for item in items}) == 57
    for item, row in zip(items, rows, strict=True):
        assert item.options[item.gold or 0] == row[f"choice{row['answer']}"]
        assert item.id == f"{row['subject']}-{row['row']}"
    assert Counter(item.gold for item in items) == {0: 115, 1: 132, 2: 168, 3: 155}


def test_mmlu_has_five_development_rows_a_subject() -> None:
    names = sorted((Path(DATA or "") / "mmlu" / "dev").glob("*.csv"))
    items = [item for path in names for item in load("mmlu", f"mmlu/dev/{path.name}")]
    assert (len(names), len(items), len({item.id for item in items})) == (57, 285, 285)
    assert set(Counter(item.tags["subject"] for item in items).values()) == {5}
    assert {item.gold for item in items} == {0, 1, 2, 3}


def study_rows(name: str) -> Iterator[tuple[Item, dict[str, Any]]]:
    yield from zip(load("scaffold_study", name), raw_lines(name), strict=True)


def test_the_studys_bbq_items_have_options_and_both_conditions() -> None:
    pairs = list(study_rows("scaffold_study/sus_bbq.jsonl"))
    assert len(pairs) == 800
    assert Counter(item.tags["condition"] for item, _ in pairs) == {"ambig": 401, "disambig": 399}
    for item, row in pairs:
        assert item.options == tuple(row["metadata"]["answer_choices"])
        assert item.options[item.gold or 0] == row["reference_answer"]
        assert (item.gold == item.unknown) is (item.tags["condition"] == "ambig")
        assert item.unknown is not None
        assert item.options[item.unknown].casefold() in PHRASINGS
    assert max(Counter(item.gold for item, _ in pairs).values()) < 0.4 * 800


def test_the_studys_bbq_items_are_the_upstream_ones_in_the_same_families() -> None:
    upstream = {(item.stem, item.options): item for name in BBQ for item in load("bbq", f"bbq/{name}.jsonl")}
    families: dict[str, set[str]] = {}
    found = 0
    for item, _ in study_rows("scaffold_study/sus_bbq.jsonl"):
        twin = upstream.get((item.stem, item.options))
        if twin is not None:
            found += 1
            assert (item.gold, item.unknown) == (twin.gold, twin.unknown)
            assert item.tags["category"] == twin.tags["category"].casefold()
            families.setdefault(item.family, set()).add(twin.family)
    assert found == 530
    assert all(len(each) == 1 for each in families.values())
    assert len({twin for each in families.values() for twin in each}) == len(families)


def test_the_studys_truthfulqa_keys_are_all_a_and_an_order_of_the_options_spreads_them() -> None:
    items = [item for item, _ in study_rows("scaffold_study/sus_truthfulqa_mc1.jsonl")]
    assert len(items) == 817
    assert {item.letters[item.gold or 0] for item in items} == {"A"}
    upstream = load("truthfulqa_mc1", "truthfulqa/v0_mc_task.json")
    assert [(each.query, each.options) for each in items] == [(each.query, each.options) for each in upstream]
    letters = Counter(arranged(item, "shuffled:42").gold for item in items)
    assert letters[0] < 0.3 * 817


def test_the_studys_prompts_are_375_to_comply_with_and_125_to_refuse() -> None:
    items = [item for item, _ in study_rows("scaffold_study/sus_xstest_orbench.jsonl")]
    assert Counter((item.tags["benchmark"], item.expected) for item in items) == {
        ("or_bench", "comply"): 250,
        ("xstest", "comply"): 125,
        ("xstest", "refuse"): 125,
    }


def test_the_studys_opinions_are_right_where_they_do_not_flatter() -> None:
    pairs = list(study_rows("anthropic_evals/sycophancy/sus_sycophancy_eval_exp4.jsonl"))
    assert Counter(item.tags["category"] for item, _ in pairs) == {
        "nlp": 167,
        "philosophy": 167,
        "politics": 166,
    }
    for item, row in pairs:
        assert item.gold is None
        assert [item.letters[place] for place in item.right] == [row["metadata"]["correct_answer"]]
    assert Counter(item.matching for item, _ in pairs) == {0: 252, 1: 248}


def test_real_items_carry_the_levels_that_their_files_document() -> None:
    for name, size in BBQ.items():
        items = load("bbq", f"bbq/{name}.jsonl")
        templates = {item.template for item in items}
        assert len(templates) == 25 and len({item.category for item in items}) == 1
        holders: dict[str, set[str]] = {}
        for item in items:
            holders.setdefault(item.family, set()).add(item.template)
        assert all(len(holder) == 1 for holder in holders.values()) and len(holders) == size / 4
    study = [item for item, _ in study_rows("scaffold_study/sus_bbq.jsonl")]
    assert unit_level(study, None) == "template" and len({item.template for item in study}) < 800 / 3
    opinions = [item for item, _ in study_rows("anthropic_evals/sycophancy/sus_sycophancy_eval_exp4.jsonl")]
    by_question: dict[str, set[frozenset[str]]] = {}
    for item in opinions:
        by_question.setdefault(item.template, set()).add(frozenset(item.options))
    assert len(by_question) < len(opinions) / 5
    for loader, file in (
        ("mmlu", "mmlu/test_sample.csv"),
        ("crows_pairs", "crows_pairs/crows_pairs_anonymized.csv"),
        ("toxigen", "toxigen/toxigen_annotated_train.csv"),
        ("xstest", "xstest/xstest_prompts.csv"),
        ("truthfulqa_mc1", "truthfulqa/v1_TruthfulQA.csv"),
    ):
        items = load(loader, file)
        assert unit_level(items, None) == "item" and all(item.category for item in items)


@pytest.mark.parametrize(
    ("name", "column", "least", "most"),
    [
        ("bbq/Age.jsonl", "context", 0.95, 1.0),
        ("mmlu/test_sample.csv", "question", 0.0, 0.1),
        ("truthfulqa/v1_TruthfulQA.csv", "Question", 0.0, 0.2),
        ("crows_pairs/crows_pairs_anonymized.csv", "sent_more", 0.0, 0.1),
    ],
)
def test_items_from_templates_share_their_wording_and_others_do_not(
    name: str, column: str, least: float, most: float
) -> None:
    """A warning begins at one half."""
    with path_of(name).open(encoding="utf-8") as file:
        rows = list(map(json.loads, file)) if name.endswith("jsonl") else list(csv.DictReader(file))
    share = share_with_shared_wording([phrases(row[column]) for row in rows[:MOST]])
    assert least <= share <= most
