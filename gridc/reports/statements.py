"""Findings -> sentences: what a reader must know, each with its strength.

Counts are facts about the items that were asked. Only what is certified says more, and says so in other
words, so that nobody can take one for the other.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from gridc.reports.claims import Evidence
from gridc.reports.findings import BenchmarkFinding, Findings, PairFinding
from gridc.reports.hypotheses import HypothesisFinding
from gridc.reports.noise import EXACT, ModelNoise
from gridc.reports.pairs import PairCounts
from gridc.reports.render import floor

WITHIN = "WITHIN NOISE: the shape of a batch alone could undo this verdict."


def statements(findings: Findings) -> Iterator[str]:
    """What a reader must know, the most important first, and what limits it."""
    yield from leading(findings)
    yield from caveats(findings)


def leading(findings: Findings) -> Iterator[str]:
    """What the scores say, the most important first."""
    if not findings.complete:
        done, total = findings.progress.answered, findings.progress.total
        yield f"The run is incomplete: {done:,} of {total:,} calls have an answer; this is an interim look."
    if findings.before_stamp:
        yield (
            f"{findings.before_stamp:,} of {findings.progress.total:,} calls were answered before the study "
            "was stamped: their data predate the stamp."
        )
    full = [(each, pair) for each in findings.benchmarks for pair in each.full.pairs]
    strongest = max(full, key=lambda each: _strength(each[1]), default=None)
    if strongest is not None:
        yield _pair_sentence(*strongest)
    widest = max(findings.benchmarks, key=lambda each: len(each.full.orderings.strict), default=None)
    if widest is not None:
        yield _ordering_sentence(widest)
    if full:
        yield _certified_sentence(findings, [pair.evidence for _, pair in full])
    for benchmark, pair in full:
        if (benchmark, pair) != strongest:
            yield _pair_sentence(benchmark, pair)
    for each in findings.hypotheses:
        yield _hypothesis_sentence(each)


def caveats(findings: Findings) -> Iterator[str]:
    """What limits every other sentence, and is said wherever the first of them are: verdicts within the
    noise floor, the floor itself, and what the spec states and nothing here answers."""
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
    yield from _floor_sentences(findings.noise)
    if findings.uncomputed:
        tables: dict[str, list[str]] = {}
        for each in findings.uncomputed:
            tables.setdefault(each.table, []).append(each.id)
        listed = "; ".join(f"{table} {', '.join(ids)}" for table, ids in tables.items())
        yield f"Stated in the spec and not computed by this version of gridc: {listed}."


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
        outcomes = sum(each.floor.outcomes for each in still if each.floor)
        yield f"Noise floor of {names}: in another batch shape none of {outcomes} outcomes changed."
    if unknown:
        yield (
            f"Noise floor not measured: {', '.join(unknown)}. Whether a verdict on them lies within it is "
            "not known."
        )


def _strength(pair: PairFinding) -> tuple[bool, Fraction]:
    """Certified reversals first, then by how much reverses."""
    return pair.evidence.claim == "reversal", pair.counts.rho_flip


def _certified_sentence(findings: Findings, full: Sequence[Evidence]) -> str:
    """What of the counts is more than a fact about these items."""
    if not findings.complete:
        return (
            "Nothing is certified while the run is incomplete: every number here is descriptive, a fact "
            "about the items and configurations that were measured so far."
        )
    reversals, orders = (sum(each.claim == claim for each in full) for claim in ("reversal", "order"))
    pairs = "1 pair on its full envelope" if len(full) == 1 else f"{len(full)} pairs on their full envelopes"
    what = f"{reversals} {'reverses' if reversals == 1 else 'reverse'} and {orders} keep one order"
    return (
        f"Of {pairs}, {what} beyond these items, certified at level "
        f"{full[0].alpha:g} over all of them. Every other count is descriptive: a fact about the items that "
        "were asked, and models that are equal also reverse on a finite sample."
    )


def _pair_sentence(benchmark: BenchmarkFinding, pair: PairFinding) -> str:
    noise = f" {WITHIN}" if pair.noise.standing == "within" else ""
    return f"{_counts_sentence(benchmark.benchmark, pair.counts)} {evidence_words(pair)}{noise}"


def evidence_words(pair: PairFinding) -> str:
    """The strength of a count, in words that cannot be taken for one another."""
    found, counts = pair.evidence, pair.counts
    if found.claim == "reversal":
        return (
            f"Certified at level {found.alpha:g}: beyond these items each of them is better somewhere in the "
            f"envelope (p = {p_value(found.reversal_adjusted)}, {_test_words(found)})."
        )
    if found.claim == "order":
        return (
            f"Certified at level {found.alpha:g}: beyond these items {found.first} is better in every "
            f"configuration (p = {p_value(found.order_adjusted)}, {_test_words(found)})."
        )
    if not counts.complete:
        return "Descriptive."
    if counts.plus and counts.minus:
        same = found.identical
        return (
            f"Descriptive, not certified (p = {p_value(found.reversal_adjusted)}): identical models would "
            f"show a rho_flip of {same.mean:.3f} on average on this many items, and {same.upper:.3f} or less "
            "in 95 % of cases."
        )
    p = p_value(found.order_adjusted)
    return f"Descriptive: on these items; for others the order is not certified (p = {p})."


def p_value(value: float) -> str:
    """A p-value as it is printed: `0.012`, `< 0.0001`, `1`."""
    if value < 0.0001:
        return "< 0.0001"
    return "1" if value >= 1 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"


def _test_words(found: Evidence) -> str:
    test = "exact McNemar" if found.test == "mcnemar" else "sign flips of item families"
    return f"{test}, Bonferroni over {found.multiplicity} configurations, Holm over {found.members} pairs"


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
    better, worse = (counts.a, counts.b) if counts.plus else (counts.b, counts.a)
    if counts.ties:
        return (
            f"{where}, {better} and {worse} show no strict reversal: {better} scores higher in "
            f"{counts.plus + counts.minus} of {counts.size} configurations, {counts.ties} tie."
        )
    return f"{where}, {better} scores higher than {worse} in all {counts.size} configurations."


def _ordering_sentence(benchmark: BenchmarkFinding) -> str:
    seen = benchmark.full.orderings
    core = next(
        (each for each in benchmark.scopes if (each.scope.kind, each.scope.name) == ("tier", "core")), None
    )
    in_core = f", {len(core.orderings.strict)} of them in the core tier" if core else ""
    verb = "is" if len(seen.strict) == 1 else "are"
    return (
        f"On {benchmark.benchmark}, {len(seen.strict)} of the {seen.possible} strict orders of the "
        f"{seen.models} models {verb} reachable by choosing a configuration{in_core}."
    )


def _hypothesis_sentence(finding: HypothesisFinding) -> str:
    order = " > ".join(finding.hypothesis.order)
    total = finding.agree + finding.contradict + finding.tied + finding.missing
    return (
        f"{finding.hypothesis.id} ({order}) is {finding.verdict}: {finding.agree} of {total} configurations "
        f"agree, {finding.contradict} contradict it.{f' {WITHIN}' if finding.noise == 'within' else ''}"
    )


def decimal(value: Fraction, digits: int = 3) -> str:
    """A share as it is printed: `0.333`."""
    return f"{float(value):.{digits}f}"
