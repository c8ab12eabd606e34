"""Take out of a response what shows its configuration. Pure: text in, text and counts out.

What a scaffold leaves behind is of a few classes (Safety Under Scaffolding, Q.2, step 1). Lines of machinery
go whole. Where a line of prose is the last thing that a response says, only its mark goes, so that a response
keeps its answer. And of whatever class a piece is, it stays where the response would read otherwise without
it: a rule and a judge then see one answer. What stays is counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.options import spoken_options
from gridc.compiler.instrument.readers import READERS
from gridc.compiler.instrument.refusals import refusal_keywords
from gridc.compiler.instrument.setting import Setting
from gridc.compiler.instrument.thoughts import THOUGHTS, ThoughtMarks

CLASSES = {
    "reasoning": "blocks of thought between tags, and headings over reasoning",
    "tools": "thoughts, actions, observations, tool calls, and the word final before an answer",
    "critic": "critiques, verdicts, roles and rounds",
    "parts": "numbered parts of a question, their analyses and answers, and marks of their synthesis",
    "code": "fences, and marks of consoles, notebooks and loops",
    "letters": "letters before the texts of options that were not shown",
    "echo": "lines of the prompt that are not of the item",
    "names": "names of models and of their makers",
}
"""What each class takes out, in the order in which they are gone through."""

REDACTED = "[REDACTED]"
ROUNDS = 4
"""How often all classes are gone through at most: what goes may leave a new mark behind."""
VERSIONS = {
    "sanitiser:classes": 4,
}
"""The version of each part here, which stamps hold (`instrument.versions`)."""


@dataclass(frozen=True, slots=True)
class Sanitised:
    """What is left of a response of `before` characters, how many pieces of each class were taken out, and
    how many stayed because without them the response would read otherwise."""

    text: str
    before: int
    removed: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResponseContext:
    """What is known of a response: the texts of its item, which never go as names or echoes; what else its
    model was shown; names of models beside the common ones; texts of options that were shown to nobody."""

    item: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unlettered: tuple[str, ...] = ()


NOTHING = ResponseContext()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that shows the configuration, and what may stand in its place: what says least first."""

    start: int
    end: int
    instead: tuple[str, ...]


def response_reading(setting: Setting, item: Item, text: str) -> tuple[object, ...]:
    """What a response says as far as a rule can tell: which option, whether it refuses, and which of the
    references are in it."""
    option = refusal = None
    if item.options:
        labels = setting.labels_of(item)
        option = READERS[setting.held("reader")](text, spoken_options(item), labels, item.stem).option
    if item.expected is not None:
        refusal = refusal_keywords(text).option
    return (option, refusal, tuple(reference in text for reference in item.references))


def known_of(
    setting: Setting, item: Item, shown: Sequence[str] = (), names: Sequence[str] = ()
) -> ResponseContext:
    """What is known of the responses to an item."""
    texts = (item.stem, item.open or "", *item.options, *item.references)
    return ResponseContext(texts, tuple(shown), tuple(names), () if setting.labels_of(item) else item.options)


def sanitise(
    text: str, read: Callable[[str], object] = lambda text: None, known: ResponseContext = NOTHING
) -> Sanitised:
    """A response without what shows its configuration. `read` gives what the response says, and gives the
    same of what is left."""
    meaning, words = read(text), bool(_WORD.search(text))

    def same(changed: str) -> bool:
        return bool(_WORD.search(changed)) is words and read(changed) == meaning

    now = text
    removed, kept = dict.fromkeys(CLASSES, 0), dict.fromkeys(CLASSES, 0)
    for _ in range(ROUNDS):
        last = now
        for name, find in _FINDERS.items():
            now, gone, kept[name] = _text_without(now, list(find(now, known)), same)
            removed[name] += gone
        if now == last:
            break
    tidy = _tidied(now)
    return Sanitised(tidy if same(tidy) else now, len(text), _counted(removed), _counted(kept))


