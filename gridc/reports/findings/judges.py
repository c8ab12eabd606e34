"""What the judges of a study did: who labelled how many responses, which replies could not be read, and how
far judges agree.

Kappa is Cohen's with its interval (`statistics.raters`), which takes units of items as drawn
independently, however often each is asked.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, median

from gridc.compiler.instrument.judging import Judgment, preference
from gridc.compiler.lowering.judging import Bench, Judged, Key, Response, Second, benches
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding
from gridc.runtime.judgements import judged, responses
from gridc.runtime.store.store import Store
from gridc.schema.judging import JUDGE, PLACES, REFERENCE, SECOND
from gridc.statistics.raters import Kappa, UnitShare, kappa, unit_share


@dataclass(frozen=True, slots=True)
class JudgeFinding:
    """One judge: the model, the SHA-256 of all that stands in every prompt, how many responses it was asked
    about, how many labels it owes them (two of each where it compares in both orders), how often it gave each
    label, how often it was asked again, and why some have no label of it."""

    name: str
    model: str
    rubric: str
    responses: int
    owed: int
    labels: Mapping[str, int]
    again: int
    failures: Mapping[str, int]

    @property
    def labelled(self) -> int:
        return sum(self.labels.values())


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
    second: Second | None
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


def find_judging(plan: Plan, store: Store, judgements: Judged | None) -> tuple[JudgingFinding, ...]:
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


def _of_bench(bench: Bench, given: Sequence[Response], judgements: Judged, rows: str) -> JudgingFinding:
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
        second=judgements.seconds.get(judge.name),
        least=None if judge.validation is None else judge.validation.kappa,
        blinded=judge.blinding is not None,
        lengths={} if judge.rates else _lengths(judge.verdicts, given, judgements),
        rows=rows,
        rates=judge.rates,
        compared=tuple(_compared(bench, judgements, units)),
        against=None if judge.compares is None else judge.compares.against,
        swaps=judge.compares is not None and judge.compares.swap,
    )


def _lengths(labels: Sequence[str], given: Sequence[Response], judgements: Judged) -> dict[str, Length]:
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


def _last(name: str, judgements: Judged) -> dict[Key, Judgment | None]:
    """What a judge said of each response in the end."""
    return {ask.key: ask.verdict for ask in judgements.asks if ask.judge == name}


def _labels(name: str, bench: Bench, judgements: Judged) -> dict[Key, str | None]:
    """What a judge made of each response that it was asked about."""
    orders = [_last(row, judgements) for row in bench.rows(name)]
    labels: dict[Key, str | None] = {}
    for key in orders[0]:
        replies = [replies.get(key) or Judgment(None, failure="no answer") for replies in orders]
        labels[key] = bench.settled(replies).label
    return labels


def _judge(name: str, bench: Bench, judgements: Judged) -> JudgeFinding:
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
    )


def _compared(
    bench: Bench, judgements: Judged, units: Mapping[Key, tuple[str, str]]
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
    bench: Bench, judgements: Judged, units: Mapping[Key, tuple[str, str]]
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


JUDGED: Finding[Judged | None] = Finding(
    "judged", lambda record: judged(record.plan, record.store), on_request=True
)
JUDGING: Finding[tuple[JudgingFinding, ...]] = Finding(
    "judging",
    lambda record: find_judging(record.plan, record.store, record[JUDGED]),
    (),
    tuple[JudgingFinding, ...],
)
