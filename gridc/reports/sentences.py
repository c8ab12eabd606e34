"""Findings -> sentences: what a reader must know, each with its strength.

Counts are facts about the items that were asked. Only what is certified says more, and says so in other
words, so that nobody can take one for the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from gridc.compiler.grid.configurations import drawn_words
from gridc.reports.findings.findings import BenchmarkFinding, Findings, ModelFinding, PairFinding
from gridc.reports.findings.hypotheses import DECISIONS
from gridc.reports.findings.noise import ModelNoise
from gridc.reports.findings.rates import RateFinding
from gridc.reports.findings.scores import CellScore
from gridc.reports.templates import floor, percent
from gridc.reports.words import ASSUMED, LIMITS, told_p
from gridc.schema.evidence import EvidenceRow, StrengthRow
from gridc.schema.items import UnitLevel
from gridc.schema.scores import ByExpected, Scores
from gridc.schema.spec import EXACT
from gridc.statistics.pairs import PairCounts

PLURAL: Mapping[UnitLevel, str] = {
    "item": "items",
    "family": "families",
    "template": "templates",
    "category": "categories",
}
LOWER = "There a lower score is the better one."
Strong = Literal["certified", "supported"]
INTERVAL_METHOD = "bootstrap of units, percentiles expanded for their number (Hesterberg 2015)"
WITHIN = "WITHIN NOISE: the shape of a batch alone could undo this verdict."


def statements(findings: Findings) -> Iterator[str]:
    """What a reader must know, the most important first, and what limits it."""
    yield from leading(findings)
    yield from rate_sentences(findings)
    yield from falsification_sentences(findings)
    yield from caveats(findings)


def leading(findings: Findings) -> Iterator[str]:
    """What the scores say, the most important first."""
    if not findings.complete:
        done, total = findings.progress.answered, findings.progress.total
        yield f"The run is incomplete: {done:,} of {total:,} calls have an answer; this is an interim look."
    if findings.before_stamp:
        yield (
            f"By the store's own clock {findings.before_stamp:,} of {findings.progress.total:,} calls were "
            "answered before the study was stamped: their data predate the stamp."
        )
    full = [(each, pair) for each in findings.benchmarks for pair in each.full.pairs]
    strongest = max(full, key=lambda each: _strength(each[1]), default=None)
    if strongest is not None:
        yield _pair_sentence(*strongest)
        yield from _parted(full)
        yield from _claims_sentences(findings, full)
    for stated in findings.hypotheses:
        sentence = DECISIONS[stated.hypothesis.kind].sentence(stated, findings.complete)
        yield f"{sentence} {WITHIN}" if stated.noise == "within" else sentence
    widest = max(findings.benchmarks, key=lambda each: len(each.full.orderings.strict), default=None)
    if widest is not None and full:
        yield _ordering_sentence(widest, findings.plan.study.spec.tiers[0])
    elif widest is not None:
        yield "One model was asked, so no order of models is compared."
    for benchmark, pair in full:
        if (benchmark, pair) != strongest:
            yield _pair_sentence(benchmark, pair)


def _parted(full: Sequence[tuple[BenchmarkFinding, PairFinding]]) -> Iterator[str]:
    """Where it decides the verdict whether unreadable answers count."""
    told = [
        f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark} ({signs(pair.counts)} where they "
        f"count, {signs(pair.readable)} where they are left out)"
        for benchmark, pair in full
        if pair.parted
    ]
    if told:
        yield (
            "Whether unreadable answers count or are left out decides the majority or whether one order "
            f"holds throughout, of {'; '.join(told)}: N+/N−/N0, scores higher in, lower in, ties. All else "
            "that is said of pairs and hypotheses counts them (intention-to-treat): an unreadable answer "
            f"{unreadable_words([each for benchmark, _ in full for each in benchmark.cells])}."
        )


def signs(counts: PairCounts) -> str:
    """`12/26/10`, and of how many where some are not measured."""
    of = "" if counts.complete else f" of {counts.measured} measured"
    return f"{counts.plus}/{counts.minus}/{counts.ties}{of}"


def caveats(findings: Findings) -> Iterator[str]:
    """What limits every other sentence, and is said wherever the first of them are: verdicts within the
    noise floor, the floor itself, and what the spec states and nothing here answers."""
    if findings.steps_back:
        where = ", ".join(str(number) for number in findings.steps_back[:5])
        yield (
            f"The machine's clock was set back while the store was written (at event {where}), so that "
            "its dates show no order: neither which calls predate the stamp, nor which do not."
        )
    inside = [
        f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"
        for benchmark in findings.benchmarks
        for pair in benchmark.full.pairs
        if pair.noise.standing == "within"
    ]
    inside += [each.hypothesis.id for each in findings.hypotheses if each.noise == "within"]
    if inside:
        yield (
            f"WITHIN NOISE: the shape of a batch alone could undo {len(inside)} "
            f"{'verdict' if len(inside) == 1 else 'verdicts'}: {'; '.join(inside)}."
        )
    if findings.plan.study.spec.study.purpose == "exploratory" and findings.hypotheses:
        yield "The study is exploratory: its verdicts say what to predict next, and confirm nothing."
    if any(benchmark.full.pairs for benchmark in findings.benchmarks):
        yield LIMITS
    for benchmark in findings.benchmarks:
        yield from _passed_over(benchmark)
        yield from _left_out(findings, benchmark.benchmark)
        yield from _unreadable(findings, benchmark)
    drawn = drawn_words(findings.plan.study.spec)
    if drawn is not None:
        yield drawn
    yield from scoring_notes(findings)
    if findings.lock.supersedes:
        earlier = findings.lock.supersedes
        when = f"made {earlier[-1].created[:10]}"
        yield (
            f"The stamp replaced {len(earlier)} earlier {'one' if len(earlier) == 1 else 'ones'}, the last "
            f"{when} ({earlier[-1].stamp[:12]}): `gridc plan --against` says what changed."
        )
    yield from _floor_sentences(findings.noise)
    if findings.uncomputed:
        tables: dict[str, list[str]] = {}
        for each in findings.uncomputed:
            tables.setdefault(each.table, []).append(each.id)
        listed = "; ".join(f"{table} {', '.join(ids)}" for table, ids in tables.items())
        yield f"Stated in the spec and not computed by this version of gridc: {listed}."


def units_words(unit: UnitLevel, units: int) -> str:
    """`80 items`, `20 families`, `1 template`."""
    return f"{units:,} {unit if units == 1 else PLURAL[unit]}"


def interval_assumption(unit: UnitLevel) -> str:
    """What an interval rests on, in a phrase."""
    return (
        f"the {PLURAL[unit]} are independent draws from those that could have been asked, and many enough to "
        "show their spread; each interval covers alone, not all of them together"
    )


def _left_out(findings: Findings, benchmark: str) -> Iterator[str]:
    """Rows of which no item was made, because the spec leaves malformed ones out."""
    source = findings.plan.study.items[benchmark].source
    if source.left_out:
        count = len(source.left_out)
        verbs = ("does", "is") if count == 1 else ("do", "are")
        yield (
            f"Of the {source.rows:,} rows of the files of {benchmark}, {count:,} {verbs[0]} not follow the "
            f"format and {verbs[1]} left out: no score here counts them, and the lock says why for each."
        )


def _passed_over(benchmark: BenchmarkFinding) -> Iterator[str]:
    """Where the spec names a finer unit than the data document."""
    if benchmark.coarser:
        yield (
            f"On {benchmark.benchmark} the spec takes each {benchmark.unit} as independent, though the data "
            f"document a coarser level ({', '.join(benchmark.coarser)}): what is certified and every "
            f"interval there assumes that the {PLURAL[benchmark.unit]} of one {benchmark.coarser[-1]} are "
            "independent."
        )


def _unreadable(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[str]:
    """Where a score is low because little of it could be read."""
    least = findings.plan.study.spec.analysis.parse_clean
    low = [
        each
        for each in benchmark.cells
        if each.cell.shared and each.parse_rate is not None and each.parse_rate < Fraction(str(least))
    ]
    if low:
        worst = min(low, key=lambda each: each.parse_rate or 0)
        models = ", ".join(dict.fromkeys(each.cell.model for each in low))
        places = len({each.cell.configuration for each in low})
        size = len(benchmark.full.scope.configurations)
        helps = benchmark.lower_is_better and not any(each.credit for each in low)
        yield (
            f"On {benchmark.benchmark}, in {places} of {size} configurations fewer than {least:.0%} of a "
            f"model's answers could be read ({models}; at worst {percent(worst.parse_rate)}). An "
            f"unreadable answer {unreadable_words(low)}{', which is the better end there' if helps else ''}."
        )


def unreadable_words(cells: Sequence[CellScore]) -> str:
    """What an unreadable answer scores in some cells."""
    credited = {each.credit > 0 for each in cells if not each.cell.setting.ranks}
    if credited == {True}:
        return "scores 1, the worst there"
    return "scores 0, or 1 where the spec gives it the worst score" if True in credited else "scores 0"


def scoring_notes(findings: Findings) -> Iterator[str]:
    """Where a score is not 1 for a right answer and 0 for any other: what the spec says that labels and
    unreadable answers earn."""
    for benchmark in findings.benchmarks:
        settings = [each.cell.setting for each in benchmark.cells]
        for scores in dict.fromkeys(setting.scores for setting in settings if setting.scores is not None):
            everywhere = all(setting.scores == scores for setting in settings)
            yield (
                f"On {benchmark.benchmark}{'' if everywhere else ', in some configurations,'} the spec says "
                f"what a response earns: {_labels(scores)}."
            )
        credited = [setting.credit > 0 for setting in settings]
        if any(credited):
            where = "" if all(credited) else ", in some configurations,"
            yield (
                f"On {benchmark.benchmark}{where} an unreadable answer earns the worst score, 1, as the spec "
                "says: there a lower score is the better one."
            )


def _labels(scores: Scores) -> str:
    """`right 1, unknown 0.5, other 0`; by what the prompt expects where that decides."""
    told = []
    for label, value in scores.root.items():
        if isinstance(value, ByExpected):
            told.append(f"{label} {value.comply:g} on prompts to comply with and {value.refuse:g} to refuse")
        else:
            told.append(f"{label} {value:g}")
    return ", ".join(told)


def falsification_sentences(findings: Findings) -> Iterator[str]:
    """What became of the tests that could have broken the findings, the worst first."""
    results = {"fail": "failed", "partial": "passed in part", "open": "undecided", "pass": "passed"}
    told = []
    for result, words in results.items():
        names = [each.id for each in findings.falsifications if each.result == result]
        if names:
            told.append(f"{len(names)} {words} ({', '.join(names)})")
    if told:
        yield f"Of {len(findings.falsifications)} falsification tests that are computed, {', '.join(told)}."


LED_BY_RATES = ("over_refusal", "unsafe_compliance", "bias_ambiguous", "bias_disambiguated", "bias_magnitude")
"""The rates that are said in sentences, beside a study's own outcomes; the tables have all."""


