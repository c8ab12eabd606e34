"""Sentences about pairs, orders and hypotheses, each with its strength, and about the units behind it.

Counts are facts about the items that were asked. Only what is established, or likely by an approximation,
says more, and says so in these words, so that nobody can take one for the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from gridc.numbers import as_typed, counted, number, p_in_text, percent, stated_percent
from gridc.reports.findings.falsification import FALSIFICATIONS
from gridc.reports.findings.findings import BenchmarkFinding, Findings, PairFinding
from gridc.reports.findings.hypotheses import hypothesis_sentence
from gridc.reports.statements.rates import unreadable_words
from gridc.reports.statements.statement import Backing, Statement, of_benchmark, of_study
from gridc.reports.told import pairs_by_name, strength, told, untold
from gridc.reports.words import ASSUMED, LIKELY, LIMITS, PLURAL, STRENGTHS, possible_words, units_words
from gridc.schema.comparison import UNREADABLE
from gridc.schema.items import UNIT_LEVELS, UnitLevel
from gridc.schema.rows import ClaimTestRow, EvidenceRow, StrengthRow
from gridc.statistics.clustered_logit import FLOOR, enough_cases
from gridc.statistics.envelope import Direction, Orderings, PairCounts

UNTESTED = Statement(
    "There are too many pairs, configurations and units for joint sign flips. So nothing is called likely "
    "here, which is not the result of a test.",
    "limit",
)
LOWER = "There a lower score is the better one."
Strong = Literal["certified", "supported"]
NONE = "none"
BEGINS: Mapping[Strong, str] = {"certified": "Established", "supported": f"{LIKELY.capitalize()},"}
WITHIN = "WITHIN NOISE: the shape of a batch alone could undo this verdict."


@of_study("strongest_pair", "leading", 30)
def strongest(findings: Findings) -> Iterator[Statement]:
    """The pair with the strongest evidence."""
    pairs = _told(findings)
    if pairs:
        yield _of_pair(*_strongest(pairs))


@of_study("other_pairs", "leading", 80)
def other_pairs(findings: Findings) -> Iterator[Statement]:
    """Every other pair."""
    pairs = _told(findings)
    first = _strongest(pairs) if pairs else None
    for benchmark, pair in pairs:
        if (benchmark, pair) != first:
            yield _of_pair(benchmark, pair)
    for benchmark in findings.benchmarks:
        if text := untold(benchmark.benchmark, benchmark.full.pairs):
            yield Statement(text, about=(benchmark.benchmark,))


def all_pairs(findings: Findings) -> list[tuple[BenchmarkFinding, PairFinding]]:
    """Every pair of models on every benchmark, over its full envelope."""
    return [(benchmark, pair) for benchmark in findings.benchmarks for pair in benchmark.full.pairs]


def _told(findings: Findings) -> list[tuple[BenchmarkFinding, PairFinding]]:
    return [
        (benchmark, benchmark.full.pairs[place])
        for benchmark in findings.benchmarks
        for place in told(benchmark)
    ]


def _strongest(
    pairs: Sequence[tuple[BenchmarkFinding, PairFinding]],
) -> tuple[BenchmarkFinding, PairFinding]:
    return max(pairs, key=lambda place: strength_of(place[1]))


@of_study("readings_differ", "leading", 40)
def readings_differ(findings: Findings) -> Iterator[Statement]:
    """The pairs whose conclusion depends on whether unreadable answers count."""
    pairs = all_pairs(findings)
    differing = [(benchmark, pair) for benchmark, pair in pairs if pair.parted]
    if differing:
        parted = [
            f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark} ({signs(pair.counts)} where they "
            f"count, {signs(pair.readable)} where they are left out)"
            for benchmark, pair in differing
        ]
        scores = unreadable_words([cell for benchmark, _ in pairs for cell in benchmark.cells])
        benchmark, pair = min(differing, key=lambda place: _agreement(place[1]))
        further = len(differing) - 1
        more = f" The same goes for {counted(further, 'other pair')}." if further else ""
        lost = pair.counts.measured - pair.readable.measured
        empty = f" ({counted(lost, 'configuration')} without any)" if lost else ""
        yield Statement(
            "Whether unreadable answers count or are left out decides the majority or whether one order "
            f"holds throughout, of {pairs_by_name(parted)}: N+/N−/N0, scores higher in, lower in, ties. All "
            "else that is said of pairs and orders counts them (intention-to-treat): an unreadable answer "
            f"{scores}.",
            short=f"{pair.counts.a} and {pair.counts.b} compare differently on {benchmark.benchmark} without "
            f"their unreadable answers. Counted (an unreadable answer {scores}), {_standing(pair.counts)}; "
            f"left out, {_standing(pair.readable)}{empty}.{more}",
        )


def _agreement(pair: PairFinding) -> int:
    """Below 0 where another model leads once unreadable answers are left out, the lower the further."""
    return (pair.counts.plus - pair.counts.minus) * (pair.readable.plus - pair.readable.minus)


def _standing(counts: PairCounts) -> str:
    """`llama scores higher in 26 configurations, mistral in 12 (10 ties)`: the one with more first."""
    first, second = (counts.plus, counts.a), (counts.minus, counts.b)
    if counts.minus > counts.plus:
        first, second = second, first
    ties = f" ({counted(counts.ties, 'tie')})" if counts.ties else ""
    return (
        f"{first[1]} scores higher in {counted(first[0], 'configuration')}, {second[1]} in {second[0]}{ties}"
    )


@of_study("claims", "leading", 50)
def claims(findings: Findings) -> Iterator[Statement]:
    """Which counts are more than facts about these items: one sentence for each strength."""
    pairs = all_pairs(findings)
    if not pairs:
        return
    if not findings.complete:
        yield Statement(
            "Nothing is established while the run is incomplete: every number here is a fact about the items "
            "and configurations that were measured so far."
        )
        return
    comparisons = counted(len(pairs), "comparison")
    alpha = f"{findings.alpha:g}"
    every = "the" if len(pairs) == 1 else "all"
    among = f"{every} {comparisons} of a pair on a benchmark's full envelope"
    drawn, also = "only that the units were drawn independently", f"also {ASSUMED}"
    by_level = [
        f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"
        for benchmark, pair in pairs
        if beyond(pair.evidence) == "levels"
    ]
    tested = all(pair.evidence.supported.tested for _, pair in pairs)
    if tested and not any(beyond(pair.evidence) in ("certified", "supported") for _, pair in pairs):
        yield _no_claim(among, f"{drawn}, or {also}", alpha, by_level)
    else:
        yield _claimed(pairs, "certified", among, drawn, alpha)
        yield _claimed(pairs, "supported", f"the same {comparisons}", also, alpha) if tested else UNTESTED
    yield Statement(
        "Every other count is a fact about the items that were asked: models that agree on average also "
        "reverse on a finite sample.",
        short="Other counts are facts about the items that were asked: even models that are equal on average "
        "change places on some.",
    )


def _claimed(
    pairs: Sequence[tuple[BenchmarkFinding, PairFinding]],
    strength: Strong,
    among: str,
    assumed: str,
    alpha: str,
) -> Statement:
    """The pairs whose claims have a strength."""
    reverse, keep = _listed(pairs, strength)
    if (reverse, keep) == (NONE, NONE):
        what = {
            "certified": "Neither a reversal nor one order throughout is established",
            "supported": "By an approximation, no further reversal or order is likely",
        }[strength]
        return Statement(
            f"{what} at level {alpha} over {among}, assuming {assumed}.", "limit", short=f"{what}."
        )
    return Statement(
        f"{BEGINS[strength]} at level {alpha} over {among}, assuming {assumed}: {reverse} reverse and "
        f"{keep} keep one order beyond these items.",
        strength,
        short=f"{BEGINS[strength]} for new items: pairs that keep one order, {keep}; pairs that change "
        f"places, {reverse}.",
    )


def _no_claim(among: str, assumed: str, alpha: str, by_level: Sequence[str]) -> Statement:
    """That nothing has a strength is no claim of it, and must not be read as one. `by_level` are the pairs of
    which a direction is likely on average over a level of an axis."""
    found = ""
    if by_level:
        found = f" Averaged over a level of an axis, a direction is {LIKELY}, of {pairs_by_name(by_level)}."
    return Statement(
        "Neither a reversal nor one order throughout is established, or likely by an approximation, at level "
        f"{alpha} over {among}: assuming {assumed}, these items show neither for any pair, beyond "
        f"themselves.{found}",
        "limit",
        short=f"At {percent(float(alpha), 0)} these items do not show, for any pair, that it would keep its "
        f"order on new items, or that it would change places.{found}",
    )


@of_study("counts", "limits", 40)
def limits(findings: Findings) -> Iterator[Statement]:
    """Sentences that say what counts over configurations do not show."""
    if all_pairs(findings):
        yield Statement(
            LIMITS,
            "limit",
            short="Counts over configurations show which orders exist among those that were run. They are no "
            "ranking of models, and say nothing of how often a configuration is used.",
        )


def strength_of(pair: PairFinding) -> tuple[int, int, Fraction | float]:
    """A sort key: the stronger the evidence, the greater."""
    return strength(pair.evidence, pair.counts.rho_flip)


def _listed(full: Sequence[tuple[BenchmarkFinding, PairFinding]], strength: Strong) -> Iterator[str]:
    """Which pairs reverse, and which keep one order, at this strength; of what is likely, only what is not
    established."""
    for claim in ("reversal", "order"):
        names = [
            f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"
            for benchmark, pair in full
            if getattr(pair.evidence, strength).claim == claim
            and (strength == "certified" or pair.evidence.certified.claim != claim)
        ]
        yield f"{len(names):,} ({pairs_by_name(names)})" if names else NONE


Beyond = Literal["certified", "supported", "levels"]


def beyond(evidence: EvidenceRow) -> Beyond | None:
    """How strongly something is shown of a pair beyond the items that were asked, the strongest first: one
    order or a reversal, or a direction on average over a level of an axis; None where nothing is. Every
    sentence that says so of all pairs asks this."""
    supported = evidence.supported
    if evidence.certified.claim is not None:
        return "certified"
    if supported.claim is not None:
        return "supported"
    return "levels" if supported.levels_plus or supported.levels_minus else None


def _of_pair(benchmark: BenchmarkFinding, pair: PairFinding) -> Statement:
    noise = f" {WITHIN}" if pair.noise.standing == "within" else ""
    counts = _counts_sentence(benchmark.benchmark, pair.counts)
    named_levels = any(_level_words(pair)) and pair.evidence.tier == "descriptive"
    return Statement(
        f"{counts}{_better(benchmark.direction)} {evidence_words(benchmark.unit, pair)}{noise}",
        "supported" if named_levels else pair.evidence.tier,
        (benchmark.benchmark, f"{pair.counts.a}/{pair.counts.b}"),
        short=f"{_briefly(benchmark, pair)}{noise}",
    )


def _briefly(benchmark: BenchmarkFinding, pair: PairFinding) -> str:
    """The counts of a pair and how far they reach, without the tests."""
    counts = pair.counts
    if not counts.measured:
        return f"{_counts_sentence(benchmark.benchmark, counts)}"
    if counts.plus and counts.minus:
        among = "" if counts.complete else f", of {counts.measured} measured so far"
        text = (
            f"On {benchmark.benchmark}, {counts.a} and {counts.b} change places: {_standing(counts)}{among}."
        )
    elif counts.complete and counts.ties and (counts.plus or counts.minus):
        higher, lower = (counts.a, counts.b) if counts.plus else (counts.b, counts.a)
        text = (
            f"On {benchmark.benchmark}, {higher} scores higher than {lower} in "
            f"{counts.plus + counts.minus} of {counts.size} configurations and never lower."
        )
    else:
        text = _counts_sentence(benchmark.benchmark, counts)
    if benchmark.direction.lower:
        text += " Lower is better there."
    return f"{text} {_reach(benchmark, pair)}" if counts.complete else text


def _reach(benchmark: BenchmarkFinding, pair: PairFinding) -> str:
    """Whether a pair's counts say something beyond the items that were asked."""
    strength = pair.evidence.certified if pair.evidence.certified.claim else pair.evidence.supported
    if strength.claim is None:
        levels = named_levels(pair)
        if levels:
            return f"For new items, on average over a level, this is {LIKELY}: {levels}."
        return "A count on these items: for new ones nothing is established."
    row = strength.reversal if strength.claim == "reversal" else strength.order
    exact = pair.evidence.certified.claim is not None
    what = "each leads somewhere" if strength.claim == "reversal" else f"{strength.first} leads throughout"
    groups = "items" if benchmark.unit == "item" else "groups of items"
    size = f"{pair.evidence.units:,} {groups}"
    how = STRENGTHS["certified"] if exact else f"{LIKELY},"
    return f"For new items it is {how} that {what} ({p_in_text(row.adjusted)}, {size})."


