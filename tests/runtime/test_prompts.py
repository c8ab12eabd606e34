"""What a model is shown: what its chat template prints, what its tokenizer adds; where an answer stops."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gridc
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import HazardError, UnavailableError
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.prompts import Form  # noqa: E402
from gridc.runtime.engines.hf.tokenizer import TokenizerReader  # noqa: E402

LLAMA = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
CHAT = Prompt((("user", "Who sang?"),), chat_template=True)
PLAIN = Prompt((("user", "Who sang?"),), chat_template=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LLAMA, tmp_path / "m"))


def engine(folder: Path, **arguments: Any) -> HfEngine:
    return HfEngine("m", folder, "fp32", EngineSettings(device="cpu", threads=1), template_args=arguments)


def add(folder: Path, text: str) -> None:
    path = folder / "chat_template.jinja"
    path.write_text(text + path.read_text())


def call(prompt: Prompt, **parameters: Any) -> Call:
    return Call("1" * 64, "generate", prompt, {"max_tokens": 24, "temperature": 0.0, **parameters})


def test_a_chat_template_gets_its_arguments(folder: Path) -> None:
    add(folder, "{% if enable_thinking %}think {% else %}quick {% endif %}")
    assert engine(folder).prompts.as_text(CHAT).startswith("quick ")
    assert engine(folder, enable_thinking=True).prompts.as_text(CHAT).startswith("think ")


@pytest.mark.parametrize(
    ("name", "thinking", "said"),
    [
        ("thinking_budget", 512, "512"),
        ("reasoning_effort", "xhigh", "xhigh"),
        ("enable_thinking", False, "False"),
        ("thinking", True, "True"),
    ],
)
def test_a_chat_template_is_told_of_thinking_by_the_name_that_it_has(
    folder: Path, name: str, thinking: Any, said: str
) -> None:
    (folder / "chat_template.jinja").write_text(f"{{{{ {name} }}}} {{{{ messages[0]['content'] }}}}")
    prompts = engine(folder).prompts
    assert prompts.as_text(replace(CHAT, thinking=thinking)) == f"{said} Who sang?"
    others: tuple[Any, ...] = (512, "low", True)
    for other in others:
        if type(other) is not type(thinking):
            with pytest.raises(HazardError, match="GC540"):
                prompts.as_text(replace(CHAT, thinking=other))


def test_a_date_that_is_given_is_no_date_of_the_day(folder: Path) -> None:
    today = "{% if date_string is not defined %}{% set date_string = strftime_now('%d') %}{% endif %}"
    (folder / "chat_template.jinja").write_text(today + "{{ date_string }}")
    with pytest.raises(HazardError, match="GC506"):
        engine(folder)
    assert engine(folder, date_string="26 Jul").prompts.as_text(CHAT) == "26 Jul"


def test_a_template_that_fails_is_a_coded_error(folder: Path) -> None:
    add(folder, "{{ messages[7]['content'] + 1 }}")
    with pytest.raises(HazardError, match="GC505"):
        engine(folder).prompts.as_text(CHAT)


def test_of_named_chat_templates_the_default_is_taken(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    config = json.loads((folder / "tokenizer_config.json").read_text())
    named = [{"name": "default", "template": "D"}, {"name": "tools", "template": "T"}]
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": named}))
    assert engine(folder).prompts.as_text(CHAT) == "D"
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": named[1:]}))
    with pytest.raises(HazardError, match="GC505"):
        engine(folder).prompts.as_text(CHAT)


def test_tokens_beyond_the_embedding_are_a_coded_error(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    added = {**tokenizer["added_tokens"][0], "id": 5000, "content": "<|beyond|>"}
    tokenizer["added_tokens"].append(added)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    made = engine(folder)
    with pytest.raises(UnavailableError, match="GC606"):
        made.batches([call(Prompt((("user", "<|beyond|>"),), chat_template=False))])


def test_a_tokenizer_that_ends_every_text_is_refused(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    single = tokenizer["post_processor"]
    steps = single.get("processors", [single])
    (template,) = [step for step in steps if step["type"] == "TemplateProcessing"]
    end = "<|eot_id|>"
    (number,) = [token["id"] for token in tokenizer["added_tokens"] if token["content"] == end]
    template["single"].append({"SpecialToken": {"id": end, "type_id": 0}})
    template["special_tokens"][end] = {"id": end, "ids": [number], "tokens": [end]}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(HazardError, match="GC530"):
        engine(folder).batches([call(PLAIN)])
    assert engine(folder).batches([call(CHAT)])


def test_an_answer_ends_with_its_stop_string(folder: Path) -> None:
    """It is the beginning of the answer without one, up to the first token that completes the string."""
    made = engine(folder)
    (batch,) = made.batches([call(PLAIN)])
    (whole,), all_of_it = made.answer(batch, frozenset(batch.calls))
    text, tokens = whole.content["text"], whole.content["tokens"]
    assert len(tokens) > 6
    assert whole.content["finish"] == "length"
    stop = made.prompts.text(tokens[3:5]).strip()[-2:]
    assert stop in text
    (batch,) = made.batches([call(PLAIN, stop=[stop])])
    (answer,), spending = made.answer(batch, frozenset(batch.calls))
    kept = next(count for count in range(1, 25) if stop in made.prompts.text(tokens[:count]))
    assert answer.content["tokens"] == tokens[:kept]
    assert answer.content["finish"] == "stop"
    forward = spending.work["forward_tokens"]
    assert forward == all_of_it.work["forward_tokens"] - (len(tokens) - kept)
    assert made.least([(call(PLAIN, stop=[stop]), answer.content)]) == {"forward_tokens": forward}


def test_answers_are_read_for_stop_strings_together_and_each_token_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request to the tokenizer for a step, whatever shares it; what is the same is decoded once."""
    made, asked, decode = engine(folder), list[list[list[int]]](), TokenizerReader.decode

    def counted(self: Any, sequences: list[list[int]], skip_special: bool) -> list[str]:
        asked.append(sequences)
        return decode(self, sequences, skip_special)

    monkeypatch.setattr(TokenizerReader, "decode", counted)
    greedy = [call(PLAIN, stop=["~~", "~"], max_tokens=most) for most in (24, 20, 7)]
    drawn = [call(PLAIN, stop=["~"], temperature=1.0, top_p=1.0) for _ in range(9)]
    calls = [replace(each, id=f"{number:064x}"[::-1]) for number, each in enumerate([*greedy, *drawn])]
    (batch,) = made.batches(calls)
    answers, _ = made.answer(batch, frozenset(batch.calls))
    lengths = [len(each.content["tokens"]) for each in answers]
    steps = asked[: -2 * len(calls)]
    assert max(lengths) <= len(steps) <= max(lengths) + 1
    assert max(map(len, steps)) > 5
    assert all(len(each) == len(set(map(tuple, each))) for each in steps)
    assert sum(len(tokens) for each in steps for tokens in each) <= sum(lengths)


