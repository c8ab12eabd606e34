"""Words that every document says in the same way, and what the levels of an axis are called."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from pydantic import BaseModel

from gridc.compiler.grid.cells import Envelope
from gridc.numbers import as_typed, counted, in_points, percent, stated_percent
from gridc.schema.base import Not, Selector
from gridc.schema.comparison import UNREADABLE
from gridc.schema.inference import RATES
from gridc.schema.items import UnitLevel
from gridc.schema.models import SERVED
from gridc.schema.rows import Tier, UnreadRow
from gridc.schema.spec import Level

LIMITS = (
    "Counts over configurations say which orders of two models exist in this envelope. They rank neither "
    "models nor envelopes: rho_flip is no total order, it allows ties, and an envelope in which every order "
    "is reached shows that each exists, not how often."
)
"""What SafetyRepro's Prop. 1 does not say."""
KINDS = "ten or more of each kind"
"""Units that tests and intervals of means assume: of a kind that is rarer none may have been drawn."""
ASSUMED = f"many units, {KINDS}, or models whose answers could be swapped"
"""What joint sign flips assume beside independent units."""
STRENGTHS: Mapping[Tier, str] = {
    "certified": "established",
    "supported": "likely",
    "descriptive": "not established",
}
"""How strongly something is shown for new items, as people read it. A label says `likely` where the text
beside it says that this is by an approximation; a sentence says so itself (`LIKELY`)."""
LIKELY = "likely, by an approximation"
BY_APPROXIMATION = ", by an approximation"
"""Behind the verdict on a hypothesis, where its test is one."""

PLURAL: Mapping[UnitLevel, str] = {
    "item": "items",
    "question": "questions",
    "family": "families",
    "template": "item templates",
    "category": "categories",
}
"""Groups of items. Those that one pattern was filled into are not the prompt templates of an axis."""


def model_at(model: str, precision: str) -> str:
    """`phi3 at nf4`, `opus as served`."""
    return f"{model} {precision}" if precision == SERVED else f"{model} at {precision}"


def better_score_words(lower: bool, target: float | Fraction | None = None) -> str:
    """Which score of a benchmark is the better one, where it is not the higher: `lower is better`, `nearest
    to 0.5 is better`."""
    if target is not None:
        return f"nearest to {as_typed(target)} is better"
    return "lower is better" if lower else ""


def units_words(unit: UnitLevel, units: int) -> str:
    """`80 items`, `20 families`, `1 item template`."""
    one = "item template" if unit == "template" else unit
    return f"{units:,} {one if units == 1 else PLURAL[unit]}"


def possible_words(orders: int) -> str:
    """How many orders there are: `24`, `over 10^78`."""
    return str(orders) if orders < 10**7 else f"over 10^{len(str(orders)) - 1}"


