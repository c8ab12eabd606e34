"""Decides what two runs show on each benchmark, and reaches the verdict under a policy.

A benchmark is worse where p of "worse by more than the margin", corrected by Holm over its family, is at most
the family's alpha; the alphas of all families add up to the policy's. So one false NO-GO in any gate has at
most that chance. GO says that no gate is worse by its margin, so every gate must show it by itself
(intersection-union), each at alpha without a correction: the chance of GO where some gate is worse by its
margin is at most alpha.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from gridc.compiler.frontend.source import Source
from gridc.compiler.frontend.validate import did_you_mean
from gridc.compiler.hypotheses.kind import TOGETHER
from gridc.compiler.inputs.logs.files import TableColumns
from gridc.diagnostics.errors import Collector
from gridc.outcomes import STATES, CellOutcomes
from gridc.reports.comparison.instrument import PairedBenchmark, unnamed
from gridc.reports.comparison.run import RunBenchmark
from gridc.reports.words import too_many_words
from gridc.schema.comparison import (
    Aspect,
    ChangeEstimate,
    Policy,
    Regression,
    ReleaseSight,
    ReleaseVerdict,
    StateCounts,
)
from gridc.statistics.arrays import Flags, Floats
from gridc.statistics.exact_tests import holm, mcnemar_two_sided
from gridc.statistics.paired_runs import (
    PairedUnits,
    detectable,
    p_not_worse,
    p_worse,
    paired_change_limits,
    units_needed,
)
from gridc.statistics.reproducibility import decimals, digits

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


def check_policy(policy: Policy, source: Source, known: Sequence[str], settings: Sequence[str]) -> None:
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
            message = f"`{one.id}` occurs twice"
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
            message = f"the family `{family.id}` occurs twice"
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


def why_not_passing(most: float, a: StateCounts, b: StateCounts) -> str | None:
    """Why nothing passes where more than `most` of the answers say nothing: a low score and a wide margin
    would let pass what nobody could read, and a candidate that is hardly there. What a baseline lacks hides
    no loss."""
    for share, what in (
        (a.misread, "a's answers are unreadable or cut off"),
        (b.lacking, "b's answers are unreadable, cut off or missing"),
    ):
        if share > most:
            return too_many_words(share, what, most)
    return None


def holm_p_values(rows: Sequence[TestedGate]) -> list[float | None]:
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


def release_verdict(comparable: bool, gated: Sequence[Regression | None]) -> ReleaseVerdict:
    """Of all gates."""
    if not comparable:
        return "NOT COMPARABLE"
    if "yes" in gated:
        return "NO-GO"
    return "GO" if gated and all(one == "no" for one in gated) else "INCONCLUSIVE"


DIGITS = 12
"""Scores are means of few decimals: what differs further on is the last bit of a sum."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Of the matched items, (N,): the unit of each by number, and its score in baselines and candidate, (N,
    2): at least and at most, which differ where answers are missing. As the benchmark has them."""

    units: Floats
    first: Floats
    second: Floats

    @property
    def complete(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which have every answer in both."""
        whole: np.ndarray[tuple[int], np.dtype[np.bool_]] = (self.first[:, 0] == self.first[:, 1]) & (
            self.second[:, 0] == self.second[:, 1]
        )
        return whole

    def of_items(self, some: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> "ItemScores":
        return ItemScores(self.units[some], self.first[some], self.second[some])


def item_scores(pair: PairedBenchmark) -> ItemScores:
    """Every configuration that asks an item counts alike, and in it every replicate; of several baselines
    every one."""
    return _over_configurations(pair, pair.asked)


def _over_configurations(pair: PairedBenchmark, counted: Flags) -> ItemScores:
    """The mean of each item over the configurations in which it is `counted`, (configurations, items); of the
    items for which there is one."""
    kept = counted.any(axis=0)
    means = _mean_ends(pair, counted)[:, kept]
    first, second = means[:-1].mean(axis=0), means[-1]
    return ItemScores(_units(pair)[kept], np.round(first, DIGITS), np.round(second, DIGITS))


def _mean_ends(pair: PairedBenchmark, counted: Flags) -> Floats:
    """(runs, items, 2); 0 where no configuration counts."""
    ends = _ends(pair.cells) * counted[:, None, :, None]
    means: Floats = ends.sum(axis=0) / np.maximum(counted.sum(axis=0), 1)[:, None]
    return means


def _units(pair: PairedBenchmark) -> Floats:
    """The unit of each item by number, as the run has it that knows most of what belongs together, (N,)."""
    *firsts, second = pair.units
    coarsest = min((second, *firsts), key=lambda units: len(set(units)))
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(unit, len(numbers)) for unit in coarsest], np.float64)


