"""Sentences about how a study was run: its dates, what it leaves out, and how noisy its answers are."""

from collections.abc import Iterator, Mapping

from gridc.compiler.grid.configurations import drawn_words
from gridc.compiler.lowering.asked import differing_words
from gridc.compiler.lowering.counting import shared_words
from gridc.numbers import counted
from gridc.reports.findings.conduct import (
    CONDUCT,
    MANY_CUT,
    REFERENCES,
    SHARED_DRAWS,
    cut_share,
    cut_words,
    form_words,
)
from gridc.reports.findings.findings import BenchmarkFinding, Findings
from gridc.reports.rendering import noise_floor_line
from gridc.reports.statements.statement import Statement, of_benchmark, of_study
from gridc.reports.told import pairs_by_name
from gridc.reports.words import model_at
from gridc.schema.effects import EXACT
from gridc.schema.models import SERVED


@of_study("interim", "leading", 10, urgent=True)
def interim(findings: Findings) -> Iterator[Statement]:
    """Says that the run is incomplete, and how far it is."""
    if not findings.complete:
        done, total = findings.progress.answered, findings.progress.total
        yield Statement(
            f"The run is incomplete: {done:,} of {total:,} calls have an answer; this is an interim look.",
            "limit",
        )


@of_study("predated", "leading", 20, urgent=True)
def predated(findings: Findings) -> Iterator[Statement]:
    """Says that data are older than the stamp, its own calls only if the store's dates can show an order."""
    for row in findings.older:
        yield Statement(f"{row.words}: data predate the stamp.", "limit")
    if findings.before_stamp and not findings.steps_back:
        yield Statement(
            f"By the store's own clock {findings.before_stamp:,} of {findings.progress.total:,} calls were "
            "answered before the study was stamped: their data predate the stamp.",
            "limit",
        )


@of_study("clock", "limits", 10, urgent=True)
def clock(findings: Findings) -> Iterator[Statement]:
    """Says that the store's dates cannot show an order."""
    if findings.steps_back:
        where = ", ".join(str(number) for number in findings.steps_back[:5])
        yield Statement(
            f"The machine's clock was set back while the store was written (at event {where}), so that "
            "its dates show no order: neither which calls predate the stamp, nor which do not.",
            "limit",
        )


@of_study("recorded", "limits", 15, urgent=True)
def recorded(findings: Findings) -> Iterator[Statement]:
    """Says that another package asked, and what of that nobody knows."""
    if findings.recorded is not None:
        files = counted(len(findings.recorded.files), "log")
        yield Statement(
            f"gridc did not run these models. It reads {files} that others made, and nothing was registered "
            "in advance. Every p, and what is established, also assumes that no run and no item was left out "
            "because of its result.",
            "limit",
        )


@of_study("notes_of_logs", "limits", 16)
def notes_of_logs(findings: Findings) -> Iterator[Statement]:
    """What was seen while the logs of another package were read, and in what its models differ."""
    for note in () if findings.recorded is None else findings.recorded.notes:
        yield Statement(f"Of the logs: {note}.", "limit")


@of_study("exploratory", "limits", 30)
def exploratory(findings: Findings) -> Iterator[Statement]:
    """Says that the verdicts of an exploratory study confirm nothing."""
    if findings.plan.study.spec.study.purpose == "exploratory" and findings.hypotheses:
        yield Statement(
            "The study is exploratory: its verdicts say what to predict next, and confirm nothing.", "limit"
        )


