"""A judge behind the OpenAI protocol that follows a script: what it replies is a function of the prompt.

A sound judge looks for the right answer that the rubric names, or its letter, in the response; of one that is
to rate with a number, the number follows from the letter: A is the least one; of two it prefers the earlier
letter. With `shares`
it errs or misbehaves, each in a stated share of the responses, and says the same when asked again unless it
`relents`.
"""

import argparse
import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.servers.http import Asked, Reply, Server

PORT = 8415
LABELS = ("true", "untrue", "unclear")
MISDEEDS = (
    "prose", "fenced", "wrong_label", "no_label", "nothing", "refusal", "cut", "twice", "not_sure",
    "filtered", "other", "first_place", "thinks", "endless", "brackets", "verdict", "last_line", "429", "500",
)  # fmt: skip
"""Prose, a label that is none, no label, no word, a refusal, a reply that is cut off, a key that stands
twice, no confidence, what a filter withheld, another label than it would give, the first of two whatever
they say, and what a server can do;
`fenced` is sound, and so are replies that think aloud first, with another label in the thought (`endless`
never comes to its own), and labels in other forms."""

THOUGHT = '<think>\nAt first sight {"label": "untrue"}, or [[B]]. Verdict: B>A'
PREFERRED = {"A": "A>B", "B": "B>A", "tie": "A=B"}

_RESPONSE = re.compile(r"<response (\w+)>\n(.*)\n</response \1>", re.DOTALL)
_TWO = re.compile(
    r"<response A (\w+)>\n(.*)\n</response A \1>\n\n<response B \1>\n(.*)\n</response B \1>", re.DOTALL
)