def _ends(cells: Sequence[Sequence[CellOutcomes]]) -> Floats:
    """The least and the largest score that each item can have, its missing answers being 0 or 1, by
    configuration and run, (configurations, runs, items, 2)."""
    return np.array([[np.column_stack(cell.ends()) for cell in runs] for runs in cells])


def paired_units(scores: ItemScores, sign: int) -> PairedUnits:
    """Items by unit, higher being better: where the lower score is (`sign` -1) a score s counts as 1 - s."""
    numbers = scores.units.astype(np.int64)
    _, of_item = np.unique(numbers, return_inverse=True)
    items = np.bincount(of_item)

    def earned(ends: Floats) -> Floats:
        good = ends if sign > 0 else 1 - ends[:, ::-1]
        return np.column_stack([np.bincount(of_item, good[:, end], len(items)) for end in (0, 1)])

    return PairedUnits(items, earned(scores.first), earned(scores.second))


def score_change(scores: ItemScores, sign: int, alpha: float) -> ChangeEstimate | None:
    """Both scores, what is missing being wrong, and the change with its limits, in points. Under a target
    (`sign` 0), where no score is simply wrong, of the items that are complete and without limits; None where
    there are none."""
    counted = scores if sign else scores.of_items(scores.complete)
    if not len(counted.units):
        return None
    limits = paired_change_limits(paired_units(scores, sign), alpha) if sign else None
    if limits is not None and sign < 0:
        limits = -limits[1], -limits[0]
    a_bounds, b_bounds = (_points(side) for side in (counted.first, counted.second))
    a, b = a_bounds[_wrong_end(sign)], b_bounds[_wrong_end(sign)]
    low, high = (None, None) if limits is None else (100 * limits[0], 100 * limits[1])
    return ChangeEstimate(
        items=len(counted.units),
        a=a,
        b=b,
        a_bounds=a_bounds,
        b_bounds=b_bounds,
        change=b - a,
        low=low,
        high=high,
    )


def _points(ends: Floats) -> tuple[float, float]:
    return 100 * float(ends[:, 0].mean()), 100 * float(ends[:, 1].mean())


def _wrong_end(sign: int) -> int:
    """Which end of a score an answer has that is missing and counts as wrong."""
    return 1 if sign < 0 else 0