def _counted(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _text_without(text: str, pieces: Sequence[_Piece], same: Callable[[str], bool]) -> tuple[str, int, int]:
    """The text without as many of the pieces as can go, how many went and how many stayed. All are tried at
    once; where that would change the reading, each half in turn."""
    chosen: dict[int, str] = {}  # by the number of a piece, what stands in its place

    def with_(more: dict[int, str]) -> str:
        parts, last = [], 0
        for number, piece in enumerate(pieces):
            instead = more.get(number, chosen.get(number))
            if instead is not None:
                parts += [text[last : piece.start], instead]
                last = piece.end
        return "".join([*parts, text[last:]])

    groups = [range(len(pieces))] if pieces else []
    while groups:
        group = groups.pop()
        whole = {number: pieces[number].instead[0] for number in group}
        if same(with_(whole)):
            chosen |= whole
        elif len(group) > 1:
            half = len(group) // 2
            groups += [group[half:], group[:half]]
        else:
            (number,) = group
            softer = (wording for wording in pieces[number].instead[1:] if same(with_({number: wording})))
            if (instead := next(softer, None)) is not None:
                chosen[number] = instead
    return with_({}), len(chosen), len(pieces) - len(chosen)


_WORD = re.compile(r"[^\W_]")
_BEFORE = r"^[ \t]{0,8}(?:[-*#>]{1,4}[ \t]{1,4})?(?:\*\*|__)?"
_AFTER = r"(?:\*\*|__)?[ \t]*+[:：](?:\*\*|__)?[ \t]*+"
_N = r"[ \t]{0,2}[#(]?\d{0,3}\)?"
_LINES = re.IGNORECASE | re.MULTILINE


def _marked(*words: str) -> re.Pattern[str]:
    """One of these at the beginning of a line, before a colon."""
    return re.compile(rf"{_BEFORE}(?:(?:{'|'.join(words)}){_AFTER})++", _LINES)


_HEADINGS = _marked(
    r"chain[ -]of[ -]thought", r"reasoning", r"thinking(?:[ ]process)?",
    r"step[ -]by[ -]step(?:[ ](?:reasoning|solution|thinking))?",
)  # fmt: skip
_INVITATION = re.compile(
    r"^[ \t]*+let['’]?s[ ]think(?:[ ]about[ ](?:this|it))?[ ](?:step[ ]by[ ]step|carefully)[.!:]*+[ \t]*+$",
    _LINES,
)
_THOUGHTS = _marked(rf"thoughts?{_N}")
_ACTIONS = _marked(
    rf"actions?(?:[ ]input)?{_N}", rf"observations?{_N}", rf"tool[ _](?:call|result|input|output)s?{_N}"
)
_FINAL = re.compile(rf"{_BEFORE}final[ ]++(?=answer\b)", _LINES)
_CRITIQUES = _marked(r"critiques?", r"verdict", r"revision[_ ]guidance")
_VERDICTS = re.compile(
    rf"{_BEFORE}verdict{_AFTER}(?:safe|needs[_ ]revision|unsafe)\b[^\w\n]*+$"
    r"|^[ \t]*+NEEDS_REVISION[.]?[ \t]*+$",
    _LINES,
)
_ROLES = _marked(
    rf"(?:primary|critic|reviewer|checker|adjudicator|assistant|agent)(?:[ ](?:agent|assistant))?{_N}"
    r"(?:[ ](?:answer|response))?",
    rf"round{_N}(?:[ ]?(?:of|/)[ ]?\d{{1,3}})?", r"revised[ ](?:answer|response)", rf"revision{_N}",
)  # fmt: skip
_PARTS = _marked(rf"sub-?[ ]?questions?{_N}", rf"part{_N}", rf"analysis{_N}", rf"chunk{_N}")
_SYNTHESIS = _marked(
    r"(?:synthesi[sz]ed|combined|aggregated|merged)[ ](?:answer|response)",
    r"synthesis",
    r"reduce(?:[ ]step)?",
)
_NUMBERED = re.compile(rf"({_BEFORE}answer)[ ]#?\d{{1,3}}(?={_AFTER})", _LINES)
_FENCES = re.compile(r"^[ \t]{0,3}(?:```|~~~)[^\n`]{0,40}$\n?", re.MULTILINE)
_CONSOLES = re.compile(
    r"^(?:>>>[ ]|(?:In|Out)[ ]?\[\d{1,4}\]:[ ]?|[ \t]*+\[?(?:iteration|turn|loop)[ ]#?\d{1,3}"
    r"(?:[ ]?(?:/|of)[ ]?\d{1,3})?(?:\]|[:.]|$)[:.]?[ \t]*+)",
    _LINES,
)


def _tags(name: str) -> ThoughtMarks:
    return ThoughtMarks(rf"<{name}>|\[{name}\](?!\()", rf"</{name}>|\[/{name}\](?!\()")


def _compiled(*kinds: ThoughtMarks) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?P<ends>{kind.ends})|{kind.opens}", re.IGNORECASE) for kind in kinds)


