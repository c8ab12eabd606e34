"""The local engine: transformers on torch, on this machine's CPU or GPU."""

import gc
import hashlib
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import PreTrainedTokenizerFast

from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import Diagnostic, HazardError, UnavailableError
from gridc.runtime.engines.hf import loading
from gridc.runtime.engines.hf.checkpoint import ChangedError, Checkpoint
from gridc.runtime.engines.hf.choosing import NotNumbersError
from gridc.runtime.engines.hf.gate import Route, routes
from gridc.runtime.engines.hf.paths import ComputePath, Spent
from gridc.runtime.engines.hf.schedule import Bound, TooLargeError, schedule
from gridc.runtime.engines.hf.sequences import Member, Unit, answer, candidate, generation
from gridc.runtime.engines.hf.trie import Tokens, common_prefix, least_tokens
from gridc.runtime.engines.protocol import Answer, Batch, Call, Spending
from gridc.schema.spec import Engine as EngineSettings

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class _Form:
    """A prompt as it may be asked: its text and tokens, with how many exemplars were left out."""

    prompt: Prompt
    text: str
    ids: tuple[int, ...]
    dropped: int


_Divided = tuple[tuple[int, ...], tuple[int, ...]]


class HfEngine:
    """Answers the calls of one model at one precision."""

    def __init__(
        self,
        name: str,
        folder: Path,
        precision: str,
        settings: EngineSettings,
        waived: frozenset[str] = frozenset(),
        files: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._name, self._folder, self._precision, self._settings = name, folder, precision, settings
        device = loading.device_of(settings.device)
        self._waived = waived
        self._checkpoint = Checkpoint(folder, files)
        try:
            with self._checkpoint as checkpoint:
                self._tokenizer = PreTrainedTokenizerFast.from_pretrained(checkpoint.small)
                self._stated = loading.read_config(checkpoint.small)
                self._generation = loading.read_generation(checkpoint.small)
            self._config = self._stated.get_text_config(decoder=True)
            self._shape = loading.sketch(self._config, precision, device)
        except Exception as error:  # whatever a strange model makes transformers raise
            raise self._unusable(error) from None
        if "strftime_now" in (self._tokenizer.chat_template or ""):
            self._refuse("GC506", f"the chat template of `{name}` prints today's date")
        self._begins = self._tokenizer("x")["input_ids"][:1] == [self._tokenizer.bos_token_id]
        self._longest = 1
        self._model: Any = None
        self._routes: list[Route] = []
        torch.set_num_threads(settings.threads or os.cpu_count() or 1)

    def effective(self) -> dict[str, Any]:
        """What is really run. Loads the model."""
        model = self._load()
        template, bos = self._tokenizer.chat_template, self._tokenizer.bos_token_id
        return {
            "model": self._name,
            "architecture": type(model).__name__,
            "files": dict(sorted(self._checkpoint.files.items())),
            "precision": self._precision,
            "dtype": str(model.dtype).removeprefix("torch."),
            "quantisation": loading.quantisation(model, self._precision),
            "parameters": sum(each.numel() for each in model.parameters()),
            "paths": {route.path.name: route.manifest() for route in self._routes},
            "kv_mib": self._settings.kv_mib,
            "chat_template": hashlib.sha256(template.encode()).hexdigest() if template else None,
            "bos": bos,
            "plain_text_gets_bos": self._begins,
            "ends": sorted(self._ends()),
            "truncation": None,
            "generation_config_not_used": _unused(model.generation_config),
            **loading.machine(self._shape.device),
        }

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        """Calls that share prefixes together, as many as the bound on keys and values allows."""
        positions = self._settings.kv_mib * _MIB // self._shape.position_bytes
        try:
            units = list(self._units(calls))
            self._longest = max([self._longest, *(_reach(unit.members) for unit in units)])
            works = list(schedule(units, Bound(positions, self._settings.batch_prompts)))
        except TooLargeError as error:
            needed = math.ceil(error.positions * self._shape.position_bytes / _MIB)
            message = f"one call of `{self._name}` needs {needed} MiB of keys and values"
            help_line = f"[engine] kv_mib = {needed}"
            raise UnavailableError([Diagnostic("GC608", message, help=help_line)]) from None
        return [Batch(work.calls, work.cost, work) for work in works]

    def answer(self, batch: Batch, wanted: frozenset[str]) -> tuple[list[Answer], Spending]:
        """Answer the wanted calls of a batch."""
        self._load()
        work = batch.work
        by_call: dict[str, list[Member]] = {}
        for member in work.members:
            if member.call in wanted:
                by_call.setdefault(member.call, []).append(member)
        begun, spent = time.perf_counter(), Spent()
        try:
            for path, members in self._by_path(by_call.values()):
                spent.add(path.decode(work.trunk, work.cuts, members, self._ends()))
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise UnavailableError([Diagnostic("GC608", f"`{self._name}`: {error}")]) from None
        except NotNumbersError as error:
            raise UnavailableError([Diagnostic("GC641", f"`{self._name}`: {error}")]) from None
        seconds = time.perf_counter() - begun
        share = seconds / len(by_call)
        answers = [
            answer(each, self._text(each[0]), _token_digest(each[0].prompt), share)
            for each in by_call.values()
        ]
        return answers, Spending(
            spent.tokens, seconds, spent.held, spent.rows, loading.peak_bytes(self._shape.device)
        )

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> int:
        """The trie minimum of the prompts and continuations that gave these answers."""
        paths: dict[Tokens, set[Tokens]] = {}
        contents = {}
        calls = []
        for call, content in answered:
            contents[call.id] = content
            calls.append(call)
        for unit in self._units(calls):
            found = paths.setdefault(unit.prompt, set())
            for member in unit.members:
                content = contents[member.call]
                member.tokens = list(member.given or content["tokens"])
                member.finish = content.get("finish")
                found.add(member.computed)
        return least_tokens(paths)

    def close(self) -> None:
        """Free the model, before the next one is loaded."""
        self._model, self._routes = None, []
        gc.collect()
        if self._shape.device.type == "cuda":
            torch.cuda.empty_cache()

    def _load(self) -> Any:
        """The model, with routes that are proved for the longest call that is known so far."""
        if self._routes and _takes(self._routes[-1], self._longest):
            return self._model
        try:
            if self._model is None:
                weights, device = self._checkpoint.weights(), self._shape.device
                self._model = loading.load(self._stated, weights, self._generation, self._precision, device)
            exact = self._shape.dtype == torch.float32 and self._precision != "int8"
            room = self._settings.kv_mib * _MIB
            found = routes(self._model, self._config, self._shape, exact, room, self._longest)
            self._routes = list(found)
        except NotNumbersError as error:
            raise UnavailableError([Diagnostic("GC641", f"`{self._name}`: {error}")]) from None
        except Exception as error:  # whatever a strange model makes transformers raise
            raise self._unusable(error) from None
        return self._model

    def _by_path(self, calls: Iterable[list[Member]]) -> Iterator[tuple[ComputePath, list[Member]]]:
        """The members of some calls by the path that takes them, a call never parted."""
        taken: dict[int, list[Member]] = {}
        for members in calls:
            needed = _reach(members)
            number = next(at for at, route in enumerate(self._routes) if _takes(route, needed))
            taken.setdefault(number, []).extend(members)
        for number, some in sorted(taken.items()):
            yield self._routes[number].path, some

    def _unusable(self, error: Exception) -> UnavailableError:
        told = str(error) or type(error).__name__
        code = "GC642" if isinstance(error, ChangedError) else "GC606"
        message = f"`{self._name}` at {self._precision}: {told}"
        return UnavailableError([Diagnostic(code, message, str(self._folder))])

    def _ends(self) -> frozenset[int]:
        """The tokens that end a turn: the generation config's, else the tokenizer's."""
        declared = self._load().generation_config.eos_token_id
        if declared is None:
            declared = self._tokenizer.eos_token_id
        return frozenset(declared if isinstance(declared, list) else [declared])

    def _text(self, member: Member) -> str:
        text: str = self._tokenizer.decode(member.tokens, skip_special_tokens=True)
        return text

    def _units(self, calls: Iterable[Call]) -> Iterator[Unit]:
        """The calls by the tokens that they stand on: texts that differ only in what is left to the
        candidates of a ranking are one prompt."""
        by_text: dict[Prompt, list[Call]] = {}
        for call in calls:
            by_text.setdefault(call.prompt, []).append(call)
        by_tokens: dict[Tokens, list[Member]] = {}
        for prompt, same in by_text.items():
            forms = [self._form(form, dropped) for dropped, form in enumerate(prompt.forms())]
            for call in same:
                members = self._fitting(call, forms)
                by_tokens.setdefault(members[0].prompt, []).extend(members)
        yield from map(Unit.of, by_tokens.values())

    def _form(self, prompt: Prompt, dropped: int) -> _Form:
        text = self.as_text(prompt)
        (ids,) = self._encode([text], prompt)
        return _Form(prompt, text, ids or self._prefix(), dropped)

    @property
    def _room(self) -> float:
        """The most tokens that the model was made for."""
        return getattr(self._config, "max_position_embeddings", math.inf)

    def _fitting(self, call: Call, forms: Sequence[_Form]) -> list[Member]:
        """The members of a call on the longest form of its prompt that the model has room for."""
        longest = 0
        for form in forms:
            members = self._members(call, form)
            longest = max(len(member.prompt) + member.limit for member in members)
            if longest <= self._room:
                return members
        message = f"`{self._name}` has room for {self._room} tokens; a prompt and its answer need {longest}"
        raise HazardError([Diagnostic("GC503", message, str(self._folder))])

    def _members(self, call: Call, form: _Form) -> list[Member]:
        if call.kind == "generate":
            return [generation(call, form.ids, form.dropped)]
        texts = call.parameters["continuations"]
        by_context = call.parameters.get("seam") == "context_length"
        divide = self._behind_context if by_context else self._behind_shared_prefix
        divided = divide(form, texts)
        for text, (_, given) in zip(texts, divided, strict=True):
            if not given:
                message = f"`{self._name}` has no token for the candidate {text!r} behind its prompt"
                raise HazardError([Diagnostic("GC512", message, str(self._folder))])
        return [candidate(call, prompt, given, form.dropped) for prompt, given in divided]

    def _behind_shared_prefix(self, form: _Form, texts: Sequence[str]) -> list[_Divided]:
        """A tokenizer may merge across the seam. What all candidates share with the prompt is given to
        them; every token after it is scored, so that none is scored for one candidate and not for another."""
        whole = self._whole(form, texts)
        seam = min(common_prefix([form.ids, each]) for each in whole)
        seam = min(seam, *(len(each) - 1 for each in whole))
        return [(each[:seam], each[seam:]) for each in whole]

    def _behind_context(self, form: _Form, texts: Sequence[str]) -> list[_Divided]:
        """lm-evaluation-harness (`_encode_pair`): white space at the prompt's end goes to the candidate,
        and the candidate's tokens are those behind as many as the prompt has alone."""
        context = form.text.rstrip()
        if not context:
            return self._behind_shared_prefix(form, texts)
        ids, *whole = self._encode([context, *(form.text + each for each in texts)], form.prompt)
        return [(ids, each[len(ids) :]) for each in whole]

    def _whole(self, form: _Form, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of a prompt with each text behind it."""
        found = self._encode([form.text + each for each in texts], form.prompt)
        if form.text:
            return found
        return [ids if ids[:1] == form.ids[:1] else (*form.ids, *ids) for ids in found]

    def _refuse(self, code: str, message: str) -> None:
        """Raise `HazardError`, unless the study takes this hazard knowingly."""
        if code not in self._waived:
            raise HazardError([Diagnostic(code, message, str(self._folder))])

    def _prefix(self) -> tuple[int, ...]:
        """What an empty prompt is: a likelihood needs a token to stand behind (BOS, else the end of text)."""
        first = self._tokenizer.bos_token_id
        return (self._tokenizer.eos_token_id if first is None else first,)

    def as_text(self, prompt: Prompt) -> str:
        if not prompt.chat_template:
            return "\n\n".join(text for _, text in prompt.messages)
        if self._tokenizer.chat_template is None:
            message = f"`{self._name}` has no chat template"
            help_line = "set chat_template = false for the model"
            raise HazardError([Diagnostic("GC505", message, str(self._folder), help=help_line)])
        messages = [{"role": role, "content": text} for role, text in prompt.messages]
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=False
            )
        except TemplateError as error:
            message = f"the chat template of `{self._name}` refuses the messages: {error}"
            raise HazardError([Diagnostic("GC505", message, str(self._folder))]) from None
        return text

    def _encode(self, texts: list[str], prompt: Prompt) -> list[Tokens]:
        """Token ids. A chat template prints its own special tokens; plain text gets the tokenizer's."""
        encoded = self._tokenizer(texts, add_special_tokens=not prompt.chat_template)["input_ids"]
        bos = self._tokenizer.bos_token_id
        found = [tuple(ids) for ids in encoded]
        for ids in found:
            if bos is not None and ids[:2] == (bos, bos):
                self._refuse("GC504", f"a prompt of `{self._name}` starts with two BOS tokens")
            if self._begins and ids and ids[0] != bos:
                self._refuse("GC510", f"a prompt of `{self._name}` starts without its BOS token")
        return found


def _reach(members: Sequence[Member]) -> int:
    """The most positions that any of these members may come to."""
    return max(len(member.prompt) + member.limit for member in members)


def _takes(route: Route, positions: int) -> bool:
    return route.limit is None or positions <= route.limit


def _unused(generation_config: Any) -> dict[str, Any]:
    """What the model's own generation config would change, and the study's calls do not ask for."""
    declared: dict[str, Any] = generation_config.to_diff_dict()
    inert = ("bos_token_id", "eos_token_id", "pad_token_id", "transformers_version", "_from_model_config")
    return {name: value for name, value in sorted(declared.items()) if name not in inert}


def _token_digest(ids: Sequence[int]) -> str:
    return hashlib.sha256(json.dumps(list(ids)).encode()).hexdigest()