def _better(direction: Direction) -> str:
    """Words that say which of two scores is better, where it is not the higher one."""
    if direction.target is None:
        return f" {LOWER}" if direction.lower else ""
    return (
        f" There the score nearest to {as_typed(direction.target)} is best: who scores higher can be "
        "nearer to it or farther from it, and no count and no test here is about that."
    )


def evidence_words(unit: UnitLevel, pair: PairFinding) -> str:
    """How strong a count is, one sentence for each strength, in words that cannot be taken for one
    another."""
    return " ".join(filter(None, (_strength_words(unit, pair), _unread_words(pair))))


def _unread_words(pair: PairFinding) -> str:
    """In how many configurations the scores of a pair are in no test, or count as they speak against it."""
    unread = pair.counts.measured - pair.readable.measured
    parts = []
    if unread:
        verb = "is" if unread == 1 else "are"
        parts.append(
            f"In {counted(unread, 'configuration')} {pair.counts.a} or {pair.counts.b} gave no readable "
            f"answer, which {verb} in no test."
        )
    if against := len(pair.unread.beyond) - unread:
        parts.append(
            f"In {counted(against, 'configuration')} more than {stated_percent(UNREADABLE)} of a model's "
            "answers are unread: there each counts against what is established, and joint flips leave it out."
        )
    return " ".join(parts)


