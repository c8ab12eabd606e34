"""Digests of what is asked: a question has the same digest wherever it is asked, in any package and any
framing.

A question is its text (with the context it is about), its choices in any order, and the texts that answer it.
Each is taken as Unicode NFC with plain line ends, without white space around it, and nothing else is made
equal. Prompts, templates, ids and the order of choices are framings of a question and no part of it.

Within a study the rule is wider, because a copy is no new evidence however it is spelled: `asked` makes equal
what differs in case, spacing, closing punctuation, and in the order and the labels of options.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gridc.compiler.instrument.item import LETTERS, Item
from gridc.compiler.instrument.options import carried_labels

DIGEST_BYTES = 16
"""Of SHA-256, by which contents, questions and prompts are matched."""
CONTEXTS = ("context", "passage", "article", "premise", "support", "story", "ctx")
ASKING = ("question", "query", "problem", "input", "goal", "instruction", "hypothesis", "sentence")
CHOICES = ("choices", "options", "endings", "mc1_targets")
LISTED = ("text", "choices")
"""Where a table of choices has their texts."""
TARGETS = ("target", "answer", "label", "gold", "answerKey", "answer_key", "expected")


_SPACE = re.compile(r"\s+")
_CLOSING = re.compile(
    r"[\s.?:;,\u2026\u3002\uff1f]+$|(?:(?<=[^\W\d_]{2})|(?<=[.?]))!+$"  # but 3! and n! are numbers
)
_LABELLED = re.compile(r"\s*\(?(?:[A-Za-z]|\d{1,2}|[ivxIVX]{1,5})[.):]\)?\s+\S")


def plain_question(text: str) -> str:
    """A text whatever its case, its spacing and the punctuation that closes it."""
    folded = _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()
    while (shorter := _CLOSING.sub("", folded)) != folded:
        folded = shorter
    return folded or text


_WORDS = re.compile(r"\w{2,}")


def words_of(item: Item) -> frozenset[str]:
    """The words of what an item asks, whatever their order: equal for all items that ask the same."""
    text = f"{item.context} {item.query}" if item.stem else " ".join(item.options)
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return frozenset(_WORDS.findall(folded.casefold()))


def question_text(item: Item, columns: Collection[str] | None = None) -> str:
    """All that an item puts into a prompt, equal for two items that ask the same. Of its further columns only
    these can reach a prompt (None: any)."""
    lines = item.query.splitlines()
    # Of a query that holds its options, in lines with labels, these too may stand in any order.
    listed = [line for line in lines if _LABELLED.match(line)]
    within = listed if len(listed) > 1 else []
    extra = {
        name: plain_question(value) if isinstance(value, str) else value
        for name, value in item.extra.items()
        if columns is None or name in columns
    }
    return json.dumps(
        [
            [(role, plain_question(text)) for role, text in item.messages],
            plain_question(item.context),
            plain_question("\n".join(line for line in lines if line not in within)),
            sorted(_without_labels(within)),
            [plain_question(turn) for turn in item.turns],
            plain_question(item.open or ""),
            sorted(_without_labels(item.options)),
            [dict(tool) for tool in (*item.tools, *item.functions)],
            extra,
        ],
        sort_keys=True,
    )


def _without_labels(options: Sequence[str]) -> list[str]:
    carried = carried_labels(tuple(options))
    return [plain_question(option) for option in (options if carried is None else carried.texts)]


class QuestionDigests(NamedTuple):
    """Of the text, the choices and the target; None for what is not known."""

    text: bytes | None = None
    choices: bytes | None = None
    target: bytes | None = None


PARTS = QuestionDigests._fields
NOTHING = QuestionDigests()


def text_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


class Question(NamedTuple):
    """What is asked, the parts one after the other; the choices; and every text that is right."""

    text: str = ""
    choices: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def digests(self) -> QuestionDigests:
        text = text_digest(self.text) if self.text else None
        return QuestionDigests(text, _joint_digest(self.choices), _joint_digest(self.target))


def question(texts: Iterable[str], choices: Iterable[str] = (), target: Iterable[str] = ()) -> Question:
    """Of texts, the parts of what is asked."""
    return Question(
        "\n".join(text for text in map(_normalised, texts) if text), tuple(choices), tuple(target)
    )


def _joint_digest(texts: Iterable[str]) -> bytes | None:
    several = sorted({_normalised(text) for text in texts})
    return text_digest("\0".join(several)) if any(several) else None


def _normalised(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def of_item(item: Item) -> QuestionDigests:
    """A question of a study. Of a pair of sentences nothing is asked."""
    gold = () if item.gold is None else (item.gold, *item.golds)
    right = tuple(item.options[place] for place in gold) or item.references
    return question((item.context, item.query), item.options, right).digests()


def of_document(document: Any, target: Any = None, candidates: Sequence[str] = ()) -> Question:
    """A question of a data set's own row, by the names that its fields commonly have; `target` is what the
    log itself calls right, and `candidates` are the answers that it compared, which are the choices where the
    row lists none."""
    if not isinstance(document, Mapping):
        return question((document,)) if isinstance(document, str) else Question()
    asked = next((document[name] for name in ASKING if isinstance(document.get(name), str)), None)
    if asked is None:
        return Question()
    context = next((document[name] for name in CONTEXTS if isinstance(document.get(name), str)), "")
    choices, marked = _choices(document)
    choices = choices or tuple(candidates)
    stated = [target, *(document.get(name) for name in TARGETS)]
    right = marked or next((texts for one in stated if (texts := right_texts(one, choices))), ())
    return question((context, asked), choices, right)


def right_texts(stated: Any, choices: Sequence[str]) -> tuple[str, ...]:
    """What a target says in words: one of the choices by its text, its letter or its number from 0; without
    choices the text itself, or several."""
    if isinstance(stated, list | tuple):
        several = [right_texts(one, choices) for one in stated]
        return tuple(text for texts in several for text in texts) if all(several) else ()
    if stated is None or isinstance(stated, bool | Mapping):
        return ()
    text = _normalised(str(stated))
    if not choices:
        return (text,) if text else ()
    plain = [_normalised(choice) for choice in choices]
    if text in plain:
        return (text,)
    place = int(text) if text.isdecimal() else LETTERS.find(text) if len(text) == 1 else -1
    return (plain[place],) if 0 <= place < len(plain) else ()


def _choices(document: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The choices of a row; and of these the right ones where the row marks each."""
    listed = next((document[name] for name in CHOICES if name in document), None)
    marks: Sequence[Any] = ()
    if isinstance(listed, Mapping):
        texts = next((listed[name] for name in LISTED if isinstance(listed.get(name), list)), None)
        marks = list(listed.values()) if texts is None else listed.get("labels", ())
        listed = list(listed) if texts is None else texts
    if listed is None:
        listed = [document[name] for name in (f"ans{number}" for number in range(26)) if name in document]
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        return (), ()
    right = (text for text, mark in zip(listed, marks, strict=False) if mark == 1)
    return tuple(listed), tuple(right) if len(marks) == len(listed) else ()


