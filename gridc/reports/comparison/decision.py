"""The verdict of a comparison under a policy.

A benchmark is worse where p of "worse by more than the margin", corrected by Holm over its family, is at most
the family's alpha; the alphas of all families add up to the policy's. So one false NO-GO in any gate has at
most that chance. GO says that no gate is worse by its margin, so every gate must show it by itself
(intersection-union), each at alpha without a correction: the chance of GO where some gate is worse by its
margin is at most alpha.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.inputs.logs.columns import TableColumns
from gridc.diagnostics.errors import Collector
from gridc.numbers import percent, stated_percent
from gridc.reports.comparison.instrument import unnamed
from gridc.schema.comparison import Regression, ReleaseVerdict, StateCounts
from gridc.schema.policy import Aspect, Policy
from gridc.statistics.exact_tests import holm

EXIT_CODES: Mapping[str, Mapping[ReleaseVerdict, int]] = {
    "gridc": {"GO": 0, "NO-GO": 1, "INCONCLUSIVE": 10, "NOT COMPARABLE": 11},
    "nel": {"GO": 0, "NO-GO": 1, "INCONCLUSIVE": 2, "NOT COMPARABLE": 2},
}
"""No other failure of gridc ends with these but `diff`, whose 1 says that something differs."""
UNNAMED = ""
"""The family of what names none."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What the policy says of one benchmark; `margin` in points, None where there is none to hold."""

    margin: float | None
    decides: bool
    family: str


def gates(policy: Policy, benchmarks: Sequence[str]) -> dict[str, Gate]:
    """By benchmark."""
    stated = {one.id: one for one in policy.benchmark}
    rows = {}
    for name in benchmarks:
        one = stated.get(name)
        margin = policy.margin if one is None or one.margin is None else one.margin
        decides = margin is not None and (one is None or one.tier == "gate")
        rows[name] = Gate(margin, decides, UNNAMED if one is None or one.family is None else one.family)
    return rows


def check(policy: Policy, source: Source, known: Sequence[str], settings: Sequence[str]) -> None:
    """Raise `SpecError` with what a policy says that cannot be: a benchmark, or a setting that may differ,
    that no run has (GC761), a benchmark twice (GC762), a family that is not declared (GC763), families whose
    alphas are more than the policy's (GC764), a benchmark without a margin (GC765)."""
    wrong = Collector()
    for name in unnamed(policy.may_differ, settings):
        place = ("may_differ", policy.may_differ.index(name))
        message = f"no run records `{name}`, which may differ"
        wrong.add(source.diagnose("GC761", place, message, did_you_mean(name, settings, get_args(Aspect))))
    families = [family.id for family in policy.family]
    seen: set[str] = set()
    for number, one in enumerate(policy.benchmark):
        place = ("benchmark", number)
        if one.id not in known:
            message = f"no run has a benchmark `{one.id}`"
            wrong.add(source.diagnose("GC761", (*place, "id"), message, did_you_mean(one.id, known)))
        if one.id in seen:
            message = f"`{one.id}` stands twice"
            wrong.add(source.diagnose("GC762", (*place, "id"), message, "leave one of the two out"))
        seen.add(one.id)
        if one.family is not None and one.family not in families:
            message = f"no [[family]] has the id `{one.family}`"
            help = did_you_mean(one.family, families)
            wrong.add(source.diagnose("GC763", (*place, "family"), message, help))
        if one.tier == "gate" and one.margin is None and policy.margin is None:
            message = f"`{one.id}` is a gate without a margin"
            help = 'write margin = 5 here or at the top, or tier = "watch"'
            wrong.add(source.diagnose("GC765", (*place, "id"), message, help))
    for number, family in enumerate(policy.family):
        if family.id in families[:number]:
            message = f"the family `{family.id}` stands twice"
            wrong.add(source.diagnose("GC762", ("family", number, "id"), message, "leave one of the two out"))
    spent = round(sum(family.alpha or 0.0 for family in policy.family), 12)
    named = {family.id for family in policy.family if family.alpha is not None}
    used = {gate.family for gate in gates(policy, known).values() if gate.decides}
    if spent > policy.alpha or (used - named and spent >= policy.alpha):
        message = f"the families take {spent:g} of the policy's alpha of {policy.alpha:g}"
        help = "they add up to that at most, and leave some of it to gates of families that state none"
        wrong.add(source.diagnose("GC764", ("family",), message, help))
    wrong.raise_if_any()