@dataclass(slots=True)
class JudgeServer:
    """`seen` counts requests by misdeed, `prompts` are the first messages about responses.
    `turns` are misdeeds that prompts meet one after another, in place of shares."""

    shares: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    relents: bool = False
    turns: Sequence[str] = ()
    delay: float = 0.0
    seen: Counter[str] = field(default_factory=Counter)
    prompts: list[str] = field(default_factory=list)
    _turn: dict[str, int] = field(default_factory=dict)

    async def __call__(self, asked: Asked) -> Reply:
        body = asked.document
        messages = body["messages"]
        prompt = messages[0]["content"]
        again = len(messages) > 1
        if not (
            _RESPONSE.search(prompt) or _TWO.search(prompt)
        ):  # what an engine asks to learn what is served
            return Reply.json(completion(body, "yes", "stop"))
        self.prompts.append(prompt)
        await asyncio.sleep(self.delay)
        misdeed = "none" if again and self.relents else self._misdeed(prompt)
        self.seen[misdeed] += 1
        if misdeed in ("429", "500"):
            status, headers = int(misdeed), {"retry-after": "0.01"}
            return Reply.json({"error": {"message": "not now"}}, status, **headers)
        return Reply.json(completion(body, *self._say(prompt, misdeed)))

    def _misdeed(self, prompt: str) -> str:
        if self.turns:
            known = self._turn.setdefault(prompt, len(self._turn))
            return self.turns[known % len(self.turns)]
        draw = random.Random(f"{self.seed} {prompt}").random()
        for name, share in self.shares.items():
            draw -= share
            if draw < 0:
                return name
        return "none"

    def _say(self, prompt: str, misdeed: str) -> tuple[str, str]:
        label, sure = guess(prompt) or rating(prompt) or better(prompt) or verdict(prompt), 4
        if misdeed == "first_place" and _TWO.search(prompt):
            label = "A"
        sound = json.dumps({"label": label, "confidence": sure, "reason": "by the script"})
        return {
            "prose": (f"I would say that this is {label}.", "stop"),
            "fenced": (f"```json\n{sound}\n```", "stop"),
            "wrong_label": (json.dumps({"label": "excellent", "confidence": 5}), "stop"),
            "no_label": (json.dumps({"verdict": label, "confidence": 5}), "stop"),
            "nothing": ("", "stop"),
            "filtered": (sound, "content_filter"),
            "refusal": ("I'm sorry, but I cannot assess this.", "stop"),
            "cut": (sound[: len(sound) // 2], "length"),
            "twice": (f'{{"label": "{LABELS[0]}", "label": "{LABELS[1]}", "confidence": 3}}', "stop"),
            "thinks": (f"{THOUGHT}</think>\n\n{sound}", "stop"),
            "endless": (THOUGHT, "length"),
            "brackets": (f"{THOUGHT}</think>\nI weighed both.\n\nRating: [[{label}]]", "stop"),
            "verdict": (f"I weighed both.\n\nVerdict: {PREFERRED.get(str(label), label)}", "stop"),
            "last_line": (f"I weighed both: it is no easy case.\n\n**{label}**", "stop"),
            "not_sure": (json.dumps({"label": label, "confidence": "very"}), "stop"),
            "other": (
                json.dumps({"label": LABELS[(LABELS.index(verdict(prompt)) + 1) % 3], "confidence": 2}),
                "stop",
            ),
        }.get(misdeed, (sound, "stop"))


def verdict(prompt: str) -> str:
    """What the script makes of a response: whether it gives the answer that the rubric calls right."""
    found, right = _RESPONSE.search(prompt), re.search(r"^Right: (.+)$", prompt, re.MULTILINE)
    response = found[2].strip() if found else ""
    named = re.search(rf"^([A-Z])\. {re.escape(right[1])}$", prompt, re.MULTILINE) if right else None
    letter = re.findall(r"\b[A-Z]\b", response)
    if right is not None and right[1].lower() in response.lower():
        return "true"
    if not letter:
        return "unclear"
    return "true" if named is not None and letter[-1] == named[1] else "untrue"


def better(prompt: str) -> str | None:
    """Where the script compares two responses: the one whose letter comes first in the alphabet, a tie where
    both have the same or none."""
    found = _TWO.search(prompt)
    if found is None:
        return None
    first, second = ((re.findall(r"\b[A-Z]\b", text) or ["~"])[-1] for text in (found[2], found[3]))
    return "tie" if first == second else "A" if first < second else "B"


def rating(prompt: str) -> int | None:
    """Where the script is asked for a number: as far up as the letter of the response is in the alphabet."""
    scale = re.search(r'(?:"label":|is) a whole number from (\d+) to (\d+)', prompt)
    if scale is None:
        return None
    found = _RESPONSE.search(prompt)
    letter = re.findall(r"\b[A-Z]\b", found[2] if found else "")
    least, most = (int(number) for number in scale.groups())
    return min(least + ord(letter[-1]) - ord("A"), most) if letter else least


def guess(prompt: str) -> str | None:
    """Where the script is asked to guess a configuration: the one whose name the response shows, else any."""
    if "Guess which configuration" not in prompt:
        return None
    known: list[str] = re.findall(
        r'"([^"]+)"', prompt[prompt.index('{"label": one of ') : prompt.index(', "reason"')]
    )[1:]
    found = _RESPONSE.search(prompt)
    shown = [each for each in known if found is not None and each in found[2]]
    return shown[0] if shown else random.Random(prompt).choice(known)


def completion(body: Mapping[str, Any], text: str, finish: str) -> dict[str, Any]:
    """A response of /chat/completions."""
    read = sum(len(message["content"]) for message in body["messages"]) // 4
    written = min(len(text) // 4 + 1, body.get("max_tokens") or len(text))
    return {
        "object": "chat.completion",
        "model": body.get("model"),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted judge, or with --shares one that misbehaves.")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that a reply takes")
    parser.add_argument("--shares", type=json.loads, default={}, help='such as {"prose": 0.1}')
    given = parser.parse_args()
    with Server(JudgeServer(given.shares, delay=given.delay), given.port) as server:
        print(server.url, flush=True)
        server.wait()


if __name__ == "__main__":
    main()
