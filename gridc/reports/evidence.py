"""Compares the JSON documents of a report with those that this version makes from the store.

Its data are evidence. Its sentences (`schema.rows.Sentence`) render that evidence, as page and Markdown do,
and are compared only where the same code wrote them. In the present format of a document every value must be
the same; in an older one every value but those that are found by another method since (`OLDER`), which are
named; a format that is not known is refused. What a file says of the gridc that wrote it decides nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from math import isclose
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from gridc.compiler.lock.deviations import ABSENT
from gridc.numbers import counted
from gridc.schema import card, certificate, deviation, estimates, scorecard
from gridc.schema.canonical import digest_bytes, each_key_once
from gridc.schema.rows import OWN_WORDS, SentencesAt

Keys = tuple[str, ...]
DOCUMENTS: Mapping[str, tuple[type[BaseModel], str]] = {
    "certificate.json": (certificate.Certificate, certificate.FORMAT),
    "estimates.json": (estimates.Estimates, estimates.FORMAT),
    "gridcard.json": (card.CardDeck, card.FORMAT),
    "scorecard.json": (scorecard.Scorecard, scorecard.FORMAT),
    "deviations.json": (deviation.DeviationReport, deviation.FORMAT),
}
"""The documents that hold evidence: what each is, and its present format."""

_PAIR = "benchmarks * scopes * pairs * evidence"
_OF_PAIRS = (
    *(f"{_PAIR} {name}" for name in ("certified", "supported", "tier", "rho_low", "rho_high")),
    "benchmarks * ordering_claims",
    *(f"benchmarks * tests * configurations * {name}" for name in ("p_minus", "p_plus")),
    *(f"benchmarks * tests * configurations * adjusted_{name}" for name in ("minus", "plus")),
    *(f"hypotheses * {name}" for name in ("verdict", "support", "refute", "noise")),
)
"""What is claimed of pairs and orders: where many answers are unread, each counts against it since."""
_CONTRAST = "hypotheses * effect contrasts *"
_OF_CONTRASTS = tuple(
    f"{_CONTRAST} {name}"
    for name in ("change interval", "other interval", "risk_ratio_interval", "number_needed", "recovery")
)
OLDER: Mapping[str, tuple[str, ...]] = {
    "gridc-certificate/1": (
        "anchor before_first_call",
        "benchmarks * envelope * scores * interval",
        "benchmarks * intervals effective",
        "benchmarks * intervals gaps",
        "benchmarks * intervals resamples",
        "benchmarks * intervals seed",
        "benchmarks * items",
        "benchmarks * rates * gaps",
        "benchmarks * rates * models * * interval",
        *_OF_PAIRS,
        f"{_PAIR} smallest_gap",
        "benchmarks * units",
        "gridc",
        *_OF_CONTRASTS,
        "statistics",
    ),
    "gridc-certificate/2": ("gridc", *_OF_PAIRS),
    "gridc-estimates/1": (
        "estimates * interval",
        "estimates * level",
        "estimates *number_needed/benefit",
        "estimates *number_needed/harm",
        "estimates change/*",
        "estimates integrity/* n",
        "estimates integrity/*/right estimate",
    ),
    "gridc-card/1": (
        "cards * items",
        "cards * point_score interval",
        "cards * ranking_stability pairs * certified",
        "cards * ranking_stability pairs * supported",
        "cards * rates * interval",
        "cards * scope_statement made_with harness",
        "cards * units",
    ),
    "gridc-card/2": (
        "cards * ranking_stability pairs * certified",
        "cards * ranking_stability pairs * supported",
    ),
    "gridc-scorecard/1": (
        "claims",
        "gridc",
        *_OF_CONTRASTS,
        "integrity",
        *(f"methodology {line} holds" for line in ("stamped_first", "vouched", "deviations")),
        "methodology * counts earlier_stamps",
        "methodology * counts superseded",
        "methodology * counts diverge",
        "methodology curve counts declared",
        "models * matrix * change",
        "models * matrix * interval",
        "threats * counts",
    ),
    "gridc-deviations/1": (),
}
"""Of each older format what is found by another method since: a step for each key, with a row's `id` for its
place in a list. It holds for all that lies below. What such a format does not have is named as well."""

ROUNDED = 1e-4
"""Up to this, relatively, two numbers of an older format differ by how they were rounded."""


@dataclass(frozen=True, slots=True)
class ComparedEvidence:
    """Where the evidence of a document is not what the store says, and what was not compared, behind `not
    compared in NAME`; None where all was."""

    differs: tuple[str, ...] = ()
    left: str | None = None


def compare_document(name: str, theirs: bytes, ours: str, certificate: bytes | None) -> ComparedEvidence:
    """The document `name` as it lies there against this version's. `certificate` is the one that lies beside
    it, which it names by its digest."""
    model, present = DOCUMENTS[name]
    try:
        document = json.loads(theirs, object_pairs_hook=each_key_once)
    except (ValueError, RecursionError) as error:
        return ComparedEvidence((f"it is not JSON that reads in one way ({str(error)[:60]})",))
    stated = str(document.get("format")) if isinstance(document, dict) else ""
    if stated != present and (stated not in OLDER or stated.partition("/")[0] != present.partition("/")[0]):
        shown = json.dumps(stated)[:40]
        return ComparedEvidence((f"its format is {shown}, and this gridc knows {present} and older ones",))
    expected = json.loads(ours)
    if certificate is not None and "certificate" in expected:
        expected["certificate"] = digest_bytes(certificate)
    expected["format"] = stated
    words, found = sentence_keys(model), list(_differences(document, expected))
    reworded = {path for path, _, _ in found if _is_one_of(path, words)}
    found = [each for each in found if each[0] not in reworded]
    if stated == present:
        left = f": {counted(len(reworded), 'sentence')}" if reworded else None
        return ComparedEvidence(tuple(".".join(path) for path, _, _ in found), left)
    changed: dict[str, int] = {}
    absent, differs = 0, []
    for path, a, b in found:
        pattern = next((each for each in OLDER[stated] if _is_one_of(path, [tuple(each.split(" "))])), None)
        if pattern is not None:
            changed[pattern] = changed.get(pattern, 0) + 1
        elif a is ABSENT:
            absent += 1
        elif not _is_rounded(a, b):
            differs.append(".".join(path))
    since = [f"{pattern.replace(' ', '.')} ({count:,})" for pattern, count in sorted(changed.items())]
    parts = [
        counted(len(reworded), "sentence") if reworded else "",
        f"{counted(absent, 'value')} that it does not have" if absent else "",
        f"found by another method since: {', '.join(since)}" if since else "",
    ]
    told = "; ".join(part for part in parts if part)
    return ComparedEvidence(tuple(differs), f" (older format {stated}): {told}" if told else None)


@lru_cache
def sentence_keys(model: type[BaseModel]) -> frozenset[Keys]:
    """Where a document holds sentences of gridc's own, with `*` for any key and any place in a list. A list
    of nothing else is one place: how many sentences say something is wording too."""
    return frozenset(_sentences(model, ()))


def _sentences(kind: Any, path: Keys) -> Iterator[Keys]:
    if get_origin(kind) is Annotated:
        inner, *marks = get_args(kind)
        if OWN_WORDS in marks:
            yield path
        else:
            yield from _sentences(inner, path)
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        marked = {name: OWN_WORDS in field.metadata for name, field in kind.model_fields.items()}
        if all(marked.values()):
            yield path
            return
        for name, field in kind.model_fields.items():
            if marked[name]:
                yield (*path, name)
            elif at := next((mark for mark in field.metadata if isinstance(mark, SentencesAt)), None):
                yield from ((*path, name, key) for key in at.keys)
            else:
                yield from _sentences(field.annotation, (*path, name))
    else:
        many = get_origin(kind) in (list, tuple, dict)
        for each in get_args(kind):
            for found in _sentences(each, (*path, "*") if many else path):
                yield path if found == (*path, "*") else found


def _is_one_of(path: Keys, patterns: Iterable[Keys]) -> bool:
    return any(len(path) >= len(pattern) and all(map(fnmatchcase, path, pattern)) for pattern in patterns)


def _differences(a: Any, b: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any, Any]]:
    """(path, theirs, ours) wherever two documents differ. A number is no true or false."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            yield from _differences(a.get(key, ABSENT), b.get(key, ABSENT), (*path, key))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, (one, two) in enumerate(zip(a, b, strict=True)):
            name = two.get("id") if isinstance(two, dict) else None
            yield from _differences(one, two, (*path, name if isinstance(name, str) else str(number)))
    elif (theirs := _by_id(a)) is not None and (ours := _by_id(b)) is not None and _same_order(theirs, ours):
        yield from _differences(theirs, ours, path)
    elif a != b or isinstance(a, bool) is not isinstance(b, bool):
        yield path, a, b


def _by_id(value: Any) -> dict[str, Any] | None:
    """Rows by their `id`, where each has one of its own."""
    rows: Sequence[Any] = value if isinstance(value, list) else ()
    by_id = {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}
    return by_id if by_id and len(by_id) == len(rows) else None


def _same_order(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether the rows that both have stand in one order."""
    return [name for name in theirs if name in ours] == [name for name in ours if name in theirs]


def _is_rounded(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and isclose(a, b, rel_tol=ROUNDED, abs_tol=1e-9)