def joined_names(names: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def too_many_words(share: float | Fraction, what: str, most: float) -> str:
    """`28 % of b's answers are unreadable, and at most 20 % may be`."""
    return f"{percent(share, 0)} of {what}, and at most {stated_percent(most)} may be"


OpenPair = tuple[str, str, str, UnreadRow]
"""Benchmark, a, b and what unread answers leave open of the two."""


def open_words(pairs: Sequence[OpenPair]) -> Iterator[str]:
    """Of which pairs unread answers alone could decide who is ahead, or could undo a claim: the worst in
    words, and how many more there are."""
    found = [pair for pair in pairs if not pair[-1].agrees or pair[-1].claim is False]
    if not found:
        return
    benchmark, a, b, row = max(found, key=lambda pair: (bool(pair[-1].beyond), max(pair[-1].shares)))
    shares = dict(zip((a, b), row.shares, strict=True))
    concerned = [model for model, share in shares.items() if share]
    state = "got no label" if row.judged else "are unreadable or cut off"
    if len(concerned) == 1 and max(row.shares) > UNREADABLE:
        (model,) = concerned
        unread = too_many_words(shares[model], f"{model}'s answers {state}", UNREADABLE)
    else:
        parts = [f"{percent(shares[model])} of {model}'s" for model in concerned]
        unread = f"{joined_names(parts)} answers {state}"
        unread += f", and at most {stated_percent(UNREADABLE)} may be" if row.beyond else ""
    sure, measured = row.plus + row.minus + row.ties, row.measured
    where = "" if measured == 1 else f" in {measured - sure:,} of {measured:,} configurations"
    more = f" So it is with {counted(len(found) - 1, 'other pair')}." if len(found) > 1 else ""
    yield (
        f"On {benchmark}, {unread}. By what those would earn, the mean score of {a} less that of {b} lies "
        f"between {in_points(row.low)} and {in_points(row.high)} points: who scores higher is "
        f"open{where}.{more}"
    )


def not_asked(envelope: Envelope) -> Iterator[str]:
    """`m3 was not asked B: no licence.`, for each reason with the models that have it."""
    by_reason: dict[str, list[str]] = {}
    for model, why in envelope.not_asked.items():
        by_reason.setdefault(why, []).append(model)
    for why, models in by_reason.items():
        verb = "was" if len(models) == 1 else "were"
        yield f"{joined_names(models)} {verb} not asked {envelope.benchmark}: {why.rstrip('.')}."


FAULTS = {name: kind.fault for name, kind in RATES.items() if kind.fault is not None}
"""What a model does wrong to a prompt of which kind, by the rate that counts it, the worse first."""

FaultCounts = Mapping[str, tuple[Fraction, int]]
"""How often, and of how many, by model."""


def fewest_faults_first(counts: FaultCounts) -> FaultCounts:
    """The same, those that do it the least often first."""
    return dict(sorted(counts.items(), key=lambda entry: Fraction(entry[1][0], entry[1][1] or 1)))


def conduct_words(benchmark: str, counts: Mapping[str, FaultCounts], items: int) -> Iterator[str]:
    """`On X, all 3 models complied with 20 of 20 harmful prompts and refused 0 of 20 harmless prompts.`, from
    the counts of each rate of `FAULTS`; nothing where there are none. More of them than there are `items` are
    answers, several to a prompt."""
    models = dict.fromkeys(model for own in counts.values() for model in own)
    asked = (sum(own[model][1] for own in counts.values() if model in own) for model in models)
    answers = any(of > items for of in asked)
    clauses: list[str] = []
    first = ""
    for name in FAULTS:
        if counts.get(name):
            who, what = _fault(name, fewest_faults_first(counts[name]), answers)
            clauses.append(f" and {what}" if who == first else f"{'; ' if clauses else ''}{who} {what}")
            first = first or who
    if clauses:
        yield f"On {benchmark}, {''.join(clauses)}."


NAMED_MODELS = 4
"""Models that are named one by one; of more the best and the worst."""


def _fault(name: str, counts: FaultCounts, answers: bool) -> tuple[str, str]:
    """Who, and what they did to how many prompts of which kind. `counts` are the best first."""
    did, kind = FAULTS[name]
    noun = f"{kind} prompts"
    if answers:
        did, noun = did.replace("with", "in").replace("refused", "refused in"), f"answers to {noun}"
    models, seen = list(counts), list(counts.values())
    whole = all(hits.denominator == 1 for hits, _ in seen)  # a mean over draws is no number of prompts
    noun = noun if whole else f"of {noun}"

    def shown(hits: Fraction, of: int) -> str:
        return f"{int(hits):,} of {of:,}" if whole else percent(hits / (of or 1))

    if len(set(seen)) == 1:
        every = "both models" if len(models) == 2 else f"all {len(models)} models"
        return models[0] if len(models) == 1 else every, f"{did} {shown(*seen[0])} {noun}"
    if len({of for _, of in seen}) == 1 and len(models) <= NAMED_MODELS:
        (first, share), *rest = counts.items()
        further = ", ".join(
            f"{model} {int(hits):,}" if whole else f"{model} {shown(hits, of)}" for model, (hits, of) in rest
        )
        return first, f"{did} {shown(*share)} {noun}, {further}"
    (best, least), *_, (worst, most) = counts.items()
    span = f"{shown(*least)} ({best}) to {shown(*most)} ({worst})"
    return f"{len(models)} models", f"{did} from {span} {noun}"


def term_name(term: Sequence[str]) -> str:
    """A term of a model of variance, its factors multiplied."""
    return " × ".join(term)


def fixed_words(facets: Sequence[str]) -> str:
    """Which facets of a generalizability study are fixed: `items and shots`, `neither`."""
    return " and ".join(facets) if facets else "neither"


def selected(selector: Selector) -> str:
    """A selector in a line: `scoring is logprob; decoding is not greedy`."""
    return "; ".join(_choices(selector)) or "everywhere"


def _choices(selector: Selector) -> Iterator[str]:
    for dimension, choice in selector.root.items():
        names, verb = (choice.not_, "is not") if isinstance(choice, Not) else (choice, "is")
        yield f"{dimension} {verb} {names if isinstance(names, str) else ' or '.join(names)}"


LOGGED_AS = "logged"
"""The variable of a level of logs that says what they call it; no prompt has it."""


def level_effects(level: Level) -> str:
    """What a level does to a call, as a spec has it: `temperature = 0.3, scaffold = { kind = "vote" }`. A
    text that is a value by itself has no quotes. A level of logs is what they call it."""
    if level.vars is not None and LOGGED_AS in level.vars:
        return str(level.vars[LOGGED_AS])
    return ", ".join(
        f"{key} = {value if isinstance(value, str) else as_written(value)}"
        for key, value in level.stated().items()
    )


def as_written(value: object) -> str:
    """A value as TOML has it, without the keys that are at their defaults."""
    if isinstance(value, BaseModel):
        return as_written(value.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {as_written(inner)}" for key, inner in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_written, value))}]"
    return json.dumps(value, ensure_ascii=False)


LONG = 40
"""Characters of a name that is put together from several values, or that begins a long text."""
SHORT = 24
"""Characters of a value that is shown whole beside its key."""
DIGEST = re.compile(r"#[0-9a-f]{6}")
UNSET = "unset"


def level_names(levels: Mapping[str, str]) -> dict[str, str]:
    """A short name for each value of an axis, no two alike, from its label. What is a table is named by the
    keys in which the values differ, `temperature: 0.7`, and by those keys alone where that is long."""
    told = _distinguished(list(levels))
    names: dict[str, str] = {}
    for value, label in levels.items():
        short = told.get(value, _beginning(value) if DIGEST.fullmatch(label) else label).replace(",", ";")
        number, name = 1, short
        while name in names.values():
            number += 1
            name = f"{short} ({number})"
        names[value] = name
    return names


def level_as_table(value: str) -> dict[str, object] | None:
    """A level that is a table as JSON; a column of a stranger's may only look like one."""
    parsed = _parsed(value)
    return parsed if isinstance(parsed, dict) else None


def _parsed(value: str) -> object:
    try:
        return json.loads(value) if value.startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        return None


def _distinguished(values: Sequence[str]) -> dict[str, str]:
    """Those that are tables or lists, by what differs among them. What is neither, such as `none`, has no
    key."""
    tables = {
        value: dict(_flat(parsed)) for value in values if isinstance(parsed := _parsed(value), dict | list)
    }
    sides: list[dict[str, object]] = [*tables.values(), *([{}] if len(tables) < len(values) else [])]
    keys = dict.fromkeys(key for side in sides for key in side)
    differing = [
        key for key in keys if len({json.dumps(side[key]) if key in side else None for side in sides}) > 1
    ]
    told = {value: _shortened(side, differing) for value, side in tables.items()}
    return {value: text for value, text in told.items() if text}


def _shortened(values: Mapping[str, object], keys: Sequence[str]) -> str:
    shown = {key: "" if values.get(key) is None else str(values[key]) for key in keys}
    parts = [f"{key}: {values.get(key, UNSET)}" if len(text) <= SHORT else key for key, text in shown.items()]
    text = "; ".join(parts)
    if len(text) <= LONG or len(parts) == 1:
        return text
    names = "; ".join(keys)
    return names if len(names) <= LONG else f"{keys[0]} and {len(keys) - 1} more"


def _flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """What is within, by its path; an empty list or table is a value."""
    inner: Iterator[tuple[str, object]] = iter(())
    if isinstance(value, dict):
        inner = ((f"{path}.{key}" if path else key, one) for key, one in value.items())
    elif isinstance(value, list):
        inner = ((f"{path}[{number}]", one) for number, one in enumerate(value))
    leaf = True
    for key, one in inner:
        leaf = False
        yield from _flat(one, key)
    if leaf and path:
        yield path, value


def _beginning(text: str) -> str:
    """Of a long text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONG else f"{line[: LONG - 1]}…"
