"""Which column of a user's own file holds a conversation, and who speaks in it."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gridc.compiler.inputs.loaders.conversations import ROLES, SPEAKERS
from gridc.compiler.inputs.loaders.parsing import Row
from gridc.compiler.inputs.loaders.records import at
from gridc.compiler.inputs.loaders.rows import folded_name
from gridc.compiler.open_points import AnswerWay, UnclearColumns
from gridc.schema.base import Contradiction
from gridc.schema.items import SpeakerColumn

TURNS = ("turns", "user_turns")
KNOWN: Mapping[str, str] = {
    **{role: role for role in ROLES},
    **SPEAKERS,
    **dict.fromkeys(("customer", "client", "patient", "student", "visitor", "caller"), "user"),
    **dict.fromkeys(("ai", "agent", "model", "support", "tutor", "ai assistant"), "assistant"),
}
"""The role of speakers by their usual names."""
MOST_SPEAKERS = 3
_SPEAKS = re.compile(r"^[ \t]*([^\W\d][\w .\-]{0,24}?)[ \t]*[:：]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HeardColumn:
    """A column of conversations, as it names its `speakers`, the one who speaks first in front. `speaker` and
    `text` are the keys of a turn; None where each turn is a text that begins with its speaker. `ends` are
    those who speak last."""

    column: str
    speakers: tuple[str, ...]
    ends: frozenset[str]
    speaker: str | None = None
    text: str | None = None

    def with_roles(self, roles: Mapping[str, str]) -> SpeakerColumn:
        """The column as the field map has it. Raises `Contradiction` unless every speaker has a role."""
        by_role = {roles[name.casefold()]: name for name in self.speakers if name.casefold() in roles}
        if len(by_role) < len(self.speakers) or not {"user", "assistant"} <= by_role.keys():
            named = ", ".join(f"`{name}`" for name in self.speakers)
            raise Contradiction(
                f"`{self.column}` has the speakers {named}, and each needs a role of its own",
                "; ".join(f"--speaker {shlex.quote(f'{name}=ROLE')}" for name in self.speakers)
                + f", with {', '.join(ROLES)} as ROLE",
            )
        return SpeakerColumn(column=self.column, speaker=self.speaker, text=self.text, **by_role)


def asked_in_turns(
    names: Sequence[str], rows: Sequence[Row], ends_told: str | None
) -> dict[str, Any] | UnclearColumns:
    """The field for a column of conversations or of a user's turns; empty where there is none. Where every
    conversation ends with a reply, and no column (`ends_told`) says what is right, the reply is the right
    answer."""
    for name in names:
        if rows and all(_has_roles(at(row, name)) for row in rows):
            key = "content" if "content" in at(rows[0], name)[-1] else "value"
            replies = all(_role(at(row, name)[-1]) == "assistant" for row in rows)
            told = ends_told is not None and ends_told.partition(".")[0] != name
            answers = {"references": (f"{name}.-1.{key}",)} if replies and not told else {}
            return {"messages": name, **answers}
    for name in names:
        lists = folded_name(name) in TURNS and rows and all(isinstance(at(row, name), list) for row in rows)
        several = lists and any(len(at(row, name)) > 1 for row in rows)
        texts = several and all(
            at(row, name) and all(isinstance(turn, str) for turn in at(row, name)) for row in rows
        )
        if texts and heard_column(name, rows) is None:
            return {"turns": name}
    for name in names:
        heard = heard_column(name, rows)
        if heard is not None:
            return _with_speakers(heard, ends_told)
    return {}


def _with_speakers(heard: HeardColumn, ends_told: str | None) -> dict[str, Any] | UnclearColumns:
    roles = {name.casefold(): KNOWN.get(name.casefold()) for name in heard.speakers}
    known = {name: role for name, role in roles.items() if role is not None}
    clear = len(set(known.values())) == len(heard.speakers) and {"user", "assistant"} <= set(known.values())
    if clear and heard.text is not None:
        return {"messages": heard.with_roles(known), **replies_of(heard, known, ends_told)}
    ways = tuple(_ways(heard, known if clear else {}))
    speakers = " and ".join(f"`{name}`" for name in heard.speakers)
    return UnclearColumns(
        f"`{heard.column}` looks like a conversation between {speakers}",
        "; or ".join(f"{way.options} where {way.says}" for way in ways),
        ways,
    )


def replies_of(heard: HeardColumn, roles: Mapping[str, str], ends_told: str | None) -> dict[str, Any]:
    """The right answers, where every conversation ends with a reply and no column says what is right."""
    ends_with_model = {roles.get(name.casefold()) for name in heard.ends} == {"assistant"}
    told = ends_told is not None and ends_told.partition(".")[0] != heard.column
    if heard.text is None or told or not ends_with_model:
        return {}
    return {"references": (f"{heard.column}.-1.{heard.text}",)}


def _ways(heard: HeardColumn, known: Mapping[str, str]) -> Iterator[AnswerWay]:
    """Who the model may be, and that it is one text."""
    column = shlex.quote(heard.column)
    for model in heard.speakers:
        others = [name for name in heard.speakers if name != model]
        roles = {model: "assistant", others[-1]: "user"}
        if len(others) > 1:
            roles[others[0]] = "system"
        if known and known[model.casefold()] != "assistant":
            continue
        said = " ".join(f"--speaker {shlex.quote(f'{name}={role}')}" for name, role in roles.items())
        yield AnswerWay(
            f"`{model}` is the model, and `{others[-1]}` the user",
            f"--field messages={column} {said}",
            likely=bool(known),
        )
    yield AnswerWay("it is one text, asked as it stands", f"--field query={column}", unasked=True)


def heard_column(name: str, rows: Sequence[Row]) -> HeardColumn | None:
    """The speakers of a column in which two or three take turns; None where it holds something else."""
    values = [at(row, name) for row in rows]
    if not values:
        return None
    if all(isinstance(value, list) and value and isinstance(value[0], dict) for value in values):
        return _heard_in_tables(name, values)
    if all(isinstance(value, str) or _is_texts(value) for value in values):
        spoken = [_named_in("\n".join(value) if isinstance(value, list) else value) for value in values]
        return _heard(name, spoken)
    return None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, str) for part in value)


def _named_in(text: str) -> list[str]:
    """Who speaks, turn by turn, in a text whose turns begin with their speaker."""
    marks = list(_SPEAKS.finditer(text))
    return [mark[1] for mark in marks] if marks and not text[: marks[0].start()].strip() else []


def _heard_in_tables(name: str, values: Sequence[Sequence[Any]]) -> HeardColumn | None:
    turns = [turn for value in values for turn in value]
    if not all(isinstance(turn, dict) for turn in turns):
        return None
    keys = [key for key in turns[0] if all(isinstance(turn.get(key), str) for turn in turns)]
    texts = {key: len({turn[key] for turn in turns}) for key in keys}
    if len(keys) < 2:
        return None
    text = max(keys, key=lambda key: sum(len(turn[key]) for turn in turns))
    for key in keys:
        if key != text and 2 <= texts[key] <= MOST_SPEAKERS:
            return _heard(name, [[turn[key].strip() for turn in value] for value in values], key, text)
    return None


def _heard(
    name: str, spoken: Sequence[Sequence[str]], speaker: str | None = None, text: str | None = None
) -> HeardColumn | None:
    """The column, if its few speakers take turns and one of them speaks twice somewhere."""
    folded = [[who.casefold() for who in row] for row in spoken]
    everyone = list(dict.fromkeys(who for row in folded for who in row))
    if not 2 <= len(everyone) <= MOST_SPEAKERS or not all(folded):
        return None
    turning = all(first != second for row in folded for first, second in pairwise(row))
    if not turning or not any(len(set(row)) < len(row) for row in folded):
        return None
    written = {who.casefold(): who for row in reversed(spoken) for who in reversed(row)}
    speakers = tuple(written[who] for who in everyone)
    return HeardColumn(name, speakers, frozenset(row[-1] for row in spoken), speaker, text)


def _has_roles(value: Any) -> bool:
    """Whether a value is a conversation: messages, each with who speaks and what is said."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(message, dict)
            and ({"role", "content"} <= message.keys() or {"from", "value"} <= message.keys())
            and _role(message) in ROLES
            for message in value
        )
    )


def _role(message: Mapping[str, Any]) -> str:
    who = str(message.get("role", message.get("from")))
    return SPEAKERS.get(who, who)
