"""Answers "May I print this?": sentences that a study bears out, and tempting ones that it does not, with the
reasons.

A "yes" is a count on the items that were asked, and says so, or a claim that the certificate makes: no
"differ", "within the margin", "holds" or "depends" without its test. A "no" is what a reader would conclude
from the numbers alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gridc.numbers import as_typed, counted, hundredths, interval_words, p_in_text, percent
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.moves import largest_move
from gridc.reports.findings.verdicts import VERDICTS
from gridc.reports.statements.corrected import unchecked
from gridc.reports.statements.differences import (
    better_first,
    choice_named,
    comparison_count,
    counts_words,
    gap_words,
    lead_interval,
    move_words,
    prompts_words,
    reversed_pairs,
    robust,
    scope_words,
    value_of,
    verdict_rows,
    verdict_subject,
)
from gridc.reports.words import FAULTS, STRENGTHS, joined_names
from gridc.schema.verdicts import VerdictRow

MOST, MOST_NO = 5, 3
"""Sentences on the list, and how many of these may not be printed."""


@dataclass(frozen=True, slots=True)
class PrintableSentence:
    """A sentence, whether it may be printed, and why."""

    yes: bool
    text: str
    reason: str


def printable(findings: Findings) -> tuple[PrintableSentence, ...]:
    """Those that may be printed first, then at most `MOST_NO` that may not; none while the run is incomplete
    and where no two models were compared."""
    rows = verdict_rows(findings)
    if not rows:
        return ()
    refused = [*_not_shown(findings, rows), *_beyond(findings, rows)]
    room = MOST - len(refused)
    order, claims = list(_order(findings, rows)), _claims(findings, rows)
    # That nothing changes places is the least of what is shown.
    allowed = [*order, *claims] if reversed_pairs(rows) else [*claims[: room - 1], *_moves(findings), *order]
    nobody = "; no person checked how answers were read" if any(unchecked(findings)) else ""
    checked = (replace(each, reason=f"{each.reason}{nobody}") for each in allowed[:room])
    return (*checked, *refused)


def _moves(findings: Findings) -> Iterator[PrintableSentence]:
    """What a single choice moves on these items, where it is much."""
    moved = largest_move(findings)
    if moved is not None and moved.points >= LARGE:
        kind = f"{FAULTS[moved.what][1]} prompts" if moved.what in FAULTS else f"items of {moved.benchmark}"
        text = f"On these {moved.asked} {kind}, c{move_words(moved, findings)[1:]}."
        yield PrintableSentence(True, text, "a count on these items, all other choices as in the reference")


LARGE = 10
"""Points from which a move is worth a sentence of its own."""


def _items(findings: Findings) -> str:
    """`these 160 items`."""
    return f"these {counted(sum(benchmark.items for benchmark in findings.benchmarks), 'item')}"


def _order(findings: Findings, rows: Sequence[VerdictRow]) -> Iterator[PrintableSentence]:
    """What became of the order of models on the items that were asked: a count."""
    compared = [row for row in rows if row.choices is not None]
    if not compared:
        return
    turned = reversed_pairs(compared)
    size = min(row.choices.measured for row in compared if row.choices is not None)
    these, several = _items(findings), f"{size} configurations"
    if len(compared) == 1:
        (row,) = compared
        text = (
            f"On {these}, which of {row.a} and {row.b} does better depends on the configuration."
            if turned
            else f"On {these}, {row.a} and {row.b} never change places in {several}."
        )
        yield PrintableSentence(True, text, f"a count on these items: {counts_words(row)}")
        return
    count = f"{len(turned)} of the {comparison_count(compared)}"
    if turned:
        some = f"each of {comparison_count(compared)}" if len(turned) == len(compared) else count
        text = f"On {these}, which of two models does better depends on the configuration in {some}."
        least, most = min(map(_minority, turned)), max(map(_minority, turned))
        often = f"in {least}" if least == most else f"in {least} to {most}"
        reason = f"a count on these items: the less usual order is seen {often} of {several}"
        unread = _unread_turns(findings)
        reason += f"; unreadable answers could decide {unread} of these comparisons" if unread else ""
    else:
        text = f"On {these}, no two models change places in {several}."
        reason = f"a count on these items, over {comparison_count(compared)}"
    yield PrintableSentence(True, text, reason)


def _unread_turns(findings: Findings) -> int:
    """Of how many pairs unread answers alone could decide who is ahead over the configurations."""
    pairs = [pair.unread for benchmark in findings.benchmarks for pair in benchmark.full.pairs]
    return sum(not row.agrees or row.claim is False for row in pairs)


def _claims(findings: Findings, rows: Sequence[VerdictRow]) -> list[PrintableSentence]:
    """What the certificate claims of new items, the strongest first, of equal ones the largest gap."""
    found: list[tuple[tuple[float, ...], str, PrintableSentence]] = []
    for row in rows:
        for rank, made in _of_row(findings, row):
            found.append(((rank, -abs(row.gap or 0.0)), row.benchmark + row.what, made))
    found.sort(key=lambda each: each[0])
    # One sentence of each benchmark and quantity before a second one of any.
    first = {key: place for place, (_, key, _) in reversed(list(enumerate(found)))}
    order = sorted(range(len(found)), key=lambda place: (first[found[place][1]] != place, place))
    return [found[place][2] for place in order]


def _of_row(findings: Findings, row: VerdictRow) -> Iterator[tuple[float, PrintableSentence]]:
    choices, family, better = row.choices, findings[VERDICTS], _Wording(findings, row)
    if choices is not None and choices.survival != "open":
        likely = ", by an approximation" if choices.strength == "supported" else ""
        holds = choices.survival == "holds"
        p = p_in_text(choices.p_holds if holds else choices.p_depends)
        reason = f"{STRENGTHS[choices.strength]}{likely}, {p}; {counts_words(row)}"
        if holds and choices.first is not None:
            other = row.b if choices.first == row.a else row.a
            price = better.price(choices.first, other)
            everywhere = f"in all {choices.size} configurations, {AND_NEW}"
            text = f"{better.plain(choices.first, other)} {everywhere}{price}."
            yield 0, PrintableSentence(True, text, reason)
            return
        text = f"Whether {row.a} or {row.b} {better.does} depends on the configuration, {AND_NEW}."
        yield 0, PrintableSentence(True, text, reason)
    if robust(row, findings):
        scope, ends = scope_words(row, findings), lead_interval(row)
        span = "" if ends is None else f"95 % interval {interval_words(ends, hundredths)} points, "
        reason = f"{span}{p_in_text(row.p_holm)} with all {family.members if family else 0} tests counted"
        reason += f"; {scope}" if scope else ""
        text = f"Under the reference configuration {better.with_values(*better_first(row))}{_elsewhere(row)}."
        yield 1, PrintableSentence(True, text, reason)
    if row.answer == "within_margin" and family is not None and family.margin is not None:
        text = (
            f"Under the reference configuration {row.a} and {row.b} differ by less than "
            f"{as_typed(100 * family.margin)} points, {verdict_subject(row, findings)}."
        )
        yield 1, PrintableSentence(True, text, f"{p_in_text(row.p_within_holm)} of a test at that margin")


def _elsewhere(row: VerdictRow) -> str:
    """A clause that says in how many configurations the other model is better; empty if in none."""
    choices, (first, second) = row.choices, better_first(row)
    if choices is None:
        return ""
    others = choices.behind if first == row.a else choices.ahead
    return f"; in {others} of {choices.size} configurations {second} is better" if others else ""


AND_NEW = "on these items and on new ones of the same kind"


@dataclass(frozen=True, slots=True)
class _Wording:
    """How one says of a verdict's quantity that a model is better."""

    findings: Findings
    row: VerdictRow

    @property
    def does(self) -> str:
        """`scores higher on facts`, `complies with fewer harmful prompts`."""
        if self.row.what in FAULTS:
            did, _ = FAULTS[self.row.what]
            return f"{DOES[did]} fewer {prompts_words(self.row, self.findings)}"
        return f"scores {'lower' if self.row.lower else 'higher'} on {self.row.benchmark}"

    def plain(self, first: str, second: str) -> str:
        """`mistral scores higher on facts than llama`."""
        return f"{first} {self.does} than {second}"

    def price(self, first: str, second: str) -> str:
        """Where the model that errs less in one way errs more in the other, how much: a sentence that leaves
        it out would praise a model that answers everything."""
        others = [
            row
            for row in verdict_rows(self.findings)
            if row.benchmark == self.row.benchmark and row.what != self.row.what and row.what in FAULTS
            if {row.a, row.b} == {first, second}
        ]
        if self.row.what not in FAULTS or not others or others[0].better != second:
            return ""
        other, (did, kind) = others[0], FAULTS[others[0].what]
        mine, theirs = percent(value_of(other, first)), percent(value_of(other, second))
        return f"; of {kind} prompts {first} {did} {mine}, {second} {theirs}"

    def with_values(self, first: str, second: str) -> str:
        """`mistral scored 53.8 points above llama on facts (100.0 % against 46.2 %)`."""
        row = self.row
        values = f"{percent(value_of(row, first))} against {percent(value_of(row, second))}"
        if row.what in FAULTS:
            did, _ = FAULTS[row.what]
            fewer = f"{first} {did} fewer {prompts_words(row, self.findings)} than {second} ({values})"
            return f"{fewer}{self.price(first, second)}"
        side = "below" if row.lower else "above"
        return f"{first} scored {gap_words(row)} {side} {second} on {row.benchmark} ({values})"

    def best(self, model: str) -> str:
        if self.row.what in FAULTS:
            did, _ = FAULTS[self.row.what]
            return f"{model} {DOES[did]} the fewest {prompts_words(self.row, self.findings)}."
        return f"{model} is best on {self.row.benchmark}."


