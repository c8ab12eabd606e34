"""The OpenAI protocol with everything that goes wrong on a network, each at a stated share of the requests.

What happens to a request follows from its text, the seed and how often that text was asked before, so a run
meets the same faults again. The answer to a text never changes: it is a function of the text alone.
"""

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tools.servers.http import Asked, Reply, Server

FAULTS = (
    "429", "500", "slow", "cut", "malformed", "empty", "other_model", "wrong_usage", "redirect", "huge",
    "not_json", "no_choices",
)  # fmt: skip
ELSEWHERE = "http://127.0.0.2:9/v1/chat/completions"
"""Where a redirect points: another host, which must never be asked."""


@dataclass(slots=True)
class FaultServer:
    """`shares` gives the probability of each fault, `delay` the seconds that a sound answer takes.
    `answered` counts the sound answers that were sent, by text; `seen` every request by its text; `most` is
    the most requests that were open at once; `keys` are the Authorization headers that arrived. Of `rounds`
    each holds all answers back until so many requests are open."""

    shares: Mapping[str, float] = field(default_factory=dict)
    delay: float = 0.02
    seed: int = 0
    retry_after: str = "0.05"
    slow: float = 5.0
    huge: int = 64 * 2**20
    answered: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    keys: Counter[str] = field(default_factory=Counter)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    open: int = 0
    most: int = 0
    _round: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, asked: Asked) -> Reply:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            return await self._reply(asked)
        finally:
            self.open -= 1

    async def _all_open(self) -> None:
        if not self.rounds:
            return
        if self.open < self.rounds[0]:
            await self._round.wait()
            return
        del self.rounds[0]
        self._round.set()
        self._round = asyncio.Event()

    async def _reply(self, asked: Asked) -> Reply:
        if asked.path != "/v1/chat/completions":
            return Reply.json({"error": {"message": f"no such path: {asked.path}"}}, 404)
        self.keys[asked.headers.get("authorization", "")] += 1
        body = asked.document
        self.bodies.append(body)
        text = json.dumps([body.get("messages"), body.get("seed")])
        fault = self._fault(text)
        self.seen[text] += 1
        self.met[fault] += 1
        await self._all_open()
        await asyncio.sleep(self.delay)
        sound = answer_to(body)
        match fault:
            case "429":
                return Reply.json({"error": {"message": "slow down", "code": "rate_limit"}}, 429,
                                  **{"retry-after": self.retry_after})  # fmt: skip
            case "500":
                return Reply.json({"error": {"message": "something broke"}}, 500)
            case "slow":
                return Reply(200, json.dumps(sound).encode(), drip=self.slow / 8)
            case "cut":
                return Reply(200, json.dumps(sound).encode(), cut=40)
            case "malformed":
                return Reply(200, json.dumps(sound).encode()[:-20])
            case "not_json":
                return Reply(200, b"<html>all is well</html>", {"content-type": "text/html"})
            case "no_choices":
                return Reply.json({**sound, "choices": []})
            case "redirect":
                return Reply(307, b"", {"location": ELSEWHERE})
            case "huge":
                return Reply(200, json.dumps({**sound, "padding": "x" * self.huge}).encode())
            case "empty":
                sound["choices"][0]["message"]["content"] = ""
            case "other_model":
                sound["model"] = "somebody-else"
            case "wrong_usage":
                sound["usage"] = {"prompt_tokens": -3, "completion_tokens": "many", "total_tokens": 10**9}
        self.answered[text] += 1
        return Reply.json(sound)

    def _fault(self, text: str) -> str:
        draw = random.Random(f"{self.seed} {self.seen[text]} {text}").random()
        for name, share in self.shares.items():
            draw -= share
            if draw < 0:
                return name
        return "none"


def answer_to(body: Mapping[str, Any]) -> dict[str, Any]:
    """The sound answer to a request: a letter that follows from its text."""
    text = json.dumps([body.get("messages"), body.get("seed")])
    letter = "ABC"[sha256(text.encode()).digest()[0] % 3]
    usage = {"prompt_tokens": len(text) // 4, "completion_tokens": min(5, body.get("max_tokens") or 5)}
    return {
        "id": sha256(text.encode()).hexdigest()[:12],
        "object": "chat.completion",
        "model": body.get("model"),
        "system_fingerprint": "fault-server",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": f"The answer is {letter}."},
                "finish_reason": "stop",
            }
        ],
        "usage": {**usage, "total_tokens": sum(usage.values())},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="A sound server, or with --shares one that fails.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds that an answer takes")
    parser.add_argument("--shares", type=json.loads, default={}, help='such as {"500": 0.1}')
    given = parser.parse_args()
    with Server(FaultServer(given.shares, given.delay), given.port) as server:
        print(server.url, flush=True)
        server.wait()


if __name__ == "__main__":
    main()
