"""Answers calls with a local model: the engine on transformers and torch."""

import gc
import hashlib
import json
import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from traceback import clear_frames
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

import torch

from gridc.diagnostics.errors import Diagnostic, GridcError, UnavailableError
from gridc.runtime.engines.hf import loading, memory
from gridc.runtime.engines.hf.attention import UnsupportedAttention
from gridc.runtime.engines.hf.batching import (
    FEW,
    Bound,
    TooLargeError,
    repeat_batches,
    schedule,
)
from gridc.runtime.engines.hf.forest import Forest
from gridc.runtime.engines.hf.gate import ProvedPath, proved_path_from_json, routes
from gridc.runtime.engines.hf.kept_proofs import KeptProof, ProofKeeper, proof_digest
from gridc.runtime.engines.hf.kv_cache import PrefixCache, Shape
from gridc.runtime.engines.hf.loading import ChangedError, Checkpoint
from gridc.runtime.engines.hf.memory import AS_SHIPPED
from gridc.runtime.engines.hf.paths import ComputePath, ForwardWork
from gridc.runtime.engines.hf.prompts import Prompts
from gridc.runtime.engines.hf.sampling import NonFiniteLogitsError, uniforms
from gridc.runtime.engines.hf.sequences import Member, Tokens, answer_of_members, least_tokens
from gridc.runtime.engines.hf.tokenizer import Tokenizer
from gridc.runtime.engines.protocol import (
    Admit,
    Answer,
    Answered,
    AnsweredBatch,
    Batch,
    Call,
    PendingBatch,
    Spending,
)
from gridc.schema.spec import EngineSettings

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class TooLongCalls:
    """Calls that the model has no room for, with why. Their answers are failures, as a provider's are."""

    why: Mapping[str, str]

    def answer(self, call: str) -> Answer:
        error = {"kind": "context_length", "http": None, "message": self.why[call]}
        return Answer(
            call, {"error": error}, {"prompt_tokens": 0}, {"prompt_tokens": 0, "completion_tokens": 0}, 0.0
        )


