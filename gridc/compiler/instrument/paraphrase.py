"""An option said in other words: "her teacher" as "the teacher", "Wait for the ferry" as "I'd wait".

An option is told from the others by the words that it alone has. A clause says it where it has at least half
of these, none of another option's, and little else.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from gridc.compiler.instrument.plain_text import fold

_WORD = re.compile(r"\w++(?:'\w++)*")
_LITTLE = frozenset(
    word
    for words in (
        "thing a an the this that these those it its is are was were be been being to of in on at by for",
        "from with and as so i i'd i'll i'm me my we we'd our us you your he she him her his they",
        "them their one would will should must do does did have has had there then now here just",
        "probably likely perhaps clearly simply still therefore thus hence overall option answer",
        "choice best right correct most better what means between two both all really honestly say",
        "think guess suppose suspect believe lean toward towards go pick choose select ich es ist der",
        "die das ein eine zu würde je le la les un une est c'est que el los las una eu yo o os ao al",
        "um uma é di il lo che è",
    )
    for word in words.split()
)
_DENIES = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nobody|without|hardly|against|instead|or|other|nicht|kein\w*|pas|non|não|"
    r"ni|oder|ou)\b|n't\b",
    re.IGNORECASE,
)
_SPEAKS_OF = re.compile(r"\b(?:about|consider\w*|ask\w*|need\w*|know\w*|depend\w*)\b", re.IGNORECASE)
_PLACES = {"first": "1", "second": "2", "third": "3", "fourth": "4", "fifth": "5"}
_ENDINGS = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e|aria|aría|ar|er|ir|en)\Z")


def _stems(text: str) -> list[str]:
    """The words that say something, without their endings."""
    words = (word.lower() for word in _WORD.findall(text))
    return [_ENDINGS.sub("", _PLACES.get(word, word)) for word in words if word not in _LITTLE]


@lru_cache(maxsize=4096)
def _own(options: tuple[str, ...]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Of each option all words, and those of no other option; none of an option that denies something."""
    every = [frozenset(_stems(fold(option))) for option in options]
    return tuple(
        (
            words,
            frozenset()
            if _DENIES.search(fold(options[place]))
            else words.difference(*(other for number, other in enumerate(every) if number != place)),
        )
        for place, words in enumerate(every)
    )


def said(clause: str, options: Sequence[str]) -> int | None:
    """The option that a clause of a folded response says in other words, or None."""
    stems = _stems(clause[:_LONGEST])
    if not stems or len(clause) > _LONGEST or _DENIES.search(clause) or _SPEAKS_OF.search(clause):
        return None
    owned = _own(tuple(options))
    hit = [place for place, (_, own) in enumerate(owned) if own & set(stems)]
    if len(hit) != 1:
        return None
    words, own = owned[hit[0]]
    known = sum(stem in words for stem in stems)
    return hit[0] if 2 * len(own & set(stems)) >= len(own) and 2 * known > len(stems) else None


_LONGEST = 120
"""Characters of a clause that only says an option."""
