"""The tokens of a prompt are those of `AutoTokenizer`, or the difference is named."""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gridc
from gridc.compiler.instrument.thoughts import answer_begins
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import HazardError
from gridc.runtime.engines.protocol import Call
from gridc.schema.spec import EngineSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

from gridc.runtime.engines.hf.engine import HfEngine  # noqa: E402
from gridc.runtime.engines.hf.sampling import branch  # noqa: E402
from gridc.runtime.engines.hf.sequences import Member  # noqa: E402
from tests.runtime import zoo  # noqa: E402

TEXTS = (
    "Who sang?",
    " The Sorrin and the Lomer were at the market.",
    "It's 2024: 17,000 people.\n\nAnswer:",
    "naïve café — “no”",
    "a  b   c",
)
SPECIAL = ["<unk>", "<s>", "</s>", "<|im_end|>"]


def byte_level(space: bool = False) -> Any:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space)
    made.decoder = decoders.ByteLevel()
    return trained(made, pre_tokenizers.ByteLevel.alphabet())


def sentence_piece(normalizer: Any, split: Any = None) -> Any:
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    made.normalizer, made.pre_tokenizer = normalizer, split
    made.decoder = decoders.Replace("▁", " ")
    return trained(made)


def words(kind: Any, trainer: Any) -> Any:
    made = tokenizers.Tokenizer(kind)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(TEXTS, trainer)
    return made


def trained(made: Any, alphabet: Any = ()) -> Any:
    made.train_from_iterator(
        TEXTS * 4,
        trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, initial_alphabet=list(alphabet)),
    )
    return made


def with_bos(made: Any) -> Any:
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


def unigram() -> Any:
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=SPECIAL, unk_token="<unk>")
    made.train_from_iterator(TEXTS * 4, trainer)
    return made


PREPEND = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
Shape = tuple[Callable[[], Any], str, dict[str, Any]]
SHAPES: dict[str, Shape] = {
    "bytes": (byte_level, "PreTrainedTokenizerFast", {}),
    "bytes behind a space": (lambda: byte_level(True), "PreTrainedTokenizerFast", {}),
    "GPT-2": (byte_level, "GPT2Tokenizer", {}),
    "GPT-2 with a space that the file leaves out": (byte_level, "GPT2Tokenizer", {"add_prefix_space": True}),
    "Llama, legacy": (lambda: sentence_piece(PREPEND), "LlamaTokenizer", {"legacy": True}),
    "Llama, not legacy": (lambda: sentence_piece(PREPEND), "LlamaTokenizer", {"legacy": False}),
    "Llama with BOS": (lambda: with_bos(sentence_piece(PREPEND)), "LlamaTokenizer", {"legacy": False}),
    "Qwen2": (byte_level, "Qwen2Tokenizer", {}),
    "unigram": (unigram, "PreTrainedTokenizerFast", {}),
    "word pieces": (
        lambda: words(models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer(special_tokens=SPECIAL)),
        "PreTrainedTokenizerFast",
        {},
    ),
    "words": (
        lambda: words(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=SPECIAL)),
        "PreTrainedTokenizerFast",
        {},
    ),
    "no class is named": (byte_level, "", {}),
}


def model(folder: Path, shape: str, shapes: dict[str, Shape] = SHAPES) -> Path:
    """A tiny Llama with a tokenizer of this shape."""
    make, kind, stated = shapes[shape]
    zoo.save("llama", folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        (folder / name).unlink()
    make().save(str(folder / "tokenizer.json"))
    named = {"tokenizer_class": kind} if kind else {}
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps({**named, **special, **stated}))
    return folder


def engine(folder: Path, waived: frozenset[str] = frozenset()) -> HfEngine:
    return HfEngine("m", folder, "fp32", EngineSettings(device="cpu", threads=1), waived)


def prompt(text: str) -> Prompt:
    return Prompt((("user", text),), chat_template=False)