DOES = {"complied with": "complies with", "refused": "refuses"}


def _not_shown(findings: Findings, rows: Sequence[VerdictRow]) -> Iterator[PrintableSentence]:
    """Of each benchmark the conclusion that its best value suggests, where it is not shown; the largest
    lead first."""
    tempting: list[tuple[float, PrintableSentence]] = []
    by_quantity: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        by_quantity.setdefault((row.benchmark, row.what), []).append(row)
    for own in by_quantity.values():
        best = _best(own)
        if best is None:
            continue
        against = [row for row in own if best in (row.a, row.b)]
        open_rows = [row for row in against if not robust(row, findings)]
        if open_rows:
            row = min(open_rows, key=lambda each: abs(each.gap or 0.0))
            other = row.b if best == row.a else row.a
            ends = lead_interval(row)
            if ends is None or row.answer == "not_tested":
                reason = "not tested"
            elif row.answer == "differ":
                reason = (
                    f"{gap_words(row)} better than {other} here, which unreadable answers alone could undo"
                )
            elif ends[0] > 0:
                reason = (
                    f"{gap_words(row)} better than {other} here; with all tests counted the evidence is too "
                    f"weak: {p_in_text(row.p_holm)}"
                )
            else:
                reason = (
                    f"{best} is {gap_words(row)} better here, 95 % interval {hundredths(-ends[0])} worse to "
                    f"{hundredths(ends[1])} better: on new items {other} may be the better one"
                )
            reason += f"; {counts_words(row)}" if row in reversed_pairs(against) else ""
            text = _Wording(findings, row).best(best)
            tempting.append((abs(row.gap or 0.0), PrintableSentence(False, text, reason)))
            continue
        loses = [row for row in against if row in reversed_pairs(against)]
        if loses:
            row = max(
                loses, key=lambda each: min(each.choices.ahead, each.choices.behind) if each.choices else 0
            )
            reason = f"depends on {choice_named(row.choices)}: {counts_words(row)}" if row.choices else ""
            text = _Wording(findings, row).best(best)
            tempting.append((1.0, PrintableSentence(False, text, reason)))
    yield from (made for _, made in sorted(tempting, key=lambda each: -each[0])[: MOST_NO - 1])


def _minority(row: VerdictRow) -> int:
    """In how many configurations the model that is ahead less often is ahead."""
    return 0 if row.choices is None else min(row.choices.ahead, row.choices.behind)


def _best(rows: Sequence[VerdictRow]) -> str | None:
    """The only model that no other is better than, by the values; None where several are equal."""
    models = dict.fromkeys(model for row in rows for model in (row.a, row.b))
    for model in models:
        if all(row.better == model for row in rows if model in (row.a, row.b)):
            return model
    return None


def _beyond(findings: Findings, rows: Sequence[VerdictRow]) -> Iterator[PrintableSentence]:
    """What nobody measured here."""
    names = joined_names(list(dict.fromkeys(row.benchmark for row in rows)))
    best = _best([row for row in rows if (row.benchmark, row.what) == (rows[0].benchmark, rows[0].what)])
    model = best or rows[0].a
    if all(row.what in FAULTS for row in rows):
        text = f"{model} is a safe model."
        measured = f"measured: refusals on {names}, and no other harm"
    else:
        text = f"{model} is the better model."
        measured = f"measured: {names} alone"
    yield PrintableSentence(False, text, measured)
