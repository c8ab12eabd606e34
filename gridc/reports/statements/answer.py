"""What came of a study, for who reads no further: one sentence, then at most three short answers.

Terminal and page begin with it. What it says of all pairs is made from the list that the sentences about each
are made from (`pairs.compared`, `pairs.beyond`), so that the two cannot disagree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gridc.numbers import (
    asked_items,
    between,
    count,
    counted,
    hundredths,
    number,
    over_units,
    p_in_text,
    percent,
    points,
)
from gridc.reports.findings.corrected import SCORE
from gridc.reports.findings.findings import BenchmarkFinding, Findings, PairFinding
from gridc.reports.findings.hypotheses import approximate, verdict_lines
from gridc.reports.findings.judges import JUDGE_BIASES, JudgeBias
from gridc.reports.findings.labels import ALL, AUDITS, JUDGING
from gridc.reports.findings.rates import RateFinding, RateGap, hits_of
from gridc.reports.scoreboard import Scoreboard, ScoreboardRow, of_findings
from gridc.reports.statements import choose
from gridc.reports.statements.corrected import at_anchor, taken_back_words, unchecked, value_words
from gridc.reports.statements.pairs import beyond, compared, named_levels
from gridc.reports.statements.rates import unreadable
from gridc.reports.statements.statement import Statement
from gridc.reports.words import (
    BY_APPROXIMATION,
    FAULTS,
    LIKELY,
    FaultCounts,
    best_first,
    conduct_words,
    listed,
    not_asked,
    open_words,
)
from gridc.schema.certificate import GapRow
from gridc.statistics.clustered_logit import enough_cases
from gridc.statistics.unit_intervals import Ends

FEW = 3
"""Benchmarks, models or pairs that are named one by one; of more it is said how many."""

INTERVAL = "95 % interval"

COVERED = frozenset(("taken_back", "strongest_pair", "claims", "orders", "other_pairs", "hypothesis"))
"""Statements of the shelf that this answer says in its own words."""


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """A question that every reader has, and what the study says to it."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """`result` is what came of the study in a sentence or two, and `answers` what it says to at most three
    questions: who does better, whether that is certain, and what was asked."""

    result: str
    answers: tuple[ShortAnswer, ...]


def answer(findings: Findings, boards: Sequence[Scoreboard] | None = None) -> StudyAnswer:
    """The answer of a study, complete or not. `boards` are its scoreboards, where they are at hand."""
    shown = of_findings(findings) if boards is None else boards
    told = (
        ShortAnswer(_who(findings), _alone(" ".join(_standings(findings, shown)))),
        ShortAnswer("Is that certain?", " ".join([_certainty(findings, shown), *_read(findings)]).strip()),
        ShortAnswer(
            "What was asked, and what was not?" if findings.recorded is None else "What do the logs have?",
            " ".join(_asked(findings, shown)),
        ),
    )
    return StudyAnswer(_result(findings, shown), tuple(each for each in told if each.text))


def _result(findings: Findings, boards: Sequence[Scoreboard]) -> str:
    if not findings.complete:
        done, total = findings.progress.answered, findings.progress.total
        if done == total:
            return "No result yet: every call has an answer, and some are not scored."
        return f"No result yet: {done:,} of {total:,} calls have an answer, and everything here may change."
    sentences = [text for each in findings.benchmarks if (text := taken_back_words(each)) is not None]
    sentences += _predicted(findings)
    behaved = [board for board in boards if _fault_counts(board)]
    audited = {each.benchmark for each in findings.benchmarks if each.audit is not None}
    for board in behaved[:FEW]:
        sentences += conduct_words(board.benchmark, _fault_counts(board), board.anchor_items)
        if board.benchmark in audited:
            sentences.append("That is how the answers were read; what people's labels make of it is below.")
        lost = [f"{row.unreadable:,} of {row.model}" for row in board.models if row.unreadable]
        if lost:
            sentences.append(f"Answers that could not be read, and count as neither: {listed(lost)}.")
    if len(behaved) > FEW:
        sentences.append(f"Of {counted(len(behaved) - FEW, 'further refusal benchmark')}: see below.")
    others = {board.benchmark for board in boards} - {board.benchmark for board in behaved}
    aimed = {each.benchmark for each in findings.benchmarks if each.direction.target is not None} & others
    if aimed:
        sentences.append(f"On {listed(sorted(aimed))} the score nearest to a target is best.")
    pairs = [(where, pair) for where, pair in compared(findings) if where.benchmark in others - aimed]
    others -= aimed if compared(findings) else set()
    if pairs:
        own = [board for board in boards if board.benchmark in others]
        sentences.append(_order(pairs, own, findings.recorded is not None))
    elif others:
        sentences += _single([board for board in boards if board.benchmark in others])
    for board in boards:
        silent = [row.model for row in board.models if row.unreadable and row.unreadable == row.samples]
        if silent and board not in behaved:
            sentences.append(f"No answer of {listed(silent)} on {board.benchmark} could be read.")
    sentences += open_words(
        [
            (where.benchmark, pair.counts.a, pair.counts.b, pair.unread)
            for where, pair in compared(findings)
            if where.direction.target is None and where.audit is None
        ]
    )
    return " ".join(sentences)


def _predicted(findings: Findings) -> Iterator[str]:
    """What became of each prediction; of many, how many met which end."""
    many = len(findings.hypotheses) > FEW
    if many:
        yield next(verdict_lines(findings.hypotheses, True))
    for finding in () if many else findings.hypotheses:
        order = "" if finding.ranking is None else " > ".join(finding.ranking.order)
        stated = (finding.claim or order).rstrip(".")
        by = BY_APPROXIMATION if approximate(finding) else ""
        yield f"{finding.id}{f' ({stated})' if stated else ''} is {finding.verdict}{by}."
    if findings.hypotheses and findings.plan.study.spec.study.purpose == "exploratory":
        yield "The study is exploratory, so that confirms nothing."


def _order(
    pairs: Sequence[tuple[BenchmarkFinding, PairFinding]], boards: Sequence[Scoreboard], recorded: bool
) -> str:
    """Whether models change places over the configurations, on the items that were asked."""
    held, items = sum(max(board.held, board.items) for board in boards), sum(board.items for board in boards)
    distinct = sum(board.distinct or board.items for board in boards)
    asked = f"On the {asked_items(items, held, distinct if distinct < items else 0)} asked, "
    asked = "In these logs, " if recorded else asked  # of which parts of one benchmark share items
    several = max(pair.counts.size for _, pair in pairs) > 1
    changed = [(where, pair) for where, pair in pairs if pair.counts.plus and pair.counts.minus]
    if not several:
        return f"{asked}one configuration was run, which shows no order to hold or to change."
    if len(changed) == 1 == len(pairs):
        ((_, pair),) = changed
        counts = pair.counts
        return (
            f"{asked}the order depends on the configuration: {counts.a} scores higher in {counts.plus} of "
            f"{counts.size}, {counts.b} in {counts.minus}."
        )
    if changed:
        named = listed(
            [f"{pair.counts.a} and {pair.counts.b} on {at.benchmark}" for at, pair in changed[:FEW]]
        )
        which = f" ({named})" if len(changed) <= FEW else ""
        every = len(changed) == len(pairs)
        share = f"all {len(pairs)} pairs" if every else f"{len(changed)} of {len(pairs)} pairs of models"
        verb = "changes" if len(changed) == 1 else "change"
        which = "" if every else which
        return f"{asked}the order depends on the configuration: {share} {verb} places{which}."
    tied = [pair.counts for _, pair in pairs if pair.counts.ties]
    if not tied:
        return f"{asked}no two models change places: each order is the same in every configuration."
    if all(counts.ties == counts.size for counts in tied) and len(tied) == len(pairs):
        return f"{asked}all models score the same in every configuration."
    return f"{asked}no two models change places in any configuration, though in some they tie."


def _single(boards: Sequence[Scoreboard]) -> Iterator[str]:
    """What the one model scores."""
    for board in boards[:FEW]:
        (row,) = board.models
        if row.score is None:
            continue
        span = "" if row.interval is None else f" (95 % interval {over_units(row, percent)})"
        over = ""
        if board.configurations > 1 and row.least is not None and row.greatest is not None:
            ends = between((row.least, row.greatest), percent)
            over = f", and {ends} over {board.configurations:,} configurations"
        yield f"{row.model} scores {percent(row.score)} on {board.benchmark}{span}{over}."
    if len(boards) > FEW:
        yield f"{counted(len(boards) - FEW, 'further benchmark')}: see below."


def _fault_counts(board: Scoreboard) -> dict[str, FaultCounts]:
    """(how often, of how many) by rate and model, the best first."""
    counts = {
        name: {row.model: hits_of(row.rates[name].counts) for row in board.models if name in row.rates}
        for name in FAULTS
    }
    return {name: best_first(own) for name, own in counts.items() if own}


def _who(findings: Findings) -> str:
    if len(findings.plan.study.spec.model) < 2:
        return "What does it score?"
    if all(len(benchmark.models) < 2 for benchmark in findings.benchmarks):
        return "What does each score?"
    return (
        "Which model is safer?"
        if any(row.rates for row in findings.benchmarks) and _only_conduct(findings)
        else "Which model does better?"
    )


def _only_conduct(findings: Findings) -> bool:
    return all(any(rate.name in FAULTS for rate in benchmark.rates) for benchmark in findings.benchmarks)


def _standings(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """Who leads on each benchmark under the anchor, and by how much."""
    for board in boards[:FEW]:
        benchmark = next(each for each in findings.benchmarks if each.benchmark == board.benchmark)
        if _fault_counts(board):
            yield from _safer(board, benchmark, f" on {board.benchmark}" if len(boards) > 1 else "")
        else:
            yield _leader(board, benchmark)
    if len(boards) > FEW:
        yield f"{counted(len(boards) - FEW, 'further benchmark')}: see below."
    levels = {tuple(board.levels.items()) for board in boards}
    if len(levels) == 1 and (own := next(iter(levels))):
        where = ", ".join(f"{axis} {level}" for axis, level in own)
        if findings.recorded is None:
            yield f"This is under the anchor, the study's reference configuration: {where}."
        else:
            yield f"This is under {where}, the first by name: the logs declare no reference."


def _alone(standings: str) -> str:
    """With a caution where intervals are printed: nothing corrects them for one another."""
    return f"{standings} Each interval is of one comparison alone." if INTERVAL in standings else standings


def _leader(board: Scoreboard, benchmark: BenchmarkFinding) -> str:
    scored = [row for row in board.models if row.score is not None]
    if not scored:
        return f"{board.benchmark}: not measured."
    best, *rest = sorted(scored, key=lambda row: -board.direction.good(_score(row)))
    if not rest:
        return f"{board.benchmark}: {best.model}, {percent(best.score)}."
    good = board.direction.good
    equal = [row for row in scored if good(_score(row)) == good(_score(best))]
    if len(equal) > 1:
        shown = listed(list(dict.fromkeys(percent(row.score) for row in equal)))
        return f"{board.benchmark}: {listed([row.model for row in equal])} tie, with {shown}."
    second = rest[0]
    if board.direction.target is not None:
        read = "" if benchmark.audit is None else " as answers were read"
        return f"{board.benchmark}: {best.model}, {percent(best.score)}, is nearest to the best score{read}."
    apart, limits = _score_gap(benchmark, best, second)
    span = "" if limits is None else f" ({INTERVAL} {over_units(limits, points)})"
    side = "below" if board.direction.lower else "above"
    return (
        f"{board.benchmark}: {best.model}, {percent(best.score)}, {hundredths(abs(apart))} points {side} "
        f"{second.model}{span}.{_by_labels(benchmark, best.model, second.model)}"
    )


def _by_labels(benchmark: BenchmarkFinding, one: str, other: str, what: str = SCORE) -> str:
    """The same gap under the anchor as people's labels correct it, where there is an audit."""
    where = next(model for model in benchmark.models if model.model == one).anchor.cell.configuration
    for sign, pair in ((1, (one, other)), (-1, (other, one))):
        gap = None if benchmark.audit is None else benchmark.audit.gap(what, *pair, where)
        if gap is not None:
            ends = sorted(sign * end for end in gap.corrected.new)
            shown = f"{points(sign * gap.corrected.value)} ({INTERVAL} {between(ends, points)})"
            return f" By people's labels the gap is {shown}."
    return ""


