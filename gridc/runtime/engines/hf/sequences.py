"""Finds what token sequences share, so that the local engine computes each shared prefix once.

A member of a forest is one path that a call needs: a greedy or sampled generation is a member that chooses
its tokens; a candidate of a ranking is a member whose tokens are given. Members that stand on the same prompt
and have the same tokens so far are on the same row of the forest, whatever call they belong to.

A trie of sequences says what they share, how many distinct prefixes they have, and where to cut. Its number
of nodes is the least number of forward tokens that any engine needs. The measure of the engine, the forward
tokens that it executes over that number, does not depend on the machine.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Any

from gridc.runtime.engines.protocol import NEAR_TIE, Answer, Call

ROOM = 16
"""How many tokens the room for a path grows by at a time."""


@dataclass(slots=True, eq=False)
class Member:
    """One path. `given` are the tokens of a candidate, else None; `limit` is the most it may take, and
    `dropped` how many exemplars its prompt left out for lack of room. If it is `continued`, later calls
    may begin with its tokens. `near_ties` counts its choices that depended on less than `NEAR_TIE`,
    `clear_ties` those on less than half of that, `possible_ties` those on less than twice as much. A sampled
    member draws with `numbers`. An answer ends with a string of `stops`: `stopped` says which of many members
    have come to one. Both are set where the member
    is answered. The text of its first `read` tokens is known, and ends with `tail`, special tokens left out
    and kept."""

    call: str
    prompt: tuple[int, ...]
    limit: int
    given: tuple[int, ...] | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    numbers: Sequence[float] = ()
    tokens: list[int] = field(default_factory=list)
    loglikelihood: float = 0.0
    most_likely: bool = True
    near_ties: int = 0
    clear_ties: int = 0
    possible_ties: int = 0
    finish: str | None = None
    end: int | None = None
    dropped: int = 0
    continued: bool = False
    stops: tuple[str, ...] = ()
    stopped: "Callable[[Sequence[Member]], list[bool]] | None" = None
    read: int = 0
    tail: tuple[str, str] = ("", "")

    def note(self, margin: float) -> None:
        """Count a choice that depended on a difference of `margin`, if that is close to a tie."""
        if margin < 2 * NEAR_TIE:
            self.possible_ties += 1
            self.near_ties += margin < NEAR_TIE
            self.clear_ties += margin < NEAR_TIE / 2

    @property
    def room(self) -> int:
        """Positions that are kept for its tokens. Nothing is computed after the last one, and room is
        made for several at a time."""
        return -(-(self.limit - 1) // ROOM) * ROOM

    def take(self, token: int, ends: frozenset[int]) -> None:
        """Go on by one token. A token that ends the turn is not part of the answer."""
        if self.given is None and token in ends:
            self.finish, self.end = "stop", token
            return
        self.tokens.append(token)
        if len(self.tokens) == self.limit:
            self.finish = "length"


def by_prompt(members: Iterable[Member]) -> dict[tuple[int, ...], list[Member]]:
    """Members grouped by their prompt, prompts sorted."""
    standing: dict[tuple[int, ...], list[Member]] = {}
    for member in members:
        standing.setdefault(member.prompt, []).append(member)
    return dict(sorted(standing.items()))


@dataclass(frozen=True, slots=True)
class Unit:
    """The members of all calls that stand on one prompt (token by token)."""

    calls: tuple[str, ...]
    members: tuple[Member, ...]

    @classmethod
    def of(cls, members: Sequence[Member]) -> "Unit":
        return cls(tuple(dict.fromkeys(member.call for member in members)), tuple(members))

    @property
    def prompt(self) -> tuple[int, ...]:
        return self.members[0].prompt

    @property
    def positions(self) -> int:
        """Positions that are kept for it at most: its prompt once, every member's path once."""
        return len(self.prompt) + sum(member.room for member in self.members)


def generation(
    call: Call,
    prompt: tuple[int, ...],
    dropped: int = 0,
) -> Member:
    """The member of a generation."""
    parameters, stops = call.parameters, tuple(call.parameters.get("stop", ()))
    limit, temperature = parameters["max_tokens"], parameters["temperature"]
    how: dict[str, Any] = {"dropped": dropped, "continued": call.continued, "stops": stops}
    if temperature == 0:
        return Member(call.id, prompt, limit, **how)
    return Member(call.id, prompt, limit, temperature=temperature, top_p=parameters["top_p"], **how)


def candidate(call: Call, prompt: tuple[int, ...], given: tuple[int, ...], dropped: int = 0) -> Member:
    """The member of one candidate of a ranking."""
    return Member(call.id, prompt, len(given), given=given, dropped=dropped)