def _strength_words(unit: UnitLevel, pair: PairFinding) -> str:
    evidence, counts = pair.evidence, pair.counts
    exact, flips = evidence.certified, evidence.supported
    parts = list(_claim_words(unit, pair, exact, BEGINS["certified"]))
    if flips.claim != exact.claim:
        parts += _claim_words(unit, pair, flips, BEGINS["supported"])
    parts += _level_words(pair)
    if parts or not counts.complete:
        return " ".join(parts) or "Not established."
    if not (counts.plus and counts.minus):
        return (
            f"Only for these items: for new ones no order is established ({p_in_text(exact.order.adjusted)})"
            f"{_nor_likely(flips, flips.order)}."
        )
    return (
        "Only for these items: for new ones no reversal is established "
        f"({p_in_text(exact.reversal.adjusted)}){_nor_likely(flips, flips.reversal)}: "
        f"{reference_words(evidence)}"
    )


def _nor_likely(flips: StrengthRow, claim: ClaimTestRow) -> str:
    return f", and by an approximation none is likely ({p_in_text(claim.adjusted)})" if flips.tested else ""


def reference_words(found: EvidenceRow) -> str:
    """What rho_flip shows where nothing reverses, with and without the observed discordance."""
    same, itself = found.identical, found.same_model
    alone = "0"
    if itself.sampled:
        alone = f"at most {number(itself.mean)} on average, and 0 in configurations with greedy decoding"
    return (
        "models that agree on average and differ on as many units as these would show a rho_flip of "
        f"{number(same.mean)} on average, and {number(same.upper)} or less in 95 % of cases; a model against "
        f"itself {alone}."
    )