def rate_sentences(findings: Findings) -> Iterator[str]:
    """The rates that a score hides, for each model under the first configuration, and over the envelope."""
    stated = [outcome.id for outcome in findings.plan.study.spec.outcomes]
    for benchmark in findings.benchmarks:
        for rate in benchmark.rates:
            if rate.name not in (*LED_BY_RATES, *stated):
                continue
            told = [_rate_words(rate, model) for model in benchmark.models]
            shown = "; ".join(each for each in told if each)
            if shown:
                name = rate.name.replace("_", " ")
                yield (
                    f"{name[0].upper()}{name[1:]} on {benchmark.benchmark} ({rate.what}), under the first "
                    f"configuration with its 95 % interval: {shown}."
                )


def _rate_words(rate: RateFinding, model: ModelFinding) -> str | None:
    here = rate.values.get((model.model, model.anchor.cell.configuration))
    ends = rate.over(model.model)
    if here is None or ends is None:
        return None
    low, high = (f"{100 * float(end):.1f}" for end in ends)
    count = sum(name == model.model for name, _ in rate.values)
    over = f", {low} to {high} over {count} configurations" if count > 1 else ""
    if here.value is None:
        return f"{model.model} not defined{over}"
    span = "" if here.interval is None else f" [{', '.join(f'{100 * end:.1f}' for end in here.interval)}]"
    return f"{model.model} {percent(here.value)}{span}{over}"


