"""Judgments of Arena-Hard: `data/BENCH/model_judgment/JUDGE/MODEL.jsonl`, two games between a model and a
baseline on each question, the second with their places exchanged.

A verdict is a vote, and `>>` is three. The score of an item is the mean of its votes. Arena-Hard's own score
is the mean of all votes, in which an item with a `>>` has more of them (`pooled votes`), or a Bradley-Terry
model of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gridc.compiler.inputs.logs.files import LogFile
from gridc.compiler.inputs.logs.records import LogAnswer, LogRun, PrintedScore, log_axis, log_reader

PACKAGE = "Arena-Hard"
NAMES: tuple[str, ...] = ()
ROW = frozenset(("model", "judge", "games"))
ITEM = ("uid", "question_id")
"""Of the second version, and of the first."""
SHAPES: tuple[frozenset[str], ...] = (ROW,)
log_reader(__name__, 95)
WIN_RATE, POOLED = "win_rate", "pooled votes"
STRONG = 3
VOTES: Mapping[str, tuple[float, int]] = {
    "A>B": (1, 1), "A>>B": (1, STRONG), "A=B": (0.5, 1), "A<<B": (0, STRONG), "A<B": (0, 1),
    "B>A": (0, 1), "B>>A": (0, STRONG), "B=A": (0.5, 1), "B<<A": (1, STRONG), "B<A": (1, 1),
}  # fmt: skip
"""What A earns by a verdict, and how many votes it is."""
UNKNOWN = (
    "what is asked, and answers: items match by id",
    "decoding, prompts and versions of the models",
    "the judge's prompt",
)


def claims(file: LogFile) -> bool:
    return file.suffix == ".jsonl" and file.keys >= ROW and any(name in file.keys for name in ITEM)


def belongs(file: LogFile) -> bool:
    return False


class _JudgedGames(NamedTuple):
    """The votes of both games, as what the model earns; None where a game has no verdict."""

    id: str
    model: str
    judge: str
    baseline: str
    category: str
    votes: Sequence[float] | None


def runs(file: LogFile) -> Iterator[LogRun]:
    """A run for each category, whose baselines differ."""
    rows = list(file.read_rows(PACKAGE, _judged))
    folder = file.path.resolve().parent.parent
    bench = folder.parent.name if folder.name == "model_judgment" else PACKAGE
    for model, judge, baseline, category in dict.fromkeys(row[1:5] for row in rows):
        own = [row for row in rows if row[1:5] == (model, judge, baseline, category)]
        votes = [vote for row in own for vote in row.votes or ()]
        items = len({row.id for row in own})
        benchmark = f"{bench} {category}".rstrip()
        pooled = PrintedScore(sum(votes) / len(votes), items) if votes else None
        yield LogRun(
            path=file.path,
            package=PACKAGE,
            version="",
            digest=file.digest,
            model=model,
            benchmark=benchmark,
            axes={
                "task": log_axis("prompt", benchmark),
                "judge": log_axis("score", judge),
                "baseline": log_axis("score", baseline),
            },
            readings=(WIN_RATE,),
            samples=partial(_answers, file.path, (model, judge, baseline, category)),
            printed={} if pooled is None else {POOLED: pooled},
            unknown=UNKNOWN,
            remark=None
            if len(own) == items
            else f"{len(own) - items:,} rows judge a question again: all votes of a question count",
        )


def _judged(row: Mapping[str, Any]) -> _JudgedGames:
    games = row["games"]
    if not isinstance(games, list) or len(games) != 2:
        raise ValueError(f"games {str(games)[:40]}: two are expected")
    # The baseline is A in the first game, and the model in the second.
    first, second = (_votes(game) for game in games)
    votes = None if first is None or second is None else [*second, *(1 - vote for vote in first)]
    model, judge = row["model"], row["judge"]
    baseline, category = row.get("baseline") or "unknown", row.get("category") or ""
    if not all(isinstance(name, str) for name in (model, judge, baseline, category)):
        raise TypeError(f"model {str(model)[:40]}, judge {str(judge)[:40]}")
    id = next((str(row[name]) for name in ITEM if name in row), None)
    if id is None:
        raise KeyError(" or ".join(ITEM))
    return _JudgedGames(id, model, judge, baseline, category, votes)


def _votes(game: Any) -> list[float] | None:
    score = None if game is None else game["score"]
    if score is None:
        return None
    earned, times = VOTES[score]
    return [earned] * times


def _answers(path: Path, which: tuple[str, str, str, str]) -> Iterator[LogAnswer]:
    """A question that was judged again, as by a run that was begun again, has all its votes."""
    judged: dict[str, list[_JudgedGames]] = {}
    for row in LogFile(path).read_rows(PACKAGE, _judged):
        if row[1:5] == which:
            judged.setdefault(row.id, []).append(row)
    for id, rows in judged.items():
        votes = [vote for row in rows for vote in row.votes or ()]
        yield LogAnswer(
            id=id,
            content=None,
            epoch=0,
            scores={WIN_RATE: sum(votes) / len(votes) if votes else None},
            state="read" if votes else "unscored",
        )