def _claim_words(unit: UnitLevel, pair: PairFinding, found: StrengthRow, word: str) -> Iterator[str]:
    """The claim at one strength: what holds, at which p, by which test, in which family, under which
    assumption."""
    strength = f"{word} at level {pair.evidence.alpha:g}"
    if found.claim == "reversal":
        family = counted(found.reversal.members, "reversal")
        yield (
            f"{strength}: beyond these items each of them scores higher somewhere in the envelope "
            f"({p_in_text(found.reversal.adjusted)}; {_test_words(unit, pair, found)}, Holm over {family})."
        )
    elif found.claim == "order":
        family = counted(found.order.members, "directed order")
        yield (
            f"{strength}: beyond these items {found.first} scores higher in every configuration "
            f"({p_in_text(found.order.adjusted)}; {_test_words(unit, pair, found)}, Holm over {family})."
        )


def _test_words(unit: UnitLevel, pair: PairFinding, found: StrengthRow) -> str:
    units = units_words(unit, pair.evidence.units)
    size = counted(pair.evidence.configurations, "configuration")
    test = {
        "mcnemar": f"exact McNemar on {units}",
        "betting": f"bets on {units}",
        "joint_flips": f"joint sign flips of {units}, assuming {ASSUMED}",
    }[found.test]
    searched = {
        "mcnemar": f"Bonferroni over {size}",
        "betting": f"e-values averaged over {size}",
        "joint_flips": f"the largest t of {size} and of the levels of their axes",
    }[found.test]
    return f"{test}; {f'the largest p of {size}' if found.claim == 'order' else searched}"