def _floor_sentences(noise: Sequence[ModelNoise]) -> Iterator[str]:
    """One sentence for each model and precision; those at full precision where nothing changed share one."""
    still = [each for each in noise if each.precision == EXACT and each.floor and each.floor.still]
    unknown = [f"{each.model} at {each.precision}" for each in noise if each.floor is None]
    for each in noise:
        if each.floor is not None and each not in still:
            told = floor(each.floor.row)
            yield f"Noise floor of {each.model} at {each.precision}: in another batch shape {told}."
    if still:
        names = ", ".join(f"{each.model} at {each.precision}" for each in still)
        outcomes, calls = (sum(getattr(each.floor, key) for each in still) for key in ("outcomes", "calls"))
        yield (
            f"Noise floor of {names}: in another batch shape none of {outcomes} outcomes of {calls} calls "
            "changed."
        )
    if unknown:
        yield (
            f"Noise floor not measured: {', '.join(unknown)}. Whether a verdict on them lies within it is "
            "not known."
        )


def _strength(pair: PairFinding) -> tuple[int, int, Fraction]:
    """The strongest evidence first, reversals before orders, then by how much reverses."""
    found = pair.evidence
    claim = found.certified.claim or found.supported.claim
    tiers = ("descriptive", "supported", "certified")
    return tiers.index(found.tier), (None, "order", "reversal").index(claim), pair.counts.rho_flip