@pytest.mark.parametrize("shape", SHAPES)
def test_tokens_are_those_of_auto_tokenizer_or_the_difference_is_named(shape: str, tmp_path: Path) -> None:
    folder = model(tmp_path / "m", shape)
    automatic = transformers.AutoTokenizer.from_pretrained(folder)
    made, by_choice = engine(folder), engine(folder, frozenset({"GC510", "GC531"}))
    plain = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    for text in TEXTS:
        wanted, own = automatic(text)["input_ids"], plain(text)["input_ids"]
        assert list(by_choice.prompts.encode([text], prompt(text))[0]) == own
        if wanted == own:
            assert list(made.prompts.encode([text], prompt(text))[0]) == wanted
            continue
        with pytest.raises(HazardError, match="GC531") as caught:
            made.prompts.encode([text], prompt(text))
        message = caught.value.diagnostics[0].message
        start = next(at for at, pair in enumerate(zip(own, wanted, strict=False)) if pair[0] != pair[1])
        for tokens in (own, wanted):
            assert str(tokens[start]) in message


@pytest.mark.parametrize("shape", ["GPT-2 with a space that the file leaves out", "Llama, not legacy"])
def test_a_copy_with_its_own_rules_has_the_tokens_of_auto_tokenizer(shape: str, tmp_path: Path) -> None:
    """What the message advises."""
    folder = model(tmp_path / "m", shape)
    automatic = transformers.AutoTokenizer.from_pretrained(folder)
    differs = [text for text in TEXTS if automatic(text)["input_ids"] != engine_tokens(folder, text)]
    assert differs
    copied = Path(shutil.copytree(folder, tmp_path / "copy"))
    automatic.save_pretrained(copied)
    made = engine(copied)
    for text in TEXTS:
        assert list(made.prompts.encode([text], prompt(text))[0]) == automatic(text)["input_ids"]


def engine_tokens(folder: Path, text: str) -> list[int]:
    waived = frozenset({"GC510", "GC531"})
    return list(engine(folder, waived).prompts.encode([text], prompt(text))[0])


def stopped(prompts: Any, stop: str, tokens: Sequence[int]) -> bool:
    (found,) = prompts.stopped([Member("c", (0,), 99, tokens=list(tokens), stops=(stop,))])
    return bool(found)


def test_a_stop_string_may_be_a_special_token(tmp_path: Path) -> None:
    """On a base model it is no token that ends a turn."""
    llama = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
    prompts = engine(Path(shutil.copytree(llama, tmp_path / "m"))).prompts
    special = "<|end_header_id|>"
    (tokens,) = prompts.tokenizer.encode([f"Not known{special}\n\nWho"], special=False)
    until = next(at for at in range(len(tokens) + 1) if special in prompts.tokenizer.decode([tokens[:at]])[0])
    assert not stopped(prompts, special, tokens[: until - 1])
    assert stopped(prompts, special, tokens[:until])
    assert prompts.text(tokens, [special]) == "Not known"
    assert prompts.text(tokens) == "Not known\n\nWho"
    longer = f"{special}\n\nWho"
    assert not stopped(prompts, longer, tokens[:until])
    assert stopped(prompts, longer, tokens)
    assert prompts.text(tokens, [longer]) == "Not known"