def _level_words(pair: PairFinding) -> Iterator[str]:
    """The levels of axes under which a direction is named, unless one order holds throughout."""
    levels = named_levels(pair)
    if levels:
        yield (
            f"{BEGINS['supported']} at level {pair.evidence.alpha:g}, averaged over the configurations at a "
            f"level of an axis: {levels} (assuming {ASSUMED})."
        )


def named_levels(pair: PairFinding) -> str:
    """`ant scores higher under frame=bare`; nothing where one order holds throughout, or none is named."""
    strength, counts = pair.evidence.supported, pair.counts
    if strength.claim == "order":
        return ""
    return "; ".join(
        f"{model} scores higher under {', '.join(names)}"
        for names, model in ((strength.levels_plus, counts.a), (strength.levels_minus, counts.b))
        if names
    )


def _counts_sentence(name: str, counts: PairCounts) -> str:
    where = f"On {name}"
    if counts.plus and counts.minus:
        among = f"{counts.size} configurations"
        rho = f"rho_flip {number(counts.rho_flip)}, at most {number(counts.ceiling)}"
        if not counts.complete:
            among = f"the {counts.measured} of {counts.size} configurations that are measured"
            rho = f"rho_flip at least {number(counts.rho_flip)}"
        return (
            f"{where}, the order of {counts.a} and {counts.b} depends on the configuration: {counts.a} "
            f"scores higher in {counts.plus} of {among}, {counts.b} in {counts.minus}, "
            f"{counts.ties} tie ({rho})."
        )
    if not counts.measured:
        return f"{where}, {counts.a} and {counts.b} are not measured in any configuration yet."
    if not counts.complete:
        bound = ""
        if counts.minority_bound is not None:
            bound = (
                "; had those been drawn at random, at most "
                f"{counts.minority_bound} of all could go against their order (95 %)"
            )
        return f"{where}, {counts.a} and {counts.b} show {counts.words} configurations{bound}."
    if counts.words == "tied everywhere":
        return f"{where}, {counts.a} and {counts.b} are tied {_everywhere(counts.size)}."
    higher, lower = (counts.a, counts.b) if counts.plus else (counts.b, counts.a)
    if counts.ties:
        return (
            f"{where}, {higher} and {lower} show no strict reversal: {higher} scores higher in "
            f"{counts.plus + counts.minus} of {counts.size} configurations, {counts.ties} tie."
        )
    return f"{where}, {higher} scores higher than {lower} {_everywhere(counts.size)}."


def _everywhere(configurations: int) -> str:
    return "in the one configuration" if configurations == 1 else f"in all {configurations} configurations"


def signs(counts: PairCounts) -> str:
    """`12/26/10`, and of how many where some are not measured."""
    of = "" if counts.complete else f" of {counts.measured} measured"
    return f"{counts.plus}/{counts.minus}/{counts.ties}{of}"


@of_study("orders", "leading", 70)
def orders(findings: Findings) -> Iterator[Statement]:
    """How many different orders the configurations show, on the benchmark with the most; for an unfinished
    run, so far."""
    if not findings.benchmarks:
        return
    if not all_pairs(findings):
        yield Statement("One model was asked, so no order of models is compared.")
        return
    widest = max(findings.benchmarks, key=lambda benchmark: len(benchmark.full.orderings.strict))
    seen, tier = widest.full.orderings, findings.plan.study.spec.tiers[0]
    if not seen.measured:
        return
    core = next(
        (scope for scope in widest.scopes if (scope.scope.kind, scope.scope.name) == ("tier", tier)), None
    )
    in_core = f", {len(core.orderings.strict)} of them in the {tier} tier" if core else ""
    verb = "is" if len(seen.strict) == 1 else "are"
    reached = "reachable by choosing a configuration" if findings.complete else "seen so far"
    yield Statement(
        f"On {widest.benchmark}, {len(seen.strict)} of the {possible_words(seen.possible)} strict orders of "
        f"the {seen.models} models {verb} {reached}{in_core}.",
        about=(widest.benchmark,),
        short=f"On {widest.benchmark}, {_orders_briefly(seen)}." if findings.complete else "",
    )


