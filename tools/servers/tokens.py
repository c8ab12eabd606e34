"""Servers that take tokens, as vLLM, SGLang and llama.cpp do, on a model that ships with gridc, with faults.

Each request is computed alone with transformers in fp32, so that answers are those of the model; faults are
put in on purpose. `crowd`: with more than so many requests open, logits move. `mates`: they move with what
is asked at the same time, by so much. `bits`: they move in every request, by so much. `faults` are of one
path each, `/completions` or `/chat/completions`:

    temperature   it is taken and ignored
    seed          every seed draws what one seed draws
    seedless      a seed has no effect
    penalty       tokens that stand there already are less likely to be generated
    max_tokens    it is taken and ignored
    late, early   the log-probability of a given token is that of the token before or behind it
"""

import argparse
import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tools.servers.http import Asked, Reply, Server
from tools.servers.model import MODELS

DIALECTS = ("vllm", "sglang", "llama.cpp", "openai")
CHAT = "/chat/completions"

PENALTY = 1.3
UNBOUNDED = 40
"""Tokens that are written where `max_tokens` is ignored."""

Fault = Literal["temperature", "seed", "seedless", "penalty", "max_tokens", "late", "early"]


@dataclass(frozen=True, slots=True)
class Moved:
    """Noise in the logits of one request: how much, and of which seed."""

    size: float
    seed: int


