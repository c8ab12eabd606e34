"""Groups prompts into requests: of a short answer, what vLLM does for each request takes as long as the
computing.

Prompts that wait at the same moment and are asked alike, such as the candidates of a ranking, go in one
request. It is answered when the last of them is, so that others have to wait at the server meanwhile.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gridc.runtime.engines.api.routes import DirectRoute
from gridc.runtime.engines.api.wire import RequestError

MOST_PROMPTS, MOST_READ, MOST_WRITTEN = 8, 16_384, 256
"""Prompts of a request, their tokens, and the tokens that may be written behind them. What writes many tokens
gains nothing and would wait for the longest; what is said of the tokens of a prompt must fit into a response
(`client.MOST_BODY`)."""

IN_QUEUE = 4
"""How many times more prompts are open than the server computes at once: with fewer it has nothing to do
where answers differ in length."""


class _Group:
    """Prompts that are asked alike, which may still be joined."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self.asked, self.prompts, self.read = asked, list[Sequence[int]](), 0
        self.waiting = 0
        self.answers: asyncio.Task[Sequence[dict[str, Any] | BaseException]]

    def has_room(self, prompt: Sequence[int]) -> bool:
        number = len(self.prompts) + 1
        return (
            number <= MOST_PROMPTS
            and self.read + len(prompt) <= MOST_READ
            and number * int(self.asked.get("max_tokens", MOST_WRITTEN)) <= MOST_WRITTEN
        )

    def join(self, prompt: Sequence[int]) -> int:
        """Take a prompt in. Returns its place."""
        self.prompts.append(prompt)
        self.read += len(prompt)
        self.waiting += 1
        return len(self.prompts) - 1


class GroupingRoute(DirectRoute):
    """A vLLM server that takes several prompts of tokens in one request."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._groups = True
        self._joinable: dict[str, _Group] = {}

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        if not self._groups:
            return await super().complete(body)
        group = self._group(body)
        place = group.join(body["prompt"])
        try:
            answer = (await asyncio.shield(group.answers))[place]
        except asyncio.CancelledError:
            group.waiting -= 1
            if not group.waiting:
                group.answers.cancel()
            raise
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _group(self, body: Mapping[str, Any]) -> _Group:
        """The group that a prompt may join: one that is asked alike, has room, and is not sent yet."""
        asked = {name: value for name, value in body.items() if name != "prompt"}
        alike = json.dumps(asked)
        group = self._joinable.get(alike)
        if group is None or not group.has_room(body["prompt"]):
            group = self._joinable[alike] = _Group(asked)
            group.answers = asyncio.ensure_future(self._send(alike, group))
        return group

    async def _send(self, alike: str, group: _Group) -> Sequence[dict[str, Any] | BaseException]:
        """Ask a group, which nobody can join any more: all who could have run before this does."""
        if self._joinable.get(alike) is group:
            del self._joinable[alike]
        alone = [{**group.asked, "prompt": prompt} for prompt in group.prompts]
        if len(alone) == 1:
            return [await super().complete(alone[0])]
        try:
            together = {**group.asked, "prompt": group.prompts, "return_token_ids": True}
            return split_response(await super().complete(together), group.prompts)
        except RequestError as error:
            if error.rule.then in ("again", "later", "stop"):
                self._groups = False  # one prompt may be to blame, with which no other is to fail again
                raise
            asked = (super(GroupingRoute, self).complete(body) for body in alone)
            answers: Sequence[dict[str, Any] | BaseException] = await asyncio.gather(
                *asked, return_exceptions=True
            )
            return answers


def split_response(document: Mapping[str, Any], prompts: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """A response to several prompts as one to each. Raises `RequestError` (unreadable) where it has not one
    answer to each of them."""
    try:
        choices = {choice["index"]: choice for choice in document["choices"]}
        if len(document["choices"]) != len(prompts) or [*sorted(choices)] != [*range(len(prompts))]:
            raise LookupError
        return [_alone(document, choices[place], prompt) for place, prompt in enumerate(prompts)]
    except (LookupError, TypeError):
        problem = f"the response has not one answer to each of {len(prompts)} prompts"
        raise RequestError("unreadable", problem, 200) from None


def _alone(document: Mapping[str, Any], choice: Mapping[str, Any], prompt: Sequence[int]) -> dict[str, Any]:
    """What a response says of one of its prompts. Raises `LookupError` or `TypeError` where it does not."""
    if choice["prompt_token_ids"] != prompt:
        raise LookupError
    read, written = len(prompt), len(choice["token_ids"])
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {**document, "choices": [choice], "usage": usage}