@of_benchmark("differing_items", "limits", 65, urgent=True)
def differing_items(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Says of which axes not all levels ask the same items, and what is compared of them."""
    if benchmark.differing:
        words = differing_words(benchmark.benchmark, benchmark.differing)
        yield Statement(
            f"{words}. A score is of the items of its own configuration, so scores of these levels also "
            "differ by their items. Changes from the anchor, hypotheses and curves compare the items in "
            "common.",
            "limit",
            (benchmark.benchmark,),
            f"{words}. So scores of these levels also differ by their items.",
        )


@of_benchmark("left_out", "limits", 70, urgent=True)
def left_out(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Rows that gave no item, because the spec leaves malformed rows out."""
    source = findings.plan.study.items[benchmark.benchmark].source
    if source.left_out:
        count = len(source.left_out)
        verbs = ("does", "is") if count == 1 else ("do", "are")
        yield Statement(
            f"Of the {source.rows:,} rows of the files of {benchmark.benchmark}, {count:,} {verbs[0]} not "
            f"follow the format and {verbs[1]} left out: no score here counts them, and the lock says why "
            "for each.",
            "limit",
            (benchmark.benchmark,),
        )


@of_benchmark("failed", "limits", 90, urgent=True)
def failed(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where calls failed for good: how many, for which model, and why. Of logs, where no score is known."""
    if findings.recorded is not None:
        yield from _without_score(findings, benchmark)
        return
    by_model = [
        f"{model.model} {sum(model.failed.values()):,} of {model.samples:,} "
        f"({', '.join(f'{kind} {number:,}' for kind, number in model.failed.items())})"
        for model in benchmark.endings
        if model.failed
    ]
    if by_model:
        yield Statement(
            f"On {benchmark.benchmark}, calls of these samples failed for good: {'; '.join(by_model)}. They "
            "stay in the denominator as answers that cannot be read, and per protocol they are left out.",
            "limit",
            (benchmark.benchmark,),
        )


def _without_score(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    credited, by_model = findings.plan.study.credited, dict[str, int]()
    for score in benchmark.cells:
        lost = sum(credited.get(score.cell.key, {}).values())
        by_model[score.cell.model] = by_model.get(score.cell.model, 0) + lost
    listed = "; ".join(f"{model} {count:,}" for model, count in by_model.items() if count)
    if listed:
        yield Statement(
            f"On {benchmark.benchmark}, answers have no score in the logs: {listed}. Scores and "
            "intervals count them as wrong; a test counts them against whichever model its claim favours. Of "
            "a pair with such an answer nothing is called likely.",
            "limit",
            (benchmark.benchmark,),
        )


@of_benchmark("cut_off", "limits", 100, urgent=True)
def cut_off(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where many answers were cut off: how many, for which model."""
    if cut_share(benchmark.endings) >= MANY_CUT:
        text = f"{cut_words(benchmark.benchmark, benchmark.endings)}."
        yield Statement(text, "limit", (benchmark.benchmark,))


@of_benchmark("endings", "limits", 110)
def endings(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where a few answers were cut off, or any was declined: how many, for which model."""
    name, about = benchmark.benchmark, (benchmark.benchmark,)
    if 0 < cut_share(benchmark.endings) < MANY_CUT:
        yield Statement(f"{cut_words(name, benchmark.endings)}.", "limit", about)
    declined = [
        f"{model.model} {model.refused:,} of {model.samples:,}"
        for model in benchmark.endings
        if model.refused
    ]
    if declined:
        listed = "; ".join(declined)
        text = f"On {name}, the provider says that it declined, and no answer can be read: {listed}."
        yield Statement(text, "limit", about)


@of_benchmark("forms", "limits", 115)
def forms(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where responses do not keep the form that was asked for: how many, of which model."""
    words = form_words(benchmark.benchmark, benchmark.forms)
    if words is not None:
        yield Statement(f"{words}.", "limit", (benchmark.benchmark,))


@of_benchmark("doubtful", "limits", 118)
def doubtful(_: Findings, benchmark: BenchmarkFinding) -> Iterator[Statement]:
    """Where two readings of a response disagree: how many, of which model."""
    counts: dict[str, int] = {}
    for row in benchmark.doubtful:
        counts[row.model] = counts.get(row.model, 0) + len(row.items)
    if counts:
        listed = "; ".join(f"{model} {count:,}" for model, count in counts.items())
        text = (
            f"On {benchmark.benchmark}, the first paragraph alone of some responses reads as another option "
            f"than the whole, which counts: {listed}. These readings are worth a look."
        )
        yield Statement(text, "limit", (benchmark.benchmark,))


@of_study("shared_draws", "limits", 130)
def shared(findings: Findings) -> Iterator[Statement]:
    """Says that configurations share sampled answers, which could have been different."""
    for words in shared_words(findings[SHARED_DRAWS]):
        yield Statement(f"{words}.", "limit")


@of_study("drawn", "limits", 120)
def drawn(findings: Findings) -> Iterator[Statement]:
    """Says that the envelope is a random sample of all combinations."""
    words = drawn_words(findings.plan.study.spec)
    if words is not None:
        yield Statement(words, "limit")


def replaced_words(findings: Findings) -> str:
    """That the stamp replaced others, and what is known of data that were there then."""
    earlier = findings.lock.supersedes
    known = findings[CONDUCT].others
    many, last = len(earlier) > 1, earlier[-1]
    which = f"{len(earlier)} earlier {'ones' if many else 'one'}"
    text = f"The stamp replaced {which}, the last made {last.created[:10]} ({last.stamp[:12]})"
    if findings.replaced_late or (findings.before_stamp and not findings.steps_back):
        return f"{text}, when there were data."
    if findings.steps_back:
        return f"{text}; whether data existed then the dates of this store do not show."
    if known.issuperset(each.stamp for each in earlier):
        under = "these" if many else "it"
        return f"{text}; under {under} the store holds no older answer of its models to its items."
    return f"{text}; whether data existed then is not known from this store."


@of_study("superseded", "limits", 160)
def superseded(findings: Findings) -> Iterator[Statement]:
    """Says that the stamp is not the study's first."""
    if findings.lock.supersedes:
        yield Statement(f"{replaced_words(findings)} `gridc plan --against` says what changed.", "limit")


@of_study("uncomputed", "limits", 200)
def uncomputed(findings: Findings) -> Iterator[Statement]:
    """Parts of the spec that no number in the report answers."""
    ids_by_table: dict[str, list[str]] = {}
    for stated in findings.uncomputed:
        ids_by_table.setdefault(stated.table, []).append(stated.id)
    if ids_by_table:
        listed = "; ".join(f"{table} {', '.join(ids)}" for table, ids in ids_by_table.items())
        text = f"Stated in the spec and not computed by this version of gridc: {listed}."
        yield Statement(text, "limit")


QUIET: Mapping[str, str] = {EXACT: "in another batch shape", SERVED: "asked again"}
"""By the precisions in which answers are expected to stay: how calls were answered once more."""
REPEATED: Mapping[str, str] = {
    EXACT: "Repeating {:,} calls in other batches",
    SERVED: "Asking {:,} calls again",
}


@of_study("within_noise", "limits", 20, urgent=True)
def within_noise(findings: Findings) -> Iterator[Statement]:
    """Verdicts that the shape of a batch alone could undo."""
    inside = [
        f"{pair.counts.a} and {pair.counts.b} on {benchmark.benchmark}"
        for benchmark in findings.benchmarks
        for pair in benchmark.full.pairs
        if pair.noise.standing == "within"
    ]
    inside += [finding.hypothesis.id for finding in findings.hypotheses if finding.noise == "within"]
    if inside:
        yield Statement(
            f"WITHIN NOISE: the shape of a batch alone could undo {len(inside)} "
            f"{'verdict' if len(inside) == 1 else 'verdicts'}: {pairs_by_name(inside)}.",
            "limit",
        )


@of_study("reference", "limits", 190)
def references(findings: Findings) -> Iterator[Statement]:
    """How answers differ from those of the same weights in fp32."""
    for reference in findings[REFERENCES]:
        named = model_at(reference.model, reference.precision)
        words = reference.compared.words
        text = f"Reference of {named}, its weights in fp32 on the machine of the run: {words}."
        yield Statement(text, "limit", (reference.model,))


@of_study("spread_of_draws", "limits", 180)
def spreads(findings: Findings) -> Iterator[Statement]:
    """How much a second draw changes, where no seed repeats a draw."""
    for model in findings.noise:
        if model.spread is not None:
            text = f"Draws of {model_at(model.model, model.precision)}: {model.spread.words}."
            yield Statement(text, "limit", (model.model,))


@of_study("noise_floor", "limits", 165)
def moved_floors(findings: Findings) -> Iterator[Statement]:
    """The noise floor of each model and precision at which something changed, or was expected to."""
    for model in findings.noise:
        if model.floor is not None and not (model.floor.still and model.precision in QUIET):
            named = model_at(model.model, model.precision)
            how = QUIET.get(model.precision, QUIET[EXACT])
            text = f"Noise floor of {named}: {how} {noise_floor_line(model.floor)}."
            yield Statement(text, "limit", (model.model,))


@of_study("quiet_floor", "limits", 170)
def quiet(findings: Findings) -> Iterator[Statement]:
    """The models and precisions at which nothing changed, as expected, and those without a noise floor."""
    for precision, how in QUIET.items():
        still = [
            (model, model.floor)
            for model in findings.noise
            if model.precision == precision and model.floor and model.floor.still
        ]
        if still:
            names = ", ".join(model_at(model.model, model.precision) for model, _ in still)
            outcomes, calls = (sum(getattr(row, key) for _, row in still) for key in ("outcomes", "calls"))
            text = f"Noise floor of {names}: {how} none of {outcomes} outcomes of {calls} calls changed."
            short = f"{REPEATED[precision].format(calls)} changed no outcome ({names})."
            yield Statement(text, "limit", tuple(model.model for model, _ in still), short)
    unknown = [model_at(model.model, model.precision) for model in findings.noise if model.floor is None]
    if unknown and findings.recorded is None:
        compared = findings.hypotheses or any(benchmark.full.pairs for benchmark in findings.benchmarks)
        verdicts = " Whether a verdict on them is within the noise is not known." if compared else ""
        yield Statement(f"Noise floor not measured: {', '.join(unknown)}.{verdicts}", "limit")
