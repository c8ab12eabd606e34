"""How a column names an option: by index from 0 or from 1, by letter or by text. Found out, never guessed.

Labels that options carry in their own texts (`A) iron`) name them too: by letter or number, and as part of
the text. A rule is taken only where it reads every row that any rule reads, and where no other rule that does
so gives another answer. Everything else is refused, with the answers that each rule would give.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from gridc.compiler.instrument.item import LETTERS
from gridc.compiler.instrument.options import CarriedLabels
from gridc.lookalikes import LATIN

GoldRule = Literal["letter", "text", "index", "one_based", "marks", "row_label"]
RULES: tuple[GoldRule, ...] = get_args(GoldRule)
WORDS: Mapping[GoldRule, str] = {
    "letter": "its letter",
    "text": "its text",
    "index": "its place, counted from 0",
    "one_based": "its place, counted from 1",
    "marks": "a list of marks with 1 at its place",
    "row_label": "its label in the row",
}
_LETTER = re.compile(r"[(\[]?\s*([A-Za-z])\s*[)\]]?[.:]?")
_NUMBER = re.compile(r"[+-]?\d{1,9}(?:\.0+)?")
SHOWN = 60
SHORT = 24
"""Letters of a text in which one that looks like another is named."""


def is_empty(value: Any) -> bool:
    """Whether a field holds nothing: null, white space, or the NaN that data frames write for null."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def gold_option(
    value: Any,
    options: Sequence[str],
    rule: str,
    labels: Sequence[str] = (),
    carried: CarriedLabels | None = None,
) -> int:
    """The option that a value names, of options as they stand in the row. `labels` are those of the row, and
    `carried` those that its options have in their texts, where there are some. Raises `ValueError` where the
    value names none, or several."""
    if is_empty(value):
        raise ValueError("it is empty")
    if rule == "row_label":
        return _by_label(value, options, labels)
    if rule == "letter":
        match = _LETTER.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None or match[1].upper() not in LETTERS[: len(options)]:
            raise ValueError(f"{spelled(value)} names none of the {len(options)} options")
        return _labelled(LETTERS.index(match[1].upper()), carried, numbers=False)
    if rule == "text":
        return _by_text(value, options) if carried is None else _by_either_text(value, options, carried)
    if rule == "marks":
        return _by_marks(value, options)
    number = _integer(value)
    if number is None:
        raise ValueError(f"{spelled(value)} is not a whole number")
    found = number - (rule == "one_based")
    if not 0 <= found < len(options):
        raise ValueError(f"{value!r} names none of the {len(options)} options")
    return found if rule == "index" else _labelled(found, carried, numbers=True)


def _labelled(place: int, carried: CarriedLabels | None, numbers: bool) -> int:
    """The option whose label has this place in its series, where options carry numbers, or letters; else the
    option at the place."""
    if carried is None or carried.labels[0].isdigit() is not numbers:
        return place
    return carried.places.index(place)


def _by_either_text(value: Any, options: Sequence[str], carried: CarriedLabels) -> int:
    """The option that is the text with its label, or else without."""
    try:
        return _by_text(value, options)
    except ValueError:
        return _by_text(value, carried.texts)


def _by_label(value: Any, options: Sequence[str], labels: Sequence[str]) -> int:
    """The option whose label the value is."""
    if len(labels) != len(options):
        raise ValueError(f"there are {len(labels)} labels for {len(options)} options")
    places = [number for number, label in enumerate(labels) if _fold(label) == _fold(str(value))]
    if len(places) != 1:
        raise ValueError(f"{spelled(value)} is the label of {len(places)} options, expected one")
    return places[0]


def _by_marks(value: Any, options: Sequence[str]) -> int:
    """The one option that is marked 1, where all others are marked 0."""
    marks = gold_marks(value)
    if marks is None or len(marks) != len(options):
        raise ValueError(
            f"{value!r} is not a list with a mark, 0 or 1, for each of the {len(options)} options"
        )
    if sum(marks) != 1:
        raise ValueError(f"{sum(marks)} options are marked 1, expected one")
    return marks.index(1)


