"""Findings about labels: judges and their agreement, whether they were blind, and how people labelled.

Of judges: who labelled how many responses, which replies could not be read, and how far judges agree. Kappa
is Cohen's with its interval (`statistics.raters`), which takes units of items as drawn independently, however
often each is asked.

Of blinding: what was taken out of responses, and what a judge could still guess from them. On a sample of
every cell the judge is asked which configuration made a response, and has to name one. Bang's index of a
configuration is its share of right guesses less that of wrong ones (Bang, Ni and Davis 2004); with K
configurations chance gives 2 / K - 1 and not 0. Whether guesses depend on the configuration at all is
Pearson's test of the table of both, which no habit of guessing passes or fails by itself.

Of people: how far they agree with the labels that count in the study, and who is more lenient. Both label the
responses of a sheet, which were drawn by cell. Leniency is the mean of what the study gave less what people
gave, towards the benchmark's good end, with its interval over units: `statistics.raters.leniency`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations
from statistics import mean, median
from typing import Any

from gridc.compiler.grid.cells import Cell
from gridc.compiler.instrument.item import Item
from gridc.compiler.instrument.judging import Judgment, preference
from gridc.compiler.instrument.sanitise import CLASSES
from gridc.compiler.instrument.score import earned
from gridc.compiler.lowering.judging import (
    Bench,
    Guess,
    JudgingState,
    Key,
    Response,
    SecondJudge,
    arms_of,
    benches,
)
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding
from gridc.runtime.blinding import (
    UNREADABLE,
    Sheet,
    auditable,
    judged,
    judging_state,
    labels_of,
    opened,
    responses,
    sheets,
)
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.judging import JUDGE, NO_CLAIM, PLACES, REFERENCE, SECOND
from gridc.schema.spec import Spec
from gridc.statistics.envelope import Direction
from gridc.statistics.raters import (
    Bang,
    Guesses,
    Kappa,
    Leniency,
    UnitShare,
    bang,
    guesses_independent,
    kappa,
    leniency,
    share_right,
    unit_share,
)


@dataclass(frozen=True, slots=True)
class JudgeFinding:
    """One judge: the model, the SHA-256 of all that stands in every prompt, how many responses it was asked
    about, how many labels it owes them (two of each where it compares in both orders), how often it gave each
    label, how often it was asked again, and why some have no label of it. Of one whose labels are shares of
    claims, `counted` is the label of the claims that count."""

    name: str
    model: str
    rubric: str
    responses: int
    owed: int
    labels: Mapping[str, int]
    again: int
    failures: Mapping[str, int]
    counted: str | None = None

    @property
    def labelled(self) -> int:
        return sum(self.labels.values())

    @property
    def label_counts(self) -> str:
        """How often it gave each label, in words; of shares, how many claims there were in all."""
        if self.counted is None:
            return ", ".join(f"{label} {count:,}" for label, count in self.labels.items())
        shares = [(*map(int, label.split("/")), count) for label, count in self.labels.items()]
        counted, claims = (sum(share[at] * share[-1] for share in shares) for at in (0, 1))
        none = self.labels.get(NO_CLAIM, 0)
        return f"{counted:,} of {claims:,} claims {self.counted}, {none:,} responses without a claim"


@dataclass(frozen=True, slots=True)
class Length:
    """How long the responses with a label are, in characters as judges see them. Answers that evade may be
    short (Safety Under Scaffolding, app. N, 2a)."""

    responses: int
    mean: float
    median: float


@dataclass(frozen=True, slots=True)
class PairsFinding:
    """A judge that sees pairs in both orders: of the pairs with a reply to both, how many preferences change
    with the order, and of the replies that prefer one, how many prefer the first. None where none is."""

    name: str
    inconsistent: UnitShare | None
    first: UnitShare | None


@dataclass(frozen=True, slots=True)
class JudgingFinding:
    """A judge of a study that is judged to its end, with those who judge beside it. `decided` counts the
    responses with a label that counts, of `responses`; `pairs` are judges of every response two by two;
    `rows` is the digest of all judgements. `lengths` is by the label that counts; of judges whose labels are
    numbers (`rates`) there is none. `against` is what responses are compared with, in both orders where it
    `swaps`, and `compared` what the order does to each judge's replies."""

    name: str
    judges: tuple[JudgeFinding, ...]
    responses: int
    decided: int
    verdict: str | None
    pairs: tuple[tuple[str, str, Kappa], ...]
    second: SecondJudge | None
    least: float | None
    blinded: bool
    lengths: Mapping[str, Length]
    rows: str
    rates: bool = False
    compared: tuple["PairsFinding", ...] = ()
    against: str | None = None
    swaps: bool = False

    @property
    def agreements(self) -> tuple[tuple[str, str, Kappa], ...]:
        """Judges two by two, and the second judge with the verdict before it."""
        if self.second is None or self.second.agreement is None:
            return self.pairs
        return (*self.pairs, (self.first_verdict, self.second_name, self.second.agreement))

    @property
    def other(self) -> str | None:
        """What responses are compared with, in words; None where each is labelled alone."""
        if self.against is None:
            return None
        return "the item's right answer" if self.against == REFERENCE else f"those of {self.against}"

    @property
    def second_name(self) -> str:
        """What the second judge is called."""
        return f"{self.name}.{SECOND}"

    @property
    def first_verdict(self) -> str:
        """What the second judge is compared with."""
        return "the first verdict" if self.name == JUDGE else f"the first verdict of {self.name}"