@dataclass(frozen=True, slots=True)
class MatchedQuestions:
    """Which items of several lists ask the same. `keys` are by list: equal for items that match, None for one
    that cannot. `parts` are what was compared; `ambiguous` counts the items that another one of their own
    list equals in all parts, so that neither stands for itself."""

    keys: tuple[tuple[bytes | None, ...], ...]
    parts: tuple[str, ...]
    ambiguous: tuple[int, ...]


def matched(lists: Sequence[Sequence[QuestionDigests]]) -> MatchedQuestions:
    """By all parts that every item with a text has. What one list does not know of its items is compared in
    none, and two questions of one list that are equal then are not matched."""
    known = [item for items in lists for item in items if item.text is not None]
    parts = tuple(
        name for number, name in enumerate(PARTS) if all(item[number] is not None for item in known)
    )
    places = [PARTS.index(name) for name in parts]
    keys, ambiguous = [], []
    for items in lists:
        found = [
            None if item.text is None else b"".join(item[place] or b"" for place in places) for item in items
        ]
        counts = Counter(found)
        keys.append(tuple(None if key is None or counts[key] > 1 else key for key in found))
        ambiguous.append(sum(key is not None and counts[key] > 1 for key in found))
    return MatchedQuestions(tuple(keys), parts if known else (), tuple(ambiguous))


def matching_words(names: Sequence[str], found: MatchedQuestions, count: int, alone: Sequence[int]) -> str:
    """How the items of these were matched: how many, by what, and how many have no match."""
    if not found.parts:
        return f"{' and '.join(names)}: no item matches, because the items do not say what is asked"
    rest = " and ".join(f"{number:,} of {name}" for name, number in zip(names, alone, strict=True))
    text = f"{count:,} items match by {', '.join(found.parts)}; {rest} have no match"
    twice = [f"{number:,} of {name}" for name, number in zip(names, found.ambiguous, strict=True) if number]
    if twice:
        text += f" ({' and '.join(twice)} because their own log asks the same more than once)"
    return text
