"""The local engine against the plain computation: sharing work changes no answer."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gridc
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import HazardError, IncompleteError
from gridc.runtime.engines.protocol import Answer, Call
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.sampling import nucleus, uniforms  # noqa: E402
from gridc.runtime.engines.hf.sequences import common_prefix  # noqa: E402
from tests.runtime import zoo  # noqa: E402

MODELS = Path(gridc.__file__).parent / "builtin" / "models"
EXAMPLE = "The Sorrin and the Lomer were at the market.\nWho sang?\nA. The Lomer\nB. The Sorrin\n\nAnswer: A"
QUESTIONS = (
    "The Vintel and the Dapper were at the mill.\nWho lost the keys?\nA. The Vintel\nB. Not known\n\nAnswer:",
    "The Vintel and the Dapper were at the mill.\nWho sang?\nA. The Dapper\nB. Unknown\n\nAnswer:",
    "What do brillows from Elsen eat?\nA. They eat moss.\nB. They eat nuts.\n\nAnswer:",
)
CONTINUATIONS = ["The Vintel", "Not known", "They eat nuts.", "A", "B"]
TEXTS = [*QUESTIONS, *(f"{EXAMPLE}\n\n{question}" for question in QUESTIONS)]


def identifier(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def calls() -> list[Call]:
    """For each prompt: a greedy answer, sampled ones at two temperatures, and a ranking."""
    made = []
    for text in TEXTS:
        prompt = Prompt((("user", text),), chat_template=True)
        greedy = {"max_tokens": 12, "temperature": 0.0}
        made.append(Call(identifier(text), "generate", prompt, greedy))
        for temperature in (0.3, 1.0):
            for replicate in range(3):
                sampled = {"max_tokens": 12, "temperature": temperature, "top_p": 0.9}
                name = identifier(text, temperature, replicate)
                made.append(Call(name, "generate", prompt, sampled))
        ranking = {"continuations": CONTINUATIONS}
        made.append(Call(identifier(text, "rank"), "loglikelihood", prompt, ranking))
    return made


@pytest.fixture(scope="module", params=["pocket-qwen2", "pocket-mistral", "pocket-llama"])
def engine(request: pytest.FixtureRequest) -> Iterator[HfEngine]:
    made = HfEngine(request.param, MODELS / request.param, "fp32", EngineSettings(device=zoo.DEVICE))
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain(engine: HfEngine) -> Any:
    """The same model as transformers runs it by itself, without any cache or sharing."""
    return transformers.AutoModelForCausalLM.from_pretrained(
        engine._folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()


def logits_after(plain: Any, ids: list[int]) -> Any:
    with torch.inference_mode():
        return plain(torch.tensor([ids]), use_cache=False).logits[0]


def prompt_ids(engine: HfEngine, call: Call) -> list[int]:
    return list(engine.prompts.encode([engine.prompts.as_text(call.prompt)], call.prompt)[0])


def test_greedy_and_sampled_answers_are_those_of_the_plain_model(engine: HfEngine, plain: Any) -> None:
    found = zoo.answers(engine, calls())
    for call in (each for each in calls() if each.kind == "generate"):
        ids = prompt_ids(engine, call)
        made: list[int] = []
        asked = call.parameters
        numbers = uniforms(call.id, asked["max_tokens"])
        while len(made) < asked["max_tokens"]:
            last = logits_after(plain, ids + made)[-1:]
            if asked["temperature"] == 0:
                token = int(last.argmax())
            else:
                heat, top = torch.tensor([asked["temperature"]]), torch.tensor([asked["top_p"]])
                first = torch.tensor([0])
                number = torch.tensor([numbers[len(made)]], dtype=torch.float64)
                token = int(nucleus(last, heat, top).draw(first, first, 1, number)[0])
            if token in engine._ends():
                break
            made.append(token)
        assert found[call.id].content["tokens"] == made


def test_log_likelihoods_are_those_of_the_plain_model(engine: HfEngine, plain: Any) -> None:
    found = zoo.answers(engine, calls())
    for call in (each for each in calls() if each.kind == "loglikelihood"):
        text = engine.prompts.as_text(call.prompt)
        start = len(prompt_ids(engine, call))
        for continuation, value in zip(CONTINUATIONS, found[call.id].content["loglikelihoods"], strict=True):
            whole = list(engine.prompts.encode([text + continuation], call.prompt)[0])
            logs = torch.log_softmax(logits_after(plain, whole), dim=-1)
            expected = sum(float(logs[at - 1, whole[at]]) for at in range(start, len(whole)))
            assert value == pytest.approx(expected, abs=5e-5)


def same_results(left: dict[str, Answer], right: dict[str, Answer]) -> None:
    assert left.keys() == right.keys()
    for call, answer in left.items():
        other = right[call].content
        assert answer.content.get("text") == other.get("text")
        if "loglikelihoods" in answer.content:
            assert answer.content["loglikelihoods"] == pytest.approx(other["loglikelihoods"], abs=1e-4)


@pytest.mark.parametrize(("kv_mib", "prompts"), [(1, None), (3, None), (64, None), (64, 1), (64, 4)])
def test_answers_do_not_depend_on_the_batch(engine: HfEngine, kv_mib: int, prompts: int | None) -> None:
    settings = EngineSettings(device=zoo.DEVICE, kv_mib=kv_mib, batch_prompts=prompts)
    other = HfEngine("other", engine._folder, "fp32", settings)
    same_results(zoo.answers(other, calls()), zoo.answers(engine, calls()))


def test_answers_do_not_depend_on_what_was_answered_before(engine: HfEngine) -> None:
    """As after an interruption: some calls of every batch have their answer already."""
    whole = zoo.answers(engine, calls())
    some = frozenset(call.id for number, call in enumerate(calls()) if number % 3)
    again: dict[str, Answer] = {}
    for batch in engine.batches(calls()):
        wanted = some.intersection(batch.calls)
        again |= {each.call: each for each in engine.answer(batch, wanted)[0]}
    same_results(again, {call: answer for call, answer in whole.items() if call in some})


@pytest.mark.parametrize("max_tokens", [1, 8])
def test_an_answer_that_ends_at_its_first_token_can_be_continued(
    engine: HfEngine, monkeypatch: pytest.MonkeyPatch, max_tokens: int
) -> None:
    """Cut off there by its limit, or empty because the model ends it at once."""
    other = HfEngine("other", engine._folder, "fp32", EngineSettings(device=zoo.DEVICE))
    prompt = Prompt((("user", TEXTS[0]),), chat_template=True)
    asked = Call(identifier("first"), "generate", prompt, {"max_tokens": 1, "temperature": 0.0}, True)
    (token,) = zoo.answers(other, [asked])[asked.id].content["tokens"]
    if max_tokens > 1:
        monkeypatch.setattr(other, "_ends", lambda: frozenset({token}))
    asked = Call(
        identifier(max_tokens), "generate", prompt, {**asked.parameters, "max_tokens": max_tokens}, True
    )
    found = zoo.answers(other, [asked])[asked.id].content
    other.close()
    assert found["tokens"] == ([token] if max_tokens == 1 else [])


def test_nothing_is_computed_twice(engine: HfEngine) -> None:
    """In one batch exactly the nodes of the trie of all sequences are computed, counted here by brute
    force: prompts, candidates and answers, as far as it takes to choose their last token."""
    (batch,) = engine.batches(calls())
    found, spending = engine.answer(batch, frozenset(batch.calls))
    contents = {each.call: each.content for each in found}
    nodes = set()
    for member in batch.work.members:
        answer = contents[member.call]
        path = tuple(answer["tokens"]) if member.given is None else member.given
        if member.given is not None or answer["finish"] == "length":
            path = path[:-1]
        whole = (*member.prompt, *path)
        nodes |= {whole[:length] for length in range(1, len(whole) + 1)}
    assert spending.work == {"forward_tokens": len(nodes)}
    assert engine.least([(call, contents[call.id]) for call in calls()]) == spending.work


def test_a_prompt_that_does_not_fit_is_refused_before_any_call(engine: HfEngine) -> None:
    prompt = Prompt((("user", "word " * 3000),), chat_template=True)
    call = Call(identifier("long"), "generate", prompt, {"max_tokens": 8, "temperature": 0.0})
    with pytest.raises(HazardError, match="GC503"):
        engine.batches([call])


def test_a_call_that_needs_more_memory_than_allowed_says_how_much() -> None:
    """Keys and values of this model take 2 KiB a token."""
    engine = HfEngine("small", MODELS / "pocket-llama", "fp32", EngineSettings(device=zoo.DEVICE, kv_mib=1))
    prompt = Prompt((("user", "Who sang? " * 300),), chat_template=True)
    call = Call(identifier("long"), "generate", prompt, {"max_tokens": 8, "temperature": 0.0})
    with pytest.raises(IncompleteError, match="GC608") as found:
        engine.batches([call])
    needed = int(str(found.value.diagnostics[0].help).rpartition(" ")[2])
    roomy = HfEngine(
        "small", MODELS / "pocket-llama", "fp32", EngineSettings(device=zoo.DEVICE, kv_mib=needed)
    )
    (batch,) = roomy.batches([call])
    _, spending = roomy.answer(batch, frozenset(batch.calls))
    assert (needed - 1) * 2**20 < spending.most["kv_bytes"] + 16 * 2048 <= (needed + 1) * 2**20


def test_plain_text_gets_the_tokenizers_own_start(engine: HfEngine) -> None:
    prompt = Prompt((("user", QUESTIONS[0]),), chat_template=False)
    assert engine.prompts.as_text(prompt) == QUESTIONS[0]


def test_a_model_without_a_chat_template_says_so(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "pocket-qwen2", tmp_path / "base")
    (tmp_path / "base" / "chat_template.jinja").unlink()
    base = HfEngine("base", tmp_path / "base", "fp32", EngineSettings(device=zoo.DEVICE))
    with pytest.raises(HazardError, match="GC505"):
        base.batches(calls())


def test_what_is_longer_than_a_window_is_computed_by_the_model_itself(tmp_path: Path) -> None:
    """Calls within the window stay in the forest; each says by which path it went, and all are right."""
    shutil.copytree(MODELS / "pocket-mistral", tmp_path / "windowed")
    config = tmp_path / "windowed" / "config.json"
    config.write_text(config.read_text().replace('"sliding_window": null', '"sliding_window": 64'))
    made = HfEngine("windowed", tmp_path / "windowed", "fp32", EngineSettings(device=zoo.DEVICE))
    plain = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "windowed", dtype=torch.float32, attn_implementation="eager"
    ).eval()
    found = zoo.answers(made, calls())
    paths = made.effective()["paths"]
    assert {name: path["up_to"] for name, path in paths.items()} == {"forest": 64, "cached": None}
    for call in (each for each in calls() if each.kind == "loglikelihood"):
        start, text = len(prompt_ids(made, call)), made.prompts.as_text(call.prompt)
        for continuation, value in zip(CONTINUATIONS, found[call.id].content["loglikelihoods"], strict=True):
            whole = list(made.prompts.encode([text + continuation], call.prompt)[0])
            logs = torch.log_softmax(logits_after(plain, whole), dim=-1)
            expected = sum(float(logs[at - 1, whole[at]]) for at in range(start, len(whole)))
            assert value == pytest.approx(expected, abs=5e-5)


def test_a_declared_window_that_is_switched_off_is_no_window(tmp_path: Path) -> None:
    """As in the published Qwen2.5 models."""
    shutil.copytree(MODELS / "pocket-qwen2", tmp_path / "off")
    config = json.loads((tmp_path / "off" / "config.json").read_text())
    config |= {"sliding_window": 64, "use_sliding_window": False}
    config.pop("layer_types", None)
    (tmp_path / "off" / "config.json").write_text(json.dumps(config))
    made = HfEngine("off", tmp_path / "off", "fp32", EngineSettings(device=zoo.DEVICE))
    assert len(zoo.answers(made, calls())) == len(calls())


def test_a_chat_template_that_prints_the_date_is_refused(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "pocket-llama", tmp_path / "dated")
    template = tmp_path / "dated" / "chat_template.jinja"
    template.write_text("{{ strftime_now('%d') }}" + template.read_text())
    with pytest.raises(HazardError, match="GC506"):
        HfEngine("dated", tmp_path / "dated", "fp32", EngineSettings(device=zoo.DEVICE))


def test_no_token_of_a_candidate_is_lost_at_the_seam(engine: HfEngine, plain: Any) -> None:
    """After "Answer: " a tokenizer may join the space with what follows: what is scored starts where
    the candidates and the prompt part, for all of them alike."""
    prompt = Prompt((("user", "Who sang?\n\nAnswer: "),), chat_template=False)
    continuations = ["the Lomer", "unknown", "A"]
    call = Call(identifier("seam"), "loglikelihood", prompt, {"continuations": continuations})
    (batch,) = engine.batches([call])
    ((found,), _) = engine.answer(batch, frozenset(batch.calls))
    whole = [
        list(engine.prompts.encode(["Who sang?\n\nAnswer: " + each], prompt)[0]) for each in continuations
    ]
    seam = common_prefix([tuple(each) for each in whole] + [tuple(prompt_ids(engine, call))])
    for ids, value in zip(whole, found.content["loglikelihoods"], strict=True):
        logs = torch.log_softmax(logits_after(plain, ids), dim=-1)
        expected = sum(float(logs[at - 1, ids[at]]) for at in range(seam, len(ids)))
        assert value == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("precision", "dtype"), [("bf16", "bfloat16"), ("fp16", "float16")])
def test_reduced_precision_is_loaded_as_asked(precision: str, dtype: str) -> None:
    made = HfEngine("half", MODELS / "pocket-llama", precision, EngineSettings(device=zoo.DEVICE))
    assert made.effective()["dtype"] == dtype
    assert len(zoo.answers(made, calls())) == len(calls())


def test_the_common_prefix_of_sorted_and_unsorted_prompts() -> None:
    assert common_prefix([(1, 2, 3), (1, 2, 4), (1, 2)]) == 2
    assert common_prefix([(5, 1), (4, 1)]) == 0
    assert common_prefix([(1, 2)]) == 2


def test_a_prompt_with_two_bos_tokens_is_refused(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "pocket-llama", tmp_path / "twice")
    template = tmp_path / "twice" / "chat_template.jinja"
    template.write_text("{{ bos_token }}{{ bos_token }}" + template.read_text())
    made = HfEngine("twice", tmp_path / "twice", "fp32", EngineSettings(device=zoo.DEVICE))
    with pytest.raises(HazardError, match="GC504"):
        made.batches(calls()[:1])


def test_a_batch_that_does_not_fit_the_memory_is_told(
    engine: HfEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("no room")

    engine.effective()  # has loaded it
    monkeypatch.setattr(torch.nn.Linear, "forward", full)
    (batch, *_) = engine.batches(calls()[:1])
    with pytest.raises(IncompleteError, match="GC608"):
        engine.answer(batch, frozenset(batch.calls))


def test_a_candidate_without_a_token_of_its_own_is_refused(engine: HfEngine) -> None:
    prompt = Prompt((("user", QUESTIONS[0]),), chat_template=False)
    parameters = {"continuations": ["A", ""], "seam": "context_length"}
    call = Call(identifier("nothing"), "loglikelihood", prompt, parameters)
    with pytest.raises(HazardError, match="GC512"):
        engine.batches([call])
