"""Writes what every report says first: the answer to the study's question, its verdicts, what may be printed,
what was asked, and what speaks against it.

Terminal, page and scorecard begin with it. What it says of two models comes from their verdict
(`findings.verdicts`), so that no two places can disagree.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gridc.numbers import asked_items, count, counted, interval_words, over_units, percent
from gridc.reports.findings.breakdowns import BREAKDOWNS, repeats_itself
from gridc.reports.findings.findings import BenchmarkFinding, Findings, PairFinding
from gridc.reports.findings.hypotheses import approximate, verdict_lines
from gridc.reports.findings.hypotheses.finding import readings_words
from gridc.reports.findings.moves import largest_move
from gridc.reports.findings.rates import hits_of
from gridc.reports.findings.verdicts import VERDICTS
from gridc.reports.scoreboard import Scoreboard, of_findings
from gridc.reports.statements import choose, standings
from gridc.reports.statements.cautions import Caution, cautions
from gridc.reports.statements.corrected import taken_back_words
from gridc.reports.statements.differences import (
    better_named,
    comparison_count,
    counts_words,
    declared_words,
    family_words,
    move_words,
    named_pairs,
    reversed_pairs,
    robust,
    scope_words,
    survival_sentence,
    survival_word,
    verdict_rows,
    verdict_sentence,
    verdict_subject,
    word,
)
from gridc.reports.statements.pairs import all_pairs
from gridc.reports.statements.printable import PrintableSentence, printable, unlisted
from gridc.reports.statements.statement import Statement
from gridc.reports.words import (
    BY_APPROXIMATION,
    FAULTS,
    FaultCounts,
    conduct_words,
    fewest_faults_first,
    joined_names,
    not_asked,
)
from gridc.schema.verdicts import VerdictRow

DEMONSTRATION = "Those from builtin: are tiny demonstration models, not the products of those names"
MOST_MODELS = 8
"""Models whose sources are listed."""
MOST_PLACES = 8
"""Sentences about the order of many models that a summary has."""
FEW = 3
"""Benchmarks, models or pairs that are named one by one; of more it is said how many."""

COVERED = frozenset(
    ("taken_back", "strongest_pair", "claims", "orders", "other_pairs", "hypothesis", "standings")
)
"""Statements of the shelf that this answer says in its own words."""


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """A named fact that every reader looks for."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """One verdict as every document says it: what it is about and how far it reaches (`scope`, empty where it
    is of any new items), two words and two sentences."""

    row: VerdictRow
    about: str
    scope: str
    pair: str
    word: str
    sentence: str
    survival: str
    survival_sentence: str


@dataclass(frozen=True, slots=True)
class StudyAnswer:
    """`headline` answers the question that the title asks, and `summary` says what that rests on. Then come
    the `verdicts` on every two models with how they were tested (`family`), what is `printable`, how many
    such claims are `unlisted`, `facts` about what was asked, and `cautions`."""

    headline: str
    summary: tuple[str, ...]
    verdicts: tuple[VerdictWords, ...]
    family: str
    printable: tuple[PrintableSentence, ...]
    unlisted: int
    facts: tuple[ShortAnswer, ...]
    cautions: tuple[Caution, ...]

    @property
    def result(self) -> str:
        """Headline and summary."""
        return " ".join((self.headline, *self.summary))


def study_answer(findings: Findings, boards: Sequence[Scoreboard] | None = None) -> StudyAnswer:
    """The answer of a study, complete or not. `boards` are its scoreboards, where they are at hand."""
    shown = of_findings(findings) if boards is None else boards
    headline = _headline(findings, shown)
    said = [text for text in _summary(findings, shown) if text != headline]
    facts = (ShortAnswer(name, text) for name, text in _facts(findings, shown) if text)
    listed = printable(findings)
    return StudyAnswer(
        headline,
        tuple(said),
        tuple(_worded(findings)),
        family_words(findings),
        listed,
        unlisted(findings, listed),
        tuple(facts),
        cautions(findings) if findings.complete else (),
    )


def difference_lines(findings: Findings, numbers: bool = True) -> tuple[str, ...]:
    """Each verdict as a line of a list, with its `numbers` or in a few words."""
    return tuple(
        f"{each.pair}, {each.about}{f' ({each.scope})' if each.scope else ''}: {each.word}; {each.survival}"
        f"{f'. {each.sentence}' if numbers else ''}"
        for each in _worded(findings)
    )


def warning_lines(findings: Findings) -> tuple[str, ...]:
    """Each check that speaks against the numbers as a line of a list; none while the run is incomplete."""
    checks = cautions(findings) if findings.complete else ()
    return tuple(f"{each.name}: {each.text}" for each in checks if each.bad)


def _worded(findings: Findings) -> Iterator[VerdictWords]:
    family = findings[VERDICTS]
    margin = None if family is None else family.margin
    for row in verdict_rows(findings):
        yield VerdictWords(
            row,
            verdict_subject(row, findings),
            scope_words(row, findings),
            f"{row.a} and {row.b}",
            word(row, margin, findings.alpha),
            verdict_sentence(row, findings),
            survival_word(row),
            survival_sentence(row),
        )


def _headline(findings: Findings, boards: Sequence[Scoreboard]) -> str:
    """The title's question answered in a sentence; where it asks none that can be answered with yes or no,
    the most important fact. Where people's labels take a claim back, that comes before any yes or no."""
    if not findings.complete:
        done, total = findings.progress.answered, findings.progress.total
        if done == total:
            return "No result yet: every call has an answer, and some are not scored."
        return f"No result yet: {done:,} of {total:,} calls have an answer, and everything here may change."
    if taken := [text for row in findings.benchmarks if (text := taken_back_words(row)) is not None]:
        return taken[0]
    rows, asks = verdict_rows(findings), findings.plan.study.spec.study.yes_when
    if asks is not None and rows:
        return (
            _models_differ(findings, rows) if asks == "models_differ" else _order_answer(findings, rows, asks)
        )
    first = list(_places(findings))
    if not first and findings.recorded is not None and not _several(findings):
        first = list(_of_new_items(findings))
    return first[0] if first else next(_facts_of_scores(findings, boards), "")