def answer_of_members(members: Sequence[Member], text: str, prompt_digest: str, seconds: float) -> Answer:
    """The answer of one call from its members, in the order of its candidates."""
    first = members[0]
    completion = sum(len(member.tokens) for member in members)
    usage = {"prompt_tokens": len(first.prompt), "completion_tokens": completion}
    content: dict[str, Any]
    if first.given is None:
        content = {
            "text": text,
            "tokens": first.tokens,
            "finish": first.finish,
            "end": first.end,
            "near_ties": first.near_ties,
        }
    else:
        content = {
            "loglikelihoods": [
                member.loglikelihood if isfinite(member.loglikelihood) else None for member in members
            ],
            "tokens": [len(member.tokens) for member in members],
            "greedy": [member.most_likely for member in members],
        }
    sent: dict[str, Any] = {"prompt_tokens": len(first.prompt), "prompt_token_digest": prompt_digest}
    if first.dropped:
        sent["exemplars_dropped"] = first.dropped
    ties = sum(member.clear_ties for member in members), sum(member.possible_ties for member in members)
    return Answer(first.call, content, sent, usage, seconds, ties)


Tokens = tuple[int, ...]


def shared_length(left: Tokens, right: Tokens) -> int:
    """The length of the longest common prefix of two sequences."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return bisect_left(range(1, most + 1), True, key=lambda length: left[:length] != right[:length])


def common_prefix(sequences: Iterable[Tokens]) -> int:
    """The length of the longest common prefix of all sequences."""
    found = list(sequences)
    # In sorted order every other sequence lies between these two, so it has what they share.
    return shared_length(min(found), max(found))


def trie_size(sequences: Iterable[Tokens]) -> int:
    """The number of nodes in the trie of the sequences: their distinct non-empty prefixes."""
    nodes = 0
    last: Tokens = ()
    for each in sorted(set(sequences)):
        nodes += len(each) - shared_length(last, each)
        last = each
    return nodes


def least_tokens(paths: dict[Tokens, set[Tokens]]) -> int:
    """The trie minimum: the fewest forward tokens that answer everything, generated tokens included.

    `paths` has for each prompt the continuations that must be computed after it. The last token of an
    answer of full length and of a candidate is chosen or scored, but nothing is computed after it, so a
    continuation ends before it.
    """
    prompts = sorted(paths)
    nodes = trie_size(prompts)
    for place, prompt in enumerate(prompts):
        # Where a prompt is the beginning of longer ones, an answer to it may run along them.
        along: set[Tokens] = set()
        for longer in prompts[place + 1 :]:
            if longer[: len(prompt)] != prompt:
                break
            rest = longer[len(prompt) :]
            along |= {rest, *(rest + each for each in paths[longer])}
        nodes += trie_size(paths[prompt] | along) - trie_size(along)
    return nodes


@dataclass(slots=True)
class SharedPrefix:
    """A prefix that is worth computing by itself, and which of the sequences stand directly on it.

    `cuts` are the lengths of the trunks below it and its own: each stretch between two cuts is computed
    in one go, whatever was computed before, so that a result does not depend on where a run began.
    """

    cuts: tuple[int, ...]
    members: list[int]

    @property
    def length(self) -> int:
        return self.cuts[-1] if self.cuts else 0


def trunks(sequences: Sequence[Tokens], worth: int) -> list[SharedPrefix]:
    """Divide sorted sequences among trunks, each trunk before those that grow out of it.

    A prefix becomes a trunk when sharing it saves at least `worth` tokens over what the trunk below it
    saves already. A trunk is shorter than each of its sequences.
    """
    # The last token stays out, so that something is left to compute for each sequence behind its trunk.
    heads = [each[:-1] for each in sequences]
    steps = [0, *(shared_length(left, right) for left, right in pairwise(heads))]
    shared_prefixes = [SharedPrefix((), [])]
    # A range of sequences and the trunk that it stands on. The last one is taken first, so ranges go on
    # in reverse.
    todo = [(0, len(heads), shared_prefixes[0])]
    while todo:
        low, high, trunk = todo.pop()
        if high - low == 1:
            trunk.members.append(low)
            continue
        depth = min(steps[low + 1 : high])
        if (depth - trunk.length) * (high - low - 1) >= worth:
            trunk = SharedPrefix((*trunk.cuts, depth), [])
            shared_prefixes.append(trunk)
        edges = [low, *(at for at in range(low + 1, high) if steps[at] == depth), high]
        parts = list(pairwise(edges))
        todo += [(start, end, trunk) for start, end in reversed(parts)]
    return [trunk for trunk in shared_prefixes if trunk.members]
