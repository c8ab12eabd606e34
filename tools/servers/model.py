"""The OpenAI protocol on a model that ships with gridc: chat completions, completions, models.

    python -m tools.servers.model --model pocket-qwen2 --port 8414

Every name that is asked for is answered by the same model, so that a study of six providers can be tried
without one. What a client may set is honoured or refused, never ignored: greedy decoding, temperature, top_p,
seed, n, max_tokens, stop, logprobs with echo. A seed draws the same answer whatever else is asked meanwhile.
"""

import argparse
import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

import gridc
from gridc.compiler.lowering.calls import Prompt
from gridc.diagnostics.errors import GridcError
from gridc.runtime.engines.hf.engine import HfEngine
from gridc.runtime.engines.hf.loading import read_tokenizer
from gridc.runtime.engines.protocol import Answer, Call
from gridc.schema.spec import EngineSettings
from tools.servers.http import Asked, Reply, Server

MODELS = Path(gridc.__file__).parent / "builtin" / "models"
GATHER = 0.004
"""Seconds for which requests are gathered into one batch."""

_NEUTRAL = {"presence_penalty": 0, "frequency_penalty": 0, "n": 1, "stream": False, "echo": False}
_TAKEN = {
    "model", "messages", "prompt", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed",
    "stop", "n", "logprobs", "echo", "stream", "presence_penalty", "frequency_penalty", "user",
}  # fmt: skip