def improved(estimate: ChangeEstimate | None, sign: int) -> bool:
    """Whether the whole interval lies on the better side of 0."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return False
    return decimals(estimate.low) > 0 if sign > 0 else decimals(estimate.high) < 0


def flipped_items(scores: ItemScores, sign: int) -> tuple[list[int], list[int]]:
    """The places of the items, complete in both, whose score is the worse one in the candidate, and of those
    whose is the better one; under a target lower and higher."""
    moved = np.round((scores.second - scores.first)[:, 0], DIGITS) * (sign or 1) * scores.complete
    return np.flatnonzero(moved < 0).tolist(), np.flatnonzero(moved > 0).tolist()


def mcnemar_p(scores: ItemScores) -> float | None:
    """Exact two-sided p of any change, where every item is a unit with 0 or 1 in both."""
    ends = np.concatenate([scores.first, scores.second])
    alone = len(set(scores.units.tolist())) == len(scores.units)
    if not alone or not len(ends) or not np.isin(ends, (0.0, 1.0)).all() or not scores.complete.all():
        return None
    lost, won = flipped_items(scores, 1)
    return mcnemar_two_sided(len(lost), len(won))


def readable(pair: PairedBenchmark, sign: int, alpha: float) -> ChangeEstimate | None:
    """The change where all answers to an item in a configuration were read in every run; None where that is
    everywhere."""
    read = np.array([np.logical_and.reduce([cell.all_read for cell in runs]) for runs in pair.cells])
    if (read | ~pair.asked).all() or not read.any():
        return None
    return score_change(_over_configurations(pair, read), sign, alpha)


def answer_states(pair: PairedBenchmark) -> tuple[StateCounts, StateCounts]:
    """How the answers to matched items ended, in all baselines together and in the candidate."""
    cells = list(zip(pair.cells, pair.asked, strict=True))
    first = [(cell, asked) for runs, asked in cells for cell in runs[:-1]]
    return _states(first), _states([(runs[-1], asked) for runs, asked in cells])


def _states(cells: Sequence[tuple[CellOutcomes, Flags]]) -> StateCounts:
    counts = sum(
        (cell.states[asked].sum(axis=0) for cell, asked in cells if cell.states is not None),
        np.zeros(len(STATES)),
    )
    absent = sum(int((cell.trials[asked] == 0).sum()) + cell.lost for cell, asked in cells)
    named = zip(STATES, np.asarray(counts, np.int64).tolist(), strict=True)
    return StateCounts(**dict(named), absent=absent)


def by_configuration(pair: PairedBenchmark, sign: int) -> tuple[int, int]:
    """In how many configurations the score, what is missing being wrong, is the worse one in the candidate,
    and in how many the better one; under a target of the items that are complete in it."""
    worse = better = 0
    for ends, asked in zip(_ends(pair.cells), pair.asked, strict=True):
        first, second = ends[:-1].mean(axis=0), ends[-1]
        counted = asked & (sign != 0 or ((first[:, 0] == first[:, 1]) & (second[:, 0] == second[:, 1])))
        change = (second[:, _wrong_end(sign)] - first[:, _wrong_end(sign)]) * (sign or 1)
        moved = round(float(np.where(counted, change, 0.0).sum()), DIGITS - 3)
        worse, better = worse + (moved < 0), better + (moved > 0)
    return worse, better


def run_score(run: RunBenchmark) -> float | None:
    """The score of one run by itself, in points, what is missing being wrong; None where nothing was asked,
    or under a target."""
    sign, cells = run.direction.sign, list(run.cells.values())
    asked = np.array([cell.trials > 0 for cell in cells])
    if not sign or not asked.any():
        return None
    ends = np.array([np.column_stack(cell.ends()) for cell in cells]) * asked[:, :, None]
    means = ends.sum(axis=0) / np.maximum(asked.sum(axis=0), 1)[:, None]
    return _points(means[asked.any(axis=0)])[_wrong_end(sign)]


def baseline_scores(pair: PairedBenchmark, sign: int) -> tuple[float, ...]:
    """The score of each baseline, in points, what is missing being wrong (under a target 0); of several
    alone."""
    if len(pair.firsts) < 2:
        return ()
    if not pair.cells or not pair.count:
        return (0.0,) * len(pair.firsts)
    kept = pair.asked.any(axis=0)
    means = _mean_ends(pair, pair.asked)[:-1, kept]
    return tuple(_points(ends)[_wrong_end(sign)] for ends in means)


def anchor_scores(pair: PairedBenchmark, sign: int) -> tuple[float, float] | None:
    """The scores of a and b under the anchor of both alone, in points, what is missing being wrong; None
    where the runs have no anchor in common, or no other configuration."""
    anchors = tuple(run.anchor for run in pair.runs)
    there = [names for names in pair.configurations if names == anchors]
    if not there or len(pair.configurations) < 2 or not pair.count:
        return None
    scores = item_scores(replace(pair, configurations=(there[0],)))
    return _points(scores.first)[_wrong_end(sign)], _points(scores.second)[_wrong_end(sign)]


def margin_tests(units: PairedUnits, margin: float) -> tuple[float, float]:
    """p of: worse by more than the margin, in points; and of: not worse by as much."""
    return digits(p_worse(units, margin / 100)), digits(p_not_worse(units, margin / 100))


def what_is_detectable(
    units: PairedUnits, margin: float | None, alpha: float, each: float, changing: float, undecided: bool
) -> ReleaseSight:
    """What so many units can show, in points; and where nothing was decided how many would."""
    sizes = units.items.tolist()
    share = None if margin is None else margin / 100
    shown = detectable(sizes, share, alpha, each, changing, TOGETHER, units.binary)
    needed = (
        units_needed(sizes, share, alpha, changing, TOGETHER, units.binary) if undecided and share else None
    )
    return ReleaseSight(
        loss=None if shown.loss is None else 100 * shown.loss,
        margin=None if shown.margin is None else 100 * shown.margin,
        units_needed=needed,
    )
