"""Answers "May I print this?": lists sentences that a study bears out, and tempting ones that it does not.

A "yes" is a count on the items that were asked, and says so, or a claim that the certificate makes: no
"differ", "within the margin", "holds" or "depends" without its test. A "no" is a conclusion that a reader
would draw from the numbers alone.
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
"""Limit the sentences on the list, and those among them that may not be printed."""
LARGE = 10
"""Points from which a move is worth a sentence of its own."""
ALSO_NEW = "on these items and on new ones like them"


@dataclass(frozen=True, slots=True)
class PrintableSentence:
    """A sentence, with a yes or no to printing it, and the reason."""

    yes: bool
    text: str
    reason: str


def printable(findings: Findings) -> tuple[PrintableSentence, ...]:
    """List the sentences that may be printed, then at most `MOST_NO` that may not; none while the run is
    incomplete, and where no two models were compared."""
    rows = verdict_rows(findings)
    if not rows:
        return ()
    refused = [*_not_shown(findings, rows), *_not_measured(findings, rows)]
    room = MOST - len(refused)
    orders, claims = list(_order_counts(findings, rows)), _claims(findings, rows)
    # A sentence that no models change places says least, and stands last.
    allowed = (
        [*orders, *claims] if reversed_pairs(rows) else [*claims[: room - 1], *_moves(findings), *orders]
    )
    caution = "; no person checked how answers were read" if any(unchecked(findings)) else ""
    allowed = [replace(sentence, reason=f"{sentence.reason}{caution}") for sentence in allowed[:room]]
    return (*allowed, *refused)


def unlisted(findings: Findings, listed: Sequence[PrintableSentence]) -> int:
    """Count the claims of the certificate for which the list has no room."""
    texts = {sentence.text for sentence in listed}
    return sum(claim.text not in texts for claim in _claims(findings, verdict_rows(findings)))


def _moves(findings: Findings) -> Iterator[PrintableSentence]:
    """Say how far a single choice moves a model on these items, if it is far."""
    moved = largest_move(findings)
    if moved is not None and moved.points >= LARGE:
        kind = f"{FAULTS[moved.what][1]} prompts" if moved.what in FAULTS else f"items of {moved.benchmark}"
        text = f"On these {moved.asked} {kind}, c{move_words(moved, findings)[1:]}."
        yield PrintableSentence(True, text, "a count on these items, all other choices as in the reference")


def _items(findings: Findings) -> str:
    """Count the items: `these 160 items`."""
    return f"these {counted(sum(benchmark.items for benchmark in findings.benchmarks), 'item')}"


def _order_counts(findings: Findings, rows: Sequence[VerdictRow]) -> Iterator[PrintableSentence]:
    """Count in how many configurations the order of models changes on the items that were asked."""
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
        comparisons = f"each of {comparison_count(compared)}" if len(turned) == len(compared) else count
        text = f"On {these}, which of two models does better depends on the configuration in {comparisons}."
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
    """Count the pairs in which unread answers alone could decide who is ahead over the configurations."""
    pairs = [pair.unread for benchmark in findings.benchmarks for pair in benchmark.full.pairs]
    return sum(not row.agrees or row.claim is False for row in pairs)


def _claims(findings: Findings, rows: Sequence[VerdictRow]) -> list[PrintableSentence]:
    """List what the certificate claims of new items: strong claims first, and equally strong ones by gap."""
    claims: list[tuple[tuple[float, float], tuple[str, str], PrintableSentence]] = []
    for row in rows:
        for rank, sentence in _row_claims(findings, row):
            claims.append(((rank, -abs(row.gap or 0.0)), (row.benchmark, row.what), sentence))
    claims.sort(key=lambda claim: claim[0])
    # Each benchmark and quantity has one sentence before any has a second one.
    quantities = set[tuple[str, str]]()
    first, further = list[PrintableSentence](), list[PrintableSentence]()
    for _, quantity, sentence in claims:
        (further if quantity in quantities else first).append(sentence)
        quantities.add(quantity)
    return [*first, *further]


def _row_claims(findings: Findings, row: VerdictRow) -> Iterator[tuple[float, PrintableSentence]]:
    """Word the claims of a row, each with its rank: 0 for one about every configuration, 1 for one about the
    reference alone."""
    choices, family, wording = row.choices, findings[VERDICTS], _Wording(findings, row)
    if choices is not None and choices.survival != "open":
        likely = ", by an approximation" if choices.strength == "supported" else ""
        holds = choices.survival == "holds"
        p = p_in_text(choices.p_holds if holds else choices.p_depends)
        reason = f"{STRENGTHS[choices.strength]}{likely}, {p}; {counts_words(row)}"
        if holds and choices.first is not None:
            other = row.b if choices.first == row.a else row.a
            price = wording.price(choices.first, other)
            everywhere = f"in all {choices.size} configurations, {ALSO_NEW}"
            text = f"{wording.plain(choices.first, other)} {everywhere}{price}."
            yield 0, PrintableSentence(True, text, reason)
            return
        which = f"which of {row.a} and {row.b} {wording.does} depends on the configuration"
        text = f"{ALSO_NEW.capitalize()}, {which}."
        yield 0, PrintableSentence(True, text, reason)
    if robust(row, findings):
        scope, ends = scope_words(row, findings), lead_interval(row)
        span = "" if ends is None else f"95 % interval {interval_words(ends, hundredths)} points, "
        reason = f"{span}{p_in_text(row.p_holm)} with all {family.members if family else 0} tests counted"
        reason += f"; {scope}" if scope else ""
        text = (
            f"Under the reference configuration {wording.with_values(*better_first(row))}{_elsewhere(row)}."
        )
        yield 1, PrintableSentence(True, text, reason)
    if row.answer == "within_margin" and family is not None and family.margin is not None:
        text = (
            f"Under the reference configuration {row.a} and {row.b} differ by less than "
            f"{as_typed(100 * family.margin)} points, {verdict_subject(row, findings)}."
        )
        yield 1, PrintableSentence(True, text, f"{p_in_text(row.p_within_holm)} of a test at that margin")


def _elsewhere(row: VerdictRow) -> str:
    """Say in how many configurations the other model is better; nothing if in none."""
    choices, (first, second) = row.choices, better_first(row)
    if choices is None:
        return ""
    reversals = choices.behind if first == row.a else choices.ahead
    return f"; in {reversals} of {choices.size} configurations {second} is better" if reversals else ""


@dataclass(frozen=True, slots=True)
class _Wording:
    """Words that a model is better, by the quantity of a verdict."""

    findings: Findings
    row: VerdictRow

    @property
    def does(self) -> str:
        """Say what the better model does: `scores higher on facts`, `complies with fewer harmful prompts`."""
        if self.row.what in FAULTS:
            did, _ = FAULTS[self.row.what]
            return f"{DOES[did]} fewer {prompts_words(self.row, self.findings)}"
        return f"scores {'lower' if self.row.lower else 'higher'} on {self.row.benchmark}"

    def plain(self, first: str, second: str) -> str:
        """Say who is better: `mistral scores higher on facts than llama`."""
        return f"{first} {self.does} than {second}"

    def price(self, first: str, second: str) -> str:
        """Say how much more the better model errs in the other way, if it does.

        Without this a sentence would praise a model that answers everything.
        """
        opposite = [
            row
            for row in verdict_rows(self.findings)
            if row.benchmark == self.row.benchmark and row.what != self.row.what and row.what in FAULTS
            if {row.a, row.b} == {first, second}
        ]
        if self.row.what not in FAULTS or not opposite or opposite[0].better != second:
            return ""
        row, (did, kind) = opposite[0], FAULTS[opposite[0].what]
        rates = percent(value_of(row, first)), percent(value_of(row, second))
        return f"; of {kind} prompts {first} {did} {rates[0]}, {second} {rates[1]}"

    def with_values(self, first: str, second: str) -> str:
        """Give the numbers: `mistral scored 53.8 points above llama on facts (100.0 % against 46.2 %)`."""
        row = self.row
        values = f"{percent(value_of(row, first))} against {percent(value_of(row, second))}"
        if row.what in FAULTS:
            did, _ = FAULTS[row.what]
            fewer = f"{first} {did} fewer {prompts_words(row, self.findings)} than {second} ({values})"
            return f"{fewer}{self.price(first, second)}"
        side = "below" if row.lower else "above"
        return f"{first} scored {gap_words(row)} {side} {second} on {row.benchmark} ({values})"

    def best(self, model: str) -> str:
        """Say that a model is best of all."""
        if self.row.what in FAULTS:
            did, _ = FAULTS[self.row.what]
            return f"{model} {DOES[did]} the fewest {prompts_words(self.row, self.findings)}."
        return f"{model} is best on {self.row.benchmark}."


DOES = {"complied with": "complies with", "refused": "refuses"}


def _not_shown(findings: Findings, rows: Sequence[VerdictRow]) -> Iterator[PrintableSentence]:
    """Refuse the conclusion that the best value of a benchmark suggests, where it is not shown; the largest
    lead first."""
    tempting: list[tuple[float, PrintableSentence]] = []
    by_quantity: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        by_quantity.setdefault((row.benchmark, row.what), []).append(row)
    for of_quantity in by_quantity.values():
        best = _best(of_quantity)
        if best is None:
            continue
        comparisons = [row for row in of_quantity if best in (row.a, row.b)]
        reversals = reversed_pairs(comparisons)
        undecided = [row for row in comparisons if not robust(row, findings)]
        if undecided:
            row = min(undecided, key=lambda row: abs(row.gap or 0.0))
            reason = _why_undecided(row, best)
            reason += f"; {counts_words(row)}" if row in reversals else ""
            lead = abs(row.gap or 0.0)
        elif reversals:
            row = max(reversals, key=_minority)
            reason = f"depends on {choice_named(row.choices)}: {counts_words(row)}" if row.choices else ""
            lead = 1.0
        else:
            continue
        tempting.append((lead, PrintableSentence(False, _Wording(findings, row).best(best), reason)))
    tempting.sort(key=lambda entry: -entry[0])
    yield from (sentence for _, sentence in tempting[: MOST_NO - 1])


def _why_undecided(row: VerdictRow, best: str) -> str:
    """Say why the lead of the best model over another one is not shown."""
    other = row.b if best == row.a else row.a
    lead, ends = f"{gap_words(row)} better than {other} here", lead_interval(row)
    if ends is None or row.answer == "not_tested":
        return "not tested"
    if row.answer == "differ":
        return f"{lead}, which unreadable answers alone could undo"
    if ends[0] > 0:
        return f"{lead}; with all tests counted the evidence is too weak: {p_in_text(row.p_holm)}"
    return (
        f"{best} is {gap_words(row)} better here, 95 % interval {hundredths(-ends[0])} worse to "
        f"{hundredths(ends[1])} better: on new items {other} may be the better one"
    )


def _minority(row: VerdictRow) -> int:
    """Count the configurations in which the model that is ahead less often is ahead."""
    return 0 if row.choices is None else min(row.choices.ahead, row.choices.behind)


def _best(rows: Sequence[VerdictRow]) -> str | None:
    """Find the model whose value is better than every other's; None where several are equal."""
    models = dict.fromkeys(model for row in rows for model in (row.a, row.b))
    for model in models:
        if all(row.better == model for row in rows if model in (row.a, row.b)):
            return model
    return None


def _not_measured(findings: Findings, rows: Sequence[VerdictRow]) -> Iterator[PrintableSentence]:
    """Refuse a conclusion about what nobody measured here."""
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
