"""Token sequences as a trie: what they share, how many distinct prefixes they have, where to cut it.

The measure of the engine is machine-independent: the forward tokens that it executes over the least
that any engine needs, which is the number of nodes in the trie of all sequences that must be computed.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Tokens = tuple[int, ...]


def shared(left: Tokens, right: Tokens) -> int:
    """The length of the longest common prefix of two sequences."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return bisect_left(range(1, most + 1), True, key=lambda length: left[:length] != right[:length])


def common_prefix(sequences: Iterable[Tokens]) -> int:
    """The length of the longest common prefix of all sequences."""
    found = list(sequences)
    return shared(min(found), max(found))


def size(sequences: Iterable[Tokens]) -> int:
    """The number of nodes in the trie of the sequences: their distinct non-empty prefixes."""
    nodes = 0
    last: Tokens = ()
    for each in sorted(set(sequences)):
        nodes += len(each) - shared(last, each)
        last = each
    return nodes


def least_tokens(paths: dict[Tokens, set[Tokens]]) -> int:
    """The trie minimum: the fewest forward tokens that answer everything, generated tokens included.

    `paths` has for each prompt the continuations that must be computed after it. The last token of an
    answer of full length and of a candidate is chosen or scored, but nothing is computed after it, so a
    continuation ends before it.
    """
    prompts = sorted(paths)
    nodes = size(prompts)
    for place, prompt in enumerate(prompts):
        # Where a prompt is the beginning of longer ones, an answer to it may run along them.
        along: set[Tokens] = set()
        for longer in prompts[place + 1 :]:
            if longer[: len(prompt)] != prompt:
                break
            rest = longer[len(prompt) :]
            along |= {rest, *(rest + each for each in paths[longer])}
        nodes += size(paths[prompt] | along) - size(along)
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
    heads = [each[:-1] for each in sequences]
    steps = [0, *(shared(left, right) for left, right in pairwise(heads))]
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