ENDINGS = ["The Vintel", " B", "\n\nA", "", "  two", "é漢🙂", "<|user|>", "Who", "\u0301"]


def specials(folder: Path) -> list[str]:
    return [each["content"] for each in json.loads((folder / "tokenizer.json").read_text())["added_tokens"]]


@pytest.mark.parametrize("name", ["pocket-llama", "pocket-mistral", "pocket-qwen2"])
def test_candidates_behind_a_special_token_are_tokenized_as_one_text(name: str, tmp_path: Path) -> None:
    """The oracle is the tokenizer on prompt and candidate together."""
    folder = Path(shutil.copytree(LLAMA.parent / name, tmp_path / "m"))
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    prompts = engine(folder).prompts
    random, parts = Random(1), [*specials(folder), *ENDINGS, " ", "the miller ", "Answer:", "\n"]
    parted = 0
    for _ in range(300):
        text = "".join(random.choices(parts, k=random.randrange(1, 9)))
        (ids,) = prompts.tokenizer.encode([text], special=False)
        form = Form(Prompt((("user", text),), chat_template=True), text, ids, 0)
        behind = prompts._behind_special(form, ENDINGS)
        if behind is not None:
            parted += 1
            whole = prompts.tokenizer.encode([text + each for each in ENDINGS], special=False)
            assert behind == whole, text
    assert parted > 100


def test_a_special_token_that_looks_around_parts_nothing(folder: Path) -> None:
    """Where one takes the spaces before it along, or counts only as a word of its own, a text behind it alone
    may have other tokens."""
    assert engine(folder).prompts.tokenizer.parting
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    given = tokenizer["added_tokens"]
    for change in ({"single_word": True}, {"lstrip": True}, {"normalized": True}):
        tokenizer["added_tokens"] = [{**each, **change} for each in given]
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        assert engine(folder).prompts.tokenizer.parting == [], change