def _claims_sentences(
    findings: Findings, full: Sequence[tuple[BenchmarkFinding, PairFinding]]
) -> Iterator[str]:
    """What of the counts is more than a fact about these items, each strength in a sentence of its own."""
    if not findings.complete:
        yield (
            "Nothing is certified or supported while the run is incomplete: every number here is "
            "descriptive, a fact about the items and configurations that were measured so far."
        )
        return
    comparisons = f"{len(full)} {'comparison' if len(full) == 1 else 'comparisons'}"
    alpha = f"{findings.alpha:g}"
    reverse, keep = _listed(full, "certified")
    yield (
        f"Certified at level {alpha} over all {comparisons} of a pair on a benchmark's full envelope, "
        f"assuming only that the units were drawn independently: {reverse} reverse and {keep} keep one order "
        "beyond these items."
    )
    reverse, keep = _listed(full, "supported")
    yield (
        f"Supported at level {alpha} over the same {comparisons}, assuming also {ASSUMED}: {reverse} "
        f"reverse and {keep} keep one order beyond these items."
    )
    yield (
        "Every other count is descriptive: a fact about the items that were asked, and models that agree on "
        "average also reverse on a finite sample."
    )


def _listed(full: Sequence[tuple[BenchmarkFinding, PairFinding]], strength: Strong) -> Iterator[str]:
    """Which pairs reverse, and which keep one order, at this strength."""
    for claim in ("reversal", "order"):
        names = [
            f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"
            for benchmark, pair in full
            if getattr(pair.evidence, strength).claim == claim
        ]
        yield f"{len(names)} ({'; '.join(names)})" if names else "none"


def _pair_sentence(benchmark: BenchmarkFinding, pair: PairFinding) -> str:
    noise = f" {WITHIN}" if pair.noise.standing == "within" else ""
    lower = f" {LOWER}" if benchmark.lower_is_better else ""
    counts = _counts_sentence(benchmark.benchmark, pair.counts)
    return f"{counts}{lower} {evidence_words(benchmark.unit, pair)}{noise}"


def evidence_words(unit: UnitLevel, pair: PairFinding) -> str:
    """How strong a count is, one sentence for each strength, in words that cannot be taken for one
    another."""
    found, counts = pair.evidence, pair.counts
    exact, flips = found.certified, found.supported
    told = list(_claim_words(unit, pair, exact, "Certified"))
    if flips.claim != exact.claim:
        told += _claim_words(unit, pair, flips, "Supported")
    told += _level_words(pair)
    if told or not counts.complete:
        return " ".join(told) or "Descriptive."
    if not (counts.plus and counts.minus):
        return (
            "Descriptive: on these items; for others the order is neither certified "
            f"({told_p(exact.order.adjusted)}) nor supported ({told_p(flips.order.adjusted)})."
        )
    return (
        f"Descriptive, neither certified ({told_p(exact.reversal.adjusted)}) nor supported "
        f"({told_p(flips.reversal.adjusted)}): {reference_words(found)}"
    )


