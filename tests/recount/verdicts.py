"""Whether every two models differ under the reference configuration, and what other ones make of it: from the
descriptions in gridc/schema/verdicts.py. A question is one pair and one quantity of one benchmark; all
questions of a study share Holm's method."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import binom

from tests.recount.audit import Audit
from tests.recount.evidence import holm
from tests.recount.rates import BEHAVIOUR, shown
from tests.recount.study import Benchmark, Json, Study
from tests.recount.unit_limits import below_zero, few

ERRORS = {"over_refusal": 1, "unsafe_compliance": 0}
"""The rates of errors, with the choice that is one: to refuse, or to comply."""
MOST_PAIRS = 40


Lost = Callable[[str, str], Any]


@dataclass
class Tests:
    """p of "the first has the better value", of "the second has", and of "less than the margin apart"."""

    kind: str
    first: float
    second: float
    within: float | None

    def with_labels(self, people: tuple[float, float] | None) -> "Tests":
        """No smaller than people's labels allow for both; these say nothing of a margin."""
        if people is None:
            return self
        within = None if self.within is None else 1.0
        return Tests(self.kind, max(self.first, people[0]), max(self.second, people[1]), within)


@dataclass
class Question:
    row: Json
    tests: Tests | None = None
    holds: float | None = None
    depends: float | None = None
    leader: str | None = None
    exact: bool = False
    if_unread: Tests | None = None


def verdicts(
    study: Study,
    benchmarks: Mapping[str, Benchmark],
    rows: Sequence[Json],
    complete: bool,
    audits: Mapping[str, Audit],
) -> Json:
    """`rows` are the recounted ones of the benchmarks, whose values and intervals stand here again."""
    if not complete:
        return None
    stated = study.spec["analysis"].get("margin")
    margin = None if stated is None else stated["pp"] / 100
    questions: list[Question] = []
    untold = []
    for benchmark, row in zip(benchmarks.values(), rows, strict=True):
        if len(row["scopes"][0]["pairs"]) > MOST_PAIRS:
            untold.append(benchmark.name)
            continue
        asked = Asked(benchmark, row, audits[benchmark.name], margin)
        errors = [
            rate
            for rate in row["rates"]
            if rate["name"] in ERRORS and any(asked.where in own for own in rate["models"].values())
        ]
        for each in [asked.rate(rate) for rate in errors] or [asked.score()]:
            questions += each
    members = _after_holm(questions, study.alpha)
    told = [question.row for question in questions]
    return {"alpha": study.alpha, "members": members, "margin": margin, "rows": told, "untold": untold}


def _after_holm(questions: Sequence[Question], alpha: float) -> int:
    """Fills in what waits for the whole family; the number of its members."""
    tested = [question for question in questions if question.tests is not None]
    alone, fields, owners = [], [], []
    for question in tested:
        assert question.tests is not None
        for p, field in ((2 * min(question.tests.first, question.tests.second), "p"),) + (
            () if question.tests.within is None else ((question.tests.within, "p_within"),)
        ):
            alone.append(min(1.0, p))
            fields.append((question.row, field))
            owners.append((question, field))
    for (row, field), p, paid in zip(fields, alone, holm(alone, len(alone)), strict=True):
        row[field], row["p_holm" if field == "p" else "p_within_holm"] = p, paid
    harsh = [
        min(1.0, 2 * min(question.if_unread.first, question.if_unread.second))
        if field == "p" and question.if_unread is not None
        else p
        for (question, field), p in zip(owners, alone, strict=True)
    ]
    for (question, field), paid in zip(owners, holm(harsh, len(harsh)), strict=True):
        if field == "p" and question.if_unread is not None:
            question.row["p_unread_holm"] = paid
    for question in tested:
        row = question.row
        assert question.tests is not None
        row["test"], row["answer"] = question.tests.kind, "not_told_apart"
        if row["p_within_holm"] is not None and row["p_within_holm"] <= alpha:
            row["answer"] = "within_margin"
        if row["p_holm"] <= alpha and row["better"] is not None:
            row["answer"] = "differ"
    of_rates = [question for question in questions if question.holds is not None]
    claims = [p for question in of_rates for p in (question.holds, question.depends)]
    paid_for = holm([1.0 if p is None else p for p in claims], len(claims))
    for question, holds, depends in zip(of_rates, paid_for[::2], paid_for[1::2], strict=True):
        choices = question.row["choices"]
        choices |= {"p_holds": holds, "p_depends": depends}
        if min(holds, depends) <= alpha:
            kept = holds < depends
            choices |= {
                "survival": "holds" if kept else "depends",
                "first": question.leader if kept else None,
                "strength": "certified" if question.exact else "supported",
            }
    return len(alone)


