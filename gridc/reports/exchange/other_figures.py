"""Numbers in a model card beside its GRID card that the GRID card does not have.

A plain rule, of what is written in plain letters: a row, item or paragraph that names the model or a
benchmark of the card and has a percentage or a decimal, or that names gridc and has a percentage. What is
said of gridc is false; the rest may come from another harness, and is named.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_FIGURE = re.compile(r"(?<![\w.,/])(\d{1,3}(?:[.,]\d+)?)\s?%|(?<![\w.,/=])(\d{0,3}\.\d+)(?![\w.]*\d|\w)")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class OtherFigures:
    """Passages with such numbers: those that name gridc, and the others."""

    of_gridc: tuple[str, ...]
    others: tuple[str, ...]


def other_figures(blocks: Iterable[Sequence[str]], card: str, names: Iterable[str]) -> OtherFigures:
    """What stands beside a GRID card. `blocks` are tables, lists and paragraphs by their passages, first the
    head of a table or nothing; `card` is the text of the GRID card, `names` are its model and benchmarks."""
    printed = set(_figures(card, bare=True))
    named = re.compile(rf"\b(?:{'|'.join(re.escape(_words(name)) for name in names)})\b")
    of_gridc: list[str] = []
    others: list[str] = []
    for passages in blocks:
        head = any(map(_names_gridc, passages[:1]))
        for passage in passages:
            about, by_gridc = named.search(_words(passage)) is not None, _names_gridc(passage)
            figures = _figures(passage, bare=about) if about or by_gridc else ()
            if any(figure not in printed for figure in figures):
                (of_gridc if by_gridc or head else others).append(_shortened(passage))
    return OtherFigures(tuple(of_gridc), tuple(others))


def _figures(text: str, bare: bool) -> Iterator[float]:
    """The percentages of a text; with `bare` its other decimals too, shares as percentages."""
    for percent, decimal in _FIGURE.findall(unicodedata.normalize("NFKC", text)):
        if percent:
            yield float(percent.replace(",", "."))
        elif bare:
            value = float(decimal)
            yield round(100 * value, 6) if value <= 1 else value


def _names_gridc(passage: str) -> bool:
    return re.search(r"\bgridc\b", _words(passage)) is not None


def _words(text: str) -> str:
    return " ".join(re.split(r"[\W_]+", unicodedata.normalize("NFKC", text).casefold()))


def _shortened(passage: str) -> str:
    text = " ".join(passage.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