def _name(benchmark: BenchmarkFinding, pair: PairFinding) -> str:
    return f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"


def _score(row: ScoreboardRow) -> Fraction:
    assert row.score is not None
    return row.score


@dataclass(frozen=True, slots=True)
class _GapLimits:
    """The limits of one model less another, over new units, and over these where they are few."""

    interval: Ends
    on_units: Ends | None

    @classmethod
    def of(cls, gap: GapRow | RateGap, turned: bool) -> "_GapLimits | None":
        """Those of a gap, or of the same gap the other way round."""
        interval, on_units = (
            (-ends[1], -ends[0]) if ends is not None and turned else ends
            for ends in (gap.interval, gap.on_units)
        )
        return None if interval is None else cls(interval, on_units)


def _score_gap(
    benchmark: BenchmarkFinding, one: ScoreboardRow, other: ScoreboardRow
) -> tuple[float, _GapLimits | None]:
    """The score of one less that of the other, under the anchor, with its interval."""
    where = next(model for model in benchmark.models if model.model == one.model).anchor.cell.configuration
    apart = float(_score(one) - _score(other))
    for row in benchmark.intervals.gaps:
        gap = row.by_configuration.get(where)
        if {row.a, row.b} == {one.model, other.model} and gap is not None:
            return apart, _GapLimits.of(gap, row.a != one.model)
    return apart, None


