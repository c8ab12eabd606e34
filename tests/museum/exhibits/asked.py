"""What is asked: options, exemplars, special tokens, names of models."""

import json
from typing import Any

from _pytest.monkeypatch import MonkeyPatch

from gridc.compiler.preflight import hazards
from gridc.compiler.preflight import oracle_hazards as trials
from gridc.diagnostics.errors import HazardError
from gridc.runtime.engines.api.engine import ApiEngine
from tests import studies
from tests.museum.exhibit import (
    EARLIER,
    FINDINGS,
    REPRO,
    begin_with_bos,
    exhibit,
    without,
    without_oracles,
    without_refusal,
    without_setting_check,
)
from tests.museum.studied import CHOICES, facts
from tools.servers.http import Asked, Reply, Server
from tools.servers.judges import completion


@exhibit(
    "the key is A for all 817 TruthfulQA items; options are never shuffled",
    f"{FINDINGS}, FINDINGS 10",
    "GC514",
    without(trials, "_constant"),
)
def one_letter_for_all(room: Any, patch: MonkeyPatch) -> set[str]:
    return set(room.change(('"shuffled:1"', '"file"')).codes())


@exhibit(
    "letters are asked for, and the options never reach the prompt",
    f"{FINDINGS}, FINDINGS 13 and D; Safety Under Scaffolding, app. K",
    "GC501",
    without_setting_check("options_unseen"),
)
def options_never_shown(room: Any, patch: MonkeyPatch) -> set[str]:
    return set(room.change(('"builtin:T1"', '"{{ stem }}\\nAnswer with a letter:"')).codes())


@exhibit(
    "the template mentions the options and does not print them",
    "the same, one step subtler",
    "GC511",
    without_oracles("GC511"),
)
def options_lost_on_the_way(room: Any, patch: MonkeyPatch) -> set[str]:
    template = "{{ stem }}{% if options == answer %}{{ options }}{% endif %}\\nAnswer with a letter:"
    return set(room.change(('"builtin:T1"', f'"{template}"')).codes())


@exhibit(
    "a placeholder in single braces is never filled in",
    f"{REPRO}, B5",
    "GC519",
    without_setting_check("placeholders_left"),
)
def placeholder_left(room: Any, patch: MonkeyPatch) -> set[str]:
    return set(room.change(('"builtin:T1"', '"Complete {sent}: {{ question }}"')).codes())


