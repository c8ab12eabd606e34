"""Sentences and tables about the order of models: who can be first, who is tied, who is told apart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from string import ascii_lowercase

from gridc.numbers import bracketed, counted, number, p_value, with_sign
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.statements.statement import Statement, of_benchmark
from gridc.reports.words import joined_names
from gridc.schema.rows import PlaceRow, StandingsRow

SHOWN = 6
"""Up to how many tie groups are listed. More overlap so much that the places of models say more."""
LISTED = 8
"""The largest tie group of which every model is named."""
NAMED = 3
"""Models that are named one by one, and the first places that are spoken of."""
COLUMNS = ("places", "model", "score [95 %]", "ties")
TESTS = ("better", "next", "gap", "units -/+", "p", "p (Holm)", "apart?")


@of_benchmark("standings", "leading", 75)
def order_of_models(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """How much of the order of three or more models holds for new items."""
    row = benchmark.standings
    if row is not None and len(row.order) > 2:
        told = list(standings_sentences(row))
        sure = len(_possible_firsts(row)) == 1 or any(each.apart for each in row.neighbours)
        yield Statement(
            f"On {benchmark.benchmark}, {'; '.join(told)}.",
            "certified" if sure else "descriptive",
            (benchmark.benchmark,),
            short=f"On {benchmark.benchmark}, {told[0]}.",
        )


def standings_sentences(row: StandingsRow) -> Iterator[str]:
    """How much of the order stands."""
    averaged = f"averaged over {len(row.over):,} configurations, " if len(row.over) > 1 else ""
    yield f"{averaged}{first_words(row)}"
    yield from top_words(row)
    yield from majority_words(row)
    yield neighbour_words(row)
    if row.left_out:
        yield f"the order leaves out {'; '.join(row.left_out)}: some model gave no readable answer there"
    if row.unplaced:
        yield f"without a place, because no answer could be read: {', '.join(row.unplaced)}"
    if 0 < len(row.tie_groups) <= SHOWN:
        groups = ["{" + ", ".join(_abridged(group)) + "}" for group in row.tie_groups]
        yield f"tie groups (no two told apart, all pairs in both directions, Holm): {'; '.join(groups)}"
    yield from both_words(row)


def first_words(row: StandingsRow) -> str:
    """Who can be first on new items."""
    firsts = _possible_firsts(row)
    if len(firsts) == 1:
        return f"{firsts[0]} is first, on new items too"
    pairs = _pairs(row)
    if len(firsts) <= NAMED:
        tested = "" if pairs == 1 else f"with all {pairs:,} pairs tested, "
        alone = len(firsts) == 2 and any(
            (each.a, each.b, each.apart) == (*firsts, True) for each in row.neighbours
        )
        though = ", though a test of neighbours alone does" if alone else ""
        return f"{joined_names(firsts, 'or')} is first: {tested}these items do not show which{though}"
    return f"{firsts[0]} has the best score, and any of {len(firsts):,} models can be first on new items"


def top_words(row: StandingsRow) -> Iterator[str]:
    """Which of many models are among the first three on new items, and which may be."""
    if len(row.order) < 2 * NAMED:
        return
    sure = [each.model for each in row.order if each.worst <= NAMED]
    rest = [each.model for each in row.order if each.best <= NAMED < each.worst]
    others = joined_names(rest) if len(rest) <= NAMED else f"{len(rest):,} {'others' if sure else 'models'}"
    if not sure:
        yield f"which models are among the first three is not shown: {others} can be"
        return
    more = "" if not rest else f"; {others} may be too"
    are = "are" if len(sure) > 1 else "is"
    yield f"{joined_names(sure)} {are} among the first three, on new items too{more}"


def majority_words(row: StandingsRow) -> Iterator[str]:
    """Of the model with the best mean, who does better on most units."""
    leader = row.order[0].model
    ahead = [each for each in row.majorities if each.higher == leader]
    if ahead:
        first, *more = sorted(ahead, key=lambda each: -each.units)
        others = [f"{each.ahead_on_most} ({each.units:,})" for each in more[:NAMED]]
        others += [f"{len(more) - NAMED:,} more"] if len(more) > NAMED else []
        too = f", and so {'do' if len(more) > 1 else 'does'} {joined_names(others)}" if more else ""
        unit = "unit" if row.grouped else "item"
        yield (
            f"{leader} has the best mean, but {first.ahead_on_most} does better on {first.units:,} of "
            f"{counted(row.units, unit)}{too}"
        )


def neighbour_words(row: StandingsRow) -> str:
    """How many neighbours are told apart, among all pairs and among neighbours alone."""
    ties = _tied_pairs(row)
    among_all = sum((each.a, each.b) not in ties for each in row.neighbours)
    alone = sum(each.apart for each in row.neighbours)
    several = "" if alone == among_all else f" ({alone:,}, if nothing but neighbours is tested)"
    return (
        f"{among_all:,} of {counted(len(row.neighbours), 'pair')} of neighbours in the order can be told "
        f"apart{several}"
    )


def apart_words(row: StandingsRow) -> str:
    """How many of all pairs are told apart."""
    return f"{_pairs(row) - len(_tied_pairs(row)):,} of {_pairs(row):,}"


def _pairs(row: StandingsRow) -> int:
    return len(row.order) * (len(row.order) - 1) // 2


def _tied_pairs(row: StandingsRow) -> set[tuple[str, str]]:
    """Those that are not told apart, in order."""
    return {pair for group in row.tie_groups for pair in combinations(group, 2)}


def both_words(row: StandingsRow) -> Iterator[str]:
    """Neighbours that are told apart among neighbours, and not among all pairs."""
    ties = _tied_pairs(row)
    both = [f"{each.a} and {each.b}" for each in row.neighbours if each.apart and (each.a, each.b) in ties]
    if both:
        yield (
            f"told apart as neighbours and yet tied: {'; '.join(both[:SHOWN])} (places and ties test all "
            f"{_pairs(row):,} pairs in both directions, which asks more than {len(row.neighbours):,} "
            "neighbours do)"
        )


def _possible_firsts(row: StandingsRow) -> list[str]:
    return [each.model for each in row.order if each.best == 1]


def _abridged(group: Sequence[str]) -> Sequence[str]:
    return group if len(group) <= LISTED else (*group[:3], f"{len(group) - 6} more", *group[-3:])


def tie_letters(row: StandingsRow) -> dict[str, str]:
    """A letter for each tie group that a model is in, so that two models are tied where they share one: `b`,
    `d-g, k`. Empty for a model that is told apart from all others."""
    groups: dict[str, list[int]] = {each.model: [] for each in row.order}
    for place, group in enumerate(row.tie_groups):
        for model in group:
            groups[model].append(place)
    return {model: ", ".join(_ranges(own)) for model, own in groups.items()}


def _ranges(places: Sequence[int]) -> Iterator[str]:
    """Letters, three or more that follow each other from the first to the last."""
    for _, run in groupby(enumerate(places), lambda each: each[1] - each[0]):
        own = [place for _, place in run]
        if len(own) > 2:
            yield f"{_letter(own[0])}-{_letter(own[-1])}"
        else:
            yield from map(_letter, own)


def _letter(place: int) -> str:
    """a to z, then aa, ab and on."""
    before, last = divmod(place, len(ascii_lowercase))
    return (_letter(before - 1) if before else "") + ascii_lowercase[last]


def tied(row: StandingsRow) -> Mapping[str, Sequence[str]]:
    """By model those that it cannot be told apart from, in order."""
    groups: dict[str, set[str]] = {each.model: set() for each in row.order}
    for group in row.tie_groups:
        for model in group:
            groups[model] |= set(group) - {model}
    order = [each.model for each in row.order]
    return {model: [name for name in order if name in own] for model, own in groups.items()}


def bound_words(row: PlaceRow, form: Callable[[float], str]) -> str:
    """`at most 0.687`, of a model with missing answers; both ends, where the score is neither."""
    low, high = row.bounds or (row.score, row.score)
    if row.score == low:
        return f"at most {form(high)}"
    return f"at least {form(low)}" if row.score == high else f"{form(low)} to {form(high)}"


def order_table(row: StandingsRow) -> list[tuple[str, ...]]:
    """The order; its columns are `COLUMNS`."""
    named = tie_letters(row)
    return [
        (
            each.can_be,
            each.model,
            f"{number(each.score)}{'' if each.interval is None else f' {bracketed(each.interval, number)}'}"
            f"{'' if each.bounds is None else f', {bound_words(each, number)}'}",
            named[each.model],
        )
        for each in row.order
    ]


def neighbour_tests(row: StandingsRow) -> list[tuple[str, ...]]:
    """The tests of neighbours; its columns are `TESTS`."""
    return [
        (
            each.a,
            each.b,
            with_sign(each.gap, 3),
            f"{each.b_ahead:,} / {each.a_ahead:,}",
            p_value(each.p),
            p_value(each.p_holm),
            "yes" if each.apart else "no",
        )
        for each in row.neighbours
    ]
