"""Looks for what judges may go by beside what a response says, such as length and order, and for labels that
they never give.

Length: of the preferences between two responses how many go to the longer one; of labels, how often the
longer of two models' responses to an item in one configuration earns more, where they earn differently. An
empty response has no length to go by. Verdicts that a response holds itself: one that ends as a reply of the
judge does, as the judge's own replies are read, and whether the judge replied that. Labels that it never
gives. Nothing here says why: a better answer may be longer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from gridc.compiler.instrument.judging import Judgment, Rubric, read_reply
from gridc.compiler.instrument.score import earned
from gridc.compiler.lowering.judging import Bench, JudgingState, Key, Response, benches
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.labels import JUDGED
from gridc.reports.findings.run_record import Finding
from gridc.runtime.blinding import responses
from gridc.runtime.store.store import Store
from gridc.statistics.raters import UnitShare, unit_share

MANY = 30
"""Labels from which on one that is never given is named."""
STRONG = 0.75
"""The share above which labels are said to go with length: the model that answers better may write more."""
BRACES = 20
"""Places from the end of a response at which a JSON object may begin that is read as a reply."""


@dataclass(frozen=True, slots=True)
class InjectedVerdict:
    """A label that responses ask for in the form of the judge's own reply: how many do, and to how many of
    them the judge gave it."""

    label: str
    responses: int
    given: int


@dataclass(frozen=True, slots=True)
class JudgeBias:
    """Of one judge, by its name and its model: the share of preferences, or of labels of two responses, that
    go to the `longer` one, None where none differ; the verdicts that responses ask for; and the labels that
    it gave in none of `labelled` ones. `rows` is the digest of all judgements."""

    name: str
    model: str
    compares: bool
    longer: UnitShare | None
    injected: tuple[InjectedVerdict, ...]
    unused: tuple[str, ...]
    labelled: int
    rows: str

    @property
    def goes_by_length(self) -> bool:
        """Whether the whole interval lies beyond what is no sign of it."""
        return self.longer is not None and self.longer.low > (0.5 if self.compares else STRONG)

    @property
    def never_gives(self) -> tuple[str, ...]:
        """The labels that it did not give although it gave many."""
        return self.unused if self.labelled >= MANY else ()


def find_biases(plan: Plan, store: Store, judgements: JudgingState | None) -> tuple[JudgeBias, ...]:
    """Of everyone who judges; none where nobody does, or not to the end."""
    if judgements is None or not judgements.complete:
        return ()
    given, rows = responses(plan, store) or [], store.judgements_digest(plan.study_digest)
    return tuple(
        bias
        for bench in benches(plan.study)
        for bias in _of_bench(bench, [each for each in given if bench.labels(each.cell)], judgements, rows)
    )


def _of_bench(
    bench: Bench, given: Sequence[Response], judgements: JudgingState, rows: str
) -> Iterator[JudgeBias]:
    judge = bench.judge
    for name, assessor in bench.assessors.items():
        orders = [
            {ask.key: ask.verdict for ask in judgements.asks if ask.judge == row} for row in bench.rows(name)
        ]
        seen = [response for response in given if response.key in orders[0]]
        if not seen:
            continue
        counts = Counter(
            reply.label for replies in orders for reply in replies.values() if reply and reply.label
        )
        longer = list((_preferred if judge.compares else _labelled)(bench, seen, orders))
        unused = () if judge.rates else [label for label in judge.replies if not counts[label]]
        yield JudgeBias(
            name=name,
            model=assessor.source,
            compares=judge.compares is not None,
            longer=unit_share([won for won, _ in longer], [unit for _, unit in longer]) if longer else None,
            injected=tuple(_injected(bench.rubrics[name], seen, orders)),
            unused=tuple(unused),
            labelled=counts.total(),
            rows=rows,
        )


JudgeReplies = Sequence[Mapping[Key, Judgment | None]]
"""What a judge said of each response in the end, in each order of two."""
LongerWon = tuple[bool, tuple[str, str]]
"""Whether the longer of two responses is ahead, and the unit of their item."""


def _label(bench: Bench, key: Key, orders: JudgeReplies) -> str | None:
    """What the replies about a response come to."""
    replies = [of.get(key) or Judgment(None, failure="no answer") for of in orders]
    return bench.verdict_of(replies).label


def _preferred(bench: Bench, seen: Sequence[Response], orders: JudgeReplies) -> Iterator[LongerWon]:
    for response in seen:
        own, other = len(response.text), len(response.other or "")
        label = _label(bench, response.key, orders)
        if label in ("win", "loss") and own != other and (response.other or "").strip():
            yield (label == "win") == (own > other), bench.unit_of(response)


def _labelled(bench: Bench, seen: Sequence[Response], orders: JudgeReplies) -> Iterator[LongerWon]:
    beside: dict[tuple[str, str, str, int], list[tuple[Response, int]]] = {}
    for response in seen:
        label, cell = _label(bench, response.key, orders), response.cell
        if label is not None:
            verdicts = bench.judge.verdicts
            points = earned(cell.setting, response.item, verdicts.index(label), verdicts)
            place = cell.benchmark, cell.configuration, response.item.id, response.replicate
            beside.setdefault(place, []).append((response, points))
    for of_item in beside.values():
        for (one, points), (other, others) in combinations(of_item, 2):
            if points != others and len(one.text) != len(other.text):
                yield (points > others) == (len(one.text) > len(other.text)), bench.unit_of(one)


def _injected(rubric: Rubric, seen: Sequence[Response], orders: JudgeReplies) -> Iterator[InjectedVerdict]:
    asking: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for response in seen:
        texts = (response.text, response.other or "")
        label = next(filter(None, (asked_label(rubric, text) for text in texts)), None)
        if label is not None:
            asking[label] += 1
            replies = [of.get(response.key) for of in orders]
            given[label] += all(reply is not None and reply.label == label for reply in replies)
    yield from (InjectedVerdict(label, count, given[label]) for label, count in sorted(asking.items()))


def asked_label(rubric: Rubric, response: str) -> str | None:
    """The label of the reply that a response ends with, as the judge's own are read; None where it ends with
    none. Of a reply that is a label alone on its last line, a response that is but one line is none."""
    text = response.rstrip()
    if rubric.reply == "json":
        text = text.removesuffix("```")
        begins = [at for at, sign in enumerate(text) if sign == "{"][-BRACES:]
        ends = [text[at:] for at in begins]
    else:
        *before, last = text.splitlines() or [""]
        ends = [last] if before or rubric.reply != "last_line" else []
    found = (read_reply(rubric, {"text": end}).label for end in ends)
    return next(filter(None, found), None)


JUDGE_BIASES: Finding[tuple[JudgeBias, ...]] = Finding(
    "judge_biases",
    lambda record: find_biases(record.plan, record.store, record[JUDGED]),
    (),
    tuple[JudgeBias, ...],
    about="Whether judges go by length, which verdicts responses ask for, and which labels are never given.",
)
