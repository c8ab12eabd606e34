"""Puts a GRID card into a model card: a section between markers, and entries in its `model-index`.

Only what stands between gridc's own markers is ever written; every other byte of the file stays. Attaching
again replaces the section where it is, so the same card attached twice is the same file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from gridc.compiler.grid.cells import ONLY
from gridc.diagnostics.errors import Diagnostic, FileError, UnavailableError, UsageError
from gridc.files import read_regular, write_atomic
from gridc.reports.card import as_markdown
from gridc.reports.exchange.shown_card import (
    OPEN,
    ReservedNames,
    characters,
    letters_only,
    shown,
    words_around,
)
from gridc.reports.words import better_score_words
from gridc.schema.card import Card, CardDeck

FRONT = re.compile(r"\A(\ufeff?\s*---[ \t]*\r?\n)(.*?)(^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"https?://[^\s<>\"'`()\[\]{}|\\^]+")
"""What may stand as the target of a link in a model card: an address, and nothing that runs or breaks out."""
INDEX = re.compile(r"^model-index:[ \t]*\r?\n(?:(?:[ \t#-].*)?(?:\r?\n|\Z))*", re.MULTILINE)
ITEMS = re.compile(
    r"^[ \t]*(?:-[ \t]+)?results:[ \t]*(?:#.*)?\r?\n(?:[ \t]*#.*\r?\n)*([ \t]*)- ", re.MULTILINE
)
OF_LOGS = "imported:logs"
"""In the place of a study's id, which has no colon."""
ITEM = re.compile(r"^([ \t]*)- task:", re.MULTILINE)
MARKER = re.compile(r"^# gridc:card (begin|end) (\S+)\r?\n", re.MULTILINE)
"""Before and after the results of one study."""
SOURCE = re.compile(r"gridc study ([A-Za-z0-9_.-]+), stamp [0-9a-f]{12}")
"""What a result names as its source."""
OTHER_LINE_ENDS = re.compile(r"\r(?!\n)|[\x00\x0b\x0c\x85\u2028\u2029]")
"""What ends a line for some readers of YAML and not for others."""
MOST_CARD, MOST_FRONT, MOST_DEPTH = 1 << 26, 1 << 19, 100
"""The most bytes of a model card, and the most characters and levels of its front matter, that are read."""
NO_RESULTS = re.compile(
    r"^([ \t]+|[ \t]*-[ \t]+)results:[ \t]*(?=\[[ \t]*\][ \t]*(?:#.*)?\r?$)", re.MULTILINE
)
NO_TABLE = re.compile(r"^(?=\{[ \t]*\}[ \t]*\r?$)", re.MULTILINE)
ASIDE = "# gridc:card: "
"""Before an empty list or table that was in the way of results. It is taken away again with them."""


def attach_cards(readme: Path, deck: CardDeck, model: str, link: str | None = None) -> bool:
    """Put the cards of one model into a model card, replacing the file in one step; whether it changed.
    `link` is the address of the certificate; without one its digest names it (`urn:gridc:...`).

    Raises `UsageError` (GC000) for a model that the study does not have, and `FileError` (GC610)
    when the file is not a text or its markers or `model-index` cannot be understood.
    """
    if link is not None and not LINK.fullmatch(link):
        help = "give an https:// address, or leave --link out: the certificate's digest then names it"
        raise UsageError(
            [Diagnostic("GC000", f"`{link[:40]}` is not the address of a certificate", help=help)]
        )
    path = readme.resolve()
    before = _read(path)
    after = attached(before, deck, model, link, str(readme))
    if after == before:
        return False
    write_atomic(path, after)
    return True


def attached(text: str, deck: CardDeck, model: str, link: str | None = None, file: str = "README.md") -> str:
    """The text of a model card with the cards of one model in it. The `model-index` is for what gridc
    measured: cards of logs leave it alone."""
    own = deck_of(deck, model)
    text = _with_section(text, _marked(own), _section(own, model, link), file)
    if own.recorded:
        return text
    return _with_index(text, own, model, link, _newline(text), file)