def find_judging(plan: Plan, store: Store, judgements: JudgingState | None) -> tuple[JudgingFinding, ...]:
    """Every judge of the study; none where it has none, or is not judged to its end. `judgements` are what
    the judges came to."""
    if judgements is None or not judgements.complete:
        return ()
    given = responses(plan, store) or []
    rows = store.judgements_digest(plan.study_digest)
    return tuple(
        _of_bench(bench, [response for response in given if bench.labels(response.cell)], judgements, rows)
        for bench in benches(plan.study)
    )


def _of_bench(bench: Bench, given: Sequence[Response], judgements: JudgingState, rows: str) -> JudgingFinding:
    judge = bench.judge
    rulings = [judgements.rulings[response.key] for response in given]
    units = {response.key: bench.unit_of(response) for response in given}
    return JudgingFinding(
        name=judge.name,
        judges=tuple(_judge(name, bench, judgements) for name in bench.assessors),
        responses=len(rulings),
        decided=sum(ruling.label is not None for ruling in rulings),
        verdict=judge.verdict,
        pairs=tuple(_pairs(bench, judgements, units)),
        second=judgements.second_judges.get(judge.name),
        least=None if judge.validation is None else judge.validation.kappa,
        blinded=judge.blinding is not None,
        lengths={} if judge.rates else _lengths(judge.verdicts, given, judgements),
        rows=rows,
        rates=judge.rates,
        compared=tuple(_compared(bench, judgements, units)),
        against=None if judge.compares is None else judge.compares.against,
        swaps=judge.compares is not None and judge.compares.swap,
    )


def _lengths(labels: Sequence[str], given: Sequence[Response], judgements: JudgingState) -> dict[str, Length]:
    by_label: dict[str, list[int]] = {label: [] for label in labels}
    for response in given:
        label = judgements.rulings[response.key].label
        if label is not None:
            by_label[label].append(len(response.text))
    return {
        label: Length(len(lengths), mean(lengths), median(lengths))
        for label, lengths in by_label.items()
        if lengths
    }


def _last(name: str, judgements: JudgingState) -> dict[Key, Judgment | None]:
    """What a judge said of each response in the end."""
    return {ask.key: ask.verdict for ask in judgements.asks if ask.judge == name}


def _labels(name: str, bench: Bench, judgements: JudgingState) -> dict[Key, str | None]:
    """What a judge made of each response that it was asked about."""
    orders = [_last(row, judgements) for row in bench.rows(name)]
    labels: dict[Key, str | None] = {}
    for key in orders[0]:
        replies = [replies.get(key) or Judgment(None, failure="no answer") for replies in orders]
        labels[key] = bench.verdict_of(replies).label
    return labels


