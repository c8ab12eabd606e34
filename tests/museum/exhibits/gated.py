"""What a gate lets pass, and what a certificate makes of logs."""

import json
from collections.abc import Iterable
from pathlib import Path
from shutil import copy, copytree
from typing import Any

import numpy as np
from _pytest.monkeypatch import MonkeyPatch

import gridc
from gridc.compiler.inputs import logs
from gridc.compiler.inputs.logs import gathering
from gridc.diagnostics.errors import GridcError
from gridc.outcomes import CellOutcomes
from gridc.reports.comparison import decision, document, instrument
from gridc.reports.comparison.run import ComparedRun, LogSelection
from gridc.reports.recorded import cells
from gridc.reports.recorded.cells import RecordedCell
from tests.museum.exhibit import EARLIER, exhibit, without
from tests.museum.studied import table

LOGS = Path(__file__).resolve().parents[2] / "logs"
ITEMS = 200
SCORES = "model,item,score"


def right(number: int) -> int:
    """Nine of ten."""
    return int(number % 10 > 0)


def gate(a: Path, b: Path, margin: float = 5, **stated: Any) -> Any:
    return gridc.compare(a, b, margin=margin, **stated).comparison


def not_let_pass(caught: str, a: Path, b: Path, **stated: Any) -> set[str]:
    return {caught} if gate(a, b, **stated).verdict != "GO" else set()


def answers(model: str = "m", *more: object, lost: Iterable[int] = ()) -> list[tuple[object, ...]]:
    return [(model, f"q{number}", right(number), *more) for number in range(ITEMS) if number not in lost]


ABSENT = "an answer that is not there is wrong at the lower end of a score (`CellOutcomes.ends`)"


def right_where_absent(patch: MonkeyPatch) -> None:
    sound = CellOutcomes.ends
    patch.setattr(CellOutcomes, "ends", lambda self, worst=0.0, best=1.0: sound(self, best, best))


@exhibit(
    "a candidate crashes on 30 of 200 items, which count as right, and the release passes",
    f"{EARLIER}: `gridc compare`",
    ABSENT,
    right_where_absent,
)
def absent_is_right(room: Any, patch: MonkeyPatch) -> set[str]:
    a = table(room.folder / "a.csv", SCORES, answers())
    crashed = range(1, ITEMS, 7)
    return not_let_pass(ABSENT, a, table(room.folder / "b.csv", SCORES, answers(lost=crashed)))


UNION = "items that one run lacks are compared too (`instrument._items`)"


def common_alone(patch: MonkeyPatch) -> None:
    sound = instrument._items
    patch.setattr(instrument, "_items", lambda runs, common_only: sound(runs, True))


@exhibit(
    "a prompt is too long for a model that answers the short ones right: its score is of those it answered",
    f"{EARLIER}: `gridc compare`; scripts that join result files by id",
    UNION,
    common_alone,
)
def inner_join(room: Any, patch: MonkeyPatch) -> set[str]:
    a = table(room.folder / "a.csv", SCORES, answers())
    answered = [("m", f"q{number}", 1) for number in range(ITEMS) if number % 10 and number < 170]
    return not_let_pass(UNION, a, table(room.folder / "b.csv", SCORES, answered))


EVERY_MODEL = "a model that a baseline has and the candidate lacks is no GO (`document._absent_benchmarks`)"


@exhibit(
    "one of two models broke before its first answer, and the other one's results pass for both",
    f"{EARLIER}: `gridc compare`, on real logs",
    EVERY_MODEL,
    without(document, "_absent_benchmarks", lambda *_: []),
)
def a_model_lost(room: Any, patch: MonkeyPatch) -> set[str]:
    a = table(room.folder / "a.csv", SCORES, answers("m") + answers("other"))
    return not_let_pass(EVERY_MODEL, a, table(room.folder / "b.csv", SCORES, answers("m")))


EVERY_FRAME = "a configuration that the candidate lacks is no GO (`document._GatedBenchmark._only_a`)"


@exhibit(
    "the configuration in which a candidate fails is not among its results, and the mean rises",
    f"{EARLIER}: `gridc compare`, on real logs",
    EVERY_FRAME,
    lambda patch: patch.setattr(document._GatedBenchmark, "_only_a", 0),
)
def a_configuration_lost(room: Any, patch: MonkeyPatch) -> set[str]:
    columns = f"{SCORES},frame"
    a = table(room.folder / "a.csv", columns, answers("m", "plain") + answers("m", "exam"))
    b = table(room.folder / "b.csv", columns, answers("m", "plain"))
    return not_let_pass(EVERY_FRAME, a, b, axes=["frame"])