def gold_marks(value: Any) -> list[int] | None:
    """The marks that a value is, as a list or written out; None where it is something else."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(mark, list) for mark in value):  # HELM's references have lists of tags
        return [int(CORRECT in mark) for mark in value]
    if all(mark in (0, 100) for mark in value):  # percent of the points, as Canvas and Moodle have them
        return [int(mark == 100) for mark in value]
    return [int(mark) for mark in value] if all(mark in (0, 1) for mark in value) else None


CORRECT = "correct"
"""The tag of a right answer in HELM's files."""


def spelled(value: Any) -> str:
    """A value as Python writes it. In a short text the first letter that is not ASCII is named by its code
    point, as it may look like another."""
    strange = [letter for letter in value if ord(letter) > 127] if isinstance(value, str) else []
    if not strange or len(value) > SHORT:
        return repr(value)
    name = unicodedata.name(strange[0], "no name")
    return f"{value!r} (U+{ord(strange[0]):04X}, {name})"


def _by_text(value: Any, options: Sequence[str]) -> int:
    """The one option that is the text; else the one that is, whatever its case and white space."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a text")
    texts = [str(value)] if _integer(value) is None else [str(value), str(_integer(value))]
    exact = [number for number, option in enumerate(options) if option in texts]
    folded = [number for number, option in enumerate(options) if _fold(option) in map(_fold, texts)]
    found = exact or folded
    if len(found) != 1:
        raise ValueError(f"{spelled(value)} is the text of {len(found)} options, expected one")
    return found[0]


def _looks(text: str) -> str:
    """What a text looks like, whatever its case, its marks and the alphabet of its letters."""
    letters = unicodedata.normalize("NFKD", text).casefold().translate(LATIN)
    return "".join(re.findall(r"\w+", letters))


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _integer(value: Any) -> int | None:
    """The whole number that a value is or says."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    stated = isinstance(value, str) and _NUMBER.fullmatch(value.strip())
    return int(float(value)) if stated else None


@dataclass(frozen=True, slots=True)
class Case:
    """A value that has to name an option: its row as people count, and what the row asks. Where the row gives
    its options `labels`, the value is one of these and nothing else; `carried` are those in their texts."""

    row: str
    query: str
    options: tuple[str, ...]
    value: Any
    labels: tuple[str, ...] | None = None
    carried: CarriedLabels | None = None

    def under(self, rule: GoldRule) -> int | None:
        """The option that the value names under a rule; None where it names none."""
        if (rule == "row_label") is (self.labels is None):
            return None
        try:
            return gold_option(self.value, self.options, rule, self.labels or (), self.carried)
        except ValueError:
            return None

    @property
    def nearly(self) -> str | None:
        """What was most likely meant by a value that names no option: the letter that it begins with, as in
        `B) iron`, or the one text that looks like it; None where nothing is near."""
        written = str(self.value).strip()
        labelled = re.fullmatch(r"[(\[]?([A-Za-z])[)\].:]+\s*(.+)", written)
        if labelled and labelled[1].upper() in LETTERS[: len(self.options)]:
            return labelled[1].upper()
        if not written.isascii() and _LETTER.fullmatch(alike := _looks(written)):
            return alike.upper()
        texts = self.options if self.carried is None else self.carried.texts
        near = [text for text in texts if _looks(text) == _looks(written)]
        return near[0] if len(near) == 1 else None

    @property
    def texts(self) -> tuple[str, ...]:
        """What the options may be called: as they stand, and without the labels in them."""
        return self.options if self.carried is None else (*self.options, *self.carried.texts)

    def answered(self, rule: GoldRule) -> str:
        """`row 2 (What is it?) is answered by `salt``."""
        found = self.under(rule)
        options = self.options if self.carried is None else self.carried.texts
        text = "nothing" if found is None else f"`{short(options[found])}`"
        return f"{self.row} ({short(self.query)}) is answered by {text}"