def _judge(name: str, bench: Bench, judgements: JudgingState) -> JudgeFinding:
    names = bench.rows(name)
    asks = [ask for ask in judgements.asks if ask.judge in names]
    last = {(ask.judge, ask.key): ask.verdict for ask in asks}
    given = [verdict for verdict in last.values() if verdict is not None]
    labels = Counter(verdict.label for verdict in given if verdict.label is not None)
    return JudgeFinding(
        name=name,
        model=bench.assessors[name].source,
        rubric=bench.rubrics[name].digest,
        responses=len({key for _, key in last}),
        owed=len(last),
        labels={
            label: labels[label] for label in bench.judge.replies if labels[label] or not bench.judge.rates
        },
        again=sum(ask.attempt > 0 for ask in asks),
        failures=dict(
            sorted(Counter(judgment.failure for judgment in given if judgment.failure is not None).items())
        ),
        counted=None if bench.judge.counts is None else bench.judge.counts.of,
    )


def _compared(
    bench: Bench, judgements: JudgingState, units: Mapping[Key, tuple[str, str]]
) -> Iterator[PairsFinding]:
    """What the order of two responses does, for everyone who is shown both orders."""
    for name in bench.assessors if len(bench.orders) > 1 else ():
        straight, turned = (_last(row, judgements) for row in bench.rows(name))
        read = {
            key: (one.label, other.label)
            for key, one in straight.items()
            if (other := turned.get(key)) and one and one.label is not None and other.label is not None
        }
        changed = [
            (preference(one, False) != preference(other, True), key) for key, (one, other) in read.items()
        ]
        preferring = [
            (label == PLACES[0], key)
            for key, labels in read.items()
            for label in labels
            if label in PLACES[:2]
        ]
        inconsistent, first = (
            unit_share([has for has, _ in counted], [units[key] for _, key in counted]) if counted else None
            for counted in (changed, preferring)
        )
        if straight:
            yield PairsFinding(name, inconsistent, first)


def _pairs(
    bench: Bench, judgements: JudgingState, units: Mapping[Key, tuple[str, str]]
) -> Iterator[tuple[str, str, Kappa]]:
    """Judges of every response two by two, on the responses that both labelled."""
    jury = bench.judge.jury
    labels = {name: _labels(name, bench, judgements) for name in jury} if len(jury) > 1 else {}
    for left, right in combinations(jury, 2):
        both = [
            (label, labels[right][key], units[key])
            for key, label in sorted(labels[left].items())
            if label is not None and labels[right].get(key) is not None
        ]
        if both:
            ones, others, of = zip(*both, strict=True)
            yield left, right, kappa(list(map(str, ones)), list(map(str, others)), of)


JUDGED: Finding[JudgingState | None] = Finding(
    "judged",
    lambda record: judging_state(record.plan, record.store),
    on_request=True,
    about="Every label that judges gave, and what is still to be asked.",
)
JUDGING: Finding[tuple[JudgingFinding, ...]] = Finding(
    "judging",
    lambda record: find_judging(record.plan, record.store, record[JUDGED]),
    (),
    tuple[JudgingFinding, ...],
    about="Who labelled how many responses, which replies could not be read, and how far judges agree.",
)


ALPHA = 0.05
"""Below this p-value guesses are said to depend on the configuration."""


@dataclass(frozen=True, slots=True)
class GuessFinding:
    """The guess test of one judge on one benchmark: `right` of `n` guesses named the configuration, within
    `low` and `high` as a share; `unread` replies named none. `table` counts true configuration by guess."""

    judge: str
    benchmark: str
    arms: tuple[Bang, ...]
    n: int
    right: int
    unread: int
    low: float
    high: float
    chance: float
    test: Guesses
    table: tuple[tuple[str, str | None, int], ...]
    rows: str

    @property
    def where(self) -> str:
        """The benchmark, with the judge where a study may have several."""
        return self.benchmark if self.judge == JUDGE else f"{self.benchmark}/{self.judge}"

    @property
    def found(self) -> bool:
        """Whether guesses depend on the configuration."""
        return self.test.p < ALPHA