def _safer(board: Scoreboard, benchmark: BenchmarkFinding, where: str) -> Iterator[str]:
    """Of each fault who has the least, and by how much less than the next; what the score is worth. `where`
    names the benchmark, where there are several."""
    for name, counts in _fault_counts(board).items():
        shares = {model: Fraction(hits, of) for model, (hits, of) in counts.items() if of}
        what = f"{name.replace('_', ' ')}{where}"
        if len(shares) < 2:
            continue
        (best, least), (second, next_one), *_ = shares.items()
        labels = _by_labels(benchmark, best, second, name)
        if len(set(shares.values())) == 1:
            all_of_them = "both" if len(shares) == 2 else "all"
            yield f"No difference in {what}: {percent(least)} for {all_of_them}.{labels}"
        elif least == next_one:
            equal = [model for model, share in shares.items() if share == least]
            yield f"Least {what}: {listed(equal)}, {percent(least)} each.{labels}"
        else:
            limits = _rate_gap(next(rate for rate in benchmark.rates if rate.name == name), best, second)
            span = "" if limits is None else f" ({INTERVAL} {over_units(limits, points)})"
            apart = hundredths(abs(next_one - least))
            yield f"Least {what}: {best}, {percent(least)}, {apart} points below {second}{span}.{labels}"
    scores = [row.score for row in board.models if row.score is not None]
    if board.policies and scores:
        always = {"comply": "complying", "refuse": "refusing"}
        scored = (f"always {always[do]} would score {percent(score)}" for do, score in board.policies.items())
        least, most = min(scores), max(scores)
        shown = percent(least) if least == most else between((least, most), percent)
        yield f"The score{where}, {shown}, counts both kinds together: {listed(list(scored))}."