def _several(findings: Findings) -> bool:
    """Whether any benchmark was run in several configurations."""
    return any(len(row.full.scope.configurations) > 1 for row in findings.benchmarks)


def _places(findings: Findings) -> Iterator[str]:
    """Of logs with one configuration, or with too many models to compare two by two: who can be first on each
    benchmark, and what else its places say."""
    family = findings[VERDICTS]
    untold = () if family is None else family.untold
    for benchmark in findings.benchmarks:
        row, several = benchmark.standings, len(benchmark.full.scope.configurations) > 1
        if row is None or len(row.order) < FEW:
            continue
        if benchmark.benchmark in untold or (findings.recorded is not None and not several):
            averaged = f", averaged over {counted(len(row.over), 'configuration')}" if several else ""
            yield f"On {benchmark.benchmark}{averaged}, {standings.first_words(row)}."
            yield from _same_answers(findings, benchmark)
            for text in (*standings.top_words(row), *standings.majority_words(row)):
                yield _capital(f"{text}.") if text.startswith("which") else f"{text}."
            yield f"{standings.neighbour_words(row)}."


def _same_answers(findings: Findings, benchmark: BenchmarkFinding) -> Iterator[str]:
    """Models that give one long answer again and again, whatever is asked."""
    for row in findings[BREAKDOWNS]:
        same = [model for model in row.models if repeats_itself(model)]
        if row.benchmark == benchmark.benchmark and same:
            told = [f"{one.model} ({one.commonest:,} of {one.items:,} items)" for one in same[:FEW]]
            told += [f"{len(same) - FEW:,} more models"] if len(same) > FEW else []
            verb = "gives" if len(same) == 1 else "give"
            best = row.models[0] in same
            yet = f", and {'' if len(same) == 1 else 'the first of them '}scores best" if best else ""
            yield f"{joined_names(told)} {verb} the same answer, word for word, whatever is asked{yet}."


def _models_differ(findings: Findings, rows: Sequence[VerdictRow]) -> str:
    differ = [row for row in rows if robust(row, findings)]
    weak = sum(row.answer == "differ" for row in rows) - len(differ)
    if not differ:
        if weak:
            which = "the only difference" if weak == 1 else f"all {weak} differences"
            return f"Not shown: unreadable answers alone could undo {which} found."
        return "Not shown: no two models can be told apart."
    if len(differ) == len(rows):
        what = f"{rows[0].a} and {rows[0].b} differ" if len(rows) == 1 else f"in all {len(rows)} comparisons"
        return f"Yes: {what} under the reference configuration."
    some = f"{len(differ)} of {comparison_count(rows)}"
    return f"In part: {some} show a difference under the reference configuration."


