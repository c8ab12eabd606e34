"""What limits every other sentence, and what the scores count."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from gridc.compiler.grid.configurations import drawn_words
from gridc.reports.findings.endings import endings_sentences
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.findings.judges import JUDGING
from gridc.reports.findings.noise import ModelNoise
from gridc.reports.findings.scores import CellScore
from gridc.reports.judging import judging_sentences
from gridc.reports.templates import floor, percent
from gridc.reports.words import KINDS, LIMITS, PLURAL, model_at, whole_percent
from gridc.schema.effects import EXACT
from gridc.schema.items import UNIT_LEVELS, UnitLevel
from gridc.schema.models import SERVED
from gridc.schema.scores import ByExpected, Scores
from gridc.statistics.jackknife import FLOOR, enough

QUIET: Mapping[str, str] = {EXACT: "in another batch shape", SERVED: "asked again"}
"""By the precisions in which answers are expected to stay: how calls were answered once more."""
INTERVAL_METHOD = "bootstrap of units, percentiles expanded for their number (Hesterberg 2015)"
AT_BOUND = (
    "of a rate of 0 or 1 exact and one-sided, for units of any size (Clopper-Pearson where all are alike)"
)


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
        yield from _few_units(benchmark)
        yield from _left_out(findings, benchmark.benchmark)
        yield from _unreadable(findings, benchmark)
        yield from endings_sentences(benchmark.benchmark, benchmark.endings)
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


def interval_assumption(unit: UnitLevel) -> str:
    """What an interval rests on, in a phrase."""
    return (
        f"the {PLURAL[unit]} are independent draws from those that could have been asked, {KINDS}, so that "
        "they show their spread; each interval covers alone, not all of them together"
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


def _few_units(benchmark: BenchmarkFinding) -> Iterator[str]:
    """Where units are too few or too unequal for anything to be supported."""
    if benchmark.full.pairs and benchmark.units < benchmark.items and not enough(benchmark.effective):
        yield (
            f"On {benchmark.benchmark} the {benchmark.units:,} {PLURAL[benchmark.unit]} are worth "
            f"{benchmark.effective:.1f} of one size, and joint sign flips need {FLOOR:g}: no order of models "
            "is supported there, whatever the scores."
        )


def _passed_over(benchmark: BenchmarkFinding) -> Iterator[str]:
    """Where the spec names a finer unit than the data document, or a bootstrap of less than a unit."""
    drawn = benchmark.intervals.unit
    if UNIT_LEVELS.index(drawn) < UNIT_LEVELS.index(benchmark.unit):
        yield (
            f"On {benchmark.benchmark} every interval, and every p at a margin, is of resamples of each "
            f"{drawn}, though the unit is the {benchmark.unit}: they assume that the {PLURAL[drawn]} of one "
            f"{benchmark.unit} are independent."
        )
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
        target = benchmark.direction.target
        helps = ""
        if not any(each.credit for each in low):
            if benchmark.direction.lower or target == 0:
                helps = ", which is the better end there"
            elif target is not None:
                helps = f", which can bring a score nearer to {float(target):.10g}, the best one there"
        yield (
            f"On {benchmark.benchmark}, in {places} of {size} configurations fewer than "
            f"{whole_percent(least)} of a "
            f"model's answers could be read ({models}; at worst {percent(worst.parse_rate)}). An "
            f"unreadable answer {unreadable_words(low)}{helps}."
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
    yield from judging_sentences(findings[JUDGING])


def _labels(scores: Scores) -> str:
    """`right 1, unknown 0.5, other 0`; by what the prompt expects where that decides."""
    told = []
    for label, value in scores.root.items():
        if isinstance(value, ByExpected):
            told.append(f"{label} {value.comply:g} on prompts to comply with and {value.refuse:g} to refuse")
        else:
            told.append(f"{label} {value:g}")
    return ", ".join(told)


def _floor_sentences(noise: Sequence[ModelNoise]) -> Iterator[str]:
    """One sentence for each model and precision; those in which nothing changed, and nothing was to be
    expected, share one."""
    unknown = [model_at(each.model, each.precision) for each in noise if each.floor is None]
    for each in noise:
        if each.floor is not None and not (each.floor.still and each.precision in QUIET):
            named = model_at(each.model, each.precision)
            how = QUIET.get(each.precision, QUIET[EXACT])
            yield f"Noise floor of {named}: {how} {floor(each.floor.row)}."
    for precision, how in QUIET.items():
        still = [each for each in noise if each.precision == precision and each.floor and each.floor.still]
        if still:
            names = ", ".join(model_at(each.model, each.precision) for each in still)
            outcomes, calls = (
                sum(getattr(each.floor, key) for each in still) for key in ("outcomes", "calls")
            )
            yield f"Noise floor of {names}: {how} none of {outcomes} outcomes of {calls} calls changed."
    if unknown:
        yield (
            f"Noise floor not measured: {', '.join(unknown)}. Whether a verdict on them lies within it is "
            "not known."
        )