def check_columns(policy: Policy, source: Source, columns: TableColumns) -> None:
    """Raise `SpecError` (GC761) for a column or field that the policy names and no log has."""
    wrong = Collector()
    for key, names in (("axes", policy.axes), ("ignore", policy.ignore)):
        for name in columns.unknown(names):
            help = did_you_mean(name, sorted(columns.found))
            wrong.add(
                source.diagnose("GC761", (key, names.index(name)), f"no table has a column `{name}`", help)
            )
    if policy.unit is not None and policy.unit == columns.unit and policy.unit not in columns.fields:
        help = did_you_mean(policy.unit, sorted(columns.fields))
        wrong.add(source.diagnose("GC761", ("unit",), f"no item has a field `{policy.unit}`", help))
    wrong.raise_if_any()


def alphas(policy: Policy, used: Sequence[str]) -> dict[str, float]:
    """The level of every family that some gate is in. What none states is shared equally."""
    stated = {family.id: family.alpha for family in policy.family if family.alpha is not None}
    rest = [family for family in dict.fromkeys(used) if family not in stated]
    left = policy.alpha - sum(stated.values())
    return {family: stated.get(family, left / max(len(rest), 1)) for family in dict.fromkeys(used)}


@dataclass(frozen=True, slots=True)
class TestedGate:
    """The p-values of one benchmark, None where nothing can be tested, its gate, and why it does not pass
    whatever the test says, None where nothing stands in the way."""

    p_worse: float | None
    p_not_worse: float | None
    gate: Gate
    unshown: str | None = None


def unshown(most: float, a: StateCounts, b: StateCounts) -> str | None:
    """Why nothing passes where more than `most` of the answers say nothing: a low score and a wide margin
    would let pass what nobody could read, and a candidate that is hardly there. What a baseline lacks hides
    no loss."""
    for share, what in (
        (a.misread, "a's answers are unreadable or cut off"),
        (b.lacking, "b's answers are unreadable, cut off or missing"),
    ):
        if share > most:
            return f"{percent(share, 0)} of {what}, and at most {stated_percent(most)} may be"
    return None


def corrected(rows: Sequence[TestedGate]) -> list[float | None]:
    """Holm's p of "worse", of every gate over its family; of what is watched its own p."""
    adjusted: list[float | None] = [row.p_worse for row in rows]
    for family in dict.fromkeys(row.gate.family for row in rows if row.gate.decides):
        places = [place for place, row in enumerate(rows) if row.gate.decides and row.gate.family == family]
        tested = [place for place in places if rows[place].p_worse is not None]
        ps = [rows[place].p_worse or 0.0 for place in tested]
        for place, p in zip(tested, holm(ps, len(places)), strict=True):
            adjusted[place] = p
    return adjusted


def regression(adjusted: float | None, row: TestedGate, level: float, alpha: float) -> Regression | None:
    """Whether it is worse by more than the margin. None without a margin."""
    if row.gate.margin is None:
        return None
    if adjusted is not None and adjusted <= level:
        return "yes"
    if row.unshown is None and row.p_not_worse is not None and row.p_not_worse <= alpha:
        return "no"
    return "cannot tell"


def verdict(comparable: bool, gated: Sequence[Regression | None]) -> ReleaseVerdict:
    """Of all gates."""
    if not comparable:
        return "NOT COMPARABLE"
    if "yes" in gated:
        return "NO-GO"
    return "GO" if gated and all(one == "no" for one in gated) else "INCONCLUSIVE"
