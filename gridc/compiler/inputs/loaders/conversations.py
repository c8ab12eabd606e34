"""What a row asks: one text, or a conversation in the messages or turns that files hold."""

import re
from collections.abc import Collection
from typing import Any

from gridc.compiler.inputs.loaders.cells import (
    list_in,
    listed,
    name_of_field,
    question_and_options,
    raw_value,
    text_of,
)
from gridc.compiler.inputs.loaders.gold import is_empty, short, spelled
from gridc.compiler.inputs.loaders.parsing import BadField, Row
from gridc.compiler.inputs.loaders.records import at
from gridc.compiler.instrument.scaffolds.turns import Messages
from gridc.schema.items import Fields, SpeakerColumn


def question_key(row: Any, fields: Fields) -> str:
    """The text of a row's question, by which rows are told apart."""
    return str(raw_value(row, fields.query or fields.turns or fields.messages or ""))


def conversation(row: Row, fields: Fields) -> tuple[Messages, str, tuple[str, ...]]:
    """The messages before the query, the query, and the user's later turns. Raises `ValueError`."""
    before, query, turns = _said(row, fields)
    if fields.system is None or is_empty(raw_value(row, fields.system)):
        return before, query, turns
    if before and before[0][0] == "system":
        help = "leave `fields.system` out, or take the system message out of the conversation"
        raise BadField(
            f"the conversation begins with a system message, and `{name_of_field(fields.system)}` holds one",
            help,
        )
    return (("system", text_of(row, fields.system)), *before), query, turns


def _said(row: Row, fields: Fields) -> tuple[Messages, str, tuple[str, ...]]:
    """The same, without the system prompt of the row."""
    if fields.query is not None:
        text = text_of(row, fields.query)
        return (), question_and_options(text)[0] if fields.options_within else text, ()
    if fields.turns is not None:
        texts = list_in(value := at(row, fields.turns), fields.turns)
        if texts == [value]:
            help = f'query = "{fields.turns}" asks one text; turns are a list, ["first", "second"]'
            raise BadField(f"`{fields.turns}` holds one text, and no list of turns", help)
        if any(isinstance(turn, dict) for turn in texts):
            help = f'messages = "{fields.turns}" takes a list of messages, each with a role and a content'
            raise BadField(f"`{fields.turns}` holds messages, and no texts", help)
        turns = listed(row, (fields.turns,))
        if not turns:
            raise ValueError(f"`{fields.turns}` is empty")
        return (), turns[0], turns[1:]
    if isinstance(fields.messages, SpeakerColumn):
        name = fields.messages.column
        messages = spoken(at(row, name), fields.messages)
    else:
        name = fields.messages or ""
        messages = tuple(_message(name, message) for message in list_in(at(row, name), name))
    if messages and messages[-1][0] == "assistant":  # how the data answer it, which is not asked
        messages = messages[:-1]
    if not messages or messages[-1][0] != "user":
        help = "cut the conversation after the user's turn that is to be answered"
        raise BadField(f"`{name}` has no turn of the user to answer at its end", help)
    roles = [role for role, _ in messages[messages[0][0] == "system" :]]
    if roles != [("user", "assistant")[number % 2] for number in range(len(roles))]:
        raise ValueError(f"`{name}` is not user and assistant in turn, with at most a system message first")
    return messages[:-1], messages[-1][1], ()


ROLES = ("system", "user", "assistant")


def spoken(value: Any, column: SpeakerColumn) -> Messages:
    """The messages of a conversation that names its speakers in words of its own. Raises `ValueError`."""
    roles = {name.casefold(): role for role in ROLES if (name := getattr(column, role)) is not None}
    if column.speaker is not None and column.text is not None:
        turns = [
            (str(at(turn, column.speaker)).strip(), at(turn, column.text))
            for turn in list_in(value, column.column)
        ]
    else:
        turns = _turns_in_text(value, column, roles)
    messages = []
    for who, text in turns:
        if who.casefold() not in roles:
            known = " or ".join(name for role in ROLES if (name := getattr(column, role)) is not None)
            raise ValueError(f"`{column.column}` has a turn of {spelled(who)}, and not of {known}")
        if is_empty(text) or not isinstance(text, str):
            raise ValueError(f"a turn of `{column.column}` has no text")
        messages.append((roles[who.casefold()], text))
    return tuple(messages)


def _turns_in_text(value: Any, column: SpeakerColumn, speakers: Collection[str]) -> list[tuple[str, str]]:
    """(speaker, text) for each turn of a text, or of a list of texts. Each begins with its speaker."""
    text = "\n".join(map(str, value)) if isinstance(value, list) else value
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"`{column.column}` holds no text")
    names = "|".join(map(re.escape, sorted(speakers, key=len, reverse=True)))
    begins = list(re.finditer(rf"^[ \t]*({names})[ \t]*[:：]", text, re.MULTILINE | re.IGNORECASE))
    if not begins or text[: begins[0].start()].strip():
        raise ValueError(f"`{column.column}` does not begin with one of its speakers: {short(text)!r}")
    ends = [*(mark.start() for mark in begins[1:]), len(text)]
    turns = [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(begins, ends, strict=True)]
    # A prompt may end with the model's name and a colon: the turn that is to be written.
    return turns[:-1] if len(turns) > 1 and not turns[-1][1] else turns


SPEAKERS = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant"}
"""Other names of who speaks, as ShareGPT's files have them."""


def _message(name: str, message: Any) -> tuple[str, str]:
    if isinstance(message, dict) and {"from", "value"} <= message.keys():
        message = {"role": SPEAKERS.get(message["from"], message["from"]), "content": message["value"]}
    if not isinstance(message, dict) or not {"role", "content"} <= message.keys():
        help = 'each message is { role = "user", content = "..." }; a list of texts is `turns`'
        raise BadField(f"`{name}` holds something else than messages with a role and a content", help)
    role, content = message["role"], message["content"]
    if role not in ROLES:
        raise ValueError(f"`{name}` has a message of {spelled(str(role))}, and not of {', '.join(ROLES)}")
    if isinstance(content, list):
        raise BadField(f"a message of `{name}` holds a list of parts, and no text", NO_PICTURES)
    if is_empty(content) or not isinstance(content, str):
        raise ValueError(f"a message of `{name}` has no text")
    return role, content


NO_PICTURES = (
    "gridc asks only texts: join the texts of its parts; for pictures and sound use Inspect or VLMEvalKit"
)