@dataclass(frozen=True, slots=True)
class SanitisedFinding:
    """What was taken out of the responses that judges saw: of so many `responses` something in `touched`, by
    class how many pieces went, and how many stayed because the response would have read otherwise."""

    responses: int
    touched: int
    removed: Mapping[str, int]
    kept: Mapping[str, int]


def sanitised_finding(plan: Plan, store: Store) -> SanitisedFinding | None:
    """None where nothing is judged, or responses are shown as they are."""
    blindings = [judge.blinding for judge in plan.study.spec.declared_judges]
    if not any(blinding is not None and blinding.sanitise for blinding in blindings):
        return None
    responses = list(judged(plan, store))
    removed, kept = Counter[str](), Counter[str]()
    for response in responses:
        removed.update(response.removed)
        kept.update(response.kept)
    by_class = ({name: counts[name] for name in CLASSES} for counts in (removed, kept))
    return SanitisedFinding(len(responses), sum(bool(shown.removed) for shown in responses), *by_class)


def guess_findings(plan: Plan, store: Store, known: JudgingState | None) -> tuple[GuessFinding, ...]:
    """The guess test of every benchmark that has one. Conditions are not read before the map is open."""
    if known is None or not opened(store, plan.study_digest):
        return ()
    return tuple(_findings(plan, known.guesses))


def _findings(plan: Plan, guesses: Sequence[Guess]) -> Iterator[GuessFinding]:
    for bench in benches(plan.study):
        known = arms_of(cell for cell in plan.cells() if bench.labels(cell))
        for benchmark, arms in known.items():
            mine = [guess for guess in guesses if (guess.judge, guess.benchmark) == (bench.name, benchmark)]
            if mine:
                yield guess_finding(benchmark, list(dict.fromkeys(arms.values())), mine, bench.name)


def guess_finding(
    benchmark: str, arms: Sequence[str], guesses: Sequence[Guess], judge: str = JUDGE
) -> GuessFinding:
    """The guess test of these guesses of a judge, among these configurations."""
    table: Mapping[tuple[str, str | None], int] = Counter((guess.arm, guess.guessed) for guess in guesses)

    def right(some: Sequence[Guess]) -> list[bool | None]:
        return [None if guess.guessed is None else guess.guessed == guess.arm for guess in some]

    guessed_arms = []
    for arm in arms:
        own = [guess for guess in guesses if guess.arm == arm]
        if own:
            guessed_arms.append(bang(arm, right(own), len(arms), [guess.unit for guess in own]))
    named = [(guess.arm, guess.guessed, guess.key[1]) for guess in guesses if guess.guessed is not None]
    low, high = share_right(list(map(bool, right(guesses))), [guess.unit for guess in guesses])
    return GuessFinding(
        judge=judge,
        benchmark=benchmark,
        arms=tuple(guessed_arms),
        n=len(guesses),
        right=sum(tested.right for tested in guessed_arms),
        unread=len(guesses) - len(named),
        low=low,
        high=high,
        chance=1 / len(arms),
        test=guesses_independent(*(zip(*named, strict=True) if named else ((), (), ()))),
        table=tuple((true, guessed, count) for (true, guessed), count in sorted(table.items(), key=repr)),
        rows=digest(sorted([*guess.key, guess.arm, guess.guessed or ""] for guess in guesses)),
    )


GUESSES: Finding[tuple[GuessFinding, ...]] = Finding(
    "guesses",
    lambda record: guess_findings(record.plan, record.store, record[JUDGED]),
    (),
    tuple[GuessFinding, ...],
    about="What a judge could still guess about the cells behind sanitised responses.",
)
SANITISED: Finding[SanitisedFinding | None] = Finding(
    "sanitised",
    lambda record: sanitised_finding(record.plan, record.store),
    recorded=SanitisedFinding,
    about="What was taken out of responses before a judge saw them.",
)


