"""Refusals that phrases read in real answers, corrected by people's labels: XSTest's 1,125 of five models.

People's labels of all answers are the truth, and some of them, of the same items of all models, the audit. A
*full* refusal is a refusal, and a *partial* one is counted as an answer, or in a second round as a refusal
too. The score is the expected behaviour: refuse what is unsafe and answer the rest. An order is supported
where both the items by the machine's labels (McNemar) and the corrected gap of the people's labels say so at
the same step of Holm over ten pairs and two directions, as in `certification`."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridc.compiler.instrument.refusals import refusal_keywords
from gridc.statistics.exact_tests import holm, mcnemar_tests
from gridc.statistics.labelled import CorrectedShare, LabelledRows, corrected_share
from tests.statistics.test_labelled_sizes import remembered
from tests.statistics.test_nulls import told

Table = np.ndarray[Any, Any]
REAL = os.environ.get("GRIDC_REAL")
pytestmark = pytest.mark.skipif(not REAL, reason="GRIDC_REAL does not say where real answers lie")
DRAWS, ALPHA = 500, 0.05
REFUSALS: Mapping[str, Callable[[str], bool]] = {
    "full": lambda label: label == "2_full_refusal",
    "full or partial": lambda label: label in ("2_full_refusal", "3_partial_refusal"),
}


@dataclass(frozen=True)
class Answers:
    """Of each model, (models, items): whether the phrases and people call its answer a refusal; and which
    items are to be answered."""

    models: tuple[str, ...]
    phrases: Table
    people: Table
    comply: Table

    def worth(self, of: str, labels: Table) -> Table:
        """A point for a refusal, or for the behaviour that is expected."""
        return labels if of == "rate" else np.where(self.comply, 1 - labels, labels)

    def rows(self, of: str, seen: Table) -> list[LabelledRows]:
        said, points = self.phrases, self.worth(of, self.people)
        earned, place = self.worth(of, said), np.arange(len(seen))
        # Of a score the stratum is the label and what it earns.
        strata = (2 * self.comply + said) if of == "score" else said
        return [
            LabelledRows(strata[at].astype(np.int64), earned[at], place, seen, np.where(seen, points[at], 0))
            for at in range(len(self.models))
        ]


def answers(refusals: str) -> Answers:
    rows = [
        json.loads(line)
        for line in (Path(str(REAL)) / "xstest_labelled.jsonl").read_text("utf-8").splitlines()
    ]
    models = tuple(dict.fromkeys(row["model"] for row in rows))
    items = tuple(dict.fromkeys(row["id"] for row in rows))
    found = {(row["model"], row["id"]): row for row in rows}
    table = [[found[model, item] for item in items] for model in models]
    return Answers(
        models,
        np.array([[float(refusal_keywords(row["response"]).option == 1) for row in own] for own in table]),
        np.array([[float(REFUSALS[refusals](row["people"])) for row in own] for own in table]),
        np.array([row["expected"] == "comply" for row in table[0]]),
    )


@dataclass
class Drawn:
    """How often a model's share was covered, of how many draws, half widths, and orders that were claimed."""

    covered: Table
    half: Table
    false: int = 0
    true: int = 0
    draws: int = 0


def drawn(of: str, real: Answers, labels: int, draws: int) -> Drawn:
    random, count = np.random.default_rng(labels), len(real.comply)
    shares = real.worth(of, real.people).mean(axis=1)
    machine = real.worth(of, real.phrases)
    pairs = list(combinations(range(len(real.models)), 2))
    tests = mcnemar_tests(np.array([machine[a] - machine[b] for a, b in pairs]).astype(np.int64))
    found = Drawn(np.zeros(len(shares)), np.zeros(len(shares)))
    for _ in range(draws):
        seen = np.isin(np.arange(count), random.permutation(count)[:labels])
        rows = real.rows(of, seen)
        for at, own in enumerate(rows):
            low, high = corrected_share(own).here
            found.covered[at] += low - 1e-9 <= shares[at] <= high + 1e-9
            found.half[at] += 50 * (high - low) / draws
        claims = []
        for (a, b), plus, minus in zip(pairs, tests.plus.tolist(), tests.minus.tolist(), strict=True):
            gap = rows[a].less(rows[b])
            # What the items do not show is no claim, whatever people's labels say.
            claims += [
                max(plus, gap.above_half()) if plus <= ALPHA else 1.0,
                max(minus, gap.below_half()) if minus <= ALPHA else 1.0,
            ]
        ways = [way for a, b in pairs for way in ((a, b), (b, a))]
        orders = [way for way, p in zip(ways, holm(claims), strict=True) if p <= ALPHA]
        found.false += any(shares[first] <= shares[second] for first, second in orders)
        found.true += len(orders)
        found.draws += 1
    return found


def checked(of: str, refusals: str, labels: int, draws: int) -> None:
    real = answers(refusals)
    with remembered():
        found = drawn(of, real, labels, draws)
    label = f"XSTest, {of}, {refusals} refusals, {labels} labels"
    for model, covered, half in zip(real.models, found.covered.tolist(), found.half.tolist(), strict=True):
        low = told(f"{label}: {model} misses (half width {half:.1f})", draws - int(covered), draws)[0]
        assert covered / draws >= 0.94 or (draws < DRAWS and low <= 0.06), model
    told(f"{label}: {found.true / draws:.1f} orders a draw, one contradicted", found.false, draws)
    assert found.false <= 0.02 * draws


@pytest.mark.slow
@pytest.mark.parametrize("labels", [25, 50, 100])
@pytest.mark.parametrize("refusals", REFUSALS)
@pytest.mark.parametrize("of", ["rate", "score"])
def test_real_answers(of: str, refusals: str, labels: int) -> None:
    checked(of, refusals, labels, DRAWS)


@pytest.mark.parametrize("of", ["rate", "score"])
def test_some_draws_of_real_answers(of: str) -> None:
    checked(of, "full", 50, 20)


def test_phrases_alone_are_noticed() -> None:
    """The mutant takes what phrases say for what people say."""
    real = answers("full")
    mutant = Answers(real.models, real.phrases, real.phrases, real.comply)
    seen = np.ones(len(real.comply), np.bool_)
    shares = real.people.mean(axis=1)
    found: list[CorrectedShare] = [corrected_share(own) for own in mutant.rows("rate", seen)]
    assert any(not each.new[0] <= share <= each.new[1] for each, share in zip(found, shares, strict=True))
