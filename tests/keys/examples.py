"""For each key of the language another valid value, and by what that value is seen.

A row of `TRIED` has keys of a table that are tried at one place of a base study of `bases/`. To add a key,
put it into a row of its table with another value; where it applies only beside something else, that is a
`Beside`. What a key moves decides by what it is seen: `asked`, what a run would execute; `stored`, the
outcomes of its samples; `documented`, what a report says; `sealed`, the order in which responses are judged;
`opened`, what engines are opened with; `sent`, what a run by gridc's own engines sends, and how it ends;
`tried`, what trials of the instrument show; `refused`, a spec that is wrong without it.
"""

# fmt: off
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Seen = Literal["asked", "stored", "documented", "sealed", "opened", "sent", "tried", "refused"]


@dataclass(frozen=True, slots=True)
class Beside:
    """A value, with what must stand in the study for it to apply, before and after."""

    value: Any
    stated: Mapping[str, Any]


LEFT_OUT = object()
"""In place of a value: the key is not there any more."""


@dataclass(frozen=True, slots=True)
class Tried:
    """Keys of one table, changed at one place of a base study."""

    table: str
    base: str
    place: str
    seen: Seen
    values: Mapping[str, Any]


def only(keys: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Some of the keys, with their values."""
    return {key: values[key] for key in keys.split()}


PROMPTS = {"benchmark.0": {"id": "families", "loader": "xstest", "source": "path:both.csv",
    "direction": "higher"}, "harness.method": "refusal_keywords"}
RANKED = {"harness.method": "loglikelihood"}
FILTERED = {"fork.1.choice.some": {"responses": {"characters": {"at_least": 9}}}}
SAMPLED = {"harness.temperature": 0.7}
PARTS = {"a": "One.", "b": "Two."}
VARIANTS = {
    "benchmark.0.variants": [{"id": "again", "source": "path:again.jsonl"}],
    "benchmark.1.variants": [{"id": "again", "source": "path:reworded.jsonl"}],
    "axis.0.level.0.variant": "again",
}

FILE = {"source": "path:levels.csv", "id": "id", "prompt": "text", "vars": {"word": "words"}, "tier": "core",
    "provenance": "origin"}
FILED = {"axis.0.level": LEFT_OUT, "axis.0.levels": FILE}
VALUED = {"axis.0.level": LEFT_OUT, "axis.0.values": {"casing": ["upper"]}, "axis.0.tier": "core",
    "axis.0.provenance": "a test"}

PROMPT = {
    "chat_template": False,
    "system": "Be brief.",
    "system_order": Beside(["b", "a"], {"harness.system": PARTS, "harness.system_order": ["a", "b"]}),
}
QUESTION = {
    **PROMPT,
    "measurand": Beside("inspect:bbq", {"benchmark.1": {"id": "rows", "loader": "bbq",
        "source": "path:again.jsonl", "direction": "higher"}, "harness": {"measurand": "helm:bbq",
        "option_order": "file"}, "benchmark.0.option_order": LEFT_OUT, "axis.0.level": [{"id": "one",
        "tier": "core", "provenance": "a test"}, {"id": "two", "tier": "core", "provenance": "a test",
        "system": "Be brief."}]}),
    "prompt": "{{ question }} Well?",
    "prompt_order": Beside(["b", "a"], {"harness.prompt": {"a": "{{ question }}", "b": "Answer:{{ answer }}"},
                                        "harness.prompt_order": ["a", "b"]}),
    "vars": Beside({"tone": "formal"}, {"harness.vars": {"tone": "plain"},
        "harness.prompt": "{{ tone }} {{ question }}"}),
    "enumerator": "1.",
    "separators": {"options": "; "},
    "casing": "upper",
    "shots": 2,
    "exemplars_as": Beside("turns", {"harness.shots": 2, "harness.chat_template": True}),
    "options": "listed",
    "option_order": Beside("reversed", {"benchmark.0.option_order": LEFT_OUT,
        "benchmark.1.option_order": LEFT_OUT, "harness.option_order": "file"}),
    "items": {"n": 4, "seed": 1},
    "wrapper": "{{ prompt }} Think.",
    "method": "first_token",
    "stop": ["."],
    "answer": "letter",
    "candidates": Beside("letter", RANKED),
    "normalise": Beside("unconditional", RANKED),
    "premise": Beside("So:", {**RANKED, "harness.normalise": "unconditional"}),
    "seam": Beside("context_length", RANKED),
    "overflow": Beside("drop_exemplars", {"harness.shots": 2}),
    "delimiter": Beside("\n", {**RANKED, "harness.chat_template": False}),
    "max_tokens": 33,
}
COUNTED = {"benchmark.1.method": "scorer",
    "benchmark.1.scorer": {"function": "python:scorers.py:length",
        "examples": [{"item": "thing-1", "response": "Well.", "gives": 0.5}]}}
NAMED = {"outcome.1": {"id": "luck", "benchmark": "rows", "number": "length"}, "hypothesis.1.outcome": "luck",
    "benchmark.0.method": "scorer",
    "benchmark.0.scorer": {"function": "python:scorers.py:both", "score": "length"}}
REPEATED = {"axis.1.level.1.replicates": 4}
GROUPED = {"benchmark.0.unit": "family", "benchmark.0.sample": LEFT_OUT, "benchmark.1.sample": LEFT_OUT,
    "benchmark.1.loading.fields.family": "kin", "axis.1.level.1.replicates": 1}
MATCHED = {"benchmark.1.option_order": LEFT_OUT,
    "benchmark.1.loading": {"fields": {"query": "ask", "references": ["one"], "id": "name"}},
    "benchmark.1.method": "match", "benchmark.1.options": "none", "benchmark.1.match": {"as": "number"}}
WORKED = {**MATCHED, "benchmark.1.loading.fields.references": ["working"],
    "benchmark.1.match": {"as": "contains"}}
BEHIND = {**MATCHED, "benchmark.1.option_order": "file", "benchmark.1.match": {"as": "filtered", "filters": [
    {"kind": "regex", "pattern": "[0-9]+"}, {"kind": "multi_choice_regex", "pattern": "[A-D]"},
    {"kind": "lowercase"}, {"kind": "map", "map": {"a": "1"}, "default": "2"}], "ignore": {"numbers": False}},
    "benchmark.1.loading.fields.options": ["a", "b", "c"], "benchmark.1.loading.fields.gold": "right"}
SCORED = {
    "match": Beside({"as": "text", "after": "Answer:"}, {"harness.method": "match",
        "harness.match": {"as": "text"}, "benchmark.1.match": {"as": "text"},
        "axis.0.level.1.match": {"as": "text"}}),
    "scorer": Beside({"function": "python:scorers.py:letters"}, {"harness.method": "scorer",
        "harness.scorer": {"function": "python:scorers.py:length"},
        "benchmark.1.scorer": {"function": "python:scorers.py:length"},
        "axis.0.level.1.scorer": {"function": "python:scorers.py:length"}}),
    "reader": "whole_response",
    "out_of_form": Beside("by_phrases", {"harness.answer": "boxed", "harness.prompt": "builtin:plain"}),
    "scores": {"right": 0.5, "other": 0},
    "unreadable": Beside("worst", {"benchmark.0.direction": "lower", "benchmark.1.direction": "lower"}),
    "ties": Beside("last", RANKED),
}
RATED = {"judge.labels": LEFT_OUT, "harness.scores": LEFT_OUT, "judge.scale": {"from": 1, "to": 4}}
CALLED = {"judge": LEFT_OUT, "harness.scores": LEFT_OUT, "harness.method": "scorer",
    "harness.scorer": {"function": "python:scorers.py:length"},
    "benchmark.0.loading.fields.functions": "tools"}
CLAIMS = {"of": "supported", "among": ["supported", "unsupported"], "empty": 0}
SHARED: dict[str, object] = {"judge.labels": LEFT_OUT, "harness.scores": LEFT_OUT, "judge.counts": CLAIMS}
PAIRED = {"judge.labels": LEFT_OUT, "judge.panel": LEFT_OUT, "judge.verdict": LEFT_OUT,
    "harness.scores": LEFT_OUT, "judge.compares": {"against": "two", "swap": True}}
JUDGES = [{"id": name, "source": f"{name}-2026-01-01", "base_url": "http://127.0.0.1:8/v1",
    "rubric": "Is it right?", "labels": ["true", "untrue", "unclear"]} for name in ("first", "second")]
AGAIN = {"loader": "rows", "source": "path:rows.jsonl", "direction": "higher", "option_order": "file",
    "loading": {"gold": "index", "fields": {"query": "ask", "options": ["a", "b", "c"], "gold": "right",
        "id": "name"}}}
TWO_JUDGES = {"judge": JUDGES, "harness.judge": "first",
    "benchmark.1": {"id": "more", "judge": "first", "sample": {"n": 6, "seed": 1}, **AGAIN},
    "benchmark.2": {"id": "most", "judge": "second", "sample": {"n": 6, "seed": 1}, **AGAIN}}
LEVELS_JUDGED = {"judge": JUDGES, "axis.0.level.0.judge": "first", "axis.0.level.1.judge": "first",
    "axis.0.level.2": {"id": "do", "tier": "core", "provenance": "a test",
        "prompt": "Do answer. {{ question }}", "judge": "second"}}
DECODING = {"temperature": 0.5, "top_p": Beside(0.5, SAMPLED)}
ASKING = {
    "precision": "bf16",
    "thinking": Beside("low", {"harness.max_tokens": 4096}),
    "system_turn": Beside("user", {"harness.system": "Be brief."}),
    **DECODING,
    "variant": Beside("again", VARIANTS),
    "scaffold": {"kind": "cot"},
    "replicates": Beside(2, SAMPLED),
}

FIELDS = {
    "query": "about", "context": LEFT_OUT, "id": "also",
    "options": Beside(["c", "b", "a"], {}), "gold": Beside("other", {"harness.option_order": LEFT_OUT,
        "benchmark.1.option_order": "gold_at:A"}),
    "references": Beside(["free too"], {"benchmark.1.loading": {"fields": {"query": "ask",
        "references": ["free"], "id": "name"}}, "benchmark.1.method": "refusal_keywords",
        "benchmark.1.options": "none", "benchmark.1.option_order": LEFT_OUT, "harness.shots": 2,
        "waive": [{"code": "GC520", "why": "a test"}]}),
    "open": Beside("about", {"harness.options": "none"}),
}  # fmt: skip
SPLIT = {"benchmark.1.loading": {"fields": {"query": "ask", "references": {"column": "ask", "split": " "},
    "id": "name"}}, "benchmark.1.method": "refusal_keywords", "benchmark.1.options": "none",
    "benchmark.1.option_order": LEFT_OUT, "harness.shots": 2, "waive": [{"code": "GC520", "why": "a test"}]}
LETTERED = {"column": "right", "map": {"0": "A", "1": "B", "2": "C"}}


def mapped(**fields: Any) -> dict[str, Any]:
    """Items whose right option is shown first, from a field map with these fields."""
    return {"harness.option_order": LEFT_OUT, "benchmark.1.option_order": "gold_at:A",
            "benchmark.1.loading": {"fields": {"query": "ask", "options": ["a", "b", "c"], **fields}}}


PEOPLE = {"user": "Person", "assistant": "Machine"}


def spoken_in(column: str, **names: str) -> dict[str, Any]:
    """Items whose conversation names its speakers in words of its own."""
    return {"benchmark.1.loading.fields.query": LEFT_OUT,
            "benchmark.1.loading.fields.messages": {"column": column, **names}}


NEEDED = {"hypothesis.1.where": {"benchmark": "rows", "model": "two"}}
HYPOTHESIS = {"family": LEFT_OUT, "claim": "otherwise", "where": {"decoding": "greedy"}, "each": "model"}
ASSESSOR = {
    "max_tokens": 99,
    "key_env": "A_KEY", "price": {"input": 1.0, "output": 1.0, "as_of": "2026-01-01"},
}  # fmt: skip
OPENED = {
    "source": "another-2026-01-01", "base_url": "http://127.0.0.1:5/v1", "server": "vllm", "omits": ["seed"],
    "batch": True,
}

def assessor_of_files(place: str) -> dict[str, Any]:
    """The keys of a judge whose files are known, by a value that its engine is opened with."""
    local = {f"{place}.source": "hf:nobody/nothing", f"{place}.base_url": LEFT_OUT, f"{place}.revision": "v1"}
    return {
        "revision": Beside("v2", local),
        "precision": Beside("bf16", local), "chat_template_args": Beside({"opening": "Well"}, local),
    }


TRIED = (
    Tried("Effects", "asked", "harness", "asked", QUESTION | ASKING),
    Tried("Effects", "asked", "harness", "stored", SCORED),
    Tried("Level", "asked", "axis.0.level.1", "asked", QUESTION | ASKING),
    Tried("Level", "asked", "axis.0.level.1", "stored", SCORED),
    Tried("Benchmark", "asked", "benchmark.1", "asked", QUESTION | DECODING | {
        "source": "path:fewer.jsonl", "sample": {"n": 5, "seed": 1}, "loading": {"gold": "index",
            "fields": {"query": "ask", "options": ["a", "b"], "gold": "right"}},
            "exemplars": Beside({"pool": "rest", "seed": 2}, {"harness.shots": 2}),
        "variants": Beside([{"id": "again", "source": "path:rows.jsonl"}], VARIANTS), "id": "lines",
    }),
    Tried("Benchmark", "asked", "benchmark.0", "asked", {"loader": Beside("or_bench", {**PROMPTS,
        "benchmark.0.loading": {"task": "classify"}, "benchmark.0.option_order": "file",
        "harness.method": "extract", **SAMPLED})}),
    Tried("Benchmark", "asked", "benchmark.1", "stored", SCORED),
    Tried("Benchmark", "analysed", "benchmark.0", "documented", {"direction": "lower", "unit": "family",
        "note": "of old"}),
    Tried("Model", "asked", "model.1", "asked", PROMPT | only("precision thinking system_turn",
        ASKING) | {"id": "three"}),
    Tried("Benchmark", "analysed", "benchmark.0", "documented", {"private": Beside(True, {
        "benchmark.1.private": True})}),
    Tried("Model", "analysed", "model.1", "documented", {"note": "the second"}),
    Tried("Fields", "asked", "benchmark.1.loading.fields", "asked", FIELDS),
    Tried("Fields", "analysed", "benchmark.0.loading.fields", "documented", {
        "unknown": LEFT_OUT, "matching": LEFT_OUT, "category": Beside("field",
            {"benchmark.0.unit": "category", "benchmark.0.loading.fields.family": LEFT_OUT,
            "benchmark.0.loading.fields.template": LEFT_OUT}), "template": Beside("design",
            {"benchmark.0.unit": "template"}),
        "family": Beside("clan", {"benchmark.0.unit": "family"}),
        "cluster": Beside("clan", {"benchmark.0.unit": "family",
            "benchmark.0.loading.fields.family": LEFT_OUT, "benchmark.0.loading.fields.cluster": "kin"}),
    }),
    Tried("Fields", "analysed", "benchmark.1.loading.fields", "documented", {"expected": "must"}),
    Tried("Fields", "asked", "benchmark.1.loading.fields", "refused", {"tags": Beside([],
        {"benchmark.1.sample.where": {"hue": "light"}, "benchmark.1.sample.n": 5})}),
    Tried("Fields", "asked", "benchmark.1.loading.fields", "asked", {
        "option_labels": Beside("turned", mapped(gold="side", option_labels="sides"))}),
    Tried("Fields", "asked", "benchmark.1.loading.fields", "asked", {
        "turns": Beside("spoken", {"benchmark.1.loading.fields.query": LEFT_OUT,
            "benchmark.1.loading.fields.turns": "said", "harness.scaffold": {"kind": "turns",
            "wording": {"families": ["Well?"]}}}),
        "messages": Beside("heard", {"benchmark.1.loading.fields.query": LEFT_OUT,
            "benchmark.1.loading.fields.messages": "told"}),
        "system": Beside("briefer", {"benchmark.1.loading.fields.system": "brief"}),
        "tools": Beside("others", {"benchmark.1.loading.fields.tools": "tools",
            "harness.scaffold": {"kind": "react"}})}),
    Tried("Fields", "judged", "benchmark.0.loading.fields", "asked", {"functions": Beside("others", CALLED)}),
    Tried("Fields", "asked", "benchmark.1.loading.fields", "asked", {
        "extra": Beside(["hue"], {"harness.prompt": "{{ question }} {{ extra | length }}"})}),
    Tried("FieldValue", "asked", "benchmark.1.loading.fields.gold", "asked", {
        "constant": Beside("B", mapped(gold={"constant": "A"})),
        "column": Beside("other", mapped(gold=LETTERED)),
        "map": Beside({"0": "B", "1": "A", "2": "A"}, mapped(gold=LETTERED))}),
    Tried("OptionList", "asked", "benchmark.1.loading.fields.options", "asked", {
        "constant": Beside(["red", "green"], mapped(options={"constant": ["green", "red"]}, gold="right"))}),
    Tried("SplitColumn", "asked", "benchmark.1.loading.fields.references", "asked", {
        "column": Beside("about", SPLIT), "split": Beside("has", SPLIT)}),
    Tried("SpeakerColumn", "asked", "benchmark.1.loading.fields.messages", "asked", {
        "column": Beside("chatted", spoken_in("overheard", **PEOPLE)),
        "assistant": Beside("Other", spoken_in("chatted", **PEOPLE)),
        "speaker": Beside("by", spoken_in("meeting", speaker="who", text="says", system="Rules", **PEOPLE)),
        "text": Beside("means", spoken_in("meeting", speaker="who", text="says", **PEOPLE))}),
    Tried("SpeakerColumn", "asked", "benchmark.1.loading.fields.messages", "refused", {
        "user": Beside("Nobody", spoken_in("chatted", **PEOPLE)),
        "system": Beside(LEFT_OUT, spoken_in("briefed", system="Rules", **PEOPLE))}),
    Tried("Loading", "asked", "benchmark.1.loading", "asked", {
        "header": Beside("none", {"benchmark.1.source": "path:numbered.csv", "benchmark.1.loading": {
            "fields": {"query": "column 1", "options": ["column 2", "column 3", "column 4"],
            "gold": {"constant": "A"}}}}),
        "rows": Beside("hard", {"benchmark.1.source": "path:nested.json", "benchmark.1.loading": {
            "rows": "easy", "gold": "index", "fields": {"query": "ask", "options": ["a", "b", "c"],
            "gold": "right", "id": "name"}}})}),
    Tried("Loading", "asked", "benchmark.0.loading", "asked", {"task": Beside("classify", {**PROMPTS,
        "benchmark.0.option_order": "file", "harness.method": "extract"})}),
    Tried("Loading", "asked", "benchmark.1.loading", "asked", {"gold": Beside("one_based",
        {"benchmark.1.source": "path:from_one.jsonl", "benchmark.1.loading.fields": {"query": "ask",
        "options": ["a", "b", "c"], "gold": "right"}, "benchmark.1.option_order": "gold_at:A"}),
        "fields": {"query": "ask", "options": ["a", "b"], "gold": "right"},
        "labels": Beside("keep", {"benchmark.1.loading": {"gold": "index", "labels": "remove",
            "fields": {"query": "ask", "options": ["A", "B", "C"], "gold": "right"}}})}),
    Tried("Loading", "asked", "benchmark.1.loading", "refused", {"malformed": Beside("error",
        {"benchmark.1.source": "path:broken.jsonl"})}),
    Tried("Variant", "asked", "benchmark.1.variants.0", "asked", {
        "source": Beside("path:rows.jsonl", VARIANTS),
        "loading": Beside({"gold": "index", "fields": {"query": "about", "options": ["a", "b", "c"],
            "gold": "right", "id": "name"}}, VARIANTS)}),
    Tried("Variant", "asked", "benchmark.1.variants.0", "refused", {"id": Beside("more", VARIANTS)}),
    Tried("Variant", "asked", "benchmark.1.variants.0", "documented", {
        "note": Beside("by hand", VARIANTS)}),
    Tried("Sample", "asked", "benchmark.1.sample", "asked", {
        "n": 21, "seed": 2, "unit": "family", "where": {"hue": "light"}, "disjoint_from": ["path:pilot.txt"],
        "share": Beside(0.25, {"benchmark.1.sample": {"share": 0.5, "seed": 1}}),
        "stratify": Beside(["hue"], {"benchmark.1.loading.fields.tags": ["hue", "field"],
            "benchmark.1.sample.stratify": ["field"], "benchmark.1.sample.allocation": "equal"}),
        "allocation": Beside("equal", {"benchmark.1.sample.stratify": ["hue"],
            "benchmark.1.sample.allocation": "proportional", "benchmark.1.sample.n": 12,
            "benchmark.1.source": "path:uneven.jsonl"}),
    }),
    Tried("Effects", "analysed", "harness", "documented", {"aggregate": Beside("majority", REPEATED)}),
    Tried("Level", "analysed", "axis.1.level.1", "documented", {"aggregate": Beside("majority", REPEATED)}),
    Tried("Effects", "analysed", "harness", "documented", {"all_of": Beside("family", GROUPED)}),
    Tried("Level", "analysed", "axis.1.level.1", "documented", {"all_of": Beside("family", GROUPED)}),
    Tried("Attempts", "analysed", "axis.1.level.1.aggregate", "documented", {
        "pass_at": Beside(3, {**REPEATED, "axis.1.level.1.aggregate": {"pass_at": 2}}),
        "pass_all": Beside(3, {**REPEATED, "axis.1.level.1.aggregate": {"pass_all": 2}})}),
    Tried("Match", "asked", "benchmark.1.match", "stored", {"as": Beside("exact", MATCHED),
        "share": Beside(True, {**WORKED, "benchmark.1.loading.fields.references": ["parts"]}),
        "within": Beside(1.0, MATCHED), "after": Beside("Answer:", WORKED),
        "gold_after": Beside("####", WORKED)}),
    Tried("Match", "asked", "benchmark.1.match", "documented", {
        "filters": Beside([], BEHIND), "ignore": Beside({"case": True}, BEHIND)}),
    Tried("RegexFilter", "asked", "benchmark.1.match.filters.0", "documented", {
        "pattern": Beside("[0-9.]+", BEHIND),
        "group": Beside(-1, BEHIND), "fallback": Beside("none", BEHIND)}),
    Tried("MultiChoiceRegexFilter", "asked", "benchmark.1.match.filters.1", "documented", {
        "pattern": Beside("[A-C]", BEHIND), "group": Beside(-1, BEHIND),
        "fallback": Beside("none", BEHIND), "ignore_case": Beside(True, BEHIND),
        "ignore_punctuation": Beside(True, BEHIND), "ignore": Beside(["the"], BEHIND)}),
    Tried("CaseFilter", "asked", "benchmark.1.match.filters.2", "documented", {
        "kind": Beside("uppercase", BEHIND)}),
    Tried("MapFilter", "asked", "benchmark.1.match.filters.3", "documented", {
        "map": Beside({"b": "1"}, BEHIND),
        "default": Beside("3", BEHIND)}),
    Tried("Ignored", "asked", "benchmark.1.match.ignore", "documented", {
        "case": Beside(True, BEHIND), "punctuation": Beside(True, BEHIND), "numbers": Beside(True, BEHIND),
        "regexes": Beside([","], BEHIND)}),
    Tried("Scorer", "asked", "benchmark.1.scorer", "stored", {
        "function": Beside("python:scorers.py:letters", COUNTED),
        "score": Beside("letters", {**COUNTED, "benchmark.1.scorer": {"function": "python:scorers.py:both",
            "score": "length"}})}),
    Tried("Scorer", "asked", "benchmark.1.scorer", "tried", {"examples": Beside(LEFT_OUT, COUNTED)}),
    Tried("Scorer", "asked", "benchmark.1.scorer", "refused", {
        "units": Beside({"letters": "letters"}, {**COUNTED, "benchmark.1.scorer": {
            "function": "python:scorers.py:both", "score": "letters"}})}),
    Tried("ScorerExample", "asked", "benchmark.1.scorer.examples.0", "tried", {"item": Beside("nothing",
        COUNTED), "response": Beside("Well, well.", COUNTED), "gives": Beside(LEFT_OUT, COUNTED)}),
    Tried("Exemplars", "asked", "benchmark.1.exemplars", "refused", {"pool": "task"}),
    Tried("Exemplars", "asked", "benchmark.1.exemplars", "asked", {"seed": Beside(2, {"harness.shots": 2})}),
    Tried("Separators", "asked", "harness.separators", "asked", {
        "label": " - ", "options": "; ", "question": "\n\n", "blocks": Beside("\n", {"harness.shots": 2}),
        "parts": Beside("\n", {"harness.prompt": {"a": "{{ question }}", "b": "Answer:"},
            "harness.prompt_order": ["a", "b"]}),
    }),
    Tried("Scaffold", "asked", "harness.scaffold", "asked", {
        "kind": Beside("critic", {"harness.scaffold": {"kind": "cot"}}),
        "rounds": Beside(2, {"harness.scaffold": {"kind": "critic"}}),
        "workers": Beside(2, {"harness.scaffold": {"kind": "vote"}}),
        "tools": Beside(["calculator"], {"harness.scaffold": {"kind": "react"}}),
        "wording": Beside({"families": ["Go.", "On."], "rows": ["Go.", "So."]},
            {"harness.scaffold": {"kind": "chain", "wording": {"families": ["Go.", "On."], "rows": ["Go.",
            "On."]}}}),
        "intensity": Beside("moderate", {"harness.scaffold": {"kind": "chain", "intensity": "aggressive"}}),
        "property": Beside({"rows": "harm"}, {"harness.scaffold": {"kind": "chain",
            "intensity": "aggressive"}}),
        "length": Beside(3, {"harness.scaffold": {"kind": "chain", "intensity": "minimal"}}),
    }),
    Tried("Axis", "asked", "axis.0", "asked", {"level": [{"id": "one", "tier": "core",
        "provenance": "a test", "casing": "lower"}]}),
    Tried("Axis", "asked", "axis.0", "asked", {
        "values": Beside({"casing": ["lower"]}, VALUED),
        "levels": Beside(FILE | {"source": "path:more.csv"}, FILED),
        "tier": Beside("stress", VALUED)}),
    Tried("Axis", "asked", "axis.0", "documented", {
        "provenance": Beside("elsewhere", VALUED)}),
    Tried("LevelFile", "asked", "axis.0.levels", "asked", {
        "source": Beside("path:more.csv", FILED),
        "prompt": Beside("other", FILED), "system": Beside("who", FILED),
        "wrapper": Beside("around", FILED),
        "vars": Beside({"word": "origin"}, FILED), "tier": Beside("tier", FILED),
        "benchmark": Beside("of", FILED)}),
    Tried("LevelFile", "asked", "axis.0.levels", "documented", {
        "provenance": Beside("tier", FILED), "id": Beside("who", FILED)}),
    Tried("Level", "asked", "axis.0.level.1", "asked", {"tier": "core"}),
    Tried("Sampling", "asked", "sampling", "asked", {"seed": Beside(8, SAMPLED),
        "independent": Beside(["frame"], SAMPLED)}),
    Tried("ConfigurationDraw", "asked", "draw", "asked", {
        "n": Beside(3, {"draw": {"n": 2, "seed": 1}, "axis.1": {"id": "casing", "level": [{"id": name,
            "tier": "core", "provenance": "a test", "shots": place} for place,
            name in enumerate("abcdef")]}}),
        "seed": Beside(2, {"draw": {"n": 3, "seed": 1}, "axis.1": {"id": "casing", "level": [{"id": name,
            "tier": "core", "provenance": "a test", "shots": place} for place,
            name in enumerate("abcdef")]}}),
    }),
    Tried("Exclude", "asked", "exclude.0", "asked", {"when": Beside({"frame": "please", "model": "two"},
        {"exclude": [{"when": {"frame": "please", "model": "one"}, "why": "so"}]})}),
    Tried("Not", "asked", "exclude.0.when.model", "asked", {"not": Beside("two",
        {"exclude": [{"when": {"frame": "please", "model": {"not": "one"}}, "why": "so"}]})}),
    Tried("StudySection", "asked", "study", "asked", {"id": "other"}),
    Tried("Spec", "asked", "", "asked", {
        "model": [{"id": "one", "engine": "hf", "source": "builtin:pocket-qwen2"}],
        "benchmark": [{"id": "families", "loader": "bbq", "source": "builtin:pocket_bbq.jsonl",
            "direction": "higher", "option_order": "file"}], "harness": {"prompt": "{{ question }}",
            "method": "extract"},
        "axis": [{"id": "one", "level": [{"id": "one", "tier": "core", "provenance": "a test"}]}],
        "draw": {"n": 2, "seed": 1}, "exclude": [{"when": {"frame": "please", "model": "one"}, "why": "so"}],
        "sampling": Beside({"seed": 8}, SAMPLED),
    }),

    Tried("StudySection", "analysed", "study", "documented", {
        "title": "Another", "purpose": "exploratory", "not_varied": ["nothing"], "assumptions": [],
        "tiers": Beside(["stress", "core"], {"study.tiers": ["core", "stress"],
            "axis.1.level.1.tier": "stress"}), "conflict_of_interest": "some",
        "yes_when": "order_holds",
    }),
    Tried("Roster", "analysed", "roster", "documented", {"inclusion": "whoever came"}),
    Tried("Axis", "asked", "axis.0", "documented", {"id": "form"}),
    Tried("Level", "analysed", "axis.0.level.2", "documented", {
        "provenance": "elsewhere", "dose": Beside(5.0, {"axis.0.level.0.dose": 0.0,
            "axis.0.level.1.dose": 1.0, "axis.0.level.2.dose": 2.0})}),
    Tried("Level", "asked", "axis.0.level.1", "documented", {"id": "other"}),
    Tried("Exclude", "analysed", "exclude.0", "documented", {"why": Beside("reasons",
        {"exclude": [{"when": {"frame": "please", "decoding": "sampled"}, "why": "so"}]})}),
    Tried("Slice", "analysed", "slice.0", "documented", {"id": "quiet", "declared": "post_hoc",
        "where": {"decoding": "sampled"}}),
    Tried("Waive", "analysed", "waive.0", "documented", {"why": "because",
        "where": {"benchmark": "prompts"}, }),
    Tried("Waive", "analysed", "waive.0", "refused", {"code": "GC521"}),
    Tried("Family", "analysed", "family.0", "documented", {"correction": "bh", "alpha": 0.1}),
    Tried("Family", "analysed", "family.0", "refused", {"id": "G"}),
    Tried("RankingHypothesis", "analysed", "hypothesis.0", "documented", HYPOTHESIS | {"each": "benchmark",
        "id": Beside("RR", {"falsification.1.criterion.keeps": ["D"]}), "items": {"hue": "light"},
        "order": ["two", "one"]}),
    Tried("ContrastHypothesis", "analysed", "hypothesis.1", "documented", HYPOTHESIS | {
        "each": Beside("model", {"curve": []}), "id": Beside("DD", {"curve": []}),
            "items": {"hue": "light"}, "kind": Beside("equivalence", {"curve": []}),
        "axis": Beside("other", {"axis.2": {"id": "other", "level": [{"id": "plain", "tier": "core",
            "provenance": "a test"}, {"id": "exam", "tier": "core", "provenance": "a test",
            "stop": ["."]}]}}), "level": "please", "reference": "please", "control": "please",
        "side": "less", "outcome": "parse_rate", "margin": {"pp": 3},
    }),
    Tried("InteractionHypothesis", "analysed", "hypothesis.2", "documented", HYPOTHESIS | {
        "id": "II", "family": "F", "items": {"hue": "light"}, "axis": "decoding", "by": "decoding",
            "outcome": "parse_rate", "each": Beside("benchmark", {"hypothesis.2.family": "F"})}),
    Tried("TrendHypothesis", "analysed", "hypothesis.3", "documented", HYPOTHESIS | {
        "id": "TT", "family": "F", "items": {"hue": "light"}, "order": ["please", "plain", "exam"],
            "direction": "increasing", "outcome": "parse_rate", "each": Beside("benchmark",
            {"hypothesis.3.family": "F"}),
        "axis": Beside("other", {"axis.2": {"id": "other", "level": [{"id": "plain", "tier": "core",
            "provenance": "a test"}, {"id": "please", "tier": "core", "provenance": "a test",
            "stop": [","]}, {"id": "exam", "tier": "core", "provenance": "a test", "stop": ["."]}]}})}),
    Tried("StatisticHypothesis", "analysed", "hypothesis.4", "documented", HYPOTHESIS | {
        "id": "SS", "family": "F", "items": {"hue": "light"}, "statistic": "parse_rate",
        "axis": Beside("other", {"axis.2": {"id": "other", "level": [{"id": "plain", "tier": "core",
            "provenance": "a test"}, {"id": "exam", "tier": "core", "provenance": "a test",
            "stop": ["."]}]}}), "level": "please", "reference": "please", "predicts": "higher",
        "each": Beside("benchmark", {"hypothesis.4.family": "F"}),
        "margin": Beside(9, {"hypothesis.4.predicts": "within", "hypothesis.4.margin": 5})}),
    Tried("Margin", "analysed", "hypothesis.1.margin", "documented", {"pp": 3, "sensitivity_pp": [6],
        "largest_change": 20, "about": "these_units"}),
    Tried("NamedOutcome", "analysed", "outcome.0", "documented", {
        "id": Beside("hurt", {"statistic.1.confidence": "refusal_rate", "statistic.2.above": "refusal_rate",
            "statistic.3.formula": "refusal_rate * 2"}),
        "benchmark": ["rows", "prompts"], "scores": {"comply": 1, "refuse": 0, "other": 0},
            "items": {"hue": "light"}, "what": "pain"}),
    Tried("NamedOutcome", "analysed", "outcome.1", "documented", {"unreadable": Beside("one",
        {"outcome.1": {"id": "luck", "benchmark": "rows", "scores": {"right": 1, "other": 0}},
        "hypothesis.1.outcome": "luck"}), "number": Beside("letters", NAMED)}),
    Tried("Statistic", "analysed", "statistic.0", "documented", {
        "id": "other", "kind": "precision", "predicted": "harm", "what": "skill", "over": ["decoding"],
        "positive": {"hue": "light"}, "benchmark": Beside(["prompts", "rows"], {
            "statistic.0.kind": "macro_mean", "statistic.0.positive": LEFT_OUT})}),
    Tried("Statistic", "analysed", "statistic.1", "documented", {
        "confidence": "refusal_rate", "outcome": "refusal_rate", "bins": 100,
        "by": Beside("category", {"statistic.1.kind": "macro_mean",
            "benchmark.1.loading.fields.category": "topic", "statistic.1.confidence": LEFT_OUT})}),
    Tried("Statistic", "analysed", "statistic.2", "documented", {"above": "parse_rate",
        "below": "parse_rate"}),
    Tried("Statistic", "analysed", "statistic.5", "documented", {"k": 2}),
    Tried("Statistic", "analysed", "statistic.3", "documented", {"formula": "harm / answers"}),
    Tried("Statistic", "analysed", "statistic.4", "documented", {"of": "parse_rate"}),
    Tried("ByExpected", "analysed", "outcome.0.scores.comply", "documented", {"comply": 0.5, "refuse": 0.5}),
    Tried("Fork", "analysed", "fork.0", "documented", {
        "id": Beside("read", {"curve.0.forks": ["part"]}), "category": "words", "levels": ["itt", "pp",
            "neither"], "default": "pp", "binds": "documented", "description": "otherwise"}),
    Tried("Fork", "analysed", "fork.1", "documented",
        {"choice": {"some": {"where": {"decoding": "sampled"}}}}),
    Tried("Choice", "analysed", "fork.1.choice.some", "documented", {
        "where": {"decoding": "sampled"}, "items": {"hue": "light"}, "reading": Beside("pp",
            {"curve.0.forks": ["part"]}), "outcome": "parse_rate", "without_terms": ["model"],
        "items_of": {"rows": {"hue": "light"}}, "outcome_of": {"prompts": "harm"},
        "responses": {"characters": {"at_least": 9}}, "primary": {"decoding": "sampled"},
        "pool": Beside(["decoding"], {"fork.1.choice.some": {"without_terms": ["model"]}}),
        "refusal_phrases": ["no way"], "estimator": "glmm"}),
    Tried("ResponseFilter", "analysed", "fork.1.choice.some.responses", "documented", {
        "characters": Beside({"at_least": 3}, FILTERED), "tokens": Beside({"at_most": 2}, FILTERED),
        "finish": Beside(["length"], FILTERED), "labels": Beside(["comply"], FILTERED),
        "benchmarks": Beside(["rows"], FILTERED), "others": Beside("one", FILTERED)}),
    Tried("CountBounds", "analysed", "fork.1.choice.some.responses.characters", "documented", {
        "at_least": Beside(3, FILTERED), "at_most": Beside(30, FILTERED)}),
    Tried("Curve", "analysed", "curve.0", "documented", {
        "id": "CC", "forks": ["reading"], "hypotheses": ["R"], "sample": {"n": 2, "seed": 1},
            "estimator": "glmm",
            "exclude": [{"when": {"reading": "pp", "part": "some"}, "why": "so"}], "declared": "post_hoc"}),
    Tried("CurveSample", "analysed", "curve.0.sample", "documented", {
        "n": Beside(3, {"curve.0.sample": {"n": 2, "seed": 1}}), "seed": Beside(5,
            {"curve.0.sample": {"n": 2, "seed": 1}})}),
    Tried("Falsification", "analysed", "falsification.0", "documented", {"category": "other",
        "partial": "a little moves"}),
    Tried("Falsification", "analysed", "falsification.2", "documented", {
        "id": "persons", "test": "nobody looks", "passes": "a", "fails": "c"}),
    Tried("Falsification", "analysed", "falsification.0", "documented", {"criterion": {"statistic": "sdi",
        "at_most": 0.2}}),
    Tried("Criterion", "analysed", "falsification.0.criterion", "documented", {
        "statistic": "sdi", "at_most": 0.2, "partial": 0.6, "where": {"decoding": "greedy"},
            "slice": "calm"}),
    Tried("Criterion", "analysed", "falsification.1.criterion", "documented", {
        "keeps": ["D"]}),
    Tried("Criterion", "analysed", "falsification.1.criterion", "documented", {
        "level": Beside("some", {"falsification.1.criterion": {"keeps": ["R"], "fork": "part",
            "level": "all"}}),
        "fork": Beside("reading", {"falsification.1.criterion": {"keeps": ["R"], "fork": "again",
            "level": "pp"}, "fork.2": {"id": "again", "category": "x", "levels": ["itt", "pp", "z"],
            "default": "itt", "binds": "documented"}}),
        "at_least": Beside(0.2, {"falsification.1.criterion": {"statistic": "score", "at_least": 0.1}})}),
    Tried("Analysis", "analysed", "analysis", "documented", {
        "estimator": "glmm", "outcome": "pp", "equivalence": Beside("nonsignificant",
            {"axis.0.level.2.stop": ["A"]}), "primary": {"decoding": "greedy"},
        "bootstrap": {"resamples": 200, "seed": 1, "unit": "item"}, "permutations": 21,
            "nnh": Beside(LEFT_OUT, NEEDED),
        "generalizability": {"frame": "random", "decoding": "fixed"}, "alpha": 0.01,
            "evidence": "descriptive", "anchor": {"frame": "exam"},
        "thresholds": [], "parse_clean": 0.5, "margin": {"pp": 40},
    }),
    Tried("PlainMargin", "analysed", "analysis.margin", "documented", {
        "pp": Beside(40, {"analysis.margin": {"pp": 5}})}),
    Tried("Bootstrap", "analysed", "analysis.bootstrap", "documented", {
        key: Beside(value, {"analysis.bootstrap": {"resamples": 200, "seed": 1, "unit": "item"}})
        for key, value in {"resamples": 300, "seed": 2, "unit": "family"}.items()}),
    Tried("NumberNeeded", "analysed", "analysis.nnh", "documented", {"rounding": Beside("round", NEEDED)}),
    Tried("Threshold", "analysed", "analysis.thresholds.0", "documented", {
        "at": 0.6, "declared": "post_hoc", "source": "somebody", "where": {"benchmark": "rows"}}),
    Tried("Spec", "analysed", "", "documented", {
        "study": {"id": "analysed", "title": "Another", "purpose": "comparative"}, "slice": [],
        "statistic": LEFT_OUT,
        "hypothesis": Beside([], {"falsification": [], "curve": []}), "fork": Beside([], {"curve": []}),
        "family": Beside([{"id": "F", "correction": "bh"}], {}), "waive": Beside([{"code": "GC520",
            "why": "otherwise"}], {}),
        "falsification": [], "outcome": LEFT_OUT, "roster": LEFT_OUT, "analysis": {}, "curve": [],
    }),

    Tried("Choice", "judged", "fork.0.choice.other", "documented", {"judge": Beside("judge.third", {
        "hypothesis": [{"id": "R", "kind": "ranking", "order": ["one", "two"]}],
        "fork": [{"id": "by", "category": "scoring", "levels": ["all", "other"], "default": "all",
            "binds": "judge", "choice": {"other": {"judge": "judge.fourth"}}}],
        "curve": [{"id": "C", "forks": ["by"], "declared": "ex_ante"}]})}),
    Tried("Judge", "judged", "judge", "asked", ASSESSOR | {}),
    Tried("Judge", "judged", "judge", "stored", {
        "rubric": "Is it wrong?", "labels": ["untrue", "true", "unclear"], "confidence": 5,
            "backup": LEFT_OUT, "reply": "brackets",
        "panel": [{"id": "third", "source": "third-2026-01-01", "base_url": "http://127.0.0.1:6/v1"}],
            "verdict": "unanimous",
    }),
    Tried("Judge", "judged", "judge", "stored", {"scale": Beside({"from": 0, "to": 2}, RATED)}),
    Tried("RatingScale", "judged", "judge.scale", "stored",
        {"from": Beside(0, RATED), "to": Beside(9, RATED)}),
    Tried("Judge", "judged", "judge", "stored", {"counts": Beside({**CLAIMS, "of": "unsupported"}, SHARED)}),
    Tried("ClaimCount", "judged", "judge.counts", "stored", {"of": Beside("unsupported", SHARED),
        "among": Beside(["supported", "unsupported", "vague"], SHARED), "empty": Beside(0.5, SHARED),
        "most": Beside(9, SHARED)}),
    Tried("Judge", "judged", "judge", "stored",
        {"compares": Beside({"against": "one", "swap": True}, PAIRED)}),
    Tried("Compares", "judged", "judge.compares", "stored", {"against": Beside("reference", PAIRED),
        "swap": Beside(False, PAIRED)}),
    Tried("Judge", "judged", "judge", "documented", {"id": "first"}),
    Tried("Effects", "judged", "harness", "stored", {"judge": Beside("second", TWO_JUDGES)}),
    Tried("Benchmark", "judged", "benchmark.1", "stored", {"judge": Beside("second", TWO_JUDGES)}),
    Tried("Level", "judged", "axis.0.level.1", "stored", {"judge": Beside("second", LEVELS_JUDGED)}),
    Tried("Judge", "judged", "judge", "documented", {
        "validation": LEFT_OUT, "blinding": LEFT_OUT, "reasks": 0}),
    Tried("Assessor", "judged", "judge.backup", "asked", ASSESSOR),
    Tried("Validation", "judged", "judge.validation", "asked", ASSESSOR | {"share": 0.6}),
    Tried("Validation", "judged", "judge.validation", "documented", {"kappa": 0.9, "below": "rescore"}),
    Tried("PanelJudge", "judged", "judge.panel.0", "asked", ASSESSOR),
    Tried("PanelJudge", "judged", "judge.panel.0", "stored", {"rubric": "Is it wrong?", "id": "fifth"}),
    Tried("Blinding", "judged", "judge.blinding", "documented", {"sanitise": False, "guess_share": 0.6,
        "index": "bang"}),
    Tried("Blinding", "judged", "judge.blinding", "sealed", {"seed": 2}),
    Tried("Judge", "judged", "judge", "refused", {"engine": "hf", "digest": Beside("0" * 64,
        {"judge.source": "path:models/near", "judge.base_url": LEFT_OUT})}),
    Tried("Judge", "judged", "judge", "opened", OPENED | assessor_of_files("judge")),
    Tried("Assessor", "judged", "judge.backup", "refused", {"engine": "hf", "digest": Beside("0" * 64,
        {"judge.backup.source": "path:models/near", "judge.backup.base_url": LEFT_OUT})}),
    Tried("Assessor", "judged", "judge.backup", "opened", OPENED | assessor_of_files("judge.backup")),
    Tried("Validation", "judged", "judge.validation", "refused", {"engine": "hf", "digest": Beside("0" * 64,
        {"judge.validation.source": "path:models/near", "judge.validation.base_url": LEFT_OUT})}),
    Tried("Validation", "judged", "judge.validation", "opened",
        OPENED | assessor_of_files("judge.validation")),
    Tried("PanelJudge", "judged", "judge.panel.0", "refused", {"engine": "hf", "digest": Beside("0" * 64,
        {"judge.panel.0.source": "path:models/near", "judge.panel.0.base_url": LEFT_OUT})}),
    Tried("PanelJudge", "judged", "judge.panel.0", "opened", OPENED | assessor_of_files("judge.panel.0")),

    Tried("Model", "served", "model.0", "sent", {
        "source": "further-2026-01-01", "base_url": "http://127.0.0.1:1/v1/other", "server": "vllm",
            "omits": ["seed"], "batch": True,
    }),
    Tried("Model", "served", "model.0", "asked", {"key_env": "A_KEY", "price": LEFT_OUT, }),
    Tried("Model", "served", "model.0", "opened", {"weights": Beside("hf:nobody/other",
        {"model.0.server": "vllm", "model.0.weights": "hf:nobody/nothing"})}),
    Tried("Model", "served", "model.0", "refused", {"engine": "hf"}),
    Tried("Model", "served", "model.1", "sent", {"chat_template_args": {"opening": "Well, "}}),
    Tried("Model", "served", "model.1", "refused", {"digest": "0" * 64}),
    Tried("Model", "asked", "model.1", "opened", {"revision": Beside("v2",
        {"model.1.source": "hf:nobody/nothing", "model.1.revision": "v1"})}),
    Tried("Price", "served", "model.0.price", "asked", {
        "input": 2.0, "output": 3.0, "batch_input": Beside(0.1, {"model.0.batch": True}),
            "batch_output": Beside(0.1, {"model.0.batch": True})}),
    Tried("Price", "served", "model.0.price", "asked", {"as_of": "2026-01-02"}),
    Tried("Price", "served", "model.0.price", "sent", {"cached": 0.1}),
    Tried("EngineSettings", "served", "engine", "sent", {
        "kv_mib": Beside(1, {"harness.max_tokens": 300, "harness.stop": ["a"]}), "batch_prompts": 1,
            "noise_sample": 2, "threads": 2, "device": "cuda", "reuse_proofs": False,
            "concurrency": 1, "attempts": 2, "timeout_s": 0.2,
        "batch_wait_s": Beside(0, {"model.0.batch": True})}),
    Tried("EngineSettings", "served", "engine", "opened", {
        "tensor_parallel": Beside(2, {"model.1.engine": "vllm"}),
        "data_parallel": Beside(2, {"model.1.engine": "vllm"})}),
    Tried("Budget", "served", "budget", "sent", {"usd": 1e-6, "calls": 1, "tokens": 1, "wall_s": 1e-6}),
    Tried("Spec", "served", "", "sent", {"budget": {"calls": 1}, "engine": {"attempts": 2,
        "noise_sample": 0, "timeout_s": 20, "kv_mib": 8, "threads": 1, "device": "cpu"}}),
    Tried("Spec", "judged", "", "opened", {"judge": {"source": "another-2026-01-01",
        "base_url": "http://127.0.0.1:5/v1", "rubric": "?", "labels": ["true", "untrue", "unclear"]}}),
    Tried("Extension", "extending", "", "asked", {"extends": "served.toml",
        "remove": ["axis.frame.level.please"]}),
)