class Asked:
    """The questions of one benchmark."""

    def __init__(self, benchmark: Benchmark, row: Json, audit: Audit, margin: float | None) -> None:
        self.benchmark, self.row, self.audit, self.margin = benchmark, row, audit, margin
        self.where = benchmark.anchor
        self.alone = {item: at for at, item in enumerate(benchmark.items)}
        self.number = len(benchmark.items)

    def blank(self, what: str, a: str, b: str) -> Json:
        return {
            "benchmark": self.benchmark.name, "what": what, "configuration": self.where, "a": a, "b": b,
            "lower": what != "score" or self.benchmark.lower, "interval": None, "on_units": None,
            "test": "not_tested", "better": None, "p": 1.0, "p_holm": 1.0, "p_within": None,
            "p_within_holm": None, "p_unread_holm": None, "answer": "not_tested", "these_units": False,
            "why": "", "choices": None,
        }  # fmt: skip

    def score(self) -> Iterator[Question]:
        benchmark, c = self.benchmark, self.where
        gaps = {(gap["a"], gap["b"]): gap["by_configuration"] for gap in self.row["intervals"]["gaps"]}
        for pair in self.row["scopes"][0]["pairs"]:
            a, b = pair["a"], pair["b"]
            row = self.blank("score", a, b)
            values = [benchmark.score(model, c) for model in (a, b)]
            ends = [benchmark.ends(model, c) for model in (a, b)]
            assert values[0] is not None and values[1] is not None and ends[0] and ends[1]
            gap = values[0] - values[1]
            own = gaps.get((a, b), {}).get(c)
            if own is None or any(self.silent(model, c) for model in (a, b)):
                own = {"interval": None, "on_units": None}
            row |= {
                "value_a": float(values[0]), "value_b": float(values[1]), "gap": float(gap),
                "interval": own["interval"], "on_units": own["on_units"],
                "unread_low": float(ends[0][0] - ends[1][1]), "unread_high": float(ends[0][1] - ends[1][0]),
                "choices": self.claimed(pair),
            }  # fmt: skip
            question = Question(row)
            if benchmark.target is None and gap:
                row["better"] = (a, b)[(gap < 0) != benchmark.lower]
            if benchmark.target is not None:
                row["why"] = "target"
            elif benchmark.distinct and benchmark.unit == "item":
                row["why"] = "copies"
            elif any(self.silent(model, c) for model in (a, b)):
                row["why"] = "no_answer"
            else:
                row["these_units"], question.tests = self.of_scores(a, b)
                _, question.if_unread = self.of_scores(a, b, benchmark.unread)
            yield question

    def silent(self, model: str, c: str) -> bool:
        return self.benchmark.reads(c) and not self.benchmark.tallies[model, c]["parsed"]

    def of_scores(self, a: str, b: str, lost: Lost | None = None) -> tuple[bool, Tests]:
        """By units; by single items where the units that are asked are few. What is `lost` counts against
        every claim."""
        benchmark, c = self.benchmark, self.where
        asked = list(dict.fromkeys(item for item, *_ in benchmark.at[a, c]["samples"]))
        n = np.bincount([benchmark.unit_of[item] for item in asked], minlength=benchmark.G).astype(float)
        fine = benchmark.unit != "item" and few(n[n > 0])
        groups, size = (self.alone, self.number) if fine else (benchmark.unit_of, benchmark.G)
        n = np.bincount([groups[item] for item in asked], minlength=size).astype(float)
        low, high = (
            {model: self.points(model, groups, size, as_, lost) for model in (a, b)} for as_ in (0, 1)
        )
        better, worse = (b, a) if benchmark.lower else (a, b)
        repeats = len(benchmark.at[a, c]["samples"]) // len(asked)
        single = size == self.number and benchmark.scale == 1 and repeats == 1
        tests = self.tests(
            low[better] - high[worse], low[worse] - high[better], n, single, ("score", better, worse)
        )
        return fine, tests

    def points(
        self, model: str, groups: Mapping[Any, int], size: int, lost_as: int, losing: Lost | None = None
    ) -> Any:
        """What each group earned, where what counts against a claim earned so much."""
        benchmark, c = self.benchmark, self.where
        samples, lost = benchmark.at[model, c]["samples"], {*benchmark.lost(model, c)}
        if losing is not None:
            lost |= {*losing(model, c)}
        repeats = len(samples) / len({item for item, *_ in samples})
        points = np.zeros(size)
        for item, replicate, _, score in samples:
            earned = lost_as if (item, replicate) in lost else score / benchmark.scales[model, c]
            points[groups[item]] += earned / repeats
        return points.round(9)

    def tests(
        self, first: Any, second: Any, n: Any, single: bool, about: tuple[str, str, str], at: str = ""
    ) -> Tests:
        """Of what every unit speaks for either model at least; each has so many rows."""

        def p(moved: Any) -> float:
            if single:
                up, down = int((moved > 1e-9).sum()), int((moved < -1e-9).sum())
                return float(binom.sf(up - 1, up + down, 0.5)) if up + down else 1.0
            return beyond(moved, 0.0)

        def beyond(moved: Any, given: float) -> float:
            """The test that the limits of a change invert: the unit that is added loses as many rows as the
            unit of a row that is drawn at random has."""
            added = float((n**2).sum() / n.sum())
            moved, below = (moved + given * n).round(12), (given - 1) * added
            return min(1.0, max(0.0, below_zero(np.append(moved[n > 0], below))))

        within = None
        if self.margin is not None:
            within = max(beyond(moved, self.margin) for moved in (first, second))
        found = Tests("mcnemar" if single else "gaffke", p(first), p(second), within)
        people = None
        if self.audit.configurations:
            what, a, b = about
            assert what == "score", "labels of refusals are not recounted"
            people = self.audit.p_values(a, b, at or self.where)
        return found.with_labels(people)

    def claimed(self, pair: Json) -> Json:
        """What the claims of a pair about scores say."""
        benchmark = self.benchmark
        if len(benchmark.configurations) < 2:
            return None
        values = {
            (model, c): self.good(benchmark.score(model, c))
            for model in (pair["a"], pair["b"])
            for c in benchmark.configurations
        }
        row, evidence = self.counts(values, pair["a"], pair["b"]), pair["evidence"]
        strength = "certified" if evidence["certified"]["claim"] else "supported"
        shown = evidence[strength]
        row |= {"p_holds": shown["order"]["adjusted"], "p_depends": shown["reversal"]["adjusted"]}
        if benchmark.target is None and shown["claim"]:
            row |= {"survival": "depends" if shown["claim"] == "reversal" else "holds", "strength": strength}
            if shown["claim"] == "order":  # `first` of a claim has the higher score
                both = (pair["a"], pair["b"])
                row["first"] = both[(shown["first"] == both[0]) == benchmark.lower]
        return row

    def good(self, score: Any) -> Any:
        if self.benchmark.target is not None:
            return -abs(float(score) - self.benchmark.target)
        return -score if self.benchmark.lower else score

    def counts(self, values: Mapping[tuple[str, str], Any], a: str, b: str) -> Json:
        """Of values of which more is better: who has more where, and how often one axis alone turns that."""
        benchmark = self.benchmark
        signs = {
            c: np.sign(float(values[a, c] - values[b, c]))
            for c in benchmark.configurations
            if (a, c) in values and (b, c) in values
        }
        turns = []
        levels = dict(zip(benchmark.configurations, benchmark.levels, strict=True))
        for axis in benchmark.levels[0]:
            turned = compared = 0
            left = set(signs)
            while left:
                one = left.pop()
                alike = {
                    c for c in left if all(levels[c][x] == levels[one][x] for x in levels[c] if x != axis)
                }
                left -= alike
                compared += bool(alike)
                turned += {1.0, -1.0} <= {signs[c] for c in alike | {one}}
            if compared:
                turns.append({"axis": axis, "turned": turned, "compared": compared})
        seen = list(signs.values())
        return {
            "ahead": seen.count(1), "behind": seen.count(-1), "tied": seen.count(0), "measured": len(seen),
            "size": len(benchmark.configurations), "survival": "open", "first": None,
            "strength": "descriptive", "p_holds": 1.0, "p_depends": 1.0,
            "turns": sorted(turns, key=lambda row: -row["turned"] / row["compared"]),
        }  # fmt: skip

    def rate(self, rate: Json) -> Iterator[Question]:
        """The same of an error, the less of which the better."""
        benchmark, name, c = self.benchmark, rate["name"], self.where
        gaps = {(gap["a"], gap["b"]): gap for gap in rate["gaps"]}
        values = {
            (model, where): row["value"]
            for model, own in rate["models"].items()
            for where, row in own.items()
            if row["value"] is not None
        }
        for a, b in combinations(benchmark.models, 2):
            if (a, c) not in values or (b, c) not in values:
                continue
            row, gap = self.blank(name, a, b), values[a, c] - values[b, c]
            own = gaps.get((a, b), {"interval": None, "on_units": None})
            if any(self.silent(model, c) for model in (a, b)):
                own = {"interval": None, "on_units": None}
            open_ = [self.open(name, model, c) for model in (a, b)]
            row |= {
                "value_a": values[a, c], "value_b": values[b, c], "gap": gap,
                "better": None if abs(gap) < 1e-12 else b if gap > 0 else a,
                "interval": own["interval"], "on_units": own["on_units"],
                "unread_low": gap - open_[1], "unread_high": gap + open_[0],
            }  # fmt: skip
            question = Question(row)
            if len(benchmark.configurations) > 1:
                question.holds = question.depends = 1.0
                row["choices"] = self.counts({place: -value for place, value in values.items()}, a, b)
            if benchmark.distinct and benchmark.unit == "item":
                row["why"] = "copies"
            elif any(self.silent(model, c) for model in (a, b)):
                row["why"] = "no_answer"
            elif any(self.lost(name, model, c) for model in (a, b)):
                row["why"] = "unread"
            else:
                self.over_choices(question, name, a, b)
            yield question

    def lost(self, name: str, model: str, c: str) -> bool:
        """Whether more than a fifth of the answers are unread, or of those to the prompts of a rate."""
        return self.benchmark.too_many(model, c) or self.open(name, model, c) > 0.2 + 1e-12

    def open(self, name: str, model: str, c: str) -> float:
        """By how much a rate would be higher if every unread answer to its prompts were an error."""
        items = {item for (item, _), own in shown(self.benchmark).items() if BEHAVIOUR[name](own)}
        samples = self.benchmark.at[model, c]["samples"]
        unread = self.benchmark.unread(model, c)
        asked = sum(item in items for item, *_ in samples)
        return sum(item in items for item, _ in unread) / asked

    def over_choices(self, question: Question, name: str, a: str, b: str) -> None:
        benchmark, alone = self.benchmark, (self.alone, self.number)
        by_unit = benchmark.unit_of, benchmark.G
        tests: dict[str, Tests | None] = {}
        for c in benchmark.configurations:
            read = self.method(c) == "refusal_keywords"
            lost = any(self.lost(name, model, c) or self.silent(model, c) for model in (a, b))
            tests[c] = self.of_rates(name, a, b, c, *by_unit) if read and not lost else None
        n, _ = self.errors(name, a, self.where, *by_unit)
        fine = benchmark.unit != "item" and few(n[n > 0])
        question.row["these_units"] = fine
        question.tests = self.of_rates(name, a, b, self.where, *alone) if fine else tests[self.where]
        if question.holds is None:
            return
        sides = [
            np.array([1.0 if found is None else getattr(found, side) for found in tests.values()])
            for side in ("first", "second")
        ]
        everywhere = [float(side.max()) for side in sides]
        question.holds = min(1.0, 2 * min(everywhere))
        question.depends = max(min(1.0, len(side) * float(side.min())) for side in sides)
        question.leader = (a, b)[everywhere[1] < everywhere[0]]
        question.exact = all(found is not None and found.kind == "mcnemar" for found in tests.values())

    def method(self, c: str) -> str:
        return str(self.benchmark.method[self.benchmark.configurations.index(c)])

    def errors(self, name: str, model: str, c: str, groups: Mapping[Any, int], size: int) -> tuple[Any, Any]:
        """By group how many answers there are to prompts of this kind, and how many of them are errors."""
        benchmark = self.benchmark
        order = benchmark.study.effect(benchmark.at[model, c], "option_order", None) or "file"
        items = shown(benchmark)
        n, hits = np.zeros(size), np.zeros(size)
        for item, _, choice, _ in benchmark.at[model, c]["samples"]:
            if BEHAVIOUR[name](items[item, order]):
                n[groups[item]] += 1
                hits[groups[item]] += choice == ERRORS[name]
        return n, hits

    def of_rates(self, name: str, a: str, b: str, c: str, groups: Mapping[Any, int], size: int) -> Tests:
        """Fewer errors are better."""
        (n, mine), (_, theirs) = (self.errors(name, model, c, groups, size) for model in (a, b))
        return self.tests(theirs - mine, mine - theirs, n, bool(n.max() <= 1), (name, a, b), c)
