"""Store -> Findings: everything that a report says, computed once."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gridc.compiler.compile import Compiled
from gridc.compiler.instrument.propagation import StepShares
from gridc.compiler.lock.anchor import Anchor, anchors
from gridc.compiler.lock.deviations import log_path, reconcile
from gridc.compiler.lock.lock import Lock
from gridc.reports.findings.benchmarks import BENCHMARKS, HYPOTHESES
from gridc.reports.findings.findings import Findings
from gridc.reports.findings.run_record import Finding, RunRecord, reported
from gridc.reports.findings.scaffolds import PROPAGATION, Step
from gridc.runtime.store.events import InterimLook, before_reports, steps_back
from gridc.runtime.store.store import Store
from gridc.schema.deviation import DeviationEntry
from gridc.statistics.digits import every_digits


def find(
    compiled: Compiled,
    lock: Lock,
    store: Store,
    tied: Sequence[Anchor] = (),
    results: str | None = None,
    results_tied: Sequence[Anchor] = (),
    requested: Iterable[Finding[Any]] = (),
    known: Mapping[Finding[Any], Any] | None = None,
) -> Findings:
    """The findings of a stamped study from its store, complete or not. `tied` are the ties of the lock;
    without them they are looked for. `results` is the digest of the stored results where it is known already,
    and `results_tied` are the ties of these. What is `requested` is found beside what every report holds, and
    what is `known` is taken as given.

    Raises `StoreError` when the store holds no run of it.
    """
    record = RunRecord(compiled, store, known)
    stamp = record.plan.study_digest
    first_call, before_stamp = dated(store, stamp, lock)
    log = reconcile(lock, compiled.study, log_path(compiled.source.path))
    return Findings(
        plan=record.plan,
        lock=lock,
        anchors=tuple(tied or anchors(compiled.lock_path, compiled.source.path)),
        results_anchors=tuple(results_tied),
        progress=record.progress,
        results=results or store.results_digest(stamp),
        near_ties=store.near_ties(stamp),
        first_call=first_call,
        before_stamp=before_stamp,
        steps_back=tuple(steps_back(before_reports(store.events()))),
        deviations=tuple(map(DeviationEntry.of_manifest, log.manifest())),
        benchmarks=every_digits(record[BENCHMARKS]),
        hypotheses=every_digits(record[HYPOTHESES]),
        noise=every_digits(record.noise),
        computed={
            finding.name: every_digits(record[finding])
            for finding in (*reported(), *requested, *(known or ()))
        },
    )


def noted_of_items(look: InterimLook | None) -> dict[Finding[Any], Any]:
    """What rests on the text of items, as the `look` at the results noted it: the parts of tasks that reached
    the steps of scaffolds, and what these came to. Without a look nothing is known of it."""
    known: dict[Finding[Any], Any] = {finding: finding.absent for finding in reported() if finding.recorded}
    known[PROPAGATION] = ()
    if look is not None:
        known |= {
            finding: finding.from_json(look.recorded[finding.name])
            for finding in reported()
            if finding.recorded and look.recorded.get(finding.name) is not None
        }
        known[PROPAGATION] = tuple(
            Step(StepShares(**step["shares"]), step["rows"]) for step in look.propagation
        )
    return known


def dated(store: Store, stamp: str, lock: Lock) -> tuple[str | None, int]:
    """When the first call was finished, and how many were before the stamp was made. There can be as many
    times as calls."""
    first, before, created = None, 0, datetime.fromisoformat(lock.created)
    for at, number in store.finished(stamp):
        first = first or at
        before += number if datetime.fromisoformat(at) < created else 0
    return first, before
