"""Whether the judge was blind: what was taken out of responses, and what it could still guess from them.

On a sample of every cell the judge is asked which configuration made a response, and has to name one. Bang's
index of a configuration is its share of right guesses less that of wrong ones (Bang, Ni and Davis 2004); with
K configurations chance gives 2 / K - 1 and not 0. Whether guesses depend on the configuration at all is
Pearson's test of the table of both, which no habit of guessing passes or fails by itself.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gridc.compiler.instrument.sanitise import CLASSES
from gridc.compiler.lowering.judging import Guess, Judged, arms_of, benches
from gridc.compiler.lowering.plan import Plan
from gridc.reports.findings.judges import JUDGED
from gridc.reports.findings.run_record import Finding
from gridc.runtime.blinding import judged, opened
from gridc.runtime.store.store import Store
from gridc.schema.canonical import digest
from gridc.schema.judging import JUDGE
from gridc.statistics.raters import Bang, Guesses, bang, guesses_independent, share_right

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


def guess_findings(plan: Plan, store: Store, known: Judged | None) -> tuple[GuessFinding, ...]:
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
    guessed_arms = []
    for arm in arms:
        counts = {guessed: count for (true, guessed), count in table.items() if true == arm}
        total, unread, right = sum(counts.values()), counts.get(None, 0), counts.get(arm, 0)
        if total:
            guessed_arms.append(bang(arm, right, total - right - unread, unread, len(arms)))
    named = [(guess.arm, guess.guessed, guess.key[1]) for guess in guesses if guess.guessed is not None]
    right = sum(tested.right for tested in guessed_arms)
    low, high = share_right(right, len(guesses))
    return GuessFinding(
        judge=judge,
        benchmark=benchmark,
        arms=tuple(guessed_arms),
        n=len(guesses),
        right=right,
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
)
SANITISED: Finding[SanitisedFinding | None] = Finding(
    "sanitised",
    lambda record: sanitised_finding(record.plan, record.store),
    recorded=SanitisedFinding,
)
