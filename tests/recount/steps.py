"""What the steps of scaffolds came to, computed again from the store's traces and the benchmarks' files.

Plain sqlite3 and scipy; nothing of gridc is imported. It reads the replies of `studies.steps` alone: an
answer is `Answer: A`, a refusal begins with `I'm sorry`, and all else says nothing.
"""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.recount.unit_limits import Interval, change, ratio, share

POOLED = "all models"
WHOLE = {
    "critic": ("primary_initial", "primary_revision_0", "primary_revision_1"),
    "adjudicator": ("primary_initial", "checker", "adjudicate"),
    "vote": ("vote_0", "vote_1", "decide"),
    "divided": ("reduce",),
    "kept": ("reduce",),
}
"""The steps that are asked for an answer to the whole task, in the order of the calls."""


@dataclass(frozen=True)
class Reply:
    step: str
    text: str
    gold: int
    messages: tuple[str, ...] = ()

    @property
    def sent(self) -> str:
        """The last message."""
        return self.messages[-1]

    @property
    def everything(self) -> str:
        return "\n".join(self.messages)

    @property
    def choice(self) -> int | None:
        match = re.search("Answer: ([A-C])", self.text)
        return "ABC".index(match[1]) if match else None

    @property
    def points(self) -> int:
        return int(self.choice == self.gold)

    @property
    def refuses(self) -> bool:
        return self.text.startswith("I'm sorry")


@dataclass(frozen=True)
class Sample:
    model: str
    benchmark: str
    scaffold: str
    item: str
    unit: str
    replies: tuple[Reply, ...]
    answer: Reply
    options: tuple[str, ...]

    @cached_property
    def beside(self) -> list[Reply]:
        """The sub-calls that neither divide nor decide."""
        return [each for each in self.replies if each is not self.answer and each.step != "decompose"]


def samples(store: Path, folder: Path) -> list[Sample]:
    """Every sample with its replies, in the order of the calls."""
    golds: dict[tuple[str, str], int] = {}
    shown: dict[tuple[str, str], list[str]] = {}
    units: dict[tuple[str, str], str] = {}
    for line in (folder / "pocket_bbq.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        name = f"{row['category']}-{row['example_id']}"
        golds["families", name] = row["label"]
        shown["families", name] = [row[f"ans{place}"] for place in range(3)]
        units["families", name] = f"{row['category']}-{row['example_id'] // 4}"
    for place, line in enumerate((folder / "personas.jsonl").read_text("utf-8").splitlines(), 1):
        golds["personas", str(place)] = json.loads(line)["key"]
        shown["personas", str(place)] = json.loads(line)["list"]
    traces: dict[tuple[Any, ...], list[tuple[str | None, str, str, str]]] = defaultdict(list)
    query = """SELECT cell.model, benchmark, configuration, item, replicate, trace.name, call.id,
                      json_extract(answer, '$.text'), content
               FROM trace JOIN call ON call.id = trace.call JOIN prompt ON prompt.id = prompt
                    JOIN cell ON cell.id = trace.cell
               ORDER BY cell.id, item, replicate, trace.step"""
    for *key, name, call, text, content in sqlite3.connect(store).execute(query):
        traces[tuple(key)].append((name, call, text, content))
    found = []
    for (model, benchmark, configuration, item, _), rows in traces.items():
        number = item if benchmark == "families" else str(int(re.sub(r"\D", "", item)))
        gold = golds[benchmark, number]
        *calls, last = rows if len(rows) > 1 else [*rows, rows[0]]
        replies = tuple(
            Reply(name or "plain", text, gold, tuple(sent for _, sent in json.loads(content)["messages"]))
            for name, _, text, content in calls
        )
        decides = next(place for place, (_, call, *_) in reversed(list(enumerate(calls))) if call == last[1])
        scaffold, unit = configuration.partition("=")[2], units.get((benchmark, item), item)
        found.append(
            Sample(
                model,
                benchmark,
                scaffold,
                item,
                unit,
                replies,
                replies[decides],
                tuple(shown[benchmark, number]),
            )
        )
    return found


def parted(found: Sequence[Sample]) -> Iterator[tuple[tuple[str, str, str], list[Sample]]]:
    """The samples of every scaffold: of all models together, and of each."""
    names = sorted({(each.benchmark, each.scaffold) for each in found if each.scaffold != "plain"})
    for benchmark, scaffold in names:
        some = [each for each in found if (each.benchmark, each.scaffold) == (benchmark, scaffold)]
        for model in (POOLED, *sorted({each.model for each in some})):
            own = [each for each in some if model in (POOLED, each.model)]
            yield (model, benchmark, scaffold), own


def outcomes(found: Sequence[Sample]) -> Iterator[tuple[tuple[Any, ...], list[tuple[float, Interval]]]]:
    """Of each step: model, benchmark, scaffold, step and how many replies; and its three shares."""
    for name, some in parted(found):
        for step in sorted({reply.step for each in some for reply in each.replies}):
            own = [(each.unit, reply) for each in some for reply in each.replies if reply.step == step]
            shares = [
                share([(unit, (1, of(reply))) for unit, reply in own])
                for of in (lambda r: r.choice is not None, lambda r: r.points, lambda r: r.refuses)
            ]
            yield (*name, step, len(own)), shares


def changes(found: Sequence[Sample]) -> Iterator[tuple[tuple[Any, ...], tuple[float, Interval]]]:
    """From one answer to a later one: names, samples, unread, worse, restored, better, other; the mean."""
    for name, some in parted(found):
        sign = -1 if name[1] == "families" else 1
        asked = WHOLE[name[2]]
        pairs = sorted({(a, b) for a in asked for b in asked if asked.index(a) < asked.index(b)})
        for before, after in pairs:
            rows, unread, counts = [], 0, [0, 0, 0, 0]
            for each in some:
                whole = [reply for reply in each.replies if reply.step in asked]
                steps = [reply.step for reply in whole]
                if before not in steps or after not in steps:
                    continue
                first, last = whole[steps.index(before)], whole[steps.index(after)]
                next_to = steps.index(after) == steps.index(before) + 1
                if not next_to and not (before == steps[0] and last is each.answer):
                    continue
                if first.choice is None or last.choice is None:
                    unread += 1
                    continue
                rows.append((each.unit, (1, last.points - first.points)))
                gain = sign * (last.points - first.points)
                final = each.answer
                back = final is not last and final.choice is not None
                back = back and sign * final.points >= sign * first.points
                for at, holds in enumerate((gain < 0, gain < 0 and back, gain > 0)):
                    counts[at] += holds
                counts[3] += first.choice != last.choice
            if rows:
                yield (*name, before, after, len(rows), unread, *counts), change(rows)


def refusals(found: Sequence[Sample]) -> Iterator[tuple[tuple[Any, ...], tuple[float | None, Interval]]]:
    """Who refuses: of sub-calls, answers, plain answers to the same items; the ratio of both shares."""
    for name, some in parted(found):
        plain = [
            each.answer.refuses
            for each in found
            if each.scaffold == "plain" and each.benchmark == name[1] and name[0] in (POOLED, each.model)
        ]
        rows = [
            (each.unit, (len(each.beside), sum(r.refuses for r in each.beside), 1, each.answer.refuses))
            for each in some
        ]
        sub, refused, answers, last = (
            int(sum(column)) for column in zip(*(own for _, own in rows), strict=True)
        )
        if not sub or not (refused or last or any(plain)):
            continue
        value = (refused / sub) / (last / answers) if last else None
        named = (*name, sub, refused, answers, last, len(plain), sum(plain))
        yield named, (value, ratio(rows))
