"""What each rule for refusals finds in responses that people labelled, and what it takes for a refusal:

    GRIDC_REAL=... python -m tests.instrument.refusal_figures > gridc/compiler/instrument/refusals.csv

The responses are those of XSTest's authors to half of their prompts. Who wrote the rules looked at the open
half of these prompts alone. `written` are the texts of `tests/compiler/refusals.jsonl`.
"""

import csv
import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from gridc.compiler.instrument import refusals
from gridc.compiler.instrument.refusals import RULES, RefusalError, refusal_keywords

HERE = Path(__file__).parent
WRITTEN = HERE.parent / "compiler" / "refusals.jsonl"
FIGURES = Path(refusals.__file__).with_suffix(".csv")
REAL = os.environ.get("GRIDC_REAL")
NO_REAL = "GRIDC_REAL does not say where the responses lie that people labelled"
LABELS = {"1_full_compliance": "answers", "2_full_refusal": "refusals", "3_partial_refusal": "partial",
          "answered": "answers", "refused": "refusals"}  # fmt: skip
ENGLISH = [name for name in RULES if "English" in name]
PEERS = ("phrases", "string match", "GPT-4")
LOOSER = {
    "a denied premise": r"\b(?:is|are|was|were) (?:no|not) (?:\w+ )?"
    r"(?:reason|justif\w+|benefits?|right|good|best|true)",
    "disapproval": r"\b(?:unethical|immoral|unacceptable|harmful|discriminat\w+|not acceptable)\b",
    "what is important": r"\bit(?:'s| is) (?:also )?important to\b",
}
"""Words that find more refusals and too many answers: no rule has them. Each is added to those before."""
CURVE = (*(f"rules to {name}" for name in ENGLISH[1:4]), "phrases",
         *(f"and {name}" for name in LOOSER))  # fmt: skip


class Labelled(NamedTuple):
    """A response with its half, who gave it, and whether it refuses to people and to other readers."""

    half: str
    model: str
    text: str
    people: str
    others: Mapping[str, str] = {}


class Figure(NamedTuple):
    """How many of a model's refusals, partial refusals and answers a reader calls refusals."""

    half: str
    reader: str
    model: str
    refusals: int
    partial: int
    answers: int


def half_of(prompt: str) -> str:
    """Half of the prompts were open to whoever wrote the rules, by a bit of their hash."""
    return "held" if hashlib.sha256(prompt.encode()).digest()[0] % 2 else "open"


def written() -> Iterator[Labelled]:
    for row in map(json.loads, WRITTEN.read_text("utf-8").splitlines()):
        yield Labelled(row["half"], "written", row["text"], LABELS[row["behaviour"]])


def real() -> Iterator[Labelled]:
    if REAL is None:
        raise SystemExit(NO_REAL)
    for row in map(json.loads, (Path(REAL) / "xstest_labelled.jsonl").read_text("utf-8").splitlines()):
        others = {name: LABELS.get(row[name], "none") for name in ("string_match", "gpt4")}
        yield Labelled(half_of(row["prompt"]), row["model"], row["response"], LABELS[row["people"]], others)


def counted(responses: Iterable[Labelled]) -> list[Figure]:
    """The figures of every reader that calls any of these responses a refusal."""
    readers = _readers()
    found = Counter(
        (one.half, reader, one.model, one.people)
        for one in responses
        for reader, refuses in readers.items()
        if refuses(one)
    )
    order = {reader: place for place, reader in enumerate(readers)}
    places = sorted({key[:3] for key in found}, key=lambda key: (key[0], order[key[1]], key[2]))
    return [
        Figure(*place, *(found[*place, label] for label in ("refusals", "partial", "answers")))
        for place in places
    ]


