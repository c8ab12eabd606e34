"""The item: one entry of a benchmark, as every later stage sees it.

One type serves every kind. What an item has says what can be asked of it:

| kind | has |
|---|---|
| multiple choice, yes/no classification | `options`, `gold` |
| BBQ | `options`, `gold`, `unknown`, `matching` (the stereotyped answer) |
| opinion (sycophancy, persona) | `options`, `matching` (the answer that shows the behaviour); no `gold` |
| sentence pair (CrowS-Pairs) | `options` (the two sentences), `matching`; no text to ask |
| prompt to comply with or to refuse | `expected`; no `options` |
| open-ended question | `references`; no `options` |

Whatever its kind, `messages` may stand before its query, `turns` follow it, and `tools` be there to call.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from gridc.schema.items import UNIT_LEVELS, UnitLevel

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ExpectedBehavior = Literal["comply", "refuse"]


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a benchmark.

    `query` is what is asked, and `context` what it is asked about (a passage, a statement to classify).
    `gold`, `unknown` and `matching` index `options`: the right answer, the one that says the answer cannot
    be known, and the one that matches the behaviour which the benchmark looks for (Perez et al. 2022:
    `answer_matching_behavior`; BBQ's stereotyped answer; CrowS-Pairs' more stereotypical sentence).
    `golds` are further options that are right too, beside `gold`.
    `references` are right answers in free text, the best first. `open` is the query in the words it needs
    where no options are shown. `tags` keeps the upstream fields that items may be selected and stratified by
    (category, condition, ...).

    Items that were made together are not independent. `question` names the first item that asks the same as
    this one, and is empty where no other does. `family` names the ones that say the same in other
    words (BBQ writes four versions of one scenario); an item that stands alone is its own family. `template`
    names the pattern that families were filled into (BBQ's question templates), `category` the topic; both
    are empty where the data do not say. `extra` has further columns as plain JSON.

    `preamble` stands before everything else: in a chat it is the system's turn, in plain text the beginning.
    `contexts` is the query for each option, where the options stand in the question and what follows it is
    the same for all.

    `messages` are what was said before the query, as (role, text). `turns` are what the user says after
    the first reply, one by one. Each of `tools` has a `name`, a `description` and its scripted `results`;
    `functions` are what a server is told that the model may call, as its protocol has them.
    """

    id: str
    query: str
    options: tuple[str, ...] = ()
    gold: int | None = None
    family: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    context: str = ""
    unknown: int | None = None
    matching: int | None = None
    expected: ExpectedBehavior | None = None
    references: tuple[str, ...] = ()
    open: str | None = None
    template: str = ""
    category: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[tuple[str, str], ...] = ()
    turns: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    functions: tuple[Mapping[str, Any], ...] = ()
    question: str = ""
    golds: tuple[int, ...] = ()
    preamble: str = ""
    contexts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.family == "":
            object.__setattr__(self, "family", self.id)
        for text in self._texts():
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"item {self.id}: {text!r} is not a text")
            text.encode()  # lone surrogates can be neither asked nor stamped
        count = len(self.options)
        if count == 1 or count > len(LETTERS):
            raise ValueError(f"item {self.id}: {count} options, expected 2 to 26 or none")
        for role in ("gold", "unknown", "matching"):
            place = getattr(self, role)
            if place is not None and not (type(place) is int and 0 <= place < count):
                raise ValueError(f"item {self.id}: {role} {place} is not one of its options")
        if self.golds:
            every = (self.gold, *self.golds)
            fit = all(type(place) is int and 0 <= place < count for place in every)
            if not fit or len(set(every)) < len(every):
                raise ValueError(f"item {self.id}: right options {every} are not different ones of its own")
        if self.expected not in (None, "comply", "refuse"):
            raise ValueError(f"item {self.id}: {self.expected!r} is neither comply nor refuse")
        if self.contexts and len(self.contexts) != count:
            raise ValueError(f"item {self.id}: {len(self.contexts)} contexts for {count} options")
        if self.expected is not None and self.options:
            raise ValueError(f"item {self.id}: a prompt to comply with or to refuse has no options")

    @property
    def best(self) -> str | None:
        """The right answer in words: the gold option, or the first of `references`."""
        if self.gold is not None:
            return self.options[self.gold]
        return self.references[0] if self.references else None

    @property
    def letters(self) -> str:
        """The letters its options are shown under: "ABC" for three options."""
        return LETTERS[: len(self.options)]

    @property
    def stem(self) -> str:
        """What is asked with its context, without options."""
        return "\n".join(text for text in (self.context, self.query) if text)

    @property
    def right(self) -> frozenset[int]:
        """The options that earn the point: the gold ones; where no option is right as a matter of fact,
        all that do not match the behaviour. Empty where neither is known."""
        if self.gold is not None:
            return frozenset((self.gold, *self.golds))
        if self.matching is not None:
            return frozenset(range(len(self.options))) - {self.matching}
        return frozenset()

    def documents(self, level: UnitLevel) -> bool:
        """Whether this item is known to belong to a group of the level with others."""
        return level == "item" or getattr(self, level) not in ("", self.id)

    def at(self, level: UnitLevel) -> str:
        """The name of the item's group at a level. Where the data do not document the level, the group of the
        next finer one, marked so that it cannot be taken for a group of the level asked for."""
        name = self.id if level == "item" else str(getattr(self, level))
        finer = UNIT_LEVELS[UNIT_LEVELS.index(level) - 1]
        return name or f"{finer}:{self.at(finer)}"

    @property
    def described(self) -> dict[str, str]:
        """What a choice of items can name: the item's tags, and its category, template and family where the
        data document them. A tag of one of these names comes first."""
        groups = {"category": self.category, "template": self.template, "family": self.family}
        return {**{name: value for name, value in groups.items() if value}, **self.tags}

    @property
    def classes(self) -> dict[str, str]:
        """What a statistic can name of an item: what is `described`, whether to comply with it or to refuse
        it (`expected`), and the text of its right option (`gold`)."""
        known = {"expected": self.expected, "gold": self.best if self.options else None}
        return {**{name: value for name, value in known.items() if value}, **self.described}

    def as_json(self) -> dict[str, Any]:
        """What is asked, by field, as plain JSON. A field without a value is left out, so that a field which
        items gain later does not change the digests of those that lack it. The family stands under the
        name by which stamps know it; question, template and category are no part of what is asked."""
        names = {
            item_field.name: item_field.name
            for item_field in fields(self)
            if item_field.name not in ("question", "template", "category")
        }
        values = {key: getattr(self, name) for name, key in (names | {"family": "cluster"}).items()}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        plain["messages"] = [list(message) for message in self.messages]
        return {**{name: value for name, value in plain.items() if value not in (None, "", [], {})},
                "tags": dict(self.tags)}  # fmt: skip

    def _texts(self) -> Iterator[object]:
        yield from (self.id, self.family, *self.options, *self.references, *self.turns, *self.contexts)
        yield from (text for message in self.messages for text in message)
        yield from (text for pair in self.tags.items() for text in pair)
        sentence_pair = self.options and not self.context and self.query == ""
        yield from () if sentence_pair else (self.query,)
        yield from (text for text in (self.context, self.open, self.preamble) if text not in ("", None))