def _with_section(text: str, study: str, body: str, file: str) -> str:
    """The text of a model card with a section of a study, in the place of the one that is there."""
    newline = _newline(text)
    body = body.replace("\n", newline)
    section = _region(text, f"<!-- gridc:card begin {study} ", f"<!-- gridc:card end {study} -->", file)
    if section is not None:
        return text[: section[0]] + body + text[section[1] :]
    gap = "" if not text or text.endswith(newline * 2) else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{body}{newline}"


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


@dataclass(frozen=True, slots=True)
class CardCheck:
    """What the attached cards, and whatever passes for them, say that the study does not; and what was not
    checked."""

    differs: tuple[Diagnostic, ...]
    unchecked: tuple[str, ...] = ()


def check_cards(readme: Path, deck: CardDeck) -> CardCheck:
    """Whether a model card says of a study what the study says now, and shows it.

    Raises `FileError` (GC610) when no card of the study is attached or the file cannot be understood.
    """
    text = _read(readme)
    model, link = _stated(text, deck, readme)
    if link != "-" and not LINK.fullmatch(link):
        message = "the attached card links to something that is not an address"
        return CardCheck((Diagnostic("GC707", message, str(readme)),))
    if model not in {card.model for card in deck.cards}:
        return CardCheck((Diagnostic("GC707", f"the study has no model `{model}`", str(readme)),))
    given = None if link == "-" else link
    again = attached(text, deck, model, given, str(readme))
    if again != text:
        return CardCheck((_rewritten(text, again, readme),))
    body, front = _divided(text, str(readme))
    claimed, others = _claimed_elsewhere(front, deck, model, given, readme)
    section = _section(deck_of(deck, model), model, given)
    beside = [text for key, part in front.items() if key != "model-index" for text in _strings([key, part])]
    about = [model, *(card.benchmark for card in deck.cards if card.model == model)]
    fields = [text for key, part in front.items() if key != "model-index" for text in _fields(key, part)]
    seen = shown(body, section, beside, fields, _names(deck), about)
    hidden = [
        Diagnostic("GC666", f"a reader does not see this study's card alone: {problem}", str(readme))
        for problem in seen.problems
    ]
    said = [
        Diagnostic(
            "GC707",
            f"beside the attached card a number is said of gridc that the card does not have: `{claim}`",
            str(readme),
            help="remove it, or take the number of the card",
        )
        for claim in seen.claims
    ]
    return CardCheck((*claimed, *said, *hidden), (*others, *seen.unchecked))


def _rewritten(text: str, again: str, readme: Path) -> Diagnostic:
    expected = set(again.splitlines())
    changed = [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and line not in expected
    ]
    lines = ", ".join(map(str, changed[:8])) or "missing lines"
    message = f"the attached card is not what the study says now (lines {lines})"
    return Diagnostic("GC707", message, str(readme), help="`gridc card attach` writes it again")


def _divided(text: str, file: str) -> tuple[str, Mapping[str, Any]]:
    """The text below the front matter, and the front matter as other programs read it too."""
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    front, theirs = FRONT.match(text), REGEX_YAML_BLOCK.search(text)
    ours = "" if front is None else front.group(2)
    if ours.strip() != ("" if theirs is None else theirs.group(2).strip()) or OTHER_LINE_ENDS.search(ours):
        raise _unclear(file, "programs do not agree where its front matter, or a line of it, ends")
    return text if front is None else text[front.end() :], _parsed(ours, file)


def model_in(readme: Path, deck: CardDeck) -> str:
    """The model whose cards are attached. Raises `FileError` (GC610) when no card of the study is."""
    return _stated(_read(readme), deck, readme)[0]


def _stated(text: str, deck: CardDeck, readme: Path) -> tuple[str, str]:
    """The model and the link that the first marker of the study's cards names."""
    start = re.search(rf"<!-- gridc:card begin {re.escape(_marked(deck))} (\S+) (\S+) -->", text)
    if start is None:
        message = f"no GRID card of study `{deck.study}` is attached"
        help_line = "`gridc card attach` puts one in"
        raise FileError([Diagnostic("GC610", message, str(readme), help=help_line)])
    return start.group(1), start.group(2)