def _readers() -> dict[str, Callable[[Labelled], bool]]:
    """Whoever says whether a response refuses, by name: people or nobody (`all`), the phrases together, two
    other readers, each rule alone, and what loosens the phrases step by step."""
    return {
        "all": lambda one: True,
        "phrases": _reads(None),
        "string match": lambda one: one.others.get("string_match") == "refusals",
        "GPT-4": lambda one: one.others.get("gpt4") == "refusals",
        **{name: _reads(_any(name)) for name in RULES},
        **{f"rules to {ENGLISH[n]}": _reads(_any(*ENGLISH[: n + 1])) for n in range(1, len(ENGLISH))},
        **{f"first {most} characters": _within(most) for most in (100, 200, 300, 1000)},
        "whole response": _within(10**6),
        **{f"and {name}": _looser(n) for n, name in enumerate(LOOSER, 1)},
    }


def _any(*names: str) -> re.Pattern[str]:
    return re.compile("|".join(phrase for name in names for phrase in RULES[name]))


def _reads(phrases: re.Pattern[str] | None) -> Callable[[Labelled], bool]:
    return lambda one: refusal_keywords(one.text, phrases).option == 1


def _looser(steps: int) -> Callable[[Labelled], bool]:
    phrases, words = _reads(None), _reads(re.compile("|".join([*LOOSER.values()][:steps])))
    return lambda one: phrases(one) or words(one)


def _within(most: int) -> Callable[[Labelled], bool]:
    def reads(one: Labelled) -> bool:
        with patch.object(refusals, "WINDOW", most):
            return refusal_keywords(one.text).option == 1

    return reads


def committed() -> list[Figure]:
    rows = csv.reader(FIGURES.read_text("utf-8").splitlines()[1:])
    return [Figure(half, reader, model, *map(int, counts)) for half, reader, model, *counts in rows]


def as_csv(figures: Iterable[Figure]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Figure._fields, *figures])
    return text.getvalue()


def errors(figures: Iterable[Figure]) -> tuple[RefusalError, ...]:
    """What the phrases get wrong on the held half, by model, and on the texts that were written last."""
    held = _held(figures)
    return tuple(_error(held, "phrases", model) for model in [*_models(held), "written"])


def error_table(figures: Iterable[Figure]) -> str:
    """What three readers get wrong on the held half, by model."""
    held = _held(figures)
    head = [f"{reader}: {wrong}" for reader in PEERS for wrong in ("missed", "taken")]
    rows = [["", *head, "phrases: of partial refusals"]]
    for model in _models(held):
        found = [_error(held, reader, model) for reader in PEERS]
        counts = [f"{part} of {whole}" for each in found for part, whole in _wrong(each)]
        rows.append([f"`{model}`", *counts, f"{found[0].partial_taken} of {found[0].partial}"])
    return _markdown(rows)


def curve_table(figures: Iterable[Figure]) -> str:
    """What is missed and what is taken on the held half, in percent, as the phrases are loosened."""
    held = _held(figures)
    rows = [["", *(f"`{model}`" for model in _models(held))]]
    for reader in CURVE:
        shares = [
            [100 * part / whole for part, whole in _wrong(_error(held, reader, model))]
            for model in _models(held)
        ]
        rows.append([reader, *(f"{missed:.0f} / {taken:.0f}" for missed, taken in shares)])
    return _markdown(rows)


Held = Mapping[tuple[str, str], Figure]
"""The figures of the held half, by reader and model."""


def _held(figures: Iterable[Figure]) -> Held:
    return {(each.reader, each.model): each for each in figures if each.half == "held"}


def _models(held: Held) -> list[str]:
    return sorted({model for _, model in held} - {"written"})


def _error(held: Held, reader: str, model: str) -> RefusalError:
    of, read = held["all", model], held.get((reader, model), Figure("held", reader, model, 0, 0, 0))
    missed = of.refusals - read.refusals
    return RefusalError(model, of.refusals, missed, of.answers, read.answers, of.partial, read.partial)


def _wrong(error: RefusalError) -> tuple[tuple[int, int], tuple[int, int]]:
    return (error.missed, error.refusals), (error.taken, error.answers)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


if __name__ == "__main__":
    print(as_csv(counted([*written(), *real()])), end="")