def _order_answer(findings: Findings, rows: Sequence[VerdictRow], asks: str) -> str:
    """Whether models keep their order, on the items that were asked."""
    several = [row for row in rows if row.choices is not None]
    if not several:
        return "Open: one configuration was run, which shows no order to hold or to change."
    turned, items = reversed_pairs(several), _items(findings)
    kept, read = asks == "order_holds", _where_read(findings, bool(reversed_pairs(several)))
    if turned and len(turned) == len(several):
        which = f"in each of the {comparison_count(several)}" if len(several) > 1 else "in some configuration"
        word = "Open" if read else "No" if kept else "Yes"
        return f"{word}: on {items}, the models change places {which}{read}."
    if turned:
        share = f"{len(turned)} of {comparison_count(several)}"
        return f"{'Open' if read else 'In part'}: on {items}, the models change places in {share}{read}."
    sure = all(row.choices is not None and row.choices.survival == "holds" for row in several)
    more = ", and that holds for new items of the same kind" if sure else ""
    part = any(row.choices is not None and row.choices.measured < row.choices.size for row in several)
    where = "in any configuration that measures both" if part else f"in any configuration{more}"
    ties = [(row.choices.tied, row.choices.measured) for row in several if row.choices is not None]
    always = sum(tied == measured > 0 for tied, measured in ties)
    if always == len(ties):
        same = f"on {items}, the models score the same in every configuration"
        return f"Open: {same}, so there is no order to hold or to change{read}."
    tied = ", though in some they tie" if any(count for count, _ in ties) else ""
    tied = f", and in {always} of {comparison_count(several)} they tie in all of them" if always else tied
    # An order that only unreadable answers hold up is neither shown nor refuted.
    word = "Open" if read else "Yes" if kept else "No"
    return f"{word}: on {items}, no two models change places {where}{tied}{read}."


def _where_read(findings: Findings, turned: bool) -> str:
    """What leaving unreadable answers out makes of an order that is `turned` in some configuration, or of one
    that is kept in all; empty where it is the same."""
    pairs = [pair for row in findings.benchmarks for pair in row.full.pairs]
    left = sum(bool(pair.readable.plus and pair.readable.minus) for pair in pairs)
    if turned:
        return "" if left else "; leave out unreadable answers, and none do"
    which = f"{left} of {counted(len(pairs), 'pair')} do" if len(pairs) > 1 else "they do"
    return f"; leave out unreadable answers, and {which}" if left else ""


def _items(findings: Findings) -> str:
    """`the 160 items asked`."""
    return f"the {counted(sum(row.items for row in findings.benchmarks), 'item')} asked"