_THOUGHT_BLOCKS = _compiled(
    *(
        marks for family, marks in THOUGHTS.items() if family != "granite"
    ),  # it has no mark where a thought begins
    *map(_tags, ("thoughts", "reflection", "analysis")),
)
_TOOL_BLOCKS = _compiled(
    *map(_tags, ("tool_call", "tool_response", "function_calls", "observation", "action"))
)


def _reasoning(text: str, known: ResponseContext) -> Iterator[_Piece]:
    yield from _blocks(text, _THOUGHT_BLOCKS)
    yield from _matching_pieces(_INVITATION, text)
    yield from _matching_pieces(_HEADINGS, text)


def _tools(text: str, known: ResponseContext) -> Iterator[_Piece]:
    yield from _blocks(text, _TOOL_BLOCKS)
    yield from _lines(_ACTIONS, text)
    yield from _prose(_THOUGHTS, text)
    yield from _matching_pieces(_FINAL, text)


def _critic(text: str, known: ResponseContext) -> Iterator[_Piece]:
    yield from _matching_pieces(_VERDICTS, text)
    yield from _prose(_CRITIQUES, text)
    yield from _matching_pieces(_ROLES, text)


def _parts(text: str, known: ResponseContext) -> Iterator[_Piece]:
    yield from _prose(_PARTS, text)
    yield from _matching_pieces(_SYNTHESIS, text)
    for match in _NUMBERED.finditer(text):
        yield _Piece(*match.span(), (match[1],))


def _code(text: str, known: ResponseContext) -> Iterator[_Piece]:
    yield from _matching_pieces(_FENCES, text)
    yield from _matching_pieces(_CONSOLES, text)


def _matching_pieces(marks: re.Pattern[str], text: str) -> Iterator[_Piece]:
    """What matches goes."""
    yield from (_Piece(*match.span(), ("",)) for match in marks.finditer(text) if match[0])


def _lines(marks: re.Pattern[str], text: str) -> Iterator[_Piece]:
    """The line goes; else its mark."""
    for match in marks.finditer(text):
        stop = _line_end(text, match.end())
        yield _Piece(match.start(), stop, ("", text[match.end() : stop]))


def _prose(marks: re.Pattern[str], text: str) -> Iterator[_Piece]:
    """The line goes; else, and where it is the last that says anything, its mark."""
    ends = max((match.end() for match in re.finditer(r"\w(?=\W*+\Z)", text)), default=0)
    for piece in _lines(marks, text):
        last = piece.start < ends <= piece.end and _WORD.search(piece.instead[1])
        yield _Piece(piece.start, piece.end, piece.instead[1:] if last else piece.instead)


def _line_end(text: str, start: int) -> int:
    stop = text.find("\n", start)
    return len(text) if stop < 0 else stop


def _blocks(text: str, kinds: Sequence[re.Pattern[str]]) -> Iterator[_Piece]:
    """What stands between a mark that opens a block and the one that ends it goes; else its marks. A mark
    without the other one goes alone."""
    spans = dict[tuple[int, int], tuple[int, int]]()
    for marks in kinds:
        begun = list[re.Match[str]]()
        for match in marks.finditer(text):
            if match["ends"] is None:
                begun.append(match)
            elif begun:
                first = begun.pop()
                spans[first.start(), match.end()] = (first.end(), match.start())
            else:
                spans[match.span()] = (match.end(), match.end())
        spans |= {match.span(): (match.end(), match.end()) for match in begun}
    for start, end in _outermost(spans):
        inside = text[slice(*spans[start, end])]
        for marks in kinds:
            inside = marks.sub("", inside)
        yield _Piece(start, end, ("", inside))


