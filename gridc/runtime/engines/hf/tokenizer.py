"""The tokenizer of a model, and what its configuration describes, read where they can do no harm.

Their parsers are programs in other languages that loop, fill the memory or abort on some files. Files that
ship with gridc are read in this process, by digest; all others in a child with limits (`gridc.confined`),
which keeps the tokenizer: every text is tokenized there and every answer is read there.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from gridc.compiler.inputs.models import ships_with_gridc
from gridc.confined import ChildEndedError, Confined
from gridc.diagnostics.errors import Diagnostic, UnavailableError
from gridc.runtime.engines.hf import loading
from gridc.runtime.engines.hf.sequences import Tokens

SECONDS_PER_CALL, SECONDS_PER_CHARACTER = 5e-3, 2e-5
"""CPU time that a text adds to what a tokenizer may take: about 20 times what slow ones take."""

TOGETHER = 64
"""Sequences of tokens that are decoded in one request at most: a message of a child is bounded."""


class TokenizerReader:
    """Reads the files of a model that are not its weights, and holds its tokenizer. All values are JSON."""

    def __init__(self) -> None:
        self._tokenizer: Any = None
        self._automatic: Any = None

    def read(self, folder: str, precision: str, device: str, compared: bool) -> dict[str, Any]:
        """Read the files. Gives what is stated of the tokenizer, and the layout of the model. Where tokens
        are `compared`, what `AutoTokenizer` makes of the files is kept, if its rules are others."""
        self._tokenizer = loading.read_tokenizer(Path(folder))
        self._automatic = loading.read_automatic(Path(folder)) if compared else None
        config = loading.read_config(Path(folder), precision, device)
        loading.read_generation(Path(folder))
        layout = loading.model_layout(config, precision, device)
        added = list(self._tokenizer.added_tokens_decoder.values())
        stated = {
            "bos": self._tokenizer.bos_token_id,
            "eos": self._tokenizer.eos_token_id,
            "special": self._tokenizer.special_tokens_map,
            "chat_template": _default(self._tokenizer.chat_template),
            # This also turns off truncation and padding that it may declare.
            "alone": self._tokenizer("x")["input_ids"],
            "parting": _splitting_tokens(added),
            "added_texts": [token.content for token in added],
            "special_texts": [token.content for token in added if token.special],
            "joins": _joins(self._tokenizer),
            "layout": [layout.layers, layout.weights, layout.computed, layout.why],
        }
        if self._automatic is not None:
            self._automatic("x")
            rules = [each.backend_tokenizer.to_str() for each in (self._tokenizer, self._automatic)]
            if rules[0] == rules[1]:
                self._automatic = None
        return stated | {"other_rules": self._automatic is not None}

    def encode(self, texts: list[str], special: bool) -> list[list[int]]:
        """The tokens of texts, with the tokenizer's special ones where it adds them."""
        encode = self._tokenizer.backend_tokenizer.encode_batch_fast
        return [each.ids for each in encode(texts, add_special_tokens=special)]

    def unlike(self, texts: list[str], special: bool) -> tuple[str, list[int], list[int]] | None:
        """The first text that `AutoTokenizer` makes other tokens of, with those of `tokenizer.json` and its
        own."""
        for text, tokens in zip(texts, self.encode(texts, special), strict=True):
            automatic = self._automatic(text, add_special_tokens=special)["input_ids"]
            if automatic != tokens:
                return text, tokens, automatic
        return None

    def decode(self, sequences: list[list[int]], skip_special: bool) -> list[str]:
        """The text of each sequence of tokens."""
        return [self._tokenizer.decode(each, skip_special_tokens=skip_special) for each in sequences]


class ConfinedReader(TokenizerReader):
    """A reader in a child. Children are many, and threads would count as memory."""

    def __init__(self) -> None:
        super().__init__()
        torch.set_num_threads(1)


class _Asked(Protocol):
    def ask(self, method: str, *arguments: Any, seconds: float = 0.0) -> Any: ...


class _LocalReader:
    """A reader in this process, asked like one in a child."""

    def __init__(self) -> None:
        self._reader = TokenizerReader()

    def ask(self, method: str, *arguments: Any, seconds: float = 0.0) -> Any:
        return getattr(self._reader, method)(*arguments)