def _summary(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[str]:
    if not findings.complete:
        return
    yield from (text for row in findings.benchmarks if (text := taken_back_words(row)) is not None)
    yield from _predicted(findings)
    yield from list(_places(findings))[:MOST_PLACES]
    yield from _facts_of_scores(findings, boards)
    yield from _of_new_items(findings)
    yield from _how_often(findings)
    yield from _swaps(findings)
    yield from _moved_most(findings)


def _how_often(findings: Findings) -> Iterator[str]:
    """In how many configurations the order of those pairs that change places is the less usual one."""
    turned = [(row.choices, row) for row in reversed_pairs(verdict_rows(findings)) if row.choices is not None]
    often = [(min(choices.ahead, choices.behind), choices, row) for choices, row in turned]
    if not often:
        return
    least, most = (pick(often, key=lambda each: each[0]) for pick in (min, max))
    counts = [f"{counts_words(row)} ({verdict_subject(row, findings)})" for *_, row in (least, most)]
    both = least is not most
    told = f"Most stable: {counts[0]}. Least stable: {counts[1]}." if both else f"{counts[1]}."
    known = all(choices.survival == "depends" for choices, _ in turned)
    chance = "" if known else " Equally good models change places in some configurations too, by chance."
    yield f"{told}{chance}"


def _swaps(findings: Findings) -> Iterator[str]:
    """How often changing one axis alone changes the leader, over all comparisons."""
    totals: dict[str, list[int]] = {}
    for row in verdict_rows(findings):
        for turn in () if row.choices is None else row.choices.turns:
            counts = totals.setdefault(turn.axis, [0, 0])
            counts[0], counts[1] = counts[0] + turn.turned, counts[1] + turn.compared
    if totals and not any(turned for turned, _ in totals.values()):
        yield "On these items changing one choice alone never puts another model ahead."
    elif len(totals) > 1:
        order = sorted(totals.items(), key=lambda each: -each[1][0] / each[1][1])
        told = ", ".join(f"{axis} in {turned} of {of} cases" for axis, (turned, of) in order[:MOST_MODELS])
        yield f"With all else equal, changing one choice alone changes the leader: {told}."


def _moved_most(findings: Findings) -> Iterator[str]:
    """The model that another choice moves most, and which single choice does it."""
    moved = largest_move(findings)
    if moved is None or moved.points < MOVED:
        return
    lost = f", where {percent(moved.unread)} of its answers are unreadable" if moved.unread else ""
    yield f"{move_words(moved, findings)}{lost}. From the reference no single change moves a model more."


MOVED = 5
"""Points from which it is said what a single choice moves."""


def _of_new_items(findings: Findings) -> Iterator[str]:
    """What holds for new items: how many are told apart, and of how many the order is known."""
    rows = verdict_rows(findings)
    tested = [row for row in rows if row.answer != "not_tested"]
    differ = [row for row in rows if row.answer == "differ"]
    safe = [row for row in differ if robust(row, findings)]
    weak = [row for row in differ if row not in safe]
    under = "Under the reference configuration " if _several(findings) else ""
    if safe:
        many = f"{len(safe)} of {len(tested)} differences are" if len(safe) > 1 else "one difference is"
        many = "the difference is" if len(tested) == 1 else many
        yield _capital(
            f"{under}{many} beyond chance: {better_named(safe, findings)}.{_few_units(safe, findings)}"
        )
    if weak:
        passes = "passes" if len(weak) == 1 else "pass"
        yield (
            f"{under}{better_named(weak, findings)}: that {passes} the test, but not if unreadable answers "
            f"count the other way.{_few_units(weak, findings)}"
        )
    if tested and not differ:
        yield _capital(f"{under}no two models can be told apart.")
    several = [row for row in rows if row.choices is not None]
    holds = [row for row in several if row.choices is not None and row.choices.survival == "holds"]
    depends = [row for row in several if row.choices is not None and row.choices.survival == "depends"]
    if holds:
        kept = better_named(holds, findings)
        yield f"The same order holds in all configurations, on new items too: {kept}."
    if depends:
        pairs = named_pairs(depends, findings)
        yield f"On new items too the order depends on the configuration: {pairs}."
    if rest := len(several) - len(holds) - len(depends):
        others = "comparison" if rest == 1 else f"{rest} comparisons"
        whom = "" if rest == len(several) else f" for the other {others}"
        yield f"Whether other configurations would change who is ahead on new items is not known{whom}."


def _capital(text: str) -> str:
    """A sentence that begins with a word and not with a name."""
    return f"{text[0].upper()}{text[1:]}"


def _few_units(rows: Sequence[VerdictRow], findings: Findings) -> str:
    """Which of these verdicts reach new items of the very groups that were asked, and no further."""
    few = {row.benchmark: scope_words(row, findings) for row in rows if row.these_units}
    return "".join(f" On {benchmark} that covers {scope}." for benchmark, scope in few.items())


def _facts_of_scores(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """What the items that were asked show: what was refused, whether models change places, or one score."""
    behaved = [board for board in boards if _fault_counts(board)]
    audited = {each.benchmark for each in findings.benchmarks if each.audit is not None}
    for board in behaved[:FEW]:
        words = conduct_words(board.benchmark, _fault_counts(board), board.anchor_items)
        under = "Under the reference configuration, on" if board.configurations > 1 else "On"
        yield from (f"{under}{text.removeprefix('On')}" for text in words)
        if board.benchmark in audited:
            yield "That is how the answers were read; what people's labels make of it is below."
        lost = [f"{row.unreadable:,} of {row.model}" for row in board.models if row.unreadable]
        if lost:
            yield f"Answers that could not be read, and count as neither: {joined_names(lost)}."
    if len(behaved) > FEW:
        yield f"Of {counted(len(behaved) - FEW, 'further refusal benchmark')}: see below."
    others = {board.benchmark for board in boards} - {board.benchmark for board in behaved}
    aimed = {each.benchmark for each in findings.benchmarks if each.direction.target is not None} & others
    if aimed:
        yield f"On {joined_names(sorted(aimed))} the score nearest to a target is best."
    pairs = [(where, pair) for where, pair in all_pairs(findings) if where.benchmark in others - aimed]
    others -= aimed if all_pairs(findings) else set()
    if pairs:
        own = [board for board in boards if board.benchmark in others]
        # A headline that answers a question about order has said this.
        if findings.plan.study.spec.study.yes_when not in ("order_holds", "order_changes"):
            yield _order(pairs, own, findings.recorded is not None)
    elif others:
        yield from _single([board for board in boards if board.benchmark in others])
    for board in boards:
        silent = [row.model for row in board.models if row.unreadable and row.unreadable == row.samples]
        if silent and board not in behaved:
            yield f"No answer of {joined_names(silent)} on {board.benchmark} could be read."


def _predicted(findings: Findings) -> Iterator[str]:
    """What became of each prediction; of many, how many met which end."""
    many = len(findings.hypotheses) > FEW
    if many:
        yield next(verdict_lines(findings.hypotheses, True))
    for finding in () if many else findings.hypotheses:
        order = "" if finding.ranking is None else f"{' > '.join(finding.ranking.order)}, best first"
        stated = (finding.claim or order).rstrip(".")
        by = BY_APPROXIMATION if approximate(finding) else ""
        depends = f"; unreadable answers decide it: {readings_words(finding)}" if finding.depends else ""
        said = f"{f' ({stated})' if stated else ''} is {finding.verdict}{by}{depends}"
        yield f"The prediction {finding.id}{said}."
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
        if recorded:
            return "Each model was run in one configuration: what another would change is not known."
        return f"{asked}one configuration was run, which shows no order to hold or to change."
    if len(changed) == 1 == len(pairs):
        ((_, pair),) = changed
        counts = pair.counts
        return (
            f"{asked}the order depends on the configuration: {counts.a} scores higher in {counts.plus} of "
            f"{counts.size}, {counts.b} in {counts.minus}."
        )
    if changed:
        named = joined_names(
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
    """The score of a study's only model."""
    for board in boards[:FEW]:
        (row,) = board.models
        if row.score is None:
            continue
        span = "" if row.interval is None else f" (95 % interval {over_units(row, percent)})"
        over = ""
        if board.configurations > 1 and row.least is not None and row.greatest is not None:
            ends = interval_words((row.least, row.greatest), percent)
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
    return {name: fewest_faults_first(own) for name, own in counts.items() if own}


def beside(findings: Findings) -> list[Statement]:
    """The leading statements that the answer does not already make in its own words."""
    return [
        statement
        for row, statement in choose(findings, "leading")
        if row.name not in COVERED and not row.urgent
    ]


def _facts(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[tuple[str, str]]:
    """What was asked, and what was held fixed."""
    recorded = findings.recorded
    yield "Asked" if recorded is None else "In the logs", " ".join(_asked(findings, boards))
    yield "Reference configuration", _reference(findings, boards)
    yield "Configurations", " ".join(_configurations(findings))
    chances = [f"{percent(each.chance)} on {each.benchmark}" for each in boards if each.chance is not None]
    yield "Guessing", joined_names(chances[:FEW])
    spec = findings.plan.study.spec
    yield "Not varied", ", ".join(spec.study.not_varied)
    yield "Planned before the data", declared_words(findings) if verdict_rows(findings) else ""
    named = [f"{model.id} ({model.source})" for model in spec.model]
    told = f"{len(named):,}" if len(named) > MOST_MODELS else ", ".join(named)
    shipped = any(model.source.startswith("builtin:") for model in findings.plan.study.spec.model)
    yield "Models", told + (f". {DEMONSTRATION}" if shipped else "")
    if recorded is not None and recorded.unknown:
        yield "Not recorded", "; ".join(recorded.unknown)


def _reference(findings: Findings, boards: Sequence[Scoreboard]) -> str:
    levels = {tuple(board.levels.items()) for board in boards}
    if len(levels) != 1 or not (own := next(iter(levels))):
        return ""
    where = ", ".join(f"{axis} {level}" for axis, level in own)
    return where if findings.recorded is None else f"{where}; the first by name, as logs declare none"


def _asked(findings: Findings, boards: Sequence[Scoreboard]) -> Iterator[str]:
    sizes = []
    for board in boards[:FEW]:
        every = "all " if board.held == board.items > 1 and findings.recorded is None else ""
        own = (
            "" if board.anchor_items == board.items else f" ({count(board.anchor_items)} under the reference)"
        )
        shown = asked_items(board.items, board.held, board.distinct)
        sizes.append(f"{every}{shown} of {board.benchmark}{own}")
    if len(boards) > FEW:
        sizes.append(f"{counted(len(boards) - FEW, 'further benchmark')}")
    if findings.recorded is not None:
        times = {score.cell.setting.replicates for row in findings.benchmarks for score in row.cells}
        often = "" if times == {1} else f", up to {max(times):,} answers to an item"
        yield f"{joined_names(sizes)}{often}; {findings.recorded.provenance}"
        return
    most = max((each.cell.setting.replicates for row in findings.benchmarks for each in row.cells), default=1)
    yield f"{joined_names(sizes)}{f', up to {most} times in a configuration' if most > 1 else ''}"
    for envelope in findings.plan.survey.envelopes:
        yield from (f"({words})" for words in not_asked(envelope))


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
    left = any(findings.plan.envelope(row.benchmark).excluded for row in findings.benchmarks)
    out = " The spec leaves other combinations out." if left and findings.recorded is None else ""
    yield f"{count}: {axes}.{out}"