@exhibit(
    "few-shot exemplars show questions without answers",
    "evaluation packages",
    "GC502",
    without_setting_check("exemplars_unanswered"),
)
def exemplars_without_answers(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(('"builtin:T1"', '"{{ question }}\\nAnswer:"'), ('"extract"\n', '"extract"\nshots = 3\n'))
    return set(room.codes())


@exhibit(
    "an exemplar is a test item under another id",
    "duplicated rows of BBQ and of sycophancy items",
    "GC509",
    without(hazards, "shared_exemplars"),
)
def exemplar_is_a_test_item(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = json.loads((room.folder / "facts.json").read_text("utf-8"))
    room.file("facts.json", json.dumps([{**rows[0], "question": rows[n % 3]["question"]} for n in range(56)]))
    room.change(('"extract"\n', '"extract"\nshots = 3\n'))
    return set(room.codes())


@exhibit(
    "the test question is cut off on the right",
    f"{REPRO}, B2",
    "GC503",
    lambda patch: patch.setattr("gridc.runtime.engines.hf.prompts.Prompts.room", float("inf")),
)
def question_cut_off(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(('"builtin:T1"', f'"{"word " * 2500}{{{{ question }}}}"'))
    return set(room.codes(tokens=True))


@exhibit("the prompt starts with two BOS tokens", f"{REPRO}, B3", "GC504", without_refusal)
def two_bos_tokens(room: Any, patch: MonkeyPatch) -> set[str]:
    begin_with_bos(room.model())
    begin = '"<|begin_of_text|>{{ question }}"\nchat_template = false'
    return set(room.change(('"builtin:T1"', begin)).codes(tokens=True))


@exhibit(
    "the chat template prints no BOS token, and nobody else does",
    "chat templates of derived models",
    "GC510",
    without_refusal,
)
def no_bos_token(room: Any, patch: MonkeyPatch) -> set[str]:
    folder = room.model()
    begin_with_bos(folder)
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text("utf-8").replace("<|begin_of_text|>", ""), "utf-8")
    return set(room.codes(tokens=True))


@exhibit(
    "the chat template prints the current date into every prompt",
    "chat templates of public models",
    "GC506",
    without_refusal,
)
def prompt_of_the_day(room: Any, patch: MonkeyPatch) -> set[str]:
    template = room.model() / "chat_template.jinja"
    text = template.read_text("utf-8")
    dated = text.replace("<|begin_of_text|>", '<|begin_of_text|>{{ strftime_now("%d %b %Y") }}', 1)
    template.write_text(dated, "utf-8")
    return set(room.codes(tokens=True))


@exhibit(
    "a provider's undated name means whatever it serves that day",
    "Safety Under Scaffolding: `deepseek-chat`, `mistral-large-latest`",
    "GC507",
    without(hazards, "floating_alias"),
)
def floating_alias(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(('engine = "hf"', 'engine = "api"'), ("builtin:pocket-llama", "mistral/mistral-large-latest"))
    return set(room.codes())


@exhibit(
    "the benchmark file is missing, and a warning is all that is said",
    f"{FINDINGS}, D",
    "GC309",
    lambda patch: patch.setattr("gridc.compiler.frontend.lookup.is_there", lambda *_: True),
)
def missing_file(room: Any, patch: MonkeyPatch) -> set[str]:
    room.change(("path:facts.json", "path:other.json"))
    try:
        return set(room.codes())
    except OSError:  # without the check, what reads the file next meets the hole
        return set()


@exhibit(
    "the stop string is the prompt's own cue, so that a model which repeats it has said nothing",
    EARLIER,
    "GC508",
    without_setting_check("stops_at_the_cue"),
)
def cue_is_a_stop(room: Any, patch: MonkeyPatch) -> set[str]:
    cued = '"Q: {{ question }}\\n{{ options }}\\nA letter. A:"'
    room.change(('"builtin:T1"', cued), ('method = "extract"', 'method = "extract"\nstop = ["A:"]'))
    return set(room.codes())


@exhibit(
    "an item about HTML spells the end of the turn, and the model reads the rest as its own words",
    f"{EARLIER}; tokenizers take special tokens out of any text",
    "GC542",
    lambda patch: patch.setattr(
        "gridc.runtime.engines.hf.prompts.Prompts._require_no_special", lambda *_: None
    ),
)
def special_token_in_an_item(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = json.loads((room.folder / "facts.json").read_text("utf-8"))
    for row in rows:
        row["question"] += " It ends with <|eot_id|>."
    room.file("facts.json", json.dumps(rows))
    return set(room.codes(tokens=True))


def other_endpoint(patch: MonkeyPatch) -> None:
    sound = ApiEngine._probe
    patch.setattr(ApiEngine, "_probe", lambda self, route, _, ask: sound(self, route, "/completions", ask))


@exhibit(
    "a probe asks one endpoint, and the study another one, which ignores the temperature",
    EARLIER,
    "GC529",
    other_endpoint,
)
def probed_elsewhere(room: Any, patch: MonkeyPatch) -> set[str]:
    """Of texts the server draws by seed, and in a chat it says one thing."""

    async def drawn(asked: Asked) -> Reply:
        body = asked.document
        if asked.path.endswith("/chat/completions"):
            return Reply.json(completion(body, "Answer: A", "stop"))
        drawn = body.get("seed") if body.get("temperature") else "none"
        return Reply.json({"choices": [{"index": 0, "text": f"Drawn {drawn}", "finish_reason": "stop"}]})

    with Server(drawn) as server:
        models = studies.behind(server.url, "said", version="-2026-01-01")
        spec = studies.head("exhibit", models) + CHOICES + "temperature = 0.7\n"
        study = studies.written(room.folder, spec, facts(3))
        try:
            study.run()
        except HazardError as error:
            return {each.code for each in error.diagnostics}
    return set()