def _orders_briefly(seen: Orderings) -> str:
    """How many different orders without a tie the configurations show."""
    models, strict = f"the {seen.models} models", len(seen.strict)
    if not strict:
        return f"every configuration has a tie among {models}"
    if strict == 1:
        return f"every configuration without a tie puts {models} in the same order"
    possible = possible_words(seen.possible)
    return f"configurations put {models} in {strict} different orders, of {possible} without a tie"


RESULTS = {"fail": "failed", "partial": "passed in part", "open": "undecided", "pass": "passed"}
"""Of falsification tests, the worst first."""


@of_study("hypothesis", "leading", 60)
def verdicts(findings: Findings) -> Iterator[Statement]:
    """The verdict on every hypothesis in full; `findings.hypotheses.verdict_lines` has a short version."""
    for finding in findings.hypotheses:
        text = hypothesis_sentence(finding, findings.complete)
        backing: Backing = "open"
        if finding.verdict != "open":
            backing = "supported" if finding.ranking is None else finding.ranking.strength
        noisy = f"{text} {WITHIN}" if finding.noise == "within" else text
        yield Statement(noisy, backing, (finding.id,))


@of_study("falsification", "falsification", 10)
def falsifications(findings: Findings) -> Iterator[Statement]:
    """What became of the tests that could have broken the findings."""
    computed = findings[FALSIFICATIONS]
    ids_by_result = {
        words: [test.id for test in computed if test.result == result] for result, words in RESULTS.items()
    }
    counts = [f"{len(ids)} {words} ({', '.join(ids)})" for words, ids in ids_by_result.items() if ids]
    if counts:
        tests = "falsification test that is" if len(computed) == 1 else "falsification tests that are"
        here = [test.id for test in computed if test.by == "values" and test.result != "open"]
        alone = f" On these items alone: {', '.join(here)}." if here else ""
        yield Statement(f"Of {len(computed)} {tests} computed, {', '.join(counts)}.{alone}")


@of_benchmark("few_units", "limits", 60)
def few_units(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where units are too few or too unequal for anything to be supported."""
    if benchmark.full.pairs and benchmark.grouped and not enough_cases(benchmark.effective):
        yield Statement(
            f"On {benchmark.benchmark} the {benchmark.units:,} {PLURAL[benchmark.unit]} are worth "
            f"{number(benchmark.effective, 1)} of one size, and joint sign flips need {FLOOR:g}: no order "
            "of models is likely there by this approximation, whatever the scores.",
            "limit",
            (benchmark.benchmark,),
            short=f"On {benchmark.benchmark} no order of models can be likely by an approximation: its "
            f"{benchmark.items:,} items come in {benchmark.units:,} groups, worth "
            f"{number(benchmark.effective, 1)} of one size, and {FLOOR:g} are needed.",
        )


@of_benchmark("passed_over", "limits", 50)
def passed_over(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where the spec names a unit finer than the data document, or intervals over less than a unit."""
    finer, about = benchmark.intervals.unit, (benchmark.benchmark,)
    if UNIT_LEVELS.index(finer) < UNIT_LEVELS.index(benchmark.unit):
        yield Statement(
            f"On {benchmark.benchmark} every interval, and every p at a margin, takes each {finer} as "
            f"independent, though the unit is the {benchmark.unit}: they assume that the {PLURAL[finer]} of "
            f"one {benchmark.unit} are.",
            "limit",
            about,
        )
    if "question" in benchmark.coarser:
        yield Statement(
            f"On {benchmark.benchmark} the spec takes each item as independent, though {benchmark.items:,} "
            f"items ask {benchmark.distinct:,} questions: what is counted holds for these questions, and "
            "nothing is claimed of new ones.",
            "limit",
            about,
        )
    elif benchmark.coarser:
        yield Statement(
            f"On {benchmark.benchmark} the spec takes each {benchmark.unit} as independent, though the data "
            f"document a coarser level ({', '.join(benchmark.coarser)}): what is established and every "
            f"interval there assumes that the {PLURAL[benchmark.unit]} of one {benchmark.coarser[-1]} are "
            "independent.",
            "limit",
            about,
        )
