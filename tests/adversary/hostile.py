"""Models whose files are meant to hang, swell or crash whoever reads them: a small sound model, damaged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Damage = Callable[[Path], object]


def changed(name: str, **values: Any) -> Damage:
    """The damage that sets keys of a JSON file."""

    def damage(model: Path) -> None:
        path = model / name
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")

    return damage


def written(name: str, text: str) -> Damage:
    """The damage that writes a file."""
    return lambda model: (model / name).write_text(text, "utf-8")


def without(name: str, damage: Damage) -> Damage:
    """The damage to a model without a file that would count before what is damaged."""

    def both(model: Path) -> None:
        (model / name).unlink()
        damage(model)

    return both


def tokenizer(**values: Any) -> Damage:
    return changed("tokenizer.json", **values)


def config(**values: Any) -> Damage:
    return changed("config.json", **values)


def generation(**values: Any) -> Damage:
    return changed("generation_config.json", **values)


def swelling(of: str, times: int, depth: int) -> list[dict[str, Any]]:
    """Steps that each put `times` letters in place of one."""
    one = {"type": "Replace", "pattern": {"String": of}, "content": of * times}
    return [one] * depth


def normalizer(*steps: dict[str, Any]) -> Damage:
    return tokenizer(normalizer={"type": "Sequence", "normalizers": list(steps)})


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _added(count: int) -> Damage:
    """Special tokens that each make adding the next one slower."""

    def damage(model: Path) -> None:
        path = model / "tokenizer.json"
        document = json.loads(path.read_text("utf-8"))
        one = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        document["added_tokens"] += [
            {"id": 10**5 + number, "content": f"zz{number}", "special": True, **one}
            for number in range(count)
        ]
        path.write_text(json.dumps(document), "utf-8")

    return damage


UNTIL_MEMORY_ENDS = normalizer(*swelling(" ", 50, 6))
NO_UNKNOWN = {
    "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100, "vocab": {"a": 0},
}  # fmt: skip
DEEP = "[" * 50_000 + "]" * 50_000

HOSTILE: dict[str, Damage] = {
    "six-nested-replace": UNTIL_MEMORY_ENDS,
    "empty-replace": tokenizer(normalizer={"type": "Replace", "pattern": {"String": ""}, "content": "x"}),
    "replace-of-nothing": tokenizer(normalizer={"type": "Replace", "pattern": {"Regex": ""}, "content": "x"}),
    "precompiled-short": tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAAAAAA"}),
    "precompiled-wild": tokenizer(
        normalizer={"type": "Precompiled", "precompiled_charsmap": "BAAAAAECAwQFBgc="}
    ),
    "wordpiece-without-unknown": tokenizer(model=NO_UNKNOWN),
    "regex-that-backtracks": tokenizer(pre_tokenizer=split(r"(?:(\w+\s?)+)+\u0001")),
    "regex-that-looks-ahead": tokenizer(pre_tokenizer=split(r"(?=(.*a)*(.*b)*(.*c)*(.*d)*\u0001)")),
    "regex-that-is-none": tokenizer(pre_tokenizer=split(r"(((((")),
    "decoder-that-swells": tokenizer(decoder={"type": "Sequence", "decoders": swelling("e", 50, 6)}),
    "tokens-of-another-model": tokenizer(model={**NO_UNKNOWN, "vocab": {"[UNK]": 10**9}}),
    "tokenizer-is-a-list": written("tokenizer.json", "[]"),
    "tokenizer-nested": written("tokenizer.json", DEEP),
    "tokenizer-config-nested": written("tokenizer_config.json", '{"x": ' + DEEP + "}"),
    "tokenizer-of-another-class": changed("tokenizer_config.json", tokenizer_class="LlamaTokenizer"),
    "chat-template-is-a-number": without(
        "chat_template.jinja", changed("tokenizer_config.json", chat_template=7)
    ),
    "end-is-beyond-numbers": lambda model: (
        config(eos_token_id=10**30)(model),
        generation(eos_token_id=10**30)(model),
    ),
    "generation-end-is-beyond-numbers": generation(eos_token_id=10**30),
    "generation-end-is-a-table": generation(eos_token_id={"a": 1}),
    "layers-below-none": config(num_hidden_layers=-3),
    "special-token-of-megabytes": changed(
        "tokenizer_config.json", eos_token={"__type": "AddedToken", "content": "x" * 10**7}
    ),
    "special-tokens-without-end": _added(20_000),
    "nine-hundred-layers": config(num_hidden_layers=999),
    "layers-beyond-numbers": config(num_hidden_layers=10**18),
    "wider-than-memory": config(hidden_size=2**20, intermediate_size=2**24),
    "vocabulary-beyond-memory": config(vocab_size=10**12),
    "positions-beyond-memory": config(model_type="gpt2", n_positions=10**6, n_embd=128, n_layer=4, n_head=8),
    "heads-of-no-width": config(head_dim=0),
    "configuration-nested": written(
        "config.json", '{"model_type": "llama", "x": ' + DEEP[49_100:50_900] + "}"
    ),
    "number-of-a-million-digits": written("config.json", '{"model_type": "llama", "x": ' + "9" * 10**6 + "}"),
}
"""By name. Each is damage to a copy of a model that ships with gridc."""