def _claimed_elsewhere(
    front: Mapping[str, Any], deck: CardDeck, model: str, link: str | None, readme: Path
) -> tuple[list[Diagnostic], list[str]]:
    """Results in the `model-index` that point to the study, and that it does not have; and which other
    studies results name as their source."""
    own = [result for entry in model_index(deck, model, link) for result in entry["results"]]
    known = {_canonical(result) for result in own}
    foreign = [result for result in _index_results(front, str(readme)) if _canonical(result) not in known]
    studies = [_other_study(result, deck) for result in foreign]
    names = (*_digests(deck), *(() if link is None else (link,)))
    ours = [
        result
        for result, study in zip(foreign, studies, strict=True)
        if any(_says(result, name) for name in (names if study else ("gridc", "GRID card", *names)))
        or (study is None and not _measured(own).isdisjoint(_measured([result])))
    ]
    message = f"the `model-index` has {len(ours)} results that point to this study and are not its own"
    help_line = "remove them: `gridc card attach` writes those of the study"
    others = ", ".join(dict.fromkeys(study for study in studies if study is not None))
    return (
        [Diagnostic("GC707", message, str(readme), help=help_line)] if ours else [],
        [f"the results of other studies in the `model-index` ({others})"] if others else [],
    )


def _names(deck: CardDeck) -> ReservedNames:
    """What a text says that passes for the study's card: its digests, the words before its results, the
    marker of its section, the head of its card; and the name of any GRID card."""
    everywhere = (
        *_digests(deck),
        f"gridc study {deck.study}",
        f"gridc:card begin {_marked(deck)}",
        f"GRID card: {deck.title}",
    )
    return ReservedNames(everywhere, ("GRID card", *everywhere))


def _digests(deck: CardDeck) -> tuple[str, ...]:
    """As much of the study's digests as is printed where they are short, whatever follows."""
    return tuple(
        f"{digest[:12]}{OPEN}" for digest in (deck.stamp, deck.registered, deck.results, deck.certificate)
    )


def _says(result: Any, name: str) -> bool:
    texts = list(_strings(result))
    return (
        words_around(list(characters(texts + [unquote(unquote(text)) for text in texts])), name) is not None
    )


def _strings(value: Any) -> Iterator[str]:
    """Every text in a table of the front matter, keys among them."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            todo += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set):
            todo += part
        elif isinstance(part, bytes):
            yield part.decode(errors="replace")
        else:
            yield str(part)


def _fields(path: str, value: Any) -> Iterator[str]:
    """The values in a table of the front matter, each behind its keys."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _fields(f"{path} {key}", part)
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _fields(path, part)
    else:
        yield f"{path}: {value}"


def _canonical(result: Any) -> str:
    """The same text for the same tables, whatever the order and the kinds of their keys."""
    if isinstance(result, Mapping):
        return f"{{{', '.join(sorted(f'{key!r}: {_canonical(part)}' for key, part in result.items()))}}}"
    if isinstance(result, list):
        return f"[{', '.join(map(_canonical, result))}]"
    return repr(result)


def _measured(results: Iterable[Any]) -> set[tuple[str, str]]:
    """Benchmark and metric of results, in letters."""
    pairs = set()
    for result in results:
        table = result if isinstance(result, dict) else {}
        dataset, metrics = table.get("dataset"), table.get("metrics")
        for metric in metrics if isinstance(metrics, list) else []:
            if isinstance(dataset, dict) and isinstance(metric, dict):
                pairs.add((_spelled(dataset.get("name")), _spelled(metric.get("name"))))
    return pairs


def _other_study(result: Any, deck: CardDeck) -> str | None:
    """Which other study a result names as its source, in the words of gridc."""
    source = result.get("source") if isinstance(result, dict) else None
    named = SOURCE.fullmatch(str(source.get("name"))) if isinstance(source, dict) else None
    return named.group(1) if named and _spelled(named.group(1)) != _spelled(deck.study) else None


