"""Servers that take tokens, as vLLM, SGLang and llama.cpp do, on a model that ships with gridc, with faults.

Each request is computed alone with transformers in fp32, so that answers are those of the model; faults are
put in on purpose. `crowd`: with more than so many requests open, logits move. `mates`: they move with what
is asked at the same time, by so much. Chats and plain texts are left to `tools.servers.model`.
"""

import argparse
import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tools.servers.http import Asked, Reply, Server
from tools.servers.model import MODELS, ModelServer

NEUTRAL: Mapping[str, Mapping[str, Any]] = {
    "vllm": {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
    "sglang": {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
    "llama.cpp": {
        "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0, "typical_p": 1.0, "top_n_sigma": -1.0,
        "xtc_probability": 0.0, "dry_multiplier": 0.0, "dynatemp_range": 0.0, "mirostat": 0,
        "adaptive_target": -1.0,
    },
}  # fmt: skip
"""What a client must say beside OpenAI's parameters, by dialect."""


@dataclass
class TokenServer:
    """Speaks one dialect. `bodies` are the requests for tokens that came, `most` the most that were open."""

    dialect: str
    model: str = "pocket-qwen2"
    crowd: int | None = None
    mates: float = 0.0
    delay: float = 0.01
    longest: int = 2_048
    bodies: list[dict[str, Any]] = field(default_factory=list)
    most: int = 0

    def __post_init__(self) -> None:
        self.inside = ModelServer(self.model)
        self._model: Any = AutoModelForCausalLM.from_pretrained(MODELS / self.model, dtype=torch.float32)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(MODELS / self.model)
        self._open: dict[int, str] = {}
        self._computing = threading.Lock()

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document if asked.method == "POST" else {}
        if not isinstance(body.get("prompt"), list):
            plain = {name: value for name, value in body.items() if name not in NEUTRAL[self.dialect]}
            data = json.dumps(plain).encode() if body else b""
            return await self.inside(Asked(asked.method, asked.path, asked.headers, data))
        if len(body["prompt"]) + body["max_tokens"] > self.longest:
            about = {"message": f"This model's maximum context length is {self.longest} tokens", "code": 400}
            return Reply.json({"error": about}, 400)
        self.bodies.append(body)
        number = len(self.bodies)
        self._open[number] = json.dumps(body["prompt"])
        self.most = max(self.most, len(self._open))
        await asyncio.sleep(self.delay)
        beside = sorted(self._open.values())
        try:
            return Reply.json(await asyncio.to_thread(self._answer, body, beside))
        finally:
            del self._open[number]

    def _answer(self, body: Mapping[str, Any], beside: Sequence[str]) -> dict[str, Any]:
        crowded = self.crowd is not None and len(beside) > self.crowd
        moved = self.mates if len(beside) > 1 else 0.0
        shift = 1.0 if crowded else moved
        seed = "crowd" if crowded else json.dumps(beside)
        with self._computing, torch.inference_mode():
            choice = self._choice(body, shift, int(sha256(seed.encode()).hexdigest()[:8], 16))
        read, written = len(body["prompt"]), choice.pop("written")
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {"object": "text_completion", "model": body["model"], "choices": [choice], "usage": usage}

    def _logits(self, ids: Sequence[int], shift: float, seed: int) -> torch.Tensor:
        """The log-probabilities behind each token, moved by noise of that size."""
        logits = self._model(torch.tensor([ids])).logits[0].float()
        if shift:
            noise = torch.randn(logits.shape[-1], generator=torch.Generator().manual_seed(seed))
            logits = logits + shift * noise
        rows: torch.Tensor = logits.log_softmax(-1)
        return rows

    def _choice(self, body: Mapping[str, Any], shift: float, seed: int) -> dict[str, Any]:
        ids, written, finish = list(body["prompt"]), 0, "length"
        biased = dict(map(tuple, body.get("logit_bias") or []))
        draws = torch.Generator().manual_seed(body.get("seed", 0))
        scores, said = [], []
        for _ in range(body["max_tokens"]):
            row = self._logits(ids, shift, seed)[-1]
            chosen = row.clone()
            for token, bias in biased.items():
                chosen[token] += bias
            token = int(chosen.argmax())
            if body.get("temperature"):
                token = int((chosen / body["temperature"]).softmax(-1).multinomial(1, generator=draws))
            written += 1
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
        choice = {"index": 0, "text": text, "finish_reason": finish, "written": written, "logprobs": None}
        if "prompt_logprobs" in body:
            choice["prompt_logprobs"] = self._prompt_logprobs(body["prompt"], shift, seed)
        elif body.get("echo"):
            choice["logprobs"] = self._echoed(body["prompt"], shift, seed)
        elif body.get("logprobs"):
            choice["logprobs"] = {"content": scores}
        return choice

    def _prompt_logprobs(self, ids: Sequence[int], shift: float, seed: int) -> list[Any]:
        """As vLLM has it: by token id, with the rank."""
        rows = self._logits(ids, shift, seed)
        return [None] + [
            {str(token): {"logprob": float(row[token]), "rank": int((row > row[token]).sum()) + 1}}
            for token, row in zip(ids[1:], rows, strict=False)
        ]

    def _echoed(self, ids: Sequence[int], shift: float, seed: int) -> dict[str, Any]:
        """As SGLang has it: the prompt's tokens and the one that was generated."""
        rows = self._logits(ids, shift, seed)
        values = [None] + [float(row[token]) for token, row in zip(ids[1:], rows, strict=False)]
        tops = [None] + [{self._tokenizer.decode([int(row.argmax())]): float(row.max())} for row in rows]
        return {"token_logprobs": [*values, float(rows[-1].max())], "top_logprobs": tops}


def main() -> None:
    parser = argparse.ArgumentParser(description="A model that ships with gridc, asked by tokens.")
    parser.add_argument("dialect", choices=NEUTRAL)
    parser.add_argument("--port", type=int, required=True)
    given = parser.parse_args()
    with Server(TokenServer(given.dialect), given.port) as server:
        server.wait()


if __name__ == "__main__":
    main()