@dataclass(frozen=True)
class GoldSurvey:
    """What each rule makes of every value that is not empty."""

    cases: tuple[Case, ...]

    @cached_property
    def read(self) -> Mapping[GoldRule, tuple[int | None, ...]]:
        return {rule: tuple(case.under(rule) for case in self.cases) for rule in RULES}

    def reads(self, rule: GoldRule) -> int:
        """How many values name an option under a rule."""
        return sum(option is not None for option in self.read[rule])

    @cached_property
    def fitting(self) -> tuple[GoldRule, ...]:
        """The rules that read every value that any rule reads, one for each set of answers that they give."""
        some = [any(self.read[rule][n] is not None for rule in RULES) for n in range(len(self.cases))]
        full = [rule for rule in RULES if self.reads(rule) == sum(some) > 0]
        return tuple({self.read[rule]: rule for rule in reversed(full)}.values())[::-1]

    @cached_property
    def complete(self) -> tuple[GoldRule, ...]:
        """The fitting rules, where they read every value."""
        return tuple(rule for rule in self.fitting if self.reads(rule) == len(self.cases))

    def unread(self, rule: GoldRule) -> Case | None:
        """The first value that a rule does not read."""
        pairs = zip(self.cases, self.read[rule], strict=True)
        return next((case for case, option in pairs if option is None), None)

    def parted(self, one: GoldRule, other: GoldRule) -> Case:
        """The first value that names another option under one rule than under the other."""
        pairs = zip(self.cases, self.read[one], self.read[other], strict=True)
        return next(case for case, left, right in pairs if left != right)

    def numbers(self) -> str:
        """What tells counting from 0 and from 1 apart: `18 rows are 0 and none is the number of options`."""
        numbers = [(_integer(case.value), len(case.options)) for case in self.cases]
        zeros = sum(number == 0 for number, _ in numbers)
        tops = sum(number == count for number, count in numbers)
        counts = {count for _, count in numbers}
        last = str(max(counts)) if len(counts) == 1 else "the number of its options"
        return f"{_rows(zeros)} 0 and {_rows(tops, zeros > 0)} {last}"

    def forms(self) -> str:
        """What the values are, by kind: `52 whole numbers (0 to 3), 18 letters (A to D)`."""
        kinds: dict[str, list[Any]] = {}
        for case in self.cases:
            number = _integer(case.value)
            text = str(case.value).strip()
            if number is not None:
                kinds.setdefault("whole numbers", []).append(number)
            elif isinstance(case.value, str) and _LETTER.fullmatch(text):
                kinds.setdefault("letters", []).append(text)
            elif case.under("text") is not None:
                kinds.setdefault("texts of options", []).append(text)
            elif gold_marks(case.value) is not None:
                kinds.setdefault("lists of marks", []).append(text)
            else:
                kinds.setdefault("other values", []).append(spelled(text) if not text.isascii() else text)
        parts = []
        for kind, values in kinds.items():
            least, most = short(str(min(values))), short(str(max(values)))
            parts.append(f"{len(values):,} {kind} ({least}{'' if least == most else f' to {most}'})")
        return ", ".join(parts)

    def spellings(self, rule: GoldRule) -> str:
        """How the values are written, where that is not in the plain way; else nothing."""
        if rule == "letter":
            odd = Counter(_spelling(str(case.value)) for case in self.cases)
            return (
                ""
                if set(odd) <= {"A"}
                else f"; letters are written as in {', '.join(f'`{form}`' for form in odd)}"
            )
        if rule == "text":
            loose = sum(str(case.value) not in case.texts for case in self.cases)
            return f"; {loose:,} differ from the option in case or white space" if loose else ""
        return ""


def _spelling(text: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", text))


def _rows(count: int, after: bool = False) -> str:
    if count == 0:
        return "none is" if after else "no row is"
    if after:
        return f"{count:,} {'is' if count == 1 else 'are'}"
    return "1 row is" if count == 1 else f"{count:,} rows are"


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."