def _outermost(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """In the order of the text; of spans that overlap the first and longest."""
    last = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= last:
            yield start, end
            last = end


def _letters(text: str, known: ResponseContext) -> Iterator[_Piece]:
    if known.unlettered:
        yield from _matching_pieces(_lettered(known.unlettered), text)


@lru_cache(maxsize=1024)
def _lettered(options: tuple[str, ...]) -> re.Pattern[str]:
    follows = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    return re.compile(rf"(?<!\w)\(?[A-Z][.):]\)?[ ]++(?={follows})")


def _echo(text: str, known: ResponseContext) -> Iterator[_Piece]:
    """Lines that the model was shown, and that are neither the item's nor so short that anybody says them."""
    if not known.shown:
        return
    own = "\n".join(known.item)
    lines = {line.strip() for shown in known.shown for line in shown.split("\n")}
    shown = {line for line in lines if len(line.split()) >= _MANY and line not in own}
    for match in re.finditer(r"^[^\n]++\n?", text, re.MULTILINE):
        if match[0].strip() in shown:
            yield _Piece(*match.span(), ("",))


_MANY = 4
"""Words of a line that is an echo and no coincidence."""
_CERTAIN = (
    r"Chat-?GPT|GPT-?(?:\d|OSS)[\w.-]{0,12}|OpenAI|Anthropic|DeepSeek|Qwen|Mixtral|Meta[ ]AI|xAI|"
    r"Mistral[ ]AI|Google[ ](?:DeepMind|AI|Bard)|Alibaba[ ]Cloud|Moonshot[ ]AI|"
    r"(?:Claude|Gemini|Gemma|Llama|Mistral|Grok|Phi|Command)"
    r"[ -](?:\d(?:\.\d)?|Pro|Ultra|Flash|Nano|Opus|Sonnet|Haiku|Large|Medium|Small|Instruct|R\+?)"
)
_DOUBTFUL = (
    "Claude|Gemini|Gemma|Llama|Mistral|Grok|Phi|Bard|Copilot|Google|Meta|Microsoft|Alibaba|Cohere|Kimi|Bing"
)
_SELF = (
    r"\bI(?:['’]m|[ ]am)[ ](?:an?[ ]|the[ ])?|\bmy[ ]name[ ]is[ ]|\b[Aa]s[ ](?:an?[ ]|the[ ])?|"
    r"\bcall[ ]me[ ]|\b(?:made|built|trained|created|developed|designed)[ ]by[ ]|"
    r"\b(?:AI|assistant|model|chatbot)[ ](?:from|by|of)[ ]|"
    r"\b(?:model|assistant|chatbot),?[ ](?:called|named)[ ]"
)


@lru_cache(maxsize=64)
def _names_of(others: tuple[str, ...]) -> re.Pattern[str]:
    """Names that are no other word go anywhere; those that are go where a speaker introduces itself. Of a
    study's own names those with a digit are no other word."""
    plain = {name for name in others if re.search(r"\d", name) and len(name) >= _LONG}
    certain = "|".join([*sorted(map(re.escape, plain), key=len, reverse=True), _CERTAIN])
    doubtful = "|".join([*sorted(map(re.escape, set(others) - plain), key=len, reverse=True), _DOUBTFUL])
    tail = r"(?:[ -]?\d[\w.-]{0,16}(?<=\w))?"
    return re.compile(rf"(?<!\w)(?i:{certain}){tail}(?!\w)|(?:{_SELF})(?P<name>(?i:{doubtful}){tail})(?!\w)")


_LONG = 4
"""Characters of a study's own name for a model that is a name wherever it stands."""


def _names(text: str, known: ResponseContext) -> Iterator[_Piece]:
    own = "\n".join(known.item).casefold()
    for match in _names_of(known.names).finditer(text):
        group = 0 if match["name"] is None else "name"
        if match[group].casefold() not in own:
            yield _Piece(*match.span(group), (REDACTED,))


def _sorted(
    find: Callable[[str, ResponseContext], Iterator[_Piece]],
) -> Callable[[str, ResponseContext], Iterator[_Piece]]:
    """The pieces in the order of the text; of those that overlap the first and longest. One that leaves
    nothing of its line goes with the line's end."""

    def finder(text: str, known: ResponseContext) -> Iterator[_Piece]:
        last = 0
        for piece in sorted(find(text, known), key=lambda piece: (piece.start, -piece.end)):
            if piece.start < last:
                continue
            last = piece.end
            line = (
                text[piece.start - 1 : piece.start] in ("", "\n") and text[piece.end : piece.end + 1] == "\n"
            )
            if line and piece.instead[0] == "":
                yield _Piece(
                    piece.start, piece.end + 1, ("", *(f"{wording}\n" for wording in piece.instead[1:]))
                )
            else:
                yield piece

    return finder


_FINDERS = {
    name: _sorted(find)
    for name, find in zip(
        CLASSES, (_reasoning, _tools, _critic, _parts, _code, _letters, _echo, _names), strict=True
    )
}


def _tidied(text: str) -> str:
    """Without spaces at the ends of lines, and with one empty line at most between paragraphs."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t])[ \t]++$", "", text, flags=re.MULTILINE)).strip()
