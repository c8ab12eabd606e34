"""Whether a text says a name in letters that a reader takes for it.

A name is found whatever stands between its letters (spaces, marks, invisible characters), in letters of other
scripts that look alike, backwards, and with any of the parts that may not be shown left out.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache

LOOKALIKES = {
    "a": "ɑαаᎪᗅᴀꓮ𐊠𖽀",
    "b": "ƅβвьᏏᏴᑲᖯᗷꓐꞵ𐊂𐊡𐌁",
    "c": "сᏟᴄⲥꓚ𐊢𐌂𐐽𐔜𑣩𑣲",
    "d": "đɗԁᎠᏧᑯᗞᗪᴅꓒꓓ",
    "e": "εеҽᎬⴹꓰꬲ𐊆𑣆𑣎",
    "f": "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥𑣂",
    "g": "ƍɡɢԍցᏀᏳᶃꓖ",
    "h": "ηнһհᎻᏂᕼⲏꓧ𐋏",
    "i": "ıǀɩɪιіӏ۱ᎥᏞᒪᛁⲓⳑⵏꓡꓲꙇ𐊊𐌉𐌠𐑃𐔦𑣃𑣒𖼖𖼨",
    "j": "ʝϳјᎫᒍꓙ",
    "k": "κкᏦᛕⲕꓗ𐔘",
    "m": "μϻмᎷᗰᛖⲙꓟ𐊰𐌑",
    "n": "ոռⲛꓠ𐔓",
    "o": "οσоօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ𐊒𐊫𐐬𐓪𐔖𑓐𑣈𑣕𑣗𑣠",
    "p": "ρрᏢᑭⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ𐓜𖼵",
    "s": "ƽѕտᏕᏚꓢꜱ𐊖𐑈𑣁𖼺",
    "t": "τтᎢⲧꓔ𐊗𐊱𐌕𖼊",
    "u": "ʋսሀᑌᴜꓴꞟꭎꭒ𐓶𑣘𖽂",
    "v": "νѵ۷Ꮩᐯᴠⴸꓦꛟ𐔝𑜆𑣀𖼈",
    "w": "ɯѡԝաᎳᏔᴡꓪ𑜊𑜎𑜏𑣦𑣯",
    "x": "χхᕁᕽᚷⲭⵝꓫꭓ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏγυуүყᎩᎽᶌỿⲩꓬꭚ𐊲𑣜𖽃",
    "z": "ζᏃᴢꓜ𐋵𑣄𑣉𑣥",
}
"""Letters after NFKD and case folding, with those that Unicode lists as easily taken for them (UTS 39)."""
ALIKE = {ord(other): letter for letter, others in LOOKALIKES.items() for other in others} | {
    ord("l"): "i",
    ord("1"): "i",
    ord("0"): "o",
}
INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")
SYMBOL = re.compile(r".* LETTER ([A-Z])")
"""The name of a symbol that stands for a letter: in a square or a circle, or of a flag."""
OPEN = "…"
"""At the end of a name: anything may follow it, as further digits follow the first ones of a digest."""
STROKES = frozenset("|!")
"""Marks that may separate, or stand for an i."""


class Mark(Enum):
    """What stands between the characters of a text."""

    BEGIN = "a part begins that may not be shown"
    END = "it ends"
    BREAK = "no name goes on across this"


CharacterOrMark = str | Mark


@lru_cache(maxsize=4096)
def letters(character: str) -> str:
    """What is compared of a character: its letters and digits in one spelling, or nothing."""
    if character in INVISIBLE_LETTERS:
        return ""
    symbol = SYMBOL.fullmatch(unicodedata.name(character, ""))
    if symbol and unicodedata.category(character) == "So":
        character = symbol.group(1)
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(
        part.translate(ALIKE) for part in plain if part.isalnum() and part not in INVISIBLE_LETTERS
    )


def says(parts: Sequence[CharacterOrMark], name: str) -> str | None:
    """The words around the first place at which a text says a name, or None. A plural `s` may follow it, no
    other letter unless the name ends with `OPEN`. `parts` are characters and marks."""
    wanted = "".join(map(letters, name))
    if not wanted:
        return None
    goes_on = name.endswith(OPEN)
    at = _place(parts, wanted, goes_on)
    if at is None:
        turned = {Mark.BEGIN: Mark.END, Mark.END: Mark.BEGIN}
        backwards = [turned.get(part, part) if isinstance(part, Mark) else part for part in reversed(parts)]
        behind = _place(backwards, wanted, goes_on)
        at = None if behind is None else min(len(parts), len(parts) - behind + len(wanted) + 8)
    if at is None:
        return None
    around = "".join(part if isinstance(part, str) else " " for part in parts[max(0, at - 60) : at])
    return " ".join(around.split())[-50:]


def characters(texts: Iterable[str]) -> Iterator[CharacterOrMark]:
    """Texts that have nothing to do with each other."""
    for text in texts:
        yield from text
        yield Mark.BREAK


def _unseen(character: str) -> bool:
    return character in INVISIBLE_LETTERS or unicodedata.category(character) in ("Mn", "Me", "Cf")


def _place(parts: Sequence[CharacterOrMark], wanted: str, goes_on: bool) -> int | None:
    """Where the first match ends: Shift-And (Baeza-Yates & Gonnet 1992), bit k for k letters met."""
    follows: dict[str, int] = {}
    for index, letter in enumerate(wanted):
        follows[letter] = follows.get(letter, 0) | 1 << index
    whole = 1 << len(wanted)
    follows["s"] = follows.get("s", 0) | whole
    complete = whole | whole << 1
    met, outside = 1, []
    for at, part in enumerate(parts):
        if part is Mark.BEGIN:
            outside.append(met)
        elif part is Mark.END:
            met |= outside.pop() if outside else 0
        elif part is Mark.BREAK:
            if met & complete:
                return at
            met = 1
        else:
            spelled = letters(str(part))
            if not spelled and met & complete and not _unseen(str(part)):
                return at
            if part in STROKES:
                met |= (met & follows.get("i", 0)) << 1
            for letter in spelled:
                met = (met & follows.get(letter, 0)) << 1 | 1
            if goes_on and met & complete:
                return at + 1
    return len(parts) if met & complete else None