def _rate_gap(rate: RateFinding, one: str, other: str) -> _GapLimits | None:
    gaps = (gap for gap in rate.gaps if {gap.a, gap.b} == {one, other})
    return next((_GapLimits.of(gap, gap.a != one) for gap in gaps), None)


def _certainty(findings: Findings, boards: Sequence[Scoreboard]) -> str:
    """What holds for other items of the same kind."""
    if not findings.complete:
        return "No: nothing is tested before the run is complete."
    pairs = compared(findings)
    if not pairs:
        return ""
    level = percent(findings.alpha, 0)
    decided = [
        each
        for each in findings.hypotheses
        if each.verdict != "open" and (each.ranking is None or each.ranking.strength != "descriptive")
    ]
    exact = [each.id for each in decided if not approximate(each)]
    apart = f"Apart from the verdict on {listed(exact)}, n" if exact else "N"
    nothing = f"{apart}othing is established for new items of the same kind"
    established = [_claim(at, pair) for at, pair in pairs if beyond(pair.evidence) == "certified"]
    likely = [_claim(at, pair) for at, pair in pairs if beyond(pair.evidence) in ("supported", "levels")]
    if established or likely:
        said = [f"{nothing}."]
        if established:
            said = [f"For new items of the same kind this is established: {_first(established)}."]
        if likely:
            said.append(f"This is {LIKELY}: {_first(likely)}.")
        if rest := len(pairs) - len(established) - len(likely):
            too = " or likely" if likely else ""
            others = "pair" if rest == 1 else f"{rest:,} pairs"
            said.append(f"For the other {others} nothing is established{too}.")
        return " ".join(said) + ("" if established else _on_average(findings))
    several = len(boards) > 1
    told = [
        words
        for board, finding in zip(boards[:FEW], findings.benchmarks, strict=False)
        if finding.audit is None  # its labels say it below
        if (words := _bounds(board, f" on {board.benchmark}" if several else ""))
    ]
    if told and all(map(_fault_counts, boards)):
        return f"For new prompts of the same kind {'; '.join(told)} (95 % intervals)."
    few = [
        f"{board.units:,} on {board.benchmark}"
        for board, finding in zip(boards, findings.benchmarks, strict=True)
        if finding.grouped and not enough_cases(finding.effective)
    ]
    why = f" Too few groups of items of one origin for that: {listed(few)}." if few else ""
    rough = [each.id for each in decided if approximate(each)]
    likely_too = f" The verdict on {listed(rough)} is {LIKELY}." if rough else ""
    return (
        f"On the items asked this is a plain count. {nothing}: neither that one model stays ahead of "
        "another, nor that two change places (tests over all configurations and pairs, at the "
        f"{level} level).{_on_average(findings)}{why}{likely_too}"
    )


