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

from gridc.compiler.lowering.judging import Bench, Judged, Key, Response, Second
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.run_record import Finding
from gridc.runtime.judgements import judged, responses
from gridc.runtime.store.store import Store
from gridc.schema.judging import SECOND
from gridc.statistics.raters import Kappa, kappa


@dataclass(frozen=True, slots=True)
class JudgeFinding:
    """One judge: the model, the SHA-256 of all that stands in every prompt, how many responses it was asked
    about, how often it gave each label, how often it was asked again, and why some have no label of it."""

    name: str
    model: str
    rubric: str
    responses: int
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
class JudgingFinding:
    """All judges of a study that is judged to its end. `decided` counts the responses with a label that
    counts, of `responses`; `pairs` are judges of every response two by two; `rows` is the digest of all
    judgements. `lengths` is by the label that counts."""

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

    @property
    def agreements(self) -> tuple[tuple[str, str, Kappa], ...]:
        """Judges two by two, and the second judge with the verdict before it."""
        if self.second is None or self.second.agreement is None:
            return self.pairs
        return (*self.pairs, ("the first verdict", SECOND, self.second.agreement))


def find_judging(plan: Plan, store: Store, judgements: Judged | None) -> JudgingFinding | None:
    """None where the study has no judge, or is not judged to its end. `judgements` are what the judges
    came to."""
    spec = plan.study.spec.judge
    if spec is None or judgements is None or not judgements.complete:
        return None
    bench = Bench(plan.study)
    given = responses(plan, store) or []
    judges = tuple(_judge(name, bench, judgements) for name in bench.assessors)
    return JudgingFinding(
        judges=judges,
        responses=len(judgements.rulings),
        decided=sum(ruling.label is not None for ruling in judgements.rulings.values()),
        verdict=spec.verdict,
        pairs=tuple(
            _pairs(
                bench.judge.jury, judgements, {response.key: bench.unit_of(response) for response in given}
            )
        ),
        second=judgements.second,
        least=None if spec.validation is None else spec.validation.kappa,
        blinded=spec.blinding is not None,
        lengths=_lengths(bench.judge.labels, given, judgements),
        rows=store.judgements_digest(plan.study_digest),
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


def _labels(name: str, judgements: Judged) -> dict[tuple[str, str, int], str | None]:
    """What a judge said of each response in the end."""
    return {
        ask.key: None if ask.verdict is None else ask.verdict.label
        for ask in judgements.asks
        if ask.judge == name
    }


def _judge(name: str, bench: Bench, judgements: Judged) -> JudgeFinding:
    asks = [ask for ask in judgements.asks if ask.judge == name]
    last = {ask.key: ask.verdict for ask in asks}
    given = [verdict for verdict in last.values() if verdict is not None]
    labels = Counter(verdict.label for verdict in given if verdict.label is not None)
    return JudgeFinding(
        name=name,
        model=bench.assessors[name].source,
        rubric=bench.rubrics[name].digest,
        responses=len(last),
        labels={label: labels[label] for label in bench.judge.labels},
        again=sum(ask.attempt > 0 for ask in asks),
        failures=dict(
            sorted(Counter(judgment.failure for judgment in given if judgment.failure is not None).items())
        ),
    )


def _pairs(
    jury: tuple[str, ...], judgements: Judged, units: Mapping[Key, tuple[str, str]]
) -> Iterator[tuple[str, str, Kappa]]:
    """Judges of every response two by two, on the responses that both labelled."""
    labels = {name: _labels(name, judgements) for name in jury}
    for left, right in combinations(jury, 2):
        both = [
            (label, labels[right][key], units[key])
            for key, label in sorted(labels[left].items())
            if label is not None and labels[right].get(key) is not None
        ]
        if both:
            ones, others, of = zip(*both, strict=True)
            yield left, right, kappa(list(map(str, ones)), list(map(str, others)), of)


JUDGED: Finding[Judged | None] = Finding("judged", lambda record: judged(record.plan, record.store))
JUDGING: Finding[JudgingFinding | None] = Finding(
    "judging", lambda record: find_judging(record.plan, record.store, record[JUDGED])
)