READABLE = "nothing passes of which more than a fifth is unreadable (`decision.why_not_passing`)"


@exhibit(
    "a benchmark on which the baseline scores 5 % passes a model whose answers nobody can read",
    f"{EARLIER}: `gridc compare`, on real logs",
    READABLE,
    without(decision, "why_not_passing", lambda *_: None),
)
def nothing_readable(room: Any, patch: MonkeyPatch) -> set[str]:
    def rows(wrong: str) -> list[tuple[object, ...]]:
        return [("m", f"q{n}", int(n % 20 == 0), wrong if n % 20 else "read") for n in range(300)]

    columns = f"{SCORES},state"
    a = table(room.folder / "a.csv", columns, rows("read"))
    return not_let_pass(READABLE, a, table(room.folder / "b.csv", columns, rows("unreadable")))


FAMILIES = "a gate draws families, where items come in them (`decision._units`)"


@exhibit(
    "200 rewordings of four questions are 200 independent items to a gate",
    "gates that test rows",
    FAMILIES,
    without(decision, "_units", lambda pair: np.arange(pair.count, dtype=np.float64)),
)
def rewordings_are_items(room: Any, patch: MonkeyPatch) -> set[str]:
    a, b = (
        table(
            room.folder / f"{name}.csv",
            f"{SCORES},unit",
            [("m", f"q{n}", int(n != wrong), n % 4) for n in range(ITEMS)],
        )
        for name, wrong in (("a", -1), ("b", 3))
    )
    return not_let_pass(FAMILIES, a, b)


PROMPTED = "prompts of matched items are compared (`instrument._prompts`)"


@exhibit(
    "a prompt was improved between two runs, and the difference is called the model's",
    "scripts that compare two scores",
    PROMPTED,
    without(instrument, "_prompts", lambda _: (0, 0)),
)
def another_prompt(room: Any, patch: MonkeyPatch) -> set[str]:
    a, b = (
        table(
            room.folder / f"{name}.csv",
            f"{SCORES},prompt",
            [("m", f"q{n}", right(n), f"{hint}Question {n}") for n in range(ITEMS)],
        )
        for name, hint in (("a", ""), ("b", "Think first. "))
    )
    return not_let_pass(PROMPTED, a, b)


ITSELF = "a run that is compared with itself is said to be (`document._same_as_baseline`)"


@exhibit(
    "a gate is green because the candidate's path is the baseline's",
    f"{EARLIER}: `gridc compare`",
    ITSELF,
    without(document, "_same_as_baseline", lambda *_: ()),
)
def one_run_twice(room: Any, patch: MonkeyPatch) -> set[str]:
    a = table(room.folder / "a.csv", SCORES, answers())
    said = gate(a, a).scope
    return {ITSELF} if any("it cannot be worse than itself" in reason for reason in said) else set()