def _on_average(findings: Findings) -> str:
    """Who is told apart by the mean over the configurations, where no order in each of them is shown."""
    told = [
        f"{row.a} from {row.b} on {benchmark.benchmark}"
        for benchmark in findings.benchmarks
        if benchmark.standings is not None
        for row in benchmark.standings.neighbours
        if row.apart
    ]
    more = f" and {len(told) - FEW:,} more pairs" if len(told) > FEW else ""
    return f" By mean scores these are told apart: {'; '.join(told[:FEW])}{more}." if told else ""


def _first(claims: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    further = len(claims) - FEW
    more = f"; and of {counted(further, 'further pair')} the same kind" if further > 0 else ""
    return f"{'; '.join(claims[:FEW])}{more}"


def _read(findings: Findings) -> Iterator[str]:
    """How far the reading of answers can be relied on: what could not be read, and who checked a judge."""
    for benchmark in findings.benchmarks[:FEW]:
        yield from (statement.brief for statement in unreadable(findings, benchmark))
    audits = findings[AUDITS]
    for judging in findings[JUDGING][:FEW]:
        models = {judge.name: judge.model for judge in judging.judges if judge.responses}
        first = listed([model for name, model in models.items() if name != judging.second_name])
        if not first:
            continue
        text = f"Where scoring needs a judge, it is {first}"
        if judging.agreements:
            _, other, found = judging.agreements[0]
            kappa = "" if found.kappa is None else f", kappa {number(found.kappa, 2)}"
            share = f"{percent(found.agreement)} of {counted(found.n, 'answer')}"
            text += f"; {models.get(other, other)} gives {share} the same label{kappa}"
        yield f"{text}."
    for bias in findings[JUDGE_BIASES]:
        yield from _bias(bias)
    for audit in [each for each in audits if each.benchmark == ALL][:FEW]:
        agreement = audit.agreement
        yield f"People agree with {percent(agreement.agreement)} of {agreement.n:,} labels ({audit.sheet})."
    for benchmark in findings.benchmarks[:FEW]:
        told = [value_words(value) for value in at_anchor(benchmark)]
        if told:
            more = f"; and {len(told) - FEW:,} more in the table" if len(told) > FEW else ""
            yield f"By people's labels on {benchmark.benchmark}, {'; '.join(told[:FEW])}{more}."
    yield from unchecked(findings)


def _bias(bias: JudgeBias) -> Iterator[str]:
    """What speaks against the labels of a judge, a sentence each."""
    judge, longer = f"the judge {bias.model}", bias.longer
    if bias.goes_by_length and longer is not None:
        what = (
            f"{judge[0].upper()}{judge[1:]} prefers the longer of two responses"
            if bias.compares
            else f"Where two models' responses to an item get different labels from {judge}, the longer one "
            "gets the one that earns more"
        )
        share = f"{percent(longer.share)} of {counted(longer.n, 'preference' if bias.compares else 'case')}"
        yield f"{what} in {share} ({INTERVAL} {between((longer.low, longer.high), percent)})."
    for asked in bias.injected:
        end = "response ends" if asked.responses == 1 else "responses end"
        yield (
            f"{asked.responses:,} {end} as a reply of {judge} does, asking for `{asked.label}`; it gave that "
            f"label to {asked.given:,}."
        )
    if bias.never_gives:
        labels = listed([f"`{label}`" for label in bias.never_gives])
        yield f"In {counted(bias.labelled, 'label')} {judge} never gave {labels}."


def _claim(benchmark: BenchmarkFinding, pair: PairFinding) -> str:
    """What is shown of a pair beyond the items that were asked."""
    evidence, counts = pair.evidence, pair.counts
    strength = evidence.certified if beyond(evidence) == "certified" else evidence.supported
    if strength.claim is None:
        both = f"of {counts.a} and {counts.b}"
        return f"on {benchmark.benchmark}, {both}, averaged over a level, {named_levels(pair)}"
    row = strength.reversal if strength.claim == "reversal" else strength.order
    other = counts.b if strength.first == counts.a else counts.a
    what = (
        f"{counts.a} and {counts.b} change places"
        if strength.claim == "reversal"
        else f"{strength.first} scores higher than {other} in every configuration"
    )
    turned = ", though unread answers alone could turn it" if pair.unread.claim is False else ""
    return f"on {benchmark.benchmark}, {what} ({p_in_text(row.adjusted)}{turned})"


def _bounds(board: Scoreboard, where: str) -> str:
    """How far the worst fault could be from what was counted, of each model."""
    for name in _fault_counts(board):
        spans = {row.model: row.rates[name].interval for row in board.models if name in row.rates}
        known = {model: between(ends, percent) for model, ends in spans.items() if ends is not None}
        if not known:
            return ""
        what = f"{name.replace('_', ' ')}{where}"
        if len(set(known.values())) == 1:
            each = "" if len(known) == 1 else " for each model"
            return f"{what} lies within {next(iter(known.values()))}{each}"
        shown = list(known.items())[: FEW + 1]
        more = f" and {len(known) - len(shown)} further" if len(known) > len(shown) else ""
        return f"{what} lies within {', '.join(f'{ends} ({model})' for model, ends in shown)}{more}"
    return ""


def beside(findings: Findings) -> list[Statement]:
    """The leading statements that the answer does not say in its own words."""
    return [
        statement
        for row, statement in choose(findings, "leading")
        if row.name not in COVERED and not row.urgent
    ]


def _asked(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[str]:
    spec = findings.plan.study.spec
    sizes = []
    for board in boards[:FEW]:
        every = "all " if board.held == board.items > 1 else ""
        own = "" if board.anchor_items == board.items else f" ({count(board.anchor_items)} under the anchor)"
        shown = asked_items(board.items, board.held, board.distinct)
        sizes.append(f"{every}{shown} of {board.benchmark}{own}")
    if len(boards) > FEW:
        sizes.append(f"{counted(len(boards) - FEW, 'further benchmark')}")
    if findings.recorded is not None:
        times = {score.cell.setting.replicates for row in findings.benchmarks for score in row.cells}
        often = "" if times == {1} else f", up to {max(times):,} answers to an item"
        sizes = [size.removeprefix("all ") for size in sizes]
        yield f"Results on {listed(sizes)}{often}; {findings.recorded.provenance}."
    else:
        yield f"Asked: {listed(sizes)}."
        for envelope in findings.plan.survey.envelopes:
            yield from not_asked(envelope) if findings.recorded is None else ()
    yield from _configurations(findings)
    if findings.recorded is not None and findings.recorded.unknown:
        yield f"Not recorded: {'; '.join(findings.recorded.unknown)}."
    if spec.study.not_varied:
        yield f"Not varied: {', '.join(spec.study.not_varied)}."


def _configurations(findings: Findings) -> Iterator[str]:
    """The levels that ran, in how many combinations, and how many the spec leaves out."""
    levels: dict[str, dict[str, None]] = {}
    for benchmark in findings.benchmarks:
        for score in benchmark.cells:
            if score.cell.shared:
                for axis, level in score.cell.levels.items():
                    levels.setdefault(axis, {})[level] = None
    sizes = sorted({len(benchmark.full.scope.configurations) for benchmark in findings.benchmarks})
    if not levels or not sizes:
        return
    count = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    axes = "; ".join(
        f"{axis} {', '.join(names) if len(names) <= 2 * FEW else f'{len(names)} levels'}"
        for axis, names in levels.items()
    )
    left = {
        benchmark.benchmark: len(findings.plan.envelope(benchmark.benchmark).excluded)
        for benchmark in findings.benchmarks
    }
    recorded = findings.recorded is not None
    out = " The study leaves other combinations out." if any(left.values()) and not recorded else ""
    yield f"{count} configuration{'' if count == '1' else 's'}: {axes}.{out}"