class Tokenizer:
    """The tokenizer of the model `name`, from a folder of its small files, which have these digests. `layout`
    is what the model looks like at a precision on a kind of device. Where it `joins`, the text of a
    sequence of tokens is the texts of its parts, if none of them but the last ends within a character.

    Every method raises `UnavailableError`: GC606 where the tokenizer fails, GC619 where it takes more than it
    may.
    """

    def __init__(
        self, name: str, folder: Path, files: Mapping[str, str], precision: str, device: str
    ) -> None:
        self._name = name
        # What ships with gridc is its tokenizer.json, whatever class transformers takes for its architecture.
        ships = ships_with_gridc(files)
        try:
            self._reader: _Asked = _LocalReader() if ships else Confined(f"{__name__}:ConfinedReader")
        except ChildEndedError as error:
            raise self._too_much(error) from None
        stated = self._ask(0, "read", str(folder), precision, device, not ships)
        self.bos_token_id: int | None = stated["bos"]
        self.eos_token_id: int | None = stated["eos"]
        self.special_tokens_map: dict[str, Any] = stated["special"]
        self.chat_template: str | None = stated["chat_template"]
        self.alone: list[int] = stated["alone"]
        self.parting: list[str] = stated["parting"]
        self.added_texts: list[str] = stated["added_texts"]
        self.special_texts: list[str] = stated["special_texts"]
        self.joins: bool = stated["joins"]
        self._other_rules: bool = stated["other_rules"]
        layers, *rest = stated["layout"]
        self.layout = loading.ModelLayout(tuple((heads, width) for heads, width in layers), *rest)

    def encode(self, texts: Sequence[str], special: bool) -> list[Tokens]:
        """The tokens of texts, with the tokenizer's special ones where it adds them and `special` says so."""
        found = self._ask(sum(map(len, texts)), "encode", list(texts), special)
        return [tuple(ids) for ids in found]

    def unlike(self, texts: Sequence[str], special: bool) -> tuple[str, Tokens, Tokens] | None:
        """The first text of which `AutoTokenizer` makes other tokens than `tokenizer.json`, with both."""
        if not self._other_rules:
            return None
        found = self._ask(2 * sum(map(len, texts)), "unlike", list(texts), special)
        return found and (found[0], tuple(found[1]), tuple(found[2]))

    def decode(self, sequences: Sequence[Sequence[int]], skip_special: bool = False) -> list[str]:
        """The text of each sequence of tokens, with special ones or without."""
        texts: list[str] = []
        for start in range(0, len(sequences), TOGETHER):
            some = [list(each) for each in sequences[start : start + TOGETHER]]
            texts += self._ask(sum(map(len, some)), "decode", some, skip_special)
        return texts

    def _ask(self, length: int, method: str, *arguments: Any) -> Any:
        try:
            return self._reader.ask(
                method, *arguments, seconds=SECONDS_PER_CALL + length * SECONDS_PER_CHARACTER
            )
        except ChildEndedError as error:
            raise self._too_much(error) from None
        except ValueError as error:
            raise UnavailableError([Diagnostic("GC606", f"`{self._name}`: {error}")]) from None

    def _too_much(self, error: ChildEndedError) -> UnavailableError:
        return UnavailableError(
            [Diagnostic("GC619", f"the tokenizer or configuration of `{self._name}` {error}")]
        )


def _default(template: Any) -> str | None:
    """The template of a plain chat: the only one, or of several named ones that called default."""
    named = template.get("default") if isinstance(template, dict) else template
    if named is not None and not isinstance(named, str):
        raise ValueError("its chat template is not a text")
    return named or None


def _joins(tokenizer: Any) -> bool:
    """Whether the text of tokens is the bytes of each, one behind the other, with no spaces cleaned up."""
    backend = tokenizer.backend_tokenizer
    kept: str = tokenizer.decode(backend.encode("a .", add_special_tokens=False).ids)
    return type(backend.decoder).__name__ == "ByteLevel" and kept.endswith("a .")


def _splitting_tokens(added: Iterable[Any]) -> list[str]:
    """The special tokens that are taken out of a text before anything else looks at it, whatever stands
    around them: what is on their two sides is tokenized as two texts."""
    every = list(added)
    return [
        each.content
        for each in every
        if each.special
        and not (each.normalized or each.single_word or each.lstrip)
        and not any(each.content in other.content and each.content != other.content for other in every)
    ]
