"""Which outcomes and statistics go through `aggregate` and `all_of`. Pure.

What makes one score of several answers makes one of their outcomes too (`reports.findings.item_counts`),
where that means something: a share of answers can be a share of draws, and points can be joined. What does
not go through has no value there, and a spec that asks for it is refused.
"""

from collections.abc import Iterable, Sequence

from gridc.compiler.instrument.setting import Setting
from gridc.schema.call_numbers import CALL_NUMBERS
from gridc.schema.effects import Attempts
from gridc.schema.inference import rate_kind
from gridc.schema.scores import NamedOutcome
from gridc.schema.statistics import CLASSIFIES, Statistic

OF_ITEMS = ("score", "parse_rate")
"""What is counted from the outcomes of items, after `aggregate` and `all_of`."""
MEANS = ("macro_mean", "win_rate", "mean")
"""Statistics of means of an outcome, whatever it is made of."""

AggregateConflict = tuple[str, str]
"""What does not go together, and the way out."""


def conflict_of_outcome(
    setting: Setting, outcome: str, stated: Iterable[NamedOutcome]
) -> AggregateConflict | None:
    """Why an outcome does not go through the `aggregate` or `all_of` of a setting; None where it does."""
    if setting.scored_singly or outcome in OF_ITEMS:
        return None
    own = next((each for each in stated if each.id == outcome), None)
    if own is None and outcome in _numbers_in(setting):
        return None
    if own is None and setting.all_of is not None:
        problem = f"`{outcome}` is of single items, and `all_of` joins them"
        return problem, "state an [[outcome]] whose `scores` say what an item earns, and use its name"
    if not isinstance(setting.aggregate, Attempts):
        return None
    key = "pass_at" if setting.aggregate.pass_at else "pass_all"
    if own is None:
        problem = f"`{outcome}` is computed from shares of answers, and `{key}` makes one share of draws"
        return None if rate_kind(outcome).mean else (problem, 'aggregate = "mean" or "majority"')
    if own.scale > 1:
        problem = f"`{outcome}` earns parts of a point, and `{key}` counts answers"
        return problem, f"whole points in `scores`, or no `{key}` on these benchmarks"
    if own.unreadable == "leave_out":
        problem = f"`{outcome}` leaves unreadable answers out, and `{key}` draws from all of them"
        return problem, 'unreadable = "zero" or "one"'
    return None


def conflict_of_statistic(
    setting: Setting, statistic: Statistic, stated: Sequence[NamedOutcome]
) -> AggregateConflict | None:
    """The same of a statistic: of means it is the outcome's, of two classes a majority's answer is one
    answer, and what reads single responses goes through nothing."""
    if setting.scored_singly:
        return None
    if statistic.kind in MEANS:
        found = (conflict_of_outcome(setting, name, stated) for name in statistic.outcomes.values())
        return next((each for each in found if each is not None), None)
    if statistic.kind in CLASSIFIES and setting.all_of is None and setting.aggregate == "majority":
        return None
    own = {each.id for each in stated}
    if {*statistic.outcomes.values()} <= {*_numbers_in(setting)} - own:
        return None
    key = "all_of" if setting.all_of is not None else "aggregate"
    problem = f"`{statistic.kind}` is of single answers, and `{key}` makes one score of several"
    return problem, f"leave the statistic out, or `{key}` on its benchmarks"


def _numbers_in(setting: Setting) -> Iterable[str]:
    """The names of what a response has in units of its own, whatever makes a score of several."""
    units = setting.scorer.units if setting.scorer is not None else None
    return (*CALL_NUMBERS, *(units or ()))
