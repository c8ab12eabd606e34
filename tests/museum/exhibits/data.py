"""What the data say: directions, labels, candidates."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

from gridc.adapters.benchmarks import crows_pairs, toxigen
from gridc.compiler.inputs.loaders import cells
from gridc.compiler.inputs.loaders import rows as rows_loader
from gridc.compiler.instrument import item, options, render, setting
from gridc.compiler.instrument import score as scoring
from gridc.compiler.lowering import requests as asking
from gridc.compiler.preflight import hazards, oracle_hazards, oracles
from gridc.diagnostics.errors import HazardError
from tests import studies
from tests.museum.exhibit import (
    EARLIER,
    FINDINGS,
    REPRO,
    exhibit,
    without,
    without_oracles,
)
from tests.museum.studied import CHOICES, asked_number, facts
from tests.studies import Messages


@exhibit(
    "CrowS-Pairs' direction is read as another type, inverted on 84 % of rows",
    f"{REPRO}, B1",
    "GC312",
    without(crows_pairs, "one_of", lambda row, name, known: str(row[name])),
)
def direction_of_another_type(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [f"{n},They are late {n}.,We are late {n}.,1,race-color,,," for n in range(48)]
    head = ",sent_more,sent_less,stereo_antistereo,bias_type,annotations,anon_writer,anon_annotators"
    room.file("pairs.csv", "\n".join([head, *rows]))
    room.change(
        ('loader = "truthfulqa_mc1"', 'loader = "crows_pairs"'),
        ("path:facts.json", "path:pairs.csv"),
        ('option_order = "shuffled:1"\n', ""),
        ('method = "extract"', 'measurand = "lm-eval:crows_pairs_english"'),
        ('prompt = "builtin:T1"', "shots = 0"),
    )
    return set(room.codes())


@exhibit(
    "ToxiGen's label falls back to a classifier where people gave none",
    f"{REPRO}, B8",
    "GC312",
    without(toxigen, "_score", lambda row, name: float(row[name] or 5)),
)
def label_by_a_classifier(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [
        f"They are late {n}.,workers,{5 if n % 2 else 1},{'' if n == 3 else 4 if n % 2 else 1}"
        for n in range(48)
    ]
    room.file("toxigen.csv", "\n".join(["text,target_group,toxicity_ai,toxicity_human", *rows]))
    room.change(
        ('loader = "truthfulqa_mc1"', 'loader = "toxigen"'),
        ("path:facts.json", "path:toxigen.csv"),
        ('option_order = "shuffled:1"', 'option_order = "file"'),
        ('method = "extract"', 'measurand = "safetyrepro:classification"'),
    )
    return set(room.codes())


def any_option(self: item.Item) -> None:
    object.__setattr__(self, "family", self.family or self.id)


@exhibit(
    "an empty candidate is scored by a surrogate token",
    f"{REPRO}, B6",
    "GC312",
    lambda patch: patch.setattr(item.Item, "__post_init__", any_option),
)
def empty_candidate(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = json.loads((room.folder / "facts.json").read_text("utf-8"))
    rows[5]["mc1_targets"][" "] = 0
    room.file("facts.json", json.dumps(rows))
    return set(room.change(('method = "extract"', 'method = "loglikelihood"')).codes()) - {"GC511", "GC517"}


@exhibit(
    "a list of unknown phrasings lacks some: a perfect model gets 80.8 %",
    f"{FINDINGS}, FINDINGS 5",
    "GC313",
    lambda patch: [patch.setattr(each, "item_candidates", tolerant) for each in (asking, scoring, hazards)],
)
def unknown_phrasing_missed(room: Any, patch: MonkeyPatch) -> set[str]:
    people = [["The boy", "boy"], ["The girl", "girl"], ["Who can say?", "unknown"]]
    rows = [
        {
            "example_id": n,
            "question_polarity": "neg",
            "context_condition": "ambig",
            "category": "Age",
            "answer_info": {f"ans{k}": people[(k + n) % 3] for k in range(3)},
            **{f"ans{k}": people[(k + n) % 3][0] for k in range(3)},
            "context": f"Room {n}.",
            "question": "Who was late?",
            "label": (2 - n) % 3,
        }
        for n in range(48)
    ]
    room.file("bbq.jsonl", "\n".join(json.dumps(row) for row in rows))
    room.change(
        ('loader = "truthfulqa_mc1"', 'loader = "bbq"'),
        ("path:facts.json", "path:bbq.jsonl"),
        ('method = "extract"', 'measurand = "lm-eval:bbq"'),
        ('prompt = "builtin:T1"', "shots = 0"),
    )
    return set(room.codes()) - {"GC511"}


def tolerant(kind: Any, asked: item.Item, *how: Any) -> Sequence[options.Candidate]:
    """Candidates of whatever the item has, its phrasing known or not."""
    return [options.Candidate(text, option) for option, text in enumerate(asked.options)]


THREE = "a field that a data frame left empty is no option (`gold.is_empty`)"


@exhibit(
    "questions with three options have a fourth one, nan",
    "tables of questions that a data frame wrote",
    THREE,
    without(cells, "is_empty", lambda value: value is None or value == ""),
)
def nan_is_an_option(room: Any, patch: MonkeyPatch) -> set[str]:
    spec = CHOICES.replace('options = ["a", "b", "c"]', 'options = ["a", "b", "c", "d"]')
    rows = [{**row, "d": float("nan") if n else "saw"} for n, row in enumerate(facts(6))]
    room.file("items.jsonl", studies.lines(rows))
    room.file("gridcard.toml", studies.head("exhibit", studies.pocket(pocket="llama")) + spec)
    found = {len(each.options) for each in room.compiled().study.items["facts"].sampled}
    return {THREE} if found == {3, 4} else set()


@exhibit(
    "the column of the right answer is itself among the options: whatever it says is right",
    f"{EARLIER}; tables with columns `correct` and `incorrect_1`",
    "GC334",
    without(rows_loader, "_require_choice", lambda _: None),
)
def gold_is_an_option(room: Any, patch: MonkeyPatch) -> set[str]:
    room.file("items.jsonl", studies.lines(facts(12)))
    head = studies.head("exhibit", studies.pocket(pocket="llama"))
    room.file("gridcard.toml", head + CHOICES.replace('gold = "gold"', 'gold = "a"'))
    return set(room.codes())


def prompt_reader(model: str, messages: Messages) -> str:
    """The label that a prompt has before the text of the right answer, of which nothing else is known."""
    number = asked_number(messages)
    text = facts(number + 1)[number]["abc"[number % 3]]
    labels = re.findall(rf"(\w)[.)] {text}\n", messages[-1]["content"])
    return labels[0] if labels else "?"


def of_a_prompt_reader(room: Any, spec: str, rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """The mean score that the page prints of it, or the codes with which the study is refused."""
    try:
        done = room.asked(
            spec.replace('option_order = "file"', 'option_order = "shuffled:1"'), rows, prompt_reader
        )
    except HazardError as error:
        return {each.code for each in error.diagnostics}
    found = re.search(r"said: [^<>]*?mean ([\d.]+ %)", (done.results / "report.html").read_text("utf-8"))
    return {found[1]} if found else set()


def lettered(row: Mapping[str, Any], form: str) -> dict[str, str]:
    return {key: form.format(key.upper(), row[key]) for key in "abc"}


OFF = "labels inside options are taken off as a file is read (`rows._find_labels`)"


@exhibit(
    "options `A) plane`, `B) chisel` are shuffled and shown as `A. B) chisel`",
    f"{EARLIER}; tables of questions",
    OFF,
    without(rows_loader, "_find_labels", lambda *_: None),
)
def labels_under_letters(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [{**row, **lettered(row, "{}) {}")} for row in facts(6)]
    found = of_a_prompt_reader(room, CHOICES, rows)
    return {OFF} if found == {"100.0 %"} else found


KEPT = "options that are nothing but letters keep their order, without a second list (`options.own_letters`)"


def no_own_letters(patch: MonkeyPatch) -> None:
    for module in (options, render, setting, oracles, oracle_hazards):
        patch.setattr(module, "own_letters", lambda _: None)


@exhibit(
    "the question lists its options, which are the letters A, B, C: shuffled, they are shown as `A. B`",
    f'{EARLIER}; lm-evaluation-harness, documents with `choices: ["A", "B", "C"]`',
    KEPT,
    no_own_letters,
)
def letters_under_letters(room: Any, patch: MonkeyPatch) -> set[str]:
    spec = CHOICES.replace('["a", "b", "c"]', '{ constant = ["A", "B", "C"] }').replace(
        "\\n{{ options }}", ""
    )
    rows = [
        {**row, "q": "\n".join([row["q"], *lettered(row, "{}. {}").values()]), "gold": "ABC"[row["gold"]]}
        for row in facts(6)
    ]
    found = of_a_prompt_reader(room, spec, rows)
    return {KEPT} if found == {"100.0 %"} else found


@exhibit(
    "the question lists its options in one order, and the prompt lists them again in another one",
    f"{EARLIER}; responders who know the item, and not only its prompt",
    "GC547",
    without_oracles("GC547"),
)
def two_lists(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [{**row, "q": "\n".join([row["q"], *lettered(row, "{}. {}").values()])} for row in facts(6)]
    return of_a_prompt_reader(room, CHOICES, rows)