class HfEngine:
    """Answers the calls of one model at one precision."""

    replicable = True

    def __init__(
        self,
        name: str,
        folder: Path,
        precision: str,
        settings: EngineSettings,
        waived: frozenset[str] = frozenset(),
        files: Mapping[str, str] = MappingProxyType({}),
        template_args: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._name, self._folder, self._precision, self._settings = name, folder, precision, settings
        self._asked_with = waived, files, template_args
        device = loading.device_of(settings.device)
        self._checkpoint = Checkpoint(folder, files)
        try:
            with self._checkpoint as checkpoint:
                tokenizer = Tokenizer(name, checkpoint.small, checkpoint.files, precision, device.type)
                self._stated = loading.read_config(checkpoint.small, precision, device.type)
                self._generation = loading.read_generation(checkpoint.small)
            self._config = self._stated.get_text_config(decoder=True)
            dtype = loading.compute_type(self._stated, precision, device)
            self._shape = Shape(tokenizer.layout.layers, dtype, device)
        except GridcError:
            raise
        except Exception as error:  # whatever a strange model makes transformers raise
            raise self._unusable(error) from None
        self.prompts = Prompts(name, folder, tokenizer, self._config, template_args, waived)
        self._longest = 1
        self._model: Any = None
        self._unread: dict[str, int] = {}
        self._routes: list[ProvedPath] = []
        self._proved: dict[str, Any] = {}
        self._stops = frozenset[int]()
        self._bank = PrefixCache(0)
        torch.set_num_threads(settings.threads or _threads())

    def __reduce__(self) -> Any:
        """An engine whose model is not loaded: it is opened again where it comes to, on the device there."""
        opened_with = (self._name, self._folder, self._precision, self._settings, *self._asked_with)
        return _reopened, (opened_with, self._longest)

    @property
    def _kv_mib(self) -> int:
        """The bound on keys and values. It is chosen once, since batches follow from it, and not before it is
        needed: asking a GPU takes some of its memory."""
        if self._settings.kv_mib is None:
            need = self._need(0)
            chosen = memory.usual_kv_mib(self._shape.device.type, need.weights if need else 0)
            self._settings = self._settings.model_copy(update={"kv_mib": chosen})
        assert self._settings.kv_mib is not None
        return self._settings.kv_mib

    def _need(self, kv_mib: int) -> memory.MemoryNeed | None:
        """The memory that this takes with that bound; None where its files do not say."""
        call, described = self._longest * self._shape.position_bytes, self.prompts.tokenizer.layout.weights
        kind = self._shape.device.type
        return memory.need_of_files(self._folder, self._precision, kind, kv_mib * _MIB, call, described)

    def effective(self) -> dict[str, Any]:
        """What is really run. Loads the model."""
        try:
            return self._effective()
        except Exception as error:
            if not memory.is_shortage(error):
                raise
            raise self._ran_out(error) from None

    def _effective(self) -> dict[str, Any]:
        model = self._load()
        template = self.prompts.template
        return {
            "model": self._name,
            "architecture": type(model).__name__,
            "files": dict(sorted(self._checkpoint.files.items())),
            "precision": self._precision,
            "dtype": str(model.dtype).removeprefix("torch."),
            "quantisation": loading.quantisation(model, self._precision),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "paths": {route.path.name: route.manifest() for route in self._routes},
            "proved": self._proved,
            "kv_mib": self._kv_mib,
            "chat_template": hashlib.sha256(template.encode()).hexdigest() if template else None,
            "bos": self.prompts.tokenizer.bos_token_id,
            "plain_text_gets_bos": self.prompts.begins,
            "ends": sorted(self._ends()),
            "truncation": None,
            "generation_config_not_used": _unused(model.generation_config),
            **({"unread_files": files} if (files := self._checkpoint.unread_files) else {}),
            **({"unread_tensors": self._unread} if self._unread else {}),
            **loading.machine(self._shape.device),
            **(loading.shipped_manifest(self._stated) if self._precision == AS_SHIPPED else {}),
        }

    def batches(self, calls: Sequence[Call]) -> list[Batch]:
        """Calls that share prefixes together, as many as the bound on keys and values allows. Those that may
        fail for lack of room, and do, are a batch of their own, which takes nothing."""
        failed = {
            call.id: why
            for call in calls
            if call.may_fail and (why := self.prompts.no_room(call)) is not None
        }
        try:
            units = list(self.prompts.units(call for call in calls if call.id not in failed))
            self._longest = max([self._longest, *(_reach(unit.members) for unit in units)])
            works = list(schedule(units, self._bound(self._settings.batch_prompts)))
        except TooLargeError as error:
            needed = math.ceil(error.positions * self._shape.position_bytes / _MIB)
            message = f"one call of `{self._name}` needs {needed} MiB of keys and values"
            help_line = f"[engine] kv_mib = {needed}"
            raise UnavailableError([Diagnostic("GC608", message, help=help_line)]) from None
        batches = [Batch(work.calls, work.cost, work) for work in works]
        return [*batches, Batch(tuple(failed), 0, TooLongCalls(failed))] if failed else batches

    def _bound(self, prompts: int | None) -> Bound:
        return Bound(self._kv_mib * _MIB // self._shape.position_bytes, prompts)

    def repetitions(self, some: Sequence[Answered], tokens: float) -> tuple[str, list[Batch]]:
        """As `protocol.repetitions`."""
        contents, members = {call.id: content for call, content in some}, dict[str, list[Member]]()
        for unit in self.prompts.units((call for call, _ in some), asked=True):
            for member in unit.members:
                members.setdefault(member.call, []).append(member)
        calls = [members[call] for call in contents]
        lengths = [sum(len(_computed(each, contents[each.call])) for each in some) for some in calls]
        standing = [route.path.standing for route in self._routes]
        shape, works = repeat_batches(calls, lengths, tokens, self._bound(FEW), standing)
        return shape, [Batch(work.calls, work.cost + len(work.trunk), work) for work in works]

    def answers(self, tasks: Sequence[PendingBatch], admit: Admit) -> Iterator[AnsweredBatch]:
        """Batch after batch, because neighbours share prefixes."""
        for task in takewhile(admit, tasks):
            yield AnsweredBatch(task, *self.answer(task.batch, task.unanswered))

    def answer(self, batch: Batch, unanswered: frozenset[str]) -> tuple[list[Answer], Spending]:
        """Answer the wanted calls of a batch."""
        work = batch.work
        if isinstance(work, TooLongCalls):
            return [work.answer(call) for call in batch.calls if call in unanswered], Spending(0.0)
        self._load()
        by_call: dict[str, list[Member]] = {}
        for member in work.members:
            if member.call not in unanswered:
                continue
            by_call.setdefault(member.call, []).append(member)
            if member.temperature:
                member.numbers = uniforms(member.call, member.limit)
            if member.stops:
                member.stopped = self.prompts.stopped
        begun, spent = time.perf_counter(), ForwardWork()
        try:
            for path, members in self._by_path(by_call.values()):
                if isinstance(path, Forest):
                    path.bank = None if work.anew else self._bank
                spent.add(path.decode(work.trunk, work.cuts, members, self._ends()))
        except NonFiniteLogitsError as error:
            raise UnavailableError([Diagnostic("GC641", f"`{self._name}`: {error}")]) from None
        except Exception as error:  # by its words: torch has no type for a CPU that is out of memory
            if not memory.is_shortage(error):
                raise
            raise self._ran_out(error) from None
        seconds = time.perf_counter() - begun
        share = seconds / len(by_call)
        answers = [
            answer_of_members(each, self._said(each[0]), _token_digest(each[0].prompt), share)
            for each in by_call.values()
        ]
        peak = loading.peak_bytes(self._shape.device)
        most = {"kv_bytes": spent.held, "rows": spent.rows, "peak_bytes": peak}
        return answers, Spending(seconds, {"forward_tokens": spent.tokens}, most)

    def _said(self, member: Member) -> str:
        """What a member answers, with the tag of a thought that its prompt opened: without it nobody could
        see that a cut one never came to its answer."""
        opened = self.prompts.opened(member.prompt) if member.given is None else ""
        return opened + self.prompts.text(member.tokens, member.stops)

    def least(self, answered: Iterable[tuple[Call, dict[str, Any]]]) -> Mapping[str, float]:
        """The trie minimum of the prompts and continuations that gave these answers."""
        paths: dict[Tokens, set[Tokens]] = {}
        contents = {}
        calls = []
        for call, content in answered:
            contents[call.id] = content
            calls.append(call)
        for unit in self.prompts.units(calls, asked=True):
            found = paths.setdefault(unit.prompt, set())
            found.update(_computed(member, contents[member.call]) for member in unit.members)
        return {"forward_tokens": least_tokens(paths)}

    def rest(self) -> None:
        """Keep the model while half of the memory is free: what is loaded next is often as large."""
        if loading.free_share(self._shape.device) < 0.5:
            self.close()
        elif self._model is not None:
            _RESTING.add(self)

    def close(self) -> None:
        """Free the model, before the next one is loaded."""
        _RESTING.discard(self)
        if self._model is None:
            return
        self._model, self._routes = None, []
        self._bank = PrefixCache(0)
        gc.collect()
        if self._shape.device.type == "cuda":
            torch.cuda.empty_cache()

    def _load(self) -> Any:
        """The model, with routes that are proved for the longest call that is known so far."""
        _RESTING.discard(self)
        if self._routes and _route_takes(self._routes[-1], self._longest):
            return self._model
        try:
            if self._model is None:
                self._model = self._loaded()
            self._stops = self._declared_ends()
            self._prove()
        except NonFiniteLogitsError as error:
            raise UnavailableError([Diagnostic("GC641", f"`{self._name}`: {error}")]) from None
        except GridcError:
            raise
        except Exception as error:  # whatever a strange model makes transformers raise
            raise self._ran_out(error) if memory.is_shortage(error) else self._unusable(error) from None
        return self._model

    def _loaded(self) -> Any:
        self._require_memory()
        device = self._shape.device
        # Threads are made while there is memory: OpenMP ends the process where it can make none.
        torch.ones(2**20).sum()
        self._bank = PrefixCache(self._kv_mib * _MIB)
        weights = self._checkpoint.weights(mapped=device.type == "cuda")
        self.prompts.tokenizer.layout.require(loading.most_numbers(self._stated, weights))
        model, self._unread = loading.load(self._stated, weights, self._generation, self._precision, device)
        self._checkpoint.require_unchanged()
        return model

    def _require_memory(self) -> None:
        """Raise `UnavailableError` (GC608) where the model cannot run in what is free. Models at rest are
        closed before that is said."""
        need, device = self._need(self._kv_mib), self._shape.device.type
        resting = list(_RESTING)
        while lacking := memory.lacking(self._name, self._precision, need, memory.free_memory(device)):
            if not resting:
                raise UnavailableError([lacking])
            resting.pop().close()

    def _ran_out(self, error: Exception) -> UnavailableError:
        """What is said of a shortage. The model is freed first, for there to be memory to say it with."""
        clear_frames(error.__traceback__)
        self.close()
        return UnavailableError([memory.ran_out(self._name, self._precision, error, self._kv_mib)])

    def _prove(self) -> None:
        """The routes of the model: as they were proved before, where that still holds, else proved now."""
        model, device, room = self._model, self._shape.device, self._kv_mib * _MIB
        keeper = ProofKeeper(
            {
                "files": self._checkpoint.files,
                "precision": self._precision,
                "room": room,
                "code": proof_digest(model),
                "machine": loading.machine(device),
            }
        )
        kept = keeper.recall() if self._settings.reuse_proofs else None
        reused = None if kept is None else self._remade(kept)
        if kept is not None and reused is not None:
            self._routes, self._proved = reused, {"made": kept.made, "reused": True}
            return
        exact = self._precision == "fp32"
        self._routes = list(routes(model, self._config, self._shape, exact, room, self._longest))
        made = datetime.now(UTC).isoformat(timespec="seconds")
        self._proved = {"made": made, "reused": False}
        keeper.keep(KeptProof(made, [route.as_json() for route in self._routes]))

    def _remade(self, kept: KeptProof) -> list[ProvedPath] | None:
        """The routes of an earlier proof that calls of now take; None where it does not reach so far."""
        made: list[ProvedPath] = []
        for route in kept.routes:
            if not made or not _route_takes(made[-1], self._longest):
                try:
                    made.append(proved_path_from_json(self._model, self._config, self._shape, route))
                except UnsupportedAttention:
                    return None
        return made if made and _route_takes(made[-1], self._longest) else None

    def _by_path(self, calls: Iterable[list[Member]]) -> Iterator[tuple[ComputePath, list[Member]]]:
        """The members of some calls by the path that takes them, a call never parted."""
        taken: dict[int, list[Member]] = {}
        for members in calls:
            needed = _reach(members)
            number = next(at for at, route in enumerate(self._routes) if _route_takes(route, needed))
            taken.setdefault(number, []).extend(members)
        for number, some in sorted(taken.items()):
            yield self._routes[number].path, some

    def _unusable(self, error: Exception) -> UnavailableError:
        text = str(error) or type(error).__name__
        code = "GC642" if isinstance(error, ChangedError) else "GC606"
        message = f"`{self._name}` at {self._precision}: {text}"
        help_line = None
        if code == "GC606" and self._precision in ("int8", "nf4"):
            help_line = "not every architecture runs quantized: try bf16, which is another measurement"
        return UnavailableError([Diagnostic(code, message, str(self._folder), help=help_line)])

    def _ends(self) -> frozenset[int]:
        """The tokens that end a turn. Loads the model."""
        self._load()
        return self._stops

    def _declared_ends(self) -> frozenset[int]:
        """The tokens that end a turn: the generation config's, else the tokenizer's."""
        declared = self._model.generation_config.eos_token_id
        if declared is None:
            declared = self.prompts.tokenizer.eos_token_id
        ends = declared if isinstance(declared, list) else [] if declared is None else [declared]
        if not all(isinstance(end, int) for end in ends):
            raise ValueError(f"the tokens that end its turn are no numbers ({declared!r:.80})")
        return frozenset(ends)


def _computed(member: Member, content: Mapping[str, Any]) -> Tokens:
    """The tokens of a member's answer that something was computed after: the last one was only chosen, unless
    a token that ended the turn was chosen after it."""
    path = member.given or tuple(content["tokens"])
    return path if content.get("end") is not None else path[:-1]


_RESTING: "WeakSet[HfEngine]" = WeakSet()
"""Engines that are not asked now and keep their model."""


def _threads() -> int:
    """As OpenMP is told, else all cores."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and int(text) else os.cpu_count() or 1


def _reopened(opened_with: tuple[Any, ...], longest: int) -> HfEngine:
    engine = HfEngine(*opened_with)
    engine._longest = longest
    return engine


def _reach(members: Sequence[Member]) -> int:
    """The most positions that any of these members may come to."""
    return max(len(member.prompt) + member.limit for member in members)


def _route_takes(route: ProvedPath, positions: int) -> bool:
    return route.limit is None or positions <= route.limit


def _unused(generation_config: Any) -> dict[str, Any]:
    """What the model's own generation config would change, and the study's calls do not ask for."""
    declared: dict[str, Any] = generation_config.to_diff_dict()
    inert = ("bos_token_id", "eos_token_id", "pad_token_id", "transformers_version", "_from_model_config")
    return {name: value for name, value in sorted(declared.items()) if name not in inert}


def _token_digest(ids: Sequence[int]) -> str:
    return hashlib.sha256(json.dumps(list(ids)).encode()).hexdigest()
