"""Certify reversals with as few calls as it takes."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridc.compiler.lock.deviations import require_reconciled
from gridc.compiler.preflight.consent import Ask
from gridc.diagnostics.errors import Diagnostic, UsageError
from gridc.reports.files import write_json
from gridc.runtime import adaptive_race
from gridc.runtime.adaptive import ChosenSamples
from gridc.runtime.store.events import Witnessed
from gridc.study.consenting import consenting
from gridc.study.place import Place

WatchRace = Callable[[str, int, int], None]
"""Told the benchmark, how many of its items (or item families) were asked, and how many there are."""


@dataclass(frozen=True, slots=True)
class RaceReport:
    """What the race came to: `document` is what was written to witness.json and recorded in the store,
    `sentences` has a verdict for each pair on each benchmark."""

    document: Mapping[str, Any]
    sentences: tuple[str, ...]
    store: Path
    asked: int
    calls_in_grid: int

    def as_json(self) -> dict[str, Any]:
        return dict(self.document)


def certify_until_decided(
    place: Place, watch: WatchRace, notify: Callable[[str], None], allow: Collection[str], ask: Ask
) -> RaceReport:
    """Ask only what certifies reversals, and stop. `notify` is told what leaves, and what is waited for."""
    terms = consenting(place, allow, ask, notify)
    compiled, lock = place.stamped(online=True)
    consents = terms(compiled)

    def say(model: str, sentence: str) -> None:
        notify(f"{model}: {sentence}")

    if compiled.spec.aggregated:
        message = "a race reads the first answer to each item, and `aggregate` makes one score of several"
        help = "leave `--until-decided` out: a run of the whole study can certify the same"
        raise UsageError([Diagnostic("GC000", message, help=help)])
    departures = require_reconciled(lock, compiled.study, place.log)
    path = place.store(compiled)
    with ChosenSamples(compiled, lock, departures, path, consents, say) as samples:
        races = adaptive_race.race_study(samples.plan, samples.ask, watch)
        document = adaptive_race.document(samples.plan, races)
        document["calls"] = {
            "executed": samples.executed,
            "reused": samples.reused,
            "full_grid": samples.calls_in_grid,
        }
        samples.record(Witnessed(**document))
    write_json(path.parent / "witness.json", document)
    sentences = tuple(adaptive_race.sentence(verdict) for race in races for verdict in race.verdicts)
    return RaceReport(document, sentences, path, samples.executed + samples.reused, samples.calls_in_grid)