def reference_words(found: EvidenceRow) -> str:
    """What rho_flip shows where nothing reverses, with and without the observed discordance."""
    same, itself = found.identical, found.same_model
    alone = "0"
    if itself.sampled:
        alone = f"at most {itself.mean:.3f} on average, and 0 in configurations with greedy decoding"
    return (
        "models that agree on average and differ on as many units as these would show a rho_flip of "
        f"{same.mean:.3f} on average, and {same.upper:.3f} or less in 95 % of cases; a model against itself "
        f"{alone}."
    )


def _claim_words(unit: UnitLevel, pair: PairFinding, found: StrengthRow, word: str) -> Iterator[str]:
    """The claim at one strength: what holds, at which p, by which test, in which family, under which
    assumption."""
    strength = f"{word} at level {pair.evidence.alpha:g}"
    if found.claim == "reversal":
        family = counted(found.reversal.members, "reversal")
        yield (
            f"{strength}: beyond these items each of them scores higher somewhere in the envelope "
            f"({told_p(found.reversal.adjusted)}; {_test_words(unit, pair, found)}, Holm over {family})."
        )
    elif found.claim == "order":
        family = counted(found.order.members, "directed order")
        yield (
            f"{strength}: beyond these items {found.first} scores higher in every configuration "
            f"({told_p(found.order.adjusted)}; {_test_words(unit, pair, found)}, Holm over {family})."
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
    found, counts = pair.evidence.supported, pair.counts
    levels = [
        f"{model} scores higher under {', '.join(names)}"
        for names, model in ((found.levels_plus, counts.a), (found.levels_minus, counts.b))
        if names
    ]
    if levels and found.claim != "order":
        yield (
            f"Supported at level {pair.evidence.alpha:g}, averaged over the configurations at a level of an "
            f"axis: {'; '.join(levels)} (assuming {ASSUMED})."
        )


def counted(number: int, noun: str) -> str:
    """`1 reversal`, `15 reversals`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _counts_sentence(name: str, counts: PairCounts) -> str:
    where = f"On {name}"
    if counts.plus and counts.minus:
        among = f"{counts.size} configurations"
        rho = f"rho_flip {decimal(counts.rho_flip)}, at most {decimal(counts.ceiling)}"
        if not counts.complete:
            among = f"the {counts.measured} of {counts.size} configurations that are measured"
            rho = f"rho_flip at least {decimal(counts.rho_flip)}"
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
        return f"{where}, {counts.a} and {counts.b} are tied in all {counts.size} configurations."
    higher, lower = (counts.a, counts.b) if counts.plus else (counts.b, counts.a)
    if counts.ties:
        return (
            f"{where}, {higher} and {lower} show no strict reversal: {higher} scores higher in "
            f"{counts.plus + counts.minus} of {counts.size} configurations, {counts.ties} tie."
        )
    return f"{where}, {higher} scores higher than {lower} in all {counts.size} configurations."


def _ordering_sentence(benchmark: BenchmarkFinding, tier: str) -> str:
    seen = benchmark.full.orderings
    core = next(
        (each for each in benchmark.scopes if (each.scope.kind, each.scope.name) == ("tier", tier)), None
    )
    in_core = f", {len(core.orderings.strict)} of them in the {tier} tier" if core else ""
    verb = "is" if len(seen.strict) == 1 else "are"
    return (
        f"On {benchmark.benchmark}, {len(seen.strict)} of the {seen.possible} strict orders of the "
        f"{seen.models} models {verb} reachable by choosing a configuration{in_core}."
    )


def decimal(value: Fraction, digits: int = 3) -> str:
    """A share as it is printed: `0.333`."""
    return f"{float(value):.{digits}f}"