def _spelled(name: object) -> str:
    return "".join(map(letters_only, str(name)))


def _study(deck: CardDeck) -> str:
    return f"gridc study {deck.study},"


def model_of(deck: CardDeck, wanted: str | None) -> str:
    """The model whose cards are attached: the only one, or the one that is asked for, by its id or as logs
    call it. Raises `UsageError` (GC000) where neither says."""
    names = _called(deck)
    if wanted is None and len(names) == 1:
        return next(iter(names))
    if wanted is None:
        message = "the study has several models, and a model card is about one"
        raise UsageError([Diagnostic("GC000", message, help=f"--model {' | '.join(names.values())}")])
    return next((model for model, name in names.items() if name == wanted), wanted)


def _called(deck: CardDeck) -> dict[str, str]:
    """What the models are called, in logs too, by their ids."""
    return {card.model: (deck.recorded and card.model_note) or card.model for card in deck.cards}


def model_index(deck: CardDeck, model: str, link: str | None = None) -> list[dict[str, Any]]:
    """The `model-index` of one model's point scores, made by huggingface_hub's own classes. Cells that are
    not measured have no entry."""
    try:
        from huggingface_hub.repocard_data import EvalResult, eval_results_to_model_index
    except ImportError:
        message = "model cards need huggingface_hub, which is not installed"
        raise UnavailableError([Diagnostic("GC604", message, help="pip install 'gridc[hub]'")]) from None
    eval_results = [
        EvalResult(
            task_type="text-generation",
            dataset_type=card.benchmark,
            dataset_name=card.benchmark,
            metric_type=_metric(deck, card)[0],
            metric_name=f"{_metric(deck, card)[1]} under {_configuration(card)}",
            metric_value=round(card.point_score.score, 6),
            metric_args={"items": card.items, "rows": card.point_score.rows, "certificate": deck.certificate},
            source_name=f"{_study(deck)} stamp {deck.stamp[:12]}",
            source_url=link or certificate_urn(deck),
        )
        for card in deck.cards
        if card.model == model and card.point_score.score is not None
    ]
    index: list[dict[str, Any]] = eval_results_to_model_index(model, eval_results) if eval_results else []
    return index


def certificate_urn(deck: CardDeck) -> str:
    """A certificate's name where it has no address: `urn:gridc:certificate:sha256:...`."""
    return f"urn:gridc:certificate:sha256:{deck.certificate}"


def deck_of(deck: CardDeck, model: str) -> CardDeck:
    """What the cards of a study say of one model."""
    own = tuple(card for card in deck.cards if card.model == model)
    if not own:
        names = ", ".join(_called(deck).values())
        raise UsageError([Diagnostic("GC000", f"the study has no model `{model}`", help=f"it has {names}")])
    compared = tuple(each for each in deck.differences if model in (each.a, each.b))
    return deck.model_copy(update={"cards": own, "differences": compared})


def _metric(deck: CardDeck, card: Card) -> tuple[str, str]:
    """Type and name: an accuracy only where right answers are counted and more of them is good."""
    measured, direction = "share of gold answers", better_score_words(card.lower_is_better, card.target)
    if deck.scoring:
        measured = "score"
    kind = "score" if deck.scoring or direction else "accuracy"
    return kind, f"{measured}, {direction}" if direction else measured


def _configuration(card: Card) -> str:
    return ", ".join(f"{axis}={level}" for axis, level in card.axis_receipt.configuration.items()) or ONLY


def _section(own: CardDeck, model: str, link: str | None) -> str:
    text = as_markdown(own, heading="##", link=link or certificate_urn(own)).strip()
    begin = f"<!-- gridc:card begin {_marked(own)} {model} {link or '-'} -->"
    return f"{begin}\n{text}\n<!-- gridc:card end {_marked(own)} -->"


def _marked(deck: CardDeck) -> str:
    """What the markers of its section are called by."""
    return OF_LOGS if deck.recorded else deck.study