@exhibit(
    "an answer is scored by a strict and by a lenient reading, and the mean of both is the score",
    f"{EARLIER}: `gridc compare` and `gridc certify --from` of tables",
    "GC767",
    lambda patch: patch.setattr(LogSelection, "of", lambda self, run: next(iter(run.columns), None)),
)
def readings_averaged(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [
        ("m", f"q{n}", int(n % least == 0), name)
        for n in range(60)
        for name, least in (("strict", 4), ("lenient", 2))
    ]
    a = table(room.folder / "a.csv", f"{SCORES},reading", rows)
    try:
        gate(a, a)
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()


WRONG = "what failed is wrong in a score, which has bounds (`RecordedCell.worst`)"


@exhibit(
    "calls that failed are left out of the score: 50 of 100 are 55.6 % of 90",
    f"{EARLIER}: `gridc certify --from`; means that skip missing values, as pandas' do",
    WRONG,
    lambda patch: patch.setattr(RecordedCell, "worst", property(lambda self: self.scores)),
)
def failures_left_out(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [("m", f"q{n}", n % 2, "read") if n % 10 else ("m", f"q{n}", "", "failed") for n in range(100)]
    (found,) = gridc.certify(table(room.folder / "a.csv", f"{SCORES},state", rows)).certificate.benchmarks
    (score,) = found.scores
    return {WRONG} if (score.score, score.bounds) == (0.5, (0.5, 0.6)) else set()


EASY = "models are held to the items that any of them was asked (`RecordedCell.counted`)"


@exhibit(
    "a model that was asked the 80 easy items of 100 is ranked above one that was asked all",
    f"{EARLIER}: `gridc certify --from`",
    EASY,
    lambda patch: patch.setattr(
        RecordedCell, "_counting", lambda self, scores: np.where(self.held, scores, np.nan)
    ),
)
def easy_items_alone(room: Any, patch: MonkeyPatch) -> set[str]:
    rows = [("whole", f"q{n}", int(n < 85)) for n in range(100)] + [("part", f"q{n}", 1) for n in range(80)]
    (found,) = gridc.certify(table(room.folder / "a.csv", SCORES, rows)).certificate.benchmarks
    shown = {score.model: score.score for score in found.scores}
    return {EASY} if shown == {"whole": 0.85, "part": 0.8} else set()


ONCE = "one run that is there twice counts once (`logs._drop_duplicates`)"


@exhibit(
    "a folder of logs holds a copy of one, and every answer in it counts as repeated",
    f"{EARLIER}: `gridc certify --from`",
    ONCE,
    without(logs, "_drop_duplicates", lambda _: None),
)
def a_copied_log(room: Any, patch: MonkeyPatch) -> set[str]:
    folder = room.folder / "logs"
    (folder / "again").mkdir(parents=True)
    rows = [("b", "m", f"q{n}", right(n), f"It is {n}.") for n in range(30)]
    copy(table(folder / "a.csv", f"benchmark,{SCORES},answer", rows), folder / "again")
    (found,) = gridc.certify(folder, counting=["all"]).certificate.benchmarks
    return {ONCE} if [score.repetitions for score in found.scores] == [1] else set()


ORDER = "which repetition is the first one no file name decides (`cells._in_order`)"


@exhibit(
    "two runs differ, and what is established follows from which file's name sorts first",
    f"{EARLIER}: `gridc certify --from`",
    ORDER,
    without(cells, "_in_order", lambda runs, items: tuple(runs)),
)
def named_to_win(room: Any, patch: MonkeyPatch) -> set[str]:
    seen = set()
    for names in ("ab", "ba"):
        (room.folder / names).mkdir()
        for name, least in zip(names, (3, 2), strict=True):
            rows = [("b", "m", f"q{n}", int(n % least > 0)) for n in range(60)]
            rows += [("b", "k", f"q{n}", int(n % 5 > 0)) for n in range(60)]
            table(room.folder / names / f"{name}.csv", f"benchmark,{SCORES}", rows)
        (found,) = gridc.certify(room.folder / names, counting=["all"]).certificate.benchmarks
        seen.add(found.pairs[0].certified)
    return {ORDER} if len(seen) == 1 else set()


def harness_logs(room: Any) -> Path:
    """Logs of lm-evaluation-harness, to be damaged."""
    return Path(copytree(LOGS / "lm_eval" / "llama-zero", room.folder / "logs"))


@exhibit(
    "a printed score is edited by two points, and the samples beside it say the old one",
    f"{EARLIER}: `gridc certify --from`",
    "GC674",
    without(gathering, "_require_printed", lambda *_: None),
)
def printed_otherwise(room: Any, patch: MonkeyPatch) -> set[str]:
    (path,) = harness_logs(room).glob("results_*.json")
    document = json.loads(path.read_text("utf-8"))
    document["results"]["arith_mc"]["acc,none"] += 0.02
    path.write_text(json.dumps(document), "utf-8")
    try:
        gridc.certify(path.parent)
    except GridcError as error:
        return {each.code for each in error.diagnostics}
    return set()


def without_bare(patch: MonkeyPatch) -> None:
    made: Any = ComparedRun.__init__

    def damaged(self: ComparedRun, *stated: Any, **more: Any) -> None:
        made(self, *stated, **more)
        object.__setattr__(self, "bare", ())

    patch.setattr(ComparedRun, "__init__", damaged)


BARE = "a benchmark with a score and no items in either log is no GO (`ComparedRun.bare`)"


@exhibit(
    "a harness is killed while it saves its samples, and its printed score passes beside an equal one",
    f"{EARLIER}: `gridc compare`; lm-evaluation-harness, killed while it saves samples",
    BARE,
    without_bare,
)
def a_score_without_items(room: Any, patch: MonkeyPatch) -> set[str]:
    folder = harness_logs(room)
    (samples,) = folder.glob("samples_arith_gen_*")
    samples.unlink()
    return not_let_pass(BARE, folder, folder, margin=99, reading={"arith_mc": "acc", "arith_mc_b": "acc"})