ALL = "all"
"""In place of a benchmark: all of a sheet's responses."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One sheet on one benchmark, or on `ALL`: the labels that count beside those of people. `rows` is the
    digest of the UUIDs with both labels. Under a target there is no
    leniency: it has no end to be kind to."""

    sheet: str
    benchmark: str
    agreement: Kappa
    leniency: Leniency | None
    rows: str

    @property
    def gained(self) -> float | None:
        """How many points the study gives more than people do."""
        return None if self.leniency is None else self.leniency.mean

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Labelled:
    uuid: str
    benchmark: str
    study: str
    people: str
    unit: tuple[str, str]
    gained: Fraction | None  # what the study gave less what people gave, towards the good end; None: a target


def audits(plan: Plan, store: Store, drawn: Iterable[Sheet]) -> Iterator[AuditFinding]:
    """Every sheet whose labels were taken back: all its responses, and where there are several each
    benchmark. A response that several people labelled counts once for each."""
    for sheet in drawn:
        given = store.labels(plan.study_digest, sheet.about)
        if not given:
            continue
        places = {place: uuid for uuid, place in sheet.blind.places.items()}
        labelled = []
        for cell in auditable(plan):
            mine = {place for place in places if place[0] == cell.key}
            items = {item.id: item for item in plan.items(cell)} if mine else {}
            units = plan.study.items[cell.benchmark].units if mine else {}
            for item, replicate, choice, *_ in store.sample_rows(plan.study_digest, cell.key) if mine else ():
                if (cell.key, item, replicate) in mine:
                    uuid = places[cell.key, item, replicate]
                    unit = cell.benchmark, units[item]
                    labelled += [
                        _labelled(plan.study.spec, cell, items[item], unit, uuid, choice, label)
                        for label in given.get(uuid, {}).values()
                    ]
        benchmarks = dict.fromkeys(response.benchmark for response in labelled)
        yield _finding(sheet.about, ALL, labelled)
        if len(benchmarks) > 1:
            for benchmark in benchmarks:
                yield _finding(sheet.about, benchmark, [x for x in labelled if x.benchmark == benchmark])


def _labelled(
    spec: Spec, cell: Cell, item: Item, unit: tuple[str, str], uuid: str, choice: int | None, label: str
) -> _Labelled:
    known = labels_of(spec, cell, item)
    human = known.index(label) if label in known else None
    more = label_points(cell, item, choice, known) - label_points(cell, item, human, known)
    sign = Direction.of(
        next(benchmark.direction for benchmark in spec.benchmark if benchmark.id == cell.benchmark)
    ).sign
    gained = sign * more if sign else None
    given = UNREADABLE if choice is None else known[choice]
    return _Labelled(uuid, cell.benchmark, given, label, unit, gained)


def label_points(cell: Cell, item: Item, choice: int | None, known: Sequence[str]) -> Fraction:
    """What a response earns by this label, one of those that are known; None is an unreadable one."""
    setting = cell.setting
    points = setting.credit if choice is None else earned(setting, item, choice, known)
    return Fraction(points, setting.scale)


def _finding(sheet: str, benchmark: str, labelled: Sequence[_Labelled]) -> AuditFinding:
    rows = sorted((response.uuid, response.study, response.people) for response in labelled)
    gained = [float(response.gained) for response in labelled if response.gained is not None]
    units = [response.unit for response in labelled]
    return AuditFinding(
        sheet,
        benchmark,
        kappa([x.study for x in labelled], [x.people for x in labelled], units),
        leniency(gained, units) if len(gained) == len(labelled) else None,
        digest([list(row) for row in rows]),
    )


SHEETS: Finding[list[Sheet]] = Finding(
    "sheets",
    lambda record: list(sheets(record.plan, record.store)),
    on_request=True,
    about="Every sheet that was drawn for people, drawn again.",
)
AUDITS: Finding[tuple[AuditFinding, ...]] = Finding(
    "audits",
    lambda record: tuple(audits(record.plan, record.store, record[SHEETS])),
    (),
    tuple[AuditFinding, ...],
    about="How people labelled the responses that a study scored: agreement, and who is more lenient.",
)