def _with_index(text: str, own: CardDeck, model: str, link: str | None, newline: str, file: str) -> str:
    """The text with the model's results in its `model-index`, which is made when there is none. The results
    of other studies stay where they are."""
    index = model_index(own, model, link)
    results = index[0]["results"] if index else []
    begin, end = f"# gridc:card begin {own.study}{newline}", f"# gridc:card end {own.study}{newline}"
    front = FRONT.match(text)
    old = "" if front is None else front.group(2)
    held = _region(old, begin, end, file)
    before, head, indent, at = _ready(old, held, len(begin), model, newline, file)
    theirs = _results(f"{before[:at]}{head}{before[at:]}", file) or []
    if not index and not theirs:
        return text if held is None or front is None else _with_front_matter(text, front, _bare(old))
    if not index and not head:
        return text if held is None or front is None else _with_front_matter(text, front, before)
    lines = f"{begin}{head}{_dump(results, newline, indent=indent) if results else ''}{end}"
    made = before[:at] + lines + before[at:]
    now = _results(made, file) or []
    if [result for result in now if result not in results] != [
        result for result in theirs if result not in results
    ]:
        raise _unclear(file, "results cannot be added to its `model-index` without touching the rest")
    if [result for result in now if result in results] != results:
        raise _unclear(file, "results cannot be added to its `model-index` without touching the rest")
    if front is None:
        return f"---{newline}{made}---{newline}{newline if text else ''}{text}"
    return _with_front_matter(text, front, made)


def _ready(
    front: str, held: tuple[int, int] | None, skip: int, model: str, newline: str, file: str
) -> tuple[str, str, str, int]:
    """The front matter made ready for a study's results, the head of a `model-index` where they need one,
    their indent, and where they go. `held` is the study's own region, which is cut out; its marker has
    `skip` characters."""
    head = f"model-index:{newline}- {_dump({'name': model}, newline)}  results:{newline}"
    without = front if held is None else front[: held[0]] + front[held[1] :]
    others = _regions(without)
    if not others:
        without = _bare(without)
        if _parsed(without, file).get("model-index") is None:
            before = NO_TABLE.sub(ASIDE, without, count=1)
            return before, head, "  ", held[0] if held and before == without else len(before)
        _results(without, file)
        before, indent, at = _place(without, file)
        return before, "", indent, held[0] if held and before == without else at
    begin, end = others[-1]
    inside = without[begin:end] if held is None else front[held[0] + skip : held[1]]
    item = ITEM.search(inside) or ITEM.search(without[begin:end])
    if item is None:
        raise _unclear(file, "the results of another study are not between their markers")
    at = end if held is None else held[0]
    return without, head if held and inside.startswith("model-index:") else "", item.group(1), at


def _bare(front: str) -> str:
    """The front matter without any results of gridc's, and what was set aside for them put back."""
    kept, at = [], 0
    for begin, end in _regions(front):
        kept.append(front[at:begin])
        at = end
    return "".join([*kept, front[at:]]).replace(ASIDE, "")


def _regions(front: str) -> list[tuple[int, int]]:
    """Where the results of studies stand, markers included."""
    regions: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for marker in MARKER.finditer(front):
        if opened is None and marker.group(1) == "begin":
            opened = marker
        elif opened is not None and marker.groups() == ("end", opened.group(2)):
            regions.append((opened.start(), marker.end()))
            opened = None
    return regions


def _results(front: str, file: str) -> list[Any] | None:
    """The results in a `model-index` of one model; None where the front matter has none."""
    table = _parsed(front, file)
    return None if table.get("model-index") is None else _index_results(table, file)


def _index_results(front: Mapping[str, Any], file: str) -> list[Any]:
    index = front.get("model-index")
    if index is None:
        return []
    if not (isinstance(index, list) and len(index) == 1 and isinstance(index[0], dict)):
        raise _unclear(file, "its `model-index` does not hold the results of one model")
    results = index[0].get("results", 0)
    if results is not None and not isinstance(results, list):
        raise _unclear(file, "its `model-index` does not hold the results of one model")
    return results or []