def test_special_tokens_that_tell_a_thought_from_the_answer_stay(tmp_path: Path) -> None:
    """Of gpt-oss they are special, and so no part of what transformers decodes by default."""
    llama = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
    folder = Path(shutil.copytree(llama, tmp_path / "m"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text("utf-8")
        for own, mark in (("<|start_header_id|>", "<|channel|>"), ("<|end_header_id|>", "<|message|>")):
            text = text.replace(own, mark)
        (folder / name).write_text(text, "utf-8")
    prompts = engine(folder).prompts
    thought = "<|channel|>analysis<|message|>Not known"
    (tokens,) = prompts.tokenizer.encode([f"{thought}<|eot_id|><|channel|>final<|message|>A"], special=False)
    assert prompts.text(tokens) == f"{thought}<|channel|>final<|message|>A"
    assert prompts.text(tokens, ["<|eot_id|>"]) == thought
    assert answer_begins(thought) is None
    (tokens,) = prompts.tokenizer.encode(["Not known<|eot_id|>"], special=False)
    assert prompts.text(tokens) == "Not known"


def test_marks_of_a_thought_that_nobody_knows_are_refused_where_text_is_generated(tmp_path: Path) -> None:
    llama = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
    folder = Path(shutil.copytree(llama, tmp_path / "m"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text("utf-8").replace("<|start_header_id|>", "<|deliberation|>")
        (folder / name).write_text(text, "utf-8")
    prompt = Prompt((("user", "Who sang?"),), chat_template=False)
    generates = Call("0" * 64, "generate", prompt, {"max_tokens": 4, "temperature": 0.0})
    ranks = Call("1" * 64, "loglikelihood", prompt, {"continuations": ["A", "B"]})
    with pytest.raises(HazardError) as refused:
        list(engine(folder).prompts.units([generates]))
    assert refused.value.diagnostics[0].code == "GC541"
    assert "'<|deliberation|>'" in refused.value.diagnostics[0].message
    assert list(engine(folder).prompts.units([ranks]))
    waived = HfEngine("m", folder, "fp32", EngineSettings(threads=1), waived=frozenset({"GC541"}))
    assert list(waived.prompts.units([generates]))


@pytest.mark.parametrize("chat", [False, True])
def test_a_prompt_that_spells_a_special_token_is_refused_unless_that_is_meant(
    tmp_path: Path, chat: bool
) -> None:
    llama = Path(gridc.__file__).parent / "builtin" / "models" / "pocket-llama"
    prompt = Prompt((("user", "Who sang?<|eot_id|>Nobody."),), chat_template=chat)
    call = Call("0" * 64, "generate", prompt, {"max_tokens": 4, "temperature": 0.0})
    with pytest.raises(HazardError) as refused:
        list(engine(llama).prompts.units([call]))
    (found,) = refused.value.diagnostics
    assert found.code == "GC542" and "'<|eot_id|>'" in found.message
    assert list(engine(llama, frozenset({"GC542"})).prompts.units([call]))
    assert list(engine(llama).prompts.units([call], asked=True))
    spaced = replace(call, prompt=replace(prompt, messages=(("user", "Who sang? <| eot_id |>"),)))
    assert list(engine(llama).prompts.units([spaced]))


def test_an_answer_ends_with_a_special_token_that_is_a_stop_string(tmp_path: Path) -> None:
    """Of a model that finds all tokens equally likely, and so says the first one."""
    folder = model(tmp_path / "m", "bytes")
    whole = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        whole.lm_head.weight.zero_()
    whole.save_pretrained(folder)
    made = engine(folder)
    for stop, finish, count in (("<unk>", "stop", 1), ("<s>", "length", 6)):
        asked = {"max_tokens": 6, "temperature": 0.0, "stop": [stop]}
        (batch,) = made.batches([Call("1" * 64, "generate", prompt("Who sang?"), asked)])
        ((answer,), _) = made.answer(batch, frozenset(batch.calls))
        assert answer.content["tokens"] == [SPECIAL.index("<unk>")] * count
        assert (answer.content["finish"], answer.content["text"]) == (finish, "")


CLEANS = {"clean_up_tokenization_spaces": True}
CLEANS_BYTES = {f"{name}_for_bpe_even_though_it_will_corrupt_output": True for name in CLEANS}
POCKET = ("pocket-llama", "pocket-mistral", "pocket-qwen2")
LLAMA_2 = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
)


def sentence_piece_stripped() -> Any:
    """With the decoder of Llama 2: bytes that fall back become characters, and a first space goes."""
    made = sentence_piece(PREPEND)
    made.decoder = LLAMA_2
    made.add_tokens([f"<0x{byte:02X}>" for byte in range(256)])
    return made


def with_channels() -> Any:
    """Byte-level, with a special token that tells a thought from the answer."""
    text = byte_level().to_str().replace("<|im_end|>", "<|channel|>")
    return tokenizers.Tokenizer.from_str(text)


DECODED: dict[str, Shape] = {
    **{name: SHAPES[name] for name in ("bytes", "Llama, legacy", "unigram", "word pieces", "words")},
    "Llama 2": (sentence_piece_stripped, "PreTrainedTokenizerFast", {}),
    "bytes that may not be cleaned": (byte_level, "PreTrainedTokenizerFast", CLEANS),
    "cleaned bytes": (byte_level, "PreTrainedTokenizerFast", {**CLEANS, **CLEANS_BYTES}),
    "word pieces that are cleaned": (*SHAPES["word pieces"][:2], CLEANS),
    "bytes with channels": (with_channels, "PreTrainedTokenizerFast", {}),
}
TRICKY = "é漢🙂 e\u0301 , it 's .\n\n  Answer: no"


def read(plain: Any, marks: Sequence[str], tokens: list[int]) -> tuple[str, str]:
    """What an answer says, and all that it has, decoded as a whole."""
    whole, said = (plain.decode(tokens, skip_special_tokens=skip) for skip in (False, True))
    if any(mark in whole for mark in marks):
        said = whole
        for special in set(specials(plain)) - set(marks):
            said = said.replace(special, "")
    return said, whole


def specials(plain: Any) -> list[str]:
    return [token.content for token in plain.added_tokens_decoder.values() if token.special]


def until_stopped(plain: Any, marks: Sequence[str], tokens: list[int], stops: Sequence[str]) -> list[int]:
    """The tokens of an answer up to the first at which it has a stop string, each beginning decoded anew."""
    for count in range(1, len(tokens) + 1):
        said, whole = read(plain, marks, tokens[:count])
        for stop in stops:
            if stop in said or (any(special in stop for special in specials(plain)) and stop in whole):
                return tokens[:count]
    return tokens


def parts(plain: Any, marks: Sequence[str], answers: list[list[int]], random: Random) -> Iterator[str]:
    """Pieces of what some beginnings of answers say, characters that are not whole yet included."""
    while True:
        text = read(plain, marks, random.choice(answers)[: random.randrange(1, 40)])[random.random() < 0.4]
        at = random.randrange(len(text) + 1)
        if piece := text[at : at + random.choice([1, 2, 3, 5, 9, 20])]:
            yield piece


@pytest.mark.parametrize("shape", [*DECODED, *POCKET])
def test_an_answer_ends_with_the_token_that_completes_a_stop_string(shape: str, tmp_path: Path) -> None:
    """Of random tokens, half of them such as a text has: as if every beginning were decoded by itself."""
    if shape in POCKET:
        folder = Path(gridc.__file__).parent / "builtin" / "models" / shape
    else:
        folder = model(tmp_path / "m", shape, DECODED)
    plain = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    prompts = engine(folder, frozenset({"GC541"})).prompts
    assert prompts.tokenizer.joins == (shape in POCKET or shape.startswith("bytes"))
    marks = ["<|channel|>"] if "channels" in shape else []
    spelled = plain.convert_tokens_to_ids([*marks, *"<s>"])
    random, size = Random(shape), len(plain)
    text = plain.backend_tokenizer.encode(f"{TRICKY} {' '.join(TEXTS)}", add_special_tokens=False).ids
    ended = 0
    for _ in range(25):
        answers = []
        for _ in range(6):
            at = random.randrange(len(text))
            some = [random.randrange(size) for _ in range(40)]
            some[6:6] = spelled if None not in spelled else []
            answers.append((text[at : at + random.randrange(40)] + some)[:40])
        pieces = parts(plain, marks, answers, random)
        stops = [tuple(next(pieces) for _ in range(random.choice([1, 3]))) for _ in answers]
        members = [
            Member("c", (0,), 40, given=None, stops=own, stopped=prompts.stopped)
            for own in (*stops, *stops[1:], stops[0])
        ]
        paths = {id(member): answers[at % 6] for at, member in enumerate(members)}
        rows = [[member] for member in members]
        while rows:
            wanted = torch.tensor([paths[id(row[0])][len(row[0].tokens)] for row in rows])
            _, _, rows = branch(rows, torch.nn.functional.one_hot(wanted, size).float(), frozenset())
        for member in members:
            expected = until_stopped(plain, marks, paths[id(member)], member.stops)
            assert member.tokens == expected, (member.stops, plain.decode(expected))
            ended += member.finish == "stop"
    assert 60 < ended < 290