@dataclass
class TokenServer:
    """Speaks one dialect. `bodies` are the requests for tokens that came, `most` the most that were open,
    `paths` the path of each prompt that came. `processed`: generated tokens are said to be as likely as after
    a penalty."""

    dialect: str
    model: str = "pocket-qwen2"
    crowd: int | None = None
    mates: float = 0.0
    bits: float = 0.0
    delay: float = 0.01
    longest: int = 2_048
    faults: Mapping[str, Fault] = field(default_factory=dict)
    processed: bool = False
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most: int = 0

    def __post_init__(self) -> None:
        self._model: Any = AutoModelForCausalLM.from_pretrained(MODELS / self.model, dtype=torch.float32)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(MODELS / self.model)
        self._open: dict[int, str] = {}
        self._computing = threading.Lock()

    async def __call__(self, asked: Asked) -> Reply:
        path = asked.path.removeprefix("/v1")
        if asked.method == "GET":
            return Reply.json({"object": "list", "data": [{"id": self.model, "object": "model"}]})
        body = asked.document
        prompts = self._prompts(body, path)
        if max(map(len, prompts)) + body["max_tokens"] > self.longest:
            about = {"message": f"This model's maximum context length is {self.longest} tokens", "code": 400}
            return Reply.json({"error": about}, 400)
        self.paths += [path] * len(prompts)
        number = len(self.paths)
        if isinstance(body.get("prompt"), list):
            self.bodies.append(body)
        self._open[number] = json.dumps(prompts)
        self.most = max(self.most, len(self._open))
        await asyncio.sleep(self.delay)
        moved = self._moved(number)
        try:
            return Reply.json(await asyncio.to_thread(self._answer, body, path, prompts, moved, number))
        finally:
            del self._open[number]

    def _prompts(self, body: Mapping[str, Any], path: str) -> list[list[int]]:
        if path == CHAT:
            template = self._tokenizer.apply_chat_template
            return [list(template(body["messages"], add_generation_prompt=True, return_dict=False))]
        if isinstance(body["prompt"], str):
            return [list(self._tokenizer(body["prompt"], add_special_tokens=False)["input_ids"])]
        return body["prompt"] if isinstance(body["prompt"][0], list) else [body["prompt"]]

    def _moved(self, number: int) -> Moved:
        beside = sorted(self._open.values())
        if self.crowd is not None and len(beside) > self.crowd:
            size, seed = 1.0, "crowd"
        elif self.bits:
            size, seed = self.bits, str(number)
        else:
            size, seed = self.mates if len(beside) > 1 else 0.0, json.dumps(beside)
        return Moved(size, int(sha256(seed.encode()).hexdigest()[:8], 16))

    def _answer(
        self, body: Mapping[str, Any], path: str, prompts: Sequence[list[int]], moved: Moved, number: int
    ) -> dict[str, Any]:
        with self._computing, torch.inference_mode():
            choices = [self._choice(body, path, ids, moved, number) for ids in prompts]
        read, written = sum(map(len, prompts)), sum(len(choice["token_ids"]) for choice in choices)
        for place, choice in enumerate(choices):
            choice["index"] = place
            if not body.get("return_token_ids"):
                del choice["token_ids"]
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        kind = "chat.completion" if path == CHAT else "text_completion"
        return {"object": kind, "model": body["model"], "choices": choices, "usage": usage}

    def _logits(self, ids: Sequence[int], moved: Moved) -> torch.Tensor:
        """The logits behind each token, with the noise."""
        logits: torch.Tensor = self._model(torch.tensor([ids])).logits[0].float()
        if moved.size:
            noise = torch.randn(logits.shape[-1], generator=torch.Generator().manual_seed(moved.seed))
            logits = logits + moved.size * noise
        return logits

    def _choice(
        self, body: Mapping[str, Any], path: str, prompt: Sequence[int], moved: Moved, number: int
    ) -> dict[str, Any]:
        fault = self.faults.get(path)
        ids, written, finish = list(prompt), list[int](), "length"
        biased = dict(map(tuple, body.get("logit_bias") or []))
        seed = {"seed": 7, "seedless": number}.get(fault or "", body.get("seed", 0))
        draws = torch.Generator().manual_seed(seed)
        scores, said = [], []
        for _ in range(UNBOUNDED if fault == "max_tokens" else body["max_tokens"]):
            logits = self._logits(ids, moved)[-1]
            chosen = logits.clone()
            if fault == "penalty":
                there = torch.tensor(sorted(set(ids)))
                chosen[there] = torch.where(
                    chosen[there] > 0, chosen[there] / PENALTY, chosen[there] * PENALTY
                )
            row = (chosen if self.processed else logits).log_softmax(-1)
            if biased and fault == "late":
                row = self._logits(ids, moved)[-2].log_softmax(-1)
            for token, bias in biased.items():
                chosen[token] += bias
            token = int(chosen.argmax())
            if body.get("temperature") and fault != "temperature":
                token = int((chosen / body["temperature"]).softmax(-1).multinomial(1, generator=draws))
            written.append(token)
            best = int(row.argmax())
            scores.append({
                "id": token, "token": self._tokenizer.decode([token]), "logprob": float(row[token]),
                "top_logprobs": [{"id": best, "logprob": float(row[best])}],
            })  # fmt: skip
            if token == self._model.config.eos_token_id:
                finish = "stop"
                break
            ids.append(token)
            said.append(token)
        text = self._tokenizer.decode(said, skip_special_tokens=True)
        content = {"message": {"role": "assistant", "content": text}} if path == CHAT else {"text": text}
        choice = {**content, "finish_reason": finish, "token_ids": written, "logprobs": None}
        if body.get("return_token_ids"):
            choice["prompt_token_ids"] = prompt
        if "prompt_logprobs" in body:
            choice["prompt_logprobs"] = self._prompt_logprobs(prompt, moved, fault, body["prompt_logprobs"])
        elif body.get("echo"):
            choice["logprobs"] = self._echoed(body["prompt"], prompt, moved, fault)
        elif body.get("logprobs"):
            content_form = path == CHAT or self.dialect == "llama.cpp"
            choice["logprobs"] = {"content": scores} if content_form else _legacy(scores)
        return choice

    def _given(self, ids: Sequence[int], moved: Moved, fault: Fault | None) -> list[dict[str, Any]]:
        """Of each token but the first how likely it is, its rank, and the likeliest one."""
        rows = self._logits(ids, moved).log_softmax(-1)
        given = [
            {"logprob": float(row[token]), "rank": int((row > row[token]).sum()) + 1,
             "best": int(row.argmax()), "most": float(row.max())}
            for token, row in zip(ids[1:], rows, strict=False)
        ]  # fmt: skip
        if fault == "late":
            return [given[0], *given[:-1]]
        return [*given[1:], given[-1]] if fault == "early" else given

    def _prompt_logprobs(self, ids: Sequence[int], moved: Moved, fault: Fault | None, tops: int) -> list[Any]:
        """As vLLM has it: by token id, with the rank; the likeliest token beside where it is wanted."""
        return [None] + [
            {str(token): {"logprob": each["logprob"], "rank": each["rank"]}}
            | ({str(each["best"]): {"logprob": each["most"], "rank": 1}} if tops else {})
            for token, each in zip(ids[1:], self._given(ids, moved, fault), strict=True)
        ]

    def _echoed(
        self, asked: str | list[int], ids: Sequence[int], moved: Moved, fault: Fault | None
    ) -> dict[str, Any]:
        """The prompt's tokens: as SGLang has it with the one that follows, of a text where each begins."""
        given = self._given(ids, moved, fault)
        values = [None, *(each["logprob"] for each in given)]
        tops = [None, *({self._tokenizer.decode([each["best"]]): each["most"]} for each in given)]
        if isinstance(asked, list):
            last = float(self._logits(ids, moved)[-1].log_softmax(-1).max())
            return {"token_logprobs": [*values, last], "top_logprobs": [*tops, {"": last}]}
        encoded = self._tokenizer(asked, return_offsets_mapping=True, add_special_tokens=False)
        starts = [int(start) for start, _ in encoded["offset_mapping"]]
        pieces = [asked[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
        return {"tokens": pieces, "token_logprobs": values, "text_offset": starts, "top_logprobs": tops}


def _legacy(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """As `/completions` of OpenAI has it."""
    return {
        "tokens": [each["token"] for each in scores],
        "token_logprobs": [each["logprob"] for each in scores],
        "top_logprobs": [{"the likeliest": each["top_logprobs"][0]["logprob"]} for each in scores],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="A model that ships with gridc, asked by tokens.")
    parser.add_argument("dialect", choices=DIALECTS)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    with Server(TokenServer(given.dialect), given.port) as server:
        server.wait()


if __name__ == "__main__":
    main()