def _place(front: str, file: str) -> tuple[str, str, int]:
    """The front matter made ready for results in its `model-index`, their indent, and where they go: after
    those that are there, or below `results: []`, which trainers write, with the list set aside."""
    block = INDEX.search(front)
    empty = None if block is None else NO_RESULTS.search(front, *block.span())
    if empty is not None:
        ready = front[: empty.end()] + ASIDE + front[empty.end() :]
        return ready, empty.group(1).replace("-", " "), ready.index("\n", empty.end()) + 1
    items = None if block is None else ITEMS.search(front, *block.span())
    if block is None or items is None:
        raise _unclear(file, "the results of its `model-index` are not written as a list of lines")
    after = re.compile(rf"^(?!{items.group(1)}- )[ \t]{{0,{len(items.group(1))}}}[^ \t\r\n#]", re.MULTILINE)
    next_key = after.search(front, items.end(), block.end())
    return front, items.group(1), block.end() if next_key is None else next_key.start()


def _with_front_matter(text: str, front: re.Match[str], inside: str) -> str:
    return front.group(1) + inside + front.group(3) + text[front.end() :]


def _dump(value: Any, newline: str, indent: str = "") -> str:
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
    return "".join(f"{indent}{line}{newline}" for line in text.splitlines())


@lru_cache(maxsize=4)
def _parsed(front: str, file: str) -> Mapping[str, Any]:
    import yaml

    if len(front) > MOST_FRONT:
        raise _unclear(file, f"its front matter has more than {MOST_FRONT:,} characters")
    # libyaml is ten times as fast, and its composer overflows the stack on deep nesting: hence the depth.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for token in yaml.scan(front, loader):
            # An alias may stand for a text that is exponentially longer than the file.
            if isinstance(token, yaml.AliasToken):
                raise _unclear(file, "its front matter uses YAML aliases")
            depth += type(token).__name__.endswith("StartToken") - type(token).__name__.endswith("EndToken")
            if depth > MOST_DEPTH:
                raise _unclear(file, "its front matter is nested too deeply")
        _require_unique(yaml.compose(front, loader), file)
        table = yaml.load(front, loader) or {}
    except (yaml.YAMLError, AttributeError, LookupError, ValueError) as error:
        # The others are PyYAML's own for a value that its tag or form does not fit, as the 30th of February.
        raise _unclear(file, f"its front matter is not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(table, dict):
        raise _unclear(file, "its front matter is not a table")
    return table


def _require_unique(document: Any, file: str) -> None:
    """Refuse what programs read differently: a key that stands twice, and one that merges another table."""
    todo = [] if document is None else [document]
    while todo:
        node = todo.pop()
        if node.id == "sequence":
            todo += node.value
        elif node.id == "mapping":
            keys = [(key.tag, str(key.value)) for key, _ in node.value]
            if len(set(keys)) < len(keys) or any(tag.endswith(":merge") for tag, _ in keys):
                raise _unclear(file, f"a table of its front matter has a key twice (line {_line(node)})")
            todo += [part for pair in node.value for part in pair]


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 2


def _region(text: str, begin: str, end: str, file: str) -> tuple[int, int] | None:
    """Where a marked region starts and ends, markers included. None when there is none."""
    starts, ends = list(_places(text, begin)), list(_places(text, end))
    if not starts and not ends:
        return None
    if len(starts) != 1 or len(ends) != 1 or starts[0] > ends[0]:
        raise _unclear(file, f"the markers `{begin.strip()}` and `{end.strip()}` do not enclose one section")
    return starts[0], ends[0] + len(end)


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _read(path: Path) -> str:
    try:
        return read_regular(path, MOST_CARD).decode()
    except UnicodeDecodeError:
        raise _unclear(str(path), "it is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise _unclear(str(path), str(error)) from None


def _unclear(file: str, problem: str) -> FileError:
    return FileError([Diagnostic("GC610", f"the model card cannot be changed: {problem}", file)])