class BadRequestError(Exception):
    """What a client asked and cannot have, with OpenAI's code for it."""

    def __init__(self, message: str, code: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class ModelServer:
    """Answers requests with one local model, many at a time."""

    def __init__(self, model: str, delay: float = 0.0) -> None:
        folder = Path(model) if "/" in model else MODELS / model
        self.name, self._delay = folder.name, delay
        self._folder = folder
        self._plain: Any = None
        self._loading = threading.Lock()
        self._engine = HfEngine(self.name, folder, "fp32", EngineSettings())
        self._waiting: list[tuple[Call, asyncio.Future[Answer]]] = []
        self._turn: asyncio.Task[None] | None = None
        self.requests = 0

    async def __call__(self, asked: Asked) -> Reply:
        self.requests += 1
        await asyncio.sleep(self._delay)
        try:
            match asked.method, asked.path:
                case "GET", "/v1/models":
                    return Reply.json({"object": "list", "data": [{"id": self.name, "object": "model"}]})
                case "POST", "/v1/chat/completions":
                    return Reply.json(await self._chat(_document(asked)))
                case "POST", "/v1/completions":
                    return Reply.json(await self._complete(_document(asked)))
            raise BadRequestError(f"no such path: {asked.path}", status=404)
        except BadRequestError as error:
            about = {"message": str(error), "type": "invalid_request_error", "code": error.code}
            return Reply.json({"error": about}, error.status)

    async def _chat(self, body: Mapping[str, Any]) -> dict[str, Any]:
        messages = tuple((each["role"], each["content"]) for each in body["messages"])
        if body.get("logprobs"):
            raise BadRequestError("logprobs are given for completions alone")
        answers = await self._generate(Prompt(messages, True), body)
        choices = [
            {
                "index": number,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
                "logprobs": None,
            }
            for number, (text, finish, _) in enumerate(answers)
        ]
        return self._document("chat.completion", body, choices, self._count(messages, True), answers)

    async def _complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        prompt = body["prompt"]
        if not isinstance(prompt, str):
            raise BadRequestError("a prompt is one text")
        messages = (("user", prompt),)
        echo = bool(body.get("echo"))
        most = body.get("max_tokens", 16)
        answers = await self._generate(Prompt(messages, False), body) if most else [("", "length", 0)]
        scored = (
            await asyncio.to_thread(self._scored, prompt)
            if echo and body.get("logprobs") is not None
            else None
        )
        if body.get("logprobs") is not None and scored is None:
            raise BadRequestError("logprobs are given with echo alone")
        choices = [
            {
                "index": number,
                "text": prompt + text if echo else text,
                "finish_reason": finish,
                "logprobs": scored,
            }
            for number, (text, finish, _) in enumerate(answers)
        ]
        return self._document("text_completion", body, choices, self._count(messages, False), answers)

    async def _generate(self, prompt: Prompt, body: Mapping[str, Any]) -> list[tuple[str, str, int]]:
        """(text, finish, tokens) of every choice."""
        temperature = float(body.get("temperature", 1.0))
        most = int(body.get("max_completion_tokens") or body.get("max_tokens") or 256)
        shared: dict[str, Any] = {"max_tokens": most, "temperature": temperature}
        if temperature > 0:
            shared |= {"top_p": float(body.get("top_p", 1.0)), "seed": int(body.get("seed") or 0)}
        stops = body.get("stop") or []
        stops = [stops] if isinstance(stops, str) else stops
        answers = []
        for number in range(int(body.get("n", 1))):
            drawn = {**shared, "seed": shared["seed"] + number} if "seed" in shared else shared
            answer = await self._ask("generate", prompt, drawn)
            text, finish = answer.content["text"], answer.content["finish"]
            cut = min((at for stop in stops if (at := text.find(stop)) >= 0), default=None)
            answers.append((text[:cut], finish if cut is None else "stop", len(answer.content["tokens"])))
        return answers

    def _scored(self, prompt: str) -> dict[str, Any]:
        """The log-probability of every token of a text behind those before it, as `echo` returns it: one
        plain forward pass of transformers."""
        with self._loading:
            if self._plain is None:
                self._plain = AutoModelForCausalLM.from_pretrained(self._folder, dtype=torch.float32)
        tokenizer = read_tokenizer(self._folder)
        encoded = tokenizer(prompt, return_offsets_mapping=True, add_special_tokens=False)
        ids = torch.tensor([encoded["input_ids"]])
        with torch.inference_mode():
            rows = self._plain(ids).logits[0, :-1].log_softmax(-1)
        values = rows.gather(1, ids[0, 1:, None])[:, 0].tolist()
        offsets = [int(start) for start, _ in encoded["offset_mapping"]]
        pieces = [prompt[start:end] for start, end in zip(offsets, [*offsets[1:], None], strict=True)]
        return {
            "tokens": pieces,
            "token_logprobs": [None, *values],
            "text_offset": offsets,
            "top_logprobs": None,
        }

    async def _ask(self, kind: str, prompt: Prompt, parameters: dict[str, Any]) -> Answer:
        """Wait for others for a moment, and be answered with them."""
        shown = f"{kind}{prompt.id}{sorted(parameters.items())}"
        call = Call(sha256(shown.encode()).hexdigest(), kind, prompt, parameters)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, future))
        if self._turn is None or self._turn.done():
            self._turn = asyncio.create_task(self._answer())
        return await future

    async def _answer(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER)
            waiting, self._waiting = self._waiting, []
            calls = {call.id: call for call, _ in waiting}
            try:
                answers = await asyncio.to_thread(self._compute, list(calls.values()))
            except GridcError as error:
                long = error.diagnostics[0].code in ("GC505", "GC608")
                code = "context_length_exceeded" if long else None
                if len(calls) > 1:  # one of them is too long: each is asked alone
                    for call, future in waiting:
                        await self._alone(call, future)
                    continue
                waiting[0][1].set_exception(BadRequestError(error.diagnostics[0].message, code))
                continue
            for call, future in waiting:
                future.set_result(answers[call.id])

    async def _alone(self, call: Call, future: "asyncio.Future[Answer]") -> None:
        try:
            future.set_result((await asyncio.to_thread(self._compute, [call]))[call.id])
        except GridcError as error:
            future.set_exception(BadRequestError(error.diagnostics[0].message, "context_length_exceeded"))

    def _compute(self, calls: Sequence[Call]) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for batch in self._engine.batches(calls):
            answers, _ = self._engine.answer(batch, frozenset(batch.calls))
            found |= {answer.call: answer for answer in answers}
        return found

    def _count(self, messages: Sequence[tuple[str, str]], chat: bool) -> int:
        tokens = self._engine.prompts.tokenizer.encode([text for _, text in messages], special=False)
        return sum(len(ids) + 4 * chat for ids in tokens)

    def _document(
        self,
        kind: str,
        body: Mapping[str, Any],
        choices: list[dict[str, Any]],
        read: int,
        answers: Sequence[tuple[str, str, int]],
    ) -> dict[str, Any]:
        written = sum(tokens for _, _, tokens in answers)
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        return {
            "id": f"local-{self.requests}",
            "object": kind,
            "created": int(time.time()),
            "model": body.get("model", self.name),
            "system_fingerprint": f"gridc-{self.name}",
            "choices": choices,
            "usage": usage,
        }


def _document(asked: Asked) -> dict[str, Any]:
    """The body of a request. Raises `BadRequestError` for what this server does not honour."""
    try:
        body = asked.document
    except ValueError as error:
        raise BadRequestError(f"not JSON: {error}") from None
    unknown = sorted(body.keys() - _TAKEN)
    if unknown:
        raise BadRequestError(f"unknown parameters: {', '.join(unknown)}", "unknown_parameter")
    for key in ("presence_penalty", "frequency_penalty", "stream"):
        if body.get(key, _NEUTRAL[key]) != _NEUTRAL[key]:
            raise BadRequestError(f"{key} cannot be set here", "unsupported_parameter")
    if not body.get("model"):
        raise BadRequestError("no model is named", "model_not_found", 404)
    return body


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="pocket-qwen2", help="a built-in model, or the path of a folder")
    parser.add_argument("--port", type=int, default=8414)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    given = parser.parse_args()
    with Server(ModelServer(given.model, given.delay), given.port) as server:
        print(f"serving {given.model} at {server.url}", flush=True)
        server.wait()


if __name__ == "__main__":
    main()
